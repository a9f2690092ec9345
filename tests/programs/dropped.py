#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rnic-run counts the packets that --impair drops. It prints their number at its end, the
recording contains the number, and `rocedrill check` repeats it. The drops of `dir=in` count, too.
Without drops, rnic-run prints nothing.

dropped.py --bin FOLDER"""
import argparse
import json
import os
import re
import subprocess
import tempfile

SERVER = "ibv_rc_pingpong -g 1 -n 100"
COMMAND = f"{SERVER} >/dev/null & for i in $(seq 50); do sleep 0.2; {SERVER} 127.0.0.1 >/dev/null 2>&1 && break; done; wait"


def run(args, *options):
    """Runs ibv_rc_pingpong under rnic-run. Returns the standard error of rnic-run, and its output for --selfcheck."""
    command = [os.path.join(args.bin, "rnic-run"), "--net", *options, "--", "sh", "-c", COMMAND]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 0, done
    return done.stderr + done.stdout


def check(args, *options):
    done = subprocess.run([os.path.join(args.bin, "rocedrill"), "check", *options], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "packets.pcapng")
        printed = run(args, "--impair", "drop@op=send,nth=5", "-w", capture)
        cnt = int(re.search(r"^rnic-run: dropped (\d+) packets? because of --impair$", printed, re.M)[1])
        assert cnt > 0, printed
        said = f"rnic-run dropped {cnt} packet{'' if cnt == 1 else 's'} because of --impair drop@op=send,nth=5"
        text = check(args, capture)
        assert f"  impaired: {said}; the network did not lose them\n" in text, text
        summary = json.loads(check(args, "-q", "--json", "-", capture).splitlines()[-1])
        assert summary["impaired"] == said, summary
        # Packets are recorded and then dropped. So many are dropped that the connection is slow on any machine. Both ends
        # have one address, so the report names the two programs.
        run(args, "--impair", "drop@op=send,p=0.1,dir=in", "-w", capture)
        programs = re.findall(r"^     one address: → are packets of (ibv_rc_pingpong, process \d+), ← are packets of "
                              r"(ibv_rc_pingpong, process \d+); rnic-run --impair was active", check(args, capture), re.M)
        text = check(args, capture)
        assert "       rnic-run dropped packets itself (--impair), " in text and "check for drops" not in text, text
        assert len(programs) == 1 and programs[0][0] != programs[0][1], check(args, capture)
        # With --selfcheck, rnic-run writes the recording while the programs run, and the number of drops at the end.
        printed = run(args, "--impair", "drop@op=send,nth=5", "--selfcheck", "-w", capture)
        cnt = int(re.search(r"^rnic-run: dropped (\d+) packets? because of --impair$", printed, re.M)[1])
        assert f"  impaired: rnic-run dropped {cnt} packet" in check(args, capture), capture
        assert f"\n  impaired: rnic-run dropped {cnt} packet" in printed, printed
        assert "standard input" not in printed, printed
        # rnic-run prints the number of drops also without a recording, and for received packets.
        printed = run(args, "--impair", "drop@op=send,nth=7,dir=in")
        assert "rnic-run: dropped" in printed, printed
        printed = run(args, "--impair", "delay=1us", "-w", capture)
        assert "dropped" not in printed, printed
        assert "  impaired: rnic-run ran with --impair delay=1us\n" in check(args, capture)
        run(args, "-w", capture)
        assert "impaired" not in check(args, capture)
    print("the drops of 2 runs are counted, 1 run has none")


if __name__ == "__main__":
    main()
