/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* rocedrill drill: options, reports, recording, exit status. */
#include <stdio.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

/* Writes four drills to $T/d: the first passes (in two variants), the second fails, the third has a
 * known deviation, and the fourth is unsupported by a device without CNPs. */
static void make_drills(void)
{
    struct checkrun r = checkrun_shell(
        "mkdir -p $T/d/g $T/d/h; cd $T/d; "
        "H='rules RC-RSP-099\nrole responder\nmr M len 64 access write\nqp Q rc\n'; "
        "W='+0 < WRITE Only PSN +0 va M+0 payload 8 AckReq\n'; "
        "printf \"purpose passes\nip = 4, 6\n$H$W+0 > Acknowledge PSN +0 ACK\n\" >g/1-pass.drill; "
        "printf \"purpose fails\n$H$W+0 > Acknowledge PSN +0 ACK MSN 7 [RC-RSP-102]\n\" "
        ">g/2-fail.drill; "
        "printf \"purpose known\n$H$W+0 > nothing\nelse > Acknowledge PSN +0 ACK known S1\n\" "
        ">h/3-known.drill; "
        "printf \"purpose needs\nneeds cnp\n$H$W+0 > Acknowledge PSN +0 ACK\n\" >h/4-cnp.drill; "
        "echo text >h/notes.txt");

    CU_ASSERT_EQUAL(r.status, 0);
    checkrun_free(&r);
}

static void wrong_use_is_one_line(void)
{
    make_drills();
    CHECKRUN_EXPECT("$R drill", 2, "", "no drill given");
    CHECKRUN_EXPECT("$R drill --bogus x", 2, "", "--bogus");
    CHECKRUN_EXPECT("$R drill --only ip=4 --only ip=6 $T/d", 2, "", "--only twice");
    CHECKRUN_EXPECT("$R drill --jobs 0 $T/d", 2, "", "not a number from 1 to 256");
    CHECKRUN_EXPECT("$R drill $T/none.drill", 2, "", "none.drill: No such file");
    CHECKRUN_EXPECT("mkdir -p $T/void; $R drill $T/void", 2, "", "no file *.drill");
    CHECKRUN_EXPECT("$R drill --json $T/x --tap $T/x $T/d", 2, "", "for two outputs");
    CHECKRUN_EXPECT("$R drill --matrix", 2, "", "--matrix");
    CHECKRUN_EXPECT("$R drill --matrix $T/m.md $T/none.json", 2, "", "none.json");
    CHECKRUN_EXPECT("echo '{}' >$T/e.json; $R drill --matrix $T/m.md $T/e.json", 2, "",
                    "not a report of rocedrill drill --json");
}

static void grammar_and_check(void)
{
    CHECKRUN_EXPECT("$R drill --grammar", 0, "event   = TIME", "");
    CHECKRUN_EXPECT("$R drill --grammar", 0, "srq   [depth] [limit] [pd] [cq] [xrcd]\n", "");
    CHECKRUN_EXPECT("$R drill --grammar", 0, "peer  len [fill]\n", "");
    CHECKRUN_EXPECT("$R drill --words", 0, "\nconnect           [timeout]", "");
    CHECKRUN_EXPECT("$R drill --words", 0, "\ncomp              id [len]", "");
    CHECKRUN_EXPECT("$R drill --words", 0, "\nREJ: local_comm_id remote_comm_id message ", "");
    CHECKRUN_EXPECT("$R drill --check $T/d", 0, "4 drills with 5 variants: no error\n", "");
    CHECKRUN_EXPECT("$R drill --list $T/d | grep -c :", 0, "4\n", "");
    CHECKRUN_EXPECT("$R drill --list $T/d", 0, "1-pass.drill: ", "");
    /* An unknown rule id is an error in the head of a drill, at the end of a line, and after
     * `allow`. */
    CHECKRUN_EXPECT("sed 's/^rules.*/rules RC-RSP-999/' $T/d/g/1-pass.drill >$T/rule.drill; "
                    "$R drill --check $T/rule.drill",
                    2, "", "rule.drill:3:7: no rule has the id RC-RSP-999");
    CHECKRUN_EXPECT("sed 's/RC-RSP-102/RC-RSP-998/' $T/d/g/2-fail.drill >$T/rule.drill; "
                    "$R drill --check $T/rule.drill $T/d/g",
                    2, "2 drills with 3 variants: no error\n",
                    "rule.drill:7:36: no rule has the id RC-RSP-998");
    CHECKRUN_EXPECT("sed 's/^role/allow ALL-FMT-997\\nrole/' $T/d/g/2-fail.drill >$T/rule.drill; "
                    "$R drill --check $T/rule.drill",
                    2, "", "rule.drill:3:7: no rule has the id ALL-FMT-997");
    CHECKRUN_EXPECT("$R drill $T/rule.drill", 2, "rule.drill:3:7: no rule has the id ALL-FMT-997",
                    "");
    /* A misspelt capability would make the drill unsupported on every device, so it is an error. */
    CHECKRUN_EXPECT("sed 's/^role/needs atomics\\nrole/' $T/d/g/1-pass.drill >$T/need.drill; "
                    "$R drill --check $T/need.drill",
                    2, "", "need.drill:4:7: no feature has the name atomics");
    CHECKRUN_EXPECT("echo nonsense >$T/bad.drill; $R drill --check $T/bad.drill", 2, "",
                    "bad.drill:1:1: expected");
    CHECKRUN_EXPECT("$R drill $T/bad.drill", 2, "unusable     ", "");
}

/* A drill can be named by the group and name that reports print. */
static void printed_name_finds_the_drill(void)
{
    CHECKRUN_EXPECT("cd $T; mkdir -p tests/conformance/g; cp d/g/1-pass.drill tests/conformance/g; "
                    "$R drill g/1-pass",
                    0, "pass         g/1-pass (2 variants)", "");
    CHECKRUN_EXPECT("$R drill rc-rsp/none", 2, "", "rc-rsp/none: No such file");
}

static void text_has_a_line_a_drill_and_a_ladder_for_what_did_not_pass(void)
{
    CHECKRUN_EXPECT("$R drill $T/d", 1, "pass         g/1-pass (2 variants)", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1, "aeth.msn: expected 7, actual 1", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1, "2-fail.drill:7:4: fail [RC-RSP-102]", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1, " ─┤ ✗ 2-fail.drill:7\n", "");
    /* a line without rules: the report prints the purpose and the rules of the drill */
    CHECKRUN_EXPECT(
        "sed 's/ *\\[RC-RSP-102\\]//' $T/d/g/2-fail.drill >$T/plain.drill; $R drill $T/plain.drill",
        1,
        "\n    purpose: fails\n    the failed line names no rule; the drill as a whole tests:\n"
        "      RC-RSP-099: ",
        "");
    CHECKRUN_EXPECT("$R drill $T/plain.drill | grep -c ' (evidence: [^()]*.*)$'", 0, "1\n", "");
    CHECKRUN_EXPECT("$R drill $T/d | grep -c '^ *7 .*─┤ ✗'", 0, "1\n", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1, "to repeat: rocedrill drill ", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1,
                    "all                       2      1      1             0            0", "");
    CHECKRUN_EXPECT("$R drill --quiet $T/d | grep -c '^pass'", 1, "0", "");
    CHECKRUN_EXPECT("$R drill --lacks uc,cnp $T/d/h", 0, "unsupported  h/4-cnp", "");
    CHECKRUN_EXPECT("$R drill --only ip=6 $T/d/g/1-pass.drill", 0, "pass         g/1-pass\n", "");
    /* --only with values of two of the three parameters selects both variants with these values. */
    CHECKRUN_EXPECT(
        "sed 's/^ip.*/ip = 4, 6\\nn = 1, 2\\nk = 5, 6/' $T/d/g/1-pass.drill >$T/only.drill; "
        "$R drill --only 'k=6 ip=6' $T/only.drill",
        0, "(2 variants)\n", "");
    /* The first variant passes, so the report says how many variants do not. */
    CHECKRUN_EXPECT("sed 's/^role/n = 1, 2\\n&/; s/MSN 7/MSN $n/' $T/d/g/2-fail.drill "
                    ">$T/some.drill; $R drill $T/some.drill",
                    1, "/some (1 of 2 variants)\n", "");
    CHECKRUN_EXPECT("$R drill -v $T/d/g/1-pass.drill", 0, "  (ip=6): pass\n", "");
    CHECKRUN_EXPECT("$R drill -v $T/d/g/1-pass.drill", 0,
                    "ladders: the rows are in the order of the events; line: ", "");
    CHECKRUN_EXPECT("echo broken >$T/broken.drill; $R drill $T/broken.drill", 2,
                    "\nunusable: the drill cannot be parsed or was not run\n", "");
    CHECKRUN_EXPECT("$R drill -v $T/d/g/1-pass.drill | grep -c 'Acknowledge PSN +0 .* ✓'", 0, "2\n",
                    "");
    CHECKRUN_EXPECT("$R drill --only ip=5 $T/d/g/1-pass.drill", 2, "",
                    "--only 'ip=5': no drill has this variant");
    CHECKRUN_EXPECT("$R drill $T/d/h", 0, "known        h/3-known", "");
    CHECKRUN_EXPECT("$R drill --strict $T/d/h", 1, "known        h/3-known", "");
}

/* A line that passes without a packet or completion has a row in the ladder, too. */
static void checks_and_silences_have_rows(void)
{
    CHECKRUN_EXPECT("(cat $T/d/g/1-pass.drill; "
                    "printf '+0~+1ms > nothing\n+0 qp Q is RTS # still\n* no comp\n') "
                    ">$T/rows.drill; $R drill -v --only ip=4 $T/rows.drill | "
                    "sed -nE 's/^ +[0-9]+ +([0-9.]+) │ /\\1 /p'; echo end",
                    0, "1.000000 > nothing ✓\n1.000000 qp Q is RTS ✓\n1.000000 no comp ✓\nend\n",
                    "");
}

/* One drill that passes: the report names the purpose, and always the device. */
static void report_names_purpose_and_device(void)
{
    CHECKRUN_EXPECT("$R drill $T/d/g/1-pass.drill", 0,
                    "pass         g/1-pass (2 variants)\n  shown: ", "");
    CHECKRUN_EXPECT("$R drill $T/d", 1, "\ndevice: RoCEdrill software RNIC\n", "");
    CHECKRUN_EXPECT("$R drill --device v2 $T/d", 1, "\ndevice: v2\n", "");
    CHECKRUN_EXPECT("$R drill $T/d | grep -c shown", 1, "0\n", "");
}

static void order_does_not_depend_on_jobs(void)
{
    CHECKRUN_EXPECT("$R drill --jobs 1 $T/d >$T/1; $R drill --jobs 8 $T/d >$T/8; cmp $T/1 $T/8", 0,
                    "", "");
}

static void ktap_has_a_line_a_case(void)
{
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap - $T/d", 1, "KTAP version 1\n1..5\n", "");
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap - $T/d", 1, "ok 2 g/1-pass ip=6\n", "");
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap - $T/d", 1, "not ok 3 g/2-fail\n", "");
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap - $T/d", 1, "ok 4 h/3-known # XFAIL known: ", "");
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap - $T/d", 1,
                    "ok 5 h/4-cnp # SKIP unsupported: ", "");
}

/* The TAP harness of Perl, an independent reader of the format, accepts the output. XFAIL exists
 * only in KTAP. */
static void ktap_is_read_by_prove(void)
{
    CHECKRUN_EXPECT("$R drill --tap $T/tap $T/d/g/1-pass.drill $T/d/h >/dev/null; "
                    "prove -e cat $T/tap",
                    0, "Files=1, Tests=4,", "");
    CHECKRUN_EXPECT("$R drill --lacks cnp --tap $T/tap $T/d >/dev/null; prove -v -e cat $T/tap", 1,
                    "(less 1 skipped subtest: 3 okay)", "");
    CHECKRUN_EXPECT("$R drill --tap $T/tap $T/d >/dev/null; prove -e cat $T/tap", 1,
                    "Failed test:  3", "");
}

static void junit_has_a_suite_a_group(void)
{
    CHECKRUN_EXPECT("$R drill --junit - $T/d", 1,
                    "<testsuite name=\"g\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"0\">",
                    "");
    CHECKRUN_EXPECT("$R drill --junit - $T/d", 1, "/d/g/1-pass.drill\" name=\"g/1-pass ip=4\"/>",
                    "");
    CHECKRUN_EXPECT("$R drill --junit - $T/d", 1,
                    "<failure message=\"line 7: aeth.msn: expected 7, ", "");
    CHECKRUN_EXPECT("$R drill --junit - $T/d", 1, " (RC-RSP-102)\"/>", "");
    CHECKRUN_EXPECT("$R drill --junit - $T/d", 1, "<skipped message=\"known: ", "");
    CHECKRUN_EXPECT("$R drill --junit - $T/bad.drill", 2, "<error message=\"", "");
}

/* With --strict, JUnit and KTAP have a failure for each case that changes the exit status. */
static void strict_reports_have_failures_for_known_deviations(void)
{
    CHECKRUN_EXPECT("$R drill --strict --junit - $T/d/h", 1,
                    "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\">", "");
    CHECKRUN_EXPECT("$R drill --strict --junit - $T/d/h", 1,
                    "<failure message=\"known: line 8: known deviation S1", "");
    CHECKRUN_EXPECT("$R drill --strict --tap - $T/d/h", 1, "not ok 1 h/3-known\n", "");
    CHECKRUN_EXPECT("$R drill --strict --lacks cnp --junit - $T/d/h", 1,
                    "<skipped message=\"unsupported: the device has no cnp\"/>", "");
}

/* The text of RC-REQ-137 in rules.def describes an event in a capture. The report of a drill has
 * the requirement. */
static void rule_of_a_failure_is_a_requirement(void)
{
    CHECKRUN_EXPECT(
        "sed 's/RC-RSP-102/RC-REQ-137/' $T/d/g/2-fail.drill >$T/137.drill; $R drill $T/137.drill",
        1,
        "\n    RC-REQ-137: A requester ignores a response whose PSN is outside [oldest "
        "unacknowledged, last sent] (ghost ACK)",
        "");
    CHECKRUN_EXPECT(
        "sed 's/RC-RSP-102/RC-RSP-083/' $T/d/g/2-fail.drill >$T/083.drill; $R drill $T/083.drill",
        1,
        "\n    RC-RSP-083: The responder answers an invalid R_Key, a wrong PD, a missing "
        "permission or a range outside the region with NAK 0x62 (remote access error)",
        "");
}

/* All lines of the drill pass, then the device does something else. The report does not show a
 * line that passed as the failed one. */
static void unexpected_packet_is_not_a_failure_of_a_line(void)
{
    CHECKRUN_EXPECT("sed '$d' $T/d/g/2-fail.drill >$T/more.drill; $R drill $T/more.drill", 1,
                    "/more.drill: fail\n    after line 6: no line expects this packet of the "
                    "device: Acknowledge PSN +0 ACK",
                    "");
    CHECKRUN_EXPECT("$R drill $T/more.drill", 1, "\n    the drill as a whole tests:\n", "");
    CHECKRUN_EXPECT("$R drill $T/more.drill", 1, "─┤ ✗\n", "");
    CHECKRUN_EXPECT("$R drill --record $T/more $T/more.drill >/dev/null; "
                    "grep -c '/more.drill: after line 6: ' $T/more/*.pcapng",
                    0, "1\n", "");
}

static void recording_has_the_line_at_each_frame(void)
{
    CHECKRUN_EXPECT("$R drill --record $T/rec $T/d >/dev/null; ls $T/rec", 0,
                    "g-1-pass-ip=4.pcapng\ng-1-pass-ip=6.pcapng\ng-2-fail.pcapng\n", "");
    CHECKRUN_EXPECT("grep -c 'g/1-pass.drill:7' $T/rec/g-1-pass-ip=4.pcapng", 0, "1", "");
    CHECKRUN_EXPECT("grep -c 'g/2-fail.drill:7: aeth.msn: expected 7' $T/rec/g-2-fail.pcapng", 0,
                    "1", "");
    CHECKRUN_EXPECT("$R decode $T/rec/g-1-pass-ip=6.pcapng", 0, "WRITE Only", "");
    CHECKRUN_EXPECT("$R drill --record /dev/null/x $T/d", 2, "", "/dev/null/x");
}

/* Writes the program $T/opens, which reads the request "open" of a drill of make_drills() and
 * replies to it. */
static void make_program(void)
{
    struct checkrun r = checkrun_shell("printf '#!/bin/sh\nread x\necho %%s\n' "
                                       "\\''{\"ok\":true,\"objects\":{\"Q\":{\"number\":5},\"M\":{"
                                       "\"address\":4096,\"key\":7}}}'\\' "
                                       ">$T/opens; chmod +x $T/opens");

    CU_ASSERT_EQUAL(r.status, 0);
    checkrun_free(&r);
}

static void program_behind_a_pipe_that_does_not_answer_fails(void)
{
    make_program();
    CHECKRUN_EXPECT("$R drill --pipe false $T/d/g/1-pass.drill", 1,
                    "--pipe false: the program ended with status 1", "");
    CHECKRUN_EXPECT("$R drill --pipe 'kill -9 $$' $T/d/g/1-pass.drill", 1,
                    "the program ended by signal 9 (Killed)", "");
    CHECKRUN_EXPECT("$R drill --pipe 'exec >&- <&-; sleep 600' $T/d/g/1-pass.drill", 1,
                    "the program closed its output", "");
    CHECKRUN_EXPECT("$R drill --pipe 'read x; echo nonsense' $T/d/g/1-pass.drill", 1,
                    "read x; echo nonsense: reply to open: not a JSON object", "");
    CHECKRUN_EXPECT("$R drill --pipe \"read x; echo '{\\\"unsupported\\\":\\\"rc\\\"}'\" $T/d/g", 0,
                    "the device has no rc", "");
    /* The program opens the drill, but refuses the operation of the first packet. */
    CHECKRUN_EXPECT("$R drill --pipe \"$T/opens; read x; "
                    "echo '{\\\"unsupported\\\":\\\"WRITE\\\"}'\" $T/d/g/1-pass.drill",
                    0, "the device has no WRITE", "");
    /* The program opens the drill and ends at the first packet. */
    CHECKRUN_EXPECT("$R drill --pipe $T/opens $T/d/g/1-pass.drill", 1, "the program ended", "");
    /* The program opens the drill, then reads without replying. It also ignores SIGTERM. */
    CHECKRUN_EXPECT("$R drill --timeout 1 --pipe \"trap '' TERM; $T/opens; "
                    "sleep 600\" $T/d/g/1-pass.drill",
                    1, "no reply within 1 s", "");
    /* The shell cannot start the program. Its message is part of the error, and there is only one
     * line. */
    CHECKRUN_EXPECT("$R drill --pipe $T/nothing $T/d", 2, "",
                    "/nothing: the program cannot be started (status 127): sh: 1: ");
    CHECKRUN_EXPECT("$R drill --pipe $T/nothing $T/d 2>&1 | wc -l", 0, "1\n", "");
    CHECKRUN_EXPECT("$R drill --pipe $T/d $T/d 2>&1 | grep -c 'status 126.*Permission denied'", 0,
                    "1\n", "");
    /* Other messages of the program are printed, before and after its first reply. */
    CHECKRUN_EXPECT("$R drill --pipe 'echo one >&2; false' $T/d/g/2-fail.drill", 1,
                    "the program ended with status 1", "one");
    CHECKRUN_EXPECT("$R drill --pipe \"$T/opens; read x; echo two >&2\" "
                    "$T/d/g/2-fail.drill",
                    1, "the program ended with status 0", "two");
    /* The program never reads, so a long request does not fit into its standard input. */
    CHECKRUN_EXPECT("sed 's/len 64 /len 1000000 /; s/^mr.*/& fill 3/' $T/d/g/1-pass.drill "
                    ">$T/large.drill; $R drill --timeout 1 --pipe 'sleep 600' $T/large.drill",
                    1, "no reply within 1 s", "");
    CHECKRUN_EXPECT("$R drill --timeout 0 --pipe false $T/d", 2, "", "--timeout 0");
    CHECKRUN_EXPECT("$R drill --timeout 5 $T/d", 2, "", "--timeout requires --pipe");
}

/* A drill that expects nothing would pass on a device that sends invalid replies. */
static void malformed_reply_of_a_program_fails_the_drill(void)
{
    static const struct {
        const char *op, *reply, *problem;
    } rows[] = {
        {"open", "{}", "member ok is missing"},
        {"open", "{\"ok\":1}", "member ok is not true or false"},
        {"open", "{\"unsupported\":7}", "member unsupported is not the name of a feature"},
        {"open", "{\"ok\":true}", "member objects is missing"},
        {"open", "{\"ok\":true,\"objects\":{}}", "member objects.M.address is missing"},
        {"open", "{\"ok\":true,\"objects\":{\"M\":{\"address\":1,\"key\":-1}}}",
         "member objects.M.key is -1: outside of 0 to 4294967295"},
        {"open",
         "{\"ok\":true,\"objects\":{\"M\":{\"address\":1,\"key\":1},\"Q\":{\"number\":16777216}}}",
         "member objects.Q.number is 16777216: outside of 0 to 16777215"},
        {"frame", "{}", "member ok is missing"},
        {"frame", "{\"ok\":false,\"error\":\"invalid\"}", "member ok is false"},
        {"frame", "{\"ok\":true,\"frames\":5}", "member frames is not an array"},
        {"frame", "{\"ok\":true,\"frames\":[\"00\",5]}", "member frames[1] is not a string"},
        {"frame", "{\"ok\":true,\"frames\":[\"zz\"]}",
         "member frames[0] is not a number of bytes in hexadecimal"},
        {"frame", "{\"ok\":true,\"frames\":[\"\"]}",
         "member frames[0] is not a number of bytes in hexadecimal"},
        {"frame", "{\"ok\":true,\"deadline\":\"soon\"}", "member deadline is not an integer"},
        {"frame", "{\"ok\":true,\"comps\":[5]}", "member comps[0] is not an object"},
        {"frame", "{\"ok\":true,\"comps\":[{\"qp\":\"X\"}]}",
         "member comps[0].qp is 'X': not the name of a QP"},
        {"frame", "{\"ok\":true,\"comps\":[{\"qp\":\"Q\",\"id\":1,\"status\":\"good\"}]}",
         "member comps[0].status is 'good': not a status of a completion"},
        {"frame",
         "{\"ok\":true,\"comps\":[{\"qp\":\"Q\",\"id\":1,\"status\":\"success\",\"imm\":\"x\"}]}",
         "member comps[0].imm is not an integer"},
        {"frame", "{\"ok\":true,\"events\":[{\"event\":\"boom\",\"object\":\"Q\"}]}",
         "member events[0].event is 'boom': not an event"},
        {"frame", "{\"ok\":true,\"events\":[{\"event\":\"qp-fatal\"}]}",
         "member events[0].object is missing"},
        {"verb", "{\"ok\":false,\"error\":\"nonsense\"}",
         "member error is 'nonsense': not an error of a verb"},
        {"state", "{\"ok\":true,\"state\":\"BUSY\"}",
         "member state is 'BUSY': not a state of a QP"},
        {"read", "{\"ok\":true,\"bytes\":\"00\"}", "member bytes has not 8 bytes"},
    };
    static const struct {
        const char *op, *line;
    } lines[] = {{"open", "< WRITE Only PSN +0 va M+0 payload 8\n+0~+1ms > nothing"},
                 {"frame", "< WRITE Only PSN +0 va M+0 payload 8\n+0~+1ms > nothing"},
                 {"verb", "recv Q id 1 len 8\n+0~+1ms > nothing"},
                 {"state", "qp Q is RTS"},
                 {"read", "check M+0 len 8 is zero"}};
    struct checkrun r;

    make_program();
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            char problem[200];

            if (strcmp(rows[i].op, lines[k].op) != 0)
                continue;
            r = checkrun_shell(
                "sed '/^+0/,$d' $T/d/g/2-fail.drill >$T/reply.drill; echo '+0 %s' "
                ">>$T/reply.drill; "
                "echo '%s' >$T/reply; $R drill --timeout 20 --pipe \"%s; cat $T/reply; sleep 30\" "
                "$T/reply.drill",
                lines[k].line, rows[i].reply, k == 0 ? "true" : "$T/opens; read x");
            snprintf(problem, sizeof(problem), "reply to %s: %s", rows[i].op, rows[i].problem);
            CU_ASSERT_EQUAL(r.status, 1);
            CU_ASSERT_PTR_NOT_NULL(strstr(r.out, problem));
            if (!strstr(r.out, problem))
                fprintf(stderr, "%s: no '%s' in\n%s%s", rows[i].reply, problem, r.out, r.err);
            checkrun_free(&r);
        }
}

static void command_that_repeats_a_drill_names_the_device(void)
{
    CHECKRUN_EXPECT("$R drill --pipe \"kill \\$\\$\" --timeout 7 --quiet --only ip=6 $T/d/g | "
                    "sed -n 's/.*to repeat: //p' >$T/again; grep -o '.*--only' $T/again",
                    0, "rocedrill drill --pipe 'kill $$' --timeout '7' --only\n", "");
}

/* Makes a drill from a capture, changes it by the sed script `sed`, and plays it. The software RNIC
 * must fail the changed drill. */
static void expect_changed(const char *capture, const char *role, const char *sed, const char *says)
{
    char command[1024];

    snprintf(command, sizeof(command),
             "$R drill --role %s --from " TRACES_DIR
             "/captures/%s.pcap | sed '%s' >$T/changed.drill; "
             "$R drill $T/changed.drill",
             role, capture, sed);
    CHECKRUN_EXPECT(command, 1, says, "");
}

static void changed_drill_changes_the_device(void)
{
    static const struct {
        const char *capture, *role, *sed, *says;
    } rows[] = {
        {"rc-read-sizes", "responder", "s/mtu 1024/mtu 512/", "fail"},
        {"rc-read-sizes", "responder", "s/ access write,read/ access none/",
         "NAK, invalid request"},
        {"rc-read-sizes", "responder", "s/peer-psn 256/peer-psn 9 psn 7/;s/PSN +0/PSN +1/", "fail"},
        {"rc-rnr-pipeline", "responder", "s/rnr-timer 20/rnr-timer 1/", "aeth.syndrome"},
        {"rc-rnr-pipeline", "requester", "s/rnr-retry 7/rnr-retry 0/", "fail"},
        {"rc-loss-requests", "requester", "s/retry 7 rnr/retry 0 rnr/", "fail"},
        {"rc-recv-too-short", "responder", "s/id 2 len 0/id 2 len 4096/", "aeth.syndrome"},
        {"rc-atomics", "responder", "s/store M0+0 data .*/store M0+0 u64 9/", "orig"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_changed(rows[i].capture, rows[i].role, rows[i].sed, rows[i].says);
}

static void capture_becomes_a_drill(void)
{
    CHECKRUN_EXPECT("$R drill --from " TRACES_DIR "/captures/rc-atomics.pcap >$T/from.drill && "
                    "$R drill $T/from.drill",
                    0, "/from\n", "");
    CHECKRUN_EXPECT(
        "grep -c 'Atomic Acknowledge PSN +4 ACK MSN 5 original 0x0  # frame' $T/from.drill", 0,
        "1\n", "");
    CHECKRUN_EXPECT("$R drill --connection 2 --from " TRACES_DIR "/captures/multi-qp.pcap", 0,
                    "connection #2 of multi-qp.pcap", "");
    CHECKRUN_EXPECT(
        "$R drill --connection 99 --from " TRACES_DIR "/captures/rc-atomics.pcap", 2, "",
        "rc-atomics.pcap: connection #99 cannot become a drill: the capture contains no");
    CHECKRUN_EXPECT("$R drill --from " TRACES_DIR "/captures/cm-reject.pcap", 0,
                    "> CM REJ message=0 reason=28  # frame 2", "");
    CHECKRUN_EXPECT("$R drill --stream 1 --from " TRACES_DIR "/captures/cm-reject.pcap", 2, "",
                    "stream 1 cannot become a drill: the stream has management datagrams");
    CHECKRUN_EXPECT("$R drill --role requester --from " TRACES_DIR "/captures/uc-loss.pcap", 0,
                    "> SEND Middle PSN +2 payload 1024 fill L+1000\n", "");
    CHECKRUN_EXPECT(
        "$R edit -q --impair drop@op=first,nth=all --impair drop@op=only,nth=all " TRACES_DIR
        "/captures/uc-loss.pcap $T/no-first.pcap; $R drill --stream 2 --from "
        "$T/no-first.pcap",
        2, "",
        "no-first.pcap: stream 2 cannot become a drill: the capture contains no "
        "complete message that can be posted");
    CHECKRUN_EXPECT("$R drill --role sender --from a", 2, "", "--role sender");
    CHECKRUN_EXPECT("$R drill --stream 1 --exchange 1 --from a", 2, "", "use only one of");
    CHECKRUN_EXPECT("$R drill --from $T/none.pcap", 2, "", "none.pcap: No such file");
    CHECKRUN_EXPECT("$R drill --connection x --from a", 2, "", "--connection x");
    CHECKRUN_EXPECT("$R drill --connection 0 $T/d", 2, "", "--role require --from");
    CHECKRUN_EXPECT("$R drill --from a $T/d", 2, "", "--from writes a drill and plays none");
}

static void device_of_an_option_is_the_only_one(void)
{
    CHECKRUN_EXPECT("$R drill --so $T/x --pipe false $T/d", 2, "", "use only one of");
    CHECKRUN_EXPECT("$R drill --so $T/none.so $T/d", 2, "", "none.so: cannot open");
    CHECKRUN_EXPECT("$R drill --so libc.so.6 $T/d", 2, "", "./libc.so.6: cannot open");
}

static void matrix_has_a_column_a_device(void)
{
    CHECKRUN_EXPECT("$R drill --json $T/a.json --device one --record $T/rec $T/d >/dev/null; "
                    "$R drill --json $T/b.json --device 't|wo' --lacks cnp $T/d/h >/dev/null; "
                    "$R drill --matrix $T/m.md $T/a.json $T/b.json && cat $T/m.md",
                    0, "| drill | one | t\\|wo |\n|---|---|---|\n", "");
    CHECKRUN_EXPECT("cat $T/m.md", 0, "| g/2-fail | [fail](<", "");
    CHECKRUN_EXPECT("cat $T/m.md", 0, "| unsupported |", "");
    CHECKRUN_EXPECT("$R drill --matrix $T/m.html $T/a.json $T/b.json && cat $T/m.html", 0,
                    "<td class=\"known\">", "");
}

/* Without --device, a report names the device by its command, so that a matrix of several reports
 * has a column for each device. */
static void report_without_a_name_names_the_command_of_the_device(void)
{
    CHECKRUN_EXPECT("$R drill --json - $T/d/h", 0, "\"device\": \"RoCEdrill software RNIC\"", "");
    CHECKRUN_EXPECT("$R drill --pipe false --json - $T/d/h", 1, "\"device\": \"false\"", "");
}

SUITE("replay.drill_command", TEST(wrong_use_is_one_line), TEST(grammar_and_check),
      TEST(printed_name_finds_the_drill), TEST(device_of_an_option_is_the_only_one),
      TEST(capture_becomes_a_drill), TEST(changed_drill_changes_the_device),
      TEST(text_has_a_line_a_drill_and_a_ladder_for_what_did_not_pass),
      TEST(checks_and_silences_have_rows), TEST(report_names_purpose_and_device),
      TEST(order_does_not_depend_on_jobs), TEST(ktap_has_a_line_a_case),
      TEST(ktap_is_read_by_prove), TEST(junit_has_a_suite_a_group),
      TEST(strict_reports_have_failures_for_known_deviations),
      TEST(unexpected_packet_is_not_a_failure_of_a_line), TEST(rule_of_a_failure_is_a_requirement),
      TEST(recording_has_the_line_at_each_frame),
      TEST(program_behind_a_pipe_that_does_not_answer_fails),
      TEST(command_that_repeats_a_drill_names_the_device),
      TEST(malformed_reply_of_a_program_fails_the_drill), TEST(matrix_has_a_column_a_device),
      TEST(report_without_a_name_names_the_command_of_the_device))
