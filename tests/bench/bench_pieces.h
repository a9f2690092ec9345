/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pieces: the costs of a single-packet WRITE without the work of its QPs, that is of its headers
 * and its payload copies. Each piece is measured separately, as often as the caller requests.
 */
#ifndef BENCH_PIECES_H
#define BENCH_PIECES_H

#include <stddef.h>
#include <stdint.h>

enum bench_piece {
    BENCH_BUILD, /* build the headers, with their part of the ICRC */
    BENCH_OUT,   /* copy the payload into a frame and compute its CRC */
    BENCH_PARSE, /* parse the headers */
    BENCH_CHECK, /* check the ICRC of the whole frame */
    BENCH_IN,    /* copy the payload out of the frame */
    BENCH_PIECE_CNT
};

extern const char *const bench_piece_names[BENCH_PIECE_CNT];

/* Prepares packets of `len` payload bytes. `from` and `to` have `room` bytes each, and successive
 * packets use successive parts of them. */
void bench_pieces_init(const uint8_t *from, uint8_t *to, size_t room, uint32_t len);

/* Does the work of one of these pieces `cnt` times. */
void bench_piece_run(enum bench_piece piece, uint64_t cnt);

#endif
