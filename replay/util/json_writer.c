/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_writer.h"

#include <string.h>

/* Buffer for the JSON text of a value. A value consists of many parts of a few bytes each, which
 * are written to the file together. jansson's own functions are slower: they call snprintf() for
 * each number. */
struct dump {
    FILE *out;
    bool failed;
    size_t len; /* bytes in `buf` */
    char buf[2048];
};

static void flush_parts(struct dump *dump)
{
    dump->failed |= fwrite(dump->buf, 1, dump->len, dump->out) != dump->len;
    dump->len = 0;
}

static void add_bytes(struct dump *dump, const char *text, size_t len)
{
    if (len > sizeof(dump->buf) - dump->len)
        flush_parts(dump);
    if (len > sizeof(dump->buf)) {
        dump->failed |= fwrite(text, 1, len, dump->out) != len;
        return;
    }
    memcpy(dump->buf + dump->len, text, len);
    dump->len += len;
}

static int add_part(const char *text, size_t len, void *ctx)
{
    add_bytes(ctx, text, len);
    return 0;
}

/* Adds a number, string, boolean or null, as jansson writes it. */
static void add_scalar(struct dump *dump, const json_t *value)
{
    if (!value || json_dump_callback(value, add_part, dump, JSON_ENCODE_ANY) != 0)
        dump->failed = true;
}

static void add_string(struct dump *dump, const char *text, size_t len)
{
    bool plain = true; /* true: printable ASCII that needs no escape sequence */

    for (size_t i = 0; i < len && plain; i++)
        plain = text[i] >= ' ' && text[i] <= '~' && text[i] != '"' && text[i] != '\\';
    if (plain) {
        add_bytes(dump, "\"", 1);
        add_bytes(dump, text, len);
        add_bytes(dump, "\"", 1);
    } else {
        json_t *string = json_stringn(text, len);

        add_scalar(dump, string);
        json_decref(string);
    }
}

static void add_integer(struct dump *dump, json_int_t integer)
{
    char buf[24], *p = buf + sizeof(buf);
    unsigned long long left = (unsigned long long)integer;

    if (integer < 0)
        left = -left;
    do
        *--p = (char)('0' + left % 10);
    while (left /= 10);
    if (integer < 0)
        *--p = '-';
    add_bytes(dump, p, (size_t)(buf + sizeof(buf) - p));
}

/* Adds the comma after the previous part, if any, and begins a line. */
static void add_line(struct dump *dump, const char *comma, unsigned indent)
{
    static const char spaces[] = "                ";

    add_bytes(dump, comma, strlen(comma));
    add_bytes(dump, "\n", 1);
    for (unsigned n; indent > 0; indent -= n) {
        n = indent < sizeof(spaces) - 1 ? indent : sizeof(spaces) - 1;
        add_bytes(dump, spaces, n);
    }
}

/* Adds a value, and indents its first line by `indent` spaces. */
static void add_value(struct dump *dump, json_t *value, unsigned indent)
{
    const char *comma = "", *key;
    json_t *part;
    size_t i;

    if (json_is_object(value) && json_object_size(value) > 0) {
        add_bytes(dump, "{", 1);
        json_object_foreach(value, key, part)
        {
            add_line(dump, comma, indent + 2);
            add_string(dump, key, strlen(key));
            add_bytes(dump, ": ", 2);
            add_value(dump, part, indent + 2);
            comma = ",";
        }
        add_line(dump, "", indent);
        add_bytes(dump, "}", 1);
    } else if (json_is_array(value) && json_array_size(value) > 0) {
        add_bytes(dump, "[", 1);
        json_array_foreach(value, i, part)
        {
            add_line(dump, comma, indent + 2);
            add_value(dump, part, indent + 2);
            comma = ",";
        }
        add_line(dump, "", indent);
        add_bytes(dump, "]", 1);
    } else if (json_is_integer(value)) {
        add_integer(dump, json_integer_value(value));
    } else if (json_is_string(value)) {
        add_string(dump, json_string_value(value), json_string_length(value));
    } else {
        add_scalar(dump, value);
    }
}

static void put_value(struct json_writer *w, json_t *value, unsigned indent)
{
    struct dump dump;

    dump.out = w->out;
    dump.failed = !value;
    dump.len = 0;
    if (value && w->out) {
        add_value(&dump, value, indent);
        flush_parts(&dump);
    }
    w->failed |= dump.failed;
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
