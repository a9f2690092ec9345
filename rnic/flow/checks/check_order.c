/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Checks of a request packet as part of its message: order of opcodes, and payload lengths against
 * the DMA length in the RETH. Marks requests that a responder must refuse. Two packets are compared
 * only if their PSNs are adjacent, so that packets missing in the capture cause no finding.
 */
#include "flow/checks/check_order.h"

#include "flow/base/report.h"

#define DMA_MAX UINT32_C(0x80000000) /* maximum DMA length, bytes (R081) */

static void must_refuse(struct roce_sent_packet *e, enum roce_rule rule)
{
    if (!e->bad)
        e->bad = (uint16_t)rule;
}

/* Returns the opcode that the packet after `prev` has if it continues the message of `prev`. A
 * finding shows this opcode as the expected value. */
static uint8_t continuing_opcode(const struct roce_opcode *prev)
{
    uint8_t base = (uint8_t)(prev->svc << 5);

    return (uint8_t)(base |
                     (prev->kind == ROCE_KIND_SEND ? ROCE_OP_RC_SEND_LAST : ROCE_OP_RC_WRITE_LAST));
}

void roce_check_opcode_order(struct roce_ctx *ctx, struct roce_sent_packet *prev,
                             struct roce_sent_packet *e)
{
    const struct roce_opcode *was = roce_opcode(prev->op), *op = roce_opcode(e->op);
    bool open = !roce_opcode_ends(was);

    if (prev->bad && !(prev->flags & ROCE_SENT_ENDS))
        return; /* an earlier packet of this message was reported; that error makes the later
                 * packets look wrong, too */
    if (open && roce_opcode_starts(op)) {
        REPORT(ctx, INTERLEAVED, "bth.opcode", continuing_opcode(was), op->value, prev->last_frame,
               ROCE_VALUE_OPCODE);
        must_refuse(e, ROCE_RULE_ACK_OPEN_MESSAGE);
    } else if (open && was->kind != op->kind) {
        REPORT(ctx, OPCODE_ORDER, "bth.opcode", continuing_opcode(was), op->value, prev->last_frame,
               ROCE_VALUE_OPCODE);
        must_refuse(e, ROCE_RULE_ACK_WRONG_KIND);
    } else if (!open && !roce_opcode_starts(op)) {
        REPORT(ctx, OPCODE_ORDER, "bth.opcode",
               (uint64_t)(op->value & 0xE0) |
                   (op->kind == ROCE_KIND_SEND ? ROCE_OP_RC_SEND_FIRST : ROCE_OP_RC_WRITE_FIRST),
               op->value, prev->last_frame, ROCE_VALUE_OPCODE);
        must_refuse(e, ROCE_RULE_ACK_NO_FIRST);
    }
}

static void check_lengths(struct roce_ctx *ctx, struct roce_sent_packet *e,
                          const struct roce_opcode *op)
{
    uint64_t sum = (uint64_t)e->off + e->len;

    if (op->kind != ROCE_KIND_WRITE || !(e->flags & ROCE_SENT_OFF_KNOWN) ||
        e->dma_len == ROCE_LEN_UNKNOWN)
        return;
    if (sum > e->dma_len || (roce_opcode_ends(op) && sum != e->dma_len)) {
        if (sum - e->len <= e->dma_len) /* report each message only once */
            REPORT(ctx, DMA_LEN, "reth.dma_len", e->dma_len, sum,
                   e->msg_frame != ctx->frame ? e->msg_frame : 0,
                   .condition = ctx->sender->req.shifted ? "empty" : NULL);
        must_refuse(e, ROCE_RULE_ACK_DMA_LEN);
    }
}

static void check_size(struct roce_ctx *ctx, struct roce_sent_packet *e,
                       const struct roce_opcode *op)
{
    uint32_t mtu = ctx->conn->facts.mtu;
    bool sure = ctx->conn->facts.mtu_sure;

    switch (op->payload) {
    case ROCE_PAYLOAD_MTU:
        if (sure && e->len != mtu)
            must_refuse(e, ROCE_RULE_ACK_LENGTH);
        break;
    case ROCE_PAYLOAD_TAIL:
        if (e->len == 0 || (sure && e->len > mtu))
            must_refuse(e, ROCE_RULE_ACK_LENGTH);
        break;
    case ROCE_PAYLOAD_ANY:
        if (sure && e->len > mtu)
            must_refuse(e, ROCE_RULE_ACK_LENGTH);
        break;
    default: break;
    }
}

void roce_check_request_packet(struct roce_ctx *ctx, struct roce_sent_packet *e)
{
    const struct roce_opcode *op = roce_opcode(e->op);

    if (roce_opcode_starts(op) && roce_opcode_has(op, ROCE_HDR_RETH) &&
        e->dma_len != ROCE_LEN_UNKNOWN) {
        if (e->dma_len > DMA_MAX) {
            REPORT(ctx, DMA_LEN_MAX, "reth.dma_len", DMA_MAX, e->dma_len, .rel = ROCE_REL_AT_MOST);
            must_refuse(e, ROCE_RULE_DMA_LEN_MAX);
        }
        if (e->dma_len && e->va + (e->dma_len - 1) < e->va)
            REPORT(ctx, VA_WRAP, "reth.va", UINT64_MAX - (e->dma_len - 1), e->va,
                   .value = ROCE_VALUE_HEX, .rel = ROCE_REL_AT_MOST);
    }
    if ((roce_opcode_is_atomic(op) || op->kind == ROCE_KIND_ATOMIC_WRITE) &&
        e->dma_len != ROCE_LEN_UNKNOWN && (e->va & 7) != 0)
        must_refuse(e, ROCE_RULE_ATOMIC_ALIGN);
    check_lengths(ctx, e, op);
    check_size(ctx, e, op);
}
