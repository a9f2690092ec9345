/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Matrix: the verdicts of several devices side by side, from their JSON reports. */
#ifndef REPLAY_DRILL_MATRIX_H
#define REPLAY_DRILL_MATRIX_H

#include <stdbool.h>
#include <stdio.h>
#include "base/error.h"

#define MATRIX_DEVICES_MAX 32u /* maximum number of columns */

/* Reads the reports, and prints a table with a row for each drill and a column for each device: as
 * HTML, or as Markdown. A cell has the worst verdict of the variants, and a link to the capture of
 * that variant if there is one. Returns 0, or -1 and an error. */
int matrix_print(FILE *out, char *const *paths, unsigned cnt, bool html, struct error *error);

#endif
