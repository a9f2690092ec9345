#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the connection manager against a peer that makes errors, retransmits or stops responding.
Checks the messages on the wire, and the events of a program (cm_talk) over the stock librdmacm. The
peer is this script: it writes and reads MADs at the far end of a link between two network namespaces.

cm_peer.py --bin FOLDER [--preload LIB] [--late SECONDS] [CASE...]      exit status 77: the user cannot create namespaces

--late: delays each message of the peer by this time, as on a busy machine. Up to a delay of one second
the results must not change."""
import argparse
import os
import select
import socket
import struct
import subprocess
import sys
import time
import zlib

import run as rows_of
import wire

LINK = "wire0"  # name of the link at both ends
NEAR, FAR = wire.ADDRESSES[0][0], "10.77.0.9"
SILENT = "10.77.0.8"  # address of a peer that never replies
PORT = 7700
REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR = range(0x10, 0x1B)
TIMEOUT, UNSUPPORTED, INVALID_SERVICE, INVALID_TRANSPORT, STALE, INVALID_MTU, CONSUMER = 4, 5, 8, 9, 10, 26, 28
REASONS = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 24, 25, 26, 27, 28, 30, 31, 33)
# Timeout codes: 17 ms for timeouts that must expire, 134 ms and 4.3 s for those that must not.
QUICK, PATIENT, LONG = 12, 15, 20
RETRIES = 15  # the maximum: 2.1 s with PATIENT
GUID = 0x0200_00FF_FE00_0099
ETIMEDOUT = 110


def put(body, byte, width, value):
    body[byte:byte + width // 8] = value.to_bytes(width // 8, "big")


def get(body, byte, width):
    return int.from_bytes(body[byte:byte + width // 8], "big")


def expect(condition, what):
    if not condition:
        sys.exit(what)


class Peer:
    """The peer, which writes and reads MADs at the far end of the link."""

    def __init__(self, near_mac, late):
        self.late = late
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((LINK, 0))
        self.mac = self.socket.getsockname()[4]
        self.near_mac = bytes.fromhex(near_mac.replace(":", ""))
        self.comm, self.before, self.psn = 0x1000, 0x1000, 0

    def new(self):
        self.comm += 1
        return self.comm

    def send(self, kind, body, tid):
        time.sleep(self.late)
        self.psn += 1
        mad = struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, tid, kind, 0, 0) + bytes(body)
        bth = struct.pack(">BBHII", 0x64, 0, 0xFFFF, 1, self.psn)
        inner = bth + struct.pack(">II", 0x80010000, 1) + mad.ljust(256, b"\0")
        udp = struct.pack(">HHHH", 0xC000, 4791, 8 + len(inner) + 4, 0)
        ip = bytearray(struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + 8 + len(inner) + 4, 0, 0x4000, 64,
                                   17, 0, socket.inet_aton(FAR), socket.inet_aton(NEAR)))
        words = sum(struct.unpack(">10H", ip))
        while words >> 16:
            words = (words & 0xFFFF) + (words >> 16)
        put(ip, 10, 16, words ^ 0xFFFF)
        # For the ICRC, all bits of fields that change on the path are ones (R018 to R021).
        masked = bytearray(b"\xff" * 8 + bytes(ip) + udp + inner)
        for at in (8 + 1, 8 + 8, 8 + 10, 8 + 11, 28 + 6, 28 + 7, 36 + 4):
            masked[at] = 0xFF
        crc = struct.pack("<I", zlib.crc32(masked))
        self.socket.send(self.near_mac + self.mac + b"\x08\x00" + bytes(ip) + udp + inner + crc)

    def receive(self, seconds, address=FAR):
        """Returns kind, body and transaction ID of the next MAD to the address, or None if none arrives."""
        end = time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            frame, (_, _, direction, *_) = self.socket.recvfrom(2000)
            if direction == socket.PACKET_OUTGOING or frame[12:14] != b"\x08\x00" or \
                    frame[30:34] != socket.inet_aton(address) or frame[36:38] != b"\x12\xb7" or \
                    get(frame, 47, 24) != 1:
                continue
            mad = frame[62:62 + 256]
            # Skips a MAD of an earlier case, whose process answered a REQ after its listener was destroyed.
            if 0x1000 < get(mad, 24 + 4, 32) <= self.before:
                continue
            return get(mad, 16, 16), bytearray(mad[24:]), get(mad, 8, 64)
        return None

    def gets(self, kind, seconds=20):
        got = self.receive(seconds)
        expect(got, f"no message {kind:#x}")
        expect(got[0] == kind, f"message {got[0]:#x} instead of {kind:#x}")
        return got[1], got[2]

    def silence(self, seconds=0.1):
        got = self.receive(seconds)
        expect(not got, f"message {got[0] if got else 0:#x}")

    # ---- messages

    def request(self, comm, port=PORT, qpn=0x99, retries=RETRIES, mtu=3, transport=0, version=4,
                timeout=PATIENT, timewait=10):
        body = bytearray(232)
        put(body, 0, 32, comm)
        put(body, 8, 64, 0x0000_0000_0106_0000 + port)
        put(body, 16, 64, GUID)
        put(body, 32, 24, qpn)
        put(body, 35, 8, 1)
        put(body, 39, 8, 1)
        put(body, 44, 24, 100)
        put(body, 48, 16, 0xFFFF)
        # bit 0 in cm_fields.def is the most significant bit
        body[43] = 16 << 3 | transport << 1
        body[47] = timeout << 3 | 7
        body[50] = mtu << 4 | 7
        body[51] = retries << 4
        put(body, 52, 16, 0xFFFF)
        put(body, 54, 16, 0xFFFF)
        for at, address in ((56, FAR), (72, NEAR)):
            body[at:at + 16] = bytes(10) + b"\xff\xff" + socket.inet_aton(address)
        body[93] = 64
        body[95] = timewait << 3
        body[140:142] = bytes((0, version << 4))
        put(body, 142, 16, 7)
        body[144 + 12:144 + 16] = socket.inet_aton(FAR)
        body[160 + 12:160 + 16] = socket.inet_aton(NEAR)
        body[176:179] = b"ask"
        return body

    def connect(self, talk, **fields):
        """Sets up a connection that the program accepts. Returns its REQ, its REP and the transaction ID."""
        comm = self.new()
        body = self.request(comm, **fields)
        self.send(REQ, body, comm)
        expect_event(talk, "RDMA_CM_EVENT_CONNECT_REQUEST 0 ask")
        talk.tell("accept")
        rep, tid = self.gets(REP)
        expect(tid == comm and get(rep, 4, 32) == comm and rep[36:39] == b"yes", "another REP")
        return body, rep, tid

    def pair(self, kind, local, remote, tid):
        body = bytearray(232)
        put(body, 0, 32, local)
        put(body, 4, 32, remote)
        self.send(kind, body, tid)

    def reject(self, local, remote, reason, tid, text=b"", message=0):
        body = bytearray(232)
        put(body, 0, 32, local)
        put(body, 4, 32, remote)
        body[8] = message << 6
        put(body, 10, 16, reason)
        body[84:84 + len(text)] = text
        self.send(REJ, body, tid)

    def reply(self, local, remote, tid, qpn):
        body = bytearray(232)
        put(body, 0, 32, local)
        put(body, 4, 32, remote)
        put(body, 12, 24, qpn)
        put(body, 20, 24, 55)
        body[24:28] = bytes((1, 1, 0, 7 << 5))
        put(body, 28, 64, GUID)
        body[36:39] = b"yes"
        self.send(REP, body, tid)


class Talk:
    """The program under test, cm_talk."""

    command = []

    def __init__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        self.rest = b""

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")

    def line(self, seconds=10):
        end = time.monotonic() + seconds
        while b"\n" not in self.rest:
            expect(select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0],
                   f"no event in {seconds} s")
            more = os.read(self.process.stdout.fileno(), 4096)
            expect(more, "the program ended")
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode().strip()

    def listen(self):
        self.tell(f"listen {NEAR} {PORT}")
        expect(self.line() == "listening", "it does not listen")

    def ask(self, what="connect", address=FAR):
        self.tell(f"{what} {address} {PORT}")
        for event in ("ADDR_RESOLVED", "ROUTE_RESOLVED"):
            expect_event(self, f"RDMA_CM_EVENT_{event} 0")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def expect_event(talk, event, seconds=10):
    line = talk.line(seconds)
    expect(line == event, f"'{line}' instead of '{event}'")


# ---- cases: the program listens


def refused(peer, talk):
    """The device rejects requests without the program: no listener (R232), invalid transport, MTU, QPN or version."""
    talk.listen()
    for reason, fields in ((INVALID_SERVICE, {"port": PORT + 1}), (INVALID_MTU, {"mtu": 0}),
                           (INVALID_MTU, {"mtu": 9}), (INVALID_TRANSPORT, {"transport": 2}),
                           (UNSUPPORTED, {"qpn": 1}), (CONSUMER, {"version": 5})):
        comm = peer.new()
        peer.send(REQ, peer.request(comm, **fields), comm)
        rej, tid = peer.gets(REJ)
        expect(tid == comm and get(rej, 4, 32) == comm and rej[8] >> 6 == 0 and
               get(rej, 10, 16) == reason, f"{fields}: reason {get(rej, 10, 16)} not {reason}")


def rejected(peer, talk):
    """The program rejects a REQ with private data. A retransmitted REQ gets the REJ again. A program may
    end after the REJ."""
    talk.listen()
    for word in ("reject", "leave"):
        comm = peer.new()
        body = peer.request(comm, qpn=comm, timewait=LONG)
        peer.send(REQ, body, comm)
        expect_event(talk, "RDMA_CM_EVENT_CONNECT_REQUEST 0 ask")
        talk.tell(f"{word} no, thanks")
        rej, _ = peer.gets(REJ)
        expect(get(rej, 10, 16) == CONSUMER and rej[84:94] == b"no, thanks", "another REJ")
        if word == "reject":
            peer.send(REQ, body, comm)
            expect(peer.gets(REJ)[0] == rej, "the REJ changed")


def repeated(peer, talk):
    """A retransmitted REQ gets an MRA while the program decides, and afterwards the same REP. A
    retransmitted RTU causes no second event. A LAP is refused by an APR. Each DREQ gets a DREP."""
    talk.listen()
    comm = peer.new()
    body = peer.request(comm)
    for again in (False, True):
        peer.send(REQ, body, comm)
        if again:
            mra, _ = peer.gets(MRA)
            expect(get(mra, 4, 32) == comm and mra[8] >> 6 == 0, "another MRA")
    expect_event(talk, "RDMA_CM_EVENT_CONNECT_REQUEST 0 ask")
    talk.tell("accept")
    rep, tid = peer.gets(REP)
    peer.send(REQ, body, comm)
    expect(peer.gets(REP)[0] == rep, "the REP changed")
    ours = get(rep, 0, 32)
    for _ in range(2):
        peer.pair(RTU, comm, ours, tid)
    expect_event(talk, "RDMA_CM_EVENT_ESTABLISHED 0")
    lap = bytearray(232)
    put(lap, 0, 32, comm)
    put(lap, 4, 32, ours)
    while peer.receive(0.05):  # discards REPs that are in flight
        pass
    peer.send(LAP, lap, 77)
    apr, tid = peer.gets(APR)
    expect(tid == 77 and get(apr, 4, 32) == comm and apr[9] == 2, f"APR status {apr[9]}")
    peer.pair(DREQ, comm, ours, 78)  # this DREQ names another QPN and is ignored (R233)
    peer.silence()
    dreq = bytearray(232)
    put(dreq, 0, 32, comm)
    put(dreq, 4, 32, ours)
    put(dreq, 8, 24, 0x78)
    peer.send(DREQ, dreq, 79)
    expect_event(talk, "RDMA_CM_EVENT_DISCONNECTED 0")
    talk.tell("disconnect")
    drep, tid = peer.gets(DREP)
    expect(tid == 79 and get(drep, 4, 32) == comm, "another DREP")
    peer.send(DREQ, dreq, 80)  # the device answers a DREQ by a DREP, in TIMEWAIT and afterwards (R233)
    peer.gets(DREP)
    expect_event(talk, "RDMA_CM_EVENT_TIMEWAIT_EXIT 0")
    peer.send(DREQ, dreq, 81)
    peer.gets(DREP)


def unanswered_rep(peer, talk):
    talk.listen()
    peer.connect(talk, retries=3, timeout=QUICK)
    for _ in range(3):
        peer.gets(REP)
    rej, _ = peer.gets(REJ)
    expect(get(rej, 10, 16) == TIMEOUT and get(rej, 12, 64) != 0, "another REJ")
    expect_event(talk, f"RDMA_CM_EVENT_UNREACHABLE {-ETIMEDOUT}")


def unanswered_dreq(peer, talk):
    talk.listen()
    body, rep, tid = peer.connect(talk)
    peer.pair(RTU, get(body, 0, 32), get(rep, 0, 32), tid)
    expect_event(talk, "RDMA_CM_EVENT_ESTABLISHED 0")
    while peer.receive(0.05):
        pass
    talk.tell("disconnect")
    first = peer.gets(DREQ)
    for _ in range(RETRIES):
        expect(peer.gets(DREQ) == first, "the DREQ changed")
    expect_event(talk, f"RDMA_CM_EVENT_DISCONNECTED {-ETIMEDOUT}")
    expect_event(talk, "RDMA_CM_EVENT_TIMEWAIT_EXIT 0")
    peer.silence()


def stale(peer, talk):
    """A new REQ from the QPN of a connection: the peer has restarted (R231)."""
    talk.listen()
    body, rep, tid = peer.connect(talk, qpn=0x123)
    peer.pair(RTU, get(body, 0, 32), get(rep, 0, 32), tid)
    expect_event(talk, "RDMA_CM_EVENT_ESTABLISHED 0")
    while peer.receive(0.05):
        pass
    comm = peer.new()
    peer.send(REQ, peer.request(comm, qpn=0x123), comm)
    got = {}
    while len(got) < 2:
        one = peer.receive(20)
        expect(one and one[0] in (REJ, DREQ), "neither REJ nor DREQ")
        got[one[0]] = one[1]
        if one[0] == DREQ:
            peer.pair(DREP, get(body, 0, 32), get(rep, 0, 32), one[2])
    expect(get(got[REJ], 10, 16) == STALE and get(got[REJ], 4, 32) == comm, "not stale")
    expect(get(got[DREQ], 8, 24) == 0x123, "the DREQ is for another QP")
    expect_event(talk, "RDMA_CM_EVENT_DISCONNECTED 0")


# ---- cases: the program connects


def reasons(peer, talk):
    """A REJ causes the event REJECTED. Its status is the reason of the REJ, and it has the private data of the REJ."""
    for reason in REASONS:
        talk.ask()
        req, tid = peer.gets(REQ)
        expect(req[176:179] == b"ask", "no private data")
        peer.reject(0, get(req, 0, 32), reason, tid, b"because %d" % reason)
        expect_event(talk, f"RDMA_CM_EVENT_REJECTED {reason} because {reason}")


def lost(peer, talk):
    """A lost REQ is retransmitted unchanged. If the RTU is lost, the device answers a retransmitted REP with the
    same RTU. If the peer receives no RTU, its REJ ends the connection although it is established here."""
    talk.ask()
    first = peer.gets(REQ)
    expect(peer.gets(REQ) == first, "the REQ changed")
    ours, comm = get(first[0], 0, 32), peer.new()
    peer.reply(comm, ours, first[1], 0x321)
    expect_event(talk, "RDMA_CM_EVENT_CONNECT_RESPONSE 0 yes")
    while peer.receive(0.05):  # discards REQs that are in flight
        pass
    peer.reply(comm, ours, first[1], 0x321)  # retransmits the REP while the program decides
    mra, _ = peer.gets(MRA)
    expect(mra[8] >> 6 == 1, "the MRA is for another message")
    talk.tell("establish")
    rtu = peer.gets(RTU)
    peer.reply(comm, ours, first[1], 0x321)
    expect(peer.gets(RTU) == rtu, "the RTU changed")
    peer.reject(comm, ours, TIMEOUT, first[1], b"", 1)
    expect_event(talk, f"RDMA_CM_EVENT_REJECTED {TIMEOUT}")


CASES = (refused, rejected, repeated, unanswered_rep, unanswered_dreq, stale, reasons, lost)


def play(near_mac, late, names):
    """Runs the cases at the far end of the link."""
    peer = Peer(near_mac, late)
    silent = [Talk(), Talk()]
    talks = list(silent)
    try:
        for talk, what in zip(silent, ("connect", "find")):
            talk.ask(what, SILENT)
        for case in CASES:
            if names and case.__name__ not in names:
                continue
            print(case.__name__, flush=True)
            talks.append(Talk())
            peer.before = peer.comm
            case(peer, talks[-1])
            talks[-1].end()
            while peer.receive(0.05):  # discards the messages at the end of the program
                pass
        for talk in silent:  # meanwhile, their requests were sent 16 times, once a second
            expect_event(talk, f"RDMA_CM_EVENT_UNREACHABLE {-ETIMEDOUT}", 40)
        print("unreachable peer: all events are right")
    finally:
        for talk in talks:
            talk.process.kill()
            talk.process.wait()
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--preload", default="")
    parser.add_argument("--late", type=float, default=0)
    parser.add_argument("--far", nargs=2, metavar=("PID", "MAC"), help=argparse.SUPPRESS)
    parser.add_argument("case", nargs="*")
    args = parser.parse_args()
    bin_dir = os.path.abspath(args.bin)
    talk = os.path.join(bin_dir, "programs", "cm_talk")
    if args.far:
        Talk.command = ["nsenter", "-t", args.far[0], "-n", os.path.join(bin_dir, "rnic-run"), "-i",
                        LINK, "--", *rows_of.runtime_first("{BIN}", args.preload, bin_dir), talk]
        return play(args.far[1], args.late, args.case)
    if os.geteuid() != 0:
        wire.enter()
    near, far = spaces = wire.link(4300)
    try:
        macs = [subprocess.run(space.command("ip", "-br", "link", "show", LINK), text=True,
                               stdout=subprocess.PIPE, check=True).stdout.split()[2]
                for space in spaces]
        for address in (FAR, SILENT):
            near.run("ip", "neigh", "replace", address, "dev", LINK, "nud", "permanent", "lladdr",
                     macs[1])
        return subprocess.run(far.command(sys.executable, os.path.abspath(__file__), "--bin", bin_dir,
                                          "--preload", args.preload, "--late",
                                          str(args.late), "--far", str(near.pid), macs[0],
                                          "--", *args.case),
                              env=wire.environment(args.preload), check=False).returncode
    finally:
        for space in spaces:
            space.close()


if __name__ == "__main__":
    sys.exit(main())
