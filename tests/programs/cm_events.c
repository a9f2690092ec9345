/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM events: causes each event of rdma_get_cm_event(3), with both ends of a connection in one
 * process. Three events are missing. Linux never raises them for a RoCE device, or only in a
 * special case:
 *
 * - ROUTE_ERROR: the route is computed from the address and cannot fail (core/cma.c
 *   cma_resolve_iboe_route). - MULTICAST_ERROR: a join succeeds at once, or the call itself fails
 *   (cma_iboe_join_multicast). - ADDR_CHANGE: only when a bond changes its active slave
 *   (cma_netdev_callback).
 *
 * cm_events ADDRESS [NAME...]: ADDRESS is an address of a device; NAME are the cases to run. The
 * case "removal" deletes the interface whose name follows a colon (removal:rnic0), and needs the
 * right to do so.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cancels.h"
#include "must.h"

#define WAIT_MS 20000

static const char *address;
static struct rdma_event_channel *active, *passive;
static struct rdma_cm_id *asks, *listens, *child;
/* Port of the current case. Each case uses another port, so that a late REQ of an earlier case does
 * not reach it. */
static int port = 7600;
static uint32_t qpn = 77; /* QPN of the active side; the passive side has the next number */

static struct sockaddr_in at(const char *text, int number)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    MUST(inet_pton(AF_INET, text, &to.sin_addr) == 1);
    return to;
}

/* Returns the next event of a channel. Ends the program if it is not of type `type`. The caller
 * acknowledges the event. */
static struct rdma_cm_event *next(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
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

static void expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
    struct rdma_cm_event *event = next(channel, type);
    if (event->status != status)
        fprintf(stderr, "%s with status %d\n", rdma_event_str(type), event->status);
    MUST(event->status == status);
    MUST(rdma_ack_cm_event(event) == 0);
}

/* As expect() with status 0. The event must not have private data: only those of a REP and of a REJ
 * reach the program (core/cma.c, cma_ib_handler). */
static void expect_no_data(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event = next(channel, type);
    MUST(event->status == 0);
    MUST(event->param.conn.private_data_len == 0 && !event->param.conn.private_data);
    MUST(rdma_ack_cm_event(event) == 0);
}

static void begin(enum rdma_port_space space, bool bound, bool listening)
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

static void end(void)
{
    if (child)
        MUST(rdma_destroy_id(child) == 0);
    MUST(rdma_destroy_id(asks) == 0 && rdma_destroy_id(listens) == 0);
    rdma_destroy_event_channel(active);
    rdma_destroy_event_channel(passive);
}

static void resolve(void)
{
    struct sockaddr_in to = at(address, port);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
}

static void ask_with(uint8_t rnr_retry)
{
    struct rdma_conn_param param = {
        .private_data = "ask", .private_data_len = 4, .qp_num = qpn, .rnr_retry_count = rnr_retry};
    MUST(rdma_connect(asks, &param) == 0);
}

static void ask(void)
{
    ask_with(0);
}

static void take_request(void)
{
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(event->listen_id == listens);
    MUST(memcmp(asks->ps == RDMA_PS_UDP ? event->param.ud.private_data
                                        : event->param.conn.private_data,
                "ask", 4) == 0);
    child = event->id;
    MUST(rdma_ack_cm_event(event) == 0);
}

static void accept_it(void)
{
    struct rdma_conn_param param = {
        .private_data = "yes", .private_data_len = 4, .qp_num = qpn + 1};
    MUST(rdma_accept(child, &param) == 0);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* A connection is set up by an active side whose QP librdmacm does not know. It must get the event
 * CONNECT_RESPONSE and then call rdma_establish() itself. Then both sides disconnect. */
static void connect_and_disconnect(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_RESPONSE);
    MUST(event->param.conn.qp_num == qpn + 1 &&
         memcmp(event->param.conn.private_data, "yes", 4) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_establish(asks) == 0);
    expect_no_data(passive, RDMA_CM_EVENT_ESTABLISHED);
    MUST(rdma_disconnect(asks) == 0);
    expect_no_data(passive, RDMA_CM_EVENT_DISCONNECTED);
    MUST(rdma_disconnect(child) == 0); /* sends the DREP */
    expect(active, RDMA_CM_EVENT_DISCONNECTED, 0);
    expect(active, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    expect(passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    end();
}

static uint8_t rnr_timer(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    int mask;
    MUST(rdma_init_qp_attr(id, &attr, &mask) == 0 && mask & IBV_QP_MIN_RNR_TIMER);
    return attr.min_rnr_timer;
}

/* If the connection has a limited number of RNR retries, the QP must get RNR timer code 0 (655 ms),
 * as Linux always sets. So a peer that posts its receive late, on a busy machine, does not lose the
 * connection. */
static void limited_retries_get_long_rnr_timer(void)
{
    static const uint8_t retries[] = {1, 5, 7};
    for (size_t i = 0; i < sizeof retries; i++) {
        begin(RDMA_PS_TCP, true, true);
        resolve();
        ask_with(retries[i]);
        take_request();
        uint8_t of_child = rnr_timer(child);
        accept_it();
        expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        MUST(rnr_timer(asks) == of_child);
        /* 7 means unlimited retries, so a shorter RNR timer suffices. */
        MUST((of_child == 0) == (retries[i] < 7));
        MUST(rdma_establish(asks) == 0);
        expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
        end();
        port++;
    }
}

/* The program resolves addresses that no host has. Meanwhile a connection to another host must be
 * made and ended: silent hosts must not delay others. On a loopback device all addresses are local,
 * so nothing is silent there. */
static void silent_hosts_delay_nobody(void)
{
    struct rdma_event_channel *silent;
    struct rdma_cm_id *ids[4];
    if (strncmp(address, "127.", 4) == 0)
        return;
    MUST((silent = rdma_create_event_channel()) != NULL);
    for (unsigned i = 0; i < 4; i++) {
        struct sockaddr_in to = at(address, port);
        to.sin_addr.s_addr ^= htonl(100 + i);
        MUST(rdma_create_id(silent, &ids[i], NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_resolve_addr(ids[i], NULL, (struct sockaddr *)&to, WAIT_MS) == 0);
    }
    connect_and_disconnect();
    struct pollfd fd = {.fd = silent->fd, .events = POLLIN};
    MUST(poll(&fd, 1, 0) == 0);
    MUST(rdma_destroy_id(ids[0]) == 0 && rdma_destroy_id(ids[1]) == 0);
    struct sockaddr_in to = at(address, port);
    to.sin_addr.s_addr ^= htonl(200);
    MUST(rdma_create_id(silent, &ids[0], NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_resolve_addr(ids[0], NULL, (struct sockaddr *)&to, 50) == 0);
    expect(silent, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
    MUST(rdma_destroy_id(ids[0]) == 0);
    MUST(rdma_destroy_id(ids[2]) == 0 && rdma_destroy_id(ids[3]) == 0);
    rdma_destroy_event_channel(silent);
}

/* The program binds or resolves an id without a port. The device must assign one: when the id is
 * bound, otherwise when its address is resolved. No other id may get the same port. */
static void device_assigns_an_unnamed_port(void)
{
    struct sockaddr_in here = at(address, 0), any = at("0.0.0.0", 0);
    struct rdma_cm_id *other;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_get_src_port(listens) != 0);
    struct sockaddr_in to = at(address, ntohs(rdma_get_src_port(listens)));
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_get_src_port(asks) != 0 && rdma_get_src_port(asks) != rdma_get_src_port(listens));
    MUST(rdma_create_id(active, &other, NULL, RDMA_PS_TCP) == 0);
    here.sin_port = rdma_get_src_port(asks);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == -1 && errno == EADDRINUSE);
    struct sockaddr_in nowhere = at("203.0.113.1", 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&nowhere) == -1 && errno == EADDRNOTAVAIL);
    here.sin_port = 0;
    MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == 0 && rdma_get_src_port(other) != 0);
    MUST(rdma_destroy_id(other) == 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
    ask();
    struct rdma_cm_event *event = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    child = event->id;
    MUST(rdma_get_src_port(child) == rdma_get_src_port(listens));
    MUST(rdma_get_dst_port(child) == rdma_get_src_port(asks));
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void set_afonly(struct rdma_cm_id *id, int on)
{
    MUST(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on) == 0);
}

/* Two ids with RDMA_OPTION_ID_AFONLY listen on the same port at the wildcard addresses of IPv4 and
 * IPv6, as tgtd does. This must succeed with the option and fail without it. */
static void families_share_a_port(void)
{
    struct sockaddr_in any = at("0.0.0.0", port);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct rdma_cm_id *other, *third;
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_create_id(passive, &other, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_create_id(passive, &third, NULL, RDMA_PS_TCP) == 0);
    set_afonly(listens, 1);
    MUST(rdma_bind_addr(listens, (struct sockaddr *)&any) == 0 && rdma_listen(listens, 5) == 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) != 0 && errno == EADDRNOTAVAIL);
    set_afonly(other, 1);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&any6) == 0 && rdma_listen(other, 5) == 0);
    set_afonly(third, 1);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any) != 0 && errno == EADDRNOTAVAIL);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any6) != 0 && errno == EADDRNOTAVAIL);
    resolve();
    ask();
    struct rdma_cm_event *request = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(request->listen_id == (strchr(address, ':') ? other : listens));
    child = request->id;
    rdma_ack_cm_event(request);
    MUST(rdma_destroy_id(other) == 0 && rdma_destroy_id(third) == 0);
    end();
}

/* Returns an IPv6 address of the interface that has `address`. */
static struct sockaddr_in6 second_address(void)
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

/* A server listens on one port with an id for each of its addresses, as with the results of
 * getaddrinfo(3). Each id must get the requests for its own address. */
static void addresses_share_a_port(void)
{
    struct sockaddr_in6 second = second_address();
    struct sockaddr_in any = at("0.0.0.0", port);
    struct rdma_cm_id *other, *third;
    second.sin6_port = htons((uint16_t)port);
    begin(RDMA_PS_TCP, true, true);
    MUST(rdma_create_id(passive, &other, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(other, (struct sockaddr *)&second) == 0 && rdma_listen(other, 5) == 0);
    MUST(rdma_create_id(passive, &third, NULL, RDMA_PS_TCP) == 0);
    MUST(rdma_bind_addr(third, (struct sockaddr *)&any) != 0 && errno == EADDRNOTAVAIL);
    MUST(rdma_destroy_id(third) == 0);
    resolve();
    ask();
    struct rdma_cm_event *request = next(passive, RDMA_CM_EVENT_CONNECT_REQUEST);
    MUST(request->listen_id == listens);
    child = request->id;
    rdma_ack_cm_event(request);
    MUST(rdma_destroy_id(other) == 0);
    end();
}

/* A client sends a REQ 50 ms before the server listens. The REQ must wait for the listener, which
 * it does for 250 ms. The case is repeated if this process itself had to wait for a CPU nearly as
 * long. */
static void early_connect_waits_for_listener(void)
{
    for (int tries = 0;; tries++, port++) {
        begin(RDMA_PS_TCP, true, false);
        resolve();
        double asked = now_ms();
        ask();
        usleep(50000);
        MUST(rdma_listen(listens, 5) == 0);
        double took = now_ms() - asked;
        struct pollfd fds[] = {{.fd = passive->fd, .events = POLLIN},
                               {.fd = active->fd, .events = POLLIN}};
        MUST(poll(fds, 2, WAIT_MS) > 0);
        if (fds[0].revents || took < 150 || tries == 20)
            break;
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

static void rejection_is_reported(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    take_request();
    static const char long_data[149]; /* one byte more than a REJ can carry */
    MUST(rdma_reject(child, long_data, sizeof long_data) == -1 && errno == EINVAL);
    MUST(rdma_reject(child, "no", 3) == 0);
    event = next(active, RDMA_CM_EVENT_REJECTED);
    MUST(event->status == 28 && memcmp(event->param.conn.private_data, "no", 3) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* A client connects to a port on which no id listens, bound or not. The REQ must be rejected with
 * reason 8, invalid service ID. */
static void connect_without_listener_is_rejected(void)
{
    for (int bound = 0; bound < 2; bound++) {
        begin(RDMA_PS_TCP, bound, false);
        resolve();
        ask();
        expect(active, RDMA_CM_EVENT_REJECTED, 8);
        end();
    }
}

/* A listener is destroyed while a request waits to be accepted. The request must be rejected. */
static void closed_listener_rejects(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(rdma_destroy_id(listens) == 0);
    expect(active, RDMA_CM_EVENT_REJECTED, 28);
    MUST(rdma_create_id(passive, &listens, NULL, RDMA_PS_TCP) == 0);
    end();
}

/* Resolves a UD service (SIDR) three times. It is accepted, rejected, or does not exist. In the
 * last two cases the event must be UNREACHABLE with the status of the SIDR_REP. */
static void ud_service_is_resolved(void)
{
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    accept_it();
    event = next(active, RDMA_CM_EVENT_ESTABLISHED);
    MUST(event->param.ud.qp_num == 78 && event->param.ud.qkey == RDMA_UDP_QKEY);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
    begin(RDMA_PS_UDP, true, true);
    resolve();
    ask();
    take_request();
    MUST(rdma_reject(child, NULL, 0) == 0);
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 2);
    end();
    begin(RDMA_PS_UDP, false, false);
    resolve();
    ask();
    expect(active, RDMA_CM_EVENT_UNREACHABLE, 1);
    end();
}

static void multicast_join_and_leave(void)
{
    struct sockaddr_in group = at("239.1.2.3", 0);
    struct rdma_cm_event *event;
    begin(RDMA_PS_UDP, true, false);
    MUST(rdma_join_multicast(listens, (struct sockaddr *)&group, &group) == 0);
    event = next(passive, RDMA_CM_EVENT_MULTICAST_JOIN);
    MUST(event->param.ud.private_data == &group && event->param.ud.qp_num == 0xFFFFFF);
    MUST(rdma_ack_cm_event(event) == 0);
    MUST(rdma_leave_multicast(listens, (struct sockaddr *)&group) == 0);
    end();
}

/* Resolves an address to which the machine has no route: the call must fail with ENETUNREACH. If
 * the machine has a default route, the event must be ADDR_ERROR. */
static void unroutable_address_is_reported(void)
{
    struct sockaddr_in to = at("203.0.113.1", port);
    struct rdma_cm_event *event;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool routed = connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    close(fd);
    begin(RDMA_PS_TCP, false, false);
    int result = rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 300);
    MUST(routed ? result == 0 : result == -1 && errno == ENETUNREACH);
    if (routed) {
        event = next(active, RDMA_CM_EVENT_ADDR_ERROR);
        MUST(event->status < 0);
        MUST(rdma_ack_cm_event(event) == 0);
    }
    end();
}

/* A REP arrives for a QP that the program has already moved to ERR. The QP cannot make the required
 * transition, so librdmacm must report CONNECT_ERROR. */
static void wrong_qp_state_is_connect_error(void)
{
    struct ibv_qp_init_attr init = {
        .qp_type = IBV_QPT_RC,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
    struct rdma_conn_param param = {.private_data = "ask", .private_data_len = 4};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct rdma_cm_event *event;
    begin(RDMA_PS_TCP, true, true);
    resolve();
    MUST(rdma_create_qp(asks, NULL, &init) == 0);
    MUST(rdma_connect(asks, &param) == 0);
    take_request();
    MUST(ibv_modify_qp(asks->qp, &attr, IBV_QP_STATE) == 0);
    accept_it();
    event = next(active, RDMA_CM_EVENT_CONNECT_ERROR);
    MUST(event->status != 0);
    MUST(rdma_ack_cm_event(event) == 0);
    rdma_destroy_qp(asks);
    end();
}

/* Deletes the interface of the device. The program must get the event DEVICE_REMOVAL. */
static void removal(const char *iface)
{
    char command[64];
    struct sockaddr_in here = at(address, port);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == 0);
    snprintf(command, sizeof command, "ip link delete %s", iface);
    MUST(system(command) == 0);
    struct rdma_cm_event *event = next(active, RDMA_CM_EVENT_DEVICE_REMOVAL);
    MUST(event->id == asks);
    MUST(rdma_ack_cm_event(event) == 0);
    end();
}

/* rdma_get_cm_event() on a non-blocking channel without events must fail with EAGAIN. A thread that
 * reads from a channel that was just destroyed must not get an error at once, because programs
 * whose thread does so would exit with an error. */
static void *ask_late(void *fd)
{
    struct rdma_cm_event *event;
    struct rdma_event_channel channel = {.fd = *(int *)fd};
    if (rdma_get_cm_event(&channel, &event) != 0)
        _exit(1);
    return NULL;
}

static void reader_of_a_destroyed_channel_gets_no_error(void)
{
    struct rdma_cm_event *event;
    static int fd;
    pthread_t thread;
    begin(RDMA_PS_TCP, false, false);
    MUST(fcntl(active->fd, F_SETFL, fcntl(active->fd, F_GETFL) | O_NONBLOCK) == 0);
    MUST(rdma_get_cm_event(active, &event) == -1 && errno == EAGAIN);
    fd = active->fd;
    end();
    MUST(pthread_create(&thread, NULL, ask_late, &fd) == 0);
    MUST(pthread_detach(thread) == 0);
    usleep(100000);
}

/* The program closes the descriptor of an event channel with close_range(), and opens its own file,
 * which gets the same number. The device must not write to this file. */
static void file_under_closed_descriptor_is_kept(void)
{
    begin(RDMA_PS_TCP, true, true);
    int was = active->fd, fd;
    struct stat is;
    char byte;
    MUST(close_range((unsigned)was, (unsigned)was, 0) == 0);
    MUST((fd = memfd_create("own", 0)) == was || dup2(fd, was) == was);
    MUST(fstat(was, &is) == 0 && S_ISREG(is.st_mode));
    MUST(write(was, "own", 4) == 4 && pread(was, &byte, 1, 0) == 1 && byte == 'o');
    MUST(close(was) == 0 && close(was) < 0);
}

/* The child of a vfork() closes all descriptors, as a shell does before it starts a program, and
 * puts another file in place of one. The channels of the parent must stay open: both share one
 * memory, but not the descriptors. */
static void vfork_child_closes_only_its_own(void)
{
    begin(RDMA_PS_TCP, true, true);
    int last = active->fd > passive->fd ? active->fd : passive->fd, status;
    pid_t pid = vfork();
    if (pid == 0) {
        for (int fd = 3; fd <= last; fd++)
            close(fd);
        _exit(dup2(0, active->fd) != active->fd || close(active->fd) != 0);
    }
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    resolve();
    ask();
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

static sem_t told;

static void *take_two(void *unused)
{
    (void)unused;
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(rdma_resolve_route(asks, 2000) == 0);
    struct pollfd fd = {.fd = active->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    MUST(sem_post(&told) == 0);
    usleep(5000);
    /* After ROUTE_RESOLVED, librdmacm queries the route of the id although the id may already be
     * destroyed. */
    struct rdma_cm_event *event;
    MUST(poll(&fd, 1, WAIT_MS) == 1 && rdma_get_cm_event(active, &event) == 0);
    MUST(rdma_ack_cm_event(event) == 0);
    return NULL;
}

/* A thread sees with poll(2) that an event is waiting, and reads it a moment later. Meanwhile
 * another thread destroys the id. The event must still be there; otherwise the first thread waits
 * forever. rping of rdma-core 59 and later does this at its end. */
static void destroyed_id_leaves_its_event(void)
{
    struct sockaddr_in to = at(address, port);
    struct timespec until;
    pthread_t thread;
    begin(RDMA_PS_TCP, true, false);
    MUST(sem_init(&told, 0, 0) == 0);
    MUST(pthread_create(&thread, NULL, take_two, NULL) == 0);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    MUST(sem_wait(&told) == 0);
    MUST(rdma_destroy_id(asks) == 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    MUST(pthread_timedjoin_np(thread, NULL, &until) == 0);
    MUST(rdma_create_id(active, &asks, NULL, RDMA_PS_TCP) == 0);
    end();
}

/* A thread is cancelled and calls librdmacm. It must end inside the call, as it would in write(2),
 * and must not keep a lock: other threads can continue. */
static void *resolve_cancelled(void *to)
{
    pthread_cancel(pthread_self());
    rdma_resolve_addr(asks, NULL, to, 2000);
    return NULL;
}

static void cancelled_thread_holds_no_lock(void)
{
    struct sockaddr_in to = at(address, port);
    pthread_t thread;
    void *result;
    begin(RDMA_PS_TCP, true, true);
    if (CANCELS) {
        MUST(pthread_create(&thread, NULL, resolve_cancelled, &to) == 0);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    resolve();
    end();
}

/* A listener with a waiting request is migrated to another channel. The request must be reported on
 * the new channel. */
static void request_moves_with_migrated_listener(void)
{
    begin(RDMA_PS_TCP, true, true);
    resolve();
    ask();
    struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
    MUST(poll(&fd, 1, WAIT_MS) == 1);
    struct rdma_event_channel *before = passive;
    MUST((passive = rdma_create_event_channel()) != NULL);
    MUST(rdma_migrate_id(listens, passive) == 0);
    rdma_destroy_event_channel(before);
    take_request();
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    end();
}

/* A request waits that the program never accepts. The process must be able to end, and the channel
 * to be destroyed. */
static void untaken_request_does_not_block_the_end(void)
{
    for (unsigned how = 0; how < 2; how++) {
        fflush(stdout);
        port += 100;
        pid_t pid = fork();
        if (pid == 0) {
            begin(RDMA_PS_TCP, true, true);
            resolve();
            ask();
            struct pollfd fd = {.fd = passive->fd, .events = POLLIN};
            MUST(poll(&fd, 1, WAIT_MS) == 1);
            if (how == 0)
                exit(0);
            end();
            _exit(0);
        }
        int status;
        MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* A child process is killed while its connection is idle. The peer must get DISCONNECTED, because
 * the device disconnects on behalf of the killed process. */
static void killed_peer_is_disconnected(void)
{
    /* Uses QPNs that no earlier case used: those may still be in TIMEWAIT at the peer (R231). */
    qpn += 100;
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        begin(RDMA_PS_TCP, false, false);
        resolve();
        ask();
        expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
        MUST(rdma_establish(asks) == 0);
        pause();
    }
    take_request();
    accept_it();
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    int status;
    MUST(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    expect(passive, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    end();
}

static void end_process(int signal)
{
    (void)signal;
    exit(0);
}

/* A signal handler calls exit() while the program is inside librdmacm, as the handler of
 * libfabric's provider psm does. The process must end. */
static void end_in_handler(bool polls)
{
    for (unsigned i = 0; i < 6; i++) {
        int status;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0) {
            const struct itimerval soon = {.it_value = {.tv_usec = 30000 + 1700 * (int)i}};
            struct ibv_cq *cq;
            struct ibv_wc wc;
            begin(RDMA_PS_TCP, true, true);
            MUST((cq = ibv_create_cq(listens->verbs, 1, NULL, NULL, 0)) != NULL);
            MUST(signal(SIGALRM, end_process) != SIG_ERR);
            MUST(setitimer(ITIMER_REAL, &soon, NULL) == 0);
            while (polls)
                MUST(ibv_poll_cq(cq, 1, &wc) == 0);
            for (;;) {
                struct rdma_cm_id *id;
                MUST(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP) == 0);
                MUST(rdma_destroy_id(id) == 0);
            }
        }
        MUST(pid > 0);
        for (int waited = 0; waitpid(pid, &status, WNOHANG) != pid; waited += 10) {
            if (waited > WAIT_MS)
                kill(pid, SIGKILL); /* the process did not end by itself: the case fails */
            usleep(10000);
        }
        MUST(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void handler_ends_the_process(void)
{
    end_in_handler(false);
}

/* The handler interrupts ibv_poll_cq(), which has the lock of the device most of the time. */
static void handler_ends_a_polling_process(void)
{
    end_in_handler(true);
}

/* A child of fork() uses the ids of its parent: the calls must fail with ENODEV. The child must be
 * able to destroy its copies and to use a new channel. The parent must keep its port. */
static void child_is_refused_its_parents_ids(void)
{
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct rdma_event_channel *own;
        struct rdma_cm_id *other;
        struct sockaddr_in here = at(address, port + 50);
        alarm(WAIT_MS / 1000);
        MUST(rdma_listen(listens, 5) == -1 && errno == ENODEV);
        MUST((own = rdma_create_event_channel()) != NULL);
        MUST(rdma_create_id(own, &other, NULL, RDMA_PS_TCP) == 0);
        MUST(rdma_bind_addr(other, (struct sockaddr *)&here) == 0 && rdma_listen(other, 1) == 0);
        MUST(rdma_destroy_id(other) == 0);
        rdma_destroy_event_channel(own);
        end();
        _exit(0);
    }
    resolve();
    ask();
    take_request();
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    accept_it();
    expect(active, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
    MUST(rdma_establish(asks) == 0);
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    MUST(rdma_disconnect(asks) == 0);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    end();
    /* The parent closes its ids. Its port must be free again, although a child that inherited the
     * ids is still alive. */
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        alarm(WAIT_MS / 1000);
        pause();
    }
    end();
    begin(RDMA_PS_TCP, true, true);
    end();
    MUST(pid > 0 && kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
}

/* A child of fork() connects to its parent with a channel, an id and a QP of its own. Its librdmacm
 * uses the context and the PD that it opened in the parent; librpma's tests do this. */
static void child_connects_to_its_parent(void)
{
    begin(RDMA_PS_TCP, true, true);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct ibv_qp_init_attr init = {
            .qp_type = IBV_QPT_RC,
            .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
        struct rdma_conn_param param = {.private_data = "ask", .private_data_len = 4};
        alarm(WAIT_MS / 1000);
        MUST((active = rdma_create_event_channel()) != NULL);
        MUST(rdma_create_id(active, &asks, NULL, RDMA_PS_TCP) == 0);
        resolve();
        MUST(rdma_create_qp(asks, NULL, &init) == 0);
        MUST(rdma_connect(asks, &param) == 0);
        expect(active, RDMA_CM_EVENT_ESTABLISHED, 0);
        MUST(rdma_disconnect(asks) == 0);
        expect(active, RDMA_CM_EVENT_DISCONNECTED, 0);
        rdma_destroy_qp(asks);
        MUST(rdma_destroy_id(asks) == 0);
        rdma_destroy_event_channel(active);
        _exit(0);
    }
    take_request();
    accept_it();
    expect(passive, RDMA_CM_EVENT_ESTABLISHED, 0);
    expect(passive, RDMA_CM_EVENT_DISCONNECTED, 0);
    MUST(rdma_disconnect(child) == 0);
    int status;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
    end();
}

/* RDMA_OPTION_ID_REUSEADDR of a listening id and RDMA_OPTION_ID_AFONLY must be refused. A bound id
 * may still set both, but not clear REUSEADDR (core/cma.c, rdma_set_reuseaddr). */
static void late_options_are_refused(void)
{
    static const int names[] = {RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY};
    int on = 1, off = 0;
    begin(RDMA_PS_TCP, true, false);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[i], &on, sizeof on) == 0);
    MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[0], &off, sizeof off) == -1);
    MUST(errno == EINVAL && rdma_listen(listens, 5) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        MUST(rdma_set_option(listens, RDMA_OPTION_ID, names[i], &on, sizeof on) == -1 &&
             errno == EINVAL);
    end();
}

/* An id that is bound to an IPv4 address resolves an IPv6 address. The call must fail. */
static void other_family_is_refused(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    begin(RDMA_PS_TCP, true, false);
    MUST(rdma_resolve_addr(listens, NULL, (struct sockaddr *)&to, 300) == -1 && errno == EINVAL);
    end();
}

/* Resolves 0.0.0.0. The destination must be an address of a device of this machine, as in Linux
 * (core/cma.c, cma_resolve_loopback). */
static void wildcard_destination_is_this_machine(void)
{
    struct sockaddr_in to = at("0.0.0.0", port);
    begin(RDMA_PS_TCP, false, false);
    MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
    expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
    MUST(ntohs(rdma_get_dst_port(asks)) == port);
    MUST(((struct sockaddr_in *)rdma_get_peer_addr(asks))->sin_addr.s_addr != INADDR_ANY);
    end();
}

/* An accept fails because a reply cannot carry so much private data. The peer must be rejected,
 * because it would otherwise wait for an answer (core/cma.c, rdma_accept). */
static void failed_accept_rejects(void)
{
    static const char long_data[255];
    struct rdma_conn_param param = {
        .private_data = long_data, .private_data_len = sizeof long_data, .qp_num = qpn + 1};
    for (int ud = 0; ud < 2; ud++) {
        begin(ud ? RDMA_PS_UDP : RDMA_PS_TCP, true, true);
        resolve();
        ask();
        take_request();
        MUST(rdma_accept(child, &param) == -1 && errno == EINVAL);
        expect(active, ud ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED, ud ? 2 : 28);
        end();
    }
}

/* An id whose address is being resolved must refuse to be resolved again or bound. */
static void id_that_resolves_is_busy(void)
{
    for (int i = 0; i < 20; i++) { /* the case is about the time before the event */
        struct sockaddr_in to = at(address, port), here = at(address, 0);
        begin(RDMA_PS_TCP, false, false);
        MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == 0);
        MUST(rdma_bind_addr(asks, (struct sockaddr *)&here) == -1 && errno == EINVAL);
        MUST(rdma_resolve_addr(asks, NULL, (struct sockaddr *)&to, 2000) == -1 && errno == EINVAL);
        expect(active, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
        end();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"connect_and_disconnect", connect_and_disconnect},
        {"limited_retries_get_long_rnr_timer", limited_retries_get_long_rnr_timer},
        {"early_connect_waits_for_listener", early_connect_waits_for_listener},
        {"silent_hosts_delay_nobody", silent_hosts_delay_nobody},
        {"rejection_is_reported", rejection_is_reported},
        {"failed_accept_rejects", failed_accept_rejects},
        {"late_options_are_refused", late_options_are_refused},
        {"families_share_a_port", families_share_a_port},
        {"addresses_share_a_port", addresses_share_a_port},
        {"connect_without_listener_is_rejected", connect_without_listener_is_rejected},
        {"ud_service_is_resolved", ud_service_is_resolved},
        {"multicast_join_and_leave", multicast_join_and_leave},
        {"closed_listener_rejects", closed_listener_rejects},
        {"unroutable_address_is_reported", unroutable_address_is_reported},
        {"id_that_resolves_is_busy", id_that_resolves_is_busy},
        {"wildcard_destination_is_this_machine", wildcard_destination_is_this_machine},
        {"other_family_is_refused", other_family_is_refused},
        {"wrong_qp_state_is_connect_error", wrong_qp_state_is_connect_error},
        {"device_assigns_an_unnamed_port", device_assigns_an_unnamed_port},
        {"request_moves_with_migrated_listener", request_moves_with_migrated_listener},
        {"file_under_closed_descriptor_is_kept", file_under_closed_descriptor_is_kept},
        {"vfork_child_closes_only_its_own", vfork_child_closes_only_its_own},
        {"destroyed_id_leaves_its_event", destroyed_id_leaves_its_event},
        {"cancelled_thread_holds_no_lock", cancelled_thread_holds_no_lock},
        {"untaken_request_does_not_block_the_end", untaken_request_does_not_block_the_end},
        {"killed_peer_is_disconnected", killed_peer_is_disconnected},
        {"handler_ends_the_process", handler_ends_the_process},
        {"handler_ends_a_polling_process", handler_ends_a_polling_process},
        {"child_is_refused_its_parents_ids", child_is_refused_its_parents_ids},
        {"child_connects_to_its_parent", child_connects_to_its_parent},
        {"reader_of_a_destroyed_channel_gets_no_error",
         /* This must be the last case: it leaves a thread behind that would end the process after 5
          * s. */
         reader_of_a_destroyed_channel_gets_no_error},
    };
    address = argc > 1 ? argv[1] : "127.0.0.1";
    if (argc > 2 && strncmp(argv[2], "removal:", 8) == 0) {
        removal(argv[2] + 8);
        puts("removal: as it should be");
        return 0;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
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
    puts("all as they should be");
    return 0;
}
