/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "chunks.h"

#include <stdlib.h>
#include <string.h>

void chunks_open(struct chunks *chunks, FILE *file, const struct inflate *inflate)
{
    *chunks = (struct chunks){.file = file, .inflate = inflate};
}

void chunks_close(struct chunks *chunks)
{
    for (unsigned i = 0; i <= CHUNKS_KEEP && !chunks->mapped; i++)
        free(chunks->ring[i].p);
    *chunks = (struct chunks){0};
}

void chunks_map(struct chunks *chunks, uint8_t *mapped, size_t len)
{
    for (unsigned i = 0; i <= CHUNKS_KEEP; i++) {
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

const uint8_t *chunks_refill(struct chunks *c, size_t len)
{
    struct chunk *from = &c->ring[c->at];
    unsigned next = c->kept || !from->p ? (c->at + 1) % (CHUNKS_KEEP + 1) : c->at;
    struct chunk *to = &c->ring[next];
    size_t left = chunks_left(c);
    size_t cap = len > CHUNK_LEN ? len : CHUNK_LEN;
    size_t got;

    if (c->end || c->no_memory)
        return NULL;
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
