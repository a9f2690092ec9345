/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* `rocedrill edit`: a copy of a capture with altered, lost, copied or delayed frames. */
#include <string.h>
#include "replay/checkrun.h"
#include "support/suite.h"

#define READS "$C/rc-loss-read-responses.pcap"

/* `edit` alters a field and corrects the ICRC, so replay compares the field. With icrc=keep the
 * ICRC stays wrong, and the packet counts as damaged. */
static void altered_field_is_compared_if_the_icrc_is_right(void)
{
    CHECKRUN_EXPECT("$R edit --impair set=aeth.msn=7@frame=9 " READS " $T/e.pcapng", 0,
                    "27 frames read, 27 written\nimpairment set=aeth.msn=7@frame=9: 1 frame\n", "");
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 $T/e.pcapng", 1, "frame 9: aeth.msn: ", "");
    CHECKRUN_EXPECT("$R edit -q --impair set=aeth.msn=7@frame=9,icrc=keep " READS " $T/e.pcapng", 0,
                    "", "");
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 $T/e.pcapng", 0,
                    "1 response damaged by the network", "");
    CHECKRUN_EXPECT("$R check $T/e.pcapng", 0, "frame 9      WARN  ALL-ICRC-017", "");
}

/* All frames except the altered frame keep their bytes, times and order. */
static void other_frames_do_not_change(void)
{
    CHECKRUN_EXPECT(
        "$R edit -q --impair set=bth.psn=5@frame=3 " READS " $T/e.pcapng; "
        "$R decode " READS " | tail -n +2 >$T/a; $R decode $T/e.pcapng | tail -n +2 >$T/b; "
        "diff $T/a $T/b | grep -c '^[<>]'; diff $T/a $T/b | grep '^>' | grep -c 'PSN 5 '",
        0, "2\n1\n", "");
    CHECKRUN_EXPECT(
        "for c in demo-conversation vlan ipv6; do "
        "$R edit -q --impair set=bth.migreq=1@p=0 $C/$c.pcap - | $R decode - | "
        "tail -n +2 >$T/b; "
        "$R decode $C/$c.pcap | tail -n +2 >$T/a; cmp $T/a $T/b || echo $c; done; echo done",
        0, "done", "");
}

/* A lost frame is missing, a copied frame occurs twice, and a delayed frame is later by exactly the
 * delay. */
static void frames_are_lost_copied_and_delayed(void)
{
    CHECKRUN_EXPECT("$R edit --impair drop@frame=13..14 " READS " $T/e.pcapng", 0,
                    "27 frames read, 25 written\nimpairment drop@frame=13..14: 2 frames\n", "");
    CHECKRUN_EXPECT(
        "$R check $T/e.pcapng", 0,
        "the READ response with PSN 266 was lost, or later than the ACK timeout (restart in "
        "frame 17): the capture lacks the response",
        "");
    CHECKRUN_EXPECT("$R edit --impair dup@psn=256 " READS " $T/e.pcapng", 0, "28 written", "");
    CHECKRUN_EXPECT("$R check $T/e.pcapng", 0, "1 copy", "");
    CHECKRUN_EXPECT("$R edit -q --impair delay=1ms@frame=2 " READS " $T/e.pcapng; "
                    "$R decode $T/e.pcapng | grep 'PSN 257 '",
                    0, " 9    0.001308 ", "");
    CHECKRUN_EXPECT("$R edit -q --impair reorder=2@frame=2 " READS " $T/e.pcapng; "
                    "$R decode $T/e.pcapng | grep 'PSN 257 '",
                    0, " 4 ", "");
}

/* `tcpdump -i any` records cooked frames, and a mirror port may add a VXLAN tunnel: `edit` alters
 * the packet inside, and the copy has the link layer of the original. */
static void cooked_and_tunnelled_frames_are_altered(void)
{
    static const char *const capture[] = {"sll", "vxlan"};

    CHECKRUN_EXPECT("python3 $C/../../tests/replay/suite/wrap.py " READS
                    " $T/sll.pcap $T/vxlan.pcap",
                    0, "", "");
    for (unsigned i = 0; i < sizeof(capture) / sizeof(capture[0]); i++) {
        struct checkrun r = checkrun_shell("\"$R\" edit --impair set=aeth.msn=7@frame=9 $T/%s.pcap "
                                           "$T/e.pcapng; \"$R\" replay --quirks linux-rxe-6.1 "
                                           "$T/e.pcapng",
                                           capture[i]);

        EXPECT_EQ(r.status, 1);
        if (!strstr(r.out, "@frame=9: 1 frame\n") || !strstr(r.out, "frame 9: aeth.msn: "))
            suite_fail(__FILE__, __LINE__, "%s: %s%s", capture[i], r.out, r.err);
        checkrun_free(&r);
    }
}

static void wrong_use_is_one_error(void)
{
    CHECKRUN_EXPECT("$R edit " READS " $T/e.pcapng", 2, "",
                    "edit: no rule given: expected --impair RULES (see ");
    CHECKRUN_EXPECT("$R edit --impair drop@frame=1 " READS, 2, "", "give the capture and the file");
    CHECKRUN_EXPECT("$R edit --impair drop@frame=0 " READS " $T/e.pcapng", 2, "",
                    "at \"frame=0\": expected the number of a frame");
    CHECKRUN_EXPECT("$R edit --impair drop@conn=1 " READS " $T/e.pcapng", 2, "",
                    "valid only for rocedrill replay --closed-loop");
    CHECKRUN_EXPECT("$R edit --impair drop@frame=99 " READS " $T/no.pcapng >$T/out; "
                    "s=$?; wc -c <$T/out; exit $s",
                    2, "0\n", "--impair drop@frame=99: changes none of the 27 frames of ");
    CHECKRUN_EXPECT("$R edit --impair set=aeth.msn=9@frame=1 " READS " $T/no.pcapng", 2, "",
                    "rc-loss-read-responses.pcap; frame 1 (RC WRITE First) has no AETH");
    CHECKRUN_EXPECT("$R edit --impair corrupt@frame=9 " READS " $T/no.pcapng", 2, "",
                    "; frame 9 (RC Acknowledge) has no payload");
    CHECKRUN_EXPECT("$R edit --impair set=aeth.syndrom=1 " READS " $T/no.pcapng", 2, "",
                    "expected a field of aeth, which has syndrome, msn");
    CHECKRUN_EXPECT("$R edit --impair set=aet.msn=1 " READS " $T/no.pcapng", 2, "",
                    "expected one of the headers eth,");
    CHECKRUN_EXPECT("test -e $T/no.pcapng", 1, "", "");
    CHECKRUN_EXPECT("cp " READS " $T/in.pcap; $R edit --impair drop@frame=1 $T/in.pcap $T/in.pcap",
                    2, "", "in.pcap");
    CHECKRUN_EXPECT("$R edit --impair drop@frame=1 $T/none.pcap $T/e.pcapng", 2, "", "none.pcap");
    CHECKRUN_EXPECT("$R replay --impair drop@frame=1 " READS, 2, "",
                    "another condition (frame= is valid only for rocedrill edit)");
    CHECKRUN_EXPECT("$R edit --impair help", 0, "rocedrill edit only: number of the frame", "");
}

/* An edit that fails does not change the existing output, and leaves no temporary file. */
static void failed_edit_leaves_its_output(void)
{
    CHECKRUN_EXPECT(
        "mkdir $T/kept; echo old >$T/kept/e.pcapng; $R edit --impair drop@frame=99 " READS
        " $T/kept/e.pcapng; s=$?; ls $T/kept; cat $T/kept/e.pcapng; exit $s",
        2, "e.pcapng\nold\n", "changes none of the 27 frames");
    CHECKRUN_EXPECT("chmod 640 $T/kept/e.pcapng; $R edit -q --impair drop@frame=1 " READS
                    " $T/kept/e.pcapng; ls $T/kept; stat -c %a $T/kept/e.pcapng; "
                    "$R edit --impair drop@frame=26 $T/kept/e.pcapng /dev/null",
                    0, "e.pcapng\n640\n26 frames read, 25 written\n", "");
}

/* A symbolic link stays, and the file to which it points changes only if the edit succeeds. */
static void failed_edit_leaves_the_target_of_a_link(void)
{
    CHECKRUN_EXPECT("mkdir -p $T/linked/far; echo old >$T/linked/far/e.pcapng; "
                    "ln -s far/e.pcapng $T/linked/l; $R edit --impair drop@frame=99 " READS
                    " $T/linked/l; s=$?; ls $T/linked/far; cat $T/linked/l; exit $s",
                    2, "e.pcapng\nold\n", "changes none of the 27 frames");
    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=1 " READS " $T/linked/l; "
                    "readlink $T/linked/l; ls $T/linked/far; "
                    "$R edit --impair drop@frame=26 $T/linked/far/e.pcapng /dev/null",
                    0, "far/e.pcapng\ne.pcapng\n26 frames read, 25 written\n", "");
    CHECKRUN_EXPECT("$R edit -q --impair drop@frame=1 " READS
                    " /dev/stdout | $R edit --impair drop@frame=26 - /dev/null",
                    0, "26 frames read, 25 written\n", "");
}

/* --impair help lists the header fields. set= accepts each name that decode -v prints. */
static void names_of_fields_are_listed(void)
{
    CHECKRUN_EXPECT("$R edit --impair help", 0, "\n  aeth          syndrome, msn\n", "");
    CHECKRUN_EXPECT("$R edit --impair help | awk 'length > 100'; echo end", 0, "end\n", "");
    CHECKRUN_EXPECT(
        "for f in $($R decode -v " READS " | grep -o ' [a-z0-9]*[.][a-z][a-z0-9_]* ' | "
        "tr -d ' ' | sort -u | tee $T/fields); do $R edit -q --impair set=$f=0@frame=99 " READS
        " $T/n 2>&1 | grep -q 'changes none of\\|expected an address' || echo $f; "
        "done >$T/refused; wc -l <$T/fields; cat $T/refused; test ! -s $T/refused",
        0, "40\n", "");
}

SUITE("replay.edit", TEST(altered_field_is_compared_if_the_icrc_is_right),
      TEST(other_frames_do_not_change), TEST(frames_are_lost_copied_and_delayed),
      TEST(cooked_and_tunnelled_frames_are_altered), TEST(wrong_use_is_one_error),
      TEST(failed_edit_leaves_its_output), TEST(failed_edit_leaves_the_target_of_a_link),
      TEST(names_of_fields_are_listed))
