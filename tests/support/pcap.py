# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Reads the frames of captures, for tests that compare or send them."""
import struct

ORDERS = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
SECTION = b"\x0a\x0d\x0d\x0a"  # first bytes of a pcapng file
ENHANCED_PACKET = 6


def frames_in(data):
    """Yields the frames of a pcap file, or of the Enhanced Packet Blocks of a little-endian pcapng file. Ends before a frame
    that is cut, and yields nothing if `data` is neither."""
    if data[:4] == SECTION:
        yield from pcapng_frames(data)
    at, order = 24, ORDERS.get(data[:4], "")
    while order and at + 16 <= len(data):
        size = struct.unpack_from(order + "I", data, at + 8)[0]
        at += 16 + size
        if at <= len(data):
            yield data[at - size:at]


def pcapng_frames(data):
    at = 0
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == ENHANCED_PACKET and at + size <= len(data):
            yield data[at + 28:at + 28 + struct.unpack_from("<I", data, at + 20)[0]]
        at += max(size, 12)


def frames_of(path):
    """Returns the frames of a capture file."""
    with open(path, "rb") as file:
        return list(frames_in(file.read()))
