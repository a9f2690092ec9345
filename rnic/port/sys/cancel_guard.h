/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Cancellation guard: prevents pthread_cancel(3) from ending a thread of the program while the
 * thread has a lock. A cancelled thread ends in its next cancellation point (pthreads(7)), such as
 * write(2), read(2), poll(2) or close(2). A software device calls these functions in the program's
 * threads while it has a lock. If the thread ended there, the lock would never be released. With
 * hardware the kernel does this work and completes it. With this guard, a thread cannot be
 * cancelled while it has a lock. It can be cancelled while it waits for events, and after it has
 * returned to the program.
 */
#ifndef PORT_SYS_CANCEL_GUARD_H
#define PORT_SYS_CANCEL_GUARD_H

#include <pthread.h>

/* Prevents pthread_cancel() from ending this thread. Returns the previous state for
 * rnic_cancel_restore(). */
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
