/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Analysis store: the results of rnic/flow for each frame, kept while the file is open.
 *
 *   1. First pass: packet-roce.c feeds each RoCE frame once, in file order (roce_store_feed). The
 *      result is encoded (result_codec.h) and stored by frame number. Results that later frames
 *      give for an earlier frame, such as its acknowledgement, are added to the earlier frame.
 *   2. End of the first pass: flow reports its last findings, at the last frame of their
 *      connection. A single-pass tshark has printed that frame already and misses them.
 *   3. Any pass: dissection and taps read the results (roce_store_get), in any order of frames. So
 *      the display does not depend on the order in which frames are dissected.
 *
 * Memory is in wmem file scope, except the flow object, which is freed when the file is closed. If
 * flow cannot allocate memory, the frames have no results. Listeners of the tap "roce" get a struct
 * roce_tap.
 */
#ifndef PLUGIN_ANALYSIS_STORE_H
#define PLUGIN_ANALYSIS_STORE_H

#include "ws_compat.h"
#include "flow/flow.h"

/* A finding in the list of its frame. */
struct roce_frame_finding {
    struct roce_finding finding;
    struct roce_frame_finding *next;
};

/* Captured parts of a connection. */
enum roce_completeness {
    ROCE_COMPLETE_REQ = 1u << 0,
    ROCE_COMPLETE_REP = 1u << 1,
    ROCE_COMPLETE_RTU = 1u << 2,
    ROCE_COMPLETE_DATA = 1u << 3, /* at least one packet between the QPs was captured */
    ROCE_COMPLETE_DREQ = 1u << 4,
    ROCE_COMPLETE_DREP = 1u << 5,
    ROCE_COMPLETE_REJ = 1u << 6,
};

/* Results for one frame. A frame number is 0 if there is no such frame. */
struct roce_frame_info {
    struct roce_flow_result result; /* result of rnic/flow; later frames may correct its `stream`
                                     * and `side` */
    uint32_t dst_qpn;               /* destination QP of the BTH */
    /* Time since the previous frame of the stream, CM messages included, ns; first: ROCE_NEVER_NS
     */
    uint64_t delta;
    uint64_t since_first; /* time since the first frame of the stream, ns */
    bool skip_payload;    /* the payload is a duplicate, or the receiver drops the packet */
    bool skip_reassembly; /* the payload was placed in its message by an earlier frame */
    uint32_t msg_packets; /* number of packets of the message that ends here; 0 if unknown */
    uint32_t msn_step;    /* MSN increment since the previous AETH of this direction */
    bool src_qp_unknown;  /* the source QP was unknown when the frame was first read */
    /* Numbers of frames that were found later. */
    uint32_t acked_in;                         /* first acknowledgement */
    uint32_t msg_last;                         /* last packet of the message, if another frame */
    uint32_t first_response, last_response;    /* responses to this request */
    uint32_t repeated_in;                      /* next transmission of this packet */
    uint32_t cnp_in;                           /* CNP that reports the mark of this packet */
    uint32_t cm_answer;                        /* reply to this CM message */
    const struct roce_frame_finding *findings; /* list of findings in the order of detection,
                                                * allocated in file scope */
};

/* Per-stream data that every packet needs, in addition to flow's summary of the connection. */
struct roce_stream_info {
    uint32_t qpn[2];                /* QPN of each side, or ROCE_QPN_UNKNOWN */
    uint32_t first_frame;           /* first frame of the stream; may be a CM message */
    uint32_t first_data;            /* first packet between the QPs; 0 if none yet */
    uint64_t first_time, last_time; /* times of the first and the latest frame, ns */
    uint32_t req_frame, rep_frame;  /* frames of the CM messages that set up the stream; 0 if not
                                     * captured */
    uint64_t service_id;            /* service ID of the REQ; 0 if not captured */
    uint64_t initial_rtt;           /* time from REQ to REP, ns; ROCE_NEVER_NS if not captured */
    uint32_t pmtu;             /* path MTU of the REQ or of a First packet, bytes; 0 if unknown */
    uint32_t overlay;          /* virtual network, as roce_pkt.overlay */
    enum roce_pairing pairing; /* evidence that pairs the directions; later frames may add more */
    uint8_t complete;          /* bits of enum roce_completeness captured so far */
    uint8_t msn_known;         /* bit N: msn[N] is valid */
    uint32_t msn[2];           /* latest MSN that each side sent */
    uint32_t msn_epoch;        /* QP reuse index that `msn` belongs to */
};

/* Data of the tap "roce". Valid during the call of the listener. */
struct roce_tap {
    const struct roce_pkt *pkt;
    enum roce_icrc_status icrc;
    const struct roce_frame_info *frame; /* analysis of the frame; NULL if the analysis is switched
                                          * off */
};

/* Options of the analysis; read when a file is opened. */
struct roce_store_opts {
    enum roce_profile profile; /* peer whose known deviations become notes */
};

/* Returns the operations that `frame` completes, and their number in *cnt. NULL if there is none.
 */
const struct roce_flow_done *roce_store_done(uint32_t frame, uint32_t *cnt);

/* Registers the callbacks for the end of the first pass and for closing a file. `opts` must stay
 * valid. */
void roce_store_register(const struct roce_store_opts *opts);

/*
 * Feeds a packet on the first pass. Frame numbers ascend; the second packet of one frame (a tunnel
 * in a tunnel) is ignored. Returns a finding that is graver than all findings before it in this
 * file, or NULL; so at most one finding for each severity is returned. The finding is allocated in
 * file scope.
 */
const struct roce_finding *roce_store_feed(const struct roce_flow_in *in);

/* Gets the results for `frame`, whose packet is `pkt`. Returns false if it was not fed. */
bool roce_store_get(uint32_t frame, uint64_t time, const struct roce_pkt *pkt,
                    struct roce_frame_info *out);

/* Returns the data of a stream, or NULL if there is none. Accepts the index of a stream that was
 * merged into another one. */
const struct roce_stream_info *roce_store_stream(uint32_t stream);

/* Returns the number of stream indexes in use. */
uint32_t roce_store_stream_count(void);

/* Returns the stream of a frame. A CM message has the stream that it set up. Returns ROCE_NO_CONN
 * if there is none. */
uint32_t roce_store_stream_of_frame(uint32_t frame);

/* Returns true if the payload of this frame belongs into its message and no earlier frame placed
 * it. Usually this is the first transmission. It is a retransmission if packets before the first
 * transmission were lost, so that its offset was unknown. True once for each packet. */
bool roce_store_is_first_placement(const struct roce_frame_info *frame);

#endif
