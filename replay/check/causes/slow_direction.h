/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Slow direction: the requests of one side of a connection with their responses, and functions that
 * recognize what slowed them, such as losses, reordering and missing receive WQEs. Used by the
 * files that describe a slow connection: slow_causes, loss_causes, wait_causes and time_budget.
 */
#ifndef REPLAY_CHECK_CAUSES_SLOW_DIRECTION_H
#define REPLAY_CHECK_CAUSES_SLOW_DIRECTION_H

#include "check/causes/path_text.h"
#include "flow/base/summary.h"
#include "util/strbuf.h"

/* The requests of one side, and the responses of the other side to them. The pointers point into
 * the summary that was passed to slow_direction_of(). */
struct slow_direction {
    const struct roce_endpoint_summary *mine, *its;
    const struct roce_conn_facts *facts;
    uint8_t timeout_code; /* agreed local ACK timeout of the requester */
    bool rnic_dropped;    /* rnic-run dropped packets because of --impair */
    uint64_t ns;          /* duration of the connection, ns */
    uint64_t naks;        /* number of go-backs after a sequence NAK */
    /* Number of packets that were lost before the capture point. Lost retransmissions are not
     * counted. */
    uint64_t gone;
    uint64_t before;   /* number of packets and retransmissions that were lost before the capture
                        * point */
    uint64_t behind;   /* number of go-backs for packets that were lost or delayed between the
                        * capture point and the receiver. A packet that a sequence NAK asks for does
                        * not count if the capture lacks it: it may have been lost before the
                        * capture point */
    uint64_t setup_ns; /* time from the REQ to the REP, ns, if this side sent the REQ and the REP
                        * was late; otherwise 0 */
    /* Time for which the peer retransmitted its REP because the RTU of this side was late, ns. 0 if
     * the RTU was not late. */
    uint64_t rtu_ns;
    struct path path;    /* losses and delays between the two capture points; its members `mine`
                          * and `its` are NULL without a second capture */
    uint64_t silence_ns; /* sum of the connection's silences, ns, if they are notable
                          * (silence_text.h) and this side ended the longest one with a request;
                          * otherwise 0 */
    bool silence_inside; /* whether the longest silence ended inside a message */
    uint64_t idle_ns;    /* time in which the program of this side had nothing to send, ns,
                          * without `silence_ns` */
};

/* If the losses before and after the capture point differ by the factor SLOW_FEW or more, the
 * texts mention only the larger number. The smaller number may be wrong for two reasons: one NAK
 * may stand for several losses, and READ responses may be captured while the requester already
 * retransmits the READ. */
#define SLOW_FEW 3u

/* What happened to packets between two capture points: bits of slow_cause.between. */
enum {
    SLOW_BY_LOST_REQUEST = 1u << 0,
    SLOW_BY_LOST_RESPONSE = 1u << 1,
    SLOW_BY_LOSS = SLOW_BY_LOST_REQUEST | SLOW_BY_LOST_RESPONSE,
    SLOW_BY_DELAY = 1u << 2
};

/* Cause that made the requests of a side slow. */
struct slow_cause {
    bool (*is)(const struct slow_direction *);
    void (*say)(struct strbuf *, const struct slow_direction *);  /* appends the cause */
    void (*look)(struct strbuf *, const struct slow_direction *); /* appends where to search */
    bool cm;            /* CM messages show the cause; `filter` then applies without the
                         * connection's QPs, because CM messages use QP 1 */
    const char *filter; /* Wireshark's display filter for the packets that show the cause */
    unsigned between;   /* bit set of SLOW_BY_*: losses or delays between two capture points that
                         * can explain this cause */
};

struct slow_direction slow_direction_of(const struct roce_conn_summary *sum, unsigned side);

/* Returns the time from the REQ of a connection to its REP, ns, if this time was long; otherwise 0.
 * The duration of the connection does not include this time, because the connection begins with the
 * REP. */
uint64_t slow_setup_ns(const struct roce_conn_summary *sum);

/* Returns how many times the requester went back to an earlier PSN because of `cause`. */
uint64_t slow_go_backs(const struct slow_direction *w, enum roce_cause cause);

/* Appends the address of an end of a connection, and its QP if both ends have the same address. */
void slow_add_host(struct strbuf *t, const struct roce_endpoint_summary *end,
                   const struct roce_endpoint_summary *other);

/* Returns whether packets were reordered, not lost: at least half of the go-backs after sequence
 * NAKs were for packets that arrived late. */
bool slow_is_overtaken(const struct slow_direction *w);

/* Returns whether packets had a wrong ICRC. */
bool slow_is_damaged(const struct slow_direction *w);

/* Returns whether packets were lost: the requester went back after sequence NAKs, and reordered
 * packets, damaged packets and earlier RNR NAKs do not explain all of these NAKs. */
bool slow_is_lost(const struct slow_direction *w);

/* Returns whether the capture has all packets for which the receiver sent sequence NAKs. Then the
 * packets were lost after they passed the capture point, or other packets overtook them there. */
bool slow_lost_behind(const struct slow_direction *w);

/* Returns whether the requester retransmitted READs because their responses arrived out of order.
 * The evidence is at least two out-of-order READ responses in the capture. */
bool slow_is_answer_overtaken(const struct slow_direction *w);

/* Returns whether the capture lacks all responses to the requester (check_side_alone()). */
bool slow_is_one_sided(const struct slow_direction *w);

/* Returns whether the requester retransmitted after a timeout. */
bool slow_is_late(const struct slow_direction *w);

/* Returns whether the requester retransmitted after a spurious timeout: no request was lost. */
bool slow_is_spurious(const struct slow_direction *w);

/* Returns whether the responder had no receive WQE for a request (RNR NAK). */
bool slow_is_unready(const struct slow_direction *w);

/* Returns whether the responder sent RNR NAKs for requests that need no receive WQE. The usual
 * reason is that the responder first pages in memory (on-demand paging, ODP). */
bool slow_is_paged(const struct slow_direction *w);

/* Returns whether the requester is Linux Soft-RoCE and its full transmit queue refused packets.
 * Soft-RoCE then sends the same packet again at once. If the capture point is before the queue, the
 * capture has each attempt. */
bool slow_is_refused(const struct slow_direction *w);

/* Returns whether losses or delays between the two capture points explain a wait or a
 * retransmission. `between` is a bit set of SLOW_BY_*: only these kinds of losses and delays are
 * considered. */
bool slow_is_between(const struct slow_direction *w, unsigned between);

/* Returns whether packets were captured twice for an unknown reason. The two copies follow each
 * other so soon that the network or the capture may have duplicated the packets. */
bool slow_is_doubled(const struct slow_direction *w);

/* Returns whether the requester sent more slowly after CNPs. */
bool slow_is_congested(const struct slow_direction *w);

#endif
