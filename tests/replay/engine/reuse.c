/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "reuse.h"

#include "support/suite.h"

#define DEPTH 16u
/* Offsets in the memory of each side. SOURCES: bytes that SENDs and WRITEs send. FETCHED: results
 * of READs and atomics. BUFFERS: receive buffers. TARGETS: for each QP, bytes that only WRITEs,
 * READs and atomics of the peer access. */
#define SOURCES 0u
#define FETCHED (QP_PAIR_MEM / 4)
#define BUFFERS (QP_PAIR_MEM / 2)
#define TARGETS (3 * QP_PAIR_MEM / 4)
#define TARGET  8192u
/* Shortest time that the two programs need to agree that both QPs were reset, ns. */
#define PAUSE_MIN UINT64_C(2000000)
#define LONG_TIME                                                                                  \
    UINT64_C(10000000000) /* virtual time after which all posted work requests are done, ns */

static struct qp_pair pair;
static struct rng rng;
static struct simnet_path link_path;
static uint32_t longest;
static unsigned uses, ops[2];
static bool equal; /* the operations, lengths and addresses are the same after each reset */
static uint64_t plan_seed;
static struct rng plan[2][QP_PAIR_QPS];
static unsigned posted[2][QP_PAIR_QPS], done[2][QP_PAIR_QPS];

static void post_one(unsigned side, unsigned qp)
{
    static const enum rnic_wr_opcode opcodes[] = {RNIC_WR_WRITE, RNIC_WR_WRITE_IMM,
                                                  RNIC_WR_SEND,  RNIC_WR_READ,
                                                  RNIC_WR_WRITE, RNIC_WR_FETCH_ADD};
    struct rng *draw = &plan[side][qp];
    struct rnic_sge sge = {.lkey = QP_PAIR_KEY, .len = 1 + rng_below(draw, longest)};
    struct rnic_send_wr wr = {.opcode = opcodes[rng_below(draw, 6)],
                              .flags = RNIC_SEND_SIGNALED,
                              .sge = &sge,
                              .sge_cnt = 1,
                              .rkey = QP_PAIR_KEY,
                              .imm = (uint32_t)rng_u64(&rng),
                              .compare_add = rng_below(draw, 100)};
    uint64_t target = QP_PAIR_IOVA + TARGETS + qp * TARGET;

    sge.addr =
        QP_PAIR_IOVA + (rnic_wr_is_fetch(wr.opcode) ? FETCHED : SOURCES) + rng_below(draw, 4096);
    wr.remote_addr = target + 8 + rng_below(draw, TARGET / 4);
    if (rnic_wr_is_atomic(wr.opcode)) {
        wr.remote_addr = target;
        sge.len = 8;
    }
    if (rnic_post_send(pair.side[side].qp[qp], &wr) == RNIC_OK)
        posted[side][qp]++;
}

static void tick(void *ctx, uint64_t now)
{
    struct rnic_wc wc;

    (void)ctx;
    (void)now;
    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < pair.qp_cnt; q++) {
            while (rnic_cq_poll(pair.side[s].send_cq[q], &wc, 1) == 1)
                done[s][q] += wc.status == RNIC_WC_SUCCESS;
            while (rnic_cq_poll(pair.side[s].recv_cq[q], &wc, 1) == 1)
                qp_pair_recv(&pair, s, q, 0, BUFFERS, 8192);
            if (qp_pair_state(&pair, s, q) == RNIC_QPS_RTS && posted[s][q] < ops[s] &&
                posted[s][q] - done[s][q] < DEPTH && rng_below(&rng, 3))
                post_one(s, q);
        }
}

static void reset_qps(unsigned side)
{
    for (unsigned q = 0; q < pair.qp_cnt; q++) {
        struct rnic_qp_attr attr = pair.side[side].attr[q];

        attr.state = RNIC_QPS_RESET;
        EXPECT_EQ(rnic_qp_modify(pair.side[side].qp[q], &attr, pair.net.now), RNIC_OK);
    }
}

/* Fills the memory from which the side sends until the next reset with random bytes. */
static void fill_sources(unsigned side)
{
    for (uint32_t i = 0; i < 16384; i++)
        pair.side[side].mem[SOURCES + i] = (uint8_t)rng_u64(&rng);
}

static void connect_qps(void)
{
    memset(posted, 0, sizeof(posted));
    memset(done, 0, sizeof(done));
    plan_seed += !equal;
    for (unsigned s = 0; s < 2; s++) {
        ops[s] = rng_below(&rng, 3) ? 1 + rng_below(&rng, 30) : rng_below(&rng, 3);
        fill_sources(s);
        for (unsigned q = 0; q < pair.qp_cnt; q++)
            plan[s][q] = rng_of(plan_seed * 16 + 8 * s + q);
    }
    qp_pair_connect(&pair);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < pair.qp_cnt; q++)
            for (unsigned i = 0; i < DEPTH; i++)
                qp_pair_recv(&pair, s, q, 0, BUFFERS, 8192);
}

struct qp_pair *reuse_begin(uint64_t seed, unsigned qp_cnt, enum roce_encap encap,
                            const struct simnet_path *path)
{
    rng = rng_of(seed ^ 0x7265757365000000u);
    plan_seed = seed << 8;
    equal = rng_below(&rng, 3) == 0;
    longest = 1 + rng_below(&rng, rng_below(&rng, 2) ? 1000 : 6000);
    uses = 2 + rng_below(&rng, 4);
    link_path = *path;
    qp_pair_init(&pair, seed, encap, qp_cnt, DEPTH);
    simnet_paths(&pair.net, path);
    connect_qps();
    pair.net.tick = tick;
    return &pair;
}

static bool all_done(void)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned q = 0; q < pair.qp_cnt; q++)
            if (done[s][q] < ops[s] && qp_pair_state(&pair, s, q) == RNIC_QPS_RTS)
                return false;
    return true;
}

/* Runs the network until the work requests posted since the last reset are done, or until a random
 * time before. */
static void run_use(void)
{
    uint64_t trip = 2 * (link_path.delay_ns + link_path.jitter_ns) + 1000;

    if (rng_below(&rng, 4) == 0) {
        qp_pair_run(&pair, rng_u64(&rng) % (20 * trip));
        return;
    }
    for (unsigned i = 0; i < 100 && !all_done(); i++)
        qp_pair_run(&pair, LONG_TIME);
}

/* Runs the network for `ns` of virtual time, also if it is idle. */
static void pass_time(uint64_t ns)
{
    uint64_t until = pair.net.now + ns;

    if (qp_pair_run(&pair, ns))
        pair.net.now = until;
}

void reuse_run(void)
{
    uint64_t trip = 2 * (link_path.delay_ns + link_path.jitter_ns) + 1000;

    run_use();
    for (unsigned i = 1; i < uses; i++) {
        unsigned first = rng_below(&rng, 2);

        reset_qps(first);
        qp_pair_run(&pair, rng_u64(&rng) % trip);
        reset_qps(!first);
        pass_time(PAUSE_MIN + rng_u64(&rng) % (PAUSE_MIN << rng_below(&rng, 8)));
        connect_qps();
        run_use();
    }
}

void reuse_end(void)
{
    qp_pair_free(&pair);
}
