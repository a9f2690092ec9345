/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Screen: the report for people, as much of it as a terminal shows at once. */
#ifndef REPLAY_CHECK_FIT_TERMINAL_H
#define REPLAY_CHECK_FIT_TERMINAL_H

#include "check/check_report.h"

struct screen {
    unsigned rows, columns;
};

/* The terminal behind `out`, 24 rows of 80 columns if it does not say; false if it is none. */
bool screen_of(FILE *out, struct screen *screen);

/* How many rows of so many columns a text in UTF-8 takes: long lines go on in the next row. */
unsigned screen_rows(const char *text, unsigned columns);

/*
 * The report, one row shorter than the screen for the prompt that follows, and `taken` rows shorter
 * for what else does. The head, one reason of a failure and the verdict are printed on any screen.
 */
void screen_print(FILE *out, const struct check_report *report, const struct screen *screen,
                  unsigned taken);

#endif
