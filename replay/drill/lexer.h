/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Lexer: splits one line of a drill into tokens. A comment begins with # and ends with the line.
 *
 *   1. lexer_begin() on a line; `token` is its first token.
 *   2. lexer_next() moves to the next token; the last token of a line is LEX_END.
 *
 * The lexer keeps the first error of a line. After an error every token is LEX_END, so that a
 * caller checks for errors once a line.
 */
#ifndef REPLAY_DRILL_LEXER_H
#define REPLAY_DRILL_LEXER_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

enum lex_kind {
    LEX_END,
    LEX_WORD,   /* a letter, then letters, digits and _ . - */
    LEX_NUMBER, /* decimal, or hexadecimal with 0x; `unit` is the word directly after the number */
    LEX_MARK,   /* one of the characters + - ~ * / < > ? = : , ( ) [ ] $ */
    LEX_BAD,    /* any other character */
};

struct lex_token {
    enum lex_kind kind;
    const char *text;
    unsigned len;
    unsigned column; /* column of the token in its line, from 1 */
    uint64_t number; /* value of a LEX_NUMBER */
    char unit[16];   /* unit of a number, such as "us", or "" */
};

struct lexer {
    const char *path;
    unsigned line; /* number of the line, from 1 */
    const char *start, *at;
    struct lex_token token;
    struct error *error; /* receives the first problem */
    bool failed;
};

void lexer_begin(struct lexer *lexer, const char *text, unsigned line);
void lexer_next(struct lexer *lexer);

/* Returns whether the token is this mark or this word. If so, moves to the next token. */
bool lexer_mark(struct lexer *lexer, char mark);
bool lexer_word(struct lexer *lexer, const char *word);
bool lexer_is_word(const struct lexer *lexer, const char *word);

/* Moves past the longest of `cnt` phrases that matches at the current token, and returns its index.
 * A phrase may have several words ("READ Request"). An empty or NULL phrase matches nothing.
 * Returns -1 if no phrase matches. */
int lexer_phrase(struct lexer *lexer, const char *const *words, unsigned cnt);

/* Returns the phrase that is most similar to the text at the current token, for an error message;
 * NULL if none is similar. */
const char *lexer_meant(const struct lexer *lexer, const char *const *words, unsigned cnt);

/* Copies the text from the current token up to the next blank to `buf`, and moves past that text.
 */
void lexer_raw(struct lexer *lexer, char *buf, unsigned cap);

/* Returns the rest of the line without a comment and without blanks at its end, and moves to the
 * end of the line. The caller frees the text. Returns NULL if out of memory. */
char *lexer_rest(struct lexer *lexer);

/* Sets the error "FILE:LINE:COLUMN: expected `what`, found 'TOKEN'". Returns false. */
bool lexer_expected(struct lexer *lexer, const char *what);

/* Sets the error "FILE:LINE:COLUMN: PROBLEM" at the current token. Returns false. */
bool lexer_fail(struct lexer *lexer, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
