/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/base/turns.h"

#include <sched.h>

/* A waiting thread polls the other threads' progress this number of times (about 1 us in total)
 * before it yields its processor. */
#define LOOKS 50u

void turns_wait_for(struct turns *turns, unsigned of, uint64_t frame)
{
    unsigned looks = 0;

    while (atomic_load_explicit(&turns->of[of].next, memory_order_acquire) < frame)
        if (++looks > LOOKS)
            sched_yield();
}

void turns_wait(struct turns *turns, unsigned who, uint64_t frame)
{
    for (unsigned i = 0; i < turns->cnt; i++)
        if (i != who)
            turns_wait_for(turns, i, frame);
}
