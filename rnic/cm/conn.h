/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Connection parameters: builds CM messages (cm.h) from the parameters of a program, and QP
 * attributes from CM messages. Port spaces and addresses are as in the RDMA-IP CM (Annex A11). */
#ifndef RNIC_CM_CONN_H
#define RNIC_CM_CONN_H

#include "cm/cm.h"

/* Port space, ports and addresses of a connection request (REQ or SIDR_REQ). Addresses are GIDs
 * (IPv4 as ::ffff:a.b.c.d). */
struct rnic_cm_ip {
    enum roce_cm_port_space space;
    uint16_t sport, dport;
    uint8_t src[16], dst[16];
};

#define RNIC_CM_PKEY 0xFFFFu /* P_Key of all connections */

/* Path and timeouts of a connection. */
struct rnic_cm_path {
    uint8_t mtu;              /* path MTU code: 1..5 for 256..4096 bytes */
    uint8_t packet_life_time; /* packet lifetime code: 4.096 us * 2^n */
    uint8_t tclass, hop_limit;
    uint32_t flow;
    uint8_t cm_timeout;     /* CM response timeout of the peer, as a code (4.096 us * 2^n) */
    uint8_t max_cm_retries; /* maximum number of CM retransmissions, 0..15 */
    uint8_t ack_delay;      /* ACK delay of the local responder, as a code (4.096 us * 2^n) */
};

/* Sets the defaults for software CMs on Ethernet, as codes: packet lifetime 14 (67 ms), CM response
 * timeout 18 (1.1 s; Linux has 20), ACK delay 12 (17 ms); and 15 retries. All other members, also
 * MTU and hop limit, are 0. */
void rnic_cm_path_defaults(struct rnic_cm_path *path);

/* Parameters of rdma_connect(3) and rdma_accept(3). */
struct rnic_cm_param {
    enum rnic_qp_type type; /* QP type: RC, UC, XRC_SEND or XRC_RECV */
    uint32_t qpn;
    uint32_t starting_psn; /* PSN at which the peer must start its requests (R240) */
    uint8_t responder_resources, initiator_depth;
    uint8_t retry_count, rnr_retry_count; /* retry count and RNR retry count, 0..7 */
    bool flow_control, srq;
    const void *private_data; /* private data, or NULL */
    size_t private_len;
};

#define RNIC_CM_REQ_PRIVATE  56u  /* maximum private data in a REQ, bytes (R242) */
#define RNIC_CM_SIDR_PRIVATE 180u /* maximum private data in a SIDR_REQ, bytes */
#define RNIC_CM_REP_PRIVATE  196u

/* Build a REQ, REP or SIDR_REQ. Return RNIC_OK, or RNIC_ERR_INVALID if the QP type has no
 * connections or the private data is too long. */
int rnic_cm_make_req(struct roce_cm_req *req, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, const struct rnic_cm_ip *ip,
                     const struct rnic_cm_addr *addr, uint64_t ca_guid);
int rnic_cm_make_rep(struct roce_cm_rep *rep, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, uint64_t ca_guid);
int rnic_cm_make_sidr_req(struct roce_cm_sidr_req *req, const struct rnic_cm_ip *ip,
                          const void *private_data, size_t len);

/* Reads port space, ports and addresses of a REQ or SIDR_REQ of the RDMA-IP CM. Returns true, or
 * false for any other message. */
bool rnic_cm_ip_of(const struct roce_cm_msg *msg, struct rnic_cm_ip *ip);

/* QP attributes that follow from the CM messages of an id, limited to what our device accepts. An
 * attribute is 0 if the message that contains it has not arrived. */
struct rnic_cm_qp {
    uint32_t dest_qpn;
    uint32_t sq_psn, rq_psn; /* starting PSNs of the requests that this QP sends, and of those that
                              * it receives (R240) */
    uint8_t mtu;             /* path MTU code */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    uint8_t timeout, retry_cnt, rnr_retry;
};

void rnic_cm_qp_of(const struct rnic_cm_id *id, uint8_t ack_delay, struct rnic_cm_qp *out);

#endif
