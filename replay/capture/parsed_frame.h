/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parsed frame: a frame of a capture with its parsed packet, the result of its ICRC check, and its
 * digest for rnic/flow. Used by parallel_reader and split_reader, which pass such frames to a
 * consumer in batches.
 */
#ifndef REPLAY_CAPTURE_PARSED_FRAME_H
#define REPLAY_CAPTURE_PARSED_FRAME_H

#include "capture/capture_reader.h"
#include "flow/base/packet_digest.h"
#include "flow/flow.h"
#include "wire/tunnel.h"

/* One packet. Aligned to a cache line, because the thread that parses it may differ from the thread
 * that passes it to rnic/flow. */
struct parsed_frame {
    _Alignas(64) uint64_t time; /* capture time of the frame, ns */
    uint32_t number;
    int parsed; /* result of roce_pkt_parse() */
    enum roce_icrc_status icrc;
    uint64_t bytes; /* with split_reader: captured bytes of all RoCE packets up to this one */
    struct roce_flow_look look; /* with split_reader: result of roce_flow_look_next() */
    struct roce_packet_digest digest;
    struct roce_pkt pkt; /* points into the frame */
};

/* Numbers of frames of each kind, and the times of the first and the last frame. */
struct frame_counts {
    uint64_t foreign;    /* frames of other protocols */
    uint64_t pauses;     /* PAUSE and PFC frames that stop a sender; `foreign` includes them */
    uint64_t unreadable; /* RoCE frames that are cut or malformed before the end of the BTH */
    uint64_t cut;        /* frames shorter than on the wire, because of the snaplen */
    uint64_t unverified; /* number of packets for which the ICRC could not be computed */
    /* Packets with an IPv4 header checksum of 0. The NIC computed their checksums after the capture
     * (checksum offload). */
    uint64_t zero_checksums;
    /* Number of frames in each type of tunnel. [0] counts frames of other protocols without a
     * tunnel. */
    uint64_t tunnel[ROCE_TUNNEL_CNT];
    uint64_t first_time, last_time; /* least and greatest time of a frame, ns */
};

/* A batch of frames, in the order of the capture. `cnt` may be 0. */
struct frame_batch {
    struct parsed_frame *item;
    /* For each item, number of the part to which it belongs (split_reader.h). The flag SPLIT_ALONE
     * is added if no other item may be processed at the same time. NULL: there is only one part. */
    const uint8_t *part;
    unsigned cnt;
    uint32_t last; /* with split_reader: number of the last frame in the window of the file to
                    * which the batch belongs */
    const struct frame_counts *counts; /* with parallel_reader: counts of this batch */
};

/* Parses a frame of a capture. *pkt must be all zero or have the result of an earlier call. Returns
 * the result of roce_tunnel_parse(). */
int captured_frame_parse(struct roce_pkt *pkt, const struct captured_frame *frame);

/* Parses a frame, and sets all members of `item` except `icrc`, `bytes` and `look`. */
void parsed_frame_set(struct parsed_frame *item, const struct captured_frame *frame,
                      const struct roce_hash_secret *secret);

/* Sets `item->icrc`. Checks the ICRC if `check` is true and the packet could be parsed. */
void parsed_frame_set_icrc(struct parsed_frame *item, bool check);

/* Resets all counts, for a capture of which no frame was read yet. */
void frame_counts_init(struct frame_counts *counts);

/* Counts one frame; `item` is its parsed form. */
void frame_counts_add(struct frame_counts *counts, const struct parsed_frame *item,
                      const struct captured_frame *frame);

/* Adds the numbers of `more` to `counts`. */
void frame_counts_join(struct frame_counts *counts, const struct frame_counts *more);

#endif
