#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Speed and memory of rocedrill check, next to tshark's built-in dissector on the same file.

    bench_check.py [--build DIR] [--packets N] [--sizes SIZE,SIZE...] [--memory-packets N]
                   [--connections N] [--rounds N] [--repeat N] [--realtime] [--quick]

Speed: packets a second over a generated capture. The target is for one file in one run, which is
"mix": a capture of which connections with payloads of 64, 256, 1024 and 4096 bytes have a quarter of
the packets each, acknowledgements among them, in turn. Captures of one size each follow, for what "mix"
hides: where check is slowest next to tshark, which is at 4096 bytes. The programs
take turns, all as often; what each needs to start counts. "s" and "CPU s" (user and system time of
all threads) are medians, "from" and "to" the quickest and the slowest round; "x tshark" and "x CPU"
are ratios of medians. tshark writes one line a packet to nowhere, without name resolution (its
built-in dissector shows the ICRC and does not compute it); rocedrill runs with -q, with and without
ICRC.

Before each timed run the file is read once, untimed, and each program runs once untimed at first:
on a virtual machine the first touch of memory that nobody used for half a minute can take ten
microseconds a page, as the host brings it back; whoever came first after a pause paid for the others
(measured: one read() of 838 MB took 1.83 s, the next 0.034 s). "first" is what that first reading of
the generated file took. What varies still is the host: both processors slow down by up to half
when it has other work. --realtime gives all programs a scheduler's class of their own, on a machine
that others use (needs the right to).

Target: 40 times tshark's rate, where the machine can. "read" and "map" are what the machine needs to
read the file from the page cache, or to map it and look at a word of each page, with as many threads
as rocedrill has (two, on one processor one); "CRC" is a CRC over all of it as well. No program can be
quicker than the quicker of both, the bound: "of bound" is how much of its speed rocedrill has. Where
it is less than 40 times tshark's rate the bench says so. What mapping costs depends on the size of
the pieces in which the page cache has the file: this one was written in pieces of 1 MiB.
Memory: the largest resident size over a generated stream on standard input. Judges nothing; ends within
a quarter of an hour with the defaults, and needs 4.2 GB in the folder for temporary files: a million packets
of each size. Needs tshark for the ratio.
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
MIX = "64,256,1024,4096"


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


def read_once(path):
    """Seconds to read the file in pieces and do nothing with it."""
    buffer = bytearray(256 << 10)
    begin = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - begin


def commands_of(args, path):
    """Name: command, and whether a CRC is in its bound; None has no bound."""
    threads = str(min(2, os.cpu_count() or 1))
    check = [args.rocedrill, "check"]
    commands = {"tshark": (["tshark", "-n", "-r", path], None)} if shutil.which("tshark") else {}
    return commands | {
        "rocedrill check": ([*check, "-q", path], True),
        "  --no-icrc": ([*check, "-q", "--no-icrc", path], False),
        "  with text": ([*check, path], True),
        "read, CRC": ([args.read, "-t", threads, "-c", path], None),
        "map, CRC": ([args.read, "-t", threads, "-c", "-m", path], None),
        "read": ([args.read, "-t", threads, path], None),
        "map": ([args.read, "-t", threads, "-m", path], None),
    }


def bound_of(median, crc):
    """The quicker way to look at the whole file: seconds, and its name."""
    return min((median[name][0], name) for name in (("read, CRC", "map, CRC") if crc else ("read", "map")))


def speed(args, gen, path):
    commands = commands_of(args, path)
    print(f"{'payload':>7} {'program':<16} {'s':>7} {'from':>7} {'to':>7} {'packets/s':>12} {'CPU s':>7} "
          f"{'MB':>6} {'x tshark':>9} {'x CPU':>7} {'of bound':>8}")
    for payload in args.sizes.split(","):
        packets = args.packets
        with open(path, "wb") as out:
            subprocess.run([gen, "-n", str(packets), "-c", "100", "-s", MIX if payload == "mix" else payload],
                           stdout=out, check=True)
        took = {name: [] for name in commands}
        for name, (command, _) in commands.items():
            if name != "tshark" or args.rounds > 1:
                run(command)
        for _ in range(args.rounds):
            for name, (command, _) in commands.items():
                # The long one less often: its rounds differ less.
                for _ in range(1 if name == "tshark" else args.repeat):
                    read_once(path)
                    took[name].append(run(command))
        median = {name: [statistics.median(column) for column in zip(*ones)]
                  for name, ones in took.items()}
        for name, (seconds, cpu, megabytes) in median.items():
            bound = commands[name][1]
            times = sorted(one[0] for one in took[name])
            ratio = (f"{median['tshark'][0] / seconds:9.1f} {median['tshark'][1] / cpu:7.1f}"
                     if "tshark" in median and cpu > 0 else f"{'':9} {'':7}")
            part = "" if bound is None else f"{bound_of(median, bound)[0] / seconds:8.0%}"
            print(f"{payload:>7} {name:<16} {seconds:7.3f} {times[0]:7.3f} {times[-1]:7.3f} "
                  f"{packets / seconds:12,.0f} {cpu:7.3f} {megabytes:6.0f} {ratio} {part}",
                  flush=True)
        for crc in (True, False):
            seconds, name = bound_of(median, crc)
            if "tshark" in median and median["tshark"][0] < TARGET * seconds:
                print(f"{payload:>7} {TARGET} times tshark is out of reach here: \"{name}\" is "
                      f"{median['tshark'][0] / seconds:.1f} times as fast", flush=True)
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
    parser.add_argument("--sizes", default=f"mix,{MIX}", help="payloads, bytes")
    parser.add_argument("--memory-packets", type=int, default=10000000, help="0: speed alone")
    parser.add_argument("--connections", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="runs a round of all but tshark")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small: shows that it works")
    args = parser.parse_args()
    if args.quick:
        args.packets, args.memory_packets, args.connections = 5000, 20000, 500
        args.rounds = args.repeat = 1
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))    # children have it too
    gen = os.path.join(args.build, "bin", "gen_capture")
    args.rocedrill = os.path.join(args.build, "bin", "rocedrill")
    args.read = os.path.join(args.build, "bin", "bench_read")
    for program in (gen, args.rocedrill, args.read):
        if not os.access(program, os.X_OK):
            sys.exit(f"bench_check: {program} is not there: build it first, or say --build DIR")
    with tempfile.TemporaryDirectory() as folder:
        speed(args, gen, os.path.join(folder, "generated.pcap"))
    if args.memory_packets:
        memory(args, gen, args.rocedrill)


if __name__ == "__main__":
    main()
