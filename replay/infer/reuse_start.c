/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/reuse_start.h"

#include <stdlib.h>
#include <string.h>
#include "wire/codes.h"

/* Maximum number of packets searched before and after an empty Only packet. */
#define SHIFT_WINDOW (1u << 15)

/* Maximum number of empty Only packets that a QP sends after RESET. */
#define EMPTY_MAX 64u

/* Limit of the packets searched for empty Only packets in one capture. */
#define EFFORT_MAX (UINT64_C(1) << 27)

/* Repeated PSNs of one QP during one use of the QP pair: the requests since its last true
 * retransmission that have an earlier PSN but other contents. */
struct repeats {
    uint32_t first; /* index into trace.pkt of the first such request */
    bool begins;    /* true: one of these requests has the first PSN of the use, but another
                     * operation than the request that had it before */
    roce_psn base;  /* first PSN of the use */
    bool answered;  /* the peer responded to a request after that PSN */
    uint32_t reset; /* index into trace.pkt of the first packet that the QP sent after RESET, which
                     * is an empty Only packet (D57); UINT32_MAX if unknown */
    int32_t shift;  /* number of these empty Only packets. The requests behind them were
                     * retransmitted with PSNs that are lower by this number. */
    bool over;      /* the next use has a request of this side */
    bool resumed;   /* the first request of the next use is a retransmission of this use */
};

struct starts {
    const struct trace *trace;
    struct keymap sides; /* keys: {connection, number of the use, side} */
    struct repeats *repeats;
    size_t repeats_cap;
    struct keymap psns; /* keys: {number of a key in `sides`, PSN} */
    uint32_t *first;    /* index into trace.pkt of the first request with the PSN */
    size_t first_cap;
    uint64_t effort; /* packets that shift_back() has searched so far */
};

size_t qp_uses_to(const struct qp_use *use, size_t cnt, uint32_t conn_index, uint32_t frame)
{
    size_t low = 0, high = cnt;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (use[mid].conn_index < conn_index ||
            (use[mid].conn_index == conn_index && use[mid].frame <= frame))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* Returns whether two packets request different operations: their opcode or the address or length
 * in their headers differs. */
static bool is_other_request(const struct roce_pkt *a, const struct roce_pkt *b)
{
    if (a->bth.opcode != b->bth.opcode)
        return true;
    if (roce_opcode_has(a->op, ROCE_HDR_RETH))
        return a->reth.va != b->reth.va || a->reth.rkey != b->reth.rkey ||
               a->reth.dma_len != b->reth.dma_len;
    return roce_opcode_has(a->op, ROCE_HDR_ATOMICETH) && a->atomiceth.va != b->atomiceth.va;
}

/* Returns whether two packets request the same operation with the same payload. */
static bool is_same_request(const struct roce_pkt *a, const struct roce_pkt *b)
{
    return !is_other_request(a, b) && a->payload_len == b->payload_len &&
           (a->payload_len == 0 || memcmp(a->payload, b->payload, a->payload_len) == 0);
}

/* Returns whether a packet is an Only packet without data. Linux rxe sends such a packet instead of
 * a retransmission (D41). */
static bool is_empty_only(const struct roce_pkt *p)
{
    return p->op->pos == ROCE_POS_ONLY && p->payload_len == 0 &&
           (p->op->kind == ROCE_KIND_SEND || p->op->kind == ROCE_KIND_WRITE);
}

/* Returns the nearest request of the same QP before (`step` -1) or after (`step` 1) packet `idx`
 * that has a PSN, or NULL. */
static const struct trace_packet *find_request(const struct trace *trace, uint32_t idx, int step,
                                               uint32_t psn)
{
    const struct trace_packet *p = &trace->pkt[idx];

    for (uint32_t i = idx + (uint32_t)step, n = 0; i < trace->cnt && n < SHIFT_WINDOW;
         i += (uint32_t)step, n++)
        if (trace->pkt[i].flow == p->flow && trace->pkt[i].psn == psn && !trace->pkt[i].dropped &&
            !trace->pkt[i].cut && roce_opcode_is_request(roce_opcode(trace->pkt[i].opcode)))
            return &trace->pkt[i];
    return NULL;
}

/* Returns whether a READ request requests the tail of an earlier READ. */
static bool is_tail_of(const struct roce_pkt *tail, const struct roce_pkt *read)
{
    uint64_t skipped = tail->reth.va - read->reth.va;
    int32_t psns = roce_psn_diff(roce_pkt_psn(tail), roce_pkt_psn(read));

    return tail->reth.rkey == read->reth.rkey && psns > 0 && skipped < read->reth.dma_len &&
           tail->reth.dma_len == read->reth.dma_len - skipped && skipped % (uint32_t)psns == 0 &&
           roce_mtu_code((uint32_t)(skipped / (uint32_t)psns)) != 0;
}

bool reuse_is_read_restart(const struct trace *trace, uint32_t idx)
{
    const struct trace_packet *p = &trace->pkt[idx];
    struct roce_pkt pkt, before;

    trace_parse(p, &pkt);
    for (uint32_t i = idx; pkt.op->kind == ROCE_KIND_READ && i-- > 0 && idx - i < SHIFT_WINDOW;) {
        if (trace->pkt[i].flow != p->flow || trace->pkt[i].opcode != p->opcode ||
            trace->pkt[i].dropped || trace->pkt[i].cut)
            continue;
        trace_parse(&trace->pkt[i], &before);
        if (is_tail_of(&pkt, &before))
            return true;
    }
    return false;
}

/* Returns the request of the same QP just before (`step` -1) or after (`step` 1) packet `idx`, or
 * NULL. */
static const struct trace_packet *find_neighbour(const struct trace *trace, uint32_t idx, int step)
{
    const struct trace_packet *p = &trace->pkt[idx];

    for (uint32_t i = idx + (uint32_t)step, n = 0; i < trace->cnt && n < SHIFT_WINDOW;
         i += (uint32_t)step, n++)
        if (trace->pkt[i].flow == p->flow && !trace->pkt[i].dropped && !trace->pkt[i].cut &&
            roce_opcode_is_request(roce_opcode(trace->pkt[i].opcode)))
            return &trace->pkt[i];
    return NULL;
}

/* Returns whether request `p` repeats the latest request before packet `idx` with its PSN. */
static bool is_repeat(const struct trace *trace, const struct trace_packet *p, uint32_t idx)
{
    uint32_t at = (uint32_t)(p - trace->pkt);
    const struct trace_packet *e = find_request(trace, at < idx ? at : idx, -1, p->psn);
    struct roce_pkt pkt, before;

    if (!e)
        return false;
    trace_parse(p, &pkt);
    trace_parse(e, &before);
    return is_same_request(&pkt, &before);
}

bool reuse_is_repeat(const struct trace *trace, uint32_t idx)
{
    return is_repeat(trace, &trace->pkt[idx], idx);
}

bool reuse_continues(const struct trace *trace, uint32_t idx)
{
    const struct trace_packet *before = find_neighbour(trace, idx, -1);

    return before && roce_psn_add(roce_psn_of(before->psn), 1).v == trace->pkt[idx].psn;
}

bool reuse_is_in_go_back(const struct trace *trace, uint32_t idx)
{
    const struct trace_packet *p = &trace->pkt[idx];
    const struct trace_packet *before = find_neighbour(trace, idx, -1);
    const struct trace_packet *after = find_neighbour(trace, idx, 1);

    return before && after && roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(before->psn)) > 0 &&
           roce_psn_diff(roce_psn_of(after->psn), roce_psn_of(p->psn)) >= 0 &&
           is_repeat(trace, before, idx) && is_repeat(trace, after, idx);
}

bool reuse_is_shift(const struct trace *trace, uint32_t idx)
{
    uint32_t psn = trace->pkt[idx].psn;
    const struct trace_packet *q, *e;
    struct roce_pkt pkt, next, before;

    trace_parse(&trace->pkt[idx], &pkt);
    if (!is_empty_only(&pkt))
        return false;
    q = find_request(trace, idx, 1, roce_psn_add(roce_psn_of(psn), 1).v);
    e = find_request(trace, idx, -1, psn);
    if (!q || !e)
        return false;
    trace_parse(q, &next);
    trace_parse(e, &before);
    return is_other_request(&pkt, &before) && is_same_request(&next, &before);
}

/* Returns the nearest request of the same QP before packet `idx` that has a PSN and equals `like`,
 * or that is an empty Only packet if `like` is NULL. Returns NULL if there is none. Adds the number
 * of packets searched to *effort. */
static const struct trace_packet *find_like(const struct trace *trace, uint32_t idx, roce_psn psn,
                                            const struct roce_pkt *like, uint64_t *effort)
{
    const struct trace_packet *p = &trace->pkt[idx];
    size_t searched = 0;

    while (searched < SHIFT_WINDOW &&
           (p = find_request(trace, (uint32_t)(p - trace->pkt), -1, psn.v))) {
        struct roce_pkt pkt;

        searched = (size_t)(&trace->pkt[idx] - p);
        trace_parse(p, &pkt);
        if (like ? is_same_request(&pkt, like) : is_empty_only(&pkt)) {
            *effort += searched;
            return p;
        }
    }
    *effort += SHIFT_WINDOW;
    return NULL;
}

/* Returns by how many PSNs the PSN of request `idx` of the trace is lower than in its first
 * transmission, which followed the empty Only packets sent after RESET; or 0. Sets *reset to the
 * first packet of the use after RESET. The network may have reordered all these packets. Adds the
 * number of packets searched to *effort. */
static int32_t shift_back(const struct trace *trace, uint32_t idx, uint32_t *reset,
                          uint64_t *effort)
{
    roce_psn psn = roce_psn_of(trace->pkt[idx].psn);
    const struct trace_packet *e, *again = &trace->pkt[idx];
    int32_t cnt[2] = {0, 0}; /* number of empty Only packets before PSN `psn`, and from it on */
    struct roce_pkt pkt;

    *reset = idx;
    for (int up = 1; up >= 0; up--)
        for (; cnt[0] + cnt[1] <= (int32_t)EMPTY_MAX && *effort <= EFFORT_MAX; cnt[up]++) {
            e = find_like(trace, idx, roce_psn_add(psn, up ? cnt[1] : -1 - cnt[0]), NULL, effort);
            if (!e)
                break;
            if (e < &trace->pkt[*reset])
                *reset = (uint32_t)(e - trace->pkt);
        }
    if (cnt[1] == 0)
        return 0;
    /* The first request behind the empty packets was retransmitted with the PSN of the first empty
     * packet. */
    if (cnt[0] > 0)
        again = find_request(trace, idx, 1, roce_psn_add(psn, -cnt[0]).v);
    if (!again)
        return 0;
    trace_parse(again, &pkt);
    e = find_like(trace, idx, roce_psn_add(psn, cnt[1]), &pkt, effort);
    if (!e)
        return 0;
    if (e < &trace->pkt[*reset])
        *reset = (uint32_t)(e - trace->pkt);
    return cnt[0] + cnt[1];
}

/* Returns whether a request that differs from the first one with its PSN is a retransmission whose
 * PSN is lower than before, because it does not follow the empty Only packets sent after RESET.
 */
static bool is_shifted_back(struct starts *st, struct repeats *r, uint32_t idx, uint32_t side)
{
    roce_psn psn = roce_psn_of(st->trace->pkt[idx].psn);
    struct roce_pkt pkt, before;
    uint32_t key[2] = {side}, was, reset;

    if (!r->begins && r->shift == 0 && roce_psn_diff(psn, r->base) == 0 &&
        (r->shift = shift_back(st->trace, idx, &reset, &st->effort)) > 0)
        r->reset = reset;
    key[1] = roce_psn_add(psn, r->shift).v;
    if (r->shift == 0 || (was = keymap_get(&st->psns, key)) == KEYMAP_NONE)
        return false;
    trace_parse(&st->trace->pkt[idx], &pkt);
    trace_parse(&st->trace->pkt[st->first[was]], &before);
    return is_same_request(&pkt, &before);
}

/* Compares a request with the first request of this use that has the same PSN. Returns false if out
 * of memory. */
static bool add_request(struct starts *st, uint32_t idx, const uint32_t side_key[3])
{
    uint32_t cnt = st->sides.cnt, side, psn_key[2], at;
    struct repeats *r;
    struct roce_pkt pkt, before;
    roce_psn psn;

    if (!VEC_GROW(st->repeats, cnt, st->repeats_cap) ||
        (side = keymap_add(&st->sides, side_key)) == KEYMAP_NONE)
        return false;
    r = &st->repeats[side];
    psn = roce_psn_of(st->trace->pkt[idx].psn);
    if (side == cnt)
        *r = (struct repeats){.first = UINT32_MAX, .base = psn, .reset = UINT32_MAX};
    if (roce_psn_diff(psn, r->base) < 0)
        r->base = psn;
    psn_key[0] = side;
    psn_key[1] = st->trace->pkt[idx].psn;
    cnt = st->psns.cnt;
    if (!VEC_GROW(st->first, cnt, st->first_cap) ||
        (at = keymap_add(&st->psns, psn_key)) == KEYMAP_NONE)
        return false;
    if (at == cnt) {
        st->first[at] = idx;
        return true;
    }
    trace_parse(&st->trace->pkt[idx], &pkt);
    trace_parse(&st->trace->pkt[st->first[at]], &before);
    if (is_same_request(&pkt, &before)) {
        if (st->first[at] < r->first) { /* otherwise both packets belong to the new use, so this
                                         * retransmission proves nothing */
            r->first = UINT32_MAX;
            r->begins = r->over = r->resumed = false;
        }
        return true;
    }
    if (is_shifted_back(st, r, idx, side)) {
        st->first[at] = idx;
        return true;
    }
    if (r->first == UINT32_MAX)
        r->first = idx;
    /* Linux rxe sends an empty Only packet instead of a retransmission only for a request without a
     * response, and the requests behind it have the next PSNs (D41). */
    r->begins |= roce_psn_diff(psn, r->base) == 0 && is_other_request(&pkt, &before) &&
                 (!is_empty_only(&pkt) || (r->answered && !reuse_is_shift(st->trace, idx)));
    return true;
}

/* Records whether response `idx` of the trace answers a request after the first PSN of the use. */
static void note_response(struct starts *st, uint32_t idx, const uint32_t side_key[3])
{
    uint32_t side = keymap_get(&st->sides, side_key);

    if (side != KEYMAP_NONE)
        st->repeats[side].answered |=
            roce_psn_diff(roce_psn_of(st->trace->pkt[idx].psn), st->repeats[side].base) > 0;
}

/* Records whether the first request of a use is a retransmission from the previous use. */
static void note_resumed(struct starts *st, uint32_t idx, const uint32_t side_key[3])
{
    uint32_t side = keymap_get(&st->sides, side_key);
    const struct trace_packet *e;
    struct roce_pkt pkt, before;

    if (side == KEYMAP_NONE || st->repeats[side].over)
        return;
    st->repeats[side].over = true;
    if (st->repeats[side].reset == UINT32_MAX ||
        !(e = find_request(st->trace, idx, -1, st->trace->pkt[idx].psn)))
        return;
    trace_parse(&st->trace->pkt[idx], &pkt);
    trace_parse(e, &before);
    st->repeats[side].resumed = is_same_request(&pkt, &before);
}

/* Returns the index into trace.pkt of the first request of the next use, or UINT32_MAX. */
static uint32_t start_of(const struct repeats *r)
{
    return r->resumed ? r->reset : r->begins ? r->first : UINT32_MAX;
}

/* Searches the first request of each use, one pass through the trace. Returns false if out of
 * memory. */
static bool search_starts(const struct trace *trace, const struct roce_flow_owner *owner,
                          struct qp_use *use, size_t cnt)
{
    struct starts st = {.trace = trace};
    bool ok = true;

    keymap_init(&st.sides, 3 * sizeof(uint32_t));
    keymap_init(&st.psns, 2 * sizeof(uint32_t));
    for (uint32_t i = 0; ok && i < trace->cnt; i++) {
        const struct trace_packet *p = &trace->pkt[i];
        uint32_t conn = owner[i].conn_index;
        size_t next = qp_uses_to(use, cnt, conn, p->frame);

        if (conn == ROCE_NO_CONN || p->dropped || p->cut)
            continue;
        if (roce_opcode_is_response(roce_opcode(p->opcode)))
            note_response(&st, i, (uint32_t[]){conn, (uint32_t)next, !owner[i].side});
        if (!roce_opcode_is_request(roce_opcode(p->opcode)))
            continue;
        if (next > 0)
            note_resumed(&st, i, (uint32_t[]){conn, (uint32_t)next - 1, owner[i].side});
        if (next < cnt && use[next].conn_index == conn && !use[next].cm)
            ok = add_request(&st, i, (uint32_t[]){conn, (uint32_t)next, owner[i].side});
    }
    for (size_t n = cnt; ok && n-- > 0;) {
        uint32_t start = use[n].frame;

        for (uint32_t side = 0; side < 2; side++) {
            const uint32_t key[3] = {use[n].conn_index, (uint32_t)n, side};
            uint32_t at = keymap_get(&st.sides, key);
            uint32_t first = at == KEYMAP_NONE ? UINT32_MAX : start_of(&st.repeats[at]);

            if (first != UINT32_MAX && trace->pkt[first].frame < start)
                start = trace->pkt[first].frame;
        }
        use[n].frame = start;
    }
    keymap_free(&st.sides);
    keymap_free(&st.psns);
    free(st.repeats);
    free(st.first);
    return ok;
}

size_t reuse_starts_unshift(const struct trace *trace, struct qp_use *use, size_t cnt)
{
    uint64_t effort = 0;
    size_t kept = 0;

    for (size_t i = 0; i < cnt; i++) {
        uint32_t at = use[i].cm ? UINT32_MAX : trace_packet_of(trace, use[i].frame), reset;

        if (at != UINT32_MAX && shift_back(trace, at, &reset, &effort) > 0) {
            use[i].frame = trace->pkt[reset].frame;
            if (kept > 0 && use[kept - 1].conn_index == use[i].conn_index &&
                use[kept - 1].frame >= use[i].frame)
                continue;
        }
        use[kept++] = use[i];
    }
    return kept;
}

bool reuse_starts_find(const struct trace *trace, const struct roce_flow_owner *owner,
                       struct qp_use *use, size_t cnt)
{
    /* The first search may assign requests to another use of the QPs, so the second search compares
     * with other requests. */
    return cnt == 0 ||
           (search_starts(trace, owner, use, cnt) && search_starts(trace, owner, use, cnt));
}
