/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "page/page_view.h"

#include <inttypes.h>
#include <string.h>
#include "page/ack_line.h"
#include "page/loss_marks.h"
#include "page/psn_legend.h"
#include "wire/codes.h"

#define OF(class) (1u << (class))
#define REPEATED  (OF(RUN_REPEATED_REQUEST) | OF(RUN_REPEATED_RESPONSE) | OF(RUN_COPY))
#define ANSWERS                                                                                    \
    (OF(RUN_ACK) | OF(RUN_NAK) | OF(RUN_RNR_NAK) | OF(RUN_RESPONSE) | OF(RUN_REPEATED_RESPONSE))
#define TROUBLES (REPEATED | OF(RUN_NAK) | OF(RUN_RNR_NAK) | OF(RUN_CNP) | OF(RUN_DROPPED))

/* Returns the separator before an element of an array or a member of an object: none before the
 * first one. *any: whether there was an element before. */
static const char *sep_of(bool *any)
{
    const char *sep = *any ? "," : "";

    *any = true;
    return sep;
}

/* ---- properties of the connection --------------------------------------------------------------
 */

struct view {
    unsigned classes; /* bit set of the classes of runs */
    bool flight[2];   /* bytes of a direction were in flight */
    bool messages[2]; /* a side has completed operations */
    bool ce, rtt;     /* CE marks; round trips */
    uint32_t lane[3]; /* the first lanes: side and UDP source port of a sender */
    unsigned lane_cnt;
    bool acked_before;         /* a wait ended with the retransmission of an acknowledged request */
    uint64_t first, last;      /* times of the first and last packet or completion, ns */
    uint64_t fastest, slowest; /* shortest and longest latency or round trip, ns; 0: none */
};

static void note_band(void *user, const struct wait_band *band)
{
    struct view *view = user;

    view->acked_before |= (band->run->marks & RUN_MARK_ACKED_BEFORE) != 0;
}

static void note_latency(struct view *view, uint64_t ns)
{
    if (ns == 0)
        return;
    view->fastest = view->fastest == 0 || ns < view->fastest ? ns : view->fastest;
    view->slowest = ns > view->slowest ? ns : view->slowest;
}

static void note_lane(struct view *view, const struct packet_run *run)
{
    const uint32_t lane = packet_run_lane(run);
    unsigned i = 0;

    while (i < view->lane_cnt && view->lane[i] != lane)
        i++;
    if (i == view->lane_cnt && i < 3 && run->class != RUN_CNP)
        view->lane[view->lane_cnt++] = lane;
}

static struct view view_of(const struct page_stream *stream)
{
    struct view view = {.first = UINT64_MAX};

    for (uint32_t i = 0; i < stream->runs.cnt; i++) {
        const struct packet_run *run = &stream->runs.run[i];

        view.classes |= OF(run->class);
        view.flight[packet_run_direction(run) & 1] |= run->flight > 0;
        view.ce |= run->ce > 0;
        view.rtt |= run->rtt > 0;
        view.first = run->first_time < view.first ? run->first_time : view.first;
        view.last = run->last_time > view.last ? run->last_time : view.last;
        note_latency(&view, run->rtt);
        note_lane(&view, run);
    }
    for (uint32_t i = 0; i < stream->messages.cnt; i++) {
        const struct message_time *m = &stream->messages.message[i];

        view.messages[m->side & 1] = true;
        view.last = m->done > view.last ? m->done : view.last;
        note_latency(&view, m->done > m->first ? m->done - m->first : 0);
    }
    for (unsigned d = 0; d < 2; d++)
        wait_bands_find(&stream->runs, d, note_band, &view);
    return view;
}

static void write_has(FILE *out, const struct view *view, const struct message_times *times,
                      bool timed)
{
    const bool messages = view->messages[0] || view->messages[1];
    const bool cnp = view->classes & OF(RUN_CNP);
    const struct {
        const char *name;
        bool value;
    } parts[] = {
        {"again", view->classes & REPEATED},
        {"ce", view->ce},
        {"cnp", cnp},
        {"data", true},
        {"early", view->acked_before || view->classes & OF(RUN_REPEATED_RESPONSE)},
        {"flight", (view->flight[0] || view->flight[1]) && view->classes & ANSWERS},
        {"flight0", view->flight[0]},
        {"flight1", view->flight[1]},
        {"lanes", view->lane_cnt > 2},
        {"latency", messages || view->rtt},
        {"left", times->left_out > 0},
        {"messages", messages},
        {"messages0", view->messages[0]},
        {"messages1", view->messages[1]},
        {"nocnp", view->ce && !cnp},
        {"rate", cnp || view->ce},
        {"rtt", view->rtt},
        {"timed", timed},
    };
    bool any = false;

    fprintf(out, ",\"has\":{");
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (parts[i].value)
            fprintf(out, "%s\"%s\":true", sep_of(&any), parts[i].name);
    fprintf(out, "},\"latencies\":[%" PRIu64 ",%" PRIu64 "]", view->fastest, view->slowest);
}

/* ---- arrays of runs ----------------------------------------------------------------------------
 */

static bool is_trouble(const struct packet_run *run)
{
    return OF(run->class) & TROUBLES || run->gap || run->marks & RUN_MARK_IMPLIED_NAK;
}

/* Writes the indexes of the runs with trouble. The keys `n` and `p` of the page go from one to the
 * next. */
static void write_troubles(FILE *out, const struct packet_runs *runs)
{
    bool any = false;

    fprintf(out, ",\"troubles\":[");
    for (uint32_t i = 0; i < runs->cnt; i++)
        if (is_trouble(&runs->run[i]))
            fprintf(out, "%s%" PRIu32, sep_of(&any), i);
    fprintf(out, "]");
}

/* State of the writer of one array of a direction. */
struct list {
    FILE *out;
    const struct packet_runs *runs;
    unsigned direction;
    unsigned entry[WAIT_BAND_KINDS]; /* index of each kind of wait in the legend */
    bool any;
};

static size_t index_of(const struct list *list, const struct packet_run *run)
{
    return (size_t)(run - list->runs->run);
}

static void write_ack(void *user, const struct packet_run *run, int64_t psn)
{
    struct list *list = user;

    (void)psn;
    fprintf(list->out, "%s%zu", sep_of(&list->any), index_of(list, run));
}

static void write_loss(void *user, const struct loss_mark *mark)
{
    struct list *list = user;

    fprintf(list->out, "%s[%zu,%d,\"%s\"]", sep_of(&list->any), index_of(list, mark->run),
            mark->offset, mark->text);
}

/* Returns the run at which the graph of a direction marks the end of its troubles: the last
 * response, if it acknowledges all remaining requests. Returns NULL if the direction had no
 * trouble, or if the trouble did not end. */
static const struct packet_run *end_of(const struct packet_runs *runs, unsigned direction)
{
    bool trouble = false;

    for (uint32_t i = 0; i < runs->cnt; i++)
        trouble |= packet_run_is_in(&runs->run[i], direction) && is_trouble(&runs->run[i]);
    return trouble ? ack_line_end(runs, direction) : NULL;
}

static void write_band(void *user, const struct wait_band *band)
{
    struct list *list = user;

    fprintf(list->out, "%s[%u,%u,%zu,%" PRIu64 "]", sep_of(&list->any), list->direction,
            list->entry[band->kind], index_of(list, band->run), band->ns);
}

/* Writes the legend of a direction. Stores in list->entry at which index the legend has each kind
 * of wait. */
static void write_legend(FILE *out, struct list *list)
{
    struct psn_legend_entry entry[PSN_LEGEND_MAX];
    const unsigned cnt = psn_legend(list->runs, list->direction, entry);

    fprintf(out, "%s[", list->direction ? "," : "");
    for (unsigned i = 0; i < cnt; i++) {
        fprintf(out, "%s[\"%s\",\"%s\"]", i ? "," : "", entry[i].class, entry[i].text);
        if (entry[i].kind < WAIT_BAND_KINDS)
            list->entry[entry[i].kind] = i;
    }
    fprintf(out, "]");
}

void page_view_write(FILE *out, const struct page_stream *stream, uint64_t base, bool timed)
{
    const struct view view = view_of(stream);
    struct list list[2];
    bool any = false;

    for (unsigned d = 0; d < 2; d++)
        list[d] = (struct list){.out = out, .runs = &stream->runs, .direction = d};
    write_has(out, &view, &stream->messages, timed);
    fprintf(out, ",\"window\":[%" PRId64 ",%" PRId64 "]", (int64_t)(view.first - base),
            (int64_t)(view.last - base));
    write_troubles(out, &stream->runs);
    fprintf(out, ",\"acks\":[");
    for (unsigned d = 0; d < 2; d++) {
        fprintf(out, d ? ",[" : "[");
        ack_line_find(&stream->runs, d, write_ack, &list[d]);
        fprintf(out, "]");
    }
    fprintf(out, "],\"losses\":[");
    for (unsigned d = 0; d < 2; d++) {
        list[d].any = false;
        fprintf(out, d ? ",[" : "[");
        loss_marks_find(&stream->runs, d, write_loss, &list[d]);
        fprintf(out, "]");
    }
    fprintf(out, "],\"delivered\":[");
    for (unsigned d = 0; d < 2; d++) {
        const struct packet_run *end = end_of(&stream->runs, d);

        fprintf(out, d ? ",[" : "[");
        if (end)
            fprintf(out, "%zu", index_of(&list[d], end));
        fprintf(out, "]");
    }
    fprintf(out, "],\"legends\":[");
    for (unsigned d = 0; d < 2; d++)
        write_legend(out, &list[d]);
    fprintf(out, "],\"bands\":[");
    for (unsigned d = 0; d < 2; d++) {
        list[d].any = any;
        wait_bands_find(&stream->runs, d, write_band, &list[d]);
        any = list[d].any;
    }
    fprintf(out, "]");
}
