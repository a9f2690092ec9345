/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the rates that the analysis engine measures before and after CNPs, with streams of known
 * timing. */
#include <string.h>
#include "judge.h"
#include "support/suite.h"

#define US       UINT64_C(1000)
#define MS       UINT64_C(1000000)
#define EPISODES 64

static struct roce_cnp_episode episode[EPISODES];
static unsigned episode_cnt;
static struct roce_endpoint_summary sides[2]; /* summaries of the two sides of the first connection;
                                               * pointers in them are not valid */

static void on_episode(void *user, const struct roce_cnp_episode *e)
{
    (void)user;
    if (episode_cnt < EPISODES)
        episode[episode_cnt] = *e;
    episode_cnt++;
}

static void on_conn(void *user, const struct roce_conn_summary *conn)
{
    (void)user;
    if (conn->facts.conn_index == 0)
        memcpy(sides, conn->side, sizeof(sides));
}

static struct flowgen g;

static void begin(void)
{
    flowgen_begin(&g);
}

/* Sends packets of 1024 bytes from side 0 for `ns` nanoseconds, one every `step` ns. Every 16th
 * packet is acknowledged. */
static void stream(uint64_t ns, uint64_t step)
{
    uint64_t end = g.now + ns;

    for (unsigned n = 1; g.now + step <= end; n++) {
        struct roce_pkt p;

        g.step = step;
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 1024);
        flowgen_put(&g, 0, &p);
        g.step = 0;
        if (n % 16 == 0)
            flowgen_ack_all(&g, 1);
    }
    g.now = end;
}

static void mark(void)
{
    struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 1024);

    p.ip4.ecn = 3;
    g.step = 0;
    flowgen_put(&g, 0, &p);
}

static void cnp(void)
{
    struct roce_pkt p, like = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, 0, 0);

    roce_pkt_init(&p, g.encap, ROCE_OP_CNP_ROCE);
    p.eth = like.eth;
    p.ip4 = like.ip4;
    p.udp.sport = like.udp.sport;
    p.bth.dest_qp = like.bth.dest_qp;
    p.bth.becn = 1;
    p.bth.migreq = 0;
    g.step = 0;
    flowgen_put(&g, 1, &p);
}

/* Length on the wire of a packet of stream(), bytes. */
#define FRAME (14 + 20 + 8 + 12 + 16 + 1024 + 4)

static uint64_t rate(uint64_t step)
{
    return FRAME * UINT64_C(1000000000) / step;
}

static void look(struct rng *rng, uint32_t drop_permille, int only)
{
    const struct roce_flow_opts opts = {.on_cnp_episode = on_episode, .on_conn = on_conn};
    struct roce_flow *flow = roce_flow_new(&opts);

    episode_cnt = 0;
    memset(sides, 0, sizeof(sides));
    for (size_t i = 0; i < g.frame_cnt; i++) {
        const struct flowgen_frame *f = &g.frame[i];
        struct roce_pkt pkt;
        struct roce_flow_in in = {
            .pkt = &pkt, .frame = (uint32_t)i + 1, .time = f->time, .icrc = ROCE_ICRC_GOOD};

        if ((drop_permille && rng_below(rng, 1000) < drop_permille) ||
            (only >= 0 && f->side != only))
            continue;
        CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g.bytes + f->off, f->len, f->len) == 0);
        roce_flow_feed(flow, &in, NULL);
    }
    roce_flow_finish(flow);
    EXPECT_EQ(roce_flow_totals(flow)->findings[ROCE_SEV_ERROR], 0);
    roce_flow_del(flow);
}

static void whole(void)
{
    look(NULL, 0, -1);
    flowgen_free(&g);
}

/* Returns whether `v` differs from `want` by at most `percent` percent. */
static bool about(uint64_t v, uint64_t want, unsigned percent)
{
    uint64_t off = v > want ? v - want : want - v;

    if (off * 100 <= want * percent)
        return true;
    printf("    %llu, expected about %llu\n", (unsigned long long)v, (unsigned long long)want);
    return false;
}

/* The sender sends at full rate, then at a half, a third, a half, and full rate. The analysis
 * engine must measure these rates, and the time until the recovery. */
static void slowdown_and_recovery_are_measured(void)
{
    begin();
    stream(2 * MS, 1 * US);
    mark();
    g.now += 3 * US;
    cnp();
    stream(20 * US, 1 * US); /* time until the CNP arrives */
    stream(500 * US, 2 * US);
    mark();
    g.now += 5 * US;
    cnp();
    stream(1 * MS, 3 * US);
    stream(2 * MS, 2 * US);
    stream(2 * MS, 1 * US);
    whole();
    EXPECT_EQ(episode_cnt, 1);
    EXPECT_EQ(episode[0].cnps, 2);
    EXPECT_EQ(episode[0].ce_marked, 2);
    EXPECT_EQ(episode[0].side, 0);
    CU_ASSERT(about(episode[0].before, rate(1 * US), 3));
    CU_ASSERT(about(episode[0].lowest, rate(3 * US), 3));
    CU_ASSERT(about(episode[0].after, rate(1 * US), 10));
    CU_ASSERT(episode[0].slowed);
    EXPECT_EQ(episode[0].end, ROCE_CNP_RECOVERED);
    /* The analysis engine measures the rate over short periods. The first or second period at full
     * rate shows the recovery. */
    CU_ASSERT(episode[0].recovered_ns >= 3520 * US + 90 * US);
    CU_ASSERT(episode[0].recovered_ns <= 3525 * US + 250 * US);
    CU_ASSERT(episode[0].lowest_ns >= 525 * US && episode[0].lowest_ns <= 1530 * US);
    EXPECT_EQ(sides[0].cnp.episodes, 1);
    EXPECT_EQ(sides[0].cnp.before.cnt, 1);
    EXPECT_EQ(sides[0].cnp.recovery_ns.cnt, 1);
    EXPECT_EQ(sides[1].cnp.episodes, 0);
    EXPECT_EQ(sides[1].cnps, 2);
    EXPECT_EQ(sides[1].cnp_delay_ns.cnt, 2);
    EXPECT_EQ(sides[1].cnp_delay_ns.min, 3 * US);
    EXPECT_EQ(sides[1].cnp_delay_ns.max, 5 * US);
    EXPECT_EQ(sides[1].cnp_gap_ns.cnt, 1);
    EXPECT_EQ(sides[1].cnp_gap_ns.min, 525 * US);
}

/* After the CNPs, the rate stays low until the end of the capture. The episode must be reported as
 * open. */
static void slowdown_without_recovery_stays_open(void)
{
    begin();
    stream(2 * MS, 1 * US);
    for (unsigned i = 0; i < 40; i++) {
        cnp();
        stream(50 * US, 10 * US);
    }
    whole();
    EXPECT_EQ(episode_cnt, 1);
    EXPECT_EQ(episode[0].cnps, 40);
    EXPECT_EQ(episode[0].ce_marked, 0);
    CU_ASSERT(episode[0].slowed);
    CU_ASSERT(about(episode[0].lowest, rate(10 * US), 3));
    EXPECT_EQ(episode[0].end, ROCE_CNP_OPEN);
    EXPECT_EQ(episode[0].recovered_ns, UINT64_MAX);
    EXPECT_EQ(sides[1].cnp_gap_ns.cnt, 39);
    EXPECT_EQ(sides[1].cnp_gap_ns.max, 50 * US);
    EXPECT_EQ(sides[1].cnp_delay_ns.cnt, 0);
}

/* The sender ignores CNPs and does not reduce its rate. The episodes must not count as slowed. */
static void sender_that_ignores_cnps_is_not_slowed(void)
{
    begin();
    stream(2 * MS, 1 * US);
    cnp();
    stream(3 * MS, 1 * US);
    cnp();
    stream(500 * US, 4 * US);
    stream(1 * MS, 1 * US);
    whole();
    EXPECT_EQ(episode_cnt, 2);
    EXPECT_EQ(episode[0].end, ROCE_CNP_QUIET);
    CU_ASSERT(!episode[0].slowed);
    EXPECT_EQ(episode[1].end, ROCE_CNP_RECOVERED);
    EXPECT_EQ(sides[0].cnp.episodes, 2);
    EXPECT_EQ(sides[0].cnp.measured, 2);
    EXPECT_EQ(sides[0].cnp.before.cnt, 1);
}

/* The first CNP follows soon after the first packets. The analysis engine must measure the rate
 * before the CNP if there were enough packets. Otherwise this rate must be unknown. */
static void first_packets_give_no_rate_before(void)
{
    begin();
    stream(20 * US, 1 * US);
    cnp();
    stream(2 * MS, 5 * US);
    whole();
    EXPECT_EQ(episode_cnt, 1);
    CU_ASSERT(about(episode[0].before, rate(1 * US), 10));
    CU_ASSERT(about(episode[0].lowest, rate(5 * US), 3));
    begin(); /* too early for a rate */
    flowgen_write(&g, 0, 64);
    flowgen_wait(&g, 20 * MS);
    stream(5 * US, 1 * US);
    cnp();
    stream(2 * MS, 5 * US);
    whole();
    EXPECT_EQ(episode[0].before, 0);
    CU_ASSERT(!episode[0].slowed);
    EXPECT_EQ(sides[0].cnp.measured, 0);
}

/* A pause of the sender, between bursts or after the last one, must not be taken for a slowdown
 * caused by a CNP. */
static void pauses_are_no_slowdown(void)
{
    static const uint64_t pauses[] = {300 * US, 1 * MS, 5 * MS, 30 * MS};

    for (unsigned i = 0; i < 4; i++) {
        begin();
        for (unsigned n = 0; n < 20; n++) {
            stream(150 * US + n * 10 * US, 1 * US);
            if (n % 4 == 1)
                cnp();
            stream(90 * US, 1 * US);
            flowgen_wait(&g, pauses[i]);
        }
        whole();
        CU_ASSERT(episode_cnt > 0);
        for (unsigned n = 0; n < episode_cnt && n < EPISODES; n++)
            CU_ASSERT(!episode[n].slowed);
        EXPECT_EQ(sides[0].cnp.before.cnt, 0);
    }
    begin();
    stream(2 * MS, 1 * US);
    cnp();
    stream(20 * US, 1 * US);
    flowgen_wait(&g, 500 * MS);
    stream(20 * US, 1 * US);
    whole();
    EXPECT_EQ(episode[0].end, ROCE_CNP_IDLE);
    CU_ASSERT(!episode[0].slowed);
}

/* If packets are missing in the capture, the analysis engine may measure rates less often, but must
 * not measure wrong rates. */
static void holes_give_no_rates(void)
{
    struct rng rng = rng_seed();

    for (unsigned i = 0; i < 30; i++) {
        begin();
        stream(2 * MS, 1 * US);
        for (unsigned n = 0; n < 20; n++) {
            cnp();
            stream(400 * US, 1 * US); /* the rate is the same throughout */
        }
        look(&rng, 10 + rng_below(&rng, 190), -1);
        for (unsigned n = 0; n < episode_cnt && n < EPISODES; n++)
            CU_ASSERT(!episode[n].slowed);
        EXPECT_EQ(sides[0].cnp.before.cnt, 0);
        look(&rng, 0, (int)(i & 1)); /* only one direction is captured: the one with the packets,
                                      * or the one with the CNPs */
        EXPECT_EQ(episode_cnt, 0);
        flowgen_free(&g);
    }
}

/* If only a few packets are missing, some rates must still be measured, and be correct. */
static void rates_with_few_holes_are_right(void)
{
    struct rng rng = rng_seed();
    unsigned said = 0;

    for (unsigned i = 0; i < 30; i++) {
        begin();
        stream(2 * MS, 1 * US);
        cnp();
        stream(3 * MS, 4 * US);
        stream(3 * MS, 1 * US);
        look(&rng, 2, -1);
        flowgen_free(&g);
        if (!episode_cnt || !episode[0].slowed)
            continue;
        said++;
        CU_ASSERT(about(episode[0].before, rate(1 * US), 5));
        CU_ASSERT(about(episode[0].lowest, rate(4 * US), 5));
        if (episode[0].end == ROCE_CNP_RECOVERED)
            CU_ASSERT(episode[0].recovered_ns >= 3 * MS && episode[0].recovered_ns < 6 * MS);
    }
    CU_ASSERT(said > 0);
}

/* A mirror port captures each packet twice. The rate must not be doubled. */
static void copies_do_not_double_the_rate(void)
{
    begin();
    for (unsigned n = 0; n < 4000; n++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 1024);

        g.step = n < 2000 ? 1 * US : 3 * US;
        if (n == 2000)
            cnp();
        g.step = n < 2000 ? 1 * US : 3 * US;
        flowgen_put(&g, 0, &p);
        g.step = 100;
        flowgen_copy(&g);
        g.now -= 100;
        g.step = 0;
        if (n % 16 == 0)
            flowgen_ack_all(&g, 1);
    }
    whole();
    EXPECT_EQ(episode_cnt, 1);
    CU_ASSERT(about(episode[0].before, rate(1 * US), 5));
    CU_ASSERT(about(episode[0].lowest, rate(3 * US), 5));
}

/* A responder that receives CNPs sends its READ responses more slowly. The analysis engine must
 * also measure this rate. */
static void read_responses_are_measured(void)
{
    begin();
    for (unsigned n = 0; n < 80; n++) {
        struct roce_pkt p;

        g.step = 0;
        p = flowgen_req(&g, 1, ROCE_OP_RC_READ_REQUEST, 64 * 1024);
        flowgen_put(&g, 1, &p);
        if (n == 40)
            cnp();
        g.step = n < 40 ? 1 * US : 2 * US;
        flowgen_read_resp(&g, 0, p.bth.psn, 64 * 1024, 0, 63);
    }
    whole();
    EXPECT_EQ(episode_cnt, 1);
    CU_ASSERT(episode[0].slowed);
    CU_ASSERT(about(episode[0].before, rate(1 * US), 5));
    CU_ASSERT(about(episode[0].lowest, rate(2 * US), 5));
}

SUITE("flow.rate", TEST(slowdown_and_recovery_are_measured),
      TEST(slowdown_without_recovery_stays_open), TEST(sender_that_ignores_cnps_is_not_slowed),
      TEST(first_packets_give_no_rate_before), TEST(pauses_are_no_slowdown),
      TEST(holes_give_no_rates), TEST(rates_with_few_holes_are_right),
      TEST(copies_do_not_double_the_rate), TEST(read_responses_are_measured))
