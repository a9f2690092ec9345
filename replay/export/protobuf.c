/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "export/protobuf.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64_BIT = 1, WIRE_BYTES = 2 };

/* Size of the length field of a submessage, bytes. protobuf_end() fills in the field, a varint. */
#define LENGTH_BYTES 4u

void protobuf_reset(struct protobuf *pb)
{
    pb->len = 0;
}

void protobuf_free(struct protobuf *pb)
{
    free(pb->bytes);
    *pb = (struct protobuf){0};
}

/* Appends `len` bytes for the caller to fill. Returns a pointer to these bytes, or NULL if memory
 * is exhausted. */
static uint8_t *add_room(struct protobuf *pb, size_t len)
{
    if (pb->cap - pb->len < len) {
        size_t cap = pb->cap ? pb->cap : 256;
        uint8_t *grown;

        while (cap - pb->len < len)
            cap *= 2;
        grown = realloc(pb->bytes, cap);
        if (!grown) {
            pb->failed = true;
            return NULL;
        }
        pb->bytes = grown;
        pb->cap = cap;
    }
    pb->len += len;
    return pb->bytes + pb->len - len;
}

static void put_raw_varint(struct protobuf *pb, uint64_t v)
{
    uint8_t buf[10];
    unsigned len = 0;
    uint8_t *to;

    for (; v >= 0x80; v >>= 7)
        buf[len++] = (uint8_t)(v | 0x80);
    buf[len++] = (uint8_t)v;
    to = add_room(pb, len);
    if (to)
        memcpy(to, buf, len);
}

static void put_key(struct protobuf *pb, unsigned field, unsigned wire_type)
{
    put_raw_varint(pb, field << 3 | wire_type);
}

void protobuf_put_varint(struct protobuf *pb, unsigned field, uint64_t v)
{
    put_key(pb, field, WIRE_VARINT);
    put_raw_varint(pb, v);
}

void protobuf_put_fixed64(struct protobuf *pb, unsigned field, uint64_t v)
{
    uint8_t *to;

    put_key(pb, field, WIRE_64_BIT);
    to = add_room(pb, 8);
    for (unsigned i = 0; to && i < 8; i++)
        to[i] = (uint8_t)(v >> 8 * i);
}

void protobuf_put_string(struct protobuf *pb, unsigned field, const char *text)
{
    size_t len = strlen(text);
    uint8_t *to;

    put_key(pb, field, WIRE_BYTES);
    put_raw_varint(pb, len);
    to = add_room(pb, len);
    if (to && len)
        memcpy(to, text, len);
}

size_t protobuf_begin(struct protobuf *pb, unsigned field)
{
    put_key(pb, field, WIRE_BYTES);
    add_room(pb, LENGTH_BYTES);
    return pb->len;
}

void protobuf_end(struct protobuf *pb, size_t place)
{
    size_t len = pb->len - place;

    if (pb->failed)
        return;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        pb->bytes[place - LENGTH_BYTES + i] =
            (uint8_t)((len >> 7 * i & 0x7F) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}
