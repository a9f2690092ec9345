/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "capture/parallel_reader.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAC_CONTROL 0x8808u /* Ethernet type */
#define HANDS       2u      /* threads */

/* Read and not yet handed on. */
#define BATCHES 4u
_Static_assert(BATCHES <= CHUNKS_KEEP, "each batch has frames of a chunk of the file");

/* Small enough for the second level cache, and so long that a batch costs next to nothing a frame.
 */
#define BATCH_ITEMS 256u

/* The headers of so many frames are on their way to the cache while one is parsed. */
#define FRAMES_AHEAD 8u

/* How often somebody with nothing to do looks around before it sleeps: some 20 us. */
#define LOOKS 64

struct batch {
    struct ahead_item item[BATCH_ITEMS];
    unsigned cnt;
    struct ahead_counts counts;
    uint64_t piece; /* of the file: the frames are in it, or while it is filled behind it */
    bool used;      /* under the lock, as is `parsed` */
    bool parsed;    /* it can be handed on */
    int end;        /* 1 more may follow; 0 and -1 as source_next() said, after the items */
    struct fault fault;
};

struct ahead {
    struct source *source;
    bool icrc;
    ahead_fn *fn;
    void *user;
    pthread_mutex_t lock;
    pthread_cond_t cond; /* two threads: at most one waits */
    /* Under the lock. */
    bool reading, giving; /* somebody has the source; the caller's function */
    bool over;            /* nothing follows what was read */
    uint64_t read, given; /* batches */
    atomic_uint news;     /* changes with each thing that somebody may wait for; read without it */
    struct fault *fault;
    int end;
    struct batch *batch[BATCHES]; /* number n is at n % BATCHES */
};

/* A thread, and the memory that only it fills: what it writes there is in its cache already. */
struct hand {
    struct ahead *ahead;
    unsigned who;  /* for source_read_ahead() */
    bool anything; /* nothing could be read ahead: it reads what is next, whoever has it */
    struct source_frame frame[BATCH_ITEMS]; /* of the batch that is being filled or parsed */
    struct batch batch[BATCHES];
};

static void fill(struct hand *hand, struct batch *batch)
{
    struct source *source = hand->ahead->source;

    batch->cnt = 0;
    do {
        batch->end = source_next(source, &hand->frame[batch->cnt], &batch->fault);
        batch->cnt += batch->end == 1;
        while (batch->end == 1 && batch->cnt < BATCH_ITEMS &&
               source_next_here(source, &hand->frame[batch->cnt]))
            batch->cnt++;
    } while (batch->end == 1 && batch->cnt < BATCH_ITEMS && source_ready(source));
}

/* PAUSE (IEEE 802.3, annex 31B) or priority flow control (31D) with a time to stop for, at the
 * place of the first or any of the eight priorities: 0 lets the sender go on. */
static bool is_pause(const struct source_frame *frame)
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

static void count(struct ahead_counts *counts, const struct ahead_item *item,
                  const struct source_frame *frame)
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
    if (pkt->frame != frame->data) /* it was inside */
        counts->tunnel[pkt->tunnel]++;
    counts->cut += pkt->cap_len < pkt->wire_len;
    if (item->parsed != 0)
        counts->unreadable++;
    else
        counts->unverified += item->icrc == ROCE_ICRC_UNVERIFIED;
}

static void parse(struct hand *hand, struct batch *batch)
{
    bool icrc = hand->ahead->icrc;

    memset(&batch->counts, 0, sizeof(batch->counts));
    batch->counts.first_time = UINT64_MAX;
    for (unsigned i = 0; i < batch->cnt; i++) {
        struct ahead_item *item = &batch->item[i];
        const struct source_frame *frame = &hand->frame[i];
        struct roce_pkt *pkt = &item->pkt;

        __builtin_prefetch(hand->frame[i + FRAMES_AHEAD < batch->cnt ? i + FRAMES_AHEAD : i].data);
        item->time = frame->time;
        item->number = frame->number;
        item->parsed =
            roce_pkt_parse_usual(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len)
                ? 0
                : roce_tunnel_parse(pkt, frame->link, frame->data, frame->cap_len, frame->wire_len);
        item->icrc =
            icrc && item->parsed == 0 ? roce_pkt_icrc_check(pkt, NULL) : ROCE_ICRC_UNVERIFIED;
        if (item->parsed == 0)
            roce_digest_packet(&item->digest, pkt);
        count(&batch->counts, item, frame);
    }
}

/* ---- under the lock ----------------------------------------------------------------------------
 */

static void tell(struct ahead *ahead)
{
    atomic_fetch_add_explicit(&ahead->news, 1, memory_order_relaxed);
    pthread_cond_signal(&ahead->cond);
}

/* Whoever waits looks around for a moment before it sleeps: to be woken costs more than what the
 * other one does with a batch of large frames. */
static void wait_for_news(struct ahead *ahead)
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
    pthread_cond_wait(&ahead->cond, &ahead->lock);
}

static struct batch *next_batch(struct hand *hand)
{
    unsigned i = 0;

    while (hand->batch[i].used)
        i++;
    hand->batch[i].used = true;
    return &hand->batch[i];
}

static void read_batch(struct hand *hand)
{
    struct ahead *ahead = hand->ahead;
    struct batch *batch = next_batch(hand);

    ahead->batch[ahead->read++ % BATCHES] = batch;
    batch->piece = source_piece(ahead->source);
    ahead->reading = true;
    pthread_mutex_unlock(&ahead->lock);
    fill(hand, batch);
    pthread_mutex_lock(&ahead->lock);
    ahead->reading = false;
    ahead->over = batch->end != 1;
    batch->piece = source_piece(ahead->source);
    hand->anything = false;
    tell(ahead);
    pthread_mutex_unlock(&ahead->lock);
    parse(hand, batch);
    pthread_mutex_lock(&ahead->lock);
    batch->parsed = true;
    tell(ahead);
}

static void hand_on(struct ahead *ahead, struct batch *batch)
{
    const struct ahead_frames frames = {batch->item, batch->cnt, &batch->counts};

    ahead->giving = true;
    pthread_mutex_unlock(&ahead->lock);
    ahead->fn(ahead->user, &frames);
    pthread_mutex_lock(&ahead->lock);
    ahead->giving = false;
    batch->parsed = batch->used = false;
    ahead->given++;
    source_release(ahead->source, ahead->given < ahead->read
                                      ? ahead->batch[ahead->given % BATCHES]->piece
                                      : source_piece(ahead->source));
    if (batch->end != 1) {
        ahead->end = batch->end;
        if (batch->end < 0)
            *ahead->fault = batch->fault;
    }
    tell(ahead);
}

static void read_ahead(struct hand *hand)
{
    struct ahead *ahead = hand->ahead;
    bool did;

    pthread_mutex_unlock(&ahead->lock);
    did = source_read_ahead(ahead->source, hand->who);
    pthread_mutex_lock(&ahead->lock);
    hand->anything = !did;
}

/* ---- the threads -------------------------------------------------------------------------------
 */

static bool can_hand_on(const struct ahead *ahead)
{
    return !ahead->giving && ahead->given < ahead->read &&
           ahead->batch[ahead->given % BATCHES]->parsed;
}

static bool can_read(const struct hand *hand)
{
    const struct ahead *ahead = hand->ahead;

    return !ahead->reading && !ahead->over && ahead->read < ahead->given + BATCHES &&
           (hand->anything || source_has_turn(ahead->source, hand->who));
}

static bool can_read_ahead(const struct hand *hand)
{
    const struct ahead *ahead = hand->ahead;

    return !ahead->over && !hand->anything && source_may_read_ahead(ahead->source, hand->who);
}

/* What can be handed on is, for that is one at a time and all else can be made up for; then what
 * can be read is. */
static void *work(void *arg)
{
    struct hand *hand = arg;
    struct ahead *ahead = hand->ahead;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->over || ahead->given < ahead->read) {
        if (can_hand_on(ahead))
            hand_on(ahead, ahead->batch[ahead->given % BATCHES]);
        else if (can_read(hand))
            read_batch(hand);
        else if (can_read_ahead(hand))
            read_ahead(hand);
        else
            wait_for_news(ahead);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

/* The first hand in memory that is zero; calloc() knows no such alignment. */
static struct hand *aligned(void *memory)
{
    uintptr_t at = (uintptr_t)memory, by = _Alignof(struct hand);

    return (struct hand *)((at + by - 1) / by * by);
}

int ahead_run(struct source *source, bool icrc, ahead_fn *fn, void *user, struct fault *fault)
{
    struct ahead *ahead = calloc(1, sizeof(*ahead));
    void *memory = calloc(HANDS + 1, sizeof(struct hand)); /* zero, and none of it touched yet */
    struct hand *hands;
    pthread_t thread;
    bool threaded;
    int end;

    if (!ahead || !memory) {
        free(ahead);
        free(memory);
        return fault_set(fault, "%s: no memory", source_name(source));
    }
    hands = aligned(memory);
    ahead->source = source;
    ahead->icrc = icrc;
    ahead->fn = fn;
    ahead->user = user;
    ahead->fault = fault;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->cond, NULL);
    source_begin_ahead(source);
    for (unsigned i = 0; i < HANDS; i++) {
        hands[i].ahead = ahead;
        hands[i].who = i + 1;
    }
    threaded =
        sysconf(_SC_NPROCESSORS_ONLN) > 1 && pthread_create(&thread, NULL, work, &hands[1]) == 0;
    work(&hands[0]);
    if (threaded)
        pthread_join(thread, NULL);
    end = ahead->end;
    pthread_cond_destroy(&ahead->cond);
    pthread_mutex_destroy(&ahead->lock);
    free(memory);
    free(ahead);
    return end;
}
