/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * READ stream: all READ responses of a responder, as one sequence of PSNs. Finds the gaps in this
 * sequence, and counts the responses that were sent again. Used only in rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_READ_STREAM_H
#define FLOW_RETRANSMIT_READ_STREAM_H

#include "flow/base/state.h"

/* Result of roce_read_stream_step(): how a READ response continues the READ responses before it. */
struct roce_read_step {
    uint32_t expected; /* PSN that follows the previous READ response */
    uint32_t missing;  /* number of READ PSNs that are missing between the previous READ response
                        * and this one */
    bool repeated;     /* a response with this PSN was captured before */
    bool late;         /* the responder sent this response before an earlier captured one, as the
                        * IPv4 identifications show */
};

/* Records the current READ response, which answers READ `e` of `req`. Returns how it continues the
 * earlier READ responses of its sender. */
struct roce_read_step roce_read_stream_step(struct roce_ctx *ctx, struct roce_req *req,
                                            const struct roce_sent_packet *e);

/* Returns the latest recorded gap in the READ responses of `responder` in which `psn` is missing,
 * or NULL. */
const struct roce_read_gap *roce_read_gap_at(const struct roce_endpoint *responder, uint32_t psn);

/* Returns how many of the PSNs from `from` to `to` - 1 belong to request packet `e`. */
uint32_t roce_sent_part(const struct roce_sent_packet *e, uint32_t from, uint32_t to);

#endif
