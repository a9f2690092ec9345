/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Flows: ibv_create_flow(3) and ibv_destroy_flow(3) for raw packet QPs. Converts the specs of a
 * program to headers with masks, which device/steer.c compares. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct vflow {
    struct ibv_flow ibv; /* must be first */
    struct vhca *hca;
    struct rnic_steer *steer;
};

/* Copies a field of a filter and its mask to offset `off` of the header. */
#define FIELD(to, off, filter, field)                                                              \
    do {                                                                                           \
        memcpy((to)->value + (off), &(filter)->val.field, sizeof((filter)->val.field));            \
        memcpy((to)->mask + (off), &(filter)->mask.field, sizeof((filter)->mask.field));           \
    } while (0)

static void eth_spec(struct rnic_steer_attr *attr, const struct ibv_flow_spec_eth *from)
{
    struct rnic_steer_spec *to = &attr->spec[attr->spec_cnt++];
    to->header = RNIC_STEER_ETH;
    FIELD(to, 0, from, dst_mac);
    FIELD(to, 6, from, src_mac);
    FIELD(to, 12, from, ether_type);
    if (!from->mask.vlan_tag)
        return;
    to = &attr->spec[attr->spec_cnt++];
    to->header = RNIC_STEER_VLAN;
    FIELD(to, 0, from, vlan_tag);
}

static void ip4_spec(struct rnic_steer_attr *attr, const struct ibv_flow_spec_ipv4 *from)
{
    struct rnic_steer_spec *to = &attr->spec[attr->spec_cnt++];
    to->header = RNIC_STEER_IP4;
    FIELD(to, 12, from, src_ip);
    FIELD(to, 16, from, dst_ip);
}

static int ip4_ext_spec(struct rnic_steer_attr *attr, const struct ibv_flow_spec_ipv4_ext *from)
{
    struct rnic_steer_spec *to = &attr->spec[attr->spec_cnt++];
    if (from->mask.flags)
        return EOPNOTSUPP;
    to->header = RNIC_STEER_IP4;
    FIELD(to, 1, from, tos);
    FIELD(to, 8, from, ttl);
    FIELD(to, 9, from, proto);
    FIELD(to, 12, from, src_ip);
    FIELD(to, 16, from, dst_ip);
    return 0;
}

/* Returns the first four bytes of an IPv6 header without the version, big endian. */
static uint32_t ip6_word(const struct ibv_flow_ipv6_filter *from)
{
    uint32_t label = be32toh(from->flow_label) & 0xFFFFF;
    return htobe32((uint32_t)from->traffic_class << 20 | label);
}

static void ip6_spec(struct rnic_steer_attr *attr, const struct ibv_flow_spec_ipv6 *from)
{
    struct rnic_steer_spec *to = &attr->spec[attr->spec_cnt++];
    uint32_t value = ip6_word(&from->val), mask = ip6_word(&from->mask);
    to->header = RNIC_STEER_IP6;
    memcpy(to->value, &value, sizeof value);
    memcpy(to->mask, &mask, sizeof mask);
    FIELD(to, 6, from, next_hdr);
    FIELD(to, 7, from, hop_limit);
    FIELD(to, 8, from, src_ip);
    FIELD(to, 24, from, dst_ip);
}

static void ports_spec(struct rnic_steer_attr *attr, const struct ibv_flow_spec_tcp_udp *from)
{
    struct rnic_steer_spec *to = &attr->spec[attr->spec_cnt++];
    to->header = from->type == IBV_FLOW_SPEC_TCP ? RNIC_STEER_TCP : RNIC_STEER_UDP;
    FIELD(to, 0, from, src_port);
    FIELD(to, 2, from, dst_port);
}

/* Converts one flow spec of the program and adds it to *attr. Returns 0 or an errno. */
static int add_spec(struct rnic_steer_attr *attr, const void *bytes, unsigned size)
{
    static const struct {
        enum ibv_flow_spec_type type;
        unsigned size;
    } known[] = {
        {IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth)},
        {IBV_FLOW_SPEC_IPV4, sizeof(struct ibv_flow_spec_ipv4)},
        {IBV_FLOW_SPEC_IPV4_EXT, sizeof(struct ibv_flow_spec_ipv4_ext)},
        {IBV_FLOW_SPEC_IPV6, sizeof(struct ibv_flow_spec_ipv6)},
        {IBV_FLOW_SPEC_TCP, sizeof(struct ibv_flow_spec_tcp_udp)},
        {IBV_FLOW_SPEC_UDP, sizeof(struct ibv_flow_spec_tcp_udp)},
    };
    struct ibv_flow_spec spec = {0};
    size_t i = 0;
    memcpy(&spec, bytes, size < sizeof spec ? size : sizeof spec);
    while (i < sizeof known / sizeof *known && known[i].type != spec.hdr.type)
        i++;
    if (i == sizeof known / sizeof *known)
        return EOPNOTSUPP; /* specs of tunnels, inner headers and actions are not supported */
    if (size != known[i].size)
        return EINVAL;
    switch (known[i].type) {
    case IBV_FLOW_SPEC_ETH: eth_spec(attr, &spec.eth); return 0;
    case IBV_FLOW_SPEC_IPV4: ip4_spec(attr, &spec.ipv4); return 0;
    case IBV_FLOW_SPEC_IPV4_EXT: return ip4_ext_spec(attr, &spec.ipv4_ext);
    case IBV_FLOW_SPEC_IPV6: ip6_spec(attr, &spec.ipv6); return 0;
    default: ports_spec(attr, &spec.tcp_udp); return 0;
    }
}

/* Converts flow attributes. The specs follow the attributes in memory. As in rdma-core,
 * num_of_specs determines their number: some programs set `size` to the size of the attributes
 * alone. Returns 0 or an errno. */
static int convert(const struct ibv_flow_attr *from, struct rnic_steer_attr *to)
{
    const char *at = (const char *)(from + 1);
    *to = (struct rnic_steer_attr){.kind = (enum rnic_steer_kind)from->type,
                                   .priority = from->priority};
    if (from->comp_mask || from->port != 1 || from->type > IBV_FLOW_ATTR_SNIFFER)
        return EINVAL;
    if (from->flags)
        return EOPNOTSUPP;
    for (unsigned i = 0; i < from->num_of_specs; i++) {
        struct {
            enum ibv_flow_spec_type type;
            uint16_t size;
        } hdr;
        memcpy(&hdr, at, sizeof hdr);
        if (to->spec_cnt + 2 > RNIC_STEER_SPECS) /* an Ethernet spec may become two specs: Ethernet
                                                  * and VLAN */
            return EINVAL;
        int result = add_spec(to, at, hdr.size);
        if (result != 0)
            return result;
        at += hdr.size;
    }
    return 0;
}

struct ibv_flow *vflow_create(struct ibv_qp *ibv, struct ibv_flow_attr *from)
{
    struct vqp *qp = vqp_of(ibv);
    struct rnic_steer_attr attr;
    struct vflow *flow = NULL;
    int result = vctx_check_owner(ibv->context, qp->hca);
    if (result == 0)
        result = convert(from, &attr);
    if (result == 0 && ibv->qp_type != IBV_QPT_RAW_PACKET)
        result = EINVAL;
    if (result == 0 && !(flow = calloc(1, sizeof *flow)))
        result = ENOMEM;
    if (result == 0)
        result = -rnic_live_raw_start(qp->hca->live);
    if (result == 0) {
        vhca_lock(qp->hca);
        result = verbs_errno(rnic_steer_new(qp->rnic, &attr, &flow->steer));
        vhca_unlock(qp->hca);
        if (result != 0)
            rnic_live_raw_stop(qp->hca->live);
    }
    if (result != 0) {
        free(flow);
        errno = result;
        return NULL;
    }
    flow->hca = qp->hca;
    flow->ibv.context = ibv->context;
    return &flow->ibv;
}

int vflow_destroy(struct ibv_flow *ibv)
{
    struct vflow *flow = (struct vflow *)(void *)ibv;
    vhca_lock(flow->hca);
    rnic_steer_del(flow->steer);
    vhca_unlock(flow->hca);
    rnic_live_raw_stop(flow->hca->live);
    free(flow);
    return 0;
}
