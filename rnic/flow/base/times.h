/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Times: the durations that a side's requests took, one histogram a kind. Most connections of a
 * large capture are quiet, and their durations fall into small buckets: those are kept in a list,
 * and a kind gets a histogram of its own when the list is too short or too slow. Private to flow/.
 */
#ifndef FLOW_BASE_TIMES_H
#define FLOW_BASE_TIMES_H

#include "flow/base/hist.h"
#include "flow/base/summary.h"

#define ROCE_TIMES (ROCE_OPER_CNT + 1) /* latencies of operations, and round trips */

#define ROCE_SMALL_HIST_KINDS   3u
#define ROCE_SMALL_HIST_BUCKETS 14u
#define ROCE_SMALL_HIST_TOTAL   1000u /* beyond, a list is the slower way */

struct roce_small_hist {
    uint8_t kind_cnt, cnt;
    uint16_t total; /* samples, <= ROCE_SMALL_HIST_TOTAL */
    uint8_t kind[ROCE_SMALL_HIST_KINDS];
    struct {
        uint8_t of; /* kind */
        uint8_t bucket;
        uint16_t cnt;
    } at[ROCE_SMALL_HIST_BUCKETS];
    struct {
        uint64_t min, max, sum;  /* ns */
    } of[ROCE_SMALL_HIST_KINDS]; /* as `kind` */
};

struct roce_ctx;

/* A zeroed one has no samples. */
struct roce_times {
    struct roce_small_hist *small; /* NULL before the first sample */
    struct roce_hist **hist;       /* ROCE_TIMES of them, each NULL while the kind is in `small` */
};

struct roce_flow;

/* Without memory the sample is lost. */
void roce_times_add(struct roce_ctx *ctx, struct roce_times *times, unsigned of, uint64_t ns);
void roce_times_free(struct roce_flow *flow, struct roce_times *times);

/* The durations of a kind, in *room where they are not in a histogram yet; NULL for none. */
const struct roce_hist *roce_times_hist(const struct roce_times *times, unsigned of,
                                        struct roce_hist *room);

#endif
