/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Manifest: the file manifest.tsv of a folder of captures, with the expected result of each
 * capture. Fields are separated by tabs. The first line names the columns, in any order. Unknown
 * columns are ignored.
 *
 * - file: path of the capture, relative to the folder of the manifest. If no other capture has the
 *   same file name, the file name is enough.
 * - peer: implementation that was recorded. If there is a profile of that name, the known
 *   deviations of this implementation do not fail the replay.
 * - replay: expected verdict: PASS (the default), FAIL, SKIPPED or UNUSABLE
 *
 * Empty lines and lines that begin with # are ignored.
 */
#ifndef REPLAY_SUITE_MANIFEST_H
#define REPLAY_SUITE_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include "base/error.h"

/* The result of the replay of a capture, actual or expected. */
#define OUTCOMES(X)                                                                                \
    X(PASS, "PASS")                                                                                \
    X(FAIL, "FAIL")                                                                                \
    X(SKIPPED, "SKIPPED")                                                                          \
    X(UNUSABLE, "UNUSABLE")                                                                        \
    X(CRASHED, "CRASHED")

enum outcome {
#define X(NAME, name) OUTCOME_##NAME,
    OUTCOMES(X)
#undef X
        OUTCOME_CNT
};

const char *outcome_name(enum outcome outcome);

struct manifest_row {
    char *file;
    char *peer; /* recorded implementation, or NULL */
    enum outcome expected;
    unsigned line;
    bool used; /* a capture of the folder belongs to this row */
};

struct manifest {
    char *path; /* path of the manifest, or NULL if there is no manifest */
    struct manifest_row *row;
    size_t cnt;
    size_t cap;
};

/* Reads FOLDER/manifest.tsv. If the file does not exist, the manifest is empty. Returns 0, or -1
 * and an error if the file cannot be read or is malformed. The error names the file, line and
 * column of malformed text. Call manifest_free() in both cases. */
int manifest_read(struct manifest *manifest, const char *folder, struct error *error);
void manifest_free(struct manifest *manifest);

/* Returns the row of a capture and marks the row as used; NULL if there is no row. `path` is
 * relative to the folder of the manifest. */
const struct manifest_row *manifest_find(struct manifest *manifest, const char *path);

#endif
