/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Analysis store: keeps the results of rnic/flow for each frame while the file is open.
 *
 *   1. First pass: packet-roce.c passes each RoCE frame once, in file order, to roce_store_feed().
 *      The result is encoded (result_codec.h) and stored by frame number. A later frame can add
 *      information about an earlier one, for example acknowledge it; then the entry of the earlier
 *      frame is updated.
 *   2. End of the first pass: rnic/flow reports its last findings, at the last frame of each
 *      connection. tshark without -2 has already printed these frames, so it does not print these
 *      findings.
 *   3. Any pass: dissection and taps read the stored results (roce_store_get). Wireshark may
 *      dissect the frames in any order; the results are the same.
 *
 * Memory is in wmem file scope, except the struct roce_flow, which is freed when the file is
 * closed. If rnic/flow cannot allocate memory, the frames have no results. Listeners of the tap
 * "roce" get a struct roce_tap.
 */
#ifndef PLUGIN_ANALYSIS_STORE_H
#define PLUGIN_ANALYSIS_STORE_H

#include "ws_compat.h"
#include "flow/flow.h"

/* Element of the list of a frame's findings. */
struct roce_frame_finding {
    struct roce_finding finding;
    struct roce_frame_finding *next;
    struct roce_frame_finding *next_late; /* in the list of roce_store_late() */
};

/* CM messages and data of a connection that were captured, as bits. */
enum roce_completeness {
    ROCE_COMPLETE_REQ = 1u << 0,
    ROCE_COMPLETE_REP = 1u << 1,
    ROCE_COMPLETE_RTU = 1u << 2,
    ROCE_COMPLETE_DATA = 1u << 3, /* at least one packet between the QPs was captured */
    ROCE_COMPLETE_DREQ = 1u << 4,
    ROCE_COMPLETE_DREP = 1u << 5,
    ROCE_COMPLETE_REJ = 1u << 6,
};

/* Returns the relative PSN of a frame. It is negative if the capture begins with a later PSN: the
 * request of the frame was captured after the first request, but has a lower PSN. */
static inline int32_t roce_relative_psn(const struct roce_flow_result *r)
{
    const uint32_t jump = 65536; /* limit of a PSN distance that reordering explains */
    bool negative = !(r->flags & ROCE_AN_REL_PSN) && r->rel_psn > ROCE_PSN_MASK - jump;

    return (int32_t)r->rel_psn - (negative ? (int32_t)ROCE_PSN_MASK + 1 : 0);
}

/* Analysis results for one frame. Members that are frame numbers are 0 if there is no such
 * frame. */
struct roce_frame_info {
    /* Result of rnic/flow. `conn_index` and `side` may change when later frames are read. */
    struct roce_flow_result result;
    uint32_t dst_qpn; /* destination QP of the BTH */
    /* Time since the previous frame of the stream, including CM messages, ns. ROCE_NEVER_NS for the
     * first frame of the stream. */
    uint64_t delta;
    uint64_t since_first; /* time since the first frame of the stream, ns */
    bool skip_payload;    /* true: Follow Stream and the upper-layer dissectors skip the payload,
                           * because it is a duplicate or the receiver drops the packet */
    bool skip_reassembly; /* true: reassembly skips the payload, because an earlier frame contained
                           * the same payload */
    uint32_t msg_packets; /* number of packets of the message that ends here; 0 if unknown */
    uint32_t msn_step;    /* increase of the MSN since the previous AETH that the same side sent */
    bool src_qp_unknown;  /* true: when the frame was first read, its source QP was not known yet */
    bool limited;         /* at this frame the analysis reached a limit of memory or connections, so
                           * later results may lack data (ROCE_NOTE_LIMIT) */
    /* Numbers of later frames that refer to this frame. */
    uint32_t acked_in; /* first frame that acknowledges this packet */
    /* If this frame is in a message but is not its last packet: frame number of the last packet. */
    uint32_t msg_last;
    uint32_t first_response, last_response; /* first and last response to this request */
    uint32_t repeated_in;                   /* next transmission or copy of this packet */
    /* If this frame retransmits after a spurious timeout: frame number of the response to the
     * earlier transmission. */
    uint32_t spurious_in;
    uint32_t cnp_in;                           /* CNP that reports the ECN CE mark of this packet */
    uint32_t cm_answer;                        /* reply to this CM message */
    const struct roce_frame_finding *findings; /* List of the frame's findings in the order of
                                                * detection, allocated in file scope. */
};

/* Data of a stream (a connection) that the dissection of every packet needs, in addition to the
 * summary of rnic/flow. */
struct roce_stream_info {
    uint32_t qpn[2];      /* QPN of each side, or ROCE_QPN_UNKNOWN */
    uint32_t first_frame; /* first frame of the stream; may be a CM message */
    /* Frame number of the first packet between the two QPs, CM messages excluded; 0 if none was
     * captured yet. */
    uint32_t first_data;
    uint64_t first_time, last_time; /* times of the first and the latest frame, ns */
    uint32_t req_frame, rep_frame;  /* frame numbers of the REQ and REP that set up the stream; 0 if
                                     * not captured */
    uint64_t service_id;            /* service ID of the REQ; 0 if not captured */
    uint64_t initial_rtt;           /* time from REQ to REP, ns; ROCE_NEVER_NS if not captured */
    uint32_t pmtu; /* path MTU of the REQ or of a First packet, bytes; 0 if unknown */
    /* Identifier of the virtual network (for example of VXLAN), in the form of roce_pkt.overlay. */
    uint32_t overlay;
    /* Evidence that the two directions belong to one connection. Later frames can add evidence. */
    enum roce_pairing pairing;
    uint8_t complete;  /* bits of enum roce_completeness: messages captured so far */
    uint8_t msn_known; /* bit N: msn[N] is valid */
    uint32_t msn[2];   /* latest MSN that each side sent */
    /* Number of the connection to which the MSNs in `msn` belong. If several connections use this
     * QP pair one after another, they are numbered from 0 (roce_flow_result.qp_use). */
    uint32_t msn_epoch;
};

/* Data of the tap "roce". Valid during the call of the listener. */
struct roce_tap {
    const struct roce_pkt *pkt;
    enum roce_icrc_status icrc;
    const struct roce_frame_info *frame; /* analysis of the frame; NULL if the analysis is switched
                                          * off */
    const struct roce_frame_finding *late; /* roce_store_late(), in the first pass */
};

/* Options of the analysis; read when a file is opened. */
struct roce_store_opts {
    /* Implementation that sent the packets: its known deviations are shown as notes, not as errors.
     * */
    enum roce_profile profile;
    size_t mem_max; /* memory limit of rnic/flow, bytes */
};

/* Returns the array of the operations that `frame` completes, and sets *cnt to their number.
 * Returns NULL if `frame` completes none. */
const struct roce_flow_done *roce_store_done(uint32_t frame, uint32_t *cnt);

/* Registers the callbacks for the end of the first pass and for closing a file. `opts` must stay
 * valid. */
void roce_store_register(const struct roce_store_opts *opts);

/*
 * Passes a packet to rnic/flow on the first pass. Call it in ascending order of frame numbers. A
 * second packet of the same frame (a tunnel in a tunnel) is ignored. Returns a finding of this
 * packet if its severity is higher than that of all earlier findings in the file, otherwise NULL.
 * The finding is allocated in file scope.
 */
const struct roce_finding *roce_store_feed(const struct roce_flow_in *in);

/* Returns the list of the findings about earlier frames that the latest call of roce_store_feed()
 * reported, linked by `next_late`. NULL if there are none. */
const struct roce_frame_finding *roce_store_late(void);

/* Gets the results for frame number `frame`, which was captured at `time` (ns) and contains `pkt`.
 * Returns true, or false if the frame was not passed to roce_store_feed(). */
bool roce_store_get(uint32_t frame, uint64_t time, const struct roce_pkt *pkt,
                    struct roce_frame_info *out);

/* Returns the data of a stream, or NULL if there is no such stream. If rnic/flow has joined the
 * stream with another stream, returns the data of the joined stream. */
const struct roce_stream_info *roce_store_stream(uint32_t stream);

/* Returns the number of stream indexes in use. */
uint32_t roce_store_stream_count(void);

/* Returns the index of the stream to which a frame belongs. For a CM message, this is the stream
 * that the message set up. Returns ROCE_NO_CONN if the frame belongs to no stream. */
uint32_t roce_store_stream_of_frame(uint32_t frame);

/* Returns true if reassembly must add the payload of this frame to its message: the offset in the
 * message is known, and no earlier frame provided the same payload. The frame is usually the first
 * transmission of its packet. It is a retransmission if the offset of the first transmission was
 * unknown, because the capture lacks an earlier packet of the message. */
bool roce_store_is_first_placement(const struct roce_frame_info *frame);

#endif
