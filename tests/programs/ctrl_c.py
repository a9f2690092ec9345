#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that a program under rnic-run gets each signal once: SIGINT of Ctrl-C on its terminal, and signals that another
process sends to rnic-run.

ctrl_c.py --bin FOLDER"""
import argparse
import os
import pty
import signal
import sys
import tempfile
import time

PROGRAM = """import signal, time
signals = [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1]
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
end = time.monotonic() + 2
while time.monotonic() < end:
    got = signal.sigtimedwait(signals, 0.1)
    if got: print("got", got.si_signo, flush=True)
"""


def read_all(fd, word=None):
    """Reads until the end, or until `word`."""
    text = b""
    while word is None or word not in text:
        try:
            got = os.read(fd, 4096)
        except OSError:  # the end of a terminal
            break
        if not got:
            break
        text += got
    return text.decode()


def run(rnic_run, folder, send):
    """Runs the program on a terminal, calls `send` with the terminal and the PID of rnic-run, and returns its output."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(rnic_run, [rnic_run, "-n", "-w", os.path.join(folder, "a.pcapng"), "--", sys.executable, "-c", PROGRAM])
    read_all(terminal, b"ready")
    time.sleep(0.2)
    send(terminal, pid)
    text = read_all(terminal)
    os.waitpid(pid, 0)
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    rnic_run = os.path.join(os.path.abspath(parser.parse_args().bin), "rnic-run")
    cases = [("Ctrl-C", signal.SIGINT, lambda terminal, _: os.write(terminal, b"\x03"))]
    cases += [(s.name, s, lambda _, pid, s=s: os.kill(pid, s)) for s in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)]
    with tempfile.TemporaryDirectory() as folder:
        for name, number, send in cases:
            text = run(rnic_run, folder, send)
            assert text.count(f"got {int(number)}") == 1, f"{name}: {text!r}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
