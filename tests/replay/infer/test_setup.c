/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later */
/* The setup that replay infers from a capture and writes as JSON. */
#include <stdio.h>
#include "replay/checkrun.h"
#include "support/suite.h"

/* Dumps the setup of $C/CAPTURE, and checks it with a line of Python. In Python, d is the setup, c
 * its first connection, and r the first region of its first device. */
#define DUMPED                                                                                     \
    "$R replay -q --quirks linux-rxe-6.1 --dump-setup $T/s.json $C/%s && python3 -c 'import "      \
    "json,sys;"                                                                                    \
    "d=json.load(open(sys.argv[1]));c=d[\"connections\"][0];r=([*(d[\"devices\"][0][\"regions\"])" \
    ","                                                                                            \
    "0])[0];%s' $T/s.json"

struct dumped {
    const char *capture;
    const char *python;
};

static void expect_dumped(const struct dumped *row, size_t cnt)
{
    for (size_t i = 0; i < cnt; i++) {
        char command[2048];

        snprintf(command, sizeof(command), DUMPED, row[i].capture, row[i].python);
        CHECKRUN_EXPECT(command, 0, "", "");
    }
}

static void setup_of_every_capture_is_json(void)
{
    CHECKRUN_EXPECT(
        "for c in $C/*.pcap; do "
        "$R replay -q --quirks linux-rxe-6.1 --dump-setup $T/$(basename $c).json $c; "
        "done; python3 -c 'import json,sys;print(sum(json.load(open(p))[\"file\"]!=\"\" "
        "for p in sys.argv[1:])>120)' $T/*.pcap.json",
        0, "True", "");
}

static void attributes_and_memory_are_inferred(void)
{
    static const struct dumped rows[] = {
        {"rc-read-sizes.pcap",
         "s=c[\"setup\"];assert s[\"path_mtu\"]==1024 and "
         "s[\"access\"]==[\"remote_write\",\"remote_read\"] and "
         "s[\"first_psn\"]==c[\"requester\"][\"first_psn\"] and "
         "r[\"access\"]==[\"remote_write\",\"remote_read\"] and int(r[\"length\"],16)>1"},
        {"rc-rnr-pipeline.pcap",
         "s=c[\"setup\"];assert s[\"rnr_timer\"]==20 and s[\"receives\"][0][\"absent\"]>0"},
        {"rc-recv-too-short.pcap", "assert c[\"setup\"][\"receives\"][0][\"length\"] is not None"},
        {"rping.pcap", "assert any(i[\"stores\"] for x in d[\"devices\"] for i in x[\"regions\"])"},
    };

    expect_dumped(rows, sizeof(rows) / sizeof(rows[0]));
}

/* The requester's timers are inferred from the CM exchange, or else from retransmissions, or else
 * set to the usual defaults of programs. */
static void requester_timers_are_inferred(void)
{
    static const struct dumped rows[] = {
        /* The CM exchange sets timeout 19 and retry count 2. The requester waits 3.2 s, retransmits
         * twice and gives up. */
        {"cm-lost-peer.pcap",
         "q=c[\"requester\"];e=q[\"seen\"];assert (q[\"timeout\"],q[\"retry_count\"],q["
         "\"rnr_retry\"])==(19,2,7) and e[\"retries_exhausted\"] and e[\"timeout_least\"]<=19<=e["
         "\"timeout_most\"]"},
        /* Timeout 14 expires three times in a row, then the capture ends, so the capture does not
         * show that the retries are exhausted. */
        {"rc-retry-exhausted.pcap",
         "q=c[\"requester\"];e=q[\"seen\"];assert e[\"waits_sure\"] and e[\"timeout_most\"]==14 "
         "and "
         "e[\"retries\"]==3 and not e[\"retries_exhausted\"] and q[\"timeout\"]==14"},
        /* The REQ and REP of this capture have RNR retry count 0. */
        {"ucmatose.pcap", "assert c[\"requester\"][\"rnr_retry\"]==0"},
        {"rc-rnr-then-success.pcap",
         "q=c[\"requester\"];assert q[\"seen\"][\"rnr_retries\"]==4 and q[\"rnr_retry\"]==7"},
        /* The network duplicated packets. The duplicates are not timeouts. */
        {"rc-duplicates.pcap", "assert c[\"requester\"][\"timeout\"]==14"},
    };

    expect_dumped(rows, sizeof(rows) / sizeof(rows[0]));
}

/* Option --setup was removed, because a drill can do the same. The error message names the
 * replacement. */
static void option_setup_names_its_replacement(void)
{
    CHECKRUN_EXPECT("$R replay --setup $T/s.json $C/rc-read-sizes.pcap", 2, "",
                    "--setup was removed: write a drill with rocedrill drill --from CAPTURE");
}

SUITE("replay.setup", TEST(setup_of_every_capture_is_json),
      TEST(attributes_and_memory_are_inferred), TEST(requester_timers_are_inferred),
      TEST(option_setup_names_its_replacement))
