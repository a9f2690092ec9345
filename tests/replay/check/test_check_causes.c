/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that `rocedrill check` names the causes: why a connection failed, hangs or is slow. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/flowgen.h"
#include "support/suite.h"

/* ---- causes of congestion ----------------------------------------------------------------------
 */

/* Adds packets of 1024 bytes for `us` microseconds, one every `step` microseconds. */
static void stream(struct flowgen *g, unsigned us, unsigned step)
{
    for (unsigned t = 0; t < us; t += step) {
        struct roce_pkt p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 1024);

        g->step = step * 1000;
        flowgen_put(g, 0, &p);
        g->step = 0;
        if (t / step % 16 == 0)
            flowgen_ack_all(g, 1);
    }
}

static void keep(const struct flowgen *g, const char *name)
{
    struct capture c = {0};

    for (size_t i = 0; i < g->frame_cnt; i++)
        capture_add(&c, g->bytes + g->frame[i].off, g->frame[i].len, g->frame[i].time);
    checkrun_write_pcap(name, 1, &c);
    capture_free(&c);
}

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
    keep(&g, "stuck.pcap");
    flowgen_free(&g);
    return checkrun("check $T/stuck.pcap");
}

/* The connection repeats an RNR NAK, and its requests have MigReq 0, as those of Linux Soft-RoCE.
 * Soft-RoCE also sends RNR NAKs if its transmit queue is full, so the report must name this
 * cause. */
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
        keep(&g, "queue.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/queue.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "Soft-RoCE and its transmit queue was full"));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paged on demand (ODP)"));
        checkrun_free(&r);
    }
}

/* Sends the packets that `steps` describes: a digit is a WRITE with this PSN, '!' and a digit a
 * sequence NAK, '^' and a digit an ACK, '.' a silence of 60 ms. */
static void talk(struct flowgen *g, const char *steps)
{
    uint32_t base = g->conn.psn[0];

    for (; *steps; steps++) {
        if (*steps == '.') {
            flowgen_wait(g, 60000000);
        } else if (*steps == '!' || *steps == '^') {
            bool nak = *steps++ == '!';

            g->conn.msn[0] = (uint32_t)(*steps - '0') + 1 + !nak;
            flowgen_ack(g, 1, base + (uint32_t)(*steps - '0'),
                        nak ? ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ : ROCE_CREDIT_NONE);
        } else if (*steps != ' ') {
            struct roce_pkt p;

            g->conn.psn[0] = base + (uint32_t)(*steps - '0');
            p = flowgen_req(g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
            flowgen_put(g, 0, &p);
        }
    }
}

/* The requester retransmits after a timeout. The report must describe what the capture shows about
 * the loss before it. */
static void loss_before_a_timeout_is_described(void)
{
    static const char last[] =
        "the last packets before a pause, or their responses, were lost or late";
    static const char missing[] =
        "the packet with PSN 20482 was lost from 192.0.2.1 to the capture "
        "point, and no sequence NAK for it reached 192.0.2.1\n";
    static const char relost[] = "the retransmission of PSN 20482, or the response to it, was "
                                 "lost too: ";
    static const struct {
        const char *steps, *words;
        bool also_last;
    } rows[] = {
        {"0123 . 0123 ^3",
         "1× the request was captured, and no response: one of them was lost between the capture "
         "point and 192.0.2.2, or 192.0.2.2 was slow\n",
         false},
        {"023 . 123 ^3", missing, false},
        {"0123 !1 123 . 123 ^3", relost, false},
        {"023 !1 23 . 123 ^3", relost, false},
        {"0123 !1 123 . 123 . 123 ^3",
         "2× a retransmission (first PSN 20482), or the response to it, was lost too: ", false},
        {"0123 ^3 . 0123 ^3",
         "1× the response was captured before the timeout: it was lost from the capture point to "
         "192.0.2.1, or late\n",
         false},
        {"0123 !1 . 0123 ^3", "1× a sequence NAK was captured before the timeout: ", false},
        {"023 . 123 ^3 56 . 456 ^6",
         "2× a packet (first PSN 20482) was lost from 192.0.2.1 to the capture point", false},
        {"023 . 123 ^3 45 . 45 ^5", missing, false},
        {"0 . 0 ^0 . ^0 12 . 12 ^2", "the ACK timeout expired 1×; the requester retransmitted 2 ",
         false},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct checkrun r;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        talk(&g, rows[i].steps);
        keep(&g, "timeout.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/timeout.pcap");
        if (!strstr(r.out, rows[i].words) || !strstr(r.out, last) == rows[i].also_last)
            suite_fail(__FILE__, __LINE__, "row %u: no \"%s\" in: %s", i, rows[i].words, r.out);
        checkrun_free(&r);
    }
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
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", which needs no receive: RNR NAK"));
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paged on demand (ODP)"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "Soft-RoCE"));
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "ibv_advise_mr"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "had no receive WQE"));
            CU_ASSERT_PTR_NULL(strstr(r.out, "the receiver post"));
            EXPECT_EQ(strstr(r.out, "IBV_WC_RNR_RETRY_EXC_ERR") != NULL, tries == 3);
            checkrun_free(&r);
        }
}

/* A requester's first SEND was acknowledged, and its next request failed. The report must describe
 * why the requester gave up. If the capture ends at once, it does not show that the requester gave
 * up (`open`), except after a response that refuses the request. */
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
        keep(&g, "ends.pcap");
        flowgen_free(&g);
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
        keep(&g, "altered.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/altered.pcap");
        EXPECT_EQ(strstr(r.out, "contains other packets than the original, first in frame 5 "
                                "(RC-REQ-153)") != NULL,
                  !rightly);
        EXPECT_EQ(strstr(r.out, "check whether the QP allows remote writes") != NULL, rightly);
        checkrun_free(&r);
    }
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
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "; no responses captured\n"));
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

/* Linux Soft-RoCE counts jiffies: its wait after an RNR NAK of 0.64 ms may be shorter. */
static void short_rnr_wait_of_linux_is_a_known_deviation(void)
{
    struct checkrun r;
    struct flowgen g;
    struct roce_pkt p;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    flowgen_ack_all(&g, 1);
    p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
    flowgen_put(&g, 0, &p);
    g.conn.msn[0]--;
    flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 12);
    g.conn.msn[0]++;
    flowgen_wait(&g, 400000);
    flowgen_put(&g, 0, &p);
    flowgen_ack_all(&g, 1);
    keep(&g, "jiffy.pcap");
    flowgen_free(&g);
    r = checkrun("check -v --quirks linux-rxe-6.1 $T/jiffy.pcap");
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "RC-REQ-156"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "[known deviation S2]"));
    checkrun_free(&r);
}

/* The peer acknowledged packets of 2048 bytes, and then answers no more. The hints name only what
 * these ACKs do not refute. The list of the last packets states all waits. */
static void hints_agree_with_earlier_acks(void)
{
    static const uint64_t waits_ns[] = {60000000, 70000000, 65000000};
    struct flowgen g;
    struct roce_pkt p;
    struct checkrun r;

    flowgen_init(&g);
    g.mtu = 2048;
    for (unsigned i = 0; i < 2; i++) {
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 2048);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 2048);
    flowgen_put(&g, 0, &p);
    for (unsigned i = 0; i < 3; i++) {
        flowgen_wait(&g, waits_ns[i] - g.step);
        flowgen_put(&g, 0, &p);
    }
    keep(&g, "large.pcap");
    flowgen_free(&g);
    r = checkrun("check $T/large.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the peer's QP was destroyed or is in error"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "exceed the MTU"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "retransmission (timeout, after 60.000 to 70.000 ms)"));
    checkrun_free(&r);
}

/* A connection is slow, but did not fail. The report must state the cause and the side to
 * investigate. */
static void cause_of_a_slow_flow_is_reported(void)
{
    static const struct {
        const char *capture, *words[4]; /* words that the report must contain; {NULL} if nothing
                                         * slowed the connection */
    } cases[] = {
        {"rc-loss-requests",
         {"packets were lost: 192.0.2.2 sent", "never reached", "check for drops"}},
        {"rc-reordering", {"packets arrived out of order", "several links"}},
        {"rc-corruption", {"packets were damaged", "wrong ICRC", "check links"}},
        {"rc-rnr-then-success",
         {"had no receive WQE", "post receives",
          "retransmitted 15.62 ms after it, and 15.79 ms after its own previous packet\n",
          "(67 %) were retransmitted after RNR NAKs: "}},
        {"rc-loss-acks",
         {"the ACK timeout expired", "the response was captured before the timeout: it was lost"}},
        {"rc-atomics", {NULL}},
        {"rc-retry-exhausted", {NULL}}, /* a failure, not a slow connection */
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct checkrun r = checkrun("check $C/%s.pcap", cases[i].capture);
        const char *why = strstr(r.out, "slow connections:"),
                   *conns = strstr(r.out, "connections:");

        if ((why != NULL) != (cases[i].words[0] != NULL) || (why && why > conns))
            suite_fail(__FILE__, __LINE__, "%s: %s", cases[i].capture, r.out);
        for (unsigned k = 0; why && k < 4 && cases[i].words[k]; k++)
            if (!strstr(why, cases[i].words[k]))
                suite_fail(__FILE__, __LINE__, "%s: no \"%s\" in: %s", cases[i].capture,
                           cases[i].words[k], why);
        EXPECT_EQ(strstr(r.out, "was slowed\n") != NULL, why != NULL);
        checkrun_free(&r);
    }
}

/* A mirror port drops requests, which the responder acknowledges. Behind the mirror port, the
 * network loses one request. Only this request is lost, and behind the capture point. */
static void requests_that_only_the_capture_lacks_are_not_lost(void)
{
    struct flowgen g;
    struct roce_pkt p[8];
    struct checkrun r;

    flowgen_begin(&g);
    for (unsigned i = 0; i < 20; i++) {
        (void)flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64); /* not captured */
        flowgen_send(&g, 0, 64);
    }
    for (unsigned i = 0; i < 8; i++) {
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        flowgen_put(&g, 0, &p[i]);
    }
    flowgen_ack(&g, 1, p[0].bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
    for (unsigned i = 0; i < 8; i++)
        flowgen_put(&g, 0, &p[i]);
    flowgen_ack_all(&g, 1);
    keep(&g, "mirror.pcap");
    flowgen_free(&g);
    r = checkrun("check $T/mirror.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "acknowledged request packets; the capture, not"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "all lost packets passed the capture point"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "from the capture point to 192.0.2.2"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "packets missing"));
    checkrun_free(&r);
}

/* The headline of the summary names the worst connection, the part of the path that lost its
 * packets, and the side that waited. */
static void headline_names_the_worst_trouble(void)
{
    static const struct {
        const char *captures, *state, *headline;
    } cases[] = {
        {"rc-loss-request", "slow",
         "Connection #0 was slow: it spent 11 % of its 5.245 ms waiting, because 1 packet was lost "
         "between 192.0.2.1 and the capture point, and 192.0.2.2 asked for it again."},
        {"rc-loss-request-seen", "slow",
         "Connection #0 was slow: it spent 4.3 % of its 5.698 ms waiting, because packets were "
         "lost "
         "between the capture point and 192.0.2.2, and 192.0.2.2 asked for them again."},
        {"rc-rnr-then-success", "slow",
         "Connection #0 was slow: it spent 92 % of its 90.53 ms waiting, mostly because the "
         "receiving "
         "program "
         "on 192.0.2.2 had no receive buffer ready, so 192.0.2.1 had to pause."},
        {"rc-loss-read-responses", "slow",
         "Connection #0 was slow: it spent 89 % of its 73.39 ms waiting, because data of a READ "
         "was lost or late, and 192.0.2.1 sent the request again only when its timer expired."},
        {"rc-loss-requests", "slow",
         "Connection #0 was slow: it spent 75 % of its 177.7 ms waiting, mostly because a packet "
         "or its response was lost or late, and 192.0.2.1 sent the request again only when its "
         "timer expired."},
        {"rc-late-responses", "slow",
         "Connection #0 was slow: it spent 35 % of its 969.5 ms waiting, mostly because 192.0.2.2 "
         "or the path was so slow that the response came only after the timer of 192.0.2.1 had "
         "expired; no request was lost."},
        {"uc-loss", "data lost",
         "Connection #0 lost 1 message for good: its service (UC) never retransmits."},
        {"rc-retry-exhausted", "stuck",
         "Connection #0 is stuck: the sender retransmitted, and no answer came until the capture "
         "ended."},
        {"multi-qp", "no problem",
         "No problem found: 4 connections, 39 packets, none failed, stuck or slow."},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct checkrun r = checkrun("check --json - $C/%s.pcap", cases[i].captures);
        json_t *lines = checkrun_json(r.out);
        const json_t *conn = checkrun_first(lines, "connection"),
                     *sum = checkrun_first(lines, "summary");
        bool trouble = strcmp(cases[i].state, "no problem") != 0;

        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(sum, "headline")),
                               cases[i].headline);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(conn, "state")), cases[i].state);
        EXPECT_EQ(json_is_true(json_object_get(sum, "trouble")), trouble);
        if (trouble)
            CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(conn, "headline")),
                                   cases[i].headline);
        json_decref(lines);
        checkrun_free(&r);
    }
}

/* Appends a CNP of side 1. */
static void put_cnp(struct flowgen *g)
{
    struct roce_pkt ack = flowgen_resp(g, 1, ROCE_OP_RC_ACK, 0, 0), cnp;

    roce_pkt_init(&cnp, g->encap, ROCE_OP_CNP_ROCE);
    cnp.eth = ack.eth;
    cnp.ip4 = ack.ip4;
    cnp.udp.sport = ack.udp.sport;
    cnp.bth.dest_qp = ack.bth.dest_qp;
    cnp.bth.becn = 1;
    cnp.bth.migreq = 0;
    flowgen_put(g, 1, &cnp);
}

static void rates_around_cnps_are_reported(void)
{
    struct flowgen g;
    struct checkrun r;
    const json_t *span, *a;
    json_t *lines;

    flowgen_init(&g);
    g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
    stream(&g, 2000, 1);
    put_cnp(&g);
    stream(&g, 2000, 4);
    stream(&g, 2000, 1);
    keep(&g, "cnp.pcap");
    flowgen_free(&g);

    r = checkrun("check $T/cnp.pcap");
    EXPECT_EQ(r.status, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(r.out, "→ slowed by CNPs 1 of 1×: 8.78 Gbit/s before, 2.2 Gbit/s at the lowest, "
                      "recovered after 2."));
    checkrun_free(&r);
    r = checkrun("check --json - $T/cnp.pcap");
    lines = checkrun_json(r.out);
    EXPECT_EQ(checkrun_count(lines, "congestion"), 1);
    span = checkrun_first(lines, "congestion");
    EXPECT_EQ(checkrun_number(span, "cnps"), 1);
    EXPECT_EQ(checkrun_number(span, "before_bytes_per_s"), 1098000000);
    EXPECT_EQ(checkrun_number(span, "lowest_bytes_per_s"), 274500000);
    CU_ASSERT_TRUE(checkrun_number(span, "recovered_ns") > 2000000 &&
                   checkrun_number(span, "recovered_ns") < 2300000);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(span, "end")), "recovered");
    a = json_object_get(checkrun_first(lines, "connection"), "a");
    EXPECT_EQ(checkrun_number(json_object_get(a, "slowdowns"), "slowed"), 1);
    json_decref(lines);
    checkrun_free(&r);
}

/* Neither the headline nor the report says that nothing happened if a CNP did not slow the sender,
 * or if the capture is too short to measure its rate. */
static void cnps_without_a_slower_sender_are_reported(void)
{
    static const struct {
        unsigned packets;
        const char *rate;
    } cases[] = {{2000, "did not fall"}, {5, "could not be measured"}};

    for (unsigned i = 0; i < 2; i++) {
        char words[160];
        struct flowgen g;
        struct checkrun r;

        flowgen_init(&g);
        g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
        stream(&g, cases[i].packets, 1);
        put_cnp(&g);
        stream(&g, cases[i].packets, 1);
        keep(&g, "cnp.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/cnp.pcap");
        snprintf(words, sizeof(words),
                 "congestion:\n  #0 RC 192.0.2.1 QP 0x000101 ↔ 192.0.2.2 QP "
                 "0x080001:\n     → 1 CNP asked the sender to slow down: its "
                 "rate %s\n",
                 cases[i].rate);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, words));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "1 connection was asked to slow down\n"));
        checkrun_free(&r);
        r = checkrun("check --json - $T/cnp.pcap");
        snprintf(words, sizeof(words),
                 "Connection #0 met congestion: the receiver asked the sender "
                 "1 time to slow down (CNP); the rate of the sender %s.\"",
                 cases[i].rate);
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, words));
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "\"state\":\"congested\""));
        checkrun_free(&r);
    }
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
        keep(&g, "rtu.pcap");
        flowgen_free(&g);
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

/* All packets of a requester have a wrong ICRC. With up to three packets, check reports no
 * connection. With more packets, check reports the connection, because the capture itself may have
 * caused the wrong ICRCs. */
static void requester_with_wrong_icrcs_only_is_reported(void)
{
    for (unsigned cnt = 1; cnt < 10; cnt += 2) {
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r;

        flowgen_init(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        for (unsigned i = 0; i < cnt; i++) {
            flowgen_put(&g, 0, &p);
            g.bytes[g.frame[i].off + g.frame[i].len - 1] ^= 0x55;
            flowgen_wait(&g, 70000000);
        }
        keep(&g, "icrcs.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/icrcs.pcap");
        EXPECT_EQ(r.status, 0);
        EXPECT_EQ(
            strstr(r.out, "the capture contains no other packets of a connection. A receiver") !=
                NULL,
            cnt <= 3);
        EXPECT_EQ(strstr(r.out, "no correct ICRC") != NULL, cnt > 3);
        EXPECT_EQ(strstr(r.out, "ICRCs are wrong on the wire") != NULL, cnt >= 7);
        checkrun_free(&r);
    }
}

/* The capture causes the same finding in many connections. The report must print the finding only
 * once. */
static void shared_finding_is_printed_once(void)
{
    struct flowgen g;
    struct checkrun r;
    const char *at;

    flowgen_init(&g);
    for (unsigned i = 0; i < 6; i++) {
        g.conn = flowgen_conn_of(i + 1, 20480, 36864);
        g.conn.sport = 0xC123;
        for (unsigned k = 0; k < 3; k++)
            flowgen_message(&g, 0, ROCE_KIND_WRITE, 64);
    }
    for (unsigned i = 0; i < 6; i++) {
        g.conn = flowgen_conn_of(i + 1, 20483, 36864);
        g.conn.sport = 0xC123;
        g.conn.msn[0] = 3;
        flowgen_ack_all(&g, 1);
    }
    keep(&g, "alike.pcap");
    flowgen_free(&g);
    r = checkrun("check $T/alike.pcap");
    at = strstr(r.out, "ALL-OBS-321");
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    CU_ASSERT_PTR_NULL(strstr(at + 1, "ALL-OBS-321"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "in many connections:\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(at, " connections; first frames: "));
    checkrun_free(&r);
    r = checkrun("check -v $T/alike.pcap");
    at = strstr(r.out, "ALL-OBS-321");
    CU_ASSERT(at && strstr(at + 1, "ALL-OBS-321"));
    checkrun_free(&r);
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
        keep(&g, "rejected.pcap");
        flowgen_free(&g);
        r = checkrun("check -v $T/rejected.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, rows[i].text));
        CU_ASSERT_PTR_NULL(strstr(r.out, "rejected a connection of"));
        CU_ASSERT_PTR_NULL(strstr(r.out, "the peer rejected"));
        checkrun_free(&r);
    }
}

/* The headlines name lost messages, CE marks without a CNP, and the port on which no program
 * listens. */
static void headlines_name_the_loss(void)
{
    static const struct {
        const char *capture, *text;
    } rows[] = {
        {"rc-ecn", "6 packets were marked (ECN CE), but 192.0.2.2 sent no CNP"},
        {"cm-reject-no-listener", "no program listens on port 7777 of 192.0.2.2"},
        {"cm-reject", "192.0.2.2 rejected a connection of 192.0.2.1 (CM REJ, reason 28, consumer"},
        {"uc-loss", "1 of 4 messages was lost (1 packet): UC does not retransmit\n"},
        {"uc-loss-last", "it also loses the next SEND, or every later WRITE\n"},
        {"rc-loss-requests", " was spent waiting: "},
        {"rc-loss-read-responses", "the READ response with PSN 266 was lost or late (restart in "
                                   "frame 19): the capture contains the response; "
                                   "check for drops from the capture point to 192.0.2.1\n"},
        {"rc-loss-read-responses", "1 of 11 packets (9.1 %) was retransmitted after a timeout\n"},
        {"rc-loss-request",
         "6 of 14 packets (43 %) were retransmitted after a sequence NAK: 6144 bytes, 46 % of the "
         "payload\n"},
        {"rc-loss-read-responses", "holds, slow; 1 note, 3 known deviations\n"},
        {"rc-loss-read-responses",
         "verdict: holds (no rule violated; 1 note, 3 known deviations of linux-rxe), but 1 "
         "connection was slowed\n"},
        {"rc-loss-read-responses", "known deviations of linux-rxe: D4 1× ("},
        {"rc-loss-atomic-write", "known deviations of linux-rxe-6.12: D17 1× ("},
        {"uc-loss", ", 40.4 kbit/s\n"},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkrun r = checkrun("check $C/%s.pcap", rows[i].capture);

        if (!strstr(r.out, rows[i].text))
            suite_fail(__FILE__, __LINE__, "%s: no \"%s\" in: %s", rows[i].capture, rows[i].text,
                       r.out);
        checkrun_free(&r);
    }
}

/* Swapped UC packets are not missing, but a UC receiver drops their message. */
static void swapped_uc_packets_lose_their_message(void)
{
    CHECKRUN_EXPECT(
        "$R edit -q --impair reorder=1@frame=3 $C/uc-send-write.pcap $T/swapped.pcapng; "
        "$R check $T/swapped.pcapng",
        0,
        "1 of 8 messages was lost (packets out of order): a UC receiver drops a message whose "
        "packets are out of order\n",
        "");
}

static void a_checksum_of_0_is_counted_once(void)
{
    struct flowgen g;
    struct checkrun r;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 2048);
    for (size_t i = 0; i < g.frame_cnt; i++)
        memset(g.bytes + g.frame[i].off + 24, 0, 2);
    keep(&g, "sum0.pcap");
    flowgen_free(&g);
    r = checkrun("check $T/sum0.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "IPv4 header checksum 0: 3 packets"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "1 SEND in "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "verdict: holds (no findings)"));
    checkrun_free(&r);
    r = checkrun("decode $T/sum0.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the IPv4 header checksum is 0"));
    checkrun_free(&r);
}

/* A device with MigReq 0 is recognised as Linux rxe only if its source port is the one that Linux
 * computes from the QPNs. */
static void peer_is_recognised_by_migreq_and_port(void)
{
    static const struct {
        uint16_t sport;
        bool known;
    } rows[] = {{0, true}, {0xC123, false}};

    for (unsigned k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        struct flowgen g;
        struct checkrun r;
        uint64_t v;

        flowgen_begin(&g);
        g.conn.qpn[0] = 17;
        g.conn.qpn[1] = 19;
        v = (uint64_t)g.conn.qpn[0] * g.conn.qpn[1]; /* the product is below 2^20 */
        g.conn.sport = rows[k].sport;
        if (rows[k].known)
            g.conn.sport = (uint16_t)(0xC000 | (((v >> 14) ^ v) & 0x3FFF));
        flowgen_send(&g, 0, 64);
        flowgen_ack_all(&g, 1);
        for (size_t i = 0; i < g.frame_cnt; i++)
            g.bytes[g.frame[i].off + 14 + 20 + 8 + 1] &= (uint8_t)~0x40; /* MigReq bit of the BTH */
        keep(&g, "migreq.pcap");
        flowgen_free(&g);
        r = checkrun("check --no-icrc --fail-on note $T/migreq.pcap");
        EXPECT_EQ(strstr(r.out, "known deviations of linux-rxe: S9 ") != NULL, rows[k].known);
        EXPECT_EQ(strstr(r.out, "ALL-FMT-044") != NULL, !rows[k].known);
        checkrun_free(&r);
        r = checkrun("check --no-icrc --quirks none $T/migreq.pcap");
        CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "ALL-FMT-044"));
        checkrun_free(&r);
    }
}

/* The requester retransmits after pauses. If only the requests were captured, the pauses must not
 * be reported as timeouts, because an RNR NAK may be their cause. */
static void pauses_in_a_capture_of_one_direction_are_not_timeouts(void)
{
    for (int both = 0; both < 2; both++) {
        struct checkrun r;
        struct flowgen g;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        for (int i = 0; i < 3; i++) {
            struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

            flowgen_put(&g, 0, &p);
            flowgen_wait(&g, 20000000);
            flowgen_put(&g, 0, &p);
            if (both)
                flowgen_ack_all(&g, 1);
        }
        if (!both)
            for (size_t i = 0; i < g.frame_cnt; i++)
                if (g.frame[i].side == 1)
                    memmove(&g.frame[i], &g.frame[i + 1], (--g.frame_cnt - i) * sizeof(g.frame[0]));
        keep(&g, "one-direction.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/one-direction.pcap");
        EXPECT_EQ(strstr(r.out, "the requester paused 3×, for 20.01 ms") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "the capture lacks the responses of 192.0.2.2") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "waiting: 60.03 ms for a reason that the capture does not show") !=
                      NULL,
                  !both);
        EXPECT_EQ(strstr(r.out, "retransmissions: after a pause 3×") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "the ACK timeout expired 3×") != NULL, both);
        checkrun_free(&r);
        r = checkrun("check -q --json - $T/one-direction.pcap");
        EXPECT_EQ(strstr(r.out, "the capture lacks the responses of 192.0.2.2") != NULL, !both);
        EXPECT_EQ(strstr(r.out, "\"text\":\"unknown reason\"") != NULL, !both);
        checkrun_free(&r);
    }
}

/* Each of ten ACKs comes 20 ms after its request, and the REP 3 s after the REQ. Nothing is lost,
 * but the report must name both waits. */
static void waits_without_a_loss_are_reported(void)
{
    static const char *const words[] = {
        "% of the connection's 200.2 ms was spent waiting: 200.1 ms for slow responses\n",
        "→ the REP of 192.0.2.2 came 3 s after the REQ, which was sent 2×\n",
        "       find out why the program on 192.0.2.2 accepts connections late, or check for lost",
        "→ 10× a response came late: the requester waited 20.01 ms, and retransmitted nothing",
        "or the path is slow: if the path is fast (ping), look on 192.0.2.2 for CPU load",
    };
    struct roce_cm_msg req, rep;
    struct flowgen g;
    struct checkrun r;

    flowgen_init(&g);
    req = flowgen_cm_req(&g);
    rep = flowgen_cm_rep(&g);
    flowgen_cm(&g, 0, &req);
    flowgen_wait(&g, 1500000000);
    flowgen_cm(&g, 0, &req);
    flowgen_wait(&g, 1500000000);
    flowgen_cm(&g, 1, &rep);
    for (unsigned i = 0; i < 10; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);

        p.bth.ackreq = true;
        flowgen_put(&g, 0, &p);
        flowgen_wait(&g, 20000000);
        flowgen_ack_all(&g, 1);
    }
    keep(&g, "waits.pcap");
    flowgen_free(&g);
    r = checkrun("check $T/waits.pcap");
    EXPECT_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", words[i], r.out);
    checkrun_free(&r);
    /* the same capture, in which both programs run on one host */
    CHECKRUN_EXPECT("$R edit -q --impair set=ip4.src=192.0.2.2 --impair set=ip4.dst=192.0.2.2 "
                    "$T/waits.pcap $T/one-host.pcapng && $R check $T/one-host.pcapng",
                    0, "       find out why 192.0.2.2 QP 0x", "");
}

/* The requester goes back 5 ms after a sequence NAK. Linux Soft-RoCE, which sends MigReq 0, is
 * often that slow; if the requester is another device, it may not have received the NAK, and its
 * ACK timer expired. */
static void late_reaction_to_a_nak_has_two_possible_causes(void)
{
    static const char words[] =
        "192.0.2.1 retransmitted 5.02 ms after a sequence NAK on average: it is a busy software "
        "RNIC, or the NAKs were lost behind the capture point and its timer expired";

    for (unsigned migreq = 0; migreq < 2; migreq++) {
        struct flowgen g;
        struct checkrun r;
        struct roce_pkt p;
        uint32_t base;

        flowgen_init(&g);
        p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
        p.bth.migreq = migreq;
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        base = g.conn.psn[0];
        talk(&g, "0123 !1");
        flowgen_wait(&g, 5000000);
        g.conn.psn[0] = base;
        talk(&g, "123");
        keep(&g, "late_nak.pcap");
        flowgen_free(&g);
        r = checkrun("check $T/late_nak.pcap");
        if ((strstr(r.out, words) != NULL) != (migreq == 1))
            suite_fail(__FILE__, __LINE__, "MigReq %u: %s", migreq, r.out);
        checkrun_free(&r);
    }
}

/* Writes a capture of 200 SENDs and their ACKs, with `pauses` pauses, and checks it. The first
 * pause lasts 60 ms, and each pause `step` times 60 ms longer than the one before. */
static struct checkrun busy_with_pauses(unsigned pauses, unsigned step)
{
    struct flowgen g;

    flowgen_init(&g);
    for (unsigned i = 0; i < 200; i++) {
        if (i % 10 == 9 && i / 10 < pauses)
            flowgen_wait(&g, UINT64_C(60000000) * (1 + step * (i / 10)));
        flowgen_send(&g, 0, 64);
    }
    keep(&g, "pauses.pcap");
    flowgen_free(&g);
    return checkrun("check --json $T/pauses.json $T/pauses.pcap");
}

/* A request that is lost before the capture point, and its retransmission, look like a pause. A
 * program that pauses often is not busy. */
static void rare_silences_of_a_busy_connection_are_reported(void)
{
    struct checkrun r = busy_with_pauses(2, 0);
    char *json = checkrun_read(checkrun_path("pauses.json"));

    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "no packet was captured for 60.01 ms, 2×, the "
                                         "longest before frame 19 (9"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "the similar lengths look like ACK timeouts"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "paused connections:\n  #0 "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "was spent waiting: 120 ms for new requests\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, ", but 1 connection paused\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"silence\":{\"count\":2,\"ns\":12"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"state\":\"paused\",\"headline\":\"Connection #0 "
                                        "paused: no packet was captured for 60.01 ms, 2×"));
    CU_ASSERT_PTR_NOT_NULL(strstr(json, "\"waits\":[{\"side\":\"a\",\"cause\":\"silence\","));
    free(json);
    checkrun_free(&r);
    r = busy_with_pauses(10, 1);
    CU_ASSERT_PTR_NULL(strstr(r.out, "no packet was captured"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "paused"));
    checkrun_free(&r);
}

SUITE("replay.check_causes", TEST(hints_agree_with_earlier_acks),
      TEST(short_rnr_wait_of_linux_is_a_known_deviation),
      TEST(pauses_in_a_capture_of_one_direction_are_not_timeouts),
      TEST(rnr_naks_of_a_full_transmit_queue_are_possible_with_migreq_0),
      TEST(peer_is_recognised_by_migreq_and_port),
      TEST(altered_retransmission_is_the_cause_of_a_nak),
      TEST(unanswered_request_is_reported_as_stuck), TEST(rnr_naks_by_page_faults_are_reported),
      TEST(loss_before_a_timeout_is_described), TEST(end_of_a_failed_requester_is_reported),
      TEST(unanswered_cm_request_is_reported), TEST(cause_of_a_slow_flow_is_reported),
      TEST(requests_that_only_the_capture_lacks_are_not_lost),
      TEST(headline_names_the_worst_trouble), TEST(rates_around_cnps_are_reported),
      TEST(cnps_without_a_slower_sender_are_reported), TEST(missing_rtu_is_reported),
      TEST(requester_with_wrong_icrcs_only_is_reported), TEST(shared_finding_is_printed_once),
      TEST(a_checksum_of_0_is_counted_once), TEST(rejection_by_the_active_side_is_described),
      TEST(headlines_name_the_loss), TEST(waits_without_a_loss_are_reported),
      TEST(late_reaction_to_a_nak_has_two_possible_causes),
      TEST(rare_silences_of_a_busy_connection_are_reported),
      TEST(swapped_uc_packets_lose_their_message))
