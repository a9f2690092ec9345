/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Replaces the middle of a text that is too long for error->text by "...". */
static void shorten_text(struct error *error, size_t len, const char *format, va_list args)
{
    static const char gap[] = "...";
    const size_t half = sizeof(error->text) / 2;
    char *whole = malloc(len + 1);

    if (!whole)
        return; /* out of memory: error->text keeps the beginning of the message */
    vsnprintf(whole, len + 1, format, args);
    memcpy(error->text + half, gap, sizeof(gap) - 1);
    memcpy(error->text + half + sizeof(gap) - 1, whole + len + 1 - (half - sizeof(gap) + 1),
           half - sizeof(gap) + 1);
    free(whole);
}

int error_set(struct error *error, const char *format, ...)
{
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    if (len >= (int)sizeof(error->text)) {
        va_start(args, format);
        shorten_text(error, (size_t)len, format, args);
        va_end(args);
    }
    return -1;
}
