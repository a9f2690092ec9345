/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * rnic: the software RNIC as its users see it: sans-I/O, deterministic, no clock, no thread.
 *
 * Drive it with two calls: rnic_input() takes a frame that arrived, rnic_output() gives the next
 * frame to send. Time is the caller's: every entry that can depend on it takes `now` in nanoseconds
 * from any fixed start; rnic_deadline() says when the device next wants rnic_expire(). Calls that
 * see `now` go back treat it as no time passed. A device and all its objects belong to one thread
 * at a time.
 *
 * What is shared with the transport below stands in transport/work.h and send.h, which this header
 * includes: access rights, SGEs, work requests, completions (struct rnic_wc), event types.
 *
 * The objects are those of the verbs, with what verbs hides made choosable, so that replay and
 * tests can pin it: QPN, starting PSN and MSN, keys. Enumerations have the numbers of their ibv_*
 * counterparts where there is one (rdma-core, infiniband/verbs.h).
 *
 * Errors are negative enum rnic_error. A peer's violation is never an error code: it shows as a NAK
 * on the wire, a completion status, an event, or a counter. After an error nothing has changed.
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

typedef uint64_t rnic_time; /* nanoseconds */
#define RNIC_NEVER UINT64_MAX

enum rnic_error {
    RNIC_OK = 0,
    RNIC_ERR_NOMEM = -1,   /* no memory, or a device limit is reached */
    RNIC_ERR_INVALID = -2, /* an argument is out of its range or objects do not belong together */
    RNIC_ERR_BUSY = -3,    /* the object is still used by another (R205) */
    RNIC_ERR_EXISTS = -4,  /* the chosen QPN or key is taken */
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
    RNIC_GID_ROCE_V1, /* Ethernet type 0x8915, GRH */
    RNIC_GID_ROCE_V2, /* UDP over IPv4 for ::ffff:a.b.c.d, over IPv6 for any other GID */
};

struct rnic_gid {
    uint8_t gid[16]; /* network order */
    enum rnic_gid_type type;
};

#define RNIC_GID_MAX  64 /* 32 addresses, each as RoCEv1 and as RoCEv2 */
#define RNIC_PKEY_MAX 16

/* Congestion management (Annex A17.9); all zero: none. */
struct rnic_ecn {
    bool np;                        /* answer packets marked "congestion experienced" with CNPs */
    bool rp;                        /* slow a QP down that a CNP names */
    uint32_t min_time_between_cnps; /* us, for each QP (R219) */
    uint8_t cnp_dscp;               /* 0..63: of the CNPs sent */
    struct rnic_dcqcn_attr dcqcn;   /* with rp */
};

/* Both points on, with the values that NVIDIA documents: 4 us, DSCP 48, those of dcqcn.h. */
void rnic_ecn_defaults(struct rnic_ecn *ecn);

/* What a device holds at most; the members of struct ibv_device_attr and ibv_qp_cap. A count that
 * is reached is RNIC_ERR_NOMEM (ENOMEM of the verbs), a size above its limit RNIC_ERR_INVALID. */
struct rnic_limits {
    uint64_t max_mr_size; /* bytes of one region */
    uint32_t max_pd;
    uint32_t max_mr;
    uint32_t max_mw;
    uint32_t max_cq;
    uint32_t max_cqe; /* depth of a CQ */
    uint32_t max_qp;
    uint32_t max_qp_wr;           /* of either queue */
    uint32_t max_sge;             /* of a work request */
    uint32_t max_sge_rd;          /* of a READ */
    uint32_t max_inline;          /* bytes */
    uint32_t max_qp_rd_atom;      /* max_dest_rd_atomic */
    uint32_t max_qp_init_rd_atom; /* max_rd_atomic */
    uint32_t max_ah;
    uint32_t max_srq;
    uint32_t max_srq_wr;
    uint32_t max_srq_sge;
    uint32_t max_xrcd;
    uint32_t max_mcast_grp;
    uint32_t max_mcast_qp_attach; /* QPs of one group */
    uint32_t max_pkeys;           /* the port has as many, from the beginning on; lower than
                                     rnic_attr.pkey_cnt: there is no such device */
};

struct rnic_attr {
    uint8_t mac[6];
    struct rnic_gid gid[RNIC_GID_MAX]; /* one of all zeros is an empty slot */
    unsigned gid_cnt;                  /* 1..RNIC_GID_MAX */
    /* The P_Keys of the port: what QP 1 takes (R050), and what a completion's pkey_index counts. */
    uint16_t pkey[RNIC_PKEY_MAX];
    unsigned pkey_cnt; /* 0..RNIC_PKEY_MAX; 0 is taken as the default one alone, 0xFFFF */
    uint32_t mtu; /* longest datagram: 256, 512, 1024, 2048 or 4096 bytes; 0 is taken as 4096 */
    /* QPNs that the device chooses lie in qpn_first..qpn_last (2..0xFFFFFE); 0, 0: the whole space.
     * One that the user chooses may lie anywhere. */
    uint32_t qpn_first;
    uint32_t qpn_last;
    /* Lower limits than the device's own; 0 and whatever is higher leave it at those. */
    struct rnic_limits limits;
    /* Of keys and QPNs: a seed, which makes them repeatable, or the system's random source. */
    uint64_t seed;
    bool unpredictable;
    /* Whether the bytes of a region are there still, to be read or written; NULL: they are. Asked
     * for each piece that a packet touches, after everything else. */
    bool (*there)(const void *addr, size_t len, bool write);
    bool mw_2a; /* type 2 windows are 2A; false: 2B. A device has one kind (o10-37.2.31) */
    /* With it the packets of QPs whose tclass has no ECN bits are sent as ECT(0) (R005). */
    struct rnic_ecn ecn;
};

/* A device, or NULL without memory or with a count, the MTU, the range of QPNs or a parameter of
 * ecn out of range. */
struct rnic *rnic_new(const struct rnic_attr *attr);

/* Frees the device and every object still in it. NULL is fine. */
void rnic_del(struct rnic *rnic);

/* The limits that hold, every one of which can be reached. */
void rnic_limits_get(const struct rnic *rnic, struct rnic_limits *out);

/* Sets a slot of the GID table, or empties it (NULL, or a GID of all zeros). What uses the slot
 * keeps the address it began with, and gets no packets any more while no slot has it (R052).
 * RNIC_ERR_INVALID for a slot from RNIC_GID_MAX on, or a type that is none. */
int rnic_gid_set(struct rnic *rnic, unsigned idx, const struct rnic_gid *gid);

/* The GID in a slot; false if it is empty or there is no such slot. */
bool rnic_gid_get(const struct rnic *rnic, unsigned idx, struct rnic_gid *out);

/* A whole frame, from the Ethernet header on, without FCS, arrived at `now`. The bytes are the
 * caller's again on return. Never fails: what cannot be used is counted and dropped. */
void rnic_input(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now);

/* Several frames at once, in order; the same as rnic_input() for each, but with many QPs cheaper.
 * Best with RNIC_BURST or more. */
struct rnic_rx {
    const uint8_t *bytes;
    size_t len;
};
#define RNIC_BURST 16u
void rnic_input_burst(struct rnic *rnic, const struct rnic_rx *frames, size_t cnt, rnic_time now);

/* Writes the next frame to send to `buf` and returns its length, or 0 if there is none, or if `cap`
 * is below ROCE_FRAME_MAX. Call until it returns 0. */
size_t rnic_output(struct rnic *rnic, uint8_t *buf, size_t cap, rnic_time now);

/* Whether a QP has something to send other than an ACK that waits. CNPs are not counted. */
bool rnic_output_ready(const struct rnic *rnic);

/* Longest hold of an ACK, ns. Only ACKs of QPs wait whose own ACK timer runs at least 16 times as
 * long: the peer's timer is likely to be the same, and the delay that CM announces is longer
 * (R150). */
#define RNIC_ACK_HOLD_NS 1000000u

/*
 * Delayed ACK: until the time `until`, rnic_output() keeps back the ACKs of QPs that have nothing
 * else to send. Such an ACK is sent when the hold ends, or together with a NAK, a READ response or
 * a request of its QP; a later request of the peer replaces it by the ACK of both. An `until` that
 * is not in the future ends the hold. NAKs never wait. rnic_deadline() counts a waiting ACK.
 */
void rnic_ack_hold(struct rnic *rnic, rnic_time until);
bool rnic_ack_waits(const struct rnic *rnic); /* whether an ACK is kept back */

/* When rnic_expire() is next wanted; RNIC_NEVER if no timer runs. Exact once rnic_output() has
 * returned 0; before that it may be too early, never too late. */
rnic_time rnic_deadline(const struct rnic *rnic);

/* Lets the timers due at `now` fire. Earlier or repeated calls do nothing. */
void rnic_expire(struct rnic *rnic, rnic_time now);

/* ---- counters -------------------------------------------------------------------------------- */

/* Each counts packets, or what it says; names as operators know them from rdma-core's drivers and
 * vendor tools. Those of the transport are in work.h. */
#define RNIC_DEVICE_COUNTERS(X)                                                                    \
    X(rx_packets, "frames given to rnic_input")                                                    \
    X(tx_packets, "frames given out by rnic_output")                                               \
    X(rx_not_roce, "another protocol, or not for this device")                                     \
    X(rx_malformed, "dropped for a defect of form (R016, R028, R029)")                             \
    X(rx_icrc_encapsulated, "dropped for a wrong ICRC (R023)")                                     \
    X(rx_no_qp, "dropped: no such QP, or wrong service, state or address (R046-R054)")             \
    X(rx_bad_pkey, "dropped for a P_Key that does not match (R049, R050)")                         \
    X(rx_bytes, "bytes of the frames given to rnic_input")                                         \
    X(tx_bytes, "bytes of the frames given out by rnic_output")                                    \
    X(np_ecn_marked_roce_packets,                                                                  \
      "requests and READ responses taken that were marked: congestion experienced (R215)")         \
    X(np_cnp_sent, "CNPs sent")                                                                    \
    X(rp_cnp_handled, "CNPs received that slowed a QP down")                                       \
    X(rp_cnp_ignored, "CNPs received for a QP while ecn.rp is off")                                \
    X(resp_cqe_error, "receive completions in error, flushed ones too")                            \
    X(resp_cqe_flush_error, "receive completions flushed (R189)")                                  \
    X(resp_local_length_error, "receive completions with LOC_LEN_ERR")                             \
    X(req_cqe_error, "send completions in error, flushed ones too")                                \
    X(req_cqe_flush_error, "send completions flushed (R189)")                                      \
    X(rx_multicast, "datagrams for a group with a QP attached")                                    \
    X(rx_no_group, "datagrams for a group without")

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
    struct rnic_qp *qp;   /* or NULL */
    struct rnic_cq *cq;   /* or NULL */
    struct rnic_srq *srq; /* or NULL */
};

/* Takes the oldest event: true and *out, or false if there is none. At most 1024 are kept; further
 * ones of a kind already pending for the same object are merged. */
bool rnic_event_get(struct rnic *rnic, struct rnic_event *out);

/* ---- protection domains and memory ----------------------------------------------------------- */

int rnic_pd_new(struct rnic *rnic, struct rnic_pd **out);
/* RNIC_ERR_BUSY while an MR, a window, a QP, an SRQ or an address handle is in it. NULL is fine. */
int rnic_pd_del(struct rnic_pd *pd);

struct rnic_mr_attr {
    void *addr;      /* the memory; stays valid until rnic_mr_dereg */
    uint64_t len;    /* bytes; 0 is allowed and grants nothing */
    uint64_t iova;   /* the address peers and SGEs use for addr[0]; iova + len <= 2^64 - 1. With
                        RNIC_ACCESS_ZERO_BASED it is 0 whatever is said here (R209) */
    unsigned access; /* enum rnic_access; remote write or atomic need local write (R207) */
    uint32_t key;    /* lkey and rkey; 0 lets the device choose an unpredictable one */
    bool invalidate; /* a SEND with Invalidate of a QP of this PD may invalidate it (R204) */
};

/* RNIC_ERR_EXISTS if the key is taken; RNIC_ERR_INVALID for flags that do not go together, more
 * bytes than max_mr_size, an end past 2^64 - 1, or no address with a length. */
int rnic_mr_reg(struct rnic_pd *pd, const struct rnic_mr_attr *attr, struct rnic_mr **out);

/* Its keys stop working at once, also for packets on their way (R208). RNIC_ERR_BUSY while a window
 * is bound to it (R213). NULL is fine. */
int rnic_mr_dereg(struct rnic_mr *mr);
uint32_t rnic_mr_key(const struct rnic_mr *mr);

/* Numbers of enum ibv_rereg_mr_flags. */
enum rnic_mr_rereg {
    RNIC_MR_REREG_TRANSLATION = 1u << 0, /* attr: addr, len, iova */
    RNIC_MR_REREG_PD = 1u << 1,          /* pd */
    RNIC_MR_REREG_ACCESS = 1u << 2,      /* attr: access */
};

/*
 * Changes what `flags` names, at once for all packets to come, and keeps the key; a region that a
 * peer invalidated is good again. `pd` and the members of `attr` that no flag names are not looked
 * at. After an error the region is as it was (ibv_rereg_mr(3): the old one stays valid):
 * RNIC_ERR_INVALID for flags, access or addresses that are none, or a change of ZERO_BASED without
 * TRANSLATION; RNIC_ERR_BUSY while a window is bound to it.
 */
int rnic_mr_rereg(struct rnic_mr *mr, unsigned flags, struct rnic_pd *pd,
                  const struct rnic_mr_attr *attr);

/* ---- memory windows -------------------------------------------------------------------------- */

/* Numbers of enum ibv_mw_type. */
enum rnic_mw_type {
    RNIC_MW_TYPE_1 = 1, /* for every QP of the PD (R210) */
    RNIC_MW_TYPE_2 = 2, /* for the QP that it was bound through: 2A by its QPN alone, 2B by its
                           QPN and PD, as rnic_attr.mw_2a says (R210) */
};

/* Whether type 2 windows of this device are 2A: IBV_DEVICE_MEM_WINDOW_TYPE_2A, else _2B. */
bool rnic_mw_2a(const struct rnic *rnic);

/*
 * A window opens nothing until rnic_post_send() with RNIC_WR_BIND_MW binds it. The bind waits for
 * everything posted before it and happens before everything posted after it; it needs MW_BIND and
 * the PD of the region, a range inside it, and LOCAL_WRITE of it for remote write or atomic; a type
 * 2 window must not be bound and its length not 0. What fails in its turn, completes with
 * RNIC_WC_MW_BIND_ERR, and the QP goes to ERR (R211; C10-72 to C10-75, o10-37.2.30, o10-37.2.40).
 *
 * Each bind of type 1 gives a new key, which rnic_mw_rkey() tells at once after the post; the old
 * one opens what it did until the bind happens (ibv_bind_mw(3)). A bind with len 0 unbinds. A type
 * 2 window is taken back by LOCAL_INV or a SEND with Invalidate; of one that is free already that
 * changes nothing, and is no error in its PD. LOCAL_INV of another key completes with
 * RNIC_WC_MW_BIND_ERR, "memory management operation error" (R204). The end of its QP frees a 2B
 * window (o10-2.2.5); a QP with 2A windows bound does not end: RNIC_ERR_BUSY (R213).
 */
int rnic_mw_new(struct rnic_pd *pd, enum rnic_mw_type type, struct rnic_mw **out);
int rnic_mw_del(struct rnic_mw *mw); /* bound or not; NULL is fine */

/* The key as of the last bind posted (type 1) or done (type 2). */
uint32_t rnic_mw_rkey(const struct rnic_mw *mw);
enum rnic_mw_type rnic_mw_type(const struct rnic_mw *mw);

/* ---- completion queues ----------------------------------------------------------------------- */

/* "SUCCESS", "LOC_LEN_ERR", ...; "unknown" for a number that is none. */
const char *rnic_wc_status_name(enum rnic_wc_status status);

int rnic_cq_new(struct rnic *rnic, uint32_t depth, struct rnic_cq **out); /* 1..max_cqe */
int rnic_cq_del(struct rnic_cq *cq); /* RNIC_ERR_BUSY while a QP or XRC SRQ uses it; NULL is fine */

/* Takes up to `cnt` completions, the oldest first (R198), and returns how many. A CQ that ran over
 * raised RNIC_EVENT_CQ_ERR, keeps what it has, and takes no more; a QP whose completion was lost
 * goes to ERR with RNIC_EVENT_QP_FATAL (R200). */
size_t rnic_cq_poll(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt);

/* Another depth; the completions in it stay, in order. RNIC_ERR_INVALID for a depth that is none,
 * or less than the CQ holds; RNIC_ERR_NOMEM without memory. Neither changes anything. An overrun
 * CQ stays one. */
int rnic_cq_resize(struct rnic_cq *cq, uint32_t depth);
uint32_t rnic_cq_depth(const struct rnic_cq *cq);

/*
 * Asks for one notification: for the next completion added, or with `solicited_only` the next that
 * is of a message with SE or has an error (R201). To ask again before it came changes nothing,
 * except that "next" wins over "solicited" (C11-31). A completion that is already there does not
 * count: arm first, then poll until empty, and none can be missed.
 */
void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only);

/* Takes the oldest notification: its CQ, or NULL if there is none. As many come out as were asked
 * for and raised; one that was raised does not go away because the CQ was polled. */
struct rnic_cq *rnic_cq_notified(struct rnic *rnic);

/* ---- shared receive queues and XRC domains --------------------------------------------------- */

int rnic_xrcd_new(struct rnic *rnic, struct rnic_xrcd **out);
int rnic_xrcd_del(struct rnic_xrcd *xrcd); /* RNIC_ERR_BUSY while an SRQ or QP is in it; or NULL */

struct rnic_srq_init {
    uint32_t max_wr;  /* 1..32768 */
    uint32_t max_sge; /* 1..32 */
    uint32_t limit;   /* 0..max_wr: RNIC_EVENT_SRQ_LIMIT_REACHED comes once when a message takes a
                         WQE and fewer than this are left (R196); 0: never */
    /* Both NULL: a basic SRQ, of the QPs created with it. Both set: an XRC SRQ; its completions go
     * to this CQ, with the QPN of the target QP that the message came to. */
    struct rnic_xrcd *xrcd;
    struct rnic_cq *cq;
    uint32_t srqn; /* 1..0xFFFFFF; 0 lets the device choose an unpredictable one */
};

/* The SGEs of its WQEs are looked up in `pd`, whatever the PD of the QP. RNIC_ERR_EXISTS if the
 * number is taken; RNIC_ERR_INVALID for a size out of range, or one of xrcd and cq without the
 * other or of another device. */
int rnic_srq_new(struct rnic_pd *pd, const struct rnic_srq_init *init, struct rnic_srq **out);

/* RNIC_ERR_BUSY while there is a QP that was made with it. WQEs in it are dropped. A message that
 * is arriving for an XRC SRQ is refused from then on. NULL is fine. */
int rnic_srq_del(struct rnic_srq *srq);

/* Changes what is not NULL: RNIC_ERR_INVALID for max_wr below the WQEs that are posted or in use,
 * or a limit above max_wr. Setting the limit arms it anew. */
int rnic_srq_modify(struct rnic_srq *srq, const uint32_t *max_wr, const uint32_t *limit);

/* As it is now; limit 0: not armed. */
void rnic_srq_view(const struct rnic_srq *srq, struct rnic_srq_init *out);
uint32_t rnic_srq_num(const struct rnic_srq *srq);

/* RNIC_ERR_FULL when max_wr are posted or in use; RNIC_ERR_STATE once the SRQ is in error: an XRC
 * SRQ whose CQ ran over, of which RNIC_EVENT_SRQ_ERR told. */
int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *wr);

/* ---- queue pairs ----------------------------------------------------------------------------- */

/* Numbers of enum ibv_qp_type. */
enum rnic_qp_type {
    RNIC_QPT_GSI = 1,
    RNIC_QPT_RC = 2,
    RNIC_QPT_UC = 3,
    RNIC_QPT_UD = 4,
    RNIC_QPT_XRC_SEND = 9,  /* initiator: has no receive queue */
    RNIC_QPT_XRC_RECV = 10, /* target: has no queue at all; keys are those of the SRQs' PDs */
};

/* Numbers of enum ibv_qp_state. */
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
    struct rnic_cq *recv_cq; /* not looked at for XRC, which has no receive queue */
    uint32_t qpn;            /* 2..0xFFFFFE; 0 lets the device choose an unpredictable one; of the
                                GSI QP, which a device has once, 0 or 1 */
    uint32_t max_recv_wr;    /* 0..32768 */
    uint32_t max_recv_sge;   /* 1..32 */
    struct rnic_cq *send_cq; /* may be the same as recv_cq; NULL only if max_send_wr is 0 */
    uint32_t max_send_wr;    /* 0..32768 */
    uint32_t max_send_sge;   /* 1..32; not looked at if max_send_wr is 0 */
    uint32_t max_inline;     /* 0..1024 bytes of inline data a request */
    struct rnic_srq *srq;    /* a basic one, in place of a receive queue; else NULL. RC, UC, UD */
    struct rnic_xrcd *xrcd;  /* XRC_RECV: the domain whose SRQs requests may name */
    bool no_credits;         /* RC: ACKs do not tell how many receive WQEs there are (R106) */
    uint32_t window;         /* RC, XRC: SEND and WRITE packets unanswered at a time, 0: 256; where
                                one that has more of them in flight is stood in for */
    bool any_credits;        /* RC: what ACKs tell of receive WQEs holds no message back, where one
                                that had not heard of it yet is stood in for */
};

/* A QP in RESET. RNIC_ERR_EXISTS if the QPN is taken; RNIC_ERR_INVALID for a member out of range,
 * or a CQ, SRQ or domain of another device; RNIC_ERR_NOMEM also where no QPN of the device's range
 * is free. */
int rnic_qp_new(struct rnic_pd *pd, const struct rnic_qp_init *init, struct rnic_qp **out);

/* RNIC_ERR_BUSY while it is in a multicast group (R177) or 2A windows are bound to it (R213). NULL
 * is fine. */
int rnic_qp_del(struct rnic_qp *qp);
uint32_t rnic_qp_qpn(const struct rnic_qp *qp);

/* Where the packets of a QP, or the datagrams of an address handle, go. */
struct rnic_av {
    uint8_t dmac[6];    /* of a multicast DGID not looked at: the group has its own (R176) */
    uint8_t dgid[16];   /* network order */
    uint8_t sgid_idx;   /* into rnic_attr.gid */
    uint8_t tclass;     /* DSCP and ECN byte (R004); ECN 11 is sent as 10 (R005) */
    uint8_t hop_limit;  /* 0 is taken as 64 */
    uint32_t flow;      /* 20 bits */
    uint16_t udp_sport; /* 0 lets the device derive one in 0xC000..0xFFFF from both QPNs (R013) */
    bool tagged;        /* with an 802.1Q tag of: */
    uint8_t priority;   /* 0..7 */
    uint16_t vlan;      /* 0..4095 */
};

struct rnic_qp_attr {
    enum rnic_qp_state state;
    enum rnic_qp_state cur_state; /* by mask: the state the user takes the QP to be in */
    bool en_sqd_async_notify;     /* SQD, by mask: raise RNIC_EVENT_SQ_DRAINED */
    bool sq_draining;             /* rnic_qp_query(): in SQD, and messages are still in progress */
    uint8_t port_num;             /* by mask: 1 */
    unsigned access;              /* INIT: enum rnic_access granted to the peer (R075) */
    uint16_t pkey;                /* INIT: P_Key, 0xFFFF is the default one */
    uint32_t qkey;                /* INIT of UD; GSI has 0x80010000 whatever this says (R171) */
    struct rnic_av av;            /* RTR */
    uint32_t path_mtu;            /* RTR: 256, 512, 1024, 2048 or 4096 bytes */
    uint32_t dest_qpn;            /* RTR */
    uint32_t rq_psn;              /* RTR: PSN of the first request */
    uint32_t rq_msn;              /* RTR: MSN before that request; 0 except in replay (R102) */
    uint8_t max_dest_rd_atomic;   /* RTR: 0..16 READs and atomics answered at a time (R076) */
    uint8_t min_rnr_timer;        /* RTR: code 0..31 (R097) */
    uint32_t sq_psn;              /* RTR -> RTS: PSN of the first request sent */
    uint8_t max_rd_atomic;        /* RTR -> RTS: 0..16 READs and atomics outstanding (R130) */
    uint8_t timeout;              /* RTR -> RTS: code 0..31: 4.096 us * 2^code; 0: never (R149) */
    uint8_t retry_cnt;            /* RTR -> RTS: 0..7 (R154) */
    uint8_t rnr_retry;            /* RTR -> RTS: 0..7; 7 is for ever (R157) */
};

/*
 * RESET -> INIT -> RTR -> RTS <-> SQD, SQE -> RTS, any but RESET -> ERR, any -> RESET; INIT, RTS,
 * SQD and ERR to themselves (R183). The members a transition needs are those marked with its target
 * state; the others are not looked at; UD and GSI need pkey, qkey and sq_psn only (R186). In SQD
 * messages begun are finished, then RNIC_EVENT_SQ_DRAINED is raised; no new one is begun until RTS
 * (R191). RNIC_ERR_STATE for a transition that is not allowed, RNIC_ERR_INVALID for a value out of
 * range.
 */
int rnic_qp_modify(struct rnic_qp *qp, const struct rnic_qp_attr *attr, rnic_time now);

/* Numbers of enum ibv_qp_attr_mask; the members of struct rnic_qp_attr they stand for. */
enum rnic_qp_mask {
    RNIC_QP_STATE = 1 << 0,
    RNIC_QP_CUR_STATE = 1 << 1,
    RNIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
    RNIC_QP_ACCESS_FLAGS = 1 << 3,
    RNIC_QP_PKEY_INDEX = 1 << 4, /* pkey, the key itself */
    RNIC_QP_PORT = 1 << 5,
    RNIC_QP_QKEY = 1 << 6,
    RNIC_QP_AV = 1 << 7,
    RNIC_QP_PATH_MTU = 1 << 8,
    RNIC_QP_TIMEOUT = 1 << 9,
    RNIC_QP_RETRY_CNT = 1 << 10,
    RNIC_QP_RNR_RETRY = 1 << 11,
    RNIC_QP_RQ_PSN = 1 << 12, /* and rq_msn, which is 0 except in replay */
    RNIC_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    RNIC_QP_ALT_PATH = 1 << 14, /* refused: there is no path migration on RoCE (R197) */
    RNIC_QP_MIN_RNR_TIMER = 1 << 15,
    RNIC_QP_SQ_PSN = 1 << 16,
    RNIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    RNIC_QP_PATH_MIG_STATE = 1 << 18, /* refused likewise */
    RNIC_QP_CAP = 1 << 19,            /* refused: queues have the size they were made with */
    RNIC_QP_DEST_QPN = 1 << 20,
};

/*
 * As ibv_modify_qp(3): changes the attributes in `mask` and no others; without RNIC_QP_STATE the QP
 * stays in its state. Which attributes a transition of a service requires and allows stands in
 * qp_attr.c (R184-R187). Errors as rnic_qp_modify(); also RNIC_ERR_INVALID for an attribute that is
 * missing or not allowed, or a cur_state that is not the QP's, and RNIC_ERR_BUSY for another
 * max_dest_rd_atomic while answers are owed. After an error nothing has changed.
 *
 * In RTS the access rights and the RNR timer may change, of UD and GSI the Q_Key; in SQD also the
 * address vector, timeout, retry counts and the numbers of READs and atomics; the path MTU never.
 * RNIC_EVENT_SQ_DRAINED is raised only if the mask has EN_SQD_ASYNC_NOTIFY and the attribute is
 * true.
 */
int rnic_qp_modify_mask(struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask,
                        rnic_time now);

/* All attributes as they are now: sq_psn of the next new request, rq_psn of the next one expected
 * (ibv_query_qp(3)), and what the QP was made with. Either may be NULL. */
void rnic_qp_query(const struct rnic_qp *qp, struct rnic_qp_attr *attr, struct rnic_qp_init *init);

/* What a QP looks like from inside; for tests and reports. */
struct rnic_qp_view {
    enum rnic_qp_state state;
    uint32_t epsn;    /* next PSN expected */
    uint32_t msn;     /* messages completed */
    uint32_t recv_wr; /* receive WQEs posted and unused */
    uint32_t sq_psn;  /* of the next request that was not sent yet */
    uint32_t una_psn; /* oldest PSN not acknowledged; sq_psn if there is none */
    uint32_t send_wr; /* send WQEs posted and not complete */
};

void rnic_qp_view(const struct rnic_qp *qp, struct rnic_qp_view *out);

/* Allowed from INIT on (R188); in ERR the WQE is flushed at once. RNIC_ERR_FULL when max_recv_wr
 * are posted; RNIC_ERR_INVALID for too many SGEs, or a QP that has an SRQ or receives nothing. */
int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr);

/*
 * Allowed in RTS, in SQD, where it waits, and in SQE and ERR, where it is flushed at once (R188,
 * R189). Completions come in the order of posting: a signaled request completes with success or an
 * error, an unsignaled one only with an error (R198); the first error moves the QP to SQE or ERR
 * (R192). RNIC_ERR_FULL when max_send_wr are posted; RNIC_ERR_INVALID for a request that makes no
 * sense: an opcode or flag that does not exist, too many SGEs, more than 2^31 bytes or than
 * max_inline, an atomic without its 8 bytes in one SGE (R124), a datagram without an address handle
 * of the QP's PD.
 *
 * A datagram completes when it is sent. One longer than rnic_attr.mtu is not sent, and completes
 * with success all the same (R168; C10-93.1.1); tx_too_long counts it.
 */
int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* What rnic_post_send() would say now if the queue had room: for who posts several or none. */
int rnic_post_send_check(const struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* Posts to several QPs, in order, up to the first that fails: its error, and *done is how many were
 * posted before. The same as rnic_post_send() for each, but with many QPs cheaper. */
struct rnic_post {
    struct rnic_qp *qp;
    const struct rnic_send_wr *wr;
};
int rnic_post_send_burst(const struct rnic_post *posts, size_t cnt, size_t *done);

/* ---- watching work requests ------------------------------------------------------------------ */

/*
 * Calls `fn` at each step of each send request of the QPs made from now on; NULL ends that for QPs
 * made later. `wqe` names the request: it counts up on its QP and is the wqe of its completion.
 * *wc comes with RNIC_WR_STEP_DONE and _COMPLETED only. The function must not call the device. Who
 * wants times takes them there: the device has only those it is given.
 */
typedef void rnic_step_fn(void *user, const struct rnic_qp *qp, uint32_t wqe,
                          enum rnic_wr_step step, const struct rnic_wc *wc);
void rnic_watch(struct rnic *rnic, rnic_step_fn *fn, void *user);

/* ---- datagrams ------------------------------------------------------------------------------- */

/*
 * The receive buffer of a datagram begins with 40 bytes of network header (R172): the GRH of RoCEv1
 * or the IPv6 header; an IPv4 header stands in the last 20, after 20 zero bytes. The completion has
 * RNIC_WC_GRH and counts them. A datagram that does not fit, or finds no receive WQE, is dropped
 * and counted, and the WQE stays for the next one (R174).
 */

/* An address handle: RNIC_ERR_INVALID for a vector out of range, RNIC_ERR_NOMEM also at the limit
 * of the device. The DGID may be a multicast one. */
int rnic_ah_new(struct rnic_pd *pd, const struct rnic_av *av, struct rnic_ah **out);

/* Deletes it at once: requests posted with it are sent all the same. NULL is fine. */
int rnic_ah_del(struct rnic_ah *ah);

/* The vector it was made of, with what the device filled in: hop limit, multicast MAC. */
int rnic_ah_query(const struct rnic_ah *ah, struct rnic_av *av);

/* The MAC address of a multicast group (R176). */
void rnic_gid_multicast_mac(const uint8_t gid[16], uint8_t mac[6]);

/*
 * Attaches a UD QP to a multicast group, in any state: it then receives what is sent to the group,
 * also by this device, also by itself, as Linux rxe and the HCAs that IPoIB was written for do.
 * Attaching twice is attaching once. The port below has to let frames for the group's MAC through.
 * RNIC_ERR_INVALID for another service or a GID that is no group's; RNIC_ERR_NOMEM also with
 * RNIC_MCAST_GROUPS groups or RNIC_MCAST_QPS QPs in this one.
 */
int rnic_mcast_attach(struct rnic_qp *qp, const uint8_t gid[16]);

/* RNIC_ERR_INVALID if it is not attached. */
int rnic_mcast_detach(struct rnic_qp *qp, const uint8_t gid[16]);

/* Whether it is attached to that group. */
bool rnic_mcast_attached(const struct rnic_qp *qp, const uint8_t gid[16]);

/* One of the groups that it is attached to; false if there is none. Looks through all groups. */
bool rnic_mcast_of(const struct rnic_qp *qp, uint8_t gid[16]);

#define RNIC_MCAST_GROUPS 8192u
#define RNIC_MCAST_QPS    256u /* of one group: a datagram is copied once for each */

#endif
