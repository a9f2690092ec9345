/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Wait causes: sentences about a requester that waited although no packet was lost: for the
 * connection setup, late responses, receive WQEs, or because of congestion. The table of
 * slow_causes.c lists them.
 */
#ifndef REPLAY_CHECK_CAUSES_WAIT_CAUSES_H
#define REPLAY_CHECK_CAUSES_WAIT_CAUSES_H

#include "check/causes/slow_direction.h"

extern const struct slow_cause slow_setup_late, slow_rtu_late;
extern const struct slow_cause slow_response_late; /* late responses, without retransmissions */
/* The requester retransmitted requests that the responder had received. */
extern const struct slow_cause slow_spurious;
extern const struct slow_cause slow_adaptive; /* adaptive retransmission */
/* Causes in the responder: no receive WQE, no credit, on-demand paging. */
extern const struct slow_cause slow_unready, slow_without_credit, slow_paged;
extern const struct slow_cause slow_congested;

#endif
