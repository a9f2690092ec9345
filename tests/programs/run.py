#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs one row of programs.txt on the software RNIC: both programs, unmodified, in a separate network
namespace, with the flow validator (rnic-run --selfcheck).

run.py --bin FOLDER [--loss PERCENT] [--seed N] [--iface lo] [--wire shm] [--preload LIB] [--keep FILE] NAME

Exit status 77: the programs of this release lack the feature; the last line gives the reason."""
import argparse
import glob
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

import stacks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from seed import add_seed_option  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 110  # s; longer than the timeout of pair.py, because rnic-run continues after it


def rows():
    with open(os.path.join(HERE, "programs.txt"), encoding="utf-8") as lines:
        for line in lines:
            fields = [field.strip() for field in line.split("|")]
            if len(fields) == 5 and not line.startswith("#"):
                yield fields


def row(name):
    for fields in rows():
        if fields[0] == name:
            return fields
    sys.exit(f"no row '{name}' in programs.txt")


def lacking(name):
    """Returns why a row cannot run on this machine, or None. CMakeLists.txt omits such a row."""
    # Debian's UCX 1.23.0~rc1 was built without verbs, and Open MPI uses verbs only through UCX.
    if re.match("ucx|openmpi", name) and not glob.glob("/usr/lib/*/ucx/libuct_ib.so*"):
        return "the UCX of this release was built without verbs"
    return None


class Words(dict):
    """Words in braces in a row: {BIN}, {TMP}, and {500/200}, which is 500, or 200 with packet loss."""

    def __init__(self, loss, **words):
        # Escapes each value, so that it remains one word here and in a shell of the row.
        super().__init__({word: re.sub(r"([^\w/.-])", r"\\\1", text) for word, text in words.items()})
        self.loss = loss

    def __missing__(self, key):
        all_of_them, with_loss = key.split("/")
        return with_loss if self.loss else all_of_them


def with_loss(env):
    """Sets the environment of programs that run with packet loss."""
    env.setdefault("RNIC_LINGER", "500")  # an ended program still answers retransmissions of its peer
    env.setdefault("UCX_RC_TIMEOUT", "100ms")  # otherwise UCX waits 1 s after each lost packet
    return env


def runtime_first(program, preload, bin_dir):
    """Returns a command prefix that preloads the sanitizers' runtime before all libraries of a program.
    Libraries built by clang contain the runtime."""
    if not preload or ("{BIN}" in program and "clang" in os.path.basename(preload)):
        return []
    library = os.path.join(os.path.dirname(bin_dir), "lib", "rnic", "librnic-rdmacm.so")
    return ["env", f"LD_PRELOAD={preload}:{library}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--loss", type=float, default=0)
    add_seed_option(parser)
    parser.add_argument("--iface", default="lo")
    parser.add_argument("--wire", default="pcap")
    parser.add_argument("--unchecked", action="store_true", help="without --selfcheck: no frame gets an ICRC on shm")
    parser.add_argument("--preload", default="")
    parser.add_argument("--keep", help="keep the recording under this name")
    parser.add_argument("name")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # SystemExit also ends the started programs
    _, port, server, client, expect = row(args.name)
    if lacking(args.name):
        print(f"{args.name}: left out: {lacking(args.name)}")
        return 77
    # The program "events" starts several processes, one after the other. With a seed, all would have the same QPNs.
    if args.name == "events":
        args.seed = 0
    bin_dir = os.path.abspath(args.bin)
    with tempfile.TemporaryDirectory(prefix="rnic-programs-") as folder:
        command = [os.path.join(bin_dir, "rnic-run"), "-n", "-i", args.iface, "--wire", args.wire,
                   "--seed", str(args.seed)]
        if not args.unchecked:
            command += ["--selfcheck"]
        if args.keep:
            command += ["-w", args.keep]
        if args.loss:
            command += ["--impair", f"loss={args.loss:g}%"]
        command += ["--", sys.executable, os.path.join(HERE, "pair.py"), "--port", port]
        words = Words(args.loss, BIN=bin_dir, TMP=folder)
        command += runtime_first(server, args.preload, bin_dir)
        command += shlex.split(server.format_map(words)) + ["---"]
        command += runtime_first(client, args.preload, bin_dir)
        command += shlex.split(client.format_map(words))
        expect = expect.format_map(words)
        env = with_loss(dict(os.environ)) if args.loss else dict(os.environ)
        if args.preload:  # ignores leaks of Debian's programs
            env["ASAN_OPTIONS"] = "detect_leaks=0:" + env.get("ASAN_OPTIONS", "")
        print("seed", args.seed, " ".join(command), flush=True)
        status, out = stacks.watch(command, TIMEOUT, env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        print(out)
        if status != 0:
            return f"{args.name}: status {status}"
        if expect and not re.search(expect, out, re.MULTILINE):
            return f"{args.name}: no '{expect}' in the output"
    return 0


if __name__ == "__main__":
    sys.exit(main())
