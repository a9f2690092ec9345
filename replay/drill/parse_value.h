/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parse value: numbers, times, places in memory, names of objects, bytes and options of a drill.
 * Used by the other parsers of this room. Each function returns false after a problem, which is
 * then in the lexer's error.
 */
#ifndef REPLAY_DRILL_PARSE_VALUE_H
#define REPLAY_DRILL_PARSE_VALUE_H

#include "drill/lexer.h"
#include "drill/script.h"

#define PARSE_LETS_MAX 32

struct parser {
    struct lexer lexer;
    struct script *script;
    struct {
        char name[SCRIPT_NAME_MAX];
        uint64_t value;
    } let[PARSE_LETS_MAX];
    unsigned let_cnt;
};

/* Names of `cnt` words for a message: "a, b or c". Returns `buf`. */
const char *parse_word_list(const char *const *words, unsigned cnt, char *buf, size_t cap);

/* A name of at most SCRIPT_NAME_MAX - 1 characters. `what` is for the message. */
bool parse_name(struct parser *p, const char *what, char *out);

/* NUMBER, $VARIANT, the name of a let, timeout(N), rnr(N), or (EXPRESSION). */
bool parse_number(struct parser *p, const char *what, uint64_t max, uint64_t *out);

/* A duration: a number and one of ns us ms s or the name of a let, or the name of a let. */
bool parse_duration(struct parser *p, uint64_t *out);

/* TIME of an event. */
bool parse_time(struct parser *p, struct script_time *out);

/* Index of the object that the token names, or SCRIPT_NO_OBJECT; does not move. */
int parse_find_object(const struct parser *p);

/* The name of an object of this kind. */
bool parse_object(struct parser *p, enum script_object_kind kind, int *out);
const char *parse_object_kind_name(enum script_object_kind kind);

/* NAME, NAME+OFFSET or a number. `memory`: only an MR or peer memory may be named. */
bool parse_place(struct parser *p, const char *what, bool memory, struct script_value *out);

/* Bytes after `fill` or `data`, which the caller has read. */
bool parse_fill(struct parser *p, struct script_fill *out);
bool parse_data(struct parser *p, struct script_fill *out);

/* The number after `u64`, as eight bytes in the byte order of the host. */
bool parse_u64(struct parser *p, struct script_fill *out);

/* Reads options as long as the token is the word of one in `allowed`. */
bool parse_options(struct parser *p, uint64_t allowed, struct script_options *out);

/* Fails if an option of `required` is missing. `what` is what needs them. */
bool parse_required(struct parser *p, const struct script_options *options, uint64_t required,
                    const char *what);

/* Words of an option set for a message. */
const char *parse_option_list(uint64_t set, char *buf, size_t cap);

#endif
