/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Parse event: reads a line that begins with a time (an event), and the lines that begin with "or"
 * or "else" after it (its alternatives). */
#ifndef REPLAY_DRILL_PARSE_EVENT_H
#define REPLAY_DRILL_PARSE_EVENT_H

#include "drill/parse_value.h"

/* Reads a line that begins with a time, and adds a step to the script. */
bool parse_event(struct parser *p);

/* Reads the rest of a line that begins with "or" or "else", and adds an alternative to the last
 * step. */
bool parse_alternative(struct parser *p);

/* Prints each verb with its options. */
void parse_print_verbs(FILE *out);

#endif
