#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs corrupted captures through the plugin in tshark, which must not crash, hang or report a bug.

    fuzz.py --plugins DIR [--preload RUNTIME] [--seeds N] [--first N] [--frames DIR]... [--mads DIR]... CAPTURE...

The first captures are the files of --frames and --mads, inputs of the codec's fuzz targets: each frame becomes a
capture of its link type, each MAD a packet to QP1. Then each seed makes three captures:

    all captures in one file, with bytes changed by editcap -E, every second time truncated at a random length
    the fuzz inputs, changed in the same way
    packets with random opcodes, headers and lengths between a few QPs; their PSNs are nearly consecutive and their
    ICRCs mostly correct, so that the analysis accepts them

Each file is read twice. The first run uses two passes, all preferences that enable code, all trees and all taps.
The second run uses filters on fields that only later frames set.
"""
import argparse
import glob
import itertools
import os
import random
import subprocess
import sys

from packet_builder import bth, erf, mad, native, pcap, roce, roce6, rocev1
from tshark import Tshark

# Output that means failure. Bugs of upper-layer dissectors do not count: "Dissector bug, protocol RPCoRDMA" is a
# bug of Wireshark, in payload that its heuristics took for RPC.
BAD = ("AddressSanitizer", "runtime error:", "Dissector bug, protocol RoCE", "** ERROR", "CRITICAL")
ALL = ["-o", "roce.guess:all", "-o", "roce.take_v1:TRUE", "-o", "roce.take_native:TRUE"]
TITLE = "\nRDMA over Converged Ethernet, "

# All taps.
TAPS = [word for tap in ("roce,conn", "roce,oper", "roce,retx", "roce,nak", "roce,mem", "roce,cong",
                         "roce,rules", "roce,srt", "roce,opcodes", "conv,roce", "endpoints,roce",
                         "follow,roce,raw,0") for word in ("-z", tap)]
FILTERS = ["-R", "roce.bth.psn % 2 == 0 || roce.analysis.flags || roce.cm.answered_in",
           "-Y", "roce.analysis.acked_in || roce.analysis.repeated_in || roce.message.size || roce.rule || data"]
WAYS = [TAPS + ["-2", "-V"], ["-2", "-V"] + FILTERS]

RATES = (0.0005, 0.005, 0.02, 0.1, 0.5)  # fractions of bytes that editcap changes
LINKS = ["ethernet", "sll", "sll2", "ip", "ib", "bth"]  # enum roce_link
LINKTYPES = {"ethernet": 1, "sll": 113, "sll2": 276, "ip": 101, "ib": 197}
DAMAGED = "damaged-"  # prefix of captures in which random changes may have removed all RoCE packets
WILD = 1500  # random packets per seed
# Opcodes of the connected services, and some of UD, CNP and XRC.
OPCODES = [*range(0x18), 0x1C, 0x1D, *range(0x20, 0x2C), 0x64, 0x65, 0x81, *range(0xA0, 0xB8)]


def inputs(folders):
    for path in sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "*"))):
        with open(path, "rb") as data:
            yield data.read(9000)


def corpora(frame_folders, mad_folders):
    """Returns {name: pcap}. Inputs are as in tests/fuzz/frame.h: link, bytes truncated, frame."""
    by_link = {link: [] for link in LINKTYPES}
    for data in inputs(frame_folders):
        if len(data) < 2:
            continue
        link, frame = LINKS[data[0] % len(LINKS)], data[2:]
        if link == "bth":
            link, frame = "ethernet", roce(frame[:-4])
        by_link[link].append((erf(frame) if link == "ib" else frame, data[1]))
    files = {f"corpus-{link}.pcap": pcap([frame for frame, _ in rows], LINKTYPES[link],
                                         missing=[0 if link == "ib" else more for _, more in rows])
             for link, rows in by_link.items() if rows}
    mads = [mad(data, number % 2) for number, data in enumerate(inputs(mad_folders))]
    if mads:
        files["corpus-mad.pcap"] = pcap(mads)
    return files


def wild(rng, wrap):
    """Returns random packets, each encapsulated by one of `wrap`."""
    psn = {}
    frames = []
    for _ in range(WILD):
        src, qpn = rng.randrange(2), rng.choice((1, 0x11, 0x22, 0x33))
        opcode = rng.choice(OPCODES) if rng.random() < 0.95 else rng.randrange(256)
        step = rng.choice((0, 0, 1, 1, 1, 1, 1, 1, 2, -3, 0x800000))
        at = psn[src, qpn] = (psn.get((src, qpn), 0xFFFF00) + step) & 0xFFFFFF
        body = rng.randbytes(rng.choice((0, 4, 8, 16, 20, 28, 64, 256, 256, 1024)))
        # Usually the upper bytes of the RETH's address and length have realistic values.
        if len(body) > 16 and rng.random() < 0.8:
            body = bytes(4) + body[4:12] + bytes(2) + body[14:]
        packet = bth(opcode, qpn, at, rng.choice((0, 0, 0, 1, 3)), rng.choice((0, 0, 0x40, 0x80)),
                     rng.randrange(2)) + body
        frame = rng.choice(wrap)(packet)
        if rng.random() < 0.05:
            frame = frame[:-1] + bytes([frame[-1] ^ 1])
        frames.append(frame)
    return frames


def damaged(shark, rng, source, name, cut):
    path = os.path.join(shark.work, DAMAGED + name)
    rate = rng.choice(RATES)
    cut = ["-s", str(rng.randrange(40, 200))] if cut else []
    subprocess.run(["editcap", "-E", str(rate), "--seed", str(rng.randrange(1 << 31))] + cut + [source, path],
                   check=True, stderr=subprocess.DEVNULL)
    os.chmod(path, 0o644)
    return path


def of_seed(shark, seed, plain, inputs):
    """Yields the captures of one seed."""
    rng = random.Random(seed)
    yield damaged(shark, rng, plain, f"{seed}.pcap", seed % 2 == 0)
    for path in inputs:
        yield damaged(shark, rng, path, f"{seed}-{os.path.basename(path)}", False)
    wild_ethernet = wild(rng, [roce, lambda packet: roce(packet, 1), lambda packet: roce(packet, ecn=3), roce6, rocev1])
    yield shark.file(f"wild-{seed}.pcap", pcap(wild_ethernet))
    yield shark.file(f"wild-native-{seed}.pcap", pcap(wild(rng, [native]), 197))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--preload")
    args.add_argument("--seeds", type=int, default=2)
    args.add_argument("--first", type=int, default=1, help="the first seed")
    args.add_argument("--frames", action="append", default=[])
    args.add_argument("--mads", action="append", default=[])
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    failures = frames = runs = 0
    with Tshark(args.plugins, args.preload) as shark:
        corpus = [shark.file(name, data) for name, data in corpora(args.frames, args.mads).items()]
        plain = os.path.join(shark.work, "plain.pcap")
        subprocess.run(["mergecap", "-a", "-F", "pcap", "-w", plain] + args.captures, check=True)
        made = (of_seed(shark, seed, plain, corpus) for seed in range(args.first, args.first + args.seeds))
        for path in itertools.chain(corpus, *made):
            seen = 0
            for way in WAYS:
                status, out, err = shark.run(ALL + way + ["-r", path])
                runs += 1
                seen += ("\n" + out).count(TITLE)
                bad = [word for word in BAD if word in err or word in out]
                if status or bad:
                    failures += 1
                    print(f"{os.path.basename(path)}: exit status {status}, {bad}\n{err[:3000]}")
            frames += seen
            if seen == 0 and not os.path.basename(path).startswith(DAMAGED):
                failures += 1
                print(f"{os.path.basename(path)}: no frame of it came to us")
    print(f"{runs} runs of tshark, {frames} frames of RoCE, seeds {args.first}.."
          f"{args.first + args.seeds - 1}: {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
