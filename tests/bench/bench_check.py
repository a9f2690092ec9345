#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Speed and memory of rocedrill check, next to tshark's built-in dissector on the same file.

    bench_check.py [--build DIR] [--packets N] [--memory-packets N] [--connections N] [--rounds N]
                   [--realtime] [--quick]

Speed: packets a second over a generated capture, for several payload sizes, each program the best of
the rounds, which take turns and of which all have as many; "median" is the ratio of the medians. What
a program needs to start counts, for all alike. --realtime gives all of them a scheduler's class of
their own, on a machine that others use (needs the right to). tshark writes one line a packet to
nowhere, without name resolution (its built-in dissector shows the ICRC and does not compute it);
rocedrill runs with -q, with and without
ICRC. Target: 40 times tshark's rate, where the machine can: "reading alone" is what one core needs to
read the file from the page cache and do nothing with it, which no program that reads it undercuts by
much. Where that is less than 40 times tshark's rate the target is out of reach, and the bench says so.
Memory: the largest resident size over a generated stream on standard input. Judges nothing; ends within
about five minutes with the defaults. Needs tshark for the ratio.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TARGET = 40


def run(command, stdin=None):
    """Seconds, seconds of CPU, and the largest resident size in MB of one command. The size is at least
    that of this script, of which the child is a copy at first."""
    env = dict(os.environ, WIRESHARK_PLUGIN_DIR="/nonexistent")
    begin = time.monotonic()
    child = subprocess.Popen(command, stdin=stdin, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=env)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench_check: {' '.join(command)}: status {child.returncode}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def read_alone(path):
    """Seconds to read the file in pieces as rocedrill does, and nothing else."""
    buffer = bytearray(256 << 10)
    begin = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    seconds = time.monotonic() - begin
    return seconds, seconds, 0


def speed(args, gen, rocedrill, path):
    commands = {"rocedrill check": [rocedrill, "check", "-q", path],
                "  --no-icrc": [rocedrill, "check", "-q", "--no-icrc", path],
                "  with text": [rocedrill, "check", path],
                "reading alone": None}
    if shutil.which("tshark"):
        commands = {"tshark": ["tshark", "-n", "-r", path], **commands}
    print(f"{'payload':>7} {'program':<16} {'s':>7} {'packets/s':>12} {'CPU s':>7} {'MB':>6} "
          f"{'x tshark':>9} {'median':>7} {'x CPU':>7}")
    for payload in (64, 256, 1024, 4096):
        packets = args.packets if payload <= 1024 else args.packets // 4
        with open(path, "wb") as out:
            subprocess.run([gen, "-n", str(packets), "-c", "100", "-s", str(payload)], stdout=out,
                           check=True)
        took = {name: [] for name in commands}
        for _ in range(args.rounds):
            for name, command in commands.items():
                took[name].append(run(command) if command else read_alone(path))
        best = {name: tuple(map(min, *ones, ones[0])) for name, ones in took.items()}
        median = {name: statistics.median(one[0] for one in ones) for name, ones in took.items()}
        for name, (seconds, cpu, megabytes) in best.items():
            ratio = (f"{best['tshark'][0] / seconds:9.1f} {median['tshark'] / median[name]:7.1f} "
                     f"{best['tshark'][1] / cpu:7.1f}" if "tshark" in best else "")
            print(f"{payload:>7} {name:<16} {seconds:7.3f} {packets / seconds:12,.0f} {cpu:7.3f} "
                  f"{megabytes:6.0f} {ratio}", flush=True)
        if "tshark" in best and best["tshark"][0] < TARGET * best["reading alone"][0]:
            print(f"{payload:>7} {TARGET} times tshark is out of reach here: reading the file alone is "
                  f"{best['tshark'][0] / best['reading alone'][0]:.1f} times as fast", flush=True)
    os.unlink(path)


def memory(args, gen, rocedrill):
    print(f"\n{'packets':>11} {'connections':>11} {'s':>7} {'packets/s':>12} {'max MB':>7} "
          f"{'KB/connection':>13}")
    for packets, connections in ((args.memory_packets // 10, 1), (args.memory_packets, 1),
                                 (args.memory_packets // 10, args.connections),
                                 (args.memory_packets, args.connections)):
        source = subprocess.Popen([gen, "-n", str(packets), "-c", str(connections), "-s", "64"],
                                  stdout=subprocess.PIPE)
        seconds, _, megabytes = run([rocedrill, "check", "-q", "-"], stdin=source.stdout)
        source.stdout.close()
        source.wait()
        print(f"{packets:>11,} {connections:>11,} {seconds:7.1f} {packets / seconds:12,.0f} "
              f"{megabytes:7.0f} {megabytes * 1024 / connections:13.2f}", flush=True)


def main():
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(top, "build"))
    parser.add_argument("--packets", type=int, default=1000000)
    parser.add_argument("--memory-packets", type=int, default=10000000)
    parser.add_argument("--connections", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small: shows that it works")
    args = parser.parse_args()
    if args.quick:
        args.packets, args.memory_packets, args.connections, args.rounds = 5000, 20000, 500, 1
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))    # children have it too
    gen = os.path.join(args.build, "bin", "gen_capture")
    rocedrill = os.path.join(args.build, "bin", "rocedrill")
    for program in (gen, rocedrill):
        if not os.access(program, os.X_OK):
            sys.exit(f"bench_check: {program} is not there: build it first, or say --build DIR")
    with tempfile.TemporaryDirectory() as folder:
        speed(args, gen, rocedrill, os.path.join(folder, "generated.pcap"))
    memory(args, gen, rocedrill)


if __name__ == "__main__":
    main()
