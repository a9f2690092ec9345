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

/* One of four responses to a READ has a wrong opcode, which must be reported (R141). If the packet
 * before the READ was not captured, the READ may be the restart of a longer READ, and the response
 * may belong to the longer READ: then the analysis engine must report only a WARN. */
static void wrong_read_response_opcode_is_reported(void)
{
    static const struct {
        uint32_t k;
        uint8_t opcode;
        bool lone; /* the capture lacks the packet before the READ */
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
            flowgen_wait(&g, 2000000); /* a slow response is not a violation */
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

/* The first of four responses is sent twice, and the second one is missing. The finding must name
 * the PSN of the second response as expected, also if this PSN is 0. */
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

/* A responder sends a fatal NAK, and later another response. The later response must be
 * reported. */
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

/* After missing READ responses or an implied NAK, the requester goes back to the response that it
 * lacks. The analysis engine must count whether that response was captured. */
static void restart_shows_the_missing_response(void)
{
    static const struct {
        const char *name;
        uint32_t skip;    /* number of the response that is not captured; PSNS: all responses are
                             captured */
        uint32_t answers; /* number of responses to the READ before the next READ is answered */
        uint32_t from;    /* number of the response from which the requester requests the READ
                           * again */
        enum roce_cause cause;
        uint64_t captured, missing;
    } rows[] = {
        {"a response is lost before the capture point", 1, 4, 1, ROCE_CAUSE_READ_GAP, 0, 1},
        {"the first response is lost", 0, 4, 0, ROCE_CAUSE_READ_GAP, 0, 1},
        {"a response is lost after the capture point", 4, 4, 2, ROCE_CAUSE_READ_GAP, 1, 0},
        {"the first response is lost after the capture point", 4, 4, 0, ROCE_CAUSE_READ_GAP, 1, 0},
        {"the last responses are lost", 4, 2, 2, ROCE_CAUSE_IMPLIED_NAK, 0, 1},
        {"all responses are lost", 4, 0, 0, ROCE_CAUSE_IMPLIED_NAK, 0, 1},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        const struct roce_read_restarts *r = &a->read_gap_restarts;
        struct flowgen g;
        struct roce_pkt p, next;

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
        p = ask(&g);
        next = ask(&g);
        for (uint32_t k = 0; k < rows[i].answers; k++)
            if (k != rows[i].skip)
                flowgen_read_resp(&g, 1, p.bth.psn, PSNS * g.mtu, k, k);
        flowgen_read_resp(&g, 1, next.bth.psn, PSNS * g.mtu, 0, PSNS - 1);
        p.bth.psn += rows[i].from;
        p.reth.va += rows[i].from * g.mtu;
        p.reth.dma_len -= rows[i].from * g.mtu;
        p.ip4.id = 0;
        flowgen_put(&g, 0, &p);
        flowgen_read_resp(&g, 1, p.bth.psn, p.reth.dma_len, 0, PSNS - rows[i].from - 1);
        judge_end(&g, &v);
        if (a->retx[rows[i].cause].go_backs != 1 || r->captured != rows[i].captured ||
            r->missing != rows[i].missing || r->psn != p.bth.psn || r->frame == 0)
            suite_fail(__FILE__, __LINE__,
                       "%s: %llu go-backs for READ gaps, %llu for implied NAKs, %llu responses "
                       "captured, PSN %u",
                       rows[i].name, (unsigned long long)a->retx[ROCE_CAUSE_READ_GAP].go_backs,
                       (unsigned long long)a->retx[ROCE_CAUSE_IMPLIED_NAK].go_backs,
                       (unsigned long long)r->captured, r->psn);
    }
}

/* Requests the READ `p` of PSNS packets again, from response number `from` on. */
static void restart(struct flowgen *g, struct roce_pkt p, uint32_t from)
{
    p.bth.psn += from;
    p.reth.va += from * g->mtu;
    p.reth.dma_len -= from * g->mtu;
    p.ip4.id = 0;
    flowgen_put(g, 0, &p);
}

/* A READ has responses 0 to 3. Response 1 is lost before the capture point. The requester discards
 * response 2, which it receives before it requests the READ again from response 1 on. Then response
 * 2 is lost, too; with `ended`, response 3 is also lost, and the ACK of a later SEND follows. So
 * the requester requests the READ again from response 2 on. The analysis engine must count
 * responses 1 and 2 as lost before the capture point. */
static void discarded_response_counts_as_missing(void)
{
    for (unsigned ended = 0; ended < 2; ended++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        struct flowgen g;
        struct roce_pkt p, send;

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
        p = ask(&g);
        send = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &send);
        flowgen_read_resp(&g, 1, p.bth.psn, PSNS * g.mtu, 0, 0);
        flowgen_read_resp(&g, 1, p.bth.psn, PSNS * g.mtu, 2, 3);
        for (uint32_t from = 1; from < 3; from++) {
            restart(&g, p, from);
            flowgen_put(&g, 0, &send);
            flowgen_read_resp(&g, 1, p.bth.psn + from, (PSNS - from) * g.mtu, 0, 0);
            if (from == 2 || !ended)
                flowgen_read_resp(&g, 1, p.bth.psn + 3, g.mtu, 0, 0);
            if (from == 2 || ended)
                flowgen_ack(&g, 1, send.bth.psn, 0x1F);
        }
        judge_end(&g, &v);
        EXPECT_EQ(a->retx[ROCE_CAUSE_READ_GAP].go_backs, 1 + !ended);
        EXPECT_EQ(a->retx[ROCE_CAUSE_IMPLIED_NAK].go_backs, ended);
        EXPECT_EQ(a->read_gap_restarts.captured, 0);
        EXPECT_EQ(a->read_gap_restarts.missing, 2);
    }
}

/* The first response to the first of three READs is lost after the capture point. In the go-back,
 * the second READ request is lost, after the capture point or before it, so the responses to the
 * third READ follow the responses to the first READ. The analysis engine must not count a response
 * as lost before the capture point. */
static void lost_read_request_of_a_go_back_is_not_its_responses(void)
{
    for (unsigned captured = 0; captured < 2; captured++) {
        const struct roce_endpoint_summary *b = &v.conn[0].side[1];
        struct roce_pkt p[3];
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
        for (unsigned i = 0; i < 3; i++)
            p[i] = ask(&g);
        for (unsigned i = 0; i < 3; i++)
            flowgen_read_resp(&g, 1, p[i].bth.psn, PSNS * g.mtu, 0, PSNS - 1);
        for (unsigned i = 0; i < 3; i++)
            if (i != 1 || captured)
                restart(&g, p[i], 0);
        for (unsigned i = 0; i < 3; i += 2)
            flowgen_read_resp(&g, 1, p[i].bth.psn, PSNS * g.mtu, 0, PSNS - 1);
        judge_end(&g, &v);
        EXPECT_EQ(b->response_gaps, 0);
        EXPECT_EQ(b->missing_responses, 0);
    }
}

/* Sends the second response to the READ with PSN `psn`, with the identification after `before`. */
static void put_late(struct flowgen *g, uint16_t before, uint32_t psn)
{
    uint16_t now = g->ip_id[1];

    g->ip_id[1] = before;
    flowgen_read_resp(g, 1, psn, PSNS * g->mtu, 1, 1);
    g->ip_id[1] = now;
}

/* A response to the first of two READs is captured late: before the requester requests it again, or
 * after that, between the responses to the second READ. The analysis engine must count one gap, for
 * this response, and no response lost after the capture point. */
static void late_read_response_is_not_lost(void)
{
    for (unsigned after = 0; after < 2; after++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0], *b = &v.conn[0].side[1];
        struct roce_pkt p[2];
        struct flowgen g;
        uint16_t late; /* IPv4 identification that precedes the one of the late response */

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
        p[0] = ask(&g);
        p[1] = ask(&g);
        flowgen_read_resp(&g, 1, p[0].bth.psn, PSNS * g.mtu, 0, 0);
        late = g.ip_id[1]++;
        flowgen_read_resp(&g, 1, p[0].bth.psn, PSNS * g.mtu, 2, 3);
        if (!after)
            put_late(&g, late, p[0].bth.psn);
        p[0].bth.psn += 1;
        p[0].reth.va += g.mtu;
        p[0].reth.dma_len -= g.mtu;
        flowgen_put(&g, 0, &p[0]);
        flowgen_put(&g, 0, &p[1]);
        flowgen_read_resp(&g, 1, p[1].bth.psn, PSNS * g.mtu, 0, 1);
        if (after)
            put_late(&g, late, p[0].bth.psn - 1);
        flowgen_read_resp(&g, 1, p[1].bth.psn, PSNS * g.mtu, 2, 3);
        flowgen_read_resp(&g, 1, p[0].bth.psn, p[0].reth.dma_len, 0, 2);
        flowgen_read_resp(&g, 1, p[1].bth.psn, PSNS * g.mtu, 0, 3);
        judge_end(&g, &v);
        EXPECT_EQ(a->retx[ROCE_CAUSE_READ_GAP].go_backs, 1);
        EXPECT_EQ(a->read_gap_restarts.captured, 0);
        EXPECT_EQ(a->read_gap_restarts.late, !after);
        EXPECT_EQ(b->response_gaps, 1);
        EXPECT_EQ(b->missing_responses, 1);
        EXPECT_EQ(b->late_responses, 1);
        EXPECT_EQ(b->repeated_responses, 7);
    }
}

/* The response to a READ of one packet, or to an atomic, is lost after the capture point. The
 * requester repeats the request after the response to the next request. The cause must be an
 * implied NAK, not a lost ACK. */
static void captured_response_that_is_lost_is_an_implied_nak(void)
{
    static const uint8_t ops[] = {ROCE_OP_RC_READ_REQUEST, ROCE_OP_RC_FETCH_ADD};

    for (unsigned i = 0; i < 2; i++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        struct roce_pkt p[2];
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
        for (unsigned tries = 0; tries < 2; tries++) {
            for (unsigned k = 0; k < 2; k++) {
                if (tries == 0)
                    p[k] = flowgen_req(&g, 0, ops[i], 8);
                flowgen_put(&g, 0, &p[k]);
            }
            for (unsigned k = 0; k < 2; k++) {
                struct roce_pkt r =
                    flowgen_resp(&g, 1, i == 0 ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ATOMIC_ACK,
                                 p[k].bth.psn, i == 0 ? 8 : 0);

                r.aeth.msn = tries ? 3 : 2 + k;
                flowgen_put(&g, 1, &r);
            }
        }
        judge_end(&g, &v);
        EXPECT_EQ(a->retx[ROCE_CAUSE_IMPLIED_NAK].go_backs, 1);
        EXPECT_EQ(a->retx[ROCE_CAUSE_UNKNOWN].go_backs, 0);
        EXPECT_EQ(a->read_gap_restarts.captured, 1);
        CU_ASSERT(!judge_found(&v, ROCE_RULE_RETRY_ACKED));
    }
}

/* Of two Atomic ACKs, the first is captured after the second. The requester drops the late ACK and
 * repeats its request. No ACK was lost after the capture point. */
static void late_atomic_ack_is_not_lost(void)
{
    const struct roce_endpoint_summary *a = &v.conn[0].side[0];
    struct roce_pkt p[2];
    struct flowgen g;

    flowgen_begin(&g);
    for (unsigned k = 0; k < 2; k++) {
        p[k] = flowgen_req(&g, 0, ROCE_OP_RC_FETCH_ADD, 8);
        flowgen_put(&g, 0, &p[k]);
    }
    for (unsigned tries = 0; tries < 2; tries++) {
        for (unsigned k = 0; k < 2; k++) {
            struct roce_pkt r =
                flowgen_resp(&g, 1, ROCE_OP_RC_ATOMIC_ACK, p[tries ? k : !k].bth.psn, 0);

            r.aeth.msn = tries ? 2 : 2 - k;
            flowgen_put(&g, 1, &r);
        }
        for (unsigned k = 0; k < 2 && !tries; k++)
            flowgen_put(&g, 0, &p[k]);
    }
    judge_end(&g, &v);
    EXPECT_EQ(a->retx[ROCE_CAUSE_IMPLIED_NAK].go_backs, 1);
    EXPECT_EQ(a->read_gap_restarts.captured, 0);
    EXPECT_EQ(a->read_gap_restarts.missing, 0);
    EXPECT_EQ(a->read_gap_restarts.late, 1);
}

/* Requests the rest of a READ of 16 packets, from packet `from` on, and sends the responses except
 * number `lost`. The directions have different source ports, so their pairing takes some packets.
 */
static void read_rest(struct flowgen *g, struct roce_pkt p, uint32_t from, uint32_t lost)
{
    p.bth.psn += from;
    p.reth.va += from * g->mtu;
    p.reth.dma_len -= from * g->mtu;
    p.udp.sport = 0xC123;
    flowgen_put(g, 0, &p);
    for (uint32_t k = 0; from + k < 16; k++)
        if (from + k != lost)
            flowgen_read_resp(g, 1, p.bth.psn, p.reth.dma_len, k, k);
}

/* The capture begins with a READ, so the path MTU is unknown and the directions are not paired. The
 * requester requests the READ again from its packet `from` on. The analysis engine must not count
 * that as another READ. With `from` = 8 it may: the request may be a new READ after a READ of eight
 * packets, with a path MTU of 2048. */
static void restart_of_the_first_read_is_not_another_read(void)
{
    for (uint32_t from = 8; from < 10; from++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        struct flowgen g;
        struct roce_pkt p;

        flowgen_init(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 16 * 1024);
        read_rest(&g, p, 0, from);
        read_rest(&g, p, from, 16);
        for (unsigned k = 0; k < 9; k++)
            read_rest(&g, flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 16 * 1024), 0, 16);
        judge_end(&g, &v);
        EXPECT_EQ(v.conn[0].facts.paired, true);
        EXPECT_EQ(a->oper[ROCE_OPER_READ].messages, from == 9 ? 10 : 11);
        EXPECT_EQ(a->retx[ROCE_CAUSE_READ_GAP].go_backs, from == 9);
        EXPECT_EQ(a->oper[ROCE_OPER_READ].bytes, (10 * 16 + (from == 9 ? 0 : 8)) * 1024);
    }
}

/* The directions are paired only after some READs and atomics were answered. These operations must
 * be counted as completed, including the last one. */
static void operations_answered_before_the_pairing_are_counted(void)
{
    static const uint32_t lens[] = {0, 64, 4096}; /* 0: atomics */

    for (unsigned i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        struct flowgen g;
        const struct roce_oper_summary *cnt;

        flowgen_init(&g);
        g.conn = flowgen_conn_of(1, 16, 32); /* such low PSNs do not prove a pairing */
        for (unsigned k = 0; k < 10; k++)
            if (lens[i])
                flowgen_read(&g, 0, lens[i]);
            else
                flowgen_atomic(&g, 0);
        judge_end(&g, &v);
        cnt = &v.conn[0].side[0].oper[lens[i] ? ROCE_OPER_READ : ROCE_OPER_ATOMIC];
        EXPECT_EQ(v.conn_cnt, 1);
        EXPECT_EQ(cnt->messages, 10);
        EXPECT_EQ(cnt->completed, 10);
        EXPECT_EQ(cnt->bytes, 10 * (uint64_t)(lens[i] ? lens[i] : 8));
    }
}

SUITE("flow.read", TEST(wrong_read_response_opcode_is_reported),
      TEST(duplicate_response_names_the_expected_psn), TEST(response_after_a_fatal_nak_is_reported),
      TEST(restart_shows_the_missing_response), TEST(discarded_response_counts_as_missing),
      TEST(late_read_response_is_not_lost), TEST(late_atomic_ack_is_not_lost),
      TEST(lost_read_request_of_a_go_back_is_not_its_responses),
      TEST(captured_response_that_is_lost_is_an_implied_nak),
      TEST(restart_of_the_first_read_is_not_another_read),
      TEST(operations_answered_before_the_pairing_are_counted))
