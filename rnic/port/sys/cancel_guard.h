/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hold: a lock in the hands of one of the program's threads. pthread_cancel(3) ends a thread in the
 * next call that is a cancellation point (pthreads(7)), and write(2), read(2), poll(2) and close(2)
 * are: a device in the process makes them while it holds a lock, which nobody would ever give back.
 * With hardware the same happens in the kernel, which finishes it. So a thread that holds a lock
 * cannot be cancelled; it is where it waits, and when it is back in the program.
 */
#ifndef PORT_SYS_CANCEL_GUARD_H
#define PORT_SYS_CANCEL_GUARD_H

#include <pthread.h>

/* What pthread_setcancelstate() gave, for rnic_let_go(). */
static inline int rnic_hold_on(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void rnic_let_go(int before)
{
    pthread_setcancelstate(before, NULL);
}

static inline int rnic_hold(pthread_mutex_t *lock)
{
    int before = rnic_hold_on();

    pthread_mutex_lock(lock);
    return before;
}

static inline void rnic_unhold(pthread_mutex_t *lock, int before)
{
    pthread_mutex_unlock(lock);
    rnic_let_go(before);
}

#endif
