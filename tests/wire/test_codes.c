/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks the tables of RNR timers and credits against the formula of their values: code 2n means
 * 2^n units, and code 2n+3 means 3 * 2^n units. The unit is 10 us for RNR timers, and one credit
 * for credits. (The 61.41 ms of Linux rxe for RNR code 25 would fail here.)
 */
#include "support/suite.h"
#include "wire/codes.h"
#include "wire/opcode.h"

static uint32_t pattern(unsigned code)
{
    if (code < 2)
        return code;
    return code % 2 == 0 ? 1u << code / 2 : 3u << (code - 3) / 2;
}

static void rnr_timer_follows_its_pattern(void)
{
    EXPECT_EQ(roce_rnr_ns(0), 655360000); /* code 0 is the longest time, for which the formula needs
                                           * code 32 */
    EXPECT_EQ(roce_rnr_ns(0), UINT64_C(10000) * pattern(32));
    EXPECT_EQ(roce_rnr_ns(25), 61440000);
    for (unsigned code = 1; code < ROCE_RNR_CODES; code++)
        EXPECT_EQ(roce_rnr_ns((uint8_t)code), UINT64_C(10000) * pattern(code));
}

static void credits_follow_their_pattern(void)
{
    for (unsigned code = 0; code < ROCE_CREDIT_NONE; code++)
        EXPECT_EQ(roce_credits((uint8_t)code), pattern(code));
    EXPECT_EQ(roce_credits(ROCE_CREDIT_NONE), ROCE_CREDITS_UNLIMITED);
}

static void credit_code_never_promises_too_much(void)
{
    for (uint32_t n = 0; n < 70000; n++) {
        uint8_t code = roce_credit_code(n);

        if (!(code < ROCE_CREDIT_NONE && roce_credits(code) <= n &&
              (code == 30 || roce_credits((uint8_t)(code + 1)) > n)))
            suite_fail(__FILE__, __LINE__, "wrong credit code for %u free WQEs: %u", n, code);
    }
    EXPECT_EQ(roce_credit_code(UINT32_MAX), 30);
}

static void ack_timeout_doubles(void)
{
    uint64_t ns = 4096;

    EXPECT_EQ(roce_ack_timeout_ns(0), ROCE_NEVER_NS);
    for (unsigned code = 1; code < 32; code++) {
        ns *= 2;
        EXPECT_EQ(roce_ack_timeout_ns((uint8_t)code), ns);
    }
    EXPECT_EQ(ns, 8796093022208); /* 4.096 us * 2^31: 2.4 hours */
}

static void mtu_codes_are_five(void)
{
    uint32_t bytes = 256;

    EXPECT_EQ(roce_mtu_bytes(0), 0);
    for (uint8_t code = 1; code <= 5; code++, bytes *= 2) {
        EXPECT_EQ(roce_mtu_bytes(code), bytes);
        EXPECT_EQ(roce_mtu_code(bytes), code);
        EXPECT_EQ(roce_mtu_code(bytes + 1), 0);
    }
    for (unsigned code = 6; code < 256; code++)
        EXPECT_EQ(roce_mtu_bytes((uint8_t)code), 0);
    EXPECT_EQ(roce_mtu_code(0), 0);
}

/* Bits 7:5 of a syndrome (IBTA ch. 9): 000 is an ACK, 001 an RNR NAK, 011 a NAK with a code from 0
 * to 4. All other syndromes must be reserved. */
static void every_syndrome_has_its_kind(void)
{
    for (unsigned s = 0; s < 256; s++) {
        enum roce_syndrome_kind want = ROCE_SYN_RESERVED;

        if (s < 0x20)
            want = ROCE_SYN_ACK;
        else if (s < 0x40)
            want = ROCE_SYN_RNR;
        else if (s >= 0x60 && s <= 0x64)
            want = ROCE_SYN_NAK;
        EXPECT_EQ(roce_syndrome_kind((uint8_t)s), want);
        EXPECT_EQ(roce_syndrome_code((uint8_t)s), s % 32);
    }
}

static void expect_syndrome(uint8_t syndrome, const char *want)
{
    char buf[64];

    CU_ASSERT_STRING_EQUAL(roce_syndrome_text(syndrome, buf, sizeof(buf)), want);
}

static void syndromes_have_text(void)
{
    expect_syndrome(0x00, "ACK, 0 credits");
    expect_syndrome(0x01, "ACK, 1 credit");
    expect_syndrome(0x07, "ACK, 12 credits");
    expect_syndrome(0x1F, "ACK, credits not valid");
    expect_syndrome(0x20, "RNR NAK, 655.36 ms");
    expect_syndrome(0x21, "RNR NAK, 0.01 ms");
    expect_syndrome(0x2C, "RNR NAK, 0.64 ms");
    expect_syndrome(0x39, "RNR NAK, 61.44 ms");
    expect_syndrome(0x60, "NAK, PSN sequence error");
    expect_syndrome(0x61, "NAK, invalid request");
    expect_syndrome(0x62, "NAK, remote access error");
    expect_syndrome(0x63, "NAK, remote operational error");
    expect_syndrome(0x64, "NAK, invalid RD request");
    expect_syndrome(0x65, "reserved");
    expect_syndrome(0x40, "reserved");
    expect_syndrome(0x80, "reserved");
}

/* Each table must have the number of names listed here. No two values may have the same name. */
static void value_names_are_unique(void)
{
    static const unsigned named[ROCE_VALS_CNT] = {
        [ROCE_VALS_OPCODE] = 256,
        [ROCE_VALS_SYNDROME] = 256,
        [ROCE_VALS_LNH] = 4,
        [ROCE_VALS_ETHERTYPE] = 6,
        [ROCE_VALS_IPPROTO] = 8,
        [ROCE_VALS_ECN] = 4,
        [ROCE_VALS_FLUSH_SEL] = 2,
        [ROCE_VALS_FLUSH_PLT] = 3,
        [ROCE_VALS_MAD_CLASS] = 8,
        [ROCE_VALS_MAD_METHOD] = 8,
        [ROCE_VALS_CM_ATTR] = 12,
        [ROCE_VALS_CM_TRANSPORT] = 4,
        [ROCE_VALS_CM_EXT_TRANSPORT] = 1,
        [ROCE_VALS_CM_REJ_MSG] = 3,
        [ROCE_VALS_CM_REJ_REASON] = 34,
        [ROCE_VALS_CM_MRA_MSG] = 3,
        [ROCE_VALS_CM_SIDR_STATUS] = 6,
        [ROCE_VALS_CM_APR_STATUS] = 14,
        [ROCE_VALS_MTU] = 5,
        [ROCE_VALS_ACK_TIMEOUT] = 32,
        [ROCE_VALS_CM_TIMEOUT] = 32,
        [ROCE_VALS_RNR_RETRY] = 1,
    };

    for (unsigned vals = 0; vals < ROCE_VALS_CNT; vals++) {
        /* in these tables, several values have the name "reserved" */
        bool shared = vals == ROCE_VALS_OPCODE || vals == ROCE_VALS_SYNDROME;
        unsigned cnt = 0;
        char a[64], b[64];

        for (unsigned v = 0; v <= UINT16_MAX; v++) {
            const char *name = roce_vals_name((enum roce_vals)vals, v, a, sizeof(a));

            if (!name)
                continue;
            cnt++;
            CU_ASSERT(*name);
            for (unsigned w = 0; !shared && w < v && w < 256; w++) {
                const char *other = roce_vals_name((enum roce_vals)vals, w, b, sizeof(b));

                if (other)
                    CU_ASSERT_STRING_NOT_EQUAL(name, other);
            }
        }
        EXPECT_EQ(cnt, named[vals]);
        CU_ASSERT_PTR_NULL(roce_vals_name((enum roce_vals)vals, UINT64_MAX, a, sizeof(a)));
    }
}

static void expect_name(enum roce_vals vals, uint64_t value, const char *want)
{
    char buf[64];
    const char *name = roce_vals_name(vals, value, buf, sizeof(buf));

    CU_ASSERT_PTR_NOT_NULL(name);
    if (name)
        CU_ASSERT_STRING_EQUAL(name, want);
}

static void value_names_read_well(void)
{
    expect_name(ROCE_VALS_OPCODE, ROCE_OP_RC_ACK, "RC Acknowledge");
    expect_name(ROCE_VALS_MTU, 3, "1024 bytes");
    expect_name(ROCE_VALS_ACK_TIMEOUT, 0, "never");
    expect_name(ROCE_VALS_ACK_TIMEOUT, 14, "67.109 ms");
    expect_name(ROCE_VALS_ACK_TIMEOUT, 18, "1.074 s");
    expect_name(ROCE_VALS_CM_TIMEOUT, 0, "4.096 us");
    expect_name(ROCE_VALS_CM_TIMEOUT, 20, "4.295 s");
    expect_name(ROCE_VALS_CM_ATTR, 0x10, "REQ");
    expect_name(ROCE_VALS_CM_REJ_REASON, 28, "consumer reject");
    expect_name(ROCE_VALS_RNR_RETRY, 7, "no limit");
}

SUITE("wire.codes", TEST(rnr_timer_follows_its_pattern), TEST(credits_follow_their_pattern),
      TEST(credit_code_never_promises_too_much), TEST(ack_timeout_doubles),
      TEST(mtu_codes_are_five), TEST(every_syndrome_has_its_kind), TEST(syndromes_have_text),
      TEST(value_names_are_unique), TEST(value_names_read_well))
