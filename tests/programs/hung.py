#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests stacks.py with a program that hangs (hang.c): directly, under pair.py, and without gdb. The stacks
are printed, and the program and its descendants are killed.

hung.py --bin FOLDER"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time

import stacks

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = "4"  # time that the program needs on a slow machine to open its device, s
THREADS = ("wants_the_lock", "child_waits", "seen_in_the_stack = 4711")  # functions and values that the output of gdb must contain
KERNEL = (r"^== process \d+, of \d+: \S*/programs/hang$", r"^   thread \d+ hang: state S, wchan \w+",
          r"syscall \d+ 0x")


def gone(pid):
    """Returns whether a killed process has ended, at most 10 s after it was killed."""
    end = time.monotonic() + 10
    while stacks.runs(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not stacks.runs(pid)


def hung(name, command, status, wanted, env=None):
    """Runs the program that hangs. Returns 1 if its output is incomplete or if a process is left, else 0."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=90, env=env, check=False)
    wrong = [f"nothing like '{pattern}'" for pattern in wanted
             if not re.search(pattern, done.stdout, re.MULTILINE)]
    if done.returncode != status:
        wrong.append(f"status {done.returncode}, not {status}")
    pids = set(map(int, re.findall(r"^== process (\d+),.*/programs/hang$", done.stdout, re.MULTILINE)))
    wrong += [f"process {pid} still runs" for pid in pids if not gone(pid)]
    print("\n".join([f"{name}: {len(pids)} processes"] + [f"   {line}" for line in wrong] + [done.stdout] * bool(wrong)))
    return int(bool(wrong))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    hang = os.path.join(bin_dir, "programs", "hang")
    run = [os.path.join(bin_dir, "rnic-run"), "-n", "-i", "lo", "--selfcheck", "--"]
    pair = [sys.executable, os.path.join(HERE, "pair.py"), "--timeout", PATIENCE, "--"]
    with subprocess.Popen(["sleep", "60"]) as other:  # gdb may be forbidden to attach, as in a container
        probe = stacks.ask(stacks.GDB + ["-p", str(other.pid)], 20)
        other.kill()
    threads = THREADS if "Thread 1" in probe else ()
    print("gdb:", "may attach" if threads else probe)
    after = [sys.executable, os.path.join(HERE, "stacks.py"), "--after", PATIENCE, "--"]
    with tempfile.TemporaryDirectory(prefix="rnic-hung-") as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
        # Each run lasts for PATIENCE, in its own network namespace.
        runs = [
            pool.submit(hung, "a pair of which one program has ended", run + pair + ["true", "---", hang], 1,
                        (f"^client: not done after {PATIENCE}", "^link rnic_lo/1 pid \\d+ comm hang$") + KERNEL + threads),
            pool.submit(hung, "a pair of which both programs hang", run + pair + [hang, "---", hang], 1,
                        (f"^server: not done after {PATIENCE}", "^==== [45] processes") + KERNEL + threads),
            pool.submit(hung, "one program, with stacks.py outside its namespace", after + run + [hang], 124,
                        ("^hangs$", "^link rnic_lo/1 pid \\d+ comm hang$") + KERNEL + threads,
                        dict(os.environ, TMPDIR=folder)),
            pool.submit(hung, "without gdb", after + run + [hang], 124, ("^-- gdb is not installed$",) + KERNEL,
                        dict(os.environ, PATH=folder))]
        wrong = sum(each.result() for each in runs)
        left = os.listdir(folder)
        print("rnic-run left behind:", *left or ["nothing"])
        wrong += bool(left)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
