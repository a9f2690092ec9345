/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_loss.h"

#include <stdlib.h>
#include <string.h>

/* How many packets before and after a sequence NAK are looked at. */
#define LOST_WINDOW (1u << 15)

/* A NAK that arrives is obeyed sooner than this, even by software in a busy guest; a requester that
 * waits longer has not got it, but goes back by its timer, which is tens of milliseconds and more
 * by default (67 ms for timeout 14). */
#define OBEYED_NS 20000000u

/* A silence is so many times as long as an answer takes. */
#define SILENCE 8u

/* Each look whether an answer is one that shows requests executed may take LOST_WINDOW steps. */
#define PROOFS_MAX 4096u

/* An answer may be so much, one part in this, quicker than the quickest that is certain. */
#define JITTER 8u

/* In place of a step: there are several copies. */
#define SENT_TWICE (STEP_NONE - 1)

/* NAKs after which the responder's QP is in error. */
static bool is_refusal(const struct setup *s, uint32_t step)
{
    return setup_is_syndrome(s, step, ROCE_SYN_NAK) &&
           !setup_is_nak_code(s, step, ROCE_NAK_PSN_SEQ);
}

/* ---- NAKs --------------------------------------------------------------------------------------
 */

/* The NAK that ended the connection: no later answer shows that its request was executed. */
static void find_refusal(struct setup *s)
{
    int64_t later = INT64_MIN;

    s->refused = STEP_NONE;
    for (uint32_t i = (uint32_t)s->step_cnt; i-- > 0;) {
        const struct step *step = &s->step[i];
        const struct entry *e = setup_entry(s, step->rel);

        if (!step->response || !step->usable || step->early)
            continue;
        /* Keys are checked where they stand, in the packet that begins the message (R084). */
        if (is_refusal(s, i) && step->rel > later && setup_msn_fits(s, i) && e &&
            (!setup_is_nak_code(s, i, ROCE_NAK_REMOTE_ACCESS) ||
             e->msg == (uint32_t)(e - s->entry)))
            s->refused = i;
        else if (!setup_is_nak(s, i) && step->rel > later)
            later = step->rel;
    }
}

/* An RNR NAK says that its request found no receive WQE, and neither did earlier copies of it. */
static bool find_rnr(struct setup *s)
{
    uint32_t codes[32] = {0};
    struct keymap refused;
    bool ok = true;

    keymap_init(&refused, sizeof(int64_t));
    for (uint32_t i = (uint32_t)s->step_cnt; ok && i-- > 0;) {
        struct step *step = &s->step[i];

        if (!step->response) {
            step->no_recv = keymap_get(&refused, &step->rel) != KEYMAP_NONE;
        } else if (step->usable && !step->early && setup_is_syndrome(s, i, ROCE_SYN_RNR)) {
            codes[roce_syndrome_code(setup_packet(s, i)->syndrome)]++;
            s->rnr_naks++;
            if (setup_msn_fits(s, i))
                ok = keymap_add(&refused, &step->rel) != KEYMAP_NONE;
        }
    }
    keymap_free(&refused);
    for (uint8_t i = 0; i < 32; i++)
        if (codes[i] > codes[s->rnr_code])
            s->rnr_code = i;
    return ok;
}

/* What the requester made of an answer: the step with which it goes back next, or STEP_NONE. */
static uint32_t goes_back(const struct setup *s, uint32_t answer, int64_t high)
{
    for (uint32_t i = answer + 1; i < s->step_cnt && i - answer < LOST_WINDOW; i++) {
        if (s->step[i].response || !s->step[i].usable)
            continue;
        if (s->step[i].rel <= high)
            return i;
        high = s->step[i].rel;
    }
    return STEP_NONE;
}

/* Whether a request came soon enough after an answer to be the requester's reaction to it. */
static bool obeyed(const struct setup *s, uint32_t answer, uint32_t request)
{
    return setup_packet(s, request)->time - setup_packet(s, answer)->time <= OBEYED_NS;
}

/* Whether the requester went back to the NAKed PSN after this NAK; or beyond it, where the capture
 * lacks the copies before that; or the capture ends before it could. */
static bool sent_again(const struct setup *s, uint32_t nak, bool exactly)
{
    int64_t rel = s->step[nak].rel, high = rel;
    uint32_t back;

    for (uint32_t i = nak + 1; i < s->step_cnt && i - nak < LOST_WINDOW; i++)
        if (!s->step[i].response && s->step[i].usable && s->step[i].rel == rel)
            return true;
    for (uint32_t i = nak; i-- > 0 && nak - i < LOST_WINDOW;)
        if (!s->step[i].response && s->step[i].rel > high)
            high = s->step[i].rel;
    if (exactly || high == rel)
        return false; /* another PSN is missing already, or nothing came too early */
    back = goes_back(s, nak, high);
    if (back != STEP_NONE)
        return s->step[back].rel == rel + 1 && obeyed(s, nak, back);
    for (uint32_t i = nak + 1; i < s->step_cnt && i - nak < LOST_WINDOW; i++)
        if (s->step[i].response && s->step[i].usable && setup_executed_by(s, i) >= rel)
            return false;
    return true;
}

/* The first copy of a request after a step, or STEP_NONE. */
static uint32_t copy_after(const struct setup *s, uint32_t step, int64_t rel)
{
    for (uint32_t i = step + 1; i < s->step_cnt && i - step < LOST_WINDOW; i++)
        if (!s->step[i].response && s->step[i].usable && s->step[i].rel == rel)
            return i;
    return STEP_NONE;
}

/* The least time in which an answer came to a request that was captured once by then: the way from
 * here to the responder and back. 0 if there is none. */
static bool find_quickest(struct setup *s)
{
    uint32_t *copy = malloc((s->entry_cnt + 1) * sizeof(*copy)); /* per entry */
    uint64_t best[2] = {UINT64_MAX, UINT64_MAX};                 /* data, ACKs */

    if (!copy)
        return false;
    memset(copy, 0xFF, s->entry_cnt * sizeof(*copy));
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        const struct entry *e = step->usable ? setup_entry(s, step->rel) : NULL;
        uint32_t *at = e ? &copy[e - s->entry] : NULL;

        if (!at)
            continue;
        if (!step->response && step->rel == e->rel) {
            *at = *at == STEP_NONE ? i : SENT_TWICE;
        } else if (step->response && *at < SENT_TWICE && !setup_is_nak(s, i)) {
            uint64_t took = setup_packet(s, i)->time - setup_packet(s, *at)->time;
            bool ack = setup_op(s, i)->kind == ROCE_KIND_ACK;

            if (took < best[ack])
                best[ack] = took;
        }
    }
    /* ACKs may wait, data does not. */
    if (best[0] == UINT64_MAX)
        best[0] = best[1];
    s->quickest = best[0] == UINT64_MAX ? 0 : best[0] - best[0] / JITTER;
    free(copy);
    return true;
}

/* Whether step `i` came soon after request `copy`, where no answer had come for much longer: all
 * that came from the responder before that had been answered. */
static bool broke_silence(const struct setup *s, uint32_t i, uint32_t copy)
{
    uint64_t time = setup_packet(s, copy)->time;

    for (uint32_t k = copy; k-- > 0 && copy - k < LOST_WINDOW;)
        if (s->step[k].response)
            return setup_packet(s, i)->time - time < (time - setup_packet(s, k)->time) / SILENCE;
    return false;
}

/* Whether step `i` answers a READ or an atomic that was repeated after step `from`, not sooner than
 * any answer can come, and its place in the answer is one whose MSN is certain (R103). */
static bool answers_repeat(const struct setup *s, uint32_t i, uint32_t from,
                           const uint32_t *executed)
{
    const struct roce_opcode *op = setup_op(s, i);
    const struct entry *e = setup_entry(s, s->step[i].rel);
    unsigned copies = 0, answers = 0;
    bool repeated = false;

    if (!e || (op->kind != ROCE_KIND_ATOMIC_ACK && op->kind != ROCE_KIND_READ_RESP) ||
        !roce_opcode_has(op, ROCE_HDR_AETH) || op->pos == ROCE_POS_FIRST)
        return false;
    /* Copies before the one that was executed came too early, and drew nothing. */
    for (uint32_t k = i + 1; k-- > executed[e - s->entry] && i - k < LOST_WINDOW;) {
        if (s->step[k].response) {
            answers += s->step[k].rel == s->step[i].rel && /* damaged ones too */
                       setup_op(s, k)->kind == op->kind;
        } else if (s->step[k].usable && s->step[k].rel >= e->rel &&
                   s->step[k].rel <= s->step[i].rel && setup_in_time(s, i, k)) {
            copies++;
            if (k <= from)
                continue;
            if (!repeated && broke_silence(s, i, k))
                return true;
            repeated = true;
        }
    }
    return repeated && answers >= copies;
}

/* Whether an answer after step `from` shows `rel` executed that comes before its next copy, at step
 * `to`, or too soon after that to be drawn by it. */
static bool is_shown(const struct setup *s, uint32_t from, uint32_t to, int64_t rel)
{
    for (uint32_t i = from + 1;
         i < s->step_cnt && i - from < LOST_WINDOW && (i < to || !setup_in_time(s, i, to)); i++)
        if (s->step[i].response && s->step[i].usable && !s->step[i].early &&
            setup_executed_by(s, i) >= rel && setup_msn_fits(s, i))
            return true;
    return false;
}

/*
 * The answer to a repeated READ or atomic counts fewer messages than were captured before the
 * repetition: what it does not count was lost on its way from here, if it was sent again and
 * nothing in between shows it executed. The entry, or entry_cnt.
 */
static size_t uncounted(const struct setup *s, uint32_t i, size_t next, const uint32_t *executed,
                        int64_t proved)
{
    uint32_t count = (setup_packet(s, i)->msn - s->msn) & ROCE_PSN_MASK;
    size_t k = next;
    uint32_t copy;

    if (!roce_opcode_has(setup_op(s, i), ROCE_HDR_AETH) || next == 0 ||
        count >= s->entry[next - 1].done)
        return s->entry_cnt;
    while (k > 0 && s->entry[k - 1].done > count)
        k--;
    if (k == 0 || s->entry[k - 1].done != count || s->entry[k].rel <= s->step[i].rel ||
        s->entry[k].rel <= proved || !answers_repeat(s, i, executed[k], executed))
        return s->entry_cnt;
    copy = copy_after(s, executed[k], s->entry[k].rel);
    if (copy == STEP_NONE || is_shown(s, executed[k], copy, s->entry[k].rel))
        return s->entry_cnt;
    return k;
}

/* Whether what a NAK asks for is sent again sooner than an RNR NAK would allow. */
static bool is_hasty(const struct setup *s, uint32_t nak)
{
    uint32_t copy = copy_after(s, nak, s->step[nak].rel);

    return copy != STEP_NONE &&
           setup_packet(s, copy)->time - setup_packet(s, nak)->time < roce_rnr_ns(s->rnr_code) / 2;
}

/* A sequence NAK for a PSN that, from what was captured, had been executed: that copy was lost on
 * its way from here to the responder. Only where nothing before shows that it was executed, and the
 * requester then sent it again. */
static bool find_lost(struct setup *s)
{
    uint32_t *executed = malloc((s->entry_cnt + 1) * sizeof(*executed)); /* step, per entry */
    uint64_t effort = 0;
    uint32_t waiting =
        STEP_NONE;           /* copy of the expected one that found no receive WQE, if it came */
    size_t asked = SIZE_MAX; /* entry of which a copy was lost last */
    int64_t proved = INT64_MIN;
    size_t next = 0;      /* entry that the responder expects */
    bool stalled = false; /* a later one came instead */

    if (!executed)
        return false;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];
        const struct entry *e;

        if (!step->usable || step->early)
            continue;
        if (!step->response) {
            if (next < s->entry_cnt && step->rel == s->entry[next].rel && !step->lost &&
                step->no_recv)
                waiting = i;
            if (next < s->entry_cnt && step->rel == s->entry[next].rel && !step->lost &&
                !step->no_recv) {
                executed[next++] = i;
                stalled = false;
                waiting = STEP_NONE;
            }
            stalled |= next < s->entry_cnt && step->rel > s->entry[next].rel;
            continue;
        }
        if (!setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) || !setup_msn_fits(s, i)) {
            size_t k = uncounted(s, i, next, executed, proved);

            if (k < s->entry_cnt && effort < LOST_WINDOW * UINT64_C(64)) {
                s->step[executed[k]].lost = true;
                effort += i - executed[k];
                next = k;
                i = executed[k];
                stalled = false;
                continue;
            }
            if (setup_executed_by(s, i) > proved &&
                (setup_op(s, i)->kind != ROCE_KIND_ACK || setup_msn_fits(s, i)))
                proved = setup_executed_by(s, i);
            if (setup_is_syndrome(s, i, ROCE_SYN_RNR))
                waiting = STEP_NONE;
            continue;
        }
        e = setup_entry(s, step->rel);
        /* Asked for before it could be refused, as something came after it. */
        if (e && waiting != STEP_NONE && step->rel == s->step[waiting].rel &&
            (stalled || is_hasty(s, i))) {
            s->step[waiting].lost = true;
            waiting = STEP_NONE;
            continue;
        }
        if (!e || e->rel != step->rel || (size_t)(e - s->entry) >= next || proved >= e->rel ||
            (!sent_again(s, i, stalled) && copy_after(s, executed[e - s->entry], e->rel) > i))
            continue;
        /* The NAK was drawn by what followed the copy that was lost before: this one arrived. */
        if ((size_t)(e - s->entry) == asked && is_shown(s, i, copy_after(s, i, e->rel), e->rel))
            continue;
        next = asked = (size_t)(e - s->entry);
        s->step[executed[next]].lost = true;
        /* What came after it arrived too early: look at that again. */
        effort += i - executed[next];
        if (effort > LOST_WINDOW * UINT64_C(64))
            break;
        i = executed[next];
        stalled = false;
    }
    free(executed);
    return true;
}

/* Whether a copy of the entry's request was captured so soon after the step that the two may just
 * have been turned round. */
static bool raced(const struct setup *s, const struct entry *e, uint32_t step)
{
    uint64_t time = setup_packet(s, step)->time;

    for (uint32_t i = step + 1; i < s->step_cnt && i - step <= EVIDENCE_RACE_STEPS &&
                                setup_packet(s, i)->time - time <= EVIDENCE_RACE_NS;
         i++)
        if (!s->step[i].response && s->step[i].rel == e->rel)
            return true;
    return false;
}

/* Whether an answer shows executed what it says. It may have been altered: so its PSN and its MSN
 * have to agree, requests up to there to have been captured, its kind to be that of its request,
 * and the requester not to do the contrary: go back to what was acknowledged, or elsewhere than a
 * NAK says. */
static bool is_proof(const struct setup *s, uint32_t step, int64_t high, int64_t expected)
{
    const struct entry *e = setup_entry(s, setup_executed_by(s, step));
    const struct roce_opcode *op = setup_op(s, step);
    int64_t rel = s->step[step].rel;
    uint32_t back;

    if (rel > high || !setup_msn_fits(s, step) || !e)
        return false;
    if (op->kind == ROCE_KIND_READ_RESP)
        return trace_draws_read_response(setup_op(s, e->step)->kind);
    if (op->kind == ROCE_KIND_ATOMIC_ACK)
        return roce_opcode_is_atomic(setup_op(s, e->step));
    /* Inside a message the MSN tells nothing. */
    if (setup_is_syndrome(s, step, ROCE_SYN_ACK) && !setup_packet(s, e->step)->ackreq &&
        setup_packet(s, step)->msn == setup_msn(s, expected - 1))
        return false;
    back = goes_back(s, step, high);
    if (back == STEP_NONE || !obeyed(s, step, back))
        return true;
    if (setup_is_syndrome(s, step, ROCE_SYN_RNR))
        return s->step[back].rel <= rel;
    return (s->step[back].rel == rel) == setup_is_nak(s, step);
}

/* Answers that show executed what no captured copy of its request came before. */
static bool find_ahead(struct setup *s)
{
    size_t next = 0; /* entry that the responder expects */
    int64_t high = INT64_MIN;
    unsigned looks = 0;

    for (uint32_t i = 0; i < s->step_cnt && next < s->entry_cnt; i++) {
        const struct step *step = &s->step[i];
        bool response = step->response;

        if (!step->usable || step->early)
            continue;
        if (!response && step->rel > high)
            high = step->rel;
        if (!response && !step->lost && !step->no_recv && step->rel == s->entry[next].rel &&
            ++next == s->entry_cnt)
            break;
        if (!response || s->entry[next].rel > setup_executed_by(s, i) || ++looks > PROOFS_MAX ||
            !is_proof(s, i, high, s->entry[next].rel))
            continue;
        while (next < s->entry_cnt && s->entry[next].rel <= setup_executed_by(s, i) &&
               !s->entry[next].invalid && !raced(s, &s->entry[next], i)) {
            if (!VEC_GROW(s->ahead, s->ahead_cnt, s->ahead_cap))
                return false;
            s->ahead[s->ahead_cnt++] = (struct ahead){.step = s->entry[next].step, .at = i};
            next++;
        }
    }
    return true;
}

bool evidence_find(struct setup *s)
{
    find_refusal(s);
    return find_quickest(s) && find_rnr(s) && find_lost(s) && find_ahead(s);
}
