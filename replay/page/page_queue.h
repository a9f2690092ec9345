/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page queue: brings packets and completed operations from the reader of a capture to a thread,
 * which passes them to a consumer, about 30 of one stream together. Used by page_capture.c.
 *
 * A packet or operation is a record of 32 bytes. The reader appends the records of all streams to a
 * batch. The thread moves the records of a full batch to the chunk of their stream, and passes a
 * full chunk to the consumer. So the reader writes its memory in order, and the consumer loads the
 * state of a stream once for many packets. Otherwise this state and the state of the analysis evict
 * each other from the cache, which costs more time than the rest of the page.
 */
#ifndef REPLAY_PAGE_PAGE_QUEUE_H
#define REPLAY_PAGE_PAGE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include "page/packet_runs.h"

#define PAGE_STREAMS 4096u /* maximum number of streams */
#define PAGE_BATCH   2048u /* number of records in a batch */
#define PAGE_CHUNK   32u   /* number of records in a chunk */

/* A packet, or a completed operation. */
struct page_entry {
    union {
        struct packet_run run;
        struct roce_flow_done done; /* if is_done is set */
    };
    /* `starts`, `ends`: the packet is the first, or the last, of a message sent for the first
     * time. */
    bool is_done, starts, ends;
    bool is_wide; /* for page_records_read() */
};

/* A page_entry in short form. If `is_wide` is set, only `stream` is valid, and the page_entry
 * follows in the next records, because its values do not fit. */
struct page_record {
    uint64_t time; /* of the packet, or of the first packet of the operation, ns */
    uint32_t frame;
    uint32_t size : 28; /* packet: bytes in flight; operation: bytes */
    uint32_t kind : 4;
    uint32_t duration : 28; /* packet: RTT, 0 if none; operation: time until its completion; ns */
    uint32_t side : 1, is_wide : 1, starts : 1, ends : 1;
    uint32_t psn : 24;
    uint32_t extra : 8; /* length of the packet on the wire minus its payload, bytes */
    uint16_t payload, span, sport;
    uint16_t stream : 12, class : 4;
};

/* Receives consecutive records of one stream. `stream_cnt`: number of streams so far. Returns false
 * if out of memory. Called by the thread, and by page_queue_end(). */
typedef bool page_consume(void *user, uint32_t stream, const struct page_record *record,
                          uint32_t cnt, uint32_t stream_cnt);

struct page_batch {
    struct page_record record[PAGE_BATCH];
    uint32_t cnt;
};

struct page_chunk {
    struct page_record record[PAGE_CHUNK];
};

struct page_queue {
    page_consume *consume;
    void *user;
    atomic_bool no_memory; /* records were lost */
    /* Two batches. While the reader fills one, the thread moves the records of the other. The
     * thread starts when the first batch is full. If no thread can be started, the reader moves
     * the records. */
    struct page_batch *batch;
    unsigned current; /* index of the batch of the reader */
    /* Chunk of each stream, NULL if it has no records, and its number of records. */
    struct page_chunk *chunk[PAGE_STREAMS];
    uint8_t chunk_cnt[PAGE_STREAMS];
    uint32_t stream_cnt;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Protected by the lock: the batch of the thread, or NULL; the thread must end. */
    struct page_batch *full;
    bool ending;
};

/* Returns 0, or -1 if out of memory. */
int page_queue_init(struct page_queue *queue, page_consume *consume, void *user);

/* Adds a packet to a stream, whose index is below PAGE_STREAMS. */
void page_queue_packet(struct page_queue *queue, uint32_t stream, const struct roce_flow_in *in,
                       const struct roce_flow_result *result);

/* Adds a completed operation. */
void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done);

/* Reads the next entry, and returns the number of its records. Before the first call, the caller
 * clears *entry with zeros; the call then keeps the members that are 0 in all short records. */
uint32_t page_records_read(const struct page_record *record, struct page_entry *entry);

/* Ends the thread, and consumes all remaining records. */
void page_queue_end(struct page_queue *queue);

/* Ends the thread and frees the memory of the queue; does not consume further records. */
void page_queue_free(struct page_queue *queue);

#endif
