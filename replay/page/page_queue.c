/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_queue.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

_Static_assert(sizeof(struct page_record) == 32, "page_record has no unused bytes");

#define CLASS_DONE 15u /* page_record.class of a completed operation */
_Static_assert(RUN_CLASS_CNT <= CLASS_DONE, "page_record.class has four bits");

/* Number of records of an entry that is wide. */
#define WIDE_RECORDS                                                                               \
    (1 + (uint32_t)((sizeof(struct page_entry) + sizeof(struct page_record) - 1) /                 \
                    sizeof(struct page_record)))

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
        *slab = aligned_alloc(alignof(struct page_chunk), PAGE_SLAB * sizeof(**slab));
    if (!*slab) {
        atomic_store(&queue->no_memory, true);
        return NULL;
    }
    return &(*slab)[queue->chunks++ % PAGE_SLAB];
}

static void close_chunk(struct page_queue *queue, uint32_t stream)
{
    struct page_chunk *chunk = queue->chunk[stream];

    chunk->stream = stream;
    chunk->stream_cnt = queue->stream_cnt;
    chunk->cnt = queue->chunk_cnt[stream];
    queue->chunk_cnt[stream] = 0;
}

/* Moves the full chunk of a stream to the current batch. The stream gets a free chunk of the batch,
 * or a new one. If out of memory, the records of the chunk are lost. */
static void pass_chunk(struct page_queue *queue, uint32_t stream)
{
    struct page_batch *batch = &queue->batch[queue->current];
    struct page_chunk *chunk = batch->chunk[batch->cnt];

    if (!chunk)
        chunk = new_chunk(queue);
    close_chunk(queue, stream);
    if (!chunk)
        return;
    batch->chunk[batch->cnt++] = queue->chunk[stream];
    queue->chunk[stream] = chunk;
    if (batch->cnt == PAGE_BATCH)
        hand_over(queue);
}

/* Returns room for `cnt` records in the chunk of a stream, or NULL if out of memory. */
static struct page_record *chunk_room(struct page_queue *queue, uint32_t stream, uint32_t cnt)
{
    uint8_t *chunk_cnt = &queue->chunk_cnt[stream];
    struct page_record *record;

    if (!queue->chunk[stream]) {
        queue->chunk[stream] = new_chunk(queue);
        if (!queue->chunk[stream])
            return NULL;
        queue->stream_cnt++;
    }
    if (*chunk_cnt + cnt > PAGE_CHUNK)
        pass_chunk(queue, stream);
    record = &queue->chunk[stream]->record[*chunk_cnt];
    *chunk_cnt = (uint8_t)(*chunk_cnt + cnt);
    __builtin_prefetch(record + cnt, 1); /* for the next packet of the stream */
    return record;
}

void page_queue_end(struct page_queue *queue)
{
    uint32_t cnt = 0;

    end_thread(queue);
    consume_batch(queue, &queue->batch[queue->current]);
    for (uint32_t i = 0; i < PAGE_STREAMS; i++)
        if (queue->chunk[i]) {
            close_chunk(queue, i);
            queue->chunk[cnt++] = queue->chunk[i];
        }
    if (!queue->consume(queue->user, queue->chunk, cnt))
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

/* ---- writing and reading records ---------------------------------------------------------------
 */

static void put_wide(struct page_queue *queue, uint32_t stream, const struct page_entry *entry)
{
    struct page_record *record = chunk_room(queue, stream, WIDE_RECORDS);

    if (!record)
        return;
    *record = (struct page_record){.is_wide = true};
    memcpy(record + 1, entry, sizeof(*entry));
}

/* Returns whether a record can have the values of a packet. */
static bool packet_fits(const struct roce_pkt *pkt, const struct roce_flow_result *result,
                        uint32_t span)
{
    return packet_run_is_plain(result) &&
           (result->rtt <= UINT32_MAX || result->rtt == ROCE_NEVER_NS) &&
           result->bytes_in_flight <= UINT32_MAX && pkt->payload_len <= UINT16_MAX &&
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
    struct page_record *record;

    if (!packet_fits(pkt, result, span)) {
        const struct page_entry entry = {
            .run = packet_run_of(in, result), .starts = starts, .ends = ends};

        put_wide(queue, stream, &entry);
        return;
    }
    record = chunk_room(queue, stream, 1);
    if (record)
        *record = (struct page_record){.time = in->time,
                                       .frame = in->frame,
                                       .size = (uint32_t)result->bytes_in_flight,
                                       .duration =
                                           result->rtt == ROCE_NEVER_NS ? 0 : (uint32_t)result->rtt,
                                       .psn = pkt->bth.psn & ROCE_PSN_MASK,
                                       .extra = (pkt->wire_len - pkt->payload_len) & UINT8_MAX,
                                       .payload = (uint16_t)pkt->payload_len,
                                       .span = (uint16_t)span,
                                       .sport = pkt->udp.sport,
                                       .kind = pkt->op->kind & 15u,
                                       .class = class & 15u,
                                       .side = result->side & 1u,
                                       .starts = starts,
                                       .ends = ends};
}

void page_queue_done(struct page_queue *queue, uint32_t stream, const struct roce_flow_done *done)
{
    struct page_record *record;

    if (done->bytes > UINT32_MAX || done->ns > UINT32_MAX) {
        const struct page_entry entry = {.done = *done, .is_done = true};

        put_wide(queue, stream, &entry);
        return;
    }
    record = chunk_room(queue, stream, 1);
    if (record)
        *record = (struct page_record){.time = done->start,
                                       .frame = done->frame,
                                       .size = (uint32_t)done->bytes,
                                       .duration = (uint32_t)done->ns,
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

/* Sets all members. `run` is in its final place: copying a struct whose members were just written
 * would wait for these writes. */
static void set_run(const struct page_record *record, struct packet_run *run)
{
    *run = (struct packet_run){.first_time = record->time,
                               .last_time = record->time,
                               .payload = record->payload,
                               .wire = (uint64_t)record->payload + record->extra,
                               .flight = record->size,
                               .rtt = record->duration,
                               .first_frame = record->frame,
                               .last_frame = record->frame,
                               .cnt = 1,
                               .psn = record->psn,
                               .span = record->span,
                               .sport = record->sport,
                               .side = record->side,
                               .class = record->class,
                               .kind = record->kind};
}

static void add_packet(const struct page_record *record, struct packet_run *run)
{
    packet_run_add_psns(run, record->psn, record->span);
    if (record->time > run->last_time)
        run->last_time = record->time;
    run->last_frame = record->frame;
    run->payload += record->payload;
    run->wire += (uint64_t)record->payload + record->extra;
    if (record->size > run->flight)
        run->flight = record->size;
    if (record->duration > run->rtt)
        run->rtt = record->duration;
    run->cnt++;
}

bool page_record_is_packet(const struct page_record *record)
{
    return !record->is_wide && record->class != CLASS_DONE;
}

bool page_record_add(const struct page_record *record, struct packet_runs *runs, uint32_t max)
{
    enum run_class class = (enum run_class)record->class;
    struct packet_run *run = packet_runs_open(runs, record->side, class, record->sport);

    if (run) {
        runs->merged += run->cnt == 1 ? 2 : 1;
        add_packet(record, run);
        return true;
    }
    run = packet_runs_append(runs, record->side, class, max);
    if (run)
        set_run(record, run);
    return run != NULL;
}

uint32_t page_records_read(const struct page_record *record, struct page_entry *entry)
{
    if (record->is_wide) {
        memcpy(entry, record + 1, sizeof(*entry));
        return WIDE_RECORDS;
    }
    *entry = (struct page_entry){.is_done = true};
    read_done(record, &entry->done);
    return 1;
}
