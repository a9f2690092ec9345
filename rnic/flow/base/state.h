/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * State: all data that the flow stores. The functions that create, find and join connections are in
 * table/. Private to flow/.
 *
 *   roce_flow       the flow: options, memory, connections, CM exchanges, totals
 *   roce_conn       one connection: a pair of QPs in their present use
 *   roce_endpoint   one endpoint of a connection: requester, responder, counters
 *   roce_req        requester role of an endpoint: window of request packets, outstanding requests
 *   roce_rsp        responder role of an endpoint: latest responses and NAKs, credits, MSN
 *   roce_ctx        the packet being processed, passed from function to function
 *
 * A packet of a connected service names only the destination QP. Therefore the lookup key of a
 * direction is (network, source, destination, destination QP). CM messages or pair.c join two
 * directions to one connection. Datagrams name both QPs; their lookup key contains both.
 *
 * Data from the packets of one endpoint is in its roce_endpoint. Joining two half-known connections
 * therefore moves an endpoint and computes nothing.
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

#define ROCE_MIN_TIMEOUT_NS UINT64_C(1000000) /* minimum local ACK timeout in use, ns */
/* minimum idle time in which two programs can set up their QPs for another use, ns */
#define ROCE_REST_NS UINT64_C(100000)
/* minimum idle time between two uses of a QP, ns */
#define ROCE_IDLE_REUSE_NS UINT64_C(100000000)

/* Returns a - b for PSNs or sums of PSNs. Bits above the low 24 are ignored. */
static inline int32_t roce_diff(uint32_t a, uint32_t b)
{
    return roce_psn_diff((roce_psn){a}, (roce_psn){b});
}

/* PSN distance above which a gap is not packet loss: the QP was reused, or the capture has a large
 * hole. */
#define ROCE_PSN_JUMP 65536

/* A go-back-N retransmission in progress. */
struct roce_retransmission {
    enum roce_cause cause; /* cause of the retransmission; NONE: no retransmission yet */
    bool active;
    uint32_t first;   /* PSN at which the retransmission started */
    uint32_t next;    /* PSN that continues the retransmission */
    uint32_t frame;   /* frame in which the retransmission started */
    uint32_t trigger; /* frame of the NAK or response that caused the retransmission; 0 if none */
    uint64_t time;    /* start time of the retransmission; before the first request: time of the CM
                       * message */
};

/* Event that made a reuse of the QP possible: see qp_reuse.h. */
enum roce_reuse_kind {
    ROCE_REUSE_NONE,
    ROCE_REUSE_GAP,         /* PSNs before a request are missing */
    ROCE_REUSE_OLDER_PSN,   /* a request has an older PSN than the previous request */
    ROCE_REUSE_LATER_PSN,   /* a request has a later PSN after an idle time long enough for QP reuse
                             */
    ROCE_REUSE_UNSOLICITED, /* a response acknowledges a PSN that was not requested */
    ROCE_REUSE_MSN_RESTART, /* an MSN restarted near 0 and counts only the latest requests */
};

struct roce_deferred_findings;

/* A possible reuse of a QP, tracked until later packets confirm or refute it. A packet that does
 * not continue the connection suggests the reuse; it is called the event here. */
struct roce_reuse_candidate {
    uint32_t frame; /* frame of the event that suggests a reuse */
    uint64_t time;
    uint32_t first;           /* PSN of the first packet after the event */
    uint32_t next;            /* PSN of the next packet in order after the event */
    uint32_t msn_before;      /* latest MSN of the peer before the event that suggests a reuse */
    uint32_t msn;             /* MSN_RESTART: the low MSN; UNSOLICITED: MSN of the unsolicited
                               * response */
    uint32_t in_flight;       /* messages in flight before the event */
    uint32_t messages;        /* messages that ended after the event */
    uint32_t packets;         /* request packets after the event */
    uint32_t same;            /* requests identical to the earlier request with the same PSN */
    uint32_t different;       /* requests that differ from the earlier request with the same PSN */
    uint32_t different_frame; /* first frame whose request differs from the earlier one */
    bool psns_unsure;         /* the number of PSNs of the requests is unknown */
    bool new_port;            /* the UDP source port changed with the event */
    bool after_rest;          /* the requester was idle for at least ROCE_REST_NS before */
    bool after_idle;          /* the endpoint was idle before the event */
    struct roce_deferred_findings *deferred; /* findings deferred until the reuse is decided, or
                                              * NULL */
};

/* State of an endpoint in its requester role. */
struct roce_req {
    bool started;
    bool base_sure;     /* `base` is the first PSN of the connection */
    bool psn_cnt_guess; /* the PSN count of the newest entry is a guess, so `nxt` is a lower
                         * bound */
    bool base_cm;       /* `base` is from CM messages; if !started, no request was captured yet */
    bool maybe_reused;  /* the requester restarted at a PSN where a new use of the QP may begin, and
                         * has not continued beyond it */
    uint8_t reuse_kind; /* enum roce_reuse_kind of the endpoint's open reuse candidate */
    bool peer_restarted;     /* the peer's requester restarted after a QP reuse: this requester will
                              * restart too */
    uint8_t implied_nak : 1; /* READs or atomics from implied_nak_psn on were implicitly NAKed */
    uint8_t pending_cause : 7; /* enum roce_cause of a go-back that a response requires and that has
                                * not started */
    uint32_t base;
    uint32_t rel_base; /* base of relative PSNs: the first value of `base` */
    uint32_t nxt;      /* highest PSN requested, plus 1 */
    uint32_t una;      /* highest PSN acknowledged, plus 1; may be greater than nxt */
    uint32_t implied_nak_psn;
    uint32_t acked_frame; /* highest frame of the acknowledged requests */
    uint64_t gap_time;    /* time at which the latest PSN gap was found */
    struct roce_window win;
    struct roce_retransmission retx;
    uint64_t last_time; /* time of the latest request packet */
    uint64_t bytes_in_flight;
    uint32_t reqs_in_flight, reads_in_flight;
    uint32_t retry_psn;           /* PSN of the latest retransmission by timeout or RNR NAK */
    uint8_t timeouts, rnrs, naks; /* retransmissions of retry_psn by cause; naks: sequence NAKs */
    uint8_t base_digest;          /* digest of the request with PSN `base` */
    uint32_t timeout_least_us; /* shortest time between two consecutive timeouts of retry_psn, us */
    uint32_t part;             /* acknowledged bytes of a message whose end is not acknowledged */
    uint32_t msg_number;
    uint16_t run_id; /* run id of the newest window entry: see roce_sent_packet */
    bool una_known;
    bool shifted : 1; /* the requester retransmitted an empty Only packet instead of another
                       * request, so its later requests may have higher PSNs than before */
    bool moved : 1;   /* such a packet was processed, so findings on the later requests and their
                       * responses are no ERROR */
};

/* State of an endpoint in its responder role. Small members are adjacent to avoid padding. */
struct roce_rsp {
    bool started;
    uint8_t last_syndrome, last_op;
    bool msn_ref;
    uint8_t
        msn_ref_hits; /* number of responses that confirmed the MSN reference: see check_ack.c */
    bool nak, rnr;    /* a sequence NAK or RNR NAK whose PSN was not retransmitted yet */
    bool rnr_sure;    /* so far, the responder answered each transmission of rnr_psn with one RNR
                       * NAK */
    uint8_t rnr_at_tries;
    bool gap_nak; /* the responder sent a sequence NAK, and the requested PSN has not been
                   * captured since */
    bool fatal;
    bool credit_seen;
    bool read_known; /* read_nxt, read_high and read_back are valid */
    uint8_t credit_code;
    uint8_t credit_cnt; /* consecutive responses with valid credits, at most 255 */
    uint16_t last_id;
    uint16_t msn_ref_run;
    uint32_t last_psn, last_msn; /* PSN and MSN of the latest response with an AETH */
    uint32_t last_icrc;
    uint32_t dup_num, dup_frame, last_frame;
    /* MSN reference: after msn_ref_cum messages of run msn_ref_run, the responder's MSN was
     * msn_ref_msn. */
    uint32_t msn_ref_cum, msn_ref_msn;
    uint32_t nak_psn, nak_frame, rnr_psn, rnr_frame;
    uint32_t rnr_at; /* PSN of the previous RNR NAK, and how often that PSN had been sent
                      * (rnr_at_tries) */
    uint32_t gap_psn, gap_frame;
    uint32_t fatal_psn, fatal_frame;
    uint32_t lsn;       /* highest MSN + credits (limit sequence number), mod 2^24 */
    uint32_t credit_ms; /* time of the first of the credit_cnt responses, ms */
    uint32_t read_nxt;  /* PSN after the latest READ response */
    uint32_t read_high; /* one after the highest PSN of a READ response */
    uint32_t last_us;   /* time of the latest response, us modulo 2^32 */
    uint32_t rnr_wait;  /* advertised wait of the latest RNR NAK, ns */
    uint64_t nak_time, rnr_time;
    uint64_t fatal_time;
};

#define ROCE_RECENT_NAKS  8u /* number of recent NAKs kept to detect their copies */
#define ROCE_DEFERRED_MAX 8u
#define ROCE_READ_GAPS    16u /* gaps in READ responses that are remembered until they are filled */

#define ROCE_PORTS_MAX 4u /* different UDP source ports that are counted */

/* READ responses that are missing in the capture. */
struct roce_read_gap {
    uint32_t psn, cnt; /* PSNs that are still missing; cnt 0: none */
    uint32_t frame;    /* response after the gap */
    bool fresh;        /* none of these PSNs was captured earlier */
    bool passed;       /* the response after the gap answers a later request: an implied NAK */
};

/* ERROR findings that are deferred until a possible QP reuse is decided. */
struct roce_deferred_findings {
    uint32_t cnt;
    struct roce_finding finding[ROCE_DEFERRED_MAX];
    bool of_peer[ROCE_DEFERRED_MAX]; /* the finding is about the peer; side numbers may change while
                                      * it is deferred */
};

/* Rarely used counters, allocated at first use. Names and meanings are those of struct
 * roce_endpoint_summary. */
struct roce_cold_counters {
    /* One of the latest NAKs or RNR NAKs; frame 0: unused entry. */
    struct roce_recent_nak {
        uint32_t frame, icrc;
        uint16_t id;
    } recent_nak[ROCE_RECENT_NAKS];
    uint8_t recent_nak_next;
    uint64_t missing_psns, missing_repeats, unheeded_naks, unseen_acked;
    uint64_t out_of_order, copies, duplicates;
    uint64_t hole_moves; /* window entries moved so far to insert packets that fill PSN gaps */
    uint64_t psn_naks, rnr_naks, rnr_paged, fatal_naks, late_responses;
    struct roce_read_gap read_gap[ROCE_READ_GAPS];
    uint32_t read_gap_next;
    /* PSNs from read_old to before read_old_end belong to READ responses that may have been missing
     * when a later one was captured: the observer forgot their gap, or they precede the first known
     * response. */
    uint32_t read_old, read_old_end;
    uint64_t accepted_early, accepted_reads;
    /* UDP source ports of the endpoint: the first different ones, the number of returns to an
     * earlier one, and the first change. */
    uint16_t port[ROCE_PORTS_MAX];
    uint8_t port_cnt;
    uint32_t port_returns, port_frame;
    uint64_t port_time;
    uint64_t response_gaps, missing_responses, repeated_responses, repeated_response_bytes;
    uint64_t lost_messages;
    uint64_t bad_icrc, malformed;
    /* Requests with a wrong ICRC since the latest correct one: time, PSN, first and last frame,
     * count. */
    uint64_t bad_time;
    uint32_t altered_frame; /* as in the summary */
    uint32_t bad_psn, bad_first, bad_last, bad_tries;
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    struct roce_read_restarts read_restarts, read_gap_restarts;
    uint64_t rnr_advertised_ns, rnr_waited_ns;
    uint64_t timeout_min_ns, timeout_max_ns;
    uint64_t early_timeouts;
    uint64_t latest_wait_ns; /* wait before the latest retransmission by timeout */
    uint8_t longer_waits;    /* number of consecutive waits for one PSN, each longer than the
                              * previous one */
    bool adaptive;
    uint64_t ce_marked, cnps, cnps_unasked, cnp_gap_min_ns;
    struct roce_spread cnp_gap_ns, cnp_delay_ns;
    struct roce_cnp_summary cnp; /* effect of received CNPs, as far as `slow` has measured it */
    struct roce_slowdown slow;
    uint64_t becn, fecn;
    uint64_t ce_time;
    uint64_t cnp_time; /* time of the latest CNP sent */
    uint32_t ce_frame; /* latest CE-marked packet that no CNP has answered */
};

struct roce_oper_count {
    uint32_t messages, completed;
    uint64_t bytes;
};

/* Counters that every endpoint needs. A capture has fewer than 2^32 frames. */
struct roce_counts {
    uint64_t bytes, payload_sent, max_bytes_in_flight;
    uint32_t packets, responses, acks;
    uint32_t first_psn, credits;
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint32_t region_cnt, region_more;
    uint16_t udp_sport;
    struct roce_oper_count *oper;    /* ROCE_OPER_CNT counters, one for each operation; NULL before
                                      * the first request */
    struct roce_cold_counters *cold; /* rarely used counters; NULL: all are zero */
};

struct roce_endpoint {
    /* Members read by a hash table lookup, adjacent to share a cache line. */
    struct roce_endpoint *hash_next;
    uint32_t hash;
    bool keyed; /* the endpoint is in the hash table */
    struct roce_key
        key; /* key in the hash table; `src` is valid even if the endpoint is not in the table */
    uint32_t qpn; /* QPN of this endpoint; ROCE_QPN_UNKNOWN if unknown */
    struct roce_conn *conn;
    struct roce_endpoint *pair_next,
        *pair_prev; /* links of the list of unpaired directions: pair_index.h */
    uint32_t pair_key;
    bool pair_indexed;
    uint8_t pair_hits;     /* number of responses that matched only one unpaired direction */
    bool pair_ambiguous;   /* several unpaired directions matched a response equally well */
    uint8_t other_service; /* consecutive packets of another transport service */
    uint32_t pair_with;    /* conn_index of the unpaired direction that the responses matched */
    uint32_t pair_tries;
    struct roce_req req;
    struct roce_rsp rsp;
    /* Constants of the QP, copied from its first packet. */
    bool any;
    uint8_t region_cap; /* capacity of `region`; placed here to avoid padding */
    uint16_t sport, pkey;
    uint8_t dscp;
    bool saw_id; /* the sender uses the IPv4 identification: the value changes from packet to packet
                  */
    bool migreq_0; /* with ROCE_PROFILE_AUTO: the endpoint sent MigReq 0 */
    uint16_t last_id;
    uint64_t fired[(ROCE_RULE_CNT + 63) /
                   64]; /* bit set of the rules already reported for this endpoint */
    struct roce_times times;
    struct roce_meter *meter;           /* rate meter; NULL until the endpoint has sent enough
                                         * packets */
    struct roce_reuse_candidate *reuse; /* possible reuse of the QP, or NULL */
    struct roce_counts counts;
    struct roce_region *region;
};

struct roce_conn {
    uint32_t conn_index;
    bool paired;       /* both directions are known */
    bool self;         /* a QP that is connected to itself: side 0 is both ends */
    bool ud;           /* a pair of UD QPs, looked up by both QPNs */
    bool inconsistent; /* the capture contradicts itself: no later finding is an ERROR */
    bool
        icrc_unverified; /* the ICRC of a packet could not be verified: the packet may be damaged */
    uint32_t join_frame; /* frame in which the directions were paired, or 0. Responses to earlier
                          * requests may be missing */
    bool mtu_seen;       /* a First or Middle packet showed the path MTU */
    uint32_t net;        /* network: encapsulation, VLANs and overlay */
    struct roce_conn *older, *newer;       /* list of connections in the order of last use */
    struct roce_conn *next_all, *prev_all; /* list of connections in the order of their numbers */
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
#define ROCE_TIMEWAIT_QPS 64u
#define ROCE_PAIR_BUCKETS (2 * ROCE_FLOW_GROUPS)

struct roce_cm_exchange;

/* Data about the whole capture. Flows that judge a capture together share it (split.h). `trust`
 * except its deferred findings, `last_time` and `grain` change at the first look at a packet; a
 * flow uses the other members after roce_gate(). */
struct roce_common {
    struct roce_mem *mem; /* of the members below */
    uint32_t *alias; /* alias[i]: conn_index of the connection that connection i was joined to */
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
    struct roce_flow *const *part; /* the flows that share the capture; NULL if there is one */
    const uint8_t *part_of;        /* index of the flow of each group of addresses */
    unsigned part_cnt;
};

struct roce_flow {
    struct roce_flow_opts opts;
    struct roce_common *common, own; /* `common` is `own`, or that of the first flow */
    void (*gate)(void *user);        /* see roce_gate(); NULL for a single flow */
    bool gated;                      /* the current packet has passed the gate */
    struct roce_mem own_mem;         /* of `own`, while several flows share it */
    struct roce_mem mem;
    struct roce_hash_secret secret;
    struct roce_flow_totals totals;
    struct roce_endpoint **table;
    struct roce_endpoint
        *recent; /* most recently found endpoint, or NULL: packets arrive in bursts */
    uint32_t table_cap, side_cnt, conn_cnt;
    struct roce_conn *oldest, *newest;
    struct roce_conn *first_all, *last_all;
    struct roce_endpoint *pair[ROCE_PAIR_BUCKETS];
    uint16_t directions[ROCE_PAIR_BUCKETS]; /* number of directions of connected services between
                                             * two hosts; saturates */
    uint64_t acked_hosts;      /* bit set of the hosts in `trust` whose packets were acknowledged */
    uint64_t unanswered_hosts; /* bit set of those that sent a request three times without a
                                * response */
    struct roce_hist (
        *summary_hist)[ROCE_TIMES]; /* scratch histograms for a summary, one set for each side */
    struct roce_cold_counters lost_cold; /* dummy counters, used if the allocation of counters
                                          * fails */
    struct roce_oper_count lost_oper;
    uint64_t last_time; /* latest time in the capture so far, ns */
    uint64_t grain;     /* resolution of the capture's clock so far, ns */
    bool finished;
};

/* Waits until every earlier packet of the capture has been judged. Every function that uses
 * roce_common or calls a callback calls it, so that all of this happens in the order of the
 * capture. Returns at once for a single flow. */
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
    bool rewritten;               /* the ICRC is wrong but the receiver got a correct packet: the
                                   * capture point changed bytes */
    bool have_connection;         /* the packet is judged against the state of its connection */
    struct roce_conn *conn;       /* connection of the packet, or NULL */
    struct roce_endpoint *sender; /* sender of the packet; NULL if conn is NULL */
    struct roce_flow_result *result;
    bool want_result;    /* the caller of roce_flow_feed() passed a result to fill */
    uint32_t lsn_before; /* value of roce_rsp.lsn before the current response */
    const struct roce_packet_digest *digest;
    const struct roce_flow_look *look; /* NULL at the end of a connection */
    const uint8_t *src, *dst; /* source and destination address in the packet's lookup key */
};

static inline struct roce_endpoint *roce_peer(const struct roce_endpoint *side)
{
    struct roce_conn *c = side->conn;

    if (c->self)
        return &c->side[0];
    return side == &c->side[0] ? &c->side[1] : &c->side[0];
}

/* Returns whether the two directions were paired only by PSNs or similar evidence. Findings that
 * compare both directions of such a pair are not ERRORs. */
static inline bool roce_is_guess(const struct roce_conn *conn)
{
    return roce_pairing_is_guess(conn->facts.pairing);
}

static inline uint8_t roce_endpoint_side(const struct roce_endpoint *side)
{
    return side == &side->conn->side[1];
}

/* Converts a time in ns to milliseconds, mod 2^32. */
static inline uint32_t roce_ms(uint64_t ns)
{
    return (uint32_t)(ns / 1000000);
}

/* Returns the microseconds of a time in ns, mod 2^32. */
static inline uint32_t roce_us(uint64_t ns)
{
    return (uint32_t)(ns / 1000);
}

/* Returns the time from `from` to `to` in ns, or 0 if the capture's clock stepped back. */
static inline uint64_t roce_since(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Returns a bit for each CM message of the present use of the QPs. Returns 0 after a DREQ, because
 * the QPs may then be reused. */
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

/* Returns whether an RNR NAK for `e` indicates on-demand paging, because `e` needs no receive WQE.
 */
static inline bool roce_sent_is_paged(const struct roce_sent_packet *e)
{
    return !roce_opcode_uses_rq(roce_opcode(e->op)) && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Returns whether opcode `op` may follow opcode `was`, in one message or as the start of the next.
 */
static inline bool roce_may_follow(const struct roce_opcode *was, const struct roce_opcode *op)
{
    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

#endif
