#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that the numbers of a page equal those of check --json, and the sums over the packets that the page
draws.

page_numbers.py ROCEDRILL CAPTURE..."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

from page_captures import write_incast

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../traces"))
from connection_builder import MS, Connection  # noqa: E402

# For each cause of a wait, the class of its bands in the graph of packets.
BANDS = {"response": "slow", "timeout": "timeout", "spurious_timeout": "spurious", "read_gap": "response-again", "rnr_nak": "rnr",
         "sequence_nak": "nak", "unknown": "other"}

failures = 0


def fail(capture, text):
    global failures
    failures += 1
    print(f"{capture}: {text}", file=sys.stderr)


def without_empty(v):
    """Returns the value as a brief JSON line has it: without members that are 0, false, null or empty."""
    if isinstance(v, dict):
        v = {k: without_empty(m) for k, m in v.items()}
        return {k: m for k, m in v.items() if not (m is None or m is False or m == 0 and not isinstance(m, float)
                                                   or m in ("", [], {}))}
    return [without_empty(m) for m in v] if isinstance(v, list) else v


def page_data(html):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)
    return json.loads(found.group(1))


def drawn(conn, side, value, *classes, kind=None):
    """Returns the sum over the packets of a side that have one of the classes. `value` is a column."""
    runs = conn.get("runs")
    if not runs:
        return 0
    of = [runs["styles"][s] for s in runs["style"]]
    return sum(v for v, s in zip(runs[value], of) if s["side"] == side and (not classes or s["class"] in classes) and
               kind in (None, s["kind"]))


def missing(conn, side):
    """Returns the number of PSNs that are missing before the requests of a side."""
    runs = conn.get("runs", {"gap": []})
    gaps = dict(zip(runs["gap"][::2], runs["gap"][1::2]))
    return sum(gap for run, gap in gaps.items() if (style := runs["styles"][runs["style"][run]])["side"] == side and "request" in style["class"])


def check_row(name, line, conn):
    """Expects that the table of connections has the figures of the JSON."""
    sides = line["a"], line["b"]
    again = sum(sum(r["packets"] for r in s["retransmissions"].values()) + s["repeated_responses"] for s in sides)
    want = [sum(s["packets"] for s in sides), sum(s["goodput_bytes"] for s in sides), again,
            sum(w["ns"] for w in line["waits"]), line["last_time_ns"] - line["first_time_ns"]]
    if conn["row"] != want:
        fail(name, f"connection {line['connection']}: row {conn['row']}, JSON {want}")


def check_order(name, capture):
    """Expects that the worst connection is the first one, and that the page begins with the sentence of the summary."""
    ranks = [(-c["trouble"], -c["row"][3], -c["row"][0]) for c in capture["connections"]]
    if ranks != sorted(ranks):
        fail(name, f"order of the connections {ranks}")
    summary = capture["summary"]
    if (capture["lead"], capture["good"]) != (summary["headline"], not summary.get("trouble")):
        fail(name, f"first sentence {capture['lead']}, good {capture['good']}, summary {summary}")


def check_copies(name, conn):
    """Expects that the page draws each copy in the direction of its original: copied responses in that of the requester."""
    at, psns = [0, 0], {}
    runs = conn.get("runs", {"style": [], "psn": []})
    for style, psn in zip(runs["style"], runs["psn"]):
        kind, direction = (runs["styles"][style][key] for key in ("class", "direction"))
        if kind in ("cnp", "other"):
            continue
        at[direction] += psn
        psns.setdefault((direction, kind == "copy"), []).append(at[direction])
    for (direction, copy), found in psns.items():
        others = psns.get((direction, False), [])
        if copy and others and not all(min(others) <= psn <= max(others) for psn in found):
            fail(name, f"copies with PSNs {min(found)} to {max(found)} among packets with {min(others)} to {max(others)}")


def check_budget(name, line, conn):
    """Expects that the bar of the time budget has the parts of the JSON: the waits, if they are at least 1 % of the time, idle
    time, and the rest. Together they are all the time, and 100 %."""
    waits, all_ns = line["waits"], line["last_time_ns"] - line["first_time_ns"]
    waited, parts = sum(w["ns"] for w in waits), line["time_budget"]
    want = [(p["text"], p["permille"]) for p in parts]
    have = [(text.rsplit(": ", 1)[0], share) for _, text, share in conn.get("budget", [])]
    where = f"connection {line['connection']}: time budget"
    if have != want or any(f"({share / 10:.1f} %)" not in text for _, text, share in conn.get("budget", [])):
        fail(name, f"{where} {conn.get('budget')}, JSON {parts}")
    if bool(parts) != bool(all_ns and waited and waited >= all_ns / 100):
        fail(name, f"{where} {parts}, waits {waits} of {all_ns} ns")
    if parts and ([p["part"] for p in parts[:len(waits)]] != [w["cause"] for w in waits]
                  or {p["part"] for p in parts[len(waits):]} - {"idle", "sending"}):
        fail(name, f"{where} {parts}, waits {waits}")
    if parts and (sum(p["permille"] for p in parts) != 1000 or sum(p["ns"] for p in parts) != max(all_ns, waited)
                  or any(abs(p["permille"] - 1000 * p["ns"] / max(all_ns, waited)) > 1 for p in parts)):
        fail(name, f"{where} {parts} of {all_ns} ns")


def check_bands(name, line, conn):
    """Expects that the bands of the side that waited longer are the waits of the JSON. Single packets only: merged ones have lost
    some of the bands."""
    want, have = {}, {}
    for wait in line["waits"] if conn.get("runs") else []:
        if wait["cause"] in BANDS:
            want[wait["side"], BANDS[wait["cause"]]] = wait["ns"]
    for direction, entry, _, ns in conn.get("bands", []):
        band = "ab"[direction], conn["legends"][direction][entry][0]
        if line["waits"] and band[0] == line["waits"][0]["side"]:
            have[band] = have.get(band, 0) + ns
    if want != have:
        fail(name, f"connection {line['connection']}: bands {have}, JSON {want}")


def check_conn(name, line, conn):
    check_copies(name, conn)
    check_budget(name, line, conn)
    check_bands(name, line, conn)
    check_row(name, line, conn)
    for key, value in without_empty(line).items():
        if conn.get(key) != value:
            fail(name, f"connection {line['connection']}: {key}: page {conn.get(key)}, JSON {value}")
    for side, letter in enumerate("ab"):
        s, where = line[letter], f"connection {line['connection']} {letter}"

        def same(what, page, check):
            if page != check:
                fail(name, f"{where}: {what}: page {page}, JSON {check}")

        retx = s["retransmissions"].values()
        same("packets", drawn(conn, side, "count"), s["packets"])
        same("bytes", drawn(conn, side, "wire"), s["bytes"])
        same("retransmissions", drawn(conn, side, "count", "repeated request"), sum(r["packets"] for r in retx))
        same("retransmitted bytes", drawn(conn, side, "payload", "repeated request"), sum(r["bytes"] for r in retx))
        same("repeated responses", drawn(conn, side, "count", "repeated response", kind="READ response"),
             s["repeated_responses"])
        same("repeated response bytes", drawn(conn, side, "payload", "repeated response", kind="READ response"),
             s["repeated_response_bytes"])
        same("NAKs", drawn(conn, side, "count", "nak"), s["psn_naks"] + s["fatal_naks"])
        same("RNR NAKs", drawn(conn, side, "count", "rnr nak"), s["rnr_naks"])
        same("CNPs", drawn(conn, side, "count", "cnp"), s["cnps"])
        same("copies", drawn(conn, side, "count", "copy"), s["copies"])
        same("dropped", drawn(conn, side, "count", "dropped"), s["bad_icrc"] + s["malformed"])
        hist = {d["key"]: sum(b[2] for b in d["buckets"]) for d in conn["distributions"] if d["side"] == side}
        for oper, o in s["operations"].items():
            same(oper + " latencies", hist.get(oper, 0), (o["latency_ns"] or {"count": 0})["count"])
        same("round trips", hist.get("rtt", 0), (s["ack_rtt_ns"] or {"count": 0})["count"])
        same("missing packets", missing(conn, side), s["missing_psns"])
    runs = conn.get("runs", {"ce": [], "count": []})
    if sum(runs["ce"][1::2]) != line["a"]["ce_marked"] + line["b"]["ce_marked"]:
        fail(name, f"connection {line['connection']}: CE marks: page {sum(runs['ce'][1::2])}")
    done = sum((o["latency_ns"] or {"count": 0})["count"] for s in "ab" for o in line[s]["operations"].values())
    messages = len(conn.get("messages", [])) + conn.get("messages_left_out", 0)
    if messages != done:
        fail(name, f"connection {line['connection']}: messages: page {messages}, JSON {done}")


def check_findings(name, lines, capture):
    alias = {a["connection"]: a["is"] for a in lines if a["type"] == "alias"}
    keys = ("frame", "rule", "severity", "text", "connection")

    def key(f, connection):
        return tuple((f.get(k) or 0) if k != "connection" else connection for k in keys)

    want = sorted(key(f, alias.get(f["connection"], f["connection"]) or 0) for f in lines if f["type"] == "finding")
    have = sorted(key(f, f.get("connection", 0)) for f in capture["findings"])
    if capture["findings_left_out"] == 0 and want != have:
        fail(name, f"findings differ: {[w for w in want if w not in have][:3]} {[h for h in have if h not in want][:3]}")
    if len(want) != len(have) + capture["findings_left_out"]:
        fail(name, f"{len(have)} findings and {capture['findings_left_out']} left out, JSON {len(want)}")


def check(rocedrill, name, folder):
    html = f"{folder}/page.html"
    run = subprocess.run([rocedrill, "check", "--json", "-", "--html", html, name], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1) or run.stderr:
        return fail(name, f"status {run.returncode}: {run.stderr}")
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    with open(html, encoding="utf-8") as page:
        capture = page_data(page.read())["captures"][0]
    summary = next(line for line in lines if line["type"] == "summary")
    if capture["summary"] != without_empty(summary):
        fail(name, f"summary: page {capture['summary']}, JSON {without_empty(summary)}")
    check_order(name, capture)
    conns = {c.get("connection", 0): c for c in capture["connections"]}
    want = [line for line in lines if line["type"] == "connection"]
    if len(conns) != len(want):
        fail(name, f"{len(conns)} connections, JSON {len(want)}")
    for line in want:
        check_conn(name, line, conns.get(line["connection"], {}))
    check_findings(name, lines, capture)


def check_threads(rocedrill, folder):
    """The page does not depend on the number of threads that format its connections."""
    capture = f"{folder}/incast.pcap"
    write_incast(capture, 50)
    pages = []
    for jobs in "1", "2", "5":
        subprocess.run([rocedrill, "check", "-q", "--jobs", jobs, "--html", f"{folder}/page.html", capture], check=False)
        with open(f"{folder}/page.html", encoding="utf-8") as page:
            pages.append(page.read())
    if len(set(pages)) != 1 or len(page_data(pages[0])["captures"][0]["connections"]) != 50:
        fail("incast", f"pages of 1, 2 and 5 threads have {[len(page) for page in pages]} characters")


def write_overtaken(path):
    """Writes a capture in which responses to a READ overtake others and come late."""
    t = Connection(mtu=1024)
    psn, request = t.read(0, 6 * 1024)
    t.add(0, request)
    responses = t.responses(1, psn, 6 * 1024)
    for i, wait in (0, 0), (5, 12), (4, 15), (1, 0), (2, 0), (3, 20):
        t.now += wait * MS
        t.add(1, responses[i])
    t.add_all(0, t.write(0, 1024))
    t.acknowledge(0)
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time, data in t.frames:
            out.write(struct.pack("<IIII", *divmod(time, 10 ** 9), len(data), len(data)) + data)


def main():
    with tempfile.TemporaryDirectory() as folder:
        write_overtaken(f"{folder}/overtaken.pcap")
        for name in [*sys.argv[2:], f"{folder}/overtaken.pcap"]:
            check(sys.argv[1], name, folder)
        check_threads(sys.argv[1], folder)
    sys.exit(failures > 0)


main()
