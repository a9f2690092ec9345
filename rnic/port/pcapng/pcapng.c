/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/pcapng/pcapng.h"

#include <string.h>
#include "wire/bytes.h"

#define BLOCK_SECTION 0x0A0D0D0Au
#define BLOCK_IFACE   1u
#define BLOCK_FRAME   6u
#define BLOCK_MARK    0x80000001u
#define MAGIC         0x1A2B3C4Du
#define LINK_ETHERNET 1u

#define OPT_END     0u
#define OPT_COMMENT 1u
#define OPT_FLAGS   2u /* of a frame */
#define OPT_IF_NAME 2u
#define OPT_TSRESOL 9u
#define OPT_APPL    4u /* of the section */

/* A block being written. */
struct block {
    uint8_t *buf;
    size_t cap;
    size_t len; /* SIZE_MAX: it did not fit */
};

static uint8_t *room(struct block *block, size_t len)
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

static void put32(struct block *block, uint32_t value)
{
    uint8_t *at = room(block, 4);

    if (at)
        roce_le32_put(at, value);
}

/* Bytes, filled up with zeros to a multiple of 4. */
static void put_bytes(struct block *block, const void *bytes, size_t len)
{
    size_t padded = (len + 3) & ~(size_t)3;
    uint8_t *at = room(block, padded);

    if (at && len) {
        memset(at + padded - 4, 0, 4);
        memcpy(at, bytes, len);
    }
}

static void put_option(struct block *block, unsigned code, const void *value, size_t len)
{
    put32(block, code | (uint32_t)len << 16);
    put_bytes(block, value, len);
}

static struct block begin(uint8_t *buf, size_t cap, uint32_t type)
{
    struct block block = {.buf = buf, .cap = cap};

    put32(&block, type);
    put32(&block, 0);
    return block;
}

static size_t end(struct block *block)
{
    put32(block, OPT_END);
    put32(block, (uint32_t)block->len + 4);
    if (block->len == SIZE_MAX)
        return 0;
    roce_le32_put(block->buf + 4, (uint32_t)block->len);
    return block->len;
}

size_t rnic_pcapng_section(uint8_t *buf, size_t cap)
{
    static const char application[] = "RoCEdrill";
    struct block block = begin(buf, cap, BLOCK_SECTION);

    put32(&block, MAGIC);
    put32(&block, 1);          /* version 1.0 */
    put32(&block, UINT32_MAX); /* its length is not known */
    put32(&block, UINT32_MAX);
    put_option(&block, OPT_APPL, application, sizeof(application) - 1);
    return end(&block);
}

size_t rnic_pcapng_iface(uint8_t *buf, size_t cap, const char *name)
{
    static const uint8_t nanoseconds = 9;
    struct block block = begin(buf, cap, BLOCK_IFACE);

    put32(&block, LINK_ETHERNET);
    put32(&block, 0); /* frames are not cut */
    put_option(&block, OPT_IF_NAME, name, strlen(name));
    put_option(&block, OPT_TSRESOL, &nanoseconds, 1);
    return end(&block);
}

size_t rnic_pcapng_frame(uint8_t *buf, size_t cap, uint32_t iface, uint64_t stamp,
                         enum rnic_pcapng_way way, const char *comment, const uint8_t *data,
                         uint32_t len)
{
    struct block block = begin(buf, cap, BLOCK_FRAME);
    uint8_t flags[4];

    put32(&block, iface);
    put32(&block, (uint32_t)(stamp >> 32));
    put32(&block, (uint32_t)stamp);
    put32(&block, len);
    put32(&block, len);
    put_bytes(&block, data, len);
    roce_le32_put(flags, way);
    put_option(&block, OPT_FLAGS, flags, sizeof(flags));
    if (comment) {
        size_t size = strlen(comment);

        put_option(&block, OPT_COMMENT, comment,
                   size < RNIC_PCAPNG_COMMENT_MAX ? size : RNIC_PCAPNG_COMMENT_MAX);
    }
    return end(&block);
}

size_t rnic_pcapng_mark(uint8_t *buf, size_t cap, uint64_t stamp)
{
    struct block block = begin(buf, cap, BLOCK_MARK);

    put32(&block, (uint32_t)(stamp >> 32));
    put32(&block, (uint32_t)stamp);
    return end(&block);
}

/* Whether an interface block has that name. */
static bool named(const uint8_t *block, size_t len, const char *name)
{
    size_t at = 16;

    while (at + 4 <= len - 4) {
        unsigned code = roce_le16_get(block + at);
        size_t size = roce_le16_get(block + at + 2);

        if (code == OPT_END || size > len - 4 - at - 4)
            return false;
        if (code == OPT_IF_NAME && size == strlen(name) && memcmp(block + at + 4, name, size) == 0)
            return true;
        at += 4 + ((size + 3) & ~(size_t)3);
    }
    return false;
}

int rnic_pcapng_find(const uint8_t *file, size_t len, const char *name, uint32_t *cnt)
{
    size_t at = 0;
    int found = -1;

    *cnt = 0;
    while (at < len) {
        const uint8_t *block = file + at;
        uint32_t type;
        size_t size;

        if (len - at < 12)
            return -1;
        type = roce_le32_get(block);
        size = roce_le32_get(block + 4);
        if (size < 12 || size % 4 || size > len - at || roce_le32_get(block + size - 4) != size)
            return -1;
        if ((type == BLOCK_SECTION) != (at == 0) ||
            (type == BLOCK_SECTION && (size < 28 || roce_le32_get(block + 8) != MAGIC)))
            return -1;
        if (type == BLOCK_IFACE) {
            if (size < 20)
                return -1;
            if (found < 0 && roce_le16_get(block + 8) == LINK_ETHERNET && named(block, size, name))
                found = (int)*cnt;
            (*cnt)++;
        }
        at += size;
    }
    return found < 0 ? (int)*cnt : found;
}
