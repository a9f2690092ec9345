/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pieces: what a WRITE Only of one packet costs beside its QPs: its headers and its payload on
 * their way from memory to memory, each measured alone, as often as its user asks for.
 */
#ifndef BENCH_PIECES_H
#define BENCH_PIECES_H

#include <stddef.h>
#include <stdint.h>

enum bench_piece {
    BENCH_BUILD, /* headers and their share of the ICRC */
    BENCH_OUT,   /* payload: copied into a frame and under the CRC */
    BENCH_PARSE, /* headers */
    BENCH_CHECK, /* the ICRC over all of the frame */
    BENCH_IN,    /* payload: copied out of the frame */
    BENCH_PIECE_CNT
};

extern const char *const bench_piece_names[BENCH_PIECE_CNT];

/* Prepares packets of `len` payload bytes that go from `from` to `to`, `room` bytes each, which
 * they walk through. */
void bench_pieces_init(const uint8_t *from, uint8_t *to, size_t room, uint32_t len);

/* Does the piece `cnt` times. */
void bench_piece_run(enum bench_piece piece, uint64_t cnt);

#endif
