/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split: functions for threads that judge parts of one capture (roce_flow_split() in flow.h). Until
 * the first packet with a wrong ICRC, the struct roce_flow_look of a packet depends only on the
 * times of the packets. So a thread that does not parse the packets can compute this struct with
 * roce_flow_look_next() instead of roce_flow_look(). Used by split_index and split_reader of
 * rocedrill check.
 *
 * After roce_flow_merge(), the caller does one of these:
 *
 * - If it feeds more packets, it first calls roce_flow_look() for each RoCE packet so far, so that
 *   the flow counts its ICRC.
 * - Otherwise it calls roce_flow_set_look() before roce_flow_finish().
 */
#ifndef FLOW_SPLIT_H
#define FLOW_SPLIT_H

#include "flow/flow.h"
#include "wire/bytes.h"

#define ROCE_GRAIN_FINE 1000u /* clock resolution that is fine enough to be ignored, ns */

/* Infers the resolution of the capture clock from the times of the packets: the clocks of some
 * capture points advance only once a millisecond or once a second. Returns the resolution so far,
 * ns. `grain` is the result for the previous packet, at first 0. */
uint64_t roce_flow_learn_grain(uint64_t grain, uint64_t time);

/* Updates `look`, the result for the previous packet, to the result for the packet with time
 * `time`. Before the first packet, all members are zero. The caller sets look->icrc. */
static inline void roce_flow_look_next(struct roce_flow_look *look, uint64_t time)
{
    if (time > look->last_time)
        look->last_time = time;
    if (look->grain == 0 || look->grain > ROCE_GRAIN_FINE)
        look->grain = roce_flow_learn_grain(look->grain, time);
}

/* Stores `last`, the struct roce_flow_look of the last packet of the capture, in the flow. */
void roce_flow_set_look(struct roce_flow *flow, const struct roce_flow_look *last);

/* Information about the hosts of a frame, found without roce_pkt_parse(). */
struct roce_frame_hosts {
    uint32_t group; /* group of the two hosts, the result of roce_flow_group() */
    bool gsi;       /* the destination QP is QP 1, the QP of CM messages */
};

#define ROCE_CACHED_GROUPS 256u /* number of pairs of hosts in the cache, a power of two */

/* Groups of the latest pairs of IPv4 hosts. At first all zero. */
struct roce_group_cache {
    struct roce_cached_group {
        uint64_t pair;
        uint32_t group;
        bool used;
    } of[ROCE_CACHED_GROUPS];
};

/* Inserts the group of two IPv4 hosts into the cache. `addresses` are the 8 bytes of the IP header
 * that contain both addresses. */
void roce_flow_cache_group(struct roce_cached_group *cached, const uint8_t *addresses);

/* Finds the hosts of an Ethernet frame. Returns false for a frame that does not begin with
 * Ethernet, IPv4 without options and the UDP port of RoCEv2. */
static inline bool roce_flow_frame_ip4_hosts(struct roce_group_cache *cache,
                                             struct roce_frame_hosts *hosts, const uint8_t *frame,
                                             uint32_t cap_len)
{
    const uint8_t *ip = frame + ROCE_ETH_LEN, *udp = ip + ROCE_IP4_LEN;
    struct roce_cached_group *cached;
    uint64_t pair;

    if (cap_len < ROCE_ETH_LEN + ROCE_IP4_LEN + ROCE_UDP_LEN + ROCE_BTH_LEN ||
        roce_be_get(frame + 12, 2) != ROCE_ETHERTYPE_IP4 || ip[0] != 0x45 ||
        ip[9] != ROCE_IPPROTO_UDP || roce_be_get(udp + 2, 2) != ROCE_UDP_PORT)
        return false;
    pair = roce_be_get(ip + 12, 8);
    cached = &cache->of[pair * UINT64_C(0x9E3779B97F4A7C15) >> 32 & (ROCE_CACHED_GROUPS - 1)];
    if (!cached->used || cached->pair != pair)
        roce_flow_cache_group(cached, ip + 12);
    hosts->group = cached->group;
    hosts->gsi = roce_be_get(udp + ROCE_UDP_LEN + 5, 3) == ROCE_QP_GSI; /* BTH.DestQP */
    return true;
}

/* Like roce_flow_frame_ip4_hosts(), but also accepts IPv6 without extension headers. */
bool roce_flow_frame_hosts(struct roce_group_cache *cache, struct roce_frame_hosts *hosts,
                           const uint8_t *frame, uint32_t cap_len);

#endif
