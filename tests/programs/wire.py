#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs rows of programs.txt between two network namespaces that a veth link connects, with the server
at one end and the client at the other. Each side has its own flow validator (rnic-run --selfcheck).

wire.py --bin FOLDER [--loss PERCENT] [--mtu N] [--preload LIB] NAME...     or "all"

The namespaces have no name and end with their processes. Exit status 77: namespaces are not permitted here."""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import pair
import run as rows_of
import stacks

ADDRESSES = (("10.77.0.1", "fd77::1"), ("10.77.0.2", "fd77::2"))  # of the server, of the client

# Bytes 10 and 11 of the server's link-local GID are ff ff, as in an IPv4-mapped address.
MACS = ("02:d1:ff:00:00:01", "02:d1:00:00:00:02")
LOOPBACK = r"\b(?:127\.0\.0\.1|localhost)\b"
TIMEOUT = 90
# Rows of programs.txt that have only one process, or that CMakeLists.txt excludes.
AT_HOME = ("mistakes", "features", "features_2a", "events", "manners", "many_qps", "later",
           "cm_events", "cm_process", "cm_many", "cm_rest", "openmpi")


class Space:
    """A network namespace. It exists as long as its process, which sleeps until its standard input ends."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c",
             "ip link set lo up && echo up && exec cat >/dev/null"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "up\n":
            sys.exit(77)
        # unshare --kill-child forks, so the child is in the namespace
        self.pid = self.keeper.pid
        children = f"/proc/{self.pid}/task/{self.pid}/children"
        with open(children, encoding="ascii") as pids:
            text = pids.read().split()
        if text:
            self.pid = int(text[0])

    def command(self, *words):
        return ["nsenter", "-t", str(self.pid), "-n", *words]

    def run(self, *words):
        subprocess.run(self.command(*words), check=True)

    def ready(self, port):
        return pair.ready(port, lambda name: stacks.read(f"/proc/{self.pid}/net/{name}"))

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait()


def link(mtu):
    server, client = Space(), Space()
    subprocess.run(server.command("ip", "link", "add", "wire0", "mtu", str(mtu), "address", MACS[0],
                                  "type", "veth", "peer", "name", "wire0", "address", MACS[1],
                                  "netns", str(client.pid)), check=True)
    for space, addresses in zip((server, client), ADDRESSES):
        space.run("ip", "link", "set", "wire0", "mtu", str(mtu))
        space.run("sysctl", "-qw", "net.ipv6.conf.wire0.dad_transmits=0")
        space.run("ip", "addr", "add", f"{addresses[0]}/24", "dev", "wire0")
        space.run("ip", "addr", "add", f"{addresses[1]}/64", "dev", "wire0", "nodad")
        space.run("ip", "link", "set", "wire0", "up")
    for space in (server, client):  # waits for the carrier of the link
        while "LOWER_UP" not in subprocess.run(space.command("ip", "link", "show", "wire0"),
                                               stdout=subprocess.PIPE, text=True,
                                               check=True).stdout:
            time.sleep(0.01)
    return server, client


def environment(preload):
    """Returns the environment. With a preloaded sanitizer it ignores the leaks of Debian's programs."""
    return dict(os.environ, **({"ASAN_OPTIONS": "detect_leaks=0:" +
                                os.environ.get("ASAN_OPTIONS", "")} if preload else {}))


def gid_indices(space, bin_dir, preload=""):
    """Returns the indices of the RoCEv2 GIDs of the IPv4 and the IPv6 address, for -g and -x."""
    done = subprocess.run(space.command(os.path.join(bin_dir, "rnic-run"), "-i", "wire0", "--",
                                        *rows_of.runtime_first("ibv_devinfo", preload, bin_dir),
                                        "ibv_devinfo", "-v"), env=environment(preload),
                          stdout=subprocess.PIPE, text=True, check=True)
    found = {match[2]: match[1] for match in
             re.finditer(r"GID\[ *(\d+)\]:\s*(\S+?),? *RoCE v2$", done.stdout, re.MULTILINE)}
    indices = [next((found[gid] for gid in found if gid.startswith(begin)), None)
               for begin in ("::ffff:10.77", "fd77:")]
    if None in indices:
        sys.exit("no GID of an address on the link:\n" + done.stdout)
    return indices


def at(command, side, gids):
    """Returns the command of a row for one end of the link."""
    # Replaces loopback addresses. The option -b of perftest means bidirectional and has no address.
    for number, own in enumerate(("127.0.0.1", "::1")):
        command = re.sub(rf"-([bI]) {own}(?=\s|$)", rf"-\1 {ADDRESSES[side][number]}", command)
    command = re.sub(LOOPBACK, ADDRESSES[0][0], command)
    command = re.sub(r"(?<=\s)::1\b", ADDRESSES[0][1], command)
    command = re.sub(r"-x \d+", f"-x {gids[1]}", command)
    return re.sub(r"-g \d+", f"-g {gids[0]}", command)


def run(fields, spaces, bin_dir, loss, gids, preload=""):
    """Runs a row. Returns None, or the reason of the failure."""
    _, port, server, client, expect = fields
    watch = [os.path.join(bin_dir, "rnic-run"), "-i", "wire0", "--selfcheck"]
    env = environment(preload)
    if loss:
        watch += ["--impair", f"loss={loss:g}%"]
        rows_of.with_loss(env)
    processes, outs, late = [], [], ""
    end = time.monotonic() + TIMEOUT
    with tempfile.TemporaryDirectory(prefix="rnic-wire-") as folder:
        filled = rows_of.Words(loss, BIN=bin_dir, TMP=folder)
        expect = expect.format_map(filled)
        try:
            for side, command in enumerate((server, client)):
                words = rows_of.runtime_first(command, preload, bin_dir)
                words += shlex.split(at(command.format_map(filled), side, gids[side]))
                processes.append(subprocess.Popen(
                    spaces[side].command(*watch, "--", *words), env=env, stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT, text=True, start_new_session=True))
                while side == 0 and time.monotonic() < end and processes[0].poll() is None and \
                        not spaces[0].ready(port):
                    time.sleep(0.02)
            for process in reversed(processes):
                try:
                    outs.append(process.communicate(timeout=max(1, end - time.monotonic()))[0])
                except subprocess.TimeoutExpired:
                    late = late or stacks.show(*(process.pid for process in processes))
                    outs.append(stacks.ended(process) + f"\nnot done after {TIMEOUT} s")
        finally:
            for process in processes:
                stacks.end(process.pid)
    if any(process.returncode for process in processes) or \
            (expect and not any(re.search(expect, out, re.MULTILINE) for out in outs)):
        return "\n---- ".join(f"status {process.returncode}\n{out}"
                              for process, out in zip(reversed(processes), outs)) + late
    return None


def enter():
    """Runs this script again as root of a user namespace, if the user is not root."""
    if subprocess.run(["unshare", "-Ur", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("no network namespace can be made here")
        sys.exit(77)
    os.execvp("unshare", ["unshare", "-Ur", sys.executable] + sys.argv)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--mtu", type=int, default=4300)
    parser.add_argument("--preload", default="")
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    if os.geteuid() != 0:
        enter()
    bin_dir = os.path.abspath(args.bin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # SystemExit also ends the started programs
    chosen = [row for row in rows_of.rows() if row[0] not in AT_HOME] if "all" in args.names \
        else [rows_of.row(name) for name in args.names]
    spaces = link(args.mtu)
    failed = 0
    try:
        gids = [gid_indices(space, bin_dir, args.preload) for space in spaces]
        for row in chosen:
            problem = run(row, spaces, bin_dir, args.loss, gids, args.preload)
            print(f"{row[0]:20} {'ok' if problem is None else problem}", flush=True)
            failed += problem is not None
    finally:
        for space in spaces:
            space.close()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
