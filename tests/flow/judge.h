/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judge: a generated conversation given to the observer, whole or spoiled the way captures are, and
 * what it found.
 */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "flow/flow.h"
#include "support/flowgen.h"

#define JUDGE_FINDINGS 64
#define JUDGE_CONNS    16

/* How a capture is spoiled. All zero: whole. */
struct judge_spoil {
    struct rng *rng;
    uint32_t drop_permille;      /* frames missing at random */
    uint32_t snap_min, snap_max; /* cut to so many bytes; 0 not */
    bool one_side;
    int side;      /* only frames of this side are there */
    uint32_t head; /* so many first frames are missing */
    bool no_icrc;  /* ICRCs are not looked at */
};

struct verdict {
    struct roce_flow_totals totals;
    struct roce_finding finding[JUDGE_FINDINGS]; /* the first ones */
    uint32_t finding_cnt;
    struct roce_conn_summary conn[JUDGE_CONNS]; /* without histograms and regions */
    uint64_t times[JUDGE_CONNS];                /* a digest of those */
    uint32_t conn_cnt;
    struct roce_flow_result last; /* of the last frame */
    uint32_t links[ROCE_LINK_CM_ANSWER + 1];
    uint32_t uses;                    /* of QP pairs, as on_use() reported them */
    struct roce_flow_use use;         /* the latest, without its messages */
    uint32_t cm_msgs;                 /* as on_cm() reported them */
    struct roce_flow_result *results; /* one a frame if the caller gives room */
    size_t results_cap;
    struct roce_flow_owner *owners; /* final owners, as many as results */
};

/* `opts` may be NULL; its callbacks are not used. `verdict` is zeroed but for results and owners.
 */
void judge(const struct flowgen *g, const struct roce_flow_opts *opts,
           const struct judge_spoil *spoil, struct verdict *verdict);

/* judge() of the whole talk, which is at its end: `g` is freed. */
void judge_end(struct flowgen *g, struct verdict *verdict);

/* Whether two summaries of a verdict say the same, member by member: their holes say nothing. */
bool judge_same_conn(const struct roce_conn_summary *a, const struct roce_conn_summary *b);

/* Whether the rule was found. */
bool judge_found(const struct verdict *verdict, enum roce_rule rule);

/* The highest severity with which it was; NOTE also where it was not. */
enum roce_severity judge_worst(const struct verdict *verdict, enum roce_rule rule);

/* Prints each ERROR finding to stderr, with `why` in front; how many there were. */
unsigned judge_errors(const struct verdict *verdict, const char *why);

#endif
