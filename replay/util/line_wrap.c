/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#define _GNU_SOURCE /* declares memmem() */
#include "util/line_wrap.h"

#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_MIN 40u

unsigned line_wrap_columns(void)
{
    struct winsize size;

    return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static size_t blanks_at_start(const char *line, size_t len)
{
    size_t cnt = 0;

    while (cnt < len && line[cnt] == ' ')
        cnt++;
    return cnt;
}

unsigned line_wrap_indent(const char *line, size_t len, unsigned columns)
{
    static const char *const whole[] = {"│", "├", "Wireshark: ", "to repeat: "};
    size_t indent = blanks_at_start(line, len) + 2;

    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        if (memmem(line, len, whole[i], strlen(whole[i])))
            return 0;
    return columns >= COLUMNS_MIN && indent <= columns / 2 ? (unsigned)indent : 0;
}

size_t line_wrap_break(const char *line, size_t len, size_t from, unsigned used, unsigned columns)
{
    size_t at = from == 0 ? blanks_at_start(line, len) : from, space = 0;

    used += (unsigned)(at - from);
    for (; at < len; at++) {
        /* Skip the bytes of a character after its first one. */
        if (((unsigned char)line[at] & 0xC0) == 0x80)
            continue;
        if (line[at] == ' ' && (used <= columns || space == 0))
            space = at;
        if (++used > columns && space)
            return space;
    }
    return len;
}
