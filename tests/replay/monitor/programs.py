#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rocedrill check --live shows the rate and the latency that programs under rnic-run measure.

    programs.py ROCEDRILL RNIC_RUN

perftest runs over a veth pair whose ends are in two network namespaces of the test: ib_write_bw for the rate, and
ib_read_lat for the latency. The times of perftest include the wake-up of the program, which on a busy machine takes
longer than the exchange of the packets. So the test allows a wide difference of times, but no difference of the numbers
of bytes and operations. If the test may not create a namespace, or perftest or rnic-run is missing, its exit status is 77.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

from interface import DEADLINE, enter_namespace

SECONDS, SIZE = 4, 4096
READS = 2000
FAR = "10.9.0.2"


def run_pair(rnic_run, far, *command):
    """Runs the server in the other namespace and the client in this one. Returns the client's output."""
    enter = ["nsenter", "-t", str(far), "-n", "--preserve-credentials"]
    server = subprocess.Popen([*enter, rnic_run, "-i", "vb", "--", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    until, client = time.monotonic() + DEADLINE, None
    while client is None or (client.returncode != 0 and time.monotonic() < until and server.poll() is None):
        time.sleep(0.3)  # the server does not listen yet
        client = subprocess.run([rnic_run, "-i", "va", "--", *command, FAR], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, timeout=DEADLINE, check=False)
    out = server.communicate(timeout=DEADLINE)[0]
    if client.returncode or server.returncode:
        sys.exit(f"{command[0]}: status {client.returncode} and {server.returncode}\n{client.stdout}\n{out}")
    return [float(word) for word in re.findall(rf"^ {SIZE} .*$", client.stdout, re.M)[-1].split()]


def metrics_of(where):
    """Returns {name: {QPs: value}} of the counters."""
    text = urllib.request.urlopen(f"http://{where}/metrics", timeout=DEADLINE).read().decode()
    found = {}
    for name, labels, value in re.findall(r"^rocedrill_(\w+)\{(.*)\} (\S+)$", text, re.M):
        found.setdefault(name, {})[labels] = float(value)
    return found


def changes(after, before, name):
    """Returns how much the sum of a counter over all connections grew."""
    return sum(after.get(name, {}).values()) - sum(before.get(name, {}).values())


def microseconds(text):
    number, unit = text.split()
    return float(number) * {"ns": 1e-3, "\u00b5s": 1, "ms": 1e3, "s": 1e6}[unit]


def compare(rate, reads, metrics, out):
    """Compares the output of both clients with the metrics before, between and after them, and with the tables.
    Returns what differs."""
    start, middle, end = metrics
    wrong = []
    writes = changes(middle, start, "operation_latency_seconds_count")
    if writes < 100 or changes(middle, start, "payload_bytes_total") != writes * SIZE:
        wrong.append(f"{changes(middle, start, 'payload_bytes_total')} bytes of {writes} WRITEs")
    if changes(end, middle, "payload_bytes_total") != READS * SIZE or \
            changes(end, middle, "operation_latency_seconds_count") != READS:
        wrong.append(f"not {READS} READs of {SIZE} bytes")
    rows = re.findall(r"^#(\d+) RC 10\.9\.0\.1 .* ([\d.]+)(?: +0){5} +(\S+ \S+) +(\S+ \S+)$", out, re.M)
    rates = sorted(float(row[1]) for row in rows if row[0] == rows[0][0])
    if not rates or not rate / 2 < rates[len(rates) // 2] < rate * 2:
        wrong.append(f"rates {rates} Gbit/s, ib_write_bw {rate}")
    # Rows with few operations are not compared: their mean round trip and mean latency may be of different operations.
    if any(microseconds(row[2]) > microseconds(row[3]) for row in rows if float(row[1]) > rate / 10):
        wrong.append(f"a round trip is longer than a latency: {rows}")
    least, typical, average = reads[2], reads[4], reads[5]
    mean = 1e6 * changes(end, middle, "operation_latency_seconds_sum") / READS
    if not least / 4 < mean < 1.1 * average:
        wrong.append(f"mean latency {mean} us, ib_read_lat {average}")
    median = microseconds(re.search(rf"{READS} READ \(median (\S+ \S+),", out)[1])
    if not least / 4 < median < 1.1 * typical:
        wrong.append(f"median latency {median} us, ib_read_lat {typical}")
    return wrong


def main():
    rocedrill, rnic_run = map(os.path.abspath, sys.argv[1:])
    if not shutil.which("ib_write_bw") or not os.path.exists(rnic_run):
        print("no perftest or rnic-run")
        return 77
    far = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
    while os.readlink(f"/proc/{far.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
        time.sleep(0.01)
    child = None
    wrong = []
    try:
        for command in ("ip link set lo up", "ip link add va type veth peer name vb", f"ip link set vb netns {far.pid}",
                        "ip addr add 10.9.0.1/24 dev va", "ip link set va up",
                        f"nsenter -t {far.pid} -n --preserve-credentials ip addr add {FAR}/24 dev vb",
                        f"nsenter -t {far.pid} -n --preserve-credentials ip link set lo up",
                        f"nsenter -t {far.pid} -n --preserve-credentials ip link set vb up"):
            subprocess.run(command.split(), check=True)
        child = subprocess.Popen([rocedrill, "check", "--live", "va", "--every", "1s", "--prometheus", ":0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        where = re.search(r"http://(\S+)/metrics", child.stderr.readline())[1]
        child.stderr.readline()
        start = metrics_of(where)
        # columns of ib_write_bw: size, iterations, peak and average in MB/s (2^20 bytes), messages; [3] is the average
        rate = run_pair(rnic_run, far.pid, "ib_write_bw", "-F", "-s", str(SIZE), "-D", str(SECONDS))[3] * 2 ** 20 * 8 / 1e9
        middle = metrics_of(where)
        # columns of ib_read_lat: size, iterations, minimum, maximum, typical, average
        reads = run_pair(rnic_run, far.pid, "ib_read_lat", "-F", "-s", str(SIZE), "-n", str(READS))
        end = metrics_of(where)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE)
    finally:
        for process in (child, far):
            if process:
                process.kill()
                process.wait()
    wrong += compare(rate, reads, (start, middle, end), out)
    if child.returncode or err:
        wrong.append(f"status {child.returncode}, standard error: {err}")
    for line in wrong:
        print(line)
    if wrong:
        print(out)
    return len(wrong) > 0


if __name__ == "__main__":
    if os.environ.get("INTERFACE_INSIDE") != "1":
        enter_namespace()
    sys.exit(main())
