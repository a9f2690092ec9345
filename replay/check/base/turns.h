/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Turns: keeps the order of the frames when several threads pass them to rnic/flow (judge them).
 * Each thread judges its own frames in ascending order. turns_wait() blocks a thread until the
 * other threads have judged all earlier frames. Used by check.
 */
#ifndef REPLAY_CHECK_BASE_TURNS_H
#define REPLAY_CHECK_BASE_TURNS_H

#include <stdatomic.h>
#include <stdint.h>

#define TURNS_MAX 16u /* maximum number of threads */

struct turns {
    unsigned cnt; /* number of threads */
    struct turn {
        /* Lowest frame number that the thread may still have to judge. */
        _Alignas(128) _Atomic uint64_t next;
    } of[TURNS_MAX];
};

/* Records that thread `who` has judged all its frames before `frame`. */
static inline void turns_reach(struct turns *turns, unsigned who, uint64_t frame)
{
    atomic_store_explicit(&turns->of[who].next, frame, memory_order_release);
}

/* Waits until all threads except `who` have judged their frames before `frame`. Call turns_reach()
 * for `who` and `frame` first, because the other threads may wait for `who`. */
void turns_wait(struct turns *turns, unsigned who, uint64_t frame);

/* Waits until thread `of` has judged its frames before `frame`. */
void turns_wait_for(struct turns *turns, unsigned of, uint64_t frame);

#endif
