#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Traffic as hardware RNICs and their fabrics make it, of which no capture is in the repository.

    nics.py --rocedrill PROGRAM [--keep DIR] [--only WORD] [--seed N]

Each behaviour is public (NIC manuals, patents, papers, captures others published; beside each the source)
and built here packet by packet. rocedrill check is asked of it as a whole and damaged the way captures are:
thinned, sampled, cut, one direction, without its head, each packet twice. It must say no ERROR of what the
specification allows, name what a row names, and no more lines than a row allows.
"""
import argparse
import collections
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

MTU = 4096
US, MS = 1000, 1000000
SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 4, 6, 7, 8, 9, 10, 11
READ, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = range(12, 21)
CNP, UD_SEND = 0x81, 0x64
ACK_OK, NAK_SEQ, NAK_ACCESS, RNR = 0x1F, 0x60, 0x62, 0x20


def folded(words):
    """The sum that IP's checksum is the complement of."""
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Talk:
    """One connection between two RNICs. Side 0 has 10.0.17.1, side 1 10.0.18.1."""

    def __init__(self, n=0, mtu=MTU, seed=1):
        self.frames, self.now, self.step, self.mtu, self.n = [], 10 ** 18, 1 * US, mtu, n
        self.rng = random.Random(seed)
        self.hosts = [bytes([10, 0, 17, 1]), bytes([10, 0, 18, 1])]
        self.qpn = [0x118 + n * 8, 0x9A2 + n * 8]
        self.psn = [0x3D1F00 + n * 77, 0xFFFFF0 - n * 5]
        self.msn = [0, 0]  # of each side's requests
        self.ids = [n * 1000, n * 2000]
        self.sport = [lambda: linux_sport(*self.qpn)] * 2
        self.tos, self.resv, self.ttl, self.migreq, self.csum = 0x6A, 0, 64, 1, 0

    # -- bytes

    def frame(self, side, opcode, psn, body=b"", ack=0, se=0, resv=None, qpn=None, tos=None, pad=0, sport=None, migreq=None):
        resv = self.resv if resv is None else resv
        qpn = self.qpn[1 - side] if qpn is None else qpn
        tos = self.tos if tos is None else tos
        migreq = self.migreq if migreq is None else migreq
        bth = struct.pack(">BBHBBHI", opcode, se << 7 | migreq << 6 | pad << 4, 0xFFFF, resv, qpn >> 16, qpn & 0xFFFF,
                          ack << 31 | psn & 0xFFFFFF)
        ib = bth + body
        size = 28 + len(ib) + 4
        self.ids[side] = self.ids[side] + 1 & 0xFFFF
        addresses = self.hosts[side] + self.hosts[1 - side]
        sport = self.sport[side]() if sport is None else sport
        udp = struct.pack(">HHH", sport, 4791, size - 20)

        def ip(tos, ttl, checksum):
            return struct.pack(">BBHHHBBH", 0x45, tos, size, self.ids[side], 0x4000, ttl, 17, checksum) + addresses
        total = folded(struct.unpack(">10H", ip(tos, self.ttl, 0)))
        masked = b"\xff" * 8 + ip(0xFF, 0xFF, 0xFFFF) + udp + b"\xff\xff" + ib[:4] + b"\xff" + ib[5:]
        eth = bytes([2, 0, 0, 0, 0, 2 - side, 2, 0, 0, 0, 0, 1 + side]) + b"\x08\x00"
        return (eth + ip(tos, self.ttl, 0xFFFF - total) + udp + struct.pack(">H", self.csum) + ib
                + struct.pack("<I", zlib.crc32(masked)))

    def put(self, side, data, wait=None):
        self.now += self.step if wait is None else wait
        self.frames.append((self.now, data))

    # -- requests: lists of frames, so that a case can order, lose and repeat them

    def take(self, side, count=1):
        psn = self.psn[side]
        self.psn[side] = psn + count & 0xFFFFFF
        return psn

    def reth(self, length, va=0x7F0000010000, rkey=0x1C0DE):
        return struct.pack(">QII", va, rkey, length)

    def write(self, side, size, imm=False, ack=1, **more):
        count = max(1, -(-size // self.mtu))
        psn, out = self.take(side, count), []
        self.msn[side] += 1
        data = struct.pack(">I", 0x1A) if imm else b""
        if count == 1:
            body = self.reth(size) + data + bytes(size)
            return [self.frame(side, WRITE_ONLY_IMM if imm else WRITE_ONLY, psn, body, ack, **more)]
        for i in range(count):
            last = i == count - 1
            part = bytes([i & 0xFF]) * (size - i * self.mtu if last else self.mtu)
            opcode = WRITE_FIRST if i == 0 else WRITE_MIDDLE if not last else WRITE_LAST_IMM if imm else WRITE_LAST
            body = self.reth(size) + part if i == 0 else data + part if last else part
            out.append(self.frame(side, opcode, psn + i, body, ack if last else 0, **more))
        return out

    def send(self, side, size, **more):
        psn = self.take(side)
        self.msn[side] += 1
        return self.frame(side, SEND_ONLY, psn, bytes(size), 1, **more)

    def read(self, side, size, **more):
        count = max(1, -(-size // self.mtu))
        psn = self.take(side, count)
        self.msn[side] += 1
        return psn, self.frame(side, READ, psn, self.reth(size), 1, **more)

    def responses(self, side, psn, size, first=0, **more):
        """To the READ of the other side: from the packet `first` on."""
        count = max(1, -(-size // self.mtu))
        out = []
        for i in range(first, count):
            last = i == count - 1
            aeth = struct.pack(">I", ACK_OK << 24 | self.msn[1 - side] & 0xFFFFFF)
            if first == count - 1 or count == 1:
                opcode = READ_ONLY
            else:
                opcode = READ_LAST if last else READ_FIRST if i == first else READ_MIDDLE
            part = bytes([i & 0xFF]) * (size - i * self.mtu if last else self.mtu)
            out.append(self.frame(side, opcode, psn + i, (b"" if opcode == READ_MIDDLE else aeth) + part, **more))
        return out

    def ack(self, side, psn, syndrome=ACK_OK, msn=None, **more):
        msn = self.msn[1 - side] if msn is None else msn
        return self.frame(side, ACK, psn, struct.pack(">I", syndrome << 24 | msn & 0xFFFFFF), **more)

    def cnp(self, side, **more):
        given = dict(resv=0x40, tos=0xC2, sport=0, migreq=0)
        given.update(more)
        return self.frame(side, CNP, 0, bytes(16), **given)

    def all(self, side, frames):
        for data in frames:
            self.put(side, data)

    def done(self, side):
        """An ACK by the other side of all that `side` sent."""
        self.put(1 - side, self.ack(1 - side, self.psn[side] - 1))


def linux_sport(one, other):
    """What Linux makes of two QPNs, for hardware too."""
    value = one * other
    value ^= value >> 20
    value ^= value >> 40
    label = value & 0xFFFFF
    return 0xC000 | ((label & 0x3FFF) ^ label >> 14)


def again(t, frame):
    """The packet sent again: IP counts it anew."""
    side = frame[11] - 1
    t.ids[side] = t.ids[side] + 1 & 0xFFFF
    ip = bytearray(frame[14:34])
    ip[4:6] = struct.pack(">H", t.ids[side])
    ip[10:12] = bytes(2)
    total = folded(struct.unpack(">10H", ip))
    ip[10:12] = struct.pack(">H", 0xFFFF - total)
    masked = bytearray(ip)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    crc = zlib.crc32(b"\xff" * 8 + masked + frame[34:40] + b"\xff\xff" + frame[42:46] + b"\xff" + frame[47:-4])
    return frame[:14] + bytes(ip) + frame[34:-4] + struct.pack("<I", crc)


def shuffled(rng, frames, reach):
    """As several paths deliver them: none is later than `reach` places."""
    keys = [(i + rng.uniform(0, reach), i) for i in range(len(frames))]
    return [frames[i] for _, i in sorted(keys)]


# ---- behaviours ----------------------------------------------------------------------------------

def plain(t):
    for _ in range(6):
        t.all(0, t.write(0, 40000))
        t.done(0)
        t.put(1, t.send(1, 64))
        t.done(1)


def marked_for_adaptive_routing(t):
    t.resv = 0x20
    plain(t)


def sprayed_writes(t, resv=0x20):
    for _ in range(8):
        t.all(0, shuffled(t.rng, t.write(0, 60000, resv=resv), 6))
        t.done(0)


def sprayed_messages(t):
    """Several messages at once on several paths: their packets mix."""
    for _ in range(5):
        frames = [f for _ in range(6) for f in t.write(0, 20000, imm=True)]
        t.all(0, shuffled(t.rng, frames, 10))
        t.done(0)


def sprayed_both(t):
    """The ACKs take several paths too."""
    acks = []
    for _ in range(60):
        t.all(0, t.write(0, 64))
        acks.append(t.ack(1, t.psn[0] - 1))
        if len(acks) == 4:
            t.all(1, shuffled(t.rng, acks, 3))
            acks = []


def sprayed_reads(t):
    for _ in range(6):
        psn, request = t.read(0, 50000)
        t.put(0, request)
        t.all(1, shuffled(t.rng, t.responses(1, psn, 50000), 5))


def sprayed_reads_deep(t):
    """Four READs outstanding, responses of all mixed."""
    for _ in range(4):
        responses = []
        for _ in range(4):
            psn, request = t.read(0, 20000)
            t.put(0, request)
            responses += t.responses(1, psn, 20000)
        t.all(1, shuffled(t.rng, responses, 4))


def port_a_packet(t):
    ports = iter(range(10 ** 9))
    t.sport = [lambda: 0xC000 | next(ports) * 7919 & 0x3FFF, lambda: 0xC000 | next(ports) * 104729 & 0x3FFF]
    sprayed_writes(t, 0)


def dscp_a_plane(t):
    for i in range(40):
        t.all(0, t.write(0, 20000, tos=0x60 + 4 * (i % 4) | 2))
        t.done(0)


def selective_repeat(t):
    """Captured at the sender: one packet is lost, NAKed, and only that one sent again."""
    for _ in range(5):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:12])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, frames[12:14])
        t.put(0, again(t, frames[5]))
        t.all(0, frames[14:])
        t.done(0)


def selective_repeat_receiver(t):
    """The same at the receiver: the lost packet comes once, later."""
    for _ in range(5):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:5] + frames[6:12])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, frames[12:14] + [again(t, frames[5])] + frames[14:])
        t.done(0)


def go_back(t):
    for _ in range(5):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:12])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, frames[12:14])
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def late_and_asked_for(t):
    """One path is slower, and the receiver, which takes nothing out of order, asks for what is on its way."""
    for _ in range(5):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:5] + frames[6:9] + [frames[5]])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, frames[9:11])
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def nak_again(t):
    """A NAK for each packet of the gap, as some do."""
    frames = t.write(0, 80000)
    first = t.psn[0] - len(frames)
    t.all(0, frames[:5])
    for f in frames[6:12]:
        t.put(0, f)
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
    t.all(0, [again(t, f) for f in frames[5:]])
    t.done(0)


def coalesced(t):
    for _ in range(5):
        for _ in range(30):
            t.all(0, t.write(0, 9000, ack=0))
        t.all(0, t.write(0, 0, imm=True))
        t.done(0)


def unasked_acks(t):
    for _ in range(20):
        t.all(0, t.write(0, 3000, ack=0))
        t.put(1, t.ack(1, t.psn[0] - 1))
        t.put(1, t.ack(1, t.psn[0] - 1))


def nccl(t):
    """Channels: WRITEs without request for an ACK, closed by one with immediate; small ready words back."""
    for _ in range(6):
        for _ in range(4):
            t.all(0, t.write(0, 131072 // 4, ack=0))
        t.all(0, t.write(0, 0, imm=True))
        t.done(0)
        t.all(1, t.write(1, 32))
        t.done(1)


def fences(t):
    for _ in range(10):
        t.all(0, t.write(0, 8192))
        psn, request = t.read(0, 0)
        t.put(0, request)
        t.all(1, t.responses(1, psn, 0))
        t.put(0, t.send(0, 0))
        t.done(0)


def rnr(t):
    for _ in range(3):
        frame = t.send(0, 256)
        t.put(0, frame)
        t.put(1, t.ack(1, t.psn[0] - 1, RNR | 12, t.msn[0] - 1))
        t.put(0, again(t, frame), wait=700 * US)
        t.done(0)


def adaptive_retransmission(t):
    """The waits that were measured of ConnectX (Lumina, L8), then an answer."""
    plain(t)
    frames = t.write(0, 64)
    t.all(0, frames)
    for wait in (5.6, 4.1, 8.4, 16.7, 25.1, 67.1, 134.2, 134.2, 134.2):
        t.put(0, again(t, frames[0]), wait=int(wait * MS))
    t.done(0)


def gives_up(t):
    plain(t)
    frames = t.write(0, 64)
    t.all(0, frames)
    for wait in (5.6, 4.1, 8.4, 16.7, 25.1, 67.1, 134.2, 134.2, 134.2, 134.2, 134.2, 134.2, 134.2):
        t.put(0, again(t, frames[0]), wait=int(wait * MS))


def read_partly_again(t):
    """A response is lost: the rest is asked for with the address and length of the rest."""
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.put(0, request)
        responses = t.responses(1, psn, 40000)
        t.all(1, responses[:4] + responses[5:])
        rest = 40000 - 4 * t.mtu
        t.put(0, t.frame(0, READ, psn + 4, t.reth(rest, 0x7F0000010000 + 4 * t.mtu), 1))
        t.all(1, t.responses(1, psn, 40000, 4))


def read_late_and_again(t):
    """One path is slower: the requester, which takes nothing out of order, asks for the rest again."""
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.put(0, request)
        responses = t.responses(1, psn, 40000)
        t.all(1, responses[:4] + responses[5:8] + [responses[4]] + responses[8:])
        rest = 40000 - 5 * t.mtu
        t.put(0, t.frame(0, READ, psn + 5, t.reth(rest, 0x7F0000010000 + 5 * t.mtu), 1))
        t.all(1, t.responses(1, psn, 40000, 5))


def read_whole_again(t):
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.put(0, request)
        t.put(0, again(t, request), wait=5 * MS)
        t.all(1, t.responses(1, psn, 40000))


def congested(t):
    """The network marks, the receiver asks for less, 4 us apart."""
    for i in range(40):
        t.all(0, t.write(0, 40000, tos=0x6B if i % 3 else 0x6A))
        if i % 3:
            t.put(1, t.cnp(1))
        t.done(0)


def cnp_without_mark(t):
    """Lossy acceleration: a CNP for a packet out of sequence, none was marked."""
    for _ in range(4):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:5] + frames[6:12])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.put(1, t.cnp(1))
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def paused(t):
    for i in range(20):
        frames = t.write(0, 40000)
        t.all(0, frames[:4])
        t.put(0, frames[4], wait=(800 * US if i % 5 == 4 else t.step))
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def flow_control_frames(t):
    pause = bytes.fromhex("0180c2000001020000000001880801010008") + bytes(6) + b"\xff\xff" + bytes(34)
    go_on = pause[:24] + bytes(36)
    for i in range(20):
        t.all(0, t.write(0, 40000))
        t.put(1, pause)
        t.put(1, go_on)
        t.done(0)


def trimmed(t):
    """A switch that is full sends on the headers: cut, of another class, the IP length as it was."""
    for _ in range(4):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        small = bytearray(frames[5][:110])
        small[15] = 0x2A
        t.all(0, frames[:5] + [bytes(small)] + frames[6:10])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def trimmed_length(t):
    """The same where the switch sets the lengths of IP and UDP to what is left."""
    for _ in range(4):
        frames = t.write(0, 80000)
        first = t.psn[0] - len(frames)
        small = bytearray(frames[5][:110])
        small[15] = 0x2A
        small[16:18] = struct.pack(">H", 96)
        small[38:40] = struct.pack(">H", 76)
        t.all(0, frames[:5] + [bytes(small)] + frames[6:10])
        t.put(1, t.ack(1, first + 5, NAK_SEQ, t.msn[0] - 1))
        t.all(0, [again(t, f) for f in frames[5:]])
        t.done(0)


def manufacturer(t):
    for i in range(10):
        t.put(0, t.send(0, 64))
        t.put(0, t.frame(0, 0xC1 + i % 3, 5 + i, bytes(40)))
        t.done(0)


def dc(t):
    """Dynamically connected transport, as a ConnectX sent it (tests/plugin/weak.py)."""
    head = bytes.fromhex("110090360071500100 61e24e0000c0dc00000000")
    back = bytes.fromhex("10807ff40071500100 61e24f0000c0db00000000")
    for i in range(10):
        t.put(0, t.frame(0, 0x4A, 278780 + i, head + t.reth(8) + bytes(8), 1))
        t.put(1, t.frame(1, 0x51, 278780 + i, back + struct.pack(">I", i)))


def dc_large(t):
    head = bytes.fromhex("110090360071500100 61e24e0000c0dc00000000")
    back = bytes.fromhex("10807ff40071500100 61e24f0000c0db00000000")
    for i in range(6):
        psn = 1000 + 10 * i
        for k in range(10):
            opcode = 0x46 if k == 0 else 0x48 if k == 9 else 0x47
            t.put(0, t.frame(0, opcode, psn + k, head + (t.reth(40960) if k == 0 else b"") + bytes(4096), k == 9))
        t.put(1, t.frame(1, 0x51, psn + 9, back + struct.pack(">I", i)))


def datagrams(t):
    """UD of an MPI: many peers' datagrams with one source QP."""
    for i in range(30):
        t.put(0, t.frame(0, UD_SEND, t.take(0), struct.pack(">II", 0x1EE7A330, t.qpn[0]) + bytes(256)))
        if i % 3 == 0:
            t.put(1, t.frame(1, UD_SEND, t.take(1), struct.pack(">II", 0x1EE7A330, t.qpn[1]) + bytes(64)))


def refused(t):
    """A wrong key in a full window: what was under way still comes."""
    plain(t)
    frames = [f for _ in range(6) for f in t.write(0, 8192)]
    first = t.psn[0] - len(frames)
    t.all(0, frames[:8])
    t.put(1, t.ack(1, first + 2, NAK_ACCESS, t.msn[0] - 5))
    t.all(0, frames[8:])


def e810(t):
    t.migreq, t.csum = 0, 0
    go_back(t)


def checksummed(t):
    t.csum = 0x1234
    plain(t)


def no_ids(t):
    class Zero(list):
        def __getitem__(self, at):
            return 0

        def __setitem__(self, at, value):
            pass
    t.ids = Zero()
    go_back(t)
    read_partly_again(t)


def atomics(t):
    for i in range(12):
        psn = t.take(0)
        t.msn[0] += 1
        t.put(0, t.frame(0, FETCH_ADD if i % 2 else CMP_SWAP, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, i, 1), 1))
        t.put(1, t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], 5)))


def deep(t):
    """64 READs and WRITEs outstanding."""
    for _ in range(2):
        responses = []
        for i in range(64):
            psn, request = t.read(0, 4096)
            t.put(0, request)
            responses += t.responses(1, psn, 4096)
        t.all(1, responses)


def many(t):
    """24 QPs of two hosts at once."""
    talks = [Talk(n, seed=n) for n in range(1, 25)]
    for other in talks:
        nccl(other)
    parts = [(time + 13 * other.n, data) for other in talks for time, data in other.frames]
    t.frames += sorted(parts)


def rnr_in_a_window(t):
    """The third of eight SENDs finds no receive; the later ones are dropped, and sent again after the wait."""
    for _ in range(3):
        frames = [t.send(0, 256) for _ in range(8)]
        first = t.psn[0] - 8
        t.all(0, frames)
        t.put(1, t.ack(1, first + 1, ACK_OK, t.msn[0] - 6))
        t.put(1, t.ack(1, first + 2, RNR | 12, t.msn[0] - 6))
        t.put(0, again(t, frames[2]), wait=700 * US)
        t.all(0, [again(t, f) for f in frames[3:]])
        t.done(0)


def page_faults(t):
    """On-demand paging: RNR NAKs to a WRITE, inside of one, to a READ, inside of one and to an atomic."""
    for _ in range(2):
        frames = t.write(0, 60000)
        first = t.psn[0] - len(frames)
        t.all(0, frames[:9])
        t.put(1, t.ack(1, first, RNR | 12, t.msn[0] - 1))
        t.put(0, again(t, frames[0]), wait=700 * US)
        t.all(0, [again(t, f) for f in frames[1:9]])
        t.put(1, t.ack(1, first + 5, RNR | 12, t.msn[0] - 1))
        t.put(0, again(t, frames[5]), wait=700 * US)
        t.all(0, [again(t, f) for f in frames[6:9]])
        t.all(0, frames[9:])
        t.done(0)
        psn, request = t.read(0, 40000)
        for _ in range(3):
            t.put(0, request)
            t.put(1, t.ack(1, psn, RNR | 12, t.msn[0] - 1))
            t.now += 700 * US
            request = again(t, request)
        t.put(0, request)
        responses = t.responses(1, psn, 40000)
        t.all(1, responses[:4])
        t.put(1, t.ack(1, psn + 4, RNR | 12, t.msn[0]))
        rest = 40000 - 4 * t.mtu
        t.put(0, t.frame(0, READ, psn + 4, t.reth(rest, 0x7F0000010000 + 4 * t.mtu), 1), wait=700 * US)
        t.all(1, t.responses(1, psn, 40000, 4))
        psn, request = t.read(0, 40000)
        t.put(0, request)
        t.put(1, t.ack(1, psn, RNR | 12, t.msn[0]))  # counted when it was taken
        t.put(0, again(t, request), wait=700 * US)
        t.all(1, t.responses(1, psn, 40000))
        psn = t.take(0)
        t.msn[0] += 1
        request = t.frame(0, FETCH_ADD, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, 1, 0), 1)
        t.put(0, request)
        t.put(1, t.ack(1, psn, RNR | 12, t.msn[0] - 1))
        t.put(0, again(t, request), wait=700 * US)
        t.put(1, t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], 5)))
        t.all(0, t.write(0, 64))
        t.done(0)


def page_faults_without_end(t):
    plain(t)
    frame = t.write(0, 64)[0]
    for _ in range(4):
        t.put(0, frame)
        t.put(1, t.ack(1, t.psn[0] - 1, RNR | 12, t.msn[0] - 1))
        t.now += 700 * US
        frame = again(t, frame)


def shared_page_faults(t):
    """XRC: a WRITE into a page that is not present."""
    for i in range(6):
        psn = t.take(0)
        t.msn[0] += 1
        frame = t.frame(0, 0xAA, psn, struct.pack(">I", 0x33) + t.reth(64) + bytes(64), 1)
        t.put(0, frame)
        if i % 2:
            t.put(1, t.frame(1, 0xB1, psn, struct.pack(">I", (RNR | 12) << 24 | t.msn[0] - 1)))
            t.put(0, again(t, frame), wait=700 * US)
        t.put(1, t.frame(1, 0xB1, psn, struct.pack(">I", ACK_OK << 24 | t.msn[0])))


def sprayed_and_lost(t):
    """Several paths, one of which loses: a NIC that takes any order asks for what is missing, and gets that."""
    for _ in range(4):
        frames = t.write(0, 160000, resv=0x20)
        first = t.psn[0] - len(frames)
        t.all(0, shuffled(t.rng, frames[:11] + frames[12:30], 5))
        t.put(1, t.ack(1, first + 11, NAK_SEQ, t.msn[0] - 1))
        t.all(0, shuffled(t.rng, frames[30:], 5))
        t.put(0, again(t, frames[11]))
        t.done(0)


def ack_lost(t):
    """The ACK is lost behind the capture point: all comes again and is acknowledged again."""
    for _ in range(3):
        frames = t.write(0, 20000)
        t.all(0, frames)
        t.done(0)
        t.now += 20 * MS
        t.all(0, [again(t, f) for f in frames])
        t.done(0)


def kept_alive(t):
    plain(t)
    for _ in range(3):
        t.now += 10 ** 9
        t.all(0, t.write(0, 0))
        t.done(0)


def sprayed_atomics(t):
    for _ in range(5):
        acks = []
        for i in range(4):
            psn = t.take(0)
            t.msn[0] += 1
            t.put(0, t.frame(0, FETCH_ADD, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, 1, 0), 1))
            acks.append(t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], i)))
        t.all(1, [acks[1], acks[0], acks[3], acks[2]])


def two_links(t):
    """A bond: every other packet by another port's MAC."""
    plain(t)
    t.frames = [(time, data[:9] + bytes([i % 2]) + data[10:]) for i, (time, data) in enumerate(t.frames)]


def nvme(t):
    """Reads and writes of a block device: capsules by SEND, data by WRITE and READ, answers that invalidate."""
    t.mtu = 1024
    for i in range(12):
        t.put(0, t.send(0, 64))
        t.done(0)
        if i % 2:
            t.all(1, t.write(1, 4096, ack=0))
        else:
            psn, request = t.read(1, 4096)
            t.put(1, request)
            t.all(0, t.responses(0, psn, 4096))
        psn = t.take(1)
        t.msn[1] += 1
        t.put(1, t.frame(1, 0x17, psn, struct.pack(">I", 0x1C0DE) + bytes(16), 1, 1))
        t.done(1)


def shared_receive(t):
    """XRC: requests name the shared receive queue, answers are RC's form of it."""
    for _ in range(10):
        psn = t.take(0)
        t.msn[0] += 1
        t.put(0, t.frame(0, 0xA4, psn, struct.pack(">I", 0x33) + bytes(64), 1))
        t.put(1, t.frame(1, 0xB1, psn, struct.pack(">I", ACK_OK << 24 | t.msn[0])))


def unreliable(t):
    """UC on several paths, with holes."""
    for i in range(10):
        psn = t.take(0, 8)
        frames = [t.frame(0, 0x26 if k == 0 else 0x28 if k == 7 else 0x27, psn + k, (t.reth(8 * MTU) if k == 0 else b"") + bytes(MTU))
                  for k in range(8)]
        if i % 4 == 3:
            del frames[3]
        t.all(0, shuffled(t.rng, frames, 3) if i % 4 == 1 else frames)


def coarse_clock(t):
    go_back(t)
    congested(t)
    t.frames = [(time // MS * MS, data) for time, data in t.frames]


def migrated(t):
    plain(t)
    t.migreq = 0
    plain(t)
    t.migreq = 1
    plain(t)


def other_ports(t):
    """Ultra Ethernet, Falcon and what uses UDP otherwise beside a talk."""
    for port in (4792, 4793, 4794, 6343, 7777):
        frame = bytearray(t.send(0, 64))
        t.psn[0] -= 1
        t.msn[0] -= 1
        frame[36:38] = struct.pack(">H", port)
        t.put(0, bytes(frame))
    plain(t)


# name: (behaviour, source, rules that must be named of the whole, most lines of findings of the whole, what the
# answer to "why is it slow, why did it fail" must be of the whole, ERRORs that are due: it is a deviation)
Row = collections.namedtuple("Row", "build source named most says errors", defaults=((), 8, "", ()))
ROWS = {
    "plain": Row(plain, "nothing odd", (), 0),
    "marked for adaptive routing": Row(marked_for_adaptive_routing, "US 12328251: a reserved bit of the BTH", ("ALL-FMT-026",), 3),
    "sprayed WRITEs": Row(sprayed_writes, "NVIDIA: out-of-order data placement", ()),
    "sprayed messages": Row(sprayed_messages, "NVIDIA: out-of-order data placement", ()),
    "sprayed both ways": Row(sprayed_both, "adaptive routing of ACKs", ()),
    "sprayed READ responses": Row(sprayed_reads, "NVIDIA: out-of-order data placement", ()),
    "sprayed READs": Row(sprayed_reads_deep, "NVIDIA: out-of-order data placement", ()),
    "a port a packet": Row(port_a_packet, "MRC, Pollara: entropy in the UDP source port", ("ALL-NET-012",)),
    "a class a plane": Row(dscp_a_plane, "ROCE MULTIPATH_DSCP", ("ALL-NET-004",), 2),
    "selective repeat, sender": Row(selective_repeat, "ROCE_ACCL selective_repeat", (), says="all had passed the capture point"),
    "selective repeat, receiver": Row(selective_repeat_receiver, "ROCE_ACCL selective_repeat", (), says="5 never came to the capture point"),
    "go-back-N": Row(go_back, "vol. 1", ("RC-OBS-305", "RC-REQ-152")),
    "late and asked for": Row(late_and_asked_for, "adaptive routing to a NIC without it", ("RC-OBS-302", "RC-OBS-305"), says="packets were overtaken by later ones, 5×"),
    "NAK again": Row(nak_again, "vol. 1: once", ("RC-RSP-068",), errors=("RC-RSP-068",)),
    "coalesced ACKs": Row(coalesced, "vol. 1", (), 0),
    "unasked ACKs": Row(unasked_acks, "vol. 1", ()),
    "NCCL": Row(nccl, "NCCL net_ib", (), 0),
    "fences": Row(fences, "zero-length READ", (), 0),
    "RNR": Row(rnr, "vol. 1", ("RC-OBS-304", "RC-OBS-309"), says="had no receive ready 3×"),
    "adaptive retransmission": Row(adaptive_retransmission, "Lumina 6.2", ()),
    "gives up": Row(gives_up, "Lumina 6.2", (), says="did not answer the request with PSN"),
    "READ partly again": Row(read_partly_again, "vol. 1", (), says="to READs or atomics were missed 4×"),
    "READ late and again": Row(read_late_and_again, "adaptive routing to a NIC without it", ("RC-OBS-302",), 8, "was overtaken by later data, 4×"),
    "READ whole again": Row(read_whole_again, "vol. 1", ()),
    "congested": Row(congested, "DCQCN; CNP of a ConnectX-4 Lx", ("ALL-OBS-311", "ALL-OBS-312"), 400),
    "CNP without a mark": Row(cnp_without_mark, "NVIDIA forum 270587", ("ALL-OBS-312",), 40),
    "paused": Row(paused, "PFC", (), 0),
    "flow control frames": Row(flow_control_frames, "IEEE 802.1Qbb", (), 0, "20 frames (PFC, PAUSE) stopped a sender"),
    "trimmed": Row(trimmed, "MRC, UEC: packet trimming", (), 40, says="4 with a wrong ICRC"),
    "trimmed, new lengths": Row(trimmed_length, "MRC, UEC: packet trimming", (), 40, says="4 with a wrong ICRC"),
    "manufacturer's opcodes": Row(manufacturer, "vol. 1: 0xC0 on", ()),
    "DC": Row(dc, "ConnectX", (), 0, says="not judged: 20 packets of NVIDIA's dynamically connected transport"),
    "DC large": Row(dc_large, "ConnectX", (), 0),
    "datagrams": Row(datagrams, "UCX UD", (), 0),
    "refused": Row(refused, "vol. 1", ("RC-OBS-306",), says="NAK, remote access error"),
    "MigReq 0": Row(e810, "Lumina 6.2.3: E810", ("ALL-FMT-044",), 40),
    "UDP checksum": Row(checksummed, "Annex 17", ("ALL-NET-015",), 2),
    "no IP identification": Row(no_ids, "capture of a virtual RNIC", (), 40),
    "atomics": Row(atomics, "vol. 1", (), 0),
    "deep": Row(deep, "NVIDIA: max_rd_atomic above 16", (), 0),
    "many QPs": Row(many, "NCCL", (), 0),
    "RNR in a window": Row(rnr_in_a_window, "vol. 1", ("RC-OBS-304", "RC-OBS-309"), says="had no receive ready 3×"),
    "page faults": Row(page_faults, "disni issue 39, rpma issue 1094: on-demand paging", ("RC-RSP-095", "RC-OBS-309"), 9,
                       "page faults, its memory is paged on demand (ODP): waited"),
    "page faults without end": Row(page_faults_without_end, "disni issue 39", ("RC-RSP-095",), says="put off the request with PSN"),
    "shared receive queue, page faults": Row(shared_page_faults, "disni issue 39, Annex A14", ("RC-RSP-095",), says="page faults, its"),
    "sprayed and lost": Row(sprayed_and_lost, "NVIDIA, MRC", ("RC-OBS-305",), 9, says="never came to the capture point"),
    "ACK lost": Row(ack_lost, "vol. 1", ("RC-OBS-313",)),
    "kept alive": Row(kept_alive, "MLX, UCX: empty WRITEs", (), 0),
    "sprayed atomics": Row(sprayed_atomics, "adaptive routing of answers", ()),
    "two links": Row(two_links, "bond of two ports", (), 0),
    "NVMe": Row(nvme, "NVMe over RDMA: SEND with invalidate", (), 0),
    "shared receive queue": Row(shared_receive, "Annex A14", (), 0),
    "unreliable": Row(unreliable, "vol. 1", ("UC-PSN-065",)),
    "coarse clock": Row(coarse_clock, "switches that stamp by the millisecond", ()),
    "path migration": Row(migrated, "vol. 1", (), 2),
    "other ports": Row(other_ports, "UEC 1.0: 4793", (), 0),
}


def build(row, seed=1):
    talk = Talk(seed=seed)
    row.build(talk)
    return talk.frames


# ---- damage --------------------------------------------------------------------------------------

def pcap(frames, snaplen=262144):
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, snaplen, 1)]
    for time, data in frames:
        out.append(struct.pack("<IIII", time // 10 ** 9, time % 10 ** 9, min(len(data), snaplen), len(data)) + data[:snaplen])
    return b"".join(out)


def routed(data):
    """One hop on: another TTL and header checksum, other MACs."""
    if data[12:14] != b"\x08\x00":
        return data
    new = bytearray(data[6:12] + data[:6] + data[12:])
    new[22] -= 1
    struct.pack_into(">H", new, 24, folded((struct.unpack_from(">H", new, 24)[0], 0x0100)))
    return bytes(new)


def erspan(data, size, number):
    inner = data[:size]
    head = struct.pack(">BBHHHBBH", 0x45, 0, 36 + len(inner), number & 0xFFFF, 0, 64, 47, 0) + bytes([10, 9, 0, 1, 10, 9, 0, 2])
    return bytes([2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8]) + b"\x08\x00" + head + struct.pack(">HHII", 0x1000, 0x88BE, number, 0x1000000A) + bytes(4) + inner


def damaged(frames, rng):
    """{name: pcap}"""
    for size in (64, 96, 128):
        yield f"cut to {size}", pcap(frames, size)
    for side in (0, 1):
        yield f"only side {side}", pcap([f for f in frames if f[1][11] == 1 + side])
    for at in sorted(rng.sample(range(len(frames)), min(3, len(frames) - 1))):
        yield f"from frame {at + 1}", pcap(frames[at:])
    for percent in (1, 5, 20):
        yield f"without {percent} %", pcap([f for f in frames if rng.random() * 100 >= percent])
    for each in (10, 100):
        yield f"one in {each}", pcap([f for f in frames if rng.randrange(each) == 0] or frames[:1], 128)
    yield "ERSPAN cut to 96", pcap([(time, erspan(data, 96, n)) for n, (time, data) in enumerate(frames)])
    yield "at two ports", pcap(sorted(frames + [(time + 500, routed(data)) for time, data in frames]))


# ---- judging -------------------------------------------------------------------------------------

def check(program, paths):
    """{path: (findings, connections)}"""
    out = {path: ([], []) for path in paths}
    for at in range(0, len(paths), 50):
        done = subprocess.run([program, "check", "-q", "--json", "-"] + paths[at:at + 50], capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            print(done.stderr[:500])
        for line in done.stdout.splitlines():
            item = json.loads(line)
            if item["type"] in ("finding", "connection"):
                out[item["file"]][item["type"] == "connection"].append(item)
    return out


def text(program, path):
    return subprocess.run([program, "check", path], capture_output=True, text=True, check=False).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    parser.add_argument("--keep")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    failures = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or scratch
        paths = {}
        for name, row in ROWS.items():
            if args.only and args.only not in name:
                continue
            frames = build(row, args.seed)
            for damage, data in [("whole", pcap(frames))] + list(damaged(frames, rng)):
                path = os.path.join(folder, f"{name}, {damage}.pcap".replace(" ", "_"))
                with open(path, "wb") as file:
                    file.write(data)
                paths[path] = (name, damage)
        for path, (findings, connections) in check(args.rocedrill, list(paths)).items():
            name, damage = paths[path]
            row = ROWS[name]
            said = collections.Counter((f["severity"], f["rule"]) for f in findings)
            wrong = []
            if any(severity == "error" and rule not in row.errors for severity, rule in said):
                wrong.append("an ERROR")
            if damage == "whole":
                wrong += [f"{rule} is not named" for rule in row.named if not any(r == rule for _, r in said)]
                lines = len({(f["connection"], f["side"], f["rule"]) for f in findings})
                if lines > row.most:
                    wrong.append(f"{lines} lines of findings, not at most {row.most}")
                if row.says and row.says not in text(args.rocedrill, path):
                    wrong.append(f"it is not said: {row.says}")
            if wrong:
                failures += 1
                print(f"{name}, {damage}: {'; '.join(wrong)}: {dict(said)}")
    print(f"{len(paths)} captures of {len(ROWS)} behaviours, {failures} judged wrongly")
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
