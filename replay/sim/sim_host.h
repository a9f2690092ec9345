/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Simulated host of a closed loop: one of our RNICs with one QP, the time at which its port is idle
 * again, and the oracle that judges its frames.
 *
 *   1. sim_host_open() creates the RNIC, sim_host_connect() its QP.
 *   2. sim_host_next() returns the time of the host's next event; sim_host_expire() runs the timers
 *      of the RNIC.
 *   3. sim_host_close() frees the RNIC. The results of the oracle stay readable.
 *
 * A zero-initialised struct sim_host is a closed host.
 */
#ifndef REPLAY_SIM_SIM_HOST_H
#define REPLAY_SIM_SIM_HOST_H

#include "device/rnic.h"
#include "sim/flow_oracle.h"

/* Start of virtual time, ns. */
#define SIM_TIME_BASE UINT64_C(1000000000)

/* Time to send one frame, ns: 4 KiB at 160 Gbit/s. This time limits the number of frames on the
 * link. */
#define SIM_HOST_TX_NS UINT64_C(200)

struct sim_host {
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_cq *cq;
    struct rnic_qp *qp;
    struct flow_oracle oracle;
    bool has_oracle;
    rnic_time tx_free; /* time at which the host can send its next frame, ns */
    bool pending;      /* the RNIC may have a frame to send */
};

/* Creates an RNIC with this address, a PD, and a CQ of `cqes` entries. `pkey` 0 keeps the
 * default P_Key. Returns NULL, or the reason of the failure. */
const char *sim_host_open(struct sim_host *host, const uint8_t addr[16], enum roce_encap encap,
                          const uint8_t mac[6], uint16_t pkey, uint32_t cqes);

/* Creates the QP and moves it to state `last`, which is RTS, or RTR if the QP only receives.
 * Returns NULL, or the reason of the failure. */
const char *sim_host_connect(struct sim_host *host, struct rnic_qp_init *init,
                             struct rnic_qp_attr *attr, enum rnic_qp_state last);

/* Finishes the oracle (flow_oracle_finish()) and frees the RNIC. */
void sim_host_close(struct sim_host *host);

/* Returns the number of frames that the RNIC received but did not pass to a QP. */
uint64_t sim_host_ignored(const struct sim_host *host);

/* Returns the time of the host's next event, ns. */
rnic_time sim_host_next(const struct sim_host *host);

/* Runs the timers that are due at `now`. */
void sim_host_expire(struct sim_host *host, rnic_time now);

#endif
