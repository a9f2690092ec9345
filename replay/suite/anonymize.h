/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Anonymize: frames without what tells whose they are. Each address becomes another, the same
 * everywhere: MAC addresses 02:00:00:00:00:N, IPv4 192.0.2.N and then 198.18.0.0/15, IPv6 and GIDs
 * 2001:db8::N, or fe80::N for those of a link, GUIDs 02:00..N; also in messages of the connection
 * manager. Multicast groups and zero stay. Payload: masks.h, immediate data and private data with
 * it. ICRC, IPv4 and UDP checksums that were right are right again, wrong ones stay as wrong.
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
    const struct payload_masks *masks; /* NULL: payload stays */
    struct keymap mac, ip4, ip6, guid;
    uint32_t payloads; /* packets whose payload was changed */
};

void anonymizer_init(struct anonymizer *anonymizer, const struct trace *trace, bool addresses,
                     const struct payload_masks *masks);
void anonymizer_free(struct anonymizer *anonymizer);

/* Changes the frame of packet `pkt` of the trace in place, as it was captured. 0, or -1 without
 * memory. */
int anonymize(struct anonymizer *anonymizer, uint32_t pkt, enum roce_link link, uint8_t *frame,
              uint32_t cap_len, uint32_t wire_len);

/* Whether the packet may be kept: of datagrams to QP 1 only messages of the connection manager, for
 * what is in others is not known. */
bool anonymize_knows(const struct roce_pkt *pkt);

#endif
