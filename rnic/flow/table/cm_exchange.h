/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM slot: what is kept of one CM exchange, from its REQ on. There are ROCE_CM_EXCHANGES; the
 * newest takes the place of the oldest. Slots belong to the flow, and a pointer to one is valid
 * until the next REQ. Private to flow/.
 */
#ifndef FLOW_TABLE_CM_EXCHANGE_H
#define FLOW_TABLE_CM_EXCHANGE_H

#include "flow/base/state.h"

struct roce_cm_exchange {
    bool used;
    bool gone;           /* refused or at its end: its ids may be another's */
    uint32_t net;        /* encapsulation and VLANs */
    uint8_t addr[2][16]; /* active, passive */
    uint32_t comm_id[2]; /* likewise, as the next */
    uint32_t qpn[2];     /* 0 unknown */
    uint32_t psn[2];
    uint64_t tid, dreq_tid[2], dreq_again[2]; /* by sender; of its first DREQ and its latest */
    bool dreq[2];
    uint32_t hash; /* of the REQ's content */
    struct roce_cm_req req;
    uint32_t req_frame, rep_frame, rtu_frame, dreq_frame, drep_frame; /* 0: not captured */
    uint64_t req_time;
    uint16_t seen; /* a bit for each enum roce_cm */
    uint8_t svc;   /* enum roce_svc */
};

/* The newest exchange whose REQ had the id of `req` and its sender; NULL if there is none. */
struct roce_cm_exchange *roce_cm_exchange_of_req(const struct roce_ctx *ctx,
                                                 const struct roce_cm_req *req);

/* The exchange that a REP answers; NULL where its REQ was not captured. */
struct roce_cm_exchange *roce_cm_exchange_of_rep(const struct roce_ctx *ctx,
                                                 const struct roce_cm_msg *msg);

/* The exchange that any other message belongs to, by the ids it carries, or NULL; *side is its
 * sender: 0 active, 1 passive. Of several with the same ids, as hosts behind one address may choose
 * them, it is the one of transaction `tid`, or the newest. */
struct roce_cm_exchange *roce_cm_exchange_of(const struct roce_ctx *ctx, uint32_t local,
                                             uint32_t remote, uint64_t tid, int *side);

/* Keeps the REQ at hand. Without memory for slots it is forgotten. */
void roce_cm_exchange_begin(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

/* Whether `req` says what the exchange's REQ said. */
bool roce_cm_exchange_is_same_req(const struct roce_cm_exchange *s, const struct roce_cm_req *req);

/* Gives the memory of all slots back. */
void roce_cm_exchange_free(struct roce_flow *flow);

#endif
