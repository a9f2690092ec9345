/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Batches of frames: small enough together for the caches, and each so long that waking the other
 * side costs next to nothing a frame (measured: 64 frames cost half as much again as 512). There
 * are no more of them than chunks of the file that the source keeps: each has frames of one. */
#define BATCHES     CHUNKS_KEEP
#define BATCH_ITEMS 512u

/* The headers of so many frames are on their way to the cache while one is parsed. */
#define FRAMES_AHEAD 8u

/* How often somebody with nothing to do looks around before it sleeps: some 20 us. */
#define LOOKS 64

struct batch {
    struct ahead_item item[BATCH_ITEMS];
    unsigned cnt;
    int end; /* 1 more may follow; 0 and -1 as source_next() said, after the items */
    struct fault fault;
    bool ready; /* filled and parsed; under the lock */
};

struct ahead {
    struct source *source;
    bool icrc;
    bool helps; /* the judge reads and parses while it has nothing to judge */
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t for_reader, for_judge;
    /* Under the lock. Batches are filled, and judged, in the order of the ring: those from `out` on
     * are in use, `used` of them. */
    unsigned in, out, used;
    bool reading; /* somebody has the source */
    bool over;    /* nothing follows what was filled */
    bool stop;
    bool reader_waits, judge_waits;
    atomic_uint news; /* changes with each thing that somebody may wait for; read without it */
    bool holds;       /* the judge has batch `out` */
    struct batch batch[BATCHES];
};

static void fill(struct ahead *ahead, struct batch *batch)
{
    batch->cnt = 0;
    do {
        batch->end = source_next(ahead->source, &batch->item[batch->cnt].frame, &batch->fault);
        batch->cnt += batch->end == 1;
    } while (batch->end == 1 && batch->cnt < BATCH_ITEMS && source_ready(ahead->source));
}

static void parse(const struct ahead *ahead, struct batch *batch)
{
    for (unsigned i = 0; i < batch->cnt; i++) {
        struct ahead_item *item = &batch->item[i];
        const struct source_frame *frame = &item->frame;

        __builtin_prefetch(
            batch->item[i + FRAMES_AHEAD < batch->cnt ? i + FRAMES_AHEAD : i].frame.data);
        item->parsed = roce_pkt_parse_captured(&item->pkt, frame->link, frame->data, frame->cap_len,
                                               frame->wire_len);
        item->icrc = ahead->icrc && item->parsed == 0 ? roce_pkt_icrc_check(&item->pkt, NULL)
                                                      : ROCE_ICRC_UNVERIFIED;
        if (item->parsed == 0)
            roce_glance_take(&item->glance, &item->pkt);
    }
}

/* ---- under the lock ----------------------------------------------------------------------------
 */

static void tell(struct ahead *ahead, pthread_cond_t *cond, bool *waits)
{
    atomic_fetch_add_explicit(&ahead->news, 1, memory_order_relaxed);
    if (*waits)
        pthread_cond_signal(cond);
    *waits = false;
}

/* Whoever waits looks around for a moment before it sleeps: to be woken costs more than what the
 * other one does with a batch of large frames. */
static void wait_for(struct ahead *ahead, pthread_cond_t *cond, bool *waits)
{
    unsigned news = atomic_load_explicit(&ahead->news, memory_order_relaxed), i = 0;

    pthread_mutex_unlock(&ahead->lock);
    while (i < LOOKS && atomic_load_explicit(&ahead->news, memory_order_relaxed) == news) {
        sched_yield();
        i++;
    }
    pthread_mutex_lock(&ahead->lock);
    if (atomic_load_explicit(&ahead->news, memory_order_relaxed) != news)
        return;
    *waits = true;
    pthread_cond_wait(cond, &ahead->lock);
    *waits = false;
}

static bool can_read(const struct ahead *ahead)
{
    return !ahead->reading && !ahead->over && ahead->used < BATCHES;
}

/* Reads the next batch and parses it, without the lock meanwhile. */
static void make_batch(struct ahead *ahead)
{
    struct batch *batch = &ahead->batch[ahead->in];

    ahead->in = (ahead->in + 1) % BATCHES;
    ahead->used++;
    ahead->reading = true;
    batch->ready = false;
    pthread_mutex_unlock(&ahead->lock);
    fill(ahead, batch);
    pthread_mutex_lock(&ahead->lock);
    ahead->reading = false;
    ahead->over = batch->end != 1;
    tell(ahead, &ahead->for_reader, &ahead->reader_waits);
    tell(ahead, &ahead->for_judge, &ahead->judge_waits);
    pthread_mutex_unlock(&ahead->lock);
    parse(ahead, batch);
    pthread_mutex_lock(&ahead->lock);
    batch->ready = true;
    tell(ahead, &ahead->for_judge, &ahead->judge_waits);
}

static void *read_ahead(void *arg)
{
    struct ahead *ahead = arg;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->stop && !ahead->over) {
        if (can_read(ahead))
            make_batch(ahead);
        else
            wait_for(ahead, &ahead->for_reader, &ahead->reader_waits);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* The batch that was handed out before is free again. A reader that had no room is woken when it
 * has some for several. */
static void give_back(struct ahead *ahead)
{
    if (!ahead->holds)
        return;
    ahead->holds = false;
    ahead->out = (ahead->out + 1) % BATCHES;
    ahead->used--;
    if (ahead->used <= BATCHES / 2)
        tell(ahead, &ahead->for_reader, &ahead->reader_waits);
}

/* ---- the judge's side --------------------------------------------------------------------------
 */

struct ahead *ahead_new(struct source *source, bool icrc)
{
    struct ahead *ahead = calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->source = source;
    ahead->icrc = icrc;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->for_reader, NULL);
    pthread_cond_init(&ahead->for_judge, NULL);
    ahead->threaded = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
                      pthread_create(&ahead->thread, NULL, read_ahead, ahead) == 0;
    /* Who waits for a pipe cannot judge what came meanwhile. */
    ahead->helps = !ahead->threaded || !source_is_live(source);
    return ahead;
}

int ahead_next(struct ahead *ahead, const struct ahead_item **items, unsigned *cnt,
               struct fault *fault)
{
    struct batch *batch = &ahead->batch[ahead->out];

    if (ahead->holds && batch->end != 1) { /* what came before the end was handed out */
        if (batch->end < 0)
            *fault = batch->fault;
        return batch->end;
    }
    pthread_mutex_lock(&ahead->lock);
    give_back(ahead);
    while (ahead->used == 0 || !ahead->batch[ahead->out].ready) {
        if (ahead->helps && can_read(ahead))
            make_batch(ahead);
        else
            wait_for(ahead, &ahead->for_judge, &ahead->judge_waits);
    }
    ahead->holds = true;
    pthread_mutex_unlock(&ahead->lock);
    batch = &ahead->batch[ahead->out];
    *items = batch->item;
    *cnt = batch->cnt;
    return 1;
}

void ahead_del(struct ahead *ahead)
{
    if (!ahead)
        return;
    if (ahead->threaded) {
        pthread_mutex_lock(&ahead->lock);
        ahead->stop = true;
        pthread_cond_signal(&ahead->for_reader);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->for_reader);
    pthread_cond_destroy(&ahead->for_judge);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
