/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Track: what rnic/flow says about each frame, kept for as long as the file is open.
 *
 * On the first pass every RoCE frame is fed to the observer once, in the order of the file
 * (roce_store_feed). What it says is packed and stored by frame number; what later frames tell of
 * an earlier one (its acknowledgement, its responses, its repetition) is added to the earlier one.
 * Every later pass only reads (roce_store_get), in any order: what is shown never depends on the
 * order in which frames are looked at.
 *
 * At the end of the first pass the observer says its last words; they belong to the last frame of
 * their connection. One tshark pass without -2 has shown that frame by then.
 *
 * Taps of protocol "roce" (tap name "roce") are given a struct roce_tap.
 */
#ifndef PLUGIN_ANALYSIS_STORE_H
#define PLUGIN_ANALYSIS_STORE_H

#include "ws_compat.h"
#include "flow/flow.h"

/* One judgement on a frame. */
struct roce_frame_finding {
    struct roce_finding finding;
    struct roce_frame_finding *next;
};

/* What was captured of a connection; names in analysis.c. */
enum roce_completeness {
    ROCE_COMPLETE_REQ = 1u << 0,
    ROCE_COMPLETE_REP = 1u << 1,
    ROCE_COMPLETE_RTU = 1u << 2,
    ROCE_COMPLETE_DATA = 1u << 3, /* any packet between its QPs */
    ROCE_COMPLETE_DREQ = 1u << 4,
    ROCE_COMPLETE_DREP = 1u << 5,
    ROCE_COMPLETE_REJ = 1u << 6,
};

/* Everything known about one frame. Frame numbers are 0 where unknown. */
struct roce_frame_info {
    struct roce_flow_result result; /* `stream` and `side` are the final ones known so far */
    uint32_t dst_qpn;               /* of the BTH */
    /* ns since the frame before in its stream, CM messages with it; NEVER for its first */
    uint64_t delta;
    uint64_t since_first; /* ns since the first frame of its stream */
    bool skip_payload;    /* its payload was there before, or its receiver drops it */
    bool skip_reassembly; /* ... and was known to stand at msg_offset of msg_first_frame */
    uint32_t msg_packets; /* of the message that this packet ends; 0 if not known */
    uint32_t msn_step;    /* messages that its MSN counts since the AETH before; 0 for none */
    bool src_qp_unknown;  /* its source QP was not known when it was first read */
    /* What later frames told. */
    uint32_t acked_in;
    uint32_t msg_last; /* the last packet of its message, if that is another frame */
    uint32_t first_response, last_response;
    uint32_t repeated_in;
    uint32_t cnp_in;
    uint32_t cm_answer;
    const struct roce_frame_finding *findings; /* in the order they were said; file scope */
};

/* What is known about a stream beside roce_conn_summary: cheap enough for every packet. */
struct roce_stream_info {
    uint32_t qpn[2];      /* of the sides of the summary; ROCE_QPN_UNKNOWN */
    uint32_t first_frame; /* that was found to be its own: perhaps a CM message */
    uint32_t first_data;  /* first packet between its QPs; 0 for none yet */
    uint64_t first_time, last_time;
    uint32_t req_frame, rep_frame; /* CM messages that set it up, 0 if not captured */
    uint64_t service_id;           /* of the REQ; 0 without one */
    uint64_t initial_rtt;          /* REQ to REP, as seen here; NEVER if one was not captured */
    uint32_t pmtu;                 /* of the REQ, else of a First packet; 0 unknown */
    uint32_t overlay;              /* as roce_pkt.overlay */
    enum roce_pairing pairing;     /* as known so far */
    uint8_t complete;              /* enum roce_completeness, so far */
    uint8_t msn_known;             /* bit of a side: `msn` is the latest of its answers */
    uint32_t msn[2], msn_epoch;
};

/* What a tap listener of "roce" is given. Valid during the call. */
struct roce_tap {
    const struct roce_pkt *pkt;
    enum roce_icrc_status icrc;
    const struct roce_frame_info *frame; /* NULL with the analysis switched off */
};

/* How frames are judged; read when a file is opened. */
struct roce_store_opts {
    enum roce_profile profile;
};

/* Registers what runs when a file is opened, read to its end, and closed. `opts` must live on. */
void roce_store_register(const struct roce_store_opts *opts);

/* First pass only. `in->frame` ascends; a frame fed before (two packets in one frame: a tunnel in a
 * tunnel) is not fed again. Returns a finding that is graver than all before it in this file, at
 * most one a severity; else NULL. It lives in file scope. */
const struct roce_finding *roce_store_feed(const struct roce_flow_in *in);

/* What is known about `frame`, whose packet is `pkt`; false if it was never fed. */
bool roce_store_get(uint32_t frame, uint64_t time, const struct roce_pkt *pkt,
                    struct roce_frame_info *out);

/* The number that stands for a stream today, and what is known of it; NULL for none. */
const struct roce_stream_info *roce_store_stream(uint32_t stream);

/* How many numbers of streams there are. */
uint32_t roce_store_stream_count(void);

/* The stream of a frame, or the one that a CM message speaks of; ROCE_NO_CONN for none. */
uint32_t roce_store_stream_of_frame(uint32_t frame);

/* Whether this frame is the first from which the payload can be put in its place in the message:
 * one sent again, where packets before it were lost when it was first sent. Once for each packet.
 */
bool roce_store_is_first_placement(const struct roce_frame_info *frame);

#endif
