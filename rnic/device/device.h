/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Internals of the software RNIC. Private to this folder. */
#ifndef RNIC_DEVICE_H
#define RNIC_DEVICE_H

#include "base/entropy.h"
#include "device/ah.h"
#include "device/cq.h"
#include "device/delayed_ack.h"
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
    /* attr.gid_cnt is 1 plus the highest index in attr.gid that was ever set */
    struct rnic_attr attr;
    struct rnic_limits limits;
    struct rnic_entropy entropy;
    struct rnic_device_counters counters;
    struct rnic_transport_counters transport_counters;
    struct rnic_event_queue events;

    struct rnic_map keys;    /* key: L_Key or R_Key; value: rnic_mr */
    struct rnic_map windows; /* key: upper 24 bits of the window's keys; value: rnic_mw */
    struct rnic_map qpns;    /* key: QPN; value: rnic_qp */
    struct rnic_map srqns;   /* key: SRQ number; value: rnic_srq */
    struct rnic_map groups;  /* key: hash of the GID; value: rnic_mcast_group */
    uint32_t group_cnt;
    uint32_t ah_cnt;
    uint32_t pd_cnt;
    uint32_t cq_cnt;
    uint32_t armed_cqs; /* number of CQs that the program armed and that have not raised a
                         * notification since */
    uint32_t xrcd_cnt;
    struct rnic_timers timers;
    struct rnic_list armed; /* QPs that started their ACK timer after the last call of rnic_sent()
                             * */
    rnic_step_fn *step_fn;  /* function that the device calls at each step of a send request
                             * (rnic_watch), or NULL */
    void *step_user;
    rnic_time now;         /* latest time that a caller passed, ns */
    struct rnic_list cnps; /* QPs with a CNP to send */
    struct rnic_pacer pacer;
    struct rnic_slab slab;  /* memory of QPs and their queues */
    struct rnic_list ready; /* QPs that may have packets to send, in the order of sending */
    struct rnic_delayed_ack delayed_ack;
    /* CQs with a delayed notification, sorted by the end of the delay */
    struct rnic_heap moderated;
    struct rnic_list notified; /* CQs with notifications to fetch, oldest first */

    /* Lists of all objects of the device, for rnic_del(). */
    struct rnic_list pds;
    struct rnic_list mrs;
    struct rnic_list mws;
    struct rnic_list cqs;
    struct rnic_list qps;
    struct rnic_list ahs;
    struct rnic_list srqs;
    struct rnic_list xrcds;
    struct rnic_list steers;
    uint64_t steered; /* number of frames passed to rnic_steer_input() */

    struct roce_header_template cnp_env; /* envelope of the CNP that is being sent */
    struct roce_pkt rx;                  /* packet that is being received */
    struct roce_pkt tx;    /* packet that is being sent; only the headers that its opcode requires
                            * are valid */
    uint8_t scratch[4096]; /* buffer for a payload that is gathered from several SGEs, as large as
                            * the largest path MTU */
};

/* Sets the device's time to `now` unless `now` is earlier. Returns the device's time. */
static inline rnic_time rnic_clock(struct rnic *rnic, rnic_time now)
{
    if (now > rnic->now)
        rnic->now = now;
    return rnic->now;
}

#endif
