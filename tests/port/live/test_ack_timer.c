/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The ACK timer and delayed ACKs of a live device, in virtual time: clock_gettime() returns the
 * time of the test. A frame leaves the port 13 us after the device passed it to the port.
 */
#include <stdatomic.h>
#include <time.h>
#include "base/clock.h"
#include "port/live/ack_policy.h"
#include "port/live/live.h"
#include "port/wrap.h"
#include "support/port_mem.h"
#include "support/suite.h"

#define LEAVE_NS     UINT64_C(13000) /* time until a frame leaves the port */
#define TIMEOUT      8u
#define T_NS         (UINT64_C(4096) << TIMEOUT)
#define STEP_NS      UINT64_C(1000)
#define RETRY_CNT    3u
#define LONG_TIMEOUT 14u /* long enough for delayed ACKs */
#define FIRST_QPN    0x300u

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

/* A port that stores when its first frames were sent, and loses all frames if `loses` is set. */
struct timed {
    struct wrap wrap;
    bool loses;
    uint64_t sent[RETRY_CNT + 2], left[RETRY_CNT + 2]; /* time at which each frame was passed to the
                                                        * port, and left it, ns */
    unsigned cnt;
};

static unsigned timed_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                           uint64_t now)
{
    struct timed *timed = (struct timed *)port;

    for (unsigned i = 0; i < cnt && timed->cnt < RETRY_CNT + 2; i++) {
        timed->sent[timed->cnt] = virtual_now;
        virtual_now += LEAVE_NS;
        timed->left[timed->cnt++] = virtual_now;
    }
    return timed->loses ? cnt : rnic_port_send(timed->wrap.behind, frames, cnt, now);
}

/* Opens live device 1 or 2. */
static struct rnic_live *open_live(struct timed *timed, struct rnic_port *behind, uint8_t number)
{
    struct rnic_iface iface = {.mac = {2, [5] = number},
                               .path_mtu = 1024,
                               .gid = {{.gid = {0xfd, [15] = number}, .type = RNIC_GID_ROCE_V2}},
                               .gid_cnt = 1};
    struct rnic_live_attr how = {.seed = 1};
    struct rnic_live *live = NULL;
    struct error why;

    wrap_port(&timed->wrap, behind);
    timed->wrap.ops.send = timed_send;
    CU_ASSERT_FATAL(rnic_live_open_port(&how, &iface, &timed->wrap.port, &live, &why) == 0);
    return live;
}

/* Creates a QP of device `number` that is connected with the QP of the other device. Locks the
 * device. */
static struct rnic_qp *lock_with_qp(struct rnic_live *live, uint8_t number, uint8_t timeout,
                                    struct rnic_cq **cq)
{
    uint8_t other = number == 1 ? 2 : 1;
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = FIRST_QPN + number,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = 1,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {
        .pkey = 0xffff,
        .access = RNIC_ACCESS_ALL,
        .path_mtu = 1024,
        .timeout = timeout,
        .retry_cnt = RETRY_CNT,
        .dest_qpn = FIRST_QPN + other,
        .av = {.dmac = {2, [5] = other}, .dgid = {0xfd, [15] = other}, .hop_limit = 1}};
    struct rnic_qp *qp = NULL;
    struct rnic_pd *pd;
    struct rnic *rnic = rnic_live_lock(live);

    EXPECT_EQ(rnic_pd_new(rnic, &pd), 0);
    EXPECT_EQ(rnic_cq_new(rnic, 4, cq), 0);
    init.send_cq = init.recv_cq = *cq;
    EXPECT_EQ(rnic_qp_new(pd, &init, &qp), 0);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        attr.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, rnic_live_now()), 0);
    }
    return qp;
}

/* T is the ACK timeout of the QP. Each time, the timer expires at least T and at most 4T after the
 * request left the port (R150). */
static void ack_timer_expires_between_t_and_4t_after_the_frame_left(void)
{
    struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND, .flags = RNIC_SEND_SIGNALED};
    struct timed timed = {.loses = true};
    struct rnic_port *pair[2];
    struct rnic_live *live;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct rnic_wc wc;
    struct error why;
    bool done = false;

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    live = open_live(&timed, pair[0], 1);
    qp = lock_with_qp(live, 1, TIMEOUT, &cq);
    EXPECT_EQ(rnic_post_send(qp, &wr), 0);
    for (unsigned i = 0; !done && i < 100000; i++, virtual_now += STEP_NS) {
        rnic_live_drive(live);
        done = rnic_cq_poll(cq, &wc, 1) > 0;
        if (done && timed.cnt < RETRY_CNT + 2)
            timed.sent[timed.cnt++] = virtual_now; /* the last expiry sends no frame */
    }
    rnic_live_unlock(live);
    rnic_live_close(live);
    rnic_port_close(pair[1]);

    CU_ASSERT(done && wc.status == RNIC_WC_RETRY_EXC_ERR);
    EXPECT_EQ(timed.cnt, RETRY_CNT + 2);
    for (unsigned i = 1; i < timed.cnt; i++) {
        uint64_t gap = timed.sent[i] - timed.left[i - 1];

        if (gap < T_NS || gap > 4 * T_NS + STEP_NS)
            suite_fail(__FILE__, __LINE__, "expiry %u after %llu ns", i, (unsigned long long)gap);
    }
}

/* A new request would start another delay. The end of a delay must not start one. */
static void a_polling_program_acknowledges_a_lone_request_after_one_delay(void)
{
    struct rnic_send_wr wr = {.opcode = RNIC_WR_WRITE};
    struct timed timed[2] = {0};
    struct rnic_live *live[2];
    struct rnic_port *pair[2];
    struct rnic_qp *qp[2];
    struct rnic_cq *cq;
    struct error why;

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    for (uint8_t i = 0; i < 2; i++) {
        live[i] = open_live(&timed[i], pair[i], i + 1);
        qp[i] = lock_with_qp(live[i], i + 1, LONG_TIMEOUT, &cq);
    }
    EXPECT_EQ(rnic_post_send(qp[0], &wr), 0);
    rnic_live_drive(live[0]);
    for (unsigned i = 0; timed[1].cnt == 0 && i < 1000; i++, virtual_now += STEP_NS)
        rnic_live_drive(live[1]);
    for (unsigned i = 0; i < 2; i++) {
        rnic_live_unlock(live[i]);
        rnic_live_close(live[i]);
    }

    EXPECT_EQ(timed[0].cnt, 1);
    CU_ASSERT_FATAL(timed[1].cnt == 1);
    CU_ASSERT(timed[1].sent[0] - timed[0].left[0] <= ACK_NEXT_NS + 2 * STEP_NS);
}

SUITE("port.ack_timer", TEST(ack_timer_expires_between_t_and_4t_after_the_frame_left),
      TEST(a_polling_program_acknowledges_a_lone_request_after_one_delay))
