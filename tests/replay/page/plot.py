#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that the numbers of marks in a drawing of rocedrill plot equal those of check --json, and that wrong
arguments cause a message of one line.

plot.py ROCEDRILL CAPTURE..."""
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

failures = 0
SVG = "{http://www.w3.org/2000/svg}"


def fail(name, text):
    global failures
    failures += 1
    print(f"{name}: {text}", file=sys.stderr)


def run(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def marks(root, name):
    """Returns the number of marks of a class. Rectangles are in the legend; bars and lines have two classes."""
    return sum(e.get("class") == name for e in root.iter(SVG + "path"))


def check_drawing(rocedrill, name, line):
    number = str(line["connection"])
    drawn = run(rocedrill, "plot", "--connection", number, "--svg", "-", name)
    if drawn.returncode == 2 and "no packets to draw" in drawn.stderr:
        return
    if drawn.returncode != 0 or drawn.stderr:
        return fail(name, f"status {drawn.returncode}: {drawn.stderr}")
    root = xml.etree.ElementTree.fromstring(drawn.stdout)
    sides = line["a"], line["b"]
    for what, want in (("nak refused", sum(s["psn_naks"] + s["fatal_naks"] for s in sides)),
                       ("rnr", sum(s["rnr_naks"] for s in sides)),
                       ("damaged", sum(s["bad_icrc"] + s["malformed"] for s in sides)),
                       ("again line", sum(r["packets"] for s in sides for r in s["retransmissions"].values()))):
        have = sum(marks(root, one) for one in (what.split() if what == "nak refused" else [what]))
        if have != want:
            fail(name, f"connection {number}: {have} marks '{what}', JSON {want}")
    bands = {e.get("class").split()[0] for e in root.iter(SVG + "rect") if "band" in (e.get("class") or "")}
    if bands - {"rnr", "nak", "timeout", "spurious", "response-again", "other", "slow"}:
        fail(name, f"connection {number}: the legend lacks the bands {bands}")
    times = {}  # y of a time axis: (x, text) of each label on the axis
    for entry in root.iter(SVG + "text"):
        if entry.get("text-anchor") == "middle":
            times.setdefault(entry.get("y"), []).append((entry.get("x"), entry.text))
    if any(t != next(iter(times.values())) for t in times.values()):
        fail(name, f"connection {number}: the graphs have different times: {times}")
    values = [float(v) for e in root.iter(SVG + "path") for v in re.findall(r"[MLHV](-?[\d.]+)", e.get("d"))]
    if re.search(r"nan|inf", drawn.stdout) or min(values) < -1 or max(values) > 961:
        fail(name, f"connection {number}: a point is outside of the drawing")


def check_slow(rocedrill, name):
    """Expects one band for the slow response, as long as the wait of check --json."""
    line = next(o for o in map(json.loads, run(rocedrill, "check", "--json", "-", name).stdout.splitlines()) if o["type"] == "connection")
    wait = next(w["ns"] for w in line["waits"] if w["cause"] == "response")
    root = xml.etree.ElementTree.fromstring(run(rocedrill, "plot", "--connection", "0", "--svg", "-", name).stdout)
    bands = [float(e.get("width")) for e in root.iter(SVG + "rect") if e.get("class") == "slow band"][1:]  # without the legend's band
    want = 870 * wait / (line["last_time_ns"] - line["first_time_ns"])
    if len(bands) != 1 or abs(bands[0] - want) > 1:
        fail(name, f"bands of slow responses {bands}, JSON {want:.1f}")


def check_errors(rocedrill, folder, capture):
    copy = os.path.join(folder, "copy.pcap")
    with open(capture, "rb") as source, open(copy, "wb") as to:
        to.write(source.read())
    for arguments, words in (([capture], "no output given"), (["--svg", "-", capture], "draws one connection: select it with --connection N"),
                             (["--connection", "x", "--svg", "-", capture], "--connection x: not a number"),
                             (["--connection", "99", "--svg", "-", capture], "no connection 99"),
                             (["--connection", "0", "--svg", copy, copy], "would overwrite"),
                             (["--svg", "-", "--connection", "0", folder + "/none"], "No such file"),
                             (["--open", "--html", "-", capture], "cannot open standard output"),
                             (["--html", folder + "/x", capture, capture], "one capture required, not 2")):
        done = run(rocedrill, "plot", *arguments)
        if done.returncode != 2 or words not in done.stderr or done.stderr.count("\n") != 1:
            fail("plot " + " ".join(arguments), f"status {done.returncode}: {done.stderr}")


def check_open(rocedrill, folder, capture):
    """--open passes the page to xdg-open; --connection selects what the page shows."""
    program, page, seen = (os.path.join(folder, n) for n in ("xdg-open", "page.html", "seen"))
    with open(program, "w") as out:
        out.write(f"#!/bin/sh\necho \"$1\" >{seen}\n")
    os.chmod(program, stat.S_IRWXU)
    done = run(rocedrill, "plot", "--connection", "0", "--html", page, "--open", capture,
               env=dict(os.environ, PATH=folder + ":" + os.environ["PATH"]))
    if done.returncode != 0 or done.stderr or not os.path.exists(seen):
        return fail(capture, f"--open: status {done.returncode}: {done.stderr}")
    with open(seen) as names, open(page, encoding="utf-8") as text:
        if names.read() != page + "\n":
            fail(capture, "--open passes another path")
        data = json.loads(re.search(r'id="data">(.*?)</script>', text.read(), re.S).group(1))
    if [c.get("connection", 0) for c in data["captures"][0]["connections"]] != [0]:
        fail(capture, "--connection 0 selects other connections")


def check_first_sentence(rocedrill, folder, capture):
    """The page of one chosen connection begins with the sentence about this connection. The page of all begins with the sentence of the summary."""
    page = os.path.join(folder, "page.html")
    for options in ["--connection", "2"], []:
        run(rocedrill, "plot", *options, "--html", page, capture)
        with open(page, encoding="utf-8") as text:
            data = json.loads(re.search(r'id="data">(.*?)</script>', text.read(), re.S).group(1))["captures"][0]
        want = data["connections"][0]["headline"] if options else data["summary"]["headline"]
        if data["summary"]["connections"] < 2 or data["lead"] != want:
            fail(capture, f"{options}: first sentence '{data['lead']}', wanted '{want}'")


def main():
    rocedrill, captures = sys.argv[1], sys.argv[2:]
    for name in captures:
        for text in run(rocedrill, "check", "--json", "-", name).stdout.splitlines():
            line = json.loads(text)
            if line["type"] == "connection":
                check_drawing(rocedrill, name, line)
    with tempfile.TemporaryDirectory() as folder:
        check_slow(rocedrill, next(name for name in captures if name.endswith("/rc-rnr-then-success.pcap")))
        check_errors(rocedrill, folder, captures[0])
        check_open(rocedrill, folder, captures[0])
        check_first_sentence(rocedrill, folder, next(name for name in captures if name.endswith("/multi-qp.pcap")))
    sys.exit(failures > 0)


main()
