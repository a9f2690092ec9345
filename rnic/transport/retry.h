/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Retry: how long a requester waits and how often it tries again: the local ACK timeout, the wait
 * after an RNR NAK, and the two retry counters (R149-R158; IBTA vol. 1 9.7.6, C9-140). It says
 * when; what is sent again is the requester's business. Times are nanoseconds of the caller's
 * clock.
 *
 * The specification lets the timer expire anywhere from T to 4T after the last event (R150). This
 * one means T, so that what the network lost is soon sent again; once it has fired, and until there
 * is progress, 2T: a peer that is only slow (its process has no CPU for half a second) finds the
 * retries not used up. More than 2T it must not mean: the device's timers fire late by up to as
 * much again (device/timer.h).
 */
#ifndef RNIC_RETRY_H
#define RNIC_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_RETRY_MAX         7u /* 3 bits in the CM's REQ (R239) */
#define RNIC_RNR_RETRY_FOREVER 7u /* of rnr_retry only; a retry_cnt of 7 is seven (R154, R157) */
#define RNIC_RETRY_NEVER       UINT64_MAX

enum rnic_retry_wait {
    RNIC_RETRY_IDLE, /* no timer runs */
    RNIC_RETRY_ACK,  /* until a response is missed */
    RNIC_RETRY_RNR,  /* until the responder may be asked again: nothing is sent (R156) */
};

struct rnic_retry {
    uint64_t timeout_ns; /* T, or RNIC_RETRY_NEVER for timeout code 0 (R149) */
    uint64_t deadline;   /* when the timer fires; RNIC_RETRY_NEVER while IDLE */
    enum rnic_retry_wait wait;
    uint8_t wait_code;    /* timeout code or RNR timer code of the wait: its duration */
    uint8_t timeout;      /* code 0..31 */
    uint8_t retry_cnt;    /* as configured, 0..7 */
    uint8_t rnr_retry;    /* as configured, 0..7 */
    uint8_t retries_left; /* timeout, sequence NAK, implied NAK (R154) */
    uint8_t rnr_left;     /* RNR NAK; counted apart (R158) */
    bool double_timeout;  /* the response timer fired since the last progress */
};

/* All counters full, no timer. */
void rnic_retry_init(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                     uint8_t rnr_retry);

/* Other values in the middle of a connection: both counters are full; a timer that runs goes on. */
void rnic_retry_change(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                       uint8_t rnr_retry);

/* A new acknowledgement came: both counters are full again (R155), an RNR wait is over. */
void rnic_retry_progress(struct rnic_retry *retry);

/* A packet that wants a response was sent, or progress was made while others are outstanding: the
 * response timer starts anew (R151), for T, or for 2T if it fired since the last progress. Not to
 * be called during an RNR wait. */
void rnic_retry_arm(struct rnic_retry *retry, uint64_t now);

/* Nothing is outstanding (R151), or everything will be sent again: no timer. An RNR wait goes on.
 */
void rnic_retry_disarm(struct rnic_retry *retry);

/* No timer at all. */
void rnic_retry_stop(struct rnic_retry *retry);

/* Takes one retry; false if none is left, and the request has failed (R154). */
bool rnic_retry_use_one(struct rnic_retry *retry);

/* An RNR NAK with this timer code: takes one RNR retry and begins the wait; false if none is left
 * (R156, R157). */
bool rnic_retry_rnr(struct rnic_retry *retry, uint8_t code, uint64_t now);

/* What fires at `now`: the wait that is over, or IDLE if none is. It runs no more. */
enum rnic_retry_wait rnic_retry_expire(struct rnic_retry *retry, uint64_t now);

#endif
