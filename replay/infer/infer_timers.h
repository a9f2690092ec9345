/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer timers: the requester's local ACK timeout and retry counts, from the CM messages or from
 * its retransmissions.
 *
 * The timeout is 4.096 us * 2^code, and a requester waits one to four times as long (9.7.6.1.3). So
 * one measured wait allows up to three codes; all waits together allow fewer.
 *
 * The start of a wait is certain only if the wait follows another timeout. In all other cases the
 * capture does not show when the timer started: Linux rxe, for example, does not restart its timer
 * when responses arrive. If no wait has a certain start, the code is 14 (67 ms), unless a wait was
 * too long for code 14.
 */
#ifndef REPLAY_INFER_INFER_TIMERS_H
#define REPLAY_INFER_INFER_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct inferred_setup;

/* Timeout codes and retry counts that a requester's retransmissions show. */
struct inferred_timers {
    uint8_t timeout_min, timeout_max; /* smallest and largest timeout code that all waits allow; 0
                                       * without a wait */
    uint32_t waits;                   /* number of measured waits */
    bool sure;        /* timeout_min and timeout_max are from waits that directly followed another
                       * timeout, because the start of only these waits is certain */
    uint32_t retries; /* largest number of consecutive retries that no RNR NAK caused: lower
                       * bound of the retry count */
    uint32_t beyond;  /* index into setup.event of the first retry beyond the largest retry count,
                       * or EVENT_NONE */
    bool endless;     /* without progress, the requester went back to an earlier PSN more often, for
                       * any reason, than the largest retry count allows */
    bool exhausted;   /* the requester gave up after `retries` retries, so `retries` is its retry
                       * count */
    uint32_t rnr_retries; /* largest number of consecutive retries after RNR NAKs: lower bound of
                           * the RNR retry count */
    bool rnr_exhausted;
};

/* Sets setup->timers, timeout, retry_cnt and rnr_retry. Call after setup->event and setup->req were
 * set. */
void infer_timers(struct inferred_setup *setup);

#endif
