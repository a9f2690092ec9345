/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Simulated network: nodes joined by paths that lose, repeat, delay, reorder, corrupt and mark what
 * passes, on a virtual clock that jumps from event to event. Everything follows from the seed: the
 * same seed and the same calls give the same packets at the same times.
 *
 * A fault strikes by chance (parts per million of a path) or exactly: a rule names the n-th packet
 * of a sender, QP, PSN and class. The tally is the ground truth: what was sent, and what became of
 * it.
 *
 * A frame goes to the node that has its destination MAC address, one to a group to all others, each
 * copy with its own fate; to none it is lost.
 */
#ifndef TEST_SIMNET_H
#define TEST_SIMNET_H

#include <stdbool.h>
#include <stdio.h>
#include "rng.h"
#include "wire/pkt.h"

#define SIMNET_NODES 64u
#define SIMNET_RULES 64u
#define SIMNET_NEVER UINT64_MAX

/* Anything that takes and gives frames: a device. Called with ever later times, in nanoseconds. */
struct simnet_node {
    void *ctx;
    uint8_t mac[6];
    size_t (*output)(void *ctx, uint8_t *buf, size_t cap, uint64_t now); /* 0: nothing to send */
    void (*input)(void *ctx, const uint8_t *frame, size_t len, uint64_t now);
    uint64_t (*deadline)(void *ctx); /* SIMNET_NEVER: no timer */
    void (*expire)(void *ctx, uint64_t now);
};

/* What one direction between two nodes is like. All zero is a perfect wire. */
struct simnet_path {
    uint32_t loss_ppm;
    uint32_t dup_ppm;
    uint32_t reorder_ppm; /* of frames that are held back for up to reorder_ns */
    uint32_t corrupt_ppm; /* one bit: of payload, header or ICRC, at random */
    uint32_t mark_ppm;    /* ECN: congestion experienced */
    uint64_t delay_ns;
    uint64_t jitter_ns; /* up to this much more; keeps the order */
    uint64_t reorder_ns;
    uint64_t bps;   /* bits a second; 0: no limit */
    uint64_t queue; /* bytes that wait for the wire before more are dropped; 0: the sender waits */
    uint64_t down_from; /* nothing passes from here .. */
    uint64_t down_to;   /* .. until here */

    uint64_t busy; /* state: until when the wire is taken */
    uint64_t last; /* state: when the frame sent last arrives */
};

/* The switch's port towards a node: what comes from all others waits in one queue. All zero: there
 * is no switch, paths lead to the node itself. */
struct simnet_port {
    uint64_t bps;      /* bits a second */
    uint64_t queue;    /* bytes that wait before more are dropped */
    uint64_t mark;     /* bytes that wait before ECN-capable packets are marked; 0: never */
    uint64_t delay_ns; /* from the switch to the node */

    uint64_t busy;      /* state: until when the port is taken */
    uint64_t depth_max; /* state: most bytes that waited */
};

/* What a packet is. */
#define SIMNET_CLASSES(X)                                                                          \
    X(DATA)   /* SEND, WRITE */                                                                    \
    X(READ)   /* READ request */                                                                   \
    X(ATOMIC) /* atomic request */                                                                 \
    X(READ_RESP)                                                                                   \
    X(ATOMIC_ACK)                                                                                  \
    X(ACK)                                                                                         \
    X(NAK_SEQ)                                                                                     \
    X(NAK_RNR)                                                                                     \
    X(NAK_FATAL)                                                                                   \
    X(CNP)                                                                                         \
    X(OTHER)

enum simnet_class {
#define X(NAME) SIMNET_##NAME,
    SIMNET_CLASSES(X)
#undef X
        SIMNET_CLASS_CNT
};

#define SIMNET_BIT(NAME) (1u << SIMNET_##NAME)
#define SIMNET_ANY       ((1u << SIMNET_CLASS_CNT) - 1)

enum simnet_fate {
    SIMNET_SENT,       /* given out by its node, once however many copies are made */
    SIMNET_DELIVERED,  /* given in, each copy once, whole or not */
    SIMNET_BAD,        /* of those: with a bit wrong */
    SIMNET_LOST,       /* by chance, rule, or for want of a destination */
    SIMNET_OVERFLOWED, /* queue full */
    SIMNET_PARTED,     /* path down */
    SIMNET_DUPLICATED,
    SIMNET_HELD, /* reordered */
    SIMNET_CORRUPTED,
    SIMNET_MARKED, /* by chance, rule, or at the switch */
    SIMNET_FATE_CNT
};

enum simnet_action {
    SIMNET_DROP,
    SIMNET_REPEAT,          /* a second copy, delay_ns later */
    SIMNET_HOLD,            /* delay_ns later than the others */
    SIMNET_CORRUPT_PAYLOAD, /* of a packet without payload: its ICRC */
    SIMNET_CORRUPT_HEADER,  /* the PSN */
    SIMNET_CORRUPT_ICRC,
    SIMNET_MARK,
    SIMNET_FULL, /* finds no room in the queue */
    SIMNET_CUT,  /* the path is down from this packet on for delay_ns */
    SIMNET_ACTION_CNT
};

/* An exact fault: the `nth` packet, counted from 1, that fits; every one if nth is 0. */
struct simnet_rule {
    int from;         /* node, or -1 */
    uint32_t dest_qp; /* or 0 */
    bool psn_matters;
    uint32_t psn;
    unsigned classes; /* SIMNET_BIT() | ..., or 0 for any */
    unsigned nth;
    enum simnet_action action;
    uint64_t delay_ns;

    unsigned seen; /* state: packets that fitted */
    unsigned hits; /* state: of those, struck */
};

/* One packet as it was sent, and what was decided about it. */
struct simnet_event {
    unsigned from;
    int to; /* -1: nobody, or a group */
    enum simnet_class cls;
    unsigned fates; /* 1 << enum simnet_fate */
    uint64_t now;
    const struct roce_pkt *pkt;
};

struct simnet_flight;

struct simnet {
    uint64_t now;
    struct rng rng;
    struct simnet_node node[SIMNET_NODES];
    unsigned node_cnt;
    struct simnet_path path[SIMNET_NODES][SIMNET_NODES]; /* [from][to] */
    struct simnet_port port[SIMNET_NODES];               /* by the node it leads to */
    uint64_t hold_output[SIMNET_NODES]; /* state: until when a node waits for its wire */
    struct simnet_rule rule[SIMNET_RULES];
    unsigned rule_cnt;
    uint64_t tally[SIMNET_NODES][SIMNET_CLASS_CNT][SIMNET_FATE_CNT]; /* by sender */
    uint64_t arrived[SIMNET_NODES];                                  /* frames given to each node */
    uint64_t arrived_bad[SIMNET_NODES];
    uint64_t got[SIMNET_NODES][SIMNET_CLASS_CNT];    /* whole frames given to each node */
    uint64_t marked[SIMNET_NODES][SIMNET_CLASS_CNT]; /* of those: marked */
    uint64_t got_bytes[SIMNET_NODES];                /* of all frames given to it */
    uint64_t sent_bytes[SIMNET_NODES];

    /* Called for each packet sent, with what its path did to it; for each frame given to a node,
     * before it is; and after each event, with `ctx`; may be NULL. */
    void (*observe)(void *ctx, const struct simnet_event *event);
    void (*arrive)(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);
    void (*tick)(void *ctx, uint64_t now);
    /* Called for each frame that a switch drops (SIMNET_OVERFLOWED) or marks (SIMNET_MARKED). */
    void (*switched)(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                     enum simnet_fate fate);
    void *ctx;

    struct simnet_flight *flight; /* heap by time */
    size_t flight_cnt;
    size_t flight_cap;
    uint64_t seq;
    FILE *record;
};

/* A struct simnet is large: keep it static or on the heap. */
void simnet_init(struct simnet *net, uint64_t seed);
void simnet_free(struct simnet *net);

/* Index of the new node. */
unsigned simnet_add(struct simnet *net, const struct simnet_node *node);

/* The same conditions for all paths; state is kept. */
void simnet_paths(struct simnet *net, const struct simnet_path *like);

struct simnet_rule *simnet_rule(struct simnet *net, const struct simnet_rule *rule);

/* Nothing passes between two nodes from now for `ns`. */
void simnet_part(struct simnet *net, unsigned a, unsigned b, uint64_t ns);

/* Records every frame sent to a pcap file; false if it cannot be written. */
bool simnet_record(struct simnet *net, const char *path);

/* Runs until nothing will happen any more: true, or until the time `until`, or `until` would be
 * passed by the next event: false. */
bool simnet_run(struct simnet *net, uint64_t until);

enum simnet_class simnet_classify(const struct roce_pkt *pkt);
const char *simnet_class_name(enum simnet_class cls);

/* Sums of got[] or marked[] of a node over the classes in `classes`. */
uint64_t simnet_sum(const uint64_t by_class[SIMNET_CLASS_CNT], unsigned classes);

/* Sums of the tally over the classes in `classes`; from -1: of all senders. */
uint64_t simnet_count(const struct simnet *net, int from, unsigned classes, enum simnet_fate fate);

#endif
