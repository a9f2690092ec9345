/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Strict: compares the recorded packets of an end with the packets of our RNIC, one by one and in
 * order. Unlike the other comparisons, also requires equal AckReq bits and an equal coalescing of
 * ACKs. Use it only for captures of our own RNIC: where the specification allows several
 * behaviours, other devices may differ. Credits are not compared, because packets do not show the
 * number of posted receive WQEs.
 */
#ifndef REPLAY_ENGINE_COMPARE_STRICT_COMPARE_H
#define REPLAY_ENGINE_COMPARE_STRICT_COMPARE_H

#include "engine/compare/rc_compare_requests.h"
#include "engine/compare/rc_compare_responses.h"

/* Compare all responders, or all requesters. For each one, add a difference for the first packet
 * that differs. Returns 0, or -1 if out of memory. */
int strict_compare_responses(struct response_comparison *all);
int strict_compare_requests(struct request_comparison *all);

#endif
