/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "infer/request_table.h"

#include <stdlib.h>
#include <string.h>
#include "device/rnic.h"
#include "util/lower_bound.h"

const struct request_pkt *request_at_or_before(const struct inferred_setup *s, int64_t rel)
{
    size_t low = 0, high = s->req_cnt;

    LOWER_BOUND(low, high, mid, s->req[mid].rel <= rel);
    return low ? &s->req[low - 1] : NULL;
}

const struct request_pkt *request_search(const struct inferred_setup *s, int64_t rel)
{
    const struct request_pkt *e = request_at_or_before(s, rel);

    return e && rel - e->rel < e->cnt ? e : NULL;
}

uint32_t request_table_msn(const struct inferred_setup *s, int64_t rel)
{
    const struct request_pkt *e = request_at(s, rel);

    if (!e && s->req_cnt && rel > s->req[0].rel)
        e = &s->req[s->req_cnt - 1];
    return (s->msn + (e ? e->msgs_done : 0)) & ROCE_PSN_MASK;
}

/* State of the current message while the request packets are read in PSN order. */
struct open_msg {
    bool open;
    enum roce_kind kind;
    uint32_t first; /* index of the message's first request packet */
    uint64_t va;
    uint32_t rkey;
    uint64_t total; /* length of the message in bytes, from the RETH */
    uint64_t off;
};

/* Returns whether no responder can execute a FLUSH or ATOMIC WRITE because of its form (annex A19;
 * R126). */
static bool a19_invalid(const struct roce_pkt *pkt)
{
    if (pkt->op->kind == ROCE_KIND_ATOMIC_WRITE)
        return pkt->payload_len != 8 || pkt->reth.dma_len != 8 || pkt->reth.va % 8 != 0;
    return pkt->payload_len != 0 || pkt->feth.plt == 0 ||
           (pkt->feth.plt & ~(RNIC_FLUSH_GLOBAL | RNIC_FLUSH_PERSISTENT)) ||
           (pkt->feth.sel != RNIC_FLUSH_RANGE && pkt->feth.sel != RNIC_FLUSH_MR);
}

static bool is_single(enum roce_kind kind)
{
    return kind != ROCE_KIND_SEND && kind != ROCE_KIND_WRITE;
}

/* Returns whether the payload length of a SEND or WRITE packet fits its position in the message
 * (R079, R080). */
static bool length_fits(const struct roce_opcode *op, const struct request_pkt *e, uint32_t mtu,
                        const struct open_msg *m)
{
    if (op->pos == ROCE_POS_FIRST || op->pos == ROCE_POS_MIDDLE) {
        if (e->len != mtu)
            return false;
    } else if (e->len > mtu || (op->pos == ROCE_POS_LAST && e->len == 0)) {
        return false;
    }
    if (op->kind != ROCE_KIND_WRITE)
        return true;
    if (roce_opcode_ends(op))
        return m->off + e->len == m->total;
    return m->off + e->len < m->total;
}

/* Sets the members of a request packet from its captured packet and its message. */
static void read_entry(const struct inferred_setup *s, struct request_pkt *e, uint32_t idx,
                       struct open_msg *m)
{
    const struct roce_opcode *op = event_opcode(s, e->event);
    struct roce_pkt pkt;
    bool starts = roce_opcode_starts(op);

    /* Only the first packet of a message has a header that this function needs. */
    if (starts || is_single(op->kind))
        trace_parse_headers(event_packet(s, e->event), &pkt);
    e->len = event_packet(s, e->event)->payload_len;
    e->cnt = 1;
    e->first_response = EVENT_NONE;
    if (starts) {
        e->invalid = m->open; /* invalid if a message begins before the previous one has ended
                               * (R073) */
        *m = (struct open_msg){.kind = op->kind, .first = idx};
        if (roce_pkt_has(&pkt, ROCE_HDR_RETH)) {
            m->va = pkt.reth.va;
            m->rkey = pkt.reth.rkey;
            m->total = pkt.reth.dma_len;
            e->invalid |= m->total > UINT64_C(1) << 31; /* invalid if the message is longer than
                                                         * 2^31 bytes (R081) */
        }
    } else {
        e->invalid = !m->open || m->kind != op->kind; /* invalid if the packet continues no message,
                                                       * or a message of another operation (R072,
                                                       * R074) */
    }
    switch (op->kind) {
    case ROCE_KIND_SEND:
    case ROCE_KIND_WRITE: e->invalid |= !length_fits(op, e, s->mtu, m); break;
    case ROCE_KIND_READ:
        e->len = pkt.reth.dma_len;
        e->cnt = roce_psn_cnt(e->len, s->mtu);
        break;
    case ROCE_KIND_CMP_SWAP:
    case ROCE_KIND_FETCH_ADD:
        m->va = pkt.atomiceth.va;
        m->rkey = pkt.atomiceth.rkey;
        e->len = 8;
        e->invalid |= (pkt.atomiceth.va & 7) != 0; /* invalid if the atomic is not aligned (R120) */
        break;
    case ROCE_KIND_FLUSH:
    case ROCE_KIND_ATOMIC_WRITE: e->invalid |= a19_invalid(&pkt); break;
    default: e->invalid = true; break; /* a responder refuses a reserved opcode */
    }
    e->msg_first = m->first;
    e->off = (uint32_t)m->off;
    e->va = m->va + m->off;
    e->rkey = m->rkey;
    m->off += event_packet(s, e->event)->payload_len;
    m->open = !is_single(op->kind) && !roce_opcode_ends(op);
}

/* Compares the payload of a retransmission with the payload of the first copy, and sets `rewritten`
 * if they differ. */
static void note_rewritten(struct inferred_setup *s, int64_t rel, uint32_t event)
{
    const struct request_pkt *e = request_at(s, rel);
    const struct trace_packet *p = event_packet(s, event), *first;

    if (!e || e->rel != rel || p->zero_filled)
        return;
    first = event_packet(s, e->event);
    s->req[e - s->req].rewritten |=
        !first->zero_filled && p->opcode == first->opcode && p->payload_len == first->payload_len &&
        memcmp(trace_payload(p), trace_payload(first), p->payload_len) != 0;
}

/* Sets `other` of all requests, and first_other. */
static void mark_others(struct inferred_setup *s)
{
    s->first_other = EVENT_NONE;
    for (uint32_t i = (uint32_t)s->event_cnt; i-- > 0;) {
        struct pkt_event *event = &s->event[i];
        const struct request_pkt *e =
            event->response || !event->usable || event->damaged ? NULL : request_at(s, event->rel);

        event->other =
            e && e->event < i && event_packet(s, i)->opcode != event_packet(s, e->event)->opcode;
        if (event->other)
            s->first_other = i;
    }
}

bool request_table_build(struct inferred_setup *s, int64_t *gap)
{
    size_t cnt;
    struct request_copy *copy = packet_log_copies(s, true, &cnt);
    struct open_msg m = {0};
    int64_t expect = s->first;
    uint32_t done = 0;

    *gap = GAP_NONE;
    s->req_cnt = 0;
    if (!copy)
        return false;
    for (size_t i = 0; i < cnt; i++) {
        struct request_pkt *e;

        if (copy[i].rel < expect) {
            /* the copy is a retransmission of the request, or requests the end of a READ again */
            note_rewritten(s, copy[i].rel, copy[i].event);
            continue;
        }
        if (copy[i].rel > expect) {
            *gap = expect;
            break;
        }
        if (!VEC_GROW(s->req, s->req_cnt, s->req_cap)) {
            free(copy);
            return false;
        }
        e = &s->req[s->req_cnt];
        *e = (struct request_pkt){.rel = expect, .event = copy[i].event};
        read_entry(s, e, (uint32_t)s->req_cnt++, &m);
        done += !e->invalid && roce_opcode_ends(event_opcode(s, e->event));
        e->msgs_done = done;
        expect += e->cnt;
        if (e->invalid)
            break;
    }
    free(copy);
    mark_others(s);
    return true;
}

bool request_table_msn_fits(const struct inferred_setup *s, uint32_t event)
{
    return event_packet(s, event)->msn == request_table_msn(s, event_executed_to(s, event));
}
