/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/match.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/words.h"
#include "util/strbuf.h"

#define SLACK_NS  4000000u   /* real time: least reduction of a lower time bound, ns */
#define ABSENT_NS 250000000u /* real time: longest extra wait of match_none_end(), ns */

uint64_t match_time_after(uint64_t base, uint64_t delta)
{
    return base > UINT64_MAX / 2 - delta ? UINT64_MAX / 2 : base + delta;
}

enum outcome_of_try match_fail(struct drill_engine *e, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(e->problem, sizeof(e->problem), fmt, args);
    va_end(args);
    return TRY_FAILED;
}

struct drill_log_row *match_pending_frame(struct drill_engine *e, int qp, bool any)
{
    for (size_t i = e->first_pending; i < e->result->log_cnt; i++) {
        struct drill_log_row *row = &e->result->log[i];

        if (row->frame && row->from_dut && !row->consumed && (any || row->qp == qp))
            return row;
    }
    return NULL;
}

/* Marks a row of the log as different from the expected event. `event` is the first alternative of
 * the step. If the row later matches another alternative, consume_frame() replaces the mark. */
static void mark_difference(struct drill_log_row *row, const struct script_event *event)
{
    if (row->mark == DRILL_MARK_DIFF)
        return;
    row->mark = DRILL_MARK_DIFF;
    row->line = event->line;
}

static void consume_frame(struct drill_engine *e, struct drill_log_row *row, unsigned line)
{
    row->consumed = true;
    row->line = line;
    row->mark = DRILL_MARK_OK;
    while (e->first_pending < e->result->log_cnt) {
        const struct drill_log_row *first = &e->result->log[e->first_pending];

        if (first->frame && first->from_dut && !first->consumed)
            break;
        e->first_pending++;
    }
}

void match_add_async(const struct drill_engine *e, const struct drill_async *event,
                     struct strbuf *t)
{
    strbuf_addf(t, "%s", words_name(words_event, event->type));
    if (event->object != SCRIPT_NO_OBJECT)
        strbuf_addf(t, " %s", e->script->object[event->object].name);
}

uint64_t match_latest(const struct drill_engine *e, const struct script_event *event)
{
    uint64_t patience = e->patience;

    /* If an event occurs in the later window of another alternative, it belongs to that
     * alternative. So this line accepts late events only until that window begins. */
    if (e->later > event->time.to && e->later - event->time.to < patience)
        patience = e->later - event->time.to;
    return match_time_after(match_time_after(e->base, event->time.to), patience);
}

bool match_is_none(const struct script_event *event)
{
    return event->kind == SCRIPT_SILENCE || event->kind == SCRIPT_NO_COMP ||
           event->kind == SCRIPT_NO_ASYNC || event->kind == SCRIPT_NO_NOTIFY;
}

uint64_t match_none_end(const struct drill_engine *e, const struct script_event *event)
{
    uint64_t longer = e->ops->stalled ? e->ops->stalled(e->ctx.dev) - e->stalled : 0;

    /* This line requires that an event does not occur, but another alternative may expect this
     * event. A slow device may send the event late, so wait longer before this line matches. */
    if (e->alternatives)
        longer += e->patience < ABSENT_NS ? e->patience : ABSENT_NS;
    return match_time_after(match_time_after(e->base, event->time.to), longer);
}

uint64_t match_least_delay(const struct drill_engine *e, const struct script_event *event)
{
    uint64_t low = event->time.from == event->time.to ? 0 : event->time.from;
    uint64_t slack = !e->ops->wait ? 0 : low / 8 > SLACK_NS ? low / 8 : SLACK_NS;

    return low > slack ? low - slack : 0;
}

/* Appends words that name the event from which a time counts, such as "line 7". */
static void add_line(struct strbuf *t, unsigned line)
{
    if (line)
        strbuf_addf(t, "line %u", line);
    else
        strbuf_addf(t, "the start");
}

/* Returns whether `time` is in the time window of the event. If it is not, sets the reason of the
 * failure. */
static bool in_time(struct drill_engine *e, const struct script_event *event, uint64_t time)
{
    uint64_t low = match_least_delay(e, event);
    bool late = time > match_latest(e, event);
    uint64_t from = late ? e->base : e->anchor;
    char after[32], limit[32], line[32];
    struct strbuf a = strbuf_of(after, sizeof(after)), b = strbuf_of(limit, sizeof(limit)),
                  c = strbuf_of(line, sizeof(line));

    if (!late && (low == 0 || time >= match_time_after(e->anchor, low)))
        return true;
    strbuf_add_duration(&a, time > from ? time - from : 0);
    strbuf_add_duration(&b, late ? match_latest(e, event) - e->base : low);
    add_line(&c, late ? e->base_line : e->anchor_line);
    match_fail(e, "too %s: %s after %s, expected at %s %s", late ? "late" : "early", after, line,
               late ? "most" : "least", limit);
    return false;
}

/* Appends a hint if the author of the drill probably made a mistake (drill_packet_doubt()).
 * Examines the failed line, and the latest line before it that sends a packet. */
static enum outcome_of_try add_doubts(struct drill_engine *e, const struct script_event *event)
{
    size_t len = strlen(e->problem);
    struct strbuf t = strbuf_of(e->problem + len, sizeof(e->problem) - len);
    const struct script_event *sent = NULL;

    for (size_t i = 0; i < e->script->event_cnt && e->script->event[i].line < event->line; i++)
        if (e->script->event[i].kind == SCRIPT_SEND)
            sent = &e->script->event[i];
    if (sent)
        drill_packet_doubt(&e->ctx, sent->packet, false, sent->line, &t);
    if (event->kind == SCRIPT_EXPECT)
        drill_packet_doubt(&e->ctx, event->packet, true, event->line, &t);
    return TRY_FAILED;
}

/* Returns the outcome of a line while its expected event has not occurred: TRY_PENDING until the
 * time window ends, then TRY_FAILED. */
static enum outcome_of_try wait_for(struct drill_engine *e, const struct script_event *event,
                                    const char *what)
{
    char text[64];
    struct strbuf t = strbuf_of(text, sizeof(text));

    if (e->now < match_latest(e, event))
        return TRY_PENDING;
    strbuf_add_duration(&t, match_latest(e, event) - e->base);
    strbuf_addf(&t, " after ");
    add_line(&t, e->base_line);
    match_fail(e, "no %s within %s", what, text);
    return add_doubts(e, event);
}

static bool parse_row(const struct drill_log_row *row, struct roce_pkt *pkt)
{
    return roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, row->bytes, row->len, row->len) == 0;
}

static enum outcome_of_try try_packet(struct drill_engine *e, const struct script_event *event)
{
    struct drill_log_row *row = match_pending_frame(e, event->packet->qp, false);
    struct roce_pkt pkt;
    bool same;

    if (!row) {
        enum outcome_of_try outcome = wait_for(e, event, "packet");

        e->met = e->now;
        return outcome == TRY_FAILED && event->optional ? TRY_MET : outcome;
    }
    same = parse_row(row, &pkt) && drill_packet_compare(&e->ctx, event->packet, &pkt, &e->diff);
    if (event->optional && (!same || !in_time(e, event, DRILL_TIME_BASE + row->time))) {
        e->met = e->base;
        return TRY_MET;
    }
    if (!same) {
        mark_difference(row, event);
        match_fail(e, "%s: expected %s, actual %s; the device sent: %s", e->diff.field,
                   e->diff.expected, e->diff.actual, row->text);
        return add_doubts(e, event);
    }
    if (!in_time(e, event, DRILL_TIME_BASE + row->time)) {
        mark_difference(row, event);
        return TRY_FAILED;
    }
    e->met = DRILL_TIME_BASE + row->time;
    consume_frame(e, row, event->line);
    return TRY_MET;
}

static enum outcome_of_try try_acks(struct drill_engine *e, const struct script_event *event)
{
    for (;;) {
        struct drill_log_row *row = match_pending_frame(e, event->object, false);
        struct roce_pkt pkt;
        int32_t psn;

        if (!row)
            return wait_for(e, event, "acknowledgement");
        if (!parse_row(row, &pkt) || pkt.op->kind != ROCE_KIND_ACK || pkt.aeth.syndrome >> 5 != 0) {
            mark_difference(row, event);
            return match_fail(e, "expected an ACK; the device sent: %s", row->text);
        }
        psn = drill_packet_relative(&e->ctx, event->object, true, &pkt);
        if (psn > event->psn) {
            mark_difference(row, event);
            return match_fail(e, "expected an ACK of at most PSN %+" PRId64 "; the device sent: %s",
                              event->psn, row->text);
        }
        if (psn == event->psn && event->has_number && pkt.aeth.msn != event->number) {
            mark_difference(row, event);
            snprintf(e->diff.field, sizeof(e->diff.field), "aeth.msn");
            snprintf(e->diff.expected, sizeof(e->diff.expected), "%" PRIu64, event->number);
            snprintf(e->diff.actual, sizeof(e->diff.actual), "%u", pkt.aeth.msn);
            return match_fail(e, "aeth.msn: expected %" PRIu64 ", actual %u; the device sent: %s",
                              event->number, pkt.aeth.msn, row->text);
        }
        e->met = DRILL_TIME_BASE + row->time;
        consume_frame(e, row, event->line);
        if (psn == event->psn)
            return in_time(e, event, e->met) ? TRY_MET : TRY_FAILED;
    }
}

/* Returns the outcome of a line that expects the absence of an event: "> nothing", "no comp" and so
 * on. `found`: text of such an event of the device, or NULL if there was none. */
static enum outcome_of_try try_none(struct drill_engine *e, const struct script_event *event,
                                    const char *found)
{
    if (event->time.whole) { /* the engine checks lines with the time "*" at the end of the drill */
        e->met = e->base;
        return TRY_MET;
    }
    if (found)
        return match_fail(e, "expected none; actual: %s", found);
    if (e->now < match_none_end(e, event))
        return TRY_PENDING;
    e->met = match_time_after(e->base, event->time.to);
    return TRY_MET;
}

static enum outcome_of_try try_silence(struct drill_engine *e, const struct script_event *event)
{
    struct drill_log_row *row =
        match_pending_frame(e, event->object, event->object == SCRIPT_NO_OBJECT);

    /* In real time, the engine may have received a frame that the device sent after the window of
     * this line ended. Such a frame does not count against the line. */
    if (row && row->time + DRILL_TIME_BASE > match_none_end(e, event))
        row = NULL;
    if (row && !event->time.whole)
        mark_difference(row, event);
    return try_none(e, event, row ? row->text : NULL);
}

static bool compare_comp(struct drill_engine *e, const struct script_event *event,
                         const struct drill_comp *comp)
{
    const struct script_options *o = &event->options;
    static uint8_t none;
    uint8_t *bytes = &none;
    bool same;

    if (comp->id != script_number(o, SCRIPT_OPT_ID, 0)) {
        match_fail(e, "id: expected %" PRIu64 ", actual %" PRIu64,
                   script_number(o, SCRIPT_OPT_ID, 0), comp->id);
        return false;
    }
    if (comp->status != event->code) {
        match_fail(e, "status: expected %s, actual %s", words_name(words_status, event->code),
                   words_name(words_status, comp->status));
        return false;
    }
    if (script_given(o, SCRIPT_OPT_LEN) && comp->len != script_number(o, SCRIPT_OPT_LEN, 0)) {
        match_fail(e, "len: expected %" PRIu64 ", actual %u", script_number(o, SCRIPT_OPT_LEN, 0),
                   comp->len);
        return false;
    }
    if (script_given(o, SCRIPT_OPT_IMM) &&
        (!comp->has_imm || comp->imm != script_number(o, SCRIPT_OPT_IMM, 0))) {
        match_fail(e, "imm: expected 0x%" PRIx64 ", actual %s0x%x",
                   script_number(o, SCRIPT_OPT_IMM, 0), comp->has_imm ? "" : "none ", comp->imm);
        return false;
    }
    if (script_given(o, SCRIPT_OPT_INVALIDATE) && !comp->has_invalidated) {
        match_fail(e, "expected a completion with an invalidated key, actual: without");
        return false;
    }
    if (script_given(o, SCRIPT_OPT_SOLICITED) && !comp->solicited) {
        match_fail(e, "expected a solicited completion, actual: unsolicited");
        return false;
    }
    if (script_given(o, SCRIPT_OPT_SRC_QP) &&
        comp->src_qp != script_number(o, SCRIPT_OPT_SRC_QP, 0)) {
        match_fail(e, "src-qp: expected %" PRIu64 ", actual %u",
                   script_number(o, SCRIPT_OPT_SRC_QP, 0), comp->src_qp);
        return false;
    }
    if (o->fill.kind == SCRIPT_FILL_NONE)
        return true;
    if (comp->len < comp->header || comp->len - comp->header > DRILL_CHECK_MAX) {
        match_fail(e, "a completion of %u bytes", comp->len);
        return false;
    }
    bytes = malloc(comp->len + 1);
    if (!bytes)
        return false;
    same = e->ops->read_recv(e->ctx.dev, comp, bytes, comp->len - comp->header);
    if (!same)
        match_fail(e, "the receive buffer is shorter than the %u bytes of the completion",
                   comp->len);
    else if (!drill_fill_compare(&e->ctx, &o->fill, 0, bytes, comp->len - comp->header, &e->diff)) {
        same = false;
        match_fail(e, "%s of the receive buffer: expected %s, actual %s", e->diff.field,
                   e->diff.expected, e->diff.actual);
    }
    free(bytes);
    return same;
}

static enum outcome_of_try try_comp(struct drill_engine *e, const struct script_event *event)
{
    struct drill_log_row none = {.line = 0}, *row;

    for (unsigned i = 0; i < e->comp_cnt; i++) {
        struct queued_comp queued = e->comp[i];

        if (queued.comp.object != event->object || queued.comp.recv != event->recv)
            continue;
        row = queued.row < e->result->log_cnt ? &e->result->log[queued.row] : &none;
        mark_difference(row, event);
        if (!compare_comp(e, event, &queued.comp) || !in_time(e, event, queued.time))
            return TRY_FAILED;
        row->mark = DRILL_MARK_OK;
        memmove(&e->comp[i], &e->comp[i + 1], (--e->comp_cnt - i) * sizeof(e->comp[0]));
        e->met = queued.time;
        return TRY_MET;
    }
    for (unsigned i = 0; i < e->comp_cnt; i++)
        if (e->comp[i].comp.object == event->object)
            return wait_for(e, event,
                            event->recv
                                ? "completion of a receive, but a completion of a request,"
                                : "completion of a request, but a completion of a receive,");
    return wait_for(e, event, "completion");
}

static enum outcome_of_try try_no_comp(struct drill_engine *e, const struct script_event *event)
{
    char text[80];

    for (unsigned i = 0; i < e->comp_cnt; i++)
        if (event->object == SCRIPT_NO_OBJECT || e->comp[i].comp.object == event->object) {
            snprintf(text, sizeof(text), "completion of id %" PRIu64 ", %s", e->comp[i].comp.id,
                     words_name(words_status, e->comp[i].comp.status));
            return try_none(e, event, text);
        }
    return try_none(e, event, NULL);
}

/* Marks the row of an event that the line expects. */
static void mark_met(struct drill_engine *e, size_t row, const struct script_event *event)
{
    if (row >= e->result->log_cnt)
        return;
    e->result->log[row].mark = DRILL_MARK_OK;
    e->result->log[row].line = event->line;
}

/* Fails a line that expects an asynchronous event, because its time window ended after the device
 * reported only another event. */
static enum outcome_of_try fail_async(struct drill_engine *e, const struct script_event *event,
                                      const struct queued_async *found)
{
    char expected[SCRIPT_NAME_MAX + 64], actual[SCRIPT_NAME_MAX + 64];
    struct strbuf x = strbuf_of(expected, sizeof(expected)), a = strbuf_of(actual, sizeof(actual));

    match_add_async(e, &(struct drill_async){.type = event->code, .object = event->object}, &x);
    match_add_async(e, &found->event, &a);
    if (found->row < e->result->log_cnt)
        mark_difference(&e->result->log[found->row], event);
    match_fail(e, "event: expected %s, actual %s", expected, actual);
    return add_doubts(e, event);
}

static enum outcome_of_try try_async(struct drill_engine *e, const struct script_event *event)
{
    const struct queued_async *other = NULL;
    enum outcome_of_try outcome;

    for (unsigned i = 0; i < e->async_cnt; i++) {
        if (e->async[i].event.type == event->code &&
            (event->object == SCRIPT_NO_OBJECT || e->async[i].event.object == event->object)) {
            mark_met(e, e->async[i].row, event);
            memmove(&e->async[i], &e->async[i + 1], (--e->async_cnt - i) * sizeof(e->async[0]));
            e->met = e->now;
            return TRY_MET;
        }
        if (!other && e->async[i].event.type != RNIC_EVENT_COMM_EST)
            other = &e->async[i];
    }
    outcome = wait_for(e, event, "asynchronous event");
    return outcome == TRY_FAILED && other ? fail_async(e, event, other) : outcome;
}

static enum outcome_of_try try_notified(struct drill_engine *e, const struct script_event *event)
{
    for (unsigned i = 0; i < e->notified_cnt; i++)
        if (e->notified[i] == event->object) {
            memmove(&e->notified[i], &e->notified[i + 1],
                    (--e->notified_cnt - i) * sizeof(e->notified[0]));
            e->met = e->now;
            return TRY_MET;
        }
    return wait_for(e, event, "notification");
}

static enum outcome_of_try try_cm_event(struct drill_engine *e, const struct script_event *event)
{
    if (e->cm_event_cnt == 0)
        return wait_for(e, event, "CM event");
    if (e->cm_event[0].type != event->code)
        return match_fail(e, "CM event: expected %s, actual %s",
                          words_name(words_cm_event, event->code),
                          words_name(words_cm_event, e->cm_event[0].type));
    mark_met(e, e->cm_event[0].row, event);
    memmove(e->cm_event, e->cm_event + 1, --e->cm_event_cnt * sizeof(e->cm_event[0]));
    e->met = e->now;
    return TRY_MET;
}

enum outcome_of_try match_event(struct drill_engine *e, const struct script_event *event)
{
    switch (event->kind) {
    case SCRIPT_EXPECT: return try_packet(e, event);
    case SCRIPT_ACKS: return try_acks(e, event);
    case SCRIPT_SILENCE: return try_silence(e, event);
    case SCRIPT_COMP: return try_comp(e, event);
    case SCRIPT_NO_COMP: return try_no_comp(e, event);
    case SCRIPT_ASYNC: return try_async(e, event);
    case SCRIPT_NO_ASYNC:
        return try_none(e, event,
                        e->async_cnt ? words_name(words_event, e->async[0].event.type) : NULL);
    case SCRIPT_NOTIFIED: return try_notified(e, event);
    case SCRIPT_NO_NOTIFY: return try_none(e, event, e->notified_cnt ? "a notification" : NULL);
    case SCRIPT_CM_EVENT: return try_cm_event(e, event);
    case SCRIPT_GONE:
        e->met = e->now;
        return e->gone ? TRY_MET : wait_for(e, event, "loss of the device");
    default: return match_fail(e, "not an expectation");
    }
}
