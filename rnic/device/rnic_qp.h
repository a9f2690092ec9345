/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Queues of the software RNIC: completion queues, shared receive queues, queue pairs and address
 * handles. Callers include rnic.h, which includes this header and declares the types that it uses.
 *
 *   1. rnic_cq_new(), and rnic_srq_new() if several QPs share their receives.
 *   2. rnic_qp_new() creates a QP; rnic_qp_modify() moves it to INIT, RTR and RTS.
 *   3. rnic_post_recv() and rnic_post_send() post work requests; rnic_cq_poll() returns their
 *      completions.
 *   4. UD QPs need an address handle of rnic_ah_new() for each destination, or rnic_mcast_attach().
 *   5. The *_del() functions destroy objects in the reverse order.
 *
 * Errors are negative values of enum rnic_error.
 */
#ifndef RNIC_PUBLIC_QP_H
#define RNIC_PUBLIC_QP_H

/* ---- completion queues ----------------------------------------------------------------------- */

/* Returns the name of a status, for example "SUCCESS" or "LOC_LEN_ERR"; "unknown" for an undefined
 * number. */
const char *rnic_wc_status_name(enum rnic_wc_status status);

int rnic_cq_new(struct rnic *rnic, uint32_t depth, struct rnic_cq **out); /* Creates a CQ with a
                                                                           * depth of 1..max_cqe. */
int rnic_cq_del(struct rnic_cq *cq); /* Destroys a CQ. Returns RNIC_ERR_BUSY while a QP or XRC SRQ
                                      * uses the CQ. Accepts NULL. */

/* Removes up to `cnt` completions, the oldest first (R198). Returns their number. When a CQ
 * overflows, it raises RNIC_EVENT_CQ_ERR, keeps its completions and accepts no more. A QP whose
 * completion was lost goes to ERR with RNIC_EVENT_QP_FATAL (R200). */
size_t rnic_cq_poll(struct rnic_cq *cq, struct rnic_wc *wc, size_t cnt);

/* Changes the depth and keeps the completions in order. Returns RNIC_ERR_INVALID for an invalid
 * depth or one below the number of completions, and RNIC_ERR_NOMEM if out of memory. After an error
 * nothing has changed. An overflowed CQ stays in error. */
int rnic_cq_resize(struct rnic_cq *cq, uint32_t depth);
uint32_t rnic_cq_depth(const struct rnic_cq *cq);

/*
 * Requests one notification, for the next completion (R201). With `solicited_only`, it is for the
 * next completion with the solicited event bit or an error. A second request before the
 * notification has no effect. Exception: a request for any completion replaces one for solicited
 * completions (C11-31). Completions that are already in the CQ cause no notification. Therefore arm
 * the CQ first, and then poll until it is empty.
 */
void rnic_cq_arm(struct rnic_cq *cq, bool solicited_only);

/* Returns whether any CQ of the device has a requested notification that was not raised yet. */
bool rnic_cq_any_armed(const struct rnic *rnic);

/*
 * Moderates the notifications of a CQ. A requested notification is raised after `cnt` completions
 * that match the request, or `period` ns after the first of them. With `cnt` 0 or 1 or `period` 0,
 * each notification is raised at its first completion, as in a new CQ. The new values also apply to
 * a notification that is already delayed; its delay began at its first completion. Returns
 * RNIC_ERR_NOMEM if out of memory. The specification has no moderation: the model is
 * ibv_modify_cq(3).
 */
int rnic_cq_moderate(struct rnic_cq *cq, uint32_t cnt, rnic_time period);

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
    uint32_t limit;   /* SRQ limit, 0..max_wr: when a message uses a WQE and fewer than `limit`
                       * remain, RNIC_EVENT_SRQ_LIMIT_REACHED is raised once (R196); 0: never */
    /* xrcd and cq both NULL: a basic SRQ, for the QPs created with it. Both set: an XRC SRQ. Its
     * completions are added to `cq` with the QPN of the target QP. */
    struct rnic_xrcd *xrcd;
    struct rnic_cq *cq;
    uint32_t srqn; /* SRQ number, 1..0xFFFFFF; 0 lets the device choose an unpredictable number */
};

/* Creates an SRQ. The SGEs of its WQEs use `pd`, not the PD of the QP. Returns RNIC_ERR_EXISTS if
 * the number is in use. Returns RNIC_ERR_INVALID for a size out of range, if only one of xrcd and
 * cq is set, or if xrcd or cq belongs to another device. */
int rnic_srq_new(struct rnic_pd *pd, const struct rnic_srq_init *init, struct rnic_srq **out);

/* Destroys an SRQ and drops its WQEs. If an incomplete message uses a WQE of an XRC SRQ at that
 * time, the later packets of the message are rejected. Returns RNIC_ERR_BUSY while a QP that was
 * created with the SRQ exists. Accepts NULL. */
int rnic_srq_del(struct rnic_srq *srq);

/* Changes the SRQ attributes whose pointers are not NULL. Returns RNIC_ERR_INVALID for a max_wr
 * below the number of WQEs that are posted or in use, or a limit above max_wr. Setting the limit
 * arms the limit event again. */
int rnic_srq_modify(struct rnic_srq *srq, const uint32_t *max_wr, const uint32_t *limit);

/* Gets the current attributes of the SRQ; limit is 0 if not armed. */
void rnic_srq_view(const struct rnic_srq *srq, struct rnic_srq_init *out);
uint32_t rnic_srq_num(const struct rnic_srq *srq);

/* Posts a receive WQE to the SRQ. Returns RNIC_ERR_FULL if max_wr WQEs are posted or in use.
 * Returns RNIC_ERR_STATE if the SRQ is in error. An XRC SRQ enters this state, with
 * RNIC_EVENT_SRQ_ERR, when its CQ overflows. */
int rnic_post_srq_recv(struct rnic_srq *srq, const struct rnic_recv_wr *wr);

/* ---- queue pairs ----------------------------------------------------------------------------- */

/* Type of a QP, with the numbers of enum ibv_qp_type. */
enum rnic_qp_type {
    RNIC_QPT_GSI = 1,
    RNIC_QPT_RC = 2,
    RNIC_QPT_UC = 3,
    RNIC_QPT_UD = 4,
    RNIC_QPT_RAW_PACKET = 8, /* frames of any protocol, see rnic_steer_new() */
    RNIC_QPT_XRC_SEND = 9,   /* XRC initiator: has no receive queue */
    RNIC_QPT_XRC_RECV = 10,  /* XRC target: has no queues; SRQs supply receive WQEs and the PD */
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
    uint32_t qpn;            /* QPN 2..0xFFFFFE; 0: the device chooses an unpredictable QPN. GSI: 0
                              * or 1; a device has only one GSI QP */
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
    uint32_t window;  /* RC, XRC: maximum number of unanswered SEND and WRITE packets; 0: 256. The
                       * replay of a peer that had more packets in flight needs a larger value */
    bool any_credits; /* RC: ignores the credits in ACKs; for the replay of a requester that sent
                       * more than the captured ACKs allow, because they had not yet reached it */
    bool endless_retries; /* RC: retries without limit; for the replay of a requester that did
                           * not give up */
};

/* Creates a QP in RESET. Returns RNIC_ERR_EXISTS if the QPN is in use. Returns RNIC_ERR_INVALID for
 * a member out of range, or a CQ, SRQ or XRC domain of another device. Returns RNIC_ERR_NOMEM also
 * if no QPN of the device's range is free. */
int rnic_qp_new(struct rnic_pd *pd, const struct rnic_qp_init *init, struct rnic_qp **out);

/* Destroys a QP. Returns RNIC_ERR_BUSY while the QP is in a multicast group (R177), has flows, or
 * has bound 2A windows (R213). Accepts NULL. */
int rnic_qp_del(struct rnic_qp *qp);
uint32_t rnic_qp_qpn(const struct rnic_qp *qp);

/* Address vector: destination of the packets of a QP or of the datagrams of an address handle. */
struct rnic_av {
    uint8_t dmac[6];    /* destination MAC address; ignored for a multicast DGID, which determines
                         * it (R176) */
    uint8_t dgid[16];   /* destination GID, network byte order */
    uint8_t sgid_idx;   /* source GID: index into rnic_attr.gid */
    uint8_t tclass;     /* DSCP and ECN byte (R004); ECN 11 (CE) is sent as 10 (ECT(0), R005) */
    uint8_t hop_limit;  /* hop limit; 0 means 64 */
    uint32_t flow;      /* flow label, 20 bits */
    uint16_t udp_sport; /* UDP source port; 0: the device derives a port in 0xC000..0xFFFF from
                         * `flow` or, if `flow` is 0, from both QPNs (R013) */
    bool tagged;        /* frames have an 802.1Q tag with `priority` and `vlan` */
    uint8_t priority;   /* 802.1Q priority, 0..7 */
    uint16_t vlan;      /* VLAN id, 0..4095 */
};

/* Attributes of a QP. A comment that begins with a state (RTR:) or a transition (RTR -> RTS:) names
 * the transition that sets the member: rnic_qp_modify() uses the member only then. */
struct rnic_qp_attr {
    enum rnic_qp_state state;
    enum rnic_qp_state cur_state; /* state that the user expects the QP to be in; used if its mask
                                   * bit is set */
    bool en_sqd_async_notify;   /* SQD: raise RNIC_EVENT_SQ_DRAINED when the send queue is drained;
                                 * used if its mask bit is set */
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
    uint32_t rq_msn;            /* RTR: MSN before the first request; 0 except in a replay (R102) */
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
 * Changes the state: RESET -> INIT -> RTR -> RTS <-> SQD, SQE -> RTS; any state -> RESET; any state
 * -> ERR, except RESET; INIT, RTS, SQD and ERR to themselves (R183). A transition uses the members
 * that are marked with its target state and ignores the others; UD and GSI need only pkey, qkey and
 * sq_psn (R186). In SQD, started messages are completed, then RNIC_EVENT_SQ_DRAINED is
 * raised; no new message starts until RTS (R191). Returns RNIC_ERR_STATE for a transition that is
 * not allowed, and RNIC_ERR_INVALID for a value out of range.
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
 * Changes the attributes in `mask` and no others, as ibv_modify_qp(3). Without RNIC_QP_STATE the QP
 * keeps its state. The table in qp_attr.c contains the attributes that a transition requires and
 * allows (R184-R187). Errors are those of rnic_qp_modify(). Also returns RNIC_ERR_INVALID for a
 * missing or disallowed attribute, or a cur_state that is not the QP's. Returns RNIC_ERR_BUSY
 * for a change of max_dest_rd_atomic while the QP has responses to send. After an error nothing has
 * changed.
 *
 * In RTS, the access rights and the RNR timer can be changed, and for UD and GSI the Q_Key. In
 * SQD, the address vector, timeout, retry counts and the numbers of READs and atomics can be
 * changed too; the path MTU cannot. RNIC_EVENT_SQ_DRAINED is raised only if the mask has
 * EN_SQD_ASYNC_NOTIFY and the attribute is true.
 */
int rnic_qp_modify_mask(struct rnic_qp *qp, const struct rnic_qp_attr *attr, unsigned mask,
                        rnic_time now);

/* Gets all current attributes, and the attributes that the QP was created with. sq_psn is the PSN
 * of the next new request that the QP will send; rq_psn is the PSN of the next request that the QP
 * expects (ibv_query_qp(3)). `attr` and `init` may be NULL. */
void rnic_qp_query(const struct rnic_qp *qp, struct rnic_qp_attr *attr, struct rnic_qp_init *init);

/* Internal state of a QP, for tests and reports. */
struct rnic_qp_view {
    enum rnic_qp_state state;
    uint32_t epsn;    /* PSN of the next request that the QP expects */
    uint32_t msn;     /* number of messages completed (MSN) */
    uint32_t recv_wr; /* number of receive WQEs posted and unused */
    uint32_t sq_psn;  /* PSN of the next new request */
    uint32_t una_psn; /* PSN of the oldest unacknowledged request; sq_psn if there is none */
    uint32_t send_wr; /* number of send WQEs posted and not complete */
};

void rnic_qp_view(const struct rnic_qp *qp, struct rnic_qp_view *out);

/* Posts a receive. Allowed from INIT on (R188); in ERR the WQE is flushed immediately. Returns
 * RNIC_ERR_FULL if max_recv_wr WQEs are posted. Returns RNIC_ERR_INVALID for too many SGEs, or for
 * a QP that has an SRQ or no receive queue. */
int rnic_post_recv(struct rnic_qp *qp, const struct rnic_recv_wr *wr);

/*
 * Posts a send request. Allowed in RTS; in SQD, where it waits; in SQE and ERR, where it is
 * flushed immediately (R188, R189). Completions are in the order of posting. A signaled request
 * completes with success or an error, an unsignaled one only with an error (R198). The first
 * error moves the QP to SQE or ERR (R192). Returns RNIC_ERR_FULL if max_send_wr are outstanding: a
 * request is outstanding until rnic_cq_poll() returns its completion, or that of a later request of
 * the queue (10.8.5.1).
 * Returns RNIC_ERR_INVALID for:
 * - an unknown opcode or flag,
 * - too many SGEs, more than 2^31 bytes, or more inline bytes than max_inline,
 * - an atomic without its 8 bytes in one SGE (R124),
 * - a datagram without an address handle of the QP's PD.
 *
 * A datagram completes when it is sent. A datagram longer than rnic_attr.mtu is not sent, but
 * completes with success (R168; C10-93.1.1); tx_too_long counts it.
 */
int rnic_post_send(struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* Returns the result that rnic_post_send() would return for this request if the send queue were not
 * full. Does not post the request. */
int rnic_post_send_check(const struct rnic_qp *qp, const struct rnic_send_wr *wr);

/* ---- watching work requests ------------------------------------------------------------------ */

/*
 * Sets the function that the device calls at each step of a send request; NULL: none. The device
 * calls the function only for QPs that were created while a function was set. `wqe` identifies the
 * request: a counter of the QP, equal to rnic_wc.wqe. *wc is passed only with RNIC_WR_STEP_DONE and
 * _COMPLETED. The function must not call the device. If it needs the time, it must read a clock,
 * because the device has none.
 */
typedef void rnic_step_fn(void *user, const struct rnic_qp *qp, uint32_t wqe,
                          enum rnic_wr_step step, const struct rnic_wc *wc);
void rnic_watch(struct rnic *rnic, rnic_step_fn *fn, void *user);

/* ---- address handles and multicast groups ---------------------------------------------------- */

/*
 * The receive buffer of a datagram starts with a network header of 40 bytes (R172): the GRH of
 * RoCEv1, the IPv6 header, or 20 zero bytes and the IPv4 header. The completion has RNIC_WC_GRH,
 * and its byte_len includes the header. A datagram is dropped and counted if no receive WQE is
 * posted, or if the buffer is too short. In the second case, the WQE serves the next datagram
 * (R174).
 */

/* Creates an address handle. The DGID may be multicast. Returns RNIC_ERR_INVALID for an address
 * vector with a member out of range, and RNIC_ERR_NOMEM also at the device's limit. */
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
 * the group, including datagrams of this device and of the QP itself, as with Linux rxe and the
 * HCAs that IPoIB was written for. Attaching twice has no further effect. The port must accept
 * frames for the group's MAC address. Returns RNIC_ERR_INVALID for another service or a GID that is
 * not multicast. Returns RNIC_ERR_NOMEM also at the limit of groups (max_mcast_grp), or of QPs in
 * the group (max_mcast_qp_attach).
 */
int rnic_mcast_attach(struct rnic_qp *qp, const uint8_t gid[16]);

/* Detaches a QP from a multicast group. Returns RNIC_ERR_INVALID if the QP is not attached. */
int rnic_mcast_detach(struct rnic_qp *qp, const uint8_t gid[16]);

/* Returns true if the QP is attached to the group. */
bool rnic_mcast_attached(const struct rnic_qp *qp, const uint8_t gid[16]);

/* Gets one of the groups that the QP is attached to. Returns false if the QP is in no group.
 * Searches all groups. */
bool rnic_mcast_of(const struct rnic_qp *qp, uint8_t gid[16]);

/* ---- raw packet QPs ---------------------------------------------------------------------------
 */

/*
 * A raw packet QP sends and receives whole Ethernet frames without FCS, of any protocol. The
 * message of a SEND is one frame of 14..ROCE_FRAME_MAX bytes. The QP receives the frames that its
 * flows choose. A flow is a rule of flow steering, as in ibv_create_flow(3). A frame is dropped and
 * counted if no receive WQE is posted, or if the buffer of the WQE is too short.
 */

/* Kind of a flow, with the numbers of enum ibv_flow_attr_type. */
enum rnic_steer_kind {
    RNIC_STEER_NORMAL = 0,      /* frames that match all conditions (specs) of the flow */
    RNIC_STEER_ALL_DEFAULT = 1, /* frames that no NORMAL or MC_DEFAULT flow chooses, except
                                 * RoCEv2 packets */
    /* Multicast frames that no NORMAL flow chooses, except RoCEv2 packets. These frames are not
     * passed to ALL_DEFAULT flows. */
    RNIC_STEER_MC_DEFAULT = 2,
    RNIC_STEER_SNIFFER = 3, /* copies of all frames */
};

enum rnic_steer_header {
    RNIC_STEER_ETH,  /* MAC addresses and Ethernet type; the type after a VLAN tag, if any */
    RNIC_STEER_VLAN, /* tag control information of a VLAN tag, 2 bytes */
    RNIC_STEER_IP4,  /* IPv4 header without options, 20 bytes */
    RNIC_STEER_IP6,  /* IPv6 header, 40 bytes */
    RNIC_STEER_TCP,  /* source and destination port */
    RNIC_STEER_UDP,  /* source and destination port */
    RNIC_STEER_HEADERS,
};

/* Condition of a flow: the frame has the header, and its bytes equal `value` where `mask` is set.
 */
struct rnic_steer_spec {
    enum rnic_steer_header header;
    uint8_t value[40];
    uint8_t mask[40];
};

#define RNIC_STEER_SPECS 8u /* maximum number of conditions (specs) of a flow */

struct rnic_steer_attr {
    enum rnic_steer_kind kind;
    uint16_t priority; /* NORMAL: if several flows match, those with the lowest number receive
                        * the frame */
    unsigned spec_cnt; /* 0..RNIC_STEER_SPECS; 0 except for NORMAL */
    struct rnic_steer_spec spec[RNIC_STEER_SPECS];
};

struct rnic_steer;

/* Creates a flow to a raw packet QP. Returns RNIC_ERR_INVALID for another type of QP, or for a kind
 * or condition out of range. While the QP has flows, rnic_qp_del() returns RNIC_ERR_BUSY. */
int rnic_steer_new(struct rnic_qp *qp, const struct rnic_steer_attr *attr, struct rnic_steer **out);
void rnic_steer_del(struct rnic_steer *steer); /* Accepts NULL. */

/* Delivers a frame to the raw packet QPs that have a flow for it. rnic_input() does not do this:
 * the caller decides which frames the flows see. */
void rnic_steer_input(struct rnic *rnic, const uint8_t *frame, size_t len, rnic_time now);

#define RNIC_MCAST_GROUPS 8192u /* maximum number of multicast groups */
/* maximum number of QPs in a group; a datagram is copied once for each QP */
#define RNIC_MCAST_QPS 256u

#endif
