/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Infer timers: the requester's local ACK timeout and retry counts, from the CM messages or from
 * its retransmissions.
 *
 * The timeout is 4.096 us * 2^code, and a requester waits one to four times as long (9.7.6.1.3). So
 * each measured wait allows up to three codes, and all waits together leave fewer. Only a wait that
 * follows another timeout is certain. The start of other waits is not visible: Linux rxe, for
 * example, does not restart its timer when responses arrive. Without a certain wait the code is 14
 * (67 ms), unless a wait was too long for code 14.
 */
#ifndef REPLAY_INFER_INFER_TIMERS_H
#define REPLAY_INFER_INFER_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

struct inferred_setup;

/* Timeout codes and retry counts that a requester's retransmissions show. */
struct inferred_timers {
    uint8_t timeout_min, timeout_max; /* timeout codes that all waits allow; 0 if there was none */
    uint32_t waits;                   /* number of measured waits */
    bool sure;        /* each measured wait followed another timeout, so the start of each wait
                       * is certain */
    uint32_t retries; /* largest number of consecutive retries that no RNR NAK caused: lower
                       * bound of the retry count */
    uint32_t beyond;  /* event of the first retry beyond the largest retry count, or EVENT_NONE */
    bool endless;     /* the requester went back, for any reason and without progress, more often
                       * than the largest retry count allows */
    bool exhausted;   /* the requester gave up after `retries` retries, so `retries` is its retry
                       * count */
    uint32_t rnr_retries; /* largest number of consecutive retries after RNR NAKs: lower bound of
                           * the RNR retry count */
    bool rnr_exhausted;
};

/* Sets setup->timers, timeout, retry_cnt and rnr_retry. Needs setup->event and the request
 * table. */
void infer_timers(struct inferred_setup *setup);

#endif
