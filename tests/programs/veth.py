#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs one row of programs.txt between two network namespaces that a veth pair joins: the server at
one end, the client at the other, and lets `rocedrill check` judge what each end saw. Status 77 where
namespaces cannot be made.

veth.py --bin FOLDER [--loss PERCENT] [--seed N] [--preload LIB] NAME"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time

import pair
import run

SKIP = 77
NEAR, FAR = "10.77.0.1", "10.77.0.2"
INSIDE = "ROCEDRILL_VETH"
TIMEOUT = 60


def enter():
    """Starts this program anew in a network namespace of its own."""
    flags = "-n" if os.geteuid() == 0 else "-Urn"
    if subprocess.run(["unshare", flags, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no network namespace can be made here")
        sys.exit(SKIP)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", flags, sys.executable] + sys.argv)


def ip(words, pid=None):
    command = ["nsenter", "-t", str(pid), "-n"] if pid else []
    subprocess.run(command + ["ip"] + words.split(), check=True)


def join(pid):
    ip(f"link add va mtu 4300 type veth peer name vb mtu 4300 netns {pid}")
    for at, name, address in ((None, "va", NEAR), (pid, "vb", FAR)):
        ip("link set lo up", at)
        ip(f"address add {address}/24 dev {name}", at)
        ip(f"link set {name} up", at)
    for at, name in ((None, "va"), (pid, "vb")):
        inside = ["nsenter", "-t", str(at), "-n"] if at else []
        while "LOWER_UP" not in subprocess.run(inside + ["ip", "link", "show", name], text=True,
                                               stdout=subprocess.PIPE, check=True).stdout:
            time.sleep(0.01)


def judge(rocedrill, capture):
    ordered = capture + ".ordered"
    subprocess.run(["reordercap", capture, ordered], stdout=subprocess.DEVNULL, check=True)
    done = subprocess.run([rocedrill, "check", ordered], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("ROCEDRILL_SEED", "1")))
    parser.add_argument("--preload", default="")
    parser.add_argument("name")
    args = parser.parse_args()
    if INSIDE not in os.environ:
        enter()
    _, port, server, client, expect = run.row(args.name)
    bin_dir = os.path.abspath(args.bin)
    far = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 600"],
                           stdout=subprocess.PIPE)
    processes = []
    with tempfile.TemporaryDirectory(prefix="rnic-veth-") as folder:
        captures = [os.path.join(folder, name) for name in ("near.pcapng", "far.pcapng")]

        def start(command, iface, capture, seed, inside):
            words = {"BIN": bin_dir, "TMP": folder}
            line = ["nsenter", "-t", str(far.pid), "-n"] if inside else []
            line += [os.path.join(bin_dir, "rnic-run"), "-i", iface, "-w", capture, "--seed",
                     str(seed)]
            if args.loss:
                line += ["--impair", f"loss={args.loss:g}%"]
            line += ["--"] + run.runtime_first(command, args.preload, bin_dir)
            line += shlex.split(command.format(**words).replace("127.0.0.1", NEAR))
            print(" ".join(line), flush=True)
            processes.append(pair.start(line))
            return processes[-1]

        try:
            far.stdout.readline()
            join(far.pid)
            if args.loss:  # the program that ends first answers its peer's repeats
                os.environ.setdefault("RNIC_LINGER", "500")
            if args.preload:  # leaks of Debian's programs are not ours
                os.environ["ASAN_OPTIONS"] = "detect_leaks=0:" + os.environ.get("ASAN_OPTIONS", "")
            end = time.monotonic() + TIMEOUT
            serves = start(server, "va", captures[0], args.seed, False)
            while not pair.ready(port) and serves.poll() is None and time.monotonic() < end:
                time.sleep(0.01)
            asks = start(client, "vb", captures[1], args.seed + 1, True)
            printed = ""
            for process in (asks, serves):
                try:
                    out, _ = process.communicate(timeout=max(0.1, end - time.monotonic()))
                except subprocess.TimeoutExpired:
                    pair.stop(process)
                    out = process.communicate()[0] + f"\nnot done after {TIMEOUT} s"
                print(f"---- status {process.returncode}\n{out}", flush=True)
                printed += out
            if serves.returncode or asks.returncode:
                return f"{args.name}: status {serves.returncode} and {asks.returncode}"
            if expect and not re.search(expect, printed, re.MULTILINE):
                return f"{args.name}: nothing like '{expect}' in what they printed"
            good = [judge(os.path.join(bin_dir, "rocedrill"), capture) for capture in captures]
            return 0 if all(good) else f"{args.name}: rocedrill check objects"
        finally:
            for process in processes:
                pair.stop(process)
            far.kill()
            far.wait()


if __name__ == "__main__":
    sys.exit(main())
