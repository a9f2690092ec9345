/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Work times: the times of send work requests that `rnic-run --timeline=FILE` wrote, and the work
 * request of each message of a capture of the same run. Used by page_data.c; cmd_check.c reads the
 * file. The times of both have one clock, that of the machine.
 */
#ifndef REPLAY_PAGE_WORK_TIMES_H
#define REPLAY_PAGE_WORK_TIMES_H

#include "base/error.h"
#include "page/message_times.h"

/* Steps of a work request, in the order of the columns. */
enum work_step {
    STEP_POSTED,
    STEP_SEEN, /* the RNIC has the request */
    STEP_FIRST,
    STEP_LAST,
    STEP_ACKED,
    STEP_CQE,
    STEP_POLLED,
    STEP_CNT
};

struct work_time {
    uint64_t at[STEP_CNT]; /* ns since 1970; 0: no such step */
    uint64_t bytes;
    uint32_t qpn;
};

struct work_times {
    struct work_time *work; /* ascending by QPN, then by STEP_FIRST */
    size_t cnt, cap;
};

/* Reads the file. Returns 0, or -1 and an error. Call work_times_free() in both cases. */
int work_times_read(struct work_times *timeline, const char *path, struct error *error);
void work_times_free(struct work_times *timeline);

/* Returns the work request that QP `qpn` sent as `message`, or NULL. */
const struct work_time *work_times_find(const struct work_times *timeline, uint32_t qpn,
                                        const struct message_time *message);

#endif
