/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests the checks of the order of request packets: the expected opcode in a finding, and
 * violations that the responder accepts.
 */
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

static const struct roce_finding *found(enum roce_rule rule, const char *field)
{
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == rule && strcmp(v.finding[i].field, field) == 0)
            return &v.finding[i];
    return NULL;
}

/* A packet has a wrong opcode after a message that ended, or inside a message. The finding must
 * name the opcode that was expected. */
static void finding_names_the_expected_opcode(void)
{
    static const struct {
        uint8_t before, opcode;
        enum roce_rule rule;
        uint8_t expected;
    } rows[] = {
        {ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_SEND_LAST, ROCE_RULE_OPCODE_ORDER, ROCE_OP_RC_SEND_FIRST},
        {ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_WRITE_LAST, ROCE_RULE_OPCODE_ORDER,
         ROCE_OP_RC_WRITE_FIRST},
        {ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_WRITE_LAST, ROCE_RULE_OPCODE_ORDER,
         ROCE_OP_RC_SEND_LAST},
        {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_SEND_LAST, ROCE_RULE_OPCODE_ORDER,
         ROCE_OP_RC_WRITE_LAST},
        {ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_WRITE_ONLY, ROCE_RULE_INTERLEAVED, ROCE_OP_RC_SEND_LAST},
        {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_READ_REQUEST, ROCE_RULE_INTERLEAVED,
         ROCE_OP_RC_WRITE_LAST},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_finding *f;
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 2048);
        flowgen_put_req(&g, 0, rows[i].before, 1024);
        flowgen_put_req(&g, 0, rows[i].opcode, 64);
        judge_end(&g, &v);
        f = found(rows[i].rule, "bth.opcode");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        EXPECT_EQ(f->expected, rows[i].expected);
        EXPECT_EQ(f->actual, rows[i].opcode);
        EXPECT_EQ(f->other_frame, 4);
    }
}

/* A request has a DMA length above 2^31 (R081). The analysis engine must report the request, and
 * also the ACK that accepts it. */
static void accepted_excess_length_is_reported(void)
{
    for (unsigned more = 0; more < 2; more++) {
        const struct roce_finding *f;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 2048);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_FIRST, 1024);
        p.reth.dma_len = 0x80000000u + more;
        p.bth.ackreq = 1;
        flowgen_put(&g, 0, &p);
        flowgen_ack(&g, 1, p.bth.psn, ACK_31);
        judge_end(&g, &v);
        EXPECT_EQ(found(ROCE_RULE_DMA_LEN_MAX, "reth.dma_len") != NULL, more);
        f = found(ROCE_RULE_DMA_LEN_MAX, "aeth.syndrome");
        EXPECT_EQ(f != NULL, more);
        if (f)
            EXPECT_EQ(f->frame, 5);
    }
}

/* The capture begins inside a message, so the correct length of its last packet is unknown. The
 * length must not be reported. */
static void lone_last_packet_has_no_length_error(void)
{
    struct judge_spoil late = {.head = 1};
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 2048);
    flowgen_send(&g, 0, 64);
    judge(&g, NULL, &late, &v);
    flowgen_free(&g);
    EXPECT_EQ(v.conn[0].facts.mtu_sure, false);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_LENGTH), false);
    EXPECT_EQ(judge_errors(&v, "a last packet alone"), 0);
}

/* A PSN is sent again after 268 ms, with another opcode. If there are CM messages, they would
 * announce a QP reuse. So this must be reported as a retransmission that differs. Without CM
 * messages, the QPs may have been reused within 268 ms, which must be reported. */
static void long_timeout_with_cm_is_no_reuse(void)
{
    for (int cm = 0; cm < 2; cm++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        if (cm)
            flowgen_connect(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_put_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        flowgen_wait(&g, 268000000);
        p.bth.opcode = ROCE_OP_RC_SEND_ONLY;
        flowgen_put(&g, 0, &p);
        judge_end(&g, &v);
        EXPECT_EQ(v.totals.rules[ROCE_RULE_RETRY_DIFFERS], cm);
        EXPECT_EQ(v.totals.rules[ROCE_RULE_QP_REUSED], !cm);
    }
}

SUITE("flow.order", TEST(finding_names_the_expected_opcode),
      TEST(accepted_excess_length_is_reported), TEST(lone_last_packet_has_no_length_error),
      TEST(long_timeout_with_cm_is_no_reuse))
