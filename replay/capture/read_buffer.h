/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Chunks: a stream read in large pieces, of which each record is looked at where it lies. What was
 * handed out stays there until CHUNKS_KEEP more pieces were used, so that frames can wait for
 * another thread without being copied. Of a stream that pauses what is there is shown at once. Of
 * a plain file threads may read the next pieces meanwhile, each to memory of its own: what a thread
 * has read is in its core's cache when it looks at it, and nowhere else.
 */
#ifndef REPLAY_CAPTURE_READ_BUFFER_H
#define REPLAY_CAPTURE_READ_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "capture/decompress.h"

#define CHUNKS_KEEP 4u

/* Read at a time: small enough for the second level cache (measured: reading and a CRC over what
 * was read is quickest from 64 to 512 KiB). */
#define CHUNK_LEN ((size_t)256 << 10)

#define CHUNKS_RING (CHUNKS_KEEP + 1u)

/* So many pieces may be read before they are wanted, one by each thread. */
#define CHUNKS_AHEAD   2u
#define CHUNKS_READERS 3u /* 0 is whoever wants what nobody has read; the threads are 1 and 2 */
#define CHUNKS_ROOMS   8u /* CHUNKS_KEEP pieces, the present one, those ahead */

struct chunk {
    uint8_t *p;
    size_t cap;
};

/* The memory of a thread, and the numbers of the pieces that are in it. */
struct chunks_reader {
    uint8_t *room[CHUNKS_ROOMS];
    uint64_t piece[CHUNKS_ROOMS];
    uint64_t last; /* the newest of them */
};

/* A piece that was read before it is wanted, behind room for what is left of the record that began
 * in the piece before. */
struct chunks_piece {
    uint8_t *p;
    size_t len;              /* shorter than CHUNK_LEN at the end, or if it could not be read */
    _Atomic uint64_t filled; /* its number, plus 1 */
};

struct chunks_ahead {
    bool on;
    uint64_t off;             /* where piece 1 is in the file; piece 0 was read in order */
    _Atomic uint64_t claimed; /* the next that nobody reads yet; 0: none is read ahead */
    _Atomic uint64_t used;    /* the present one */
    _Atomic uint64_t oldest;  /* those before are not needed any more */
    struct chunks_piece piece[CHUNKS_AHEAD + 1]; /* number n is at n % of that */
    struct chunks_reader reader[CHUNKS_READERS];
};

struct chunks {
    FILE *file;                    /* the caller's */
    const struct inflate *inflate; /* behind it; NULL: a read that is short is the end */
    struct chunk ring[CHUNKS_RING];
    unsigned at;
    struct chunks_ahead ahead;
    uint8_t *p;      /* the present chunk: of the ring, a reader's or mapped */
    size_t off, len; /* of it: bytes taken, bytes there */
    bool kept;       /* something in the present chunk was handed out to keep */
    bool end;        /* nothing follows what is in the present chunk */
    bool no_memory;
};

/* A zeroed one is closed. */
void chunks_open(struct chunks *chunks, FILE *file, const struct inflate *inflate);
void chunks_close(struct chunks *chunks);

/* Nothing but the first chunk was read: shows the whole stream instead where the caller has mapped
 * it, `len` bytes, which stay valid until it unmaps them. */
void chunks_map(struct chunks *chunks, uint8_t *mapped, size_t len);

/*
 * Nothing but the first chunk of a plain file was read: from now on threads may read pieces ahead,
 * also while one of them uses the chunks in whatever way but to close them. Pieces are numbered;
 * what was handed out of one stays until chunks_release() has said that those before a later one
 * are not needed.
 */
void chunks_begin_ahead(struct chunks *chunks);

/* The number of the present piece; 0 where nothing is read ahead. */
uint64_t chunks_piece(const struct chunks *chunks);
void chunks_release(struct chunks *chunks, uint64_t oldest);

/* Whether thread `who` has not yet read a piece ahead and may; then it can do so. False if it did
 * not: another did, or there is no room. */
bool chunks_may_read_ahead(const struct chunks *chunks, unsigned who);
bool chunks_read_ahead(struct chunks *chunks, unsigned who);

/* Whether the piece behind the present one is in the memory of thread `who`. */
bool chunks_has_next(const struct chunks *chunks, unsigned who);

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
    return chunks->p + chunks->off;
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
