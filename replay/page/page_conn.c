/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_conn.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "check/check_json.h"
#include "check/slow_causes.h"
#include "util/json_util.h"
#include "util/strbuf.h"

#define LINE_LEN 1024

static bool is_empty(const json_t *v)
{
    return json_is_null(v) || json_is_false(v) ||
           (json_is_integer(v) && json_integer_value(v) == 0) ||
           (json_is_array(v) && json_array_size(v) == 0) ||
           (json_is_object(v) && json_object_size(v) == 0) ||
           (json_is_string(v) && json_string_length(v) == 0);
}

/* Removes the members that are 0, false, null or empty, from the innermost object outwards. */
static void remove_empty(json_t *v)
{
    const char *key;
    json_t *member;
    void *next;
    size_t i;

    json_array_foreach(v, i, member) remove_empty(member);
    json_object_foreach_safe(v, next, key, member)
    {
        remove_empty(member);
        if (is_empty(member))
            json_object_del(v, key);
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

/* Returns the object of a line without its empty members, or NULL. `rc`: result of the writer. */
static json_t *close_line(struct line *line, int rc)
{
    json_t *o = NULL;

    if (line->file && fclose(line->file) == 0 && rc == 0)
        o = json_loadb(line->text, line->len, 0, NULL);
    free(line->text);
    if (o) {
        json_object_del(o, "file");
        remove_empty(o);
    }
    return o;
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

int page_conn_write_finding(FILE *out, const char *file, const struct roce_finding *finding)
{
    struct line line;
    json_t *o;

    open_line(&line);
    o = close_line(&line, line.file ? check_json_finding(line.file, file, finding) : -1);
    /* The page joins a finding with the text of its rule. */
    json_object_set_new(o, "means", json_string(roce_rule_info(finding->rule)->text));
    return put_object(out, o);
}

int page_conn_write_summary(FILE *out, const struct check_report *report, int status)
{
    struct line line;

    open_line(&line);
    return put_object(
        out, close_line(&line, line.file ? check_json_summary(line.file, report, status) : -1));
}

/* ---- members that only the page has ------------------------------------------------------------
 */

static json_t *state_json(const struct roce_conn_summary *sum)
{
    const struct {
        bool is;
        const char *word;
    } states[] = {
        {check_conn_failed(sum), "failed"}, {check_conn_stuck(sum), "stuck"},
        {check_conn_slow(sum), "slow"},     {check_conn_lossy(sum), "lossy"},
        {check_conn_marked(sum), "marked"},
    };
    json_t *all = json_array();

    for (unsigned i = 0; i < sizeof(states) / sizeof(states[0]); i++)
        if (states[i].is)
            json_array_append_new(all, json_string(states[i].word));
    return all;
}

static json_t *why_json(const struct roce_conn_summary *sum)
{
    struct line line;
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    json_t *why = NULL;

    if (check_conn_failed(sum) || check_conn_stuck(sum)) {
        check_conn_reason(&t, sum);
        strbuf_addf(&t, "\n");
        check_conn_hint(&t, sum, NULL);
        return json_lossy_string(buf);
    }
    if (!check_conn_slow(sum) || !open_line(&line))
        return json_null();
    slow_causes_print(line.file, sum);
    if (fclose(line.file) == 0)
        why = json_lossy_string(line.text);
    free(line.text);
    return why ? why : json_null();
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

char *page_conn_json(const char *file, const struct roce_conn_summary *sum)
{
    struct check_conn conn;
    struct line line;
    char buf[LINE_LEN], *text;
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    json_t *o, *histogram = json_object();
    int rc = -1;

    if (open_line(&line)) {
        check_conn_set(&conn, sum);
        rc = check_json_conn(line.file, file, &conn);
    }
    o = close_line(&line, rc);
    check_conn_title(&t, sum);
    json_object_set_new(o, "title", json_lossy_string(buf));
    json_object_set_new(o, "state", state_json(sum));
    json_object_set_new(o, "why", why_json(sum));
    json_object_set_new(histogram, "a", histograms_json(&sum->side[0]));
    json_object_set_new(histogram, "b", histograms_json(&sum->side[1]));
    json_object_set_new(o, "histogram", histogram);
    text = o ? json_dumps(o, JSON_COMPACT) : NULL;
    json_decref(o);
    if (text)
        text[strlen(text) - 1] = '\0';
    return text;
}
