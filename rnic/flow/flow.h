/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The analysis engine: a passive observer of RoCE packets, named "flow" in the code (struct
 * roce_flow). It reports the events on each connection of a capture and the rules that were
 * violated. rocedrill check, the Wireshark plugin and tests call it, in this order:
 *
 *   1. flow = roce_flow_new(&opts);
 *   2. for each frame: roce_pkt_parse(...); roce_flow_feed(flow, &in, &result);
 *   3. roce_flow_finish(flow);   closing findings, and one on_conn() for each connection
 *   4. roce_flow_owner(...)      optional: final connection and sender of each packet
 *   5. roce_flow_del(flow);
 *
 * roce_flow_feed() processes a packet in these steps:
 *
 *   1. compute the packet's digest: lookup key, payload sample, format (base/packet_digest.c)
 *   2. decide whether a wrong ICRC shows that the packet was damaged (base/icrc_trust.c)
 *   3. find the connection; eviction frees memory if needed (table/conn.c, evict.c)
 *   4. check the rules that concern only this packet (checks/check_format.c)
 *   5. run the fast path for expected packets (fast_path.c), or request.c, response.c or
 *      cm_track.c, which call retransmit/ and checks/
 *
 * Ownership: the caller owns frames and results; the flow copies the data it needs. Errors: if
 * memory is exhausted, the flow stores less and counts that in its totals. Callbacks must not call
 * the flow.
 *
 * The flow uses no device, no clock, no I/O and no globals. It shares only the packet codec with
 * the RNIC. So a mistake in the RNIC is not repeated in the flow, which can therefore report it.
 *
 * A capture may be cut, one-sided, start in the middle or lack packets. A finding is an ERROR only
 * if the packets that prove it were captured. Otherwise its severity is lower, or nothing is
 * reported.
 *
 * The options limit memory. At a limit, idle connections first lose their request windows; then the
 * connections that were idle longest are evicted. The totals count the lost windows (`forgotten`)
 * and the evicted connections (`evicted`).
 */
#ifndef ROCE_FLOW_H
#define ROCE_FLOW_H

#include "flow/base/finding.h"
#include "flow/base/packet_digest.h"
#include "flow/base/summary.h"
#include "wire/pkt.h"

#define ROCE_NO_CONN UINT32_MAX

struct roce_flow;

/* Allocator callbacks. `free` receives the size that was allocated. */
struct roce_alloc {
    void *(*alloc)(void *ctx, size_t size); /* allocates `size` bytes; returns NULL if memory is
                                             * exhausted: connections are then evicted */
    void (*free)(void *ctx, void *p, size_t size);
    void *ctx;
};

/* Relation between an earlier frame, `frame`, and a later frame, `other`. A program that displays
 * one frame can show a link to the related frame. */
enum roce_link_kind {
    ROCE_LINK_ACKED_IN,       /* `other` acknowledges request packet `frame` */
    ROCE_LINK_FIRST_RESPONSE, /* `other` is the first response to READ or atomic request `frame` */
    ROCE_LINK_LAST_RESPONSE,
    ROCE_LINK_REPEATED_IN, /* `other` retransmits request packet `frame` */
    ROCE_LINK_CNP_IN,      /* CNP `other` answers CE-marked packet `frame` */
    ROCE_LINK_CM_ANSWER,   /* CM message `other` answers CM message `frame` (REQ, REP, DREQ) */
};

/* A QP pair may be set up several times in a capture, each time for another connection. One use of
 * the QP pair is the time from one setup to the next, or to the end of the capture. */
struct roce_flow_use {
    uint32_t conn_index; /* number of the connection at the time of the call, not final:
                          * roce_flow_owner() returns the final number */
    uint32_t frame;      /* first frame of this use; if CM messages set up the use, the frame of the
                          * REP */
    /* CM messages REQ and REP that set up the QPs for this use, valid during the call; NULL if no
     * CM messages were captured, and other packets showed that the QPs were set up again */
    const struct roce_cm_req *req;
    const struct roce_cm_rep *rep;
    uint32_t req_frame, rep_frame;
    uint8_t active_side; /* side that sent the REQ */
};

/* A completed operation. */
struct roce_flow_done {
    uint32_t frame;      /* frame that completes the operation; or, if the end of the connection
                          * completes the operation, the last frame of the connection */
    uint32_t conn_index; /* number of the connection at the time of the call, not final:
                          * roce_flow_owner() returns the final number */
    uint8_t side;        /* side of the requester */
    enum roce_kind kind; /* kind of the request */
    uint64_t bytes;      /* payload of the message, or bytes that the READ returned */
    uint64_t start;      /* time of the first packet, ns */
    uint64_t ns;         /* time from the first packet to `frame`, ns; ROCE_NEVER_NS if unknown */
    uint64_t last;       /* time of the latest transmission of the request's last packet, ns */
    uint32_t number;     /* number of captured messages of the requester before this message */
};

struct roce_flow_in;

/* number of groups into which roce_flow_group() divides the pairs of hosts, so that several threads
 * can share the work */
#define ROCE_FLOW_GROUPS 2048u

/* Result of roce_flow_look() for one packet: facts that depend on the earlier packets of all hosts.
 */
struct roce_flow_look {
    uint64_t last_time;                /* latest time in the capture so far, ns */
    uint64_t grain;                    /* resolution of the capture's clock, inferred from the times
                                        * so far, ns */
    uint64_t src_suspect, dst_suspect; /* bit of the source host and bit of the destination host in
                                        * the bit sets acked_hosts and unanswered_hosts of struct
                                        * roce_flow; 0 if the host sent no wrong ICRC */
    enum roce_icrc_status icrc; /* ICRC status to use; it also depends on the other packets of the
                                 * host (base/icrc_trust.h) */
    bool undecided;             /* no packet of the sender up to now had a right ICRC */
    bool first_good;            /* this packet is the first with a right ICRC from a host that sent
                                 * wrong ones before */
};

#define ROCE_FLOW_MEM_MAX ((size_t)1 << 30) /* memory limit of a flow by default, bytes */

struct roce_flow_opts {
    struct roce_alloc mem;     /* allocator; all zero: malloc() and free() */
    size_t mem_max;            /* memory limit, bytes; 0: ROCE_FLOW_MEM_MAX */
    uint32_t conn_max;         /* maximum number of connections in memory; 0 = 1,000,000 */
    uint32_t window_max;       /* maximum number of request packets in memory for each direction of
                                * a connection; 0 = 8192 */
    enum roce_profile profile; /* findings mark the known deviations of this implementation:
                                * known_deviations.def */
    uint64_t hash_seed;        /* seed of the hash table's secret; 0 = a random seed. The findings
                                * do not depend on the seed */
    bool any_order;            /* true: every receiver is assumed to accept packets in any order.
                                * false: the packets of each direction show whether its receiver
                                * does */
    bool no_fast_path;         /* true: all packets take the full path, never the fast path
                                * (fast_path.c); tests compare the results */
    void *user;                /* first argument of the callbacks; each callback may be NULL */
    void (*on_finding)(void *user, const struct roce_finding *finding);
    void (*on_link)(void *user, enum roce_link_kind kind, uint32_t frame, uint32_t other);
    /* Called when a use of a QP pair begins (struct roce_flow_use). For the first use in the
     * capture, it is called only if CM messages set up the QPs. The call may be some frames later
     * than the first packet of the use. */
    void (*on_use)(void *user, const struct roce_flow_use *use);
    /* Called for each CM message in a packet that a receiver would not drop. */
    void (*on_cm)(void *user, const struct roce_flow_in *in, const struct roce_cm_msg *msg);
    /* Called at the end of a congestion episode: see struct roce_cnp_episode. */
    void (*on_cnp_episode)(void *user, const struct roce_cnp_episode *episode);
    /* Called when an operation completes. The connection's summary counts the same operations as
     * completed. After roce_flow_split(), several threads may call this callback at the same time,
     * because gate() is not called before it. */
    void (*on_done)(void *user, const struct roce_flow_done *done);
    /* Called when a connection ends: it was evicted, its QPs were reused, or the capture ended. */
    void (*on_conn)(void *user, const struct roce_conn_summary *conn);
};

/* One captured frame, input of roce_flow_feed(). */
struct roce_flow_in {
    const struct roce_pkt *pkt; /* the packet, for which roce_pkt_parse() returned 0; the analysis
                                 * keeps no pointer to it */
    uint32_t frame;             /* frame number in the capture, from 1, ascending */
    uint64_t time; /* capture time, ns since any epoch; small backward steps are tolerated */
    enum roce_icrc_status
        icrc; /* result of roce_pkt_icrc_check(), or UNVERIFIED if the ICRC was not checked */
    const struct roce_packet_digest
        *digest; /* digest of `pkt`, or NULL: roce_flow_feed() then computes the digest */
    const struct roce_flow_look *look; /* result of roce_flow_look() for the packet; NULL if
                                        * roce_flow_split() was not called */
};

/* Bits of roce_flow_result.flags. */
enum roce_analysis {
    ROCE_AN_REQUEST = 1u << 0,
    ROCE_AN_RESPONSE = 1u << 1,
    ROCE_AN_RETRANSMISSION = 1u << 2,     /* retransmitted request; result.cause is the reason */
    ROCE_AN_DUPLICATE_REQUEST = 1u << 3,  /* retransmitted request that was already acknowledged */
    ROCE_AN_COPY = 1u << 4,               /* second capture of one transmission of a packet, not a
                                           * retransmission */
    ROCE_AN_OUT_OF_ORDER = 1u << 5,       /* request that was captured after a request with a later
                                           * PSN, and is not a retransmission */
    ROCE_AN_PSN_GAP = 1u << 6,            /* result.gap PSNs before this packet are missing */
    ROCE_AN_ACK_UNSEEN = 1u << 7,         /* response to a request that is not in the capture */
    ROCE_AN_DUPLICATE_ACK = 1u << 8,      /* ACK with PSN, MSN and syndrome of the previous ACK */
    ROCE_AN_DUPLICATE_RESPONSE = 1u << 9, /* READ or atomic response that was captured before */
    ROCE_AN_RNR_NAK = 1u << 10,
    ROCE_AN_NAK = 1u << 11, /* any NAK except RNR */
    ROCE_AN_IMPLIED_NAK =
        1u << 12, /* response to a later PSN although a READ or atomic is unanswered */
    ROCE_AN_ZERO_CREDIT = 1u << 13,
    ROCE_AN_CREDIT_UPDATE = 1u << 14,
    ROCE_AN_CREDITS_EXHAUSTED =
        1u << 15,                  /* request that uses the last credit, or exceeds the credits */
    ROCE_AN_KEEP_ALIVE = 1u << 16, /* empty WRITE or SEND after 1 s without requests */
    ROCE_AN_QP_REUSED = 1u << 17,  /* first packet of a new connection on this QP pair */
    ROCE_AN_CE = 1u << 18,         /* CE mark of the IP header: congestion experienced */
    ROCE_AN_CNP = 1u << 19,
    ROCE_AN_MSG_START = 1u << 20,
    ROCE_AN_MSG_END = 1u << 21,
    ROCE_AN_DROPPED = 1u << 22,   /* packet that the receiver drops because of its format or ICRC */
    ROCE_AN_CM = 1u << 23,        /* a CM message */
    ROCE_AN_REL_PSN = 1u << 24,   /* result.rel_psn counts from the first PSN of the connection; if
                                   * not set, from the first captured PSN */
    ROCE_AN_REGION = 1u << 25,    /* result.rkey and result.va are known */
    ROCE_AN_CM_ACTIVE = 1u << 26, /* CM message whose sender also sent the REQ of the same
                                   * exchange */
};

/* Analysis of one frame in its connection. Unknown frame numbers are 0, unknown times
 * ROCE_NEVER_NS. */
struct roce_flow_result {
    uint32_t conn_index; /* number of the connection when the frame was judged, or ROCE_NO_CONN if
                          * the frame has none; roce_flow_owner() returns the final number */
    uint8_t side;        /* sender of the frame: index into the sides of the summary */
    uint8_t qp_use;      /* number of the use of the QP pair (struct roce_flow_use); 0 is the first
                          * use in the capture */
    uint8_t pairing;     /* enum roce_pairing of the connection at this packet */
    uint8_t loss;      /* enum roce_loss; only for the first packet of a go-back after a timeout */
    uint32_t flags;    /* bit set of enum roce_analysis */
    uint32_t findings; /* number of findings about this frame */
    uint32_t src_qpn;  /* QPN of the sender; ROCE_QPN_UNKNOWN if no packet names it */

    uint32_t rel_psn;  /* PSN of the frame minus the requester's first PSN, mod 2^24. The first PSN
                        * is from CM messages; without CM messages, it is the first captured PSN */
    uint32_t next_psn; /* request: PSN of the next request. For a READ, this is its own PSN plus the
                        * number of its responses */
    uint32_t gap;      /* number of PSNs that are missing before this request or READ response */

    enum roce_cause cause; /* cause of the retransmission. If a later frame shows that a timeout was
                            * spurious (ROCE_CAUSE_SPURIOUS), the finding SPURIOUS_TIMEOUT has
                            * go_back_frame as its other_frame */
    uint32_t go_back_frame; /* retransmission: first frame of its go-back */
    uint32_t repeats_frame; /* frame of the first captured transmission of the request */
    uint64_t rto;     /* retransmission: time since the previous transmission of the PSN, ns */
    uint64_t timeout; /* negotiated local ACK timeout of the sender, ns */
    uint32_t trigger_frame; /* frame of the NAK or response that caused the retransmission */

    uint32_t request_frame; /* response: frame of the last request packet that the response
                             * acknowledges */
    uint32_t acked_packets; /* number of request packets that this response acknowledges and no
                             * earlier response acknowledged */
    uint64_t rtt;           /* time from the request packet to this response, ns; unknown if the
                             * request was retransmitted */
    uint64_t response_time; /* last response of a READ or atomic: time since the request, ns */
    uint64_t message_time;  /* message completed by this packet: time since its first packet, ns */
    uint64_t done_bytes;    /* payload bytes of all messages completed by this packet */
    uint32_t dup_ack_num, dup_ack_frame; /* number of earlier ACKs equal to this one (PSN, MSN,
                                          * syndrome), and frame of the first of these ACKs */

    /* State of one requester after this packet. For a request, the requester is the sender; for a
     * response, it is the receiver. */
    uint32_t psns_in_flight, requests_in_flight, reads_in_flight;
    uint64_t bytes_in_flight;
    uint32_t read_bytes_in_flight; /* bytes requested by READs that are missing in the responses
                                    * captured so far, at most UINT32_MAX; 0 if no READ is in flight
                                    */

    uint32_t msg_number;      /* number of captured messages of the requester before this message */
    uint32_t msg_first_frame; /* first frame of the message; 0 if not captured */
    uint64_t msg_offset;      /* payload bytes of the message before this packet */
    uint64_t msg_bytes;       /* payload bytes of the message up to and including this packet */
    uint64_t msg_total;       /* length of the message in bytes: from the RETH, or, without a RETH,
                               * known only at the last packet; 0 if unknown */
    uint32_t rkey;            /* R_Key of the message */
    uint64_t va;              /* remote address of this packet's payload */

    uint32_t credits;    /* credits in an ACK; ROCE_CREDITS_UNLIMITED for code 31 */
    uint64_t rnr_wait;   /* RNR NAK: advertised wait, ns */
    uint64_t rnr_waited; /* retransmission after an RNR NAK: time that the requester waited, ns */
    uint64_t waited;     /* wait that ended with this packet, ns: the time that this packet added to
                          * waited_ns of struct roce_retx_summary, or to response_waits; 0 if none */
    uint32_t ce_frame;   /* CNP: frame of the CE-marked packet that the CNP answers */
    uint64_t cnp_delay;

    uint32_t cm_conn_index; /* CM message: number of its connection, or ROCE_NO_CONN */
    uint32_t cm_frame;      /* CM message: frame of the CM message that it answers */
    uint64_t cm_service;    /* CM message: service id of the REQ; 0 if the REQ was not captured */
};

/* Initializer of a result in which all values are unknown. */
/* clang-format off */
#define ROCE_FLOW_RESULT_NONE {.conn_index = ROCE_NO_CONN, .src_qpn = ROCE_QPN_UNKNOWN,           \
    .rto = ROCE_NEVER_NS, .timeout = ROCE_NEVER_NS, .rtt = ROCE_NEVER_NS,                         \
    .response_time = ROCE_NEVER_NS, .message_time = ROCE_NEVER_NS,                                \
    .credits = ROCE_CREDITS_UNLIMITED, .rnr_wait = ROCE_NEVER_NS, .rnr_waited = ROCE_NEVER_NS,    \
    .cnp_delay = ROCE_NEVER_NS, .cm_conn_index = ROCE_NO_CONN}
/* clang-format on */

/* Returns a new analysis, or NULL if out of memory. Copies `opts`; NULL or zero members select the
 * defaults. */
struct roce_flow *roce_flow_new(const struct roce_flow_opts *opts);
void roce_flow_del(struct roce_flow *flow); /* Frees an analysis. `flow` may be NULL. */

/* Analyzes one frame and calls the callbacks. `result` may be NULL. */
void roce_flow_feed(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_result *result);

/* Returns the secret that roce_digest_packet() needs. The secret is valid until roce_flow_del(). */
const struct roce_hash_secret *roce_flow_secret(const struct roce_flow *flow);

/* Prefetches the connection of a packet into the cache. The caller calls this function two to eight
 * packets before it passes the packet to roce_flow_feed(). */
void roce_flow_expect(const struct roce_flow *flow, const struct roce_packet_digest *digest);

/* Ends the capture: reports closing findings and calls on_conn() for each connection. Must be
 * called once. */
void roce_flow_finish(struct roce_flow *flow);

/*
 * Several struct roce_flow, called parts, can judge one capture together, each in its own thread.
 * Findings, numbers and callbacks are the same as with a single struct roce_flow. All packets
 * between two hosts must be fed to one part, because pairing compares all QPs of the two hosts. One
 * thread calls roce_flow_look() for the packets in the order of the capture; then the parts judge
 * the packets:
 *
 *   1. roce_flow_split(flow, part, cnt, ...);   before the first packet; part[0] is `flow`
 *   2. for each packet: roce_flow_look(flow, &in, &look), and a choice of the part by
 *      roce_flow_group() of the packet
 *   3. for each packet: in.look = &look; roce_flow_feed(part[i], &in, ...), in order in each part
 *   4. roce_flow_merge(flow);   then finish, owner and del for `flow` alone
 *
 * Before a part calls a callback except on_done, or uses data shared by all parts, it calls gate().
 * gate() must wait until every earlier packet of the capture was judged. A packet for which
 * roce_flow_look() returns true must be judged alone: no later packet may be fed before
 * roce_flow_feed() has returned for this packet.
 */

/* Makes `cnt` struct roce_flow (parts) from `flow`, to which no packet was passed yet. part[0]
 * becomes `flow`. `user[i]` is the first argument of the callbacks and of gate() of part[i].
 * `part_of[g]` is the index of the part that judges group g (roce_flow_group()); the caller sets
 * this index before it feeds a packet of the group. `part` and `part_of` must live until
 * roce_flow_merge(). Returns true, or false if memory is exhausted; `flow` is then unchanged. */
bool roce_flow_split(struct roce_flow *flow, struct roce_flow **part, unsigned cnt,
                     void *const *user, const uint8_t *part_of, void (*gate)(void *user));

/* Computes `look` for a packet: the facts about the packet that depend on earlier packets of all
 * hosts. The caller has set in->digest, and calls this function for the packets in the order of the
 * capture, before it feeds them to the parts of roce_flow_split(). Returns true if the caller must
 * feed no later packet to any part before roce_flow_feed() has returned for this packet. */
bool roce_flow_look(struct roce_flow *flow, const struct roce_flow_in *in,
                    struct roce_flow_look *look);

/* Returns a number below ROCE_FLOW_GROUPS for the two hosts of a packet. All packets between two
 * hosts have the same number, and one part (roce_flow_split()) judges them. */
uint32_t roce_flow_group(const struct roce_packet_digest *digest);

/* Returns whether the memory or the number of connections of the part may soon reach a limit. The
 * caller must then call roce_flow_merge(), because eviction compares the connections of all parts.
 */
bool roce_flow_is_crowded(const struct roce_flow *part);

/* Moves the connections of all parts into `flow` and deletes the other parts. */
void roce_flow_merge(struct roce_flow *flow);

/* Returns the final number of connection `conn_index`. If two directions with different numbers are
 * paired, the connection keeps the number of the direction that was captured first. */
uint32_t roce_flow_conn_index(const struct roce_flow *flow, uint32_t conn_index);

/* Connection and sender of a packet. */
struct roce_flow_owner {
    uint32_t conn_index; /* connection number as in the summary, or ROCE_NO_CONN */
    uint8_t side;        /* sender of the packet: index into the sides of the summary */
};

/*
 * Returns the final connection and sender of a packet for which roce_flow_feed() reported
 * `conn_index` and `side`. Before roce_flow_finish(), the result may still change, because
 * directions may still be paired.
 */
struct roce_flow_owner roce_flow_owner(const struct roce_flow *flow, uint32_t conn_index,
                                       uint8_t side);

/* Totals of the whole capture. */
struct roce_flow_totals {
    uint64_t packets, bytes; /* packets fed, and their bytes on the wire */
    uint64_t dropped;        /* packets dropped because they are malformed or have a wrong ICRC */
    uint64_t dc;          /* number of packets not judged because they are of NVIDIA's DC transport
                           * (wire/dc.h), or because the snaplen cuts them before the byte that
                           * identifies DC */
    uint64_t connections; /* connections in the whole capture */
    uint64_t evicted;     /* connections that were evicted */
    uint64_t forgotten;   /* number of request windows dropped from idle connections to free
                           * memory */
    uint64_t overflown;   /* number of request packets that were not recorded, because more than
                           * window_max were outstanding or the packet was too far out of order */
    uint64_t untracked;   /* number of packets that were judged without a connection, because memory
                           * was exhausted */
    uint64_t findings[ROCE_SEV_CNT];
    uint64_t rxe_sides; /* with ROCE_PROFILE_AUTO: number of endpoints recognised as Linux rxe */
    bool rxe_6_1;       /* with ROCE_PROFILE_AUTO: an endpoint shows a deviation that only Linux 6.1
                         * has */
    bool rxe_6_12;      /* with ROCE_PROFILE_AUTO: an endpoint shows a deviation that only Linux
                         * 6.12 has */
    uint64_t known[ROCE_SEV_CNT];  /* numbers of findings that are known deviations of the profile
                                    * (known_deviations.def), by severity */
    uint64_t errors_unknown;       /* ERROR findings that are not known deviations */
    uint64_t rules[ROCE_RULE_CNT]; /* number of findings of each rule */
    size_t mem_now, mem_peak;      /* bytes allocated now, and highest number of bytes */
    bool mem_limited;              /* after roce_flow_finish(): the memory limit may have changed
                                    * the results */
};

const struct roce_flow_totals *roce_flow_totals(const struct roce_flow *flow);

#endif
