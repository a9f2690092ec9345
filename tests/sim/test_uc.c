/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * UC between two devices over a network that loses, duplicates, reorders and corrupts packets:
 * R042, R057, R065, R127-R129, R162-R167, R192, R249 of rnic/rules.md.
 *
 * A model of the responder, written from these rules alone, reads each undamaged packet that
 * arrives. The model predicts whether the responder executes the packet, and whether the responder
 * delivers the message of the packet.
 *
 * ROCEDRILL_SEED=<n> runs only that seed, ROCEDRILL_RUNS=<n> runs n seeds.
 */
#include <stdlib.h>
#include <string.h>
#include "flow_oracle.h"
#include "support/qp_pair.h"
#include "support/suite.h"

#define SECOND UINT64_C(1000000000)
#define WRS    60u
#define SLOT   8192u
#define WQES   16u
/* Offset of the receive buffer in the memory, after the destinations of WRITEs. */
#define WQE_AT (WRS * SLOT)
#define SRC_AT (WQE_AT + 2 * SLOT) /* offset of the bytes to send, after the receive buffer */

static struct qp_pair pair;
static struct rng rng;

static struct plan {
    enum rnic_wr_opcode opcode;
    uint32_t len;
    uint32_t off;  /* offset in the sender's memory */
    uint32_t roff; /* WRITE: offset in the receiver's memory */
    uint32_t pos;  /* position of the message's first PSN, counted from the first PSN of the run */
    uint32_t cnt;
    uint32_t imm;
} plan[WRS];

static struct {
    uint32_t mtu;
    unsigned wr_cnt;
    unsigned posted;
    unsigned done;
    uint32_t psns;
    /* Model of the responder. */
    bool open;
    uint32_t epsn;
    unsigned wqes; /* number of WQEs that were posted and not consumed */
    bool held;     /* a SEND, current or incomplete, occupies a receive WQE */
    uint64_t next_wqe;
    uint64_t posted_wqe;
    unsigned delivered;
    unsigned executed;
    unsigned dropped;
    unsigned gaps;
    unsigned hungry;
    /* Packets that a capture at the receiver lacks, or has out of order or twice. */
    bool seen[WRS * (SLOT / 256 + 1)];
    uint32_t next;
    uint32_t missing; /* number of missing packets, damaged ones included */
    uint32_t damaged;
    uint32_t late;
    uint32_t again;
} run;

static const struct plan *plan_at(uint32_t psn)
{
    uint32_t at = (psn - pair.side[0].attr[0].sq_psn) & ROCE_PSN_MASK;

    for (unsigned i = 0; i < run.wr_cnt; i++)
        if (at >= plan[i].pos && at < plan[i].pos + plan[i].cnt)
            return &plan[i];
    return NULL;
}

static bool wants_wqe(const struct plan *p)
{
    return p->opcode != RNIC_WR_WRITE;
}

/* Posts receive WQEs. All use the same buffer; its contents are compared before the next message
 * arrives. */
static void post_wqes(void)
{
    while (run.wqes < WQES && rng_below(&rng, 8)) {
        EXPECT_EQ(qp_pair_recv(&pair, 1, 0, run.posted_wqe++, WQE_AT, SLOT), RNIC_OK);
        run.wqes++;
    }
}

/* Returns the predicted result of an undamaged packet (R065, R163-R166). 0: dropped; 1: executed;
 * 2: executed, and the packet ends its message. */
static int model(const struct roce_pkt *pkt, const struct plan *p)
{
    bool in_order = pkt->bth.psn == run.epsn;
    bool needs;

    run.epsn = (pkt->bth.psn + 1) & ROCE_PSN_MASK;
    run.gaps += !in_order;
    if (!in_order || roce_opcode_starts(pkt->op)) {
        run.open = roce_opcode_starts(pkt->op);
        if (!run.open)
            return 0;
    } else if (!run.open) {
        return 0;
    }
    needs = pkt->op->kind == ROCE_KIND_SEND || (wants_wqe(p) && roce_opcode_ends(pkt->op));
    if (needs && !run.held && run.wqes == 0) {
        run.hungry++;
        run.open = false;
        return 0;
    }
    run.held = run.held || needs;
    if (!roce_opcode_ends(pkt->op))
        return 1;
    run.open = false;
    return 2;
}

static void check_delivery(const struct plan *p)
{
    const uint8_t *there =
        pair.side[1].mem +
        (p->opcode == RNIC_WR_SEND || p->opcode == RNIC_WR_SEND_IMM ? WQE_AT : p->roff);
    struct rnic_wc wc;

    run.delivered++;
    CU_ASSERT(memcmp(there, pair.side[0].mem + p->off, p->len) == 0);
    if (!wants_wqe(p))
        return;
    EXPECT_EQ(rnic_cq_poll(pair.side[1].recv_cq[0], &wc, 1), 1);
    EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
    EXPECT_EQ(wc.wr_id, run.next_wqe);
    EXPECT_EQ(wc.byte_len, p->len);
    EXPECT_EQ(wc.imm, p->opcode == RNIC_WR_SEND ? 0 : p->imm);
    run.next_wqe++;
    run.wqes--;
    run.held = false;
}

static void count(uint32_t psn)
{
    uint32_t at = (psn - pair.side[0].attr[0].sq_psn) & ROCE_PSN_MASK;

    if (run.again + run.late + run.next == 0)
        run.next = at; /* the capture of the receiver begins at this packet */
    if (at >= run.next) {
        run.missing += at - run.next;
        run.next = at + 1;
    } else if (run.seen[at]) {
        run.again++;
    } else {
        run.late++;
    }
    run.seen[at] = true;
}

/* Compares the losses that rnic/flow counted in the complete capture with the losses that the test
 * caused. */
static void compare(void *user, const struct roce_conn_summary *conn)
{
    const bool *received = user;
    const struct roce_endpoint_summary *side = &conn->side[0];
    uint64_t again = 0;

    for (enum roce_cause c = 0; c < ROCE_CAUSE_CNT; c++)
        again += side->retx[c].packets;
    EXPECT_EQ(again, 0); /* UC never retransmits */
    /* rnic/flow does not count a damaged packet as missing if its PSN and its QPN are undamaged. */
    CU_ASSERT(side->missing_psns <= (*received ? run.missing : 0));
    CU_ASSERT(side->missing_psns + run.damaged >= (*received ? run.missing : 0));
    /* rnic/flow may count a copy as out-of-order if more than 63 packets arrived before it and some
     * are missing. */
    EXPECT_EQ(side->out_of_order + side->copies, *received ? run.late + run.again : 0);
    CU_ASSERT(side->copies <= (*received ? run.again : 0));
}

static void arrives(void *ctx, const uint8_t *frame, size_t len, uint64_t now)
{
    struct roce_pkt pkt;
    const struct plan *p;
    int fate;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0 || roce_pkt_dropped(&pkt) ||
        roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD) {
        run.damaged++;
        rnic_input(ctx, frame, len, now);
        qp_pair_expect_no_wc(pair.side[1].recv_cq[0]);
        return;
    }
    p = plan_at(pkt.bth.psn);
    count(pkt.bth.psn);
    fate = model(&pkt, p);
    rnic_input(ctx, frame, len, now);
    run.executed += fate > 0;
    run.dropped += fate == 0;
    if (fate == 2)
        check_delivery(p);
    qp_pair_expect_no_wc(pair.side[1].recv_cq[0]);
    post_wqes();
}

/* Checks each sent packet: each PSN must be sent once, in order (R042, R057, R127-R129). */
static void observe(void *ctx, const struct simnet_event *event)
{
    const struct roce_pkt *pkt = event->pkt;
    uint32_t at = (pkt->bth.psn - pair.side[0].attr[0].sq_psn) & ROCE_PSN_MASK;
    const struct plan *p = plan_at(pkt->bth.psn);

    (void)ctx;
    flow_oracle_sent(event);
    EXPECT_EQ(event->from, pair.node[0]); /* UC responders send no packets (R162) */
    EXPECT_EQ(pkt->op->svc, ROCE_SVC_UC);
    EXPECT_EQ(pkt->bth.ackreq, 0);
    EXPECT_EQ(at, run.psns++);
    EXPECT_EQ(roce_opcode_starts(pkt->op), at == p->pos);
    EXPECT_EQ(roce_opcode_ends(pkt->op), at == p->pos + p->cnt - 1);
}

static void tick(void *ctx, uint64_t now)
{
    struct rnic_wc wc;

    (void)ctx;
    (void)now;
    while (rnic_cq_poll(pair.side[0].send_cq[0], &wc, 1) == 1) { /* a sent request completes with
                                                                  * success (R167) */
        EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
        EXPECT_EQ(wc.wr_id, run.done++);
        CU_ASSERT(run.psns >= plan[wc.wr_id].pos + plan[wc.wr_id].cnt);
    }
    while (run.posted < run.wr_cnt) {
        const struct plan *p = &plan[run.posted];
        const struct rnic_sge sge = {QP_PAIR_IOVA + p->off, p->len, QP_PAIR_KEY};
        const struct rnic_send_wr wr = {.wr_id = run.posted,
                                        .opcode = p->opcode,
                                        .flags = RNIC_SEND_SIGNALED,
                                        .sge = &sge,
                                        .sge_cnt = 1,
                                        .imm = p->imm,
                                        .remote_addr = QP_PAIR_IOVA + p->roff,
                                        .rkey = QP_PAIR_KEY};

        if (rnic_post_send(pair.side[0].qp[0], &wr) != RNIC_OK)
            break;
        run.posted++;
    }
}

static void make_plan(void)
{
    static const enum rnic_wr_opcode ops[] = {RNIC_WR_SEND, RNIC_WR_SEND_IMM, RNIC_WR_WRITE,
                                              RNIC_WR_WRITE_IMM};
    uint32_t pos = 0;

    for (unsigned i = 0; i < run.wr_cnt; i++) {
        struct plan *p = &plan[i];

        *p = (struct plan){.opcode = ops[rng_below(&rng, 4)],
                           .len = rng_below(&rng, 4) ? rng_below(&rng, SLOT)
                                                     : run.mtu * rng_below(&rng, 3),
                           .off = SRC_AT + rng_below(&rng, QP_PAIR_MEM - SRC_AT - SLOT),
                           .roff = i * SLOT,
                           .pos = pos,
                           .imm = (uint32_t)rng_u64(&rng)};
        p->cnt = roce_psn_cnt(p->len, run.mtu);
        pos += p->cnt;
    }
}

static unsigned one_run(uint64_t seed)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    struct qp_pair_opts opts = {.type = RNIC_QPT_UC};
    struct simnet_path path = {.delay_ns = 1000};
    struct rnic_counters c;
    struct rnic_event event;
    enum roce_encap encap;
    bool received;

    rng = rng_of(seed);
    memset(&run, 0, sizeof(run));
    run.mtu = UINT32_C(256) << rng_below(&rng, 5);
    run.wr_cnt = 1 + rng_below(&rng, WRS);
    path.loss_ppm = rng_below(&rng, 3) ? rng_below(&rng, 100000) : 0;
    path.dup_ppm = rng_below(&rng, 2) ? rng_below(&rng, 100000) : 0;
    path.corrupt_ppm = rng_below(&rng, 2) ? rng_below(&rng, 50000) : 0;
    path.reorder_ppm = rng_below(&rng, 3) ? 0 : rng_below(&rng, 50000);
    path.reorder_ns = 5000;
    path.bps = rng_below(&rng, 2) ? UINT64_C(10000000000) : 0;
    opts.srq = rng_below(&rng, 3) == 0;
    encap = encaps[rng_below(&rng, 3)];
    make_plan();
    qp_pair_init_as(&pair, seed, encap, 1, WQES, &opts);
    simnet_paths(&pair.net, &path);
    for (unsigned s = 0; s < 2; s++)
        pair.side[s].attr[0].path_mtu = run.mtu;
    qp_pair_connect(&pair);
    run.epsn = pair.side[1].attr[0].rq_psn;
    pair.net.node[pair.node[1]].input = arrives;
    pair.net.observe = observe;
    flow_oracle_begin(&pair.net, pair.node[seed & 1], seed);
    pair.net.tick = tick;
    post_wqes();
    tick(NULL, 0);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    tick(NULL, 0);
    EXPECT_EQ(run.done, run.wr_cnt);
    EXPECT_EQ(qp_pair_state(&pair, 0, 0), RNIC_QPS_RTS);
    EXPECT_EQ(qp_pair_state(&pair, 1, 0), RNIC_QPS_RTS);
    EXPECT_EQ(rnic_deadline(pair.side[0].rnic), RNIC_NEVER);
    while (rnic_event_get(pair.side[1].rnic, &event))
        EXPECT_EQ(event.type, RNIC_EVENT_COMM_EST);
    c = qp_pair_counters(&pair, 1);
    EXPECT_EQ(c.rx_send_requests + c.rx_write_requests, run.executed);
    EXPECT_EQ(c.out_of_sequence, run.gaps);
    EXPECT_EQ(c.out_of_buffer, run.hungry);
    EXPECT_EQ(c.rx_uc_dropped, run.dropped);
    EXPECT_EQ(c.rx_icrc_encapsulated + c.rx_malformed, pair.net.arrived_bad[pair.node[1]]);
    if (!(path.loss_ppm | path.dup_ppm | path.corrupt_ppm | path.reorder_ppm) && !run.hungry)
        EXPECT_EQ(run.delivered, run.wr_cnt);
    received = seed & 1;
    flow_oracle_end(compare, &received);
    qp_pair_free(&pair);
    return run.delivered;
}

static void random_traffic_matches_the_model(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t runs = suite_env("ROCEDRILL_RUNS", SUITE_TURNS(300));
    unsigned delivered = 0;

    for (uint64_t seed = only ? only : 1; seed <= (only ? only : runs); seed++) {
        unsigned before = CU_get_number_of_failures();

        delivered += one_run(seed);
        if (CU_get_number_of_failures() != before) {
            printf("\n    repeat with: ROCEDRILL_SEED=%llu test_sim_uc random_traffic\n",
                   (unsigned long long)seed);
            return;
        }
    }
    CU_ASSERT(only || delivered > 10 * runs);
}

/* A SEND has a buffer that cannot be read. It must fail, later requests must be flushed, and the QP
 * must enter SQE (R192). In SQE the QP still receives. After the return to RTS, it sends again,
 * without a gap in the PSNs. */
static void unreadable_buffer_moves_the_qp_to_sqe(void)
{
    const struct qp_pair_opts opts = {.type = RNIC_QPT_UC};
    const struct simnet_path path = {.delay_ns = 1000};
    struct rnic_sge sge[2] = {{QP_PAIR_IOVA, 1024, QP_PAIR_KEY}, {QP_PAIR_IOVA, 1024, 0xBAD}};
    struct rnic_send_wr wr = {.wr_id = 2, .opcode = RNIC_WR_SEND, .sge = sge, .sge_cnt = 2};
    struct rnic_qp_attr attr = {.state = RNIC_QPS_RTS};

    qp_pair_init_as(&pair, 1, ROCE_ENCAP_V2_IP4, 1, 8, &opts);
    simnet_paths(&pair.net, &path);
    qp_pair_connect(&pair);
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < 4; i++)
            EXPECT_EQ(qp_pair_recv(&pair, s, 0, i, WQE_AT, SLOT), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, RNIC_WR_SEND, 0, 10, 0), RNIC_OK);
    EXPECT_EQ(rnic_post_send(pair.side[0].qp[0], &wr), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 3, RNIC_WR_SEND, 0, 10, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 1, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 2, RNIC_WC_LOC_PROT_ERR);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 3, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(qp_pair_state(&pair, 0, 0), RNIC_QPS_SQE);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 4, RNIC_WR_SEND, 0, 10, 0), RNIC_OK);
    qp_pair_expect_wc(pair.side[0].send_cq[0], 4, RNIC_WC_WR_FLUSH_ERR);
    EXPECT_EQ(qp_pair_send(&pair, 1, 0, 1, RNIC_WR_SEND, 0, 10, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].recv_cq[0], 0, RNIC_WC_SUCCESS);
    EXPECT_EQ(rnic_qp_modify(pair.side[0].qp[0], &attr, pair.net.now), RNIC_OK);
    EXPECT_EQ(qp_pair_send(&pair, 0, 0, 5, RNIC_WR_SEND, 0, 3000, 0), RNIC_OK);
    CU_ASSERT(qp_pair_run(&pair, SECOND));
    qp_pair_expect_wc(pair.side[0].send_cq[0], 5, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 0, RNIC_WC_SUCCESS);
    qp_pair_expect_wc(pair.side[1].recv_cq[0], 1, RNIC_WC_SUCCESS);
    EXPECT_EQ(qp_pair_counters(&pair, 1).out_of_sequence, 0);
    qp_pair_free(&pair);
}

/* Operations that UC does not support must be refused when posted; LOCAL_INV must be accepted
 * (R162). */
static void operations_that_uc_lacks_are_refused(void)
{
    static const enum rnic_wr_opcode none[] = {RNIC_WR_READ, RNIC_WR_CMP_SWAP, RNIC_WR_FETCH_ADD,
                                               RNIC_WR_SEND_INV};
    const struct qp_pair_opts opts = {.type = RNIC_QPT_UC};

    qp_pair_init_as(&pair, 1, ROCE_ENCAP_V2_IP4, 1, 8, &opts);
    qp_pair_connect(&pair);
    for (unsigned i = 0; i < 4; i++)
        EXPECT_EQ(qp_pair_send(&pair, 0, 0, 1, none[i], 0, 8, 0), RNIC_ERR_INVALID);
    qp_pair_expect_no_wc(pair.side[0].send_cq[0]);
    EXPECT_EQ(simnet_count(&pair.net, 0, SIMNET_ANY, SIMNET_SENT), 0);
    qp_pair_free(&pair);
}

SUITE("sim.uc", TEST(random_traffic_matches_the_model), TEST(unreadable_buffer_moves_the_qp_to_sqe),
      TEST(operations_that_uc_lacks_are_refused))
