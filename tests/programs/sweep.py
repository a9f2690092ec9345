#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs all of perftest: send, write, read and atomic, bandwidth and latency, over RC, UC and UD. Options
are events, inline data, both directions, several QPs, every size and every MTU. Runs on the loopback and
over a veth link between two namespaces, without and with 3 % loss. The flow validator checks both
processes. Takes long: `cmake --build build --target programs_all`.

sweep.py --bin FOLDER [--only REGEX] [--wire lo|veth|both] [--loss 0|3|both]"""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys

import wire

HERE = os.path.dirname(os.path.abspath(__file__))
SERVICES = {"send": ("RC", "UC", "UD"), "write": ("RC", "UC"), "read": ("RC",), "atomic": ("RC",)}


def combinations():
    """Yields name and command of each variant."""
    for verb, services in SERVICES.items():
        for service in services:
            for kind in ("bw", "lat"):
                base = f"ib_{verb}_{kind} -F -c {service}" if verb != "atomic" else \
                    f"ib_{verb}_{kind} -F"
                cnt = 100
                variants = {"": ""}
                if verb != "write":  # perftest has no event option for WRITE
                    variants["events"] = "-e"
                if verb in ("send", "write"):
                    variants["inline"] = "-I 64 -s 64"
                if kind == "bw":
                    variants["both"] = "-b"
                    variants["qps"] = "-q 8"
                if verb == "atomic":
                    variants["cas"] = "-A CMP_AND_SWAP"
                else:
                    for mtu in (256, 512, 1024, 2048, 4096):
                        variants[f"mtu{mtu}"] = f"-m {mtu} -s {min(mtu, 20000)}" \
                            if service == "UD" else f"-m {mtu} -s 20000"
                    if service == "RC":
                        variants["sizes"] = "-a"  # 2 bytes to 8 MiB
                if verb == "send" and service != "UD":
                    variants["srq"] = "--use-srq" if kind == "lat" else "--use-srq -q 2"
                for variant, options in variants.items():
                    few = 10 if variant == "sizes" else cnt
                    command = f"{base} -n {few} {options}".strip()
                    name = "_".join(filter(None, (verb, kind, service.lower(), variant)))
                    yield name, command


def on_loopback(command, bin_dir, loss):
    words = [os.path.join(bin_dir, "rnic-run"), "-n", "-i", "lo", "--selfcheck"]
    if loss:
        words += ["--impair", f"loss={loss:g}%"]
    words += ["--", sys.executable, os.path.join(HERE, "pair.py"), "--port", "18515",
              *shlex.split(command), "---", *shlex.split(command), "127.0.0.1"]
    env = dict(os.environ, RNIC_LINGER="300") if loss else dict(os.environ)
    done = subprocess.run(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    return None if done.returncode == 0 else done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--wire", default="both", choices=("lo", "veth", "both"))
    parser.add_argument("--loss", default="both", choices=("0", "3", "both"))
    args = parser.parse_args()
    bin_dir = os.path.abspath(args.bin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # SystemExit also ends the started programs
    losses = [float(args.loss)] if args.loss != "both" else [0, 3]
    spaces = wire.link(4300) if args.wire != "lo" else ()
    good = bad = 0
    try:
        gids = [wire.gid_indices(space, bin_dir) for space in spaces]
        for name, command in combinations():
            if not re.search(args.only, name):
                continue
            for loss in losses:
                # A service without retransmission would wait forever for a lost packet.
                if loss and ("_uc" in name or "_ud" in name):
                    continue
                results = {}
                if args.wire != "veth":
                    results["lo"] = on_loopback(command, bin_dir, loss)
                if spaces:
                    results["veth"] = wire.run((name, "18515", command, command + " localhost", ""),
                                               spaces, bin_dir, loss, gids)
                for place, problem in results.items():
                    print(f"{name:24} {place:5} loss {loss:g} %  "
                          f"{'ok' if problem is None else 'FAILED ' + command}", flush=True)
                    if problem is not None:
                        print(problem)
                    good += problem is None
                    bad += problem is not None
    finally:
        for space in spaces:
            space.close()
    print(f"{good} good, {bad} failed")
    return int(bad > 0 or good == 0)


if __name__ == "__main__":
    sys.exit(main())
