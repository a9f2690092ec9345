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

/* Updates `look`, the result for the previous packet, to the result for the packet with time
 * `time`. Before the first packet, all members are zero. The caller sets look->icrc. */
void roce_flow_look_next(struct roce_flow_look *look, uint64_t time);

/* Stores `last`, the struct roce_flow_look of the last packet of the capture, in the flow. */
void roce_flow_set_look(struct roce_flow *flow, const struct roce_flow_look *last);

/* Information about the hosts of a frame, found without roce_pkt_parse(). */
struct roce_frame_hosts {
    uint32_t group; /* group of the two hosts, the result of roce_flow_group() */
    bool gsi;       /* the destination QP is that of CM messages */
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

/* Finds the hosts of an Ethernet frame. Returns false for a frame that does not begin with
 * Ethernet, IP without options and the UDP port of RoCEv2. */
bool roce_flow_frame_hosts(struct roce_group_cache *cache, struct roce_frame_hosts *hosts,
                           const uint8_t *frame, uint32_t cap_len);

#endif
