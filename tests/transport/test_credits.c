/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* End-to-end credits of the responder, and XRC requests: R098, R105-R107, R134, R179-R181 of
 * rnic/rules.md. */
#include "support/responder_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

static struct responder_fixture fake;

static void init(enum roce_svc svc)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&fake);
    attr.svc = svc;
    attr.credits = true;
    responder_restart(&fake, &attr);
}

static void send_only(uint32_t psn)
{
    struct roce_pkt pkt = pktgen_data(&fake.gen, ROCE_OP_RC_SEND_ONLY, RESPONDER_PSN + psn, "x", 1);

    pkt.bth.ackreq = 1;
    responder_in(&fake, pkt);
}

static void expect_ack(uint32_t psn, uint32_t credits, uint32_t msn)
{
    responder_expect_aeth(&fake, RESPONDER_PSN + psn, ROCE_SYNDROME_ACK | roce_credit_code(credits),
                          msn);
}

/* An ACK grants one credit for each receive WQE that is posted and unused when the ACK is sent.
 * Credits count from the MSN of the ACK (R105, R107). */
static void ack_carries_free_receive_wqes(void)
{
    init(ROCE_SVC_RC);
    for (unsigned i = 0; i < 8; i++)
        responder_post(&fake, i, 0, 64);
    send_only(0);
    /* No code means 7 credits, so the code for 6 is sent. */
    EXPECT_EQ(roce_credits(roce_credit_code(7)), 6);
    expect_ack(0, 7, 1);
    send_only(1);
    send_only(2);
    expect_ack(2, 5, 3);
    send_only(3);
    responder_post(&fake, 8, 0, 64); /* WQE posted before the ACK was sent */
    expect_ack(3, 5, 4);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* The responder sends a READ response after it received a later SEND. The READ response has the MSN
 * of the READ, but grants as many credits as the ACK of the SEND. So the READ response permits one
 * message less (R107). */
static void late_read_response_has_fewer_credits(void)
{
    struct roce_pkt pkt;

    init(ROCE_SVC_RC);
    responder_post(&fake, 0, 0, 64);
    responder_post(&fake, 1, 0, 64);
    responder_in(&fake, pktgen_read(&fake.gen, RESPONDER_PSN, RESPONDER_VA, RESPONDER_KEY, 10));
    send_only(1);
    pkt = responder_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_READ_RESP_ONLY);
    EXPECT_EQ(pkt.aeth.msn, 1);
    EXPECT_EQ(pkt.aeth.syndrome, roce_credit_code(1));
    expect_ack(1, 1, 2);
    responder_free(&fake);
}

/* After an ACK with zero credits, the next posted WQE causes one unsolicited ACK. Otherwise there
 * is none (R134). */
static void r134_post_after_zero_credits_sends_ack(void)
{
    init(ROCE_SVC_RC);
    rnic_responder_posted(&fake.resp);
    responder_expect_nothing(&fake); /* no ACK with zero credits was sent before */
    responder_post(&fake, 0, 0, 64);
    send_only(0);
    expect_ack(0, 0, 1);
    fake.ready_cnt = 0;
    responder_post(&fake, 1, 0, 64);
    rnic_responder_posted(&fake.resp);
    EXPECT_EQ(fake.ready_cnt, 1);
    responder_post(&fake, 2, 0, 64);
    rnic_responder_posted(&fake.resp);
    EXPECT_EQ(fake.ready_cnt, 1);
    expect_ack(0, 2, 1);
    responder_post(&fake, 3, 0, 64);
    rnic_responder_posted(&fake.resp);
    responder_expect_nothing(&fake);
    /* A QP in the error state sends no unsolicited ACK. */
    for (unsigned i = 1; i < 4; i++)
        send_only(i);
    expect_ack(3, 0, 4);
    rnic_responder_stop(&fake.resp);
    rnic_responder_posted(&fake.resp);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* An RNR NAK carries no credits, so a WQE posted after it causes no unsolicited ACK (R106). */
static void naks_carry_no_credits(void)
{
    init(ROCE_SVC_RC);
    send_only(0);
    responder_expect_aeth(&fake, RESPONDER_PSN, ROCE_SYNDROME_RNR | 12, 0);
    responder_post(&fake, 0, 0, 64);
    rnic_responder_posted(&fake.resp);
    responder_expect_nothing(&fake);
    send_only(0);
    expect_ack(0, 0, 1);
    responder_free(&fake);
}

/* ACKs of a QP with a shared receive queue carry no credits (R106). */
static void srq_acks_carry_no_credits(void)
{
    struct rnic_responder_attr attr = responder_attr();

    responder_init(&fake);
    fake.resp.recv_queue = &fake.srq;
    attr.credits = true;
    responder_restart(&fake, &attr);
    responder_post_to(&fake.srq, 1, 0, 64);
    send_only(0);
    responder_expect_aeth(&fake, RESPONDER_PSN, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 1);
    send_only(1); /* the SRQ is empty, so there is an RNR NAK (R098) */
    responder_expect_aeth(&fake, RESPONDER_PSN + 1, ROCE_SYNDROME_RNR | 12, 1);
    fake.resp.recv_queue = &fake.resp.rq;
    responder_free(&fake);
}

static struct roce_pkt xrc_send(uint8_t opcode, uint32_t psn, uint32_t srqn, uint32_t len)
{
    static uint8_t data[RESPONDER_MTU];
    struct roce_pkt pkt = pktgen_data(&fake.gen, opcode, RESPONDER_PSN + psn, data, len);

    pkt.xrceth.srqn = srqn;
    pkt.bth.ackreq = 1;
    return pkt;
}

static void expect_xrc(uint8_t opcode, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct roce_pkt pkt = responder_out(&fake);

    EXPECT_EQ(pkt.bth.opcode, opcode);
    EXPECT_EQ(pkt.bth.psn, RESPONDER_PSN + psn);
    EXPECT_EQ(pkt.aeth.syndrome, syndrome);
    EXPECT_EQ(pkt.aeth.msn, msn);
}

/* An XRC SEND uses a WQE of the SRQ that it names. Responses have opcodes of XRC, and credit code
 * 31 (R179, R181). */
static void xrc_send_uses_named_srq(void)
{
    struct roce_pkt pkt;

    init(ROCE_SVC_XRC);
    responder_post_to(&fake.srq, 5, 0, 1024);
    EXPECT_EQ(
        responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_FIRST, 0, RESPONDER_SRQN, RESPONDER_MTU)),
        RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_LAST, 1, RESPONDER_SRQN, 10)),
              RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(fake.wc[0].wr_id, 5);
    EXPECT_EQ(fake.wc[0].byte_len, RESPONDER_MTU + 10);
    expect_xrc(ROCE_OP_XRC_ACK, 1, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 1);
    EXPECT_EQ(responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_ONLY, 2, RESPONDER_SRQN, 10)),
              RNIC_RESP_NAK_RNR);
    expect_xrc(ROCE_OP_XRC_ACK, 2, ROCE_SYNDROME_RNR | 12, 1);
    pkt = xrc_send(ROCE_OP_XRC_READ_REQUEST, 2, RESPONDER_SRQN, 0);
    pkt.reth = (struct roce_reth){.va = RESPONDER_VA, .rkey = RESPONDER_KEY, .dma_len = 20};
    responder_in(&fake, pkt);
    expect_xrc(ROCE_OP_XRC_READ_RESP_ONLY, 2, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 2);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* An unknown SRQ number, or one that changes within a message, causes a NAK (R180). */
static void wrong_xrc_srq_is_nakked(void)
{
    init(ROCE_SVC_XRC);
    EXPECT_EQ(responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_ONLY, 0, 1, 10)), RNIC_RESP_NAK_XRCETH);
    expect_xrc(ROCE_OP_XRC_ACK, 0, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, 0);
    EXPECT_EQ(fake.event[0], RNIC_EVENT_QP_ACCESS_ERR);
    responder_free(&fake);

    init(ROCE_SVC_XRC);
    responder_post_to(&fake.srq, 5, 0, 1024);
    responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_FIRST, 0, RESPONDER_SRQN, RESPONDER_MTU));
    fake.srq_gone = true;
    EXPECT_EQ(responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_LAST, 1, RESPONDER_SRQN, 10)),
              RNIC_RESP_NAK_XRCETH);
    EXPECT_EQ(fake.wc[0].status, RNIC_WC_LOC_ACCESS_ERR);
    EXPECT_EQ(fake.failed_cnt, 1);
    responder_free(&fake);
}

/* An SRQ in the error state causes NAK 0x63, not an RNR NAK. */
static void xrc_srq_in_error_is_nak_63(void)
{
    init(ROCE_SVC_XRC);
    responder_post_to(&fake.srq, 5, 0, 1024);
    fake.srq.broken = true;
    EXPECT_EQ(responder_in(&fake, xrc_send(ROCE_OP_XRC_SEND_ONLY, 0, RESPONDER_SRQN, 10)),
              RNIC_RESP_NAK_OPERATIONAL);
    expect_xrc(ROCE_OP_XRC_ACK, 0, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_OP, 0);
    responder_free(&fake);
}

SUITE("transport.credits", TEST(ack_carries_free_receive_wqes),
      TEST(late_read_response_has_fewer_credits), TEST(r134_post_after_zero_credits_sends_ack),
      TEST(naks_carry_no_credits), TEST(srq_acks_carry_no_credits), TEST(xrc_send_uses_named_srq),
      TEST(wrong_xrc_srq_is_nakked), TEST(xrc_srq_in_error_is_nak_63))
