#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares speed and memory of rocedrill check with tshark's built-in dissector on the same file.

    bench_check.py [--build DIR] [--packets N] [--sizes SIZE,SIZE...] [--memory-packets N]
                   [--connections N] [--rounds N] [--repeat N] [--realtime] [--quick]

Speed is the number of packets per second of a generated capture. The target is for the capture "mix": its
connections have payloads of 64, 256, 1024 and 4096 bytes, and each payload length has a quarter of the
packets, acknowledgements included. Further captures have one payload length each and show where check is
slowest in comparison with tshark: at 4096 bytes. "4096/128" has payloads of 4096 bytes, and each packet is
cut at 128 bytes, as captures at line rate are.

The programs run in turns, equally often, each round in another order, and their start time counts. "s" and "CPU s" (user and system
time of all threads) are medians; "from" and "to" are the fastest and the slowest round; "x tshark" and "x
CPU" are ratios of medians. tshark writes one line per packet to /dev/null, without name resolution; its
built-in dissector shows the ICRC but does not compute it. rocedrill runs with -q, with and without
verifying the ICRC. "--jobs 1" has one thread instead of one per processor. "--jobs 2" against "--jobs 1"
is compared with the limit of the machine: "two at once" is the time of two independent "--jobs 1" that
start together, each on its own CPU. A line of the form "limit" names both ratios, and that of a loop
without memory accesses which runs once, or on two CPUs at once.

Before each timed run the script reads the file once, and each program first runs once untimed. Reason: on
a virtual machine the first access to memory that was unused for half a minute can take ten microseconds
per page, because the host must supply the page. Without the untimed runs, the first program after a pause
would pay for all others (measured: one read() of 838 MB took 1.83 s, the next one 0.034 s). "first" is the
time of this first read of the generated file. The host still causes variation: both processors slow down
by up to half when it has other work. --realtime runs all programs with real-time priority, for a machine
that others use (needs the right to do so).

Target: 40 times tshark's speed, where the machine can read the file that fast. "read" is the time that the
machine needs to read the file from the page cache, and "map" the time to map the file and read a word of
each page. Both use as many threads as rocedrill (two; one on a single processor). "CRC" adds a CRC over
the whole file. No program can be faster than the faster of both, which is the bound. "of bound" is the
speed of rocedrill as a fraction of the bound. "parse, ICRC" does the least that a program which judges packets must
do, on the mapped file: parse the headers, compute the ICRC, find the connection. A line names its speed as a
part of the bound: rocedrill cannot reach a higher part. If the bound is less than 40 times tshark's speed, the
script reports that. The time of "map" depends on the size of the pieces in which the page cache holds the
file: this file was written in pieces of 1 MiB.

Memory is the largest resident size while rocedrill reads a generated stream from standard input. The
script reports figures and does not fail. With the defaults it takes a quarter of an hour, and needs 4.2 GB
in the folder for temporary files (a million packets of each payload length). The ratio needs tshark.
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
TWO_JOBS, AT_ONCE = "  --jobs 2", "  two at once"    # names of rows
PARSED = "parse, ICRC"    # name of a row
MIX = "64,256,1024,4096"


CPUS = sorted(os.sched_getaffinity(0))


def run(command, stdin=None, at_once=1):
    """Returns the seconds, the CPU seconds and the largest resident size in MB of one command, or of several
    copies of it at once, each on its own CPU. The size is at least that of this script, because the child
    process starts as a copy of the script."""
    env = dict(os.environ, WIRESHARK_PLUGIN_DIR="/nonexistent")
    begin, cpu, size = time.monotonic(), 0, 0
    pin = [["taskset", "-c", str(cpu)] for cpu in CPUS[:at_once]] if at_once > 1 else [[]]
    children = [subprocess.Popen(words + command, stdin=stdin, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=env) for words in pin]
    for child in children:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"bench_check: {' '.join(command)}: status {child.returncode}")
        cpu += usage.ru_utime + usage.ru_stime
        size = max(size, usage.ru_maxrss / 1024)
    return time.monotonic() - begin, cpu, size


def loop_ratio(cnt):
    """Returns the work of two loops on two CPUs, as a multiple of the work of one loop on one CPU."""
    def seconds(cpus):
        begin = time.monotonic()
        children = []
        for cpu in cpus:
            children.append(os.fork())
            if children[-1] == 0:
                os.sched_setaffinity(0, {cpu})
                for _ in range(cnt):
                    pass
                os._exit(0)
        for child in children:
            os.waitpid(child, 0)
        return time.monotonic() - begin
    alone, both = (statistics.median(seconds(cpus) for _ in range(3)) for cpus in (CPUS[:1], CPUS[:2]))
    return 2 * alone / both


def read_once(path):
    """Returns the seconds to read the file in pieces without using the bytes."""
    buffer = bytearray(256 << 10)
    begin = time.monotonic()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.monotonic() - begin


def commands_of(args, path):
    """Returns for each name its command, and whether its bound includes a CRC (None: it has no bound)."""
    threads = str(min(2, os.cpu_count() or 1))
    check = [args.rocedrill, "check"]
    commands = {"tshark": (["tshark", "-n", "-r", path], None)} if shutil.which("tshark") else {}
    return commands | {
        "rocedrill check": ([*check, "-q", path], True),
        "  --jobs 1": ([*check, "-q", "--jobs", "1", path], True),
        **({TWO_JOBS: ([*check, "-q", "--jobs", "2", path], True),
            AT_ONCE: ([*check, "-q", "--jobs", "1", path], None)} if len(CPUS) > 1 else {}),
        "  --no-icrc": ([*check, "-q", "--no-icrc", path], False),
        "  with text": ([*check, path], True),
        "read, CRC": ([args.read, "-t", threads, "-c", path], None),
        "map, CRC": ([args.read, "-t", threads, "-c", "-m", path], None),
        "read": ([args.read, "-t", threads, path], None),
        "map": ([args.read, "-t", threads, "-m", path], None),
        PARSED: ([args.read, "-t", threads, "-p", path], None),
    }


def bound_of(median, crc):
    """Returns the seconds of the faster way to read the whole file, and the name of that way."""
    return min((median[name][0], name) for name in (("read, CRC", "map, CRC") if crc else ("read", "map")))


def rotated(commands, turn, turns):
    """Returns the commands of one round. Each round begins with another program, so that no program always
    follows tshark, after which the processors are slower for a while."""
    ones = list(commands.items())
    first = turn * len(ones) // turns
    return ones[first:] + ones[:first]


def speed(args, gen, path):
    commands = commands_of(args, path)
    print(f"{'payload':>8} {'program':<16} {'s':>7} {'from':>7} {'to':>7} {'packets/s':>12} {'CPU s':>7} "
          f"{'MB':>6} {'x tshark':>9} {'x CPU':>7} {'of bound':>8}")
    for payload in args.sizes.split(","):
        packets = args.packets
        length, _, snaplen = payload.partition("/")
        with open(path, "wb") as out:
            subprocess.run([gen, "-n", str(packets), "-c", "100", "-s", MIX if length == "mix" else length,
                            *(["-l", snaplen] if snaplen else [])], stdout=out, check=True)
        took = {name: [] for name in commands}
        for name, (command, _) in commands.items():
            if name not in ("tshark", AT_ONCE) or (name == "tshark" and args.rounds > 1):
                run(command)
        for turn in range(args.rounds):
            for name, (command, _) in rotated(commands, turn, args.rounds):
                # One run of tshark per round is enough: it is slower, and its times vary less.
                for _ in range(1 if name == "tshark" else args.repeat):
                    read_once(path)
                    took[name].append(run(command, at_once=2 if name == AT_ONCE else 1))
        median = {name: [statistics.median(column) for column in zip(*ones)]
                  for name, ones in took.items()}
        for name, (seconds, cpu, megabytes) in median.items():
            bound = commands[name][1]
            times = sorted(one[0] for one in took[name])
            ratio = (f"{median['tshark'][0] / seconds:9.1f} {median['tshark'][1] / cpu:7.1f}"
                     if "tshark" in median and cpu > 0 else f"{'':9} {'':7}")
            part = "" if bound is None else f"{bound_of(median, bound)[0] / seconds:8.0%}"
            print(f"{payload:>8} {name:<16} {seconds:7.3f} {times[0]:7.3f} {times[-1]:7.3f} "
                  f"{packets * (2 if name == AT_ONCE else 1) / seconds:12,.0f} {cpu:7.3f} {megabytes:6.0f} {ratio} {part}",
                  flush=True)
        if AT_ONCE in median:
            one, two, limit = median["  --jobs 1"][0], median[TWO_JOBS][0], median[AT_ONCE][0]
            print(f"{payload:>8} limit of two CPUs: {2 * one / limit:.2f} (two independent --jobs 1), "
                  f"{loop_ratio(200000 if args.quick else 5000000):.2f} (a bare loop); --jobs 2 reaches "
                  f"{one / two:.2f}, {limit / 2 / two:.0%} of the limit", flush=True)
        for crc in (True, False):
            seconds, name = bound_of(median, crc)
            if crc:
                print(f"{payload:>8} reading and a CRC reach {packets / seconds:,.0f} packets/s (\"{name}\"); parsing, ICRC "
                      f"and lookup of the connection alone reach {seconds / median[PARSED][0]:.0%} of it", flush=True)
            if "tshark" in median and median["tshark"][0] < TARGET * seconds:
                print(f"{payload:>8} {TARGET} times tshark cannot be reached on this machine: \"{name}\" is "
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
    parser.add_argument("--sizes", default=f"mix,{MIX},4096/128", help="payloads, bytes, or PAYLOAD/SNAPLEN")
    parser.add_argument("--memory-packets", type=int, default=10000000, help="0: speed alone")
    parser.add_argument("--connections", type=int, default=100000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=3, help="runs a round of all but tshark")
    parser.add_argument("--realtime", action="store_true")
    parser.add_argument("--quick", action="store_true", help="few packets: only checks that the script works")
    args = parser.parse_args()
    if args.quick:
        args.packets, args.memory_packets, args.connections = 5000, 20000, 500
        args.rounds = args.repeat = 1
    if args.realtime:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5))    # child processes inherit the scheduling class
    gen = os.path.join(args.build, "bin", "gen_capture")
    args.rocedrill = os.path.join(args.build, "bin", "rocedrill")
    args.read = os.path.join(args.build, "bin", "bench_read")
    for program in (gen, args.rocedrill, args.read):
        if not os.access(program, os.X_OK):
            sys.exit(f"bench_check: {program}: no such file: build it, or use --build DIR")
    with tempfile.TemporaryDirectory() as folder:
        speed(args, gen, os.path.join(folder, "generated.pcap"))
    if args.memory_packets:
        memory(args, gen, args.rocedrill)


if __name__ == "__main__":
    main()
