/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "engine/dgram/dgram_expected.h"

#include <string.h>

#define DATAGRAM_MAX 4096u /* longest payload of a datagram, bytes */
#define MAD_LEN      256u  /* length of a MAD, bytes */

void expected_delivery_init(struct expected_delivery *d, const struct dgram_stream *stream)
{
    memset(d, 0, sizeof(*d));
    d->stream = stream;
}

static struct rx_result dropped(struct expected_delivery *d, const char *rule)
{
    d->open = false;
    return (struct rx_result){.outcome = RX_DROPPED, .why_dropped = rule};
}

/* Returns whether two P_Keys match: they are equal except for the membership bit, and at least one
 * of them is a full member (R049). */
static bool pkey_matches(uint16_t a, uint16_t b)
{
    return (a & 0x7FFF) == (b & 0x7FFF) && (a & 0x7FFF) != 0 && ((a | b) & 0x8000) != 0;
}

static struct rx_result next_datagram(struct expected_delivery *d, const struct roce_pkt *pkt)
{
    bool gsi = d->stream->qpn == ROCE_QP_GSI;

    if (pkt->deth.qkey != d->stream->qkey)
        return dropped(d, "the datagram has a different Q_Key (UD-RSP-170)");
    if (pkt->payload_len > (gsi ? MAD_LEN : DATAGRAM_MAX))
        return dropped(d, gsi ? "the datagram is longer than a MAD (UD-RSP-171)"
                              : "the datagram is longer than any MTU (UD-REQ-168)");
    return (struct rx_result){
        .outcome = RX_COMPLETED, .off = GRH_AREA_LEN, .byte_len = GRH_AREA_LEN + pkt->payload_len};
}

/* Returns whether the packet's payload length is valid for its position in the message (R165). */
static bool length_fits(const struct expected_delivery *d, const struct roce_pkt *pkt)
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

static struct rx_result next_uc(struct expected_delivery *d, const struct roce_pkt *pkt)
{
    struct rx_result out;

    if (d->begun && pkt->bth.psn != d->epsn)
        d->open = false; /* the PSN has a gap: the receiver drops the rest of the message (R163) */
    d->begun = true;
    d->epsn = roce_psn_add(roce_pkt_psn(pkt), 1).v;
    if (roce_opcode_starts(pkt->op)) { /* the packet begins a message, which the receiver accepts
                                        * even after a gap (R164) */
        d->open = true;
        d->kind = pkt->op->kind;
        d->off = 0;
        d->va = pkt->reth.va;
        d->rkey = pkt->reth.rkey;
        d->total = pkt->reth.dma_len;
    } else if (!d->open || d->kind != pkt->op->kind) {
        return dropped(
            d,
            "a packet of the message was lost, or its first packet was not captured (UC-RSP-163)");
    }
    if (!length_fits(d, pkt))
        return dropped(d, "the payload length is wrong for the opcode (UC-RSP-165)");
    out = (struct rx_result){.write = d->kind == ROCE_KIND_WRITE,
                             .rkey = d->rkey,
                             .va = d->va + d->off,
                             .off = d->off,
                             .outcome = RX_STORED};
    d->off += pkt->payload_len;
    if (roce_opcode_ends(pkt->op)) {
        d->open = false;
        out.outcome = roce_opcode_uses_rq(pkt->op) ? RX_COMPLETED : RX_WRITE_DONE;
        out.byte_len = (uint32_t)d->off;
    }
    return out;
}

struct rx_result expected_delivery_next(struct expected_delivery *d, const struct roce_pkt *pkt)
{
    if (!pkey_matches(pkt->bth.pkey, d->stream->pkey))
        return (struct rx_result){.outcome = RX_DROPPED,
                                  .why_dropped = "the packet has a different P_Key (ALL-RSP-049)"};
    if (pkt->op->kind != ROCE_KIND_SEND &&
        (d->stream->svc != ROCE_SVC_UC || pkt->op->kind != ROCE_KIND_WRITE))
        return (struct rx_result){.outcome = RX_DROPPED,
                                  .why_dropped =
                                      "the service does not support this operation (UC-RSP-162)"};
    return d->stream->svc == ROCE_SVC_UD ? next_datagram(d, pkt) : next_uc(d, pkt);
}
