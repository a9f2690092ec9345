/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Times: durations of an endpoint's requests, one histogram for each kind. Most connections of a
 * large capture have few requests, so the samples of an endpoint are first stored in a short list.
 * When the list is full, samples move from the list to full histograms. Used only in rnic/flow.
 */
#ifndef FLOW_BASE_TIMES_H
#define FLOW_BASE_TIMES_H

#include "flow/base/hist.h"
#include "flow/base/summary.h"

/* number of histograms of an endpoint: one for each operation, and one for round-trip times */
#define ROCE_TIMES (ROCE_OPER_CNT + 1)

#define ROCE_SMALL_HIST_KINDS   3u  /* maximum number of histograms in a list */
#define ROCE_SMALL_HIST_BUCKETS 14u /* maximum number of buckets in a list */
/* An endpoint with more samples than this uses full histograms, because they are then faster than
 * the list. */
#define ROCE_SMALL_HIST_TOTAL 1000u

struct roce_small_hist {
    uint8_t kind_cnt, cnt;
    uint16_t total; /* number of samples, <= ROCE_SMALL_HIST_TOTAL */
    uint8_t kind[ROCE_SMALL_HIST_KINDS];
    struct {
        uint8_t of; /* index of the histogram: an enum roce_oper, or ROCE_OPER_CNT for the
                     * round-trip time */
        uint8_t bucket;
        uint16_t cnt;
    } at[ROCE_SMALL_HIST_BUCKETS];
    struct {
        uint64_t min, max, sum;  /* shortest and longest sample and the sum of all samples, ns */
    } of[ROCE_SMALL_HIST_KINDS]; /* of[i]: values of the histogram kind[i] */
};

struct roce_ctx;

/* Histograms of an endpoint. If all members are zero, there are no samples. */
struct roce_times {
    struct roce_small_hist *small; /* list of samples; NULL before the first sample */
    struct roce_hist **hist;       /* ROCE_TIMES pointers to histograms; a pointer is NULL while the
                                    * samples are in `small` */
};

struct roce_flow;

/* Adds a sample of `ns` to the histogram with index `of`. If memory is exhausted, the sample is
 * lost. */
void roce_times_add(struct roce_ctx *ctx, struct roce_times *times, unsigned of, uint64_t ns);
void roce_times_free(struct roce_flow *flow, struct roce_times *times);

/* Returns the histogram with index `of`, or NULL if it has no samples. If its samples are still in
 * the list, copies them to the caller's *room and returns `room`. */
const struct roce_hist *roce_times_hist(const struct roce_times *times, unsigned of,
                                        struct roce_hist *room);

#endif
