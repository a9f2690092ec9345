/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "srt.h"

#define ROCE_ATOMIC_LEN 8u

static bool is_atomic(enum roce_kind kind)
{
    return kind == ROCE_KIND_CMP_SWAP || kind == ROCE_KIND_FETCH_ADD ||
           kind == ROCE_KIND_ATOMIC_WRITE;
}

bool roce_srt_starts_op(const struct roce_tap *tap)
{
    const struct roce_flow_result *r = &tap->frame->result;

    return (r->flags & (ROCE_AN_REQUEST | ROCE_AN_MSG_START)) ==
               (ROCE_AN_REQUEST | ROCE_AN_MSG_START) &&
           r->repeats_frame == 0 && !(r->flags & ROCE_AN_DROPPED);
}

uint64_t roce_srt_region_bytes(const struct roce_pkt *pkt)
{
    if (is_atomic(pkt->op->kind))
        return ROCE_ATOMIC_LEN;
    return roce_pkt_has(pkt, ROCE_HDR_RETH) ? pkt->reth.dma_len : 0;
}

void roce_srt_packet(const struct roce_tap *tap, const packet_info *pinfo,
                     void (*done)(void *user, const struct roce_flow_done *done), void *user)
{
    uint32_t cnt;
    const struct roce_flow_done *op = roce_store_done(pinfo->num, &cnt);

    for (uint32_t i = 0; i < cnt && tap->frame; i++)
        done(user, &op[i]);
}
