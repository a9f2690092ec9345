/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Device RNIC objects: the state of a device under test in this process, and the creation of its
 * objects. device_rnic.c calls device_rnic_make() for one kind of object after the other, for
 * example for PDs and CQs before the QPs that use them. device_rnic.c frees the objects with the
 * device.
 */
#ifndef REPLAY_DRILL_DEVICE_DEVICE_RNIC_OBJECTS_H
#define REPLAY_DRILL_DEVICE_DEVICE_RNIC_OBJECTS_H

#include "drill/device/device_cm.h"
#include "drill/device/rnic_api.h"

#define DEVICE_RNIC_GUARD_LEN  64u                 /* bytes before and after an MR */
#define DEVICE_RNIC_GUARD_BYTE 0xA5                /* value of these bytes */
#define DEVICE_RNIC_MEMORY_MAX (UINT64_C(1) << 26) /* maximum length of an MR, bytes */
#define DEVICE_RNIC_CQ_DEPTH   4096u
#define DEVICE_RNIC_RECV_MAX   1024u /* maximum number of receives in one drill */

/* A posted receive and its buffer in the device's receive memory. */
struct recv_buffer {
    int object; /* index of the QP or SRQ */
    uint64_t id;
    uint64_t off;
    uint32_t len;
    bool named; /* true: the script names the buffer, which is at `place`. false: the buffer is
                 * in the receive memory, at `off` */
    struct script_value place;
};

struct drill_device {
    const struct rnic_api *api;
    const struct script *script;
    const struct drill_net *net;
    struct rnic *rnic;
    struct rnic_pd *pd;
    struct rnic_xrcd *xrcd;
    struct rnic_cq *cq;
    struct {
        struct rnic_pd *pd;
        struct rnic_cq *cq;
        struct rnic_srq *srq;
        struct rnic_xrcd *xrcd;
        struct rnic_qp *qp;
        struct rnic_mr *mr;
        struct rnic_mw *mw;
        struct rnic_ah *ah;
        uint8_t *block; /* memory of an MR, between two guards */
        uint64_t len;
        uint32_t key, number; /* R_Key, and QPN or SRQ number. Valid even after the object was
                               * destroyed, because a drill may still use them */
    } at[SCRIPT_OBJECTS_MAX];
    uint8_t *recv_block;
    uint64_t recv_len, recv_used;
    struct rnic_pd *recv_pd[SCRIPT_OBJECTS_MAX]; /* PDs in which the receive memory is registered */
    struct rnic_mr *recv_mr[SCRIPT_OBJECTS_MAX];
    unsigned recv_mr_cnt;
    struct recv_buffer recv[DEVICE_RNIC_RECV_MAX];
    unsigned recv_cnt;
    struct device_cm cm;
};

/* Creates the object `i` of the script. Returns 0 or an enum rnic_error. */
int device_rnic_make(struct drill_device *dev, int i);

/* Returns the PD that the options name, or the default PD of the device if they name none. */
struct rnic_pd *device_rnic_pd(struct drill_device *dev, const struct script_options *o);

/* Returns the L_Key with which a QP of the PD accesses the receive memory. Registers the receive
 * memory in the PD at the first call. Returns 0 if out of memory. */
uint32_t device_rnic_recv_key(struct drill_device *dev, struct rnic_pd *pd);

/* Sets the attributes of the QP `i` to the values that the script names, or to the defaults. */
void device_rnic_qp_attr(const struct drill_device *dev, int i, struct rnic_qp_attr *attr);

/* Writes the bytes of `fill` to `mem`. */
void device_rnic_fill(uint8_t *mem, uint64_t len, const struct script_fill *fill);

/* Return the first address and the R_Key of a memory region, memory window or peer memory. */
uint64_t device_rnic_address(const struct drill_device *dev, int object);
uint32_t device_rnic_key(const struct drill_device *dev, int object);

#endif
