/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * All data that the analysis stores about the packets. The functions that create, find and join
 * connections are in table/. Used only in rnic/flow. A "use" of a QP pair is the time from the
 * setup of the two QPs until they are set up again or the capture ends.
 *
 *   roce_flow       the analysis: options, memory, connections, CM exchanges, totals
 *   roce_conn       one connection: a pair of QPs in their present use
 *   roce_endpoint   one endpoint of a connection: requester, responder, counters
 *   roce_req        requester role of an endpoint: window of request packets, outstanding requests
 *   roce_rsp        responder role of an endpoint: latest responses and NAKs, credits, MSN
 *   roce_ctx        the packet being processed, passed from function to function
 *
 * A packet of a connected service names only its destination QP. Therefore the lookup key of a
 * direction is (network, source address, destination address, destination QP). Two directions are
 * joined to one connection by their CM messages, or by the evidence that pair.c finds. Datagrams
 * name both QPs; their lookup key contains both QPs.
 *
 * All data from the packets of one endpoint is in its roce_endpoint. So two connections of one
 * direction each are joined by moving the endpoint of one to the other.
 */
#ifndef FLOW_BASE_STATE_H
#define FLOW_BASE_STATE_H

#include "flow/base/icrc_trust.h"
#include "flow/base/packet_digest.h"
#include "flow/base/peer.h"
#include "flow/base/rate.h"
#include "flow/base/times.h"
#include "flow/base/window.h"
#include "wire/codes.h"

/* shortest local ACK timeout that a device is assumed to use, ns */
#define ROCE_MIN_TIMEOUT_NS UINT64_C(1000000)
/* shortest time without a packet of a connection that counts as a silence
 * (roce_conn_facts.silence), ns */
#define ROCE_SILENCE_NS UINT64_C(1000000)
/* shortest idle time in which two programs can set up their QPs again for another connection, ns */
#define ROCE_REST_NS UINT64_C(100000)
/* A QP that was idle for at least this time (ns) may have been set up again for another connection.
 */
#define ROCE_IDLE_REUSE_NS UINT64_C(100000000)

/* Returns a - b for PSNs or sums of PSNs. Bits above the low 24 are ignored. */
static inline int32_t roce_diff(uint32_t a, uint32_t b)
{
    return roce_psn_diff((roce_psn){a}, (roce_psn){b});
}

/* A larger PSN gap than this is not due to packet loss: the QP was reused for another connection,
 * or the capture has a large hole. */
#define ROCE_PSN_JUMP 65536

/* The latest go-back-N retransmission of a requester. `active`: the requester has not sent a new
 * PSN since. */
struct roce_retransmission {
    enum roce_cause cause; /* cause of the retransmission; NONE: the requester has not retransmitted
                            * yet */
    bool active;
    uint16_t id;      /* IPv4 identification of the packet in `frame` */
    uint32_t first;   /* PSN at which the retransmission started */
    uint32_t next;    /* PSN of the next request if the retransmission continues */
    uint32_t frame;   /* frame in which the retransmission started */
    uint32_t trigger; /* frame of the NAK or response that caused the retransmission; 0 if none */
    uint64_t time;    /* capture time at which the retransmission started, ns. Until a request is
                       * captured, capture time of the CM message that sets the first PSN */
};

/* Sign that a QP may have been set up again for another connection: see qp_reuse.h. */
enum roce_reuse_kind {
    ROCE_REUSE_NONE,
    ROCE_REUSE_GAP,         /* a request has a later PSN than expected: the requests with the PSNs
                             * between are missing */
    ROCE_REUSE_OLDER_PSN,   /* a request has an older PSN than expected */
    ROCE_REUSE_LATER_PSN,   /* a request has the expected PSN or a later one, but after an idle time
                             * in which the QP may have been set up again */
    ROCE_REUSE_UNSOLICITED, /* a response has a PSN that fits no captured request */
    ROCE_REUSE_MSN_RESTART, /* the MSN of a response is near 0 again, and counts only the latest
                             * requests */
};

struct roce_deferred_findings;

/* A possible reuse of a QP for another connection. It exists until later packets confirm or refute
 * the reuse. The first sign of the reuse is a packet that does not continue the connection (enum
 * roce_reuse_kind). */
struct roce_reuse_candidate {
    uint32_t frame; /* frame of the first sign of the reuse */
    uint64_t time;
    uint32_t first;           /* PSN of the first request of the new connection, if the QP was
                               * reused */
    uint32_t next;            /* highest PSN of the requests since the first sign of the reuse, plus
                               * 1 */
    uint32_t msn_before;      /* latest MSN of the peer before the first sign of the reuse */
    uint32_t msn;             /* MSN of the response that is the first sign of the reuse; used with
                               * ROCE_REUSE_MSN_RESTART and ROCE_REUSE_UNSOLICITED */
    uint32_t in_flight;       /* number of the requester's messages that were outstanding at the
                               * first sign of the reuse */
    uint32_t messages;        /* number of messages whose last packet was sent since the first sign
                               * of the reuse */
    uint32_t packets;         /* number of request packets from the first sign of the reuse on */
    uint32_t same;            /* number of requests since the first sign of the reuse that equal the
                               * earlier request with the same PSN */
    uint32_t different;       /* number of later signs of the reuse. A sign is a request that
                               * differs from the earlier request with the same PSN, or an opcode
                               * that does not fit. After an idle time, a request with another
                               * opcode and another length counts twice */
    uint32_t different_frame; /* first frame counted in `different`; 0 if none */
    bool psns_unsure;         /* the number of PSNs of a READ since the first sign of the reuse is
                               * unknown */
    bool new_port;            /* the UDP source port changed at the first sign of the reuse */
    bool after_rest;          /* the requester was idle for at least ROCE_REST_NS before the first
                               * sign of the reuse */
    bool after_idle;          /* the requester was idle for at least ROCE_MIN_TIMEOUT_NS before the
                               * first sign of the reuse */
    struct roce_deferred_findings *deferred; /* findings deferred until it is decided whether the QP
                                              * was reused; NULL if none */
};

/* State of an endpoint in its requester role. */
struct roce_req {
    bool started;
    bool base_sure;      /* `base` is certainly the first PSN of the connection */
    bool psn_cnt_guess;  /* the number of PSNs of the newest window entry, a READ, is a guess, so
                          * `nxt` may be too low */
    bool base_cm : 1;    /* CM messages set `base`, possibly before the first request was captured
                          * (`started` false) */
    bool late_ack : 1;   /* the requester may have gone back because an ACK arrived late
                          * (roce_cold_counters.late_acks), and no response was captured since */
    bool maybe_reused;   /* the requester went back to a PSN at which a new connection of the QP may
                          * start, and has sent no new PSN since */
    uint8_t reuse_kind;  /* enum roce_reuse_kind: sign of a QP reuse that later packets have not yet
                          * confirmed or refuted; NONE if there is none */
    bool peer_restarted; /* the peer's requester began again with another PSN, so the QPs were
                          * probably reused; this requester is also expected to begin again */
    uint8_t implied_nak : 1;   /* READs or atomics from implied_nak_psn on were implicitly NAKed */
    uint8_t pending_cause : 7; /* enum roce_cause of the next go-back, if a captured response
                                * makes the requester go back; NONE if no go-back is expected */
    uint32_t base;
    uint32_t rel_base; /* PSN from which relative PSNs count: the first value of `base` */
    uint32_t nxt;      /* highest PSN requested, plus 1: the next PSN expected */
    uint32_t una;      /* highest PSN acknowledged, plus 1; greater than nxt if requests are missing
                        * in the capture */
    uint32_t implied_nak_psn;
    uint32_t acked_frame; /* highest frame number of an acknowledged request */
    uint64_t gap_time;    /* capture time of the request after the latest PSN gap, ns */
    struct roce_window win;
    struct roce_retransmission retx;
    uint64_t last_time; /* time of the latest request packet */
    uint64_t bytes_in_flight;
    uint32_t reqs_in_flight, reads_in_flight;
    uint32_t retry_psn;           /* first PSN of the latest go-back */
    uint8_t timeouts, rnrs, naks; /* numbers of go-backs to retry_psn after a timeout, an RNR NAK, a
                                   * sequence NAK. A timeout after a sequence NAK for retry_psn that
                                   * the requester did not obey counts in `timeouts` and in `naks`
                                   */
    uint8_t base_digest;          /* digest of the request with PSN `base` */
    uint32_t timeout_least_us; /* shortest time between two consecutive timeouts of retry_psn, us */
    uint32_t part;             /* acknowledged payload bytes of the message that is not completely
                                * acknowledged yet */
    uint32_t msg_number;
    uint16_t run_id; /* run_id of the newest window entry. All entries between two PSN gaps have one
                      * run_id */
    bool una_known;
    bool shifted : 1;   /* in a go-back, the requester sent an empty Only packet with the PSN of
                         * another request (known deviation D41), so it may retransmit the later
                         * requests with other PSNs */
    bool watched : 1;   /* timeouts of this requester are watched: later responses may show that
                         * they were spurious (roce_cold_counters.watches) */
    bool moved : 1;     /* after `shifted` was set, the requester retransmitted a packet: later
                         * findings about requests and responses are at most WARN */
    uint8_t rounds : 5; /* number of go-backs after timeouts since the latest response or new
                         * request. The go-backs may begin with different PSNs */
};

#define ROCE_NAKS_BACK 3u /* number of remembered sequence NAKs */

/* Responder role of an endpoint: its latest responses and NAKs. Small members are adjacent to avoid
 * padding. */
struct roce_rsp {
    bool started;
    uint8_t last_syndrome, last_op;
    bool msn_ref;
    uint8_t msn_ref_hits; /* number of responses that confirmed the MSN reference (msn_ref_cum
                           * and msn_ref_msn) */
    bool nak, rnr;        /* a sequence NAK (`nak`) or RNR NAK (`rnr`) was captured, and its PSN was
                           * not retransmitted since */
    /* Earlier sequence NAKs that the requester has not obeyed yet, the most recent first. Each
     * element is the distance in PSNs from the earlier NAK to the latest one (nak_psn); 0: unused
     * element */
    uint8_t nak_back[ROCE_NAKS_BACK];
    bool nak_second : 1; /* the requester went back for an earlier sequence NAK than the latest
                          * one, and is expected to go back for the later NAKs, too */
    bool rnr_first : 1;  /* the latest RNR NAK is the first one for rnr_psn, and certainly answers
                          * the first transmission of rnr_psn */
    bool nak_late : 1;   /* the latest sequence NAK is counted in naks_for_late, because its packet
                          * was late and not lost */
    bool gap_nak : 1; /* a sequence NAK for gap_psn was captured, but no request with this PSN since
                       */
    bool fatal : 1;
    bool credit_seen : 1;
    bool read_known : 1; /* read_nxt and read_high are valid */
    uint8_t credit_code;
    uint8_t credit_cnt; /* number of consecutive responses with valid credits; not counted beyond
                         * 255 */
    uint16_t last_id;
    uint16_t read_id; /* IPv4 identification of the READ response that set read_nxt */
    uint16_t msn_ref_run;
    uint32_t last_psn, last_msn; /* PSN and MSN of the latest response with an AETH */
    uint32_t last_icrc;
    uint32_t dup_num, dup_frame, last_frame;
    /* MSN reference: a response had the MSN msn_ref_msn when the requester had sent msn_ref_cum
     * messages. It is valid for the window entries with the run_id msn_ref_run, between which no
     * PSN is missing. */
    uint32_t msn_ref_cum, msn_ref_msn;
    uint32_t nak_psn, nak_frame, rnr_psn, rnr_frame;
    uint32_t gap_psn, gap_frame;
    uint32_t fatal_psn, fatal_frame;
    uint32_t lsn;       /* limit sequence number: highest sum of MSN and credits, mod 2^24 */
    uint32_t credit_ms; /* time of the first response counted in credit_cnt, ms mod 2^32 */
    uint32_t read_nxt;  /* PSN after the latest READ response */
    uint32_t read_high; /* highest PSN of a READ response, plus 1 */
    uint32_t last_us;  /* capture time of the latest response, us modulo 2^32; duplicate ACKs do not
                          change it */
    uint32_t rnr_wait; /* wait that the latest RNR NAK asks for, ns */
    uint64_t nak_time, rnr_time;
    uint64_t fatal_time;
};

/* number of elements of nak_reactions, for times up to half a second */
#define ROCE_REACTIONS 20u
/* number of malformed or damaged requests that are remembered, the most recent ones */
#define ROCE_DROPPED_CNT 16u
/* number of NAKs or datagrams kept to detect their copies, the most recent ones */
#define ROCE_RECENT_CNT   8u
#define ROCE_DEFERRED_MAX 8u
/* number of gaps in READ responses that are remembered until the missing responses are captured */
#define ROCE_READ_GAPS 16u
#define ROCE_LATE_PSNS 2u

/* maximum number of different UDP source ports stored for each endpoint */
#define ROCE_PORTS_MAX 4u

/* READ responses that are missing in the capture: one gap between two captured responses. */
struct roce_read_gap {
    uint32_t psn, cnt; /* range of missing PSNs; cnt 0: unused entry */
    uint32_t frame;    /* frame of the response after the gap */
    bool fresh;        /* no response with the missing PSNs was captured, not even to an earlier
                        * transmission of the READ */
    bool passed;       /* the response after the gap answers a later request than the missing
                        * responses, so the gap is an implied NAK */
};

/* A request that a watched go-back retransmits. The responses to the request may show that the
 * timeout was spurious. */
struct roce_watch_point {
    uint32_t psn;
    uint32_t frame;     /* frame of the first transmission of the request that contains `psn` */
    bool own_response;  /* true: the request is a READ or atomic, with its own response; false: an
                         * ACK answers the request */
    bool too_soon;      /* the first response since the go-back began is too early to answer the
                         * retransmission */
    uint8_t syndrome;   /* syndrome of the first ACK since the go-back began */
    bool moved;         /* since the go-back began, an ACK for an earlier PSN of the go-back was
                         * captured: at that time the responder had not accepted `psn` yet */
    uint32_t requests;  /* number of transmissions that a response with PSN `psn` may answer,
                         * counted since the go-back began */
    uint32_t after;     /* number of transmissions in `requests` since `psn` was retransmitted,
                         * including this retransmission */
    uint32_t responses; /* number of responses with PSN `psn` since the go-back began */
    uint32_t groups;    /* number of groups of equal responses. A response begins a new group if at
                         * least half of the time from `sent` to the go-back has passed since the
                         * previous response */
    uint64_t sent;      /* time of the latest transmission of `psn` before the go-back, ns */
    uint64_t latest;    /* time of the latest response, ns */
};

/* Maximum number of watched go-backs of one requester at a time. Seven would suffice for one
 * request, because a requester retransmits a request at most seven times. */
#define ROCE_WATCHES 8u

/* A go-back after a timeout that is watched: the analysis compares later responses with the
 * go-back, to find out whether the timeout was spurious. */
struct roce_timeout_watch {
    uint32_t frame, psn; /* first frame of the go-back, and PSN of this frame */
    uint64_t time;       /* time of `frame`, ns */
    uint64_t answered;   /* time of the first response to `psn` or a later PSN since the go-back
                          * began, ns; 0 if none */
    uint32_t go_backs;   /* number of go-backs of the requester since this go-back, including it */
    uint32_t packet_cnt; /* number of packets of both endpoints before the go-back */
    bool restart;        /* the go-back is counted in roce_read_restarts.missing */
    bool relost;         /* the go-back is counted in roce_timeout_losses.relost */
    bool unanswered;     /* the go-back is counted in roce_timeout_losses.unanswered */
    /* true: at the timeout, the last request was less than half as old as the first one. An ACK of
     * the last request may then still be on time, so the timeout does not count as spurious. */
    bool filled;
    bool late; /* the first response after the go-back was captured long after the latest request */
    uint8_t point_cnt;
    struct roce_watch_point point[2];
    /* This go-back increased the members of struct roce_retx_summary with the same names by these
     * amounts. */
    uint64_t packets, bytes, stalled_ns, waited_ns;
};

struct roce_watches {
    uint8_t used; /* bit N: of[N] is in use */
    struct roce_timeout_watch of[ROCE_WATCHES];
};

/* Go-backs that retransmitted an acknowledged packet after a timeout, because the ACK was late
 * (late_ack.h). */
struct roce_late_acks {
    struct roce_late_ack {
        uint32_t frame;      /* first frame of the latest go-back */
        uint64_t sent, time; /* time of the request that `frame` retransmits, and time of `frame`,
                              * ns */
        uint64_t wait;       /* time for which the requester sent nothing before `frame`, ns */
        /* packets, bytes: their values in retx[ROCE_CAUSE_TIMEOUT] when this go-back began.
         * stalled_ns, waited_ns: times that this go-back added to these members of
         * retx[ROCE_CAUSE_TIMEOUT] */
        struct roce_retx_summary before;
    } now;
    uint32_t cnt;                 /* number of go-backs for which the ACK came late */
    struct roce_retx_summary sum; /* sum over the go-backs in `cnt` that are still counted as
                                   * timeouts, not as spurious timeouts */
};

/* ERROR findings that are deferred until it is decided whether the QP was reused. */
struct roce_deferred_findings {
    uint32_t cnt;
    struct roce_finding finding[ROCE_DEFERRED_MAX];
    bool of_peer[ROCE_DEFERRED_MAX]; /* true: the finding is about the peer of the endpoint whose QP
                                      * may be reused. No side number is stored, because the pairing
                                      * of the directions may change it */
};

/* Rarely used counters of an endpoint, allocated at first use. The names and meanings are those of
 * struct roce_endpoint_summary, except where a comment describes them. */
/* Response with an MSN. `cum`: value of roce_sent_packet.cum of the newest request that the MSN
 * must count. */
struct roce_msn_point {
    uint64_t time;
    uint32_t frame, msn, cum;
};

/* The response that set the MSN reference, and the next response, which contradicts it. A later
 * response shows which of the two is wrong. Valid while the MSN reference equals `ref`, and
 * other.frame is not 0. */
struct roce_msn_doubt {
    struct roce_msn_point ref, other;
    uint32_t max; /* highest MSN that `other` may have if `ref` is right */
    bool part;    /* `other` is not the last response to a READ */
};

struct roce_cold_counters {
    /* One of the latest NAKs or RNR NAKs of the endpoint, or one of the latest datagrams of a UD
     * QP. The analysis compares later packets with it to detect copies. frame 0: unused entry. */
    struct roce_recent_packet {
        uint32_t frame, icrc;
        uint16_t id;
        uint64_t time;
    } recent[ROCE_RECENT_CNT];
    uint8_t recent_next;
    struct roce_msn_doubt msn_doubt;
    uint64_t missing_psns, missing_repeats, unheeded_naks, unseen_acked;
    /* missing_read_psns: number of PSNs in missing_psns that belong to a READ request but are not
     * its first PSN. unseen_read_psns: number of such PSNs in unseen_acked. */
    uint64_t missing_read_psns, unseen_read_psns;
    uint64_t out_of_order, copies, duplicates;
    /* A copy is a second capture of one transmission. copy_ns: time from the first copied request
     * to its copy, ns. copies_timed: number of copies whose time was measured. copies_alike: number
     * of these copies whose time is about copy_ns. */
    uint64_t copy_ns;
    uint32_t copies_alike, copies_timed;
    bool response_twice;    /* an ACK was captured twice, although its request was captured only
                             * once */
    uint64_t naks_for_late; /* see naks_for_late of struct roce_endpoint_summary */
    uint32_t naks_after_rnr, naks_unseen; /* see struct roce_endpoint_summary */
    uint32_t late_psn[ROCE_LATE_PSNS]; /* PSNs of the latest out-of-order packets, each plus 1; 0:
                                        * unused element */
    uint32_t behind_responses;         /* see struct roce_endpoint_summary */
    uint64_t behind_ns;
    uint64_t hole_moves; /* window entries moved so far to insert packets that fill PSN gaps */
    uint64_t psn_naks, rnr_naks, rnr_paged, fatal_naks, late_responses;
    struct roce_read_gap read_gap[ROCE_READ_GAPS];
    uint32_t read_gap_next;
    /* From PSN read_old to read_old_end - 1, READ responses may be missing although no
     * roce_read_gap records them: the record was overwritten, or the PSNs precede the first
     * captured response. */
    uint32_t read_old, read_old_end;
    /* true: the latest READ response has an older PSN than the previous READ response, because the
     * READ was restarted. read_back is then the value of roce_rsp.read_nxt before the latest
     * response. */
    bool read_went_back;
    uint32_t read_back;
    /* accepted_reads: number of READs of this endpoint that it did not retransmit, although their
     * responses were captured out of order. In the summary, the member with this name counts the
     * READs of the peer. */
    uint64_t accepted_early, accepted_reads;
    /* port: UDP source ports that the endpoint used, at most the first ROCE_PORTS_MAX different
     * ones. port_returns: number of changes to a port used earlier. port_frame, port_time: frame
     * and time of the first change. */
    uint16_t port[ROCE_PORTS_MAX];
    uint8_t port_cnt;
    uint32_t port_returns, port_frame;
    uint64_t port_time;
    uint64_t response_gaps, missing_responses, repeated_responses, repeated_response_bytes;
    uint64_t lost_messages;
    uint64_t bad_icrc, malformed;
    /* First request with a wrong ICRC since the latest correct request. bad_psn, bad_time and
     * bad_first: its PSN, time and frame. bad_tries: number of its transmissions with a wrong ICRC.
     * bad_last_time and bad_last: time and frame of the last of these transmissions. */
    uint64_t bad_time, bad_last_time;
    uint32_t migreq_frame; /* frame of the packet that set roce_endpoint.migreq_0; migreq_time is
                            * the time of this packet, ns */
    uint64_t migreq_time;
    uint32_t altered_frame; /* see roce_endpoint_summary.altered_frame */
    /* First READ response that was captured after the response to a later request: its time, frame
     * and PSN. `una`: PSN expected at that time. `after`: frame of the response to the later
     * request. Frame 0: none */
    struct roce_late_read {
        uint64_t time;
        uint32_t frame, psn, una, after;
    } late_read;
    uint32_t dropped_psn[ROCE_DROPPED_CNT]; /* PSNs of the latest malformed or damaged requests,
                                             * which the receiver drops */
    uint32_t dropped_cnt; /* number of requests ever stored in dropped_psn, which is a ring: new
                           * requests overwrite the oldest */
    uint32_t bad_psn, bad_first, bad_last, bad_tries;
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    struct roce_read_restarts read_restarts, read_gap_restarts;
    struct roce_timeout_losses timeout_losses;
    struct roce_refusal refusal;
    uint64_t rnr_advertised_ns, rnr_waited_ns;
    uint64_t timeout_min_ns, timeout_max_ns;
    uint64_t early_timeouts;
    /* Times from a sequence NAK to the retransmission that it caused. [0]: number of times up to 1
     * us; [i]: up to 2^i us, but above 2^(i-1) us; the last element also counts longer times */
    uint16_t nak_reactions[ROCE_REACTIONS];
    uint64_t nak_reaction_max_ns; /* longest time from a sequence NAK to the retransmission that it
                                   * caused, ns */
    uint64_t late_response_ns;
    struct roce_spread response_waits, credit_waits;
    /* credit_out_time: time of the response of this endpoint with which the peer ran out of
     * credits, ns. credit_back_time: time of the next response that granted a credit, ns. 0: none
     * since the latest request of the peer that needs a receive WQE */
    uint64_t credit_out_time, credit_back_time;
    struct roce_late_acks late_acks;
    struct roce_watches *watches; /* watched go-backs after timeouts, valid only if
                                   * roce_req.watched is true; NULL before the first watched
                                   * go-back */
    uint64_t latest_wait_ns;      /* wait before the latest retransmission by timeout, ns */
    uint8_t longer_waits; /* number of consecutive waits before retransmissions of one PSN, each
                           * longer than the previous wait */
    bool adaptive;
    uint64_t ce_marked, cnps, cnps_unasked, cnp_gap_min_ns;
    struct roce_spread cnp_gap_ns, cnp_delay_ns;
    struct roce_cnp_summary cnp; /* effect of the CNPs that the endpoint received; `slow` is the
                                  * congestion episode that still lasts */
    struct roce_slowdown slow;
    uint64_t becn, fecn;
    uint64_t ce_unanswered;         /* see roce_endpoint_summary.ce_unanswered */
    uint64_t ce_data, ce_data_time; /* number of CE-marked packets with payload that the endpoint
                                     * sent, and time of the first one, ns. Each of these packets
                                     * calls for a CNP */
    uint32_t ce_data_frame;         /* frame of the first packet in ce_data */
    uint64_t ce_time;
    uint64_t cnp_time; /* time of the latest CNP that the endpoint sent, ns */
    uint32_t ce_frame; /* frame of the latest CE-marked packet that no CNP has answered */
};

struct roce_oper_count {
    uint32_t messages, completed;
    uint64_t bytes;
};

/* Counters that every endpoint needs. 32 bits are enough to count packets, because a capture has
 * fewer than 2^32 frames. */
struct roce_counts {
    uint64_t bytes, payload_sent, max_bytes_in_flight;
    uint32_t packets, responses, acks;
    uint32_t first_psn, credits;
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint32_t region_cnt, region_more;
    uint16_t udp_sport;
    uint16_t idle_rest_ns;           /* part of the idle time below 1 us, ns: 0 to 999 (see
                                      * roce_endpoint.idle_us) */
    struct roce_oper_count *oper;    /* ROCE_OPER_CNT counters, one for each operation; NULL before
                                      * the first request */
    struct roce_cold_counters *cold; /* rarely used counters; NULL: all are zero */
};

struct roce_endpoint {
    /* The next members are adjacent, to share a cache line: each lookup in the hash table reads
     * them. */
    struct roce_endpoint *hash_next;
    uint32_t hash;
    bool keyed;          /* the endpoint is in the hash table */
    struct roce_key key; /* lookup key of the packets that this endpoint sends; `src` is valid even
                          * if `keyed` is false */
    uint32_t qpn;        /* QPN of this endpoint; ROCE_QPN_UNKNOWN if unknown */
    struct roce_conn *conn;
    struct roce_endpoint *pair_next, *pair_prev; /* links in a list of unpaired directions
                                                  * (pair_index.h) */
    uint32_t pair_key;
    bool pair_indexed;
    uint8_t pair_hits;     /* number of responses of this endpoint for which `pair_with` is the most
                            * probable requester; not counted beyond a maximum */
    bool pair_ambiguous;   /* a direction was found that may be the opposite direction: a response
                            * of one answers a request of the other. If the endpoint is still
                            * unpaired at the end of the capture, no candidate was certain */
    uint8_t other_service; /* number of consecutive packets with a transport service that the
                            * connection does not have */
    uint32_t pair_with;    /* conn_index of the most probable requester of the latest responses of
                            * this endpoint */
    uint32_t pair_tries;
    struct roce_req req;
    struct roce_rsp rsp;
    /* Values in the first packet of the endpoint, which its later packets should repeat. `any`: the
     * endpoint has sent a packet, so the values are valid. */
    bool any;
    uint8_t region_cap; /* capacity of `region`; placed here to avoid padding */
    uint16_t sport, pkey;
    uint8_t dscp;
    bool saw_id;      /* the IPv4 identification differs between packets, so that it can identify
                       * copies */
    bool migreq_0;    /* with ROCE_PROFILE_AUTO: the endpoint sent MigReq 0 */
    uint8_t id_score; /* evidence that the endpoint increases the IPv4 identification from packet to
                       * packet (ip_id.h) */
    uint16_t last_id;
    uint32_t idle_us; /* idle time of the requester in whole us; counts.idle_rest_ns has the rest */
    uint64_t fired[(ROCE_RULE_CNT + 63) / 64]; /* bit set of the rules that roce_report_once() has
                                                * reported for this endpoint */
    struct roce_times times;
    struct roce_meter *meter;           /* rate meter; NULL until the endpoint has sent enough
                                         * packets */
    struct roce_reuse_candidate *reuse; /* possible reuse of the QP, or NULL */
    struct roce_counts counts;
    struct roce_region *region;
};

struct roce_conn {
    uint32_t conn_index;
    bool paired;          /* both directions of the connection are known and joined */
    bool self;            /* a QP that is connected to itself: side 0 is both ends */
    bool ud;              /* a pair of UD QPs, looked up by both QPNs */
    bool inconsistent;    /* the captured packets of the connection contradict each other: no later
                           * finding is an ERROR */
    bool icrc_unverified; /* the ICRC of a judged packet could not be verified, so the packet may be
                           * damaged */
    uint32_t join_frame;  /* frame in which the two directions were paired, if a response was
                           * captured before; otherwise 0. The responses before this frame are not
                           * matched with their requests */
    bool mtu_seen;        /* a First or Middle packet showed the path MTU */
    uint32_t net;         /* network: encapsulation, VLANs and overlay */
    struct roce_conn *older, *newer;       /* list of connections, sorted by the time of the latest
                                            * packet */
    struct roce_conn *next_all, *prev_all; /* list of connections in the order of conn_index */
    struct roce_endpoint side[2];
    struct roce_conn_facts facts;
};

struct roce_timewait_qp {
    bool used;
    uint8_t addr[16];
    uint32_t qpn;
    uint64_t time;
    uint32_t frame;
};

#define ROCE_CM_EXCHANGES 256u /* maximum number of CM exchanges tracked at a time */
#define ROCE_TIMEWAIT_QPS 64u  /* maximum number of remembered QPs in timewait */
#define ROCE_PAIR_BUCKETS (2 * ROCE_FLOW_GROUPS)

struct roce_cm_exchange;

/* Data about the whole capture. After roce_flow_split(), several struct roce_flow (called parts)
 * judge the capture together and share this data. roce_flow_look() changes `trust` (except its
 * deferred findings), `last_time` and `grain`. All other members may be used only after
 * roce_gate(). */
struct roce_common {
    struct roce_mem *mem; /* memory from which the members below are allocated */
    uint32_t *alias; /* alias[i] = conn_index of the connection to which connection i was joined; i
                      * if connection i was not joined */
    uint32_t alias_cap, next_conn_index;
    struct roce_cm_exchange *cm;
    uint32_t cm_next;
    struct roce_timewait_qp timewait[ROCE_TIMEWAIT_QPS];
    uint32_t timewait_next;
    struct roce_icrc_trust trust;
    uint8_t rxe_host[ROCE_PEER_HOSTS][16]; /* addresses of the hosts recognised as rxe */
    uint32_t rxe_host_cnt;
    bool has_gaps;      /* a finding shows that packets are missing in the capture */
    uint64_t last_time; /* latest time in the capture, ns */
    uint64_t grain; /* resolution of the capture's clock so far, ns; 0 before the first packet */
    struct roce_flow *const *part; /* the parts that judge the capture together; NULL if
                                    * roce_flow_split() was not called */
    const uint8_t *part_of;        /* part_of[g] = index in `part` of the struct roce_flow that
                                    * judges group g of hosts (roce_flow_group()) */
    unsigned part_cnt;
};

struct roce_flow {
    struct roce_flow_opts opts;
    /* Secret of the hash table. All threads that parse packets read the secret. So it must not
     * share a cache line with members that change with each packet */
    struct roce_hash_secret secret;
    struct roce_common *common, own; /* `common` points to `own`; in each part of
                                      * roce_flow_split(), to `own` of part 0 */
    void (*gate)(void *user);        /* called by roce_gate(); NULL if one struct roce_flow judges
                                      * the whole capture */
    bool gated;                      /* roce_gate() has returned for the current packet */
    struct roce_mem own_mem;         /* memory of `own`, while several flows share `own` */
    struct roce_mem mem;
    struct roce_flow_totals totals;
    struct roce_endpoint **table;
    struct roce_endpoint *recent; /* endpoint that the lookup found for the previous packet, or
                                   * NULL. The lookup tries this endpoint first, because packets
                                   * arrive in bursts */
    uint32_t table_cap, side_cnt, conn_cnt;
    struct roce_conn *oldest, *newest;
    struct roce_conn *first_all, *last_all;
    struct roce_endpoint *pair[ROCE_PAIR_BUCKETS];
    uint16_t directions[ROCE_PAIR_BUCKETS]; /* number of directions of connected services in each
                                             * list of pair_index.c; not counted beyond UINT16_MAX
                                             */
    uint64_t acked_hosts;      /* bit set of the hosts in `trust`: a receiver acknowledged packets
                                * of the host */
    uint64_t unanswered_hosts; /* bit set of the hosts in `trust` that sent a request three times
                                * without a response */
    struct roce_hist (
        *summary_hist)[ROCE_TIMES]; /* scratch histograms for a summary, one set for each side */
    struct roce_cold_counters lost_cold; /* counters that no report shows, used if memory for
                                          * roce_cold_counters is exhausted */
    struct roce_oper_count lost_oper;
    uint64_t last_time; /* latest time in the capture so far, ns */
    uint64_t grain;     /* resolution of the capture's clock so far, ns */
    bool finished;
};

/* Waits until every earlier packet of the capture has been judged. Returns at once if one thread
 * judges the capture. A function must call roce_gate() before it uses roce_common or calls a
 * callback. Then several threads use roce_common and the callbacks in the order of the capture. */
static inline void roce_gate(struct roce_flow *flow)
{
    if (!flow->gate || flow->gated)
        return;
    flow->gate(flow->opts.user);
    flow->gated = true;
}

/* The packet being processed and its context. */
struct roce_ctx {
    struct roce_flow *flow;
    const struct roce_pkt *pkt;
    uint32_t frame;
    uint64_t time;
    enum roce_icrc_status icrc;
    bool rewritten;               /* the capture point changed bytes of the packet: its ICRC is
                                   * wrong, but the receiver got a correct packet */
    bool have_connection;         /* false: the packet is judged without the data of its
                                   * connection */
    struct roce_conn *conn;       /* connection of the packet, or NULL */
    struct roce_endpoint *sender; /* sender of the packet; NULL if conn is NULL */
    struct roce_flow_result *result;
    bool want_result;    /* the caller of roce_flow_feed() passed a result to fill */
    uint64_t silent_ns;  /* time since the previous packet of the connection, ns */
    uint32_t lsn_before; /* value of roce_rsp.lsn before the current response */
    const struct roce_packet_digest *digest;
    const struct roce_flow_look *look; /* result of roce_flow_look() for the packet; NULL at the end
                                        * of a connection */
    const uint8_t *src, *dst; /* source and destination address in the lookup key of the packet */
};

static inline struct roce_endpoint *roce_peer(const struct roce_endpoint *side)
{
    struct roce_conn *c = side->conn;

    if (c->self)
        return &c->side[0];
    return side == &c->side[0] ? &c->side[1] : &c->side[0];
}

/* Returns whether the pairing of the two directions is only a guess from PSNs, MSNs or ports (enum
 * roce_pairing). Findings that compare the two directions of such a pair are not ERRORs. */
static inline bool roce_is_guess(const struct roce_conn *conn)
{
    return roce_pairing_is_guess(conn->facts.pairing);
}

/* Returns whether two P_Keys match: their low 15 bits are equal, and at least one has the
 * full-member bit (R049). */
static inline bool roce_pkeys_match(uint16_t a, uint16_t b)
{
    return ((a ^ b) & 0x7FFF) == 0 && ((a | b) & 0x8000);
}

static inline uint8_t roce_endpoint_side(const struct roce_endpoint *side)
{
    return side == &side->conn->side[1];
}

/* Returns a time in ns as milliseconds, mod 2^32. */
static inline uint32_t roce_ms(uint64_t ns)
{
    return (uint32_t)(ns / 1000000);
}

/* Returns a time in ns as microseconds, mod 2^32. */
static inline uint32_t roce_us(uint64_t ns)
{
    return (uint32_t)(ns / 1000);
}

/* Returns the time from `from` to `to` in ns, or 0 if the capture's clock stepped back. */
static inline uint64_t roce_since(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Returns the set of CM messages captured for the current connection of the two QPs, one bit for
 * each enum roce_cm. Returns 0 after a DREQ, because the QPs may then be reused for another
 * connection. */
static inline uint16_t roce_conn_cm_seen(const struct roce_conn *conn)
{
    return conn->facts.cm.dreq_frame ? 0 : conn->facts.cm.seen;
}

static inline bool roce_reuse_is_pending(const struct roce_req *req)
{
    return req->reuse_kind != ROCE_REUSE_NONE;
}

/* Returns whether a packet is a NAK or an RNR NAK. */
static inline bool roce_pkt_is_nak(const struct roce_pkt *pkt)
{
    return pkt->op->kind == ROCE_KIND_ACK && roce_pkt_has(pkt, ROCE_HDR_AETH) &&
           roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
}

static inline enum roce_oper roce_oper_of(const struct roce_opcode *op)
{
    switch (op->kind) {
    case ROCE_KIND_SEND: return ROCE_OPER_SEND;
    case ROCE_KIND_WRITE: return ROCE_OPER_WRITE;
    case ROCE_KIND_READ: return ROCE_OPER_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return ROCE_OPER_ATOMIC;
    default: return ROCE_OPER_OTHER;
    }
}

/* Returns whether request `e` certainly needs no receive WQE. An RNR NAK for such a request
 * indicates on-demand paging. */
static inline bool roce_sent_is_paged(const struct roce_sent_packet *e)
{
    return !roce_opcode_uses_rq(roce_opcode(e->op)) && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Returns whether a packet with opcode `op` may directly follow a packet with opcode `was`. Either
 * both are in one message, or the first ends a message and the second begins the next one. */
static inline bool roce_may_follow(const struct roce_opcode *was, const struct roce_opcode *op)
{
    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

#endif
