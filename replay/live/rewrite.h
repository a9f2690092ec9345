/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rebind: the numbers of a capture against those of a live conversation: addresses, QPNs, PSNs,
 * MSNs, P_Keys, R_Keys and virtual addresses. Frames go out with the live ones, answers come back
 * to the capture's before anything is compared, so that reports speak of the capture. What a
 * recorded frame has wrong, it has wrong in the same way when it goes out.
 */
#ifndef REPLAY_LIVE_REWRITE_H
#define REPLAY_LIVE_REWRITE_H

#include "infer/infer_setup.h"

/* From us to the target. */
struct rewrite_path {
    uint8_t mac[6], dmac[6];
    uint8_t addr[16], target[16]; /* of one family */
};

/* A region of the target, in the order of memory.region. */
struct rewrite_region {
    uint64_t addr; /* of the byte that the capture has at region.low */
    uint32_t rkey;
};

#define REWRITE_PKEY 0xFFFFu

/* One connection. `rel` as in derive.h is the same in both worlds. */
struct rewrite {
    const struct rewrite_path *path;
    const struct inferred_setup *setup;
    const struct shadow_memory *memory;
    const struct rewrite_region *region;
    bool we_request;    /* else the target does */
    uint32_t our_qpn;   /* live */
    uint32_t their_qpn; /* live */
    roce_psn psn;       /* live, of rel 0 */
};

/* Writes the frame of a recorded packet with live numbers and its ICRC computed anew; one that was
 * wrong is as wrong. Its length, or -1 if the capture does not hold all of the packet. */
int rewrite_to_live(const struct rewrite *rw, const struct trace_packet *packet, uint8_t *buf,
                    size_t cap);

/* A direction of UC or UD, whose packets nobody answers. */
struct rewrite_dgram {
    const struct rewrite_path *path;
    const struct shadow_memory *memory; /* what WRITEs go to, in the order of `region` */
    const struct rewrite_region *region;
    uint16_t pkey;      /* the capture's */
    uint32_t their_qpn; /* live */
    int32_t psn_add;    /* live against recorded */
};

/* As rewrite_to_live(), for a packet of the stream. */
int rewrite_datagram(const struct rewrite_dgram *stream, const struct trace_packet *packet,
                     uint8_t *buf, size_t cap);

/* Only the addresses: for load, where nobody answers. As above. */
int rewrite_addresses(const struct rewrite_path *path, const struct trace_packet *packet,
                      uint8_t *buf, size_t cap);

/* A live packet from the target gets the capture's numbers. */
void rewrite_to_recorded(const struct rewrite *rw, struct roce_pkt *pkt);

#endif
