#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rnic-run reports what it could not record: the number of packets that --selfcheck did not
judge, of rows that --timeline lacks, and of packets that -w lacks. Its status is then 2, and the packets that -w has
can be read. rnic-run also deletes the scratch folder of a killed rnic-run. A limit of the file size simulates a full
disk for --selfcheck and --timeline.

silence.py --bin FOLDER"""
import argparse
import ctypes
import glob
import multiprocessing
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
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


def in_small_folder(folder):
    """Moves this process into a mount namespace, and mounts a file system of 2 MiB on the folder. Returns false if that is
    not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWNS) == 0 and libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) == 0 and \
        libc.mount(b"none", folder.encode(), b"tmpfs", 0, b"size=2m") == 0


def disk_full(args, folder):
    """Records on a full file system. The message names the file, the reason and the folder of the recorded parts, which
    have exactly the packets that rnic-run counted. If mounting is not permitted, a limit of the file size takes
    the place of the full file system."""
    small = in_small_folder(folder)
    path = os.path.join(folder, "full.pcapng")
    done = run(args, folder, ["-w", path], resource.RLIM_INFINITY if small else 1 << 20)
    reason = "No space left on device" if small else "File too large"
    missing, total = lost(done, rf"--write: (\d+) of (\d+) packets could not be recorded: {reason}")
    found = re.search(rf"{re.escape(path)}: {reason}; the recordings of the processes are in (\S+)", done.stderr)
    assert found, done.stderr
    frames = 0
    for part in glob.glob(os.path.join(found[1], "*.pcapng")):
        read = subprocess.run([os.path.join(args.bin, "rocedrill"), "check", "-q", "--json", "-", part], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        assert read.returncode in (0, 1), read.stdout
        frames += int(re.search(r'"frames":(\d+)', read.stdout)[1])
    assert frames == total - missing, (frames, total, missing)


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
        child = multiprocessing.get_context("fork").Process(target=disk_full, args=(args, folder))
        child.start()  # only this process sees the small file system
        child.join()
        assert child.exitcode == 0, "a full file system"
        for path in glob.glob(os.path.join(folder, "*")):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        killed(args, folder)
        other = os.path.join(folder, "rnic-run-others")
        os.mkdir(other)
        os.utime(other, (1e9, 1e9))
        done = run(args, folder, ["--selfcheck"], 1 << 22)
        missing, total = lost(done, r"--selfcheck: (\d+) of (\d+) packets could not be recorded and were not judged: "
                                    r"File too large")
        judged = re.search(r"packets of rnic-run: (\d+) frames", done.stdout)
        assert judged and int(judged.group(1)) == total - missing, (missing, total)
        done = run(args, folder, ["--timeline"], 1 << 15)
        missing, total = lost(done, r"--timeline: (\d+) of (\d+) rows could not be recorded: File too large")
        rows = re.search(r"^WRITE: (\d+) requests", done.stdout, re.M)
        assert total == 1000 and int(rows.group(1)) == total - missing, (rows.group(0), missing, total)
        assert glob.glob(os.path.join(folder, "rnic-run-*")) == [other], "scratch folders are left"


if __name__ == "__main__":
    main()
