/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Engine: what a CM consists of. Private to this folder. */
#ifndef RNIC_CM_ENGINE_H
#define RNIC_CM_ENGINE_H

#include "cm/cm.h"
#include "base/heap.h"
#include "device/list.h"
#include "device/map.h"

#define CM_OUT_FIRST   64u
#define CM_OUT_MAX     4096u /* a thousand connections that end at once, and what they have to say */
#define CM_BUCKETS     1024u
#define CM_MRA_TIMEOUT 24u /* code: 69 s, as Linux asks for (cma.c, CMA_CM_MRA_SETTING) */

struct rnic_cm_id {
    struct rnic_cm *cm;
    struct rnic_list all;      /* in cm->ids */
    struct rnic_list listener; /* in cm->listeners */
    struct rnic_list by_remote, by_qpn;
    void *user;
    bool deleted; /* nobody's any more */
    bool active;  /* sent the REQ or SIDR_REQ */
    enum rnic_cm_state state;
    uint32_t local, remote;
    uint64_t remote_guid;
    struct rnic_cm_addr addr;
    uint64_t tid; /* of the message that began the exchange */

    uint64_t service_id; /* LISTEN */
    bool at_gid;         /* only at addr.local */

    /* What is repeated, by time or because the peer repeats itself. */
    uint8_t sent[ROCE_MAD_SIZE];
    enum roce_cm sent_kind; /* ROCE_CM_MSG_CNT: nothing */
    uint8_t retries_left;   /* repetitions */
    uint64_t timeout;       /* ns */
    struct rnic_heap_node timer;

    uint32_t local_qpn, remote_qpn;
    struct roce_cm_req req;
    struct roce_cm_rep rep;
    uint32_t request_id; /* SIDR */
};

struct cm_out {
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;
};

#define CM_EARLY_MAX 64u

/* A request for a service that nobody has yet. */
struct cm_early_request {
    struct roce_cm_msg msg;
    struct rnic_cm_addr addr;
    rnic_time until;
};

struct rnic_cm {
    struct rnic_cm_attr attr;
    struct rnic_map by_local;
    struct rnic_list ids;
    struct rnic_list listeners;
    struct rnic_list by_remote[CM_BUCKETS], by_qpn[CM_BUCKETS];
    uint32_t id_cnt;
    uint32_t id_next;
    struct rnic_heap timers;
    unsigned disconnecting;

    struct cm_early_request early[CM_EARLY_MAX];
    unsigned early_cnt;

    struct cm_out *out; /* a ring that grows up to CM_OUT_MAX; what is more is lost, as on a wire */
    unsigned out_cap, out_first, out_cnt;

    struct rnic_cm_event *event;
    size_t event_cap, event_first, event_cnt; /* cap: a power of two */
};

/* 4.096 us * 2^code. */
static inline uint64_t cm_code_ns(unsigned code)
{
    return UINT64_C(4096) << (code & 31);
}

bool cm_is_own_comm_id(const struct rnic_cm *cm, uint32_t comm_id);

/* Changes the state, and with it which tables the id is in. */
void cm_enter(struct rnic_cm_id *id, enum rnic_cm_state state);

/* The timer of the id, RNIC_NEVER stops it. */
void cm_timer(struct rnic_cm_id *id, rnic_time at);

/* Sends a message of the exchange: keeps it for repetition. With `retries` it is repeated by time
 * as well. */
void cm_send(struct rnic_cm_id *id, struct roce_cm_msg *msg, uint64_t timeout, uint8_t retries,
             rnic_time now);
void cm_send_again(struct rnic_cm_id *id);

/* Sends one that is not kept. */
void cm_send_once(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                  const struct rnic_cm_addr *addr);

void cm_post_event(struct rnic_cm_id *id, enum rnic_cm_event_type type, struct rnic_cm_id *listener,
                   const struct roce_cm_msg *msg);

/* Waits until packets and copies of messages cannot come any more, then ends the id. */
void cm_enter_timewait(struct rnic_cm_id *id, rnic_time now);
void cm_free_id(struct rnic_cm_id *id);

/* The peer, for look-ups. */
void cm_set_peer(struct rnic_cm_id *id, uint32_t remote, uint64_t guid, uint32_t qpn);
struct rnic_cm_id *cm_find_remote(struct rnic_cm *cm, uint32_t remote, uint64_t guid,
                                  const struct rnic_cm_addr *addr);
struct rnic_cm_id *cm_find_qpn(struct rnic_cm *cm, uint32_t qpn, uint64_t guid,
                               const struct rnic_cm_addr *addr);

/* One that listens at the very GID before one that listens everywhere. */
struct rnic_cm_id *cm_find_listener(struct rnic_cm *cm, uint64_t service_id, const uint8_t gid[16]);

/* A REQ or SIDR_REQ; `waited`: it gets an answer now. */
bool cm_handle_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                       const struct rnic_cm_addr *addr, rnic_time now, bool no_wait);

/* early_requests.c: keeps a request whose service nobody has; false if it is to be answered at
 * once. */
bool cm_keep_early_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                           const struct rnic_cm_addr *addr, rnic_time now);
rnic_time cm_early_deadline(const struct rnic_cm *cm);
/* Removes a request whose time is up and returns it in *out; false if there is none. */
bool cm_early_take_due(struct rnic_cm *cm, rnic_time now, struct cm_early_request *out);
/* Somebody listens: who asked for it is due. */
void cm_early_listen(struct rnic_cm *cm, uint64_t service_id);

/* The messages that more than one place sends. */
void cm_send_rej(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *data,
                 size_t len);
void cm_send_dreq(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now);
void cm_send_drep(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now);

#endif
