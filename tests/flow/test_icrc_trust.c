/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests how correct and wrong ICRCs of a host change the status of its packets, and how many of its
 * findings are deferred. */
#include "flow/base/icrc_trust.h"
#include "support/suite.h"

static const struct roce_deferred_icrc held;
static struct roce_icrc_trust trust;

/* Two hosts with addresses that select the same slot of the table of hosts. The first host gets the
 * slot; the ICRCs of the second host are not tracked. */
static const uint8_t a[16] = {[15] = 1}, b[16] = {[15] = 1 + ROCE_ICRC_TRUST_HOSTS};

static enum roce_icrc_status hear(const uint8_t src[16], enum roce_icrc_status icrc)
{
    return roce_icrc_trust_status(&trust, src, icrc, 7, 70);
}

static void three_wrong_icrcs_are_damage(void)
{
    trust = (struct roce_icrc_trust){0};
    for (unsigned i = 0; i < ROCE_ICRC_TRUST_DAMAGED; i++)
        EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_BAD);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_UNVERIFIED);
    EXPECT_EQ(hear(a, ROCE_ICRC_UNVERIFIED), ROCE_ICRC_UNVERIFIED);
    EXPECT_EQ(trust.good, 0);
    EXPECT_EQ(hear(a, ROCE_ICRC_GOOD), ROCE_ICRC_GOOD);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD),
              ROCE_ICRC_BAD); /* after a correct ICRC, a wrong one shows damage */
    EXPECT_EQ(trust.good, 1);
}

static void host_in_a_used_slot_is_not_followed(void)
{
    trust = (struct roce_icrc_trust){0};
    for (unsigned i = 0; i <= ROCE_ICRC_TRUST_DAMAGED; i++)
        (void)hear(a, ROCE_ICRC_BAD);
    EXPECT_EQ(hear(b, ROCE_ICRC_BAD), ROCE_ICRC_BAD);
    CU_ASSERT(!roce_icrc_trust_undecided(&trust, b));
    EXPECT_EQ(hear(b, ROCE_ICRC_GOOD), ROCE_ICRC_GOOD);
    EXPECT_EQ(trust.good, 1);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_UNVERIFIED);
    EXPECT_EQ(roce_icrc_trust_suspect(&trust, b), ROCE_ICRC_TRUST_HOSTS);
}

static void three_findings_are_deferred(void)
{
    struct roce_icrc_host *host;

    trust = (struct roce_icrc_trust){0};
    (void)hear(a, ROCE_ICRC_BAD);
    CU_ASSERT_PTR_NULL(roce_icrc_trust_deferred(&trust, a));
    CU_ASSERT(roce_icrc_trust_undecided(&trust, a));
    for (unsigned i = 0; i < ROCE_ICRC_TRUST_DAMAGED; i++)
        CU_ASSERT(roce_icrc_trust_defer(&trust, a, &held));
    CU_ASSERT(!roce_icrc_trust_defer(&trust, a, &held));
    EXPECT_EQ(trust.deferred, ROCE_ICRC_TRUST_DAMAGED);
    host = roce_icrc_trust_deferred(&trust, a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    EXPECT_EQ(host->deferred_cnt, ROCE_ICRC_TRUST_DAMAGED);
    EXPECT_EQ(host->frame, 7);
    EXPECT_EQ(host->time, 70);
    CU_ASSERT_PTR_NULL(roce_icrc_trust_deferred(&trust, b));
    trust = (struct roce_icrc_trust){0};
    (void)hear(a, ROCE_ICRC_GOOD);
    (void)hear(a, ROCE_ICRC_BAD);
    CU_ASSERT(!roce_icrc_trust_undecided(&trust, a)); /* decided: after a correct ICRC, the wrong
                                                       * one shows that the packet is damaged */
}

static void host_with_a_wrong_icrc_is_a_suspect(void)
{
    trust = (struct roce_icrc_trust){0};
    (void)hear(a, ROCE_ICRC_GOOD);
    EXPECT_EQ(roce_icrc_trust_suspect(&trust, a), ROCE_ICRC_TRUST_HOSTS);
    EXPECT_EQ(trust.bad, 0);
    (void)hear(a, ROCE_ICRC_BAD);
    CU_ASSERT(roce_icrc_trust_suspect(&trust, a) < ROCE_ICRC_TRUST_HOSTS);
    EXPECT_EQ(trust.bad, 1);
}

SUITE("flow.icrc_trust", TEST(three_wrong_icrcs_are_damage),
      TEST(host_in_a_used_slot_is_not_followed), TEST(three_findings_are_deferred),
      TEST(host_with_a_wrong_icrc_is_a_suspect))
