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

#define UNANSWERED_CM_MAX 64u /* at a time */

struct unanswered_cm_entry {
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

struct unanswered_cm {
    struct unanswered_cm_entry one[UNANSWERED_CM_MAX];
    unsigned reps; /* of these are REPs */
};

/* A CM message of that packet, which no receiver drops. */
void unanswered_cm_add(struct unanswered_cm *list, const struct roce_cm_msg *cm,
                       const struct roce_pkt *pkt, uint32_t frame, uint64_t time);

/* A packet of another kind: who sends it has its connection, with or without an RTU. */
void unanswered_cm_note_packet(struct unanswered_cm *list, const struct roce_pkt *pkt);

/* Whether this one was asked for again and again, in vain. */
bool unanswered_cm_is_repeated(const struct unanswered_cm_entry *one);

/* How many were. */
uint32_t unanswered_cm_cnt(const struct unanswered_cm *list);

/* In words, with times since `begin`. */
void unanswered_cm_print(FILE *out, const struct unanswered_cm_entry *one, uint64_t begin);

#endif
