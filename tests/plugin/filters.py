#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks the filters of plugin/filters.md: both filters of a row match the same number of frames, and at least one.

    filters.py --plugins DIR --document FILE CAPTURE...

The filters run on all captures, merged into one. A filter without a counterpart must be valid. With the plugin, a
filter of the built-in dissector gets one hint. The hint names our field if its name differs only in the prefix.
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
    out = tshark.out(["-2", "-r", capture, "-q", "-z", "io,stat,0," + ",".join(filters)], plugin)
    row = [line for line in out.splitlines() if "<>" in line]
    if len(row) != 1:
        raise SystemExit(f"tshark -z io,stat printed {out}")
    # Row of the table: | interval | frames | bytes | frames | bytes ... |. If the list of filters above
    # the table is wider, an empty cell follows.
    return [int(cell) for cell in row[0].split("|")[2:2 * len(filters) + 1:2]]


FIELD = re.compile(r"(infiniband[.\w]*)")
OURS = re.compile(r"(roce[.\w]*)")


def hints(tshark, capture, old, new):
    """Returns the errors in the warnings that the plugin prints for the filter `old`."""
    status, out, err = tshark.run(["-2", "-r", capture, "-Y", old], True)
    want = [FIELD.match(old)[1] + " matches no RoCE packet while the protocol RoCE is enabled. "]
    ours = OURS.match(new)[1]
    same = [name.replace("_", "").partition(".")[2] for name in (FIELD.match(old)[1], ours)]
    want[0] += f"Use {ours}." if same[0] == same[1] else "The fields of RoCE begin with roce."
    got = [line.partition("tshark: ")[2] for line in err.splitlines() if FIELD.search(line)]
    return [] if status == 0 and not out and got == want else [f"{old}: hint {got}, not {want}"]


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
        short = tshark.file(args.captures[0])
        wrong += [line for pair in pairs for line in hints(tshark, short, *pair)]
        if FIELD.search(tshark.run(["-r", short, "-Y", "roce"])[2]):
            wrong.append("roce: has a hint")
    print("\n".join(wrong + [f"filters: {len(pairs)} pairs, {len(single)} filters of the plugin alone"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
