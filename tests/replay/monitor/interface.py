#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rocedrill check --live checks, shows and counts the frames that another interface sends.

    interface.py ROCEDRILL CAPTURE

Both ends of a veth pair are in a network namespace of the test. If the test may not create a namespace,
its exit status is 77.
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from pcap import frames_of  # noqa: E402

DEADLINE = 120  # longest wait, s


def enter_namespace():
    """Runs this script again inside a network namespace."""
    for user in ([], ["-r"]):
        if subprocess.run(["unshare", *user, "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe("unshare", ["unshare", *user, "-n", sys.executable, "-B", *sys.argv],
                       dict(os.environ, INTERFACE_INSIDE="1"))
    print("cannot create a network namespace")
    sys.exit(77)


def wait_for_packets(where, wanted):
    until = time.monotonic() + DEADLINE
    while True:
        text = urllib.request.urlopen(f"http://{where}/metrics", timeout=DEADLINE).read().decode()
        found = sum(map(int, re.findall(r"^rocedrill_packets_total\{.*\} (\d+)$", text, re.M)))
        if found >= wanted or time.monotonic() > until:
            return found
        time.sleep(0.05)


def main():
    program, capture = sys.argv[1:]
    for command in ("ip link set lo up", "ip link add va type veth peer name vb", "ip link set va up", "ip link set vb up"):
        subprocess.run(command.split(), check=True)
    frames = frames_of(capture)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen([program, "check", "--live", "vb", "--every", "100ms", "--prometheus", ":0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        where = re.search(r"http://(\S+)/metrics", child.stderr.readline())[1]
        if child.stderr.readline() != "rocedrill: capturing on vb; Ctrl-C ends the capture\n":
            wrong.append("no message that it captures")
        wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        wire.bind(("va", 0))
        wire.send(b"\xff" * 12 + b"\x88\xb5" + bytes(46))  # a frame of another protocol
        for frame in frames:
            wire.send(frame)
        found = wait_for_packets(where, len(frames))
        if found != len(frames):
            wrong.append(f"{found} of {len(frames)} packets counted")
        rows = [child.stdout.readline() for _ in range(3)]  # the thread prints while no packet arrives
        if not re.match(r"\d\d:\d\d:\d\d\.\d{3} UTC, \d+ connections?$", rows[0]) or not re.match(r"#\d RC 192\.0\.2\.", rows[2]):
            wrong.append(f"not a table: {rows}")
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=DEADLINE)
        if child.returncode != 0 or err:
            wrong.append(f"status {child.returncode}, standard error: {err}")
        if f"vb: {len(frames)} frames, {len(frames)} RoCE packets" not in out:
            wrong.append(f"another report: {out}")
        # Ctrl-C ends the program even if no packet arrives.
        child = subprocess.Popen([program, "check", "--live", "vb", "--json", f"{folder}/json"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        child.stderr.readline()
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=DEADLINE)
        if child.returncode != 2 or "vb: no RoCE packet in 0 frames" not in err:
            wrong.append(f"without packets: status {child.returncode}, {err}")
        if json.loads(pathlib.Path(folder, "json").read_text().splitlines()[-1])["file"] != "vb":
            wrong.append("the summary does not name the interface")
    for line in wrong:
        print(line)
    return len(wrong) > 0


if __name__ == "__main__":
    if os.environ.get("INTERFACE_INSIDE") != "1":
        enter_namespace()
    sys.exit(main())
