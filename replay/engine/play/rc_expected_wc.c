/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/play/rc_expected_wc.h"

#include <string.h>

void expected_wc_init(struct expected_wc *e, const struct requester_run *run)
{
    memset(e, 0, sizeof(*e));
    e->run = run;
    e->acked = run->wrs.setup->first - 1;
}

static int64_t last_of(const struct work_request *wr)
{
    return wr->rel + wr->cnt - 1;
}

static bool is_fetch(const struct work_request *wr)
{
    return wr->kind != ROCE_KIND_SEND && wr->kind != ROCE_KIND_WRITE;
}

/* Completes the work requests that an acknowledgement up to `rel` covers. The completions stop at a
 * READ or atomic if its data has not arrived (R139, R140). */
static void acknowledge(struct expected_wc *e, int64_t rel)
{
    const struct work_requests *w = &e->run->wrs;

    for (; e->done_cnt < w->cnt; e->done_cnt++) {
        const struct work_request *wr = &w->wr[e->done_cnt];

        if (wr->open || (is_fetch(wr) ? e->acked < last_of(wr) : rel < last_of(wr))) {
            if (!is_fetch(wr) && rel > e->acked)
                e->acked = rel;
            return;
        }
        if (last_of(wr) > e->acked)
            e->acked = last_of(wr);
    }
}

/* Processes a response with data to a READ or an atomic. If the data is in order, it also
 * acknowledges the earlier work requests. Out-of-order data is ignored (R140). */
void expected_wc_on_data(struct expected_wc *e, int64_t rel)
{
    const struct work_request *wr = work_request_at(&e->run->wrs, rel);

    if (!wr || !is_fetch(wr))
        return;
    acknowledge(e, wr->rel - 1);
    if (rel != e->acked + 1)
        return;
    e->acked = rel;
    acknowledge(e, rel);
}

static enum rnic_wc_status nak_status(enum roce_nak code)
{
    switch (code) {
    case ROCE_NAK_INVALID_REQ: return RNIC_WC_REM_INV_REQ_ERR;
    case ROCE_NAK_REMOTE_ACCESS: return RNIC_WC_REM_ACCESS_ERR;
    default: return RNIC_WC_REM_OP_ERR;
    }
}

/* Returns whether the requester retransmits PSN `rel` after event `event`. */
static bool is_sent_again(const struct inferred_setup *s, uint32_t event, int64_t rel)
{
    for (uint32_t i = event + 1; i < s->event_cnt; i++)
        if (!s->event[i].response && s->event[i].rel <= rel)
            return true;
    return false;
}

void expected_wc_on_response(struct expected_wc *e, uint32_t event)
{
    const struct inferred_setup *s = e->run->wrs.setup;
    const struct trace_packet *p = event_packet(s, event);
    int64_t rel = s->event[event].rel;

    if (e->over || s->event[event].damaged)
        return;
    if (roce_opcode(p->opcode)->kind != ROCE_KIND_ACK) {
        expected_wc_on_data(e, rel);
        return;
    }
    acknowledge(e, event_executed_to(s, event));
    e->may_give_up = roce_syndrome_kind(p->syndrome) == ROCE_SYN_RNR && e->acked == rel - 1 &&
                     !is_sent_again(s, event, rel);
    /* A NAK ends the connection only if all PSNs before the PSN of the NAK are acknowledged. */
    if (roce_syndrome_kind(p->syndrome) == ROCE_SYN_NAK &&
        roce_syndrome_code(p->syndrome) != ROCE_NAK_PSN_SEQ && e->acked == rel - 1) {
        e->over = true;
        e->status = nak_status((enum roce_nak)roce_syndrome_code(p->syndrome));
    }
}
