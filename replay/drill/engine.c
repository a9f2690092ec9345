/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "drill/timeline.h"
#include "drill/words.h"
#include "util/strbuf.h"

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

/* ---- running the steps ----------------------------------------------------------------------- */

/* Adds an id to a list of ids, unless the list already contains the id. The ids are separated by
 * blanks. */
static void add_id(char *list, size_t cap, const char *id)
{
    size_t len = strlen(list);

    if (words_list_has(list, id, strlen(id)))
        return;
    snprintf(list + len, cap - len, "%s%s", len ? " " : "", id);
}

/* Ends the drill at the line of `event`: sets the line and the verdict of the result. If the device
 * had a known deviation before, the verdict remains "known", because the deviation may explain the
 * failure. */
static void stop_at(struct drill_engine *e, const struct script_step *step,
                    const struct script_event *event, enum drill_verdict verdict)
{
    struct drill_result *r = e->result;

    r->line = event->line;
    r->column = event->column;
    for (unsigned i = 0; step && i < step->rule_cnt; i++)
        add_id(r->rules, sizeof(r->rules), step->rule[i]);
    memcpy(r->problem, e->problem, sizeof(r->problem));
    r->diff = e->diff;
    if (r->verdict != DRILL_KNOWN)
        r->verdict = verdict;
}

/* Sets the times from which the time window of the next line counts: `base` for its upper bound,
 * `anchor` for its lower bound. In virtual time, both are the time of `event`. In real time, a
 * device may report an event late, for example a completion through the agent. So in real time,
 * `event` sets `anchor` only if its line has a delay or expects the absence of an event. */
static void set_base(struct drill_engine *e, const struct script_event *event, uint64_t time)
{
    /* In real time, the engine may see a packet before a completion although the device sent the
     * packet later. So keep `base` from decreasing. */
    e->base = e->ops->wait && time < e->base ? e->base : time;
    e->base_line = event->line;
    if (!e->ops->wait || event->time.from > 0 || match_is_none(event)) {
        e->anchor = e->base;
        e->anchor_line = event->line;
    }
    if (e->ops->wait && match_is_none(event) && e->now > e->base)
        e->base = e->now; /* the window of another alternative was longer than the window of
                           * `event`, so the engine has waited longer */
    e->stalled = e->ops->stalled ? e->ops->stalled(e->ctx.dev) : 0;
}

/* Sets the reason why the engine ends the drill early: the device failed, or does not stop
 * sending. */
static void note_endless(struct drill_engine *e)
{
    const char *failure = e->ops->failure ? e->ops->failure(e->ctx.dev) : NULL;

    match_fail(e, "%s", failure ? failure : "the device does not stop sending");
    e->unsupported = failure && device_is_unsupported(failure);
}

/* Adds the text of a line of the drill to the log. */
static void note_line(struct drill_engine *e, const struct script_event *event,
                      enum drill_mark mark)
{
    const char *text = e->script->line[event->line - 1] + event->column - 1;
    size_t rows = e->result->log_cnt;
    int len = (int)strcspn(text, "#[");

    while (len > 0 && text[len - 1] == ' ')
        len--;
    timeline_text(e, event->line, "%.*s", len, text);
    if (e->result->log_cnt > rows) {
        e->result->log[rows].mark = mark;
        e->result->log[rows].held = mark != DRILL_MARK_NONE;
    }
}

/* Returns whether the line compares a value that the engine reads from the device. */
static bool is_check(const struct script_event *event)
{
    return event->kind == SCRIPT_MEMORY || event->kind == SCRIPT_STATE ||
           event->kind == SCRIPT_COUNTER;
}

/* Ends the step, because the behaviour of the device matched the alternative `event`. Returns false
 * if the drill also ends. */
static bool take_alternative(struct drill_engine *e, const struct script_step *step,
                             const struct script_event *event)
{
    set_base(e, event, e->met);
    if (is_check(event) || event->kind == SCRIPT_NOTIFIED ||
        (match_is_none(event) && !event->time.whole))
        note_line(e, event, *event->known ? DRILL_MARK_KNOWN : DRILL_MARK_OK);
    if (event->inconclusive) {
        snprintf(e->problem, sizeof(e->problem),
                 "the specification permits this behaviour of the device, but the drill has no "
                 "lines for the events after it");
        stop_at(e, step, event, DRILL_INCONCLUSIVE);
        return false;
    }
    if (*event->known) {
        e->result->verdict = DRILL_KNOWN;
        e->result->line = event->line;
        e->result->column = event->column;
        add_id(e->result->known, sizeof(e->result->known), event->known);
    }
    if (event->kind == SCRIPT_GONE) {
        note_endless(e);
        stop_at(e, step, event, DRILL_KNOWN);
        return false;
    }
    return true;
}

/* An alternative of the step may have a time window that begins after the window of the first
 * alternative has ended. Returns the earliest lower bound of such windows (match_least_delay()), in
 * ns after the previous event. Returns 0 if there is none. */
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

/* Waits until the device's behaviour matches one alternative of the step, or until all have failed.
 * An alternative "> nothing" matches only if no other alternative can match any more. Returns false
 * if the drill ends here. */
static bool run_expectation(struct drill_engine *e, const struct script_step *step)
{
    const struct script_event *main = &e->script->event[step->first];
    char problem[sizeof(e->problem)];
    struct drill_diff diff;

    e->later = e->ops->wait ? later_window(e, step) : 0;
    e->alternatives = step->cnt > 1;
    timeline_drain(e);
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
        timeline_step(e, next);
    }
    memcpy(e->problem, problem, sizeof(problem));
    e->diff = diff;
    if (timeline_failed(e))
        note_endless(e);
    timeline_text(e, main->line, "%s", e->problem);
    stop_at(e, step, main, e->unsupported ? DRILL_UNSUPPORTED : DRILL_FAIL);
    return false;
}

static void send_packet(struct drill_engine *e, const struct script_event *event)
{
    uint8_t buf[20000];
    size_t len = drill_packet_build(&e->ctx, event->packet, buf, sizeof(buf));

    if (len == 0)
        return;
    timeline_sent(e, event, buf, len);
    e->ops->input(e->ctx.dev, buf, len, e->now);
}

static bool check_memory(struct drill_engine *e, const struct script_event *event)
{
    uint64_t len = script_number(&event->options, SCRIPT_OPT_LEN, 0);
    uint8_t *bytes;
    bool same;

    if (len > DRILL_CHECK_MAX) {
        match_fail(e, "a check line can compare at most %u bytes", DRILL_CHECK_MAX);
        return false;
    }
    bytes = malloc(len + 1);
    if (!bytes)
        return false;
    same = e->ops->read(e->ctx.dev, event->place.object, event->place.num, bytes, len);
    if (!same)
        match_fail(e, "the checked range is not inside the memory region");
    else if (!drill_fill_compare(&e->ctx, &event->options.fill, 0, bytes, len, &e->diff)) {
        same = false;
        match_fail(e, "%s: expected %s, actual %s", e->diff.field, e->diff.expected,
                   e->diff.actual);
    }
    free(bytes);
    return same;
}

static bool run_verb(struct drill_engine *e, const struct script_event *event)
{
    int rc;

    note_line(e, event, DRILL_MARK_NONE);
    rc = e->ops->verb(e->ctx.dev, event, e->now);
    timeline_drain(e);
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
        match_fail(e, "expected the call to fail with: %s; actual result: %s",
                   rnic_error_text(event->fails), rnic_error_text(rc));
    return false;
}

/* Checks memory, a state or a counter. Returns false and sets the reason if the value is not the
 * expected one. */
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

/* Called after the first alternative of an action failed. Returns another alternative that matches,
 * or NULL. The other alternative of a verb always matches, because it expects the opposite result.
 */
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

/* Performs an action, or checks a value, at the end of its time window. In real time, the device
 * may reach the value later. So the engine repeats the check until the value is right or the time
 * patience() has passed. Returns false if the drill ends here. */
static bool run_action(struct drill_engine *e, const struct script_step *step)
{
    const struct script_event *event = &e->script->event[step->first];
    uint64_t at = match_time_after(e->base, event->time.to);
    const struct script_event *other;
    bool done = true;

    timeline_until(e, at > e->now ? at : e->now);
    if (e->ops->clock)
        e->now = e->ops->clock(e->ctx.dev);
    if (e->ops->wait && e->now > at)
        e->late += e->now - at;
    set_base(e, event, at > e->now ? at : e->now);
    e->diff.field[0] = '\0';
    /* Sends nothing to a device that has failed. */
    switch (timeline_failed(e) ? SCRIPT_GONE : event->kind) {
    case SCRIPT_SEND:
        send_packet(e, event);
        timeline_drain(e);
        break;
    case SCRIPT_VERB: done = run_verb(e, event); break;
    case SCRIPT_MEMORY:
    case SCRIPT_STATE:
    case SCRIPT_COUNTER:
        done = check_value(e, event);
        while (!done && !e->endless && e->now < match_latest(e, event)) {
            timeline_step(e, match_latest(e, event));
            done = check_value(e, event);
        }
        break;
    default: break;
    }
    if (!timeline_failed(e) && done) {
        if (is_check(event))
            note_line(e, event, DRILL_MARK_OK);
        return true;
    }
    if (e->endless)
        note_endless(e);
    else if ((other = met_alternative(e, step)) != NULL)
        return take_alternative(e, step, other);
    timeline_text(e, event->line, "%s", e->problem);
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

/* ---- the end of a drill ---------------------------------------------------------------------- */

static unsigned frames_of(const struct drill_engine *e, int qp)
{
    unsigned cnt = 0;

    for (size_t i = 0; i < e->result->log_cnt; i++)
        cnt += e->result->log[i].frame && e->result->log[i].from_dut &&
               (qp == SCRIPT_NO_OBJECT || e->result->log[i].qp == qp);
    return cnt;
}

static unsigned comps_of(const struct drill_engine *e, int qp)
{
    return qp == SCRIPT_NO_OBJECT ? e->comp_total : e->comp_of[qp];
}

/* Checks the lines with the time "*". Returns false and fails the drill if the device did something
 * that one of these lines forbids. */
static bool check_whole_events(struct drill_engine *e)
{
    for (size_t i = 0; i < e->script->step_cnt; i++) {
        const struct script_event *event = &e->script->event[e->script->step[i].first];
        unsigned cnt = !event->time.whole               ? 0
                       : event->kind == SCRIPT_SILENCE  ? frames_of(e, event->object)
                       : event->kind == SCRIPT_NO_COMP  ? comps_of(e, event->object)
                       : event->kind == SCRIPT_NO_ASYNC ? e->async_total
                                                        : e->notified_total;

        if (cnt == 0) {
            if (event->time.whole)
                note_line(e, event, DRILL_MARK_OK);
            continue;
        }
        match_fail(e, "expected no such event in the whole drill, but %u occurred", cnt);
        stop_at(e, NULL, event, DRILL_FAIL);
        return false;
    }
    return true;
}

/* Fails the drill because of a packet, completion or event that no line expects. Marks its row of
 * the log. The result has no line, because all lines passed. The problem names the latest line
 * before the row. */
static void fail_unexpected(struct drill_engine *e, size_t row)
{
    struct drill_result *r = e->result;
    size_t before = row < r->log_cnt ? row : r->log_cnt;

    if (row < r->log_cnt)
        r->log[row].mark = DRILL_MARK_DIFF;
    while (before > 0 && r->log[before - 1].line == 0)
        before--;
    r->verdict = DRILL_FAIL;
    if (before > 0)
        snprintf(r->problem, sizeof(r->problem), "after line %u: %.290s", r->log[before - 1].line,
                 e->problem);
    else
        memcpy(r->problem, e->problem, sizeof(r->problem));
}

/* Returns false and fails the drill if the device did something that no line expects. */
static bool check_rest(struct drill_engine *e)
{
    const struct script_step *last = &e->script->step[e->script->step_cnt - 1];
    struct drill_log_row *row;
    char text[SCRIPT_NAME_MAX + 64];
    struct strbuf t = strbuf_of(text, sizeof(text));

    if (e->ops->wait)
        timeline_step(e, e->now);
    row = match_pending_frame(e, 0, true);
    e->diff.field[0] = '\0';
    if (timeline_failed(e)) {
        note_endless(e);
    } else if (row) {
        match_fail(e, "no line expects this packet of the device: %s", row->text);
        fail_unexpected(e, (size_t)(row - e->result->log));
        return false;
    } else if (e->comp_cnt) {
        match_fail(e, "no line expects this completion: id %" PRIu64 " %s", e->comp[0].comp.id,
                   words_name(words_status, e->comp[0].comp.status));
        fail_unexpected(e, e->comp[0].row);
        return false;
    } else if (e->async_cnt && e->async[0].event.type != RNIC_EVENT_COMM_EST) {
        match_add_async(e, &e->async[0].event, &t);
        match_fail(e, "no line expects this event; add a line: +0~+50ms  event %s", text);
        fail_unexpected(e, e->async[0].row);
        return false;
    } else if (e->ops->guards_intact && !e->ops->guards_intact(e->ctx.dev)) {
        match_fail(e, "the device wrote next to a memory region");
    } else {
        return true;
    }
    stop_at(e, NULL, &e->script->event[last->first],
            e->unsupported ? DRILL_UNSUPPORTED : DRILL_FAIL);
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

/* Returns whether the drill names a rule. A WARN finding about such a rule fails the drill. */
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
    snprintf(e->result->problem, sizeof(e->result->problem), "rocedrill check would report %s",
             e->oracle.first);
    snprintf(e->result->rules, sizeof(e->result->rules), "%.*s", (int)strcspn(e->oracle.first, ":"),
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

/* Returns half of the shortest ACK timeout of the drill's QPs, ns. If in real time this host or the
 * device was slower by more than this, a failure does not prove a fault of the device. */
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
        timeline_step(e, e->now);
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
            if (device_is_unsupported(error.text))
                result->verdict = DRILL_UNSUPPORTED;
            result->gone = result->not_opened = !device_is_unsupported(error.text);
        }
    }
    free(e->ctx.own);
    free(e->ctx.dut);
    free(e);
}
