/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work times: reads the times of send work requests that `rnic-run --timeline=FILE` wrote, and
 * finds the work request of each message of a capture of the same run. Used by page_data.c;
 * cmd_check.c reads the file. The times in both files are from the clock of the same machine.
 */
#ifndef REPLAY_PAGE_WORK_TIMES_H
#define REPLAY_PAGE_WORK_TIMES_H

#include "base/error.h"
#include "page/message_times.h"

/* Steps of a work request, in the order of the file's columns. */
enum work_step {
    STEP_POSTED,
    STEP_SEEN, /* the RNIC has read the work request from the send queue */
    STEP_FIRST,
    STEP_LAST,
    STEP_ACKED,
    STEP_CQE,
    STEP_POLLED,
    STEP_CNT
};

struct work_time {
    uint64_t at[STEP_CNT]; /* time of each step, ns since 1970; 0: the step did not occur */
    uint64_t bytes;
    uint32_t qpn;
};

struct work_times {
    struct work_time *work; /* array, sorted by QPN, then by the time of STEP_FIRST */
    size_t cnt, cap;
};

/* Reads the timeline file at `path`. Returns 0, or -1 and an error. Call work_times_free() in both
 * cases. */
int work_times_read(struct work_times *timeline, const char *path, struct error *error);
void work_times_free(struct work_times *timeline);

/* Returns the work request of QP `qpn` that was sent as `message`, or NULL. */
const struct work_time *work_times_find(const struct work_times *timeline, uint32_t qpn,
                                        const struct message_time *message);

#endif
