/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Annotate: the same capture once more, as pcapng, with the findings as comments at their frames.
 * The capture is read a second time for it; findings wait in a temporary file until then, so that
 * memory does not grow with them.
 */
#ifndef REPLAY_CHECK_ANNOTATE_H
#define REPLAY_CHECK_ANNOTATE_H

#include "base/error.h"
#include "capture/progress.h"
#include "flow/flow.h"

struct late_finding {
    struct roce_finding finding;
    uint32_t idx; /* keeps the order of findings of one frame */
};

struct annotator {
    FILE *out; /* the copy */
    const char *out_name;
    FILE *spool; /* findings in the order of their frames */
    /* Findings about an earlier frame than the one that was being looked at. */
    struct late_finding *late;
    uint32_t late_cnt, late_cap;
    uint64_t lost; /* that there was no room for */
};

/* Opens the file at `path`, which must live on, for the copy; "-" is standard output. What was
 * there is gone then: to be called once it is known that there is something to copy. 0, or -1 and a
 * error. */
int annotate_init(struct annotator *annotate, const char *path, struct error *error);
void annotate_free(struct annotator *annotate); /* fine after a zeroed one */

/* A finding, while frame `frame` is looked at. */
void annotate_add(struct annotator *annotate, const struct roce_finding *finding, uint32_t frame);

/* Reads `reader`, which is at its start, writes all its frames, and closes the copy. 0, or -1 and a
 * error. */
int annotate_write(struct annotator *annotate, struct capture_reader *reader,
                   struct progress *progress, struct error *error);

/*
 * A copy of standard input in a temporary file, for it can be read only once. Sets *path to its
 * name, to be unlinked and freed by the caller. 0, or -1 and an error.
 */
int annotate_copy_stdin(char **path, struct error *error);

#endif
