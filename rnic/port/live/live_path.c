/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Paths: finds the MAC address of a destination. An address of this machine needs no request.
 * Otherwise the kernel's route yields the next hop. The hop's MAC address is in the kernel's
 * neighbour table, or the port requests it on the link.
 *
 * The device can have an address that the kernel does not have. For such a source address the
 * kernel has no routes, so every destination counts as a neighbour on the link.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "port/live/live_impl.h"
#include "port/net/neigh.h"
#include "port/net/route.h"
#include "wire/gid.h"

#define ASK_AGAIN_NS 250000000u /* interval between two requests for a neighbour, ns */
#define LINK_HOPS    1
#define GATEWAY_HOPS 64 /* hop limit if a gateway is on the path */

static const uint8_t zero[16];

/* ---- neighbours on the link ------------------------------------------------------------------ */

/* Sends requests for `hop` on the link until a reply arrives or time `end` is reached. Called with
 * the lock. */
static int ask_link(struct rnic_live *live, const uint8_t hop[16], const uint8_t src[16],
                    uint64_t end, uint8_t mac[6])
{
    uint8_t buf[RNIC_NEIGH_FRAME_MAX];
    uint64_t now = rnic_live_now();
    uint64_t ask_at = now;

    while (!neigh_cache_get(&live->neigh, hop, now, mac)) {
        uint64_t until;
        struct timespec abstime;

        if (now >= end)
            return -ETIMEDOUT; /* Linux returns this error, too (core/addr.c, process_one_req) */
        if (now >= ask_at) {
            live_send_own(live, buf, rnic_neigh_ask(buf, live->iface.mac, src, hop), now);
            ask_at = now + ASK_AGAIN_NS;
        }
        until = ask_at < end ? ask_at : end;
        abstime = rnic_timespec(until);
        /* The poll thread or a program that polls receives the reply. */
        pthread_cond_timedwait(&live->neigh_learned, &live->lock, &abstime);
        now = rnic_live_now();
    }
    return 0;
}

/* ---- finding a path -------------------------------------------------------------------------- */

/* Returns whether a packet can have these source and destination GIDs: both are IPv4, or both are
 * IPv6. */
static bool goes_together(const uint8_t sgid[16], const uint8_t dgid[16])
{
    return roce_gid_is_ip4(sgid) == roce_gid_is_ip4(dgid);
}

/* Returns the index of the best GID for a destination, or -1 if none fits. Prefers the kernel's
 * source address, then a GID of the destination's scope (link-local or not), then RoCEv2 to RoCEv1.
 */
static int choose_gid(const struct rnic_live *live, const uint8_t dgid[16], const uint8_t src[16])
{
    int best = -1;
    int best_score = -1;

    for (int i = 0; i < RNIC_GID_MAX; i++) {
        int score;

        if (!live->slot_used[i] || !goes_together(live->slot[i].gid, dgid))
            continue;
        score =
            (memcmp(live->slot[i].gid, src, 16) == 0 ? 4 : 0) +
            (rnic_gid_is_link_local(live->slot[i].gid) == rnic_gid_is_link_local(dgid) ? 2 : 0) +
            (live->slot[i].type == RNIC_GID_ROCE_V2 ? 1 : 0);
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

/* Finds the MAC address of the local interface with address `gid`. Returns false if there is none.
 * Called without the lock. */
static bool local_mac(const uint8_t gid[16], uint8_t mac[6])
{
    struct rnic_iface *list;
    struct error why;
    size_t cnt;
    bool found = false;

    if (rnic_iface_list(&list, &cnt, &why) != 0)
        return false;
    for (size_t i = 0; i < cnt && !found; i++)
        for (unsigned j = 0; j < list[i].gid_cnt && !found; j++)
            if (memcmp(list[i].gid[j].gid, gid, 16) == 0 && list[i].gid_kernel[j]) {
                memcpy(mac, list[i].mac, 6);
                found = true;
            }
    free(list);
    return found;
}

/* Copies of those members of the device that requests to the kernel need. The requests are made
 * without the lock, so they cannot read the device itself. */
struct question {
    struct rnic_iface iface;
    bool kernel_src; /* the kernel has the source address, or no source was chosen */
    bool own_dst;    /* the destination is an address of the device itself */
};

/* Finds the next hop with the kernel's routing table. Called without the lock. */
static int find_hop(const struct question *question, const uint8_t dgid[16],
                    struct rnic_route *route)
{
    /* A link-local address is valid only on the link of its interface. */
    unsigned oif = rnic_gid_is_link_local(dgid) ? question->iface.index : 0;
    int error;

    memset(route, 0, sizeof(*route));
    memcpy(route->hop, dgid, 16);
    route->oif = question->iface.index;
    if (!question->kernel_src)
        return 0;
    error = rnic_route_get(dgid, oif, route);
    if (error)
        return rnic_gid_is_link_local(dgid) ? 0 : -ENETUNREACH;
    if (!route->local && route->oif != question->iface.index) {
        /* The best route uses another interface: accepts only a gateway that is reachable on this
         * interface. */
        error = rnic_route_get(dgid, question->iface.index, route);
        if (error || route->oif != question->iface.index || !route->gateway)
            return -ENETUNREACH;
    }
    return 0;
}

/* Resolves a unicast address. Called with the lock; releases the lock during requests to the
 * kernel. */
static int resolve_unicast(struct rnic_live *live, const uint8_t dgid[16], int sgid_idx,
                           uint64_t end, struct rnic_path *out)
{
    struct question question = {.iface = live->iface, .own_dst = live_device_has(live, dgid)};
    uint8_t src[16] = {0};
    struct rnic_route route;
    bool known;
    int error = 0;

    question.kernel_src =
        live->wire_port && (sgid_idx < 0 || live_kernel_has(live, live->slot[sgid_idx].gid));
    if (live->own_gids && sgid_idx < 0)
        question.kernel_src = false;
    if (question.own_dst) {
        out->local = true;
        out->sgid_idx = (uint8_t)(sgid_idx < 0 ? choose_gid(live, dgid, dgid) : sgid_idx);
        memcpy(out->dmac, live->iface.mac, 6);
        return 0;
    }
    pthread_mutex_unlock(&live->lock);
    error = find_hop(&question, dgid, &route);
    known = !error && route.local && local_mac(dgid, out->dmac);
    if (!error && route.local && !known) {
        /* A loopback address that no interface lists, such as 127.0.0.2, belongs to the loopback,
         * which has all of 127.0.0.0/8. */
        memset(out->dmac, 0, 6);
        known = true;
    }
    if (!error && !known)
        known = rnic_neigh_lookup(question.iface.index, route.hop, out->dmac);
    pthread_mutex_lock(&live->lock);
    if (error)
        return error;
    if (sgid_idx < 0)
        sgid_idx = choose_gid(live, dgid, route.src);
    if (sgid_idx < 0 || !live->slot_used[sgid_idx])
        return -ENETUNREACH;
    out->sgid_idx = (uint8_t)sgid_idx;
    out->local = route.local;
    out->gateway = route.gateway;
    out->hop_limit = route.gateway ? GATEWAY_HOPS : LINK_HOPS;
    if (known)
        return 0;
    /* The source address of the ARP or ND request must have the IP version of the hop. The
     * destination GID may have the other IP version. */
    memcpy(src, live->slot[sgid_idx].gid, 16);
    if (!goes_together(src, route.hop)) {
        int other = choose_gid(live, route.hop, zero);

        if (other < 0)
            return -ENETUNREACH;
        memcpy(src, live->slot[other].gid, 16);
    }
    return ask_link(live, route.hop, src, end, out->dmac);
}

/* Extracts the MAC address from a link-local GID that contains one (EUI-64). */
static void link_local_mac(const uint8_t gid[16], uint8_t mac[6])
{
    const uint8_t from[6] = {gid[8] ^ 2, gid[9], gid[10], gid[13], gid[14], gid[15]};

    memcpy(mac, from, 6);
}

int rnic_live_resolve(struct rnic_live *live, const uint8_t dgid[16], int sgid_idx,
                      uint64_t timeout, struct rnic_path *out)
{
    uint64_t now = rnic_live_now();
    uint64_t end = timeout < UINT64_MAX - now ? now + timeout : UINT64_MAX;
    int held;
    int error = 0;

    memset(out, 0, sizeof(*out));
    out->vlan = RNIC_VLAN_NONE;
    out->hop_limit = LINK_HOPS;
    held = rnic_lock_uncancelable(&live->lock);
    out->path_mtu = live->iface.path_mtu;
    if (sgid_idx >= RNIC_GID_MAX || (sgid_idx >= 0 && !live->slot_used[sgid_idx])) {
        error = -EINVAL;
    } else if (roce_gid_is_multicast(dgid)) {
        int idx = sgid_idx < 0 ? choose_gid(live, dgid, zero) : sgid_idx;

        error = idx < 0 ? -ENETUNREACH : 0;
        out->sgid_idx = (uint8_t)(idx < 0 ? 0 : idx);
        rnic_gid_multicast_mac(dgid, out->dmac);
    } else if (live->iface.loopback) {
        int idx = sgid_idx < 0 ? choose_gid(live, dgid, dgid) : sgid_idx;

        error = idx < 0 ? -ENETUNREACH : 0;
        out->sgid_idx = (uint8_t)(idx < 0 ? 0 : idx);
        out->local = true;
        /* MAC address of the interface with the destination address; all zero for the loopback's
         * own address */
        pthread_mutex_unlock(&live->lock);
        local_mac(dgid, out->dmac);
        pthread_mutex_lock(&live->lock);
    } else if (rnic_gid_is_link_local(dgid) && sgid_idx >= 0 && !live_device_has(live, dgid) &&
               live->slot[sgid_idx].type == RNIC_GID_ROCE_V1) {
        /* RoCEv1 has no address resolution: the GID contains the MAC address (Annex A16). */
        out->sgid_idx = (uint8_t)sgid_idx;
        link_local_mac(dgid, out->dmac);
    } else {
        error = resolve_unicast(live, dgid, sgid_idx, end, out);
    }
    rnic_unlock_uncancelable(&live->lock, held);
    return error;
}
