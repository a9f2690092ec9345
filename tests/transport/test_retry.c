/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Timers and retry counters (R149-R151, R154-R158 of rnic/rules.md). */
#include "transport/retry.h"

#include "support/suite.h"
#include "wire/codes.h"

/* A local ACK timeout is 4.096 us * 2^code. Code 0 means no timeout (R149). */
static void r149_timeout_codes(void)
{
    struct rnic_retry retry;

    for (uint8_t code = 0; code < 32; code++) {
        rnic_retry_init(&retry, code, 7, 7);
        rnic_retry_arm(&retry, 1000);
        EXPECT_EQ(retry.deadline, code ? 1000 + (UINT64_C(4096) << code) : RNIC_RETRY_NEVER);
        EXPECT_EQ(retry.wait, code ? RNIC_RETRY_ACK : RNIC_RETRY_IDLE);
    }
    rnic_retry_init(&retry, 31, 7, 7);
    rnic_retry_arm(&retry, UINT64_MAX - 5); /* the time does not overflow */
    EXPECT_EQ(retry.deadline, RNIC_RETRY_NEVER);
}

/* The timer expires at T, not earlier, and once (R150). */
static void r150_expires_at_t(void)
{
    struct rnic_retry retry;

    rnic_retry_init(&retry, 1, 7, 7);
    EXPECT_EQ(rnic_retry_expire(&retry, 99999), RNIC_RETRY_IDLE);
    rnic_retry_arm(&retry, 100);
    EXPECT_EQ(rnic_retry_expire(&retry, 100 + 8191), RNIC_RETRY_IDLE);
    EXPECT_EQ(rnic_retry_expire(&retry, 100 + 8192), RNIC_RETRY_ACK);
    EXPECT_EQ(rnic_retry_expire(&retry, 100 + 9000), RNIC_RETRY_IDLE);
    EXPECT_EQ(retry.deadline, RNIC_RETRY_NEVER);
}

/* After an expiry the timeout is 2T until a response acknowledges new requests. It never exceeds
 * the timeout of the largest code (R150). */
static void r150_timeout_doubles_after_expiry(void)
{
    struct rnic_retry retry;

    for (uint8_t code = 1; code < 32; code++) {
        const uint64_t t = UINT64_C(4096) << code;
        const uint8_t longer = code < 31 ? code + 1 : 31;

        rnic_retry_init(&retry, code, 7, 7);
        rnic_retry_arm(&retry, 100);
        EXPECT_EQ(retry.wait_code, code);
        EXPECT_EQ(rnic_retry_expire(&retry, 100 + t), RNIC_RETRY_ACK);
        for (unsigned i = 0; i < 2; i++) {
            rnic_retry_arm(&retry, 1000);
            EXPECT_EQ(retry.wait_code, longer);
            EXPECT_EQ(retry.deadline, 1000 + (UINT64_C(4096) << longer));
            EXPECT_EQ(rnic_retry_expire(&retry, retry.deadline), RNIC_RETRY_ACK);
        }
        rnic_retry_progress(&retry);
        rnic_retry_arm(&retry, 5000);
        EXPECT_EQ(retry.wait_code, code);
        EXPECT_EQ(retry.deadline, 5000 + t);
    }
    /* The RNR wait does not change the ACK timeout. */
    rnic_retry_init(&retry, 1, 7, 7);
    CU_ASSERT(rnic_retry_rnr(&retry, 1, 0));
    EXPECT_EQ(rnic_retry_expire(&retry, retry.deadline), RNIC_RETRY_RNR);
    rnic_retry_arm(&retry, 0);
    EXPECT_EQ(retry.wait_code, 1);
}

/* The ACK timer restarts with progress and stops without outstanding requests (R151). */
static void r151_restarts_and_stops(void)
{
    struct rnic_retry retry;

    rnic_retry_init(&retry, 1, 7, 7);
    rnic_retry_arm(&retry, 100);
    rnic_retry_arm(&retry, 5000);
    EXPECT_EQ(retry.deadline, 5000 + 8192);
    rnic_retry_disarm(&retry);
    EXPECT_EQ(retry.deadline, RNIC_RETRY_NEVER);
}

/* retry_cnt is the number of retries (7 means seven, not unlimited); progress resets the counter
 * (R154, R155). */
static void r154_retry_cnt(void)
{
    struct rnic_retry retry;

    for (uint8_t cnt = 0; cnt <= RNIC_RETRY_MAX; cnt++) {
        rnic_retry_init(&retry, 14, cnt, 0);
        for (unsigned round = 0; round < 2; round++) {
            for (uint8_t i = 0; i < cnt; i++)
                CU_ASSERT(rnic_retry_use_one(&retry));
            CU_ASSERT(!rnic_retry_use_one(&retry));
            rnic_retry_progress(&retry);
        }
    }
}

/* The RNR wait is at least the time of the code, for all 32 codes (R097, R156). */
static void r156_rnr_wait(void)
{
    struct rnic_retry retry;

    for (uint8_t code = 0; code < ROCE_RNR_CODES; code++) {
        rnic_retry_init(&retry, 14, 7, 7);
        CU_ASSERT(rnic_retry_rnr(&retry, code, 1000));
        EXPECT_EQ(retry.wait, RNIC_RETRY_RNR);
        rnic_retry_disarm(&retry); /* stops only the ACK timer, not the RNR wait */
        EXPECT_EQ(retry.deadline, 1000 + roce_rnr_ns(code));
        EXPECT_EQ(rnic_retry_expire(&retry, 999 + roce_rnr_ns(code)), RNIC_RETRY_IDLE);
        EXPECT_EQ(rnic_retry_expire(&retry, 1000 + roce_rnr_ns(code)), RNIC_RETRY_RNR);
    }
}

/* rnr_retry 7 has no limit, and the two retry counters are independent (R157, R158). */
static void r157_rnr_retry_seven_is_unlimited(void)
{
    struct rnic_retry retry;

    rnic_retry_init(&retry, 14, 2, 3);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT(rnic_retry_rnr(&retry, 1, 0));
    CU_ASSERT(!rnic_retry_rnr(&retry, 1, 0));
    EXPECT_EQ(retry.retries_left, 2);
    rnic_retry_progress(&retry);
    EXPECT_EQ(retry.wait, RNIC_RETRY_IDLE); /* the request was answered, so no timer runs */
    CU_ASSERT(rnic_retry_use_one(&retry));
    EXPECT_EQ(retry.rnr_left, 3);
    rnic_retry_init(&retry, 14, 0, RNIC_RNR_RETRY_FOREVER);
    for (unsigned i = 0; i < 1000; i++)
        CU_ASSERT(rnic_retry_rnr(&retry, 1, 0));
}

SUITE("transport.retry", TEST(r149_timeout_codes), TEST(r150_expires_at_t),
      TEST(r150_timeout_doubles_after_expiry), TEST(r151_restarts_and_stops), TEST(r154_retry_cnt),
      TEST(r156_rnr_wait), TEST(r157_rnr_retry_seven_is_unlimited))
