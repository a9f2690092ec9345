/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "device/rnic.h"
#include "drill/match.h"
#include "drill/words.h"
#include "util/keymap.h"
#include "util/strbuf.h"

/* Limits of one drill: number of frames of the device, and number of timer events. The engine stops
 * a device that exceeds a limit. */
#define FRAMES_MAX 20000u
#define TIMERS_MAX 200000u

const char *drill_verdict_name(enum drill_verdict verdict)
{
    static const char *const names[] = {"pass", "known", "fail", "inconclusive", "unsupported"};

    return names[verdict];
}

void drill_result_free(struct drill_result *result)
{
    for (size_t i = 0; i < result->log_cnt; i++) {
        free(result->log[i].bytes);
        free(result->log[i].text);
    }
    free(result->log);
    result->log = NULL;
    result->log_cnt = 0;
}

/* ---- log ------------------------------------------------------------------------------------- */

static struct drill_log_row *add_row(struct drill_engine *e)
{
    struct drill_result *r = e->result;
    struct drill_log_row *row;

    if (!VEC_GROW(r->log, r->log_cnt, r->log_cap))
        return NULL;
    row = &r->log[r->log_cnt++];
    *row = (struct drill_log_row){.time = e->now - DRILL_TIME_BASE, .qp = SCRIPT_NO_OBJECT};
    return row;
}

static struct drill_log_row *add_text(struct drill_engine *e, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static struct drill_log_row *add_text(struct drill_engine *e, unsigned line, const char *fmt, ...)
{
    struct drill_log_row *row = add_row(e);
    char text[320];
    va_list args;

    if (!row)
        return NULL;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    row->text = strdup(text);
    row->line = line;
    return row;
}

/* Adds a frame with its text to the log. Returns NULL if out of memory. */
static struct drill_log_row *add_frame(struct drill_engine *e, const uint8_t *bytes, size_t len,
                                       const char *text, bool from_dut)
{
    struct drill_log_row *row = add_row(e);

    if (!row)
        return NULL;
    row->frame = true;
    row->from_dut = from_dut;
    row->bytes = malloc(len + 1);
    row->text = strdup(text);
    if (!row->bytes || !row->text)
        return row;
    memcpy(row->bytes, bytes, len);
    row->len = len;
    return row;
}

/* Replaces the address and key of a packet in its text by the name of their region, as "va M+64".
 */
static void name_region(const struct drill_engine *e, const struct roce_pkt *pkt, struct strbuf *t)
{
    bool reth = roce_pkt_has(pkt, ROCE_HDR_RETH);
    uint64_t va = reth ? pkt->reth.va : pkt->atomiceth.va;
    uint32_t rkey = reth ? pkt->reth.rkey : pkt->atomiceth.rkey;
    char raw[64], rest[256], *at;

    if (!reth && !roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        return;
    snprintf(raw, sizeof(raw), "va 0x%" PRIx64 " rkey 0x%08x", va, rkey);
    at = strstr(t->p, raw);
    for (int i = 0; at && i < e->script->object_cnt; i++) {
        const struct script_object *o = &e->script->object[i];
        uint64_t start, len = script_number(&o->options, SCRIPT_OPT_LEN, 0);

        if ((o->kind != SCRIPT_MR && o->kind != SCRIPT_PEER && o->kind != SCRIPT_MW) ||
            e->ops->key(e->ctx.dev, i) != rkey)
            continue;
        start = e->ops->address(e->ctx.dev, i);
        if (va < start || (o->kind != SCRIPT_MW && va - start > len))
            continue;
        snprintf(rest, sizeof(rest), "%s", at + strlen(raw));
        t->len = (size_t)(at - t->p);
        *at = '\0';
        strbuf_addf(t, "va %s+%" PRIu64 "%s", o->name, va - start, rest);
        return;
    }
}

/* Writes a packet in the form of the ladder and of `rocedrill decode`, with a relative PSN if its
 * QP is known, and with the names of the drill's regions. */
static void packet_text(const struct drill_engine *e, int qp, bool from_dut,
                        const struct roce_pkt *pkt, struct strbuf *t)
{
    unsigned qps = 0;

    for (int i = 0; i < e->script->object_cnt; i++)
        qps += e->script->object[i].kind == SCRIPT_QP;
    if (qp == SCRIPT_NO_OBJECT) {
        packet_text_full(t, pkt);
        return;
    }
    if (qps > 1)
        strbuf_addf(t, "%s: ", e->script->object[qp].name);
    packet_text_short(t, pkt, drill_packet_relative(&e->ctx, qp, from_dut, pkt));
    name_region(e, pkt, t);
}

/* ---- the device ------------------------------------------------------------------------------ */

static void take_frame(struct drill_engine *e, const uint8_t *buf, size_t len)
{
    struct drill_log_row *row;
    struct roce_pkt pkt;
    char text[256];
    struct strbuf t = strbuf_of(text, sizeof(text));
    int qp = SCRIPT_NO_OBJECT;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0) {
        qp = drill_packet_seen(&e->ctx, &pkt);
        packet_text(e, qp, true, &pkt, &t);
    } else {
        strbuf_addf(&t, "a frame of %zu bytes that is not RoCE", len);
    }
    if (e->has_oracle)
        flow_oracle_feed(&e->oracle, true, buf, len, e->now);
    row = add_frame(e, buf, len, text, true);
    if (!row)
        return;
    row->qp = qp;
    if (e->ops->arrived)
        row->time = e->ops->arrived(e->ctx.dev) - DRILL_TIME_BASE;
}

/* Adds a completion to the log, in the notation of a drill line. */
static void comp_text(struct drill_engine *e, const struct drill_comp *comp)
{
    char text[48] = "";
    struct strbuf t = strbuf_of(text, sizeof(text));
    const char *qp = comp->object == SCRIPT_NO_OBJECT ? "?" : e->script->object[comp->object].name;

    if (comp->recv && comp->status == RNIC_WC_SUCCESS) {
        strbuf_addf(&t, " len %u", comp->len);
        if (comp->has_imm)
            strbuf_addf(&t, " imm 0x%x", comp->imm);
    }
    add_text(e, 0, "comp %s%s id %" PRIu64 " %s%s", comp->recv ? "recv " : "", qp, comp->id,
             words_name(words_status, comp->status), text);
}

/* Returns whether a text is the error of a device that lacks a capability. */
static bool is_unsupported(const char *text)
{
    return strncmp(text, DRILL_UNSUPPORTED_TEXT, strlen(DRILL_UNSUPPORTED_TEXT)) == 0;
}

/* Ends the drill if its device cannot go on. */
static void note_failure(struct drill_engine *e)
{
    const char *failure = e->ops->failure ? e->ops->failure(e->ctx.dev) : NULL;

    e->endless |= failure != NULL;
    e->gone |= failure && !is_unsupported(failure);
}

/* Fetches all frames, completions and events that the device has ready at this time. */
static void drain_device(struct drill_engine *e)
{
    uint8_t buf[ROCE_FRAME_MAX];
    struct queued_comp comp = {.time = e->now};
    struct drill_async async;
    unsigned type;
    size_t len;
    int cq;

    note_failure(e);
    while ((len = e->ops->output(e->ctx.dev, buf, sizeof(buf), e->now)) != 0) {
        if (e->result->log_cnt > FRAMES_MAX) {
            e->endless = true;
            return;
        }
        take_frame(e, buf, len);
    }
    while (e->ops->poll(e->ctx.dev, &comp.comp)) {
        comp_text(e, &comp.comp);
        comp.row = e->result->log_cnt ? e->result->log_cnt - 1 : 0;
        e->comp_total++;
        if (e->comp_cnt < DRILL_QUEUE_MAX)
            e->comp[e->comp_cnt++] = comp;
    }
    while (e->ops->async(e->ctx.dev, &async)) {
        add_text(e, 0, "event %s", words_name(words_event, async.type));
        e->async_total++;
        if (e->async_cnt < DRILL_QUEUE_MAX)
            e->async[e->async_cnt++] = async;
    }
    while (e->ops->notified && e->ops->notified(e->ctx.dev, &cq)) {
        e->notified_total++;
        if (e->notified_cnt < DRILL_QUEUE_MAX)
            e->notified[e->notified_cnt++] = cq;
    }
    while (e->ops->cm_event && e->ops->cm_event(e->ctx.dev, &type)) {
        add_text(e, 0, "cm-event %s", words_name(words_cm_event, type));
        if (e->cm_event_cnt < DRILL_QUEUE_MAX)
            e->cm_event[e->cm_event_cnt++] = type;
    }
}

/* Moves time to `to`, or to the next timer of the device if that is earlier. */
static void step_time(struct drill_engine *e, uint64_t to)
{
    uint64_t deadline = e->ops->deadline(e->ctx.dev);

    if (e->ops->wait) {
        e->now = e->ops->wait(e->ctx.dev, to);
        drain_device(e);
        return;
    }
    if (++e->timers > TIMERS_MAX)
        e->endless = true;
    if (deadline <= to) {
        e->now = deadline > e->now ? deadline : e->now;
        e->ops->expire(e->ctx.dev, e->now);
    } else {
        e->now = to;
    }
    drain_device(e);
}

static void run_until(struct drill_engine *e, uint64_t to)
{
    drain_device(e);
    while (!e->endless && (e->now < to || e->ops->deadline(e->ctx.dev) <= e->now))
        step_time(e, to);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Sets the verdict, and the line where the drill stopped. After a known deviation the verdict
 * remains "known", because the deviation explains the failure. */
static void stop_at(struct drill_engine *e, const struct script_step *step,
                    const struct script_event *event, enum drill_verdict verdict)
{
    struct drill_result *r = e->result;

    r->line = event->line;
    r->column = event->column;
    if (step && step->rule_cnt)
        memcpy(r->rule, step->rule[0], sizeof(r->rule));
    memcpy(r->problem, e->problem, sizeof(r->problem));
    r->diff = e->diff;
    if (r->verdict != DRILL_KNOWN)
        r->verdict = verdict;
}

/* Sets the time from which the next event counts. Lower bounds count from the same time in virtual
 * time. In real time, an event without a delay of its own may be late, for example a completion
 * that the agent reports. The next lower bound then counts from an earlier event. */
static void set_base(struct drill_engine *e, const struct script_event *event, uint64_t time)
{
    /* A completion may be seen after the packet that follows it. Real time never goes back. */
    e->base = e->ops->wait && time < e->base ? e->base : time;
    if (!e->ops->wait || event->time.from > 0 || match_is_none(event))
        e->anchor = e->base;
    if (e->ops->wait && match_is_none(event) && e->now > e->base)
        e->base = e->now; /* an alternative has a longer time window than its step */
    e->stalled = e->ops->stalled ? e->ops->stalled(e->ctx.dev) : 0;
}

/* Adds the id of a known deviation to those of the drill. */
static void add_known(struct drill_result *r, const char *id)
{
    size_t len = strlen(r->known);

    for (const char *at = r->known; (at = strstr(at, id)) != NULL; at += strlen(id))
        if ((at == r->known || at[-1] == ' ') && (at[strlen(id)] == ' ' || !at[strlen(id)]))
            return;
    snprintf(r->known + len, sizeof(r->known) - len, "%s%s", len ? " " : "", id);
}

/* Sets the reason for a drill that would never end. */
static void note_endless(struct drill_engine *e)
{
    const char *failure = e->ops->failure ? e->ops->failure(e->ctx.dev) : NULL;

    match_fail(e, "%s", failure ? failure : "the device does not stop sending");
    e->unsupported = failure && is_unsupported(failure);
}

/* Ends a step with the alternative that the device met. Returns false if the drill ends with this
 * alternative. */
static bool take_alternative(struct drill_engine *e, const struct script_step *step,
                             const struct script_event *event)
{
    set_base(e, event, e->met);
    if (event->inconclusive) {
        snprintf(e->problem, sizeof(e->problem),
                 "the device chose a behaviour that the specification permits and the drill does "
                 "not continue");
        stop_at(e, step, event, DRILL_INCONCLUSIVE);
        return false;
    }
    if (*event->known) {
        e->result->verdict = DRILL_KNOWN;
        e->result->line = event->line;
        add_known(e->result, event->known);
    }
    if (event->kind == SCRIPT_GONE) {
        note_endless(e);
        stop_at(e, step, event, DRILL_KNOWN);
        return false;
    }
    return true;
}

/* Returns the start of the window of an alternative whose window begins later than the window of
 * the step's main event. Returns 0 if there is no such alternative. */
static uint64_t later_window(const struct drill_engine *e, const struct script_step *step)
{
    const struct script_event *main = &e->script->event[step->first];
    uint64_t least = 0;

    for (unsigned i = 1; i < step->cnt; i++) {
        uint64_t low = match_least_delay(e, &main[i]);

        if (low > main->time.to && (least == 0 || low < least))
            least = low;
    }
    return least;
}

/* Waits until one alternative of the step is met, or all have failed. An alternative "> nothing" is
 * met only if no other alternative can be met. Returns false if the drill ends here. */
static bool run_expectation(struct drill_engine *e, const struct script_step *step)
{
    const struct script_event *main = &e->script->event[step->first];
    char problem[sizeof(e->problem)];
    struct drill_diff diff;

    e->later = e->ops->wait ? later_window(e, step) : 0;
    e->alternatives = step->cnt > 1;
    drain_device(e);
    for (;;) {
        const struct script_event *none = NULL;
        uint64_t next = UINT64_MAX, none_met = 0;
        bool pending = false;

        e->met = e->now;

        for (unsigned i = 0; i < step->cnt; i++) {
            const struct script_event *event = &main[i];
            uint64_t end = match_is_none(event) ? match_none_end(e, event) : match_latest(e, event);
            enum outcome_of_try outcome;

            e->diff.field[0] = '\0';
            outcome = match_event(e, event);
            if (outcome == TRY_MET && (i == 0 || !match_is_none(event)))
                return take_alternative(e, step, event);
            if (outcome == TRY_MET && !none) {
                none = event;
                none_met = e->met;
            }
            if (outcome == TRY_PENDING) {
                pending = true;
                next = end < next ? end : next;
            }
            if (i == 0) {
                memcpy(problem, outcome == TRY_FAILED ? e->problem : "",
                       outcome == TRY_FAILED ? sizeof(problem) : 1);
                diff = e->diff;
            }
        }
        if (none && !pending) {
            e->met = none_met;
            return take_alternative(e, step, none);
        }
        if (!pending || e->endless)
            break;
        step_time(e, next);
    }
    memcpy(e->problem, problem, sizeof(problem));
    e->diff = diff;
    if (e->endless)
        note_endless(e);
    add_text(e, main->line, "%s", e->problem);
    stop_at(e, step, main, e->unsupported ? DRILL_UNSUPPORTED : DRILL_FAIL);
    return false;
}

static void send_packet(struct drill_engine *e, const struct script_event *event)
{
    uint8_t buf[20000];
    size_t len = drill_packet_build(&e->ctx, event->packet, buf, sizeof(buf));
    struct drill_log_row *row;
    char text[256];
    struct strbuf t = strbuf_of(text, sizeof(text));
    struct roce_pkt pkt;

    if (len == 0)
        return;
    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, buf, len, len) == 0)
        packet_text(e, event->packet->qp, false, &pkt, &t);
    else
        strbuf_addf(&t, "a malformed frame of %zu bytes", len);
    row = add_frame(e, buf, len, text, false);
    if (row)
        row->line = event->line;
    if (e->has_oracle)
        flow_oracle_feed(&e->oracle, false, buf, len, e->now);
    e->ops->input(e->ctx.dev, buf, len, e->now);
}

static bool check_memory(struct drill_engine *e, const struct script_event *event)
{
    uint64_t len = script_number(&event->options, SCRIPT_OPT_LEN, 0);
    uint8_t *bytes;
    bool same;

    if (len > DRILL_CHECK_MAX) {
        match_fail(e, "check of more than %u bytes", DRILL_CHECK_MAX);
        return false;
    }
    bytes = malloc(len + 1);
    if (!bytes)
        return false;
    same = e->ops->read(e->ctx.dev, event->place.object, event->place.num, bytes, len);
    if (!same)
        match_fail(e, "the memory does not have these bytes");
    else if (!drill_fill_compare(&e->ctx, &event->options.fill, 0, bytes, len, &e->diff)) {
        same = false;
        match_fail(e, "%s: expected %s, actual %s", e->diff.field, e->diff.expected,
                   e->diff.actual);
    }
    free(bytes);
    return same;
}

/* Adds a verb of the DUT's program to the log, as the text of its line. */
static void note_verb(struct drill_engine *e, const struct script_event *event)
{
    const char *text = e->script->line[event->line - 1] + event->column - 1;
    int len = (int)strcspn(text, "#[");

    while (len > 0 && text[len - 1] == ' ')
        len--;
    add_text(e, event->line, "%.*s", len, text);
}

static bool run_verb(struct drill_engine *e, const struct script_event *event)
{
    int rc;

    note_verb(e, event);
    rc = e->ops->verb(e->ctx.dev, event, e->now);
    drain_device(e);
    e->unsupported = rc == DRILL_VERB_UNSUPPORTED;
    if (e->unsupported) {
        match_fail(e, "the device does not support this call");
        return false;
    }
    if (rc == event->fails)
        return true;
    if (event->fails == 0)
        match_fail(e, "the device refused the call: %s", rnic_error_text(rc));
    else
        match_fail(e, "expected that the call fails: %s, actual: %s", rnic_error_text(event->fails),
                   rnic_error_text(rc));
    return false;
}

/* Checks memory, a state or a counter. Returns false and sets the reason if it differs. */
static bool check_value(struct drill_engine *e, const struct script_event *event)
{
    uint64_t number = 0;
    unsigned state;

    switch (event->kind) {
    case SCRIPT_MEMORY: return check_memory(e, event);
    case SCRIPT_STATE:
        state = e->ops->state(e->ctx.dev, event->object);
        if (state == event->code)
            return true;
        match_fail(e, "state: expected %s, actual %s", words_name(words_state, event->code),
                   words_name(words_state, state));
        return false;
    default:
        if (e->ops->counter && e->ops->counter(e->ctx.dev, event->word, &number) &&
            number == event->number)
            return true;
        match_fail(e, "%s: expected %" PRIu64 ", actual %" PRIu64, event->word, event->number,
                   number);
        return false;
    }
}

/* Returns the alternative of an action that is met, or NULL. An alternative of a verb is met if the
 * verb has the other result. */
static const struct script_event *met_alternative(struct drill_engine *e,
                                                  const struct script_step *step)
{
    char problem[sizeof(e->problem)];
    struct drill_diff diff = e->diff;

    memcpy(problem, e->problem, sizeof(problem));
    for (unsigned i = 1; i < step->cnt && !e->unsupported; i++) {
        const struct script_event *event = &e->script->event[step->first + i];

        if (event->kind == SCRIPT_VERB || check_value(e, event))
            return event;
    }
    memcpy(e->problem, problem, sizeof(problem));
    e->diff = diff;
    return NULL;
}

/* Performs an action, or checks a state, at the end of its time window. In real time, the engine
 * checks a wrong state again until the patience ends, because the device may still work. Returns
 * false if the drill ends here. */
static bool run_action(struct drill_engine *e, const struct script_step *step)
{
    const struct script_event *event = &e->script->event[step->first];
    uint64_t at = match_time_after(e->base, event->time.to);
    const struct script_event *other;
    bool done = true;

    run_until(e, at > e->now ? at : e->now);
    if (e->ops->clock)
        e->now = e->ops->clock(e->ctx.dev);
    if (e->ops->wait && e->now > at)
        e->late += e->now - at;
    set_base(e, event, at > e->now ? at : e->now);
    e->diff.field[0] = '\0';
    switch (event->kind) {
    case SCRIPT_SEND:
        send_packet(e, event);
        drain_device(e);
        break;
    case SCRIPT_VERB: done = run_verb(e, event); break;
    case SCRIPT_MEMORY:
    case SCRIPT_STATE:
    case SCRIPT_COUNTER:
        done = check_value(e, event);
        while (!done && !e->endless && e->now < match_latest(e, event)) {
            step_time(e, match_latest(e, event));
            done = check_value(e, event);
        }
        break;
    default: break;
    }
    if (done && !e->endless)
        return true;
    if (e->endless)
        note_endless(e);
    else if ((other = met_alternative(e, step)) != NULL)
        return take_alternative(e, step, other);
    add_text(e, event->line, "%s", e->problem);
    stop_at(e, step, event, e->unsupported ? DRILL_UNSUPPORTED : DRILL_FAIL);
    return false;
}

static bool run_step(struct drill_engine *e, const struct script_step *step)
{
    e->later = 0;
    switch (e->script->event[step->first].kind) {
    case SCRIPT_SEND:
    case SCRIPT_VERB:
    case SCRIPT_MEMORY:
    case SCRIPT_STATE:
    case SCRIPT_COUNTER: return run_action(e, step);
    default: return run_expectation(e, step);
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

static unsigned frames_of(const struct drill_engine *e, int qp)
{
    unsigned cnt = 0;

    for (size_t i = 0; i < e->result->log_cnt; i++)
        cnt += e->result->log[i].frame && e->result->log[i].from_dut &&
               (qp == SCRIPT_NO_OBJECT || e->result->log[i].qp == qp);
    return cnt;
}

static bool check_whole_events(struct drill_engine *e)
{
    for (unsigned i = 0; i < e->whole_cnt; i++) {
        const struct script_event *event = e->whole[i];
        unsigned cnt = event->kind == SCRIPT_SILENCE    ? frames_of(e, event->object)
                       : event->kind == SCRIPT_NO_COMP  ? e->comp_total
                       : event->kind == SCRIPT_NO_ASYNC ? e->async_total
                                                        : e->notified_total;

        if (cnt == 0)
            continue;
        match_fail(e, "expected none in the whole drill, actual %u", cnt);
        stop_at(e, NULL, event, DRILL_FAIL);
        return false;
    }
    return true;
}

/* Returns false and fails the drill if the device did something that no line expects. */
static bool check_rest(struct drill_engine *e)
{
    const struct script_event *last =
        &e->script->event[e->script->step[e->script->step_cnt - 1].first];
    struct drill_log_row *row;

    if (e->ops->wait)
        step_time(e, e->now);
    row = match_pending_frame(e, 0, true);
    e->diff.field[0] = '\0';
    if (row) {
        row->mark = DRILL_MARK_DIFF;
        match_fail(e, "no line expects this packet of the device: %s", row->text);
    } else if (e->comp_cnt) {
        match_fail(e, "no line expects this completion: id %" PRIu64 " %s", e->comp[0].comp.id,
                   words_name(words_status, e->comp[0].comp.status));
    } else if (e->async_cnt && e->async[0].type != RNIC_EVENT_COMM_EST) {
        match_fail(e, "no line expects this event: %s", words_name(words_event, e->async[0].type));
    } else if (e->ops->guards_intact && !e->ops->guards_intact(e->ctx.dev)) {
        match_fail(e, "the device wrote next to a memory region");
    } else {
        return true;
    }
    stop_at(e, NULL, last, DRILL_FAIL);
    return false;
}

static bool ignores_rule(void *user, enum roce_rule rule)
{
    const struct script *script = user;

    for (unsigned i = 0; i < script->allow_cnt; i++)
        if (strcmp(script->allow[i], roce_rule_info(rule)->id) == 0)
            return true;
    return false;
}

/* A WARN finding about a rule that the drill names fails the drill. */
static bool names_rule(void *user, enum roce_rule rule)
{
    const struct script *script = user;

    for (unsigned i = 0; i < script->rule_cnt; i++)
        if (strcmp(script->rule[i], roce_rule_info(rule)->id) == 0)
            return true;
    return false;
}

static void judge_end(struct drill_engine *e)
{
    if (!e->has_oracle)
        return;
    flow_oracle_finish(&e->oracle);
    if (e->oracle.errors == 0 || e->result->verdict != DRILL_PASS)
        return;
    e->result->verdict = DRILL_FAIL;
    snprintf(e->result->problem, sizeof(e->result->problem), "the passive judge reports %s",
             e->oracle.first);
    snprintf(e->result->rule, sizeof(e->result->rule), "%.*s", (int)strcspn(e->oracle.first, ":"),
             e->oracle.first);
}

/* Returns the first capability that the script needs and the device lacks, or NULL. */
static const char *missing_need(const struct script *script, const struct drill_device_ops *ops,
                                const char *lacking)
{
    for (unsigned i = 0; i < script->need_cnt; i++) {
        const char *need = script->need[i], *at = lacking;
        size_t len = strlen(need);
        bool lacks = !ops->supports(need);

        for (; at && *at && !lacks; at += strcspn(at, ","), at += *at == ',')
            lacks = strcspn(at, ",") == len && strncmp(at, need, len) == 0;
        if (lacks)
            return need;
    }
    return NULL;
}

/* Returns the delay above which a failed drill in real time shows nothing, ns: half of the shortest
 * timeout of its QPs. */
static uint64_t permitted_delay(const struct script *script)
{
    uint64_t code = 18;

    for (int i = 0; i < script->object_cnt; i++) {
        const struct script_options *o = &script->object[i].options;
        uint64_t value = script_number(o, SCRIPT_OPT_TIMEOUT, 0);

        if (script->object[i].kind == SCRIPT_QP && value > 0 && value < code)
            code = value;
    }
    return (UINT64_C(4096) << code) / 2;
}

/* Changes the verdict "fail" of a drill in real time to "inconclusive" if this host or the device
 * was too slow for the drill. */
static void judge_delays(struct drill_engine *e)
{
    uint64_t stalled = e->ops->stalled ? e->ops->stalled(e->ctx.dev) : 0;
    uint64_t delay = e->late > stalled ? e->late : stalled;
    char text[32], problem[sizeof(e->result->problem)];
    struct strbuf t = strbuf_of(text, sizeof(text));

    if (!e->ops->wait || e->gone || e->result->verdict != DRILL_FAIL ||
        delay <= permitted_delay(e->script))
        return;
    strbuf_add_duration(&t, delay);
    memcpy(problem, e->result->problem, sizeof(problem));
    snprintf(e->result->problem, sizeof(e->result->problem), "%s were %s too slow: %.200s",
             delay == e->late ? "the packets of the drill" : "the replies of the device", text,
             problem);
    e->result->verdict = DRILL_INCONCLUSIVE;
}

static void run_script(struct drill_engine *e)
{
    bool on = true;

    e->now = e->base = e->anchor = DRILL_TIME_BASE;
    if (e->ops->wait) {
        e->patience = e->ops->patience(e->ctx.dev);
        step_time(e, e->now);
        e->base = e->anchor = e->now;
    }
    e->has_oracle = flow_oracle_init(&e->oracle);
    if (e->has_oracle) {
        e->oracle.ignores = ignores_rule;
        e->oracle.counts_warn = names_rule;
        e->oracle.user = (void *)(uintptr_t)e->script;
    }
    for (size_t i = 0; on && i < e->script->step_cnt; i++)
        on = run_step(e, &e->script->step[i]);
    if (on && e->result->verdict == DRILL_PASS)
        on = check_whole_events(e) && check_rest(e);
    judge_end(e);
    judge_delays(e);
    e->result->gone = e->gone;
    e->result->end = e->now - DRILL_TIME_BASE;
}

void drill_run(const struct script *script, const struct drill_device_ops *ops, const void *config,
               const char *lacking, struct drill_result *result)
{
    const char *need = missing_need(script, ops, lacking);
    struct drill_engine *e;
    struct error error = {""};

    memset(result, 0, sizeof(*result));
    if (need) {
        result->verdict = DRILL_UNSUPPORTED;
        snprintf(result->problem, sizeof(result->problem), "the device has no %s", need);
        return;
    }
    e = calloc(1, sizeof(*e));
    result->verdict = DRILL_FAIL;
    snprintf(result->problem, sizeof(result->problem), "no memory");
    if (!e)
        return;
    e->script = script;
    e->ops = ops;
    e->result = result;
    e->ctx = (struct drill_context){
        .script = script,
        .ops = ops,
        .net = drill_net_of((unsigned)script_variant_value(script, "ip", 4)),
        .own = calloc(SCRIPT_OBJECTS_MAX, sizeof(*e->ctx.own)),
        .dut = calloc(SCRIPT_OBJECTS_MAX, sizeof(*e->ctx.dut)),
    };
    if (e->ctx.own && e->ctx.dut) {
        e->ctx.dev = ops->open(config, script, &e->ctx.net, &result->unreachable, &error);
        if (e->ctx.dev) {
            result->verdict = DRILL_PASS;
            result->problem[0] = '\0';
            run_script(e);
            ops->close(e->ctx.dev);
        } else {
            snprintf(result->problem, sizeof(result->problem), "%.300s", error.text);
            if (is_unsupported(error.text))
                result->verdict = DRILL_UNSUPPORTED;
            result->gone = result->not_opened = !is_unsupported(error.text);
        }
    }
    free(e->ctx.own);
    free(e->ctx.dut);
    free(e);
}
