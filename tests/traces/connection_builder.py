# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Builds the packets of one connection between two RNICs: bytes, PSNs, MSNs and times of both sides."""
import random
import struct
import zlib

MTU = 4096
US, MS = 1000, 1000000
SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 4, 6, 7, 8, 9, 10, 11
READ, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY, ACK, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = range(12, 21)
CNP, UD_SEND = 0x81, 0x64
ACK_OK, NAK_SEQ, NAK_ACCESS, RNR = 0x1F, 0x60, 0x62, 0x20


def folded(words):
    """Returns the one's complement sum of 16-bit words; the IP checksum is its complement."""
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Connection:
    """One connection between two RNICs: side 0 is 10.0.17.1, side 1 is 10.0.18.1."""

    def __init__(self, n=0, mtu=MTU, seed=1):
        self.frames, self.now, self.step, self.mtu, self.n = [], 10 ** 18, 1 * US, mtu, n
        self.rng = random.Random(seed)
        self.hosts = [bytes([10, 0, 17, 1]), bytes([10, 0, 18, 1])]
        self.qpn = [0x118 + n * 8, 0x9A2 + n * 8]
        self.psn = [0x3D1F00 + n * 77, 0xFFFFF0 - n * 5]
        self.msn = [0, 0]  # MSN of each side's requests
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

    def add(self, side, data, wait=None):
        self.now += self.step if wait is None else wait
        self.frames.append((self.now, data))

    # -- requests: lists of frames, so that a behaviour can reorder, drop and repeat them

    def use_psns(self, side, count=1):
        psn = self.psn[side]
        self.psn[side] = psn + count & 0xFFFFFF
        return psn

    def reth(self, length, va=0x7F0000010000, rkey=0x1C0DE):
        return struct.pack(">QII", va, rkey, length)

    def write(self, side, size, imm=False, ack=1, **more):
        count = max(1, -(-size // self.mtu))
        psn, out = self.use_psns(side, count), []
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
        psn = self.use_psns(side)
        self.msn[side] += 1
        return self.frame(side, SEND_ONLY, psn, bytes(size), 1, **more)

    def read(self, side, size, **more):
        count = max(1, -(-size // self.mtu))
        psn = self.use_psns(side, count)
        self.msn[side] += 1
        return psn, self.frame(side, READ, psn, self.reth(size), 1, **more)

    def responses(self, side, psn, size, first=0, **more):
        """Returns the responses of one side to a READ of the other side, from packet `first` on."""
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

    def add_all(self, side, frames):
        for data in frames:
            self.add(side, data)

    def acknowledge(self, side):
        """Adds an ACK of the other side for all requests of `side`."""
        self.add(1 - side, self.ack(1 - side, self.psn[side] - 1))


def linux_sport(one, other):
    """Returns the UDP source port that Linux derives from two QPNs, also for hardware."""
    value = one * other
    value ^= value >> 20
    value ^= value >> 40
    label = value & 0xFFFFF
    return 0xC000 | ((label & 0x3FFF) ^ label >> 14)


def retransmission(t, frame):
    """Returns the retransmission of a packet: it has a new IPv4 identification."""
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
    """Returns the frames reordered as by several paths, each by at most `reach` places."""
    keys = [(i + rng.uniform(0, reach), i) for i in range(len(frames))]
    return [frames[i] for _, i in sorted(keys)]


def plain(t):
    """Normal traffic."""
    for _ in range(6):
        t.add_all(0, t.write(0, 40000))
        t.acknowledge(0)
        t.add(1, t.send(1, 64))
        t.acknowledge(1)
