/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Split index: finds the records of a mapped capture, and the part to which each frame belongs
 * (split_reader.h). Used by split_reader only.
 *
 * The capture is divided into windows of equally many frames. One thread at a time indexes the next
 * window: split_index_step() walks its records and writes an entry for each RoCE packet to the list
 * of the packet's part. So each record is found once, whatever the number of threads, and a thread
 * reads the entries of its own part only. The index has memory for SPLIT_INDEX_RING windows.
 *
 *   1. split_index_open().
 *   2. split_index_step() from any thread, and split_index_window() for each window in order.
 *   3. split_index_close().
 */
#ifndef REPLAY_CAPTURE_SPLIT_INDEX_H
#define REPLAY_CAPTURE_SPLIT_INDEX_H

#include <stdatomic.h>
#include "base/error.h"
#include "capture/parsed_frame.h"
#include "flow/split.h"

#define SPLIT_INDEX_RING 8u /* number of windows in memory, a power of two */

enum split_entry_kind {
    SPLIT_PLAIN, /* roce_flow_frame_hosts() found the hosts; the frame was not parsed */
    SPLIT_OTHER, /* the frame was parsed, because roce_flow_frame_hosts() cannot find its hosts */
    SPLIT_MARK,  /* in the lists of the other parts: place of a CM message of part `part` */
};

/* A RoCE packet of a part. Its size is half a cache line, because entries move between caches: from
 * the processor that indexed the window to the processor of the part. */
struct split_entry {
    uint64_t time;
    uint32_t off;   /* of the frame from split_index_window.data, bytes */
    uint32_t bytes; /* captured bytes of the RoCE packets of the window up to this one */
    uint32_t cap_len, wire_len;
    uint16_t number; /* of the frame, minus split_index_window.before */
    uint16_t group;  /* of the hosts; only with SPLIT_PLAIN */
    uint8_t link;    /* enum roce_link */
    uint8_t part;
    uint8_t kind;  /* enum split_entry_kind */
    uint8_t flags; /* SPLIT_GSI, SPLIT_RARE */
};

#define SPLIT_GSI  1u /* flag: the destination QP is QP 1, the QP of CM messages */
#define SPLIT_RARE 2u /* flag: struct split_rare has the values that the entry lacks */

/* Values of an entry that usually follow from the entry and its window (split_index_rare()). */
struct split_rare {
    const uint8_t *data;
    uint64_t bytes;            /* captured bytes of all RoCE packets up to this one */
    uint64_t last_time, grain; /* members of struct roce_flow_look */
};

struct split_index_window {
    struct split_entry *entry;  /* the entries of part k begin at index k * frames of a window */
    struct split_rare *rare;    /* for each entry with SPLIT_RARE */
    unsigned *cnt;              /* number of entries of each part */
    struct frame_counts counts; /* the frames that have no entry */
    const uint8_t *data;        /* a byte before the first frame */
    uint64_t bytes;             /* captured bytes of the RoCE packets of earlier windows */
    uint64_t grain;             /* split_rare.grain before the window */
    size_t end;                 /* file offset after the last record */
    uint32_t before, last;      /* numbers of the frame before the window and of the last frame */
    bool ends;                  /* the file ends with this window */
};

/* The RoCE packets that the index has found. */
struct split_found {
    struct roce_flow_look look; /* result of roce_flow_look_next() for the latest one */
    uint64_t bytes;             /* captured bytes of all of them */
};

struct split_index {
    struct capture_reader *reader;
    const uint8_t *part_of; /* for each group of hosts, the number of its part */
    const struct roce_hash_secret *secret;
    unsigned parts, frames; /* `frames`: number of frames of a window */
    void *memory;
    struct split_index_window
        window[SPLIT_INDEX_RING]; /* window n has index n % SPLIT_INDEX_RING */
    /* Number of indexed windows. */
    _Alignas(64) atomic_uint_least64_t indexed;
    /* Set while a thread indexes a window. This thread alone uses the members below. */
    _Alignas(64) atomic_bool busy;
    bool ended; /* the last window was indexed */
    struct roce_group_cache groups;
    struct split_found found;
    uint32_t number; /* of the latest frame */
    int end;         /* last result of reader_next(): 0 at the end of the file, -1 after an error */
    struct error error;
    struct parsed_frame item; /* the latest frame that had to be parsed */
};

/* Prepares the index of a mapped capture for `parts` parts and windows of `frames` frames. `*index`
 * must be all zero. Returns false if out of memory; call split_index_close() in any case. */
bool split_index_open(struct split_index *index, const struct capture_reader *reader,
                      const uint8_t *part_of, const struct roce_hash_secret *secret, unsigned parts,
                      unsigned frames);
void split_index_close(struct split_index *index);

/* Indexes the next window. Returns false without waiting if another thread does so, if the file
 * has ended, or if the index has no memory for the window. `finished` is the number of windows that
 * all threads have finished reading. The pages before file offset `unneeded` may be unmapped. */
bool split_index_step(struct split_index *index, uint64_t finished, size_t unneeded);

/* Returns the number of indexed windows. */
static inline uint64_t split_index_cnt(const struct split_index *index)
{
    return atomic_load_explicit(&index->indexed, memory_order_acquire);
}

/* Returns window `n`, which was indexed and is not finished. */
static inline const struct split_index_window *split_index_window(const struct split_index *index,
                                                                  uint64_t n)
{
    return &index->window[n % SPLIT_INDEX_RING];
}

/* Returns the values that an entry of the window lacks. */
static inline struct split_rare split_index_rare(const struct split_index_window *window,
                                                 const struct split_entry *entry)
{
    if (entry->flags & SPLIT_RARE)
        return window->rare[entry - window->entry];
    return (struct split_rare){.data = window->data + entry->off,
                               .bytes = window->bytes + entry->bytes,
                               .last_time = entry->time,
                               .grain = window->grain};
}

#endif
