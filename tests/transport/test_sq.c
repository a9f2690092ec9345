/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Send queue tests: PSNs, limits, gathering and scattering (R058, R059, R124, R129, R136). */
#include "support/requester_fixture.h"
#include "support/suite.h"

static struct requester_fixture fake;

static struct rnic_send_wr send_wr(enum rnic_wr_opcode opcode, const struct rnic_sge *sge,
                                   uint32_t cnt)
{
    return (struct rnic_send_wr){.opcode = opcode, .sge = sge, .sge_cnt = cnt};
}

/* PSNs are assigned in the order of posting. A READ has as many PSNs as response packets; one of 2
 * GiB at path MTU 256 has 2^23 (R057-R059, R129). */
static void r058_psn_ranges(void)
{
    static const struct {
        enum rnic_wr_opcode opcode;
        uint32_t len, psn_cnt;
    } rows[] = {
        {RNIC_WR_SEND, 0, 1},
        {RNIC_WR_SEND, 256, 1},
        {RNIC_WR_WRITE, 257, 2},
        {RNIC_WR_READ, 0, 1},
        {RNIC_WR_READ, 1024, 4},
        {RNIC_WR_READ, 1025, 5},
        {RNIC_WR_CMP_SWAP, 8, 1},
        {RNIC_WR_FETCH_ADD, 8, 1},
        {RNIC_WR_LOCAL_INV, 0, 0},
        {RNIC_WR_WRITE, 1u << 31, 1u << 23},
        {RNIC_WR_READ, 1u << 31, 1u << 23},
    };
    struct rnic_sq sq;
    rnic_pos pos = 0;
    uint32_t ssn = 0;

    CU_ASSERT(rnic_sq_init(&sq, 16, 1, 0));
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_sge sge = {.len = rows[i].len};
        struct rnic_send_wr wr = send_wr(rows[i].opcode, &sge, rows[i].opcode != RNIC_WR_LOCAL_INV);
        const struct rnic_swqe *wqe = rnic_sq_wqe(&sq, sq.tail);

        EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_POSTED);
        ssn += rows[i].opcode != RNIC_WR_LOCAL_INV;
        EXPECT_EQ(wqe->pos, pos);
        EXPECT_EQ(wqe->psn_cnt, rows[i].psn_cnt);
        EXPECT_EQ(wqe->ssn, ssn);
        pos += rows[i].psn_cnt;
        EXPECT_EQ(rnic_swqe_end(wqe), pos);
    }
    rnic_sq_free(&sq);
}

static void invalid_requests_are_refused(void)
{
    struct rnic_sge sge[5] = {{.len = 8}, {.len = 8}, {.len = 1u << 31}};
    struct rnic_send_wr wr;
    struct rnic_sq sq;

    CU_ASSERT(rnic_sq_init(&sq, 2, 4, 16));
    wr = send_wr((enum rnic_wr_opcode)8, sge, 1);
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr((enum rnic_wr_opcode)99, sge, 1);
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr(RNIC_WR_SEND, sge, 5);
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr(RNIC_WR_SEND, sge + 1, 2); /* 2 GiB and 8 bytes */
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr(RNIC_WR_LOCAL_INV, sge, 1);
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr(RNIC_WR_SEND, sge, 1);
    wr.flags = 1u << 4;
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    wr = send_wr(RNIC_WR_READ, sge, 1);
    wr.flags = RNIC_SEND_INLINE;
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    sge[0].len = 17;
    wr = send_wr(RNIC_WR_WRITE, sge, 1);
    wr.flags = RNIC_SEND_INLINE;
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    /* an atomic needs exactly 8 bytes (R124) */
    for (uint32_t len = 0; len < 17; len++) {
        sge[0].len = len;
        wr = send_wr(RNIC_WR_FETCH_ADD, sge, 1);
        if (len != 8)
            EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    }
    sge[0].len = sge[1].len = 4;
    wr = send_wr(RNIC_WR_CMP_SWAP, sge, 2);
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_INVALID);
    EXPECT_EQ(rnic_sq_cnt(&sq), 0);
    rnic_sq_free(&sq);
}

static void full_queue_refuses_and_ring_wraps(void)
{
    struct rnic_send_wr wr = send_wr(RNIC_WR_SEND, NULL, 0);
    struct rnic_sq sq;

    CU_ASSERT(rnic_sq_init(&sq, 3, 1, 0)); /* queue size that is not a power of two */
    for (uint64_t i = 0; i < 1000; i++) {
        wr.wr_id = i;
        EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_POSTED);
        if (rnic_sq_cnt(&sq) < 3)
            continue;
        EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_FULL);
        EXPECT_EQ(rnic_sq_wqe(&sq, sq.head)->wr_id, i - 2);
        rnic_sq_pop(&sq);
        EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_FULL); /* the completion was not polled
                                                               * yet */
        rnic_sq_retrieved(&sq, sq.head);                      /* ignored: this WQE is not
                                                               * complete */
        EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_FULL);
        rnic_sq_retrieved(&sq, (sq.head - 1) | RNIC_WQE_NUMBER);
    }
    rnic_sq_free(&sq);
    CU_ASSERT(rnic_sq_init(&sq, 0, 1, 0));
    EXPECT_EQ(rnic_sq_post(&sq, &wr, 256), RNIC_SQ_FULL);
    rnic_sq_free(&sq);
    rnic_sq_free(&sq); /* freeing a queue a second time has no effect */
}

/* The test divides a message into SGEs in every way, including empty SGEs. The bytes of the message
 * must always be the same. */
static void any_sge_split_gives_same_bytes(void)
{
    struct rnic_sge sge[4] = {{REQUESTER_VA + 10, 100, REQUESTER_KEY},
                              {REQUESTER_VA + 5000, 0, REQUESTER_KEY},
                              {REQUESTER_VA + 3000, 7, REQUESTER_KEY},
                              {REQUESTER_VA + 700, 300, REQUESTER_KEY}};
    struct rnic_send_wr wr = send_wr(RNIC_WR_WRITE, sge, 4);
    uint8_t whole[407];
    const struct rnic_swqe *wqe;

    requester_init(&fake);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    wqe = rnic_sq_wqe(&fake.req.sq, fake.req.sq.head);
    memcpy(whole, fake.mem + 10, 100);
    memcpy(whole + 100, fake.mem + 3000, 7);
    memcpy(whole + 107, fake.mem + 700, 300);
    for (uint32_t off = 0; off < 407; off += 3) {
        for (uint32_t len = 1; len <= 407 - off; len += 11) {
            const uint8_t *out = NULL;

            EXPECT_EQ(rnic_sq_gather(&fake.req.sq, wqe, off, len, fake.req.ops, &fake, fake.scratch,
                                     &out),
                      RNIC_MEM_OK);
            CU_ASSERT(memcmp(out, whole + off, len) == 0);
        }
    }
    for (uint32_t i = 0; i < sizeof(whole); i++)
        whole[i] = (uint8_t)(i * 3 + 1);
    for (uint32_t off = 0; off < 407; off += 37)
        EXPECT_EQ(rnic_sq_scatter(&fake.req.sq, wqe, off, 37, fake.req.ops, &fake, whole + off),
                  RNIC_MEM_OK);
    CU_ASSERT(memcmp(whole, fake.mem + 10, 100) == 0);
    CU_ASSERT(memcmp(whole + 100, fake.mem + 3000, 7) == 0);
    CU_ASSERT(memcmp(whole + 107, fake.mem + 700, 300) == 0);
    requester_free(&fake);
}

/* Inline data is copied when the request is posted (R136). */
static void r136_inline(void)
{
    uint8_t mine[20] = "inline data, really";
    struct rnic_sge sge[2] = {{(uintptr_t)mine, 12, 0}, {(uintptr_t)(mine + 12), 7, 0}};
    struct rnic_send_wr wr = send_wr(RNIC_WR_SEND, sge, 2);
    struct roce_pkt pkt;

    requester_init(&fake);
    wr.flags = RNIC_SEND_INLINE;
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    memset(mine, 'x', sizeof(mine));
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.payload_len, 19);
    CU_ASSERT(memcmp(pkt.payload, "inline data, really", 19) == 0);
    requester_free(&fake);
}

SUITE("transport.sq", TEST(r058_psn_ranges), TEST(invalid_requests_are_refused),
      TEST(full_queue_refuses_and_ring_wraps), TEST(any_sge_split_gives_same_bytes),
      TEST(r136_inline))
