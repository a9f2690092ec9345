/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Batches of frames: small enough together for the caches, and each so long that waking the other
 * side costs next to nothing a frame (measured: 64 frames cost half as much again as 512). */
#define BATCHES     4u
#define BATCH_ITEMS 512u
#define BATCH_BYTES ((size_t)512 << 10) /* of most frames; a longer one gets room of its own */

struct batch {
    struct ahead_item item[BATCH_ITEMS];
    unsigned cnt;
    int end; /* 1 more may follow; 0 and -1 as source_next() said, after the items */
    struct fault fault;
    uint8_t bytes[BATCH_BYTES];
    uint8_t *large; /* the bytes of the last item, if there was no room; or NULL */
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
    /* Of the reader and of the judge: the batch each has. */
    unsigned in, out;
    bool holds; /* the judge has batch `out` */
    struct batch batch[BATCHES];
};

/* Puts the frame into the batch; false if it was the last that fits. */
static bool add(struct batch *batch, bool icrc, const struct source_frame *frame, size_t *used)
{
    struct ahead_item *item = &batch->item[batch->cnt++];
    uint8_t *bytes = batch->bytes + *used;
    bool room = frame->cap_len <= BATCH_BYTES - *used;

    if (!room)
        bytes = batch->large = malloc(frame->cap_len);
    item->frame = *frame;
    if (!bytes) { /* no memory: as if nothing of it had been captured */
        item->frame.cap_len = 0;
        bytes = batch->bytes;
    }
    memcpy(bytes, frame->data, item->frame.cap_len);
    item->frame.data = item->frame.record = bytes;
    *used += room ? item->frame.cap_len : 0;
    item->parsed = item->frame.cap_len == 0 ? ROCE_ERR_NOT_ROCE
                                            : roce_pkt_parse(&item->pkt, frame->link, bytes,
                                                             item->frame.cap_len, frame->wire_len);
    item->icrc =
        icrc && item->parsed == 0 ? roce_pkt_icrc_check(&item->pkt, NULL) : ROCE_ICRC_UNVERIFIED;
    return room && batch->cnt < BATCH_ITEMS;
}

static void fill(struct ahead *ahead, struct batch *batch)
{
    struct source_frame frame;
    size_t used = 0;

    free(batch->large);
    batch->large = NULL;
    batch->cnt = 0;
    while ((batch->end = source_next(ahead->source, &frame, &batch->fault)) == 1)
        if (!add(batch, ahead->icrc, &frame, &used))
            return;
}

static void *read_ahead(void *arg)
{
    struct ahead *ahead = arg;
    bool more = true;

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
        ahead->in = (ahead->in + 1) % BATCHES;
        pthread_mutex_lock(&ahead->lock);
        ahead->full++;
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
        while (ahead->full == 0)
            pthread_cond_wait(&ahead->filled, &ahead->lock);
        pthread_mutex_unlock(&ahead->lock);
        batch = &ahead->batch[ahead->out];
    } else {
        fill(ahead, batch);
    }
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
    for (unsigned i = 0; i < BATCHES; i++)
        free(ahead->batch[i].large);
    free(ahead);
}
