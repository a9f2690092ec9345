/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Tests of the headline of `rocedrill check`, and of the headlines of connections. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"
#include "wire/codes.h"

/* The headline of the summary names the worst connection, the part of the path that lost its
 * packets, and the side that waited. */
static void headline_names_the_worst_trouble(void)
{
    static const struct {
        const char *captures, *state, *headline;
    } cases[] = {
        {"rc-loss-request", "slow",
         "Connection #0 was slow: it spent 11 % of its 5.245 ms waiting, because 1 packet was lost "
         "between 192.0.2.1 and the capture point, and 192.0.2.2 asked for the missing packet "
         "again."},
        {"rc-loss-request-seen", "slow",
         "Connection #0 was slow: it spent 4.3 % of its 5.698 ms waiting, because packets were "
         "lost or late between the capture point and 192.0.2.2, and 192.0.2.2 asked for the "
         "missing packets "
         "again."},
        {"rc-rnr-then-success", "slow",
         "Connection #0 was slow: it spent 92 % of its 90.53 ms waiting, mostly because the "
         "receiving "
         "program "
         "on 192.0.2.2 had no receive buffer ready, so 192.0.2.1 had to pause."},
        {"rc-loss-read-responses", "slow",
         "Connection #0 was slow: it spent 89 % of its 73.39 ms waiting, because data of a READ "
         "was lost, or later than the ACK timeout, between the capture point and 192.0.2.1, and "
         "192.0.2.1 sent the request again only when its ACK timeout expired."},
        {"rc-loss-request-last", "slow",
         "Connection #0 was slow: it spent 86 % of its 78 ms waiting, because a packet was "
         "probably lost between 192.0.2.1 and the capture point, and 192.0.2.1 sent the request "
         "again only when its ACK timeout expired."},
        {"rc-loss-ack-unseen", "slow",
         "Connection #0 was slow: it spent 92 % of its 73.38 ms waiting, because a packet or its "
         "response was lost, or later than the ACK timeout, between the capture point and "
         "192.0.2.2, and 192.0.2.1 sent the request again only when its ACK timeout expired."},
        {"rc-loss-acks", "slow",
         "Connection #0 was slow: it spent 89 % of its 204.4 ms waiting, because a response was "
         "lost, or later than the ACK timeout, between the capture point and 192.0.2.1, and "
         "192.0.2.1 sent the request again only when its ACK timeout expired."},
        {"rc-loss-requests", "slow",
         "Connection #0 was slow: it spent 75 % of its 177.7 ms waiting, mostly because a packet "
         "or its response was lost, or later than the ACK timeout, and 192.0.2.1 sent the request "
         "again only when its ACK timeout expired."},
        {"rc-late-responses", "slow",
         "Connection #0 was slow: it spent 35 % of its 969.5 ms waiting, mostly because the "
         "ACK timeout of 192.0.2.1 (63.64 ms to 89.33 ms) is shorter than the response time (up "
         "to 121 ms): the retransmissions were unnecessary, and no request was lost."},
        {"uc-loss", "data lost",
         "Connection #0 lost at least 1 message for good: its service (UC) never retransmits."},
        {"rc-retry-exhausted", "stuck",
         "Connection #0 is stuck: 192.0.2.2 sent nothing after frame 2, for 202.1 ms, although "
         "192.0.2.1 retransmitted."},
        {"rc-rnr-exhausted", "stuck",
         "Connection #0 is stuck: 192.0.2.2 had no receive buffer ready (RNR NAK), and 192.0.2.1 "
         "waits."},
        {"rc-nak-flushes-queue", "failed",
         "Connection #0 failed: 192.0.2.2 refused a request of 192.0.2.1 for good (NAK, remote "
         "access error)."},
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
        {"uc-loss", "at least 1 of 4 messages was lost (1 packet): UC does not retransmit\n"},
        {"uc-loss-last", "it also loses the next SEND, or every later WRITE\n"},
        {"rc-loss-requests", " was spent waiting: "},
        {"rc-loss-read-responses",
         "the READ response with PSN 266 was lost, or later than the "
         "ACK timeout (restart in frame 19): the capture contains the "
         "response; if it was lost, check for drops from the capture point to 192.0.2.1\n"},
        {"rc-loss-read-responses", "1 of 11 packets (9.1 %) was retransmitted after a timeout\n"},
        {"rc-loss-request",
         "6 of 14 packets (43 %) were retransmitted after a sequence NAK, 1 that the NAK names and "
         "5 because of go-back-N: 6144 bytes, 46 % of the payload\n"},
        {"rc-rnr-then-success",
         "waiting: 63.15 ms for RNR NAKs, 20.44 ms for slow responses; 6.735 ms idle "},
        {"multi-qp", "connections (a missing number is the other direction of a listed "
                     "connection):\n  #0 RC "},
        {"rc-atomics", "\nNo problem found: 1 connection, 18 packets, none failed, stuck or "
                       "slow.\nconnections:\n  #0 RC "},
        {"rc-atomics",
         "\n     no request was in flight 92 % of the time: usually the programs limit "
         "the rate, not the network\n"},
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

/* A timeout, a sequence NAK and an RNR NAK cause one retransmission each, in a long conversation.
 * No cause led to half of them, so the headline names the two most frequent ones. */
static void headline_names_the_two_most_frequent_causes(void)
{
    static const uint8_t naks[] = {0, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ,
                                   ROCE_SYNDROME_RNR | 1 /* 10 µs */};
    struct checkrun r;
    struct flowgen g;

    flowgen_init(&g);
    for (unsigned i = 0; i < 60; i++) {
        flowgen_send(&g, 0, 64);
        flowgen_wait(&g, UINT64_C(80000000));
    }
    for (unsigned i = 0; i < 3; i++) {
        struct roce_pkt p = flowgen_put_req(&g, 0, ROCE_OP_RC_SEND_ONLY, 64);

        if (naks[i])
            flowgen_ack(&g, 1, p.bth.psn, naks[i]);
        else
            flowgen_wait(&g, UINT64_C(5000000));
        flowgen_put(&g, 0, &p);
        flowgen_ack_all(&g, 1);
    }
    checkrun_write_flow("causes.pcap", &g);
    r = checkrun("check --json - $T/causes.pcap");
    if (!strstr(r.out, "\"Connection #0 was slow: 3 packets of 131 were retransmitted, 1 because "))
        suite_fail(__FILE__, __LINE__, "%s", r.out);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.out, "; 1 because "));
    checkrun_free(&r);
}

SUITE("replay.check_headline", TEST(headline_names_the_worst_trouble),
      TEST(headlines_name_the_loss), TEST(headline_names_the_two_most_frequent_causes))
