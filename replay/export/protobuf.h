/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Protobuf: encodes messages in the wire format of Protocol Buffers
 * (https://protobuf.dev/programming-guides/encoding). perfetto.c uses it.
 *
 *   1. protobuf_reset(),
 *   2. protobuf_put_...() for each field; protobuf_begin() and protobuf_end() around a submessage,
 *   3. read `bytes` and `len`.
 *
 * The buffer grows as needed and is freed with protobuf_free(). If memory is exhausted, `failed` is
 * set and the message is incomplete.
 */
#ifndef REPLAY_EXPORT_PROTOBUF_H
#define REPLAY_EXPORT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
    uint8_t *bytes;
    size_t len, cap;
    bool failed;
};

void protobuf_reset(struct protobuf *pb);
void protobuf_free(struct protobuf *pb);

void protobuf_put_varint(struct protobuf *pb, unsigned field, uint64_t v);
void protobuf_put_fixed64(struct protobuf *pb, unsigned field, uint64_t v);
void protobuf_put_string(struct protobuf *pb, unsigned field, const char *text);

/* Starts a submessage of at most 256 MiB. Returns its position, which the caller passes to
 * protobuf_end(). */
size_t protobuf_begin(struct protobuf *pb, unsigned field);
void protobuf_end(struct protobuf *pb, size_t place);

#endif
