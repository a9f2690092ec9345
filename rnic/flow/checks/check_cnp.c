/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Congestion: CE marks, the CNPs that answer them, and the format of a CNP (Annex A17.9.3). */
#include "flow/checks/check_cnp.h"

#include "flow/base/counters.h"
#include "flow/base/rate.h"
#include "flow/base/report.h"

#define ECN_CE 3
/* if the time between two CNPs is at least this long (ns), the second one belongs to another
 * congestion episode */
#define GAP_MAX_NS UINT64_C(10000000)

static void check_form(struct roce_ctx *ctx)
{
    const struct roce_bth *bth = &ctx->pkt->bth;

    if (bth->psn)
        REPORT_ONCE(ctx, CNP_FORM, "bth.psn", 0, bth->psn);
    if (bth->se)
        REPORT_ONCE(ctx, CNP_FORM, "bth.se", 0, bth->se);
    if (bth->padcnt)
        REPORT_ONCE(ctx, CNP_FORM, "bth.padcnt", 0, bth->padcnt);
    if (!bth->becn)
        REPORT_ONCE(ctx, CNP_FORM, "bth.becn", 1, bth->becn);
    if (!roce_pkt_has(ctx->pkt, ROCE_HDR_CNP))
        return;
    for (unsigned i = 0; i < sizeof(ctx->pkt->cnp.resv); i++)
        if (ctx->pkt->cnp.resv[i]) {
            REPORT_ONCE(ctx, CNP_FORM, "cnp.resv", 0, ctx->pkt->cnp.resv[i]);
            break;
        }
}

/* Missing CNPs are reported only if the endpoint sent at least CE_MIN CE-marked packets with
 * payload, and the capture ends at least CE_MIN_NS (ns) after the first of them. A CNP may be late
 * because devices limit the rate of CNPs of all QPs of a port (R219). */
#define CE_MIN    2u
#define CE_MIN_NS UINT64_C(1000000)

void roce_check_cnp_end(struct roce_ctx *ctx)
{
    const struct roce_endpoint *side = ctx->sender, *peer = roce_peer(side);
    struct roce_cold_counters *sum = side->counts.cold;
    struct roce_ctx then = *ctx;

    if (!sum || sum->ce_data < CE_MIN || ctx->conn->ud || !ctx->conn->paired ||
        peer->counts.packets == 0 || roce_cold_of(peer)->cnps ||
        roce_since(sum->ce_data_time, ctx->flow->last_time) < CE_MIN_NS)
        return;
    sum->ce_unanswered = sum->ce_data;
    then.frame = sum->ce_data_frame;
    then.time = sum->ce_data_time;
    REPORT(&then, CE_NO_CNP, "CE-marked packets", .actual = sum->ce_data, .value = ROCE_VALUE_NONE);
}

void roce_check_cnp(struct roce_ctx *ctx)
{
    struct roce_cold_counters *sum;
    struct roce_cold_counters *marked =
        roce_peer(ctx->sender)->counts.cold; /* counters of the endpoint that receives the CNP; NULL
                                              * if none of its packets were CE-marked */

    if (ctx->pkt->op->kind == ROCE_KIND_CNP) {
        sum = roce_cold(ctx->flow, ctx->sender);
        if (sum->cnps++ && ctx->time > sum->cnp_time) {
            uint64_t gap = ctx->time - sum->cnp_time;

            if (sum->cnp_gap_min_ns == 0 || gap < sum->cnp_gap_min_ns)
                sum->cnp_gap_min_ns = gap;
            if (gap < GAP_MAX_NS)
                roce_spread_add(&sum->cnp_gap_ns, gap);
        }
        sum->cnp_time = ctx->time;
        sum->cnps_unasked += ctx->conn->paired && !(marked && marked->ce_frame);
        ctx->result->flags |= ROCE_AN_CNP;
        if (marked && marked->ce_frame) {
            ctx->result->ce_frame = marked->ce_frame;
            ctx->result->cnp_delay = roce_since(marked->ce_time, ctx->time);
            roce_spread_add(&sum->cnp_delay_ns, ctx->result->cnp_delay);
            roce_report_link(ctx, ROCE_LINK_CNP_IN, marked->ce_frame);
            marked->ce_frame = 0;
        }
        if (ctx->conn->paired && !ctx->conn->ud)
            roce_rate_cnp(ctx, roce_peer(ctx->sender));
        REPORT(ctx, CNP, "bth.opcode", .value = ROCE_VALUE_NONE, .other = ctx->result->ce_frame);
        check_form(ctx);
        return;
    }
    if (ctx->digest->ecn != ECN_CE && !ctx->pkt->bth.fecn && !ctx->pkt->bth.becn)
        return;
    sum = roce_cold(ctx->flow, ctx->sender);
    sum->fecn += ctx->pkt->bth.fecn;
    sum->becn += ctx->pkt->bth.becn;
    if (ctx->digest->ecn != ECN_CE)
        return;
    sum->ce_marked++;
    if (ctx->pkt->payload_len && sum->ce_data++ == 0) {
        sum->ce_data_time = ctx->time;
        sum->ce_data_frame = ctx->frame;
    }
    ctx->result->flags |= ROCE_AN_CE;
    sum->ce_frame = ctx->frame;
    sum->ce_time = ctx->time;
    REPORT_ONCE(ctx, CE_MARK, "ip.ecn", .actual = ECN_CE, .value = ROCE_VALUE_NONE);
}
