/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rewriting between the numbers of a capture and those of a live connection, as tcprewrite does:
 * addresses, QPNs, PSNs, MSNs, P_Keys, R_Keys and virtual addresses. Frames are sent with live
 * numbers. Received packets get the numbers of the capture before they are compared, so that
 * reports speak of the capture. Errors in a recorded frame are kept.
 *
 *   1. rewrite_to_live(), rewrite_datagram() and rewrite_addresses() build a frame to send.
 *   2. rewrite_to_recorded() changes a received packet.
 *
 * The caller fills and owns the structs.
 */
#ifndef REPLAY_LIVE_REWRITE_H
#define REPLAY_LIVE_REWRITE_H

#include "infer/infer_setup.h"

/* Addresses of the path from us to the target. */
struct rewrite_path {
    uint8_t mac[6], dmac[6];
    uint8_t addr[16], target[16]; /* of the same family */
};

/* Live numbers of a region of the target, in the order of the capture's regions. */
struct rewrite_region {
    uint64_t addr; /* live address of the byte at region.low */
    uint32_t rkey;
};

#define REWRITE_PKEY 0xFFFFu

/* One connection. PSNs counted from the first (`rel`) are the same in the capture and live. */
struct rewrite {
    const struct rewrite_path *path;
    const struct inferred_setup *setup;
    const struct shadow_memory *memory;
    const struct rewrite_region *region;
    bool we_request;    /* else the target is the requester */
    uint32_t our_qpn;   /* live */
    uint32_t their_qpn; /* live */
    roce_psn psn;       /* live PSN of rel 0 */
};

/* Writes the frame of a recorded packet with live numbers and a new ICRC; a wrong ICRC stays
 * wrong. Returns its length, or -1 if the capture does not contain the whole packet. */
int rewrite_to_live(const struct rewrite *rw, const struct trace_packet *packet, uint8_t *buf,
                    size_t cap);

/* A datagram stream to the target. */
struct rewrite_dgram {
    const struct rewrite_path *path;
    const struct shadow_memory *memory; /* regions of the WRITEs, in the order of `region` */
    const struct rewrite_region *region;
    uint16_t pkey;      /* P_Key in the capture */
    uint32_t their_qpn; /* live */
    int32_t psn_add;    /* live PSN minus recorded PSN */
};

/* As rewrite_to_live(), for a packet of a datagram stream. */
int rewrite_datagram(const struct rewrite_dgram *stream, const struct trace_packet *packet,
                     uint8_t *buf, size_t cap);

/* As rewrite_to_live(), but rewrites the addresses only, for load. */
int rewrite_addresses(const struct rewrite_path *path, const struct trace_packet *packet,
                      uint8_t *buf, size_t cap);

/* Gives a packet from the target the numbers of the capture. */
void rewrite_to_recorded(const struct rewrite *rw, struct roce_pkt *pkt);

#endif
