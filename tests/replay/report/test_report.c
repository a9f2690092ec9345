/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Text report of `rocedrill replay`. */
#include <stdio.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

/* Command that records a closed loop in which an Atomic ACK was altered before our requester
 * received it. */
#define ALTER                                                                                      \
    "$R replay -q --side requester --impair set=atomicacketh.orig=9@psn=+10,dir=response "         \
    "--record $T/a.pcapng $C/demo-conversation.pcap && "

/* The report must explain the first difference. It shows the frames of both directions around the
 * difference, with frame numbers and relative PSNs, the PSN from which they count, the field with
 * the recorded and the replayed value, and the rule. It ends with a command that shows the
 * difference again. */
static void first_difference_is_explained(void)
{
    static const char *const parts[] = {
        "difference ",
        "frame 16: atomicacketh.orig: recorded 0x9, replayed 0x5",
        "response to frame 15 (Fetch and Add PSN 1464518)",
        "[RC-RSP-122]",
        "\n                    PSN +0 is PSN 1464508\n",
        "192.0.2.1 QP 0x000017   ",
        "       15  0.020360 ├─ Fetch and Add PSN +10 va 0x7f0e4c591000",
        "       16  0.020541 │◀",
        "MSN 5 original 0x9 ─┤ ✗\n                    │    atomicacketh.orig: recorded 0x9, ",
        "replayed 0x5\n       17  ",
        "verdict: FAIL (0 directions passed, 1 failed, 0 skipped)",
        "to repeat: rocedrill replay --ladder '",
    };
    struct checkrun run = checkrun_shell(ALTER "$R replay $T/a.pcapng");

    EXPECT_EQ(run.status, 1);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        if (!strstr(run.out, parts[i]))
            suite_fail(__FILE__, __LINE__, "no \"%s\" in: %s", parts[i], run.out);
    /* Frames far from the difference are not shown. */
    CU_ASSERT_PTR_NULL(strstr(run.out, "        1  0.000000 ├─"));
    checkrun_free(&run);
}

/* A capture has a difference and, in earlier frames, known deviations. The difference must be
 * printed first. */
static void difference_precedes_known_deviations(void)
{
    struct checkrun run = checkrun_shell("$R edit -q --impair set=aeth.msn=9@frame=27 "
                                         "$C/rc-loss-read-responses.pcap $T/b.pcapng && "
                                         "$R replay $T/b.pcapng");
    const char *difference = strstr(run.out, "  difference "),
               *known = strstr(run.out, "  known deviation D4 "),
               *evidence = strstr(run.out, "recognised as Linux rxe");

    EXPECT_EQ(run.status, 1);
    if (!difference || !known || !evidence || difference > known || known > evidence)
        suite_fail(__FILE__, __LINE__, "%s", run.out);
    checkrun_free(&run);
}

/* The difference of a connection precedes the inferred setup. */
static void difference_precedes_the_setup(void)
{
    struct checkrun run = checkrun_shell(ALTER "$R replay $T/a.pcapng");
    const char *setup = strstr(run.out, "\n  captured  "),
               *difference = strstr(run.out, "\n  difference ");

    if (!difference || !setup || difference > setup || strstr(difference + 2, "\n  difference "))
        suite_fail(__FILE__, __LINE__, "%s", run.out);
    checkrun_free(&run);
}

/* The command in the report prints the difference with all frames of the conversation. */
static void printed_command_shows_the_difference_again(void)
{
    CHECKRUN_EXPECT(ALTER
                    "sh -c \"$($R replay $T/a.pcapng | sed -n 's|^to repeat: rocedrill|$R|p')\"",
                    1, "        1  0.000000 ├─", "");
}

/* A response with an altered field is a difference. The report must not also count it as missing.
 */
static void altered_response_is_not_missing(void)
{
    static const char *const alterations[] = {"aeth.msn=9", "bth.psn=300", "atomicacketh.orig=7",
                                              "aeth.syndrome=0x60"};

    for (size_t i = 0; i < sizeof(alterations) / sizeof(alterations[0]); i++) {
        struct checkrun run =
            checkrun_shell("$R edit -q --impair set=%s@frame=8 $C/rc-atomics.pcap "
                           "$T/altered.pcap; $R replay $T/altered.pcap",
                           alterations[i]);

        EXPECT_EQ(run.status, 1);
        if (strstr(run.out, "missing") || strstr(run.out, "that the capture lacks"))
            suite_fail(__FILE__, __LINE__, "%s: %s", alterations[i], run.out);
        checkrun_free(&run);
    }
}

/* `check` and `replay` name a wrong MSN by the same rule. */
static void check_and_replay_name_one_rule(void)
{
    static const struct {
        unsigned msn;
        const char *rule;
    } rows[] = {{9, "RC-RSP-104"}, {1, "RC-RSP-102"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct checkrun run = checkrun_shell(
            "$R edit -q --impair set=aeth.msn=%u@frame=8 $C/rc-atomics.pcap $T/msn.pcap; "
            "for i in check replay; do $R $i $T/msn.pcap | grep -o 'RC-RSP-10[0-9]' | uniq; done",
            rows[i].msn);
        char both[32];

        snprintf(both, sizeof(both), "%s\n%s\n", rows[i].rule, rows[i].rule);
        CU_ASSERT_STRING_EQUAL(run.out, both);
        checkrun_free(&run);
    }
}

static void json_report_has_the_facts_of_the_text(void)
{
    CHECKRUN_EXPECT(ALTER "$R replay --json - $T/a.pcapng | python3 -c 'import json,sys; "
                          "d=json.load(sys.stdin)[\"captures\"][0][\"differences\"][0]; "
                          "print(d[\"frame\"], d[\"field\"], d[\"recorded\"], d[\"replayed\"], "
                          "d[\"rule\"])'",
                    0, "16 atomicacketh.orig 0x9 0x5 RC-RSP-122", "");
}

/* The JSON report lists what the replay took from the capture, because our RNIC cannot decide it.
 * For a responder, these are NAKs and lost requests. For a requester, these are go-backs,
 * responses that were lost after the capture point, and responses that the capture lacks. If there
 * are none, the report lacks the member taken_from_capture. */
static void json_names_what_is_taken_from_the_capture(void)
{
#define TAKEN_BY(side, name)                                                                       \
    "$R replay -q --json - $C/" name ".pcap | python3 -c 'import json,sys; "                       \
    "print([d[\"as_" side "\"].get(\"taken_from_capture\") "                                       \
    "for d in json.load(sys.stdin)[\"captures\"][0][\"directions\"]])'"
#define TAKEN(name) TAKEN_BY("responder", name)

    CHECKRUN_EXPECT(TAKEN("rc-bad-rkey-write"), 0,
                    "[{'nak': {'frame': 6, 'syndrome': 'NAK, remote access error'}}", "");
    CHECKRUN_EXPECT(TAKEN("rc-rnr-pipeline"), 0, "'rnr_naks': {'count': ", "");
    CHECKRUN_EXPECT(TAKEN("rc-loss-request-seen"), 0, "'lost_requests': {'count': ", "");
    CHECKRUN_EXPECT(TAKEN("demo-conversation"), 0, "[None", "");
    CHECKRUN_EXPECT(TAKEN_BY("requester", "rc-loss-acks"), 0,
                    "[{'restarts': {'count': 3, 'first_frame': 3}, "
                    "'lost_responses': {'count': 3, 'first_frame': 2}}]",
                    "");
    CHECKRUN_EXPECT(TAKEN_BY("requester", "rc-rnr-pipeline"), 0, "[{'restarts': {'count': 4", "");
    CHECKRUN_EXPECT(
        TAKEN_BY("requester", "../../tests/replay/linux/captures/atomics-of-copies-reordered"), 0,
        "'missing_responses': {'count': 1, 'first_frame': 49}", "");
    CHECKRUN_EXPECT(TAKEN_BY("requester", "demo-conversation"), 0, "[None", "");
#undef TAKEN
#undef TAKEN_BY
}

/* Commands with a file name that has a line feed, an escape character, invalid UTF-8 and a
 * quote. */
#define ODD                                                                                        \
    "n=$(printf \"two\\nlines\\033[31m\\377it's.pcapng\") && cp $T/a.pcapng \"$T/$n\" && cd $T "   \
    "&& "
#define ODD_SHOWN "two\\nlines\\x1b[31m\\xffit's.pcapng"

/* The report of a file with an odd name (ODD) must print the name with escapes. The command in the
 * report must still find the file. */
static void odd_file_name_is_escaped(void)
{
    struct checkrun run = checkrun_shell(ALTER ODD "$R replay \"$n\"");
    struct checkrun again = checkrun_shell(
        ALTER ODD "bash -c \"$($R replay \"$n\" | sed -n 's|^to repeat: rocedrill|$R|p')\"");

    EXPECT_EQ(run.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(run.out, "  difference " ODD_SHOWN ": frame 16: "));
    CU_ASSERT_PTR_NULL(strchr(run.out, '\x1b'));
    EXPECT_EQ(again.status, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(again.out, ODD_SHOWN));
    checkrun_free(&run);
    checkrun_free(&again);
    /* The printed command works in any POSIX shell if the file name has a single quote. */
    CHECKRUN_EXPECT(ALTER "cp $T/a.pcapng \"$T/it's.pcapng\" && sh -c \"$($R replay "
                          "\"$T/it's.pcapng\" | sed -n 's|^to repeat: rocedrill|$R|p')\"",
                    1, "        1  0.000000 ├─", "");
}

/* A replay works for a file name with odd bytes, also with several files and with JSON output. JSON
 * must be UTF-8. */
static void odd_file_name_is_replayed(void)
{
    CHECKRUN_EXPECT(ALTER ODD "$R replay -q --json - \"$n\" \"$n\" | python3 -c 'import json,sys; "
                              "all=json.load(sys.stdin)[\"captures\"]; "
                              "print([(c[\"file\"], c[\"verdict\"]) for c in all])'",
                    0,
                    "[(\"two\\nlines\\x1b[31m?it's.pcapng\", 'FAIL'), "
                    "(\"two\\nlines\\x1b[31m?it's.pcapng\", 'FAIL')]",
                    "");
    CHECKRUN_EXPECT(ALTER ODD
                    "$R replay -q --dump-setup setup.json \"$n\"; grep -c '\"file\"' setup.json",
                    0, "1", "");
}

/* A snaplen cuts all packets to 60 bytes: the replay compares only the headers, and the report says
 * before any verdict that the payload is not compared. */
static void report_says_that_cut_payload_is_not_compared(void)
{
    CHECKRUN_EXPECT("python3 -c 'import struct,sys; b=open(sys.argv[1],\"rb\").read(); o=b[:24]; "
                    "i=24\nwhile i<len(b):\n s,t,c,w=struct.unpack_from(\"<4I\",b,i); n=min(c,60); "
                    "o+=struct.pack(\"<4I\",s,t,n,w)+b[i+16:i+16+n]; i+=16+c\n"
                    "open(sys.argv[2],\"wb\").write(o)' $C/rc-loss-request-last.pcap $T/cut.pcap; "
                    "$R replay $T/cut.pcap | head -n 2",
                    0,
                    "cut.pcap: 13 frames, 13 RoCE packets\n"
                    "payload not compared: 8 packets are cut to 60 bytes; the headers are "
                    "compared\n",
                    "");
    CHECKRUN_EXPECT("$R import --to $T/cuts $T/cut.pcap", 0,
                    "replay: PASS\npayload not compared: 8 packets are cut; ", "");
    CHECKRUN_EXPECT("$R replay $T/cuts", 0,
                    "; all as expected\npayload not compared in 1 capture with cut packets\n", "");
}

/* A capture lacks the two packets of a READ response, or the last ACK, and no loss explains this.
 * The verdict, the summary of a folder and the JSON report count the missing responses. */
static void missing_responses_are_counted(void)
{
    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=14 --impair drop@frame=15 "
                    "$C/demo-conversation.pcap $T/lacks.pcapng && $R replay $T/lacks.pcapng",
                    0, "); 2 responses missing in the capture, not compared\n", "");
    CHECKRUN_EXPECT("mkdir $T/lack && cp $T/lacks.pcapng $T/lack && $R replay $T/lack", 0,
                    "; all as expected\n2 responses missing in 1 capture, not compared\n", "");
    CHECKRUN_EXPECT("$R replay -q --json - $T/lack | python3 -c 'import json,sys; "
                    "print(json.load(sys.stdin)[\"summary\"][\"responses_missing\"])'",
                    0, "2\n", "");
    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=13 $C/rc-loss-request-last.pcap "
                    "$T/last.pcapng && $R replay $T/last.pcapng",
                    0, "); 1 response missing in the capture, not compared\n", "");
    CHECKRUN_EXPECT("$R replay $C/rc-loss-request-last.pcap", 0, "0 failed, 0 skipped)\n", "");
}

/* The last response has a wrong ICRC, for example because a user altered it with a hex editor. The
 * verdict and the summary of a folder, with and without JSON, count it. */
static void damaged_responses_are_counted(void)
{
    CHECKRUN_EXPECT("$R edit -q --impair corrupt=icrc@frame=18 $C/rc-atomics.pcap $T/hex.pcap && "
                    "$R replay $T/hex.pcap",
                    0, "; 1 damaged response not compared\n", "");
    CHECKRUN_EXPECT("mkdir $T/hexes && cp $T/hex.pcap $T/hexes && $R replay $T/hexes", 0,
                    "\n1 damaged response in 1 capture, not compared\n", "");
    CHECKRUN_EXPECT("$R replay --jobs 2 --json $T/hexes.json $T/hexes", 0,
                    "\n1 damaged response in 1 capture, not compared\n", "");
    CHECKRUN_EXPECT("$R replay $C/rc-atomics.pcap", 0, "0 failed, 0 skipped)\n", "");
}

/* One of four connections has a difference. Only -v and --ladder print the connections that pass.
 */
static void report_of_a_fail_omits_directions_that_pass(void)
{
    CHECKRUN_EXPECT("$R edit -q --impair set=aeth.msn=7@frame=24 $C/multi-qp.pcap $T/one.pcap; "
                    "$R replay $T/one.pcap | grep -E '^connection|^not printed|^verdict'",
                    0,
                    "connection #4: requester 192.0.2.1 QP 0x000029 → responder 192.0.2.2 QP "
                    "0x000076\nnot printed: 3 directions that passed (-v)\n"
                    "verdict: FAIL (3 directions passed, 1 failed, 0 skipped)\n",
                    "");
    CHECKRUN_EXPECT("$R replay -v $T/one.pcap | grep -cE '^connection|^not printed'", 0, "4\n", "");
    CHECKRUN_EXPECT("$R replay --ladder $T/one.pcap | grep -cE '^connection|^not printed'", 0,
                    "4\n", "");
}

/* All programs that read a capture without RoCE packets name the command that explains this. */
static void a_capture_without_roce_refers_to_check(void)
{
    static const char *const commands[] = {"decode", "replay", "import --to $T/no_roce"};
    char command[400];

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        snprintf(command, sizeof(command),
                 "{ head -c 24 $C/rc-atomics.pcap; printf "
                 "'%%8s\\16\\0\\0\\0\\16\\0\\0\\0%%12s\\10\\6'; } "
                 ">$T/arp.pcap; $R %s $T/arp.pcap 2>&1 | grep 'no RoCE packet'",
                 commands[i]);
        CHECKRUN_EXPECT(command, 0, "(rocedrill check names a likely reason)\n", "");
    }
}

/* The path of a capture has any length. The error message must still contain the whole reason. */
static void a_long_path_leaves_room_for_the_reason(void)
{
    static const char *const programs[] = {"check", "replay", "decode"};
    char command[400];

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        for (unsigned times = 1; times < 3; times++) {
            struct checkrun run;

            snprintf(command, sizeof(command),
                     "d=$(printf '%%0200d' 0); d=$T/$d/$d/$d/$d; mkdir -p $d; "
                     "head -c 20 $C/demo-conversation.pcap > $d/cut.pcap; $R %s $d/cut.pcap %s",
                     programs[i], times > 1 ? "$d/cut.pcap" : "");
            run = checkrun_shell("%s", command);
            EXPECT_EQ(run.status, 2);
            if (!strstr(run.err, "0/cut.pcap: ") || run.err[strlen(run.err) - 2] == ' ')
                suite_fail(__FILE__, __LINE__, "%s: %s", programs[i], run.err);
            checkrun_free(&run);
        }
}

/* The report names the frame with the altered field and no other one, although the PSNs or MSNs of
 * others contradict it. */
static void an_altered_response_is_the_only_difference(void)
{
    static const struct {
        const char *rule, *capture, *difference;
    } cases[] = {
        {"aeth.msn=1@frame=14", "rc-loss-acks", "frame 14: aeth.msn: recorded 1, replayed 2"},
        {"aeth.msn=9@frame=10", "ibv-rc-pingpong", "frame 10: aeth.msn: recorded 9, replayed 1"},
        {"aeth.msn=0@frame=10", "ibv-rc-pingpong", "frame 10: aeth.msn: recorded 0, replayed 1"},
        {"aeth.msn=3@frame=40", "ibv-rc-pingpong", "frame 40: aeth.msn: recorded 3, replayed 4"},
        {"bth.psn=14079037@frame=20", "ibv-rc-pingpong",
         "frame 20: bth.psn: recorded 14079037, replayed 14079034"},
        {"aeth.syndrome=0x60@frame=20", "ibv-rc-pingpong",
         "frame 20: aeth.syndrome: recorded 0x60 (NAK, PSN sequence error), replayed 0x1f"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct checkrun run = checkrun_shell("$R edit -q --impair set=%s $C/%s.pcap $T/one.pcapng "
                                             "&& $R replay -v $T/one.pcapng | grep '  difference '",
                                             cases[i].rule, cases[i].capture);

        if (!strstr(run.out, cases[i].difference) || strchr(run.out, '\n')[1])
            suite_fail(__FILE__, __LINE__, "%s: %s", cases[i].rule, run.out);
        checkrun_free(&run);
    }
}

/* The requester of the capture goes on after an ACK that was altered to a fatal NAK. The difference
 * of the requester names this NAK. */
static void a_difference_of_the_requester_names_the_wrong_response(void)
{
    CHECKRUN_EXPECT("$R edit -q --impair set=aeth.syndrome=0x63@frame=5 $C/vlan.pcap $T/nak.pcapng "
                    "&& $R replay $T/nak.pcapng | grep -o 'frame [0-9]*: request: .*'",
                    0,
                    "frame 6: request: recorded RC WRITE First, replayed none; our RNIC does not "
                    "send this request; the likely cause is the wrong response in frame 5 "
                    "[RC-REQ-152]\n",
                    "");
}

SUITE("replay.report", TEST(first_difference_is_explained),
      TEST(an_altered_response_is_the_only_difference),
      TEST(a_difference_of_the_requester_names_the_wrong_response),
      TEST(difference_precedes_known_deviations), TEST(difference_precedes_the_setup),
      TEST(printed_command_shows_the_difference_again), TEST(altered_response_is_not_missing),
      TEST(check_and_replay_name_one_rule), TEST(json_report_has_the_facts_of_the_text),
      TEST(json_names_what_is_taken_from_the_capture), TEST(odd_file_name_is_escaped),
      TEST(odd_file_name_is_replayed), TEST(report_says_that_cut_payload_is_not_compared),
      TEST(missing_responses_are_counted), TEST(damaged_responses_are_counted),
      TEST(report_of_a_fail_omits_directions_that_pass),
      TEST(a_capture_without_roce_refers_to_check), TEST(a_long_path_leaves_room_for_the_reason))
