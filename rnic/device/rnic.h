/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The software RNIC: deterministic, without I/O, clock or thread. Its objects are those of the
 * verbs. rnic/port/live calls it for programs, rocedrill replay for recorded packets; tests call it
 * too.
 *
 *   1. rnic_new() creates a device.
 *   2. rnic_mr.h: a protection domain, memory regions and windows.
 *   3. rnic_qp.h: CQs, SRQs, QPs and address handles; then work requests and their completions.
 *   4. rnic_input() processes a received frame. rnic_output() returns a frame to send.
 *   5. rnic_expire() handles timers at the time that rnic_deadline() returns.
 *   6. rnic_event_get() returns asynchronous events.
 *   7. rnic_del() frees the device with all its objects.
 *
 * The caller provides the time: functions that depend on it take `now`, in nanoseconds since any
 * fixed time. If `now` decreases, the device keeps its latest time. Types shared with the transport
 * are in transport/work.h and send.h: access rights, SGEs, work requests, completions, event types.
 * Replay and tests can also choose values that verbs hides: QPN, starting PSN and MSN, keys.
 * Enumerations have the values of their ibv_* counterparts, if there are any (rdma-core,
 * infiniband/verbs.h). Rule numbers R001.. are those of rnic/rules.md.
 *
 * Ownership: a device and all its objects belong to one thread at a time. The caller owns the
 * memory of regions, which must exist until they are deregistered.
 *
 * Errors are negative values of enum rnic_error. After an error nothing has changed. A violation by
 * a peer is never an error code: it causes a NAK, a completion status, an event, or a counter.
 */
#ifndef RNIC_H
#define RNIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "transport/dcqcn.h"
#include "transport/send.h"
#include "transport/work.h"
#include "wire/psn.h"

typedef uint64_t rnic_time; /* time, ns */
#define RNIC_NEVER UINT64_MAX

enum rnic_error {
    RNIC_OK = 0,
    RNIC_ERR_NOMEM = -1,   /* out of memory, or a limit of the device is reached */
    RNIC_ERR_INVALID = -2, /* an argument is out of range, or objects do not belong together */
    RNIC_ERR_BUSY = -3,    /* another object still uses the object (R205) */
    RNIC_ERR_EXISTS = -4,  /* the chosen QPN or key is in use */
    RNIC_ERR_STATE = -5,   /* not allowed in the QP's state (R183, R188) */
    RNIC_ERR_FULL = -6,    /* the queue is full */
};

const char *rnic_error_text(int error);

struct rnic;
struct rnic_pd;
struct rnic_mr;
struct rnic_mw;
struct rnic_cq;
struct rnic_qp;
struct rnic_srq;
struct rnic_xrcd;
struct rnic_ah;

/* ---- creating and driving a device ----------------------------------------------------------- */

enum rnic_gid_type {
    RNIC_GID_ROCE_V1, /* RoCEv1: Ethernet type 0x8915, GRH */
    RNIC_GID_ROCE_V2, /* RoCEv2: UDP over IPv4 for ::ffff:a.b.c.d, over IPv6 for any other GID */
};

struct rnic_gid {
    uint8_t gid[16]; /* GID, network byte order */
    enum rnic_gid_type type;
};

#define RNIC_GID_MAX  64 /* maximum number of GIDs: 32 addresses, each as RoCEv1 and as RoCEv2 */
#define RNIC_PKEY_MAX 16

/* Congestion management (Annex A17.9); disabled if np and rp are false. */
struct rnic_ecn {
    bool np;                        /* notification point: answers CE-marked packets with CNPs */
    bool rp;                        /* reaction point: slows down a QP that receives CNPs */
    uint32_t min_time_between_cnps; /* minimum time between CNPs of a QP, us (R219) */
    uint8_t cnp_dscp;               /* DSCP of sent CNPs, 0..63 */
    struct rnic_dcqcn_attr dcqcn;   /* parameters of the reaction point */
};

/* Enables notification point and reaction point with the values that NVIDIA documents: at least
 * 4 us between CNPs, DSCP 48, and the defaults of dcqcn.h. */
void rnic_ecn_defaults(struct rnic_ecn *ecn);

/* Limits of a device, named as in struct ibv_device_attr and ibv_qp_cap. A call that exceeds a
 * limit on a number of objects returns RNIC_ERR_NOMEM (ENOMEM of the verbs). A call that exceeds a
 * limit on a size returns RNIC_ERR_INVALID. */
struct rnic_limits {
    uint64_t max_mr_size; /* maximum size of a region, bytes */
    uint32_t max_pd;
    uint32_t max_mr;
    uint32_t max_mw;
    uint32_t max_cq;
    uint32_t max_cqe; /* maximum depth of a CQ */
    uint32_t max_qp;
    uint32_t max_qp_wr;           /* maximum depth of a send or receive queue */
    uint32_t max_sge;             /* maximum number of SGEs of a work request */
    uint32_t max_sge_rd;          /* maximum number of SGEs of a READ */
    uint32_t max_inline;          /* maximum inline data, bytes */
    uint32_t max_qp_rd_atom;      /* maximum of rnic_qp_attr.max_dest_rd_atomic */
    uint32_t max_qp_init_rd_atom; /* maximum of rnic_qp_attr.max_rd_atomic */
    uint32_t max_ah;
    uint32_t max_srq;
    uint32_t max_srq_wr;
    uint32_t max_srq_sge;
    uint32_t max_xrcd;
    uint32_t max_mcast_grp;
    uint32_t max_mcast_qp_attach; /* maximum number of QPs in a multicast group */
    uint32_t max_pkeys;           /* size of the P_Key table; rnic_new() fails if it is less than
                                   * rnic_attr.pkey_cnt */
};

struct rnic_attr {
    uint8_t mac[6];
    struct rnic_gid gid[RNIC_GID_MAX]; /* GID table; a GID of all zeros is an empty slot */
    unsigned gid_cnt;                  /* number of slots in use, 1..RNIC_GID_MAX */
    /* P_Key table of the port. QP 1 accepts all P_Keys in this table (R050). The pkey_index of a
     * completion is an index into this table. */
    uint16_t pkey[RNIC_PKEY_MAX];
    unsigned pkey_cnt; /* number of P_Keys, 0..RNIC_PKEY_MAX; 0: only the default P_Key, 0xFFFF */
    uint32_t mtu; /* maximum datagram length, bytes: 256, 512, 1024, 2048 or 4096; 0 means 4096 */
    /* Range from which the device chooses random QPNs, within 2..0xFFFFFE; if both are 0, the whole
     * range. A user may choose a QPN outside this range. */
    uint32_t qpn_first;
    uint32_t qpn_last;
    /* Limits below the device's own limits; 0 and higher values have no effect. */
    struct rnic_limits limits;
    /* Source of random keys and QPNs. If `unpredictable`, it is the random source of the system.
     * Otherwise keys and QPNs are derived from `seed` and thus repeatable. */
    uint64_t seed;
    bool unpredictable;
    /* Returns true if bytes of a region are still mapped for reading or, with `write`, for writing.
     * NULL: the device does not check this. Called after all other checks, for each piece of memory
     * that a packet accesses. */
    bool (*there)(const void *addr, size_t len, bool write);
    /* Sends frames with the ICRC 0, for a wire on which no receiver checks the ICRC. Computing the
     * ICRC of a long packet takes more time than all other work on the packet. */
    bool no_icrc;
    bool mw_2a; /* true: type 2 windows are 2A; false: 2B. A device supports one kind (o10-37.2.31)
                 */
    /* Congestion management. If enabled, packets of QPs whose tclass has no ECN bits are sent as
     * ECT(0) (R005). */
    struct rnic_ecn ecn;
};

/* Creates a device. Returns NULL if out of memory, or if a count, the MTU, the range of QPNs or a
 * parameter of ecn is out of range. */
struct rnic *rnic_new(const struct rnic_attr *attr);

/* Frees the device and all its objects. Accepts NULL. */
void rnic_del(struct rnic *rnic);

/* Gets the limits of the device. A program can create as many objects as each limit allows. */
void rnic_limits_get(const struct rnic *rnic, struct rnic_limits *out);

/* Sets or empties a slot of the GID table; NULL and a GID of all zeros empty the slot. Objects that
 * use the slot keep their address, but receive no packets while no slot has that address (R052).
 * Returns RNIC_ERR_INVALID if the slot is not below RNIC_GID_MAX or the type is unknown. */
int rnic_gid_set(struct rnic *rnic, unsigned idx, const struct rnic_gid *gid);

/* Gets the GID in a slot. Returns false if the slot is empty or does not exist. */
bool rnic_gid_get(const struct rnic *rnic, unsigned idx, struct rnic_gid *out);

/* Processes a frame received at `now`, from the Ethernet header on, without FCS. Does not keep a
 * reference to the bytes. Never fails: unusable frames are counted and dropped. */
void rnic_input(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now);

/* Processes a frame from a device with rnic_attr.no_icrc. Does the same as rnic_input(), but does
 * not check the ICRC. */
void rnic_input_without_icrc(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now);

/* Writes the next frame to `buf`. Returns its length, or 0 if there is none or if `cap` is below
 * ROCE_FRAME_MAX. The caller repeats the call until it returns 0. */
size_t rnic_output(struct rnic *rnic, uint8_t *buf, size_t cap, rnic_time now);

/*
 * Restarts the ACK timers that were started after the last call of rnic_sent(). The ACK timer of a
 * QP starts when rnic_output() returns a request of the QP, and when the QP receives a response. On
 * a real network, frames leave later than rnic_output() returns them, and a timer must not expire
 * before its timeout (9.7.6.1.3). Therefore the caller calls rnic_sent() when the frames have left.
 * A caller whose frames leave at the `now` of rnic_output() does not need rnic_sent(). The function
 * has no effect if rnic_timers_started() is false.
 */
void rnic_sent(struct rnic *rnic, rnic_time now);
bool rnic_timers_started(const struct rnic *rnic);

/* Returns true if rnic_output() may have a frame to send at the latest `now` that a caller
 * passed. */
bool rnic_output_ready(const struct rnic *rnic);

/* Maximum delay of an ACK, ns. A QP delays ACKs only if its own ACK timeout is at least 16 times
 * this delay, because the peer's timeout is probably the same. The local ACK delay that the CM
 * announces is longer than this maximum (R150). */
#define RNIC_ACK_HOLD_NS 1000000u

/*
 * Delays ACKs until the time `until`. An ACK is delayed while its QP has nothing else to send. The
 * ACK is sent at the end of the delay, or with the next NAK, READ response or request of its QP. If
 * the peer sends another request before that, one ACK covers both requests. An `until` that is not
 * in the future ends the delay. NAKs are never delayed. rnic_deadline() includes delayed ACKs.
 */
void rnic_ack_hold(struct rnic *rnic, rnic_time until);
bool rnic_ack_waits(const struct rnic *rnic); /* Returns true if an ACK is being delayed. */

/* Returns the time at which rnic_expire() must be called, or RNIC_NEVER if no timer runs. The
 * result is exact after rnic_output() returned 0. Before that it may be too early, but never too
 * late. */
rnic_time rnic_deadline(const struct rnic *rnic);

/* Handles the timers that are due at `now`. Has no effect if none is due. */
void rnic_expire(struct rnic *rnic, rnic_time now);

/* ---- counters -------------------------------------------------------------------------------- */

/* Counters, mostly of packets, with the names that rdma-core's drivers and vendor tools use. The
 * counters of the transport are in work.h. */
#define RNIC_DEVICE_COUNTERS(X)                                                                    \
    X(rx_packets, "frames passed to rnic_input")                                                   \
    X(tx_packets, "frames returned by rnic_output")                                                \
    X(rx_not_roce, "frames of another protocol or for another device")                             \
    X(rx_malformed, "packets dropped: malformed (R016, R028, R029)")                               \
    X(rx_icrc_encapsulated, "packets dropped: wrong ICRC (R023)")                                  \
    X(rx_no_qp, "packets dropped: unknown QP, or wrong service, QP state or address (R046-R054)")  \
    X(rx_bad_pkey, "packets dropped: P_Key does not match (R049, R050)")                           \
    X(rx_bytes, "bytes of the frames passed to rnic_input")                                        \
    X(tx_bytes, "bytes of the frames returned by rnic_output")                                     \
    X(np_ecn_marked_roce_packets,                                                                  \
      "requests and READ responses received with the ECN mark CE, congestion experienced (R215)")  \
    X(np_cnp_sent, "CNPs sent")                                                                    \
    X(rp_cnp_handled, "received CNPs that reduced the rate of a QP")                               \
    X(rp_cnp_ignored, "CNPs received and ignored while ecn.rp was off")                            \
    X(resp_cqe_error, "receive completions in error, including flushed ones")                      \
    X(resp_cqe_flush_error, "receive completions flushed (R189)")                                  \
    X(resp_local_length_error, "receive completions with LOC_LEN_ERR")                             \
    X(req_cqe_error, "send completions in error, including flushed ones")                          \
    X(req_cqe_flush_error, "send completions flushed (R189)")                                      \
    X(rx_multicast, "datagrams for a multicast group with an attached QP")                         \
    X(rx_no_group, "datagrams for a multicast group without an attached QP")

#define RNIC_COUNTERS(X) RNIC_DEVICE_COUNTERS(X) RNIC_TRANSPORT_COUNTERS(X)

struct rnic_counters {
#define X(name, text) uint64_t name;
    RNIC_COUNTERS(X)
#undef X
};

void rnic_counters_get(const struct rnic *rnic, struct rnic_counters *out);

/* ---- asynchronous events --------------------------------------------------------------------- */

struct rnic_event {
    enum rnic_event_type type;
    struct rnic_qp *qp;   /* QP of the event, or NULL */
    struct rnic_cq *cq;   /* CQ of the event, or NULL */
    struct rnic_srq *srq; /* SRQ of the event, or NULL */
};

/* Removes the oldest event and stores it in *out. Returns false if there is none. The device drops
 * an event if 1024 events are queued, or if an event of the same type and object is queued. */
bool rnic_event_get(struct rnic *rnic, struct rnic_event *out);

#include "device/rnic_mr.h"
#include "device/rnic_qp.h"

#endif
