/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "transport/message.h"

#include <stdatomic.h>
#include <string.h>

void rnic_message_begin(struct rnic_message *msg, const struct roce_pkt *pkt)
{
    if (msg->open)
        return;
    *msg = (struct rnic_message){.open = true, .kind = pkt->op->kind, .wqe = msg->wqe};
    if (roce_opcode_has(pkt->op, ROCE_HDR_XRCETH))
        msg->srqn = pkt->xrceth.srqn;
    if (msg->kind == ROCE_KIND_WRITE) {
        msg->va = pkt->reth.va;
        msg->rkey = pkt->reth.rkey;
        msg->dma_len = pkt->reth.dma_len;
    }
}

void rnic_message_write(uint8_t *to, const uint8_t *from, size_t len)
{
    uintptr_t end = (uintptr_t)to + len;

    if (len == 0)
        return;
    if (len >= 8 && end % 8 == 0) {
        memcpy(to, from, len - 8);
        atomic_thread_fence(memory_order_release);
        memcpy(to + len - 8, from + len - 8, 8);
    } else if (len >= 4 && end % 4 == 0) {
        memcpy(to, from, len - 4);
        atomic_thread_fence(memory_order_release);
        memcpy(to + len - 4, from + len - 4, 4);
    } else {
        memcpy(to, from, len - 1);
        atomic_thread_fence(memory_order_release);
        to[len - 1] = from[len - 1];
    }
}

/* Returns whether a First, Middle, Last or Only packet of a message may have this payload length
 * (R079; C9-92). */
static bool payload_fits(const struct roce_pkt *pkt, uint32_t path_mtu)
{
    switch (pkt->op->payload) {
    case ROCE_PAYLOAD_MTU: return pkt->payload_len == path_mtu;
    case ROCE_PAYLOAD_TAIL: return pkt->payload_len >= 1 && pkt->payload_len <= path_mtu;
    case ROCE_PAYLOAD_ANY: return pkt->payload_len <= path_mtu;
    case ROCE_PAYLOAD_NONE:
    case ROCE_PAYLOAD_8:
    case ROCE_PAYLOAD_FREE:
        return true; /* nothing to check: either the parser has checked the length for this opcode,
                      * or the responder refuses the opcode */
    }
    return false;
}

enum rnic_fit rnic_message_fits(const struct rnic_message *msg, const struct roce_pkt *pkt,
                                uint32_t path_mtu)
{
    uint32_t done = msg->open ? msg->len : 0;
    uint32_t dma_len;

    if (!payload_fits(pkt, path_mtu))
        return RNIC_FIT_INVALID;
    if (pkt->op->kind == ROCE_KIND_SEND) {
        if (pkt->payload_len > RNIC_MESSAGE_MAX - done)
            return RNIC_FIT_INVALID;
        return pkt->payload_len > msg->wqe->len - done ? RNIC_FIT_TOO_LONG : RNIC_FIT_OK;
    }
    dma_len = msg->open ? msg->dma_len : pkt->reth.dma_len;
    if (dma_len > RNIC_MESSAGE_MAX || pkt->payload_len > dma_len - done)
        return RNIC_FIT_INVALID; /* the message has too many bytes (R080) or exceeds the maximum
                                  * length (R081) */
    if (roce_opcode_ends(pkt->op) && pkt->payload_len != dma_len - done)
        return RNIC_FIT_INVALID; /* the message has too few bytes (R080) */
    return RNIC_FIT_OK;
}

struct rnic_range rnic_message_range(const struct rnic_message *msg, const struct roce_pkt *pkt)
{
    if (!msg->open)
        return (struct rnic_range){pkt->reth.va, pkt->reth.dma_len, pkt->reth.rkey};
    return (struct rnic_range){msg->va + msg->len, pkt->payload_len, msg->rkey};
}

struct rnic_wc rnic_message_wc(const struct rnic_message *msg, const struct roce_pkt *pkt)
{
    struct rnic_wc wc = {
        .status = RNIC_WC_SUCCESS,
        .opcode = pkt->op->kind == ROCE_KIND_SEND ? RNIC_WC_RECV : RNIC_WC_RECV_RDMA_WITH_IMM,
        .byte_len = msg->len,
        .solicited = pkt->bth.se != 0,
    };

    if (roce_opcode_has(pkt->op, ROCE_HDR_IMMDT)) {
        wc.flags |= RNIC_WC_WITH_IMM;
        wc.imm = pkt->immdt.imm;
    }
    if (roce_opcode_has(pkt->op, ROCE_HDR_IETH)) {
        wc.flags |= RNIC_WC_WITH_INV;
        wc.invalidated_key = pkt->ieth.rkey;
    }
    return wc;
}
