/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Option error: the text of an error that getopt_long() detected, with the option that a mistyped
 * one resembles. */
#ifndef RNIC_BASE_OPTION_ERROR_H
#define RNIC_BASE_OPTION_ERROR_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes the text of an error. Call it directly after getopt_long() returned `c`: ':' if an
 * argument is missing, '?' for any other error. So the string of letters must begin with ':' (after
 * a '+'), and opterr must be 0. `longs` is the table of long options; it must have a row for each
 * letter. Returns whether the text should be followed by a reference to the help, because the
 * option is unknown or ambiguous and resembles no other. */
bool option_error(char *text, size_t size, int c, char *const *argv, const struct option *longs);

#endif
