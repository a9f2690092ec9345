/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/supposed_use.h"

#include <stdlib.h>
#include <string.h>

/* Costs of packets that the use explains, but that another use would explain better. A use is one
 * connection of two QPs, up to their reuse. USE_LATE: a request that repeats an acknowledged PSN,
 * or a packet before the first PSN of the use. USE_OTHER: a retransmission with another payload, or
 * a request that Linux rxe emptied or shifted (D41, D57). */
#define USE_LATE  1u
#define USE_OTHER 1u

/* Cost of a response with a lower MSN than an earlier response. This cost alone is too low to
 * assume a new use of the QP pair (GAIN_MIN in qp_uses.c). Together with a request that repeats an
 * acknowledged PSN, it is high enough: a new use explains both, because its MSN counts from 0
 * again. */
#define USE_BACK (2 * USE_ODD - 1)

/* Cost of an empty WRITE that is not the first request of a use. Linux rxe sends such a WRITE only
 * after RESET (D57), so it suggests that a new use begins there. */
#define USE_RESET 2u

/* Cost of a request that was certainly sent after the first captured request of the use of the QP
 * pair, but has an earlier PSN. Within one use, this means that the capture lacks the first
 * transmission of the request. */
#define USE_UNSEEN 8u

/* Maximum number of PSNs that the capture may lack before the first request of a use of the QP
 * pair, and after its last request. */
#define NEAR 64

/* Largest number of PSNs that may be missing in the capture between two requests. */
#define GAP_MAX 1024

/* Time after which the network no longer reorders two packets, ns. */
#define REORDER_NS UINT64_C(50000000)

/* Maximum number of PSNs before a PSN in which read_before() searches for a READ. */
#define READ_PSNS 64

/* Largest path MTU. */
#define MTU_MAX 4096u

/* Maximum difference between the PSN that a defect of Linux rxe gives a request and the PSN that
 * the request must have (known deviations D41 and D57). */
#define SHIFT_MAX 32

void supposed_use_init(struct supposed_use *use, const struct trace *trace, bool from_start)
{
    *use = (struct supposed_use){.trace = trace, .from_start = from_start};
    keymap_init(&use->psns, 2 * sizeof(uint32_t));
    use->side[0].counted = use->side[1].counted = from_start;
}

void supposed_use_free(struct supposed_use *use)
{
    keymap_free(&use->psns);
    free(use->request);
    free(use->run[0].request);
    free(use->run[1].request);
}

/* Returns the index that the request with a PSN has in `run`, if `run` is long enough. */
static uint32_t run_index(const struct use_run *run, roce_psn psn)
{
    return (psn.v - run->first.v) & ROCE_PSN_MASK;
}

static struct use_request *find_request(const struct supposed_use *use, unsigned side, roce_psn psn)
{
    const struct use_run *run = &use->run[side];
    const uint32_t key[2] = {side, psn.v};
    uint32_t at;

    if (run_index(run, psn) < run->cnt)
        return &run->request[run_index(run, psn)];
    at = use->psns.cnt ? keymap_get(&use->psns, key) : KEYMAP_NONE;
    return at == KEYMAP_NONE ? NULL : &use->request[at];
}

/* Adds packet `idx` as the first captured request with its PSN. Returns NULL if out of memory. */
static struct use_request *put_request(struct supposed_use *use, unsigned side, uint32_t idx)
{
    roce_psn psn = roce_psn_of(use->trace->pkt[idx].psn);
    struct use_run *run = &use->run[side];
    const uint32_t key[2] = {side, psn.v};
    struct use_request *e;

    if (run->cnt == 0)
        run->first = psn;
    if (run_index(run, psn) == run->cnt) {
        if (!VEC_GROW(run->request, run->cnt, run->cap))
            return NULL;
        e = &run->request[run->cnt++];
    } else {
        if (!VEC_GROW(use->request, use->psns.cnt, use->request_cap) ||
            keymap_add(&use->psns, key) == KEYMAP_NONE)
            return NULL;
        e = &use->request[use->psns.cnt - 1];
    }
    *e = (struct use_request){.pkt = idx, .last = idx, .copies = 1};
    return e;
}

/* Returns whether a packet may be a retransmission by Linux rxe without its address (D17). */
static bool lacks_address(const struct roce_pkt *p)
{
    return p->reth.va == 0 &&
           (p->bth.opcode == ROCE_OP_RC_FLUSH || p->bth.opcode == ROCE_OP_RC_ATOMIC_WRITE);
}

/* Returns whether two packets with one opcode differ in the immediate data, the atomic operands or
 * the invalidated R_Key. */
static bool has_other_word(const struct roce_pkt *a, const struct roce_pkt *b)
{
    return (roce_opcode_has(a->op, ROCE_HDR_IMMDT) && a->immdt.imm != b->immdt.imm) ||
           (roce_opcode_has(a->op, ROCE_HDR_IETH) && a->ieth.rkey != b->ieth.rkey) ||
           (roce_opcode_has(a->op, ROCE_HDR_ATOMICETH) &&
            (a->atomiceth.swap_add != b->atomiceth.swap_add ||
             (a->op->kind == ROCE_KIND_CMP_SWAP && a->atomiceth.compare != b->atomiceth.compare)));
}

static bool has_address(const struct roce_pkt *p)
{
    return roce_opcode_has(p->op, ROCE_HDR_RETH) || roce_opcode_has(p->op, ROCE_HDR_ATOMICETH);
}

/* Returns the remote address of a request with a RETH or an AtomicETH. */
static uint64_t address_of(const struct roce_pkt *p)
{
    return roce_opcode_has(p->op, ROCE_HDR_RETH) ? p->reth.va : p->atomiceth.va;
}

/* Returns whether two packets request different operations: their opcode, length, immediate data,
 * operand, or the address in their headers differs. */
static bool is_other_request(const struct roce_pkt *a, const struct roce_pkt *b)
{
    if (a->bth.opcode != b->bth.opcode || a->payload_len != b->payload_len || has_other_word(a, b))
        return true;
    if (roce_opcode_has(a->op, ROCE_HDR_RETH))
        return (a->reth.va != b->reth.va && !lacks_address(a) && !lacks_address(b)) ||
               a->reth.rkey != b->reth.rkey || a->reth.dma_len != b->reth.dma_len;
    return roce_opcode_has(a->op, ROCE_HDR_ATOMICETH) &&
           (a->atomiceth.va != b->atomiceth.va || a->atomiceth.rkey != b->atomiceth.rkey);
}

/* Returns whether two packets differ so much that one altered field does not explain it: at least
 * two of opcode, length, address, immediate data or operand, and payload differ. */
static bool is_unrelated(const struct roce_pkt *a, const struct roce_pkt *b)
{
    size_t common = a->payload_len < b->payload_len ? a->payload_len : b->payload_len;
    unsigned cnt = a->bth.opcode != b->bth.opcode;

    cnt += a->payload_len != b->payload_len ||
           (roce_opcode_has(a->op, ROCE_HDR_RETH) && roce_opcode_has(b->op, ROCE_HDR_RETH) &&
            a->reth.dma_len != b->reth.dma_len);
    cnt += has_address(a) && has_address(b) && address_of(a) != address_of(b);
    cnt += a->bth.opcode == b->bth.opcode && has_other_word(a, b);
    cnt += common > 0 && memcmp(a->payload, b->payload, common) != 0;
    return cnt > 1;
}

static bool is_same_payload(const struct roce_pkt *a, const struct roce_pkt *b)
{
    return a->payload_len == b->payload_len &&
           (a->payload_len == 0 || memcmp(a->payload, b->payload, a->payload_len) == 0);
}

/* Returns whether a packet is an Only packet without data. Linux rxe sends such a packet instead of
 * a retransmission (D41). */
static bool is_empty_only(const struct roce_pkt *p)
{
    return p->op->pos == ROCE_POS_ONLY && p->payload_len == 0 &&
           (p->op->kind == ROCE_KIND_SEND || p->op->kind == ROCE_KIND_WRITE);
}

/* Returns whether a packet is an empty WRITE without address. Linux rxe sends such a WRITE after
 * RESET for a request of the previous use. When rxe retransmits the new requests, it omits these
 * empty WRITEs, so their PSNs shift (D57). */
static bool is_blank(const struct trace_packet *p)
{
    struct roce_pkt pkt;

    if (p->opcode != ROCE_OP_RC_WRITE_ONLY || p->payload_len > 0)
        return false;
    trace_parse(p, &pkt);
    return pkt.reth.va == 0 && pkt.reth.rkey == 0;
}

/* Returns whether the same request was captured before with another PSN, at most SHIFT_MAX away.
 * If so, sets *shift to the earlier PSN minus the PSN of `pkt`. Linux rxe shifts the PSNs of its
 * requests by the number of empty Only packets that it inserts or omits (D41, D57). */
static bool is_shifted(const struct supposed_use *use, unsigned side, const struct roce_pkt *pkt,
                       int32_t *shift)
{
    roce_psn psn = roce_pkt_psn(pkt);

    for (int32_t off = -SHIFT_MAX; off <= SHIFT_MAX; off++) {
        const struct use_request *e = find_request(use, side, roce_psn_add(psn, off));
        const struct trace_packet *p = e ? &use->trace->pkt[e->pkt] : NULL;
        struct roce_pkt other;

        if (!p || p->opcode != pkt->bth.opcode || p->payload_len != pkt->payload_len)
            continue;
        trace_parse(p, &other);
        if (!is_other_request(pkt, &other) && is_same_payload(pkt, &other)) {
            *shift = off;
            return true;
        }
    }
    return false;
}

/* Returns whether a request with PSN `psn` is certainly new. The latest shifted request precedes
 * its earlier copy by side->shift PSNs. With the same shift, the earlier copy of this request would
 * follow all captured requests, so there is none. */
static bool is_new_shifted(const struct use_side *side, roce_psn psn)
{
    return side->shift > 0 && roce_psn_diff(roce_psn_add(psn, side->shift), side->next) >= 0;
}

/* Returns the cost of request `idx`. `e` is the earlier request of the use with the same PSN. */
static unsigned compare_requests(struct supposed_use *use, uint32_t idx, unsigned which,
                                 struct use_request *e)
{
    struct use_side *side = &use->side[which];
    struct roce_pkt pkt, before;
    bool again;

    trace_parse(&use->trace->pkt[idx], &pkt);
    trace_parse(&use->trace->pkt[e->pkt], &before);
    if (!is_other_request(&pkt, &before))
        return is_same_payload(&pkt, &before) ? 0 : USE_OTHER;
    if (is_shifted(use, which, &pkt, &side->shift) || is_empty_only(&pkt) || is_empty_only(&before))
        return USE_OTHER;
    /* The requester shifts PSNs, but the capture lacks the copy of this request with its other PSN.
     * The first such request with a PSN costs USE_ODD. Copies of it cost USE_OTHER, because they
     * are not a further sign of another use. A new request never had another PSN, so it costs
     * USE_OTHER. */
    if (side->shifts) {
        if (e->shifted && use->trace->pkt[e->shifted].opcode == pkt.bth.opcode &&
            use->trace->pkt[e->shifted].payload_len == pkt.payload_len)
            return USE_OTHER;
        again = e->shifted != 0;
        e->shifted = idx;
        return !again && is_new_shifted(side, roce_pkt_psn(&pkt)) ? USE_OTHER : USE_ODD;
    }
    return is_unrelated(&pkt, &before) ? 2 * USE_ODD : USE_ODD;
}

/* Returns the PSN after the last response that a request may have. The path MTU is unknown, so a
 * READ may have one response for each 256 bytes. */
static roce_psn reach_of(const struct trace_packet *p)
{
    uint32_t len = roce_opcode(p->opcode)->kind == ROCE_KIND_READ ? trace_reth(p).dma_len : 0;

    return roce_psn_add(roce_psn_of(p->psn),
                        len <= 256 || len >> 31 ? 1 : (int32_t)((len + 255) / 256));
}

static void start_side(struct use_side *side, uint32_t idx, const struct trace_packet *p,
                       bool counted)
{
    *side = (struct use_side){.started = true,
                              .first_pkt = idx,
                              .base = roce_psn_of(p->psn),
                              .next = roce_psn_of(p->psn),
                              .reach = roce_psn_of(p->psn),
                              .counted = counted,
                              .answered = side->answered,
                              .high_msn = side->high_msn,
                              .high_pkt = side->high_pkt,
                              .high_alone = side->high_alone,
                              .below = side->below,
                              .below_pkt = side->below_pkt,
                              .high_psn = roce_psn_add(roce_psn_of(p->psn), -1)};
}

/* Returns whether a PSN is far from all requested PSNs: at least GAP_MAX PSNs after them, or more
 * than NEAR PSNs before them. The capture cannot lack all requests in between. */
static bool is_far(const struct use_side *side, roce_psn psn)
{
    return roce_psn_diff(psn, side->reach) >= GAP_MAX || roce_psn_diff(psn, side->base) < -NEAR;
}

/* Returns whether packet `p` was certainly sent after packet `before` of the same sender. */
static bool is_sent_after(const struct trace *trace, const struct trace_packet *p,
                          const struct trace_packet *before)
{
    return p->time - before->time >= REORDER_NS || trace_sent_before(trace, before, p);
}

/* Request `p` has an earlier PSN than the first captured request of the use. Returns whether `p`
 * was nevertheless sent after that first request. The capture times, the IPv4 identifications or an
 * earlier retransmission show this. Returns false if the capture may lack the start of the use. */
static bool precedes_unseen(const struct supposed_use *use, const struct use_side *side,
                            const struct trace_packet *p)
{
    return use->from_start &&
           (side->repeats || is_sent_after(use->trace, p, &use->trace->pkt[side->first_pkt]));
}

/* Returns the READ before PSN `psn` if one of its responses may have this PSN, and the use has no
 * request in between. Otherwise returns NULL. */
static const struct use_request *read_before(const struct supposed_use *use, unsigned side,
                                             roce_psn psn)
{
    const struct use_request *e = NULL;

    for (int32_t off = -1; !e && off >= -READ_PSNS; off--)
        e = find_request(use, side, roce_psn_add(psn, off));
    return e && roce_psn_diff(reach_of(&use->trace->pkt[e->pkt]), psn) > 0 ? e : NULL;
}

/* The use has no other request with the PSN of request `p`. Returns whether this PSN certainly
 * belongs to a response to a READ, and `p` does not restart this READ (R112). Then `p` belongs to
 * another use, or was altered. The PSN certainly belongs to a response if the READ needs that many
 * responses with the largest path MTU, or if the responses up to this PSN were captured. */
static bool is_inside_read(const struct supposed_use *use, unsigned side,
                           const struct trace_packet *p)
{
    roce_psn psn = roce_psn_of(p->psn);
    const struct use_request *e = read_before(use, side, psn);
    struct roce_pkt pkt, read;
    int32_t shift;
    uint32_t off;

    if (!e)
        return false;
    trace_parse(&use->trace->pkt[e->pkt], &read);
    trace_parse(p, &pkt);
    off = (uint32_t)roce_psn_diff(psn, roce_pkt_psn(&read));
    if ((off > e->last_resp && off > (read.reth.dma_len - 1) / MTU_MAX) || is_empty_only(&pkt) ||
        is_shifted(use, side, &pkt, &shift))
        return false;
    return pkt.op->kind != ROCE_KIND_READ || pkt.reth.rkey != read.reth.rkey ||
           pkt.reth.va + pkt.reth.dma_len != read.reth.va + read.reth.dma_len;
}

static int add_request(struct supposed_use *use, uint32_t idx, unsigned which)
{
    const struct trace_packet *p = &use->trace->pkt[idx];
    struct use_side *side = &use->side[which];
    roce_psn psn = roce_psn_of(p->psn), reach;
    struct use_request *e;
    unsigned cost = 0;
    bool restarts, inside;

    if (!side->started) {
        start_side(side, idx, p, use->from_start);
    } else if (is_far(side, psn)) {
        int32_t off = roce_psn_diff(psn, side->apart);

        if (!side->is_apart || off < -1 || off >= NEAR) {
            side->is_apart = true;
            side->apart = roce_psn_add(psn, 1);
            return USE_ODD;
        }
        start_side(side, idx, p, false); /* two requests have PSNs near `apart`, so the capture
                                          * lacks the requests in between */
    }
    side->is_apart = false;
    if (roce_psn_diff(psn, side->base) < 0) {
        side->base = psn;
        cost += precedes_unseen(use, side, p) ? USE_UNSEEN : USE_LATE;
    }
    e = find_request(use, which, psn);
    reach = reach_of(p);
    inside = roce_psn_diff(psn, side->reach) < 0;
    /* A READ inside an earlier READ may restart it (R112), so it is not a new message. */
    restarts = inside && roce_opcode(p->opcode)->kind == ROCE_KIND_READ;
    if (roce_psn_diff(reach, side->reach) > 0)
        side->reach = reach;
    side->repeats |= e != NULL;
    if (e) {
        e->last = idx;
        e->copies++;
        e->before = e->answer;
        return (int)(cost + compare_requests(use, idx, which, e) +
                     (side->answered && roce_psn_diff(psn, side->high_psn) <= 0 ? USE_LATE : 0));
    }
    if (inside && !side->shifts && is_inside_read(use, which, p))
        cost += USE_ODD;
    e = put_request(use, which, idx);
    if (!e)
        return -1;
    if (is_blank(p) && !side->shifts) {
        side->shifts = true;
        cost += idx == side->first_pkt ? 0 : USE_RESET;
    }
    side->ended += !restarts && roce_opcode_ends(roce_opcode(p->opcode));
    if (roce_psn_diff(psn, side->next) >= 0) {
        e->ended = side->ended;
        side->next = roce_psn_add(psn, 1);
    }
    return (int)cost;
}

/* Returns whether response `p` certainly answers a copy of its request that was captured after the
 * response with the highest MSN. All earlier copies were answered. Before the latest copy, no
 * packet of the use was captured for at least TRACE_COPY_NS. So `p` is not a duplicate of an
 * earlier response, made by the network or the capture. */
static bool answers_later_copy(const struct supposed_use *use, unsigned which,
                               const struct trace_packet *p, const struct use_request *e)
{
    const struct use_side *side = &use->side[which];
    const struct use_request *asked = e ? e : read_before(use, which, roce_psn_of(p->psn));
    enum roce_kind kind = roce_opcode(p->opcode)->kind;

    return asked && asked->before && use->quiet > side->high_pkt && asked->last >= use->quiet &&
           (kind == ROCE_KIND_ACK || asked->answers + (e != NULL) >= asked->copies) &&
           roce_opcode(use->trace->pkt[asked->before].opcode)->kind == kind &&
           p->time - use->trace->pkt[asked->before].time >= TRACE_COPY_NS;
}

/* Returns whether an Atomic ACK has another original value than an earlier one to request `e`. A
 * responder executes an atomic once and repeats the value (R115). */
static bool has_other_original(const struct supposed_use *use, const struct trace_packet *p,
                               const struct use_request *e)
{
    const struct trace_packet *q = e && e->answer ? &use->trace->pkt[e->answer] : NULL;
    struct roce_pkt pkt, before;

    if (!q || q->opcode != p->opcode || roce_opcode(p->opcode)->kind != ROCE_KIND_ATOMIC_ACK)
        return false;
    trace_parse(p, &pkt);
    trace_parse(q, &before);
    return pkt.atomicacketh.orig != before.atomicacketh.orig;
}

/* Atomic ACK `p` to request `e` has another original value than the earlier Atomic ACK. Returns
 * whether the request was executed twice: the original value of `p` is the value that the first
 * execution stored, and a copy of the request was captured well after the earlier Atomic ACK. Then
 * the executions belong to two uses, or the responder is wrong. Another original value alone may be
 * an altered field. */
static bool is_executed_again(const struct supposed_use *use, const struct trace_packet *p,
                              const struct use_request *e)
{
    const struct trace_packet *q = &use->trace->pkt[e->answer];
    struct roce_pkt request, pkt, before;
    bool swaps;

    trace_parse(&use->trace->pkt[e->last], &request);
    trace_parse(p, &pkt);
    trace_parse(q, &before);
    if (use->trace->pkt[e->last].time - q->time < TRACE_COPY_NS || e->last <= e->answer)
        return false;
    if (request.op->kind == ROCE_KIND_FETCH_ADD)
        return pkt.atomicacketh.orig == before.atomicacketh.orig + request.atomiceth.swap_add;
    swaps = request.op->kind == ROCE_KIND_CMP_SWAP &&
            before.atomicacketh.orig == request.atomiceth.compare;
    return swaps && pkt.atomicacketh.orig == request.atomiceth.swap_add;
}

/* Returns whether response `p` has a lower MSN than an earlier response that the responder
 * certainly sent before `p`. The order is certain if the request with the PSN of `p` (`e`, or NULL)
 * was captured between the two responses, or if is_sent_after() is true. The response to a
 * duplicate READ or atomic may repeat the MSN of the first execution, so it counts only if
 * answers_later_copy() is true. */
static bool counts_back(const struct supposed_use *use, unsigned which,
                        const struct trace_packet *p, const struct use_request *e)
{
    const struct use_side *side = &use->side[which];

    if (!side->answered || roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(side->high_msn)) >= 0)
        return false;
    return answers_later_copy(use, which, p, e) ||
           ((roce_opcode(p->opcode)->kind == ROCE_KIND_ACK ||
             roce_psn_diff(roce_psn_of(p->psn), side->high_psn) > 0) &&
            ((e && e->pkt > side->high_pkt) ||
             is_sent_after(use->trace, p, &use->trace->pkt[side->high_pkt])));
}

/* Response `p` has a lower MSN than an earlier response. Returns whether the MSN of the earlier
 * response may be wrong: only that response had this MSN, `p` has a later PSN, and the MSN of `p`
 * fits the response before the earlier one (at most one message for each PSN). A new use does not
 * explain `p` better, because its PSNs would begin again. Returns false for a NAK with MSN 0, which
 * a responder may send after RESET. */
static bool is_high_wrong(const struct supposed_use *use, const struct use_side *side,
                          const struct trace_packet *p)
{
    const struct trace_packet *high = &use->trace->pkt[side->high_pkt];
    const struct trace_packet *below = &use->trace->pkt[side->below_pkt];
    int32_t cnt = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(below->msn));

    if (!side->high_alone || roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(high->psn)) <= 0 ||
        (p->msn == 0 && roce_opcode(p->opcode)->kind == ROCE_KIND_ACK &&
         roce_syndrome_kind(p->syndrome) != ROCE_SYN_ACK))
        return false;
    return !side->below ||
           (cnt >= 0 && cnt <= roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(below->psn)));
}

/* Compares the MSN of response `idx`, which the use explains, with the highest MSN so far. */
static void note_msn(struct use_side *side, uint32_t idx, const struct trace_packet *p)
{
    int32_t off = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(side->high_msn));

    if (side->answered && off <= 0) {
        side->high_alone &= off < 0;
        return;
    }
    side->below = side->answered;
    side->below_pkt = side->high_pkt;
    side->high_msn = p->msn;
    side->high_pkt = idx;
    side->high_alone = true;
}

/* Updates the highest acknowledged PSN. A NAK acknowledges the PSN before its own. */
static void note_acknowledged(struct use_side *side, const struct trace_packet *p)
{
    bool nak = roce_opcode(p->opcode)->kind == ROCE_KIND_ACK &&
               roce_syndrome_kind(p->syndrome) != ROCE_SYN_ACK;
    roce_psn acked = roce_psn_add(roce_psn_of(p->psn), nak ? -1 : 0);

    if (!side->answered || roce_psn_diff(acked, side->high_psn) > 0)
        side->high_psn = acked;
}

/* Returns the cost of the MSN of response `p`: 0 if the use explains it. `e` is the request with
 * the PSN of `p`, or NULL. */
static unsigned cost_of_msn(struct supposed_use *use, unsigned which, const struct trace_packet *p,
                            const struct use_request *e)
{
    struct use_side *side = &use->side[which];
    bool ack = roce_opcode(p->opcode)->kind == ROCE_KIND_ACK;
    bool nak = ack && roce_syndrome_kind(p->syndrome) != ROCE_SYN_ACK;
    int32_t cnt;

    if (counts_back(use, which, p, e)) {
        if (!is_high_wrong(use, side, p))
            return USE_BACK;
        side->high_msn = p->msn;
        side->high_pkt = (uint32_t)(p - use->trace->pkt);
        side->high_alone = false;
        return USE_HIGH;
    }
    /* If the capture lacks the start of the use, infer the MSN before the first captured message:
     * at most the MSN of this response minus the number of captured messages up to its PSN. */
    if (ack && !nak && e && e->ended && !use->from_start &&
        (!side->counted ||
         roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(side->msn)) < (int32_t)e->ended)) {
        side->msn = (p->msn - e->ended) & ROCE_PSN_MASK;
        side->counted = true;
    }
    cnt = roce_psn_diff(roce_psn_of(p->msn), roce_psn_of(side->msn));
    return side->counted && (cnt > roce_psn_diff(side->reach, side->base) + nak ||
                             (ack && !nak && e && cnt < (int32_t)e->ended))
               ? USE_ODD
               : 0;
}

/* Records a READ response that follows other responses to its READ without a gap. `e` is the READ
 * that begins with the PSN of the response, or NULL. */
static void note_read_resp(struct supposed_use *use, unsigned which, const struct roce_opcode *op,
                           roce_psn psn, const struct use_request *e)
{
    struct use_side *side = &use->side[which];
    struct use_request *read;

    if (e) {
        side->read = psn;
    } else {
        read = find_request(use, which, side->read);
        if (!read || roce_opcode_starts(op) || roce_psn_diff(psn, side->read_resp) != 1)
            return;
        if ((int32_t)read->last_resp < roce_psn_diff(psn, side->read))
            read->last_resp = (uint32_t)roce_psn_diff(psn, side->read);
    }
    side->read_resp = psn;
}

static int add_response(struct supposed_use *use, uint32_t idx, unsigned which)
{
    const struct trace_packet *p = &use->trace->pkt[idx];
    const struct roce_opcode *op = roce_opcode(p->opcode);
    struct use_side *side = &use->side[which];
    roce_psn psn = roce_psn_of(p->psn);
    struct use_request *e;

    if (!side->started)
        return use->from_start ? USE_ODD : 0;
    if (roce_psn_diff(psn, side->base) < -NEAR || roce_psn_diff(psn, side->reach) >= NEAR)
        return USE_ODD;
    e = find_request(use, which, psn);
    if (e && !trace_draws(roce_opcode(use->trace->pkt[e->pkt].opcode), op->kind))
        return USE_ODD;
    if (has_other_original(use, p, e))
        return (int)((is_executed_again(use, p, e) ? USE_TWICE : USE_ODD) +
                     cost_of_msn(use, which, p, e));
    if (trace_counts_messages(op)) {
        unsigned cost = cost_of_msn(use, which, p, e);

        if (cost > 0)
            return (int)cost;
        note_msn(side, idx, p);
        note_acknowledged(side, p);
        side->answered = true;
    }
    if (op->kind == ROCE_KIND_READ_RESP)
        note_read_resp(use, which, op, psn, e);
    if (e) {
        e->answers += e->answer == 0 || !trace_is_copy(&use->trace->pkt[e->answer], p);
        e->answer = idx;
    }
    return roce_psn_diff(psn, side->base) < -1 ? USE_LATE : 0;
}

int supposed_use_add(struct supposed_use *use, uint32_t idx, unsigned side)
{
    const struct trace_packet *p = &use->trace->pkt[idx];
    const struct roce_opcode *op = roce_opcode(p->opcode);

    if (p->time - use->time >= TRACE_COPY_NS)
        use->quiet = idx;
    use->time = p->time;
    return roce_opcode_is_response(op)  ? add_response(use, idx, !side)
           : roce_opcode_is_request(op) ? add_request(use, idx, side)
                                        : 0;
}
