/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill engine: plays a script against a device and compares what the device does with the script.
 *
 *   1. drill_run() plays one script. It opens and closes the device itself.
 *   2. The result has the verdict, the first difference, and everything that happened in order.
 *   3. drill_result_free()
 *
 * Events run one after the other. Time counts from the event before: an action happens at the end
 * of its time, an expectation must be met within it. Packets of one QP are compared in the order in
 * which the device sent them; so are its completions.
 */
#ifndef REPLAY_DRILL_ENGINE_H
#define REPLAY_DRILL_ENGINE_H

#include "drill/packet.h"

enum drill_verdict {
    DRILL_PASS,
    DRILL_KNOWN, /* only listed deviations */
    DRILL_FAIL,
    DRILL_INCONCLUSIVE, /* the device went another way that the specification permits */
    DRILL_UNSUPPORTED,  /* the device lacks a capability that the drill needs */
    DRILL_VERDICT_CNT
};

/* Returns "pass", "known", "fail", "inconclusive" or "unsupported". */
const char *drill_verdict_name(enum drill_verdict verdict);

enum drill_mark { DRILL_MARK_NONE, DRILL_MARK_OK, DRILL_MARK_DIFF, DRILL_MARK_KNOWN };

/* Something that happened: a frame, or a line of text. */
struct drill_log_row {
    uint64_t time; /* ns since the start of the drill */
    bool frame;    /* `bytes` is a frame; otherwise only `text` is set */
    bool from_dut;
    uint8_t *bytes;
    size_t len;
    char *text;
    unsigned line; /* line of the script; 0: no line expected it */
    enum drill_mark mark;
    int qp;        /* QP of a frame of the DUT */
    bool consumed; /* a line expected it */
};

struct drill_result {
    enum drill_verdict verdict;
    unsigned line, column;       /* of the event that failed; 0: none */
    char problem[320];           /* one line of text; "" if there is none */
    struct drill_diff diff;      /* field "" if there is none */
    char rule[SCRIPT_NAME_MAX];  /* rule of the event that failed, or "" */
    char known[SCRIPT_NAME_MAX]; /* KNOWN: id of the deviation */
    struct drill_log_row *log;
    size_t log_cnt, log_cap;
    uint64_t end; /* virtual time of the end, ns */
};

/* Plays the script. `lacking`: names of capabilities, separated by commas, that the device is said
 * not to have, or NULL. Never fails: a device that cannot be made is a FAIL. */
void drill_run(const struct script *script, const struct drill_device_ops *ops, const char *lacking,
               struct drill_result *result);
void drill_result_free(struct drill_result *result);

#endif
