/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judge: feeds a generated conversation to the observer and returns its findings. The capture is
 * complete, or incomplete as real captures are. A second observer runs without the fast path and a
 * third without results; the test fails if their findings differ.
 */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "flow/flow.h"
#include "support/flowgen.h"

#define JUDGE_FINDINGS 64
#define JUDGE_CONNS    16

/* Defects of the capture. All members zero: a complete capture. */
struct judge_spoil {
    struct rng *rng;
    uint32_t drop_permille;      /* frames that are missing at random, permille */
    uint32_t snap_min, snap_max; /* frames are cut to a random length in this range; 0: not cut */
    bool one_side;
    int side;      /* only frames of this side are captured */
    uint32_t head; /* number of first frames that are missing */
    bool no_icrc;  /* ICRCs are not checked */
};

struct verdict {
    struct roce_flow_totals totals;
    struct roce_finding finding[JUDGE_FINDINGS]; /* first findings, in order */
    uint32_t finding_cnt;
    struct roce_conn_summary conn[JUDGE_CONNS]; /* summaries of the connections, without histograms
                                                 * and regions */
    uint64_t times[JUDGE_CONNS];                /* digests of the histograms of each connection */
    uint32_t conn_cnt;
    struct roce_flow_result last; /* result of the last frame */
    uint32_t links[ROCE_LINK_CM_ANSWER + 1];
    uint32_t uses;                    /* number of on_use() calls */
    struct roce_flow_use use;         /* latest use, without its CM messages */
    uint32_t cm_msgs;                 /* number of on_cm() calls */
    struct roce_flow_result *results; /* results of all frames, if the caller provides an array */
    size_t results_cap;
    struct roce_flow_owner
        *owners; /* final owners of all frames; array of the length of `results` */
};

/* Judges a conversation. `opts` may be NULL; callbacks in it are ignored. Clears *verdict, except
 * for results and owners. */
void judge(const struct flowgen *g, const struct roce_flow_opts *opts,
           const struct judge_spoil *spoil, struct verdict *verdict);

/* Judges the complete conversation and frees `g`. */
void judge_end(struct flowgen *g, struct verdict *verdict);

/* Returns whether two summaries are equal, member by member, without padding. */
bool judge_same_conn(const struct roce_conn_summary *a, const struct roce_conn_summary *b);

/* Returns whether a rule was reported. */
bool judge_found(const struct verdict *verdict, enum roce_rule rule);

/* Returns the highest severity with which a rule was reported; NOTE if the rule was not reported.
 */
enum roce_severity judge_worst(const struct verdict *verdict, enum roce_rule rule);

/* Prints `why` and each ERROR finding to stderr. Returns the number of ERROR findings. */
unsigned judge_errors(const struct verdict *verdict, const char *why);

#endif
