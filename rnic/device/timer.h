/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timers of the QPs; all operations take constant time. A QP's timer has one of 64 durations (32
 * local ACK timeouts, 32 RNR times). Each duration has a list, in which a new timer is always
 * the last to expire.
 *
 * A timer that is set again keeps its place in the list, so restarting a timer touches no other QP.
 * When a timer that was set again reaches the front of the list, it moves to the end, after timers
 * that can be due later. Therefore a timer may fire late by up to its duration: between T and 2T.
 * The specification allows up to 4T (R150).
 */
#ifndef RNIC_TIMER_H
#define RNIC_TIMER_H

#include "device/list.h"
#include "device/rnic.h"
#include "transport/retry.h"

#define RNIC_TIMER_CLASSES 64u /* number of different timeouts */

struct rnic_timer {
    struct rnic_list link;
    rnic_time deadline; /* time to fire; RNIC_NEVER if the timer is not set and will be removed
                         * from the list */
    rnic_time queued;   /* sort key of the timer in its list, ns */
    uint8_t cls;
};

struct rnic_timers {
    struct rnic_list head[RNIC_TIMER_CLASSES]; /* lists, each sorted by `queued` */
    uint64_t used;                             /* bit N: list N is not empty */
};

void rnic_timers_init(struct rnic_timers *timers);

/* Initializes a timer that is not set. */
void rnic_timer_init(struct rnic_timer *timer);

/* Sets a requester's timer. `deadline` must be the current time plus the duration of `wait` with
 * timer code `code`; RNIC_NEVER clears the timer. The current time must never go back. */
void rnic_timer_set(struct rnic_timers *timers, struct rnic_timer *timer, enum rnic_retry_wait wait,
                    uint8_t code, rnic_time deadline);

/* Removes the timer, whether or not it is set. */
void rnic_timer_del(struct rnic_timers *timers, struct rnic_timer *timer);

/* Removes and returns the next timer that is due at `now`, or NULL. */
struct rnic_timer *rnic_timers_due(struct rnic_timers *timers, rnic_time now);

/* Removes cleared timers from the front of each list, and moves timers that were set to a later
 * time from the front to the end. Afterwards rnic_timers_next() is exact. */
void rnic_timers_trim(struct rnic_timers *timers);

/* Returns the time when the next timer fires; RNIC_NEVER if there is none. The result may be too
 * early if rnic_timers_trim() was not called before. */
rnic_time rnic_timers_next(const struct rnic_timers *timers);

#endif
