/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Match: compares one line of a script with the behaviour of the device. The engine (engine.c) owns
 * the state of a drill. A step of a script is an event and its alternatives. The engine calls
 * match_event() for each of them until one matches.
 */
#ifndef REPLAY_DRILL_MATCH_H
#define REPLAY_DRILL_MATCH_H

#include "drill/engine.h"
#include "sim/flow_oracle.h"
#include "util/strbuf.h"

#define DRILL_QUEUE_MAX 1024u  /* maximum number of stored events of each kind */
#define DRILL_CHECK_MAX 65536u /* maximum number of bytes of memory that one line compares */

/* Result of comparing the behaviour of the device with one alternative of a step. TRY_PENDING: the
 * expected event may still occur. TRY_MET: it has occurred. TRY_FAILED: it cannot occur any
 * more. */
enum outcome_of_try { TRY_PENDING, TRY_MET, TRY_FAILED };

/* Completion that has not matched a line yet, and the time at which the device reported it, ns. */
struct queued_comp {
    struct drill_comp comp;
    uint64_t time;
    size_t row; /* index of the completion's row in the log */
};

/* Asynchronous event that has not matched a line yet. */
struct queued_async {
    struct drill_async event;
    size_t row; /* index of the event's row in the log */
};

/* CM event that has not matched a line yet. */
struct queued_cm_event {
    unsigned type;
    size_t row; /* index of the event's row in the log */
};

/* State of a running drill. */
struct drill_engine {
    const struct script *script;
    const struct drill_device_ops *ops;
    struct drill_context ctx;
    struct drill_result *result;
    struct flow_oracle oracle;
    bool has_oracle;
    uint64_t now;
    uint64_t base;   /* time of the previous event, ns; upper bounds of time windows count from
                      * this time */
    uint64_t anchor; /* time from which the lower bounds of time windows count, ns */
    unsigned base_line, anchor_line; /* lines of the events at the times `base` and `anchor`; 0:
                                      * the start of the drill */
    uint64_t met;      /* time at which the device's behaviour matched the current event, ns */
    uint64_t patience; /* in real time, how late after its window an event may be, ns; 0 in
                        * virtual time */
    uint64_t later;    /* real time: earliest start of an alternative's window that begins after
                        * the window of the first alternative, ns after `base`; 0: none */
    bool alternatives; /* the current step has alternatives */
    uint64_t stalled;  /* sum of the times before `base` for which the device did not run, ns */
    uint64_t late;     /* sum of the delays with which the drill sent packets or called verbs in
                        * real time, ns */
    unsigned timers;
    bool gone; /* the connection to the device ended */
    bool endless;
    bool unsupported;     /* the device lacks a verb or an operation */
    size_t first_pending; /* index into the log. All earlier rows have matched a line or are not
                           * frames of the DUT */
    struct queued_comp comp[DRILL_QUEUE_MAX];
    unsigned comp_cnt, comp_total;
    unsigned comp_of[SCRIPT_OBJECTS_MAX]; /* number of completions of each QP */
    struct queued_async async[DRILL_QUEUE_MAX];
    unsigned async_cnt, async_total;
    int notified[DRILL_QUEUE_MAX];
    unsigned notified_cnt, notified_total;
    struct queued_cm_event cm_event[DRILL_QUEUE_MAX];
    unsigned cm_event_cnt;
    char problem[320]; /* reason why the first alternative of the step does not match */
    struct drill_diff diff;
};

/* Compares a line with the behaviour of the device. TRY_MET: sets `met`, and marks or removes the
 * events that the line expected, so that later lines ignore them. TRY_FAILED: sets `problem` and
 * `diff`. */
enum outcome_of_try match_event(struct drill_engine *e, const struct script_event *event);

/* Sets the reason why an alternative does not match. Returns TRY_FAILED. */
enum outcome_of_try match_fail(struct drill_engine *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Appends an asynchronous event, as a line of a drill names it: "last-wqe-reached Q". */
void match_add_async(const struct drill_engine *e, const struct drill_async *event,
                     struct strbuf *t);

/* Returns the first frame of the DUT on QP `qp` that has not matched a line, or NULL. If `qp` is
 * SCRIPT_NO_OBJECT, searches the frames of the CM. If `any` is true, ignores `qp`. */
struct drill_log_row *match_pending_frame(struct drill_engine *e, int qp, bool any);

/* Returns the lower bound of the event's time window, ns after `anchor`. In real time, the event
 * and the event at `anchor` may be delayed. So the bound is then lower by 12.5 %, and by at least 4
 * ms. */
uint64_t match_least_delay(const struct drill_engine *e, const struct script_event *event);

/* Returns the latest time at which an expected event may happen, including the permitted delay
 * (patience). */
uint64_t match_latest(const struct drill_engine *e, const struct script_event *event);

/* Returns whether the line expects the absence of an event: "> nothing", "no comp" and so on. */
bool match_is_none(const struct script_event *event);

/* Returns the end of the time window of a line that expects the absence of an event. In real time,
 * the window is longer by the time for which the device did not run. If the line has alternatives,
 * the window is also longer by up to 250 ms, so that the engine sees a late event that another
 * alternative expects. */
uint64_t match_none_end(const struct drill_engine *e, const struct script_event *event);

/* Returns base + delta, at most UINT64_MAX / 2. */
uint64_t match_time_after(uint64_t base, uint64_t delta);

#endif
