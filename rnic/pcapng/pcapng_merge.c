/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "pcapng/pcapng_merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/heap.h"
#include "pcapng/pcapng.h"
#include "wire/bytes.h"

#define MARK          0x80000001u /* block type of a mark (pcapng_merge.h) */
#define MARK_LEN      20u
#define BLOCK_MAX     (1u << 20)
#define STREAM_IFACES 8u

struct stream {
    uint8_t *part; /* first bytes of a block that has not arrived completely yet */
    size_t part_len, part_cap;
    uint64_t mark; /* time in the latest mark (pcapng_mark()), ns; UINT64_MAX: the process is
                    * sending no frame */
    uint32_t iface[STREAM_IFACES];
    unsigned iface_cnt;
    bool ended;
};

struct waiting {
    struct rnic_heap_node node;
    size_t len;
    uint8_t block[];
};

struct pcapng_merge {
    struct stream *stream;
    size_t stream_cnt;
    struct pcapng_ifaces ifaces;
    uint32_t ifaces_given;
    struct rnic_heap heap; /* waiting frames, sorted by time */
    size_t waiting;        /* number of bytes of frames in the heap */
};

/* ---- marks and interfaces -------------------------------------------------------------------- */

size_t pcapng_mark(uint8_t *buf, size_t cap, uint64_t time)
{
    if (cap < MARK_LEN)
        return 0;
    roce_le32_put(buf, MARK);
    roce_le32_put(buf + 4, MARK_LEN);
    roce_le32_put(buf + 8, (uint32_t)(time >> 32));
    roce_le32_put(buf + 12, (uint32_t)time);
    roce_le32_put(buf + 16, MARK_LEN);
    return MARK_LEN;
}

int pcapng_ifaces_number(struct pcapng_ifaces *ifaces, const uint8_t *block, uint32_t len)
{
    uint32_t number = 0;
    uint8_t **grown, *copy;

    while (number < ifaces->cnt && (roce_le32_get(ifaces->block[number] + 4) != len ||
                                    memcmp(ifaces->block[number], block, len) != 0))
        number++;
    if (number < ifaces->cnt)
        return (int)number;
    grown = realloc(ifaces->block, (number + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    ifaces->block = grown;
    copy = grown[number] = malloc(len);
    if (!copy)
        return -ENOMEM;
    memcpy(copy, block, len);
    ifaces->cnt++;
    return (int)number;
}

void pcapng_ifaces_free(struct pcapng_ifaces *ifaces)
{
    for (uint32_t i = 0; i < ifaces->cnt; i++)
        free(ifaces->block[i]);
    free(ifaces->block);
    *ifaces = (struct pcapng_ifaces){0};
}

/* ---- the bytes of a stream ------------------------------------------------------------------- */

struct pcapng_merge *pcapng_merge_new(void)
{
    return calloc(1, sizeof(struct pcapng_merge));
}

static struct waiting *pop_frame(struct pcapng_merge *merge)
{
    struct rnic_heap_node *node = rnic_heap_first(&merge->heap);
    struct waiting *frame = (struct waiting *)node; /* the heap node is the frame's first member */

    rnic_heap_set(&merge->heap, node, UINT64_MAX);
    merge->waiting -= frame->len;
    return frame;
}

void pcapng_merge_del(struct pcapng_merge *merge)
{
    if (!merge)
        return;
    for (size_t i = 0; i < merge->stream_cnt; i++)
        free(merge->stream[i].part);
    while (merge->heap.cnt > 0)
        free(pop_frame(merge));
    rnic_heap_free(&merge->heap);
    pcapng_ifaces_free(&merge->ifaces);
    free(merge->stream);
    free(merge);
}

int pcapng_merge_add(struct pcapng_merge *merge)
{
    struct stream *grown;
    size_t at = 0;

    while (at < merge->stream_cnt && !merge->stream[at].ended)
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

void pcapng_merge_end(struct pcapng_merge *merge, int stream)
{
    struct stream *s = &merge->stream[stream];

    free(s->part);
    *s = (struct stream){.mark = UINT64_MAX, .ended = true};
}

size_t pcapng_merge_waiting(const struct pcapng_merge *merge)
{
    return merge->waiting;
}

static int add_iface(struct pcapng_merge *merge, struct stream *s, const uint8_t *block,
                     uint32_t len)
{
    int number;

    if (s->iface_cnt == STREAM_IFACES)
        return -EINVAL;
    number = pcapng_ifaces_number(&merge->ifaces, block, len);
    if (number < 0)
        return number;
    s->iface[s->iface_cnt++] = (uint32_t)number;
    return 0;
}

static int add_packet(struct pcapng_merge *merge, const struct stream *s, const uint8_t *block,
                      uint32_t len)
{
    struct pcapng_packet packet;
    struct waiting *frame;
    struct error ignored;

    if (pcapng_read_packet(&packet, false, block, len, &ignored) != 0 ||
        packet.iface >= s->iface_cnt)
        return -EINVAL;
    frame = calloc(1, sizeof(*frame) + len);
    if (!frame || !rnic_heap_reserve(&merge->heap, merge->heap.cnt + 1)) {
        free(frame);
        return -ENOMEM;
    }
    frame->len = len;
    memcpy(frame->block, block, len);
    roce_le32_put(frame->block + 8, s->iface[packet.iface]);
    merge->waiting += len;
    rnic_heap_set(&merge->heap, &frame->node, packet.stamp < UINT64_MAX ? packet.stamp : 0);
    return 0;
}

static int add_block(struct pcapng_merge *merge, struct stream *s, const uint8_t *block,
                     uint32_t len)
{
    switch (roce_le32_get(block)) {
    case PCAPNG_INTERFACE: return add_iface(merge, s, block, len);
    case PCAPNG_PACKET: return add_packet(merge, s, block, len);
    case MARK:
        if (len != MARK_LEN)
            return -EINVAL;
        s->mark = (uint64_t)roce_le32_get(block + 8) << 32 | roce_le32_get(block + 12);
        return 0;
    default: return 0;
    }
}

/* Adds the complete blocks at `data` to the merge. Sets *used to their total length. */
static int add_blocks(struct pcapng_merge *merge, struct stream *s, const uint8_t *data, size_t len,
                      size_t *used)
{
    int rc = 0;

    *used = 0;
    while (rc == 0 && len - *used >= PCAPNG_BLOCK_MIN) {
        const uint8_t *block = data + *used;
        uint32_t size = roce_le32_get(block + 4);

        if (size >= PCAPNG_BLOCK_MIN && size <= BLOCK_MAX && size > len - *used)
            break;
        if (size > BLOCK_MAX || pcapng_block_len(false, block, size) == 0)
            return -EINVAL;
        rc = add_block(merge, s, block, size);
        *used += size;
    }
    return rc;
}

int pcapng_merge_feed(struct pcapng_merge *merge, int stream, const uint8_t *data, size_t len)
{
    struct stream *s = &merge->stream[stream];
    size_t used;
    int rc;

    if (s->ended)
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
        pcapng_merge_end(merge, stream);
    }
    return rc;
}

/* ---- returning frames in order --------------------------------------------------------------- */

static void give_ifaces(struct pcapng_merge *merge, pcapng_merge_fn *fn, void *user)
{
    uint8_t section[64];

    if (merge->ifaces_given == 0 && merge->ifaces.cnt > 0)
        fn(user, section, pcapng_section(section, sizeof(section), PCAPNG_RNIC));
    for (; merge->ifaces_given < merge->ifaces.cnt; merge->ifaces_given++) {
        const uint8_t *block = merge->ifaces.block[merge->ifaces_given];

        fn(user, block, roce_le32_get(block + 4));
    }
}

void pcapng_merge_take(struct pcapng_merge *merge, uint64_t until, pcapng_merge_fn *fn, void *user)
{
    bool all = until == UINT64_MAX;
    const struct rnic_heap_node *first;

    give_ifaces(merge, fn, user);
    for (size_t i = 0; i < merge->stream_cnt && !all; i++)
        if (merge->stream[i].mark < until)
            until = merge->stream[i].mark;
    while ((first = rnic_heap_first(&merge->heap)) != NULL && (all || first->at < until)) {
        struct waiting *frame = pop_frame(merge);

        fn(user, frame->block, frame->len);
        free(frame);
    }
}
