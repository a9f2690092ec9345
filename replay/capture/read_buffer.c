/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/read_buffer.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is left of a record before a piece that was read ahead; longer records are read in order. */
#define HEADROOM ((size_t)64 << 10)
#define PAGE     ((size_t)4 << 10)

void chunks_open(struct chunks *chunks, FILE *file, const struct inflate *inflate)
{
    *chunks = (struct chunks){.file = file, .inflate = inflate};
}

void chunks_close(struct chunks *chunks)
{
    for (unsigned i = 0; i < CHUNKS_RING; i++)
        free(chunks->ring[i].p);
    for (unsigned i = 0; i < CHUNKS_READERS; i++)
        for (unsigned k = 0; k < CHUNKS_ROOMS; k++)
            free(chunks->ahead.reader[i].room[k]);
    *chunks = (struct chunks){0};
}

void chunks_map(struct chunks *chunks, uint8_t *mapped, size_t len)
{
    for (unsigned i = 0; i < CHUNKS_RING; i++) {
        free(chunks->ring[i].p);
        chunks->ring[i] = (struct chunk){0};
    }
    chunks->p = mapped;
    chunks->len = len;
    chunks->end = true;
}

/* Room for `cap` bytes in a chunk whose content nobody needs; a very large one does not stay. */
static bool make_room(struct chunk *chunk, size_t cap)
{
    uint8_t *p;

    if (chunk->cap >= cap && (chunk->cap == CHUNK_LEN || cap > CHUNK_LEN))
        return true;
    p = malloc(cap);
    if (!p)
        return false;
    free(chunk->p);
    *chunk = (struct chunk){p, cap};
    return true;
}

/* ---- ahead ------------------------------------------------------------------------------------
 */

void chunks_begin_ahead(struct chunks *c)
{
    struct chunks_ahead *ahead = &c->ahead;
    off_t off = ftello(c->file);

    if (off < 0 || c->end)
        return;
    ahead->off = (uint64_t)off;
    atomic_store(&ahead->claimed, 1);
    ahead->on = true;
}

/* As much of the file from `off` on as there is. */
static size_t read_at(int fd, uint8_t *p, size_t len, uint64_t off)
{
    size_t got = 0;
    ssize_t n;

    do {
        n = pread(fd, p + got, len - got, (off_t)(off + got));
        got += n > 0 ? (size_t)n : 0;
    } while (n > 0 && got < len);
    return got;
}

static uint64_t offset_of(const struct chunks_ahead *ahead, uint64_t number)
{
    return ahead->off + (number - 1) * CHUNK_LEN;
}

static struct chunks_piece *piece_of(struct chunks_ahead *ahead, uint64_t number)
{
    return &ahead->piece[number % (CHUNKS_AHEAD + 1)];
}

/* Where a thread has room for another piece: where it had one last that is not needed, for that is
 * in its cache. CHUNKS_ROOMS if nowhere. */
static unsigned find_room(struct chunks_ahead *ahead, struct chunks_reader *reader)
{
    uint64_t oldest = atomic_load(&ahead->oldest), used = atomic_load(&ahead->used);
    unsigned found = CHUNKS_ROOMS;

    if (oldest > used)
        oldest = used;
    for (unsigned i = 0; i < CHUNKS_ROOMS; i++) {
        if (!reader->room[i]) {
            if (found == CHUNKS_ROOMS)
                reader->room[found = i] = aligned_alloc(PAGE, HEADROOM + CHUNK_LEN);
            break;
        }
        if (reader->piece[i] < oldest &&
            (found == CHUNKS_ROOMS || reader->piece[i] > reader->piece[found]))
            found = i;
    }
    return found < CHUNKS_ROOMS && reader->room[found] ? found : CHUNKS_ROOMS;
}

/* Reads the piece, if it is nobody's yet and there is room. */
static bool claim(struct chunks *c, unsigned who, uint64_t number)
{
    struct chunks_ahead *ahead = &c->ahead;
    struct chunks_reader *reader = &ahead->reader[who];
    struct chunks_piece *piece = piece_of(ahead, number);
    unsigned room;

    if (atomic_load(&ahead->claimed) != number)
        return false;
    room = find_room(ahead, reader);
    if (room == CHUNKS_ROOMS ||
        !atomic_compare_exchange_strong(&ahead->claimed, &number, number + 1))
        return false;
    reader->last = reader->piece[room] = number;
    piece->p = reader->room[room];
    piece->len = read_at(fileno(c->file), piece->p + HEADROOM, CHUNK_LEN, offset_of(ahead, number));
    atomic_store_explicit(&piece->filled, number + 1, memory_order_release);
    return true;
}

bool chunks_may_read_ahead(const struct chunks *c, unsigned who)
{
    const struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->claimed), used = atomic_load(&ahead->used);

    return next > 0 && next <= used + CHUNKS_AHEAD && ahead->reader[who].last <= used;
}

bool chunks_read_ahead(struct chunks *c, unsigned who)
{
    return chunks_may_read_ahead(c, who) && claim(c, who, atomic_load(&c->ahead.claimed));
}

bool chunks_has_next(const struct chunks *c, unsigned who)
{
    return c->ahead.reader[who].last == atomic_load(&c->ahead.used) + 1;
}

uint64_t chunks_piece(const struct chunks *c)
{
    return atomic_load(&c->ahead.used);
}

void chunks_release(struct chunks *c, uint64_t oldest)
{
    atomic_store(&c->ahead.oldest, oldest);
}

static void wait_for(const struct chunks_piece *piece, uint64_t number)
{
    while (atomic_load_explicit(&piece->filled, memory_order_acquire) != number + 1)
        sched_yield();
}

/* Back to reading in order, from the first piece that was not used. */
static void leave(struct chunks *c)
{
    struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1, claimed;

    fseeko(c->file, (off_t)offset_of(ahead, next), SEEK_SET);
    claimed = atomic_exchange(&ahead->claimed, 0); /* nobody claims another ... */
    for (; next < claimed; next++)
        wait_for(piece_of(ahead, next), next); /* ... and who did is done */
    ahead->on = false;
}

/* The next piece, with what is left of the present one before it. False where it cannot be shown
 * so: there is no room, a record is too long, or the file cannot be read. */
static bool advance(struct chunks *c, size_t len)
{
    struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1;
    struct chunks_piece *piece = piece_of(ahead, next);
    size_t left = chunks_left(c);

    if (left > HEADROOM)
        return false;
    if (!claim(c, 0, next) && atomic_load(&ahead->claimed) <= next)
        return false;
    wait_for(piece, next);
    if (piece->len < CHUNK_LEN || len > left + CHUNK_LEN)
        return false; /* an error, or the end: to be told apart by reading in order */
    memcpy(piece->p + HEADROOM - left, c->p + c->off, left);
    c->p = piece->p;
    c->off = HEADROOM - left;
    c->len = HEADROOM + CHUNK_LEN;
    c->kept = false;
    atomic_store(&ahead->used, next);
    return true;
}

uint64_t chunks_position(const struct chunks *c)
{
    const struct chunks_ahead *ahead = &c->ahead;
    uint64_t claimed = atomic_load(&ahead->claimed);
    off_t at;

    if (claimed > 0)
        return offset_of(ahead, claimed);
    at = ftello(c->file);
    return at > 0 ? (uint64_t)at : 0;
}

/* ---- in order ---------------------------------------------------------------------------------
 */

const uint8_t *chunks_refill(struct chunks *c, size_t len)
{
    struct chunk *from = &c->ring[c->at];
    bool in_ring = c->p == from->p && from->p;
    unsigned next = c->kept || !in_ring ? (c->at + 1) % CHUNKS_RING : c->at;
    struct chunk *to = &c->ring[next];
    size_t left = chunks_left(c);
    size_t cap = len > CHUNK_LEN ? len : CHUNK_LEN;
    size_t got;

    if (c->end || c->no_memory)
        return NULL;
    if (c->ahead.on) {
        if (advance(c, len))
            return c->p + c->off;
        leave(c);
    }
    if (next == c->at && cap > from->cap) { /* grows in place: its content is still needed */
        uint8_t *p = realloc(from->p, cap);

        c->no_memory = !p;
        if (p)
            *from = (struct chunk){c->p = p, cap};
    } else if (next != c->at) {
        c->no_memory = !make_room(to, cap);
    }
    if (c->no_memory)
        return NULL;
    if (left)
        memmove(to->p, c->p + c->off, left);
    got = fread(to->p + left, 1, cap - left, c->file);
    while (left + got < cap && inflate_waits(c->inflate)) {
        clearerr(c->file);
        if (left + got >= len)
            break;
        got += fread(to->p + left + got, 1, cap - left - got, c->file);
    }
    c->end = left + got < cap && !inflate_waits(c->inflate);
    c->at = next;
    c->p = to->p;
    c->off = 0;
    c->len = left + got;
    c->kept = false;
    return len <= c->len ? to->p : NULL;
}
