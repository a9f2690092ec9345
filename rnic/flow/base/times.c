/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/times.h"

#include <string.h>
#include "flow/base/state.h"

/* Adds a sample of the histogram with index `of` to the list of samples. Returns false if the list
 * is full. */
static bool small_hist_add(struct roce_small_hist *small, unsigned of, uint64_t ns)
{
    uint8_t bucket = (uint8_t)roce_hist_bucket(ns);
    unsigned k = 0, i = 0;

    while (k < small->kind_cnt && small->kind[k] != of)
        k++;
    while (i < small->cnt && (small->at[i].of != of || small->at[i].bucket != bucket))
        i++;
    if (k == ROCE_SMALL_HIST_KINDS || i == ROCE_SMALL_HIST_BUCKETS ||
        small->total == ROCE_SMALL_HIST_TOTAL)
        return false;
    if (k == small->kind_cnt) {
        small->kind[small->kind_cnt++] = (uint8_t)of;
        small->of[k].min = ns;
        small->of[k].max = small->of[k].sum = 0;
    }
    if (i == small->cnt) {
        small->cnt++;
        small->at[i].of = (uint8_t)of;
        small->at[i].bucket = bucket;
        small->at[i].cnt = 0;
    }
    small->at[i].cnt++;
    small->total++;
    small->of[k].sum += ns;
    if (ns < small->of[k].min)
        small->of[k].min = ns;
    if (ns > small->of[k].max)
        small->of[k].max = ns;
    return true;
}

/* Copies the samples of the histogram with index `of` from the list to the empty histogram `hist`.
 */
static void small_hist_copy(const struct roce_small_hist *small, unsigned of,
                            struct roce_hist *hist)
{
    for (unsigned i = 0; i < small->cnt; i++)
        if (small->at[i].of == of) {
            hist->cnt[small->at[i].bucket] += small->at[i].cnt;
            hist->total += small->at[i].cnt;
        }
    for (unsigned k = 0; k < small->kind_cnt; k++)
        if (small->kind[k] == of) {
            hist->min = small->of[k].min;
            hist->max = small->of[k].max;
            hist->sum = small->of[k].sum;
        }
}

/* Removes the samples of the histogram with index `of` from the list of samples. */
static void small_hist_remove(struct roce_small_hist *small, unsigned of)
{
    unsigned left = 0;

    for (unsigned i = 0; i < small->cnt; i++) {
        if (small->at[i].of == of)
            small->total = (uint16_t)(small->total - small->at[i].cnt);
        else
            small->at[left++] = small->at[i];
    }
    small->cnt = (uint8_t)left;
    for (unsigned k = 0; k < small->kind_cnt; k++)
        if (small->kind[k] == of) {
            small->kind_cnt--;
            small->kind[k] = small->kind[small->kind_cnt];
            small->of[k] = small->of[small->kind_cnt];
            return;
        }
}

/* Moves the samples of the histogram with index `of` from the list to a full histogram. Returns
 * this histogram, or NULL if out of memory. */
static struct roce_hist *make_full_hist(struct roce_ctx *ctx, struct roce_times *times, unsigned of)
{
    struct roce_hist *hist;

    if (!times->hist)
        times->hist = roce_mem_need(&ctx->flow->mem, ROCE_TIMES * sizeof(struct roce_hist *));
    if (!times->hist)
        return NULL;
    hist = times->hist[of] = roce_mem_need(&ctx->flow->mem, sizeof(*hist));
    if (!hist)
        return NULL;
    small_hist_copy(times->small, of, hist);
    small_hist_remove(times->small, of);
    return hist;
}

void roce_times_add(struct roce_ctx *ctx, struct roce_times *times, unsigned of, uint64_t ns)
{
    struct roce_hist *hist = times->hist ? times->hist[of] : NULL;

    if (!hist) {
        if (!times->small)
            times->small = roce_mem_need(&ctx->flow->mem, sizeof(*times->small));
        if (!times->small || small_hist_add(times->small, of, ns))
            return;
        hist = make_full_hist(ctx, times, of);
    }
    if (hist)
        roce_hist_add(hist, ns);
}

void roce_times_free(struct roce_flow *flow, struct roce_times *times)
{
    for (unsigned i = 0; times->hist && i < ROCE_TIMES; i++)
        roce_mem_put(&flow->mem, times->hist[i], sizeof(*times->hist[i]));
    roce_mem_put(&flow->mem, times->hist, ROCE_TIMES * sizeof(struct roce_hist *));
    roce_mem_put(&flow->mem, times->small, sizeof(*times->small));
    *times = (struct roce_times){0};
}

const struct roce_hist *roce_times_hist(const struct roce_times *times, unsigned of,
                                        struct roce_hist *room)
{
    if (times->hist && times->hist[of])
        return times->hist[of];
    memset(room, 0, sizeof(*room));
    if (times->small)
        small_hist_copy(times->small, of, room);
    return room->total ? room : NULL;
}
