#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Damaged captures through the plugin in the real tshark: nothing may crash, hang, or be reported.

    fuzz.py --plugins DIR [--preload RUNTIME] [--seeds N] [--corpus DIR]... CAPTURE...

All captures in one file, bytes changed at random by editcap -E, one run a seed with every tree built, two
passes and every preference that opens more code; then cut at a random length. The files of each --corpus
(inputs of the codec's fuzz targets) become frames of a capture of their own, whole and behind a UDP header.
"""
import argparse
import glob
import os
import random
import struct
import subprocess
import sys

from shark import Shark

# What must not be said. Dissectors of upper protocols have failures of their own: "Dissector bug,
# protocol RPCoRDMA" is Wireshark's, on payload it takes by guessing.
BAD = ("AddressSanitizer", "runtime error:", "Dissector bug, protocol RoCE", "** ERROR", "CRITICAL")
ALL = ["-o", "roce.guess:all", "-o", "roce.take_v1:TRUE", "-o", "roce.take_native:TRUE"]

# Every report, table and stream.
TAPS = [word for tap in ("roce,conn", "roce,oper", "roce,retx", "roce,nak", "roce,mem", "roce,cong",
                         "roce,rules", "roce,srt", "roce,tree", "conv,roce", "endpoints,roce",
                         "follow,roce,raw,0") for word in ("-z", tap)]


def pcap(frames, linktype):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, linktype)
    for number, frame in enumerate(frames):
        out += struct.pack("<IIII", number, 0, len(frame), len(frame)) + frame
    return out


def udp4791(payload):
    """An Ethernet frame that carries `payload` (BTH on) from a known low port to UDP 4791."""
    udp = struct.pack(">HHHH", 69, 4791, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0,
                       bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2]))
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack(">H", 0xFFFF - (total & 0xFFFF) - (total >> 16)) + head[12:]
    return bytes(12) + b"\x08\x00" + head + udp


def erf(packet):
    """A record of an InfiniBand link."""
    return bytes(8) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet


def corpora(folders):
    """{name: pcap bytes}: the corpus files as frames of Ethernet, of InfiniBand, and behind UDP."""
    frames = []
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*"))):
            with open(path, "rb") as data:
                frames.append(data.read(9000))
    if not frames:
        return {}
    return {"corpus-ethernet.pcap": pcap(frames, 1), "corpus-native.pcap": pcap([erf(frame) for frame in frames], 197),
            "corpus-udp.pcap": pcap([udp4791(frame) for frame in frames], 1)}


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--preload")
    args.add_argument("--seeds", type=int, default=4)
    args.add_argument("--first", type=int, default=1, help="the first seed")
    args.add_argument("--corpus", action="append", default=[])
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    failures = frames = runs = 0
    with Shark(args.plugins, args.preload) as shark:
        files = [shark.file(name, data) for name, data in corpora(args.corpus).items()]
        plain = os.path.join(shark.work, "plain.pcap")
        subprocess.run(["mergecap", "-a", "-F", "pcap", "-w", plain] + args.captures, check=True)
        for seed in range(args.first, args.first + args.seeds):
            rng = random.Random(seed)
            path = os.path.join(shark.work, f"seed-{seed}.pcap")
            cut = ["-s", str(rng.randrange(40, 200))] if seed % 2 == 0 else []
            subprocess.run(["editcap", "-E", str(rng.choice((0.005, 0.02, 0.1))), "--seed", str(seed)]
                           + cut + [plain, path], check=True, stderr=subprocess.DEVNULL)
            os.chmod(path, 0o644)
            files.append(path)
        for path in files:
            status, out, err = shark.run(ALL + TAPS + ["-2", "-V", "-r", path])
            runs += 1
            frames += out.count("\nRDMA over Converged Ethernet, ")
            bad = [word for word in BAD if word in err or word in out]
            if status or bad:
                failures += 1
                print(f"{os.path.basename(path)}: exit status {status}, {bad}\n{err[:3000]}")
    print(f"{runs} runs of tshark, {frames} frames of RoCE, seeds {args.first}.."
          f"{args.first + args.seeds - 1}: {failures} failed")
    if frames == 0:
        return 2
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
