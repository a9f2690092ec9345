/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_restarts.h"

/* How long an answer may be on its way from the capture point to the requester and what it draws
 * back again: the same for the responder is `quickest` at least. The point may be nearer to that.
 */
#define ON_WAY 2u

static void lose(struct asker *a, uint32_t answer, uint32_t restart)
{
    const struct setup *s = a->works.setup;

    a->fate[answer] = FATE_LOST;
    if (setup_packet(s, restart)->time - setup_packet(s, answer)->time <= ON_WAY * s->quickest &&
        restart < a->doubt_step)
        a->doubt_step = restart;
}

/* The answers from `from` on, before `to`, that acknowledge PSN `rel`, which is sent again at `to`:
 * they never reached the requester; or they did afterwards, if they were on their way when it sent
 * that. */
static void lose_answers(struct asker *a, uint32_t from, uint32_t to, int64_t rel)
{
    const struct setup *s = a->works.setup;

    for (uint32_t i = from; i < to; i++)
        if (s->step[i].response && a->fate[i] == FATE_TAKEN && setup_executed_by(s, i) >= rel)
            lose(a, i, to);
}

/* Whether a READ request before step `i` can have drawn this READ response: one whose answer has a
 * packet of this place at this PSN (R105). */
static bool is_asked(const struct works *w, uint32_t i)
{
    const struct setup *s = w->setup;
    const struct work *work = works_find(w, s->step[i].rel);
    enum roce_pos pos = setup_op(s, i)->pos;

    for (uint32_t k = i; work && k-- > work->post;) {
        int64_t off = s->step[i].rel - s->step[k].rel;
        struct roce_pkt pkt;
        uint32_t cnt;

        if (s->step[k].response || !trace_draws_read_response(setup_op(s, k)->kind) || off < 0)
            continue;
        trace_parse(setup_packet(s, k), &pkt);
        cnt = pkt.op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt.reth.dma_len, s->mtu) : 1;
        if (off < cnt && (cnt == 1                  ? pos == ROCE_POS_ONLY
                          : off == 0                ? pos == ROCE_POS_FIRST
                          : off == (int64_t)cnt - 1 ? pos == ROCE_POS_LAST
                                                    : pos == ROCE_POS_MIDDLE))
            return true;
    }
    return false;
}

/* Whether a damaged request may be the one whose PSN it shows: its opcode and its length fit, and
 * at least half of its bytes. */
static bool is_what_it_says(const struct works *w, uint32_t step)
{
    const struct setup *s = w->setup;
    const struct trace_packet *p = setup_packet(s, step), *first;
    const struct entry *e = setup_entry(s, s->step[step].rel);
    uint32_t same = 0;

    if (!e || e->step == step)
        return e != NULL;
    first = setup_packet(s, e->step);
    if (p->opcode != first->opcode || p->payload_len != first->payload_len)
        return false;
    if (p->cut || first->cut)
        return true;
    for (uint32_t i = 0; i < p->payload_len; i++)
        same += trace_payload(p)[i] == trace_payload(first)[i];
    return same >= p->payload_len / 2;
}

void asked_read(struct asker *a, uint32_t *first)
{
    const struct works *w = &a->works;
    const struct setup *s = w->setup;
    uint32_t last = STEP_NONE; /* latest request */
    int64_t next = s->first;   /* PSN after it */
    bool answered = false;     /* since */

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        int64_t idx = works_psn_idx(w, step->rel);
        const struct trace_packet *p = setup_packet(s, i);
        struct roce_pkt pkt;

        if (step->response) {
            answered = true;
            a->fate[i] = step->rel < s->first || step->early ? FATE_EARLY
                         : step->rel >= w->end               ? FATE_BEYOND
                                                             : FATE_TAKEN;
            if (a->fate[i] == FATE_TAKEN && setup_op(s, i)->kind == ROCE_KIND_READ_RESP &&
                !step->damaged && !is_asked(w, i)) {
                a->fate[i] = FATE_UNASKED;
                if (a->doubt_step == STEP_NONE)
                    a->doubt_step = i;
            }
            continue;
        }
        if (idx < 0)
            continue;
        if (step->damaged && (i < works_find(w, step->rel)->post || !is_what_it_says(w, i))) {
            a->restart[i] = RESTART_DUPLICATE; /* nothing of it is certain: a later copy tells */
            continue;
        }
        if (first[idx] == STEP_NONE) {
            first[idx] = i;
        } else if (last == STEP_NONE || answered || !trace_is_copy(setup_packet(s, last), p)) {
            a->restart[i] = RESTART_AGAIN;
            if (step->rel < next) {
                a->restart[i] = RESTART_BEGINS;
                lose_answers(a, first[idx], i, step->rel);
            }
        } else {
            a->restart[i] = RESTART_DUPLICATE;
            continue;
        }
        trace_parse(p, &pkt);
        next = step->rel +
               (pkt.op->kind == ROCE_KIND_READ ? roce_psn_cnt(pkt.reth.dma_len, s->mtu) : 1);
        for (int64_t k = idx + 1; k < next - s->first && k < w->end - s->first; k++)
            if (first[k] == STEP_NONE)
                first[k] = i; /* the rest of a READ */
        last = i;
        answered = false;
    }
}

bool asked_beyond_credits(const struct asker *a)
{
    const struct works *w = &a->works;
    const struct setup *s = w->setup;
    int64_t limit = INT64_MAX; /* messages */
    int64_t acked = s->first - 1;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        const struct trace_packet *p = setup_packet(s, i);
        const struct work *work = works_find(w, step->rel);
        int64_t number;

        if (step->response && a->fate[i] == FATE_TAKEN && !step->damaged) {
            uint32_t credits = roce_credits(roce_syndrome_code(p->syndrome));
            int64_t sum = (int64_t)((p->msn - s->msn) & ROCE_PSN_MASK) + credits;

            if (roce_opcode_has(setup_op(s, i), ROCE_HDR_AETH) &&
                roce_syndrome_kind(p->syndrome) == ROCE_SYN_ACK)
                limit = credits == ROCE_CREDITS_UNLIMITED   ? INT64_MAX
                        : limit == INT64_MAX || sum > limit ? sum
                                                            : limit;
            if (setup_executed_by(s, i) > acked)
                acked = setup_executed_by(s, i);
        }
        if (step->response || !work || a->restart[i] ||
            !roce_opcode_uses_rq(setup_op(s, w->part[work->part + work->part_cnt - 1])))
            continue;
        number = work - w->work + 1;
        if (number - 1 > limit || (number > limit && step->rel > work->rel && acked < work->rel) ||
            (number > limit && step->rel == work->rel && acked < step->rel - 1))
            return true;
    }
    return false;
}
