# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Functions of the tests of pages in a browser: messages, pages, contrast, and things to point at."""
import atexit
import json
import os
import shutil
import subprocess
import sys

failures = []


def fail(name, text):
    failures.append(name)
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


def audit(browser, name):
    for scheme in "light", "dark":
        browser.scheme(scheme)
        for problem in browser.run(AUDIT):
            fail(name, f"{scheme}: {problem}")


# Scrolls to a graph, and returns the place on the screen of one of its items: a run (of packets), message, band or bin. Returns
# null if the graph did not draw this item.
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


def events_of(rocedrill, folder, path):
    """Returns the lines of check --events, with times from the first packet on."""
    events = os.path.join(folder, "events")
    subprocess.run([rocedrill, "check", "-q", "--events", events, path], check=False)
    with open(events, encoding="utf-8") as text:
        lines = [json.loads(line) for line in text]
    first = min(e["time_ns"] for e in lines if e["event"] == "packet")
    return [dict(e, at=e.get("time_ns", first) - first) for e in lines]


class Sharkd:
    """Wireshark without a window. It answers several requests, so the test starts it only once."""
    child = None

    @classmethod
    def call(cls, method, **parameters):
        if cls.child is None:
            cls.child = subprocess.Popen(["sharkd", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            atexit.register(cls.child.kill)
        print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}), file=cls.child.stdin, flush=True)
        return json.loads(cls.child.stdout.readline())


def check_filter(name, path, what, display_filter, frames):
    """Expects that Wireshark accepts the filter and finds these frames."""
    if not shutil.which("sharkd"):
        return
    Sharkd.call("load", file=path)
    answer = Sharkd.call("frames", filter=display_filter)
    if [row["num"] for row in answer.get("result", [{"num": 0}])] != sorted(frames):
        fail(name, f"{what}: the filter {display_filter} finds {answer}, not {sorted(frames)}")
