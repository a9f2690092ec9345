/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Known losses: the test knows which packets were lost. In a complete capture, the analysis engine
 * must find every go-back with its position and cause, and report no other one.
 */
#include "judge.h"
#include "support/suite.h"

#define LOSSES 4096

struct found {
    struct flowgen_loss loss[LOSSES];
    size_t cnt;
};

static void on_finding(void *user, const struct roce_finding *f)
{
    struct found *found = user;

    if (f->rule != ROCE_RULE_SEQ_RETRY && f->rule != ROCE_RULE_TIMEOUT &&
        f->rule != ROCE_RULE_RETRY_UNEXPLAINED && f->rule != ROCE_RULE_RETRY_ACKED)
        return;
    if (found->cnt < LOSSES)
        found->loss[found->cnt] =
            (struct flowgen_loss){(uint32_t)f->actual, f->rule == ROCE_RULE_TIMEOUT};
    found->cnt++;
}

static void compare(struct rng *rng, uint32_t permille)
{
    static struct flowgen_loss truth[LOSSES];
    static struct found found;
    struct roce_flow_opts opts = {.user = &found, .on_finding = on_finding};
    struct roce_flow *flow = roce_flow_new(&opts);
    struct flowgen g;
    size_t cnt;

    found.cnt = 0;
    flowgen_init(&g);
    g.conn.psn[0] = 0xFFFF00;
    flowgen_write(&g, 0, 64);
    cnt = flowgen_lossy(&g, rng, 2000, permille, truth, LOSSES);
    for (size_t i = 0; i < g.frame_cnt; i++) {
        const struct flowgen_frame *f = &g.frame[i];
        struct roce_pkt pkt;
        struct roce_flow_in in = {.pkt = &pkt, .frame = (uint32_t)i + 1, .time = f->time};

        CU_ASSERT(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, g.bytes + f->off, f->len, f->len) == 0);
        in.icrc = roce_pkt_icrc_check(&pkt, NULL); /* check the ICRC, because the analysis engine
                                                    * reports no ERROR for a packet with an
                                                    * unchecked ICRC */
        roce_flow_feed(flow, &in, NULL);
    }
    roce_flow_finish(flow);
    EXPECT_EQ(roce_flow_totals(flow)->findings[ROCE_SEV_ERROR], 0);
    roce_flow_del(flow);
    flowgen_free(&g);
    EXPECT_EQ(found.cnt, cnt);
    for (size_t i = 0; i < cnt && i < found.cnt && i < LOSSES; i++)
        if (found.loss[i].psn != truth[i].psn || found.loss[i].timeout != truth[i].timeout) {
            suite_fail(
                __FILE__, __LINE__,
                "go-back %zu of %zu: from PSN %u by a %s, but the analysis found PSN %u by a %s", i,
                cnt, truth[i].psn, truth[i].timeout ? "timer" : "NAK", found.loss[i].psn,
                found.loss[i].timeout ? "timer" : "NAK");
            break;
        }
}

static void no_loss_is_reported_without_loss(void)
{
    struct rng rng = rng_seed();

    compare(&rng, 0);
}

static void all_losses_are_counted_at_one_percent(void)
{
    struct rng rng = rng_seed();

    for (int i = 0; i < 20; i++)
        compare(&rng, 10);
}

static void all_losses_are_counted_at_ten_percent(void)
{
    struct rng rng = rng_seed();

    for (int i = 0; i < 20; i++)
        compare(&rng, 100);
}

SUITE("flow.loss", TEST(no_loss_is_reported_without_loss),
      TEST(all_losses_are_counted_at_one_percent), TEST(all_losses_are_counted_at_ten_percent))
