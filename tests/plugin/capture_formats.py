#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares the plugin with rocedrill check on captures in other formats.

    capture_formats.py --plugins DIR --rocedrill PROGRAM CAPTURE...

The frames of rc-loss-both are written in other file formats, link types and packet forms. Both programs must
find the same RoCE packets, PSNs, ICRC results, times, findings and number of connections. The same holds for
hardware traffic (tests/traces/hardware_traffic.py), complete and damaged.
"""
import collections
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import zlib

from tshark import Sharkd, Tshark, arguments

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../traces"))
import capture_variants  # noqa: E402
import hardware_traffic  # noqa: E402

SAMPLE, FRAMES = "rc-loss-both.pcap", 60
FIELDS = ["frame.number", "roce.bth.psn", "roce.stream", "roce.rule", "roce.icrc.status", "frame.time_epoch"]
ICRC = {"good": "Good", "bad": "Bad"}


# ---- file formats --------------------------------------------------------------------------------

def pcap(frames, link=1, order="<", magic=0xA1B23C4D, unit=1, extra=0, snaplen=262144):
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for time, data, wire in frames:
        out.append(struct.pack(order + "IIII", time // 10 ** 9, time % 10 ** 9 // unit, len(data), wire) + bytes(extra) + data)
    return b"".join(out)


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def option(code, value, order="<"):
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order="<"):
    return block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order)


def interface(resolution, offset=0, link=1, snaplen=0, order="<"):
    return block(1, struct.pack(order + "HHI", link, 0, snaplen) + option(9, bytes([resolution]), order)
                 + option(14, struct.pack(order + "q", offset), order) + option(0, b"", order), order)


def packet(frame, resolution, offset=0, number=0, order="<", options=b""):
    time, data, wire = frame
    time -= offset * 10 ** 9
    ticks = time * (1 << (resolution & 0x7F)) // 10 ** 9 if resolution & 0x80 else time * 10 ** resolution // 10 ** 9
    return block(6, struct.pack(order + "IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), wire)
                 + data + bytes(-len(data) % 4) + options, order)


def resolved(resolution, offset=0):
    return lambda frames: (section() + interface(resolution, offset)
                           + b"".join(packet(frame, resolution, offset) for frame in frames))


def several(frames):
    """Returns a file with three interfaces, one with a snap length, and a fourth interface with another link
    type and no packets."""
    kinds = [6, 9, 0x8A]
    cut = [(time, data[:96] if at % 3 == 2 else data, wire) for at, (time, data, wire) in enumerate(frames)]
    return (section() + b"".join(interface(kind, snaplen=96 if kind == 0x8A else 0) for kind in kinds)
            + interface(6, link=105) + b"".join(packet(frame, kinds[at % 3], 0, at % 3) for at, frame in enumerate(cut)))


def sections(frames):
    """Returns a file with four sections in both byte orders."""
    out = b""
    for at in range(4):
        order, kind = "<>"[at % 2], (9, 6, 0x9E, 9)[at]
        part = frames[at * len(frames) // 4:(at + 1) * len(frames) // 4]
        out += section(order) + interface(kind, order=order) + b"".join(packet(f, kind, order=order) for f in part)
    return out


def decorated(frames):
    """Returns a file with names, secrets, statistics, comments, and blocks of unknown types."""
    more = (block(4, struct.pack("<HH", 1, 9) + bytes([192, 0, 2, 1]) + b"host\0" + bytes(3) + struct.pack("<HH", 0, 0))
            + block(10, struct.pack("<II", 0x544C534B, 8) + b"CLIENT_R") + block(0x7777, b"unknown!"))
    note = option(1, b"a comment") + option(2, bytes(4)) + option(0, b"")
    return (section() + more + interface(9) + more + b"".join(packet(f, 9, options=note) for f in frames)
            + block(5, struct.pack("<III", 0, 0, 0) + option(0, b"")))


def simple(frames):
    """Returns a file of Simple Packet Blocks, which have no time and are truncated to the interface's snap
    length."""
    return section() + interface(9, snaplen=96) + b"".join(
        block(3, struct.pack("<I", len(data)) + data[:96]) for _, data, _ in frames)


def obsolete(frames):
    return section() + interface(6) + b"".join(
        block(2, struct.pack("<HHIIII", 0, 0xFFFF, time // 1000 >> 32, time // 1000 & 0xFFFFFFFF, len(data), wire) + data)
        for time, data, wire in frames)


def members(frames):
    data = pcap(frames)
    return gzip.compress(data[:1000]) + gzip.compress(data[1000:])


# ---- packets -------------------------------------------------------------------------------------

def summed(ip):
    """Returns an IPv4 header with a correct checksum."""
    ip = ip[:10] + b"\0\0" + ip[12:]
    total = sum(struct.unpack(f">{len(ip) // 2}H", ip))
    total = (total & 0xFFFF) + (total >> 16)
    return ip[:10] + struct.pack(">H", 0xFFFF - (total & 0xFFFF) - (total >> 16)) + ip[12:]


def tagged(*tags):
    return lambda data: data[:12] + b"".join(struct.pack(">HH", *tag) for tag in tags) + data[12:]


def with_ip_options(data):
    """Adds four bytes of IP options and computes the ICRC again."""
    size = struct.unpack_from(">H", data, 16)[0]
    ip = summed(b"\x46" + data[15:16] + struct.pack(">H", size + 4) + data[18:34] + b"\x94\4\0\0")
    udp, transport = data[34:42], data[42:14 + size - 4]
    masked = bytearray(ip)
    masked[1] = masked[8] = 0xFF
    masked[10:12] = b"\xFF\xFF"
    crc = zlib.crc32(b"\xFF" * 8 + bytes(masked) + udp[:6] + b"\xFF\xFF" + capture_variants.bth_masked(transport))
    return data[:14] + ip + udp + transport + struct.pack("<I", crc)


def ip6(data):
    return capture_variants.as_ip6(capture_variants.Frame(0, data, len(data)), 0)


def with_ip6_extension(kind, header):
    def change(data):
        data = ip6(data)
        size = struct.unpack_from(">H", data, 18)[0] + len(header)
        return data[:18] + struct.pack(">HB", size, kind) + data[21:54] + header + data[54:]
    return change


def with_udp_length(delta):
    return lambda data: data[:38] + struct.pack(">H", struct.unpack_from(">H", data, 38)[0] + delta) + data[40:]


def natted(data):
    """Changes the source address as a NAT does: the ICRC becomes wrong."""
    return data[:14] + summed(data[14:26] + b"\xC6\x33\x64\x07" + data[30:34]) + data[34:]


def erf(kind, extensions=()):
    """Wraps the frame in an ERF record with the time of the pcap record."""
    def change(time, data):
        more = b"".join(bytes([extension]) + bytes(7) for extension in extensions)
        body = more + bytes(2) + data
        size = (16 + len(body) + 7) & ~7
        stamp = time // 10 ** 9 << 32 | (time % 10 ** 9 * 2 ** 32 + 10 ** 9 - 1) // 10 ** 9
        return (struct.pack("<Q", stamp) + struct.pack(">BBHHH", kind | (0x80 if extensions else 0), 4, size, 0, len(data))
                + body).ljust(size, b"\0")
    return change


PACKETS = {
    "null": (0, lambda data: struct.pack("<I", 2) + data[14:]), "null, big-endian": (0, lambda data: struct.pack(">I", 2) + data[14:]),
    "null, IPv6": (0, lambda data: struct.pack("<I", 30) + ip6(data)[14:]), "loop": (108, lambda data: struct.pack(">I", 2) + data[14:]),
    "raw 12": (12, lambda data: data[14:]), "IPv4": (228, lambda data: data[14:]), "IPv6": (229, lambda data: ip6(data)[14:]),
    "priority tag": (1, tagged((0x8100, 0x6000))), "three tags": (1, tagged((0x88A8, 5), (0x8100, 6), (0x8100, 7))),
    "an unknown tag": (1, tagged((0x9200, 5))), "MACsec": (1, lambda data: data[:12] + b"\x88\xE5\x2C\0\0\0\0\1" + bytes(8) + data[12:] + bytes(16)),
    "IP options": (1, with_ip_options), "hop by hop": (1, with_ip6_extension(0, b"\x11\0\5\2\0\0\1\0")),
    "destination options": (1, with_ip6_extension(60, b"\x11\0\1\4\0\0\0\0")), "routing header": (1, with_ip6_extension(43, b"\x11" + bytes(7))),
    "atomic fragment": (1, with_ip6_extension(44, b"\x11\0\0\0\0\0\0\1")),
    "UDP 4 shorter": (1, with_udp_length(-4)), "UDP 4 longer": (1, with_udp_length(4)), "UDP 100 longer": (1, with_udp_length(100)),
    "UDP checksum": (1, lambda data: data[:40] + b"\x12\x34" + data[42:]), "IP length 0": (1, lambda data: data[:16] + b"\0\0" + data[18:]),
    "padding": (1, lambda data: data + bytes(18)), "frame check sequence": (1, lambda data: data + b"\1\2\3\4"),
    "frame check sequence declared in the file header": (0x24000001, lambda data: data + b"\1\2\3\4"),
    "NAT": (1, natted), "one host": (1, lambda data: data[:26] + data[30:34] + data[30:]),
    "cut before the UDP header's end": (1, lambda data: data[:38]), "cut in the BTH": (1, lambda data: data[:50]),
    "cut after the BTH": (1, lambda data: data[:54]), "cut in the ICRC": (1, lambda data: data[:-2]),
}
PACKETS |= {f"source port {port}": (1, lambda data, port=port: data[:34] + struct.pack(">H", port) + data[36:])
            for port in (0, 53, 69, 319, 1812, 4789, 4791, 5353, 6081)}
FILES = {
    "seconds": resolved(0), "milliseconds": resolved(3), "microseconds": resolved(6), "nanoseconds": resolved(9),
    "2^-10 s": resolved(0x8A), "2^-20 s": resolved(0x94), "2^-30 s": resolved(0x9E), "2^-32 s": resolved(0xA0),
    "offset": resolved(6, 1000000), "negative offset": resolved(0x94, -5), "several interfaces": several,
    "sections of both byte orders": sections, "decorated": decorated, "simple packets": simple, "obsolete packets": obsolete,
    "pcap, big-endian": lambda frames: pcap(frames, order=">"), "pcap of microseconds": lambda frames: pcap(frames, magic=0xA1B2C3D4, unit=1000),
    "modified pcap": lambda frames: pcap(frames, magic=0xA1B2CD34, unit=1000, extra=8),
    "snaplen 0": lambda frames: pcap(frames, snaplen=0), "cut to 96": lambda frames: pcap([(t, d[:96], w) for t, d, w in frames], snaplen=96),
    "wire length 0": lambda frames: pcap([(t, d, 0) for t, d, _ in frames]), "no time": lambda frames: pcap([(0, d, w) for _, d, w in frames]),
    "backwards": lambda frames: pcap(frames[::-1]), "ends in a packet": lambda frames: pcap(frames)[:-5],
    "ends in a record": lambda frames: pcap(frames) + bytes(9), "garbage": lambda frames: pcap(frames) + b"\xFF" * 16 + bytes(100),
    "gzip": lambda frames: gzip.compress(pcap(frames)), "gzip of two members": members,
    "gzip that ends early": lambda frames: gzip.compress(pcap(frames))[:-300],
}


def made(frames):
    """Returns {name: file content}."""
    files = {name: make(frames) for name, make in FILES.items()}
    for name, (link, change) in PACKETS.items():
        files[name] = pcap([(time, new, len(new) + (wire - len(data) if name[:3] != "cut" else len(data) - len(new)))
                            for time, data, wire in frames for new in [change(data)]], link)
    for name, change in (("ERF", erf(2)), ("ERF with extensions", erf(2, (0x83, 4))), ("ERF of another colour", erf(11))):
        files[name] = pcap([(time, new, len(new)) for time, data, _ in frames for new in [change(time, data)]], 197)
    return files


def of_hardware():
    """Returns {name: file content}: each behaviour complete, and with one kind of damage."""
    rng, files = random.Random(11), {}
    for at, (name, row) in enumerate(hardware_traffic.ROWS.items()):
        frames = hardware_traffic.build(row)[:400]
        ways = list(hardware_traffic.damaged(frames, rng))
        way, data = ways[at % len(ways)]
        files[name] = hardware_traffic.pcap(frames)
        files[f"{name}, {way}"] = data
    return files


# ---- comparing -----------------------------------------------------------------------------------

def ns_of(text):
    whole, _, part = text.partition(".")
    return int(whole) * 10 ** 9 + int(part.ljust(9, "0")[:9])


def of_plugin(sharkd, path):
    """Returns {frame: values of FIELDS}. Wireshark may stop early at a damaged file."""
    return {int(row[0]): row[1:] for row in sharkd.rows(path, FIELDS)}


def of_program(program, path):
    """Returns {frame: (PSN, ICRC, time)}, findings, number of connections, exit status."""
    def run(verb):
        done = subprocess.run([program, verb, "--json", "-", path], capture_output=True, text=True, timeout=60)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]
    packets = {}
    for item in run("decode")[1]:
        bth = [header["fields"] for header in item.get("headers", []) if header["header"] == "bth"]
        if bth:
            packets[item["frame"]] = (str(bth[0]["psn"]), ICRC.get(item["icrc"], "Unverified"), item["time_ns"])
    status, lines = run("check")
    found = collections.Counter((line["frame"], line["rule"]) for line in lines if line["type"] == "finding")
    return packets, found, sum(line["type"] == "connection" for line in lines), status


def differences(sharkd, program, path):
    rows = of_plugin(sharkd, path)
    packets, found, connections, status = of_program(program, path)
    mine = {frame: row for frame, row in rows.items() if row[0]}
    wrong = []
    if mine.keys() != packets.keys():
        wrong.append(f"RoCE packets: {len(mine)} in the plugin, {len(packets)} in the program")
    for frame in sorted(mine.keys() & packets.keys()):
        psn, icrc, time = packets[frame]
        if mine[frame][0] != psn or mine[frame][3] != icrc or (mine[frame][4] and ns_of(mine[frame][4]) != time):
            wrong.append(f"frame {frame}: {mine[frame]} and {packets[frame]}")
    said = collections.Counter((frame, rule) for frame, row in rows.items() for rule in row[2].split(",") if rule)
    if said != found:
        wrong.append(f"found by the plugin alone {list(said - found)[:3]}, by the program alone {list(found - said)[:3]}")
    streams = len({row[1] for row in mine.values() if row[1]})
    if streams != connections:
        wrong.append(f"{streams} streams, {connections} connections")
    if status not in (0, 1, 2) or (not packets and status == 1):
        wrong.append(f"exit status {status}")
    return wrong[:4], len(mine)


def main():
    args = arguments()
    sample = next(path for path in args.captures if os.path.basename(path) == SAMPLE)
    frames = [(f.time, f.data, f.wire) for f in capture_variants.read(sample)][:FRAMES]
    failures = packets = 0
    files = made(frames) | of_hardware()
    with Tshark(args.plugins) as shark, Sharkd(shark) as sharkd:
        for name, data in files.items():
            wrong, count = differences(sharkd, args.rocedrill, shark.file("outside.cap", data))
            packets += count
            failures += bool(wrong)
            for line in wrong:
                print(f"{name}: {line}")
    print(f"{len(files)} captures, {packets} packets, {failures} captures differ")
    return 1 if failures or packets < 20 * FRAMES else 0


if __name__ == "__main__":
    sys.exit(main())
