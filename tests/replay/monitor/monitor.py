#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that the table of rocedrill check --every and the metrics of --prometheus have the numbers of --json.

monitor.py --rocedrill PROGRAM --gen-capture PROGRAM CAPTURE...
"""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from failures import Failures  # noqa: E402
from pcap import frames_in, records_of  # noqa: E402

DEADLINE = 120  # longest wait, s
ROW = re.compile(r"^#(\d+) \S+ .* (ok|idle|trouble|closed|failed) +([\d.]+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ")
COLUMNS = ("retransmitted", "missing", "rnr", "nak", "cnp")
METRIC = re.compile(r'^rocedrill_(\w+)\{connection="(\d+)",[^}]*\} ([\d.]+)$', re.M)


def figures(path):
    """Returns the totals of a capture, computed from its JSON lines."""
    total = collections.Counter()
    for line in map(json.loads, pathlib.Path(path).read_text().splitlines()):
        if line["type"] != "connection":
            continue
        total["rows"] += 1
        for side in (line["a"], line["b"]):
            again = sum(cause["packets"] for cause in side["retransmissions"].values())
            total["retransmitted"] += again + side["repeated_responses"]
            total["timeouts"] += side["retransmissions"].get("timeout", {"packets": 0})["packets"]
            total["missing"] += side["missing_psns"] + side["missing_responses"]
            total["rnr"] += side["rnr_naks"]
            total["nak"] += side["psn_naks"] + side["fatal_naks"]
            total["cnp"] += side["cnps"]
            total["rtt"] += (side["ack_rtt_ns"] or {"count": 0})["count"]
            total["latency"] += sum((operation["latency_ns"] or {"count": 0})["count"]
                                    for operation in side["operations"].values())
    return total


def check_table(fail, program, capture, folder):
    done = subprocess.run([program, "check", "--every", "10ms", "--json", folder / "json", capture],
                          capture_output=True, text=True)
    fail.expect("standard error", done.stderr, "")
    total, found, numbers = figures(folder / "json"), collections.Counter(), set()
    for line in done.stdout.splitlines():
        row = ROW.match(line)
        if row:
            numbers.add(row[1])
            for column, value in zip(COLUMNS, row.groups()[3:]):
                found[column] += int(value)
    if "more" in re.findall(r"^and \d+ (more)$", done.stdout, re.M):
        return
    fail.expect("sums of the table", {column: found[column] for column in COLUMNS},
                {column: total[column] for column in COLUMNS})
    fail.expect("rows", bool(numbers), bool(total["rows"]))


def get(where, path="/metrics"):
    with urllib.request.urlopen(f"http://{where}{path}", timeout=DEADLINE) as answer:
        return answer.headers.get_content_type(), answer.read().decode()


def send_slowly(client):
    """Sends a request byte by byte, until the server closes the connection."""
    with contextlib.suppress(OSError):
        while True:
            client.sendall(b"x")
            time.sleep(0.1)


def wait_for(fail, where, metric, wanted):
    """Polls the metrics until the sum of one metric has the wanted value. Returns the sums of all metrics."""
    until = time.monotonic() + DEADLINE
    while True:
        sums = collections.Counter()
        for name, _, value in METRIC.findall(get(where)[1]):
            sums[name] += float(value)
        if sums[metric] == wanted or time.monotonic() > until:
            fail.expect(metric, sums[metric], wanted)
            return sums
        time.sleep(0.05)


def check_metrics(fail, program, capture, folder):
    """Feeds a capture to rocedrill through a pipe that stays open, and reads the metrics meanwhile."""
    subprocess.run([program, "check", "-q", "--json", folder / "json", capture], check=False)
    total = figures(folder / "json")
    packets = json.loads((folder / "json").read_text().splitlines()[-1])["packets"]
    child = subprocess.Popen([program, "check", "--prometheus", ":0", "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False)
    where = re.search(rb"http://(127\.0\.0\.1:\d+)/metrics", child.stderr.readline())[1].decode()
    child.stdin.write(pathlib.Path(capture).read_bytes())
    child.stdin.flush()
    sums = wait_for(fail, where, "packets_total", packets)
    for metric, name in (("retransmitted_packets_total", "retransmitted"), ("missing_psns_total", "missing"),
                         ("rnr_naks_total", "rnr"), ("naks_total", "nak"), ("cnps_total", "cnp"),
                         ("timeout_packets_total", "timeouts"), ("ack_rtt_seconds_count", "rtt")):
        fail.expect(metric, sums[metric], total[name])
    kind, text = get(where)
    fail.expect("content type", kind, "text/plain")
    names = re.findall(r"^# TYPE rocedrill_(\w+) (?:counter|gauge)$", text, re.M)
    fail.expect("metrics without a type", {name for name, _, _ in METRIC.findall(text)} - set(names), set())
    try:
        get(where, "/other")
        fail.expect("another path", "found", "not found")
    except urllib.error.HTTPError as error:
        fail.expect("another path", error.code, 404)
    host, port = where.split(":")
    with socket.create_connection((host, int(port))):  # a silent client only delays the other clients
        fail.expect("with a silent client", "rocedrill_connections" in get(where)[1], True)
    with socket.create_connection((host, int(port))) as client:
        slow = threading.Thread(target=send_slowly, args=(client,), daemon=True)
        slow.start()
        time.sleep(0.2)
        fail.expect("with a slow client", "rocedrill_connections" in get(where)[1], True)
    busy = subprocess.run([program, "check", "--prometheus", where, capture], capture_output=True, text=True)
    fail.expect("used port", (busy.returncode, f"{where}: Address already in use" in busy.stderr), (2, True))
    child.stdin.close()
    fail.expect("report at the end", b"verdict: " in child.stdout.read(), True)
    fail.expect("standard error", child.stderr.read(), b"")
    child.wait()


def records(capture):
    """Returns the records of a pcap file, with times since the first one."""
    found = records_of(capture)
    return [record._replace(time=record.time - found[0].time) for record in found]


def check_order(fail, program, captures, folder):
    """Expects that connections with more trouble come first, in captures that are merged into one."""
    merged = folder / "merged.pcap"
    frames = sorted(frame for capture in captures for frame in records(capture))
    merged.write_bytes(pathlib.Path(captures[0]).read_bytes()[:24] + b"".join(
        struct.pack("<IIII", time // 10**9, time // 1000 % 10**6, len(data), wire) + data for time, data, wire in frames))
    done = subprocess.run([program, "check", "--every", "10ms", merged], capture_output=True, text=True)
    tables = [[ROW.match(line)[2] for line in table.splitlines() if ROW.match(line)] for table in done.stdout.split(" UTC, ")]
    order = ["trouble", "failed", "ok", "idle", "closed"]
    fail.expect("order", [table for table in tables if table != sorted(table, key=order.index)], [])
    fail.expect("states", {"trouble", "failed", "ok", "idle"} <= {state for table in tables if len(set(table)) > 1 for state in table}, True)


def check_late_pair(fail, program, capture, folder):
    """Both directions of a UC connection send, and only the end of the capture shows that they belong together. The table counts the
    last packets, which are of the second direction."""
    edited, late = folder / "edited.pcapng", folder / "late.pcap"
    subprocess.run([program, "edit", "-q", "--impair", "set=udp.sport=50000@nth=all", capture, edited], check=True)
    frames = list(frames_in(edited.read_bytes()))
    times = dict(enumerate(range(15))) | {15: 10, 16: 31, 19: 36}  # ms; two packets of the second direction are missing
    late.write_bytes(pathlib.Path(capture).read_bytes()[:24] + b"".join(
        struct.pack("<IIII", 1, times[i] * 1000, len(frames[i]), len(frames[i])) + frames[i] for i in sorted(times, key=times.get)))
    check_table(fail, program, late, folder)


def check_many(fail, program, gen_capture, folder):
    """With more connections than rows, the table keeps the latest connections."""
    capture = folder / "many.pcap"
    with open(capture, "wb") as out:
        subprocess.run([gen_capture, "-n", "60000", "-c", "6000"], check=True, stdout=out)
    done = subprocess.run([program, "check", "--every", "10ms", capture], capture_output=True, text=True)
    rows = [int(cnt) for cnt in re.findall(r"UTC, (\d+) connections?$", done.stdout, re.M)]
    fail.expect("tables", len(rows) > 0, True)
    fail.expect("at most 4096 rows", max(rows, default=0) <= 4096, True)
    fail.expect("all but 10 rows omitted", f"and {rows[-1] - 10} more" in done.stdout, True)


def check_errors(fail, program, capture):
    for options, message in ((["--every", "0s"], "--every 0s: not a time such as 1s or 500ms"),
                             (["--every", "1h"], "--every 1h: not a time such as 1s or 500ms"),
                             (["--every", "1s", capture], "--every requires one capture, not 2"),
                             (["--prometheus", "nowhere:1"], "--prometheus nowhere:1: not an ADDR:PORT"),
                             (["--prometheus", "1.2.3.4"], "--prometheus 1.2.3.4: not an ADDR:PORT"),
                             (["--live", "lo"], "--live and a capture cannot be combined")):
        done = subprocess.run([program, "check", *options, capture], capture_output=True, text=True)
        fail.where = " ".join(options[:2])
        fail.expect("status", done.returncode, 2)
        fail.expect("message", (message in done.stderr, done.stderr.count("\n")), (True, 1))
    done = subprocess.run([program, "check", "--live", "no-such-if"], capture_output=True, text=True)
    fail.where = "--live no-such-if"
    fail.expect("message", (done.returncode, "--live no-such-if: " in done.stderr, done.stderr.count("\n")), (2, True, 1))
    unprivileged = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    for interface, message in (("no-such-if", "no such interface"), ("lo", "capturing requires root or CAP_NET_RAW")):
        done = subprocess.run(unprivileged + [program, "check", "--live", interface], capture_output=True, text=True)
        fail.where = f"--live {interface} without a right"
        fail.expect("message", (done.returncode, message in done.stderr), (2, True))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    parser.add_argument("--gen-capture", required=True)
    parser.add_argument("captures", nargs="+")
    args = parser.parse_args()
    fail = Failures()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for capture in args.captures:
            fail.where = os.path.basename(capture)
            check_table(fail, args.rocedrill, capture, folder)
        for noun in ("rc-loss-read-responses", "rc-rnr-exhausted"):
            capture = next(path for path in args.captures if path.endswith(f"/{noun}.pcap"))
            fail.where = f"metrics of {noun}"
            check_metrics(fail, args.rocedrill, capture, folder)
        fail.where = "merged captures"
        check_order(fail, args.rocedrill, [next(path for path in args.captures if path.endswith(f"/{noun}.pcap"))
                                           for noun in ("rc-loss-requests", "rc-rnr-exhausted", "multi-qp")], folder)
        fail.where = "directions paired at the end"
        check_late_pair(fail, args.rocedrill, next(path for path in args.captures if path.endswith("/uc-send-write.pcap")), folder)
        fail.where = "many connections"
        check_many(fail, args.rocedrill, args.gen_capture, folder)
        check_errors(fail, args.rocedrill, capture)
    print(f"{len(args.captures)} captures, {fail.cnt} differences")
    return fail.cnt > 0


if __name__ == "__main__":
    sys.exit(main())
