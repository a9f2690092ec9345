#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Measures the cost of a page: the time of check --html in comparison with check --json, the size of the
page, and the times in a browser.

    bench_page.py [--build DIR] [--packets N] [--connections N] [--rounds N] [--quick]

The capture has 1,000,000 packets of 1,000 connections. Targets: at most 1.5 times the time of --json, at
most 10 MB, first contentful paint within 1 s, and a zoom step within 100 ms (from the call until the next
frame is drawn). The script also prints the CPU time of the page's thread, which depends less on other
programs. "CPU s" is user and system time, the smallest of all rounds. The programs run in turns: each
round runs --json, then --html. The ratios of CPU time and of wall time are medians of the ratios of all
rounds, with the quartiles in brackets. So a slow second of the machine affects both times of a ratio, or a
ratio that the median omits. The script reports figures and does not fail. The browser's times need
Debian's chromium."""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "replay", "page"))
from chromium import Chromium  # noqa: E402

ZOOM = """(async () => {
  const begin = performance.now();
  rocedrill.view.zoom(%s);
  await new Promise(r => requestAnimationFrame(() => setTimeout(r)));
  return performance.now() - begin;
})()"""

# Chromium may add the entry after the page has been drawn.
FIRST_PAINT = """(async () => {
  for (;;) {
    const [entry] = performance.getEntriesByName('first-contentful-paint');
    if (entry) return entry.startTime;
    await new Promise(r => setTimeout(r, 10));
  }
})()"""


def cpu(command):
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench_page: {' '.join(command)}: status {child.returncode}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss / 1024


def ratio_text(runs, at):
    """Returns the median and the quartiles of the ratios of all rounds. `at`: index into cpu()."""
    ratios = [html[at] / json[at] for json, html in zip(runs["--json"], runs["--html"])]
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}"
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{median:.2f} ({low:.2f} to {high:.2f})"


def thread_ms(browser):
    """Returns the CPU time of the page's thread."""
    metrics = browser.call("Performance.getMetrics")["metrics"]
    return next(1000 * m["value"] for m in metrics if m["name"] == "TaskDuration")


def browse(chromium, what, page):
    with Chromium(chromium) as browser:
        browser.open(page)
        paint = browser.run(FIRST_PAINT)
        drawn = browser.run("performance.now()")
        browser.run("new Promise(r => requestIdleCallback(r))")  # the browser has finished loading
        browser.call("Performance.enable", timeDomain="threadTicks")
        zoom, busy = [], []
        for step in 0.5, 0.5, 0.5, 2, 2, 2:
            before = thread_ms(browser)
            zoom.append(browser.run(ZOOM % step))
            busy.append(thread_ms(browser) - before)
        print(f"{what}: first paint {paint:.0f} ms, graphs drawn by {drawn:.0f} ms, zoom {max(zoom):.0f} ms at most, "
              f"of CPU {max(busy):.0f} ms")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--build", default="build")
    options.add_argument("--packets", type=int, default=1000000)
    options.add_argument("--connections", type=int, default=1000)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--quick", action="store_true")
    args = options.parse_args()
    if args.quick:
        args.packets, args.connections, args.rounds = 20000, 50, 1
    rocedrill, chromium = f"{args.build}/bin/rocedrill", shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder:
        for connections in args.connections, 1:
            capture, page = f"{folder}/capture.pcap", f"{folder}/page.html"
            what = f"{args.packets} packets of {connections} connection{'s' * (connections > 1)}"
            with open(capture, "wb") as out:
                subprocess.run([f"{args.build}/bin/gen_capture", "-n", str(args.packets), "-c", str(connections)],
                               stdout=out, check=True)
            kinds = {"--json": f"{folder}/lines.json", "--html": page}
            runs = {kind: [] for kind in kinds}
            for _ in range(args.rounds):
                for kind, to in kinds.items():
                    runs[kind].append(cpu([rocedrill, "check", "-q", kind, to, capture]))
            best = {kind: tuple(map(min, zip(*runs[kind]))) for kind in kinds}
            for kind in kinds:
                print(f"{what}, {kind}: {best[kind][0]:.3f} CPU s, {best[kind][1]:.3f} s, {best[kind][2]:.0f} MB resident")
            print(f"{what}: {ratio_text(runs, 0)} times the CPU of --json, {ratio_text(runs, 1)} times its wall time, "
                  f"{os.path.getsize(page) / 1e6:.1f} MB")
            if chromium:
                browse(chromium, what, page)


main()
