/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Packet digest: values computed from one packet alone. They are the lookup key of its direction,
 * the result of the format checks and a hash of part of its payload. The thread that reads the
 * packet computes the digest while the bytes are in its cache. flow.h describes the order of calls.
 */
#ifndef FLOW_BASE_PACKET_DIGEST_H
#define FLOW_BASE_PACKET_DIGEST_H

#include "wire/keyed_hash.h"
#include "wire/pkt.h"

/* Lookup key of one direction of a connection. */
struct roce_key {
    uint32_t net; /* network: encapsulation, VLANs and overlay network */
    uint8_t src[16], dst[16];
    uint32_t qpn;     /* destination QP */
    uint32_t src_qpn; /* source QP of a UD packet; otherwise ROCE_QPN_UNKNOWN */
};

/* Digest of one packet. Its members are private to flow/. */
struct roce_packet_digest {
    struct roce_key key;
    uint32_t hash;   /* hash of the key */
    uint32_t sample; /* hash over the immediate, IETH and AtomicETH, and the first and last 8 bytes
                      * of the payload; for requests except UD */
    uint16_t ip_id;  /* IPv4 identification; 0 for IPv6 */
    uint8_t ecn, dscp;
    bool sampled; /* the capture has the whole payload, and `sample` includes bytes of it */
    bool form_ok; /* no check of checks/check_format.c would report the packet */
};

/* Computes the digest of a packet for which roce_pkt_parse() returned 0. `secret` is the result of
 * roce_flow_secret(). Threads may call this function at the same time. */
void roce_digest_packet(struct roce_packet_digest *digest, const struct roce_pkt *pkt,
                        const struct roce_hash_secret *secret);

/* Returns the hash of a direction's lookup key. */
uint32_t roce_key_hash(const struct roce_key *key, const struct roce_hash_secret *secret);

#endif
