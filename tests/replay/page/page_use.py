# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that read and use a page by keyboard and mouse: heat map, tables, graphs, and things to point at. Called by
page_browser.py."""
import json
import os
import shutil
import subprocess
import sys

from page_captures import write_incast, write_troubles
from page_test import SPOT, audit, check_filter, check_spot, events_of, fail, make_page, open_page

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


def check_heat(browser, rocedrill, folder):
    """Expects that the heat map has the marks and bytes that check --json counts, and that keys and the mouse read it."""
    name, path = "heat map", os.path.join(folder, "troubles.pcap")
    write_troubles(path, 5)
    open_page(browser, name, make_page(rocedrill, folder, path))
    run = subprocess.run([rocedrill, "check", "--json", "-", path], stdout=subprocess.PIPE, check=False)
    conns = {o["connection"]: o for o in map(json.loads, run.stdout.splitlines()) if o["type"] == "connection"}
    texts = ["1 NAK", "1 RNR NAK, 1 NAK for the packet that an RNR NAK refused", "4 packets retransmitted after a timeout", "1 CNP", ""]
    rows = browser.run(HEAT_ROWS)
    if len(rows) != 5:
        fail(name, f"{len(rows)} rows")
    for (number, size, marks, text), (drawn, filled) in zip(rows, browser.run(HEAT)):
        line = conns[number]
        sides = [line["a"], line["b"]]
        want = [sum(s["psn_naks"] + s["fatal_naks"] for s in sides), sum(s["rnr_naks"] for s in sides)]
        want += [sum(s["retransmissions"].get(cause, {"packets": 0})["packets"] for s in sides) for cause in ("timeout", "spurious_timeout")]
        want.append(sum(s["cnps"] for s in sides))
        want.append(int(number == 1))  # the NAK after the RNR NAK
        want[0] -= want[-1]
        kinds = [kind for kind, count in zip(("nak", "rnr", "timeout", "spurious", "cnp", "refused"), want) if count]
        again = sum(r["bytes"] for s in sides for r in s["retransmissions"].values()) - 1024 * sum(s["missing_psns"] for s in sides)
        if marks != want or drawn != kinds or not filled or texts[number] not in text or len(kinds) != (1, 2, 1, 1, 0)[number]:
            fail(name, f"connection {number}: marks {marks} drawn as {drawn}, '{text}', JSON {want}")
        if size != sum(s["goodput_bytes"] for s in sides) + again:
            fail(name, f"connection {number}: {size} bytes, JSON {sides[0]['goodput_bytes']} and {again} again")
    legend = browser.run("[...document.getElementById('heat-legend').children].map(e => e.hidden)")
    if legend != [False, False, False, False, True, False, False]:
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
    browser.frames()
    stretched = browser.run("(c => c.width - c.clientWidth)(document.getElementById('heat'))")
    if stretched:
        fail(name, f"after a change of its width, the heat map has {stretched} pixels more than the screen")
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
    window = browser.run("rocedrill.view.window")
    colors = []
    for scheme in "dark", "light":
        browser.scheme(scheme)
        if browser.run("rocedrill.view.window") != window:
            fail(name, f"{scheme} colours change the zoom")
        colors.append(browser.run("rocedrill.view.graphs.map(g => g.dygraph.getOption('axisLineColor')).concat(RoceGraph.color('text'))"))
    if colors[0] == colors[1] or len(set(colors[0][:-1])) != 1:
        fail(name, f"colours of the axes: {colors}")
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


# Returns the time range, in ns, and the index of the largest bin of a graph.
BIN = """((graph) => {
  const v = rocedrill.view, g = v.graphs.find(g => g.div.closest('figure').dataset.graph === graph), b = g.bins;
  const sums = Array.from(b.values[0]).map((x, i) => x + b.values[1][i]), i = sums.indexOf(Math.max(...sums));
  return [i, ...[i, i + 1].map(k => (v.window[0] + k * b.seconds) * 1e9)];
})(%s)"""


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
      const {side, key, buckets: [[low, high]]} = rocedrill.chosen.distributions.find(d => d.buckets.length > 1); b.click();
      return ['ab'[side] + ' ' + key, low, high, Number(b.textContent)]; })()""")
    side, key = title.split()
    frames = [e["frame"] for e in lines if e["event"] == "operation" and (e["side"], e["operation"]) == (side, key)
              and e["latency_ns"] is not None and low <= e["latency_ns"] < high]
    if key == "rtt":
        frames = [e["frame"] for e in lines if e["event"] == "packet" and e["side"] != side and low <= e.get("rtt_ns", -1) < high]
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


def check_timeline(browser, rocedrill, folder):
    """Opens the page of a real run with --timeline: each message has the times of the program in its row and in its text."""
    name, packets, rows = "timeline", os.path.join(folder, "run.pcapng"), os.path.join(folder, "rows")
    runner, page = os.path.join(os.path.dirname(rocedrill), "rnic-run"), os.path.join(folder, "page.html")
    pair = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../programs/pair.py")
    lacking = [program for program in (runner, "ibv_rc_pingpong") if not shutil.which(program)]
    if lacking:
        return fail(name, f"no {', '.join(lacking)}")
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


def check_use(browser, rocedrill, folder, captures):
    check_heat(browser, rocedrill, folder)
    check_tables(browser, rocedrill, folder)
    check_keyboard(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap")
    check_mouse(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap")
    check_pointing(browser, rocedrill, folder, f"{captures}/rc-loss-requests.pcap", "data", "sent the first time")
    check_pointing(browser, rocedrill, folder, f"{captures}/rc-ecn.pcap", "rate", "bit/s")
    check_timeline(browser, rocedrill, folder)
