/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Hardware: what RNICs and fabrics are known to do that no capture here shows (tests/replay/nics.py
 * has more of it, as whole captures).
 */
#include <string.h>
#include "flow/cases.h"
#include "flow/judge.h"
#include "support/suite.h"

static const struct judge_spoil whole;

static unsigned count(const struct verdict *v, enum roce_rule rule)
{
    return (unsigned)v->totals.rules[rule];
}

/* A NIC that lets switches choose the path of each packet marks it by a bit of byte 4 of the BTH.
 * That is one statement, not one a packet. */
static void marked_for_adaptive_routing(void)
{
    struct flowgen g;
    struct verdict v = {0};

    flowgen_init(&g);
    for (int i = 0; i < 50; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.resv6 = 0x20;
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_RESERVED_BITS), 1);
    EXPECT_EQ(v.finding[0].severity, ROCE_SEV_WARN);
    EXPECT_EQ(judge_errors(&v, "marked"), 0);
    flowgen_free(&g);
}

/* Those that the ICRC covers are no mark: each is said. */
static void other_reserved_bits(void)
{
    struct flowgen g;
    struct verdict v = {0};

    flowgen_init(&g);
    for (int i = 0; i < 5; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.resv6 = 0x20;
        p.bth.resv7 = 1;
        flowgen_put(&g, 0, &p);
    }
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(count(&v, ROCE_RULE_RESERVED_BITS), 1 + 5);
    flowgen_free(&g);
}

/* A packet of NVIDIA's dynamically connected transport: twenty bytes after the BTH, then what RC
 * has there. The model has them as payload behind the headers of reliable datagrams. */
static void put_dc(struct flowgen *g, int side, uint8_t opcode, uint32_t psn)
{
    static const uint8_t rest[36] = {0x61, 0xe2, 0x4e, 0, 0, 0xc0, 0xdc};
    struct roce_pkt p = flowgen_req(g, side, ROCE_OP_RC_SEND_ONLY, 0);

    p.bth.opcode = opcode;
    p.op = roce_opcode(opcode);
    p.bth.psn = psn;
    p.rdeth.resv8 = 0x11;
    p.rdeth.eecnxt = 0x9036;
    p.deth.qkey = 0x00715001;
    p.payload = rest;
    p.payload_len = sizeof(rest);
    flowgen_put(g, side, &p);
}

static void dynamically_connected(void)
{
    static const struct judge_spoil ways[] = {
        {0}, {.snap_min = 64, .snap_max = 96}, {.one_side = true, .side = 1}, {.head = 3}};

    for (size_t way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
        struct flowgen g;
        struct verdict v = {0};
        struct rng rng = {1};
        struct judge_spoil spoil = ways[way];

        spoil.rng = &rng;
        flowgen_init(&g);
        for (uint32_t i = 0; i < 10; i++) {
            put_dc(&g, 0, ROCE_OP_RD_WRITE_ONLY, 100 + i);
            put_dc(&g, 1, ROCE_OP_RD_ACK, 100 + i);
        }
        judge(&g, NULL, &spoil, &v);
        EXPECT_EQ(v.finding_cnt, 0);
        EXPECT_EQ(v.conn_cnt, 0);
        EXPECT_EQ(v.totals.dropped, 0);
        EXPECT_EQ(v.totals.dc, v.totals.packets);
        flowgen_free(&g);
    }
}

/* Reliable datagrams are what they were. */
static void reliable_datagrams(void)
{
    struct flowgen g;
    struct verdict v = {0};
    struct roce_pkt p;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    p.bth.opcode = ROCE_OP_RD_SEND_ONLY;
    p.op = roce_opcode(ROCE_OP_RD_SEND_ONLY);
    p.rdeth.eecnxt = 5;
    flowgen_put(&g, 0, &p);
    judge(&g, NULL, &whole, &v);
    EXPECT_EQ(v.totals.dc, 0);
    CU_ASSERT(judge_found(&v, ROCE_RULE_RD_OPCODE));
    flowgen_free(&g);
}

SUITE("flow.hardware", TEST(marked_for_adaptive_routing), TEST(other_reserved_bits),
      TEST(dynamically_connected), TEST(reliable_datagrams))
