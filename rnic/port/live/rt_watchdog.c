/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The relief: a second thread, of real-time priority, that takes over while none of the others gets
 * a CPU. An RNIC answers whatever the machine is busy with. Its software has to be let run, and on
 * a crowded machine a thread of ordinary priority may wait for half a second: the scheduler is fair
 * to sessions and control groups before it is fair to threads, and who just moved to a CPU where
 * its group ran too much waits until the others have caught up. Peers give up meanwhile.
 *
 * Frames wake it while nobody drives. It waits a moment for those whose business it is; if nobody
 * drove the device in that time it does, one turn, and waits again. So it takes a small part of one
 * CPU at most, whatever comes in, and none without frames. The lock hands its priority to who holds
 * it (PTHREAD_PRIO_INHERIT): that is often the thread that was stopped.
 *
 * Where real-time priority is not permitted (it takes CAP_SYS_NICE or RLIMIT_RTPRIO) there is no
 * relief, and the lock is an ordinary one.
 */
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "port/sys/event_fd.h"
#include "port/sys/clock.h"
#include "port/live/live_impl.h"

/* How long the others have. Their naps are shorter (live_thread.c), and the shortest timeout that
 * programs set in practice is longer: 67 ms, code 14. */
#define RELIEF_NS 10000000u
#define RELIEF_MS 10
#define LOOK_MS   (int)(RNIC_LOOK_NS / 1000000)

/* ---- whether it is permitted ----------------------------------------------------------------- */

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static bool permitted;

/* A thread of the lowest real-time priority. */
static int start(pthread_t *thread, void *(*function)(void *), void *user)
{
    const struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    pthread_attr_t attr;
    int error;

    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
    pthread_attr_setschedparam(&attr, &lowest);
    error = live_spawn(thread, &attr, function, user);
    pthread_attr_destroy(&attr);
    return error;
}

static void *nothing(void *user)
{
    return user;
}

static void probe(void)
{
    pthread_t thread;

    permitted = start(&thread, nothing, NULL) == 0;
    if (permitted)
        pthread_join(thread, NULL);
}

void live_lock_init(const struct rnic_live *live, pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    /* A signal handler that ends the process may have interrupted who holds it: rnic_live_flush. */
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    if (live->relieved)
        pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

bool live_rt_permitted(void)
{
    pthread_once(&probe_once, probe);
    return permitted;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* What wakes it: its own descriptor, and frames. Locked. */
static unsigned watch(const struct rnic_live *live, struct pollfd fds[1 + RNIC_PORT_FDS])
{
    unsigned cnt = rnic_port_fds(live->port, fds + 1);

    fds[0] = (struct pollfd){.fd = live->relief_fd, .events = POLLIN};
    for (unsigned i = 1; i <= cnt; i++)
        fds[i].events = POLLIN;
    return 1 + cnt;
}

static void *run(void *user)
{
    struct rnic_live *live = user;
    struct pollfd fds[1 + RNIC_PORT_FDS];
    unsigned cnt;

    prctl(PR_SET_NAME, "rnic-relief");
    live_take_lock(live);
    cnt = watch(live, fds);
    while (!live->stop) {
        uint64_t now;

        pthread_mutex_unlock(&live->lock);
        for (;;) {
            uint64_t driven = atomic_load_explicit(&live->driven_at, memory_order_relaxed);

            /* The kernel wakes who waits for a frame before it can know that another has taken it
             * meanwhile: not this one, which would stop who drives each time. */
            if (rnic_live_now() < driven + RELIEF_NS) {
                if (poll(fds, 1, RELIEF_MS) != 0)
                    break;
                continue;
            }
            if (poll(fds, cnt, LOOK_MS) <= 0 || fds[0].revents || poll(fds, 1, RELIEF_MS) != 0)
                break;
            if (atomic_load_explicit(&live->driven_at, memory_order_relaxed) == driven)
                break;
        }
        live_take_lock(live);
        /* Written to stop it only: the program closed what it did not know, perhaps to have files
         * of its own under these numbers. */
        if (fds[0].revents)
            break;
        now = rnic_live_now();
        if (!live->stop && now >= live->driven_at + RELIEF_NS && live_drive(live, now))
            live_wake(live); /* its next time may be earlier now */
        cnt = watch(live, fds);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

void live_rt_start(struct rnic_live *live)
{
    live->relief_runs = live->relieved && start(&live->relief, run, live) == 0;
}

void live_rt_wake(struct rnic_live *live)
{
    if (live->relief_runs)
        rnic_event_fd_signal(live->relief_fd);
}

void live_rt_join(struct rnic_live *live)
{
    if (live->relief_runs)
        pthread_join(live->relief, NULL);
    live->relief_runs = false;
}
