/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests the impairment engine: the effects of rules on the frames of a connection. */
#include <string.h>
#include "impair/impair.h"
#include "support/pktgen.h"
#include "support/suite.h"

struct bench {
    struct impair_rules rules;
    struct impair impair;
    struct pktgen gen;
    struct impair_result out;
};

static void bench_init(struct bench *b, const char *text, uint64_t seed)
{
    struct error error;

    memset(b, 0, sizeof(*b));
    pktgen_init(&b->gen, ROCE_ENCAP_V2_IP4);
    CU_ASSERT_FATAL(impair_rules_add(&b->rules, text, IMPAIR_OFFLINE, &error) == 0);
    impair_init(&b->impair, &b->rules, seed);
}

/* Passes a WRITE Only with PSN `psn` and 8 bytes of payload to the impairment engine. */
static void pass(struct bench *b, uint32_t psn)
{
    struct roce_pkt pkt =
        pktgen_write(&b->gen, ROCE_OP_RC_WRITE_ONLY, psn, 0x1000, 7, 8, "abcdefgh", 8);
    struct pktgen_frame frame;
    struct impair_frame in = {.conn = 1, .rel = (int64_t)psn - 100};

    pktgen_build(&pkt, &frame);
    in.data = frame.bytes;
    in.len = frame.len;
    CU_ASSERT_EQUAL(impair_apply(&b->impair, &in, &b->out), 0);
}

static void bench_free(struct bench *b)
{
    impair_free(&b->impair);
}

static void a_rule_with_a_psn_applies_to_its_nth_occurrence(void)
{
    struct bench b;

    bench_init(&b, "drop@psn=+3..4", 1);
    for (uint32_t psn = 101; psn < 107; psn++) {
        pass(&b, psn);
        EXPECT_EQ(b.out.copies, psn == 103 || psn == 104 ? 0 : 1);
    }
    pass(&b, 103); /* a retransmission: the second occurrence of PSN 103, but the rule drops only
                    * the first */
    EXPECT_EQ(b.out.copies, 1);
    EXPECT_EQ(b.impair.applied[0], 2);
    bench_free(&b);

    bench_init(&b, "drop@psn=103,nth=2", 1);
    pass(&b, 103);
    EXPECT_EQ(b.out.copies, 1);
    pass(&b, 103);
    EXPECT_EQ(b.out.copies, 0);
    bench_free(&b);
}

static void a_rule_without_a_psn_counts_frames(void)
{
    struct bench b;

    bench_init(&b, "dup=2@nth=2..3", 1);
    for (uint32_t i = 1; i < 6; i++) {
        pass(&b, 100 + i);
        EXPECT_EQ(b.out.copies, i == 2 || i == 3 ? 3 : 1);
    }
    bench_free(&b);
    bench_init(&b, "drop@dir=response", 1);
    pass(&b, 101);
    EXPECT_EQ(b.out.copies, 1);
    bench_free(&b);
    bench_init(&b, "drop@op=wRiTe", 1);
    pass(&b, 101);
    EXPECT_EQ(b.out.copies, 0);
    bench_free(&b);
}

/* The rules set a field of the AETH and damage the payload. Frames without an AETH or without
 * payload do not count for nth=. */
static void nth_counts_frames_that_have_the_field(void)
{
    struct bench b;
    struct pktgen_frame frame;

    bench_init(&b, "set=aeth.msn=77@nth=1,corrupt@nth=2", 1);
    pass(&b, 101);
    CU_ASSERT(!b.out.changed);
    for (unsigned i = 0; i < 2; i++) {
        struct roce_pkt ack = pktgen_pkt(&b.gen, ROCE_OP_RC_ACK, 101 + i);
        struct impair_frame in = {.conn = 1};

        pktgen_build(&ack, &frame);
        in.data = frame.bytes;
        in.len = frame.len;
        CU_ASSERT_EQUAL(impair_apply(&b.impair, &in, &b.out), 0);
        CU_ASSERT_EQUAL(b.out.changed, i == 0);
    }
    pass(&b, 102);
    CU_ASSERT(b.out.damaged);
    EXPECT_EQ(b.impair.applied[0], 1);
    EXPECT_EQ(b.impair.applied[1], 1);
    bench_free(&b);
}

static void a_set_field_gets_a_good_icrc(void)
{
    struct bench b;
    struct roce_pkt pkt;

    bench_init(&b, "set=roce.reth.rkey=0x1234", 1);
    pass(&b, 101);
    CU_ASSERT_EQUAL(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, b.out.data, b.out.len, b.out.len), 0);
    EXPECT_EQ(pkt.reth.rkey, 0x1234);
    EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_GOOD);
    CU_ASSERT(b.out.changed && b.out.forged && !b.out.damaged);
    CU_ASSERT_STRING_EQUAL(b.out.note, "impaired: set=roce.reth.rkey=0x1234");
    bench_free(&b);

    bench_init(&b, "set=roce.reth.rkey=0x1234@icrc=keep", 1);
    pass(&b, 101);
    CU_ASSERT(b.out.damaged && !b.out.forged);
    bench_free(&b);

    bench_init(&b, "set=aeth.msn=1", 1); /* the packet has no AETH */
    pass(&b, 101);
    CU_ASSERT(!b.out.changed);
    EXPECT_EQ(b.impair.applied[0], 0);
    bench_free(&b);
}

/* A CE mark must not count as a forgery. It changes the IPv4 checksum, which must be correct, but
 * not the ICRC. */
static void a_ce_mark_is_not_a_forgery(void)
{
    struct bench b;
    struct roce_pkt pkt;

    bench_init(&b, "ce", 1);
    pass(&b, 101);
    CU_ASSERT_EQUAL(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, b.out.data, b.out.len, b.out.len), 0);
    EXPECT_EQ(pkt.ip4.ecn, 3);
    EXPECT_EQ(pkt.defects, 0);
    CU_ASSERT(b.out.changed && !b.out.damaged && !b.out.forged);
    bench_free(&b);
}

static void a_corrupt_frame_is_dropped_by_a_receiver(void)
{
    static const char *const edits[] = {"corrupt", "corrupt=header", "corrupt=icrc",
                                        "corrupt=payload+7"};

    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            struct bench b;

            bench_init(&b, edits[i], seed);
            pass(&b, 101);
            CU_ASSERT(b.out.changed);
            /* Every inverted bit must damage the packet, except in the byte with FECN and BECN,
             * which the ICRC does not cover. */
            CU_ASSERT(b.out.damaged || i == 1);
            CU_ASSERT(!b.out.forged);
            bench_free(&b);
        }
}

static void equal_seeds_give_equal_results(void)
{
    unsigned cnt[2] = {0};

    for (unsigned k = 0; k < 2; k++) {
        struct bench a, b;

        bench_init(&a, "drop@p=0.3", 7);
        bench_init(&b, "drop@p=0.3", k ? 8 : 7);
        for (uint32_t psn = 100; psn < 1100; psn++) {
            pass(&a, psn);
            pass(&b, psn);
            cnt[k] += a.out.copies != b.out.copies;
        }
        CU_ASSERT(a.impair.applied[0] > 200 && a.impair.applied[0] < 400);
        bench_free(&a);
        bench_free(&b);
    }
    EXPECT_EQ(cnt[0], 0);
    CU_ASSERT(cnt[1] > 100);
}

SUITE("impair.engine", TEST(a_rule_with_a_psn_applies_to_its_nth_occurrence),
      TEST(a_rule_without_a_psn_counts_frames), TEST(nth_counts_frames_that_have_the_field),
      TEST(a_set_field_gets_a_good_icrc), TEST(a_ce_mark_is_not_a_forgery),
      TEST(a_corrupt_frame_is_dropped_by_a_receiver), TEST(equal_seeds_give_equal_results))
