/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Batches of frames: small enough together for the caches, and each so long that waking the other
 * side costs next to nothing a frame (measured: 64 frames cost half as much again as 512). There
 * are no more of them than chunks of the file that the source keeps: each has frames of one. */
#define BATCHES     CHUNKS_KEEP
#define BATCH_ITEMS 512u

/* The headers of so many frames are on their way to the cache while one is parsed. */
#define FRAMES_AHEAD 8u

struct batch {
    struct ahead_item item[BATCH_ITEMS];
    unsigned cnt;
    int end; /* 1 more may follow; 0 and -1 as source_next() said, after the items */
    struct fault fault;
    bool parsed; /* the items have more than their frames */
};

struct ahead {
    struct source *source;
    bool icrc;
    bool threaded;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled, taken;
    /* Under the lock. */
    unsigned full; /* batches filled and not yet given back */
    bool stop;
    bool idle; /* the judge waits for a batch */
    /* Of the reader and of the judge: the batch each has. */
    unsigned in, out;
    bool holds; /* the judge has batch `out` */
    struct batch batch[BATCHES];
};

static void fill(struct ahead *ahead, struct batch *batch)
{
    batch->cnt = 0;
    batch->parsed = false;
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
        item->parsed =
            roce_pkt_parse(&item->pkt, frame->link, frame->data, frame->cap_len, frame->wire_len);
        item->icrc = ahead->icrc && item->parsed == 0 ? roce_pkt_icrc_check(&item->pkt, NULL)
                                                      : ROCE_ICRC_UNVERIFIED;
    }
    batch->parsed = true;
}

static void *read_ahead(void *arg)
{
    struct ahead *ahead = arg;
    bool more = true, idle;

    while (more) {
        struct batch *batch = &ahead->batch[ahead->in];

        pthread_mutex_lock(&ahead->lock);
        while (ahead->full == BATCHES && !ahead->stop)
            pthread_cond_wait(&ahead->taken, &ahead->lock);
        more = !ahead->stop;
        pthread_mutex_unlock(&ahead->lock);
        if (!more)
            break;
        fill(ahead, batch);
        more = batch->end == 1;
        /* A judge with nothing to do parses for itself while the next batch is read. */
        pthread_mutex_lock(&ahead->lock);
        idle = ahead->idle;
        pthread_mutex_unlock(&ahead->lock);
        if (!idle)
            parse(ahead, batch);
        ahead->in = (ahead->in + 1) % BATCHES;
        pthread_mutex_lock(&ahead->lock);
        ahead->full++;
        ahead->idle = false;
        pthread_cond_signal(&ahead->filled);
        pthread_mutex_unlock(&ahead->lock);
    }
    return NULL;
}

struct ahead *ahead_new(struct source *source, bool icrc)
{
    struct ahead *ahead = calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->source = source;
    ahead->icrc = icrc;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->filled, NULL);
    pthread_cond_init(&ahead->taken, NULL);
    ahead->threaded = sysconf(_SC_NPROCESSORS_ONLN) > 1 &&
                      pthread_create(&ahead->thread, NULL, read_ahead, ahead) == 0;
    return ahead;
}

/* The batch that was handed out before is free again. */
static void give_back(struct ahead *ahead)
{
    if (!ahead->holds)
        return;
    ahead->holds = false;
    ahead->out = (ahead->out + 1) % BATCHES;
    pthread_mutex_lock(&ahead->lock);
    ahead->full--;
    pthread_cond_signal(&ahead->taken);
    pthread_mutex_unlock(&ahead->lock);
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
    if (ahead->threaded) {
        give_back(ahead);
        pthread_mutex_lock(&ahead->lock);
        while (ahead->full == 0) {
            ahead->idle = true;
            pthread_cond_wait(&ahead->filled, &ahead->lock);
        }
        pthread_mutex_unlock(&ahead->lock);
        batch = &ahead->batch[ahead->out];
    } else {
        fill(ahead, batch);
    }
    if (!batch->parsed)
        parse(ahead, batch);
    ahead->holds = true;
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
        pthread_cond_signal(&ahead->taken);
        pthread_mutex_unlock(&ahead->lock);
        pthread_join(ahead->thread, NULL);
    }
    pthread_cond_destroy(&ahead->taken);
    pthread_cond_destroy(&ahead->filled);
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}
