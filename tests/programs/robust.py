#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that a process does not disturb others: kill -9 of a peer at a random moment, a hundred
processes, malformed packets sent to the live port. Also tests the output of rnic-info meanwhile. Runs
inside rnic-run, in a separate network namespace:

rnic-run -n -i lo -- robust.py BIN kill|shm_kill|info|watch|crowd|spray [--seed N] [--times N] [--soak SECONDS]"""
import argparse
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import jsonschema

import stacks

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from seed import add_seed_option  # noqa: E402

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
processes = []


def start(*command, **how):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               **how)
    processes.append(process)
    return process


def wait_for(port):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for table in ("/proc/net/tcp", "/proc/net/tcp6"):
            with open(table, encoding="ascii") as lines:
                if any(f":{port:04X} " in line and " 0A " in line for line in lines):
                    return
        time.sleep(0.01)
    sys.exit(f"no process listens on port {port}")


def finish(process, timeout=60):
    try:
        out, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        too_late()
    return process.returncode, out


def too_late(*_):
    sys.exit("not done in time\n" + stacks.show(*(process.pid for process in processes
                                                  if process.poll() is None)))


def names_left():
    """Returns the registry names that are still claimed."""
    with open("/proc/net/unix", encoding="ascii") as lines:
        return [line.split()[-1] for line in lines if "@rnic" in line]


def expect(condition, what):
    if not condition:
        sys.exit(what)


def kill(bin_dir, rng, args):
    survive = os.path.join(bin_dir, "programs", "survive")
    for number in range(args.times):
        port = 20000 + number
        server = start(survive, str(port))
        wait_for(port)
        client = start(survive, str(port), "127.0.0.1")
        for process in (server, client):
            expect(process.stdout.readline() == "running\n", "a side does not run")
        victim, other = rng.sample((server, client), 2)
        time.sleep(rng.random() * 0.3)
        victim.send_signal(signal.SIGKILL)
        status, out = finish(other)
        victim.wait()
        expect(status == 0 and "transport retry counter exceeded" in out,
               f"{number}: the survivor: status {status}, {out}")
        expect(not names_left(), f"{number}: names left: {names_left()}")
        print(number, "server" if victim is server else "client", "killed; the other", out.strip(),
              flush=True)
    kill_connected(rng, args)


def kill_connected(rng, args):
    """Kills one peer of an rdma_cm connection. The other peer gets DISCONNECTED, as from a kernel, or its
    outstanding requests fail. Then it ends."""
    for number in range(args.times // 3):
        server = start("rping", "-s", "-C", "1000000", "-a", "127.0.0.1")
        while "cm/106/7174" not in " ".join(names_left()):
            time.sleep(0.01)
        client = start("stdbuf", "-oL", "rping", "-c", "-v", "-C", "1000000", "-a", "127.0.0.1")
        expect("ping data" in client.stdout.readline(), "the pair exchanges no data")
        victim, other = rng.sample((server, client), 2)
        time.sleep(rng.random() * 0.1)
        victim.send_signal(signal.SIGKILL)
        _, out = finish(other)
        victim.wait()
        expect("DISCONNECT" in out.upper() or "failed status 12" in out,
               f"{number}: the survivor does not detect it: {out[-500:]}")
        expect(not names_left(), f"{number}: names left: {names_left()}")
        print(number, "rping", "server" if victim is server else "client", "killed", flush=True)


def held(process):
    """Returns the number of descriptors and of rings in shared memory that a process has."""
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        rings = sum("rnic-ring" in line for line in maps)
    return len(os.listdir(f"/proc/{process.pid}/fd")), rings


def until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        expect(time.monotonic() < end, what)
        time.sleep(0.01)


def shm_kill(bin_dir, rng, args):
    """Kills one side of pairs that exchange packets through shared memory, ten pairs at once. Another
    process, the witness, has rings to all. It must free those of ended processes, and then accept a new peer."""
    survive = os.path.join(bin_dir, "programs", "survive")
    witness = start(survive, "19999")
    wait_for(19999)
    before = held(witness)
    for first in range(0, args.times, 10):
        pairs = []
        for number in range(first, min(first + 10, args.times)):
            server = start(survive, str(20000 + number))
            wait_for(20000 + number)
            pairs.append((server, start(survive, str(20000 + number), "127.0.0.1")))
        for process in (process for pair in pairs for process in pair):
            expect(process.stdout.readline() == "running\n", "a side does not run")
        until(lambda: held(witness)[1] == 4 * len(pairs), "the witness does not have rings to all processes")
        others = []
        for pair in rng.sample(pairs, len(pairs)):
            victim, other = rng.sample(pair, 2)
            time.sleep(rng.random() * 0.05)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            others.append(other)
        for other in others:
            status, out = finish(other, 100)
            expect(status == 0 and "transport retry counter exceeded" in out,
                   f"the survivor: status {status}, {out}")
        until(lambda: held(witness) == before, f"the witness has more descriptors or rings than {before}")
        print(f"{len(pairs)} killed; the witness has {before} descriptors and rings, as before", flush=True)
    client = start(survive, "19999", "127.0.0.1")
    expect(client.stdout.readline() == "running\n", "no new peer connects to the witness")
    client.kill()
    client.wait()
    status, out = finish(witness)
    expect(status == 0, f"the witness: status {status}, {out}")
    expect(not names_left(), f"names left: {names_left()}")


def info(bin_dir, _, __):
    """Expects that rnic-info describes both processes, as text and as JSON, with each call."""
    def ask(what):
        done = subprocess.run([os.path.join(bin_dir, "rnic-info"), what], stdout=subprocess.PIPE,
                              text=True, check=True)
        print(done.stdout)
        return done.stdout

    survive = os.path.join(bin_dir, "programs", "survive")
    server = start(survive, "7800")
    wait_for(7800)
    client = start(survive, "7800", "127.0.0.1")
    for process in (server, client):
        expect(process.stdout.readline() == "running\n", "a side does not run")
    pids = {str(server.pid), str(client.pid)}
    links = re.findall(r"^link rnic_lo/1 pid (\d+) comm survive$", ask("link"), re.MULTILINE)
    expect(set(links) == pids and len(links) == 2, "link: other processes")
    qps = re.findall(r"pid (\d+) comm survive lqpn (0x[0-9a-f]{6}) type RC state RTS rqpn (0x[0-9a-f]{6}) path-mtu 1024",
                     ask("resource"))
    expect(len(qps) == 2 and {qp[0] for qp in qps} == pids, "resource: other QPs")
    expect(qps[0][1:] == (qps[1][2], qps[1][1]), "resource: they are not each other's peers")
    statistic = ask("statistic")
    for counter in ("rx_write_requests", "tx_packets", "port_tx_local"):
        values = re.findall(rf" {counter} (\d+)", statistic)
        expect(len(values) == 2 and all(int(value) > 0 for value in values), f"no {counter}")
    with open(os.path.join(TOP, "rnic/tools/rnic-info.schema.json"), encoding="utf-8") as text:
        schema = json.load(text)
    again = start(os.path.join(bin_dir, "rnic-info"), "--json", "--watch=0.05")
    for said in [json.loads(again.stdout.readline()) for _ in range(3)]:
        jsonschema.validate(said, schema)
        expect({str(one["pid"]) for one in said["processes"]} == pids, "JSON: other processes")
        numbers = [(one["qps"][0]["lqpn"], one["qps"][0]["rqpn"]) for one in said["processes"]]
        expect(numbers[0] == numbers[1][::-1] and {f"0x{numbers[0][0]:06x}"} <= {qp[1] for qp in qps}, "JSON: other QPs")
        expect(all(one["counters"]["tx_packets"] > 0 for one in said["processes"]), "JSON: no packets")
        expect("rnic_lo" in [one["device"] for one in said["devices"]], "JSON: other devices")
        expect(said["limits"]["max_qp"] >= 10000, "JSON: max_qp")
    again.kill()
    again.wait()
    for process in (server, client):
        process.kill()
        process.wait()
    expect(not ask("resource"), "somebody is left")
    expect(int(re.search(r"^max_qp (\d+)$", ask("limits"), re.MULTILINE)[1]) >= 10000, "max_qp")


def watch(*_):
    """Expects that ibv_asyncwatch reports when the link goes down and up again."""
    process = start("stdbuf", "-oL", "ibv_asyncwatch", "-d", "rnic_rnic0")
    first = process.stdout.readline()
    expect("rnic_rnic0" in first, f"ibv_asyncwatch: {first}")
    subprocess.run(["ip", "link", "set", "rnic0", "down"], check=True)
    lines = [process.stdout.readline()]
    subprocess.run(["ip", "link", "set", "rnic0", "up"], check=True)
    while "PORT_ACTIVE" not in lines[-1]:
        lines.append(process.stdout.readline())
        expect(lines[-1], f"ibv_asyncwatch ended: {lines}")
    print(first, *lines)
    expect(any("PORT_ERR" in line for line in lines), f"no port error: {lines}")


def crowd(bin_dir, *_):
    """Runs a hundred processes; then a hundred with a hundred QPs each, all connected at once."""
    pairs = 50
    servers = [start("ibv_rc_pingpong", "-e", "-g", "1", "-c", "-n", "20", "-p", str(21000 + i))
               for i in range(pairs)]
    for i in range(pairs):
        wait_for(21000 + i)
    clients = [start("ibv_rc_pingpong", "-e", "-g", "1", "-c", "-n", "20", "-p", str(21000 + i),
                     "127.0.0.1") for i in range(pairs)]
    for process in servers + clients:
        status, out = finish(process, 200)
        expect(status == 0 and "20 iters" in out, f"status {status}: {out}")
    expect(not names_left(), f"names left: {names_left()}")
    print(2 * pairs, "processes at once, each with the right data")
    many = os.path.join(bin_dir, "programs", "many_qps")
    crowded = [start(many, "100", "wait", stdin=subprocess.PIPE) for _ in range(100)]
    for process in crowded:
        line = process.stdout.readline()
        expect(line == "connected\n", f"a process is not connected: {line}")
    found = re.findall(r"pid (\d+) comm many_qps lqpn (0x[0-9a-f]{6}) type RC state RTS", subprocess.run(
        [os.path.join(bin_dir, "rnic-info"), "resource"], stdout=subprocess.PIPE, text=True,
        check=True).stdout)
    expect(len({pid for pid, _ in found}) == 100 and len({qpn for _, qpn in found}) == 10000,
           f"rnic-info shows {len(found)} QPs")
    for process in crowded:
        process.stdin.close()
        process.stdin = None
    for process in crowded:
        status, out = finish(process, 100)
        expect(status == 0 and "100 QPs: each wrote" in out, f"status {status}: {out}")
    expect(not names_left(), f"names left: {names_left()}")
    print(f"{len(found)} QPs of {len(crowded)} processes at once; each QP wrote the right data")


class Sprayer(threading.Thread):
    """Sends frames of the loopback again: with inverted bits, truncated, extended, mixed with others, or
    replaced by random bytes."""

    def __init__(self, rng):
        super().__init__(daemon=True)
        self.rng, self.sent, self.stop = rng, 0, False
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind(("lo", 0))

    @staticmethod
    def bth(frame):
        """Returns the offset of the BTH in a frame, or 0 if the frame has no BTH."""
        at = {b"\x08\x00": 34, b"\x86\xdd": 54}.get(frame[12:14], 0)
        return at + 8 if at and len(frame) >= at + 24 and frame[at + 2:at + 4] == b"\x12\xb7" else 0

    def spoiled(self, frame, bth):
        rng, frame = self.rng, bytearray(frame)
        kind = rng.randrange(5)
        if kind == 0:  # inverts bits after the UDP header, so that the ICRC is wrong
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(bth + 4, len(frame))
                frame[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del frame[rng.randrange(14, len(frame)):]
        elif kind == 2:
            frame += rng.randbytes(rng.randrange(1, 300))
        elif kind == 3:
            frame[bth:] = rng.randbytes(rng.randrange(0, 200))
        else:  # replaces the destination QP and the rest of the BTH by random values
            frame[bth + 5:bth + 8] = rng.randbytes(3)
            frame[bth] = rng.randrange(256)
        return bytes(frame)

    def run(self):
        while not self.stop:
            frame = self.socket.recv(70000)
            bth = self.bth(frame)
            if not bth or self.rng.randrange(4):
                continue
            for _ in range(3):
                try:
                    self.socket.send(self.spoiled(frame, bth))
                    self.sent += 1
                except OSError:
                    pass


def spray(_, rng, args):
    sprayer = Sprayer(rng)
    sprayer.start()
    patience = 600 if args.soak else 60  # a soak may be slow on a machine that others use
    end = time.monotonic() + args.soak
    rounds = 0
    while rounds == 0 or time.monotonic() < end or (sprayer.sent <= 1000 and rounds < 10):
        server = start("ibv_rc_pingpong", "-g", "1", "-c", "-n", "1000", "-s", "9000")
        wait_for(18515)
        client = start("ibv_rc_pingpong", "-g", "1", "-c", "-n", "1000", "-s", "9000", "127.0.0.1")
        for process in (server, client):
            status, out = finish(process, patience)
            expect(status == 0 and re.search("^1000 iters", out, re.MULTILINE) and
                   "invalid" not in out, f"status {status}: {out}")
        rounds += 1
    sprayer.stop = True
    expect(sprayer.sent > 1000, f"only {sprayer.sent} spoiled frames were sent")
    print(f"{sprayer.sent} spoiled frames changed nothing in {rounds} rounds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("what", choices=("kill", "shm_kill", "info", "watch", "crowd", "spray"))
    add_seed_option(parser)
    parser.add_argument("--times", type=int, default=6)
    parser.add_argument("--soak", type=float, default=0)
    args = parser.parse_args()
    print(f"ROCEDRILL_SEED={args.seed}", flush=True)
    # A case that hangs ends in time, and no process is left running.
    signal.signal(signal.SIGALRM, too_late)
    signal.alarm(int(200 + 2 * args.soak + 10 * args.times))
    try:
        globals()[args.what](os.path.abspath(args.bin), random.Random(args.seed), args)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
