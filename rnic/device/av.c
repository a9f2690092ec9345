/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "device/av.h"

#include <assert.h>
#include <string.h>
#include "device/device.h"
#include "transport/fault.h"
#include "wire/gid.h"

enum roce_encap rnic_gid_encap(const struct rnic_gid *gid)
{
    if (gid->type == RNIC_GID_ROCE_V1)
        return ROCE_ENCAP_V1;
    return roce_gid_is_ip4(gid->gid) ? ROCE_ENCAP_V2_IP4 : ROCE_ENCAP_V2_IP6;
}

bool rnic_av_valid(const struct rnic *rnic, const struct rnic_av *av)
{
    struct rnic_gid gid;

    if (!rnic_gid_get(rnic, av->sgid_idx, &gid) || av->flow > 0xFFFFF ||
        (av->tagged && (av->vlan > 0xFFF || av->priority > 7)))
        return false;
    /* RoCEv2: both GIDs must use the same IP version. */
    return gid.type != RNIC_GID_ROCE_V2 || roce_gid_is_ip4(gid.gid) == roce_gid_is_ip4(av->dgid);
}

/*
 * Returns the UDP source port of packets from QP `qpn` to QP `dest_qpn`. The port depends only on
 * the flow label or, if the label is 0, on both QPNs. So all packets of a connection have the same
 * port. The hash is the hash of Linux (rdma_calc_flow_label, rdma_flow_label_to_udp_sport). With
 * the label 0, both ends of a connection compute the same port.
 */
uint16_t rnic_av_sport(uint32_t flow, uint32_t qpn, uint32_t dest_qpn)
{
    uint64_t both = (uint64_t)qpn * dest_qpn;

    if (flow == 0) {
        both ^= both >> 20;
        both ^= both >> 40;
        flow = both & 0xFFFFF;
    }
    return (uint16_t)(0xC000 | ((flow & 0x3FFF) ^ flow >> 14));
}

void rnic_av_resolve(struct rnic_av *av)
{
    if (av->hop_limit == 0)
        av->hop_limit = 64;
    if ((av->tclass & 3) == 3)
        av->tclass ^= 1; /* replace CE by ECT(0), because only switches set CE (R005) */
}

void rnic_av_envelope(const struct rnic *rnic, const struct rnic_av *av,
                      struct roce_header_template *env)
{
    struct roce_pkt model;
    struct roce_pkt *pkt = &model;
    int rc;
    enum roce_encap encap = rnic_gid_encap(&rnic->attr.gid[av->sgid_idx]);
    const uint8_t *sgid = RNIC_FAULT(ADDRESS_SENT) ? av->dgid : rnic->attr.gid[av->sgid_idx].gid;

    roce_pkt_init(pkt, encap, ROCE_OP_RC_ACK);
    memcpy(pkt->eth.dst, av->dmac, sizeof(pkt->eth.dst));
    memcpy(pkt->eth.src, rnic->attr.mac, sizeof(pkt->eth.src));
    if (av->tagged) {
        pkt->vlan_cnt = 1;
        pkt->vlan[0] =
            (struct roce_vlan){.pcp = av->priority, .vid = av->vlan, .type = pkt->eth.type};
        pkt->eth.type = ROCE_ETHERTYPE_VLAN;
    }
    pkt->udp.sport = RNIC_FAULT(SPORT_LOW) ? av->udp_sport & 0x3FFF : av->udp_sport;
    switch (encap) {
    case ROCE_ENCAP_V2_IP4:
        pkt->ip4.dscp = av->tclass >> 2;
        pkt->ip4.ecn = av->tclass & 3;
        pkt->ip4.ttl = av->hop_limit;
        memcpy(pkt->ip4.src, sgid + 12, sizeof(pkt->ip4.src));
        memcpy(pkt->ip4.dst, av->dgid + 12, sizeof(pkt->ip4.dst));
        break;
    case ROCE_ENCAP_V2_IP6:
        pkt->ip6.dscp = av->tclass >> 2;
        pkt->ip6.ecn = av->tclass & 3;
        pkt->ip6.flow = av->flow;
        pkt->ip6.hop = av->hop_limit;
        memcpy(pkt->ip6.src, sgid, sizeof(pkt->ip6.src));
        memcpy(pkt->ip6.dst, av->dgid, sizeof(pkt->ip6.dst));
        break;
    default: /* RoCEv1: rnic_gid_encap() returns no other value */
        pkt->grh.tclass = av->tclass;
        pkt->grh.flow = av->flow;
        pkt->grh.hop = av->hop_limit;
        memcpy(pkt->grh.sgid, sgid, sizeof(pkt->grh.sgid));
        memcpy(pkt->grh.dgid, av->dgid, sizeof(pkt->grh.dgid));
        break;
    }
    rc = roce_header_template_init(env, pkt);
    /* cannot fail: rnic_gid_encap() returns only encapsulations in Ethernet */
    assert(rc == ROCE_OK);
    (void)rc;
}
