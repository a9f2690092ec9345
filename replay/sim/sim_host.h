/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * End of a closed loop: one device of ours with one QP, when it sends next, and who judges it.
 */
#ifndef REPLAY_SIM_SIM_HOST_H
#define REPLAY_SIM_SIM_HOST_H

#include "device/rnic.h"
#include "sim/flow_oracle.h"

/* Virtual time begins here. */
#define END_TIME_BASE UINT64_C(1000000000)

/* One frame leaves an end in this time: 4 KiB at 160 Gbit/s. It bounds what is on the link. */
#define END_TX_NS UINT64_C(200)

/* All zero is an end that is not open: end_close() may be called. */
struct end {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct judge judge;
    bool judged;
    rnic_time tx_free; /* when it can send next */
    bool pending;      /* it may have a frame to send */
};

/* The device of an address, with a PD and a CQ of `cqes`. `pkey` 0: the default one only. NULL, or
 * why it cannot be. */
const char *end_open(struct end *end, const uint8_t addr[16], enum roce_encap encap,
                     const uint8_t mac[6], uint16_t pkey, uint32_t cqes);

/* Its QP, brought to RTS; or to RTR if it only receives. NULL, or why it cannot be. */
const char *end_connect(struct end *end, struct rnic_qp_init *init, struct rnic_qp_attr *attr,
                        enum rnic_qp_state last);

/* Frees all but what the judge found. */
void end_close(struct end *end);

/* Frames that reached the device and none of its QPs. */
uint64_t end_ignored(const struct end *end);

/* When it has something to do. */
rnic_time end_next(const struct end *end);

/* Lets its timers fire that are due. */
void end_expire(struct end *end, rnic_time now);

#endif
