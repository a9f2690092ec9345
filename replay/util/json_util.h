/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON of text that others chose, a file name say, which need not be UTF-8 as JSON must be.
 */
#ifndef REPLAY_UTIL_JSON_UTIL_H
#define REPLAY_UTIL_JSON_UTIL_H

#include <jansson.h>

/* `text`, or where it is no UTF-8 its ASCII with "?" for each other byte. NULL without memory. */
json_t *json_lossy_string(const char *text);

#endif
