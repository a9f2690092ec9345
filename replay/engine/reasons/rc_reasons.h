/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Reasons: decides whether something other than a wrong recorded device explains a difference.
 * compare/rc_classify.c calls these functions for each recorded response that differs from ours, in
 * this order, with the response as a struct response_case (rc_response_case.h):
 *
 *   1. peer_quirk_of_response() finds a known deviation of the peer           peer_quirks.h
 *   2. never_inconclusive()     finds packets that prove the response wrong   rc_contradiction.h
 *   3. inconclusive_reason()    finds the reason why it is inconclusive       rc_inconclusive.h
 *
 * compare/rc_compare_responses.c calls rc_execution_find() (rc_execution.h) for a whole direction.
 * This function decides whether another order of arrival of the requests explains all responses.
 *
 * Requests and messages of UC have only known deviations. The folder owns no objects.
 * peer_quirks_fix_icrcs() and rc_execution_find() return -1 if memory runs out.
 *
 * This header declares tables of reasons why a difference of a response is inconclusive. Each table
 * has one row for each reason, and rc_inconclusive.c searches the tables in this order. A row
 * without a callback ends a table.
 */
#ifndef REPLAY_ENGINE_REASONS_RC_REASONS_H
#define REPLAY_ENGINE_REASONS_RC_REASONS_H

#include "engine/base/field_diff.h"
#include "engine/reasons/rc_response_case.h"

struct inconclusive_rule {
    bool (*fits)(const struct response_case *c);
    bool lacks; /* true: the capture lacks packets, and these packets may also explain other
                 * differences of the direction */
    const char *text;
};

/* rc_reasons_missing.c: the capture lacks a particular packet. */
extern const struct inconclusive_rule reasons_missing[];
/* rc_reasons_order.c: the network reordered or lost packets after they passed the capture point. */
extern const struct inconclusive_rule reasons_order[];
/* rc_reasons_program.c: the responder's program or another connection changed the memory. */
extern const struct inconclusive_rule reasons_program[];

/* The reason if the capture does not show which copy of a request arrived. */
extern const char inconclusive_copies[];

/* The reason if the capture does not show which requests arrived, and in which order. */
extern const char inconclusive_arrivals[];

/* The reason: an earlier connection used the same QPs, and its late requests may have arrived in
 * this connection. */
extern const char inconclusive_stale[];

/* The reason if only this Atomic ACK suggests a QP reuse. Instead, the responder may have executed
 * the atomic twice. */
extern const char inconclusive_twice[];

/* Returns whether the differences `d` of a response are possible because the responder executed
 * late requests of an earlier connection with the same QPs. This is impossible after a response
 * that equals ours, because our RNIC executes only the requests of this connection. */
bool may_answer_stale(const struct response_case *c, const struct field_diffs *d);

/* Returns whether a response may answer a request that was not captured. The PSN of such a request
 * is after `high`, the last captured one, or in a gap before `high`. Examples are a NAK of the next
 * message, and an ACK whose MSN and PSN count more messages than were captured. */
bool answers_uncaptured_request(const struct inferred_setup *s, uint32_t event, int64_t high);

/* Returns whether the responder may send an ACK with the PSN of a READ or atomic. There are two
 * reasons: the ACK answers a duplicate of an earlier SEND or WRITE (R109), which the network may
 * have made after the capture point; or the responder repeats its newest ACK to announce credits
 * (9.7.7.2), which rxe never does. */
bool may_ack_data(const struct response_case *c);

/* Returns whether a NAK refuses the retransmission of a READ or atomic that the responder had
 * executed. The responder's program may have deregistered the region after the execution. */
bool refuses_repeated(const struct response_case *c);

/* Returns whether two earlier requests had one PSN, but different opcodes. The capture does not
 * show which of them the responder executed. So its responses from this PSN on are unknown. */
bool follows_other_request(const struct response_case *c);

#endif
