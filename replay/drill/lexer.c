/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "drill/lexer.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/word_suggest.h"

static bool is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* Reads the number at `at`. Reports an error if the number exceeds 64 bits. If `value` is false,
 * also reports an error if the number has decimals. If `value` is true, the number is the value of
 * a field and may be the first part of an IP address. */
static void take_number(struct lexer *lexer, bool value)
{
    struct lex_token *token = &lexer->token;
    bool hex = lexer->at[0] == '0' && (lexer->at[1] == 'x' || lexer->at[1] == 'X');
    unsigned base = hex ? 16 : 10, digits = 0;
    unsigned unit = 0;

    token->kind = LEX_NUMBER;
    token->number = 0;
    lexer->at += hex ? 2 : 0;
    for (; hex ? isxdigit((unsigned char)*lexer->at) : isdigit((unsigned char)*lexer->at);
         lexer->at++, digits++) {
        unsigned digit = isdigit((unsigned char)*lexer->at)
                             ? (unsigned)(*lexer->at - '0')
                             : (unsigned)(tolower((unsigned char)*lexer->at) - 'a' + 10);

        if (token->number > (UINT64_MAX - digit) / base) {
            token->len = (unsigned)(lexer->at - token->text);
            lexer_fail(lexer, "number above 64 bits");
            return;
        }
        token->number = token->number * base + digit;
    }
    if (!value && lexer->at[0] == '.' && isdigit((unsigned char)lexer->at[1])) {
        token->len = (unsigned)(lexer->at - token->text);
        lexer_fail(lexer, "numbers have no decimals: 0.64ms is 640us");
        return;
    }
    while (is_word_start(*lexer->at) && unit + 1 < sizeof(token->unit))
        token->unit[unit++] = *lexer->at++;
    token->unit[unit] = '\0';
    token->len = (unsigned)(lexer->at - token->text);
    if (digits == 0)
        lexer_expected(lexer, "a hexadecimal digit");
}

void lexer_next(struct lexer *lexer)
{
    struct lex_token *token = &lexer->token;
    bool value; /* the token is the value of a field, because it follows a "=" */
    bool bytes; /* the token follows the word "data": it is a sequence of hexadecimal bytes and
                 * may be longer than a number */

    if (lexer->failed)
        return;
    value = token->kind == LEX_MARK && *token->text == '=';
    bytes = lexer_is_word(lexer, "data");
    while (*lexer->at == ' ' || *lexer->at == '\t' || *lexer->at == '\r')
        lexer->at++;
    token->text = lexer->at;
    token->column = (unsigned)(lexer->at - lexer->start) + 1;
    token->len = 0;
    if (*lexer->at == '\0' || *lexer->at == '#') {
        token->kind = LEX_END;
        return;
    }
    if (isdigit((unsigned char)*lexer->at) && !bytes) {
        take_number(lexer, value);
        return;
    }
    if (is_word_start(*lexer->at) || (bytes && isdigit((unsigned char)*lexer->at))) {
        token->kind = LEX_WORD;
        while (is_word_char(*lexer->at))
            lexer->at++;
        token->len = (unsigned)(lexer->at - token->text);
        return;
    }
    token->kind = strchr("+-~*/<>?=:,()[]$", *lexer->at) ? LEX_MARK : LEX_BAD;
    token->len = 1;
    lexer->at++;
}

void lexer_begin(struct lexer *lexer, const char *text, unsigned line)
{
    lexer->start = lexer->at = text;
    lexer->line = line;
    lexer_next(lexer);
}

bool lexer_mark(struct lexer *lexer, char mark)
{
    if (lexer->token.kind != LEX_MARK || *lexer->token.text != mark)
        return false;
    lexer_next(lexer);
    return true;
}

bool lexer_is_word(const struct lexer *lexer, const char *word)
{
    return lexer->token.kind == LEX_WORD && strlen(word) == lexer->token.len &&
           strncmp(lexer->token.text, word, lexer->token.len) == 0;
}

bool lexer_word(struct lexer *lexer, const char *word)
{
    if (!lexer_is_word(lexer, word))
        return false;
    lexer_next(lexer);
    return true;
}

/* If `text` begins with the words of `phrase`, returns their length in `text`, else 0. In `text`,
 * any number of blanks may separate the words. */
static size_t phrase_len(const char *text, const char *phrase)
{
    const char *at = text;

    for (; *phrase; phrase++)
        if (*phrase == ' ') {
            if (*at != ' ' && *at != '\t')
                return 0;
            while (*at == ' ' || *at == '\t')
                at++;
        } else if (*at++ != *phrase) {
            return 0;
        }
    return is_word_char(*at) ? 0 : (size_t)(at - text);
}

int lexer_phrase(struct lexer *lexer, const char *const *words, unsigned cnt)
{
    size_t longest = 0;
    int found = -1;

    if (lexer->token.kind != LEX_WORD)
        return -1;
    for (unsigned i = 0; i < cnt; i++) {
        size_t len = words[i] && *words[i] ? phrase_len(lexer->token.text, words[i]) : 0;

        if (len > longest) {
            longest = len;
            found = (int)i;
        }
    }
    if (found >= 0) {
        lexer->at = lexer->token.text + longest;
        lexer_next(lexer);
    }
    return found;
}

const char *lexer_meant(const struct lexer *lexer, const char *const *words, unsigned cnt)
{
    size_t distance = lexer->token.len <= 3 ? 2 : 3;
    const char *best = NULL;

    for (unsigned i = 0; i < cnt; i++) {
        const char *end = lexer->token.text;
        char typed[32];

        /* skip as many words of the line as words[i] has */
        for (const char *at = words[i]; at && *at; at += strcspn(at, " "), at += *at == ' ') {
            end += strspn(end, " \t");
            while (is_word_char(*end))
                end++;
        }
        snprintf(typed, sizeof(typed), "%.*s", (int)(end - lexer->token.text), lexer->token.text);
        if (end > lexer->token.text)
            word_suggest(typed, words[i], &best, &distance);
    }
    return best;
}

void lexer_raw(struct lexer *lexer, char *buf, unsigned cap)
{
    unsigned len = 0;

    lexer->at = lexer->token.text;
    while (*lexer->at && !isspace((unsigned char)*lexer->at) && *lexer->at != '#') {
        if (len + 1 < cap)
            buf[len++] = *lexer->at;
        lexer->at++;
    }
    buf[len] = '\0';
    lexer_next(lexer);
}

char *lexer_rest(struct lexer *lexer)
{
    size_t len = strcspn(lexer->token.text, "#");
    char *text;

    while (len > 0 && isspace((unsigned char)lexer->token.text[len - 1]))
        len--;
    text = strndup(lexer->token.text, len);
    lexer->at = lexer->token.text + strlen(lexer->token.text);
    lexer_next(lexer);
    return text;
}

static bool set_problem(struct lexer *lexer, const char *text)
{
    if (!lexer->failed)
        error_set(lexer->error, "%s:%u:%u: %s", lexer->path, lexer->line, lexer->token.column,
                  text);
    lexer->failed = true;
    lexer->token.kind = LEX_END;
    return false;
}

bool lexer_fail(struct lexer *lexer, const char *format, ...)
{
    char text[900];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return set_problem(lexer, text);
}

bool lexer_expected(struct lexer *lexer, const char *what)
{
    const struct lex_token *token = &lexer->token;

    if (token->kind == LEX_END)
        return lexer_fail(lexer, "expected %s, found the end of the line", what);
    return lexer_fail(lexer, "expected %s, found '%.*s'", what,
                      (int)(token->len > 60 ? 60 : token->len), token->text);
}
