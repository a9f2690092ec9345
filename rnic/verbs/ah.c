/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Address handles: converts a program's address (GIDs) to MAC address, hop limit and UDP source
 * port. Also attaches QPs to multicast groups. */
#include "verbs/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "wire/gid.h"

/* Maximum wait for the MAC address of the next hop, 1 s as in Linux (rdma_resolve_ip in ib_addr's
 * roce_resolve_route_from_path). */
#define RESOLVE_NS UINT64_C(1000000000)

/* Builds the address vector as vah_path() does, but waits at most `wait` ns for the MAC address of
 * the next hop. */
static int resolve_path(struct ibv_context *context, const struct ibv_ah_attr *ah, uint64_t wait,
                        struct rnic_av *av)
{
    struct rnic_path path;
    if (!ah->is_global || (ah->port_num != 0 && ah->port_num != 1))
        return EINVAL; /* an address needs a GRH: each RoCEv2 packet has a network header (A17.4) */
    int result = 0;
    if (roce_gid_is_multicast(ah->grh.dgid.raw)) /* the MAC address of a multicast group follows
                                                  * from the GID of the group */
        path = (struct rnic_path){.hop_limit = 1};
    else
        result = rnic_live_resolve(vctx_of(context)->hca->live, ah->grh.dgid.raw,
                                   ah->grh.sgid_index, wait, &path);
    if (result < 0)
        return -result;
    *av = (struct rnic_av){
        .sgid_idx = ah->grh.sgid_index,
        .tclass = ah->grh.traffic_class,
        .hop_limit = ah->grh.hop_limit > path.hop_limit ? ah->grh.hop_limit : path.hop_limit,
        .flow = ah->grh.flow_label & 0xFFFFF,
        /* The program's flow label determines the UDP source port and so the path through the
         * network. */
        .udp_sport = ah->grh.flow_label ? ibv_flow_label_to_udp_sport(ah->grh.flow_label) : 0,
    };
    memcpy(av->dmac, path.dmac, sizeof av->dmac);
    memcpy(av->dgid, ah->grh.dgid.raw, sizeof av->dgid);
    return 0;
}

int vah_path(struct ibv_context *context, const struct ibv_ah_attr *ah, struct rnic_av *av)
{
    return resolve_path(context, ah, RESOLVE_NS, av);
}

int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
                                uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid)
{
    struct rnic_av av;
    int result = vah_path(context, attr, &av);
    if (result != 0)
        return result;
    if (roce_gid_is_multicast(attr->grh.dgid.raw))
        rnic_gid_multicast_mac(attr->grh.dgid.raw, av.dmac);
    memcpy(eth_mac, av.dmac, ETHERNET_LL_SIZE);
    if (vid)
        *vid = 0xffff; /* 0xffff stands for a frame without VLAN tag */
    return 0;
}

/* ---- address handles ------------------------------------------------------------------------- */

struct ibv_ah *vah_create(struct ibv_pd *pd, const struct ibv_ah_attr *attr, uint64_t wait)
{
    struct rnic_av av;
    int result = vpd_renew(pd);
    if (result == 0)
        result = resolve_path(pd->context, attr, wait, &av);
    struct vah *ah = result == 0 ? calloc(1, sizeof *ah) : NULL;
    if (!ah) {
        errno = result ? result : ENOMEM;
        return NULL;
    }
    ah->hca = vpd_base(pd)->hca;
    ah->ibv.context = pd->context;
    ah->ibv.pd = pd;
    vhca_lock(ah->hca);
    result = verbs_errno(rnic_ah_new(vpd_rnic(pd), &av, &ah->rnic));
    vhca_unlock(ah->hca);
    if (result != 0) {
        free(ah);
        errno = result;
        return NULL;
    }
    return &ah->ibv;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    return vah_create(pd, attr, RESOLVE_NS);
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
    struct vah *ah = vah_of(ibv);
    vhca_lock(ah->hca);
    int result = verbs_errno(rnic_ah_del(ah->rnic));
    vhca_unlock(ah->hca);
    if (result == 0)
        free(ah);
    return result;
}

/* ---- address handles from completions -------------------------------------------------------- */

/* Contents of the 40 bytes before a datagram (R172): an IPv4 header in the last 20, or a GRH or
 * IPv6 header. */
struct datagram_header {
    uint8_t sgid[16], dgid[16];
    uint32_t flow;
    uint8_t hop_limit, tclass;
    enum ibv_gid_type type;
};

static void gid_of_ip4(uint8_t gid[16], const uint8_t *ip)
{
    memset(gid, 0, 10);
    memset(gid + 10, 0xff, 2);
    memcpy(gid + 12, ip, 4);
}

static bool parse_datagram_header(const struct ibv_grh *grh, struct datagram_header *to)
{
    enum { NEXT_UDP = 17 };
    uint8_t bytes[40];
    const uint8_t *ip4 = bytes + 20;
    memcpy(bytes, grh, sizeof bytes);
    if (bytes[0] >> 4 == 6) {
        to->type = bytes[6] == NEXT_UDP ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
        to->tclass = (uint8_t)(bytes[0] << 4 | bytes[1] >> 4);
        to->flow = (uint32_t)(bytes[1] & 15) << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
        to->hop_limit = bytes[7];
        memcpy(to->sgid, bytes + 8, 16);
        memcpy(to->dgid, bytes + 24, 16);
        return true;
    }
    if (ip4[0] >> 4 != 4)
        return false;
    to->type = IBV_GID_TYPE_ROCE_V2;
    to->tclass = ip4[1];
    to->flow = 0;
    to->hop_limit = ip4[8];
    gid_of_ip4(to->sgid, ip4 + 12);
    gid_of_ip4(to->dgid, ip4 + 16);
    return true;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc,
                        struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
    struct datagram_header hdr;
    *attr =
        (struct ibv_ah_attr){.port_num = port}; /* wc->sl is not a service level: see vcq_sl() */
    if (!(wc->wc_flags & IBV_WC_GRH) || !parse_datagram_header(grh, &hdr)) {
        errno = EINVAL;
        return -1;
    }
    attr->is_global = 1;
    memcpy(attr->grh.dgid.raw, hdr.sgid, sizeof hdr.sgid);
    attr->grh.flow_label = hdr.flow;
    attr->grh.hop_limit = hdr.hop_limit;
    attr->grh.traffic_class = hdr.tclass;
    /* Selects the GID to which the peer sent; for a multicast datagram the first GID of the same
     * RoCE and IP version. */
    bool multicast = roce_gid_is_multicast(hdr.dgid);
    bool ip4 = roce_gid_is_ip4(hdr.sgid);
    for (uint32_t i = 0; i < RNIC_GID_MAX; i++) {
        struct ibv_gid_entry entry;
        if (_ibv_query_gid_ex(context, port, i, &entry, 0, sizeof entry) != 0 ||
            entry.gid_type != hdr.type)
            continue;
        bool same = memcmp(entry.gid.raw, hdr.dgid, 16) == 0;
        bool kind = roce_gid_is_ip4(entry.gid.raw) == ip4;
        if (same || (multicast && kind)) {
            attr->grh.sgid_index = (uint8_t)i;
            return 0;
        }
    }
    errno = EINVAL;
    return -1;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
                                     uint8_t port)
{
    struct ibv_ah_attr attr;
    if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr) != 0)
        return NULL;
    return ibv_create_ah(pd, &attr);
}

/* ---- multicast groups ------------------------------------------------------------------------ */

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
    struct vhca *hca = vqp_of(ibv)->hca;
    struct rnic_qp *qp = vqp_of(ibv)->rnic;
    (void)lid; /* RoCE has no LIDs */
    int result = vctx_check_owner(ibv->context, hca);
    if (result != 0)
        return result;
    vhca_lock(hca);
    /* True if the QP is already attached: attaching it again has no effect. */
    bool is_in = rnic_mcast_attached(qp, gid->raw);
    result = verbs_errno(rnic_mcast_attach(qp, gid->raw));
    if (result == 0 && !is_in) {
        result = -rnic_live_join(hca->live, gid->raw);
        if (result != 0)
            rnic_mcast_detach(qp, gid->raw);
    }
    vhca_unlock(hca);
    return result;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
    struct vhca *hca = vqp_of(ibv)->hca;
    (void)lid;
    vhca_lock(hca);
    int result = verbs_errno(rnic_mcast_detach(vqp_of(ibv)->rnic, gid->raw));
    if (result == 0)
        rnic_live_leave(hca->live, gid->raw);
    vhca_unlock(hca);
    return result;
}
