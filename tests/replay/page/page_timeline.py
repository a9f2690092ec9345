#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rocedrill check --html --timeline assigns to each message the times of its work request.

    page_timeline.py ROCEDRILL CAPTURE

A page without a timeline has the messages of the capture. From these the test makes timelines with a row
for each message, with rows of messages that the capture lacks, and with rows that fit no message. It also
makes files that are not timelines."""
import json
import os
import re
import subprocess
import sys
import tempfile

failures = 0
# Times of the steps of a work request (posted to polled), ns from the first packet of its message. None: time of the last packet.
STEPS = (-3000, -2500, -2000, None, 400000000, 400000100, 400000900)
TITLE = "Send work requests: POSTED in us since the first one. The first one was posted at UNIX time %d.%09d.\nPID QPN\n"


def fail(text):
    global failures
    failures += 1
    print(text, file=sys.stderr)


def check(rocedrill, capture, folder, *options):
    page = os.path.join(folder, "page.html")
    run = subprocess.run([rocedrill, "check", "-q", "--html", page, *options, capture], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode == 2:
        return run.stdout
    with open(page, encoding="utf-8") as text:
        return json.loads(re.search(r'id="data">(.*?)</script>', text.read(), re.S).group(1))["captures"][0]


def messages_of(capture):
    return [m for c in capture["connections"] for m in c["messages"]]


def write_rows(path, base, rows):
    """Writes rows of QPN, bytes, and times in ns since `base`. The file has microseconds with one decimal
    digit."""
    start = min(times[0] for _, _, times in rows)
    with open(path, "w", encoding="ascii") as out:
        out.write(TITLE % divmod(base + start, 10**9))
        for qpn, size, times in sorted(rows, key=lambda row: row[2][0]):
            rest = ["-" if t is None else f"{(t - times[0]) / 1e3:.1f}" for t in times[1:]]
            out.write(f"1 {qpn:06x} 0 X {size} SUCCESS 0 {(times[0] - start) / 1e3:.1f} {' '.join(rest)}\n")


def main():
    rocedrill, capture = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows")
        plain = check(rocedrill, capture, folder)
        base = plain["summary"]["first_time_ns"]
        rows = []
        for conn in plain["connections"]:
            for side, _, first, last, _, size, _ in conn["messages"]:
                rows.append((conn["ab"[side]]["qpn"], size, [first + (last if s is None else s) for s in STEPS]))
        write_rows(path, base, rows)
        drawn = messages_of(check(rocedrill, capture, folder, "--timeline", path))
        if len(drawn) < 5 or any(len(m) != 8 for m in drawn):
            fail(f"{sum(len(m) == 8 for m in drawn)} of {len(drawn)} messages have a work request")
        for m in drawn:
            want = [m[3] if s is None else s for s in STEPS]
            if any(abs(have - w) > 100 for have, w in zip(m[7], want)):
                fail(f"steps {m[7]}, wanted {want}")
        # The rows `early` belong to an earlier connection with the same QPN. Only their times show this.
        early = [(qpn, size, [t - 20 * 10**9 for t in times]) for qpn, size, times in rows[:3]]
        write_rows(path, base, early + rows)
        again = messages_of(check(rocedrill, capture, folder, "--timeline", path))
        if [m[7] for m in again] != [m[7] for m in drawn]:
            fail("rows of an earlier use of the QPN change the times")
        # Rows with another QP, with another number of bytes, and with a packet earlier than its work request
        # fit no message.
        wrong = [(qpn + 1, size, times) for qpn, size, times in rows] + [(qpn, size + 10**6, times) for qpn, size, times in rows]
        wrong += [(qpn, size, [t + 10**10 for t in times]) for qpn, size, times in rows]
        write_rows(path, base, wrong)
        if any(len(m) == 8 for m in messages_of(check(rocedrill, capture, folder, "--timeline", path))):
            fail("a row that fits no message was used")
        # A row may lack steps, for example that of an unsignaled request.
        write_rows(path, base, [(qpn, size, times[:5] + [None, None]) for qpn, size, times in rows])
        if any(m[7][5:] != [None, None] for m in messages_of(check(rocedrill, capture, folder, "--timeline", path))):
            fail("a missing step is not null")
        for text, words in (("nonsense\n", "not a file of rnic-run --timeline"), (TITLE % (1, 2) + "1 2 3\n", "line 3: not a row")):
            with open(path, "w", encoding="ascii") as out:
                out.write(text)
            said = check(rocedrill, capture, folder, "--timeline", path)
            if not isinstance(said, str) or words not in said or said.count("\n") != 1:
                fail(f"'{text}': {said}")
        run = subprocess.run([rocedrill, "check", "--timeline", path, capture], stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode != 2 or "--timeline requires --html" not in run.stderr:
            fail(f"without --html: status {run.returncode}: {run.stderr}")
    sys.exit(failures > 0)


main()
