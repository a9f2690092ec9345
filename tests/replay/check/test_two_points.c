/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* check --other-end: two captures of the same traffic at points a and b, made from one capture with
 * known losses, delays and clocks. */
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

#define READS "$C/rc-loss-read-responses.pcap"
/* The clock of point b is 3 s ahead of that of a. Each packet needs 10 us between the two
 * points. */
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
        "     0 lost before b, 1 lost behind a\n",
    };

    CHECKRUN_EXPECT("cp " READS " $T/a.pcapng; $R edit -q --impair " B_LATER " " READS
                    " $T/b.pcapng",
                    0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* Frames 3 and 19 of point a never reach point b, frame 5 is damaged on the way, and frame 6
 * arrives after frame 7. Frame 12 of b never reaches a, and frame 22 of b arrives there 40 us late.
 * The report must say so. */
static void losses_between_the_points_are_found(void)
{
    static const char *const words[] = {
        "the clock of b is 3 s ahead of a, accuracy ± 10 µs\n",
        "\n  192.0.2.1 → 192.0.2.2: 11 packets at a, 9 at b\n"
        "     2 lost, 1 damaged, 1 reordered between a and b; delay min 10 µs, median 10 µs, max ",
        "     lost between: frames 3, 18 of a\n",
        "\n  192.0.2.2 → 192.0.2.1: 16 packets at b, 15 at a\n"
        "     1 lost, 0 damaged, 0 reordered between b and a; delay min 10 µs, median 10 µs, max "
        "50 µs\n",
        "     lost between: frame 11 of b\n",
    };

    CHECKRUN_EXPECT(
        "$R edit -q --impair drop@frame=12 --impair delay=40us@frame=25 " READS
        " $T/a.pcapng; $R edit -q --impair " B_LATER
        " --impair drop@frame=3 --impair drop@frame=19 --impair corrupt=payload@frame=5 "
        "--impair reorder=1@frame=6 " READS " $T/b.pcapng",
        0, "", "");
    expect(words, sizeof(words) / sizeof(words[0]));
}

/* The JSON has the numbers of the text report, and the accuracy of the alignment of the two
 * clocks. */
static void json_has_the_figures(void)
{
    static const char *const words[] = {
        "\"clock_ahead_ns\":3000000000,\"clock_accuracy_ns\":10000,\"clocks_contradict\":false,",
        "{\"from\":\"192.0.2.1\",\"to\":\"192.0.2.2\",\"first\":\"a\",\"packets_first\":11,"
        "\"packets_second\":9,\"lost\":2,\"damaged\":1,\"reordered\":1,",
        "\"delay_ns\":{\"min\":10000,\"median\":10000,\"max\":",
        "\"lost_frames\":[3,19]}",
        "{\"from\":\"192.0.2.2\",\"to\":\"192.0.2.1\",\"first\":\"b\",\"packets_first\":16,"
        "\"packets_second\":16,\"lost\":0,\"damaged\":0,\"reordered\":0,\"lost_before\":0,"
        "\"lost_behind\":1,\"only_second\":0,\"not_compared\":0,"
        "\"delay_ns\":{\"min\":10000,\"median\":10000,\"max\":10000},\"lost_frames\":[]}",
    };
    struct checkrun r;

    CHECKRUN_EXPECT(
        "cp " READS " $T/a.pcapng; $R edit -q --impair " B_LATER
        " --impair drop@frame=3 --impair drop@frame=19 --impair corrupt=payload@frame=5 "
        "--impair reorder=1@frame=6 " READS " $T/b.pcapng",
        0, "", "");
    r = checkrun("check -q --json - $T/a.pcapng --other-end $T/b.pcapng | tail -1");
    EXPECT_EQ(r.status, 0);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strstr(r.out, words[i]))
            suite_fail(__FILE__, __LINE__, "no %s in: %s", words[i], r.out);
    checkrun_free(&r);
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

static void captures_without_a_common_packet_are_an_error(void)
{
    CHECKRUN_EXPECT("$R check -q --other-end $C/vlan.pcap " READS, 0, "", "");
    CHECKRUN_EXPECT("$R check --other-end $C/vlan.pcap " READS " | tail -1", 0,
                    "verdict: ", "vlan.pcap: has no packet of ");
    CHECKRUN_EXPECT("$R check --other-end $T/none.pcap -q " READS, 2, "", "none.pcap");
    CHECKRUN_EXPECT("$R check --other-end - " READS, 2, "", "requires a file");
    CHECKRUN_EXPECT("$R check --other-end " READS " " READS " $C/vlan.pcap", 2, "",
                    "--other-end requires one capture");
}

SUITE("replay.two_points", TEST(equal_captures_have_no_loss),
      TEST(losses_between_the_points_are_found), TEST(json_has_the_figures),
      TEST(retransmission_is_not_the_lost_packet),
      TEST(captures_without_a_common_packet_are_an_error))
