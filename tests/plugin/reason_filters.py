#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks the display filters that `rocedrill check` prints: each must match packets of its capture in tshark.

    reason_filters.py --plugins DIR --rocedrill FILE CAPTURE...

A filter that differs only in its numbers from those of two earlier captures is not run. The filter of retransmissions
with one cause selects both directions of a connection. The number of packets that it matches must be the sum of both
directions in --json, and each sentence above it must have the number of its direction in --json. The test also fails if a
capture has a reason (a failure or a cause of slowness) without a filter, and if no capture has a filter that begins with
one of KINDS.
"""
import collections
import json
import re
import subprocess
import sys

from filters import count
from packet_builder import connect, pcap
from tshark import Tshark, arguments

KINDS = ["roce.cm.rej.reason ==", "roce.mad.attr_id ==", "frame.number in", "roce.analysis.out_of_order",
         "roce.icrc.bad", "roce.analysis.duplicate_response", "roce.analysis.psn_gap || roce.analysis.nak)", "roce.analysis.rnr_nak",
         "roce.analysis.psn_gap || roce.analysis.nak_retransmission", "roce.analysis.timeout_retransmission",
         "roce.analysis.spurious_retransmission",
         "roce.analysis.retransmission && roce.analysis.cause == 6", "roce.analysis.ce"]
REASONS = re.compile(r"^(?:failures|stuck connections|slow connections(?: \(.*\))?|lost messages|congestion without notification):$")
# No capture of rxe has a CM message without an answer, so the test makes one.
REQUEST = connect(20049)[:1]
UNANSWERED = pcap(REQUEST * 3, seconds=[0, 4, 8])
FILTER = re.compile(r"^ +Wireshark: (.*)$")
CAUSE = re.compile(r"roce\.stream == (\d+) && roce\.analysis\.(timeout_retransmission|spurious_retransmission|retransmission && roce\.analysis\.cause == 6)$")
COUNTED = re.compile(r"the requester retransmitted (\d+) packets?(?:$|, and| without need)")


def filters_of(rocedrill, capture):
    """Returns the filters of the report, whether the report has a reason, and for each filter the counts of its sentences."""
    report = subprocess.run([rocedrill, "check", "--color=never", capture], capture_output=True, text=True, check=False)
    lines = report.stdout.splitlines()
    counted, reason = collections.defaultdict(list), ""
    for line in lines:
        reason = line if re.match(r" +[→←]", line) else reason
        if FILTER.match(line) and COUNTED.search(reason):
            counted[FILTER.match(line)[1]].append(int(COUNTED.search(reason)[1]))
    return [row[1] for row in map(FILTER.match, lines) if row], any(map(REASONS.match, lines)), counted


def retransmitted(rocedrill, capture, text):
    """Returns the packets that --json counts in each direction for the filter `text`."""
    stream, field = CAUSE.search(text).groups()
    cause = {"timeout_retransmission": "timeout", "spurious_retransmission": "spurious_timeout"}.get(field, "unknown")
    report = subprocess.run([rocedrill, "check", "-q", "--json", "-", capture], capture_output=True, text=True, check=False)
    for line in map(json.loads, report.stdout.splitlines()):
        if line["type"] == "connection" and line["connection"] == int(stream):
            return [line[side]["retransmissions"].get(cause, {}).get("packets", 0) for side in "ab"]
    return []


def main():
    args = arguments()
    wrong, seen, ran = [], [], collections.Counter()
    with Tshark(args.plugins) as tshark:
        made = tshark.file("unanswered.pcap", UNANSWERED)
        for capture in args.captures + [made]:
            filters, has_reason, counted = filters_of(args.rocedrill, capture)
            seen += filters
            if bool(filters) != has_reason:
                wrong.append(f"{capture}: reasons without a filter")
            kinds = {re.sub(r"\d+", "N", text) for text in filters}
            if any(ran[kind] < 2 for kind in kinds):
                ran.update(kinds)
                readable = capture if capture == made else tshark.file(capture)
                for text, frames in zip(filters, count(tshark, readable, filters, True)):
                    if frames == 0:
                        wrong.append(f"{capture}: {text}: no frame")
                    if counted[text]:
                        both = retransmitted(args.rocedrill, capture, text)
                        if sum(both) != frames or collections.Counter(counted[text]) - collections.Counter(both):
                            wrong.append(f"{capture}: {text}: {frames} frames, the report counts {counted[text]}, --json {both}")
    wrong += [f"no capture has the filter {kind}" for kind in KINDS if not any(kind in text for text in seen)]
    print("\n".join(wrong + [f"{len(seen)} filters of {len(args.captures)} captures"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
