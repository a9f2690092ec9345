/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/flow_pairing.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

/* How many segments that asked for one PSN may share a vote. */
#define VOTES_MAX 16

/* How many requests with one PSN are looked at for these. */
#define LOOKS_MAX 64

/* One vote: the responses of `flow` answer the requests of `segment`. */
struct vote {
    uint32_t segment;
    uint32_t flow;
    uint32_t cnt;
    uint32_t consistent; /* of these with the same MSN base as the one before */
    uint32_t base;
    int64_t score; /* of this direction */
    int64_t both;
};

/* A request packet, in a list of those with the same hosts and PSN, newest first. */
struct asked {
    uint32_t segment;
    uint32_t prev;
    uint32_t done; /* messages of the segment up to here */
    uint32_t len;  /* READ: bytes asked for */
    uint32_t pkt;  /* index into trace.pkt */
    uint8_t opcode;
};

/* The latest RNR NAK of a flow. */
struct not_ready {
    uint32_t pkt; /* index into trace.pkt, or KEYMAP_NONE */
    uint32_t psn;
};

/* The votes while they are counted. */
struct ballot {
    const struct trace *trace;
    struct pairing *pairing;
    uint32_t *answers;           /* per packet: telling answers of its flow up to it */
    uint32_t *first_seg;         /* per flow: its first segment, or KEYMAP_NONE */
    struct not_ready *not_ready; /* per flow */
    struct asked *asked;
    size_t asked_cnt;
    size_t asked_cap;
    struct keymap psns; /* (hosts, PSN) */
    uint32_t *newest;
    size_t newest_cap;
    struct keymap pairs; /* (segment, flow) */
    struct vote *vote;
    size_t vote_cap;
};

bool pairing_is_request(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    return trace_acknowledged(op->svc) && !roce_opcode_is_response(op);
}

bool pairing_is_response(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    return trace_acknowledged(op->svc) && roce_opcode_is_response(op);
}

size_t pairing_first_from(const struct trace_flow *flow, uint32_t idx)
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

/* How many bytes a READ asks for. */
static uint32_t asked_len(const struct trace_packet *p)
{
    struct roce_pkt pkt;

    if (roce_opcode(p->opcode)->kind != ROCE_KIND_READ)
        return 0;
    trace_parse(p, &pkt);
    return pkt.reth.dma_len;
}

static bool note_request(struct ballot *f, uint32_t idx, uint32_t *done, roce_psn *high)
{
    const struct trace_packet *p = &f->trace->pkt[idx];
    uint32_t seg = f->pairing->seg_of[idx];
    uint32_t key[2] = {f->trace->flow[p->flow].hosts, p->psn};
    uint32_t cnt = f->psns.cnt;
    uint32_t at;

    if (!VEC_GROW(f->asked, f->asked_cnt, f->asked_cap) || !VEC_GROW(f->newest, cnt, f->newest_cap))
        return false;
    at = keymap_add(&f->psns, key);
    if (at == KEYMAP_NONE)
        return false;
    if (done[seg] == 0 || roce_psn_cmp(roce_psn_of(p->psn), high[seg]) > 0) {
        high[seg] = roce_psn_of(p->psn);
        done[seg] += roce_opcode_ends(roce_opcode(p->opcode));
    }
    f->asked[f->asked_cnt] = (struct asked){.segment = seg,
                                            .prev = at == cnt ? KEYMAP_NONE : f->newest[at],
                                            .done = done[seg],
                                            .len = asked_len(p),
                                            .pkt = idx,
                                            .opcode = p->opcode};
    f->newest[at] = (uint32_t)f->asked_cnt++;
    return true;
}

/* The only packet of an answer has all bytes, the first of several not (R105). */
static bool length_fits(const struct trace_packet *response, const struct asked *asked)
{
    return response->cut ||
           (roce_opcode_ends(roce_opcode(response->opcode)) ? response->payload_len == asked->len
                                                            : response->payload_len < asked->len);
}

static bool answers(const struct trace_packet *response, const struct asked *asked)
{
    const struct roce_opcode *req = roce_opcode(asked->opcode);
    const struct roce_opcode *op = roce_opcode(response->opcode);

    if (req->svc != op->svc)
        return false;
    switch (op->kind) {
    case ROCE_KIND_READ_RESP:
        return trace_draws_read_response(req->kind) && length_fits(response, asked);
    case ROCE_KIND_ATOMIC_ACK: return roce_opcode_is_atomic(req);
    case ROCE_KIND_ACK: /* what data answers may be refused */
        return roce_syndrome_kind(response->syndrome) != ROCE_SYN_ACK ||
               !(trace_draws_read_response(req->kind) || roce_opcode_is_atomic(req));
    default: return true;
    }
}

static bool vote(struct ballot *f, const struct trace_packet *p, const struct asked *asked)
{
    uint32_t key[2] = {asked->segment, p->flow};
    uint32_t cnt = f->pairs.cnt;
    uint32_t base = (p->msn - asked->done) & ROCE_PSN_MASK;
    struct vote *v;
    uint32_t at;

    if (!VEC_GROW(f->vote, cnt, f->vote_cap))
        return false;
    at = keymap_add(&f->pairs, key);
    if (at == KEYMAP_NONE)
        return false;
    v = &f->vote[at];
    if (at == cnt)
        *v = (struct vote){.segment = asked->segment, .flow = p->flow};
    v->consistent += v->cnt > 0 && v->base == base;
    v->base = base;
    v->cnt++;
    return true;
}

/* Whether an answer has the PSN of its request, and an MSN: all but the rest of READ data do. */
static bool is_telling(const struct trace_packet *p)
{
    const struct roce_opcode *op = roce_opcode(p->opcode);

    return pairing_is_response(p) && roce_opcode_has(op, ROCE_HDR_AETH) &&
           (op->kind != ROCE_KIND_READ_RESP || roce_opcode_starts(op));
}

/* Whether an answer came though what was not received then was not sent again (R156). */
static bool is_too_soon(const struct ballot *f, const struct trace_packet *p,
                        const struct asked *asked)
{
    const struct not_ready *rnr = &f->not_ready[p->flow];

    return rnr->pkt != KEYMAP_NONE && asked->pkt < rnr->pkt &&
           roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(rnr->psn)) >= 0;
}

static bool note_response(struct ballot *f, uint32_t idx)
{
    const struct trace_packet *p = &f->trace->pkt[idx];
    uint32_t key[2] = {f->trace->flow[p->flow].reverse, p->psn};
    uint32_t at = key[0] == KEYMAP_NONE ? KEYMAP_NONE : keymap_get(&f->psns, key);
    uint32_t seen[VOTES_MAX];
    unsigned cnt = 0, looks = 0;

    if (!is_telling(p) || at == KEYMAP_NONE)
        return true;
    for (uint32_t a = f->newest[at]; a != KEYMAP_NONE && cnt < VOTES_MAX && looks++ < LOOKS_MAX;
         a = f->asked[a].prev) {
        bool again = false;

        for (unsigned i = 0; i < cnt; i++)
            again |= seen[i] == f->asked[a].segment;
        if (again)
            continue; /* sent again */
        seen[cnt++] = f->asked[a].segment;
        if (answers(p, &f->asked[a]) && !is_too_soon(f, p, &f->asked[a]) &&
            !vote(f, p, &f->asked[a]))
            return false;
    }
    if (roce_syndrome_kind(p->syndrome) == ROCE_SYN_RNR)
        f->not_ready[p->flow] = (struct not_ready){.pkt = idx, .psn = p->psn};
    return true;
}

static bool collect_votes(struct ballot *f)
{
    uint32_t *done = calloc(f->pairing->seg_cnt + 1, sizeof(*done));
    roce_psn *high = calloc(f->pairing->seg_cnt + 1, sizeof(*high));
    bool ok = done && high;

    for (uint32_t i = 0; ok && i < f->trace->cnt; i++) {
        const struct trace_packet *p = &f->trace->pkt[i];

        if (pairing_is_request(p) && !p->dropped)
            ok = note_request(f, i, done, high);
        else if (pairing_is_response(p))
            ok = note_response(f, i);
    }
    free(done);
    free(high);
    return ok;
}

/* Takes the responses of `flow` in the segment's time for it; false if others have them. */
static bool claim(struct ballot *f, struct segment *seg, uint32_t flow)
{
    const struct trace_flow *resp = &f->trace->flow[flow];
    size_t low = pairing_first_from(resp, seg->start);
    size_t high = pairing_first_from(resp, seg->end);
    bool any = false;

    for (size_t i = low; i < high; i++) {
        if (!pairing_is_response(&f->trace->pkt[resp->pkt[i]]))
            continue;
        if (f->pairing->claimed[resp->pkt[i]])
            return false;
        any = true;
    }
    if (!any)
        return false;
    for (size_t i = low; i < high; i++)
        if (pairing_is_response(&f->trace->pkt[resp->pkt[i]]))
            f->pairing->claimed[resp->pkt[i]] = 1;
    seg->resp_flow = flow;
    return true;
}

/* What a pair gains by its answers in one direction. Consistent counts weigh more: PSNs alone are
 * the same in many connections. */
static int64_t gain(const struct ballot *f, const struct vote *v)
{
    const struct segment *seg = &f->pairing->seg[v->segment];
    const struct trace_flow *flow = &f->trace->flow[v->flow];
    size_t low = pairing_first_from(flow, seg->start);
    size_t high = pairing_first_from(flow, seg->end);
    uint32_t all =
        (high ? f->answers[flow->pkt[high - 1]] : 0) - (low ? f->answers[flow->pkt[low - 1]] : 0);

    return v->cnt + INT64_C(3) * v->consistent - INT64_C(4) * (all - v->cnt);
}

/* The vote for the other direction of the pair, or NULL. */
static const struct vote *other_way(const struct ballot *f, const struct vote *v)
{
    const struct segment *seg = &f->pairing->seg[v->segment];

    for (uint32_t i = f->first_seg[v->flow]; i < f->pairing->seg_cnt; i++) {
        const struct segment *other = &f->pairing->seg[i];
        uint32_t key[2] = {i, seg->flow};
        uint32_t at;

        if (other->flow != v->flow || other->start >= seg->end)
            return NULL;
        if (other->end <= seg->start)
            continue;
        at = keymap_get(&f->pairs, key);
        if (at != KEYMAP_NONE)
            return &f->vote[at];
    }
    return NULL;
}

/* Sums up both directions. */
static void weigh(struct ballot *f)
{
    for (uint32_t i = 0; i < f->pairs.cnt; i++)
        f->vote[i].score = gain(f, &f->vote[i]);
    for (uint32_t i = 0; i < f->pairs.cnt; i++) {
        const struct vote *other = other_way(f, &f->vote[i]);

        f->vote[i].both = f->vote[i].score + (other ? other->score : 0);
    }
}

/* Most convincing first; equal ones in the order in which the flows appeared. */
static int vote_cmp(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;

    if (x->both != y->both)
        return x->both > y->both ? -1 : 1;
    if (x->segment != y->segment)
        return x->segment < y->segment ? -1 : 1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

/* A segment whose only answers have PSNs that no captured request has: if just one flow of
 * responses between these hosts is left, it must be that. */
static void pair_leftover(struct ballot *f, struct segment *seg)
{
    uint32_t reverse = f->trace->flow[seg->flow].reverse;
    uint32_t found = KEYMAP_NONE;

    for (uint32_t i = 0; reverse != KEYMAP_NONE && i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        bool usable = false;

        if (flow->hosts != reverse || flow->svc != f->trace->flow[seg->flow].svc)
            continue;
        for (size_t k = pairing_first_from(flow, seg->start); k < flow->cnt && !usable; k++)
            usable = flow->pkt[k] < seg->end && !f->pairing->claimed[flow->pkt[k]] &&
                     pairing_is_response(&f->trace->pkt[flow->pkt[k]]);
        if (usable && found != KEYMAP_NONE)
            return;
        if (usable)
            found = i;
    }
    if (found != KEYMAP_NONE)
        claim(f, seg, found);
}

static bool pair(struct ballot *f)
{
    unsigned leftovers = 0;

    for (size_t i = 0; i < f->pairing->seg_cnt; i++) {
        struct segment *seg = &f->pairing->seg[i];
        const struct trace_flow *flow = &f->trace->flow[seg->flow];
        uint32_t peer;

        if (!seg->cm || !seg->requests)
            continue;
        peer = memcmp(seg->cm->active.addr, flow->src, 16) == 0 &&
                       seg->cm->passive.qpn == flow->dest_qp
                   ? seg->cm->active.qpn
                   : seg->cm->passive.qpn;
        peer = trace_flow_find(f->trace, flow->dst, flow->src, flow->encap, peer, flow->svc);
        if (peer != KEYMAP_NONE)
            claim(f, seg, peer);
    }
    if (!collect_votes(f))
        return false;
    weigh(f);
    if (f->pairs.cnt)
        qsort(f->vote, f->pairs.cnt, sizeof(*f->vote), vote_cmp);
    for (uint32_t i = 0; i < f->pairs.cnt; i++) {
        struct segment *seg = &f->pairing->seg[f->vote[i].segment];

        if (seg->resp_flow == KEYMAP_NONE)
            claim(f, seg, f->vote[i].flow);
    }
    /* Each look is linear, so only a few: a capture with more such flows is not a conversation. */
    for (size_t i = 0; i < f->pairing->seg_cnt && leftovers < 64; i++)
        if (f->pairing->seg[i].resp_flow == KEYMAP_NONE && f->pairing->seg[i].requests) {
            pair_leftover(f, &f->pairing->seg[i]);
            leftovers++;
        }
    return true;
}

/* Counts what struct ballot counts. */
static void number(struct ballot *f)
{
    for (uint32_t i = 0; i < f->trace->flows.cnt; i++) {
        const struct trace_flow *flow = &f->trace->flow[i];
        uint32_t cnt = 0;

        f->first_seg[i] = KEYMAP_NONE;
        f->not_ready[i].pkt = KEYMAP_NONE;
        for (size_t k = 0; k < flow->cnt; k++) {
            const struct trace_packet *p = &f->trace->pkt[flow->pkt[k]];

            cnt += is_telling(p);
            f->answers[flow->pkt[k]] = cnt;
        }
    }
    for (uint32_t i = (uint32_t)f->pairing->seg_cnt; i-- > 0;)
        f->first_seg[f->pairing->seg[i].flow] = i;
}

bool pairing_find(struct pairing *pairing)
{
    struct ballot f = {.trace = pairing->trace, .pairing = pairing};
    bool ok;

    keymap_init(&f.psns, 2 * sizeof(uint32_t));
    keymap_init(&f.pairs, 2 * sizeof(uint32_t));
    f.answers = malloc((pairing->trace->cnt + 1) * sizeof(*f.answers));
    f.first_seg = malloc((pairing->trace->flows.cnt + 1) * sizeof(*f.first_seg));
    f.not_ready = malloc((pairing->trace->flows.cnt + 1) * sizeof(*f.not_ready));
    ok = f.answers && f.first_seg && f.not_ready;
    if (ok) {
        number(&f);
        ok = pair(&f);
    }
    free(f.answers);
    free(f.first_seg);
    free(f.not_ready);
    free(f.asked);
    free(f.newest);
    free(f.vote);
    keymap_free(&f.psns);
    keymap_free(&f.pairs);
    return ok;
}
