/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_conn.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "check/base/conn_state.h"
#include "check/causes/time_budget.h"
#include "check/check_json.h"
#include "check/headline.h"
#include "page/page_texts.h"
#include "util/json_line.h"
#include "util/json_util.h"
#include "util/strbuf.h"

#define LINE_LEN 1024

/* ---- lines of check_json.h ---------------------------------------------------------------------
 */

/* Memory stream for one line that check_json.h writes. */
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

/* Returns the JSON object of the line without its closing brace. `rc` is the result of the function
 * that wrote the line. Returns NULL after an error. The caller frees the result. */
static char *close_line(struct line *line, int rc)
{
    if (!line->file)
        return NULL;
    if (fclose(line->file) != 0 || rc != 0 || line->len < 3) {
        free(line->text);
        return NULL;
    }
    line->text[line->len - 2] = '\0'; /* replaces the closing brace, which is before the newline */
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

/* Writes a JSON value and releases it. Returns 0, or -1 if out of memory. */
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

/* Writes `text`, a JSON object without its closing brace, and then the brace. Frees `text`. Returns
 * 0, or -1 if `text` is NULL. */
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
        out, close_line(&line,
                        line.file ? check_json_finding(line.file, file, finding, true, NULL) : -1));
}

int page_conn_write_summary(FILE *out, const struct check_report *report, int status)
{
    struct line line;

    open_line(&line);
    return put_open_object(
        out,
        close_line(&line, line.file ? check_json_summary(line.file, report, true, status) : -1));
}

/* ---- members that only the page has ------------------------------------------------------------
 */

/* Writes a distribution, if it has samples. `key`: kind of operation, or "rtt". */
static void put_distribution(struct json_line *to, const struct roce_conn_summary *sum,
                             unsigned side, const char *key, const char *name,
                             const struct roce_hist *hist)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (!hist || hist->total == 0)
        return;
    strbuf_addf(&t, "%s of ", name);
    strbuf_add_addr(&t, sum->side[side].addr);
    json_line_open(to, NULL, '{');
    json_line_text(to, "title", buf);
    json_line_number(to, "side", side);
    json_line_text(to, "key", key);
    json_line_open(to, "buckets", '[');
    for (unsigned i = 0; i < ROCE_HIST_BUCKETS; i++)
        if (hist->cnt[i]) {
            json_line_open(to, NULL, '[');
            json_line_number(to, NULL, roce_hist_low(i));
            json_line_number(to, NULL, roce_hist_low(i + 1));
            json_line_number(to, NULL, hist->cnt[i]);
            json_line_close(to, ']');
        }
    json_line_close(to, ']');
    json_line_close(to, '}');
}

char *page_conn_distributions(const struct roce_conn_summary *sum)
{
    static const char *const names[ROCE_OPER_CNT][2] = {{"send", "SEND"},
                                                        {"write", "WRITE"},
                                                        {"read", "READ"},
                                                        {"atomic", "Atomic"},
                                                        {"other", "Other"}};
    struct json_line to;
    struct line line;
    char *text;

    if (open_line(&line)) {
        json_line_begin(&to, line.file, false);
        json_line_open(&to, "distributions", '[');
        for (unsigned side = 0; side < 2; side++) {
            for (unsigned i = 0; i < ROCE_OPER_CNT; i++)
                put_distribution(&to, sum, side, names[i][0], names[i][1],
                                 sum->side[side].oper[i].latency);
            put_distribution(&to, sum, side, "rtt", "Round trip of acknowledgements",
                             sum->side[side].ack_rtt);
        }
        json_line_close(&to, ']');
    }
    text = close_line(&line, line.file ? json_line_end(&to) : -1);
    if (text)
        memmove(text, text + 1, strlen(text)); /* removes the opening brace */
    return text;
}

/* Writes the numbers of the connection in the table: packets, goodput (bytes), repeated packets,
 * waits and duration (ns). */
static void put_row(struct json_line *to, const struct roce_conn_summary *sum)
{
    uint64_t packets = 0, goodput = 0, again = 0;

    for (unsigned i = 0; i < 2; i++) {
        packets += sum->side[i].packets;
        goodput += check_side_goodput(&sum->side[i]);
        again += sum->side[i].repeated_responses;
        for (unsigned cause = 0; cause < ROCE_CAUSE_CNT; cause++)
            again += sum->side[i].retx[cause].packets;
    }
    json_line_open(to, "row", '[');
    json_line_number(to, NULL, packets);
    json_line_number(to, NULL, goodput);
    json_line_number(to, NULL, again);
    json_line_number(to, NULL, time_budget_waited_ns(sum));
    json_line_number(to, NULL, check_conn_duration_ns(sum));
    json_line_close(to, ']');
}

/* Writes a line with one JSON object: the members of a connection that only a page needs. Returns
 * 0, or -1 after an error. */
static int put_page_members(FILE *out, const struct roce_conn_summary *sum,
                            const struct two_points *points)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    struct json_line to;

    check_conn_title(&t, sum);
    json_line_begin(&to, out, false);
    json_line_text(&to, "title", buf);
    json_line_number(&to, "trouble", headline_state(sum));
    put_row(&to, sum);
    page_texts_conn(&to, sum, points);
    return json_line_end(&to);
}

char *page_conn_json(const char *file, const struct check_conn *conn,
                     const struct two_points *points)
{
    struct line line;
    size_t first = 0;
    char *text;
    int rc = -1;

    if (open_line(&line) && check_json_conn(line.file, file, conn, points, true, NULL) == 0 &&
        fflush(line.file) == 0) {
        first = line.len;
        rc = put_page_members(line.file, &conn->sum, points);
    }
    text = close_line(&line, rc);
    if (!text)
        return NULL;
    /* Replaces the end of the first object and the start of the second one by a comma. */
    text[first - 2] = ',';
    memmove(text + first - 1, text + first + 1, strlen(text + first + 1) + 1);
    return text;
}
