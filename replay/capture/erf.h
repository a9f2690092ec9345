/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ERF: the record header that capture cards put before a frame (link type 197). A record is a
 * header of 16 bytes, optional extension headers of 8 bytes each, and for Ethernet two bytes of
 * padding, then the frame. Source: Endace, "ERF Types Reference Guide", 2.x.
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

/* Finds the frame in a record of `len` bytes. Returns true and fills `out`. Returns false if the
 * record ends before the frame begins, or its type is not Ethernet, IP or InfiniBand. */
bool erf_frame(struct erf_frame *out, const uint8_t *record, uint32_t len);

#endif
