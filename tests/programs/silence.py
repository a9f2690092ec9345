#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rnic-run reports what it could not record: the number of packets that --selfcheck did not
judge, and of rows that --timeline lacks. Its status is then 2. It deletes the scratch folder of a killed
rnic-run. A limit of the file size simulates a full disk.

silence.py --bin FOLDER"""
import argparse
import glob
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Python sets SIGXFSZ to its default in the programs that it starts.
PAIR = [sys.executable, "-B", os.path.join(HERE, "pair.py"), "--port", "18515",
        "sh", "-c", "trap '' XFSZ; exec ib_write_bw -F -n 1000", "---",
        "sh", "-c", "trap '' XFSZ; exec ib_write_bw -F -n 1000 localhost"]


def run(args, folder, options, size):
    """Runs the pair with files of at most `size` bytes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    command = [os.path.join(args.bin, "rnic-run"), "-n", "-i", "lo", *options, "--", *PAIR]
    done = subprocess.run(command, env=dict(os.environ, TMPDIR=folder), preexec_fn=limit, restore_signals=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=200, check=False)
    print(done.stderr, done.stdout[-3000:])
    return done


def lost(done, pattern):
    found = re.search(pattern, done.stderr)
    assert found, f"not reported: {done.stderr} {done.stdout[-2000:]}"
    assert done.returncode == 2, f"status {done.returncode}"
    missing, total = int(found.group(1)), int(found.group(2))
    assert 0 < missing < total, found.group(0)
    return missing, total


def killed(args, folder):
    """Kills an rnic-run whose program waits. The program ends, and the next rnic-run cleans up."""
    mark = os.path.join(folder, "started")
    process = subprocess.Popen([os.path.join(args.bin, "rnic-run"), "-n", "-i", "lo", "--selfcheck", "--timeline", "--",
                                "sh", "-c", f"touch '{mark}'; exec sleep 600"],
                               env=dict(os.environ, TMPDIR=folder), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    while not os.path.exists(mark):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate()  # only the program had the other ends of the pipes open, so the program has ended
    left = glob.glob(os.path.join(folder, "rnic-run-*"))
    assert len(left) == 2, left
    for path in left:
        os.utime(path, (1e9, 1e9))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rnic-silence-") as folder:
        killed(args, folder)
        other = os.path.join(folder, "rnic-run-others")
        os.mkdir(other)
        os.utime(other, (1e9, 1e9))
        done = run(args, folder, ["--selfcheck"], 1 << 22)
        missing, total = lost(done, r"--selfcheck: (\d+) of (\d+) packets could not be recorded and were not judged: "
                                    r"File too large")
        judged = re.search(r"standard input: (\d+) frames", done.stdout)
        assert judged and int(judged.group(1)) == total - missing, (missing, total)
        done = run(args, folder, ["--timeline"], 1 << 15)
        missing, total = lost(done, r"--timeline: (\d+) of (\d+) rows could not be recorded: File too large")
        rows = re.search(r"^WRITE: (\d+) requests", done.stdout, re.M)
        assert total == 1000 and int(rows.group(1)) == total - missing, (rows.group(0), missing, total)
        assert glob.glob(os.path.join(folder, "rnic-run-*")) == [other], "scratch folders are left"


if __name__ == "__main__":
    main()
