#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks that the plugin shows the same for each frame in any order of dissection.

    two_pass.py --plugins DIR CAPTURE...

All captures are merged into one file, so that connections end, start again, and meet other hosts. The test
compares one pass with two passes (only fields that do not depend on later frames), two passes with two passes that
show every third frame, and two passes with a filter that needs fields of all frames. `tshark -q -2 -z expert` builds no
tree, and must count the same expert infos as with a filter, which needs a tree.
"""
import argparse
import os
import subprocess
import sys

from tshark import Tshark

# Fields that depend only on the frame and on earlier frames.
BACKWARD = ["roce.icrc.status", "roce.bth.psn", "roce.analysis.psn_rel", "roce.analysis.next_psn",
            "roce.analysis.acks_frame", "roce.analysis.request_in", "roce.analysis.ack_rtt",
            "roce.analysis.rto_frame", "roce.analysis.rto", "roce.analysis.cause",
            "roce.analysis.psns_in_flight", "roce.analysis.bytes_in_flight", "roce.message.number",
            "roce.message.offset", "roce.message.size", "roce.message.time", "roce.time_delta",
            "roce.analysis.va", "roce.analysis.rkey", "roce.analysis.gap", "roce.cm.answers"]
# Fields that also depend on later frames.
FORWARD = ["roce.stream", "roce.src_qp", "roce.pairing", "roce.pairing_guess", "roce.analysis.acked_in", "roce.analysis.response_in",
           "roce.analysis.last_response_in", "roce.analysis.repeated_in", "roce.message.last_frame", "roce.cm.answered_in",
           "roce.rule", "_ws.col.Info"]


def table(shark, path, fields, args):
    """Returns {frame: values}."""
    command = args + ["-r", path, "-T", "fields", "-e", "frame.number"]
    for field in fields:
        command += ["-e", field]
    rows = [line.split("\t") for line in shark.out(command).splitlines()]
    return {int(row[0]): row[1:] for row in rows}


def differences(what, fields, one, other):
    wrong = 0
    for frame in other:
        for field, a, b in zip(fields, one[frame], other[frame]):
            if a != b:
                wrong += 1
                if wrong <= 10:
                    print(f"{what}: frame {frame}: {field}: {a!r} and {b!r}")
    print(f"{what}: {len(other)} frames, {len(fields)} fields, {wrong} differ")
    return wrong


def expert_infos(shark, path, tap):
    """Returns the lines of `tshark -q -2 -z TAP` that count expert infos of the plugin."""
    return [line for line in shark.out(["-r", path, "-q", "-2", "-z", tap]).splitlines() if " RoCE " in line]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    with Tshark(args.plugins) as shark:
        path = os.path.join(shark.work, "all.pcap")
        subprocess.run(["mergecap", "-a", "-F", "pcap", "-w", path] + args.captures, check=True)
        os.chmod(path, 0o644)
        every = BACKWARD + FORWARD
        one = table(shark, path, BACKWARD, [])
        two = table(shark, path, every, ["-2"])
        third = table(shark, path, every, ["-2", "-Y", "frame.number % 3 == 0"])
        some = table(shark, path, every, ["-2", "-Y", "roce.analysis.acked_in || roce.rule"])
        without_tree, with_tree = (expert_infos(shark, path, tap) for tap in ("expert", "expert,frame"))
    if not one or one.keys() != two.keys() or not third or not some:
        print("nothing to compare")
        return 2
    wrong = differences("one pass and two", BACKWARD,
                        {frame: row[:len(BACKWARD)] for frame, row in two.items()}, one)
    wrong += differences("all frames and every third", every, two, third)
    wrong += differences("all frames and a filter", every, two, some)
    for line in set(without_tree) ^ set(with_tree):
        print(f"tshark -z expert {'with' if line in with_tree else 'without'} a tree: {line}")
        wrong += 1
    wrong += not with_tree
    links = sum(bool(row[every.index("roce.analysis.acked_in")]) for row in two.values())
    print(f"{links} frames know where they are acknowledged")
    return 1 if wrong or not links else 0


if __name__ == "__main__":
    sys.exit(main())
