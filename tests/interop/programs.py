#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the rows of programs.txt with one end under rnic-run and the other in the guest. Called by
tests/interop/programs. The guest's agent uses the pipes in the folder --agent.
"""
import argparse
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "programs"))
import pair  # noqa: E402 (tests/programs)
import stacks  # noqa: E402

# Values of the placeholders in programs.txt: IPv4 address, IPv6 address (suffix 6), and interface (IF).
OURS = {"": "192.0.2.1", "6": "2001:db8::1", "IF": "tap0"}
LINUX = {"": "192.0.2.2", "6": "2001:db8::2", "IF": "eth0"}
TIMEOUT = 120  # seconds per row; the guest is emulated

def rows():
    with open(os.path.join(HERE, "programs.txt"), encoding="utf-8") as lines:
        for line in lines:
            fields = [field.strip() for field in line.split("|")]
            if len(fields) in (5, 6) and not line.startswith("#"):
                yield fields


class Agent:
    """The guest's agent: numbered commands and their output lines."""

    def __init__(self, folder):
        self.to = open(os.path.join(folder, "agent.in"), "w", buffering=1, encoding="utf-8")
        self.fd = os.open(os.path.join(folder, "agent.out"), os.O_RDWR | os.O_NONBLOCK)
        self.rest = b""
        self.last = 100
        self.out, self.status = {}, {}

    def start(self, command, seconds=TIMEOUT):
        self.last += 1
        self.out[self.last] = []
        self.to.write(f"{self.last} {int(seconds)} {command}\n")
        return self.last

    def read(self, seconds):
        if select.select([self.fd], [], [], max(0, seconds))[0]:
            self.rest += os.read(self.fd, 65536)
        *lines, self.rest = self.rest.split(b"\n")
        for line in lines:
            words = line.decode(errors="replace").rstrip("\r").split(" ", 2)
            if len(words) == 3 and words[0].isdigit() and int(words[0]) in self.out:
                if words[1] == "out":
                    self.out[int(words[0])].append(words[2])
                elif words[1] == "rc":
                    self.status[int(words[0])] = int(words[2])

    def wait(self, number, end):
        """Waits for a command. Returns its status; 124 after a timeout, as timeout(1) does."""
        while number not in self.status and time.monotonic() < end:
            self.read(end - time.monotonic())
        return self.status.get(number, 124)

    def text(self, number):
        return "\n".join(self.out[number]) + "\n"

    def run(self, command, seconds=60):
        number = self.start(command, seconds)
        return self.wait(number, time.monotonic() + seconds), self.text(number)


def gid_index(devinfo, address):
    """Returns the index of the RoCEv2 GID of an address in the output of ibv_devinfo -v."""
    for match in re.finditer(r"GID\[ *(\d+)\]:\s*(\S+?),? *RoCE v2$", devinfo, re.MULTILINE):
        if re.fullmatch("(::ffff:)?" + re.escape(address), match[2]):
            return match[1]
    sys.exit(f"no RoCEv2 GID of {address}:\n" + devinfo)


def filled(command, own, server, devinfo, folder):
    """Returns a row's command for one end."""
    places = {"IF": own["IF"], "TMP": folder}
    for digit in ("", "6"):
        places["SERVER" + digit] = server[digit]
        places["OWN" + digit] = own[digit]
        places["GID" + digit] = gid_index(devinfo, own[digit])
    return command.format(**places)


def guest_ready(port):
    """Returns a shell command that waits until the guest's server listens."""
    if port.startswith("mc/"):
        return f"until grep -q {port[3:]} /proc/net/dev_mcast; do sleep 0.1; done"
    if port.startswith("cm/"):
        return "until rdma resource show cm_id | grep -q LISTEN; do sleep 0.1; done"
    return f"until grep -q ':{int(port):04X} [0-9A-F:]* 0A ' /proc/net/tcp /proc/net/tcp6; do sleep 0.1; done"


def ready(port):
    """Returns true if our server listens, or if our interface receives the multicast group."""
    if port.startswith("mc/"):
        return port[3:] in pair.read_table("dev_mcast")
    return pair.ready(port)


def programs(*commands):
    """Returns the programs to kill if a row fails, except sh, which is the guest's agent."""
    return sorted(set(re.findall(r"\b(?:ibv?_|r[cdips]|ucm|uda|mck)\w+", " ".join(commands))))


class Run:
    def __init__(self, args, agent):
        self.args, self.agent = args, agent
        self.capture = os.path.join(args.agent, "run.pcapng")
        self.folder = os.path.join(args.agent, "files")  # the folder {TMP}, at both ends
        self.peer = "linux-rxe-" + re.match(r"\d+\.\d+", args.linux)[0]  # profile of known deviations
        self.rnic = [os.path.join(args.bin, "rnic-run"), "-i", "tap0"]
        devinfo = subprocess.run(self.rnic + ["--", "ibv_devinfo", "-v"], text=True, check=True,
                                 stdout=subprocess.PIPE).stdout
        self.devinfo = (devinfo, agent.run("ibv_devinfo -v")[1])

    def ours(self, command, server):
        words = self.rnic + ["-w", self.capture]
        if self.args.loss:
            words += ["--impair", f"loss={self.args.loss:g}%"]
        env = dict(os.environ, RNIC_LINGER="500")  # the end that exits first still answers retransmissions
        line = filled(command, OURS, server, self.devinfo[0], self.folder)
        return subprocess.Popen(words + ["--"] + shlex.split(line), env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def theirs(self, command, server):
        return self.agent.start(filled(command, LINUX, server, self.devinfo[1], self.folder))

    def row(self, fields, we_serve):
        """Runs a row. Returns None or an error."""
        _, port, server, client, expect = fields[:5]
        end = time.monotonic() + TIMEOUT
        process = None
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        self.agent.run(f"rm -rf {self.folder}; mkdir -p {self.folder}")
        try:
            if we_serve:
                process = self.ours(server, OURS)
                while not ready(port) and process.poll() is None and time.monotonic() < end:
                    time.sleep(0.02)
                number = self.theirs(client, OURS)
            else:
                number = self.theirs(server, LINUX)
                self.agent.run(guest_ready(port), 30)
                process = self.ours(client, LINUX)
            try:
                text = process.communicate(timeout=max(1, end - time.monotonic()))[0]
            except subprocess.TimeoutExpired:
                late = stacks.show(process.pid)
                text = stacks.ended(process) + late
            status = self.agent.wait(number, end)
        finally:
            if process:
                stacks.end(process.pid)
            if self.args.keep and os.path.exists(self.capture):
                shutil.copy(self.capture, os.path.join(
                    self.args.keep, f"{fields[0]}-{'server' if we_serve else 'client'}.pcapng"))
            self.agent.run(f"killall -q -9 {' '.join(programs(server, client))}; true", 30)
        printed = f"ours: status {process.returncode}\n{text}---- Linux: status {status}\n" + \
            self.agent.text(number)
        if process.returncode or status or not re.search(expect, printed, re.MULTILINE):
            return printed
        judge = subprocess.run([os.path.join(self.args.bin, "rocedrill"), "check", "--quirks",
                                self.peer, self.capture], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, check=False)
        return judge.stdout if judge.returncode else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--linux", required=True)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--keep")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("row", nargs="*")
    args = parser.parse_args()
    run = Run(args, Agent(args.agent))
    known = list(rows())
    unknown = set(args.row) - {fields[0] for fields in known}
    if unknown:
        sys.exit(f"no such row: {' '.join(sorted(unknown))}")
    failed = 0
    for fields in known:
        if args.row and fields[0] not in args.row:
            continue
        # One retry: on a busy host the guest may stall for half a second, and its peer gives up.
        roles = [True, False] if len(fields) == 5 else [fields[5] == "our server"]
        wrong = {we_serve: run.row(fields, we_serve) and run.row(fields, we_serve)
                 for we_serve in roles}
        verdict = ["-" if we_serve not in wrong else "FAIL" if wrong[we_serve] else "PASS"
                   for we_serve in (True, False)]
        failed += verdict.count("FAIL")
        if args.table:
            print(f"| `{fields[0]}` | {verdict[0]} | {verdict[1]} |", flush=True)
        else:
            print(f"{fields[0]:20} our server: {verdict[0]}; our client: {verdict[1]}", flush=True)
        for text in filter(None, wrong.values()):
            print(text, file=sys.stderr if args.table else sys.stdout, flush=True)
    print(f"Linux {args.linux}: {failed} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
