/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_inconclusive.h"

#include "wire/codes.h"

/* How far around an answer its request is looked for: more than any window of packets in flight. */
#define LOOK_BACK 1024u

static const struct setup *setup_of(const struct deviation_case *c)
{
    return &c->run->setup;
}

static enum roce_kind kind_of(const struct deviation_case *c)
{
    return setup_op(setup_of(c), c->step)->kind;
}

/* The side has requests without any copy in the capture, or shows one executed before its copy. */
static bool lacks_requests(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);

    return c->run->part || s->ahead_cnt > 0;
}

bool doubt_is_beyond(const struct setup *s, uint32_t step, int64_t high)
{
    const struct trace_packet *p = setup_packet(s, step);
    const struct roce_opcode *op = setup_op(s, step);
    int64_t rel = s->step[step].rel;
    const struct entry *before = setup_entry_before(s, rel > high ? high : rel);
    int64_t end = before ? before->rel + before->cnt - 1 : s->first - 1;
    int64_t low = rel > high && high < end ? high : end;
    const struct entry *e = setup_entry(s, low);
    int64_t more = rel - low; /* at most: one a PSN */
    int32_t done = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(setup_msn(s, low)));

    if (low >= rel || (e && e->invalid) || s->step[step].damaged)
        return false;
    if (!roce_opcode_has(op, ROCE_HDR_AETH) || s->msn_votes == 0)
        return true; /* it counts nothing, or nothing tells from where */
    if (setup_is_nak(s, step) || (op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST))
        return done >= 0 && done < more + 1;
    return done > 0 && done <= more;
}

/* Whether a copy of the request that ours waits for was captured and given to it, in time and with
 * all that it needs: then nothing is lacking, ours did not take it. */
static bool has_refused(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    uint32_t since = STEP_NONE;
    size_t low = 0, high = c->run->progress_cnt;

    /* The last step before the answer that brought ours on. */
    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (c->run->progress[mid].step < c->step)
            low = mid + 1;
        else
            high = mid;
    }
    if (low > 0)
        since = c->run->progress[low - 1].step;
    for (uint32_t i = c->step;
         i-- > 0 && c->step - i <= LOOK_BACK && (since == STEP_NONE || i > since);) {
        const struct step *step = &s->step[i];

        if (!step->response && !step->damaged && !step->lost && !step->early && !step->no_recv &&
            step->rel == c->epsn)
            return true;
    }
    return false;
}

/* Its PSN and MSN agree, and requests up to there were captured, but ours has not come so far: it
 * waits for one of which a copy was not captured. */
static bool is_behind(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;

    return setup_executed_by(s, c->step) >= c->epsn && rel <= c->high &&
           !(c->ours && c->ours->rel == rel) && kind_of(c) == ROCE_KIND_ACK && !c->replaces &&
           !has_refused(c) && !s->step[c->step].damaged && setup_entry(s, rel) &&
           setup_msn_fits(s, c->step);
}

/* A sequence NAK for a request that was captured, but that no recorded answer had shown executed:
 * it was lost after it was captured, and so was its repetition. */
static bool naks_captured(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;

    return setup_is_nak_code(s, c->step, ROCE_NAK_PSN_SEQ) && rel < c->epsn && rel > c->settled &&
           rel < c->high && !c->replaces && setup_msn_fits(s, c->step) &&
           !(c->ours && c->ours->rel == rel);
}

/* It refuses a request for the first time of which no copy was captured since the last refusal. */
static bool refuses_unseen(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;
    const struct entry *before = setup_entry(s, rel - 1);

    if ((before && before->invalid) || !setup_is_nak(s, c->step) ||
        setup_is_nak_code(s, c->step, ROCE_NAK_PSN_SEQ) || !setup_msn_fits(s, c->step))
        return false;
    for (uint32_t i = c->step; i-- > 0 && c->step - i <= LOOK_BACK;) {
        if (s->step[i].rel != rel)
            continue;
        return s->step[i].response && setup_is_nak(s, i);
    }
    for (uint32_t i = c->step; i < s->step_cnt && i - c->step <= LOOK_BACK && rel < s->first; i++)
        if (!s->step[i].response && s->step[i].rel == rel)
            return true; /* sent before the capture, and again in it */
    return rel >= s->first;
}

/* Whether a request behind the expected one was captured and given to our RNIC, so that it has to
 * NAK the gap itself. */
static bool gap_captured(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);

    for (uint32_t i = c->step; i-- > 0 && c->step - i <= LOOK_BACK;) {
        const struct step *step = &s->step[i];

        if (step->response ? setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) && step->rel == c->epsn
                           : !step->damaged && step->rel < c->epsn)
            return false;
        if (!step->response && !step->damaged && !step->lost && step->rel > c->epsn)
            return true;
    }
    return false;
}

/* A sequence NAK for just the PSN that ours expects too: what came too early was not captured. */
static bool naks_unseen(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);

    return setup_is_nak_code(s, c->step, ROCE_NAK_PSN_SEQ) && s->step[c->step].rel == c->epsn &&
           !(c->ours && c->ours->rel == c->epsn) && setup_packet(s, c->step)->msn == c->msn &&
           !gap_captured(c);
}

/* A sequence NAK where ours refuses for want of a receive WQE, obeyed sooner than one would obey
 * that: the copy that ours has got was lost, and so were in the capture those that came after it.
 */
static bool naks_lost(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;
    uint64_t time = setup_packet(s, c->step)->time;

    if (!setup_is_nak_code(s, c->step, ROCE_NAK_PSN_SEQ) || !setup_msn_fits(s, c->step) ||
        !c->ours || c->ours->rel != rel || roce_syndrome_kind(c->ours->syndrome) != ROCE_SYN_RNR)
        return false;
    for (uint32_t i = c->step + 1; i < s->step_cnt && i - c->step <= LOOK_BACK; i++)
        if (!s->step[i].response && s->step[i].rel >= rel)
            return setup_packet(s, i)->time - time < roce_rnr_ns(s->rnr_code) / 2;
    return false;
}

/* Data for a PSN that ours has not come to, and that no request captured before asks for. */
static bool answers_unseen(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;
    const struct entry *e = setup_entry(s, rel);
    enum roce_kind kind = setup_op(s, c->step)->kind;

    if ((kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK) || rel < c->epsn || !e ||
        !(kind == ROCE_KIND_READ_RESP ? trace_draws_read_response(setup_op(s, e->step)->kind)
                                      : roce_opcode_is_atomic(setup_op(s, e->step))) ||
        (roce_opcode_has(setup_op(s, c->step), ROCE_HDR_AETH) && !setup_msn_fits(s, c->step)))
        return false;
    for (uint32_t i = c->step; i-- > 0 && c->step - i <= LOOK_BACK;)
        if (!s->step[i].response && s->step[i].rel >= e->rel && s->step[i].rel <= rel)
            return false;
    return true;
}

/* Middle or Last where a READ of which the capture may lack the beginning was answered: the
 * responder goes on with the READ that it knows, while ours knows its tail only. */
static bool may_be_tail(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    const struct entry *e = setup_entry(s, s->step[c->step].rel);
    const struct roce_opcode *op = setup_op(s, c->step);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;

    return e && our && e == s->entry && !s->side->cm.present && !c->payload &&
           op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_starts(our) && !roce_opcode_starts(op) &&
           roce_opcode_ends(our) == roce_opcode_ends(op);
}

/* A READ response that is right for another restart of the READ than those captured: the same data,
 * on top of all that ours gave, at another place from the beginning, at the same from the end. */
static bool answers_restart(const struct deviation_case *c)
{
    const struct roce_opcode *op = setup_op(setup_of(c), c->step);

    return c->matched && !c->replaces && c->opcode && c->ours && op->kind == ROCE_KIND_READ_RESP &&
           roce_opcode(c->ours->opcode)->kind == ROCE_KIND_READ_RESP &&
           roce_opcode_ends(roce_opcode(c->ours->opcode)) == roce_opcode_ends(op);
}

/* Part of a READ longer than the path MTU that was taken because no captured packet is longer: how
 * the responder divides it shows only that the path MTU is another. */
static bool may_be_divided(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    const struct entry *e = setup_entry(s, s->step[c->step].rel);

    return !s->mtu_known && e && kind_of(c) == ROCE_KIND_READ_RESP &&
           setup_op(s, e->step)->kind == ROCE_KIND_READ && e->len > s->mtu;
}

/* An ACK where data is due, of which the requester has got none: it sends the READ or atomic again.
 * The data was lost before it could be captured, and the ACK repeats its PSN to tell of credits
 * (9.7.7.2). */
static bool follows_lost_data(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t rel = s->step[c->step].rel;
    const struct entry *e = setup_entry(s, rel);

    if (!setup_is_syndrome(s, c->step, ROCE_SYN_ACK) || !e || rel >= c->epsn || !c->ours ||
        roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK || e->rel + e->cnt - 1 != rel ||
        !setup_msn_fits(s, c->step))
        return false;
    for (uint32_t i = c->step; i-- > 0 && c->step - i <= LOOK_BACK;)
        if (s->step[i].response && s->step[i].usable && s->step[i].rel == rel &&
            setup_op(s, i)->kind != ROCE_KIND_ACK)
            return false;
    for (uint32_t i = c->step + 1; i < s->step_cnt && i - c->step <= LOOK_BACK; i++)
        if (!s->step[i].response && s->step[i].rel >= e->rel && s->step[i].rel <= rel)
            return true;
    return false;
}

/* Whether its MSN says for certain how many messages are complete (R103). */
static bool counts_messages(const struct setup *s, uint32_t step)
{
    const struct roce_opcode *op = setup_op(s, step);

    return roce_opcode_has(op, ROCE_HDR_AETH) &&
           !(op->kind == ROCE_KIND_READ_RESP && op->pos == ROCE_POS_FIRST);
}

/* The answer to a repeated READ or atomic counts what arrived before: as many messages as the
 * answers around it, and as could be executed. Which copies of those arrived is not always in the
 * capture. */
static bool counts_what_arrived(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    const struct entry *e = setup_entry(s, s->step[c->step].rel);
    enum roce_kind kind = kind_of(c);
    roce_psn msn = roce_psn_of(setup_packet(s, c->step)->msn);
    unsigned copies = 0;

    if (!c->counts || !s->lossy || !e ||
        (kind != ROCE_KIND_READ_RESP && kind != ROCE_KIND_ATOMIC_ACK) ||
        roce_psn_diff(msn, roce_psn_of(setup_msn(s, e->rel))) < 0 ||
        roce_psn_diff(msn, roce_psn_of(setup_msn(s, c->high))) > 0)
        return false;
    for (uint32_t i = c->step; i-- > 0 && c->step - i <= LOOK_BACK;) {
        const struct step *step = &s->step[i];

        copies += !step->response && step->rel >= e->rel && step->rel < e->rel + e->cnt;
        if (step->response && step->usable && !step->early && counts_messages(s, i) &&
            roce_psn_diff(msn, roce_psn_of(setup_packet(s, i)->msn)) < 0)
            return false;
    }
    for (uint32_t i = c->step + 1; i < s->step_cnt && i - c->step <= LOOK_BACK; i++)
        if (s->step[i].response && s->step[i].usable && counts_messages(s, i) &&
            roce_psn_diff(msn, roce_psn_of(setup_packet(s, i)->msn)) > 0)
            return false;
    return copies > 1;
}

/* It shows executed what a later answer refuses. A request is refused when it first comes, never
 * when it is repeated (R117): no packet that the capture may lack explains both. */
static bool is_refused_later(const struct deviation_case *c)
{
    const struct setup *s = setup_of(c);
    int64_t executed = setup_executed_by(s, c->step);

    if (setup_is_nak(s, c->step))
        return false;
    for (uint32_t i = c->step + 1; i < s->step_cnt && i - c->step <= LOOK_BACK; i++)
        if (s->step[i].response && s->step[i].usable && setup_is_nak(s, i) &&
            !setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) && s->step[i].rel <= executed)
            return true;
    return false;
}

const char *doubt_reason(const struct deviation_case *c)
{
    if (is_refused_later(c))
        return NULL;
    if (lacks_requests(c))
        return "lacks requests of this connection that were executed";
    if (doubt_is_beyond(setup_of(c), c->step, c->high))
        return "lacks the request that this answers";
    if (is_behind(c))
        return "lacks a request before the one that this answers";
    if (naks_captured(c))
        return "lacks the repetition of the request that this asks for";
    if (refuses_unseen(c))
        return "lacks the request that this refuses";
    if (naks_unseen(c))
        return "lacks the request that came too early";
    if (naks_lost(c))
        return "lacks the request that came too early";
    if (answers_unseen(c))
        return "lacks the request that this answers";
    if (follows_lost_data(c))
        return "lacks the data before this";
    if (answers_restart(c))
        return "lacks the repeated READ that this answers";
    if (counts_what_arrived(c))
        return "does not show which of the repeated requests arrived";
    if (may_be_divided(c))
        return "shows no packet that tells the path MTU";
    if (may_be_tail(c))
        return "may have begun after the READ that this continues";
    return NULL;
}
