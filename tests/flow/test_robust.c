/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests incomplete captures of conformant traffic: missing packets must cause no ERROR. */
#include <stdio.h>
#include "judge.h"
#include "support/suite.h"

#define ROUNDS SUITE_TURNS(120)

/* Generates several connections, some with CM messages, some with losses and retransmissions. */
static void traffic(struct flowgen *g, struct rng *rng)
{
    static const enum roce_encap encaps[] = {ROCE_ENCAP_V2_IP4, ROCE_ENCAP_V2_IP6, ROCE_ENCAP_V1};
    static const uint32_t mtus[] = {256, 1024, 4096};
    struct flowgen_conn conn[4];
    bool cm = rng_below(rng, 2);
    uint32_t losses = rng_below(rng, 3) * 30;

    flowgen_init(g);
    g->encap = encaps[rng_below(rng, 3)];
    g->mtu = mtus[rng_below(rng, 3)];
    g->svc = rng_below(rng, 5) == 0 ? ROCE_SVC_UC : ROCE_SVC_RC;
    if (cm && g->encap == ROCE_ENCAP_V1)
        cm = false;
    for (uint32_t i = 0; i < 4; i++) {
        bool wrap = rng_below(rng, 3) == 0;

        conn[i] = flowgen_conn_of(i + 1, wrap ? 0xFFFFF0 : rng_below(rng, 1 << 24),
                                  rng_below(rng, 2) ? rng_below(rng, 1 << 24) : 0);
        g->conn = conn[i];
        if (cm)
            flowgen_connect(g);
    }
    for (int round = 0; round < 8; round++) {
        uint32_t i = rng_below(rng, 4);

        g->conn = conn[i];
        if (losses && g->svc == ROCE_SVC_RC && rng_below(rng, 2))
            flowgen_lossy(g, rng, 60, losses, NULL, 0);
        else
            flowgen_random(g, rng, 12);
        conn[i] = g->conn;
    }
    if (cm)
        for (uint32_t i = 0; i < 4; i++) {
            g->conn = conn[i];
            flowgen_disconnect(g);
        }
}

/* Reorders some frames, as a capture point may do. Replaces other frames by a copy of the previous
 * frame. */
static void shake(struct flowgen *g, struct rng *rng, uint32_t permille)
{
    for (size_t i = 0; i + 1 < g->frame_cnt; i++) {
        struct flowgen_frame a = g->frame[i], b = g->frame[i + 1];

        if (rng_below(rng, 1000) >= permille)
            continue;
        g->frame[i + 1] = a;
        if (rng_below(rng, 2)) { /* otherwise frame `a` is captured twice and frame `b` is
                                  * missing */
            g->frame[i] = b;
            g->frame[i].time = a.time;
            g->frame[i + 1].time = b.time;
        }
    }
}

static void expect_no_error(const struct flowgen *g, const struct judge_spoil *spoil,
                            const char *what)
{
    static struct verdict v;
    char why[80];

    judge(g, NULL, spoil, &v);
    snprintf(why, sizeof(why),
             "%s (%u per mille of the packets missing, snaplen %u, first %u packets missing)", what,
             spoil->drop_permille, spoil->snap_min, spoil->head);
    if (judge_errors(&v, why))
        suite_fail(__FILE__, __LINE__, "%s: ERROR findings, although the devices conform", why);
    else
        CU_PASS("no ERROR findings");
}

static void run_shaken(struct judge_spoil spoil, uint32_t most, const char *what)
{
    struct rng rng = rng_seed();

    for (int i = 0; i < ROUNDS; i++) {
        struct flowgen g;
        struct judge_spoil s = spoil;

        traffic(&g, &rng);
        s.rng = &rng;
        if (most)
            shake(&g, &rng, 1 + rng_below(&rng, most));
        if (s.drop_permille)
            s.drop_permille = 10 + rng_below(&rng, 191);
        if (s.head)
            s.head = rng_below(&rng, (uint32_t)g.frame_cnt);
        if (s.one_side)
            s.side = (int)rng_below(&rng, 2);
        expect_no_error(&g, &s, what);
        flowgen_free(&g);
    }
}

static void run(struct judge_spoil spoil, const char *what)
{
    run_shaken(spoil, 0, what);
}

static void complete_captures_have_no_errors(void)
{
    run((struct judge_spoil){0}, "whole");
}

static void missing_packets_cause_no_errors(void)
{
    run((struct judge_spoil){.drop_permille = 1}, "packets missing");
}

static void cut_packets_cause_no_errors(void)
{
    run((struct judge_spoil){.snap_min = 64, .snap_max = 128}, "cut");
}

static void one_direction_causes_no_errors(void)
{
    run((struct judge_spoil){.one_side = true}, "one direction");
}

static void late_start_causes_no_errors(void)
{
    run((struct judge_spoil){.head = 1}, "started late");
}

static void all_capture_faults_cause_no_errors(void)
{
    run((struct judge_spoil){.drop_permille = 1, .snap_min = 64, .snap_max = 128, .head = 1},
        "everything");
}

static void unverified_icrcs_cause_no_errors(void)
{
    run((struct judge_spoil){.no_icrc = true, .drop_permille = 1}, "ICRC not verified");
}

static void reordering_and_copies_cause_no_errors(void)
{
    run_shaken((struct judge_spoil){0}, 100, "out of order and twice");
    run_shaken((struct judge_spoil){.drop_permille = 1}, 100, "the same, packets missing");
}

/* The packets are truncated before the length of a READ, so the number of its responses is unknown.
 * This must cause no ERROR. */
static void read_without_length_causes_no_errors(void)
{
    struct judge_spoil spoil = {.snap_min = 64, .snap_max = 64};
    struct rng rng = rng_of(1);
    static struct verdict v;
    struct flowgen g;

    spoil.rng = &rng;
    flowgen_init(&g);
    for (int i = 0; i < 10; i++) {
        flowgen_read(&g, 0, 3000);
        flowgen_write(&g, 0, 100);
    }
    judge(&g, NULL, &spoil, &v);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_IMPLIED_NAK), 0);
    flowgen_free(&g);
}

/* Half of the frames are captured at a second mirror port, which delays them by `ns`. */
static void two_ports(struct flowgen *g, struct rng *rng, uint64_t ns)
{
    for (size_t i = 0; i < g->frame_cnt; i++)
        g->frame[i].time += rng_below(rng, 2) * ns;
    for (size_t i = 1; i < g->frame_cnt; i++)
        for (size_t k = i; k > 0 && g->frame[k - 1].time > g->frame[k].time; k--) {
            struct flowgen_frame f = g->frame[k];

            g->frame[k] = g->frame[k - 1];
            g->frame[k - 1] = f;
        }
}

/* One of two mirror ports delays its frames, so packets are captured after their acknowledgements.
 * The analysis engine must not report missing or retransmitted packets. */
static void delayed_mirror_port_causes_no_errors(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        static struct verdict v;
        struct rng rng = rng_of(seed);
        struct flowgen g;

        flowgen_init(&g);
        g.step = 1000;
        g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
        for (int i = 0; i < 60; i++)
            flowgen_write(&g, 0, rng_below(&rng, 4000));
        two_ports(&g, &rng, 50000);
        judge(&g, NULL, NULL, &v);
        EXPECT_EQ(judge_errors(&v, "two ports"), 0);
        EXPECT_EQ(v.conn_cnt, 1);
        EXPECT_EQ(v.conn[0].side[0].unseen_acked, 0);
        CU_ASSERT(v.conn[0].side[0].missing_psns <= v.conn[0].side[0].out_of_order);
        for (int c = 0; c < ROCE_CAUSE_CNT; c++)
            EXPECT_EQ(v.conn[0].side[0].retx[c].packets, 0);
        flowgen_free(&g);
    }
}

SUITE("flow.robust", TEST(complete_captures_have_no_errors), TEST(missing_packets_cause_no_errors),
      TEST(cut_packets_cause_no_errors), TEST(one_direction_causes_no_errors),
      TEST(late_start_causes_no_errors), TEST(all_capture_faults_cause_no_errors),
      TEST(unverified_icrcs_cause_no_errors), TEST(reordering_and_copies_cause_no_errors),
      TEST(delayed_mirror_port_causes_no_errors), TEST(read_without_length_causes_no_errors))
