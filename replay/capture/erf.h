/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ERF: the record header that capture cards put before a frame (link type 197). Source: Endace,
 * "ERF Types Reference Guide", 2.x: 16 bytes of header, extension headers of 8 bytes, and for
 * Ethernet two bytes of padding.
 */
#ifndef REPLAY_CAPTURE_ERF_H
#define REPLAY_CAPTURE_ERF_H

#include <stdbool.h>
#include "wire/pkt.h"

struct erf_frame {
    enum roce_link link;
    const uint8_t *data; /* first byte of the frame, in the record */
    uint32_t cap_len;
    uint32_t wire_len; /* length on the wire, bytes; >= cap_len */
};

/* Finds the frame in a record of `len` bytes. Returns false if the record ends before the frame, or
 * its type is not Ethernet, IP or InfiniBand. */
bool erf_frame(struct erf_frame *out, const uint8_t *record, uint32_t len);

#endif
