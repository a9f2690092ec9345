/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Export: writes the results of a check in the formats of other tools. This is the main header of
 * replay/export; check_run calls its functions:
 *
 *   1. export_open() opens the outputs.
 *   2. For each capture: export_begin(), then check_capture() with the callbacks that
 *      export_watches() returns, then export_end().
 *   3. export_close() closes the outputs and reports a failed write.
 *
 * events.c writes JSON lines while the capture is read. csv.c, perfetto.c and psn_graph.c print the
 * numbers of the report's connections, which are known only at the end of the capture. So they keep
 * their data in temporary files (spool.h, perfetto.c), and write the outputs at the end of a
 * capture. Memory does not grow with the length of the capture.
 *
 * Ownership: the paths must live until export_close(). Errors: functions that take a `struct error`
 * set it; a failed write is reported once, by export_close().
 */
#ifndef REPLAY_EXPORT_EXPORT_H
#define REPLAY_EXPORT_EXPORT_H

#include "base/error.h"
#include "check/check.h"

/* Path of each output; NULL: this output is not wanted. */
struct export_paths {
    const char *events;   /* file of JSON lines; "-" is standard output */
    const char *csv;      /* folder of the tables */
    const char *perfetto; /* file of a Perfetto trace; "-" is standard output */
    const char *xplot;    /* folder of PSN graphs for xplot */
    const char *gnuplot;  /* folder of PSN graphs for gnuplot */
};

#define EXPORT_WATCHES 5u /* maximum number of elements that export_watches() writes */

struct export;

/* Opens the outputs and creates missing folders. Returns the export, or NULL and an error. */
struct export *export_open(const struct export_paths *paths, struct error *error);

/* Starts a capture. `name` is its name in the outputs, and must live until export_end(). */
void export_begin(struct export *export, const char *name);

/* Stores the callbacks of each output in `out`. Returns the number of elements stored. */
unsigned export_watches(struct export *export, struct check_watch out[EXPORT_WATCHES]);

/* Ends a capture. `report` is the complete report of check_capture(). */
void export_end(struct export *export, const struct check_report *report);

/* Closes the outputs and frees the export; NULL is allowed. Returns 0, or -1 and an error if an
 * output could not be written. */
int export_close(struct export *export, struct error *error);

#endif
