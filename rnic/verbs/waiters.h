/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Waiters: threads that wait as in read(2) of a device: the handler of a signal ends the wait,
 * unless it was installed with SA_RESTART, and so does pthread_cancel(). poll(2) never goes on
 * after a handler, and a condition variable always does; sem_wait(3) is the call that does as
 * read(2) (signal(7)).
 *
 * A waiter enters its name while it holds the lock under which it found nothing, and waits without
 * it, each at a semaphore of its own: who was woken for nothing and waits again takes no other's
 * turn. All are woken, and look again.
 */
#ifndef VERBS_WAITERS_H
#define VERBS_WAITERS_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

struct waiters {
    pthread_mutex_t *lock; /* the owner's */
    struct waiter *first;  /* who is not woken yet; under that lock */
};

/* One thread, on its stack. */
struct waiter {
    sem_t woken;
    struct waiters *at;
    struct waiter *next;
};

static inline void waiters_init(struct waiters *waiters, pthread_mutex_t *lock)
{
    waiters->lock = lock;
    waiters->first = NULL;
}

/* Locked: this thread is going to wait. */
static inline void waiters_add(struct waiters *waiters, struct waiter *waiter)
{
    sem_init(&waiter->woken, 0, 0);
    waiter->at = waiters;
    waiter->next = waiters->first;
    waiters->first = waiter;
}

/* Locked: there is something for them. */
static inline void waiters_wake(struct waiters *waiters)
{
    struct waiter *waiter = waiters->first;
    waiters->first = NULL;
    while (waiter) {
        struct waiter *next = waiter->next; /* it may be gone a moment later */
        sem_post(&waiter->woken);
        waiter = next;
    }
}

/* Not locked: it waits no more, woken or not. */
static inline void waiters_leave(void *waiter)
{
    struct waiters *waiters = ((struct waiter *)waiter)->at;
    pthread_mutex_lock(waiters->lock);
    struct waiter **link = &waiters->first;
    while (*link && *link != waiter)
        link = &(*link)->next;
    if (*link)
        *link = (*link)->next;
    pthread_mutex_unlock(waiters->lock);
}

/* Not locked, after waiters_add(). 0, or EINTR. A cancellation point. */
static inline int waiters_wait(struct waiter *waiter)
{
    volatile int result = EINTR;
    pthread_cleanup_push(waiters_leave, waiter);
    result = sem_wait(&waiter->woken) < 0 ? errno : 0;
    pthread_cleanup_pop(result != 0);
    return result;
}

#endif
