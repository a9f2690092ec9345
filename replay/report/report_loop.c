/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report_loop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "report/report_stream.h"
#include "sim/sim_pcap.h"
#include "util/json_util.h"
#include "util/strbuf.h"

/* Limit of the failures that are listed. Further failures are only counted. */
#define FAILURES_MAX 64u

/* ---- results of the runs -----------------------------------------------------------------------
 */

static int add_failure(struct loop_summary *sum, const struct loop_failure *failure)
{
    if (sum->failure_cnt >= FAILURES_MAX)
        return 0;
    if (!VEC_GROW(sum->failure, sum->failure_cnt, sum->failure_cap))
        return -1;
    sum->failure[sum->failure_cnt++] = *failure;
    return 0;
}

static int add_exchanges(struct loop_summary *sum, const struct closed_loop *closed)
{
    for (size_t i = 0; i < closed->cm_cnt; i++) {
        const struct cm_loop_result *cm = &closed->cm[i];
        struct loop_failure failure = {
            .what = "exchange", .number = (uint32_t)i + 1, .seed = closed->seed};

        sum->frames += cm->frames;
        sum->lost += cm->lost;
        sum->damaged += cm->damaged;
        sum->forged += cm->forged;
        if (cm->verdict != VERDICT_FAIL)
            continue;
        sum->failed_of[closed->cnt + i]++;
        memcpy(failure.reason, cm->reason, sizeof(cm->reason));
        if (add_failure(sum, &failure) != 0)
            return -1;
    }
    return 0;
}

/* Writes the first difference of stream `idx` as text to `out`. */
static void tell_diff(char *out, size_t size, const struct dgram_streams *streams, uint32_t idx)
{
    struct strbuf t = strbuf_of(out, size);
    char text[DIFF_TEXT_MAX];

    for (size_t i = 0; i < streams->diff_cnt; i++) {
        const struct diff *d = &streams->diff[i];

        if (d->dir != idx)
            continue;
        strbuf_addf(&t, "frame %u: %s; %s", streams->trace->pkt[d->pkt].frame,
                    diff_text(text, d->field, d->recorded, d->replayed), d->reason);
        return;
    }
}

static int add_streams(struct loop_summary *sum, const struct closed_loop *closed)
{
    const struct dgram_loop_result *play = &closed->streams;

    sum->frames += play->frames;
    sum->lost += play->lost;
    sum->damaged += play->damaged;
    sum->forged += play->forged;
    for (uint32_t i = 0; i < play->streams.cnt; i++) {
        struct loop_failure failure = {.what = "stream", .number = i + 1, .seed = closed->seed};

        if (play->streams.stream[i].verdict != VERDICT_FAIL)
            continue;
        sum->failed_of[closed->cnt + closed->cm_cnt + i]++;
        tell_diff(failure.reason, sizeof(failure.reason), &play->streams, i);
        if (add_failure(sum, &failure) != 0)
            return -1;
    }
    return 0;
}

static int add_play(struct loop_summary *sum, const struct closed_loop *closed)
{
    for (size_t i = 0; i < IMPAIR_RULES_MAX; i++)
        sum->applied[i] += closed->applied[i];
    for (size_t i = 0; i < closed->cnt; i++) {
        const struct rc_loop_result *conn = &closed->conn[i];
        struct loop_failure failure = {
            .what = "direction", .number = (uint32_t)i + 1, .seed = closed->seed};

        sum->frames += conn->frames;
        sum->lost += conn->lost;
        sum->damaged += conn->damaged;
        sum->forged += conn->forged;
        sum->repeated += conn->repeated;
        sum->gave_up += conn->gave_up;
        sum->doubtful += conn->doubtful;
        if (conn->verdict != VERDICT_FAIL)
            continue;
        sum->failed_of[i]++;
        memcpy(failure.reason, conn->reason, sizeof(conn->reason));
        if (add_failure(sum, &failure) != 0)
            return -1;
    }
    return add_exchanges(sum, closed) != 0 ? -1 : add_streams(sum, closed);
}

static int run_play(struct loop_summary *sum, const struct session *session,
                    const struct loop_options *options, uint64_t seed, struct sim_pcap *record,
                    struct error *error)
{
    struct closed_loop closed;
    int rc = closed_loop_play(&closed, session, &sum->ends, &options->impair, seed, record, error);

    if (rc == 0) {
        closed_loop_compare(&closed, &sum->clean);
        sum->plays++;
        sum->failed += closed_loop_verdict(&closed) == VERDICT_FAIL;
        if (add_play(sum, &closed) != 0)
            rc = error_set(error, "%s: no memory", session->trace->name);
    }
    closed_loop_free(&closed);
    return rc;
}

int closed_sum_run(struct loop_summary *sum, const struct session *session,
                   const struct loop_options *options, struct error *error)
{
    static const struct impair_rules none = {.cnt = 0};
    int rc;

    memset(sum, 0, sizeof(*sum));
    sum->failed_of = calloc(session->dir_cnt + (options->exchanges ? options->exchanges->cnt : 0) +
                                (options->streams ? options->streams->cnt : 0) + 1,
                            sizeof(*sum->failed_of));
    if (!sum->failed_of)
        return error_set(error, "%s: no memory", session->trace->name);
    sum->ends = (struct closed_loop_sides){.sides = options->sides ? options->sides : REPLAY_BOTH,
                                           .exchanges = options->exchanges,
                                           .streams = options->streams,
                                           .post = &sum->post};
    if (sum->ends.sides == REPLAY_REQUESTER && rc_requester_play(&sum->post, session, error) != 0)
        return -1;
    rc = closed_loop_play(&sum->clean, session, &sum->ends, &none, options->seed, NULL, error);
    if (rc == 0)
        closed_loop_compare(&sum->clean, &sum->clean);
    for (uint32_t i = 0; rc == 0 && i < options->repeat; i++) {
        struct sim_pcap record = {.path = NULL};
        bool recorded = options->record && i + 1 == options->repeat;
        struct error ignored;

        if (recorded)
            rc = sim_pcap_open(&record, options->record, error);
        if (rc == 0)
            rc = run_play(sum, session, options, options->seed + i, recorded ? &record : NULL,
                          error);
        if (sim_pcap_close(&record, rc == 0 ? error : &ignored) != 0)
            rc = -1;
    }
    return rc;
}

void loop_summary_free(struct loop_summary *sum)
{
    closed_loop_free(&sum->clean);
    rc_requester_free(&sum->post);
    free(sum->failure);
    free(sum->failed_of);
    memset(sum, 0, sizeof(*sum));
}

enum verdict loop_summary_verdict(const struct loop_summary *sum)
{
    return sum->failed ? VERDICT_FAIL : closed_loop_verdict(&sum->clean);
}

const char *closed_sum_skip_reason(const struct loop_summary *sum)
{
    for (size_t i = 0; i < sum->clean.cnt; i++)
        if (sum->clean.conn[i].verdict == VERDICT_SKIPPED)
            return sum->clean.conn[i].reason;
    for (size_t i = 0; i < sum->clean.cm_cnt; i++)
        if (sum->clean.cm[i].verdict == VERDICT_SKIPPED)
            return sum->clean.cm[i].reason;
    for (uint32_t i = 0; i < sum->clean.streams.streams.cnt; i++)
        if (dgram_loop_has(&sum->clean.streams, i) && sum->clean.streams.streams.stream[i].skip)
            return sum->clean.streams.streams.stream[i].skip;
    return "the capture contains no connection and no datagram stream";
}

/* ---- the text report ---------------------------------------------------------------------------
 */

static enum verdict conn_verdict(const struct loop_summary *sum, size_t i)
{
    return sum->failed_of[i] ? VERDICT_FAIL : sum->clean.conn[i].verdict;
}

static void print_conn(FILE *out, const struct loop_summary *sum, size_t i)
{
    const struct rc_loop_result *conn = &sum->clean.conn[i];
    const struct inferred_setup *s = &conn->run->setup;
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, flow->src);
    strbuf_addf(&t, " QP 0x%06x → ", s->peer_qpn);
    strbuf_add_addr(&t, flow->dst);
    strbuf_addf(&t, " QP 0x%06x", s->qpn);
    fprintf(out, "connection #%u: %s: %s", s->recorded->conn_index, buf,
            verdict_name(conn_verdict(sum, i)));
    if (conn->verdict == VERDICT_SKIPPED)
        fprintf(out, ": %s\n", conn->reason);
    else
        fprintf(out, ", %zu work requests, %zu receives, %" PRIu64 " frames%s%s\n", conn->sent.cnt,
                conn->received.cnt, conn->frames,
                conn->verdict == VERDICT_FAIL ? "; without impairments " : "",
                conn->verdict == VERDICT_FAIL ? conn->reason : "");
}

static enum verdict exchange_verdict(const struct loop_summary *sum, size_t i)
{
    return sum->failed_of[sum->clean.cnt + i] ? VERDICT_FAIL : sum->clean.cm[i].verdict;
}

static void print_exchange(FILE *out, const struct loop_summary *sum, size_t i)
{
    const struct cm_loop_result *cm = &sum->clean.cm[i];
    const struct cm_exchange *x = &sum->ends.exchanges->at[i];
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, x->addr[CM_ACTIVE]);
    strbuf_addf(&t, " → ");
    strbuf_add_addr(&t, x->addr[CM_PASSIVE]);
    fprintf(out, "exchange %zu: %s: %s", i + 1, buf, verdict_name(exchange_verdict(sum, i)));
    if (cm->verdict == VERDICT_SKIPPED)
        fprintf(out, ": %s\n", cm->reason);
    else
        fprintf(out, ", %" PRIu64 " messages%s%s\n", cm->frames,
                cm->verdict == VERDICT_FAIL ? "; without impairments " : "",
                cm->verdict == VERDICT_FAIL ? cm->reason : "");
}

static enum verdict stream_verdict(const struct loop_summary *sum, uint32_t i)
{
    return sum->failed_of[sum->clean.cnt + sum->clean.cm_cnt + i]
               ? VERDICT_FAIL
               : sum->clean.streams.streams.stream[i].verdict;
}

static void print_stream(FILE *out, const struct loop_summary *sum, uint32_t i)
{
    const struct dgram_stream *s = &sum->clean.streams.streams.stream[i];
    char ends[256], why[CLOSED_LOOP_REASON_MAX] = "";
    struct strbuf t = strbuf_of(ends, sizeof(ends));

    if (!dgram_loop_has(&sum->clean.streams, i))
        return;
    report_stream_ends(&t, s);
    tell_diff(why, sizeof(why), &sum->clean.streams.streams, i);
    fprintf(out, "stream %" PRIu32 ": %s: %s %s", i + 1, ends, dgram_role_name(s->role),
            verdict_name(stream_verdict(sum, i)));
    if (s->verdict == VERDICT_SKIPPED)
        fprintf(out, ": %s\n", s->skip);
    else
        fprintf(out, ", %u messages, %u frames%s%s\n", s->messages, s->compared,
                *why ? "; without impairments " : "", why);
}

static const char *const sides[] = {
    [REPLAY_RESPONDER] = "responder", [REPLAY_REQUESTER] = "requester", [REPLAY_BOTH] = "both"};
static const char *const ends_text[] = {
    [REPLAY_RESPONDER] = "our RNIC is the responder; the requests come from the capture",
    [REPLAY_REQUESTER] = "our RNIC is the requester; the responses come from the capture",
    [REPLAY_BOTH] = "closed loop with our RNIC at both ends",
};

void report_closed_text(FILE *out, const struct loop_summary *sum,
                        const struct loop_options *options)
{
    const char *name = sum->clean.drive->trace->name;

    put_escaped(out, name);
    fprintf(out, ": %s: %s, %" PRIu32 " run%s from seed %" PRIu64 "\n",
            verdict_name(loop_summary_verdict(sum)), ends_text[sum->ends.sides], sum->plays,
            sum->plays == 1 ? "" : "s", options->seed);
    for (size_t i = 0; i < sum->clean.cnt; i++)
        print_conn(out, sum, i);
    for (size_t i = 0; i < sum->clean.cm_cnt; i++)
        print_exchange(out, sum, i);
    for (uint32_t i = 0; i < sum->clean.streams.streams.cnt; i++)
        print_stream(out, sum, i);
    fprintf(out,
            "%" PRIu64 " frames, %" PRIu64 " dropped, %" PRIu64 " corrupted, %" PRIu64
            " with a changed field, %" PRIu64 " requests retransmitted",
            sum->frames, sum->lost, sum->damaged, sum->forged, sum->repeated);
    if (sum->gave_up)
        fprintf(out,
                ", %" PRIu64
                " connections failed as expected: the impairments used up their retries",
                sum->gave_up);
    if (sum->doubtful)
        fprintf(out, ", %" PRIu64 " violations after packets with a changed field (not counted)",
                sum->doubtful);
    fputc('\n', out);
    for (size_t i = 0; i < options->impair.cnt; i++)
        fprintf(out, "impairment %s: %" PRIu64 " frame%s%s\n", options->impair.rule[i].text,
                sum->applied[i], sum->applied[i] == 1 ? "" : "s",
                sum->applied[i] ? "" : " (no frame matches)");
    for (size_t i = 0; i < sum->failure_cnt; i++)
        fprintf(out, "seed %" PRIu64 ": %s %u: %s\n", sum->failure[i].seed, sum->failure[i].what,
                sum->failure[i].number, sum->failure[i].reason);
    if (sum->failure_cnt == 0)
        return;
    fprintf(out, "to repeat: rocedrill replay --closed-loop%s",
            sum->ends.sides == REPLAY_RESPONDER   ? " --side responder"
            : sum->ends.sides == REPLAY_REQUESTER ? " --side requester"
                                                  : "");
    for (size_t i = 0; i < options->impair.cnt; i++)
        fprintf(out, " --impair '%s'", options->impair.rule[i].text);
    fprintf(out, " --seed %" PRIu64 " ", sum->failure[0].seed);
    put_shell_word(out, name);
    fputc('\n', out);
}

/* ---- the JSON report ---------------------------------------------------------------------------
 */

static json_t *end_json(const uint8_t addr[16], uint32_t qpn)
{
    char buf[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_add_addr(&t, addr);
    return json_pack("{s:s, s:i}", "address", buf, "qpn", (int)qpn);
}

static json_t *conn_json(const struct loop_summary *sum, size_t i)
{
    const struct rc_loop_result *conn = &sum->clean.conn[i];
    const struct inferred_setup *s = &conn->run->setup;
    const struct trace_flow *flow = &s->trace->flow[s->recorded->req_flow];
    json_t *json = json_pack(
        "{s:i, s:o, s:o, s:s, s:I, s:I, s:I, s:I}", "connection", (int)s->recorded->conn_index,
        "requester", end_json(flow->src, s->peer_qpn), "responder", end_json(flow->dst, s->qpn),
        "verdict", verdict_name(conn_verdict(sum, i)), "work_requests", (json_int_t)conn->sent.cnt,
        "receives", (json_int_t)conn->received.cnt, "frames", (json_int_t)conn->frames,
        "plays_failed", (json_int_t)sum->failed_of[i]);

    if (conn->reason[0])
        json_object_set_new(json, "reason", json_string(conn->reason));
    return json;
}

/* Returns a failure as a JSON object with the members of a difference of a replay, so that the
 * JUnit report can print it. */
static json_t *failure_json(const struct loop_failure *failure)
{
    char field[48], again[64];

    snprintf(field, sizeof(field), "seed %" PRIu64, failure->seed);
    snprintf(again, sizeof(again), "--seed %" PRIu64 " repeats this run", failure->seed);
    return json_pack("{s:i, s:I, s:i, s:s, s:s, s:s, s:s}", failure->what, (int)failure->number,
                     "seed", (json_int_t)failure->seed, "frame", 0, "field", field, "recorded",
                     "the same results as without impairments, and no violated rule", "replayed",
                     failure->reason, "reason", again);
}

void report_closed_json(struct json_writer *w, const struct loop_summary *sum,
                        const struct loop_options *options)
{
    json_t *impairments = json_array();

    json_writer_member(w, "file", json_lossy_string(sum->clean.drive->trace->name));
    json_writer_member(w, "verdict", json_string(verdict_name(loop_summary_verdict(sum))));
    json_writer_list(w, "directions");
    for (size_t i = 0; i < sum->clean.cnt; i++)
        json_writer_element(w, conn_json(sum, i));
    json_writer_list_end(w);
    json_writer_list(w, "streams");
    for (uint32_t i = 0; i < sum->clean.streams.streams.cnt; i++) {
        json_t *stream = report_stream_json(&sum->clean.streams.streams, i);

        json_object_set_new(stream, "verdict", json_string(verdict_name(stream_verdict(sum, i))));
        json_writer_element(w, stream);
    }
    json_writer_list_end(w);
    json_writer_list(w, "differences");
    for (size_t i = 0; i < sum->failure_cnt; i++)
        json_writer_element(w, failure_json(&sum->failure[i]));
    json_writer_list_end(w);
    for (size_t i = 0; i < options->impair.cnt; i++)
        json_array_append_new(impairments,
                              json_pack("{s:s, s:I}", "rule", options->impair.rule[i].text,
                                        "frames", (json_int_t)sum->applied[i]));
    json_writer_member(
        w, "closed",
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "side",
                  sides[sum->ends.sides], "seed", (json_int_t)options->seed, "plays",
                  (json_int_t)sum->plays, "plays_failed", (json_int_t)sum->failed, "frames",
                  (json_int_t)sum->frames, "dropped", (json_int_t)sum->lost, "damaged",
                  (json_int_t)sum->damaged, "forged", (json_int_t)sum->forged, "repeated",
                  (json_int_t)sum->repeated, "given_up", (json_int_t)sum->gave_up, "doubtful",
                  (json_int_t)sum->doubtful, "impairments", impairments));
}
