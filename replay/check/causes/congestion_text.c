/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/causes/congestion_text.h"

#include <inttypes.h>

static uint64_t spread_mean(const struct roce_spread *s)
{
    return s->cnt ? s->sum / s->cnt : 0;
}

void congestion_text_cnps(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    if (side->cnp_gap_ns.cnt) {
        strbuf_addf(t, " ");
        strbuf_add_duration(t, spread_mean(&side->cnp_gap_ns));
        strbuf_addf(t, " apart (min ");
        strbuf_add_duration(t, side->cnp_gap_ns.min);
        strbuf_addf(t, ")");
    }
    if (side->cnp_delay_ns.cnt) {
        strbuf_addf(t, ", ");
        strbuf_add_duration(t, spread_mean(&side->cnp_delay_ns));
        strbuf_addf(t, " after a mark (max ");
        strbuf_add_duration(t, side->cnp_delay_ns.max);
        strbuf_addf(t, ")");
    }
}

void congestion_text_drop(struct strbuf *t, const struct roce_cnp_summary *cnp)
{
    strbuf_add_rate(t, (double)spread_mean(&cnp->before));
    strbuf_addf(t, " before, ");
    strbuf_add_rate(t, (double)spread_mean(&cnp->lowest));
    strbuf_addf(t, " at the lowest");
}

void congestion_text_rate(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    const struct roce_cnp_summary *c = &side->cnp;
    uint64_t slowed = c->before.cnt, back = c->recovery_ns.cnt;

    if (c->episodes == 0)
        return;
    strbuf_addf(t, "slowed by CNPs ");
    if (c->measured == 0) {
        strbuf_addf(t, "%" PRIu64 "×: the rate could not be measured", c->episodes);
        return;
    }
    strbuf_addf(t, "%" PRIu64 " of %" PRIu64 "×", slowed, c->measured);
    if (c->measured < c->episodes)
        strbuf_addf(t, " (%" PRIu64 " more not measured)", c->episodes - c->measured);
    if (slowed == 0)
        return;
    strbuf_addf(t, ": ");
    congestion_text_drop(t, c);
    if (back) {
        strbuf_addf(t, ", recovered after ");
        strbuf_add_duration(t, spread_mean(&c->recovery_ns));
        if (back > 1) {
            strbuf_addf(t, " (max ");
            strbuf_add_duration(t, c->recovery_ns.max);
            strbuf_addf(t, ")");
        }
    }
    if (back < slowed)
        strbuf_addf(t, ", %" PRIu64 " not recovered when the capture ended", slowed - back);
}
