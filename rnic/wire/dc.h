/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * DC: packets of NVIDIA's (Mellanox') dynamically connected transport, which stands in no
 * specification and uses the opcodes of reliable datagrams.
 *
 * What is known of it are the lengths and contents of packets that ConnectX sent: twenty bytes
 * follow the BTH, a byte that is not 0 and a QP number first; then come the headers of the RC
 * opcode that has the same low five bits, and a payload of one path MTU where that has one.
 * Reliable datagrams have a RDETH there, whose first byte is reserved and 0: as such the codec
 * parses both, so that of a DC packet only the BTH and what this file tells is true.
 */
#ifndef ROCE_DC_H
#define ROCE_DC_H

#include "wire/pkt.h"

#define ROCE_DC_LEN 20u

/* Whether it is one, and not of reliable datagrams. */
static inline bool roce_dc_is(const struct roce_pkt *pkt)
{
    return roce_pkt_has(pkt, ROCE_HDR_RDETH) && pkt->rdeth.resv8 != 0;
}

/* Whether it may be one, as far as was captured. */
static inline bool roce_dc_may_be(const struct roce_pkt *pkt)
{
    if (!roce_opcode_has(pkt->op, ROCE_HDR_RDETH))
        return false;
    return !roce_pkt_has(pkt, ROCE_HDR_RDETH) || roce_dc_is(pkt);
}

static inline uint32_t roce_dc_src_qp(const struct roce_pkt *pkt)
{
    return pkt->rdeth.eecnxt;
}

/* The RC opcode whose headers follow; of no headers where RC has no such opcode. */
static inline const struct roce_opcode *roce_dc_like(const struct roce_pkt *pkt)
{
    return roce_opcode(pkt->bth.opcode & 0x1F);
}

/* Bytes of payload, without pad; 0 if the packet has not even the headers. */
static inline uint32_t roce_dc_payload_len(const struct roce_pkt *pkt)
{
    uint32_t headers =
        pkt->off[ROCE_HDR_BTH] + roce_dc_like(pkt)->len + ROCE_DC_LEN + pkt->bth.padcnt;

    return pkt->icrc_off > headers ? pkt->icrc_off - headers : 0;
}

#endif
