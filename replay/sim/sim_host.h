/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * End of a closed loop: one device of ours with one QP, when it sends next, and who judges it.
 */
#ifndef REPLAY_SIM_SIM_HOST_H
#define REPLAY_SIM_SIM_HOST_H

#include "device/rnic.h"
#include "sim/flow_oracle.h"

/* Virtual time begins here. */
#define SIM_TIME_BASE UINT64_C(1000000000)

/* One frame leaves an end in this time: 4 KiB at 160 Gbit/s. It bounds what is on the link. */
#define SIM_HOST_TX_NS UINT64_C(200)

/* All zero is an end that is not open: sim_host_close() may be called. */
struct sim_host {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct flow_oracle oracle;
    bool has_oracle;
    rnic_time tx_free; /* when it can send next */
    bool pending;      /* it may have a frame to send */
};

/* The device of an address, with a PD and a CQ of `cqes`. `pkey` 0: the default one only. NULL, or
 * why it cannot be. */
const char *sim_host_open(struct sim_host *host, const uint8_t addr[16], enum roce_encap encap,
                          const uint8_t mac[6], uint16_t pkey, uint32_t cqes);

/* Its QP, brought to RTS; or to RTR if it only receives. NULL, or why it cannot be. */
const char *sim_host_connect(struct sim_host *host, struct rnic_qp_init *init,
                             struct rnic_qp_attr *attr, enum rnic_qp_state last);

/* Frees all but what the judge found. */
void sim_host_close(struct sim_host *host);

/* Frames that reached the device and none of its QPs. */
uint64_t sim_host_ignored(const struct sim_host *host);

/* When it has something to do. */
rnic_time sim_host_next(const struct sim_host *host);

/* Lets its timers fire that are due. */
void sim_host_expire(struct sim_host *host, rnic_time now);

#endif
