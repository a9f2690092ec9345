/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/*
 * Tests what the analysis engine reports about whole conversations as real devices have them: why a
 * requester retransmitted, and what that cost.
 */
#include <string.h>
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* A responder sends a fatal NAK, but executes later requests. So neither QP stopped, and the
 * responder violates the rule, which must be an ERROR. The MSN continues, so the QPs were not
 * reused. */
static void fatal_nak_that_stops_nothing_is_a_violation(void)
{
    for (unsigned more = 0; more < 2; more++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned i = 0; i < 4; i++)
            flowgen_send(&g, 0, 64);
        flowgen_ack(&g, 1, g.conn.psn[0], NAK_ACC); /* NAK for a request that was never sent */
        flowgen_wait(&g, 30000000);
        if (more)
            flowgen_send(&g, 0, 64);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_AFTER_NAK), more);
        if (more)
            EXPECT_EQ(judge_worst(&v, ROCE_RULE_ACK_AFTER_NAK), ROCE_SEV_ERROR);
        EXPECT_EQ(v.conn[0].facts.end, more ? ROCE_END_OPEN : ROCE_END_NAK);
    }
}

/* An ACK with a PSN far ahead of the requests must be an ERROR. If the capture has a long gap
 * before the ACK, the ACK may be correct and must not be an ERROR. */
static void ack_far_ahead_is_a_violation(void)
{
    for (unsigned late = 0; late < 2; late++) {
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_connect(&g);
        flowgen_send(&g, 0, 64);
        if (late)
            flowgen_wait(&g, 100000000);
        flowgen_ack(&g, 1, (g.conn.psn[0] + 0x300000) & ROCE_PSN_MASK, ACK_31);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_BEFORE_START), true);
        EXPECT_EQ(judge_worst(&v, ROCE_RULE_ACK_BEFORE_START),
                  late ? ROCE_SEV_WARN : ROCE_SEV_ERROR);
    }
}

/* NICs send CNPs from UDP source port 0. The analysis engine must report source port 0 for other
 * packets, but not for a CNP. */
static void source_port_of_a_cnp_is_not_judged(void)
{
    for (unsigned cnp = 0; cnp < 2; cnp++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 0);
        if (cnp) {
            struct roce_pkt q;

            roce_pkt_init(&q, p.encap, ROCE_OP_CNP_ROCE);
            p.op = q.op;
            p.present = q.present;
            p.bth = q.bth;
            p.bth.becn = 1;
        }
        p.udp.sport = 0;
        flowgen_put(&g, 0, &p);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_SPORT_RANGE), !cnp);
    }
}

/* After a deviation, later findings about the connection are doubtful. A finding that a single
 * packet proves must still be an ERROR. */
static void finding_of_one_packet_stays_an_error(void)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_begin(&g);
    flowgen_connect(&g);
    flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_FIRST, 512); /* too short: the CM messages agreed on a
                                                         * path MTU of 1024 */
    flowgen_put(&g, 0, &p);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_LAST, 4);
    flowgen_put(&g, 0, &p);
    flowgen_ack_all(&g, 1);
    p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
    p.reth.dma_len = 60;
    flowgen_put(&g, 0, &p);
    judge_end(&g, &v);
    EXPECT_EQ(judge_found(&v, ROCE_RULE_CM_MTU), true);
    EXPECT_EQ(judge_worst(&v, ROCE_RULE_DMA_LEN), ROCE_SEV_ERROR);
}

/* Requests READ number `n` from its PSN `from` on. Each READ has four PSNs. */
static void ask(struct flowgen *g, uint32_t base, uint32_t n, uint32_t from)
{
    struct roce_pkt p;

    g->conn.psn[0] = (base + n * 4 + from) & ROCE_PSN_MASK;
    p = flowgen_req(g, 0, ROCE_OP_RC_READ_REQUEST, (4 - from) * g->mtu);
    p.reth.va += (uint64_t)(n * 4 + from) * g->mtu;
    flowgen_put(g, 0, &p);
}

/* Responses to a READ are missing, and some of the repeated responses are missing too. The
 * requester goes back several milliseconds after the latest response. The cause reported must be
 * the missing response, not a timeout. */
static void read_gaps_count_in_repeated_data_too(void)
{
    struct flowgen g;
    const struct roce_endpoint_summary *a, *b;
    uint32_t base;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    base = g.conn.psn[0];
    ask(&g, base, 0, 0);
    ask(&g, base, 1, 0);
    flowgen_read_resp(&g, 1, base, 4 * g.mtu, 0, 0);
    flowgen_read_resp(&g, 1, base, 4 * g.mtu, 2, 3); /* PSN 1 is missing */
    flowgen_read_resp(&g, 1, base + 4, 4 * g.mtu, 0, 3);
    flowgen_wait(&g, 5000000);
    ask(&g, base, 0, 1);
    ask(&g, base, 1, 0);
    flowgen_read_resp(&g, 1, base + 1, 3 * g.mtu, 0, 2);
    flowgen_read_resp(&g, 1, base + 4, 4 * g.mtu, 0, 1);
    flowgen_read_resp(&g, 1, base + 4, 4 * g.mtu, 3, 3); /* PSN 6 is missing when the responses are
                                                          * repeated */
    flowgen_wait(&g, 5000000);
    ask(&g, base, 1, 2);
    flowgen_read_resp(&g, 1, base + 6, 2 * g.mtu, 0, 1);
    judge_end(&g, &v);
    a = &v.conn[0].side[0];
    b = &v.conn[0].side[1];
    EXPECT_EQ(a->oper[ROCE_OPER_READ].completed, 2);
    EXPECT_EQ(a->retx[ROCE_CAUSE_READ_GAP].go_backs, 2);
    EXPECT_EQ(a->retx[ROCE_CAUSE_TIMEOUT].go_backs, 0);
    EXPECT_EQ(b->response_gaps, 2);
    EXPECT_EQ(b->missing_responses, 2);
    EXPECT_EQ(b->repeated_responses, 7);
    EXPECT_EQ(b->repeated_response_bytes, 7 * 1024);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_READ_RESP_GAP], 2);
}

/* Returns the PSN that the character `c` describes: '0' to '9' are 0 to 9, 'a' is 10, 'b' is 11
 * and so on. */
static uint32_t told_psn(char c)
{
    return (uint32_t)(c < 'a' ? c - '0' : c - 'a' + 10);
}

/* Sends the packets that `steps` describes. A character of told_psn() is a request with this PSN,
 * '!' and a PSN are a sequence NAK, '^' and a PSN are an ACK. '.' is a silence of 60 ms, ',' of 2
 * ms, ';' of 0.9 ms. The requester sent the request after '<' at the place of '~'. */
static void talk(struct flowgen *g, const char *steps)
{
    uint32_t base = g->conn.psn[0];
    uint16_t early =
        0; /* IPv4 identification that precedes the identification of the request sent at '~' */

    for (; *steps; steps++)
        if (*steps == '~') {
            early = g->ip_id[0]++;
        } else if (*steps == '<') {
            uint16_t now = g->ip_id[0];

            g->ip_id[0] = early;
            g->conn.psn[0] = base + told_psn(*++steps);
            flowgen_message(g, 0, ROCE_KIND_WRITE, 64);
            g->ip_id[0] = now;
        } else if (strchr(".,;", *steps)) {
            flowgen_wait(g, *steps == '.' ? 60000000 : *steps == ',' ? 2000000 : 900000);
        } else if (*steps == '!' || *steps == '^') { /* for the PSN that follows */
            bool nak = *steps++ == '!';

            g->conn.msn[0] = 1 + told_psn(*steps) + !nak;
            flowgen_ack(g, 1, base + told_psn(*steps), nak ? NAK_SEQ : ACK_31);
        } else if (*steps != ' ') {
            g->conn.psn[0] = base + told_psn(*steps);
            flowgen_message(g, 0, ROCE_KIND_WRITE, 64);
        }
}

/* The analysis engine must name the cause of each go-back. A requester with adaptive retransmission
 * goes back after its own wait, which is far below the agreed ACK timeout. */
static void cause_of_a_go_back(void)
{
    static const struct {
        const char *name, *steps;
        uint64_t naks, timeouts, out_of_order, missing_repeats, unheeded_naks;
        bool cm; /* CM messages agree on an ACK timeout of 1.07 s */
    } rows[] = {
        {"packets of a go-back are lost before the capture point", "01234 !1 12,4", 1, 0, 0, 1, 0,
         false},
        {"the first packet of a go-back is lost", "01234 !1 234", 1, 0, 0, 1, 0, false},
        {"nothing follows a NAK that was obeyed", "01234 !1 1234 . 1234", 1, 1, 0, 0, 0, false},
        {"the NAK is lost on its way", "01234 !1 . 1234", 0, 1, 0, 0, 1, false},
        {"the lost NAK acknowledges requests", "01234 !1 . 01234", 0, 1, 0, 0, 1, false},
        {"new requests follow the lost NAK", "01234 !1 567 . 1234567", 0, 1, 0, 0, 1, false},
        {"the retransmission is lost too", "0234 !1 234 , 1234", 1, 1, 0, 1, 0, false},
        {"a packet is overtaken", "0~234<1", 0, 0, 1, 0, 0, false},
        {"a packet is lost, and the NAK for it", "0234 , 1234", 0, 1, 0, 0, 0, false},
        {"a packet is lost, the timeout is short", "0234 ; 1234", 0, 1, 0, 0, 0, false},
        {"adaptive: the retransmission is lost too", "01234 !1 1234 , 1234", 1, 1, 0, 0, 0, true},
        {"adaptive: the same before the capture point", "01234 !1 234 , 1234", 1, 1, 0, 1, 0, true},
        {"adaptive: the NAK is lost", "01234 !1 . 1234", 0, 1, 0, 0, 1, true},
        {"adaptive, as seen before: the NAK is lost", "01 ^0 , 1 ^1 234 !2 , 234", 0, 2, 0, 0, 1,
         true},
        {"adaptive: it obeyed NAKs, and sends on after the lost one",
         "0123 !1 123 !2 23 !3 456789abcdefgh , 3456789abcdefgh", 2, 1, 0, 0, 1, true},
        {"without an agreed timeout: a loaded host may obey late",
         "0123 !1 123 !2 23 !3 456789abcdefgh , 3456789abcdefgh", 3, 0, 0, 0, 0, false},
        {"a loaded host obeys NAKs later each time", "0123 !1 ,,,,,,,,, 123 !2 . 23", 2, 0, 0, 0, 0,
         false},
        {"a go-back sooner than a timeout obeys the NAK", "0 ^0 123 . 123 !1 ,,,,,,,,,,,,, 123", 1,
         1, 0, 0, 0, false},
        {"each of two NAKs causes a go-back", "01234 !1 !2 1234 234", 2, 0, 0, 0, 0, false},
        {"each of three NAKs causes a go-back", "012345 !1 !2 !3 12345 2345 345", 3, 0, 0, 0, 0,
         false},
        {"a later ACK does not withdraw the NAKs", "01234 !1 !2 ^4 1234 234", 2, 0, 0, 0, 0, false},
        {"a packet of a go-back is overtaken", "01234 !1 12~45<3 6", 1, 0, 0, 0, 0, false},
        {"a new packet is overtaken by a go-back", "01234~ !1 12 <5 345 6", 1, 0, 0, 0, 0, false},
        {"the same after a NAK whose loss was not recognised",
         "0123 !0 , 0123 !1 123 !2 23 !3 34 !4 56789abcdefghi , 456789abcdefghi", 4, 1, 0, 0, 1,
         true},
        {"a busy software requester sends on, and obeys late",
         "0123 !1 ; 123 !2 23 !3 456789abcdefgh , 3456789abcdefgh", 3, 0, 0, 0, 0, false},
        {"adaptive: one ACK was slow", "0 , ^0 123 , 123", 0, 1, 0, 0, 0, true},
        {"a busy software requester obeys a NAK late", "01234 !1 , 1234", 1, 0, 0, 0, 0, false},
        {"a very busy software requester does it twice", "0123 !1 ,,,,,,,, 123 !2 ,,,,,, 23", 2, 0,
         0, 0, 0, false},
        {"it does, and the first retransmission is lost", "01234 !1 , 234", 1, 0, 0, 1, 0, false},
        {"a go-back fills a second gap behind a lost packet", "0123578 !4 4678", 1, 0, 0, 1, 0,
         false},
        {"adaptive: a packet is lost", "0234 , 1234", 0, 1, 0, 0, 0, true},
        {"adaptive: the ACK is lost", "0123 ^3 , 0123", 0, 1, 0, 0, 0, true},
        {"the ACK is lost, the timeout is short", "0123 ^3 ; 0123", 0, 1, 0, 0, 0, false},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_endpoint_summary *a;
        struct flowgen g;

        flowgen_begin(&g);
        if (rows[i].cm) {
            struct roce_cm_msg req = flowgen_cm_req(&g), rep = flowgen_cm_rep(&g);

            req.req.primary_ack_timeout = 18;
            flowgen_cm(&g, 0, &req);
            flowgen_cm(&g, 1, &rep);
        }
        flowgen_send(&g, 0, 64);
        talk(&g, rows[i].steps);
        judge_end(&g, &v);
        a = &v.conn[v.conn_cnt - 1].side[0];
        if (v.conn[0].facts.svc == ROCE_SVC_RC)
            a = &v.conn[0].side[0];
        if (a->retx[ROCE_CAUSE_SEQ_NAK].go_backs != rows[i].naks ||
            a->retx[ROCE_CAUSE_TIMEOUT].go_backs != rows[i].timeouts ||
            a->retx[ROCE_CAUSE_UNKNOWN].go_backs || a->out_of_order != rows[i].out_of_order ||
            a->missing_repeats != rows[i].missing_repeats ||
            a->unheeded_naks != rows[i].unheeded_naks || v.totals.findings[ROCE_SEV_WARN])
            suite_fail(__FILE__, __LINE__,
                       "%s: go-backs: %llu by NAKs, %llu by timeouts, %llu unknown; %llu late "
                       "packets, %llu missing retransmissions, %llu NAKs without effect, "
                       "%llu WARN findings",
                       rows[i].name, (unsigned long long)a->retx[ROCE_CAUSE_SEQ_NAK].go_backs,
                       (unsigned long long)a->retx[ROCE_CAUSE_TIMEOUT].go_backs,
                       (unsigned long long)a->retx[ROCE_CAUSE_UNKNOWN].go_backs,
                       (unsigned long long)a->out_of_order, (unsigned long long)a->missing_repeats,
                       (unsigned long long)a->unheeded_naks,
                       (unsigned long long)v.totals.findings[ROCE_SEV_WARN]);
    }
}

/* READ requests of four PSNs each are missing in the capture. Each request must be counted as one
 * packet, if the request is captured later, or if its responses are captured. */
static void missing_read_request_is_one_packet(void)
{
    static const struct {
        const char *name;
        bool nak, again, answered; /* the SEND after the READs gets a sequence NAK; the READ
                                    * requests are captured after this SEND; the READs are
                                    * answered */
        uint64_t missing_psns, missing_packets, unseen_acked, unseen_packets, out_of_order;
    } rows[] = {
        {"lost and retransmitted", true, true, true, 8, 2, 0, 0, 0},
        {"out of order", false, true, true, 8, 2, 0, 0, 2},
        {"not captured", false, false, true, 8, 2, 8, 2, 0},
        {"not captured, without responses", false, false, false, 8, 8, 8, 8, 0},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_endpoint_summary *a = &v.conn[0].side[0];
        struct flowgen g;
        struct roce_pkt p[3];

        flowgen_begin(&g);
        flowgen_write(&g, 0, 3000); /* shows the path MTU */
        for (unsigned k = 0; k < 3; k++) {
            p[k] = flowgen_req(&g, 0, k < 2 ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_SEND_ONLY,
                               k < 2 ? 4096 : 64);
            if (!rows[i].nak)
                p[k].ip4.id = ++g.ip_id[0];
        }
        flowgen_put(&g, 0, &p[2]);
        if (rows[i].nak)
            flowgen_ack(&g, 1, p[0].bth.psn, NAK_SEQ);
        for (unsigned k = 0; rows[i].again && k < 2; k++)
            flowgen_put(&g, 0, &p[k]);
        if (rows[i].nak)
            flowgen_put(&g, 0, &p[2]);
        for (unsigned k = 0; rows[i].answered && k < 2; k++)
            flowgen_read_resp(&g, 1, p[k].bth.psn, 4096, 0, 3);
        flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        if (a->missing_psns != rows[i].missing_psns ||
            a->missing_packets != rows[i].missing_packets ||
            a->unseen_acked != rows[i].unseen_acked ||
            a->unseen_packets != rows[i].unseen_packets || a->out_of_order != rows[i].out_of_order)
            suite_fail(
                __FILE__, __LINE__,
                "%s: missing: %llu PSNs, %llu packets; acknowledged but not captured: %llu PSNs, "
                "%llu packets; %llu packets out of order",
                rows[i].name, (unsigned long long)a->missing_psns,
                (unsigned long long)a->missing_packets, (unsigned long long)a->unseen_acked,
                (unsigned long long)a->unseen_packets, (unsigned long long)a->out_of_order);
    }
}

/* Two of four READ requests, of four PSNs each, are missing in a go-back after a sequence NAK. Each
 * must be counted as one missing retransmission. */
static void missing_retransmission_of_a_read_is_one_packet(void)
{
    struct flowgen g;
    struct roce_pkt p[4];

    flowgen_begin(&g);
    flowgen_write(&g, 0, 3000); /* shows the path MTU */
    for (unsigned k = 0; k < 4; k++) {
        p[k] = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4096);
        flowgen_put(&g, 0, &p[k]);
    }
    flowgen_ack(&g, 1, p[0].bth.psn, NAK_SEQ);
    flowgen_put(&g, 0, &p[0]);
    flowgen_put(&g, 0, &p[3]);
    judge_end(&g, &v);
    EXPECT_EQ(v.conn[0].side[0].missing_repeats, 2);
}

/* A response comes 20 ms after its request. This time must be reported as a wait for a response,
 * except if the request was retransmitted or does not require an ACK. */
static void late_response_is_a_wait(void)
{
    static const struct {
        const char *name;
        uint8_t op;
        bool ackreq, again, first;
        uint64_t waits;
    } rows[] = {
        {"ACK", ROCE_OP_RC_WRITE_ONLY, true, false, false, 1},
        {"READ response", ROCE_OP_RC_READ_REQUEST, true, false, false, 1},
        {"first packet", ROCE_OP_RC_WRITE_ONLY, true, false, true, 1},
        {"retransmitted", ROCE_OP_RC_WRITE_ONLY, true, true, false, 0},
        {"without AckReq", ROCE_OP_RC_WRITE_ONLY, false, false, false, 0},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct roce_spread *waits = &v.conn[0].side[0].response_waits;
        struct roce_pkt p;
        struct flowgen g;

        flowgen_begin(&g);
        if (!rows[i].first)
            flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, rows[i].op, 64);
        p.bth.ackreq = rows[i].ackreq;
        flowgen_put(&g, 0, &p);
        if (rows[i].again) {
            flowgen_wait(&g, 70000000);
            flowgen_put(&g, 0, &p);
        }
        flowgen_wait(&g, 20000000);
        if (rows[i].op == ROCE_OP_RC_READ_REQUEST)
            flowgen_read_resp(&g, 1, p.bth.psn, 64, 0, 0);
        else
            flowgen_ack_all(&g, 1);
        judge_end(&g, &v);
        if (waits->cnt != rows[i].waits || waits->sum / 1000000 != 20 * rows[i].waits)
            suite_fail(__FILE__, __LINE__, "%s: %llu waits, %llu ns", rows[i].name,
                       (unsigned long long)waits->cnt, (unsigned long long)waits->sum);
    }
}

/* UC does not retransmit. Each PSN gap must be counted as a loss of the message around it, or of
 * whole messages. */
static void uc_gaps_are_lost_messages(void)
{
    static const struct {
        const char *sent; /* packets of messages: F First, M Middle, L Last, - a packet that is not
                           * captured */
        uint64_t lost, completed;
    } rows[] = {{"FMLFML", 0, 2},    {"FMLF-LFML", 1, 2}, {"F--FML", 1, 1},   {"-MLFML", 0, 1},
                {"FML---FML", 1, 2}, {"FML-MLFML", 1, 2}, {"F-L-MLFML", 2, 1}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        g.svc = ROCE_SVC_UC;
        for (unsigned k = 0; rows[i].sent[k]; k++) {
            static const uint8_t ops[] = {ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_MIDDLE,
                                          ROCE_OP_RC_SEND_LAST};
            struct roce_pkt p = flowgen_req(&g, 0, ops[k % 3], g.mtu);

            if (rows[i].sent[k] != '-')
                flowgen_put(&g, 0, &p);
        }
        judge_end(&g, &v);
        if (v.conn[0].side[0].lost_messages != rows[i].lost ||
            v.conn[0].side[0].oper[ROCE_OPER_SEND].completed != rows[i].completed)
            suite_fail(__FILE__, __LINE__, "%s: %llu lost, %llu whole", rows[i].sent,
                       (unsigned long long)v.conn[0].side[0].lost_messages,
                       (unsigned long long)v.conn[0].side[0].oper[ROCE_OPER_SEND].completed);
    }
}

/* The clocks of two mirror ports differ, so each ACK is captured before its request. The analysis
 * engine must still find one connection. */
static void acks_before_their_requests_are_one_connection(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    g.conn.sport =
        0xC123; /* the source port differs from the port that Linux derives from the QPNs */
    for (unsigned i = 0; i < 20; i++) {
        g.conn.msn[0] = i + 1;
        flowgen_ack(&g, 1, g.conn.psn[0], ACK_31);
        flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
    }
    judge_end(&g, &v);
    EXPECT_EQ(v.conn_cnt, 1);
    EXPECT_EQ(v.conn[0].facts.paired, true);
    EXPECT_EQ(v.conn[0].side[v.conn[0].side[0].qpn > 0x80000].oper[ROCE_OPER_WRITE].completed, 20);
    EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR], 0);
    CU_ASSERT(!judge_found(&v, ROCE_RULE_END_PENDING));
}

/* The capture point is at the responder, behind a slow path. All requests are acknowledged, but the
 * requester's timeout expires before the acknowledgements arrive, so it retransmits all of them.
 * The analysis engine must not take this for a QP reuse, even if the network reorders the
 * responses, so that MSNs decrease during the go-back. */
static void go_back_over_all_requests_is_no_new_use(void)
{
    for (unsigned reordered = 0; reordered < 2; reordered++) {
        struct roce_pkt p[12];
        struct flowgen g;

        flowgen_begin(&g);
        g.conn.sport = 0xC123;
        for (unsigned i = 0; i < 12; i++) {
            p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64 + i);
            flowgen_put(&g, 0, &p[i]);
            g.conn.msn[0] = i + 1;
            flowgen_ack(&g, 1, p[i].bth.psn, ACK_31);
        }
        flowgen_wait(&g, reordered ? 2000 : 2000000);
        for (unsigned i = 0; i < 12; i++) {
            flowgen_put(&g, 0, &p[i]);
            g.conn.msn[0] = reordered && i == 6 ? 3 : 12;
            flowgen_ack(&g, 1, p[reordered && i == 6 ? 2 : 11].bth.psn, ACK_31);
        }
        judge_end(&g, &v);
        EXPECT_EQ(v.conn_cnt, 1);
        EXPECT_EQ(v.conn[0].facts.qp_uses, 1);
        EXPECT_EQ(v.totals.findings[ROCE_SEV_ERROR], 0);
    }
}

/* One end sends a single message, which is acknowledged before the directions are paired. The
 * message must be counted as completed, without a latency. */
static void message_acknowledged_before_the_pairing_is_completed(void)
{
    struct flowgen g;

    flowgen_init(&g);
    g.conn = flowgen_conn_of(1, 0, 0);
    for (unsigned n = 0; n < 12; n++) {
        unsigned from = n > 0;

        g.conn.sport = from ? 0xC456 : 0xC123;
        flowgen_message(&g, from, ROCE_KIND_SEND, 64);
        g.conn.sport = from ? 0xC123 : 0xC456;
        flowgen_ack(&g, !from, g.conn.psn[from] - 1, ACK_31);
    }
    judge_end(&g, &v);
    EXPECT_EQ(v.conn_cnt, 1);
    EXPECT_EQ(v.conn[0].facts.pairing, ROCE_PAIRED_BY_PSNS);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].completed, 1);
    EXPECT_EQ(v.conn[0].side[0].oper[ROCE_OPER_SEND].bytes, 64);
    EXPECT_EQ(v.conn[0].side[1].oper[ROCE_OPER_SEND].completed, 11);
}

/* A CNP is expected only for marked packets with payload, and not at once: devices limit the rate
 * of CNPs. A capture that ends early, or that has no packet of the receiver, shows no missing CNP.
 */
static void cnp_is_expected_for_marked_payload_and_not_at_once(void)
{
    static const struct {
        const char *name;
        uint32_t len;
        unsigned cnt;
        int side;
        bool reads;
        uint64_t silence;
        uint64_t unanswered;
    } rows[] = {{"requests", 64, 4, 0, false, 2000000, 4},
                {"the capture ends", 64, 4, 0, false, 0, 0},
                {"one request", 64, 1, 0, false, 2000000, 0},
                {"empty requests", 0, 4, 0, false, 2000000, 0},
                {"acknowledgements", 0, 4, 1, false, 2000000, 0},
                {"READ responses", 64, 4, 1, true, 2000000, 4}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt req, resp;

        flowgen_begin(&g);
        for (unsigned k = 0; k < rows[i].cnt; k++) {
            req = flowgen_req(&g, 0, rows[i].reads ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_SEND_ONLY,
                              rows[i].len);
            g.conn.msn[0] = k + 1;
            resp = flowgen_resp(&g, 1, rows[i].reads ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ACK,
                                req.bth.psn, rows[i].reads ? rows[i].len : 0);
            *(rows[i].side ? &resp.ip4.ecn : &req.ip4.ecn) = 3;
            flowgen_put(&g, 0, &req);
            flowgen_put(&g, 1, &resp);
        }
        if (rows[i].silence)
            flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        if (v.conn[0].side[rows[i].side].ce_unanswered != rows[i].unanswered ||
            judge_found(&v, ROCE_RULE_CE_NO_CNP) != (rows[i].unanswered > 0))
            suite_fail(__FILE__, __LINE__, "%s: %llu unanswered", rows[i].name,
                       (unsigned long long)v.conn[0].side[rows[i].side].ce_unanswered);
        EXPECT_EQ(v.conn[0].side[rows[i].side].ce_marked, rows[i].cnt);
    }
}

static uint32_t frame_of(enum roce_rule rule, uint8_t side)
{
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == rule && v.finding[i].side == side)
            return v.finding[i].frame;
    return 0;
}

/* The analysis engine decides some findings only after it received later packets. Such a finding
 * must name the frame of its packet, not the latest frame. */
static void late_finding_has_the_frame_of_its_packet(void)
{
    const struct roce_flow_opts opts = {.profile = ROCE_PROFILE_AUTO};
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    g.conn.sport = 0xC123;
    for (unsigned i = 0; i < 4; i++) { /* frames 1 to 8; MigReq is 0 in frames 3 and 4, and later */
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p.bth.migreq = i != 1 && i != 3;
        p.ip4.ecn = i < 2 ? 3 : 0;
        flowgen_put(&g, 0, &p);
        g.conn.msn[0] = i + 1;
        p = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, p.bth.psn, 0);
        p.bth.migreq = i != 1 && i != 3;
        flowgen_put(&g, 1, &p);
    }
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    for (unsigned i = 0; i < 4; i++) { /* frames 9 to 12 */
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 80000000);
    }
    flowgen_send(&g, 1, 64); /* frames 13 and 14 */
    flowgen_silence(&g, 400000000);
    judge(&g, &opts, NULL, &v);
    flowgen_free(&g);
    EXPECT_EQ(frame_of(ROCE_RULE_MIGREQ, 0), 3);
    EXPECT_EQ(frame_of(ROCE_RULE_MIGREQ, 1), 4);
    EXPECT_EQ(frame_of(ROCE_RULE_CE_NO_CNP, 0), 1);
    EXPECT_EQ(frame_of(ROCE_RULE_RETRY_EXHAUSTED, 0), 12);

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p); /* frame 3 */
    flowgen_send(&g, 1, 64);
    flowgen_silence(&g, 2000000000);
    judge_end(&g, &v);
    EXPECT_EQ(frame_of(ROCE_RULE_ACK_MISSING, 0), 3);
}

SUITE("flow.stories", TEST(cnp_is_expected_for_marked_payload_and_not_at_once),
      TEST(late_finding_has_the_frame_of_its_packet),

      TEST(fatal_nak_that_stops_nothing_is_a_violation), TEST(ack_far_ahead_is_a_violation),
      TEST(source_port_of_a_cnp_is_not_judged), TEST(finding_of_one_packet_stays_an_error),
      TEST(read_gaps_count_in_repeated_data_too), TEST(cause_of_a_go_back),
      TEST(missing_read_request_is_one_packet),
      TEST(missing_retransmission_of_a_read_is_one_packet), TEST(late_response_is_a_wait),
      TEST(uc_gaps_are_lost_messages), TEST(acks_before_their_requests_are_one_connection),
      TEST(go_back_over_all_requests_is_no_new_use),
      TEST(message_acknowledged_before_the_pairing_is_completed))
