/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/split_index.h"

#include <stdlib.h>
#include <string.h>
#include "capture/mapped_reader.h"

#define LINE 64u /* length of a cache line, bytes */
/* for the functions of the loop over plain frames */
#define INLINE         static inline __attribute__((always_inline))
#define PREPARE_FRAMES 64u /* the next pages are mapped after this number of frames */

_Static_assert(sizeof(struct split_entry) == 32, "an entry is half a cache line");
_Static_assert(ROCE_FLOW_GROUPS <= 1u << 16, "split_entry.group has 16 bits");

bool split_index_open(struct split_index *index, const struct capture_reader *reader,
                      const uint8_t *part_of, const struct roce_hash_secret *secret, unsigned parts,
                      unsigned frames)
{
    size_t cnt = (size_t)parts * frames;
    size_t of_counts = (parts * sizeof(unsigned) + LINE - 1) / LINE * LINE;
    size_t of_entries = cnt * sizeof(struct split_entry);
    size_t of_window = of_counts + of_entries + cnt * sizeof(struct split_rare);
    uint8_t *p;

    index->part_of = part_of;
    index->secret = secret;
    index->parts = parts;
    index->frames = frames;
    index->reader = reader_twin(reader, true);
    /* calloc() does not touch the pages of a large block, and most of them are never used: each
     * part has memory for all frames of a window. */
    index->memory = calloc(1, SPLIT_INDEX_RING * of_window + LINE);
    if (!index->reader || !index->memory)
        return false;
    p = index->memory;
    p += -(uintptr_t)p % LINE;
    for (unsigned i = 0; i < SPLIT_INDEX_RING; i++, p += of_window) {
        index->window[i].cnt = (unsigned *)(void *)p;
        index->window[i].entry = (struct split_entry *)(void *)(p + of_counts);
        index->window[i].rare = (struct split_rare *)(void *)(p + of_counts + of_entries);
    }
    return true;
}

void split_index_close(struct split_index *index)
{
    reader_close(index->reader);
    free(index->memory);
}

INLINE struct split_entry *add_entry(const struct split_index *index,
                                     struct split_index_window *window, unsigned part)
{
    return &window->entry[(size_t)part * index->frames + window->cnt[part]++];
}

/* Adds a RoCE packet of group `group` with `cap_len` captured bytes. */
INLINE void add_packet(const struct split_index *index, struct split_index_window *window,
                       struct split_found *found, const struct captured_frame *frame,
                       uint32_t cap_len, uint32_t group, enum split_entry_kind kind, bool gsi)
{
    const unsigned part = index->part_of[group];
    struct split_entry *entry = add_entry(index, window, part);
    const size_t off = (size_t)(frame->data - window->data);

    roce_flow_look_next(&found->look, frame->time);
    found->bytes += cap_len;
    *entry = (struct split_entry){.time = frame->time,
                                  .off = (uint32_t)off,
                                  .bytes = (uint32_t)(found->bytes - window->bytes),
                                  .cap_len = frame->cap_len,
                                  .wire_len = frame->wire_len,
                                  .number = (uint16_t)(frame->number - window->before),
                                  .group = (uint16_t)group,
                                  .link = (uint8_t)frame->link,
                                  .part = (uint8_t)part,
                                  .kind = (uint8_t)kind,
                                  .flags = gsi ? SPLIT_GSI : 0};
    if (off > UINT32_MAX || found->bytes - window->bytes > UINT32_MAX ||
        found->look.last_time != frame->time || found->look.grain != window->grain) {
        entry->flags |= SPLIT_RARE;
        window->rare[entry - window->entry] = (struct split_rare){
            frame->data, found->bytes, found->look.last_time, found->look.grain};
    }
    for (unsigned i = 0; gsi && i < index->parts; i++)
        if (i != part)
            *add_entry(index, window, i) =
                (struct split_entry){.number = (uint16_t)(frame->number - window->before),
                                     .part = (uint8_t)part,
                                     .kind = SPLIT_MARK};
}

static void add_any_packet(struct split_index *index, struct split_index_window *window,
                           const struct captured_frame *frame, uint32_t cap_len, uint32_t group,
                           enum split_entry_kind kind, bool gsi)
{
    add_packet(index, window, &index->found, frame, cap_len, group, kind, gsi);
}

/* Adds a frame in which roce_flow_frame_hosts() does not find the hosts, for example because of
 * VLAN tags. */
static void add_other(struct split_index *index, struct split_index_window *window,
                      const struct captured_frame *frame)
{
    struct parsed_frame *item = &index->item;

    parsed_frame_set(item, frame, index->secret);
    if (item->parsed == 0) {
        add_any_packet(index, window, frame, item->pkt.cap_len, roce_flow_group(&item->digest),
                       SPLIT_OTHER, item->pkt.bth.dest_qp == ROCE_QP_GSI);
        return;
    }
    parsed_frame_set_icrc(item, false);
    frame_counts_add(&window->counts, item, frame);
}

/* Prefetches the headers of the next two frames. The address of the second is a guess: it assumes
 * that the next frame is as long as this one. */
static inline void prefetch_next(const uint8_t *data, uint32_t cap_len)
{
    __builtin_prefetch(data + cap_len);
    __builtin_prefetch(data + 2 * (size_t)cap_len);
}

/* Adds frames up to the first frame that is not plain, at most `cnt`. A plain frame is a RoCE
 * packet over Ethernet and IPv4, without IP options or VLAN tags. It is not a CM message (QP 1),
 * and pcap_walk_next() can read its record. */
static inline __attribute__((always_inline)) unsigned add_plain(struct split_index *index,
                                                                struct split_index_window *window,
                                                                struct reader_walk *walk,
                                                                bool pcapng, unsigned cnt)
{
    struct pcap_walk records = walk->records;
    struct split_found found = index->found;
    struct captured_frame frame = {.link = ROCE_LINK_ETHERNET, .number = walk->number};
    unsigned done = 0;

    while (done < cnt) {
        struct pcap_walk next = records;
        struct roce_frame_hosts hosts;
        struct pcap_record record;

        if (!pcap_walk_next(&next, pcapng, &record) ||
            !roce_flow_frame_ip4_hosts(&index->groups, &hosts, record.data, record.cap_len) ||
            hosts.gsi)
            break;
        prefetch_next(record.data, record.cap_len);
        records = next;
        frame.number++;
        frame.time = record.time;
        frame.data = record.data;
        frame.cap_len = record.cap_len;
        frame.wire_len = record.wire_len < record.cap_len ? record.cap_len : record.wire_len;
        add_packet(index, window, &found, &frame, record.cap_len, hosts.group, SPLIT_PLAIN, false);
        done++;
    }
    walk->records = records;
    walk->number = frame.number;
    index->found = found;
    return done;
}

/* Adds the plain frames that follow, at most `cnt`. Returns their number. */
static unsigned add_plain_frames(struct split_index *index, struct split_index_window *window,
                                 unsigned cnt)
{
    struct reader_walk walk;

    if (!reader_walk(index->reader, &walk))
        return 0;
    if (cnt > walk.last - walk.number)
        cnt = walk.last - walk.number;
    cnt = walk.pcapng ? add_plain(index, window, &walk, true, cnt)
                      : add_plain(index, window, &walk, false, cnt);
    if (cnt > 0)
        reader_walked(index->reader, &walk);
    index->number = walk.number;
    return cnt;
}

/* Adds the next frame, which may be any frame. Returns false at the end of the file. */
static bool add_frame(struct split_index *index, struct split_index_window *window)
{
    struct captured_frame frame;
    struct roce_frame_hosts hosts;

    if (!reader_next_here(index->reader, &frame)) {
        index->end = reader_next(index->reader, &frame, &index->error);
        window->ends = index->end != 1;
        if (window->ends)
            return false;
    }
    prefetch_next(frame.data, frame.cap_len);
    index->number = frame.number;
    if (frame.link == ROCE_LINK_ETHERNET &&
        roce_flow_frame_hosts(&index->groups, &hosts, frame.data, frame.cap_len))
        add_any_packet(index, window, &frame, frame.cap_len, hosts.group, SPLIT_PLAIN, hosts.gsi);
    else
        add_other(index, window, &frame);
    return true;
}

static void index_window(struct split_index *index, struct split_index_window *window)
{
    unsigned done = 0, prepared = 0;

    memset(window->cnt, 0, index->parts * sizeof(*window->cnt));
    frame_counts_init(&window->counts);
    window->before = index->number;
    window->bytes = index->found.bytes;
    window->grain = index->found.look.grain;
    window->data = reader_mapped(index->reader);
    while (done < index->frames) {
        unsigned more = index->frames - done;

        if (done >= prepared) {
            (void)reader_map_next(index->reader);
            prepared = done + PREPARE_FRAMES;
        }
        more = add_plain_frames(index, window, more < PREPARE_FRAMES ? more : PREPARE_FRAMES);
        if (more == 0 && !add_frame(index, window))
            break;
        done += more ? more : 1;
    }
    window->last = index->number;
    window->end = reader_map_next(index->reader);
}

bool split_index_step(struct split_index *index, uint64_t finished, size_t unneeded)
{
    uint64_t n;
    bool may;

    if (split_index_cnt(index) >= finished + SPLIT_INDEX_RING ||
        atomic_load_explicit(&index->busy, memory_order_relaxed) ||
        atomic_exchange_explicit(&index->busy, true, memory_order_acquire))
        return false;
    n = split_index_cnt(index);
    may = !index->ended && n < finished + SPLIT_INDEX_RING;
    if (may) {
        struct split_index_window *window = &index->window[n % SPLIT_INDEX_RING];

        index_window(index, window);
        index->ended = window->ends;
        reader_unmap_before(index->reader, unneeded);
        atomic_store_explicit(&index->indexed, n + 1, memory_order_release);
    }
    atomic_store_explicit(&index->busy, false, memory_order_release);
    return may;
}
