/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "contention.h"

#include "support/suite.h"

#define DEPTH   16u
#define SOURCES (QP_PAIR_MEM / 4) /* offset of the bytes that WRITEs send */
#define FETCHED (QP_PAIR_MEM / 2) /* offset where results of READs and atomics are stored */
#define LONG_TIME                                                                                  \
    UINT64_C(60000000000) /* virtual time in ns after which all operations must be done */

static struct qp_pair pair;
static struct rng rng;
static uint32_t window; /* bytes at the start of the memory, which all connections access */
static uint32_t longest;
static unsigned ops;
static unsigned posted[2][QP_PAIR_QPS], done[2][QP_PAIR_QPS];

static bool post_one(unsigned side, unsigned qp)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_WRITE, RNIC_WR_READ, RNIC_WR_READ,
                                                  RNIC_WR_FETCH_ADD, RNIC_WR_CMP_SWAP};
    uint32_t len = 1 + rng_below(&rng, longest);
    struct rnic_sge sge = {.lkey = QP_PAIR_KEY};
    struct rnic_send_wr wr = {.opcode = opcodes[rng_below(&rng, 5)],
                              .flags = RNIC_SEND_SIGNALED,
                              .sge = &sge,
                              .sge_cnt = 1,
                              .rkey = QP_PAIR_KEY,
                              .compare_add = rng_below(&rng, 4),
                              .swap = rng_below(&rng, 4)};

    sge.addr =
        QP_PAIR_IOVA + (wr.opcode == RNIC_WR_WRITE ? SOURCES : FETCHED) + rng_below(&rng, 4096);
    if (rnic_wr_is_atomic(wr.opcode)) {
        wr.remote_addr = QP_PAIR_IOVA + 8 * rng_below(&rng, 2);
        sge.len = 8;
    } else {
        wr.remote_addr = QP_PAIR_IOVA + rng_below(&rng, window);
        sge.len = len;
    }
    return rnic_post_send(pair.side[side].qp[qp], &wr) == RNIC_OK;
}

static void tick(void *ctx, uint64_t now)
{
    struct rnic_wc wc;

    (void)ctx;
    (void)now;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < pair.qp_cnt; q++) {
            while (rnic_cq_poll(pair.side[s].send_cq[q], &wc, 1) == 1) {
                EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
                done[s][q]++;
            }
            while (posted[s][q] < ops && rng_below(&rng, 3) && post_one(s, q))
                posted[s][q]++;
        }
}

struct qp_pair *contention_begin(uint64_t seed, unsigned qp_cnt, enum roce_encap encap,
                                 const struct simnet_path *path)
{
    rng = rng_of(seed ^ 0x636F6E7465737400u);
    memset(posted, 0, sizeof(posted));
    memset(done, 0, sizeof(done));
    window = 16 + rng_below(&rng, 64);
    longest = 1 + rng_below(&rng, rng_below(&rng, 3) ? 40 : 3000);
    ops = 2 + rng_below(&rng, 30);
    qp_pair_init(&pair, seed, encap, qp_cnt, DEPTH);
    simnet_paths(&pair.net, path);
    qp_pair_connect(&pair);
    pair.net.tick = tick;
    return &pair;
}

void contention_run(void)
{
    bool idle = false;

    for (unsigned i = 0; i < 400 && !idle; i++) {
        qp_pair_run(&pair, LONG_TIME);
        idle = true;
        for (unsigned s = 0; s < 2; s++)
            for (unsigned q = 0; q < pair.qp_cnt; q++)
                idle = idle && done[s][q] == ops;
    }
    CU_ASSERT(idle);
}

void contention_end(void)
{
    qp_pair_free(&pair);
}
