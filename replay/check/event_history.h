/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * History of the last events of each connection, printed if the connection fails. An event is a run
 * of consecutive packets of one kind. The memory used is fixed: connections whose numbers are equal
 * modulo the number of slots share one slot. The slot contains the events of the connection whose
 * packet was added last.
 */
#ifndef REPLAY_CHECK_EVENT_HISTORY_H
#define REPLAY_CHECK_EVENT_HISTORY_H

#include "flow/flow.h"
#include "util/strbuf.h"

/* Events kept for each connection. This is enough for the last transmissions of a request and the
 * packets between them. */
#define HISTORY_EVENTS 8

struct history_event {
    uint32_t first_frame, last_frame, cnt;
    uint32_t first_psn, last_psn;
    uint32_t flags; /* enum roce_analysis of the last packet of the event */
    uint32_t msn, rkey, dma_len, payload;
    uint64_t time, last_time, va;
    /* Shortest and longest wait of the packets of the event, ns. For a retransmission, it is the
     * time since the previous transmission; for an RNR NAK, the wait that the NAK demands. */
    uint64_t wait_min, wait_max;
    uint8_t opcode, syndrome, side;
    uint8_t cause; /* enum roce_cause of the retransmission */
    bool has_key, bad_icrc;
};

struct event_history;

/* Returns a new history, or NULL if out of memory. */
struct event_history *event_history_new(void);
void event_history_del(struct event_history *history);

/* Returns whether the history is about to be full: `stream`, the number of a new connection, is at
 * least half the number of slots. A connection with a number above the number of slots replaces an
 * older connection in its slot. While the result is false, several threads may add packets of
 * different connections at the same time. */
bool event_history_is_full(uint32_t stream);

/* Adds a packet with the result of its analysis. */
void event_history_add(struct event_history *history, const struct roce_flow_in *in,
                       const struct roce_flow_result *result);

/* Copies the events of connection `stream` to `out`, oldest first, and returns their number. */
unsigned event_history_of(const struct event_history *history, uint32_t stream,
                          struct history_event out[HISTORY_EVENTS]);

/* Returns the latest of `cnt` events that consists of requests sent by `side` and includes the
 * request with `psn`. Returns NULL if there is none. */
const struct history_event *event_history_request(const struct history_event *events, unsigned cnt,
                                                  unsigned side, uint32_t psn);

/* Appends one event as text, without frame numbers and times. */
void history_event_text(struct strbuf *t, const struct history_event *event);

#endif
