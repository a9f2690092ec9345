#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Measures the cost of the traps at an index out of bounds and at a signed overflow, which the installed programs and the
plugin have (CMakeLists.txt, ROCEDRILL_TRAPS).

    bench_hardening.py [--with DIR --without DIR] [--packets N]

Builds the project with and without the traps, or uses the two build folders. Counts the instructions of each program for
N ordinary packets in valgrind, without those of its start. So other programs on the machine have no influence. Exit
status 1: the traps cost 3 % or more."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(TOP, "tests", name) for name in ("plugin", "hostile")]
import shapes  # noqa: E402
from tshark import Tshark  # noqa: E402

LIMIT = 3  # percent
FEW = 4  # number of packets of a short capture, which shows the cost of starting a program
COMMANDS = {"check": ["check", "-q"], "check --json": ["check", "-q", "--json", "/dev/null"], "decode": ["decode", "-q"],
            "replay": ["replay", "-q"]}


def build(folder, traps):
    for words in (["-S", TOP, "-B", folder, "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DROCEDRILL_TESTS=OFF",
                   f"-DROCEDRILL_TRAPS={traps}"], ["--build", folder, "-j2", "--target", "rocedrill", "roce_plugin"]):
        subprocess.run(["cmake", *words], check=True, stdout=subprocess.DEVNULL)


def instructions(command):
    done = subprocess.run(["valgrind", "--trace-children=yes", "--tool=cachegrind", "--cache-sim=no",
                           "--cachegrind-out-file=/dev/null", *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    found = re.findall(r"I +refs: +([\d,]+)", done.stderr)
    assert found and done.returncode in (0, 1), done.stderr[-2000:]
    return int(found[-1].replace(",", ""))  # setpriv, which executes tshark, prints no count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--with", dest="on")
    parser.add_argument("--without", dest="off")
    parser.add_argument("--packets", type=int, default=20000)
    args = parser.parse_args()
    worst = 0
    with tempfile.TemporaryDirectory(prefix="rocedrill-hardening-") as folder:
        os.chmod(folder, 0o755)  # tshark does not run as root
        builds = [args.on or os.path.join(folder, "on"), args.off or os.path.join(folder, "off")]
        for path, traps, given in zip(builds, ("ON", "OFF"), (args.on, args.off)):
            if not given:
                build(path, traps)
        captures = [os.path.join(folder, f"{cnt}.pcap") for cnt in (FEW, args.packets)]
        for path, cnt in zip(captures, (FEW, args.packets)):
            shapes.write(path, shapes.ordinary(cnt, shapes.LONG_WRITE))
        print(f"instructions for each of {args.packets} packets\n{'program':14} {'traps':>10} {'no traps':>10} {'cost':>7}")
        for name in [*COMMANDS, "plugin"]:
            each = []
            for path in builds:
                with Tshark(os.path.join(path, "lib", "wireshark", "plugins")) as shark:
                    few, many = (instructions(shark.command(["-2", "-r", shark.file(capture)]) if name == "plugin" else
                                              [os.path.join(path, "bin", "rocedrill"), *COMMANDS[name], capture])
                                 for capture in captures)
                each.append((many - few) / (args.packets - FEW))
            cost = 100 * (each[0] / each[1] - 1)
            worst = max(worst, cost)
            print(f"{name:14} {each[0]:10.0f} {each[1]:10.0f} {cost:6.1f}%", flush=True)
    return int(worst >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
