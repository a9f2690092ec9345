/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of a CM exchange: our communication managers take the place of both endpoints. The
 * programs above them repeat what the recorded ones did: connect with this REQ, accept with this
 * REP or reject, confirm with this RTU, disconnect with this DREQ; the same for SIDR. The link
 * between them impairs messages by the rules with dir=cm or without dir=.
 *
 *   1. cm_loop_play() plays one exchange.
 *   2. cm_loop_compare() compares a play with impairments to one without.
 *
 * Each message must be well formed, both endpoints must come to rest, and the programs must receive
 * the same events as without impairments. The last is not checked after a forged message, nor if as
 * many frames were lost as a CM may send (max CM retries of the REQ).
 */
#ifndef REPLAY_SIM_CM_LOOP_H
#define REPLAY_SIM_CM_LOOP_H

#include "impair/impair.h"
#include "engine/cm_exchange.h"
#include "sim/sim_pcap.h"

#define CLOSED_CM_REASON_MAX 200u

/* Result of one exchange in one play. */
struct cm_loop_result {
    enum verdict verdict;
    char reason[CLOSED_CM_REASON_MAX]; /* why it failed or was skipped */
    uint32_t events_seen[2];           /* events of each program, by enum cm_role: bits 1 << enum
                                          rnic_cm_event_type */
    uint64_t frames, lost, damaged, forged;
    unsigned tries; /* times that a CM sends one message */
    bool stuck;     /* the endpoints did not come to rest */
    bool broken;    /* a message was not well formed */
};

/* Plays exchange `idx`. Returns 0, or -1 if there is no memory. */
int cm_loop_play(struct cm_loop_result *cm, const struct cm_exchanges *xs, uint32_t idx,
                 struct impair *impair, struct sim_pcap *pcap);

/* Compares a play with impairments to one without and sets the verdict. */
void cm_loop_compare(struct cm_loop_result *cm, const struct cm_loop_result *clean);

#endif
