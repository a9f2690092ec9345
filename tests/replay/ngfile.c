/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "ngfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "wire/bytes.h"

/* Body of the block under construction. */
struct body {
    uint8_t p[270000]; /* larger than the longest block that the tests build */
    size_t len;
    bool big;
};

static struct body body;

static void begin(const struct ngfile *f)
{
    body.len = 0;
    body.big = f->big;
}

static void put(uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        body.p[body.len++] = (uint8_t)(v >> 8 * (body.big ? bytes - 1 - i : i));
}

static void put_bytes(const void *p, size_t len)
{
    memcpy(body.p + body.len, p, len);
    body.len += len;
    while (body.len % 4)
        body.p[body.len++] = 0;
}

static void put_option(uint16_t code, const void *p, uint16_t len)
{
    put(code, 2);
    put(len, 2);
    put_bytes(p, len);
}

size_t ng_block(struct ngfile *f, uint32_t type, const void *data, size_t len)
{
    size_t off = f->len;
    static uint8_t keep[sizeof(body.p)]; /* copy, because `data` may be a part of `body` */

    if (len > sizeof(keep))
        exit(2);
    memcpy(keep, data, len);
    if (f->cap < f->len + len + 12) {
        f->cap = 2 * (f->len + len + 12);
        f->p = realloc(f->p, f->cap);
        if (!f->p)
            exit(2);
    }
    begin(f);
    put(type, 4);
    put(len + 12, 4);
    memcpy(f->p + off, body.p, 8);
    memcpy(f->p + off + 8, keep, len);
    memcpy(f->p + off + 8 + len, body.p + 4, 4);
    f->len += len + 12;
    return off;
}

size_t ng_section(struct ngfile *f, bool big, uint64_t len)
{
    f->big = big;
    begin(f);
    put(0x1A2B3C4D, 4);
    put(1, 2);
    put(0, 2);
    put(len, 8);
    put_option(4, "a test", 6);
    put(0, 4);
    return ng_block(f, 0x0A0D0D0A, body.p, body.len);
}

size_t ng_interface(struct ngfile *f, uint16_t linktype, uint32_t snaplen, uint8_t tsresol,
                    int64_t tsoffset)
{
    begin(f);
    put(linktype, 2);
    put(0, 2);
    put(snaplen, 4);
    put_option(2, "eth7", 4);
    if (tsresol)
        put_option(9, &tsresol, 1);
    if (tsoffset) {
        put(14, 2);
        put(8, 2);
        put((uint64_t)tsoffset, 8);
    }
    put(0, 4);
    return ng_block(f, 1, body.p, body.len);
}

size_t ng_enhanced(struct ngfile *f, uint32_t iface, uint64_t stamp, const void *data, uint32_t len,
                   const char *comment)
{
    begin(f);
    put(iface, 4);
    put(stamp >> 32, 4);
    put(stamp & 0xFFFFFFFF, 4);
    put(len, 4);
    put(len, 4);
    put_bytes(data, len);
    if (comment) {
        /* The packet is inbound (epb_flags). */
        uint8_t flags[4] = {body.big ? 0 : 1, 0, 0, body.big ? 1 : 0};

        put_option(1, comment, (uint16_t)strlen(comment));
        put_option(2, flags, 4);
        put(0, 4);
    }
    return ng_block(f, 6, body.p, body.len);
}

size_t ng_obsolete(struct ngfile *f, uint16_t iface, uint64_t stamp, const void *data, uint32_t len)
{
    begin(f);
    put(iface, 2);
    put(0, 2);
    put(stamp >> 32, 4);
    put(stamp & 0xFFFFFFFF, 4);
    put(len, 4);
    put(len, 4);
    put_bytes(data, len);
    return ng_block(f, 2, body.p, body.len);
}

size_t ng_simple(struct ngfile *f, const void *data, uint32_t len)
{
    begin(f);
    put(len, 4);
    put_bytes(data, len);
    return ng_block(f, 3, body.p, body.len);
}

size_t ng_name(struct ngfile *f, const uint8_t addr[4], const char *name)
{
    begin(f);
    put(1, 2);
    put(4 + strlen(name) + 1, 2);
    memcpy(body.p + body.len, addr, 4);
    body.len += 4;
    put_bytes(name, strlen(name) + 1);
    put(0, 4);
    return ng_block(f, 4, body.p, body.len);
}

void ng_write(const struct ngfile *f, const char *path)
{
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(f->p, 1, f->len, file) != f->len || fclose(file) != 0)
        exit(2);
}

void ng_free(struct ngfile *f)
{
    free(f->p);
    *f = (struct ngfile){0};
}
