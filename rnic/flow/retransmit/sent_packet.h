/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Sent packet: a request packet as an entry of the window of its direction. These functions fill an
 * entry, link it to its message and count it. request.c chooses the entry's position. Used only in
 * rnic/flow.
 */
#ifndef FLOW_RETRANSMIT_SENT_PACKET_H
#define FLOW_RETRANSMIT_SENT_PACKET_H

#include "flow/base/state.h"

/* Inserts a zeroed entry into the sender's window at index *at. If the window is full, drops the
 * oldest entry and subtracts 1 from *at. Returns the new entry, or NULL if memory is exhausted, or
 * if the window is full and *at is 0. */
struct roce_sent_packet *roce_sent_room(struct roce_ctx *ctx, uint32_t *at);

/* Fills a zeroed entry from the current packet. The packet has `psn_cnt` PSNs, or, if `guess` is
 * true, at least `psn_cnt`. */
void roce_sent_set(const struct roce_ctx *ctx, struct roce_sent_packet *e, uint32_t psn_cnt,
                   bool guess);

/* Sets the members of `e` that describe its message. If `e` continues the message of `prev`, copies
 * them from `prev`. `prev` is the entry directly before `e` in PSN order, or NULL if that packet
 * was not captured. */
void roce_sent_link_message(struct roce_req *req, const struct roce_sent_packet *prev,
                            struct roce_sent_packet *e);

/* Copies the members that describe the message from `prev` to `e`, the next packet of the message.
 */
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
    e->marks |= prev->marks & ROCE_MARK_UNTIMED;
}

/* Returns whether the first PSN of `e` directly follows the last PSN of `prev`. Returns false if
 * the number of PSNs of `prev` is a guess, or if `prev` is NULL. */
bool roce_sent_follows(const struct roce_sent_packet *prev, const struct roce_sent_packet *e);

/* Subtracts `e` from the packets and bytes in flight, unless that was done before. */
void roce_req_remove_in_flight(struct roce_req *req, struct roce_sent_packet *e);

/* Counts request packet `e` when it is captured for the first time. */
void roce_sent_count(struct roce_ctx *ctx, struct roce_sent_packet *e);

/* Sets the members of the result that describe the message of `e`, if the caller of
 * roce_flow_feed() passed a result. */
void roce_sent_result(struct roce_ctx *ctx, const struct roce_sent_packet *e);

/* Returns the number of captured payload bytes of a message, from its first packet to `e`. */
static inline uint64_t roce_req_message_bytes(const struct roce_req *req,
                                              const struct roce_sent_packet *e)
{
    return (e->flags & ROCE_SENT_OFF_KNOWN ? e->off : req->part) + (uint64_t)e->len;
}

#endif
