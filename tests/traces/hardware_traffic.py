#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Builds the traffic of hardware RNICs and their fabrics, and runs rocedrill check on it.

    hardware_traffic.py --rocedrill PROGRAM [--keep DIR] [--only WORD] [--seed N]

The repository has no captures of hardware. Each behaviour is documented in public (NIC manuals, patents, papers,
published captures; sources in hardware_behaviours.py) and built packet by packet (connection_builder.py). Each is
checked complete and incomplete: frames missing, sampled, truncated, one direction, a late start, each packet
twice. check must report no ERROR for allowed behaviour, must report the rules that the row names, and no more
lines than the row allows.
"""
import argparse
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

from connection_builder import Connection, folded
from hardware_behaviours import ROWS


def build(row, seed=1):
    connection = Connection(seed=seed)
    row.build(connection)
    return connection.frames


# ---- damage --------------------------------------------------------------------------------------

def pcap(frames, snaplen=262144):
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, 1)]
    for time, data in frames:
        out.append(struct.pack("<IIII", time // 10 ** 9, time % 10 ** 9, min(len(data), snaplen), len(data)) + data[:snaplen])
    return b"".join(out)


def routed(data):
    """Returns the frame after one hop: lower TTL, new header checksum, other MAC addresses."""
    if data[12:14] != b"\x08\x00":
        return data
    new = bytearray(data[6:12] + data[:6] + data[12:])
    new[22] -= 1
    struct.pack_into(">H", new, 24, folded((struct.unpack_from(">H", new, 24)[0], 0x0100)))
    return bytes(new)


def erspan(data, size, number):
    inner = data[:size]
    head = struct.pack(">BBHHHBBH", 0x45, 0, 36 + len(inner), number & 0xFFFF, 0, 64, 47, 0) + bytes([10, 9, 0, 1, 10, 9, 0, 2])
    return bytes([2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]) + b"\x08\x00" + head + struct.pack(">HHII", 0x1000, 0x88BE, number, 0x1000000A) + bytes(4) + inner


def damaged(frames, rng):
    """Yields (name, pcap) of incomplete captures."""
    for size in (64, 96, 128):
        yield f"cut to {size}", pcap(frames, size)
    for side in (0, 1):
        yield f"only side {side}", pcap([f for f in frames if f[1][11] == 1 + side])
    for at in sorted(rng.sample(range(len(frames)), min(3, len(frames) - 1))):
        yield f"from frame {at + 1}", pcap(frames[at:])
    for percent in (1, 5, 20):
        yield f"without {percent} %", pcap([f for f in frames if rng.random() * 100 >= percent])
    for each in (10, 100):
        yield f"one in {each}", pcap([f for f in frames if rng.randrange(each) == 0] or frames[:1], 128)
    yield "ERSPAN cut to 96", pcap([(time, erspan(data, 96, n)) for n, (time, data) in enumerate(frames)])
    yield "at two ports", pcap(sorted(frames + [(time + 500, routed(data)) for time, data in frames]))


# ---- judging -------------------------------------------------------------------------------------

def check(program, paths):
    """Returns {path: (findings, connections)}."""
    out = {path: ([], []) for path in paths}
    for at in range(0, len(paths), 50):
        done = subprocess.run([program, "check", "-q", "--json", "-"] + paths[at:at + 50], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            print(done.stderr[:500])
        for line in done.stdout.splitlines():
            item = json.loads(line)
            if item["type"] in ("finding", "connection"):
                out[item["file"]][item["type"] == "connection"].append(item)
    return out


def text(program, path):
    return subprocess.run([program, "check", path], capture_output=True, text=True, check=False).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    parser.add_argument("--keep")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        paths = {}
        for name, row in ROWS.items():
            if args.only and args.only not in name:
                continue
            frames = build(row, args.seed)
            for damage, data in [("whole", pcap(frames))] + list(damaged(frames, rng)):
                path = os.path.join(folder, f"{name}, {damage}.pcap".replace(" ", "_"))
                with open(path, "wb") as file:
                    file.write(data)
                paths[path] = (name, damage)
        for path, (findings, connections) in check(args.rocedrill, list(paths)).items():
            name, damage = paths[path]
            row = ROWS[name]
            said = collections.Counter((f["severity"], f["rule"]) for f in findings)
            wrong = []
            if any(severity == "error" and rule not in row.errors for severity, rule in said):
                wrong.append("an ERROR")
            if damage == "whole":
                wrong += [f"{rule} is not reported" for rule in row.named if not any(r == rule for _, r in said)]
                lines = len({(f["connection"], f["side"], f["rule"]) for f in findings})
                if lines > row.most:
                    wrong.append(f"{lines} lines of findings, not at most {row.most}")
                if row.says and row.says not in text(args.rocedrill, path):
                    wrong.append(f"missing text: {row.says}")
            if wrong:
                failures += 1
                print(f"{name}, {damage}: {'; '.join(wrong)}: {dict(said)}")
    print(f"{len(paths)} captures of {len(ROWS)} behaviours, {failures} judged wrongly")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
