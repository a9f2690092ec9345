/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests which READs are counted as completed after an implied NAK. The requester has retransmitted
 * several READs. Its next request shows which of the responses it accepted.
 */
#include <stdio.h>
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

#define PSNS 4u /* number of PSNs of each READ */

static struct verdict v;

static uint64_t completed(void)
{
    return v.conn[0].side[0].oper[ROCE_OPER_READ].completed;
}

/* Requests READ number `n` from its PSN `from` on. */
static void ask(struct flowgen *g, uint32_t base, uint32_t n, uint32_t from)
{
    uint32_t next = g->conn.psn[0];
    struct roce_pkt p;

    g->conn.psn[0] = (base + n * PSNS + from) & ROCE_PSN_MASK;
    p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, (PSNS - from) * g->mtu);
    p.reth.va += (uint64_t)(n * PSNS + from) * g->mtu;
    if (((next - g->conn.psn[0]) & ROCE_PSN_MASK) <
        0x800000) /* false for a retransmission: it does not change the PSN of the next READ */
        g->conn.psn[0] = next;
    flowgen_put(g, 0, &p);
}

static void answer(struct flowgen *g, uint32_t base, uint32_t n, uint32_t k)
{
    uint8_t op = k == 0          ? ROCE_OP_RC_READ_RESP_FIRST
                 : k + 1 == PSNS ? ROCE_OP_RC_READ_RESP_LAST
                                 : ROCE_OP_RC_READ_RESP_MIDDLE;
    struct roce_pkt p = flowgen_resp(g, 1, op, (base + n * PSNS + k) & ROCE_PSN_MASK, g->mtu);

    p.aeth.msn = n + 1;
    flowgen_put(g, 1, &p);
}

/* Sends the packets that `s` describes: "B2" is a request for READ B from its PSN 2 on, "b2" is
 * the response with PSN 2 of READ B, "." is an idle time. */
static void talk(struct flowgen *g, const char *s)
{
    uint32_t base = g->conn.psn[0];

    for (; *s; s++) {
        uint32_t k = *s != ' ' && s[1] >= '0' && s[1] <= '9' ? (uint32_t)(s[1] - '0') : 0;

        if (*s == '.')
            flowgen_wait(g, 5000000);
        else if (*s >= 'A' && *s <= 'Z')
            ask(g, base, (uint32_t)(*s - 'A'), k);
        else if (*s >= 'a' && *s <= 'z')
            answer(g, base, (uint32_t)(*s - 'a'), k);
    }
}

static void reads_after_an_implied_nak_complete(void)
{
    static const struct {
        const char *name, *talk;
        uint64_t completed;
    } rows[] = {
        {"all repeated requests were answered", "A B a0 a1 a3 b0 b1 . A2 B a2 a3 b0 b1 b2 b3", 2},
        {"a READ was not repeated again: the responses to its earlier request count",
         "A B C a0 a1 a3 b1 b2 b3 . A2 B C a2 a3 b0 b1 . A3 B C b2 b3 c0 c1 c2 c3"
         " D a3 b1 b2 b3 c0 c1 c2 c3 d0 d1 d3 D2 d2 d3",
         4},
        {"restarted from the middle: all earlier responses were accepted",
         "A B C a0 a1 b3 . A2 B C c0 c1 c3 . C2 c2 c3", 3},
        {"restarted from the beginning: earlier READs with a last response count",
         "A B C a0 a1 a3 b0 b1 . A2 B C a2 b0 b1 b2 b3 c1 . C c0 c1 c2 c3", 3},
        {"restarted from the beginning: earlier READs without a last response do not count",
         "A B C a0 a1 b0 . A2 B C a2 c1 . C c0 c1 c2 c3", 1},
        {"responses out of order until the end of the capture",
         "A B a0 a2 b0 . A1 B a1 a3 a2 b0 b1 b2 b3", 2},
        {"repeated, but not answered before the end of the capture", "A B a0 a1 a3 b0 b1 b3 . A2 B",
         0},
        {"responses before the repeated request do not count",
         "A B a0 a1 a3 b0 b1 b3 . A2 B a2 b0 b1 b3", 0},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        talk(&g, rows[i].talk);
        judge(&g, NULL, NULL, &v);
        if (completed() != rows[i].completed)
            suite_fail(__FILE__, __LINE__, "%s: %llu, found %llu", rows[i].name,
                       (unsigned long long)rows[i].completed, (unsigned long long)completed());
        EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_READ].bytes, completed() * PSNS * g.mtu);
        EXPECT_EQ(judge_errors(&v, rows[i].name), 0);
        flowgen_free(&g);
    }
}

/* One response to the first READ is missing in the capture, but the requester does not go back
 * again. So all READs that were retransmitted together must be counted as completed. */
static void reads_repeated_together_complete(void)
{
    for (unsigned reads = 0; reads < 2; reads++) {
        struct flowgen g;
        uint32_t base;

        flowgen_begin(&g);
        base = g.conn.psn[0];
        talk(&g, "A B a0 a1 a3 b0 b1 . A2 B a3 b0 b1 b2 b3");
        g.conn.msn[0] = 2;
        for (uint32_t n = 2; n < 1000; n++) {
            if (!reads) {
                flowgen_send(&g, 0, 64);
                continue;
            }
            ask(&g, base, n, 0);
            for (uint32_t k = 0; k < PSNS; k++)
                answer(&g, base, n, k);
        }
        judge(&g, NULL, NULL, &v);
        EXPECT_EQ(completed(), reads ? 999 : 1);
        EXPECT_EQ(judge_errors(&v, "many"), 0);
        flowgen_free(&g);
    }
}

/* The responder sends an ACK for a READ or an atomic, instead of a READ response or an Atomic ACK.
 * The finding must name the expected and the actual opcode, not the PSNs, which are equal. */
static void ack_for_a_read_is_named(void)
{
    static const struct {
        uint8_t request, response;
        uint32_t len;
        const char *text;
    } rows[] = {
        {ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_READ_RESP_ONLY, 64,
         "bth.opcode: expected RC READ Response Only, found RC Acknowledge; an ACK "},
        {ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_READ_RESP_LAST, 4096,
         "bth.opcode: expected RC READ Response Last, found RC Acknowledge; an ACK "},
        {ROCE_OP_RC_FETCH_ADD, ROCE_OP_RC_ATOMIC_ACK, 0,
         "bth.opcode: expected RC Atomic Acknowledge, found RC Acknowledge; an ACK "},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_finding *f = NULL;
        struct roce_pkt p;
        struct flowgen g;
        char text[512];

        flowgen_begin(&g);
        flowgen_send(&g, 0, 2048);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, rows[i].request, rows[i].len);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        for (uint32_t k = 0; k < v.finding_cnt; k++)
            if (v.finding[k].rule == ROCE_RULE_IMPLIED_NAK)
                f = &v.finding[k];
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        EXPECT_EQ(f->severity, ROCE_SEV_NOTE);
        EXPECT_EQ(f->expected, rows[i].response);
        EXPECT_EQ(f->actual, ROCE_OP_RC_ACK);
        roce_finding_text(f, text, sizeof(text));
        if (strncmp(text, rows[i].text, strlen(rows[i].text)) != 0)
            suite_fail(__FILE__, __LINE__, "%s", text);
    }
}

SUITE("flow.implied_nak", TEST(reads_after_an_implied_nak_complete),
      TEST(reads_repeated_together_complete), TEST(ack_for_a_read_is_named))
