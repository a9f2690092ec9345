/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Flow: a passive observer of RoCE traffic. It is given packets with their times, one after another
 * as a capture has them, and says what happened on each connection and what was wrong.
 *
 *   flow = roce_flow_new(&opts);
 *   for each frame: roce_pkt_parse(...); roce_flow_feed(flow, &in, &result);
 *   roce_flow_finish(flow);          closing judgements and one on_conn() a connection
 *   roce_flow_del(flow);
 *
 * It never sees a device, reads no clock, does no I/O and keeps nothing global. It shares only the
 * packet codec with the RNIC, so that a mistake of one does not hide in the other.
 *
 * What is not in a capture is not held against a device: a capture may be cut, one-sided, start in
 * the middle or lack packets. A judgement is made only where the packets that prove it were seen;
 * otherwise the finding is weaker or there is none.
 *
 * Memory is bounded by the options. When a limit is reached, first what idle connections remember
 * of past packets goes, then the connections that were silent longest; both are counted.
 */
#ifndef ROCE_FLOW_H
#define ROCE_FLOW_H

#include "flow/base/finding.h"
#include "flow/base/packet_digest.h"
#include "flow/base/summary.h"
#include "wire/pkt.h"

#define ROCE_NO_CONN UINT32_MAX

struct roce_flow;

/* Where memory comes from. `free` is told the size that was asked for. */
struct roce_alloc {
    void *(*alloc)(void *ctx,
                   size_t size); /* NULL when there is none: the flow then forgets more */
    void (*free)(void *ctx, void *p, size_t size);
    void *ctx;
};

/* Something an earlier frame gains from a later one, for displays that go back and forth. */
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
    size_t mem_max;            /* bytes in all; 0 = 1 GiB */
    uint32_t conn_max;         /* connections at a time; 0 = 1,000,000 */
    uint32_t window_max;       /* request packets remembered a direction; 0 = 8192 */
    enum roce_profile profile; /* known deviations to mark */
    bool no_fast_path;         /* each packet by itself, the slower way: to compare with */
    void *user;                /* handed to the callbacks; any of them may be NULL */
    void (*on_finding)(void *user, const struct roce_finding *finding);
    void (*on_link)(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other);
    /* A use of a QP pair begins: set up by CM messages, or a reuse that its packets show. A first
     * use without CM is not reported. A reuse may be reported later than its first frame. */
    void (*on_use)(void *user, const struct roce_flow_use *use);
    /* A CM message in a packet that a receiver accepts. */
    void (*on_cm)(void *user, const struct roce_flow_in *in, const struct roce_cm_msg *msg);
    /* CNPs came, and the span that began with the first is over. `conn_index` may be joined later.
     */
    void (*on_cnp_episode)(void *user, const struct roce_cnp_episode *episode);
    /* The last word on a connection: evicted, or at roce_flow_finish(). */
    void (*on_conn)(void *user, const struct roce_conn_summary *conn);
};

/* One frame. */
struct roce_flow_in {
    const struct roce_pkt *pkt; /* parsed with result 0; not kept */
    uint32_t frame;             /* its number in the capture, from 1, ascending */
    uint64_t time;              /* ns of any epoch; small steps back are tolerated */
    enum roce_icrc_status icrc; /* of roce_pkt_icrc_check(); UNVERIFIED if it was not called */
    const struct roce_packet_digest *digest; /* of `pkt`, or NULL: then roce_flow_feed() takes it */
};

/* Bits of roce_flow_result.flags: what the packet is, beside what its headers say. */
enum roce_analysis {
    ROCE_AN_REQUEST = 1u << 0,
    ROCE_AN_RESPONSE = 1u << 1,
    ROCE_AN_RETRANSMISSION = 1u << 2,     /* a request sent again; `cause` says why */
    ROCE_AN_DUPLICATE_REQUEST = 1u << 3,  /* ... that was acknowledged before */
    ROCE_AN_COPY = 1u << 4,               /* the very same packet again: copied, not resent */
    ROCE_AN_OUT_OF_ORDER = 1u << 5,       /* an older PSN that comes late */
    ROCE_AN_PSN_GAP = 1u << 6,            /* PSNs before it are missing: `gap` of them */
    ROCE_AN_ACK_UNSEEN = 1u << 7,         /* answers a request that is not in the capture */
    ROCE_AN_DUPLICATE_ACK = 1u << 8,      /* repeats PSN, MSN and syndrome of the ACK before it */
    ROCE_AN_DUPLICATE_RESPONSE = 1u << 9, /* READ or atomic response seen before */
    ROCE_AN_RNR_NAK = 1u << 10,
    ROCE_AN_NAK = 1u << 11,         /* any other NAK */
    ROCE_AN_IMPLIED_NAK = 1u << 12, /* answers a later PSN while a READ or atomic is unanswered */
    ROCE_AN_ZERO_CREDIT = 1u << 13,
    ROCE_AN_CREDIT_UPDATE = 1u << 14,
    ROCE_AN_CREDITS_EXHAUSTED = 1u << 15, /* the request takes the last credit seen, or more */
    ROCE_AN_KEEP_ALIVE = 1u << 16,        /* empty WRITE or SEND on a connection idle for 1 s */
    ROCE_AN_QP_REUSED = 1u << 17,         /* first packet of a new use of this QP pair */
    ROCE_AN_CE = 1u << 18,                /* ECN congestion experienced */
    ROCE_AN_CNP = 1u << 19,
    ROCE_AN_MSG_START = 1u << 20,
    ROCE_AN_MSG_END = 1u << 21,
    ROCE_AN_DROPPED = 1u << 22, /* a receiver drops it for its form or ICRC: it changed no state */
    ROCE_AN_CM = 1u << 23,      /* a CM message */
    ROCE_AN_REL_PSN = 1u << 24, /* rel_psn counts from the connection's true first PSN */
    ROCE_AN_REGION = 1u << 25,  /* `rkey` and `va` are known */
};

/* What a frame means in its connection. Frame numbers are 0, times ROCE_NEVER_NS where unknown. */
struct roce_flow_result {
    uint32_t conn_index; /* number of the connection, or ROCE_NO_CONN; see roce_flow_conn_index() */
    uint8_t side;        /* sender: index into the sides of the summary */
    uint8_t qp_use;      /* use of the QP pair, 0 is the first in the capture */
    uint8_t pairing;     /* enum roce_pairing of the connection, as known with this packet */
    uint32_t flags;      /* enum roce_analysis */
    uint32_t findings;   /* how many this frame caused */
    uint32_t src_qpn;    /* the sender's; ROCE_QPN_UNKNOWN until something tells */

    uint32_t rel_psn; /* PSN less the first that was seen of the requester it belongs to, or CM's */
    uint32_t next_psn; /* request: the PSN after it; READ requests advance by their range */
    uint32_t gap;      /* PSNs missing before it */

    enum roce_cause cause;  /* of a retransmission */
    uint32_t repeats_frame; /* its first transmission */
    uint64_t rto;           /* time since the latest transmission of that PSN */
    uint64_t timeout;       /* negotiated local ACK timeout of its sender */
    uint32_t trigger_frame; /* the NAK or response that caused it */

    uint32_t request_frame; /* response: the request it answers (last packet acknowledged) */
    uint32_t acked_packets; /* request packets it acknowledges for the first time */
    uint64_t rtt;           /* request packet to this response, if sent once only */
    uint64_t response_time; /* last response of a READ or atomic: since its request */
    uint64_t message_time;  /* this packet completes a message: since its first packet */
    uint64_t done_bytes;    /* ... and the payload of all messages it completes */
    uint32_t dup_ack_num, dup_ack_frame; /* how often repeated, and the first of them */

    /* After this packet, of the requester it belongs to. */
    uint32_t psns_in_flight, requests_in_flight, reads_in_flight;
    uint64_t bytes_in_flight;

    uint32_t msg_number;      /* messages of this requester before this one, in the capture */
    uint32_t msg_first_frame; /* 0 if its first packet was not captured */
    uint64_t msg_offset;      /* payload bytes of the message before this packet */
    uint64_t msg_bytes;       /* with this packet */
    uint64_t msg_total;       /* from RETH or at its end; 0 unknown */
    uint32_t rkey;            /* remote memory of the message */
    uint64_t va;              /* where this packet's payload goes to or comes from */

    uint32_t credits;    /* of an ACK, decoded; ROCE_CREDITS_UNLIMITED for code 31 */
    uint64_t rnr_wait;   /* RNR NAK: advertised */
    uint64_t rnr_waited; /* retransmission after RNR NAK: real */
    uint32_t ce_frame;   /* CNP: the CE-marked frame it answers */
    uint64_t cnp_delay;

    uint32_t cm_conn_index; /* CM message: the connection it speaks of, or ROCE_NO_CONN */
    uint32_t cm_frame;      /* ... and the message it answers */
    uint64_t cm_service;    /* ... and the service id of its REQ; 0 if that was not captured */
};

/* Of a frame of which nothing is known; what is not named is 0. To initialize one with. */
/* clang-format off */
#define ROCE_FLOW_RESULT_NONE {.conn_index = ROCE_NO_CONN, .src_qpn = ROCE_QPN_UNKNOWN,             \
    .rto = ROCE_NEVER_NS, .timeout = ROCE_NEVER_NS, .rtt = ROCE_NEVER_NS,                         \
    .response_time = ROCE_NEVER_NS, .message_time = ROCE_NEVER_NS,                                \
    .credits = ROCE_CREDITS_UNLIMITED, .rnr_wait = ROCE_NEVER_NS, .rnr_waited = ROCE_NEVER_NS,    \
    .cnp_delay = ROCE_NEVER_NS, .cm_conn_index = ROCE_NO_CONN}
/* clang-format on */

/*
 * A new observer. `opts` is copied; NULL or zero members mean their defaults. NULL if there is no
 * memory.
 */
struct roce_flow *roce_flow_new(const struct roce_flow_opts *opts);
void roce_flow_del(struct roce_flow *flow); /* NULL is fine */

/* Looks at one frame. `result` may be NULL. Callbacks are called from inside. */
void roce_flow_feed(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_result *result);

/* Hint: a packet with this glance is fed soon, some two to eight packets from now. What is known of
 * its connection is on its way to the cache meanwhile. */
void roce_flow_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest);

/* The end of the capture: closing findings, then on_conn() for every connection. Once. */
void roce_flow_finish(struct roce_flow *flow);

/* Two numbers may turn out to be the two directions of one connection. Returns the number that
 * stands for `conn_index`: that of the direction seen first. */
uint32_t roce_flow_conn_index(const struct roce_flow *flow, uint32_t conn_index);

/* The connection that a packet belongs to, and its sender. */
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

/* Connections in memory, in the order of their numbers. The summary is valid until the next call
 * with this flow; false ends the walk early. */
void roce_flow_each(const struct roce_flow *flow,
                    bool (*each)(void *user, const struct roce_conn_summary *conn), void *user);

/* Counts over the whole capture. */
struct roce_flow_totals {
    uint64_t packets, bytes; /* fed; wire bytes */
    uint64_t dropped;        /* malformed or bad ICRC */
    uint64_t dc; /* NVIDIA's DC (wire/dc.h), or cut before the byte that would tell: not judged */
    uint64_t connections; /* ever */
    uint64_t evicted;     /* connections that had to go for room */
    uint64_t forgotten;   /* windows of idle connections that had to go for room */
    uint64_t overflown;   /* request packets forgotten early for window_max */
    uint64_t untracked;   /* packets without a connection: no memory at all */
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t known;                /* findings that the profile names */
    uint64_t errors_unknown;       /* ERROR findings that it does not name */
    uint64_t rules[ROCE_RULE_CNT]; /* findings of each rule */
    size_t mem_now, mem_peak;      /* bytes from the allocator */
};

const struct roce_flow_totals *roce_flow_totals(const struct roce_flow *flow);

#endif
