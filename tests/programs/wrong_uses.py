#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs every program with wrong arguments and files. Each prints one line on standard error, which names the
option or file. The line also names a remedy if the remedy is certain and not obvious. The program ends with status 2.
Exceptions: status 1 of rocedump, which Wireshark starts; 126 or 127 of rnic-run if it cannot start the program.

wrong_uses.py --bin FOLDER --rocedump FILE --install FILE CAPTURE
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

# Rows: wrong command line | text that the one line of error output must contain. The command runs in a folder with the
# files a.pcap, cut.pcap, empty, text and d/a.pcap, and the empty folder e.
ROWS = """
rocedrill                                        | no command given (see rocedrill --help)
rocedrill chek a.pcap                            | 'chek'; did you mean 'check'?
rocedrill a.pcap                                 | did you mean: rocedrill check a.pcap
rocedrill help foo                               | unknown command 'foo' (see rocedrill --help)
rocedrill check                                  | no capture given (see --help)
rocedrill check none                             | none: No such file or directory
rocedrill check empty                            | empty: not a capture file
rocedrill check text                             | text: not a capture file
rocedrill check e                                | e: the folder contains no capture
rocedrill check --jsn x a.pcap                   | unrecognized option '--jsn'; did you mean '--json'?
rocedrill check --frobnicate a.pcap              | '--frobnicate' (see rocedrill check --help)
rocedrill check --json                           | option '--json' requires an argument
rocedrill check --quiet=3 a.pcap                 | option '--quiet' doesn't allow an argument
rocedrill check --json none/x a.pcap             | none/x: No such file or directory
rocedrill check --json a.pcap a.pcap             | a.pcap: this output would overwrite an input capture
rocedrill check --quirks foo a.pcap              | --quirks: unknown name 'foo'; known are:
rocedrill check --fail-on foo a.pcap             | --fail-on foo: must be error, failed, slow, warn, note or slower=PERCENT
rocedrill check --explain FOO                    | unknown rule 'FOO' (rocedrill check --rules lists them)
rocedrill check --color=blue a.pcap              | --color 'blue': not auto, always or never
rocedrill check --from 3x a.pcap                 | --from 3x: not a time such as
rocedrill check --first 0 a.pcap                 | --first 0: not a number of frames
rocedrill check --connection 7 a.pcap            | a.pcap: no connection 7 (rocedrill check -v lists them)
rocedrill check --live none                      | --live none: No such device exists
rocedrill replay none                            | none: No such file or directory
rocedrill replay --impair foo a.pcap             | corrupt=, ecn= with a chance (see --impair help)
rocedrill replay --seed x a.pcap                 | --seed x: not a number
rocedrill replay --jobs 0 a.pcap                 | --jobs 0: not a number from 1 to 256
rocedrill replay --live lo a.pcap                | --live requires --target ADDRESS
rocedrill replay --live lo --target 192.0.2.9 a.pcap | --live requires one of --agent HOST:PORT, --cm END and --load
rocedrill replay --loop 3 a.pcap                 | options for live targets require --live IFACE
rocedrill replay --live lo --target 192.0.2.9 --agent x:1 --pps 5 a.pcap | --pps, --mbps and --loop require --load
rocedrill replay --live lo --target 192.0.2.9 --agent x:1 --multiplier 2 a.pcap | --multiplier, --topspeed, --pps, --mbps and --loop require --load
rocedrill replay --live lo --target 192.0.2.9 --cm connect --topspeed a.pcap | --multiplier, --topspeed, --pps, --mbps and --loop require --load
rocedrill drill                                  | no drill given (see --help)
rocedrill drill none                             | none: No such file or directory
rocedrill drill e                                | e: no file *.drill
rocedrill drill --from a.pcap --connection 99    | that can be replayed (rocedrill check -v lists them)
rocedrill drill --live lo d                      | --live requires --target ADDRESS
rocedrill drill --shard 1/2 --resume x d         | --shard cannot be used with --resume; run the whole shard again
rocedrill edit a.pcap                            | give the capture and the file to write (see --help)
rocedrill edit a.pcap b.pcap                     | no rule given: expected --impair RULES
rocedrill edit --impair x a.pcap b.pcap          | --impair "x": at "x": expected drop, dup, delay=, reorder, corrupt, ce, ecn, set=, or loss=, dup=, reorder=, corrupt=, ecn= with a chance (see --impair help)
rocedrill import --to text a.pcap                | text: not a folder
rocedrill plot a.pcap                            | no output given (--svg
rocedrill plot --svg x --connection 9 a.pcap     | a.pcap: no connection 9 (rocedrill check -v lists them)
rocedrill decode --connection x a.pcap           | --connection x: not a number
rocedrill-agent --foo                            | unrecognized option '--foo' (see --help)
rocedrill-agent --timeout                        | option '--timeout' requires an argument
rocedrill-agent --tokn x                         | unrecognized option '--tokn'; did you mean '--token'?
rocedrill-agent --listen foo                     | foo: not [HOST:]PORT
rocedrill-agent --device nosuch                  | --device nosuch: no such RDMA device
rocedrill-agent extra                            | extra: unexpected argument (see --help)
rnic-run                                         | no program given. Try 'rnic-run --help'.
rnic-run none                                    | none: No such file or directory
rnic-run e                                       | e:
rnic-run --foo true                              | unrecognized option '--foo' (see rnic-run --help)
rnic-run --wrte x true                           | unrecognized option '--wrte'; did you mean '--write'?
rnic-run -i none true                            | none: no such interface (ip link lists them)
rnic-run -w none/x true                          | none/x: No such file or directory
rnic-run --wire foo true                         | foo: --wire takes pcap or shm
rnic-run --seed x true                           | x: --seed takes a number
rnic-run --impair foo true                       | corrupt=, ecn= with a chance (see --impair help)
rnic-info foo                                    | foo: not link, resource, statistic or limits. Try 'rnic-info --help'.
rnic-info --iface eth9                           | --iface: unknown option. Try 'rnic-info --help'.
rnic-info --watch=x                              | --watch=x: not --watch or --watch=SECONDS. Try 'rnic-info --help'.
rocedump                                         | no action given: Wireshark starts this program (see --help)
rocedump --foo x                                 | unknown option '--foo' (see --help)
rocedump --capture --extcap-interface x          | unknown interface 'x' (--extcap-interfaces lists them)
install --foo                                    | unknown option '--foo' (see --help)
""".strip().splitlines()
STATUS = {"rocedump": (1,), "rnic-run": (2, 126, 127)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--bin", required=True)
    args.add_argument("--rocedump", required=True)
    args.add_argument("--install", required=True)
    args.add_argument("capture")
    args = args.parse_args()
    paths = {"rocedump": args.rocedump, "install": args.install}
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for name in ("d", "e"):
            os.mkdir(os.path.join(folder, name))
        for name, text in (("empty", ""), ("text", "hello\n")):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        for name in ("a.pcap", "d/a.pcap"):
            shutil.copy(args.capture, os.path.join(folder, name))
        for row in ROWS:
            words, _, expected = (part.strip() for part in row.partition("|"))
            program, *rest = words.split()
            done = subprocess.run([paths.get(program, os.path.join(args.bin, program)), *rest], cwd=folder,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
            lines = done.stderr.splitlines()
            if done.returncode not in STATUS.get(program, (2,)) or len(lines) != 1 or expected not in lines[0]:
                print(f"{words}: status {done.returncode}: {done.stderr}  expected one line with: {expected}")
                wrong += 1
    print(f"{len(ROWS)} wrong uses, {wrong} without a proper error")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
