/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The ACK timer of a live device, in virtual time: clock_gettime() returns the time of the test.
 * The port loses all frames. A frame leaves the port 13 us after the device passed it to the port.
 */
#include <stdatomic.h>
#include <time.h>
#include "base/clock.h"
#include "port/live/live.h"
#include "port/wrap.h"
#include "support/port_mem.h"
#include "support/suite.h"

#define LEAVE_NS  UINT64_C(13000) /* time until a frame leaves the port */
#define TIMEOUT   8u
#define T_NS      (UINT64_C(4096) << TIMEOUT)
#define STEP_NS   UINT64_C(1000)
#define RETRY_CNT 3u

/* The linker passes all calls of clock_gettime() to the first of these functions. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *at); /* NOLINT(*reserved-identifier*) */
int __real_clock_gettime(clockid_t clock, struct timespec *at); /* NOLINT(*reserved-identifier*) */

static _Atomic uint64_t virtual_now = UINT64_C(1000000000);

int __wrap_clock_gettime(clockid_t clock, struct timespec *at) /* NOLINT(*reserved-identifier*) */
{
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, at);
    *at = rnic_timespec(virtual_now);
    return 0;
}

/* A port that loses all frames. */
struct lossy {
    struct wrap wrap;
    uint64_t sent[RETRY_CNT + 2], left[RETRY_CNT + 2]; /* time at which each frame was passed to the
                                                        * port, and left it, ns */
    unsigned cnt;
};

static unsigned lossy_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                           uint64_t now)
{
    struct lossy *lossy = (struct lossy *)port;

    (void)frames;
    (void)now;
    for (unsigned i = 0; i < cnt && lossy->cnt < RETRY_CNT + 2; i++) {
        lossy->sent[lossy->cnt] = virtual_now;
        virtual_now += LEAVE_NS;
        lossy->left[lossy->cnt++] = virtual_now;
    }
    return cnt;
}

static struct rnic_qp *connected_qp(struct rnic_live *live, struct rnic_cq **cq)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {.pkey = 0xffff,
                                .path_mtu = 1024,
                                .timeout = TIMEOUT,
                                .retry_cnt = RETRY_CNT,
                                .dest_qpn = 0x300,
                                .av = {.dmac = {2}, .dgid = {0xfd, [15] = 2}, .hop_limit = 1}};
    struct rnic_qp *qp = NULL;
    struct rnic_pd *pd;
    struct rnic *rnic = rnic_live_lock(live);

    EXPECT_EQ(rnic_pd_new(rnic, &pd), 0);
    EXPECT_EQ(rnic_cq_new(rnic, 4, cq), 0);
    init.send_cq = init.recv_cq = *cq;
    init.qpn = rnic_live_qpn_get(live);
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), 0);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        attr.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, rnic_live_now()), 0);
    }
    rnic_live_unlock(live);
    return qp;
}

/* T is the ACK timeout of the QP. Each time, the timer expires at least T and at most 4T after the
 * request left the port (R150). */
static void ack_timer_expires_between_t_and_4t_after_the_frame_left(void)
{
    struct rnic_iface iface = {.mac = {2, [5] = 1},
                               .path_mtu = 1024,
                               .gid = {{.gid = {0xfd}, .type = RNIC_GID_ROCE_V2}},
                               .gid_cnt = 1};
    struct rnic_live_attr how = {.seed = 1};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_SIGNALED};
    struct lossy lossy = {.cnt = 0};
    struct rnic_port *pair[2];
    struct rnic_live *live;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_wc wc;
    struct error why;
    bool done = false;

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    wrap_port(&lossy.wrap, pair[0]);
    lossy.wrap.ops.send = lossy_send;
    CU_ASSERT_FATAL(rnic_live_open_port(&how, &iface, &lossy.wrap.port, &live, &why) == 0);
    qp = connected_qp(live, &cq);
    rnic_live_lock(live);
    EXPECT_EQ(rnic_post_send(qp, &wr), 0);
    for (unsigned i = 0; !done && i < 100000; i++, virtual_now += STEP_NS) {
        rnic_live_drive(live);
        done = rnic_cq_poll(cq, &wc, 1) > 0;
        if (done && lossy.cnt < RETRY_CNT + 2)
            lossy.sent[lossy.cnt++] = virtual_now; /* the last expiry sends no frame */
    }
    rnic_live_unlock(live);
    rnic_live_close(live);
    rnic_port_close(pair[1]);

    CU_ASSERT(done && wc.status == RNIC_WC_RETRY_EXC_ERR);
    EXPECT_EQ(lossy.cnt, RETRY_CNT + 2);
    for (unsigned i = 1; i < lossy.cnt; i++) {
        uint64_t gap = lossy.sent[i] - lossy.left[i - 1];

        if (gap < T_NS || gap > 4 * T_NS + STEP_NS)
            suite_fail(__FILE__, __LINE__, "expiry %u after %llu ns", i, (unsigned long long)gap);
    }
}

SUITE("port.ack_timer", TEST(ack_timer_expires_between_t_and_4t_after_the_frame_left))
