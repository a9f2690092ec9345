#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Records random conversations between two guests. Called by tests/interop/bulk.

A conversation is one seed: it determines the kind of program, its options, and what netem does with the packets of
each end. Its folder has left.pcap and right.pcap (captures at the ends), wire.pcap (between them), sent-*.pcap (the
packets of one end before netem), said.txt (what the programs posted and completed) and about.json.
"""
import argparse
import json
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from both_ends import Run, records_of, rows  # noqa: E402

UC, UD = 3, 4  # enum ibv_qp_type
# Kinds of programs; "app" is a row of both_ends.txt.
KINDS = ("mixed", "read", "atomic", "shared", "many", "errors", "rnr", "leave", "retry", "reuse", "srq", "buffers", "keys",
         "rereg", "cm", "uc", "ud", "app", "app")
HERE = os.path.dirname(os.path.abspath(__file__))


def impairment(rng):
    """Returns the name of an impairment and netem's words for one direction."""
    kind = rng.choice(["none", "loss", "loss", "burst", "reorder", "duplicate", "corrupt", "rate", "delay", "mix"])
    percent = rng.choice([0.3, 1, 2, 5, 10])
    words = {
        "none": "-",
        "loss": f"loss {percent}%",
        "burst": f"loss gemodel {rng.choice([0.5, 1, 3])}% {rng.choice([20, 40, 70])}%",
        "reorder": f"delay {rng.choice([1, 4, 10])}ms reorder {rng.choice([60, 80, 95])}% 30%",
        "duplicate": f"duplicate {percent}%",
        "corrupt": f"corrupt {percent}%",
        "rate": f"rate {rng.choice([2, 8, 30])}mbit limit {rng.choice([5, 20, 60])}",
        "delay": f"delay {rng.choice(['1ms', '5ms', '20ms 2ms', '3ms 2ms'])}",
        "mix": f"loss {min(percent, 5)}% duplicate 2% corrupt 1% delay 2ms 1ms",
    }
    return kind, words[kind]


def common(rng, **fixed):
    """Returns options that every kind of program has."""
    depth = rng.choice([1, 2, 8, 32, 64])
    psn = [rng.choice([-1, -1, 0, 100, 0xfffff0]) for _ in range(2)]
    options = {
        "seed": rng.randrange(1, 1 << 30), "mtu": rng.choice([256, 512, 1024, 1024, 2048, 4096]),
        "ops0": rng.choice([5, 20, 40, 100]), "ops1": rng.choice([0, 0, 5, 20, 60]),
        "sq": depth, "rq": 64, "recvs": 64, "sig": rng.choice([1, 1, 1, min(4, depth)]),
        "size": rng.choice([64, 1000, 4096, 10000, 40000]), "sge": rng.choice([1, 1, 3]),
        "inlined": rng.choice([0, 0, 64]), "chain": rng.choice([1, 1, 4]), "pause": rng.choice([0, 0, 200, 5000]),
        "timeout": rng.choice([8, 10, 12, 12, 14]), "retry": rng.choice([3, 6, 7, 7]), "rnr": rng.choice([7, 7, 3]),
        "minrnr": rng.choice([1, 5, 12, 14]), "rd": rng.choice([1, 2, 4, 16]), "psn0": psn[0], "psn1": psn[1],
        "psnstep": rng.choice([0, 0, 1000]), "cm": int(rng.random() < 0.25),
        "linger": rng.choice([0, 5000, 50000]), "seconds": 3, "barrier": int(rng.random() < 0.9),
    }
    options.update(fixed)
    options["dest"] = options["rd"]
    if options["size"] > 10000: # no buffer is used twice at a time
        options["sq"] = min(options["sq"], 256 // options.get("qps", 1))
    return options


def verbs(rng, kind):
    """Returns the options of random_verbs for one kind of program."""
    mixed = {"send": 3, "sendimm": 1, "write": 3, "writeimm": 1, "read": 3, "fadd": 1, "cas": 1}
    qps = rng.choice([2, 3, 4, 8])
    few = {"ops0": rng.choice([5, 15, 30]), "ops1": rng.choice([0, 5, 15])}
    kinds = {
        "mixed": lambda: common(rng, **mixed, qps=rng.choice([1, 1, 2])),
        "read": lambda: common(rng, send=0, read=8, write=rng.choice([0, 1]), rd=rng.choice([1, 4, 16]),
                               sq=rng.choice([4, 16, 64])),
        "atomic": lambda: common(rng, send=0, fadd=4, cas=4, read=rng.choice([0, 1]), shared=rng.choice([0, 1, 1]), qps=qps),
        "shared": lambda: common(rng, **mixed, qps=qps, shared=rng.choice([1, 2]), size=rng.choice([64, 2000])),
        "many": lambda: common(rng, **mixed, qps=rng.choice([4, 8, 16]), **few),
        "errors": lambda: common(rng, **mixed, **few, bad=rng.choice([50, 150]), qps=rng.choice([1, 2, 4]),
                                 rounds=rng.choice([1, 3, 5]), cm=0, recvshort=rng.choice([0, 50])),
        "rnr": lambda: common(rng, **dict(mixed, read=rng.choice([0, 2])), **few, recvs=rng.choice([0, 1, 2, 8]),
                              recvdelay=rng.choice([1000, 20000, 100000]), rnr=rng.randrange(8), qps=rng.choice([1, 1, 3])),
        "leave": lambda: common(rng, **mixed, qps=rng.choice([1, 2, 4]), retry=rng.choice([0, 1, 3, 7]),
                                timeout=rng.choice([8, 10, 12]), leave=rng.choice([1, 1, 2, 3, 4, 5]),
                                leaveside=rng.randrange(2), leaveus=rng.choice([500, 5000, 50000, 300000])),
        "retry": lambda: common(rng, **mixed, retry=rng.choice([0, 1, 2]), timeout=rng.choice([6, 8, 10]),
                                qps=rng.choice([1, 2]), rounds=rng.choice([1, 3]), cm=0),
        "reuse": lambda: common(rng, **mixed, **few, reuse=1, rounds=rng.choice([2, 4]), cm=0, qps=rng.choice([1, 2])),
        "srq": lambda: common(rng, **mixed, srq=1, qps=qps, recvs=rng.choice([4, 64]), recvdelay=rng.choice([0, 3000])),
        "buffers": lambda: common(rng, **mixed, rewrite=rng.choice([1, 1, 2]), qps=rng.choice([1, 2])),
        "keys": lambda: common(rng, **mixed, **few, bind=2, inv=1, sendinv=1, rereg=0, qps=rng.choice([1, 2]),
                               rounds=rng.choice([1, 3]), cm=0),
        "rereg": lambda: common(rng, **mixed, **few, rereg=rng.choice([30, 300]), rounds=rng.choice([1, 3]), cm=0),
        "cm": lambda: common(rng, **mixed, **few, cm=1, qps=rng.choice([1, 3, 6]), reject=rng.choice([0, 0, 1])),
        "uc": lambda: common(rng, type=UC, send=2, sendimm=1, write=2, writeimm=1, qps=rng.choice([1, 2]), cm=0, seconds=2),
        "ud": lambda: common(rng, type=UD, send=3, sendimm=1, qps=rng.choice([1, 3]), bad=rng.choice([0, 100]), cm=0,
                             seconds=2),
    }
    return kinds[kind]()


def program(rng, kind):
    """Returns port, server and client of a conversation, as the rows of both_ends.txt."""
    if kind == "app":
        known = [row for row in rows(os.path.join(HERE, "both_ends.txt"))
                 if not row[6].startswith("both ") and not re.match("again|vlan|blackout|kill|w_dur", row[0])]
        row = rng.choice(known)
        return row[0], row[4], *(command if command.startswith(("sh ", "timeout ")) or command == "-"
                                 else "timeout 12 " + command for command in row[5:7])
    options = " ".join(f"{name}={value}" for name, value in verbs(rng, kind).items())
    if rng.random() < 0.1:
        options += " left=2001:db8::1 right=2001:db8::2"
    return kind, "0", f"random_verbs side=1 {options}", f"random_verbs side=0 {options}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", required=True)
    parser.add_argument("--linux", required=True)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--kinds")
    parser.set_defaults(more=False)
    args = parser.parse_args()
    kinds = args.kinds.split(",") if args.kinds else KINDS
    run = Run(args)
    for seed in range(args.seed, args.seed + args.count):
        rng = random.Random(seed)
        kind = rng.choice(kinds)
        left, left_words = impairment(rng)
        right, right_words = rng.choice([(left, left_words), impairment(rng), ("none", "-")])
        name, port, server, client = program(rng, kind)
        mtu = rng.choice([1500, 4500, 9000]) if kind == "app" else 4500
        out = os.path.join(args.keep, f"{args.linux}-{seed}")
        if os.path.exists(os.path.join(out, "about.json")):
            continue
        os.makedirs(out, exist_ok=True)
        started = time.monotonic()
        text = run.row([name, mtu, left_words, right_words, port, server, client], out)
        with open(os.path.join(out, "said.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        with open(os.path.join(out, "about.json"), "w", encoding="utf-8") as file:
            json.dump({"seed": seed, "kernel": args.linux, "kind": kind, "name": name, "server": server, "client": client,
                       "netem": [left_words, right_words],
                       "impaired": left if right in (left, "none") else right if left == "none" else f"{left}+{right}"}, file)
        print(f"{seed} {kind} {name} [{left_words}] [{right_words}]: {time.monotonic() - started:.1f} s, "
              f"{len(records_of(os.path.join(out, 'wire.pcap')))} frames", flush=True)
        if run.hangs:
            print(f"{seed}: a guest hangs", flush=True)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
