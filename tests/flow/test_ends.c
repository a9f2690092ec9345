/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests when the analysis engine reports that a requester gave up, or that it waits for a response.
 */
#include "cases.h"
#include "judge.h"
#include "support/suite.h"

static struct verdict v;

/* With an RNR retry count of 0, the requester gives up after the first RNR NAK. The analysis engine
 * must report that the requester gave up if nothing is retransmitted until long after the
 * advertised wait of 1.28 ms. */
static void rnr_nak_without_retry_is_a_give_up(void)
{
    static const struct {
        uint64_t silence;
        bool cm;
        uint8_t rnr_retry;
        enum roce_end end;
    } rows[] = {{100000000, false, 0, ROCE_END_RNR_EXHAUSTED},
                {5000000, false, 0, ROCE_END_OPEN},
                {100000000, true, 0, ROCE_END_RNR_EXHAUSTED},
                {100000000, true, 3, ROCE_END_OPEN}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_begin(&g);
        if (rows[i].cm) {
            struct roce_cm_msg req = flowgen_cm_req(&g), rep = flowgen_cm_rep(&g);

            /* The RNR retry count in the REP limits side 0; the count in the REQ limits side 1. */
            req.req.rnr_retry_count = rows[i].rnr_retry ? 0 : 7;
            rep.rep.rnr_retry_count = rows[i].rnr_retry;
            flowgen_cm(&g, 0, &req);
            flowgen_cm(&g, 1, &rep);
        }
        flowgen_send(&g, 0, 64);
        flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        g.conn.msn[0]--;
        flowgen_ack(&g, 1, g.conn.psn[0] - 1, RNR_1MS);
        flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        for (uint32_t c = 0; c < v.conn_cnt; c++)
            if (v.conn[c].facts.svc == ROCE_SVC_RC && v.conn[c].side[1].rnr_naks)
                EXPECT_EQ(v.conn[c].facts.end, rows[i].end);
    }
}

/* Checks the end of the RC connection in which side 0 sent more than two packets. */
static void expect_end(unsigned row, enum roce_end end)
{
    const struct roce_conn_summary *sum = NULL;

    for (uint32_t c = 0; c < v.conn_cnt; c++)
        if (v.conn[c].facts.svc == ROCE_SVC_RC && v.conn[c].side[0].packets > 2)
            sum = &v.conn[c];
    CU_ASSERT_PTR_NOT_NULL_FATAL(sum);
    if (sum->facts.end != end)
        suite_fail(__FILE__, __LINE__, "row %u: end %d", row, sum->facts.end);
}

/* The requester retransmits one request and then is silent. The analysis engine must report that it
 * gave up only if the capture continues for longer than the requester would have waited, and if a
 * retry count from CM is used up. Otherwise the engine must report only that the request had no
 * response when the capture ended. */
static void requester_gave_up_only_if_the_capture_shows_it(void)
{
    static const struct {
        unsigned retries;
        int retry_count; /* retry count in the REQ; -1: no CM messages */
        uint64_t silence;
        uint8_t syndrome; /* syndrome of the response to each transmission; 0: no response */
        enum roce_end end;
    } rows[] = {{3, -1, 0, 0, ROCE_END_UNANSWERED},
                {3, -1, 100000000, 0, ROCE_END_UNANSWERED},
                {3, -1, 400000000, 0, ROCE_END_RETRY_EXHAUSTED},
                {3, 3, 0, 0, ROCE_END_UNANSWERED},
                {3, 3, 100000000, 0, ROCE_END_RETRY_EXHAUSTED},
                {3, 7, 400000000, 0, ROCE_END_UNANSWERED},
                {4, -1, 0, NAK_SEQ, ROCE_END_UNANSWERED},
                {4, -1, 900000000, NAK_SEQ, ROCE_END_RETRY_EXHAUSTED},
                {2, -1, 0, RNR_1MS, ROCE_END_RNR_WAITING},
                {2, -1, 100000000, RNR_1MS, ROCE_END_RNR_EXHAUSTED}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool stopped =
            rows[i].end == ROCE_END_RETRY_EXHAUSTED || rows[i].end == ROCE_END_RNR_EXHAUSTED;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        if (rows[i].retry_count >= 0) {
            struct roce_cm_msg req = flowgen_cm_req(&g), rep = flowgen_cm_rep(&g);

            req.req.retry_count = (uint8_t)rows[i].retry_count;
            flowgen_cm(&g, 0, &req);
            flowgen_cm(&g, 1, &rep);
        }
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned k = 0; k <= rows[i].retries; k++) {
            if (k)
                flowgen_wait(&g, rows[i].syndrome ? 5000000 : 80000000);
            flowgen_put(&g, 0, &p);
            if (rows[i].syndrome)
                flowgen_ack(&g, 1, p.bth.psn, rows[i].syndrome);
        }
        if (rows[i].silence)
            flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        expect_end(i, rows[i].end);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RETRY_EXHAUSTED) ||
                      judge_found(&v, ROCE_RULE_RNR_EXHAUSTED),
                  stopped);
        EXPECT_EQ(judge_found(&v, ROCE_RULE_END_PENDING), !stopped);
    }
}

/* The program chose a small retry count in the CM REQ, and a packet is lost. The requester gave up
 * at the sequence NAK that follows its last retry, and its program then disconnects (as the example
 * programs of a widely read RDMA tutorial do, with retry count 0). */
static void sequence_nak_without_a_retry_left_is_a_give_up(void)
{
    static const struct {
        uint8_t retry_count;
        unsigned retries;
        bool disconnects;
        enum roce_end end;
    } rows[] = {{0, 0, true, ROCE_END_RETRY_EXHAUSTED},
                {1, 1, true, ROCE_END_RETRY_EXHAUSTED},
                {1, 0, true, ROCE_END_DISCONNECTED},
                {7, 0, true, ROCE_END_DISCONNECTED},
                {0, 0, false, ROCE_END_RETRY_EXHAUSTED}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roce_cm_msg req, rep;
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        req = flowgen_cm_req(&g);
        rep = flowgen_cm_rep(&g);
        req.req.retry_count = rows[i].retry_count;
        flowgen_cm(&g, 0, &req);
        flowgen_cm(&g, 1, &rep);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned k = 0; k <= rows[i].retries; k++) {
            flowgen_put(&g, 0, &p);
            flowgen_ack(&g, 1, p.bth.psn, NAK_SEQ);
        }
        if (rows[i].disconnects)
            flowgen_disconnect(&g);
        else
            flowgen_silence(&g, 300000000);
        judge_end(&g, &v);
        for (uint32_t c = 0; c < v.conn_cnt; c++)
            if (v.conn[c].facts.svc == ROCE_SVC_RC && v.conn[c].side[1].psn_naks) {
                EXPECT_EQ(v.conn[c].facts.end, rows[i].end);
                if (rows[i].end == ROCE_END_RETRY_EXHAUSTED)
                    EXPECT_EQ(v.conn[c].facts.end_naks, rows[i].retries + 1);
            }
        EXPECT_EQ(judge_found(&v, ROCE_RULE_RETRY_EXHAUSTED),
                  rows[i].end == ROCE_END_RETRY_EXHAUSTED);
    }
}

/* The requester retransmits all unacknowledged requests after timeouts, and the first packets of
 * each go-back are lost before the capture point, so no two go-backs begin with the same PSN. The
 * analysis engine must report that there was no response. It must not report this if the capture
 * ends after few go-backs, or contains a response or a new request among the last go-backs. */
static void go_backs_without_a_response_may_begin_with_different_psns(void)
{
    static const struct {
        unsigned rounds;
        unsigned nak_after, new_after; /* number of the go-back after which the responder sends a
                                        * sequence NAK, or the requester a new request; 0: never */
        uint64_t silence;
        enum roce_end end;
    } rows[] = {{6, 0, 0, 0, ROCE_END_UNANSWERED},
                {6, 1, 0, 0, ROCE_END_UNANSWERED},
                {6, 0, 0, 400000000, ROCE_END_RETRY_EXHAUSTED},
                {3, 0, 0, 0, ROCE_END_OPEN},
                {6, 4, 0, 0, ROCE_END_OPEN},
                {6, 6, 0, 0, ROCE_END_OPEN},
                {6, 0, 4, 0, ROCE_END_OPEN},
                {6, 0, 6, 0, ROCE_END_OPEN}};
    static const unsigned first[] = {1, 0, 2, 1, 0, 2};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roce_pkt p[4];
        struct flowgen g;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        for (unsigned k = 0; k < 4; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 0, &p[k]);
        }
        for (unsigned r = 0; r < rows[i].rounds; r++) {
            flowgen_wait(&g, 80000000);
            for (unsigned k = first[r]; k < 4; k++)
                flowgen_put(&g, 0, &p[k]);
            if (rows[i].nak_after == r + 1)
                flowgen_ack(&g, 1, p[0].bth.psn, NAK_SEQ);
            if (rows[i].new_after == r + 1)
                flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        }
        if (rows[i].silence)
            flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        expect_end(i, rows[i].end);
    }
}

/* The responses to a READ are captured, but do not reach the requester, and then the responder
 * falls silent. The analysis engine must report the missing response to the retransmissions and the
 * last frame of the responder. A single retransmission, or a later packet of the responder, must
 * prevent the report. */
static void responder_that_falls_silent_is_found(void)
{
    static const struct {
        unsigned retries;
        bool responds; /* the responder answers the last retransmission */
        bool pending;  /* a request of the responder is outstanding */
        uint64_t silence;
        enum roce_end end;
    } rows[] = {{3, false, false, 0, ROCE_END_UNANSWERED},
                {3, false, true, 0, ROCE_END_UNANSWERED},
                {3, false, true, 900000000, ROCE_END_RETRY_EXHAUSTED},
                {1, false, false, 0, ROCE_END_OPEN},
                {3, true, false, 0, ROCE_END_OPEN}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 1, 64);
        if (rows[i].pending) {
            p = flowgen_req(&g, 1, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 1, &p);
        }
        p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 64);
        flowgen_put(&g, 0, &p);
        flowgen_read_resp(&g, 1, p.bth.psn, 64, 0, 0);
        for (unsigned k = 0; k < rows[i].retries; k++) {
            flowgen_wait(&g, 80000000);
            flowgen_put(&g, 0, &p);
        }
        if (rows[i].responds)
            flowgen_read_resp(&g, 1, p.bth.psn, 64, 0, 0);
        if (rows[i].silence)
            flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        expect_end(i, rows[i].end);
        if (rows[i].end == ROCE_END_OPEN)
            continue;
        EXPECT_EQ(v.conn[0].silence.frame, rows[i].pending ? 7 : 6);
        EXPECT_EQ(v.conn[0].silence.pending, rows[i].pending);
        EXPECT_EQ(v.conn[0].silence.pending_frame, rows[i].pending ? 5 : 0);
        CU_ASSERT(v.conn[0].silence.ns >= 239000000);
        EXPECT_EQ(v.conn[0].facts.end_answered, true);
    }
}

/* The requester of one side gives up, so its QP is in the error state and does not respond to the
 * requests of its peer. The analysis engine must report that the first requester gave up, not that
 * its peer got no response. */
static void first_requester_that_gave_up_is_reported(void)
{
    for (unsigned side = 0; side < 2; side++) {
        struct flowgen g;
        struct roce_pkt p, q;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 1, 64);
        p = flowgen_req(&g, (int)side, ROCE_OP_RC_SEND_ONLY, 64);
        for (unsigned k = 0; k < 3; k++) {
            flowgen_put(&g, (int)side, &p);
            flowgen_ack(&g, !side, p.bth.psn, RNR_1MS);
            flowgen_wait(&g, 5000000);
        }
        q = flowgen_req(&g, !side, ROCE_OP_RC_WRITE_ONLY, 64);
        for (unsigned k = 0; k < 4; k++) {
            flowgen_put(&g, !side, &q);
            flowgen_wait(&g, 80000000);
        }
        judge_end(&g, &v);
        expect_end(side, ROCE_END_RNR_EXHAUSTED);
        EXPECT_EQ(v.conn[0].facts.end_side, side);
    }
}

/* A request with AckReq is neither acknowledged nor retransmitted, while other traffic continues.
 * The analysis engine must report that it has no response only if the time is longer than the ACK
 * timeout of the requester. */
static void request_without_response_and_retransmission_is_reported(void)
{
    static const struct {
        uint64_t silence;
        int timeout; /* code of the local ACK timeout in the REQ; -1: no CM messages */
        bool ackreq;
        enum roce_end end;
    } rows[] = {{400000000, -1, true, ROCE_END_UNANSWERED},
                {100000000, -1, true, ROCE_END_OPEN},
                {400000000, -1, false, ROCE_END_OPEN},
                {400000000, 14, true, ROCE_END_UNANSWERED},
                {400000000, 18, true, ROCE_END_OPEN}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_pkt p;

        flowgen_begin(&g);
        if (rows[i].timeout >= 0) {
            struct roce_cm_msg req = flowgen_cm_req(&g), rep = flowgen_cm_rep(&g);

            req.req.primary_ack_timeout = (uint8_t)rows[i].timeout;
            flowgen_cm(&g, 0, &req);
            flowgen_cm(&g, 1, &rep);
        }
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p.bth.ackreq = rows[i].ackreq;
        flowgen_put(&g, 0, &p);
        flowgen_silence(&g, rows[i].silence);
        judge_end(&g, &v);
        expect_end(i, rows[i].end);
    }
}

SUITE("flow.ends", TEST(rnr_nak_without_retry_is_a_give_up),
      TEST(requester_gave_up_only_if_the_capture_shows_it),
      TEST(sequence_nak_without_a_retry_left_is_a_give_up),
      TEST(go_backs_without_a_response_may_begin_with_different_psns),
      TEST(responder_that_falls_silent_is_found), TEST(first_requester_that_gave_up_is_reported),
      TEST(request_without_response_and_retransmission_is_reported))
