/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Evq: a queue of events behind one descriptor that a program may poll, epoll and set O_NONBLOCK:
 * what a completion channel and a context's asynchronous events are. The descriptor is a bell
 * (port/bell.h), which rings exactly while the queue holds something.
 *
 * Any thread may call any function, except evq_init() and evq_free(). The lock is a leaf: nothing
 * else is locked while it is held.
 */
#ifndef VERBS_EVQ_H
#define VERBS_EVQ_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include "verbs/waiters.h"

struct evq_entry {
    void *object;       /* whom the event is about; evq_purge() finds it by this */
    int type;           /* enum ibv_event_type; 0 for a completion event */
    unsigned *reported; /* counts, under the lock, how often an event of this object was given out;
                           or NULL */
};

struct evq {
    pthread_mutex_t lock;
    int fd; /* -1: not initialised */
    struct evq_entry *ring;
    size_t cap, head, cnt; /* cap is 0 or a power of two */
    struct waiters waiters;
    struct evq *prev, *next; /* all there are, for fork() */
};

int evq_init(struct evq *evq);  /* 0 or an errno */
void evq_free(struct evq *evq); /* nobody waits any more */

/* 0, or ENOMEM: the event is lost. */
int evq_push(struct evq *evq, const struct evq_entry *entry);

/* Takes the oldest event; waits for one unless the descriptor is O_NONBLOCK. 0, or an errno: EAGAIN
 * if there is none, EINTR after a signal whose handler has no SA_RESTART. A cancellation point. */
int evq_get(struct evq *evq, struct evq_entry *out);

/* Forgets the events of an object that nobody took, and says how many were given out. */
unsigned evq_purge(struct evq *evq, const void *object, const unsigned *reported);

/* For pthread_atfork(): in the child every queue gets a fresh lock, is empty, and has a descriptor
 * of its own under the same number: events of before belong to the parent. */
void evq_before_fork(void);
void evq_parent_forked(void);
void evq_child_forked(void);

#endif
