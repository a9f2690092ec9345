/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/counters.h"

#include <string.h>

const struct roce_cold_counters *roce_cold_of(const struct roce_endpoint *side)
{
    static const struct roce_cold_counters none;

    return side->counts.cold ? side->counts.cold : &none;
}

struct roce_cold_counters *roce_cold(struct roce_flow *flow, struct roce_endpoint *side)
{
    if (!side->counts.cold)
        side->counts.cold = roce_mem_need(&flow->mem, sizeof(*side->counts.cold));
    return side->counts.cold ? side->counts.cold : &flow->lost_cold;
}

struct roce_oper_count *roce_oper_cnt(struct roce_flow *flow, struct roce_endpoint *side,
                                      enum roce_oper oper)
{
    if (!side->counts.oper)
        side->counts.oper = roce_mem_need(&flow->mem, ROCE_OPER_CNT * sizeof(*side->counts.oper));
    return side->counts.oper ? &side->counts.oper[oper] : &flow->lost_oper;
}

void roce_note_dropped(struct roce_ctx *ctx)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

    if (roce_opcode_is_request(ctx->pkt->op))
        cold->dropped_psn[cold->dropped_cnt++ % ROCE_DROPPED_CNT] = ctx->pkt->bth.psn;
}

uint32_t roce_dropped_cnt(const struct roce_endpoint *side, uint32_t psn, uint32_t cnt)
{
    const struct roce_cold_counters *cold = roce_cold_of(side);
    uint32_t n = cold->dropped_cnt < ROCE_DROPPED_CNT ? cold->dropped_cnt : ROCE_DROPPED_CNT;
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;

        while (k < i && cold->dropped_psn[k] != cold->dropped_psn[i])
            k++;
        found += k == i && ((cold->dropped_psn[i] - psn) & ROCE_PSN_MASK) < cnt;
    }
    return found;
}

void roce_count_latency(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                        uint64_t ns)
{
    roce_times_add(ctx, &side->times, oper, ns);
}

void roce_count_rtt(struct roce_ctx *ctx, struct roce_endpoint *side, uint64_t ns)
{
    roce_times_add(ctx, &side->times, ROCE_OPER_CNT, ns);
}

static bool grow_regions(struct roce_ctx *ctx, struct roce_endpoint *side)
{
    uint8_t cap = side->region_cap ? (uint8_t)(side->region_cap * 2) : 1;
    struct roce_region *region;

    if (cap > ROCE_REGIONS_MAX)
        return false;
    region = roce_mem_need(&ctx->flow->mem, cap * sizeof(*region));
    if (!region)
        return false;
    if (side->region)
        memcpy(region, side->region, side->region_cap * sizeof(*region));
    roce_mem_put(&ctx->flow->mem, side->region, side->region_cap * sizeof(*region));
    side->region = region;
    side->region_cap = cap;
    return true;
}

void roce_count_region(struct roce_ctx *ctx, struct roce_endpoint *side, enum roce_oper oper,
                       uint32_t rkey, uint64_t va, uint64_t len)
{
    struct roce_counts *sum = &side->counts;
    struct roce_region *r;
    uint32_t i = 0;

    while (i < sum->region_cnt && side->region[i].rkey != rkey)
        i++;
    if (i == sum->region_cnt) {
        if (i == side->region_cap && !grow_regions(ctx, side)) {
            sum->region_more++;
            return;
        }
        sum->region_cnt++;
        side->region[i] = (struct roce_region){.rkey = rkey, .va_min = va, .va_end = va};
    }
    r = &side->region[i];
    r->opers |= (uint8_t)(1u << oper);
    r->requests++;
    if (va < r->va_min)
        r->va_min = va;
    if (va + len > r->va_end)
        r->va_end = va + len;
    if (oper == ROCE_OPER_READ)
        r->bytes_read += len;
    else
        r->bytes_written += len;
}

void roce_count_invalidation(struct roce_ctx *ctx, struct roce_endpoint *side, uint32_t rkey)
{
    for (uint32_t i = 0; i < side->counts.region_cnt; i++)
        if (side->region[i].rkey == rkey)
            side->region[i].invalidated_frame = ctx->frame;
}

/* Returns whether the earlier request `e` had the same operation as the refused request, and an
 * address range that contains the range of the refused request. */
static bool includes_request(const struct roce_sent_packet *e,
                             const struct roce_sent_packet *refused)
{
    return roce_opcode(e->op)->kind == roce_opcode(refused->op)->kind && e->va <= refused->va &&
           e->va + e->dma_len >= refused->va + refused->dma_len;
}

/* Maximum number of earlier requests in which roce_key_history() looks for the R_Key, to limit the
 * time. */
#define SEARCHED_MAX 256u

void roce_key_history(struct roce_endpoint *side, const struct roce_sent_packet *e,
                      struct roce_refusal *refusal)
{
    struct roce_window *w = &side->req.win;

    for (uint32_t i = 0; i < side->counts.region_cnt; i++)
        if (side->region[i].rkey == e->rkey)
            refusal->key_invalidated_frame = side->region[i].invalidated_frame;
    for (uint32_t i = roce_window_find(w, e->psn), searched = 0; i > 0 && searched < SEARCHED_MAX;
         i--, searched++) {
        const struct roce_sent_packet *before = roce_window_at(w, i - 1);

        if (before->rkey != e->rkey || before->msg_frame == e->msg_frame ||
            !roce_opcode_starts(roce_opcode(before->op)) ||
            roce_opcode(before->op)->kind == ROCE_KIND_SEND)
            continue;
        refusal->key_same =
            before->last_frame > refusal->key_invalidated_frame && includes_request(before, e);
        if (refusal->key_same || refusal->key_worked_frame == 0)
            refusal->key_worked_frame = before->last_frame;
        if (refusal->key_same)
            break;
    }
}
