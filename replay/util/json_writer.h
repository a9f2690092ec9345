/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * JSON writer: writes the members of one JSON object and the elements of its lists as they are
 * made, so that a report never exists as a whole in memory. Used by the reports of replay. The text
 * is the same as from json_dumpf() with JSON_INDENT(2). The caller writes the braces.
 */
#ifndef REPLAY_UTIL_JSON_WRITER_H
#define REPLAY_UTIL_JSON_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct json_writer {
    FILE *out;        /* NULL: the writer only calls `element` */
    unsigned indent;  /* number of spaces before each member */
    bool member;      /* the object has a member already */
    const char *list; /* key of the open list, or NULL */
    bool elements;    /* the open list has an element already */
    bool failed;      /* out of memory, or `out` cannot be written */
    /* Called for each element before it is written; may be NULL. `list` is the key of its list. */
    void (*element)(void *ctx, const char *list, const json_t *element);
    void *ctx;
};

/* Write a member, or an element of the open list. They release `value`. NULL means that the caller
 * is out of memory, and sets `failed`. */
void json_writer_member(struct json_writer *writer, const char *key, json_t *value);
void json_writer_element(struct json_writer *writer, json_t *value);

/* Writes what precedes an element of the open list: a comma except before the first element, and a
 * line break. The caller then writes the element. */
void json_writer_next(struct json_writer *writer);

/* Open and close the list `key`, a static string. */
void json_writer_list(struct json_writer *writer, const char *key);
void json_writer_list_end(struct json_writer *writer);

#endif
