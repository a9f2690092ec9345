/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report.h"

#include <string.h>
#include "capture/packet_text.h"
#include "page/difference.h"
#include "report/ladder.h"
#include "report/report_stream.h"
#include "report/verdict.h"
#include "util/xml_escape.h"

/* Packets of a datagram stream or of a CM exchange. */
struct packet_list {
    const struct trace *trace;
    const uint32_t *pkt; /* indices into trace.pkt */
    size_t cnt;
    const uint8_t *left; /* address of the left end */
    const struct diff *diff;
    size_t diff_cnt;
    uint32_t dir; /* value of diff.dir in the differences of these packets */
};

static const struct diff *diff_of(const struct packet_list *list, uint32_t pkt, size_t from)
{
    for (size_t i = from; i < list->diff_cnt; i++)
        if (list->diff[i].dir == list->dir && list->diff[i].pkt == pkt)
            return &list->diff[i];
    return NULL;
}

static void draw_packet(struct ladder_drawing *drawing, const struct packet_list *list, size_t i)
{
    const struct trace_packet *p = &list->trace->pkt[list->pkt[i]];
    const struct diff *d = diff_of(list, list->pkt[i], 0);
    enum ladder_mark mark = !d ? LADDER_UNMARKED : d->known ? LADDER_KNOWN : LADDER_DIFFERS;
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    struct roce_pkt pkt;

    trace_parse(p, &pkt);
    packet_text_full(&t, &pkt);
    ladder_svg_arrow(drawing, memcmp(list->trace->flow[p->flow].src, list->left, 16) == 0, p->frame,
                     (double)(p->time - list->trace->pkt[0].time) / 1e9, buf, mark);
    for (; d; d = diff_of(list, list->pkt[i], (size_t)(d - list->diff) + 1))
        ladder_svg_difference(drawing, d->field, d->recorded, d->replayed);
}

/* Draws a ladder diagram of the packets around the first difference. */
static void draw_list(FILE *out, const struct packet_list *list, const char *left,
                      const char *right)
{
    size_t first = 0, from, to;
    struct ladder_drawing drawing = {.number_word = "frame",
                                     .time_word = "seconds",
                                     .end = {left, right},
                                     .expected_word = "recorded",
                                     .actual_word = "replayed"};

    while (first < list->cnt && !diff_of(list, list->pkt[first], 0))
        first++;
    from = first > LADDER_AROUND ? first - LADDER_AROUND : 0;
    to = first + LADDER_AROUND < list->cnt ? first + LADDER_AROUND : list->cnt;
    drawing.more_before = from > 0;
    drawing.more_after = to < list->cnt;
    for (size_t i = from; i < to; i++)
        draw_packet(&drawing, list, i);
    ladder_svg_write(out, &drawing);
    ladder_svg_free(&drawing);
}

static void draw_direction(FILE *out, const struct replay *r, uint32_t idx,
                           const struct report_options *options)
{
    const struct inferred_setup *s = &r->session.dir[idx].setup;
    struct ladder ladder;
    struct ladder_part part[2];
    unsigned cnt = ladder_select(&ladder, part, r, idx, options->ladder);
    char buf[256];
    struct strbuf t = strbuf_of(buf, sizeof(buf));

    strbuf_addf(&t, "Connection #%u: ", s->recorded->conn_index);
    report_direction_ends(&t, s);
    section_heading(out, buf);
    for (unsigned i = 0; i < cnt; i++)
        ladder_draw(out, &ladder, &part[i]);
}

static void draw_stream(FILE *out, const struct replay *r, uint32_t idx)
{
    const struct dgram_stream *s = &r->dgrams.stream[idx];
    const struct trace_flow *flow = &r->trace.flow[r->trace.pkt[s->pkt[0]].flow];
    const struct packet_list list = {.trace = &r->trace,
                                     .pkt = s->pkt,
                                     .cnt = s->cnt,
                                     .left = flow->src,
                                     .diff = r->dgrams.diff,
                                     .diff_cnt = r->dgrams.diff_cnt,
                                     .dir = idx};
    char buf[256], left[64], right[64];
    struct strbuf t = strbuf_of(buf, sizeof(buf)), l = strbuf_of(left, sizeof(left)),
                  right_buf = strbuf_of(right, sizeof(right));

    strbuf_addf(&t, "Stream %u: ", idx + 1);
    report_stream_ends(&t, s);
    strbuf_add_addr(&l, flow->src);
    strbuf_add_addr(&right_buf, flow->dst);
    section_heading(out, buf);
    draw_list(out, &list, left, right);
}

static void draw_exchange(FILE *out, const struct replay *r, uint32_t idx)
{
    const struct cm_exchange *x = &r->cm_exchanges.at[idx];
    const struct packet_list list = {.trace = &r->trace,
                                     .pkt = x->pkt,
                                     .cnt = x->cnt,
                                     .left = x->addr[CM_ACTIVE],
                                     .diff = r->cm_exchanges.diff,
                                     .diff_cnt = r->cm_exchanges.diff_cnt,
                                     .dir = idx};
    char buf[64], end[2][64];

    snprintf(buf, sizeof(buf), "CM exchange %u", idx + 1);
    for (unsigned role = 0; role < 2; role++) {
        struct strbuf t = strbuf_of(end[role], sizeof(end[role]));

        strbuf_add_addr(&t, x->addr[role]);
        strbuf_addf(&t, role == CM_ACTIVE ? " (active)" : " (passive)");
    }
    section_heading(out, buf);
    draw_list(out, &list, end[CM_ACTIVE], end[CM_PASSIVE]);
}

void report_ladders(FILE *out, const struct replay *r, const struct report_options *options)
{
    for (uint32_t i = 0; i < r->session.dir_cnt; i++)
        if (report_run_verdict(r, i) == VERDICT_FAIL)
            draw_direction(out, r, i, options);
    for (uint32_t i = 0; i < r->dgrams.cnt; i++)
        if (r->dgrams.stream[i].verdict == VERDICT_FAIL)
            draw_stream(out, r, i);
    for (uint32_t i = 0; i < r->cm_exchanges.cnt; i++)
        if (report_exchange_verdict(&r->cm_exchanges.at[i]) == VERDICT_FAIL)
            draw_exchange(out, r, i);
}
