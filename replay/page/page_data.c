/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "check/headline.h"
#include "page/page_conn.h"
#include "page/page_texts.h"
#include "page/page_view.h"
#include "page/parallel_text.h"
#include "page/psn_axis.h"
#include "page/psn_legend.h"
#include "util/keymap.h"
#include "wire/codes.h"

/* ---- writing numbers ---------------------------------------------------------------------------
 */

/* Buffer of numbers, as text, that are not yet written to the file. Most of a large page is
 * numbers, and writing each with stdio is several times slower. */
struct numbers {
    FILE *out;
    size_t len;
    char buf[1 << 14];
};

#define NUMBER_LEN 24u /* maximum length of a number with its separator */

/* Initializes the buffer. Does not clear `buf`, because that would take most of the time for a page
 * of many connections. */
static void begin_numbers(struct numbers *numbers, FILE *out)
{
    numbers->out = out;
    numbers->len = 0;
}

static void flush_numbers(struct numbers *numbers)
{
    fwrite(numbers->buf, 1, numbers->len, numbers->out);
    numbers->len = 0;
}

/* Decimal digits of the numbers 0 to 99. */
static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
    "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
    "8081828384858687888990919293949596979899";

/* Appends the separator `sep` (0: none) and a number to the buffer. */
static void put_number(struct numbers *numbers, char sep, int64_t v)
{
    char digits[NUMBER_LEN], *p = digits + sizeof(digits), *to;
    uint64_t left = v < 0 ? -(uint64_t)v : (uint64_t)v;

    if (numbers->len + NUMBER_LEN > sizeof(numbers->buf))
        flush_numbers(numbers);
    to = numbers->buf + numbers->len;
    if (sep)
        *to++ = sep;
    if (v < 0)
        *to++ = '-';
    if (left < 10) { /* the fast case for most numbers */
        *to++ = (char)('0' + left);
        numbers->len = (size_t)(to - numbers->buf);
        return;
    }
    for (; left >= 100; left /= 100)
        memcpy(p -= 2, &pairs[2 * (left % 100)], 2);
    memcpy(p -= 2, &pairs[2 * left], 2);
    p += left < 10;
    memcpy(to, p, (size_t)(digits + sizeof(digits) - p));
    to += digits + sizeof(digits) - p;
    numbers->len = (size_t)(to - numbers->buf);
}

/* Appends a short text to the buffer. */
static void put_short_text(struct numbers *numbers, const char *text)
{
    size_t len = strlen(text);

    if (numbers->len + len > sizeof(numbers->buf))
        flush_numbers(numbers);
    memcpy(numbers->buf + numbers->len, text, len);
    numbers->len += len;
}

static int64_t time_since(uint64_t time, uint64_t base)
{
    return (int64_t)(time - base);
}

/* ---- packet runs -------------------------------------------------------------------------------
 */

#define STYLE_LEN 8u /* members of a run that style_index() compares, bytes */

/* The distinct styles of the runs. Many runs share one style. The data contains each style once,
 * and a run refers to it by its index. */
struct styles {
    const struct packet_run **of; /* first run of each style */
    struct keymap index;
    bool failed; /* out of memory */
};

/* Makes room for the styles of `cnt` runs. Returns 0, or -1 if out of memory. */
static int begin_styles(struct styles *styles, uint32_t cnt)
{
    *styles = (struct styles){.of = calloc(cnt, sizeof(const struct packet_run *))};
    keymap_init(&styles->index, STYLE_LEN);
    return styles->of ? 0 : -1;
}

static void free_styles(struct styles *styles)
{
    free(styles->of);
    keymap_free(&styles->index);
}

static uint32_t style_index(struct styles *styles, const struct packet_run *run)
{
    const uint8_t style[STYLE_LEN] = {(uint8_t)(run->sport >> 8),
                                      (uint8_t)run->sport,
                                      run->side,
                                      run->class,
                                      run->kind,
                                      run->cause,
                                      run->marks,
                                      run->detail};
    uint32_t cnt = styles->index.cnt, index = keymap_add(&styles->index, style);

    if (index == cnt)
        styles->of[index] = run;
    styles->failed |= index == KEYMAP_NONE;
    return index;
}

static int compare_lanes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Stores the lanes of the styles in `lane`, in ascending order. A lane is a sender and its UDP
 * source port (packet_run_lane()). Returns the number of lanes. CNPs have no lane. */
static uint32_t find_lanes(const struct styles *styles, uint32_t *lane)
{
    uint32_t cnt = 0, kept = 0;

    for (uint32_t i = 0; i < styles->index.cnt; i++)
        if (styles->of[i]->class != RUN_CNP)
            lane[cnt++] = packet_run_lane(styles->of[i]);
    qsort(lane, cnt, sizeof(*lane), compare_lanes);
    for (uint32_t i = 0; i < cnt; i++)
        if (kept == 0 || lane[i] != lane[kept - 1])
            lane[kept++] = lane[i];
    return kept;
}

static bool is_again(const struct packet_run *run)
{
    return run->class == RUN_REPEATED_REQUEST || run->class == RUN_REPEATED_RESPONSE ||
           run->class == RUN_COPY;
}

/* Returns the name of a class of packets that the page shows. */
static const char *name_of(const struct packet_run *run)
{
    switch (run->class) {
    case RUN_ACK: return "ACK";
    case RUN_NAK: return "NAK";
    case RUN_RNR_NAK: return "RNR NAK";
    case RUN_CNP: return "CNP";
    default: return run_class_name(run->class);
    }
}

/* Returns the style of the mark of a run in the graph of packets, or NULL if it has none. */
static const char *mark_of(const struct packet_run *run)
{
    if (packet_run_is_refused(run))
        return "refused";
    return run->class == RUN_NAK || run->class == RUN_RNR_NAK || run->class == RUN_DROPPED
               ? psn_legend_class(run->class)
               : NULL;
}

/* Returns 0, or -1 if out of memory. */
static int write_styles(FILE *out, const struct styles *styles)
{
    uint32_t *lane = malloc((styles->index.cnt + 1) * sizeof(*lane)), lanes;
    char buf[96];

    if (!lane)
        return -1;
    lanes = find_lanes(styles, lane);
    fprintf(out, "\"lanes\":[");
    for (uint32_t i = 0; i < lanes; i++)
        fprintf(out, "%s%u", i ? "," : "", lane[i] & UINT16_MAX);
    fprintf(out, "],");

    fprintf(out, "\"styles\":[");
    for (uint32_t i = 0; i < styles->index.cnt; i++) {
        const struct packet_run *run = styles->of[i];
        const uint32_t key = packet_run_lane(run),
                       *at = bsearch(&key, lane, lanes, sizeof(*lane), compare_lanes);

        fprintf(out,
                "%s{\"side\":%u,\"direction\":%u,\"class\":\"%s\",\"kind\":\"%s\",\"sport\":%u",
                i ? "," : "", run->side, packet_run_direction(run), run_class_name(run->class),
                roce_kind_name((enum roce_kind)run->kind), run->sport);
        fprintf(out, ",\"name\":\"%s\",\"lane\":%td", name_of(run), at ? at - lane : 0);
        if (packet_run_is_in(run, packet_run_direction(run)))
            fputs(",\"psn\":true", out);
        if (run->class <= RUN_REPEATED_RESPONSE || run->class == RUN_COPY)
            fprintf(out, ",\"color\":\"%s\"", psn_legend_class(run->class));
        fprintf(out, ",\"again\":%s", is_again(run) ? "true" : "false");
        if (run->class == RUN_NAK || run->class == RUN_RNR_NAK || run->class == RUN_CNP ||
            run->class == RUN_DROPPED)
            fputs(",\"marked\":true", out);
        if (run->marks & RUN_MARK_IMPLIED_NAK)
            fputs(",\"implied\":true", out);
        if (run->marks & RUN_MARK_ACKED_BEFORE)
            fputs(",\"acked\":true", out);
        if (mark_of(run))
            fprintf(out, ",\"mark\":\"%s\"", mark_of(run));
        if (run->cause && !packet_run_is_refused(run))
            fprintf(out, ",\"cause\":\"%s\"", roce_cause_name((enum roce_cause)run->cause));
        if (run->class == RUN_NAK || run->class == RUN_RNR_NAK) {
            fputs(",\"syndrome\":", out);
            page_conn_put_string(out, roce_syndrome_text(run->detail, buf, sizeof(buf)));
        }
        fputc('}', out);
    }
    fputc(']', out);
    free(lane);
    return 0;
}

/* Returns whether a direction has more than one use of the QP pair. */
static bool is_used_again(const struct packet_runs *runs, unsigned direction)
{
    for (uint32_t i = 0; i < runs->cnt; i++)
        if (packet_run_begins_use(&runs->run[i]) && packet_run_is_in(&runs->run[i], direction))
            return true;
    return false;
}

/* The axes of the graphs of both directions. */
struct psn_axes {
    struct psn_axis of[2];
};

/* Returns the PSN axes of a connection, one for each direction. An axis begins with the first PSN
 * of the requester. It begins with the PSN of the first run instead if the first PSN is unknown, is
 * later than the PSN of the first run, or belongs to a later use of the QP pair. */
static struct psn_axes begin_axes(const struct packet_runs *runs,
                                  const struct roce_conn_summary *sum)
{
    struct psn_axes axes;

    for (unsigned d = 0; d < 2; d++) {
        const uint32_t first = sum->side[d].first_psn;
        struct psn_axis axis = psn_axis_begin(runs, d);

        if (first != ROCE_PSN_UNKNOWN && !is_used_again(runs, d) &&
            roce_psn_diff(roce_psn_of(axis.base), roce_psn_of(first)) >= 0)
            axis.base = first;
        axes.of[d] = axis;
    }
    return axes;
}

/* For each direction and use of the QP pair, writes the first run and the PSN that is 0 on the
 * axis. */
static void write_uses(FILE *out, const struct packet_runs *runs, const struct psn_axes *axes)
{
    fprintf(out, "\"uses\":[[0,0,%u],[0,1,%u]", axes->of[0].base, axes->of[1].base);
    for (uint32_t i = 0; i < runs->cnt; i++)
        if (packet_run_begins_use(&runs->run[i]))
            fprintf(out, ",[%u,%u,%u]", i, packet_run_direction(&runs->run[i]), runs->run[i].psn);
    fprintf(out, "],");
}

enum column {
    COLUMN_TIME,     /* time since the previous run, ns */
    COLUMN_DURATION, /* ns */
    COLUMN_FRAME,    /* first frame of the run minus first frame of the previous run */
    COLUMN_FRAMES,   /* last frame minus first frame */
    COLUMN_CNT,
    COLUMN_PSN,
    COLUMN_SPAN,
    COLUMN_PAYLOAD,
    COLUMN_WIRE,
    COLUMN_FLIGHT,
    COLUMN_STYLE,
    /* The columns from here on are sparse: they contain only the numbers that are not 0, each after
     * its index. */
    COLUMN_RTT,
    COLUMN_WAIT,
    COLUMN_GAP,
    COLUMN_CE,
    COLUMNS
};

static const char *const column_names[COLUMNS] = {
    "time", "duration", "frame", "frames", "count", "psn", "span", "payload",
    "wire", "flight",   "style", "rtt",    "wait",  "gap", "ce"};

/* Values of the previous run, for columns that contain differences, and the styles used up to
 * now. */
struct column_state {
    uint64_t time;
    uint32_t frame;
    struct psn_axes axes;
    struct styles *styles;
};

static int64_t column_value(struct column_state *state, enum column column,
                            const struct packet_run *run)
{
    struct psn_axis *axis;
    int64_t v;

    switch (column) {
    case COLUMN_TIME:
        v = time_since(run->first_time, state->time);
        state->time = run->first_time;
        return v;
    case COLUMN_DURATION: return time_since(run->last_time, run->first_time);
    case COLUMN_FRAME:
        v = (int64_t)run->first_frame - state->frame;
        state->frame = run->first_frame;
        return v;
    case COLUMN_FRAMES: return (int64_t)run->last_frame - run->first_frame;
    case COLUMN_CNT: return run->cnt;
    case COLUMN_PSN:
        if (run->class == RUN_CNP || run->class == RUN_OTHER)
            return 0;
        axis = &state->axes.of[packet_run_direction(run)];
        v = axis->at;
        return psn_axis_next(axis, run) - v;
    case COLUMN_SPAN: return run->span;
    case COLUMN_PAYLOAD: return (int64_t)run->payload;
    case COLUMN_WIRE: return (int64_t)run->wire;
    case COLUMN_FLIGHT: return (int64_t)run->flight;
    case COLUMN_STYLE: return style_index(state->styles, run);
    case COLUMN_RTT: return (int64_t)run->rtt;
    case COLUMN_WAIT: return (int64_t)run->wait;
    case COLUMN_GAP: return run->gap;
    case COLUMN_CE: return run->ce;
    default: return 0;
    }
}

/* Writes the captions of the graphs of packets. The first graph explains itself. */
static void write_captions(FILE *out, const struct packet_runs *runs, const struct psn_axes *axes)
{
    bool explained = false;

    fputs(",\"captions\":[", out);
    for (unsigned d = 0; d < 2; d++) {
        char zero[64];
        uint32_t i = 0;

        while (i < runs->cnt && !packet_run_is_in(&runs->run[i], d))
            i++;
        snprintf(zero, sizeof(zero), "PSN %u", axes->of[d].base);
        if (is_used_again(runs, d))
            snprintf(zero, sizeof(zero), "the first PSN of each use of the QP pair");
        if (explained)
            fprintf(out, ",\"+0 is %s.\"", zero);
        else
            fprintf(
                out,
                "%s\"Bars are packets: time to the right, packet sequence number (PSN) "
                "upwards; +0 is %s. A healthy flow climbs; steps back are retransmissions, bands "
                "are waits.\"",
                d ? "," : "", zero);
        explained |= i < runs->cnt;
    }
    fputc(']', out);
}

/* Returns 0, or -1 if out of memory. */
static int write_runs(FILE *out, const struct packet_runs *runs, uint64_t base,
                      const struct roce_conn_summary *sum)
{
    const struct psn_axes axes = begin_axes(runs, sum);
    struct styles styles;
    struct numbers numbers;
    int rc;

    if (begin_styles(&styles, runs->cnt) != 0) {
        free_styles(&styles);
        return -1;
    }
    begin_numbers(&numbers, out);
    write_captions(out, runs, &axes);
    fprintf(out, ",\"runs\":{");
    write_uses(out, runs, &axes);
    for (unsigned column = 0; column < COLUMNS; column++) {
        struct column_state state = {.time = base, .axes = axes, .styles = &styles};
        char sep = 0;

        fprintf(out, "\"%s\":[", column_names[column]);
        for (uint32_t i = 0; i < runs->cnt; i++) {
            int64_t v = column_value(&state, (enum column)column, &runs->run[i]);

            if (column >= COLUMN_RTT && v == 0)
                continue;
            if (column >= COLUMN_RTT) {
                put_number(&numbers, sep, i);
                sep = ',';
            }
            put_number(&numbers, sep, v);
            sep = ',';
        }
        flush_numbers(&numbers);
        fputs("],", out);
    }
    rc = write_styles(out, &styles) != 0 || styles.failed ? -1 : 0;
    free_styles(&styles);
    fputc('}', out);
    return rc;
}

/* ---- data of messages --------------------------------------------------------------------------
 */

/* Writes the times of the steps of a work request, in ns relative to the first packet of its
 * message. */
static void put_steps(struct numbers *numbers, const struct work_time *work,
                      const struct message_time *m)
{
    put_short_text(numbers, ",[");
    for (unsigned i = 0; i < STEP_CNT; i++)
        if (work->at[i])
            put_number(numbers, i ? ',' : 0, time_since(work->at[i], m->first));
        else
            put_short_text(numbers, ",null");
    put_short_text(numbers, "]");
}

/* Writes the operations of a connection as rows of [side, kind, first, last - first, done - first,
 * bytes, frame]; times in ns. If the work request of a message is known, its row also has the times
 * of the work request's steps. Returns whether a work request is known. */
static bool write_messages(FILE *out, const struct message_times *times,
                           const struct work_times *timeline, const uint32_t qpn[2], uint64_t base)
{
    const char *sep = "";
    struct numbers numbers;
    bool timed = false;

    begin_numbers(&numbers, out);
    fprintf(out, ",\"messages\":[");
    for (uint32_t i = 0; i < times->cnt; i++) {
        const struct message_time *m = &times->message[i];
        const struct work_time *work =
            timeline ? work_times_find(timeline, qpn[m->side & 1], m) : NULL;

        put_short_text(&numbers, sep);
        put_number(&numbers, '[', m->side);
        put_short_text(&numbers, ",\"");
        put_short_text(&numbers, roce_kind_name((enum roce_kind)m->kind));
        put_short_text(&numbers, "\"");
        put_number(&numbers, ',', time_since(m->first, base));
        put_number(&numbers, ',', time_since(m->last, m->first));
        put_number(&numbers, ',', time_since(m->done, m->first));
        put_number(&numbers, ',', (int64_t)m->bytes);
        put_number(&numbers, ',', m->frame);
        timed |= work != NULL;
        if (work)
            put_steps(&numbers, work, m);
        put_short_text(&numbers, "]");
        sep = ",";
    }
    flush_numbers(&numbers);
    fprintf(out, "],\"messages_left_out\":%" PRIu64, times->left_out);
    return timed;
}

/* ---- data of the capture -----------------------------------------------------------------------
 */

static bool is_selected(const struct page_selection *selection, uint32_t conn_index)
{
    if (!selection->conn)
        return true;
    for (uint32_t i = 0; i < selection->cnt; i++)
        if (selection->conn[i] == conn_index)
            return true;
    return false;
}

static int write_conn(FILE *out, const struct page_capture *capture, const struct page_conn *conn,
                      const struct check_report *report)
{
    const uint64_t base = report->counts.first_time;
    const struct page_stream *stream = page_capture_stream(capture, conn->conn_index);
    char *json = page_conn_json(capture->name, conn->summary, report->points);
    int rc = 0;

    if (!json)
        return -1;
    page_conn_put_json(out, json);
    free(json);
    fprintf(out, ",%s,\"drawn\":\"", conn->distributions);
    page_texts_drawn(out, stream ? &stream->runs : NULL);
    fprintf(out, "\"");
    if (stream) {
        rc = write_runs(out, &stream->runs, base, &conn->summary->sum);
        page_view_write(out, stream, base,
                        write_messages(out, &stream->messages, capture->timeline, conn->qpn, base));
    }
    fputs("}", out);
    return rc;
}

/* Compares two connections for the order of the page: by trouble, the worst first; then by waiting
 * time, the longest first; then by number of packets, the most first. */
static int compare_troubles(const void *a, const void *b)
{
    const struct page_conn *x = *(const struct page_conn *const *)a,
                           *y = *(const struct page_conn *const *)b;

    if (x->trouble != y->trouble)
        return x->trouble < y->trouble ? 1 : -1;
    if (x->waited_ns != y->waited_ns)
        return x->waited_ns < y->waited_ns ? 1 : -1;
    if (x->packets != y->packets)
        return x->packets < y->packets ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* Connections in the order of the page, and all that their data needs. */
struct conn_list {
    const struct page_capture *capture;
    const struct check_report *report;
    const struct page_conn **sorted;
};

static int put_conn(const void *list, uint32_t i, FILE *to)
{
    const struct conn_list *conns = list;

    fputs(i ? ",\n" : "\n", to);
    return write_conn(to, conns->capture, conns->sorted[i], conns->report);
}

/* Writes the selected connections, the worst first. Returns 0, or -1 after an error. */
static int write_conns(FILE *out, const struct page_capture *capture,
                       const struct check_report *report, const struct page_selection *selection)
{
    const struct page_conn **sorted =
        calloc(capture->conn_cnt + 1, sizeof(const struct page_conn *));
    const struct conn_list list = {capture, report, sorted};
    uint32_t cnt = 0;
    int rc;

    if (!sorted)
        return -1;
    for (uint32_t i = 0; i < capture->conn_cnt; i++)
        if (is_selected(selection, capture->conn[i].conn_index))
            sorted[cnt++] = &capture->conn[i];
    if (cnt)
        qsort(sorted, cnt, sizeof(const struct page_conn *), compare_troubles);
    fprintf(out, "\"connections\":[");
    rc = parallel_text_write(out, &list, cnt, put_conn, capture->threads);
    fprintf(out, "]");
    free(sorted);
    return rc;
}

/* Writes the findings of one severity, either the known deviations or all others. */
static int write_severity(FILE *out, const struct page_capture *capture,
                          const struct page_selection *selection, unsigned severity, bool known,
                          const char **sep)
{
    const struct page_findings *findings = &capture->findings[severity];

    for (uint32_t i = 0; i < findings->cnt; i++) {
        const struct roce_finding *finding = &findings->finding[i];

        if (!is_selected(selection, finding->conn_index) || (finding->known != NULL) != known)
            continue;
        fprintf(out, "%s\n", *sep);
        if (page_conn_write_finding(out, capture->name, finding) != 0)
            return -1;
        *sep = ",";
    }
    return 0;
}

/* Writes the findings, known deviations last. */
static int write_findings(FILE *out, const struct page_capture *capture,
                          const struct page_selection *selection)
{
    const char *sep = "";
    uint64_t left_out = 0;

    fprintf(out, "\"findings\":[");
    for (unsigned known = 0; known < 2; known++)
        for (unsigned s = ROCE_SEV_CNT; s > 0; s--)
            if (write_severity(out, capture, selection, s - 1, known, &sep) != 0)
                return -1;
    for (unsigned s = 0; s < ROCE_SEV_CNT; s++)
        left_out += capture->findings[s].left_out;
    fprintf(out, "],\n\"findings_left_out\":%" PRIu64 ",\n", left_out);
    return 0;
}

/* Writes the sentence at the top of the page. It is about the selected connection if only one is
 * selected, otherwise about the whole capture. Also writes whether this sentence reports success,
 * and its style: "warn" if the connection was only slow, congested or paused. */
static int write_lead(FILE *out, const struct page_capture *capture,
                      const struct check_report *report, const struct page_selection *selection)
{
    const struct page_conn *only = NULL;
    char buf[2048];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    enum headline_state state = HEADLINE_OK;
    const char *look = "good";

    for (uint32_t i = 0; i < capture->conn_cnt && selection->cnt == 1; i++)
        if (is_selected(selection, capture->conn[i].conn_index))
            only = &capture->conn[i];
    if (only) {
        headline_conn(&t, &only->summary->sum, report->points);
        state = headline_state(&only->summary->sum);
    } else if (headline_capture(&t, report)) {
        state = report->troubled ? headline_state(&report->worst) : HEADLINE_FAILED;
    }
    if (state != HEADLINE_OK)
        look = state > HEADLINE_SLOW ? "bad" : "warn";
    fprintf(out,
            ",\n\"good\":%s,\"look\":\"%s\",\"lead\":", state == HEADLINE_OK ? "true" : "false",
            look);
    return page_conn_put_string(out, buf);
}

/* Writes the sentences about the capture. */
static int write_texts(FILE *out, const struct page_capture *capture,
                       const struct check_report *report)
{
    uint64_t left_out = 0;
    char facts[512], findings[512];
    struct strbuf f = strbuf_of(facts, sizeof(facts)), g = strbuf_of(findings, sizeof(findings));

    for (unsigned s = 0; s < ROCE_SEV_CNT; s++)
        left_out += capture->findings[s].left_out;
    page_texts_facts(&f, report);
    page_texts_findings(&g, report, left_out);
    if (capture->undrawn)
        strbuf_addf(&f, " %" PRIu64 " packets are not drawn.", (uint64_t)capture->undrawn);
    fprintf(out, ",\n\"facts\":");
    if (page_conn_put_string(out, facts) != 0)
        return -1;
    fprintf(out, ",\"about_findings\":");
    return page_conn_put_string(out, findings);
}

static int write_report_text(FILE *out, const struct check_report *report)
{
    char *text = NULL;
    size_t len;
    FILE *mem = open_memstream(&text, &len);
    int rc = -1;

    if (!mem)
        return -1;
    check_text(mem, report, false);
    if (fclose(mem) == 0)
        rc = page_conn_put_string(out, text);
    free(text);
    return rc;
}

int page_data_write(FILE *out, const struct page_capture *capture,
                    const struct check_report *report, int status,
                    const struct page_selection *selection)
{
    if (capture->no_memory)
        return -1;
    fprintf(out, "{\"file\":");
    if (page_conn_put_string(out, capture->name) != 0)
        return -1;
    fprintf(out, ",\n\"summary\":");
    if (page_conn_write_summary(out, report, status) != 0)
        return -1;
    fprintf(out, ",\n\"text\":");
    if (write_report_text(out, report) != 0)
        return -1;
    if (write_texts(out, capture, report) != 0 || write_lead(out, capture, report, selection) != 0)
        return -1;
    fprintf(out, ",\n\"duration_ns\":%" PRIu64,
            report->counts.last_time - report->counts.first_time);
    fprintf(out, ",\n\"packets_left_out\":%" PRIu64 ",\"connections_left_out\":%" PRIu64 ",\n",
            (uint64_t)capture->undrawn, capture->conns_left_out);
    if (write_findings(out, capture, selection) != 0)
        return -1;
    if (write_conns(out, capture, report, selection) != 0)
        return -1;
    fprintf(out, "}");
    return 0;
}
