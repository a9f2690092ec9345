#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares RDMA programs on the software RNIC with others that do the same work. Most are perftest
programs, compared with TCP (qperf) over the same loopback. Others are compared with a bare ring in shared
memory that copies in and out (bench_ring), with UCX's own shared memory (ucx_perftest), with the same test
without a recording (rnic-run -w), or with the four TCP latencies that correspond to a ping of rping. A test
whose program is missing is omitted. Each test runs two processes; all run in one network namespace, in
turns, and the results are medians. Only the ratios are meaningful, and latencies only on a quiet machine.
A TCP program sleeps until the kernel wakes it. On a virtual machine with two CPUs this takes 49 us if the
CPUs are idle, and 10 us if other work keeps them awake. A program that polls takes the same time in both cases.

For a bandwidth, each of the two processes has its own CPU. On a busy machine the scheduler often runs both
on one CPU, and the figure then depends on the scheduler. Latencies have no such limit, because the thread of the
RNIC would then run on the CPU of the program.

With bench_port, the script also prints fractions of the speed of a bare libpcap pair, and bench_port's
account of the remaining time.

rnic-run -n -i lo -- bench_verbs.py [--runs N] [--quick] [--bench-port PROGRAM]     (tests/bench/CMakeLists.txt)"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def listens(port):
    with open("/proc/net/tcp", encoding="ascii") as v4, open("/proc/net/tcp6", encoding="ascii") as v6:
        return any(f":{port:04X} " in line and " 0A " in line for line in [*v4, *v6])


CPUS = sorted(os.sched_getaffinity(0))


def own_cpu(words, which, is_bandwidth):
    """Returns the command, with a limit to one CPU if it measures a bandwidth."""
    return ["taskset", "-c", str(CPUS[which]), *words] if is_bandwidth and len(CPUS) > 1 else words


def pair(server, client, port, pattern, scale, is_bandwidth, wire="pcap", **variables):
    """Runs the client. Returns the number that it prints."""
    env = {**os.environ, "RNIC_WIRE": wire, **variables}
    first = subprocess.Popen(own_cpu(server, 0, is_bandwidth), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, env=env)
    try:
        end = time.monotonic() + 10
        while not listens(port) and time.monotonic() < end:
            time.sleep(0.01)
        out = subprocess.run(own_cpu(client, 1, is_bandwidth), stdout=subprocess.PIPE, text=True,
                             timeout=100, check=True, env=env).stdout
    finally:
        first.terminate()
        first.wait()
    match = re.search(pattern, out, re.MULTILINE)
    if not match:
        sys.exit(f"{client}: no number in\n{out}")
    unit = match[2] if match.re.groups > 1 else ""
    return float(match[1]) * scale.get(unit, 1)


SECONDS = {"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}
BYTES = {"bytes/sec": 1e-6, "KB/sec": 1e-3, "MB/sec": 1, "GB/sec": 1e3}


def tcp(what, scale, *options):
    return pair(["qperf"], ["qperf", "-t", "1", *options, "127.0.0.1", what], 19765,
                r"= +([\d.]+) (\S+)", scale, what == "tcp_bw")


def perftest(program, *options, wire="pcap", column=None):
    """Returns t_typical of a latency test, MB/s of a bandwidth test, or the value of another column, counted
    from 0."""
    words = [program, "-F", *options]
    if column is None:
        column = 4 if program.endswith("lat") else 3
    scale = {"": 1.048576} if column == 3 else {}  # MiB/s
    return pair(words, [*words, "127.0.0.1"], 18515,
                r"^ +\d+ +\d+" + r"\s+[\d.]+" * (column - 2) + r"\s+([\d.]+)", scale,
                program.endswith("bw"), wire)


QUICK = 40  # with --quick, a run over shared memory sends one in QUICK of the messages


def shm(program, cnt, *options, column=None):
    return perftest(program, "-n", str(cnt // shm.part), *options, wire="shm", column=column)


shm.part = 1


def long_lat(column=None):
    """Returns a figure of ib_write_lat. In a short run, its first round trips decide the slowest 0.1 %."""
    return perftest("ib_write_lat", "-n", str(50000 // shm.part), column=column)


def ring():
    out = subprocess.run([shm.ring, "-n", str(400000 // shm.part)], stdout=subprocess.PIPE, text=True,
                         timeout=100, check=True).stdout
    return float(re.search(r"([\d.]+) MB/s", out)[1])


def ucx(test, transports, size, cnt):
    """Returns us of a latency test, or MB/s of a bandwidth test: the average of all messages."""
    words = ["ucx_perftest"]
    if "MPI mode" in subprocess.run(["ucx_perftest", "-h"], stdout=subprocess.PIPE, text=True, check=False).stdout:
        words += ["-P", "0"]
    column, scale = (4, {}) if test.endswith("lat") else (6, {"": 1.048576})
    client = [*words, "127.0.0.1", "-t", test, "-s", str(size), "-n", str(cnt // shm.part), "-w", "100"]
    return pair(words, client, 13337, r"^Final:\s+\d+" + r"\s+\S+" * (column - 2) + r"\s+([\d.]+)", scale,
                test.endswith("bw"), "shm", UCX_TLS=transports)


def rping(wire):
    """Returns the us of a ping: the client sends, the server reads and answers, the client sends, the server
    writes and answers."""
    cnt = 3000 // shm.part
    env = {**os.environ, "RNIC_WIRE": wire}
    server = subprocess.Popen(["rping", "-s", "-C", str(cnt), "-a", "127.0.0.1"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=env)
    try:
        time.sleep(0.5)
        begin = time.monotonic()
        subprocess.run(["rping", "-c", "-C", str(cnt), "-a", "127.0.0.1"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=100, check=True, env=env)
        return (time.monotonic() - begin) * 1e6 / cnt
    finally:
        server.terminate()
        server.wait()


recorded = {}    # figures of the latest recording (rnic-run -w)


def write_rate(file):
    """Returns MB/s of a program that only writes 1 GiB to a new file, 64 KiB at a time."""
    begin = time.monotonic()
    subprocess.run(["taskset", "-c", str(CPUS[-1]), "dd", "if=/dev/zero", f"of={file}", "bs=64K",
                    f"count={16384 // shm.part}", "status=none"], check=True)
    return 16384 // shm.part * 65536 / 1e6 / (time.monotonic() - begin)


def recorder(record):
    """Returns MB/s of ib_write_bw at 8 Gbit/s, without and with a recording. With one, stores how many packets
    the file contains, and the message of rnic-run if some could not be recorded."""
    test = "ib_write_bw -F -s 65536 -n %d --rate_limit=8 --rate_limit_type=SW" % (16384 // shm.part)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "out.pcapng")
        script = f"taskset -c {CPUS[0]} {test} >/dev/null & sleep 1; taskset -c {CPUS[-1]} {test} 127.0.0.1; wait"
        done = subprocess.run([shm.rnic_run, "--wire", "shm", *(["-w", file] if record else []), "--", "sh", "-c",
                               script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200,
                              check=False)
        match = re.search(r"^ +65536 +\d+ +\S+ +([\d.]+)", done.stdout, re.MULTILINE)
        if not match:
            sys.exit(f"{test}: no number in\n{done.stdout}{done.stderr}")
        if record:
            recorded["write"] = write_rate(os.path.join(folder, "written"))
            lost = re.search(r"(\d+) of \d+ packets could not be recorded", done.stderr)
            recorded["lost"] = int(lost[1]) if lost else 0
            recorded["MB"] = os.path.getsize(file) / 1e6 if os.path.exists(file) else 0
            recorded["status"] = done.returncode
        return float(match[1]) * 1.048576


MILLIONS = "million/s"

MEASURES = [
    ("TCP latency, one way, 1 byte (qperf tcp_lat)", "us", lambda: tcp("tcp_lat", SECONDS)),
    ("ib_write_lat, 2 bytes", "us", lambda: perftest("ib_write_lat", "-n", "1000")),
    ("ib_write_lat, 2 bytes, mean", "us", lambda: long_lat(column=5)),
    ("ib_write_lat, 2 bytes, 99.9 %", "us", lambda: long_lat(column=8)),
    ("ib_send_lat, 2 bytes", "us", lambda: perftest("ib_send_lat", "-n", "1000")),
    ("TCP bandwidth, 64 KiB (qperf tcp_bw)", "MB/s", lambda: tcp("tcp_bw", BYTES, "-m", "64K")),
    ("TCP, 64-byte messages (qperf tcp_bw)", MILLIONS,
     lambda: tcp("tcp_bw", BYTES, "-m", "64") / 64),
    ("ib_write_bw, 64 KiB", "MB/s", lambda: perftest("ib_write_bw", "-n", "500")),
    ("ib_read_bw, 64 KiB", "MB/s", lambda: perftest("ib_read_bw", "-n", "500")),
    ("shared memory: ib_write_bw, 64 KiB", "MB/s", lambda: shm("ib_write_bw", 20000)),
    ("shared memory: ib_read_bw, 64 KiB", "MB/s", lambda: shm("ib_read_bw", 20000)),
    ("shared memory: ib_write_lat, 8 bytes", "us", lambda: shm("ib_write_lat", 20000, "-s", "8")),
    ("shared memory: ib_write_lat, 8 bytes, 99 %", "us",
     lambda: shm("ib_write_lat", 20000, "-s", "8", column=7)),
    ("shared memory: ib_write_bw, 64 bytes", MILLIONS,
     lambda: shm("ib_write_bw", 300000, "-s", "64", column=4)),
]

# Measurements that are compared with another program (the peer): name, unit, function that measures ours, name of the
# peer, function that measures the peer, programs that must be installed.
OTHERS = [
    ("shared memory: ib_write_bw, 4 KiB", "MB/s", lambda: shm("ib_write_bw", 200000, "-s", "4096"),
     "a bare ring", ring, ["ib_write_bw"]),
    ("shared memory: ib_read_bw, 64 KiB, against writes", "MB/s", lambda: shm("ib_read_bw", 20000),
     "ib_write_bw", lambda: shm("ib_write_bw", 20000), ["ib_write_bw"]),
    ("shared memory: UCX tag_bw, 64 KiB", "MB/s", lambda: ucx("tag_bw", "rc", 65536, 20000),
     "UCX's own shared memory", lambda: ucx("tag_bw", "sm", 65536, 20000), ["ucx_perftest"]),
    ("shared memory: UCX tag_lat, 8 bytes", "us", lambda: ucx("tag_lat", "rc", 8, 20000),
     "UCX's own shared memory", lambda: ucx("tag_lat", "sm", 8, 20000), ["ucx_perftest"]),
    ("shared memory: rping", "us", lambda: rping("shm"), "4 TCP latencies", lambda: 4 * tcp("tcp_lat", SECONDS),
     ["rping"]),
    ("ib_write_lat, 2 bytes, mean against typical", "us", lambda: long_lat(column=5),
     "typical", long_lat, ["ib_write_lat"]),
    ("rping", "us", lambda: rping("pcap"), "4 TCP latencies", lambda: 4 * tcp("tcp_lat", SECONDS), ["rping"]),
    ("shared memory: ib_write_bw at 1 GB/s, recorded with -w", "MB/s", lambda: recorder(True), "without -w",
     lambda: recorder(False), ["ib_write_bw"]),
]


def run_others(runs):
    """Prints a line for each measurement of OTHERS."""
    for name, unit, ours, peer_name, peer, programs in OTHERS:
        if not all(map(shutil.which, programs)) or (peer == ring and not os.access(shm.ring, os.X_OK)):
            continue
        both = [(ours(), peer()) for _ in range(runs)]
        ours_value, peer_value = (statistics.median(one[i] for one in both) for i in (0, 1))
        print(f"{name:46} {ours_value:10.2f} {unit}  {ours_value / peer_value:.3f} x {peer_name}", flush=True)
    if recorded:
        print(f"recorded: {recorded['MB']:.0f} MB, {recorded['lost']} packets lost, exit status {recorded['status']}; "
              f"dd alone writes {recorded['write']:.0f} MB/s to the same folder")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="only check that it works; the figures mean nothing")
    parser.add_argument("--bench-port", help="path of bench_port; its account of the remaining time is printed")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    args = parser.parse_args()
    shm.part = QUICK if args.quick else 1
    shm.ring = os.path.join(args.build, "bin", "bench_ring")
    shm.rnic_run = os.path.join(args.build, "bin", "rnic-run")
    args.runs = 1 if args.quick else args.runs
    values = {name: [] for name, _, _ in MEASURES}
    for _ in range(args.runs):
        for name, _, measure in MEASURES:
            values[name].append(measure())
    base = {}
    bare = 0.0
    account = ""
    if args.bench_port:
        quick = ["--quick"] if args.quick else []
        account = subprocess.run([args.bench_port, "--account", *quick], stdout=subprocess.PIPE,
                                 text=True, timeout=100, check=True).stdout
        bare = float(re.search(r"^ +pcap_inject +bare +\d+ ns, +(\d+) MB/s", account, re.MULTILINE)[1])
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, median of {args.runs}")
    for name, unit, _ in MEASURES:
        value = statistics.median(values[name])
        if name.startswith("TCP"):
            base[unit] = value
        if name.startswith("TCP") or unit not in base:
            print(f"{name:46} {value:10.1f} {unit}")
        else:
            print(f"{name:46} {value:10.2f} {unit}  {value / base[unit]:.3f} x TCP"
                  f"{' (target 0.2 x)' if unit == 'us' else ''}"
                  f"{f', {value / bare:.2f} x bare libpcap' if bare and unit == 'MB/s' else ''}")
    run_others(args.runs)
    print(account, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
