/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Checks of datagrams: size, multicast addresses, and the management QP. */
#include "flow/checks/check_ud.h"

#include <string.h>
#include "flow/base/counters.h"
#include "flow/base/report.h"
#include "wire/gid.h"

#define UD_MAX 4096 /* largest path MTU in bytes (R040) */

/* Checks the destination MAC of a multicast packet (R176). For an IPv4 group it is 01:00:5e and 23
 * bits of the address; for an IPv6 group 33:33 and 32 bits. GIDs of RoCEv1 may also contain IPv4
 * groups (ib_resolve_eth_dmac in Linux core/verbs.c). */
static void check_mac(struct roce_ctx *ctx)
{
    const uint8_t *ip = ctx->dst;
    uint8_t want[6] = {0x33, 0x33, ip[12], ip[13], ip[14], ip[15]};
    uint64_t w = 0, a = 0;

    if (!roce_pkt_has(ctx->pkt, ROCE_HDR_ETH) || !roce_gid_is_multicast(ip))
        return;
    if (roce_gid_is_ip4(ip)) {
        const uint8_t v4[6] = {0x01, 0x00, 0x5E, ip[13] & 0x7F, ip[14], ip[15]};

        memcpy(want, v4, 6);
    }
    for (int i = 0; i < 6; i++) {
        w = w << 8 | want[i];
        a = a << 8 | ctx->pkt->eth.dst[i];
    }
    if (w != a)
        REPORT(ctx, MULTICAST_MAC, "eth.dst", w, a, .value = ROCE_VALUE_HEX);
}

void roce_check_ud(struct roce_ctx *ctx)
{
    const struct roce_pkt *pkt = ctx->pkt;
    struct roce_counts *sum = &ctx->sender->counts;
    struct roce_oper_count *sends = roce_oper_cnt(ctx->flow, ctx->sender, ROCE_OPER_SEND);
    const struct roce_sent_packet datagram = {.time = ctx->time,
                                              .msg_time = ctx->time,
                                              .cum = (uint32_t)sends->messages + 1,
                                              .op = pkt->op->value,
                                              .flags = ROCE_SENT_ENDS};

    sum->payload_sent += pkt->payload_len;
    sends->messages++;
    sends->completed++;
    sends->bytes += pkt->payload_len;
    roce_report_done(ctx, ctx->sender, &datagram, pkt->payload_len, ROCE_NEVER_NS);
    ctx->result->flags |= ROCE_AN_REQUEST | ROCE_AN_MSG_START | ROCE_AN_MSG_END;
    ctx->result->msg_bytes = ctx->result->msg_total = pkt->payload_len;
    ctx->result->msg_number = (uint32_t)(sends->messages - 1);
    ctx->result->msg_first_frame = ctx->frame;
    ctx->result->next_psn = (pkt->bth.psn + 1) & ROCE_PSN_MASK;
    if (!ctx->sender->req.started) {
        ctx->sender->req.started = true;
        ctx->sender->req.base = ctx->sender->req.rel_base = sum->first_psn = pkt->bth.psn;
    }
    ctx->result->rel_psn = (pkt->bth.psn - ctx->sender->req.rel_base) & ROCE_PSN_MASK;
    if (pkt->payload_len > UD_MAX)
        REPORT(ctx, UD_SIZE, "payload length", UD_MAX, pkt->payload_len, .rel = ROCE_REL_AT_MOST);
    if (pkt->bth.dest_qp == ROCE_QP_MULTICAST)
        check_mac(ctx);
    if (pkt->bth.dest_qp != ROCE_QP_GSI)
        return;
    if (roce_pkt_has(pkt, ROCE_HDR_DETH) && pkt->deth.qkey != ROCE_QKEY_GSI)
        REPORT(ctx, GSI, "deth.qkey", ROCE_QKEY_GSI, pkt->deth.qkey, .value = ROCE_VALUE_HEX);
    if (pkt->payload_len != ROCE_MAD_SIZE)
        REPORT(ctx, GSI, "payload length", ROCE_MAD_SIZE, pkt->payload_len);
}
