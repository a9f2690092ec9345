/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "wire/ext_headers.h"

#include <assert.h>

void roce_ext_parse(struct roce_pkt *pkt, enum roce_hdr hdr, const uint8_t *p)
{
    switch (hdr) {
    case ROCE_HDR_RDETH: roce_rdeth_parse(p, &pkt->rdeth); break;
    case ROCE_HDR_DETH: roce_deth_parse(p, &pkt->deth); break;
    case ROCE_HDR_XRCETH: roce_xrceth_parse(p, &pkt->xrceth); break;
    case ROCE_HDR_FETH: roce_feth_parse(p, &pkt->feth); break;
    case ROCE_HDR_RETH: roce_reth_parse(p, &pkt->reth); break;
    case ROCE_HDR_ATOMICETH: roce_atomiceth_parse(p, &pkt->atomiceth); break;
    case ROCE_HDR_AETH: roce_aeth_parse(p, &pkt->aeth); break;
    case ROCE_HDR_ATOMICACKETH: roce_atomicacketh_parse(p, &pkt->atomicacketh); break;
    case ROCE_HDR_IMMDT: roce_immdt_parse(p, &pkt->immdt); break;
    case ROCE_HDR_IETH: roce_ieth_parse(p, &pkt->ieth); break;
    case ROCE_HDR_CNP: roce_cnp_parse(p, &pkt->cnp); break;
    default: assert(!"opcodes.def names only headers that may follow a BTH");
    }
}

void roce_ext_build(const struct roce_pkt *pkt, enum roce_hdr hdr, uint8_t *p)
{
    switch (hdr) {
    case ROCE_HDR_RDETH: roce_rdeth_build(&pkt->rdeth, p); break;
    case ROCE_HDR_DETH: roce_deth_build(&pkt->deth, p); break;
    case ROCE_HDR_XRCETH: roce_xrceth_build(&pkt->xrceth, p); break;
    case ROCE_HDR_FETH: roce_feth_build(&pkt->feth, p); break;
    case ROCE_HDR_RETH: roce_reth_build(&pkt->reth, p); break;
    case ROCE_HDR_ATOMICETH: roce_atomiceth_build(&pkt->atomiceth, p); break;
    case ROCE_HDR_AETH: roce_aeth_build(&pkt->aeth, p); break;
    case ROCE_HDR_ATOMICACKETH: roce_atomicacketh_build(&pkt->atomicacketh, p); break;
    case ROCE_HDR_IMMDT: roce_immdt_build(&pkt->immdt, p); break;
    case ROCE_HDR_IETH: roce_ieth_build(&pkt->ieth, p); break;
    case ROCE_HDR_CNP: roce_cnp_build(&pkt->cnp, p); break;
    default: assert(!"opcodes.def names only headers that may follow a BTH");
    }
}
