#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Kills a busy rnic-run --selfcheck with SIGKILL. First the test stops rnic-run, so that nobody judges the packets: the
recordings must not grow above their limit, and the programs wait. After the kill, the program of rnic-run ends; children
that it does not end itself continue, but record nothing. The next rnic-run deletes the scratch folder.

orphans.py --bin FOLDER"""
import argparse
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 256 << 20  # threats.md: bytes that are not yet judged
SLACK = 16 << 20  # bytes: a batch of each process, and what was read but not yet deleted
ENDS = 20  # s
BUSY = "ib_write_bw -F -D 90"
PAIR = [sys.executable, "-B", os.path.join(HERE, "pair.py"), "--port", "18515", "--timeout", "100",
        *BUSY.split(), "---", *BUSY.split(), "localhost"]
SHELL = ["sh", "-c", f"{BUSY} & sleep 1; {BUSY} localhost & wait"]  # the signal to the shell does not reach its children


def used(folder):
    """Returns the bytes that the recordings take on the disk."""
    total = 0
    for path in glob.glob(os.path.join(folder, "rnic-run-*", "*.pcapng")):
        try:
            total += os.stat(path).st_blocks * 512
        except FileNotFoundError:
            pass
    return total


def programs(folder):
    """Returns the processes of this test that run ib_write_bw."""
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            with open(path, "rb") as file:
                ours = f"TMPDIR={folder}\0".encode() in file.read() + b"\0"
            with open(os.path.join(os.path.dirname(path), "comm"), encoding="utf-8") as file:
                if ours and file.read().strip() == "ib_write_bw":
                    found.append(int(path.split("/")[2]))
        except OSError:
            pass
    return found


def wait_for(condition, limit, what):
    end = time.monotonic() + limit
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def settled(folder):
    """Waits until the recordings have not grown for a second. Returns their size."""
    sizes = [used(folder)]
    wait_for(lambda: sizes.append(used(folder)) or len(sizes) > 20 and sizes[-1] == sizes[-11] > 0, 60,
             "the recordings grow on and on")
    return sizes[-1]


def kill_busy(rnic_run, command, folder):
    """Kills an rnic-run whose programs wait for it. Returns the bytes that were recorded before."""
    process = subprocess.Popen([rnic_run, "-n", "-i", "lo", "--selfcheck", "--", *command],
                               env=dict(os.environ, TMPDIR=folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: used(folder) > 0 and len(programs(folder)) == 2, 30, "the programs do not start")
        time.sleep(1)
        process.send_signal(signal.SIGSTOP)
        full = settled(folder)
        assert LIMIT / 2 < full < LIMIT + SLACK, f"{full} bytes are recorded and not judged"
        assert len(programs(folder)) == 2, "the programs do not wait"
    finally:
        process.kill()
        process.wait()
    return full


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    rnic_run = os.path.join(args.bin, "rnic-run")
    for command in (PAIR, SHELL):
        with tempfile.TemporaryDirectory(prefix="rnic-orphans-") as folder:
            try:
                full = kill_busy(rnic_run, command, folder)
                if command is PAIR:
                    wait_for(lambda: not programs(folder), ENDS, "the programs go on")
                else:
                    time.sleep(3)
                    assert len(programs(folder)) == 2, "the children of the shell ended"
                after = used(folder)
                assert after < full + SLACK, f"{after - full} bytes were recorded after the kill"
                left = glob.glob(os.path.join(folder, "rnic-run-*"))
                assert len(left) == 1, left
                os.utime(left[0], (1e9, 1e9))  # rnic-run deletes only folders that are older than a minute
                subprocess.run([rnic_run, "-n", "-i", "lo", "--selfcheck", "--", "ibv_devinfo"], check=True,
                               env=dict(os.environ, TMPDIR=folder), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, timeout=60)
                assert not glob.glob(os.path.join(folder, "rnic-run-*")), "the folder of the killed rnic-run is left"
                print(f"{full >> 20} MiB recorded when stopped, {after >> 20} MiB at the end")
            finally:
                for pid in programs(folder):
                    os.kill(pid, signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
