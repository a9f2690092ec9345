/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "flow/base/packet_digest.h"

#include <string.h>
#include "flow/base/summary.h"
#include "wire/gid.h"

#define SPORT_MIN 0xC000 /* lowest UDP source port of RoCEv2 (R013) */

uint32_t roce_key_hash(const struct roce_key *key, const struct roce_hash_secret *secret)
{
    uint64_t w[ROCE_HASH_WORDS] = {[4] = (uint64_t)key->qpn << 32 | key->src_qpn, [5] = key->net};

    memcpy(w, key->src, 16);
    memcpy(w + 2, key->dst, 16);
    return roce_keyed_hash(secret, w, ROCE_HASH_WORDS);
}

/* Reads the addresses and ECN marks of the network layer. */
static void read_net(struct roce_packet_digest *digest, const struct roce_pkt *pkt)
{
    struct roce_key *key = &digest->key;
    uint32_t vlans = 0;

    roce_pkt_addr(pkt, key->src, key->dst);
    digest->ecn = digest->dscp = 0;
    digest->ip_id = 0;
    if (roce_pkt_has(pkt, ROCE_HDR_IP4)) {
        digest->ecn = pkt->ip4.ecn;
        digest->dscp = pkt->ip4.dscp;
        digest->ip_id = pkt->ip4.id;
    } else if (roce_pkt_has(pkt, ROCE_HDR_IP6)) {
        digest->ecn = pkt->ip6.ecn;
        digest->dscp = pkt->ip6.dscp;
    } else if (roce_pkt_has(pkt, ROCE_HDR_GRH)) {
        digest->dscp = pkt->grh.tclass >> 2;
    }
    for (unsigned i = 0; i < pkt->vlan_cnt; i++)
        if (pkt->vlan[i].vid)
            vlans = vlans * 4099 + pkt->vlan[i].vid;
    if (pkt->overlay)
        vlans = vlans * 4099 + pkt->overlay;
    key->net = vlans << 3 | (uint32_t)pkt->encap;
    key->qpn = pkt->bth.dest_qp;
    key->src_qpn = roce_pkt_has(pkt, ROCE_HDR_DETH) ? pkt->deth.src_qp : ROCE_QPN_UNKNOWN;
    if (pkt->encap == ROCE_ENCAP_IB_LOCAL) { /* without GRH, a packet has no addresses except its
                                              * LIDs */
        key->src[14] = (uint8_t)(pkt->lrh.slid >> 8);
        key->src[15] = (uint8_t)pkt->lrh.slid;
        key->dst[14] = (uint8_t)(pkt->lrh.dlid >> 8);
        key->dst[15] = (uint8_t)pkt->lrh.dlid;
    }
}

static void take_sample(struct roce_packet_digest *digest, const struct roce_pkt *pkt)
{
    uint64_t h = pkt->bth.opcode, w[2] = {0, 0};
    uint32_t len = pkt->payload_len;

    if (roce_pkt_has(pkt, ROCE_HDR_IMMDT))
        h = h * 31 + pkt->immdt.imm;
    if (roce_pkt_has(pkt, ROCE_HDR_IETH))
        h = h * 31 + pkt->ieth.rkey;
    if (roce_pkt_has(pkt, ROCE_HDR_ATOMICETH))
        h = h * 31 + pkt->atomiceth.swap_add;
    if (pkt->op->kind == ROCE_KIND_CMP_SWAP) /* Fetch & Add does not use the field `compare`, and
                                              * rxe leaves old memory contents in it */
        h = h * 31 + pkt->atomiceth.compare;
    digest->sampled = len > 0 && pkt->payload_cap_len == len;
    if (digest->sampled && len > 8) { /* w[1] stays 0 for a payload of up to 8 bytes: equal values
                                       * in w[0] and w[1] could cancel out in `h` */
        memcpy(&w[0], pkt->payload, 8);
        memcpy(&w[1], pkt->payload + len - 8, 8);
    } else if (digest->sampled) {
        memcpy(&w[0], pkt->payload, len);
    }
    h = (h ^ w[0] * UINT64_C(0x9E3779B97F4A7C15)) * 31 ^ w[1];
    digest->sample = (uint32_t)(h ^ h >> 32);
}

/* Returns true if no check of checks/check_format.c would report the packet, so that the caller can
 * skip these checks. tests/flow/cases_format.c tests that this function agrees with these checks.
 */
static bool form_is_ok(const struct roce_pkt *pkt, const uint8_t dst[16])
{
    const struct roce_opcode *op = pkt->op;
    const struct roce_bth *bth = &pkt->bth;
    bool reliable = op->svc == ROCE_SVC_RC || op->svc == ROCE_SVC_XRC;
    const uint32_t harmless = UINT32_C(1) << ROCE_DEFECT_CUT;

    if ((pkt->defects & ~harmless) || (roce_pkt_has(pkt, ROCE_HDR_IP4) && !pkt->ip4.df) ||
        (roce_pkt_has(pkt, ROCE_HDR_UDP) && (pkt->udp.sport < SPORT_MIN || pkt->udp.csum)))
        return false;
    if (bth->resv6 || bth->resv7 || (bth->padcnt && (pkt->pad[0] | pkt->pad[1] | pkt->pad[2])) ||
        bth->dest_qp == 0 || bth->dest_qp == ROCE_QP_MULTICAST || roce_gid_is_multicast(dst))
        return false;
    if (bth->ackreq && (!reliable || roce_opcode_is_response(op)))
        return false;
    return bth->migreq && (!bth->se || (roce_opcode_ends(op) && roce_opcode_uses_rq(op)));
}

void roce_digest_packet(struct roce_packet_digest *digest, const struct roce_pkt *pkt,
                        const struct roce_hash_secret *secret)
{
    read_net(digest, pkt);
    digest->hash = roce_key_hash(&digest->key, secret);
    digest->sample = 0;
    digest->sampled = false;
    if (roce_opcode_is_request(pkt->op) && pkt->op->svc != ROCE_SVC_UD)
        take_sample(digest, pkt);
    digest->form_ok = form_is_ok(pkt, digest->key.dst);
}
