/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Marshalling: conversion of attributes between the kernel's form (rdma/ib_user_verbs.h,
 * ib_user_sa.h) and the program's. librdmacm calls these functions for responses of the rdma_cm
 * device. */
#include "verbs/objects.h"

#include <string.h>

void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *to, struct ib_uverbs_ah_attr *from)
{
    memcpy(to->grh.dgid.raw, from->grh.dgid, sizeof to->grh.dgid.raw);
    to->grh.flow_label = from->grh.flow_label;
    to->grh.sgid_index = from->grh.sgid_index;
    to->grh.hop_limit = from->grh.hop_limit;
    to->grh.traffic_class = from->grh.traffic_class;
    to->dlid = from->dlid;
    to->sl = from->sl;
    to->src_path_bits = from->src_path_bits;
    to->static_rate = from->static_rate;
    to->is_global = from->is_global;
    to->port_num = from->port_num;
}

void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *to, struct ib_uverbs_qp_attr *from)
{
    to->qp_state = (enum ibv_qp_state)from->qp_state;
    to->cur_qp_state = (enum ibv_qp_state)from->cur_qp_state;
    to->path_mtu = (enum ibv_mtu)from->path_mtu;
    to->path_mig_state = (enum ibv_mig_state)from->path_mig_state;
    to->qkey = from->qkey;
    to->rq_psn = from->rq_psn;
    to->sq_psn = from->sq_psn;
    to->dest_qp_num = from->dest_qp_num;
    to->qp_access_flags = from->qp_access_flags;
    to->cap.max_send_wr = from->max_send_wr;
    to->cap.max_recv_wr = from->max_recv_wr;
    to->cap.max_send_sge = from->max_send_sge;
    to->cap.max_recv_sge = from->max_recv_sge;
    to->cap.max_inline_data = from->max_inline_data;
    ibv_copy_ah_attr_from_kern(&to->ah_attr, &from->ah_attr);
    ibv_copy_ah_attr_from_kern(&to->alt_ah_attr, &from->alt_ah_attr);
    to->pkey_index = from->pkey_index;
    to->alt_pkey_index = from->alt_pkey_index;
    to->en_sqd_async_notify = from->en_sqd_async_notify;
    to->sq_draining = from->sq_draining;
    to->max_rd_atomic = from->max_rd_atomic;
    to->max_dest_rd_atomic = from->max_dest_rd_atomic;
    to->min_rnr_timer = from->min_rnr_timer;
    to->port_num = from->port_num;
    to->timeout = from->timeout;
    to->retry_cnt = from->retry_cnt;
    to->rnr_retry = from->rnr_retry;
    to->alt_port_num = from->alt_port_num;
    to->alt_timeout = from->alt_timeout;
}

/* Members that struct ibv_sa_path_rec and struct ib_user_path_rec have with the same name. */
#define PATH_MEMBERS(X)                                                                            \
    X(dlid)                                                                                        \
    X(slid)                                                                                        \
    X(raw_traffic)                                                                                 \
    X(flow_label)                                                                                  \
    X(reversible)                                                                                  \
    X(mtu)                                                                                         \
    X(pkey)                                                                                        \
    X(hop_limit)                                                                                   \
    X(traffic_class)                                                                               \
    X(numb_path)                                                                                   \
    X(sl)                                                                                          \
    X(mtu_selector)                                                                                \
    X(rate_selector)                                                                               \
    X(rate)                                                                                        \
    X(packet_life_time_selector)                                                                   \
    X(packet_life_time)                                                                            \
    X(preference)

void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *to, struct ib_user_path_rec *from)
{
    memcpy(to->dgid.raw, from->dgid, sizeof to->dgid.raw);
    memcpy(to->sgid.raw, from->sgid, sizeof to->sgid.raw);
#define X(member) to->member = (__typeof__(to->member))from->member;
    PATH_MEMBERS(X)
#undef X
}

void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *to, struct ibv_sa_path_rec *from)
{
    memcpy(to->dgid, from->dgid.raw, sizeof to->dgid);
    memcpy(to->sgid, from->sgid.raw, sizeof to->sgid);
#define X(member) to->member = (__typeof__(to->member))from->member;
    PATH_MEMBERS(X)
#undef X
}
