/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "support/rng.h"
#include "support/suite.h"
#include "wire/bytes.h"

/* Returns bit `idx` of the bytes at `p`; bit 0 is the most significant bit of the first byte. All
 * functions of bytes.h must number bits in this way. */
static unsigned bit_at(const uint8_t *p, unsigned idx)
{
    return p[idx / 8] >> (7 - idx % 8) & 1;
}

static uint64_t bits_of(const uint8_t *p, unsigned first, unsigned width)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < width; i++)
        v = v << 1 | bit_at(p, first + i);
    return v;
}

static void bits_agree_with_single_bits(void)
{
    struct rng rng = rng_seed();
    uint8_t before[16], p[16];

    for (unsigned byte = 0; byte < 3; byte++)
        for (unsigned bit = 0; bit < 8; bit++)
            for (unsigned width = 1; bit + width <= 64; width++) {
                uint64_t v = rng_u64(&rng);
                unsigned first = byte * 8 + bit;

                rng_fill(&rng, before, sizeof(before));
                memcpy(p, before, sizeof(p));
                EXPECT_EQ(roce_bits_get(p, byte, bit, width), bits_of(p, first, width));
                roce_bits_put(p, byte, bit, width, v);
                EXPECT_EQ(bits_of(p, first, width),
                          width == 64 ? v : v & ((UINT64_C(1) << width) - 1));
                for (unsigned i = 0; i < sizeof(p) * 8; i++)
                    if (i < first || i >= first + width)
                        EXPECT_EQ(bit_at(p, i), bit_at(before, i));
            }
}

/* Fields of random widths, one after another, are read from and written to headers of every length.
 * Each bit must be in the right place. */
static void words_agree_with_single_bits(void)
{
    struct rng rng = rng_seed();

    for (unsigned len = 1; len <= 40; len++)
        for (unsigned turn = 0; turn < 100; turn++) {
            uint64_t words[5] = {0};
            uint8_t p[41] = {[40] = 0};
            uint64_t value[320];
            unsigned width[320];
            unsigned cnt = 0;
            unsigned at = 0;

            p[len] = 0xA5;
            for (; at < len * 8; at += width[cnt++]) {
                unsigned most = len * 8 - at < 64 ? len * 8 - at : 64;

                value[cnt] = rng_u64(&rng);
                width[cnt] = 1 + rng_below(&rng, most);
                roce_words_put(words, at / 8, at % 8, width[cnt], value[cnt]);
            }
            roce_words_store(words, p, len);
            EXPECT_EQ(p[len], 0xA5);
            at = 0;
            for (unsigned i = 0; i < cnt; at += width[i++])
                EXPECT_EQ(bits_of(p, at, width[i]),
                          width[i] == 64 ? value[i] : value[i] & ((UINT64_C(1) << width[i]) - 1));
        }
}

static void little_endian_is_the_icrc_only(void)
{
    uint8_t p[4];

    roce_le32_put(p, 0x5AB72596);
    CU_ASSERT(memcmp(p, "\x96\x25\xb7\x5a", 4) == 0);
    EXPECT_EQ(roce_le32_get(p), 0x5AB72596);
}

static void reader_keeps_its_bounds(void)
{
    static const uint8_t p[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    struct roce_rd r = roce_rd(p, sizeof(p));

    EXPECT_EQ(roce_rd_u8(&r), 0x01);
    EXPECT_EQ(roce_rd_be16(&r), 0x0203);
    EXPECT_EQ(roce_rd_be24(&r), 0x040506);
    EXPECT_EQ(roce_rd_be32(&r), 0x0708090A);
    EXPECT_EQ(roce_rd_be64(&r), 0x0B0C0D0E0F101112);
    EXPECT_EQ(roce_rd_left(&r), 0);
    CU_ASSERT_FALSE(r.bad);
    CU_ASSERT_PTR_NOT_NULL(roce_rd_bytes(&r, 0));
    EXPECT_EQ(roce_rd_u8(&r), 0);
    CU_ASSERT_TRUE(r.bad);
}

static void bad_reader_stays_bad(void)
{
    static const uint8_t p[] = {0xFF, 0xFF, 0xFF};
    struct roce_rd r = roce_rd(p, sizeof(p));

    EXPECT_EQ(roce_rd_be32(&r), 0);
    EXPECT_EQ(roce_rd_u8(&r),
              0); /* one byte is left, but after a failed read all later reads must return 0 */
    CU_ASSERT_PTR_NULL(roce_rd_bytes(&r, SIZE_MAX));
    EXPECT_EQ(r.off, 0);
    r = roce_rd(NULL, 0);
    EXPECT_EQ(roce_rd_be64(&r), 0);
    CU_ASSERT_TRUE(r.bad);
}

static void writer_keeps_its_bounds(void)
{
    uint8_t p[8] = {0};
    struct roce_wr w = roce_wr(p, 7);

    roce_wr_be(&w, 3, 0x010203);
    roce_wr_bytes(&w, "\x04\x05", 2);
    roce_wr_zero(&w, 1);
    CU_ASSERT_FALSE(w.bad);
    roce_wr_be(&w, 2, 0xFFFF); /* one byte more than fits: nothing must be written */
    CU_ASSERT_TRUE(w.bad);
    roce_wr_be(&w, 1, 0xFF);
    CU_ASSERT(memcmp(p, "\x01\x02\x03\x04\x05\x00\x00\x00", 8) == 0);
    EXPECT_EQ(w.off, 6);
}

SUITE("wire.bytes", TEST(bits_agree_with_single_bits), TEST(words_agree_with_single_bits),
      TEST(little_endian_is_the_icrc_only), TEST(reader_keeps_its_bounds),
      TEST(bad_reader_stays_bad), TEST(writer_keeps_its_bounds))
