#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that pages of check, replay and drill --html in a headless Chromium cause no error or request, draw every
graph, can be used by keyboard, and list every difference of the JSON reports.

    page_browser.py ROCEDRILL CHROMIUM CAPTURES [--readme PNG | --shots FOLDER]

--readme writes the picture of README.md and tests nothing. --shots writes pictures of all pages in light
and dark colours."""
import itertools
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

from chromium import Chromium

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../traces"))
from connection_builder import NAK_SEQ, RNR, US, MS, SEND_ONLY, Connection, retransmission  # noqa: E402

# Captures, and words of the first sentence that their pages must have.
CAPTURES = {
    "rc-loss-requests": "slow", "rc-loss-read-responses": "slow", "rc-rnr-then-success": "receive buffer",
    "rc-ecn": "congestion", "uc-loss": "lost", "ud-unicast": "No problem", "rc-reordering": "slow",
    "rc-retry-exhausted": "stuck", "rc-rnr-exhausted": "stuck", "rc-bad-rkey-write": "refused a request",
    "rc-bidirectional": "No problem", "rc-corruption": "", "rc-atomics": "", "rc-psn-wrap-loss": "",
    "multi-qp": "No problem", "cm-reject": "refused to set up",
}
# File names that end an element, an attribute, a string or a comment where a page does not escape them.
HOSTILE = ["</script><img src=x onerror=hacked()>.pcap", "\"'><svg onload=hacked()>.pcap", "<!--<script>&lt;.pcap",
           "</title><script>hacked()<\u2215script>\u2028.pcap", "${hacked()}`;hacked();`\\u003cscript>\t\n<plaintext>.pcap",
           "\udcff\udcfe]]>--><img src=x onerror=hacked()>\udcc0\udcbc\u202e.pcap"]

failures = 0


def fail(name, text):
    global failures
    failures += 1
    print(f"{name}: {text}", file=sys.stderr)


def make_page(rocedrill, folder, *captures):
    page = os.path.join(folder, "page.html")
    run = subprocess.run([rocedrill, "check", "-q", "--html", page, *captures], stderr=subprocess.PIPE, text=True)
    if run.returncode not in (0, 1):
        fail(captures[0], f"status {run.returncode}: {run.stderr}")
    return page


def open_page(browser, name, page):
    browser.open(page)
    for problem in browser.problems():
        fail(name, problem)
    for url in browser.requests():
        if url != "file://" + page:
            fail(name, "request for " + url)


# Returns the elements whose text has a contrast below 4.5 to its background, and the controls without a name.
AUDIT = """(() => {
  const found = [];
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const f = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const background = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || e.closest("script")) continue;
    const a = light(parse(getComputedStyle(e).color)), b = light(background(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push("contrast " + ratio.toFixed(1) + ": " + e.textContent.trim().slice(0, 40));
  }
  for (const e of document.querySelectorAll("button, input, select, [tabindex='0'], [role=img]"))
    if (!e.getAttribute("aria-label") && !e.textContent.trim() && !(e.labels && e.labels.length) && e.getClientRects().length)
      found.push("no name: " + e.outerHTML.slice(0, 80));
  const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
  ids.filter((id, i) => ids.indexOf(id) !== i).forEach(id => found.push("id twice: " + id));
  return found;
})()"""

# Returns the captions of figures that drew nothing: their canvas has one colour only.
EMPTY = """[...document.querySelectorAll("figure[data-graph]")].filter(f => {
  const c = f.querySelectorAll("canvas")[0], p = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
  return new Set(p).size < 3;
}).map(f => f.dataset.graph)"""


# Returns the times on the axis of each graph.
AXES = """[...document.querySelectorAll("figure[data-graph]")].map(f =>
  [...f.querySelectorAll(".dygraph-axis-label-x")].map(e => e.textContent))"""


# Returns the packets and operations that each graph drew: the sum over the runs that have a tooltip.
DRAWN = """(() => {
  const v = rocedrill.view, r = v.runs, sums = {};
  v.graphs.forEach(g => {
    const name = g.div.closest('figure').dataset.graph;
    const things = new Set();
    for (let k = 0; k < g.hits.length; k += 6) if (g.hits[k + 4] < 2) things.add((g.hits[k + 4] ? 'message ' : 'run ') + g.hits[k + 5]);
    things.forEach(key => {
      const [item, i] = key.split(' '), s = r.style[i];
      const what = item === 'message' ? ['message ' + v.messages[i].side] : ['packets ' + s.side, s.class + ' ' + s.side];
      if (item === 'run' && name === 'flight' && s.class.includes('request'))
        sums['flight of ' + s.side] = Math.max(sums['flight of ' + s.side] || 0, r.flight[i]);
      if (item === 'run' && name === 'rate') sums['marks of ' + s.side] = (sums['marks of ' + s.side] || 0) + r.ce[i];
      if (item === 'run' && r.gap[i] && s.class.includes('request')) sums[name + ': missing'] = (sums[name + ': missing'] || 0) + r.gap[i];
      what.forEach(w => { sums[name + ': ' + w] = (sums[name + ': ' + w] || 0) + (item === 'message' ? 1 : r.count[i]); });
    });
  });
  return sums;
})()"""


def check_drawn(browser, rocedrill, folder, path, name):
    """Expects that the graphs of the chosen connection have the points that check --json and --events count."""
    chosen, events = browser.run("rocedrill.chosen.connection || 0"), os.path.join(folder, "events")
    run = subprocess.run([rocedrill, "check", "--json", "-", "--events", events, path], stdout=subprocess.PIPE, check=False)
    line = next(o for o in map(json.loads, run.stdout.splitlines()) if o["type"] == "connection" and o["connection"] == chosen)
    with open(events, encoding="utf-8") as text:
        requests = [e for e in map(json.loads, text) if e["event"] == "packet" and e["connection"] == chosen and "request" in e["flags"]]
    drawn, want = browser.run(DRAWN), {}
    acked = line["service"] in ("RC", "XRC")
    for i, side in enumerate((line["a"], line["b"])):
        psn = [f"psn{d}: " for d in (0, 1)]
        count = {
            "repeated request": sum(r["packets"] for r in side["retransmissions"].values()),
            "nak": side["psn_naks"] + side["fatal_naks"], "rnr nak": side["rnr_naks"], "copy": side["copies"],
            "dropped": side["bad_icrc"] + side["malformed"]}
        for what, number in count.items():
            want[f"PSN graphs: {what} of {i}"] = (sum(drawn.get(f"{p}{what} {i}", 0) for p in psn), number)
        of_psn = sum(drawn.get(f"{p}packets {i}", 0) for p in psn)
        if acked:  # all packets except CNPs have a PSN
            want[f"PSN graphs: packets of {i}"] = (of_psn, side["packets"] - side["cnps"])
        done = sum((o["latency_ns"] or {"count": 0})["count"] for o in side["operations"].values())
        for graph in "latency", "messages":
            want[f"{graph}: operations of {i}"] = (drawn.get(f"{graph}: message {i}", 0), done)
        want[f"CNPs of {i}"] = (drawn.get(f"rate: cnp {i}", 0), side["cnps"])
        want[f"CE marks of {i}"] = (drawn.get(f"marks of {i}", 0), side["ce_marked"])
        want[f"bytes in flight of {i}"] = (
            drawn.get(f"flight of {i}", 0), max((e["bytes_in_flight"] for e in requests if e["side"] == "ab"[i]), default=0))
        if f"lanes: packets {i}" in drawn:
            want[f"paths: packets of {i}"] = (drawn[f"lanes: packets {i}"], side["packets"] - side["cnps"])
    want["missing packets"] = (drawn.get("psn0: missing", 0) + drawn.get("psn1: missing", 0),
                               line["a"]["missing_psns"] + line["b"]["missing_psns"])
    for what, (have, number) in want.items():
        if have != number:
            fail(name, f"{what}: drawn {have}, JSON {number}")


def audit(browser, name):
    for scheme in "light", "dark":
        browser.scheme(scheme)
        for problem in browser.run(AUDIT):
            fail(name, f"{scheme}: {problem}")


# Returns the terms below the report of the chosen connection, and those that its report contains.
EXPLAINED = """(() => { const of = (id) => [...document.querySelectorAll(id + ' .explain')].map(e => e.textContent);
  const text = ['conn-why', 'advice', 'budget'].map(id => document.getElementById(id).textContent).join(' ') + rocedrill.chosen.headline;
  return [of('#conn-words'), of('#words').filter(term => text.includes(term))]; })()"""


# Returns the visible entries of the legends.
LEGENDS = """[...document.querySelectorAll('.legend li')].filter(e => e.offsetHeight).map(e => e.textContent.trim())"""


def check_capture(browser, rocedrill, folder, path, name, words):
    page = make_page(rocedrill, folder, path)
    open_page(browser, name, page)
    lead = browser.run("document.getElementById('lead').textContent")
    if words not in lead:
        fail(name, f"first sentence '{lead}' lacks '{words}'")
    if browser.run("rocedrill.chosen !== null") and lead.startswith("Connection #") \
            and not lead.startswith(browser.run("rocedrill.chosen.headline")):
        fail(name, f"the page begins with another connection than '{lead}'")
    check_bands(browser, name)
    for labels in browser.run(AXES):
        if len(labels) < 2 or len(set(labels)) != len(labels):
            fail(name, f"times of an axis {labels}")
    explained, used = browser.run(EXPLAINED) if browser.run("rocedrill.chosen !== null") else ([], [])
    if explained != used or (name == "rc-loss-requests" and not {"retransmitted", "PFC", "QP", "idle"} <= set(used)) \
            or (name == "rc-rnr-then-success" and not {"slow response", "min_rnr_timer"} <= set(used)):
        fail(name, f"explains {explained}, not {used}")
    audit(browser, name)
    idle = [text for text in browser.run(LEGENDS) if "retransmitted" in text or "NAK" in text or "CNP" in text]
    if idle and name in ("multi-qp", "rc-bidirectional", "ud-unicast"):
        fail(name, f"the legends name what the connection does not have: {idle}")
    empty = browser.run(EMPTY)
    if empty:
        fail(name, f"empty graphs: {empty}")
    if browser.run("rocedrill.view !== null"):
        check_drawn(browser, rocedrill, folder, path, name)
    graphs = browser.run("document.querySelectorAll('figure[data-graph^=psn]').length")
    if (graphs == 0) != (name == "cm-reject"):
        fail(name, f"{graphs} graphs of packets")
    if name == "multi-qp" and browser.run("document.querySelectorAll('#conns tbody tr').length") != 4:
        fail(name, "the table has not 4 connections")


def write_incast(path, senders):
    """Writes a capture of senders that share the link to one receiver and spread their packets over four UDP source
    ports. In the middle the switch marks packets, and each CNP slows its sender."""
    frames = []
    for n in range(senders):
        rng, t, cnp = random.Random(n), Connection(n, mtu=1024), 0
        t.hosts[0] = bytes([10, 0, 17, 1 + n])
        t.sport[0] = lambda rng=rng: 0xC000 + rng.randrange(4)
        start = t.now
        while t.now < start + 10 * MS:
            crowded = 2 * MS < t.now - start < 7 * MS
            parts = [t.write(0, 1024, tos=0x6B if crowded and rng.random() < 0.5 else 0x6A)[0] for _ in range(4)]
            t.add_all(0, parts)
            if t.now > cnp + 50 * US and any(part[15] & 3 == 3 for part in parts):
                t.add(1, t.cnp(1))
                cnp, t.step = t.now, min(8 * t.step // 5, 60 * US)
            t.add(1, t.ack(1, t.psn[0] - 1), wait=2 * US)
            t.step = max(10 * US, (97 if crowded else 85) * t.step // 100)
        frames += t.frames
    write_capture(path, frames)


def write_capture(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time, data in sorted(frames):
            out.write(struct.pack("<IIII", *divmod(time, 10 ** 9), len(data), len(data)) + data)


def check_sprayed(browser, rocedrill, folder):
    """Expects one path for each UDP source port of a connection: each packet, also each retransmission, has another one."""
    path, ports, t = os.path.join(folder, "sprayed.pcap"), 600, Connection(mtu=1024)
    numbers = itertools.count(0x8000)
    t.sport[0] = lambda: next(numbers)
    t.add_all(0, t.write(0, 1024 * ports))
    t.psn[0] -= ports
    t.now += 20 * MS
    t.add_all(0, t.write(0, 1024 * ports)[-20:])
    t.add(1, t.ack(1, t.psn[0] - 1, msn=1))
    write_capture(path, t.frames)
    check_capture(browser, rocedrill, folder, path, "sprayed", "spent 97 % of its 20.62 ms waiting")
    lanes = browser.run("document.querySelectorAll('[data-graph=lanes]').length ? rocedrill.view.lanes.length : 0")
    if lanes != ports + 20 + 1:
        fail("sprayed", f"{lanes} paths")


def check_one_direction(browser, rocedrill, folder):
    """Expects no graph of bytes in flight if the capture has no acknowledgement."""
    path, t = os.path.join(folder, "one-direction.pcap"), Connection(mtu=1024)
    for _ in range(600):
        t.add_all(0, t.write(0, 2048))
    write_capture(path, t.frames)
    open_page(browser, "one direction", make_page(rocedrill, folder, path))
    graphs = browser.run("rocedrill.view.graphs.map(g => g.div.closest('figure').dataset.graph)")
    if "psn0" not in graphs or "flight" in graphs:
        fail("one direction", f"graphs {graphs}")


def check_incast(browser, rocedrill, folder):
    path, senders = os.path.join(folder, "incast.pcap"), 6
    write_incast(path, senders)
    check_capture(browser, rocedrill, folder, path, "incast", "asked the sender to slow down (837 Mbit/s before, 120 Mbit/s at the lowest)")
    graphs = browser.run("[...document.querySelectorAll('figure[data-graph]')].map(f => f.dataset.graph)")
    if not {"rate", "lanes"} <= set(graphs):
        fail("incast", f"no graph of congestion or paths: {graphs}")
    labels = browser.run("[...document.querySelectorAll('[data-graph=lanes] .dygraph-axis-label-y')].map(e => e.textContent)")
    if sorted(set(labels)) != [f"port {0xC000 + i}" for i in range(4)] + [f"port {Connection().sport[1]()}"]:
        fail("incast", f"names of paths: {labels}")
    if browser.run("document.querySelectorAll('#conns tbody tr').length") != senders:
        fail("incast", f"the table has not {senders} connections")
    check_overview(browser, "incast", senders)


# Returns for each row of the heat map its colours that are marks, and whether it has another colour.
HEAT = """(() => {
  const c = document.getElementById('heat'), marks = RoceHeat.KINDS.map(([m]) => [m, RoceGraph.color(m).slice(1)]);
  const hex = (d, k) => [d[k], d[k + 1], d[k + 2]].map(v => v.toString(16).padStart(2, '0')).join('');
  return rocedrill.conns.map((conn, row) => {
    const d = c.getContext('2d').getImageData(52, row * 16, c.width, 16).data, seen = new Set();
    for (let k = 0; k < d.length; k += 4) if (d[k + 3]) seen.add(hex(d, k));
    return [marks.filter(m => seen.has(m[1])).map(m => m[0]), seen.size > 0];
  });
})()"""

# Returns for each row of the heat map its connection, its bytes, the number of each kind of mark, and its text.
HEAT_ROWS = """rocedrill.heat.rows.map((row, i) => [row.conn.connection || 0, Math.round(row.bytes.reduce((a, b) => a + b)),
  row.marks.map(m => m.reduce((a, b) => a + b)), rocedrill.heat.text(i, -1)])"""


def write_troubles(path):
    """Writes a capture of five connections: one lost packet; receiver not ready; timeout; CNP; no trouble."""
    frames = []
    for n in range(5):
        t = Connection(n, mtu=1024)
        t.hosts[0] = bytes([10, 0, 17, 1 + n])
        parts = t.write(0, 4096)
        first = t.psn[0] - 4
        t.add_all(0, parts if n != 0 else parts[:1] + parts[2:])
        if n == 0:
            t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
        if n == 1:
            t.add(1, t.ack(1, first, syndrome=RNR | 14, msn=0))
            t.now += 2 * MS
        if n == 2:
            t.now += 9 * MS
        if n < 3:
            t.add_all(0, [retransmission(t, part) for part in parts[n == 0:]])
        if n == 3:
            t.add(1, t.cnp(1))
        t.add(1, t.ack(1, t.psn[0] - 1))
        frames += t.frames
    write_capture(path, frames)


def check_heat(browser, rocedrill, folder):
    """Expects that the heat map has the marks and bytes that check --json counts, and that keys and the mouse read it."""
    name, path = "heat map", os.path.join(folder, "troubles.pcap")
    write_troubles(path)
    open_page(browser, name, make_page(rocedrill, folder, path))
    run = subprocess.run([rocedrill, "check", "--json", "-", path], stdout=subprocess.PIPE, check=False)
    conns = {o["connection"]: o for o in map(json.loads, run.stdout.splitlines()) if o["type"] == "connection"}
    texts = ["1 NAK", "1 RNR NAK", "4 packets retransmitted after a timeout", "1 CNP", ""]
    rows = browser.run(HEAT_ROWS)
    if len(rows) != 5:
        fail(name, f"{len(rows)} rows")
    for (number, size, marks, text), (drawn, filled) in zip(rows, browser.run(HEAT)):
        line = conns[number]
        sides = [line["a"], line["b"]]
        want = [sum(s["psn_naks"] + s["fatal_naks"] for s in sides), sum(s["rnr_naks"] for s in sides)]
        want += [sum(s["retransmissions"].get(cause, {"packets": 0})["packets"] for s in sides) for cause in ("timeout", "spurious_timeout")]
        want.append(sum(s["cnps"] for s in sides))
        kinds = [kind for kind, count in zip(("nak", "rnr", "timeout", "spurious", "cnp"), want) if count]
        again = sum(r["bytes"] for s in sides for r in s["retransmissions"].values()) - 1024 * sum(s["missing_psns"] for s in sides)
        if marks != want or drawn != kinds or not filled or texts[number] not in text or len(kinds) != (number < 4):
            fail(name, f"connection {number}: marks {marks} drawn as {drawn}, '{text}', JSON {want}")
        if size != sum(s["goodput_bytes"] for s in sides) + again:
            fail(name, f"connection {number}: {size} bytes, JSON {sides[0]['goodput_bytes']} and {again} again")
    legend = browser.run("[...document.getElementById('heat-legend').children].map(e => e.hidden)")
    if legend != [False, False, False, False, True, False]:
        fail(name, f"entries of the legend that are hidden: {legend}")
    label, status = browser.run("document.getElementById('heat').getAttribute('aria-label')"), "document.getElementById('heat-status').textContent"
    if "5 connections" not in label or any(text not in label for text in texts):
        fail(name, f"label '{label}'")
    browser.run("document.getElementById('heat').focus()")
    for key, code, want in (("ArrowDown", 40, rows[1][3]), ("ArrowDown", 40, rows[2][3]), ("ArrowUp", 38, rows[1][3]), ("End", 35, rows[4][3]), ("Home", 36, rows[0][3])):
        browser.key(key, code)
        if browser.run(status) != want:
            fail(name, f"{key} reads '{browser.run(status)}', not '{want}'")
    browser.key("ArrowDown", 40)
    browser.key("ArrowRight", 39)
    if " 0 to " not in browser.run(status) or "kB" not in browser.run(status) and "bytes" not in browser.run(status):
        fail(name, f"the first cell reads '{browser.run(status)}'")
    browser.key("Enter", 13)
    if not browser.run("rocedrill.chosen === rocedrill.conns[1] && document.activeElement.id === 'connection'"):
        fail(name, "Enter does not open the connection of the row")
    browser.run("document.getElementById('heat').scrollIntoView()")
    left, top = browser.run("(() => { const b = document.getElementById('heat').getBoundingClientRect(); return [b.left, b.top]; })()")
    browser.move(left + 20, top + 2 * 16 + 8)
    tip = browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    if not tip.startswith(rows[2][3]):
        fail(name, f"pointing at a row shows '{tip}', not '{rows[2][3]}'")
    browser.click(left + 20, top + 2 * 16 + 8)
    number = rows[2][0]
    check_filter(name, path, "row", browser.clipboard(), [e["frame"] for e in events_of(rocedrill, folder, path)
                                                          if e["event"] == "packet" and e["connection"] == number])


# Returns, for each wait of the time budget that a retransmission or a response ended: its cause, and its length according to the
# bands of the graph and to check, both in us.
BANDS = """(() => {
  const colors = {response: 'slow', timeout: 'timeout', spurious_timeout: 'spurious', read_gap: 'response-again', rnr_nak: 'rnr',
    sequence_nak: 'nak', unknown: 'other'};
  return (rocedrill.chosen.waits || []).filter(w => colors[w.cause]).map(w => [w.cause, Math.round(rocedrill.view.bands
    .filter(b => b.color === colors[w.cause] && b.direction === (w.side === 'b' ? 1 : 0)).reduce((sum, b) => sum + (b.to - b.from) * 1e6, 0)),
    Math.round(w.ns / 1e3)]); })()"""


def check_bands(browser, name):
    """The bands of the graph are as long as the waits of the time budget."""
    if browser.run("rocedrill.view !== null && !rocedrill.chosen.merged"):
        for cause, drawn, waited in browser.run(BANDS):
            if abs(drawn - waited) > 2:
                fail(name, f"bands of {cause}: {drawn} us; wait: {waited} us")


def check_slow_receiver(browser, rocedrill, folder, path):
    """The page has bands of both waits, and says what to do. Known deviations are the last findings."""
    name = "slow receiver"
    open_page(browser, name, make_page(rocedrill, folder, path))
    legend = browser.run("document.querySelector('[data-graph=psn0] .legend').textContent")
    if "slow response" not in legend or "wait after an RNR NAK" not in legend:
        fail(name, f"legend: {legend}")
    advice = browser.run("document.getElementById('advice').textContent")
    if advice != "On 192.0.2.2, post receive buffers earlier, or post more; each RNR NAK costs at least min_rnr_timer.":
        fail(name, f"advice '{advice}'")
    known = browser.run("[...document.querySelectorAll('#findings tbody tr')].map(r => r.textContent.includes('known deviation'))")
    if known != sorted(known) or len(set(known)) != 2:
        fail(name, f"known deviations among the findings: {known}")


def check_tables(browser, rocedrill, folder):
    """A table of more than 10 rows shows that it has more. On a narrow screen, no table scrolls sideways."""
    name, path = "tables", os.path.join(folder, "incast.pcap")
    write_incast(path, 12)
    open_page(browser, name, make_page(rocedrill, folder, path))
    shown = "[...document.querySelectorAll('#conns tbody tr')].filter(r => r.offsetHeight).length"
    first = browser.run(shown)
    browser.run("document.querySelector('#overview-conns .more input').click()")
    if (first, browser.run(shown)) != (10, 12):
        fail(name, f"{first} rows, then {browser.run(shown)} of 12")
    browser.call("Emulation.setDeviceMetricsOverride", width=800, height=1200, deviceScaleFactor=1, mobile=False)
    wide = browser.run("[...document.querySelectorAll('.scroll')].filter(d => d.scrollWidth > d.clientWidth).map(d => d.ariaLabel)")
    browser.call("Emulation.clearDeviceMetricsOverride")
    if wide:
        fail(name, f"wider than a screen of 800 pixels: {wide}")


def check_overview(browser, name, senders):
    """Sorts and filters the table of connections, and looks at the heat map."""
    column = "[...document.querySelectorAll('#conns tbody tr')].map(r => Number(r.cells[2].textContent.replace(',', '')))"
    sort = "[...document.querySelectorAll('#conns th button')].find(b => b.textContent.startsWith('Packets')).click()"
    browser.run(sort)
    down = browser.run(column)
    browser.run(sort)
    if down != sorted(down, reverse=True) or len(set(down)) < 2 or browser.run(column) != down[::-1]:
        fail(name, f"sorted by packets: {down}, then {browser.run(column)}")
    heat = browser.run(HEAT)
    if heat != senders * [[["cnp"], True]]:
        fail(name, f"heat map: {heat}")
    browser.run("document.getElementById('heat').scrollIntoView()")
    left, top = browser.run("(() => { const b = document.getElementById('heat').getBoundingClientRect(); return [b.left, b.top]; })()")
    browser.click(left + 80, top + 3 * 16 + 8)
    if not browser.run("rocedrill.chosen === rocedrill.conns[3]"):
        fail(name, "a click on the heat map does not choose its connection")
    browser.run("(() => { const f = document.getElementById('filter'); f.value = '10.0.17.3 no'; f.dispatchEvent(new Event('input')); })()")
    found = browser.run("rocedrill.conns.map(c => c.a.address)"), browser.run("document.getElementById('shown').textContent")
    browser.run("(() => { const f = document.getElementById('filter'); f.value = '10.0.17.3'; f.dispatchEvent(new Event('input')); })()")
    found += browser.run("rocedrill.conns.map(c => c.a.address)"), browser.run("document.getElementById('shown').textContent")
    if found != ([], f"0 of {senders} connections", ["10.0.17.3"], f"1 of {senders} connections"):
        fail(name, f"filter: {found}")


def check_keyboard(browser, rocedrill, folder, path):
    """Uses the page with keys only."""
    name = "keyboard"
    open_page(browser, name, make_page(rocedrill, folder, path))
    seen = set()
    for _ in range(60):
        browser.key("Tab", 9)
        seen.add(browser.run("document.activeElement.id || (document.activeElement.closest('figure') || {dataset: {}}).dataset.graph || ''"))
    for want in "zoom-in", "next", "psn0", "latency", "messages":
        if want not in seen:
            fail(name, f"Tab does not reach {want}: {sorted(seen)}")
    browser.run("document.querySelector('[data-graph=psn0] .graph').focus()")
    status = "document.getElementById('status').textContent"
    browser.key("n")
    first = browser.run(status)
    if "frame" not in first:
        fail(name, f"key n announces '{first}'")
    browser.key("ArrowRight", 39)
    if browser.run(status) == first:
        fail(name, "the arrow key does not select the next packet")
    length = "rocedrill.view.window[1] - rocedrill.view.window[0]"
    before = browser.run(length)
    browser.key("+")
    browser.frames()
    if not browser.run(length) < before * 0.6:
        fail(name, "+ does not zoom")
    windows = browser.run("rocedrill.view.graphs.map(g => g.dygraph.xAxisRange()[0])")
    if len(set(windows)) != 1:
        fail(name, f"the graphs have different windows: {windows}")
    browser.key("0")
    browser.frames()
    if abs(browser.run(length) - before) > 1e-9:
        fail(name, "0 does not reset the zoom")
    browser.key("n")
    browser.key("Enter", 13)
    browser.frames()
    if "frame.number" not in browser.run(status):
        fail(name, f"Enter announces '{browser.run(status)}'")
    browser.run("document.querySelector('#findings tbody button').click()")
    if browser.run("document.activeElement.id") != "connection" or "frame" not in browser.run(status):
        fail(name, "a finding does not lead to its place")


# Scrolls to a graph, and returns the place on the screen of a run or message in it. Returns null if the graph
# did not draw it.
SPOT = """(([graph, item, i]) => {
  const g = rocedrill.view.graphs.find(g => g.div.closest('figure').dataset.graph === graph), h = g.hits;
  g.div.scrollIntoView({block: 'center'});
  const box = g.div.getBoundingClientRect();
  for (let k = 0; k < h.length; k += 6)
    if (['run', 'message', 'band', 'bin'][h[k + 4]] === item && h[k + 5] === i)
      return [box.left + (h[k] + h[k + 1]) / 2, box.top + (h[k + 2] + h[k + 3]) / 2];
  return null;
})(%s)"""


def check_spot(browser, name, what, words, display_filter):
    """Moves the mouse to a run or message. Expects that the page shows `words`, and that a click copies the display filter."""
    spot = browser.run(SPOT % json.dumps(what))
    if not spot:
        return fail(name, f"no {what}")
    browser.move(*spot)
    shown = browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    for word in words:
        if word not in shown:
            fail(name, f"{what}: no '{word}' in '{shown}'")
    browser.click(*spot)
    if browser.clipboard() != display_filter:
        fail(name, f"{what}: the click copies '{browser.clipboard()}', not '{display_filter}'")


# Returns the time range, in ns, and the index of the largest bin of a graph.
BIN = """((graph) => {
  const v = rocedrill.view, g = v.graphs.find(g => g.div.closest('figure').dataset.graph === graph), b = g.bins;
  const sums = Array.from(b.values[0]).map((x, i) => x + b.values[1][i]), i = sums.indexOf(Math.max(...sums));
  return [i, ...[i, i + 1].map(k => (v.window[0] + k * b.seconds) * 1e9)];
})(%s)"""


def events_of(rocedrill, folder, path):
    """Returns the lines of check --events, with times from the first packet on."""
    events = os.path.join(folder, "events")
    subprocess.run([rocedrill, "check", "-q", "--events", events, path], check=False)
    with open(events, encoding="utf-8") as text:
        lines = [json.loads(line) for line in text]
    first = min(e["time_ns"] for e in lines if e["event"] == "packet")
    return [dict(e, at=e.get("time_ns", first) - first) for e in lines]


def check_filter(name, path, what, display_filter, frames):
    """Expects that Wireshark accepts the filter and finds these frames."""
    if not shutil.which("tshark"):
        return
    run = subprocess.run(["tshark", "-r", path, "-Y", display_filter, "-T", "fields", "-e", "frame.number"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0 or [int(n) for n in run.stdout.split()] != sorted(frames):
        fail(name, f"{what}: the filter {display_filter} finds {run.stdout.split()} {run.stderr}, not {sorted(frames)}")


def check_pointing(browser, rocedrill, folder, path, graph, unit):
    """Points at the largest bin of a graph, and at a row of a distribution. The filters that they copy find their packets."""
    name = "pointing at " + graph
    open_page(browser, name, make_page(rocedrill, folder, path))
    lines = events_of(rocedrill, folder, path)
    i, low, high = browser.run(BIN % json.dumps(graph))
    of = [e for e in lines if e["event"] == "packet" and low <= e["at"] <= high and e["connection"] == 0]
    of = [e for e in of if e["payload"]] if graph == "data" else of
    spot = browser.run(SPOT % json.dumps([graph, "bin", i]))
    browser.move(*spot)
    tip = browser.run("document.getElementById('tip').textContent")
    packets = browser.run(f"RoceData.count({len(of)}, 'packet')")
    if f"{packets} in frames {of[0]['frame']} to {of[-1]['frame']}" not in tip or unit not in tip:
        fail(name, f"the largest bin shows '{tip}', not {len(of)} packets")
    browser.click(*spot)
    check_filter(name, path, "bin", browser.clipboard(), [e["frame"] for e in of])
    rows = browser.run("[...document.querySelectorAll('#graphs details')].length")
    if not rows:
        return fail(name, "no distribution")
    browser.run("document.querySelector('#graphs details').open = true")
    title, low, high, count = browser.run("""(() => { const d = document.querySelector('#graphs details'), b = d.querySelector('button');
      const [side, kinds] = Object.entries(rocedrill.chosen.histogram)[0], [key, numbers] = Object.entries(kinds)[0]; b.click();
      return [side + ' ' + key, numbers[0], numbers[1], Number(b.textContent)]; })()""")
    frames = [e["frame"] for e in lines if e["event"] == "operation" and e["side"] + " " + e["operation"] == title
              and e["latency_ns"] is not None and low <= e["latency_ns"] < high]
    if len(frames) != count:
        fail(name, f"the distribution of {title} has {count} operations from {low} to {high} ns, --events {frames}")
    check_filter(name, path, "distribution", browser.clipboard(), set(frames))


def check_mouse(browser, rocedrill, folder, path):
    """Moves the mouse to the first packets of several kinds, and to an operation. The expected texts are from --events."""
    name, events = "mouse", os.path.join(folder, "events")
    open_page(browser, name, make_page(rocedrill, folder, path))
    subprocess.run([rocedrill, "check", "-q", "--events", events, path], check=False)
    with open(events, encoding="utf-8") as text:
        lines = [json.loads(line) for line in text]
    packets = {e["frame"]: e for e in lines if e["event"] == "packet"}
    start = min(e["time_ns"] for e in packets.values())
    for of_class in "request", "repeated request", "nak", "ack", "response":
        i = browser.run(f"rocedrill.view.runs.style.findIndex((s, i) => s.class === '{of_class}' && i > 1)")
        frame = browser.run(f"rocedrill.view.runs.frame[{i}]")
        e = packets[frame]
        time = browser.run(f"RoceData.duration({e['time_ns'] - start})")
        words = of_class.upper() if "ack" in of_class or "nak" in of_class else f"{of_class} ({e['opcode'].split()[1]}"
        findings = [f[key] for f in lines if f["event"] == "finding" and f["frame"] == frame for key in ("rule", "text")]
        check_spot(browser, name, ["psn0", "run", i],
                   [f"frame {frame}: {words}", f"{e['psn']} in the packet", f"at {time} from", *findings],
                   f"frame.number == {frame}")
        rows = browser.run("[...document.querySelectorAll('#findings tr.chosen')].map(r => Number(r.dataset.frame))")
        if set(rows) != ({frame} if findings else set()):
            fail(name, f"a click on frame {frame} marks the findings of {rows}")
    done = browser.run("rocedrill.view.messages[1]")
    for graph in "messages", "latency":
        check_spot(browser, name, [graph, "message", 1],
                   [f"{done['kind']}, {done['bytes']} bytes", "took ", f"completed in frame {done['frame']}"],
                   f"frame.number == {done['frame']}")
    band = browser.run("(b => [b.text, b.from * 1e9, b.to * 1e9])(rocedrill.view.bands[0])")
    browser.run("rocedrill.view.setWindow(rocedrill.view.bands[0].from - 1e-4, rocedrill.view.bands[0].to + 1e-4)")
    during = [e["frame"] for e in packets.values() if band[1] - 1 <= e["time_ns"] - start <= band[2] + 1]
    check_spot(browser, name, ["psn0", "band", 0], [band[0] + ": ", f"it ended with frame {max(during)}"],
               f"frame.number >= {min(during)} && frame.number <= {max(during)}")
    browser.run("rocedrill.view.reset()")
    window = "rocedrill.view.window"
    left, right, y = browser.run("""(() => { const g = rocedrill.view.graphs[0]; g.div.scrollIntoView({block: 'center'});
        const b = g.div.getBoundingClientRect(), a = g.dygraph.getArea();
        return [b.left + a.x, b.left + a.x + a.w, b.top + a.y + a.h / 2]; })()""")
    start, end = browser.run(window)
    browser.drag(left + (right - left) / 4, left + (right - left) / 2, y)
    first, last = browser.run(window)
    wide = (last - first) / (end - start), (first - start) / (end - start)
    if not all(abs(share - 0.25) < 0.01 for share in wide):
        fail(name, f"dragging a quarter zooms to {wide}")
    browser.drag(left + (right - left) / 4, left + (right - left) / 2, y, shift=True)
    moved = [(after - before) / (last - first) for before, after in zip((first, last), browser.run(window))]
    ranges = browser.run("rocedrill.view.graphs.map(g => g.dygraph.xAxisRange()[0])")
    if not all(abs(share + 0.25) < 0.01 for share in moved) or len(set(ranges)) != 1:
        fail(name, f"dragging a quarter with Shift moves by {moved}; graphs begin at {ranges}")
    browser.move(1, 1)
    if not browser.run("document.getElementById('tip').hidden"):
        fail(name, "the tip stays when the mouse leaves the graph")


def differences(browser):
    """Returns the rows of all tables of differences: field, expected value, actual value, rule with its text."""
    return browser.run("[...document.querySelectorAll('table.differences tbody tr')].map(r => "
                       "[1, 2, 3, 5].map(i => r.cells[i].textContent.trim()))")


def check_rows(name, have, want):
    """Compares the tables of differences with those of a JSON report (`want`). The page adds the text of the
    rule to its id."""
    if [r[:3] for r in have] != [[d.get("field", ""), d.get("recorded") or d.get("expected", ""),
                                  d.get("replayed") or d.get("actual", "")] for d in want]:
        fail(name, f"differences {have}, JSON {want}")
    for row, d in zip(have, want):
        if not row[3].startswith(d.get("rule", "")) or ("rule" in d and len(row[3]) < len(d["rule"]) + 10):
            fail(name, f"rule '{row[3]}' instead of {d.get('rule')} and its text")


def check_ladders(browser, name, cnt):
    """Expects `cnt` ladders, each with its difference, and nothing outside of a drawing."""
    found = browser.run("""[...document.querySelectorAll('svg.ladder')].map(s => {
        const box = s.getBoundingClientRect();
        return [s.querySelectorAll('.spot').length, s.querySelectorAll('.detail').length,
            [...s.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > box.right + 1
              || t.getBoundingClientRect().left < box.left - 1).map(t => t.textContent)]; })""")
    if len(found) < cnt or not all(spots and details and not outside for spots, details, outside in found):
        fail(name, f"ladders {found}, wanted {cnt}")


def check_markup(browser, name, scripts):
    for problem in browser.problems():
        fail(name, problem)
    if browser.run("document.querySelectorAll('img, svg:not(.ladder), iframe, object, [onload], [onerror]').length"):
        fail(name, "text became markup")
    if browser.run("document.querySelectorAll('script').length") != scripts:
        fail(name, "text became a script")


def check_replay(browser, rocedrill, folder, captures):
    """Checks the pages of failing replays: one capture in rocedrill's own process, several in worker processes.
    Captures of Linux fail if no known deviation is excused."""
    page, report = (os.path.join(folder, n) for n in ("page.html", "report.json"))
    many = [os.path.join(folder, n) for n in HOSTILE]
    for name in many:
        shutil.copy(f"{captures}/rc-loss-read-responses.pcap", name)
    for paths in [f"{captures}/rc-loss-read-responses.pcap"], many + [f"{captures}/rc-atomics.pcap"]:
        name = f"replay of {len(paths)}"
        run = subprocess.run([rocedrill, "replay", "-q", "--quirks", "none", "--json", report, "--html", page, *paths], check=False)
        with open(report, encoding="utf-8") as text:
            reports = json.load(text)["captures"]
        if run.returncode != 1:
            fail(name, f"status {run.returncode}")
        open_page(browser, name, page)
        check_rows(name, differences(browser), [d for r in reports for d in r["differences"] if r["verdict"] == "FAIL"])
        check_ladders(browser, name, sum(r["verdict"] == "FAIL" for r in reports))
        if browser.run("document.querySelectorAll('#results tbody tr').length") != (len(paths) if len(paths) > 1 else 0):
            fail(name, "the table of results has not all captures")
        if not browser.run("document.querySelectorAll('figure[data-graph^=psn]').length"):
            fail(name, "no graph of packets")
        if "FAIL" not in browser.run("document.getElementById('lead').textContent"):
            fail(name, "the first sentence lacks the verdict")
        check_markup(browser, name, 6)
        audit(browser, name)


DRILL = """purpose {0}
rules RC-RSP-099
role responder
mr M len 64 access write
qp Q rc
# {0}
+0 < WRITE Only PSN +0 va M+0 payload 8 AckReq
+0 > Acknowledge PSN +0 ACK MSN 7 [RC-RSP-102]
"""


def check_drill(browser, rocedrill, folder):
    name, evil = "drill", "</script><img src=x onerror=hacked()><svg onload=hacked()>"
    page, report, drills = (os.path.join(folder, n) for n in ("page.html", "report.json", "drills"))
    os.mkdir(drills)
    for file, text in ("\"'><script>hacked()&lt;.drill", DRILL.format(evil)), ("bad.drill", evil), \
            ("good.drill", DRILL.format("good").replace("MSN 7", "MSN 1")):
        with open(os.path.join(drills, file), "w", encoding="utf-8") as out:
            out.write(text)
    run = subprocess.run([rocedrill, "drill", "--device", evil, "--json", report, "--html", page, "--record", os.path.join(folder, "recorded"),
                          drills], stdout=subprocess.DEVNULL, check=False)
    with open(report, encoding="utf-8") as text:
        cases = json.load(text)["drills"]
    if run.returncode != 2:
        fail(name, f"status {run.returncode}")
    open_page(browser, name, page)
    check_rows(name, differences(browser), [c for c in cases if c["verdict"] == "fail"])
    files = browser.run("JSON.parse(document.getElementById('data').textContent).captures.map(c => c.file)")
    if len(files) != 1 or not files[0].startswith(os.path.join(folder, "recorded")) or not browser.run("rocedrill.view.graphs.length"):
        fail(name, f"graphs of the recordings {files}")
    check_ladders(browser, name, 1)
    if browser.run("[...document.querySelectorAll('#results .badge')].map(b => b.textContent)") != [c["verdict"] for c in cases]:
        fail(name, "the table of results differs from the JSON")
    lead = browser.run("document.getElementById('lead').textContent")
    if not lead.startswith(evil + ": 2 of 3 cases failed; "):
        fail(name, f"first sentence '{lead}'")
    check_markup(browser, name, 6)
    audit(browser, name)


def check_timeline(browser, rocedrill, folder):
    """Opens the page of a real run with --timeline: each message has the times of the program in its row and in its text."""
    name, packets, rows = "timeline", os.path.join(folder, "run.pcapng"), os.path.join(folder, "rows")
    runner, page = os.path.join(os.path.dirname(rocedrill), "rnic-run"), os.path.join(folder, "page.html")
    pair = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../programs/pair.py")
    if not os.path.exists(runner) or not shutil.which("ibv_rc_pingpong"):
        return
    pingpong = "ibv_rc_pingpong -g 1 -n 20".split()
    run = subprocess.run([runner, "-n", "-i", "lo", "--seed", "1", "-w", packets, "--timeline=" + rows, "--", sys.executable, pair, "--port",
                          "18515", *pingpong, "---", *pingpong, "127.0.0.1"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False)
    if run.returncode != 0:
        return fail(name, f"rnic-run: status {run.returncode}: {run.stdout}")
    subprocess.run([rocedrill, "check", "-q", "--html", page, "--timeline", rows, packets], check=False)
    open_page(browser, name, page)
    with open(rows, encoding="ascii") as text:
        polled = sorted(float(line.split()[13]) for line in text.read().splitlines()[2:])
    drawn = browser.run("rocedrill.view.messages.map(m => (m.steps[6] - m.begin) * 1e6).sort((a, b) => a - b)")
    if len(polled) != 40 or len(drawn) != 40 or any(abs(a - b) > 0.2 for a, b in zip(polled, drawn)):
        fail(name, f"polled after {drawn} us, rnic-run {polled}")
    legend = browser.run("document.querySelector('[data-graph=messages] .legend').textContent")
    if not all(step in legend for step in ("posted", "acknowledged", "completed", "polled")):
        fail(name, f"legend '{legend}'")
    message = browser.run("(m => [m.frame, ...[2, 4, 5, 6].map(k => RoceData.duration((m.steps[k] - m.begin) * 1e9))])(rocedrill.view.messages[7])")
    check_spot(browser, name, ["messages", "message", 7],
               [f"first packet {message[1]}", f"acknowledged {message[2]}", f"completed {message[3]}", f"polled {message[4]}"],
               f"frame.number == {message[0]}")
    audit(browser, name)


def check_unreadable(browser, rocedrill, folder):
    empty, page = os.path.join(folder, "empty.pcap"), os.path.join(folder, "page.html")
    open(empty, "w", encoding="ascii").close()
    run = subprocess.run([rocedrill, "check", "-q", "--html", page, empty], stderr=subprocess.DEVNULL, check=False)
    open_page(browser, "unreadable", page)
    lead = browser.run("document.getElementById('lead').textContent")
    if run.returncode != 2 or lead != "No capture could be read.":
        fail("unreadable", f"status {run.returncode}, first sentence '{lead}'")


def check_without_scripts(browser, rocedrill, folder, path):
    """A server such as Jenkins forbids the scripts of the files that it keeps. The page then says what to do."""
    page = make_page(rocedrill, folder, path)
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.events = []
    browser.call("Page.navigate", url="file://" + page)
    browser.wait_event("Page.loadEventFired")
    said = browser.run("document.querySelector('noscript').innerText")
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    if "rocedrill check CAPTURE" not in said:
        fail("without scripts", f"'{said}'")


def check_names(browser, rocedrill, folder, path):
    """Expects that the names of captures never become markup."""
    copies = []
    for name in HOSTILE:
        copies.append(os.path.join(folder, name.replace("/", "\u2215") if "/" in name else name))
        shutil.copy(path, copies[-1])
    # A slash cannot be in a file name, but it can be in a path.
    deep = os.path.join(folder, "<", "script><script>hacked()<", "script>.pcap")
    os.makedirs(os.path.dirname(deep))
    shutil.copy(path, deep)
    copies.append(deep)
    page = make_page(rocedrill, folder, *copies)
    open_page(browser, "names", page)
    for i in range(len(copies)):
        browser.run(f"(() => {{ const s = document.getElementById('capture'); s.value = {i}; s.dispatchEvent(new Event('change')); }})()")
        browser.frames()
    check_markup(browser, "names", 6)
    shown = browser.run("document.getElementById('file').textContent")
    if shown != deep:
        fail("names", f"the page shows '{shown}'")


def check_payload(browser, rocedrill, folder):
    """Expects that a page has no payload of packets."""
    path, t = os.path.join(folder, "payload.pcap"), Connection(mtu=1024)
    for text in HOSTILE:
        t.add(0, t.frame(0, SEND_ONLY, t.use_psns(0), os.fsencode(text), 1))
    write_capture(path, t.frames)
    page = make_page(rocedrill, folder, path)
    open_page(browser, "payload", page)
    check_markup(browser, "payload", 6)
    with open(page, encoding="utf-8") as text:
        if "hacked" in text.read():
            fail("payload", "the page has payload")


def shoot_readme(browser, rocedrill, folder, captures, png):
    """Writes a picture of the top of a page, down to the graph of its packets."""
    os.chdir(captures)  # the page shows the name of the capture
    browser.open(make_page(rocedrill, folder, "rc-loss-requests.pcap"))
    browser.run("document.querySelectorAll('.hint, #conn-why, #tools, #overview-title').forEach(e => e.remove())")
    browser.frames()
    bottom = browser.run("document.querySelector('[data-graph=psn0]').getBoundingClientRect().bottom + scrollY")
    browser.screenshot(png, height=bottom + 10)


def shoot_all(browser, rocedrill, folder, captures, shots):
    for name in CAPTURES:
        browser.open(make_page(rocedrill, folder, f"{captures}/{name}.pcap"))
        for scheme in "light", "dark":
            browser.scheme(scheme)
            browser.screenshot(f"{shots}/{name}.{scheme}.png")


def main():
    rocedrill, chromium, captures = (shutil.which(a) or os.path.abspath(a) for a in sys.argv[1:4])
    rocedrill = os.path.abspath(rocedrill)
    if len(sys.argv) == 6:
        shoot, to = {"--readme": shoot_readme, "--shots": shoot_all}[sys.argv[4]], os.path.abspath(sys.argv[5])
        with tempfile.TemporaryDirectory() as folder, Chromium(chromium) as browser:
            return shoot(browser, rocedrill, folder, captures, to)
    with tempfile.TemporaryDirectory() as folder, Chromium(chromium) as browser:
        for name, words in CAPTURES.items():
            check_capture(browser, rocedrill, folder, f"{captures}/{name}.pcap", name, words)
        check_incast(browser, rocedrill, folder)
        check_heat(browser, rocedrill, folder)
        check_one_direction(browser, rocedrill, folder)
        check_slow_receiver(browser, rocedrill, folder, f"{captures}/rc-rnr-then-success.pcap")
        check_tables(browser, rocedrill, folder)
        check_sprayed(browser, rocedrill, folder)
        check_keyboard(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap")
        check_mouse(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap")
        check_pointing(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap", "data", "sent the first time")
        check_pointing(browser, rocedrill, folder, f"{captures}/rc-ecn.pcap", "rate", "bit/s")
        check_without_scripts(browser, rocedrill, folder, f"{captures}/rc-atomics.pcap")
        check_names(browser, rocedrill, folder, f"{captures}/rc-atomics.pcap")
        check_payload(browser, rocedrill, folder)
        check_replay(browser, rocedrill, folder, captures)
        check_drill(browser, rocedrill, folder)
        check_timeline(browser, rocedrill, folder)
        check_unreadable(browser, rocedrill, folder)
    sys.exit(failures > 0)


main()
