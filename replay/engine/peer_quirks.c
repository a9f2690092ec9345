/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/peer_quirks.h"

#include <string.h>
#include "wire/codes.h"
#include "wire/crc32.h"

/* How far before a NAK the packet that drew it may be: more than any window of packets in flight.
 */
#define FOLLOW_MAX 1024u

static const struct trace_packet *recorded(const struct deviation_case *c)
{
    return setup_packet(&c->run->setup, c->step);
}

static enum roce_kind kind_of(const struct deviation_case *c)
{
    return roce_opcode(recorded(c)->opcode)->kind;
}

static bool recorded_nak(const struct deviation_case *c, enum roce_nak code)
{
    return kind_of(c) == ROCE_KIND_ACK && recorded(c)->syndrome == (ROCE_SYNDROME_NAK | code);
}

static bool our_nak(const struct deviation_case *c, enum roce_nak code)
{
    return c->ours && roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK &&
           c->ours->syndrome == (ROCE_SYNDROME_NAK | code);
}

/* What kind of request has the PSN of the recorded answer. */
static bool request_is(const struct deviation_case *c, enum roce_kind kind)
{
    const struct setup *s = &c->run->setup;
    const struct entry *e = setup_entry(s, s->step[c->step].rel);

    return e && roce_opcode(setup_packet(s, e->step)->opcode)->kind == kind;
}

static bool nak_op_for_long_send(const struct deviation_case *c)
{
    return recorded_nak(c, ROCE_NAK_REMOTE_OP) && our_nak(c, ROCE_NAK_INVALID_REQ) &&
           request_is(c, ROCE_KIND_SEND);
}

/* Our QP went to error at a SEND packet that is wrong in its length only. */
static bool accepts_send_length(const struct deviation_case *c)
{
    const struct setup *s = &c->run->setup;
    const struct entry *e;

    if (c->run->error_step == STEP_NONE || c->run->error_step > c->step || setup_is_nak(s, c->step))
        return false;
    e = setup_entry(s, s->step[c->run->error_step].rel);
    return e && e->invalid && roce_opcode(setup_packet(s, e->step)->opcode)->kind == ROCE_KIND_SEND;
}

static bool tail_without_first(const struct deviation_case *c)
{
    const struct roce_opcode *op = roce_opcode(recorded(c)->opcode);
    const struct roce_opcode *our = c->ours ? roce_opcode(c->ours->opcode) : NULL;
    const struct setup *s = &c->run->setup;
    uint32_t req = s->step[c->step].request;
    const struct entry *e = setup_entry(s, s->step[c->step].rel);

    return our && op->kind == ROCE_KIND_READ_RESP && our->kind == ROCE_KIND_READ_RESP &&
           op->pos == (roce_opcode_ends(our) ? ROCE_POS_LAST : ROCE_POS_MIDDLE) &&
           roce_opcode_starts(our) && !c->payload && req != STEP_NONE && e &&
           s->step[req].rel > e->rel;
}

static bool atomic_ack_for_read(const struct deviation_case *c)
{
    return kind_of(c) == ROCE_KIND_ATOMIC_ACK && !c->ours && request_is(c, ROCE_KIND_READ);
}

/* rxe remembers the PSN to acknowledge at SENDs and WRITEs only, but counts READs in the MSN. */
static bool stale_duplicate_ack(const struct deviation_case *c)
{
    const struct setup *s = &c->run->setup;
    const struct entry *e = setup_entry(s, c->epsn - 1);
    int64_t rel = s->step[c->step].rel;

    if (kind_of(c) != ROCE_KIND_ACK || roce_syndrome_kind(recorded(c)->syndrome) != ROCE_SYN_ACK ||
        recorded(c)->msn != c->msn || rel >= c->epsn - 1 || !c->repeat || !e)
        return false;
    /* All between the PSN named and the one expected are READs. */
    for (; e->rel > rel; e--) {
        if (roce_opcode(setup_packet(s, e->step)->opcode)->kind != ROCE_KIND_READ)
            return false;
        if (e == s->entry)
            return rel < 0; /* nothing but READs: then it names the PSN -1 */
    }
    return true;
}

/* Whether a request after `rel` came between the latest copy of the request at `rel` and the step:
 * one that was in flight, which draws the NAK. */
static bool followed(const struct setup *s, uint32_t step, int64_t rel)
{
    bool after = false;

    for (uint32_t i = step;
         i-- > 0 && step - i <= FOLLOW_MAX && (s->step[i].response || s->step[i].rel != rel);) {
        /* Two NAKs with one PSN: the first would be the one for the request itself. */
        if (s->step[i].response && s->step[i].rel == rel && setup_is_nak(s, i))
            return false;
        after |= !s->step[i].response && s->step[i].rel > rel;
    }
    return after;
}

/* The PSN of an RNR NAK, named again before its request was sent again. Where the capture lacks the
 * RNR NAK, ours gave it, from what the capture shows of others. */
static bool seq_nak_after_rnr(const struct deviation_case *c)
{
    const struct setup *s = &c->run->setup;
    int64_t rel = s->step[c->step].rel;

    if (!recorded_nak(c, ROCE_NAK_PSN_SEQ))
        return false;
    for (uint32_t i = c->step; i-- > 0 && c->rnr == rel;) {
        if (s->step[i].rel == rel && !s->step[i].response)
            break;
        if (s->step[i].rel == rel && setup_is_nak(s, i))
            return roce_syndrome_kind(setup_packet(s, i)->syndrome) == ROCE_SYN_RNR;
    }
    return c->ours && c->ours->rel == rel && followed(s, c->step, rel) &&
           roce_opcode(c->ours->opcode)->kind == ROCE_KIND_ACK &&
           roce_syndrome_kind(c->ours->syndrome) == ROCE_SYN_RNR;
}

static bool no_read_limit(const struct deviation_case *c)
{
    const struct setup *s = &c->run->setup;
    const struct entry *e = setup_entry(s, s->step[c->step].rel);

    return (kind_of(c) == ROCE_KIND_READ_RESP || kind_of(c) == ROCE_KIND_ATOMIC_ACK) &&
           our_nak(c, ROCE_NAK_INVALID_REQ) && e && !e->invalid;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static bool repeats_without_va(const struct deviation_request *c)
{
    const struct roce_opcode *op = roce_opcode(c->pkt->opcode);
    struct roce_pkt pkt;

    trace_parse(c->pkt, &pkt);
    return c->again && (op->kind == ROCE_KIND_FLUSH || op->kind == ROCE_KIND_ATOMIC_WRITE) &&
           c->diffs->cnt == 1 && fields_find(c->diffs, "reth.va") && pkt.reth.va == 0;
}

/* The ICRC goes on over all from the BTH to the end of the headers once more, as it stands. */
static bool flush_icrc(const struct roce_pkt *pkt)
{
    uint32_t bth_off = pkt->payload_off - pkt->op->len;
    uint32_t icrc;

    return pkt->op->kind == ROCE_KIND_FLUSH && roce_pkt_icrc_check(pkt, &icrc) == ROCE_ICRC_BAD &&
           pkt->icrc == roce_crc32(icrc, pkt->frame + bth_off, pkt->icrc_off - bth_off);
}

/* ---- messages of UC ----------------------------------------------------------------------------
 */

/* The opcode before is forgotten with the receive WQE only. */
static bool loses_after_loss(const struct deviation_delivery *c)
{
    return c->write ? c->later : c->next;
}

/* clang-format off */
static const struct deviation table[] = {
#define DEVIATION(peer, id, rules, p, text)          {peer, #id, rules, text, .fits = p},
#define DEVIATION_REQUEST(peer, id, rules, p, text)  {peer, #id, rules, text, .fits_request = p},
#define DEVIATION_DELIVERY(peer, id, rules, p, text) {peer, #id, rules, text, .fits_delivery = p},
#define DEVIATION_SEAL(peer, id, rules, p, text)     {peer, #id, rules, text, .seals = p},
#include "engine/peer_quirks.def"
};
/* clang-format on */
#define TABLE_CNT (sizeof(table) / sizeof(table[0]))

const struct deviation *deviation_find(const char *peer, const struct deviation_case *c)
{
    for (size_t i = 0; peer && i < TABLE_CNT; i++)
        if (strcmp(table[i].peer, peer) == 0 && table[i].fits && table[i].fits(c))
            return &table[i];
    return NULL;
}

const struct deviation *deviation_find_request(const char *peer, const struct deviation_request *c)
{
    for (size_t i = 0; peer && i < TABLE_CNT; i++)
        if (strcmp(table[i].peer, peer) == 0 && table[i].fits_request && table[i].fits_request(c))
            return &table[i];
    return NULL;
}

const struct deviation *deviation_find_delivery(const char *peer,
                                                const struct deviation_delivery *c)
{
    for (size_t i = 0; peer && i < TABLE_CNT; i++)
        if (strcmp(table[i].peer, peer) == 0 && table[i].fits_delivery && table[i].fits_delivery(c))
            return &table[i];
    return NULL;
}

static const struct deviation *find_seal(const char *peer, const struct roce_pkt *pkt)
{
    for (size_t i = 0; peer && i < TABLE_CNT; i++)
        if (strcmp(table[i].peer, peer) == 0 && table[i].seals && table[i].seals(pkt))
            return &table[i];
    return NULL;
}

int deviations_seal(struct trace *trace, const char *peer)
{
    struct roce_pkt pkt;

    for (uint32_t i = 0; peer && i < trace->cnt; i++) {
        if (trace->pkt[i].icrc != ROCE_ICRC_BAD)
            continue;
        trace_parse(&trace->pkt[i], &pkt);
        trace->pkt[i].seal = find_seal(peer, &pkt);
        if (trace->pkt[i].seal && trace_seal(trace, i) != 0)
            return -1;
    }
    return 0;
}

bool deviation_peer_known(const char *peer)
{
    for (size_t i = 0; i < TABLE_CNT; i++)
        if (strcmp(table[i].peer, peer) == 0)
            return true;
    return false;
}

const char *deviation_peer_name(unsigned idx)
{
    const char *last = NULL;

    for (size_t i = 0; i < TABLE_CNT; i++) {
        if (last && strcmp(last, table[i].peer) == 0)
            continue;
        last = table[i].peer;
        if (idx-- == 0)
            return last;
    }
    return NULL;
}
