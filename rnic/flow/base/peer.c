/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/peer.h"

#include <string.h>
#include "flow/base/counters.h"
#include "flow/base/state.h"

#define PKEY_DEFAULT 0xFFFF

uint16_t roce_linux_sport(uint32_t qpn, uint32_t other)
{
    uint64_t v = (uint64_t)qpn * other;
    uint32_t label;

    v ^= v >> 20;
    v ^= v >> 40;
    label = v & 0xFFFFF;
    return (uint16_t)(0xC000 | ((label & 0x3FFF) ^ label >> 14));
}

uint16_t roce_rxe_ud_sport(uint32_t qpn)
{
    return (uint16_t)(0xC000 + (qpn * UINT32_C(0x61C88647) >> 18)); /* 0xC000 plus the upper 14 bits
                                                                     * of a multiplicative hash of
                                                                     * the QPN */
}

bool roce_peer_host_is_rxe(struct roce_flow *flow, const uint8_t addr[16])
{
    roce_gate(flow);
    for (uint32_t i = 0; i < flow->common->rxe_host_cnt; i++)
        if (memcmp(flow->common->rxe_host[i], addr, 16) == 0)
            return true;
    return false;
}

static void remember_host(struct roce_flow *flow, const uint8_t addr[16])
{
    if (flow->common->rxe_host_cnt < ROCE_PEER_HOSTS && !roce_peer_host_is_rxe(flow, addr))
        memcpy(flow->common->rxe_host[flow->common->rxe_host_cnt++], addr, 16);
}

/* Returns whether the packets of an endpoint prove that it is Linux Soft-RoCE (rxe): they have
 * MigReq 0 and the UDP source port that rxe would use. */
static bool side_proves(const struct roce_endpoint *side)
{
    const struct roce_endpoint *peer = roce_peer(side);

    if (!side->migreq_0 || side->rsp.credit_seen || side->pkey != PKEY_DEFAULT)
        return false;
    if (side->key.src_qpn != ROCE_QPN_UNKNOWN)
        return side->sport == roce_rxe_ud_sport(side->key.src_qpn);
    return side->conn->paired && side->qpn != ROCE_QPN_UNKNOWN && peer->qpn != ROCE_QPN_UNKNOWN &&
           side->sport == roce_linux_sport(side->qpn, peer->qpn);
}

void roce_peer_note_migreq(struct roce_ctx *ctx)
{
    struct roce_endpoint *side = ctx->sender;
    uint32_t qpn = ctx->digest->key.src_qpn;

    if (side->migreq_0)
        return;
    side->migreq_0 = true;
    roce_cold(ctx->flow, side)->migreq_frame = ctx->frame;
    roce_cold(ctx->flow, side)->migreq_time = ctx->time;
    if (qpn != ROCE_QPN_UNKNOWN && roce_pkt_has(ctx->pkt, ROCE_HDR_UDP) &&
        ctx->pkt->udp.sport == roce_rxe_ud_sport(qpn))
        remember_host(ctx->flow, ctx->src);
}

bool roce_peer_is_rxe(struct roce_flow *flow, const struct roce_endpoint *side)
{
    if (!side->migreq_0)
        return false;
    if (roce_peer_host_is_rxe(flow, side->key.src))
        return true;
    if (!side_proves(side))
        return false;
    remember_host(flow, side->key.src);
    return true;
}

void roce_peer_learn_all(struct roce_flow *flow)
{
    if (flow->opts.profile != ROCE_PROFILE_AUTO)
        return;
    for (struct roce_conn *c = flow->first_all; c; c = c->next_all)
        for (int i = 0; i < 2; i++)
            roce_peer_is_rxe(flow, &c->side[i]);
}
