/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Waiters: threads that wait as in read(2) of a device: the handler of a signal ends the wait,
 * unless it was installed with SA_RESTART, and so does pthread_cancel(). poll(2) never goes on
 * after a handler, and a condition variable always does; sem_wait(3) is the call that does as
 * read(2) (signal(7)).
 *
 * A waiter counts itself while it holds the lock under which it found nothing, and waits without
 * it. The sum of those counted and of the semaphore is never less than the number of threads that
 * wait; a thread that is cancelled leaves it one too large, and one wait ends too early. So who was
 * woken looks again.
 */
#ifndef VERBS_WAITERS_H
#define VERBS_WAITERS_H

#include <errno.h>
#include <semaphore.h>

struct waiters {
    sem_t woken;
    unsigned cnt; /* who is not woken yet; under the owner's lock */
};

static inline void waiters_init(struct waiters *waiters)
{
    sem_init(&waiters->woken, 0, 0);
    waiters->cnt = 0;
}

/* Locked: this thread is going to wait. */
static inline void waiters_add(struct waiters *waiters)
{
    waiters->cnt++;
}

/* Locked: it did, and was not woken. */
static inline void waiters_remove(struct waiters *waiters)
{
    if (waiters->cnt > 0)
        waiters->cnt--;
    else /* it was at that moment */
        (void)sem_trywait(&waiters->woken);
}

/* Locked: there is something for them. */
static inline void waiters_wake(struct waiters *waiters)
{
    for (; waiters->cnt > 0; waiters->cnt--)
        sem_post(&waiters->woken);
}

/* Not locked, after waiters_add(). 0, or EINTR: waiters_remove() is due. A cancellation point. */
static inline int waiters_wait(struct waiters *waiters)
{
    return sem_wait(&waiters->woken) < 0 ? errno : 0;
}

#endif
