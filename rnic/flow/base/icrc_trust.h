/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Trust: whether the ICRCs of a host say that its packets were damaged. A mirror port that sets a
 * time into the frame, a NAT, an anonymizer or a tap before the NIC's ICRC unit makes every ICRC of
 * a capture wrong although the receivers got what was sent (connections of ConnectX captured so
 * answer every packet). A host that has never been seen with a right ICRC is therefore believed
 * from its fourth packet on, as one whose ICRC cannot be verified; the first right one ends that.
 */
#ifndef FLOW_BASE_ICRC_TRUST_H
#define FLOW_BASE_ICRC_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/pkt.h"

#define ROCE_ICRC_TRUST_HOSTS 64u /* sources that are heard first; others are not followed */

/* Wrong ICRCs in a row at a host's begin that are taken for damage. Three are no accident: at a
 * loss of one packet in twenty by damage, they come once in 8000 captures, and the next right one
 * corrects it. */
#define ROCE_ICRC_TRUST_DAMAGED 3u

/* A packet that was dropped for its ICRC, of a host that had none right yet. Whether that was
 * damage, the host's later packets show. */
struct roce_deferred_icrc {
    uint64_t time;
    uint32_t frame, icrc;
    uint32_t conn_index; /* ROCE_NO_CONN: none then */
    uint8_t side;
    bool flush;
};

struct roce_icrc_host {
    uint8_t addr[16];
    uint32_t good, bad; /* packets; a host with none of both is a free place */
    uint32_t frame;     /* the latest of them */
    uint64_t time;
    bool acked;      /* a receiver acknowledged what this host sent */
    bool unanswered; /* it sent a request three times, and nothing answered */
    uint8_t deferred_cnt;
    struct roce_deferred_icrc deferred[ROCE_ICRC_TRUST_DAMAGED];
};

struct roce_icrc_trust {
    struct roce_icrc_host host[ROCE_ICRC_TRUST_HOSTS];
    uint64_t good;     /* packets of all hosts */
    uint32_t deferred; /* of all hosts */
};

/* Counts a packet of `src` and says what its ICRC is worth: BAD becomes UNVERIFIED where the host's
 * ICRCs never are right. */
enum roce_icrc_status roce_icrc_trust_status(struct roce_icrc_trust *trust, const uint8_t src[16],
                                             enum roce_icrc_status seen, uint32_t frame,
                                             uint64_t time);

/* Keeps what is to be said of a damaged packet of `src` until a right ICRC, or the capture's end,
 * tells that it was damage. False: say it now. */
bool roce_icrc_trust_defer(struct roce_icrc_trust *trust, const uint8_t src[16],
                           const struct roce_deferred_icrc *held);

/* What is kept of `src`, or NULL if nothing is. */
struct roce_icrc_host *roce_icrc_trust_deferred(struct roce_icrc_trust *trust,
                                                const uint8_t src[16]);

/* What `src` sent was repeated after timeouts: perhaps its receivers drop it. */
void roce_icrc_trust_unanswered(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* A receiver acknowledged packets of `src`: there their ICRC was right. */
void roce_icrc_trust_acked(struct roce_icrc_trust *trust, const uint8_t src[16]);

#endif
