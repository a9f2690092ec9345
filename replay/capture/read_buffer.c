/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/read_buffer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Free space before each piece of the file that was read ahead. If a record begins in one piece and
 * ends in the next, its first part is copied into the space before the next piece. If the first
 * part is longer than this space, read-ahead ends and the rest of the file is read in order. */
#define HEADROOM ((size_t)64 << 10)
#define PAGE     ((size_t)4 << 10)

void read_buffer_open(struct read_buffer *buf, FILE *file, const struct decompress *decompress)
{
    *buf = (struct read_buffer){.file = file, .decompress = decompress};
}

void read_buffer_close(struct read_buffer *buf)
{
    for (unsigned i = 0; i < READ_BUFFER_RING; i++)
        free(buf->ring[i].p);
    for (unsigned i = 0; i < READ_AHEAD_THREADS; i++)
        for (unsigned k = 0; k < READ_AHEAD_BUFFERS; k++)
            free(buf->ahead.reader[i].room[k]);
    *buf = (struct read_buffer){0};
}

void read_buffer_map(struct read_buffer *buf, uint8_t *mapped, size_t len)
{
    for (unsigned i = 0; i < READ_BUFFER_RING; i++) {
        free(buf->ring[i].p);
        buf->ring[i] = (struct chunk){0};
    }
    buf->p = mapped;
    buf->len = len;
    buf->end = true;
}

/* Ensures that a chunk has at least `cap` bytes; its content is lost. Replaces a chunk larger than
 * READ_CHUNK_LEN if a small one suffices. Returns false if out of memory. */
static bool make_chunk(struct chunk *chunk, size_t cap)
{
    uint8_t *p;

    if (chunk->cap >= cap && (chunk->cap == READ_CHUNK_LEN || cap > READ_CHUNK_LEN))
        return true;
    p = malloc(cap);
    if (!p)
        return false;
    free(chunk->p);
    *chunk = (struct chunk){p, cap};
    return true;
}

/* ---- reading ahead ----------------------------------------------------------------------------
 */

void read_buffer_begin_ahead(struct read_buffer *c)
{
    struct read_ahead *ahead = &c->ahead;
    off_t off = ftello(c->file);

    if (off < 0 || c->end)
        return;
    ahead->off = (uint64_t)off;
    atomic_store(&ahead->claimed, 1);
    ahead->on = true;
}

/* Reads `len` bytes from file offset `off`. Returns the number of bytes read, which is less than
 * `len` at the end of the file or after an error. */
static size_t read_file_at(int fd, uint8_t *p, size_t len, uint64_t off)
{
    size_t got = 0;
    ssize_t n;

    do {
        n = pread(fd, p + got, len - got, (off_t)(off + got));
        got += n > 0 ? (size_t)n : 0;
    } while (n > 0 && got < len);
    return got;
}

static uint64_t offset_of(const struct read_ahead *ahead, uint64_t number)
{
    return ahead->off + (number - 1) * READ_CHUNK_LEN;
}

static struct ahead_piece *piece_of(struct read_ahead *ahead, uint64_t number)
{
    return &ahead->piece[number % (READ_AHEAD_PIECES + 1)];
}

/* Finds a buffer of the thread that contains no piece or a piece that is no longer needed. If there
 * are several, returns the one that was filled last, because it is still in the cache. Returns
 * READ_AHEAD_BUFFERS if no buffer is free. */
static unsigned find_free_buffer(struct read_ahead *ahead, struct ahead_memory *reader)
{
    uint64_t oldest = atomic_load(&ahead->oldest), used = atomic_load(&ahead->used);
    unsigned found = READ_AHEAD_BUFFERS;

    if (oldest > used)
        oldest = used;
    for (unsigned i = 0; i < READ_AHEAD_BUFFERS; i++) {
        if (!reader->room[i]) {
            if (found == READ_AHEAD_BUFFERS)
                reader->room[found = i] = aligned_alloc(PAGE, HEADROOM + READ_CHUNK_LEN);
            break;
        }
        if (reader->piece[i] < oldest &&
            (found == READ_AHEAD_BUFFERS || reader->piece[i] > reader->piece[found]))
            found = i;
    }
    return found < READ_AHEAD_BUFFERS && reader->room[found] ? found : READ_AHEAD_BUFFERS;
}

/* Reads piece `number` ahead. Does nothing if another thread has claimed the piece, or if no buffer
 * is free. Returns whether this thread read it. */
static bool claim_piece(struct read_buffer *c, unsigned who, uint64_t number)
{
    struct read_ahead *ahead = &c->ahead;
    struct ahead_memory *reader = &ahead->reader[who];
    struct ahead_piece *piece = piece_of(ahead, number);
    unsigned room;

    if (atomic_load(&ahead->claimed) != number)
        return false;
    room = find_free_buffer(ahead, reader);
    if (room == READ_AHEAD_BUFFERS ||
        !atomic_compare_exchange_strong(&ahead->claimed, &number, number + 1))
        return false;
    reader->last = reader->piece[room] = number;
    piece->p = reader->room[room];
    piece->len = read_file_at(fileno(c->file), piece->p + HEADROOM, READ_CHUNK_LEN,
                              offset_of(ahead, number));
    atomic_store_explicit(&piece->filled, number + 1, memory_order_release);
    return true;
}

bool read_buffer_may_read_ahead(const struct read_buffer *c, unsigned who)
{
    const struct read_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->claimed), used = atomic_load(&ahead->used);

    return next > 0 && next <= used + READ_AHEAD_PIECES && ahead->reader[who].last <= used;
}

bool read_buffer_read_ahead(struct read_buffer *c, unsigned who)
{
    return read_buffer_may_read_ahead(c, who) &&
           claim_piece(c, who, atomic_load(&c->ahead.claimed));
}

bool read_buffer_has_next(const struct read_buffer *c, unsigned who)
{
    return c->ahead.reader[who].last == atomic_load(&c->ahead.used) + 1;
}

uint64_t read_buffer_piece(const struct read_buffer *c)
{
    return atomic_load(&c->ahead.used);
}

void read_buffer_release(struct read_buffer *c, uint64_t oldest)
{
    atomic_store(&c->ahead.oldest, oldest);
}

static void wait_for_piece(const struct ahead_piece *piece, uint64_t number)
{
    while (atomic_load_explicit(&piece->filled, memory_order_acquire) != number + 1)
        sched_yield();
}

/* Ends the read-ahead: from now on, the file is read in order, beginning with the piece after the
 * current one. */
static void end_read_ahead(struct read_buffer *c)
{
    struct read_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1, claimed;

    fseeko(c->file, (off_t)offset_of(ahead, next), SEEK_SET);
    /* 0 prevents all threads from claiming another piece. */
    claimed = atomic_exchange(&ahead->claimed, 0);
    for (; next < claimed; next++)
        /* Waits until the threads have read the pieces that they had already claimed. */
        wait_for_piece(piece_of(ahead, next), next);
    ahead->on = false;
}

/* Makes the next piece the current one, and copies the rest of the old piece before it. Reads the
 * next piece if no other thread does. Returns false if no buffer is free, the rest is longer than
 * HEADROOM, the next `len` bytes need a third piece, or the next piece is short. */
static bool advance_piece(struct read_buffer *c, size_t len)
{
    struct read_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1;
    struct ahead_piece *piece = piece_of(ahead, next);
    size_t left = read_buffer_left(c);

    if (left > HEADROOM)
        return false;
    if (!claim_piece(c, 0, next) && atomic_load(&ahead->claimed) <= next)
        return false;
    wait_for_piece(piece, next);
    if (piece->len < READ_CHUNK_LEN || len > left + READ_CHUNK_LEN)
        /* The caller then reads without read-ahead, and so detects whether the reason was a read
         * error or the end of the file. */
        return false;
    memcpy(piece->p + HEADROOM - left, c->p + c->off, left);
    c->p = piece->p;
    c->off = HEADROOM - left;
    c->len = HEADROOM + READ_CHUNK_LEN;
    c->kept = false;
    atomic_store(&ahead->used, next);
    return true;
}

uint64_t read_buffer_position(const struct read_buffer *c)
{
    const struct read_ahead *ahead = &c->ahead;
    uint64_t claimed = atomic_load(&ahead->claimed);
    off_t at;

    if (claimed > 0)
        return offset_of(ahead, claimed);
    at = ftello(c->file);
    return at > 0 ? (uint64_t)at : 0;
}

/* ---- reading in order -------------------------------------------------------------------------
 */

const uint8_t *read_buffer_refill(struct read_buffer *c, size_t len)
{
    struct chunk *from = &c->ring[c->at];
    bool in_ring = c->p == from->p && from->p;
    unsigned next = c->kept || !in_ring ? (c->at + 1) % READ_BUFFER_RING : c->at;
    struct chunk *to = &c->ring[next];
    size_t left = read_buffer_left(c);
    size_t cap = len > READ_CHUNK_LEN ? len : READ_CHUNK_LEN;
    size_t got;

    if (c->end || c->no_memory)
        return NULL;
    if (c->ahead.on) {
        if (advance_piece(c, len))
            return c->p + c->off;
        end_read_ahead(c);
    }
    /* Enlarges the current chunk with realloc(), because its content is still needed. */
    if (next == c->at && cap > from->cap) {
        uint8_t *p = realloc(from->p, cap);

        c->no_memory = !p;
        if (p)
            *from = (struct chunk){c->p = p, cap};
    } else if (next != c->at) {
        c->no_memory = !make_chunk(to, cap);
    }
    if (c->no_memory)
        return NULL;
    if (left)
        memmove(to->p, c->p + c->off, left);
    got = fread(to->p + left, 1, cap - left, c->file);
    while (left + got < cap && decompress_waits(c->decompress)) {
        clearerr(c->file);
        if (left + got >= len)
            break;
        got += fread(to->p + left + got, 1, cap - left - got, c->file);
    }
    c->end = left + got < cap && !decompress_waits(c->decompress);
    c->at = next;
    c->p = to->p;
    c->off = 0;
    c->len = left + got;
    c->kept = false;
    return len <= c->len ? to->p : NULL;
}
