/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* check --other-end: two captures of the same traffic at points a and b, made from one capture with
 * known losses, delays and clocks. */
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

#define READS "$C/rc-loss-read-responses.pcap"
/* The clock of point b is 3 s ahead of the clock of point a. Each packet needs 10 us from one point
 * to the other. */
#define B_LATER "delay=3000010us@dir=request --impair delay=2999990us@dir=response"

static void expect(const char *const *words, size_t cnt)
{
    struct checkrun r = checkrun("check $T/a.pcapng --other-end $T/b.pcapng");

    EXPECT_EQ(r.status, 0);
    CU_ASSERT_STRING_EQUAL(r.err, "");
    for (size_t i = 0; i < cnt; i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", words[i],
                       strstr(r.out, "\ncomparison") ? strstr(r.out, "\ncomparison") : r.out);
    checkrun_free(&r);
}

static void equal_captures_have_no_loss(void)
{
    static const char *const words[] = {
        "comparison of a = ",
        "\n  the clock of b is 3 s ahead of a, accuracy ± 10 µs\n",
        "\n  192.0.2.1 → 192.0.2.2: 11 packets at a, 11 at b\n"
        "     0 lost, 0 damaged, 0 reordered between a and b; delay min 10 µs, median 10 µs, max "
        "10 µs\n",
        "\n  192.0.2.2 → 192.0.2.1: 16 packets at b, 16 at a\n"
        "     0 lost, 0 damaged, 0 reordered between b and a; delay min 10 µs, median 10 µs, max "
        "10 µs\n"
        "     0 lost before b, 1 lost or late after a\n",
    };

    CHECKRUN_EXPECT("cp " READS " $T/a.pcapng; $R edit -q --impair " B_LATER " " READS
                    " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* Frame 3 of point a never reaches point b, frame 11 is damaged on the way, and frame 12 arrives
 * after frame 13. Frame 20 of the capture, a response, passes point b and never reaches point a.
 * Frame 23, another response, reaches point a 40 us late, behind two others. The report must
 * contain all of this. */
#define SEEN "$C/rc-loss-request-seen.pcap"
#define TO_BOTH                                                                                    \
    "$R edit -q --impair drop@frame=20 --impair delay=40us@frame=23 " SEEN " $T/a.pcapng; "
#define TO_B                                                                                       \
    "$R edit -q --impair " B_LATER                                                                 \
    " --impair drop@frame=3 --impair corrupt=payload@frame=11 --impair reorder=1@frame=12 " SEEN   \
    " $T/b.pcapng"

static void losses_between_the_points_are_found(void)
{
    static const char *const words[] = {
        "the clock of b is 3 s ahead of a, accuracy ± 10 µs\n",
        "\n  192.0.2.1 → 192.0.2.2: 15 packets at a, 14 at b\n"
        "     1 lost, 1 damaged, 1 reordered between a and b; delay min 10 µs, median 10 µs, max ",
        "     0 lost before a, 0 lost or late after b\n     lost between: frame 3 of a\n",
        "\n  192.0.2.2 → 192.0.2.1: 10 packets at b, 9 at a\n"
        "     1 lost, 0 damaged, 1 reordered between b and a; delay min 10 µs, median 10 µs, max "
        "50 µs\n",
        "     lost between: frame 19 of b\n",
    };

    CHECKRUN_EXPECT(TO_BOTH TO_B, 0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* One response needs 500 us more than all other responses. A later response is lost less than 500
 * us before the end of capture a. The later response must be compared nevertheless, because it
 * passed the points between packets that both captures have. */
static void one_great_delay_hides_no_loss(void)
{
    static const char *const words[] = {
        "     1 lost, 0 damaged, 0 reordered between b and a; ",
        "     lost between: frame 22 of b\n",
    };

    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=22 --impair delay=500us@frame=16 " SEEN
                    " $T/a.pcapng; $R edit -q --impair " B_LATER " " SEEN " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* A request arrives at point b after the next request, so the responder sends a sequence NAK for
 * it. The report must count no packet as lost after point b. */
static void late_request_is_not_lost(void)
{
    static const char *const words[] = {
        "     0 lost, 0 damaged, 1 reordered between a and b; ",
        "     0 lost before a, 0 lost or late after b\n",
    };

    CHECKRUN_EXPECT("cp " SEEN " $T/a.pcapng; $R edit -q --impair " B_LATER
                    " --impair reorder=1@frame=3 " SEEN " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* The requester sends requests 0 to 3. Request 1 is lost between the points. In the go-back,
 * request 2 is lost between the points, and the responder sends a sequence NAK for it. Point b
 * captured request 2 only before the go-back, so the NAK must not count as a loss behind b. */
static void nak_for_a_lost_retransmission_shows_no_loss_behind(void)
{
    static const char *const words[] = {
        "     2 lost, 0 damaged, 0 reordered between a and b; ",
        "     0 lost before a, 0 lost or late after b\n     lost between: frames 4, 9 of a\n",
    };
    static const char psns[] = "0123!1123!223";
    struct flowgen g;
    uint32_t base;

    flowgen_init(&g);
    flowgen_send(&g, 0, 64);
    base = g.conn.psn[0];
    for (const char *c = psns; *c; c++) {
        const bool nak = *c == '!' && c++;
        const uint32_t psn = base + (uint32_t)(*c - '0');

        if (nak) {
            g.conn.msn[0] = (uint32_t)(*c - '0') + 1;
            flowgen_ack(&g, 1, psn, ROCE_SYNDROME_NAK | ROCE_NAK_PSN_SEQ);
        } else {
            struct roce_pkt p;

            g.conn.psn[0] = psn;
            p = flowgen_req(&g, 0, ROCE_OP_RC_WRITE_ONLY, 64);
            flowgen_put(&g, 0, &p);
        }
    }
    g.conn.msn[0] = 5;
    flowgen_ack_all(&g, 1);
    checkrun_write_flow("a.pcapng", &g);
    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=4 --impair drop@frame=9 $T/a.pcapng "
                    "$T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
    flowgen_free(&g);
}

/* On the way to point b, one bit of a request changes: in its headers, for example in the
 * destination QP, or in its ICRC field. The report must count the request as one damaged packet,
 * not as a lost packet and another packet that capture a lacks. */
static void damaged_headers_are_no_loss(void)
{
    static const char *const words[] = {
        "     0 lost, 1 damaged, 0 reordered between a and b; ",
    };
    static const char *const parts[] = {"header", "icrc"};

    for (unsigned i = 0; i < 8; i++) {
        char cmd[512];

        snprintf(cmd, sizeof(cmd),
                 "cp " SEEN " $T/a.pcapng; $R edit -q --seed %u --impair " B_LATER
                 " --impair corrupt=%s@frame=11 " SEEN " $T/b.pcapng",
                 i + 1, parts[i % 2]);
        CHECKRUN_EXPECT(cmd, 0, "", "");
        expect(words, 1);
    }
}

/* One bit of an IPv6 address changes on the way to point b. The report must count one damaged
 * packet. It must not claim that capture b has another direction, which capture a lacks. */
static void damaged_address_is_no_other_direction(void)
{
    static const char *const words[] = {"     0 lost, 1 damaged, 0 reordered between "};

    CHECKRUN_EXPECT("cp $C/ipv6-cm.pcap $T/a.pcapng; $R edit -q --seed 7 --impair "
                    "corrupt=frame@frame=3 $C/ipv6-cm.pcap $T/b.pcapng",
                    0, "", "");
    expect(words, 1);
    CHECKRUN_EXPECT("$R check $T/a.pcapng --other-end $T/b.pcapng | grep -c 'lacks this direction'",
                    1, "0\n", "");
}

/* Each packet passes two ports that are mirrored at point a. The copies are not compared. */
static void copies_are_not_compared(void)
{
    static const char *const words[] = {
        "     0 lost, 0 damaged, 0 reordered between a and b; ",
        ": 15 packets at a, 15 at b\n",
    };

    CHECKRUN_EXPECT("$R edit -q --impair dup " SEEN " $T/a.pcapng; $R edit -q --impair " B_LATER
                    " " SEEN " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* Capture b begins late or ends early, and each packet needs 1 ms between the points. The packets
 * that were between the points at that time are not lost. */
static void packets_outside_the_other_capture_are_not_compared(void)
{
    static const struct {
        const char *lacks, *words[2];
    } rows[] = {
        {"1..5",
         {"     0 lost, 0 damaged, 0 reordered between a and b; ",
          "     not compared: 3 packets captured before the first or after the last frame of "
          "capture b\n"}},
        {"15..25",
         {"     0 lost, 0 damaged, 0 reordered between a and b; ",
          "     not compared: 3 packets captured before the first or after the last frame of "
          "capture b\n"}},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char cmd[512];

        snprintf(cmd, sizeof(cmd),
                 "cp " SEEN " $T/a.pcapng; $R edit -q --impair delay=1ms@dir=request " SEEN
                 " $T/all.pcapng; $R edit -q --impair drop@frame=%s $T/all.pcapng $T/b.pcapng",
                 rows[i].lacks);
        CHECKRUN_EXPECT(cmd, 0, "", "");
        expect(rows[i].words, 2);
    }
}

/* The report of capture a must name one cause for a slow connection: the losses or the delay
 * between the points. It must not advise the user to search in another place. */
static void reasons_use_both_captures(void)
{
    static const struct {
        const char *impair, *words, *not ;
    } rows[] = {
        {"drop@frame=3",
         "     between the two capture points, 1 of 15 packets of 192.0.2.1 was lost\n"
         "       check this part of the path for drops",
         "check for drops"},
        {"delay=1ms@dir=request",
         "     between the two capture points, no packet of this connection was lost or damaged",
         "check this part of the path"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkrun r;

        CHECKRUN_EXPECT("cp " SEEN " $T/a.pcapng", 0, "", "");
        r = checkrun("edit -q --impair %s " SEEN " $T/b.pcapng", rows[i].impair);
        checkrun_free(&r);
        r = checkrun("check $T/a.pcapng --other-end $T/b.pcapng");
        if (!strstr(r.out, rows[i].words) || strstr(r.out, rows[i].not ))
            suite_fail(__FILE__, __LINE__, "row %zu: no \"%s\" in: %s", i, rows[i].words, r.out);
        checkrun_free(&r);
    }
}

/* The text, the members `slow` and `headline` of the JSON, and the page must all have the reasons
 * that the comparison of the captures shows. */
static void text_json_and_page_give_the_same_reasons(void)
{
    static const char *const reasons[] = {
        "between the two capture points, 1 of 15 packets of 192.0.2.1 was lost",
        "because packets were lost between the two capture points, and 192.0.2.2 asked for",
    };
    static const char *const files[] = {"$T/text", "$T/json", "$T/page.html"};

    CHECKRUN_EXPECT("cp " SEEN " $T/a.pcapng; $R edit -q --impair drop@frame=3 " SEEN
                    " $T/b.pcapng; $R check --html $T/page.html --json $T/json $T/a.pcapng "
                    "--other-end $T/b.pcapng >$T/text",
                    0, "", "");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct checkrun r = checkrun("check -q $T/a.pcapng; cat %s", files[i]);

        for (size_t k = 0; k < (i == 0 ? 1 : 2); k++) /* the text has no headline */
            if (!strstr(r.out, reasons[k]))
                suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", reasons[k], r.out);
        if (strstr(r.out, "check for drops (full queues, a priority without PFC, a bad link)"))
            suite_fail(__FILE__, __LINE__, "another reason in: %s", r.out);
        checkrun_free(&r);
    }
}

/* A responder seems slow, but the requests needed 60 ms between the points. The report must name
 * the path. */
static void slow_path_is_not_a_slow_responder(void)
{
    struct flowgen g;
    struct checkrun r;

    flowgen_init(&g);
    for (unsigned i = 0; i < 5; i++) {
        flowgen_message(&g, 0, ROCE_KIND_SEND, 64);
        flowgen_wait(&g, 60000000);
        flowgen_ack_all(&g, 1);
    }
    checkrun_write_flow("a.pcapng", &g);
    r = checkrun("edit -q --impair delay=59ms@dir=request $T/a.pcapng $T/b.pcapng");
    checkrun_free(&r);
    CHECKRUN_EXPECT("$R check $T/a.pcapng --other-end $T/b.pcapng | grep -c 'find out why'", 1,
                    "0\n", "");
    CHECKRUN_EXPECT("$R check $T/a.pcapng --other-end $T/b.pcapng", 0,
                    "a full queue or a slow link\n", "");
    flowgen_free(&g);
}

/* The page shows the comparison. */
static void page_has_the_comparison(void)
{
    CHECKRUN_EXPECT(TO_BOTH TO_B, 0, "", "");
    CHECKRUN_EXPECT("$R check -q --html $T/page.html $T/a.pcapng --other-end $T/b.pcapng; "
                    "grep -A3 'The two captures' $T/page.html",
                    0, "<pre>comparison of a = ", "");
}

/* The JSON has the numbers of the text report, and the accuracy of the alignment of the two
 * clocks. */
static void json_has_the_figures(void)
{
    static const char *const words[] = {
        "\"clock_ahead_ns\":3000000000,\"clock_accuracy_ns\":10000,\"clocks_contradict\":false,",
        "{\"from\":\"192.0.2.1\",\"to\":\"192.0.2.2\",\"first\":\"a\",\"packets_first\":15,"
        "\"packets_second\":14,\"lost\":1,\"damaged\":1,\"reordered\":1,",
        "\"delay_ns\":{\"min\":10000,\"median\":10000,\"max\":",
        "\"lost_frames\":[3]}",
        "{\"from\":\"192.0.2.2\",\"to\":\"192.0.2.1\",\"first\":\"b\",\"packets_first\":10,"
        "\"packets_second\":9,\"lost\":1,\"damaged\":0,\"reordered\":1,\"lost_before\":0,"
        "\"lost_behind\":0,\"only_second\":0,\"not_captured\":0,\"not_compared\":0,"
        "\"delay_ns\":{\"min\":10000,\"median\":10000,\"max\":50000},\"lost_frames\":[19]}",
    };
    struct checkrun r;

    CHECKRUN_EXPECT(TO_BOTH TO_B, 0, "", "");
    r = checkrun("check -q --json - $T/a.pcapng --other-end $T/b.pcapng | tail -1");
    EXPECT_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "no %s in: %s", words[i], r.out);
    checkrun_free(&r);
}

/* The requester sends each request twice, so no request occurs once in a capture. The comparison
 * must still find that the requests pass point a first. */
static void repeated_requests_show_the_first_point(void)
{
    static const char *const words[] = {
        ": 16 packets at a, 16 at b\n",
        ": 8 packets at b, 8 at a\n",
    };
    struct flowgen g;
    struct checkrun r;

    flowgen_init(&g);
    g.encap = ROCE_ENCAP_V2_IP6; /* without IP identifications, so repeated requests are equal */
    for (unsigned i = 0; i < 8; i++) {
        struct roce_pkt p = flowgen_req(&g, 0, ROCE_OP_RC_READ_REQUEST, 64);

        for (unsigned tries = 0; tries < 2; tries++) {
            flowgen_put(&g, 0, &p);
            flowgen_wait(&g, 20000000 + i * i * 5000000);
        }
        flowgen_read_resp(&g, 1, p.bth.psn, 64, 0, 0);
    }
    checkrun_write_flow("a.pcapng", &g);
    r = checkrun("edit -q --impair delay=3s@dir=request --impair delay=2998ms@dir=response "
                 "$T/a.pcapng $T/b.pcapng");
    EXPECT_EQ(r.status, 0);
    checkrun_free(&r);
    expect(words, sizeof(words) / sizeof(words[0]));
    flowgen_free(&g);
}

/* One transmission of a packet is lost, and the other has the same bytes. The time stamps must show
 * which of the two was lost. */
static void retransmission_is_not_the_lost_packet(void)
{
    static const char *const words[] = {
        "     1 lost, 0 damaged, 0 reordered between a and b; delay min 10 µs, median 10 µs, max "
        "10 µs\n",
    };

    CHECKRUN_EXPECT("cp $C/rc-retry-exhausted.pcap $T/a.pcapng; "
                    "$R edit -q --impair " B_LATER " --impair drop@frame=3 "
                    "$C/rc-retry-exhausted.pcap $T/b.pcapng",
                    0, "", "");
    expect(words, 1);
}

/* The last packet never reaches point b, whose capture continues with frames of another protocol:
 * the packet is lost. This loss is the one that ends a connection with exhausted retries. */
static void loss_of_the_last_packet_is_found(void)
{
    static const char *const words[] = {
        "\n  192.0.2.1 → 239.1.2.3: 4 packets at a, 3 at b\n     1 lost, ",
        "     lost between: frame 8 of a\n",
    };

    CHECKRUN_EXPECT("cp $C/mckey.pcap $T/a.pcapng; $R edit -q --impair drop@frame=8 $C/mckey.pcap "
                    "$T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* Capture b lacks frame 3, a request. The acknowledgement passes b, and the requester sends no
 * retransmission. So the capture missed the packet: a loss in the network would be followed by a
 * retransmission. */
static void packets_that_a_capture_missed_are_not_lost(void)
{
    static const char *const words[] = {
        "     0 lost, 0 damaged, 0 reordered between a and b; delay min ",
        "     not captured: frame 3 of a\n"
        "     not captured at b: 1 packet, which the receiver acknowledged\n",
    };

    CHECKRUN_EXPECT("cp $C/rc-send-sizes.pcap $T/a.pcapng; $R edit -q --impair " B_LATER
                    " --impair drop@frame=3 $C/rc-send-sizes.pcap $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* Point B captured only the requests (one port of a mirror). The responses had already passed point
 * B when point A captured them, so they are not lost between the points. */
static void direction_that_a_capture_lacks_is_not_lost(void)
{
    static const char *const words[] = {
        "\n  192.0.2.2 → 192.0.2.1: 0 packets at b, 16 at a\n     0 lost, ",
        "     only at a: 16 packets, which b did not capture\n",
        "     the capture at b lacks this direction\n",
    };

    CHECKRUN_EXPECT("cp " READS " $T/a.pcapng; $R edit -q --impair drop@dir=response " READS
                    " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

static void captures_without_a_common_packet_are_an_error(void)
{
    CHECKRUN_EXPECT("$R check -q --other-end $C/vlan.pcap " READS, 0, "", "");
    CHECKRUN_EXPECT("$R check --other-end $C/vlan.pcap " READS " | tail -1", 0,
                    "verdict: ", "vlan.pcap: has no packet of ");
    CHECKRUN_EXPECT("$R check --other-end $T/none.pcap -q " READS, 2, "", "none.pcap");
    CHECKRUN_EXPECT("$R check --shard 2/2 --other-end " READS " " READS, 2, "",
                    "--shard and --other-end cannot be combined");
    CHECKRUN_EXPECT("$R check --other-end - " READS, 2, "", "requires a file");
    CHECKRUN_EXPECT("$R check --other-end " READS " " READS " $C/vlan.pcap", 2, "",
                    "--other-end requires one capture");
}

SUITE("replay.two_points", TEST(equal_captures_have_no_loss),
      TEST(losses_between_the_points_are_found), TEST(one_great_delay_hides_no_loss),
      TEST(late_request_is_not_lost), TEST(nak_for_a_lost_retransmission_shows_no_loss_behind),
      TEST(damaged_headers_are_no_loss), TEST(damaged_address_is_no_other_direction),
      TEST(copies_are_not_compared), TEST(reasons_use_both_captures),
      TEST(text_json_and_page_give_the_same_reasons), TEST(slow_path_is_not_a_slow_responder),
      TEST(page_has_the_comparison), TEST(packets_outside_the_other_capture_are_not_compared),
      TEST(json_has_the_figures), TEST(retransmission_is_not_the_lost_packet),
      TEST(repeated_requests_show_the_first_point), TEST(loss_of_the_last_packet_is_found),
      TEST(packets_that_a_capture_missed_are_not_lost),
      TEST(direction_that_a_capture_lacks_is_not_lost),
      TEST(captures_without_a_common_packet_are_an_error))
