/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "verbs/evq.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include "port/sys/cancel_guard.h"
#include "port/sys/event_fd.h"

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
/* Lock of all lists of waiting threads. A thread that has this lock takes no other one. */
static pthread_mutex_t waiters_lock = PTHREAD_MUTEX_INITIALIZER;
static struct evq all = {.fd = -1, .prev = &all, .next = &all};

int evq_init(struct evq *evq)
{
    *evq = (struct evq){.fd = rnic_event_fd_new(EFD_CLOEXEC)};
    if (evq->fd < 0)
        return errno;
    pthread_mutex_init(&evq->lock, NULL);
    waiters_init(&evq->waiters, &waiters_lock);
    pthread_mutex_lock(&all_lock);
    evq->prev = &all;
    evq->next = all.next;
    evq->prev->next = evq->next->prev = evq;
    pthread_mutex_unlock(&all_lock);
    return 0;
}

void evq_free(struct evq *evq)
{
    if (evq->fd < 0)
        return;
    pthread_mutex_lock(&all_lock);
    evq->prev->next = evq->next;
    evq->next->prev = evq->prev;
    pthread_mutex_unlock(&all_lock);
    pthread_mutex_lock(&waiters_lock);
    waiters_forget(&evq->waiters);
    pthread_mutex_unlock(&waiters_lock);
    rnic_tagged_close(evq->fd);
    evq->fd = -1;
    free(evq->ring);
    evq->ring = NULL;
    pthread_mutex_destroy(&evq->lock);
}

static bool grow_ring(struct evq *evq)
{
    size_t cap = evq->cap ? 2 * evq->cap : 16;
    struct evq_entry *ring = malloc(cap * sizeof *ring);
    if (!ring)
        return false;
    for (size_t i = 0; i < evq->cnt; i++)
        ring[i] = evq->ring[(evq->head + i) & (evq->cap - 1)];
    free(evq->ring);
    evq->ring = ring;
    evq->cap = cap;
    evq->head = 0;
    return true;
}

int evq_push(struct evq *evq, const struct evq_entry *entry)
{
    int result = 0;
    int held = rnic_lock_uncancelable(&evq->lock);
    if (evq->cnt == evq->cap && !grow_ring(evq)) {
        result = ENOMEM;
    } else {
        evq->ring[(evq->head + evq->cnt) & (evq->cap - 1)] = *entry;
        if (evq->cnt++ == 0)
            rnic_event_fd_signal(evq->fd);
        pthread_mutex_lock(&waiters_lock);
        waiters_wake(&evq->waiters);
        pthread_mutex_unlock(&waiters_lock);
    }
    rnic_unlock_uncancelable(&evq->lock, held);
    return result;
}

/* Removes the oldest event and stores it in *out. If the queue is empty, returns false, and adds
 * `waiter` to the list of waiting threads unless `waiter` is NULL. */
static bool take_entry(struct evq *evq, struct evq_entry *out, struct waiter *waiter)
{
    int held = rnic_lock_uncancelable(&evq->lock);
    bool got = evq->cnt > 0;
    if (got) {
        *out = evq->ring[evq->head];
        evq->head = (evq->head + 1) & (evq->cap - 1);
        if (out->reported)
            ++*out->reported;
        if (--evq->cnt == 0)
            rnic_event_fd_clear(evq->fd);
    } else if (waiter) {
        pthread_mutex_lock(&waiters_lock);
        waiters_add(&evq->waiters, waiter);
        pthread_mutex_unlock(&waiters_lock);
    }
    rnic_unlock_uncancelable(&evq->lock, held);
    return got;
}

int evq_get(struct evq *evq, struct evq_entry *out)
{
    struct waiter waiter;
    pthread_testcancel(); /* pthread_cancel() ends the thread even if the queue has an event, as in
                           * read(2) */
    if (take_entry(evq, out, NULL))
        return 0;
    int flags = fcntl(evq->fd, F_GETFL);
    if (flags < 0)
        return errno;
    if (flags & O_NONBLOCK)
        return EAGAIN;
    while (!take_entry(evq, out, &waiter)) {
        int result = waiters_wait(&waiter);
        if (result != 0)
            return result;
    }
    return 0;
}

unsigned evq_purge(struct evq *evq, const void *object, const unsigned *reported)
{
    int held = rnic_lock_uncancelable(&evq->lock);
    size_t kept = 0, had = evq->cnt;
    for (size_t i = 0; i < had; i++) {
        struct evq_entry entry = evq->ring[(evq->head + i) & (evq->cap - 1)];
        if (entry.object != object)
            evq->ring[(evq->head + kept++) & (evq->cap - 1)] = entry;
    }
    evq->cnt = kept;
    if (had > 0 && kept == 0)
        rnic_event_fd_clear(evq->fd);
    unsigned given = reported ? *reported : 0;
    rnic_unlock_uncancelable(&evq->lock, held);
    return given;
}

static void reset_evq(struct evq *evq)
{
    pthread_mutex_init(&evq->lock, NULL);
    waiters_init(&evq->waiters, &waiters_lock);
    evq->cnt = 0;
    rnic_event_fd_renew(evq->fd);
}

void evq_before_fork(void)
{
    pthread_mutex_lock(&all_lock);
    pthread_mutex_lock(&waiters_lock);
}

void evq_parent_forked(void)
{
    pthread_mutex_unlock(&waiters_lock);
    pthread_mutex_unlock(&all_lock);
}

void evq_child_forked(void)
{
    for (struct evq *evq = all.next; evq != &all; evq = evq->next)
        reset_evq(evq);
    pthread_mutex_unlock(&waiters_lock);
    pthread_mutex_unlock(&all_lock);
}
