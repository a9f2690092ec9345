/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Line: appends text and numbers to a buffer of fixed size. The Info column is built for every
 * packet; with printf() this would take longer than the whole dissection. Text that does not fit is
 * truncated. */
#ifndef ROCE_LINE_H
#define ROCE_LINE_H

#include <stdint.h>
#include <string.h>

struct line {
    char buf[320];
    size_t len; /* number of characters in `buf`; line_finish() appends the terminating zero */
};

static inline void line_add_text(struct line *line, const char *text)
{
    size_t len = strlen(text), room = sizeof(line->buf) - 1 - line->len;

    len = len < room ? len : room;
    memcpy(line->buf + line->len, text, len);
    line->len += len;
}

/* Appends "0x" and the lowest `digits` hexadecimal digits of `v`; all digits if `digits` is 0. */
static inline void line_add_hex(struct line *line, uint64_t v, unsigned digits)
{
    char text[19] = "0x";
    unsigned cnt = digits;

    while (digits == 0 && (cnt == 0 || (cnt < 16 && v >> (4 * cnt))))
        cnt++;
    for (unsigned i = 0; i < cnt; i++)
        text[2 + i] = "0123456789abcdef"[v >> (4 * (cnt - 1 - i)) & 0xF];
    text[2 + cnt] = 0;
    line_add_text(line, text);
}

static inline void line_add_dec(struct line *line, uint64_t v)
{
    char text[21];
    unsigned at = sizeof(text) - 1;

    text[at] = 0;
    do
        text[--at] = (char)('0' + v % 10);
    while (v /= 10);
    line_add_text(line, text + at);
}

static inline const char *line_finish(struct line *line)
{
    line->buf[line->len] = 0;
    return line->buf;
}

#endif
