/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Colours of the text reports on a terminal. A command prints its report to the stream of
 * colour_open(). The stream colours words such as ERROR and FAIL, depending on their place in the
 * line, and wraps long lines (line_wrap.h). The text is not changed otherwise.
 *
 * A command adds COLOUR_OPTION to its table of options and passes the option to colour_option().
 */
#ifndef REPLAY_UTIL_COLOUR_H
#define REPLAY_UTIL_COLOUR_H

#include <stdbool.h>
#include <stdio.h>
#include "util/cli_opts.h"

#define COLOUR_KEY (CLI_LONG + 2000)

/* clang-format off */
#define COLOUR_OPTION                                                                              \
    {"color", COLOUR_KEY, "WHEN", "colour the text: auto (the default: on a terminal, unless NO_COLOR is set), always, never"}
/* clang-format on */

enum colour_mode { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

/* Reads the argument of the option. Returns 0, or EXIT_UNUSABLE after an error message. */
int colour_option(const char *command, const char *arg, enum colour_mode *mode);

/* Returns a stream that writes coloured text to standard output, or stdout itself if the stream
 * need not colour or wrap. `wrap`: wrap lines at the width of the terminal. The stream writes each
 * line as soon as it is complete. */
FILE *colour_open(enum colour_mode mode, bool wrap);

/* Writes the incomplete last line and frees the stream. Does nothing if `stream` is stdout.
 * ferror(stdout) shows whether a write failed. */
void colour_close(FILE *stream);

#endif
