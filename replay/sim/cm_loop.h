/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Closed loop of a CM exchange: our communication managers (CMs) replace both endpoints. A
 * simulated program at each endpoint repeats the actions of the recorded program: connect with the
 * recorded REQ, accept with the REP or reject, confirm with the RTU, disconnect with the DREQ. SIDR
 * is played in the same way. The link between the two CMs applies the impairment rules with dir=cm
 * and those without dir=.
 *
 *   1. cm_loop_play() plays one exchange.
 *   2. cm_loop_compare() compares a play with impairments to a play without impairments.
 *
 * Each message must be well formed, both endpoints must stop sending, and the programs must receive
 * the same events as without impairments. The events are not compared in two cases: after a forged
 * message, and if the link lost or damaged at least N frames. N is the number of times that a CM
 * sends one message (max CM retries of the REQ, plus 1).
 */
#ifndef REPLAY_SIM_CM_LOOP_H
#define REPLAY_SIM_CM_LOOP_H

#include "engine/cm/cm_exchange.h"
#include "impair/impair.h"
#include "sim/sim_pcap.h"

#define CLOSED_CM_REASON_MAX 200u

/* Result of one CM exchange in one play. */
struct cm_loop_result {
    enum verdict verdict;
    char reason[CLOSED_CM_REASON_MAX]; /* reason why the exchange failed or was skipped */
    uint32_t events_seen[2];           /* events that each program received, indexed by enum
                                        * cm_role: bits 1 << enum rnic_cm_event_type */
    uint64_t frames, lost, damaged, forged;
    unsigned tries; /* number of times that a CM sends one message */
    bool stuck;     /* the endpoints did not stop sending */
    bool broken;    /* a message was malformed */
};

/* Plays exchange `idx`. Returns 0, or -1 if out of memory. */
int cm_loop_play(struct cm_loop_result *cm, const struct cm_exchanges *xs, uint32_t idx,
                 struct impair *impair, struct sim_pcap *pcap);

/* Compares *cm, a play with impairments, with *clean, a play without impairments. Sets the verdict
 * of *cm. */
void cm_loop_compare(struct cm_loop_result *cm, const struct cm_loop_result *clean);

#endif
