/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_writer.h"

#include <string.h>

/* State while a value is written as text. jansson passes the text in parts of a few bytes each;
 * `buf` collects them. */
struct dump {
    FILE *out;
    unsigned indent; /* number of spaces before the line on which the value begins */
    size_t len;      /* bytes in `buf` */
    char buf[2048];
};

static int flush_parts(struct dump *dump)
{
    size_t len = dump->len;

    dump->len = 0;
    return fwrite(dump->buf, 1, len, dump->out) == len ? 0 : -1;
}

static int add_bytes(struct dump *dump, const char *text, size_t len)
{
    if (len > sizeof(dump->buf) - dump->len && flush_parts(dump) != 0)
        return -1;
    if (len > sizeof(dump->buf))
        return fwrite(text, 1, len, dump->out) == len ? 0 : -1;
    memcpy(dump->buf + dump->len, text, len);
    dump->len += len;
    return 0;
}

/* Writes a part of a value, and indents after a line feed. jansson passes each line feed as a
 * separate part. Strings contain no line feeds, because JSON escapes them. */
static int put_part(const char *text, size_t len, void *ctx)
{
    static const char spaces[] = "        ";
    struct dump *dump = ctx;
    unsigned left = len == 1 && *text == '\n' ? dump->indent : 0;

    if (add_bytes(dump, text, len) != 0)
        return -1;
    for (unsigned n; left > 0; left -= n) {
        n = left < sizeof(spaces) - 1 ? left : sizeof(spaces) - 1;
        if (add_bytes(dump, spaces, n) != 0)
            return -1;
    }
    return 0;
}

static void put_value(struct json_writer *w, json_t *value, unsigned indent)
{
    struct dump dump;

    dump.out = w->out;
    dump.indent = indent;
    dump.len = 0;
    if (!value || (w->out && (json_dump_callback(value, put_part, &dump,
                                                 JSON_ENCODE_ANY | JSON_INDENT(2)) != 0 ||
                              flush_parts(&dump) != 0)))
        w->failed = true;
    json_decref(value);
}

static void put_key(struct json_writer *w, const char *key)
{
    if (w->out)
        fprintf(w->out, "%s\n%*s\"%s\": ", w->member ? "," : "", (int)w->indent, "", key);
    w->member = true;
}

void json_writer_member(struct json_writer *w, const char *key, json_t *value)
{
    put_key(w, key);
    put_value(w, value, w->indent);
}

void json_writer_list(struct json_writer *w, const char *key)
{
    put_key(w, key);
    if (w->out)
        putc('[', w->out);
    w->list = key;
    w->elements = false;
}

void json_writer_next(struct json_writer *w)
{
    if (w->out)
        fprintf(w->out, "%s\n%*s", w->elements ? "," : "", (int)w->indent + 2, "");
    w->elements = true;
}

void json_writer_element(struct json_writer *w, json_t *value)
{
    if (w->element && value)
        w->element(w->ctx, w->list, value);
    json_writer_next(w);
    put_value(w, value, w->indent + 2);
}

void json_writer_list_end(struct json_writer *w)
{
    if (w->out && w->elements)
        fprintf(w->out, "\n%*s]", (int)w->indent, "");
    else if (w->out)
        putc(']', w->out);
    w->list = NULL;
}
