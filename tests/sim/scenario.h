/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Scenario: everything at once, from one seed: 2 to 64 devices at a switch or on direct paths;
 * links of RC, UC, UD and XRC between them; every kind of work request; shared receive queues,
 * memory windows, congestion management, slow receivers; and a faulty network. In some seeds,
 * one end of one link fails in a way that the verbs documentation names.
 *
 * scenario_make.c draws the scenario. scenario_load.c posts the work and polls completions.
 * scenario_wire.c checks each sent frame, also with rnic/flow. scenario_model.c sees each
 * arriving frame: a model of every responder predicts what the device does with it, and an
 * oracle of every requester predicts its counters. scenario_check.c compares.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "flow/flow.h"
#include "support/fabric.h"
#include "support/requester_oracle.h"

#define SCN_LINKS 48u
#define SCN_WRS   40u
#define SCN_DEPTH 16u /* depth of every queue, WQEs */
#define SCN_DUE   64u
#define SCN_PSNS  2048u /* PSNs of one direction of a link */
#define SCN_GRH   40u
#define SCN_QKEY  0x00C0FFEEu

/* One request: the source and target of its bytes, and its outcome. */
struct scn_wr {
    enum rnic_wr_opcode opcode;
    uint32_t len;
    uint32_t off;  /* offset in the memory of its device: source of a write, target of a read */
    uint32_t roff; /* offset in the memory of the other device */
    unsigned flags;
    uint32_t imm;
    uint64_t compare_add, swap;
    struct rnic_mr *mr; /* LOCAL_INV, SEND_INV: region to invalidate */
    struct rnic_mw *mw; /* BIND_MW: window to bind */
    uint32_t key_was;   /* key of mr before */
    uint32_t first;     /* PSN of its first packet, relative to the first PSN of the queue */
    uint32_t psns;
    bool wrong;      /* the request that fails or has no effect */
    unsigned window; /* kind of the window that it uses, or 0 */
    bool done;       /* it, or a later request, completed with success */
    bool delivered;
    unsigned broken; /* UC: fragments that may have changed memory */
};

/* Source of receive WQEs: one QP, or an SRQ of a device. */
struct scn_pool {
    struct rnic_srq *srq;
    struct rnic_qp *qp;
    uint32_t off[SCN_DEPTH]; /* offsets of the buffers in the memory of the device */
    uint32_t room;
    struct scn_buffer {
        uint32_t room;   /* usable length, at most that of the pool */
        bool bad;        /* its key is invalid */
    } posted[SCN_DEPTH]; /* the model: posted WQEs in order, from `taken` on */
    uint64_t taken;
    unsigned busy;  /* one bit per posted buffer */
    unsigned avail; /* the model: WQEs posted and not consumed */
    bool starved;   /* no WQE is ever posted */
    bool spoilt;    /* a WQE with an invalid key was posted */
    bool untidy;    /* UC: an incomplete message may have changed a buffer */
    uint64_t posts;
};

/* One end of a link: its requests, and the model of its responder. */
struct scn_end {
    unsigned dev;
    struct rnic_qp *qp;     /* QP that sends */
    struct rnic_qp *target; /* QP that receives: the same, except with XRC */
    uint32_t qpn, target_qpn;
    uint32_t lost_qpn; /* SCN_NO_QP: QPN of the other end that does not exist; else 0 */
    uint16_t pkey;
    struct rnic_ah *ah; /* UD: address handle */
    struct scn_pool *pool;
    uint32_t srqn;
    uint32_t area, area_len; /* memory of the device that the other end may use */
    uint32_t sq_psn;
    uint8_t rnr_code;
    uint32_t psns; /* PSNs of all its requests */
    struct scn_wr wr[SCN_WRS];
    unsigned wr_cnt, posted, done;
    bool failed;      /* its first completion in error arrived */
    bool flushed;     /* receive completions in error arrived */
    uint32_t window;  /* key of a window over the area, or 0 */
    unsigned kind;    /* kind of that window: 1, 2, or 3 for 2A */
    bool bound_2a;    /* a 2A window is bound through it */
    unsigned recv_at; /* RC: the next request of the other end that consumes a receive WQE */
    /* the wire */
    uint32_t sent; /* PSNs sent so far */
    uint32_t seen[SCN_PSNS];
    struct requester_oracle witness; /* RC, XRC: oracle of its requester */
    bool slowed;                     /* it received a CNP */
    /* the model of its responder */
    uint32_t epsn; /* expected PSN, relative to the sq_psn of the other end */
    bool open, held;
    struct scn_buffer buffer; /* UC, held: buffer of the current message */
    uint32_t got;             /* UC, open: bytes of the current message so far */
    bool silent;              /* a NAK is due or sent; no further NAK until the gap is filled */
    bool nak_due;             /* a NAK for a gap is due and not sent */
    uint64_t nak_since;       /* time at which the gap was seen, ns */
    uint32_t gap_end;         /* PSN after the last packet dropped because of the gap */
    unsigned due[SCN_DUE]; /* UC, UD: requests of the other end whose receive completion is due */
    unsigned due_cnt;
};

/* An error and, for reliable services, its completion status. With UC and UD the requester does not
 * learn of errors in the network or at the other end (R163, R165, R170, R174): the request
 * completes with success, the message is lost, a counter shows it, and everything else continues.
 */
enum scn_accident {
    SCN_NONE,
    SCN_BAD_RKEY,   /* REM_ACCESS_ERR */
    SCN_BAD_LKEY,   /* LOC_PROT_ERR */
    SCN_TOO_LONG,   /* REM_INV_REQ_ERR; at the responder LOC_LEN_ERR */
    SCN_BAD_RECV,   /* REM_OP_ERR; at the responder LOC_PROT_ERR */
    SCN_NO_RECV,    /* RNR_RETRY_EXC_ERR */
    SCN_CUT,        /* RETRY_EXC_ERR */
    SCN_BAD_BIND,   /* MW_BIND_ERR */
    SCN_MISALIGNED, /* REM_INV_REQ_ERR */
    SCN_TO_ERR,     /* WR_FLUSH_ERR from the start: the user moved the QP to ERR */
    SCN_WINDOW,     /* REM_ACCESS_ERR: type 2 window bound to another QP (R210) */
    SCN_BAD_PKEY,   /* RETRY_EXC_ERR: other partition, or two limited members (R049) */
    SCN_NO_QP,      /* RETRY_EXC_ERR: the other end has another QPN */
    SCN_BAD_QKEY,   /* UD: no error (R170) */
    SCN_OVER_MTU,   /* UD: no error (R168) */
    SCN_ACCIDENT_CNT
};

struct scn_link {
    enum rnic_qp_type type;
    uint32_t mtu;
    enum scn_accident accident; /* error of end 0 */
    struct scn_end end[2];
    bool hit;    /* SCN_WINDOW: the request is posted */
    bool struck; /* a packet of it met a fault other than a mark */
};

/* Expected counters of a device, as far as packets and completions determine them. */
struct scn_tally {
    uint64_t send, write, read, atomic, atomic_write, flush; /* executed requests */
    uint64_t duplicate, ahead, no_wqe, uc_dropped, datagrams, qkey, marked, again, seq_nak;
    uint64_t no_qp, pkey, no_room, over_mtu, cnps;
    uint64_t seq_nak_void; /* NAKs of seq_nak that became needless before they were sent */
    uint64_t status[2][RNIC_WC_GENERAL_ERR + 1]; /* completions by status: sends, receives */
};

struct scenario {
    struct fabric fabric;
    struct rng rng;
    struct scn_link link[SCN_LINKS];
    unsigned link_cnt;
    struct scn_pool pool[2 * SCN_LINKS];
    unsigned pool_cnt;
    unsigned srq_pool[FABRIC_DEVS][3]; /* SRQ of a device for RC, UC, UD: pool number + 1, or 0 */
    struct rnic_xrcd *xrcd[FABRIC_DEVS];
    unsigned xrc_pool[FABRIC_DEVS];
    uint8_t *first[FABRIC_DEVS];    /* initial memory */
    uint8_t *expected[FABRIC_DEVS]; /* expected memory */
    uint32_t used[FABRIC_DEVS];     /* bytes allocated to slots */
    uint64_t added[FABRIC_DEVS];    /* sum of all additions to the word at 0 (R123) */
    bool hurt[FABRIC_DEVS];         /* the device has an end of a link that fails */
    struct scn_tally tally[FABRIC_DEVS];
    uint32_t max_len;
    bool slow;
    bool faults;  /* the network may lose a NAK */
    bool perfect; /* the network has no faults at all */
    bool paced;   /* CNPs slow QPs down */
    bool cut;     /* SCN_CUT happened */
    bool resting; /* posting has stopped */
    struct roce_flow *judge;
    uint32_t frame;
    unsigned findings;
};

/* Draws the scenario, runs it to its end, and makes all assertions. */
void scenario_run(uint64_t seed);

/* Runs the scenario with one more fault: on the `nth` packet of class `cls` from any device.
 * Returns false if there was no such packet. */
bool scenario_strike(uint64_t seed, unsigned cls, unsigned nth, enum simnet_action action,
                     uint64_t delay_ns);

/*
 * What all scenarios so far have covered, for a test of the generator. The first index is the
 * service: RC, UC, UD, XRC.
 */
#define SCN_OPCODES 16u
#define SCN_MTUS    5u /* 256 << 0..4 */
#define SCN_ENCAPS  3u /* RoCEv1, RoCEv2 over IPv4, over IPv6 */
#define SCN_WINDOWS 4u /* by kind from 1: type 1, 2B, 2A */
#define SCN_SIZES   4u /* number of devices: 2, 3 to 8, 9 to 32, 33 to 64 */

struct scenario_seen {
    uint64_t done[4][SCN_OPCODES]; /* requests completed */
    uint64_t mtus[4][SCN_OPCODES][SCN_MTUS];
    uint64_t encaps[4][SCN_OPCODES][SCN_ENCAPS];
    uint64_t sizes[4][SCN_SIZES]; /* links */
    /* Packets that met a fault: requests by opcode, responses by class. */
    uint64_t struck[4][SCN_OPCODES][SIMNET_FATE_CNT];
    uint64_t answers[4][SIMNET_CLASS_CNT][SIMNET_FATE_CNT];
    uint64_t status[RNIC_WC_GENERAL_ERR + 1];
    uint64_t accidents[4][SCN_ACCIDENT_CNT];
    uint64_t short_queues;                   /* scenarios */
    uint64_t untroubled;                     /* reliable links without any network fault */
    uint64_t bound[4][SCN_WINDOWS];          /* windows bound, by service and kind */
    uint64_t through_window[4][SCN_WINDOWS]; /* requests completed through a window */
    uint64_t refused_window[4][SCN_WINDOWS]; /* requests refused: window of another QP */
    uint64_t held;                           /* QPs kept by 2A windows (R213) */
    uint64_t fates[SIMNET_FATE_CNT];
    uint64_t classes[SIMNET_CLASS_CNT];
    unsigned devs_max;
    /* Counters of devices that the wire determines exactly, and those it does not. */
    uint64_t told[ORACLE_COUNT_CNT], hidden[ORACLE_COUNT_CNT];
};
extern struct scenario_seen scenario_seen;

/* Returns the number of table cells that were never reached. Unless `quietly`, prints the tables
 * and reports each such cell as a failure. */
unsigned scenario_seen_check(bool quietly);

/* ---- between the parts ----------------------------------------------------------------------- */

void scenario_make(struct scenario *s, uint64_t seed);
void scenario_tick(void *ctx, uint64_t now);
bool scenario_idle(const struct scenario *s);
void scenario_observe(void *ctx, const struct simnet_event *event);
void scenario_switched(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                       enum simnet_fate fate);
struct scn_wr *scenario_wr_at(struct scn_end *e, uint32_t at); /* Returns the request of a PSN, or
                                                                * NULL. */
void scenario_arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now);
void scenario_check(struct scenario *s);
bool scenario_reliable(const struct scn_link *l);
bool scenario_quiet(const struct scn_link *l);       /* Returns whether the link has an error that
                                                      * its requester does not learn of. */
bool scenario_late(const struct scn_link *l);        /* Returns whether it depends on the network
                                                      * that the error occurs. */
unsigned scenario_service(const struct scn_link *l); /* Returns 0..3: RC, UC, UD, XRC. */

/* Returns whether links of a service can have an error; the next function returns its name. */
bool scenario_can(unsigned service, enum scn_accident accident);
const char *scenario_accident_name(enum scn_accident accident);

#endif
