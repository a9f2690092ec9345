/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Page queue: brings packets and completed operations from the reader of a capture to a thread,
 * which passes them to a consumer, several of one stream together. Used by page_capture.c.
 *
 * The reader adds packets as runs (packet_runs.h) and operations to the chunk of their stream. It
 * collects full chunks in a batch, and the thread passes the chunks of a full batch to the
 * consumer. So the consumer loads the state of a stream once for many packets. Otherwise this state
 * and the state of the analysis evict each other from the cache, which costs more time than the
 * rest of the page.
 *
 * When a stream has more packets than its share of runs, the consumer will merge its runs. From
 * then on, the reader merges consecutive packets before they reach the consumer.
 */
#ifndef REPLAY_PAGE_PAGE_QUEUE_H
#define REPLAY_PAGE_PAGE_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include "page/message_times.h"
#include "page/packet_runs.h"

#define PAGE_STREAMS  4096u   /* maximum number of streams */
#define PAGE_CHUNK    16u     /* maximum number of runs, and of operations, in a chunk */
#define PAGE_BATCH    256u    /* number of chunks in a batch */
#define PAGE_SLAB     64u     /* number of chunks that are allocated together */
#define PAGE_RUNS     100000u /* maximum number of packet runs of all streams */
#define PAGE_MESSAGES 30000u  /* maximum number of operations of all streams */
/* Limit of runs, and of operations, of one stream; a browser still draws that many quickly. */
#define PAGE_SHARE 10000u

/* Consecutive packet runs and operations of one stream. */
struct page_chunk {
    /* While the reader fills the chunk: index plus 1 of the run of each side and class to which it
     * may add a packet; 0: none. */
    uint8_t open[2][RUN_CLASS_CNT];
    uint8_t run_cnt, message_cnt;
    /* Set when the chunk is full: its stream, and the number of streams so far. */
    uint32_t stream, stream_cnt;
    struct packet_run run[PAGE_CHUNK];
    struct message_time message[PAGE_CHUNK];
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

/* State of a stream at the reader. */
struct page_fill {
    struct page_chunk *chunk; /* chunk that the reader fills; NULL: the stream is empty */
    uint32_t length;          /* maximum number of packets in a run without a mark */
    uint32_t run_cnt;         /* number of runs since the start, or since `length` grew, which
                               * counts as half of the limit */
};

struct page_queue {
    page_consume *consume;
    void *user;
    atomic_bool no_memory; /* packets or operations were lost */
    /* While the reader fills one batch, the thread consumes the other. The thread starts when the
     * first batch is full. If no thread can be started, the reader consumes it. */
    struct page_batch batch[2];
    unsigned current; /* index of the batch of the reader */
    struct page_fill fill[PAGE_STREAMS];
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

/* Adds a completed operation, whose time `ns` is known. */
void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done);

/* Returns the limit of one of `stream_cnt` streams: its equal share of `all`, which is the limit of
 * all streams together. */
uint32_t page_queue_share(uint32_t all, uint32_t stream_cnt);

/* Ends the thread, and consumes all remaining chunks. */
void page_queue_end(struct page_queue *queue);

/* Ends the thread and frees the memory of the queue; does not consume further chunks. */
void page_queue_free(struct page_queue *queue);

#endif
