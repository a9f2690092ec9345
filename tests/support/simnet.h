/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Simulated network: connects nodes (devices) by paths that lose, duplicate, delay, reorder,
 * corrupt and mark packets. The clock is virtual and jumps from event to event. The same seed and
 * the same calls give the same packets at the same times.
 *
 * rnic/impair applies the faults. A path can have chance faults, which hit a number of parts per
 * million of its frames. A rule can name an exact packet: the n-th packet with a given sender, QP,
 * PSN and class. The network counts all sent packets, and all losses, copies, delays and other
 * faults (the tally).
 *
 * A frame is delivered to the node with its destination MAC address. A multicast frame is delivered
 * to all other nodes; each copy can be lost, delayed or changed separately. A frame to an unknown
 * address is lost.
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

/* A node: a device on the network. Its functions are called with ascending times `now`, ns. */
struct simnet_node {
    void *ctx;
    uint8_t mac[6];
    /* Writes the next frame to send to `buf` and returns its length; 0: nothing to send. */
    size_t (*output)(void *ctx, uint8_t *buf, size_t cap, uint64_t now);
    void (*input)(void *ctx, const uint8_t *frame, size_t len, uint64_t now);
    /* Returns the time of the next timer, ns; SIMNET_NEVER: no timer. */
    uint64_t (*deadline)(void *ctx);
    void (*expire)(void *ctx, uint64_t now);
};

/* Properties of the path from one node to another. All members zero: no faults, no delay. */
struct simnet_path {
    uint32_t loss_ppm;
    uint32_t dup_ppm;
    uint32_t reorder_ppm; /* frames delayed by up to reorder_ns, ppm */
    uint32_t corrupt_ppm; /* frames with one flipped bit of payload, header or ICRC, ppm */
    uint32_t mark_ppm;    /* frames marked with ECN congestion experienced, ppm */
    uint64_t delay_ns;
    uint64_t jitter_ns; /* largest additional random delay, ns; does not reorder frames */
    uint64_t reorder_ns;
    uint64_t bps; /* link rate, bit/s; 0: no limit */
    /* Queue limit, bytes: frames beyond the limit are dropped. 0: no frame is dropped, the sender
     * waits. */
    uint64_t queue;
    uint64_t down_from; /* start of an outage, ns */
    uint64_t down_to;   /* end of the outage, ns */

    uint64_t busy; /* state, not set by the test: time until which the link is busy, ns */
    uint64_t last; /* state, not set by the test: arrival time of the latest frame, ns */
};

/* Switch port towards a node. Frames from all other nodes share the queue of the port. All members
 * zero: no switch, frames go directly to the node. */
struct simnet_port {
    uint64_t bps;      /* link rate, bit/s */
    uint64_t queue;    /* queue limit, bytes: frames beyond it are dropped */
    uint64_t mark;     /* queue length from which ECN-capable packets are marked, bytes; 0: never */
    uint64_t delay_ns; /* delay from the switch to the node, ns */

    uint64_t busy;      /* state, not set by the test: time until which the port is busy, ns */
    uint64_t depth_max; /* state, not set by the test: longest queue up to now, bytes */
};

/* Class of a packet. */
#define SIMNET_CLASSES(X)                                                                          \
    X(DATA)   /* SEND or WRITE request */                                                          \
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
    SIMNET_SENT,       /* sent by its node; a frame that is duplicated counts once */
    SIMNET_DELIVERED,  /* delivered to a node, damaged or not; each copy counts */
    SIMNET_BAD,        /* delivered to a node with a flipped bit */
    SIMNET_LOST,       /* lost: by chance, by a rule, or because no node has the address */
    SIMNET_OVERFLOWED, /* dropped because a queue was full */
    SIMNET_PARTED,     /* dropped because the path was down */
    SIMNET_DUPLICATED,
    SIMNET_HELD, /* delayed by a fault, so that it arrived out of order */
    SIMNET_CORRUPTED,
    SIMNET_MARKED, /* marked with ECN CE: by chance, by a rule, or by the switch */
    SIMNET_FATE_CNT
};

enum simnet_action {
    SIMNET_DROP,
    SIMNET_REPEAT,          /* send a second copy, delay_ns later */
    SIMNET_HOLD,            /* deliver delay_ns later than without the rule */
    SIMNET_CORRUPT_PAYLOAD, /* flip a bit of the payload, or of the ICRC if there is no payload */
    SIMNET_CORRUPT_HEADER,  /* flip a bit of the PSN */
    SIMNET_CORRUPT_ICRC,
    SIMNET_MARK,
    SIMNET_FULL, /* drop the packet, as if the queue were full */
    SIMNET_CUT,  /* take the path down for delay_ns, beginning with this packet */
    SIMNET_ACTION_CNT
};

/* An exact fault. Hits only the `nth` packet that matches, counted from 1; if `nth` is 0, each
 * packet that matches. */
struct simnet_rule {
    int from;         /* sending node, or -1 for any */
    uint32_t dest_qp; /* destination QPN, or 0 for any */
    bool psn_matters;
    uint32_t psn;
    unsigned classes; /* bit set of SIMNET_BIT(), or 0 for any class */
    unsigned nth;
    enum simnet_action action;
    uint64_t delay_ns;

    unsigned seen; /* state, not set by the test: number of packets that matched */
    unsigned hits; /* state, not set by the test: number of packets that the fault was applied to */
};

/* A packet that was just sent, and what the network does with it. */
struct simnet_event {
    unsigned from;
    int to; /* receiving node; -1: no node has the address, or it is multicast */
    enum simnet_class cls;
    unsigned fates; /* bit set, 1 << enum simnet_fate */
    uint64_t now;
    const struct roce_pkt *pkt;
};

struct simnet {
    uint64_t now;
    struct rng rng;
    struct simnet_node node[SIMNET_NODES];
    unsigned node_cnt;
    /* path[from][to]: properties of each path. */
    struct simnet_path path[SIMNET_NODES][SIMNET_NODES];
    /* port[to]: switch port towards each node. */
    struct simnet_port port[SIMNET_NODES];
    uint64_t hold_output[SIMNET_NODES]; /* time until which each node must wait for its link, ns */
    struct simnet_rule rule[SIMNET_RULES];
    unsigned rule_cnt;
    /* The first `chance_cnt` rules are the chance faults of all paths. The exact faults of the
     * current frame follow. */
    struct impair_rules faults;
    size_t chance_cnt; /* number of chance faults */
    struct impair impair;
    /* Number of packets: tally[sender][class][fate]. */
    uint64_t tally[SIMNET_NODES][SIMNET_CLASS_CNT][SIMNET_FATE_CNT];
    /* Number of frames delivered to each node, and how many of them were damaged. */
    uint64_t arrived[SIMNET_NODES];
    uint64_t arrived_bad[SIMNET_NODES];
    /* Number of undamaged frames delivered to each node. */
    uint64_t got[SIMNET_NODES][SIMNET_CLASS_CNT];
    /* Number of undamaged frames with an ECN CE mark delivered to each node. */
    uint64_t marked[SIMNET_NODES][SIMNET_CLASS_CNT];
    uint64_t got_bytes[SIMNET_NODES]; /* bytes of all frames delivered to each node */
    uint64_t sent_bytes[SIMNET_NODES];

    /* Callbacks, which get `ctx`; each may be NULL. observe(): called for each sent packet.
     * arrive(): called before a frame is delivered to a node. tick(): called after each event. */
    void (*observe)(void *ctx, const struct simnet_event *event);
    void (*arrive)(void *ctx, unsigned to, const uint8_t *frame, size_t len, uint64_t now);
    void (*tick)(void *ctx, uint64_t now);
    /* Called for each frame that a switch drops (SIMNET_OVERFLOWED) or marks (SIMNET_MARKED). */
    void (*switched)(void *ctx, unsigned from, unsigned to, const uint8_t *frame, size_t len,
                     enum simnet_fate fate);
    void *ctx;

    struct delay_line flights; /* frames in transit */
    FILE *record;
};

/* Initializes a network without nodes. A struct simnet is large: keep it static or on the heap. */
void simnet_init(struct simnet *net, uint64_t seed);
void simnet_free(struct simnet *net);

/* Adds a node and returns its index. */
unsigned simnet_add(struct simnet *net, const struct simnet_node *node);

/* Copies the properties of `like` to all paths. Does not change their state. */
void simnet_paths(struct simnet *net, const struct simnet_path *like);

struct simnet_rule *simnet_rule(struct simnet *net, const struct simnet_rule *rule);

/* Takes the paths between nodes `a` and `b`, in both directions, down for `ns` from now on. */
void simnet_part(struct simnet *net, unsigned a, unsigned b, uint64_t ns);

/* From now on, writes every sent frame to a pcap file. Returns true, or false if the file cannot be
 * created. */
bool simnet_record(struct simnet *net, const char *path);

/* Runs the network until it is idle, or until the next event would be later than `until`. Returns
 * true if it is idle. */
bool simnet_run(struct simnet *net, uint64_t until);

enum simnet_class simnet_classify(const struct roce_pkt *pkt);
const char *simnet_class_name(enum simnet_class cls);

/* Returns the sum over `classes` (bit set of SIMNET_BIT()) of an array indexed by class, for
 * example net->got[node]. */
uint64_t simnet_sum(const uint64_t by_class[SIMNET_CLASS_CNT], unsigned classes);

/* Returns how many packets of `classes` (bit set of SIMNET_BIT()), sent by node `from`, had the
 * fate `fate`. `from` -1: sent by any node. */
uint64_t simnet_count(const struct simnet *net, int from, unsigned classes, enum simnet_fate fate);

#endif
