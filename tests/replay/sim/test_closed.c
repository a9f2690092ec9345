/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Closed loops: our RNIC plays both ends of recorded connections. The simulated link between the
 * ends loses, delays and alters frames (impairments). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

#define SIZES "$C/rc-send-sizes.pcap"

#ifdef TEST_SANITIZED
#define TURNS(count) " "
#else
#define TURNS(count) " --repeat " count " "
#endif

static void says_what_is_wrong_in_one_line(void)
{
    CHECKRUN_EXPECT("$R replay --live lo --target 127.0.0.2 --topspeed " SIZES, 2, "",
                    "--live requires one of --agent HOST:PORT, --cm END and --load");
    CHECKRUN_EXPECT("$R replay --live lo --target 127.0.0.2 --agent h:1 --loop 2 " SIZES, 2, "",
                    "--pps, --mbps and --loop require --load");
    CHECKRUN_EXPECT("$R replay --impair help", 0, "ACTION  = drop", "");
    CHECKRUN_EXPECT("$R replay --impair lose " SIZES, 2, "",
                    "--impair: \"lose\": at \"lose\": expected drop, dup");
    CHECKRUN_EXPECT("$R replay --seed x " SIZES, 2, "", "--seed x");
    CHECKRUN_EXPECT("$R replay --repeat 0 " SIZES, 2, "", "--repeat 0");
    CHECKRUN_EXPECT("$R replay --record $T/r.pcapng " SIZES " " SIZES, 2, "", "one capture");
    CHECKRUN_EXPECT("$R replay --record $T/no/such " SIZES, 2, "", "no/such");
    CHECKRUN_EXPECT("cp " SIZES " $T/o.pcap; $R replay --record $T/o.pcap $T/o.pcap", 2, "",
                    "this output would overwrite an input capture");
}

static void every_capture_passes_without_impairments(void)
{
    CHECKRUN_EXPECT("$R replay --closed-loop " TRACES_DIR, 0, "all as expected", "");
}

/* Every capture passes on an impaired link. The transport recovers from each fault, or gives up
 * where the specification demands that. */
static void every_capture_holds_on_bad_links(void)
{
    CHECKRUN_EXPECT("$R replay --impair drop@p=0.05" TURNS("20") TRACES_DIR, 0, "all as expected",
                    "");
    CHECKRUN_EXPECT("$R replay --impair dup@p=0.1 --impair delay=50us@p=0.1" TURNS("10") TRACES_DIR,
                    0, "all as expected", "");
    CHECKRUN_EXPECT("$R replay --impair corrupt@p=0.05 --impair corrupt=icrc@p=0.02" TURNS("10")
                        TRACES_DIR,
                    0, "all as expected", "");
    CHECKRUN_EXPECT("$R replay --impair delay=100ms@p=0.02 --impair ce@p=0.1" TURNS("10")
                        TRACES_DIR,
                    0, "all as expected", "");
}

static void one_loss_causes_one_retransmission(void)
{
    CHECKRUN_EXPECT("$R replay --impair drop@psn=+1,dir=request " SIZES, 0,
                    "impairment drop@psn=+1,dir=request: 1 frame\n", "");
    CHECKRUN_EXPECT("$R replay --impair drop@psn=+1,dir=request " SIZES, 0,
                    ", 1 dropped, 0 corrupted", "");
    CHECKRUN_EXPECT("$R replay --impair drop@psn=+999999 " SIZES, 0, "(no frame matches)", "");
}

/* UC and UD streams are played. The frames that arrive determine the expected result at our
 * receiver. */
static void streams_are_played(void)
{
    CHECKRUN_EXPECT(
        "$R replay --impair drop@p=0.2 --impair dup@p=0.2 --impair reorder@p=0.2 --repeat 50 "
        "$C/uc-*.pcap $C/ud*.pcap $C/ipv6-uc-ud.pcap",
        0, "stream 1: ", "");
    CHECKRUN_EXPECT("$R replay --closed-loop --json - $C/uc-send-write.pcap | python3 -c 'import "
                    "json,sys; c=json.load(sys.stdin)[\"captures\"][0]; print([(s[\"as\"], "
                    "s[\"verdict\"], s[\"counts\"][\"compared\"]) for s in c[\"streams\"]])'",
                    0,
                    "[('receiver', 'PASS', 15), ('sender', 'PASS', 15), ('receiver', 'PASS', 5), "
                    "('sender', 'PASS', 5)]",
                    "");
    CHECKRUN_EXPECT("$R replay --impair drop@stream=1,nth=2 --record $T/u.pcapng $C/uc-loss.pcap",
                    0, "impairment drop@stream=1,nth=2: 1 frame\n", "");
    CHECKRUN_EXPECT("$R replay $T/u.pcapng", 0, "verdict: PASS", "");
    CHECKRUN_EXPECT("$R replay --closed-loop --side responder $C/uc-loss.pcap", 0,
                    "receiver PASS, 3 messages, 6 frames", "");
    CHECKRUN_EXPECT("$R replay --closed-loop --side requester $C/uc-loss.pcap", 0,
                    "sender PASS, 4 messages, 6 frames", "");
    CHECKRUN_EXPECT("$R replay --impair drop@stream=0 $C/uc-loss.pcap", 2, "",
                    "at \"stream=0\": expected the number");
    CHECKRUN_EXPECT("$R replay --strict --closed-loop $C/uc-loss.pcap", 2, "",
                    "--strict cannot be used with --closed-loop");
}

static void giving_up_passes_if_all_requests_are_lost(void)
{
    CHECKRUN_EXPECT("$R replay --impair drop@dir=request " SIZES, 0,
                    "failed as expected: the impairments used up their retries", "");
    CHECKRUN_EXPECT("$R replay --impair drop@dir=response,psn=+0..9999,nth=all " SIZES, 0,
                    "failed as expected: the impairments used up their retries", "");
}

static void play_with_forged_packets_ends(void)
{
    CHECKRUN_EXPECT("$R replay --impair corrupt=header@p=0.05,icrc=fix" TURNS("20") TRACES_DIR, 0,
                    "all as expected", "");
    CHECKRUN_EXPECT("$R replay --impair set=aeth.syndrome=0x60@dir=response,p=0.1" TURNS("10")
                        TRACES_DIR,
                    0, "all as expected", "");
}

static void equal_seeds_give_equal_plays(void)
{
    struct checkrun a =
        checkrun_shell("$R replay -q --impair drop@p=0.1 --seed 9 --record $T/a.pcapng " SIZES
                       " && $R replay -q --impair drop@p=0.1 --seed 9 --record $T/b.pcapng " SIZES
                       " && cmp $T/a.pcapng $T/b.pcapng && "
                       "$R replay -q --impair drop@p=0.1 --seed 10 --record $T/c.pcapng " SIZES
                       " && ! cmp -s $T/a.pcapng $T/c.pcapng");

    EXPECT_EQ(a.status, 0);
    checkrun_free(&a);
}

/* A recording of a closed loop is a normal capture: check finds no ERROR, and the recording replays
 * without a difference. Loss of requests is not tried: without a NAK, only MSNs show which copy was
 * executed, and some recordings have too few MSNs. */
static void a_recording_replays(void)
{
    static const char *const impairments[] = {
        "", "--impair drop@p=0.1,dir=response",
        "--impair corrupt@p=0.1,dir=response --impair dup@p=0.05",
        "--impair drop@psn=+5..9,dir=response"};
    static const char *const captures[] = {
        "demo-conversation", "rc-send-sizes", "rc-read-sizes",
        "rc-write-sizes",    "ipv6",          "perftest-atomic-bw"};

    for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++)
        for (unsigned seed = 1; seed <= 8; seed++) {
            char command[512];

            snprintf(command, sizeof(command),
                     "$R replay -q %s --seed %u --record $T/r.pcapng $C/%s.pcap && "
                     "$R check -q $T/r.pcapng && $R replay $T/r.pcapng",
                     impairments[seed % 4], seed, captures[i]);
            CHECKRUN_EXPECT(command, 0, "verdict: PASS", "");
        }
}

static void reports_name_the_seed(void)
{
    CHECKRUN_EXPECT("$R replay --impair drop@p=0.1 --repeat 3 --seed 5 --json - " SIZES
                    " | python3 -c 'import json,sys; c=json.load(sys.stdin)[\"captures\"][0]; "
                    "l=c[\"closed\"]; print(c[\"verdict\"], l[\"seed\"], l[\"plays\"], "
                    "l[\"impairments\"][0][\"rule\"])'",
                    0, "PASS 5 3 drop@p=0.1", "");
    CHECKRUN_EXPECT("$R replay --impair drop@p=0.1 --junit - " SIZES, 0, "<testcase", "");
}

/* The file of --dump-setup contains the inferred values. */
static void the_setup_is_dumped(void)
{
    CHECKRUN_EXPECT(
        "$R replay -q --quirks linux-rxe-6.1 --dump-setup $T/s.json $C/rc-rnr-pipeline.pcap "
        "&& python3 -c 'import "
        "json,sys; s=json.load(open(sys.argv[1])); c=s[\"connections\"][0]; "
        "print(c[\"setup\"][\"path_mtu\"], sum(r[\"absent\"] for r in "
        "c[\"setup\"][\"receives\"]) > 0)' $T/s.json",
        0, "256 True", "");
    CHECKRUN_EXPECT(
        "$R replay -q --dump-setup $T/s.json $C/demo-conversation.pcap && python3 -c 'import "
        "json,sys; r=json.load(open(sys.argv[1]))[\"devices\"][0][\"regions\"]; "
        "print(sorted(a for x in r for a in x[\"access\"]), any(x[\"image\"] for x in r))' "
        "$T/s.json",
        0, "remote_read", "");
    CHECKRUN_EXPECT("$R replay -q --dump-setup $T/no/such " SIZES, 2, "", "no/such");
    CHECKRUN_EXPECT("$R replay --dump-setup $T/s.json " SIZES " " SIZES, 2, "", "one capture");
}

/* A recorded peer plays one end, without reacting to packets. Our RNIC plays the other end and is
 * judged. It passes with all impairments. */
static void recorded_ends_pass_with_impairments(void)
{
    static const char *const sides[] = {"responder", "requester"};
    static const char *const impairments[] = {
        "",
        "--impair drop@p=0.05",
        "--impair dup@p=0.2",
        "--impair corrupt@p=0.05",
        "--impair reorder=3@p=0.1",
        "--impair delay=100ms@p=0.05",
        "--impair ce@p=0.2",
        "--impair set=aeth.syndrome=0x60@dir=response,p=0.1",
        "--impair set=reth.rkey=7@dir=request,p=0.1",
    };

    for (size_t s = 0; s < 2; s++)
        for (size_t e = 0; e < sizeof(impairments) / sizeof(impairments[0]); e++) {
            char command[256];

            snprintf(command, sizeof(command), "$R replay --closed-loop --side %s %s " TRACES_DIR,
                     sides[s], impairments[e]);
            CHECKRUN_EXPECT(command, 0, "all as expected", "");
        }
}

/* Our RNIC responds to the packets that arrive, while the recorded end only repeats its packets.
 * The new recording must show this. */
static void a_recorded_end_reacts_to_nothing(void)
{
    CHECKRUN_EXPECT(
        "$R replay --side responder --impair drop@psn=+3,dir=request --record $T/e.pcapng "
        "$C/rc-write-sizes.pcap",
        0, "our RNIC is the responder; the requests come from the capture", "");
    CHECKRUN_EXPECT("$R decode $T/e.pcapng | grep -c 'NAK, PSN sequence error'", 0, "1", "");
    CHECKRUN_EXPECT("$R replay $T/e.pcapng", 0, "verdict: PASS", "");
    CHECKRUN_EXPECT("$R replay --side requester --impair drop@dir=response --record $T/e.pcapng "
                    "$C/rc-atomics.pcap",
                    0, "our RNIC is the requester; the responses come from the capture", "");
    /* Our requester receives no response: the file has the first transmission and seven
     * retransmissions. */
    CHECKRUN_EXPECT("[ $($R decode $T/e.pcapng | grep -c 'PSN') -gt 8 ] && echo more", 0, "more",
                    "");
    CHECKRUN_EXPECT(
        "$R replay --side requester --closed-loop --json - $C/rc-atomics.pcap | python3 -c "
        "'import json,sys; print(json.load(sys.stdin)[\"captures\"][0][\"closed\"]"
        "[\"side\"])'",
        0, "requester", "");
}

/* On an impaired link, the communication managers of a CM exchange retry, or report that the peer
 * did not answer. Both outcomes must pass. */
static void cm_exchange_survives_impairments(void)
{
    static const char *const impairments[] = {
        "drop@p=0.2",     "dup@p=0.5", "corrupt@p=0.2",        "reorder@p=0.3",
        "delay=3s@p=0.2", "ce@p=0.5",  "set=deth.qkey=5@p=0.1"};

    for (size_t e = 0; e < sizeof(impairments) / sizeof(impairments[0]); e++) {
        char command[256];

        snprintf(command, sizeof(command),
                 "$R replay --impair %s%s --repeat 5 $C/cm-*.pcap $C/r*ing.pcap", impairments[e],
                 strchr(impairments[e], '@') ? ",dir=cm" : "@dir=cm");
        CHECKRUN_EXPECT(command, 0, "exchange 1: ", "");
    }
    CHECKRUN_EXPECT("$R replay --impair drop@dir=cm,nth=1 --record $T/c.pcapng "
                    "$C/cm-connect-disconnect.pcap",
                    0, "impairment drop@dir=cm,nth=1: 1 frame\n", "");
    CHECKRUN_EXPECT("$R replay $T/c.pcapng", 0, "1 exchange passed", "");
    CHECKRUN_EXPECT("$R decode $T/c.pcapng | grep -c 'CM REQ'", 0, "2", "");
    CHECKRUN_EXPECT("$R replay --impair drop@dir=cm $C/cm-connect-disconnect.pcap", 0,
                    "PASS, 5 messages", "");
    /* An impairment with psn= matches only packets of connections, not CM messages. */
    CHECKRUN_EXPECT("$R replay --impair drop@psn=+0 $C/cm-connect-disconnect.pcap", 0,
                    "impairment drop@psn=+0: 0 frames (no frame matches)", "");
}

SUITE("replay.closed", TEST(cm_exchange_survives_impairments), TEST(the_setup_is_dumped),
      TEST(recorded_ends_pass_with_impairments), TEST(a_recorded_end_reacts_to_nothing),
      TEST(says_what_is_wrong_in_one_line), TEST(every_capture_passes_without_impairments),
      TEST(every_capture_holds_on_bad_links), TEST(one_loss_causes_one_retransmission),
      TEST(streams_are_played), TEST(giving_up_passes_if_all_requests_are_lost),
      TEST(play_with_forged_packets_ends), TEST(equal_seeds_give_equal_plays),
      TEST(a_recording_replays), TEST(reports_name_the_seed))
