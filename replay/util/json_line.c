/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "util/json_line.h"

#include <jansson.h>
#include <string.h>
#include "util/strbuf.h"

static void flush_line(struct json_line *line)
{
    fwrite(line->buf, 1, line->len, line->out); /* json_line_end() checks for errors */
    line->written += line->len;
    line->len = 0;
    for (unsigned i = 0; i < line->depth && i < JSON_LINE_DEPTH; i++)
        /* The start of this open object or array is already in the file, so it can no longer be
         * omitted if it remains empty. */
        line->open[i].at = SIZE_MAX;
}

/* Reserves the next `len` bytes of the buffer for the caller to write, and returns their address.
 * Writes the buffer to the file first if it is full. `len` must not exceed the size of the
 * buffer. */
static char *reserve(struct json_line *line, size_t len)
{
    char *p;

    if (len > sizeof(line->buf) - line->len)
        flush_line(line);
    p = line->buf + line->len;
    line->len += len;
    return p;
}

static void add_char(struct json_line *line, char c)
{
    *reserve(line, 1) = c;
}

static void add(struct json_line *line, const char *text, size_t len)
{
    while (len > 0) {
        size_t part = len < sizeof(line->buf) ? len : sizeof(line->buf);

        memcpy(reserve(line, part), text, part);
        text += part;
        len -= part;
    }
}

/* Returns whether a member that is 0, false, null or empty is omitted. */
static bool omits_empty(const struct json_line *line, const char *key)
{
    return line->brief && key;
}

/* Writes a member: the key, unless it is NULL, then the `len` bytes of JSON at `value`. */
static void add_member(struct json_line *line, const char *key, const char *value, size_t len)
{
    size_t key_len = key ? strlen(key) : 0;
    char *p = reserve(line, key_len + len + 4);

    if (!line->first)
        *p++ = ',';
    line->first = false;
    if (key) {
        *p++ = '"';
        memcpy(p, key, key_len);
        p += key_len;
        *p++ = '"';
        *p++ = ':';
    }
    memcpy(p, value, len);
    line->len = (size_t)(p - line->buf) + len;
}

void json_line_begin(struct json_line *line, FILE *out, bool brief)
{
    line->out = out;
    line->brief = brief;
    line->depth = 0;
    line->written = 0;
    line->len = 0;
    line->first = true;
    add_char(line, '{');
}

int json_line_end(struct json_line *line)
{
    add(line, "}\n", 2);
    flush_line(line);
    return ferror(line->out) ? -1 : 0;
}

void json_line_open(struct json_line *line, const char *key, char bracket)
{
    bool first = line->first;
    size_t len = 1 + !first + (key ? strlen(key) + 3 : 0);

    add_member(line, key, &bracket, 1);
    if (line->depth < JSON_LINE_DEPTH) {
        line->open[line->depth].at = omits_empty(line, key) ? line->len - len : SIZE_MAX;
        line->open[line->depth].first = first;
    }
    line->depth++;
    line->first = true;
}

void json_line_close(struct json_line *line, char bracket)
{
    unsigned depth = --line->depth;

    if (line->first && depth < JSON_LINE_DEPTH && line->open[depth].at != SIZE_MAX) {
        line->len = line->open[depth].at;
        line->first = line->open[depth].first;
        return;
    }
    add_char(line, bracket);
    line->first = false;
}

static bool is_utf8(const char *text)
{
    uint32_t code;

    for (unsigned len; *text; text += len) {
        len = (unsigned char)*text < 0x80 ? 1 : utf8_decode(text, &code);
        if (len == 0)
            return false;
    }
    return true;
}

/* Returns the length of the first part of `text` that needs no escape. `valid`: the text is valid
 * UTF-8, so bytes above 0x7F need none. */
static size_t plain_length(const char *text, bool valid)
{
    const unsigned char *p = (const unsigned char *)text;

    while (*p >= 0x20 && *p != '"' && *p != '\\' && (*p < 0x80 || valid))
        p++;
    return (size_t)(p - (const unsigned char *)text);
}

static void add_escape(struct json_line *line, char c)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char *at = strchr(escaped, c);
    char buf[8];

    if (at) {
        add_char(line, '\\');
        add_char(line, letters[at - escaped]);
    } else {
        add(line, buf, (size_t)snprintf(buf, sizeof(buf), "\\u%04X", (unsigned char)c));
    }
}

void json_line_text(struct json_line *line, const char *key, const char *text)
{
    size_t plain;
    bool valid;

    if (!text) {
        json_line_null(line, key);
        return;
    }
    if (!*text && omits_empty(line, key))
        return;
    add_member(line, key, "\"", 1);
    plain = plain_length(text, false);
    valid = text[plain] && is_utf8(text + plain);
    while (text[plain]) {
        add(line, text, plain);
        text += plain;
        if ((unsigned char)*text < 0x80) {
            add_escape(line, *text++);
        } else if (!valid) {
            add_char(line, '?');
            text++;
        }
        plain = plain_length(text, valid);
    }
    add(line, text, plain);
    add_char(line, '"');
}

void json_line_number(struct json_line *line, const char *key, uint64_t number)
{
    char buf[20], *p = buf + sizeof(buf);

    if (number > INT64_MAX) {
        json_line_null(line, key);
        return;
    }
    if (number == 0 && omits_empty(line, key))
        return;
    do
        *--p = (char)('0' + number % 10);
    while (number /= 10);
    add_member(line, key, p, (size_t)(buf + sizeof(buf) - p));
}

void json_line_number_or_null(struct json_line *line, const char *key, uint64_t number,
                              uint64_t unknown)
{
    json_line_number(line, key, number == unknown ? UINT64_MAX : number);
}

void json_line_real(struct json_line *line, const char *key, double real)
{
    json_t *json = json_real(real); /* NULL for infinity and NaN */
    char buf[64];
    size_t len = json ? json_dumpb(json, buf, sizeof(buf), JSON_ENCODE_ANY) : 0;

    json_decref(json);
    if (len == 0 || len > sizeof(buf)) {
        json_line_null(line, key);
        return;
    }
    add_member(line, key, buf, len);
}

void json_line_bool(struct json_line *line, const char *key, bool value)
{
    if (value || !omits_empty(line, key))
        add_member(line, key, value ? "true" : "false", value ? 4 : 5);
}

void json_line_null(struct json_line *line, const char *key)
{
    if (!omits_empty(line, key))
        add_member(line, key, "null", 4);
}
