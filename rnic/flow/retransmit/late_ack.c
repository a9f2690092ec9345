/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/retransmit/late_ack.h"

#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "flow/retransmit/spurious.h"

/* Lowest number of go-backs that began because an ACK came late. Fewer may be a coincidence, and do
 * not count as spurious. */
#define LATE_MIN 3u
/* Go-backs count as spurious only if at least 1/MANY of the requester's packets are retransmissions
 * after timeouts. A path does not lose that many ACKs, so the ACKs were late. */
#define MANY 4u

bool roce_late_ack_covers(const struct roce_ctx *ctx, const struct roce_sent_packet *e,
                          uint32_t psn)
{
    const struct roce_req *req = &ctx->sender->req;

    return e && ctx->conn->paired && req->una_known && roce_diff(psn, req->una) < 0 &&
           !roce_opcode_is_answered(roce_opcode(e->op));
}

void roce_late_ack_watch(struct roce_ctx *ctx, const struct roce_sent_packet *e, uint32_t psn,
                         uint64_t stalled, uint64_t waited)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    const struct roce_retx_summary *sum = &cold->retx[ROCE_CAUSE_TIMEOUT];
    uint64_t idle = roce_since(req->last_time, ctx->time);
    uint64_t answered =
        UINT64_C(1000) * (uint32_t)(roce_us(ctx->time) - roce_peer(ctx->sender)->rsp.last_us);

    req->late_ack = roce_late_ack_covers(ctx, e, psn) && answered <= idle;
    if (req->late_ack)
        cold->late_acks.now = (struct roce_late_ack){.frame = ctx->frame,
                                                     .sent = e->time,
                                                     .wait = idle,
                                                     .time = ctx->time,
                                                     .before = {.packets = sum->packets,
                                                                .bytes = sum->bytes,
                                                                .stalled_ns = stalled,
                                                                .waited_ns = waited}};
}

/* Counts the go-back that has just ended, which began because an ACK came late. */
static void add_late(struct roce_late_acks *late, const struct roce_retx_summary *sum)
{
    late->sum.go_backs++;
    late->sum.packets += sum->packets - late->now.before.packets;
    late->sum.bytes += sum->bytes - late->now.before.bytes;
    late->sum.stalled_ns += late->now.before.stalled_ns;
    late->sum.waited_ns += late->now.before.waited_ns;
}

void roce_late_ack_request(struct roce_ctx *ctx)
{
    struct roce_req *req = &ctx->sender->req;
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);
    struct roce_late_acks *late = &cold->late_acks;
    uint64_t again =
        cold->retx[ROCE_CAUSE_TIMEOUT].packets + cold->retx[ROCE_CAUSE_SPURIOUS].packets;

    req->late_ack = false;
    if (req->retx.frame != late->now.frame || req->retx.next != req->nxt ||
        req->retx.cause != ROCE_CAUSE_TIMEOUT ||
        roce_since(req->last_time, ctx->time) > late->now.wait / 2)
        return;
    add_late(late, &cold->retx[ROCE_CAUSE_TIMEOUT]);
    late->cnt++;
    if (late->cnt < LATE_MIN || again * MANY < ctx->sender->counts.packets)
        return;
    roce_spurious_move(cold, &late->sum, roce_since(late->now.sent, ctx->time));
    cold->timeout_losses.acked -= late->sum.go_backs;
    late->sum = (struct roce_retx_summary){0};
    REPORT(ctx, SPURIOUS_TIMEOUT, "time since the request",
           roce_since(late->now.sent, late->now.time), roce_since(late->now.sent, ctx->time),
           late->now.frame, ROCE_VALUE_NS, ROCE_REL_AT_MOST);
}
