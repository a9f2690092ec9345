/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Engine: state of a CM and the functions that its files share. Private to this folder. A file
 * calls only files to its right: timers.c -> input.c -> half_open.c -> call.c -> early_requests.c
 * -> engine.c. */
#ifndef RNIC_CM_ENGINE_H
#define RNIC_CM_ENGINE_H

#include "base/heap.h"
#include "cm/cm.h"
#include "device/list.h"
#include "device/map.h"

#define CM_OUT_FIRST 64u /* initial size of the queue of MADs */
/* maximum number of queued MADs, enough for a thousand connections that end together */
#define CM_OUT_MAX     4096u
#define CM_BUCKET_BITS 10u
#define CM_BUCKETS     (1u << CM_BUCKET_BITS) /* number of lists in a hash table */
/* service timeout in an MRA, as a code: 4.096 us * 2^24 = 69 s, as in Linux (cma.c,
 * CMA_CM_MRA_SETTING) */
#define CM_MRA_TIMEOUT 24u

/* List of exchanges, the oldest one first. The engine has three kinds of lists. cm->half_open
 * contains all half-open exchanges (half_open.c). Each list in cm->by_source contains the half-open
 * exchanges of the peers with one hash of the GID. cm->rejected contains the rejected exchanges. */
struct cm_source {
    struct rnic_list ids;
    unsigned cnt;
};

struct rnic_cm_id {
    struct rnic_cm *cm;
    struct rnic_list all;      /* link in cm->ids */
    struct rnic_list listener; /* link in cm->listeners */
    struct rnic_list by_remote, by_qpn;
    struct rnic_list half_open; /* link in cm->half_open or cm->rejected */
    struct rnic_list by_source; /* link in cm->by_source, if half-open */
    struct cm_source *in;       /* head of the list that contains the id (link `half_open`):
                                 * &cm->half_open, &cm->rejected, or NULL if none does */
    unsigned queued;            /* number of events in cm->event for this id */
    void *user;
    bool deleted; /* the program has deleted the id; the engine frees it after the end of its
                   * exchange */
    bool active;  /* the id sent the REQ or SIDR_REQ */
    enum rnic_cm_state state;
    uint32_t local, remote;
    uint64_t remote_guid;
    struct rnic_cm_addr addr;
    uint64_t tid; /* transaction id of the exchange's first message */

    uint64_t service_id; /* if the id is a listener: service id */
    bool at_gid;         /* if the id is a listener: it listens only at GID addr.local */
    bool ip4, ip6;       /* if the id is a listener and `at_gid` is false: it listens at all GIDs
                          * that are IPv4 addresses (`ip4`), at all other GIDs (`ip6`), or at both
                          */

    /* The last message sent. The engine retransmits it when a timer expires, or when the peer
     * repeats its own message. */
    uint8_t sent[ROCE_MAD_SIZE];
    enum roce_cm sent_kind; /* kind of the message in `sent`; ROCE_CM_MSG_CNT if none was sent */
    uint8_t retries_left;   /* number of retransmissions left */
    uint64_t timeout;       /* time between retransmissions, ns */
    struct rnic_heap_node timer;

    uint32_t local_qpn, remote_qpn;
    struct roce_cm_req req;
    struct roce_cm_rep rep;
    uint32_t request_id; /* request id, if the exchange is a SIDR_REQ and SIDR_REP */
};

struct cm_out {
    uint8_t mad[ROCE_MAD_SIZE];
    struct rnic_cm_addr addr;
};

#define CM_EARLY_MAX 64u /* maximum number of waiting requests */

/* A request for a service without a listener. It waits until a program listens, or until the time
 * `until`. */
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
    uint32_t factor; /* random odd factor with which the hash functions of by_remote, by_qpn
                      * and by_source multiply a number */
    struct rnic_list by_remote[CM_BUCKETS], by_qpn[CM_BUCKETS];
    struct cm_source by_source[CM_BUCKETS]; /* half-open exchanges, in lists selected by a hash of
                                             * the peer's GID */
    struct cm_source half_open, rejected;
    uint32_t id_cnt;
    uint32_t id_next;
    struct rnic_heap timers;
    unsigned disconnecting;

    struct cm_early_request early[CM_EARLY_MAX];
    unsigned early_cnt;

    struct cm_out *out; /* ring of MADs to send; it grows up to CM_OUT_MAX entries, and further MADs
                         * are dropped */
    unsigned out_cap, out_first, out_cnt;

    struct rnic_cm_event *event;
    size_t event_cap, event_first, event_cnt; /* ring of events; event_cap is a power of two */
};

/* Returns the time of a code, 4.096 us * 2^code, in ns. */
static inline uint64_t cm_code_ns(unsigned code)
{
    return UINT64_C(4096) << (code & 31);
}

bool cm_is_own_comm_id(const struct rnic_cm *cm, uint32_t comm_id);

/* Changes the state of the id. IDLE removes the id from by_remote, by_qpn and the listeners, and
 * TIMEWAIT removes it from by_qpn. Moves the id to the list of half-open or rejected exchanges, if
 * it belongs there in the new state. */
void cm_enter(struct rnic_cm_id *id, enum rnic_cm_state state);

/* Returns the list that contains the half-open exchanges with the peer addr->remote. Peers whose
 * GIDs have the same hash share a list. */
struct cm_source *cm_source_of(struct rnic_cm *cm, const struct rnic_cm_addr *addr);

/* Called before another exchange with the peer addr->remote begins. Ends the oldest half-open or
 * rejected exchanges if a limit is reached (half_open.c). */
void cm_half_open_limit(struct rnic_cm *cm, const struct rnic_cm_addr *addr);

/* Sets the timer of the id to expire at time `at`; RNIC_NEVER stops the timer. */
void cm_timer(struct rnic_cm_id *id, rnic_time at);

/* Sends a message of the exchange and stores it in id->sent. If `retries` > 0, a timer retransmits
 * it every `timeout` ns, up to `retries` times. The engine also sends the message again if the peer
 * repeats its own message. */
void cm_send(struct rnic_cm_id *id, struct roce_cm_msg *msg, uint64_t timeout, uint8_t retries,
             rnic_time now);
void cm_send_again(struct rnic_cm_id *id);

/* Sends a message that is never retransmitted. */
void cm_send_once(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                  const struct rnic_cm_addr *addr);

void cm_post_event(struct rnic_cm_id *id, enum rnic_cm_event_type type, struct rnic_cm_id *listener,
                   const struct roce_cm_msg *msg);

/* Enters TIMEWAIT, which ends when no late packet or repeated message of the connection can arrive
 * any more. The id then becomes idle. */
void cm_enter_timewait(struct rnic_cm_id *id, rnic_time now);
void cm_free_id(struct rnic_cm_id *id);

/* Sets communication id, CA GUID and QPN of the peer, and inserts the id into the hash tables
 * by_remote and by_qpn. */
void cm_set_peer(struct rnic_cm_id *id, uint32_t remote, uint64_t guid, uint32_t qpn);
struct rnic_cm_id *cm_find_remote(struct rnic_cm *cm, uint32_t remote, uint64_t guid,
                                  const struct rnic_cm_addr *addr);
/* Sets the request id of a SIDR exchange that the peer began, so that cm_find_request() finds the
 * exchange when the peer repeats its SIDR_REQ. */
void cm_set_request(struct rnic_cm_id *id, uint32_t request_id);
struct rnic_cm_id *cm_find_request(struct rnic_cm *cm, uint32_t request_id,
                                   const struct rnic_cm_addr *addr);
struct rnic_cm_id *cm_find_qpn(struct rnic_cm *cm, uint32_t qpn, uint64_t guid,
                               const struct rnic_cm_addr *addr);

/* Returns the listener for the service at this GID. If there is none, returns the listener for the
 * service at all GIDs, or NULL. */
struct rnic_cm_id *cm_find_listener(struct rnic_cm *cm, uint64_t service_id, const uint8_t gid[16]);

/* Processes a REQ or SIDR_REQ. Returns whether the request is for this engine. If `no_wait`, a
 * request for a service without a listener is rejected at once. */
bool cm_handle_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                       const struct rnic_cm_addr *addr, rnic_time now, bool no_wait);

/* Stores a request for a service without a listener (early_requests.c). Returns true, or false if
 * the request must be answered at once. */
bool cm_keep_early_request(struct rnic_cm *cm, const struct roce_cm_msg *msg,
                           const struct rnic_cm_addr *addr, rnic_time now);
rnic_time cm_early_deadline(const struct rnic_cm *cm);
/* Removes an early request that has waited until its time `until`, and stores it in *out. Returns
 * false if no request has. */
bool cm_early_take_due(struct rnic_cm *cm, rnic_time now, struct cm_early_request *out);
/* Ends the wait of the early requests for this service, because a program now listens. */
void cm_early_listen(struct rnic_cm *cm, uint64_t service_id);

/* Each of these functions sends one CM message of the exchange `id`: a REJ, DREQ or DREP. */
void cm_send_rej(struct rnic_cm_id *id, enum roce_cm_rej_reason reason, const void *data,
                 size_t len);
void cm_send_dreq(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now);
void cm_send_drep(struct rnic_cm_id *id, const void *data, size_t len, rnic_time now);

#endif
