/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ICRC trust: decides whether a wrong ICRC means that a packet was damaged. Some captures have only
 * wrong ICRCs, although the receivers got correct packets: a mirror port wrote a timestamp into the
 * frames, a NAT or an anonymizer changed them, or the host captured them before its NIC computed
 * the ICRC.
 *
 * 1. The first three packets of a host with a wrong ICRC count as damaged; findings about these
 *    packets are deferred.
 * 2. If the first four packets of a host all have a wrong ICRC, its ICRCs become UNVERIFIED.
 * 3. From the first correct ICRC of the host on, a wrong ICRC counts as damage.
 */
#ifndef FLOW_BASE_ICRC_TRUST_H
#define FLOW_BASE_ICRC_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/pkt.h"

/* number of sending hosts that are tracked, in the order of their first packets */
#define ROCE_ICRC_TRUST_HOSTS 64u

/* Number of leading packets of a host whose wrong ICRC counts as damage. If one packet in twenty is
 * damaged, the first three are all damaged in one of 8000 captures. The next correct ICRC corrects
 * that mistake. */
#define ROCE_ICRC_TRUST_DAMAGED 3u

/* A packet dropped for a wrong ICRC before any packet of its host had a correct ICRC. Later packets
 * of the host show whether the packet was damaged. */
struct roce_deferred_icrc {
    uint64_t time;
    uint32_t frame, icrc;
    uint32_t conn_index; /* connection index of the packet; ROCE_NO_CONN if unknown */
    uint8_t side;
    bool flush;
};

struct roce_icrc_host {
    uint8_t addr[16];
    uint32_t good, bad; /* packets with a right and with a wrong ICRC; both 0: slot is free */
    uint32_t frame;     /* latest frame of the host */
    uint64_t time;
    uint8_t deferred_cnt;
    struct roce_deferred_icrc deferred[ROCE_ICRC_TRUST_DAMAGED];
};

struct roce_icrc_trust {
    struct roce_icrc_host host[ROCE_ICRC_TRUST_HOSTS];
    uint64_t good, bad; /* packets of all tracked hosts with a right and with a wrong ICRC */
    uint32_t deferred;  /* deferred findings of all hosts */
};

/* Counts a packet of `src` and returns the status of its ICRC. Returns UNVERIFIED instead of BAD if
 * no ICRC of the host was ever right. */
enum roce_icrc_status roce_icrc_trust_status(struct roce_icrc_trust *trust, const uint8_t src[16],
                                             enum roce_icrc_status seen, uint32_t frame,
                                             uint64_t time);

/* Returns whether no ICRC of the tracked host `src` was right so far. */
bool roce_icrc_trust_undecided(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* Returns the number of the host `src`, from 0, if one of its ICRCs was wrong; otherwise
 * ROCE_ICRC_TRUST_HOSTS. */
unsigned roce_icrc_trust_suspect(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* Defers the finding about a damaged packet of the undecided host `src` until a right ICRC, or the
 * end of the capture, decides. Returns false if the caller must report the finding now. */
bool roce_icrc_trust_defer(struct roce_icrc_trust *trust, const uint8_t src[16],
                           const struct roce_deferred_icrc *held);

/* Returns the host with address `src` if it has deferred findings, otherwise NULL. */
struct roce_icrc_host *roce_icrc_trust_deferred(struct roce_icrc_trust *trust,
                                                const uint8_t src[16]);

#endif
