/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Drill engine: plays a script against a device, and compares the behaviour of the device with the
 * script.
 *
 *   1. drill_run() plays one script. It opens the device before and closes it after.
 *   2. The result has the verdict, the first difference, and the log of all frames and events in
 *      order.
 *   3. drill_result_free()
 *
 * Events run one after the other. Times count from the previous event. An action (a packet to the
 * device, or a verb) happens at the end of its time window. An expected packet or completion must
 * occur within its window. Packets of one QP are compared in the order in which the device sent
 * them, and completions in the order of the CQ.
 */
#ifndef REPLAY_DRILL_ENGINE_H
#define REPLAY_DRILL_ENGINE_H

#include "drill/packet.h"

enum drill_verdict {
    DRILL_PASS,
    DRILL_KNOWN, /* the device deviated from the drill only in ways that the drill lists as known
                  * deviations */
    DRILL_FAIL,
    DRILL_INCONCLUSIVE, /* the specification permits the behaviour of the device, but the drill
                         * has no lines to continue after it */
    DRILL_UNSUPPORTED,  /* the device lacks a capability that the drill needs */
    DRILL_VERDICT_CNT
};

/* Returns "pass", "known", "fail", "inconclusive" or "unsupported". */
const char *drill_verdict_name(enum drill_verdict verdict);

enum drill_mark { DRILL_MARK_NONE, DRILL_MARK_OK, DRILL_MARK_DIFF, DRILL_MARK_KNOWN };

/* Row of the log: a frame, or a line of text. */
struct drill_log_row {
    uint64_t time; /* ns since the start of the drill */
    bool frame;    /* `bytes` is a frame; otherwise only `text` is set */
    bool from_dut;
    bool held; /* the row has no frame or event: it shows that a line such as "check" or "> nothing"
                  was fulfilled */
    uint8_t *bytes;
    size_t len;
    char *text;
    unsigned line; /* line of the script to which this row belongs; 0: none */
    enum drill_mark mark;
    int qp;        /* index of the QP of a frame from the DUT */
    bool consumed; /* the frame matched a line of the script */
};

struct drill_result {
    enum drill_verdict verdict;
    unsigned line, column;       /* position of the event that determined the verdict; 0: none */
    char problem[320];           /* reason of the verdict, one line; "" if there is none */
    struct drill_diff diff;      /* difference; its `field` is "" if there is none */
    char rules[128];             /* rules of the event that failed, separated by blanks, or "" */
    char known[SCRIPT_NAME_MAX]; /* ids of the known deviations, separated by blanks */
    struct drill_log_row *log;
    size_t log_cnt, log_cap;
    uint64_t end;     /* time at which the drill ended, ns since its start */
    bool gone;        /* the connection to the device ended, or could not be established */
    bool not_opened;  /* the device could not be opened, so no line was played */
    bool unreachable; /* no script at all can be played on the device */
};

/* Plays the script. `config` is passed to open(). `lacking`: capabilities, separated by commas,
 * that the engine treats as missing; or NULL. Always returns a result: if the device cannot be
 * created, the verdict is DRILL_FAIL, or DRILL_UNSUPPORTED if the device lacks a capability. */
void drill_run(const struct script *script, const struct drill_device_ops *ops, const void *config,
               const char *lacking, struct drill_result *result);
void drill_result_free(struct drill_result *result);

#endif
