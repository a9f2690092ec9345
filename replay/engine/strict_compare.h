/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Strict: packet by packet, what the capture recorded of an end against what our RNIC sent in its
 * place, in order, AckReq bits and coalescing of acknowledgements included. For captures of our own
 * RNIC: of another's, what the specification leaves free differs. Credits are not compared: how
 * many receive WQEs there were is not on the wire.
 */
#ifndef REPLAY_ENGINE_STRICT_COMPARE_H
#define REPLAY_ENGINE_STRICT_COMPARE_H

#include "engine/rc_compare_responses.h"
#include "engine/rc_compare_requests.h"

/* Adds the first packet that is not the same to the differences of each responder or requester.
 * Returns 0, or -1 without memory. */
int strict_compare_responses(struct response_comparison *all);
int strict_compare_requests(struct request_comparison *all);

#endif
