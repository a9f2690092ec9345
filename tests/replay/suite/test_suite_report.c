/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* rocedrill replay: arguments, folders with a manifest, several captures in parallel, and
 * reports as JSON and JUnit. */
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "suite/capture_set.h"
#include "support/suite.h"

/* Three captures: one passes, one differs unless the profile of the peer is chosen, and one has no
 * packet to replay. */
#define HOLDS   "$C/rc-send-sizes.pcap"
#define DIFFERS "$C/rc-loss-read-responses.pcap"
#define EMPTY   "head -c 24 " HOLDS

/* Creates the folder $T/NAME with a capture that passes, one that differs, and one without
 * packets. */
static void make_folder(const char *name)
{
    struct checkrun r = checkrun_shell("mkdir -p $T/%s/deep && cp " HOLDS " $T/%s/holds.pcap && "
                                       "cp " DIFFERS " $T/%s/deep/differs.pcap && " EMPTY
                                       " >$T/%s/empty.pcap && echo text >$T/%s/notes.txt",
                                       name, name, name, name, name);

    CU_ASSERT_EQUAL(r.status, 0);
    checkrun_free(&r);
}

/* ---- arguments of the command ------------------------------------------------------------------
 */

static void says_what_is_wrong_in_one_line(void)
{
    CHECKRUN_EXPECT("$R replay", 2, "", "no capture given");
    CHECKRUN_EXPECT("$R replay --bogus x", 2, "", "--bogus");
    CHECKRUN_EXPECT("$R replay -p nobody " HOLDS, 2, "", "--quirks: unknown name 'nobody'");
    CHECKRUN_EXPECT("$R replay --jobs 0 " HOLDS, 2, "", "--jobs 0: not a number from 1");
    CHECKRUN_EXPECT("$R replay --jobs 2x " HOLDS, 2, "", "--jobs 2x");
    CHECKRUN_EXPECT("$R replay - - <" HOLDS, 2, "", "only once");
    CHECKRUN_EXPECT("$R replay --json - --junit - " HOLDS, 2, "", "standard output");
    CHECKRUN_EXPECT("$R replay --json $T/no/such " HOLDS, 2, "", "no/such");
    CHECKRUN_EXPECT("$R replay $T/none.pcap", 2, "", "none.pcap: No such file");
    CHECKRUN_EXPECT("mkdir -p $T/void; $R replay $T/void", 2, "", "the folder contains no capture");
}

/* The output of a command is a symbolic link to its input. The command must be refused and leave
 * the input unchanged. */
#define INTO_ITSELF(command)                                                                       \
    "cp " HOLDS " $T/own.pcap; ln -sf own.pcap $T/link; $R " command                               \
    " --json $T/link $T/own.pcap; s=$?; cmp " HOLDS " $T/own.pcap && exit $s"

static void outputs_never_share_a_file(void)
{
    CHECKRUN_EXPECT(INTO_ITSELF("replay"), 2, "", "this output would overwrite an input capture");
    CHECKRUN_EXPECT(INTO_ITSELF("check"), 2, "", "this output would overwrite an input capture");
    CHECKRUN_EXPECT(INTO_ITSELF("decode"), 2, "", "this output would overwrite an input capture");
    CHECKRUN_EXPECT("$R replay --json $T/x --junit $T/x " HOLDS, 2, "",
                    "x is used for two outputs");
    CHECKRUN_EXPECT("$R replay --json $T/x --dump-setup $T/x " HOLDS, 2, "", "for two outputs");
    CHECKRUN_EXPECT("$R replay --json $T/x --record $T/x " HOLDS, 2, "", "for two outputs");
}

/* The disk is full. The program must report this in one line, for any number of captures and
 * reports. */
static void full_disk_is_reported_once(void)
{
    static const char *const wrong[] = {"replay --json", "replay --junit", "check --json",
                                        "check --junit", "decode --json"};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        static const char *const to[][2] = {{"/dev/full", "/dev/full: No space"},
                                            {"- >/dev/full", "standard output"}};

        for (unsigned j = 0; j < 2; j++) {
            struct checkrun r =
                checkrun_shell("$R %s %s -q " HOLDS " " HOLDS " " HOLDS, wrong[i], to[j][0]);

            if (r.status != 2 || !checkrun_complains(&r, to[j][1]))
                suite_fail(__FILE__, __LINE__, "%s %s: status %d: %s", wrong[i], to[j][0], r.status,
                           r.err);
            checkrun_free(&r);
        }
    }
}

static void files_give_three_kinds_of_status(void)
{
    CHECKRUN_EXPECT("$R replay " HOLDS, 0, "verdict: PASS", "");
    CHECKRUN_EXPECT("$R replay --quirks none " DIFFERS, 1, "verdict: FAIL", "");
    CHECKRUN_EXPECT("$R replay " DIFFERS, 0, "recognised as Linux rxe: 192.0.2.", "");
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 " DIFFERS, 0, "known deviation", "");
    CHECKRUN_EXPECT(EMPTY " >$T/e.pcap; $R replay $T/e.pcap", 2, "verdict: SKIPPED",
                    "e.pcap: nothing to replay");
    CHECKRUN_EXPECT("$R replay - <" HOLDS, 0, "verdict: PASS", "");
    CHECKRUN_EXPECT("$R replay -q --quirks none " HOLDS " " DIFFERS, 1, "", "");
}

/* Captures are reported in the order of the arguments, with any number of workers. */
static void files_are_reported_in_order(void)
{
    struct checkrun one = checkrun("replay -J 1 $C/rc-*.pcap");
    struct checkrun many = checkrun("replay -J 8 $C/rc-*.pcap");

    CU_ASSERT_EQUAL(one.status, many.status);
    CU_ASSERT_STRING_EQUAL(one.out, many.out);
    CU_ASSERT(strlen(one.out) > 10000);
    checkrun_free(&one);
    checkrun_free(&many);
}

/* ---- folders of captures -----------------------------------------------------------------------
 */

static void a_folder_without_a_manifest_must_hold(void)
{
    make_folder("plain");
    CHECKRUN_EXPECT("$R replay --quirks none $T/plain", 2,
                    "3 captures, 2 directions: 1 PASS, 1 FAIL, 1 SKIPPED;"
                    " 2 not as expected",
                    "");
    CHECKRUN_EXPECT("$R replay --quirks none $T/plain", 2, "differs.pcap: expected PASS, got FAIL",
                    "");
    CHECKRUN_EXPECT("rm $T/plain/empty.pcap; $R replay --quirks none $T/plain", 1,
                    "1 not as expected", "");
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 $T/plain", 0, "all as expected", "");
}

static void manifest_determines_the_expected_results(void)
{
    make_folder("listed");
    CHECKRUN_EXPECT("printf 'replay\\tfile\\n# remark\\n\\ndiffers\\tdiffers.pcap\\nskipped\\t"
                    "empty.pcap\\n' >$T/listed/manifest.tsv; $R replay --quirks none $T/listed/",
                    0, "3 captures, 2 directions: 1 PASS, 1 FAIL, 1 SKIPPED; all as expected", "");
    /* The manifest expects FAIL, but the capture passes. A PASS in place of FAIL is also an
     * unexpected result. */
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 $T/listed", 1, "expected FAIL, got PASS", "");
    CHECKRUN_EXPECT(
        "printf 'file\\tpeer\\treplay\\ndeep/differs.pcap\\tlinux-rxe-6.1\\nempty.pcap\\t\\t"
        "skipped\\nholds.pcap\\tsome-nic\\n' >$T/listed/manifest.tsv; $R replay $T/listed",
        0, "2 PASS, 1 SKIPPED; all as expected", "");
    CHECKRUN_EXPECT("head -c 3000 " DIFFERS " >$T/listed/cut.pcap; $R replay $T/listed", 2,
                    "cut.pcap: expected PASS, got UNUSABLE", "");
    CHECKRUN_EXPECT(
        "printf 'cut.pcap\\t\\tunusable\\n' >>$T/listed/manifest.tsv; $R replay $T/listed", 0,
        "1 UNUSABLE; all as expected", "");
}

static void error_in_a_manifest_names_the_line(void)
{
    make_folder("broken");
    CHECKRUN_EXPECT("echo 'name\tpeer' >$T/broken/manifest.tsv; $R replay $T/broken", 2, "",
                    "manifest.tsv: line 1: no column \"file\"");
    CHECKRUN_EXPECT(
        "printf 'file\\treplay\\nholds.pcap\\tmaybe\\n' >$T/broken/manifest.tsv; $R replay "
        "$T/broken",
        2, "", "manifest.tsv: line 2: replay: \"maybe\"");
    CHECKRUN_EXPECT(
        "printf 'file\\treplay\\n\\tholds\\n' >$T/broken/manifest.tsv; $R replay $T/broken", 2, "",
        "manifest.tsv: line 2: file: empty");
    CHECKRUN_EXPECT("printf 'file\\ngone.pcap\\n' >$T/broken/manifest.tsv; $R replay $T/broken", 2,
                    "", "manifest.tsv: line 2: file: gone.pcap does not exist");
}

static void captures_are_found_by_their_extension(void)
{
    static const char *const yes[] = {"a.pcap", "a.pcapng",  "a.cap",
                                      "a.erf",  "a.pcap.gz", "a.b.pcapng.zst"};
    static const char *const no[] = {"a.txt", ".pcap",      ".a.pcap",      "pcap",
                                     "a.gz",  "a.pcap.txt", "a.pcap.gz.gz", ""};

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        CU_ASSERT_TRUE(is_capture_name(yes[i]));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        CU_ASSERT_FALSE(is_capture_name(no[i]));
}

/* ---- reports for programs ----------------------------------------------------------------------
 */

static void json_has_a_summary_and_each_report(void)
{
    struct checkrun r;
    json_t *all, *captures;

    make_folder("json");
    r = checkrun("replay --quirks none --json - $T/json");
    CU_ASSERT_EQUAL(r.status, 2);
    all = json_loads(r.out, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(all);
    captures = json_object_get(all, "captures");
    EXPECT_EQ(json_array_size(captures), 3);
    EXPECT_EQ(json_integer_value(json_object_get(json_object_get(all, "summary"), "unexpected")),
              2);
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_array_get(captures, 0), "outcome")), "FAIL");
    CU_ASSERT(json_array_size(json_object_get(json_array_get(captures, 0), "differences")) > 0);
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(json_array_get(captures, 2), "expected")), "PASS");
    json_decref(all);
    checkrun_free(&r);
}

/* A JUnit report is well formed for Python's XML parser, and its totals equal the number of its
 * elements. */
static void junit_is_well_formed_and_counts_right(void)
{
    make_folder("junit");
    CHECKRUN_EXPECT(
        "head -c 3000 " DIFFERS " >$T/junit/cut.pcap; "
        "$R replay -q --quirks none --junit $T/junit.xml $T/junit; test $? = 2 && python3 -c '\n"
        "import re, sys, xml.etree.ElementTree as E\n"
        "root = E.parse(sys.argv[1]).getroot()\n"
        "n = {k: len(root.findall(\".//\" + k)) for k in (\"testcase\", \"error\")}\n"
        "failed = len([c for c in root.iter(\"testcase\") if c.find(\"failure\") is not "
        "None])\n"
        "assert n[\"testcase\"] == int(root.get(\"tests\")) == 6, n\n"
        "assert n[\"error\"] == int(root.get(\"errors\")) == 2, n\n"
        "assert failed == int(root.get(\"failures\")) == 1, failed\n"
        "for f in root.iter(\"failure\"):\n"
        "    assert re.match(r\"frame \\d+: \\w+[.]\\w+: recorded .+, replayed .+; .+ "
        "\\[[A-Z]+-[A-Z]+-\\d+\\]$\", f.get(\"message\")), f.get(\"message\")\n"
        "print(\"well\")' $T/junit.xml",
        0, "well", "");
}

/* The page of a folder is named after the folder, and begins with the capture that has an
 * unexpected result, although another capture precedes it in the folder. */
static void page_of_a_folder_leads_with_the_failure(void)
{
    make_folder("html");
    CHECKRUN_EXPECT("cd $T && mv html/empty.pcap html/holds.pcap . && cp holds.pcap html/a.pcap && "
                    "$R replay -q --quirks none --html page.html html; "
                    "grep -o '<title>.*</title>' page.html",
                    0, "<title>html - RoCEdrill</title>", "");
    CHECKRUN_EXPECT(
        "grep -o 'captures: 1 PASS, 1 FAIL; FAIL of html/deep/differs.pcap: frame 20: ' "
        "$T/page.html",
        0, "frame 20", "");
    CHECKRUN_EXPECT("tr '\n' ' ' <$T/page.html | grep -o 'tbody.*differs.pcap.*html/a.pcap' | "
                    "grep -c .",
                    0, "1", "");
}

/* The capture lacks its first request, so one response is inconclusive. */
static void inconclusive_responses_are_counted(void)
{
    static const char folder[] = "mkdir -p $T/doubt && cp " HOLDS " $T/doubt && $R edit -q "
                                 "--impair drop@frame=1 $C/rc-loss-nak.pcap $T/doubt/x.pcap && ";
    char command[512];

    snprintf(command, sizeof(command), "%s$R replay $T/doubt", folder);
    CHECKRUN_EXPECT(command, 0, ": 2 PASS; all as expected; 1 packet inconclusive in 1 capture\n",
                    "");
    CHECKRUN_EXPECT("$R replay $T/doubt", 0, "/doubt/x.pcap: 1 packet inconclusive\n", "");
    CHECKRUN_EXPECT("$R replay --json $T/doubt.json $T/doubt; cat $T/doubt.json", 0,
                    "\"inconclusive\": 1,\n    \"PASS\": 2,", "");
    CHECKRUN_EXPECT("$R replay --json $T/doubt.json $T/doubt", 0, "1 packet inconclusive in", "");
    CHECKRUN_EXPECT("$R replay --junit - $T/doubt", 0,
                    "<properties><property name=\"inconclusive\" value=\"1\"/></properties>", "");
    CHECKRUN_EXPECT("$R replay --junit - $T/doubt", 0,
                    "<system-out>responses inconclusive: 1, because the capture lacks requests",
                    "");
    CHECKRUN_EXPECT(
        "for i in 1 2; do $R replay -q --shard $i/2 --json $T/$i.json $T/doubt || exit; "
        "done; $R merge $T/1.json $T/2.json",
        0, "; 1 packet inconclusive in 1 capture\n", "");
}

SUITE("replay.suite_report", TEST(inconclusive_responses_are_counted),
      TEST(says_what_is_wrong_in_one_line), TEST(outputs_never_share_a_file),
      TEST(full_disk_is_reported_once), TEST(files_give_three_kinds_of_status),
      TEST(files_are_reported_in_order), TEST(a_folder_without_a_manifest_must_hold),
      TEST(manifest_determines_the_expected_results), TEST(error_in_a_manifest_names_the_line),
      TEST(captures_are_found_by_their_extension), TEST(json_has_a_summary_and_each_report),
      TEST(junit_is_well_formed_and_counts_right), TEST(page_of_a_folder_leads_with_the_failure))
