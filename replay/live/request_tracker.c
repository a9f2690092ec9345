/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live/request_tracker.h"

#include <stdlib.h>

#define NAK_NONE INT64_MIN

int live_ear_open(struct live_ear *ear, struct asker *asker)
{
    size_t psns = (size_t)(asker->works.end - asker->works.setup->first);

    *ear = (struct live_ear){.asker = asker, .nak = NAK_NONE};
    ear->high = ear->last = ear->reached = asker->works.setup->first - 1;
    expect_init(&ear->expect, asker);
    ear->recorded = calloc(psns + 1, sizeof(*ear->recorded));
    ear->came = calloc(psns + 1, sizeof(*ear->came));
    asker->sent_cnt = asker->done_cnt = 0;
    asker->error_step = STEP_NONE;
    asker->wrong_data = 0;
    return ear->recorded && ear->came ? 0 : -1;
}

void live_ear_close(struct live_ear *ear)
{
    free(ear->recorded);
    free(ear->came);
    ear->recorded = ear->came = NULL;
}

int live_ear_take(struct live_ear *ear, const struct roce_pkt *pkt)
{
    struct asker *a = ear->asker;
    const struct setup *s = a->works.setup;
    int64_t rel, last;

    if (post_take(a, pkt, ear->step, ear->came) != 0)
        return -1;
    rel = last = a->sent[a->sent_cnt - 1].rel;
    if (pkt->op->kind == ROCE_KIND_READ)
        last += roce_psn_cnt(pkt->reth.dma_len, s->mtu) - 1;
    if (rel <= ear->last) {
        ear->went_back += !ear->refused;
        ear->refused = false;
    }
    if (!ear->refused) /* else it was on its way when the NAK went out */
        ear->reached = last;
    ear->last = last;
    if (last > ear->high)
        ear->high = last;
    return 0;
}

void live_ear_recorded(struct live_ear *ear, uint32_t step)
{
    const struct asker *a = ear->asker;
    int64_t rel = a->works.setup->step[step].rel, at = works_psn_idx(&a->works, rel);

    if (at >= 0)
        ear->recorded[at] += ear->recorded[at] < UINT16_MAX;
    if (rel <= ear->nak)
        ear->nak = NAK_NONE;
    else if (a->restart[step] == RESTART_BEGINS && rel > ear->expect.acked)
        ear->goes_back++;
}

/* Of a step that is an answer: whether it refuses its PSN, which is to be sent again. */
static bool refuses(const struct live_ear *ear, uint32_t step)
{
    const struct setup *s = ear->asker->works.setup;
    const struct trace_packet *p = setup_packet(s, step);
    enum roce_syndrome_kind kind = roce_syndrome_kind(p->syndrome);

    return !s->step[step].damaged && roce_opcode(p->opcode)->kind == ROCE_KIND_ACK &&
           (kind == ROCE_SYN_RNR ||
            (kind == ROCE_SYN_NAK && roce_syndrome_code(p->syndrome) == ROCE_NAK_PSN_SEQ));
}

void live_ear_answered(struct live_ear *ear, uint32_t step)
{
    int64_t rel = ear->asker->works.setup->step[step].rel, acked = ear->expect.acked;

    expect_answer(&ear->expect, step);
    if (ear->expect.acked > acked)
        ear->went_back = ear->goes_back = 0;
    if (!refuses(ear, step))
        return;
    ear->nak = rel;
    if (rel <= ear->reached) {
        ear->reached = rel - 1;
        ear->refused = true;
    }
}

bool live_ear_ready(const struct live_ear *ear, uint32_t step)
{
    const struct asker *a = ear->asker;
    const struct step *at = &a->works.setup->step[step];
    int64_t idx = works_psn_idx(&a->works, at->rel);

    if (!at->response && (a->restart[step] != RESTART_BEGINS || idx < 0))
        return true;
    if (!at->response)
        return at->rel > ear->expect.acked ? !ear->refused && ear->went_back >= ear->goes_back
                                           : ear->came[idx] >= ear->recorded[idx];
    /* Refused once more: for what else was on its way. */
    return at->rel <= ear->expect.acked || at->rel <= ear->reached ||
           (ear->refused && at->rel == ear->reached + 1 && refuses(ear, step));
}

bool live_ear_has(const struct live_ear *ear, int64_t rel)
{
    return ear->high >= rel;
}
