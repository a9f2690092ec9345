/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchange: the state of one exchange of CM messages, from its REQ on. The flow keeps the latest
 * ROCE_CM_EXCHANGES; a new one replaces the oldest. A pointer to one is valid until the next REQ.
 * Private to flow/.
 */
#ifndef FLOW_TABLE_CM_EXCHANGE_H
#define FLOW_TABLE_CM_EXCHANGE_H

#include "flow/base/state.h"

struct roce_cm_exchange {
    bool used;
    bool gone;           /* rejected or disconnected: its ids may be reused */
    uint32_t net;        /* encapsulation and VLANs */
    uint8_t addr[2][16]; /* [0] active, [1] passive side */
    uint32_t comm_id[2]; /* of the active and the passive side */
    uint32_t qpn[2];     /* 0 unknown */
    uint32_t psn[2];
    uint64_t tid, dreq_tid[2],
        dreq_again[2]; /* [side]: of the REQ; of its first DREQ; of its latest DREQ */
    bool dreq[2];
    uint32_t hash; /* hash of the REQ's content */
    struct roce_cm_req req;
    uint32_t req_frame, rep_frame, rtu_frame, dreq_frame,
        drep_frame; /* frame numbers, 0: not captured */
    uint64_t req_time;
    uint16_t seen; /* a bit for each captured enum roce_cm */
    uint8_t svc;   /* enum roce_svc */
};

/* Returns the newest exchange whose REQ had the id and the sender of `req`, or NULL. */
struct roce_cm_exchange *roce_cm_exchange_of_req(const struct roce_ctx *ctx,
                                                 const struct roce_cm_req *req);

/* Returns the exchange that a REP answers, or NULL if its REQ was not captured. */
struct roce_cm_exchange *roce_cm_exchange_of_rep(const struct roce_ctx *ctx,
                                                 const struct roce_cm_msg *msg);

/* Returns the exchange of any other message, by the ids in it, or NULL. *side is the sender: 0
 * active, 1 passive. If several have the same ids, it is the one of transaction `tid`, or the
 * newest. */
struct roce_cm_exchange *roce_cm_exchange_of(const struct roce_ctx *ctx, uint32_t local,
                                             uint32_t remote, uint64_t tid, int *side);

/* Begins an exchange with the REQ at hand. Without memory it is not followed. */
void roce_cm_exchange_begin(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

/* Returns whether `req` is equal to the REQ of the exchange. */
bool roce_cm_exchange_is_same_req(const struct roce_cm_exchange *s, const struct roce_cm_req *req);

/* Frees all exchanges. */
void roce_cm_exchange_free(struct roce_flow *flow);

#endif
