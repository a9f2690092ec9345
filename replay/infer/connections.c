/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/connections.h"

#include <stdlib.h>
#include <string.h>
#include "base/error.h"
#include "infer/cm_handshake.h"
#include "infer/flow_pairing.h"

/* A request this far from the last one does not belong to the same connection: no requester has
 * that many PSNs outstanding (the specification allows 2^23, implementations hundreds), and a new
 * starting PSN is random, so that one in 128 is taken for the old connection. */
#define PSN_JUMP (1 << 16)

/* Where the connection manager cut a flow. */
struct cut {
    uint32_t flow;
    uint32_t pkt;
    const struct cm_handshake *cm;
};

struct finder {
    struct pairing pairing; /* trace, segments, and which packets are claimed */
    struct cm_handshakes cm;
    struct cut *cut;
    size_t cut_cnt;
    size_t cut_cap;
};

/* ---- segments ----------------------------------------------------------------------------------
 */

static bool add_cut(struct finder *f, const struct cm_handshake *cm,
                    const struct cm_handshake_end *from, const struct cm_handshake_end *to)
{
    uint32_t flow =
        trace_flow_find(f->pairing.trace, from->addr, to->addr, cm->encap, to->qpn, ROCE_SVC_RC);

    if (flow == KEYMAP_NONE)
        flow = trace_flow_find(f->pairing.trace, from->addr, to->addr, cm->encap, to->qpn,
                               ROCE_SVC_XRC);
    if (flow == KEYMAP_NONE)
        return true;
    if (!VEC_GROW(f->cut, f->cut_cnt, f->cut_cap))
        return false;
    f->cut[f->cut_cnt++] = (struct cut){.flow = flow, .pkt = cm->pkt, .cm = cm};
    return true;
}

static int cut_cmp(const void *a, const void *b)
{
    const struct cut *x = a, *y = b;

    if (x->flow != y->flow)
        return x->flow < y->flow ? -1 : 1;
    return (x->pkt > y->pkt) - (x->pkt < y->pkt);
}

static bool find_cuts(struct finder *f)
{
    for (size_t i = 0; i < f->cm.cnt; i++) {
        const struct cm_handshake *c = &f->cm.handshake[i];

        if (c->complete &&
            (!add_cut(f, c, &c->active, &c->passive) || !add_cut(f, c, &c->passive, &c->active)))
            return false;
    }
    if (f->cut_cnt)
        qsort(f->cut, f->cut_cnt, sizeof(*f->cut), cut_cmp);
    return true;
}

static struct segment *new_segment(struct finder *f, uint32_t flow, uint32_t start,
                                   const struct cm_handshake *cm)
{
    struct segment *seg;

    if (!VEC_GROW(f->pairing.seg, f->pairing.seg_cnt, f->pairing.seg_cap))
        return NULL;
    seg = &f->pairing.seg[f->pairing.seg_cnt++];
    *seg = (struct segment){
        .flow = flow, .start = start, .end = UINT32_MAX, .cm = cm, .resp_flow = KEYMAP_NONE};
    return seg;
}

/* PSNs that a request may use up, whatever the path MTU. */
static uint32_t psns_of(const struct trace_packet *p)
{
    struct roce_pkt pkt;

    if (roce_opcode(p->opcode)->kind != ROCE_KIND_READ)
        return 1;
    trace_parse(p, &pkt);
    return roce_psn_cnt(pkt.reth.dma_len, 256);
}

static bool split_flow(struct finder *f, uint32_t flow_idx, size_t *cut)
{
    const struct trace_flow *flow = &f->pairing.trace->flow[flow_idx];
    struct segment *seg = NULL;
    roce_psn last = {0};
    int64_t reach = 0; /* PSNs that the requests so far may have used up after `last` */

    for (size_t i = 0; i < flow->cnt; i++) {
        uint32_t idx = flow->pkt[i];
        const struct trace_packet *p = &f->pairing.trace->pkt[idx];
        const struct cm_handshake *cm = NULL;

        for (; *cut < f->cut_cnt && f->cut[*cut].flow == flow_idx && f->cut[*cut].pkt <= idx;
             ++*cut)
            cm = f->cut[*cut].cm;
        if (cm || !seg) {
            if (seg)
                seg->end = idx;
            seg = new_segment(f, flow_idx, idx, cm);
            if (!seg)
                return false;
        }
        if (pairing_is_request(p)) {
            bool starts = roce_opcode_is_request(roce_opcode(p->opcode)) &&
                          roce_opcode_starts(roce_opcode(p->opcode));
            int32_t psn_dist = roce_psn_diff(roce_psn_of(p->psn), last);

            if (!p->dropped && starts && seg->requests &&
                (psn_dist > PSN_JUMP + reach || psn_dist < -PSN_JUMP - reach)) {
                seg->end = idx;
                seg = new_segment(f, flow_idx, idx, NULL);
                if (!seg)
                    return false;
                reach = 0;
            }
            if (!p->dropped) {
                if (!seg->requests || psn_dist > 0)
                    last = roce_psn_of(p->psn);
                seg->requests++;
                seg->begins |= starts;
                if (psns_of(p) > reach)
                    reach = psns_of(p);
            }
        }
        f->pairing.seg_of[idx] = (uint32_t)(seg - f->pairing.seg);
    }
    for (; *cut < f->cut_cnt && f->cut[*cut].flow == flow_idx; ++*cut)
        ;
    return true;
}

/* ---- result ------------------------------------------------------------------------------------
 */

/* Notes why `packets` packets of a flow, the first being `frame`, are not replayed. */
static int add_skipped_flow(struct connections *connections, uint32_t flow, uint32_t frame,
                            size_t packets, const char *reason)
{
    if (!VEC_GROW(connections->skip, connections->skip_cnt, connections->skip_cap))
        return -1;
    connections->skip[connections->skip_cnt++] =
        (struct skipped_flow){.flow = flow, .frame = frame, .packets = packets, .reason = reason};
    return 0;
}

static bool build_side(struct connections *connections, struct finder *f, const struct segment *seg)
{
    const struct trace_flow *req = &f->pairing.trace->flow[seg->flow];
    const struct trace_flow *resp = &f->pairing.trace->flow[seg->resp_flow];
    size_t q = pairing_first_from(req, seg->start), q_end = pairing_first_from(req, seg->end);
    size_t r = pairing_first_from(resp, seg->start), r_end = pairing_first_from(resp, seg->end);
    struct recorded_direction *recorded;

    if (!VEC_GROW(connections->dir, connections->dir_cnt, connections->dir_cap))
        return false;
    recorded = &connections->dir[connections->dir_cnt++];
    *recorded = (struct recorded_direction){.req_flow = seg->flow, .resp_flow = seg->resp_flow};
    if (seg->cm) {
        bool from_active =
            seg->cm->passive.qpn == req->dest_qp && memcmp(seg->cm->active.addr, req->src, 16) == 0;

        recorded->cm = (struct recorded_cm){
            .present = true,
            .peer_qpn = from_active ? seg->cm->active.qpn : seg->cm->passive.qpn,
            .psn = from_active ? seg->cm->passive.psn : seg->cm->active.psn,
            .mtu = seg->cm->mtu,
            .resources = from_active ? seg->cm->passive.resources : seg->cm->active.resources,
            .timed = seg->cm->whole,
            .timeout = seg->cm->timeout,
            .retry_cnt = seg->cm->retry_cnt,
            .rnr_retry = from_active ? seg->cm->passive.rnr_retry : seg->cm->active.rnr_retry,
        };
    }
    while (q < q_end || r < r_end) {
        bool from_req = r >= r_end || (q < q_end && req->pkt[q] <= resp->pkt[r]);
        uint32_t idx = from_req ? req->pkt[q++] : resp->pkt[r++];
        const struct trace_packet *p = &f->pairing.trace->pkt[idx];

        if (from_req ? !pairing_is_request(p) : !pairing_is_response(p))
            continue;
        if (!VEC_GROW(recorded->pkt, recorded->cnt, recorded->cap))
            return false;
        recorded->pkt[recorded->cnt++] = idx;
        f->pairing.claimed[idx] = 1;
    }
    return true;
}

static const char *reason_of(const struct trace *trace, uint32_t flow_idx, bool responses)
{
    const struct trace_flow *flow = &trace->flow[flow_idx];

    if (flow->good == 0)
        return "damaged frames that fit no connection";
    switch (flow->svc) {
    case ROCE_SVC_RC:
    case ROCE_SVC_XRC:
        return responses ? "answers without their requests: nothing to play"
                         : "requests that the capture has no answer to: nothing to compare";
    case ROCE_SVC_RD: return "RD or NVIDIA's DC: services our RNIC does not speak";
    case ROCE_SVC_CNP: return "congestion notification: nothing to compare";
    default: return "a manufacturer's opcodes: their meaning is unknown";
    }
}

static bool list_rest(struct connections *connections, const struct finder *f)
{
    for (uint32_t i = 0; i < f->pairing.trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->pairing.trace->flow[i];
        size_t requests = 0, responses = 0;
        uint32_t first_request = 0, first_response = 0;

        if (flow->svc == ROCE_SVC_UC || flow->svc == ROCE_SVC_UD)
            continue; /* dgram_stream.h */

        for (size_t k = 0; k < flow->cnt; k++) {
            const struct trace_packet *p = &f->pairing.trace->pkt[flow->pkt[k]];

            if (f->pairing.claimed[flow->pkt[k]])
                continue;
            if (pairing_is_response(p)) {
                first_response = responses++ ? first_response : p->frame;
            } else {
                first_request = requests++ ? first_request : p->frame;
            }
        }
        if (requests && add_skipped_flow(connections, i, first_request, requests,
                                         reason_of(f->pairing.trace, i, false)) != 0)
            return false;
        if (responses && add_skipped_flow(connections, i, first_response, responses,
                                          reason_of(f->pairing.trace, i, true)) != 0)
            return false;
    }
    for (uint32_t i = 0; i < f->pairing.trace->cnt; i++) {
        if (f->pairing.claimed[i])
            continue;
        if (!VEC_GROW(connections->unassigned, connections->unassigned_cnt,
                      connections->unassigned_cap))
            return false;
        connections->unassigned[connections->unassigned_cnt++] = i;
    }
    return true;
}

static int segment_cmp(const void *a, const void *b)
{
    const struct segment *x = *(const struct segment *const *)a;
    const struct segment *y = *(const struct segment *const *)b;

    return (x->start > y->start) - (x->start < y->start);
}

static bool build_directions(struct connections *connections, struct finder *f)
{
    const struct segment **order = calloc(f->pairing.seg_cnt + 1, sizeof(*order));
    bool ok = order != NULL;
    size_t cnt = 0;

    for (size_t i = 0; ok && i < f->pairing.seg_cnt; i++)
        if (f->pairing.seg[i].requests && f->pairing.seg[i].begins &&
            f->pairing.seg[i].resp_flow != KEYMAP_NONE)
            order[cnt++] = &f->pairing.seg[i];
    memset(f->pairing.claimed, 0, f->pairing.trace->cnt);
    if (cnt)
        qsort(order, cnt, sizeof(*order), segment_cmp);
    for (size_t i = 0; ok && i < cnt && connections->dir_cnt <= DIRECTIONS_MAX; i++)
        ok = build_side(connections, f, order[i]);
    free(order);
    return ok && list_rest(connections, f);
}

int connections_find(struct connections *connections, const struct trace *trace,
                     struct error *error)
{
    struct finder f = {.pairing = {.trace = trace}};
    struct pairing *p = &f.pairing;
    size_t cut = 0;
    bool ok;

    memset(connections, 0, sizeof(*connections));
    p->seg_of = malloc((trace->cnt + 1) * sizeof(*p->seg_of));
    p->claimed = calloc(trace->cnt + 1, 1);
    ok = p->seg_of && p->claimed && cm_handshakes_find(&f.cm, trace, error) == 0 && find_cuts(&f);
    for (uint32_t i = 0; ok && i < trace->flows.cnt; i++)
        if (trace_acknowledged(trace->flow[i].svc))
            ok = split_flow(&f, i, &cut);
    ok = ok && pairing_find(p) && build_directions(connections, &f);
    cm_handshakes_free(&f.cm);
    free(f.cut);
    free(p->seg);
    free(p->seg_of);
    free(p->claimed);
    if (connections->dir_cnt > DIRECTIONS_MAX)
        return error_set(error, "%s: more than %u connections", trace->name, DIRECTIONS_MAX);
    return ok ? 0 : error_set(error, "%s: no memory", trace->name);
}

void recorded_direction_free(struct recorded_direction *recorded)
{
    free(recorded->pkt);
    memset(recorded, 0, sizeof(*recorded));
}

void connections_free(struct connections *connections)
{
    for (size_t i = 0; i < connections->dir_cnt; i++)
        recorded_direction_free(&connections->dir[i]);
    free(connections->dir);
    free(connections->skip);
    free(connections->unassigned);
    memset(connections, 0, sizeof(*connections));
}
