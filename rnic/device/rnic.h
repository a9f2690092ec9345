/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * The software RNIC: deterministic, without I/O, clock or thread.
 *
 * Callers pass received frames to rnic_input() and send the frames that rnic_output() returns.
 * The caller provides the time: functions that depend on it take `now`, in nanoseconds since any
 * fixed time. rnic_deadline() returns when to call rnic_expire(). If `now` goes back, no time
 * has passed. A device and all its objects belong to one thread at a time.
 *
 * Types shared with the transport are in transport/work.h and send.h, which this header
 * includes: access rights, SGEs, work requests, completions (struct rnic_wc), event types.
 *
 * The objects are those of the verbs. Replay and tests can also choose values that verbs hides:
 * QPN, starting PSN and MSN, keys. Enumerations have the values of their ibv_* counterparts, if
 * there are any (rdma-core, infiniband/verbs.h).
 *
 * Errors are negative values of enum rnic_error. After an error nothing has changed. A violation
 * by a peer is never an error code: it causes a NAK, a completion status, an event, or a
 * counter.
 *
 * Rule numbers R001.. are those of rnic/rules.md.
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

/* ---- device ---------------------------------------------------------------------------------- */

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

/* Congestion management (Annex A17.9); all members zero: disabled. */
struct rnic_ecn {
    bool np;                        /* notification point: answers CE-marked packets with CNPs */
    bool rp;                        /* reaction point: slows down a QP that receives CNPs */
    uint32_t min_time_between_cnps; /* minimum time between CNPs of a QP, us (R219) */
    uint8_t cnp_dscp;               /* DSCP of sent CNPs, 0..63 */
    struct rnic_dcqcn_attr dcqcn;   /* parameters of the reaction point */
};

/* Enables notification point and reaction point with the values that NVIDIA documents: 4 us, DSCP
 * 48, and the defaults of dcqcn.h. */
void rnic_ecn_defaults(struct rnic_ecn *ecn);

/* Limits of a device, named as in struct ibv_device_attr and ibv_qp_cap. Exceeding a count returns
 * RNIC_ERR_NOMEM (ENOMEM of the verbs), exceeding a size returns RNIC_ERR_INVALID. */
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
    uint32_t max_qp_rd_atom;      /* maximum of max_dest_rd_atomic */
    uint32_t max_qp_init_rd_atom; /* maximum of max_rd_atomic */
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
    /* P_Key table of the port. QP 1 accepts all P_Keys in it (R050); a completion's pkey_index
     * refers to it. */
    uint16_t pkey[RNIC_PKEY_MAX];
    unsigned pkey_cnt; /* number of P_Keys, 0..RNIC_PKEY_MAX; 0: only the default P_Key, 0xFFFF */
    uint32_t mtu; /* maximum datagram length, bytes: 256, 512, 1024, 2048 or 4096; 0 means 4096 */
    /* Range of QPNs that the device chooses from (2..0xFFFFFE); 0, 0: all. Users may choose QPNs
     * outside of the range. */
    uint32_t qpn_first;
    uint32_t qpn_last;
    /* Limits below the device's own limits; 0 and higher values have no effect. */
    struct rnic_limits limits;
    /* Source of random keys and QPNs: a seed, which makes them repeatable, or the system's random
     * source. */
    uint64_t seed;
    bool unpredictable;
    /* Returns whether bytes of a region are still accessible for reading or writing; NULL: always
     * accessible. Called as the last check for each piece of memory that a packet accesses. */
    bool (*there)(const void *addr, size_t len, bool write);
    bool mw_2a; /* type 2 windows are 2A, otherwise 2B; a device supports one kind (o10-37.2.31) */
    /* Congestion management. If enabled, packets of QPs whose tclass has no ECN bits are sent as
     * ECT(0) (R005). */
    struct rnic_ecn ecn;
};

/* Creates a device. Returns NULL if out of memory, or if a count, the MTU, the range of QPNs or a
 * parameter of ecn is out of range. */
struct rnic *rnic_new(const struct rnic_attr *attr);

/* Frees the device and all its objects. Accepts NULL. */
void rnic_del(struct rnic *rnic);

/* Gets the limits of the device. Each limit can be reached. */
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

/* Writes the next frame to `buf`. Returns its length, or 0 if there is none or if `cap` is below
 * ROCE_FRAME_MAX. The caller repeats the call until it returns 0. */
size_t rnic_output(struct rnic *rnic, uint8_t *buf, size_t cap, rnic_time now);

/* Returns true if a QP has packets to send other than a delayed ACK. Ignores CNPs. */
bool rnic_output_ready(const struct rnic *rnic);

/* Maximum delay of an ACK, ns. Only QPs whose own ACK timer is at least 16 times as long delay
 * ACKs: the peer's timer is probably equal, and the ACK delay announced by CM is longer (R150). */
#define RNIC_ACK_HOLD_NS 1000000u

/*
 * Delays ACKs: until the time `until`, rnic_output() does not return the ACK of a QP that has
 * nothing else to send. Such an ACK is sent at the end of the delay, or with the next NAK, READ
 * response or request of its QP. After a later request of the peer, one ACK covers both requests.
 * An `until` that is not in the future ends the delay. NAKs are never delayed. rnic_deadline()
 * includes delayed ACKs.
 */
void rnic_ack_hold(struct rnic *rnic, rnic_time until);
bool rnic_ack_waits(const struct rnic *rnic); /* Returns true if an ACK is being delayed. */

/* Returns the time at which rnic_expire() must be called; RNIC_NEVER if no timer runs. The result
 * is exact after rnic_output() returned 0; before that it may be too early, but never too late. */
rnic_time rnic_deadline(const struct rnic *rnic);

/* Handles the timers that are due at `now`. Has no effect if none is due. */
void rnic_expire(struct rnic *rnic, rnic_time now);

/* ---- counters -------------------------------------------------------------------------------- */

/* Counters, mostly of packets, with the names of rdma-core's drivers and vendor tools. The counters
 * of the transport are in work.h. */
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
      "received requests and READ responses with ECN mark congestion experienced (R215)")          \
    X(np_cnp_sent, "CNPs sent")                                                                    \
    X(rp_cnp_handled, "received CNPs that reduced the rate of a QP")                               \
    X(rp_cnp_ignored, "received CNPs while ecn.rp was off")                                        \
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

/* ---- events ---------------------------------------------------------------------------------- */

struct rnic_event {
    enum rnic_event_type type;
    struct rnic_qp *qp;   /* QP of the event, or NULL */
    struct rnic_cq *cq;   /* CQ of the event, or NULL */
    struct rnic_srq *srq; /* SRQ of the event, or NULL */
};

/* Removes the oldest event and stores it in *out. Returns false if there is none. At most 1024 are
 * queued; a repeated event of the same kind for the same object is merged. */
bool rnic_event_get(struct rnic *rnic, struct rnic_event *out);

/* ---- protection domains and memory ----------------------------------------------------------- */

int rnic_pd_new(struct rnic *rnic, struct rnic_pd **out);
/* Destroys a PD. Returns RNIC_ERR_BUSY while the PD contains an MR, a window, a QP, an SRQ or an
 * address handle. Accepts NULL. */
int rnic_pd_del(struct rnic_pd *pd);

struct rnic_mr_attr {
    void *addr;    /* first byte of the memory, which must exist until rnic_mr_dereg() */
    uint64_t len;  /* length, bytes; a region of length 0 is allowed and grants no access */
    uint64_t iova; /* address that peers and SGEs use for addr[0]; iova + len <= 2^64 - 1. Ignored
                    * and 0 with RNIC_ACCESS_ZERO_BASED (R209) */
    unsigned
        access;   /* enum rnic_access; remote write and remote atomic require local write (R207) */
    uint32_t key; /* L_Key and R_Key; 0 lets the device choose an unpredictable key */
    bool invalidate; /* a SEND with Invalidate of a QP of this PD may invalidate it (R204) */
};

/* Registers memory. Returns RNIC_ERR_EXISTS if the key is in use. Returns RNIC_ERR_INVALID for
 * contradicting flags, more bytes than max_mr_size, an end beyond 2^64 - 1, or a length without an
 * address. */
int rnic_mr_reg(struct rnic_pd *pd, const struct rnic_mr_attr *attr, struct rnic_mr **out);

/* Deregisters a region. Its keys become invalid immediately, also for packets in flight (R208).
 * Returns RNIC_ERR_BUSY while a window is bound to the region (R213). Accepts NULL. */
int rnic_mr_dereg(struct rnic_mr *mr);
uint32_t rnic_mr_key(const struct rnic_mr *mr);

/* Flags of rnic_mr_rereg(), with the numbers of enum ibv_rereg_mr_flags. */
enum rnic_mr_rereg {
    RNIC_MR_REREG_TRANSLATION = 1u << 0, /* changes addr, len and iova */
    RNIC_MR_REREG_PD = 1u << 1,          /* changes the protection domain */
    RNIC_MR_REREG_ACCESS = 1u << 2,      /* changes the access rights */
};

/*
 * Changes the attributes in `flags` for all future packets and keeps the key. A region that a peer
 * invalidated becomes valid again. Ignores `pd` and the members of `attr` that are not in `flags`.
 * After an error the region is unchanged (ibv_rereg_mr(3)). Returns RNIC_ERR_INVALID for invalid
 * flags, access or addresses, or a change of ZERO_BASED without TRANSLATION. Returns RNIC_ERR_BUSY
 * while a window is bound to the region.
 */
int rnic_mr_rereg(struct rnic_mr *mr, unsigned flags, struct rnic_pd *pd,
                  const struct rnic_mr_attr *attr);

/* ---- memory windows -------------------------------------------------------------------------- */

/* Type of a memory window, with the numbers of enum ibv_mw_type. */
enum rnic_mw_type {
    RNIC_MW_TYPE_1 = 1, /* type 1: usable by every QP of the PD (R210) */
    RNIC_MW_TYPE_2 = 2, /* type 2: usable by the QP through which it was bound. 2A checks the QPN,
                         * 2B the QPN and PD; rnic_attr.mw_2a selects (R210) */
};

/* Returns true if type 2 windows of this device are 2A (IBV_DEVICE_MEM_WINDOW_TYPE_2A), false if
 * 2B. */
bool rnic_mw_2a(const struct rnic *rnic);

/*
 * Creates a memory window. It grants nothing until rnic_post_send() with RNIC_WR_BIND_MW binds
 * it. The bind is executed in the order of posting. It needs MW_BIND and the PD of the region, a
 * range inside the region, and LOCAL_WRITE for remote write or atomic. A type 2 window must be
 * unbound and its length not 0. A bind that fails completes with RNIC_WC_MW_BIND_ERR, and the QP
 * goes to ERR (R211; C10-72 to C10-75, o10-37.2.30, o10-37.2.40).
 *
 * Each bind of type 1 creates a new key, which rnic_mw_rkey() returns immediately after the
 * post. The old key stays valid until the bind is executed (ibv_bind_mw(3)). A bind with len 0
 * unbinds. LOCAL_INV or a SEND with Invalidate unbinds a type 2 window; for an unbound one in
 * the QP's PD this has no effect. LOCAL_INV of another key completes with RNIC_WC_MW_BIND_ERR,
 * "memory management operation error" (R204). Destroying its QP unbinds a 2B window (o10-2.2.5).
 * A QP with bound 2A windows cannot be destroyed: RNIC_ERR_BUSY (R213).
 */
int rnic_mw_new(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **out);
int rnic_mw_del(struct rnic_mw *mw); /* Destroys a window, bound or not. Accepts NULL. */

/* Returns the key of the last posted bind (type 1) or of the last executed bind (type 2). */
uint32_t rnic_mw_rkey(const struct rnic_mw *mw);
enum rnic_mw_type rnic_mw_type(const struct rnic_mw *mw);

/* ---- completion queues ----------------------------------------------------------------------- */

/* Returns the name of a status, for example "SUCCESS" or "LOC_LEN_ERR"; "unknown" for an undefined
 * number. */
const char *rnic_wc_status_name(enum rnic_wc_status status);

int rnic_cq_new(struct rnic *rnic, uint32_t depth, struct rnic_cq **out); /* Creates a CQ with a
                                                                           * depth of 1..max_cqe. */
int rnic_cq_del(struct rnic_cq *cq); /* Destroys a CQ. Returns RNIC_ERR_BUSY while a QP or XRC SRQ
                                      * uses the CQ. Accepts NULL. */

/* Removes up to `cnt` completions, the oldest first (R198). Returns their number. A CQ that
 * overflowed raised RNIC_EVENT_CQ_ERR; it keeps its completions and accepts no more. A QP whose
 * completion was lost goes to ERR with RNIC_EVENT_QP_FATAL (R200). */
size_t rnic_cq_poll(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt);

/* Changes the depth and keeps the completions in order. Returns RNIC_ERR_INVALID for an invalid
 * depth or one below the number of completions, and RNIC_ERR_NOMEM if out of memory. After an error
 * nothing has changed. An overflowed CQ stays in error. */
int rnic_cq_resize(struct rnic_cq *cq, uint32_t depth);
uint32_t rnic_cq_depth(const struct rnic_cq *cq);

/*
 * Requests one notification: for the next completion or, with `solicited_only`, for the next
 * completion with the solicited event bit or an error (R201). A second request before the
 * notification has no effect, except that "next" replaces "solicited" (C11-31). Earlier completions
 * cause no notification: arm first, then poll until the CQ is empty.
 */
void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only);

/* Removes the oldest notification. Returns its CQ, or NULL if there is none. Polling the CQ does
 * not remove its notification. */
struct rnic_cq *rnic_cq_notified(struct rnic *rnic);

/* ---- shared receive queues and XRC domains --------------------------------------------------- */

int rnic_xrcd_new(struct rnic *rnic, struct rnic_xrcd **out);
int rnic_xrcd_del(struct rnic_xrcd *xrcd); /* Destroys an XRC domain. Returns RNIC_ERR_BUSY while
                                            * the domain contains an SRQ or QP. Accepts NULL. */

struct rnic_srq_init {
    uint32_t max_wr;  /* maximum number of WQEs, 1..32768 */
    uint32_t max_sge; /* maximum number of SGEs of a WQE, 1..32 */
    uint32_t limit;   /* SRQ limit, 0..max_wr: RNIC_EVENT_SRQ_LIMIT_REACHED is raised once when a
                       * message uses a WQE and fewer than `limit` remain (R196); 0: never */
    /* Both NULL: a basic SRQ, for the QPs created with it. Both set: an XRC SRQ, whose completions
     * are added to `cq` with the QPN of the target QP. */
    struct rnic_xrcd *xrcd;
    struct rnic_cq *cq;
    uint32_t srqn; /* SRQ number, 1..0xFFFFFF; 0 lets the device choose an unpredictable number */
};

/* Creates an SRQ. The SGEs of its WQEs use `pd`, not the PD of the QP. Returns RNIC_ERR_EXISTS if
 * the number is in use. Returns RNIC_ERR_INVALID for a size out of range, if only one of xrcd and
 * cq is set, or if one belongs to another device. */
int rnic_srq_new(struct rnic_pd *pd, const struct rnic_srq_init *init, struct rnic_srq **out);

/* Destroys an SRQ and drops its WQEs. An incomplete message for an XRC SRQ is then rejected.
 * Returns RNIC_ERR_BUSY while a QP that was created with the SRQ exists. Accepts NULL. */
int rnic_srq_del(struct rnic_srq *srq);

/* Changes the SRQ attributes that are not NULL. Returns RNIC_ERR_INVALID for a max_wr below the
 * WQEs that are posted or in use, or a limit above max_wr. Setting the limit arms the limit event
 * again. */
int rnic_srq_modify(struct rnic_srq *srq, const uint32_t *max_wr, const uint32_t *limit);

/* Gets the current attributes of the SRQ; limit is 0 if not armed. */
void rnic_srq_view(const struct rnic_srq *srq, struct rnic_srq_init *out);
uint32_t rnic_srq_num(const struct rnic_srq *srq);

/* Posts a receive WQE to the SRQ. Returns RNIC_ERR_FULL if max_wr are posted or in use. Returns
 * RNIC_ERR_STATE if the SRQ is in error: an XRC SRQ whose CQ overflowed, which raised
 * RNIC_EVENT_SRQ_ERR. */
int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *wr);

/* ---- queue pairs ----------------------------------------------------------------------------- */

/* Type of a QP, with the numbers of enum ibv_qp_type. */
enum rnic_qp_type {
    RNIC_QPT_GSI = 1,
    RNIC_QPT_RC = 2,
    RNIC_QPT_UC = 3,
    RNIC_QPT_UD = 4,
    RNIC_QPT_XRC_SEND = 9,  /* XRC initiator: has no receive queue */
    RNIC_QPT_XRC_RECV = 10, /* XRC target: has no queues; its keys are those of the SRQs' PDs */
};

/* State of a QP, with the numbers of enum ibv_qp_state. */
enum rnic_qp_state {
    RNIC_QPS_RESET = 0,
    RNIC_QPS_INIT = 1,
    RNIC_QPS_RTR = 2,
    RNIC_QPS_RTS = 3,
    RNIC_QPS_SQD = 4,
    RNIC_QPS_SQE = 5, /* after an error on the send queue of a UD, GSI or UC QP (R192) */
    RNIC_QPS_ERR = 6,
};

const char *rnic_qp_state_name(enum rnic_qp_state state);

struct rnic_qp_init {
    enum rnic_qp_type type;
    struct rnic_cq *recv_cq; /* CQ for receive completions; ignored for XRC, which has no receive
                              * queue */
    uint32_t qpn;            /* QPN 2..0xFFFFFE; 0 lets the device choose an unpredictable QPN; for
                              * the GSI QP, one per device, 0 or 1 */
    uint32_t max_recv_wr;    /* depth of the receive queue, 0..32768 */
    uint32_t max_recv_sge;   /* maximum number of SGEs of a receive, 1..32 */
    struct rnic_cq *send_cq; /* CQ for send completions, may equal recv_cq; NULL only if max_send_wr
                              * is 0 */
    uint32_t max_send_wr;    /* depth of the send queue, 0..32768 */
    uint32_t
        max_send_sge;     /* maximum number of SGEs of a send, 1..32; ignored if max_send_wr is 0 */
    uint32_t max_inline;  /* maximum inline data of a request, 0..1024 bytes */
    struct rnic_srq *srq; /* basic SRQ that replaces the receive queue, or NULL; RC, UC, UD */
    struct rnic_xrcd *xrcd; /* XRC_RECV: XRC domain of the SRQs that requests may name */
    bool no_credits;        /* RC: ACKs of the QP do not report the number of receive WQEs (R106) */
    uint32_t window;        /* RC, XRC: maximum number of unanswered SEND and WRITE packets; 0:
                             * 256. A replay of a peer with more packets in flight needs more */
    bool any_credits;       /* RC: ignores the credits in ACKs, to replay a peer that had not
                             * received them yet */
    bool endless_retries;   /* RC: never uses up its retry count, to replay a peer that does so */
};

/* Creates a QP in RESET. Returns RNIC_ERR_EXISTS if the QPN is in use, RNIC_ERR_INVALID for a
 * member out of range or a CQ, SRQ or domain of another device, and RNIC_ERR_NOMEM also if no QPN
 * of the device's range is free. */
int rnic_qp_new(struct rnic_pd *pd, const struct rnic_qp_init *init, struct rnic_qp **out);

/* Destroys a QP. Returns RNIC_ERR_BUSY while the QP is in a multicast group (R177) or 2A windows
 * are bound to it (R213). Accepts NULL. */
int rnic_qp_del(struct rnic_qp *qp);
uint32_t rnic_qp_qpn(const struct rnic_qp *qp);

/* Address vector: destination of the packets of a QP or of the datagrams of an address handle. */
struct rnic_av {
    uint8_t dmac[6];    /* destination MAC address; ignored for a multicast DGID, which determines
                         * it (R176) */
    uint8_t dgid[16];   /* destination GID, network byte order */
    uint8_t sgid_idx;   /* source GID: index into rnic_attr.gid */
    uint8_t tclass;     /* DSCP and ECN byte (R004); ECN 11 is sent as 10 (R005) */
    uint8_t hop_limit;  /* hop limit; 0 means 64 */
    uint32_t flow;      /* flow label, 20 bits */
    uint16_t udp_sport; /* UDP source port; 0 lets the device derive one in 0xC000..0xFFFF from both
                         * QPNs (R013) */
    bool tagged;        /* frames have an 802.1Q tag with `priority` and `vlan` */
    uint8_t priority;   /* 802.1Q priority, 0..7 */
    uint16_t vlan;      /* VLAN id, 0..4095 */
};

struct rnic_qp_attr {
    enum rnic_qp_state state;
    enum rnic_qp_state
        cur_state;              /* with the mask bit: state that the user expects the QP to be in */
    bool en_sqd_async_notify;   /* SQD, with the mask bit: raise RNIC_EVENT_SQ_DRAINED */
    bool sq_draining;           /* output of rnic_qp_query(): the QP is in SQD and messages are
                                 * still in progress */
    uint8_t port_num;           /* port number, must be 1; used if its mask bit is set */
    unsigned access;            /* INIT: enum rnic_access granted to the peer (R075) */
    uint16_t pkey;              /* INIT: P_Key, 0xFFFF is the default one */
    uint32_t qkey;              /* INIT of UD; ignored for GSI, which has 0x80010000 (R171) */
    struct rnic_av av;          /* RTR: address vector of the peer */
    uint32_t path_mtu;          /* RTR: 256, 512, 1024, 2048 or 4096 bytes */
    uint32_t dest_qpn;          /* RTR: QPN of the peer */
    uint32_t rq_psn;            /* RTR: PSN of the first request */
    uint32_t rq_msn;            /* RTR: MSN before the first request; not 0 only in replay (R102) */
    uint8_t max_dest_rd_atomic; /* RTR: maximum number of READs and atomics processed at a time,
                                 * 0..16 (R076) */
    uint8_t min_rnr_timer;      /* RTR: minimum RNR timer, code 0..31 (R097) */
    uint32_t sq_psn;            /* RTR -> RTS: PSN of the first request sent */
    uint8_t max_rd_atomic;      /* RTR -> RTS: maximum number of outstanding READs and atomics,
                                 * 0..16 (R130) */
    uint8_t timeout;            /* RTR -> RTS: ACK timeout, code 0..31: 4.096 us * 2^code; 0:
                                 * infinite (R149) */
    uint8_t retry_cnt;          /* RTR -> RTS: retry count, 0..7 (R154) */
    uint8_t rnr_retry;          /* RTR -> RTS: RNR retry count, 0..7; 7 is unlimited (R157) */
};

/*
 * Changes the state: RESET -> INIT -> RTR -> RTS <-> SQD, SQE -> RTS, any but RESET -> ERR, any
 * -> RESET; INIT, RTS, SQD and ERR to themselves (R183). A transition uses the members that are
 * marked with its target state and ignores the others; UD and GSI need only pkey, qkey and
 * sq_psn (R186). In SQD, started messages are completed, then RNIC_EVENT_SQ_DRAINED is raised;
 * no new message starts until RTS (R191). Returns RNIC_ERR_STATE for a transition that is not
 * allowed, and RNIC_ERR_INVALID for a value out of range.
 */
int rnic_qp_modify(struct rnic_qp *qp, const struct rnic_qp_attr *attr, rnic_time now);

/* Bits for the members of struct rnic_qp_attr, with the values of enum ibv_qp_attr_mask. */
enum rnic_qp_mask {
    RNIC_QP_STATE = 1 << 0,
    RNIC_QP_CUR_STATE = 1 << 1,
    RNIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
    RNIC_QP_ACCESS_FLAGS = 1 << 3,
    RNIC_QP_PKEY_INDEX = 1 << 4, /* pkey: the P_Key itself, not an index */
    RNIC_QP_PORT = 1 << 5,
    RNIC_QP_QKEY = 1 << 6,
    RNIC_QP_AV = 1 << 7,
    RNIC_QP_PATH_MTU = 1 << 8,
    RNIC_QP_TIMEOUT = 1 << 9,
    RNIC_QP_RETRY_CNT = 1 << 10,
    RNIC_QP_RNR_RETRY = 1 << 11,
    RNIC_QP_RQ_PSN = 1 << 12, /* sets rq_psn and rq_msn; rq_msn is 0 except in replay */
    RNIC_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    RNIC_QP_ALT_PATH = 1 << 14, /* rejected: RoCE has no path migration (R197) */
    RNIC_QP_MIN_RNR_TIMER = 1 << 15,
    RNIC_QP_SQ_PSN = 1 << 16,
    RNIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    RNIC_QP_PATH_MIG_STATE = 1 << 18, /* rejected: RoCE has no path migration (R197) */
    RNIC_QP_CAP = 1 << 19,            /* rejected: queues cannot be resized */
    RNIC_QP_DEST_QPN = 1 << 20,
};

/*
 * Changes the attributes in `mask` and no others, as ibv_modify_qp(3). Without RNIC_QP_STATE the
 * QP keeps its state. The table in qp_attr.c contains the attributes that a transition requires
 * and allows (R184-R187). Errors are those of rnic_qp_modify(). Also returns RNIC_ERR_INVALID
 * for a missing or disallowed attribute, or a cur_state that is not the QP's, and RNIC_ERR_BUSY
 * for another max_dest_rd_atomic while responses are due. After an error nothing has changed.
 *
 * In RTS, the access rights and the RNR timer can be changed, and for UD and GSI the Q_Key. In
 * SQD, the address vector, timeout, retry counts and the numbers of READs and atomics can be
 * changed too; the path MTU cannot. RNIC_EVENT_SQ_DRAINED is raised only if the mask has
 * EN_SQD_ASYNC_NOTIFY and the attribute is true.
 */
int rnic_qp_modify_mask(struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask,
                        rnic_time now);

/* Gets all current attributes, and the attributes that the QP was created with. sq_psn is the PSN
 * of the next new request, rq_psn that of the next expected one (ibv_query_qp(3)). Either pointer
 * may be NULL. */
void rnic_qp_query(const struct rnic_qp *qp, struct rnic_qp_attr *attr, struct rnic_qp_init *init);

/* Internal state of a QP, for tests and reports. */
struct rnic_qp_view {
    enum rnic_qp_state state;
    uint32_t epsn;    /* next PSN expected */
    uint32_t msn;     /* number of messages completed (MSN) */
    uint32_t recv_wr; /* number of receive WQEs posted and unused */
    uint32_t sq_psn;  /* PSN of the next new request */
    uint32_t una_psn; /* PSN of the oldest unacknowledged request; sq_psn if there is none */
    uint32_t send_wr; /* number of send WQEs posted and not complete */
};

void rnic_qp_view(const struct rnic_qp *qp, struct rnic_qp_view *out);

/* Posts a receive. Allowed from INIT on (R188); in ERR the WQE is flushed immediately. Returns
 * RNIC_ERR_FULL if max_recv_wr are posted, and RNIC_ERR_INVALID for too many SGEs, or a QP that has
 * an SRQ or no receive queue. */
int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr);

/*
 * Posts a send request. Allowed in RTS; in SQD, where it waits; in SQE and ERR, where it is
 * flushed immediately (R188, R189). Completions are in the order of posting. A signaled request
 * completes with success or an error, an unsignaled one only with an error (R198). The first
 * error moves the QP to SQE or ERR (R192). Returns RNIC_ERR_FULL if max_send_wr are posted.
 * Returns RNIC_ERR_INVALID for an unknown opcode or flag, too many SGEs, more than 2^31 bytes or
 * than max_inline, an atomic without its 8 bytes in one SGE (R124), and a datagram without an
 * address handle of the QP's PD.
 *
 * A datagram completes when it is sent. A datagram longer than rnic_attr.mtu is not sent, but
 * completes with success (R168; C10-93.1.1); tx_too_long counts it.
 */
int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* Returns the result of rnic_post_send() for this request if the queue had room. Does not post the
 * request. */
int rnic_post_send_check(const struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* ---- watching work requests ------------------------------------------------------------------ */

/*
 * Sets a function that is called at each step of each send request of QPs created from now on;
 * NULL ends this for later QPs. `wqe` identifies the request: a counter of the QP, equal to wqe
 * of the completion. *wc is passed only with RNIC_WR_STEP_DONE and _COMPLETED. The function must
 * not call the device. The device has no clock, so the function must take its own times.
 */
typedef void rnic_step_fn(void *user, const struct rnic_qp *qp, uint32_t wqe,
                          enum rnic_wr_step step, const struct rnic_wc *wc);
void rnic_watch(struct rnic *rnic, rnic_step_fn *fn, void *user);

/* ---- datagrams ------------------------------------------------------------------------------- */

/*
 * The receive buffer of a datagram starts with a 40-byte network header (R172): the GRH of RoCEv1,
 * the IPv6 header, or 20 zero bytes and the IPv4 header. The completion has RNIC_WC_GRH and
 * includes these bytes. A datagram longer than the buffer, or without a receive WQE, is dropped and
 * counted. The WQE then serves the next datagram (R174).
 */

/* Creates an address handle. The DGID may be multicast. Returns RNIC_ERR_INVALID for a vector out
 * of range, and RNIC_ERR_NOMEM also at the device's limit. */
int rnic_ah_new(struct rnic_pd *pd, const struct rnic_av *av, struct rnic_ah **out);

/* Destroys an address handle. Requests that were posted with it are still sent. Accepts NULL. */
int rnic_ah_del(struct rnic_ah *ah);

/* Gets the address vector, including the values that the device filled in: hop limit, multicast MAC
 * address. */
int rnic_ah_query(const struct rnic_ah *ah, struct rnic_av *av);

/* Computes the MAC address of a multicast group (R176). */
void rnic_gid_multicast_mac(const uint8_t gid[16], uint8_t mac[6]);

/*
 * Attaches a UD QP in any state to a multicast group. The QP then receives the datagrams sent to
 * the group, including those of this device and its own, as with Linux rxe and the HCAs that IPoIB
 * was written for. Attaching twice has no further effect. The port must accept frames for the
 * group's MAC address. Returns RNIC_ERR_INVALID for another service or a GID that is not multicast.
 * Returns RNIC_ERR_NOMEM also with RNIC_MCAST_GROUPS groups, or with RNIC_MCAST_QPS QPs in the
 * group.
 */
int rnic_mcast_attach(struct rnic_qp *qp, const uint8_t gid[16]);

/* Detaches a QP from a multicast group. Returns RNIC_ERR_INVALID if the QP is not attached. */
int rnic_mcast_detach(struct rnic_qp *qp, const uint8_t gid[16]);

/* Returns true if the QP is attached to the group. */
bool rnic_mcast_attached(const struct rnic_qp *qp, const uint8_t gid[16]);

/* Gets one of the groups that the QP is attached to. Returns false if the QP is in no group.
 * Searches all groups. */
bool rnic_mcast_of(const struct rnic_qp *qp, uint8_t gid[16]);

#define RNIC_MCAST_GROUPS 8192u
/* maximum number of QPs in a group; a datagram is copied once for each QP */
#define RNIC_MCAST_QPS 256u

#endif
