/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Rewriting between the numbers of a capture and the numbers of a live connection, as tcprewrite
 * does: addresses, QPNs, PSNs, MSNs, P_Keys, R_Keys and virtual addresses. Frames are sent with
 * live numbers. In received packets, the numbers of the capture replace the live numbers before the
 * comparison, so that reports show the numbers of the capture. If a recorded frame contains an
 * error, the live frame contains the same error.
 *
 *   1. rewrite_to_live(), rewrite_datagram() and rewrite_addresses() build a frame to send.
 *   2. rewrite_to_recorded() changes a received packet.
 *
 * The caller fills and owns the structs.
 */
#ifndef REPLAY_LIVE_REWRITE_H
#define REPLAY_LIVE_REWRITE_H

#include "infer/infer_setup.h"

/* Addresses of the path from our RNIC to the target. */
struct rewrite_path {
    uint8_t mac[6], dmac[6];
    uint8_t addr[16], target[16]; /* both are IPv4, or both are IPv6 */
};

/* Live address and R_Key of a memory region of the target. An array of this struct has one element
 * for each element of shadow_memory.region, in the same order. */
struct rewrite_region {
    uint64_t addr; /* live address of the byte at shadow_region.low */
    uint32_t rkey;
};

#define REWRITE_PKEY 0xFFFFu /* P_Key of all sent packets */

/* Live QPNs and PSN of one direction. A relative PSN (`rel`) is the distance from a start PSN. So a
 * packet has the same relative PSN in the capture and live. */
struct rewrite {
    const struct rewrite_path *path;
    const struct inferred_setup *setup;
    const struct shadow_memory *memory;
    const struct rewrite_region *region;
    bool we_request;    /* true if the target is the responder, false if it is the requester */
    uint32_t our_qpn;   /* live QPN of our RNIC */
    uint32_t their_qpn; /* live QPN of the target */
    roce_psn psn;       /* live PSN that corresponds to relative PSN 0 */
};

/* Writes the frame of a recorded packet with live addresses, QPNs, PSNs and R_Keys, and a new ICRC.
 * If the recorded ICRC is wrong, the new one is wrong, too. Returns the length of the frame, or -1
 * if the capture lacks a part of the packet. */
int rewrite_to_live(const struct rewrite *rw, const struct trace_packet *packet, uint8_t *buf,
                    size_t cap);

/* Live QPN, PSN and memory regions of a datagram stream to the target. */
struct rewrite_dgram {
    const struct rewrite_path *path;
    /* Regions that the recorded WRITEs use, in the order of `region`. */
    const struct shadow_memory *memory;
    const struct rewrite_region *region;
    uint16_t pkey;      /* P_Key in the captured packets; sent as REWRITE_PKEY */
    uint32_t their_qpn; /* live QPN of the target */
    int32_t psn_add;    /* live PSN minus recorded PSN, modulo 2^24 */
};

/* Writes the frame of a recorded packet of a datagram stream with live addresses, QPN, PSN, P_Key
 * and R_Keys. Returns the length of the frame, or -1 if the capture lacks a part of the packet. */
int rewrite_datagram(const struct rewrite_dgram *stream, const struct trace_packet *packet,
                     uint8_t *buf, size_t cap);

/* Writes the frame of a recorded packet with live addresses (--load). All other header fields keep
 * their recorded values. Returns the length of the frame, or -1 if the capture lacks a part of the
 * packet. */
int rewrite_addresses(const struct rewrite_path *path, const struct trace_packet *packet,
                      uint8_t *buf, size_t cap);

/* Replaces the live DestQP, PSN, P_Key and MSN of a packet from the target by the values of the
 * capture. */
void rewrite_to_recorded(const struct rewrite *rw, struct roce_pkt *pkt);

#endif
