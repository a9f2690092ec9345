/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "equivalence.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "infer/request_table.h"
#include "infer/setup_dump.h"
#include "report/verdict.h"
#include "support/suite.h"
#include "wire/codes.h"

/* Largest distance in PSNs between the altered response and a request of which lacks_one() adds a
 * copy to the capture. */
#define NEAR 16

const char *equivalence_name(enum equivalence equivalence)
{
    static const char *const names[EQUIVALENCE_CNT] = {
        "",          "first told", "damaged", "free ACK", "free MSN", "not got", "other lost",
        "lacks one", "buffer",     "before",  "known",    "new use",  "copy",    "unpaired"};

    return names[equivalence];
}

/* Finds the response in frame number `frame`. Sets its direction and event. Returns false if the
 * frame is not a response of any direction. */
static bool find_answer(const struct replay *replay, uint32_t frame, size_t *run, uint32_t *event)
{
    for (*run = 0; *run < replay->session.dir_cnt; ++*run) {
        const struct inferred_setup *s = &replay->session.dir[*run].setup;

        for (*event = 0; *event < s->event_cnt; ++*event)
            if (s->event[*event].response && event_packet(s, *event)->frame == frame)
                return true;
    }
    return false;
}

/* Returns whether at least two copies of the request with the PSN of response `event` were captured
 * before it. The ACK of a duplicate may count all messages executed by then, so its MSN may be
 * higher. */
static bool has_duplicate(const struct inferred_setup *s, uint32_t event)
{
    unsigned copies = 0;

    for (uint32_t i = 0; i < event; i++)
        copies += !s->event[i].response && s->event[i].rel == s->event[event].rel;
    return copies > 1;
}

/* Returns whether the response in a frame is an ACK that equals the response of our RNIC, and that
 * a responder could have sent after any captured copy of its request. */
static bool is_free_ack(const struct replay *replay, uint32_t frame)
{
    const struct inferred_setup *s;
    uint32_t event;
    size_t run;

    if (!find_answer(replay, frame, &run, &event))
        return false;
    s = &replay->session.dir[run].setup;
    return replay->responses.result[run].mark[event] == MARK_OK &&
           event_is_syndrome(s, event, ROCE_SYN_ACK) &&
           (request_table_msn_fits(s, event) || has_duplicate(s, event));
}

/* Returns whether the response answers one of several captured copies of a READ or an atomic, and
 * its MSN counts no more messages than were sent before it. */
static bool is_free_msn(const struct replay *replay, uint32_t frame)
{
    const struct request_pkt *e;
    const struct inferred_setup *s;
    int64_t high = INT64_MIN;
    unsigned copies = 0;
    uint32_t event;
    size_t run;

    if (!find_answer(replay, frame, &run, &event))
        return false;
    s = &replay->session.dir[run].setup;
    e = request_at(s, s->event[event].rel);
    if (!e || replay->responses.result[run].mark[event] != MARK_OK ||
        event_opcode(s, event)->kind == ROCE_KIND_ACK)
        return false;
    for (uint32_t i = 0; i < event; i++) {
        if (s->event[i].response)
            continue;
        copies += s->event[i].rel >= e->rel && s->event[i].rel < e->rel + e->cnt;
        high = s->event[i].rel > high ? s->event[i].rel : high;
    }
    return copies > 1 && roce_psn_diff(roce_psn_of(event_packet(s, event)->msn),
                                       roce_psn_of(request_table_msn(s, high))) <= 0;
}

/* Returns whether the response in a frame was compared and matched. */
static bool is_right(const struct replay *replay, uint32_t frame)
{
    uint32_t event;
    size_t run;

    return find_answer(replay, frame, &run, &event) &&
           (replay->responses.result[run].mark[event] == MARK_OK ||
            replay->session.dir[run].setup.event[event].before_first);
}

json_t *equivalence_setup(const struct replay *replay)
{
    char path[] = "/tmp/rocedrill-alter-XXXXXX";
    int fd = mkstemp(path);
    struct error error = {""};
    json_t *setup, *conn;
    size_t i;

    if (fd < 0 || setup_dump_write(&replay->session, &replay->memory_log, path, &error) != 0)
        suite_fail(__FILE__, __LINE__, "%s: %s", path, error.text);
    setup = json_load_file(path, 0, NULL);
    close(fd);
    unlink(path);
    /* Do not compare the name of the file, nor the range of timers that the packets allow
     * ("seen"), which only reports use. */
    json_object_del(setup, "file");
    json_array_foreach(json_object_get(setup, "connections"), i, conn)
        json_object_del(json_object_get(conn, "requester"), "seen");
    return setup;
}

/* Returns whether a replay infers another setup from the altered capture than from the original. */
static bool has_other_setup(const struct subject *subject)
{
    struct error error = {""};
    struct replay replay;
    bool differs = false;

    if (capture_replay(&subject->capture,
                       &(struct replay_options){.quirks = subject->peer, .memory_log = true},
                       &replay, &error) == 0) {
        json_t *setup = equivalence_setup(&replay);

        differs = !json_equal(setup, subject->setup);
        json_decref(setup);
    }
    replay_free(&replay);
    return differs;
}

/* Replays the capture without the frames for which `out` is true. Returns the verdict. Call
 * replay_free() on *replay afterwards. */
static enum verdict replay_without(const struct capture *capture, const char *quirks,
                                   const bool *out, struct replay *replay, struct error *error)
{
    struct capture less = {.frame = calloc(capture->cnt + 1, sizeof(*less.frame))};
    enum verdict verdict = VERDICT_FAIL;

    CU_ASSERT_PTR_NOT_NULL_FATAL(less.frame);
    for (size_t i = 0; i < capture->cnt; i++)
        if (!out[i])
            less.frame[less.cnt++] = capture->frame[i];
    if (capture_replay(&less, &(struct replay_options){.quirks = quirks}, replay, error) == 0)
        verdict = report_verdict(replay);
    free(less.frame);
    return verdict;
}

/* Returns whether the original capture still passes without the frame. If so, nothing proves that
 * the frame arrived. */
static bool holds_without(const struct subject *subject, uint32_t frame)
{
    bool *out = calloc(subject->original.cnt + 1, sizeof(*out));
    struct error error = {""};
    struct replay replay;
    bool holds;

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    out[frame - 1] = true;
    holds = replay_without(&subject->original, subject->peer, out, &replay, &error) != VERDICT_FAIL;
    replay_free(&replay);
    free(out);
    return holds;
}

/* Returns whether the capture has no earlier request with the PSN of request `event`. */
static bool is_new(const struct inferred_setup *s, uint32_t event)
{
    for (uint32_t i = 0; i < event; i++)
        if (!s->event[i].response && s->event[i].rel == s->event[event].rel)
            return false;
    return true;
}

/* Returns whether a request is the first complete request with its PSN, from which the replay
 * infers the posted work request. */
static bool is_first(const struct replay *replay, uint32_t frame)
{
    for (size_t r = 0; r < replay->requester.run_cnt; r++) {
        const struct inferred_setup *s = requester_setup(replay->requester.run[r].dir);

        for (size_t i = 0; i < s->req_cnt; i++)
            if (event_packet(s, s->req[i].event)->frame == frame &&
                replay->requests.result[r].mark[s->req[i].event] == MARK_OK)
                return true;
    }
    /* The replay compares no requests after a gap in the PSNs. There, the first request with its
     * PSN counts. */
    for (size_t r = 0; r < replay->requester.run_cnt; r++) {
        const struct requester_run *a = &replay->requester.run[r];
        const struct inferred_setup *s = requester_setup(a->dir);

        for (uint32_t i = 0; i < s->event_cnt; i++)
            if (!s->event[i].response && event_packet(s, i)->frame == frame)
                return s->event[i].rel >= a->wrs.end && is_new(s, i);
    }
    return false;
}

/* Marks the frames of responses that, as later requests show, the recorded requesters did not
 * receive. Returns their number. */
static size_t mark_lost(const struct replay *replay, bool *lost)
{
    size_t cnt = 0;

    for (size_t r = 0; r < replay->requester.run_cnt; r++) {
        const struct requester_run *a = &replay->requester.run[r];
        const struct inferred_setup *s = requester_setup(a->dir);

        for (uint32_t i = 0; i < s->event_cnt && a->outcome; i++)
            if (s->event[i].response && a->outcome[i] == RESP_LOST) {
                lost[event_packet(s, i)->frame - 1] = true;
                cnt++;
            }
    }
    return cnt;
}

static bool is_not_got(const struct subject *subject, const struct replay *altered)
{
    bool *lost = calloc(subject->capture.cnt + 1, sizeof(*lost));
    struct error error = {""};
    struct replay replay;
    bool holds = false;

    if (lost && mark_lost(altered, lost) > 0) {
        holds = replay_without(&subject->capture, subject->peer, lost, &replay, &error) !=
                    VERDICT_FAIL &&
                mark_lost(&replay, lost) == 0;
        replay_free(&replay);
    }
    free(lost);
    return holds;
}

/* Finds the request in frame number `frame`. Sets its requester and event. Returns false if the
 * frame is not a request of any requester. */
static bool find_request(const struct replay *replay, uint32_t frame, size_t *run, uint32_t *event)
{
    for (*run = 0; *run < replay->requester.run_cnt; ++*run) {
        const struct inferred_setup *s = requester_setup(replay->requester.run[*run].dir);

        for (*event = 0; *event < s->event_cnt; ++*event)
            if (!s->event[*event].response && event_packet(s, *event)->frame == frame)
                return true;
    }
    return false;
}

/* Returns whether the requester skips requests after the altered request, and responses captured
 * before its next request acknowledge all of them. The requester had not received these responses
 * when it went back, and received them before it sent the next request. */
static bool is_got_late(const struct replay *altered, uint32_t frame)
{
    const struct inferred_setup *s;
    uint32_t event, next;
    int64_t acked = INT64_MIN;
    size_t run;

    if (!find_request(altered, frame, &run, &event))
        return false;
    s = requester_setup(altered->requester.run[run].dir);
    for (next = event + 1; next < s->event_cnt && s->event[next].response; next++)
        ;
    for (uint32_t i = 0; i < next && i < s->event_cnt; i++)
        if (s->event[i].response && !s->event[i].damaged && event_executed_to(s, i) > acked)
            acked = event_executed_to(s, i);
    return next < s->event_cnt && s->event[next].rel > s->event[event].rel + 1 &&
           acked >= s->event[next].rel - 1;
}

bool *equivalence_lost(const struct replay *replay, size_t cnt)
{
    bool *lost = calloc(cnt + 1, sizeof(*lost));

    for (size_t r = 0; lost && r < replay->session.dir_cnt; r++) {
        const struct inferred_setup *s = &replay->session.dir[r].setup;

        for (uint32_t i = 0; i < s->event_cnt; i++)
            if (s->event[i].lost)
                lost[event_packet(s, i)->frame - 1] = true;
    }
    return lost;
}

/* Returns whether the requester reacted to the NAK: its next go-back after the event begins at the
 * PSN of the NAK. */
static bool is_obeyed(const struct inferred_setup *s, uint32_t event)
{
    int64_t high = INT64_MIN;

    for (uint32_t i = 0; i < s->event_cnt; i++) {
        if (s->event[i].response)
            continue;
        if (i > event && s->event[i].rel <= high)
            return s->event[i].rel == s->event[event].rel;
        if (s->event[i].rel > high)
            high = s->event[i].rel;
    }
    return false;
}

/* Returns whether the response is a sequence NAK for a request that was lost or reordered after the
 * capture point, and the requester reacted to the NAK. */
static bool is_obeyed_nak(const struct replay *altered, uint32_t frame)
{
    uint32_t event;
    size_t run;

    return find_answer(altered, frame, &run, &event) &&
           event_is_nak_code(&altered->session.dir[run].setup, event, ROCE_NAK_PSN_SEQ) &&
           is_obeyed(&altered->session.dir[run].setup, event);
}

/* Returns whether the response is a sequence NAK of a request that the network may have lost after
 * the capture point. That request, all requests before it that are not acknowledged, and a later
 * one were captured before the NAK. No response before the NAK contradicts it, and its MSN is
 * right.
 */
static bool is_possible_nak(const struct replay *altered, uint32_t frame)
{
    const struct inferred_setup *s;
    int64_t rel, done = INT64_MIN, high = INT64_MIN;
    uint32_t event;
    size_t run;

    if (!find_answer(altered, frame, &run, &event))
        return false;
    s = &altered->session.dir[run].setup;
    rel = s->event[event].rel;
    if (!event_is_nak_code(s, event, ROCE_NAK_PSN_SEQ) || !request_table_msn_fits(s, event))
        return false;
    for (uint32_t i = 0; i < event; i++) {
        if (!s->event[i].usable || s->event[i].before_first)
            continue;
        if (s->event[i].response && event_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) &&
            s->event[i].rel == rel)
            return false;
        if (s->event[i].response && event_executed_to(s, i) > done)
            done = event_executed_to(s, i);
        if (!s->event[i].response && s->event[i].rel > high)
            high = s->event[i].rel;
    }
    for (int64_t k = done > s->first - 1 ? done + 1 : s->first; k <= rel; k++) {
        const struct request_pkt *e = request_at(s, k);

        if (!e || e->event > event)
            return false;
    }
    return done < rel && high > rel;
}

/* Returns whether two responses have the same opcode and the same data. */
static bool has_data_of(const struct inferred_setup *s, uint32_t a, uint32_t b)
{
    const struct trace_packet *p = event_packet(s, a), *q = event_packet(s, b);
    struct roce_pkt x, y;

    trace_parse(p, &x);
    trace_parse(q, &y);
    return p->opcode == q->opcode && p->payload_len == q->payload_len &&
           memcmp(trace_payload(p), trace_payload(q), p->payload_len) == 0 &&
           x.atomicacketh.orig == y.atomicacketh.orig;
}

/* Returns whether the response is a whole response to a READ or atomic that was executed before, so
 * that it may answer a copy which the network made after the capture point. Another response to the
 * same request has the same data. Its MSN lies between the MSNs of the responses that were sent
 * before and after it. */
static bool is_answer_to_copy(const struct replay *altered, uint32_t frame)
{
    const struct inferred_setup *s;
    const struct trace_packet *p;
    bool same = false, executed = false;
    uint32_t event;
    size_t run;

    if (!find_answer(altered, frame, &run, &event))
        return false;
    s = &altered->session.dir[run].setup;
    p = event_packet(s, event);
    if (event_opcode(s, event)->kind == ROCE_KIND_ACK ||
        event_opcode(s, event)->pos != ROCE_POS_ONLY || !request_at(s, s->event[event].rel))
        return false;
    for (uint32_t i = 0; i < s->event_cnt; i++) {
        const struct trace_packet *q = event_packet(s, i);
        bool before = i != event && (trace_sent_before(s->trace, q, p) ||
                                     (i < event && !trace_sent_before(s->trace, p, q)));
        int32_t more = roce_psn_diff(roce_psn_of(q->msn), roce_psn_of(p->msn));

        if (i == event || !s->event[i].response || !s->event[i].usable)
            continue;
        same |= s->event[i].rel == s->event[event].rel && has_data_of(s, event, i);
        executed |= before && event_executed(s, i, s->event[event].rel);
        if (trace_counts_messages(event_opcode(s, i)) && (before ? more > 0 : more < 0))
            return false;
    }
    return same && executed;
}

static bool is_before_first(const struct replay *altered, uint32_t frame)
{
    uint32_t event;
    size_t run;

    return find_answer(altered, frame, &run, &event) &&
           altered->session.dir[run].setup.event[event].before_first;
}

/* Returns whether the response in a frame may continue the response to a READ that was sent before
 * the first captured request. If CM messages were captured, it cannot: they show the first PSN. */
static bool is_tail_of_first(const struct replay *altered, uint32_t frame)
{
    const struct inferred_setup *s;
    uint32_t event;
    size_t run;

    if (!find_answer(altered, frame, &run, &event))
        return false;
    s = &altered->session.dir[run].setup;
    return s->req_cnt > 0 && s->event[event].rel == s->req[0].rel && !s->recorded->cm.present &&
           event_opcode(s, s->req[0].event)->kind == ROCE_KIND_READ &&
           event_opcode(s, event)->kind == ROCE_KIND_READ_RESP &&
           !roce_opcode_starts(event_opcode(s, event));
}

static bool is_nak_of_other(const struct subject *subject, const struct replay *altered,
                            uint32_t frame)
{
    bool *lost = equivalence_lost(altered, subject->capture.cnt);
    bool other = false;
    uint32_t event;
    size_t run;

    if (lost && find_answer(altered, frame, &run, &event))
        other = altered->responses.result[run].mark[event] == MARK_OK &&
                event_is_nak_code(&altered->session.dir[run].setup, event, ROCE_NAK_PSN_SEQ) &&
                memcmp(lost, subject->lost, subject->capture.cnt * sizeof(*lost)) != 0;
    free(lost);
    return other;
}

/* Inserts a copy of frame `copy` into the altered capture at index `at`. Returns whether the
 * capture then passes without inconclusive responses. `frame` is the frame number of the altered
 * response before the insertion. */
static bool holds_with(const struct subject *subject, uint32_t frame, uint32_t copy, size_t at)
{
    const struct capture *c = &subject->capture;
    struct capture more = {.frame = calloc(c->cnt + 1, sizeof(*more.frame)), .cnt = c->cnt + 1};
    struct error error = {""};
    struct replay replay;
    bool holds;

    CU_ASSERT_PTR_NOT_NULL_FATAL(more.frame);
    for (size_t i = 0; i < more.cnt; i++)
        more.frame[i] = c->frame[i < at ? i : i > at ? i - 1 : copy - 1];
    more.frame[at].time = c->frame[frame - 1].time;
    holds = capture_replay(&more, &(struct replay_options){.quirks = subject->peer}, &replay,
                           &error) == 0 &&
            report_verdict(&replay) == VERDICT_PASS && is_right(&replay, frame + (at < frame));
    for (size_t r = 0; holds && r < replay.session.dir_cnt; r++)
        holds = replay.responses.result[r].inconclusive == 0;
    replay_free(&replay);
    free(more.frame);
    return holds;
}

/* Returns whether the altered capture passes after one more request is added to it. The request is
 * a copy of a request with a PSN near the PSN of the response. Each copy is tried just before and
 * just after the response. */
static bool lacks_one(const struct subject *subject, const struct replay *altered, uint32_t frame)
{
    const struct inferred_setup *s;
    uint32_t event;
    size_t run;

    if (!find_answer(altered, frame, &run, &event) ||
        altered->responses.result[run].inconclusive == 0)
        return false;
    s = &altered->session.dir[run].setup;
    for (size_t i = 0; i < s->req_cnt; i++) {
        const struct request_pkt *e = &s->req[i];
        uint32_t copy = event_packet(s, e->event)->frame;

        if (e->rel + NEAR >= s->event[event].rel && e->rel <= s->event[event].rel + NEAR &&
            (holds_with(subject, frame, copy, frame - 1) ||
             holds_with(subject, frame, copy, frame)))
            return true;
    }
    return false;
}

static bool has_rewritten(const struct replay *replay)
{
    for (size_t r = 0; r < replay->requester.run_cnt; r++)
        if (replay->requests.result[r].rewritten)
            return true;
    return false;
}

static bool is_known(const struct replay *altered, uint32_t frame)
{
    uint32_t event;
    size_t run;

    return find_answer(altered, frame, &run, &event) &&
           altered->responses.result[run].mark[event] == MARK_KNOWN;
}

/* Returns whether the altered request is one without payload that Linux rxe sends in place of a
 * retransmission (D41). */
static bool is_empty_request(const struct subject *subject, const struct replay *altered,
                             uint32_t frame)
{
    const struct inferred_setup *s;
    struct roce_pkt pkt;
    uint32_t event;
    size_t run;

    if (!subject->peer || !find_request(altered, frame, &run, &event))
        return false;
    s = requester_setup(altered->requester.run[run].dir);
    trace_parse(event_packet(s, event), &pkt);
    return altered->requests.result[run].mark[event] == MARK_KNOWN && pkt.payload_len == 0 &&
           pkt.op->pos == ROCE_POS_ONLY && pkt.reth.dma_len == 0 &&
           (pkt.op->kind == ROCE_KIND_SEND || pkt.op->kind == ROCE_KIND_WRITE);
}

/* Returns whether a direction has the packet of a frame. */
static bool has_frame(const struct inferred_setup *s, uint32_t frame)
{
    for (uint32_t i = 0; i < s->event_cnt; i++)
        if (event_packet(s, i)->frame == frame)
            return true;
    return false;
}

/* Returns the flow of a frame, or KEYMAP_NONE. */
static uint32_t flow_of(const struct trace *trace, uint32_t frame)
{
    for (size_t i = 0; i < trace->cnt; i++)
        if (trace->pkt[i].frame == frame)
            return trace->pkt[i].flow;
    return KEYMAP_NONE;
}

/* Returns whether the altered request belongs to no direction because it follows a fatal NAK, which
 * stopped both QPs, and no CM message shows whether the program connected them again. */
static bool is_new_use(const struct replay *altered, uint32_t frame)
{
    uint32_t flow = flow_of(&altered->trace, frame);
    bool ended = false;

    for (size_t r = 0; r < altered->session.dir_cnt; r++) {
        const struct inferred_setup *s = &altered->session.dir[r].setup;

        if (has_frame(s, frame))
            return false;
        ended |= s->recorded->req_flow == flow && !s->recorded->cm.present &&
                 s->fatal_nak != EVENT_NONE && event_packet(s, s->fatal_nak)->frame < frame;
    }
    return ended;
}

/* Returns whether the altered response belongs to no direction, and at most one other packet was
 * sent to its QP. So nothing shows which QP sent it. */
static bool is_unpaired(const struct replay *altered, uint32_t frame)
{
    uint32_t flow = flow_of(&altered->trace, frame);

    for (size_t r = 0; r < altered->session.dir_cnt; r++)
        if (has_frame(&altered->session.dir[r].setup, frame))
            return false;
    return flow != KEYMAP_NONE && altered->trace.flow[flow].cnt <= 2;
}

enum equivalence equivalence_of(const struct subject *subject, const struct replay *altered,
                                uint32_t frame, enum alteration kind)
{
    switch (kind) {
    case ALTER_AGAIN_EARLIER:
        return is_not_got(subject, altered) || is_got_late(altered, frame) ? NOT_GOT : WRONG;
    case ALTER_AGAIN_PAYLOAD:
        if (has_rewritten(altered))
            return BUFFER;
        break;
    case ALTER_MSN_BAD_ICRC:
    case ALTER_ICRC: return holds_without(subject, frame) ? DAMAGED : WRONG;
    case ALTER_PSN_UP:
        if (is_free_ack(altered, frame))
            return FREE_ACK;
        break;
    case ALTER_MSN_UP:
        if (is_free_msn(altered, frame))
            return FREE_MSN;
        if (is_free_ack(altered, frame) && holds_without(subject, frame))
            return FREE_ACK;
        break;
    case ALTER_PSN_DOWN:
    case ALTER_SYNDROME_ACK:
    case ALTER_OPCODE:
        if (is_free_ack(altered, frame) && holds_without(subject, frame))
            return FREE_ACK;
        break;
    default: break;
    }
    if (kind >= ALTER_AGAIN && is_empty_request(subject, altered, frame))
        return KNOWN;
    if (kind >= ALTER_AGAIN)
        return is_first(altered, frame) ? FIRST_TOLD : is_new_use(altered, frame) ? NEW_USE : WRONG;
    if (is_right(altered, frame) && has_other_setup(subject))
        return FIRST_TOLD;
    if (kind == ALTER_PKEY || kind == ALTER_DEST_QP)
        return WRONG;
    if (is_nak_of_other(subject, altered, frame) || is_obeyed_nak(altered, frame) ||
        is_possible_nak(altered, frame))
        return OTHER_LOST;
    if (is_before_first(altered, frame) ||
        (kind == ALTER_OPCODE && is_tail_of_first(altered, frame)))
        return BEFORE;
    if (is_known(altered, frame))
        return KNOWN;
    if ((kind == ALTER_PSN_UP || kind == ALTER_PSN_DOWN) && is_answer_to_copy(altered, frame))
        return COPY;
    if (is_unpaired(altered, frame))
        return UNPAIRED;
    return lacks_one(subject, altered, frame) ? LACKS_ONE : WRONG;
}
