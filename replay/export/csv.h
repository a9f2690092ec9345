/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CSV: the tables connections.csv, operations.csv and findings.csv in one folder. The first line of
 * each table names the columns. The tables have the same connection numbers as the connection lines
 * of check --json.
 */
#ifndef REPLAY_EXPORT_CSV_H
#define REPLAY_EXPORT_CSV_H

#include <stdio.h>
#include "base/error.h"
#include "check/check.h"
#include "export/spool.h"

enum csv_table { CSV_CONNECTIONS, CSV_OPERATIONS, CSV_FINDINGS, CSV_TABLES };

struct csv {
    FILE *table[CSV_TABLES];
    /* Rows of operations and findings. They are kept until the end of the capture, because
     * connection numbers may change until then. */
    struct spool done, finding;
    const char *name; /* name of the capture */
};

/* Opens the tables in an existing folder and writes their first lines. Returns 0, or -1 and an
 * error. */
int csv_open(struct csv *csv, const char *folder, struct error *error);
void csv_begin(struct csv *csv, const char *name);
struct check_watch csv_watch(struct csv *csv);

/* Closes the tables. Returns 0, or -1 if a row could not be written. */
int csv_close(struct csv *csv);

#endif
