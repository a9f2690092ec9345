/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Order: decides whether the order in which the responder sent its responses proves one of them
 * wrong. The IPv4 identifications show this order.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_ORDER_H
#define REPLAY_ENGINE_REASONS_RC_ORDER_H

#include "infer/packet_log.h"

/* Returns whether the capture contains the last request that a response shows as executed. */
bool order_shows_captured(const struct inferred_setup *s, uint32_t event);

/* Returns whether another response proves this response wrong. The MSN of a responder and the PSN
 * of its ACKs never decrease. A sequence NAK has the expected PSN, so no earlier response may show
 * this or a later request as executed. The responses to one READ follow each other. The first
 * response after the execution of a READ or atomic is the response to it. */
bool contradicts_order(const struct inferred_setup *s, uint32_t event);

/* Returns whether a response is a fatal NAK, and the responder sent another response afterwards.
 * This is impossible, because a fatal NAK stops the QP. */
bool precedes_response(const struct inferred_setup *s, uint32_t event);

#endif
