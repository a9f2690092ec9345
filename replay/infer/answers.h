/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Answers: counts the responses to READs and atomics. A responder answers each copy of a READ or
 * atomic that it receives in order, or as a duplicate. So the number of responses shows how many
 * copies arrived. infer_loss.c calls these functions.
 */
#ifndef REPLAY_INFER_ANSWERS_H
#define REPLAY_INFER_ANSWERS_H

#include "infer/packet_log.h"

/* Returns whether response `i` is the first one to a copy of READ or atomic `e`. */
bool answers_begin(const struct inferred_setup *s, uint32_t i, const struct request_pkt *e);

/* Sequence NAK `nak` suggests that request copy `lost` was lost. `again` is the event of its
 * retransmission, or EVENT_NONE. If the copy was lost, the responder dropped all later requests up
 * to `again`. Returns whether responses to the request, and to most READs and atomics after it up
 * to `again`, were captured nevertheless. Then the copy was not lost: an earlier copy of a later
 * request overtook it, and caused the NAK. Adds the number of examined events to *effort. */
bool answers_show_arrival(const struct inferred_setup *s, uint32_t lost, uint32_t nak,
                          uint32_t again, uint64_t *effort);

#endif
