/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the packet digest. Its key identifies the direction of a packet. Its sample shows whether a
 * retransmission equals the first transmission.
 */
#include <string.h>
#include "flow/flow.h"
#include "support/suite.h"

static struct roce_packet_digest take(const struct roce_pkt *pkt)
{
    struct roce_hash_secret secret;
    struct roce_packet_digest digest;

    roce_hash_secret_init(&secret, 1);
    roce_digest_packet(&digest, pkt, &secret);
    return digest;
}

/* A responder does not use the Compare Data of a Fetch & Add, and Linux rxe sends old memory in it.
 * So the Compare Data of a Fetch & Add must not change the digest of the packet. The Compare Data
 * of a Compare & Swap must change it. */
static void compare_data_of_a_fetch_add_is_not_sampled(void)
{
    static const uint8_t ops[] = {ROCE_OP_RC_FETCH_ADD, ROCE_OP_RC_CMP_SWAP};

    for (unsigned o = 0; o < sizeof(ops); o++) {
        struct roce_pkt p;
        uint32_t was;

        roce_pkt_init(&p, ROCE_ENCAP_V2_IP4, ops[o]);
        was = take(&p).sample;
        p.atomiceth.compare = 1;
        EXPECT_EQ(take(&p).sample != was, o == 1);
        p.atomiceth.compare = 0;
        p.atomiceth.swap_add = 1;
        CU_ASSERT(take(&p).sample != was);
    }
}

/* An InfiniBand packet without a GRH identifies its hosts only by LIDs, so the lookup key must
 * contain the LIDs. */
static void packets_without_grh_are_keyed_by_lids(void)
{
    struct roce_pkt p;
    struct roce_packet_digest g;

    roce_pkt_init(&p, ROCE_ENCAP_IB_LOCAL, ROCE_OP_RC_SEND_ONLY);
    p.lrh.slid = 0x1234;
    p.lrh.dlid = 0x5678;
    g = take(&p);
    EXPECT_EQ(g.key.src[14] << 8 | g.key.src[15], 0x1234);
    EXPECT_EQ(g.key.dst[14] << 8 | g.key.dst[15], 0x5678);
    EXPECT_EQ(g.dscp, 0);
}

/* The DSCP is in the upper six bits of the traffic class of a GRH, as in IPv6. */
static void dscp_is_read_from_the_grh(void)
{
    struct roce_pkt p;

    roce_pkt_init(&p, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY);
    p.grh.tclass = 26 << 2 | 1;
    EXPECT_EQ(take(&p).dscp, 26);
}

/* Two packets must have different samples if their payloads differ, for short and long payloads, or
 * if their immediate data or invalidated R_Keys differ. */
static void sample_differs_with_the_payload(void)
{
    static const uint32_t lens[] = {1, 7, 8, 9, 64};
    static const uint8_t ops[] = {ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_SEND_ONLY_IMM,
                                  ROCE_OP_RC_SEND_ONLY_INV};

    for (unsigned o = 0; o < sizeof(ops); o++)
        for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
            uint8_t bytes[64] = {0};
            struct roce_packet_digest was;
            struct roce_pkt p;

            roce_pkt_init(&p, ROCE_ENCAP_V2_IP4, ops[o]);
            p.payload = bytes;
            p.payload_len = p.payload_cap_len = lens[i];
            was = take(&p);
            CU_ASSERT(was.sampled);
            EXPECT_EQ(take(&p).sample, was.sample);
            bytes[0] = 1;
            CU_ASSERT(take(&p).sample != was.sample);
            bytes[0] = 0;
            bytes[lens[i] - 1] ^= 0x80;
            CU_ASSERT(take(&p).sample != was.sample);
            bytes[lens[i] - 1] = 0;
            p.immdt.imm = 1;
            EXPECT_EQ(take(&p).sample != was.sample, o == 1);
            p.immdt.imm = 0;
            p.ieth.rkey = 1;
            EXPECT_EQ(take(&p).sample != was.sample, o == 2);
            p.payload_cap_len--; /* a truncated payload cannot be compared */
            CU_ASSERT(!take(&p).sampled);
        }
}

/* ---- the hash table of connections -------------------------------------------------------------
 */

#define FLOOD 4096u

/* Returns a key that an attacker could choose if `known` were the secret. One factor in each
 * product of roce_key_hash() is then 0, so the hash does not depend on most bits of the key. */
static struct roce_key crafted_key(const struct roce_hash_secret *known, uint32_t i)
{
    struct roce_key key = {.net = 1};
    const uint64_t w[] = {-known->word[0], i * UINT64_C(0x0123456789ABCDEF), -known->word[2], i};
    uint64_t qpns = -known->word[4];

    memcpy(key.src, w, 16);
    memcpy(key.dst, w + 2, 16);
    key.qpn = (uint32_t)(qpns >> 32);
    key.src_qpn = (uint32_t)qpns;
    return key;
}

/* Inserts FLOOD keys, crafted for the secret `known`, into a hash table of FLOOD slots that uses
 * the secret `used`. Returns the number of key comparisons. */
static uint64_t probes(const struct roce_hash_secret *known, const struct roce_hash_secret *used)
{
    static uint32_t chain[FLOOD];
    uint64_t cnt = 0;

    memset(chain, 0, sizeof(chain));
    for (uint32_t i = 0; i < FLOOD; i++) {
        struct roce_key key = crafted_key(known, i);

        cnt += chain[roce_key_hash(&key, used) & (FLOOD - 1)]++;
    }
    return cnt;
}

/* If the keys were crafted for the secret that the table uses, all have the same hash. Each new
 * key is then compared with all earlier ones. With any other secret, crafted keys must not collide
 * more than other keys. */
static void flood_needs_the_secret(void)
{
    struct roce_hash_secret known, other;

    roce_hash_secret_init(&known, 1);
    EXPECT_EQ(probes(&known, &known), FLOOD * (FLOOD - 1) / 2);
    for (uint64_t seed = 2; seed < 20; seed++) {
        roce_hash_secret_init(&other, seed);
        CU_ASSERT(probes(&known, &other) < FLOOD);
    }
}

/* Two analysis engines (struct roce_flow) must have different hash secrets, unless their options
 * have the same seed. Seed 0 means a random seed, so two engines with seed 0 must differ, too. */
static void secrets_are_random(void)
{
    struct roce_flow *flow[4];
    bool same[2];

    for (unsigned i = 0; i < 4; i++) {
        flow[i] = roce_flow_new(&(struct roce_flow_opts){.hash_seed = i < 2 ? 0 : 7});
        CU_ASSERT_FATAL(flow[i] != NULL);
    }
    for (unsigned i = 0; i < 2; i++)
        same[i] = memcmp(roce_flow_secret(flow[2 * i]), roce_flow_secret(flow[2 * i + 1]),
                         sizeof(struct roce_hash_secret)) == 0;
    CU_ASSERT(!same[0]);
    CU_ASSERT(same[1]);
    for (unsigned i = 0; i < 4; i++)
        roce_flow_del(flow[i]);
}

SUITE("flow.digest", TEST(packets_without_grh_are_keyed_by_lids), TEST(dscp_is_read_from_the_grh),
      TEST(sample_differs_with_the_payload), TEST(compare_data_of_a_fetch_add_is_not_sampled),
      TEST(flood_needs_the_secret), TEST(secrets_are_random))
