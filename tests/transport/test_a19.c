/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* FLUSH and ATOMIC WRITE (annex A19, R126) of responder and requester: rights, lengths, alignment,
 * resources, duplicates, what they count as, and how they complete. */
#include <string.h>
#include "support/fakehost.h"
#include "support/fakereq.h"
#include "support/suite.h"
#include "wire/codes.h"

#define OK RNIC_WC_SUCCESS

static struct fakehost host;
static struct fakereq fake;

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

/* The answer of both: READ Response Only without data, with the MSN of the request. */
static void expect_done(uint32_t psn, uint32_t msn)
{
    struct roce_pkt pkt = fake_out(&host);

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

/* ---- responder ------------------------------------------------------------------------------- */

static void atomic_write_done(void)
{
    static const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint32_t psn;

    fake_init(&host);
    psn = first_psn();
    /* AckReq means nothing: the response is owed all the same (R101). */
    EXPECT_EQ(fake_in(&host, atomic_write(psn, FAKE_VA + 16, FAKE_KEY, 8, data)),
              RNIC_RESP_ADVANCE);
    EXPECT_EQ(memcmp(host.mem + 16, data, 8), 0);
    expect_done(psn, 1);
    EXPECT_EQ(host.counters.rx_atomic_write_requests, 1);
    EXPECT_EQ(first_psn(), (psn + 1) & ROCE_PSN_MASK);
    fake_expect_nothing(&host);
    fake_free(&host);
}

/* R126, oA19-28: 8 bytes, and where 8 bytes lie. */
static void atomic_write_refused(void)
{
    static const uint8_t data[16] = {1, 2, 3, 4, 5, 6, 7, 8};

    for (unsigned row = 0; row < 7; row++) {
        struct rnic_responder_attr attr = fake_attr();
        struct roce_pkt pkt;
        bool access = false;

        fake_init(&host);
        if (row == 3)
            attr.access &= ~(unsigned)RNIC_ACCESS_REMOTE_WRITE; /* R075 */
        if (row == 4)
            attr.max_dest_rd_atomic = 0; /* R076 */
        fake_restart(&host, &attr);
        pkt = atomic_write(first_psn(), FAKE_VA, FAKE_KEY, 8, data);
        switch (row) {
        case 0: pkt.reth.va += 4; break;
        case 1: pkt.reth.dma_len = 4; break;
        case 2: pkt.reth.dma_len = 16; break;
        case 5:
            pkt.reth.rkey = FAKE_KEY_RO;
            access = true;
            break;
        case 6:
            pkt.reth.va = FAKE_VA + FAKE_MEM_LEN;
            access = true;
            break;
        default: break;
        }
        EXPECT_EQ(fake_in(&host, pkt), access ? RNIC_RESP_NAK_ACCESS : RNIC_RESP_NAK_INVALID_REQ);
        fake_expect_aeth(
            &host, pkt.bth.psn,
            ROCE_SYNDROME_NAK | (access ? ROCE_NAK_REMOTE_ACCESS : ROCE_NAK_INVALID_REQ), 0);
        EXPECT_EQ(host.failed_cnt, 1);
        CU_ASSERT(memcmp(host.mem, data, 8) != 0);
        fake_free(&host);
    }
}

static void flush_done(void)
{
    uint32_t psn;

    fake_init(&host);
    psn = first_psn();
    EXPECT_EQ(fake_in(&host, flush(psn, 1, 0, FAKE_VA, FAKE_KEY, FAKE_MEM_LEN)), RNIC_RESP_ADVANCE);
    EXPECT_EQ(fake_in(&host, flush(psn + 1, 3, 0, FAKE_VA + 1, FAKE_KEY, 1)), RNIC_RESP_ADVANCE);
    /* Of level MR address and length mean nothing. */
    EXPECT_EQ(fake_in(&host, flush(psn + 2, 2, 1, 0, FAKE_KEY, UINT32_MAX)), RNIC_RESP_ADVANCE);
    for (uint32_t i = 0; i < 3; i++)
        expect_done(psn + i, i + 1);
    EXPECT_EQ(host.counters.rx_flush_requests, 3);
    fake_free(&host);
}

static void flush_refused(void)
{
    static const struct {
        uint8_t type, level;
        uint32_t rkey;
        uint64_t off;
        uint32_t len;
        unsigned denied; /* of the QP */
        uint8_t nak;
    } rows[] = {
        {0, 0, FAKE_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ}, /* no placement type */
        {4, 0, FAKE_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ}, /* reserved */
        {1, 2, FAKE_KEY, 0, 8, 0, ROCE_NAK_INVALID_REQ},
        {1, 0, FAKE_KEY, 0, 8, RNIC_ACCESS_FLUSH_GLOBAL, ROCE_NAK_INVALID_REQ},
        {3, 0, FAKE_KEY, 0, 8, RNIC_ACCESS_FLUSH_PERSISTENT, ROCE_NAK_INVALID_REQ},
        {1, 0, FAKE_KEY, 0, (1u << 31) + 1, 0, ROCE_NAK_INVALID_REQ}, /* R081 */
        {1, 0, FAKE_KEY_RO, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 1, FAKE_KEY_RO, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 0, FAKE_KEY + 0x100, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 1, FAKE_KEY + 0x100, 0, 8, 0, ROCE_NAK_REMOTE_ACCESS},
        {1, 0, FAKE_KEY + 0x100, 0, 0, 0, ROCE_NAK_REMOTE_ACCESS}, /* C9-88 is not of FLUSH */
        {1, 0, FAKE_KEY, FAKE_MEM_LEN - 4, 8, 0, ROCE_NAK_REMOTE_ACCESS},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rnic_responder_attr attr = fake_attr();
        uint32_t psn;

        fake_init(&host);
        attr.access &= ~rows[i].denied;
        fake_restart(&host, &attr);
        psn = first_psn();
        fake_in(&host, flush(psn, rows[i].type, rows[i].level, FAKE_VA + rows[i].off, rows[i].rkey,
                             rows[i].len));
        fake_expect_aeth(&host, psn, ROCE_SYNDROME_NAK | rows[i].nak, 0);
        fake_expect_nothing(&host);
        EXPECT_EQ(host.counters.rx_flush_requests, 0);
        fake_free(&host);
    }
}

/* R111-R116: answered again and not done again; with an address of 0, as Linux rxe repeats it
 * (D17); dropped when the PSN was another operation's or is too old. */
static void duplicates(void)
{
    static const uint8_t one[8] = {1};
    static const uint8_t two[8] = {2};
    struct rnic_responder_attr attr = fake_attr();
    uint32_t psn;

    fake_init(&host);
    attr.max_dest_rd_atomic = 2;
    fake_restart(&host, &attr);
    psn = first_psn();
    fake_in(&host, atomic_write(psn, FAKE_VA, FAKE_KEY, 8, one));
    expect_done(psn, 1);
    fake_in(&host, flush(psn + 1, 1, 0, FAKE_VA, FAKE_KEY, 8));
    expect_done(psn + 1, 2);
    EXPECT_EQ(fake_in(&host, atomic_write(psn, 0, FAKE_KEY, 8, two)), RNIC_RESP_DUPLICATE_ATOMIC);
    expect_done(psn, 2);
    EXPECT_EQ(memcmp(host.mem, one, 8), 0);
    EXPECT_EQ(fake_in(&host, flush(psn + 1, 1, 0, 0, FAKE_KEY, 8)), RNIC_RESP_DUPLICATE_ATOMIC);
    expect_done(psn + 1, 2);
    EXPECT_EQ(host.counters.rx_flush_requests, 1);
    EXPECT_EQ(host.counters.rx_atomic_write_requests, 1);
    EXPECT_EQ(fake_in(&host, flush(psn, 1, 0, FAKE_VA, FAKE_KEY, 8)), RNIC_RESP_DROP);
    fake_in(&host, flush(psn + 2, 1, 0, FAKE_VA, FAKE_KEY, 8));
    expect_done(psn + 2, 3);
    EXPECT_EQ(fake_in(&host, atomic_write(psn, FAKE_VA, FAKE_KEY, 8, two)), RNIC_RESP_DROP);
    fake_expect_nothing(&host);
    fake_free(&host);
}

/* R076: they take responder resources as READs do. */
static void r076_resources(void)
{
    struct rnic_responder_attr attr = fake_attr();
    uint32_t psn;

    fake_init(&host);
    attr.max_dest_rd_atomic = 1;
    fake_restart(&host, &attr);
    psn = first_psn();
    EXPECT_EQ(fake_in(&host, flush(psn, 1, 0, FAKE_VA, FAKE_KEY, 8)), RNIC_RESP_ADVANCE);
    EXPECT_EQ(fake_in(&host, flush(psn + 1, 1, 0, FAKE_VA, FAKE_KEY, 8)),
              RNIC_RESP_NAK_INVALID_REQ);
    fake_free(&host);
}

/* ---- requester ------------------------------------------------------------------------------- */

static struct rnic_send_wr flush_wr(uint64_t wr_id, unsigned type, enum rnic_flush_level level,
                                    uint32_t len)
{
    return (struct rnic_send_wr){.wr_id = wr_id,
                                 .opcode = RNIC_WR_FLUSH,
                                 .flags = RNIC_SEND_SIGNALED,
                                 .remote_addr = FREQ_RVA,
                                 .rkey = FREQ_RKEY,
                                 .flush = {.len = len, .type = type, .level = level}};
}

/* What goes out, what comes back, what completes. */
static void requests(void)
{
    struct rnic_send_wr wr =
        flush_wr(1, RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT, RNIC_FLUSH_MR, 300);
    struct rnic_sge sge = {FREQ_VA + 24, 8, FREQ_KEY};
    struct roce_pkt pkt;

    freq_init(&fake);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    wr = (struct rnic_send_wr){.wr_id = 2,
                               .opcode = RNIC_WR_ATOMIC_WRITE,
                               .flags = RNIC_SEND_SIGNALED,
                               .sge = &sge,
                               .sge_cnt = 1,
                               .remote_addr = FREQ_RVA + 8,
                               .rkey = FREQ_RKEY};
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    pkt = freq_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_FLUSH);
    EXPECT_EQ(pkt.feth.plt, 3);
    EXPECT_EQ(pkt.feth.sel, 1);
    EXPECT_EQ(pkt.reth.va, FREQ_RVA);
    EXPECT_EQ(pkt.reth.rkey, FREQ_RKEY);
    EXPECT_EQ(pkt.reth.dma_len, 300);
    EXPECT_EQ(pkt.bth.se, 0); /* R041 */
    EXPECT_EQ(pkt.bth.ackreq, 1);
    EXPECT_EQ(pkt.payload_len, 0);
    pkt = freq_out(&fake);
    EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ATOMIC_WRITE);
    EXPECT_EQ(pkt.bth.psn, (FREQ_PSN + 1) & ROCE_PSN_MASK);
    EXPECT_EQ(pkt.reth.dma_len, 8);
    EXPECT_EQ(pkt.payload_len, 8);
    EXPECT_EQ(memcmp(pkt.payload, fake.mem + 24, 8), 0);
    EXPECT_EQ(freq_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0, 0, 0), RNIC_COMP_DONE_EMPTY);
    freq_expect_wc(&fake, 1, OK);
    EXPECT_EQ(fake.wc[0].opcode, RNIC_WC_FLUSH);
    EXPECT_EQ(freq_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 1, 0, 0), RNIC_COMP_DONE_EMPTY);
    freq_expect_wc(&fake, 2, OK);
    EXPECT_EQ(fake.wc[1].opcode, RNIC_WC_ATOMIC_WRITE);
    freq_free(&fake);
}

/* R136, R153: inline data is that of the post, in the repetition too, whatever max_inline is. */
static void inline_data(void)
{
    uint8_t data[8] = {9, 8, 7, 6, 5, 4, 3, 2};
    const struct rnic_sge sge = {(uintptr_t)data, 8, 0};
    const struct rnic_send_wr wr = {.opcode = RNIC_WR_ATOMIC_WRITE,
                                    .flags = RNIC_SEND_SIGNALED | RNIC_SEND_INLINE,
                                    .sge = &sge,
                                    .sge_cnt = 1,
                                    .remote_addr = FREQ_RVA};

    freq_init(&fake);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    memset(data, 0, sizeof(data));
    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt pkt = freq_out(&fake);

        EXPECT_EQ(pkt.bth.opcode, ROCE_OP_RC_ATOMIC_WRITE);
        EXPECT_EQ(pkt.bth.psn, FREQ_PSN);
        EXPECT_EQ(pkt.reth.va, FREQ_RVA);
        EXPECT_EQ(pkt.payload[0], 9);
        EXPECT_EQ(pkt.payload[7], 2);
        freq_pass(&fake, FREQ_T);
    }
    freq_free(&fake);
}

/* R130, R131, R139: they count for max_rd_atomic, a fence waits for them, and an ACK is no answer.
 */
static void as_fetches(void)
{
    struct rnic_requester_attr attr = freq_attr();
    struct rnic_send_wr wr = flush_wr(1, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE, 8);

    freq_init(&fake);
    attr.max_rd_atomic = 1;
    freq_restart(&fake, &attr);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    freq_post(&fake, 2, RNIC_WR_READ, 0, 8);
    freq_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    freq_expect_gate(&fake, RNIC_REQ_RD_ATOMIC);
    EXPECT_EQ(freq_ack(&fake, 0), RNIC_COMP_IMPLIED_NAK);
    freq_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    EXPECT_EQ(freq_read(&fake, ROCE_OP_RC_READ_RESP_ONLY, 0, 0, 0), RNIC_COMP_DONE_EMPTY);
    freq_expect(&fake, ROCE_OP_RC_READ_REQUEST, 1);
    freq_free(&fake);

    freq_init(&fake);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
    freq_post_flags(&fake, 2, RNIC_WR_SEND, 0, 8, RNIC_SEND_FENCE);
    freq_expect(&fake, ROCE_OP_RC_FLUSH, 0);
    freq_expect_gate(&fake, RNIC_REQ_FENCE);
    freq_free(&fake);
}

/* R141-R143: an answer of another kind or with data. */
static void bad_answers(void)
{
    static const struct {
        uint8_t opcode;
        uint32_t len;
        enum rnic_wc_status status;
    } rows[] = {{ROCE_OP_RC_READ_RESP_ONLY, 8, RNIC_WC_LOC_LEN_ERR},
                {ROCE_OP_RC_READ_RESP_FIRST, FREQ_MTU, RNIC_WC_BAD_RESP_ERR},
                {ROCE_OP_RC_ATOMIC_ACK, 0, RNIC_WC_BAD_RESP_ERR}};

    for (unsigned i = 0; i < 3; i++) {
        struct rnic_send_wr wr = flush_wr(1, RNIC_FLUSH_GLOBAL, RNIC_FLUSH_RANGE, 8);

        freq_init(&fake);
        EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_POSTED);
        freq_out_all(&fake);
        if (i == 2)
            freq_atomic(&fake, 0, 1);
        else
            freq_read(&fake, rows[i].opcode, 0, 0, rows[i].len);
        freq_expect_wc(&fake, 1, rows[i].status);
        freq_free(&fake);
    }
}

static void refused_posts(void)
{
    static uint8_t data[16];
    const struct rnic_sge sge[2] = {{(uintptr_t)data, 4, 0}, {(uintptr_t)data, 5, 0}};
    struct rnic_send_wr wr;

    freq_init(&fake);
    wr = flush_wr(1, 0, RNIC_FLUSH_RANGE, 8);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 4, RNIC_FLUSH_RANGE, 8);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, (enum rnic_flush_level)2, 8);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, RNIC_FLUSH_RANGE, (1u << 31) + 1);
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = flush_wr(1, 1, RNIC_FLUSH_RANGE, 8);
    wr.sge = sge;
    wr.sge_cnt = 1;
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr = (struct rnic_send_wr){.opcode = RNIC_WR_ATOMIC_WRITE, .sge = sge, .sge_cnt = 1};
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    wr.sge_cnt = 2;
    wr.flags = RNIC_SEND_INLINE;
    EXPECT_EQ(freq_post_wr(&fake, &wr), RNIC_SQ_INVALID);
    freq_free(&fake);
}

SUITE("transport.a19", TEST(atomic_write_done), TEST(atomic_write_refused), TEST(flush_done),
      TEST(flush_refused), TEST(duplicates), TEST(r076_resources), TEST(requests),
      TEST(inline_data), TEST(as_fetches), TEST(bad_answers), TEST(refused_posts))
