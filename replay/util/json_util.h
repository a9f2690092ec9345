/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON util: makes JSON strings from external text, addresses and bytes. External text, such as a
 * file name, can be invalid UTF-8, which JSON does not allow. Used by the JSON reports, the agent
 * and the drills.
 */
#ifndef REPLAY_UTIL_JSON_UTIL_H
#define REPLAY_UTIL_JSON_UTIL_H

#include <jansson.h>
#include <stdint.h>

/* Returns a JSON string of `text`. If `text` is not valid UTF-8, "?" replaces each byte that is not
 * ASCII. Returns NULL if out of memory. */
json_t *json_lossy_string(const char *text);

/* Returns an IP address as a JSON string, "192.0.2.1" or "2001:db8::1". Returns NULL if out of
 * memory. */
json_t *json_addr(const uint8_t addr[16]);

/* Returns bytes as a JSON string of hexadecimal digits. Returns NULL if out of memory. */
json_t *json_hex(const uint8_t *bytes, size_t len);

#endif
