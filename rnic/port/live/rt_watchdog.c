/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Real-time watchdog: a second thread, of real-time priority, that drives the device while no other
 * thread gets a CPU. A hardware RNIC answers however busy the machine is. On a crowded machine a
 * thread of ordinary priority may wait half a second for a CPU. The scheduler divides CPU time
 * among sessions and control groups first, and among threads second. A thread that moved to another
 * CPU waits there until the other threads of that CPU have had their share. In that time, peers may
 * give up.
 *
 * 1. If no thread has driven the device for WATCHDOG_NS, the watchdog waits for a frame.
 * 2. After a frame it waits WATCHDOG_NS more for the other threads. If none of them drove the
 *    device, the watchdog drives it once. So the watchdog uses a small part of one CPU at most, and
 *    none without frames.
 * 3. The thread that has the lock may be the one that gets no CPU. While the watchdog waits for the
 *    lock, this thread inherits the priority of the watchdog (PTHREAD_PRIO_INHERIT).
 *
 * Where real-time priority is not permitted (CAP_SYS_NICE or RLIMIT_RTPRIO) there is no watchdog,
 * and the lock is an ordinary one.
 */
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "port/live/live_impl.h"
#include "port/sys/event_fd.h"
#include "port/sys/wait_limit.h"

/* Time that other threads have to drive the device. The longest nap of the poll thread is shorter.
 * The shortest ACK timeout that programs use in practice is longer: 67 ms, code 14. */
#define WATCHDOG_NS 10000000u
#define WATCHDOG_MS 10
#define LOOK_MS     (int)(RNIC_LOOK_NS / 1000000)

/* ---- permission for real-time priority ------------------------------------------------------- */

static pthread_once_t probe_once = PTHREAD_ONCE_INIT;
static bool permitted;

/* Starts a thread with the lowest real-time priority. Returns 0 or a positive errno. */
static int start_thread(pthread_t *thread, void *(*function)(void *), void *user)
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

    permitted = start_thread(&thread, nothing, NULL) == 0;
    if (permitted)
        pthread_join(thread, NULL);
}

bool live_rt_permitted(void)
{
    pthread_once(&probe_once, probe);
    return permitted;
}

/* ---- loop of the watchdog thread ------------------------------------------------------------- */

/* Fills in the descriptors on which the watchdog waits: its own descriptor and the descriptors of
 * the port. Called with the lock. */
static unsigned fill_fds(const struct rnic_live *live, struct pollfd fds[1 + RNIC_PORT_FDS])
{
    unsigned cnt = rnic_port_fds(live->port, fds + 1);

    fds[0] = (struct pollfd){.fd = live->watchdog.event_fd, .events = POLLIN};
    for (unsigned i = 1; i <= cnt; i++)
        fds[i].events = POLLIN;
    return 1 + cnt;
}

static void *run_watchdog(void *user)
{
    struct rnic_live *live = user;
    struct pollfd fds[1 + RNIC_PORT_FDS];
    unsigned cnt;

    prctl(PR_SET_NAME, "rnic-watchdog");
    live_take_lock(live);
    cnt = fill_fds(live, fds);
    while (!live->stop) {
        uint64_t now;

        pthread_mutex_unlock(&live->lock);
        for (;;) {
            uint64_t driven = atomic_load_explicit(&live->driven_at, memory_order_relaxed);

            /* Another thread drove the device. The kernel wakes a thread that waits for a frame
             * even if another thread has already read the frame. If the watchdog drove the device
             * now, it would disturb the other thread each time. */
            if (rnic_live_now() < driven + WATCHDOG_NS) {
                if (poll(fds, 1, WATCHDOG_MS) != 0)
                    break;
                continue;
            }
            if (poll(fds, cnt, LOOK_MS) <= 0 || fds[0].revents || poll(fds, 1, WATCHDOG_MS) != 0)
                break;
            if (atomic_load_explicit(&live->driven_at, memory_order_relaxed) == driven)
                break;
        }
        live_take_lock(live);
        /* The watchdog's own descriptor signals only the end of the thread. The program may also
         * have closed the descriptors and opened other files under their numbers. */
        if (fds[0].revents)
            break;
        now = rnic_live_now();
        if (!live->stop && now >= live->driven_at + WATCHDOG_NS && live_drive(live, now))
            live_wake(live); /* wakes the poll thread, because the device's next timer may now be
                              * earlier than before */
        cnt = fill_fds(live, fds);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

void live_rt_start(struct rnic_live *live)
{
    live->watchdog.running =
        live->watchdog.permitted && start_thread(&live->watchdog.thread, run_watchdog, live) == 0;
}

void live_rt_stop(struct rnic_live *live)
{
    if (live->watchdog.running)
        rnic_event_fd_signal(live->watchdog.event_fd);
}

void live_rt_join(struct rnic_live *live)
{
    if (live->watchdog.running)
        pthread_join(live->watchdog.thread, NULL);
    live->watchdog.running = false;
}
