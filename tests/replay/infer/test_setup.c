/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* A setup that replay wrote and the test edited can be read again by replay. */
#include <stdio.h>
#include "replay/checkrun.h"
#include "support/suite.h"
#include "replay/talk.h"

/* Dumps the setup of $C/CAPTURE, edits it with a line of Python, and replays with the edited setup.
 * In Python, d is the setup, c its first connection, and r the first region of its first device. */
#define CHANGED                                                                                    \
    "$R replay -q --quirks linux-rxe-6.1 --dump-setup $T/s.json $C/%s && python3 -c 'import "      \
    "json,sys;"                                                                                    \
    "d=json.load(open(sys.argv[1]));c=d[\"connections\"][0];r=([*(d[\"devices\"][0][\"regions\"])" \
    ","                                                                                            \
    "0])[0];%s;json.dump(d,open(sys.argv[1],\"w\"))' $T/s.json && "                                \
    "$R replay --quirks linux-rxe-6.1 --setup $T/s.json $C/%s"

struct change {
    const char *capture;
    const char *python;
    int status;
    const char *says; /* expected text on standard output, or on standard error if the status is
                       * 2 */
};

static void expect_changes(const struct change *row, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++) {
        char command[2048];

        snprintf(command, sizeof(command), CHANGED, row[i].capture, row[i].python, row[i].capture);
        if (row[i].status == 2)
            CHECKRUN_EXPECT(command, 2, "", row[i].says);
        else
            CHECKRUN_EXPECT(command, row[i].status, row[i].says, "");
    }
}

#define EXPECT_CHANGES(rows) expect_changes(rows, sizeof(rows) / sizeof(rows[0]))

/* A replay with a dumped setup prints the report of a replay that infers the setup, except for
 * the lines about memory. */
static void dumped_setup_reproduces_the_report(void)
{
    CHECKRUN_EXPECT(
        "for c in $C/*.pcap*; do for peer in linux-rxe-6.1; do "
        "$R replay --quirks $peer --dump-setup $T/a.json $c >$T/a.out; a=$?; "
        "$R replay --quirks $peer --setup $T/a.json --dump-setup $T/b.json $c >$T/b.out; "
        "[ $a = $? ] && grep -v memory: $T/a.out >$T/a && grep -v memory: $T/b.out >$T/b && "
        "cmp -s $T/a $T/b || echo \"$c $peer\"; done; done; echo done",
        0, "done", "");
    CHECKRUN_EXPECT("$R replay -q --dump-setup $T/a.json $C/rc-read-sizes.pcap; "
                    "$R replay --setup $T/a.json --impair drop@p=0.05 $C/rc-read-sizes.pcap",
                    0, "PASS", "");
}

/* Two connections share memory. The last READ returns the bytes from before a WRITE that was
 * captured earlier. The bytes restored after that READ are for no request. */
static void last_read_may_return_bytes_from_before_a_write(void)
{
    struct talk t;

    talk_init(&t);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 100, 0x1000, 7, 64, 64, 1);
    talk_ack(&t, 100, 0x1F, 1);
    talk_write(&t, ROCE_OP_RC_WRITE_ONLY, 101, 0x1000, 7, 64, 64, 2);
    t.requester_qp++;
    t.responder_qp++;
    talk_read(&t, 500, 0x1000, 7, 64);
    talk_read_resp(&t, ROCE_OP_RC_READ_RESP_ONLY, 500, 1, 64, 1);
    t.requester_qp--;
    t.responder_qp--;
    talk_ack(&t, 101, 0x1F, 2);
    capture_keep(&t.capture, checkrun_path("was.pcap"));
    CHECKRUN_EXPECT("$R replay -q --dump-setup $T/s.json $T/was.pcap && "
                    "$R replay --setup $T/s.json $T/was.pcap",
                    0, "verdict: PASS (2 directions passed", "");
    talk_free(&t);
}

static void a_changed_value_takes_effect(void)
{
    static const struct change changes[] = {
        {"rc-read-sizes.pcap", "pass", 0, "verdict: PASS"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"path_mtu\"]=512", 1, "NAK, invalid request"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"first_psn\"]+=1", 1, "NAK, invalid request"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"msn\"]+=7", 1, "aeth.msn: recorded 1, replayed 8"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"pkey\"]=0x1234", 1, "replayed none"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"access\"]=[]", 1, "NAK, invalid request"},
        {"rc-read-sizes.pcap", "c[\"requester\"][\"first_psn\"]+=1", 1, "recorded RC WRITE First"},
        {"rc-read-sizes.pcap", "c[\"requester\"][\"qpn\"]+=1", 1, "bth.dest_qp"},
        {"rc-read-sizes.pcap", "c[\"responder\"][\"qpn\"]+=1", 1, "bth.dest_qp"},
        {"rc-read-sizes.pcap", "r[\"access\"]=[\"remote_write\"]", 1, "NAK, remote access error"},
        {"rc-read-sizes.pcap", "r[\"length\"]=\"0x1\"", 1, "NAK, remote access error"},
        {"rc-read-sizes.pcap", "d[\"devices\"][0][\"regions\"]=[]", 1, "NAK, remote access error"},
        {"rc-read-sizes.pcap", "del c[\"setup\"],c[\"requester\"],r[\"image\"]", 0, "PASS"},
        {"rc-rnr-pipeline.pcap", "c[\"setup\"][\"receives\"]=[]", 1,
         "recorded 0x34 (RNR NAK, 10.24 ms), replayed 0x1f"},
        {"rc-rnr-pipeline.pcap", "c[\"setup\"][\"rnr_timer\"]=1", 1, "replayed 0x21 (RNR NAK"},
        {"rc-rnr-pipeline.pcap", "c[\"requester\"][\"rnr_retry\"]=0", 1, "RNR_RETRY_EXC_ERR"},
        {"rc-loss-requests.pcap", "c[\"requester\"][\"retry_count\"]=0", 1, "RETRY_EXC_ERR"},
        {"rc-recv-too-short.pcap",
         "c[\"setup\"][\"receive_length\"]=4096;c[\"setup\"][\"receives\"]=[]", 1, "replayed 0x1f"},
        {"rc-atomics.pcap", "r[\"image\"][0][\"bytes\"]=\"ff\"+r[\"image\"][0][\"bytes\"][2:]", 1,
         "atomicacketh.orig"},
        {"perftest-read-lat.pcap",
         "r[\"image\"][0][\"bytes\"]=\"ff\"+r[\"image\"][0][\"bytes\"][2:]", 1, "payload"},
        {"rping.pcap", "[i.pop(\"stores\") for x in d[\"devices\"] for i in x[\"regions\"]]", 1,
         "payload"},
        {"rping.pcap",
         "[(i.pop(\"stores\"),i.pop(\"image\")) for x in d[\"devices\"] for i in x[\"regions\"]]",
         0, "PASS"},
        {"rping.pcap",
         "[i[\"image\"].append(dict(i[\"stores\"][0],bytes=\"00\")) for x in "
         "d[\"devices\"] for i in x[\"regions\"] if i[\"stores\"]]",
         2, "image[1].frame: unknown member"},
        {"rping.pcap",
         "[s.__setitem__(\"bytes\",\"7a\"+s[\"bytes\"][2:]) for x in d[\"devices\"] "
         "for i in x[\"regions\"] for s in i[\"stores\"]]",
         1, "payload"},
    };

    EXPECT_CHANGES(changes);
}

/* The requester's timers are inferred from the CM exchange, from retransmissions, or else set to
 * the usual defaults of programs. */
static void requester_timers_are_inferred(void)
{
    static const struct change changes[] = {
        /* The CM exchange sets timeout 19 and retry count 2. The requester waits 3.2 s, retransmits
         * twice and gives up. */
        {"cm-lost-peer.pcap",
         "q=c[\"requester\"];e=q[\"seen\"];assert (q[\"timeout\"],q[\"retry_count\"],q["
         "\"rnr_retry\"])==(19,2,7) and e[\"retries_exhausted\"] and e[\"timeout_least\"]<=19<=e["
         "\"timeout_most\"]",
         0, "verdict: PASS"},
        /* Timeout 14 expires three times in a row, then the capture ends. */
        {"rc-retry-exhausted.pcap",
         "q=c[\"requester\"];e=q[\"seen\"];assert e[\"waits_sure\"] and e[\"timeout_most\"]==14 "
         "and "
         "e[\"retries\"]==3 and not e[\"retries_exhausted\"] and q[\"timeout\"]==14",
         0, "verdict: PASS"},
        /* The REQ and REP of this capture have RNR retry count 0. */
        {"ucmatose.pcap", "assert c[\"requester\"][\"rnr_retry\"]==0", 0, "verdict: PASS"},
        {"rc-rnr-then-success.pcap",
         "q=c[\"requester\"];assert q[\"seen\"][\"rnr_retries\"]==4 and q[\"rnr_retry\"]==7", 0,
         "verdict: PASS"},
        /* Packets duplicated on the wire are not timeouts. */
        {"rc-duplicates.pcap", "assert c[\"requester\"][\"timeout\"]==14", 0, "verdict: PASS"},
        {"cm-lost-peer.pcap", "c[\"requester\"][\"seen\"]={}", 0, "verdict: PASS"},
    };

    EXPECT_CHANGES(changes);
}

static void errors_name_file_and_member(void)
{
    static const struct change changes[] = {
        {"rc-read-sizes.pcap", "c[\"setup\"][\"path_mtu\"]=300", 2,
         "s.json: connections[0].setup.path_mtu: 300: none of 256, 512, 1024, 2048, 4096"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"path_mtu\"]=8192", 2,
         "connections[0].setup.path_mtu: 8192: not a number from 256 to 4096"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"first_psn\"]=\"x\"", 2,
         "connections[0].setup.first_psn: \"x\": not a number from 0 to 16777215"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"first_psm\"]=1", 2,
         "connections[0].setup.first_psm: unknown member"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"access\"]=[\"write\"]", 2,
         "connections[0].setup.access[0]: \"write\": not remote_write"},
        {"rc-read-sizes.pcap", "c[\"setup\"]=3", 2, "connections[0].setup: 3: not an object"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"receives\"]=[{\"psn\":77}]", 2,
         "connections[0].setup.receives[0].psn: 77: no request of the connection has this PSN"},
        {"rc-read-sizes.pcap", "c[\"setup\"][\"withdrawn\"]=[77]", 2,
         "connections[0].setup.withdrawn[0]: 77: no request"},
        {"rc-read-sizes.pcap", "c[\"requester\"][\"timeout\"]=32", 2,
         "connections[0].requester.timeout: 32: not a number from 0 to 31"},
        {"rc-read-sizes.pcap", "c[\"connection\"]=9", 2, "connections[0].connection: 9: "},
        {"rc-read-sizes.pcap", "del c[\"connection\"]", 2, "connections[0].connection: is missing"},
        {"rc-read-sizes.pcap", "d[\"connections\"]*=2", 2,
         "connections[1].connection: 1: is there twice"},
        {"rc-read-sizes.pcap", "d[\"devices\"][0][\"address\"]=\"192.0.2.77\"", 2,
         "devices[0].address: \"192.0.2.77\": no responder of"},
        {"rc-read-sizes.pcap", "d[\"devices\"][0][\"address\"]=\"nowhere\"", 2,
         "devices[0].address: \"nowhere\": not an IP address"},
        {"rc-read-sizes.pcap", "r[\"rkey\"]=-1", 2,
         "devices[0].regions[0].rkey: -1: not a number from 0 to 4294967295"},
        {"rc-read-sizes.pcap", "r[\"length\"]=\"0xffffffffffffffff\"", 2,
         "devices[0].regions[0].length: \"0xffffffffffffffff\": the region goes beyond"},
        {"rc-read-sizes.pcap", "r[\"address\"]=\"0xffffffffffffffff\"", 2,
         "devices[0].regions[0].length"},
        {"rc-atomics.pcap", "r[\"image\"][0][\"address\"]=\"0x1\"", 2,
         "devices[0].regions[0].image[0].address: \"0x1\": the"},
        {"rc-atomics.pcap", "r[\"image\"][0][\"bytes\"]=\"5\"", 2,
         "devices[0].regions[0].image[0].bytes: \"5\": not bytes in hexadecimal"},
        {"rc-read-sizes.pcap", "d[\"devices\"]={}", 2, "devices: {}: not a list"},
        {"rc-read-sizes.pcap", "d.clear();d[\"x\"]=1", 2, "x: unknown member"},
    };

    EXPECT_CHANGES(changes);
    CHECKRUN_EXPECT("$R replay --setup $T/none.json $C/rc-read-sizes.pcap", 2, "",
                    "none.json: No such file or directory");
    CHECKRUN_EXPECT("echo '{ 1 }' > $T/x.json; $R replay --setup $T/x.json $C/rc-read-sizes.pcap",
                    2, "", "x.json: line 1, column 3: ");
    CHECKRUN_EXPECT("echo '[]' > $T/x.json; $R replay --setup $T/x.json $C/rc-read-sizes.pcap", 2,
                    "", "x.json: not a JSON object");
    CHECKRUN_EXPECT("$R replay --setup $T/x.json $C/rc-read-sizes.pcap $C/ipv6.pcap", 2, "",
                    "--setup requires one capture");
}

SUITE("replay.setup", TEST(dumped_setup_reproduces_the_report),
      TEST(last_read_may_return_bytes_from_before_a_write), TEST(a_changed_value_takes_effect),
      TEST(requester_timers_are_inferred), TEST(errors_name_file_and_member))
