/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ERF: the record that capture cards put before a frame (link type 197). Source: Endace, "ERF Types
 * Reference Guide", 2.x: 16 bytes of header, extension headers of 8 bytes, and for Ethernet two
 * bytes of padding.
 */
#ifndef REPLAY_CAPTURE_ERF_H
#define REPLAY_CAPTURE_ERF_H

#include <stdbool.h>
#include "wire/pkt.h"

struct erf_frame {
    enum roce_link link;
    const uint8_t *data; /* inside the record */
    uint32_t cap_len;
    uint32_t wire_len; /* >= cap_len */
};

/* The frame in a record of `len` bytes; false if it is cut before the frame or of a type that holds
 * neither Ethernet, IP nor InfiniBand. */
bool erf_frame(struct erf_frame *out, const uint8_t *record, uint32_t len);

#endif
