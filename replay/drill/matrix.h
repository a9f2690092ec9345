/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Matrix: compares the verdicts of several devices, from their JSON reports, in one table. */
#ifndef REPLAY_DRILL_MATRIX_H
#define REPLAY_DRILL_MATRIX_H

#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"

#define MATRIX_DEVICES_MAX 32u /* maximum number of columns */

/* Reads the reports, and prints a table with a row for each drill and a column for each device: as
 * HTML, or as Markdown. A cell has the worst verdict of all variants of the drill. If that variant
 * was recorded, the cell links to its capture. Returns 0, or -1 and an error. */
int matrix_print(FILE *out, char *const *paths, unsigned cnt, bool html, struct error *error);

#endif
