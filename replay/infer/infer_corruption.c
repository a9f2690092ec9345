/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_corruption.h"

#include <stdlib.h>

/* Whether a READ asks for the end of the READ before it once more (R112): its PSN is one that the
 * other takes, not one that was sent. */
static bool asks_for_tail(const struct setup *s, uint32_t step, struct roce_reth *before)
{
    struct roce_reth last = *before;
    struct roce_pkt pkt;

    if (setup_op(s, step)->kind != ROCE_KIND_READ)
        return false;
    trace_parse(setup_packet(s, step), &pkt);
    *before = pkt.reth;
    return pkt.reth.rkey == last.rkey && pkt.reth.va > last.va && pkt.reth.dma_len &&
           pkt.reth.va - last.va < last.dma_len &&
           pkt.reth.dma_len == last.dma_len - (pkt.reth.va - last.va);
}

void damage_judge(struct setup *s)
{
    int64_t high = INT64_MIN, rnr = INT64_MIN;
    int64_t last = -1; /* step of the latest sign of loss */
    struct roce_reth read = {0};
    bool tail;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];

        if (step->damaged) {
            s->damaged_cnt++;
            continue;
        }
        if (step->response) {
            if (setup_is_syndrome(s, i, ROCE_SYN_RNR))
                rnr = step->rel;
            if (setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ)) {
                s->seq_naks++;
                last = i;
            }
            continue;
        }
        tail = asks_for_tail(s, i, &read);
        if (step->rel <= high || tail) {
            s->retransmitted++;
            if (rnr == INT64_MIN || step->rel < rnr) {
                s->lossy = true;
                last = i;
            }
        }
        if (step->rel > high) {
            high = step->rel;
            rnr = INT64_MIN; /* it has been sent again, and all after it */
        }
    }
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];

        step->usable =
            !step->damaged || (step->response && s->damaged_cnt == 1 && last < (int64_t)i &&
                               setup_packet(s, i)->icrc == ROCE_ICRC_BAD);
    }
}

/* How many PSNs a request takes, if data answers it; else 0. */
static int64_t data_cnt(const struct setup *s, uint32_t step)
{
    const struct roce_opcode *op = setup_op(s, step);
    struct roce_pkt pkt;

    if (op->kind != ROCE_KIND_READ)
        return roce_opcode_is_atomic(op) || trace_draws_read_response(op->kind);
    trace_parse(setup_packet(s, step), &pkt);
    return roce_psn_cnt(pkt.reth.dma_len, s->mtu);
}

/* Whether good answers have shown all executed up to PSN `high`, and brought all that was asked
 * for; `data` has room for a byte for each PSN from 0 on. */
static bool complete(const struct setup *s, int64_t high, uint8_t *data)
{
    int64_t executed = INT64_MIN;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];

        if (!step->response || step->damaged)
            continue;
        if (setup_executed_by(s, i) > executed)
            executed = setup_executed_by(s, i);
        if (setup_op(s, i)->kind != ROCE_KIND_ACK && step->rel >= 0 && step->rel <= high)
            data[step->rel] = 1;
    }
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];
        int64_t cnt = step->response || step->damaged || step->rel < 0 ? 0 : data_cnt(s, i);

        for (int64_t rel = step->rel; rel < step->rel + cnt; rel++)
            if (!data[rel])
                return false;
    }
    return executed >= high;
}

bool damage_excuse(struct setup *s)
{
    int64_t high = INT64_MIN;
    uint32_t taken = STEP_NONE;
    uint8_t *data;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        int64_t cnt;

        if (s->step[i].damaged && s->step[i].usable)
            taken = i;
        if (s->step[i].response || s->step[i].damaged)
            continue;
        cnt = data_cnt(s, i);
        if (s->step[i].rel + cnt - (cnt > 0) > high)
            high = s->step[i].rel + cnt - (cnt > 0);
    }
    if (taken == STEP_NONE || high < 0)
        return true;
    data = calloc(1, (size_t)high + 1);
    if (!data)
        return false;
    s->step[taken].usable = !complete(s, high, data);
    free(data);
    return true;
}

bool damage_hides(const struct setup *s, int64_t gap)
{
    int64_t high = INT64_MIN;
    bool there = false;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];

        if (step->response)
            continue;
        if (there && step->rel <= high)
            return false;
        there |= step->damaged && step->rel == gap;
        if (step->rel > high)
            high = step->rel;
    }
    return there;
}
