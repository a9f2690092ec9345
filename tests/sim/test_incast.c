/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Incast: many devices send to one device through one switch port, with and without congestion
 * management (R005, R215, R218, R219, R249). rnic/flow analyses the packets on the receiver's link.
 */
#include <stdlib.h>
#include <string.h>
#include "flow/flow.h"
#include "support/fabric.h"
#include "support/suite.h"

#define MS    UINT64_C(1000000)
#define US    UINT64_C(1000)
#define BPS   UINT64_C(10000000000)
#define MSG   16384u
#define DEPTH 64u
/* End of the start phase, in which all senders send at full rate. The start phase is not
 * measured. */
#define WARM    (3 * MS)
#define END     (13 * MS)
#define SENDERS 32u

static struct fabric fabric;
static struct roce_flow *judge;
static uint32_t frame_no;

/* Measurements of one run between WARM and END. */
struct result {
    uint64_t drops;          /* number of frames dropped at the switch port to the receiver */
    uint64_t bytes[SENDERS]; /* bytes of completed messages of each sender */
    double rate;             /* completed payload as a fraction of the link rate */
    double fairness;         /* fairness index of Jain */
    uint64_t cnps;
    uint64_t gap_min; /* shortest time between two CNPs to the same QP, as sent, ns */
};

static uint64_t cnp_last[SENDERS];
static uint64_t cnp_gap_min;
static unsigned senders;
static uint64_t wire_marked; /* ECN marks that rnic/flow counted on the receiver's link */
static uint64_t wire_cnps;
static uint64_t wire_gap;

static void feed(const uint8_t *frame, size_t len, uint64_t now)
{
    struct roce_pkt pkt;
    struct roce_flow_in in = {.pkt = &pkt, .frame = ++frame_no, .time = now};

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame, len, len) != 0)
        return;
    in.icrc = roce_pkt_icrc_check(&pkt, NULL);
    roce_flow_feed(judge, &in, NULL);
}

static void on_finding(void *user, const struct roce_finding *finding)
{
    char text[400];
    unsigned *errors = user;

    if (finding->severity != ROCE_SEV_ERROR || ++*errors > 3)
        return;
    roce_finding_text(finding, text, sizeof(text));
    suite_fail(__FILE__, __LINE__, "frame %u: %s", finding->frame, text);
}

static void on_conn(void *user, const struct roce_conn_summary *conn)
{
    (void)user;
    for (unsigned s = 0; s < 2; s++) {
        wire_marked += conn->side[s].ce_marked;
        wire_cnps += conn->side[s].cnps;
        EXPECT_EQ(conn->side[s].cnps_unasked, 0); /* no CNP is sent without a marked packet
                                                   * (R215) */
        if (conn->side[s].cnp_gap_min_ns && conn->side[s].cnp_gap_min_ns < wire_gap)
            wire_gap = conn->side[s].cnp_gap_min_ns;
    }
}

/* Passes the packets that the receiver (device 0) sends and receives to rnic/flow. */
static void observe(void *ctx, const struct simnet_event *event)
{
    (void)ctx;
    if (event->from != fabric.dev[0].node)
        return;
    feed(event->pkt->frame, event->pkt->wire_len, event->now);
    if (event->cls != SIMNET_CNP)
        return;
    for (unsigned i = 0; i < senders; i++) {
        if (fabric.link[i].qpn[0] != event->pkt->bth.dest_qp ||
            event->to != (int)fabric.dev[fabric.link[i].dev[0]].node)
            continue;
        if (cnp_last[i] && event->now - cnp_last[i] < cnp_gap_min)
            cnp_gap_min = event->now - cnp_last[i];
        cnp_last[i] = event->now;
    }
}

static void arrive(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now)
{
    (void)ctx;
    if (to == fabric.dev[0].node)
        feed(frame, len, now);
}

/* Posts a new request for each completed one, so that every sender always has some. */
static void tick(void *ctx, uint64_t now)
{
    struct result *res = ctx;

    for (unsigned i = 0; i < senders; i++) {
        struct rnic_wc wc;

        while (rnic_cq_poll(fabric.dev[i + 1].cq, &wc, 1) == 1) {
            EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
            if (now >= WARM)
                res->bytes[i] += MSG;
            EXPECT_EQ(fabric_send(&fabric, i, 0, wc.wr_id, RNIC_WR_WRITE, 0, MSG, i * MSG),
                      RNIC_OK);
        }
    }
}

static void run(unsigned cnt, enum roce_encap encap, const struct rnic_ecn *ecn, struct result *res)
{
    const struct fabric_wire wire = {.bps = BPS, .delay_ns = 1000, .queue = 400000, .mark = 30000};
    unsigned errors = 0;
    const struct roce_flow_opts opts = {
        .user = &errors, .on_finding = on_finding, .on_conn = on_conn};
    double sum = 0;
    double squares = 0;
    uint64_t before;
    struct rnic_counters c;

    *res = (struct result){0};
    senders = cnt;
    cnp_gap_min = UINT64_MAX;
    for (unsigned i = 0; i < SENDERS; i++)
        cnp_last[i] = 0;
    wire_marked = wire_cnps = 0;
    wire_gap = UINT64_MAX;
    frame_no = 0;
    judge = roce_flow_new(&opts);
    if (!judge)
        abort();
    fabric_init(&fabric, 1, cnt + 1, encap, SENDERS * MSG, ecn, &wire);
    fabric.net.observe = observe;
    fabric.net.arrive = arrive;
    fabric.net.tick = tick;
    fabric.net.ctx = res;
    for (unsigned i = 0; i < cnt; i++) {
        fabric_connect(&fabric, i + 1, 0, DEPTH, 1024);
        for (unsigned k = 0; k < 8; k++)
            EXPECT_EQ(fabric_send(&fabric, i, 0, k, RNIC_WR_WRITE, 0, MSG, i * MSG), RNIC_OK);
    }
    simnet_run(&fabric.net, WARM);
    before = simnet_count(&fabric.net, -1, SIMNET_ANY, SIMNET_OVERFLOWED);
    simnet_run(&fabric.net, END);
    res->drops = simnet_count(&fabric.net, -1, SIMNET_ANY, SIMNET_OVERFLOWED) - before;
    res->cnps = simnet_count(&fabric.net, -1, SIMNET_BIT(CNP), SIMNET_SENT);
    res->gap_min = cnp_gap_min;
    fabric_check_tally(&fabric);
    roce_flow_finish(judge);
    roce_flow_del(judge);
    c = fabric_counters(&fabric, 0); /* the counters of the device agree with the packets (R249) */
    EXPECT_EQ(c.np_ecn_marked_roce_packets, wire_marked);
    EXPECT_EQ(c.np_cnp_sent, wire_cnps);
    EXPECT_EQ(wire_gap, cnp_gap_min); /* CNPs keep the configured distance (R219) */
    for (unsigned i = 0; i < cnt; i++) {
        sum += (double)res->bytes[i];
        squares += (double)res->bytes[i] * (double)res->bytes[i];
    }
    res->rate = sum * 8e9 / (double)(END - WARM) / (double)BPS;
    res->fairness = squares > 0 ? sum * sum / (cnt * squares) : 0;
    fabric_free(&fabric);
}

/* Returns the parameters of the DCQCN paper for 40 Gb/s, with rate steps for a link of 10 Gb/s. */
static struct rnic_ecn parameters(void)
{
    struct rnic_ecn ecn;

    rnic_ecn_defaults(&ecn);
    ecn.min_time_between_cnps = 50;
    ecn.dcqcn.rpg_max_rate = BPS / 1000000;
    ecn.dcqcn.rpg_ai_rate = 10;
    ecn.dcqcn.rpg_hai_rate = 50;
    ecn.dcqcn.rpg_time_reset = 55;
    ecn.dcqcn.rpg_byte_reset = 10000000;
    ecn.dcqcn.rpg_threshold = 5;
    ecn.dcqcn.dce_tcp_g = 1020;
    ecn.dcqcn.dce_tcp_rtt = 55;
    ecn.dcqcn.rate_reduce_monitor_period = 50;
    ecn.dcqcn.clamp_tgt_rate = 1;
    ecn.dcqcn.max_burst_sz = 0;
    return ecn;
}

static void one_incast(unsigned cnt, enum roce_encap encap)
{
    struct rnic_ecn ecn = parameters();
    struct result off, on;

    run(cnt, encap, NULL, &off);
    run(cnt, encap, &ecn, &on);
    printf("\n    %u senders: off %llu drops, rate %.2f, fairness %.2f; on %llu drops, rate %.2f, "
           "fairness %.2f, %llu CNPs at least %llu ns apart ",
           cnt, (unsigned long long)off.drops, off.rate, off.fairness, (unsigned long long)on.drops,
           on.rate, on.fairness, (unsigned long long)on.cnps, (unsigned long long)on.gap_min);
    CU_ASSERT(off.drops > 1000);
    CU_ASSERT(on.drops * 100 <= off.drops);
    /* The port marks packets only while it is busy. A rate cut reduces the rate of a QP at most by
     * half (rpg_min_dec_fac), and the first recovery step restores half of the cut. So the senders
     * always use at least half of the link rate. */
    CU_ASSERT(on.rate >= 0.5 * 1024 / (1024 + 82));
    CU_ASSERT(on.rate > off.rate);
    CU_ASSERT(on.fairness >= 0.9);
    CU_ASSERT(on.cnps > 0);
    CU_ASSERT(on.gap_min >= ecn.min_time_between_cnps * US);
    EXPECT_EQ(off.cnps, 0);
}

static void congestion_management_shares_a_port_of_eight_senders(void)
{
    one_incast(8, ROCE_ENCAP_V2_IP4);
}

static void congestion_management_shares_a_port_of_32_senders(void)
{
    one_incast(32, ROCE_ENCAP_V2_IP6);
}

/* ---- the rate around CNPs ------------------------------------------------------------------- */

#define JOIN  (4 * MS) /* start time of the second sender */
#define LEAVE (8 * MS) /* end time of the second sender */
#define ALL   (120 * MS)
#define BIN   (100 * US)
#define BINS  (ALL / BIN)

static uint64_t left[BINS]; /* bytes that the first sender's device sent, for each bin of time */
static struct roce_cnp_episode span[64];
static unsigned span_cnt;
static uint64_t first_cnp; /* time of the first CNP to the first sender, ns */

static void on_span(void *user, const struct roce_cnp_episode *e)
{
    (void)user;
    if (e->before < BPS / 80) /* ignore the second sender: its rate before the first CNP is
                               * unknown or below 10 % of the link rate */
        return;
    if (span_cnt < 64)
        span[span_cnt] = *e;
    span_cnt++;
}

static void observe_both(void *ctx, const struct simnet_event *event)
{
    (void)ctx;
    if (event->from == fabric.dev[1].node && event->now < ALL)
        left[event->now / BIN] += event->pkt->wire_len;
    if (event->from == fabric.dev[0].node) {
        feed(event->pkt->frame, event->pkt->wire_len, event->now);
        if (event->cls == SIMNET_CNP && event->to == (int)fabric.dev[1].node && first_cnp == 0)
            first_cnp = event->now;
    }
}

static void post(unsigned link, uint64_t id)
{
    EXPECT_EQ(fabric_send(&fabric, link, 0, id, RNIC_WR_WRITE, 0, MSG, link * MSG), RNIC_OK);
}

static void two_ticks(void *ctx, uint64_t now)
{
    static unsigned joined;
    struct rnic_wc wc;

    (void)ctx;
    if (now < JOIN)
        joined = 0;
    if (now >= JOIN && !joined) {
        joined = 1;
        for (unsigned k = 0; k < 8; k++)
            post(1, k);
    }
    for (unsigned i = 0; i < 2; i++)
        while (rnic_cq_poll(fabric.dev[i + 1].cq, &wc, 1) == 1) {
            EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
            if (i == 0 || now < LEAVE)
                post(i, wc.wr_id);
        }
}

/* Returns the mean rate at which the first sender's device sent from time `from` to time `to`,
 * bytes per second. */
static uint64_t left_rate(uint64_t from, uint64_t to)
{
    uint64_t bytes = 0;

    for (uint64_t b = from / BIN; b < to / BIN; b++)
        bytes += left[b];
    return bytes * 1000000000 / (to - from);
}

/* One device sends all the time, and a second device sends for a part of this time. rnic/flow reads
 * the packets on the receiver's link and reports the first device's rates before and after the
 * CNPs. These rates must equal those at which the device sent. */
static void reported_rates_equal_rates_on_the_wire(void)
{
    const struct fabric_wire wire = {.bps = BPS, .delay_ns = 1000, .queue = 400000, .mark = 30000};
    const struct roce_flow_opts opts = {.on_cnp_episode = on_span};
    struct rnic_ecn ecn = parameters();
    uint64_t before, lowest = UINT64_MAX, back = 0;

    memset(left, 0, sizeof(left));
    span_cnt = frame_no = 0;
    first_cnp = 0;
    judge = roce_flow_new(&opts);
    fabric_init(&fabric, 1, 3, ROCE_ENCAP_V2_IP4, SENDERS * MSG, &ecn, &wire);
    fabric.net.observe = observe_both;
    fabric.net.arrive = arrive;
    fabric.net.tick = two_ticks;
    for (unsigned i = 0; i < 2; i++)
        fabric_connect(&fabric, i + 1, 0, DEPTH, 1024);
    for (unsigned k = 0; k < 8; k++)
        post(0, k);
    simnet_run(&fabric.net, ALL);
    roce_flow_finish(judge);
    EXPECT_EQ(roce_flow_totals(judge)->findings[ROCE_SEV_ERROR], 0);
    roce_flow_del(judge);
    fabric_free(&fabric);

    CU_ASSERT_FATAL(first_cnp >= JOIN && first_cnp < LEAVE);
    CU_ASSERT_FATAL(span_cnt >= 1);
    before = left_rate(JOIN - 2 * MS, JOIN);
    for (uint64_t b = first_cnp / BIN + 1; b < LEAVE / BIN; b++)
        if (left[b] * (1000000000 / BIN) < lowest)
            lowest = left[b] * (1000000000 / BIN);
    for (uint64_t b = LEAVE / BIN; b < BINS && !back; b++)
        if (left[b] * (1000000000 / BIN) >= span[0].before / 10 * 9)
            back = (b + 1) * BIN - first_cnp;
    printf("\n    MB/s, in parentheses by rnic/flow: %llu (%llu) before, %llu (%llu) lowest; "
           "recovered after %llu (%llu) us ",
           (unsigned long long)before / 1000000, (unsigned long long)span[0].before / 1000000,
           (unsigned long long)lowest / 1000000, (unsigned long long)span[0].lowest / 1000000,
           (unsigned long long)(back / US), (unsigned long long)(span[0].recovered_ns / US));
    EXPECT_EQ(span[0].time, first_cnp);
    CU_ASSERT(span[0].slowed);
    /* The test counts bytes before the queue of the switch, and rnic/flow counts them after it. The
     * times differ, so allow a tolerance. */
    CU_ASSERT(span[0].before > before / 20 * 17 && span[0].before < before / 20 * 21);
    CU_ASSERT(span[0].lowest > lowest / 4 * 3 && span[0].lowest < lowest / 4 * 5);
    EXPECT_EQ(span[0].end, ROCE_CNP_RECOVERED);
    CU_ASSERT(back > 0);
    CU_ASSERT(span[0].recovered_ns + 5 * BIN > back && span[0].recovered_ns < back + 5 * BIN);
}

/* ---- traffic between all pairs --------------------------------------------------------------- */

#define SLOT  2048u
#define LINKS 96u
#define LEN   (4 * LINKS * SLOT) /* each side of each link has one source and one destination */

static enum rnic_wr_opcode what[LINKS][2];

static void check_slot(unsigned link, unsigned side)
{
    const struct fabric_link *l = &fabric.link[link];
    bool read = what[link][side] == RNIC_WR_READ;
    const uint8_t *mine = fabric.dev[l->dev[side]].mem;
    const uint8_t *theirs = fabric.dev[l->dev[!side]].mem;
    uint32_t off = (link * 2 + side) * SLOT;
    const uint8_t *from = (read ? theirs : mine) + off;
    const uint8_t *to = (read ? mine : theirs) + LEN / 2 + off;

    if (memcmp(from, to, SLOT) != 0)
        suite_fail(__FILE__, __LINE__, "link %u side %u: the destination differs from the source",
                   link, side);
}

/* Runs 2 to 64 devices that exchange WRITEs and READs over random links and a lossy switch, with
 * congestion management. Asserts that all data arrives and that every counter agrees with the
 * network (R249). */
static void one_mesh(uint64_t seed)
{
    struct rnic_ecn ecn = parameters();
    struct rng rng = rng_of(seed);
    unsigned cnt = 2 + rng_below(&rng, 63);
    struct fabric_wire wire = {.bps = BPS,
                               .delay_ns = 500 + rng_below(&rng, 2000),
                               .queue = 8000 + rng_below(&rng, 60000),
                               .mark = 2000 + rng_below(&rng, 6000)};
    unsigned done = 0;

    fabric_init(&fabric, seed, cnt, rng_below(&rng, 2) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6, LEN,
                rng_below(&rng, 4) ? &ecn : NULL, &wire);
    for (unsigned i = 0; i < LINKS; i++) {
        unsigned a = rng_below(&rng, cnt);
        unsigned b = rng_below(&rng, 3) ? 0 : rng_below(&rng, cnt); /* most links connect to the
                                                                     * first device */

        fabric_connect(&fabric, a, a == b ? (a + 1) % cnt : b, 4, 1024);
        for (unsigned s = 0; s < 2; s++) {
            uint32_t off = (i * 2 + s) * SLOT;

            what[i][s] = rng_below(&rng, 2) ? RNIC_WR_READ : RNIC_WR_WRITE;
            EXPECT_EQ(what[i][s] == RNIC_WR_READ
                          ? fabric_send(&fabric, i, s, i, RNIC_WR_READ, LEN / 2 + off, SLOT, off)
                          : fabric_send(&fabric, i, s, i, RNIC_WR_WRITE, off, SLOT, LEN / 2 + off),
                      RNIC_OK);
        }
    }
    CU_ASSERT(simnet_run(&fabric.net, 10000 * MS)); /* run until the network is idle */
    for (unsigned d = 0; d < cnt; d++) {
        struct rnic_wc wc;

        while (rnic_cq_poll(fabric.dev[d].cq, &wc, 1) == 1) {
            EXPECT_EQ(wc.status, RNIC_WC_SUCCESS);
            done++;
        }
        EXPECT_EQ(rnic_deadline(fabric.dev[d].rnic), RNIC_NEVER);
    }
    EXPECT_EQ(done, 2 * LINKS);
    for (unsigned i = 0; i < LINKS; i++)
        for (unsigned s = 0; s < 2; s++)
            check_slot(i, s);
    fabric_check_tally(&fabric);
    fabric_free(&fabric);
}

static void mesh_with_congestion_management_delivers_everything(void)
{
    uint64_t only = suite_env("ROCEDRILL_SEED", 0);
    uint64_t first = only ? only : 1;

    for (uint64_t seed = first; seed <= (only ? first : SUITE_TURNS(40)); seed++) {
        unsigned before = CU_get_number_of_failures();

        one_mesh(seed);
        if (CU_get_number_of_failures() != before) {
            printf("\n    repeat with: ROCEDRILL_SEED=%llu test_sim_incast mesh\n",
                   (unsigned long long)seed);
            return;
        }
    }
}

SUITE("incast", TEST(congestion_management_shares_a_port_of_eight_senders),
      TEST(congestion_management_shares_a_port_of_32_senders),
      TEST(reported_rates_equal_rates_on_the_wire),
      TEST(mesh_with_congestion_management_delivers_everything))
