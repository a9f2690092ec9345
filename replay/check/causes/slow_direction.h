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
    uint64_t ns;          /* duration of the connection, ns */
    uint64_t naks;        /* number of go-back-N retransmissions after a sequence NAK */
    /* Number of packets that were lost before the capture point. Lost retransmissions are not
     * counted. */
    uint64_t gone;
    uint64_t setup_ns; /* time from the REQ of this side to a late REP, ns; otherwise 0 */
    /* Time for which the peer retransmitted its REP because the RTU of this side was late, ns;
     * otherwise 0. */
    uint64_t rtu_ns;
    struct path path;    /* packets between the two capture points; its members `mine` and `its` are
                          * NULL without a second capture */
    uint64_t silence_ns; /* time in which the connection had notable silences before requests of
                          * this side, ns */
    uint64_t idle_ns;    /* time in which the program of this side had nothing to send, without the
                          * notable silences, ns */
};

/* Losses on one side of the capture point are not mentioned if they are fewer than 1/SLOW_FEW of
 * those on the other side. They may be only apparent, for two reasons. One NAK may stand for
 * several losses. Responses to a READ may be captured while the requester restarts the READ. */
#define SLOW_FEW 3u

/* What happened to packets between two capture points: bits of slow_cause.between. */
enum {
    SLOW_BY_LOST_REQUEST = 1u << 0,
    SLOW_BY_LOST_RESPONSE = 1u << 1,
    SLOW_BY_LOSS = SLOW_BY_LOST_REQUEST | SLOW_BY_LOST_RESPONSE,
    SLOW_BY_DELAY = 1u << 2
};

/* A cause that slowed a direction. */
struct slow_cause {
    bool (*is)(const struct slow_direction *);
    void (*say)(struct strbuf *, const struct slow_direction *);  /* appends the cause */
    void (*look)(struct strbuf *, const struct slow_direction *); /* appends where to search */
    bool cm;            /* CM messages show the cause; they use QP 1, not the connection's QPs */
    const char *filter; /* Wireshark's display filter for the packets that show the cause */
    unsigned between;   /* bit set of SLOW_BY_*: what may have happened to packets between two
                         * capture points if this cause slowed the direction */
};

struct slow_direction slow_direction_of(const struct roce_conn_summary *sum, unsigned side);

/* Returns the time from the REQ of a connection to its REP if that was long, ns; otherwise 0. The
 * connection begins with the REP, so its duration does not include this time. */
uint64_t slow_setup_ns(const struct roce_conn_summary *sum);

/* Returns how many times the requester went back to an earlier PSN because of `cause`. */
uint64_t slow_go_backs(const struct slow_direction *w, enum roce_cause cause);

/* Appends the address of the responder, and its QP if both sides have the same address. */
void slow_add_host(struct strbuf *t, const struct slow_direction *w);

/* Returns whether packets were reordered, not lost. True if sequence NAKs for late packets explain
 * at least half of the retransmissions. */
bool slow_is_overtaken(const struct slow_direction *w);

/* Returns whether packets had a wrong ICRC. */
bool slow_is_damaged(const struct slow_direction *w);

/* Returns whether packets were lost: the capture has sequence NAKs, and reordered or damaged
 * packets do not explain all of them. */
bool slow_is_lost(const struct slow_direction *w);

/* Returns whether all packets for which the receiver sent sequence NAKs passed the capture point.
 * Behind it, they were lost, or late because other packets overtook them. */
bool slow_lost_behind(const struct slow_direction *w);

/* Returns whether READs were retransmitted although all their responses arrived. The responses
 * arrived out of order or too late. */
bool slow_is_answer_overtaken(const struct slow_direction *w);

/* Returns whether the capture lacks all responses to the requester (check_side_alone()). */
bool slow_is_one_sided(const struct slow_direction *w);

/* Returns whether the requester retransmitted after a timeout. */
bool slow_is_late(const struct slow_direction *w);

/* Returns whether the requester retransmitted after a timeout although no request was lost. */
bool slow_is_spurious(const struct slow_direction *w);

/* Returns whether the responder had no receive WQE for a request (RNR NAK). */
bool slow_is_unready(const struct slow_direction *w);

/* Returns whether the responder answered requests that need no receive WQE with RNR NAKs. The usual
 * reason is that the responder first pages in memory (on-demand paging, ODP). */
bool slow_is_paged(const struct slow_direction *w);

/* Returns whether the requester is Linux Soft-RoCE and its transmit queue refused packets.
 * Soft-RoCE sends such a packet again at once. A capture point before that queue captures each
 * attempt. */
bool slow_is_refused(const struct slow_direction *w);

/* Returns whether events between the two capture points explain a wait or a retransmission.
 * `between`: bit set of SLOW_BY_*, the events that can explain it. */
bool slow_is_between(const struct slow_direction *w, unsigned between);

/* Returns whether packets were captured again for unknown causes, one at a time, and so soon that
 * the network or the capture may have duplicated them. */
bool slow_is_doubled(const struct slow_direction *w);

/* Returns whether the requester sent more slowly after CNPs. */
bool slow_is_congested(const struct slow_direction *w);

#endif
