/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Pieces: the parts of the work for a single-packet WRITE that do not concern its QPs: headers, CRC
 * and payload copies. A benchmark runs each piece separately and measures its time.
 */
#ifndef BENCH_PIECES_H
#define BENCH_PIECES_H

#include <stddef.h>
#include <stdint.h>

enum bench_piece {
    BENCH_BUILD, /* build the headers and compute the CRC over them */
    BENCH_OUT,   /* copy the payload into a frame and compute its CRC */
    BENCH_PARSE, /* parse the headers */
    BENCH_CHECK, /* check the ICRC of the whole frame */
    BENCH_IN,    /* copy the payload out of the frame */
    BENCH_PIECE_CNT
};

extern const char *const bench_piece_names[BENCH_PIECE_CNT];

/* Prepares packets with `len` bytes of payload. Successive packets copy their payload from
 * successive parts of `from` and to successive parts of `to`; both have `room` bytes. */
void bench_pieces_init(const uint8_t *from, uint8_t *to, size_t room, uint32_t len);

/* Executes one piece `cnt` times. */
void bench_piece_run(enum bench_piece piece, uint64_t cnt);

#endif
