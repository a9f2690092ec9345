#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks the filters of plugin/filters.md: both filters of a row match the same number of frames, and at least one.

    filters.py --plugins DIR --document FILE CAPTURE...

The filters run on all captures, merged into one. A filter without a counterpart must be valid.
"""
import argparse
import os
import re
import subprocess
import sys

from tshark import Tshark

ROW = re.compile(r"^\| [^|]+ \| `([^`]+)` \|(?: `([^`]+)` \|)?$")


def count(tshark, capture, filters, plugin):
    """Returns the number of frames that each filter matches."""
    out = tshark.out(["-r", capture, "-q", "-z", "io,stat,0," + ",".join(filters)], plugin)
    row = [line for line in out.splitlines() if "<>" in line]
    if len(row) != 1:
        raise SystemExit(f"tshark -z io,stat printed {out}")
    # | interval | frames | bytes | frames | bytes ... |
    return [int(cell) for cell in row[0].split("|")[2:-1:2]]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--document", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    with open(args.document, encoding="utf-8") as document:
        rows = [row.groups() for row in map(ROW.match, document.read().splitlines()) if row]
    pairs = [row for row in rows if row[1]]
    single = [row[0] for row in rows if not row[1]]
    wrong = [] if pairs and single else [f"{args.document}: no filters"]
    with Tshark(args.plugins) as tshark:
        merged = os.path.join(tshark.work, "merged.pcap")
        subprocess.run(["mergecap", "-F", "pcap", "-a", "-w", merged] + args.captures, check=True)
        os.chmod(merged, 0o644)
        old = count(tshark, merged, [pair[0] for pair in pairs], False)
        new = count(tshark, merged, [pair[1] for pair in pairs] + single, True)
        for pair, before, after in zip(pairs, old, new):
            if before == 0 or before != after:
                wrong.append(f"{pair[0]}: {before} frames; {pair[1]}: {after} frames")
    print("\n".join(wrong + [f"filters: {len(pairs)} pairs, {len(single)} filters of the plugin alone"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
