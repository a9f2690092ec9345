/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Scenario: everything at once, from one seed: 2 to 64 devices at a switch or on direct paths,
 * links of RC, UC, UD and XRC between them, every kind of work request, shared receive queues,
 * windows, congestion management, slow receivers, and a network that does what networks do; in some
 * seeds one link of which one end fails in a way that the verbs documentation names.
 *
 * scenario_make.c draws it, scenario_load.c posts the work and takes the completions,
 * scenario_wire.c looks at each frame that is sent, also with rnic/flow, which knows nothing of the
 * rest; scenario_model.c at each that arrives: a model of every responder says what its device
 * shall do with a packet, a witness of every requester what it shall count. scenario_check.c
 * compares.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "flow/flow.h"
#include "support/fabric.h"
#include "support/requester_oracle.h"

#define SCN_LINKS 48u
#define SCN_WRS   40u
#define SCN_DEPTH 16u /* of every queue */
#define SCN_DUE   64u
#define SCN_PSNS  2048u /* of one direction of a link */
#define SCN_GRH   40u
#define SCN_QKEY  0x00C0FFEEu

/* One request, where its bytes come from and go to, and what became of it. */
struct scn_wr {
    enum rnic_wr_opcode opcode;
    uint32_t len;
    uint32_t off;  /* in the memory of its device: source, or where what is fetched goes */
    uint32_t roff; /* in that of the other */
    unsigned flags;
    uint32_t imm;
    uint64_t compare_add, swap;
    struct rnic_mr *mr; /* LOCAL_INV, SEND_INV: what it takes away */
    struct rnic_mw *mw; /* BIND_MW */
    uint32_t key_was;   /* of mr */
    uint32_t first;     /* PSN of its first packet, counted from that of the queue */
    uint32_t psns;
    bool wrong;      /* the request that fails, or comes to nothing */
    unsigned window; /* the kind that it goes through, or 0 */
    bool done;       /* completed with success, or one behind it did */
    bool delivered;
    unsigned broken; /* UC: may have left something in memory */
};

/* Where receive WQEs come from: of one QP, or of all of a kind on a device. */
struct scn_pool {
    struct rnic_srq *srq;
    struct rnic_qp *qp;
    uint32_t off[SCN_DEPTH]; /* the buffers, in the memory of the device */
    uint32_t room;
    struct scn_buffer {
        uint32_t room;   /* at most that of the pool */
        bool bad;        /* its key is none */
    } posted[SCN_DEPTH]; /* the model: in the order of posting, from `taken` on */
    uint64_t taken;
    unsigned busy;  /* bit per buffer that is posted */
    unsigned avail; /* the model: posted and not taken by a message */
    bool starved;   /* nothing is ever posted */
    bool spoilt;    /* one with a bad key was posted */
    bool untidy;    /* UC: a broken message may have left something in a buffer */
    uint64_t posts;
};

/* One end of a link: what it sends, and the model of what it receives. */
struct scn_end {
    unsigned dev;
    struct rnic_qp *qp;     /* what sends */
    struct rnic_qp *target; /* what receives: the same, but for XRC */
    uint32_t qpn, target_qpn;
    uint32_t lost_qpn; /* SCN_NO_QP: where it sends and nobody is; else 0 */
    uint16_t pkey;
    struct rnic_ah *ah; /* UD */
    struct scn_pool *pool;
    uint32_t srqn;
    uint32_t area, area_len; /* of the device: all of its slots that the other end may use */
    uint32_t sq_psn;
    uint8_t rnr_code;
    uint32_t psns; /* that all its requests take */
    struct scn_wr wr[SCN_WRS];
    unsigned wr_cnt, posted, done;
    bool failed;      /* its first completion in error came */
    bool flushed;     /* receive completions in error came */
    uint32_t window;  /* key of a window over the area, or 0 */
    unsigned kind;    /* of that window: 1, 2, or 3 for 2A */
    bool bound_2a;    /* a 2A window was bound through it, and still is */
    unsigned recv_at; /* RC: the next request of the other end that uses a receive WQE */
    /* the wire */
    uint32_t sent; /* PSNs sent so far */
    uint32_t seen[SCN_PSNS];
    struct requester_oracle witness; /* RC, XRC */
    bool slowed;                     /* a CNP came */
    /* the model of its responder */
    uint32_t epsn; /* counted from the other's sq_psn */
    bool open, held;
    struct scn_buffer buffer; /* UC, held: of the message in hand */
    uint32_t got;             /* UC, open: bytes of it so far */
    bool silent;              /* a NAK is due or sent: no other for a gap until it is answered */
    bool nak_due;             /* of a gap, and not yet sent */
    uint64_t nak_since;       /* when the gap was seen */
    uint32_t gap_end;         /* after the farthest packet that was dropped for that gap */
    unsigned due[SCN_DUE]; /* UC, UD: requests of the other end whose receive completion is due */
    unsigned due_cnt;
};

/* What goes wrong, and how it ends where the service is reliable. With UC and UD nobody learns of
 * what the network or the other end makes wrong (R163, R165, R170, R174): the request completes
 * with success, the message is gone, a counter says so, and all else goes on. */
enum scn_accident {
    SCN_NONE,
    SCN_BAD_RKEY,   /* REM_ACCESS_ERR */
    SCN_BAD_LKEY,   /* LOC_PROT_ERR */
    SCN_TOO_LONG,   /* REM_INV_REQ_ERR, and LOC_LEN_ERR there */
    SCN_BAD_RECV,   /* REM_OP_ERR, and LOC_PROT_ERR there */
    SCN_NO_RECV,    /* RNR_RETRY_EXC_ERR */
    SCN_CUT,        /* RETRY_EXC_ERR */
    SCN_BAD_BIND,   /* MW_BIND_ERR */
    SCN_MISALIGNED, /* REM_INV_REQ_ERR */
    SCN_TO_ERR,     /* WR_FLUSH_ERR from the start: the user did it */
    SCN_WINDOW,     /* REM_ACCESS_ERR: a type 2 window that is bound to another QP (R210) */
    SCN_BAD_PKEY,   /* RETRY_EXC_ERR: another partition, or two limited members (R049) */
    SCN_NO_QP,      /* RETRY_EXC_ERR: the other end has another QPN */
    SCN_BAD_QKEY,   /* UD: nothing (R170) */
    SCN_OVER_MTU,   /* UD: nothing (R168) */
    SCN_ACCIDENT_CNT
};

struct scn_link {
    enum rnic_qp_type type;
    uint32_t mtu;
    enum scn_accident accident; /* of end 0 */
    struct scn_end end[2];
    bool hit;    /* SCN_WINDOW: posted */
    bool struck; /* the network did more to a packet of it than to mark it */
};

/* What the counters of a device shall be, as far as packets and completions tell. */
struct scn_tally {
    uint64_t send, write, read, atomic, atomic_write, flush; /* executed */
    uint64_t duplicate, ahead, no_wqe, uc_dropped, datagrams, qkey, marked, again, seq_nak;
    uint64_t no_qp, pkey, no_room, over_mtu, cnps;
    uint64_t seq_nak_void; /* of seq_nak: what they were to ask for came before they left */
    uint64_t status[2][RNIC_WC_GENERAL_ERR + 1]; /* completions: sends, receives */
};

struct scenario {
    struct fabric fabric;
    struct rng rng;
    struct scn_link link[SCN_LINKS];
    unsigned link_cnt;
    struct scn_pool pool[2 * SCN_LINKS];
    unsigned pool_cnt;
    unsigned srq_pool[FABRIC_DEVS][3]; /* shared on a device: RC, UC, UD: pool number + 1 */
    struct rnic_xrcd *xrcd[FABRIC_DEVS];
    unsigned xrc_pool[FABRIC_DEVS];
    uint8_t *first[FABRIC_DEVS];    /* memory as it was */
    uint8_t *expected[FABRIC_DEVS]; /* and as it shall be */
    uint32_t used[FABRIC_DEVS];     /* memory given to slots */
    uint64_t added[FABRIC_DEVS];    /* to the word at 0, by all (R123) */
    bool hurt[FABRIC_DEVS];         /* an end of a link that fails is here */
    struct scn_tally tally[FABRIC_DEVS];
    uint32_t max_len;
    bool slow;
    bool faults;  /* the network may lose a NAK */
    bool perfect; /* and nothing else happens on it either */
    bool paced;   /* QPs slow down for CNPs */
    bool cut;     /* SCN_CUT has happened */
    bool resting; /* nothing is posted any more */
    struct roce_flow *judge;
    uint32_t frame;
    unsigned findings;
};

/* Draws the scenario, runs it to its end, and asserts all that can be. */
void scenario_run(uint64_t seed);

/* The same with one fault more: the `nth` packet of class `cls` from anywhere. False if there was
 * none. */
bool scenario_strike(uint64_t seed, unsigned cls, unsigned nth, enum simnet_action action,
                     uint64_t delay_ns);

/*
 * What was put to the test by all scenarios so far; for a test of the generator itself. The first
 * index is the service: RC, UC, UD, XRC.
 */
#define SCN_OPCODES 16u
#define SCN_MTUS    5u /* 256 << 0..4 */
#define SCN_ENCAPS  3u /* RoCEv1, RoCEv2 over IPv4, over IPv6 */
#define SCN_WINDOWS 4u /* type 1, 2B, 2A; from 1 on */
#define SCN_SIZES   4u /* devices: 2, 3 to 8, 9 to 32, 33 to 64 */

struct scenario_seen {
    uint64_t done[4][SCN_OPCODES]; /* requests completed */
    uint64_t mtus[4][SCN_OPCODES][SCN_MTUS];
    uint64_t encaps[4][SCN_OPCODES][SCN_ENCAPS];
    uint64_t sizes[4][SCN_SIZES]; /* links */
    /* Packets that met a fault: requests by opcode, answers by class. */
    uint64_t struck[4][SCN_OPCODES][SIMNET_FATE_CNT];
    uint64_t answers[4][SIMNET_CLASS_CNT][SIMNET_FATE_CNT];
    uint64_t status[RNIC_WC_GENERAL_ERR + 1];
    uint64_t accidents[4][SCN_ACCIDENT_CNT];
    uint64_t short_queues;                   /* scenarios */
    uint64_t untroubled;                     /* reliable links on which the network did nothing */
    uint64_t bound[4][SCN_WINDOWS];          /* by service and kind of window */
    uint64_t through_window[4][SCN_WINDOWS]; /* requests completed */
    uint64_t refused_window[4][SCN_WINDOWS]; /* of another QP */
    uint64_t held;                           /* QPs that 2A windows kept (R213) */
    uint64_t fates[SIMNET_FATE_CNT];
    uint64_t classes[SIMNET_CLASS_CNT];
    unsigned devs_max;
    /* Devices of which the wire said what each counter must be, and not. */
    uint64_t told[ORACLE_COUNT_CNT], hidden[ORACLE_COUNT_CNT];
};
extern struct scenario_seen scenario_seen;

/* How many cells of the tables were never reached; unless `quietly`, prints the tables and reports
 * each of those as a failure. */
unsigned scenario_seen_check(bool quietly);

/* ---- between the parts ----------------------------------------------------------------------- */

void scenario_make(struct scenario *s, uint64_t seed);
void scenario_tick(void *ctx, uint64_t now);
bool scenario_idle(const struct scenario *s);
void scenario_observe(void *ctx, const struct simnet_event *event);
void scenario_switched(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                       enum simnet_fate fate);
struct scn_wr *scenario_wr_at(struct scn_end *e, uint32_t at); /* of the PSN, or NULL */
void scenario_arrive(void *ctx, unsigned node, const uint8_t *frame, size_t len, uint64_t now);
void scenario_check(struct scenario *s);
bool scenario_reliable(const struct scn_link *l);
bool scenario_quiet(const struct scn_link *l);       /* it has an accident of which nobody learns */
bool scenario_late(const struct scn_link *l);        /* whether it happens depends on the network */
unsigned scenario_service(const struct scn_link *l); /* 0..3: RC, UC, UD, XRC */

/* Whether links of a service can have an accident; its name. */
bool scenario_can(unsigned service, enum scn_accident accident);
const char *scenario_accident_name(enum scn_accident accident);

#endif
