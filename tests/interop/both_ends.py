#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the rows of both_ends.txt between two guests and records both ends. Called by tests/interop/both_ends.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
from pcap import records_of  # noqa: E402
from programs import Agent, gid_index, guest_ready, programs  # noqa: E402

ADDRESS = {"left": {"": "192.0.2.1", "6": "2001:db8::1", "CTL": "198.51.100.1", "VLAN": "203.0.113.1"},
           "right": {"": "192.0.2.2", "6": "2001:db8::2", "CTL": "198.51.100.2", "VLAN": "203.0.113.2"}}
MAC = {"left": bytes.fromhex("02526f434501"), "right": bytes.fromhex("02526f434502")}
TIMEOUT = 60  # seconds per row
TURN = 20_000_000  # maximum time between the two captures of one frame at the two cards of a guest, ns
# Recordings: the packets of each end before netem, and the wire between them.
TAPS = {"sent-left": ["-i", "sent1"], "sent-right": ["-i", "sent2"], "wire": ["-i", "wire1"]}
# Additional recordings: all interfaces, with a snap length, and with a buffer that is too small.
OTHER_TAPS = {"any": ["-i", "any"], "cut96": ["-i", "wire2", "-s", "96"],
              "short": ["-i", "wire2", "-B", "8"]}
RXE = "/sys/class/infiniband/rxe0/"
# The agent returns whole lines only.
COUNTERS = f"cd {RXE}ports/1/hw_counters 2>/dev/null || cd {RXE}hw_counters; grep . * | tr '\\n' ' '; echo"


def rows(path):
    """Yields name, link MTU, netem arguments of the left and of the right, port of the server, commands of server and client."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = [field.strip() for field in line.rstrip("\n").split("|")]
            if len(fields) == 7 and not line.startswith("#"):
                yield fields


BUSY = 300 # seconds that a guest may need for a command while the host is busy


class Tcpdump:
    def __init__(self, folder, name, options):
        self.path = os.path.join(folder, name + ".pcap")
        self.log = os.path.join(folder, name + ".log")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["tcpdump", "-n", "-U", "-Z", "root", "--immediate-mode", "--time-stamp-precision=nano",
                 "-s", "0", "-B", "16384", "-w", self.path, *options], stderr=log)
        end = time.monotonic() + 20
        while "listening on" not in self.said() and time.monotonic() < end:
            time.sleep(0.02)

    def said(self):
        with open(self.log, encoding="utf-8") as log:
            return log.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        return " ".join(self.said().split("\n")[1:])


def end_of(sent, wire, side, path):
    """Builds the capture of a capture point at one end: its own packets before netem, and the peer's from the wire, also if
    netem corrupted their source MAC address. A guest serves its two cards in turns, so the answer to a frame may be on
    the wire before the frame's copy is."""
    came, both, last = collections.defaultdict(collections.deque), [], 0
    with open(wire, "rb") as file:
        header = file.read(24)
    for record in records_of(wire):
        if record.data[6:12] == MAC[side]:
            came[record.data].append(record.time)
        elif record.data[6:12] in MAC.values() or record.data[:6] == MAC[side]:
            both.append(record)
    for record in records_of(sent):
        times = came[record.data]
        while times and times[0] < record.time - TURN:
            times.popleft()
        last = max(last, min(record.time, times[0] if times else record.time))
        both.append(record._replace(time=last))
    both.sort(key=lambda record: record.time)
    with open(path, "wb") as out:
        out.write(header + b"".join(struct.pack("<IIII", *divmod(time, 10 ** 9), len(data), size) + data
                                    for time, data, size in both))


def counted(before, after):
    """Returns the increase of each counter in two lists of NAME:NUMBER."""
    old = dict(word.split(":") for word in before.split() if ":" in word)
    grown = [(name, int(value) - int(old.get(name, 0)))
             for name, value in (word.split(":") for word in after.split() if ":" in word)]
    return " ".join(f"{name}={by}" for name, by in grown if by)


class Run:
    def __init__(self, args):
        self.args = args
        self.agent = {side: Agent(os.path.join(args.agents, side)) for side in ADDRESS}
        for side, agent in self.agent.items():
            other = 2 if side == "left" else 1
            status, text = agent.run(  # full paths: busybox's shell prefers its own programs
                "/usr/bin/ip link set eth2 addrgenmode none && /usr/bin/ip link set eth2 mtu 9000 up && "
                "/usr/bin/tc qdisc add dev eth0 clsact && /usr/bin/tc filter add dev eth0 egress matchall "
                f"action mirred egress mirror dev eth2 && /usr/bin/ip neigh replace 198.51.100.{other} "
                f"lladdr 02:52:6f:43:46:0{other} nud permanent dev eth1", BUSY)
            if status:
                sys.exit(f"{side}: the guest cannot be set up (status {status}): {text}")
        self.hangs = False
        self.devinfo = {side: agent.run("ibv_devinfo -v")[1] for side, agent in self.agent.items()}

    def filled(self, command, side, folder):
        places = {"TMP": folder, "IF": "eth0"}
        for digit, address in ADDRESS["right"].items():
            places["SERVER" + digit] = address
            places["OWN" + digit] = ADDRESS[side][digit]
        for digit in ("", "6"):
            places["GID" + digit] = gid_index(self.devinfo[side], ADDRESS[side][digit])
        return command.format(**places)

    def both(self, commands, seconds):
        """Runs one command at each end, at the same time. Returns {side: output}. `hangs`: one end did not reply within the time limit."""
        numbers = {side: self.agent[side].start(command, seconds) for side, command in commands.items()}
        end = time.monotonic() + seconds
        status = {side: self.agent[side].wait(number, end) for side, number in numbers.items()}
        said = {side: self.agent[side].text(number) for side, number in numbers.items()}
        self.hangs = 124 in status.values()
        for side in commands:
            if status[side] not in (0, 124):
                sys.exit(f"{side}: {commands[side]}: status {status[side]}: {said[side]}")
        return said

    def row(self, fields, out):
        """Records the row below `out`. Returns the output of the programs."""
        name, mtu, left, right, port, server, client = fields
        folder = "/tmp/files"
        netem = {side: "true" if words in ("", "-") else f"/usr/bin/tc qdisc replace dev eth0 root netem {words}"
                 for side, words in (("left", left), ("right", right))}
        before = self.both({side: f"rm -rf {folder}; mkdir -p {folder}; /usr/bin/ip link set eth0 mtu {mtu} && "
                            f"{netem[side]} && {{ {COUNTERS}; }}" for side in ADDRESS}, BUSY)
        taps = dict(TAPS, **OTHER_TAPS) if self.args.more else TAPS
        dumps = {tap: Tcpdump(out, tap, options) for tap, options in taps.items()}
        end = time.monotonic() + TIMEOUT
        said = [f"# {name}: link MTU {mtu}, netem left: {left}, right: {right}; Linux {self.args.linux}"]
        try:
            at, number = self.agent["right"], None
            if server not in ("", "-"):
                server = self.filled(server, "right", folder)
                number = at.start(server, TIMEOUT)
                if port not in ("", "0"):
                    at.run(guest_ready(port), 20)
            client = self.filled(client, "left", folder)
            if client.startswith("both "): # the recorder's own program, at both ends
                client = client[5:]
                number = at.start(f"rxedrive --right {client}", TIMEOUT)
                server, client = f"rxedrive --right {client}", f"rxedrive --left {client}"
            status, text = self.agent["left"].run(client, TIMEOUT)
            said += [f"left$ {client}", text, f"left: exit status {status}"]
            if number:
                status = at.wait(number, min(end, time.monotonic() + 12))
                said += [f"right$ {server}", at.text(number), f"right: exit status {status}"]
        finally:
            killed = f"killall -q -9 rxedrive {' '.join(programs(server, client))}; true"
            self.both(dict.fromkeys(ADDRESS, killed), 30)
            time.sleep(0.5)
            said += [f"{tap}: {dump.stop()}" for tap, dump in dumps.items()]
            after = self.both(dict.fromkeys(ADDRESS, "/usr/bin/tc -s qdisc show dev eth0 root; "
                                            f"/usr/bin/tc qdisc del dev eth0 root 2>/dev/null; echo; {COUNTERS}"), BUSY)
            for side in ADDRESS:
                queue, _, counters = after[side].partition("\n\n")
                said += [f"{side}$ tc -s qdisc show dev eth0", queue, f"{side}$ rxe's counters", counted(before[side], counters)]
        for side in ADDRESS:
            end_of(os.path.join(out, f"sent-{side}.pcap"), os.path.join(out, "wire.pcap"), side,
                   os.path.join(out, f"{side}.pcap"))
        return "\n".join(said) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", required=True)
    parser.add_argument("--linux", required=True)
    parser.add_argument("--rows", required=True)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--more", action="store_true")
    parser.add_argument("row", nargs="*")
    args = parser.parse_args()
    known = list(rows(args.rows))
    unknown = set(args.row) - {fields[0] for fields in known}
    if unknown:
        sys.exit(f"no such row: {' '.join(sorted(unknown))}")
    run = Run(args)
    for fields in known:
        if args.row and fields[0] not in args.row:
            continue
        out = tempfile.mkdtemp(prefix=fields[0] + ".", dir=args.agents)
        started = time.monotonic()
        text = run.row(fields, out)
        with open(os.path.join(out, "said.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{fields[0]}: {time.monotonic() - started:.1f} s, "
              f"{len(records_of(os.path.join(out, 'wire.pcap')))} frames", flush=True)
        kept = os.path.join(args.keep, fields[0])
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(out, kept)
        shutil.rmtree(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
