/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Times: durations of an endpoint's requests, one histogram for each kind. Most connections of a
 * large capture have few requests, whose durations fall into few buckets: these are kept in a list.
 * A kind gets a full histogram when the list is full. Private to flow/.
 */
#ifndef FLOW_BASE_TIMES_H
#define FLOW_BASE_TIMES_H

#include "flow/base/hist.h"
#include "flow/base/summary.h"

#define ROCE_TIMES (ROCE_OPER_CNT + 1) /* latencies of operations, and round trips */

#define ROCE_SMALL_HIST_KINDS   3u
#define ROCE_SMALL_HIST_BUCKETS 14u
#define ROCE_SMALL_HIST_TOTAL   1000u /* samples above which a full histogram is faster */

struct roce_small_hist {
    uint8_t kind_cnt, cnt;
    uint16_t total; /* samples, <= ROCE_SMALL_HIST_TOTAL */
    uint8_t kind[ROCE_SMALL_HIST_KINDS];
    struct {
        uint8_t of; /* index of the kind */
        uint8_t bucket;
        uint16_t cnt;
    } at[ROCE_SMALL_HIST_BUCKETS];
    struct {
        uint64_t min, max, sum;  /* ns */
    } of[ROCE_SMALL_HIST_KINDS]; /* indexed as `kind` */
};

struct roce_ctx;

/* Durations of an endpoint. All zero: no samples. */
struct roce_times {
    struct roce_small_hist *small; /* NULL before the first sample */
    struct roce_hist **hist;       /* ROCE_TIMES pointers, each NULL while the kind is in `small` */
};

struct roce_flow;

/* Adds a sample. Without memory it is lost. */
void roce_times_add(struct roce_ctx *ctx, struct roce_times *times, unsigned of, uint64_t ns);
void roce_times_free(struct roce_flow *flow, struct roce_times *times);

/* Returns the durations of a kind, copied to *room if they are still in the list; NULL without
 * samples. */
const struct roce_hist *roce_times_hist(const struct roce_times *times, unsigned of,
                                        struct roce_hist *room);

#endif
