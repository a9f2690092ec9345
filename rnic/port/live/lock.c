/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <pthread.h>
#include <signal.h>
#include "port/live/live_impl.h"

#define LOCK_SPIN_NS 10000u /* longest spin before the thread sleeps, ns */

/* Locks the device. Spins before it sleeps, because a thread usually has the lock for only a few
 * microseconds. Sleeping and waking up would take longer. */
void live_take_lock(struct rnic_live *live)
{
    uint64_t until;

    if (pthread_mutex_trylock(&live->lock) == 0)
        return;
    atomic_fetch_add(&live->waiting, 1);
    until = rnic_live_now() + LOCK_SPIN_NS;
    while (pthread_mutex_trylock(&live->lock) != 0)
        if (rnic_live_now() >= until) {
            pthread_mutex_lock(&live->lock);
            break;
        }
    atomic_fetch_sub(&live->waiting, 1);
}

void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    /* An error-checking mutex avoids a deadlock: rnic_live_flush() in a signal handler may have
     * interrupted the thread that has the lock. */
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    if (live->watchdog.permitted)
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *user)
{
    sigset_t all;
    sigset_t before;
    int error;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* the program's callback rnic_attr.there may rely on the signals
                               * SIGSEGV and SIGBUS */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, attr, function, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
