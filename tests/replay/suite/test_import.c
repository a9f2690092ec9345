/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* Import of captures into a folder: the copies are trimmed, made anonymous if requested, and
 * replay with the result of the original. */
#include "replay/checkrun.h"
#include "support/suite.h"

#ifdef TEST_SANITIZED /* captures with CM, UD, UC, RC with loss, and atomics, which execute all    \
                       * code of the import */
#define CAPTURES "$C/[cmu]*.pcap* $C/rc-[abl]*.pcap*"
#define MISSING  "8 responses missing in 3 captures"
#else
#define CAPTURES "$C/*.pcap*"
#define MISSING  "10 responses missing in 5 captures"
#endif

/* Imports the captures of the corpus into a new folder, with the peer from its manifest, and
 * replays the folder. */
#define ADD_ALL(folder, options)                                                                   \
    "rm -rf $T/" folder "; for c in " CAPTURES "; do "                                             \
    "p=$(awk -F'\\t' -v f=${c##*/} '$1==f{print $2}' $C/../manifest.tsv); "                        \
    "$R import -q --to $T/" folder " --quirks $p " options " $c || [ $? = 1 ] || echo bad; done; " \
    "$R replay $T/" folder " && ls $T/" folder "/captures/*.pcap | wc -l | "                       \
    "grep -qx $(ls " CAPTURES " | wc -l) && echo all there"

static void every_capture_is_the_same_test_in_its_folder(void)
{
    CHECKRUN_EXPECT(ADD_ALL("anonymous", "--anonymize addresses,payload"), 0,
                    "all as expected\n" MISSING ", not compared\nall there", "");
#ifndef TEST_SANITIZED /* a plain import executes only code that an anonymous import executes as   \
                        * well */
    CHECKRUN_EXPECT(ADD_ALL("plain", ""), 0,
                    "all as expected\n" MISSING ", not compared\nall there", "");
    /* The imported capture has the packets of the original, and replay prints the same report. */
    CHECKRUN_EXPECT("for c in $C/*.pcap; do n=${c##*/}; n=${n%.pcap}; "
                    "$R decode $c >$T/a; $R decode $T/plain/captures/$n.pcap >$T/b; "
                    "grep -v '[0-9] frames' $T/a >$T/a1; grep -v '[0-9] frames' $T/b >$T/b1; "
                    "case $n in *multicast*) ;; *) cmp -s $T/a1 $T/b1 || echo $n;; esac; "
                    "p=$(awk -F'\\t' -v f=${c##*/} '$1==f{print $2}' $C/../manifest.tsv); "
                    "(cd $T/plain/captures; $R replay -v --quirks $p $n.pcap; "
                    "echo exit status $?) | cmp -s $C/$n.verdict.txt || "
                    "case $n in *multicast*) ;; *) echo verdict $n;; esac; done; echo done",
                    0, "done", "");
#endif
}

/* --connection imports one of several connections, together with the CM exchange of that
 * connection. */
static void selected_connection_is_imported(void)
{
    CHECKRUN_EXPECT("rm -rf $T/f; $R import --to $T/f --connection 2 --name two $C/multi-qp.pcap",
                    0, "two.pcap: ", "");
    CHECKRUN_EXPECT("$R replay $T/f/captures/two.pcap", 0, "PASS (1 direction passed", "");
    CHECKRUN_EXPECT("$R import --to $T/f --connection 1 --name ping $C/rping.pcap", 0,
                    "ping.pcap: ", "");
    CHECKRUN_EXPECT("$R replay $T/f/captures/ping.pcap", 0, "1 exchange passed", "");
    CHECKRUN_EXPECT("cd $T && $R import $C/rping.pcap", 2, "", "--to FOLDER is required");
    CHECKRUN_EXPECT("$R import --to $T/f --connection 99 --name x $C/rping.pcap", 2, "",
                    "no connection #99 (rocedrill replay lists");
    CHECKRUN_EXPECT("$R replay $T/f; cut -f1,5 $T/f/manifest.tsv", 0,
                    "two.pcap\tPASS\nping.pcap\tPASS", "");
}

/* Imports a capture that replays with a difference. The imported copy replays with the
 * same difference, with and without a masked payload. */
static void difference_survives_the_import(void)
{
    CHECKRUN_EXPECT(
        "$R replay -q --impair set=aeth.msn=9@psn=+70,dir=response --record $T/m.pcapng "
        "$C/rc-read-sizes.pcap; $R replay -q $T/m.pcapng",
        1, "", "");
    CHECKRUN_EXPECT("rm -rf $T/g; $R import --to $T/g $T/m.pcapng", 1, "replay: FAIL", "");
    CHECKRUN_EXPECT("$R import --to $T/g --name a --anonymize addresses,payload $T/m.pcapng", 1,
                    "replay: FAIL", "");
    CHECKRUN_EXPECT("$R replay $T/g; cut -f1,5 $T/g/manifest.tsv", 0, "m.pcap\tFAIL\na.pcap\tFAIL",
                    "");
    /* The import names only files that exist, and each replay names the captures that must fail. */
    CHECKRUN_EXPECT(
        "$R import --replace --to $T/g $T/m.pcapng | sed -n 2p", 0,
        "/g/manifest.tsv now expects FAIL of this capture, so it detects no regression; "
        "to see the differences: rocedrill replay -v ",
        "");
    CHECKRUN_EXPECT("$R replay -v $T/g", 0, "\n  difference ", "");
    CHECKRUN_EXPECT("$R replay $T/g", 0,
                    "/m.pcap: FAIL, as manifest.tsv expects: this capture detects no regression\n",
                    "");
}

/* A READ returns wrong bytes. After the payload was masked, the replay must still report this READ,
 * and nothing else. */
static void masked_bytes_read_equal_those_written(void)
{
    static const char alter[] =
        "python3 - $C/rc-read-sizes.pcap $T/b.pcap <<'E'\n"
        "import sys,struct,zlib\n"
        "d=bytearray(open(sys.argv[1],'rb').read()); at=24; n=0\n"
        "while at<len(d):\n"
        "    l=struct.unpack_from('<I',d,at+8)[0]; f=at+16; n+=1\n"
        "    if d[f+42]==0x10 and l>100:\n"
        "        d[f+60]^=1; c=bytearray(b'\\xff'*8+d[f+14:f+l-4])\n"
        "        c[9]=c[16]=c[18]=c[19]=c[34]=c[35]=c[40]=0xff\n"
        "        struct.pack_into('<I',d,f+l-4,zlib.crc32(c)); break\n"
        "    at+=16+l\n"
        "open(sys.argv[2],'wb').write(d)\n"
        "E\n"
        "rm -rf $T/h; $R import -q --anonymize payload --to $T/h $T/b.pcap; "
        "cut -f5 $T/h/manifest.tsv; $R replay $T/h/captures/b.pcap";

    CHECKRUN_EXPECT(alter, 1, "frame 73: payload: recorded", "");
    /* The report names the rule and the command. */
    CHECKRUN_EXPECT("$R replay --quirks linux-rxe-6.1 $T/b.pcap", 1,
                    "our RNIC returns the bytes that frame 2 wrote [RC-RSP-092]\n", "");
    CHECKRUN_EXPECT(
        "$R replay --quirks linux-rxe-6.1 --side responder $T/b.pcap", 1,
        "to repeat: rocedrill replay --ladder --quirks linux-rxe-6.1 --side responder '", "");
    CHECKRUN_EXPECT("$R replay -q --json - $T/b.pcap | grep rule", 0, "\"rule\": \"RC-RSP-092\"",
                    "");
}

/* An anonymous copy must contain no address and no payload byte of the original. Every ICRC and
 * checksum must be right. */
static void anonymous_copy_has_no_old_bytes(void)
{
    CHECKRUN_EXPECT("rm -rf $T/i; for n in ipv6-cm rping demo-conversation ucmatose; do $R import "
                    "-q --anonymize "
                    "addresses,payload --to $T/i $C/$n.pcap || echo bad; done; "
                    "cat $T/i/captures/*.pcap | grep -c -a $(printf '\\x52\\x6f\\x43\\x45')",
                    1, "0", "");
    CHECKRUN_EXPECT("$R check -v $T/i/captures/rping.pcap | grep -ci 'icrc\\|checksum'", 1, "0",
                    "");
    /* rping's payload is readable text. */
    CHECKRUN_EXPECT("grep -c -a rdma-ping- $C/rping.pcap", 0, "5", "");
    CHECKRUN_EXPECT("grep -c -a rdma-ping- $T/i/captures/rping.pcap", 1, "0", "");
}

static void existing_files_are_not_replaced(void)
{
    CHECKRUN_EXPECT(
        "rm -rf $T/j; $R import -q --to $T/j $C/ipv6.pcap && $R import --to $T/j "
        "$C/ipv6.pcap",
        2, "", "j/manifest.tsv: ipv6.pcap is already listed (choose another --name, or --replace)");
    CHECKRUN_EXPECT("rm $T/j/manifest.tsv; $R import --to $T/j $C/ipv6.pcap", 2, "",
                    "captures/ipv6.pcap: already exists");
    CHECKRUN_EXPECT("$R import --to $T/j $T/none.pcap", 2, "", "none.pcap");
    CHECKRUN_EXPECT("head -c 100 $C/ipv6.pcap >$T/cut.pcap; $R import --to $T/j $T/cut.pcap", 2, "",
                    "cut.pcap: frame 1");
    CHECKRUN_EXPECT("$R import --to $T/cut.pcap $C/ipv6.pcap", 2, "", "cut.pcap: not a folder");
    CHECKRUN_EXPECT("$R import --anonymize all $C/ipv6.pcap", 2, "",
                    "--anonymize all: must be \"addresses\"");
    CHECKRUN_EXPECT("$R import --connection -1 $C/ipv6.pcap", 2, "",
                    "--connection -1: not the number");
    CHECKRUN_EXPECT("$R import --to $T/x --name ../x $C/ipv6.pcap", 2, "",
                    "--name ../x: must contain only letters");
    CHECKRUN_EXPECT("$R import $C/ipv6.pcap $C/ipv6.pcap", 2, "",
                    "only one capture can be imported");
    CHECKRUN_EXPECT("$R import", 2, "", "no capture given");
    CHECKRUN_EXPECT("$R import --to $T/x -", 2, "", "standard input cannot be read twice");
    /* A failed import leaves no files behind. */
    CHECKRUN_EXPECT("ls -a $T/j $T/j/captures | grep -c 'add-\\|cut\\|none'", 1, "0", "");
}

/* --replace replaces the files and the verdict of a capture. The other columns of its row, and the
 * other rows, stay as they are. */
static void replaced_capture_keeps_its_row(void)
{
    CHECKRUN_EXPECT("rm -rf $T/r; mkdir $T/r; printf 'file\tnote\tpeer\tshows\tframes\treplay\n' "
                    ">$T/r/manifest.tsv; $R import -q --quirks linux-rxe-6.1 --description atomics "
                    "--to $T/r $C/rc-atomics.pcap; $R import -q --to $T/r $C/ipv6.pcap; "
                    "sed -i '2s/\t/\tkept/' $T/r/manifest.tsv; "
                    "$R edit -q --impair set=atomicacketh.orig=7@frame=6 $C/rc-atomics.pcap "
                    "$T/rc-atomics.pcapng; $R import -q --replace --to $T/r $T/rc-atomics.pcapng",
                    1, "", "");
    CHECKRUN_EXPECT("cat $T/r/manifest.tsv", 0,
                    "file\tnote\tpeer\tshows\tframes\treplay\n"
                    "rc-atomics.pcap\tkept\tlinux-rxe-6.1\tatomics\t18\tFAIL\n"
                    "ipv6.pcap\t\t\t\t",
                    "");
    /* The folder must contain only files that `rocedrill replay` reads. */
    CHECKRUN_EXPECT("ls $T/r/captures", 0, "ipv6.pcap\nrc-atomics.pcap\n", "");
    CHECKRUN_EXPECT("ls $T/r/captures | wc -l", 0, "2", "");
    CHECKRUN_EXPECT("$R import -q --replace --description again --to $T/r $C/rc-atomics.pcap; "
                    "sed -n 2p $T/r/manifest.tsv; ls -A $T/r; $R replay $T/r",
                    0,
                    "rc-atomics.pcap\tkept\tlinux-rxe-6.1\tagain\t18\tPASS\n"
                    "captures\nmanifest.tsv\n2 captures, 2 directions: 2 PASS",
                    "");
    /* A failed import leaves the replaced capture. */
    CHECKRUN_EXPECT("cat $T/r/manifest.tsv $T/r/captures/* | md5sum >$T/r.before; "
                    "head -c 100 $C/rc-atomics.pcap >$T/cut.pcap; "
                    "$R import --replace --name rc-atomics --to $T/r $T/cut.pcap; s=$?; "
                    "cat $T/r/manifest.tsv $T/r/captures/* | md5sum | cmp - $T/r.before && exit $s",
                    2, "", "cut.pcap: frame 1");
    CHECKRUN_EXPECT("rm -rf $T/r2; $R import --replace --to $T/r2 $C/ipv6.pcap && "
                    "cut -f1 $T/r2/manifest.tsv",
                    0, "file\nipv6.pcap\n", "");
}

/* The columns of an existing manifest stay as they are: a new row fills only these columns. */
static void a_row_has_the_columns_of_its_manifest(void)
{
    CHECKRUN_EXPECT(
        "rm -rf $T/k; mkdir $T/k; printf 'replay\\tnote\\tfile\\tshows' "
        ">$T/k/manifest.tsv; $R import -q --description 'a READ' --to $T/k $C/ipv6.pcap; "
        "cat $T/k/manifest.tsv",
        0, "replay\tnote\tfile\tshows\nPASS\t\tipv6.pcap\ta READ\n", "");
}

SUITE("replay.import", TEST(every_capture_is_the_same_test_in_its_folder),
      TEST(selected_connection_is_imported), TEST(difference_survives_the_import),
      TEST(masked_bytes_read_equal_those_written), TEST(anonymous_copy_has_no_old_bytes),
      TEST(existing_files_are_not_replaced), TEST(replaced_capture_keeps_its_row),
      TEST(a_row_has_the_columns_of_its_manifest))
