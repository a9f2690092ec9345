/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _GNU_SOURCE /* declares fopencookie() */
#include "util/colour.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/line_wrap.h"

#define RED    "31;1"
#define GREEN  "32"
#define YELLOW "33;1"
#define CYAN   "36"
#define BOLD   "1"

/* Position in a line at which a word is coloured. */
enum place {
    ANYWHERE,   /* anywhere, as a whole word */
    LINE_START, /* the beginning of a line, without blanks before it */
    LINE_INDENT /* the first word of a line, after blanks */
};

static const struct style {
    const char *word;
    enum place place;
    const char *colour;
} styles[] = {
    {"failures:", LINE_START, RED},
    {"stuck connections:", LINE_START, YELLOW},
    {"slow connections:", LINE_START, YELLOW},
    {"verdict: violated", LINE_START, RED},
    {"verdict:", LINE_START, BOLD},
    {"pass", LINE_START, GREEN},
    {"fail", LINE_START, RED},
    {"unusable", LINE_START, RED},
    {"known  ", LINE_START, CYAN},
    {"inconclusive", LINE_START, YELLOW},
    {"difference", LINE_INDENT, RED},
    {"ERROR", ANYWHERE, RED},
    {"WARN", ANYWHERE, YELLOW},
    {"NOTE", ANYWHERE, CYAN},
    {"FAIL", ANYWHERE, RED},
    {"PASS", ANYWHERE, GREEN},
    {"RNR NAK", ANYWHERE, YELLOW},
    {"NAK", ANYWHERE, RED},
    {"REJ", ANYWHERE, RED},
    {"✗", ANYWHERE, RED},
    {"✓", ANYWHERE, GREEN},
    {"≈", ANYWHERE, YELLOW},
};
#define STYLE_CNT (sizeof(styles) / sizeof(styles[0]))

/* State of the stream of colour_open(). Collects text until a line is complete, because the program
 * may write a coloured word in several pieces. */
struct cookie {
    char *line;
    size_t len, cap;
    bool coloured;
    unsigned columns; /* width at which lines are wrapped; 0: lines are not wrapped */
};

int colour_option(const char *command, const char *arg, enum colour_mode *mode)
{
    static const char *const names[] = {"auto", "always", "never"};

    for (int i = COLOUR_AUTO; i <= COLOUR_NEVER; i++)
        if (strcmp(arg, names[i]) == 0) {
            *mode = (enum colour_mode)i;
            return 0;
        }
    return cli_error("%s: --color '%s': not auto, always or never", command, arg);
}

static bool is_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c == '-';
}

/* Returns the style of the word that begins at line[at], or NULL if the word is not coloured. */
static const struct style *find_style(const char *line, size_t len, size_t at)
{
    size_t indent = 0;

    while (indent < len && line[indent] == ' ')
        indent++;
    for (size_t i = 0; i < STYLE_CNT; i++) {
        const struct style *s = &styles[i];
        size_t word = strlen(s->word);

        if (at + word > len || memcmp(line + at, s->word, word) != 0)
            continue;
        if ((s->place == LINE_START && at != 0) ||
            (s->place == LINE_INDENT && (at != indent || at == 0)))
            continue;
        if ((at > 0 && is_word((unsigned char)line[at - 1]) &&
             is_word((unsigned char)s->word[0])) ||
            (at + word < len && is_word((unsigned char)line[at + word]) &&
             is_word((unsigned char)s->word[word - 1])))
            continue;
        return s;
    }
    return NULL;
}

/* Returns whether a line is a heading: not indented, with a colon at its end. */
static bool is_heading(const char *line, size_t len)
{
    return len > 1 && line[0] != ' ' && line[len - 1] == ':';
}

static void write_line(const struct cookie *c)
{
    unsigned indent = line_wrap_indent(c->line, c->len, c->columns);
    size_t line_end = indent ? line_wrap_break(c->line, c->len, 0, 0, c->columns) : c->len;
    const struct style *style;

    if (c->coloured && is_heading(c->line, c->len) && !find_style(c->line, c->len, 0)) {
        fputs("\033[" BOLD "m", stdout);
        fwrite(c->line, 1, c->len, stdout);
        fputs("\033[0m", stdout);
        return;
    }
    for (size_t at = 0; at < c->len;) {
        style = c->coloured ? find_style(c->line, c->len, at) : NULL;
        if (style) {
            printf("\033[%sm%s\033[0m", style->colour, style->word);
            at += strlen(style->word);
        } else if (at >= line_end && c->line[at] == ' ') {
            printf("\n%*s", (int)indent, "");
            at++;
            line_end = line_wrap_break(c->line, c->len, at, indent, c->columns);
        } else
            putchar(c->line[at++]);
    }
}

static ssize_t cookie_write(void *data, const char *text, size_t size)
{
    struct cookie *c = data;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n') {
            write_line(c);
            putchar('\n');
            c->len = 0;
            continue;
        }
        if (c->len == c->cap) {
            size_t cap = c->cap ? 2 * c->cap : 256;
            char *line = realloc(c->line, cap);

            if (!line)
                return 0;
            c->line = line;
            c->cap = cap;
        }
        c->line[c->len++] = text[i];
    }
    return fflush(stdout) == 0 ? (ssize_t)size : 0;
}

static int cookie_close(void *data)
{
    struct cookie *c = data;

    write_line(c);
    free(c->line);
    free(c);
    return 0;
}

static bool is_wanted(enum colour_mode mode)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

    if (mode != COLOUR_AUTO)
        return mode == COLOUR_ALWAYS;
    return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}

FILE *colour_open(enum colour_mode mode, bool wrap)
{
    static const cookie_io_functions_t io = {.write = cookie_write, .close = cookie_close};
    unsigned columns = wrap ? line_wrap_columns() : 0;
    struct cookie *c = is_wanted(mode) || columns ? calloc(1, sizeof(*c)) : NULL;
    FILE *stream = c ? fopencookie(c, "w", io) : NULL;

    if (!stream) {
        free(c);
        return stdout;
    }
    c->coloured = is_wanted(mode);
    c->columns = columns;
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    return stream;
}

void colour_close(FILE *stream)
{
    if (stream && stream != stdout)
        fclose(stream);
}
