/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Line wrap: breaks the long lines of a report for a terminal, and indents the continuation lines.
 * Ladder diagrams, Wireshark filters and shell commands are not wrapped: they are aligned, or users
 * copy them. Used by colour.c.
 */
#ifndef REPLAY_UTIL_LINE_WRAP_H
#define REPLAY_UTIL_LINE_WRAP_H

#include <stddef.h>

/* Returns the number of columns of the terminal on standard output; 0 if it is not a terminal or
 * its size is unknown. */
unsigned line_wrap_columns(void);

/* Returns the indentation of the continuation lines of a line, or 0 if the line must stay whole. */
unsigned line_wrap_indent(const char *line, size_t len, unsigned columns);

/* Returns the index of the space at which to break the line, or `len` if the rest of the line fits.
 * The rest begins at index `from`, in column `used`. */
size_t line_wrap_break(const char *line, size_t len, size_t from, unsigned used, unsigned columns);

#endif
