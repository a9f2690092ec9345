/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_classify.h"

#include <stdio.h>
#include <string.h>
#include "engine/peer_quirks.h"
#include "engine/rc_inconclusive.h"
#include "engine/rc_match.h"

/* With so many answers in doubt, the rest of a side is, unseen: looking into each costs time. */
#define DOUBTS_MAX 4096u

/* The request whose PSN an answer has: its latest copy before the answer, else its first. */
static uint32_t request_of(const struct view *v, uint32_t step)
{
    const struct setup *s = &v->run->setup;
    const struct entry *e;

    if (s->step[step].request != STEP_NONE)
        return s->step[s->step[step].request].pkt;
    for (uint32_t i = step, tries = 0; i-- > 0 && tries < 4 * COMPARE_RECENT; tries++)
        if (!s->step[i].response && s->step[i].rel == s->step[step].rel)
            return s->step[i].pkt;
    e = setup_entry(s, s->step[step].rel);
    return e ? s->step[e->step].pkt : STEP_NONE;
}

/* A recorded answer that differs: one line a field, one verdict for the frame. */
static int report(struct view *v, uint32_t step, const struct answer *ours,
                  const struct field_diffs *d, const char *reason)
{
    const struct setup *s = &v->run->setup;
    struct deviation_case c = {
        .run = v->run,
        .step = step,
        .ours = ours,
        .repeat = v->repeat == STEP_NONE ? NULL : &s->step[v->repeat],
        .epsn = view_epsn(v),
        .msn = view_msn(v),
        .rnr = v->rnr,
        .high = v->high,
        .settled = v->settled,
        .matched = match_is_used_up(v, step),
        .replaces = match_has_other_psn(v, step),
        .opcode = d->cnt == 1 && fields_find(d, "bth.opcode"),
        .counts = d->cnt == 1 && fields_find(d, "aeth.msn"),
        .payload = d->payload,
    };
    const struct deviation *known = deviation_find(v->cmp->peer, &c);
    const char *doubt = known ? NULL : v->doubt ? v->doubt : doubt_reason(&c);

    if (doubt) {
        v->res->mark[step] = MARK_NOTE;
        if (v->res->inconclusive++ == 0) {
            v->res->doubt = doubt;
            v->res->doubt_from = step;
        }
        v->res->doubt_to = step;
        if (v->res->inconclusive == DOUBTS_MAX)
            v->doubt = doubt;
        return 0;
    }

    v->res->mark[step] = known ? MARK_KNOWN : MARK_DIFF;
    if (known)
        v->res->known_frames++;
    else if (v->res->diff_frames++ == 0)
        v->res->first_diff = step;
    if ((known ? v->res->known_frames : v->res->diff_frames) > DIFFS_MAX)
        return 0;
    for (unsigned i = 0; i < d->cnt; i++) {
        struct diff diff = {.run = v->run_idx,
                            .pkt = s->step[step].pkt,
                            .request = request_of(v, step),
                            .field = d->at[i].field,
                            .known = known};

        memcpy(diff.expected, d->at[i].expected, sizeof(diff.expected));
        memcpy(diff.actual, d->at[i].actual, sizeof(diff.actual));
        snprintf(diff.reason, sizeof(diff.reason), "%s", reason);
        if (comparison_add(v->cmp, &diff) != 0)
            return -1;
    }
    return 0;
}

/* A recorded answer whose ICRC is wrong and that the requester took all the same. */
static void add_icrc(const struct view *v, uint32_t step, struct field_diffs *d)
{
    struct roce_pkt pkt;
    uint32_t computed;

    if (!v->run->setup.step[step].damaged)
        return;
    trace_parse(setup_packet(&v->run->setup, step), &pkt);
    if (roce_pkt_icrc_check(&pkt, &computed) == ROCE_ICRC_BAD)
        fields_differ_num(d, "icrc", "%x", pkt.icrc, computed);
}

static const char *damage_reason(const struct view *v, uint32_t step, const char *other)
{
    return v->run->setup.step[step].damaged
               ? "the answer is damaged, yet the requester never asked again, so it took it"
               : other;
}

int settle(struct view *v, uint32_t step, struct answer *ours, struct field_diffs *d,
           const char *reason)
{
    add_icrc(v, step, d);
    if (d->cnt > 0)
        return report(v, step, ours, d, damage_reason(v, step, reason));
    v->res->mark[step] = MARK_OK;
    if (ours && !ours->used) {
        v->latest = ours->step;
        v->latest_rel = ours->rel;
    }
    if (setup_executed_by(&v->run->setup, step) > v->settled)
        v->settled = setup_executed_by(&v->run->setup, step);
    if (v->run->setup.refused == step)
        v->settled = v->run->setup.step[step].rel; /* refused is answered too */
    if (ours)
        ours->used = true;
    return 0;
}

void settle_none(const struct view *v, uint32_t step, struct field_diffs *d)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);

    memset(d, 0, sizeof(*d));
    fields_differ(d, "answer", roce_opcode(p->opcode)->name, "none");
}

void settle_name_writer(const struct view *v, uint32_t step, uint32_t off, char *buf, size_t cap)
{
    const struct setup *s = &v->run->setup;
    const struct entry *e = setup_entry(s, s->step[step].rel);
    struct memory *memory = &v->drive->device[v->run->device].memory;
    const struct memory_write *w;
    uint64_t va;

    if (!e)
        return;
    va = e->va + (uint64_t)(s->step[step].rel - e->rel) * s->mtu + off;
    w = memory_writer(memory, e->rkey, va,
                      s->step[step].request == STEP_NONE ? s->step[e->step].pkt
                                                         : s->step[s->step[step].request].pkt);
    if (w)
        snprintf(buf, cap, "frame %u wrote the bytes that our RNIC has there",
                 s->trace->pkt[w->pkt].frame);
}
