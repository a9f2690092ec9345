/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/times.h"

#include <string.h>
#include "flow/table/conn.h"

/* Whether the list takes one more sample; it has then. */
static bool add_few(struct roce_few *few, unsigned of, uint64_t ns)
{
    uint8_t bucket = (uint8_t)roce_hist_bucket(ns);
    unsigned k = 0, i = 0;

    while (k < few->kind_cnt && few->kind[k] != of)
        k++;
    while (i < few->cnt && (few->at[i].of != of || few->at[i].bucket != bucket))
        i++;
    if (k == ROCE_FEW_KINDS || i == ROCE_FEW_BUCKETS || few->total == ROCE_FEW_TOTAL)
        return false;
    if (k == few->kind_cnt) {
        few->kind[few->kind_cnt++] = (uint8_t)of;
        few->of[k].min = ns;
        few->of[k].max = few->of[k].sum = 0;
    }
    if (i == few->cnt) {
        few->cnt++;
        few->at[i].of = (uint8_t)of;
        few->at[i].bucket = bucket;
        few->at[i].cnt = 0;
    }
    few->at[i].cnt++;
    few->total++;
    few->of[k].sum += ns;
    if (ns < few->of[k].min)
        few->of[k].min = ns;
    if (ns > few->of[k].max)
        few->of[k].max = ns;
    return true;
}

/* Adds the samples of a kind to an empty histogram. */
static void spread(const struct roce_few *few, unsigned of, struct roce_hist *hist)
{
    for (unsigned i = 0; i < few->cnt; i++)
        if (few->at[i].of == of) {
            hist->cnt[few->at[i].bucket] += few->at[i].cnt;
            hist->total += few->at[i].cnt;
        }
    for (unsigned k = 0; k < few->kind_cnt; k++)
        if (few->kind[k] == of) {
            hist->min = few->of[k].min;
            hist->max = few->of[k].max;
            hist->sum = few->of[k].sum;
        }
}

/* Takes a kind out of the list. */
static void drop(struct roce_few *few, unsigned of)
{
    unsigned left = 0;

    for (unsigned i = 0; i < few->cnt; i++) {
        if (few->at[i].of == of)
            few->total = (uint16_t)(few->total - few->at[i].cnt);
        else
            few->at[left++] = few->at[i];
    }
    few->cnt = (uint8_t)left;
    for (unsigned k = 0; k < few->kind_cnt; k++)
        if (few->kind[k] == of) {
            few->kind_cnt--;
            few->kind[k] = few->kind[few->kind_cnt];
            few->of[k] = few->of[few->kind_cnt];
            return;
        }
}

/* A histogram of its own for a kind, with what the list has of it; NULL without memory. */
static struct roce_hist *promote(struct roce_ctx *ctx, struct roce_times *times, unsigned of)
{
    struct roce_hist *hist;

    if (!times->hist)
        times->hist = roce_flow_get(ctx->flow, ROCE_TIMES * sizeof(struct roce_hist *), ctx->conn);
    if (!times->hist)
        return NULL;
    hist = times->hist[of] = roce_flow_get(ctx->flow, sizeof(*hist), ctx->conn);
    if (!hist)
        return NULL;
    spread(times->few, of, hist);
    drop(times->few, of);
    return hist;
}

void roce_times_add(struct roce_ctx *ctx, struct roce_times *times, unsigned of, uint64_t ns)
{
    struct roce_hist *hist = times->hist ? times->hist[of] : NULL;

    if (!hist) {
        if (!times->few)
            times->few = roce_flow_get(ctx->flow, sizeof(*times->few), ctx->conn);
        if (!times->few || add_few(times->few, of, ns))
            return;
        hist = promote(ctx, times, of);
    }
    if (hist)
        roce_hist_add(hist, ns);
}

void roce_times_free(struct roce_flow *flow, struct roce_times *times)
{
    for (unsigned i = 0; times->hist && i < ROCE_TIMES; i++)
        roce_mem_put(&flow->mem, times->hist[i], sizeof(*times->hist[i]));
    roce_mem_put(&flow->mem, times->hist, ROCE_TIMES * sizeof(struct roce_hist *));
    roce_mem_put(&flow->mem, times->few, sizeof(*times->few));
    *times = (struct roce_times){0};
}

const struct roce_hist *roce_times_hist(const struct roce_times *times, unsigned of,
                                        struct roce_hist *room)
{
    if (times->hist && times->hist[of])
        return times->hist[of];
    memset(room, 0, sizeof(*room));
    if (times->few)
        spread(times->few, of, room);
    return room->total ? room : NULL;
}
