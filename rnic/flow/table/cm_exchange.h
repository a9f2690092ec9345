/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchange: state of one exchange of CM messages, from its REQ on. The flow stores the latest
 * ROCE_CM_EXCHANGES exchanges; a new one replaces the oldest. A pointer to an exchange is valid
 * until the next REQ. Private to flow/.
 */
#ifndef FLOW_TABLE_CM_EXCHANGE_H
#define FLOW_TABLE_CM_EXCHANGE_H

#include "flow/base/state.h"

struct roce_cm_exchange {
    bool used;
    bool gone;           /* the exchange was rejected or disconnected: its ids may be reused */
    uint32_t net;        /* encapsulation and VLANs */
    uint8_t addr[2][16]; /* address of the active side [0] and of the passive side [1] */
    uint32_t comm_id[2]; /* communication id of the active side [0] and of the passive side [1] */
    uint32_t qpn[2];     /* QPN of each side; 0 if unknown */
    uint32_t psn[2];
    uint64_t tid, dreq_tid[2], dreq_again[2]; /* transaction ids by side: of the REQ, of the first
                                                 DREQ, of the latest DREQ */
    bool dreq[2];
    uint32_t hash; /* hash of the REQ's content */
    struct roce_cm_req req;
    uint32_t req_frame, rep_frame, rtu_frame, dreq_frame,
        drep_frame; /* frame number of each CM message; 0 if not captured */
    uint64_t req_time;
    uint16_t seen; /* bit set of the captured enum roce_cm */
    uint8_t svc;   /* enum roce_svc */
};

/* Returns the newest exchange whose REQ had the communication id and sender of `req`, or NULL. */
struct roce_cm_exchange *roce_cm_exchange_of_req(const struct roce_ctx *ctx,
                                                 const struct roce_cm_req *req);

/* Returns the exchange that the REP `msg` belongs to, or NULL if its REQ was not captured. */
struct roce_cm_exchange *roce_cm_exchange_of_rep(const struct roce_ctx *ctx,
                                                 const struct roce_cm_msg *msg);

/* Returns the exchange with the communication ids of a message other than REQ and REP, or NULL.
 * Sets *side to the sender: 0 active, 1 passive. If several exchanges match, prefers transaction
 * `tid`, then the newest. */
struct roce_cm_exchange *roce_cm_exchange_of(const struct roce_ctx *ctx, uint32_t local,
                                             uint32_t remote, uint64_t tid, int *side);

/* Starts a CM exchange with the current REQ. If memory is exhausted, the exchange is not tracked.
 */
void roce_cm_exchange_begin(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

/* Returns whether `req` is identical to the REQ of the exchange. */
bool roce_cm_exchange_is_same_req(const struct roce_cm_exchange *s, const struct roce_cm_req *req);

/* Frees all exchanges. */
void roce_cm_exchange_free(struct roce_flow *flow);

#endif
