/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Isolation: errors and load on some QPs do not change the packets of another QP of the same device
 * (R251).
 *
 * The test runs once for each service. First the observed QP is alone. Then eight other QPs of its
 * device cause errors or load, towards the same peer device or another one. The packets of the
 * observed QP must be equal in both runs, one by one, with their times. The network has unlimited
 * bandwidth, so every difference results from the devices.
 */
#include <stdlib.h>
#include <string.h>
#include "support/fabric.h"
#include "support/suite.h"
#include "wire/codes.h"
#include "wire/crc32.h"

#define MS       UINT64_C(1000000)
#define STORMERS 8u
#define MESSAGES 12u
#define SLOT     8192u
#define MEM_LEN  (4 * MESSAGES * SLOT)
#define HEARD    4096u

enum storm {
    QUIET,
    LOSS,       /* every second packet of the other QPs is lost */
    CORRUPTION, /* every packet of the other QPs to their responders is corrupted */
    COPIES,     /* every packet of the other QPs to their responders arrives twice, 30 us apart */
    RNR,        /* endless RNR NAKs, with the shortest RNR timer */
    BAD_KEY,    /* each responder refuses requests with an access error */
    GIVE_UP,    /* requesters get no responses, so they retry and then fail */
    CNPS,       /* every packet is marked; both ends use congestion management */
    READS,      /* the largest number of READs in flight, with the greatest length */
    CLOSED,     /* QPs are destroyed and connected again continuously */
    STORMS
};

static const enum rnic_qp_type types[] = {RNIC_QPT_RC, RNIC_QPT_UC, RNIC_QPT_UD, RNIC_QPT_XRC_SEND};

/* Observed QP: side 0 on device 0, side 1 on device 1. */
struct quiet {
    struct rnic_qp *qp[2], *target[2];
    struct rnic_srq *srq[2];
    struct rnic_ah *ah[2];
    struct rnic_cq *cq[2];
};

struct heard {
    uint64_t now;
    size_t len;
    uint32_t crc;
    uint32_t psn;
    uint8_t opcode;
};

static struct fabric fabric;
static struct quiet quiet;
/* Packets of the observed QP: `alone` has its packets without load on other QPs, `heard` its
 * packets with load. There is one list for each direction, because the order of packets that two
 * devices send at the same time is undefined. */
static struct heard alone[2][HEARD], heard[2][HEARD];
static unsigned alone_cnt[2], heard_cnt[2];

static uint32_t qpn_of(unsigned side, bool target)
{
    return 0x500 + 2 * side + target;
}

static void hear(void *ctx, const struct simnet_event *event)
{
    const struct roce_pkt *pkt = event->pkt;
    unsigned from = event->from;

    (void)ctx;
    if (pkt->bth.dest_qp < qpn_of(0, false) || pkt->bth.dest_qp > qpn_of(1, true))
        return;
    if (heard_cnt[from] == HEARD)
        abort();
    heard[from][heard_cnt[from]++] =
        (struct heard){event->now, pkt->wire_len, roce_crc32(0, pkt->frame, pkt->wire_len),
                       pkt->bth.psn, pkt->bth.opcode};
}

/* ---- the QP without faults ------------------------------------------------------------------- */

static void make_quiet(enum rnic_qp_type type, unsigned s)
{
    bool xrc = type == RNIC_QPT_XRC_SEND;
    struct fabric_dev *dev = &fabric.dev[s];
    struct rnic_qp_init init = {.type = type,
                                .qpn = qpn_of(s, false),
                                .max_recv_wr = MESSAGES,
                                .max_recv_sge = 1,
                                .max_send_wr = MESSAGES,
                                .max_send_sge = 1};
    struct rnic_srq_init srq = {.max_wr = MESSAGES, .max_sge = 1, .srqn = 0x99};

    EXPECT_EQ(rnic_cq_new(dev->rnic, 4 * MESSAGES, &quiet.cq[s]), RNIC_OK);
    init.send_cq = quiet.cq[s];
    init.recv_cq = xrc ? NULL : quiet.cq[s];
    EXPECT_EQ(rnic_qp_new(dev->pd, &init, &quiet.qp[s]), RNIC_OK);
    quiet.target[s] = quiet.qp[s];
    if (!xrc)
        return;
    init = (struct rnic_qp_init){.type = RNIC_QPT_XRC_RECV, .qpn = qpn_of(s, true)};
    EXPECT_EQ(rnic_xrcd_new(dev->rnic, &init.xrcd), RNIC_OK);
    srq.xrcd = init.xrcd;
    srq.cq = quiet.cq[s];
    EXPECT_EQ(rnic_srq_new(dev->pd, &srq, &quiet.srq[s]), RNIC_OK);
    EXPECT_EQ(rnic_qp_new(dev->pd, &init, &quiet.target[s]), RNIC_OK);
}

static void connect_quiet(enum rnic_qp_type type, unsigned s)
{
    bool xrc = type == RNIC_QPT_XRC_SEND;
    struct rnic_qp_attr attr = {.access = RNIC_ACCESS_ALL,
                                .pkey = 0xFFFF,
                                .qkey = 0x11,
                                .path_mtu = 1024,
                                .rq_psn = 0xFFFFF0 + !s,
                                .sq_psn = 0xFFFFF0 + s,
                                .max_dest_rd_atomic = 4,
                                .max_rd_atomic = 4,
                                .min_rnr_timer = 1,
                                .timeout = 9,
                                .retry_cnt = 7,
                                .rnr_retry = 7};

    fabric_av(&fabric, !s, &attr.av);
    for (enum rnic_qp_state state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        attr.state = state;
        attr.dest_qpn = qpn_of(!s, xrc);
        EXPECT_EQ(rnic_qp_modify(quiet.qp[s], &attr, 0), RNIC_OK);
        attr.dest_qpn = qpn_of(!s, false);
        if (xrc)
            EXPECT_EQ(rnic_qp_modify(quiet.target[s], &attr, 0), RNIC_OK);
    }
    if (type == RNIC_QPT_UD)
        EXPECT_EQ(rnic_ah_new(fabric.dev[s].pd, &attr.av, &quiet.ah[s]), RNIC_OK);
}

static void quiet_recv(unsigned s, unsigned i)
{
    const struct rnic_sge sge = {(2 * MESSAGES + i) * SLOT, SLOT, FABRIC_KEY};
    const struct rnic_recv_wr wr = {.wr_id = i, .sge = &sge, .sge_cnt = 1};

    EXPECT_EQ(quiet.srq[s] ? rnic_post_srq_recv(quiet.srq[s], &wr)
                           : rnic_post_recv(quiet.qp[s], &wr),
              RNIC_OK);
}

static void quiet_send(enum rnic_qp_type type, unsigned s, unsigned i)
{
    bool reliable = type == RNIC_QPT_RC || type == RNIC_QPT_XRC_SEND;
    const struct rnic_sge sge = {i * SLOT, type == RNIC_QPT_UD ? 300 * i : 600 * i, FABRIC_KEY};
    const struct rnic_send_wr wr = {.wr_id = i,
                                    .opcode = reliable && i % 3 == 0 ? RNIC_WR_READ : RNIC_WR_SEND,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = (3 * MESSAGES + i) * SLOT,
                                    .rkey = FABRIC_KEY,
                                    .ah = quiet.ah[s],
                                    .remote_qpn = qpn_of(!s, false),
                                    .remote_qkey = 0x11,
                                    .srqn = 0x99};

    EXPECT_EQ(rnic_post_send(quiet.qp[s], &wr), RNIC_OK);
}

/* ---- the failing QPs ------------------------------------------------------------------------- */

static void rules(enum storm storm, const struct fabric_link *link)
{
    struct simnet_rule rule = {.from = (int)fabric.dev[0].node, .dest_qp = link->qpn[1]};

    switch (storm) {
    case LOSS:
        for (unsigned i = 0; i < SIMNET_RULES / STORMERS; i++) {
            rule.nth = 2 * i + 1;
            simnet_rule(&fabric.net, &rule);
        }
        break;
    case CORRUPTION: rule.action = SIMNET_CORRUPT_PAYLOAD; break;
    case COPIES:
        rule.action = SIMNET_REPEAT;
        rule.delay_ns = 30000;
        break;
    case CNPS: rule.action = SIMNET_MARK; break;
    default: break;
    }
    if (storm == CORRUPTION || storm == COPIES || storm == CNPS || storm == GIVE_UP)
        simnet_rule(&fabric.net, &rule);
}

static void stir(enum storm storm, unsigned link, unsigned i)
{
    uint32_t far = storm == BAD_KEY ? 2 * MEM_LEN : (MESSAGES + link) * SLOT;
    enum rnic_wr_opcode opcode = storm == RNR     ? RNIC_WR_SEND
                                 : storm == READS ? RNIC_WR_READ
                                                  : RNIC_WR_WRITE;

    fabric_send(&fabric, link, 0, i, opcode, (MESSAGES + link) * SLOT, SLOT, far);
    if (storm == READS)
        fabric_send(&fabric, link, 1, i, opcode, (MESSAGES + link) * SLOT, SLOT, far);
    if (storm == CLOSED) {
        const struct rnic_qp_attr err = {.state = RNIC_QPS_ERR};

        rnic_qp_modify(fabric.link[link].qp[i & 1], &err, fabric.net.now);
    }
}

/* ---- comparing the two runs ------------------------------------------------------------------ */

static void run(enum rnic_qp_type type, enum storm storm)
{
    const struct fabric_wire wire = {.delay_ns = 2000};
    const struct simnet_path path = {.delay_ns = 2000};
    unsigned done = 0;
    struct rnic_ecn ecn;
    struct rnic_wc wc;

    rnic_ecn_defaults(&ecn);
    memset(&quiet, 0, sizeof(quiet));
    fabric_init(&fabric, 1, 3, ROCE_ENCAP_V2_IP4, MEM_LEN, &ecn, &wire);
    simnet_paths(&fabric.net, &path);
    fabric.net.observe = hear;
    heard_cnt[0] = heard_cnt[1] = 0;
    make_quiet(type, 0);
    make_quiet(type, 1);
    connect_quiet(type, 0);
    connect_quiet(type, 1);
    for (unsigned i = 0; i < STORMERS; i++)
        fabric_connect(&fabric, 0, 1 + i % 2, 64, 1024);
    for (unsigned i = 0; i < STORMERS; i++)
        rules(storm, &fabric.link[i]);
    for (unsigned i = 0; i < MESSAGES; i++) {
        for (unsigned link = 0; storm && link < STORMERS; link++)
            stir(storm, link, i);
        for (unsigned s = 0; s < 2; s++) {
            quiet_recv(s, i);
            quiet_send(type, s, i);
        }
        simnet_run(&fabric.net, 7000 * (i + 1));
        fabric.net.now = 7000 * (i + 1); /* the network may have become idle earlier */
    }
    simnet_run(&fabric.net, fabric.net.now + 40 * MS);
    for (unsigned s = 0; s < 2; s++) {
        while (rnic_cq_poll(quiet.cq[s], &wc, 1) == 1) {
            EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
            done++;
        }
    }
    CU_ASSERT(done >= 4 * MESSAGES - 8);
}

/* Asserts that the errors or the load occurred: they must appear in the counters or completions. */
static void check_storm(enum storm storm)
{
    struct rnic_counters c = fabric_counters(&fabric, 0);
    struct rnic_counters d = fabric_counters(&fabric, 1);
    struct rnic_wc wc;
    unsigned errors = 0;

    while (rnic_cq_poll(fabric.dev[0].cq, &wc, 1) == 1)
        errors += wc.status != RNIC_WC_SUCCESS;
    switch (storm) {
    case LOSS: CU_ASSERT(c.tx_retransmitted > 20); break;
    case CORRUPTION: CU_ASSERT(d.rx_icrc_encapsulated > 100 && errors > STORMERS); break;
    case COPIES: CU_ASSERT(d.duplicate_request > 100); break;
    case RNR: CU_ASSERT(c.rnr_nak_retry_err > 1000); break;
    case BAD_KEY: EXPECT_EQ(c.req_remote_access_errors, STORMERS); break;
    case GIVE_UP: EXPECT_EQ(c.retry_exceeded_err, STORMERS); break;
    case CNPS: CU_ASSERT(c.rp_cnp_handled > 10); break;
    case READS: CU_ASSERT(d.rx_read_requests >= STORMERS / 2 * MESSAGES); break;
    case CLOSED: CU_ASSERT(errors > 0); break;
    default: break;
    }
}

static void compare(enum rnic_qp_type type, enum storm storm, unsigned from)
{
    EXPECT_EQ(heard_cnt[from], alone_cnt[from]);
    for (unsigned i = 0; i < alone_cnt[from] && i < heard_cnt[from]; i++) {
        const struct heard *a = &alone[from][i];
        const struct heard *h = &heard[from][i];

        if (a->now != h->now || a->len != h->len || a->crc != h->crc) {
            suite_fail(__FILE__, __LINE__,
                       "QP type %u, load %u, packet %u of device %u: with the load, opcode %02x "
                       "PSN %06x at %llu ns; without it, opcode %02x PSN %06x at %llu ns",
                       type, storm, i, from, h->opcode, h->psn, (unsigned long long)h->now,
                       a->opcode, a->psn, (unsigned long long)a->now);
            return;
        }
    }
}

static void r251_storms_on_other_qps_change_no_packet(void)
{
    for (unsigned t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
        run(types[t], QUIET);
        memcpy(alone_cnt, heard_cnt, sizeof(alone_cnt));
        CU_ASSERT(alone_cnt[0] >= MESSAGES && alone_cnt[1] >= MESSAGES);
        memcpy(alone, heard, sizeof(alone));
        fabric_free(&fabric);
        for (enum storm storm = LOSS; storm < STORMS; storm++) {
            run(types[t], storm);
            compare(types[t], storm, 0);
            compare(types[t], storm, 1);
            check_storm(storm);
            fabric_free(&fabric);
        }
    }
}

SUITE("sim.isolation", TEST(r251_storms_on_other_qps_change_no_packet))
