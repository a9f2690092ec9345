/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The edits: their grammar, and what becomes of frames. */
#include <string.h>
#include "sim/impair.h"
#include "support/pktgen.h"
#include "support/suite.h"

/* ---- grammar -----------------------------------------------------------------------------------
 */

static void good_edits_are_read(void)
{
    struct impair_rule spec;
    struct error error;

    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "drop", &error), 0);
    CU_ASSERT(spec.action == IMPAIR_DROP && spec.ways == IMPAIR_ANY && spec.nth_to == UINT32_MAX);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "drop@psn=+3", &error), 0);
    CU_ASSERT(spec.psn && spec.relative && spec.psn_from == 3 && spec.psn_to == 3);
    CU_ASSERT(spec.nth_from == 1 && spec.nth_to == 1);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "dup=3@psn=+3..+9,nth=all,dir=response", &error), 0);
    CU_ASSERT(spec.cnt == 3 && spec.psn_to == 9 && spec.nth_to == UINT32_MAX);
    CU_ASSERT_EQUAL(spec.ways, IMPAIR_RESPONSE);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "delay=1.5ms@conn=2,p=0.25,nth=2..4", &error), 0);
    CU_ASSERT(spec.ns == 1500000 && spec.conn == 2 && spec.chance && spec.ppm == 250000);
    CU_ASSERT(spec.nth_from == 2 && spec.nth_to == 4);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "corrupt=header+4@icrc=fix", &error), 0);
    CU_ASSERT(spec.part == IMPAIR_HEADER && spec.byte == 4 && !spec.keep_icrc);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "corrupt", &error), 0);
    CU_ASSERT(spec.part == IMPAIR_PAYLOAD && spec.byte == IMPAIR_ANY_BYTE && spec.keep_icrc);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "set=roce.aeth.syndrome=0x60", &error), 0);
    CU_ASSERT(spec.hdr == ROCE_HDR_AETH && spec.value == 0x60 && !spec.keep_icrc);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "set=ip4.src=10.0.0.7@op=read", &error), 0);
    CU_ASSERT(spec.bytes[0] == 10 && spec.bytes[3] == 7);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "set=eth.dst=02:00:00:00:00:09", &error), 0);
    CU_ASSERT_EQUAL(spec.bytes[5], 9);
    CU_ASSERT_EQUAL(impair_rule_parse(&spec, "set=ip6.src=2001:db8::1", &error), 0);
}

static void bad_edits_are_refused_by_their_word(void)
{
    static const struct {
        const char *text, *word;
    } cases[] = {
        {"", "\"\""},
        {"lose", "lose"},
        {"drop=1", "drop"},
        {"dup=0", "\"0\""},
        {"dup=17", "17"},
        {"delay", "delay"},
        {"delay=5", "\"5\""},
        {"delay=5h", "5h"},
        {"delay=-5us", "-5us"},
        {"reorder=65", "65"},
        {"corrupt=trailer", "trailer"},
        {"corrupt=icrc+x", "\"x\""},
        {"set=bth.psn", "bth.psn"},
        {"set=bth=1", "bth=1"},
        {"set=nth.psn=1", "nth"},
        {"set=bth.spn=1", "spn"},
        {"set=bth.psn=0x1000000", "0x1000000"},
        {"set=bth.psn=", "\"\""},
        {"set=eth.dst=02:00:00:00:00", "02:00"},
        {"set=ip4.src=1.2.3", "1.2.3"},
        {"drop@", "\"\""},
        {"drop@psn", "psn"},
        {"drop@psn=9..3", "9..3"},
        {"drop@psn=0x1000000", "0x1000000"},
        {"drop@dir=up", "up"},
        {"drop@nth=0", "\"0\""},
        {"drop@p=1.1", "1.1"},
        {"drop@p=nan", "nan"},
        {"drop@icrc=no", "\"no\""},
        {"drop@conn=0", "\"0\""},
        {"drop@where=here", "where"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct impair_rule spec;
        struct error error = {""};

        if (impair_rule_parse(&spec, cases[i].text, &error) == 0 ||
            !strstr(error.text, cases[i].word) || strncmp(error.text, "--impair ", 9) != 0)
            suite_fail(__FILE__, __LINE__, "%s: %s", cases[i].text, error.text);
    }
}

/* ---- frames ------------------------------------------------------------------------------------
 */

struct bench {
    struct impair_rules edits;
    struct impair editor;
    struct pktgen gen;
    struct impair_result out;
};

static void bench_init(struct bench *b, const char *edit, uint64_t seed)
{
    struct error error;

    memset(b, 0, sizeof(*b));
    pktgen_init(&b->gen, ROCE_ENCAP_V2_IP4);
    CU_ASSERT_EQUAL_FATAL(impair_rules_add(&b->edits, edit, &error), 0);
    impair_init(&b->editor, &b->edits, seed);
}

/* A WRITE Only of 8 bytes at a PSN goes through. */
static void pass(struct bench *b, uint32_t psn)
{
    struct roce_pkt pkt =
        pktgen_write(&b->gen, ROCE_OP_RC_WRITE_ONLY, psn, 0x1000, 7, 8, "abcdefgh", 8);
    struct pktgen_frame frame;
    struct impair_frame in = {.conn = 1, .way = IMPAIR_REQUEST, .rel = (int64_t)psn - 100};

    pktgen_build(&pkt, &frame);
    in.data = frame.bytes;
    in.len = frame.len;
    CU_ASSERT_EQUAL(impair_apply(&b->editor, &in, &b->out), 0);
}

static void bench_free(struct bench *b)
{
    impair_free(&b->editor);
}

static void a_psn_is_struck_at_its_occurrence(void)
{
    struct bench b;

    bench_init(&b, "drop@psn=+3..4", 1);
    for (uint32_t psn = 101; psn < 107; psn++) {
        pass(&b, psn);
        EXPECT_EQ(b.out.copies, psn == 103 || psn == 104 ? 0 : 1);
    }
    pass(&b, 103); /* sent again */
    EXPECT_EQ(b.out.copies, 1);
    EXPECT_EQ(b.editor.applied[0], 2);
    bench_free(&b);

    bench_init(&b, "drop@psn=103,nth=2", 1);
    pass(&b, 103);
    EXPECT_EQ(b.out.copies, 1);
    pass(&b, 103);
    EXPECT_EQ(b.out.copies, 0);
    bench_free(&b);
}

static void frames_are_counted_without_a_psn(void)
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

static void a_field_is_set_with_a_right_icrc(void)
{
    struct bench b;
    struct roce_pkt pkt;

    bench_init(&b, "set=roce.reth.rkey=0x1234", 1);
    pass(&b, 101);
    CU_ASSERT_EQUAL(roce_pkt_parse(&pkt, ROCE_LINK_ETHERNET, b.out.data, b.out.len, b.out.len), 0);
    EXPECT_EQ(pkt.reth.rkey, 0x1234);
    EXPECT_EQ(roce_pkt_icrc_check(&pkt, NULL), ROCE_ICRC_GOOD);
    CU_ASSERT(b.out.changed && b.out.forged && !b.out.damaged);
    CU_ASSERT_STRING_EQUAL(b.out.note, "edited: set=roce.reth.rkey=0x1234");
    bench_free(&b);

    bench_init(&b, "set=roce.reth.rkey=0x1234@icrc=keep", 1);
    pass(&b, 101);
    CU_ASSERT(b.out.damaged && !b.out.forged);
    bench_free(&b);

    bench_init(&b, "set=aeth.msn=1", 1); /* it has no AETH */
    pass(&b, 101);
    CU_ASSERT(!b.out.changed);
    EXPECT_EQ(b.editor.applied[0], 0);
    bench_free(&b);
}

/* The mark is outside of the ICRC and inside of the IPv4 checksum. */
static void a_mark_is_no_forgery(void)
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

static void corruption_is_what_a_receiver_drops(void)
{
    static const char *const edits[] = {"corrupt", "corrupt=header", "corrupt=icrc",
                                        "corrupt=payload+7"};

    for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
        for (uint64_t seed = 0; seed < 200; seed++) {
            struct bench b;

            bench_init(&b, edits[i], seed);
            pass(&b, 101);
            CU_ASSERT(b.out.changed);
            /* FECN, BECN and the reserved bits beside them are outside of the ICRC. */
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
        CU_ASSERT(a.editor.applied[0] > 200 && a.editor.applied[0] < 400);
        bench_free(&a);
        bench_free(&b);
    }
    EXPECT_EQ(cnt[0], 0);
    CU_ASSERT(cnt[1] > 100);
}

SUITE("replay.edit", TEST(good_edits_are_read), TEST(bad_edits_are_refused_by_their_word),
      TEST(a_psn_is_struck_at_its_occurrence), TEST(frames_are_counted_without_a_psn),
      TEST(a_field_is_set_with_a_right_icrc), TEST(a_mark_is_no_forgery),
      TEST(corruption_is_what_a_receiver_drops), TEST(equal_seeds_give_equal_results))
