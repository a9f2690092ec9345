/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * State: all that the observer remembers, as structs. Everything in flow/ works on these; what
 * creates, finds and joins connections is in table/. Private to flow/.
 *
 *   roce_flow       the observer: options, memory, connections, CM exchanges, totals
 *   roce_conn       a connection: a pair of QPs, in their present use
 *   roce_endpoint   one of its two ends: what it sent as requester and as responder, its counts
 *   roce_req        an endpoint as requester: its window of request packets, what is outstanding
 *   roce_rsp        an endpoint as responder: its latest responses and NAKs, credits, MSN
 *   roce_ctx        the packet at hand, handed from function to function
 *
 * On the wire a packet of a connected service names only the QP it goes to. So each direction is
 * found by (network, source, destination, destination QP); two directions are joined to one
 * connection by CM messages or by pair.c. Datagrams name both QPs and are found by both.
 *
 * State that comes from packets of one endpoint is in that endpoint, so that joining two half known
 * connections moves an endpoint and computes nothing.
 */
#ifndef FLOW_BASE_STATE_H
#define FLOW_BASE_STATE_H

#include "flow/base/icrc_trust.h"
#include "flow/base/packet_digest.h"
#include "flow/base/rate.h"
#include "flow/base/times.h"
#include "flow/base/window.h"
#include "wire/codes.h"

#define ROCE_MIN_TIMEOUT_NS UINT64_C(1000000)   /* shortest local ACK timeout in use */
#define ROCE_IDLE_REUSE_NS  UINT64_C(100000000) /* shortest time between two uses of a QP */

/* Returns a - b of two PSNs, or of sums of PSNs. Bits above the 24 are ignored. */
static inline int32_t roce_diff(uint32_t a, uint32_t b)
{
    return roce_psn_diff((roce_psn){a}, (roce_psn){b});
}

/* A PSN further away than this is not a loss: the QP was reused, or the hole is large. */
#define ROCE_PSN_JUMP 65536

/* A go-back in progress. */
struct roce_retransmission {
    enum roce_cause cause; /* NONE: no go-back yet */
    bool active;
    uint32_t first;   /* PSN at which it started */
    uint32_t next;    /* PSN that continues it */
    uint32_t frame;   /* frame in which it started */
    uint32_t trigger; /* frame of the NAK or response that caused it, 0 none */
    uint64_t time;    /* time of its start; before the first request: time of the CM message */
};

/* Event that made a reuse of the QP possible: see qp_reuse.h. */
enum roce_reuse_kind {
    ROCE_REUSE_NONE,
    ROCE_REUSE_GAP,         /* PSNs are missing before a request */
    ROCE_REUSE_OLDER_PSN,   /* a request has an older PSN */
    ROCE_REUSE_LATER_PSN,   /* a request has a later PSN, after a time in which the QP may have been
                               reused */
    ROCE_REUSE_UNSOLICITED, /* a response answers a PSN that was not requested */
    ROCE_REUSE_MSN_RESTART, /* an MSN counts from the latest requests on */
};

struct roce_deferred_findings;

/* A possible reuse of the QP: from the event that made it possible until later packets decide. */
struct roce_reuse_candidate {
    uint32_t frame; /* frame in which it began */
    uint64_t time;
    uint32_t first;           /* PSN of the first packet */
    uint32_t next;            /* PSN that continues it */
    uint32_t msn_before;      /* latest MSN of the peer before */
    uint32_t msn;             /* MSN_RESTART: the low MSN; UNSOLICITED: MSN of that response */
    uint32_t in_flight;       /* messages in flight before */
    uint32_t messages;        /* messages that ended since */
    uint32_t packets;         /* requests since */
    uint32_t same;            /* requests that repeat what had their PSNs */
    uint32_t different;       /* requests that differ from what had their PSNs */
    uint32_t different_frame; /* first frame that differs */
    bool psns_unsure;         /* the number of PSNs they take is not known */
    bool new_port;            /* the source port changed with the event */
    bool after_idle;          /* the endpoint had been idle before */
    struct roce_deferred_findings *deferred; /* findings deferred until it is decided, or NULL */
};

/* State of an endpoint as requester. */
struct roce_req {
    bool started;
    bool base_sure;     /* `base` is the first PSN of the connection */
    bool psn_cnt_guess; /* the PSN count of the newest entry is a guess: `nxt` is the least possible
                         */
    bool base_cm;       /* `base` is from CM; nothing was sent yet if !started */
    bool maybe_reused;  /* it went back to a PSN at which a reuse of the QP would begin, and has not
                           continued since */
    uint8_t reuse_kind; /* enum roce_reuse_kind of endpoint->reuse */
    bool peer_restarted; /* the other direction restarted after a QP reuse: this one will follow */
    uint8_t implied_nak : 1;   /* READs or atomics from implied_nak_psn on were implicitly NAKed */
    uint8_t pending_cause : 7; /* enum roce_cause: a response that makes the requester go back,
                                  which it has not done yet */
    uint32_t base;
    uint32_t rel_base; /* base for relative PSNs: the first value of `base` */
    uint32_t nxt;      /* one after the highest PSN seen */
    uint32_t una;      /* one after the highest PSN acknowledged; may be ahead of nxt */
    uint32_t implied_nak_psn;
    uint64_t gap_time; /* time at which the latest hole was found */
    struct roce_window win;
    struct roce_retransmission retx;
    uint64_t last_time; /* time of the latest request packet */
    uint64_t bytes_in_flight;
    uint32_t reqs_in_flight, reads_in_flight;
    uint32_t retry_psn;           /* PSN of the latest retransmission by timeout or RNR NAK */
    uint8_t timeouts, rnrs, naks; /* retransmissions of retry_psn, by cause; naks: sequence NAKs */
    uint32_t timeout_least_us;    /* shortest time between two timeouts, from the second on, us */
    uint32_t part; /* acknowledged bytes of a message whose end is not acknowledged */
    uint32_t msg_number;
    uint16_t run_id; /* run of the newest entry: see roce_sent_packet */
    bool una_known;
};

/* State of an endpoint as responder. Small members stand together to avoid padding. */
struct roce_rsp {
    bool started;
    uint8_t last_syndrome, last_op;
    bool msn_ref;
    uint8_t msn_ref_hits; /* number of responses that confirmed it: see check_ack.c */
    bool nak, rnr;        /* a sequence or RNR NAK whose PSN was not sent again yet */
    bool rnr_sure;        /* so far, each transmission of rnr_psn drew one RNR NAK */
    uint8_t rnr_at_tries;
    bool gap_nak; /* a sequence NAK was sent, and its PSN did not arrive since */
    bool fatal;
    bool credit_seen;
    uint8_t credit_code;
    uint8_t credit_cnt; /* responses with credits since the latest without, at most 255 */
    uint16_t last_id;
    uint16_t msn_ref_run;
    uint32_t last_psn, last_msn; /* of the latest response with an AETH */
    uint32_t last_icrc;
    uint32_t dup_num, dup_frame, last_frame;
    /* MSN reference: the MSN is msn_ref_msn after msn_ref_cum messages of run msn_ref_run. */
    uint32_t msn_ref_cum, msn_ref_msn;
    uint32_t nak_psn, nak_frame, rnr_psn, rnr_frame;
    uint32_t rnr_at; /* PSN of the RNR NAK before, and its transmissions then (rnr_at_tries) */
    uint32_t gap_psn, gap_frame;
    uint32_t fatal_psn, fatal_frame;
    uint32_t lsn;        /* highest MSN + credits, mod 2^24 */
    uint32_t lsn_before; /* value of `lsn` before the response at hand */
    uint32_t credit_ms;  /* time of the first of credit_cnt responses, ms */
    uint64_t nak_time, rnr_time, rnr_wait;
    uint64_t fatal_time;
};

#define ROCE_RECENT_NAKS  8u /* recent NAKs that are remembered to detect copies of them */
#define ROCE_DEFERRED_MAX 8u

/* ERROR findings that wait until a possible QP reuse is decided. */
struct roce_deferred_findings {
    uint32_t cnt;
    struct roce_finding finding[ROCE_DEFERRED_MAX];
    bool of_peer[ROCE_DEFERRED_MAX]; /* the finding is about the peer: side numbers may change
                                        meanwhile */
};

/* Counters that most endpoints never need; allocated with the first use. Names and meanings are
 * those of struct roce_endpoint_summary. */
struct roce_cold_counters {
    /* The latest NAKs and RNR NAKs; frame 0: none. */
    struct roce_recent_nak {
        uint32_t frame, icrc;
        uint16_t id;
    } recent_nak[ROCE_RECENT_NAKS];
    uint8_t recent_nak_next;
    uint64_t missing_psns, unseen_acked;
    uint64_t out_of_order, copies, duplicates;
    uint64_t psn_naks, rnr_naks, rnr_paged, fatal_naks, late_responses;
    uint64_t bad_icrc, malformed;
    /* Requests with a wrong ICRC since the latest right one: time, PSN, first and last frame,
     * count. */
    uint64_t bad_time;
    uint32_t bad_psn, bad_first, bad_last, bad_tries;
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    uint64_t rnr_advertised_ns, rnr_waited_ns;
    uint64_t timeout_min_ns, timeout_max_ns;
    uint64_t ce_marked, cnps, cnps_unasked, cnp_gap_min_ns;
    struct roce_spread cnp_gap_ns, cnp_delay_ns;
    struct roce_cnp_summary cnp; /* effect of the CNPs received, as `slow` */
    struct roce_slowdown slow;
    uint64_t becn, fecn;
    uint64_t ce_time;
    uint64_t cnp_time; /* time of the latest CNP sent */
    uint32_t ce_frame; /* latest CE-marked packet not yet answered by a CNP */
};

struct roce_oper_count {
    uint32_t messages, completed;
    uint64_t bytes;
};

/* The counters that every endpoint needs. A capture has fewer than 2^32 frames. */
struct roce_counts {
    uint64_t bytes, payload_sent, max_bytes_in_flight;
    uint32_t packets, responses, acks;
    uint32_t first_psn, credits;
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint32_t region_cnt, region_more;
    uint16_t udp_sport;
    struct roce_oper_count *oper;    /* ROCE_OPER_CNT entries; NULL before the first request */
    struct roce_cold_counters *cold; /* NULL: all are zero */
};

struct roce_endpoint {
    /* Hash table members stand together for the cache: a look-up reads only these. */
    struct roce_endpoint *hash_next;
    uint32_t hash;
    bool keyed; /* is in the hash table */
    struct roce_key
        key; /* key in the hash table; `src` is the endpoint's address even before it is keyed */
    uint32_t qpn; /* ROCE_QPN_UNKNOWN */
    struct roce_conn *conn;
    struct roce_endpoint *pair_next,
        *pair_prev; /* list of directions that wait for their other one: pair_index.h */
    uint32_t pair_key;
    bool pair_indexed;
    uint8_t pair_hits;     /* responses that fit one waiting direction only */
    bool pair_ambiguous;   /* several directions fitted, and nothing decided between them */
    uint8_t other_service; /* packets of another service in a row */
    uint32_t pair_with;    /* conn_index of that waiting direction */
    uint32_t pair_tries;
    struct roce_req req;
    struct roce_rsp rsp;
    /* Constants of the QP, learned from its first packet. */
    bool any;
    uint8_t region_cap; /* capacity of `region`; placed here to avoid padding */
    uint16_t sport, pkey;
    uint8_t dscp;
    bool saw_id; /* the IPv4 identification is in use: it differs from packet to packet */
    uint16_t last_id;
    uint64_t fired[(ROCE_RULE_CNT + 63) /
                   64]; /* bit set of the rules that were reported once for this endpoint */
    struct roce_times times;
    struct roce_meter *meter;           /* NULL while it sent few packets */
    struct roce_reuse_candidate *reuse; /* possible reuse of the QP, or NULL */
    struct roce_counts counts;
    struct roce_region *region;
};

struct roce_conn {
    uint32_t conn_index;
    bool paired;          /* both directions are known */
    bool self;            /* a QP that is connected to itself: side 0 is both ends */
    bool ud;              /* a pair of UD QPs, found by both QPNs */
    bool inconsistent;    /* the capture contradicts itself: no finding is an ERROR from here on */
    bool icrc_unverified; /* a packet's ICRC could not be verified, so that it may be damaged */
    uint32_t join_frame; /* frame of the join: responses to earlier requests may have been missed; 0
                            none */
    bool mtu_seen;       /* a First or Middle packet showed the path MTU */
    uint32_t net;        /* encapsulation, VLANs and overlay */
    struct roce_conn *older, *newer;       /* list in the order of last use */
    struct roce_conn *next_all, *prev_all; /* list in the order of numbers */
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

#define ROCE_CM_EXCHANGES 256u /* CM exchanges that can be followed at a time */
#define ROCE_TIMEWAIT_QPS 64u
#define ROCE_PAIR_BUCKETS 4096u

struct roce_cm_exchange;

struct roce_flow {
    struct roce_flow_opts opts;
    struct roce_mem mem;
    struct roce_flow_totals totals;
    struct roce_endpoint **table;
    struct roce_endpoint *recent; /* endpoint found last, or NULL: packets come in bursts */
    uint32_t table_cap, side_cnt, conn_cnt;
    struct roce_conn *oldest, *newest;
    struct roce_conn *first_all, *last_all;
    uint32_t *alias; /* maps a conn_index to the one it was joined to */
    uint32_t alias_cap, next_conn_index;
    struct roce_endpoint *pair[ROCE_PAIR_BUCKETS];
    uint16_t directions[ROCE_PAIR_BUCKETS]; /* directions of connected services seen between two
                                               hosts; saturates */
    struct roce_cm_exchange *cm;
    uint32_t cm_next;
    struct roce_timewait_qp timewait[ROCE_TIMEWAIT_QPS];
    uint32_t timewait_next;
    struct roce_icrc_trust trust;
    struct roce_hist (
        *summary_hist)[ROCE_TIMES]; /* scratch histograms for a summary, one set for each side */
    struct roce_cold_counters lost_cold; /* target of counts for which there was no memory */
    struct roce_oper_count lost_oper;
    uint64_t last_time; /* latest time in the capture, ns */
    uint64_t grain; /* resolution of the capture's clock so far, ns; 0 before the first packet */
    bool finished;
};

/* The packet at hand and its context. */
struct roce_ctx {
    struct roce_flow *flow;
    const struct roce_pkt *pkt;
    uint32_t frame;
    uint64_t time;
    enum roce_icrc_status icrc;
    bool rewritten;       /* the ICRC is wrong but believed: the capture point changed bytes that it
                             covers */
    bool have_connection; /* the packet is judged against the state of its connection */
    struct roce_conn *conn;       /* may be NULL */
    struct roce_endpoint *sender; /* NULL if conn is */
    struct roce_flow_result *result;
    bool want_result; /* the caller reads the result */
    const struct roce_packet_digest *digest;
    const uint8_t *src, *dst; /* addresses in its key */
};

static inline struct roce_endpoint *roce_peer(const struct roce_endpoint *side)
{
    struct roce_conn *c = side->conn;

    if (c->self)
        return &c->side[0];
    return side == &c->side[0] ? &c->side[1] : &c->side[0];
}

/* Returns whether the directions were paired by PSNs or a similar sign. Findings that compare both
 * directions are not ERRORs then. */
static inline bool roce_is_guess(const struct roce_conn *conn)
{
    return roce_pairing_is_guess(conn->facts.pairing);
}

static inline uint8_t roce_endpoint_side(const struct roce_endpoint *side)
{
    return side == &side->conn->side[1];
}

/* Returns the milliseconds of a time in ns, mod 2^32. */
static inline uint32_t roce_ms(uint64_t ns)
{
    return (uint32_t)(ns / 1000000);
}

/* Returns the ns from `from` to `to`, or 0 if the capture's clock stepped back. */
static inline uint64_t roce_since(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Returns a bit for each CM message that describes the present use of the QPs. After a DREQ there
 * is none, because the QPs may be reused. */
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

/* Returns whether an RNR NAK for `e` means on-demand paging: `e` needs no receive WQE. */
static inline bool roce_sent_is_paged(const struct roce_sent_packet *e)
{
    return !roce_opcode_uses_rq(roce_opcode(e->op)) && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Returns whether `op` may follow `was`, inside a message or as the first packet of the next. */
static inline bool roce_may_follow(const struct roce_opcode *was, const struct roce_opcode *op)
{
    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

#endif
