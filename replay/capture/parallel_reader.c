/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/parallel_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/error.h"

#define MAC_CONTROL 0x8808u /* Ethernet type of MAC control frames */
#define WORKERS     2u      /* number of threads */

/* Maximum number of batches that were read and not yet passed on. */
#define BATCHES 4u
_Static_assert(BATCHES <= READ_BUFFER_KEEP, "each batch has frames of a chunk of the file");

/* Number of frames in a batch: small enough for the second level cache, and large enough to make
 * the cost of a batch negligible. */
#define BATCH_ITEMS 256u

/* Number of frames whose headers are prefetched while one frame is parsed. */
#define FRAMES_AHEAD 8u

/* Number of checks for work before an idle thread sleeps, about 20 us. */
#define LOOKS 64

struct batch {
    struct parsed_frame item[BATCH_ITEMS];
    unsigned cnt;
    struct frame_counts counts;
    uint64_t piece; /* number of the piece of the file that contains the frames; while the batch
                     * is filled, of the piece after it */
    bool used;      /* protected by the lock, like `parsed` */
    bool parsed;    /* the batch may be passed on */
    int end;        /* state after the last item: 1 if more frames may follow; 0 and -1 as
                     * returned by reader_next() */
    struct error error;
};

struct parallel_reader {
    struct capture_reader *reader;
    bool icrc;
    const struct roce_hash_secret *secret;
    frame_batch_fn *fn;
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t cond; /* at most one of the two threads waits */
    /* Protected by the lock. */
    bool reading, giving;   /* a thread is in the reader; a thread is in the caller's function */
    bool over;              /* the end of the capture was read */
    uint64_t read, given;   /* number of batches read, and passed on */
    atomic_uint generation; /* incremented at each change for which a thread may wait; read without
                             * the lock */
    struct error *error;
    int end;
    struct batch *batch[BATCHES]; /* batch n has index n % BATCHES */
};

/* A thread, and the memory that only this thread writes, so that it stays in the thread's cache. */
struct worker {
    struct parallel_reader *pr;
    unsigned who;  /* number of the thread for reader_read_ahead() */
    bool read_any; /* the thread could not read ahead, so it reads the next piece even if the
                    * other thread has it */
    struct captured_frame frame[BATCH_ITEMS]; /* frames of the batch that the thread fills or
                                               * parses */
    struct batch batch[BATCHES];
};

static void fill_batch(struct worker *worker, struct batch *batch)
{
    struct capture_reader *reader = worker->pr->reader;

    batch->cnt = 0;
    do {
        batch->end = reader_next(reader, &worker->frame[batch->cnt], &batch->error);
        batch->cnt += batch->end == 1;
        while (batch->end == 1 && batch->cnt < BATCH_ITEMS &&
               reader_next_here(reader, &worker->frame[batch->cnt]))
            batch->cnt++;
    } while (batch->end == 1 && batch->cnt < BATCH_ITEMS && reader_ready(reader));
}

/* Returns whether the frame stops a sender: PAUSE (IEEE 802.3, annex 31B) or priority flow control
 * (31D), with a time other than 0, for PFC for any of the eight priorities. */
static bool is_pause(const struct captured_frame *frame)
{
    const uint8_t *p = frame->data;
    uint64_t op;

    if (frame->link != ROCE_LINK_ETHERNET || frame->cap_len < 34 ||
        roce_be_get(p + 12, 2) != MAC_CONTROL)
        return false;
    op = roce_be_get(p + 14, 2);
    return (op == 0x0001 && roce_be_get(p + 16, 2)) ||
           (op == 0x0101 && (roce_be_get(p + 18, 8) | roce_be_get(p + 26, 8)));
}

static void count_frame(struct frame_counts *counts, const struct parsed_frame *item,
                        const struct captured_frame *frame)
{
    const struct roce_pkt *pkt = &item->pkt;

    if (frame->time < counts->first_time)
        counts->first_time = frame->time;
    if (frame->time > counts->last_time)
        counts->last_time = frame->time;
    if (item->parsed == ROCE_ERR_NOT_ROCE) {
        counts->foreign++;
        counts->pauses += is_pause(frame);
        counts->tunnel[pkt->tunnel]++;
        return;
    }
    if (pkt->frame != frame->data) /* the packet was in a tunnel */
        counts->tunnel[pkt->tunnel]++;
    counts->cut += pkt->cap_len < pkt->wire_len;
    if (item->parsed != 0)
        counts->unreadable++;
    else
        counts->unverified += item->icrc == ROCE_ICRC_UNVERIFIED;
    counts->zero_checksums += roce_pkt_defect(pkt, ROCE_DEFECT_IP_CHECKSUM_0);
}

static void parse_batch(struct worker *worker, struct batch *batch)
{
    bool icrc = worker->pr->icrc;

    memset(&batch->counts, 0, sizeof(batch->counts));
    batch->counts.first_time = UINT64_MAX;
    for (unsigned i = 0; i < batch->cnt; i++) {
        struct parsed_frame *item = &batch->item[i];
        const struct captured_frame *frame = &worker->frame[i];
        struct roce_pkt *pkt = &item->pkt;

        __builtin_prefetch(
            worker->frame[i + FRAMES_AHEAD < batch->cnt ? i + FRAMES_AHEAD : i].data);
        item->time = frame->time;
        item->number = frame->number;
        if (!reader_takes(worker->pr->reader, frame)) {
            item->parsed = ROCE_ERR_NOT_ROCE;
            continue;
        }
        item->parsed =
            roce_pkt_parse_fast(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len)
                ? 0
                : roce_tunnel_parse(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len);
        item->icrc =
            icrc && item->parsed == 0 ? roce_pkt_icrc_check(pkt, NULL) : ROCE_ICRC_UNVERIFIED;
        if (item->parsed == 0)
            roce_digest_packet(&item->digest, pkt, worker->pr->secret);
        count_frame(&batch->counts, item, frame);
    }
}

/* ---- under the lock ----------------------------------------------------------------------------
 */

static void signal_change(struct parallel_reader *pr)
{
    atomic_fetch_add_explicit(&pr->generation, 1, memory_order_relaxed);
    pthread_cond_signal(&pr->cond);
}

/* Checks for a change several times before it sleeps. A wake-up takes longer than the other thread
 * needs for a batch of large frames. */
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

static void pass_on_batch(struct parallel_reader *pr, struct batch *batch)
{
    const struct frame_batch frames = {batch->item, batch->cnt, &batch->counts};

    pr->giving = true;
    pthread_mutex_unlock(&pr->lock);
    pr->fn(pr->user, &frames);
    pthread_mutex_lock(&pr->lock);
    pr->giving = false;
    batch->parsed = batch->used = false;
    pr->given++;
    reader_release(pr->reader, pr->given < pr->read ? pr->batch[pr->given % BATCHES]->piece
                                                    : reader_piece(pr->reader));
    if (batch->end != 1) {
        pr->end = batch->end;
        if (batch->end < 0)
            *pr->error = batch->error;
    }
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

/* ---- the threads -------------------------------------------------------------------------------
 */

static bool can_pass_on(const struct parallel_reader *pr)
{
    return !pr->giving && pr->given < pr->read && pr->batch[pr->given % BATCHES]->parsed;
}

static bool can_read(const struct worker *worker)
{
    const struct parallel_reader *pr = worker->pr;

    return !pr->reading && !pr->over && pr->read < pr->given + BATCHES &&
           (worker->read_any || reader_has_turn(pr->reader, worker->who));
}

static bool can_read_ahead(const struct worker *worker)
{
    const struct parallel_reader *pr = worker->pr;

    return !pr->over && !worker->read_any && reader_may_read_ahead(pr->reader, worker->who);
}

/* Passing on has priority, because only one thread at a time can do it. Reading is next. */
static void *run_worker(void *arg)
{
    struct worker *worker = arg;
    struct parallel_reader *pr = worker->pr;

    pthread_mutex_lock(&pr->lock);
    while (!pr->over || pr->given < pr->read) {
        if (can_pass_on(pr))
            pass_on_batch(pr, pr->batch[pr->given % BATCHES]);
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

/* Returns the first aligned worker in the memory; calloc() does not align to cache lines. */
static struct worker *align_workers(void *memory)
{
    uintptr_t at = (uintptr_t)memory, by = _Alignof(struct worker);

    return (struct worker *)((at + by - 1) / by * by);
}

int parallel_read(struct capture_reader *reader, bool icrc, const struct roce_hash_secret *secret,
                  frame_batch_fn *fn, void *user, struct error *error)
{
    struct parallel_reader *pr = calloc(1, sizeof(*pr));
    void *memory = calloc(WORKERS + 1, sizeof(struct worker)); /* calloc() zeroes the memory
                                                                * without accessing it */
    struct worker *workers;
    pthread_t thread;
    bool threaded;
    int end;

    if (!pr || !memory) {
        free(pr);
        free(memory);
        return error_set(error, "%s: no memory", reader_name(reader));
    }
    workers = align_workers(memory);
    pr->reader = reader;
    pr->icrc = icrc;
    pr->secret = secret;
    pr->fn = fn;
    pr->user = user;
    pr->error = error;
    pthread_mutex_init(&pr->lock, NULL);
    pthread_cond_init(&pr->cond, NULL);
    reader_begin_ahead(reader);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].pr = pr;
        workers[i].who = i + 1;
    }
    threaded = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
               pthread_create(&thread, NULL, run_worker, &workers[1]) == 0;
    run_worker(&workers[0]);
    if (threaded)
        pthread_join(thread, NULL);
    end = pr->end;
    pthread_cond_destroy(&pr->cond);
    pthread_mutex_destroy(&pr->lock);
    free(memory);
    free(pr);
    return end;
}
