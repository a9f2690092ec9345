/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the gate (port/live/gate.c):
 * - The poll thread of a live device must sleep on all descriptors that its port has at that time.
 *   The port of this test has two event descriptors. It can lose and regain each of them, as the
 *   pcap port does if a link fails.
 * - The gate stays open until a requested completion event is raised, because the program may block
 *   at any time. Otherwise the poll thread would nap while the program waits.
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
static atomic_uint shuts;       /* number of times that the gate was shut */
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

static bool gate_arm(struct rnic_port *port, bool on)
{
    (void)port;
    atomic_fetch_add(&shuts, !on);
    return true;
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
    .arm = gate_arm,
};

static struct rnic_live *open_live(void)
{
    struct rnic_iface iface = {.name = "mem",
                               .index = 1,
                               .up = true,
                               .mtu = 4300,
                               .path_mtu = 4096,
                               .mac = {2, 0, 0, 0, 0, 1},
                               .gid_cnt = 1};
    const struct rnic_live_attr attr = {.seed = 1};
    static struct rnic_port port = {.ops = &ops};
    struct rnic_live *live = NULL;
    struct error why;

    for (unsigned i = 0; i < 2; i++)
        event_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    iface.gid[0] = (struct rnic_gid){.type = RNIC_GID_ROCE_V2,
                                     .gid = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
    atomic_store(&has, 3);
    CU_ASSERT_FATAL(rnic_live_open_port(&attr, &iface, &port, &live, &why) == 0);
    return live;
}

static void close_live(struct rnic_live *live)
{
    rnic_live_close(live);
    close(event_fd[0]);
    close(event_fd[1]);
}

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
    struct rnic_live *live = open_live();

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
    close_live(live);
}

/* Polls an empty CQ as ibv_poll_cq() does. Returns the number of times that the gate was shut. */
static unsigned shuts_of_polls(struct rnic_live *live, struct rnic_cq *cq, unsigned cnt)
{
    const unsigned before = atomic_load(&shuts);
    struct rnic_wc wc;

    for (unsigned i = 0; i < cnt; i++) {
        rnic_live_lock(live);
        EXPECT_EQ(rnic_cq_poll(cq, &wc, 1), 0);
        rnic_live_drive(live);
        rnic_live_unlock(live);
    }
    return atomic_load(&shuts) - before;
}

static void the_gate_stays_open_until_the_requested_event(void)
{
    struct rnic_live *live = open_live();
    struct rnic *rnic = rnic_live_lock(live);
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_cq *busy, *idle; /* the program requests an event of `busy`, or of both */
    struct rnic_pd *pd;
    struct rnic_qp *qp;
    struct rnic_wc wc;

    CU_ASSERT_FATAL(rnic_pd_new(rnic, &pd) == 0);
    CU_ASSERT_FATAL(rnic_cq_new(rnic, 8, &busy) == 0);
    CU_ASSERT_FATAL(rnic_cq_new(rnic, 8, &idle) == 0);
    init.send_cq = init.recv_cq = busy;
    CU_ASSERT_FATAL(rnic_qp_new(pd, &init, &qp) == 0);
    EXPECT_EQ(rnic_qp_modify(qp, &(struct rnic_qp_attr){.state = RNIC_QPS_INIT, .pkey = 0xffff},
                             rnic_live_now()),
              0);
    rnic_post_recv(qp, &(struct rnic_recv_wr){0});
    rnic_cq_arm(busy, false);
    rnic_live_leave_poll(live, true);
    rnic_live_unlock(live);
    EXPECT_EQ(shuts_of_polls(live, busy, 5000), 0);

    /* the flushed receive raises the event: now the polling program receives the frames */
    rnic_live_lock(live);
    EXPECT_EQ(rnic_qp_modify(qp, &(struct rnic_qp_attr){.state = RNIC_QPS_ERR}, rnic_live_now()),
              0);
    CU_ASSERT(rnic_cq_notified(rnic) == busy);
    EXPECT_EQ(rnic_cq_poll(busy, &wc, 1), 1);
    rnic_live_unlock(live);
    CU_ASSERT(shuts_of_polls(live, busy, 5000) > 0);

    /* a destroyed CQ raises no event */
    rnic_live_lock(live);
    rnic_cq_arm(idle, true);
    rnic_live_leave_poll(live, true);
    rnic_live_unlock(live);
    EXPECT_EQ(shuts_of_polls(live, busy, 5000), 0);
    rnic_live_lock(live);
    EXPECT_EQ(rnic_cq_del(idle), 0);
    rnic_live_unlock(live);
    CU_ASSERT(shuts_of_polls(live, busy, 5000) > 0);
    close_live(live);
}

SUITE("port.gate", TEST(every_descriptor_wakes_after_another_was_lost_or_regained),
      TEST(the_gate_stays_open_until_the_requested_event))
