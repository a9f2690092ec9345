/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Retry: timers and retry counters of a requester. The timers are the local ACK timeout and the
 * wait after an RNR NAK; each has a retry counter (R149-R158; IBTA vol. 1 9.7.6, C9-140). The
 * requester decides which packets to retransmit. Times are nanoseconds of the caller's clock.
 *
 * The specification allows the ACK timer to expire between T and 4T after the last event (R150).
 * This requester waits T, so that lost packets are retransmitted soon. After an expiry, the timer
 * waits 2T until a response acknowledges new requests. So a slow peer (a process without a CPU for
 * half a second) does not exhaust the retries. The timer waits at most 2T, because a timer of the
 * device can expire late by its own duration (device/timer.h), and the total must not exceed 4T.
 */
#ifndef RNIC_RETRY_H
#define RNIC_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#define RNIC_RETRY_MAX 7u /* maximum of retry_cnt: the CM's REQ has 3 bits for it (R239) */
/* unlimited retries, for rnr_retry only; a retry_cnt of 7 means seven retries (R154, R157) */
#define RNIC_RNR_RETRY_FOREVER 7u
#define RNIC_RETRY_NEVER       UINT64_MAX

enum rnic_retry_wait {
    RNIC_RETRY_IDLE, /* no timer is running */
    RNIC_RETRY_ACK,  /* waiting for a response (ACK timer) */
    RNIC_RETRY_RNR,  /* waiting after an RNR NAK; nothing is sent (R156) */
};

struct rnic_retry {
    uint64_t timeout_ns; /* ACK timeout T, ns; RNIC_RETRY_NEVER for timeout code 0 (R149) */
    uint64_t deadline;   /* time of expiry, ns; RNIC_RETRY_NEVER while IDLE */
    enum rnic_retry_wait wait;
    uint8_t wait_code;    /* timeout code or RNR timer code of the running timer */
    uint8_t timeout;      /* ACK timeout code 0..31 */
    uint8_t retry_cnt;    /* configured retry count, 0..7 */
    uint8_t rnr_retry;    /* configured RNR retry count, 0..7 */
    uint8_t retries_left; /* number of retries left; a timeout, a sequence NAK or an implied NAK
                           * uses one (R154) */
    uint8_t rnr_left;     /* number of RNR retries left; only an RNR NAK uses one (R158) */
    bool double_timeout;  /* the ACK timer expired after the last progress, so the next timeout is
                           * 2T */
};

/* Sets both retry counters to their configured maximum and starts no timer. */
void rnic_retry_init(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                     uint8_t rnr_retry);

/* Changes the timeout and retry counts during a connection. Both counters are reset; a running
 * timer continues. */
void rnic_retry_change(struct rnic_retry *retry, uint8_t timeout, uint8_t retry_cnt,
                       uint8_t rnr_retry);

/* Handles an acknowledgement of new requests: resets both counters (R155) and ends an RNR wait. */
void rnic_retry_progress(struct rnic_retry *retry);

/* Starts or restarts the ACK timer (R151) for T. If the timer expired after the last progress, it
 * waits 2T. Called when a request is sent, or after progress while requests are unacknowledged.
 * Must not be called during an RNR wait. */
void rnic_retry_arm(struct rnic_retry *retry, uint64_t now);

/* Stops the ACK timer, because all requests are acknowledged (R151) or will be retransmitted. An
 * RNR wait continues. */
void rnic_retry_disarm(struct rnic_retry *retry);

/* Stops any timer. */
void rnic_retry_stop(struct rnic_retry *retry);

/* Uses one retry and returns true. Returns false if no retry is left, so that the request fails
 * (R154). */
bool rnic_retry_use_one(struct rnic_retry *retry);

/* Handles an RNR NAK with timer code `code`: uses one RNR retry, starts the wait and returns true.
 * Returns false if no RNR retry is left (R156, R157). */
bool rnic_retry_rnr(struct rnic_retry *retry, uint8_t code, uint64_t now);

/* Returns the kind of the wait that ended at or before `now`, and stops its timer. Returns IDLE if
 * no wait has ended. */
enum rnic_retry_wait rnic_retry_expire(struct rnic_retry *retry, uint64_t now);

#endif
