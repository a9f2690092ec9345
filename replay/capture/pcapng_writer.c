/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/pcapng_writer.h"

#include <string.h>
#include "wire/bytes.h"

enum { BLOCK_SECTION = 0x0A0D0D0A, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum { OPT_END = 0, OPT_COMMENT = 1, OPT_SECTION_APPLICATION = 4, OPT_INTERFACE_TSRESOL = 9 };

#define BYTE_ORDER_MAGIC 0x1A2B3C4Du
#define BLOCK_LEN        12u /* type, length, length again at the end */
#define OPT_HEAD_LEN     4u
#define OPT_LEN_MAX      0xFFFCu /* 16 bits, and a multiple of 4 */

static uint32_t padded(uint32_t len)
{
    return (len + 3) & ~UINT32_C(3);
}

static uint32_t option_len(const char *text)
{
    size_t len = strlen(text);

    if (len <= OPT_LEN_MAX)
        return (uint32_t)len;
    len = OPT_LEN_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) /* not inside a character */
        len--;
    return (uint32_t)len;
}

static void put(struct pcapng *out, const void *p, size_t len)
{
    if (len)
        fwrite(p, 1, len, out->file); /* the stream remembers an error */
}

static void put_padded(struct pcapng *out, const void *p, uint32_t len)
{
    put(out, p, len);
    put(out, "\0\0\0", padded(len) - len);
}

static void put32(struct pcapng *out, uint32_t v)
{
    put(out, &v, sizeof(v));
}

static void put_option(struct pcapng *out, uint16_t code, const void *p, uint32_t len)
{
    const uint16_t head[2] = {code, (uint16_t)len};

    put(out, head, sizeof(head));
    put_padded(out, p, len);
}

static int result(const struct pcapng *out)
{
    return ferror(out->file) ? -1 : 0;
}

int pcapng_begin(struct pcapng *out, FILE *file, uint32_t linktype, uint32_t snaplen,
                 const char *application)
{
    static const uint16_t version[2] = {1, 0};
    static const uint64_t length_unknown = UINT64_MAX;
    static const uint8_t nanoseconds = 9; /* negative power of ten */
    const uint16_t link[2] = {(uint16_t)linktype, 0};
    uint32_t name_len = option_len(application);
    uint32_t len = BLOCK_LEN + 16 + OPT_HEAD_LEN + padded(name_len) + OPT_HEAD_LEN;

    out->file = file;
    put32(out, BLOCK_SECTION);
    put32(out, len);
    put32(out, BYTE_ORDER_MAGIC);
    put(out, version, sizeof(version));
    put(out, &length_unknown, sizeof(length_unknown));
    put_option(out, OPT_SECTION_APPLICATION, application, name_len);
    put_option(out, OPT_END, NULL, 0);
    put32(out, len);

    len = BLOCK_LEN + 8 + OPT_HEAD_LEN + padded(1) + OPT_HEAD_LEN;
    put32(out, BLOCK_INTERFACE);
    put32(out, len);
    put(out, link, sizeof(link));
    put32(out, snaplen);
    put_option(out, OPT_INTERFACE_TSRESOL, &nanoseconds, 1);
    put_option(out, OPT_END, NULL, 0);
    put32(out, len);
    return result(out);
}

int pcapng_write(struct pcapng *out, const struct pcapng_frame *frame, const char *const *comment,
                 size_t cnt)
{
    const uint32_t head[5] = {0, (uint32_t)(frame->time >> 32), (uint32_t)frame->time,
                              frame->cap_len, frame->wire_len};
    uint32_t len = BLOCK_LEN + (uint32_t)sizeof(head) + padded(frame->cap_len);

    for (size_t i = 0; i < cnt; i++)
        len += OPT_HEAD_LEN + padded(option_len(comment[i]));
    if (cnt)
        len += OPT_HEAD_LEN;
    put32(out, BLOCK_PACKET);
    put32(out, len);
    put(out, head, sizeof(head));
    put_padded(out, frame->data, frame->cap_len);
    for (size_t i = 0; i < cnt; i++)
        put_option(out, OPT_COMMENT, comment[i], option_len(comment[i]));
    if (cnt)
        put_option(out, OPT_END, NULL, 0);
    put32(out, len);
    return result(out);
}

/* ---- copies ------------------------------------------------------------------------------------
 */

static uint32_t get(bool big, const uint8_t *p, unsigned bits)
{
    if (big)
        return (uint32_t)roce_bits_get(p, 0, 0, bits);
    return bits == 16 ? roce_le16_get(p) : roce_le32_get(p);
}

static void put_ordered(struct pcapng *out, bool big, uint32_t v, unsigned bits)
{
    uint8_t p[4];

    if (big)
        roce_bits_put(p, 0, 0, bits, v);
    else if (bits == 16)
        roce_le16_put(p, (uint16_t)v);
    else
        roce_le32_put(p, v);
    put(out, p, bits / 8);
}

int pcapng_copy(struct pcapng *out, const uint8_t *block, uint32_t len)
{
    static const uint8_t unknown[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};

    if (roce_le32_get(block) == BLOCK_SECTION && len >= 28) { /* the same in both byte orders */
        put(out, block, 16);
        put(out, unknown, sizeof(unknown));
        put(out, block + 24, len - 24);
    } else {
        put(out, block, len);
    }
    return result(out);
}

/* Bytes of the options that there are, without the one that ends them and what follows it. */
static uint32_t options_len(const struct pcapng_block *b)
{
    uint32_t off = b->options_off, end = b->len - 4;

    while (end - off >= OPT_HEAD_LEN) {
        uint32_t code = get(b->big, b->p + off, 16);
        uint32_t len = padded(get(b->big, b->p + off + 2, 16));

        if (code == OPT_END || len > end - off - OPT_HEAD_LEN)
            break;
        off += OPT_HEAD_LEN + len;
    }
    return off - b->options_off;
}

/* Type to data of a simple packet, as an enhanced one has it. */
static void put_simple(struct pcapng *out, const struct pcapng_block *b)
{
    for (unsigned i = 0; i < 3; i++) /* interface and time, of which nothing is known */
        put_ordered(out, b->big, 0, 32);
    put_ordered(out, b->big, b->cap_len, 32);
    put(out, b->p + 8, 4); /* original length */
    put_padded(out, b->p + 12, b->cap_len);
}

int pcapng_copy_packet(struct pcapng *out, const struct pcapng_block *b, const char *const *comment,
                       size_t cnt)
{
    bool simple = b->options_off == 0;
    uint32_t kept = simple ? 0 : options_len(b), len = OPT_HEAD_LEN;

    if (cnt == 0) {
        put(out, b->p, b->len);
        return result(out);
    }
    for (size_t i = 0; i < cnt; i++)
        len += OPT_HEAD_LEN + padded(option_len(comment[i]));
    if (simple) {
        len += 28 + padded(b->cap_len) + 4;
    } else {
        len += b->options_off + kept + 4;
    }
    put_ordered(out, b->big, simple ? BLOCK_PACKET : get(b->big, b->p, 32), 32);
    put_ordered(out, b->big, len, 32);
    if (simple)
        put_simple(out, b);
    else
        put(out, b->p + 8, b->options_off - 8 + kept);
    for (size_t i = 0; i < cnt; i++) {
        put_ordered(out, b->big, OPT_COMMENT, 16);
        put_ordered(out, b->big, option_len(comment[i]), 16);
        put_padded(out, comment[i], option_len(comment[i]));
    }
    put_ordered(out, b->big, OPT_END, 32);
    put_ordered(out, b->big, len, 32);
    return result(out);
}
