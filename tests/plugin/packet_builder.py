# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Builds packets and small captures for the tests of tests/plugin."""
import struct
import zlib

HOSTS = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
GIDS = [bytes(10) + b"\xff\xff" + host for host in HOSTS]


def bth(opcode, qpn, psn, pad=0, byte4=0, ackreq=0):
    return struct.pack(">BBHBBHBBHI", opcode, pad << 4, 0xFFFF, byte4, qpn >> 16, qpn & 0xFFFF,
                       0, 0, 0, 0)[:8] + struct.pack(">I", ackreq << 31 | psn)


def sealed(masked, transport):
    """Returns the transport part with its ICRC. `masked`: the IP and UDP headers with variant fields set to ones."""
    covered = b"\xff" * 8 + masked + transport[:4] + b"\xff" + transport[5:]
    return transport + struct.pack("<I", zlib.crc32(covered))


def eth(ethertype, src=0):
    return bytes([2, 0, 0, 0, 0, 2 - src, 2, 0, 0, 0, 0, 1 + src]) + struct.pack(">H", ethertype)


def roce(transport, src=0, sport=0xC000, ecn=0, hosts=HOSTS, ident=1):
    """Returns a RoCEv2 frame over IPv4 from host `src` to the other host."""
    def ip(tos, ttl, checksum):
        return struct.pack(">BBHHHBBH", 0x45, tos, 32 + len(transport), ident, 0x4000, ttl, 17,
                           checksum) + hosts[src] + hosts[1 - src]
    total = sum(struct.unpack(">10H", ip(ecn, 64, 0)))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    udp = struct.pack(">HHH", sport, 4791, 12 + len(transport))
    body = sealed(ip(0xFF, 0xFF, 0xFFFF) + udp + b"\xff\xff", transport)
    return eth(0x0800, src) + ip(ecn, 64, 0xFFFF - total) + udp + b"\0\0" + body


def roce6(transport, src=0, gids=GIDS):
    """Returns a RoCEv2 frame over IPv6 from host `src` to the other host."""
    udp = struct.pack(">HHH", 0xC000, 4791, 12 + len(transport))

    def ip(first, hops):
        return struct.pack(">IHBB", first, 12 + len(transport), 17, hops) + gids[src] + gids[1 - src]
    body = sealed(ip(0x6FFFFFFF, 0xFF) + udp + b"\xff\xff", transport)
    return eth(0x86DD, src) + ip(0x60000000, 64) + udp + b"\0\0" + body


def extended(frame):
    """Returns the IPv6 frame with a destination options header that contains padding."""
    size, upper = struct.unpack_from(">HB", frame, 18)
    return frame[:18] + struct.pack(">HB", size + 8, 60) + frame[21:54] + bytes([upper, 0, 1, 4, 0, 0, 0, 0]) + frame[54:]


def grh(transport, first, masked=False):
    first, hops = (0x6FFFFFFF, 0xFF) if masked else (first, 64)
    return struct.pack(">IHBB", first, len(transport) + 4, 0x1B, hops) + b"".join(GIDS)


def rocev1(transport, tclass=0, flow=0):
    first = 6 << 28 | tclass << 20 | flow
    return eth(0x8915) + grh(transport, first) + sealed(grh(transport, first, True), transport)


def native(transport, vl=0, sl=0):
    """Returns an ERF record with a local InfiniBand packet from LID 7 to LID 9. Its VCRC is 0."""
    words = (8 + len(transport) + 4) // 4
    lrh = struct.pack(">BBHHH", vl << 4, sl << 4 | 2, 9, words, 7)
    crc = zlib.crc32(b"\xf0" + lrh[1:] + transport[:4] + b"\xff" + transport[5:])
    return erf(lrh + transport + struct.pack("<I", crc) + bytes(2))


def erf(packet):
    """Returns an ERF record of an InfiniBand link."""
    return bytes(8) + struct.pack(">BBHHH", 21, 4, 16 + len(packet), 0, len(packet)) + packet


def fragments(frame, at):
    """Returns the IPv4 frame as two fragments; the second starts at byte `at` of the IP payload."""
    def part(body, place):
        head = frame[14:16] + struct.pack(">H", 20 + len(body)) + frame[18:20] + struct.pack(">H", place)
        return frame[:14] + head + frame[22:24] + bytes(2) + frame[26:34] + body
    return [part(frame[34:34 + at], 0x2000), part(frame[34 + at:], at // 8)]


def tagged(frame, vid=5):
    """Returns the frame with a VLAN tag."""
    return frame[:12] + struct.pack(">HH", 0x8100, vid) + frame[12:]


def vxlan(frame, src=0, vni=7):
    """Returns the frame in a VXLAN tunnel (RFC 7348) from host `src` to the other host."""
    body = struct.pack(">II", 1 << 27, vni << 8) + frame
    udp = struct.pack(">HHHH", 0xC000, 4789, 8 + len(body), 0)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(body), 1, 0x4000, 64, 17, 0) + HOSTS[src] + HOSTS[1 - src]
    return eth(0x0800, src) + head + udp + body


def reth(va, rkey, length):
    return struct.pack(">QII", va, rkey, length)


def mad(datagram, src=0):
    """Returns a frame with a MAD from host `src` to QP1 of the other host."""
    return roce(bth(0x64, 1, 5) + struct.pack(">II", 0x80010000, 1) + datagram, src)


def cm(attribute, body, src=0):
    """Returns a frame with a CM MAD from host `src`. `body`: {offset: bytes}."""
    data = bytearray(232)
    for offset, piece in body.items():
        data[offset:offset + len(piece)] = piece
    return mad(struct.pack(">BBBBHHQHHI", 1, 7, 2, 3, 0, 0, 0x1234, attribute, 0, 0) + bytes(data), src)


def req(port, active=0x11, psn=100, comm=100):
    """Returns the REQ of host 0 for the IP CM service. `psn`: first PSN of host 1."""
    path = struct.pack(">HH", 0xFFFF, 0xFFFF) + GIDS[0] + GIDS[1]
    ip = b"\x00\x40" + struct.pack(">H", 40000) + bytes(12) + HOSTS[0] + bytes(12) + HOSTS[1]
    return cm(0x10, {0: struct.pack(">I", comm), 8: struct.pack(">Q", 0x0000000001060000 | port),
                     32: struct.pack(">I", active << 8 | 4), 36: struct.pack(">I", 4),
                     44: struct.pack(">I", psn << 8), 48: b"\xff\xff\x30\x00", 52: path, 140: ip})


def rep(passive=0x22, psn=500, comm=200, answers=100):
    """Returns the REP of host 1. `psn`: first PSN of host 0; `answers`: communication id of the REQ."""
    return cm(0x13, {0: struct.pack(">II", comm, answers), 12: struct.pack(">I", passive << 8),
                     20: struct.pack(">I", psn << 8), 24: b"\x04\x04"}, 1)


def connect(port, active=0x11, passive=0x22, psn=(500, 100)):
    """Returns REQ, REP and RTU of the IP CM service. `psn`: first PSNs of host 0 and host 1."""
    return [req(port, active, psn[1]), rep(passive, psn[0]), cm(0x14, {0: struct.pack(">II", 100, 200)})]


def pcap(frames, linktype=1, snaplen=65535, seconds=(), missing=()):
    """Returns a pcap file. Frames are 1 ms apart, or at the times `seconds`. `missing`: truncated bytes of
    each frame."""
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, snaplen, linktype)
    for number, frame in enumerate(frames):
        usec = int(seconds[number] * 1000000) if seconds else number * 1000
        out += struct.pack("<IIII", 1 + usec // 1000000, usec % 1000000, min(len(frame), snaplen),
                           len(frame) + (missing[number] if missing else 0))
        out += frame[:snaplen]
    return out


def aeth(msn, syndrome=0x1F):
    return struct.pack(">I", syndrome << 24 | msn)
