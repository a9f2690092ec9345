/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "chunks.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is left of a record before a piece that was read ahead; longer records are read in order. */
#define HEADROOM ((size_t)64 << 10)

void chunks_open(struct chunks *chunks, FILE *file, const struct inflate *inflate)
{
    *chunks = (struct chunks){.file = file, .inflate = inflate};
}

void chunks_close(struct chunks *chunks)
{
    for (unsigned i = 0; i < CHUNKS_RING && !chunks->mapped; i++)
        free(chunks->ring[i].p);
    *chunks = (struct chunks){0};
}

void chunks_map(struct chunks *chunks, uint8_t *mapped, size_t len)
{
    for (unsigned i = 0; i < CHUNKS_RING; i++) {
        free(chunks->ring[i].p);
        chunks->ring[i] = (struct chunk){0};
    }
    chunks->ring[chunks->at].p = mapped;
    chunks->len = len;
    chunks->end = chunks->mapped = true;
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
    for (unsigned i = 0; i < CHUNKS_RING; i++) {
        uint8_t *p = realloc(c->ring[i].p, HEADROOM + CHUNK_LEN); /* one has the first chunk */

        if (!p)
            return;
        c->ring[i] = (struct chunk){p, HEADROOM + CHUNK_LEN};
    }
    ahead->off = (uint64_t)off;
    ahead->first = c->at + 1;
    atomic_store(&ahead->claimed, ahead->first);
    atomic_store(&ahead->used, c->at);
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
    return ahead->off + (number - ahead->first) * CHUNK_LEN;
}

/* Reads the piece, if it is nobody's yet. */
static void claim(struct chunks *c, uint64_t number)
{
    struct chunks_ahead *ahead = &c->ahead;
    unsigned slot = (unsigned)(number % CHUNKS_RING);

    if (!atomic_compare_exchange_strong(&ahead->claimed, &number, number + 1))
        return;
    ahead->len[slot] =
        read_at(fileno(c->file), c->ring[slot].p + HEADROOM, CHUNK_LEN, offset_of(ahead, number));
    atomic_store_explicit(&ahead->filled[slot], number + 1, memory_order_release);
}

void chunks_read_ahead(struct chunks *c)
{
    struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->claimed);

    if (next > 0 && next <= atomic_load(&ahead->used) + CHUNKS_AHEAD)
        claim(c, next);
}

static void wait_for(struct chunks_ahead *ahead, uint64_t number)
{
    while (atomic_load_explicit(&ahead->filled[number % CHUNKS_RING], memory_order_acquire) !=
           number + 1)
        sched_yield();
}

/* Back to reading in order, from the first piece that was not used. */
static void leave(struct chunks *c)
{
    struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1, claimed;

    fseeko(c->file, (off_t)offset_of(ahead, next), SEEK_SET);
    claimed = atomic_exchange(&ahead->claimed, 0); /* nobody claims another ... */
    while (next < claimed)
        wait_for(ahead, next++); /* ... and who did is done */
    ahead->on = false;
}

/* The next piece, with what is left of the present one before it. False where it cannot be shown
 * so: there is no packet in the present one, which others may need then longer than CHUNKS_RING
 * pieces; a record is too long; or the file cannot be read. */
static bool advance(struct chunks *c, size_t len)
{
    struct chunks_ahead *ahead = &c->ahead;
    uint64_t next = atomic_load(&ahead->used) + 1;
    unsigned slot = (unsigned)(next % CHUNKS_RING);
    size_t left = chunks_left(c);

    if (!c->kept || left > HEADROOM)
        return false;
    claim(c, next);
    wait_for(ahead, next);
    if (ahead->len[slot] < CHUNK_LEN || len > left + CHUNK_LEN)
        return false; /* an error, or the end: to be told apart by reading in order */
    memcpy(c->ring[slot].p + HEADROOM - left, c->ring[c->at].p + c->off, left);
    c->at = slot;
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
    unsigned next = c->kept || !from->p ? (c->at + 1) % CHUNKS_RING : c->at;
    struct chunk *to = &c->ring[next];
    size_t left = chunks_left(c);
    size_t cap = len > CHUNK_LEN ? len : CHUNK_LEN;
    size_t got;

    if (c->end || c->no_memory)
        return NULL;
    if (c->ahead.on) {
        if (advance(c, len))
            return c->ring[c->at].p + c->off;
        leave(c);
    }
    if (next == c->at && cap > from->cap) { /* grows in place: its content is still needed */
        uint8_t *p = realloc(from->p, cap);

        c->no_memory = !p;
        if (p)
            *from = (struct chunk){p, cap};
    } else if (next != c->at) {
        c->no_memory = !make_room(to, cap);
    }
    if (c->no_memory)
        return NULL;
    if (left)
        memmove(to->p, from->p + c->off, left);
    got = fread(to->p + left, 1, cap - left, c->file);
    while (left + got < cap && inflate_waits(c->inflate)) {
        clearerr(c->file);
        if (left + got >= len)
            break;
        got += fread(to->p + left + got, 1, cap - left - got, c->file);
    }
    c->end = left + got < cap && !inflate_waits(c->inflate);
    c->at = next;
    c->off = 0;
    c->len = left + got;
    c->kept = false;
    return len <= c->len ? to->p : NULL;
}
