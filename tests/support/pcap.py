# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Reads the frames of captures, for tests that compare or send them."""
import collections
import struct

# First bytes of a pcap file, with its byte order and its unit of time in nanoseconds
FORMATS = {b"\xd4\xc3\xb2\xa1": ("<", 1000), b"\x4d\x3c\xb2\xa1": ("<", 1), b"\xa1\xb2\xc3\xd4": (">", 1000), b"\xa1\xb2\x3c\x4d": (">", 1)}
SECTION = b"\x0a\x0d\x0d\x0a"  # first bytes of a pcapng file
ENHANCED_PACKET = 6


# A frame of a pcap file: its time in nanoseconds, its captured bytes and its length on the wire
Record = collections.namedtuple("Record", "time data wire")


def frames_in(data):
    """Yields the frames of a pcap file, or of the Enhanced Packet Blocks of a little-endian pcapng file. Ends before a frame
    that is cut, and yields nothing if `data` is neither."""
    if data[:4] == SECTION:
        yield from pcapng_frames(data)
    elif data[:4] in FORMATS:
        yield from (record.data for record in records_in(data))


def records_in(data):
    """Yields the records of a pcap file. Ends before a record that is cut."""
    at, (order, unit) = 24, FORMATS[data[:4]]
    while at + 16 <= len(data):
        seconds, fraction, size, wire = struct.unpack_from(order + "IIII", data, at)
        at += 16 + size
        if at <= len(data):
            yield Record(seconds * 10 ** 9 + fraction * unit, data[at - size:at], wire)


def records_of(path):
    """Returns the records of a pcap file."""
    with open(path, "rb") as file:
        return list(records_in(file.read()))


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
