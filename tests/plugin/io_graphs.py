#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the graphs of the profile RoCE: Wireshark accepts each graph, and the sums of its fields equal the
numbers of `rocedrill check --json`.

io_graphs.py --plugins DIR --rocedrill PROGRAM CAPTURE...
"""
import collections
import csv
import json
import os
import re
import subprocess
import sys

from tshark import Sharkd, Tshark, arguments

GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plugin/profile/RoCE/io_graphs")
STYLES = {"Line", "Impulse", "Bar", "Stacked Bar", "Dot", "Square", "Diamond", "Cross", "Circle", "Plus"}  # of 4.0
CALCULATED = {"SUM(Y Field)", "MAX(Y Field)", "AVG(Y Field)"}
FIELDS = ["roce.stream", "roce.side", "roce.analysis.request_psn", "roce.analysis.response_psn",
          "roce.analysis.goodput_bytes", "roce.analysis.retransmitted_bytes", "roce.analysis.psn_rel",
          "roce.analysis.copy", "roce.analysis.dropped", "roce.payload_len"]


def rows_of_profile():
    with open(GRAPHS, encoding="utf-8") as text:
        return list(csv.reader(line for line in text if not line.startswith("#")))


def refused(shark, path):
    """Returns the errors in the rows of the profile."""
    rows, wrong, taps = rows_of_profile(), [], []
    for enabled, name, text, colour, style, unit, field, average, factor, *more in rows:
        if (enabled not in ("Enabled", "Disabled") or style not in STYLES or not re.fullmatch("#[0-9a-f]{6}", colour)
                or (average, factor, more) != ("None", "1", []) or (unit in CALCULATED) != (field != "")
                or (unit not in CALCULATED and unit != "Packets")):
            wrong.append(f"{name}: not a graph")
        if field:
            taps += ["-z", f"io,stat,0,{unit.replace('Y Field', field)}{field}" + (f"&&{text}" if text else "")]
        else:
            taps += ["-z", f"io,stat,0,COUNT(frame.number)frame.number&&{text}"]
    status, out, err = shark.run(["-2", "-q", "-r", path] + taps)
    blocks = out.split("IO Statistics")[1:]
    if status or len(blocks) != len(rows) or len({row[1] for row in rows}) != len(rows):
        wrong.append(f"{len(blocks)} graphs of {len(rows)}: {err.strip()}")
    return wrong


def narrow_columns():
    """Returns the columns of the profile whose widths do not match, or are too narrow for a longest text of 9 pixels a character.
    Wireshark ignores the widths unless the files preferences and recent have the same columns."""
    texts = {"roce.stream": "Stream", "roce.bth.psn": "16777215", "roce.analysis.bytes_in_flight": "In flight",
             "roce.analysis.ack_rtt": "0.000049123"}
    folder = os.path.dirname(GRAPHS)
    with open(os.path.join(folder, "preferences"), encoding="utf-8") as text:
        columns = re.findall(r'^\t"[^"]*", "([^"]*)"', text.read(), re.M)
    with open(os.path.join(folder, "recent"), encoding="utf-8") as text:
        widths = re.findall(r"^\t(\S+), (\d+)", text.read(), re.M)
    if [re.sub(":0:R$", "", column) for column in columns] != [column for column, _ in widths]:
        return [f"columns {columns}, widths {widths}"]
    return [f"{column}: {width} pixels" for column, width in widths
            if int(width) < 9 * len(texts.get(column.partition("Cus:")[2], ""))]


def sums(sharkd, path):
    """Returns the sums of the fields by connection and side, and the contradictions within a packet."""
    found, wrong = collections.Counter(), []
    for stream, side, request, response, fresh, again, psn, copy, dropped, length in sharkd.rows(path, FIELDS):
        if not stream or "," in stream:
            continue
        found[int(stream), side, "again"] += int(again or 0)
        if psn not in (request, response) or (request and response) or (stream != "" and side not in ("0", "1")):
            wrong.append(f"PSN {psn}: {request} in requests, {response} in responses, side {side}")
        if psn and not copy and not dropped and int(fresh or 0) + int(again or 0) != int(length or 0):
            wrong.append(f"PSN {psn}: {fresh} fresh and {again} retransmitted of {length} bytes")
    return found, wrong


def check(program, path):
    """Returns the same sums, computed from the JSON lines."""
    wanted = collections.Counter()
    for line in subprocess.run([program, "check", "--json", "-", path], capture_output=True, text=True).stdout.splitlines():
        line = json.loads(line)
        if line["type"] != "connection":
            continue
        for side, name in enumerate("ab"):
            figures = line[name]
            wanted[line["connection"], str(side), "again"] = figures["repeated_response_bytes"] + sum(
                cause["bytes"] for cause in figures["retransmissions"].values())
    return wanted


def main():
    args = arguments()
    wrong = narrow_columns()
    with Tshark(args.plugins) as shark, Sharkd(shark) as sharkd:
        for capture in args.captures:
            path = shark.file(capture)
            name = os.path.basename(capture)
            found, inside = sums(sharkd, path)
            wrong += [f"{name}: {text}" for text in inside]
            for key, value in check(args.rocedrill, path).items():
                if found[key] != value:
                    wrong.append(f"{name}: {key}: {found[key]} in the fields, {value} in check")
            if name == "rc-loss-both.pcap":
                wrong += refused(shark, path)
            os.remove(path)
    for line in wrong[:40]:
        print(line)
    print(f"{len(args.captures)} captures, {len(rows_of_profile())} graphs, {len(wrong)} differences")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main())
