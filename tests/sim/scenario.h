/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Scenario: a random simulation of devices that use all features. A seed determines the scenario.
 *
 * A scenario has 2 to 64 devices at a switch or on direct paths. A link is a pair of QPs (RC, UC,
 * UD or XRC) of two devices that send to each other. The scenario uses every kind of work request,
 * shared receive queues, memory windows, congestion management, slow receivers and a faulty
 * network. In some seeds, one end of a link causes an error (enum scn_accident).
 *
 * scenario_make.c generates the scenario. scenario_load.c posts the work requests and polls
 * completions. scenario_wire.c checks each sent frame, also with rnic/flow. scenario_model.c reads
 * each arriving frame: a model of every responder predicts the results of requests, and an oracle
 * of every requester predicts its counters. scenario_check.c compares these predictions with the
 * devices.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "flow/flow.h"
#include "support/fabric.h"
#include "support/requester_oracle.h"

#define SCN_LINKS 48u
#define SCN_WRS   40u
#define SCN_DEPTH 16u /* depth of every work queue, in WQEs */
#define SCN_DUE   64u
#define SCN_PSNS  2048u /* limit of the PSNs of one direction of a link */
#define SCN_GRH   40u
#define SCN_QKEY  0x00C0FFEEu

/* Work request that one end of a link posts: its data and its outcome. */
struct scn_wr {
    enum rnic_wr_opcode opcode;
    uint32_t len;
    uint32_t off;  /* offset in the requester's memory: source of a SEND or WRITE, destination of
                    * a READ */
    uint32_t roff; /* offset in the responder's memory */
    unsigned flags;
    uint32_t imm;
    uint64_t compare_add, swap;
    struct rnic_mr *mr; /* LOCAL_INV, SEND_INV: memory region to invalidate */
    struct rnic_mw *mw; /* BIND_MW: memory window to bind */
    uint32_t key_was;   /* key of `mr` before the request invalidates it */
    uint32_t first;     /* PSN of the first packet, relative to the first PSN of the queue */
    uint32_t psns;
    bool wrong;      /* the request fails or has no effect, because of the error of its link (enum
                      * scn_accident) */
    unsigned window; /* kind of the memory window through which the request accesses memory; 0:
                      * none */
    bool done;       /* the request, or a later one of its queue, completed with success */
    bool delivered;
    unsigned broken; /* UC: number of packets of the message that may have changed memory */
};

/* Receive queue of one QP, or SRQ of a device. */
struct scn_pool {
    struct rnic_srq *srq;
    struct rnic_qp *qp;
    uint32_t off[SCN_DEPTH]; /* offsets of the buffers in the device's memory */
    uint32_t room;
    struct scn_buffer {
        uint32_t room;   /* usable length of the buffer, bytes: `room` of the pool, or less if the
                          * buffer is too short on purpose */
        bool bad;        /* the L_Key of the buffer in the receive WQE is invalid */
    } posted[SCN_DEPTH]; /* model: posted WQEs in order; those before number `taken` are consumed */
    uint64_t taken;
    unsigned busy;  /* bit set of the buffers that are posted */
    unsigned avail; /* model: number of WQEs posted and not consumed */
    bool starved;   /* the test posts no more WQEs to the pool */
    bool spoilt;    /* the pool has had a WQE with an invalid key */
    bool untidy;    /* UC: an incomplete message may have changed a buffer of the pool */
    uint64_t posts;
};

/* One end of a link: its own requests, and the model of its responder. */
struct scn_end {
    unsigned dev;
    struct rnic_qp *qp;     /* QP that sends the requests */
    struct rnic_qp *target; /* QP that receives requests; equals `qp`, except for XRC */
    uint32_t qpn, target_qpn;
    uint32_t lost_qpn; /* for the error SCN_NO_QP: nonexistent QPN to which this end sends;
                        * otherwise 0 */
    uint16_t pkey;
    struct rnic_ah *ah; /* UD: address handle of the other end */
    struct scn_pool *pool;
    uint32_t srqn;
    uint32_t area, area_len; /* range of the device's memory that the other end may access */
    uint32_t sq_psn;
    uint8_t rnr_code;
    uint32_t psns; /* total number of PSNs of all requests */
    struct scn_wr wr[SCN_WRS];
    unsigned wr_cnt, posted, done;
    bool failed;      /* a send completion with an error was polled */
    bool flushed;     /* receive completions with an error were polled */
    uint32_t window;  /* R_Key of a memory window over `area`, or 0 */
    unsigned kind;    /* kind of `window`: 1 for type 1, 2 for type 2B, 3 for type 2A */
    bool bound_2a;    /* a type 2A window is bound to the QP of this end */
    unsigned recv_at; /* RC: index of the other end's next request that consumes a receive WQE */
    /* The next members describe the packets on the wire. */
    uint32_t sent; /* number of PSNs sent up to now */
    uint32_t seen[SCN_PSNS];
    struct requester_oracle witness; /* RC, XRC: predicts the counters of this end's requester */
    bool slowed;                     /* the end received a CNP */
    /* The next members are the model of the end's responder. */
    uint32_t epsn; /* expected PSN, relative to the other end's sq_psn */
    bool open, held;
    struct scn_buffer buffer; /* UC, if `held`: buffer of the current message */
    uint32_t got;             /* UC, if `open` is true: bytes of the current message received so
                               * far */
    bool silent;              /* a NAK is due or was sent, so the responder sends no further NAK
                               * until the gap is filled */
    bool nak_due;             /* a NAK for a PSN gap is due and not sent */
    uint64_t nak_since;       /* time at which the PSN gap was detected, ns */
    uint32_t gap_end;         /* PSN after the last packet dropped because of the gap */
    unsigned due[SCN_DUE];    /* UC, UD: indices of the other end's requests whose receive
                               * completion is due */
    unsigned due_cnt;
};

/*
 * Error of a link, caused by end 0. The comment at each member is the completion status of the
 * failing request.
 *
 * A UC or UD requester does not detect errors in the network or at the other end (R163, R165, R170,
 * R174). Its request then completes with success, but the message is lost, which only a counter
 * shows. All other requests are unaffected.
 */
enum scn_accident {
    SCN_NONE,
    SCN_BAD_RKEY,   /* the requester's request completes with REM_ACCESS_ERR */
    SCN_BAD_LKEY,   /* the request completes with LOC_PROT_ERR */
    SCN_TOO_LONG,   /* REM_INV_REQ_ERR at the requester; LOC_LEN_ERR at the responder */
    SCN_BAD_RECV,   /* REM_OP_ERR at the requester; LOC_PROT_ERR at the responder */
    SCN_NO_RECV,    /* the request completes with RNR_RETRY_EXC_ERR */
    SCN_CUT,        /* the request completes with RETRY_EXC_ERR */
    SCN_BAD_BIND,   /* the request completes with MW_BIND_ERR */
    SCN_MISALIGNED, /* the request completes with REM_INV_REQ_ERR */
    SCN_TO_ERR,     /* WR_FLUSH_ERR for all requests, because the user moved the QP to the error
                     * state */
    SCN_WINDOW,     /* REM_ACCESS_ERR: the request uses a type 2 window that is bound to another QP
                     * (R210) */
    SCN_BAD_PKEY,   /* RETRY_EXC_ERR: the P_Keys belong to different partitions, or both are limited
                     * members (R049) */
    SCN_NO_QP,      /* RETRY_EXC_ERR: end 0 sends to a QPN that does not exist */
    SCN_BAD_QKEY,   /* UD: the request completes with success, but the receiver drops it (R170) */
    SCN_OVER_MTU,   /* UD: the request completes with success, but the message is lost (R168) */
    SCN_ACCIDENT_CNT
};

struct scn_link {
    enum rnic_qp_type type;
    uint32_t mtu;
    enum scn_accident accident; /* error that end 0 causes */
    struct scn_end end[2];
    bool hit;    /* for the error SCN_WINDOW: the failing request was posted */
    bool struck; /* a packet of the link had a network fault other than an ECN mark */
};

/* Expected counters of a device, as far as the packets and completions determine them. */
struct scn_tally {
    uint64_t send, write, read, atomic, atomic_write, flush; /* number of executed requests, by
                                                              * operation */
    uint64_t duplicate, ahead, no_wqe, uc_dropped, datagrams, qkey, marked, again, seq_nak;
    uint64_t no_qp, pkey, no_room, over_mtu, cnps;
    uint64_t seq_nak_void; /* number of NAKs that are counted in seq_nak but not sent, because the
                            * gap was filled before */
    uint64_t status[2][RNIC_WC_GENERAL_ERR + 1]; /* number of completions by status: [0] sends,
                                                  * [1] receives */
};

struct scenario {
    struct fabric fabric;
    struct rng rng;
    struct scn_link link[SCN_LINKS];
    unsigned link_cnt;
    struct scn_pool pool[2 * SCN_LINKS];
    unsigned pool_cnt;
    unsigned srq_pool[FABRIC_DEVS][3]; /* for each device: 1 + index of the pool of its SRQ for RC,
                                        * UC and UD; 0: no such SRQ */
    struct rnic_xrcd *xrcd[FABRIC_DEVS];
    unsigned xrc_pool[FABRIC_DEVS];
    uint8_t *first[FABRIC_DEVS];    /* initial contents of each device's memory */
    uint8_t *expected[FABRIC_DEVS]; /* expected contents of each device's memory */
    uint32_t used[FABRIC_DEVS];     /* allocated bytes of each device's memory */
    uint64_t added[FABRIC_DEVS];    /* sum of all FETCH_ADD operands for the word at offset 0
                                     * (R123) */
    bool hurt[FABRIC_DEVS];         /* one end of a link with an error is on this device */
    struct scn_tally tally[FABRIC_DEVS];
    uint32_t max_len;
    bool slow;
    bool faults;  /* the network may lose a NAK */
    bool perfect; /* the network has no faults */
    bool paced;   /* QPs reduce their rate after a CNP */
    bool cut;     /* SCN_CUT has cut a link */
    bool resting; /* no more requests are posted */
    struct roce_flow *judge;
    uint32_t frame;
    unsigned findings;
};

/* Draws the scenario of a seed, runs it to its end, and makes all assertions. */
void scenario_run(uint64_t seed);

/* Runs the scenario of a seed with one additional fault: `action` is applied to the `nth` packet of
 * class `cls` from any device. Returns false if there was no such packet. */
bool scenario_strike(uint64_t seed, unsigned cls, unsigned nth, enum simnet_action action,
                     uint64_t delay_ns);

/*
 * Counts of the cases that all scenarios of this process covered. test_scenario.c checks that no
 * case is missing. The first index of each table is the service: RC, UC, UD, XRC.
 */
#define SCN_OPCODES 16u
#define SCN_MTUS    5u /* number of path MTUs: 256 << 0..4 */
#define SCN_ENCAPS  3u /* number of encapsulations: RoCEv1, RoCEv2 over IPv4 and IPv6 */
#define SCN_WINDOWS 4u /* size of a table of window kinds: 1 type 1, 2 type 2B, 3 type 2A */
#define SCN_SIZES   4u /* number of ranges of the number of devices: 2, 3 to 8, 9 to 32, 33 to 64 */

struct scenario_seen {
    uint64_t done[4][SCN_OPCODES]; /* number of completed requests, by service and operation */
    uint64_t mtus[4][SCN_OPCODES][SCN_MTUS];
    uint64_t encaps[4][SCN_OPCODES][SCN_ENCAPS];
    uint64_t sizes[4][SCN_SIZES]; /* number of links, by service and number of devices */
    /* Number of packets to which the network applied each fault: of requests by opcode, of
     * responses by class. */
    uint64_t struck[4][SCN_OPCODES][SIMNET_FATE_CNT];
    uint64_t answers[4][SIMNET_CLASS_CNT][SIMNET_FATE_CNT];
    uint64_t status[RNIC_WC_GENERAL_ERR + 1];
    uint64_t accidents[4][SCN_ACCIDENT_CNT];
    uint64_t short_queues;                   /* number of scenarios with queues of one or two
                                              * packets */
    uint64_t untroubled;                     /* number of reliable links without any network
                                              * fault */
    uint64_t bound[4][SCN_WINDOWS];          /* number of windows bound, by service and kind */
    uint64_t through_window[4][SCN_WINDOWS]; /* number of requests completed through a window */
    uint64_t refused_window[4][SCN_WINDOWS]; /* number of requests refused because the window is
                                              * bound to another QP */
    uint64_t held;                           /* number of QPs that could not be destroyed because
                                              * of type 2A windows (R213) */
    uint64_t fates[SIMNET_FATE_CNT];
    uint64_t classes[SIMNET_CLASS_CNT];
    unsigned devs_max;
    /* told: number of checked requester counters whose exact value the packets determine; hidden:
     * number of the others */
    uint64_t told[ORACLE_COUNT_CNT], hidden[ORACLE_COUNT_CNT];
};
extern struct scenario_seen scenario_seen;

/* Returns the number of cases in scenario_seen that no scenario covered. Unless `quietly`, prints
 * the tables and reports each such case as a failure. */
unsigned scenario_seen_check(bool quietly);

/* ---- between the parts ----------------------------------------------------------------------- */

void scenario_make(struct scenario *s, uint64_t seed);
void scenario_tick(void *ctx, uint64_t now);
bool scenario_idle(const struct scenario *s);
void scenario_observe(void *ctx, const struct simnet_event *event);
void scenario_switched(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                       enum simnet_fate fate);
struct scn_wr *scenario_wr_at(struct scn_end *e, uint32_t at); /* Returns the request that
                                                                * contains relative PSN `at`, or
                                                                * NULL. */
void scenario_arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now);
void scenario_check(struct scenario *s);
bool scenario_reliable(const struct scn_link *l);
bool scenario_quiet(const struct scn_link *l);       /* Returns whether the link has an error that
                                                      * the requester of the link does not
                                                      * detect. */
bool scenario_late(const struct scn_link *l);        /* Returns whether it depends on the network
                                                      * whether the link's error occurs. */
unsigned scenario_service(const struct scn_link *l); /* Returns the index of the service: 0 RC, 1
                                                      * UC, 2 UD, 3 XRC. */

/* scenario_can() returns whether links of a service can have an error. scenario_accident_name()
 * returns the error's name. */
bool scenario_can(unsigned service, enum scn_accident accident);
const char *scenario_accident_name(enum scn_accident accident);

#endif
