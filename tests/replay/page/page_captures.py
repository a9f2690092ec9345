# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Captures that the tests of pages make."""
import itertools
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../traces"))
from connection_builder import NAK_SEQ, RNR, US, MS, Connection, retransmission  # noqa: E402


def write_capture(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time, data in sorted(frames):
            out.write(struct.pack("<IIII", *divmod(time, 10 ** 9), len(data), len(data)) + data)


def write_incast(path, senders):
    """Writes a capture of senders that share the link to one receiver and spread their packets over four UDP source
    ports. In the middle the switch marks packets, and each CNP slows its sender."""
    frames = []
    for n in range(senders):
        rng, t, cnp = random.Random(n), Connection(n, mtu=1024), 0
        t.hosts[0] = bytes([10, 0, 17, 1 + n])
        t.sport[0] = lambda rng=rng: 0xC000 + rng.randrange(4)
        start = t.now
        while t.now < start + 10 * MS:
            crowded = 2 * MS < t.now - start < 7 * MS
            parts = [t.write(0, 1024, tos=0x6B if crowded and rng.random() < 0.5 else 0x6A)[0] for _ in range(4)]
            t.add_all(0, parts)
            if t.now > cnp + 50 * US and any(part[15] & 3 == 3 for part in parts):
                t.add(1, t.cnp(1))
                cnp, t.step = t.now, min(8 * t.step // 5, 60 * US)
            t.add(1, t.ack(1, t.psn[0] - 1), wait=2 * US)
            t.step = max(10 * US, (97 if crowded else 85) * t.step // 100)
        frames += t.frames
    write_capture(path, frames)


def write_sprayed(path, ports):
    """Writes a connection in which each packet, also each retransmission, has another UDP source port."""
    t, numbers = Connection(mtu=1024), itertools.count(0x8000)
    t.sport[0] = lambda: next(numbers)
    t.add_all(0, t.write(0, 1024 * ports))
    t.psn[0] -= ports
    t.now += 20 * MS
    t.add_all(0, t.write(0, 1024 * ports)[-20:])
    t.add(1, t.ack(1, t.psn[0] - 1, msn=1))
    write_capture(path, t.frames)


def write_troubles(path, conns):
    """Writes a capture of up to five connections: one lost packet; receiver not ready; timeout; CNP; no trouble."""
    frames = []
    for n in range(conns):
        t = Connection(n, mtu=1024)
        t.hosts[0] = bytes([10, 0, 17, 1 + n])
        parts = t.write(0, 4096)
        first = t.psn[0] - 4
        t.add_all(0, parts if n != 0 else parts[:1] + parts[2:])
        if n == 0:
            t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
        if n == 1:
            t.add(1, t.ack(1, first, syndrome=RNR | 14, msn=0))
            t.add(1, t.ack(1, first, syndrome=NAK_SEQ, msn=0))  # Linux rxe sends it for the requests that follow the refused one
            t.now += 2 * MS
        if n == 2:
            t.now += 9 * MS
        if n < 3:
            t.add_all(0, [retransmission(t, part) for part in parts[n == 0:]])
        if n == 3:
            t.add(1, t.cnp(1))
        t.add(1, t.ack(1, t.psn[0] - 1))
        frames += t.frames
    write_capture(path, frames)


def write_reuse(path, uses):
    """Writes a capture of a QP pair that is used several times. Each use has another start PSN, and loses one packet."""
    t = Connection(mtu=1024)
    for n in range(uses):
        t.psn[0], t.msn[0] = (9000000 * n + 100) % (1 << 24), 0
        for k in range(20):
            parts, first = t.write(0, 4096), t.psn[0] - 4
            t.add_all(0, parts if k != 10 else parts[:1] + parts[2:])
            if k == 10:
                t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ))
                t.add_all(0, [retransmission(t, part) for part in parts[1:]])
            t.add(1, t.ack(1, t.psn[0] - 1))
        t.now += 2000 * MS
    write_capture(path, t.frames)
