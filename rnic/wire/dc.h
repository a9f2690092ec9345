/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * DC: packets of NVIDIA's (Mellanox') dynamically connected transport, which no public
 * specification describes. DC packets have the opcodes of reliable datagrams.
 *
 * The following is known from captured packets of ConnectX. A DC header of 20 bytes follows the
 * BTH. It begins with a nonzero byte and a QP number. After the DC header, the headers and the
 * payload of the RC opcode with the same low five bits follow. In place of the DC header, a
 * reliable datagram has an RDETH, whose first byte is reserved and 0.
 *
 * The codec parses DC packets as reliable datagrams. So only the BTH and the results of this file's
 * functions are valid for a DC packet.
 */
#ifndef ROCE_DC_H
#define ROCE_DC_H

#include "wire/pkt.h"

#define ROCE_DC_LEN 20u

/* Returns whether a packet with an opcode of reliable datagrams is a DC packet. */
static inline bool roce_dc_is(const struct roce_pkt *pkt)
{
    return roce_pkt_has(pkt, ROCE_HDR_RDETH) && pkt->rdeth.resv8 != 0;
}

/* Returns whether the packet is a DC packet or can be one. It can be one if its opcode
 * is one of reliable datagrams, and the capture does not contain the 4 bytes after the BTH. */
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

/* Returns the RC opcode that determines the headers after the DC header. Returns a reserved opcode
 * without headers if RC has no opcode with the same low bits. */
static inline const struct roce_opcode *roce_dc_like(const struct roce_pkt *pkt)
{
    return roce_opcode(pkt->bth.opcode & 0x1F);
}

/* Returns the payload length without pad, bytes; 0 if the headers are incomplete. */
static inline uint32_t roce_dc_payload_len(const struct roce_pkt *pkt)
{
    uint32_t headers =
        pkt->off[ROCE_HDR_BTH] + roce_dc_like(pkt)->len + ROCE_DC_LEN + pkt->bth.padcnt;

    return pkt->icrc_off > headers ? pkt->icrc_off - headers : 0;
}

#endif
