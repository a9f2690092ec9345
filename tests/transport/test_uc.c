/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* UC responder tests (R042, R065, R075, R079-R084, R162-R166, R208 of rnic/rules.md). */
#include "support/responder_fixture.h"
#include "support/suite.h"

static struct responder_fixture fake;
static uint8_t data[1024];

static void init(void)
{
    struct rnic_responder_attr attr = responder_attr();

    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(0x80 | (i * 3 + i / 256));
    responder_init(&fake);
    attr.svc = ROCE_SVC_UC;
    attr.credits = true; /* has no effect, because UC sends no ACKs */
    attr.rq_psn = roce_psn_of(0xFFFFFE);
    responder_restart(&fake, &attr);
}

/* Returns a packet `pos` PSNs after the first PSN, with `len` bytes of data from offset `off` on.
 */
static struct roce_pkt packet(uint8_t opcode, uint32_t pos, uint32_t off, uint32_t len,
                              uint32_t dma_len)
{
    struct roce_pkt pkt =
        pktgen_write(&fake.gen, opcode, (0xFFFFFE + pos) & ROCE_PSN_MASK, RESPONDER_VA + 8192,
                     RESPONDER_KEY, dma_len, data + off, len);

    pkt.immdt.imm = 0xA1B2C3D4;
    return pkt;
}

static enum rnic_uc_step in(uint8_t opcode, uint32_t pos, uint32_t off, uint32_t len)
{
    return responder_uc(&fake, packet(opcode, pos, off, len, 600));
}

static void expect_wc(unsigned idx, uint64_t wr_id, uint32_t len)
{
    EXPECT_EQ(fake.wc_cnt, idx + 1);
    EXPECT_EQ(fake.wc[idx].wr_id, wr_id);
    EXPECT_EQ(fake.wc[idx].status, RNIC_WC_SUCCESS);
    EXPECT_EQ(fake.wc[idx].byte_len, len);
}

/* Expects that there is no response and no event, and that the QP still works (R162, R165). */
static void finish(void)
{
    responder_expect_nothing(&fake);
    EXPECT_EQ(fake.ready_cnt, 0);
    EXPECT_EQ(fake.event_cnt, 0);
    EXPECT_EQ(fake.failed_cnt, 0);
    responder_free(&fake);
}

/* SEND and WRITE, with and without immediate, across the PSN wrap; AckReq has no effect (R042). */
static void uc_messages_are_delivered(void)
{
    struct roce_pkt pkt;

    init();
    responder_post(&fake, 1, 0, 1024);
    responder_post(&fake, 2, 1024, 1024);
    responder_post(&fake, 3, 2048, 0);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_FIRST, 0, 0, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_MIDDLE, 1, 256, 256), RNIC_UC_ADVANCE);
    pkt = packet(ROCE_OP_UC_SEND_LAST_IMM, 2, 512, 88, 0);
    pkt.bth.ackreq = 1;
    pkt.bth.se = 1;
    EXPECT_EQ(responder_uc(&fake, pkt), RNIC_UC_COMPLETE);
    expect_wc(0, 1, 600);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_RECV);
    EXPECT_EQ(fake.wc[0].flags, RNIC_WC_WITH_IMM);
    EXPECT_EQ(fake.wc[0].imm, 0xA1B2C3D4);
    CU_ASSERT(fake.wc[0].solicited);
    CU_ASSERT(memcmp(fake.mem, data, 600) == 0);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 3, 0, 0), RNIC_UC_COMPLETE);
    expect_wc(1, 2, 0);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_FIRST, 4, 0, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_MIDDLE, 5, 256, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_LAST, 6, 512, 88), RNIC_UC_ADVANCE);
    EXPECT_EQ(fake.wc_cnt, 2);
    CU_ASSERT(memcmp(fake.mem + 8192, data, 600) == 0);
    EXPECT_EQ(responder_uc(&fake, packet(ROCE_OP_UC_WRITE_ONLY_IMM, 7, 100, 200, 200)),
              RNIC_UC_COMPLETE);
    expect_wc(2, 3, 200);
    EXPECT_EQ(fake.wc[2].opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
    CU_ASSERT(memcmp(fake.mem + 8192, data + 100, 200) == 0);
    EXPECT_EQ(fake.counters.rx_send_requests, 4);
    EXPECT_EQ(fake.counters.rx_write_requests, 4);
    EXPECT_EQ(fake.counters.rx_uc_dropped, 0);
    finish();
}

/* The loss of any packet of a SEND or WRITE drops that message only. Its WQE serves the next
 * message, which is received completely (R065, R163, R166). */
static void loss_costs_one_message(void)
{
    static const uint8_t send[3] = {ROCE_OP_UC_SEND_FIRST, ROCE_OP_UC_SEND_MIDDLE,
                                    ROCE_OP_UC_SEND_LAST};
    static const uint8_t write[3] = {ROCE_OP_UC_WRITE_FIRST, ROCE_OP_UC_WRITE_MIDDLE,
                                     ROCE_OP_UC_WRITE_LAST_IMM};

    for (unsigned k = 0; k < 2; k++) {
        for (unsigned lost = 0; lost < 3; lost++) {
            init();
            responder_post(&fake, 1, 0, 1024);
            responder_post(&fake, 2, 1024, 1024);
            for (unsigned i = 0; i < 3; i++)
                if (i != lost)
                    EXPECT_EQ(in(k ? write[i] : send[i], i, 256 * i, i < 2 ? 256 : 88),
                              i > lost ? RNIC_UC_DROP : RNIC_UC_ADVANCE);
            EXPECT_EQ(fake.wc_cnt, 0);
            for (unsigned i = 0; i < 3; i++)
                in(send[i], 3 + i, 256 * i, i < 2 ? 256 : 88);
            expect_wc(0, 1, 600);
            CU_ASSERT(memcmp(fake.mem, data, 600) == 0);
            EXPECT_EQ(rnic_rq_cnt(&fake.resp.rq), 1);
            EXPECT_EQ(fake.counters.out_of_sequence, 1);
            EXPECT_EQ(fake.counters.rx_uc_dropped, 2 - lost);
            finish();
        }
    }
}

/* An incomplete SEND leaves a receive WQE. A WRITE without immediate does not complete this WQE,
 * but a WRITE with immediate does (R163). */
static void broken_send_leaves_wqe_for_next(void)
{
    init();
    responder_post(&fake, 1, 0, 1024);
    in(ROCE_OP_UC_SEND_FIRST, 0, 0, 256);
    EXPECT_EQ(responder_uc(&fake, packet(ROCE_OP_UC_WRITE_ONLY, 1, 0, 100, 100)), RNIC_UC_ADVANCE);
    EXPECT_EQ(fake.wc_cnt, 0);
    EXPECT_EQ(responder_uc(&fake, packet(ROCE_OP_UC_WRITE_ONLY_IMM, 2, 0, 100, 100)),
              RNIC_UC_COMPLETE);
    expect_wc(0, 1, 100);
    finish();
}

/* The WQE of an incomplete SEND is flushed first, or dropped with the queue at RESET (R189, R190).
 */
static void kept_wqe_is_flushed_first(void)
{
    for (unsigned reset = 0; reset < 2; reset++) {
        init();
        responder_post(&fake, 1, 0, 1024);
        responder_post(&fake, 2, 0, 1024);
        in(ROCE_OP_UC_SEND_FIRST, 0, 0, 256);
        in(ROCE_OP_UC_SEND_LAST, 7, 0, 256);
        if (reset) {
            rnic_responder_reset(&fake.resp);
            EXPECT_EQ(fake.wc_cnt, 0);
        } else {
            rnic_responder_stop(&fake.resp);
            EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 8, 0, 1), RNIC_UC_DROP);
            rnic_responder_flush(&fake.resp);
            EXPECT_EQ(fake.wc_cnt, 2);
            EXPECT_EQ(fake.wc[0].wr_id, 1);
            EXPECT_EQ(fake.wc[0].status, RNIC_WC_WR_FLUSH_ERR);
        }
        EXPECT_EQ(rnic_rq_used(&fake.resp.rq), 0);
        finish();
    }
}

/* First and Only begin a message even after a gap, before the expected PSN, or in the middle of
 * another message, which is then dropped (R164). */
static void first_packet_begins_message_anywhere(void)
{
    static const uint32_t jumps[] = {0, 5, 0x7FFFFF, 0x800000, 0xFFFFFF};

    for (unsigned i = 0; i < sizeof(jumps) / sizeof(jumps[0]); i++) {
        uint32_t pos = 1 + jumps[i];

        init();
        responder_post(&fake, 1, 0, 1024);
        in(ROCE_OP_UC_SEND_FIRST, 0, 0, 256);
        EXPECT_EQ(in(ROCE_OP_UC_SEND_FIRST, pos, 256, 256), RNIC_UC_ADVANCE);
        EXPECT_EQ(in(ROCE_OP_UC_SEND_LAST, pos + 1, 512, 100), RNIC_UC_COMPLETE);
        expect_wc(0, 1, 356);
        CU_ASSERT(memcmp(fake.mem, data + 256, 356) == 0);
        EXPECT_EQ(fake.counters.out_of_sequence, jumps[i] != 0);
        EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, (0xFFFFFE + pos + 2) & ROCE_PSN_MASK);
        finish();
    }
}

/* A Middle or Last packet is dropped if no message is open or if the open message has another
 * operation. The open message is then dropped, too. */
static void wrong_middle_or_last_is_dropped(void)
{
    init();
    responder_post(&fake, 1, 0, 1024);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_MIDDLE, 0, 0, 256), RNIC_UC_DROP);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_LAST, 1, 0, 256), RNIC_UC_DROP);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_LAST, 2, 0, 256), RNIC_UC_DROP);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_FIRST, 3, 0, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_LAST, 4, 0, 256), RNIC_UC_DROP);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_LAST, 5, 0, 256), RNIC_UC_DROP);
    EXPECT_EQ(fake.counters.rx_uc_dropped, 5);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 6, 0, 10), RNIC_UC_COMPLETE);
    expect_wc(0, 1, 10);
    finish();
}

/* Without a receive WQE the whole message is dropped and counted (R165). */
static void send_without_wqe_is_dropped(void)
{
    init();
    EXPECT_EQ(in(ROCE_OP_UC_SEND_FIRST, 0, 0, 256), RNIC_UC_DROP);
    responder_post(&fake, 1, 0, 1024);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_LAST, 1, 256, 10), RNIC_UC_DROP);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 2, 0, 10), RNIC_UC_COMPLETE);
    expect_wc(0, 1, 10);
    /* The packet with immediate has no WQE and is dropped; the data of the earlier packets
     * is already written (R166). */
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_FIRST, 3, 0, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_MIDDLE, 4, 256, 256), RNIC_UC_ADVANCE);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_LAST_IMM, 5, 512, 88), RNIC_UC_DROP);
    CU_ASSERT(memcmp(fake.mem + 8192, data, 512) == 0);
    EXPECT_EQ(fake.wc_cnt, 1);
    EXPECT_EQ(fake.counters.out_of_buffer, 2);
    finish();
}

/* Packets of wrong length are dropped (R079-R082, R165). The WQE of a SEND that is too long serves
 * the next message. */
static void wrong_length_is_dropped(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t len, dma_len;
    } rows[] = {
        {ROCE_OP_UC_SEND_FIRST, 255, 0},
        {ROCE_OP_UC_SEND_ONLY, 257, 0},
        {ROCE_OP_UC_SEND_ONLY, 101, 0}, /* the WQE has room for 100 bytes */
        {ROCE_OP_UC_WRITE_FIRST, 100, 600},
        {ROCE_OP_UC_WRITE_ONLY, 100, 101},
        {ROCE_OP_UC_WRITE_ONLY, 100, 99},
        {ROCE_OP_UC_WRITE_ONLY_IMM, 257, 257},
        {ROCE_OP_UC_WRITE_FIRST, 256, 0x80000001},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        init();
        responder_post(&fake, 1, 0, 100);
        EXPECT_EQ(responder_uc(&fake, packet(rows[i].opcode, 0, 0, rows[i].len, rows[i].dma_len)),
                  RNIC_UC_DROP);
        EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 1, 0, 100), RNIC_UC_COMPLETE);
        expect_wc(0, 1, 100);
        EXPECT_EQ(fake.counters.rx_uc_dropped, 1);
        finish();
    }
    init(); /* message too short at the Last packet; Last packet without payload */
    in(ROCE_OP_UC_WRITE_FIRST, 0, 0, 256);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_LAST, 1, 0, 256), RNIC_UC_DROP);
    responder_post(&fake, 1, 0, 1024);
    in(ROCE_OP_UC_SEND_FIRST, 2, 0, 256);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_LAST, 3, 0, 0), RNIC_UC_DROP);
    finish();
}

/* WRITEs with an invalid key, right or range are dropped, and the memory does not change (R083,
 * R084, R075, R208, R085). */
static void write_without_access_is_dropped(void)
{
    struct rnic_responder_attr attr = responder_attr();
    uint8_t before[RESPONDER_MEM_LEN];
    struct roce_pkt pkt;

    init();
    memcpy(before, fake.mem, sizeof(before));
    pkt = packet(ROCE_OP_UC_WRITE_ONLY, 0, 0, 100, 100);
    pkt.reth.rkey = 0xBAD;
    EXPECT_EQ(responder_uc(&fake, pkt), RNIC_UC_DROP);
    pkt = packet(ROCE_OP_UC_WRITE_ONLY, 1, 0, 100, 100);
    pkt.reth.rkey = RESPONDER_KEY_RO;
    EXPECT_EQ(responder_uc(&fake, pkt), RNIC_UC_DROP);
    EXPECT_EQ(responder_uc(&fake, packet(ROCE_OP_UC_WRITE_FIRST, 2, 0, 256, 8193)), RNIC_UC_DROP);
    pkt = packet(ROCE_OP_UC_WRITE_ONLY, 3, 0, 0, 0);
    pkt.reth.rkey = 0xBAD;
    EXPECT_EQ(responder_uc(&fake, pkt), RNIC_UC_ADVANCE);
    CU_ASSERT(memcmp(before, fake.mem, sizeof(before)) == 0);
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_FIRST, 4, 0, 256), RNIC_UC_ADVANCE);
    fake.key_gone = true;
    EXPECT_EQ(in(ROCE_OP_UC_WRITE_MIDDLE, 5, 0, 256), RNIC_UC_DROP);
    finish();

    init();
    attr.svc = ROCE_SVC_UC;
    attr.access = RNIC_ACCESS_REMOTE_READ;
    responder_restart(&fake, &attr);
    pkt = packet(ROCE_OP_UC_WRITE_ONLY, 0, 0, 100, 100);
    pkt.bth.psn = RESPONDER_PSN;
    EXPECT_EQ(responder_uc(&fake, pkt), RNIC_UC_DROP);
    finish();
}

/* A receive WQE with memory that is not writable is a local error and fails the QP. */
static void unwritable_buffer_fails_the_qp(void)
{
    const struct rnic_sge sge = {.addr = RESPONDER_VA, .len = 100, .lkey = 0xBAD};
    const struct rnic_recv_wr wr = {.wr_id = 7, .sge = &sge, .sge_cnt = 1};

    init();
    EXPECT_EQ(rnic_rq_post(&fake.resp.rq, &wr), RNIC_RQ_POSTED);
    responder_post(&fake, 8, 0, 100);
    EXPECT_EQ(in(ROCE_OP_UC_SEND_ONLY, 0, 0, 10), RNIC_UC_FAIL);
    EXPECT_EQ(fake.failed_cnt, 1);
    EXPECT_EQ(fake.wc_cnt_at_failure, 1);
    EXPECT_EQ(fake.wc[0].wr_id, 7);
    EXPECT_EQ(fake.wc[0].status, RNIC_WC_LOC_PROT_ERR);
    EXPECT_EQ(fake.wc[1].wr_id, 8);
    EXPECT_EQ(fake.wc[1].status, RNIC_WC_WR_FLUSH_ERR);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

SUITE("transport.uc", TEST(uc_messages_are_delivered), TEST(loss_costs_one_message),
      TEST(broken_send_leaves_wqe_for_next), TEST(kept_wqe_is_flushed_first),
      TEST(first_packet_begins_message_anywhere), TEST(wrong_middle_or_last_is_dropped),
      TEST(send_without_wqe_is_dropped), TEST(wrong_length_is_dropped),
      TEST(write_without_access_is_dropped), TEST(unwritable_buffer_fails_the_qp))
