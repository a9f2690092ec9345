/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Requests of RC, XRC and UC: each packet is placed among those seen before. Private to flow/.
 */
#ifndef FLOW_REQUEST_H
#define FLOW_REQUEST_H

#include "flow/base/state.h"

/* Places the request packet at hand, and checks it. */
void roce_request(struct roce_ctx *ctx);

/* Fills the result for a request of `psn_cnt` PSNs that is in its place. */
void roce_request_result(struct roce_ctx *ctx, uint32_t psn_cnt);

/* Fills what a result says of `req`, which the packet at hand is of or answers. */
void roce_req_result(struct roce_ctx *ctx, const struct roce_req *req);

/* More may be in flight than ever before. */
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

#endif
