/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device CM: the communication manager (CM) of the device under test in this process, and the
 * program that uses the CM. The program has one listener and one CM exchange.
 *
 *   1. device_cm_open() on a device with a GSI QP. A zero-initialised struct device_cm is not open.
 *   2. device_cm_run() after each input and at the time of device_cm_deadline().
 *   3. device_cm_close() before the device is freed.
 */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_CM_H
#define REPLAY_DRILL_DEVICE_DEVICE_CM_H

#include "cm/cm.h"
#include "drill/device.h"

#define DEVICE_CM_RECVS    32u  /* receives posted on QP 1 */
#define DEVICE_CM_RECV_LEN 296u /* length of a receive buffer: GRH area (40) and MAD (256) */
#define DEVICE_CM_EVENTS   64u  /* maximum number of stored CM events */

struct device_cm {
    struct rnic_cm *cm;
    struct rnic_cm_id *listener, *id;
    struct rnic_cm_addr addr;
    struct rnic_cq *cq;
    struct rnic_qp *gsi;
    struct rnic_ah *ah;
    struct rnic_mr *mr;
    uint8_t *buf; /* receive buffers, followed by one send buffer */
    unsigned event[DEVICE_CM_EVENTS];
    unsigned event_cnt;
};

/* Creates the GSI QP and the CM. Returns 0 or an enum rnic_error. */
int device_cm_open(struct device_cm *c, struct rnic *rnic, struct rnic_pd *pd,
                   const struct drill_net *net);
void device_cm_close(struct device_cm *c);

/* Runs one of the CM verbs. `qpn`: QPN of the program's QP. `psn`: PSN of the first request that
 * the peer sends to this QP. */
int device_cm_verb(struct device_cm *c, const struct script_event *event, uint32_t qpn,
                   uint32_t psn, uint64_t now);

/* Passes MADs between the GSI QP and the CM, and runs the timers of the CM. */
void device_cm_run(struct device_cm *c, uint64_t now);
uint64_t device_cm_deadline(const struct device_cm *c);

/* Removes the oldest CM event and sets *type. Returns false if there is none. */
bool device_cm_event(struct device_cm *c, unsigned *type);

#endif
