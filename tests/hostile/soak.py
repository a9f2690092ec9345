#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs hostile captures, a hostile network and faults for a given time. Prints each failure at once and, at
the end or after SIGTERM, a table of the results. tests/soak builds the programs and starts this script.

soak.py --bin FOLDER [--seed N] [--only REGEX] [--most N] captures|attacks|faults|all SECONDS

Each case is played at least once. With --most, no case is played more than N times (kill -9: 5 N kills). Exit status 1: a case failed."""
import argparse
import importlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from seed import add_seed_option  # noqa: E402

OWN_MOUNTS = "ROCEDRILL_SOAK_MOUNTS"  # environment variable: the script runs in a separate mount namespace
MODES = ("captures", "attacks", "faults")


class Row:
    """Results of one case."""

    def __init__(self, mode, name, play):
        self.mode, self.name, self.play = mode, name, play
        self.turns = self.failed = self.units = 0
        self.seconds = 0.0

    def has_played(self, most):
        """Returns whether this kind of input was played often enough."""
        return (self.units if self.mode == "faults" else self.turns) >= most * (5 if "kill -9" in self.name else 1)

    def turn(self):
        begin = time.monotonic()
        units, problem = self.play(self.turns)
        self.turns, self.units = self.turns + 1, self.units + units
        self.seconds += time.monotonic() - begin
        if problem:
            self.failed += 1
            print(f"{time.strftime('%H:%M:%S')} FAILED {self.mode}: {self.name}, turn {self.turns}: {problem}",
                  flush=True)


UNITS = {"captures": "packets", "attacks": "hostile frames", "faults": "faults"}


def table(rows, seed, seconds):
    total = sum(row.turns for row in rows)
    failed = sum(row.failed for row in rows)
    lines = [f"seed {seed}, {seconds:.0f} s, {total} turns, {failed} not survived",
             f"{'mode':9} {'case':44} {'turns':>6} {'survived':>8} {'seconds':>8}  what"]
    for row in rows:
        if row.turns:
            lines.append(f"{row.mode:9} {row.name:44} {row.turns:6} {row.turns - row.failed:8} {row.seconds:8.0f}  "
                         f"{row.units} {UNITS[row.mode]}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    add_seed_option(parser)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=sys.maxsize)
    parser.add_argument("mode", choices=(*MODES, "all"))
    parser.add_argument("seconds", type=float)
    args = parser.parse_args()
    if args.mode != "captures" and not os.environ.get(OWN_MOUNTS):  # the script mounts file systems, as root of its namespace
        os.environ[OWN_MOUNTS] = "1"
        os.execvp("unshare", ["unshare", "-m" if os.geteuid() == 0 else "-Urm", sys.executable, "-B", *sys.argv])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # SystemExit also cleans up
    begin = time.monotonic()
    rows, modules = [], []
    with tempfile.TemporaryDirectory(prefix="rocedrill-soak-") as folder:
        try:
            for mode in MODES if args.mode == "all" else (args.mode,):
                module = importlib.import_module(mode)
                modules.append(module)
                cases = module.cases(os.path.abspath(args.bin), folder, args.seed)
                rows += [Row(mode, name, play) for name, play in cases.items() if re.search(args.only, name)]
            first = True
            left = rows
            while left and (first or time.monotonic() - begin < args.seconds):
                left = [row for row in rows if not row.has_played(args.most)]
                for row in left:
                    if first or time.monotonic() - begin < args.seconds:
                        row.turn()
                first = False
        finally:
            for module in modules:
                getattr(module, "close", lambda: None)()
            print(table(rows, args.seed, time.monotonic() - begin), flush=True)
            subprocess.run(["chmod", "-R", "u+rwx", folder], check=False)
    return int(any(row.failed for row in rows) or not rows)


if __name__ == "__main__":
    sys.exit(main())
