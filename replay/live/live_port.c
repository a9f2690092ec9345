/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "base/clock.h"
#include "port/frameio/port_pcap.h"
#include "port/net/neigh.h"
#include "port/net/route.h"
#include "util/strbuf.h"
#include "wire/gid.h"

#define RING_BYTES (4u << 20) /* size of the receive ring, bytes */
#define ASKS       4u         /* number of ARP or ND requests for the target's MAC address */
#define ASK_NS     250000000u /* wait after each ARP or ND request, ns */
#define SEND_NS    UINT64_C(2000000000) /* time after which a full transmit ring is an error, ns */

uint64_t live_now(void)
{
    return rnic_clock_ns(CLOCK_MONOTONIC);
}

bool live_address(const char *text, uint8_t out[16])
{
    memset(out, 0, 16);
    out[10] = out[11] = 0xFF;
    return inet_pton(AF_INET, text, out + 12) == 1 || inet_pton(AF_INET6, text, out) == 1;
}

/* ---- sending and receiving frames --------------------------------------------------------------
 */

static void send_neighbour_reply(struct live_port *port, const struct rnic_neigh_msg *question)
{
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    struct rnic_frame frame = {.data = buf,
                               .len = (uint32_t)rnic_neigh_tell(buf, port->mac, question)};

    rnic_port_send(port->io, &frame, 1, live_now());
}

struct frame_taker {
    struct live_port *port;
    rnic_frame_fn *fn;
    void *user;
    const uint8_t *hop; /* IP address that is being resolved to a MAC address, or NULL */
    bool found;
};

static void take_frame(void *user, const struct rnic_frame *frame)
{
    struct frame_taker *t = user;
    struct rnic_neigh_msg msg;

    if (!rnic_neigh_read(frame->data, frame->len, &msg)) {
        if (t->fn)
            t->fn(t->user, frame);
        return;
    }
    if (msg.kind == RNIC_NEIGH_ASKS && !t->port->kernel &&
        memcmp(msg.target, t->port->addr, 16) == 0)
        send_neighbour_reply(t->port, &msg);
    if (msg.kind == RNIC_NEIGH_TELLS && t->hop && memcmp(msg.target, t->hop, 16) == 0) {
        memcpy(t->port->dmac, msg.mac, 6);
        t->found = true;
    }
}

static int wait_for(struct live_port *port, uint64_t until, struct frame_taker *taker)
{
    struct pollfd fds[RNIC_PORT_FDS];
    uint64_t now = live_now();
    int cnt = rnic_port_recv(port->io, 64, take_frame, taker, now);

    if (cnt != 0)
        return cnt < 0 ? -1 : cnt;
    if (now >= until)
        return 0;
    struct timespec ts = rnic_timespec(until - now);

    ppoll(fds, rnic_port_fds(port->io, fds), &ts, NULL);
    cnt = rnic_port_recv(port->io, 64, take_frame, taker, live_now());
    return cnt < 0 ? -1 : cnt;
}

int live_port_wait(struct live_port *port, uint64_t until, rnic_frame_fn *fn, void *user)
{
    struct frame_taker taker = {.port = port, .fn = fn, .user = user};

    return wait_for(port, until, &taker);
}

int live_port_send(struct live_port *port, struct rnic_frame *frames, unsigned cnt,
                   struct error *error)
{
    uint64_t now = live_now(), limit = now + SEND_NS;
    unsigned done = 0;

    while (done < cnt) {
        struct pollfd fds[RNIC_PORT_FDS];
        unsigned fd_cnt;

        done += rnic_port_send(port->io, frames + done, cnt - done, now);
        if (done == cnt)
            break;
        now = live_now();
        if (now > limit)
            return error_set(error, "interface %s: the transmit ring remains full",
                             port->iface.name);
        struct timespec ts = {.tv_nsec = 50000};

        fd_cnt = rnic_port_fds(port->io, fds);
        for (unsigned i = 0; i < fd_cnt; i++)
            /* Wait only for the transmit ring: received frames must not end the wait. */
            fds[i].events &= (short)~POLLIN;
        ppoll(fds, fd_cnt, &ts, NULL);
        now = live_now();
    }
    return 0;
}

/* ---- opening the port --------------------------------------------------------------------------
 */

/* Chooses our address if the user did not: an address of the interface in the address family of the
 * target, preferably not link-local. Returns true if there is one, otherwise false. */
static bool choose_address(struct live_port *port)
{
    const struct rnic_gid *best = NULL;

    for (unsigned i = 0; i < port->iface.gid_cnt; i++) {
        const struct rnic_gid *gid = &port->iface.gid[i];

        if (roce_gid_is_ip4(gid->gid) == roce_gid_is_ip4(port->target) &&
            port->iface.gid_kernel[i] &&
            (!best || (rnic_gid_is_link_local(best->gid) && !rnic_gid_is_link_local(gid->gid))))
            best = gid;
    }
    if (best)
        memcpy(port->addr, best->gid, 16);
    return best != NULL;
}

int live_port_open(struct live_port *port, const char *iface, const uint8_t target[16],
                   const uint8_t *addr, bool really, struct error *error)
{
    struct error why = {"no memory"};
    uint32_t block, random;

    memset(port, 0, sizeof(*port));
    memcpy(port->target, target, 16);
    if (rnic_iface_get(iface, &port->iface, &why) != 0)
        return error_set(error, "--live %s: %s", iface, why.text);
    if (!port->iface.up)
        return error_set(error, "--live %s: the interface is down", iface);
    /* If the routes cannot be read, assume a default route. */
    if (!really && rnic_route_is_default(port->iface.index) != 0)
        return error_set(error,
                         "--live %s: a default route leads through this interface, so other hosts "
                         "may receive the packets; to transmit anyway, use --really",
                         iface);
    memcpy(port->mac, port->iface.mac, 6);
    if (addr)
        memcpy(port->addr, addr, 16);
    else if (!choose_address(port))
        return error_set(error,
                         "--live %s: the interface has no address of the target's family (IPv4 or "
                         "IPv6): set the source address with --address",
                         iface);
    if (roce_gid_is_ip4(port->addr) != roce_gid_is_ip4(port->target))
        return error_set(error, "--address and --target must have the same address family");
    if (memcmp(port->addr, port->target, 16) == 0)
        return error_set(error, "--target: this is our own address");
    for (unsigned i = 0; i < port->iface.gid_cnt; i++)
        if (port->iface.gid_kernel[i] && memcmp(port->iface.gid[i].gid, port->addr, 16) == 0)
            port->kernel = true;
    if (rnic_port_pcap_open(&port->iface, RING_BYTES, &port->io, &why) != 0)
        return error_set(error, "--live %s: %s", iface, why.text);
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        random = (uint32_t)live_now();
    block = random % 0xFFF + 1; /* block 0 is not used: its QPNs 0 and 1 are special */
    port->qpn = block << 12;
    if (rnic_port_pcap_filter(port->io,
                              &(struct rnic_port_filter){.block = &block, .block_cnt = 1}) != 0)
        return error_set(error, "--live %s: cannot set the capture filter for our QPNs", iface);
    /* Reserve the UDP port of RoCEv2, because the kernel answers datagrams to a port without a
     * socket with ICMP errors. The reservation fails if rdma_rxe is loaded; it then has a socket on
     * this port, so there are no ICMP errors either. */
    port->guarded = port->kernel && rnic_udp_reserve_open(&port->guard, &why) == 0;
    return 0;
}

void live_port_announce(const struct live_port *port, const char *fmt, ...)
{
    char text[64];
    struct strbuf addr = strbuf_of(text, sizeof(text));
    va_list args;

    strbuf_add_addr(&addr, port->target);
    fflush(stdout);
    fputs("transmitting ", stderr);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, " through %s to %s\n", port->iface.name, text);
}

int live_port_resolve(struct live_port *port, struct error *error)
{
    struct rnic_route route = {0};
    struct frame_taker taker = {.port = port, .hop = port->target};
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    /* Without a route, the target is expected on the local link. */
    if (rnic_route_get(port->target, port->iface.index, &route) == 0 && route.gateway)
        taker.hop = route.hop;
    if (rnic_neigh_lookup(port->iface.index, taker.hop, port->dmac))
        return 0;
    for (unsigned i = 0; i < ASKS && !taker.found; i++) {
        uint8_t buf_ask[RNIC_NEIGH_FRAME_MAX];
        struct rnic_frame frame = {
            .data = buf_ask,
            .len = (uint32_t)rnic_neigh_ask(buf_ask, port->mac, port->addr, taker.hop)};
        uint64_t until = live_now() + ASK_NS;

        if (live_port_send(port, &frame, 1, error) != 0)
            return -1;
        while (!taker.found && live_now() < until)
            if (wait_for(port, until, &taker) < 0)
                return error_set(error, "interface %s: no longer available", port->iface.name);
    }
    if (taker.found)
        return 0;
    strbuf_add_addr(&t, taker.hop);
    return error_set(error, "target %s: no reply to %s on %s (%u requests)", buf,
                     roce_gid_is_ip4(taker.hop) ? "ARP" : "Neighbour Discovery", port->iface.name,
                     ASKS);
}

void live_port_close(struct live_port *port)
{
    rnic_port_close(port->io);
    if (port->guarded)
        rnic_udp_reserve_close(&port->guard);
    memset(port, 0, sizeof(*port));
}
