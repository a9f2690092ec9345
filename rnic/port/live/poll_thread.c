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
 * peer together, while it polls for the first. So both programs soon find all by polling (loop.c).
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

void loop_wake(struct rnic_loop *loop)
{
    atomic_store(&loop->sleep_until, 0); /* once is enough */
    rnic_bell_ring(loop->wake_fd);
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* What passed it: bits of these. The first three always do. */
enum { FOUND_WAKE = 1, FOUND_WATCH = 2, FOUND_ANSWER = 4, FOUND_PORT = 8 };

/* Brings the gate in line with what the port waits on and with whether it is open. */
static void set_gate(struct rnic_loop *loop)
{
    struct pollfd fds[RNIC_PORT_FDS];
    unsigned cnt = rnic_port_fds(loop->port, fds);

    for (unsigned i = 0; i < RNIC_PORT_FDS; i++) {
        struct pollfd *has = &loop->gate[i];
        struct pollfd wants = {.fd = -1};
        struct epoll_event event = {.events = 0};

        /* Out of the set, not only without events: what is in it costs who sends 0.4 us a frame. */
        if (i < cnt && loop->open)
            wants = fds[i];
        if (has->fd == wants.fd && has->events == wants.events)
            continue;
        if (has->fd >= 0 && has->fd != wants.fd)
            epoll_ctl(loop->gate_fd, EPOLL_CTL_DEL, has->fd, &event);
        /* POLLIN is EPOLLIN, and so on. */
        event = (struct epoll_event){.events = (uint32_t)wants.events, .data = {.u32 = FOUND_PORT}};
        if (wants.fd >= 0)
            epoll_ctl(loop->gate_fd, has->fd == wants.fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wants.fd,
                      &event);
        *has = wants;
    }
}

void loop_polled(struct rnic_loop *loop, bool moved, uint64_t now)
{
    atomic_store_explicit(&loop->polled_at, now, memory_order_relaxed);
    if (moved || !loop->open || !loop->plugged)
        return;
    if (++loop->polls <
        (loop->absent > 0 ? 1 : POLLS_SHUT)) /* it may be about to wait for an event */
        return;
    loop->open = false;
    if (loop->absent > 0)
        loop->absent--;
    set_gate(loop);
    /* The thread has to look soon whether the program polls still. */
    if (atomic_load(&loop->sleep_until) > now + NAP_MAX_NS)
        loop_wake(loop);
}

/* Lets the thread run on any CPU but this (-1: on any). A program that looks at its memory keeps a
 * CPU busy: on another one the thread stops nobody, or only a peer that waits for its answer, and
 * who sends on that CPU wakes it without an interrupt to another. */
static void keep_away(struct rnic_loop *loop, int cpu)
{
    cpu_set_t set = loop->cpus;

    if (cpu == loop->cpu)
        return;
    loop->cpu = cpu;
    if (cpu >= 0)
        CPU_CLR(cpu, &set);
    if (CPU_COUNT(&set) > 0)
        sched_setaffinity(loop->tid, sizeof(set), &set);
}

void rnic_loop_leave_poll(struct rnic_loop *loop, bool waits)
{
    loop->polls = 0;
    loop->shown = true;
    if (!loop->plugged)
        return;
    loop_release(loop); /* who looks elsewhere does not see to it */
    loop->owing = loop->owed && !waits;
    if (waits)
        atomic_store_explicit(&loop->polled_at, 0, memory_order_relaxed);
    /* While it owes an answer it has what it may look for. */
    if (loop->open || (!waits && (loop->absent == 0 || loop->owed)))
        return;
    if (!waits)
        keep_away(loop, sched_getcpu());
    loop->open = true;
    set_gate(loop);
}

/* A nap that ends before the clock's next tick costs a virtual machine several microseconds to set
 * its timer, and as many to be woken. */
static void lengthen_nap(struct rnic_loop *loop)
{
    loop->nap = loop->nap < NAP_MAX_NS / 2 ? loop->nap * 2 : NAP_MAX_NS;
}

bool loop_present(const struct rnic_loop *loop, uint64_t now)
{
    return atomic_load_explicit(&loop->polled_at, memory_order_relaxed) + POLLED_NS > now;
}

static bool polls_now(const struct rnic_loop *loop, uint64_t now)
{
    return !atomic_load_explicit(&loop->open, memory_order_relaxed) &&
           atomic_load_explicit(&loop->polled_at, memory_order_relaxed) + POLLING_NS > now;
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

int loop_gate_new(struct rnic_loop *loop)
{
    const int fd[] = {loop->wake_fd, loop->watch_fd, loop->answer_fd};

    loop->gate_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->gate_fd < 0)
        return -errno;
    for (unsigned i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = FOUND_WAKE << i}};

        if (fd[i] >= 0 && epoll_ctl(loop->gate_fd, EPOLL_CTL_ADD, fd[i], &event) < 0)
            return -errno;
    }
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++)
        loop->gate[i] = (struct pollfd){.fd = -1};
    loop->open = false;
    loop->absent = 0;
    return 0;
}

/* What is ready before `until`. */
static unsigned wait_for(struct rnic_loop *loop, uint64_t until, uint64_t now)
{
    struct epoll_event events[RNIC_PORT_FDS + 3];
    const int max = sizeof(events) / sizeof(events[0]);
    uint64_t left = until > now ? until - now : 0;
    struct timespec timeout = rnic_look_for(left);
    unsigned found = 0;
    int cnt = -1;

    if (!loop->coarse) {
        cnt = epoll_pwait2(loop->gate_fd, events, max, &timeout, NULL);
        /* Before Linux 5.11; in valgrind, which tells of each call; in a container of that time. */
        loop->coarse = cnt < 0 && (errno == ENOSYS || errno == EPERM);
    }
    if (loop->coarse)
        cnt = epoll_wait(loop->gate_fd, events, max,
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
static void attend(struct rnic_loop *loop, unsigned found)
{
    if (found & FOUND_WAKE)
        rnic_bell_rest(loop->wake_fd);
    if (found & FOUND_WATCH && rnic_nl_drain(loop->watch_fd))
        loop_refresh(loop);
    if (found & FOUND_ANSWER)
        loop_answer(loop);
}

/* What is ready by `until`, looking all the time. Unlocked. */
static unsigned spin(struct rnic_loop *loop, uint64_t until)
{
    uint64_t now = rnic_loop_now();

    while (now < until) {
        uint64_t before = now;

        unsigned found = wait_for(loop, 0, 0);

        if (found)
            return found;
        sched_yield();
        now = rnic_loop_now();
        if (now - before > TAKEN_NS) {
            loop->scarce = loop->scarce == 0               ? SCARCE_MIN
                           : loop->scarce < SCARCE_MAX / 2 ? loop->scarce * 2
                                                           : SCARCE_MAX;
            loop->scarce_until = now + loop->scarce;
            break;
        }
    }
    return 0;
}

/* Waits until something is to be done, not locked. Locked afterwards: whether frames came. */
static bool wait_unlocked(struct rnic_loop *loop, uint64_t until, uint64_t spin_until)
{
    unsigned found = spin(loop, spin_until < until ? spin_until : until);
    uint64_t now = rnic_loop_now();

    if (!found)
        found = wait_for(loop, until, now);
    /* Who polls is not to be stopped at the lock. */
    while (!found && atomic_load(&loop->sleep_until) && polls_now(loop, now = rnic_loop_now())) {
        lengthen_nap(loop);
        found = wait_for(loop, now + loop->nap, now);
    }
    loop_take_lock(loop);
    atomic_store(&loop->sleep_until, 0);
    attend(loop, found);
    return found & FOUND_PORT;
}

/* The same, called locked. */
static bool rest(struct rnic_loop *loop, uint64_t now)
{
    uint64_t until = loop_deadline(loop);
    uint64_t spin_until = 0;

    set_gate(loop);
    if (loop->open && !loop_present(loop, now))
        keep_away(loop, -1);
    if (!loop->open) /* the program sees to the timers */
        until = now + loop->nap;
    else if (now < loop->polled_at + DOZE_NS && until > now + NAP_MAX_NS)
        until = now + NAP_MAX_NS; /* if it shuts the gate it need not wake the thread */
    else if (now < loop->moved_at + DOZE_NS && until > now + DOZE_NS)
        until = now + DOZE_NS;
    if (loop->open && loop->spins && loop->scarce_until <= now)
        spin_until = loop->moved_at + loop->spin;
    atomic_store(&loop->sleep_until, until);
    pthread_mutex_unlock(&loop->lock);
    return wait_unlocked(loop, until, spin_until);
}

void loop_moved(struct rnic_loop *loop, uint64_t now)
{
    loop->moved_at = now;
    /* The program was to do this, or has not polled since the gate is open. */
    if (!loop->open || (loop_present(loop, now) && loop->polls == 0))
        loop->absent = MINDED_MAX;
    if (!loop->open)
        loop->nap = LOOP_NAP_NS;
    else
        lengthen_nap(loop);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Lets threads that wait for the lock have it. One that spins for it gets it at once. To give the
 * CPU away before that may take milliseconds. */
static void yield_lock(struct rnic_loop *loop)
{
    uint64_t until = 0;

    pthread_mutex_unlock(&loop->lock);
    while (atomic_load(&loop->wanting) > 0) {
        uint64_t now = rnic_loop_now();

        if (until == 0)
            until = now + YIELD_NS;
        if (now >= until) {
            sched_yield();
            break;
        }
    }
    loop_take_lock(loop);
}

/* The next time spins as long as this one would have had to. */
static void learn_spin(struct rnic_loop *loop, bool came, uint64_t slept)
{
    if (came && slept < SPIN_MAX_NS)
        loop->spin = SPIN_MAX_NS;
    else if (loop->spin > SPIN_MIN_NS)
        loop->spin /= 2;
    else
        loop->spin = 0;
}

static void *run(void *user)
{
    struct rnic_loop *loop = user;

    prctl(PR_SET_NAME, "rnic");
    prctl(PR_SET_TIMERSLACK, 1ul);
    ask_for_short_slice();
    loop_take_lock(loop);
    loop->moved_at = rnic_loop_now();
    loop->tid = gettid();
    loop->cpu = -1;
    loop->nap = LOOP_NAP_NS;
    loop->spins = sched_getaffinity(0, sizeof(loop->cpus), &loop->cpus) == 0 &&
                  CPU_COUNT(&loop->cpus) >= (int)SPIN_CPUS;
    while (!loop->stop) {
        uint64_t now = rnic_loop_now();
        bool came;

        if (!polls_now(loop, now)) {
            enum loop_turn turn = loop_drive_asking(loop, now);

            if (turn == LOOP_ANSWERED) { /* the peer may need the CPU for its own answer */
                atomic_store(&loop->sleep_until, now + LOOP_NAP_NS);
                wait_unlocked(loop, now + LOOP_NAP_NS, 0);
                continue;
            }
            if (turn == LOOP_MOVED) {
                yield_lock(loop);
                continue;
            }
            if (!loop->open)
                loop->polls = 0;
            loop->open = true;
        }
        came = rest(loop, now);
        learn_spin(loop, came, rnic_loop_now() - now);
    }
    pthread_mutex_unlock(&loop->lock);
    return NULL;
}

int loop_spawn(pthread_t *thread, const pthread_attr_t *attr, void *(*function)(void *), void *user)
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

int loop_thread_start(struct rnic_loop *loop)
{
    int error;

    loop->stop = false;
    error = loop_spawn(&loop->thread, NULL, run, loop);
    if (!error)
        loop_relief_start(loop);
    return -error;
}
