/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/work_times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/keymap.h"

/* Maximum time from the moment at which the RNIC builds a packet to the capture of the packet, ns.
 */
#define CAPTURE_DELAY UINT64_C(1000000000)

/* ---- reading the file --------------------------------------------------------------------------
 */

/* Parses a time in microseconds, which may have a fraction. Sets *ns. Returns false for other
 * text. */
static bool parse_us(const char *text, uint64_t *ns)
{
    char *end;
    double us = strtod(text, &end);

    if (end == text || *end || !(us >= 0 && us < 1e15))
        return false;
    *ns = (uint64_t)(us * 1000 + 0.5);
    return true;
}

/* Parses one row of the file, which describes one work request. `start`: time of the first posting
 * in the file, ns since 1970. Returns false for a malformed row. */
static bool parse_row(char *line, uint64_t start, struct work_time *work)
{
    enum { QPN = 1, BYTES = 4, POSTED = 7, COLUMNS = POSTED + STEP_CNT };
    char *column[COLUMNS], *save = NULL, *word = strtok_r(line, " \n", &save);
    uint64_t us;

    for (unsigned i = 0; i < COLUMNS; i++, word = strtok_r(NULL, " \n", &save))
        if (!(column[i] = word))
            return false;
    if (word || !parse_us(column[POSTED], &us))
        return false;
    *work = (struct work_time){.at[STEP_POSTED] = start + us,
                               .bytes = strtoull(column[BYTES], NULL, 10),
                               .qpn = (uint32_t)strtoul(column[QPN], NULL, 16)};
    for (unsigned i = 1; i < STEP_CNT; i++) {
        if (strcmp(column[POSTED + i], "-") == 0)
            continue;
        if (!parse_us(column[POSTED + i], &us))
            return false;
        work->at[i] = work->at[STEP_POSTED] + us;
    }
    return true;
}

static int compare_work(const void *a, const void *b)
{
    const struct work_time *x = a, *y = b;

    if (x->qpn != y->qpn)
        return x->qpn < y->qpn ? -1 : 1;
    return (x->at[STEP_FIRST] > y->at[STEP_FIRST]) - (x->at[STEP_FIRST] < y->at[STEP_FIRST]);
}

static int read_rows(struct work_times *timeline, FILE *in, const char *path, struct error *error)
{
    uint64_t seconds = 0, ns = 0;
    struct work_time work;
    char line[512];

    if (!fgets(line, sizeof(line), in) || !strstr(line, "at UNIX time ") ||
        sscanf(strstr(line, "at UNIX time "), "at UNIX time %" SCNu64 ".%9" SCNu64, &seconds,
               &ns) != 2)
        return error_set(error, "%s: not a file of rnic-run --timeline", path);
    for (unsigned number = 2; fgets(line, sizeof(line), in); number++) {
        if (number == 2) /* line 2 has the titles of the columns */
            continue;
        if (!parse_row(line, seconds * UINT64_C(1000000000) + ns, &work))
            return error_set(error, "%s: line %u: not a row of rnic-run --timeline", path, number);
        if (!work.at[STEP_FIRST])
            continue; /* the work request was never sent */
        if (!VEC_GROW(timeline->work, timeline->cnt, timeline->cap))
            return error_set(error, "%s: no memory", path);
        timeline->work[timeline->cnt++] = work;
    }
    qsort(timeline->work, timeline->cnt, sizeof(*timeline->work), compare_work);
    return 0;
}

int work_times_read(struct work_times *timeline, const char *path, struct error *error)
{
    FILE *in = fopen(path, "re");
    int rc;

    *timeline = (struct work_times){0};
    if (!in)
        return error_set(error, "%s: %s", path, strerror(errno));
    rc = read_rows(timeline, in, path, error);
    if (rc == 0 && ferror(in))
        rc = error_set(error, "%s: cannot be read", path);
    fclose(in);
    return rc;
}

void work_times_free(struct work_times *timeline)
{
    free(timeline->work);
    *timeline = (struct work_times){0};
}

/* ---- the work request of a message -------------------------------------------------------------
 */

static bool work_fits(const struct work_time *work, const struct message_time *message)
{
    return work->bytes == message->bytes && work->at[STEP_FIRST] <= message->first &&
           message->first - work->at[STEP_FIRST] < CAPTURE_DELAY &&
           (!work->at[STEP_ACKED] || work->at[STEP_ACKED] >= message->first);
}

/* Returns the index of the first work request of QP `qpn` that was sent after `time`. */
static size_t first_after(const struct work_times *timeline, uint32_t qpn, uint64_t time)
{
    size_t low = 0, high = timeline->cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct work_time *work = &timeline->work[mid];

        if (work->qpn < qpn || (work->qpn == qpn && work->at[STEP_FIRST] <= time))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Usually the n-th message of a QP belongs to the n-th work request of the QP. If that work request
 * does not match, because the capture lacks messages or the QPN was reused, searches the work
 * requests by time. */
const struct work_time *work_times_find(const struct work_times *timeline, uint32_t qpn,
                                        const struct message_time *message)
{
    size_t begin = first_after(timeline, qpn, 0), at = begin + message->number;

    if (at < timeline->cnt && timeline->work[at].qpn == qpn &&
        work_fits(&timeline->work[at], message))
        return &timeline->work[at];
    for (at = first_after(timeline, qpn, message->first); at > begin; at--)
        if (work_fits(&timeline->work[at - 1], message))
            return &timeline->work[at - 1];
        else if (message->first - timeline->work[at - 1].at[STEP_FIRST] >= CAPTURE_DELAY)
            break;
    return NULL;
}
