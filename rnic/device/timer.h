/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Timers: which QP wants time next, in constant time however many there are. A QP's wait always
 * lasts one of 64 durations (32 local ACK timeouts, 32 RNR times), and each duration has a list of
 * its own, in which whoever comes last waits longest.
 *
 * A timer that is set again while it waits stays where it is, and moves when it comes to the front:
 * so a packet that restarts a timer touches no other QP. For that it may fire late, by at most its
 * duration: between T and 2T, where the specification allows up to 4T (R150).
 */
#ifndef RNIC_TIMER_H
#define RNIC_TIMER_H

#include "device/list.h"
#include "device/rnic.h"
#include "transport/retry.h"

#define RNIC_TIMER_CLASSES 64u

struct rnic_timer {
    struct rnic_list link;
    rnic_time deadline; /* when it should fire; RNIC_NEVER: not at all, and leaves the list soon */
    rnic_time queued;   /* what it is sorted by */
    uint8_t cls;
};

struct rnic_timers {
    struct rnic_list head[RNIC_TIMER_CLASSES]; /* each by `queued` */
    uint64_t used;                             /* bit per list that is not empty */
};

void rnic_timers_init(struct rnic_timers *timers);

/* A timer that is not set. */
void rnic_timer_init(struct rnic_timer *timer);

/* Sets the timer as a requester has it: `deadline` is the caller's `now`, which never goes back,
 * plus the duration that wait and code name, or RNIC_NEVER. */
void rnic_timer_set(struct rnic_timers *timers, struct rnic_timer *timer, enum rnic_retry_wait wait,
                    uint8_t code, rnic_time deadline);

/* Takes the timer out, whatever it is. */
void rnic_timer_del(struct rnic_timers *timers, struct rnic_timer *timer);

/* The next timer that is due at `now`, not set any more, or NULL. */
struct rnic_timer *rnic_timers_due(struct rnic_timers *timers, rnic_time now);

/* Takes away what stands in front without being set, so that rnic_timers_next() is exact. */
void rnic_timers_trim(struct rnic_timers *timers);

/* When the next one fires, or something earlier if rnic_timers_trim() was not called since. */
rnic_time rnic_timers_next(const struct rnic_timers *timers);

#endif
