/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/xml_escape.h"

static void put_char(FILE *out, unsigned char c)
{
    switch (c) {
    case '&': fputs("&amp;", out); break;
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(c < 0x20 && c != '\n' && c != '\t' ? '?' : c, out);
    }
}

void xml_escape(FILE *out, const char *text)
{
    for (; *text; text++)
        put_char(out, (unsigned char)*text);
}

void xml_escape_name(FILE *out, const char *name)
{
    for (; *name; name++)
        put_char(out, (unsigned char)*name < 0x80 ? (unsigned char)*name : '?');
}
