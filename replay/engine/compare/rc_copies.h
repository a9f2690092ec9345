/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Copies: decides which MSNs a response may have if the requester sent several copies of its
 * request. The MSN of the response to the executed copy counts the messages up to this request. The
 * MSN of the response to a later copy counts all messages executed until that copy arrives. The
 * capture does not always show whether and when the later copy arrived.
 */
#ifndef REPLAY_ENGINE_COMPARE_RC_COPIES_H
#define REPLAY_ENGINE_COMPARE_RC_COPIES_H

#include "engine/compare/rc_compare_state.h"

/* Returns whether an ACK may have its MSN because it answers a duplicate request. The MSN of an ACK
 * of a duplicate counts all messages that the responder has executed. It may be lower than the MSN
 * of our RNIC, because a slow responder executes messages later. */
bool copies_allow_ack_msn(const struct response_cmp *cmp, uint32_t event);

/* Returns whether the captured packets allow the MSN of a READ response or Atomic ACK to one of
 * several copies. Three conditions must hold. The MSN counts the message of the request, and at
 * most the messages sent before the response. Other responses do not contradict the MSN. No more
 * responses than copies were captured. */
bool copies_allow_data_msn(const struct response_cmp *cmp, uint32_t event);

/* Returns whether the MSN of a response may be higher than `least`, because the responder executed
 * later requests before it sent the response. `least` is the MSN after the request that the
 * response answers. Linux rxe responds to each request before it executes the next one, so the
 * function returns false for rxe. */
bool later_requests_allow_msn(const struct response_cmp *cmp, uint32_t event, uint32_t least);

#endif
