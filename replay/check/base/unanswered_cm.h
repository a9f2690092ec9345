/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * CM messages (REQ, SIDR_REQ, REP) that were retransmitted without an answer. They explain a
 * connection that was never established and so has no data packets.
 */
#ifndef REPLAY_CHECK_BASE_UNANSWERED_CM_H
#define REPLAY_CHECK_BASE_UNANSWERED_CM_H

#include <stdbool.h>
#include <stdio.h>
#include "wire/cm_msg.h"

#define UNANSWERED_CM_MAX 64u /* maximum number of entries */

struct unanswered_cm_entry {
    uint32_t tries; /* number of transmissions; 0 for an unused entry */
    uint32_t id;    /* local communication ID of the sender; for SIDR_REQ, its request ID */
    uint32_t qpn;   /* REP: QPN of the sender */
    enum roce_cm kind;
    bool v1; /* whether the message was sent as RoCEv1 */
    uint32_t first_frame, last_frame;
    uint64_t first_time, last_time;
    uint64_t service_id;
    uint8_t from[16], to[16];
};

struct unanswered_cm {
    struct unanswered_cm_entry one[UNANSWERED_CM_MAX];
    unsigned reps;    /* number of entries that are REPs */
    unsigned changes; /* number of calls of unanswered_cm_add() */
    uint64_t filter;  /* unanswered_cm_filter(), computed after each call of unanswered_cm_add() */
};

/* Adds a CM message, or removes the entry that the message answers. Call it only for packets that a
 * receiver accepts. */
void unanswered_cm_add(struct unanswered_cm *list, const struct roce_cm_msg *cm,
                       const struct roce_pkt *pkt, uint32_t frame, uint64_t time);

/* Removes the REP that names the destination QP of the data packet `pkt`. The packet shows that its
 * sender received this REP, even if the RTU was not captured. */
void unanswered_cm_note_packet(struct unanswered_cm *list, const struct roce_pkt *pkt);

/* Returns a set of the QPNs in the listed REPs: each REP sets bit QPN modulo 64. If the set lacks
 * the destination QP of a packet (unanswered_cm_has()), unanswered_cm_note_packet() need not be
 * called for the packet. */
uint64_t unanswered_cm_filter(const struct unanswered_cm *list);
static inline bool unanswered_cm_has(uint64_t filter, uint32_t qpn)
{
    return filter >> (qpn & 63) & 1;
}

/* Returns whether the message was retransmitted. Copies made by the capture are not counted as
 * retransmissions. */
bool unanswered_cm_is_repeated(const struct unanswered_cm_entry *one);

/* Returns the number of CM messages that were retransmitted without an answer. */
uint32_t unanswered_cm_cnt(const struct unanswered_cm *list);

/* Prints an entry as text, with times relative to `begin` (ns). */
void unanswered_cm_print(FILE *out, const struct unanswered_cm_entry *one, uint64_t begin);

#endif
