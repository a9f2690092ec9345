/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Conn: from what a program says of a connection to the messages of cm.h, and from them to the
 * attributes of its QP. Port spaces and addresses are those of the RDMA-IP CM (Annex A11).
 */
#ifndef RNIC_CM_CONN_H
#define RNIC_CM_CONN_H

#include "cm/cm.h"

/* Who asks whom: addresses as GIDs (IPv4 as ::ffff:a.b.c.d). */
struct rnic_cm_ip {
    enum roce_cm_port_space space;
    uint16_t sport, dport;
    uint8_t src[16], dst[16];
};

/* The path and the manners of a connection. */
struct rnic_cm_path {
    uint8_t mtu;              /* code: 1..5 for 256..4096 */
    uint8_t packet_life_time; /* code */
    uint8_t tclass, hop_limit;
    uint32_t flow;
    uint8_t cm_timeout;     /* code: how long a CM may take to answer */
    uint8_t max_cm_retries; /* 0..15 */
    uint8_t ack_delay;      /* code: how long a responder here may take to acknowledge */
};

/* A path on Ethernet between CMs that are programs: 2^14 packet lifetime (67 ms), 2^18 for a CM
 * (1.1 s; Linux has 2^20), 15 repetitions. Without MTU and hop limit. */
void rnic_cm_path_defaults(struct rnic_cm_path *path);

/* As rdma_connect(3) and rdma_accept(3) have it. */
struct rnic_cm_param {
    enum rnic_qp_type type; /* RC, UC, XRC_SEND, XRC_RECV */
    uint32_t qpn;
    uint32_t starting_psn; /* the peer begins with it (R240) */
    uint8_t responder_resources, initiator_depth;
    uint8_t retry_count, rnr_retry_count; /* 0..7 */
    bool flow_control, srq;
    const void *private_data; /* NULL without */
    size_t private_len;
};

#define RNIC_CM_REQ_PRIVATE  56u  /* bytes that are left in a REQ (R242) */
#define RNIC_CM_SIDR_PRIVATE 180u /* and in a SIDR_REQ */
#define RNIC_CM_REP_PRIVATE  196u

/* RNIC_ERR_INVALID for a QP type that is not connected or private data that does not fit. */
int rnic_cm_make_req(struct roce_cm_req *req, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, const struct rnic_cm_ip *ip,
                     const struct rnic_cm_addr *addr, uint64_t ca_guid);
int rnic_cm_make_rep(struct roce_cm_rep *rep, const struct rnic_cm_param *param,
                     const struct rnic_cm_path *path, uint64_t ca_guid);
int rnic_cm_make_sidr_req(struct roce_cm_sidr_req *req, const struct rnic_cm_ip *ip,
                          const void *private_data, size_t len);

/* Who asked, of a REQ or SIDR_REQ of the RDMA-IP CM. False if it is not one. */
bool rnic_cm_ip_of(const struct roce_cm_msg *msg, struct rnic_cm_ip *ip);

/* The attributes that the messages gave the QP of an id, each one that a device takes. Of a message
 * that did not come yet: 0. */
struct rnic_cm_qp {
    uint32_t dest_qpn;
    uint32_t sq_psn, rq_psn; /* R240 */
    uint8_t mtu;             /* code */
    uint8_t max_rd_atomic, max_dest_rd_atomic;
    uint8_t timeout, retry_cnt, rnr_retry;
};

void rnic_cm_qp_of(const struct rnic_cm_id *id, uint8_t ack_delay, struct rnic_cm_qp *out);

/* The local ACK timeout for a responder's delay and a packet lifetime, all codes (R239). */
uint8_t rnic_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time);

#endif
