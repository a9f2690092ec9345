/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_expected_wc.h"

#include <string.h>

void expect_init(struct expect *e, const struct asker *asker)
{
    memset(e, 0, sizeof(*e));
    e->asker = asker;
    e->acked = asker->works.setup->first - 1;
}

static int64_t last_of(const struct work *work)
{
    return work->rel + work->cnt - 1;
}

static bool is_fetch(const struct work *work)
{
    return work->kind != ROCE_KIND_SEND && work->kind != ROCE_KIND_WRITE;
}

/* Everything up to `rel` arrived, but data that has not come is missing and stops it (R139, R140).
 */
static void acknowledge(struct expect *e, int64_t rel)
{
    const struct works *w = &e->asker->works;

    for (; e->done < w->cnt; e->done++) {
        const struct work *work = &w->work[e->done];

        if (work->open || (is_fetch(work) ? e->acked < last_of(work) : rel < last_of(work))) {
            if (!is_fetch(work) && rel > e->acked)
                e->acked = rel;
            return;
        }
        if (last_of(work) > e->acked)
            e->acked = last_of(work);
    }
}

/* Data of a READ or an atomic: in its turn it brings the answer on, out of it none (R140). */
static void take_data(struct expect *e, int64_t rel)
{
    const struct work *work = works_find(&e->asker->works, rel);

    if (!work || !is_fetch(work))
        return;
    acknowledge(e, work->rel - 1);
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

void expect_answer(struct expect *e, uint32_t step)
{
    const struct setup *s = e->asker->works.setup;
    const struct trace_packet *p = setup_packet(s, step);
    int64_t rel = s->step[step].rel;

    if (e->over || s->step[step].damaged)
        return;
    if (roce_opcode(p->opcode)->kind != ROCE_KIND_ACK) {
        take_data(e, rel);
        return;
    }
    acknowledge(e, setup_executed_by(s, step));
    /* A NAK that ends the connection counts in its turn: all before it is answered, and it is not
     * answered itself. */
    if (roce_syndrome_kind(p->syndrome) == ROCE_SYN_NAK &&
        roce_syndrome_code(p->syndrome) != ROCE_NAK_PSN_SEQ && e->acked == rel - 1) {
        e->over = true;
        e->status = nak_status((enum roce_nak)roce_syndrome_code(p->syndrome));
    }
}
