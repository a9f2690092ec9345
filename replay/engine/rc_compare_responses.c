/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_compare_responses.h"

#include <stdlib.h>
#include <string.h>
#include "engine/rc_inconclusive.h"
#include "infer/infer_loss.h"
#include "engine/rc_match.h"
#include "engine/rc_classify.h"
#include "engine/rc_misaddressed.h"
#include "wire/codes.h"

/* Answers that a responder has ready follow each other closer than this; a requester's timer, or a
 * NAK and what it draws, takes longer. */
#define TRAIN_NS 1000000u

/* ---- kinds of answers --------------------------------------------------------------------------
 */

/* READ responses, Atomic ACKs and NAKs: each has to be one of ours. */
static int compare_exact(struct view *v, uint32_t step)
{
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct field_diffs d = {.cnt = 0}, other;
    struct answer *ours = match_to_request(v, step, &d);
    struct answer *used = match_continued(v, step);
    char writer[96] = "";

    if (used) {
        d.cnt = 0;
        return settle(v, step, used, &d, "");
    }
    if (ours && d.cnt > 0) {
        struct answer *late = match_at(v, step, true, true, &other);

        /* Still on its way from an earlier copy of the request, close behind the answers before it,
         * and no answer to this one came yet. */
        if (late && other.cnt == 0 && late->step < ours->step && p->time - v->heard <= TRAIN_NS &&
            (v->latest == STEP_NONE || late->step >= v->latest))
            ours = NULL;
    }
    if (ours && d.cnt > 0) {
        int rc;

        if (d.payload)
            settle_name_writer(v, step, d.payload_off, writer, sizeof(writer));
        rc = settle(v, step, ours, &d,
                    writer[0] ? writer : "our RNIC answers this request differently");
        ours->used = true;
        return rc;
    }
    if (!ours)
        ours = match_at(v, step, true, true, &d);
    if (ours && d.cnt == 0) {
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST)
            v->res->read_msn += p->msn != ours->msn;
        return settle(v, step, ours, &d, "");
    }
    /* The same answer twice although it was drawn out once: the wire duplicated it, or its request
     * behind the capture point; the answer to that counts what was executed since. */
    used = match_at(v, step, true, false, &other);
    if (used && used->used && other.cnt == 1 && fields_find(&other, "aeth.msn") &&
        roce_opcode(p->opcode)->kind != ROCE_KIND_ACK && !match_has_other_psn(v, step) &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(used->msn)) > 0 &&
        roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(view_msn(v))) <= 0)
        other.cnt = 0;
    if (used && used->used && other.cnt == 0) {
        v->res->repeated++;
        return settle(v, step, used, &other, "");
    }
    if (ours && (d.payload || fields_find(&d, "atomicacketh.orig")))
        settle_name_writer(v, step, d.payload_off, writer, sizeof(writer));
    if (ours && writer[0])
        return settle(v, step, ours, &d, writer);
    if (ours)
        return settle(v, step, ours, &d,
                      match_is_nak(p->opcode, p->syndrome)
                          ? "our RNIC refuses this request differently"
                          : "our RNIC answers this request differently");
    ours = match_at(v, step, false, false, &d);
    if (ours && d.cnt > 0)
        return settle(v, step, ours, &d, "our RNIC answers this request differently");
    ours = match_recent(v, step, &d);
    if (ours && d.cnt > 0 && d.cnt <= 2)
        return settle(v, step, ours, &d, "our RNIC has no such answer; this is the closest");
    settle_none(v, step, &d);
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

    return e && view_fetches(s, e->step) && p && (v->repeat == STEP_NONE || v->repeat < p->step);
}

/* An ACK is covered if our RNIC has executed and acknowledged as much, counting the same messages.
 */
static int compare_ack(struct view *v, uint32_t step)
{
    const struct step *at = &v->run->setup.step[step];
    const struct trace_packet *p = setup_packet(&v->run->setup, step);
    struct field_diffs d = {.cnt = 0};
    struct answer *ours = match_at(v, step, true, false, &d);
    bool exact = ours != NULL;
    uint32_t msn = 0;

    if (at->rel >= view_epsn(v)) {
        ours = match_at(v, step, false, false, &d);
        if (!ours || d.cnt == 0)
            ours = match_recent(v, step, &d);
        if (!ours || d.cnt == 0)
            settle_none(v, step, &d);
        return settle(v, step, ours, &d,
                      "it acknowledges a request that our RNIC has not executed");
    }
    /* The newest acknowledgement may be repeated without being asked for, to tell of credits
     * (9.7.7.2); then its PSN may be that of a READ which data has answered. */
    if (!exact && at->rel > v->settled && answered_by_data(v, at->rel)) {
        ours = match_at(v, step, false, false, &d);
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
        match_fields(v, p, &like, &d);
    }
    if (exact && d.cnt == 0)
        v->res->credits += p->syndrome != ours->syndrome;
    if (!exact && !msn_at(v, at->rel, &msn)) {
        ours = match_recent(v, step, &d);
        if (!ours || d.cnt == 0)
            settle_none(v, step, &d);
        return settle(v, step, ours, &d, "no request ends at the PSN that it acknowledges");
    }
    if (!exact && msn != p->msn) {
        struct field_diffs recent;
        struct answer *last = match_recent(v, step, &recent);

        if (last && recent.cnt == 1) {
            d = recent; /* just the PSN is wrong */
            ours = last;
        } else {
            fields_differ_num(&d, "aeth.msn", "%u", p->msn, msn);
        }
    }
    /* Not asked for an ACK, ours may wait (R099, R110). */
    if (d.cnt == 0 && v->acked < at->rel && v->owed > v->acked && v->owed < view_epsn(v))
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
        int64_t acked = a->rel - (match_is_nak(a->opcode, a->syndrome) ? 1 : 0);

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
            (setup_packet(&run->setup, v->asked)->ackreq || view_fetches(&run->setup, v->asked)))
            v->owed = last;
    }
}

static void note_request(struct view *v, uint32_t step)
{
    const struct step *at = &v->run->setup.step[step];

    if (at->damaged || at->early || at->lost)
        return;
    v->request = step;
    if (view_fetches(&v->run->setup, step))
        return;
    /* Executed by an earlier copy: our RNIC did not move on with this one. */
    advance(v, step);
    if (at->rel < view_epsn(v) &&
        (v->moved == 0 || v->run->progress[v->moved - 1].epsn <= at->rel ||
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
    /* It answers a request that the capture lacks, if all that it has are answered already and it
     * counts that one. Else it is the answer to one of those, with a wrong PSN. */
    if (at->rel > v->high && v->settled >= v->owed &&
        doubt_is_beyond(&v->run->setup, step, v->high)) {
        v->res->unasked++;
        v->res->mark[step] = MARK_NOTE;
        return 0;
    }
    v->res->compared++;
    if (op->kind == ROCE_KIND_ACK && !match_is_nak(p->opcode, p->syndrome))
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
        if (roce_opcode(a->opcode)->kind == ROCE_KIND_ACK && !match_is_nak(a->opcode, a->syndrome))
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
        qsort(by_rel, run->answer_cnt, sizeof(*by_rel), match_order);
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
