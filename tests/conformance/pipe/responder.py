#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""A small RC responder behind rocedrill drill --pipe: the reference for a device in another language.

    rocedrill drill --pipe tests/conformance/pipe/responder.py tests/conformance/rc-rsp

It reads JSON lines from standard input and answers each with one line (replay/docs/drill.md). It executes SEND,
WRITE, READ and atomics of RC QPs over IPv4 and IPv6, and reports everything else as unsupported.
"""
import ipaddress
import json
import struct
import sys
import zlib
from types import SimpleNamespace

MASK, HALF, U64 = 0xFFFFFF, 1 << 23, (1 << 64) - 1
CREDITS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
RNR, SEQUENCE, INVALID, ACCESS, OPERATION = 0x20, 0x60, 0x61, 0x62, 0x63
LOCAL, SEND, WRITE, READ, ATOMIC = 1, 0, 2, 4, 8  # access rights; an operation has the number of the right that it needs
# opcode: (operation, begins a message, ends a message, headers (R: RETH, I: immediate data, A: AtomicETH))
OPS = {0x00: (SEND, 1, 0, ""), 0x01: (SEND, 0, 0, ""), 0x02: (SEND, 0, 1, ""), 0x03: (SEND, 0, 1, "I"),
       0x04: (SEND, 1, 1, ""), 0x05: (SEND, 1, 1, "I"), 0x06: (WRITE, 1, 0, "R"), 0x07: (WRITE, 0, 0, ""),
       0x08: (WRITE, 0, 1, ""), 0x09: (WRITE, 0, 1, "I"), 0x0A: (WRITE, 1, 1, "R"), 0x0B: (WRITE, 1, 1, "RI"),
       0x0C: (READ, 1, 1, "R"), 0x13: (ATOMIC, 1, 1, "A"), 0x14: (ATOMIC, 1, 1, "A")}
SIZES = {"R": 16, "I": 4, "A": 28}


class Refused(Exception):
    """A request that is answered by a NAK code, with the completion status of its receive if it has one."""


def masked(ip):
    """Returns the IP header with ones in all bits that routers may change."""
    ip = bytearray(ip)
    ip[0] |= 0x0F if len(ip) == 40 else 0
    for at in (1, 8, 10, 11) if len(ip) == 20 else (1, 2, 3, 7):
        ip[at] = 0xFF
    return bytes(ip)


def icrc(ip, rest):
    covered = masked(ip) + rest[:6] + b"\xff\xff" + rest[8:12] + b"\xff" + rest[13:]
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + covered))


class Device:
    def __init__(self, setup):
        self.mr, self.qp, self.numbers, self.out = {}, {}, {}, {"frames": [], "comps": [], "events": []}
        self.mac, self.peer_mac = bytes.fromhex(setup["mac"]), bytes.fromhex(setup["peer-mac"])
        self.addr, self.peer = (ipaddress.ip_address(setup[name]).packed for name in ("addr", "peer-addr"))
        self.v6 = len(self.addr) == 16
        self.kind, self.rest = (b"\x86\xdd", 54) if self.v6 else (b"\x08\x00", 34)  # EtherType, and offset of the UDP header
        for at, row in enumerate(setup["objects"]):
            row = SimpleNamespace(**{name.replace("-", "_"): value for name, value in row.items()})
            if row.kind == "mr":
                row.key, row.mem = 0x1000 + at * 0x101, bytearray.fromhex(row.bytes)
                self.mr[row.name], self.numbers[row.name] = row, {"address": row.address, "key": row.key}
                row.address &= U64
            elif row.kind == "qp":
                row.__dict__.update(number=0x40 + at, epsn=row.peer_psn, first=row.peer_psn, msn=0, message=None,
                                    quiet=False, seen=False, recvs=[], posted={}, reads=[])
                self.qp[row.name], self.numbers[row.name] = row, {"number": row.number}

    # ---- packets ------------------------------------------------------------------------------------------------

    def ip(self, source, target, length, tclass, hops):
        if self.v6:
            return struct.pack(">IHBB", 6 << 28 | tclass << 20, length, 17, hops) + source + target
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, tclass, 20 + length, 0, 0x4000, hops, 17, 0, source, target)
        return ip[:10] + struct.pack(">H", 0xFFFF - sum(struct.unpack(">10H", ip)) % 0xFFFF) + ip[12:]

    def answer(self, qp, psn, syndrome=None, opcode=0x11, payload=b""):
        """Sends a response: an ACK with credits if there is no syndrome. A READ Response Middle has no AETH."""
        if syndrome is None:
            syndrome = max(code for code, cnt in enumerate(CREDITS) if cnt <= len(qp.recvs))
        pad, aeth = -len(payload) % 4, struct.pack(">I", syndrome << 24 | qp.msn & MASK)
        bth = struct.pack(">BBHII", opcode, 0x40 | pad << 4, qp.pkey, qp.peer_qpn, psn & MASK)
        body = bth + (b"" if opcode == 0x0E else aeth) + payload + bytes(pad)
        rest = struct.pack(">HHHH", 0xC000 | qp.number, 4791, 8 + len(body) + 4, 0) + body
        ip = self.ip(self.addr, self.peer, len(rest) + 4, qp.tclass & ~3, qp.hop_limit)
        self.out["frames"].append((self.peer_mac + self.mac + self.kind + ip + rest + icrc(ip, rest)).hex())

    def is_for_us(self, raw):
        """Returns whether the frame is a complete RoCEv2 packet from the peer to this device."""
        ip, rest = raw[14:self.rest], raw[self.rest:]
        if len(rest) < 24 or len(rest) % 4 or raw[12:14] != self.kind:
            return False
        expected = self.ip(self.peer, self.addr, len(rest), 0, 0)
        if not self.v6:  # the identification and the flag "don't fragment" may have any value
            expected = expected[:4] + ip[4:6] + bytes([ip[6] & 0x40]) + expected[7:]
        return masked(ip) == masked(expected) and (self.v6 or sum(struct.unpack(">10H", ip)) % 0xFFFF == 0) and \
            rest[2:6] == struct.pack(">HH", 4791, len(rest)) and icrc(ip, rest[:-4]) == rest[-4:]

    def frame(self, raw):
        """Drops a frame that is not a packet for a QP of this device."""
        body = raw[self.rest + 8:-4]
        if not self.is_for_us(raw):
            return
        opcode, flags, pkey, dest, psn = struct.unpack(">BBHII", body[:12])
        qp = next((qp for qp in self.qp.values() if qp.number == dest & MASK), None)
        kind, _, _, heads = OPS.get(opcode, (None, 1, 1, ""))
        heads, pad = 12 + sum(SIZES[h] for h in heads), flags >> 4 & 3
        if not qp or flags & 15 or qp.state not in ("RTR", "RTS", "SQD") or opcode >> 5 or 0x0D <= opcode <= 0x12 or \
                (pkey ^ qp.pkey) & 0x7FFF or not pkey & 0x7FFF or not (pkey | qp.pkey) & 0x8000 or \
                len(body) < heads + pad or (kind in (READ, ATOMIC) and len(body) != heads):
            return
        if qp.state == "RTR" and not qp.seen:
            self.event(qp, "communication-established")
        qp.seen = True
        self.request(qp, opcode, psn & MASK, psn >> 31, body[12:heads], body[heads:len(body) - pad])

    # ---- the responder: PSN, opcode sequence, resources, R_Key, execution --------------------------------------

    def request(self, qp, opcode, psn, ackreq, head, data):
        ahead = (psn - qp.epsn) & MASK
        try:
            if ahead >= HALF:
                self.duplicate(qp, opcode, psn, ackreq, head)
            elif not ahead:
                self.execute(qp, opcode, psn, ackreq, head, data)
            elif not qp.quiet:
                qp.quiet = True
                self.answer(qp, qp.epsn, SEQUENCE)
        except Refused as why:
            if not ahead:  # a duplicate never causes a NAK
                self.refuse(qp, psn, *why.args)

    def refuse(self, qp, psn, code, status="local-qp-operation"):
        self.answer(qp, psn, code)
        if not qp.message or not qp.message.recv:
            self.event(qp, "qp-access-error" if code == ACCESS else "qp-request-error")
        self.stop(qp, status)

    def stop(self, qp, status="flushed"):
        """Completes the receive of a message with the status, and flushes all other receives."""
        used = [qp.message.recv] if qp.message and qp.message.recv else []
        for recv in used + qp.recvs:
            self.complete(qp, recv, status if recv in used else "flushed")
        qp.state, qp.message, qp.recvs = "ERR", None, []

    def event(self, qp, name):
        self.out["events"].append({"event": name, "object": qp.name})

    def complete(self, qp, recv, status, **more):
        self.out["comps"].append(dict(more, qp=qp.name, recv=True, id=recv.id, status=status))

    def memory(self, va, key, length, right):
        if length == 0:  # length 0 needs no valid key
            return b"", 0
        for mr in self.mr.values():
            if mr.key == key and mr.access & right and mr.address <= va and va + length <= mr.address + mr.len:
                return mr.mem, va - mr.address
        raise Refused(ACCESS)

    def execute(self, qp, opcode, psn, ackreq, head, data):
        kind, first, last, heads, message = *OPS.get(opcode, (None, 1, 1, "")), qp.message
        if kind is None or first == bool(message) or (message and message.kind != kind) or \
                kind & ~qp.access or (kind in (READ, ATOMIC) and not qp.resources):
            raise Refused(INVALID)
        if kind in (READ, ATOMIC):
            return self.fetch(qp, opcode, psn, head)
        if first:
            message = SimpleNamespace(kind=kind, off=0, recv=None, len=0)
            if kind == WRITE:
                message.va, message.key, message.len = struct.unpack(">QII", head[:16])
        end = message.off + len(data)
        if len(data) > qp.mtu or (not last and len(data) != qp.mtu) or (last and not first and not data) or \
                message.len > 1 << 31:
            raise Refused(INVALID)
        if kind == WRITE:  # check the key again for each packet, because it may have become invalid
            mem, at = self.memory(message.va, message.key, message.len, WRITE)
        needs_recv = first if kind == SEND else "I" in heads
        if needs_recv and not qp.recvs:
            qp.quiet = True
            return self.answer(qp, psn, RNR | qp.rnr_timer)
        if kind == WRITE and (end > message.len or (last and end != message.len)):
            raise Refused(INVALID)
        if needs_recv:
            message.recv = qp.recvs.pop(0)
        qp.quiet, qp.message = False, message
        if kind == SEND:
            mem, at = message.recv.mem, message.recv.at
            if end > message.recv.len:
                raise Refused(INVALID, "local-length")
            if message.recv.bad:
                raise Refused(OPERATION, "local-protection")
        if data:
            mem[at + message.off:at + end] = data
        message.off, qp.epsn = end, psn + 1 & MASK
        if last:
            qp.message, qp.msn = None, qp.msn + 1
            if message.recv:
                more = {"imm": struct.unpack(">I", head[-4:])[0]} if "I" in heads else {}
                self.complete(qp, message.recv, "success", len=end, **more)
        if ackreq:
            self.answer(qp, psn)

    def fetch(self, qp, opcode, psn, head):
        read = SimpleNamespace(psn=psn, cnt=1, opcode=opcode, head=head)
        if opcode == 0x0C:
            va, key, length = struct.unpack(">QII", head)
            self.memory(va, key, length, READ)
            read.cnt = max(1, -(-length // qp.mtu))
        else:
            va, key, new, compare = struct.unpack(">QIQQ", head)
            if va % 8:
                raise Refused(INVALID)
            mem, at = self.memory(va, key, 8, ATOMIC)
            read.old = struct.unpack_from("=Q", mem, at)[0]
            value = read.old + new & U64 if opcode == 0x14 else new if read.old == compare else read.old
            struct.pack_into("=Q", mem, at, value)
        qp.quiet, qp.msn, qp.epsn = False, qp.msn + 1, psn + read.cnt & MASK
        qp.reads = (qp.reads + [read])[-qp.resources:]
        self.respond(qp, psn, read, head)

    def respond(self, qp, psn, read, head):
        """Answers a READ or atomic, the first time or again. `head` may request a part of a READ."""
        if read.opcode != 0x0C:
            return self.answer(qp, psn, None, 0x12, struct.pack(">Q", read.old))
        va, key, length = struct.unpack(">QII", head)
        mem, at = self.memory(va, key, length, READ)
        last = max(0, (length - 1) // qp.mtu)
        for i in range(last + 1):
            opcode = 0x10 if last == 0 else 0x0D if i == 0 else 0x0F if i == last else 0x0E
            part = bytes(mem[at + i * qp.mtu:at + min(length, (i + 1) * qp.mtu)])
            self.answer(qp, psn + i, None, opcode, part)

    def duplicate(self, qp, opcode, psn, ackreq, head):
        kind = OPS.get(opcode, (None,))[0]
        if kind in (SEND, WRITE) and ackreq and (psn - qp.first & MASK) < HALF:
            self.answer(qp, qp.epsn - 1)
        for read in [read for read in qp.reads if read.opcode == opcode]:
            skip = psn - read.psn & MASK
            same = psn == read.psn and head == read.head
            if kind == READ and skip < read.cnt:
                (old, old_key, old_len), (va, key, length) = (struct.unpack(">QII", h) for h in (read.head, head))
                same = key == old_key and va == old + skip * qp.mtu and va + length <= old + old_len
            if same:
                self.respond(qp, psn, read, head)

    # ---- the program ----------------------------------------------------------------------------------------------

    def verb(self, line, qp, mr):
        verb = line["verb"]
        if verb == "recv" and qp:
            if qp.state == "RESET":
                return {"ok": False, "error": "state"}
            mem, at, bad = bytearray(line["len"]), 0, False
            if "to" in line:
                to, at = self.mr[line["to"]["object"]], line["to"]["offset"]
                mem, bad = to.mem, not to.access & LOCAL or at + line["len"] > to.len
            qp.recvs.append(SimpleNamespace(id=line["id"], len=line["len"], mem=mem, at=at, bad=bad))
            qp.posted[line["id"]] = mem, at
            if qp.state == "ERR":
                self.stop(qp)
        elif verb == "store" and mr:
            mr.mem[line["offset"]:line["offset"] + len(line["bytes"]) // 2] = bytes.fromhex(line["bytes"])
        elif verb == "destroy" and mr:
            mr.key = None
        elif verb == "modify" and qp and line.get("state") == "ERR" and len(line) == 5:  # op, verb, object, at, state
            self.stop(qp)
        else:
            return {"unsupported": verb}
        return {"ok": True}

    def reply_to(self, line):
        op, qp, mr = line["op"], self.qp.get(line.get("object")), self.mr.get(line.get("object"))
        if op == "verb":
            return self.verb(line, qp, mr)
        if op == "state":
            return {"ok": True, "state": qp.state}
        if op in ("read", "read-recv"):
            mem, at = (mr.mem, 0) if op == "read" else qp.posted[line["id"]]
            return {"ok": True, "bytes": mem[at + line["offset"]:][:line["len"]].hex()}
        if op == "frame":
            self.frame(bytes.fromhex(line["hex"]))
        return {"ok": True}


def missing(setup):
    """Returns a list of the features that a drill needs and this device lacks."""
    return [need for need in setup["needs"] if need not in ("atomic", "credits", "exact-time")] + \
        [row.get("service", row["kind"]) for row in setup["objects"]
         if row["kind"] not in ("mr", "peer") and row.get("service") != "rc"]


device = None
for text in sys.stdin:
    line = json.loads(text)
    if line["op"] == "open" and (lacking := missing(line)):
        reply = {"unsupported": lacking[0]}
    elif line["op"] == "open":
        device = Device(line)
        reply = {"ok": True, "objects": device.numbers}
    else:
        reply = dict(device.reply_to(line), **device.out)
        device.out = {name: [] for name in device.out}
    print(json.dumps(reply), flush=True)
