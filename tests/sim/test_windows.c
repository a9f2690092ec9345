/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Memory windows over a network that loses, duplicates, delays and reorders packets (R078, R208,
 * R210, R211).
 *
 * Side 1 binds a window over a random range. In one case, side 0 writes and flushes the range, and
 * invalidates the R_Key by SEND with Invalidate. In the other case, side 0 reads the range and side
 * 1 invalidates the R_Key, as storage targets do. In both cases, side 1 then writes to the range at
 * once. Delayed packets of side 0 must not change the range after that.
 */
#include <string.h>
#include "support/qp_pair.h"
#include "support/rng.h"
#include "support/suite.h"

#define ROUNDS 60u
#define RUNS   6u
#define RANGE  20000u /* maximum length of a memory window, bytes */
/* Start of the bytes to send on side 0, and of the receive buffers on side 1. */
#define SRC  (QP_PAIR_MEM / 2)
#define SOON (4000 * QP_PAIR_T)

static struct qp_pair pair;
static struct rng rng;
static uint8_t model[QP_PAIR_MEM];

static void post(unsigned side, const struct rnic_send_wr *wr, enum rnic_wc_status status)
{
    struct rnic_wc wc;
    size_t got = 0;

    EXPECT_EQ(rnic_post_send(pair.side[side].qp[0], wr), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SOON));
    got = rnic_cq_poll(pair.side[side].send_cq[0], &wc, 1);
    EXPECT_EQ(got, 1);
    if (got)
        EXPECT_EQ(wc.status, status);
}

static struct rnic_send_wr request(enum rnic_wr_opcode opcode, const struct rnic_sge *sge,
                                   uint64_t va, uint32_t rkey)
{
    return (struct rnic_send_wr){.opcode = opcode,
                                 .flags = RNIC_SEND_SIGNALED,
                                 .sge = sge,
                                 .sge_cnt = sge != NULL,
                                 .remote_addr = va,
                                 .rkey = rkey};
}

/* Writes random bytes to the window in pieces, some of them by ATOMIC WRITE. Updates the model of
 * the memory. */
static void fill(uint32_t off, uint32_t len, uint64_t va, uint32_t rkey)
{
    uint32_t done = 0;

    while (done < len) {
        uint32_t part = 1 + rng_below(&rng, len - done);
        uint32_t src = SRC + rng_below(&rng, RANGE);
        struct rnic_sge sge = {QP_PAIR_IOVA + src, part, QP_PAIR_KEY};
        bool aligned = part >= 8 && (va + done) % 8 == 0;
        struct rnic_send_wr wr = request(RNIC_WR_WRITE, &sge, va + done, rkey);

        if (aligned && rng_below(&rng, 3) == 0) {
            wr.opcode = RNIC_WR_ATOMIC_WRITE;
            sge.len = part = 8;
        }
        memcpy(model + off + done, pair.side[0].mem + src, part);
        post(0, &wr, RNIC_WC_SUCCESS);
        done += part;
    }
}

static void one_round(struct rnic_mw *mw, unsigned round)
{
    uint32_t len = 8 + rng_below(&rng, RANGE);
    uint32_t off = rng_below(&rng, SRC - RANGE - 8);
    bool zero_based = rng_below(&rng, 2) != 0;
    uint64_t va = zero_based ? 0 : QP_PAIR_IOVA + off;
    uint32_t old = rnic_mw_rkey(mw);
    uint32_t rkey = (old & ~0xFFu) | ((old + 1) & 0xFF);
    struct rnic_send_wr wr = request(RNIC_WR_BIND_MW, NULL, 0, 0);
    const struct rnic_sge word = {QP_PAIR_IOVA, 8, QP_PAIR_KEY};

    wr.mw = (struct rnic_mw_bind){.mw = mw,
                                  .mr = pair.side[1].mr,
                                  .addr = QP_PAIR_IOVA + off,
                                  .len = len,
                                  .rkey = rkey,
                                  .access = RNIC_ACCESS_REMOTE_WRITE | RNIC_ACCESS_REMOTE_READ |
                                            RNIC_ACCESS_FLUSH_GLOBAL |
                                            (zero_based ? RNIC_ACCESS_ZERO_BASED : 0)};
    post(1, &wr, RNIC_WC_SUCCESS);
    EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_ERR_BUSY);
    fill(off, len, va, rkey);
    wr = request(RNIC_WR_FLUSH, NULL, va, rkey);
    wr.flush.type = RNIC_FLUSH_GLOBAL;
    wr.flush.level = rng_below(&rng, 2) ? RNIC_FLUSH_MR : RNIC_FLUSH_RANGE;
    wr.flush.len = len;
    post(0, &wr, RNIC_WC_SUCCESS);
    EXPECT_EQ(memcmp(pair.side[1].mem + off, model + off, len), 0);
    if (rng_below(&rng, 2)) {
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, round, SRC, 64), RNIC_OK);
        wr = request(RNIC_WR_SEND_INV, &word, 0, 0);
        wr.invalidate_key = rkey;
        post(0, &wr, RNIC_WC_SUCCESS);
        qp_pair_expect_wc(pair.side[1].recv_cq[0], round, RNIC_WC_SUCCESS);
        memcpy(model + SRC, pair.side[1].mem + SRC, 64);
    } else {
        wr = request(RNIC_WR_LOCAL_INV, NULL, 0, 0);
        wr.invalidate_key = rkey;
        post(1, &wr, RNIC_WC_SUCCESS);
    }
    /* From here on, only side 1 may write to the range. */
    rng_fill(&rng, pair.side[1].mem + off, len);
    memcpy(model + off, pair.side[1].mem + off, len);
}

static void run(uint64_t seed)
{
    const struct simnet_path bad = {.loss_ppm = 30000,
                                    .dup_ppm = 60000,
                                    .reorder_ppm = 60000,
                                    .corrupt_ppm = 5000,
                                    .delay_ns = 2000,
                                    .jitter_ns = 1000,
                                    .reorder_ns = 30000};
    const struct simnet_path good = {.delay_ns = 2000};
    struct rnic_send_wr wr;
    const struct rnic_sge sge = {QP_PAIR_IOVA, 8, QP_PAIR_KEY};
    struct rnic_mw *mw;

    qp_pair_init(&pair, seed, seed % 2 ? ROCE_ENCAP_V2_IP6 : ROCE_ENCAP_V2_IP4, 1, 8);
    simnet_paths(&pair.net, &bad);
    qp_pair_connect(&pair);
    EXPECT_EQ(rnic_mw_new(pair.side[1].pd, RNIC_MW_TYPE_2, &mw), RNIC_OK);
    memcpy(model, pair.side[1].mem, QP_PAIR_MEM);
    for (unsigned round = 0; round < ROUNDS; round++)
        one_round(mw, round);
    CU_ASSERT(qp_pair_run(&pair, SOON));
    EXPECT_EQ(memcmp(pair.side[1].mem, model, QP_PAIR_MEM), 0);
    qp_pair_check_tally(&pair);
    simnet_paths(&pair.net, &good); /* no losses from here on, because a fatal NAK is sent only
                                     * once */
    wr = request(RNIC_WR_WRITE, &sge, 0, rnic_mw_rkey(mw)); /* the R_Key of the last window is
                                                             * invalid now */
    post(0, &wr, RNIC_WC_REM_ACCESS_ERR);
    EXPECT_EQ(memcmp(pair.side[1].mem, model, QP_PAIR_MEM), 0);
    EXPECT_EQ(rnic_mr_dereg(pair.side[1].mr), RNIC_OK);
    qp_pair_free(&pair);
}

static void invalidated_window_is_not_written_again(void)
{
    rng = rng_seed();
    for (unsigned i = 0; i < RUNS; i++)
        run(rng_u64(&rng) >> 1);
}

SUITE("sim.windows", TEST(invalidated_window_is_not_written_again))
