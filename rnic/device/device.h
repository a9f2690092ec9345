/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Device: what one software RNIC consists of. Private to this folder. */
#ifndef RNIC_DEVICE_H
#define RNIC_DEVICE_H

#include "device/ah.h"
#include "device/cq.h"
#include "device/delayed_ack.h"
#include "base/entropy.h"
#include "device/event.h"
#include "device/key.h"
#include "device/limits.h"
#include "device/list.h"
#include "device/map.h"
#include "device/mcast.h"
#include "device/mr.h"
#include "device/mw.h"
#include "device/pace.h"
#include "device/pd.h"
#include "device/qp.h"
#include "device/rnic.h"
#include "device/slab.h"
#include "device/srq.h"
#include "device/timer.h"
#include "device/xrcd.h"

struct rnic_device_counters {
#define X(name, text) uint64_t name;
    RNIC_DEVICE_COUNTERS(X)
#undef X
};

struct rnic {
    struct rnic_attr attr; /* gid_cnt: slots up to the last that was ever set */
    struct rnic_limits limits;
    struct rnic_entropy entropy;
    struct rnic_device_counters counters;
    struct rnic_transport_counters transport_counters;
    struct rnic_event_queue events;

    struct rnic_map keys;    /* rnic_mr by key */
    struct rnic_map windows; /* rnic_mw by the upper 24 bits of its keys */
    struct rnic_map qpns;    /* rnic_qp by QPN */
    struct rnic_map srqns;   /* rnic_srq by number */
    struct rnic_map groups;  /* rnic_mcast_group by a hash of its GID */
    uint32_t group_cnt;
    uint32_t ah_cnt;
    uint32_t pd_cnt;
    uint32_t cq_cnt;
    uint32_t xrcd_cnt;
    struct rnic_timers timers;
    rnic_step_fn *step_fn; /* or NULL */
    void *step_user;
    rnic_time now;         /* the latest that a caller named */
    struct rnic_list cnps; /* QPs that owe a CNP */
    struct rnic_pacer pacer;
    struct rnic_slab slab;  /* of QPs and their queues */
    struct rnic_list ready; /* QPs with something to send; the first is next */
    struct rnic_delayed_ack delayed_ack;
    struct rnic_list notified; /* CQs with notifications to take; the first is next */

    /* Everything there is, so that rnic_del() finds it. */
    struct rnic_list pds;
    struct rnic_list mrs;
    struct rnic_list mws;
    struct rnic_list cqs;
    struct rnic_list qps;
    struct rnic_list ahs;
    struct rnic_list srqs;
    struct rnic_list xrcds;

    struct roce_header_template cnp_env; /* of the CNP being sent */
    struct roce_pkt tx; /* the packet being sent; of its headers only those of its opcode count */
    uint8_t scratch[4096]; /* where a packet's payload is gathered; the largest path MTU */
};

/* Takes the caller's time, which does not go back. */
static inline rnic_time rnic_clock(struct rnic *rnic, rnic_time now)
{
    if (now > rnic->now)
        rnic->now = now;
    return rnic->now;
}

#endif
