/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/rc_misaddressed.h"

#include <stdio.h>
#include <string.h>
#include "engine/field_diff.h"
#include "wire/codes.h"

/* Whether the capture has an answer with this PSN among the side's own. */
static bool answered(const struct setup *s, int64_t rel)
{
    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (s->step[i].response && s->step[i].rel == rel)
            return true;
    return false;
}

/* One of our answers, the same but for its destination QP or its opcode. */
static struct answer *find_like(const struct comparison *cmp, struct run *run, uint32_t idx,
                                bool response, struct field_diffs *d)
{
    const struct trace *trace = cmp->drive->trace;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    size_t low = 0, high = run->answer_cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (run->setup.step[run->answer[mid].step].pkt < idx)
            low = mid + 1;
        else
            high = mid;
    }
    for (size_t i = low; i-- > 0 && low - i <= COMPARE_RECENT;) {
        struct answer *a = &run->answer[i];

        if (a->psn != p->psn || (a->used && (!response || flow->cnt > 1)))
            continue;
        fields_compare(p, a, run->setup.read_first_msn, d);
        /* Nothing was derived from it, so that more may differ; but then it must be the one answer
         * that is missing. Where another has been taken for ours, it must be the same, and alone:
         * else its QP has a conversation of its own, in step with this one. */
        if (fields_find(d, response ? "bth.dest_qp" : "bth.opcode") && !(a->used && d->cnt > 1) &&
            !(response && d->cnt > 1 &&
              ((d->cnt > 2 && flow->cnt > 1) || answered(&run->setup, a->rel))))
            return a;
    }
    return NULL;
}

/* An acknowledgement that is alone, and right for this side at that moment in its PSN and its MSN.
 */
static bool is_lone_ack(const struct run *run, const struct trace *trace, uint32_t idx)
{
    const struct setup *s = &run->setup;
    const struct trace_packet *p = &trace->pkt[idx];
    bool nak = roce_syndrome_kind(p->syndrome) != ROCE_SYN_ACK;
    roce_psn psn = roce_psn_of(p->psn);
    int64_t high = s->first - 1, rel;

    if (trace->flow[p->flow].cnt > 1 || roce_opcode(p->opcode)->kind != ROCE_KIND_ACK ||
        s->msn_votes == 0)
        return false;
    for (uint32_t i = 0; i < s->step_cnt && s->step[i].pkt < idx; i++)
        if (!s->step[i].response && s->step[i].rel > high)
            high = s->step[i].rel;
    rel = s->first + roce_psn_diff(psn, roce_psn_add(s->psn, (int32_t)s->first));
    return rel >= s->first && rel <= high && p->msn == setup_msn(s, rel - nak);
}

static int report(struct comparison *cmp, struct diff *diff, const struct field_diff *which)
{
    diff->field = which->field;
    memcpy(diff->expected, which->expected, sizeof(diff->expected));
    memcpy(diff->actual, which->actual, sizeof(diff->actual));
    snprintf(diff->reason, sizeof(diff->reason),
             "it fits no connection, but is what our RNIC answered but for this");
    cmp->result[diff->run].diff_frames++;
    return comparison_add(cmp, diff);
}

/* A packet that fits no connection, but is just what our RNIC answered at that moment except for
 * its destination QP or its opcode. */
int stray_compare(struct comparison *cmp, struct drive *drive, uint32_t idx)
{
    const struct trace *trace = drive->trace;
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_flow *flow = &trace->flow[p->flow];
    bool response =
        trace_acknowledged(flow->svc) && roce_opcode_is_response(roce_opcode(p->opcode));

    if (p->dropped)
        return 0; /* the network did that to it */
    for (uint32_t r = 0; r < drive->run_cnt; r++) {
        struct run *run = &drive->run[r];
        struct diff diff = {.run = r, .pkt = idx, .request = STEP_NONE};
        struct field_diffs d = {.cnt = 0};
        struct answer *ours;

        if (cmp->result[r].skip || trace->flow[run->setup.side->resp_flow].hosts != flow->hosts ||
            (!response && flow->dest_qp != run->setup.peer_qpn))
            continue;
        ours = find_like(cmp, run, idx, response, &d);
        if (ours) {
            ours->used = true;
            diff.request = run->setup.step[ours->step].pkt;
            return report(cmp, &diff, fields_find(&d, response ? "bth.dest_qp" : "bth.opcode"));
        }
        if (!response || !is_lone_ack(run, trace, idx))
            continue;
        d.cnt = 0;
        fields_differ_num(&d, "bth.dest_qp", "%x", flow->dest_qp, run->setup.peer_qpn);
        return report(cmp, &diff, &d.at[0]);
    }
    return 0;
}
