/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Line wrap: breaks the long lines of a report for a terminal, so that the rest of a line is
 * indented, too. Ladder diagrams, Wireshark filters and shell commands are not wrapped: they are
 * aligned, or users copy them. Used by colour.c.
 */
#ifndef REPLAY_UTIL_LINE_WRAP_H
#define REPLAY_UTIL_LINE_WRAP_H

#include <stddef.h>

/* Returns the number of columns of the terminal on standard output; 0 if it is not a terminal or
 * its size is unknown. */
unsigned line_wrap_columns(void);

/* Returns the indentation of the rest of a line that is wrapped, or 0 if the line must stay whole.
 */
unsigned line_wrap_indent(const char *line, size_t len, unsigned columns);

/* Returns the index of the space at which a line is broken, or `len` if the rest fits. The rest
 * begins at `from`, in column `used`. */
size_t line_wrap_break(const char *line, size_t len, size_t from, unsigned used, unsigned columns);

#endif
