/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/hist.h"

/* times below 2^6 = 64 ns are all in bucket 0: latencies and round-trip times are longer */
#define FIRST_OCTAVE 6u

unsigned roce_hist_bucket(uint64_t ns)
{
    unsigned octave, b;

    if (ns < (UINT64_C(1) << FIRST_OCTAVE))
        return 0;
    octave = 63u - (unsigned)__builtin_clzll(ns);
    b = (octave - FIRST_OCTAVE) * 4 + (unsigned)(ns >> (octave - 2) & 3) + 1;
    return b < ROCE_HIST_BUCKETS ? b : ROCE_HIST_BUCKETS - 1;
}

uint64_t roce_hist_low(unsigned bucket)
{
    unsigned octave;

    if (bucket == 0)
        return 0;
    octave = (bucket - 1) / 4 + FIRST_OCTAVE;
    return (UINT64_C(1) << octave) + (bucket - 1) % 4 * (UINT64_C(1) << (octave - 2));
}

/* Returns the middle of a bucket, ns. */
static uint64_t value_of(unsigned bucket)
{
    return roce_hist_low(bucket) + (roce_hist_low(bucket + 1) - roce_hist_low(bucket)) / 2;
}

void roce_hist_add(struct roce_hist *hist, uint64_t ns)
{
    hist->cnt[roce_hist_bucket(ns)]++;
    if (hist->total == 0 || ns < hist->min)
        hist->min = ns;
    if (ns > hist->max)
        hist->max = ns;
    hist->total++;
    hist->sum += ns;
}

uint64_t roce_hist_quantile(const struct roce_hist *hist, unsigned permille)
{
    uint64_t want, seen = 0;

    if (!hist || hist->total == 0)
        return 0;
    want = ((uint64_t)hist->total * permille + 999) / 1000;
    if (want == 0)
        want = 1;
    for (unsigned i = 0; i < ROCE_HIST_BUCKETS; i++) {
        seen += hist->cnt[i];
        if (seen >= want) {
            uint64_t v = value_of(i);

            v = v < hist->min ? hist->min : v;
            return v > hist->max ? hist->max : v;
        }
    }
    return hist->max;
}
