#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Computes the figures of each connection independently and compares them with rocedrill check --json.

    connection_figures.py --rocedrill PROGRAM [--hardware] [--gen-capture PROGRAM] [-v] CAPTURE...

--hardware adds the captures of hardware_traffic.py, --gen-capture those of that program. -v lists each compared
figure, how it was computed, and how often.

The fields come from tshark's built-in dissector (tshark_packets.py), the arithmetic from figure_model.py. Nothing of
our codec, analysis or plugin is used. Captures are Ethernet with RoCEv2 or RoCEv1. KNOWN lists the accepted
differences with their reasons.

Exit status 1 if a figure differs, 2 if nothing was compared, 77 without tshark.
"""
import argparse
import collections
import fnmatch
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

import figure_model
import hardware_traffic
import percentages
import tshark_packets
from tshark_packets import RD, UD

# `rocedrill` computes quantiles from a histogram with four buckets per octave, so their error is up to one eighth.
QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p99", 0.99))
SLACK = 0.125

ATOMIC_WRITE = "tshark 4.0 does not decode ATOMIC WRITE: it shows no RETH"
XRC = "tshark 4.0 does not decode XRC: it shows no headers after the BTH"
COPY = "before the sender's IPv4 identification changes, check may count a copy as a retransmission"
ORDER = "the IPv4 identification shows check that a late response was sent in order, so it does not count it as missing"
PAIR = "no CM: packets before the directions were paired do not count for both"
# (pattern of captures, pattern of figures): reason why check and the model may differ. A row that explains no difference
# fails the test, unless tshark is later than 4.0, which decodes more.
KNOWN = {
    ("rc-atomic-write*.pcap", "regions"): ATOMIC_WRITE,
    ("rc-loss-atomic-write.pcap", "regions"): ATOMIC_WRITE,
    ("shared receive queue, page faults.pcap", "*"): XRC,
    ("linux-6.12-rc-duplicates.pcap", "repetitions"): COPY,
    ("linux-6.12-rc-duplicates.pcap", "ack_rtt_ns"): COPY,
    ("linux-6.12-rc-duplicates.pcap", "retransmissions.timeout.*"): COPY,
    ("linux-6.12-rc-duplicates.pcap", "timeout_m*_ns"): COPY,
    ("rc-reordered-responses.pcap", "response_gaps"): ORDER,
    ("rc-reordered-responses.pcap", "missing_responses"): ORDER,
    ("UDP source port per packet.pcap", "operations.write.latency_ns"): PAIR,
    ("UDP source port per packet.pcap", "ack_rtt_ns"): PAIR,
}


class Report:
    def __init__(self):
        self.how, self.cnt, self.wrong = {}, collections.Counter(), 0
        self.known = collections.Counter()

    def same(self, capture, where, name, how, expected, actual):
        self.how.setdefault(name, how)
        self.cnt[name] += 1
        if expected == actual:
            return
        for key in KNOWN:
            if fnmatch.fnmatchcase(capture, key[0]) and fnmatch.fnmatchcase(name, key[1]):
                self.known[key] += 1
                return
        self.wrong += 1
        print(f"{capture}{where}: {name}: counted {expected}, check reports {actual}")

    def times(self, capture, where, name, how, expected, actual):
        """Compares samples with count, minimum, maximum and quantiles."""
        expected = sorted(expected)
        if not expected or not actual:
            self.same(capture, where, name, how, len(expected), actual["count"] if actual else 0)
            return
        self.same(capture, where, name, how, (len(expected), expected[0], expected[-1]),
                  (actual["count"], actual["min"], actual["max"]))
        if len(expected) != actual["count"]:
            return
        for key, share in QUANTILES:
            exact = expected[max(0, math.ceil(share * len(expected)) - 1)]
            near = abs(exact - actual[key]) <= SLACK * exact
            self.same(capture, where, f"{name}.{key}", how, exact, exact if near else actual[key])


def judged(rocedrill, paths):
    """Returns {path: (connections, summaries)} of rocedrill check."""
    out = {path: ([], []) for path in paths}
    for at in range(0, len(paths), 100):
        done = subprocess.run([rocedrill, "check", "-q", "--json", "-", *paths[at:at + 100]], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False, text=True).stdout
        for line in done.splitlines():
            item = json.loads(line)
            if item["type"] in ("connection", "summary"):
                out[item["file"]][item["type"] == "summary"].append(item)
    return out


# ---- CM ------------------------------------------------------------------------------------------

def cm_pairs(capture):
    """Returns, from the CM messages, the facts of each connection: {((address, QPN), (address, QPN)): facts}.
    The active side is first."""
    requests, pairs = {}, {}
    for p in capture.packets:
        get = lambda name: tshark_packets.number(p.row["infiniband.cm." + name])
        if p.good is False or p.service != UD or p.qpn != 1:
            continue
        if p.row["infiniband.cm.req"]:
            requests.setdefault((p.src, p.dst, get("req")), p)
        elif p.row["infiniband.cm.rep"]:
            req = requests.get((p.dst, p.src, get("rep.remotecommid")))
            if req is None:
                continue
            of = lambda name, req=req: tshark_packets.number(req.row["infiniband.cm.req." + name])
            pairs.setdefault(((req.src, of("localqpn")), (p.src, get("rep.localqpn"))), {
                "req_frame": req.frame, "rep_frame": p.frame, "ack_timeout_code": of("prim_localacktout") >> 3
                if of("prim_localacktout") > 31 else of("prim_localacktout"),
                "retry_count": of("retrcount"), "rnr_retry": of("rnrretrcount"),
                "responder_resources": of("responderres"), "initiator_depth": of("initdepth"),
                "rep_responder_resources": get("rep.respres"), "rep_initiator_depth": get("rep.initdepth"),
                "rep_rnr_retry": get("rep.rnrretrcount"), "ack_delay": get("rep.tgtackdelay"),
                "service_id": "0x%016x" % of("serviceid"), "mtu": 128 << of("pppmtu"),
                "psn": (get("rep.startpsn"), of("startpsn"))})     # the REP has the first PSN of the active side, the REQ that of the passive side
    return pairs


# ---- connections ---------------------------------------------------------------------------------

def ends_of(conn):
    return (conn["a"]["address"], conn["a"]["qpn"]), (conn["b"]["address"], conn["b"]["qpn"])


def ways_of(conn):
    """Returns the packet keys of both sides: {"a": key, "b": key}."""
    a, b = conn["a"], conn["b"]
    ways = {}
    for me, mine, its in (("a", a, b), ("b", b, a)):
        if its["qpn"] is not None and mine["address"] and its["address"]:
            ways[me] = (mine["address"], its["address"], its["qpn"])
    if ways.get("a") == ways.get("b"):
        ways.pop("b", None)
    return ways


def flat(side, name):
    value = side
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def actual_of(side, name):
    """Returns the figure of check. The model does not distinguish all causes of retransmissions, so the function adds up
    implied NAKs, gaps in READ responses and unknown causes, and also timeouts and spurious timeouts."""
    if name == "repetitions":
        return side["out_of_order"] + sum(r["packets"] for r in side["retransmissions"].values())
    if name.startswith("retransmissions.response."):
        return sum(side["retransmissions"].get(c, {}).get(name.split(".")[-1], 0)
                   for c in ("implied_nak", "read_gap", "unknown"))
    if name.startswith("retransmissions.timeout."):
        return sum(side["retransmissions"].get(c, {}).get(name.split(".")[-1], 0) for c in ("timeout", "spurious_timeout"))
    value = flat(side, name)
    return 0 if value is None and name.startswith(("retransmissions", "operations")) else value


def regions_of(side):
    return {int(r["rkey"], 16): [int(r["va_min"], 16), int(r["va_end"], 16), set(r["operations"]), r["requests"],
                                 r["bytes_written"], r["bytes_read"]] for r in side["regions"]}


def timeouts_of(cm):
    """Returns the local ACK timeouts of the active and of the passive side, ns; None: no timeout. The code in the REQ
    is that of the passive side, and one more than the code of the packet lifetime. The code of the active side results
    from the packet lifetime and the ACK delay in the REP, as in cm_ack_timeout() of Linux."""
    code, delay = cm["ack_timeout_code"], cm["ack_delay"]
    if not code:
        return None, None
    active = code + (delay >= code - 1) if code >= delay else delay + (code >= delay - 1)
    return 4096 << min(active, 31), 4096 << code


def compare_stateful(report, capture, where, conn, by_key, cm):
    ways = ways_of(conn)
    sides = {me: by_key[key] for me, key in ways.items()}
    first, again = ends_of(conn)
    known = cm.get((first, again)) or cm.get((again, first)) or {}
    facts = {}
    if known:
        swap = (first, again) not in cm
        facts = {"mtu": known["mtu"], "timeout": dict(zip("ba" if swap else "ab", timeouts_of(known))),
                 "psn": dict(zip("ba" if swap else "ab", known["psn"]))}
    if not known and conn["cm"] and conn["cm"]["req_frame"]:
        return
    for me, name, how, expected in figure_model.connection_figures(sides, facts):
        side = conn[me]
        if name.endswith("_ns") and isinstance(expected, list):
            report.times(capture.name, f"{where} {me}", name, how, expected, flat(side, name))
        elif name == "regions":
            report.same(capture.name, f"{where} {me}", name, how, expected, regions_of(side))
        elif name == "first_psn" and not any(p.request for p in sides[me]) and expected is None:
            pass
        else:
            report.same(capture.name, f"{where} {me}", name, how, expected, actual_of(side, name))
    sizes = figure_model.mtu_of([p for s in sides.values() for p in s if p.good is not False], facts.get("mtu"))
    if conn["path_mtu_sure"]:
        report.same(capture.name, where, "path_mtu", "largest First or Middle packet, or CM", sizes, conn["path_mtu"])
    span = conn["last_time_ns"] - conn["first_time_ns"]
    for me in ways:
        if span:
            rate = conn[me]["goodput_bytes"] * 1e9 / span
            report.same(capture.name, f"{where} {me}", "goodput_bytes_per_s", "goodput_bytes by the time from first to"
                        " last", round(rate), round(conn[me]["goodput_bytes_per_s"]))


def compare_cm(report, capture, conns, cm):
    found = {}
    for conn in conns:
        if conn["cm"] and conn["cm"]["req_frame"] and conn["cm"]["rep_frame"]:
            ends = ends_of(conn)
            found[ends if conn["cm"]["active_side"] == "a" else ends[::-1]] = conn
    for ends, facts in cm.items():
        conn = found.get(ends)
        report.same(capture.name, f" {ends}", "pairs by CM", "QPNs of REQ and REP", True, conn is not None)
        if conn:
            for name in facts:
                if name not in ("psn", "mtu", "ack_delay"):
                    report.same(capture.name, f" {ends}", "cm." + name, "field of REQ or REP", facts[name], conn["cm"][name])


def compare(report, capture, conns, summary):
    by_key = collections.defaultdict(list)
    for p in capture.packets:
        by_key[p.key + ((p.sqpn,) if p.service == UD else ())].append(p)
    cm = cm_pairs(capture)
    compare_cm(report, capture, conns, cm)
    owners = collections.defaultdict(list)
    for conn in conns:
        if conn["service"] == "UD":
            for me, its in (("a", "b"), ("b", "a")):
                owners[(conn[me]["address"], conn[its]["address"], 0xFFFFFF if conn["multicast"] else conn[its]["qpn"],
                        conn[me]["qpn"])].append((conn, me))
        else:
            for me, key in ways_of(conn).items():
                owners[key].append((conn, me))
    for key, of in by_key.items():
        good = [p for p in of if p.good is not False]
        if not good or good[0].service == RD:
            continue
        where = f" {key[0]} → {key[1]} QP 0x{key[2]:06x}"
        sides = [conn[me] for conn, me in owners.get(key, [])]
        report.same(capture.name, where, "connection", "each direction with a good packet belongs to a connection", True, bool(sides))
        if not sides:
            continue
        for name, how, expected in figure_model.packet_sums(of):
            if len(sides) > 1 and (name in ("credits", "udp_sport") or name.endswith("_ns")):
                continue
            actual = sides[0][name] if len(sides) == 1 else sum(s[name] for s in sides)
            report.same(capture.name, where, name, how, expected, actual)
        if good[0].service == UD and len(sides) == 1:
            report.same(capture.name, where, "operations.send.messages", "datagrams", len(good),
                        actual_of(sides[0], "operations.send.messages"))
            report.same(capture.name, where, "operations.send.bytes", "their payload", sum(p.payload for p in good),
                        actual_of(sides[0], "operations.send.bytes"))
    for conn in conns:
        percentages.compare(report, capture.name, f" #{conn['connection']}", conn)
        ways = ways_of(conn)
        if conn["service"] in ("RC", "UC", "XRC") and conn["uses"] == 1 and ways and all(
                len(owners[key]) == 1 and by_key[key] for key in ways.values()) and (
                    conn["paired"] or conn["service"] == "UC"):
            compare_stateful(report, capture, f" #{conn['connection']}", conn, by_key, cm)
    where = ""
    dc = sum(p.service == RD for p in capture.packets)
    report.same(capture.name, where, "summary.frames", "frames of the file", capture.frames, summary["frames"])
    report.same(capture.name, where, "summary.packets", "with a BTH", len(capture.packets), summary["packets"])
    report.same(capture.name, where, "summary.bytes", "frame.len of them", sum(p.wire for p in capture.packets), summary["bytes"])
    report.same(capture.name, where, "summary.foreign", "all others", capture.frames - len(capture.packets), summary["foreign"])
    report.same(capture.name, where, "summary.pauses", "macc with a time to stop", capture.pauses, summary["pauses"])
    report.same(capture.name, where, "summary.dc", "opcodes 0x40 to 0x5f", dc, summary["dc"])
    report.same(capture.name, where, "summary.first_time_ns", "", capture.first_time, summary["first_time_ns"])
    report.same(capture.name, where, "summary.last_time_ns", "", capture.last_time, summary["last_time_ns"])
    report.same(capture.name, where, "summary.rejections", "CM REJ messages", sum(
        p.row["infiniband.cm.rej.reason"] != "" for p in capture.packets if p.good is not False), summary["rejections"])


# ---- generated captures --------------------------------------------------------------------------

def hardware(folder):
    paths = []
    for name, row in hardware_traffic.ROWS.items():
        paths.append(os.path.join(folder, name + ".pcap"))
        with open(paths[-1], "wb") as file:
            file.write(hardware_traffic.pcap(hardware_traffic.build(row)))
    return paths


def generated(program, folder):
    paths = []
    for packets_, conns, sizes in ((2000, 1, "64"), (2000, 7, "256,4096"), (3000, 900, "64,1024")):
        paths.append(os.path.join(folder, f"generated {conns}.pcap"))
        with open(paths[-1], "wb") as file:
            subprocess.run([program, "-n", str(packets_), "-c", str(conns), "-s", sizes], stdout=file, check=True)
    return paths


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rocedrill", required=True)
    args.add_argument("-v", "--verbose", action="store_true")
    args.add_argument("--hardware", action="store_true")
    args.add_argument("--gen-capture")
    args.add_argument("captures", nargs="*")
    args = args.parse_args()
    if not shutil.which("tshark"):
        print("connection_figures: tshark not found")
        return 77
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        paths = args.captures + (hardware(folder) if args.hardware else []) + (
            generated(args.gen_capture, folder) if args.gen_capture else [])
        said = judged(args.rocedrill, paths)
        for capture in tshark_packets.read(paths, folder):
            conns, summary = said[capture.path]
            if summary:
                compare(report, capture, conns, summary[0])
    if args.verbose:
        for name in report.how:
            print(f"{report.cnt[name]:7} {name}: {report.how[name]}")
    old = "4.0." in subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    for key, why in KNOWN.items():
        if report.known[key] and args.verbose:
            print(f"known: {key[1]} of {key[0]}, {report.known[key]} times: {why}")
        elif not report.known[key] and (old or why not in (ATOMIC_WRITE, XRC)) and any(fnmatch.fnmatchcase(os.path.basename(c), key[0]) for c in paths):
            report.wrong += 1
            print(f"{key[0]}: {key[1]}: no longer differs: delete the row of KNOWN")
    print(f"connection_figures: {len(paths)} captures, {sum(report.cnt.values())} figures compared, {report.wrong} differ")
    return 2 if not report.cnt else 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
