#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Measures the memory of `rocedrill check --live` over a long time: prints the resident memory and its
growth.

    soak_live.py [--build DIR] [--seconds N] [--rate N] [--connections N] [--messages N] [--loss N]
    [--quick]

A veth pair in a separate network namespace carries WRITEs and their ACKs at --rate packets/s. --messages:
a connection ends after N messages, and another one begins; 0: connections never end. --loss: one of N
packets is missing. The monitored program prints its table each second and serves Prometheus. The slope is
that of a least-squares line through the memory samples, without the first tenth of the time. The script
reports figures and does not fail. Without the right to create a namespace the exit status is 77."""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request


TITLE = b"connection "  # the beginning of each table


def enter_namespace():
    for user in ([], ["-r"]):
        if subprocess.run(["unshare", *user, "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe("unshare", ["unshare", *user, "-n", sys.executable, "-B", *sys.argv],
                       dict(os.environ, SOAK_INSIDE="1"))
    print("cannot create a network namespace")
    sys.exit(77)


def status_of(pid, name):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(rf"^{name}:\s+(\d+)", status.read(), re.M)[1])


def packets_of(where):
    text = urllib.request.urlopen(f"http://{where}/metrics", timeout=60).read().decode()
    return sum(map(int, re.findall(r"^rocedrill_packets_total\{.*\} (\d+)$", text, re.M)))


def slope(samples):
    """Returns the growth of the memory in KiB per hour."""
    n, mean_t, mean_v = len(samples), sum(t for t, _ in samples) / len(samples), sum(v for _, v in samples) / len(samples)
    spread = sum((t - mean_t) ** 2 for t, _ in samples)
    return 3600 * sum((t - mean_t) * (v - mean_v) for t, v in samples) / spread if n > 1 and spread else 0.0


def watch(args, child, sender, where):
    """Returns samples of time and resident memory, KiB."""
    begin, samples, line = time.monotonic(), [], 0.0
    while sender.poll() is None and child.poll() is None and time.monotonic() - begin < args.seconds:
        time.sleep(min(1, args.seconds / 20))
        now = time.monotonic() - begin
        samples.append((now, status_of(child.pid, "VmRSS")))
        if now >= line:
            print(f"{now:7.0f} s  {packets_of(where):12d} packets  {samples[-1][1]:8d} KiB resident", flush=True)
            line += args.seconds / 60 if not args.quick else 1
    return samples, time.monotonic() - begin


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default="build")
    options.add_argument("--seconds", type=float, default=3600)
    options.add_argument("--rate", type=int, default=100000)
    options.add_argument("--connections", type=int, default=1000)
    options.add_argument("--messages", type=int, default=0)
    options.add_argument("--loss", type=int, default=10007)
    options.add_argument("--quick", action="store_true")
    args = options.parse_args()
    if args.quick:
        args.seconds, args.rate, args.connections = 3, 5000, 50
    if os.environ.get("SOAK_INSIDE") != "1":
        enter_namespace()
    for command in ("ip link set lo up", "ip link add va type veth peer name vb", "ip link set va up", "ip link set vb up"):
        subprocess.run(command.split(), check=True)
    programs = f"{args.build}/bin"
    tables = tempfile.TemporaryFile()
    child = subprocess.Popen([f"{programs}/rocedrill", "check", "--live", "vb", "--every", "1s", "--prometheus", ":0"],
                             stdout=tables, stderr=subprocess.PIPE, text=True)
    where = re.search(r"http://(\S+)/metrics", child.stderr.readline())[1]
    child.stderr.readline()
    source = subprocess.Popen([f"{programs}/gen_capture", "-n", str(int(args.rate * args.seconds * 2)), "-c", str(args.connections),
                               "-m", str(args.messages), "-d", str(args.loss)], stdout=subprocess.PIPE)
    sender = subprocess.Popen([f"{programs}/send_capture", "va", str(args.rate)], stdin=source.stdout, stdout=subprocess.DEVNULL)
    source.stdout.close()
    try:
        samples, seconds = watch(args, child, sender, where)
        packets = packets_of(where)
    finally:
        sender.kill()
        source.kill()
        child.send_signal(signal.SIGTERM)  # a shell lets programs in the background ignore SIGINT
        errors = child.communicate()[1]
    tables.seek(0)
    printed = sum(line.startswith(TITLE) for line in tables)
    steady = [s for s in samples if s[0] >= seconds / 10]
    print(f"{packets} packets in {seconds:.0f} s: {packets / seconds:.0f} packets/s; resident memory {steady[0][1]} KiB after a tenth, "
          f"{steady[-1][1]} KiB at the end, slope {slope(steady):+.1f} KiB per hour; "
          f"{printed} tables")
    if errors:
        print(errors, end="")
    return 0 if packets and printed and child.returncode in (0, 1) else 1


if __name__ == "__main__":
    sys.exit(main())
