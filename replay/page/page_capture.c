/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_capture.h"

#include <stdlib.h>
#include "capture/split_reader.h"
#include "check/causes/time_budget.h"
#include "check/headline.h"
#include "page/page_conn.h"
#include "util/keymap.h"
#include "wire/codes.h"

struct page_capture *page_capture_new(const char *name)
{
    struct page_capture *capture = calloc(1, sizeof(*capture));

    if (!capture)
        return NULL;
    capture->name = name;
    page_memory_init(&capture->memory);
    pthread_mutex_init(&capture->lock, NULL);
    return capture;
}

void page_capture_del(struct page_capture *capture)
{
    if (!capture)
        return;
    pthread_mutex_destroy(&capture->lock);
    page_memory_free(&capture->memory);
    for (uint32_t i = 0; i < capture->conn_cnt; i++) {
        free(capture->conn[i].summary);
        free(capture->conn[i].distributions);
    }
    for (unsigned i = 0; i < ROCE_SEV_CNT; i++)
        free(capture->findings[i].finding);
    free(capture->conn);
    free(capture->spurious);
    free(capture->use);
    free(capture);
}

/* ---- packets and operations --------------------------------------------------------------------
 */

/* Records that a stream begins with frame `frame`. */
static void note_begin(struct page_capture *capture, uint32_t index, uint32_t frame)
{
    uint32_t at;

    pthread_mutex_lock(&capture->lock);
    for (at = capture->begin_cnt++; at > 0 && capture->begin[at - 1] > frame; at--)
        capture->begin[at] = capture->begin[at - 1];
    capture->begin[at] = frame;
    if (index >= capture->stream_end)
        capture->stream_end = index + 1;
    pthread_mutex_unlock(&capture->lock);
}

/* Returns the stream of a packet or operation of frame `frame`, or NULL if out of memory. */
static struct page_stream *stream_of(struct page_capture *capture, uint32_t index, uint32_t frame)
{
    struct page_stream **at = &capture->stream[index];

    if (*at)
        return *at;
    *at = page_memory_get(&capture->memory, sizeof(**at));
    if (!*at)
        return NULL;
    **at = (struct page_stream){.runs = {0}};
    note_begin(capture, index, frame);
    return *at;
}

/* Returns the maximum number of runs or messages of a stream at frame `frame`: its equal share of
 * `all`, the limit of all streams, but at least PACKET_RUNS_MIN and at most PACKET_RUNS_MAX. Counts
 * only streams that began at least SPLIT_AHEAD frames before `frame`. */
static uint32_t share_of(struct page_capture *capture, uint32_t all, uint32_t frame)
{
    uint32_t cnt, share;

    pthread_mutex_lock(&capture->lock);
    cnt = capture->begin_cnt;
    while (cnt > 0 && (uint64_t)capture->begin[cnt - 1] + SPLIT_AHEAD > frame)
        cnt--;
    pthread_mutex_unlock(&capture->lock);
    share = cnt ? all / cnt : all;
    if (share > PACKET_RUNS_MAX)
        return PACKET_RUNS_MAX;
    return share < PACKET_RUNS_MIN ? PACKET_RUNS_MIN : share;
}

static void add_packet(void *user, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    struct page_capture *capture = user;
    struct page_stream *stream;

    if (result->conn_index >= PAGE_STREAMS) {
        capture->undrawn += result->conn_index != ROCE_NO_CONN;
        return;
    }
    stream = stream_of(capture, result->conn_index, in->frame);
    if (!stream || (packet_runs_are_full(&stream->runs) &&
                    !packet_runs_make_room(&stream->runs, &capture->memory,
                                           share_of(capture, PAGE_RUNS, in->frame))))
        capture->no_memory = true;
    else
        packet_runs_add(&stream->runs, in, result);
}

static void add_done(void *user, const struct roce_flow_done *done)
{
    struct page_capture *capture = user;
    struct page_stream *stream;

    if (done->conn_index >= PAGE_STREAMS || done->ns == ROCE_NEVER_NS)
        return;
    stream = stream_of(capture, done->conn_index, done->frame);
    if (!stream || (message_times_are_full(&stream->messages) &&
                    !message_times_make_room(&stream->messages, &capture->memory,
                                             share_of(capture, PAGE_MESSAGES, done->frame))))
        capture->no_memory = true;
    else
        message_times_add(&stream->messages, done);
}

/* ---- findings and connections ------------------------------------------------------------------
 */

static void add_spurious(struct page_capture *capture, uint32_t frame)
{
    if (VEC_GROW(capture->spurious, capture->spurious_cnt, capture->spurious_cap))
        capture->spurious[capture->spurious_cnt++] = frame;
    else
        capture->no_memory = true;
}

static void add_use(struct page_capture *capture, const struct roce_finding *finding)
{
    if (VEC_GROW(capture->use, capture->use_cnt, capture->use_cap))
        capture->use[capture->use_cnt++] = (struct page_use){finding->conn_index, finding->frame};
    else
        capture->no_memory = true;
}

static void add_finding(void *user, const struct roce_finding *finding)
{
    struct page_capture *capture = user;
    struct page_findings *findings = &capture->findings[finding->severity];

    if (finding->rule == ROCE_RULE_SPURIOUS_TIMEOUT)
        add_spurious(capture, finding->other_frame);
    if (finding->rule == ROCE_RULE_QP_REUSED && finding->conn_index != ROCE_NO_CONN)
        add_use(capture, finding);
    if (findings->cnt >= PAGE_FINDINGS) {
        findings->left_out++;
        return;
    }
    if (VEC_GROW(findings->finding, findings->cnt, findings->cap))
        findings->finding[findings->cnt++] = *finding;
    else
        capture->no_memory = true;
}

static void add_conn(void *user, const struct roce_conn_summary *sum)
{
    struct page_capture *capture = user;
    struct page_conn *conn;

    if (capture->conn_cnt >= PAGE_CONNS) {
        capture->conns_left_out++;
        return;
    }
    if (!VEC_GROW(capture->conn, capture->conn_cnt, capture->conn_cap)) {
        capture->no_memory = true;
        return;
    }
    conn = &capture->conn[capture->conn_cnt];
    conn->conn_index = sum->facts.conn_index;
    for (unsigned side = 0; side < 2; side++)
        conn->qpn[side] = sum->side[side].qpn;
    conn->summary = malloc(sizeof(*conn->summary));
    conn->distributions = page_conn_distributions(sum);
    conn->trouble = headline_state(sum);
    conn->waited_ns = time_budget_waited_ns(sum);
    conn->packets = sum->side[0].packets + sum->side[1].packets;
    capture->conn_cnt++;
    if (conn->summary)
        check_conn_set(conn->summary, sum);
    if (!conn->summary || !conn->distributions)
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

/* If rnic/flow has paired the direction of stream `index` with another direction, adds the packets
 * of stream `index` to the stream of the pair's connection number. A direction has a connection
 * number of its own until it is paired, so the packets of stream `index` are all from one side. */
static void join_stream(struct page_capture *capture, const struct roce_flow *flow, uint32_t index)
{
    struct roce_flow_owner owner = roce_flow_owner(flow, index, 0);
    struct page_stream *stream = capture->stream[index], *into;

    if (owner.conn_index == index || owner.conn_index >= PAGE_STREAMS)
        return;
    into = stream_of(capture, owner.conn_index, 0);
    if (!into || !packet_runs_join(&into->runs, &capture->memory, &stream->runs, owner.side) ||
        !message_times_join(&into->messages, &capture->memory, &stream->messages, owner.side))
        capture->no_memory = true;
    capture->stream[index] = NULL;
}

static void mark_uses(struct page_capture *capture, const struct roce_flow *flow)
{
    for (uint32_t i = 0; i < capture->use_cnt; i++) {
        const struct roce_flow_owner owner = roce_flow_owner(flow, capture->use[i].conn_index, 0);
        const uint32_t index = owner.conn_index;

        if (index < PAGE_STREAMS && capture->stream[index])
            packet_runs_mark_use(&capture->stream[index]->runs, capture->use[i].frame);
    }
}

/* At the end of the capture, sets the final connection and side of the packets and findings. While
 * rnic/flow reads, each direction has a separate connection number until rnic/flow pairs two
 * directions to one connection. */
static void find_owners(void *user, const struct roce_flow *flow)
{
    struct page_capture *capture = user;

    if (capture->spurious_cnt)
        qsort(capture->spurious, capture->spurious_cnt, sizeof(uint32_t), compare_frames);
    for (uint32_t i = 0; i < capture->stream_end && capture->spurious_cnt; i++)
        if (capture->stream[i])
            mark_spurious(capture, &capture->stream[i]->runs);
    for (uint32_t i = 0; i < capture->stream_end; i++)
        if (capture->stream[i])
            join_stream(capture, flow, i);
    for (uint32_t i = 0; i < capture->stream_end; i++)
        if (capture->stream[i])
            packet_runs_mark_refused(&capture->stream[i]->runs);
    mark_uses(capture, flow);
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
                                .any_thread = true,
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
