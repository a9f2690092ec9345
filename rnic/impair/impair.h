/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Impairment engine: decides what happens to each frame on its way, as netem does for the kernel's
 * own sockets. It does no I/O and reads no clock.
 *
 * The live port (port/frameio/impair_port.h), the closed loop of `rocedrill replay`
 * (sim/sim_link.h) and the tests' simulated network call it:
 *
 *   1. impair_rules_add() reads the rules (impair_rule.h).
 *   2. impair_init() starts a sequence of frames with a seed.
 *   3. impair_apply() is called once for each frame and says what comes out: nothing, one or
 * several copies, changed, held back for a time or until later frames have overtaken it.
 *   4. The caller puts the copies into a delay line (delay_line.h), which returns them when they
 * are due.
 *   5. impair_free().
 *
 * The same rules, seed and frames give the same results. Each rule draws from its own random
 * sequence, so that a rule added at the end changes nothing for the rules before it.
 */
#ifndef RNIC_IMPAIR_H
#define RNIC_IMPAIR_H

#include "impair/impair_rule.h"

#define IMPAIR_NOTE_MAX 256u

struct impair_counter;

struct impair {
    const struct impair_rules *rules;
    uint64_t random[IMPAIR_RULES_MAX];  /* states of the random sequences, never 0 */
    struct impair_counter *counter;     /* hash table: occurrences of what nth= and psn= count */
    size_t counter_cnt, counter_cap;    /* the capacity is 0 or a power of two */
    uint64_t applied[IMPAIR_RULES_MAX]; /* frames that each rule impaired */
};

/* The rules stay the caller's and must outlive the engine. */
void impair_init(struct impair *impair, const struct impair_rules *rules, uint64_t seed);
void impair_free(struct impair *impair);

/* A frame that was sent. */
struct impair_frame {
    const uint8_t *data; /* from the Ethernet header on */
    size_t len;
    enum impair_side side; /* live: 0 offline */
    uint32_t conn;         /* connection number from 1; 0: none */
    uint32_t stream[2];    /* numbers of its datagram stream, at the sender and at the receiver */
    int64_t rel;           /* PSN, counted from the connection's first */
};

/* What comes out. */
struct impair_result {
    unsigned copies;  /* 0: the frame is lost */
    unsigned actions; /* bits 1 << enum impair_action that were applied */
    uint64_t delay;   /* time to hold it back, ns */
    uint32_t hold;    /* later frames that may overtake it */
    bool changed;     /* `data` is not what went in */
    bool damaged;     /* changed: a conformant receiver drops it */
    bool forged;      /* changed: a receiver takes it for a packet that was never sent */
    size_t len;
    uint8_t data[ROCE_FRAME_MAX];
    char note[IMPAIR_NOTE_MAX]; /* the rules that were applied, or "" */
};

/* Returns 0, or -1 if there is no memory. */
int impair_apply(struct impair *impair, const struct impair_frame *in, struct impair_result *out);

/* Sets ECN to congestion experienced and corrects the IPv4 checksum (RFC 1624). Returns false, and
 * changes nothing, if it is set already, if the frame is not an IP packet, or if `capable` and the
 * packet is not ECN-capable (RFC 3168). */
bool impair_mark_ce(uint8_t *frame, size_t len, bool capable);

#endif
