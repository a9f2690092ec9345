/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * READ stream: the READ responses of a responder, as one sequence of PSNs. It finds gaps in new and
 * in repeated data, and counts the data that the responder sent again. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_READ_STREAM_H
#define FLOW_RETRANSMIT_READ_STREAM_H

#include "flow/base/state.h"

/* Place of a READ response in the stream. */
struct roce_read_step {
    uint32_t expected; /* PSN that follows the previous READ response */
    uint32_t missing;  /* number of READ PSNs from `expected` to the one before the response */
    bool repeated;     /* a response with this PSN was captured before */
};

/* Adds the current READ response, which answers READ `e`, to the stream of its sender. */
struct roce_read_step roce_read_stream_step(struct roce_ctx *ctx, struct roce_req *req,
                                            const struct roce_sent_packet *e);

/* Returns the latest gap in the READ responses of `responder` that contains `psn`, or NULL. */
const struct roce_read_gap *roce_read_gap_at(const struct roce_endpoint *responder, uint32_t psn);

#endif
