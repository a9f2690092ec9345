/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/timer.h"

#include <assert.h>

#define TIMER_OF(at) RNIC_LIST_OF(at, struct rnic_timer, link)

void rnic_timers_init(struct rnic_timers *timers)
{
    for (unsigned i = 0; i < RNIC_TIMER_CLASSES; i++)
        rnic_list_init(&timers->head[i]);
    timers->used = 0;
}

void rnic_timer_init(struct rnic_timer *timer)
{
    rnic_list_init(&timer->link);
    timer->deadline = RNIC_NEVER;
    timer->queued = RNIC_NEVER;
    timer->cls = 0;
}

void rnic_timer_del(struct rnic_timers *timers, struct rnic_timer *timer)
{
    timer->deadline = RNIC_NEVER;
    if (rnic_list_empty(&timer->link))
        return;
    rnic_list_del(&timer->link);
    if (rnic_list_empty(&timers->head[timer->cls]))
        timers->used &= ~(UINT64_C(1) << timer->cls);
}

/* Appends a timer to the list of its duration. The list must stay sorted by `queued`. So if the
 * last timer in the list has a later time than the new timer, the new timer gets that later
 * time. */
static void enqueue(struct rnic_timers *timers, struct rnic_timer *timer)
{
    struct rnic_list *head = &timers->head[timer->cls];

    timer->queued = timer->deadline;
    if (!rnic_list_empty(head) && TIMER_OF(head->prev)->queued > timer->queued)
        timer->queued = TIMER_OF(head->prev)->queued;
    rnic_list_add(head, &timer->link);
    timers->used |= UINT64_C(1) << timer->cls;
}

void rnic_timer_set(struct rnic_timers *timers, struct rnic_timer *timer, enum rnic_retry_wait wait,
                    uint8_t code, rnic_time deadline)
{
    uint8_t cls = (uint8_t)(wait == RNIC_RETRY_RNR ? 32 + code : code);

    assert(cls < RNIC_TIMER_CLASSES); /* a timer code has 5 bits */
    if (deadline == RNIC_NEVER || (!rnic_list_empty(&timer->link) && timer->cls == cls)) {
        if (timer->deadline != deadline) /* Do not write an unchanged value. Most QPs only
                                          * receive, and their cache line then stays unmodified. */
            timer->deadline = deadline;
        return;
    }
    rnic_timer_del(timers, timer);
    timer->cls = cls;
    timer->deadline = deadline;
    enqueue(timers, timer);
}

/* Removes timers that are not set from the front of the list, and moves timers that were set to a
 * later time to its end. Returns the first remaining timer, or NULL if the list is empty. */
static struct rnic_timer *front(struct rnic_timers *timers, unsigned cls)
{
    struct rnic_list *head = &timers->head[cls];

    while (!rnic_list_empty(head)) {
        struct rnic_timer *timer = TIMER_OF(head->next);
        rnic_time deadline = timer->deadline;

        if (deadline <= timer->queued && deadline != RNIC_NEVER)
            return timer;
        rnic_timer_del(timers, timer);
        if (deadline != RNIC_NEVER) {
            timer->deadline = deadline;
            enqueue(timers, timer);
        }
    }
    return NULL;
}

struct rnic_timer *rnic_timers_due(struct rnic_timers *timers, rnic_time now)
{
    for (uint64_t left = timers->used; left; left &= left - 1) {
        struct rnic_timer *timer = front(timers, (unsigned)__builtin_ctzll(left));

        if (timer && timer->queued <= now) {
            rnic_timer_del(timers, timer);
            return timer;
        }
    }
    return NULL;
}

void rnic_timers_trim(struct rnic_timers *timers)
{
    for (uint64_t left = timers->used; left; left &= left - 1)
        front(timers, (unsigned)__builtin_ctzll(left));
}

rnic_time rnic_timers_next(const struct rnic_timers *timers)
{
    rnic_time next = RNIC_NEVER;

    for (uint64_t left = timers->used; left; left &= left - 1) {
        const struct rnic_timer *timer = TIMER_OF(timers->head[__builtin_ctzll(left)].next);

        if (timer->queued < next)
            next = timer->queued;
    }
    return next;
}
