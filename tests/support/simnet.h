/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Simulated network: nodes joined by paths that lose, duplicate, delay, reorder, corrupt and
 * mark packets, on a virtual clock that jumps from event to event. The same seed and the same
 * calls give the same packets at the same times.
 *
 * The engine of rnic/impair makes the faults. A fault hits by chance (parts per million of a path)
 * or exactly: a rule names the n-th packet of a sender, QP, PSN and class. The tally is the ground
 * truth: which packets were sent, and their fates.
 *
 * A frame goes to the node with its destination MAC address. A multicast frame goes to all other
 * nodes, each copy with its own fate. A frame to an unknown address is lost.
 */
#ifndef TEST_SIMNET_H
#define TEST_SIMNET_H

#include <stdbool.h>
#include <stdio.h>
#include "impair/delay_line.h"
#include "impair/impair.h"
#include "rng.h"
#include "wire/pkt.h"

#define SIMNET_NODES 64u
#define SIMNET_RULES 64u
#define SIMNET_NEVER UINT64_MAX

/* A device. Its functions are called with ascending times, ns. */
struct simnet_node {
    void *ctx;
    uint8_t mac[6];
    size_t (*output)(void *ctx, uint8_t *buf, size_t cap, uint64_t now); /* returns the length of
                                                                          * the next frame; 0:
                                                                          * nothing to send */
    void (*input)(void *ctx, const uint8_t *frame, size_t len, uint64_t now);
    uint64_t (*deadline)(void *ctx); /* returns the time of the next timer, ns; SIMNET_NEVER: no
                                      * timer */
    void (*expire)(void *ctx, uint64_t now);
};

/* Properties of one direction between two nodes. All zero is a perfect wire. */
struct simnet_path {
    uint32_t loss_ppm;
    uint32_t dup_ppm;
    uint32_t reorder_ppm; /* frames delayed by up to reorder_ns, ppm */
    uint32_t corrupt_ppm; /* frames with one flipped bit of payload, header or ICRC, ppm */
    uint32_t mark_ppm;    /* frames marked with ECN congestion experienced, ppm */
    uint64_t delay_ns;
    uint64_t jitter_ns; /* largest additional delay, ns; the order is kept */
    uint64_t reorder_ns;
    uint64_t bps;       /* bit/s; 0: no limit */
    uint64_t queue;     /* bytes that may wait for the wire before frames are dropped; 0: the sender
                         * waits */
    uint64_t down_from; /* start of an outage, ns */
    uint64_t down_to;   /* end of the outage, ns */

    uint64_t busy; /* state: time until which the wire is busy, ns */
    uint64_t last; /* state: arrival of the latest frame, ns */
};

/* The switch port towards a node: frames from all others share one queue. All zero: no switch,
 * paths lead to the node itself. */
struct simnet_port {
    uint64_t bps;      /* bit/s */
    uint64_t queue;    /* bytes that may wait before frames are dropped */
    uint64_t mark;     /* queue length from which ECN-capable packets are marked, bytes; 0: never */
    uint64_t delay_ns; /* delay from the switch to the node, ns */

    uint64_t busy;      /* state: time until which the port is busy, ns */
    uint64_t depth_max; /* state: longest queue so far, bytes */
};

/* Class of a packet. */
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
    SIMNET_SENT,       /* sent by its node; counted once for all copies */
    SIMNET_DELIVERED,  /* delivered; each copy is counted, damaged or not */
    SIMNET_BAD,        /* delivered with a flipped bit */
    SIMNET_LOST,       /* lost: by chance, by a rule, or because no node has the address */
    SIMNET_OVERFLOWED, /* dropped: queue full */
    SIMNET_PARTED,     /* dropped: path down */
    SIMNET_DUPLICATED,
    SIMNET_HELD, /* delayed to change the order */
    SIMNET_CORRUPTED,
    SIMNET_MARKED, /* marked: by chance, by a rule, or by the switch */
    SIMNET_FATE_CNT
};

enum simnet_action {
    SIMNET_DROP,
    SIMNET_REPEAT,          /* send a second copy, delay_ns later */
    SIMNET_HOLD,            /* deliver delay_ns later than the others */
    SIMNET_CORRUPT_PAYLOAD, /* flip a bit of the payload, or of the ICRC if there is none */
    SIMNET_CORRUPT_HEADER,  /* flip a bit of the PSN */
    SIMNET_CORRUPT_ICRC,
    SIMNET_MARK,
    SIMNET_FULL, /* drop: the queue is full */
    SIMNET_CUT,  /* take the path down for delay_ns, beginning with this packet */
    SIMNET_ACTION_CNT
};

/* An exact fault: hits the `nth` matching packet, counted from 1, or every one if nth is 0. */
struct simnet_rule {
    int from;         /* sending node, or -1 for any */
    uint32_t dest_qp; /* destination QPN, or 0 for any */
    bool psn_matters;
    uint32_t psn;
    unsigned classes; /* SIMNET_BIT() | ..., or 0 for any class */
    unsigned nth;
    enum simnet_action action;
    uint64_t delay_ns;

    unsigned seen; /* state: matching packets so far */
    unsigned hits; /* state: packets hit */
};

/* One packet as it was sent, and its fates. */
struct simnet_event {
    unsigned from;
    int to; /* receiving node; -1: none, or a multicast group */
    enum simnet_class cls;
    unsigned fates; /* bits 1 << enum simnet_fate */
    uint64_t now;
    const struct roce_pkt *pkt;
};

struct simnet {
    uint64_t now;
    struct rng rng;
    struct simnet_node node[SIMNET_NODES];
    unsigned node_cnt;
    struct simnet_path path[SIMNET_NODES][SIMNET_NODES]; /* [from][to] */
    struct simnet_port port[SIMNET_NODES];               /* by the node at the port */
    uint64_t hold_output[SIMNET_NODES]; /* state: time until which a node waits for its wire, ns */
    struct simnet_rule rule[SIMNET_RULES];
    unsigned rule_cnt;
    struct impair_rules faults; /* the chance faults of all paths, then the exact ones of a frame */
    size_t chance_cnt;          /* number of chance faults */
    struct impair impair;
    uint64_t tally[SIMNET_NODES][SIMNET_CLASS_CNT][SIMNET_FATE_CNT]; /* by sender */
    uint64_t arrived[SIMNET_NODES];                                  /* frames delivered to each
                                                                      * node */
    uint64_t arrived_bad[SIMNET_NODES];
    uint64_t got[SIMNET_NODES][SIMNET_CLASS_CNT];    /* undamaged frames delivered to each node */
    uint64_t marked[SIMNET_NODES][SIMNET_CLASS_CNT]; /* undamaged and marked frames */
    uint64_t got_bytes[SIMNET_NODES]; /* bytes of all frames delivered to each node */
    uint64_t sent_bytes[SIMNET_NODES];

    /* Called with `ctx` for each packet sent, with its fates; before each delivery to a node; and
     * after each event. May be NULL. */
    void (*observe)(void *ctx, const struct simnet_event *event);
    void (*arrive)(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);
    void (*tick)(void *ctx, uint64_t now);
    /* Called for each frame that a switch drops (SIMNET_OVERFLOWED) or marks (SIMNET_MARKED). */
    void (*switched)(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                     enum simnet_fate fate);
    void *ctx;

    struct delay_line flights; /* frames in flight */
    FILE *record;
};

/* Initializes the network. A struct simnet is large: keep it static or on the heap. */
void simnet_init(struct simnet *net, uint64_t seed);
void simnet_free(struct simnet *net);

/* Adds a node and returns its index. */
unsigned simnet_add(struct simnet *net, const struct simnet_node *node);

/* Sets the properties of all paths. Keeps their state. */
void simnet_paths(struct simnet *net, const struct simnet_path *like);

struct simnet_rule *simnet_rule(struct simnet *net, const struct simnet_rule *rule);

/* Takes the paths between two nodes down for `ns` from now. */
void simnet_part(struct simnet *net, unsigned a, unsigned b, uint64_t ns);

/* Records every sent frame in a pcap file. Returns false if it cannot be written. */
bool simnet_record(struct simnet *net, const char *path);

/* Runs until the network is idle and returns true, or returns false at time `until`, or before the
 * event that would pass it. */
bool simnet_run(struct simnet *net, uint64_t until);

enum simnet_class simnet_classify(const struct roce_pkt *pkt);
const char *simnet_class_name(enum simnet_class cls);

/* Returns the sum of got[] or marked[] of a node over the classes in `classes`. */
uint64_t simnet_sum(const uint64_t by_class[SIMNET_CLASS_CNT], unsigned classes);

/* Returns the sum of the tally over the classes in `classes`; `from` -1 counts all senders. */
uint64_t simnet_count(const struct simnet *net, int from, unsigned classes, enum simnet_fate fate);

#endif
