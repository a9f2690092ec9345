#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Two unmodified programs in two network namespaces with a veth link between them, each watched by
the flow validator on its own side (rnic-run --selfcheck), perftest and the pingpongs alike.

wire.py --bin FOLDER [--loss PERCENT] [--mtu N] NAME...      rows of programs.txt, or "all"

The namespaces have no name and end with the processes in them. Exit status 77: not allowed here."""
import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"


def rows():
    with open(os.path.join(HERE, "programs.txt"), encoding="utf-8") as lines:
        for line in lines:
            fields = [field.strip() for field in line.split("|")]
            if len(fields) == 5 and not line.startswith("#"):
                yield fields


class Space:
    """A network namespace, held by a process that sleeps until its standard input ends."""

    def __init__(self):
        self.keeper = subprocess.Popen(
            ["unshare", "--net", "--kill-child", "sh", "-c",
             "ip link set lo up && echo up && exec cat >/dev/null"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.keeper.stdout.readline() != "up\n":
            sys.exit(77)
        # unshare --kill-child forks: the namespace is its child's
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

    def listens(self, port):
        done = subprocess.run(self.command("cat", "/proc/net/tcp", "/proc/net/tcp6"),
                              stdout=subprocess.PIPE, text=True, check=False)
        return any(f":{port:04X} " in line and " 0A " in line for line in done.stdout.splitlines())

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait()


def link(mtu):
    server, client = Space(), Space()
    subprocess.run(server.command("ip", "link", "add", "wire0", "mtu", str(mtu), "type", "veth",
                                  "peer", "name", "wire0", "netns", str(client.pid)), check=True)
    for space, address in ((server, SERVER), (client, CLIENT)):
        space.run("ip", "link", "set", "wire0", "mtu", str(mtu))
        space.run("sysctl", "-qw", "net.ipv6.conf.wire0.dad_transmits=0")
        space.run("ip", "addr", "add", f"{address}/24", "dev", "wire0")
        space.run("ip", "link", "set", "wire0", "up")
    return server, client


def gid_index(space, bin_dir):
    """Of the RoCEv2 GID of the IPv4 address, for the pingpongs."""
    done = subprocess.run(space.command(os.path.join(bin_dir, "rnic-run"), "-i", "wire0", "--",
                                        "ibv_devinfo", "-v"),
                          stdout=subprocess.PIPE, text=True, check=True)
    for match in re.finditer(r"GID\[ *(\d+)\]:\s*(\S+?),? *(RoCE v2)?$", done.stdout, re.MULTILINE):
        if match[3] and "ffff:10.77" in match[2]:
            return match[1]
    sys.exit("no GID of the address on the link:\n" + done.stdout)


def run(fields, spaces, bin_dir, loss, gids):
    name, port, server, client, expect = fields
    watch = [os.path.join(bin_dir, "rnic-run"), "-i", "wire0", "--selfcheck"]
    if loss:
        watch += ["--impair", f"loss={loss:g}%"]
    processes = []
    end = time.monotonic() + 90
    env = dict(os.environ, RNIC_LINGER="300") if loss else dict(os.environ)
    try:
        for space, gid, command in zip(spaces, gids, (server, client)):
            command = re.sub(r"\b(127\.0\.0\.1|localhost)\b", SERVER, command)
            command = re.sub(r"-g \d+", f"-g {gid}", command)
            processes.append(subprocess.Popen(
                space.command(*watch, "--", *shlex.split(command)), env=env,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                start_new_session=True))
            while command.startswith("ib") and space is spaces[0] and time.monotonic() < end and \
                    processes[0].poll() is None and not space.listens(int(port)):
                time.sleep(0.05)
        outs = [process.communicate(timeout=max(1, end - time.monotonic()))[0]
                for process in processes]
    except subprocess.TimeoutExpired:
        return "not done after 90 s"
    finally:
        for process in processes:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
    if any(process.returncode for process in processes) or \
            not any(re.search(expect, out, re.MULTILINE) for out in outs):
        return "\n---- ".join(f"status {process.returncode}\n{out}"
                              for process, out in zip(processes, outs))
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--mtu", type=int, default=4300)
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    if os.geteuid() != 0:
        print("needs root for two namespaces")
        sys.exit(77)
    bin_dir = os.path.abspath(args.bin)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and what it runs with it
    # Programs of one process, and those that take no address, stay at home.
    able = [row for row in rows() if row[1].isdigit() and
            re.search("127.0.0.1|localhost", row[3]) and "{TMP}" not in row[3]]
    if args.loss:
        able = [row for row in able
                if "-c U" not in row[3] and not re.match("u[cd]_|write_bw_sizes", row[0])]
    chosen = able if "all" in args.names else [row for row in able if row[0] in args.names]
    spaces = link(args.mtu)
    failed = 0
    try:
        gids = [gid_index(space, bin_dir) for space in spaces]
        for row in chosen:
            problem = run(row, spaces, bin_dir, args.loss, gids)
            print(f"{row[0]:20} {'ok' if problem is None else problem}", flush=True)
            failed += problem is not None
    finally:
        for space in spaces:
            space.close()
    if not chosen:
        sys.exit("no such row")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
