/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_queue.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

_Static_assert(sizeof(struct page_record) == 32, "two records fill a cache line");
_Static_assert(PAGE_STREAMS <= 1u << 12, "page_record.stream has 12 bits");

#define SHORT_MAX  ((UINT32_C(1) << 28) - 1) /* of page_record.size and page_record.duration */
#define CLASS_DONE 15u                       /* page_record.class of a completed operation */
_Static_assert(RUN_CLASS_CNT <= CLASS_DONE, "page_record.class has four bits");

/* Number of records of an entry that is wide. */
#define WIDE_RECORDS                                                                               \
    (1 + (uint32_t)((sizeof(struct page_entry) + sizeof(struct page_record) - 1) /                 \
                    sizeof(struct page_record)))

/* Number of records after the current one of which the chunk is prefetched. */
#define PREFETCH_AHEAD 8u

int page_queue_init(struct page_queue *queue, page_consume *consume, void *user)
{
    queue->consume = consume;
    queue->user = user;
    /* calloc() does not touch the pages, so the second batch costs nothing until it is used. */
    queue->batch = calloc(2, sizeof(*queue->batch));
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    return queue->batch ? 0 : -1;
}

/* ---- the thread --------------------------------------------------------------------------------
 */

static void consume_chunk(struct page_queue *queue, uint32_t stream)
{
    if (queue->chunk_cnt[stream] &&
        !queue->consume(queue->user, stream, queue->chunk[stream]->record, queue->chunk_cnt[stream],
                        queue->stream_cnt))
        atomic_store(&queue->no_memory, true);
    queue->chunk_cnt[stream] = 0;
}

/* Returns room for `cnt` records in the chunk of a stream, or NULL. */
static struct page_record *chunk_room(struct page_queue *queue, uint32_t stream, uint32_t cnt)
{
    uint8_t *chunk_cnt = &queue->chunk_cnt[stream];

    if (!queue->chunk[stream]) {
        queue->chunk[stream] = aligned_alloc(64, sizeof(struct page_chunk));
        if (!queue->chunk[stream])
            return NULL;
        queue->stream_cnt++;
    }
    if (*chunk_cnt + cnt > PAGE_CHUNK)
        consume_chunk(queue, stream);
    *chunk_cnt = (uint8_t)(*chunk_cnt + cnt);
    return &queue->chunk[stream]->record[*chunk_cnt - cnt];
}

static void prefetch_chunk(const struct page_queue *queue, uint32_t stream)
{
    const struct page_chunk *chunk = queue->chunk[stream];

    if (chunk)
        __builtin_prefetch(&chunk->record[queue->chunk_cnt[stream] % PAGE_CHUNK], 1);
}

/* Moves the records of a batch to the chunks of their streams, and empties the batch. */
static void move_batch(struct page_queue *queue, struct page_batch *batch)
{
    for (uint32_t i = 0, cnt; i < batch->cnt; i += cnt) {
        const struct page_record *record = &batch->record[i];
        struct page_record *to;

        cnt = record->is_wide ? WIDE_RECORDS : 1;
        if (i + PREFETCH_AHEAD < batch->cnt)
            prefetch_chunk(queue, record[PREFETCH_AHEAD].stream);
        to = chunk_room(queue, record->stream, cnt);
        if (to)
            memcpy(to, record, cnt * sizeof(*to));
        else
            atomic_store(&queue->no_memory, true);
    }
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
        move_batch(queue, queue->full);
        pthread_mutex_lock(&queue->lock);
        queue->full = NULL;
        pthread_cond_signal(&queue->changed);
    }
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

/* Passes the current batch to the thread, after the thread has moved the one before. */
static void hand_over(struct page_queue *queue)
{
    struct page_batch *batch = &queue->batch[queue->current];

    if (!queue->has_thread)
        queue->has_thread = pthread_create(&queue->thread, NULL, run_thread, queue) == 0;
    if (!queue->has_thread) {
        move_batch(queue, batch);
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

void page_queue_end(struct page_queue *queue)
{
    end_thread(queue);
    move_batch(queue, &queue->batch[queue->current]);
    for (uint32_t i = 0; i < PAGE_STREAMS; i++)
        consume_chunk(queue, i);
}

void page_queue_free(struct page_queue *queue)
{
    end_thread(queue);
    for (uint32_t i = 0; i < PAGE_STREAMS; i++)
        free(queue->chunk[i]);
    free(queue->batch);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

/* ---- records -----------------------------------------------------------------------------------
 */

/* Returns room for `cnt` records in the current batch. */
static struct page_record *batch_room(struct page_queue *queue, uint32_t cnt)
{
    struct page_batch *batch = &queue->batch[queue->current];

    if (batch->cnt + cnt > PAGE_BATCH) {
        hand_over(queue);
        batch = &queue->batch[queue->current];
    }
    batch->cnt += cnt;
    return &batch->record[batch->cnt - cnt];
}

static void put_wide(struct page_queue *queue, uint32_t stream, const struct page_entry *entry)
{
    struct page_record *record = batch_room(queue, WIDE_RECORDS);

    *record = (struct page_record){.stream = stream & (PAGE_STREAMS - 1), .is_wide = true};
    memcpy(record + 1, entry, sizeof(*entry));
}

/* Returns whether a record can have the values of a packet. */
static bool packet_fits(const struct roce_pkt *pkt, const struct roce_flow_result *result,
                        uint32_t span)
{
    return packet_run_is_plain(result) &&
           (result->rtt <= SHORT_MAX || result->rtt == ROCE_NEVER_NS) &&
           result->bytes_in_flight <= SHORT_MAX && pkt->payload_len <= UINT16_MAX &&
           span <= UINT16_MAX && pkt->wire_len >= pkt->payload_len &&
           pkt->wire_len - pkt->payload_len <= UINT8_MAX;
}

void page_queue_packet(struct page_queue *queue, uint32_t stream, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    const struct roce_pkt *pkt = in->pkt;
    bool is_new = result->flags & ROCE_AN_REQUEST &&
                  !(result->flags & (ROCE_AN_RETRANSMISSION | ROCE_AN_COPY | ROCE_AN_DROPPED));
    bool starts = is_new && roce_opcode_starts(pkt->op), ends = is_new && roce_opcode_ends(pkt->op);
    enum run_class class = packet_run_class(pkt, result);
    uint32_t span = packet_run_span(pkt, result, class);

    if (!packet_fits(pkt, result, span)) {
        const struct page_entry entry = {
            .run = packet_run_of(in, result), .starts = starts, .ends = ends, .is_wide = true};

        put_wide(queue, stream, &entry);
        return;
    }
    *batch_room(queue, 1) =
        (struct page_record){.time = in->time,
                             .frame = in->frame,
                             .size = result->bytes_in_flight & SHORT_MAX,
                             .duration = result->rtt == ROCE_NEVER_NS ? 0 : result->rtt & SHORT_MAX,
                             .psn = pkt->bth.psn & ROCE_PSN_MASK,
                             .extra = (pkt->wire_len - pkt->payload_len) & UINT8_MAX,
                             .payload = (uint16_t)pkt->payload_len,
                             .span = (uint16_t)span,
                             .sport = pkt->udp.sport,
                             .stream = stream & (PAGE_STREAMS - 1),
                             .kind = pkt->op->kind & 15u,
                             .class = class & 15u,
                             .side = result->side & 1u,
                             .starts = starts,
                             .ends = ends};
}

void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done)
{
    if (done->bytes > SHORT_MAX || done->ns > SHORT_MAX) {
        const struct page_entry entry = {.done = *done, .is_done = true, .is_wide = true};

        put_wide(queue, stream, &entry);
        return;
    }
    *batch_room(queue, 1) = (struct page_record){.time = done->start,
                                                 .frame = done->frame,
                                                 .size = done->bytes & SHORT_MAX,
                                                 .duration = done->ns & SHORT_MAX,
                                                 .stream = stream & (PAGE_STREAMS - 1),
                                                 .kind = (unsigned)done->kind & 15u,
                                                 .class = CLASS_DONE,
                                                 .side = done->side & 1u};
}

static void read_done(const struct page_record *record, struct roce_flow_done *done)
{
    *done = (struct roce_flow_done){.frame = record->frame,
                                    .side = record->side,
                                    .kind = (enum roce_kind)record->kind,
                                    .bytes = record->size,
                                    .start = record->time,
                                    .ns = record->duration};
}

static void read_run(const struct page_record *record, struct packet_run *run)
{
    run->first_time = run->last_time = record->time;
    run->payload = record->payload;
    run->wire = (uint64_t)record->payload + record->extra;
    run->flight = record->size;
    run->rtt = record->duration;
    run->first_frame = run->last_frame = record->frame;
    run->cnt = 1;
    run->psn = record->psn;
    run->span = record->span;
    run->sport = record->sport;
    run->side = record->side;
    run->class = record->class;
    run->kind = record->kind;
}

uint32_t page_records_read(const struct page_record *record, struct page_entry *entry)
{
    bool is_done = record->class == CLASS_DONE;

    if (record->is_wide) {
        memcpy(entry, record + 1, sizeof(*entry));
        return WIDE_RECORDS;
    }
    if (entry->is_wide || entry->is_done != is_done)
        *entry = (struct page_entry){.is_done = is_done};
    if (is_done)
        read_done(record, &entry->done);
    else
        read_run(record, &entry->run);
    entry->starts = record->starts;
    entry->ends = record->ends;
    return 1;
}
