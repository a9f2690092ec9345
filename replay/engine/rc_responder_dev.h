/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* stage.h - a responder address while it is played: our RNIC, its QPs and what they share. */
#ifndef REPLAY_ENGINE_RC_RESPONDER_DEV_H
#define REPLAY_ENGINE_RC_RESPONDER_DEV_H

#include "engine/rc_responder.h"
#include "infer/shared_memory.h"

/* A recorded response with a payload. */
struct shown {
    int64_t rel;
    uint32_t step;
};

#define NOT_HELD SIZE_MAX

/* A side while it is played. */
struct playing {
    struct run *run;
    struct rnic_qp *qp;
    bool over;           /* its QPN belongs to a later connection */
    uint32_t last;       /* step played last */
    struct shown *shown; /* sorted by PSN, then capture order */
    size_t shown_cnt;
    size_t held; /* first of its packets that wait for others', see sharing.h; or NOT_HELD */
    size_t held_last;
};

/* An SRQ that XRC requests name. */
struct shared {
    uint32_t srqn;
    struct rnic_srq *srq;
    uint32_t spare; /* WQEs posted that no message took */
};

/* One responder address while it is played. */
struct stage {
    struct drive *drive;
    struct device *device;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_mr *recv_mr;
    uint8_t *recv_buf;
    uint32_t recv_len;
    uint32_t recv_key;
    rnic_time last;       /* when the latest packet was played */
    uint32_t event;       /* see struct memory_reader */
    struct playing *play; /* per run of the drive; only this device's are used */
    uint8_t *invalidated; /* per region */
    struct rnic_xrcd *xrcd;
    struct shared *shared;
    size_t shared_cnt;
    size_t shared_cap;
    struct given_device *given; /* or NULL */
    struct sharing sharing;
    size_t held_cnt;
};

/* Makes the device of `any`'s address. NULL, or why it cannot be; stage_close() is wanted in both
 * cases. */
const char *stage_open(struct stage *st, const struct run *any);
void stage_close(struct stage *st);

/* The side's QP; created when its first packet comes, in place of an earlier one with its number.
 * NULL if it cannot be, see run->failed, or its time is over. */
struct rnic_qp *stage_qp(struct stage *st, uint32_t run, rnic_time now);

#endif
