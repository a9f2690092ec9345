/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON of text that others chose, a file name say, which need not be UTF-8 as JSON must be.
 */
#ifndef REPLAY_UTIL_JSON_UTIL_H
#define REPLAY_UTIL_JSON_UTIL_H

#include <jansson.h>
#include <stdint.h>

/* `text`, or where it is no UTF-8 its ASCII with "?" for each other byte. NULL without memory. */
json_t *json_lossy_string(const char *text);

/* Returns the text of an address, "192.0.2.1" or "2001:db8::1". NULL without memory. */
json_t *json_addr(const uint8_t addr[16]);

#endif
