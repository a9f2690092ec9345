/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The input of fuzz targets that read single frames, as make_corpus.c writes it. Byte 0 selects the
 * link type, which determines the first header of the frame. Byte 1 is the number of bytes that
 * were on the wire but not captured. The captured bytes of the frame follow.
 */
#ifndef FUZZ_FRAME_H
#define FUZZ_FRAME_H

#include "fuzz.h"
#include "wire/pkt.h"

#define FUZZ_FRAME_HEAD 2

struct fuzz_frame {
    enum roce_link link;
    const uint8_t *p;
    size_t cap_len;
    size_t wire_len;
};

/* Splits an input into its parts. Returns true, or false if the input has fewer than two bytes. */
static inline bool fuzz_frame(struct fuzz_frame *f, const uint8_t *data, size_t size)
{
    if (size < FUZZ_FRAME_HEAD)
        return false;
    f->link = (enum roce_link)(data[0] % (ROCE_LINK_BTH + 1));
    f->p = data + FUZZ_FRAME_HEAD;
    f->cap_len = size - FUZZ_FRAME_HEAD;
    f->wire_len = f->cap_len + data[1];
    return true;
}

#endif
