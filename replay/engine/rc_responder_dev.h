/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Responder device: one responder address during the replay: our RNIC, its QPs and what they
 * share. */
#ifndef REPLAY_ENGINE_RC_RESPONDER_DEV_H
#define REPLAY_ENGINE_RC_RESPONDER_DEV_H

#include "engine/rc_responder.h"
#include "infer/shared_memory.h"

/* A recorded response with a payload. */
struct recorded_payload {
    int64_t rel;
    uint32_t event;
};

#define NOT_HELD SIZE_MAX

/* State of one direction during the replay. */
struct dir_state {
    struct rc_direction *dir;
    struct rnic_qp *qp;
    bool over;                        /* its QPN was reused by a later connection */
    uint32_t last;                    /* event played last */
    struct recorded_payload *payload; /* sorted by PSN, then capture order */
    size_t payload_cnt;
    size_t held; /* first of its packets that wait for others', see shared_memory.h; or NOT_HELD */
    size_t held_last;
};

/* A shared receive queue that XRC requests name. */
struct responder_srq {
    uint32_t srqn;
    struct rnic_srq *srq;
    uint32_t spare; /* posted WQEs that are not consumed yet */
};

/* One responder address while it is played. */
struct rc_responder_dev {
    struct session *session;
    struct responder_host *host;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_mr *recv_mr;
    uint8_t *recv_buf;
    uint32_t recv_len;
    uint32_t recv_key;
    rnic_time last;          /* when the latest packet was played */
    uint32_t app_active;     /* see struct shadow_reader */
    struct dir_state *state; /* per run of the drive; only this device's are used */
    uint8_t *invalidated;    /* per region */
    struct rnic_xrcd *xrcd;
    struct responder_srq *srq;
    size_t srq_cnt;
    size_t srq_cap;
    struct host_override *override; /* or NULL */
    struct shared_memory sharing;
    size_t held_cnt;
};

/* Makes the device of `any`'s address. NULL, or why it cannot be; cm_replay_dev_close() is to be
 * called in both cases. */
const char *rc_responder_dev_open(struct rc_responder_dev *dev, const struct rc_direction *any);
void rc_responder_dev_close(struct rc_responder_dev *dev);

/* The direction's QP; created when its first packet comes, in place of an earlier one with its
 * number. NULL if it cannot be, see run->failed, or its time is over. */
struct rnic_qp *rc_responder_dev_qp(struct rc_responder_dev *dev, uint32_t dir, rnic_time now);

#endif
