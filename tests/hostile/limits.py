#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that limited outputs report what they omit, as text and as JSON, and that a long capture needs no more
memory than its RoCE packets.

limits.py --bin FOLDER"""
import argparse
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

import bounded
import shapes
from captures import Tshark

CONNECTIONS = 14000  # number of connections; check --json prints about 3 KiB for each
ROOM = 64 << 20
HEADER = 24  # bytes before the first record of a pcap file
START, FRAME_ROOM = 1 << 20, 16 << 10
LONG = (1 << 30) + (64 << 20)  # length of a long capture, bytes
FRAME = 200000
SHARED = 290000  # number of connections for which check needs about 600 MB, and which replay refuses as too many
ROWS = 100000  # rows of a table of the plugin
FLOOD = 20000  # number of connections with equal hashes; with a hash without a key, check needed 3 s for them
NOISE = 0.3  # s of CPU time
BUSY = 30000  # number of connections on a busy processor


def check(rocedrill, capture, out, *options):
    done = subprocess.run([rocedrill, "check", *options, "--json", out, capture], stdout=subprocess.PIPE, text=True,
                          check=False)
    assert done.returncode in (0, 1), done
    with open(out, encoding="utf-8") as lines:
        counts, last = {}, None
        for line in lines:
            last = json.loads(line) if line.startswith('{"type":"summary"') else last
            kind = line[9:line.index('"', 9)]
            counts[kind] = counts.get(kind, 0) + 1
    return done.stdout, counts, last


def listed(text, counts, summary, size, room):
    """Asserts that a limit was reached, that the lines have at most `room` bytes, and that the text report and the
    summary count the connections and findings without a line."""
    told = re.search(r"size limit of --json reached: (\d+) connections and (\d+) findings are not listed", text)
    print(told and told[0], counts, size)
    assert told, "the text does not report the limit"
    assert size <= room, (size, room)
    assert int(told[1]) == summary["connections_not_listed"] > 0
    assert int(told[2]) == summary["findings_not_listed"]
    assert counts["connection"] + summary["connections_not_listed"] == summary["connections"]
    assert counts.get("finding", 0) + summary["findings_not_listed"] == \
        summary["errors"] + summary["warnings"] + summary["notes"]


def claimed_lengths_give_no_room(rocedrill, capture, out):
    """Each packet of the capture claims that it was longer on the wire than any frame."""
    with open(capture, "r+b") as file:
        at, end = 24, os.path.getsize(capture)
        while at < end:
            file.seek(at + 8)
            length = struct.unpack("<I", file.read(4))[0]
            file.write(struct.pack("<I", 1 << 24))
            at += 16 + length
    listed(*check(rocedrill, capture, out), os.path.getsize(out), ROOM + 2 * os.path.getsize(capture))


def frames_limit_long_names(rocedrill, capture, out):
    """Each line contains the name of the capture. The bytes of this name need six characters each in JSON."""
    number = 1000
    long = os.path.join(os.path.dirname(capture), *["\1" * 200] * 15, "c.pcap")
    os.makedirs(os.path.dirname(long))
    shapes.write(long, shapes.connections_of_one_packet(number))
    listed(*check(rocedrill, long, out), os.path.getsize(out), START + FRAME_ROOM * number)


def replay_of_a_long_capture_needs_little_memory(rocedrill, capture):
    """Plays a few RoCE packets, which more than 1 GiB of other frames follow. The file has holes instead of them."""
    shapes.write(capture, shapes.ordinary(100))
    with open(capture, "r+b") as file:
        at = file.seek(0, os.SEEK_END)
        while at < LONG:
            file.seek(at)
            file.write(struct.pack("<IIII", 1700000001, 0, FRAME, FRAME))
            at += 16 + FRAME
        file.truncate(at)
    done = bounded.run([rocedrill, "replay", "-q", capture], 120)
    print(done)
    assert done.status == 0, done
    assert done.rss < LONG >> 12, done


def closed_loop_reports_a_lack_of_memory(rocedrill, capture):
    """The memory limit suffices for the inferred regions of 30 GiB, but not for the copy that the closed loop needs."""
    shapes.write(capture, shapes.segments_of_far_memory(8))
    done = bounded.run([rocedrill, "replay", "--closed-loop", capture], 120, memory=90 << 30)
    assert "SKIPPED: no memory for a copy of the regions" in done.out, done


def first_frames(source, capture, cnt, all_cnt):
    """Copies the first `cnt` of `all_cnt` equally long frames."""
    size = (os.path.getsize(source) - HEADER) // all_cnt
    with open(source, "rb") as file, open(capture, "wb") as out:
        out.write(file.read(HEADER + cnt * size))


def captures_at_a_time_share_the_memory_limit(rocedrill, capture, out):
    """Checks one capture twice at the same time. Twice its memory is more than the limit."""
    done = [bounded.run([rocedrill, "check", "--jobs", jobs, "--json", out + jobs, capture, capture], 240)
            for jobs in ("1", "2")]
    print(f"memory: {done[0].rss >> 10} MiB, {done[1].rss >> 10} MiB with --jobs 2")
    assert done[0].status == done[1].status == 0 and done[0].out == done[1].out, done
    assert "findings that are only counted (--json -v lists all)" in done[0].out, done[0].out
    with open(out + "1", "rb") as one, open(out + "2", "rb") as two:
        assert one.read() == two.read()
    assert done[0].rss > 520 << 10 and done[1].rss < 1400 << 10, (done[0].rss, done[1].rss)


def check_of_many_connections_is_fast_on_a_busy_processor(rocedrill, many, capture):
    """Each packet of the capture begins a connection. If the threads of check took turns at each connection, they would lose
    their processor to other programs each time."""
    first_frames(many, capture, BUSY, SHARED)
    processor = str(min(os.sched_getaffinity(0)))
    busy = [subprocess.Popen(["taskset", "-c", processor, sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        begin = time.monotonic()
        done = bounded.run(["taskset", "-c", processor, rocedrill, "check", "-q", capture], 240)
        seconds = time.monotonic() - begin
    finally:
        for program in busy:
            program.kill()
            program.wait()
    print(f"{seconds:.1f} s, of which {done.cpu:.1f} s of CPU time, with three programs on the same processor")
    assert done.status == 0 and seconds < 30 + 30 * done.cpu, done


def replay_refuses_too_many_flows(rocedrill, capture):
    """Each packet of the capture belongs to another connection."""
    done = bounded.run([rocedrill, "replay", "-q", capture], 240)
    print(done)
    assert done.status == 2 and "more flows than the limit of replay" in done.out, done
    assert done.rss < 300 << 10, done


def equal_hashes_cost_no_more_than_others(rocedrill, plugins, capture):
    """Each packet of the capture begins a connection. The hashes of the connections are equal if the hash has no key."""
    with Tshark(plugins) if os.path.isdir(plugins) else contextlib.nullcontext() as shark:
        costs = {}
        for colliding in (False, True):
            shapes.write(capture, shapes.equal_hashes(FLOOD, colliding))
            done = bounded.run([rocedrill, "check", "-q", capture], 240)
            assert done.status in (0, 1), done
            costs["check", colliding] = done.cpu
            if shark:
                done = bounded.run(shark.command(["-T", "fields", "-e", "roce.stream", "-r", shark.file(capture)]), 240)
                streams = {int(line) for line in done.out.split() if line.isdigit()}
                assert streams == set(range(FLOOD)), (len(streams), done)  # the plugin is loaded, and analyses
                costs["plugin", colliding] = done.cpu
    print(f"CPU time of {FLOOD} connections with random and with chosen addresses, s: {costs}")
    assert all(costs[name, True] < 2 * costs[name, False] + NOISE for name, _ in costs), costs


def tables_of_the_plugin_have_a_limit(plugins, many, capture):
    """The last row of a table counts the connections that have no row."""
    rest = 2000
    first_frames(many, capture, ROWS + rest, SHARED)
    with Tshark(plugins) as shark:
        done = bounded.run(shark.command(["-q", "-z", "roce,conn", "-r", shark.file(capture)]), 240)
    rows = [line for line in done.out.splitlines() if line.count("|") >= 19][1:]
    print(f"{len(rows)} rows, {done.rss >> 10} MiB; last: {rows[-1]}")
    assert done.status == 0 and len(rows) == ROWS + 1, (done.status, len(rows))
    cells = [cell.strip() for cell in rows[-1].split("|")]
    assert cells[0] == "others" and cells[2] == "" and cells[4] == str(rest), cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    rocedrill, plugins = os.path.join(bin_dir, "rocedrill"), os.path.join(bin_dir, "..", "lib", "wireshark", "plugins")
    with tempfile.TemporaryDirectory(prefix="rocedrill-limits-") as folder:
        many, capture, out = (os.path.join(folder, name) for name in ("many.pcap", "capture.pcap", "out.json"))
        shapes.write(many, shapes.connections_of_one_packet(SHARED))
        first_frames(many, capture, CONNECTIONS, SHARED)
        text, counts, summary = check(rocedrill, capture, out)
        listed(text, counts, summary, os.path.getsize(out), ROOM + 2 * os.path.getsize(capture))
        check_of_many_connections_is_fast_on_a_busy_processor(rocedrill, many, os.path.join(folder, "busy.pcap"))
        assert summary["connections"] == CONNECTIONS and summary["findings_not_listed"] > 0
        text, counts, summary = check(rocedrill, capture, out, "-v")
        assert "size limit" not in text and counts["connection"] == CONNECTIONS, counts
        assert summary["connections_not_listed"] == summary["findings_not_listed"] == 0
        claimed_lengths_give_no_room(rocedrill, capture, out)
        frames_limit_long_names(rocedrill, capture, out)
        equal_hashes_cost_no_more_than_others(rocedrill, plugins, capture)
        captures_at_a_time_share_the_memory_limit(rocedrill, many, out)
        replay_refuses_too_many_flows(rocedrill, many)
        replay_of_a_long_capture_needs_little_memory(rocedrill, os.path.join(folder, "long.pcap"))
        closed_loop_reports_a_lack_of_memory(rocedrill, capture)
        if os.path.isdir(plugins):
            tables_of_the_plugin_have_a_limit(plugins, many, capture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
