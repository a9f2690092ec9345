/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM exchange: data about the CM messages that set up or end one connection, from the REQ on. The
 * analysis stores the latest ROCE_CM_EXCHANGES exchanges; a new one replaces the oldest. A pointer
 * to an exchange is valid until the next REQ. Used only in rnic/flow.
 */
#ifndef FLOW_TABLE_CM_EXCHANGE_H
#define FLOW_TABLE_CM_EXCHANGE_H

#include "flow/base/state.h"

struct roce_cm_exchange {
    bool used;
    bool gone;           /* the exchange has ended (REJ or DREP), so its communication ids may be
                          * reused for another exchange */
    uint32_t net;        /* encapsulation and VLANs */
    uint8_t addr[2][16]; /* addresses of the active side [0] and of the passive side [1] */
    uint32_t comm_id[2]; /* communication ids of the active side [0] and of the passive side [1] */
    uint32_t qpn[2];     /* QPN of each side; 0 if unknown */
    uint32_t psn[2];
    uint64_t tid, dreq_tid[2], dreq_again[2]; /* transaction ids of the REQ, and of the first and of
                                               * the latest DREQ of each side */
    bool dreq[2];
    uint32_t hash; /* hash of the REQ's content */
    struct roce_cm_req req;
    uint32_t req_frame, rep_frame, rtu_frame, dreq_frame,
        drep_frame; /* frame numbers of the CM messages; 0 if not captured */
    uint64_t req_time, rep_time, dreq_time;
    uint8_t reqs;  /* number of captured transmissions of the REQ, at most 255 */
    uint16_t seen; /* bit set of enum roce_cm: the messages captured so far */
    uint8_t svc;   /* enum roce_svc */
};

/* Returns the newest exchange that began with a REQ like the current packet `req`: from the same
 * sender, with the same communication id. Returns NULL if there is none. */
struct roce_cm_exchange *roce_cm_exchange_of_req(const struct roce_ctx *ctx,
                                                 const struct roce_cm_req *req);

/* Returns the exchange that the REP `msg` belongs to, or NULL if its REQ was not captured. */
struct roce_cm_exchange *roce_cm_exchange_of_rep(const struct roce_ctx *ctx,
                                                 const struct roce_cm_msg *msg);

/* Returns the exchange to which a message other than REQ and REP belongs, by its communication ids
 * `local` and `remote`, or NULL. Sets *side to the side that sent the message: 0 active, 1 passive.
 * If several exchanges match, prefers one with transaction id `tid`, then the newest. */
struct roce_cm_exchange *roce_cm_exchange_of(const struct roce_ctx *ctx, uint32_t local,
                                             uint32_t remote, uint64_t tid, int *side);

/* Stores a new CM exchange, which begins with the current REQ `msg`. If memory is exhausted, the
 * exchange is not stored. */
void roce_cm_exchange_begin(struct roce_ctx *ctx, const struct roce_cm_msg *msg);

/* Returns whether `req` has the same content as the REQ of the exchange (compares a hash). */
bool roce_cm_exchange_is_same_req(const struct roce_cm_exchange *s, const struct roce_cm_req *req);

/* Frees all exchanges. */
void roce_cm_exchange_free(struct roce_flow *flow);

#endif
