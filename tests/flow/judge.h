/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Judge: feeds a generated conversation to the analysis engine (rnic/flow) and stores its findings.
 * Parts of the conversation can be left out, as in an incomplete capture. A second engine runs
 * without the fast path, and a third without results; the test fails if their findings differ.
 */
#ifndef TEST_JUDGE_H
#define TEST_JUDGE_H

#include "flow/flow.h"
#include "support/flowgen.h"

#define JUDGE_FINDINGS 64
#define JUDGE_CONNS    16

/* Defects of the capture. All members zero: the capture is complete. */
struct judge_spoil {
    struct rng *rng;
    uint32_t drop_permille;      /* probability that a frame is missing, permille */
    uint32_t snap_min, snap_max; /* frames are truncated to a random length in this range, bytes; 0:
                                  * not truncated */
    bool one_side;
    int side;      /* if `one_side` is true: the capture contains only frames from this side */
    uint32_t head; /* number of frames missing at the beginning */
    bool no_icrc;  /* the ICRCs are passed as not checked */
};

struct verdict {
    struct roce_flow_totals totals;
    struct roce_finding finding[JUDGE_FINDINGS]; /* the first JUDGE_FINDINGS findings, in order */
    uint32_t finding_cnt;
    struct roce_conn_summary conn[JUDGE_CONNS]; /* summaries of the connections; their pointers
                                                 * (histograms, regions) are not valid */
    uint64_t times[JUDGE_CONNS];                /* digests of the histograms of each connection */
    uint32_t conn_cnt;
    struct roce_flow_result last; /* result of the latest frame */
    uint32_t links[ROCE_LINK_CM_ANSWER + 1];
    uint32_t uses;                    /* number of on_use() calls */
    struct roce_flow_use use;         /* argument of the latest on_use() call; its pointers to CM
                                       * messages are not valid */
    uint32_t cm_msgs;                 /* number of on_cm() calls */
    struct roce_flow_result *results; /* array for the results of all frames, or NULL; set by the
                                       * caller */
    size_t results_cap;
    struct roce_flow_owner *owners; /* array as long as `results`, or NULL; set by the caller.
                                     * Receives the connection and the sender of each frame, as
                                     * known at the end of the capture */
};

/* Passes the conversation to the analysis engine, except the parts that `spoil` removes (NULL:
 * none). `opts` may be NULL; its callbacks are not used. Stores the results in *verdict, which it
 * clears first, except the arrays that the caller set. */
void judge(const struct flowgen *g, const struct roce_flow_opts *opts,
           const struct judge_spoil *spoil, struct verdict *verdict);

/* Judges the conversation as a complete capture, and frees `g`. */
void judge_end(struct flowgen *g, struct verdict *verdict);

/* Returns whether two summaries are equal, member by member, without padding. */
bool judge_same_conn(const struct roce_conn_summary *a, const struct roce_conn_summary *b);

/* Returns whether a rule was reported. */
bool judge_found(const struct verdict *verdict, enum roce_rule rule);

/* Returns the highest severity with which the rule was reported; ROCE_SEV_NOTE if it was not
 * reported. */
enum roce_severity judge_worst(const struct verdict *verdict, enum roce_rule rule);

/* Prints `why` and each ERROR finding to stderr. Returns the number of ERROR findings. */
unsigned judge_errors(const struct verdict *verdict, const char *why);

#endif
