#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Sends hostile frames to the far end of a veth link, with the addresses of this end or of other hosts, until SIGTERM.
Then prints the number of frames.

attacker.py ATTACK SEED TO_IP TO_MAC OWN_IP

It learns QPNs from the link as an attacker on the path does, but not the PSNs: a forged packet that names a QP of
a connection has a PSN at a distance from those of the connection. A
receiver cannot detect a forged packet whose fields are all right."""
import os
import random
import select
import signal
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
from packet_builder import aeth, bth, cm, reth, roce  # noqa: E402

LINK = "wire0"
RATE = 4000  # maximum number of frames per second
BURST = 40
REQUESTS = (4, 6, 10, 11, 12, 19, 20)  # opcodes: SEND, WRITE First, WRITE, WRITE with immediate, READ, atomics
RESPONSES = (13, 14, 15, 16, 18)
STRANGERS = 60000


class Attacker:
    def __init__(self, seed, to_ip, to_mac, own_ip):
        self.rng = random.Random(seed)
        self.to, self.own = socket.inet_aton(to_ip), socket.inet_aton(own_ip)
        self.to_mac = bytes.fromhex(to_mac.replace(":", ""))
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((LINK, 0))
        self.socket.setblocking(False)
        self.mac = self.socket.getsockname()[4]
        self.qps = {}  # last PSN of each QPN at the victim
        self.frames, self.comms = [], []  # frames and CM ids that were seen
        self.sent = self.refused = 0

    # -- what the attacker sees

    def listen(self):
        while select.select([self.socket], [], [], 0)[0]:
            frame, (_, _, direction, *_) = self.socket.recvfrom(9000)
            if frame[12:14] != b"\x08\x00" or frame[36:38] != b"\x12\xb7" or frame[30:34] != self.to or len(frame) < 54:
                continue
            if frame[26:30] != self.own or frame in self.frames[-3:]:
                continue
            qpn, psn = struct.unpack_from(">I", frame, 46)[0] & 0xFFFFFF, struct.unpack_from(">I", frame, 50)[0] & 0xFFFFFF
            if qpn > 1:
                self.qps[qpn] = psn
                if len(self.qps) > 8:
                    del self.qps[next(iter(self.qps))]
            elif len(frame) > 100:
                self.comms = [*self.comms[-20:], frame[86:94]]
            self.frames = [*self.frames[-200:], frame]

    def known(self):
        """Returns the QPN of a connection, and a PSN that is 2^20 to 2^23 away from its latest PSN."""
        if not self.qps:
            return self.rng.getrandbits(24), self.rng.getrandbits(24)
        qpn = self.rng.choice(list(self.qps))
        far = self.rng.randrange(1 << 20, 1 << 23) * self.rng.choice((1, -1))
        return qpn, self.qps[qpn] + far & 0xFFFFFF

    # -- frames

    def frame(self, transport, source=None):
        data = roce(transport, 0, 0xC000 | self.rng.getrandbits(14), 0, (source or self.own, self.to), self.rng.getrandbits(16))
        return self.to_mac + self.mac + data[12:]

    def stranger(self):
        return socket.inet_aton("10.77.%d.%d" % (1 + self.rng.randrange(200), 1 + self.rng.randrange(250)))

    def request(self, qpn, psn):
        opcode, length = self.rng.choice(REQUESTS), self.rng.choice((0, 4, 64, 1024))
        body = reth(self.rng.getrandbits(48), self.rng.getrandbits(32), length or 8)
        data = self.rng.randbytes(length)
        if opcode == 4:
            body = data
        elif opcode == 11:
            body += bytes(4) + data
        elif opcode in (6, 10):
            body += data
        elif opcode > 12:
            body = struct.pack(">QIQQ", self.rng.getrandbits(45) << 3, self.rng.getrandbits(32), 1, 2)
        return bth(opcode, qpn, psn, ackreq=1) + body

    def guessed_everything(self):
        return self.frame(self.request(self.rng.getrandbits(24), self.rng.getrandbits(24)),
                          self.rng.choice((None, self.stranger())))

    def guessed_psns_and_keys(self):
        return self.frame(self.request(*self.known()), self.rng.choice((None, None, self.stranger())))

    def naks(self):
        return self.frame(bth(17, *self.known()) + aeth(self.rng.getrandbits(24), 0x60 + self.rng.randrange(5)))

    def rnr_naks(self):
        return self.frame(bth(17, *self.known()) + aeth(self.rng.getrandbits(24), 0x20 + self.rng.randrange(32)))

    def acknowledgements(self):
        opcode = self.rng.choice((17, 17, *RESPONSES))
        body = b"" if opcode == 14 else aeth(self.rng.getrandbits(24))
        if opcode == 18:
            body += bytes(8)
        elif opcode != 17:
            body += self.rng.randbytes(1024)
        return self.frame(bth(opcode, *self.known()) + body)

    def congestion_notifications(self):
        return self.frame(bth(0x81, self.known()[0], 0, byte4=0x40) + bytes(16), self.rng.choice((None, self.stranger())))

    def connection_request(self, source):
        comm, qpn = self.rng.getrandbits(32), self.rng.getrandbits(24)
        port = self.rng.choice((7200, 7200, self.rng.randrange(7201, 8000)))
        gids = [bytes(10) + b"\xff\xff" + host for host in (source, self.to)]
        private = b"\x00\x40" + struct.pack(">H", 40000) + bytes(12) + source + bytes(12) + self.to
        data = cm(0x10, {0: struct.pack(">I", comm), 8: struct.pack(">Q", 0x0000000001060000 | port),
                         16: self.rng.randbytes(8), 32: struct.pack(">I", qpn << 8 | 1), 36: struct.pack(">I", 1),
                         40: bytes([0, 0, 0, 16 << 3]), 44: self.rng.randbytes(3) + bytes([20 << 3 | 7]), 48: b"\xff\xff\x37\xf0",
                         52: b"\xff\xff\xff\xff" + gids[0] + gids[1] + bytes([0, 0, 0, 0, 0, 64, 0, 15 << 3]), 140: private})
        return self.frame(data[42:-4], source)

    def connection_requests(self):
        return self.connection_request(self.own)

    def connection_requests_of_many(self):
        return self.connection_request(self.stranger())

    def odd_connection_requests(self):
        """Returns a REQ of which a few fields after the service id have random values: QPN, responder resources,
        initiator depth, timeouts, transport service, PSN, path MTU, retry counts, GIDs, private data."""
        frame = bytearray(self.connection_request(self.own)[:-4])
        body = len(frame) - 232
        for _ in range(self.rng.randrange(1, 4)):
            at = self.rng.choice((*range(32, 52), self.rng.randrange(52, 232)))
            frame[body + at] = self.rng.choice((0, 0xFF, self.rng.getrandbits(8)))
        return self.frame(bytes(frame[42:]))

    def connection_messages(self):
        """Returns a CM message of any kind, among them MRAs with the longest timeout, LAP and SIDR. Its ids are random,
        or those of a connection of another host."""
        known = self.comms and self.rng.randrange(2)
        body = bytearray(self.rng.randbytes(232))
        if known:
            ids = self.rng.choice(self.comms)
            body[:8] = ids if self.rng.randrange(2) else ids[4:] + ids[:4]
        if self.rng.randrange(2):
            body[8:10] = b"\0\xFF"  # MRA: longest service timeout
        attribute = self.rng.choice((*range(0x11, 0x1B), self.rng.getrandbits(16)))
        return self.frame(cm(attribute, {0: bytes(body)})[42:-4], self.stranger() if known else self.own)

    def impossible_requests(self):
        """Returns a READ or WRITE whose length does not fit, a misaligned atomic, or a packet with any opcode."""
        qpn, psn = self.known()
        kind = self.rng.randrange(3)
        key = self.rng.getrandbits(32)
        if kind == 0:
            data = self.rng.randbytes(4 * self.rng.randrange(300))
            return self.frame(bth(self.rng.choice((6, 8, 10, 12)), qpn, psn, ackreq=1) +
                              reth(self.rng.getrandbits(64), key, self.rng.choice((0, 0x7FFFFFFF, 0xFFFFFFFF))) + data)
        if kind == 1:
            return self.frame(bth(self.rng.choice((19, 20)), qpn, psn, ackreq=1) +
                              struct.pack(">QIQQ", self.rng.getrandbits(61) << 3 | 5, key, 1, 2))
        return self.frame(bth(self.rng.getrandbits(8), qpn, psn, ackreq=1) + self.rng.randbytes(4 * self.rng.randrange(60)))

    def disconnects(self):
        """Returns a DREQ with random ids, or with the ids of a connection and a wrong QPN, from this end or
        from another host."""
        ids = self.rng.choice(self.comms) if self.comms and self.rng.randrange(2) else self.rng.randbytes(8)
        body = {0: ids[::1] if self.rng.randrange(2) else ids[4:] + ids[:4], 8: struct.pack(">I", self.rng.getrandbits(24) << 8)}
        return self.frame(cm(0x15, body)[42:-4], self.rng.choice((None, self.stranger())))

    def garbage(self):
        data = self.frame(self.rng.randbytes(self.rng.randrange(0, 1500)))
        return data[:42] + self.rng.randbytes(len(data) - 42) if self.rng.randrange(2) else data

    def wrong_lengths(self):
        """Returns a frame with a wrong length in its IP or UDP header, a truncated frame, or one with
        trailing bytes."""
        base = self.rng.choice(self.frames) if self.frames and self.rng.randrange(2) else self.guessed_psns_and_keys()
        data = bytearray(base)
        kind = self.rng.randrange(5)
        if kind == 0:
            struct.pack_into(">H", data, 16, self.rng.getrandbits(16))
        elif kind == 1:
            struct.pack_into(">H", data, 38, self.rng.getrandbits(16))
        elif kind == 2:
            del data[self.rng.randrange(14, len(data)):]
        elif kind == 3:
            data += self.rng.randbytes(self.rng.randrange(1, 200))
            del data[4300:]
        else:
            data[42] = self.rng.randrange(256)
        return bytes(data)

    def repeated_frames(self):
        """Returns an earlier frame of a connection, up to 200 frames late."""
        return self.rng.choice(self.frames) if self.frames else self.garbage()

    def run(self, attack):
        make = getattr(self, attack)
        while True:
            begin = time.monotonic()
            self.listen()
            for _ in range(BURST):
                try:
                    self.socket.send(make())
                    self.sent += 1
                except OSError:  # the link has no room, or the frame is too long for it
                    self.refused += 1
            time.sleep(max(0.001, BURST / RATE - (time.monotonic() - begin)))


def main():
    attacker = Attacker(int(sys.argv[2]), *sys.argv[3:6])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    print("ready", flush=True)
    try:
        attacker.run(sys.argv[1])
    finally:
        print("sent", attacker.sent, "refused", attacker.refused, "QPs", len(attacker.qps), flush=True)


if __name__ == "__main__":
    main()
