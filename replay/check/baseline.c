/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check/base/conn_pairs.h"
#include "check/causes/time_budget.h"
#include "check/conn_summary.h"
#include "util/json_line.h"
#include "util/keymap.h"
#include "util/strbuf.h"
#include "util/xml_escape.h"

/* Maximum number of connections in the text without -v. */
#define CONNS_MAX 10u

/* Performance of a connection, or of all connections of a capture. */
struct performance {
    uint64_t first_time, last_time; /* ns; 0 if there is no packet */
    uint64_t bytes, messages;       /* payload and number of completed messages */
    uint64_t packets, retransmitted;
    uint64_t waited_ns; /* time that requesters waited before retransmissions or for responses */
    uint64_t rnr_naks;
    struct roce_hist latency; /* times from the first packet of a message to its completion */
};

struct baseline_conn {
    uint32_t index; /* number of the connection */
    bool paired;    /* the other capture has a corresponding connection (conn_pairs.h) */
    struct conn_key key;
    struct performance is;
    char title[128];
};

struct recorded {
    struct baseline *owner;
    const char *name;
    struct baseline_conn *conn;
    size_t cnt, cap;
    struct performance all;
};

/* A connection of the new capture and the corresponding connection of the old capture. */
struct pair {
    const struct baseline_conn *conn[BASELINE_CNT];
    double change; /* slowdown of the connection, percent; negative: it became faster */
};

struct baseline {
    double percent;
    struct recorded capture[BASELINE_CNT];
    struct pair *pair; /* sorted by `change`, the greatest slowdown first */
    size_t pair_cnt;
    bool failed; /* memory ran out */
};

struct baseline *baseline_new(double percent)
{
    struct baseline *b = calloc(1, sizeof(*b));

    if (!b)
        return NULL;
    b->percent = percent;
    for (unsigned i = 0; i < BASELINE_CNT; i++)
        b->capture[i].owner = b;
    return b;
}

void baseline_del(struct baseline *b)
{
    for (unsigned i = 0; b && i < BASELINE_CNT; i++)
        free(b->capture[i].conn);
    if (b)
        free(b->pair);
    free(b);
}

/* ---- recording a capture -----------------------------------------------------------------------
 */

static void add_latency(struct roce_hist *to, const struct roce_hist *from)
{
    if (!from || from->total == 0)
        return;
    for (unsigned i = 0; i < ROCE_HIST_BUCKETS; i++)
        to->cnt[i] += from->cnt[i];
    to->min = to->total == 0 || from->min < to->min ? from->min : to->min;
    to->max = from->max > to->max ? from->max : to->max;
    to->total += from->total;
    to->sum += from->sum;
}

static void add_connection(struct performance *p, const struct roce_conn_summary *sum)
{
    if (p->last_time == 0 || sum->facts.first_time < p->first_time)
        p->first_time = sum->facts.first_time;
    if (sum->facts.last_time > p->last_time)
        p->last_time = sum->facts.last_time;
    p->waited_ns += time_budget_waited_ns(sum);
    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *side = &sum->side[i];

        p->packets += side->packets;
        p->rnr_naks += side->rnr_naks;
        p->retransmitted += check_side_retransmitted(side).packets + side->repeated_responses;
        p->bytes += check_side_goodput(side);
        for (unsigned k = 0; k < ROCE_OPER_CNT; k++) {
            p->messages += side->oper[k].completed;
            add_latency(&p->latency, side->oper[k].latency);
        }
    }
}

static void record_conn(void *user, const struct roce_conn_summary *sum)
{
    struct recorded *r = user;
    struct baseline_conn *conn;
    struct strbuf t;

    add_connection(&r->all, sum);
    if (!VEC_GROW(r->conn, r->cnt, r->cap)) {
        r->owner->failed = true;
        return;
    }
    conn = &r->conn[r->cnt++];
    *conn = (struct baseline_conn){.index = sum->facts.conn_index};
    conn_key_init(&conn->key, sum);
    t = strbuf_of(conn->title, sizeof(conn->title));
    check_conn_title(&t, sum);
    add_connection(&conn->is, sum);
    conn->key.messages = conn->is.messages;
    conn->key.bytes = conn->is.bytes;
}

struct check_watch baseline_watch(struct baseline *b, unsigned capture)
{
    return (struct check_watch){.user = &b->capture[capture], .on_conn = record_conn};
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

static double rate_of(const struct performance *p)
{
    uint64_t ns = p->last_time - p->first_time;

    return ns ? (double)p->bytes * 1e9 / (double)ns : 0;
}

/* Returns the increase from `old` to `new` in percent; 0 if one of them is unknown. */
static double increase(double old, double new)
{
    return old > 0 && new > 0 ? (new - old) * 100 / old : 0;
}

/* Returns by how many percent `new` is slower than `old`: the decrease of the rate or the increase
 * of the median latency, whichever is greater. Ignores the latency if its increase is 0 or unknown.
 * A negative result means that `new` is faster. */
static double slower_by(const struct performance *old, const struct performance *new)
{
    double rate = -increase(rate_of(old), rate_of(new));
    double latency = increase((double)roce_hist_quantile(&old->latency, 500),
                              (double)roce_hist_quantile(&new->latency, 500));

    return rate > latency || latency == 0 ? rate : latency;
}

static int pair_cmp(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->change != y->change)
        return x->change > y->change ? -1 : 1;
    return (x->conn[BASELINE_NEW]->index > y->conn[BASELINE_NEW]->index) -
           (x->conn[BASELINE_NEW]->index < y->conn[BASELINE_NEW]->index);
}

static int conn_cmp(const void *a, const void *b)
{
    const struct baseline_conn *x = a, *y = b;

    return (x->index > y->index) - (x->index < y->index);
}

/* Returns the keys of the connections of a capture, or NULL if out of memory. */
static struct conn_key *keys_of(const struct recorded *r)
{
    struct conn_key *key = calloc(r->cnt + 1, sizeof(*key));

    for (size_t i = 0; key && i < r->cnt; i++)
        key[i] = r->conn[i].key;
    return key;
}

/* Finds the pairs of corresponding connections, and sets b->pair. Returns 0, or -1 if out of
 * memory. */
static int add_pairs(struct baseline *b)
{
    struct recorded *old = &b->capture[BASELINE_OLD], *new = &b->capture[BASELINE_NEW];
    struct conn_key *old_key = keys_of(old), *new_key = keys_of(new);
    uint32_t *partner = calloc(new->cnt + 1, sizeof(*partner));
    int rc = -1;

    b->pair = calloc(new->cnt + 1, sizeof(*b->pair));
    if (old_key && new_key && partner && b->pair)
        rc = conn_pairs_find(old_key, (uint32_t)old->cnt, new_key, (uint32_t) new->cnt, partner);
    for (size_t i = 0; rc == 0 && i < new->cnt; i++) {
        struct baseline_conn *is = &new->conn[i], *was = NULL;

        if (partner[i] == CONN_PAIRS_NONE)
            continue;
        was = &old->conn[partner[i]];
        is->paired = was->paired = true;
        b->pair[b->pair_cnt++] = (struct pair){.conn = {[BASELINE_OLD] = was, [BASELINE_NEW] = is},
                                               .change = slower_by(&was->is, &is->is)};
    }
    free(old_key);
    free(new_key);
    free(partner);
    return rc;
}

int baseline_compare(struct baseline *b, const char *const name[BASELINE_CNT], struct error *error)
{
    for (unsigned i = 0; i < BASELINE_CNT; i++) {
        struct recorded *r = &b->capture[i];

        r->name = name[i];
        if (r->all.messages == 0 && !b->failed)
            return error_set(error, "%s: no completed message to compare", name[i]);
        qsort(r->conn, r->cnt, sizeof(*r->conn), conn_cmp);
    }
    if (b->failed || add_pairs(b) != 0)
        return error_set(error, "no memory to compare %s with %s", name[BASELINE_NEW],
                         name[BASELINE_OLD]);
    qsort(b->pair, b->pair_cnt, sizeof(*b->pair), pair_cmp);
    return 0;
}

static double change_of(const struct baseline *b)
{
    return slower_by(&b->capture[BASELINE_OLD].all, &b->capture[BASELINE_NEW].all);
}

static const char *word_of(const struct baseline *b, double change)
{
    return change >= b->percent ? "slower" : change <= -b->percent ? "faster" : "as fast";
}

bool baseline_is_slower(const struct baseline *b)
{
    return change_of(b) >= b->percent;
}

/* ---- text --------------------------------------------------------------------------------------
 */

/* Appends a comparison of rate and latency, for example "slower: 12.3 → 9.8 Gbit/s (-20 %)". */
static void add_sentence(struct strbuf *t, const struct baseline *b, double change,
                         const struct performance *old, const struct performance *new)
{
    uint64_t was = roce_hist_quantile(&old->latency, 500);
    uint64_t is = roce_hist_quantile(&new->latency, 500);

    strbuf_addf(t, "%s: ", word_of(b, change));
    strbuf_add_rate(t, rate_of(old));
    strbuf_addf(t, " → ");
    strbuf_add_rate(t, rate_of(new));
    strbuf_addf(t, " (%+.0f %%)", increase(rate_of(old), rate_of(new)));
    if (was == 0 || is == 0)
        return;
    strbuf_addf(t, ", median latency ");
    strbuf_add_duration(t, was);
    strbuf_addf(t, " → ");
    strbuf_add_duration(t, is);
    strbuf_addf(t, " (%+.0f %%)", increase((double)was, (double)is));
}

static void print_times(FILE *out, const char *noun, uint64_t old, uint64_t new)
{
    char buf[128];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (old == 0 && new == 0)
        return;
    strbuf_add_duration(&t, old);
    strbuf_addf(&t, " → ");
    strbuf_add_duration(&t, new);
    fprintf(out, "  %-22s%s\n", noun, buf);
}

/* Prints longest latencies, retransmissions, waits and RNR NAKs of both captures. */
static void print_details(FILE *out, const struct performance *old, const struct performance *new)
{
    print_times(out, "latency, 99 %", roce_hist_quantile(&old->latency, 990),
                roce_hist_quantile(&new->latency, 990));
    print_times(out, "latency, longest", old->latency.max, new->latency.max);
    if (old->retransmitted || new->retransmitted)
        fprintf(
            out, "  %-22s%" PRIu64 " of %" PRIu64 " packets → %" PRIu64 " of %" PRIu64 " packets\n",
            "retransmitted", old->retransmitted, old->packets, new->retransmitted, new->packets);
    print_times(out, "waiting", old->waited_ns, new->waited_ns);
    if (old->rnr_naks || new->rnr_naks)
        fprintf(out, "  %-22s%" PRIu64 " → %" PRIu64 "\n", "RNR NAKs", old->rnr_naks,
                new->rnr_naks);
}

/* Prints the connections of a capture without a corresponding connection in the other capture. */
static void print_unpaired(FILE *out, const struct recorded *r, bool verbose)
{
    size_t shown = 0;

    for (size_t i = 0; i < r->cnt; i++) {
        if (r->conn[i].paired)
            continue;
        if (shown++ < CONNS_MAX || verbose)
            fprintf(out, "  only in %s: #%u %s\n", r->name, r->conn[i].index, r->conn[i].title);
    }
    if (shown > CONNS_MAX && !verbose)
        fprintf(out, "  only in %s: %zu more connections (-v prints all)\n", r->name,
                shown - CONNS_MAX);
}

void baseline_print(FILE *out, const struct baseline *b, bool verbose)
{
    const struct recorded *old = &b->capture[BASELINE_OLD], *new = &b->capture[BASELINE_NEW];
    size_t shown = 0, same = 0;
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    add_sentence(&t, b, change_of(b), &old->all, &new->all);
    fprintf(out, "compared with %s:\n  → %s\n", old->name, buf);
    print_details(out, &old->all, &new->all);
    for (size_t i = 0; i < b->pair_cnt && (verbose || new->cnt > 1); i++) {
        const struct baseline_conn *conn = b->pair[i].conn[BASELINE_NEW];

        if (!verbose && (b->pair[i].change < b->percent && b->pair[i].change > -b->percent)) {
            same++;
            continue;
        }
        if (!verbose && shown++ >= CONNS_MAX)
            continue;
        t = strbuf_of(buf, sizeof(buf));
        add_sentence(&t, b, b->pair[i].change, &b->pair[i].conn[BASELINE_OLD]->is, &conn->is);
        fprintf(out, "  #%u %s", conn->index, conn->title);
        if (b->pair[i].conn[BASELINE_OLD]->index != conn->index)
            fprintf(out, ", before #%u", b->pair[i].conn[BASELINE_OLD]->index);
        fprintf(out, ": %s\n", buf);
    }
    if (!verbose && shown > CONNS_MAX)
        fprintf(out, "  %zu more connections are slower or faster (-v prints all)\n",
                shown - CONNS_MAX);
    if (same && shown)
        fprintf(out, "  %zu connection%s as fast as before\n", same, same == 1 ? " is" : "s are");
    if (new->cnt != old->cnt || b->pair_cnt != new->cnt)
        fprintf(out, "  connections: %zu → %zu, of which %zu can be compared\n", old->cnt, new->cnt,
                b->pair_cnt);
    for (unsigned i = 0; i < BASELINE_CNT; i++)
        print_unpaired(out, &b->capture[i], verbose);
}

/* ---- JSON and JUnit ----------------------------------------------------------------------------
 */

static void put_performance(struct json_line *line, const char *key, const struct performance *p)
{
    json_line_open(line, key, '{');
    json_line_number(line, "goodput_bytes", p->bytes);
    json_line_real(line, "goodput_bytes_per_s", rate_of(p));
    json_line_number(line, "messages", p->messages);
    json_line_number_or_null(line, "p50_ns", roce_hist_quantile(&p->latency, 500), 0);
    json_line_number_or_null(line, "p90_ns", roce_hist_quantile(&p->latency, 900), 0);
    json_line_number_or_null(line, "p99_ns", roce_hist_quantile(&p->latency, 990), 0);
    json_line_number_or_null(line, "max_ns", p->latency.max, 0);
    json_line_number(line, "packets", p->packets);
    json_line_number(line, "retransmitted", p->retransmitted);
    json_line_number(line, "waited_ns", p->waited_ns);
    json_line_number(line, "rnr_naks", p->rnr_naks);
    json_line_close(line, '}');
}

static void put_comparison(struct json_line *line, const struct baseline *b, double change,
                           const struct performance *old, const struct performance *new)
{
    json_line_text(line, "result", word_of(b, change));
    json_line_real(line, "slower_percent", change);
    put_performance(line, "old", old);
    put_performance(line, "new", new);
}

/* Writes the numbers of the connections without a corresponding connection in the other capture. */
static void put_unpaired(struct json_line *line, const char *key, const struct recorded *r)
{
    json_line_open(line, key, '[');
    for (size_t i = 0; i < r->cnt; i++)
        if (!r->conn[i].paired)
            json_line_number(line, NULL, r->conn[i].index);
    json_line_close(line, ']');
}

int baseline_json(FILE *out, const struct baseline *b)
{
    const struct recorded *old = &b->capture[BASELINE_OLD], *new = &b->capture[BASELINE_NEW];
    struct json_line line;
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    add_sentence(&t, b, change_of(b), &old->all, &new->all);
    json_line_begin(&line, out, false);
    json_line_text(&line, "type", "baseline");
    json_line_text(&line, "file", new->name);
    json_line_text(&line, "baseline", old->name);
    json_line_text(&line, "headline", buf);
    put_comparison(&line, b, change_of(b), &old->all, &new->all);
    json_line_open(&line, "connections", '[');
    for (size_t i = 0; i < b->pair_cnt; i++) {
        const struct pair *p = &b->pair[i];

        json_line_open(&line, NULL, '{');
        json_line_number(&line, "connection", p->conn[BASELINE_NEW]->index);
        json_line_number(&line, "baseline_connection", p->conn[BASELINE_OLD]->index);
        put_comparison(&line, b, p->change, &p->conn[BASELINE_OLD]->is, &p->conn[BASELINE_NEW]->is);
        json_line_close(&line, '}');
    }
    json_line_close(&line, ']');
    put_unpaired(&line, "only_old", old);
    put_unpaired(&line, "only_new", new);
    return json_line_end(&line);
}

void baseline_junit(FILE *out, const struct baseline *b, bool fail)
{
    const struct recorded *old = &b->capture[BASELINE_OLD], *new = &b->capture[BASELINE_NEW];
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    fail = fail && baseline_is_slower(b);
    add_sentence(&t, b, change_of(b), &old->all, &new->all);
    fputs("  <testsuite name=\"", out);
    xml_escape_name(out, new->name);
    fprintf(out,
            "\" tests=\"1\" failures=\"%d\" errors=\"0\" time=\"0.000000\">\n"
            "    <testcase classname=\"",
            fail);
    xml_escape_name(out, new->name);
    fputs("\" name=\"compared with ", out);
    xml_escape_name(out, old->name);
    fputs("\" time=\"0.000000\">\n", out);
    fputs(fail ? "      <failure type=\"slower\" message=\"" : "      <system-out>", out);
    xml_escape(out, buf);
    fputs(fail ? "\"/>\n" : "</system-out>\n", out);
    fputs("    </testcase>\n  </testsuite>\n", out);
}
