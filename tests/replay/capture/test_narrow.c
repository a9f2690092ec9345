/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The options that select frames (--first, --from, --to, --host, --connection), and `check
 * FOLDER`. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

/* Four connections without CM messages; two connections with CM messages. */
#define FOUR "$C/multi-qp.pcap"
#define TWO  "$C/ucmatose.pcap"

/* Asserts that two shell commands print the same. */
static void expect_same(const char *a, const char *b)
{
    struct checkrun x = checkrun_shell("%s", a), y = checkrun_shell("%s", b);

    CU_ASSERT_TRUE(x.out[0] != '\0');
    if (strcmp(x.out, y.out) != 0)
        suite_fail(__FILE__, __LINE__, "%s prints\n%s%s prints\n%s", a, x.out, b, y.out);
    checkrun_free(&x);
    checkrun_free(&y);
}

static void run_quietly(const char *command)
{
    struct checkrun r = checkrun_shell("%s", command);

    EXPECT_EQ(r.status, 0);
    checkrun_free(&r);
}

static void first_frames_are_selected(void)
{
    expect_same("\"$R\" decode --first 5 " FOUR, "\"$R\" decode " FOUR " | sed -n 1,5p");
    expect_same("\"$R\" decode --first 1000 " FOUR, "\"$R\" decode " FOUR);
    expect_same("cat " FOUR " | \"$R\" decode --first 1 -", "\"$R\" decode " FOUR " | sed -n 1p");
    CHECKRUN_EXPECT("\"$R\" check --first 4 " FOUR, 0, "4 frames, 4 RoCE packets", "");
    CHECKRUN_EXPECT("cat " FOUR " | \"$R\" check --first 4 -", 0, "4 frames, 4 RoCE packets", "");
}

static void times_are_after_the_first_frame(void)
{
    expect_same("\"$R\" decode --from 1ms --to 0.0011s " FOUR,
                "\"$R\" decode " FOUR " | awk '$2 >= 0.001 && $2 <= 0.0011'");
    expect_same("\"$R\" decode --from 1.1ms " FOUR, "\"$R\" decode " FOUR " | awk '$2 >= 0.0011'");
    expect_same("\"$R\" decode --to 0 " FOUR, "\"$R\" decode --first 1 " FOUR);
    expect_same("\"$R\" decode --to 500us " FOUR, "\"$R\" decode --to 500000ns " FOUR);
}

static void host_is_source_or_destination(void)
{
    expect_same("\"$R\" decode --host 239.1.2.3 $C/mckey.pcap",
                "\"$R\" decode $C/mckey.pcap | grep -F 239.1.2.3");
    expect_same("\"$R\" decode --host 2001:db8::2 $C/ipv6.pcap", "\"$R\" decode $C/ipv6.pcap");
    expect_same("\"$R\" decode --host 192.0.2.1 $C/vlan.pcap --host 203.0.113.1",
                "\"$R\" decode $C/vlan.pcap | grep -F 203.0.113.1");
    CHECKRUN_EXPECT("\"$R\" decode --host 192.0.2.99 $C/vlan.pcap", 0, "",
                    "vlan.pcap: note: no RoCE packet in ");
}

/* Runs with `--connection N`, one for each connection N, select each frame of the capture exactly
 * once. */
static void connections_divide_the_capture(void)
{
    expect_same("for n in 0 2 4 5; do \"$R\" decode --connection $n " FOUR "; done | sort -n",
                "\"$R\" decode " FOUR);
    expect_same("for n in 1 2; do \"$R\" decode --connection $n " TWO "; done | sort -n",
                "\"$R\" decode " TWO);
}

static void connection_includes_its_cm_messages(void)
{
    expect_same("\"$R\" decode --connection 2 " TWO " | grep -o 'CM [A-Z]*'",
                "printf 'CM REQ\\nCM REP\\nCM RTU\\nCM DREQ\\nCM DREP\\n'");
    CHECKRUN_EXPECT("\"$R\" check --connection 2 " TWO, 0,
                    "192.0.2.1 QP 0x00006e ↔ 192.0.2.2 QP 0x0000bb", "");
    CHECKRUN_EXPECT("\"$R\" check --connection 2 " TWO " | grep -c 0x00006d", 1, "0\n", "");
    CHECKRUN_EXPECT("\"$R\" replay -p linux-rxe-6.1 --connection 2 " TWO, 0,
                    "verdict: PASS (2 directions passed, 0 failed, 0 skipped; 4 streams passed, 0 "
                    "failed, 0 skipped; 1 exchange passed",
                    "");
}

static void frames_keep_their_numbers(void)
{
    CHECKRUN_EXPECT("\"$R\" check -v -p linux-rxe-6.1 --from 60ms $C/rc-loss-read-responses.pcap",
                    0, "frames 19..27", "");
    CHECKRUN_EXPECT("\"$R\" check --json - --connection 5 " FOUR, 0, "\"first_frame\":12", "");
}

/* --connection N selects the connection that has number N in the whole capture, also if other
 * options select frames. It also selects a connection that the peer rejected. */
static void connection_is_that_of_the_whole_capture(void)
{
    expect_same("\"$R\" decode --connection 4 --from 5.45ms " FOUR,
                "\"$R\" decode --connection 4 " FOUR " | awk '$2 >= 0.00545'");
    expect_same("\"$R\" decode --connection 1 $C/cm-reject-no-listener.pcap | grep -o 'CM [A-Z]*'",
                "printf 'CM REQ\\nCM REJ\\n'");
}

/* The printed Wireshark filter names the connection by its number in the whole capture, because
 * Wireshark numbers the connections of the whole capture. The filter also contains the selected
 * addresses and times. */
static void filters_for_wireshark_fit_the_whole_capture(void)
{
    CHECKRUN_EXPECT("\"$R\" check --connection 1 $C/cm-lost-peer.pcap", 0,
                    "Wireshark: roce.stream == 1 && frame.number in {", "");
    CHECKRUN_EXPECT("\"$R\" check --first 27 $C/rc-loss-read-responses.pcap", 0,
                    "Wireshark: frame.number in {1..27} && roce.analysis.timeout_retransmission",
                    "");
    CHECKRUN_EXPECT("\"$R\" check --host 192.0.2.1 $C/rc-loss-read-responses.pcap", 0,
                    "Wireshark: frame.number in {1..27} && ip.addr == 192.0.2.1 && roce.analysis.",
                    "");
    CHECKRUN_EXPECT("\"$R\" check --connection 0 --first 27 $C/rc-loss-read-responses.pcap", 0,
                    "Wireshark: roce.stream == 0 && frame.number in {1..27} && roce.analysis.", "");
}

/* `plot` draws only the selected frames: its picture differs from the picture of the whole capture.
 * */
static void plot_draws_the_selected_frames(void)
{
    static const char *const options[] = {"--first 9", "--from 60ms", "--to 60ms"};
    const char *plot = "\"$R\" plot --connection 0 --svg - $C/rc-loss-read-responses.pcap";

    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        struct checkrun all = checkrun_shell("%s", plot);
        struct checkrun some = checkrun_shell("%s %s", plot, options[i]);

        EXPECT_EQ(some.status, 0);
        CU_ASSERT_TRUE(strlen(some.out) < strlen(all.out));
        checkrun_free(&all);
        checkrun_free(&some);
    }
    CHECKRUN_EXPECT("\"$R\" plot --connection 0 --svg - --host 192.0.2.9 " FOUR, 2, "",
                    "selects no RoCE packet");
}

static void wrong_selections_are_refused(void)
{
    static const char *const wrong[][2] = {
        {"check --first 0 " FOUR, "--first 0: not a number of frames"},
        {"check --first x " FOUR, "--first x: not a number of frames"},
        {"check --first 5000000000 " FOUR, "--first 5000000000: not a number of frames"},
        {"decode --from 1x " FOUR, "--from 1x: not a time"},
        {"decode --to -1 " FOUR, "--to -1: not a time"},
        {"decode --to 1.2.3 " FOUR, "--to 1.2.3: not a time"},
        {"decode --to inf " FOUR, "--to inf: not a time"},
        {"decode --to 99999999999 " FOUR, "--to 99999999999: not a time"},
        {"replay --host 1.2.3 " FOUR, "--host 1.2.3: not an IP address"},
        {"plot --from x --svg - " FOUR, "plot: --from x: not a time"},
        {"check --connection x " FOUR, "--connection x: not a number"},
        {"check --connection 99 " FOUR, "multi-qp.pcap: no connection 99"},
        {"check --connection 0 - <" FOUR, "--connection requires a file"},
        {"check --connection 0 " FOUR " " TWO, "--connection requires one capture"},
        {"replay --connection 0 " FOUR " " TWO, "--connection requires one capture"},
        {"decode --connection 0 " FOUR " " TWO, "--connection requires one capture"},
        {"replay --first 4 $C/..", "require captures, not a folder"},
        {"check -q --host 192.0.2.9 " FOUR, "selects no RoCE packet"},
        {"check --connection 0 $T/none", "none: No such file"},
    };

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct checkrun r = checkrun("%s", wrong[i][0]);

        if (r.status != 2 || !checkrun_complains(&r, wrong[i][1]))
            suite_fail(__FILE__, __LINE__, "%s: status %d, %s", wrong[i][0], r.status, r.err);
        checkrun_free(&r);
    }
}

/* `check FOLDER` takes the peer from the manifest. Without a manifest, check recognises that
 * rping.pcap is from Linux, but not from which kernel version. */
static void folder_is_checked_with_its_manifest(void)
{
    run_quietly("mkdir -p $T/folder/captures $T/empty; cp $C/rc-loss-atomic-write.pcap "
                "$C/rping.pcap $T/folder/captures");
    CHECKRUN_EXPECT("\"$R\" check $T/folder", 0, "known deviations of linux-rxe)", "");
    run_quietly("grep -e ^file -e ^rping.pcap $C/../manifest.tsv >$T/folder/manifest.tsv");
    CHECKRUN_EXPECT("\"$R\" check $T/folder", 0, "known deviations of linux-rxe-6.1)", "");
    CHECKRUN_EXPECT("\"$R\" check $T/folder", 0, "2 captures: 2 passed\n", "");
    CHECKRUN_EXPECT("\"$R\" check --quirks none $T/folder", 1, "2 captures: 1 passed, 1 failed\n",
                    "");
    CHECKRUN_EXPECT("\"$R\" check -q --junit - $T/folder | grep -c '<testsuite '", 0, "2\n", "");
    CHECKRUN_EXPECT("\"$R\" check $T/empty", 2, "", "the folder contains no capture");
}

SUITE("replay.narrow", TEST(first_frames_are_selected), TEST(times_are_after_the_first_frame),
      TEST(host_is_source_or_destination), TEST(connections_divide_the_capture),
      TEST(connection_includes_its_cm_messages), TEST(frames_keep_their_numbers),
      TEST(connection_is_that_of_the_whole_capture),
      TEST(filters_for_wireshark_fit_the_whole_capture), TEST(plot_draws_the_selected_frames),
      TEST(wrong_selections_are_refused), TEST(folder_is_checked_with_its_manifest))
