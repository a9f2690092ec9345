/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "device/entropy.h"
#include "support/suite.h"

/* RFC 8439, 2.3.2: the test vector of the block function. */
static void rfc8439_2_3_2(void)
{
    static const uint8_t nonce[12] = {[3] = 0x09, [7] = 0x4A};
    static const uint32_t expected[16] = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                          0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                          0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                          0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
    uint8_t key[32];
    uint32_t out[16];

    for (unsigned i = 0; i < 32; i++)
        key[i] = (uint8_t)i;
    rnic_chacha20_block(key, 1, nonce, out);
    for (unsigned i = 0; i < 16; i++)
        EXPECT_EQ(out[i], expected[i]);
}

/* RFC 8439, A.1, test vectors 1 and 2: an all-zero key; so that the stream runs on over blocks. */
static void stream(void)
{
    static const uint8_t zero[32] = {0};
    struct rnic_entropy a;
    struct rnic_entropy b;
    uint8_t other[32] = {1};

    rnic_entropy_init(&a, zero);
    EXPECT_EQ(rnic_entropy_u32(&a), 0xade0b876);
    for (unsigned i = 1; i < 16; i++)
        rnic_entropy_u32(&a);
    EXPECT_EQ(rnic_entropy_u32(&a), 0xbee7079f);
    rnic_entropy_init(&a, other);
    rnic_entropy_init(&b, other);
    for (unsigned i = 0; i < 100; i++)
        EXPECT_EQ(rnic_entropy_u32(&a), rnic_entropy_u32(&b));
}

SUITE("device.entropy", TEST(rfc8439_2_3_2), TEST(stream))
