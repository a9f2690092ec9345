/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* FLUSH and ATOMIC WRITE (annex A19, R126) in responder and requester: rights, lengths, alignment,
 * resources, duplicates, limits, and completions. */
#include <string.h>
#include "support/requester_fixture.h"
#include "support/responder_fixture.h"
#include "support/suite.h"
#include "wire/codes.h"

#define OK RNIC_WC_SUCCESS

static struct responder_fixture host;
static struct requester_fixture fake;

static struct roce_pkt flush(uint32_t psn, uint8_t type, uint8_t level, uint64_t va, uint32_t rkey,
                             uint32_t len)
{
    struct roce_pkt pkt = pktgen_pkt(&host.gen, ROCE_OP_RC_FLUSH, psn);

    pkt.feth = (struct roce_feth){.plt = type, .sel = level};
    pkt.reth = (struct roce_reth){.va = va, .rkey = rkey, .dma_len = len};
    return pkt;
}

static struct roce_pkt atomic_write(uint32_t psn, uint64_t va, uint32_t rkey, uint32_t dma_len,
                                    const void *data)
{
    return pktgen_write(&host.gen, ROCE_OP_RC_ATOMIC_WRITE, psn, va, rkey, dma_len, data, 8);
}

/* Expects the response to a FLUSH or ATOMIC WRITE: a READ Response Only without data, with these
 * PSN and MSN. */
static void expect_done(uint32_t psn, uint32_t msn)
{
    struct roce_pkt pkt = responder_out(&host);

    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_READ_RESP_ONLY);
    EXPECT_EQ(pkt.bth.psn, psn & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.payload_len, 0);
    EXPECT_EQ(roce_syndrome_kind(pkt.aeth.syndrome), ROCE_SYN_ACK);
    EXPECT_EQ(pkt.aeth.msn, msn);
}

static uint32_t first_psn(void)
{
    return rnic_responder_epsn(&host.resp).v;
}

/* ---- tests of the responder ------------------------------------------------------------------ */

static void atomic_write_is_executed(void)
{
    static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t psn;

    responder_init(&host);
    psn = first_psn();
    /* The responder sends the response with or without AckReq (R101). */
    EXPECT_EQ(responder_in(&host, atomic_write(psn, RESPONDER_VA + 16, RESPONDER_KEY, 8, data)),
              RNIC_RESP_ADVANCE);
    EXPECT_EQ(memcmp(host.mem + 16, data, 8), 0);
    expect_done(psn, 1);
    EXPECT_EQ(host.counters.rx_atomic_write_requests, 1);
    EXPECT_EQ(first_psn(), (psn + 1) & ROCE_PSN_MASK);
    responder_expect_nothing(&host);
    responder_free(&host);
}

/* An ATOMIC WRITE needs exactly 8 aligned bytes (R126, oA19-28). */
static void bad_atomic_write_is_nakked(void)
{
    static const uint8_t data[16] = {1, 2, 3, 4, 5, 6, 7, 8};

    for (unsigned row = 0; row < 7; row++) {
        struct rnic_responder_attr attr = responder_attr();
        struct roce_pkt pkt;
        bool access = false;

        responder_init(&host);
        if (row == 3)
            attr.access &= ~(unsigned)RNIC_ACCESS_REMOTE_WRITE; /* the QP does not allow remote
                                                                 * write (R075) */
        if (row == 4)
            attr.max_dest_rd_atomic = 0; /* the QP has no responder resources (R076) */
        responder_restart(&host, &attr);
        pkt = atomic_write(first_psn(), RESPONDER_VA, RESPONDER_KEY, 8, data);
        switch (row) {
        case 0: pkt.reth.va += 4; break;
        case 1: pkt.reth.dma_len = 4; break;
        case 2: pkt.reth.dma_len = 16; break;
        case 5:
            pkt.reth.rkey = RESPONDER_KEY_RO;
            access = true;
            break;
        case 6:
            pkt.reth.va = RESPONDER_VA + RESPONDER_MEM_LEN;
            access = true;
            break;
        default: break;
        }
        EXPECT_EQ(responder_in(&host, pkt),
                  access ? RNIC_RESP_NAK_ACCESS : RNIC_RESP_NAK_INVALID_REQ);
        responder_expect_aeth(
            &host, pkt.bth.psn,
            ROCE_SYNDROME_NAK | (access ? ROCE_NAK_REMOTE_ACCESS : ROCE_NAK_INVALID_REQ), 0);
        EXPECT_EQ(host.failed_cnt, 1);
        CU_ASSERT(memcmp(host.mem, data, 8) != 0);
        responder_free(&host);
    }
}

static void flush_is_executed(void)
{
    uint32_t psn;

    responder_init(&host);
    psn = first_psn();
    EXPECT_EQ(responder_in(&host, flush(psn, 1, 0, RESPONDER_VA, RESPONDER_KEY, RESPONDER_MEM_LEN)),
              RNIC_RESP_ADVANCE);
    EXPECT_EQ(responder_in(&host, flush(psn + 1, 3, 0, RESPONDER_VA + 1, RESPONDER_KEY, 1)),
              RNIC_RESP_ADVANCE);
    /* A FLUSH of level MR covers the whole region, so its address and length are ignored. */
    EXPECT_EQ(responder_in(&host, flush(psn + 2, 2, 1, 0, RESPONDER_KEY, UINT32_MAX)),
              RNIC_RESP_ADVANCE);
    for (uint32_t i = 0; i < 3; i++)
        expect_done(psn + i, i + 1);
    EXPECT_EQ(host.counters.rx_flush_requests, 3);
    responder_free(&host);
}

static void bad_flush_is_nakked(void)
{
    static const struct {
        uint8_t type, level;
        uint32_t rkey;
        uint64_t off;
        uint32_t len;
        unsigned denied; /* access right that the QP lacks */
        uint8_t nak;
    } rows[] = {
        {0, 0, RESPONDER_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ}, /* no placement type is set */
        {4, 0, RESPONDER_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ}, /* reserved placement type */
        {1, 2, RESPONDER_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ},
        {1, 0, RESPONDER_KEY, 0, 8, RNIC_ACCESS_FLUSH_GLOBAL, ROCE_NAK_INVALID_REQ},
        {3, 0, RESPONDER_KEY, 0, 8, RNIC_ACCESS_FLUSH_PERSISTENT, ROCE_NAK_INVALID_REQ},
        {1, 0, RESPONDER_KEY, 0, (1u << 31) + 1, 0, ROCE_NAK_INVALID_REQ}, /* range longer than 2^31
                                                                            * bytes (R081) */
        {1, 0, RESPONDER_KEY_RO, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 1, RESPONDER_KEY_RO, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 0, RESPONDER_KEY + 0x100, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 1, RESPONDER_KEY + 0x100, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 0, RESPONDER_KEY + 0x100, 0, 0, 0,
         ROCE_NAK_REMOTE_ACCESS}, /* a FLUSH of length 0 needs a valid key, too: C9-88 does not
                                   * apply to it */
        {1, 0, RESPONDER_KEY, RESPONDER_MEM_LEN - 4, 8, 0, ROCE_NAK_REMOTE_ACCESS},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_responder_attr attr = responder_attr();
        uint32_t psn;

        responder_init(&host);
        attr.access &= ~rows[i].denied;
        responder_restart(&host, &attr);
        psn = first_psn();
        responder_in(&host, flush(psn, rows[i].type, rows[i].level, RESPONDER_VA + rows[i].off,
                                  rows[i].rkey, rows[i].len));
        responder_expect_aeth(&host, psn, ROCE_SYNDROME_NAK | rows[i].nak, 0);
        responder_expect_nothing(&host);
        EXPECT_EQ(host.counters.rx_flush_requests, 0);
        responder_free(&host);
    }
}

/* A duplicate is answered, but not executed again (R111-R116). This also applies to a duplicate
 * with address 0, as Linux rxe retransmits it (D17 of traces/linux-rxe.md). A duplicate is dropped
 * if its PSN belonged to another operation or is too old. */
static void duplicate_is_answered_not_executed(void)
{
    static const uint8_t one[8] = {1};
    static const uint8_t two[8] = {2};
    struct rnic_responder_attr attr = responder_attr();
    uint32_t psn;

    responder_init(&host);
    attr.max_dest_rd_atomic = 2;
    responder_restart(&host, &attr);
    psn = first_psn();
    responder_in(&host, atomic_write(psn, RESPONDER_VA, RESPONDER_KEY, 8, one));
    expect_done(psn, 1);
    responder_in(&host, flush(psn + 1, 1, 0, RESPONDER_VA, RESPONDER_KEY, 8));
    expect_done(psn + 1, 2);
    EXPECT_EQ(responder_in(&host, atomic_write(psn, 0, RESPONDER_KEY, 8, two)),
              RNIC_RESP_DUPLICATE_ATOMIC);
    expect_done(psn, 2);
    EXPECT_EQ(memcmp(host.mem, one, 8), 0);
    EXPECT_EQ(responder_in(&host, flush(psn + 1, 1, 0, 0, RESPONDER_KEY, 8)),
              RNIC_RESP_DUPLICATE_ATOMIC);
    expect_done(psn + 1, 2);
    EXPECT_EQ(host.counters.rx_flush_requests, 1);
    EXPECT_EQ(host.counters.rx_atomic_write_requests, 1);
    EXPECT_EQ(responder_in(&host, flush(psn, 1, 0, RESPONDER_VA, RESPONDER_KEY, 8)),
              RNIC_RESP_DROP);
    responder_in(&host, flush(psn + 2, 1, 0, RESPONDER_VA, RESPONDER_KEY, 8));
    expect_done(psn + 2, 3);
    EXPECT_EQ(responder_in(&host, atomic_write(psn, RESPONDER_VA, RESPONDER_KEY, 8, two)),
              RNIC_RESP_DROP);
    responder_expect_nothing(&host);
    responder_free(&host);
}

/* FLUSH and ATOMIC WRITE use responder resources like READs (R076). */
static void r076_a19_uses_responder_resources(void)
{
    struct rnic_responder_attr attr = responder_attr();
    uint32_t psn;

    responder_init(&host);
    attr.max_dest_rd_atomic = 1;
    responder_restart(&host, &attr);
    psn = first_psn();
    EXPECT_EQ(responder_in(&host, flush(psn, 1, 0, RESPONDER_VA, RESPONDER_KEY, 8)),
              RNIC_RESP_ADVANCE);
    EXPECT_EQ(responder_in(&host, flush(psn + 1, 1, 0, RESPONDER_VA, RESPONDER_KEY, 8)),
              RNIC_RESP_NAK_INVALID_REQ);
    responder_free(&host);
}

/* ---- tests of the requester ------------------------------------------------------------------ */

static struct rnic_send_wr flush_wr(uint64_t wr_id, unsigned type, enum rnic_flush_level level,
                                    uint32_t len)
{
    return (struct rnic_send_wr){.wr_id = wr_id,
                                 .opcode = RNIC_WR_FLUSH,
                                 .flags = RNIC_SEND_SIGNALED,
                                 .remote_addr = REQUESTER_RVA,
                                 .rkey = REQUESTER_RKEY,
                                 .flush = {.len = len, .type = type, .level = level}};
}

/* Checks the request packets, and the completions caused by their responses. */
static void requests_are_sent_and_completed(void)
{
    struct rnic_send_wr wr =
        flush_wr(1, RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT, RNIC_FLUSH_MR, 300);
    struct rnic_sge sge = {REQUESTER_VA + 24, 8, REQUESTER_KEY};
    struct roce_pkt pkt;

    requester_init(&fake);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    wr = (struct rnic_send_wr){.wr_id = 2,
                               .opcode = RNIC_WR_ATOMIC_WRITE,
                               .flags = RNIC_SEND_SIGNALED,
                               .sge = &sge,
                               .sge_cnt = 1,
                               .remote_addr = REQUESTER_RVA + 8,
                               .rkey = REQUESTER_RKEY};
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_FLUSH);
    EXPECT_EQ(pkt.feth.plt, 3);
    EXPECT_EQ(pkt.feth.sel, 1);
    EXPECT_EQ(pkt.reth.va, REQUESTER_RVA);
    EXPECT_EQ(pkt.reth.rkey, REQUESTER_RKEY);
    EXPECT_EQ(pkt.reth.dma_len, 300);
    EXPECT_EQ(pkt.bth.se, 0); /* no solicited event on FLUSH (R041) */
    EXPECT_EQ(pkt.bth.ackreq, 1);
    EXPECT_EQ(pkt.payload_len, 0);
    pkt = requester_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ATOMIC_WRITE);
    EXPECT_EQ(pkt.bth.psn, (REQUESTER_PSN + 1) & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.reth.dma_len, 8);
    EXPECT_EQ(pkt.payload_len, 8);
    EXPECT_EQ(memcmp(pkt.payload, fake.mem + 24, 8), 0);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0, 0, 0), RNIC_COMP_COMPLETE_A19);
    requester_expect_wc(&fake, 1, OK);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_FLUSH);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 1, 0, 0), RNIC_COMP_COMPLETE_A19);
    requester_expect_wc(&fake, 2, OK);
    EXPECT_EQ(fake.wc[1].opcode, RNIC_WC_ATOMIC_WRITE);
    requester_free(&fake);
}

/* Inline data is copied when the request is posted, whatever max_inline is, so a retransmission has
 * the same data (R136, R153). */
static void inline_data_is_kept_for_retransmission(void)
{
    uint8_t data[8] = {9, 8, 7, 6, 5, 4, 3, 2};
    const struct rnic_sge sge = {(uintptr_t)data, 8, 0};
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_ATOMIC_WRITE,
                                    .flags = RNIC_SEND_SIGNALED | RNIC_SEND_INLINE,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = REQUESTER_RVA};

    requester_init(&fake);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    memset(data, 0, sizeof(data));
    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt pkt = requester_out(&fake);

        EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ATOMIC_WRITE);
        EXPECT_EQ(pkt.bth.psn, REQUESTER_PSN);
        EXPECT_EQ(pkt.reth.va, REQUESTER_RVA);
        EXPECT_EQ(pkt.payload[0], 9);
        EXPECT_EQ(pkt.payload[7], 2);
        requester_pass(&fake, REQUESTER_T);
    }
    requester_free(&fake);
}

/* FLUSH and ATOMIC WRITE count for max_rd_atomic, a fence waits for them, and an ACK does not
 * complete them (R130, R131, R139). */
static void a19_counts_for_max_rd_atomic_and_fence(void)
{
    struct rnic_requester_attr attr = requester_attr();
    struct rnic_send_wr wr = flush_wr(1, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE, 8);

    requester_init(&fake);
    attr.max_rd_atomic = 1;
    requester_restart(&fake, &attr);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    requester_post(&fake, 2, RNIC_WR_READ, 0, 8);
    requester_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    requester_expect_gate(&fake, RNIC_REQ_RD_ATOMIC);
    EXPECT_EQ(requester_ack(&fake, 0), RNIC_COMP_IMPLIED_NAK);
    requester_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    EXPECT_EQ(requester_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0, 0, 0), RNIC_COMP_COMPLETE_A19);
    requester_expect(&fake, ROCE_OP_RC_READ_REQUEST, 1);
    requester_free(&fake);

    requester_init(&fake);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    requester_post_flags(&fake, 2, RNIC_WR_SEND, 0, 8, RNIC_SEND_FENCE);
    requester_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    requester_expect_gate(&fake, RNIC_REQ_FENCE);
    requester_free(&fake);
}

/* A response of another kind, or one with data, fails the request (R141-R143). */
static void bad_response_fails_the_request(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t len;
        enum rnic_wc_status status;
    } rows[] = {{ROCE_OP_RC_READ_RESP_ONLY, 8, RNIC_WC_LOC_LEN_ERR},
                {ROCE_OP_RC_READ_RESP_FIRST, REQUESTER_MTU, RNIC_WC_BAD_RESP_ERR},
                {ROCE_OP_RC_ATOMIC_ACK, 0, RNIC_WC_BAD_RESP_ERR}};

    for (unsigned i = 0; i < 3; i++) {
        struct rnic_send_wr wr = flush_wr(1, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE, 8);

        requester_init(&fake);
        EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_POSTED);
        requester_out_all(&fake);
        if (i == 2)
            requester_atomic(&fake, 0, 1);
        else
            requester_read(&fake, rows[i].opcode, 0, 0, rows[i].len);
        requester_expect_wc(&fake, 1, rows[i].status);
        requester_free(&fake);
    }
}

static void invalid_work_requests_are_refused(void)
{
    static uint8_t data[16];
    const struct rnic_sge sge[2] = {{(uintptr_t)data, 4, 0}, {(uintptr_t)data, 5, 0}};
    struct rnic_send_wr wr;

    requester_init(&fake);
    wr = flush_wr(1, 0, RNIC_FLUSH_RANGE, 8);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 4, RNIC_FLUSH_RANGE, 8);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, (enum rnic_flush_level)2, 8);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, RNIC_FLUSH_RANGE, (1u << 31) + 1);
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, RNIC_FLUSH_RANGE, 8);
    wr.sge = sge;
    wr.sge_cnt = 1;
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_ATOMIC_WRITE, .sge = sge, .sge_cnt = 1};
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr.sge_cnt = 2;
    wr.flags = RNIC_SEND_INLINE;
    EXPECT_EQ(requester_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    requester_free(&fake);
}

SUITE("transport.a19", TEST(atomic_write_is_executed), TEST(bad_atomic_write_is_nakked),
      TEST(flush_is_executed), TEST(bad_flush_is_nakked), TEST(duplicate_is_answered_not_executed),
      TEST(r076_a19_uses_responder_resources), TEST(requests_are_sent_and_completed),
      TEST(inline_data_is_kept_for_retransmission), TEST(a19_counts_for_max_rd_atomic_and_fence),
      TEST(bad_response_fails_the_request), TEST(invalid_work_requests_are_refused))
