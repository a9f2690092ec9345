/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Simulated host of a closed loop: one of our devices with one QP, its transmit clock and its
 * judge.
 *
 *   1. sim_host_open() creates the device, sim_host_connect() its QP.
 *   2. sim_host_next() is the time of its next event; sim_host_expire() runs its timers.
 *   3. sim_host_close() frees the device. The results of the oracle stay readable.
 *
 * A host that is all zero is closed.
 */
#ifndef REPLAY_SIM_SIM_HOST_H
#define REPLAY_SIM_SIM_HOST_H

#include "device/rnic.h"
#include "sim/flow_oracle.h"

/* Start of virtual time, ns. */
#define SIM_TIME_BASE UINT64_C(1000000000)

/* Time to send one frame, ns: 4 KiB at 160 Gbit/s. It bounds the number of frames on the link. */
#define SIM_HOST_TX_NS UINT64_C(200)

struct sim_host {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct flow_oracle oracle;
    bool has_oracle;
    rnic_time tx_free; /* when it can send the next frame */
    bool pending;      /* it may have a frame to send */
};

/* Creates a device with this address, a PD and a CQ of `cqes` entries. `pkey` 0 keeps the
 * default P_Key. Returns NULL, or the reason why it cannot be done. */
const char *sim_host_open(struct sim_host *host, const uint8_t addr[16], enum roce_encap encap,
                          const uint8_t mac[6], uint16_t pkey, uint32_t cqes);

/* Creates the QP and brings it to the state `last`: RTS, or RTR if it only receives. Returns
 * NULL, or the reason why it cannot be done. */
const char *sim_host_connect(struct sim_host *host, struct rnic_qp_init *init,
                             struct rnic_qp_attr *attr, enum rnic_qp_state last);

/* Ends judging and frees the device. */
void sim_host_close(struct sim_host *host);

/* Returns the number of frames that reached the device but no QP. */
uint64_t sim_host_ignored(const struct sim_host *host);

/* Returns when the host has its next event, ns. */
rnic_time sim_host_next(const struct sim_host *host);

/* Runs the timers that are due. */
void sim_host_expire(struct sim_host *host, rnic_time now);

#endif
