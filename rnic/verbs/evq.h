/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Event queue: events that a program reads from one descriptor. The program may poll and epoll the
 * descriptor, and set O_NONBLOCK. Completion channels and the asynchronous events of a context are
 * such queues. The descriptor is an eventfd (port/sys/event_fd.h), readable exactly while the queue
 * contains an event.
 *
 * Any thread may call any function, except evq_init() and evq_free(). A thread that has the lock of
 * a queue takes no other lock than that of the waiters (waiters.h).
 */
#ifndef VERBS_EVQ_H
#define VERBS_EVQ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "verbs/waiters.h"

struct evq_entry {
    void *object;       /* object that the event belongs to; evq_purge() removes its events */
    int type;           /* enum ibv_event_type; 0 for a completion event */
    unsigned *reported; /* counter of the object's events that the program has received,
                         * protected by the lock of the queue; or NULL */
};

struct evq {
    pthread_mutex_t lock;
    int fd; /* eventfd descriptor; -1: not initialized */
    struct evq_entry *ring;
    size_t cap, head, cnt; /* ring of events; cap is 0 or a power of two */
    struct waiters waiters;
    struct evq *prev, *next; /* list of all queues, for fork() */
};

int evq_init(struct evq *evq); /* Initializes a queue. Returns 0 or an errno. */
/* Frees a queue. A thread that waits for an event continues to wait until it is cancelled, or until
 * a signal ends its wait. */
void evq_free(struct evq *evq);

/* Adds an event. Returns 0, or ENOMEM if the event was dropped. */
int evq_push(struct evq *evq, const struct evq_entry *entry);

/* Removes the oldest event; waits for one unless the descriptor is O_NONBLOCK. Returns 0, EAGAIN if
 * the queue is empty, or EINTR after a signal if its handler has no SA_RESTART. A cancellation
 * point. */
int evq_get(struct evq *evq, struct evq_entry *out);

/* Removes the events of `object`. Returns *reported, the number of its events that the program has
 * already received. */
unsigned evq_purge(struct evq *evq, const void *object, const unsigned *reported);

/* Handlers for pthread_atfork(). In the child each queue is empty, because earlier events belong to
 * the parent. The queue gets a new lock, and a new descriptor with the old number. */
void evq_before_fork(void);
void evq_parent_forked(void);
void evq_child_forked(void);

#endif
