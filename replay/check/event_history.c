/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "check/event_history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "capture/packet_text.h"
#include "wire/codes.h"

/* Number of slots, a power of two. With all slots in use, the table needs 47 MB. */
#define PLACES 65536u

/* A packet begins a new event if these analysis flags differ from the flags of the previous packet.
 * Other flags are not compared. */
#define TELLING                                                                                    \
    (ROCE_AN_RETRANSMISSION | ROCE_AN_DUPLICATE_REQUEST | ROCE_AN_OUT_OF_ORDER | ROCE_AN_PSN_GAP | \
     ROCE_AN_DUPLICATE_ACK | ROCE_AN_DUPLICATE_RESPONSE | ROCE_AN_RNR_NAK | ROCE_AN_NAK |          \
     ROCE_AN_COPY | ROCE_AN_DROPPED | ROCE_AN_CNP | ROCE_AN_QP_REUSED)

struct history_slot {
    uint32_t stream_1; /* number of the connection plus 1; 0 for an unused slot */
    uint32_t cnt;      /* number of all events so far; the newest one has the index (cnt - 1) %
                        * HISTORY_EVENTS */
    struct history_event event[HISTORY_EVENTS];
};

struct event_history {
    struct history_slot slot[PLACES];
};

struct event_history *event_history_new(void)
{
    /* Untouched slots cost no memory: the kernel allocates a page when it is first used. */
    return calloc(1, sizeof(struct event_history));
}

void event_history_del(struct event_history *history)
{
    free(history);
}

bool event_history_is_full(uint32_t stream)
{
    return stream != ROCE_NO_CONN && stream >= PLACES / 2;
}

static bool event_continues(const struct history_event *last, const struct history_event *now)
{
    const struct roce_opcode *was = roce_opcode(last->opcode), *is = roce_opcode(now->opcode);

    return last->side == now->side && last->flags == now->flags && last->cause == now->cause &&
           was->kind == is->kind && last->syndrome == now->syndrome &&
           last->bad_icrc == now->bad_icrc;
}

void event_history_add(struct event_history *history, const struct roce_flow_in *in,
                       const struct roce_flow_result *result)
{
    const struct roce_pkt *pkt = in->pkt;
    struct history_event e = {
        .first_frame = in->frame,
        .last_frame = in->frame,
        .cnt = 1,
        .first_psn = pkt->bth.psn,
        .last_psn = pkt->bth.psn,
        .flags = result->flags & TELLING,
        .payload = pkt->payload_len,
        .time = in->time,
        .last_time = in->time,
        .wait_min = result->flags & ROCE_AN_RNR_NAK ? result->rnr_wait : result->rto,
        .opcode = pkt->bth.opcode,
        .side = result->side,
        .cause = (uint8_t)result->cause,
        .bad_icrc = in->icrc == ROCE_ICRC_BAD && result->flags & ROCE_AN_DROPPED,
    };
    struct history_event *last;
    struct history_slot *slot;

    if (result->conn_index == ROCE_NO_CONN)
        return;
    e.wait_max = e.wait_min;
    if (roce_pkt_has(pkt, ROCE_HDR_AETH)) {
        e.msn = pkt->aeth.msn;
        /* Store the syndromes of NAKs only. The syndrome of an ACK contains the credit count, which
         * changes often and must not begin a new event. */
        if (roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK)
            e.syndrome = pkt->aeth.syndrome;
    }
    if (roce_pkt_has(pkt, ROCE_HDR_RETH)) {
        e.has_key = true;
        e.va = pkt->reth.va;
        e.rkey = pkt->reth.rkey;
        e.dma_len = pkt->reth.dma_len;
    } else if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH)) {
        e.has_key = true;
        e.va = pkt->atomiceth.va;
        e.rkey = pkt->atomiceth.rkey;
        e.dma_len = 8;
    }
    slot = &history->slot[result->conn_index & (PLACES - 1)];
    if (slot->stream_1 != result->conn_index + 1) {
        slot->stream_1 = result->conn_index + 1;
        slot->cnt = 0;
    }
    last = slot->cnt ? &slot->event[(slot->cnt - 1) % HISTORY_EVENTS] : NULL;
    if (last && event_continues(last, &e)) {
        last->last_frame = e.last_frame;
        last->last_psn = e.last_psn;
        last->last_time = e.time;
        last->payload += e.payload;
        if (e.wait_min < last->wait_min)
            last->wait_min = e.wait_min;
        if (e.wait_max > last->wait_max)
            last->wait_max = e.wait_max;
        last->msn = e.msn;
        last->cnt++;
        return;
    }
    slot->event[slot->cnt++ % HISTORY_EVENTS] = e;
}

unsigned event_history_of(const struct event_history *history, uint32_t stream,
                          struct history_event out[HISTORY_EVENTS])
{
    const struct history_slot *slot = &history->slot[stream & (PLACES - 1)];
    uint32_t cnt = slot->cnt < HISTORY_EVENTS ? slot->cnt : HISTORY_EVENTS;

    if (slot->stream_1 != stream + 1)
        return 0;
    for (uint32_t i = 0; i < cnt; i++)
        out[i] = slot->event[(slot->cnt - cnt + i) % HISTORY_EVENTS];
    return cnt;
}

const struct history_event *event_history_request(const struct history_event *events, unsigned cnt,
                                                  unsigned side, uint32_t psn)
{
    for (unsigned i = cnt; i > 0; i--) {
        const struct history_event *e = &events[i - 1];

        if (e->side == side && roce_opcode_is_request(roce_opcode(e->opcode)) &&
            ((psn - e->first_psn) & ROCE_PSN_MASK) <=
                ((e->last_psn - e->first_psn) & ROCE_PSN_MASK))
            return e;
    }
    return NULL;
}

/* ---- text of an event --------------------------------------------------------------------------
 */

static void add_psns(struct strbuf *t, const struct history_event *e)
{
    strbuf_addf(t, " PSN %u", e->first_psn);
    if (e->last_psn != e->first_psn)
        strbuf_addf(t, "..%u", e->last_psn);
}

static void add_wait(struct strbuf *t, const struct history_event *e)
{
    strbuf_addf(t, ", after %.3f", (double)e->wait_min / 1e6);
    if (e->wait_max != e->wait_min)
        strbuf_addf(t, " to %.3f", (double)e->wait_max / 1e6);
    strbuf_addf(t, " ms");
}

static void add_flags(struct strbuf *t, const struct history_event *e)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } words[] = {
        {ROCE_AN_QP_REUSED, "QP reuse"},
        {ROCE_AN_DUPLICATE_REQUEST, "already acknowledged"},
        {ROCE_AN_COPY, "copy of the previous packet"},
        {ROCE_AN_OUT_OF_ORDER, "out of order"},
        {ROCE_AN_PSN_GAP, "packets before this one are missing"},
        {ROCE_AN_DUPLICATE_ACK, "duplicate"},
        {ROCE_AN_DUPLICATE_RESPONSE, "duplicate response"},
    };

    if (e->flags & ROCE_AN_RETRANSMISSION) {
        strbuf_addf(t, "; retransmission (%s", roce_cause_name((enum roce_cause)e->cause));
        if (e->wait_max != ROCE_NEVER_NS)
            add_wait(t, e);
        strbuf_addf(t, ")");
    }
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (e->flags & words[i].flag)
            strbuf_addf(t, "; %s", words[i].text);
    if (e->bad_icrc)
        strbuf_addf(t, "; wrong ICRC: a receiver drops this packet");
    else if (e->flags & ROCE_AN_DROPPED)
        strbuf_addf(t, "; malformed: a receiver drops this packet");
}

void history_event_text(struct strbuf *t, const struct history_event *e)
{
    const struct roce_opcode *op = roce_opcode(e->opcode);
    char buf[96];

    if (e->cnt > 1)
        strbuf_addf(t, "%u × %s", e->cnt, roce_kind_name(op->kind));
    else
        strbuf_addf(t, "%s", packet_text_opcode(e->opcode));
    add_psns(t, e);
    if (e->has_key)
        strbuf_addf(t, "%s va 0x%" PRIx64 " rkey 0x%08x len %u", e->cnt > 1 ? ", the first" : "",
                    e->va, e->rkey, e->dma_len);
    else if (e->payload)
        strbuf_addf(t, ", %u bytes", e->payload);
    if (e->syndrome)
        strbuf_addf(t, ": %s", roce_syndrome_text(e->syndrome, buf, sizeof(buf)));
    if (roce_opcode_has(op, ROCE_HDR_AETH))
        strbuf_addf(t, ", MSN %u", e->msn);
    add_flags(t, e);
    if (e->cnt > 1)
        strbuf_addf(t, "; until frame %u, %.3f ms later", e->last_frame,
                    e->last_time > e->time ? (double)(e->last_time - e->time) / 1e6 : 0.0);
}
