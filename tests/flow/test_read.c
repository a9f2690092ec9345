/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests responses to READs and atomics: opcodes by position, missing and duplicate responses, and
 * severities in incomplete captures.
 */
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

#define PSNS 4u /* number of PSNs of the READ */

static struct verdict v;

static const struct roce_finding *found(enum roce_rule rule)
{
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == rule)
            return &v.finding[i];
    return NULL;
}

static struct roce_pkt ask(struct flowgen *g)
{
    struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, PSNS * g->mtu);

    flowgen_put(g, 0, &p);
    return p;
}

static void answer(struct flowgen *g, uint8_t opcode, uint32_t psn)
{
    struct roce_pkt p = flowgen_resp(g, 1, opcode, psn, g->mtu);

    flowgen_put(g, 1, &p);
}

/* One of four responses has a wrong opcode (R141). If the packet before the READ was not captured,
 * the READ may be a restarted tail, and the response may belong to the whole READ. */
static void wrong_read_response_opcode_is_reported(void)
{
    static const struct {
        uint32_t k;
        uint8_t opcode;
        bool lone; /* the packet before the READ is not captured */
        enum roce_rule rule;
        enum roce_severity severity;
    } rows[] = {
        {0, ROCE_OP_RC_READ_RESP_MIDDLE, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {0, ROCE_OP_RC_READ_RESP_LAST, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {0, ROCE_OP_RC_READ_RESP_ONLY, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {0, ROCE_OP_RC_READ_RESP_MIDDLE, true, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_WARN},
        {1, ROCE_OP_RC_READ_RESP_FIRST, false, ROCE_RULE_READ_RESP_START, ROCE_SEV_WARN},
        {1, ROCE_OP_RC_READ_RESP_ONLY, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {1, ROCE_OP_RC_READ_RESP_LAST, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {1, ROCE_OP_RC_READ_RESP_LAST, true, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {3, ROCE_OP_RC_READ_RESP_ONLY, false, ROCE_RULE_READ_RESP_START, ROCE_SEV_WARN},
        {3, ROCE_OP_RC_READ_RESP_FIRST, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
        {3, ROCE_OP_RC_READ_RESP_MIDDLE, false, ROCE_RULE_READ_RESP_ORDER, ROCE_SEV_ERROR},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_finding *f;
        struct roce_pkt read;
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 2048);
        flowgen_send(&g, 0, 64);
        if (rows[i].lone)
            (void)flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        read = ask(&g);
        if (rows[i].k) {
            flowgen_wait(&g, 2000000); /* slow response, which is no violation */
            flowgen_read_resp(&g, 1, read.bth.psn, PSNS * g.mtu, 0, rows[i].k - 1);
        }
        answer(&g, rows[i].opcode, read.bth.psn + rows[i].k);
        judge_end(&g, &v);
        f = found(rows[i].rule);
        if (!f || f->severity != rows[i].severity || f->frame != 7 + rows[i].k)
            suite_fail(__FILE__, __LINE__, "row %u: %s", i,
                       f ? roce_severity_name(f->severity) : "not found");
        EXPECT_EQ(judge_found(&v, ROCE_RULE_READ_RESP_ORDER) +
                      judge_found(&v, ROCE_RULE_READ_RESP_START),
                  1);
    }
}

/* The second of four responses is missing and the first is duplicated: the expected PSN is that of
 * the second, which may be 0. */
static void duplicate_response_names_the_expected_psn(void)
{
    static const uint32_t first[] = {0x5000, ROCE_PSN_MASK};

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_finding *f;
        struct roce_pkt read;
        struct flowgen g;

        flowgen_begin(&g);
        g.conn.psn[0] = (first[i] - 3) & ROCE_PSN_MASK;
        flowgen_send(&g, 0, 2048);
        flowgen_send(&g, 0, 64);
        read = ask(&g);
        EXPECT_EQ(read.bth.psn, first[i]);
        answer(&g, ROCE_OP_RC_READ_RESP_FIRST, read.bth.psn);
        answer(&g, ROCE_OP_RC_READ_RESP_MIDDLE, (read.bth.psn + 2) & ROCE_PSN_MASK);
        answer(&g, ROCE_OP_RC_READ_RESP_FIRST, read.bth.psn);
        judge_end(&g, &v);
        f = found(ROCE_RULE_READ_RESP_GAP);
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        EXPECT_EQ(f->expected, (first[i] + 1) & ROCE_PSN_MASK);
        f = found(ROCE_RULE_RESP_DUPLICATE);
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        EXPECT_EQ(f->expected, (first[i] + 1) & ROCE_PSN_MASK);
        EXPECT_EQ(f->actual, first[i]);
    }
}

/* A responder that sent a fatal NAK must not send any later response. */
static void response_after_a_fatal_nak_is_reported(void)
{
    static const uint8_t ops[] = {ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_READ_REQUEST,
                                  ROCE_OP_RC_FETCH_ADD};

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        for (unsigned refused = 0; refused < 2; refused++) {
            struct flowgen g;
            struct roce_pkt p;

            flowgen_begin(&g);
            flowgen_send(&g, 0, 64);
            p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
            flowgen_put(&g, 0, &p);
            g.conn.msn[0] -= refused;
            flowgen_ack(&g, 1, p.bth.psn, refused ? NAK_ACC : ACK_31);
            p = flowgen_req(&g, 0, ops[i], 64);
            flowgen_put(&g, 0, &p);
            if (i == 0)
                flowgen_ack_all(&g, 1);
            else {
                p = flowgen_resp(&g, 1, i == 1 ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ATOMIC_ACK,
                                 p.bth.psn, i == 1 ? 64 : 0);
                flowgen_put(&g, 1, &p);
            }
            judge_end(&g, &v);
            EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_AFTER_NAK), refused);
        }
}

SUITE("flow.read", TEST(wrong_read_response_opcode_is_reported),
      TEST(duplicate_response_names_the_expected_psn), TEST(response_after_a_fatal_nak_is_reported))
