/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "live_ear.h"

#include <stdlib.h>

int live_ear_open(struct live_ear *ear, struct asker *asker)
{
    size_t psns = (size_t)(asker->works.end - asker->works.setup->first);

    *ear = (struct live_ear){.asker = asker, .high = asker->works.setup->first - 1};
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
    int64_t last;

    if (post_take(a, pkt, ear->step, ear->came) != 0)
        return -1;
    last = a->sent[a->sent_cnt - 1].rel;
    if (pkt->op->kind == ROCE_KIND_READ)
        last += roce_psn_cnt(pkt->reth.dma_len, s->mtu) - 1;
    if (last > ear->high)
        ear->high = last;
    return 0;
}

void live_ear_recorded(struct live_ear *ear, uint32_t step)
{
    int64_t at = works_psn_idx(&ear->asker->works, ear->asker->works.setup->step[step].rel);

    if (at >= 0)
        ear->recorded[at] += ear->recorded[at] < UINT16_MAX;
}

bool live_ear_has(const struct live_ear *ear, int64_t rel, unsigned times)
{
    int64_t at = works_psn_idx(&ear->asker->works, rel);

    return times ? at < 0 || ear->came[at] >= times : ear->high >= rel;
}
