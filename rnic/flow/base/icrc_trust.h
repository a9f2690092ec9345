/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * ICRC trust: decides, for each host, whether a wrong ICRC shows that a packet was damaged. In some
 * captures all ICRCs are wrong, although the receivers got correct packets. There are three
 * causes. A mirror port wrote a timestamp into the frames. A NAT or an anonymizer changed the
 * frames. The sending host captured its frames before its NIC computed the ICRC.
 *
 * 1. If a host has sent no correct ICRC yet, its first three packets with a wrong ICRC count as
 *    damaged, but findings about them are deferred.
 * 2. If the host sends a fourth wrong ICRC before a correct one, this and the next wrong ICRCs have
 *    the status UNVERIFIED: they do not count as damage.
 * 3. After the first correct ICRC of the host, each wrong ICRC counts as damage.
 */
#ifndef FLOW_BASE_ICRC_TRUST_H
#define FLOW_BASE_ICRC_TRUST_H

#include <stdbool.h>
#include <stdint.h>
#include "wire/pkt.h"

/* Number of table slots for sending hosts. The hash of a host's address selects its slot. If two
 * hosts select the same slot, only the first one gets it. Each wrong ICRC of the second host counts
 * as damage. */
#define ROCE_ICRC_TRUST_HOSTS 64u

/* In this number of first packets of a host, a wrong ICRC counts as damage. After them, if all were
 * wrong, the host is assumed to compute its ICRCs wrongly. The number is small: if one packet in
 * twenty is damaged, the first three packets are all damaged in only one of 8000 captures. */
#define ROCE_ICRC_TRUST_DAMAGED 3u

/* A packet that was dropped for a wrong ICRC, before any packet of its host had a right ICRC. Later
 * packets of the host decide whether this packet was damaged. */
struct roce_deferred_icrc {
    uint64_t time;
    uint32_t frame, icrc;
    uint32_t conn_index; /* connection number of the packet; ROCE_NO_CONN if unknown */
    uint8_t side;
    bool flush;
};

struct roce_icrc_host {
    uint8_t addr[16];
    uint32_t good, bad; /* numbers of packets with a right and with a wrong ICRC; both 0: slot is
                         * free */
    uint32_t frame;     /* latest frame of the host */
    uint64_t time;
    uint8_t deferred_cnt;
    struct roce_deferred_icrc deferred[ROCE_ICRC_TRUST_DAMAGED];
};

struct roce_icrc_trust {
    struct roce_icrc_host host[ROCE_ICRC_TRUST_HOSTS];
    uint64_t good, bad; /* number of packets with a right ICRC, from all hosts, and with a wrong
                         * ICRC, only from hosts with a slot */
    uint32_t deferred;  /* number of deferred findings of all hosts */
};

/* Counts a packet of host `src` with the ICRC status `seen`, and returns the ICRC status with which
 * the packet is judged. Returns UNVERIFIED instead of BAD if the host sent more than
 * ROCE_ICRC_TRUST_DAMAGED wrong ICRCs and no right one. */
enum roce_icrc_status roce_icrc_trust_status(struct roce_icrc_trust *trust, const uint8_t src[16],
                                             enum roce_icrc_status seen, uint32_t frame,
                                             uint64_t time);

/* Returns true if host `src` has a slot and sent no right ICRC up to now. */
bool roce_icrc_trust_undecided(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* If host `src` has a slot and sent a wrong ICRC, returns its slot (0 to ROCE_ICRC_TRUST_HOSTS -
 * 1), otherwise ROCE_ICRC_TRUST_HOSTS. */
unsigned roce_icrc_trust_suspect(struct roce_icrc_trust *trust, const uint8_t src[16]);

/* Defers the finding about a packet of `src` with a wrong ICRC. The caller calls this function only
 * if roce_icrc_trust_undecided() returns true. The next right ICRC of the host, or the end of the
 * capture, decides about the finding. Returns true, or false if too many findings are deferred
 * already: the caller must then report the finding now. */
bool roce_icrc_trust_defer(struct roce_icrc_trust *trust, const uint8_t src[16],
                           const struct roce_deferred_icrc *held);

/* Returns the host with address `src` if it has deferred findings, otherwise NULL. */
struct roce_icrc_host *roce_icrc_trust_deferred(struct roce_icrc_trust *trust,
                                                const uint8_t src[16]);

#endif
