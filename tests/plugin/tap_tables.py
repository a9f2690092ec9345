#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares the tables of the plugin (tshark -z) with `rocedrill check --json`.

    tap_tables.py --plugins DIR --rocedrill PROGRAM CAPTURE...

Both use the same analysis, but the tables add up frames, so that display filters apply to them, and check reports the
totals of the analysis. The script also compares:

    the table of opcodes             with the packets
    the service response times       with the table of operations
    the expert infos                 with the table of rules
    Follow and Export Objects        with the PSNs of the packets
"""
import collections
import concurrent.futures
import glob
import json
import os
import re
import subprocess
import sys

from tshark import Tshark, arguments

REPORTS = ["conn", "oper", "opcodes", "retx", "nak", "mem", "cong", "rules"]
OPER = {"SEND": "send", "WRITE": "write", "READ": "read", "compare and swap": "atomic",
        "fetch and add": "atomic"}
CAUSE = {"sequence NAK": "sequence_nak", "RNR NAK": "rnr_nak", "timeout": "timeout",
         "spurious timeout": "spurious_timeout",
         "implied NAK": "implied_nak", "READ response missing": "read_gap", "READ data again": "read_data"}
SRT = r"^ +\d+ +(\w[\w ]*?) +(\d+) +[\d.]+ +([\d.]+) +([\d.]+) +[\d.]+ *$"
EXPERT = r"^ +(\d+) +\w+ +RoCE +([A-Z]+-[A-Z]+-\d+): .*$"
FIELDS = ["roce.stream", "roce.analysis.dropped", "roce.epoch", "ip.src", "ipv6.src", "roce.bth.dest_qp",
          "roce.bth.opcode", "roce.bth.psn", "roce.payload_len"]
OPCODE = FIELDS.index("roce.bth.opcode")
READ_RESPONSE = (0x0D, 0x0E, 0x0F, 0x10)
PLACE = {0x00: "first", 0x01: "middle", 0x02: "last", 0x03: "last", 0x04: "only", 0x05: "only",
         0x06: "first", 0x07: "middle", 0x08: "last", 0x09: "last", 0x0A: "only", 0x0B: "only",
         0x0D: "first", 0x0E: "middle", 0x0F: "last", 0x10: "only", 0x16: "last", 0x17: "only",
         0x1D: "only"}  # key: the lower five bits of the opcode


def tables(text):
    """Returns {title: [{column: cell}]}."""
    found, title, columns = {}, None, None
    for line in text.splitlines():
        if line.startswith("====="):
            title = columns = None
        elif title is None and line.endswith(":") and line.startswith("RoCE "):
            title, columns = line[:-1], None
            found[title] = []
        elif title and columns is None and "|" in line and not line.startswith("Filter"):
            columns = [cell.strip() for cell in line.split("|")][:-1]
        elif title and columns and "|" in line:
            cells = [cell.strip() for cell in line.split("|")]
            found[title].append(dict(zip(columns, cells)))
    return found


def plugin_counts(text):
    """Returns the counts of the plugin's tables."""
    found = tables(text)
    say = collections.Counter()
    for row in found["RoCE Connections"]:
        if row["Service"] not in ("UD", ""):
            say["connections"] += 1
            say["packets"] += int(row["Packets A->B"]) + int(row["Packets B->A"])
            say["missing"] += int(row["Missing PSNs"])
            say["retransmitted"] += int(row["Retransmitted"])
            say["messages"] += int(row["Messages"])
            say["naks"] += int(row["NAKs"])
            say["RNR NAKs"] += int(row["RNR NAKs"])
        say["guessed"] += row["Paired by"].endswith("(uncertain)")
    for row in found["RoCE Operations"]:
        oper = OPER.get(row["Operation"], "other")
        say[oper, "completed"] += int(row["Completed"])
        say[oper, "bytes"] += int(row["Bytes"])
        say[oper, "messages"] += int(row["Started"])
        say["operations", "retransmitted"] += int(row["Retransmitted"])
        if row["max ms"]:
            say[oper, "max"] = max(say[oper, "max"], int(row["max ms"].replace(".", "")))
            least = int(row["min ms"].replace(".", ""))
            say[oper, "min"] = min(say.get((oper, "min"), least), least)
    for row in found["RoCE Retransmissions"]:
        say["again", CAUSE.get(row["Cause"], "unknown")] += int(row["Packets"])
        say["again in bytes", CAUSE.get(row["Cause"], "unknown")] += int(row["Payload bytes"])
    for name, calls, _, _ in re.findall(SRT, text, re.M):
        say[OPER.get(name, "other"), "timed"] += int(calls)
    for row in found["RoCE NAKs"]:
        if row["NAK"].startswith("RNR"):
            say["rnr"] += int(row["Count"])
        elif row["NAK"].startswith("NAK"):
            say["nak"] += int(row["Count"])
    for row in found["RoCE Memory Regions"]:
        say["region", row["R_Key"]] += int(row["Requests"])
    for row in found["RoCE Congestion"]:
        say["cnps"] += int(row["CNPs"])
        say["marked"] += int(row["CE marked"])
    for row in found["RoCE Rules"]:
        say["rule", row["Rule"]] += int(row["Count"])
    return +say


def check_counts(rocedrill, capture):
    """Returns the same counts from rocedrill check, and the latencies of each side: {operation: [latency_ns]}."""
    done = subprocess.run([rocedrill, "check", "--json", "-", capture], capture_output=True,
                          text=True)
    say, times = collections.Counter(), collections.defaultdict(list)
    for line in done.stdout.splitlines():
        item = json.loads(line)
        if item["type"] == "summary":
            for rule, count in item["rules"].items():
                say["rule", rule] += count
        if item["type"] != "connection":
            continue
        say["guessed"] += item["pairing_guess"]
        if item["service"] != "UD":
            say["connections"] += item["a"]["packets"] + item["b"]["packets"] > 0
        for side in (item["a"], item["b"]):
            say["marked"] += side["ce_marked"]
            say["cnps"] += side["cnps"]
            for oper, row in side["operations"].items():
                say[oper, "completed"] += row["completed"]
                say[oper, "bytes"] += row["bytes"]
                say[oper, "messages"] += row["messages"]
                say["messages"] += row["messages"] if item["service"] != "UD" else 0
                if row.get("latency_ns"):
                    times[oper].append(row["latency_ns"])
                    say[oper, "max"] = max(say[oper, "max"], row["latency_ns"]["max"])
                    say[oper, "timed"] += row["latency_ns"]["count"]
                    least = row["latency_ns"]["min"]
                    say[oper, "min"] = min(say.get((oper, "min"), least), least)
            if item["service"] == "UD":
                continue
            say["messages lost"] += side["lost_messages"]
            say["packets"] += side["packets"]
            say["missing"] += side["missing_psns"]
            say["rnr"] += side["rnr_naks"]
            say["nak"] += side["psn_naks"] + side["fatal_naks"]
            say["naks"] += side["psn_naks"] + side["fatal_naks"]
            say["RNR NAKs"] += side["rnr_naks"]
            say["retransmitted"] += sum(row["packets"] for row in side["retransmissions"].values())
            for cause, row in side["retransmissions"].items():
                say["again", cause] += row["packets"]
                say["again in bytes", cause] += row["bytes"]
            say["again", "read_data"] += side["repeated_responses"]
            say["again in bytes", "read_data"] += side["repeated_response_bytes"]
            for region in side["regions"] if item["service"] != "UC" else []:
                say["region", region["rkey"]] += region["requests"]
    say["operations", "retransmitted"] = say["retransmitted"]
    return +say, times


def messages(packets):
    """Returns the lengths of the complete messages in {psn: (opcode, length)} of one sender."""
    found, have, follows = [], None, None
    start = next(iter(packets), 0)  # PSN of the first packet
    for psn in sorted(packets, key=lambda psn: (psn - start + 0x800000) & 0xFFFFFF):  # PSNs may wrap around
        opcode, length = packets[psn]
        place = PLACE.get(opcode & 0x1F)
        if place in ("first", "only"):
            have = 0
        elif psn != follows:
            have = None
        follows = (psn + 1) & 0xFFFFFF
        if have is None:
            continue
        have += length
        if place in ("last", "only"):
            if have:
                found.append(have)
            have = None
    return sorted(found)


def other_table_errors(rows, text):
    """Returns the errors of the table of opcodes and of the service response times."""
    wrong = []
    total = sum(int(row["Packets"]) for row in tables(text)["RoCE Opcodes"])
    want = sum(row.split("\t")[OPCODE] != "" for row in rows)
    if total != want:
        wrong.append(f"opcodes: {total} packets of {want}")
    times = {name: (int(calls), float(most), float(mean)) for name, calls, most, mean in re.findall(SRT, text, re.M)}
    for row in tables(text)["RoCE Operations"]:
        calls, most, mean = times.pop(row["Operation"], (0, 0, 0))
        want = float(row["max ms"] or 0) / 1000
        if calls > int(row["Completed"]) or (calls > 0) != (want > 0) or abs(most - want) > 1e-6:
            wrong.append(f"srt: {row['Operation']}: {calls} calls, at most {most} s; {row['Completed']}, {want} s")
        if abs(mean - float(row["mean ms"] or 0) / 1000) > 1e-6:
            wrong.append(f"srt: {row['Operation']}: mean {mean} s; {row['mean ms']} ms")
    for row in tables(text)["RoCE Operations"] + tables(text)["RoCE Retransmissions"]:
        digits = row["p90 ms"].replace(".", "").lstrip("0")
        if float(row["p90 ms"] or 0) < 1000 and len(digits) > 3:
            wrong.append(f"p90: {row['p90 ms']} is not rounded")
    return wrong + [f"srt: {name}" for name in times] + expert_errors(text)


def percentile_errors(text, times):
    """Returns the percentiles of the table of operations that differ from those of check, and the number of compared
    ones. The table has one row for an operation, and check one for each side. So an operation is compared if only one
    side has it. The table rounds to three digits."""
    wrong, compared = [], 0
    rows = collections.defaultdict(list)
    for row in tables(text)["RoCE Operations"]:
        if row["max ms"]:
            rows[OPER.get(row["Operation"], "other")].append(row)
    for oper in rows:
        if len(rows[oper]) != 1 or len(times[oper]) != 1:
            continue
        for name in ("p50", "p90", "p99"):
            have, want = float(rows[oper][0][name + " ms"]), times[oper][0][name] / 1e6
            compared += 1
            if abs(have - want) > max(0.005 * want, 0.0005):
                wrong.append(f"{oper}: {name}: {have} and {want} ms")
    return wrong, compared


def expert_errors(text):
    """Returns an error if tshark's expert infos do not have one line for each severity of a rule, with its count."""
    rows = collections.Counter()
    for row in tables(text)["RoCE Rules"]:
        rows[row["Rule"], int(row["Count"])] += 1
    lines = collections.Counter((rule, int(count)) for count, rule in re.findall(EXPERT, text, re.M))
    return [] if lines == rows else [f"expert: {sorted(lines)}, table of rules: {sorted(rows)}"]


def check_one_pass(shark, capture):
    """Returns an error if the expert infos and the table of rules of one pass differ from those of two. In this capture, packets
    show that earlier packets violate a rule."""
    path = shark.file(capture)
    one, two = (shark.out(passes + ["-q", "-r", path, "-z", "expert", "-z", "roce,rules"]) for passes in ([], ["-2"]))
    return [] if one == two and "ALL-FMT-044" in one else [f"one pass: {one}, two: {two}"]


def payload(rows, text, folder):
    """Returns the bytes and message lengths of stream 0 in its packets, each PSN of a sender once, and
    those in Follow and Export Objects."""
    packets = collections.defaultdict(dict)
    for row in rows:
        stream, dropped, *use, opcode, psn, length = row.split("\t")
        qpn = int(use[-1], 0) if use[-1] else 0
        if stream != "0" or dropped or qpn <= 1:
            continue
        opcode = int(opcode, 0)
        if opcode & 0x1F in READ_RESPONSE or int(length):
            packets[tuple(use), opcode & 0x1F in READ_RESPONSE].setdefault(int(psn), (opcode, int(length)))
    want = sum(length for sender in packets.values() for _, length in sender.values())
    lines = [line.strip() for line in text.splitlines()]
    have = sum(len(line) // 2 for line in lines
               if line and all(c in "0123456789abcdef" for c in line))
    files = glob.glob(os.path.join(folder, "stream-0-*"))
    whole = sorted(length for sender in packets.values() for length in messages(sender))
    return want, have, whole, sorted(os.path.getsize(path) for path in files)


def check_capture(shark, rocedrill, capture):
    """Runs one tshark with all taps on a capture and compares."""
    path = shark.file(capture)
    folder = os.path.join(shark.home, os.path.basename(path))
    args = ["-2", "-r", path, "-z", "follow,roce,raw,0", "--export-objects", "roce," + folder, "-T", "fields"]
    for field in FIELDS:
        args += ["-e", field]
    for report in ["roce," + report for report in REPORTS + ["srt"]] + ["expert"]:
        args += ["-z", report]
    text = shark.out(args)
    rows = [line for line in text.splitlines() if line.count("\t") == len(FIELDS) - 1]
    plugin, (program, times) = plugin_counts(text), check_counts(rocedrill, capture)
    # The tables count a UC message at its First packet, and `rocedrill check` counts it at its Last. If messages were
    # lost, one of the two packets may be missing, so the numbers of messages are not compared.
    for counts in (plugin, program) if program.pop("messages lost", 0) else ():
        for key in [key for key in counts if "messages" in key]:
            del counts[key]
    # `rocedrill check` does not report the regions of unacknowledged WRITEs.
    wrong = [f"{key}: {plugin[key]} and {program[key]}" for key in sorted(plugin | program, key=str)
             if plugin[key] != program[key] and not (key[0] == "region" and key not in program)]
    wrong += other_table_errors(rows, text)
    percentiles, compared = percentile_errors(text, times)
    wrong += percentiles
    want, have, whole, objects = payload(rows, text, folder)
    if have != want:
        wrong.append(f"follow: {have} bytes of {want}")
    if whole != objects:
        wrong.append(f"objects: {objects} of {whole}")
    return capture, wrong, sum(plugin.values()), have, compared


def main():
    args = arguments()
    failures = counted = followed = percentiles = 0
    with Tshark(args.plugins) as shark, concurrent.futures.ThreadPoolExecutor(2) as pool:
        work = lambda capture: check_capture(shark, args.rocedrill, capture)
        for capture, wrong, total, have, compared in pool.map(work, args.captures):
            counted += total
            percentiles += compared
            followed += have
            if wrong:
                failures += 1
                print(f"{os.path.basename(capture)}: {'; '.join(wrong)}")
        for capture in (c for c in args.captures if c.endswith("/multi-qp.pcap")):
            wrong = check_one_pass(shark, capture)
            failures += len(wrong)
            print("\n".join(wrong), end="")
    print(f"{len(args.captures)} captures, {counted} counted, {percentiles} percentiles compared, {followed} bytes followed, "
          f"{failures} captures differ")
    return 1 if failures or not counted or not followed or not percentiles else 0


if __name__ == "__main__":
    sys.exit(main())
