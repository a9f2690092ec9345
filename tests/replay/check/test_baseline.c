/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* check --baseline: compares the performance in a capture with the performance in an earlier
 * capture. The captures are copies of one capture, with later responses. */
#include "replay/checkrun.h"
#include "support/suite.h"

#define OLD "$C/rc-write-sizes.pcap"
#define NEW "$T/new.pcap"

/* Writes the file NEW: a copy of OLD in which each response is 1 s later. */
#define MAKE_NEW "$R edit -q --impair delay=1s@dir=response " OLD " " NEW "; "

static void equal_captures_are_as_fast(void)
{
    CHECKRUN_EXPECT("$R check " OLD " --baseline " OLD " --fail-on slower=1", 0,
                    "rc-write-sizes.pcap:\n  → as fast: ", "");
    CHECKRUN_EXPECT("$R check " OLD " --baseline " OLD " | grep -c '(+0 %), median latency'", 0,
                    "1", "");
}

static void later_responses_are_slower(void)
{
    CHECKRUN_EXPECT(MAKE_NEW "$R check " NEW " --baseline " OLD, 0, "  → slower: ", "");
    CHECKRUN_EXPECT("$R check " NEW " --baseline " OLD " --fail-on slower=20", 1,
                    "  → slower: ", "");
    CHECKRUN_EXPECT("$R check " OLD " --baseline " NEW " --fail-on slower=20%", 0,
                    "  → faster: ", "");
    CHECKRUN_EXPECT("$R check -q --json - " NEW " --baseline " OLD
                    " | tail -n 1 | grep -o '\"result\":\"[a-z ]*\"' | sort | uniq -c",
                    0, "2 \"result\":\"slower\"", "");
}

static void slower_capture_is_a_failure_of_junit(void)
{
    CHECKRUN_EXPECT(MAKE_NEW "$R check --junit - " NEW " --baseline " OLD " --fail-on slower=20", 1,
                    "<failure type=\"slower\" message=\"slower: ", "");
    CHECKRUN_EXPECT("$R check --junit - " NEW " --baseline " OLD, 0, "<system-out>slower: ", "");
}

/* The option --fail-on slower does not replace an option --fail-on for another result: with
 * --fail-on slow, a slow connection still causes exit status 1. */
static void slower_does_not_replace_other_results(void)
{
    CHECKRUN_EXPECT("$R check $C/rc-loss-request-last.pcap --baseline "
                    "$C/rc-loss-request-last.pcap --fail-on slower=5 --fail-on slow",
                    1, "as fast", "");
}

/* In the new capture, connection #0 of the old capture begins last, so the numbers of all
 * connections differ. `check` must compare each new connection with the old connection that has the
 * same addresses and transferred the same messages. */
static void connections_are_paired_by_addresses_and_work(void)
{
#define LATE                                                                                       \
    "$R edit -q --impair delay=200ms@frame=1..5 $C/multi-qp.pcap $T/late.pcapng; "                 \
    "$R check -v $T/late.pcapng --baseline $C/multi-qp.pcap"
    CHECKRUN_EXPECT(LATE, 0, "QP 0x000027 ↔ 192.0.2.2 QP 0x000074, before #0: slower: ", "");
    CHECKRUN_EXPECT(LATE " | grep -c ', before #[245]: as fast: '", 0, "3", "");
    CHECKRUN_EXPECT("$R check -v $C/multi-qp.pcap --baseline $C/multi-qp.pcap | grep -c "
                    "'^  #[0-9]* RC .*: as fast: '",
                    0, "4", "");
#undef LATE
}

static void connections_without_a_counterpart_are_named(void)
{
    CHECKRUN_EXPECT("$R check $C/multi-qp.pcap --baseline " OLD, 0,
                    "  connections: 1 → 4, of which 1 can be compared\n  only in ", "");
    CHECKRUN_EXPECT("$R check $C/multi-qp.pcap --baseline " OLD " | grep -c '^  only in .*multi'",
                    0, "3", "");
    CHECKRUN_EXPECT("$R check -q --json - $C/multi-qp.pcap --baseline " OLD
                    " | tail -n 1 | grep -o '\"only_old\".*'",
                    0, "\"only_old\":[],\"only_new\":[2,4,5]}", "");
}

static void wrong_uses_are_refused(void)
{
    checkrun_refused("check --baseline $T/none.pcap -q " OLD, "none.pcap");
    checkrun_refused("check --fail-on slower=5 " OLD, "--fail-on slower requires --baseline");
    checkrun_refused("check --baseline " OLD " --fail-on slower=x " OLD,
                     "not a percentage above 0");
    checkrun_refused("check --baseline " OLD " " OLD " " OLD, "--baseline requires one capture");
    checkrun_refused("check --baseline " OLD " --connection 0 " OLD, "cannot be combined");
    checkrun_refused("check --shard 2/2 --baseline " OLD " " OLD,
                     "--shard and --baseline cannot be combined");
    CHECKRUN_EXPECT("$R edit -q --impair drop@dir=response " OLD " $T/requests.pcap; "
                    "$R check -q --baseline $T/requests.pcap " OLD,
                    2, "", "requests.pcap: no completed message to compare");
}

SUITE("replay.baseline", TEST(equal_captures_are_as_fast), TEST(later_responses_are_slower),
      TEST(slower_capture_is_a_failure_of_junit), TEST(slower_does_not_replace_other_results),
      TEST(connections_are_paired_by_addresses_and_work),
      TEST(connections_without_a_counterpart_are_named), TEST(wrong_uses_are_refused))
