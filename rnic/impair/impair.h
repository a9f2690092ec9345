/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairment engine: loses, copies, changes, delays or reorders frames by rules, as netem does for
 * the kernel's own sockets. The engine does no I/O and reads no clock.
 *
 * The live port (port/frameio/impair_port.h), the closed loop of `rocedrill replay`
 * (sim/sim_link.h) and the tests' simulated network call it:
 *
 *   1. impair_rules_add() reads the rules (impair_rule.h).
 *   2. impair_init() starts a sequence of frames with a seed.
 *   3. impair_apply() is called once per frame and returns the result: the frame may be lost,
 *      copied or changed. It may be delayed for a time or until later frames have overtaken it.
 *   4. The caller puts the copies into a delay line (delay_line.h), which returns them when they
 *      are due.
 *   5. impair_free() frees the engine.
 *
 * Equal rules, seed and frames give equal results. Each rule has its own random sequence, so a rule
 * added at the end does not change the effect of the rules before it.
 */
#ifndef RNIC_IMPAIR_H
#define RNIC_IMPAIR_H

#include "impair/impair_rule.h"

#define IMPAIR_NOTE_MAX 256u

struct impair_counter;

struct impair {
    const struct impair_rules *rules;
    uint64_t random[IMPAIR_RULES_MAX]; /* states of each rule's random sequence, never 0 */
    uint64_t secret;                   /* secret of the hash table, from the seed */
    struct impair_counter *counter;    /* hash table of the occurrences counted for nth= and psn= */
    size_t counter_cnt, counter_cap;   /* used slots and slots; slots are 0 or a power of two */
    uint64_t applied[IMPAIR_RULES_MAX]; /* number of frames that each rule impaired */
};

/* Initializes the engine. The caller owns the rules, which must outlive the engine. */
void impair_init(struct impair *impair, const struct impair_rules *rules, uint64_t seed);
void impair_free(struct impair *impair);

/* A frame passed to the engine. */
struct impair_frame {
    const uint8_t *data; /* bytes from the Ethernet header on */
    size_t len;
    enum impair_side side; /* direction at a live port; 0 offline */
    uint32_t number;       /* number of the frame in the capture; 0: none */
    uint32_t conn;         /* connection number from 1; 0: no connection */
    uint32_t stream[2];    /* numbers of the datagram stream at the sender and at the receiver */
    int64_t rel;           /* PSN relative to the first PSN of the connection */
};

/* Result of the rules for one frame. */
struct impair_result {
    unsigned copies;  /* number of copies to send; 0: the frame is lost */
    unsigned actions; /* applied actions, as bits 1 << enum impair_action */
    uint64_t delay;   /* delay of the copies, ns */
    uint32_t hold;    /* number of later frames that may overtake the frame */
    bool changed;     /* `data` differs from the frame passed in */
    bool damaged;     /* the frame was changed, and a conformant receiver drops it */
    bool forged;      /* the frame was changed, and a receiver accepts it as a packet that was never
                       * sent */
    size_t len;
    uint8_t data[ROCE_FRAME_MAX];
    char note[IMPAIR_NOTE_MAX]; /* text of the rules that were applied, or "" */
};

/* Applies the rules to one frame. Returns 0, or -1 if out of memory. */
int impair_apply(struct impair *impair, const struct impair_frame *in, struct impair_result *out);

/* Sets the ECN field to "congestion experienced" and corrects the IPv4 checksum (RFC 1624). With
 * `capable`, only if the packet is ECN-capable (RFC 3168). Returns false and changes nothing if the
 * field is already set, if the frame is no IP packet, or if `capable` forbids it. */
bool impair_mark_ce(uint8_t *frame, size_t len, bool capable);

#endif
