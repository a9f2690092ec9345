/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Waiters: threads that wait for an event, with the semantics of a read(2) from a device.
 * pthread_cancel() ends the wait. A signal handler also ends the wait, unless it was installed with
 * SA_RESTART. The wait of poll(2) always ends after a handler, and the wait for a condition
 * variable never does. sem_wait(3) behaves like read(2) (signal(7)), so the waiters use semaphores.
 *
 * The owner of a list of waiters is an event queue (evq.h) or the rdma_cm device (ucma/file.c). A
 * thread that finds no event adds itself to the list under `lock`. It then waits without the lock
 * at its own semaphore. An event wakes all waiters, and each checks for events again. A thread that
 * finds none therefore never consumes the wake-up of another thread.
 *
 * A program may free the owner while a thread waits, and cancel the thread later. So the lock of
 * the waiters is never freed, and waiters_forget() separates them from the owner.
 */
#ifndef VERBS_WAITERS_H
#define VERBS_WAITERS_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

struct waiters {
    pthread_mutex_t *lock; /* lock of the list, which exists until the process ends */
    struct waiter *first;  /* list of threads not woken yet; protected by `lock` */
};

/* Waiting thread; the struct is on the thread's stack. */
struct waiter {
    sem_t woken;
    pthread_mutex_t *lock;
    struct waiters *at; /* list that has the waiter, or NULL; protected by `lock` */
    struct waiter *next;
};

static inline void waiters_init(struct waiters *waiters, pthread_mutex_t *lock)
{
    waiters->lock = lock;
    waiters->first = NULL;
}

/* Adds the calling thread, which is about to wait. Called with the list's lock. */
static inline void waiters_add(struct waiters *waiters, struct waiter *waiter)
{
    sem_init(&waiter->woken, 0, 0);
    waiter->lock = waiters->lock;
    waiter->at = waiters;
    waiter->next = waiters->first;
    waiters->first = waiter;
}

/* Wakes all waiting threads. Called with the list's lock. */
static inline void waiters_wake(struct waiters *waiters)
{
    struct waiter *waiter = waiters->first;
    waiters->first = NULL;
    while (waiter) {
        struct waiter *next = waiter->next; /* *waiter may be gone after sem_post() */
        waiter->at = NULL;
        sem_post(&waiter->woken);
        waiter = next;
    }
}

/* Removes all waiting threads from the list without waking them. Called with the list's lock,
 * before the owner of the list is freed. */
static inline void waiters_forget(struct waiters *waiters)
{
    for (struct waiter *waiter = waiters->first; waiter; waiter = waiter->next)
        waiter->at = NULL;
    waiters->first = NULL;
}

/* Removes a waiter, woken or not. Called without the lock. */
static inline void waiters_leave(void *arg)
{
    struct waiter *waiter = arg;
    pthread_mutex_lock(waiter->lock);
    if (waiter->at) {
        struct waiter **link = &waiter->at->first;
        while (*link != waiter)
            link = &(*link)->next;
        *link = waiter->next;
    }
    pthread_mutex_unlock(waiter->lock);
}

/* Waits after waiters_add(), without the lock. Returns 0 or EINTR. A cancellation point. */
static inline int waiters_wait(struct waiter *waiter)
{
    volatile int result = EINTR;
    pthread_cleanup_push(waiters_leave, waiter);
    result = sem_wait(&waiter->woken) < 0 ? errno : 0;
    pthread_cleanup_pop(result != 0);
    return result;
}

#endif
