/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/ladder.h"

#include <inttypes.h>
#include <string.h>
#include "capture/packet_text.h"
#include "util/strbuf.h"

/* Number of characters between the two vertical lines of a ladder diagram. */
#define WIDTH 84u

/* Returns the number of terminal columns of a UTF-8 text. Assumes that each character takes one
 * column. */
static size_t text_columns(const char *text)
{
    size_t cnt = 0;

    for (; *text; text++)
        cnt += ((unsigned char)*text & 0xC0) != 0x80;
    return cnt;
}

static void line_of(FILE *out, size_t cnt)
{
    while (cnt-- > 0)
        fputs("─", out);
}

static const char *mark_text(enum event_mark mark)
{
    switch (mark) {
    case MARK_OK: return " ✓";
    case MARK_DIFF: return " ✗";
    case MARK_KNOWN: return " ≈";
    case MARK_NOTE: return " ·";
    default: return "";
    }
}

static void print_arrow(FILE *out, const char *text, bool to_responder, const char *mark)
{
    size_t used = text_columns(text) + 4;
    size_t rest = used < WIDTH ? WIDTH - used : 2;

    if (to_responder) {
        fprintf(out, "├─ %s ", text);
        line_of(out, rest);
        fprintf(out, "▶│%s\n", mark);
    } else {
        fputs("│◀", out);
        line_of(out, rest);
        fprintf(out, " %s ─┤%s\n", text, mark);
    }
}

/* Prints, below the arrow of recorded packet `pkt`, how the replayed packet differs from it. */
static void print_differences(FILE *out, const struct ladder *l, uint32_t pkt)
{
    char text[DIFF_TEXT_MAX];

    for (unsigned v = 0; v < 2; v++)
        for (size_t i = 0; i < l->view[v].diff_cnt; i++) {
            const struct diff *d = &l->view[v].diff[i];

            if (d->dir == l->run && d->pkt == pkt)
                fprintf(out, "%20s│    %s\n", "",
                        diff_text(text, d->field, d->recorded, d->replayed));
        }
}

/* Finds the packet of event `event` of setup `from` in setup `to`, and returns the index of its
 * event there. Both setups are of the same direction. They differ only in the order of reordered
 * packets (sent_order.h), so the search begins at index `event`. */
static uint32_t event_in(const struct inferred_setup *to, const struct inferred_setup *from,
                         uint32_t event)
{
    uint32_t pkt = from->event[event].pkt;

    for (uint32_t step = 0; step < to->event_cnt; step++) {
        if (event + step < to->event_cnt && to->event[event + step].pkt == pkt)
            return event + step;
        if (step <= event && to->event[event - step].pkt == pkt)
            return event - step;
    }
    return event;
}

/* Returns the mark of an event. The replays of the responder and of the requester may mark an event
 * differently. Then returns the more important mark. */
static enum event_mark mark_of(const struct ladder *l, uint32_t event)
{
    static const uint8_t weight[] = {
        [MARK_NONE] = 0, [MARK_OK] = 1, [MARK_NOTE] = 2, [MARK_KNOWN] = 3, [MARK_DIFF] = 4};
    enum event_mark mark = MARK_NONE;

    for (unsigned v = 0; v < 2; v++) {
        const struct ladder_view *view = &l->view[v];
        uint32_t at = view->mark ? event_in(view->setup, l->setup, event) : 0;

        if (view->mark && weight[view->mark[at]] > weight[mark])
            mark = (enum event_mark)view->mark[at];
    }
    return mark;
}

/* Appends the names of the two ends: `left` is the requester, `right` the responder. */
static void add_end_names(const struct ladder *ladder, struct strbuf *left, struct strbuf *right)
{
    const struct inferred_setup *s = ladder->setup;
    const struct trace_flow *req = &s->trace->flow[s->recorded->req_flow];

    strbuf_add_addr(left, req->src);
    strbuf_addf(left, " QP 0x%06x", s->peer_qpn);
    strbuf_add_addr(right, req->dst);
    strbuf_addf(right, " QP 0x%06x", s->qpn);
}

static void add_event(struct strbuf *t, const struct inferred_setup *s, uint32_t i)
{
    const struct pkt_event *event = &s->event[i];
    struct roce_pkt pkt;

    trace_parse(event_packet(s, i), &pkt);
    packet_text_short(t, &pkt, event->rel);
    if (event->damaged)
        strbuf_addf(t, " DAMAGED");
    if (event->lost)
        strbuf_addf(t, " (lost after the capture point)");
}

static double event_seconds(const struct inferred_setup *s, uint32_t i)
{
    return (double)(event_packet(s, i)->time - s->trace->pkt[0].time) / 1e9;
}

static uint32_t part_end(const struct ladder *ladder, const struct ladder_part *part)
{
    size_t cnt = ladder->setup->event_cnt;

    return part->to < cnt ? part->to : (uint32_t)cnt;
}

unsigned ladder_select(struct ladder *ladder, struct ladder_part part[2], const struct replay *r,
                       uint32_t dir, bool whole)
{
    const struct response_comparison *all = &r->responses;
    const struct request_comparison *v = &r->requests;
    uint32_t a = all->result ? all->result[dir].first_diff : EVENT_NONE;
    uint32_t b = v->result ? v->result[dir].first_diff : EVENT_NONE;
    unsigned cnt = 0;

    *ladder = (struct ladder){.setup = &r->session.dir[dir].setup, .run = dir};
    if (all->result)
        ladder->view[0] =
            (struct ladder_view){ladder->setup, all->result[dir].mark, all->diff, all->diff_cnt};
    if (v->result)
        ladder->view[1] = (struct ladder_view){requester_setup(&r->session.dir[dir]),
                                               v->result[dir].mark, v->diff, v->diff_cnt};
    if (b != EVENT_NONE)
        b = event_in(ladder->setup, ladder->view[1].setup, b);
    if (whole) {
        part[0] = (struct ladder_part){0, UINT32_MAX};
        return 1;
    }
    if (a != EVENT_NONE && b != EVENT_NONE && b + LADDER_AROUND >= a && b < a + LADDER_AROUND)
        b = EVENT_NONE; /* the part around `a` already contains `b` */
    for (unsigned i = 0; i < 2; i++) {
        uint32_t at = i ? b : a;

        if (at != EVENT_NONE)
            part[cnt++] = (struct ladder_part){at > LADDER_AROUND ? at - LADDER_AROUND : 0,
                                               at + LADDER_AROUND};
    }
    return cnt;
}

void ladder_print(FILE *out, const struct ladder *ladder, const struct ladder_part *part)
{
    const struct inferred_setup *s = ladder->setup;
    char left[96], right[96];
    struct strbuf l = strbuf_of(left, sizeof(left)), r = strbuf_of(right, sizeof(right));
    uint32_t to = part_end(ladder, part);

    add_end_names(ladder, &l, &r);
    /* Other lines of the report have the PSNs of the packets. */
    fprintf(out, "%20sPSN +0 is PSN %" PRIu32 "\n", "", s->psn.v);
    fprintf(out, "%9s %9s ", "frame", "seconds");
    fprintf(out, "%s%*s%s\n", left,
            (int)(WIDTH + 2 > l.len + r.len ? WIDTH + 2 - l.len - r.len : 1), "", right);
    if (part->from > 0)
        fprintf(out, "%20s⋮\n", "");
    for (uint32_t i = part->from; i < to; i++) {
        const struct pkt_event *event = &s->event[i];
        char buf[256];
        struct strbuf t = strbuf_of(buf, sizeof(buf));
        enum event_mark mark = mark_of(ladder, i);

        add_event(&t, s, i);
        fprintf(out, "%9u %9.6f ", event_packet(s, i)->frame, event_seconds(s, i));
        print_arrow(out, buf, !event->response, mark_text(mark));
        if (mark == MARK_DIFF || mark == MARK_KNOWN)
            print_differences(out, ladder, event->pkt);
    }
    if (to < s->event_cnt)
        fprintf(out, "%20s⋮\n", "");
}

/* ---- drawing a ladder --------------------------------------------------------------------------
 */

void ladder_draw(FILE *out, const struct ladder *ladder, const struct ladder_part *part)
{
    static const enum ladder_mark marks[] = {[MARK_NONE] = LADDER_UNMARKED,
                                             [MARK_OK] = LADDER_EQUAL,
                                             [MARK_DIFF] = LADDER_DIFFERS,
                                             [MARK_KNOWN] = LADDER_KNOWN,
                                             [MARK_NOTE] = LADDER_NOTED};
    const struct inferred_setup *s = ladder->setup;
    char left[96], right[96];
    struct strbuf l = strbuf_of(left, sizeof(left)), r = strbuf_of(right, sizeof(right));
    uint32_t to = part_end(ladder, part);
    struct ladder_drawing drawing = {.number_word = "frame",
                                     .time_word = "seconds",
                                     .end = {left, right},
                                     .expected_word = "recorded",
                                     .actual_word = "replayed",
                                     .more_before = part->from > 0,
                                     .more_after = to < s->event_cnt};

    add_end_names(ladder, &l, &r);
    for (uint32_t i = part->from; i < to; i++) {
        enum event_mark mark = mark_of(ladder, i);
        char buf[256];
        struct strbuf t = strbuf_of(buf, sizeof(buf));

        add_event(&t, s, i);
        ladder_svg_arrow(&drawing, !s->event[i].response, event_packet(s, i)->frame,
                         event_seconds(s, i), buf, marks[mark]);
        for (unsigned v = 0; v < 2 && (mark == MARK_DIFF || mark == MARK_KNOWN); v++)
            for (size_t k = 0; k < ladder->view[v].diff_cnt; k++) {
                const struct diff *d = &ladder->view[v].diff[k];

                if (d->dir == ladder->run && d->pkt == s->event[i].pkt)
                    ladder_svg_difference(&drawing, d->field, d->recorded, d->replayed);
            }
    }
    ladder_svg_write(out, &drawing);
    ladder_svg_free(&drawing);
}
