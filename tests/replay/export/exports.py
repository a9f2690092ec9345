#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that the numbers of check --events, --csv, --perfetto, --gnuplot and --xplot equal those of --json.

    exports.py --rocedrill PROGRAM --schema FILE --words FILE [--protoc PROGRAM] [--gnuplot PROGRAM]
    CAPTURE...

One run writes all outputs of a capture. The schema must allow each line of the events, and check.md
(--words) must describe each member. protoc decodes the Perfetto trace.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from failures import Failures  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OPERATIONS = ("send", "write", "read", "atomic", "other")


def lines_of(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]


class Aliases:
    """Returns the final connection and side by their numbers."""

    def __init__(self, lines):
        self.final = {line["connection"]: line["is"] for line in lines if line.get("event") == "alias"}

    def side(self, number, side):
        if number in self.final:
            return self.final[number], "b" if side == "a" else "a"
        return number, side


def retransmitted(side):
    return sum(cause["packets"] for cause in side["retransmissions"].values())


def check_events(fail, lines, check, aliases):
    """Compares the events of a capture with the lines of --json."""
    conns = {line["connection"]: line for line in check if line["type"] == "connection"}
    done, size = collections.Counter(), collections.Counter()
    again, gaps = collections.Counter(), collections.Counter()
    for line in lines:
        if line.get("connection") is None:
            continue
        place = aliases.side(line["connection"], line.get("side"))
        if line["event"] == "operation":
            done[place + (line["operation"],)] += 1
            size[place + (line["operation"],)] += line["bytes"]
        elif line["event"] == "packet":
            again[place] += "retransmission" in line["flags"]
            gaps[place] += line.get("missing_psns", 0) if "request" in line["flags"] else 0
    for number, conn in conns.items():
        for name in "ab":
            side = conn[name]
            for operation in OPERATIONS:
                figures = side["operations"].get(operation, {"completed": 0, "bytes": 0})
                fail.expect(f"#{number}{name} {operation} completed", done[number, name, operation], figures["completed"])
                fail.expect(f"#{number}{name} {operation} bytes", size[number, name, operation], figures["bytes"])
            fail.expect(f"#{number}{name} retransmitted", again[number, name], retransmitted(side))
            fail.expect(f"#{number}{name} missing", gaps[number, name], side["missing_psns"])
    summary = next(line for line in check if line["type"] == "summary")
    fail.expect("packets", sum(line["event"] == "packet" for line in lines), summary["packets"])
    fail.expect("end", (lines[-1]["packets"], lines[-1]["verdict"]), (summary["packets"], summary["verdict"]))
    keys = ("connection", "side", "frame", "time_ns", "rule", "severity", "known", "text")
    fail.expect("findings", [[line[key] for key in keys] for line in lines if line["event"] == "finding"],
                [[line[key] for key in keys] for line in check if line["type"] == "finding"])
    fail.expect("connections", [line["connection"] for line in lines if line["event"] == "connection"], list(conns))
    return conns, done


def check_csv(fail, folder, lines, conns, aliases):
    tables = {name: list(csv.DictReader(open(folder / f"{name}.csv", encoding="utf-8")))
              for name in ("connections", "operations", "findings")}
    for row in tables["connections"]:
        conn = conns[int(row["connection"])]
        for name in "ab":
            side = conn[name]
            rtt = side["ack_rtt_ns"] or {}
            wanted = {"address": side["address"], "qpn": side["qpn"], "retransmitted_packets": retransmitted(side),
                      "stalled_ns": sum(cause["stalled_ns"] for cause in side["retransmissions"].values()),
                      "ack_rtt_count": rtt.get("count", 0), "ack_rtt_p99_ns": rtt.get("p99")}
            wanted.update((key, side[key]) for key in ("packets", "bytes", "goodput_bytes", "psn_naks", "rnr_naks",
                                                       "fatal_naks", "duplicates", "cnps", "max_bytes_in_flight"))
            for key, value in wanted.items():
                fail.expect(f"csv #{row['connection']}{name} {key}", row[f"{name}_{key}"],
                            "" if value is None else str(value))
        fail.expect("csv verdict", row["verdict"], conn["verdict"])
    fail.expect("csv connections", len(tables["connections"]), len(conns))
    found = [(int(row["connection"]), row["side"], int(row["frame"]), row["operation"], int(row["bytes"]),
              row["latency_ns"]) for row in tables["operations"]]
    fail.expect("csv operations", found, [
        aliases.side(line["connection"], line["side"]) + (line["frame"], line["operation"], line["bytes"],
                                                          "" if line["latency_ns"] is None else str(line["latency_ns"]))
        for line in lines if line["event"] == "operation"])
    fail.expect("csv findings", [(row["connection"], int(row["frame"]), row["rule"], row["text"])
                                 for row in tables["findings"]], [
        ("" if line["connection"] is None else str(aliases.side(line["connection"], line["side"])[0]), line["frame"],
         line["rule"], line["text"]) for line in lines if line["event"] == "finding"])


# ---- Perfetto --------------------------------------------------------------------------------------

TOKEN = re.compile(r'\s*(?:(\w+) \{|(\})|(\w+): ("(?:[^"\\]|\\.)*"|\S+))')


def parse_text(text):
    """Parses the text format of protoc into nested dictionaries of lists."""
    top = collections.defaultdict(list)
    stack = [top]
    for message, close, field, value in TOKEN.findall(text):
        if message:
            child = collections.defaultdict(list)
            stack[-1][message].append(child)
            stack.append(child)
        elif close:
            stack.pop()
        else:
            stack[-1][field].append(value.strip('"') if value[0] == '"' or not value.lstrip("-").isdigit() else int(value))
    return top


def check_trace(fail, protoc, path, lines, conns):
    decoded = subprocess.run([protoc, "--decode=perfetto.protos.Trace", f"-I{HERE}", "trace.proto"], check=True,
                             stdin=open(path, "rb"), capture_output=True, text=True).stdout
    fail.expect("unknown fields", re.findall(r"^\s*\d+:.*", decoded, re.M), [])
    tracks, last, slices, opened = {}, {}, collections.Counter(), {}
    begun, ended = set(), set()
    for packet in parse_text(decoded)["packet"]:
        fail.expect("sequence", packet["trusted_packet_sequence_id"], [1])
        for track in packet["track_descriptor"]:
            tracks[track["uuid"][0]] = (track["parent_uuid"][:1] or [None])[0], (track["name"][:1] or [None])[0]
            if track["process"]:
                tracks[track["uuid"][0]] = None, track["process"][0]["process_name"][0]
        for event in packet["track_event"]:
            uuid, time, kind = event["track_uuid"][0], packet["timestamp"][0], event["type"][0]
            fail.expect("track of an event", uuid in tracks, True)
            if kind == "TYPE_COUNTER":
                last[uuid] = event["counter_value"][0]
            elif kind == "TYPE_SLICE_BEGIN":
                fail.expect("slices of a lane do not overlap", opened.get(uuid, 0) <= time, True)
                slices[uuid] += 1
            elif kind == "TYPE_SLICE_END":
                opened[uuid] = time
            begun.update(event["flow_ids"])
            ended.update(event["terminating_flow_ids"])
    names = {uuid: int(name.split()[1].rstrip(":")) for uuid, (parent, name) in tracks.items() if parent is None}
    total = collections.Counter()
    for uuid, (parent, name) in tracks.items():
        if parent is not None:
            total[names[parent], name] += last.get(uuid, 0) + slices[uuid]
    for number, conn in conns.items():
        for name in "ab":
            figures = conn[name]["operations"].values()
            fail.expect(f"trace #{number}{name} messages", total[number, f"{name}: messages"],
                        sum(figure["completed"] for figure in figures))
            fail.expect(f"trace #{number}{name} goodput", total[number, f"{name}: goodput, sum of bytes"],
                        conn[name]["goodput_bytes"])
            fail.expect(f"trace #{number}{name} retransmitted", total[number, f"{name}: retransmitted packets, sum"],
                        retransmitted(conn[name]))
    acked = {frame for line in lines for frame in line.get("acknowledges", ())}
    fail.expect("flow arrows", {flow & 0xFFFFFFFF for flow in ended}, acked)
    fail.expect("flows without a request", ended - begun, set())


# ---- graphs ----------------------------------------------------------------------------------------

def check_graphs(fail, gnuplot, folder, lines, aliases):
    """Compares the points of the PSN graphs with the capture: each request and response must be in the graph
    of its requester."""
    wanted = collections.Counter()
    for line in lines:
        if line["event"] == "packet" and line["connection"] is not None and {"request", "response"} & set(line["flags"]):
            side = line["side"] if "request" in line["flags"] else "ab"["ab".index(line["side"]) ^ 1]
            wanted[aliases.side(line["connection"], side)] += 1 + ("psn_gap" in line["flags"] and "request" in line["flags"])
    for where, ending, point in (("g", "dat", r"^\d"), ("x", "xpl", r"^(line|dot|x|diamond|box) ")):
        found = {}
        for path in (folder / where).glob(f"*.{ending}"):
            _, number, side = path.stem.split("-")
            found[int(number), side] = len(re.findall(point, path.read_text(), re.M))
        fail.expect(f"points of {where}", found, dict(wanted))
    scripts = sorted((folder / "g").glob("*.gp"))
    if gnuplot and scripts:
        done = subprocess.run([gnuplot, "-e", f"set terminal svg; set output '{folder}/out.svg'"]
                              + [path.name for path in scripts], cwd=folder / "g", capture_output=True, text=True)
        fail.expect("gnuplot", (done.returncode, done.stderr), (0, ""))


def check_errors(fail, program, capture):
    """Writes outputs to a path that cannot be written. Expects one line on standard error and status 2."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "file").write_text("")
        copy = folder / "copy.pcap"
        copy.write_bytes(pathlib.Path(capture).read_bytes())
        cases = [
            (["--events", "/dev/full"], "/dev/full: cannot be written"),
            (["--perfetto", "/dev/full"], "/dev/full: cannot be written"),
            (["--events", folder / "none" / "x"], "none/x: No such file or directory"),
            (["--csv", folder / "file"], "file/connections.csv: Not a directory"),
            (["--csv", folder / "none" / "x"], "none/x: No such file or directory"),
            (["--gnuplot", folder / "file"], "connection-0-a.dat: Not a directory"),
            (["--events", folder / "o", "--perfetto", folder / "o"], "is used for two outputs"),
            (["--events", "-", "--json", "-"], "only one output can be standard output"),
            (["--events", copy], "would overwrite an input capture"),
            (["--xplot", folder / "x", capture], "--xplot requires one capture, not 2"),
        ]
        for options, message in cases:
            done = subprocess.run([program, "check", "-q", *options, copy], capture_output=True, text=True)
            fail.where = " ".join(map(str, options))
            fail.expect("status", done.returncode, 2)
            fail.expect("message", (message in done.stderr, done.stderr.count("\n")), (True, 1))
        fail.where = "two captures"
        subprocess.run([program, "check", "-q", "--csv", folder / "two", copy, capture], check=False)
        rows = (folder / "two" / "connections.csv").read_text().splitlines()
        fail.expect("rows", [row.split(",")[0].strip('"') for row in rows], ["file", str(copy), capture])


def undocumented(schema, words):
    said = pathlib.Path(words).read_text(encoding="utf-8")
    names = {name for kind in schema["definitions"].values() for name in kind.get("properties", {})}
    flags = schema["definitions"]["packet"]["properties"]["flags"]["items"]["enum"]
    return sorted(name for name in names | set(flags) if f"`{name}`" not in said)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    parser.add_argument("--schema", required=True)
    parser.add_argument("--words", required=True)
    parser.add_argument("--protoc")
    parser.add_argument("--gnuplot")
    parser.add_argument("captures", nargs="+")
    args = parser.parse_args()
    fail = Failures()
    schema = json.loads(pathlib.Path(args.schema).read_text())
    validator = jsonschema.Draft7Validator(schema)
    fail.expect("members without a word in check.md", undocumented(schema, args.words), [])
    shapes, kinds = set(), set()
    for capture in args.captures:
        fail.where = os.path.basename(capture)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            done = subprocess.run([args.rocedrill, "check", "-q", "--json", folder / "json", "--events", folder / "events",
                                   "--csv", folder / "csv", "--perfetto", folder / "trace", "--gnuplot", folder / "g",
                                   "--xplot", folder / "x", capture], capture_output=True, text=True)
            fail.expect("standard error", done.stderr, "")
            check, lines = lines_of(folder / "json"), lines_of(folder / "events")
            for line in lines:
                shape = (line["event"], *sorted(line), *sorted(line.get("flags", ())))
                if shape not in shapes:
                    shapes.add(shape)
                    fail.expect("schema", [error.message for error in validator.iter_errors(line)], [])
                kinds.add(line["event"])
            aliases = Aliases(lines)
            conns, _ = check_events(fail, lines, check, aliases)
            check_csv(fail, folder / "csv", lines, conns, aliases)
            if args.protoc:
                check_trace(fail, args.protoc, folder / "trace", lines, conns)
            check_graphs(fail, args.gnuplot if "loss" in capture else None, folder, lines, aliases)
    check_errors(fail, args.rocedrill, next(path for path in args.captures if path.endswith("/rc-send-only.pcap")
                                            or path.endswith("/rc-loss-read-responses.pcap")))
    fail.where = "all captures"
    fail.expect("kinds of events without an example", set(schema["definitions"]) & {
        "capture", "packet", "operation", "finding", "connection", "alias", "end"} - kinds, set())
    print(f"{len(args.captures)} captures, {len(shapes)} shapes of events, {fail.cnt} differences")
    return fail.cnt > 0


if __name__ == "__main__":
    sys.exit(main())
