/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page queue: brings packets and completed operations from the reader of a capture to a thread,
 * which passes them to a consumer, about 30 of one stream together. Used by page_capture.c.
 *
 * A packet or operation is a record of 32 bytes. The reader appends it to the chunk of its stream.
 * It collects full chunks in a batch, and the thread passes the chunks of a full batch to the
 * consumer. So the consumer loads the state of a stream once for many packets. Otherwise this state
 * and the state of the analysis evict each other from the cache, which costs more time than the
 * rest of the page.
 */
#ifndef REPLAY_PAGE_PAGE_QUEUE_H
#define REPLAY_PAGE_PAGE_QUEUE_H

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include "page/packet_runs.h"

#define PAGE_STREAMS 4096u /* maximum number of streams */
#define PAGE_CHUNK   32u   /* number of records in a chunk */
#define PAGE_BATCH   256u  /* number of chunks in a batch */
#define PAGE_SLAB    64u   /* number of chunks that are allocated together */

/* A packet, or a completed operation. */
struct page_entry {
    struct packet_run run;
    struct roce_flow_done done; /* if is_done is set */
    /* `starts`, `ends`: the packet is the first, or the last, of a message sent for the first
     * time. */
    bool is_done, starts, ends;
};

/* A page_entry in short form. If `is_wide` is set, the page_entry follows in the next records,
 * because its values do not fit. */
struct page_record {
    uint64_t time; /* of the packet, or of the first packet of the operation, ns */
    uint32_t frame;
    uint32_t size;     /* packet: bytes in flight; operation: bytes */
    uint32_t duration; /* packet: RTT, 0 if none; operation: time until its completion; ns */
    uint32_t psn : 24;
    uint32_t extra : 8; /* length of the packet on the wire minus its payload, bytes */
    uint16_t payload, span, sport;
    uint8_t class : 4, kind : 4;
    uint8_t side : 1, is_wide : 1, starts : 1, ends : 1;
};

/* Consecutive records of one stream. */
struct page_chunk {
    alignas(64) struct page_record record[PAGE_CHUNK];
    /* Set when the chunk is full: its stream, and the number of streams so far. */
    uint32_t stream, stream_cnt;
    uint32_t cnt;
};

/* Receives `cnt` chunks. Returns false if out of memory. Called by the thread, and by
 * page_queue_end(). */
typedef bool page_consume(void *user, struct page_chunk *const *chunk, uint32_t cnt);

/* `chunk`: full chunks, then chunks that were consumed and are free again, then NULL. `cnt`: number
 * of full chunks. */
struct page_batch {
    struct page_chunk *chunk[PAGE_BATCH];
    uint32_t cnt;
};

struct page_queue {
    page_consume *consume;
    void *user;
    atomic_bool no_memory; /* records were lost */
    /* While the reader fills one batch, the thread consumes the other. The thread starts when the
     * first batch is full. If no thread can be started, the reader consumes it. */
    struct page_batch batch[2];
    unsigned current; /* index of the batch of the reader */
    /* Chunk of each stream that the reader fills, NULL if it has no records, and its number of
     * records. */
    struct page_chunk *chunk[PAGE_STREAMS];
    uint8_t chunk_cnt[PAGE_STREAMS];
    uint32_t stream_cnt;
    /* All chunks: of the streams and of both batches. */
    struct page_chunk *slab[(PAGE_STREAMS + 2 * PAGE_BATCH) / PAGE_SLAB];
    uint32_t chunks; /* number of chunks in use */
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Protected by the lock: the batch of the thread, or NULL; the thread must end. */
    struct page_batch *full;
    bool ending;
};

void page_queue_init(struct page_queue *queue, page_consume *consume, void *user);

/* Adds a packet to a stream, whose index is below PAGE_STREAMS. */
void page_queue_packet(struct page_queue *queue, uint32_t stream, const struct roce_flow_in *in,
                       const struct roce_flow_result *result);

/* Adds a completed operation. */
void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done);

/* Returns whether the record is a packet in short form. */
bool page_record_is_packet(const struct page_record *record);

/* Adds a packet in short form to the runs, as packet_runs_add() would do. */
bool page_record_add(const struct page_record *record, struct packet_runs *runs, uint32_t max);

/* Reads any other entry, and returns the number of its records. */
uint32_t page_records_read(const struct page_record *record, struct page_entry *entry);

/* Ends the thread, and consumes all remaining records. */
void page_queue_end(struct page_queue *queue);

/* Ends the thread and frees the memory of the queue; does not consume further records. */
void page_queue_free(struct page_queue *queue);

#endif
