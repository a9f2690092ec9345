#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rnic-run --selfcheck reports a violation while the programs run, and then exits with status 1.
Neither packets nor processes may remain. The two programs share the near end of a link. A script at
the far end violates a rule: it sends one of their ACKs again with another transport version. A device
drops such a packet.

selfcheck.py --bin FOLDER"""
import argparse
import glob
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.abspath(__file__)
STACKS = os.path.join(os.path.dirname(HERE), "stacks.py")
ACK = 0x11
RULE = "ALL-FMT-025"
NEAR, FAR = "rnic0", "rnic0-peer"
IP, UDP, BTH = 14, 34, 42


def icrc(frame):
    """Returns the ICRC. For it, all bits of fields that change on the path are ones (R018 to R021)."""
    masked = bytearray(b"\xff" * 8 + frame[IP:])
    for at in (IP + 1, IP + 8, IP + 10, IP + 11, UDP + 6, UDP + 7, BTH + 4):
        masked[8 + at - IP] = 0xff
    return struct.pack("<I", zlib.crc32(masked))


def spoil():
    """Runs inside the namespace: sends the changed packet as soon as it sees an ACK on lo."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.bind(("lo", 0))
    while True:
        frame = bytearray(sock.recv(70000))
        if len(frame) > BTH + 12 and frame[UDP + 2:UDP + 4] == b"\x12\xb7" and frame[BTH] == ACK:
            break
    frame[BTH + 1] |= 1
    frame[-4:] = icrc(frame[:-4])
    sock.close()
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sock.bind((NEAR, 0))
    frame[0:6] = sock.getsockname()[4]
    sock.bind((FAR, 0))
    sock.send(frame)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rnic-selfcheck-") as folder:
        env = dict(os.environ, TMPDIR=folder)
        keep = os.path.join(folder, "all.pcapng")
        go, done = os.path.join(folder, "go"), os.path.join(folder, "done")
        # The second exchange begins after the violation was reported.
        lat = "ib_send_lat -F -n 300"
        # Port 18515 is 0x4853; state 0A is LISTEN.
        listens = "cat /proc/net/tcp /proc/net/tcp6 | grep -q ':4853 [0-9A-F:]* 0A'"
        script = (f"ping() {{ {lat} & server=$!; until {listens}; do sleep 0.05; done; "
                  f"{lat} 10.0.0.1; wait $server; }}; "
                  f"'{sys.executable}' '{HERE}' --spoil & spoiler=$!; ping; wait $spoiler; "
                  f"until test -e '{go}'; do sleep 0.1; done; ping; touch '{done}'")
        command = [os.path.join(args.bin, "rnic-run"), "-n", "-i", NEAR, "--selfcheck", "-w", keep,
                   "--", sys.executable, STACKS, "--after", "60", "--", "sh", "-c", script]
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        end = time.monotonic() + 110
        told = ""
        for line in process.stderr:
            told += line
            if RULE in line:
                break
        assert RULE in told, f"no violation was reported: {told}{process.communicate()}"
        assert process.poll() is None and not os.path.exists(done), "reported only after the run"
        with open(go, "w", encoding="ascii"):
            pass
        out, err = process.communicate(timeout=max(1, end - time.monotonic()))
        print(told + err + out)
        assert os.path.exists(done), "the programs did not end"
        assert process.returncode == 1, f"status {process.returncode}"
        assert RULE in out, "not in the report"
        assert f"{keep}: " in out and "standard input" not in told + err + out, "the report does not name the recording"
        judged = subprocess.run([os.path.join(args.bin, "rocedrill"), "check", keep], text=True,
                                stdout=subprocess.PIPE, check=False)
        assert judged.returncode == 1 and out.splitlines()[-1] == judged.stdout.splitlines()[-1], \
            f"the recording is judged otherwise: {judged.stdout}"
        assert not glob.glob(os.path.join(folder, "rnic-run-*")), "recordings are left"
    return 0


if __name__ == "__main__":
    if "--spoil" in sys.argv:
        spoil()
    else:
        sys.exit(main())
