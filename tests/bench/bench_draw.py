#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Measures the cost of Debian's drawing libraries in a headless Chromium. Its figures led to the choice of dygraphs.

    bench_draw.py [--points N]

Each library draws the same N points in 6 graphs with a common time axis, then zooms six times. Prints the size of the
library, the time until the graphs are drawn, and of the slowest zoom step: CPU time of the page's thread. Does not
fail. A library whose package (libjs-dygraphs, libjs-chart.js) is missing is left out, with a message."""
import argparse
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay", "page"))
from chromium import Chromium  # noqa: E402

GRAPHS = 6
LIBRARIES = {
    "dygraphs": ("/usr/share/javascript/dygraphs/dygraph.min.js", """
        const graphs = places.map(div => new Dygraph(div, points, {labels: ["t", "v"], drawPoints: true, strokeWidth: 0, animatedZooms: false}));
        window.zoom = (a, b) => graphs.forEach(g => g.updateOptions({dateWindow: [a, b]}));"""),
    "Chart.js": ("/usr/share/javascript/chart.js/chart.min.js", """
        const graphs = places.map(div => { const c = document.createElement("canvas"); div.append(c);
          return new Chart(c, {type: "scatter", data: {datasets: [{data: points.map(p => ({x: p[0], y: p[1]})), radius: 1}]},
            options: {animation: false, parsing: false, normalized: true, maintainAspectRatio: false, scales: {x: {min: 0, max: points.length}}}}); });
        window.zoom = (a, b) => graphs.forEach(g => { Object.assign(g.options.scales.x, {min: a, max: b}); g.update("none"); });"""),
}
PAGE = """<!DOCTYPE html><meta charset="utf-8"><script>%s</script><body><script>
const points = Array.from({length: %d}, (_, i) => [i, (i * 7919) %% 1000]);
const places = Array.from({length: %d}, () => { const d = document.createElement("div");
  d.style.cssText = "width:1200px;height:250px;position:relative"; document.body.append(d); return d; });
%s</script>"""
ZOOM = "new Promise(r => { zoom(%d, %d); requestAnimationFrame(() => setTimeout(r)); })"


def thread_ms(browser):
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(1000 * m["value"] for m in metrics if m["name"] == "TaskDuration")


def measure(browser, folder, name, points):
    path, script = LIBRARIES[name]
    if not os.path.exists(path):
        print(f"{name}: {path} is not installed")
        return
    with open(path, encoding="utf-8") as file:
        library = file.read().replace("</script", "<\\/script")
    page = os.path.join(folder, "page.html")
    with open(page, "w", encoding="utf-8") as out:
        out.write(PAGE % (library, points, GRAPHS, script))
    browser.call("Performance.enable", timeDomain="threadTicks")
    browser.open(page)
    drawn, steps = thread_ms(browser), []
    for part in 2, 4, 8, 4, 2, 1:
        begin = thread_ms(browser)
        browser.run(ZOOM % (0, points // part))
        steps.append(thread_ms(browser) - begin)
    print(f"{name}: {len(library) / 1000:.0f} kB, {points} points in {GRAPHS} graphs drawn in {drawn:.0f} ms, "
          f"zoom {max(steps):.0f} ms at most")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--points", type=int, default=10000)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in LIBRARIES:
            with Chromium(shutil.which("chromium")) as browser:
                measure(browser, folder, name, args.points)


main()
