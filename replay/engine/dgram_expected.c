/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram_expected.h"

#include <string.h>

#define DATAGRAM_MAX 4096u
#define MAD_LEN      256u

void delivery_init(struct delivery *d, const struct stream *stream)
{
    memset(d, 0, sizeof(*d));
    d->stream = stream;
}

static struct delivered dropped(struct delivery *d, const char *rule)
{
    d->open = false;
    return (struct delivered){.fate = DELIVERY_DROPPED, .rule = rule};
}

/* R049: the same key, and not both limited members. */
static bool pkey_matches(uint16_t a, uint16_t b)
{
    return (a & 0x7FFF) == (b & 0x7FFF) && (a & 0x7FFF) != 0 && ((a | b) & 0x8000) != 0;
}

static struct delivered take_datagram(struct delivery *d, const struct roce_pkt *pkt)
{
    bool gsi = d->stream->qpn == ROCE_QP_GSI;

    if (pkt->deth.qkey != d->stream->qkey)
        return dropped(d, "another Q_Key (R170)");
    if (pkt->payload_len > (gsi ? MAD_LEN : DATAGRAM_MAX))
        return dropped(d, gsi ? "longer than a MAD (R171)" : "longer than any MTU (R168)");
    return (struct delivered){.fate = DELIVERY_COMPLETED,
                              .off = DELIVERY_AREA,
                              .byte_len = DELIVERY_AREA + pkt->payload_len};
}

/* Whether the packet's length fits its place (R165). */
static bool length_fits(const struct delivery *d, const struct roce_pkt *pkt)
{
    uint32_t len = pkt->payload_len;
    uint64_t end = d->off + len;

    if (roce_opcode_ends(pkt->op)
            ? len > d->stream->mtu || (pkt->op->pos == ROCE_POS_LAST && len == 0)
            : len != d->stream->mtu)
        return false;
    if (d->kind != ROCE_KIND_WRITE)
        return true;
    if (d->total > RNIC_MESSAGE_MAX)
        return false;
    return roce_opcode_ends(pkt->op) ? end == d->total : end < d->total;
}

static struct delivered take_uc(struct delivery *d, const struct roce_pkt *pkt)
{
    struct delivered out;

    if (d->begun && pkt->bth.psn != d->epsn)
        d->open = false; /* R163 */
    d->begun = true;
    d->epsn = roce_psn_add(roce_pkt_psn(pkt), 1).v;
    if (roce_opcode_starts(pkt->op)) { /* R164 */
        d->open = true;
        d->kind = pkt->op->kind;
        d->off = 0;
        d->va = pkt->reth.va;
        d->rkey = pkt->reth.rkey;
        d->total = pkt->reth.dma_len;
    } else if (!d->open || d->kind != pkt->op->kind) {
        return dropped(d, "the message has lost a packet, or its beginning is not in the capture "
                          "(R163)");
    }
    if (!length_fits(d, pkt))
        return dropped(d, "its length does not fit its place (R165)");
    out = (struct delivered){.write = d->kind == ROCE_KIND_WRITE,
                             .rkey = d->rkey,
                             .va = d->va + d->off,
                             .off = d->off,
                             .fate = DELIVERY_TAKEN};
    d->off += pkt->payload_len;
    if (roce_opcode_ends(pkt->op)) {
        d->open = false;
        out.fate = roce_opcode_uses_rq(pkt->op) ? DELIVERY_COMPLETED : DELIVERY_WHOLE;
        out.byte_len = (uint32_t)d->off;
    }
    return out;
}

struct delivered delivery_take(struct delivery *d, const struct roce_pkt *pkt)
{
    if (!pkey_matches(pkt->bth.pkey, d->stream->pkey))
        return (struct delivered){.fate = DELIVERY_DROPPED, .rule = "another P_Key (R049)"};
    if (pkt->op->kind != ROCE_KIND_SEND &&
        (d->stream->svc != ROCE_SVC_UC || pkt->op->kind != ROCE_KIND_WRITE))
        return (struct delivered){.fate = DELIVERY_DROPPED,
                                  .rule = "an operation that the service does not have (R162)"};
    return d->stream->svc == ROCE_SVC_UD ? take_datagram(d, pkt) : take_uc(d, pkt);
}
