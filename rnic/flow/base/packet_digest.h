/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Glance: what a packet says by itself, without any other: how its direction is found, marks of the
 * network, whether its form leaves anything to say, and a sample of what it carries. It needs no
 * flow, so that another thread can take it, the one whose caches have the packet's bytes: who feeds
 * the flow then looks at none of them (flow.h).
 */
#ifndef FLOW_BASE_PACKET_DIGEST_H
#define FLOW_BASE_PACKET_DIGEST_H

#include "wire/pkt.h"

/* How a direction is found. */
struct roce_key {
    uint32_t net; /* encapsulation, VLANs and overlay network */
    uint8_t src[16], dst[16];
    uint32_t qpn;     /* destination QP */
    uint32_t src_qpn; /* UD; else ROCE_QPN_UNKNOWN */
};

/* Its members are for flow/ alone. */
struct roce_packet_digest {
    struct roce_key key;
    uint32_t hash;   /* of the key */
    uint32_t sample; /* request: over headers and the ends of the payload */
    uint16_t ip_id;  /* 0 where there is none, like the two below */
    uint8_t ecn, dscp;
    bool sampled; /* the sample covers the payload: it can be compared */
    bool form_ok; /* nothing of its form is worth a finding */
};

/* Of a packet that was parsed with result 0. Any thread may call it. */
void roce_digest_packet(struct roce_packet_digest *digest, const struct roce_pkt *pkt);

/* Of a key. */
uint32_t roce_key_hash(const struct roce_key *key);

#endif
