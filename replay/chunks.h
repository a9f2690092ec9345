/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Chunks: a stream read in large pieces, of which each record is looked at where it lies. What was
 * handed out stays there until CHUNKS_KEEP more pieces were used, so that frames can wait for
 * another thread without being copied. Of a stream that pauses what is there is shown at once. Of
 * a plain file other threads may read the next pieces meanwhile.
 */
#ifndef REPLAY_CHUNKS_H
#define REPLAY_CHUNKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "inflate.h"

#define CHUNKS_KEEP 4u

/* Read at a time: small enough for the second level cache (measured: reading and a CRC over what
 * was read is quickest from 64 to 512 KiB). */
#define CHUNK_LEN ((size_t)256 << 10)

/* So many pieces may be read before they are wanted. */
#define CHUNKS_AHEAD 2u
#define CHUNKS_RING  (CHUNKS_KEEP + 1u + CHUNKS_AHEAD)

struct chunk {
    uint8_t *p;
    size_t cap;
};

/* Pieces of the file that are read before they are wanted. Piece n goes to slot n % CHUNKS_RING,
 * behind room for what is left of the record that began in the piece before. */
struct chunks_ahead {
    bool on;
    uint64_t off, first;      /* where the first of them is in the file, and its number */
    _Atomic uint64_t claimed; /* the next that nobody reads yet */
    _Atomic uint64_t used;    /* the present one */
    _Atomic uint64_t filled[CHUNKS_RING]; /* the number of the piece there, plus 1 */
    size_t len[CHUNKS_RING]; /* shorter than CHUNK_LEN at the end, or if it could not be read */
};

struct chunks {
    FILE *file;                    /* the caller's */
    const struct inflate *inflate; /* behind it; NULL: a read that is short is the end */
    struct chunk ring[CHUNKS_RING];
    unsigned at;
    struct chunks_ahead ahead;
    size_t off, len; /* of the present chunk: bytes taken, bytes there */
    bool kept;       /* something in the present chunk was handed out to keep */
    bool end;        /* nothing follows what is in the present chunk */
    bool no_memory;
    bool mapped; /* what is there is the caller's */
};

/* A zeroed one is closed. */
void chunks_open(struct chunks *chunks, FILE *file, const struct inflate *inflate);
void chunks_close(struct chunks *chunks);

/* Nothing but the first chunk was read: shows the whole stream instead where the caller has mapped
 * it, `len` bytes, which stay valid until it unmaps them. */
void chunks_map(struct chunks *chunks, uint8_t *mapped, size_t len);

/* Nothing but the first chunk of a plain file was read: from now on chunks_read_ahead() may be
 * called, by any thread and while another uses the chunks in whatever way but to close them: it
 * reads a piece that will be wanted soon, if there is one. Without memory it does nothing. */
void chunks_begin_ahead(struct chunks *chunks);
void chunks_read_ahead(struct chunks *chunks);

/* How far the file has been read. Any thread may ask. */
uint64_t chunks_position(const struct chunks *chunks);

/* The slow way of chunks_peek(). */
const uint8_t *chunks_refill(struct chunks *chunks, size_t len);

/* Whether the next `len` bytes are in the present chunk. */
static inline bool chunks_has(const struct chunks *chunks, size_t len)
{
    return len <= chunks->len - chunks->off;
}

/* Where the next byte is; it is there if chunks_has() says so of one. */
static inline const uint8_t *chunks_here(const struct chunks *chunks)
{
    return chunks->ring[chunks->at].p + chunks->off;
}

/*
 * The next `len` bytes in one piece, or NULL if the stream ends before: then chunks_left() says how
 * many there are. They are valid until the next call, or longer after chunks_keep().
 */
static inline const uint8_t *chunks_peek(struct chunks *chunks, size_t len)
{
    if (chunks_has(chunks, len) && chunks->len > 0)
        return chunks_here(chunks);
    return chunks_refill(chunks, len);
}

/* Steps over bytes that chunks_peek() showed. */
static inline void chunks_take(struct chunks *chunks, size_t len)
{
    chunks->off += len;
}

/* What was shown last stays valid until CHUNKS_KEEP later chunks had something to keep. */
static inline void chunks_keep(struct chunks *chunks)
{
    chunks->kept = true;
}

static inline size_t chunks_left(const struct chunks *chunks)
{
    return chunks->len - chunks->off;
}

#endif
