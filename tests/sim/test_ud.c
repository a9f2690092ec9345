/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Datagrams to one receiver and to multicast groups, between 3 to 8 devices over a faulty network:
 * R168-R176, R178, R198, R249 of rnic/rules.md.
 *
 * A model of all receive queues reads the frames that the network delivers. The completions of a
 * device must equal those of the model: each receive completes once, in order, with the right
 * bytes. Each counter of dropped datagrams must also equal that of the model. The test compares
 * sent packets with the posted requests, and rnic/flow must find no error in these packets.
 *
 * ROCEDRILL_SEED=<n> runs only that seed, ROCEDRILL_RUNS=<n> runs n seeds.
 */
#include <stdlib.h>
#include "flow/flow.h"
#include "flow_oracle.h"
#include "support/fabric.h"
#include "support/suite.h"

#define DEVS    8u
#define QPS     3u /* number of QPs of each device */
#define GROUPS  3u
#define DEPTH   16u
#define SENDS   60u /* number of sends of each QP */
#define AREA    40u
#define SLOT    (AREA + 4096u)
#define SOURCE  65536u /* bytes at the start of each memory from which datagrams are sent */
#define MEM_LEN (SOURCE + QPS * DEPTH * SLOT)
#define QKEY    0x00C0FFEEu
#define OTHER   0x00BADBADu

/* Receive WQE, or a completion that the model expects. */
struct recv {
    uint64_t wr_id;
    uint32_t off; /* offset of the buffer in the device's memory */
    uint32_t room;
    uint32_t len; /* length of the expected payload in bytes */
    uint32_t src_qp;
    uint8_t bytes[SLOT]; /* expected contents of the buffer */
};

/* Send request as it was posted. */
struct plan {
    uint64_t wr_id;
    uint32_t off, len;
    uint32_t dest_qpn;
    uint32_t qkey; /* expected Q_Key on the wire */
    uint8_t dst[16];
    bool imm;
};

struct side {
    struct rnic_qp *qp;
    uint32_t qpn;
    uint32_t qkey;
    bool joined[GROUPS];
    struct plan plan[SENDS];
    unsigned posted, sent, done;
    /* Model of a receive queue: WQEs that wait for a message, and completions that were not polled
     * yet. Both are in order. */
    struct recv wait[DEPTH];
    unsigned wait_cnt;
    struct recv due[DEPTH];
    unsigned due_cnt;
    unsigned slot_busy; /* one bit for each receive buffer in use */
    uint64_t recv_posted;
};

struct model {
    uint64_t datagrams, no_wqe, too_long, bad_qkey, multicast, no_group;
};

static struct fabric fabric;
static struct side side[DEVS][QPS];
static struct model model[DEVS];
static struct model total; /* sums of all runs, to check that all cases occurred */
static uint8_t gid[DEVS][16];
static uint8_t group[GROUPS][16];
static struct rng rng;
static struct roce_flow *judge;
static uint32_t frame_no;
static unsigned findings;
static bool busy; /* true while new requests are posted */

/* ---- the model of the receivers ----------------------------------------------------------------
 */

static void model_recv(unsigned dev, struct side *s, const struct roce_pkt *pkt)
{
    struct model *m = &model[dev];
    struct recv *r = &s->wait[0];
    const uint8_t *net = pkt->frame + pkt->net_off;

    if (pkt->deth.qkey != s->qkey) {
        m->bad_qkey++;
        return;
    }
    if (s->wait_cnt == 0) {
        m->no_wqe++;
        return;
    }
    if (pkt->payload_len + AREA > r->room) {
        m->too_long++;
        return;
    }
    m->datagrams++;
    r->len = pkt->payload_len;
    r->src_qp = pkt->deth.src_qp;
    memset(r->bytes, 0, AREA);
    if (pkt->encap == ROCE_ENCAP_V2_IP4)
        memcpy(r->bytes + 20, net, 20);
    else
        memcpy(r->bytes, net, 40);
    if (pkt->payload_len)
        memcpy(r->bytes + AREA, pkt->payload, pkt->payload_len);
    s->due[s->due_cnt++] = *r;
    s->wait_cnt--;
    memmove(&s->wait[0], &s->wait[1], s->wait_cnt * sizeof(s->wait[0]));
}

static bool model_group(unsigned dev, const struct roce_pkt *pkt)
{
    uint8_t src[16];
    uint8_t dst[16];
    bool any = false;

    roce_pkt_addr(pkt, src, dst);
    for (unsigned q = 0; q < QPS; q++) {
        for (unsigned g = 0; g < GROUPS; g++) {
            if (!side[dev][q].joined[g] || memcmp(dst, group[g], 16) != 0)
                continue;
            any = true;
            model_recv(dev, &side[dev][q], pkt);
        }
    }
    return any;
}

/* Updates the model with a frame that reached a device. */
static void arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now)
{
    struct roce_pkt pkt;

    flow_oracle_arrived(ctx, node, frame, len, now);
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0 || roce_pkt_dropped(&pkt) ||
        roce_pkt_icrc_check(&pkt, NULL) != ROCE_ICRC_GOOD)
        return;
    if (pkt.bth.dest_qp == ROCE_QP_MULTICAST) {
        if (model_group(node, &pkt))
            model[node].multicast++;
        else
            model[node].no_group++;
        return;
    }
    for (unsigned q = 0; q < QPS; q++)
        if (side[node][q].qpn == pkt.bth.dest_qp)
            model_recv(node, &side[node][q], &pkt);
}

/* Compares a sent frame with the next posted request. A multicast frame must go to the group that
 * the request names. */
static void observe(void *ctx, const struct simnet_event *event)
{
    const struct roce_pkt *pkt = event->pkt;
    struct roce_flow_in in = {
        .pkt = pkt, .frame = ++frame_no, .time = event->now, .icrc = ROCE_ICRC_UNVERIFIED};
    struct side *s = NULL;
    const struct plan *p;
    uint8_t src[16];
    uint8_t dst[16];

    (void)ctx;
    flow_oracle_sent(event);
    in.icrc = roce_pkt_icrc_check(pkt, NULL);
    roce_flow_feed(judge, &in, NULL);
    EXPECT_EQ(pkt->defects, 0);
    EXPECT_EQ(in.icrc, ROCE_ICRC_GOOD);
    for (unsigned q = 0; q < QPS; q++)
        if (side[event->from][q].qpn == pkt->deth.src_qp)
            s = &side[event->from][q];
    if (!s || s->sent == s->posted) {
        suite_fail(__FILE__, __LINE__, "a datagram without a posted request");
        return;
    }
    p = &s->plan[s->sent];
    EXPECT_EQ(pkt->bth.psn, (0xFFFFF0 + s->sent) & ROCE_PSN_MASK);
    s->sent++;
    roce_pkt_addr(pkt, src, dst);
    CU_ASSERT(memcmp(src, gid[event->from], 16) == 0);
    CU_ASSERT(memcmp(dst, p->dst, 16) == 0);
    EXPECT_EQ(pkt->bth.dest_qp, p->dest_qpn);
    EXPECT_EQ(pkt->deth.qkey, p->qkey);
    EXPECT_EQ(roce_opcode_has(pkt->op, ROCE_HDR_IMMDT), p->imm);
    if (p->imm)
        EXPECT_EQ(pkt->immdt.imm, (uint32_t)p->wr_id);
    EXPECT_EQ(pkt->payload_len, p->len);
    CU_ASSERT(p->len == 0 ||
              memcmp(pkt->payload, fabric.dev[event->from].mem + p->off, p->len) == 0);
    if (pkt->bth.dest_qp == ROCE_QP_MULTICAST)
        model_group(event->from, pkt);
}

/* ---- posting and polling -----------------------------------------------------------------------
 */

static void post_recv(unsigned d, unsigned q)
{
    struct side *s = &side[d][q];
    struct recv *r = &s->wait[s->wait_cnt];
    struct rnic_sge sge;
    struct rnic_recv_wr wr = {.sge = &sge, .sge_cnt = 1};
    unsigned slot = 0;

    while (s->slot_busy >> slot & 1)
        slot++;
    if (slot >= DEPTH)
        return;
    s->slot_busy |= 1u << slot;
    wr.wr_id = s->recv_posted++ * DEPTH + slot;
    r->wr_id = wr.wr_id;
    r->off = SOURCE + (q * DEPTH + slot) * SLOT;
    r->room = rng_below(&rng, 4) ? SLOT : rng_below(&rng, SLOT);
    sge = (struct rnic_sge){r->off, r->room, FABRIC_KEY};
    EXPECT_EQ(rnic_post_recv(s->qp, &wr), RNIC_OK);
    s->wait_cnt++;
}

static uint32_t random_len(void)
{
    switch (rng_below(&rng, 4)) {
    case 0: return rng_below(&rng, 5);
    case 1: return 4096 - rng_below(&rng, 3);
    default: return rng_below(&rng, 4097);
    }
}

static void post_send(unsigned d, unsigned q)
{
    struct side *s = &side[d][q];
    struct plan *p = &s->plan[s->posted];
    struct rnic_av av = {.tclass = (uint8_t)rng_u64(&rng), .flow = rng_below(&rng, 0x100000)};
    struct rnic_ah *ah = NULL;
    struct rnic_sge sge[2];
    struct rnic_send_wr wr = {.sge = sge, .sge_cnt = 2, .flags = RNIC_SEND_SIGNALED};
    unsigned to = (d + 1 + rng_below(&rng, fabric.dev_cnt - 1)) % fabric.dev_cnt;
    uint32_t cut;

    *p = (struct plan){
        .wr_id = UINT64_C(1) << 32 | s->posted, .len = random_len(), .imm = rng_below(&rng, 2)};
    p->off = rng_below(&rng, SOURCE - p->len);
    wr.remote_qkey = rng_below(&rng, 8) ? QKEY : OTHER;
    p->qkey = wr.remote_qkey;
    if (rng_below(&rng, 4) == 0) {
        wr.remote_qkey = 0x80000000u | OTHER; /* because bit 31 is set, the QP sends its own Q_Key
                                               * (R169) */
        p->qkey = s->qkey;
    }
    if (rng_below(&rng, 2)) {
        memcpy(p->dst, group[rng_below(&rng, GROUPS)], 16);
        p->dest_qpn = ROCE_QP_MULTICAST;
    } else {
        memcpy(p->dst, gid[to], 16);
        memcpy(av.dmac, fabric.net.node[fabric.dev[to].node].mac, 6);
        p->dest_qpn = side[to][rng_below(&rng, QPS)].qpn;
        wr.remote_qpn = p->dest_qpn;
    }
    memcpy(av.dgid, p->dst, 16);
    EXPECT_EQ(rnic_ah_new(fabric.dev[d].pd, &av, &ah), RNIC_OK);
    wr.ah = ah;
    wr.wr_id = p->wr_id;
    wr.opcode = p->imm ? RNIC_WR_SEND_IMM : RNIC_WR_SEND;
    wr.imm = (uint32_t)p->wr_id;
    cut = rng_below(&rng, p->len + 1);
    sge[0] = (struct rnic_sge){p->off, cut, FABRIC_KEY};
    sge[1] = (struct rnic_sge){p->off + cut, p->len - cut, FABRIC_KEY};
    EXPECT_EQ(rnic_post_send(s->qp, &wr), RNIC_OK);
    EXPECT_EQ(rnic_ah_del(ah), RNIC_OK); /* the posted request keeps a copy of the address handle,
                                          * so delete it now */
    s->posted++;
}

static void check_recv(unsigned d, struct side *s, const struct rnic_wc *wc)
{
    const struct recv *r = &s->due[0];

    if (s->due_cnt == 0) {
        suite_fail(__FILE__, __LINE__,
                   "device %u: a receive completion that the model does not expect", d);
        return;
    }
    EXPECT_EQ(wc->wr_id, r->wr_id);
    EXPECT_EQ(wc->status, RNIC_WC_SUCCESS);
    EXPECT_EQ(wc->byte_len, AREA + r->len);
    EXPECT_EQ(wc->src_qp, r->src_qp);
    CU_ASSERT(memcmp(fabric.dev[d].mem + r->off, r->bytes, AREA + r->len) == 0);
    s->slot_busy &= ~(1u << wc->wr_id % DEPTH);
    s->due_cnt--;
    memmove(&s->due[0], &s->due[1], s->due_cnt * sizeof(s->due[0]));
}

/* Polls the completions of a device and compares each with the model. */
static void reap(unsigned d)
{
    struct rnic_wc wc;

    while (rnic_cq_poll(fabric.dev[d].cq, &wc, 1)) {
        struct side *s = &side[d][0];

        while (s->qpn != wc.qpn)
            s++;
        if (wc.wr_id >> 32) {
            EXPECT_EQ(wc.wr_id, s->plan[s->done].wr_id); /* sends complete in order (R198) */
            EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
            s->done++;
        } else {
            check_recv(d, s, &wc);
        }
    }
}

static void tick(void *ctx, uint64_t now)
{
    (void)ctx;
    (void)now;
    for (unsigned d = 0; d < fabric.dev_cnt; d++) {
        reap(d);
        for (unsigned q = 0; q < QPS; q++) {
            if (rng_below(&rng, 3) == 0)
                post_recv(d, q);
            if (busy && side[d][q].posted < SENDS && side[d][q].posted - side[d][q].done < DEPTH &&
                rng_below(&rng, 3) == 0)
                post_send(d, q);
        }
    }
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    char text[400];

    (void)user;
    if (finding->severity != ROCE_SEV_ERROR || ++findings > 3)
        return;
    roce_finding_text(finding, text, sizeof(text));
    suite_fail(__FILE__, __LINE__, "%s", text);
}

static void make_qp(unsigned d, unsigned q)
{
    struct rnic_qp_init init = {.type = RNIC_QPT_UD,
                                .recv_cq = fabric.dev[d].cq,
                                .send_cq = fabric.dev[d].cq,
                                .qpn = 0x1000 * (d + 1) + q,
                                .max_recv_wr = DEPTH,
                                .max_recv_sge = 1,
                                .max_send_wr = DEPTH,
                                .max_send_sge = 2};
    struct side *s = &side[d][q];
    struct rnic_qp_attr attr = {.pkey = 0xFFFF, .sq_psn = 0xFFFFF0};

    s->qpn = init.qpn;
    s->qkey = attr.qkey = rng_below(&rng, 5) ? QKEY : OTHER;
    EXPECT_EQ(rnic_qp_new(fabric.dev[d].pd, &init, &s->qp), RNIC_OK);
    for (enum rnic_qp_state state = RNIC_QPS_INIT; state <= RNIC_QPS_RTS; state++) {
        attr.state = state;
        EXPECT_EQ(rnic_qp_modify(s->qp, &attr, 0), RNIC_OK);
    }
    for (unsigned g = 0; g < GROUPS; g++) {
        s->joined[g] = rng_below(&rng, 2);
        if (s->joined[g])
            EXPECT_EQ(rnic_mcast_attach(s->qp, group[g]), RNIC_OK);
    }
}

/* ---- comparing with the model ------------------------------------------------------------------
 */

static void check(void)
{
    for (unsigned d = 0; d < fabric.dev_cnt; d++) {
        struct rnic_counters c = fabric_counters(&fabric, d);
        unsigned node = fabric.dev[d].node;

        for (unsigned q = 0; q < QPS; q++) {
            EXPECT_EQ(side[d][q].posted, SENDS);
            EXPECT_EQ(side[d][q].sent, SENDS);
            EXPECT_EQ(side[d][q].done, SENDS);
            EXPECT_EQ(side[d][q].due_cnt, 0);
        }
        EXPECT_EQ(c.tx_packets, QPS * SENDS);
        EXPECT_EQ(c.rx_packets, fabric.net.arrived[node]); /* counters agree with the network
                                                            * (R249) */
        EXPECT_EQ(c.rx_icrc_encapsulated + c.rx_malformed, fabric.net.arrived_bad[node]);
        EXPECT_EQ(c.rx_datagrams, model[d].datagrams);
        EXPECT_EQ(c.out_of_buffer, model[d].no_wqe);
        EXPECT_EQ(c.rx_datagram_too_long, model[d].too_long);
        EXPECT_EQ(c.qkey_viol_cntr, model[d].bad_qkey);
        EXPECT_EQ(c.rx_multicast, model[d].multicast);
        EXPECT_EQ(c.rx_no_group, model[d].no_group);
        EXPECT_EQ(c.rx_not_roce + c.rx_no_qp + c.rx_bad_pkey, 0);
        EXPECT_EQ(rnic_deadline(fabric.dev[d].rnic), RNIC_NEVER);
        total.datagrams += model[d].datagrams;
        total.no_wqe += model[d].no_wqe;
        total.too_long += model[d].too_long;
        total.bad_qkey += model[d].bad_qkey;
        total.multicast += model[d].multicast;
        total.no_group += model[d].no_group;
    }
}

static void one_run(uint64_t seed)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    const struct fabric_wire wire = {.delay_ns = 1000}; /* devices are connected without a switch,
                                                         * so the random paths below apply */
    const struct roce_flow_opts opts = {.on_finding = on_finding};
    struct simnet_path path = {.delay_ns = 1000};
    enum roce_encap encap;

    rng = rng_of(seed);
    encap = encaps[rng_below(&rng, 3)];
    fabric_init(&fabric, seed, 3 + rng_below(&rng, DEVS - 2), encap, MEM_LEN, NULL, &wire);
    path.loss_ppm = rng_below(&rng, 2) ? rng_below(&rng, 200000) : 0;
    path.dup_ppm = rng_below(&rng, 2) ? rng_below(&rng, 200000) : 0;
    path.corrupt_ppm = rng_below(&rng, 2) ? rng_below(&rng, 100000) : 0;
    path.mark_ppm = rng_below(&rng, 2) ? rng_below(&rng, 100000) : 0;
    path.reorder_ppm = rng_below(&rng, 2) ? rng_below(&rng, 200000) : 0;
    path.reorder_ns = rng_below(&rng, 50000);
    path.jitter_ns = rng_below(&rng, 3000);
    simnet_paths(&fabric.net, &path);
    memset(side, 0, sizeof(side));
    memset(model, 0, sizeof(model));
    for (unsigned g = 0; g < GROUPS; g++)
        memcpy(group[g],
               encap == ROCE_ENCAP_V2_IP6
                   ? (uint8_t[16]){0xFF, 0x0E, [14] = 1, (uint8_t)(g + 1)}
                   : (uint8_t[16]){[10] = 0xFF, 0xFF, 239, 7, 0, (uint8_t)(g + 1)},
               16);
    for (unsigned d = 0; d < fabric.dev_cnt; d++) {
        static const uint8_t ip4[16] = {[10] = 0xFF, 0xFF, 10, 7, 0, 0};
        static const uint8_t ip6[16] = {0xFD, 7};

        memcpy(gid[d], encap == ROCE_ENCAP_V2_IP6 ? ip6 : ip4, 16);
        gid[d][15] = (uint8_t)(d + 1);
        for (unsigned q = 0; q < QPS; q++)
            make_qp(d, q);
    }
    frame_no = 0;
    findings = 0;
    judge = roce_flow_new(&opts);
    CU_ASSERT_FATAL(judge != NULL);
    flow_oracle_begin(&fabric.net, fabric.dev[rng_below(&rng, fabric.dev_cnt)].node, seed);
    fabric.net.observe = observe;
    fabric.net.arrive = arrive;
    fabric.net.tick = tick;
    busy = true;
    for (unsigned i = 0; i < 100000; i++) {
        bool done = true;

        tick(NULL, fabric.net.now); /* while the network is idle, only this call posts requests */
        simnet_run(&fabric.net, SIMNET_NEVER);
        for (unsigned d = 0; d < fabric.dev_cnt; d++)
            for (unsigned q = 0; q < QPS; q++)
                done = done && side[d][q].done == SENDS;
        if (done)
            break;
    }
    roce_flow_finish(judge);
    roce_flow_del(judge);
    flow_oracle_end(NULL, NULL);
    check();
    fabric_free(&fabric);
}

static void random_datagrams_match_the_model(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t runs = suite_env("ROCEDRILL_RUNS", SUITE_TURNS(60));

    for (uint64_t seed = only ? only : 1; seed <= (only ? only : runs); seed++) {
        unsigned before = CU_get_number_of_failures();

        one_run(seed);
        if (CU_get_number_of_failures() != before) {
            printf("\n    repeat with: ROCEDRILL_SEED=%llu test_sim_ud random_datagrams\n",
                   (unsigned long long)seed);
            return;
        }
    }
    if (runs >= 60 && !only) /* all cases must have occurred */
        CU_ASSERT(total.datagrams > 10000 && total.no_wqe && total.too_long && total.bad_qkey &&
                  total.multicast && total.no_group);
}

SUITE("sim.ud", TEST(random_datagrams_match_the_model))
