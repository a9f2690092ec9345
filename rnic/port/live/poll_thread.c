/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Who drives. A device moves in any thread that holds the lock. The loop's own thread sleeps on the
 * port's descriptors behind a gate (an epoll set), which is open while nobody else drives. A
 * program that polls again and again shuts the gate: no frame wakes the thread, which only naps and
 * looks whether the program polls still; if not, it drives and opens the gate.
 *
 * A program may poll and then look at its memory for what the peer writes (ib_write_lat does), or
 * poll and then wait for an event: it is present by its last poll, but the frames lie. If a nap
 * ends with that, the program is taken to be absent-minded: each time that it has found what it
 * polled for, it opens the gate itself, until it turns out that frames never come before it polls
 * again.
 *
 * What the thread takes for a program that looks at its memory is not acknowledged at once: the
 * program, on another CPU, may answer within microseconds, and acknowledgement and answer reach the
 * peer together, while it polls for the first. So both programs soon find all by polling (live.c).
 *
 * Such a program may keep a CPU busy, and the scheduler lets who is running run on for milliseconds
 * (EEVDF, Linux 6.6) unless who wakes asks for a shorter slice than that (Linux 6.12): the thread
 * asks for the shortest there is. It needs the CPU for a few microseconds each time.
 *
 * Before it sleeps the thread spins, where CPUs are many and that paid lately: if frames came soon
 * after it went to sleep the next times it looks longer, if they did not it sleeps at once. It
 * spins without the lock. If somebody else had its CPU meanwhile it does not try again for a time
 * that doubles: a thread that spins would stand in the way of what it waits for.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "port/sys/event_fd.h"
#include "port/sys/clock.h"
#include "port/live/live_impl.h"
#include "port/net/netlink.h"

#define POLLED_NS   200000u  /* a program that polled so lately is present */
#define POLLING_NS  100000u  /* ... and while the gate is shut polls still */
#define NAP_MAX_NS  5000000u /* more than a tick, which is 4 ms as a rule */
#define POLLS_SHUT  4u       /* polls in a row that find nothing shut the gate */
#define SPIN_MAX_NS 50000u
#define SPIN_MIN_NS 2000u
#define SPIN_CPUS   4u /* two for each of two processes that talk to each other */
#define YIELD_NS    20000u
#define TAKEN_NS    20000u      /* a CPU that was away so long was another's meanwhile */
#define SCARCE_MIN  10000000u   /* no spinning for so long, ... */
#define SCARCE_MAX  1000000000u /* ... doubled up to that */
#define MINDED_MAX  8u          /* gates opened for nothing until the program is minded again */
#define SLICE_NS    100000u     /* the shortest that the scheduler grants: sched_setattr(2) */
/* How long it sleeps first: a timer that runs longer need not wake it. */
#define DOZE_NS 20000000u

void live_wake(struct rnic_live *live)
{
    atomic_store(&live->sleep_until, 0); /* once is enough */
    rnic_event_fd_signal(live->wake_fd);
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* What passed it: bits of these. The first three always do. */
enum { FOUND_WAKE = 1, FOUND_WATCH = 2, FOUND_ANSWER = 4, FOUND_PORT = 8 };

/* Brings the gate in line with what the port waits on and with whether it is open. */
static void set_gate(struct rnic_live *live)
{
    struct pollfd fds[RNIC_PORT_FDS];
    unsigned cnt = rnic_port_fds(live->port, fds);

    for (unsigned i = 0; i < RNIC_PORT_FDS; i++) {
        struct pollfd *has = &live->gate[i];
        struct pollfd wants = {.fd = -1};
        struct epoll_event event = {.events = 0};

        /* Out of the set, not only without events: what is in it costs who sends 0.4 us a frame. */
        if (i < cnt && live->open)
            wants = fds[i];
        if (has->fd == wants.fd && has->events == wants.events)
            continue;
        if (has->fd >= 0 && has->fd != wants.fd)
            epoll_ctl(live->gate_fd, EPOLL_CTL_DEL, has->fd, &event);
        /* POLLIN is EPOLLIN, and so on. */
        event = (struct epoll_event){.events = (uint32_t)wants.events, .data = {.u32 = FOUND_PORT}};
        if (wants.fd >= 0)
            epoll_ctl(live->gate_fd, has->fd == wants.fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wants.fd,
                      &event);
        *has = wants;
    }
}

void live_polled(struct rnic_live *live, bool moved, uint64_t now)
{
    atomic_store_explicit(&live->polled_at, now, memory_order_relaxed);
    if (moved || !live->open || !live->plugged)
        return;
    if (++live->polls <
        (live->absent > 0 ? 1 : POLLS_SHUT)) /* it may be about to wait for an event */
        return;
    live->open = false;
    if (live->absent > 0)
        live->absent--;
    set_gate(live);
    /* The thread has to look soon whether the program polls still. */
    if (atomic_load(&live->sleep_until) > now + NAP_MAX_NS)
        live_wake(live);
}

/* Lets the thread run on any CPU but this (-1: on any). A program that looks at its memory keeps a
 * CPU busy: on another one the thread stops nobody, or only a peer that waits for its answer, and
 * who sends on that CPU wakes it without an interrupt to another. */
static void keep_away(struct rnic_live *live, int cpu)
{
    cpu_set_t set = live->cpus;

    if (cpu == live->cpu)
        return;
    live->cpu = cpu;
    if (cpu >= 0)
        CPU_CLR(cpu, &set);
    if (CPU_COUNT(&set) > 0)
        sched_setaffinity(live->tid, sizeof(set), &set);
}

void rnic_live_leave_poll(struct rnic_live *live, bool waits)
{
    live->polls = 0;
    live->shown = true;
    if (!live->plugged)
        return;
    live_release(live); /* who looks elsewhere does not see to it */
    live->owing = live->owed && !waits;
    if (waits)
        atomic_store_explicit(&live->polled_at, 0, memory_order_relaxed);
    /* While it owes an answer it has what it may look for. */
    if (live->open || (!waits && (live->absent == 0 || live->owed)))
        return;
    if (!waits)
        keep_away(live, sched_getcpu());
    live->open = true;
    set_gate(live);
}

/* A nap that ends before the clock's next tick costs a virtual machine several microseconds to set
 * its timer, and as many to be woken. */
static void lengthen_nap(struct rnic_live *live)
{
    live->nap = live->nap < NAP_MAX_NS / 2 ? live->nap * 2 : NAP_MAX_NS;
}

bool live_present(const struct rnic_live *live, uint64_t now)
{
    return atomic_load_explicit(&live->polled_at, memory_order_relaxed) + POLLED_NS > now;
}

static bool polls_now(const struct rnic_live *live, uint64_t now)
{
    return !atomic_load_explicit(&live->open, memory_order_relaxed) &&
           atomic_load_explicit(&live->polled_at, memory_order_relaxed) + POLLING_NS > now;
}

/* ---- the scheduler --------------------------------------------------------------------------- */

/* Slices of the smallest length; nothing else of how the thread is scheduled changes. Kernels
 * before 6.12 take no notice. */
static void ask_for_short_slice(void)
{
    /* struct sched_attr of the kernel's, as of its first version: the headers of libc and kernel
     * that have it exclude each other. */
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime; /* of SCHED_OTHER: the slice, ns */
        uint64_t deadline;
        uint64_t period;
    } attr = {.size = sizeof(attr)};

    if (syscall(SYS_sched_getattr, 0, &attr, sizeof(attr), 0) < 0 || attr.policy != SCHED_OTHER)
        return;
    attr.runtime = SLICE_NS;
    syscall(SYS_sched_setattr, 0, &attr, 0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

int live_gate_new(struct rnic_live *live)
{
    const int fd[] = {live->wake_fd, live->watch_fd, live->answer_fd};

    live->gate_fd = epoll_create1(EPOLL_CLOEXEC);
    if (live->gate_fd < 0)
        return -errno;
    for (unsigned i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = FOUND_WAKE << i}};

        if (fd[i] >= 0 && epoll_ctl(live->gate_fd, EPOLL_CTL_ADD, fd[i], &event) < 0)
            return -errno;
    }
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++)
        live->gate[i] = (struct pollfd){.fd = -1};
    live->open = false;
    live->absent = 0;
    return 0;
}

/* What is ready before `until`. */
static unsigned wait_for(struct rnic_live *live, uint64_t until, uint64_t now)
{
    struct epoll_event events[RNIC_PORT_FDS + 3];
    const int max = sizeof(events) / sizeof(events[0]);
    uint64_t left = until > now ? until - now : 0;
    struct timespec timeout = rnic_look_for(left);
    unsigned found = 0;
    int cnt = -1;

    if (!live->coarse) {
        cnt = epoll_pwait2(live->gate_fd, events, max, &timeout, NULL);
        /* Before Linux 5.11; in valgrind, which tells of each call; in a container of that time. */
        live->coarse = cnt < 0 && (errno == ENOSYS || errno == EPERM);
    }
    if (live->coarse)
        cnt = epoll_wait(live->gate_fd, events, max,
                         left > 1000000000u ? 1000 : (int)((left + 999999) / 1000000));
    if (cnt < 0 && (errno == EBADF || errno == EINVAL)) {
        rnic_nap_blind(left);
        return 0;
    }
    for (int i = 0; i < cnt; i++)
        found |= events[i].data.u32;
    return found;
}

/* Sees to what is not frames. Locked. */
static void attend(struct rnic_live *live, unsigned found)
{
    if (found & FOUND_WAKE)
        rnic_event_fd_clear(live->wake_fd);
    if (found & FOUND_WATCH && rnic_nl_drain(live->watch_fd))
        live_refresh(live);
    if (found & FOUND_ANSWER)
        live_answer(live);
}

/* What is ready by `until`, looking all the time. Unlocked. */
static unsigned spin(struct rnic_live *live, uint64_t until)
{
    uint64_t now = rnic_live_now();

    while (now < until) {
        uint64_t before = now;

        unsigned found = wait_for(live, 0, 0);

        if (found)
            return found;
        sched_yield();
        now = rnic_live_now();
        if (now - before > TAKEN_NS) {
            live->scarce = live->scarce == 0               ? SCARCE_MIN
                           : live->scarce < SCARCE_MAX / 2 ? live->scarce * 2
                                                           : SCARCE_MAX;
            live->scarce_until = now + live->scarce;
            break;
        }
    }
    return 0;
}

/* Waits until something is to be done, not locked. Locked afterwards: whether frames came. */
static bool wait_unlocked(struct rnic_live *live, uint64_t until, uint64_t spin_until)
{
    unsigned found = spin(live, spin_until < until ? spin_until : until);
    uint64_t now = rnic_live_now();

    if (!found)
        found = wait_for(live, until, now);
    /* Who polls is not to be stopped at the lock. */
    while (!found && atomic_load(&live->sleep_until) && polls_now(live, now = rnic_live_now())) {
        lengthen_nap(live);
        found = wait_for(live, now + live->nap, now);
    }
    live_take_lock(live);
    atomic_store(&live->sleep_until, 0);
    attend(live, found);
    return found & FOUND_PORT;
}

/* The same, called locked. */
static bool rest(struct rnic_live *live, uint64_t now)
{
    uint64_t until = live_deadline(live);
    uint64_t spin_until = 0;

    set_gate(live);
    if (live->open && !live_present(live, now))
        keep_away(live, -1);
    if (!live->open) /* the program sees to the timers */
        until = now + live->nap;
    else if (now < live->polled_at + DOZE_NS && until > now + NAP_MAX_NS)
        until = now + NAP_MAX_NS; /* if it shuts the gate it need not wake the thread */
    else if (now < live->moved_at + DOZE_NS && until > now + DOZE_NS)
        until = now + DOZE_NS;
    if (live->open && live->spins && live->scarce_until <= now)
        spin_until = live->moved_at + live->spin;
    atomic_store(&live->sleep_until, until);
    pthread_mutex_unlock(&live->lock);
    return wait_unlocked(live, until, spin_until);
}

void live_moved(struct rnic_live *live, uint64_t now)
{
    live->moved_at = now;
    /* The program was to do this, or has not polled since the gate is open. */
    if (!live->open || (live_present(live, now) && live->polls == 0))
        live->absent = MINDED_MAX;
    if (!live->open)
        live->nap = LIVE_NAP_NS;
    else
        lengthen_nap(live);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Lets threads that wait for the lock have it. One that spins for it gets it at once. To give the
 * CPU away before that may take milliseconds. */
static void yield_lock(struct rnic_live *live)
{
    uint64_t until = 0;

    pthread_mutex_unlock(&live->lock);
    while (atomic_load(&live->wanting) > 0) {
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

/* The next time spins as long as this one would have had to. */
static void learn_spin(struct rnic_live *live, bool came, uint64_t slept)
{
    if (came && slept < SPIN_MAX_NS)
        live->spin = SPIN_MAX_NS;
    else if (live->spin > SPIN_MIN_NS)
        live->spin /= 2;
    else
        live->spin = 0;
}

static void *run(void *user)
{
    struct rnic_live *live = user;

    prctl(PR_SET_NAME, "rnic");
    prctl(PR_SET_TIMERSLACK, 1ul);
    ask_for_short_slice();
    live_take_lock(live);
    live->moved_at = rnic_live_now();
    live->tid = gettid();
    live->cpu = -1;
    live->nap = LIVE_NAP_NS;
    live->spins = sched_getaffinity(0, sizeof(live->cpus), &live->cpus) == 0 &&
                  CPU_COUNT(&live->cpus) >= (int)SPIN_CPUS;
    while (!live->stop) {
        uint64_t now = rnic_live_now();
        bool came;

        if (!polls_now(live, now)) {
            enum live_turn turn = live_drive_asking(live, now);

            if (turn == LIVE_ANSWERED) { /* the peer may need the CPU for its own answer */
                atomic_store(&live->sleep_until, now + LIVE_NAP_NS);
                wait_unlocked(live, now + LIVE_NAP_NS, 0);
                continue;
            }
            if (turn == LIVE_MOVED) {
                yield_lock(live);
                continue;
            }
            if (!live->open)
                live->polls = 0;
            live->open = true;
        }
        came = rest(live, now);
        learn_spin(live, came, rnic_live_now() - now);
    }
    pthread_mutex_unlock(&live->lock);
    return NULL;
}

int live_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *user)
{
    sigset_t all;
    sigset_t before;
    int error;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* rnic_attr.there may take them */
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(thread, attr, function, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int live_thread_start(struct rnic_live *live)
{
    int error;

    live->stop = false;
    error = live_spawn(&live->thread, NULL, run, live);
    if (!error)
        live_rt_start(live);
    return -error;
}
