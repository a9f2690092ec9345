/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "alteration.h"

#include <string.h>
#include "wire/codes.h"

const char *alteration_name(enum alteration kind)
{
    static const char *const names[ALTER_CNT] = {
#define ALTERATION(name, text) [ALTER_##name] = (text),
        ALTERATIONS(ALTERATION)
#undef ALTERATION
    };

    return names[kind];
}

static bool parse(const struct capture *capture, size_t at, struct roce_pkt *pkt)
{
    const struct capture_frame *f = &capture->frame[at];

    return roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, f->data, f->len, f->len) == 0;
}

static uint8_t other_opcode(uint8_t opcode)
{
    switch (opcode) {
    case ROCE_OP_RC_READ_RESP_FIRST: return ROCE_OP_RC_READ_RESP_MIDDLE;
    case ROCE_OP_RC_READ_RESP_MIDDLE: return ROCE_OP_RC_READ_RESP_LAST;
    case ROCE_OP_RC_READ_RESP_LAST: return ROCE_OP_RC_READ_RESP_ONLY;
    case ROCE_OP_RC_READ_RESP_ONLY: return ROCE_OP_RC_READ_RESP_LAST;
    case ROCE_OP_RC_ATOMIC_ACK: return ROCE_OP_RC_ACK;
    default: return ROCE_OP_RC_ATOMIC_ACK;
    }
}

static void move_psn(struct roce_pkt *pkt, int by)
{
    pkt->bth.psn = (pkt->bth.psn + (uint32_t)by) & ROCE_PSN_MASK;
}

static void move_msn(struct roce_pkt *pkt, uint32_t by)
{
    pkt->aeth.msn = (pkt->aeth.msn + by) & ROCE_PSN_MASK;
}

/* Alters one field of a parsed packet that the protocol prescribes (an obligation). Returns false
 * if packets of this kind do not have the field. */
static bool alter(struct roce_pkt *pkt, enum alteration kind, uint8_t *payload, unsigned *flags)
{
    bool aeth = roce_pkt_has(pkt, ROCE_HDR_AETH);
    uint8_t syndrome = pkt->aeth.syndrome;

    switch (kind) {
    case ALTER_SYNDROME_SEQ: pkt->aeth.syndrome = 0x60; break;
    case ALTER_SYNDROME_ACCESS: pkt->aeth.syndrome = 0x62; break;
    case ALTER_SYNDROME_ACK: pkt->aeth.syndrome = 0x1F; break;
    case ALTER_MSN_UP: move_msn(pkt, 1); return aeth;
    case ALTER_MSN_FAR: move_msn(pkt, 4096); return aeth;
    case ALTER_PSN_UP:
    case ALTER_AGAIN_PSN_UP: move_psn(pkt, 1); return true;
    case ALTER_PSN_DOWN: move_psn(pkt, -1); return true;
    case ALTER_PAYLOAD:
    case ALTER_AGAIN_PAYLOAD:
        if (pkt->payload_len == 0)
            return false;
        payload[pkt->payload_len / 2] ^= 0x40;
        return true;
    case ALTER_ORIGINAL:
        pkt->atomicacketh.orig ^= 0x100;
        return roce_pkt_has(pkt, ROCE_HDR_ATOMICACKETH);
    case ALTER_OPCODE:
        pkt->bth.opcode = other_opcode(pkt->bth.opcode);
        if (!aeth)
            pkt->aeth.syndrome = 0x1F;
        return true;
    case ALTER_DEST_QP: pkt->bth.dest_qp ^= 0x800; return true;
    case ALTER_PKEY:
    case ALTER_AGAIN_PKEY: pkt->bth.pkey ^= 0x0101; return true;
    case ALTER_MSN_BAD_ICRC:
        move_msn(pkt, 1);
        *flags |= ROCE_BUILD_KEEP_ICRC;
        return aeth;
    case ALTER_ICRC:
        pkt->icrc ^= 1;
        *flags |= ROCE_BUILD_KEEP_ICRC;
        return true;
    case ALTER_AGAIN_VA:
        pkt->reth.va += 8;
        pkt->atomiceth.va += 8;
        return roce_pkt_has(pkt, ROCE_HDR_RETH) || roce_pkt_has(pkt, ROCE_HDR_ATOMICETH);
    case ALTER_AGAIN_RKEY:
        pkt->reth.rkey ^= 0x100;
        pkt->atomiceth.rkey ^= 0x100;
        return roce_pkt_has(pkt, ROCE_HDR_RETH) || roce_pkt_has(pkt, ROCE_HDR_ATOMICETH);
    case ALTER_AGAIN_OPERAND:
        pkt->atomiceth.swap_add ^= 0x100;
        return roce_pkt_has(pkt, ROCE_HDR_ATOMICETH);
    default: return false;
    }
    /* A change of the syndrome must change the kind of acknowledgement. A change of only the
     * credits violates no rule. */
    return aeth && roce_syndrome_kind(syndrome) != roce_syndrome_kind(pkt->aeth.syndrome);
}

/* Copies a request of the connection to `buf`: the first captured request with the PSN just before
 * the PSN of frame `frame`. The copy gets the IPv4 identification of `frame`; with its old
 * identification it would look like a duplicate made by the network. Returns its length, or 0 if
 * there is none. */
static int request_before(const struct capture *capture, uint32_t frame, uint8_t *buf)
{
    struct roce_pkt pkt, other;
    uint8_t src[16], dst[16], osrc[16], odst[16];

    if (!parse(capture, frame - 1, &pkt))
        return 0;
    roce_pkt_addr(&pkt, src, dst);
    move_psn(&pkt, -1);
    for (size_t i = 0; i < capture->cnt; i++) {
        if (!parse(capture, i, &other) || !roce_opcode_is_request(other.op) ||
            other.bth.psn != pkt.bth.psn || other.bth.dest_qp != pkt.bth.dest_qp)
            continue;
        roce_pkt_addr(&other, osrc, odst);
        if (memcmp(src, osrc, 16) != 0 || memcmp(dst, odst, 16) != 0)
            continue;
        other.ip4.id = pkt.ip4.id;
        return roce_pkt_build(&other, ROCE_BUILD_KEEP_PAD, buf, ROCE_FRAME_MAX);
    }
    return 0;
}

int alteration_make(enum alteration kind, const struct capture *capture, uint32_t frame,
                    uint8_t *buf)
{
    uint8_t payload[ROCE_FRAME_MAX];
    unsigned flags = ROCE_BUILD_KEEP_PAD;
    struct roce_pkt pkt;

    if (kind == ALTER_AGAIN_EARLIER)
        return request_before(capture, frame, buf);
    if (!parse(capture, frame - 1, &pkt))
        return 0;
    if (pkt.payload_len) {
        memcpy(payload, pkt.payload, pkt.payload_len);
        pkt.payload = payload;
    }
    if (!alter(&pkt, kind, payload, &flags))
        return 0;
    return roce_pkt_build(&pkt, flags, buf, ROCE_FRAME_MAX);
}
