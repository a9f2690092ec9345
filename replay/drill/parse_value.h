/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Parse value: reads numbers, times, places in memory, names of objects, bytes and options of a
 * drill. The other parsers of this folder use these functions. After an error, each function
 * returns false, and the error is in lexer.error.
 */
#ifndef REPLAY_DRILL_PARSE_VALUE_H
#define REPLAY_DRILL_PARSE_VALUE_H

#include <stdio.h>
#include "drill/lexer.h"
#include "drill/script.h"
#include "drill/words.h"

#define PARSE_LETS_MAX 32 /* maximum number of 'let' lines of a drill */

struct parser {
    struct lexer lexer;
    struct script *script;
    struct {
        char name[SCRIPT_NAME_MAX];
        uint64_t value;
    } let[PARSE_LETS_MAX];
    unsigned let_cnt;
    bool declares;      /* the line declares an object */
    unsigned heads_end; /* number of the first line that declares an object or has an event; 0:
                         * none yet */
    size_t purpose_len, purpose_cap; /* length and allocated size of script->purpose, bytes */
};

/* Joins `cnt` words for a message, as "a, b or c". Returns `buf`. */
const char *parse_word_list(const char *const *words, unsigned cnt, char *buf, size_t cap);

/* Reads a name of at most SCRIPT_NAME_MAX - 1 characters. `what` describes the name in the error
 * message. */
bool parse_name(struct parser *p, const char *what, char *out);

/* Reads a word of a table and returns its number. */
bool parse_table(struct parser *p, const struct word_number *table, uint64_t *out);

/* Reads a number: NUMBER, $VARIANT, the name of a `let` constant, timeout(N), rnr(N), or
 * (EXPRESSION). */
bool parse_number(struct parser *p, const char *what, uint64_t max, uint64_t *out);

/* Reads a duration: a number with the unit ns, us, ms or s, or the name of a `let` constant. */
bool parse_duration(struct parser *p, uint64_t *out);

/* Reads the time at the beginning of an event line. */
bool parse_time(struct parser *p, struct script_time *out);

/* Returns the index of the object that the current token names, or SCRIPT_NO_OBJECT. Does not move
 * to the next token. */
int parse_find_object(const struct parser *p);

/* Reads the name of an object of this kind. */
bool parse_object(struct parser *p, enum script_object_kind kind, int *out);
const char *parse_object_kind_name(enum script_object_kind kind);

/* Reads a memory address: NAME, NAME+OFFSET or a number. If `memory` is true, the name must name an
 * MR or peer memory. */
bool parse_place(struct parser *p, const char *what, bool memory, struct script_value *out);

/* Read the bytes after `fill` or `data`. The caller has already read that word. */
bool parse_fill(struct parser *p, struct script_fill *out);
bool parse_data(struct parser *p, struct script_fill *out);

/* Reads the number after `u64`, stored as eight bytes in the byte order of the host. */
bool parse_u64(struct parser *p, struct script_fill *out);

/* Reads options until a token is not the word of an option in `allowed`. */
bool parse_options(struct parser *p, uint64_t allowed, struct script_options *out);

/* Returns false and sets an error if an option in `required` is missing. `what`: name of the object
 * or verb that requires the options, for the error message. */
bool parse_required(struct parser *p, const struct script_options *options, uint64_t required,
                    const char *what);

/* Writes the words of a set of options into `buf`, for an error message. Returns `buf`. */
const char *parse_option_list(uint64_t set, char *buf, size_t cap);

/* Prints the words of a set of options, and a line end. Options that are not required are in
 * brackets. */
void parse_print_options(FILE *out, uint64_t allowed, uint64_t required);

#endif
