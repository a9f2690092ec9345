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

/* What pthread_setcancelstate() gave, for rnic_cancel_restore(). */
static inline int rnic_cancel_disable(void)
{
    int before;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void rnic_cancel_restore(int before)
{
    pthread_setcancelstate(before, NULL);
}

static inline int rnic_lock_uncancelable(pthread_mutex_t *lock)
{
    int before = rnic_cancel_disable();

    pthread_mutex_lock(lock);
    return before;
}

static inline void rnic_unlock_uncancelable(pthread_mutex_t *lock, int before)
{
    pthread_mutex_unlock(lock);
    rnic_cancel_restore(before);
}

#endif
