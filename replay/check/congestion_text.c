/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/congestion_text.h"

#include <inttypes.h>

static uint64_t spread_mean(const struct roce_spread *s)
{
    return s->cnt ? s->sum / s->cnt : 0;
}

static void add_rate(struct text *t, uint64_t rate)
{
    text_add_bytes(t, (double)rate);
    text_add(t, "/s");
}

void congestion_text_cnps(struct text *t, const struct roce_endpoint_summary *side)
{
    if (side->cnp_gap_ns.cnt) {
        text_add(t, " ");
        text_add_time(t, spread_mean(&side->cnp_gap_ns));
        text_add(t, " apart (min ");
        text_add_time(t, side->cnp_gap_ns.min);
        text_add(t, ")");
    }
    if (side->cnp_delay_ns.cnt) {
        text_add(t, ", ");
        text_add_time(t, spread_mean(&side->cnp_delay_ns));
        text_add(t, " after a mark (max ");
        text_add_time(t, side->cnp_delay_ns.max);
        text_add(t, ")");
    }
}

void congestion_text_rate(struct text *t, const struct roce_endpoint_summary *side)
{
    const struct roce_cnp_summary *c = &side->cnp;
    uint64_t slowed = c->before.cnt, back = c->recovery_ns.cnt;

    if (c->episodes == 0)
        return;
    text_add(t, "slowed by CNPs ");
    if (c->measured == 0) {
        text_add(t, "%" PRIu64 "×: the rate is not known", c->episodes);
        return;
    }
    text_add(t, "%" PRIu64 " of %" PRIu64 "×", slowed, c->measured);
    if (c->measured < c->episodes)
        text_add(t, " (%" PRIu64 " more not measured)", c->episodes - c->measured);
    if (slowed == 0)
        return;
    text_add(t, ": ");
    add_rate(t, spread_mean(&c->before));
    text_add(t, " before, ");
    add_rate(t, spread_mean(&c->lowest));
    text_add(t, " at the lowest");
    if (back) {
        text_add(t, ", back after ");
        text_add_time(t, spread_mean(&c->recovery_ns));
        if (back > 1) {
            text_add(t, " (max ");
            text_add_time(t, c->recovery_ns.max);
            text_add(t, ")");
        }
    }
    if (back < slowed)
        text_add(t, ", %" PRIu64 " not seen to recover", slowed - back);
}
