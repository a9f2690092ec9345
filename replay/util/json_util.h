/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON util: JSON strings of text from outside, for example of file names, which may be invalid
 * UTF-8 while JSON must be valid. Used by the JSON reports.
 */
#ifndef REPLAY_UTIL_JSON_UTIL_H
#define REPLAY_UTIL_JSON_UTIL_H

#include <jansson.h>
#include <stdint.h>

/* Returns a string of `text`. If that is not UTF-8, "?" replaces each byte that is not ASCII. NULL
 * without memory. */
json_t *json_lossy_string(const char *text);

/* Returns the text of an address, "192.0.2.1" or "2001:db8::1". NULL without memory. */
json_t *json_addr(const uint8_t addr[16]);

#endif
