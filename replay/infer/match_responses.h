/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match responses: pairs each READ response and Atomic ACK with its request. Runs after
 * infer_loss.h, which knows the requests that were executed before they were captured.
 */
#ifndef REPLAY_INFER_MATCH_RESPONSES_H
#define REPLAY_INFER_MATCH_RESPONSES_H

#include "infer/infer_setup.h"

/* Sets request_pkt.first_response, pkt_event.next_response and pkt_event.request. Returns false
 * without memory. */
bool match_responses(struct inferred_setup *setup);

#endif
