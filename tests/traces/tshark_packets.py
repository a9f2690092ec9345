# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Reads captures as packets, with the fields of tshark's built-in dissector.

It has no fields for the payload length, FECN, BECN and the ICRC, so these are computed from the bytes. Nothing of our
codec is used.
"""
import os
import struct
import subprocess
import zlib

import capture_variants
from loss_counts import ETHERTYPES, icrc_good

FIELDS = ["frame.number", "frame.time_epoch", "frame.len", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst",
          "infiniband.grh.sgid", "infiniband.grh.dgid", "ip.dsfield.ecn", "ipv6.tclass.ecn",
          "infiniband.grh.tclass", "ip.id", "udp.srcport", "udp.length", "infiniband.grh.paylen",
          "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
          "infiniband.bth.padcnt", "infiniband.aeth.syndrome", "infiniband.reth.va",
          "infiniband.reth.r_key", "infiniband.reth.dmalen", "infiniband.deth.srcqp", "macc.opcode",
          "macc.pause_time", "macc.cbfc.enbv", *(f"macc.cbfc.pause_time.c{n}" for n in range(8)),
          "infiniband.mad.attributeid", "infiniband.mad.mgmtclass", "infiniband.cm.req",
          "infiniband.cm.req.serviceid", "infiniband.cm.req.localqpn", "infiniband.cm.req.responderres",
          "infiniband.cm.req.initdepth", "infiniband.cm.req.startpsn", "infiniband.cm.req.retrcount",
          "infiniband.cm.req.pppmtu", "infiniband.cm.req.rnrretrcount",
          "infiniband.cm.req.prim_localacktout", "infiniband.cm.rep", "infiniband.cm.rep.remotecommid",
          "infiniband.cm.rep.localqpn", "infiniband.cm.rep.startpsn", "infiniband.cm.rep.respres",
          "infiniband.cm.rep.initdepth", "infiniband.cm.rep.rnrretrcount", "infiniband.cm.rep.tgtackdelay",
          "infiniband.cm.rtu.localcommid",
          "infiniband.cm.rej.remotecommid", "infiniband.cm.rej.reason",
          "infiniband.cm.dreq.remotecommid"]
RC, UC, RD, UD, CNP, XRC = 0, 1, 2, 3, 4, 5
SEND, WRITE, READ, ATOMIC, OTHER = "send", "write", "read", "atomic", "other"
# By opcode without its service bits: operation, extension headers in bytes, F(irst), M(iddle), L(ast), O(nly).
REQUESTS = {
    0x00: (SEND, 0, "F"), 0x01: (SEND, 0, "M"), 0x02: (SEND, 0, "L"), 0x03: (SEND, 4, "L"),
    0x04: (SEND, 0, "O"), 0x05: (SEND, 4, "O"), 0x06: (WRITE, 16, "F"), 0x07: (WRITE, 0, "M"),
    0x08: (WRITE, 0, "L"), 0x09: (WRITE, 4, "L"), 0x0A: (WRITE, 16, "O"), 0x0B: (WRITE, 20, "O"),
    0x0C: (READ, 16, "O"), 0x13: (ATOMIC, 28, "O"), 0x14: (ATOMIC, 28, "O"), 0x15: (OTHER, 0, "O"),
    0x16: (SEND, 4, "L"), 0x17: (SEND, 4, "O"), 0x1C: (OTHER, 20, "O"), 0x1D: (OTHER, 16, "O")}
RESPONSES = {0x0D: 4, 0x0E: 0, 0x0F: 4, 0x10: 4, 0x11: 4, 0x12: 12}
READ_RESPONSES = (0x0D, 0x0E, 0x0F, 0x10)


def number(text):
    return int(text, 0) if text else None


def stops_a_sender(row):
    """Returns whether a PAUSE frame, or a PFC frame for an enabled priority, has a time other than 0."""
    enabled = number(row["macc.cbfc.enbv"]) or 0
    return bool(number(row["macc.pause_time"])) or \
        any(enabled >> n & 1 and number(row[f"macc.cbfc.pause_time.c{n}"]) for n in range(8))


class Packet:
    """A packet with a BTH. Times are in nanoseconds, lengths in bytes."""

    def __init__(self, row, data):
        get = row.__getitem__
        self.row, self.data = row, data
        self.frame, self.time, self.wire = int(get("frame.number")), ns(get("frame.time_epoch")), int(get("frame.len"))
        self.src = get("ip.src") or get("ipv6.src") or get("infiniband.grh.sgid")
        self.dst = get("ip.dst") or get("ipv6.dst") or get("infiniband.grh.dgid")
        self.ip_id, self.sport = get("ip.id"), number(get("udp.srcport"))
        ecn = number(get("ip.dsfield.ecn") or get("ipv6.tclass.ecn") or get("infiniband.grh.tclass"))
        self.ce = ecn is not None and ecn & 3 == 3
        self.opcode, self.qpn = number(get("infiniband.bth.opcode")), number(get("infiniband.bth.destqp"))
        self.psn, pad = number(get("infiniband.bth.psn")), number(get("infiniband.bth.padcnt"))
        self.service, self.op = self.opcode >> 5, self.opcode & 0x1F
        self.syndrome = number(get("infiniband.aeth.syndrome"))
        self.va, self.rkey = number(get("infiniband.reth.va")), number(get("infiniband.reth.r_key"))
        self.length, self.sqpn = number(get("infiniband.reth.dmalen")), number(get("infiniband.deth.srcqp"))
        self.connected = self.service in (RC, UC, XRC)
        self.response = self.service in (RC, XRC) and self.op in RESPONSES
        self.request = self.connected and not self.response and self.op in REQUESTS
        size = int(get("udp.length")) - 8 if get("udp.length") else number(get("infiniband.grh.paylen"))
        around = 16 + (RESPONSES[self.op] if self.response else
                       REQUESTS[self.op][1] if self.op in REQUESTS else 0)
        if self.service == UD:
            around += 8
        if self.service == XRC and not self.response:
            around += 4
        self.payload = max(0, (size or 0) - around - (pad or 0))
        self.kind, _, self.place = REQUESTS.get(self.op, (None, 0, None)) if self.request else (None, 0, None)
        if self.kind == ATOMIC:
            self.length = 8
        self.good = False if len(data) == self.wire and is_short(data) else icrc_good(data)
        self.crc = data[-4:]
        bth = bth_at(data)
        self.fecn, self.becn = (data[bth + 4] >> 7, data[bth + 4] >> 6 & 1) if bth else (0, 0)
        self.key = (self.src, self.dst, self.qpn)


def ns(text):
    seconds, _, part = text.partition(".")
    return int(seconds) * 10 ** 9 + int(part.ljust(9, "0")[:9])


def bth_at(data):
    """Returns the offset of the BTH in an Ethernet frame; None if it is not captured."""
    off = 14
    while data[off - 2:off] in (b"\x81\x00", b"\x88\xa8"):
        off += 4
    off += {"ip4": 28, "ip6": 48, "v1": 40}.get(ETHERTYPES.get(data[off - 2:off]), 1 << 20)
    return off if off + 12 <= len(data) else None


def is_short(data):
    """Returns true if an IPv4 packet is shorter than the length in its header, because a switch trimmed it."""
    off = 18 if data[12:14] == b"\x81\x00" else 14
    return data[off - 2:off] == b"\x08\x00" and off + struct.unpack_from(">H", data, off + 2)[0] > len(data)


class Capture:
    """A capture. `frames`: their number; `packets`: those with a BTH; `pauses`: number of pause frames."""

    def __init__(self, path):
        self.path, self.name = path, os.path.basename(path)
        self.packets, self.pauses, self.frames = [], 0, 0
        self.first_time = self.last_time = None


def frames_of(path, folder):
    """Returns the frames of a capture file as (time, bytes, wire length). editcap converts other formats."""
    with open(path, "rb") as file:
        magic = file.read(4)
    if magic not in capture_variants.FORMATS:
        to = os.path.join(folder, "converted.pcap")
        subprocess.run(["editcap", "-F", "nsecpcap", path, to], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        path = to
    return [(f.time, f.data, f.wire) for f in capture_variants.read(path)]


def read(paths, folder):
    """Returns the captures, from one run of tshark over all of them in one file."""
    joined = os.path.join(folder, "joined.pcap")
    captures, owner = [], []
    with open(joined, "wb") as out:
        out.write(capture_variants.pcap([], capture_variants.ETHERNET))
        for path in paths:
            capture, frames = Capture(path), frames_of(path, folder)
            captures.append(capture)
            capture.frames = len(frames)
            if frames:
                capture.first_time, capture.last_time = min(f[0] for f in frames), max(f[0] for f in frames)
            out.write(capture_variants.pcap(frames, capture_variants.ETHERNET)[24:])
            owner += [(capture, n + 1, f[1]) for n, f in enumerate(frames)]
    command = ["tshark", "-n", "-r", joined, "-Y", "infiniband.bth or macc", "-T", "fields", "-E",
               "separator=/t", "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    for line in out.splitlines():
        row = dict(zip(FIELDS, line.split("\t")))
        capture, frame, data = owner[int(row["frame.number"]) - 1]
        row["frame.number"] = frame
        if row["macc.opcode"]:
            capture.pauses += stops_a_sender(row)
        elif row["infiniband.bth.opcode"]:
            capture.packets.append(Packet(row, data))
    os.unlink(joined)
    return captures
