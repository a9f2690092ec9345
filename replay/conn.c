/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "conn.h"

#include <stdlib.h>
#include <string.h>
#include "cm.h"

/* A request this far from the last one does not belong to the same connection: no requester has
 * that many PSNs outstanding (the specification allows 2^23, implementations hundreds), and a new
 * starting PSN is random, so that one in 128 is taken for the old connection. */
#define PSN_JUMP (1 << 16)

/* How many segments that asked for one PSN may share a vote. */
#define VOTES_MAX 16

/* A stretch of a flow that belongs to one connection. */
struct segment {
    uint32_t flow;
    uint32_t start; /* index into trace.pkt */
    uint32_t end;   /* first index after it */
    const struct cm_conn *cm;
    size_t requests;
    bool begins; /* has a request that starts a message */
    uint32_t resp_flow;
};

/* Where the connection manager cut a flow. */
struct cut {
    uint32_t flow;
    uint32_t pkt;
    const struct cm_conn *cm;
};

/* One vote: the responses of `flow` answer the requests of `segment`. */
struct vote {
    uint32_t segment;
    uint32_t flow;
    uint32_t cnt;
    uint32_t consistent; /* of these with the same MSN base as the one before */
    uint32_t base;
};

/* A request packet, in a list of those with the same hosts and PSN, newest first. */
struct asked {
    uint32_t segment;
    uint32_t prev;
    uint32_t done; /* messages of the segment up to here */
    uint8_t opcode;
};

struct finder {
    const struct trace *trace;
    struct cm cm;
    struct cut *cut;
    size_t cut_cnt;
    size_t cut_cap;
    struct segment *seg;
    size_t seg_cnt;
    size_t seg_cap;
    uint32_t *seg_of; /* per packet of the trace: its segment, or MAP_NONE */
    struct asked *asked;
    size_t asked_cnt;
    size_t asked_cap;
    struct map psns; /* (hosts, PSN) */
    uint32_t *newest;
    size_t newest_cap;
    struct map pairs; /* (segment, flow) */
    struct vote *vote;
    size_t vote_cap;
    uint8_t *claimed; /* per packet of the trace: a response that belongs to a side */
};

static bool is_request(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    return trace_acknowledged(op->svc) && !roce_opcode_is_response(op);
}

static bool is_response(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    return trace_acknowledged(op->svc) && roce_opcode_is_response(op);
}

/* The first of the flow's packets that is not before `idx`. */
static size_t first_from(const struct trace_flow *flow, uint32_t idx)
{
    size_t low = 0, high = flow->cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (flow->pkt[mid] < idx)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- segments ----------------------------------------------------------------------------------
 */

static bool add_cut(struct finder *f, const struct cm_conn *cm, const struct cm_end *from,
                    const struct cm_end *to)
{
    uint32_t flow =
        trace_flow_find(f->trace, from->addr, to->addr, cm->encap, to->qpn, ROCE_SVC_RC);

    if (flow == MAP_NONE)
        flow = trace_flow_find(f->trace, from->addr, to->addr, cm->encap, to->qpn, ROCE_SVC_XRC);
    if (flow == MAP_NONE)
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
        const struct cm_conn *c = &f->cm.conn[i];

        if (c->complete &&
            (!add_cut(f, c, &c->active, &c->passive) || !add_cut(f, c, &c->passive, &c->active)))
            return false;
    }
    if (f->cut_cnt)
        qsort(f->cut, f->cut_cnt, sizeof(*f->cut), cut_cmp);
    return true;
}

static struct segment *new_segment(struct finder *f, uint32_t flow, uint32_t start,
                                   const struct cm_conn *cm)
{
    struct segment *seg;

    if (!VEC_GROW(f->seg, f->seg_cnt, f->seg_cap))
        return NULL;
    seg = &f->seg[f->seg_cnt++];
    *seg = (struct segment){
        .flow = flow, .start = start, .end = UINT32_MAX, .cm = cm, .resp_flow = MAP_NONE};
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
    const struct trace_flow *flow = &f->trace->flow[flow_idx];
    struct segment *seg = NULL;
    roce_psn last = {0};
    int64_t reach = 0; /* PSNs that the requests so far may have used up after `last` */

    for (size_t i = 0; i < flow->cnt; i++) {
        uint32_t idx = flow->pkt[i];
        const struct trace_packet *p = &f->trace->pkt[idx];
        const struct cm_conn *cm = NULL;

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
        if (is_request(p)) {
            bool starts = roce_opcode_is_request(roce_opcode(p->opcode)) &&
                          roce_opcode_starts(roce_opcode(p->opcode));
            int32_t ahead = roce_psn_diff(roce_psn_of(p->psn), last);

            if (!p->dropped && starts && seg->requests &&
                (ahead > PSN_JUMP + reach || ahead < -PSN_JUMP - reach)) {
                seg->end = idx;
                seg = new_segment(f, flow_idx, idx, NULL);
                if (!seg)
                    return false;
                reach = 0;
            }
            if (!p->dropped) {
                if (!seg->requests || ahead > 0)
                    last = roce_psn_of(p->psn);
                seg->requests++;
                seg->begins |= starts;
                if (psns_of(p) > reach)
                    reach = psns_of(p);
            }
        }
        f->seg_of[idx] = (uint32_t)(seg - f->seg);
    }
    for (; *cut < f->cut_cnt && f->cut[*cut].flow == flow_idx; ++*cut)
        ;
    return true;
}

/* ---- pairing -----------------------------------------------------------------------------------
 */

static bool note_request(struct finder *f, uint32_t idx, uint32_t *done, roce_psn *high)
{
    const struct trace_packet *p = &f->trace->pkt[idx];
    uint32_t seg = f->seg_of[idx];
    uint32_t key[2] = {f->trace->flow[p->flow].hosts, p->psn};
    uint32_t cnt = f->psns.cnt;
    uint32_t at;

    if (!VEC_GROW(f->asked, f->asked_cnt, f->asked_cap) || !VEC_GROW(f->newest, cnt, f->newest_cap))
        return false;
    at = map_add(&f->psns, key);
    if (at == MAP_NONE)
        return false;
    if (done[seg] == 0 || roce_psn_cmp(roce_psn_of(p->psn), high[seg]) > 0) {
        high[seg] = roce_psn_of(p->psn);
        done[seg] += roce_opcode_ends(roce_opcode(p->opcode));
    }
    f->asked[f->asked_cnt] = (struct asked){.segment = seg,
                                            .prev = at == cnt ? MAP_NONE : f->newest[at],
                                            .done = done[seg],
                                            .opcode = p->opcode};
    f->newest[at] = (uint32_t)f->asked_cnt++;
    return true;
}

static bool answers(uint8_t response, uint8_t request)
{
    const struct roce_opcode *req = roce_opcode(request);

    if (req->svc != roce_opcode(response)->svc)
        return false;
    switch (roce_opcode(response)->kind) {
    case ROCE_KIND_READ_RESP: return trace_draws_read_response(req->kind);
    case ROCE_KIND_ATOMIC_ACK: return roce_opcode_is_atomic(req);
    default: return true;
    }
}

static bool vote(struct finder *f, const struct trace_packet *p, const struct asked *asked)
{
    uint32_t key[2] = {asked->segment, p->flow};
    uint32_t cnt = f->pairs.cnt;
    uint32_t base = (p->msn - asked->done) & ROCE_PSN_MASK;
    struct vote *v;
    uint32_t at;

    if (!VEC_GROW(f->vote, cnt, f->vote_cap))
        return false;
    at = map_add(&f->pairs, key);
    if (at == MAP_NONE)
        return false;
    v = &f->vote[at];
    if (at == cnt)
        *v = (struct vote){.segment = asked->segment, .flow = p->flow};
    v->consistent += v->cnt > 0 && v->base == base;
    v->base = base;
    v->cnt++;
    return true;
}

static bool note_response(struct finder *f, const struct trace_packet *p)
{
    uint32_t key[2] = {f->trace->flow[p->flow].reverse, p->psn};
    uint32_t at = key[0] == MAP_NONE ? MAP_NONE : map_get(&f->psns, key);
    uint32_t seen[VOTES_MAX];
    unsigned cnt = 0;

    if (!roce_opcode_has(roce_opcode(p->opcode), ROCE_HDR_AETH) || at == MAP_NONE)
        return true;
    for (uint32_t a = f->newest[at]; a != MAP_NONE && cnt < VOTES_MAX; a = f->asked[a].prev) {
        bool again = false;

        for (unsigned i = 0; i < cnt; i++)
            again |= seen[i] == f->asked[a].segment;
        if (again)
            break; /* older requests: retransmissions of those seen */
        seen[cnt++] = f->asked[a].segment;
        if (answers(p->opcode, f->asked[a].opcode) && !vote(f, p, &f->asked[a]))
            return false;
    }
    return true;
}

static bool collect_votes(struct finder *f)
{
    uint32_t *done = calloc(f->seg_cnt + 1, sizeof(*done));
    roce_psn *high = calloc(f->seg_cnt + 1, sizeof(*high));
    bool ok = done && high;

    for (uint32_t i = 0; ok && i < f->trace->cnt; i++) {
        const struct trace_packet *p = &f->trace->pkt[i];

        if (is_request(p) && !p->dropped)
            ok = note_request(f, i, done, high);
        else if (is_response(p))
            ok = note_response(f, p);
    }
    free(done);
    free(high);
    return ok;
}

/* Takes the responses of `flow` in the segment's time for it; false if others have them. */
static bool claim(struct finder *f, struct segment *seg, uint32_t flow)
{
    const struct trace_flow *resp = &f->trace->flow[flow];
    size_t low = first_from(resp, seg->start);
    size_t high = first_from(resp, seg->end);
    bool any = false;

    for (size_t i = low; i < high; i++) {
        if (!is_response(&f->trace->pkt[resp->pkt[i]]))
            continue;
        if (f->claimed[resp->pkt[i]])
            return false;
        any = true;
    }
    if (!any)
        return false;
    for (size_t i = low; i < high; i++)
        if (is_response(&f->trace->pkt[resp->pkt[i]]))
            f->claimed[resp->pkt[i]] = 1;
    seg->resp_flow = flow;
    return true;
}

/* Most convincing first; equal ones in the order in which the flows appeared. */
static int vote_cmp(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;
    uint64_t sx = x->cnt + UINT64_C(3) * x->consistent;
    uint64_t sy = y->cnt + UINT64_C(3) * y->consistent;

    if (sx != sy)
        return sx > sy ? -1 : 1;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

/* A segment whose only answers have PSNs that no captured request has: if just one flow of
 * responses between these hosts is left, it must be that. */
static void pair_leftover(struct finder *f, struct segment *seg)
{
    uint32_t reverse = f->trace->flow[seg->flow].reverse;
    uint32_t found = MAP_NONE;

    for (uint32_t i = 0; reverse != MAP_NONE && i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        bool usable = false;

        if (flow->hosts != reverse || flow->svc != f->trace->flow[seg->flow].svc)
            continue;
        for (size_t k = first_from(flow, seg->start); k < flow->cnt && !usable; k++)
            usable = flow->pkt[k] < seg->end && !f->claimed[flow->pkt[k]] &&
                     is_response(&f->trace->pkt[flow->pkt[k]]);
        if (usable && found != MAP_NONE)
            return;
        if (usable)
            found = i;
    }
    if (found != MAP_NONE)
        claim(f, seg, found);
}

static bool pair(struct finder *f)
{
    unsigned leftovers = 0;

    for (size_t i = 0; i < f->seg_cnt; i++) {
        struct segment *seg = &f->seg[i];
        const struct trace_flow *flow = &f->trace->flow[seg->flow];
        uint32_t peer;

        if (!seg->cm || !seg->requests)
            continue;
        peer = memcmp(seg->cm->active.addr, flow->src, 16) == 0 &&
                       seg->cm->passive.qpn == flow->dest_qp
                   ? seg->cm->active.qpn
                   : seg->cm->passive.qpn;
        peer = trace_flow_find(f->trace, flow->dst, flow->src, flow->encap, peer, flow->svc);
        if (peer != MAP_NONE)
            claim(f, seg, peer);
    }
    if (!collect_votes(f))
        return false;
    if (f->pairs.cnt)
        qsort(f->vote, f->pairs.cnt, sizeof(*f->vote), vote_cmp);
    for (uint32_t i = 0; i < f->pairs.cnt; i++) {
        struct segment *seg = &f->seg[f->vote[i].segment];

        if (seg->resp_flow == MAP_NONE)
            claim(f, seg, f->vote[i].flow);
    }
    /* Each look is linear, so only a few: a capture with more such flows is not a conversation. */
    for (size_t i = 0; i < f->seg_cnt && leftovers < 64; i++)
        if (f->seg[i].resp_flow == MAP_NONE && f->seg[i].requests) {
            pair_leftover(f, &f->seg[i]);
            leftovers++;
        }
    return true;
}

/* ---- result ------------------------------------------------------------------------------------
 */

int conns_skip(struct conns *conns, uint32_t flow, uint32_t frame, size_t packets,
               const char *reason)
{
    if (!VEC_GROW(conns->skip, conns->skip_cnt, conns->skip_cap))
        return -1;
    conns->skip[conns->skip_cnt++] =
        (struct conn_skip){.flow = flow, .frame = frame, .packets = packets, .reason = reason};
    return 0;
}

static bool build_side(struct conns *conns, struct finder *f, const struct segment *seg)
{
    const struct trace_flow *req = &f->trace->flow[seg->flow];
    const struct trace_flow *resp = &f->trace->flow[seg->resp_flow];
    size_t q = first_from(req, seg->start), q_end = first_from(req, seg->end);
    size_t r = first_from(resp, seg->start), r_end = first_from(resp, seg->end);
    struct side *side;

    if (!VEC_GROW(conns->side, conns->cnt, conns->cap))
        return false;
    side = &conns->side[conns->cnt++];
    *side = (struct side){.req_flow = seg->flow, .resp_flow = seg->resp_flow};
    if (seg->cm) {
        bool from_active =
            seg->cm->passive.qpn == req->dest_qp && memcmp(seg->cm->active.addr, req->src, 16) == 0;

        side->cm = (struct side_cm){
            .present = true,
            .peer_qpn = from_active ? seg->cm->active.qpn : seg->cm->passive.qpn,
            .psn = from_active ? seg->cm->passive.psn : seg->cm->active.psn,
            .mtu = seg->cm->mtu,
            .resources = from_active ? seg->cm->passive.resources : seg->cm->active.resources,
        };
    }
    while (q < q_end || r < r_end) {
        bool from_req = r >= r_end || (q < q_end && req->pkt[q] <= resp->pkt[r]);
        uint32_t idx = from_req ? req->pkt[q++] : resp->pkt[r++];
        const struct trace_packet *p = &f->trace->pkt[idx];

        if (from_req ? !is_request(p) : !is_response(p))
            continue;
        if (!VEC_GROW(side->pkt, side->cnt, side->cap))
            return false;
        side->pkt[side->cnt++] = idx;
        f->claimed[idx] = 1;
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
    case ROCE_SVC_RD: return "RD: an obsolete service our RNIC does not speak";
    case ROCE_SVC_CNP: return "congestion notification: nothing to compare";
    default: return "a manufacturer's opcodes: their meaning is unknown";
    }
}

static bool list_rest(struct conns *conns, const struct finder *f)
{
    for (uint32_t i = 0; i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        size_t requests = 0, responses = 0;
        uint32_t first_request = 0, first_response = 0;

        if (flow->svc == ROCE_SVC_UC || flow->svc == ROCE_SVC_UD)
            continue; /* stream.h */

        for (size_t k = 0; k < flow->cnt; k++) {
            const struct trace_packet *p = &f->trace->pkt[flow->pkt[k]];

            if (f->claimed[flow->pkt[k]])
                continue;
            if (is_response(p)) {
                first_response = responses++ ? first_response : p->frame;
            } else {
                first_request = requests++ ? first_request : p->frame;
            }
        }
        if (requests &&
            conns_skip(conns, i, first_request, requests, reason_of(f->trace, i, false)) != 0)
            return false;
        if (responses &&
            conns_skip(conns, i, first_response, responses, reason_of(f->trace, i, true)) != 0)
            return false;
    }
    for (uint32_t i = 0; i < f->trace->cnt; i++) {
        if (f->claimed[i])
            continue;
        if (!VEC_GROW(conns->stray, conns->stray_cnt, conns->stray_cap))
            return false;
        conns->stray[conns->stray_cnt++] = i;
    }
    return true;
}

static int segment_cmp(const void *a, const void *b)
{
    const struct segment *x = *(const struct segment *const *)a;
    const struct segment *y = *(const struct segment *const *)b;

    return (x->start > y->start) - (x->start < y->start);
}

static bool build(struct conns *conns, struct finder *f)
{
    const struct segment **order = calloc(f->seg_cnt + 1, sizeof(*order));
    bool ok = order != NULL;
    size_t cnt = 0;

    for (size_t i = 0; ok && i < f->seg_cnt; i++)
        if (f->seg[i].requests && f->seg[i].begins && f->seg[i].resp_flow != MAP_NONE)
            order[cnt++] = &f->seg[i];
    memset(f->claimed, 0, f->trace->cnt);
    if (cnt)
        qsort(order, cnt, sizeof(*order), segment_cmp);
    for (size_t i = 0; ok && i < cnt && conns->cnt <= SIDES_MAX; i++)
        ok = build_side(conns, f, order[i]);
    free(order);
    return ok && list_rest(conns, f);
}

int conns_find(struct conns *conns, const struct trace *trace, struct fault *fault)
{
    struct finder f = {.trace = trace};
    size_t cut = 0;
    bool ok;

    memset(conns, 0, sizeof(*conns));
    map_init(&f.psns, 2 * sizeof(uint32_t));
    map_init(&f.pairs, 2 * sizeof(uint32_t));
    f.seg_of = malloc((trace->cnt + 1) * sizeof(*f.seg_of));
    f.claimed = calloc(trace->cnt + 1, 1);
    ok = f.seg_of && f.claimed && cm_find(&f.cm, trace, fault) == 0 && find_cuts(&f);
    for (uint32_t i = 0; ok && i < trace->flows.cnt; i++)
        if (trace_acknowledged(trace->flow[i].svc))
            ok = split_flow(&f, i, &cut);
    ok = ok && pair(&f) && build(conns, &f);
    cm_free(&f.cm);
    free(f.cut);
    free(f.seg);
    free(f.seg_of);
    free(f.asked);
    free(f.newest);
    free(f.vote);
    free(f.claimed);
    map_free(&f.psns);
    map_free(&f.pairs);
    if (conns->cnt > SIDES_MAX)
        return fault_set(fault, "%s: more than %u connections", trace->name, SIDES_MAX);
    return ok ? 0 : fault_set(fault, "%s: no memory", trace->name);
}

void side_free(struct side *side)
{
    free(side->pkt);
    memset(side, 0, sizeof(*side));
}

void conns_free(struct conns *conns)
{
    for (size_t i = 0; i < conns->cnt; i++)
        side_free(&conns->side[i]);
    free(conns->side);
    free(conns->skip);
    free(conns->stray);
    memset(conns, 0, sizeof(*conns));
}
