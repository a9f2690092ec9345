#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rnic-run --timeline. Every request of unmodified programs has one row, in the order of posting.
The times of a row are in the order of their events. The percentiles count all requests.

timeline.py --bin FOLDER"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = ("SEEN", "FIRST", "LAST", "ACKED", "CQE", "POLLED")

# Rows: command of the server, command of the client, options of rnic-run, number of requests of both processes, operation,
# whether all requests are signaled
RUNS = [
    ("ibv_rc_pingpong -g 1 -n 100", "ibv_rc_pingpong -g 1 -n 100 127.0.0.1", [], 200, "SEND", True),
    ("ibv_ud_pingpong -g 1 -n 100", "ibv_ud_pingpong -g 1 -n 100 127.0.0.1", [], 200, "SEND", True),
    ("ibv_rc_pingpong -g 1 -n 100 -N", "ibv_rc_pingpong -g 1 -n 100 -N 127.0.0.1", [], 200, "SEND",
     True),
    ("ib_write_bw -F -n 400 -s 8000", "ib_write_bw -F -n 400 -s 8000 localhost",
     ["--impair", "loss=3%"], 400, "WRITE", False),
    ("ib_read_lat -F -n 50 -s 9000", "ib_read_lat -F -n 50 -s 9000 localhost", [], 50, "READ", True),
]


def check(text, rows, run):
    server, _, options, cnt, operation, signaled = run
    lines = rows.splitlines()[2:]
    assert len(lines) == cnt, f"{server}: {len(lines)} rows instead of {cnt}"
    posted = 0.0
    resent = unsignaled = 0
    patience = 0.0  # the longest time from the first packet of a request to its last, us
    for line in lines:
        fields = line.split()
        assert fields[3] == operation and fields[5] == "SUCCESS", line
        assert float(fields[7]) >= posted, line
        posted = float(fields[7])
        resent += int(fields[6])
        steps = dict(zip(STEPS, fields[8:]))
        unsignaled += steps["CQE"] == "-"
        assert (steps["CQE"] == "-") == (steps["POLLED"] == "-"), line
        if fields[6] != "0":  # a retransmission may be sent after the answer to the first transmission
            patience = max(patience, float(steps["LAST"]) - float(steps["FIRST"]))
            steps["LAST"] = steps["FIRST"]
        last = 0.0
        for step in STEPS:
            if steps[step] != "-":
                assert float(steps[step]) >= last, line
                last = float(steps[step])
            else:
                assert step in ("CQE", "POLLED"), line
    assert (unsignaled == 0) == signaled, f"{server}: {unsignaled} without completion"
    # Without losses, a request is retransmitted only if a process waited for a CPU longer than the ACK
    # timeout of 67 ms.
    assert resent == 0 or options or patience > 60e3, f"{server}: {resent} packets sent again"
    assert resent > 0 or not options, f"{server}: no packet sent again"
    assert re.search(rf"^{operation}: {cnt} requests, \d+ bytes, 0 failed, {resent} packets retransmitted",
                     text, re.MULTILINE), text
    polled = re.search(r"^  posted - polled +(\d+)", text, re.MULTILINE)
    assert polled and int(polled[1]) == cnt - unsignaled, text


def check_page(args, folder, rows, cnt):
    """Expects that the page of the recording has the work request of each message, with the times of its row."""
    page = os.path.join(folder, "page.html")
    done = subprocess.run([os.path.join(args.bin, "rocedrill"), "check", "-q", "--html", page, "--timeline", rows,
                           os.path.join(folder, "packets.pcapng")], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    with open(page, encoding="utf-8") as text:
        data = json.loads(re.search(r'id="data">(.*?)</script>', text.read(), re.S).group(1))
    drawn = [m[7] for c in data["captures"][0]["connections"] for m in c.get("messages", []) if len(m) > 7]
    assert len(drawn) == cnt, f"{len(drawn)} of {cnt} requests are in the page"
    with open(rows, encoding="ascii") as text:
        polled = sorted(float(line.split()[13]) for line in text.read().splitlines()[2:])
    page_polled = sorted((d[6] - d[0]) / 1e3 for d in drawn)
    assert all(abs(a - b) < 0.1 for a, b in zip(polled, page_polled)), (polled, page_polled)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    for run in RUNS:
        with tempfile.TemporaryDirectory(prefix="rnic-timeline-") as folder:
            file = os.path.join(folder, "rows")
            command = [os.path.join(args.bin, "rnic-run"), "-n", "-i", "lo", "--seed", "1",
                       "-w", os.path.join(folder, "packets.pcapng"), f"--timeline={file}", *run[2], "--", sys.executable,
                       os.path.join(HERE, "pair.py"), "--port", "18515", *run[0].split(), "---",
                       *run[1].split()]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
            print(done.stdout)
            assert done.returncode == 0, f"{run[0]}: status {done.returncode}"
            with open(file, encoding="ascii") as rows:
                check(done.stdout, rows.read(), run)
            if run[4] == "READ":
                check_page(args, folder, file, run[3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
