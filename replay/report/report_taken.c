/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "report/report_taken.h"

#include "util/strbuf.h"
#include "wire/codes.h"

/* Packets of one direction with an effect that the replay copies from the capture, because our RNIC
 * cannot determine the effect. Indices into setup.event; EVENT_NONE: there is no such packet. */
struct taken {
    uint32_t nak;  /* fatal NAK */
    uint32_t rnr;  /* first RNR NAK */
    uint32_t lost; /* first request that was lost between the capture point and the responder */
    uint32_t lost_cnt;
    char syndrome[64]; /* text of the syndrome of `nak` */
};

static struct taken find_taken(const struct inferred_setup *s)
{
    struct taken taken = {.nak = s->fatal_nak, .rnr = EVENT_NONE, .lost = EVENT_NONE};

    for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
        if (s->event[i].response && s->event[i].usable && event_is_syndrome(s, i, ROCE_SYN_RNR))
            taken.rnr = i;
        if (!s->event[i].response && s->event[i].lost) {
            taken.lost = i;
            taken.lost_cnt++;
        }
    }
    return taken;
}

static const char *nak_text(const struct inferred_setup *s, struct taken *taken)
{
    return roce_syndrome_text(event_packet(s, taken->nak)->syndrome, taken->syndrome,
                              sizeof(taken->syndrome));
}

void report_taken_text(FILE *out, const struct inferred_setup *s)
{
    struct taken taken = find_taken(s);
    char buf[512];
    struct strbuf t = strbuf_of(buf, sizeof(buf));
    const char *sep = "";

    if (taken.nak != EVENT_NONE) {
        strbuf_addf(&t, "refusal in frame %u (%s)", event_packet(s, taken.nak)->frame,
                    nak_text(s, &taken));
        sep = "; ";
    }
    if (taken.rnr != EVENT_NONE) {
        strbuf_addf(&t, "%sno receive WQE (%u RNR NAK%s from frame %u)", sep, s->rnr_naks,
                    s->rnr_naks == 1 ? "" : "s", event_packet(s, taken.rnr)->frame);
        sep = "; ";
    }
    if (taken.lost != EVENT_NONE)
        strbuf_addf(&t, "%s%u request%s lost after the capture point (from frame %u)", sep,
                    taken.lost_cnt, taken.lost_cnt == 1 ? "" : "s",
                    event_packet(s, taken.lost)->frame);
    if (t.len)
        fprintf(out, "  taken from the capture: %s\n", buf);
}

static void add_count(json_t *object, const char *name, const struct inferred_setup *s,
                      uint32_t cnt, uint32_t first)
{
    if (first != EVENT_NONE)
        json_object_set_new(object, name,
                            json_pack("{s:i, s:i}", "count", (int)cnt, "first_frame",
                                      (int)event_packet(s, first)->frame));
}

void report_taken_json(json_t *side, const struct inferred_setup *s)
{
    struct taken taken = find_taken(s);
    json_t *object = json_object();

    if (taken.nak != EVENT_NONE)
        json_object_set_new(object, "nak",
                            json_pack("{s:i, s:s}", "frame", (int)event_packet(s, taken.nak)->frame,
                                      "syndrome", nak_text(s, &taken)));
    add_count(object, "rnr_naks", s, s->rnr_naks, taken.rnr);
    add_count(object, "lost_requests", s, taken.lost_cnt, taken.lost);
    if (json_object_size(object))
        json_object_set(side, "taken_from_capture", object);
    json_decref(object);
}

void report_taken_requester_json(json_t *side, const struct requester_run *a)
{
    const struct inferred_setup *s = requester_setup(a->dir);
    uint32_t restarts = 0, restart = EVENT_NONE, lost_cnt = 0, lost = EVENT_NONE;
    json_t *object = json_object();

    for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
        if (!s->event[i].response && a->retransmit[i] == RETX_GO_BACK) {
            restart = i;
            restarts++;
        }
        if (s->event[i].response && a->outcome[i] == RESP_LOST) {
            lost = i;
            lost_cnt++;
        }
    }
    add_count(object, "restarts", s, restarts, restart);
    add_count(object, "lost_responses", s, lost_cnt, lost);
    add_count(object, "missing_responses", s, (uint32_t)a->missing_cnt,
              a->missing_cnt ? a->missing[0].before : EVENT_NONE);
    if (json_object_size(object))
        json_object_set(side, "taken_from_capture", object);
    json_decref(object);
}
