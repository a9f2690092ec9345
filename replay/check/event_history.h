/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Story: the last events of each connection, to be told in words when it turns out that it failed.
 * Packets of one kind in a row are one event. Memory is fixed: a connection shares its place with
 * those whose numbers are equal modulo the number of places, and the latest has it.
 */
#ifndef REPLAY_CHECK_EVENT_HISTORY_H
#define REPLAY_CHECK_EVENT_HISTORY_H

#include "flow/flow.h"
#include "util/strbuf.h"

#define HISTORY_EVENTS 8 /* the last transmissions of a request and what came between */

struct history_event {
    uint32_t first_frame, last_frame, cnt;
    uint32_t first_psn, last_psn;
    uint32_t flags; /* enum roce_analysis, of the last packet */
    uint32_t msn, rkey, dma_len, payload;
    uint64_t time, last_time, va;
    uint64_t wait; /* retransmission: since the latest transmission; RNR NAK: advertised */
    uint8_t opcode, syndrome, side;
    uint8_t cause; /* enum roce_cause */
    bool has_key, bad_icrc;
};

struct event_history;

struct event_history *event_history_new(void); /* NULL without memory */
void event_history_del(struct event_history *history);

/* Looks at a frame that the observer was fed. */
void event_history_add(struct event_history *history, const struct roce_flow_in *in,
                       const struct roce_flow_result *result);

/* The events of connection `stream`, oldest first, into `out`; how many. */
unsigned event_history_of(const struct event_history *history, uint32_t stream,
                          struct history_event out[HISTORY_EVENTS]);

/* The latest of `cnt` events with requests of that side in which the PSN is, or NULL. */
const struct history_event *event_history_request(const struct history_event *events, unsigned cnt,
                                                  unsigned side, uint32_t psn);

/* One event in words, without frame numbers and times. */
void history_event_text(struct strbuf *t, const struct history_event *event);

#endif
