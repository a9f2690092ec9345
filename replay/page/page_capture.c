/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_capture.h"

#include <malloc.h>
#include <stdlib.h>
#include "page/page_conn.h"
#include "wire/codes.h"

/* Bytes by which the heap grows. With the default, a large page grows it 190 times. */
#define HEAP_STEP (4 << 20)

static bool consume(void *user, struct page_chunk *const *chunk, uint32_t cnt);

struct page_capture *page_capture_new(const char *name)
{
    struct page_capture *capture = calloc(1, sizeof(*capture));

    if (!capture)
        return NULL;
    /* Allow only one arena of malloc(): in an arena of its own, the thread of the queue would
     * change the protection of each page that it allocates. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, HEAP_STEP);
    capture->name = name;
    page_queue_init(&capture->queue, consume, capture);
    return capture;
}

static void free_stream(struct page_stream *stream)
{
    if (!stream)
        return;
    packet_runs_free(&stream->runs);
    message_times_free(&stream->messages);
    free(stream);
}

void page_capture_del(struct page_capture *capture)
{
    if (!capture)
        return;
    page_queue_free(&capture->queue);
    for (uint32_t i = 0; i < capture->stream_end; i++)
        free_stream(capture->stream[i]);
    for (uint32_t i = 0; i < capture->conn_cnt; i++)
        free(capture->conn[i].json);
    for (unsigned i = 0; i < ROCE_SEV_CNT; i++)
        free(capture->findings[i].finding);
    free(capture->conn);
    free(capture->spurious);
    free(capture);
}

/* ---- packets and operations --------------------------------------------------------------------
 */

static struct page_stream *stream_of(struct page_capture *capture, uint32_t index)
{
    struct page_stream **at = &capture->stream[index];

    if (!*at) {
        *at = calloc(1, sizeof(**at));
        if (*at && index >= capture->stream_end)
            capture->stream_end = index + 1;
    }
    return *at;
}

/* Adds the contents of a chunk to its stream. */
static bool add_chunk(struct page_capture *capture, const struct page_chunk *chunk)
{
    struct page_stream *stream = stream_of(capture, chunk->stream);
    uint32_t run_max = page_queue_share(PAGE_RUNS, chunk->stream_cnt);
    uint32_t message_max = page_queue_share(PAGE_MESSAGES, chunk->stream_cnt);
    bool added = stream != NULL;

    for (uint32_t i = 0; added && i < chunk->run_cnt; i++)
        added = packet_runs_add(&stream->runs, &chunk->run[i], run_max);
    for (uint32_t i = 0; added && i < chunk->message_cnt; i++)
        added = message_times_add(&stream->messages, &chunk->message[i], message_max);
    return added;
}

#define LINE 64u /* length of a cache line, bytes */

static void prefetch_bytes(const void *from, size_t len)
{
    for (size_t at = 0; at < len; at += LINE)
        __builtin_prefetch((const char *)from + at, 1);
}

/* Prefetches a chunk and its stream. */
static void prefetch_stream(const struct page_capture *capture, const struct page_chunk *chunk)
{
    const struct page_stream *stream = capture->stream[chunk->stream];

    prefetch_bytes(chunk, sizeof(*chunk));
    if (stream)
        prefetch_bytes(stream, sizeof(*stream));
}

/* Prefetches the places to which add_chunk() will write: the latest runs, and the end of the
 * operations. The stream is in the cache already. */
static void prefetch_places(const struct page_capture *capture, const struct page_chunk *chunk)
{
    const struct page_stream *stream = capture->stream[chunk->stream];

    if (!stream)
        return;
    packet_runs_prefetch(&stream->runs);
    message_times_prefetch(&stream->messages);
}

/* Adds the contents of chunks to their streams. The memory of the streams is larger than a cache,
 * so this function prefetches what the chunks after the current one need. */
static bool consume(void *user, struct page_chunk *const *chunk, uint32_t cnt)
{
    struct page_capture *capture = user;
    bool added = true;

    for (uint32_t i = 0; i < cnt; i++) {
        if (i + 2 < cnt)
            prefetch_stream(capture, chunk[i + 2]);
        if (i + 1 < cnt)
            prefetch_places(capture, chunk[i + 1]);
        added &= add_chunk(capture, chunk[i]);
    }
    return added;
}

static void add_packet(void *user, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    struct page_capture *capture = user;

    if (result->conn_index < PAGE_STREAMS)
        page_queue_packet(&capture->queue, result->conn_index, in, result);
    else if (result->conn_index != ROCE_NO_CONN)
        capture->undrawn++;
}

static void add_done(void *user, const struct roce_flow_done *done)
{
    struct page_capture *capture = user;

    if (done->conn_index < PAGE_STREAMS && done->ns != ROCE_NEVER_NS)
        page_queue_done(&capture->queue, done->conn_index, done);
}

/* ---- findings and connections ------------------------------------------------------------------
 */

static void add_spurious(struct page_capture *capture, uint32_t frame)
{
    if (capture->spurious_cnt == capture->spurious_cap) {
        uint32_t cap = capture->spurious_cap ? capture->spurious_cap * 2 : 16;
        uint32_t *more = realloc(capture->spurious, cap * sizeof(*more));

        if (!more) {
            capture->no_memory = true;
            return;
        }
        capture->spurious = more;
        capture->spurious_cap = cap;
    }
    capture->spurious[capture->spurious_cnt++] = frame;
}

static void add_finding(void *user, const struct roce_finding *finding)
{
    struct page_capture *capture = user;
    struct page_findings *findings = &capture->findings[finding->severity];

    if (finding->rule == ROCE_RULE_SPURIOUS_TIMEOUT)
        add_spurious(capture, finding->other_frame);
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

static int compare_frames(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Sets the cause of the retransmissions that a later response showed to be spurious. */
static void mark_spurious(struct page_capture *capture, struct packet_runs *runs)
{
    for (uint32_t i = 0; i < runs->cnt; i++) {
        struct packet_run *run = &runs->run[i];

        if (run->cause == ROCE_CAUSE_TIMEOUT &&
            bsearch(&run->go_back, capture->spurious, capture->spurious_cnt, sizeof(uint32_t),
                    compare_frames))
            run->cause = ROCE_CAUSE_SPURIOUS;
    }
}

/* Joins a stream with the stream of its connection, if rnic/flow has joined their directions. All
 * packets of the joined stream are of one side, because rnic/flow numbers a direction separately
 * until it pairs it. */
static void join_stream(struct page_capture *capture, const struct roce_flow *flow, uint32_t index)
{
    struct roce_flow_owner owner = roce_flow_owner(flow, index, 0);
    struct page_stream *stream = capture->stream[index], *into;

    if (owner.conn_index == index || owner.conn_index >= PAGE_STREAMS)
        return;
    into = stream_of(capture, owner.conn_index);
    if (!into || !packet_runs_join(&into->runs, &stream->runs, owner.side) ||
        !message_times_join(&into->messages, &stream->messages, owner.side))
        capture->no_memory = true;
    free_stream(stream);
    capture->stream[index] = NULL;
}

/* At the end of the capture, sets the final connection and side of the packets and findings.
 * Necessary because rnic/flow numbers directions while it reads, and pairs two directions to one
 * connection later. */
static void find_owners(void *user, const struct roce_flow *flow)
{
    struct page_capture *capture = user;

    page_queue_end(&capture->queue);
    capture->no_memory |= capture->queue.no_memory;
    if (capture->spurious_cnt)
        qsort(capture->spurious, capture->spurious_cnt, sizeof(uint32_t), compare_frames);
    for (uint32_t i = 0; i < capture->stream_end && capture->spurious_cnt; i++)
        if (capture->stream[i])
            mark_spurious(capture, &capture->stream[i]->runs);
    for (uint32_t i = 0; i < capture->stream_end; i++)
        if (capture->stream[i])
            join_stream(capture, flow, i);
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

const struct page_stream *page_capture_stream(const struct page_capture *capture,
                                              uint32_t conn_index)
{
    const struct page_stream *stream =
        conn_index < PAGE_STREAMS ? capture->stream[conn_index] : NULL;

    return stream && stream->runs.cnt ? stream : NULL;
}
