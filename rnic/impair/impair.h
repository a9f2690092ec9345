/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairment engine: loses, copies, changes, delays or reorders frames as rules demand. netem does
 * the same for the kernel's own sockets. The engine does no I/O and reads no clock.
 *
 * The live port (port/frameio/impair_port.h), the closed loop of `rocedrill replay`
 * (sim/sim_link.h), `rocedrill edit` and the tests' simulated network call the engine:
 *
 *   1. impair_rules_add() reads the rules (impair_rule.h).
 *   2. impair_init() starts a sequence of frames with a seed.
 *   3. impair_apply() is called once for each frame. Its result contains whether the frame is lost,
 *      copied, changed, delayed for a time, or delayed until later frames have overtaken it.
 *   4. The caller puts the copies into a delay line (delay_line.h), which returns them when they
 *      are due.
 *   5. impair_free() frees the engine.
 *
 * The results depend only on the rules, the seed and the frames. Each rule has its own random
 * sequence, so a rule added at the end does not change the effect of the rules before it.
 */
#ifndef RNIC_IMPAIR_H
#define RNIC_IMPAIR_H

#include "impair/impair_rule.h"

#define IMPAIR_NOTE_MAX 256u

struct impair_counter;

struct impair {
    const struct impair_rules *rules;
    uint64_t random[IMPAIR_RULES_MAX]; /* state of the random sequence of each rule, never 0 */
    uint64_t secret;                   /* secret of the hash table; computed from the seed */
    struct impair_counter *counter;  /* hash table for nth= and psn=. It counts the frames for each
                                      * combination of rule, connection and, with psn=, PSN */
    size_t counter_cnt, counter_cap; /* number of used slots; number of all slots, 0 or a
                                      * power of two */
    uint64_t applied[IMPAIR_RULES_MAX]; /* number of frames that each rule impaired */
};

/* Initializes the engine. The caller owns the rules, which must outlive the engine. */
void impair_init(struct impair *impair, const struct impair_rules *rules, uint64_t seed);
void impair_free(struct impair *impair);

/* A frame passed to the engine. */
struct impair_frame {
    const uint8_t *data; /* bytes from the link header on */
    size_t len;
    enum roce_link link;   /* first header of `data`; 0: Ethernet */
    enum impair_side side; /* direction of the frame at a live port; 0: the frame is from a
                            * capture or simulation */
    uint32_t number;       /* number of the frame in the capture; 0: none */
    uint32_t conn;         /* connection number from 1; 0: no connection */
    uint32_t stream[2];    /* numbers of the datagram streams (packets of UC or UD) that the
                            * frame belongs to: [0] stream of the sender, [1] stream of the
                            * receiver; 0: none */
    int64_t rel;           /* PSN relative to the first PSN of the connection */
};

/* Effect of all rules on one frame. */
struct impair_result {
    unsigned copies;  /* number of copies to send; 0: the frame is lost */
    unsigned actions; /* applied actions, as bits 1 << enum impair_action */
    uint64_t delay;   /* delay of the copies, ns */
    uint32_t hold; /* number of later frames that must arrive before this frame arrives; 0: none */
    bool changed;  /* `data` differs from the original frame */
    bool damaged;  /* the frame was changed so that a conformant receiver drops it */
    bool forged;   /* a rule changed the frame, and the receiver accepts it, although the sender
                    * never sent this packet */
    size_t len;
    uint8_t data[ROCE_FRAME_MAX];
    char note[IMPAIR_NOTE_MAX]; /* text of the rules that were applied, or "" */
};

/* Applies all rules to one frame and sets *out. Returns 0, or -1 if out of memory. */
int impair_apply(struct impair *impair, const struct impair_frame *in, struct impair_result *out);

/* Sets the ECN field of an IP packet to "congestion experienced", corrects the IPv4 checksum (RFC
 * 1624) and returns true. Changes nothing and returns false if the field already has this value, or
 * if the frame is not an IP packet. With `capable`, also returns false if the packet is not
 * ECN-capable (RFC 3168). */
bool impair_mark_ce(uint8_t *frame, size_t len, bool capable);

#endif
