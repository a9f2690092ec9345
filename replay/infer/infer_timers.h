/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timers: the requester's local ACK timeout and its retry counts, as the connection manager set
 * them or as the requester shows them.
 *
 * The timeout is 4.096 us * 2^code, and a requester waits once to four times as long (9.7.6.1.3).
 * So each wait that was seen allows up to three codes; they are told by the waits of all. Only
 * waits after one that brought nothing are sure: where else the timer began is not on the wire
 * (Linux rxe lets it run while answers come). Without such the code is left at 14, 67 ms, unless a
 * wait was too long for that.
 */
#ifndef REPLAY_INFER_INFER_TIMERS_H
#define REPLAY_INFER_INFER_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct inferred_setup;

/* What the requester shows. */
struct inferred_timers {
    uint8_t timeout_min, timeout_max; /* codes that the waits allow; 0 if none was seen */
    uint32_t waits;                   /* seen */
    bool sure;                        /* ... after others that brought nothing */
    uint32_t retries;     /* most in a row, for any other reason than RNR: the count is not less */
    bool exhausted;       /* ... after which it gave up: the count is this */
    uint32_t rnr_retries; /* the same after RNR NAKs */
    bool rnr_exhausted;
};

/* Fills in setup->timers, and with what it and the connection manager say timeout, retry_cnt and
 * rnr_retry. The events are known. */
void infer_timers(struct inferred_setup *setup);

#endif
