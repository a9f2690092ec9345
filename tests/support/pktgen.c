/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "pktgen.h"

#include <stdio.h>
#include <stdlib.h>

void pktgen_init(struct pktgen *gen, enum roce_encap encap)
{
    /* Documentation addresses of RFC 5737 and RFC 3849; locally administered MAC addresses. */
    static const uint8_t ip4_peer[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 1};
    static const uint8_t ip4_mine[16] = {[10] = 0xFF, 0xFF, 192, 0, 2, 2};
    static const uint8_t ip6_peer[16] = {0x20, 0x01, 0x0D, 0xB8, [15] = 1};
    static const uint8_t ip6_mine[16] = {0x20, 0x01, 0x0D, 0xB8, [15] = 2};
    bool ip4 = encap == ROCE_ENCAP_V2_IP4;

    *gen = (struct pktgen){
        .encap = encap,
        .smac = {0x02, 0, 0, 0, 0, 1},
        .dmac = {0x02, 0, 0, 0, 0, 2},
        .sport = 0xC123,
        .pkey = 0xFFFF,
        .dest_qp = 0x11,
    };
    memcpy(gen->sgid, ip4 ? ip4_peer : ip6_peer, 16);
    memcpy(gen->dgid, ip4 ? ip4_mine : ip6_mine, 16);
}

struct roce_pkt pktgen_pkt(const struct pktgen *gen, uint8_t opcode, uint32_t psn)
{
    struct roce_pkt pkt;

    roce_pkt_init(&pkt, gen->encap, opcode);
    memcpy(pkt.eth.src, gen->smac, 6);
    memcpy(pkt.eth.dst, gen->dmac, 6);
    pkt.udp.sport = gen->sport;
    memcpy(pkt.ip4.src, gen->sgid + 12, 4);
    memcpy(pkt.ip4.dst, gen->dgid + 12, 4);
    memcpy(pkt.ip6.src, gen->sgid, 16);
    memcpy(pkt.ip6.dst, gen->dgid, 16);
    memcpy(pkt.grh.sgid, gen->sgid, 16);
    memcpy(pkt.grh.dgid, gen->dgid, 16);
    pkt.bth.pkey = gen->pkey;
    pkt.bth.dest_qp = gen->dest_qp;
    pkt.bth.psn = psn & ROCE_PSN_MASK;
    return pkt;
}

struct roce_pkt pktgen_data(const struct pktgen *gen, uint8_t opcode, uint32_t psn,
                            const void *payload, uint32_t len)
{
    struct roce_pkt pkt = pktgen_pkt(gen, opcode, psn);

    pkt.payload = payload;
    pkt.payload_len = len;
    return pkt;
}

struct roce_pkt pktgen_write(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                             uint32_t rkey, uint32_t dma_len, const void *payload, uint32_t len)
{
    struct roce_pkt pkt = pktgen_data(gen, opcode, psn, payload, len);

    pkt.reth = (struct roce_reth){.va = va, .rkey = rkey, .dma_len = dma_len};
    return pkt;
}

struct roce_pkt pktgen_read(const struct pktgen *gen, uint32_t psn, uint64_t va, uint32_t rkey,
                            uint32_t dma_len)
{
    return pktgen_write(gen, ROCE_OP_RC_READ_REQUEST, psn, va, rkey, dma_len, NULL, 0);
}

struct roce_pkt pktgen_atomic(const struct pktgen *gen, uint8_t opcode, uint32_t psn, uint64_t va,
                              uint32_t rkey, uint64_t swap_add, uint64_t compare)
{
    struct roce_pkt pkt = pktgen_pkt(gen, opcode, psn);

    pkt.atomiceth =
        (struct roce_atomiceth){.va = va, .rkey = rkey, .swap_add = swap_add, .compare = compare};
    return pkt;
}

void pktgen_build(const struct roce_pkt *pkt, struct pktgen_frame *frame)
{
    int len = roce_pkt_build(pkt, 0, frame->bytes, sizeof(frame->bytes));

    if (len < 0) {
        fprintf(stderr, "pktgen_build: %s\n", roce_error_text(len));
        abort();
    }
    frame->len = (size_t)len;
}

bool pktgen_seal(struct pktgen_frame *frame)
{
    struct roce_pkt pkt;
    uint32_t icrc;

    if (roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, frame->bytes, frame->len, frame->len) != 0 ||
        roce_pkt_icrc_check(&pkt, &icrc) == ROCE_ICRC_UNVERIFIED)
        return false;
    roce_le32_put(frame->bytes + pkt.icrc_off, icrc);
    return true;
}

void pktgen_parse(const struct pktgen_frame *frame, struct roce_pkt *pkt)
{
    int error = roce_pkt_parse(pkt, ROCE_LINK_ETHERNET, frame->bytes, frame->len, frame->len);

    if (error) {
        fprintf(stderr, "pktgen_parse: %s\n", roce_error_text(error));
        abort();
    }
}
