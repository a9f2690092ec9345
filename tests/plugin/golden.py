#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares tshark's output with our plugin with the golden files next to each capture.

    golden.py [--write] --plugins DIR CAPTURE...

NAME.wireshark.txt    one line per frame, from sharkd: selected fields, the Info column, and digests of the texts and
                      of the values in the tree of our protocol
NAME.wireshark-v.txt  the trees (tshark -V), for the captures in FULL
NAME.wireshark.json   the JSON (tshark -T json), for the captures in FULL

--write writes the files instead. Exit status 1 if a file differs.
"""
import argparse
import difflib
import hashlib
import os
import re
import sys

from tshark import Sharkd, Tshark, nodes, values

FIELDS = ["roce.stream", "roce.icrc.status", "roce.analysis.psn_rel",
          "roce.analysis.acked_in", "roce.analysis.acks_frame", "roce.analysis.request_in",
          "roce.analysis.response_in", "roce.analysis.last_response_in", "roce.analysis.rto_frame",
          "roce.cm.stream", "roce.rule"]
FULL = ["cm-reject", "cm-connect-disconnect", "ipv6-cm", "rc-rnr-then-success", "rc-retry-exhausted",
        "rc-bad-rkey-read", "rc-recv-too-short", "uc-loss", "ud-multicast", "rc-atomics", "rc-flush",
        "rc-loss-request-last"]


# Removes hidden fields: they repeat the values of visible fields, for filters and graphs. io_graphs.py checks them.
HIDDEN = re.compile(r'^ *"roce\.(side|analysis\.(request_psn|response_psn|goodput_bytes|retransmitted_bytes))": "\d+",\n', re.M)


def same_cut(line):
    """Cuts long byte strings to one length: Wireshark's versions truncate and mark them differently."""
    line = re.sub(r"^(Frame \d+: )Packet, ", r"\1", line)
    return re.sub(r"( \[…\]| \[truncated\])?: ([0-9a-f]{72})[0-9a-f]*…?$", r": \2…", line)


def same_value(value):
    """Writes truth values and hexadecimal numbers in one form: Wireshark's versions differ."""
    if re.fullmatch("0x[0-9a-f]{1,16}", value):
        return hex(int(value, 16))
    return {"True": "1", "False": "0"}.get(value, same_cut(value))


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def row(number, info, tree):
    """Returns the line of a frame."""
    ours = [top for top in tree if top.get("f") == "roce"]
    lines, fields = [], []
    for depth, text, name, value in nodes(ours):
        lines.append(same_cut("    " * depth + text))
        fields.append(name + " " + same_value(value))
    cells = [str(number)] + values(ours, FIELDS)
    return "|".join(cells + [info, digest("\n".join(lines)), digest("\n".join(fields))])


def full(shark, path):
    """Returns tshark's trees and JSON of a capture."""
    # Only the tree of our protocol: others contain times of the local time zone.
    keep, on = [], False
    for line in shark.out(["-2", "-r", path, "-V", "-O", "roce"]).splitlines():
        if not line.startswith(" "):
            on = line.startswith("RDMA over Converged") or line.startswith("Frame ")
        if on:
            keep.append(same_cut(line))
    # Up to 4.4, the JSON has a line for Elasticsearch.
    text = shark.out(["-2", "-r", path, "-T", "json", "-J", "roce", "--no-duplicate-keys"])
    return {".wireshark-v.txt": "\n".join(keep) + "\n",
            ".wireshark.json": HIDDEN.sub("", text.replace('    "_type": "doc",\n', ""))}


def outputs(shark, sharkd, capture):
    """Returns {path: text} for one capture."""
    name = os.path.basename(capture)[:-len(".pcap")]
    path = shark.file(capture)
    rows = [row(*frame) for frame in sharkd.frames(path)]
    out = {".wireshark.txt": "#" + "|".join(["frame"] + FIELDS + ["info", "texts", "values"]) + "\n" + "\n".join(rows) + "\n"}
    if name in FULL:
        out |= full(shark, path)
    return {capture[:-len(".pcap")] + suffix: text for suffix, text in out.items()}


def compare(path, text):
    """Returns 1 and prints a diff if `text` differs from the golden file, else 0."""
    if not os.path.exists(path):
        print(f"{path} is missing: golden.py --write makes it")
        return 1
    with open(path, encoding="utf-8") as golden:
        old = golden.read()
    if old == text:
        return 0
    for line in list(difflib.unified_diff(old.splitlines(), text.splitlines(), path, "now",
                                          lineterm="", n=1))[:40]:
        print(line)
    return 1


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--write", action="store_true")
    args.add_argument("--plugins", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    differ = files = 0
    with Tshark(args.plugins) as shark, Sharkd(shark) as sharkd:
        for capture in args.captures:
            for path, text in outputs(shark, sharkd, capture).items():
                files += 1
                if args.write:
                    with open(path, "w", encoding="utf-8") as golden:
                        golden.write(text)
                else:
                    differ += compare(path, text)
    print(f"{len(args.captures)} captures, {files} golden files, {differ} differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
