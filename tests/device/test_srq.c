/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Shared receive queues: R098, R106, R188-R190, R195, R196, R205, R206 of rnic/rules.md. */
#include "support/qp_pair.h"
#include "support/suite.h"
#include "wire/codes.h"

#define SECOND UINT64_C(1000000000)

static struct qp_pair pair;

static void begin(enum rnic_qp_type type)
{
    const struct qp_pair_opts opts = {.type = type, .srq = true};
    const struct simnet_path path = {.delay_ns = 1000};

    qp_pair_init_as(&pair, 1, ROCE_ENCAP_V2_IP4, 2, 8, &opts);
    simnet_paths(&pair.net, &path);
    qp_pair_connect(&pair);
}

static void expect_event(enum rnic_event_type type, const struct rnic_srq *srq,
                         const struct rnic_qp *qp)
{
    struct rnic_event event = {.type = RNIC_EVENT_CQ_ERR};

    CU_ASSERT(rnic_event_get(pair.side[1].rnic, &event));
    EXPECT_EQ(event.type, type);
    CU_ASSERT(event.srq == srq);
    CU_ASSERT(event.qp == qp);
    CU_ASSERT(event.cq == NULL);
}

static void expect_no_event(void)
{
    struct rnic_event event;

    CU_ASSERT(!rnic_event_get(pair.side[1].rnic, &event));
}

static void creation(void)
{
    struct rnic_srq_init init = {.max_wr = 8, .max_sge = 2, .limit = 3, .srqn = 77};
    struct rnic_srq_init bad;
    struct rnic_srq_init seen;
    struct rnic_qp_init qp = {.type = RNIC_QPT_GSI};
    struct rnic_xrcd *xrcd;
    struct rnic_srq *srq;
    struct rnic_srq *other;
    struct rnic_qp *out;
    struct qp_pair_side *s = &pair.side[0];

    begin(RNIC_QPT_RC);
    EXPECT_EQ(rnic_srq_new(s->pd, &init, &srq), RNIC_OK);
    rnic_srq_view(srq, &seen);
    EXPECT_EQ(seen.max_wr, 8);
    EXPECT_EQ(seen.max_sge, 2);
    EXPECT_EQ(seen.limit, 3);
    EXPECT_EQ(seen.srqn, 77);
    CU_ASSERT(!seen.xrcd && !seen.cq);
    EXPECT_EQ(rnic_srq_num(srq), 77);
    EXPECT_EQ(rnic_srq_new(s->pd, &init, &other), RNIC_ERR_EXISTS);
    bad = init;
    bad.srqn = 0;
    bad.max_wr = 0;
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    bad.max_wr = RNIC_WR_MAX + 1;
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    bad.max_wr = 2; /* max_wr below the limit */
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    bad.max_wr = 8;
    bad.max_sge = RNIC_SGE_MAX + 1;
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    bad.max_sge = 1;
    bad.cq = s->recv_cq[0]; /* CQ without an XRC domain */
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_xrcd_new(pair.side[1].rnic, &xrcd), RNIC_OK);
    bad.xrcd = xrcd; /* XRC domain of another device */
    EXPECT_EQ(rnic_srq_new(s->pd, &bad, &other), RNIC_ERR_INVALID);
    /* a management QP cannot have an SRQ, and a QP with an SRQ has no receive queue */
    qp.recv_cq = qp.send_cq = s->recv_cq[0];
    qp.srq = srq;
    EXPECT_EQ(rnic_qp_new(s->pd, &qp, &out), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_post_recv(s->qp[0], &(struct rnic_recv_wr){0}), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_srq_del(s->srq[0]), RNIC_ERR_BUSY); /* QPs use the SRQ (R205) */
    EXPECT_EQ(rnic_srq_del(srq), RNIC_OK);
    EXPECT_EQ(rnic_srq_del(NULL), RNIC_OK);
    EXPECT_EQ(rnic_xrcd_del(xrcd), RNIC_OK);
    EXPECT_EQ(rnic_pd_del(s->pd), RNIC_ERR_BUSY);
    qp_pair_free(&pair);
}

/* The limit event of an SRQ is raised once, when a message leaves fewer WQEs than the limit.
 * Setting the limit again re-arms it (R196). */
static void limit_event_is_raised_once(void)
{
    uint32_t limit = 2;

    begin(RNIC_QPT_RC);
    EXPECT_EQ(rnic_srq_modify(pair.side[1].srq[0], NULL, &limit), RNIC_OK);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 4096 * i, 4096), RNIC_OK);
    for (unsigned i = 0; i < 4; i++) {
        struct rnic_srq_init view;

        EXPECT_EQ(qp_pair_send(&pair, 0, 0, i, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, SECOND));
        if (i == 2)
            expect_event(RNIC_EVENT_SRQ_LIMIT_REACHED, pair.side[1].srq[0], NULL);
        expect_no_event();
        rnic_srq_view(pair.side[1].srq[0], &view);
        EXPECT_EQ(view.limit, i < 2 ? 2 : 0);
    }
    EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 9, 0, 4096), RNIC_OK);
    EXPECT_EQ(rnic_srq_modify(pair.side[1].srq[0], NULL, &limit), RNIC_OK);
    expect_no_event();
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 9, RNIC_WR_SEND, 0, 1, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    expect_event(RNIC_EVENT_SRQ_LIMIT_REACHED, pair.side[1].srq[0], NULL);
    limit = 9;
    EXPECT_EQ(rnic_srq_modify(pair.side[1].srq[0], NULL, &limit), RNIC_ERR_INVALID);
    qp_pair_free(&pair);
}

/* An empty SRQ causes an RNR NAK; the message completes after a WQE is posted. ACKs carry no
 * credits (R098, R106). */
static void empty_srq_causes_an_rnr_nak(void)
{
    begin(RNIC_QPT_RC);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
    qp_pair_run(&pair, 20000);
    CU_ASSERT(simnet_count(&pair.net, 1, SIMNET_BIT(NAK_RNR), SIMNET_SENT) > 0);
    EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 7, 8192, 4096), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 7, RNIC_WC_SUCCESS);
    qp_pair_check_tally(&pair);
    qp_pair_free(&pair);
}

/* A QP enters ERR or RESET, or is deleted, in the middle of a message. The WQE of the message is
 * flushed (ERR) or silently dropped, so the SRQ has room for another WQE. The other WQEs of the SRQ
 * remain (R195, R189, R190). */
static void qp_that_leaves_returns_its_wqe(void)
{
    for (unsigned how = 0; how < 3; how++) {
        struct rnic_qp_attr attr = {.state = how ? RNIC_QPS_RESET : RNIC_QPS_ERR};
        struct rnic_qp *qp;

        begin(RNIC_QPT_RC);
        qp = pair.side[1].qp[0];
        for (unsigned i = 0; i < 8; i++)
            EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 0, 4096), RNIC_OK);
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 8, 0, 4096), RNIC_ERR_FULL);
        simnet_rule(&pair.net, &(struct simnet_rule){.from = 0, .nth = 2, .action = SIMNET_DROP});
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
        qp_pair_run(&pair, 1500);
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 8, 0, 4096), RNIC_ERR_FULL); /* one WQE is in use */
        if (how < 2)
            EXPECT_EQ(rnic_qp_modify(qp, &attr, pair.net.now), RNIC_OK);
        else
            EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
        if (how == 0) {
            expect_event(RNIC_EVENT_QP_LAST_WQE_REACHED, NULL, qp);
            qp_pair_expect_wc(pair.side[1].recv_cq[0], 0, RNIC_WC_WR_FLUSH_ERR);
            EXPECT_EQ(rnic_qp_modify(qp, &attr, pair.net.now),
                      RNIC_OK); /* the last-WQE-reached event is not raised a second time */
        }
        expect_no_event();
        qp_pair_expect_no_wc(pair.side[1].recv_cq[0]);
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 8, 0, 4096), RNIC_OK);
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 9, 0, 4096), RNIC_ERR_FULL);
        qp_pair_free(&pair);
    }
}

/* An SRQ can grow while a message uses one of its WQEs. It cannot shrink below the number of
 * posted WQEs. */
static void resized_in_use(void)
{
    uint32_t max = 100;
    struct rnic_srq *srq;

    begin(RNIC_QPT_RC);
    srq = pair.side[1].srq[0];
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 0x80000 + 4096 * i, 4096), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 0, RNIC_WR_SEND, 0, 100, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    simnet_rule(&pair.net, &(struct simnet_rule){.from = 0, .nth = 2, .action = SIMNET_DROP});
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 4096, 3000, 0), RNIC_OK);
    qp_pair_run(&pair, 1500);
    EXPECT_EQ(rnic_srq_modify(srq, &max, NULL), RNIC_OK);
    for (unsigned i = 3; i < 101; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 0xC0000, 64), RNIC_OK);
    EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 101, 0, 64), RNIC_ERR_FULL);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 0, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 1, RNIC_WC_SUCCESS);
    CU_ASSERT(memcmp(pair.side[1].mem + 0x80000 + 4096, pair.side[0].mem + 4096, 3000) == 0);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_SEND, 0, 64, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 2, RNIC_WC_SUCCESS); /* the WQEs keep their order */
    max = 97;
    EXPECT_EQ(rnic_srq_modify(srq, &max, NULL), RNIC_ERR_INVALID);
    max = 98;
    EXPECT_EQ(rnic_srq_modify(srq, &max, NULL), RNIC_OK);
    EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 101, 0, 64), RNIC_ERR_FULL);
    max = 0;
    EXPECT_EQ(rnic_srq_modify(srq, &max, NULL), RNIC_ERR_INVALID);
    max = RNIC_WR_MAX + 1;
    EXPECT_EQ(rnic_srq_modify(srq, &max, NULL), RNIC_ERR_INVALID);
    qp_pair_free(&pair);
}

/* Two QPs of one SRQ consume its WQEs in the order of their messages' first packets. Each completes
 * on its own CQ. */
static void two_qps_share_the_wqes_in_order(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .qpn = 0x777};
    struct rnic_qp_attr attr;
    struct rnic_qp *qp;
    struct qp_pair_side *s = &pair.side[1];

    begin(RNIC_QPT_RC);
    /* replaces the QP of the second pair by one that uses the first pair's SRQ */
    attr = s->attr[1];
    EXPECT_EQ(rnic_qp_del(s->qp[1]), RNIC_OK);
    init.qpn = qp_pair_qpn(1, 1);
    init.recv_cq = init.send_cq = s->recv_cq[1];
    init.srq = s->srq[0];
    EXPECT_EQ(rnic_qp_new(s->pd, &init, &qp), RNIC_OK);
    for (enum rnic_qp_state k = RNIC_QPS_INIT; k <= RNIC_QPS_RTS; k++) {
        attr.state = k;
        EXPECT_EQ(rnic_qp_modify(qp, &attr, pair.net.now), RNIC_OK);
    }
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 0x80000 + 4096 * i, 4096), RNIC_OK);
    for (unsigned i = 0; i < 4; i++) {
        EXPECT_EQ(qp_pair_send(&pair, 0, i % 2, i, RNIC_WR_SEND, 4096 * i, 3000, 0), RNIC_OK);
        qp_pair_run(&pair, SECOND);
        qp_pair_expect_wc(s->recv_cq[i % 2], i, RNIC_WC_SUCCESS);
        CU_ASSERT(memcmp(s->mem + 0x80000 + 4096 * i, pair.side[0].mem + 4096 * i, 3000) == 0);
    }
    qp_pair_free(&pair);
}

/* The SGEs of a WQE use the PD of the SRQ; R_Keys in packets use the PD of the QP (R206). */
static void sges_use_the_pd_of_the_srq(void)
{
    struct rnic_mr_attr mr = {.len = 4096, .iova = 0x1000, .access = RNIC_ACCESS_ALL, .key = 5};
    struct rnic_srq_init srq = {.max_wr = 4, .max_sge = 1};
    struct rnic_sge sge = {0x1000, 4096, 5};
    struct rnic_recv_wr wr = {.wr_id = 3, .sge = &sge, .sge_cnt = 1};
    struct rnic_pd *pd;
    struct rnic_mr *out;
    struct rnic_qp_init init = {.type = RNIC_QPT_RC, .qpn = 0x101};
    struct rnic_qp_attr attr;
    struct rnic_send_wr send = {.wr_id = 4, .opcode = RNIC_WR_WRITE, .sge_cnt = 1};
    struct rnic_sge from = {QP_PAIR_IOVA, 64, QP_PAIR_KEY};

    begin(RNIC_QPT_RC);
    attr = pair.side[1].attr[0];
    EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd), RNIC_OK);
    mr.addr = pair.side[1].mem + 0x90000;
    EXPECT_EQ(rnic_mr_reg(pd, &mr, &out), RNIC_OK);
    EXPECT_EQ(rnic_qp_del(pair.side[1].qp[0]), RNIC_OK);
    EXPECT_EQ(rnic_srq_new(pd, &srq, &init.srq), RNIC_OK);
    init.qpn = qp_pair_qpn(1, 0);
    init.recv_cq = init.send_cq = pair.side[1].recv_cq[0];
    EXPECT_EQ(rnic_qp_new(pair.side[1].pd, &init, &pair.side[1].qp[0]), RNIC_OK);
    for (enum rnic_qp_state k = RNIC_QPS_INIT; k <= RNIC_QPS_RTS; k++) {
        attr.state = k;
        EXPECT_EQ(rnic_qp_modify(pair.side[1].qp[0], &attr, pair.net.now), RNIC_OK);
    }
    EXPECT_EQ(rnic_post_srq_recv(init.srq, &wr), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 3, RNIC_WC_SUCCESS);
    CU_ASSERT(memcmp(pair.side[1].mem + 0x90000, pair.side[0].mem, 3000) == 0);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
    send.sge = &from;
    send.remote_addr = 0x1000;
    send.rkey = 5;
    EXPECT_EQ(rnic_post_send(pair.side[0].qp[0], &send), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 4, RNIC_WC_REM_ACCESS_ERR);
    qp_pair_free(&pair);
}

/* UC consumes WQEs of an SRQ, and keeps the WQE of an incomplete message (R163). */
static void uc_keeps_the_wqe_of_an_incomplete_message(void)
{
    begin(RNIC_QPT_UC);
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, i, 0x80000 + 4096 * i, 4096), RNIC_OK);
    simnet_rule(&pair.net, &(struct simnet_rule){.from = 0, .nth = 2, .action = SIMNET_DROP});
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 2, RNIC_WR_SEND, 4096, 3000, 0), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 3, RNIC_WR_SEND, 8192, 3000, 0), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 4, RNIC_WR_SEND, 8192, 3000, 0),
              RNIC_OK); /* message without a
                         * WQE */
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    for (unsigned i = 0; i < 4; i++)
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1 + i, RNIC_WC_SUCCESS);
    for (unsigned i = 0; i < 2; i++) {
        qp_pair_expect_wc(pair.side[1].recv_cq[0], i, RNIC_WC_SUCCESS);
        CU_ASSERT(memcmp(pair.side[1].mem + 0x80000 + 4096 * i, pair.side[0].mem + 4096 * (i + 1),
                         3000) == 0);
    }
    /* UC sends no responses (R162) */
    EXPECT_EQ(simnet_count(&pair.net, 1, SIMNET_ANY, SIMNET_SENT), 0);
    EXPECT_EQ(qp_pair_counters(&pair, 1).out_of_buffer, 1);
    qp_pair_free(&pair);
}

SUITE("device.srq", TEST(creation), TEST(limit_event_is_raised_once),
      TEST(empty_srq_causes_an_rnr_nak), TEST(qp_that_leaves_returns_its_wqe), TEST(resized_in_use),
      TEST(two_qps_share_the_wqes_in_order), TEST(sges_use_the_pd_of_the_srq),
      TEST(uc_keeps_the_wqe_of_an_incomplete_message))
