/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Requester tests: packets sent, and reasons to wait (R041, R057-R060, R127-R136, R149-R154,
 * R188-R191, R198 of rnic/rules.md). */
#include "support/requester_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define OK RNIC_WC_SUCCESS

static struct requester_fixture fake;

/* A message is one Only packet, or First, any number of Middle, and Last. The opcode of Only or
 * Last shows whether the packet has immediate data or an R_Key to invalidate. PSNs are consecutive,
 * also across the wrap (R127, R057). */
static void r127_opcodes_follow_the_position(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint8_t first, middle, last, only;
    } rows[] = {
        {RNIC_WR_SEND, ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST,
         ROCE_OP_RC_SEND_ONLY},
        {RNIC_WR_SEND_IMM, ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST_IMM,
         ROCE_OP_RC_SEND_ONLY_IMM},
        {RNIC_WR_SEND_INV, ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST_INV,
         ROCE_OP_RC_SEND_ONLY_INV},
        {RNIC_WR_WRITE, ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST,
         ROCE_OP_RC_WRITE_ONLY},
        {RNIC_WR_WRITE_IMM, ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE,
         ROCE_OP_RC_WRITE_LAST_IMM, ROCE_OP_RC_WRITE_ONLY_IMM},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t pos = 0;

        requester_init(&fake);
        for (uint32_t len = 0; len <= 4 * REQUESTER_MTU; len += 64) {
            uint32_t cnt = roce_psn_cnt(len, REQUESTER_MTU);

            requester_post(&fake, len, rows[i].opcode, 0, len);
            for (uint32_t k = 0; k < cnt; k++, pos++)
                requester_expect(&fake,
                                 cnt == 1       ? rows[i].only
                                 : k == 0       ? rows[i].first
                                 : k == cnt - 1 ? rows[i].last
                                                : rows[i].middle,
                                 pos);
            requester_expect_gate(&fake, RNIC_REQ_EMPTY);
        }
        requester_free(&fake);
    }
}

/* The RETH describes the whole message (R128). SE is set in the last packet only (R041). The last
 * packet carries the immediate data or the key to invalidate (R034, R035). */
static void r128_headers(void)
{
    struct roce_pkt pkt;

    requester_init(&fake);
    requester_post_flags(&fake, 1, RNIC_WR_WRITE_IMM, 128, 600, RNIC_SEND_SOLICITED);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.reth.va, REQUESTER_RVA);
    EXPECT_EQ(pkt.reth.rkey, REQUESTER_RKEY);
    EXPECT_EQ(pkt.reth.dma_len, 600);
    EXPECT_EQ(pkt.bth.se, 0);
    CU_ASSERT(pkt.payload == fake.mem + 128);
    pkt = requester_out(&fake);
    CU_ASSERT(pkt.payload == fake.mem + 128 + 256);
    EXPECT_EQ(pkt.bth.se, 0);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.payload_len, 600 - 512);
    EXPECT_EQ(pkt.bth.se, 1);
    EXPECT_EQ(pkt.immdt.imm, 0x1234ABCD);
    requester_post_flags(&fake, 2, RNIC_WR_SEND_INV, 0, 4, RNIC_SEND_SOLICITED);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.ieth.rkey, REQUESTER_KEY_INV);
    EXPECT_EQ(pkt.bth.se, 1);
    requester_post_flags(&fake, 3, RNIC_WR_WRITE, 0, 4, RNIC_SEND_SOLICITED);
    EXPECT_EQ(requester_out(&fake).bth.se, 0);
    requester_post(&fake, 4, RNIC_WR_READ, 0, 1000);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.reth.dma_len, 1000);
    EXPECT_EQ(pkt.bth.ackreq, 1);
    requester_post(&fake, 5, RNIC_WR_CMP_SWAP, 0, 8);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.atomiceth.compare, 11);
    EXPECT_EQ(pkt.atomiceth.swap_add, 22);
    requester_post(&fake, 6, RNIC_WR_FETCH_ADD, 0, 8); /* FETCH_ADD: the addend is in the swap/add
                                                        * field (R037) */
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.atomiceth.swap_add, 11);
    requester_free(&fake);
}

/* The request after a READ has the PSN after all of the READ's responses (R058, R059). */
static void r058_psn_after_read(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_READ, 0, 5 * REQUESTER_MTU);
    requester_post(&fake, 2, RNIC_WR_READ, 0, 0);
    requester_post(&fake, 3, RNIC_WR_FETCH_ADD, 0, 8);
    requester_post(&fake, 4, RNIC_WR_SEND, 0, 1);
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 0);
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 5);
    requester_expect(&fake, ROCE_OP_RC_FETCH_ADD, 6);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 7);
    requester_free(&fake);
}

/* AckReq is set in each Last and Only packet, and in at least one of RNIC_ACK_EVERY successive
 * packets. A retransmission sets AckReq in the same packets (R133). */
static void r133_ackreq_is_set_in_last_and_in_time(void)
{
    unsigned since = 0;
    unsigned asked = 0;

    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 1);
    EXPECT_EQ(requester_out(&fake).bth.ackreq, 1);
    requester_post(&fake, 2, RNIC_WR_WRITE, 0, 16384); /* this WRITE has 64 packets */
    for (unsigned i = 0; i < 64; i++) {
        struct roce_pkt pkt = requester_out(&fake);

        asked += pkt.bth.ackreq;
        /* Packet 62 is the 64th packet of the connection, because one packet preceded this WRITE.
         * Packet 63 is the Last packet of the WRITE. */
        EXPECT_EQ(pkt.bth.ackreq, i == 62 || i == 63);
    }
    EXPECT_EQ(asked, 2);
    requester_ack(&fake, 64);
    /* Many messages that together exceed the window: among any RNIC_ACK_EVERY successive packets,
     * one has AckReq. */
    for (unsigned i = 0; i < 40; i++)
        requester_post(&fake, 10 + i, RNIC_WR_WRITE, 0, 16384);
    for (unsigned i = 0; i < RNIC_WINDOW; i++) {
        struct roce_pkt pkt = requester_out(&fake);

        since = pkt.bth.ackreq ? 0 : since + 1;
        CU_ASSERT(since < RNIC_ACK_EVERY);
    }
    requester_expect_gate(&fake, RNIC_REQ_WINDOW);
    requester_free(&fake);
}

/* The window limits the number of outstanding packets. PSNs of READ responses are limited only by
 * half of the PSN space (R060). */
static void r060_window_limits_outstanding_psns(void)
{
    struct rnic_sge sge = {REQUESTER_VA, 1u << 31, REQUESTER_KEY};
    struct rnic_send_wr wr = {.opcode = RNIC_WR_READ, .sge = &sge, .sge_cnt = 1};

    requester_init(&fake);
    for (unsigned i = 0; i < RNIC_WINDOW + 1; i++)
        requester_post(&fake, i, RNIC_WR_WRITE, 0, 1);
    EXPECT_EQ(requester_out_all(&fake), RNIC_WINDOW);
    requester_expect_gate(&fake, RNIC_REQ_WINDOW);
    requester_ack(&fake, 0);
    EXPECT_EQ(requester_out_all(&fake), 1);
    /* The PSNs of a READ do not count towards the window. */
    requester_ack(&fake, RNIC_WINDOW);
    requester_post(&fake, 0, RNIC_WR_READ, 0, 2);
    requester_post(&fake, 0, RNIC_WR_READ, 0, 16384);
    requester_post(&fake, 0, RNIC_WR_READ, 0, 16384);
    for (unsigned i = 0; i < 200; i++)
        requester_post(&fake, 0, RNIC_WR_SEND, 0, 1);
    EXPECT_EQ(requester_out_all(&fake), 203);
    requester_free(&fake);
    /* The window can be enlarged to replay a recorded peer that had more outstanding packets. */
    requester_init(&fake);
    fake.req.window = 280;
    for (unsigned i = 0; i < 290; i++)
        requester_post(&fake, i, RNIC_WR_WRITE, 0, 1);
    EXPECT_EQ(requester_out_all(&fake), 280);
    requester_free(&fake);
    /* A READ of 2^23 PSNs can be outstanding alone, but not with another packet. */
    requester_init(&fake);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    requester_post(&fake, 2, RNIC_WR_SEND, 0, 1);
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 0);
    requester_expect_gate(&fake, RNIC_REQ_WINDOW);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_FIRST, 0, 1, REQUESTER_MTU),
              RNIC_COMP_PLACE_READ);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 1u << 23);
    requester_free(&fake);
}

/* max_rd_atomic limits outstanding READs and atomics; 0 allows none (R130). */
static void r130_max_rd_atomic(void)
{
    struct rnic_requester_attr attr = requester_attr();

    requester_init(&fake);
    for (unsigned i = 0; i < 6; i++)
        requester_post(&fake, i, i % 2 ? RNIC_WR_FETCH_ADD : RNIC_WR_READ, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 4);
    requester_expect_gate(&fake, RNIC_REQ_RD_ATOMIC);
    requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0, 1, 8);
    EXPECT_EQ(requester_out_all(&fake), 1);
    requester_atomic(&fake, 1, 5);
    EXPECT_EQ(requester_out_all(&fake), 1);
    requester_free(&fake);

    attr.max_rd_atomic = 0;
    requester_init(&fake);
    requester_restart(&fake, &attr);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 8);
    requester_post(&fake, 2, RNIC_WR_READ, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 1);
    requester_expect_no_wc(&fake);
    requester_ack(&fake, 0);
    requester_expect_wc(&fake, 1, OK);
    requester_expect_wc(&fake, 2, RNIC_WC_LOC_QP_OP_ERR);
    EXPECT_EQ(fake.failed_cnt, 1);
    requester_free(&fake);
}

/* A fence waits for READs and atomics, not for WRITEs; requests without a fence do not wait (R131).
 */
static void r131_fence_waits_for_reads(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_WRITE, 0, 8);
    requester_post_flags(&fake, 2, RNIC_WR_WRITE, 0, 8, RNIC_SEND_FENCE);
    requester_post(&fake, 3, RNIC_WR_READ, 0, 8);
    requester_post(&fake, 4, RNIC_WR_SEND, 0, 8);
    requester_post_flags(&fake, 5, RNIC_WR_SEND, 0, 600, RNIC_SEND_FENCE | RNIC_SEND_SIGNALED);
    EXPECT_EQ(requester_out_all(&fake), 4);
    requester_expect_gate(&fake, RNIC_REQ_FENCE);
    requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 2, 1, 8);
    EXPECT_EQ(requester_out_all(&fake), 3);
    requester_free(&fake);
}

/* A local invalidate waits for all earlier requests, and all later requests wait for it (R132). */
static void r132_local_invalidate_waits_in_order(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_LOCAL_INV, 0, 0); /* executed at once, because no request
                                                        * precedes it */
    requester_expect_wc(&fake, 1, OK);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_LOCAL_INV);
    CU_ASSERT(fake.inv_gone);
    fake.inv_gone = false;
    requester_post(&fake, 2, RNIC_WR_WRITE, 0, 600);
    requester_post(&fake, 3, RNIC_WR_LOCAL_INV, 0, 0);
    requester_post(&fake, 4, RNIC_WR_SEND, 0, 1);
    EXPECT_EQ(requester_out_all(&fake), 3);
    requester_expect_gate(&fake, RNIC_REQ_LOCAL);
    requester_ack(&fake, 1);
    requester_expect_gate(&fake, RNIC_REQ_LOCAL);
    CU_ASSERT(!fake.inv_gone);
    requester_ack(&fake, 2);
    requester_expect_wc(&fake, 2, OK);
    requester_expect_wc(&fake, 3, OK);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 3);  /* the local operation used no PSN */
    requester_post(&fake, 5, RNIC_WR_LOCAL_INV, 0, 0); /* the key was already invalidated */
    requester_ack(&fake, 3);
    requester_expect_wc(&fake, 4, OK);
    requester_expect_wc(&fake, 5, RNIC_WC_MW_BIND_ERR);
    EXPECT_EQ(fake.failed_cnt, 1);
    requester_free(&fake);
}

/* Messages have send sequence numbers (SSN) 1, 2 and so on. An ACK makes the limit sequence number
 * (LSN) the sum of its MSN and credits. The requester sends messages up to the LSN, and one packet
 * of the next message as a probe. WRITE and READ need no credit (R134, R135). */
static void r134_requests_wait_for_credits(void)
{
    requester_init(&fake);
    for (unsigned i = 0; i < 4; i++)
        requester_post(&fake, i, RNIC_WR_SEND, 0, 600);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    EXPECT_EQ(requester_aeth(&fake, 0, ROCE_SYNDROME_ACK | 1, 0),
              RNIC_COMP_ACKNOWLEDGE); /* the ACK makes the LSN 1 */
    requester_expect(&fake, ROCE_OP_RC_SEND_MIDDLE, 1);
    requester_expect(&fake, ROCE_OP_RC_SEND_LAST, 2);
    EXPECT_EQ(requester_out(&fake).bth.ackreq,
              1); /* without credits, the requester may send one packet of the next message */
    requester_expect_gate(&fake, RNIC_REQ_CREDIT);
    requester_aeth(&fake, 2, ROCE_SYNDROME_ACK | 0, 1); /* the LSN is still 1 */
    requester_expect_gate(&fake, RNIC_REQ_CREDIT);
    requester_aeth(&fake, 3, ROCE_SYNDROME_ACK | 0,
                   1); /* the probe was acknowledged, so its message continues */
    EXPECT_EQ(requester_out_all(&fake), 2);
    requester_expect_gate(&fake, RNIC_REQ_CREDIT);      /* SSN 3 is two beyond the LSN */
    requester_aeth(&fake, 5, ROCE_SYNDROME_ACK | 2, 2); /* the ACK makes the LSN 4 */
    EXPECT_EQ(requester_out_all(&fake), 6);
    requester_aeth(&fake, 11, ROCE_SYNDROME_ACK | 0, 4);
    requester_post(&fake, 5, RNIC_WR_WRITE, 0, 600); /* SSNs 5 to 7 need no credit */
    requester_post(&fake, 6, RNIC_WR_READ, 0, 600);
    requester_post(&fake, 7, RNIC_WR_FETCH_ADD, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 5);
    requester_post(&fake, 8, RNIC_WR_WRITE_IMM, 0, 8); /* this request has SSN 8, and the LSN is
                                                        * 4 */
    requester_expect_gate(&fake, RNIC_REQ_CREDIT);
    /* An ACK with ROCE_CREDIT_NONE ends the limit. */
    requester_aeth(&fake, 14, ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE, 5);
    EXPECT_EQ(requester_out_all(&fake), 1);
    requester_free(&fake);
}

/* The LSN never decreases, also across the wrap of the MSN. A repeated ACK may raise the LSN
 * (R135). */
static void r135_credits_never_decrease(void)
{
    requester_init(&fake);
    fake.req.sq.ssn = 0xFFFFFE;
    for (unsigned i = 0; i < 8; i++)
        requester_post(&fake, i, RNIC_WR_SEND, 0, 1);
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 0);
    /* the LSN becomes 2, so the requester can send three more messages and a probe */
    requester_aeth(&fake, 0, ROCE_SYNDROME_ACK | 3, 0xFFFFFF);
    EXPECT_EQ(requester_out_all(&fake), 4);
    requester_aeth(&fake, 1, ROCE_SYNDROME_ACK | 0, 0);
    requester_expect_gate(&fake, RNIC_REQ_CREDIT);
    EXPECT_EQ(fake.req.lsn, 2);
    /* The LSN is 4 now. */
    EXPECT_EQ(requester_aeth(&fake, 1, ROCE_SYNDROME_ACK | 4, 0), RNIC_COMP_DUPLICATE);
    EXPECT_EQ(requester_out_all(&fake), 2);
    requester_free(&fake);
}

/* A retransmission that begins at any packet of a message repeats the same packets, bit by bit
 * (R152, R153). */
static void r153_retransmission_repeats_same_packets(void)
{
    static const enum rnic_wr_opcode ops[] = {RNIC_WR_SEND, RNIC_WR_WRITE, RNIC_WR_WRITE_IMM,
                                              RNIC_WR_SEND_INV};
    enum { CNT = 24 };

    for (uint32_t from = 0; from < CNT; from++) {
        struct roce_pkt first[CNT];

        requester_init(&fake);
        for (unsigned i = 0; i < 8; i++)
            requester_post(&fake, i, ops[i % 4], 1000 * i, 600);
        for (unsigned i = 0; i < CNT; i++)
            first[i] = requester_out(&fake);
        EXPECT_EQ(requester_aeth(&fake, from, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, 0),
                  RNIC_COMP_NAK_PSN_SEQ);
        EXPECT_EQ(fake.wc_cnt, from / 3); /* all earlier messages are acknowledged (R069) */
        for (unsigned i = from; i < CNT; i++) {
            struct roce_pkt again = requester_out(&fake);

            CU_ASSERT(memcmp(&again.bth, &first[i].bth, sizeof(again.bth)) == 0);
            CU_ASSERT(memcmp(&again.reth, &first[i].reth, sizeof(again.reth)) == 0);
            EXPECT_EQ(again.immdt.imm, first[i].immdt.imm);
            CU_ASSERT(again.payload == first[i].payload);
            EXPECT_EQ(again.payload_len, first[i].payload_len);
        }
        requester_expect_gate(&fake, RNIC_REQ_EMPTY);
        EXPECT_EQ(fake.counters.packet_seq_err, 1);
        requester_free(&fake);
    }
}

/* If the last packets are lost, the ACK timer causes their retransmission. After retry_cnt
 * retransmissions the request fails (R149-R151, R154, R160). */
static void r154_timeout_and_retries(void)
{
    requester_init(&fake);
    EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 600);
    requester_post(&fake, 2, RNIC_WR_WRITE, 0, 1);
    EXPECT_EQ(fake.req.retry.deadline,
              RNIC_RETRY_NEVER); /* no timer, because nothing was sent yet */
    EXPECT_EQ(requester_out_all(&fake), 4);
    EXPECT_EQ(fake.req.retry.deadline, fake.now + REQUESTER_T);
    requester_pass(&fake, 1000);
    requester_ack(&fake, 0); /* progress restarts the timer */
    EXPECT_EQ(fake.req.retry.deadline, fake.now + REQUESTER_T);
    requester_pass(&fake, REQUESTER_T - 1);
    requester_expect_gate(&fake, RNIC_REQ_EMPTY);
    for (unsigned i = 1; i <= 3; i++) {
        requester_pass(&fake, i == 1 ? 1 : 2 * REQUESTER_T);
        EXPECT_EQ(fake.counters.local_ack_timeout_err, i);
        EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
        requester_expect(&fake, ROCE_OP_RC_SEND_MIDDLE, 1);
        EXPECT_EQ(requester_out_all(&fake), 2);
    }
    requester_expect_no_wc(&fake);
    requester_pass(&fake, 2 * REQUESTER_T);
    requester_expect_wc(&fake, 1, RNIC_WC_RETRY_EXC_ERR);
    EXPECT_EQ(fake.wc_cnt_at_failure, 1);
    requester_expect_wc(&fake, 2, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(fake.counters.retry_exceeded_err, 1);
    requester_expect_gate(&fake, RNIC_REQ_STOPPED);
    EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
    requester_free(&fake);
}

/* Without outstanding requests no timer runs (R151). Timeout code 0 means no timer (R149). */
static void r151_timer_stops_without_requests(void)
{
    struct rnic_requester_attr attr = requester_attr();

    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 1);
    requester_out_all(&fake);
    requester_ack(&fake, 0);
    EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
    attr.timeout = 0;
    requester_restart(&fake, &attr);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 1);
    requester_out_all(&fake);
    EXPECT_EQ(fake.req.retry.deadline, RNIC_RETRY_NEVER);
    requester_free(&fake);
}

/* A response that arrives after the timer expired, but before the retransmission, is accepted. */
static void late_ack_after_timeout(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 600);
    requester_post(&fake, 2, RNIC_WR_READ, 0, 600);
    requester_post(&fake, 3, RNIC_WR_SEND, 0, 1);
    EXPECT_EQ(requester_out_all(&fake), 5);
    requester_pass(&fake, REQUESTER_T);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    requester_ack(&fake, 2);
    requester_expect_wc(&fake, 1, OK);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_FIRST, 3, 7, REQUESTER_MTU),
              RNIC_COMP_PLACE_READ);
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 4); /* retransmits only the missing part */
    requester_expect(&fake, ROCE_OP_RC_SEND_ONLY, 6);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_MIDDLE, 4, 7, REQUESTER_MTU),
              RNIC_COMP_PLACE_READ);
    requester_read(&fake, ROCE_OP_RC_READ_RESP_LAST, 5, 7, 88);
    requester_expect_wc(&fake, 2, OK);
    requester_ack(&fake, 6);
    requester_expect_wc(&fake, 3, OK);
    EXPECT_EQ(fake.req.fetch_cnt, 0);
    EXPECT_EQ(fake.req.fetch_psns, 0);
    requester_free(&fake);
}

/* An invalid local key stops the send queue at that request (R198, R090). Earlier requests
 * complete, then the request fails, and later ones are flushed. */
static void r198_local_fault_in_its_turn(void)
{
    struct rnic_sge bad = {REQUESTER_VA, 700, REQUESTER_BAD_KEY};
    struct rnic_send_wr wr = {.wr_id = 2, .opcode = RNIC_WR_WRITE, .sge = &bad, .sge_cnt = 1};

    requester_init(&fake);
    requester_post_flags(&fake, 1, RNIC_WR_SEND, 0, 300, RNIC_SEND_SIGNALED);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    requester_post_flags(&fake, 3, RNIC_WR_SEND, 0, 1,
                         0); /* an unsignaled request is flushed with a completion */
    EXPECT_EQ(requester_out_all(&fake), 2);
    requester_expect_gate(&fake, RNIC_REQ_FAULT);
    requester_expect_no_wc(&fake);
    requester_ack(&fake, 1);
    requester_expect_wc(&fake, 1, OK);
    requester_expect_wc(&fake, 2, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(fake.wc_cnt_at_failure, 2);
    requester_expect_wc(&fake, 3, RNIC_WC_WR_FLUSH_ERR);
    requester_free(&fake);

    /* The key error occurs in the middle of a message, and with no earlier request. */
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 700);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    fake.key_gone = true;
    EXPECT_EQ(requester_out(&fake).bth.opcode, 0xFF);
    requester_expect_wc(&fake, 1, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(fake.failed_cnt, 1);
    requester_free(&fake);
}

/* An unsignaled request that succeeds writes no completion (R198). */
static void r198_selective_signalling(void)
{
    requester_init(&fake);
    for (unsigned i = 0; i < 10; i++)
        requester_post_flags(&fake, i, RNIC_WR_WRITE, 0, 1, i % 5 == 4 ? RNIC_SEND_SIGNALED : 0);
    requester_out_all(&fake);
    requester_ack(&fake, 9);
    requester_expect_wc(&fake, 4, OK);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_RDMA_WRITE);
    requester_expect_wc(&fake, 9, OK);
    requester_expect_no_wc(&fake);
    CU_ASSERT(rnic_sq_empty(&fake.req.sq));
    requester_free(&fake);
}

/* While the queue drains, the requester finishes the message that it has begun, retransmissions
 * included. It begins no new message (R191). */
static void r191_drain_finishes_begun_messages(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 600);
    requester_post(&fake, 2, RNIC_WR_SEND, 0, 600);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    rnic_requester_drain(&fake.req, true);
    EXPECT_EQ(requester_out_all(&fake), 2);
    requester_expect_gate(&fake, RNIC_REQ_DRAIN);
    CU_ASSERT(!rnic_requester_drained(&fake.req));
    requester_pass(&fake, REQUESTER_T);
    EXPECT_EQ(requester_out_all(&fake), 3);
    requester_ack(&fake, 2);
    requester_expect_wc(&fake, 1, OK);
    CU_ASSERT(rnic_requester_drained(&fake.req));
    requester_expect_gate(&fake, RNIC_REQ_DRAIN);
    rnic_requester_drain(&fake.req, false);
    CU_ASSERT(!rnic_requester_drained(&fake.req));
    EXPECT_EQ(requester_out_all(&fake), 3);
    requester_free(&fake);
}

/* In SQD a local operation waits like every request that was not begun (R191, R132). It is executed
 * when the queue resumes, even without another event. A READ that max_rd_atomic 0 forbids also
 * fails only when the queue resumes (R130). */
static void r191_drain_before_local(void)
{
    requester_init(&fake);
    requester_post(&fake, 1, RNIC_WR_SEND, 0, 8);
    EXPECT_EQ(requester_out_all(&fake), 1);
    rnic_requester_drain(&fake.req, true);
    requester_post(&fake, 2, RNIC_WR_LOCAL_INV, 0, 0);
    requester_post(&fake, 3, RNIC_WR_READ, 0, 8);
    requester_ack(&fake, 0);
    requester_expect_wc(&fake, 1, OK);
    requester_expect_no_wc(&fake);
    CU_ASSERT(rnic_requester_drained(&fake.req));
    fake.req.attr.max_rd_atomic = 0; /* the user may change the limit before the queue resumes */
    rnic_requester_drain(&fake.req, true);
    fake.req.attr.max_rd_atomic = 4;
    rnic_requester_drain(&fake.req, false);
    requester_expect_wc(&fake, 2, OK);
    EXPECT_EQ(requester_out_all(&fake), 1);
    requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 1, 1, 8);
    requester_expect_wc(&fake, 3, OK);
    rnic_requester_drain(&fake.req, true);
    fake.req.attr.max_rd_atomic = 0;
    requester_post(&fake, 4, RNIC_WR_READ, 0, 8);
    requester_expect_no_wc(&fake);
    rnic_requester_drain(&fake.req, false);
    requester_expect_wc(&fake, 4, RNIC_WC_LOC_QP_OP_ERR);
    requester_free(&fake);
}

/* ERR flushes requests in order; RESET drops them, and the QP can be connected again (R189, R190).
 */
static void r189_flush_and_reset(void)
{
    struct rnic_requester_attr attr = requester_attr();

    requester_init(&fake);
    for (unsigned i = 0; i < 5; i++)
        requester_post_flags(&fake, i, RNIC_WR_SEND, 0, 600, 0);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    rnic_requester_flush(&fake.req);
    for (unsigned i = 0; i < 5; i++)
        requester_expect_wc(&fake, i, RNIC_WC_WR_FLUSH_ERR);
    requester_expect_gate(&fake, RNIC_REQ_STOPPED);
    EXPECT_EQ(requester_ack(&fake, 0), RNIC_COMP_IGNORE);
    requester_restart(&fake, &attr);
    requester_post(&fake, 9, RNIC_WR_SEND, 0, 600);
    requester_expect(&fake, ROCE_OP_RC_SEND_FIRST, 0);
    rnic_requester_reset(&fake.req);
    requester_expect_no_wc(&fake);
    requester_expect_gate(&fake, RNIC_REQ_STOPPED);
    attr.sq_psn = roce_psn_of(77);
    requester_restart(&fake, &attr);
    requester_post(&fake, 1, RNIC_WR_WRITE, 0, 1);
    EXPECT_EQ(requester_out(&fake).bth.psn, 77);
    requester_free(&fake);
}

SUITE("transport.requester", TEST(r127_opcodes_follow_the_position), TEST(r128_headers),
      TEST(r058_psn_after_read), TEST(r133_ackreq_is_set_in_last_and_in_time),
      TEST(r060_window_limits_outstanding_psns), TEST(r130_max_rd_atomic),
      TEST(r131_fence_waits_for_reads), TEST(r132_local_invalidate_waits_in_order),
      TEST(r134_requests_wait_for_credits), TEST(r135_credits_never_decrease),
      TEST(r153_retransmission_repeats_same_packets), TEST(r154_timeout_and_retries),
      TEST(r151_timer_stops_without_requests), TEST(late_ack_after_timeout),
      TEST(r198_local_fault_in_its_turn), TEST(r198_selective_signalling),
      TEST(r191_drain_finishes_begun_messages), TEST(r191_drain_before_local),
      TEST(r189_flush_and_reset))
