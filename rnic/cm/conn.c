/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
#include "cm/conn.h"

#include <string.h>
#include "wire/gid.h"

/* LID in the REQ of a RoCE port, which has no LID of its own (R227) */
#define LID_PERMISSIVE 0xFFFFu

void rnic_cm_path_defaults(struct rnic_cm_path *path)
{
    *path = (struct rnic_cm_path){
        .packet_life_time = 14, .cm_timeout = 18, .max_cm_retries = 15, .ack_delay = 12};
}

/* Writes an address of the RDMA-IP header. Only the last 4 bytes of an IPv4 address are not zero
 * (R242). */
static void put_rdmaip_address(uint8_t to[16], const uint8_t gid[16])
{
    memset(to, 0, 16);
    if (roce_gid_is_ip4(gid))
        memcpy(to + 12, gid + 12, 4);
    else
        memcpy(to, gid, 16);
}

static struct roce_cm_rdmaip rdmaip_header_of(const struct rnic_cm_ip *ip)
{
    struct roce_cm_rdmaip header = {.ipv = roce_gid_is_ip4(ip->dst) ? 4 : 6, .sport = ip->sport};

    put_rdmaip_address(header.src, ip->src);
    put_rdmaip_address(header.dst, ip->dst);
    return header;
}

int rnic_cm_make_req(struct roce_cm_req *req, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, const struct rnic_cm_ip *ip,
                     const struct rnic_cm_addr *addr, uint64_t ca_guid)
{
    const struct roce_cm_rdmaip header = rdmaip_header_of(ip);

    if (param->private_len > RNIC_CM_REQ_PRIVATE)
        return RNIC_ERR_INVALID;
    *req = (struct roce_cm_req){
        .service_id = roce_cm_sid(ip->space, ip->dport),
        .local_ca_guid = ca_guid,
        .local_qpn = param->qpn,
        .responder_resources = param->responder_resources,
        .initiator_depth = param->initiator_depth,
        .remote_cm_timeout = path->cm_timeout,
        .flow_control = param->flow_control,
        .starting_psn = param->starting_psn,
        .local_cm_timeout = path->cm_timeout,
        .retry_count = param->retry_count & 7u,
        .pkey = RNIC_CM_PKEY,
        .mtu = path->mtu,
        .rnr_retry_count = param->rnr_retry_count & 7u,
        .max_cm_retries = path->max_cm_retries,
        .srq = param->srq,
        .primary_local_lid = LID_PERMISSIVE,
        .primary_remote_lid = LID_PERMISSIVE,
        .primary_flow = path->flow,
        .primary_tclass = path->tclass,
        .primary_hop = path->hop_limit,
        .primary_ack_timeout = roce_cm_ack_timeout(path->ack_delay, path->packet_life_time),
    };
    switch (param->type) {
    case RNIC_QPT_RC: req->transport = ROCE_CM_TRANSPORT_RC; break;
    case RNIC_QPT_UC: req->transport = ROCE_CM_TRANSPORT_UC; break;
    case RNIC_QPT_XRC_SEND: /* XRC uses an extended transport type (R245) */
        req->transport = ROCE_CM_TRANSPORT_EXTENDED;
        req->ext_transport = ROCE_CM_EXT_TRANSPORT_XRC;
        break;
    default: return RNIC_ERR_INVALID;
    }
    memcpy(req->primary_local_gid, addr->local, 16);
    memcpy(req->primary_remote_gid, addr->remote, 16);
    roce_cm_rdmaip_build(&header, req->private_data);
    if (param->private_data)
        memcpy(req->private_data + ROCE_CM_RDMAIP_LEN, param->private_data, param->private_len);
    return RNIC_OK;
}

int rnic_cm_make_rep(struct roce_cm_rep *rep, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, uint64_t ca_guid)
{
    bool xrc = param->type == RNIC_QPT_XRC_RECV;

    if (param->private_len > RNIC_CM_REP_PRIVATE)
        return RNIC_ERR_INVALID;
    *rep = (struct roce_cm_rep){
        .local_qpn = xrc ? 0 : param->qpn,
        .local_eecn = xrc ? param->qpn : 0, /* Annex A14: the REP of an XRC target contains its QPN
                                             * in the field of the EE context */
        .starting_psn = param->starting_psn,
        .responder_resources = param->responder_resources,
        .initiator_depth = xrc ? 0 : param->initiator_depth, /* an XRC target sends no requests */
        .target_ack_delay = path->ack_delay,
        .flow_control = param->flow_control,
        .rnr_retry_count = param->rnr_retry_count & 7u,
        .srq = param->srq || xrc,
        .local_ca_guid = ca_guid,
    };
    if (param->private_data)
        memcpy(rep->private_data, param->private_data, param->private_len);
    return RNIC_OK;
}

int rnic_cm_make_sidr_req(struct roce_cm_sidr_req *req, const struct rnic_cm_ip *ip,
                          const void *private_data, size_t len)
{
    const struct roce_cm_rdmaip header = rdmaip_header_of(ip);

    if (len > RNIC_CM_SIDR_PRIVATE)
        return RNIC_ERR_INVALID;
    *req = (struct roce_cm_sidr_req){
        .pkey = RNIC_CM_PKEY,
        .service_id = roce_cm_sid(ip->space, ip->dport),
    };
    roce_cm_rdmaip_build(&header, req->private_data);
    if (private_data)
        memcpy(req->private_data + ROCE_CM_RDMAIP_LEN, private_data, len);
    return RNIC_OK;
}

static void get_rdmaip_address(uint8_t gid[16], const uint8_t from[16], bool ip4)
{
    memcpy(gid, from, 16);
    if (ip4) {
        memset(gid, 0, 10);
        memset(gid + 10, 0xFF, 2);
    }
}

bool rnic_cm_ip_of(const struct roce_cm_msg *msg, struct rnic_cm_ip *ip)
{
    struct roce_cm_rdmaip header;
    uint64_t sid = msg->kind == ROCE_CM_REQ ? msg->req.service_id : msg->sidr_req.service_id;

    if (roce_cm_rdmaip_read(&header, msg) != 0)
        return false;
    *ip = (struct rnic_cm_ip){
        .space = (enum roce_cm_port_space)roce_cm_sid_space(sid),
        .sport = header.sport,
        .dport = roce_cm_sid_port(sid),
    };
    get_rdmaip_address(ip->src, header.src, header.ipv == 4);
    get_rdmaip_address(ip->dst, header.dst, header.ipv == 4);
    return true;
}

static uint8_t clamp_rd_atomic(uint8_t resources)
{
    return resources < RNIC_RD_ATOMIC_MAX ? resources : RNIC_RD_ATOMIC_MAX;
}

void rnic_cm_qp_of(const struct rnic_cm_id *id, uint8_t ack_delay, struct rnic_cm_qp *out)
{
    const struct roce_cm_req *req = rnic_cm_id_req(id);
    const struct roce_cm_rep *rep = rnic_cm_id_rep(id);
    bool active = rnic_cm_id_active(id);
    uint8_t life = req->primary_ack_timeout ? (uint8_t)(req->primary_ack_timeout - 1) : 0;

    *out = (struct rnic_cm_qp){
        .dest_qpn = req->local_qpn,
        .sq_psn = active ? rep->starting_psn : req->starting_psn,
        .rq_psn = active ? req->starting_psn : rep->starting_psn,
        .mtu = req->mtu,
        .retry_cnt = req->retry_count,
        .rnr_retry = active ? rep->rnr_retry_count : req->rnr_retry_count,
    };
    if (active) {
        out->dest_qpn = roce_cm_rep_qpn(rep);
        out->max_rd_atomic = rep->responder_resources; /* the responder resources of the peer limit
                                                        * our outstanding READs (R238) */
        out->max_dest_rd_atomic = rep->initiator_depth;
        out->timeout = roce_cm_ack_timeout(rep->target_ack_delay, life);
    } else {
        bool rep_known = rep->local_comm_id != 0;

        out->max_rd_atomic = rep_known ? rep->initiator_depth : req->responder_resources;
        out->max_dest_rd_atomic = rep_known ? rep->responder_resources : req->initiator_depth;
        out->timeout = roce_cm_ack_timeout(ack_delay, life);
    }
    /* The REP of a peer may contain more than the REQ offered, and more than our device supports
     * (R238). */
    out->max_rd_atomic = clamp_rd_atomic(out->max_rd_atomic);
    out->max_dest_rd_atomic = clamp_rd_atomic(out->max_dest_rd_atomic);
}
