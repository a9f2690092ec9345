/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_queue.h"

#include <stdlib.h>
#include <string.h>

/* Limit of the packets that the reader adds to a run. */
#define LENGTH_MAX (1u << 20)

_Static_assert((PAGE_STREAMS + 2 * PAGE_BATCH) % PAGE_SLAB == 0, "all slabs are full");

void page_queue_init(struct page_queue *queue, page_consume *consume, void *user)
{
    queue->consume = consume;
    queue->user = user;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
}

/* ---- the consuming thread ----------------------------------------------------------------------
 */

/* Consumes the chunks of a batch, and empties it. */
static void consume_batch(struct page_queue *queue, struct page_batch *batch)
{
    if (!queue->consume(queue->user, batch->chunk, batch->cnt))
        atomic_store(&queue->no_memory, true);
    batch->cnt = 0;
}

static void *run_thread(void *arg)
{
    struct page_queue *queue = arg;

    pthread_mutex_lock(&queue->lock);
    while (queue->full || !queue->ending) {
        if (!queue->full) {
            pthread_cond_wait(&queue->changed, &queue->lock);
            continue;
        }
        pthread_mutex_unlock(&queue->lock);
        consume_batch(queue, queue->full);
        pthread_mutex_lock(&queue->lock);
        queue->full = NULL;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Passes the current batch to the thread, after the thread has consumed the previous batch. */
static void hand_over(struct page_queue *queue)
{
    struct page_batch *batch = &queue->batch[queue->current];

    if (!queue->has_thread)
        queue->has_thread = pthread_create(&queue->thread, NULL, run_thread, queue) == 0;
    if (!queue->has_thread) {
        consume_batch(queue, batch);
        return;
    }
    pthread_mutex_lock(&queue->lock);
    while (queue->full)
        pthread_cond_wait(&queue->changed, &queue->lock);
    queue->full = batch;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    queue->current ^= 1;
}

static void end_thread(struct page_queue *queue)
{
    if (!queue->has_thread)
        return;
    pthread_mutex_lock(&queue->lock);
    queue->ending = true;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    pthread_join(queue->thread, NULL);
    queue->has_thread = false;
}

/* ---- filling chunks ----------------------------------------------------------------------------
 */

/* Returns a new chunk, or NULL if out of memory. */
static struct page_chunk *new_chunk(struct page_queue *queue)
{
    struct page_chunk **slab = &queue->slab[queue->chunks / PAGE_SLAB];

    if (!*slab)
        *slab = malloc(PAGE_SLAB * sizeof(**slab));
    if (!*slab) {
        atomic_store(&queue->no_memory, true);
        return NULL;
    }
    return &(*slab)[queue->chunks++ % PAGE_SLAB];
}

static void close_chunk(struct page_queue *queue, uint32_t stream)
{
    struct page_chunk *chunk = queue->fill[stream].chunk;

    chunk->stream = stream;
    chunk->stream_cnt = queue->stream_cnt;
}

static void open_chunk(struct page_chunk *chunk)
{
    memset(chunk->open, 0, sizeof(chunk->open));
    chunk->run_cnt = chunk->message_cnt = 0;
}

/* Moves the full chunk of a stream to the current batch. The stream gets a free chunk of the batch,
 * or a new one. If out of memory, the contents of the chunk are lost. */
static void pass_chunk(struct page_queue *queue, uint32_t stream)
{
    struct page_batch *batch = &queue->batch[queue->current];
    struct page_fill *fill = &queue->fill[stream];
    struct page_chunk *chunk = batch->chunk[batch->cnt];

    if (!chunk)
        chunk = new_chunk(queue);
    close_chunk(queue, stream);
    if (chunk) {
        batch->chunk[batch->cnt++] = fill->chunk;
        fill->chunk = chunk;
    }
    open_chunk(fill->chunk);
    if (chunk && batch->cnt == PAGE_BATCH)
        hand_over(queue);
}

/* Gives a stream its first chunk. Returns false if out of memory. */
static bool begin_stream(struct page_queue *queue, struct page_fill *fill)
{
    fill->chunk = new_chunk(queue);
    if (!fill->chunk)
        return false;
    open_chunk(fill->chunk);
    fill->length = 1;
    queue->stream_cnt++;
    return true;
}

void page_queue_end(struct page_queue *queue)
{
    struct page_chunk *chunk[PAGE_STREAMS];
    uint32_t cnt = 0;

    end_thread(queue);
    consume_batch(queue, &queue->batch[queue->current]);
    for (uint32_t i = 0; i < PAGE_STREAMS; i++)
        if (queue->fill[i].chunk) {
            close_chunk(queue, i);
            chunk[cnt++] = queue->fill[i].chunk;
        }
    if (!queue->consume(queue->user, chunk, cnt))
        atomic_store(&queue->no_memory, true);
}

void page_queue_free(struct page_queue *queue)
{
    end_thread(queue);
    for (unsigned i = 0; i < sizeof(queue->slab) / sizeof(queue->slab[0]); i++)
        free(queue->slab[i]);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

/* ---- adding packets and operations -------------------------------------------------------------
 */

uint32_t page_queue_share(uint32_t all, uint32_t stream_cnt)
{
    uint32_t share = all / stream_cnt;

    if (share > PAGE_SHARE)
        return PAGE_SHARE;
    return share < PACKET_RUNS_MIN ? PACKET_RUNS_MIN : share;
}

/* Counts a new run of a stream. If the consumer has probably merged the runs of the stream, doubles
 * the length of further runs. */
static void count_run(const struct page_queue *queue, struct page_fill *fill)
{
    uint32_t max = page_queue_share(PAGE_RUNS, queue->stream_cnt);

    if (fill->run_cnt >= max && fill->length < LENGTH_MAX) {
        fill->length *= 2;
        fill->run_cnt = max / 2;
    }
    fill->run_cnt++;
}

/* Adds a packet without a mark to an open run. Returns false if there is none. */
static bool add_to_run(const struct page_fill *fill, const struct roce_flow_in *in,
                       const struct roce_flow_result *result, enum run_class class)
{
    struct page_chunk *chunk = fill->chunk;
    uint8_t open = chunk->open[result->side & 1][class];
    struct packet_run *run = open ? &chunk->run[open - 1] : NULL;

    if (!run || run->cnt >= fill->length || run->sport != in->pkt->udp.sport)
        return false;
    return packet_run_add_packet(run, in, result, class);
}

void page_queue_packet(struct page_queue *queue, uint32_t stream, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    struct page_fill *fill = &queue->fill[stream];
    enum run_class class = packet_run_class(in->pkt, result);
    bool plain = packet_run_is_plain(result);

    if (!fill->chunk && !begin_stream(queue, fill))
        return;
    if (plain && add_to_run(fill, in, result, class))
        return;
    count_run(queue, fill);
    if (fill->chunk->run_cnt == PAGE_CHUNK)
        pass_chunk(queue, stream);
    packet_run_set(&fill->chunk->run[fill->chunk->run_cnt++], in, result, class);
    fill->chunk->open[result->side & 1][class] = plain ? fill->chunk->run_cnt : 0;
}

void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done)
{
    struct page_fill *fill = &queue->fill[stream];

    if (!fill->chunk && !begin_stream(queue, fill))
        return;
    if (fill->chunk->message_cnt == PAGE_CHUNK)
        pass_chunk(queue, stream);
    fill->chunk->message[fill->chunk->message_cnt++] = message_time_of(done);
}
