/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests single conditions of the checks of requests and responses. If one of these conditions is
 * removed from the code, a test here fails. */
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;
static struct roce_flow_result results[64];

static void end(struct flowgen *g)
{
    v.results = results;
    v.results_cap = 64;
    judge_end(g, &v);
}

/* Each row has the syndrome of an Acknowledge packet. The analysis engine must report a syndrome
 * that is reserved for RC. It must not report a NAK code that is valid for RC. */
static void reserved_syndromes_are_reported(void)
{
    static const struct {
        uint8_t syndrome;
        bool reserved;
    } rows[] = {{NAK_SEQ, false}, {NAK_INV, false}, {NAK_ACC, false}, {0x63, false},
                {0x64, true},     {0x65, true},     {0x40, true},     {0x80, true},
                {RNR_1MS, false}, {ACK_31, false}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, rows[i].syndrome);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_SYNDROME_RESERVED), rows[i].reserved);
    }
}

/* Six messages, SENDs or READs after the first one. The response to message `wrong` has an MSN that
 * differs by `off`. Returns the frame of the only finding about an MSN, or 0 if there is none or
 * more than one. `before`: number of messages before the capture. `wrong_frame`: receives the frame
 * of the response with the wrong MSN. */
static uint32_t frame_of_wrong_msn(uint32_t before, int wrong, int off, bool reads,
                                   uint32_t *wrong_frame)
{
    uint32_t frame = 0, cnt = 0;
    struct flowgen g;

    flowgen_begin(&g);
    g.conn.msn[0] = before;
    for (int i = 0; i < 6; i++) {
        struct roce_pkt p;
        bool read = reads && i > 0;

        p = flowgen_put_req(&g, 0, read ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_SEND_ONLY,
                            read ? 2 * g.mtu : 64);
        g.conn.msn[0] = (g.conn.msn[0] + (uint32_t)(i == wrong ? off : 0)) & ROCE_PSN_MASK;
        if (read)
            flowgen_read_resp(&g, 1, p.bth.psn, 2 * g.mtu, 0, 1);
        else
            flowgen_ack(&g, 1, p.bth.psn, ACK_31);
        g.conn.msn[0] = (g.conn.msn[0] - (uint32_t)(i == wrong ? off : 0)) & ROCE_PSN_MASK;
        if (i == wrong)
            *wrong_frame = (uint32_t)g.frame_cnt;
    }
    end(&g);
    for (uint32_t i = 0; i < v.finding_cnt; i++)
        if (v.finding[i].rule == ROCE_RULE_MSN || v.finding[i].rule == ROCE_RULE_MSN_TOO_HIGH) {
            frame = v.finding[i].frame;
            cnt++;
        }
    return cnt == 1 ? frame : 0;
}

/* The first responses of a capture set the MSN reference. If one of them has a wrong MSN, the later
 * responses show which one, and the finding has its frame. */
static void a_wrong_msn_among_the_first_has_its_frame(void)
{
    static const struct {
        uint32_t before;
        int wrong, off;
        bool reads;
    } rows[] = {{0, 0, 8, false},  {0, 0, -1, false}, {0, 0, 1, false},  {0, 1, 8, false},
                {0, 1, -1, false}, {5, 0, 8, false},  {5, 0, -1, false}, {5, 1, 8, false},
                {5, 1, -1, false}, {5, 0, 8, true},   {5, 0, -1, true},  {0, 0, 8, true}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint32_t wrong = 0, frame = frame_of_wrong_msn(rows[i].before, rows[i].wrong, rows[i].off,
                                                       rows[i].reads, &wrong);

        if (frame != wrong)
            suite_fail(__FILE__, __LINE__, "row %zu: frame %u instead of %u", i, frame, wrong);
    }
}

/* A request is captured damaged or malformed, and is acknowledged without a retransmission. Such a
 * request must not count as missing or as not captured. */
static void damaged_request_is_not_missing(void)
{
    for (unsigned how = 0; how < 3; how++) { /* 0: wrong ICRC; 1: wrong version; 2: not captured */
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p.bth.tver = how == 1;
        if (how < 2)
            flowgen_put(&g, 0, &p);
        if (how == 0)
            g.bytes[g.frame[g.frame_cnt - 1].off + g.frame[g.frame_cnt - 1].len - 1] ^= 0x55;
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_ack_all(&g, 1);
        end(&g);
        EXPECT_EQ(v.conn[0].side[0].missing_psns, how == 2);
        EXPECT_EQ(v.conn[0].side[0].unseen_acked, how == 2);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_PSN_GAP), how == 2);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ACK_UNSEEN), how == 2);
    }
}

/* A request before a READ is not captured, and neither is the first response to the READ. The
 * responder then refuses the second response to the READ. The NAK also acknowledges the request, so
 * this must be reported, once. */
static void nak_inside_a_read_acknowledges_the_missing_request_before_it(void)
{
    struct flowgen g;
    uint32_t psn;

    flowgen_begin(&g);
    flowgen_write(&g, 0, 3 * g.mtu); /* shows the path MTU */
    (void)flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    psn = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2 * g.mtu).bth.psn;
    for (unsigned i = 0; i < 2; i++)
        flowgen_ack(&g, 1, psn + 1, NAK_ACC);
    end(&g);
    EXPECT_EQ(v.conn[0].side[0].unseen_acked, 1);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_ACK_UNSEEN], 1);
}

/* Receivers ignore the value of the pad bytes. So pad bytes that are not zero must cause a WARN,
 * and only one for each direction. */
static void pad_bytes_are_one_warning(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    for (unsigned i = 0; i < 4; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 63);

        p.bth.padcnt = 1;
        p.pad[0] = 0xAA;
        flowgen_put_as(&g, 0, &p, ROCE_BUILD_KEEP_PAD);
        flowgen_ack_all(&g, 1);
    }
    end(&g);
    EXPECT_EQ(v.totals.rules[ROCE_RULE_PAD], 1);
    EXPECT_EQ(judge_worst(&v, ROCE_RULE_PAD), ROCE_SEV_WARN);
}

/* A NAK or RNR NAK is an Acknowledge packet. A READ response or Atomic ACK with such a syndrome
 * must be reported. */
static void nak_syndromes_of_data_responses_are_reported(void)
{
    static const uint8_t syndromes[] = {ACK_31, NAK_SEQ, NAK_ACC, RNR_1MS};

    for (unsigned i = 0; i < sizeof(syndromes); i++)
        for (unsigned atomic = 0; atomic < 2; atomic++) {
            struct flowgen g;
            struct roce_pkt p;
            uint32_t psn;

            flowgen_begin(&g);
            flowgen_send(&g, 0, 64);
            psn =
                flowgen_put_req(&g, 0, atomic ? ROCE_OP_RC_FETCH_ADD : ROCE_OP_RC_READ_REQUEST, 64)
                    .bth.psn;
            p = flowgen_resp(&g, 1, atomic ? ROCE_OP_RC_ATOMIC_ACK : ROCE_OP_RC_READ_RESP_ONLY, psn,
                             atomic ? 0 : 64);
            p.aeth.syndrome = syndromes[i];
            flowgen_put(&g, 1, &p);
            end(&g);
            EXPECT_EQ(judge_found(&v, ROCE_RULE_SYNDROME_RESERVED), i > 0);
        }
}

/* An ACK with more credits than the previous ACK must count as a credit update, at any MSN. The
 * first ACK with credits, and an ACK with fewer credits, must not count as a credit update. */
static void rising_credits_are_an_update(void)
{
    static const struct {
        uint8_t code;
        bool update;
    } rows[] = {{5, false}, {3, false}, {6, true}, {6, false}, {31, false}, {7, false}};
    struct flowgen g;

    flowgen_begin(&g);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        flowgen_put_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 0);
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, rows[i].code);
    }
    end(&g);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        EXPECT_EQ((results[2 * i + 1].flags & ROCE_AN_CREDIT_UPDATE) != 0, rows[i].update);
}

/* The limit for requests is the MSN plus the credits, mod 2^24. A request beyond this limit must be
 * reported even if the MSN is in the upper half of its range. */
static void credits_wrap_with_the_msn(void)
{
    static const uint32_t msns[] = {0, 0xA00000};

    for (unsigned i = 0; i < 4; i++) {
        unsigned wrong = i & 1;
        struct flowgen g;

        flowgen_begin(&g);
        g.conn.msn[0] = msns[i / 2];
        for (unsigned k = 0; k < 6; k++) {
            flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_ack(&g, 1, g.conn.psn[0] - 1, 2); /* two more credits */
        }
        flowgen_wait(&g, 10000000);
        for (unsigned k = 0; k < 3 + wrong; k++)
            flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, 2);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_CREDITS), wrong);
    }
}

/* A request beyond the credits is an ERROR only if the requester certainly knew its credits. It
 * must not be reported if the credits were granted just before, or if a response with more credits
 * was captured too late. */
static void credits_in_flight_are_not_used(void)
{
    enum how { KNOWN, JUST_GIVEN, SEEN_LATE };

    for (enum how how = KNOWN; how <= SEEN_LATE; how++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 6; k++) {
            flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_ack(&g, 1, g.conn.psn[0] - 1, 2);
        }
        flowgen_wait(&g, how == JUST_GIVEN ? 1000000 : 10000000);
        for (unsigned k = 0; k < 4; k++)
            flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        if (how == SEEN_LATE) { /* an unsolicited ACK with more credits, captured late */
            g.conn.msn[0] -= 4;
            flowgen_ack(&g, 1, g.conn.psn[0] - 5, 3);
            g.conn.msn[0] += 4;
        }
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, 2);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_CREDITS), how == KNOWN);
    }
}

/* The first captured PSN is known to be the first PSN of the connection only if the capture begins
 * with the first packet of a message. */
static void first_psn_needs_the_first_packet(void)
{
    for (unsigned inside = 0; inside < 2; inside++) {
        struct judge_spoil late = {.head = inside};
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 3000);
        flowgen_send(&g, 0, 64);
        judge(&g, NULL, &late, &v);
        flowgen_free(&g);
        EXPECT_EQ(v.conn[0].side[0].first_psn_sure, !inside);
    }
}

/* A responder sends an RNR NAK, then a sequence NAK. The sequence NAK must be reported if the
 * refused packet was not retransmitted in between. It must not be reported after a retransmission,
 * or if it is for another packet. */
static void sequence_nak_after_an_rnr_nak_is_reported(void)
{
    static const struct {
        bool again, later, found;
    } rows[] = {{false, false, true}, {true, false, false}, {false, true, false}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt p;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        psn = p.bth.psn;
        flowgen_put(&g, 0, &p);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, psn, RNR_1MS);
        flowgen_wait(&g, 1400000);
        if (rows[i].again)
            flowgen_put(&g, 0, &p);
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        g.conn.msn[0] -= rows[i].later ? 1 : 2;
        flowgen_ack(&g, 1, psn + rows[i].later, NAK_SEQ);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_AFTER_RNR), rows[i].found);
    }
}

/* A responder sends an RNR NAK for the last packet of a message. For a SEND, the analysis engine
 * must report that the packet is not the first one. For a WRITE with immediate, it must report
 * nothing. For a WRITE without immediate, it must report that the request needs no receive WQE. */
static void rnr_nak_inside_a_message_is_reported(void)
{
    static const struct {
        uint8_t first, last;
        bool pos, no_receive;
    } rows[] = {{ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_LAST, true, false},
                {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_LAST_IMM, false, false},
                {ROCE_OP_RC_WRITE_FIRST, ROCE_OP_RC_WRITE_LAST, false, true}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, rows[i].first, 1024);
        p.reth.dma_len = 1088;
        flowgen_put(&g, 0, &p);
        flowgen_put_req(&g, 0, rows[i].last, 64);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, RNR_1MS);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_SEND_POS), rows[i].pos);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_NO_RWQE), rows[i].no_receive);
    }
}

/* The capture lacks the request that a NAK answers: an RNR NAK with a PSN inside a READ, or a NAK
 * with a PSN before the first captured request. Such a NAK must not be reported. */
static void nak_of_an_uncaptured_request_is_accepted(void)
{
    for (unsigned i = 0; i < 2; i++) {
        struct flowgen g;
        uint32_t psn;

        flowgen_begin(&g);
        if (i == 0)
            flowgen_send(&g, 0, 3000);
        psn = flowgen_put_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 4096).bth.psn;
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, i == 0 ? psn + 1 : psn - 3, i == 0 ? RNR_1MS : NAK_SEQ);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_NO_RWQE), false);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_STALE), false);
    }
}

/* A sequence NAK names an acknowledged PSN. If the NAK has the MSN of the latest ACK, the responder
 * lost its state: this must be reported. If the NAK has an older MSN, the responder sent it before
 * the ACK, and the network reordered both: this must not be reported. */
static void nak_overtaken_by_the_ack_is_accepted(void)
{
    for (unsigned overtaken = 0; overtaken < 2; overtaken++) {
        struct flowgen g;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        psn = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64).bth.psn;
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_ack_all(&g, 1);
        g.conn.msn[0] -= overtaken ? 2 : 0;
        flowgen_ack(&g, 1, psn, NAK_SEQ);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NAK_STALE), !overtaken);
    }
}

/* The MSN of the first response to a READ equals the number of captured messages, so the capture
 * contains the start of the connection. A wrong MSN in the next response must then be reported. In
 * the second row the MSN is far greater, so the start is unknown and nothing must be reported. */
static void msn_of_a_first_read_shows_the_start(void)
{
    static const uint32_t before[] = {0, 0x900000};

    for (unsigned i = 0; i < 2; i++) {
        struct flowgen g;
        struct roce_pkt read, p;

        flowgen_begin(&g);
        g.conn.msn[0] = before[i];
        read = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 2048);
        flowgen_put(&g, 0, &read);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_FIRST, read.bth.psn, 1024);
        flowgen_put(&g, 1, &p);
        p = flowgen_resp(&g, 1, ROCE_OP_RC_READ_RESP_LAST, read.bth.psn + 1, 1024);
        p.aeth.msn -= before[i] == 0; /* wrong MSN if the connection starts in the capture */
        flowgen_put(&g, 1, &p);
        flowgen_send(&g, 0, 64);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_MSN), before[i] == 0);
    }
}

/* An MSN above the number of messages sent must be an ERROR with PLAIN. With every other `how`,
 * the conversation explains the MSN, and the severity must be lower. */
static void msn_above_the_messages_sent_is_reported(void)
{
    enum how { PLAIN, OF_READ, ACKED_BEFORE, SENT_AGAIN, HOLE, LATE, HOWS };

    for (enum how how = PLAIN; how < HOWS; how++) {
        enum roce_severity severity = ROCE_SEV_NOTE;
        struct flowgen g;
        struct roce_pkt p;
        uint32_t psn;

        flowgen_begin(&g);
        if (how == LATE)
            g.conn.msn[0] = 40; /* the capture begins in the middle of the connection, so the
                                 * analysis engine must infer the MSN of the first captured
                                 * message */
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        if (how == HOLE) {
            (void)flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            for (int i = 0; i < 5; i++)
                flowgen_send(&g, 0, 64);
        }
        p = flowgen_req(&g, 0, how == OF_READ ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p);
        psn = p.bth.psn;
        if (how == SENT_AGAIN) {
            flowgen_wait(&g, 70000000);
            flowgen_put(&g, 0, &p);
        }
        if (how == ACKED_BEFORE) {
            flowgen_ack_all(&g, 1);
            psn--;
        }
        p = flowgen_resp(&g, 1, how == OF_READ ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ACK, psn,
                         how == OF_READ ? 64 : 0);
        p.aeth.msn += 5;
        flowgen_put(&g, 1, &p);
        end(&g);
        for (uint32_t i = 0; i < v.finding_cnt; i++)
            if (v.finding[i].rule == ROCE_RULE_MSN_TOO_HIGH)
                severity = v.finding[i].severity;
        EXPECT_EQ(severity, how == PLAIN ? ROCE_SEV_ERROR : ROCE_SEV_WARN);
    }
}

/* A response has an MSN that is one higher than the number of messages up to its PSN. The requester
 * sent this number of messages, but the last message has a higher PSN. In an ACK or RNR NAK this
 * must be reported. Other NAKs, a READ response and an ACK of a PSN acknowledged before may have
 * this MSN. */
static void msn_ahead_of_its_psn_is_reported(void)
{
    enum how { ACK, RNR, SEQUENCE, FATAL, OF_READ, ACKED_BEFORE, HOWS };
    static const uint8_t syndromes[HOWS] = {ACK_31, RNR_1MS, NAK_SEQ, NAK_ACC, ACK_31, ACK_31};

    for (enum how how = ACK; how < HOWS; how++) {
        bool nak = how == RNR || how == SEQUENCE || how == FATAL;
        struct flowgen g;
        struct roce_pkt p;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        psn = flowgen_put_req(&g, 0,
                              how == OF_READ ? ROCE_OP_RC_READ_REQUEST : ROCE_OP_RC_SEND_ONLY, 64)
                  .bth.psn;
        flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        if (how == ACKED_BEFORE) {
            g.conn.msn[0]--;
            flowgen_ack(&g, 1, psn, ACK_31);
            flowgen_ack(&g, 1, psn - 1, ACK_31);
        } else {
            g.conn.msn[0] -= nak;
            p = flowgen_resp(&g, 1, how == OF_READ ? ROCE_OP_RC_READ_RESP_ONLY : ROCE_OP_RC_ACK,
                             psn, how == OF_READ ? 64 : 0);
            p.aeth.syndrome = syndromes[how];
            flowgen_put(&g, 1, &p);
        }
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RNR_MSN), how == RNR);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_MSN), how == ACK);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_MSN_TOO_HIGH), false);
    }
}

/* A requester without credits may send one SEND of one packet as a probe, and WRITEs, which need no
 * credit. Anything more must be reported. */
static void one_probe_without_credits_is_allowed(void)
{
    static const struct {
        uint8_t op[2];
        bool found;
    } rows[] = {{{ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_WRITE_ONLY}, false},
                {{ROCE_OP_RC_WRITE_ONLY, ROCE_OP_RC_WRITE_ONLY}, false},
                {{ROCE_OP_RC_SEND_ONLY, ROCE_OP_RC_SEND_ONLY}, true},
                {{ROCE_OP_RC_SEND_FIRST, ROCE_OP_RC_SEND_LAST}, true}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 6; k++) {
            flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 0);
            flowgen_ack(&g, 1, g.conn.psn[0] - 1, 0); /* no credits */
        }
        flowgen_wait(&g, 10000000);
        for (unsigned k = 0; k < 2; k++)
            flowgen_put_req(&g, 0, rows[i].op[k],
                            rows[i].op[k] == ROCE_OP_RC_SEND_FIRST ? 1024
                            : k == 1                               ? 64
                                                                   : 0);
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, 0);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_NO_CREDIT), rows[i].found);
    }
}

/* After a fatal NAK, requests that may have been in flight at that time must be accepted. A later
 * request must be reported. */
static void request_after_a_fatal_nak_is_reported(void)
{
    for (unsigned late = 0; late < 2; late++) {
        struct flowgen g;
        uint32_t psn;

        flowgen_begin(&g);
        flowgen_connect(&g);
        flowgen_send(&g, 0, 64);
        psn = flowgen_put_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 0).bth.psn;
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, psn, NAK_ACC);
        flowgen_wait(&g, late ? 200000000 : 100000);
        flowgen_put_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 0);
        end(&g);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_REQ_AFTER_NAK), late);
    }
}

/* Two limited members of a partition must not talk to each other (R049). A limited and a full
 * member may. */
static void two_limited_pkeys_are_reported(void)
{
    static const uint16_t pkeys[][2] = {{0x1234, 0x1234}, {0x9234, 0x1234}, {0x9234, 0x9234}};

    for (unsigned i = 0; i < sizeof(pkeys) / sizeof(pkeys[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        for (unsigned k = 0; k < 4; k++) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

            p.bth.pkey = pkeys[i][0];
            flowgen_put(&g, 0, &p);
            p = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, p.bth.psn, 0);
            p.bth.pkey = pkeys[i][1];
            flowgen_put(&g, 1, &p);
        }
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_PKEY_MATCH), i == 0);
        if (i == 0)
            EXPECT_EQ(v.finding[0].expected, 0x9234);
        EXPECT_EQ(v.conn_cnt, 1);
    }
}

/* A responder executes an ATOMIC WRITE to an address that is not a multiple of 8 (R126). */
static void unaligned_atomic_write_that_is_executed_is_reported(void)
{
    for (unsigned wrong = 0; wrong < 2; wrong++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_ATOMIC_WRITE, 8);
        p.reth.va += wrong ? 4 : 0;
        flowgen_put(&g, 0, &p);
        flowgen_read_resp(&g, 1, p.bth.psn, 0, 0, 0);
        judge_end(&g, &v);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_ATOMIC_ALIGN), wrong);
        if (wrong)
            EXPECT_EQ(judge_worst(&v, ROCE_RULE_ATOMIC_ALIGN), ROCE_SEV_WARN);
    }
}

SUITE("flow.edges", TEST(a_wrong_msn_among_the_first_has_its_frame),
      TEST(reserved_syndromes_are_reported), TEST(damaged_request_is_not_missing),
      TEST(nak_inside_a_read_acknowledges_the_missing_request_before_it),
      TEST(pad_bytes_are_one_warning), TEST(nak_syndromes_of_data_responses_are_reported),
      TEST(rising_credits_are_an_update), TEST(credits_wrap_with_the_msn),
      TEST(credits_in_flight_are_not_used), TEST(first_psn_needs_the_first_packet),
      TEST(sequence_nak_after_an_rnr_nak_is_reported), TEST(rnr_nak_inside_a_message_is_reported),
      TEST(nak_of_an_uncaptured_request_is_accepted), TEST(nak_overtaken_by_the_ack_is_accepted),
      TEST(msn_of_a_first_read_shows_the_start), TEST(msn_above_the_messages_sent_is_reported),
      TEST(msn_ahead_of_its_psn_is_reported), TEST(one_probe_without_credits_is_allowed),
      TEST(request_after_a_fatal_nak_is_reported), TEST(two_limited_pkeys_are_reported),
      TEST(unaligned_atomic_write_that_is_executed_is_reported))
