/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "pcapng/pcapng.h"

#include <inttypes.h>
#include <string.h>
#include "wire/bytes.h"

#define BYTE_ORDER_MAGIC 0x1A2B3C4Du
#define INTERFACE_LEN    20u
#define PACKET_LEN       32u /* length of a packet block without captured bytes and options */
#define SIMPLE_LEN       16u
#define OPTION_LEN       4u /* length of the code and length fields of an option */
#define NS               UINT64_C(1000000000)
/* time stamp units per second if the interface has no if_tsresol: microseconds */
#define UNITS_DEFAULT UINT64_C(1000000)

enum {
    OPT_END = 0,
    OPT_COMMENT = 1,
    OPT_SECTION_APPLICATION = 4,
    OPT_IF_NAME = 2,
    OPT_IF_DESCRIPTION = 3,
    OPT_IF_TSRESOL = 9,
    OPT_IF_TSOFFSET = 14,
    OPT_PACKET_FLAGS = 2,
    OPT_PACKET_PROCESS = 8, /* two numbers of 32 bits: process id, thread id */
};

static uint32_t padded(uint32_t len)
{
    return (len + 3) & ~UINT32_C(3);
}

/* ---- reading blocks -------------------------------------------------------------------------- */

bool pcapng_byte_order(const uint8_t *p, bool *big)
{
    *big = pcapng_u32(true, p + 8) == BYTE_ORDER_MAGIC;
    return roce_le32_get(p) == PCAPNG_SECTION &&
           (*big || pcapng_u32(false, p + 8) == BYTE_ORDER_MAGIC);
}

uint32_t pcapng_block_len(bool big, const uint8_t *p, size_t len)
{
    uint32_t size = len < PCAPNG_BLOCK_MIN ? 0 : pcapng_u32(big, p + 4);

    return size >= PCAPNG_BLOCK_MIN && size % 4 == 0 && size <= len &&
                   pcapng_u32(big, p + size - 4) == size
               ? size
               : 0;
}

/* Returns the number of time stamp units per second for the value n of if_tsresol. A unit is 10^-n
 * seconds. If the top bit of n is 1, a unit is 2^-m seconds, where m is the other seven bits.
 * Returns 0 if the result needs more than 64 bits. */
static uint64_t units_of(uint8_t resolution)
{
    unsigned power = resolution & 0x7F;
    uint64_t units = 1;

    if (resolution & 0x80)
        return power < 64 ? UINT64_C(1) << power : 0;
    if (power > 19)
        return 0;
    while (power--)
        units *= 10;
    return units;
}

static int read_iface_option(struct pcapng_iface *iface, bool big, uint16_t code, uint32_t size,
                             const uint8_t *value, struct error *error)
{
    if (code == OPT_IF_TSRESOL && size == 1) {
        iface->units = units_of(*value);
        if (iface->units == 0)
            return error_set(error, "an interface has the unsupported time resolution 0x%02x",
                             *value);
    }
    if (code == OPT_IF_TSOFFSET && size == 8) {
        uint64_t low = pcapng_u32(big, value + (big ? 4 : 0));
        uint64_t high = pcapng_u32(big, value + (big ? 0 : 4));

        iface->offset = (int64_t)(high << 32 | low);
        /* Limit the offset of the interface, so that the sum of offset and time stamp, in seconds,
         * fits into 64 bits. */
        if (iface->offset > INT64_MAX / 4 || iface->offset < -(INT64_MAX / 4))
            return error_set(error, "an interface has the unsupported time offset %" PRId64 " s",
                             iface->offset);
    }
    return 0;
}

int pcapng_read_iface(struct pcapng_iface *out, bool big, const uint8_t *block, uint32_t len,
                      struct error *error)
{
    const uint8_t *p = block + 16;
    uint32_t left = len - INTERFACE_LEN;

    *out = (struct pcapng_iface){.units = UNITS_DEFAULT};
    if (len < INTERFACE_LEN)
        return error_set(error, "an interface description of %u bytes is too short", len);
    out->linktype = pcapng_u16(big, block + 8);
    out->snaplen = pcapng_u32(big, block + 12);
    while (left >= OPTION_LEN) {
        uint16_t code = pcapng_u16(big, p);
        uint32_t size = pcapng_u16(big, p + 2);

        if (code == OPT_END)
            break;
        if (padded(size) > left - OPTION_LEN)
            return error_set(
                error,
                "an interface has an option of %u bytes, but only %u bytes of its block are left",
                size, left - OPTION_LEN);
        if (read_iface_option(out, big, code, size, p + OPTION_LEN, error) != 0)
            return -1;
        p += OPTION_LEN + padded(size);
        left -= OPTION_LEN + padded(size);
    }
    return 0;
}

int pcapng_read_packet(struct pcapng_packet *out, bool big, const uint8_t *block, uint32_t len,
                       struct error *error)
{
    uint32_t type = pcapng_u32(big, block);
    uint32_t head = type == PCAPNG_SIMPLE_PACKET ? SIMPLE_LEN : PACKET_LEN, room = len - head;

    *out = (struct pcapng_packet){.data_off = head - 4};
    if (len < head)
        return error_set(error, "a packet block of %u bytes is too short", len);
    if (type == PCAPNG_SIMPLE_PACKET) { /* this block has no captured length: the packet fills the
                                         * rest of the block, up to its length on the wire */
        out->wire_len = pcapng_u32(big, block + 8);
        out->cap_len = out->wire_len < room ? out->wire_len : room;
        return 0;
    }
    out->iface = type == PCAPNG_PACKET ? pcapng_u32(big, block + 8) : pcapng_u16(big, block + 8);
    out->stamp = (uint64_t)pcapng_u32(big, block + 12) << 32 | pcapng_u32(big, block + 16);
    out->cap_len = pcapng_u32(big, block + 20);
    out->wire_len = pcapng_u32(big, block + 24);
    if (out->cap_len > room)
        return error_set(error, "a packet has %u captured bytes in a block of only %u bytes",
                         out->cap_len, len);
    out->options_off = out->data_off + padded(out->cap_len);
    return 0;
}

uint64_t pcapng_time(const struct pcapng_iface *iface, uint64_t stamp)
{
    uint64_t seconds = stamp / iface->units;
    /* 128 bits, because up to 2^63 units are multiplied by 10^9 */
    __extension__ unsigned __int128 part = stamp % iface->units;
    uint64_t ns = (uint64_t)(part * NS / iface->units);

    if (iface->offset < 0 && seconds < (uint64_t)-iface->offset)
        return 0;
    seconds += (uint64_t)iface->offset;
    return seconds >= UINT64_MAX / NS ? 0 : seconds * NS + ns;
}

/* Returns the value of the first option of a block with the code `wanted`, and the length of the
 * value in *size. Returns NULL if the block has no such option. `off` is the offset of the block's
 * first option. */
static const uint8_t *find_option(bool big, const uint8_t *block, uint32_t len, uint32_t off,
                                  uint32_t wanted, uint32_t *size)
{
    const uint32_t end = len - 4;

    while (end - off >= OPTION_LEN) {
        uint32_t code = pcapng_u16(big, block + off);

        *size = pcapng_u16(big, block + off + 2);
        if (code == OPT_END || padded(*size) > end - off - OPTION_LEN)
            break;
        off += OPTION_LEN;
        if (code == wanted)
            return block + off;
        off += padded(*size);
    }
    return NULL;
}

uint32_t pcapng_process(bool big, const uint8_t *block, uint32_t len, uint32_t options_off)
{
    uint32_t size = 0;
    const uint8_t *value =
        options_off ? find_option(big, block, len, options_off, OPT_PACKET_PROCESS, &size) : NULL;

    return value && size == 8 ? pcapng_u32(big, value) : 0;
}

bool pcapng_is_written_by(bool big, const uint8_t *block, uint32_t len, const char *application)
{
    uint32_t size = 0;
    const uint8_t *value =
        len < PCAPNG_SECTION_MIN
            ? NULL
            : find_option(big, block, len, PCAPNG_SECTION_MIN - 4, OPT_SECTION_APPLICATION, &size);

    return value && size == strlen(application) && memcmp(value, application, size) == 0;
}

/* Copies an option of a block, without the spaces at its end. The options of the block begin at
 * `off`. Returns the length. */
static size_t copy_option(bool big, const uint8_t *block, uint32_t len, uint32_t off,
                          uint32_t option, char *text, size_t cap)
{
    uint32_t size = 0;
    const uint8_t *value = len < off + 4 ? NULL : find_option(big, block, len, off, option, &size);

    if (!value)
        size = 0;
    while (size && value[size - 1] == ' ')
        size--;
    if (size >= cap)
        size = (uint32_t)cap - 1;
    if (size)
        memcpy(text, value, size);
    text[size] = '\0';
    return size;
}

size_t pcapng_section_comment(bool big, const uint8_t *block, uint32_t len, char *text, size_t cap)
{
    return copy_option(big, block, len, PCAPNG_SECTION_MIN - 4, OPT_COMMENT, text, cap);
}

size_t pcapng_iface_description(bool big, const uint8_t *block, uint32_t len, char *text,
                                size_t cap)
{
    return copy_option(big, block, len, 16, OPT_IF_DESCRIPTION, text, cap);
}

/* ---- writing blocks -------------------------------------------------------------------------- */

/* A block under construction. */
struct block {
    uint8_t *buf;
    size_t cap;
    size_t len; /* length of the part of the block that is already written; SIZE_MAX: the buffer is
                   too short */
    bool big;
};

static uint8_t *add_room(struct block *block, size_t len)
{
    uint8_t *at;

    if (block->len == SIZE_MAX || block->cap - block->len < len) {
        block->len = SIZE_MAX;
        return NULL;
    }
    at = block->buf + block->len;
    block->len += len;
    return at;
}

static void put_u32(const struct block *block, uint8_t *at, uint32_t value)
{
    if (block->big)
        roce_bits_put(at, 0, 0, 32, value);
    else
        roce_le32_put(at, value);
}

static void add_u32(struct block *block, uint32_t value)
{
    uint8_t *at = add_room(block, 4);

    if (at)
        put_u32(block, at, value);
}

/* Adds bytes and pads the block with zeros to a multiple of 4. */
static void add_bytes(struct block *block, const void *bytes, uint32_t len)
{
    uint8_t *at = add_room(block, padded(len));

    if (at && len) {
        memset(at + padded(len) - 4, 0, 4);
        memcpy(at, bytes, len);
    }
}

static void add_option(struct block *block, uint16_t code, const void *value, uint32_t len)
{
    add_u32(block, block->big ? (uint32_t)code << 16 | len : code | len << 16);
    add_bytes(block, value, len);
}

static void add_comments(struct block *block, const char *const *comment, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++) {
        size_t len = strlen(comment[i]);

        if (len > PCAPNG_COMMENT_MAX) {
            len = PCAPNG_COMMENT_MAX;
            while (len > 0 && ((unsigned char)comment[i][len] & 0xC0) == 0x80)
                len--; /* do not cut inside a UTF-8 character */
        }
        add_option(block, OPT_COMMENT, comment[i], (uint32_t)len);
    }
}

static struct block begin_block(uint8_t *buf, size_t cap, uint32_t type, bool big)
{
    struct block block = {.buf = buf, .cap = cap, .big = big};

    add_u32(&block, type);
    add_u32(&block, 0);
    return block;
}

static size_t end_block(struct block *block)
{
    add_u32(block, (uint32_t)block->len + 4);
    if (block->len == SIZE_MAX)
        return 0;
    put_u32(block, block->buf + 4, (uint32_t)block->len);
    return block->len;
}

size_t pcapng_section(uint8_t *buf, size_t cap, const char *application)
{
    return pcapng_section_with(buf, cap, application, NULL);
}

size_t pcapng_section_with(uint8_t *buf, size_t cap, const char *application, const char *comment)
{
    struct block block = begin_block(buf, cap, PCAPNG_SECTION, false);

    add_u32(&block, BYTE_ORDER_MAGIC);
    add_u32(&block, 1);          /* version 1.0 */
    add_u32(&block, UINT32_MAX); /* length of the section: unknown */
    add_u32(&block, UINT32_MAX);
    if (comment)
        add_option(&block, OPT_COMMENT, comment, (uint32_t)strlen(comment));
    add_option(&block, OPT_SECTION_APPLICATION, application, (uint32_t)strlen(application));
    add_u32(&block, OPT_END);
    return end_block(&block);
}

size_t pcapng_interface(uint8_t *buf, size_t cap, const char *name, const char *description,
                        uint32_t linktype, uint32_t snaplen)
{
    static const uint8_t nanoseconds = 9; /* if_tsresol: the unit is 10^-9 s */
    struct block block = begin_block(buf, cap, PCAPNG_INTERFACE, false);

    add_u32(&block, linktype);
    add_u32(&block, snaplen);
    if (name)
        add_option(&block, OPT_IF_NAME, name, (uint32_t)strlen(name));
    if (description)
        add_option(&block, OPT_IF_DESCRIPTION, description, (uint32_t)strlen(description));
    add_option(&block, OPT_IF_TSRESOL, &nanoseconds, 1);
    add_u32(&block, OPT_END);
    return end_block(&block);
}

size_t pcapng_packet(uint8_t *buf, size_t cap, const struct pcapng_frame *frame)
{
    struct block block = begin_block(buf, cap, PCAPNG_PACKET, false);
    uint8_t flags[4], process[8] = {0};

    add_u32(&block, frame->iface);
    add_u32(&block, (uint32_t)(frame->time >> 32));
    add_u32(&block, (uint32_t)frame->time);
    add_u32(&block, frame->cap_len);
    add_u32(&block, frame->wire_len);
    add_bytes(&block, frame->data, frame->cap_len);
    roce_le32_put(flags, frame->direction);
    if (frame->direction != PCAPNG_UNKNOWN)
        add_option(&block, OPT_PACKET_FLAGS, flags, sizeof(flags));
    roce_le32_put(process, frame->process); /* thread id 0: unknown */
    if (frame->process)
        add_option(&block, OPT_PACKET_PROCESS, process, sizeof(process));
    add_comments(&block, frame->comment, frame->comment_cnt);
    if (frame->direction != PCAPNG_UNKNOWN || frame->process || frame->comment_cnt)
        add_u32(&block, OPT_END);
    return end_block(&block);
}

/* Returns the length of the options of a block, not counting the end-of-options option. */
static uint32_t options_len(bool big, const uint8_t *block, uint32_t len, uint32_t begin)
{
    uint32_t off = begin, end = len - 4;

    while (end - off >= OPTION_LEN) {
        uint32_t size = padded(pcapng_u16(big, block + off + 2));

        if (pcapng_u16(big, block + off) == OPT_END || size > end - off - OPTION_LEN)
            break;
        off += OPTION_LEN + size;
    }
    return off - begin;
}

size_t pcapng_add_comments(uint8_t *buf, size_t cap, bool big, const uint8_t *block, uint32_t len,
                           const struct pcapng_packet *packet, const char *const *comment,
                           size_t cnt)
{
    bool simple = packet->options_off == 0;
    struct block out = begin_block(buf, cap, simple ? PCAPNG_PACKET : pcapng_u32(big, block), big);

    if (simple) {
        for (unsigned i = 0; i < 3; i++) /* A simple packet block contains neither interface nor
                                          * time stamp: write interface 0 and time stamp 0 (two
                                          * words). */
            add_u32(&out, 0);
        add_u32(&out, packet->cap_len);
        add_u32(&out, packet->wire_len);
        add_bytes(&out, block + packet->data_off, packet->cap_len);
    } else {
        add_bytes(&out, block + 8,
                  packet->options_off - 8 + options_len(big, block, len, packet->options_off));
    }
    add_comments(&out, comment, cnt);
    add_u32(&out, OPT_END);
    return end_block(&out);
}
