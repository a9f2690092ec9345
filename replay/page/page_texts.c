/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_texts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check/causes/loss_places.h"
#include "check/causes/path_text.h"
#include "check/causes/slow_causes.h"
#include "check/causes/time_budget.h"
#include "check/check.h"
#include "check/conn_summary.h"
#include "check/headline.h"

#define LINE_LEN 1024

static void add_count(struct strbuf *t, uint64_t cnt, const char *one)
{
    strbuf_addf(t, "%" PRIu64 " %s%s", cnt, one, cnt == 1 ? "" : "s");
}

/* ---- reasons -----------------------------------------------------------------------------------
 */

static void add_end(struct strbuf *t, const struct roce_endpoint_summary *side)
{
    strbuf_add_addr(t, side->addr);
    if (side->qpn != ROCE_QPN_UNKNOWN)
        strbuf_addf(t, " (QP 0x%06x)", side->qpn);
}

/* Text about one connection, and the advice in it. */
struct reason {
    struct strbuf text;
    char advice[LINE_LEN];
    char arrow[4]; /* arrow of the latest line about a side */
};

/* Returns whether a line of the report begins with something to do. */
static bool is_action(const char *line)
{
    static const char *const verbs[] = {"check ", "find out ", "look for ", "on ", "compare "};

    for (unsigned i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strncmp(line, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

/* Moves "; check ..." and ": check ..." at the end of an advice to its beginning. What was before
 * follows as the reason. */
static void put_action_first(char advice[LINE_LEN])
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    char *at = strstr(advice, "; check ");

    at = at ? at : strstr(advice, ": check ");
    if (!at || is_action(advice))
        return;
    *at = '\0';
    strbuf_addf(&t, "%s, because %s", at + 2, advice);
    memcpy(advice, buf, LINE_LEN);
}

/* Appends a line of the report about a slow connection. A line about one side begins with an arrow.
 * Before the first of several lines with the same arrow, appends the names of both sides. A bullet
 * replaces the arrow. */
static void add_slow_line(struct reason *reason, const struct roce_conn_summary *sum,
                          const char *line)
{
    const bool ahead = strncmp(line, "→ ", 4) == 0, back = strncmp(line, "← ", 4) == 0;

    if (!ahead && !back) {
        if (!*reason->advice || (is_action(line) && !is_action(reason->advice)))
            snprintf(reason->advice, sizeof(reason->advice), "%s",
                     line + (strncmp(line, "1× ", 4) == 0 ? 4 : 0));
        strbuf_addf(&reason->text, "   %s\n", line);
        return;
    }
    if (strncmp(reason->arrow, line, 3) != 0) {
        add_end(&reason->text, &sum->side[back]);
        strbuf_addf(&reason->text, " → ");
        add_end(&reason->text, &sum->side[!back]);
        strbuf_addf(&reason->text, ":\n");
        memcpy(reason->arrow, line, 3);
    }
    strbuf_addf(&reason->text, "• %s\n", line + 4);
}

static void add_slow_causes(struct reason *reason, const struct roce_conn_summary *sum,
                            const struct two_points *points)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    if (!out)
        return;
    slow_causes_print(out, sum, NULL, points, false);
    if (fclose(out) == 0)
        for (char *next, *one = strtok_r(text, "\n", &next); one; one = strtok_r(NULL, "\n", &next))
            add_slow_line(reason, sum, one + strspn(one, " "));
    free(text);
}

/* Appends why a connection failed or got stuck. */
static void add_failure(struct reason *reason, const struct roce_conn_summary *sum,
                        const struct two_points *points)
{
    const struct path path = path_of(points, sum, sum->facts.end_side & 1u);
    struct strbuf advice = strbuf_of(reason->advice, sizeof(reason->advice));

    check_conn_hint(&advice, sum, NULL, points != NULL);
    check_conn_reason(&reason->text, sum);
    strbuf_addf(&reason->text, "\n%s", reason->advice);
    if (path.mine) {
        strbuf_addf(&reason->text, "\n");
        path_last_text(&reason->text, &path, sum->facts.end_frame);
    }
    reason->advice[strcspn(reason->advice, "\n")] = '\0';
}

/* Appends which side had packets with ECN CE marks but received no CNP. */
static void add_marks(struct reason *reason, const struct roce_conn_summary *sum)
{
    struct strbuf advice = strbuf_of(reason->advice, sizeof(reason->advice));

    strbuf_addf(&advice, "check that ECN congestion control (DCQCN) is enabled on the NICs of ");
    strbuf_add_addr(&advice, sum->side[0].addr);
    strbuf_addf(&advice, " and ");
    strbuf_add_addr(&advice, sum->side[1].addr);
    for (unsigned i = 0; i < 2; i++) {
        if (!check_side_marked(sum, i))
            continue;
        add_end(&reason->text, &sum->side[i]);
        strbuf_addf(&reason->text, " → ");
        add_end(&reason->text, &sum->side[!i]);
        strbuf_addf(&reason->text, ":\n• ");
        add_count(&reason->text, sum->side[i].ce_unanswered, "packet");
        strbuf_addf(&reason->text, " with an ECN CE mark, no CNP: the sender does not slow down\n");
    }
    strbuf_addf(&reason->text, "   %s\n", reason->advice);
}

/* Writes the text of the report about a connection that failed, got stuck, was slow or had marked
 * packets, and the advice in it, as a sentence. */
static void put_reason(struct json_line *to, const struct roce_conn_summary *sum,
                       const struct two_points *points)
{
    char text[8 * LINE_LEN], sentence[LINE_LEN + 2];
    struct reason reason = {.text = strbuf_of(text, sizeof(text))};

    if (check_conn_failed(sum) || check_conn_stuck(sum))
        add_failure(&reason, sum, points);
    else if (check_conn_slow(sum) || check_conn_paused(sum))
        add_slow_causes(&reason, sum, points);
    else if (check_conn_marked(sum))
        add_marks(&reason, sum);
    put_action_first(reason.advice);
    json_line_text(to, "why", reason.text.len ? text : NULL);
    snprintf(sentence, sizeof(sentence), "%s.", reason.advice);
    sentence[0] = (char)toupper((unsigned char)sentence[0]);
    json_line_text(to, "advice", *reason.advice ? sentence : NULL);
}

/* ---- ends and time budget ----------------------------------------------------------------------
 */

static void put_ends(struct json_line *to, const struct roce_conn_summary *sum)
{
    static const char *const services[] = {[ROCE_SVC_RC] = "reliable connection (RC)",
                                           [ROCE_SVC_UC] = "unreliable connection (UC)",
                                           [ROCE_SVC_UD] = "unreliable datagrams (UD)",
                                           [ROCE_SVC_XRC] = "extended reliable connection (XRC)"};
    const char *name =
        sum->facts.svc < sizeof(services) / sizeof(services[0]) ? services[sum->facts.svc] : NULL;
    const char *sep = ", queue pairs (QP) ";
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, "%s", name ? name : roce_svc_name(sum->facts.svc));
    for (unsigned i = 0; i < 2; i++)
        if (sum->side[i].qpn != ROCE_QPN_UNKNOWN) {
            strbuf_addf(&t, "%s0x%06x", sep, sum->side[i].qpn);
            sep = " and ";
        }
    json_line_text(to, "ends", buf);
    json_line_open(to, "names", '[');
    for (unsigned i = 0; i < 2; i++) {
        t = strbuf_of(buf, sizeof(buf));
        add_end(&t, &sum->side[i]);
        json_line_text(to, NULL, buf);
    }
    json_line_close(to, ']');
}

/* Writes one part of the time budget: style, text and share. */
static void put_part(struct json_line *to, const char *class, const struct wait_part *part)
{
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, "%s: ", part->label);
    strbuf_add_duration(&t, part->ns);
    strbuf_addf(&t, " (%u.%u %%)", part->permille / 10, part->permille % 10);
    json_line_open(to, NULL, '[');
    json_line_text(to, NULL, class);
    json_line_text(to, NULL, buf);
    json_line_number(to, NULL, part->permille);
    json_line_close(to, ']');
}

/* Writes where the time of a connection went, if its requester waited for at least 1 % of it. */
static void put_budget(struct json_line *to, const struct roce_conn_summary *sum)
{
    static const char *const classes[TIME_PARTS] = {
        [WAIT_RESPONSE] = "slow",     [WAIT_TIMEOUT] = "timeout",
        [WAIT_SPURIOUS] = "spurious", [WAIT_READ_GAP] = "response-again",
        [WAIT_RNR_NAK] = "rnr",       [WAIT_SEQ_NAK] = "nak",
        [WAIT_UNKNOWN] = "other",     [WAIT_CREDIT] = "credit",
        [WAIT_SETUP] = "soft",        [WAIT_SILENCE] = "line",
        [TIME_IDLE] = "idle",         [TIME_SENDING] = "first"};
    struct wait_part part[TIME_PARTS];
    const unsigned cnt = time_budget_parts(sum, part);
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (cnt == 0)
        return;
    strbuf_addf(&t, "Where the ");
    strbuf_add_duration(&t, check_conn_duration_ns(sum));
    strbuf_addf(&t,
                " of connection #%u went (sums, not in the order of time):", sum->facts.conn_index);
    json_line_text(to, "spent", buf);
    json_line_open(to, "budget", '[');
    for (unsigned i = 0; i < cnt; i++)
        put_part(to, classes[part[i].cause], &part[i]);
    json_line_close(to, ']');
}

/* Appends for each side where on the path a switch marked its packets. */
static void add_marking_switch(struct strbuf *t, const struct roce_conn_summary *sum)
{
    for (unsigned i = 0; i < 2; i++) {
        if (sum->side[i].ce_marked == 0)
            continue;
        strbuf_addf(t, "A full queue between ");
        strbuf_add_addr(t, sum->side[i].addr);
        strbuf_addf(t, " and the capture point marked ");
        add_count(t, sum->side[i].ce_marked, "packet");
        strbuf_addf(t, " (ECN CE). ");
    }
}

/* Writes the title of the sketch of the path, if the connection needs the sketch. */
static void put_places_title(struct json_line *to, const struct roce_conn_summary *sum)
{
    struct loss_place place[LOSS_PLACES_MAX];
    char buf[LINE_LEN];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    if (loss_places(sum, place) > 0)
        json_line_text(to, "places_title",
                       "Where packets were lost or late (✕), as far as the capture shows:");
    else if (headline_state(sum) >= HEADLINE_MARKED) {
        add_marking_switch(&t, sum);
        strbuf_addf(&t, "The packets were recorded at the capture point, on the path between both "
                        "hosts. The capture shows no place where packets were lost.");
        json_line_text(to, "places_title", buf);
    }
}

void page_texts_conn(struct json_line *to, const struct roce_conn_summary *sum,
                     const struct two_points *points)
{
    json_line_number(to, "duration_ns", check_conn_duration_ns(sum));
    put_ends(to, sum);
    put_reason(to, sum, points);
    put_places_title(to, sum);
    put_budget(to, sum);
}

/* Returns whether a run of several packets has a mark, for example a finding. */
static bool merged_marks(const struct packet_runs *runs)
{
    for (uint32_t i = 0; i < runs->cnt; i++)
        if (runs->run[i].cnt > 1 && runs->run[i].marks)
            return true;
    return false;
}

void page_texts_drawn(FILE *out, const struct packet_runs *runs)
{
    const uint64_t merged = runs ? packet_runs_merged(runs) : 0;

    if (!runs)
        fprintf(out, "This page has no packets of this connection.");
    else if (merged)
        fprintf(out,
                "%" PRIu64
                " packets are drawn together with neighbours; packets with a finding are "
                "drawn %s.",
                merged, merged_marks(runs) ? "together, too" : "alone");
}

/* ---- the capture -------------------------------------------------------------------------------
 */

void page_texts_facts(struct strbuf *t, const struct check_report *report)
{
    const struct roce_flow_totals *sum = &report->totals;

    add_count(t, report->frames, "frame");
    strbuf_addf(t, ", ");
    add_count(t, sum->packets, "RoCE packet");
    strbuf_addf(t, ", ");
    strbuf_add_duration(t, report->counts.last_time - report->counts.first_time);
    strbuf_addf(t, ", ");
    add_count(t, report->ended, "connection");
    strbuf_addf(t, ", ");
    if (sum->errors_unknown)
        add_count(t, sum->errors_unknown, "violated rule");
    else
        strbuf_addf(t, "no rule of the protocol was violated");
    strbuf_addf(t, ".");
}

void page_texts_findings(struct strbuf *t, const struct check_report *report, uint64_t left_out)
{
    static const char *const names[ROCE_SEV_CNT] = {
        [ROCE_SEV_ERROR] = "error", [ROCE_SEV_WARN] = "warning", [ROCE_SEV_NOTE] = "note"};
    const uint64_t known = check_report_known(report);
    const char *sep = "";

    for (unsigned s = ROCE_SEV_CNT; s > 0; s--) {
        const uint64_t cnt = report->totals.findings[s - 1];

        if (cnt == 0)
            continue;
        strbuf_addf(t, "%s", sep);
        add_count(t, cnt, names[s - 1]);
        sep = ", ";
    }
    strbuf_addf(t, "%s", *sep ? "" : "No findings");
    if (known)
        strbuf_addf(t,
                    "; %" PRIu64 " of them are known deviations of the peer, at the end of the "
                    "list",
                    known);
    if (left_out)
        strbuf_addf(t, "; %" PRIu64 " are not listed here", left_out);
    strbuf_addf(t, ".");
}
