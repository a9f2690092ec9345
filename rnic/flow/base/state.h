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

#define ROCE_MIN_TIMEOUT_NS                                                                        \
    UINT64_C(1000000)                          /* no local ACK timeout in use is shorter than this \
                                                */
#define ROCE_IDLE_REUSE_NS UINT64_C(100000000) /* a QP is not torn down and set up in less */

/* Of PSNs, or of sums of them: bits above the 24 do not count. */
static inline int32_t roce_diff(uint32_t a, uint32_t b)
{
    return roce_psn_diff((roce_psn){a}, (roce_psn){b});
}

/* PSNs further away than this are no loss but another use of the QP, or a large hole. */
#define ROCE_PSN_JUMP 65536

/* A go-back in progress. */
struct roce_retransmission {
    enum roce_cause cause; /* NONE: no episode */
    bool active;
    uint32_t first;   /* PSN it started with */
    uint32_t next;    /* PSN that continues it */
    uint32_t frame;   /* where it started */
    uint32_t trigger; /* NAK or response, 0 none */
    uint64_t time;    /* ... and when; before the first request: when CM told of it */
};

/* What made it possible that another use of the QP begins: turn.h. */
enum roce_reuse_kind {
    ROCE_REUSE_NONE,
    ROCE_REUSE_GAP,         /* PSNs are missing before a request, and nothing more */
    ROCE_REUSE_OLDER_PSN,   /* a request has an older PSN */
    ROCE_REUSE_LATER_PSN,   /* a later one, where a QP may have been used anew meanwhile */
    ROCE_REUSE_UNSOLICITED, /* a response answers what was not asked for */
    ROCE_REUSE_MSN_RESTART, /* an MSN counts from the latest requests on */
};

struct roce_deferred_findings;

/* A turn: from something that may begin another use of the QP until it shows whether it did. */
struct roce_reuse_candidate {
    uint32_t frame; /* where it began */
    uint64_t time;
    uint32_t first;      /* PSN it began with */
    uint32_t next;       /* PSN that continues it */
    uint32_t msn_before; /* the other side's latest MSN before */
    uint32_t
        msn; /* ROCE_REUSE_MSN_RESTART: that which counts anew; ROCE_REUSE_UNSOLICITED: its own */
    uint32_t in_flight;                      /* messages not acknowledged before */
    uint32_t messages;                       /* messages that ended since */
    uint32_t packets;                        /* requests since, */
    uint32_t same;                           /* of which so many had been sent just so, */
    uint32_t different;                      /* and so many are not what had their PSNs, */
    uint32_t different_frame;                /* the first of them here */
    bool psns_unsure;                        /* how many PSNs they took is not known */
    bool new_port;                           /* the source port changed with it */
    bool after_idle;                         /* the side's latest request was long before */
    struct roce_deferred_findings *deferred; /* NULL: none */
};

/* What a side did as requester. */
struct roce_req {
    bool started;
    bool base_sure;     /* `base` is the first PSN of the connection */
    bool psn_cnt_guess; /* the newest entry's span is a guess: `nxt` is its least */
    bool base_cm;       /* `base` is from CM; nothing was sent yet if !started */
    bool maybe_reused;  /* it went back to where another use of the QP would begin: until it goes on
                         */
    uint8_t reuse_kind; /* enum roce_reuse_kind of `turn` in struct roce_endpoint */
    bool peer_restarted; /* the other direction began another life: this one is to follow */
    uint8_t
        implied_nak : 1; /* READs, atomics from `passed_psn` on were passed over, or sent again */
    uint8_t pending_cause : 7; /* enum roce_cause: a response made it go back, and it has not yet;
                                  NONE */
    uint32_t base;
    uint32_t rel_base; /* of relative PSNs: `base` as it was first */
    uint32_t nxt;      /* one after the highest PSN seen */
    uint32_t una;      /* one after the highest PSN acknowledged; may be ahead of nxt */
    uint32_t implied_nak_psn;
    uint64_t gap_time; /* when the latest hole was found */
    struct roce_window win;
    struct roce_retransmission retx;
    uint64_t last_time; /* of its latest request packet */
    uint64_t bytes_in_flight;
    uint32_t reqs_in_flight, reads_in_flight;
    uint32_t retry_psn;           /* PSN of the latest timeout or RNR repetitions, and how many */
    uint8_t timeouts, rnrs, naks; /* naks: sequence NAKs */
    uint32_t timeout_least_us;    /* least time between its timeouts, from the second on */
    uint32_t part;                /* bytes acknowledged of a message whose end is not */
    uint32_t msg_number;
    uint16_t run_id; /* of the tail */
    bool una_known;
};

/* What a side did as responder. Small members stand together: they leave no holes so. */
struct roce_rsp {
    bool started;
    uint8_t last_syndrome, last_op;
    bool msn_ref;
    uint8_t msn_ref_hits; /* how often it was confirmed: check_ack.c */
    bool nak, rnr;        /* sequence NAK, RNR NAK not yet answered by the PSN they name */
    bool rnr_sure;        /* each transmission of that PSN drew one RNR NAK so far */
    uint8_t rnr_at_tries;
    bool gap_nak; /* a sequence NAK whose PSN did not come since */
    bool fatal;
    bool credit_seen;
    uint8_t credit_code;
    uint8_t credit_cnt; /* responses with credits, since the latest without; at most 255 */
    uint16_t last_id;
    uint16_t msn_ref_run;
    uint32_t last_psn, last_msn; /* of the latest response with an AETH */
    uint32_t last_icrc;
    uint32_t dup_num, dup_frame, last_frame;
    /* MSN is known to be `msn_ref_msn` when `msn_ref_cum` messages of that chain were ended. */
    uint32_t msn_ref_cum, msn_ref_msn;
    uint32_t nak_psn, nak_frame, rnr_psn, rnr_frame;
    uint32_t rnr_at; /* PSN and transmissions (`rnr_at_tries`) at the RNR NAK before */
    uint32_t gap_psn, gap_frame;
    uint32_t fatal_psn, fatal_frame;
    uint32_t lsn;        /* highest MSN + credits of valid codes; mod 2^24 */
    uint32_t lsn_before; /* what it was before the response at hand */
    uint32_t credit_ms;  /* of the first of credit_cnt */
    uint64_t nak_time, rnr_time, rnr_wait;
    uint64_t fatal_time;
};

#define ROCE_RECENT_NAKS  8u /* that are remembered: of so many a copy is known */
#define ROCE_DEFERRED_MAX 8u

/* ERRORs that wait for what a turn was. */
struct roce_deferred_findings {
    uint32_t cnt;
    struct roce_finding finding[ROCE_DEFERRED_MAX];
    bool of_peer[ROCE_DEFERRED_MAX]; /* the other side is judged: numbers of sides change meanwhile
                                      */
};

/* What a side counts that most sides never have to: allocated with the first of it. Names and
 * meanings are those of struct roce_endpoint_summary. */
struct roce_cold_counters {
    /* Its latest NAKs and RNR NAKs; frame 0: none. */
    struct roce_recent_nak {
        uint32_t frame, icrc;
        uint16_t id;
    } recent_nak[ROCE_RECENT_NAKS];
    uint8_t recent_nak_next;
    uint64_t missing_psns, unseen_acked;
    uint64_t out_of_order, copies, duplicates;
    uint64_t psn_naks, rnr_naks, rnr_paged, fatal_naks, late_responses;
    uint64_t bad_icrc, malformed;
    /* Requests with a wrong ICRC since the latest right one: the first, and how often it came. */
    uint64_t bad_time;
    uint32_t bad_psn, bad_first, bad_last, bad_tries;
    struct roce_retx_summary retx[ROCE_CAUSE_CNT];
    uint64_t rnr_advertised_ns, rnr_waited_ns;
    uint64_t timeout_min_ns, timeout_max_ns;
    uint64_t ce_marked, cnps, cnps_unasked, cnp_gap_min_ns;
    struct roce_spread cnp_gap_ns, cnp_delay_ns;
    struct roce_cnp_summary cnp; /* of CNPs received, as the next */
    struct roce_slowdown slow;
    uint64_t becn, fecn;
    uint64_t ce_time;
    uint64_t cnp_time; /* of its latest CNP */
    uint32_t ce_frame; /* latest marked packet not yet answered by a CNP */
};

struct roce_oper_count {
    uint32_t messages, completed;
    uint64_t bytes;
};

/* The other counts of a side. There are fewer than 2^32 frames. */
struct roce_counts {
    uint64_t bytes, payload_sent, max_bytes_in_flight;
    uint32_t packets, responses, acks;
    uint32_t first_psn, credits;
    uint32_t max_psns_in_flight, max_reads_in_flight;
    uint32_t region_cnt, region_more;
    uint16_t udp_sport;
    struct roce_oper_count *oper;    /* ROCE_OPER_CNT of them, NULL before the first request */
    struct roce_cold_counters *cold; /* NULL: all zero */
};

struct roce_endpoint {
    /* Of the table, together for the cache: a look-up reads these alone. */
    struct roce_endpoint *hash_next;
    uint32_t hash;
    bool keyed;          /* in the table */
    struct roce_key key; /* under which; its source is the side's address also before that */
    uint32_t qpn;        /* ROCE_QPN_UNKNOWN */
    struct roce_conn *conn;
    struct roce_endpoint *pair_next, *pair_prev; /* waiting for the other direction: pair.c */
    uint32_t pair_key;
    bool pair_indexed;
    uint8_t pair_hits;     /* responses that one waiting direction alone could answer for */
    bool pair_ambiguous;   /* directions fitted it, and nothing told which is its other one */
    uint8_t other_service; /* packets of another service one after another */
    uint32_t pair_with;    /* that direction's conn_index */
    uint32_t pair_tries;
    struct roce_req req;
    struct roce_rsp rsp;
    /* Constants of a QP, from its first packet. */
    bool any;
    uint8_t region_cap; /* of `region`, below: here it takes no room */
    uint16_t sport, pkey;
    uint8_t dscp;
    bool saw_id; /* IPv4 identification is in use: it differs from packet to packet */
    uint16_t last_id;
    uint64_t fired[(ROCE_RULE_CNT + 63) / 64]; /* rules that are said once a side */
    struct roce_times times;
    struct roce_meter *meter;           /* NULL while it sent few packets */
    struct roce_reuse_candidate *reuse; /* NULL while there is none: most sides rest now and then */
    struct roce_counts counts;
    struct roce_region *region;
};

struct roce_conn {
    uint32_t conn_index;
    bool paired;          /* both directions are known */
    bool self;            /* a QP that is connected to itself: side 0 is both */
    bool ud;              /* found by both QPNs */
    bool inconsistent;    /* the capture contradicts itself: nothing is an ERROR any more */
    bool icrc_unverified; /* a packet's ICRC could not be verified: it may have been damaged */
    uint32_t join_frame;  /* of requests before it the answers may have passed unseen; 0 none */
    bool mtu_seen;        /* a First or Middle packet showed the path MTU */
    uint32_t net;         /* encapsulation and VLANs */
    struct roce_conn *older, *newer;       /* by last use */
    struct roce_conn *next_all, *prev_all; /* by number */
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

#define ROCE_CM_EXCHANGES 256u /* CM exchanges under way at a time that can be followed */
#define ROCE_TIMEWAIT_QPS 64u
#define ROCE_PAIR_BUCKETS 4096u

struct roce_cm_exchange;

struct roce_flow {
    struct roce_flow_opts opts;
    struct roce_mem mem;
    struct roce_flow_totals totals;
    struct roce_endpoint **table;
    struct roce_endpoint *recent; /* found last, NULL none: packets come in bursts */
    uint32_t table_cap, side_cnt, conn_cnt;
    struct roce_conn *oldest, *newest;
    struct roce_conn *first_all, *last_all;
    uint32_t *alias; /* conn_index -> conn_index it was joined to */
    uint32_t alias_cap, next_conn_index;
    struct roce_endpoint *pair[ROCE_PAIR_BUCKETS];
    uint16_t
        directions[ROCE_PAIR_BUCKETS]; /* of connected services seen so far; sticks at the end */
    struct roce_cm_exchange *cm;
    uint32_t cm_next;
    struct roce_timewait_qp timewait[ROCE_TIMEWAIT_QPS];
    uint32_t timewait_next;
    struct roce_icrc_trust trust;
    struct roce_hist (*summary_hist)[ROCE_TIMES]; /* both sides' few as histograms, for a summary */
    struct roce_cold_counters lost_cold;          /* counted without memory to count in */
    struct roce_oper_count lost_oper;
    uint64_t last_time; /* of the capture */
    uint64_t grain;     /* ns: its times so far are multiples of it; 0 before the first */
    bool finished;
};

/* The frame being looked at, handed from check to check. */
struct roce_ctx {
    struct roce_flow *flow;
    const struct roce_pkt *pkt;
    uint32_t frame;
    uint64_t time;
    enum roce_icrc_status icrc;
    bool rewritten;         /* its ICRC is wrong but believed: the capture changed what it covers */
    bool have_connection;   /* beyond the packet alone: against what the connection was like */
    struct roce_conn *conn; /* may be NULL */
    struct roce_endpoint *sender; /* NULL if conn is */
    struct roce_flow_result *result;
    bool want_result; /* somebody looks at the result */
    const struct roce_packet_digest *digest;
    const uint8_t *src, *dst; /* of its key */
};

static inline struct roce_endpoint *roce_peer(const struct roce_endpoint *side)
{
    struct roce_conn *c = side->conn;

    if (c->self)
        return &c->side[0];
    return side == &c->side[0] ? &c->side[1] : &c->side[0];
}

/* Paired by PSNs and the like: nothing that compares both sides is an ERROR. */
static inline bool roce_is_guess(const struct roce_conn *conn)
{
    return roce_pairing_is_guess(conn->facts.pairing);
}

static inline uint8_t roce_endpoint_side(const struct roce_endpoint *side)
{
    return side == &side->conn->side[1];
}

/* Milliseconds of a time in ns, mod 2^32. */
static inline uint32_t roce_ms(uint64_t ns)
{
    return (uint32_t)(ns / 1000000);
}

/* Nanoseconds from `from` to `to`; 0 where a capture's clock steps back. */
static inline uint64_t roce_since(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Which CM messages tell of the present use of the QPs, a bit for each: none after a DREQ, for then
 * it may be another use. */
static inline uint16_t roce_conn_cm_seen(const struct roce_conn *conn)
{
    return conn->facts.cm.dreq_frame ? 0 : conn->facts.cm.seen;
}

static inline bool roce_reuse_is_pending(const struct roce_req *req)
{
    return req->reuse_kind != ROCE_REUSE_NONE;
}

/* A NAK or RNR NAK. */
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

/* Whether an RNR NAK for `e` tells that memory is paged on demand: no receive is needed. */
static inline bool roce_sent_is_paged(const struct roce_sent_packet *e)
{
    return !roce_opcode_uses_rq(roce_opcode(e->op)) && !(e->flags & ROCE_SENT_PSN_CNT_GUESS);
}

/* Whether a packet of `op` may come next after one of `was`: inside a message, or first of one. */
static inline bool roce_may_follow(const struct roce_opcode *was, const struct roce_opcode *op)
{
    return roce_opcode_ends(was) ? roce_opcode_starts(op)
                                 : !roce_opcode_starts(op) && was->kind == op->kind;
}

#endif
