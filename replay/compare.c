/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "deviations.h"
#include "doubt.h"
#include "evidence.h"
#include "fields.h"
#include "stray.h"
#include "wire/codes.h"

/* With so many answers in doubt, the rest of a side is, unseen: looking into each costs time. */
#define DOUBTS_MAX 4096u

/* Answers that a responder has ready follow each other closer than this; a requester's timer, or a
 * NAK and what it draws, takes longer. */
#define TRAIN_NS 1000000u

/* Our answers by PSN, then order. */
struct by_rel {
    int64_t rel;
    uint32_t idx;
};

/* One side under comparison. */
struct view {
    struct comparison *cmp;
    struct drive *drive;
    struct run *run;
    struct result *res;
    uint32_t run_idx;
    const struct by_rel *by_rel;
    size_t sent;        /* our answers that were out by the step at hand */
    size_t moved;       /* progress by then */
    int64_t acked;      /* highest PSN these answers acknowledge */
    uint32_t asked;     /* steps looked at for `owed` */
    int64_t owed;       /* highest PSN whose request asked for an ACK */
    int64_t high;       /* highest PSN of a request captured by then */
    int64_t settled;    /* highest PSN that recorded answers have acknowledged, rightly */
    int64_t rnr;        /* PSN of the latest recorded RNR NAK */
    uint32_t request;   /* latest request, or STEP_NONE */
    uint32_t repeat;    /* latest request that had been executed before, or STEP_NONE */
    uint32_t latest;    /* request whose answer was recorded last, or STEP_NONE */
    int64_t latest_rel; /* PSN of that answer */
    uint64_t heard; /* when the recorded answer before this one was captured, 0 if there is none */
    const char *doubt; /* why every difference is in doubt, or NULL */
};

static bool fetches(const struct setup *s, uint32_t step)
{
    const struct roce_opcode *op = roce_opcode(setup_packet(s, step)->opcode);

    return trace_draws_read_response(op->kind) || roce_opcode_is_atomic(op);
}

static void compare_fields(const struct view *v, const struct trace_packet *p,
                           const struct answer *ours, struct field_diffs *d)
{
    fields_compare(p, ours, v->run->setup.read_first_msn, d);
}

/* ---- our answers -------------------------------------------------------------------------------
 */

static int by_rel_cmp(const void *a, const void *b)
{
    const struct by_rel *x = a, *y = b;

    if (x->rel != y->rel)
        return x->rel < y->rel ? -1 : 1;
    return (x->idx > y->idx) - (x->idx < y->idx);
}

/* Index in by_rel of the first of ours that is not before answer `idx` at PSN `rel`. */
static size_t first_from(const struct view *v, int64_t rel, size_t idx)
{
    const struct by_rel key = {.rel = rel, .idx = (uint32_t)idx};
    size_t low = 0, high = v->run->answer_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (by_rel_cmp(&v->by_rel[mid], &key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_nak(uint8_t opcode, uint8_t syndrome)
{
    return roce_opcode(opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(syndrome) != ROCE_SYN_ACK;
}

/* READ responses, Atomic ACKs, NAKs and ACKs are sought among their like. */
static bool same_class(const struct trace_packet *p, const struct answer *a)
{
    return roce_opcode(p->opcode)->kind == roce_opcode(a->opcode)->kind &&
           is_nak(p->opcode, p->syndrome) == is_nak(a->opcode, a->syndrome);
}

/* Of our latest answers at this PSN that were out by now: the one that differs least, later ones
 * before earlier. `same` wants the recorded one's class, `unused` one that no recorded answer has
 * matched. NULL if there is none. */
static struct answer *best_at(const struct view *v, uint32_t step, bool same, bool unused,
                              struct field_diffs *out)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    int64_t rel = v->run->setup.step[step].rel;
    struct answer *best = NULL;
    size_t end = first_from(v, rel, v->sent);

    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];
        struct field_diffs d;

        if ((same && !same_class(p, a)) || (unused && a->used))
            continue;
        compare_fields(v, p, a, &d);
        if (!best || d.cnt < out->cnt) {
            best = a;
            *out = d;
        }
    }
    return best;
}

/* Whatever we answered lately that is most like it, at whatever PSN. */
static struct answer *best_recent(const struct view *v, uint32_t step, struct field_diffs *out)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct answer *best = NULL;

    for (size_t i = v->sent; i-- > 0 && v->sent - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[i];
        struct field_diffs d;

        compare_fields(v, p, a, &d);
        if (!best || d.cnt < out->cnt || (d.cnt == out->cnt && best->used && !a->used)) {
            best = a;
            *out = d;
        }
    }
    return best;
}

/* ---- reporting ---------------------------------------------------------------------------------
 */

static int64_t epsn_by(const struct view *v)
{
    return v->moved ? v->run->progress[v->moved - 1].epsn : v->run->setup.first;
}

static uint32_t msn_by(const struct view *v)
{
    return v->moved ? v->run->progress[v->moved - 1].msn : v->run->setup.msn;
}

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

/* Whether all that ours answered with this PSN, and it did, has been matched by other answers. */
static bool is_matched(const struct view *v, uint32_t step)
{
    int64_t rel = v->run->setup.step[step].rel;
    size_t end = first_from(v, rel, v->sent);

    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;)
        if (!v->run->answer[v->by_rel[i].idx].used)
            return false;
    return end > 0 && v->by_rel[end - 1].rel == rel;
}

/* Whether the recorded answer stands where one of ours, not matched yet, has another PSN only. */
static bool replaces_ours(const struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);

    for (size_t i = v->sent; i-- > 0 && v->sent - i <= COMPARE_RECENT;) {
        const struct answer *a = &v->run->answer[i];
        struct field_diffs d;

        if (a->used)
            continue;
        compare_fields(v, p, a, &d);
        if (d.cnt == 1 && fields_find(&d, "bth.psn"))
            return true;
    }
    return false;
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
        .epsn = epsn_by(v),
        .msn = msn_by(v),
        .rnr = v->rnr,
        .high = v->high,
        .settled = v->settled,
        .matched = is_matched(v, step),
        .replaces = replaces_ours(v, step),
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

/* ---- kinds of answers --------------------------------------------------------------------------
 */

static int settle(struct view *v, uint32_t step, struct answer *ours, struct field_diffs *d,
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

static void nothing_of_ours(const struct view *v, uint32_t step, struct field_diffs *d)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);

    memset(d, 0, sizeof(*d));
    fields_differ(d, "answer", roce_opcode(p->opcode)->name, "none");
}

/* How many recorded answers to one READ request have this PSN. */
static unsigned answers_at(const struct setup *s, uint32_t request, int64_t rel)
{
    unsigned cnt = 0;

    for (uint32_t a = s->step[request].answer; a != STEP_NONE && cnt < 2; a = s->step[a].answer)
        cnt += s->step[a].rel == rel;
    return cnt;
}

/* What we answered with this PSN to the READ request whose answer the recorded one goes on with, if
 * it is the same; else NULL. */
static struct answer *continues(const struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    int64_t rel = v->run->setup.step[step].rel;
    size_t end = first_from(v, rel, v->sent);

    if (roce_opcode_starts(roce_opcode(p->opcode)) || v->latest_rel != rel - 1)
        return NULL;
    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];
        struct field_diffs d;

        if (a->step != v->latest || a->used || !same_class(p, a))
            continue;
        compare_fields(v, p, a, &d);
        return d.cnt == 0 ? a : NULL;
    }
    return NULL;
}

/* What we answered with this PSN to the READ request that the recorded answer belongs to, unless
 * two recorded answers claim it: then one of them came late, from an earlier copy of the request.
 */
static struct answer *to_request(const struct view *v, uint32_t step, struct field_diffs *out)
{
    const struct setup *s = &v->run->setup;
    const struct step *at = &s->step[step];
    size_t end = first_from(v, at->rel, v->sent);

    if (at->request == STEP_NONE || answers_at(s, at->request, at->rel) > 1)
        return NULL;
    for (size_t i = end; i-- > 0 && v->by_rel[i].rel == at->rel && end - i <= COMPARE_RECENT;) {
        struct answer *a = &v->run->answer[v->by_rel[i].idx];

        if (a->step == at->request && !a->used &&
            roce_opcode(a->opcode)->kind == ROCE_KIND_READ_RESP) {
            compare_fields(v, setup_packet(s, step), a, out);
            return a;
        }
    }
    return NULL;
}

/* Names the remote write that our RNIC took the contradicted bytes from. */
static void name_writer(const struct view *v, uint32_t step, uint32_t off, char *buf, size_t cap)
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

/* READ responses, Atomic ACKs and NAKs: each has to be one of ours. */
static int compare_exact(struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct field_diffs d = {.cnt = 0}, other;
    struct answer *ours = to_request(v, step, &d);
    struct answer *used = continues(v, step);
    char writer[96] = "";

    if (used) {
        d.cnt = 0;
        return settle(v, step, used, &d, "");
    }
    if (ours && d.cnt > 0) {
        struct answer *late = best_at(v, step, true, true, &other);

        /* Still on its way from an earlier copy of the request, close behind the answers before it,
         * and no answer to this one came yet. */
        if (late && other.cnt == 0 && late->step < ours->step && p->time - v->heard <= TRAIN_NS &&
            (v->latest == STEP_NONE || late->step >= v->latest))
            ours = NULL;
    }
    if (ours && d.cnt > 0) {
        int rc;

        if (d.payload)
            name_writer(v, step, d.payload_off, writer, sizeof(writer));
        rc = settle(v, step, ours, &d,
                    writer[0] ? writer : "our RNIC answers this request differently");
        ours->used = true;
        return rc;
    }
    if (!ours)
        ours = best_at(v, step, true, true, &d);
    if (ours && d.cnt == 0) {
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST)
            v->res->read_msn += p->msn != ours->msn;
        return settle(v, step, ours, &d, "");
    }
    /* The same answer twice although it was drawn out once: the wire duplicated it, or its request
     * behind the capture point; the answer to that counts what was executed since. */
    used = best_at(v, step, true, false, &other);
    if (used && used->used && other.cnt == 1 && fields_find(&other, "aeth.msn") &&
        roce_opcode(p->opcode)->kind != ROCE_KIND_ACK && !replaces_ours(v, step) &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(used->msn)) > 0 &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(msn_by(v))) <= 0)
        other.cnt = 0;
    if (used && used->used && other.cnt == 0) {
        v->res->repeated++;
        return settle(v, step, used, &other, "");
    }
    if (ours && (d.payload || fields_find(&d, "atomicacketh.orig")))
        name_writer(v, step, d.payload_off, writer, sizeof(writer));
    if (ours && writer[0])
        return settle(v, step, ours, &d, writer);
    if (ours)
        return settle(v, step, ours, &d,
                      is_nak(p->opcode, p->syndrome) ? "our RNIC refuses this request differently"
                                                     : "our RNIC answers this request differently");
    ours = best_at(v, step, false, false, &d);
    if (ours && d.cnt > 0)
        return settle(v, step, ours, &d, "our RNIC answers this request differently");
    ours = best_recent(v, step, &d);
    if (ours && d.cnt > 0 && d.cnt <= 2)
        return settle(v, step, ours, &d, "our RNIC has no such answer; this is the closest");
    nothing_of_ours(v, step, &d);
    return settle(v, step, NULL, &d, "our RNIC gives no such answer");
}

/* The step forward that took our RNIC past PSN `rel`, or NULL. */
static const struct progress *progress_past(const struct view *v, int64_t rel)
{
    size_t low = 0, high = v->moved;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (v->run->progress[mid].epsn <= rel)
            low = mid + 1;
        else
            high = mid;
    }
    return low == v->moved ? NULL : &v->run->progress[low];
}

/* Our MSN when everything up to `rel` was executed. False if that is no state we ever were in. */
static bool msn_at(const struct view *v, int64_t rel, uint32_t *msn)
{
    const struct progress *p = progress_past(v, rel);

    if (rel == v->run->setup.first - 1) {
        *msn = v->run->setup.msn;
        return true;
    }
    if (!p || p->epsn != rel + 1)
        return false;
    *msn = p->msn;
    return true;
}

/* Whether this PSN is a READ's or an atomic's, so that data answers it: only the ACK of a SEND or
 * WRITE that was repeated after it may name it. */
static bool answered_by_data(const struct view *v, int64_t rel)
{
    const struct setup *s = &v->run->setup;
    const struct entry *e = setup_entry(s, rel);
    const struct progress *p = progress_past(v, rel);

    return e && fetches(s, e->step) && p && (v->repeat == STEP_NONE || v->repeat < p->step);
}

/* An ACK is covered if our RNIC has executed and acknowledged as much, counting the same messages.
 */
static int compare_ack(struct view *v, uint32_t step)
{
    const struct step *at = &v->run->setup.step[step];
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct field_diffs d = {.cnt = 0};
    struct answer *ours = best_at(v, step, true, false, &d);
    bool exact = ours != NULL;
    uint32_t msn = 0;

    if (at->rel >= epsn_by(v)) {
        ours = best_at(v, step, false, false, &d);
        if (!ours || d.cnt == 0)
            ours = best_recent(v, step, &d);
        if (!ours || d.cnt == 0)
            nothing_of_ours(v, step, &d);
        return settle(v, step, ours, &d,
                      "it acknowledges a request that our RNIC has not executed");
    }
    /* The newest acknowledgement may be repeated without being asked for, to tell of credits
     * (9.7.7.2); then its PSN may be that of a READ which data has answered. */
    if (!exact && at->rel > v->settled && answered_by_data(v, at->rel)) {
        ours = best_at(v, step, false, false, &d);
        return settle(v, step, ours, &d,
                      "a READ or an atomic is answered by its data, not by an ACK");
    }
    if (!exact && v->run->answer_cnt) {
        /* Coalesced otherwise: take what is the same in all of ours from any of them. */
        struct answer like = v->run->answer[0];

        like.opcode = setup_svc(&v->run->setup) == ROCE_SVC_XRC ? ROCE_OP_XRC_ACK : ROCE_OP_RC_ACK;
        like.syndrome = ROCE_SYNDROME_ACK | ROCE_CREDIT_NONE;
        like.psn = p->psn;
        like.msn = p->msn;
        like.payload_len = 0;
        compare_fields(v, p, &like, &d);
    }
    if (exact && d.cnt == 0)
        v->res->credits += p->syndrome != ours->syndrome;
    if (!exact && !msn_at(v, at->rel, &msn)) {
        ours = best_recent(v, step, &d);
        if (!ours || d.cnt == 0)
            nothing_of_ours(v, step, &d);
        return settle(v, step, ours, &d, "no request ends at the PSN that it acknowledges");
    }
    if (!exact && msn != p->msn) {
        struct field_diffs recent;
        struct answer *last = best_recent(v, step, &recent);

        if (last && recent.cnt == 1) {
            d = recent; /* just the PSN is wrong */
            ours = last;
        } else {
            fields_differ_num(&d, "aeth.msn", "%u", p->msn, msn);
        }
    }
    /* Not asked for an ACK, ours may wait (R099, R110). */
    if (d.cnt == 0 && v->acked < at->rel && v->owed > v->acked && v->owed < epsn_by(v))
        fields_differ(&d, "answer", "RC Acknowledge", "executed, but not acknowledged");
    if (d.cnt == 0 && !exact)
        v->res->acks_fewer++;
    return settle(v, step, ours, &d,
                  exact ? "our RNIC acknowledges this request differently"
                        : "our RNIC counts messages differently");
}

/* ---- a side ------------------------------------------------------------------------------------
 */

/* The step up to which packets may have been on the wire when this answer was captured. */
static uint32_t race_limit(const struct setup *s, uint32_t step)
{
    uint64_t time = setup_packet(s, step)->time;
    uint32_t limit = step;

    while (limit + 1 < s->step_cnt && limit - step < EVIDENCE_RACE_STEPS &&
           setup_packet(s, limit + 1)->time - time <= EVIDENCE_RACE_NS)
        limit++;
    return limit;
}

/* Brings what our RNIC had done by then up to date. */
static void advance(struct view *v, uint32_t step)
{
    const struct run *run = v->run;
    uint32_t limit = race_limit(&run->setup, step);

    while (v->sent < run->answer_cnt && run->answer[v->sent].step <= limit) {
        const struct answer *a = &run->answer[v->sent++];
        int64_t acked = a->rel - (is_nak(a->opcode, a->syndrome) ? 1 : 0);

        if (acked > v->acked)
            v->acked = acked;
    }
    while (v->moved < run->progress_cnt && run->progress[v->moved].step <= limit)
        v->moved++;
    for (; v->asked <= limit; v->asked++) {
        const struct step *at = &run->setup.step[v->asked];

        const struct entry *e = setup_entry(&run->setup, at->rel);
        int64_t last = e ? e->rel + e->cnt - 1 : at->rel;

        if (at->response || at->early)
            continue;
        if (last > v->high)
            v->high = last;
        if (!at->damaged && !at->lost && last > v->owed &&
            (setup_packet(&run->setup, v->asked)->ackreq || fetches(&run->setup, v->asked)))
            v->owed = last;
    }
}

static void note_request(struct view *v, uint32_t step)
{
    const struct step *at = &v->run->setup.step[step];

    if (at->damaged || at->early || at->lost)
        return;
    v->request = step;
    if (fetches(&v->run->setup, step))
        return;
    /* Executed by an earlier copy: our RNIC did not move on with this one. */
    advance(v, step);
    if (at->rel < epsn_by(v) && (v->moved == 0 || v->run->progress[v->moved - 1].epsn <= at->rel ||
                                 v->run->progress[v->moved - 1].step < step))
        v->repeat = step;
}

static int compare_step(struct view *v, uint32_t step)
{
    const struct step *at = &v->run->setup.step[step];
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    const struct roce_opcode *op = roce_opcode(p->opcode);

    if (at->early) {
        v->res->early++;
        return 0;
    }
    if (!at->usable) {
        v->res->damaged++;
        v->res->mark[step] = MARK_NOTE;
        return 0;
    }
    advance(v, step);
    /* Our QP is in error and the recorded one is not: nothing after this is comparable. */
    if (v->run->error_step != STEP_NONE && v->run->error_step < step &&
        v->res->diff_frames + v->res->known_frames > 0) {
        v->res->not_compared++;
        return 0;
    }
    /* It answers a request that the capture lacks, if all that it has are answered already. Else it
     * is the answer to one of those, with a wrong PSN. */
    if (at->rel > v->high && v->settled >= v->owed) {
        v->res->unasked++;
        v->res->mark[step] = MARK_NOTE;
        return 0;
    }
    v->res->compared++;
    if (op->kind == ROCE_KIND_ACK && !is_nak(p->opcode, p->syndrome))
        return compare_ack(v, step);
    if (compare_exact(v, step) != 0)
        return -1;
    if (op->kind == ROCE_KIND_ACK && roce_syndrome_kind(p->syndrome) == ROCE_SYN_RNR)
        v->rnr = at->rel;
    return 0;
}

/* What only our RNIC answered. */
static void count_ours(struct view *v)
{
    for (size_t i = 0; i < v->run->answer_cnt; i++) {
        const struct answer *a = &v->run->answer[i];

        if (a->used)
            continue;
        if (roce_opcode(a->opcode)->kind == ROCE_KIND_ACK && !is_nak(a->opcode, a->syndrome))
            v->res->acks_more++;
        else
            v->res->unseen++;
    }
}

/* One look at a side. `doubt` as in struct view. */
static int compare_side(struct comparison *cmp, struct drive *drive, uint32_t run_idx,
                        struct by_rel *by_rel, const char *doubt)
{
    struct run *run = &drive->run[run_idx];
    struct result *res = &cmp->result[run_idx];
    struct view v = {.cmp = cmp,
                     .drive = drive,
                     .run = run,
                     .res = res,
                     .run_idx = run_idx,
                     .by_rel = by_rel,
                     .acked = run->setup.first - 1,
                     .owed = run->setup.first - 1,
                     .high = run->setup.first - 1,
                     .settled = run->setup.first - 1,
                     .rnr = INT64_MIN,
                     .request = STEP_NONE,
                     .repeat = STEP_NONE,
                     .latest = STEP_NONE,
                     .doubt = doubt};
    int rc = 0;

    for (uint32_t i = 0; i < run->setup.step_cnt && rc == 0; i++) {
        if (run->setup.step[i].response) {
            rc = compare_step(&v, i);
            v.heard = setup_packet(&run->setup, i)->time;
        } else {
            note_request(&v, i);
        }
    }
    count_ours(&v);
    return rc;
}

/* Forgets a look at a side: all of its differences are the last ones listed. */
static void undo_side(struct comparison *cmp, struct run *run, struct result *res, size_t diff_cnt)
{
    uint8_t *mark = res->mark;

    memset(mark, 0, run->setup.step_cnt);
    *res = (struct result){.mark = mark, .first_diff = STEP_NONE};
    cmp->diff_cnt = diff_cnt;
    for (size_t i = 0; i < run->answer_cnt; i++)
        run->answer[i].used = false;
}

static int compare_run(struct comparison *cmp, struct drive *drive, uint32_t run_idx)
{
    struct run *run = &drive->run[run_idx];
    struct result *res = &cmp->result[run_idx];
    size_t diff_cnt = cmp->diff_cnt;
    struct by_rel *by_rel;
    int rc;

    res->first_diff = STEP_NONE;
    res->mark = calloc(run->setup.step_cnt + 1, 1);
    if (!res->mark)
        return -1;
    res->skip = run->setup.skip ? run->setup.skip : run->failed;
    if (res->skip) {
        res->verdict = VERDICT_SKIPPED;
        return 0;
    }
    by_rel = malloc((run->answer_cnt + 1) * sizeof(*by_rel));
    if (!by_rel)
        return -1;
    for (size_t i = 0; i < run->answer_cnt; i++)
        by_rel[i] = (struct by_rel){.rel = run->answer[i].rel, .idx = (uint32_t)i};
    if (run->answer_cnt)
        qsort(by_rel, run->answer_cnt, sizeof(*by_rel), by_rel_cmp);
    rc = compare_side(cmp, drive, run_idx, by_rel, NULL);
    /* Where the capture shows that it lacks frames, it may lack those that explain the rest. */
    if (rc == 0 && res->inconclusive && res->diff_frames) {
        const char *doubt = res->doubt;

        undo_side(cmp, run, res, diff_cnt);
        rc = compare_side(cmp, drive, run_idx, by_rel, doubt);
    }
    free(by_rel);
    if (res->compared == res->inconclusive && res->diff_frames == 0) {
        res->verdict = VERDICT_SKIPPED;
        res->skip = res->inconclusive ? "what the capture lacks leaves no answer to judge"
                                      : "no answer in the capture can be compared";
    }
    return rc;
}

/* ---- all ---------------------------------------------------------------------------------------
 */

int compare_all(struct comparison *cmp, struct drive *drive, const struct conns *conns,
                const char *peer)
{
    int rc = 0;

    *cmp = (struct comparison){.drive = drive, .conns = conns, .peer = peer};
    cmp->result = calloc(drive->run_cnt + 1, sizeof(*cmp->result));
    if (!cmp->result)
        return -1;
    for (uint32_t i = 0; i < drive->run_cnt && rc == 0; i++)
        rc = compare_run(cmp, drive, i);
    for (size_t i = 0; i < conns->stray_cnt && rc == 0; i++)
        rc = stray_compare(cmp, drive, conns->stray[i]);
    for (uint32_t i = 0; i < drive->run_cnt && rc == 0; i++)
        if (cmp->result[i].diff_frames)
            cmp->result[i].verdict = VERDICT_FAIL;
    return rc;
}

int comparison_add(struct comparison *cmp, const struct diff *diff)
{
    if (!VEC_GROW(cmp->diff, cmp->diff_cnt, cmp->diff_cap))
        return -1;
    cmp->diff[cmp->diff_cnt++] = *diff;
    return 0;
}

void comparison_free(struct comparison *cmp)
{
    for (size_t i = 0; cmp->result && i < cmp->drive->run_cnt; i++)
        free(cmp->result[i].mark);
    free(cmp->result);
    free(cmp->diff);
    memset(cmp, 0, sizeof(*cmp));
}

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {
        [VERDICT_PASS] = "PASS", [VERDICT_FAIL] = "FAIL", [VERDICT_SKIPPED] = "SKIPPED"};

    return names[verdict];
}
