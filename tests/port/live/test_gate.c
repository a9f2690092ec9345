/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the gate (port/live/gate.c): the poll thread of a live device must sleep on all descriptors
 * that its port has at that time. The port of this test has two event descriptors. It can lose and
 * regain each of them, as the pcap port does if a link fails.
 */
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "port/frameio/port.h"
#include "port/live/live.h"
#include "support/suite.h"

#define SOON_MS  1000 /* ms; below RNIC_LOOK_NS, the longest sleep of the poll thread */
#define ATTEMPTS 3u   /* a busy machine can delay the poll thread */

static int event_fd[2];
static atomic_uint has;         /* bit set of the event descriptors that the port has */
static atomic_uint received[2]; /* number of frames received from each event descriptor */
static atomic_uint sleeps;      /* number of fds() calls; each sleep begins with one */

static int gate_recv(struct rnic_port *port, unsigned max, rnic_frame_fn *fn, void *user,
                     uint64_t now)
{
    int cnt = 0;

    (void)port, (void)max, (void)fn, (void)user, (void)now;
    for (unsigned i = 0; i < 2; i++) {
        eventfd_t value;

        if ((atomic_load(&has) >> i & 1) && eventfd_read(event_fd[i], &value) == 0) {
            atomic_fetch_add(&received[i], 1);
            cnt++;
        }
    }
    return cnt;
}

static unsigned gate_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                          uint64_t now)
{
    (void)port, (void)frames, (void)now;
    return cnt;
}

static uint64_t gate_deadline(const struct rnic_port *port)
{
    (void)port;
    return UINT64_MAX;
}

static unsigned gate_fds(const struct rnic_port *port, struct pollfd *fds)
{
    unsigned cnt = 0;

    (void)port;
    for (unsigned i = 0; i < 2; i++)
        if (atomic_load(&has) >> i & 1)
            fds[cnt++] = (struct pollfd){.fd = event_fd[i], .events = POLLIN};
    atomic_fetch_add(&sleeps, 1);
    return cnt;
}

static void gate_stats(struct rnic_port *port, struct rnic_port_stats *out)
{
    (void)port, (void)out;
}

static void gate_close(struct rnic_port *port)
{
    (void)port;
}

static const struct rnic_port_ops ops = {
    .recv = gate_recv,
    .send = gate_send,
    .deadline = gate_deadline,
    .fds = gate_fds,
    .stats = gate_stats,
    .close = gate_close,
    .drop = gate_close,
};

/* Signals a descriptor after the poll thread has gone to sleep. Returns whether the thread receives
 * soon. */
static bool wakes_once(unsigned i)
{
    unsigned before = atomic_load(&received[i]), slept;

    do {
        slept = atomic_load(&sleeps);
        usleep(30000);
    } while (slept != atomic_load(&sleeps));
    eventfd_write(event_fd[i], 1);
    for (unsigned ms = 0; ms < SOON_MS && atomic_load(&received[i]) == before; ms++)
        usleep(1000);
    return atomic_load(&received[i]) != before;
}

static bool wakes(unsigned i)
{
    unsigned attempt = 0;

    while (attempt < ATTEMPTS && !wakes_once(i))
        attempt++;
    return attempt < ATTEMPTS;
}

static void every_descriptor_wakes_after_another_was_lost_or_regained(void)
{
    static const unsigned sets[] = {3, 2, 3, 1, 3, 2, 1, 3};
    struct rnic_iface iface = {.name = "mem",
                               .index = 1,
                               .up = true,
                               .mtu = 4300,
                               .path_mtu = 4096,
                               .mac = {2, 0, 0, 0, 0, 1},
                               .gid_cnt = 1};
    struct rnic_live_attr attr = {.seed = 1};
    struct rnic_port port = {.ops = &ops};
    struct rnic_live *live;
    struct error why;

    for (unsigned i = 0; i < 2; i++)
        event_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    iface.gid[0] = (struct rnic_gid){.type = RNIC_GID_ROCE_V2,
                                     .gid = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
    atomic_store(&has, 3);
    CU_ASSERT_FATAL(rnic_live_open_port(&attr, &iface, &port, &live, &why) == 0);
    for (unsigned k = 0; k < sizeof(sets) / sizeof(sets[0]); k++) {
        atomic_store(&has, sets[k]);
        /* wakes the poll thread, which then sleeps on the new descriptors */
        for (unsigned i = 0; i < 2; i++)
            eventfd_write(event_fd[i], 1);
        for (unsigned i = 0; i < 2; i++)
            if (sets[k] >> i & 1 && !wakes(i))
                suite_fail(__FILE__, __LINE__,
                           "step %u: descriptor %u does not wake the poll thread", k, i);
    }
    rnic_live_close(live);
    close(event_fd[0]);
    close(event_fd[1]);
}

SUITE("port.gate", TEST(every_descriptor_wakes_after_another_was_lost_or_regained))
