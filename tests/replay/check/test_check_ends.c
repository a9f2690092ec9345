/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that `rocedrill check` names why a connection failed, hangs, or never came up. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

#define SILENCE_NS UINT64_C(1000000000) /* longer than any requester here would wait */

/* Writes a capture in which a requester transmits one request `cnt` times, and checks the capture.
 * The responder answers each with an AETH with `syndrome`, or never if `syndrome` is 0. If
 * `silent`, the capture then continues without a packet of the connection. */
static struct checkrun stuck_at(uint8_t opcode, unsigned cnt, uint8_t syndrome, uint32_t len,
                                bool silent)
{
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, opcode, len);
    for (unsigned i = 0; i < cnt; i++) {
        flowgen_put(&g, 0, &p);
        if (syndrome)
            flowgen_ack(&g, 1, p.bth.psn, syndrome);
        flowgen_wait(&g, 10000000);
    }
    if (silent)
        flowgen_silence(&g, SILENCE_NS);
    checkrun_write_flow("stuck.pcap", &g);
    return checkrun("check $T/stuck.pcap");
}

/* The responder repeats an RNR NAK, and the requests have MigReq 0, like all requests of Linux
 * Soft-RoCE. Soft-RoCE also sends RNR NAKs if its transmit queue is full, so the report must name
 * this cause. */
static void rnr_naks_of_a_full_transmit_queue_are_possible_with_migreq_0(void)
{
    for (unsigned tries = 3; tries <= 10; tries += 7) {
        struct flowgen g;
        struct roce_pkt p, nak;
        struct checkrun r;

        flowgen_init(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 8);
        for (unsigned i = 0; i < tries; i++) {
            flowgen_put(&g, 0, &p);
            nak = flowgen_resp(&g, 1, ROCE_OP_RC_ACK, p.bth.psn, 0);
            nak.aeth.syndrome = ROCE_SYNDROME_RNR | 1;
            nak.bth.migreq = 0;
            flowgen_put(&g, 1, &nak);
            flowgen_wait(&g, 10000000);
        }
        checkrun_write_flow("queue.pcap", &g);
        r = checkrun("check $T/queue.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "Soft-RoCE and its transmit queue was full"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paged on demand (ODP)"));
        checkrun_free(&r);
    }
}

/* A request gets no response. Long after that, the QPs exchange other requests. The report must
 * show only packets of the failed request, and no later ones. */
static void packets_after_a_failure_are_not_shown_as_its_cause(void)
{
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 8);
    for (unsigned i = 0; i < 8; i++) {
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 10000000);
    }
    flowgen_silence(&g, SILENCE_NS);
    for (unsigned i = 0; i < 12; i++) {
        p = flowgen_req(&g, 1, i % 2 ? ROCE_OP_RC_WRITE_ONLY : ROCE_OP_RC_SEND_ONLY, 8);
        flowgen_put(&g, 1, &p);
        flowgen_ack(&g, 0, p.bth.psn, ROCE_SYNDROME_ACK);
    }
    checkrun_write_flow("later.pcap", &g);
    r = checkrun("check $T/later.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "transmitted 8 times, last in frame 8"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "WRITE Only"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "frame.number <= 8 && roce.bth.psn == "));
    checkrun_free(&r);
}

static struct checkrun stuck(unsigned cnt, uint8_t syndrome, uint32_t len)
{
    return stuck_at(ROCE_OP_RC_SEND_ONLY, cnt, syndrome, len, false);
}

/* A request that needs no receive WQE gets RNR NAKs. They result from a page fault, so the report
 * must not recommend more receive WQEs. */
static void rnr_naks_by_page_faults_are_reported(void)
{
    static const uint8_t ops[] = {ROCE_OP_RC_WRITE_ONLY, ROCE_OP_RC_READ_REQUEST,
                                  ROCE_OP_RC_FETCH_ADD};

    for (unsigned i = 0; i < sizeof(ops); i++)
        for (unsigned tries = 3; tries <= 10; tries += 7) {
            struct checkrun r = stuck_at(ops[i], tries, ROCE_SYNDROME_RNR | 1, 8, true);

            EXPECT_EQ(r.status, 0);
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", although it needs no receive WQE: RNR NAK"));
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paged on demand (ODP)"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "Soft-RoCE"));
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "ibv_advise_mr"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "had no receive buffer"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "the receiver post"));
            EXPECT_EQ(strstr(r.out, "IBV_WC_RNR_RETRY_EXC_ERR") != NULL, tries == 3);
            checkrun_free(&r);
        }
}

/* A requester's first SEND was acknowledged, and its next request failed. The report must describe
 * why the requester gave up. Some captures end right after the last packet of the connection.
 * Unless a response refused the request, such a capture does not show that the requester gave up,
 * so the report lists the connection as stuck (`open`). */
static void end_of_a_failed_requester_is_reported(void)
{
    static const struct {
        unsigned before,
            after;        /* transmissions of the request before and after the last response */
        uint8_t syndrome; /* AETH syndrome of the responses, or 0 for no response */
        bool damaged, open;
        const char *words[3], *absent;
    } rows[] = {
        /* clang-format off */
        {1, 0, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, false, false,
         {"enters the error state, and its program gets IBV_WC_REM_ACCESS_ERR (10)", "check R_Key"}, "lost on its path"},
        {1, 4, ROCE_SYNDROME_NAK | ROCE_NAK_REMOTE_ACCESS, false, false,
         {"then retransmitted 4 times after a timeout, last in frame 9: the NAK was probably lost on its path",
          "gets IBV_WC_RETRY_EXC_ERR (12), or IBV_WC_REM_ACCESS_ERR (10) if a later NAK"}, "any retry_cnt"},
        {1, 0, ROCE_SYNDROME_NAK | 4, false, false,
         {"IBV_WC_REM_OP_ERR (11)", "IBV_WC_RETRY_EXC_ERR (12)", "RC-RSP-108"}, "lost on its path"},
        {1, 4, ROCE_SYNDROME_NAK | 4, false, false,
         {"lost on its path or ignored", "RC-RSP-108"}, "(null)"},
        {1, 0, ROCE_SYNDROME_NAK | 9, false, false,
         {"the reserved syndrome 0x69", "IBV_WC_REM_OP_ERR (11)", "RC-RSP-108"}, "nothing answered"},
        {4, 0, ROCE_SYNDROME_NAK | 9, false, false,
         {"the reserved syndrome 0x69", "transmitted 4 times", "RC-RSP-108"}, "nothing answered"},
        {4, 0, 0, false, true,
         {"did not respond", "gets IBV_WC_RETRY_EXC_ERR (12)"}, "any retry_cnt"},
        {8, 0, 0, false, true,
         {"did not respond", "gets IBV_WC_RETRY_EXC_ERR (12)"}, "any retry_cnt"},
        {10, 0, 0, false, true,
         {"did not respond", "transmitted 10 times", "more often than any retry_cnt (0 to 7) allows"}, "IBV_WC"},
        {5, 0, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ, false, true,
         {"sent a sequence NAK for PSN", "gets IBV_WC_RETRY_EXC_ERR (12)", "later packets arrive and this packet does not"},
         "did not respond"},
        {4, 0, 0, true, true,
         {"was captured 4 times", "gets IBV_WC_RETRY_EXC_ERR (12)", "computed the ICRC wrongly"},
         "did not respond"},
        {2, 0, 0, true, false, {"wrong ICRC"}, "IBV_WC"},
        /* clang-format on */
    };

    for (unsigned row = 0; row < 2 * sizeof(rows) / sizeof(rows[0]); row++) {
        const bool silent = row % 2 > 0;
        const unsigned i = row / 2;
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        flowgen_ack_all(&g, 1);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        g.conn.msn[0]--;
        for (unsigned k = 0; k < rows[i].before + rows[i].after; k++) {
            flowgen_put(&g, 0, &p);
            if (rows[i].damaged)
                g.bytes[g.frame[g.frame_cnt - 1].off + g.frame[g.frame_cnt - 1].len - 1] ^= 0x55;
            if (rows[i].syndrome && k < rows[i].before)
                flowgen_ack(&g, 1, p.bth.psn, rows[i].syndrome);
            flowgen_wait(&g, 10000000);
        }
        if (silent)
            flowgen_silence(&g, SILENCE_NS);
        checkrun_write_flow("ends.pcap", &g);
        r = checkrun("check $T/ends.pcap");
        EXPECT_EQ(strstr(r.out, "stuck connections:") != NULL, rows[i].open && !silent);
        EXPECT_EQ(strstr(r.out, "when its retries run out") != NULL ||
                      strstr(r.out, "the device never gives up") != NULL,
                  (rows[i].open && !silent) || rows[i].after);
        for (unsigned k = 0; k < 3 && rows[i].words[k]; k++)
            if (!strstr(r.out, rows[i].words[k]))
                suite_fail(__FILE__, __LINE__, "row %u: no \"%s\" in: %s", i, rows[i].words[k],
                           r.out);
        if (strstr(r.out, rows[i].absent))
            suite_fail(__FILE__, __LINE__, "row %u: \"%s\" in: %s", i, rows[i].absent, r.out);
        checkrun_free(&r);
    }
}

/* A request is lost each time. The requester retransmits it after sequence NAKs and timeouts, and
 * its retry count is in the CM REQ. If the last response is a sequence NAK, headline, reason and
 * hint agree that the requester had no retry left. Otherwise none of them says so. */
static void headline_reason_and_hint_agree_on_the_last_retry(void)
{
    static const struct {
        uint8_t retry_count;
        const char *tries; /* a character for each transmission: 'n' if a sequence NAK follows; '.'
                            * if no response follows, so that the next is after a timeout */
        bool no_retry_left;
    } rows[] = {{0, "n", true},   {1, "nn", true},       {1, ".n", true},    {2, ".nn", true},
                {2, "..n", true}, {7, "nnnnnnnn", true}, {3, "nnn.", false}, {2, "...", false}};

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct roce_cm_msg req, rep;
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r;

        flowgen_begin(&g);
        req = flowgen_cm_req(&g);
        rep = flowgen_cm_rep(&g);
        req.req.retry_count = rows[i].retry_count;
        flowgen_cm(&g, 0, &req);
        flowgen_cm(&g, 1, &rep);
        flowgen_send(&g, 0, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        for (const char *try = rows[i].tries; *try; try++) {
            flowgen_put(&g, 0, &p);
            if (*try == 'n')
                flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
            else
                flowgen_wait(&g, 60000000);
        }
        flowgen_silence(&g, SILENCE_NS);
        checkrun_write_flow("retry.pcap", &g);
        /* The text may have a line break inside the headline. */
        r = checkrun("check -q --json - $T/retry.pcap");
        EXPECT_EQ(strstr(r.out, "a packet was lost, and the sender had no retry left") != NULL,
                  rows[i].no_retry_left);
        checkrun_free(&r);
        r = checkrun("check $T/retry.pcap");
        EXPECT_EQ(strstr(r.out, "the program set retry_count to") != NULL,
                  rows[i].no_retry_left && rows[i].retry_count < 7);
        if (rows[i].no_retry_left)
            CU_ASSERT_PTR_NULL(strstr(r.out, "did not respond"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IBV_WC_RETRY_EXC_ERR (12)"));
        checkrun_free(&r);
    }
}

/* A requester retransmits a request with other contents, as Linux Soft-RoCE 7.2 does (D41), and the
 * responder refuses it. The report names the requester as the cause, not the access rights.
 * In the conversation `rightly`, a later retransmission equals the original, so the report names
 * the access rights. */
static void altered_retransmission_is_the_cause_of_a_nak(void)
{
    for (unsigned rightly = 0; rightly < 2; rightly++) {
        struct flowgen g;
        struct roce_pkt p, empty;
        struct checkrun r;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        flowgen_ack_all(&g, 1);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        empty = p;
        empty.bth.opcode = ROCE_OP_RC_SEND_ONLY;
        empty.payload_len = 0;
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 10000000);
        flowgen_put(&g, 0, &empty);
        if (rightly)
            flowgen_put(&g, 0, &p);
        flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_INVALID_REQ);
        checkrun_write_flow("altered.pcap", &g);
        r = checkrun("check $T/altered.pcap");
        EXPECT_EQ(strstr(r.out, "differ from their first transmission, first in frame 5 "
                                "(RC-REQ-153)") != NULL,
                  !rightly);
        EXPECT_EQ(strstr(r.out, "check whether the QP allows remote writes") != NULL, rightly);
        checkrun_free(&r);
    }
}

/* Two QPs request one operation each, and no response is captured. The report says how long. */
static void requests_without_responses_state_the_time(void)
{
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r;

    flowgen_init(&g);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    flowgen_wait(&g, 5000000);
    g.conn = flowgen_conn_of(7, 100, 200);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    checkrun_write_flow("unanswered.pcap", &g);
    r = checkrun("check $T/unanswered.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "slow; no responses captured for 2 connections."));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "; no responses captured in the 5.01 ms until"));
    checkrun_free(&r);
}

/* A request has no response yet, but may still succeed. The report says that it is stuck, not that
 * it failed. */
static void unanswered_request_is_reported_as_stuck(void)
{
    struct checkrun r = stuck(4, 0, 64), json = checkrun("check --json - $T/stuck.pcap");

    EXPECT_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "stuck connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "although the request was transmitted 4 times"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "if the capture contains both directions"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "rq_psn"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", but 1 connection got stuck\n"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "failed"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "too large"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "; no responses captured in the 30.03 ms until the capture ended\n"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "0 completed"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json.out, "\"kind\":\"unanswered\""));
    checkrun_free(&r);
    checkrun_free(&json);
    r = stuck(4, 0, 2048);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "packets of 2048 bytes may exceed the MTU"));
    checkrun_free(&r);
    r = stuck(10, ROCE_SYNDROME_RNR | 1, 64);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "retransmits without limit"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "IBV_WC_"));
    checkrun_free(&r);
    r = stuck(3, ROCE_SYNDROME_RNR | 1, 64);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "stuck connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "retransmits again, or enters the error state"));
    checkrun_free(&r);
    r = stuck_at(ROCE_OP_RC_SEND_ONLY, 3, ROCE_SYNDROME_RNR | 1, 64, true);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "failures:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IBV_WC_RNR_RETRY_EXC_ERR"));
    checkrun_free(&r);
}

/* The response to a READ does not reach the requester, and then the responder falls silent,
 * although a request of it is outstanding. The headline and the report name it and its last frame.
 */
static void silent_side_is_named(void)
{
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r, json;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_send(&g, 1, 64);
    p = flowgen_req(&g, 1, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 1, &p);
    p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 64);
    flowgen_put(&g, 0, &p);
    flowgen_read_resp(&g, 1, p.bth.psn, 64, 0, 0);
    for (unsigned k = 0; k < 3; k++) {
        flowgen_wait(&g, 80000000);
        flowgen_put(&g, 0, &p);
    }
    checkrun_write_flow("silent.pcap", &g);
    r = checkrun("check $T/silent.pcap");
    json = checkrun("check --json - $T/silent.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "stuck connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "but the response did not reach the requester\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, " sent no packet of this connection after frame 7, for 240 ms, although "
                      "1 PSN of its own requests was outstanding (first in frame 5)\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "check whether the program ended"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json.out, " sent nothing after frame 7, for 240 ms, although "));
    checkrun_free(&r);
    checkrun_free(&json);
}

/* A request has no response and is not retransmitted while other traffic continues. The report
 * says for how long, and that the capture may lack the response. */
static void unanswered_request_without_retransmission_is_reported(void)
{
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    flowgen_silence(&g, SILENCE_NS);
    checkrun_write_flow("quiet.pcap", &g);
    r = checkrun("check $T/quiet.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "stuck connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "did not retransmit the request in the last 1 s: its ACK "
                                         "timeout is longer, its QP ended, too, or the capture "
                                         "lacks the response\n"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "IBV_WC_"));
    checkrun_free(&r);
}

/* A CM REQ has no answer, and the connection has no other packets. The report must name the REQ. */
static void unanswered_cm_request_is_reported(void)
{
    /* Commands that make the captures: two REQs 6 s apart without an answer; both REQs with later
     * answers; the REQ and a copy of it. */
    static const struct {
        const char *make;
        unsigned vain;
    } row[] = {{"head -c 700 $C/cm-lost-req.pcap", 1},
               {"cat $C/cm-lost-req.pcap", 0},
               {"{ head -c 362 $C/cm-lost-req.pcap; head -c 362 $C/cm-lost-req.pcap | "
                "tail -c +25; }",
                0}};

    for (unsigned i = 0; i < 3; i++) {
        struct checkrun r = checkrun_shell("%s >$T/req.pcap; $R check --json $T/req.json "
                                           "$T/req.pcap",
                                           row[i].make);
        char *text = checkrun_read(checkrun_path("req.json"));
        json_t *lines = checkrun_json(text), *summary = checkrun_first(lines, "summary");
        const char *told =
            strstr(r.out, "no response of 192.0.2.2 to the REQ of 192.0.2.1 for "
                          "service 0x0000000001064853 was captured; the message was sent "
                          "2 times in 6");

        EXPECT_EQ(r.status, 0);
        EXPECT_EQ(json_integer_value(json_object_get(summary, "requests_unanswered")), row[i].vain);
        EXPECT_EQ(told != NULL, row[i].vain);
        EXPECT_EQ(strstr(r.out, "stuck connections:") != NULL, row[i].vain);
        json_decref(lines);
        free(text);
        checkrun_free(&r);
    }
}

/* A REP is retransmitted because neither an RTU nor another packet of the active side arrived. The
 * report must name the missing RTU. */
static void missing_rtu_is_reported(void)
{
    enum { NOTHING, RTU, REQUESTS, HOWS };

    for (int how = NOTHING; how < HOWS; how++) {
        struct flowgen g;
        struct roce_cm_msg req, rep, rtu;
        struct checkrun r;
        const char *told;

        flowgen_init(&g);
        req = flowgen_cm_req(&g);
        rep = flowgen_cm_rep(&g);
        roce_cm_msg_init(&rtu, ROCE_CM_RTU, rep.mad.tid);
        rtu.rtu.local_comm_id = rep.rep.remote_comm_id;
        rtu.rtu.remote_comm_id = rep.rep.local_comm_id;
        flowgen_cm(&g, 0, &req);
        for (unsigned i = 0; i < 4; i++) {
            flowgen_cm(&g, 1, &rep);
            flowgen_wait(&g, 2000000000);
        }
        if (how == RTU)
            flowgen_cm(&g, 0, &rtu);
        if (how == REQUESTS)
            flowgen_send(&g, 0, 64);
        checkrun_write_flow("rtu.pcap", &g);
        r = checkrun("check $T/rtu.pcap");
        told = strstr(r.out,
                      "to the REP of 192.0.2.2 was captured; the message was sent 4 times in 6");
        EXPECT_EQ(r.status, 0);
        EXPECT_EQ(told != NULL, how == NOTHING);
        EXPECT_EQ(strstr(r.out, "the connection was never established") != NULL, how == NOTHING);
        EXPECT_EQ(strstr(r.out, "stuck connections:") != NULL, how == NOTHING);
        checkrun_free(&r);
    }
}

/* The side that sent the REQ may also send the REJ: its timeout expired, or its program refused the
 * REP. The report must not print this as a rejection by the peer. */
static void rejection_by_the_active_side_is_described(void)
{
    static const struct {
        bool rep; /* the passive side sent a REP */
        uint16_t reason;
        const char *text;
    } rows[] = {
        {false, 4, "192.0.2.1 gave up the setup of its connection to 192.0.2.2 (CM REJ, reason 4"},
        {true, 28, "192.0.2.1 rejected the REP for its connection to 192.0.2.2 (CM REJ, reason 2"},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct roce_cm_msg m;
        struct checkrun r;

        flowgen_init(&g);
        m = flowgen_cm_req(&g);
        flowgen_cm(&g, 0, &m);
        m = flowgen_cm_rep(&g);
        if (rows[i].rep)
            flowgen_cm(&g, 1, &m);
        roce_cm_msg_init(&m, ROCE_CM_REJ, g.tid);
        m.rej.local_comm_id = g.conn.qpn[0];
        m.rej.remote_comm_id = rows[i].rep ? g.conn.qpn[1] : 0;
        m.rej.message = rows[i].rep ? 1 : 2;
        m.rej.reason = rows[i].reason;
        flowgen_cm(&g, 0, &m);
        checkrun_write_flow("rejected.pcap", &g);
        r = checkrun("check -v $T/rejected.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, rows[i].text));
        CU_ASSERT_PTR_NULL(strstr(r.out, "rejected a connection of"));
        CU_ASSERT_PTR_NULL(strstr(r.out, "the peer rejected"));
        checkrun_free(&r);
    }
}

SUITE("replay.check_ends", TEST(rnr_naks_of_a_full_transmit_queue_are_possible_with_migreq_0),
      TEST(packets_after_a_failure_are_not_shown_as_its_cause),
      TEST(rnr_naks_by_page_faults_are_reported), TEST(end_of_a_failed_requester_is_reported),
      TEST(headline_reason_and_hint_agree_on_the_last_retry),
      TEST(altered_retransmission_is_the_cause_of_a_nak),
      TEST(unanswered_request_is_reported_as_stuck), TEST(silent_side_is_named),
      TEST(unanswered_request_without_retransmission_is_reported),
      TEST(requests_without_responses_state_the_time), TEST(unanswered_cm_request_is_reported),
      TEST(missing_rtu_is_reported), TEST(rejection_by_the_active_side_is_described))
