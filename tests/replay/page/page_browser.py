#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that pages of check, replay and drill --html in a headless Chromium cause no error or request, draw every
graph, can be used by keyboard, and list every difference of the JSON reports.

    page_browser.py ROCEDRILL CHROMIUM CAPTURES [--readme PNG | --shots FOLDER]

--readme writes the picture of README.md and tests nothing. --shots writes pictures of all pages in light
and dark colours."""
import os
import shutil
import sys
import tempfile

from chromium import Chromium
from page_captures import Connection, write_capture, write_incast, write_sprayed
from page_hostile import check_hostile
from page_test import audit, fail, failures, make_page, open_page
from page_use import check_overview, check_use

# Captures, and words of the first sentence that their pages must have.
CAPTURES = {
    "rc-loss-requests": "slow", "rc-loss-read-responses": "slow", "rc-rnr-then-success": "receive buffer",
    "rc-ecn": "congestion", "uc-loss": "lost", "ud-unicast": "No problem", "rc-reordering": "slow",
    "rc-retry-exhausted": "stuck", "rc-rnr-exhausted": "stuck", "rc-bad-rkey-write": "refused a request",
    "rc-bidirectional": "No problem", "rc-corruption": "", "rc-atomics": "", "rc-psn-wrap-loss": "",
    "multi-qp": "No problem", "cm-reject": "refused to set up",
}


# Returns the captions of figures that drew nothing: their canvas has one colour only.
EMPTY = """[...document.querySelectorAll("figure[data-graph]")].filter(f => {
  const c = f.querySelectorAll("canvas")[0], p = new Uint32Array(c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer);
  return new Set(p).size < 3;
}).map(f => f.dataset.graph)"""


# Returns the times on the axis of each graph.
AXES = """[...document.querySelectorAll("figure[data-graph]")].map(f =>
  [...f.querySelectorAll(".dygraph-axis-label-x")].map(e => e.textContent))"""


# Returns the terms below the report of the chosen connection, and those that its report contains.
EXPLAINED = """(() => { const of = (id) => [...document.querySelectorAll(id + ' .explain')].map(e => e.textContent);
  const text = ['conn-why', 'advice', 'budget', 'places-text'].map(id => document.getElementById(id).textContent).join(' ') + rocedrill.chosen.headline;
  return [of('#conn-words'), of('#words').filter(term => text.includes(term))]; })()"""


# Returns the visible entries of the legends.
LEGENDS = """[...document.querySelectorAll('.legend li')].filter(e => e.offsetHeight).map(e => e.textContent.trim())"""


# Returns the sketch of the places of losses: its lines of text, the marked parts of the path, and the names of the hosts; null if it is
# hidden.
PLACES = """document.getElementById('places').offsetHeight === 0 ? null :
  [[...document.querySelectorAll('#places-text li')].map(e => e.textContent),
  [...document.querySelectorAll('#places .lost')].map(e => [e.dataset.of, e.querySelector('text').textContent]),
  [...document.querySelectorAll('#places [data-end]')].map(e => e.textContent)]"""


def check_places(browser, name):
    """The sketch of a connection with a problem has the places of losses of check --json, and only those."""
    places = browser.run("rocedrill.chosen && rocedrill.chosen.loss_places || []")
    drawn, ends = browser.run(PLACES), browser.run("rocedrill.chosen && [rocedrill.chosen.a.address, rocedrill.chosen.b.address]")
    slow = browser.run("rocedrill.chosen && rocedrill.chosen.trouble >= 2")  # HEADLINE_MARKED
    if bool(drawn) != bool(places or slow):
        return fail(name, f"the sketch has {drawn}, JSON {places}")
    if not drawn:
        return None
    texts, marked, hosts = drawn
    parts = "a before, b beyond", "a behind, a beyond", "b behind, b beyond", "b before, a beyond"
    sums = {of: sum(place["packets"] for place in places if f"{place['side']} {place['part']}" in of) for of in parts}
    if texts != [place["text"] for place in places] or dict(marked) != {of: f"✕ {cnt}" + "?" * all(
            place.get("probable", False) for place in places if f"{place['side']} {place['part']}" in of) for of, cnt in sums.items() if cnt} or hosts != ends:
        fail(name, f"the sketch has {drawn}, JSON {places}")


# Returns the pairs of texts, and of texts and marks, that overlap in a graph, and the texts drawn on its canvas.
OVERLAPS = """(() => {
  const P = CanvasRenderingContext2D.prototype, texts = new Map(), marks = new Map(), saved = {fillText: P.fillText, closePath: P.closePath, arc: P.arc};
  const add = (map, c, ...what) => map.set(c.canvas, (map.get(c.canvas) || []).concat([what]));
  const points = new WeakMap(), begin = P.beginPath, line = P.lineTo;
  P.beginPath = function () { points.set(this, []); return begin.apply(this, arguments); };
  P.lineTo = function (x, y) { (points.get(this) || []).push([x, y]); return line.apply(this, arguments); };
  P.fillText = function (text, x, y) { add(texts, this, text, x, x + this.measureText(text).width, y - 9, y + 2); return saved.fillText.apply(this, arguments); };
  P.closePath = function () { const p = points.get(this), xs = p.map(q => q[0]), ys = p.map(q => q[1]);
    add(marks, this, 'mark', Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)); return saved.closePath.apply(this, arguments); };
  P.arc = function (x, y, r) { add(marks, this, 'ring', x - r, x + r, y - r, y + r); return saved.arc.apply(this, arguments); };
  rocedrill.view.setWindow(...rocedrill.view.window);
  Object.assign(P, saved, {beginPath: begin, lineTo: line});
  const found = [], said = [];
  for (const g of rocedrill.view.graphs) {
    const canvas = g.div.querySelector('canvas'), box = canvas.getBoundingClientRect();
    const own = texts.get(canvas) || [], all = own.concat([...g.div.querySelectorAll('.dygraph-axis-label')].map(e => {
      const range = document.createRange(); range.selectNodeContents(e); const r = range.getBoundingClientRect();
      return [e.textContent, r.left - box.left, r.right - box.left, r.top - box.top + 2, r.bottom - box.top - 2]; }).filter(e => e[0]));
    said.push(...own.map(e => e[0]));
    all.forEach((a, i) => all.slice(i + 1).concat(marks.get(canvas) || []).forEach(b => {
      if (a[1] < b[2] && b[1] < a[2] && a[3] < b[4] && b[3] < a[4]) found.push(g.div.closest('figure').dataset.graph + ': ' + a[0] + ' / ' + b[0]); }));
  }
  return [found, said];
})()"""


def check_labels(browser, name):
    """No text in a graph overlaps another text or a mark, on a wide and on a narrow screen. The time axis of the first graph is on the
    first screen."""
    single = browser.run("rocedrill.capture.connections.length === 1")
    for width in 1400, 400:
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        browser.frames()
        found, said = browser.run(OVERLAPS)
        if found:
            fail(name, f"{len(found)} overlapping texts with {width} pixels: {found[:5]}")
        if width == 1400 and name == "rc-loss-requests" and not {"1 packet missing", "3 packets missing"} <= set(said):
            fail(name, f"texts {said}")
        axis = browser.run("Math.max(...[...document.querySelectorAll('#packets figure:first-child .dygraph-axis-label-x')].map("
                           "e => e.getBoundingClientRect().bottom))")
        if width == 1400 and single and not 0 < axis <= 900:
            fail(name, f"the time axis of the first graph ends {axis} pixels from the top")
        if browser.run("[...document.querySelectorAll('.dygraph-axis-label-y')].some(e => e.offsetHeight > 24)"):
            fail(name, f"a label of a vertical axis has two lines with {width} pixels")
        if len(said) > 10 and max(said.count(text) for text in said) > 20:
            fail(name, f"texts repeated more than 20 times: {said[:20]}")
        if width == 400:
            check_axes(browser, f"{name} on a narrow screen")
    browser.call("Emulation.clearDeviceMetricsOverride")
    browser.frames()


def check_axes(browser, name):
    """Each time axis has at least two times, all different."""
    for labels in browser.run(AXES):
        if len(labels) < 2 or len(set(labels)) != len(labels):
            fail(name, f"times of an axis {labels}")


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
    check_places(browser, name)
    if browser.run("rocedrill.view !== null"):
        check_labels(browser, name)
    check_axes(browser, name)
    explained, used = browser.run(EXPLAINED) if browser.run("rocedrill.chosen !== null") else ([], [])
    if explained != used or (name == "rc-loss-requests" and not {"retransmitted", "PFC", "priority", "QP", "idle"} <= set(used)) \
            or (name == "rc-rnr-then-success" and not {"slow response", "min_rnr_timer", "post"} <= set(used)):
        fail(name, f"explains {explained}, not {used}")
    audit(browser, name)
    results = [text for text in browser.run(LEGENDS) if text.startswith("response:")]
    if name == "rc-atomics" and results != ["response: READ data or result of an atomic operation, sent by the other side"]:
        fail(name, f"legend of the responses: {results}")
    idle = [text for text in browser.run(LEGENDS) if "retransmitted" in text or "NAK" in text or "CNP" in text]
    if idle and name in ("multi-qp", "rc-bidirectional", "ud-unicast"):
        fail(name, f"the legends name what the connection does not have: {idle}")
    empty = browser.run(EMPTY)
    if empty:
        fail(name, f"empty graphs: {empty}")
    graphs = browser.run("document.querySelectorAll('figure[data-graph^=psn]').length")
    if (graphs == 0) != (name == "cm-reject"):
        fail(name, f"{graphs} graphs of packets")
    if name == "multi-qp" and browser.run("document.querySelectorAll('#conns tbody tr').length") != 4:
        fail(name, "the table has not 4 connections")


def check_sprayed(browser, rocedrill, folder):
    """Expects one path for each UDP source port of a connection."""
    path, ports = os.path.join(folder, "sprayed.pcap"), 600
    write_sprayed(path, ports)
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


# Returns for each wait of the time budget that ended with a retransmission or a response: its cause, its length in the graph (the
# bands), and its length according to `rocedrill check`. Both lengths are in us.
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
    if any(text not in legend for text in ("slow response", "wait for a retransmission (RNR NAK), since the latest request",
                                             "RNR NAK (receiver not ready): wait at least 10.24 ms (min_rnr_timer)")):
        fail(name, f"legend: {legend}")
    advice = browser.run("document.getElementById('advice').textContent")
    if advice != "On 192.0.2.2, post receive buffers earlier, or post more; each RNR NAK costs at least min_rnr_timer.":
        fail(name, f"advice '{advice}'")
    known = browser.run("[...document.querySelectorAll('#findings tbody tr')].map(r => r.textContent.includes('known deviation'))")
    if known != sorted(known) or len(set(known)) != 2:
        fail(name, f"known deviations among the findings: {known}")


def shoot_readme(browser, rocedrill, folder, captures, png):
    """Writes a picture of the top of a page, down to the graph of its packets."""
    os.chdir(captures)  # the page shows the name of the capture
    browser.open(make_page(rocedrill, folder, "rc-loss-requests.pcap"))
    browser.run("document.querySelectorAll('.hint:not(#conn-words), #conn-why, #tools, #overview-title').forEach(e => e.remove())")
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
        check_one_direction(browser, rocedrill, folder)
        check_slow_receiver(browser, rocedrill, folder, f"{captures}/rc-rnr-then-success.pcap")
        check_sprayed(browser, rocedrill, folder)
        check_use(browser, rocedrill, folder, captures)
        check_hostile(browser, rocedrill, folder, captures)
    sys.exit(bool(failures))


main()
