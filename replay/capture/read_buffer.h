/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Chunks: a stream read in large pieces, of which each record is looked at where it lies. What was
 * handed out stays there until READ_BUFFER_KEEP more pieces were used, so that frames can wait for
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

#define READ_BUFFER_KEEP 4u

/* Read at a time: small enough for the second level cache (measured: reading and a CRC over what
 * was read is quickest from 64 to 512 KiB). */
#define READ_CHUNK_LEN ((size_t)256 << 10)

#define READ_BUFFER_RING (READ_BUFFER_KEEP + 1u)

/* So many pieces may be read before they are wanted, one by each thread. */
#define READ_AHEAD_PIECES 2u
#define READ_AHEAD_THREADS                                                                         \
    3u                        /* 0 is whoever wants what nobody has read; the threads are 1 and 2  \
                               */
#define READ_AHEAD_BUFFERS 8u /* READ_BUFFER_KEEP pieces, the present one, those ahead */

struct chunk {
    uint8_t *p;
    size_t cap;
};

/* The memory of a thread, and the numbers of the pieces that are in it. */
struct ahead_memory {
    uint8_t *room[READ_AHEAD_BUFFERS];
    uint64_t piece[READ_AHEAD_BUFFERS];
    uint64_t last; /* the newest of them */
};

/* A piece that was read before it is wanted, behind room for what is left of the record that began
 * in the piece before. */
struct ahead_piece {
    uint8_t *p;
    size_t len; /* shorter than READ_CHUNK_LEN at the end, or if it could not be read */
    _Atomic uint64_t filled; /* its number, plus 1 */
};

struct read_ahead {
    bool on;
    uint64_t off;             /* where piece 1 is in the file; piece 0 was read in order */
    _Atomic uint64_t claimed; /* the next that nobody reads yet; 0: none is read ahead */
    _Atomic uint64_t used;    /* the present one */
    _Atomic uint64_t oldest;  /* those before are not needed any more */
    struct ahead_piece piece[READ_AHEAD_PIECES + 1]; /* number n is at n % of that */
    struct ahead_memory reader[READ_AHEAD_THREADS];
};

struct read_buffer {
    FILE *file;                          /* the caller's */
    const struct decompress *decompress; /* behind it; NULL: a read that is short is the end */
    struct chunk ring[READ_BUFFER_RING];
    unsigned at;
    struct read_ahead ahead;
    uint8_t *p;      /* the present chunk: of the ring, a reader's or mapped */
    size_t off, len; /* of it: bytes taken, bytes there */
    bool kept;       /* something in the present chunk was handed out to keep */
    bool end;        /* nothing follows what is in the present chunk */
    bool no_memory;
};

/* A zeroed one is closed. */
void read_buffer_open(struct read_buffer *buf, FILE *file, const struct decompress *decompress);
void read_buffer_close(struct read_buffer *buf);

/* Nothing but the first chunk was read: shows the whole stream instead where the caller has mapped
 * it, `len` bytes, which stay valid until it unmaps them. */
void read_buffer_map(struct read_buffer *buf, uint8_t *mapped, size_t len);

/*
 * Nothing but the first chunk of a plain file was read: from now on threads may read pieces ahead,
 * also while one of them uses the chunks in whatever way but to close them. Pieces are numbered;
 * what was handed out of one stays until read_buffer_release() has said that those before a later
 * one are not needed.
 */
void read_buffer_begin_ahead(struct read_buffer *buf);

/* The number of the present piece; 0 where nothing is read ahead. */
uint64_t read_buffer_piece(const struct read_buffer *buf);
void read_buffer_release(struct read_buffer *buf, uint64_t oldest);

/* Whether thread `who` has not yet read a piece ahead and may; then it can do so. False if it did
 * not: another did, or there is no room. */
bool read_buffer_may_read_ahead(const struct read_buffer *buf, unsigned who);
bool read_buffer_read_ahead(struct read_buffer *buf, unsigned who);

/* Whether the piece behind the present one is in the memory of thread `who`. */
bool read_buffer_has_next(const struct read_buffer *buf, unsigned who);

/* How far the file has been read. Any thread may ask. */
uint64_t read_buffer_position(const struct read_buffer *buf);

/* The slow way of read_buffer_peek(). */
const uint8_t *read_buffer_refill(struct read_buffer *buf, size_t len);

/* Whether the next `len` bytes are in the present chunk. */
static inline bool read_buffer_has(const struct read_buffer *buf, size_t len)
{
    return len <= buf->len - buf->off;
}

/* Where the next byte is; it is there if read_buffer_has() says so of one. */
static inline const uint8_t *read_buffer_here(const struct read_buffer *buf)
{
    return buf->p + buf->off;
}

/*
 * The next `len` bytes in one piece, or NULL if the stream ends before: then read_buffer_left()
 * says how many there are. They are valid until the next call, or longer after read_buffer_keep().
 */
static inline const uint8_t *read_buffer_peek(struct read_buffer *buf, size_t len)
{
    if (read_buffer_has(buf, len) && buf->len > 0)
        return read_buffer_here(buf);
    return read_buffer_refill(buf, len);
}

/* Steps over bytes that read_buffer_peek() showed. */
static inline void read_buffer_take(struct read_buffer *buf, size_t len)
{
    buf->off += len;
}

/* What was shown last stays valid until READ_BUFFER_KEEP later chunks had something to keep. */
static inline void read_buffer_keep(struct read_buffer *buf)
{
    buf->kept = true;
}

static inline size_t read_buffer_left(const struct read_buffer *buf)
{
    return buf->len - buf->off;
}

#endif
