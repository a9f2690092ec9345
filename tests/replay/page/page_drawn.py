#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that the graphs of a page draw the packets and operations of check --events, and those only.

    page_drawn.py ROCEDRILL CHROMIUM CAPTURE...

A recorder in the browser stores each rectangle, line and mark that the page draws on a canvas. For every
connection of the captures, the test computes the shapes from the lines of check --json and --events, and
compares places, sizes and colours: packets, acknowledgements, waits, marks, payload, bytes in flight,
latencies, round trips, sending rate, messages, paths, distributions and the heat map."""
import json
import math
import os
import subprocess
import sys
import tempfile

from chromium import Chromium
from page_captures import write_incast, write_reuse, write_sprayed, write_troubles

PAGE_CAPTURES = 25  # number of captures in one page
PIXELS = 1.01  # largest permitted distance between a drawn point and the expected point, pixels
PSNS = 1 << 24
REUSED = "ALL-OBS-308"  # rule of the finding that the QP pair is used again
CLASSES = {"request": "first", "repeated request": "again", "response": "response", "repeated response": "response-again",
           "copy": "other"}
BANDS = {"response": "slow", "timeout": "timeout", "spurious_timeout": "spurious", "read_gap": "response-again", "rnr_nak": "rnr",
         "sequence_nak": "nak", "unknown": "other"}

# Records rectangles, boxes, lines and filled marks of each canvas since it was cleared.
RECORDER = """(() => {
  const P = CanvasRenderingContext2D.prototype;
  const before = (name, act) => { const of = P[name]; P[name] = function (...a) { act(this, a); return of.apply(this, a); }; };
  const note = (c, ...what) => (c.drawn = c.drawn || []).push(what);
  before('clearRect', (c) => { c.drawn = []; });
  before('beginPath', (c) => { c.points = []; });
  for (const name of ['moveTo', 'lineTo']) before(name, (c, a) => { (c.points = c.points || []).push(a); });
  before('fillRect', (c, a) => note(c, 'rect', c.fillStyle, c.globalAlpha, ...a));
  before('strokeRect', (c, a) => note(c, 'box', c.strokeStyle, c.lineWidth, ...a));
  before('stroke', (c) => note(c, 'line', c.strokeStyle, c.lineWidth, c.points));
  before('fill', (c) => note(c, 'mark', c.fillStyle, c.points));
})()"""

# Chooses a connection by its row in the table. Returns its number, what its graphs have drawn, and its distributions: the value and
# the width of the bar in each row of a histogram. Does not wait until the browser shows the graphs, because that takes long.
CHOOSE = """((row) => {
  document.querySelectorAll('#conns .title button')[row].click();
  const graphs = rocedrill.view && rocedrill.view.graphs.map(g => {
    const a = g.dygraph.getArea(), drawn = g.div.querySelector('canvas').getContext('2d').drawn;
    return {name: g.div.closest('figure').dataset.graph, area: [a.x, a.y, a.w, a.h], x: g.dygraph.xAxisRange(), y: g.dygraph.yAxisRange(),
      drawn};
  });
  const distributions = [...document.querySelectorAll('#graphs details')].map(d => [d.querySelector('summary').textContent,
    [...d.querySelectorAll('tbody tr')].map(r => [Number(r.cells[1].textContent), parseFloat(r.querySelector('.share').style.width)])]);
  return [rocedrill.chosen.connection || 0, graphs, distributions];
})(%u)"""
COLORS = "Object.fromEntries(%s.map(c => [c, RoceGraph.color(c)]))" % json.dumps(
    "first again response response-again other ack nak implied refused rnr damaged missing lost cnp ce timeout spurious slow side-a side-b text".split())
HEAT = "rocedrill.heat.rows.map(r => [r.conn.connection || 0, Math.round(r.bytes.reduce((a, b) => a + b, 0))])"

failures = 0


def fail(name, text):
    global failures
    failures += 1
    if failures < 200:
        print(f"{name}: {text}", file=sys.stderr)


def signed(diff):
    return (diff + PSNS // 2) % PSNS - PSNS // 2


def class_of(e):
    """Returns the class of a packet of --events."""
    flags, opcode = e["flags"], e["opcode"]
    for flag, name in (("dropped", "dropped"), ("copy", "copy"), ("cnp", "cnp"), ("rnr_nak", "rnr nak"), ("nak", "nak")):
        if flag in flags:
            return name
    if "Acknowledge" in opcode and "Atomic" not in opcode:
        return "ack"
    if "Response" in opcode or "Acknowledge" in opcode:
        return "repeated response" if "duplicate_response" in flags else "response"
    if "CNP" in opcode or "RESYNC" in opcode:
        return "other"
    return "repeated request" if {"retransmission", "duplicate_request"} & set(flags) else "request"


def is_response(e):
    return "Response" in e["opcode"] or "Acknowledge" in e["opcode"]


def span_of(e, kind, mtu):
    """Returns the number of PSNs of a packet; None if the capture did not show the path MTU before, `mtu`."""
    if kind not in ("request", "repeated request") or "READ Request" not in e["opcode"]:
        return 1
    return max(1, math.ceil(e["dma_length"] / mtu)) if mtu and "dma_length" in e else None


def uses_of(lines, conn, alias):
    """Returns for each direction the frames at which later uses of the QP pair begin: the first request, else the first response."""
    of = [e for e in lines if alias.get(e.get("connection"), e.get("connection")) == conn["connection"]]
    packets = [(e, 1 - "ab".index(e["side"]) if is_response(e) else "ab".index(e["side"])) for e in of
               if e["event"] == "packet" and class_of(e) not in ("cnp", "other", "dropped")]
    uses = set(), set()
    for f in of:
        for d in (0, 1) if f["event"] == "finding" and f["rule"] == REUSED else ():
            later = [e for e, of in packets if of == d and e["frame"] >= f["frame"]]
            first = [e for e in later if class_of(e) in ("request", "repeated request")] or later
            if first and any(of == d and e["frame"] < f["frame"] for e, of in packets):
                uses[d].add(first[0]["frame"])
    return uses


def packets_of(lines, conn, start, alias):
    """Returns the packets of a connection as the page must draw them."""
    found, uses = [], uses_of(lines, conn, alias)
    qpns = [conn[s]["qpn"] for s in "ab"]
    last, base, mtu = [None, None], [0, 0], None
    for e in lines:
        if e["event"] != "packet" or alias.get(e["connection"], e["connection"]) != conn["connection"]:
            continue
        kind, side = class_of(e), "ab".index(e["side"])
        if e["connection"] in alias and qpns[0] != qpns[1] and e["dest_qp"] in qpns:
            side = 1 - qpns.index(e["dest_qp"])
        d = 1 - side if is_response(e) else side
        p = {"kind": kind, "side": side, "direction": d, "ns": e["time_ns"] - start, "t": (e["time_ns"] - start) * 1e-9, "event": e}
        p["span"] = span_of(e, kind, mtu)
        if " First" in e["opcode"] or " Middle" in e["opcode"]:
            mtu = conn["path_mtu"]
        if kind not in ("cnp", "other"):
            if last[d] is None:
                first = conn["ab"[d]]["first_psn"]
                base[d] = e["psn"] if first is None or uses[d] or signed(e["psn"] - first) < 0 else first
                last[d] = base[d]
            if e["frame"] in uses[d]:
                base[d] = last[d] = e["psn"]
            p["use"] = e["frame"] in uses[d]
            last[d] += signed(e["psn"] - last[d])
            p["psn"] = last[d] - base[d]
        found.append(p)
    mark_refused(found)
    return found


def mark_refused(packets):
    """Marks the sequence NAKs that request the packet which an RNR NAK refused before."""
    refused = [None, None]
    for p in packets:
        psn, d = p.get("psn"), p["direction"]
        if p["kind"] == "rnr nak":
            refused[d] = psn
        elif psn is None or refused[d] is None or not psn <= refused[d] < psn + (p["span"] or 1):
            continue
        elif p["kind"] in ("request", "repeated request"):
            refused[d] = None
        elif p["kind"] == "nak" and p["event"].get("syndrome") == 0x60:
            p["kind"] = "refused"


class Graph:
    """One graph: its shapes, and the places of times and values."""

    def __init__(self, drawn, colors, where):
        self.where = f"{where}: {drawn['name']}"
        self.name, self.area, self.x_range, self.y_range = drawn["name"], drawn["area"], drawn["x"], drawn["y"]
        self.shapes, self.colors = drawn["drawn"] or [], colors

    def x(self, t):
        return self.area[0] + (t - self.x_range[0]) * self.area[2] / (self.x_range[1] - self.x_range[0])

    def y(self, v):
        return self.area[1] + self.area[3] - (v - self.y_range[0]) * self.area[3] / (self.y_range[1] - self.y_range[0])

    def rects(self, alpha, *names):
        """Returns the rectangles in one of the colours: colour, x, y, width, height."""
        of = {self.colors[n]: n for n in names}
        return [(of[s[1]], *s[3:]) for s in self.shapes if s[0] == "rect" and s[1] in of and abs(s[2] - alpha) < 1e-3]

    def lines(self, name, width):
        return [s[3] for s in self.shapes if s[0] == "line" and s[1] == self.colors[name] and abs(s[2] - width) < 0.01]

    def bins(self, pixels, values):
        """Returns the sums of the values (time, value) in each bin, per second."""
        cnt = max(8, math.floor(self.area[2] / pixels))
        (t0, t1), sums = self.x_range, [0.0] * cnt
        width = (t1 - t0) / cnt
        for t, v in values:
            sums[max(0, min(cnt - 1, math.floor((t - t0) / width)))] += v
        return [s / width for s in sums]

    def compare(self, what, have, want):
        """Compares shapes: tuples of a name and numbers. Each must be near one of the other list. Several may share a place."""
        for text, some, others in (("lacks", want, have), ("has", have, want)):
            index = {}
            for o in others:
                index.setdefault((o[0], round(o[1] / 2)), []).append(o)
            missing = [s for s in some if not any(
                all(abs(a - b) <= PIXELS for a, b in zip(s[1:], o[1:]) if a is not None and b is not None)
                for k in (-1, 0, 1) for o in index.get((s[0], round(s[1] / 2) + k), []))]
            if missing:
                fail(self.where, f"{what}: the page {text} {len(missing)} of {len(some)}, first {missing[0]}")


def bar(name, x, y0, y1, width):
    return name, x, min(y0, y1), width, max(abs(y0 - y1), 2)


def check_psn(g, packets, conn):
    d = int(g.name[3:])
    of = [p for p in packets if p["direction"] == d and "psn" in p]
    bars = [(p, CLASSES[p["kind"]]) for p in of if p["kind"] in CLASSES]
    g.compare("packets", [r for r in g.rects(1, *set(CLASSES.values())) if abs(r[3] - 2.5) < 0.01],
              [bar(c, g.x(p["t"]), g.y(p["psn"]), g.y(p["psn"] + p["span"]), 2.5) if p["span"] else (c, g.x(p["t"]), None, 2.5, None)
               for p, c in bars])
    # Marks: kind of packet; name of the colour, number of corners, x and y of the first corner.
    kinds = {"nak": ("nak", 3, 0, 6), "refused": ("refused", 3, 0, -6), "rnr nak": ("rnr", 4, -5, -5), "dropped": ("damaged", 6, -5, -5), "implied": ("implied", 4, 0, -6)}
    marks = [(p["kind"], p) for p in of if p["kind"] in kinds] + [("implied", p) for p in of if "implied_nak" in p["event"]["flags"]]
    drawn = []
    for name, corners, _, _ in kinds.values():
        for s in g.shapes:
            hollow = name in ("damaged", "implied", "refused")
            points = s[3] if hollow and s[0] == "line" and s[2] == 2 else s[2] if not hollow and s[0] == "mark" else []
            if s[1] == g.colors[name] and len(points) == corners:
                drawn.append((name, *points[0]))
    g.compare("marks", drawn, [(kinds[k][0], g.x(p["t"]) + kinds[k][2], g.y(p["psn"]) + kinds[k][3]) for k, p in marks])
    if len(drawn) != len(marks):
        fail(g.where, f"{len(drawn)} marks, --events {len(marks)}")
    gaps = [("missing", g.x(p["t"]) + 1, g.y(p["psn"] - p["event"]["missing_psns"]), g.y(p["psn"]))
            for p in of if p["event"].get("missing_psns") and p["kind"] != "copy"]
    g.compare("missing packets", [("missing", line[0][0], line[0][1], line[1][1]) for line in g.lines("missing", 3)], gaps)
    corners, acked = [], -math.inf
    for p in of:
        if p["use"]:
            acked = -math.inf
        to = p["psn"] + (p["kind"] in ("ack", "response"))
        if p["kind"] in ("ack", "response", "nak", "refused", "rnr nak") and to > acked:
            if corners:
                corners.append(("ack", g.x(p["t"]), corners[-1][2]))
            corners.append(("ack", g.x(p["t"]), g.y(to)))
            acked = to
    g.compare("acknowledged PSNs", [("ack", *point) for line in g.lines("ack", 1.2) for point in line], corners)
    uses = [("use", g.x(p["t"])) for p in of if p["use"]]
    g.compare("new uses", [("use", line[0][0]) for line in g.lines("text", 1) if line[0][0] == line[1][0]], uses)
    waits = {BANDS[w["cause"]]: w["ns"] for w in conn["waits"] if w["cause"] in BANDS and w["side"] == "ab"[d]}
    scale = (g.x_range[1] - g.x_range[0]) / g.area[2]
    for color, ns in waits.items():
        widths = [r[3] for r in g.rects(0.3, color)]  # a band is at least 2 pixels wide
        most, least = sum(widths) * scale, sum(w for w in widths if w > 2) * scale
        if not least - 2 * scale <= ns * 1e-9 <= most + 2 * scale:
            fail(g.where, f"bands of {color}: {least * 1e3:.3f} to {most * 1e3:.3f} ms, JSON {ns * 1e-6:.3f} ms")


def check_bins(g, pixels, names, values):
    """Compares stacked bars with the sums of two lists of (time, value)."""
    low, high = (g.bins(pixels, v) for v in values)
    width = g.area[2] / len(low)

    def bars(name, bins, below):
        return [bar(name, g.area[0] + b * width, g.y(below[b]), g.y(below[b] + v), max(width - 0.5, 2)) for b, v in enumerate(bins) if v]
    drawn, want = g.rects(1, *names), bars(names[0], low, [0] * len(low)) + bars(names[1], high, low)
    g.compare("bars", drawn, want)
    if len(drawn) != len(want):
        fail(g.where, f"{len(drawn)} bars, --events {len(want)}")


def check_data(g, packets, conn):
    again = [p["kind"] in ("repeated request", "repeated response", "copy") for p in packets]
    check_bins(g, 3, ("first", "again"), [[(p["t"], p["event"]["payload"]) for p, a in zip(packets, again) if a == which] for which in (False, True)])


def check_flight(g, packets, conn):
    for d, color in enumerate(("side-a", "side-b")):
        points = []
        for p in packets:
            if p["direction"] == d and p["kind"] != "cnp":
                if points:
                    points.append(("flight", g.x(p["t"]), points[-1][2]))
                points.append(("flight", g.x(p["t"]), g.y(p["event"]["bytes_in_flight"])))
        g.compare(color, [("flight", *point) for line in g.lines(color, 1.5) for point in line], points)


def done_of(e, start):
    return (e["start_ns"] - start) * 1e-9, (e["start_ns"] + e["latency_ns"] - start) * 1e-9


def check_latency(g, packets, operations, start):
    want = [("side-" + e["side"], g.x(done_of(e, start)[1]) - 2, g.y(math.log10(max(e["latency_ns"], 1))) - 2, 4, 4) for e in operations]
    g.compare("operations", g.rects(1, "side-a", "side-b"), want)
    want = [("rtt", g.x(p["t"]) - 2, g.y(math.log10(p["event"]["rtt_ns"])) - 2, 4, 4) for p in packets if p["event"].get("rtt_ns")]
    g.compare("round trips", [("rtt", *s[3:]) for s in g.shapes if s[0] == "box" and s[1] == g.colors["ack"]], want)


def check_rate(g, packets, conn):
    check_bins(g, 6, ("side-a", "side-b"), [[(p["t"], p["event"]["bytes"]) for p in packets if p["side"] == side] for side in (0, 1)])
    for name, corners, dx, up, of in (("ce", 8, 3, 6, [p for p in packets if "ce" in p["event"]["flags"]]),
                                      ("cnp", 3, 0, 24, [p for p in packets if p["kind"] == "cnp"])):
        drawn = [(name, *s[2][0]) for s in g.shapes if s[0] == "mark" and s[1] == g.colors[name] and len(s[2]) == corners]
        g.compare(name, drawn, [(name, g.x(p["t"]) + dx, g.y(0) - up) for p in of])


def check_messages(g, operations, start):
    dark, light = g.rects(1, "side-a", "side-b"), g.rects(0.35, "side-a", "side-b")
    for what, drawn, at in (("begin", dark, 1), ("end", light, 2)):
        # A bar is at least 2 pixels wide, so it may end after the operation.
        have = [(s[0], s[1] if at == 1 else s[1] + s[3], s[2]) for s in drawn]
        want = []
        for i, e in enumerate(operations):
            first, done = done_of(e, start)
            want.append(("side-" + e["side"], g.x(first if at == 1 else done), min(g.y(i + 0.15), g.y(i + 0.85))))
        near = [next((h for h in have if h[0] == w[0] and abs(h[2] - w[2]) <= PIXELS and abs(h[1] - w[1]) <= 2 * PIXELS), None) for w in want]
        if None in near or len(have) > len(want):
            fail(g.where, f"{what}: {len(have)} bars, --events {len(want)}; no bar at {want[near.index(None)] if None in near else ''}")


def check_lanes(g, packets, conn):
    lanes = sorted({(p["side"], p["event"]["udp_sport"]) for p in packets if p["kind"] != "cnp"})
    half, want = min(4, 0.4 * (g.y(0) - g.y(1))), []
    for p in packets:
        if p["kind"] == "cnp":
            continue
        y = g.y(lanes.index((p["side"], p["event"]["udp_sport"])) + 0.5)
        color = "again" if p["kind"] in ("repeated request", "repeated response", "copy") else \
            "nak" if p["kind"] in ("nak", "refused", "rnr nak", "dropped") else "side-" + "ab"[p["side"]]
        want.append(bar(color, g.x(p["t"]), y - half, y + half, 2))
    g.compare("packets", g.rects(1, "again", "nak", "side-a", "side-b"), want)


def check_distributions(where, shown, conn, packets, operations):
    names = {"send": "SEND", "write": "WRITE", "read": "READ", "atomic": "Atomic", "other": "Other", "rtt": "Round trip of acknowledgements"}
    shown = dict(shown)
    for d, side in enumerate("ab"):
        samples = {key: [e["latency_ns"] for e in operations if e["side"] == side and e["operation"] == key] for key in names}
        samples["rtt"] = [p["event"]["rtt_ns"] for p in packets if "rtt_ns" in p["event"] and p["direction"] == d]
        for key, values in samples.items():
            count = conn[side]["ack_rtt_ns"] if key == "rtt" else conn[side]["operations"].get(key, {}).get("latency_ns")
            if len(values) != (count or {"count": 0})["count"]:
                fail(where, f"distribution of {key} of {side}: --events has {len(values)} values, JSON {count}")
            # Buckets: four in each octave from 64 ns on.
            buckets = {}
            for ns in values:
                octave = max(6, ns.bit_length() - 1)
                bucket = (octave, -1 if ns < 64 else (ns >> (octave - 2)) & 3)
                buckets[bucket] = buckets.get(bucket, 0) + 1
            want = [buckets[b] for b in sorted(buckets)]
            rows = shown.pop(f"Distribution: {names[key]} of {conn[side]['address']}", [])
            if len(want) >= 2 and [r[0] for r in rows] != want or len(want) < 2 and rows and len(rows) != len(want):
                fail(where, f"distribution of {key} of {side}: rows {rows}, --events {want}")
            if any(abs(width - max(1, 300 * cnt / max(want))) > 0.5 for cnt, width in rows):
                fail(where, f"distribution of {key} of {side}: widths {rows}")


def check_conn(where, graphs, shown, conn, lines, start, alias, colors):
    """Compares all graphs of a connection. Returns their names."""
    packets = packets_of(lines, conn, start, alias)
    operations = [e for e in lines if e["event"] == "operation" and e["latency_ns"] is not None
                  and alias.get(e["connection"], e["connection"]) == conn["connection"]]
    names = []
    for drawn in graphs:
        g = Graph(drawn, colors, where)
        names.append(g.name)
        if g.name.startswith("psn"):
            check_psn(g, packets, conn)
        elif g.name == "latency":
            check_latency(g, packets, operations, start)
        elif g.name == "messages":
            check_messages(g, operations, start)
        else:
            {"data": check_data, "flight": check_flight, "rate": check_rate, "lanes": check_lanes}[g.name](g, packets, conn)
    check_distributions(where, shown, conn, packets, operations)
    return names


def check_page(browser, rocedrill, folder, captures):
    """Checks all connections of one page of several captures. Returns the number of connections, and the graphs drawn."""
    page, events = os.path.join(folder, "page.html"), os.path.join(folder, "events")
    subprocess.run([rocedrill, "check", "-q", "--html", page, *captures], check=False)
    browser.open(page)
    browser.run("document.body.style.visibility = 'hidden'")  # the browser need not show what the page draws
    colors, graphs, conns = browser.run(COLORS), {}, 0
    run = subprocess.run([rocedrill, "check", "--json", "-", "--events", events, *captures], stdout=subprocess.PIPE, check=False)
    reports, events_of = {}, {}
    for o in map(json.loads, run.stdout.splitlines()):
        reports.setdefault(o["file"], []).append(o)
    with open(events, encoding="utf-8") as text:
        for e in map(json.loads, text):
            lines = events_of.setdefault(e["file"], []) if e["event"] == "capture" else lines
            lines.append(e)
    for i, capture in enumerate(captures):
        report, lines = reports[capture], events_of[capture]
        by_number = {o["connection"]: o for o in report if o["type"] == "connection"}
        alias = {e["connection"]: e["is"] for e in lines if e["event"] == "alias"}
        start = next(o["first_time_ns"] for o in report if o["type"] == "summary")
        browser.run(f"(() => {{ const s = document.getElementById('capture'); s.value = {i}; s.dispatchEvent(new Event('change')); }})()")
        name = os.path.basename(capture)
        payload = {}
        for e in lines:
            if e["event"] == "packet" and e["connection"] is not None:
                number = alias.get(e["connection"], e["connection"])
                payload[number] = payload.get(number, 0) + e["payload"]
        rows = browser.run("rocedrill.conns.length")
        if rows > 1:
            browser.frames()
        for number, size in browser.run(HEAT) if rows > 1 else []:
            if size != payload.get(number, 0):
                fail(name, f"heat map: {size} bytes of connection {number}, --events {payload.get(number, 0)}")
        for row in range(rows):
            number, drawn, distributions = browser.run(CHOOSE % row)
            if not drawn:
                if payload.get(number):
                    fail(name, f"connection {number} has no graphs")
                continue
            conns += 1
            for graph in check_conn(f"{name} #{number}", drawn, distributions, by_number[number], lines, start, alias, colors):
                graphs[graph] = graphs.get(graph, 0) + 1
    for problem in browser.problems():
        fail("page", problem)
    return conns, graphs


def main():
    rocedrill, chromium, *captures = sys.argv[1:]
    conns, graphs = 0, {}
    with tempfile.TemporaryDirectory() as folder, Chromium(chromium) as browser:
        for write, name, cnt in (write_incast, "incast", 6), (write_troubles, "troubles", 5), (write_sprayed, "sprayed", 600), (write_reuse, "reuse", 3):
            captures.append(os.path.join(folder, name + ".pcap"))
            write(captures[-1], cnt)
        browser.call("Page.addScriptToEvaluateOnNewDocument", source=RECORDER)
        for i in range(0, len(captures), PAGE_CAPTURES):
            cnt, more = check_page(browser, rocedrill, folder, captures[i:i + PAGE_CAPTURES])
            conns += cnt
            for name, n in more.items():
                graphs[name] = graphs.get(name, 0) + n
    print(f"{len(captures)} captures, {conns} connections, graphs {graphs}; {failures} differences")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
