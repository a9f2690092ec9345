/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* XRC: domains, SRQs, initiators and targets (R179-R181, R054, R083, R188, R205, R206 of
 * rnic/rules.md). The test sim.rc shows that XRC is as reliable as RC. */
#include "support/qp_pair.h"
#include "support/suite.h"

#define SECOND UINT64_C(1000000000)

static struct qp_pair pair;

static void begin(void)
{
    const struct qp_pair_opts opts = {.type = RNIC_QPT_XRC_SEND};
    const struct simnet_path path = {.delay_ns = 1000};

    qp_pair_init_as(&pair, 1, ROCE_ENCAP_V2_IP4, 2, 8, &opts);
    simnet_paths(&pair.net, &path);
    qp_pair_connect(&pair);
}

/* Posts a request from QP 0 of side 0 for the SRQ `srqn`, with an SGE of 3000 bytes. */
static int send_to(uint32_t srqn, uint64_t wr_id, enum rnic_wr_opcode opcode, uint32_t rkey,
                   uint64_t va)
{
    const struct rnic_sge sge = {QP_PAIR_IOVA, 3000, QP_PAIR_KEY};
    const struct rnic_send_wr wr = {.wr_id = wr_id,
                                    .opcode = opcode,
                                    .flags = RNIC_SEND_SIGNALED,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = va,
                                    .rkey = rkey,
                                    .srqn = srqn};

    return rnic_post_send(pair.side[0].qp[0], &wr);
}

static void creation(void)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_XRC_RECV};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_SEND};
    struct qp_pair_side *s = &pair.side[0];
    struct rnic_xrcd *xrcd;
    struct rnic_qp *qp;

    begin();
    EXPECT_EQ(rnic_qp_new(s->pd, &init, &qp), RNIC_ERR_INVALID); /* a target needs a domain */
    init.xrcd = pair.side[1].xrcd;
    EXPECT_EQ(rnic_qp_new(s->pd, &init, &qp), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_xrcd_new(s->rnic, &xrcd), RNIC_OK);
    init.xrcd = xrcd;
    EXPECT_EQ(rnic_qp_new(s->pd, &init, &qp), RNIC_OK);
    EXPECT_EQ(rnic_xrcd_del(xrcd), RNIC_ERR_BUSY);
    EXPECT_EQ(rnic_qp_del(qp), RNIC_OK);
    EXPECT_EQ(rnic_xrcd_del(xrcd), RNIC_OK);
    EXPECT_EQ(rnic_xrcd_del(s->xrcd), RNIC_ERR_BUSY);
    EXPECT_EQ(rnic_cq_del(s->recv_cq[0]), RNIC_ERR_BUSY); /* CQ that the SRQ uses */
    EXPECT_EQ(rnic_post_send(s->target[0], &wr), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_post_recv(s->target[0], &(struct rnic_recv_wr){0}), RNIC_ERR_INVALID);
    EXPECT_EQ(rnic_post_recv(s->qp[0], &(struct rnic_recv_wr){0}), RNIC_ERR_INVALID);
    init = (struct rnic_qp_init){
        .type = RNIC_QPT_RC, .recv_cq = s->send_cq[0], .srq = s->srq[0], .max_recv_sge = 1};
    EXPECT_EQ(rnic_qp_new(s->pd, &init, &qp), RNIC_ERR_INVALID); /* an XRC SRQ is not a basic SRQ */
    qp_pair_free(&pair);
}

/* A request can name any SRQ of the domain, whatever QP it arrives at. The completion is in the CQ
 * of the SRQ and has the QPN of the target (R180). */
static void srq_by_number(void)
{
    struct rnic_wc wc;

    begin();
    for (unsigned i = 0; i < 2; i++)
        EXPECT_EQ(qp_pair_recv(&pair, 1, i, 70 + i, 0x80000 + 4096 * i, 4096), RNIC_OK);
    for (unsigned i = 0; i < 2; i++) {
        EXPECT_EQ(send_to(qp_pair_qpn(1, 1 - i) + QP_PAIR_TARGET, i, RNIC_WR_SEND, 0, 0), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, SECOND));
        EXPECT_EQ(rnic_cq_poll(pair.side[1].recv_cq[1 - i], &wc, 1), 1);
        EXPECT_EQ(wc.wr_id, 71 - i);
        EXPECT_EQ(wc.qpn, qp_pair_qpn(1, 0) + QP_PAIR_TARGET);
        EXPECT_EQ(wc.byte_len, 3000);
    }
    qp_pair_check_tally(&pair);
    qp_pair_free(&pair);
}

/* Every operation is refused if its SRQ number is unknown, or belongs to an SRQ of another XRC
 * domain or to a basic SRQ (R180). */
static void wrong_srq_number_is_refused(void)
{
    static const enum rnic_wr_opcode ops[] = {RNIC_WR_SEND, RNIC_WR_WRITE, RNIC_WR_READ};

    for (unsigned k = 0; k < 3; k++) {
        for (unsigned o = 0; o < 3; o++) {
            struct rnic_srq_init init = {.max_wr = 1, .max_sge = 1, .srqn = 99};
            struct rnic_xrcd *xrcd;
            struct rnic_srq *srq;
            struct rnic_event event;

            begin();
            if (k == 1) {
                EXPECT_EQ(rnic_xrcd_new(pair.side[1].rnic, &xrcd), RNIC_OK);
                init.xrcd = xrcd;
                init.cq = pair.side[1].recv_cq[0];
            }
            if (k > 0)
                EXPECT_EQ(rnic_srq_new(pair.side[1].pd, &init, &srq), RNIC_OK);
            EXPECT_EQ(send_to(99, 5, ops[o], QP_PAIR_KEY, QP_PAIR_IOVA), RNIC_OK);
            CU_ASSERT(qp_pair_run(&pair, SECOND));
            qp_pair_expect_wc(pair.side[0].send_cq[0], 5, RNIC_WC_REM_ACCESS_ERR);
            CU_ASSERT(rnic_event_get(pair.side[1].rnic, &event));
            EXPECT_EQ(event.type, RNIC_EVENT_QP_ACCESS_ERR);
            CU_ASSERT(event.qp == pair.side[1].target[0]);
            qp_pair_check_tally(&pair);
            qp_pair_free(&pair);
        }
    }
}

/* The R_Keys of requests are checked with the PD of the SRQ, not with the PD of the target QP. This
 * also applies to READ responses sent later (R206). */
static void keys_of_the_srq(void)
{
    struct rnic_mr_attr mr = {.len = 8192, .iova = 0x1000, .access = RNIC_ACCESS_ALL, .key = 5};
    struct rnic_srq_init init = {.max_wr = 1, .max_sge = 1, .srqn = 99};
    struct rnic_srq *srq;
    struct rnic_pd *pd;
    struct rnic_mr *out;

    begin();
    EXPECT_EQ(rnic_pd_new(pair.side[1].rnic, &pd), RNIC_OK);
    mr.addr = pair.side[1].mem + 0x90000;
    EXPECT_EQ(rnic_mr_reg(pd, &mr, &out), RNIC_OK);
    init.xrcd = pair.side[1].xrcd;
    init.cq = pair.side[1].recv_cq[0];
    EXPECT_EQ(rnic_srq_new(pd, &init, &srq), RNIC_OK);
    /* several requests in flight, which need different PDs */
    EXPECT_EQ(send_to(99, 1, RNIC_WR_WRITE, 5, 0x1000), RNIC_OK);
    EXPECT_EQ(send_to(99, 2, RNIC_WR_READ, 5, 0x1000), RNIC_OK);
    EXPECT_EQ(
        send_to(qp_pair_qpn(1, 0) + QP_PAIR_TARGET, 3, RNIC_WR_WRITE, QP_PAIR_KEY, QP_PAIR_IOVA),
        RNIC_OK);
    EXPECT_EQ(send_to(99, 4, RNIC_WR_READ, 5, 0x1000), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    for (unsigned i = 1; i <= 4; i++)
        qp_pair_expect_wc(pair.side[0].send_cq[0], i, RNIC_WC_SUCCESS);
    CU_ASSERT(memcmp(pair.side[1].mem + 0x90000, pair.side[0].mem, 3000) == 0);
    EXPECT_EQ(send_to(qp_pair_qpn(1, 0) + QP_PAIR_TARGET, 5, RNIC_WR_READ, 5, 0x1000), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 5, RNIC_WC_REM_ACCESS_ERR);
    qp_pair_free(&pair);
}

/* The SRQ is deleted while a message to it arrives: later packets are refused, and no more bytes
 * are written. */
static void message_to_a_deleted_srq_is_refused(void)
{
    for (unsigned again = 0; again < 2; again++) {
        struct rnic_srq_init init;
        struct rnic_srq *srq;

        begin();
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, 7, 0x80000, 4096), RNIC_OK);
        simnet_rule(&pair.net, &(struct simnet_rule){.from = 0, .nth = 2, .action = SIMNET_DROP});
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
        qp_pair_run(&pair, 1500);
        rnic_srq_view(pair.side[1].srq[0], &init);
        EXPECT_EQ(rnic_srq_del(pair.side[1].srq[0]), RNIC_OK);
        pair.side[1].srq[0] = NULL;
        if (again) /* another SRQ with the deleted SRQ's number */
            EXPECT_EQ(rnic_srq_new(pair.side[1].pd, &init, &srq), RNIC_OK);
        CU_ASSERT(qp_pair_run(&pair, SECOND));
        qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_REM_INV_REQ_ERR);
        qp_pair_expect_no_wc(pair.side[1].recv_cq[0]);
        qp_pair_free(&pair);
    }
}

/* The CQ of the SRQ overruns. One target QP loses a completion: this QP and the SRQ enter the error
 * state. Other QPs that need a WQE of this SRQ get an error. */
static void overrun_cq_breaks_the_srq(void)
{
    struct rnic_srq_init init = {.max_wr = 4, .max_sge = 1, .srqn = 99};
    struct rnic_sge sge = {QP_PAIR_IOVA, 4096, QP_PAIR_KEY};
    struct rnic_recv_wr wr = {.sge = &sge, .sge_cnt = 1};
    struct rnic_send_wr other = {.wr_id = 8, .opcode = RNIC_WR_SEND, .srqn = 99};
    struct rnic_event event;
    unsigned seen = 0;
    struct rnic_srq *srq;

    begin();
    init.xrcd = pair.side[1].xrcd;
    EXPECT_EQ(rnic_cq_new(pair.side[1].rnic, 1, &init.cq), RNIC_OK);
    EXPECT_EQ(rnic_srq_new(pair.side[1].pd, &init, &srq), RNIC_OK);
    for (unsigned i = 0; i < 3; i++)
        EXPECT_EQ(rnic_post_srq_recv(srq, &wr), RNIC_OK);
    EXPECT_EQ(send_to(99, 1, RNIC_WR_SEND, 0, 0), RNIC_OK);
    EXPECT_EQ(send_to(99, 2, RNIC_WR_SEND, 0, 0), RNIC_OK);
    qp_pair_run(&pair, SECOND / 1000);
    while (rnic_event_get(pair.side[1].rnic, &event)) {
        seen |= 1u << event.type;
        if (event.type == RNIC_EVENT_SRQ_ERR)
            CU_ASSERT(event.srq == srq);
    }
    EXPECT_EQ(seen, 1u << RNIC_EVENT_CQ_ERR | 1u << RNIC_EVENT_SRQ_ERR | 1u << RNIC_EVENT_QP_FATAL);
    EXPECT_EQ(rnic_post_srq_recv(srq, &wr), RNIC_ERR_STATE);
    EXPECT_EQ(rnic_post_send(pair.side[0].qp[1], &other), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[1], 8, RNIC_WC_REM_OP_ERR);
    qp_pair_free(&pair);
}

SUITE("device.xrc", TEST(creation), TEST(srq_by_number), TEST(wrong_srq_number_is_refused),
      TEST(keys_of_the_srq), TEST(message_to_a_deleted_srq_is_refused),
      TEST(overrun_cq_breaks_the_srq))
