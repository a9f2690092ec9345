/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer setup: infers from the packets of a direction how both QPs must have been set up: first PSN
 * and MSN, path MTU, P_Key, permissions of QP and memory, and which receive WQEs were missing or
 * short.
 *
 *   0. sent_order.h            undoes the reordering between the sender and the capture point
 *   1. request_table.h         lists the requests by PSN, as a responder executes them
 *   2. infer_corruption.h      decides which damaged packets their receivers accepted
 *   3. infer_loss.h            decides which requests the responder never received or refused
 *   4. match_responses.h       pairs READ requests and atomics with their responses
 *   5. infer_timers.h          bounds the requester's ACK timeout and retry counts
 *
 * An altered response must not change the setup, so that the comparison reports this response. For
 * example, a NAK shows a missing permission only if its MSN fits and no later response contradicts
 * the NAK. The MSN before the first message is the smallest one on which two responses agree. A
 * single response decides this MSN only if no two agree.
 */
#ifndef REPLAY_INFER_INFER_SETUP_H
#define REPLAY_INFER_INFER_SETUP_H

#include "infer/packet_log.h"

struct shadow_memory;
struct shadow_region;

/* The end that our RNIC replaces. The packets of this end are in the order in which it sent them
 * (sent_order.h). */
enum replay_view { VIEW_OF_RESPONDER, VIEW_OF_REQUESTER };

/* Infers the setup of one direction, and extends the responder's memory regions by the accesses of
 * this direction. `read_before` is the sum of the `read_bytes` of the other directions that are
 * played. Returns 0, with setup->skip set if the direction cannot be replayed, or -1 if out of
 * memory. Call inferred_setup_free() in both cases. */
int infer_setup(struct inferred_setup *setup, const struct trace *trace,
                const struct recorded_direction *recorded, uint64_t read_before,
                enum replay_view view, struct shadow_memory *memory);
void inferred_setup_free(struct inferred_setup *setup);

/* Returns whether the accesses that the recorded responder accepted from the region include the
 * access of a request. If they do not, our RNIC refuses the request because of its range or the
 * permissions of the region. */
bool infer_setup_permits(const struct inferred_setup *setup, const struct request_pkt *request,
                         const struct shadow_region *region);

#endif
