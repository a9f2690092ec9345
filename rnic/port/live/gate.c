/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Gate: an epoll set with the port's descriptors, on which the poll thread sleeps.
 *
 * 1. While the gate is open, a frame wakes the poll thread.
 * 2. A few polls shut the gate. From then on the polling program receives the frames itself. No
 *    frame wakes the poll thread, which sleeps for short naps only.
 * 3. The poll thread opens the gate if it finds after a nap that the program no longer polls.
 * 4. A program that requests a completion event opens the gate at once. Such a program may poll
 *    any number of times and then block, and the live device does not notice when it blocks.
 *    Therefore the gate stays open until the event. After the event, the gate shuts only after a
 *    larger number of successive polls without work, because the program probably requests the next
 *    event soon.
 * 5. A program may poll and then read its memory until a WRITE arrives (ib_write_lat). While the
 *    gate is shut, nothing receives the WRITE before the next nap ends. After the device has
 *    detected a program that reads its memory in this way, the gate opens each time a poll finds a
 *    completion, for the next UNPOLLED_MAX times.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include "port/live/live_impl.h"
#include "port/sys/event_fd.h"

/* If the last poll of the program is at most this old (ns), the program polled lately. */
#define POLLED_LATELY_NS 200000u
/* If the last poll of the program is at most this old (ns), the program polls continuously. */
#define POLLS_NOW_NS 100000u
#define POLLS_MAX    4u /* number of polls that shut the gate */
/* If the program has requested a completion event before, and no requested event is outstanding:
 * number of successive polls without work that shut the gate. */
#define EMPTY_POLLS_ARMED 64u
/* Value of EMPTY_POLLS_ARMED for shared memory. The number is higher, because a poll of shared
 * memory makes no system call and takes a tenth of the time. */
#define EMPTY_POLLS_ARMED_SHM 1024u
#define UNPOLLED_MAX          8u

void live_wake(struct rnic_live *live)
{
    /* Mark the thread as awake, so that no other thread wakes it again. */
    atomic_store(&live->thread.sleep_until, 0);
    rnic_event_fd_signal(live->wake_fd);
}

int live_gate_new(struct rnic_live *live)
{
    const int fd[] = {live->wake_fd, live->watch_fd, live->answer_fd};
    struct poll_gate *gate = &live->gate;

    gate->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (gate->epoll_fd < 0)
        return -errno;
    for (unsigned i = 0; i < sizeof(fd) / sizeof(fd[0]); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = FOUND_WAKE << i}};

        if (fd[i] >= 0 && epoll_ctl(gate->epoll_fd, EPOLL_CTL_ADD, fd[i], &event) < 0)
            return -errno;
    }
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++)
        gate->fds[i] = (struct pollfd){.fd = -1};
    gate->open = false;
    gate->unpolled = 0;
    gate->armed = false;
    return 0;
}

/* Returns the entry of a descriptor, or NULL. */
static const struct pollfd *find_fd(const struct pollfd list[RNIC_PORT_FDS], int fd)
{
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++)
        if (list[i].fd == fd)
            return &list[i];
    return NULL;
}

/* Makes the epoll set contain exactly the port's descriptors in `wants`. A descriptor may have
 * another index in `wants` than in gate->fds, because the port has closed an earlier one. */
static void change_set(struct poll_gate *gate, const struct pollfd wants[RNIC_PORT_FDS])
{
    struct epoll_event event = {.data = {.u32 = FOUND_PORT}};

    for (unsigned i = 0; i < RNIC_PORT_FDS; i++)
        if (gate->fds[i].fd >= 0 && !find_fd(wants, gate->fds[i].fd))
            epoll_ctl(gate->epoll_fd, EPOLL_CTL_DEL, gate->fds[i].fd, &event);
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++) {
        const struct pollfd *has = find_fd(gate->fds, wants[i].fd);

        if (wants[i].fd < 0 || (has && has->events == wants[i].events))
            continue;
        /* POLLIN and EPOLLIN have equal values, as all other event bits of poll and epoll have */
        event.events = (uint32_t)wants[i].events;
        epoll_ctl(gate->epoll_fd, has ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, wants[i].fd, &event);
    }
    memcpy(gate->fds, wants, sizeof(gate->fds));
}

void live_gate_set(struct rnic_live *live)
{
    struct poll_gate *gate = &live->gate;
    struct pollfd wants[RNIC_PORT_FDS];
    unsigned cnt = rnic_port_fds(live->port, wants);
    bool same = true;

    gate->waits = rnic_port_arm(live->port, gate->open);
    for (unsigned i = 0; i < RNIC_PORT_FDS; i++) {
        /* While the polling program receives the frames (the gate is shut), the epoll set contains
         * no port descriptor. Even a descriptor without events would cost the sender 0.4 us per
         * frame. */
        if (i >= cnt || !gate->open)
            wants[i] = (struct pollfd){.fd = -1};
        same &= wants[i].fd == gate->fds[i].fd && wants[i].events == gate->fds[i].events;
    }
    if (!same)
        change_set(gate, wants);
}

void live_gate_open(struct rnic_live *live)
{
    if (live->gate.open)
        return;
    live->gate.polls = 0;
    live->gate.open = true; /* the caller runs live_gate_set(), which updates the epoll set, before
                             * the thread sleeps */
}

/* Returns the number of polls that shut the gate. The program then receives the frames itself. */
static unsigned polls_max(const struct rnic_live *live)
{
    const struct poll_gate *gate = &live->gate;

    if (gate->armed)
        return live->attr.wire == RNIC_WIRE_SHM ? EMPTY_POLLS_ARMED_SHM : EMPTY_POLLS_ARMED;
    return gate->unpolled > 0 ? 1 : POLLS_MAX;
}

void live_polled(struct rnic_live *live, bool moved, uint64_t now)
{
    struct poll_gate *gate = &live->gate;

    atomic_store_explicit(&gate->polled_at, now, memory_order_relaxed);
    if ((moved && gate->armed) || !gate->open || !live->attached)
        return;
    if (++gate->polls < polls_max(live) || rnic_cq_any_armed(live->rnic))
        return;
    gate->open = gate->armed = false;
    if (gate->unpolled > 0)
        gate->unpolled--;
    atomic_store(&live->thread.nap, LIVE_NAP_NS);
    live_gate_set(live);
    /* Wakes the poll thread from a long sleep: it must soon check whether the program still polls.
     */
    if (atomic_load(&live->thread.sleep_until) > now + LIVE_NAP_MAX_NS)
        live_wake(live);
}

/* Moves the poll thread away from the CPU of a program that reads its memory in a loop: the program
 * would keep that CPU busy. Any other CPU is suitable, even that of the peer process that sends the
 * frames. This process waits for an answer, so the poll thread may use its CPU. The process then
 * wakes the poll thread without an interrupt between CPUs. */
void live_keep_away(struct rnic_live *live, int cpu)
{
    cpu_set_t set = live->thread.cpus;

    if (cpu == live->thread.avoided_cpu)
        return;
    live->thread.avoided_cpu = cpu;
    if (cpu >= 0)
        CPU_CLR(cpu, &set);
    if (CPU_COUNT(&set) > 0)
        sched_setaffinity(live->thread.tid, sizeof(set), &set);
}

void rnic_live_leave_poll(struct rnic_live *live, bool waits)
{
    struct poll_gate *gate = &live->gate;

    if (waits || gate->armed || !gate->open)
        gate->polls = 0;
    if (waits) {
        gate->armed = true;
        atomic_store_explicit(&gate->polled_at, 0, memory_order_relaxed);
        ack_policy_done(&live->ack);
    }
    if (!live->attached || gate->open)
        return;
    /* If the device delays an ACK, the frame that the program may be waiting for has already
     * arrived. So the poll thread need not receive (the gate stays shut). */
    if (!waits && (gate->unpolled == 0 || live->ack_waits))
        return;
    if (!waits)
        live_keep_away(live, sched_getcpu());
    gate->open = true;
    live_gate_set(live);
}

void live_gate_missed(struct rnic_live *live, uint64_t now)
{
    /* The poll thread has just received frames. In two cases, the program reads its memory without
     * polling: the gate is shut, so the program should have received the frames; or the program
     * polled lately, but not since the gate was opened. */
    if (!live->gate.open || (live_polled_lately(live, now) && live->gate.polls == 0))
        live->gate.unpolled = UNPOLLED_MAX;
}

bool live_polled_lately(const struct rnic_live *live, uint64_t now)
{
    return atomic_load_explicit(&live->gate.polled_at, memory_order_relaxed) + POLLED_LATELY_NS >
           now;
}

bool live_polls_now(const struct rnic_live *live, uint64_t now)
{
    return !atomic_load_explicit(&live->gate.open, memory_order_relaxed) &&
           atomic_load_explicit(&live->gate.polled_at, memory_order_relaxed) + POLLS_NOW_NS > now;
}
