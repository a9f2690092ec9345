/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match responses: pairs each READ response and Atomic ACK with its request. Call after
 * infer_loss(), which finds the requests that were executed before their capture.
 */
#ifndef REPLAY_INFER_MATCH_RESPONSES_H
#define REPLAY_INFER_MATCH_RESPONSES_H

#include "infer/infer_setup.h"

/* Sets request_pkt.first_response, pkt_event.next_response and pkt_event.request. Returns false
 * if out of memory. */
bool match_responses(struct inferred_setup *setup);

#endif
