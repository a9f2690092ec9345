/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Annotate: writes a copy of a capture as pcapng. The findings about a frame become comments of
 * this frame.
 *
 * The program writes the copy in a second pass over the capture. Until then, a temporary file
 * contains the findings, so that the memory used does not depend on their number.
 */
#ifndef REPLAY_CHECK_ANNOTATE_H
#define REPLAY_CHECK_ANNOTATE_H

#include "base/error.h"
#include "capture/progress.h"
#include "flow/flow.h"

struct late_finding {
    struct roce_finding finding;
    uint32_t idx; /* index in annotator.late before sorting */
};

struct annotator {
    FILE *out; /* the copy of the capture */
    const char *out_name;
    FILE *spool; /* temporary file with all findings except those in `late`, in the order of
                  * their frames */
    /* Findings about a frame that were reported while a later frame was checked. */
    struct late_finding *late;
    uint32_t late_cnt, late_cap;
    uint64_t lost; /* number of findings dropped because `late` was full or memory ran out */
};

/* Opens the file at `path` for the copy of the capture; "-" is standard output. `path` must stay
 * valid until annotate_free(). Truncates an existing file, so call this function only after you
 * opened the capture successfully. Returns 0, or -1 and an error. */
int annotate_init(struct annotator *annotate, const char *path, struct error *error);
void annotate_free(struct annotator *annotate); /* Frees the annotator, which may be
                                                 * zero-initialised. */

/* Adds a finding that was reported while frame `frame` was checked. */
void annotate_add(struct annotator *annotate, const struct roce_finding *finding, uint32_t frame);

/* Reads all frames of `reader`, writes each with its findings to the copy, and closes the copy.
 * `reader` must be at the start of the capture. Returns 0, or -1 and an error. */
int annotate_write(struct annotator *annotate, struct capture_reader *reader,
                   struct progress *progress, struct error *error);

/*
 * Copies standard input to a temporary file, because standard input can be read only once. Sets
 * *path to the name of that file; the caller unlinks the file and frees the name. Returns 0, or
 * -1 and an error.
 */
int annotate_copy_stdin(char **path, struct error *error);

#endif
