/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM case: both ends of a connection of rdma_cm in one process, for programs that run one case
 * after another. Header only, because each such program is one file.
 */
#ifndef PROGRAMS_CM_CASE_H
#define PROGRAMS_CM_CASE_H

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "must.h"

#define WAIT_MS 20000

static const char *address;
static struct rdma_event_channel *active, *passive;
static struct rdma_cm_id *asks, *listens, *child;
/* Port of the current case. Each case uses another port, so that a late REQ of an earlier case does
 * not reach it. */
static int port = 7600;
static uint32_t qpn = 77; /* QPN of the active side; the passive side has the next number */

static inline struct sockaddr_in at(const char *text, int number)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    MUST(inet_pton(AF_INET, text, &to.sin_addr) == 1);
    return to;
}

/* Returns the next event of a channel. Ends the program if it is not of type `type`. The caller
 * acknowledges the event. */
static inline struct rdma_cm_event *next(struct rdma_event_channel *channel,
                                         enum rdma_cm_event_type type)
{
    struct pollfd fd = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(rdma_get_cm_event(channel, &event) == 0);
    if (event->event != type) {
        fprintf(stderr, "%s (%d) instead of %s\n", rdma_event_str(event->event), event->status,
                rdma_event_str(type));
        exit(1);
    }
    return event;
}

static inline void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type,
                          int status)
{
    struct rdma_cm_event *event = next(channel, type);
    if (event->status != status)
        fprintf(stderr, "%s with status %d\n", rdma_event_str(type), event->status);
    MUST(event->status == status);
    MUST(rdma_ack_cm_event(event) == 0);
}

/* As expect() with status 0. The event must also have no private data: of the messages after a REQ,
 * a program gets only the private data of a REP or REJ (core/cma.c, cma_ib_handler). */
static inline void expect_no_data(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event = next(channel, type);
    MUST(event->status == 0);
    MUST(event->param.conn.private_data_len == 0 && !event->param.conn.private_data);
    MUST(rdma_ack_cm_event(event) == 0);
}

static inline void begin(enum rdma_port_space space, bool bound, bool listening)
{
    struct sockaddr_in here = at(address, port);
    MUST((active = rdma_create_event_channel()) && (passive = rdma_create_event_channel()));
    MUST(rdma_create_id(active, &asks, NULL, space) == 0);
    MUST(rdma_create_id(passive, &listens, NULL, space) == 0);
    child = NULL;
    if (bound)
        MUST(rdma_bind_addr(listens, (struct sockaddr *)&here) == 0);
    if (listening)
        MUST(rdma_listen(listens, 5) == 0);
}

static inline void end(void)
{
    if (child)
        MUST(rdma_destroy_id(child) == 0);
    MUST(rdma_destroy_id(asks) == 0 && rdma_destroy_id(listens) == 0);
    rdma_destroy_event_channel(active);
    rdma_destroy_event_channel(passive);
}

static inline void resolve(void)
{
    struct sockaddr_in to = at(address, port);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static inline void ask_with(uint8_t rnr_retry)
{
    struct rdma_conn_param param = {
        .private_data = "ask", .private_data_len = 4, .qp_num = qpn, .rnr_retry_count = rnr_retry};
    MUST(rdma_connect(asks, &param) == 0);
}

static inline void ask(void)
{
    ask_with(0);
}

static inline void take_request(void)
{
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(event->listen_id == listens);
    MUST(memcmp(asks->ps == RDMA_PS_UDP ? event->param.ud.private_data
                                        : event->param.conn.private_data,
                "ask", 4) == 0);
    child = event->id;
    MUST(rdma_ack_cm_event(event) == 0);
}

static inline void accept_it(void)
{
    struct rdma_conn_param param = {
        .private_data = "yes", .private_data_len = 4, .qp_num = qpn + 1};
    MUST(rdma_accept(child, &param) == 0);
}

/* Returns an IPv6 address of the interface that has the IPv4 address `address`. */
static inline struct sockaddr_in6 second_address(void)
{
    struct ifaddrs *all, *at, *other;
    struct in_addr first;
    MUST(inet_pton(AF_INET, address, &first) == 1 && getifaddrs(&all) == 0);
    for (at = all; at; at = at->ifa_next)
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET &&
            ((struct sockaddr_in *)at->ifa_addr)->sin_addr.s_addr == first.s_addr)
            break;
    MUST(at != NULL);
    for (other = all; other; other = other->ifa_next)
        if (other->ifa_addr && other->ifa_addr->sa_family == AF_INET6 &&
            strcmp(other->ifa_name, at->ifa_name) == 0)
            break;
    MUST(other != NULL);
    struct sockaddr_in6 found = *(struct sockaddr_in6 *)other->ifa_addr;
    freeifaddrs(all);
    return found;
}

struct cm_case {
    const char *name;
    void (*run)(void);
};

/* Runs the cases that the command line names after the address, or all. Returns the exit status. */
static inline int run_cases(int argc, char **argv, const struct cm_case *cases, size_t cnt)
{
    address = argc > 1 ? argv[1] : "127.0.0.1";
    for (size_t i = 0; i < cnt; i++) {
        bool wanted = argc < 3;
        for (int k = 2; k < argc; k++)
            wanted |= strcmp(argv[k], cases[i].name) == 0;
        if (!wanted)
            continue;
        printf("%s\n", cases[i].name);
        fflush(stdout);
        port++;
        cases[i].run();
    }
    puts("all cases passed");
    return 0;
}

#endif
