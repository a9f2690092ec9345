/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_conn.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "check/check_json.h"
#include "check/headline.h"
#include "util/json_util.h"
#include "util/strbuf.h"

#define LINE_LEN 1024

/* ---- members that are empty --------------------------------------------------------------------
 *
 * The functions below copy compact JSON of check_json.h onto itself, without the members that are
 * 0, false, null or empty. A parser would cost more than the whole check of a connection. */

struct copy {
    const char *in;
    char *out;
};

static void copy_string(struct copy *c)
{
    do {
        if (*c->in == '\\')
            *c->out++ = *c->in++;
        *c->out++ = *c->in++;
    } while (*c->in != '"');
    *c->out++ = *c->in++;
}

static bool copy_value(struct copy *c);

/* Copies the members of an object or an array, from after its opening bracket. Returns whether the
 * copy is empty. */
static bool copy_members(struct copy *c, bool object)
{
    bool empty = true;

    while (*c->in != '}' && *c->in != ']') {
        char *begin = c->out;
        bool drop;

        if (*c->in == ',')
            c->in++;
        if (!empty)
            *c->out++ = ',';
        if (object) {
            copy_string(c);
            *c->out++ = *c->in++; /* copies the colon */
        }
        drop = copy_value(c) && object;
        if (drop)
            c->out = begin;
        else
            empty = false;
    }
    *c->out++ = *c->in++;
    return empty;
}

/* Copies a value. Returns whether it is 0, false, null or empty. */
static bool copy_value(struct copy *c)
{
    const char *begin = c->out;

    switch (*c->in) {
    case '{': *c->out++ = *c->in++; return copy_members(c, true);
    case '[': *c->out++ = *c->in++; return copy_members(c, false);
    case '"': copy_string(c); return c->out - begin == 2;
    default:
        while (*c->in != ',' && *c->in != '}' && *c->in != ']')
            *c->out++ = *c->in++;
        return (*begin == '0' && c->out - begin == 1) || *begin == 'f' || *begin == 'n';
    }
}

/* ---- lines of check_json.h ---------------------------------------------------------------------
 */

/* Buffer for one line of JSON. */
struct line {
    FILE *file;
    char *text;
    size_t len;
};

static FILE *open_line(struct line *line)
{
    *line = (struct line){0};
    line->file = open_memstream(&line->text, &line->len);
    return line->file;
}

/* Returns the object of a line without its empty members and its closing brace, or NULL. `rc`:
 * result of the writer. */
static char *close_line(struct line *line, int rc)
{
    struct copy c;

    if (!line->file)
        return NULL;
    if (fclose(line->file) != 0 || rc != 0 || line->len < 3) {
        free(line->text);
        return NULL;
    }
    c = (struct copy){line->text, line->text};
    copy_value(&c);
    c.out[-1] = '\0';
    return line->text;
}

void page_conn_put_json(FILE *out, const char *json)
{
    for (const char *lt; (lt = strchr(json, '<')) != NULL; json = lt + 1) {
        fwrite(json, 1, (size_t)(lt - json), out);
        fputs("\\u003c", out);
    }
    fputs(json, out);
}

/* Writes an object and frees it. */
static int put_object(FILE *out, json_t *o)
{
    char *text = o ? json_dumps(o, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    int rc = text ? 0 : -1;

    if (text)
        page_conn_put_json(out, text);
    json_decref(o);
    free(text);
    return rc;
}

int page_conn_put_string(FILE *out, const char *text)
{
    return put_object(out, json_lossy_string(text));
}

/* Writes an object that lacks its closing brace, and frees it. */
static int put_open_object(FILE *out, char *text)
{
    if (text)
        page_conn_put_json(out, text);
    fputc('}', out);
    free(text);
    return text ? 0 : -1;
}

int page_conn_write_finding(FILE *out, const char *file, const struct roce_finding *finding)
{
    struct line line;

    open_line(&line);
    return put_open_object(
        out, close_line(&line, line.file ? check_json_finding(line.file, file, finding) : -1));
}

int page_conn_write_summary(FILE *out, const struct check_report *report, int status)
{
    struct line line;

    open_line(&line);
    return put_open_object(
        out, close_line(&line, line.file ? check_json_summary(line.file, report, status) : -1));
}

/* ---- members that only the page has ------------------------------------------------------------
 */

/* Returns the reason why a connection failed or got stuck, or null. */
static json_t *why_json(const struct roce_conn_summary *sum)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (!check_conn_failed(sum) && !check_conn_stuck(sum))
        return json_null();
    check_conn_reason(&t, sum);
    strbuf_addf(&t, "\n");
    check_conn_hint(&t, sum, NULL);
    return json_lossy_string(buf);
}

static void add_hist(json_t *o, const char *key, const struct roce_hist *hist)
{
    json_t *buckets;

    if (!hist || hist->total == 0)
        return;
    buckets = json_array();
    for (unsigned i = 0; i < ROCE_HIST_BUCKETS; i++)
        if (hist->cnt[i]) {
            json_array_append_new(buckets, json_integer(i));
            json_array_append_new(buckets, json_integer(hist->cnt[i]));
        }
    json_object_set_new(o, key, buckets);
}

static json_t *histograms_json(const struct roce_endpoint_summary *side)
{
    static const char *const keys[ROCE_OPER_CNT] = {"send", "write", "read", "atomic", "other"};
    json_t *o = json_object();

    for (unsigned i = 0; i < ROCE_OPER_CNT; i++)
        add_hist(o, keys[i], side->oper[i].latency);
    add_hist(o, "rtt", side->ack_rtt);
    return o;
}

/* Returns `a` and `b` joined by a comma, without the opening brace of `b`. Frees both. */
static char *join_objects(char *a, char *b)
{
    size_t len = a ? strlen(a) : 0, more = b ? strlen(b) : 0;
    char *text = a && b ? realloc(a, len + more + 1) : NULL;

    if (!text) {
        free(a);
    } else {
        text[len] = ',';
        memcpy(text + len + 1, b + 1, more); /* copies the final zero too */
    }
    free(b);
    return text;
}

char *page_conn_json(const char *file, const struct roce_conn_summary *sum)
{
    struct check_conn conn;
    struct line line;
    char buf[LINE_LEN], *more;
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    json_t *o = json_object(), *histogram = json_object();
    int rc = -1;

    check_conn_title(&t, sum);
    json_object_set_new(o, "title", json_lossy_string(buf));
    json_object_set_new(o, "trouble", json_integer(headline_state(sum)));
    json_object_set_new(o, "why", why_json(sum));
    json_object_set_new(histogram, "a", histograms_json(&sum->side[0]));
    json_object_set_new(histogram, "b", histograms_json(&sum->side[1]));
    json_object_set_new(o, "histogram", histogram);
    more = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (more)
        more[strlen(more) - 1] = '\0';
    if (open_line(&line)) {
        check_conn_set(&conn, sum);
        rc = check_json_conn(line.file, file, &conn);
    }
    return join_objects(close_line(&line, rc), more);
}
