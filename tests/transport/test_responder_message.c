/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Valid messages: placement of their bytes, their completions, and the PSN wrap (rules R038-R039,
 * R058-R063, R085-R087, R101-R103, R122, R202-R203 of rnic/rules.md). */
#include <pthread.h>
#include "support/responder_fixture.h"
#include "support/rng.h"
#include "support/suite.h"
#include "wire/codes.h"

#define ACK (ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE)

static struct responder_fixture fake;
static uint8_t data[8192];

static void init_at(uint32_t psn, uint32_t mtu)
{
    struct rnic_responder_attr attr = responder_attr();
    struct rng rng = rng_of(7);

    rng_fill(&rng, data, sizeof(data));
    responder_init(&fake);
    attr.rq_psn = roce_psn_of(psn);
    attr.path_mtu = mtu;
    responder_restart(&fake, &attr);
}

/* Sends `len` bytes of data as one message with these opcodes. The last packet requests an ACK and
 * a solicited event. Returns the PSN after the message. */
static uint32_t message(uint8_t first, uint8_t middle, uint8_t last, uint8_t only, uint32_t psn,
                        uint32_t off, uint32_t len, uint32_t mtu)
{
    uint32_t cnt = roce_psn_cnt(len, mtu);

    for (uint32_t i = 0; i < cnt; i++) {
        bool ends = i == cnt - 1;
        uint8_t opcode = cnt == 1 ? only : i == 0 ? first : ends ? last : middle;
        struct roce_pkt pkt =
            pktgen_write(&fake.gen, opcode, psn + i, RESPONDER_VA + off, RESPONDER_KEY, len,
                         data + i * mtu, ends ? len - i * mtu : mtu);

        pkt.bth.ackreq = ends;
        pkt.bth.se = ends;
        pkt.immdt.imm = 0xA1B2C3D4;
        pkt.ieth.rkey = RESPONDER_KEY_INV;
        EXPECT_EQ(responder_in(&fake, pkt), RNIC_RESP_ACKNOWLEDGE);
    }
    return (psn + cnt) & ROCE_PSN_MASK;
}

/* SENDs of all lengths around packet boundaries, with all path MTUs, across the PSN wrap (R062).
 * The data is scattered over SGEs of odd sizes, one of them empty. */
static void send_of_any_length_is_scattered(void)
{
    static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

    for (unsigned m = 0; m < 5; m++) {
        uint32_t mtu = mtus[m];
        uint32_t lens[] = {
            0, 1, 3, mtu - 1, mtu, mtu + 1, 2 * mtu - 1, 2 * mtu, mtu == 4096 ? 8192 : 2 * mtu + 3};

        for (unsigned l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
            const struct rnic_sge sge[4] = {{RESPONDER_VA + 10000, 7, RESPONDER_KEY},
                                            {0, 0, 0xBAD},
                                            {RESPONDER_VA + 1000, 300, RESPONDER_KEY},
                                            {RESPONDER_VA + 1300, 8192, RESPONDER_KEY}};
            const struct rnic_recv_wr wr = {.wr_id = 42, .sge = sge, .sge_cnt = 4};
            uint32_t psn = 0xFFFFFE;
            uint32_t len = lens[l];

            init_at(psn, mtu);
            memset(fake.mem, 0, sizeof(fake.mem));
            EXPECT_EQ(rnic_rq_post(&fake.resp.rq, &wr), RNIC_RQ_POSTED);
            psn = message(ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST,
                          ROCE_OP_RC_SEND_ONLY, psn, 0, len, mtu);
            responder_expect_aeth(&fake, (psn - 1) & ROCE_PSN_MASK, ACK, 1);
            EXPECT_EQ(fake.wc_cnt, 1);
            EXPECT_EQ(fake.wc[0].status, RNIC_WC_SUCCESS);
            EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_RECV);
            EXPECT_EQ(fake.wc[0].wr_id, 42);
            /* a SEND of length 0 completes with byte_len 0 (R087) */
            EXPECT_EQ(fake.wc[0].byte_len, len);
            EXPECT_EQ(fake.wc[0].flags, 0);
            CU_ASSERT(fake.wc[0].solicited);
            CU_ASSERT(memcmp(fake.mem + 10000, data, len < 7 ? len : 7) == 0);
            if (len > 7)
                CU_ASSERT(memcmp(fake.mem + 1000, data + 7, len - 7) == 0);
            EXPECT_EQ(fake.mem[999], 0);
            EXPECT_EQ(fake.mem[10007], 0);
            if (len < 8192)
                EXPECT_EQ(fake.mem[1000 + (len > 7 ? len - 7 : 0)], 0);
            EXPECT_EQ(fake.counters.rx_send_requests, roce_psn_cnt(len, mtu));
            responder_free(&fake);
        }
    }
}

/* The completion has the immediate data, or the invalidated key, of the Last or Only packet (R203).
 */
static void send_with_immediate_and_invalidate_completes(void)
{
    for (uint32_t len = 16; len <= 600; len += 584) {
        init_at(0xFFFFFF, 256);
        responder_post(&fake, 1, 0, 1024);
        message(ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST_IMM,
                ROCE_OP_RC_SEND_ONLY_IMM, 0xFFFFFF, 0, len, 256);
        EXPECT_EQ(fake.wc[0].flags, RNIC_WC_WITH_IMM);
        EXPECT_EQ(fake.wc[0].imm, 0xA1B2C3D4);
        EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_RECV);
        responder_free(&fake);

        init_at(0xFFFFFF, 256);
        responder_post(&fake, 1, 0, 1024);
        message(ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE, ROCE_OP_RC_SEND_LAST_INV,
                ROCE_OP_RC_SEND_ONLY_INV, 0xFFFFFF, 0, len, 256);
        EXPECT_EQ(fake.wc_cnt, 1);
        EXPECT_EQ(fake.wc[0].flags, RNIC_WC_WITH_INV);
        EXPECT_EQ(fake.wc[0].invalidated_key, RESPONDER_KEY_INV);
        CU_ASSERT(fake.inv_gone);
        responder_free(&fake);
    }
}

/* WRITEs of all lengths across the PSN wrap; the bytes around them do not change (R085, R086). */
static void write_of_any_length_is_placed(void)
{
    static const uint32_t lens[] = {0, 1, 255, 256, 257, 511, 512, 513, 1000, 4096};

    for (unsigned l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
        uint32_t psn;
        uint32_t len = lens[l];

        init_at(0xFFFFFE, 256);
        memset(fake.mem, 0, sizeof(fake.mem));
        psn = message(ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST,
                      ROCE_OP_RC_WRITE_ONLY, 0xFFFFFE, 333, len, 256);
        responder_expect_aeth(&fake, (psn - 1) & ROCE_PSN_MASK, ACK, 1);
        EXPECT_EQ(fake.wc_cnt, 0);
        CU_ASSERT(memcmp(fake.mem + 333, data, len) == 0);
        EXPECT_EQ(fake.mem[332], 0);
        EXPECT_EQ(fake.mem[333 + len], 0);
        EXPECT_EQ(fake.counters.rx_write_requests, roce_psn_cnt(len, 256));
        responder_free(&fake);
    }
}

/* A WRITE with immediate completes a receive WQE, but does not write to its buffers (R202). */
static void r202_write_imm_completes_without_its_buffer(void)
{
    static const uint32_t lens[] = {0, 10, 256, 700};

    for (unsigned l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
        init_at(5, 256);
        responder_post(&fake, 1, 9000, 10);
        responder_post(&fake, 2, 9000, 10);
        memset(fake.mem + 9000, 0x77, 10);
        message(ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_MIDDLE, ROCE_OP_RC_WRITE_LAST_IMM,
                ROCE_OP_RC_WRITE_ONLY_IMM, 5, 0, lens[l], 256);
        EXPECT_EQ(fake.wc_cnt, 1);
        EXPECT_EQ(fake.wc[0].wr_id, 1);
        EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_RECV_RDMA_WITH_IMM);
        EXPECT_EQ(fake.wc[0].byte_len, lens[l]);
        EXPECT_EQ(fake.wc[0].flags, RNIC_WC_WITH_IMM);
        EXPECT_EQ(fake.wc[0].imm, 0xA1B2C3D4);
        CU_ASSERT(fake.wc[0].solicited);
        for (unsigned i = 0; i < 10; i++)
            EXPECT_EQ(fake.mem[9000 + i], 0x77);
        CU_ASSERT(memcmp(fake.mem, data, lens[l]) == 0);
        responder_free(&fake);
    }
}

/* A request of length 0 needs neither a valid key nor a valid address (R085). */
static void r085_empty_request_needs_no_key(void)
{
    init_at(9, 256);
    EXPECT_EQ(responder_in(&fake, pktgen_write(&fake.gen, ROCE_OP_RC_WRITE_ONLY, 9, UINT64_MAX,
                                               0xBAD, 0, NULL, 0)),
              RNIC_RESP_ACKNOWLEDGE);
    EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, 10, UINT64_MAX, 0xBAD, 0)),
              RNIC_RESP_ADVANCE);
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 10, 0, 0);
    EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, 11);
    EXPECT_EQ(fake.resp.msn, 2);
    responder_free(&fake);
}

/* READs of all lengths across the PSN wrap, without AckReq (R039, R058, R063, R101, R103). */
static void read_of_any_length_is_answered(void)
{
    static const uint32_t lens[] = {1, 255, 256, 257, 512, 513, 1000, 4096};

    for (unsigned l = 0; l < sizeof(lens) / sizeof(lens[0]); l++) {
        uint32_t len = lens[l];
        uint32_t cnt = roce_psn_cnt(len, 256);
        uint32_t psn = 0xFFFFFE;

        init_at(psn, 256);
        EXPECT_EQ(
            responder_in(&fake, pktgen_read(&fake.gen, psn, RESPONDER_VA + 13, RESPONDER_KEY, len)),
            RNIC_RESP_ADVANCE);
        EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, (psn + cnt) & ROCE_PSN_MASK);
        for (uint32_t i = 0; i < cnt; i++) {
            bool ends = i == cnt - 1;
            uint8_t opcode = cnt == 1 ? ROCE_OP_RC_READ_RESP_ONLY
                             : i == 0 ? ROCE_OP_RC_READ_RESP_FIRST
                             : ends   ? ROCE_OP_RC_READ_RESP_LAST
                                      : ROCE_OP_RC_READ_RESP_MIDDLE;

            responder_expect_read(&fake, opcode, (psn + i) & ROCE_PSN_MASK, 13 + i * 256,
                                  ends ? len - i * 256 : 256);
        }
        responder_expect_nothing(&fake);
        EXPECT_EQ(fake.resp.msn, 1);
        responder_free(&fake);
    }
}

/* The largest READ has 2^23 PSNs. After the request all of them are duplicates, and the first is
 * exactly half of the PSN space before the expected PSN (R061, R081). */
static void r061_largest_read_is_duplicate_afterwards(void)
{
    uint32_t psn = 0x923456;

    init_at(psn, 256);
    EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, psn, RESPONDER_VA, RESPONDER_KEY_HUGE,
                                              RNIC_MESSAGE_MAX)),
              RNIC_RESP_ADVANCE);
    EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, 0x123456);
    for (unsigned i = 0; i < 2; i++) {
        responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_FIRST, psn, 0, 256);
        responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_MIDDLE, psn + 1, 0, 256);
        EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, psn, RESPONDER_VA, RESPONDER_KEY_HUGE,
                                                  RNIC_MESSAGE_MAX)),
                  RNIC_RESP_DUPLICATE_READ);
    }
    for (uint32_t left = 0x800000; left > 1; left--) {
        struct roce_pkt pkt;

        if (!rnic_responder_output(&fake.resp, &pkt) ||
            pkt.bth.psn != ((0x123456 - left) & ROCE_PSN_MASK)) {
            suite_fail(__FILE__, __LINE__, "%u packets before the end", left);
            break;
        }
    }
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_LAST, 0x123455, 0, 256);
    EXPECT_EQ(
        responder_in(&fake, pktgen_read(&fake.gen, 0x123455, RESPONDER_VA + RNIC_MESSAGE_MAX - 256,
                                        RESPONDER_KEY_HUGE, 256)),
        RNIC_RESP_DUPLICATE_READ);
    responder_expect_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0x123455, 0, 256);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* After the PSNs have wrapped completely, the earlier use of a PSN has no effect (R062). */
static void r062_psn_reuse_after_wrap_is_new(void)
{
    init_at(0, 256);
    EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, 0, RESPONDER_VA, RESPONDER_KEY, 16)),
              RNIC_RESP_ADVANCE);
    responder_out(&fake);
    fake.resp.epos += 1u << 24; /* 2^24 WRITEs later */
    EXPECT_EQ(rnic_responder_epsn(&fake.resp).v, 1);
    EXPECT_EQ(responder_in(&fake, pktgen_read(&fake.gen, 0, RESPONDER_VA, RESPONDER_KEY, 16)),
              RNIC_RESP_DROP);
    responder_expect_nothing(&fake);
    responder_free(&fake);
}

/* Consecutive SENDs use the WQEs in the order of posting, also when the ring wraps. */
static void receive_wqes_are_used_in_order(void)
{
    init_at(0, 256);
    for (uint32_t i = 0; i < 50; i++) {
        responder_post(&fake, 100 + i, 64 * (i % 8), 64);
        if (i < 3)
            continue;
        message(0, 0, 0, ROCE_OP_RC_SEND_ONLY, i - 3, 0, 8, 256);
        responder_out(&fake);
        EXPECT_EQ(fake.wc[(i - 3) % RESPONDER_LOG].wr_id, 100 + i - 3);
    }
    EXPECT_EQ(rnic_rq_cnt(&fake.resp.rq), 3);
    responder_free(&fake);
}

#define ADDITIONS 20000u

/* Adds one to the memory, as the device of another process does that shares the memory. */
static void *add_ones(void *mem)
{
    for (unsigned i = 0; i < 100 * ADDITIONS; i++)
        __atomic_add_fetch((uint64_t *)mem, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

/* An atomic loses no update of another process to the same memory: IBV_ATOMIC_HCA is promised for
 * all QPs of the device, and each process has its own software RNIC (MPI windows in shared memory).
 */
static void atomics_lose_no_update_of_another_process(void)
{
    uint64_t value = 0;
    pthread_t thread;

    init_at(0, 256);
    memset(fake.mem, 0, sizeof(value));
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, add_ones, fake.mem), 0);
    for (uint32_t i = 0; i < ADDITIONS; i++) {
        EXPECT_EQ(responder_in(&fake, pktgen_atomic(&fake.gen, ROCE_OP_RC_FETCH_ADD, i,
                                                    RESPONDER_VA, RESPONDER_KEY, 1, 0)),
                  RNIC_RESP_ADVANCE);
        responder_out(&fake);
    }
    pthread_join(thread, NULL);
    memcpy(&value, fake.mem, sizeof(value));
    EXPECT_EQ(value, 101 * ADDITIONS);
    responder_free(&fake);
}

SUITE("transport.responder_message", TEST(send_of_any_length_is_scattered),
      TEST(send_with_immediate_and_invalidate_completes), TEST(write_of_any_length_is_placed),
      TEST(r202_write_imm_completes_without_its_buffer), TEST(r085_empty_request_needs_no_key),
      TEST(read_of_any_length_is_answered), TEST(r061_largest_read_is_duplicate_afterwards),
      TEST(r062_psn_reuse_after_wrap_is_new), TEST(receive_wqes_are_used_in_order),
      TEST(atomics_lose_no_update_of_another_process))
