/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of communication managers: ours stands for both ends of a recorded exchange, and the
 * programs above do what the recorded ones did: ask with this REQ, accept with this REP or reject,
 * be ready with this RTU, end with this DREQ; SIDR likewise. Between them lies the link of
 * closed.h, with its edits (dir=cm).
 *
 * What must hold: every message is well formed, both ends come to rest, and what the programs are
 * told is what they are told without edits. The last is not asked after a forged message, nor where
 * the edits took more frames than a CM may try (max CM retries of the REQ).
 */
#ifndef REPLAY_SIM_CM_LOOP_H
#define REPLAY_SIM_CM_LOOP_H

#include "impair/impair.h"
#include "engine/cm_exchange.h"
#include "sim/sim_pcap.h"

#define CLOSED_CM_REASON_MAX 200u

/* One exchange, played once. */
struct cm_loop_result {
    enum verdict verdict;
    char reason[CLOSED_CM_REASON_MAX]; /* why it is skipped or fails */
    uint32_t events_seen[2]; /* by enum exchange_role: bits 1 << enum rnic_cm_event_type */
    uint64_t frames, lost, damaged, forged;
    unsigned tries; /* of a message */
    bool stuck;     /* it does not come to rest */
    bool broken;    /* a message is not well formed */
};

/* Plays exchange `idx`. 0, or -1 without memory. */
int cm_loop_play(struct cm_loop_result *cm, const struct cm_exchanges *xs, uint32_t idx,
                 struct impair *impair, struct sim_pcap *pcap);

/* Judges a play with edits against one without. */
void cm_loop_compare(struct cm_loop_result *cm, const struct cm_loop_result *clean);

#endif
