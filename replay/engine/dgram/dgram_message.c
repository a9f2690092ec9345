/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_message.h"

#include <stdlib.h>
#include <string.h>

/* Returns whether packet `i` equals the packet before it because the network duplicated it. */
bool dgram_message_is_wire_duplicate(const struct dgram_message_reader *src, size_t i)
{
    return i > 0 && trace_is_copy(dgram_message_packet(src, i - 1), dgram_message_packet(src, i));
}

/* Counts the packets of a message that were not captured. If the stream would then lack more than
 * stream.absent_max packets, counts nothing and returns false. */
static bool count_absent(struct dgram_message_reader *src, const struct dgram_message *m)
{
    uint64_t absent = src->absent + m->psn_cnt;

    for (size_t i = m->from; i < m->to; i++)
        absent -=
            !dgram_message_packet(src, i)->dropped && !dgram_message_is_wire_duplicate(src, i);
    if (absent > src->stream->absent_max)
        return false;
    src->absent = absent;
    return true;
}

/* Shortens a WRITE if its last packets were not captured. The WRITE then has the captured packets
 * and one further packet of 1 byte. */
static void cut_end(const struct dgram_message_reader *src, struct dgram_message *m, size_t last)
{
    const struct trace_packet *p = dgram_message_packet(src, last);
    const struct roce_opcode *op = roce_opcode(p->opcode);
    uint32_t seen = (p->psn - m->psn + 1) & ROCE_PSN_MASK;
    uint64_t len = (uint64_t)seen * src->stream->mtu + 1;

    if (op->kind != ROCE_KIND_WRITE || roce_opcode_ends(op))
        return;
    m->cut = (uint32_t)(m->len - len);
    m->len = len;
    m->psn_cnt = seen + 1;
}

/* Sets the length and the number of packets of a message. `last` is its last captured packet. The
 * capture may lack the end of a SEND. The function then assumes that the SEND has one packet for
 * each PSN before `next`, the PSN of the next captured packet, and that its last packet has 1
 * byte. */
static void measure(const struct dgram_message_reader *src, struct dgram_message *m,
                    const struct roce_pkt *first, size_t last, uint32_t next)
{
    const struct trace_packet *p = dgram_message_packet(src, last);
    uint32_t mtu = src->stream->mtu;
    uint32_t seen = (p->psn - m->psn + 1) & ROCE_PSN_MASK;
    bool ended = roce_opcode_ends(roce_opcode(p->opcode));

    if (first->op->kind == ROCE_KIND_WRITE) {
        m->len = first->reth.dma_len;
        m->psn_cnt = roce_psn_cnt(first->reth.dma_len, mtu);
        if (m->len > RNIC_MESSAGE_MAX || seen > m->psn_cnt || ended != (seen == m->psn_cnt) ||
            (ended && (uint64_t)(seen - 1) * mtu + p->payload_len != m->len))
            m->unpostable =
                "the packets of the message have lengths that a conformant sender never uses";
        return;
    }
    if (ended) {
        m->psn_cnt = seen;
        m->len = (uint64_t)(seen - 1) * mtu + p->payload_len;
        return;
    }
    m->psn_cnt = (next - m->psn) & ROCE_PSN_MASK;
    m->len = (uint64_t)(m->psn_cnt - 1) * mtu + 1;
    if (m->psn_cnt <= seen)
        m->unpostable = "another message begins inside the message";
    if (m->len > src->trace->bytes + mtu)
        m->unpostable = "too many packets of the message are missing";
}

static bool is_message(const struct dgram_message_reader *src, const struct roce_opcode *op)
{
    return op->kind == ROCE_KIND_SEND ||
           (src->stream->svc == ROCE_SVC_UC && op->kind == ROCE_KIND_WRITE);
}

/* Returns the message that begins with packet `from`. The message ends with its Last or Only
 * packet, or before the packet that begins the next message. */
static struct dgram_message read_from(struct dgram_message_reader *src, size_t from)
{
    struct dgram_message m = {.from = from, .psn = dgram_message_packet(src, from)->psn};
    size_t last = from, i;
    uint32_t next;
    struct roce_pkt first;

    trace_parse(dgram_message_packet(src, from), &first);
    for (i = from + 1; i < src->stream->cnt; i++) {
        const struct trace_packet *p = dgram_message_packet(src, i);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (roce_opcode_ends(roce_opcode(dgram_message_packet(src, last)->opcode)))
            break;
        if (p->dropped || dgram_message_is_wire_duplicate(src, i))
            continue;
        if (!is_message(src, op) || roce_opcode_starts(op) || op->kind != first.op->kind ||
            roce_psn_diff(roce_psn_of(p->psn), roce_psn_of(dgram_message_packet(src, last)->psn)) <=
                0)
            break;
        last = i;
    }
    m.to = last + 1;
    next = (dgram_message_packet(src, last)->psn + 2) & ROCE_PSN_MASK;
    for (; i < src->stream->cnt; i++)
        if (!dgram_message_packet(src, i)->dropped && !dgram_message_is_wire_duplicate(src, i)) {
            next = dgram_message_packet(src, i)->psn;
            break;
        }
    for (i = from; i < m.to; i++) {
        const struct trace_packet *p = dgram_message_packet(src, i);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (!p->dropped &&
            (roce_opcode_ends(op) ? p->payload_len > src->stream->mtu ||
                                        (op->pos == ROCE_POS_LAST && p->payload_len == 0)
                                  : p->payload_len != src->stream->mtu))
            m.unpostable =
                "the packets of the message have lengths that a conformant sender never uses";
    }
    if (!m.unpostable)
        measure(src, &m, &first, last, next);
    if (!m.unpostable && !count_absent(src, &m)) {
        cut_end(src, &m, last);
        if (!count_absent(src, &m))
            m.unpostable = "too many packets of the message are missing";
    }
    return m;
}

bool dgram_message_next(struct dgram_message_reader *src, struct dgram_message *m)
{
    struct dgram_stream *s = src->stream;

    while (src->at < s->cnt) {
        const struct trace_packet *p = dgram_message_packet(src, src->at);
        const struct roce_opcode *op = roce_opcode(p->opcode);

        if (p->dropped || dgram_message_is_wire_duplicate(src, src->at)) {
            s->damaged += p->dropped;
            s->wire_duplicates += !p->dropped;
            src->at++;
            continue;
        }
        if (!is_message(src, op) || !roce_opcode_starts(op)) {
            s->not_posted++;
            src->at++;
            continue;
        }
        *m = read_from(src, src->at);
        for (size_t k = src->at; k < m->to; k++) {
            s->damaged += dgram_message_packet(src, k)->dropped;
            s->wire_duplicates +=
                !dgram_message_packet(src, k)->dropped && dgram_message_is_wire_duplicate(src, k);
        }
        src->at = m->to;
        if (!m->unpostable)
            return true;
        s->not_posted += (uint32_t)(m->to - m->from);
    }
    return false;
}

uint8_t *dgram_message_bytes(const struct dgram_message_reader *src, const struct dgram_message *m)
{
    uint8_t *data = calloc(1, m->len + 1);

    for (size_t i = m->from; data && i < m->to; i++) {
        const struct trace_packet *p = dgram_message_packet(src, i);
        uint64_t off = (uint64_t)((p->psn - m->psn) & ROCE_PSN_MASK) * src->stream->mtu;

        if (!p->dropped && off + p->payload_len <= m->len)
            memcpy(data + off, trace_payload(p), p->payload_len);
    }
    return data;
}
