#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Writes the frames of an Ethernet pcap file in other envelopes: as cooked frames (the file of tcpdump -i any), and in a
VXLAN tunnel.

    wrap.py IN COOKED VXLAN"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../support"))
from pcap import records_of  # noqa: E402

VXLAN_PORT = 4789
LINKTYPE_ETHERNET, LINKTYPE_SLL = 1, 113


def write(path, linktype, like, wrapped):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, linktype))
        for record in records_of(like):
            frame = wrapped(record.data)
            out.write(struct.pack("<IIII", *divmod(record.time, 10 ** 9), len(frame), len(frame)) + frame)


def cooked(frame):
    return struct.pack(">HHH", 0, 1, 6) + frame[6:12] + b"\0\0" + frame[12:]


def vxlan(frame):
    udp = struct.pack(">HHHH", 50000, VXLAN_PORT, 16 + len(frame), 0) + struct.pack(">II", 1 << 27, 77 << 8) + frame
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0x4000, 64, 17, 0, bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2]))
    total = sum(struct.unpack(">10H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    ip = ip[:10] + struct.pack(">H", 0xFFFF ^ ((total & 0xFFFF) + (total >> 16))) + ip[12:]
    return bytes.fromhex("0200000000020200000000010800") + ip + udp


write(sys.argv[2], LINKTYPE_SLL, sys.argv[1], cooked)
write(sys.argv[3], LINKTYPE_ETHERNET, sys.argv[1], vxlan)
