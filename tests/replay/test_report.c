/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The report of rocedrill replay for people. */
#include <string.h>
#include "checkrun.h"
#include "support/suite.h"

/* A recording in which one atomic's answer was altered on its way to our requester. */
#define ALTER                                                                                      \
    "$R replay -q --side requester --edit set=atomicacketh.orig=9@psn=+10,dir=response "           \
    "--record $T/a.pcapng $C/demo-conversation.pcap && "

/* Around the first difference: both directions, frame numbers, relative PSNs, what was expected of
 * which field and what came, the rule, and the command that shows it again. */
static void a_difference_is_told_whole(void)
{
    static const char *const parts[] = {
        "difference ",
        "frame 16: atomicacketh.orig: expected 0x9, actual 0x5",
        "answers frame 15 (Fetch and Add PSN 1464518)",
        "[R122]",
        "192.0.2.1 QP 0x000017   ",
        "       15  0.020360 ├─ Fetch and Add PSN +10 va 0x7f0e4c591000",
        "       16  0.020541 │◀",
        "MSN 5 original 0x9 ─┤ ✗\n                    │    atomicacketh.orig: expected 0x9, ",
        "actual 0x5\n       17  ",
        "verdict: FAIL (0 connections held, 1 differed, 0 skipped)",
        "again with: rocedrill replay --ladder '",
    };
    struct checkrun run = checkrun_shell(ALTER "$R replay $T/a.pcapng");

    EXPECT_EQ(run.status, 1);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(run.out, parts[i]))
            suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", parts[i], run.out);
    /* Frames that have nothing to do with it are not in the way. */
    CU_ASSERT_PTR_NULL(strstr(run.out, "        1  0.000000 ├─"));
    checkrun_free(&run);
}

/* That command shows it again, with the whole conversation. */
static void the_command_shows_it_again(void)
{
    CHECKRUN_EXPECT(ALTER
                    "sh -c \"$($R replay $T/a.pcapng | sed -n 's|^again with: rocedrill|$R|p')\"",
                    1, "        1  0.000000 ├─", "");
}

/* JSON has the same for programs. */
static void json_tells_the_same(void)
{
    CHECKRUN_EXPECT(ALTER "$R replay --json - $T/a.pcapng | python3 -c 'import json,sys; "
                          "d=json.load(sys.stdin)[\"captures\"][0][\"differences\"][0]; "
                          "print(d[\"frame\"], d[\"field\"], d[\"expected\"], d[\"actual\"], "
                          "d[\"rule\"])'",
                    0, "16 atomicacketh.orig 0x9 0x5 R122", "");
}

SUITE("replay.report", TEST(a_difference_is_told_whole), TEST(the_command_shows_it_again),
      TEST(json_tells_the_same))
