/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Bytes: access to the bytes of a packet. All other code uses these functions and does not depend
 * on the byte order of the wire.
 *
 * InfiniBand and IP headers are big-endian, most significant bit first. ICRC and VCRC are stored
 * least significant byte first (Linux rxe and captured frames agree). Only code for ICRC, VCRC and
 * file formats uses the little-endian accessors.
 *
 * A cursor checks its bounds. A read past the end returns zero and sets `bad`, and every later read
 * then returns zero too. A parser can therefore read a whole header and check `bad` once.
 */
#ifndef ROCE_BYTES_H
#define ROCE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads or writes the `cnt` bytes (1..8) at `p` as one big-endian number. Common sizes use the
 * compiler's byte-swap functions, because gcc and clang do not always recognize a swap written as
 * shifts. */
static inline uint64_t roce_be_get(const uint8_t *p, unsigned cnt)
{
    uint64_t v = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint16_t v16;
    uint32_t v32;

    switch (cnt) {
    case 2: memcpy(&v16, p, sizeof(v16)); return __builtin_bswap16(v16);
    case 3: memcpy(&v16, p, sizeof(v16)); return (uint64_t)__builtin_bswap16(v16) << 8 | p[2];
    case 4: memcpy(&v32, p, sizeof(v32)); return __builtin_bswap32(v32);
    case 8: memcpy(&v, p, sizeof(v)); return __builtin_bswap64(v);
    default: break;
    }
#endif
    for (unsigned i = 0; i < cnt; i++)
        v = v << 8 | p[i];
    return v;
}

static inline void roce_be_put(uint8_t *p, unsigned cnt, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint16_t v16 = __builtin_bswap16((uint16_t)v);
    uint32_t v32 = __builtin_bswap32((uint32_t)v);

    switch (cnt) {
    case 2: memcpy(p, &v16, sizeof(v16)); return;
    case 4: memcpy(p, &v32, sizeof(v32)); return;
    case 8:
        v = __builtin_bswap64(v);
        memcpy(p, &v, sizeof(v));
        return;
    default: break;
    }
#endif
    for (unsigned i = 0; i < cnt; i++)
        p[i] = (uint8_t)(v >> 8 * (cnt - 1 - i));
}

/*
 * Returns a bit field of `width` (1..64) bits at `p`. The field starts in byte `byte`, at bit `bit`
 * (0..7, 0 = most significant). All bytes of the field must be readable. The field must fit into 8
 * bytes, counted from byte `byte`: bit + width <= 64.
 */
static inline uint64_t roce_bits_get(const uint8_t *p, unsigned byte, unsigned bit, unsigned width)
{
    unsigned end = bit + width;
    unsigned cnt = (end + 7) / 8;
    uint64_t v = roce_be_get(p + byte, cnt) >> (cnt * 8 - end);

    return width == 64 ? v : v & ((UINT64_C(1) << width) - 1);
}

/* Writes a bit field and leaves all other bits unchanged. Bits of `value` above `width` are
 * ignored. */
static inline void roce_bits_put(uint8_t *p, unsigned byte, unsigned bit, unsigned width,
                                 uint64_t value)
{
    unsigned end = bit + width;
    unsigned cnt = (end + 7) / 8;
    unsigned shift = cnt * 8 - end;
    uint64_t mask = (width == 64 ? ~UINT64_C(0) : (UINT64_C(1) << width) - 1) << shift;

    if (width == cnt * 8) {
        roce_be_put(p + byte, cnt, value);
        return;
    }
    value = value << shift & mask;
    for (unsigned i = 0; i < cnt; i++) {
        unsigned down = 8 * (cnt - 1 - i);

        p[byte + i] =
            (uint8_t)((p[byte + i] & ~(uint8_t)(mask >> down)) | (uint8_t)(value >> down));
    }
}

/* Adds a field to a header that is built in 64-bit words, the most significant byte first. All
 * words must be zero before the first call, and each field must be added only once. If byte, bit
 * and width are constants, compilers keep the words in registers. Bits of `value` above `width` are
 * ignored. */
static inline void roce_words_put(uint64_t *words, unsigned byte, unsigned bit, unsigned width,
                                  uint64_t value)
{
    unsigned at = byte * 8 + bit;
    unsigned end = at % 64 + width;

    if (width < 64)
        value &= (UINT64_C(1) << width) - 1;
    if (end <= 64) {
        words[at / 64] |= value << (64 - end);
    } else {
        words[at / 64] |= value >> (end - 64);
        words[at / 64 + 1] |= value << (128 - end);
    }
}

/* Stores the first `len` bytes of a header built by roce_words_put() at `p`. */
static inline void roce_words_store(const uint64_t *words, uint8_t *p, unsigned len)
{
    unsigned off = 0;

    for (; off + 8 <= len; off += 8)
        roce_be_put(p + off, 8, words[off / 8]);
    for (unsigned cnt = 4; cnt; cnt /= 2)
        if (len & cnt) {
            roce_be_put(p + off, cnt, words[off / 8] >> (64 - 8 * (off % 8 + cnt)));
            off += cnt;
        }
}

static inline uint16_t roce_le16_get(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline void roce_le16_put(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline uint32_t roce_le32_get(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void roce_le32_put(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
}

/* Cursor for reading; `off` never exceeds `len`. */
struct roce_rd {
    const uint8_t *p;
    size_t len;
    size_t off;
    bool bad; /* a read went past the end */
};

static inline struct roce_rd roce_rd(const void *p, size_t len)
{
    return (struct roce_rd){.p = p, .len = len};
}

static inline size_t roce_rd_left(const struct roce_rd *r)
{
    return r->len - r->off;
}

/* Returns a pointer to the next `n` bytes. Returns NULL and sets `bad` if there are fewer. */
static inline const uint8_t *roce_rd_bytes(struct roce_rd *r, size_t n)
{
    const uint8_t *p;

    if (r->bad || n > r->len - r->off) {
        r->bad = true;
        return NULL;
    }
    p = r->p + r->off;
    r->off += n;
    return p;
}

static inline uint64_t roce_rd_be(struct roce_rd *r, unsigned n)
{
    const uint8_t *p = roce_rd_bytes(r, n);

    return p ? roce_bits_get(p, 0, 0, n * 8) : 0;
}

static inline uint8_t roce_rd_u8(struct roce_rd *r)
{
    return (uint8_t)roce_rd_be(r, 1);
}

static inline uint16_t roce_rd_be16(struct roce_rd *r)
{
    return (uint16_t)roce_rd_be(r, 2);
}

static inline uint32_t roce_rd_be24(struct roce_rd *r)
{
    return (uint32_t)roce_rd_be(r, 3);
}

static inline uint32_t roce_rd_be32(struct roce_rd *r)
{
    return (uint32_t)roce_rd_be(r, 4);
}

static inline uint64_t roce_rd_be64(struct roce_rd *r)
{
    return roce_rd_be(r, 8);
}

/* Cursor for writing. A write past the end writes nothing and sets `bad`; every later write then
 * writes nothing, too. */
struct roce_wr {
    uint8_t *p;
    size_t len;
    size_t off;
    bool bad;
};

static inline struct roce_wr roce_wr(void *p, size_t len)
{
    return (struct roce_wr){.p = p, .len = len};
}

/* Returns whether `n` bytes are left; if not, sets `bad`. The write functions below call this
 * function instead of testing the result of roce_wr_room() for NULL. With such a test, gcc 16 would
 * warn about writes "at address zero". */
static inline bool roce_wr_fits(struct roce_wr *w, size_t n)
{
    if (w->bad || n > w->len - w->off)
        w->bad = true;
    return !w->bad;
}

/* Returns a pointer to `n` bytes that the caller fills in. Returns NULL and sets `bad` if fewer
 * bytes are left. */
static inline uint8_t *roce_wr_room(struct roce_wr *w, size_t n)
{
    if (!roce_wr_fits(w, n))
        return NULL;
    w->off += n;
    return w->p + w->off - n;
}

static inline void roce_wr_bytes(struct roce_wr *w, const void *src, size_t n)
{
    if (!roce_wr_fits(w, n) || n == 0)
        return;
    memcpy(w->p + w->off, src, n);
    w->off += n;
}

static inline void roce_wr_zero(struct roce_wr *w, size_t n)
{
    if (!roce_wr_fits(w, n) || n == 0)
        return;
    memset(w->p + w->off, 0, n);
    w->off += n;
}

static inline void roce_wr_be(struct roce_wr *w, unsigned n, uint64_t v)
{
    if (!roce_wr_fits(w, n))
        return;
    roce_bits_put(w->p + w->off, 0, 0, n * 8, v);
    w->off += n;
}

#endif
