/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/any_order.h"

#include "flow/base/counters.h"

/* A receiver is assumed to accept requests in any order only if it accepted at least this number of
 * early requests. A request is early if it was captured before a request with an earlier PSN and
 * was acknowledged without a retransmission. The number is greater than 1, because the capture
 * point may have reordered a few packets. */
#define ACCEPTED_MIN 4u
/* A sequence NAK or a go-back is evidence that a receiver needs packets in order. An endpoint is
 * assumed to accept packets in any order only after enough counter-evidence. A responder must have
 * accepted this number of early requests for each sequence NAK that it sent. A requester must have
 * accepted this number of READs with out-of-order responses for each of its go-backs. */
#define ACCEPTED_PER_GO_BACK 4u
/* A sender that changed back to an earlier UDP source port at least this number of times is assumed
 * to use several paths. */
#define PATHS_MIN 4u

static uint64_t read_go_backs(const struct roce_cold_counters *requester)
{
    return requester->retx[ROCE_CAUSE_READ_GAP].go_backs +
           requester->retx[ROCE_CAUSE_IMPLIED_NAK].go_backs +
           requester->retx[ROCE_CAUSE_TIMEOUT].go_backs;
}

bool roce_requests_in_any_order(const struct roce_flow *flow, const struct roce_endpoint *requester)
{
    uint64_t accepted = roce_cold_of(requester)->accepted_early;

    return flow->opts.any_order ||
           (accepted >= ACCEPTED_MIN &&
            accepted >= roce_cold_of(roce_peer(requester))->psn_naks * ACCEPTED_PER_GO_BACK);
}

bool roce_responses_in_any_order(const struct roce_flow *flow,
                                 const struct roce_endpoint *responder)
{
    const struct roce_cold_counters *requester = roce_cold_of(roce_peer(responder));

    return flow->opts.any_order ||
           (requester->accepted_reads > 0 &&
            requester->accepted_reads >= read_go_backs(requester) * ACCEPTED_PER_GO_BACK);
}

void roce_note_accepted(struct roce_ctx *ctx, struct roce_req *req,
                        const struct roce_sent_packet *e)
{
    if (e->frame > req->acked_frame)
        req->acked_frame = e->frame;
    else if (e->tries == 1)
        roce_cold(ctx->flow, roce_peer(ctx->sender))->accepted_early++;
}

bool roce_note_port(struct roce_ctx *ctx, uint16_t port)
{
    struct roce_cold_counters *cold = roce_cold(ctx->flow, ctx->sender);

    if (cold->port_cnt == 0) {
        cold->port[cold->port_cnt++] = ctx->sender->sport;
        cold->port_frame = ctx->frame;
        cold->port_time = ctx->time;
    }
    for (unsigned i = 0; i < cold->port_cnt; i++)
        if (cold->port[i] == port) {
            cold->port_returns++;
            return false;
        }
    if (cold->port_cnt < ROCE_PORTS_MAX)
        cold->port[cold->port_cnt++] = port;
    return cold->port_returns < PATHS_MIN;
}

static bool is_any_order(const struct roce_flow *flow, const struct roce_endpoint *side)
{
    return roce_requests_in_any_order(flow, side) || roce_responses_in_any_order(flow, side);
}

bool roce_ports_are_paths(const struct roce_flow *flow, const struct roce_endpoint *side)
{
    return is_any_order(flow, side) || is_any_order(flow, roce_peer(side)) ||
           (roce_cold_of(side)->port_returns >= PATHS_MIN &&
            roce_cold_of(roce_peer(side))->psn_naks == 0 &&
            read_go_backs(roce_cold_of(roce_peer(side))) == 0);
}
