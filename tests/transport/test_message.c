/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include <string.h>
#include "support/suite.h"
#include "transport/message.h"

/* For each length and alignment, all bytes of the payload are written and no byte around them. */
static void write_puts_every_byte(void)
{
    _Alignas(16) uint8_t to[96];
    uint8_t from[64];

    for (size_t i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i + 1);
    for (size_t off = 0; off < 16; off++)
        for (size_t len = 0; len <= sizeof(from); len++) {
            memset(to, 0xEE, sizeof(to));
            rnic_message_write(to + 8 + off, from, len);
            CU_ASSERT(memcmp(to + 8 + off, from, len) == 0);
            for (size_t i = 0; i < sizeof(to); i++)
                if (i < 8 + off || i >= 8 + off + len)
                    EXPECT_EQ(to[i], 0xEE);
        }
}

SUITE("transport.message", TEST(write_puts_every_byte))
