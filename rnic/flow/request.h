/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requests of RC, XRC and UC: each packet is compared with the sender's earlier packets. Used only
 * in rnic/flow.
 */
#ifndef FLOW_REQUEST_H
#define FLOW_REQUEST_H

#include "flow/base/state.h"

/* Inserts the current request packet into the window of its sender, and checks it. */
void roce_request(struct roce_ctx *ctx);

/* Fills the result for a new request with the next expected PSN. The request has `psn_cnt` PSNs. */
void roce_request_result(struct roce_ctx *ctx, uint32_t psn_cnt);

/* Stores the packets, READs and bytes in flight of requester `req` in the result. The current
 * packet is a request of `req` or a response to `req`. */
void roce_req_result(struct roce_ctx *ctx, const struct roce_req *req);

/* Raises the maximum numbers of PSNs, READs and bytes in flight if more are in flight than ever
 * before. */
static inline void roce_req_update_max(struct roce_counts *sum, const struct roce_req *req)
{
    int32_t psns = roce_diff(req->nxt, req->una);

    if (!req->una_known)
        return;
    if (psns > 0 && (uint32_t)psns > sum->max_psns_in_flight)
        sum->max_psns_in_flight = (uint32_t)psns;
    if (req->bytes_in_flight > sum->max_bytes_in_flight)
        sum->max_bytes_in_flight = req->bytes_in_flight;
    if (req->reads_in_flight > sum->max_reads_in_flight)
        sum->max_reads_in_flight = req->reads_in_flight;
}

/* Counts the time since the previous packet of the connection as idle time of the requester, if all
 * its requests were acknowledged. Called before the current new request is stored. */
static inline void roce_count_idle(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    uint64_t ns;

    if (!side->req.una_known || roce_diff(side->req.una, side->req.nxt) < 0)
        return;
    ns = ctx->silent_ns + side->counts.idle_rest_ns;
    if (ns / 1000 > UINT32_MAX - side->idle_us)
        return;
    side->idle_us += (uint32_t)(ns / 1000);
    side->counts.idle_rest_ns = (uint16_t)(ns % 1000);
}

#endif
