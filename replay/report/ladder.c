/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/ladder.h"

#include <string.h>
#include "capture/packet_text.h"
#include "util/strbuf.h"

/* Number of columns between the two ends of a ladder. */
#define WIDTH 84u

/* Returns the number of columns of a UTF-8 text of narrow characters. */
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

/* Prints the differences of one recorded packet below its arrow. */
static void print_differences(FILE *out, const struct ladder *l, uint32_t pkt)
{
    for (unsigned v = 0; v < 2; v++)
        for (size_t i = 0; i < l->view[v].diff_cnt; i++) {
            const struct diff *d = &l->view[v].diff[i];

            if (d->dir == l->run && d->pkt == pkt)
                fprintf(out, "%20s│    %s: recorded %s, replayed %s\n", "", d->field, d->expected,
                        d->actual);
        }
}

/* Returns the more important of the two marks of an event. */
static enum event_mark mark_of(const struct ladder *l, uint32_t event)
{
    static const uint8_t weight[] = {
        [MARK_NONE] = 0, [MARK_OK] = 1, [MARK_NOTE] = 2, [MARK_KNOWN] = 3, [MARK_DIFF] = 4};
    enum event_mark mark = MARK_NONE;

    for (unsigned v = 0; v < 2; v++)
        if (l->view[v].mark && weight[l->view[v].mark[event]] > weight[mark])
            mark = (enum event_mark)l->view[v].mark[event];
    return mark;
}

void ladder_print(FILE *out, const struct ladder *ladder, uint32_t from, uint32_t to)
{
    const struct inferred_setup *s = ladder->setup;
    const struct trace_flow *req = &s->trace->flow[s->recorded->req_flow];
    char left[96], right[96];
    struct strbuf l = strbuf_of(left, sizeof(left)), r = strbuf_of(right, sizeof(right));
    uint64_t start = s->trace->pkt[0].time;

    strbuf_add_addr(&l, req->src);
    strbuf_addf(&l, " QP 0x%06x", s->peer_qpn);
    strbuf_add_addr(&r, req->dst);
    strbuf_addf(&r, " QP 0x%06x", s->qpn);
    fprintf(out, "%9s %9s ", "frame", "seconds");
    fprintf(out, "%s%*s%s\n", left,
            (int)(WIDTH + 2 > l.len + r.len ? WIDTH + 2 - l.len - r.len : 1), "", right);
    if (to > s->event_cnt)
        to = (uint32_t)s->event_cnt;
    if (from > 0)
        fprintf(out, "%20s⋮\n", "");
    for (uint32_t i = from; i < to; i++) {
        const struct pkt_event *event = &s->event[i];
        const struct trace_packet *p = event_packet(s, i);
        char buf[256];
        struct strbuf t = strbuf_of(buf, sizeof(buf));
        enum event_mark mark = mark_of(ladder, i);
        struct roce_pkt pkt;

        trace_parse(p, &pkt);
        packet_text_short(&t, &pkt, event->rel);
        if (event->damaged)
            strbuf_addf(&t, " DAMAGED");
        if (event->lost)
            strbuf_addf(&t, " (lost after the capture point)");
        fprintf(out, "%9u %9.6f ", p->frame, (double)(p->time - start) / 1e9);
        print_arrow(out, buf, !event->response, mark_text(mark));
        if (mark == MARK_DIFF || mark == MARK_KNOWN)
            print_differences(out, ladder, event->pkt);
    }
    if (to < s->event_cnt)
        fprintf(out, "%20s⋮\n", "");
}
