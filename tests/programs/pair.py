#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs two programs that talk to each other, in the network they are started in.

pair.py [--port N] [--timeout S] SERVER... --- CLIENT...

The client starts when the server listens on TCP port N (0: as soon as it runs), or has claimed the
name N of the connection manager, as cm/106/7471. Both have to end
with status 0 in time; what they printed is shown, and nothing is left running. Of who is late it is
told what it waits for (stacks.py)."""
import argparse
import re
import signal
import subprocess
import sys
import time

import stacks

LISTEN = "0A"  # /proc/net/tcp: the state


def read_table(name):
    """A table of the network that this process is in."""
    try:
        with open(f"/proc/net/{name}", encoding="utf-8") as table:
            return table.read()
    except FileNotFoundError:
        return ""


def ready(port, table=read_table):
    """Whether somebody listens on the TCP port, or has claimed the name of a port space
    (hexadecimal) and port of rdma_cm, on any interface."""
    if port == "0":
        return True
    if port.startswith("cm/"):
        return re.search(f"@rnic/[^/]+/{port}$", table("unix"), re.MULTILINE) is not None
    fields = (line.split() for line in (table("tcp") + table("tcp6")).splitlines())
    return any(field[3] == LISTEN and int(field[1].rsplit(":", 1)[1], 16) == int(port)
               for field in fields if field[3] != "st")


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", default="0")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("commands", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    commands = args.commands[1:] if args.commands[:1] == ["--"] else args.commands
    cut = commands.index("---")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and what it runs with it
    end = time.monotonic() + args.timeout
    server = start(commands[:cut])
    processes = [("server", server)]
    status = 0
    late = ""
    try:
        while not ready(args.port):
            if server.poll() is not None or time.monotonic() > end:
                break
            time.sleep(0.01)
        client = start(commands[cut + 1:])
        processes.append(("client", client))
        for name, process in reversed(processes):
            try:
                out, _ = process.communicate(timeout=max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                late = late or stacks.show(*(process.pid for _, process in processes))
                out = stacks.ended(process) + f"\n{name}: not done after {args.timeout} s"
            print(f"---- {name}: status {process.returncode}\n{out}", flush=True)
            status |= process.returncode != 0
    finally:
        print(late, end="", flush=True)
        for _, process in processes:
            stacks.end(process.pid)
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
