/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "port/pcapng/pcapng_merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "port/pcapng/pcapng.h"
#include "wire/bytes.h"

#define BLOCK_SECTION 0x0A0D0D0Au
#define BLOCK_IFACE   1u
#define BLOCK_FRAME   6u
#define BLOCK_MARK    0x80000001u
#define BLOCK_MAX     (1u << 20)
#define STREAM_IFACES 8u

struct stream {
    uint8_t *part; /* of a block */
    size_t part_len, part_cap;
    uint64_t mark; /* UINT64_MAX: nothing is on its way */
    uint32_t iface[STREAM_IFACES];
    unsigned iface_cnt;
    bool over;
};

struct frame {
    uint64_t stamp;
    uint64_t order; /* of those with equal times */
    size_t len;
    uint8_t block[];
};

struct rnic_merge {
    struct stream *stream;
    size_t stream_cnt;
    uint8_t **iface; /* blocks, each begins with what it is and how long */
    uint32_t iface_cnt, iface_told;
    bool begun;
    struct frame **heap; /* the first is the oldest */
    size_t heap_cnt, heap_cap;
    size_t waiting;
    uint64_t order;
};

struct rnic_merge *rnic_merge_new(void)
{
    return calloc(1, sizeof(struct rnic_merge));
}

void rnic_merge_del(struct rnic_merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->stream_cnt; i++)
        free(merge->stream[i].part);
    for (uint32_t i = 0; i < merge->iface_cnt; i++)
        free(merge->iface[i]);
    for (size_t i = 0; i < merge->heap_cnt; i++)
        free(merge->heap[i]);
    free(merge->stream);
    free(merge->iface);
    free(merge->heap);
    free(merge);
}

int rnic_merge_add(struct rnic_merge *merge)
{
    struct stream *grown;
    size_t at = 0;

    while (at < merge->stream_cnt && !merge->stream[at].over)
        at++;
    if (at == merge->stream_cnt) {
        grown = realloc(merge->stream, (at + 1) * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        merge->stream = grown;
        merge->stream_cnt++;
    }
    merge->stream[at] = (struct stream){.mark = UINT64_MAX};
    return (int)at;
}

void rnic_merge_end(struct rnic_merge *merge, int stream)
{
    struct stream *s = &merge->stream[stream];

    free(s->part);
    *s = (struct stream){.mark = UINT64_MAX, .over = true};
}

size_t rnic_merge_waiting(const struct rnic_merge *merge)
{
    return merge->waiting;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static bool before(const struct frame *a, const struct frame *b)
{
    return a->stamp != b->stamp ? a->stamp < b->stamp : a->order < b->order;
}

static bool push(struct rnic_merge *merge, struct frame *frame)
{
    size_t at = merge->heap_cnt;

    if (at == merge->heap_cap) {
        size_t cap = merge->heap_cap ? 2 * merge->heap_cap : 1024;
        struct frame **grown = realloc(merge->heap, cap * sizeof(*grown));

        if (!grown)
            return false;
        merge->heap = grown;
        merge->heap_cap = cap;
    }
    merge->heap_cnt++;
    merge->waiting += frame->len;
    for (; at > 0 && before(frame, merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
        merge->heap[at] = merge->heap[(at - 1) / 2];
    merge->heap[at] = frame;
    return true;
}

static struct frame *pop(struct rnic_merge *merge)
{
    struct frame *first = merge->heap[0], *last = merge->heap[--merge->heap_cnt];
    size_t at = 0, child;

    merge->waiting -= first->len;
    while ((child = 2 * at + 1) < merge->heap_cnt) {
        if (child + 1 < merge->heap_cnt && before(merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!before(merge->heap[child], last))
            break;
        merge->heap[at] = merge->heap[child];
        at = child;
    }
    merge->heap[at] = last;
    return first;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The number of an interface in what is given out: the same block is the same interface. */
static int add_iface(struct rnic_merge *merge, struct stream *s, const uint8_t *block, size_t len)
{
    uint32_t number = 0;

    if (len < 20 || s->iface_cnt == STREAM_IFACES)
        return -EINVAL;
    while (number < merge->iface_cnt && (roce_le32_get(merge->iface[number] + 4) != len ||
                                         memcmp(merge->iface[number], block, len) != 0))
        number++;
    if (number == merge->iface_cnt) {
        uint8_t **grown = realloc(merge->iface, (number + 1) * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        merge->iface = grown;
        grown[number] = malloc(len);
        if (!grown[number])
            return -ENOMEM;
        memcpy(grown[number], block, len);
        merge->iface_cnt++;
    }
    s->iface[s->iface_cnt++] = number;
    return 0;
}

static uint64_t stamp_at(const uint8_t *at)
{
    return (uint64_t)roce_le32_get(at) << 32 | roce_le32_get(at + 4);
}

static int add_frame(struct rnic_merge *merge, const struct stream *s, const uint8_t *block,
                     size_t len)
{
    struct frame *frame;

    if (len < 32 || roce_le32_get(block + 8) >= s->iface_cnt)
        return -EINVAL;
    frame = malloc(sizeof(*frame) + len);
    if (!frame)
        return -ENOMEM;
    frame->stamp = stamp_at(block + 12);
    frame->order = merge->order++;
    frame->len = len;
    memcpy(frame->block, block, len);
    roce_le32_put(frame->block + 8, s->iface[roce_le32_get(block + 8)]);
    if (push(merge, frame))
        return 0;
    free(frame);
    return -ENOMEM;
}

static int add_block(struct rnic_merge *merge, struct stream *s, const uint8_t *block, size_t len)
{
    switch (roce_le32_get(block)) {
    case BLOCK_SECTION: return 0;
    case BLOCK_IFACE: return add_iface(merge, s, block, len);
    case BLOCK_FRAME: return add_frame(merge, s, block, len);
    case BLOCK_MARK:
        if (len < 20)
            return -EINVAL;
        s->mark = stamp_at(block + 8);
        return 0;
    default: return 0;
    }
}

/* Takes the whole blocks at `data`; *used is what they are long. */
static int add_blocks(struct rnic_merge *merge, struct stream *s, const uint8_t *data, size_t len,
                      size_t *used)
{
    int rc = 0;

    *used = 0;
    while (rc == 0 && len - *used >= 12) {
        const uint8_t *block = data + *used;
        size_t size = roce_le32_get(block + 4);

        if (size < 12 || size % 4 || size > BLOCK_MAX)
            return -EINVAL;
        if (size > len - *used)
            break;
        rc = roce_le32_get(block + size - 4) == size ? add_block(merge, s, block, size) : -EINVAL;
        *used += size;
    }
    return rc;
}

int rnic_merge_feed(struct rnic_merge *merge, int stream, const uint8_t *data, size_t len)
{
    struct stream *s = &merge->stream[stream];
    size_t used;
    int rc;

    if (s->over)
        return -EINVAL;
    if (s->part_cap - s->part_len < len) {
        uint8_t *grown = realloc(s->part, s->part_len + len);

        if (!grown)
            return -ENOMEM;
        s->part = grown;
        s->part_cap = s->part_len + len;
    }
    memcpy(s->part + s->part_len, data, len);
    s->part_len += len;
    rc = add_blocks(merge, s, s->part, s->part_len, &used);
    if (rc == 0) {
        s->part_len -= used;
        memmove(s->part, s->part + used, s->part_len);
    } else {
        rnic_merge_end(merge, stream);
    }
    return rc;
}

/* ---- giving out ------------------------------------------------------------------------------ */

static void tell_ifaces(struct rnic_merge *merge, rnic_merge_fn *fn, void *user)
{
    if (!merge->begun && merge->iface_cnt > 0) {
        uint8_t section[64];

        fn(user, section, rnic_pcapng_section(section, sizeof(section)));
        merge->begun = true;
    }
    for (; merge->iface_told < merge->iface_cnt; merge->iface_told++) {
        const uint8_t *block = merge->iface[merge->iface_told];

        fn(user, block, roce_le32_get(block + 4));
    }
}

void rnic_merge_take(struct rnic_merge *merge, uint64_t until, rnic_merge_fn *fn, void *user)
{
    bool all = until == UINT64_MAX;

    tell_ifaces(merge, fn, user);
    for (size_t i = 0; i < merge->stream_cnt && !all; i++)
        if (merge->stream[i].mark < until)
            until = merge->stream[i].mark;
    while (merge->heap_cnt > 0 && (all || merge->heap[0]->stamp < until)) {
        struct frame *frame = pop(merge);

        fn(user, frame->block, frame->len);
        free(frame);
    }
}
