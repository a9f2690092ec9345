/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define POLLS 10000 /* polls without a completion, about a millisecond, before the first pause */

void die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    exit(1);
}

struct ibv_context *endpoint_device(const char *name)
{
    int cnt = 0;
    struct ibv_context *context = NULL;
    struct ibv_device **list = ibv_get_device_list(&cnt);
    for (int i = 0; i < cnt && !context; i++)
        if (!name || strcmp(name, ibv_get_device_name(list[i])) == 0)
            context = ibv_open_device(list[i]);
    ibv_free_device_list(list);
    if (!context)
        die("no device %s: %s", name ? name : "", strerror(errno));
    return context;
}

int endpoint_gid(struct ibv_context *context, union ibv_gid *gid)
{
    struct ibv_port_attr port;
    struct ibv_gid_entry entry;
    int found = -1;
    if (ibv_query_port(context, 1, &port) != 0)
        die("ibv_query_port failed");
    for (int i = 0; i < port.gid_tbl_len; i++) {
        if (ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0) != 0 ||
            entry.gid_type != IBV_GID_TYPE_ROCE_V2)
            continue;
        bool ip4 = IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)entry.gid.raw);
        if (found < 0 || ip4) {
            found = i;
            *gid = entry.gid;
        }
        if (ip4)
            break;
    }
    if (found < 0)
        die("no RoCEv2 GID");
    return found;
}

void endpoint_open(struct endpoint *ep, struct ibv_context *context, int cqe,
                   struct ibv_qp_init_attr *init)
{
    ep->context = context;
    ep->gid_idx = endpoint_gid(context, &ep->gid);
    ep->pd = ibv_alloc_pd(context);
    ep->cq = ibv_create_cq(context, cqe, NULL, NULL, 0);
    if (!ep->pd || !ep->cq)
        die("no PD or CQ: %s", strerror(errno));
    init->send_cq = init->recv_cq = ep->cq;
    ep->qp = ibv_create_qp(ep->pd, init);
    if (!ep->qp)
        die("no QP: %s", strerror(errno));
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags =
            IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
    };
    int error = ibv_modify_qp(ep->qp, &attr,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (error)
        die("INIT: %s", strerror(error));
}

void endpoint_close(struct endpoint *ep)
{
    if (ibv_destroy_qp(ep->qp) || ibv_destroy_cq(ep->cq) || ibv_dealloc_pd(ep->pd))
        die("an object cannot be destroyed");
}

/* Returns the GID that the device now has at the endpoint's GID index, as text, or the error. */
static const char *gid_now(const struct endpoint *ep)
{
    static char text[INET6_ADDRSTRLEN];
    struct ibv_gid_entry entry;
    int error = ibv_query_gid_ex(ep->context, 1, (uint32_t)ep->gid_idx, &entry, 0);
    if (error)
        return strerror(error);
    return inet_ntop(AF_INET6, &entry.gid, text, sizeof text);
}

void endpoint_connect(struct endpoint *ep, const struct endpoint_address *peer, uint32_t psn)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qpn,
        .rq_psn = peer->psn,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = peer->gid, .sgid_index = (uint8_t)ep->gid_idx, .hop_limit = 1}},
        .sq_psn = psn,
        .max_rd_atomic = 4,
        .timeout = 14, /* long timeout (67 ms), because the peer's process may have to wait for a
                        * CPU */
        .retry_cnt = 7,
        .rnr_retry = 1,
    };
    int error = ibv_modify_qp(ep->qp, &attr,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (error) {
        char own_gid[INET6_ADDRSTRLEN], peer_gid[INET6_ADDRSTRLEN];
        inet_ntop(AF_INET6, &ep->gid, own_gid, sizeof own_gid);
        inet_ntop(AF_INET6, &peer->gid, peer_gid, sizeof peer_gid);
        die("RTR: %s (from GID %d, %s, QP 0x%x, to %s, QP 0x%x, PSN %u; the GID has become %s)",
            strerror(error), ep->gid_idx, own_gid, ep->qp->qp_num, peer_gid, peer->qpn, peer->psn,
            gid_now(ep));
    }
    attr.qp_state = IBV_QPS_RTS;
    error = ibv_modify_qp(ep->qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    if (error)
        die("RTS: %s", strerror(error));
}

void endpoint_swap(int fd, const struct endpoint_address *own, struct endpoint_address *peer)
{
    if (send(fd, own, sizeof *own, MSG_NOSIGNAL) != (ssize_t)sizeof *own ||
        recv(fd, peer, sizeof *peer, MSG_WAITALL) != (ssize_t)sizeof *peer)
        die("the peer is gone");
}

int endpoint_tcp(const char *host, int port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (host) {
        if (inet_pton(AF_INET, host, &addr.sin_addr) != 1)
            die("%s: not an IPv4 address", host);
        if (connect(fd, (struct sockaddr *)&addr, sizeof addr) < 0)
            die("%s: %s", host, strerror(errno));
        return fd;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&addr, sizeof addr) < 0 || listen(fd, 1) < 0)
        die("port %d: %s", port, strerror(errno));
    int peer = accept(fd, NULL, NULL);
    close(fd);
    if (peer < 0)
        die("port %d: %s", port, strerror(errno));
    return peer;
}

/* Returns the seconds of a clock that does not change when the time of day is set. */
static time_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

struct ibv_wc endpoint_wait(struct ibv_cq *cq)
{
    struct ibv_wc wc;
    time_t end = seconds_now() + 10;
    for (unsigned polls = 0;; polls++) {
        int got = ibv_poll_cq(cq, 1, &wc);
        if (got == 1)
            return wc;
        if (got < 0)
            die("ibv_poll_cq failed");
        if (seconds_now() > end)
            die("no completion in ten seconds");
        if (polls > POLLS) /* the peer may be gone: leaves the CPU to other programs */
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}
