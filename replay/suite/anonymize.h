/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Anonymize: removes from frames everything that identifies their owner.
 *
 * Replaces each address by another one. The same address always has the same replacement. MAC
 * addresses become 02:00:00:00:00:N. IPv4 addresses become 192.0.2.N, or, when these are used up,
 * addresses in 198.18.0.0/15. IPv6 addresses and GIDs become 2001:db8::N, or fe80::N if they are
 * link-local. GUIDs become 02:00..N. Also replaces the addresses in CM messages. Does not change
 * multicast groups and zero addresses.
 *
 * Payload, immediate data and private data are masked (payload_mask.h). ICRCs and the IPv4 and UDP
 * checksums are updated: a correct one stays correct, and a wrong one stays wrong.
 *
 * Not changed: times, ports, identifications, QPNs, PSNs, keys, memory addresses, service ids.
 */
#ifndef REPLAY_SUITE_ANONYMIZE_H
#define REPLAY_SUITE_ANONYMIZE_H

#include <stdint.h>
#include "suite/payload_mask.h"

struct anonymizer {
    const struct trace *trace;
    bool addresses;
    const struct payload_masks *masks; /* masks of the payload; NULL leaves the payload unchanged */
    struct keymap mac, ip4, ip6, guid;
    uint32_t payloads; /* number of packets with a changed payload */
};

void anonymizer_init(struct anonymizer *anonymizer, const struct trace *trace, bool addresses,
                     const struct payload_masks *masks);
void anonymizer_free(struct anonymizer *anonymizer);

/* Changes the captured frame of packet `pkt` of the trace in place. Returns 0, or -1 if out of
 * memory. */
int anonymize(struct anonymizer *anonymizer, uint32_t pkt, enum roce_link link, uint8_t *frame,
              uint32_t cap_len, uint32_t wire_len);

/* Returns whether an anonymized capture may contain a packet. A datagram to QP 1 is permitted only
 * if it is a message of the connection manager, because other datagrams to QP 1 have unknown
 * contents. */
bool anonymize_knows(const struct roce_pkt *pkt);

#endif
