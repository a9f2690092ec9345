/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet digest: what one packet shows without any other: lookup key of its direction, marks of the
 * network, whether its form is in order, and a sample of its payload. It needs no flow, so that the
 * thread that read the packet can compute it while the bytes are in its cache. See flow.h.
 */
#ifndef FLOW_BASE_PACKET_DIGEST_H
#define FLOW_BASE_PACKET_DIGEST_H

#include "wire/pkt.h"

/* Lookup key of one direction of a connection. */
struct roce_key {
    uint32_t net; /* encapsulation, VLANs and overlay network */
    uint8_t src[16], dst[16];
    uint32_t qpn;     /* destination QP */
    uint32_t src_qpn; /* UD; else ROCE_QPN_UNKNOWN */
};

/* Digest of one packet. Its members are private to flow/. */
struct roce_packet_digest {
    struct roce_key key;
    uint32_t hash;   /* hash of the key */
    uint32_t sample; /* request: hash over headers and the ends of the payload */
    uint16_t ip_id;  /* IPv4 identification; 0 without IPv4 */
    uint8_t ecn, dscp;
    bool sampled; /* the sample covers the whole payload, so that it can be compared */
    bool form_ok; /* no check of the packet's form has a finding */
};

/* Computes the digest of a packet that was parsed with result 0. Any thread may call it. */
void roce_digest_packet(struct roce_packet_digest *digest, const struct roce_pkt *pkt);

/* Returns the hash of a key. */
uint32_t roce_key_hash(const struct roce_key *key);

#endif
