/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/response_flow.h"

bool response_flow_is_lone(const struct trace *trace, const struct trace_flow *flow)
{
    return flow->cnt == 1 && trace_is_response(&trace->pkt[flow->pkt[0]]);
}

/* Returns the only RC or XRC flow from one host to another, or KEYMAP_NONE if there is not exactly
 * one. Ignores a flow of a single response if there is another flow. */
static uint32_t only_flow(const struct trace *trace, uint32_t hosts)
{
    uint32_t found = KEYMAP_NONE, lone = KEYMAP_NONE;
    unsigned lones = 0;

    for (uint32_t i = 0; i < trace->flows.cnt; i++) {
        if (trace->flow[i].hosts != hosts || !trace_acknowledged(trace->flow[i].svc))
            continue;
        if (response_flow_is_lone(trace, &trace->flow[i])) {
            lone = i;
            lones++;
        } else if (found == KEYMAP_NONE) {
            found = i;
        } else {
            return KEYMAP_NONE;
        }
    }
    return found == KEYMAP_NONE && lones == 1 ? lone : found;
}

/* Returns whether response `p` may answer request `q`: the request was captured before the
 * response, has the same PSN, and draws responses of this kind. */
static bool may_answer(const struct trace_packet *p, const struct trace_packet *q)
{
    const struct roce_opcode *asked = roce_opcode(q->opcode);

    return !q->dropped && roce_opcode_is_request(asked) && q->frame < p->frame &&
           q->psn == p->psn && trace_draws(asked, roce_opcode(p->opcode)->kind);
}

uint32_t response_flow_only(const struct trace *trace, uint32_t req_flow)
{
    const struct trace_flow *req = &trace->flow[req_flow];

    if (req->reverse == KEYMAP_NONE || only_flow(trace, req->hosts) == KEYMAP_NONE)
        return KEYMAP_NONE;
    return only_flow(trace, req->reverse);
}

uint32_t response_flow_group(const struct trace *trace, uint32_t flow, const uint32_t *group_of)
{
    const struct trace_flow *resp = &trace->flow[flow];
    uint32_t found = KEYMAP_NONE;

    for (uint32_t i = 0; i < resp->pkt[0]; i++) {
        const struct trace_packet *q = &trace->pkt[i];

        if (trace->flow[q->flow].hosts != resp->reverse || trace->flow[q->flow].svc != resp->svc ||
            group_of[i] == found || !may_answer(&trace->pkt[resp->pkt[0]], q))
            continue;
        if (found != KEYMAP_NONE)
            return KEYMAP_NONE;
        found = group_of[i];
    }
    return found;
}
