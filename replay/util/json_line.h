/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON line: writes one JSON object as one compact line, member by member. It builds no tree in
 * memory, so it is fast enough to write a line for each packet. Used by the JSON report of a check,
 * by --events and by the pages.
 *
 *   1. json_line_begin(),
 *   2. one json_line_...() for each member; json_line_open() and json_line_close() around a member
 *      that is an object or an array,
 *   3. json_line_end().
 */
#ifndef REPLAY_UTIL_JSON_LINE_H
#define REPLAY_UTIL_JSON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_LINE_DEPTH 8u /* maximum number of open objects and arrays in a line */

struct json_line {
    FILE *out;
    bool brief;       /* omit members that are 0, false, null or empty */
    bool first;       /* the innermost open object or array has no member yet */
    uint64_t written; /* bytes written to `out`; after json_line_end(), the length of the line */
    /* State for each open object or array. `at`: index in `buf` at which the text of the object or
     * array begins, or SIZE_MAX if it is written even if empty. `first`: value of json_line.first
     * before it was opened. */
    struct {
        size_t at;
        bool first;
    } open[JSON_LINE_DEPTH];
    unsigned depth;
    size_t len;
    char buf[8192]; /* text that is not yet written to `out` */
};

/* Begins a line and its object. `brief`: omit members that are 0, false, null or empty. Elements of
 * arrays are never omitted. */
void json_line_begin(struct json_line *line, FILE *out, bool brief);

/* Closes the object and ends the line. Returns 0, or -1 if the line could not be written. */
int json_line_end(struct json_line *line);

/* Open and close an object or array. `key` is NULL for an element of an array; a key must not need
 * escapes. `bracket`: '{' or '[' to open, '}' or ']' to close. */
void json_line_open(struct json_line *line, const char *key, char bracket);
void json_line_close(struct json_line *line, char bracket);

/* Writes null if `text` is NULL. If `text` is not valid UTF-8, "?" replaces each byte that is not
 * ASCII. */
void json_line_text(struct json_line *line, const char *key, const char *text);

/* Writes null if the number exceeds 2^63 - 1. */
void json_line_number(struct json_line *line, const char *key, uint64_t number);
void json_line_number_or_null(struct json_line *line, const char *key, uint64_t number,
                              uint64_t unknown);
void json_line_real(struct json_line *line, const char *key, double real);
void json_line_bool(struct json_line *line, const char *key, bool value);
void json_line_null(struct json_line *line, const char *key);

#endif
