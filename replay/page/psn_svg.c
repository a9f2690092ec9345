/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/psn_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "page/ack_line.h"
#include "page/loss_marks.h"
#include "page/page_capture.h"
#include "page/psn_axis.h"
#include "page/psn_legend.h"
#include "util/strbuf.h"
#include "util/xml_escape.h"
#include "wire/codes.h"

/* Sizes in pixels. */
#define WIDTH     960.0
#define HEIGHT    400.0 /* height of one graph with title and legend, pixels */
#define LEFT      70.0
#define RIGHT     20.0
#define TOP       104.0 /* height of the title and the legend, pixels */
#define ENTRY     18.0  /* height of a line of the legend, pixels */
#define BOTTOM    34.0
#define TEXT      200.0 /* length of the longest text of a loss */
#define TEXT_LINE 15.0  /* distance of two texts of losses */

/* One direction of the connection: requests of a side, and the responses to them. */
struct psn_graph {
    FILE *out;
    const struct packet_runs *runs;
    unsigned direction;
    double top; /* y of the graph in the drawing */
    /* Times of the first and last packet of both directions, ns. */
    uint64_t first_time, last_time;
    const int64_t *psn;    /* place of each run on the PSN axis of its direction */
    int64_t low, high;     /* lowest and highest PSN that the graph shows, as places */
    double text_x, text_y; /* place of the latest text of a loss */
};

static int64_t place_of(const struct psn_graph *g, const struct packet_run *run)
{
    return g->psn[run - g->runs->run];
}

static double x_of(const struct psn_graph *g, uint64_t time)
{
    double at = (double)(int64_t)(time - g->first_time),
           all = (double)(g->last_time - g->first_time);

    return LEFT + (WIDTH - LEFT - RIGHT) * (all > 0 ? at / all : 0.5);
}

/* Returns the y coordinate of a PSN. A PSN outside the graph, as a damaged packet may have, is
 * drawn at the edge. */
static double y_of(const struct psn_graph *g, double psn)
{
    double share = (psn - (double)g->low) / (double)(g->high - g->low);

    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return g->top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
}

/* Sets the ranges of times and PSNs of one direction. Returns true, or false if the direction has
 * no packets to draw. */
static bool find_ranges(struct psn_graph *g)
{
    bool any = false;

    for (uint32_t i = 0; i < g->runs->cnt; i++) {
        const struct packet_run *run = &g->runs->run[i];
        const int64_t psn = g->psn[i];

        if (!packet_run_is_in(run, g->direction))
            continue;
        if (!any) {
            *g = (struct psn_graph){.out = g->out,
                                    .runs = g->runs,
                                    .direction = g->direction,
                                    .top = g->top,
                                    .psn = g->psn,
                                    .first_time = run->first_time};
            any = true;
        }
        if (run->last_time > g->last_time)
            g->last_time = run->last_time;
        /* Ignore damaged packets, because their PSN may be wrong. */
        if (run->class == RUN_DROPPED)
            continue;
        if (psn - run->gap < g->low)
            g->low = psn - run->gap;
        if (psn + run->span > g->high)
            g->high = psn + run->span;
    }
    if (g->high == g->low)
        g->high++; /* if there is no valid PSN, the axis shows a range of 1 */
    return any;
}

/* Sets one time range for all graphs, so that a horizontal position is the same time in each graph.
 */
static void couple_times(struct psn_graph graph[], unsigned cnt)
{
    uint64_t first = graph[0].first_time, last = graph[0].last_time;

    for (unsigned i = 1; i < cnt; i++) {
        first = graph[i].first_time < first ? graph[i].first_time : first;
        last = graph[i].last_time > last ? graph[i].last_time : last;
    }
    for (unsigned i = 0; i < cnt; i++) {
        graph[i].first_time = first;
        graph[i].last_time = last;
    }
}

static void write_band(void *user, const struct wait_band *band)
{
    const struct psn_graph *g = user;
    const uint64_t to = band->run->first_time;
    double x0 = fmax(x_of(g, to - band->ns), LEFT), x1 = fmin(x_of(g, to), WIDTH - RIGHT);

    if (x1 > x0)
        fprintf(g->out,
                "<rect class=\"%s band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"10\"/>\n",
                psn_legend_band(band->kind), x0, y_of(g, (double)band->psn) - 5, x1 - x0);
}

/* Draws a ring at the place of a loss, and its text: below the text before if that one is near. */
static void write_loss_mark(void *user, const struct loss_mark *mark)
{
    struct psn_graph *g = user;
    double x = x_of(g, mark->run->first_time);
    double y = y_of(g, (double)(place_of(g, mark->run) + mark->offset) + 0.5);
    const bool left = x > WIDTH / 2,
               near = fabs(x - g->text_x) < TEXT && fabs(y + 4 - g->text_y) < TEXT_LINE;

    g->text_x = x;
    g->text_y = near ? g->text_y + TEXT_LINE : y + 4;
    fprintf(g->out,
            "<circle class=\"lost\" cx=\"%.1f\" cy=\"%.1f\" r=\"7\"/><text x=\"%.1f\" "
            "y=\"%.1f\" text-anchor=\"%s\">%s</text>\n",
            x, y, left ? x - 11 : x + 11, g->text_y, left ? "end" : "start", mark->text);
}

/* ---- axes and legend ---------------------------------------------------------------------------
 */

/* Returns the distance of two ticks on an axis: 1, 2 or 5 times a power of ten, so that `range` has
 * at most `ticks` ticks. */
static double tick_step(double range, unsigned ticks)
{
    double power = pow(10, floor(log10(range / ticks))), step = power;

    for (unsigned i = 0; step * ticks < range; i++)
        step = power * (i == 0 ? 2 : i == 1 ? 5 : 10);
    return step;
}

static void write_axes(const struct psn_graph *g)
{
    double right = WIDTH - RIGHT, bottom = g->top + HEIGHT - BOTTOM;
    double ns = (double)(g->last_time - g->first_time), step;

    step = tick_step((double)(g->high - g->low), 6);
    step = step < 1 ? 1 : step;
    for (double v = ceil((double)g->low / step) * step; v <= (double)g->high; v += step)
        fprintf(g->out,
                "<path class=\"grid\" d=\"M%.0f %.1fH%.0f\"/>"
                "<text x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n",
                LEFT, y_of(g, v), right, LEFT - 8, y_of(g, v) + 4, v + 0.0);
    step = ns > 0 ? tick_step(ns, 8) : 1;
    for (double v = 0; v <= ns; v += step) {
        double x = x_of(g, g->first_time + (uint64_t)v);
        char buf[32];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        strbuf_add_duration(&t, (uint64_t)v);
        fprintf(g->out,
                "<path class=\"grid\" d=\"M%.1f %.0fV%.0f\"/>"
                "<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%s</text>\n",
                x, g->top + TOP, bottom, x, bottom + 18, v > 0 ? buf : "0");
    }
}

/* Place of the next entry of a legend. */
struct legend {
    double x, y;
};

/* Writes an entry of a legend: a sign if the text begins with one, otherwise a coloured area. */
static void write_legend_entry(const struct psn_graph *g, struct legend *at, const char *class,
                               const char *text)
{
    const size_t sign_len = (unsigned char)*text >= 0x80 ? strcspn(text, " ") : 0;
    double width;
    char sign[8];

    snprintf(sign, sizeof(sign), "%.*s", (int)sign_len, text);
    text += sign_len ? sign_len + 1 : 0;
    width = 40 + 6.2 * (double)strlen(text);
    if (at->x + width > WIDTH - RIGHT) {
        at->x = LEFT;
        at->y += ENTRY;
    }
    if (*sign)
        fprintf(g->out, "<text class=\"sign %s\" x=\"%.0f\" y=\"%.0f\">%s</text>", class, at->x,
                at->y, sign);
    else
        fprintf(g->out, "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"10\"/>",
                class, at->x, at->y - 9);
    fprintf(g->out, "<text class=\"entry\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", at->x + 19, at->y,
            text);
    at->x += width;
}

static void write_legend(const struct psn_graph *g, const struct check_report *report,
                         uint32_t conn_index)
{
    struct legend at = {LEFT, g->top + 62};
    struct psn_legend_entry entry[PSN_LEGEND_MAX];
    const unsigned cnt = psn_legend(g->runs, g->direction, entry);
    char title[256] = "";
    struct strbuf t = strbuf_of(title, sizeof(title));

    for (uint32_t i = 0; i < report->conn_cnt; i++) {
        const struct roce_endpoint_summary *side = report->conn[i].sum.side;

        if (report->conn[i].sum.facts.conn_index != conn_index)
            continue;
        strbuf_add_addr(&t, side[g->direction].addr);
        strbuf_addf(&t, " → ");
        strbuf_add_addr(&t, side[!g->direction].addr);
    }
    fprintf(g->out, "<text class=\"title\" x=\"%.0f\" y=\"%.0f\">", LEFT, g->top + 24);
    xml_escape(g->out, title);
    fprintf(g->out,
            ": packets over time</text>\n<text x=\"%.0f\" y=\"%.0f\">Time to the right, packet "
            "sequence number (PSN) upwards. A healthy flow climbs steadily; steps back are "
            "retransmissions.</text>\n",
            LEFT, g->top + 43);
    for (unsigned i = 0; i < cnt; i++) {
        char class[32];

        snprintf(class, sizeof(class), "%s%s", entry[i].class,
                 entry[i].kind < WAIT_BAND_KINDS ? " band" : "");
        write_legend_entry(g, &at, class, entry[i].text);
    }
}

/* ---- drawing packets ---------------------------------------------------------------------------
 */

static void write_bar(const struct psn_graph *g, const struct packet_run *run, int64_t psn)
{
    double x0 = x_of(g, run->first_time), x1 = x_of(g, run->last_time);
    double y0 = y_of(g, (double)psn), y1 = y_of(g, (double)(psn + run->span));

    fprintf(g->out, "<path class=\"%s line\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n",
            psn_legend_class(run->class), x0, y0, x1, fmin(y1, y0 - 1));
}

static void write_mark(const struct psn_graph *g, const struct packet_run *run, int64_t psn)
{
    static const char *const shapes[RUN_CLASS_CNT] = {
        [RUN_NAK] = "l-6-11h12z",
        [RUN_RNR_NAK] = "m-5-5h10v10h-10z",
        [RUN_DROPPED] = "m-5-7l2-2 3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3"
                        "-2-2 3-3z"};

    if (run->marks & RUN_MARK_IMPLIED_NAK)
        fprintf(g->out, "<path class=\"implied\" d=\"M%.1f %.1fm0-5l5 5-5 5-5-5z\"/>\n",
                x_of(g, run->first_time), y_of(g, (double)psn));
    if (packet_run_is_refused(run)) /* above the mark of the RNR NAK */
        fprintf(g->out, "<path class=\"refused\" d=\"M%.1f %.1fm0-7l-6-11h12z\"/>\n",
                x_of(g, run->first_time), y_of(g, (double)psn));
    else if (shapes[run->class])
        fprintf(g->out, "<path class=\"%s\" d=\"M%.1f %.1f%s\"/>\n", psn_legend_class(run->class),
                x_of(g, run->first_time), y_of(g, (double)psn), shapes[run->class]);
}

/* The line of acknowledged PSNs, an SVG path that is being written. */
struct ack_path {
    const struct psn_graph *g;
    bool any;
    int64_t psn; /* latest point of the path */
};

static void write_ack(void *user, const struct packet_run *run, int64_t psn)
{
    struct ack_path *path = user;
    const bool goes_on = path->any && psn > path->psn; /* a new use of the QP pair begins again at
                                                          PSN 0, at the bottom of the graph */

    fprintf(path->g->out, goes_on ? "H%.1fV%.1f" : "M%.1f %.1f", x_of(path->g, run->first_time),
            y_of(path->g, (double)psn));
    path->any = true;
    path->psn = psn;
}

static void write_acks(const struct psn_graph *g)
{
    struct ack_path path = {.g = g};

    fprintf(g->out, "<path class=\"ack step\" d=\"");
    ack_line_find(g->runs, g->direction, write_ack, &path);
    fprintf(g->out, "\"/>\n");
}

static void write_packets(const struct psn_graph *g)
{
    struct psn_graph graph = *g;

    write_acks(g);
    wait_bands_find(g->runs, g->direction, write_band, &graph);
    for (uint32_t i = 0; i < g->runs->cnt; i++) {
        const struct packet_run *run = &g->runs->run[i];
        const int64_t psn = g->psn[i];

        if (!packet_run_is_in(run, g->direction))
            continue;
        if (packet_run_begins_use(run))
            fprintf(g->out, "<path class=\"use\" d=\"M%.1f %.1fV%.1f\"/>\n",
                    x_of(g, run->first_time) - 3, g->top + TOP, g->top + HEIGHT - BOTTOM);
        if (run->gap)
            fprintf(g->out, "<path class=\"missing\" d=\"M%.1f %.1fV%.1f\"/>\n",
                    x_of(g, run->first_time), y_of(g, (double)psn),
                    y_of(g, (double)psn - run->gap));
        if (run->class <= RUN_REPEATED_RESPONSE || run->class == RUN_COPY)
            write_bar(g, run, psn);
    }
    for (uint32_t i = 0; i < g->runs->cnt; i++)
        if (packet_run_is_in(&g->runs->run[i], g->direction))
            write_mark(g, &g->runs->run[i], g->psn[i]);
    loss_marks_find(g->runs, g->direction, write_loss_mark, &graph);
}

static void write_style(FILE *out, double height)
{
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
        "height=\"%.0f\">\n<style>\n"
        "text{font:12px sans-serif;fill:#1b1f24}.title{font-size:15px;font-weight:bold}"
        ".grid{stroke:#d5dae0}.line{stroke-width:2.5;fill:none}.step{fill:none;stroke-width:1.2}"
        ".band{opacity:.3}\n"
        ".first{fill:#1f5fbf;stroke:#1f5fbf}.again{fill:#d1480f;stroke:#d1480f}"
        ".response{fill:#17805a;stroke:#17805a}.response-again{fill:#a86f00;stroke:#a86f00}"
        ".ack{fill:#6b7480;stroke:#6b7480}.nak,.damaged{fill:#c4122f}.rnr{fill:#8a2be2}.timeout{"
        "fill:#00707a}.spurious{fill:#7a5c00}.slow{fill:#2a9fd6}.other{fill:#6b7280;stroke:#6b7280}"
        ".step,.line{fill:none}.implied{fill:none;stroke:#c4122f;stroke-width:1.5}"
        ".lost{fill:none;stroke:#c4122f;stroke-width:2}"
        ".missing{fill:none;stroke:#c4122f;stroke-width:2.5;stroke-dasharray:3 2}"
        ".use{stroke:#1b1f24;stroke-dasharray:4 4}"
        ".refused{fill:none;stroke:#8a2be2;stroke-width:1.5}"
        ".sign{stroke:none}.sign.lost,.sign.missing,.sign.implied{fill:#c4122f}"
        ".sign.refused{fill:#8a2be2}\n"
        "</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        WIDTH, height, WIDTH, height);
}

/* Returns the place of each run on the PSN axis of its direction, or NULL if out of memory. The
 * caller frees it. */
static int64_t *places_of(const struct packet_runs *runs)
{
    int64_t *psn = calloc(runs->cnt, sizeof(*psn));

    for (unsigned d = 0; psn && d < 2; d++) {
        struct psn_axis axis = psn_axis_begin(runs, d);

        for (uint32_t i = 0; i < runs->cnt; i++)
            if (packet_run_is_in(&runs->run[i], d))
                psn[i] = psn_axis_next(&axis, &runs->run[i]);
    }
    return psn;
}

int psn_svg_write(FILE *out, const struct page_capture *capture, const struct check_report *report,
                  uint32_t conn_index, struct error *error)
{
    struct psn_graph graph[2];
    unsigned cnt = 0;
    const struct page_stream *stream = page_capture_stream(capture, conn_index);
    int64_t *psn = stream ? places_of(&stream->runs) : NULL;

    if (stream && !psn)
        return error_set(error, "%s: out of memory", capture->name);
    for (unsigned side = 0; stream && side < 2; side++) {
        graph[cnt] = (struct psn_graph){
            .out = out, .runs = &stream->runs, .direction = side, .top = HEIGHT * cnt, .psn = psn};
        cnt += find_ranges(&graph[cnt]);
    }
    if (cnt == 0) {
        free(psn);
        return error_set(error, "%s: connection %u has no packets to draw", capture->name,
                         conn_index);
    }
    couple_times(graph, cnt);
    write_style(out, HEIGHT * cnt);
    for (unsigned i = 0; i < cnt; i++) {
        write_legend(&graph[i], report, conn_index);
        write_axes(&graph[i]);
        write_packets(&graph[i]);
    }
    fprintf(out, "</svg>\n");
    free(psn);
    return 0;
}
