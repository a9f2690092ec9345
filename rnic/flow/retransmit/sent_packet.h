/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sent packet: a request packet as an entry of its direction's window. These functions fill an
 * entry, link it to its message and count it; request.c decides where it belongs. Private to flow/.
 */
#ifndef FLOW_RETRANSMIT_SENT_PACKET_H
#define FLOW_RETRANSMIT_SENT_PACKET_H

#include "flow/base/state.h"

/* Makes room for an entry of the sender's window at *at, and returns it zeroed, or NULL without
 * memory. Sets *at to its index. */
struct roce_sent_packet *roce_sent_room(struct roce_ctx *ctx, uint32_t *at);

/* Fills a zeroed entry from the packet at hand, with `psn_cnt` PSNs, or with `guess` at least that
 * many. */
void roce_sent_set(const struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn_cnt,
                   bool guess);

/* Links `e` to the packet before it in PSN order, if that was captured. */
void roce_sent_link_message(struct roce_req *req, const struct roce_sent_packet *prev,
                            struct roce_sent_packet *e);

/* Copies the members of the message from `prev` to `e`, its next packet. */
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

/* Returns whether `prev`, which may be NULL, is known to end where `e` begins. */
bool roce_sent_follows(const struct roce_sent_packet *prev, const struct roce_sent_packet *e);

/* Adds `e` to what is in flight, or removes it; each at most once. */
void roce_req_add_in_flight(struct roce_req *req, struct roce_sent_packet *e);
void roce_req_remove_in_flight(struct roce_req *req, struct roce_sent_packet *e);

/* Counts a packet that is captured for the first time. */
void roce_sent_count(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* Fills the result with the message of `e`, if the caller wants a result. */
void roce_sent_result(struct roce_ctx *ctx, const struct roce_sent_packet *e);

#endif
