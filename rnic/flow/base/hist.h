/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Histogram of durations from 64 ns to 9 minutes, with four buckets for each doubling. The relative
 * error of a percentile is at most 1/8. The size of a histogram does not depend on the number of
 * samples.
 */
#ifndef FLOW_BASE_HIST_H
#define FLOW_BASE_HIST_H

#include <stdint.h>

#define ROCE_HIST_BUCKETS 132u /* number of buckets */

struct roce_hist {
    uint32_t cnt[ROCE_HIST_BUCKETS];
    uint32_t total;
    uint64_t min, max; /* shortest and longest sample, ns; valid if total > 0 */
    uint64_t sum;      /* sum of all samples, ns */
};

/* Returns the bucket index of a duration; the index is below ROCE_HIST_BUCKETS. */
unsigned roce_hist_bucket(uint64_t ns);

/* Returns the shortest duration of a bucket, ns. For the index ROCE_HIST_BUCKETS, returns the
 * nominal end of the last bucket, although that bucket also counts all longer durations. */
uint64_t roce_hist_low(unsigned bucket);

void roce_hist_add(struct roce_hist *hist, uint64_t ns);

/* Returns the duration that `permille` of 1000 samples do not exceed, ns; 0 if there are no
 * samples. `hist` may be NULL. */
uint64_t roce_hist_quantile(const struct roce_hist *hist, unsigned permille);

#endif
