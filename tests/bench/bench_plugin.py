#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares time and peak memory of the plugin with full analysis with those of the built-in dissector, which
has no analysis.

    bench_plugin.py --plugins DIR --gen GEN_CAPTURE [-n PACKETS] [-s PAYLOAD] [-l SNAPLEN] [--rounds N]

Both dissect the same generated capture in the same tshark, in turns. The time is the CPU time of the
fastest round, so that other programs on the machine have little influence. Targets (DESIGN): at most 1.0
times the time and 1.2 times the memory of the built-in dissector.

Up to release 4.2, tshark builds the complete tree also for `-T fields`, because dissectors cannot detect
which fields it prints (in 4.4 they can: HF_REF_TYPE_PRINT). In this case, and with -V, the time is
mostly that of the items in the tree, and the analysis adds items that the built-in dissector lacks. The
last line counts the items and prints the cost of one item. These modes use a tenth of the packets.
"""
import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
from tshark import Tshark  # noqa: E402

FILTER = ["-Y", "frame.number == 1"]
TREE = "one pass, the whole tree"
# Each mode of tshark: its description; the arguments with the plugin; the arguments without it; a divisor N: the mode
# reads one Nth of the packets.
MODES = [
    ("one pass, a filter", FILTER, FILTER, 1),
    ("two passes, a filter", ["-2"] + FILTER, ["-2"] + FILTER, 1),
    ("one pass, packet list", [], [], 1),
    ("one pass, a field", ["-T", "fields", "-e", "roce.bth.psn"],
     ["-T", "fields", "-e", "infiniband.bth.psn"], 10),
    (TREE, ["-V"], ["-V"], 10),
]
SAMPLE = 1000  # number of packets whose items are counted


def measure(shark, path, args, plugin):
    """Returns (CPU seconds, peak KiB) of one run."""
    command = ["/usr/bin/env", "python3", "-c",
               "import resource,subprocess,sys;"
               "s=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,stderr=subprocess.DEVNULL);"
               "u=resource.getrusage(resource.RUSAGE_CHILDREN);"
               "print(s.returncode,u.ru_utime+u.ru_stime,u.ru_maxrss)"]
    out = subprocess.run(command + shark.command(args + ["-r", path], plugin), capture_output=True,
                         text=True, check=True).stdout.split()
    if out[0] != "0":
        raise SystemExit(f"tshark failed with {out[0]}")
    return float(out[1]), int(out[2])


def items(shark, path, plugin):
    """Returns the average number of items in the tree of a packet."""
    text = shark.out(["-r", path, "-c", str(SAMPLE), "-T", "pdml"], plugin)
    return (text.count("<field ") + text.count("<proto ")) / text.count("<packet>")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--gen", required=True)
    args.add_argument("-n", type=int, default=1000000)
    args.add_argument("-s", type=int, default=1024)
    args.add_argument("-l", type=int, default=65535)
    args.add_argument("--rounds", type=int, default=3)
    args = args.parse_args()
    with Tshark(args.plugins) as shark:
        path = os.path.join(shark.work, "bench.pcap")
        with open(path, "wb") as out:
            subprocess.run([args.gen, "-n", str(args.n), "-c", "64", "-s", str(args.s), "-l", str(args.l)],
                           stdout=out, check=True)
        os.chmod(path, 0o644)
        print(f"{args.n} packets, payload {args.s}, snaplen {args.l}, best of {args.rounds}")
        for name, ours, theirs, part in MODES:
            runs = {True: [], False: []}
            count = ["-c", str(args.n // part)] if part > 1 else []
            for _ in range(args.rounds):
                for plugin in (False, True):
                    runs[plugin].append(measure(shark, path, count + (ours if plugin else theirs), plugin))
            cpu = {plugin: min(run[0] for run in runs[plugin]) for plugin in runs}
            mem = {plugin: max(run[1] for run in runs[plugin]) for plugin in runs}
            print(f"{name:24} time {cpu[True]:6.2f} s / {cpu[False]:6.2f} s = {cpu[True] / cpu[False]:.2f}"
                  f"   memory {mem[True] >> 10} / {mem[False] >> 10} MiB = {mem[True] / mem[False]:.2f}", flush=True)
        have = {plugin: items(shark, path, plugin) for plugin in (True, False)}
        cost = {plugin: cpu[plugin] / have[plugin] for plugin in have}  # cpu is that of the last mode, which builds the whole tree
        print(f"{'items of a packet':24} {have[True]:.1f} / {have[False]:.1f} = {have[True] / have[False]:.2f}"
              f"   time an item {cost[True] / cost[False]:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
