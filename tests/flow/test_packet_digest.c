/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the packet digest: lookup key of a direction, and the sample that is compared with a
 * retransmission.
 */
#include <string.h>
#include "flow/base/packet_digest.h"
#include "support/suite.h"

static struct roce_packet_digest take(const struct roce_pkt *pkt)
{
    struct roce_packet_digest digest;

    roce_digest_packet(&digest, pkt);
    return digest;
}

/* InfiniBand without a GRH has only LIDs to identify hosts. */
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

/* The DSCP is in the upper six bits of a GRH's traffic class, as in IPv6. */
static void dscp_is_read_from_the_grh(void)
{
    struct roce_pkt p;

    roce_pkt_init(&p, ROCE_ENCAP_V1, ROCE_OP_RC_SEND_ONLY);
    p.grh.tclass = 26 << 2 | 1;
    EXPECT_EQ(take(&p).dscp, 26);
}

/* The sample differs for short and long payloads, immediate data and invalidated R_Keys. */
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
            p.payload_cap_len--; /* a cut packet cannot be compared */
            CU_ASSERT(!take(&p).sampled);
        }
}

SUITE("flow.digest", TEST(packets_without_grh_are_keyed_by_lids), TEST(dscp_is_read_from_the_grh),
      TEST(sample_differs_with_the_payload))
