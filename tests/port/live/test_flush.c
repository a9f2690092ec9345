/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * A live device flushes its port after each batch of sent frames, so that a recording has all
 * frames that were sent before the program is killed. The port of the test accepts only as many
 * frames as the test permits.
 */
#include <string.h>
#include <time.h>
#include "port/live/live.h"
#include "port/wrap.h"
#include "support/port_mem.h"
#include "support/suite.h"

#define REQUESTS 8u
#define TURNS    20u

/* A port that loses all frames that it accepts. The device's lock protects the members. */
struct narrow {
    struct wrap wrap;
    unsigned room;      /* number of frames that the port still accepts */
    unsigned sent;      /* number of frames that the port accepted */
    unsigned unflushed; /* number of those after the last flush */
};

static unsigned narrow_send(struct rnic_port *port, struct rnic_frame *frames, unsigned cnt,
                            uint64_t now)
{
    struct narrow *narrow = (struct narrow *)port;
    unsigned done = cnt < narrow->room ? cnt : narrow->room;

    (void)frames;
    (void)now;
    narrow->room -= done;
    narrow->sent += done;
    narrow->unflushed += done;
    return done;
}

static void narrow_flush(struct rnic_port *port)
{
    ((struct narrow *)port)->unflushed = 0;
}

/* Posts REQUESTS SENDs on a new QP. Needs the lock. */
static void post_requests(struct rnic *rnic)
{
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND};
    struct rnic_qp_init init = {.type = RNIC_QPT_RC,
                                .qpn = 0x300,
                                .max_recv_wr = 1,
                                .max_recv_sge = 1,
                                .max_send_wr = REQUESTS,
                                .max_send_sge = 1};
    struct rnic_qp_attr attr = {
        .pkey = 0xffff,
        .path_mtu = 1024,
        .timeout = 20,
        .retry_cnt = 7,
        .dest_qpn = 0x301,
        .av = {.dmac = {2, [5] = 2}, .dgid = {0xfd, [15] = 2}, .hop_limit = 1}};
    struct rnic_qp *qp = NULL;
    struct rnic_pd *pd;

    EXPECT_EQ(rnic_pd_new(rnic, &pd), 0);
    EXPECT_EQ(rnic_cq_new(rnic, REQUESTS, &init.send_cq), 0);
    init.recv_cq = init.send_cq;
    CU_ASSERT_FATAL(rnic_qp_new(pd, &init, &qp) == 0);
    for (int state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        attr.state = (enum rnic_qp_state)state;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, rnic_live_now()), 0);
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        EXPECT_EQ(rnic_post_send(qp, &wr), 0);
}

static void frames_of_a_full_port_are_flushed(void)
{
    struct rnic_iface iface = {.mac = {2, [5] = 1},
                               .path_mtu = 1024,
                               .gid = {{.gid = {0xfd, [15] = 1}, .type = RNIC_GID_ROCE_V2}},
                               .gid_cnt = 1};
    struct rnic_live_attr attr = {.seed = 1};
    struct narrow narrow = {.room = 0};
    struct rnic_port *pair[2];
    struct rnic_live *live;
    struct error why;

    CU_ASSERT_FATAL(rnic_port_mem_pair(8, pair, &why) == 0);
    wrap_port(&narrow.wrap, pair[0]);
    narrow.wrap.ops.send = narrow_send;
    narrow.wrap.ops.flush = narrow_flush;
    CU_ASSERT_FATAL(rnic_live_open_port(&attr, &iface, &narrow.wrap.port, &live, &why) == 0);
    post_requests(rnic_live_lock(live));
    rnic_live_unlock(live);
    for (unsigned sent = 1; sent <= REQUESTS; sent++) {
        rnic_live_lock(live);
        narrow.room = 1;
        rnic_live_unlock(live);
        for (unsigned turn = 0; turn < TURNS; turn++) { /* the device's own thread may send it */
            bool done;

            rnic_live_lock(live);
            done = narrow.sent >= sent;
            rnic_live_unlock(live);
            if (done)
                break;
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        rnic_live_lock(live);
        EXPECT_EQ(narrow.sent, sent);
        EXPECT_EQ(narrow.unflushed, 0);
        rnic_live_unlock(live);
    }
    rnic_live_lock(live);
    narrow.room = UINT32_MAX;
    rnic_live_unlock(live);
    rnic_live_close(live);
    rnic_port_close(pair[1]);
}

SUITE("port.flush", TEST(frames_of_a_full_port_are_flushed))
