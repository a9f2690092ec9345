/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ICRC trust: decides whether a wrong ICRC means that a packet was damaged. A mirror port that
 * writes a timestamp into frames, a NAT, an anonymizer or a capture before the NIC's ICRC unit
 * makes every ICRC of a capture wrong, although the receivers got correct packets.
 *
 * 1. The first three packets of a host with a wrong ICRC count as damaged; findings about them are
 *    deferred.
 * 2. If no ICRC was right by the fourth packet, the host is believed: its ICRCs are UNVERIFIED.
 * 3. The first right ICRC ends that: a wrong one is damage from then on.
 */
#ifndef FLOW_BASE_ICRC_TRUST_H
#define FLOW_BASE_ICRC_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/pkt.h"

#define ROCE_ICRC_TRUST_HOSTS 64u /* sources that are followed: the first ones seen */

/* Wrong ICRCs at the beginning of a host's packets that count as damage. If one packet in twenty is
 * damaged, three in a row happen once in 8000 captures, and the next right ICRC corrects it. */
#define ROCE_ICRC_TRUST_DAMAGED 3u

/* A packet that was dropped for its ICRC before its host had a right one. The host's later packets
 * show whether it was damaged. */
struct roce_deferred_icrc {
    uint64_t time;
    uint32_t frame, icrc;
    uint32_t conn_index; /* ROCE_NO_CONN if it was not known */
    uint8_t side;
    bool flush;
};

struct roce_icrc_host {
    uint8_t addr[16];
    uint32_t good, bad; /* packets by ICRC; a slot with neither is free */
    uint32_t frame;     /* latest packet */
    uint64_t time;
    bool acked;      /* a receiver acknowledged packets of this host */
    bool unanswered; /* a request was sent three times without a response */
    uint8_t deferred_cnt;
    struct roce_deferred_icrc deferred[ROCE_ICRC_TRUST_DAMAGED];
};

struct roce_icrc_trust {
    struct roce_icrc_host host[ROCE_ICRC_TRUST_HOSTS];
    uint64_t good;     /* packets with a right ICRC, of all hosts */
    uint32_t deferred; /* deferred findings of all hosts */
};

/* Counts a packet of `src` and returns how far its ICRC is believed. BAD becomes UNVERIFIED if no
 * ICRC of the host was ever right. */
enum roce_icrc_status roce_icrc_trust_status(struct roce_icrc_trust *trust, const uint8_t src[16],
                                             enum roce_icrc_status seen, uint32_t frame,
                                             uint64_t time);

/* Defers the finding about a damaged packet of `src` until a right ICRC, or the end of the capture,
 * decides. Returns false if it is to be reported now. */
bool roce_icrc_trust_defer(struct roce_icrc_trust *trust, const uint8_t src[16],
                           const struct roce_deferred_icrc *held);

/* Returns the host `src` if it has deferred findings, or NULL. */
struct roce_icrc_host *roce_icrc_trust_deferred(struct roce_icrc_trust *trust,
                                                const uint8_t src[16]);

/* Notes that requests of `src` were repeated after timeouts: receivers may drop its packets. */
void roce_icrc_trust_unanswered(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* Notes that a receiver acknowledged packets of `src`: their ICRC was right there. */
void roce_icrc_trust_acked(struct roce_icrc_trust *trust, const uint8_t src[16]);

#endif
