#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs two programs that communicate with each other, in the current network namespace.

pair.py [--port N] [--timeout S] SERVER... --- CLIENT...

The client starts when the server listens on TCP port N, or has claimed the name N of the connection
manager, for example cm/106/7471. With port 0 it starts at once. Both programs must end with status 0 within S
seconds. The script prints their output and leaves no process running. If a program does not end in
time, the script also prints its stacks (stacks.py)."""
import argparse
import re
import signal
import subprocess
import sys
import time

import stacks

LISTEN = "0A"  # the state LISTEN in /proc/net/tcp


def read_table(name):
    """Returns the lines of a table of the network namespace of this process."""
    try:
        with open(f"/proc/net/{name}", encoding="utf-8") as table:
            return table.read()
    except FileNotFoundError:
        return ""


def ready(port, table=read_table):
    """Returns whether a process listens on the TCP port, or has claimed the rdma_cm name of a port
    space (hexadecimal) and port on any interface."""
    if port == "0":
        return True
    if port.startswith("cm/"):
        return re.search(f"@rnic/[^/]+/{port}(/[0-9a-f]+)?$", table("unix"), re.MULTILINE) is not None
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
    signal.signal(signal.SIGTERM, stacks.leave)
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
