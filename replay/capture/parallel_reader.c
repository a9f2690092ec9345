/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/parallel_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "capture/mapped_reader.h"
#include "util/cli_opts.h"

/* Maximum number of batches that were read but not yet passed to judge(), the callback of the
 * consumer. */
#define BATCHES 4u
_Static_assert(
    BATCHES <= READ_BUFFER_KEEP,
    "READ_BUFFER_KEEP must be at least BATCHES, because each batch uses a chunk of the file");

/* While a thread parses frame i of a batch, it prefetches the headers of frame i + FRAMES_AHEAD. */
#define FRAMES_AHEAD 8u

/* Number of times that an idle thread checks for work before it sleeps, about 20 us in total. */
#define LOOKS 64

struct batch {
    struct parsed_frame item[FRAME_BATCH_MAX];
    unsigned cnt;
    struct frame_counts counts;
    /* Number of the piece of the file (read_buffer.h) that contains the last frame of the batch.
     * While a thread fills the batch: number of the piece that was current when the thread
     * began. */
    uint64_t piece;
    size_t begin; /* mapped file: offset of the first frame */
    unsigned who; /* number of the worker that parses the frames */
    bool used;    /* the batch is in use; protected by the lock, like `parsed` */
    bool parsed;  /* all its frames are parsed, so they may be passed to judge() */
    int end;      /* 1: more frames may follow the batch; 0: the file ends after it; -1: error */
    struct error error;
};

struct parallel_reader {
    struct capture_reader *reader;
    const struct frame_consumer *consumer;
    unsigned threads;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    /* The lock protects all members from here on, except `generation`. */
    bool reading;          /* a thread reads the file */
    bool judging;          /* a thread is in judge() */
    bool live;             /* reader_is_live() */
    bool over;             /* no frame follows: the file ended, or an error occurred */
    uint64_t read, judged; /* number of batches that were read, and that were judged */
    /* Incremented when something changes for which a thread may wait. Threads read it without the
     * lock. */
    atomic_uint generation;
    struct error *error;
    int end;
    struct batch *batch[BATCHES]; /* the batches in memory; batch number n has index n % BATCHES */
};

/* A worker thread and its batches. Only this thread writes them, so they stay in the cache of its
 * core. */
struct worker {
    struct parallel_reader *pr;
    /* Number of the thread, from 1; argument of reader_read_ahead(). */
    unsigned who;
    /* The thread found no piece of the file to read ahead. So it may read frames of the next piece,
     * even if this piece is in the cache of another thread's core. */
    bool read_any;
    /* Frames of the batch that the thread fills or parses. */
    struct captured_frame frame[FRAME_BATCH_MAX];
    struct batch batch[BATCHES];
};

/* Parses a frame of a batch. The caller has initialized the counts of the batch. */
static void parse_frame(struct worker *worker, struct batch *batch, unsigned at)
{
    const struct frame_consumer *consumer = worker->pr->consumer;
    struct parsed_frame *item = &batch->item[at];
    const struct captured_frame *frame = &worker->frame[at];

    if (!reader_takes(worker->pr->reader, frame)) {
        item->number = frame->number;
        item->parsed = ROCE_ERR_NOT_ROCE;
        return;
    }
    parsed_frame_set(item, frame, consumer->secret);
    parsed_frame_set_icrc(item, consumer->icrc);
    frame_counts_add(&batch->counts, item, frame);
}

/* Adds the frame that was just read to a batch. If there is only one thread, also parses this
 * frame. Before that, the thread prefetches the headers of the next frame, which follows this frame
 * in memory. */
static void add_frame(struct worker *worker, struct batch *batch)
{
    unsigned at = batch->cnt++;
    const struct captured_frame *frame = &worker->frame[at];

    if (worker->pr->threads > 1)
        return;
    __builtin_prefetch(frame->data + frame->cap_len);
    __builtin_prefetch(frame->data + frame->cap_len + 64);
    parse_frame(worker, batch, at);
}

static void fill_batch(struct worker *worker, struct batch *batch)
{
    struct capture_reader *reader = worker->pr->reader;

    frame_counts_init(&batch->counts);
    batch->cnt = 0;
    batch->begin = reader_map_next(reader);
    do {
        batch->end = reader_next(reader, &worker->frame[batch->cnt], &batch->error);
        if (batch->end == 1)
            add_frame(worker, batch);
        while (batch->end == 1 && batch->cnt < FRAME_BATCH_MAX &&
               reader_next_here(reader, &worker->frame[batch->cnt]))
            add_frame(worker, batch);
    } while (batch->end == 1 && batch->cnt < FRAME_BATCH_MAX && reader_ready(reader));
}

/* Parses the frames of a batch that add_frame() did not parse. */
static void parse_batch(struct worker *worker, struct batch *batch)
{
    if (worker->pr->threads == 1)
        return;
    for (unsigned i = 0; i < batch->cnt; i++) {
        __builtin_prefetch(
            worker->frame[i + FRAMES_AHEAD < batch->cnt ? i + FRAMES_AHEAD : i].data);
        parse_frame(worker, batch, i);
    }
}

/* ---- functions called with the lock ------------------------------------------------------------
 */

static void signal_change(struct parallel_reader *pr)
{
    atomic_fetch_add_explicit(&pr->generation, 1, memory_order_relaxed);
    pthread_cond_broadcast(&pr->cond);
}

/* Waits until `generation` changes. Checks several times before it sleeps, because a wake-up takes
 * longer than another thread needs for a batch of large frames. */
static void wait_for_change(struct parallel_reader *pr)
{
    unsigned generation = atomic_load_explicit(&pr->generation, memory_order_relaxed), i = 0;

    pthread_mutex_unlock(&pr->lock);
    while (i < LOOKS && atomic_load_explicit(&pr->generation, memory_order_relaxed) == generation) {
        sched_yield();
        i++;
    }
    pthread_mutex_lock(&pr->lock);
    if (atomic_load_explicit(&pr->generation, memory_order_relaxed) != generation)
        return;
    pthread_cond_wait(&pr->cond, &pr->lock);
}

static struct batch *next_batch(struct worker *worker)
{
    unsigned i = 0;

    while (worker->batch[i].used)
        i++;
    worker->batch[i].used = true;
    return &worker->batch[i];
}

static void read_batch(struct worker *worker)
{
    struct parallel_reader *pr = worker->pr;
    struct batch *batch = next_batch(worker);

    pr->batch[pr->read++ % BATCHES] = batch;
    batch->piece = reader_piece(pr->reader);
    batch->who = worker->who;
    pr->reading = true;
    pthread_mutex_unlock(&pr->lock);
    fill_batch(worker, batch);
    pthread_mutex_lock(&pr->lock);
    pr->reading = false;
    pr->over = batch->end != 1;
    batch->piece = reader_piece(pr->reader);
    worker->read_any = false;
    signal_change(pr);
    pthread_mutex_unlock(&pr->lock);
    parse_batch(worker, batch);
    pthread_mutex_lock(&pr->lock);
    batch->parsed = true;
    signal_change(pr);
}

/* Frees a judged batch, and the pieces of the file that no batch needs any longer. */
static void release_batch(struct parallel_reader *pr, struct batch *batch)
{
    reader_unmap_before(pr->reader, batch->begin);
    batch->parsed = batch->used = false;
    pr->judged++;
    reader_release(pr->reader, pr->judged < pr->read ? pr->batch[pr->judged % BATCHES]->piece
                                                     : reader_piece(pr->reader));
    if (batch->end != 1) {
        pr->end = batch->end;
        if (batch->end < 0)
            *pr->error = batch->error;
    }
}

static void judge_batch(struct parallel_reader *pr)
{
    struct batch *batch = pr->batch[pr->judged % BATCHES];
    const struct frame_batch frames = {
        .item = batch->item, .cnt = batch->cnt, .counts = &batch->counts};

    pr->judging = true;
    pthread_mutex_unlock(&pr->lock);
    pr->consumer->judge(pr->consumer->user, &frames);
    pthread_mutex_lock(&pr->lock);
    pr->judging = false;
    release_batch(pr, batch);
    signal_change(pr);
}

static void read_piece_ahead(struct worker *worker)
{
    struct parallel_reader *pr = worker->pr;
    bool did;

    pthread_mutex_unlock(&pr->lock);
    did = reader_read_ahead(pr->reader, worker->who);
    pthread_mutex_lock(&pr->lock);
    worker->read_any = !did;
}

/* ---- the worker threads ------------------------------------------------------------------------
 */

/* Returns whether the thread can judge a batch now. The thread that parsed the batch judges it,
 * because the packets are in its cache. If the capture is live, any thread may judge, because the
 * thread that parsed the batch may be waiting for the next frame. */
static bool can_judge(const struct worker *worker)
{
    const struct parallel_reader *pr = worker->pr;
    const struct batch *batch = pr->batch[pr->judged % BATCHES];

    return !pr->judging && pr->judged < pr->read && batch->parsed &&
           (pr->live || batch->who == worker->who);
}

static bool can_read(const struct worker *worker)
{
    const struct parallel_reader *pr = worker->pr;

    return !pr->reading && !pr->over && pr->read < pr->judged + BATCHES &&
           (worker->read_any || reader_has_turn(pr->reader, worker->who));
}

static bool can_read_ahead(const struct worker *worker)
{
    const struct parallel_reader *pr = worker->pr;

    return !pr->over && !worker->read_any && reader_may_read_ahead(pr->reader, worker->who);
}

/* Main loop of a thread. Judging has priority, because only one thread at a time can judge. */
static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    struct parallel_reader *pr = worker->pr;

    pthread_mutex_lock(&pr->lock);
    while (!pr->over || pr->judged < pr->read) {
        if (can_judge(worker))
            judge_batch(pr);
        else if (can_read(worker))
            read_batch(worker);
        else if (can_read_ahead(worker))
            read_piece_ahead(worker);
        else
            wait_for_change(pr);
    }
    pthread_mutex_unlock(&pr->lock);
    return NULL;
}

/* Returns the first address in `memory` that is aligned for a struct worker. calloc() does not
 * align to cache lines. */
static struct worker *align_workers(void *memory)
{
    uintptr_t at = (uintptr_t)memory, by = _Alignof(struct worker);

    return (struct worker *)((at + by - 1) / by * by);
}

/* Starts `cnt` - 1 threads. Returns the number of running threads, including the caller's. The new
 * threads wait for the lock, which the caller holds. */
static unsigned start_workers(struct worker *workers, pthread_t *thread, unsigned cnt)
{
    unsigned started = 1;

    while (started < cnt &&
           pthread_create(&thread[started], NULL, run_worker, &workers[started]) == 0)
        started++;
    return started;
}

int parallel_read(struct capture_reader *reader, const struct frame_consumer *consumer,
                  struct error *error)
{
    struct parallel_reader *pr = calloc(1, sizeof(*pr));
    unsigned cnt = cli_job_cnt(consumer->threads, PARALLEL_THREADS_MAX);
    /* calloc() does not touch the pages of a large block. So the kernel allocates the pages of each
     * thread when the thread uses them, close to its processor. */
    void *memory = calloc(cnt + 1, sizeof(struct worker));
    pthread_t thread[PARALLEL_THREADS_MAX];
    struct worker *workers;
    int end;

    if (!pr || !memory) {
        free(pr);
        free(memory);
        return error_set(error, "%s: no memory", reader_name(reader));
    }
    workers = align_workers(memory);
    pr->reader = reader;
    pr->consumer = consumer;
    pr->error = error;
    pthread_mutex_init(&pr->lock, NULL);
    pthread_cond_init(&pr->cond, NULL);
    reader_begin_ahead(reader);
    for (unsigned i = 0; i < cnt; i++) {
        workers[i].pr = pr;
        workers[i].who = i + 1;
    }
    pthread_mutex_lock(&pr->lock);
    pr->threads = start_workers(workers, thread, cnt);
    pr->live = reader_is_live(reader);
    pthread_mutex_unlock(&pr->lock);
    run_worker(&workers[0]);
    for (unsigned i = 1; i < pr->threads; i++)
        pthread_join(thread[i], NULL);
    end = pr->end;
    pthread_cond_destroy(&pr->cond);
    pthread_mutex_destroy(&pr->lock);
    free(memory);
    free(pr);
    return end;
}
