/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow: a passive observer of RoCE traffic. It reports what happened on each connection of a
 * capture and which rules were violated. rocedrill check, the Wireshark plugin and tests call it,
 * in this order:
 *
 *   1. flow = roce_flow_new(&opts);
 *   2. for each frame: roce_pkt_parse(...); roce_flow_feed(flow, &in, &result);
 *   3. roce_flow_finish(flow);   closing findings, and one on_conn() for each connection
 *   4. roce_flow_owner(...)      optional: final connection and sender of each packet
 *   5. roce_flow_del(flow);
 *
 * Inside, roce_flow_feed() takes a packet through these steps:
 *
 *   1. its digest: key of the direction, sample, form (base/packet_digest.c)
 *   2. how far its ICRC is believed (base/icrc_trust.c)
 *   3. its connection; eviction makes room if needed (table/conn.c, evict.c)
 *   4. checks of the packet alone (checks/check_format.c)
 *   5. the fast path for expected packets (fast_path.c), or request.c, response.c or cm_track.c,
 *      which call retransmit/ and checks/
 *
 * Ownership: the caller owns frames and results; the flow copies what it keeps. Errors: without
 * memory it remembers less and counts that in its totals. Callbacks must not call the flow.
 *
 * It uses no device, no clock, no I/O and no globals. It shares only the packet codec with the
 * RNIC, so that a mistake in one does not hide in the other.
 *
 * A capture may be cut, one-sided, start in the middle or lack packets. A finding is an ERROR only
 * if the packets that prove it were captured; otherwise it is weaker, or there is none.
 *
 * The options limit memory. At a limit, idle connections first lose their request windows; then the
 * connections that were silent longest are evicted. Both are counted.
 */
#ifndef ROCE_FLOW_H
#define ROCE_FLOW_H

#include "flow/base/finding.h"
#include "flow/base/packet_digest.h"
#include "flow/base/summary.h"
#include "wire/pkt.h"

#define ROCE_NO_CONN UINT32_MAX

struct roce_flow;

/* Allocator. `free` gets the size that was allocated. */
struct roce_alloc {
    void *(*alloc)(void *ctx,
                   size_t size); /* returns NULL without memory: the flow then evicts more */
    void (*free)(void *ctx, void *p, size_t size);
    void *ctx;
};

/* A later frame that concerns an earlier one, for displays that show both. */
enum roce_link_kind {
    ROCE_LINK_ACKED_IN,       /* request packet `frame` is acknowledged by `other` */
    ROCE_LINK_FIRST_RESPONSE, /* READ or atomic request `frame` has its first response in `other` */
    ROCE_LINK_LAST_RESPONSE,
    ROCE_LINK_REPEATED_IN, /* request packet `frame` is sent again in `other` */
    ROCE_LINK_CNP_IN,      /* `frame` was CE-marked and is answered by CNP `other` */
    ROCE_LINK_CM_ANSWER,   /* CM message `frame` (REQ, REP, DREQ) is answered by `other` */
};

/* One use of a QP pair. A connection has several if its QPNs were used again. */
struct roce_flow_use {
    uint32_t conn_index; /* as numbered at the time of the call: see roce_flow_owner() */
    uint32_t frame;      /* first frame of this use; the REP if CM messages set it up */
    /* REQ and REP that set it up, valid during the call; NULL if a reuse without CM was detected */
    const struct roce_cm_req *req;
    const struct roce_cm_rep *rep;
    uint32_t req_frame, rep_frame;
    uint8_t active_side; /* side that sent the REQ */
};

struct roce_flow_in;

struct roce_flow_opts {
    struct roce_alloc mem;     /* all zero: malloc() and free() */
    size_t mem_max;            /* limit in bytes; 0 = 1 GiB */
    uint32_t conn_max;         /* limit of connections at a time; 0 = 1,000,000 */
    uint32_t window_max;       /* request packets remembered for each direction; 0 = 8192 */
    enum roce_profile profile; /* implementation whose known deviations are marked */
    bool no_fast_path;         /* judges every packet the long way, for comparison in tests */
    void *user;                /* first argument of the callbacks, each of which may be NULL */
    void (*on_finding)(void *user, const struct roce_finding *finding);
    void (*on_link)(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other);
    /* A use of a QP pair begins: set up by CM messages, or a reuse that its packets show. A first
     * use without CM is not reported. A reuse may be reported later than its first frame. */
    void (*on_use)(void *user, const struct roce_flow_use *use);
    /* A CM message in a packet that a receiver accepts. */
    void (*on_cm)(void *user, const struct roce_flow_in *in, const struct roce_cm_msg *msg);
    /* An endpoint received CNPs, and the episode is over: see struct roce_cnp_episode. */
    void (*on_cnp_episode)(void *user, const struct roce_cnp_episode *episode);
    /* A connection ended: it was evicted, its QPs were reused, or the capture ended. */
    void (*on_conn)(void *user, const struct roce_conn_summary *conn);
};

/* One frame. */
struct roce_flow_in {
    const struct roce_pkt *pkt; /* parsed with result 0; not kept */
    uint32_t frame;             /* frame number in the capture, from 1, ascending */
    uint64_t time; /* capture time, ns since any epoch; small steps back are tolerated */
    enum roce_icrc_status
        icrc; /* result of roce_pkt_icrc_check(); UNVERIFIED if it was not called */
    const struct roce_packet_digest
        *digest; /* digest of `pkt`, or NULL: roce_flow_feed() then computes it */
};

/* Bits of roce_flow_result.flags. */
enum roce_analysis {
    ROCE_AN_REQUEST = 1u << 0,
    ROCE_AN_RESPONSE = 1u << 1,
    ROCE_AN_RETRANSMISSION = 1u << 2,     /* a retransmitted request; `cause` is the reason */
    ROCE_AN_DUPLICATE_REQUEST = 1u << 3,  /* a retransmitted request that was acknowledged before */
    ROCE_AN_COPY = 1u << 4,               /* a copy of a captured packet, not a retransmission */
    ROCE_AN_OUT_OF_ORDER = 1u << 5,       /* a request with an older PSN, out of order */
    ROCE_AN_PSN_GAP = 1u << 6,            /* `gap` PSNs before it are missing */
    ROCE_AN_ACK_UNSEEN = 1u << 7,         /* answers a request that is not in the capture */
    ROCE_AN_DUPLICATE_ACK = 1u << 8,      /* repeats PSN, MSN and syndrome of the ACK before it */
    ROCE_AN_DUPLICATE_RESPONSE = 1u << 9, /* READ or atomic response seen before */
    ROCE_AN_RNR_NAK = 1u << 10,
    ROCE_AN_NAK = 1u << 11,         /* any NAK but RNR */
    ROCE_AN_IMPLIED_NAK = 1u << 12, /* answers a later PSN while a READ or atomic is unanswered */
    ROCE_AN_ZERO_CREDIT = 1u << 13,
    ROCE_AN_CREDIT_UPDATE = 1u << 14,
    ROCE_AN_CREDITS_EXHAUSTED =
        1u << 15,                  /* the request takes the last credit, or exceeds the credits */
    ROCE_AN_KEEP_ALIVE = 1u << 16, /* empty WRITE or SEND after 1 s without requests */
    ROCE_AN_QP_REUSED = 1u << 17,  /* first packet of a new use of this QP pair */
    ROCE_AN_CE = 1u << 18,         /* ECN: congestion experienced */
    ROCE_AN_CNP = 1u << 19,
    ROCE_AN_MSG_START = 1u << 20,
    ROCE_AN_MSG_END = 1u << 21,
    ROCE_AN_DROPPED = 1u << 22, /* a receiver drops it for its form or ICRC: it changed no state */
    ROCE_AN_CM = 1u << 23,      /* a CM message */
    ROCE_AN_REL_PSN = 1u << 24, /* rel_psn counts from the connection's true first PSN */
    ROCE_AN_REGION = 1u << 25,  /* `rkey` and `va` are known */
};

/* Meaning of a frame in its connection. Unknown frame numbers are 0, unknown times ROCE_NEVER_NS.
 */
struct roce_flow_result {
    uint32_t conn_index; /* number of the connection, or ROCE_NO_CONN: see roce_flow_owner() */
    uint8_t side;        /* sender: index into the sides of the summary */
    uint8_t qp_use;      /* use of the QP pair; 0 is the first in the capture */
    uint8_t pairing;     /* enum roce_pairing of the connection at this packet */
    uint32_t flags;      /* enum roce_analysis */
    uint32_t findings;   /* number of findings about this frame */
    uint32_t src_qpn;    /* QPN of the sender; ROCE_QPN_UNKNOWN if nothing names it */

    uint32_t rel_psn;  /* PSN relative to the first PSN of its requester, from CM or captured */
    uint32_t next_psn; /* request: the PSN after it; a READ advances by its responses */
    uint32_t gap;      /* number of missing PSNs before it */

    enum roce_cause cause;  /* reason of a retransmission */
    uint32_t repeats_frame; /* frame of its first transmission */
    uint64_t rto;           /* time since the latest transmission of that PSN */
    uint64_t timeout;       /* negotiated local ACK timeout of the sender */
    uint32_t trigger_frame; /* frame of the NAK or response that caused it */

    uint32_t request_frame; /* response: frame of the last request packet it acknowledges */
    uint32_t acked_packets; /* request packets it acknowledges for the first time */
    uint64_t rtt;           /* time from request packet to this response, if sent once only */
    uint64_t response_time; /* last response of a READ or atomic: time since the request */
    uint64_t message_time;  /* message completed by this packet: time since its first packet */
    uint64_t done_bytes;    /* payload of all messages completed by this packet */
    uint32_t dup_ack_num, dup_ack_frame; /* repetitions of this ACK, and the first of them */

    /* State of its requester after this packet. */
    uint32_t psns_in_flight, requests_in_flight, reads_in_flight;
    uint64_t bytes_in_flight;

    uint32_t msg_number;      /* messages of this requester before this one, in the capture */
    uint32_t msg_first_frame; /* first frame of the message; 0 if it was not captured */
    uint64_t msg_offset;      /* payload bytes of the message before this packet */
    uint64_t msg_bytes;       /* payload bytes of the message up to and including this packet */
    uint64_t msg_total;       /* length of the message, from RETH or at its end; 0 unknown */
    uint32_t rkey;            /* R_Key of the message */
    uint64_t va;              /* address that this packet's payload is written to or read from */

    uint32_t credits;    /* credits in an ACK; ROCE_CREDITS_UNLIMITED for code 31 */
    uint64_t rnr_wait;   /* RNR NAK: advertised wait */
    uint64_t rnr_waited; /* retransmission after an RNR NAK: time that the requester waited */
    uint32_t ce_frame;   /* CNP: the CE-marked frame it answers */
    uint64_t cnp_delay;

    uint32_t cm_conn_index; /* CM message: its connection, or ROCE_NO_CONN */
    uint32_t cm_frame;      /* CM message: frame that it answers */
    uint64_t cm_service;    /* CM message: service id of the REQ; 0 if that was not captured */
};

/* Initializer of a result without any known member. */
/* clang-format off */
#define ROCE_FLOW_RESULT_NONE {.conn_index = ROCE_NO_CONN, .src_qpn = ROCE_QPN_UNKNOWN,           \
    .rto = ROCE_NEVER_NS, .timeout = ROCE_NEVER_NS, .rtt = ROCE_NEVER_NS,                         \
    .response_time = ROCE_NEVER_NS, .message_time = ROCE_NEVER_NS,                                \
    .credits = ROCE_CREDITS_UNLIMITED, .rnr_wait = ROCE_NEVER_NS, .rnr_waited = ROCE_NEVER_NS,    \
    .cnp_delay = ROCE_NEVER_NS, .cm_conn_index = ROCE_NO_CONN}
/* clang-format on */

/* Returns a new observer, or NULL without memory. Copies `opts`; NULL or zero members take the
 * defaults. */
struct roce_flow *roce_flow_new(const struct roce_flow_opts *opts);
void roce_flow_del(struct roce_flow *flow); /* NULL is fine */

/* Judges one frame. `result` may be NULL. Calls the callbacks. */
void roce_flow_feed(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_result *result);

/* Prefetches the connection of a packet with this digest, which will be fed two to eight packets
 * later. */
void roce_flow_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest);

/* Ends the capture: reports closing findings and calls on_conn() for each connection. Call it once.
 */
void roce_flow_finish(struct roce_flow *flow);

/* Returns the number that stands for `conn_index`. Two numbers may turn out to be the directions of
 * one connection, which keeps the number of the direction seen first. */
uint32_t roce_flow_conn_index(const struct roce_flow *flow, uint32_t conn_index);

/* Connection and sender of a packet. */
struct roce_flow_owner {
    uint32_t conn_index; /* as in the summary of the connection, or ROCE_NO_CONN */
    uint8_t side;        /* index into the sides of the summary */
};

/*
 * Returns the owner of a packet for which roce_flow_feed() reported `conn_index` and `side`. After
 * roce_flow_finish() it is final: directions that were paired later have one number then.
 */
struct roce_flow_owner roce_flow_owner(const struct roce_flow *flow, uint32_t conn_index,
                                       uint8_t side);

/* Calls `each` for the connections in memory, in the order of their numbers, until it returns
 * false. The summary is valid until the next call with this flow. */
void roce_flow_each(const struct roce_flow *flow,
                    bool (*each)(void *user, const struct roce_conn_summary *conn), void *user);

/* Totals of the whole capture. */
struct roce_flow_totals {
    uint64_t packets, bytes; /* packets fed; bytes on the wire */
    uint64_t dropped;        /* malformed or bad ICRC */
    uint64_t dc; /* packets of NVIDIA's DC (wire/dc.h), or cut before the byte that would show it:
                    not judged */
    uint64_t connections; /* connections ever seen */
    uint64_t evicted;     /* connections that were evicted */
    uint64_t forgotten;   /* windows of idle connections that were dropped to free memory */
    uint64_t overflown;   /* request packets dropped early for window_max */
    uint64_t untracked;   /* packets without a connection for lack of memory */
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t known;                /* findings that are known deviations of the profile */
    uint64_t errors_unknown;       /* ERROR findings that are not */
    uint64_t rules[ROCE_RULE_CNT]; /* findings by rule */
    size_t mem_now, mem_peak;      /* bytes from the allocator */
};

const struct roce_flow_totals *roce_flow_totals(const struct roce_flow *flow);

#endif
