/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/infer_setup.h"

#include <stdlib.h>
#include <string.h>
#include "infer/infer_corruption.h"
#include "infer/request_table.h"
#include "infer/infer_loss.h"
#include "infer/match_responses.h"

/* READs that ask for much more than the capture holds cannot be compared, only exhaust us. */
#define READ_FREE  (UINT64_C(64) << 20)
#define READ_RATIO 64

/* How many requests may be retransmissions before the first new one. */
#define FIRST_TRIES 256

/* How far before the first captured request a lost first one may be. */
#define LOST_FIRST_MAX 4096

/* How close below its wrap an MSN base is not believed on the word of one answer. */
#define MSN_WRAP 0x10000u

/* How many different MSN bases may compete. */
#define BASES_MAX 64

const struct roce_opcode *setup_op(const struct setup *s, uint32_t step)
{
    return roce_opcode(setup_packet(s, step)->opcode);
}

bool setup_is_syndrome(const struct setup *s, uint32_t step, enum roce_syndrome_kind kind)
{
    return s->step[step].response && setup_op(s, step)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(setup_packet(s, step)->syndrome) == kind;
}

bool setup_is_nak_code(const struct setup *s, uint32_t step, enum roce_nak code)
{
    return setup_is_syndrome(s, step, ROCE_SYN_NAK) &&
           roce_syndrome_code(setup_packet(s, step)->syndrome) == code;
}

bool setup_is_nak(const struct setup *s, uint32_t step)
{
    return setup_is_syndrome(s, step, ROCE_SYN_NAK) || setup_is_syndrome(s, step, ROCE_SYN_RNR);
}

int64_t setup_executed_by(const struct setup *s, uint32_t step)
{
    return s->step[step].rel - (setup_is_nak(s, step) ? 1 : 0);
}

/* The PSN up to which an answer says that everything arrived, executed or refused. */
static int64_t received_by(const struct setup *s, uint32_t step)
{
    return s->step[step].rel - (setup_is_nak_code(s, step, ROCE_NAK_PSN_SEQ) ? 1 : 0);
}

bool setup_msn_fits(const struct setup *s, uint32_t step)
{
    return setup_packet(s, step)->msn == setup_msn(s, setup_executed_by(s, step));
}

bool setup_in_time(const struct setup *s, uint32_t answer, uint32_t request)
{
    return setup_packet(s, answer)->time - setup_packet(s, request)->time >= s->quickest;
}

/* ---- steps -------------------------------------------------------------------------------------
 */

/* Whether an answer captured before the step shows that its request had been sent before. */
static bool answered_before(const struct setup *s, uint32_t step)
{
    roce_psn psn = roce_psn_of(setup_packet(s, step)->psn);

    for (uint32_t i = 0; i < step; i++)
        if (s->step[i].response && !s->step[i].damaged &&
            roce_psn_diff(roce_psn_of(setup_packet(s, i)->psn), psn) >= 0)
            return true;
    return false;
}

/* PSNs counted from the first request that begins a message. */
static void number_steps(struct setup *s)
{
    roce_psn at = {0};
    int64_t rel = 0;
    bool begun = false, answered_first = false;
    unsigned tries = 0;

    for (uint32_t i = 0; i < s->step_cnt && (!begun || answered_first); i++) {
        const struct roce_opcode *op = setup_op(s, i);

        if (s->step[i].response || s->step[i].damaged || !roce_opcode_is_request(op) ||
            !roce_opcode_starts(op))
            continue;
        /* A capture may begin with a retransmission; where all are, the first has to do. */
        if (!begun || answered_first) {
            answered_first = !s->side->cm.present && tries++ < FIRST_TRIES && answered_before(s, i);
            at = roce_psn_of(setup_packet(s, i)->psn);
            begun = true;
        }
    }
    if (s->side->cm.present) {
        int32_t off = roce_psn_diff(at, roce_psn_of(s->side->cm.psn));

        if (off >= 0 && off < LOST_FIRST_MAX)
            at = roce_psn_of(s->side->cm.psn);
    }
    s->psn = at;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];
        roce_psn psn = roce_psn_of(setup_packet(s, i)->psn);

        step->rel = rel + roce_psn_diff(psn, at);
        if (!step->response && !step->damaged && step->rel > rel) {
            at = psn;
            rel = step->rel;
        }
    }
}

/* The first request may have been lost before the capture: the responder then asks for it. */
static void find_first(struct setup *s)
{
    s->first = 0;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];

        if (!step->response || !step->usable)
            continue;
        if (step->rel >= 0 && !setup_is_nak(s, i))
            return;
        if (!setup_is_nak_code(s, i, ROCE_NAK_PSN_SEQ) || step->rel >= 0 ||
            step->rel < -LOST_FIRST_MAX)
            continue;
        for (uint32_t k = i + 1; k < s->step_cnt; k++)
            if (!s->step[k].response && s->step[k].usable && s->step[k].rel == step->rel &&
                roce_opcode_starts(setup_op(s, k))) {
                s->first = step->rel;
                return;
            }
    }
}

/* What belongs to messages from before the first one replayed. Its answers come before all others,
 * so that a wrong PSN in a later one is not taken for that. */
static void mark_early(struct setup *s)
{
    bool begun = false;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        struct step *step = &s->step[i];

        step->early = step->rel < s->first &&
                      (s->side->resumed || !(step->response && (begun || s->side->cm.present)));
        begun |= step->response && step->usable && step->rel >= s->first;
    }
}

static uint32_t mtu_at_least(uint32_t len)
{
    uint32_t mtu = 256;

    while (mtu < len && mtu < 4096)
        mtu *= 2;
    return mtu;
}

static void find_mtu(struct setup *s)
{
    uint32_t several = 0, one = 0;

    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct roce_opcode *op = setup_op(s, i);
        uint32_t len = setup_packet(s, i)->payload_len;

        if (s->step[i].damaged)
            continue;
        if (op->pos == ROCE_POS_FIRST || op->pos == ROCE_POS_MIDDLE) {
            if (len > several)
                several = len;
        } else if (len > one) {
            one = len;
        }
    }
    s->mtu_known = several > 0 || s->side->cm.mtu > 0;
    if (several == 0 && s->side->cm.mtu >= one)
        several = s->side->cm.mtu;
    s->mtu = mtu_at_least(several > one ? several : one);
}

static void find_pkey(struct setup *s)
{
    uint16_t pkey = 0;
    uint32_t votes = 0;

    /* The value most answers carry: they have the responder's own (R045). Majority vote. */
    for (int want_response = 1; want_response >= 0 && votes == 0; want_response--) {
        for (uint32_t i = 0; i < s->step_cnt; i++) {
            if (s->step[i].response != (want_response == 1) || !s->step[i].usable)
                continue;
            if (votes == 0)
                pkey = setup_packet(s, i)->pkey;
            votes += setup_packet(s, i)->pkey == pkey ? 1 : (uint32_t)-1;
        }
    }
    s->pkey = pkey ? pkey : 0xFFFF;
}

/* ---- MSN ---------------------------------------------------------------------------------------
 */

static void find_msn(struct setup *s)
{
    struct {
        uint32_t base, votes;
    } bases[BASES_MAX];
    unsigned cnt = 0, best = 0;
    uint32_t first_same = 0, first_less = 0;

    s->msn = 0;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct entry *e;
        uint32_t base;
        unsigned k;

        if (!s->step[i].response || !s->step[i].usable || s->step[i].early ||
            !roce_opcode_has(setup_op(s, i), ROCE_HDR_AETH) ||
            (setup_op(s, i)->kind == ROCE_KIND_READ_RESP && setup_op(s, i)->pos == ROCE_POS_FIRST))
            continue;
        e = setup_entry(s, setup_executed_by(s, i));
        if (!e && setup_executed_by(s, i) != s->first - 1)
            continue;
        base = (setup_packet(s, i)->msn - (e ? e->done : 0)) & ROCE_PSN_MASK;
        for (k = 0; k < cnt && bases[k].base != base; k++)
            ;
        if (k == BASES_MAX)
            continue;
        if (k == cnt) {
            bases[cnt].base = base;
            bases[cnt++].votes = 0;
        }
        bases[k].votes++;
        if (bases[k].votes > bases[best].votes ||
            (bases[k].votes == bases[best].votes && bases[k].base == 0))
            best = k;
    }
    if (cnt) {
        s->msn = bases[best].base;
        s->msn_votes = bases[best].votes;
    }
    /* One answer alone may begin in the middle, but not just before the MSN wraps: that is a first
     * answer that counts too little. */
    if (s->msn_votes == 1 && !s->side->resumed && s->msn > ROCE_PSN_MASK - MSN_WRAP)
        s->msn = 0;
    if (s->side->cm.present)
        s->msn = 0; /* the capture saw the connection begin (R102) */
    /* What counts messages of ours is no answer to earlier ones. */
    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (s->step[i].response && s->step[i].early && !s->side->resumed && s->msn_votes > 0 &&
            roce_opcode_has(setup_op(s, i), ROCE_HDR_AETH) &&
            roce_psn_diff(roce_psn_of(setup_packet(s, i)->msn), roce_psn_of(s->msn)) > 0)
            s->step[i].early = false;
    /* R103: a READ First may carry the MSN before or after the READ is counted. */
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        uint32_t own;

        if (!s->step[i].response || !s->step[i].usable ||
            setup_op(s, i)->kind != ROCE_KIND_READ_RESP || setup_op(s, i)->pos != ROCE_POS_FIRST)
            continue;
        own = setup_msn(s, s->step[i].rel);
        first_same += setup_packet(s, i)->msn == own;
        first_less += setup_packet(s, i)->msn == ((own - 1) & ROCE_PSN_MASK);
    }
    s->read_first_msn = first_same > 1 && first_same > first_less   ? 0
                        : first_less > 1 && first_less > first_same ? -1
                                                                    : 1;
}

/* ---- what was allowed --------------------------------------------------------------------------
 */

static unsigned access_of(const struct setup *s, const struct entry *e)
{
    struct roce_pkt pkt;

    switch (setup_op(s, e->step)->kind) {
    case ROCE_KIND_WRITE:
    case ROCE_KIND_ATOMIC_WRITE: return RNIC_ACCESS_REMOTE_WRITE;
    case ROCE_KIND_READ: return RNIC_ACCESS_REMOTE_READ;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD: return RNIC_ACCESS_REMOTE_ATOMIC;
    case ROCE_KIND_FLUSH:
        trace_parse(setup_packet(s, e->step), &pkt);
        return (pkt.feth.plt & RNIC_FLUSH_GLOBAL ? RNIC_ACCESS_FLUSH_GLOBAL : 0) |
               (pkt.feth.plt & RNIC_FLUSH_PERSISTENT ? RNIC_ACCESS_FLUSH_PERSISTENT : 0);
    default: return 0;
    }
}

/* The bytes an entry's RETH or AtomicETH asks for: the whole message at its first packet; none of a
 * FLUSH that means all of its region, whatever that is. */
static uint64_t asked_len(const struct setup *s, const struct entry *e)
{
    struct roce_pkt pkt;

    trace_parse(setup_packet(s, e->step), &pkt);
    if (roce_pkt_has(&pkt, ROCE_HDR_FETH) && pkt.feth.sel == RNIC_FLUSH_MR)
        return 0;
    if (roce_pkt_has(&pkt, ROCE_HDR_RETH))
        return pkt.reth.dma_len;
    return roce_pkt_has(&pkt, ROCE_HDR_ATOMICETH) ? 8 : 0;
}

static int grant(struct setup *s, const struct entry *e, struct memory *memory)
{
    const struct roce_opcode *op = setup_op(s, e->step);
    unsigned access = access_of(s, e);
    struct roce_pkt pkt;

    s->access |= access;
    if (roce_opcode_has(op, ROCE_HDR_IETH)) {
        trace_parse(setup_packet(s, e->step), &pkt);
        if (memory_claim_invalidate(memory, pkt.ieth.rkey) != 0)
            return -1;
    }
    /* A FLUSH of nothing needs its key all the same (A19). */
    if (op->kind == ROCE_KIND_FLUSH && memory_claim_key(memory, e->rkey, access) != 0)
        return -1;
    if (access && roce_opcode_starts(op))
        return memory_claim(memory, e->rkey, e->va, asked_len(s, e), access);
    return 0;
}

static void count(struct setup *s, const struct entry *e)
{
    const struct roce_opcode *op = setup_op(s, e->step);

    if (roce_opcode_ends(op)) {
        s->messages++;
        s->ops[op->kind]++;
    }
    if (op->kind == ROCE_KIND_READ)
        s->bytes_out += e->len;
    else
        s->bytes_in += setup_packet(s, e->step)->payload_len;
    if (op->kind == ROCE_KIND_SEND && e->off + e->len > s->max_recv)
        s->max_recv = e->off + e->len;
}

/* Makes every copy of a refused SEND's message find a receive WQE that ends before it. */
static void shorten_recv(struct setup *s, const struct entry *e)
{
    int64_t first = s->entry[e->msg].rel;

    for (uint32_t i = 0; i < s->step_cnt; i++)
        if (!s->step[i].response && s->step[i].rel == first)
            s->step[i].recv_len = e->off;
}

static int find_allowed(struct setup *s, struct memory *memory)
{
    const struct entry *bad =
        s->refused == STEP_NONE ? NULL : setup_entry(s, s->step[s->refused].rel);
    enum roce_kind kind;

    for (size_t i = 0; i < s->entry_cnt; i++) {
        const struct entry *e = &s->entry[i];

        if (e == bad || e->invalid)
            break;
        if (grant(s, e, memory) != 0)
            return -1;
        count(s, e);
    }
    if (!bad || bad->invalid)
        return 0;
    kind = setup_op(s, bad->step)->kind;
    if (kind == ROCE_KIND_SEND) {
        /* Too long for its receive WQE (R082). Linux rxe says so with 0x63; a peer with another
         * local fault would too, and the capture does not tell which it was. */
        shorten_recv(s, bad);
        return 0;
    }
    if (setup_is_nak_code(s, s->refused, ROCE_NAK_REMOTE_ACCESS)) {
        s->access |= access_of(s, bad);
        for (uint32_t i = 0; i < s->step_cnt; i++)
            if (!s->step[i].response && s->step[i].rel == bad->rel)
                s->step[i].withdraw = true;
    } else if (s->access & access_of(s, bad)) {
        /* 0x61 although the operation was served before: nothing derived explains it. */
        return grant(s, bad, memory);
    }
    return 0;
}

/* ---- what cannot be replayed -------------------------------------------------------------------
 */

static const char *unplayable(const struct setup *s)
{
    const struct trace_flow *flow = &s->trace->flow[s->side->req_flow];
    bool any_good = false, answered = false;
    uint64_t asked = 0;
    struct roce_pkt pkt;

    if (flow->encap != ROCE_ENCAP_V1 && flow->encap != ROCE_ENCAP_V2_IP4 &&
        flow->encap != ROCE_ENCAP_V2_IP6)
        return "native InfiniBand: our RNIC speaks RoCE only";
    if (flow->dest_qp < 2 || flow->dest_qp == ROCE_QP_MULTICAST)
        return "its destination QP is not one that RC can use";
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct trace_packet *p = setup_packet(s, i);

        if (p->cut)
            return "the capture is cut (snap length): payloads are missing";
        if (s->step[i].response) {
            answered = true;
            continue;
        }
        any_good |= !s->step[i].damaged;
        if (!s->step[i].damaged && setup_op(s, i)->kind == ROCE_KIND_READ) {
            trace_parse(p, &pkt);
            asked += pkt.reth.dma_len;
        }
    }
    if (!any_good && answered)
        return "every request has a wrong ICRC and was answered all the same: captured before the "
               "ICRC was computed";
    if (asked > READ_FREE && asked / READ_RATIO > s->trace->bytes)
        return "its READs ask for far more data than the capture holds";
    return NULL;
}

/* A request that the capture never saw although the responder acknowledged it. */
static bool misses_request(const struct setup *s, int64_t gap)
{
    int64_t high = INT64_MIN;

    if (damage_hides(s, gap))
        return false;
    for (uint32_t i = 0; i < s->step_cnt; i++) {
        const struct step *step = &s->step[i];

        if (!step->response && step->rel > high)
            high = step->rel;
        if (step->response && step->usable && step->rel <= high && received_by(s, i) >= gap)
            return true;
    }
    return false;
}

static const char *incomplete(struct setup *s, int64_t gap)
{
    if (s->entry_cnt == 0)
        return "no message begins in the capture";
    if (gap != GAP_NONE && misses_request(s, gap)) {
        s->gap = gap;
        return "the capture lacks a request that the responder acknowledged";
    }
    return NULL;
}

/* ---- all of it ---------------------------------------------------------------------------------
 */

int setup_derive(struct setup *s, const struct trace *trace, const struct side *side,
                 const struct given_conn *given, struct memory *memory)
{
    int64_t gap;

    *s = (struct setup){
        .trace = trace,
        .side = side,
        .step_cnt = side->cnt,
        .qpn = trace->flow[side->req_flow].dest_qp,
        .peer_qpn = side->cm.present ? side->cm.peer_qpn : trace->flow[side->resp_flow].dest_qp,
        .refused = STEP_NONE,
        .gap = GAP_NONE,
        .resources = 16,
        .rd_atomic = RNIC_RD_ATOMIC_MAX,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
    };
    s->step = calloc(side->cnt + 1, sizeof(*s->step));
    if (!s->step)
        return -1;
    for (uint32_t i = 0; i < side->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[side->pkt[i]];
        bool response = roce_opcode_is_response(roce_opcode(p->opcode));

        s->step[i] = (struct step){.pkt = side->pkt[i],
                                   .response = response,
                                   .damaged = p->dropped,
                                   .recv_len = RECV_FULL,
                                   .answer = STEP_NONE,
                                   .request = STEP_NONE};
        s->cut += p->made_up;
        s->responses += response;
        s->requests += !response;
    }
    number_steps(s);
    damage_judge(s);
    find_mtu(s);
    if (!damage_excuse(s))
        return -1;
    s->skip = unplayable(s);
    if (s->skip)
        return 0;
    find_first(s);
    find_pkey(s);
    given_packets(given, s);
    s->rq_psn = s->sq_psn = roce_psn_add(s->psn, (int32_t)s->first).v;
    mark_early(s);
    if (!entries_build(s, &gap))
        return -1;
    find_msn(s);
    given_answers(given, s);
    s->skip = incomplete(s, gap);
    if (s->skip)
        return 0;
    if (!evidence_find(s) || !links_find(s))
        return -1;
    timers_find(s);
    return find_allowed(s, memory);
}

void setup_free(struct setup *s)
{
    free(s->step);
    free(s->entry);
    free(s->ahead);
    memset(s, 0, sizeof(*s));
}
