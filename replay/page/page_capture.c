/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_capture.h"

#include <stdlib.h>
#include "page/page_conn.h"

struct page_capture *page_capture_new(const char *name)
{
    struct page_capture *capture = calloc(1, sizeof(*capture));

    if (!capture)
        return NULL;
    capture->name = name;
    /* calloc() does not touch the pages, so the second batch costs nothing until it is used. */
    capture->filling = capture->batch = calloc(2, sizeof(*capture->batch));
    if (!capture->batch) {
        free(capture);
        return NULL;
    }
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->changed, NULL);
    return capture;
}

/* Ends the thread after it has added its batch. */
static void end_thread(struct page_capture *capture)
{
    if (!capture->has_thread)
        return;
    pthread_mutex_lock(&capture->lock);
    capture->ending = true;
    pthread_cond_signal(&capture->changed);
    pthread_mutex_unlock(&capture->lock);
    pthread_join(capture->thread, NULL);
    capture->has_thread = false;
}

void page_capture_del(struct page_capture *capture)
{
    if (!capture)
        return;
    end_thread(capture);
    for (uint32_t i = 0; i < capture->stream_end; i++)
        if (capture->stream[i]) {
            packet_runs_free(&capture->stream[i]->runs);
            message_times_free(&capture->stream[i]->messages);
            free(capture->stream[i]);
        }
    for (uint32_t i = 0; i < capture->conn_cnt; i++)
        free(capture->conn[i].json);
    for (unsigned i = 0; i < ROCE_SEV_CNT; i++)
        free(capture->findings[i].finding);
    free(capture->conn);
    free(capture->batch);
    pthread_cond_destroy(&capture->changed);
    pthread_mutex_destroy(&capture->lock);
    free(capture);
}

/* ---- packets and operations --------------------------------------------------------------------
 */

static struct page_stream *stream_of(struct page_capture *capture, uint32_t conn_index)
{
    struct page_stream **at;

    if (conn_index >= PAGE_CONNS)
        return NULL;
    at = &capture->stream[conn_index];
    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (!*at) {
            capture->no_memory = true;
            return NULL;
        }
        capture->stream_cnt++;
        if (conn_index >= capture->stream_end)
            capture->stream_end = conn_index + 1;
    }
    return *at;
}

/* Returns the limit of one stream: its equal share of `all`, which is the limit of all streams
 * together. */
static uint32_t share_of(const struct page_capture *capture, uint32_t all)
{
    uint32_t share = all / (capture->stream_cnt ? capture->stream_cnt : 1);

    if (share > PAGE_SHARE)
        return PAGE_SHARE;
    return share < PACKET_RUNS_MIN ? PACKET_RUNS_MIN : share;
}

static bool add_pending(const struct page_batch *batch, struct page_stream *stream,
                        const struct page_pending *pending)
{
    if (pending->is_done)
        return message_times_add(&stream->messages, &pending->done, batch->message_max);
    if (pending->starts || pending->ends)
        message_times_packet(&stream->messages, pending->run.side & 1, pending->run.first_time,
                             pending->starts, pending->ends);
    return packet_runs_add(&stream->runs, &pending->run, batch->run_max);
}

static void prefetch_pending(const struct page_batch *batch, uint16_t at)
{
    const char *pending = (const char *)&batch->pending[at - 1];

    __builtin_prefetch(pending);
    __builtin_prefetch(pending + 64);
}

/* Prefetches memory that add_batch() needs soon. `near`: the stream after the next one, whose
 * struct page_stream was prefetched before; prefetches its arrays and its first pending entry.
 * `far`: a later stream; prefetches its struct. */
static void prefetch_streams(const struct page_capture *capture, const struct page_batch *batch,
                             uint32_t near, uint32_t far)
{
    if (near < batch->stream_end && batch->first[near]) {
        packet_runs_prefetch(&capture->stream[near]->runs);
        message_times_prefetch(&capture->stream[near]->messages);
        prefetch_pending(batch, batch->first[near]);
    }
    if (far < batch->stream_end && batch->first[far])
        __builtin_prefetch(capture->stream[far]);
}

/* Adds all packets and completions of a batch to their streams, and empties the batch. */
static void add_batch(struct page_capture *capture, struct page_batch *batch)
{
    for (uint32_t i = 0; i < batch->stream_end; i++) {
        prefetch_streams(capture, batch, i + 2, i + 4);
        for (uint16_t at = batch->first[i], next; at; at = next) {
            next = batch->pending[at - 1].next;
            if (next)
                prefetch_pending(batch, next);
            if (!add_pending(batch, capture->stream[i], &batch->pending[at - 1]))
                capture->no_memory = true;
        }
        batch->first[i] = batch->last[i] = 0;
    }
    batch->cnt = 0;
}

static void *run_thread(void *arg)
{
    struct page_capture *capture = arg;

    pthread_mutex_lock(&capture->lock);
    while (capture->full || !capture->ending) {
        if (!capture->full) {
            pthread_cond_wait(&capture->changed, &capture->lock);
            continue;
        }
        pthread_mutex_unlock(&capture->lock);
        add_batch(capture, capture->full);
        pthread_mutex_lock(&capture->lock);
        capture->full = NULL;
        pthread_cond_signal(&capture->changed);
    }
    pthread_mutex_unlock(&capture->lock);
    return NULL;
}

/* Ends the filling of the current batch, and returns it. */
static struct page_batch *close_batch(struct page_capture *capture)
{
    struct page_batch *batch = capture->filling;

    batch->stream_end = capture->stream_end;
    batch->run_max = share_of(capture, PAGE_RUNS);
    batch->message_max = share_of(capture, PAGE_MESSAGES);
    return batch;
}

/* Hands the batch to the thread, after the thread has added the one before. */
static void hand_over(struct page_capture *capture, struct page_batch *batch)
{
    pthread_mutex_lock(&capture->lock);
    while (capture->full)
        pthread_cond_wait(&capture->changed, &capture->lock);
    capture->full = batch;
    pthread_cond_signal(&capture->changed);
    pthread_mutex_unlock(&capture->lock);
    capture->filling = &capture->batch[batch == capture->batch];
}

static void flush_pending(struct page_capture *capture)
{
    struct page_batch *batch = close_batch(capture);

    if (!capture->has_thread)
        capture->has_thread = pthread_create(&capture->thread, NULL, run_thread, capture) == 0;
    if (capture->has_thread)
        hand_over(capture, batch);
    else
        add_batch(capture, batch);
}

/* Returns a pending entry for a packet or completion of connection `conn_index`. Returns NULL if
 * the packets of this connection are not kept. */
static struct page_pending *pending_of(struct page_capture *capture, uint32_t conn_index)
{
    struct page_batch *batch;
    uint16_t index;

    if (!stream_of(capture, conn_index))
        return NULL;
    if (capture->filling->cnt == PAGE_BATCH)
        flush_pending(capture);
    batch = capture->filling;
    index = (uint16_t)++batch->cnt;
    batch->pending[index - 1].next = 0;
    if (batch->last[conn_index])
        batch->pending[batch->last[conn_index] - 1].next = index;
    else
        batch->first[conn_index] = index;
    batch->last[conn_index] = index;
    return &batch->pending[index - 1];
}

static void add_packet(void *user, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    struct page_capture *capture = user;
    struct page_pending *pending;
    bool is_new = result->flags & ROCE_AN_REQUEST &&
                  !(result->flags & (ROCE_AN_RETRANSMISSION | ROCE_AN_COPY | ROCE_AN_DROPPED));

    if (result->conn_index == ROCE_NO_CONN)
        return;
    pending = pending_of(capture, result->conn_index);
    if (!pending) {
        capture->undrawn++;
        return;
    }
    pending->is_done = false;
    pending->starts = is_new && roce_opcode_starts(in->pkt->op);
    pending->ends = is_new && roce_opcode_ends(in->pkt->op);
    pending->run = packet_run_of(in, result);
}

static void add_done(void *user, const struct roce_flow_done *done)
{
    struct page_capture *capture = user;
    struct page_pending *pending = pending_of(capture, done->conn_index);

    if (pending) {
        pending->is_done = true;
        pending->done = *done;
    }
}

/* ---- findings and connections ------------------------------------------------------------------
 */

static void add_finding(void *user, const struct roce_finding *finding)
{
    struct page_capture *capture = user;
    struct page_findings *findings = &capture->findings[finding->severity];

    if (findings->cnt >= PAGE_FINDINGS) {
        findings->left_out++;
        return;
    }
    if (findings->cnt == findings->cap) {
        uint32_t cap = findings->cap ? findings->cap * 2 : 16;
        struct roce_finding *more = realloc(findings->finding, cap * sizeof(*more));

        if (!more) {
            capture->no_memory = true;
            return;
        }
        findings->finding = more;
        findings->cap = cap;
    }
    findings->finding[findings->cnt++] = *finding;
}

static void add_conn(void *user, const struct roce_conn_summary *sum)
{
    struct page_capture *capture = user;
    struct page_conn *conn;

    if (capture->conn_cnt >= PAGE_CONNS) {
        capture->conns_left_out++;
        return;
    }
    if (capture->conn_cnt == capture->conn_cap) {
        uint32_t cap = capture->conn_cap ? capture->conn_cap * 2 : 16;
        struct page_conn *more = realloc(capture->conn, cap * sizeof(*more));

        if (!more) {
            capture->no_memory = true;
            return;
        }
        capture->conn = more;
        capture->conn_cap = cap;
    }
    conn = &capture->conn[capture->conn_cnt];
    conn->conn_index = sum->facts.conn_index;
    for (unsigned side = 0; side < 2; side++)
        conn->qpn[side] = sum->side[side].qpn;
    conn->json = page_conn_json(capture->name, sum);
    if (conn->json)
        capture->conn_cnt++;
    else
        capture->no_memory = true;
}

/* At the end of the capture, sets the final connection and side of the packets and findings.
 * Necessary because rnic/flow numbers directions while it reads, and pairs two directions to one
 * connection later. */
static void find_owners(void *user, const struct roce_flow *flow)
{
    struct page_capture *capture = user;

    end_thread(capture);
    add_batch(capture, close_batch(capture));
    for (uint32_t i = 0; i < capture->stream_end; i++)
        for (uint8_t side = 0; side < 2 && capture->stream[i]; side++)
            capture->stream[i]->owner[side] = roce_flow_owner(flow, i, side);
    for (unsigned s = 0; s < ROCE_SEV_CNT; s++)
        for (uint32_t i = 0; i < capture->findings[s].cnt; i++) {
            struct roce_finding *finding = &capture->findings[s].finding[i];
            struct roce_flow_owner owner;

            if (finding->conn_index == ROCE_NO_CONN)
                continue;
            owner = roce_flow_owner(flow, finding->conn_index, finding->side);
            finding->conn_index = owner.conn_index;
            finding->side = owner.side;
        }
}

struct check_watch page_capture_watch(struct page_capture *capture)
{
    return (struct check_watch){.user = capture,
                                .on_packet = add_packet,
                                .on_done = add_done,
                                .on_finding = add_finding,
                                .on_conn = add_conn,
                                .on_end = find_owners};
}
