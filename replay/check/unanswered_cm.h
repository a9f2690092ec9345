/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Asked: connections and QPs that somebody asked for by CM (REQ, SIDR_REQ) more than once, and that
 * nobody answered; and answers (REP) that wait for an RTU so. A program whose connection never came
 * about has no packets of its own that could tell.
 */
#ifndef REPLAY_CHECK_UNANSWERED_CM_H
#define REPLAY_CHECK_UNANSWERED_CM_H

#include <stdbool.h>
#include <stdio.h>
#include "wire/cm_msg.h"

#define CHECK_ASKED 64u /* at a time */

struct check_asked_one {
    uint32_t tries; /* 0: nobody */
    uint32_t id;    /* of the exchange, the asking side's */
    uint32_t qpn;   /* of a REP: of its sender's QP */
    enum roce_cm kind;
    bool v1; /* RoCEv1 */
    uint32_t first_frame, last_frame;
    uint64_t first_time, last_time;
    uint64_t service_id;
    uint8_t from[16], to[16];
};

struct check_asked {
    struct check_asked_one one[CHECK_ASKED];
    unsigned reps; /* of these are REPs */
};

/* A CM message of that packet, which no receiver drops. */
void check_asked_step(struct check_asked *asked, const struct roce_cm_msg *cm,
                      const struct roce_pkt *pkt, uint32_t frame, uint64_t time);

/* A packet of another kind: who sends it has its connection, with or without an RTU. */
void check_asked_used(struct check_asked *asked, const struct roce_pkt *pkt);

/* Whether this one was asked for again and again, in vain. */
bool check_asked_in_vain(const struct check_asked_one *one);

/* How many were. */
uint32_t check_asked_cnt(const struct check_asked *asked);

/* In words, with times since `begin`. */
void check_asked_print(FILE *out, const struct check_asked_one *one, uint64_t begin);

#endif
