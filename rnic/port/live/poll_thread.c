/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Poll thread: drives the device while the program does not.
 *
 * 1. While the gate is open (gate.c), the poll thread sleeps until a frame arrives, a timer is due
 *    or another thread wakes it. Then it drives the device.
 * 2. While the gate is shut, the poll thread naps. After each nap it checks whether the program
 *    still polls. If not, it drives the device and opens the gate.
 * 3. If the program sent something lately from another CPU, it may answer a request within
 *    microseconds. So the poll thread delays the ACKs of received frames. The program then sends
 *    the ACKs together with its answer.
 * 4. On a machine with enough CPUs, the poll thread may spin before it sleeps. If frames arrived
 *    soon after it had fallen asleep, it spins longer the next times. Otherwise it spins less, and
 *    finally sleeps at once. The poll thread does not have the lock while it spins. If another
 *    thread ran on the CPU during a spin, the poll thread stops spinning for a period, which
 *    doubles each time.
 *
 * A program that reads its memory in a loop keeps a CPU busy. The scheduler lets a running thread
 * continue for milliseconds (EEVDF, Linux 6.6) unless the waking thread requested a shorter slice
 * (Linux 6.12). So the poll thread requests the shortest slice: it needs the CPU for only a few
 * microseconds each time.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/pause.h"
#include "port/live/live_impl.h"
#include "port/net/netlink.h"
#include "port/sys/event_fd.h"
#include "port/sys/wait_limit.h"

#define SPIN_MAX_NS 50000u /* longest spin before a sleep, ns */
/* on shared memory: time for which the thread stays awake after the last frame, ns */
#define LINGER_NS     20000u
#define LINGER_PAUSES 8u    /* number of pause instructions between two checks for frames */
#define SPIN_MIN_NS   2000u /* shortest spin before a sleep, ns */
/* minimum number of CPUs for spinning: two CPUs for each of two processes that communicate */
#define SPIN_CPUS 4u
#define YIELD_NS  20000u
/* A spin reads the clock repeatedly. A gap longer than this (ns) means that another thread ran on
 * this CPU. */
#define CPU_LOST_NS    20000u
#define NO_SPIN_MIN_NS 10000000u   /* first period without spinning, ns */
#define NO_SPIN_MAX_NS 1000000000u /* longest period without spinning, ns */
/* shortest slice that the scheduler grants, ns: sched_setattr(2) */
#define SLICE_NS 100000u
/* For this time (ns) after a frame, each sleep of the thread lasts at most DOZE_NS. If the program
 * starts a timer during a sleep and the timer expires after the sleep, nothing must wake the
 * thread. */
#define DOZE_NS 20000000u

/* ---- settings of the scheduler --------------------------------------------------------------- */

/* Requests the shortest scheduler slice; the thread's other scheduling settings stay unchanged.
 * Kernels before 6.12 ignore the request. */
static void ask_for_short_slice(void)
{
    /* Copy of the kernel's struct sched_attr, first version. The libc header and the kernel header
     * that define the struct cannot be included together. */
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime; /* for SCHED_OTHER: length of the slice, ns */
        uint64_t deadline;
        uint64_t period;
    } attr = {.size = sizeof(attr)};

    if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 || attr.policy != SCHED_OTHER)
        return;
    attr.runtime = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* ---- waiting for frames ---------------------------------------------------------------------- */

/* Waits for descriptors until `until`. Returns the kinds (FOUND_*) of the ready descriptors. */
static unsigned wait_for(struct rnic_live *live, uint64_t until, uint64_t now)
{
    struct epoll_event events[RNIC_PORT_FDS + 3];
    const int max = sizeof(events) / sizeof(events[0]);
    uint64_t left = until > now ? until - now : 0;
    struct timespec timeout = rnic_look_for(left);
    unsigned found = 0;
    int cnt = -1;

    if (!live->thread.whole_ms) {
        cnt = epoll_pwait2(live->gate.epoll_fd, events, max, &timeout, NULL);
        /* epoll_pwait2() is missing before Linux 5.11, in valgrind, and in containers with an older
         * system call filter. */
        live->thread.whole_ms = cnt < 0 && (errno == ENOSYS || errno == EPERM);
    }
    if (live->thread.whole_ms)
        cnt = epoll_wait(live->gate.epoll_fd, events, max,
                         left > 1000000000u ? 1000 : (int)((left + 999999) / 1000000));
    if (cnt < 0 && (errno == EBADF || errno == EINVAL)) {
        rnic_nap_blind(left);
        return 0;
    }
    for (int i = 0; i < cnt; i++)
        found |= events[i].data.u32;
    return found;
}

/* Handles ready descriptors, except the descriptors of the port. Called with the lock, which
 * live_refresh() releases for a while. */
static void handle_found(struct rnic_live *live, unsigned found)
{
    if (found & FOUND_WAKE)
        rnic_event_fd_clear(live->wake_fd);
    if ((found & FOUND_WATCH && rnic_nl_drain(live->watch_fd)) ||
        (live->refresh_at != UINT64_MAX && live->refresh_at <= rnic_live_now()))
        live_refresh(live);
    if (found & FOUND_ANSWER)
        live_answer(live);
}

/* Checks the descriptors in a loop until `until`. Returns the kinds (FOUND_*) of the ready
 * descriptors. Called without the lock. */
static unsigned spin(struct rnic_live *live, uint64_t until)
{
    struct poll_thread *thread = &live->thread;
    uint64_t now = rnic_live_now();

    while (now < until) {
        uint64_t before = now;
        unsigned found = wait_for(live, 0, 0);

        if (found)
            return found;
        sched_yield();
        now = rnic_live_now();
        if (now - before > CPU_LOST_NS) {
            thread->no_spin = thread->no_spin == 0                   ? NO_SPIN_MIN_NS
                              : thread->no_spin < NO_SPIN_MAX_NS / 2 ? thread->no_spin * 2
                                                                     : NO_SPIN_MAX_NS;
            thread->no_spin_until = now + thread->no_spin;
            break;
        }
    }
    return 0;
}

static void lengthen_nap(struct poll_thread *thread)
{
    uint64_t nap = atomic_load(&thread->nap);

    atomic_store(&thread->nap, nap < LIVE_NAP_MAX_NS / 2 ? nap * 2 : LIVE_NAP_MAX_NS);
}

/* Waits without the lock until there is work, then locks. Returns whether frames arrived. */
static bool wait_unlocked(struct rnic_live *live, uint64_t until, uint64_t spin_until)
{
    unsigned found = spin(live, spin_until < until ? spin_until : until);
    uint64_t now = rnic_live_now();

    if (!found)
        found = wait_for(live, until, now);
    /* If the program polls now, sleep again without the lock, because the program needs it. */
    while (!found && atomic_load(&live->thread.sleep_until) &&
           live_polls_now(live, now = rnic_live_now())) {
        lengthen_nap(&live->thread);
        found = wait_for(live, now + atomic_load(&live->thread.nap), now);
    }
    live_take_lock(live);
    atomic_store(&live->thread.sleep_until, 0);
    handle_found(live, found);
    return found & FOUND_PORT;
}

/* Sleeps until there is work. Called with the lock, and returns with the lock. Returns whether
 * frames arrived. */
static bool sleep_locked(struct rnic_live *live, uint64_t now)
{
    struct poll_thread *thread = &live->thread;
    bool open = live->gate.open;
    uint64_t until;
    uint64_t spin_until = 0;

    live_gate_set(live);
    until = live_deadline(live);
    if (live->refresh_at < until)
        until = live->refresh_at;
    if (open && !live_polled_lately(live, now))
        live_keep_away(live, -1);
    if (!open) /* while the gate is shut, the polling program handles expired timers */
        until = now + atomic_load(&thread->nap);
    else if (now < live->gate.polled_at + DOZE_NS && until > now + LIVE_NAP_MAX_NS)
        /* The sleep is short, so that it ends soon if the program begins to poll. The program,
         * which then receives the frames itself, need not wake this thread. */
        until = now + LIVE_NAP_MAX_NS;
    else if (now < thread->moved_at + DOZE_NS && until > now + DOZE_NS)
        until = now + DOZE_NS;
    if (!live->gate.waits) /* the port has unread frames */
        until = now;
    if (open && thread->may_spin && thread->no_spin_until <= now)
        spin_until = thread->moved_at + thread->spin;
    atomic_store(&thread->sleep_until, until);
    pthread_mutex_unlock(&live->lock);
    return wait_unlocked(live, until, spin_until);
}

/* ---- driving the device ---------------------------------------------------------------------- */

enum turn {
    TURN_IDLE,
    TURN_MOVED,
    /* The program has sent its answer, and the delayed ACK with it. take_turn() returns without the
     * lock. */
    TURN_ANSWERED,
};

/* Called after the poll thread drove the device and handled frames or timers. The thread stays
 * awake for a certain time after thread.moved_at, so moved_at is a new reading of the clock. `now`
 * was read before the thread drove the device, which may have taken longer than that time. */
static void note_moved(struct rnic_live *live, uint64_t now)
{
    live->thread.moved_at = rnic_live_now();
    live_gate_missed(live, now);
    if (live->gate.open)
        lengthen_nap(&live->thread);
    else
        atomic_store(&live->thread.nap, LIVE_NAP_NS);
}

/* Returns whether the program may send its answer while this thread waits. This is possible if the
 * program recently sent a request from another CPU. */
static bool program_may_answer(const struct rnic_live *live, uint64_t now)
{
    return now - live->sent_at <= ACK_SENDER_NS && live->sent_cpu != sched_getcpu();
}

/* Waits until `until` for the program to send the delayed ACKs together with its answer. */
static enum turn await_answer(struct rnic_live *live, uint64_t until)
{
    live->ack_waits = true;
    rnic_port_flush(live->port);
    live_notify(live);
    pthread_mutex_unlock(&live->lock);
    while (atomic_load_explicit(&live->ack_waits, memory_order_relaxed) && rnic_live_now() < until)
        ;
    if (!atomic_load_explicit(&live->ack_waits, memory_order_relaxed)) {
        backoff_reset(&live->ack.answer);
        return TURN_ANSWERED;
    }
    live_take_lock(live);
    if (live->ack_waits && live->attached) {
        backoff_failed(&live->ack.answer);
        if (live_transmit(live, false, rnic_live_now()))
            rnic_port_flush(live->port);
    }
    return TURN_MOVED;
}

static enum turn take_turn(struct rnic_live *live, uint64_t now)
{
    bool moved, frames, holds;

    if (!live_is_attached(live, now))
        return TURN_IDLE;
    moved = live_receive(live, &now, &frames);
    holds = frames && program_may_answer(live, now) && backoff_allows(&live->ack.answer);
    moved |= live_transmit(live, holds, now);
    if (!moved)
        return TURN_IDLE;
    note_moved(live, now);
    if (holds && rnic_ack_waits(live->rnic))
        return await_answer(live, now + ACK_ANSWER_NS);
    rnic_port_flush(live->port);
    live_notify(live);
    return TURN_MOVED;
}

/* ---- loop of the poll thread ----------------------------------------------------------------- */

/* Releases the lock briefly, so that a waiting thread can take it. A spinning thread takes the lock
 * at once. This function yields the CPU only if no thread has taken the lock, because a yield might
 * cost milliseconds. */
static void yield_lock(struct rnic_live *live)
{
    uint64_t until = 0;

    pthread_mutex_unlock(&live->lock);
    while (atomic_load(&live->waiting) > 0) {
        uint64_t now = rnic_live_now();

        if (until == 0)
            until = now + YIELD_NS;
        if (now >= until) {
            sched_yield();
            break;
        }
    }
    live_take_lock(live);
}

/* Sets the length of the next spin: the maximum if frames arrived soon after this sleep began,
 * otherwise half of the last length. */
static void update_spin(struct poll_thread *thread, bool frames, uint64_t slept)
{
    if (frames && slept < SPIN_MAX_NS)
        thread->spin = SPIN_MAX_NS;
    else if (thread->spin > SPIN_MIN_NS)
        thread->spin /= 2;
    else
        thread->spin = 0;
}

/* On shared memory, where a frame arrives without a system call, keeps the thread awake for a while
 * after the last frame. If the thread slept between two frames of a stream, each wake-up would cost
 * the sender as much as several frames. Does nothing while a program polls. Returns false when the
 * thread has been awake for long enough and must sleep. */
static bool linger_awake(struct rnic_live *live, uint64_t now)
{
    if (live->attr.wire != RNIC_WIRE_SHM || now >= live->thread.moved_at + LINGER_NS ||
        live_polled_lately(live, now))
        return false;
    rnic_port_arm(live->port, false); /* while this thread is awake, a sender need not wake it */
    pthread_mutex_unlock(&live->lock);
    for (unsigned i = 0; i < LINGER_PAUSES; i++)
        rnic_pause();
    live_take_lock(live);
    return true;
}

static void *run_thread(void *user)
{
    struct rnic_live *live = user;
    struct poll_thread *thread = &live->thread;

    prctl(PR_SET_NAME, "rnic");
    prctl(PR_SET_TIMERSLACK, 1ul);
    ask_for_short_slice();
    live_take_lock(live);
    thread->moved_at = rnic_live_now();
    thread->tid = gettid();
    thread->avoided_cpu = -1;
    atomic_store(&thread->nap, LIVE_NAP_NS);
    thread->may_spin = sched_getaffinity(0, sizeof(thread->cpus), &thread->cpus) == 0 &&
                       CPU_COUNT(&thread->cpus) >= (int)SPIN_CPUS;
    while (!live->stop) {
        uint64_t now = rnic_live_now();
        bool frames;

        if (!live_polls_now(live, now)) {
            enum turn turn = take_turn(live, now);

            /* The peer may need this CPU for its own answer, so the thread sleeps without spinning.
             */
            if (turn == TURN_ANSWERED) {
                atomic_store(&thread->sleep_until, now + LIVE_NAP_NS);
                wait_unlocked(live, now + LIVE_NAP_NS, 0);
                continue;
            }
            if (turn == TURN_MOVED) {
                yield_lock(live);
                continue;
            }
            live_gate_open(live);
            if (linger_awake(live, now))
                continue;
        }
        frames = sleep_locked(live, now);
        update_spin(thread, frames, rnic_live_now() - now);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

int live_thread_start(struct rnic_live *live)
{
    live->stop = false;
    return -live_spawn(&live->thread.thread, NULL, run_thread, live);
}
