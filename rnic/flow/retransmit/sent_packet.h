/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sent packet: a request packet as an entry of the window of its direction. These functions fill an
 * entry, link it to its message and count it. request.c chooses the entry's position. Private to
 * flow/.
 */
#ifndef FLOW_RETRANSMIT_SENT_PACKET_H
#define FLOW_RETRANSMIT_SENT_PACKET_H

#include "flow/base/state.h"

/* Inserts a zeroed entry into the sender's window at *at and sets *at to its index. Returns the
 * entry, or NULL if out of memory. */
struct roce_sent_packet *roce_sent_room(struct roce_ctx *ctx, uint32_t *at);

/* Fills a zeroed entry from the current packet. The packet has `psn_cnt` PSNs; if `guess`, at least
 * `psn_cnt`. */
void roce_sent_set(const struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn_cnt,
                   bool guess);

/* Links `e` to the previous packet in PSN order, if that packet was captured. */
void roce_sent_link_message(struct roce_req *req, const struct roce_sent_packet *prev,
                            struct roce_sent_packet *e);

/* Copies the message members of `prev` to `e`, the next packet of the message. */
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

/* Returns whether `prev` is known to end directly before `e`. `prev` may be NULL. */
bool roce_sent_follows(const struct roce_sent_packet *prev, const struct roce_sent_packet *e);

/* Removes `e` from the packets in flight; a repeated call has no effect. */
void roce_req_remove_in_flight(struct roce_req *req, struct roce_sent_packet *e);

/* Counts a request packet at its first capture. */
void roce_sent_count(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* Fills the message members of the result from `e`, if the caller of roce_flow_feed() wants a
 * result. */
void roce_sent_result(struct roce_ctx *ctx, const struct roce_sent_packet *e);

#endif
