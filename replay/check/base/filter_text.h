/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Prints display filters of Wireshark in the text report. The filters use the fields of the plugin.
 */
#ifndef REPLAY_CHECK_BASE_FILTER_TEXT_H
#define REPLAY_CHECK_BASE_FILTER_TEXT_H

#include <stdio.h>

/* Prints a line with Wireshark's display filter for the packets that match `scope` and `filter`.
 * `scope` is a filter or empty. */
void filter_text_print(FILE *out, const char *scope, const char *filter);

#endif
