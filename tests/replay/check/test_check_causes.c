/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests that `rocedrill check` names what slowed a connection: losses, waits, or congestion. */
#include <string.h>
#include "pcapng/pcapng.h"
#include "replay/checkrun.h"
#include "support/suite.h"
#include "wire/bytes.h"

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
        "the last packets before a pause, or their responses, were lost, or later than "
        "the ACK timeout";
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
         "1× the request was captured, and no response before the timeout: one of them was lost, "
         "or "
         "later than the ACK timeout, between the capture point and 192.0.2.2\n",
         false},
        {"023 . 123 ^3", missing, false},
        {"0123 !1 123 . 123 ^3", relost, false},
        {"023 !1 23 . 123 ^3", relost, false},
        {"0123 !1 123 . 123 . 123 ^3",
         "2× a retransmission (first PSN 20482), or the response to it, was lost too: ", false},
        {"0123 ^3 . 0123 ^3",
         "1× the response was captured before the timeout: it was lost from the capture point to "
         "192.0.2.1, or arrived there later than the ACK timeout\n",
         false},
        {"0123 !1 . 0123 ^3", "1× a sequence NAK was captured before the timeout: ", false},
        {"023 . 123 ^3 56 . 456 ^6",
         "2× a packet (first PSN 20482) was lost from 192.0.2.1 to the capture point", false},
        {"023 . 123 ^3 45 . 45 ^5", missing, false},
        {"023 !1 23 . 123 ^3",
         "the requester retransmitted after a timeout; the retransmission after the sequence NAK, "
         "or the response to it, was lost too, so only the timeout repeats it",
         false},
        {"0123 !1 . 0123 ^3",
         "the requester retransmitted after a timeout; a sequence NAK for it was captured, but was "
         "lost after the capture point, or ignored",
         false},
        {"0 . 0 ^0 . ^0 12 . 12 ^2",
         "the ACK timeout of 192.0.2.1 expired 1×; the requester retransmitted 2 ", false},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;
        struct checkrun r;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        talk(&g, rows[i].steps);
        checkrun_write_flow("timeout.pcap", &g);
        r = checkrun("check -v $T/timeout.pcap");
        if (!strstr(r.out, rows[i].words) || !strstr(r.out, last) == rows[i].also_last)
            suite_fail(__FILE__, __LINE__, "row %u: no \"%s\" in: %s", i, rows[i].words, r.out);
        checkrun_free(&r);
    }
}

/* The first timeout of the capture is before the first response, so the two directions are not
 * paired yet. The report must name the side of the capture point on which the packet was lost. If a
 * response was captured before the pairing, it may have answered the request, so the report must
 * not name a side. */
static void loss_before_the_first_response_has_a_side(void)
{
    static const struct {
        const char *steps, *words;
    } rows[] = {
        {"0 . 0 ^0 1 ^1", "1× the request was captured, and no response before the timeout: one of "
                          "them was lost, or "
                          "later than the ACK timeout, between the capture point and 192.0.2.2\n"},
        {"^5 0 . 0 ^0 1 ^1",
         "the last packets before a pause, or their responses, were lost, or later than "
         "the ACK timeout"},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_init(&g);
        talk(&g, rows[i].steps);
        checkrun_write_flow("first.pcap", &g);
        CHECKRUN_EXPECT("$R check $T/first.pcap", 0, rows[i].words, "");
        flowgen_free(&g);
    }
}

/* The response to an atomic was captured, and so was the response to a later request. Then the
 * requester retransmits the atomic. So the response was lost after the capture point. */
static void lost_atomic_response_has_a_side(void)
{
    struct flowgen g;
    struct roce_pkt atomic[2], ack[2];
    char words[256];

    flowgen_init(&g);
    flowgen_atomic(&g, 0);
    for (unsigned again = 0; again < 2; again++) {
        for (unsigned i = 0; i < 2; i++) {
            if (!again) {
                atomic[i] = flowgen_req(&g, 0, ROCE_OP_RC_FETCH_ADD, 8);
                ack[i] = flowgen_resp(&g, 1, ROCE_OP_RC_ATOMIC_ACK, atomic[i].bth.psn, 0);
                ack[i].aeth.msn = g.conn.msn[0] - 1 + i;
            }
            flowgen_put(&g, 0, &atomic[i]);
        }
        for (unsigned i = 0; i < 2; i++)
            flowgen_put(&g, 1, &ack[i]);
    }
    checkrun_write_flow("atomic.pcap", &g);
    snprintf(words, sizeof(words),
             "the response with PSN %u was lost or late (restart in frame 7): the capture contains "
             "the response; check for drops from the capture point to 192.0.2.1\n",
             atomic[0].bth.psn);
    CHECKRUN_EXPECT("$R check $T/atomic.pcap", 0, words, "");
    flowgen_free(&g);
}

/* The transmit queue of Linux Soft-RoCE refuses a packet, and the capture point is before the
 * queue. The device sends the packet again every 5 us. The report must name the queue only if the
 * device is Soft-RoCE. */
static void packets_that_the_own_queue_refuses_are_named(void)
{
    for (unsigned rxe = 0; rxe < 2; rxe++) {
        struct flowgen g;
        struct roce_pkt p;
        struct checkrun r;

        flowgen_begin(&g);
        flowgen_send(&g, 0, 64);
        flowgen_send(&g, 1, 64);
        p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        p.bth.migreq = !rxe;
        g.step = 5000;
        for (unsigned i = 0; i < 40; i++)
            flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
        checkrun_write_flow("queue.pcap", &g);
        r = checkrun("check $T/queue.pcap");
        if (rxe != (strstr(r.out, "while the transmit queue of its interface is full\n") != NULL))
            suite_fail(__FILE__, __LINE__, "rxe %u: %s", rxe, r.out);
        checkrun_free(&r);
        flowgen_free(&g);
    }
}

/* A network with jitter of some ms reorders the packets of four transmissions of eight WRITEs. No
 * queue refused a packet (user: a Linux host behind netem with delay 2ms 1ms). */
static void reordered_retransmissions_are_no_full_queue(void)
{
    struct flowgen g;
    struct roce_pkt p[8];
    struct checkrun r;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    flowgen_send(&g, 1, 64);
    for (unsigned i = 0; i < 8; i++) {
        p[i] = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
        p[i].bth.migreq = false; /* as of Soft-RoCE */
    }
    g.step = 60000;
    for (unsigned i = 0; i < 32; i++) {
        struct roce_pkt late = p[7 - i % 8];

        late.ip4.id = (uint16_t)(g.ip_id[0] + 1 + i / 8 * 8 + (7 - i % 8));
        flowgen_put(&g, 0, &late);
    }
    flowgen_ack_all(&g, 1);
    checkrun_write_flow("jitter.pcap", &g);
    r = checkrun("check $T/jitter.pcap");
    CU_ASSERT_PTR_NULL(strstr(r.out, "transmit queue"));
    checkrun_free(&r);
    flowgen_free(&g);
}

/* Each sequence NAK stands for a loss. The report names both sides of the capture point if losses
 * before it explain only some of the NAKs. */
static void losses_on_both_sides_are_named(void)
{
    static const struct {
        const char *steps, *words;
    } rows[] = {
        {"023!1123^3 46!5567^7", "from 192.0.2.1 to the capture point\n"},
        {"0123!1123^3 46!5567^7", "on both sides of the capture point\n"},
        {"0123!1123^3 4567!5567^7", "from the capture point to 192.0.2.2\n"},
    };

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct flowgen g;

        flowgen_init(&g);
        flowgen_send(&g, 0, 64);
        talk(&g, rows[i].steps);
        checkrun_write_flow("sides.pcap", &g);
        CHECKRUN_EXPECT("$R check $T/sides.pcap", 0, rows[i].words, "");
        flowgen_free(&g);
    }
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
         {"had no receive buffer", "post receive buffers", "the requester waited 15.79 ms\n",
          "(67 %) were retransmitted after RNR NAKs: "}},
        {"rc-loss-acks",
         {"the ACK timeout of 192.0.2.1 expired",
          "check for drops (full queues, a priority without PFC, a bad link) from the capture "
          "point to 192.0.2.1",
          "the response was captured before the timeout: it was lost"}},
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

/* All responses come twice, later than the ACK timeout, and no packet was lost. The report must
 * propose a longer timeout, and must not advise the user to search for losses. */
static void responses_later_than_the_timeout_are_not_lost(void)
{
    static const char *const captures[] = {"perftest-read-lat", "ibv-rc-pingpong", "rc-atomics"};

    for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
        struct checkrun r = checkrun_shell("$R replay -q --closed-loop --impair "
                                           "delay=100ms@dir=response --record $T/late.pcapng "
                                           "$C/%s.pcap && $R check $T/late.pcapng",
                                           captures[i]);

        if (!strstr(r.out,
                    " without need, and no request was lost\n"
                    "       the ACK timeout (67.11 ms) is shorter than the response time (up "
                    "to ") ||
            !strstr(r.out, "): set a timeout of at least 15 (134.2 ms) with ibv_modify_qp") ||
            strstr(r.out, "check for drops"))
            suite_fail(__FILE__, __LINE__, "%s: %s", captures[i], r.out);
        checkrun_free(&r);
    }
}

/* One capture does not show whether a packet was lost or came later than the ACK timeout. The
 * report must name the capture that shows it, unless this capture was given. */
static void a_loss_that_may_be_a_delay_is_not_certain(void)
{
    static const char other[] = "run rocedrill check A --other-end B\n";
    struct checkrun r = checkrun("check $C/rc-loss-acks.pcap");

    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "       if packets were lost, check for drops "));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, other));
    checkrun_free(&r);
    r = checkrun("check $C/rc-loss-acks.pcap --other-end $C/rc-loss-acks.pcap");
    CU_ASSERT_PTR_NULL(strstr(r.out, other));
    checkrun_free(&r);
    r = checkrun("check $C/rc-loss-request-last.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "       check for drops "));
    checkrun_free(&r);
}

/* The capture lacks requests that the responder acknowledges, because a mirror port dropped their
 * copies. The network loses one other request after the capture point. The report must count only
 * this request as lost, and name the part after the capture point. */
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
    checkrun_write_flow("mirror.pcap", &g);
    r = checkrun("check $T/mirror.pcap");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "acknowledged request packets; the capture, not"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "all missing packets passed the capture point"));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "from the capture point to 192.0.2.2"));
    CU_ASSERT_PTR_NULL(strstr(r.out, "packets missing"));
    checkrun_free(&r);
}

/* Asserts that the report about the conversation contains `words` and, unless `absent` is NULL,
 * does not contain `absent`. Frees the conversation. */
static void expect_causes(struct flowgen *g, const char *words, const char *absent)
{
    struct checkrun r;

    checkrun_write_flow("causes.pcap", g);
    r = checkrun("check $T/causes.pcap");
    if (!strstr(r.out, words) || (absent && strstr(r.out, absent)))
        suite_fail(__FILE__, __LINE__, "no \"%s\", or \"%s\" in: %s", words, absent ? absent : "",
                   r.out);
    checkrun_free(&r);
    flowgen_free(g);
}

/* The first request was not captured, and the responder sends a sequence NAK for it. The report
 * must not claim that this request passed the capture point. */
static void nak_for_an_uncaptured_request_has_no_side(void)
{
    struct flowgen g;

    flowgen_init(&g);
    talk(&g, "1 2 3 !0 0 1 2 3 ^3");
    expect_causes(&g, "from 192.0.2.1 to 192.0.2.2\n", "passed the capture point");
}

/* The responder sends a sequence NAK after each RNR NAK, and one for a lost request. Only the last
 * one shows a loss. */
static void naks_after_rnr_naks_show_no_loss(void)
{
    struct flowgen g;

    flowgen_begin(&g);
    flowgen_send(&g, 0, 64);
    for (unsigned i = 0; i < 4; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

        flowgen_put(&g, 0, &p);
        g.conn.msn[0]--;
        if (i < 3)
            flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_RNR | 1);
        flowgen_ack(&g, 1, p.bth.psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        g.conn.msn[0]++;
        flowgen_wait(&g, 100000);
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    expect_causes(&g, "packets were lost or late: 192.0.2.2 sent 1 sequence NAK; ", NULL);
}

/* The network duplicates single packets within 2 us. The report must not claim that the requester
 * retransmitted them. */
static void duplicates_without_identification_are_no_retransmissions(void)
{
    struct flowgen g;

    flowgen_init(&g);
    g.encap = ROCE_ENCAP_V2_IP6;
    for (unsigned i = 0; i < 20; i++) {
        struct roce_pkt p[2];

        flowgen_send(&g, 0, 64);
        for (unsigned k = 0; k < 2; k++) {
            p[k] = flowgen_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);
            flowgen_put(&g, 0, &p[k]);
        }
        if (i > 6)
            flowgen_put(&g, 0, &p[0]);
        flowgen_ack_all(&g, 1);
    }
    expect_causes(&g, "13 packets were captured again, on average ",
                  "the requester retransmitted 13 packets");
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
    checkrun_write_flow("cnp.pcap", &g);

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

/* Three connections wait for ACK timeouts, each connection longer than the previous one. A fourth
 * connection waits for sequence NAKs. The report must name the common wait and its hosts, and begin
 * with the longest wait. */
static void common_wait_of_slow_connections_is_named(void)
{
    static const char *const steps[] = {"0123 ^3 . 0123 ^3", "0123 ^3 .. 0123 ^3",
                                        "0123 ^3 ... 0123 ^3", "023 !1 123 ^3"};
    static const char words[] = "3 of 4 slow connections waited longest for ACK timeouts, all with "
                                "requests of 192.0.2.1 to 192.0.2.2";
    struct flowgen g;
    struct checkrun r;
    char text[240];

    flowgen_init(&g);
    for (uint32_t i = 0; i < 4; i++) {
        g.conn = flowgen_conn_of(i, 100, 200);
        g.conn.sport = flowgen_linux_sport(g.conn.qpn[0], g.conn.qpn[1]);
        flowgen_send(&g, 0, 64);
        talk(&g, steps[i]);
    }
    checkrun_write_flow("common.pcap", &g);
    r = checkrun("check $T/common.pcap");
    snprintf(text, sizeof(text), "slow connections (the longest wait first):\n  %s\n  #4 RC ",
             words);
    if (!strstr(r.out, text))
        suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", text, r.out);
    checkrun_free(&r);
    r = checkrun("check --json - $T/common.pcap");
    snprintf(text, sizeof(text), "3 more connections have a problem; %s.\"", words);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, text));
    checkrun_free(&r);
}

/* A CNP did not slow the sender, or the capture is too short to measure the rate of the sender. The
 * headline and the report must still name the congestion. */
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
        checkrun_write_flow("cnp.pcap", &g);
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

/* Only the responses were captured, and every fifth one is an RNR NAK. */
static void rnr_naks_in_a_capture_of_the_responses_are_reported(void)
{
    static const char *const words[] = {
        "Connection #0 was slow: 192.0.2.2 had no receive buffer ready 4 times (RNR NAK).",
        "192.0.2.2 had no receive buffer 4× (RNR NAK)",
    };
    struct flowgen g;
    struct checkrun r;

    flowgen_init(&g);
    for (uint32_t i = 0; i < 20; i++) {
        g.conn.msn[0] = i - i / 5;
        flowgen_ack(&g, 1, g.conn.psn[0] + i - i / 5, i % 5 == 4 ? 0x2C : 0x1F);
    }
    checkrun_write_flow("responses.pcap", &g);
    r = checkrun("check -q --json - $T/responses.pcap");
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "\"%s\" is missing in:\n%s", words[i], r.out);
    checkrun_free(&r);
}

/* The requester goes back 5 ms after a sequence NAK. Linux Soft-RoCE, which sends MigReq 0, is
 * often that slow. If the requester is another device, the NAK may have been lost, and the ACK
 * timer of the requester expired. */
static void late_reaction_to_a_nak_has_two_possible_causes(void)
{
    static const char words[] =
        "192.0.2.1 retransmitted 5.02 ms after the sequence NAK: its RNIC is slow "
        "(a busy software RNIC), or the NAK was lost between the capture point and 192.0.2.1, "
        "which "
        "then waited for its ACK timeout";

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
        checkrun_write_flow("late_nak.pcap", &g);
        r = checkrun("check $T/late_nak.pcap");
        if ((strstr(r.out, words) != NULL) != (migreq == 1))
            suite_fail(__FILE__, __LINE__, "MigReq %u: %s", migreq, r.out);
        checkrun_free(&r);
    }
}

SUITE("replay.check_causes", TEST(loss_before_a_timeout_is_described),
      TEST(late_reaction_to_a_nak_has_two_possible_causes),
      TEST(loss_before_the_first_response_has_a_side), TEST(lost_atomic_response_has_a_side),
      TEST(losses_on_both_sides_are_named), TEST(packets_that_the_own_queue_refuses_are_named),
      TEST(reordered_retransmissions_are_no_full_queue), TEST(cause_of_a_slow_flow_is_reported),
      TEST(responses_later_than_the_timeout_are_not_lost),
      TEST(a_loss_that_may_be_a_delay_is_not_certain),
      TEST(nak_for_an_uncaptured_request_has_no_side), TEST(naks_after_rnr_naks_show_no_loss),
      TEST(duplicates_without_identification_are_no_retransmissions),
      TEST(requests_that_only_the_capture_lacks_are_not_lost),
      TEST(common_wait_of_slow_connections_is_named), TEST(rates_around_cnps_are_reported),
      TEST(cnps_without_a_slower_sender_are_reported), TEST(swapped_uc_packets_lose_their_message),
      TEST(rnr_naks_in_a_capture_of_the_responses_are_reported))
