/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Entry: a request packet as one of its direction's window: what is remembered of it, what it
 * inherits from the packet before it, and what it adds to the counts. Where it belongs is found out
 * in request.c. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_SENT_PACKET_H
#define FLOW_RETRANSMIT_SENT_PACKET_H

#include "flow/base/state.h"

/* Room for an entry of the sender's window at `*at`, zeroed; NULL without memory. Where it is then
 * stands in *at. */
struct roce_sent_packet *roce_sent_room(struct roce_ctx *ctx, uint32_t *at);

/* The packet at hand as an entry of `psn_cnt` PSNs, or with `guess` of so many at least. Into a
 * zeroed one: large ones that are just written are slow to copy. */
void roce_sent_set(const struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn_cnt,
                   bool guess);

/* What `e` inherits from the packet before it in PSN order, if that was seen. */
void roce_sent_link_message(struct roce_req *req, const struct roce_sent_packet *prev,
                            struct roce_sent_packet *e);

/* What a message hands on from the packet `prev` to `e`, the next of it. */
static inline void roce_sent_continue_message(const struct roce_sent_packet *prev,
                                              struct roce_sent_packet *e)
{
    e->msg_time = prev->msg_time;
    e->va = prev->va;
    e->msg_frame = prev->msg_frame;
    e->rkey = prev->rkey;
    e->dma_len = prev->dma_len;
    e->off = prev->off + prev->len;
    e->flags |= prev->flags & ROCE_SENT_OFF_KNOWN;
}

/* Whether `prev`, which may be NULL, is known to end where `e` begins. */
bool roce_sent_follows(const struct roce_sent_packet *prev, const struct roce_sent_packet *e);

/* Adds `e` to what is in flight, and removes it; each at most once. */
void roce_req_add_in_flight(struct roce_req *req, struct roce_sent_packet *e);
void roce_req_remove_in_flight(struct roce_req *req, struct roce_sent_packet *e);

/* Counts a packet that is seen for the first time. */
void roce_sent_count(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* Says of which message it is, if somebody looks at the result. */
void roce_sent_result(struct roce_ctx *ctx, const struct roce_sent_packet *e);

#endif
