/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Trust: what the ICRCs of a host are worth, packet by packet, and what is kept until that is
 * known.
 */
#include "flow/base/icrc_trust.h"
#include "support/suite.h"

static const struct roce_trust_held held;
static struct roce_trust trust;

/* Two hosts that share a place in the table: the first that is heard has it. */
static const uint8_t a[16] = {[15] = 1}, b[16] = {[15] = 1 + ROCE_TRUST_HOSTS};

static enum roce_icrc_status hear(const uint8_t src[16], enum roce_icrc_status icrc)
{
    return roce_trust_icrc(&trust, src, icrc, 7, 70);
}

static void three_are_damage(void)
{
    trust = (struct roce_trust){0};
    for (unsigned i = 0; i < ROCE_TRUST_DAMAGED; i++)
        EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_BAD);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_UNVERIFIED);
    EXPECT_EQ(hear(a, ROCE_ICRC_UNVERIFIED), ROCE_ICRC_UNVERIFIED);
    EXPECT_EQ(trust.good, 0);
    EXPECT_EQ(hear(a, ROCE_ICRC_GOOD), ROCE_ICRC_GOOD);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_BAD); /* one was right: now it is damage again */
    EXPECT_EQ(trust.good, 1);
}

static void another_host_in_its_place(void)
{
    trust = (struct roce_trust){0};
    for (unsigned i = 0; i <= ROCE_TRUST_DAMAGED; i++)
        (void)hear(a, ROCE_ICRC_BAD);
    EXPECT_EQ(hear(b, ROCE_ICRC_BAD), ROCE_ICRC_BAD);
    CU_ASSERT(!roce_trust_hold(&trust, b, &held));
    EXPECT_EQ(hear(b, ROCE_ICRC_GOOD), ROCE_ICRC_GOOD);
    EXPECT_EQ(trust.good, 1);
    EXPECT_EQ(hear(a, ROCE_ICRC_BAD), ROCE_ICRC_UNVERIFIED);
    roce_trust_taken(&trust, b);
    roce_trust_ignored(&trust, b);
    for (unsigned i = 0; i < ROCE_TRUST_HOSTS; i++)
        CU_ASSERT(!trust.host[i].taken && !trust.host[i].ignored);
}

static void what_is_kept(void)
{
    struct roce_trust_host *host;

    trust = (struct roce_trust){0};
    (void)hear(a, ROCE_ICRC_BAD);
    CU_ASSERT_PTR_NULL(roce_trust_held(&trust, a));
    for (unsigned i = 0; i < ROCE_TRUST_DAMAGED; i++)
        CU_ASSERT(roce_trust_hold(&trust, a, &held));
    CU_ASSERT(!roce_trust_hold(&trust, a, &held));
    EXPECT_EQ(trust.held, ROCE_TRUST_DAMAGED);
    host = roce_trust_held(&trust, a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(host);
    EXPECT_EQ(host->held_cnt, ROCE_TRUST_DAMAGED);
    EXPECT_EQ(host->frame, 7);
    EXPECT_EQ(host->time, 70);
    CU_ASSERT_PTR_NULL(roce_trust_held(&trust, b));
    trust = (struct roce_trust){0};
    (void)hear(a, ROCE_ICRC_GOOD);
    (void)hear(a, ROCE_ICRC_BAD);
    CU_ASSERT(!roce_trust_hold(&trust, a, &held)); /* nothing to wait for: it is damage */
}

/* Of a host that had no wrong one it need not be known. */
static void what_its_receivers_do(void)
{
    for (unsigned bad = 0; bad < 2; bad++) {
        bool taken = false, ignored = false;

        trust = (struct roce_trust){0};
        (void)hear(a, bad ? ROCE_ICRC_BAD : ROCE_ICRC_GOOD);
        roce_trust_taken(&trust, a);
        roce_trust_ignored(&trust, a);
        for (unsigned i = 0; i < ROCE_TRUST_HOSTS; i++) {
            taken |= trust.host[i].taken;
            ignored |= trust.host[i].ignored;
        }
        EXPECT_EQ(taken, bad);
        EXPECT_EQ(ignored, bad);
    }
}

SUITE("flow.trust", TEST(three_are_damage), TEST(another_host_in_its_place), TEST(what_is_kept),
      TEST(what_its_receivers_do))
