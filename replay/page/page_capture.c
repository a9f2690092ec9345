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
    capture->pending = calloc(PAGE_BATCH, sizeof(*capture->pending));
    if (!capture->pending) {
        free(capture);
        return NULL;
    }
    return capture;
}

void page_capture_del(struct page_capture *capture)
{
    if (!capture)
        return;
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
    free(capture->pending);
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

static void add_pending(struct page_capture *capture, struct page_stream *stream,
                        const struct page_pending *pending)
{
    bool ok;

    if (pending->is_done) {
        ok = message_times_add(&stream->messages, &pending->done, share_of(capture, PAGE_MESSAGES));
    } else {
        if (pending->starts || pending->ends)
            message_times_packet(&stream->messages, pending->run.side & 1, pending->run.first_time,
                                 pending->starts, pending->ends);
        ok = packet_runs_add(&stream->runs, &pending->run, share_of(capture, PAGE_RUNS));
    }
    if (!ok)
        capture->no_memory = true;
}

/* Prefetches memory that flush_pending() needs soon. `near`: the stream after the next one, whose
 * struct page_stream was prefetched before; prefetches its arrays. `far`: a later stream;
 * prefetches its struct. */
static void prefetch_streams(const struct page_capture *capture, uint32_t near, uint32_t far)
{
    const struct page_stream *stream = near < capture->stream_end ? capture->stream[near] : NULL;

    if (stream) {
        packet_runs_prefetch(&stream->runs);
        message_times_prefetch(&stream->messages);
    }
    if (far < capture->stream_end && capture->stream[far])
        __builtin_prefetch(capture->stream[far]);
}

/* Adds all pending packets and completions to their streams. */
static void flush_pending(struct page_capture *capture)
{
    for (uint32_t i = 0; i < capture->stream_end; i++) {
        prefetch_streams(capture, i + 2, i + 4);
        for (uint16_t at = capture->first_pending[i]; at; at = capture->pending[at - 1].next)
            add_pending(capture, capture->stream[i], &capture->pending[at - 1]);
        capture->first_pending[i] = capture->last_pending[i] = 0;
    }
    capture->pending_cnt = 0;
}

/* Returns a pending entry for a packet or completion of connection `conn_index`. Returns NULL if
 * the packets of this connection are not kept. */
static struct page_pending *pending_of(struct page_capture *capture, uint32_t conn_index)
{
    uint16_t index;

    if (!stream_of(capture, conn_index))
        return NULL;
    if (capture->pending_cnt == PAGE_BATCH)
        flush_pending(capture);
    index = (uint16_t)++capture->pending_cnt;
    capture->pending[index - 1].next = 0;
    if (capture->last_pending[conn_index])
        capture->pending[capture->last_pending[conn_index] - 1].next = index;
    else
        capture->first_pending[conn_index] = index;
    capture->last_pending[conn_index] = index;
    return &capture->pending[index - 1];
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

    flush_pending(capture);
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
