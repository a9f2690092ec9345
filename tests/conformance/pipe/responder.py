#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""A small RC responder behind rocedrill drill --pipe: the reference for a device in another language.

    rocedrill drill --pipe tests/conformance/pipe/responder.py tests/conformance/rc-rsp

It reads JSON lines from standard input and answers each with one line (replay/docs/drill.md). It executes SEND,
WRITE, READ and atomics of RC QPs over IPv4 and IPv6, and reports everything else as unsupported.
"""
import json
import socket
import struct
import sys
import zlib

MASK, HALF, U64 = 0xFFFFFF, 1 << 23, (1 << 64) - 1
L_WRITE, R_WRITE, R_READ, R_ATOMIC = 1, 2, 4, 8
CREDITS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
SEQUENCE, INVALID, ACCESS, OPERATION = 0x60, 0x61, 0x62, 0x63
SEND, WRITE, READ, ATOMIC = "send", "write", "read", "atomic"
# opcode: kind, first, last, headers
OPS = {0x00: (SEND, 1, 0, ""), 0x01: (SEND, 0, 0, ""), 0x02: (SEND, 0, 1, ""), 0x03: (SEND, 0, 1, "I"),
       0x04: (SEND, 1, 1, ""), 0x05: (SEND, 1, 1, "I"), 0x06: (WRITE, 1, 0, "R"), 0x07: (WRITE, 0, 0, ""),
       0x08: (WRITE, 0, 1, ""), 0x09: (WRITE, 0, 1, "I"), 0x0A: (WRITE, 1, 1, "R"), 0x0B: (WRITE, 1, 1, "RI"),
       0x0C: (READ, 1, 1, "R"), 0x13: (ATOMIC, 1, 1, "A"), 0x14: (ATOMIC, 1, 1, "A")}
SIZES = {"R": 16, "I": 4, "A": 28}
RESPONSES = set(range(0x0D, 0x13))
UNSUPPORTED_NEEDS = {"uc", "ud", "xrc", "srq", "mw", "mw-2a", "mw-2b", "flush", "atomic-write", "cnp", "cm", "multicast",
                     "counters", "invalidate", "zero-based"}


class Refused(Exception):
    """A request that is answered with this NAK code."""


class Device:
    def __init__(self, setup):
        self.setup, self.mr, self.qp, self.out = setup, {}, {}, {"frames": [], "comps": [], "events": []}
        self.mac, self.peer_mac = bytes.fromhex(setup["mac"]), bytes.fromhex(setup["peer-mac"])
        family = socket.AF_INET6 if ":" in setup["addr"] else socket.AF_INET
        self.addr, self.peer = (socket.inet_pton(family, setup[name]) for name in ("addr", "peer-addr"))
        self.numbers = {}
        for at, row in enumerate(setup["objects"]):
            if row["kind"] == "mr":
                self.mr[row["name"]] = dict(row, address=row["address"] & U64, key=0x1000 + at * 0x101,
                                            mem=bytearray.fromhex(row["bytes"]))
                self.numbers[row["name"]] = {"address": row["address"], "key": 0x1000 + at * 0x101}
            elif row["kind"] == "qp":
                self.qp[0x40 + at] = dict(row, number=0x40 + at, epsn=row["peer-psn"], first=row["peer-psn"], msn=0, recvs=[],
                                          done={}, message=None, nak=False, silent=False, reads=[], seen=False)
                self.numbers[row["name"]] = {"number": 0x40 + at}

    def icrc(self, ip, rest):
        fields = bytearray(ip)
        if len(ip) == 20:
            fields[1] = fields[8] = fields[10] = fields[11] = 0xFF
        else:
            fields[0] |= 0x0F
            fields[1:4] = b"\xff\xff\xff"
            fields[7] = 0xFF
        body = bytearray(rest)
        body[6:8] = b"\xff\xff"
        body[12] = 0xFF
        return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(fields) + bytes(body)))

    def send(self, qp, opcode, psn, after, payload=b""):
        pad = -len(payload) % 4
        bth = struct.pack(">BBHII", opcode, 0x40 | pad << 4, qp["pkey"], qp["peer-qpn"], psn & MASK)
        body = bth + after + payload + bytes(pad)
        length = 8 + len(body) + 4
        udp = struct.pack(">HHHH", 0xC000 | qp["number"], 4791, length, 0)
        if len(self.addr) == 4:
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, qp["tclass"] & ~3, 20 + length, 0, 0x4000, qp["hop-limit"], 17, 0,
                             self.addr, self.peer)
            total = sum(struct.unpack(">10H", ip))
            total = (total & 0xFFFF) + (total >> 16)
            ip = ip[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + ip[12:]
        else:
            ip = struct.pack(">IHBB", 6 << 28 | (qp["tclass"] & ~3) << 20, length, 17, qp["hop-limit"]) + self.addr + self.peer
        kind = b"\x08\x00" if len(self.addr) == 4 else b"\x86\xdd"
        self.out["frames"].append((self.peer_mac + self.mac + kind + ip + udp + body + self.icrc(ip, udp + body)).hex())

    def answer(self, qp, psn, syndrome, opcode=0x11, after=b"", payload=b""):
        if syndrome is None:
            syndrome = max(i for i, n in enumerate(CREDITS) if n <= len(qp["recvs"]))
        self.send(qp, opcode, psn, struct.pack(">I", syndrome << 24 | qp["msn"] & MASK) + after, payload)

    def frame(self, raw):
        """Drops what is no packet for a QP of this device."""
        size = 20 if len(self.addr) == 4 else 40
        ip, udp = raw[14:14 + size], raw[14 + size:22 + size]
        if len(raw) < 14 + size + 24 or raw[12:14] != (b"\x08\x00" if size == 20 else b"\x86\xdd"):
            return
        if size == 20 and (ip[0] != 0x45 or ip[6:8] not in (b"\x40\0", b"\0\0") or ip[9] != 17 or ip[12:] != self.peer + self.addr):
            return
        if size == 40 and (ip[0] >> 4 != 6 or ip[6] != 17 or ip[8:] != self.peer + self.addr):
            return
        length = struct.unpack(">H", udp[4:6])[0]
        rest = raw[14 + size:14 + size + length]
        if struct.unpack(">H", ip[2:4] if size == 20 else ip[4:6])[0] != length + (20 if size == 20 else 0):
            return
        if udp[2:4] != b"\x12\xb7" or len(rest) != length or length < 24 or length % 4 or self.icrc(ip, rest[:-4]) != rest[-4:]:
            return
        opcode, flags, pkey, dest, psn = struct.unpack(">BBHII", rest[8:20])
        qp = self.qp.get(dest & MASK)
        if not qp or flags & 15 or qp["state"] not in ("RTR", "RTS", "SQD") or opcode >> 5 or opcode in RESPONSES:
            return
        if (pkey & 0x7FFF) != (qp["pkey"] & 0x7FFF) or not pkey & 0x7FFF or not (pkey | qp["pkey"]) & 0x8000:
            return
        heads = sum(SIZES[h] for h in OPS[opcode][3]) if opcode in OPS else 0
        body, pad = rest[20:-4], flags >> 4 & 3
        if len(body) < heads + pad or (opcode in OPS and OPS[opcode][0] in (READ, ATOMIC) and len(body) != heads):
            return
        if qp["state"] == "RTR" and not qp["seen"]:
            self.event(qp, "communication-established")
        qp["seen"] = True
        self.request(qp, opcode, psn & MASK, psn >> 31, body[:heads], body[heads:len(body) - pad])

    # ---- the responder: PSN, opcode sequence, resources, R_Key, execution --------------------------------------

    def request(self, qp, opcode, psn, ackreq, head, data):
        ahead = (psn - qp["epsn"]) & MASK
        if ahead >= HALF:
            self.duplicate(qp, opcode, psn, ackreq, head)
            return
        if ahead:
            if not qp["nak"] and not qp["silent"]:
                self.answer(qp, qp["epsn"], SEQUENCE)
            qp["nak"] = True
            return
        try:
            self.execute(qp, opcode, psn, ackreq, head, data)
        except Refused as why:
            self.answer(qp, psn, why.args[0])
            self.stop(qp, why.args[0])

    def stop(self, qp, code):
        used = qp["message"] and qp["message"].get("recv")
        status = {INVALID: "local-length", OPERATION: "local-protection"}
        if code == OPERATION or (used and qp.get("long")):
            self.complete(qp, used or qp["recvs"].pop(0), status[code])
        else:
            if used:
                self.complete(qp, used, "local-qp-operation")
            else:
                self.event(qp, "qp-access-error" if code == ACCESS else "qp-request-error")
        self.flush(qp)

    def flush(self, qp):
        qp["state"] = "ERR"
        while qp["recvs"]:
            self.complete(qp, qp["recvs"].pop(0), "flushed")

    def event(self, qp, name):
        self.out["events"].append({"event": name, "object": qp["name"]})

    def complete(self, qp, recv, status, **more):
        self.out["comps"].append(dict(more, qp=qp["name"], recv=True, id=recv["id"], status=status))

    def memory(self, va, key, length, right):
        for mr in self.mr.values():
            if mr["key"] == key and mr["access"] & right and mr["address"] <= va and va + length <= mr["address"] + mr["len"]:
                return mr["mem"], va - mr["address"]
        raise Refused(ACCESS)

    def execute(self, qp, opcode, psn, ackreq, head, data):
        kind, first, last, heads = OPS.get(opcode, (None, 1, 1, ""))
        message, mtu = qp["message"], qp["mtu"]
        if kind is None or first == bool(message) or (message and message["kind"] != kind):
            raise Refused(INVALID)
        if kind in (READ, ATOMIC):
            self.fetch(qp, opcode, psn, head)
            return
        if not qp["access"] & R_WRITE and kind == WRITE:
            raise Refused(INVALID)
        if len(data) > mtu or (not last and len(data) != mtu) or (last and not first and not data):
            raise Refused(INVALID)
        if first:
            message = {"kind": kind, "off": 0}
            if kind == WRITE:
                va, key, message["len"] = struct.unpack(">QII", head[:16])
                if message["len"] > 1 << 31:
                    raise Refused(INVALID)
                if message["len"]:
                    message["place"] = va, key, message["len"], R_WRITE
        if "place" in message:  # again for each packet: the key may be gone
            message["mem"], message["at"] = self.memory(*message["place"])
        needs_recv = (kind == SEND and first) or (kind == WRITE and "I" in heads)
        if needs_recv and not qp["recvs"]:
            if not qp["silent"]:
                self.answer(qp, psn, 0x20 | qp["rnr-timer"])
            qp["silent"] = True
            return
        if kind == WRITE and (message["off"] + len(data) > message["len"] or
                              (last and message["off"] + len(data) != message["len"])):
            raise Refused(INVALID)
        qp["nak"] = qp["silent"] = False
        if needs_recv:
            message["recv"] = qp["recvs"].pop(0)
        qp["message"] = message
        if kind == SEND:
            recv = message["recv"]
            if message["off"] + len(data) > recv["len"]:
                qp["long"] = True
                raise Refused(INVALID)
            if recv.get("bad"):
                raise Refused(OPERATION)
            recv["mem"][recv["at"] + message["off"]:recv["at"] + message["off"] + len(data)] = data
        elif data:
            message["mem"][message["at"] + message["off"]:message["at"] + message["off"] + len(data)] = data
        message["off"] += len(data)
        qp["epsn"] = psn + 1 & MASK
        if last:
            qp["message"], qp["msn"] = None, qp["msn"] + 1
            if "recv" in message:
                more = {"imm": struct.unpack(">I", head[-4:])[0]} if "I" in heads else {}
                self.complete(qp, message["recv"], "success", len=message["off"], **more)
        if ackreq:
            self.answer(qp, psn, None)

    def fetch(self, qp, opcode, psn, head):
        right = R_READ if opcode == 0x0C else R_ATOMIC
        if not qp["access"] & right or not qp["resources"]:
            raise Refused(INVALID)
        if opcode == 0x0C:
            va, key, length = struct.unpack(">QII", head)
            if length:
                self.memory(va, key, length, right)
            cnt = max(1, -(-length // qp["mtu"]))
            keep = (psn, cnt, va, key, length)
            qp["msn"] += 1
            self.respond(qp, *keep)
        else:
            va, key, new, compare = struct.unpack(">QIQQ", head)
            if va % 8:
                raise Refused(INVALID)
            mem, at = self.memory(va, key, 8, right)
            old = struct.unpack_from("=Q", mem, at)[0]
            value = old + new & U64 if opcode == 0x14 else new if old == compare else old
            struct.pack_into("=Q", mem, at, value)
            cnt, keep = 1, (psn, 1, opcode, head, old)
            qp["msn"] += 1
            self.answer(qp, psn, None, 0x12, struct.pack(">Q", old))
        qp["nak"] = qp["silent"] = False
        qp["reads"] = (qp["reads"] + [keep])[-qp["resources"]:]
        qp["epsn"] = psn + cnt & MASK

    def respond(self, qp, psn, cnt, va, key, length):
        mem, at = self.memory(va, key, length, R_READ) if length else (b"", 0)
        for i in range(cnt):
            data = bytes(mem[at + i * qp["mtu"]:at + min(length, (i + 1) * qp["mtu"])])
            opcode = 0x10 if cnt == 1 else 0x0D if i == 0 else 0x0F if i == cnt - 1 else 0x0E
            if opcode == 0x0E:
                self.send(qp, opcode, psn + i, b"", data)
            else:
                self.answer(qp, psn + i, None, opcode, b"", data)

    def duplicate(self, qp, opcode, psn, ackreq, head):
        if (psn - qp["first"] & MASK) >= HALF:
            return
        if opcode == 0x0C:
            va, key, length = struct.unpack(">QII", head)
            for first, cnt, old_va, old_key, old_len in qp["reads"]:
                skip = psn - first & MASK
                if isinstance(old_key, int) and skip < cnt and key == old_key and va == old_va + skip * qp["mtu"] and \
                        va + length <= old_va + old_len:
                    try:
                        self.respond(qp, psn, max(1, -(-length // qp["mtu"])), va, key, length)
                    except Refused:
                        pass
                    return
        elif opcode in (0x13, 0x14):
            for first, _, old_op, old_head, value in qp["reads"]:
                if first == psn and old_op == opcode and old_head == head:
                    self.answer(qp, psn, None, 0x12, struct.pack(">Q", value))
        elif opcode in OPS and ackreq:
            self.answer(qp, qp["epsn"] - 1, None)

    # ---- the program ----------------------------------------------------------------------------------------------

    def verb(self, line):
        name, verb = line.get("object"), line["verb"]
        qp = next((qp for qp in self.qp.values() if qp["name"] == name), None)
        if verb == "recv" and qp and qp["state"] == "RESET":
            return {"ok": False, "error": "state"}
        if verb == "recv" and qp:
            recv = {"id": line["id"], "len": line["len"], "mem": bytearray(line["len"]), "at": 0}
            if "to" in line:
                mr, at = self.mr[line["to"]["object"]], line["to"]["offset"]
                recv.update(mem=mr["mem"], at=at, bad=at + line["len"] > mr["len"] or not mr["access"] & L_WRITE)
            qp["done"][line["id"]] = recv
            qp["recvs"].append(recv)
            if qp["state"] == "ERR":
                self.flush(qp)
        elif verb == "store":
            data = bytes.fromhex(line["bytes"])
            self.mr[name]["mem"][line["offset"]:line["offset"] + len(data)] = data
        elif verb == "destroy" and name in self.mr:
            self.mr[name]["key"] = None
        elif verb == "modify" and qp and line.get("state") == "ERR" and set(line) <= {"op", "verb", "object", "at", "state"}:
            self.flush(qp)
        else:
            return {"unsupported": verb}
        return {"ok": True}


def unsupported(setup):
    """Returns what a drill needs and this device lacks, or None."""
    lacking = [need for need in setup["needs"] if need in UNSUPPORTED_NEEDS]
    lacking += [row["service"] for row in setup["objects"] if row["kind"] == "qp" and row["service"] != "rc"]
    lacking += [row["kind"] for row in setup["objects"] if row["kind"] in ("srq", "mw", "xrcd", "cq", "pd")]
    return lacking[0] if lacking else None


def reply_to(device, line):
    op = line["op"]
    if op == "frame":
        device.frame(bytes.fromhex(line["hex"]))
    elif op == "verb":
        return device.verb(line)
    elif op == "state":
        return {"ok": True, "state": next(qp["state"] for qp in device.qp.values() if qp["name"] == line["object"])}
    elif op == "read":
        return {"ok": True, "bytes": bytes(device.mr[line["object"]]["mem"][line["offset"]:][:line["len"]]).hex()}
    elif op == "read-recv":
        recv = next(qp for qp in device.qp.values() if qp["name"] == line["object"])["done"][line["id"]]
        return {"ok": True, "bytes": bytes(recv["mem"][recv["at"] + line["offset"]:][:line["len"]]).hex()}
    return {"ok": True}


def main():
    device = None
    for text in sys.stdin:
        line = json.loads(text)
        if line["op"] == "open":
            missing = unsupported(line)
            device = None if missing else Device(line)
            reply = {"unsupported": missing} if missing else {"ok": True, "objects": device.numbers}
        else:
            reply = reply_to(device, line)
            reply.update({name: rows for name, rows in device.out.items() if rows})
            device.out = {"frames": [], "comps": [], "events": []}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
