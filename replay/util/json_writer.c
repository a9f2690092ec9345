/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_writer.h"

/* Place of a value in the text. */
struct dump {
    FILE *out;
    unsigned indent; /* number of spaces before the line on which the value begins */
};

static void put_spaces(FILE *out, unsigned cnt)
{
    for (unsigned i = 0; i < cnt; i++)
        putc_unlocked(' ', out);
}

/* Writes a part of a value. jansson passes each line feed as a separate part; strings contain none,
 * because JSON escapes them. */
static int put_part(const char *text, size_t len, void *ctx)
{
    const struct dump *dump = ctx;

    if (fwrite(text, 1, len, dump->out) != len)
        return -1;
    if (len == 1 && *text == '\n')
        put_spaces(dump->out, dump->indent);
    return 0;
}

static void put_value(struct json_writer *w, json_t *value, unsigned indent)
{
    struct dump dump = {.out = w->out, .indent = indent};

    if (!value || (w->out && json_dump_callback(value, put_part, &dump,
                                                JSON_ENCODE_ANY | JSON_INDENT(2)) != 0))
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
