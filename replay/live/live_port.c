/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/live_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "port/net/neigh.h"
#include "port/frameio/port_pcap.h"
#include "port/net/route.h"
#include "wire/gid.h"

#define RING_BYTES (4u << 20)
#define ASKS       4u                   /* questions for the target's MAC address */
#define ASK_NS     250000000u           /* after each */
#define SEND_NS    UINT64_C(2000000000) /* a way that stays full for so long is broken */

uint64_t live_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

bool live_address(const char *text, uint8_t out[16])
{
    memset(out, 0, 16);
    out[10] = out[11] = 0xFF;
    return inet_pton(AF_INET, text, out + 12) == 1 || inet_pton(AF_INET6, text, out) == 1;
}

/* ---- frames -----------------------------------------------------------------------------------
 */

static void tell(struct live_wire *wire, const struct rnic_neigh_msg *question)
{
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    struct rnic_frame frame = {.data = buf,
                               .len = (uint32_t)rnic_neigh_tell(buf, wire->mac, question)};

    rnic_port_send(wire->port, &frame, 1, live_now());
}

struct taker {
    struct live_wire *wire;
    rnic_frame_fn *fn;
    void *user;
    const uint8_t *hop; /* whose MAC address is sought, or NULL */
    bool found;
};

static void take(void *user, const struct rnic_frame *frame)
{
    struct taker *t = user;
    struct rnic_neigh_msg msg;

    if (!rnic_neigh_read(frame->data, frame->len, &msg)) {
        if (t->fn)
            t->fn(t->user, frame);
        return;
    }
    if (msg.kind == RNIC_NEIGH_ASKS && !t->wire->kernel &&
        memcmp(msg.target, t->wire->addr, 16) == 0)
        tell(t->wire, &msg);
    if (msg.kind == RNIC_NEIGH_TELLS && t->hop && memcmp(msg.target, t->hop, 16) == 0) {
        memcpy(t->wire->dmac, msg.mac, 6);
        t->found = true;
    }
}

static int wait_for(struct live_wire *wire, uint64_t until, struct taker *taker)
{
    struct pollfd fds[RNIC_PORT_FDS];
    uint64_t now = live_now();
    int cnt = rnic_port_recv(wire->port, 64, take, taker, now);

    if (cnt != 0)
        return cnt < 0 ? -1 : cnt;
    if (now >= until)
        return 0;
    struct timespec ts = {.tv_sec = (time_t)((until - now) / 1000000000u),
                          .tv_nsec = (long)((until - now) % 1000000000u)};

    ppoll(fds, rnic_port_fds(wire->port, fds), &ts, NULL);
    cnt = rnic_port_recv(wire->port, 64, take, taker, live_now());
    return cnt < 0 ? -1 : cnt;
}

int live_wire_wait(struct live_wire *wire, uint64_t until, rnic_frame_fn *fn, void *user)
{
    struct taker taker = {.wire = wire, .fn = fn, .user = user};

    return wait_for(wire, until, &taker);
}

int live_wire_send(struct live_wire *wire, struct rnic_frame *frames, unsigned cnt,
                   struct fault *fault)
{
    uint64_t now = live_now(), limit = now + SEND_NS;
    unsigned done = 0;

    while (done < cnt) {
        struct pollfd fds[RNIC_PORT_FDS];
        unsigned fd_cnt;

        done += rnic_port_send(wire->port, frames + done, cnt - done, now);
        if (done == cnt)
            break;
        now = live_now();
        if (now > limit)
            return fault_set(fault, "interface %s takes no frames", wire->iface.name);
        struct timespec ts = {.tv_nsec = 50000};

        fd_cnt = rnic_port_fds(wire->port, fds);
        for (unsigned i = 0; i < fd_cnt; i++)
            fds[i].events &= (short)~POLLIN; /* what comes in meanwhile is not why we wait */
        ppoll(fds, fd_cnt, &ts, NULL);
        now = live_now();
    }
    return 0;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/* Our address, if none was given: the kernel's of that family, link-local ones last. */
static bool choose_addr(struct live_wire *wire)
{
    const struct rnic_gid *best = NULL;

    for (unsigned i = 0; i < wire->iface.gid_cnt; i++) {
        const struct rnic_gid *gid = &wire->iface.gid[i];

        if (roce_gid_is_ip4(gid->gid) == roce_gid_is_ip4(wire->target) &&
            wire->iface.gid_kernel[i] &&
            (!best || (rnic_gid_is_link_local(best->gid) && !rnic_gid_is_link_local(gid->gid))))
            best = gid;
    }
    if (best)
        memcpy(wire->addr, best->gid, 16);
    return best != NULL;
}

static int resolve(struct live_wire *wire, struct fault *fault)
{
    struct rnic_route route = {0};
    struct taker taker = {.wire = wire, .hop = wire->target};
    char buf[64];
    struct text t = text_of(buf, sizeof(buf));

    /* Without a route the target is looked for on the link itself. */
    if (rnic_route_get(wire->target, wire->iface.index, &route) == 0 && route.gateway)
        taker.hop = route.hop;
    if (rnic_neigh_lookup(wire->iface.index, taker.hop, wire->dmac))
        return 0;
    for (unsigned i = 0; i < ASKS && !taker.found; i++) {
        uint8_t buf_ask[RNIC_NEIGH_FRAME_MAX];
        struct rnic_frame frame = {
            .data = buf_ask,
            .len = (uint32_t)rnic_neigh_ask(buf_ask, wire->mac, wire->addr, taker.hop)};
        uint64_t until = live_now() + ASK_NS;

        if (live_wire_send(wire, &frame, 1, fault) != 0)
            return -1;
        while (!taker.found && live_now() < until)
            if (wait_for(wire, until, &taker) < 0)
                return fault_set(fault, "interface %s went away", wire->iface.name);
    }
    if (taker.found)
        return 0;
    text_add_addr(&t, taker.hop);
    return fault_set(fault, "target %s does not answer %s on %s (asked %u times)", buf,
                     roce_gid_is_ip4(taker.hop) ? "ARP" : "Neighbour Discovery", wire->iface.name,
                     ASKS);
}

int live_wire_open(struct live_wire *wire, const char *iface, const uint8_t target[16],
                   const uint8_t *addr, struct fault *fault)
{
    struct rnic_why why = {"no memory"};
    uint32_t block, random;

    memset(wire, 0, sizeof(*wire));
    memcpy(wire->target, target, 16);
    if (rnic_iface_get(iface, &wire->iface, &why) != 0)
        return fault_set(fault, "--live %s: %s", iface, why.text);
    if (!wire->iface.up)
        return fault_set(fault, "--live %s: the interface is down", iface);
    memcpy(wire->mac, wire->iface.mac, 6);
    if (addr)
        memcpy(wire->addr, addr, 16);
    else if (!choose_addr(wire))
        return fault_set(fault, "--live %s: it has no address to send from: say --address", iface);
    if (roce_gid_is_ip4(wire->addr) != roce_gid_is_ip4(wire->target))
        return fault_set(fault, "--address and --target are of different families");
    if (memcmp(wire->addr, wire->target, 16) == 0)
        return fault_set(fault, "--target is our own address");
    for (unsigned i = 0; i < wire->iface.gid_cnt; i++)
        if (wire->iface.gid_kernel[i] && memcmp(wire->iface.gid[i].gid, wire->addr, 16) == 0)
            wire->kernel = true;
    if (rnic_port_pcap_open(&wire->iface, RING_BYTES, &wire->port, &why) != 0)
        return fault_set(fault, "--live %s: %s", iface, why.text);
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
        random = (uint32_t)live_now();
    block = random % 0xFFF + 1; /* QPNs 0 and 1 are special */
    wire->qpn = block << 12;
    if (rnic_port_pcap_filter(wire->port,
                              &(struct rnic_port_filter){.block = &block, .block_cnt = 1}) != 0)
        return fault_set(fault, "--live %s: the filter for our QPNs is not taken", iface);
    /* The kernel answers datagrams to its own addresses that nobody listens to with ICMP. With
     * rdma_rxe loaded the port is taken, and no answer comes either. */
    wire->guarded = wire->kernel && rnic_guard_open(&wire->guard, &why) == 0;
    return resolve(wire, fault);
}

void live_wire_close(struct live_wire *wire)
{
    rnic_port_close(wire->port);
    if (wire->guarded)
        rnic_guard_close(&wire->guard);
    memset(wire, 0, sizeof(*wire));
}
