/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CRC-32 in one pass with a second operation: copying the bytes, or setting the bits to ones that
 * an ICRC does not cover. The CRC libraries have no such functions for this polynomial.
 * tests/bench/bench_wire compares the speed of one pass with that of two passes.
 *
 * The algorithm is that of V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using
 * PCLMULQDQ Instruction", Intel, 2009. It multiplies the halves of a 128-bit block by x^(D+32) and
 * x^(D-32), and adds the products to the block that follows D bits later. Bits are reflected, as in
 * the CRC.
 */
#include "wire/crc32.h"

#include <string.h>

#if defined(__x86_64__) && (defined(ROCE_CRC_ISAL) || defined(ROCE_CRC_LIBDEFLATE))
#define FOLDING
#endif

#ifdef FOLDING
#include <immintrin.h>

#define FOLDS  __attribute__((target("avx2,avx512f,pclmul,vpclmulqdq")))
#define VECTOR 64u /* size of a vector in bytes; a vector contains four blocks of 128 bits */
/* number of vectors folded in parallel; with one vector, each step would wait for the previous
 * step */
#define LANES 4u
#define LEAST 256u /* minimum length, bytes; for shorter data, two passes are as fast as one */

/* Folding constants for a distance of D bits (by_128: D = 128): x^(D+32) and x^(D-32) modulo the
 * CRC polynomial, with the bits reflected and shifted by one. The tests check the constants: they
 * compare the CRCs with another implementation. */
static const uint64_t by_128[2] = {0x1751997D0, 0x0CCAA009E};
static const uint64_t by_512[2] = {0x154442BD4, 0x1C6E41596};
static const uint64_t by_2048[2] = {0x11542778A, 0x1322D1430};
static const uint64_t to_last[8] = {/* constants that fold the four blocks of a vector into the
                                     * last block */
                                    0x03DB1ECDC, 0x174359406, 0x0F1DA05AA, 0x15A546366,
                                    0x1751997D0, 0x0CCAA009E, 0,           0};
static const uint64_t by_64[2] = {0x163CD6124, 0};             /* folds 64 bits to 32 */
static const uint64_t barrett[2] = {0x1DB710641, 0x1F7011641}; /* the polynomial, and x^64 divided
                                                                * by the polynomial */

FOLDS static inline __m512i fold(__m512i x, const uint64_t by[2], __m512i to)
{
    enum { SUM = 0x96 }; /* truth table of a ^ b ^ c */
    __m512i k = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)by));

    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, k, 0x00),
                                     _mm512_clmulepi64_epi128(x, k, 0x11), to, SUM);
}

FOLDS static inline __m128i fold_blocks(__m512i x)
{
    __m512i k = _mm512_loadu_si512(to_last);
    __m512i y = _mm512_xor_si512(_mm512_clmulepi64_epi128(x, k, 0x00),
                                 _mm512_clmulepi64_epi128(x, k, 0x11));
    __m256i half = _mm256_xor_si256(_mm512_castsi512_si256(y), _mm512_extracti64x4_epi64(y, 1));

    return _mm_xor_si128(
        _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1)),
        _mm512_extracti32x4_epi32(x, 3));
}

/* Reduces 128 bits, and the 32 zeros that a CRC appends, to the CRC. */
FOLDS static inline uint32_t reduce(__m128i x)
{
    const __m128i low = _mm_setr_epi32(-1, 0, 0, 0);
    const __m128i k128 = _mm_loadu_si128((const __m128i *)(const void *)by_128);
    const __m128i k64 = _mm_loadu_si128((const __m128i *)(const void *)by_64);
    const __m128i k = _mm_loadu_si128((const __m128i *)(const void *)barrett);
    __m128i q;

    x = _mm_xor_si128(_mm_srli_si128(x, 8), _mm_clmulepi64_si128(x, k128, 0x10));
    x = _mm_xor_si128(_mm_srli_si128(x, 4), _mm_clmulepi64_si128(_mm_and_si128(x, low), k64, 0x00));
    q = _mm_clmulepi64_si128(_mm_and_si128(x, low), k, 0x10);
    q = _mm_clmulepi64_si128(_mm_and_si128(q, low), k, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(x, q), 1);
}

/* Loads the vector at `from`. If `to` is not NULL, also copies it there. */
FOLDS static inline __m512i load_vector(const uint8_t *from, uint8_t *to)
{
    __m512i v = _mm512_loadu_si512(from);

    if (to)
        _mm512_storeu_si512(to, v);
    return v;
}

/* Returns the CRC of the LANES vectors in `x`, followed by `cnt` vectors at `from`. If `to` is not
 * NULL, also copies the vectors at `from` to `to`. */
FOLDS static inline uint32_t fold_all(__m512i x[LANES], const uint8_t *from, uint8_t *to,
                                      size_t cnt)
{
    __m512i sum;

    for (; cnt >= LANES; cnt -= LANES) {
        for (unsigned i = 0; i < LANES; i++)
            x[i] = fold(x[i], by_2048, load_vector(from + i * VECTOR, to ? to + i * VECTOR : NULL));
        from += LANES * VECTOR;
        to = to ? to + LANES * VECTOR : NULL;
    }
    sum = x[0];
    for (unsigned i = 1; i < LANES; i++)
        sum = fold(sum, by_512, x[i]);
    for (size_t i = 0; i < cnt; i++)
        sum = fold(sum, by_512, load_vector(from + i * VECTOR, to ? to + i * VECTOR : NULL));
    return ~reduce(fold_blocks(sum));
}

FOLDS static inline __m512i inverted(uint32_t crc)
{
    return _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc));
}

/* Copies `cnt` >= LANES vectors and returns their CRC. */
FOLDS static uint32_t fold_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t cnt)
{
    __m512i x[LANES];

    for (unsigned i = 0; i < LANES; i++)
        x[i] = load_vector(from + i * VECTOR, to + i * VECTOR);
    x[0] = _mm512_xor_si512(x[0], inverted(crc));
    return fold_all(x, from + LANES * VECTOR, to + LANES * VECTOR, cnt - LANES);
}

/* Returns the CRC of `cnt` vectors; `cnt` is below LANES. The first two vectors are in `x`, the
 * others at `from`. */
FOLDS static inline uint32_t fold_few(const __m512i x[2], const uint8_t *from, size_t cnt)
{
    __m512i sum = x[0];

    if (cnt > 1)
        sum = fold(sum, by_512, x[1]);
    for (size_t i = 2; i < cnt; i++, from += VECTOR)
        sum = fold(sum, by_512, load_vector(from, NULL));
    return ~reduce(fold_blocks(sum));
}

/* Returns the CRC of `len` bytes, a multiple of 4 and >= 4. To get a multiple of the vector size,
 * the function processes zeros before the packet. With the initial CRC 0, zeros do not change the
 * CRC. The real initial CRC and the mask are applied at the place in the first vector where the
 * packet starts. */
FOLDS static uint32_t fold_ones(uint32_t crc, const uint8_t *p, size_t len,
                                const uint8_t ones[ROCE_CRC_ONES])
{
    unsigned zeros = -len % VECTOR / 4; /* number of zeros put before the packet, in words of 4
                                         * bytes; each mask bit represents one word */
    size_t cnt = (len + 4 * (size_t)zeros) / VECTOR;
    const uint8_t *full = p + VECTOR - 4 * zeros;
    __mmask16 have = (__mmask16)(0xFFFFu << zeros);
    __m512i x[LANES];

    x[0] = _mm512_or_si512(_mm512_maskz_expandloadu_epi32(have, p),
                           _mm512_maskz_expandloadu_epi32(have, ones));
    x[0] =
        _mm512_xor_si512(x[0], _mm512_maskz_expand_epi32((__mmask16)(1u << zeros), inverted(crc)));
    if (cnt > 1)
        x[1] =
            _mm512_or_si512(load_vector(full, NULL),
                            _mm512_maskz_loadu_epi32((__mmask16)~have, ones + VECTOR - 4 * zeros));
    if (cnt < LANES)
        return fold_few(x, full + VECTOR, cnt);
    for (unsigned i = 2; i < LANES; i++)
        x[i] = load_vector(full + (i - 1) * VECTOR, NULL);
    return fold_all(x, full + (LANES - 1) * VECTOR, NULL, cnt - LANES);
}

static bool can_fold(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq");
}
#endif

uint32_t roce_crc32_copy(uint32_t crc, uint8_t *to, const uint8_t *from, size_t len)
{
#ifdef FOLDING
    if (len >= LEAST && can_fold()) {
        size_t whole = len / VECTOR * VECTOR;

        crc = fold_copy(crc, to, from, len / VECTOR);
        to += whole;
        from += whole;
        len -= whole;
    }
#endif
    if (len == 0)
        return crc;
    memcpy(to, from, len);
    return roce_crc32(crc, to, len);
}

bool roce_crc32_ones(uint32_t *crc, const uint8_t *p, size_t len, const uint8_t ones[ROCE_CRC_ONES])
{
#ifdef FOLDING
    if (len > 0 && len % 4 == 0 && can_fold()) {
        *crc = fold_ones(*crc, p, len, ones);
        return true;
    }
#else
    (void)crc, (void)p, (void)len, (void)ones;
#endif
    return false;
}

const char *roce_crc32_copy_name(void)
{
#ifdef FOLDING
    if (can_fold())
        return "vpclmulqdq";
#endif
    return "memcpy";
}
