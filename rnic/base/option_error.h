/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Option error: the error message for a wrong command-line option that getopt_long() detected. If
 * the option is mistyped, the message suggests the right one. */
#ifndef RNIC_BASE_OPTION_ERROR_H
#define RNIC_BASE_OPTION_ERROR_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes an error message to `text`. Call it directly after getopt_long() returned `c`: ':' if an
 * argument is missing, '?' for any other error. For this, opterr must be 0, and the optstring of
 * getopt_long() must begin with ":" or "+:". `longs` is the table of long options; each short
 * option must be the `val` of one of them. Returns true if the option is unknown or ambiguous and
 * the message suggests no option. The caller should then refer to the help. */
bool option_error(char *text, size_t size, int c, char *const *argv, const struct option *longs);

#endif
