/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parser: parses the text of a drill into a struct script. */
#ifndef REPLAY_DRILL_PARSER_H
#define REPLAY_DRILL_PARSER_H

#include <stdio.h>
#include "base/error.h"
#include "drill/script.h"

#define PARSER_TEXT_MAX (1u << 20) /* maximum length of a drill, bytes */

/* Parses `len` bytes of text with the values of one combination of variants. `variant`: index of
 * the combination, less than script_combinations(). Returns 0, or -1 and an error
 * "PATH:LINE:COLUMN: PROBLEM". In both cases, the caller frees *out. */
int script_parse(struct script *out, const char *path, const char *text, size_t len,
                 unsigned variant, struct error *error);

/* Reads a file and parses it as script_parse() does. Returns 0, or -1 and an error. */
int script_read(struct script *out, const char *path, unsigned variant, struct error *error);

/* Grammar of the language, printed for users. */
extern const char script_grammar[];

/* Prints the options that each kind of object accepts. */
void script_print_options(FILE *out);

/* Prints all words of the language: verbs with their options, opcodes, fields, CM messages, and the
 * names of statuses, events, errors and so on. */
void script_print_words(FILE *out);

#endif
