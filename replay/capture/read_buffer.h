/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Read buffer: reads a stream in large pieces, without copying each record. pcap_parse.c parses the
 * records in the buffer.
 *
 * A record returned to the caller stays valid until READ_BUFFER_KEEP more pieces were used, so that
 * another thread can process it later. If a pipe pauses, the bytes that have arrived can be read.
 * If the file is not compressed, several threads may read the next pieces ahead, each into its own
 * memory. The thread that read a piece then finds it in the cache of its core.
 *
 * `check` needs each frame only for a short time. All its threads read ahead; mapping the file into
 * memory was not faster (tests/bench/README.md). `replay` needs all frames until its end. It maps
 * the file (mmap_file.h), because reading would need as much memory as the file has bytes.
 *
 *   1. read_buffer_open(); then optionally, after the first piece was read, read_buffer_map() or
 *      read_buffer_begin_ahead().
 *   2. read_buffer_peek() returns the next bytes, and read_buffer_take() skips them. After
 *      read_buffer_keep() the bytes stay valid while later pieces are read.
 *   3. read_buffer_close().
 *
 * read_buffer_peek() returns NULL at the end; `end`, `no_memory` and ferror() of the file show the
 * reason.
 */
#ifndef REPLAY_CAPTURE_READ_BUFFER_H
#define REPLAY_CAPTURE_READ_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "capture/decompress.h"

#define READ_BUFFER_KEEP 8u /* number of pieces that stay valid */

/* Length of a piece, bytes. It fits into the second level cache: measurements show that reading the
 * file and computing a CRC over its bytes is fastest with 64 to 512 KiB. */
#define READ_CHUNK_LEN ((size_t)256 << 10)

#define READ_BUFFER_RING (READ_BUFFER_KEEP + 1u)

/* Maximum number of pieces that are read ahead. Each thread reads at most one piece ahead. */
#define READ_AHEAD_PIECES 16u
#define READ_AHEAD_THREADS                                                                         \
    17u /* numbers 1 to 16 are threads that read ahead; 0 is the caller, which reads a piece that  \
         * no thread has read ahead */
#define READ_AHEAD_BUFFERS 12u /* of a thread: READ_BUFFER_KEEP old pieces and 4 newer ones */

struct chunk {
    uint8_t *p;
    size_t cap;
};

/* The buffers of a thread that reads ahead, and the number of the piece in each. */
struct ahead_memory {
    uint8_t *room[READ_AHEAD_BUFFERS];
    uint64_t piece[READ_AHEAD_BUFFERS];
    uint64_t last; /* number of the newest piece in the buffers */
};

/* A piece of the file that was read ahead. A record may begin in the piece before. So HEADROOM
 * bytes of free space precede the bytes of the piece, for the first part of this record. `p` points
 * to the free space. */
struct ahead_piece {
    uint8_t *p;
    size_t len; /* length, bytes; less than READ_CHUNK_LEN at the end of the file or after a read
                 * error */
    _Atomic uint64_t filled; /* number of the piece + 1, set when the thread has read the piece */
};

struct read_ahead {
    bool on;
    uint64_t off; /* file offset of piece 1; piece 0 was read before read-ahead began */
    /* Number of the first piece that no thread has claimed yet; 0: no read-ahead. */
    _Atomic uint64_t claimed;
    _Atomic uint64_t used;   /* number of the current piece */
    _Atomic uint64_t oldest; /* number of the oldest piece with frames that are still needed */
    struct ahead_piece
        piece[READ_AHEAD_PIECES + 1]; /* piece n has index n % (READ_AHEAD_PIECES + 1) */
    struct ahead_memory reader[READ_AHEAD_THREADS];
};

struct read_buffer {
    FILE *file; /* input stream, owned by the caller */
    /* Decompressor that writes to `file`. NULL: the file is not compressed. A read that returns too
     * few bytes has then reached the end of the file. */
    const struct decompress *decompress;
    struct chunk ring[READ_BUFFER_RING];
    unsigned at;
    struct read_ahead ahead;
    /* The current piece. It is in the ring of chunks, in ahead_memory, or in the mapped file. */
    uint8_t *p;
    size_t off, len; /* number of consumed bytes, and length, of the current piece */
    bool kept;       /* a record of the current piece must stay valid */
    bool end;        /* no data follows the current piece */
    bool no_memory;
};

/* Initializes the buffer. read_buffer_close() frees it, and also accepts a zero-initialised
 * buffer. */
void read_buffer_open(struct read_buffer *buf, FILE *file, const struct decompress *decompress);
void read_buffer_close(struct read_buffer *buf);

/* Replaces the first piece by the whole file, which the caller has mapped and unmaps later. */
void read_buffer_map(struct read_buffer *buf, uint8_t *mapped, size_t len);

/*
 * Begins to read ahead. Threads may then call read_buffer_read_ahead() at any time except during
 * read_buffer_close(). Pieces are numbered from 0, which is the current piece at this call. Records
 * of a piece are valid until read_buffer_release() is called with the number of a later piece.
 */
void read_buffer_begin_ahead(struct read_buffer *buf);

/* Returns the number of the current piece; 0 without read-ahead. */
uint64_t read_buffer_piece(const struct read_buffer *buf);
void read_buffer_release(struct read_buffer *buf, uint64_t oldest);

/* read_buffer_may_read_ahead() returns whether thread `who` may read a piece ahead.
 * read_buffer_read_ahead() reads the first piece that no thread has claimed, and returns true.
 * Returns false if the thread may not read, lost the piece to another thread, or has no free
 * buffer. */
bool read_buffer_may_read_ahead(const struct read_buffer *buf, unsigned who);
bool read_buffer_read_ahead(struct read_buffer *buf, unsigned who);

/* Returns whether thread `who` has read the piece after the current one. */
bool read_buffer_has_next(const struct read_buffer *buf, unsigned who);

/* Returns the file offset of the end of the bytes read so far. Any thread may call it. */
uint64_t read_buffer_position(const struct read_buffer *buf);

/* Slow path of read_buffer_peek(): reads the next piece of the file. Returns what
 * read_buffer_peek() returns. */
const uint8_t *read_buffer_refill(struct read_buffer *buf, size_t len);

/* Returns whether the next `len` bytes are in the current piece. */
static inline bool read_buffer_has(const struct read_buffer *buf, size_t len)
{
    return len <= buf->len - buf->off;
}

/* Returns a pointer to the next byte. read_buffer_has() returns whether enough bytes follow. */
static inline const uint8_t *read_buffer_here(const struct read_buffer *buf)
{
    return buf->p + buf->off;
}

/*
 * Returns the next `len` bytes, or NULL if fewer bytes are left in the stream; read_buffer_left()
 * then returns their number. The bytes are valid until the next call, or longer after
 * read_buffer_keep().
 */
static inline const uint8_t *read_buffer_peek(struct read_buffer *buf, size_t len)
{
    if (read_buffer_has(buf, len) && buf->len > 0)
        return read_buffer_here(buf);
    return read_buffer_refill(buf, len);
}

/* Skips bytes that read_buffer_peek() returned. */
static inline void read_buffer_take(struct read_buffer *buf, size_t len)
{
    buf->off += len;
}

/* Extends the validity of the bytes that the latest read_buffer_peek() returned. They become
 * invalid when this function has been called for bytes of READ_BUFFER_KEEP later pieces. */
static inline void read_buffer_keep(struct read_buffer *buf)
{
    buf->kept = true;
}

static inline size_t read_buffer_left(const struct read_buffer *buf)
{
    return buf->len - buf->off;
}

#endif
