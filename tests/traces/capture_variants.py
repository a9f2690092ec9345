#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Converts captures into variants and compares what rocedrill check reports for them.

    capture_variants.py --rocedrill PROGRAM [--seed N] [--keep DIR] CAPTURE...

Captures are pcap files of RoCEv2 over IPv4 and Ethernet. This script uses nothing of our codec. Variants:

  same bytes     VLAN, QinQ, Linux cooked v1 and v2, raw IP, ERF, pcapng, big-endian pcap, gzip, tunnels
                 (VXLAN, GENEVE, GRE, ERSPAN, MPLS, one in another): every finding and every connection
                 must be the same as in the original
  other network  IPv6, RoCEv1, native InfiniBand, with recomputed ICRCs: the same findings. IPv6 has no
                 identification, and RoCEv1 and InfiniBand have no UDP source port. So copies and QP
                 pairs are detected less reliably, and a finding may have a lower severity
  two captures   one after the other, at the same time with other hosts, and at the same time with one
                 host in common: the findings of both. If packets are missing in one, findings that
                 depend on QP reuse may differ. If one continues for longer, it may show that a requester
                 of the other gave up
  less           truncated to 64, 96 and 128 bytes, one direction, a late start, 1 to 20 % of the frames
                 missing: no ERROR that the original does not have
  snap length    truncated to 384 bytes, and without CM messages to 96: the same connections, failures and
                 findings (replay/docs/capture.md). An error may be a warning, because damage is not
                 excluded. Captures with wrong ICRCs are left out

Exit status 1 if anything differs, 2 if nothing was compared.
"""
import argparse
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pcap import FORMATS, records_in  # noqa: E402
from seed import add_seed_option  # noqa: E402

ETHERNET, RAW, SLL, ERF, IB, SLL2 = 1, 101, 113, 197, 247, 276
MAPPED = bytes(10) + b"\xff\xff"
FD00 = b"\xfd" + bytes(11)
FF0E = b"\xff\x0e" + bytes(10)
# Rules about the headers before the BTH. Their findings differ between networks (Ethernet, InfiniBand, tunnels).
NETWORK = ("ALL-NET-", "UD-REQ-176", "ALL-RSP-048")
ECN = ("ALL-OBS-311", "ALL-CC-215")    # ECN is in the IP header; a GRH has no ECN
MIGREQ = ("ALL-FMT-044",)              # check does not report MigReq in datagrams on InfiniBand

# LACKS: findings about missing packets.
# REUSE: findings about requests that may belong to an earlier or later connection of the same QPs (ALL-OBS-308). If packets
# are missing, it is less certain to which connection a request belongs.
LACKS = ("ALL-PSN-057", "RC-REQ-137", "RC-REQ-139", "RC-REQ-140")
REUSE = ("ALL-OBS-308", "RC-REQ-149", "RC-REQ-150", "RC-REQ-152", "RC-REQ-153", "RC-REQ-154")
# COPIES: findings that depend on the IPv4 identification: copies (ALL-OBS-301), and findings about packets that are not
# recognised as copies, or as reordered (RC-REQ-140), if the identification is missing.
COPIES = ("ALL-OBS-301", "RC-REQ-140", "RC-OBS-302", "RC-OBS-303", "RC-OBS-307", "RC-OBS-313", "RC-REQ-144",
          "RC-REQ-149", "RC-REQ-152", "RC-REQ-161", "RC-RSP-112", "RC-RSP-099", "RC-REQ-150",
          "RC-REQ-153", "RC-REQ-154", "RC-OBS-309", "RC-OBS-317", "RC-OBS-322", "ALL-OBS-308", "RC-REQ-157")


# A request has no response. OPEN: finding if the capture ends soon afterwards. GAVE_UP: findings if the capture is longer.
OPEN, GAVE_UP = "ALL-INV-248", ("RC-OBS-314", "RC-OBS-315")


class Frame:
    """A frame of the original, parsed if it is RoCEv2 over IPv4."""

    def __init__(self, time, data, wire):
        self.time, self.data, self.wire = time, data, wire
        off = 12
        while data[off:off + 2] in (b"\x81\x00", b"\x88\xa8"):
            off += 4
        self.type, self.net = data[off:off + 2], off + 2
        ip = data[self.net:]
        self.roce = (self.type == b"\x08\x00" and len(ip) >= 28 and ip[0] == 0x45 and
                     ip[9] == 17 and ip[22:24] == b"\x12\xb7" and len(data) == wire and
                     len(ip) >= struct.unpack_from(">H", ip, 2)[0] >= 44)
        if not self.roce:
            return
        ip = ip[:struct.unpack_from(">H", ip, 2)[0]]
        self.ip, self.src, self.dst = ip, ip[12:16], ip[16:20]
        self.udp, self.ib = ip[20:28], ip[28:-4]
        self.good = icrc(ip4_masked(ip[:28]) + bth_masked(self.ib)) == ip[-4:]

    def key(self):
        return (self.src, self.dst) if self.roce else None


def ip4_masked(ip):
    p = bytearray(ip)
    p[1] = p[8] = 0xFF
    p[10:12] = p[26:28] = b"\xff\xff"
    return bytes(p)


def ip6_masked(ip):
    return b"\x6f\xff\xff\xff" + ip[4:7] + b"\xff" + ip[8:40]


def bth_masked(ib):
    return ib[:4] + b"\xff" + ib[5:]


def icrc(data):
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + data))


def closed(f, covered, ib):
    """Appends the ICRC; it is wrong if the original one was."""
    crc = icrc(covered + bth_masked(ib))
    return ib + (crc if f.good else bytes(b ^ 0x5A for b in crc))


# ---- the same bytes in other links ---------------------------------------------------------------

def as_is(f, n):
    return f.data


def as_vlan(f, n):
    return f.data[:12] + b"\x81\x00\x60\x2a" + f.data[12:]


def as_qinq(f, n):
    return f.data[:12] + b"\x88\xa8\x00\x64\x81\x00\x20\x07" + f.data[12:]


def as_sll(f, n):
    return (b"\x00\x04\x00\x01\x00\x06" + f.data[6:12] + b"\x00\x00" + f.type + f.data[f.net:])


def as_sll2(f, n):
    return (f.type + b"\x00\x00\x00\x00\x00\x03\x00\x01\x04\x06" + f.data[6:12] + b"\x00\x00" +
            f.data[f.net:])


def as_raw(f, n):
    if f.type in (b"\x08\x00", b"\x86\xdd"):
        return f.data[f.net:]
    return b"\x45\x00\x00\x1c" + bytes(5) + b"\x11" + bytes(18)    # an IPv4 packet that is not RoCE


def as_erf(f, n):
    time = (f.time // 10 ** 9 << 32) | (f.time % 10 ** 9 * 2 ** 32 + 10 ** 9 - 1) // 10 ** 9
    size = (16 + 2 + len(f.data) + 7) & ~7
    return (struct.pack("<Q", time) + struct.pack(">BBHHH", 2, 4, size, 0, f.wire) + b"\x00\x00" +
            f.data).ljust(size, b"\x00")


# ---- tunnels -------------------------------------------------------------------------------------

def outer(proto, data):
    """Returns an Ethernet frame with an IPv4 packet between other hosts."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(data), 1, 0, 64, proto, 0) + bytes(
        [10, 9, 0, 1, 10, 9, 0, 2])
    words = sum(struct.unpack(">10H", ip))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return (b"\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02\x08\x00" + ip[:10] +
            struct.pack(">H", 0xFFFF - words) + ip[12:] + data)


def outer_udp(port, data):
    return outer(17, struct.pack(">HHHH", 50000, port, 8 + len(data), 0) + data)


def as_old_qinq(f, n):
    return f.data[:12] + b"\x91\x00\x00\x64\x91\x00\x20\x07" + f.data[12:]


def as_vxlan(f, n):
    return outer_udp(4789, b"\x08\x00\x00\x00\x00\x00\x2a\x00" + f.data)


def as_geneve(f, n):
    return outer_udp(6081, b"\x01\x00\x65\x58\x00\x00\x2a\x00" + bytes(4) + f.data)


def as_erspan(f, n):
    return outer(47, struct.pack(">HHIII", 0x1000, 0x88BE, n, 0x1000000A, 0) + f.data)


def as_erspan3(f, n):
    return outer(47, struct.pack(">HHIIII", 0x1000, 0x22EB, n, 0x2000000A, 0, 1) + bytes(8) +
                 f.data)


def as_gre(f, n):
    return outer(47, b"\x00\x00" + f.type + f.data[f.net:])


def as_mpls(f, n):
    return f.data[:12] + b"\x88\x47\x00\x01\x00\x40\x00\x02\x01\x40" + as_raw(f, n)


def as_nested(f, n):
    return as_erspan(Frame(f.time, as_vxlan(f, n), 0), n)


# ---- another network -----------------------------------------------------------------------------

def gid(addr, prefix):
    return (FF0E if prefix is FD00 and addr[0] & 0xF0 == 0xE0 else prefix) + addr


def as_ip6(f, n):
    if not f.roce:
        return f.data
    mac = b"\x33\x33" + f.dst if f.dst[0] & 0xF0 == 0xE0 else f.data[:6]
    ib = cm_as_ip6(f.ib)
    ip = (struct.pack(">IHBB", 6 << 28 | f.ip[1] << 20, 8 + len(ib) + 4, 17, f.ip[8]) +
          gid(f.src, FD00) + gid(f.dst, FD00))
    udp = f.udp[:4] + struct.pack(">H", 8 + len(ib) + 4) + b"\x00\x00"
    masked = ip6_masked(ip) + udp[:6] + b"\xff\xff"
    return mac + f.data[6:12] + b"\x86\xdd" + ip + udp + closed(f, masked, ib)


def rdmaip(ib):
    """Returns the offset of the IP CM service's addresses (Annex A11) in a REQ or SIDR_REQ, or 0."""
    if ib[0] != 0x64 or len(ib) != 20 + 256 or ib[21] != 7 or ib[5:8] != b"\x00\x00\x01":
        return 0
    attr = struct.unpack_from(">H", ib, 20 + 16)[0]
    at, service = {0x10: (20 + 164, 20 + 32), 0x17: (20 + 40, 20 + 32)}.get(attr, (0, 0))
    return at if at and ib[service:service + 5] == b"\x00\x00\x00\x00\x01" else 0


def cm_as_ip6(ib):
    at = rdmaip(ib)
    if not at:
        return ib
    return (ib[:at + 1] + b"\x60" + ib[at + 2:at + 4] + FD00 + ib[at + 16:at + 20] + FD00 +
            ib[at + 32:at + 36] + ib[at + 36:])


def grh(f):
    return (struct.pack(">IHBB", 6 << 28 | f.ip[1] << 20, len(f.ib) + 4, 0x1B, f.ip[8]) +
            gid(f.src, MAPPED) + gid(f.dst, MAPPED))


def as_v1(f, n):
    if not f.roce:
        return f.data
    head = grh(f)
    return f.data[:12] + b"\x89\x15" + head + closed(f, ip6_masked(head), f.ib)


def as_ib(f, n):
    if not f.roce:
        return b"\x00\x00" + b"\x00\x01\x00\x06\x00\x02" + bytes(16)    # LNH 0: raw, not IBA
    head = grh(f)
    words = (8 + 40 + len(f.ib) + 4) // 4
    lrh = struct.pack(">BBHHH", 0, 3, struct.unpack(">H", f.dst[2:])[0], words,
                      struct.unpack(">H", f.src[2:])[0])
    return lrh + head + closed(f, ip6_masked(head), f.ib) + b"\x00\x00"


# ---- files ---------------------------------------------------------------------------------------

def read(path):
    with open(path, "rb") as f:
        data = f.read()
    if struct.unpack_from(FORMATS[data[:4]][0] + "I", data, 20)[0] != ETHERNET:
        raise ValueError(path + ": not Ethernet")
    return [Frame(*record) for record in records_in(data)]


def pcap(frames, link, order="<"):
    """Returns a pcap file. Frames are (time, bytes, wire length)."""
    out = [struct.pack(order + "IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, link)]
    for time, data, wire in frames:
        out.append(struct.pack(order + "IIII", time // 10 ** 9, time % 10 ** 9, len(data), wire))
        out.append(data)
    return b"".join(out)


def pcap_be(frames, link):
    return pcap(frames, link, ">")


def block(kind, body):
    body += bytes(-len(body) % 4)
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def pcapng(frames, link):
    out = [block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)),
           block(1, struct.pack("<HHIHHBxxxI", link, 0, 0, 9, 1, 9, 0))]
    for time, data, wire in frames:
        out.append(block(6, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(data),
                                        wire) + data))
    return b"".join(out)


def pcap_gz(frames, link):
    return gzip.compress(pcap(frames, link), 1)


SAME = {"vlan": (as_vlan, ETHERNET, pcap), "qinq": (as_qinq, ETHERNET, pcap),
        "sll": (as_sll, SLL, pcap), "sll2": (as_sll2, SLL2, pcap), "raw": (as_raw, RAW, pcap),
        "erf": (as_erf, ERF, pcap), "pcapng": (as_is, ETHERNET, pcapng),
        "big-endian": (as_is, ETHERNET, pcap_be), "gzip": (as_is, ETHERNET, pcap_gz),
        "old QinQ": (as_old_qinq, ETHERNET, pcap), "VXLAN": (as_vxlan, ETHERNET, pcap),
        "GENEVE": (as_geneve, ETHERNET, pcap), "ERSPAN": (as_erspan, ETHERNET, pcap),
        "ERSPAN III": (as_erspan3, ETHERNET, pcap), "GRE": (as_gre, ETHERNET, pcap),
        "MPLS": (as_mpls, ETHERNET, pcap), "VXLAN in ERSPAN": (as_nested, ETHERNET, pcap)}
OTHER = {"ip6": (as_ip6, ETHERNET, pcap), "roce-v1": (as_v1, ETHERNET, pcap),
         "ib": (as_ib, IB, pcap), "ip6-vlan-pcapng": (lambda f, n: vlan_of(as_ip6(f, n)), ETHERNET,
                                                     pcapng)}


def vlan_of(data):
    return data[:12] + b"\x81\x00\x00\x05" + data[12:]


def put(form, frames):
    change, link, write = form
    out = []
    for n, f in enumerate(frames):
        data = change(f, n)
        out.append((f.time, data, len(data)))
    return write(out, link)


# ---- incomplete captures -------------------------------------------------------------------------

def cut(frames, size, form=None):
    change = form[0] if form else as_is
    out = []
    for n, f in enumerate(frames):
        data = change(f, n)
        out.append((f.time, data[:size], len(data)))
    return pcap(out, form[1] if form else ETHERNET)


def chosen(frames, keep, form=None):
    change = form[0] if form else as_is
    return pcap([(f.time, change(f, n), len(change(f, n))) for n, f in enumerate(frames) if keep(n, f)],
                form[1] if form else ETHERNET)


def less(frames, rng):
    """Yields name and content of each incomplete capture."""
    hosts = sorted({f.key()[0] for f in frames if f.roce})
    for name, form in [("", None), ("ip6 ", OTHER["ip6"]), ("v1 ", OTHER["roce-v1"])]:
        for size in (64, 96, 128):
            yield "%scut to %d" % (name, size), cut(frames, size, form)
        for host in hosts:
            yield "%sonly %s" % (name, ".".join(map(str, host))), chosen(
                frames, lambda n, f, h=host: not f.roce or f.src == h, form)
        for _ in range(3):
            at = rng.randrange(len(frames))
            yield "%sfrom frame %d" % (name, at + 1), chosen(frames, lambda n, f: n >= at, form)
        for _ in range(4):
            rate, seed = rng.uniform(0.01, 0.2), rng.random()
            drop = random.Random(seed)
            gone = {n for n in range(len(frames)) if drop.random() < rate}
            yield "%swithout %s" % (name, ",".join(str(n + 1) for n in sorted(gone))), chosen(
                frames, lambda n, f: n not in gone, form)


# ---- two captures --------------------------------------------------------------------------------

def moved(f, hosts, by):
    """Returns the frame with changed addresses, if they are in `hosts`, and a matching ICRC."""
    if not f.roce:
        return f
    ip = bytearray(f.ip[:28])
    for at in (12, 16):
        if bytes(ip[at:at + 4]) in hosts:
            ip[at + 1] ^= by
    ib, at = bytearray(f.ib), rdmaip(f.ib)
    for word in (at + 16, at + 32) if at else ():
        if bytes(ib[word:word + 4]) in hosts:
            ib[word + 1] ^= by
    ib = bytes(ib)
    ip[10:12] = b"\x00\x00"
    words = sum(struct.unpack(">10H", bytes(ip[:20])))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    ip[10:12] = struct.pack(">H", 0xFFFF - words)
    data = f.data[:f.net] + bytes(ip) + closed(f, ip4_masked(bytes(ip)), ib)
    return Frame(f.time, data, len(data))


# ---- judging -------------------------------------------------------------------------------------

class Judge:
    def __init__(self, args, folder):
        self.args, self.folder, self.cnt = args, folder, 0
        self.profiles = ("linux-rxe-6.1", "linux-rxe-6.12")

    def __call__(self, made):
        """Returns (findings, connections) for each (peer, bytes), from few runs of the program."""
        paths, peers = [], {}
        for peer, data in made:
            path = os.path.join(self.folder, "%d.pcap" % self.cnt)
            self.cnt += 1
            with open(path, "wb") as f:
                f.write(data)
            paths.append(path)
            peers.setdefault(peer, []).append(path)
        out = {p: ([], []) for p in paths}
        for peer, of in peers.items():
            for at in range(0, len(of), 64):
                self.run(peer, of[at:at + 64], out)
        if not self.args.keep:
            for p in paths:
                os.unlink(p)
        return [out[p] for p in paths]

    def run(self, peer, paths, out):
        done = subprocess.run([self.args.rocedrill, "check", "-q", "--json", "-"] +
                              (["--quirks", peer] if peer in self.profiles else []) + paths,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        for line in done.stdout.splitlines():
            if line.startswith('{"type":"finding"'):
                out[json.loads(line)["file"]][0].append(json.loads(line))
            elif line.startswith('{"type":"connection"'):
                out[json.loads(line)["file"]][1].append(json.loads(line))


def finding_of(d, shift=None):
    """Returns the members of a finding that must be equal."""
    frame, other = d["frame"], d["other_frame"]
    if shift:
        frame, other = shift(frame), shift(other) if other else other
    return (frame, d["rule"], d["severity"], d["field"], d["relation"], d["expected"], d["actual"],
            other)


DIFFER = ("file", "connection", "encapsulation", "vlan", "vni", "bytes")


def conn_of(d):
    def strip(x):
        return {k: strip(v) if isinstance(v, dict) else v for k, v in x.items() if k not in DIFFER}
    return json.dumps(strip(d), sort_keys=True)


def differences(a, b):
    a, b = list(a), list(b)
    for x in list(a):
        if x in b:
            a.remove(x)
            b.remove(x)
    return a, b


def without(findings, rules):
    return [f for f in findings if not f["rule"].startswith(rules)]


class Report:
    def __init__(self):
        self.cnt = self.bad = 0

    def __call__(self, what, lines):
        self.cnt += 1
        if lines:
            self.bad += 1
            print("%s:" % what)
            for line in lines[:8]:
                print("    %s" % (line,))


def compare_same(report, name, first, again, form):
    rules = ("UD-REQ-176",) if form in ("sll", "sll2", "raw", "GRE", "MPLS") else ()
    gone, new = differences([finding_of(f) for f in without(first[0], rules)],
                            [finding_of(f) for f in without(again[0], rules)])
    lines = ["- %s" % (x,) for x in gone] + ["+ %s" % (x,) for x in new]
    if not rules or not lines:
        gone, new = differences([conn_of(c) for c in first[1]], [conn_of(c) for c in again[1]])
        lines += ["- %s" % x for x in gone] + ["+ %s" % x for x in new]
    report("%s as %s" % (name, form), lines)


def compare_other(report, name, first, again, form):
    """Allows lower severities and differences that depend on copies, but no new ERROR."""
    def known(f):
        return (f["frame"], f["rule"])
    rules = NETWORK + COPIES + (ECN if form in ("roce-v1", "ib") else ()) + (
        MIGREQ if form == "ib" else ())
    a, b = without(first[0], rules), without(again[0], rules)
    gone, new = differences([known(f) for f in a], [known(f) for f in b])
    lines = ["- %s" % (x,) for x in gone] + ["+ %s" % (x,) for x in new]
    errors = {known(f) for f in first[0] if f["severity"] == "error"}
    lines += ["+ ERROR %s" % f["text"] for f in again[0]
              if f["severity"] == "error" and known(f) not in errors]
    report("%s as %s" % (name, form), lines)


def errors_of(*judged):
    """Returns the rules with ERRORs that are not known deviations."""
    return {f["rule"] for j in judged for f in j[0] if f["severity"] == "error" and not f["known"]}


def compare_less(report, what, rules, again):
    report(what, ["frame %s %s: %s" % (f["frame"], f["rule"], f["text"]) for f in again[0]
                  if f["severity"] == "error" and not f["known"] and f["rule"] not in rules])


def snap_lengths(frames):
    """Returns the lengths to which a capture can be truncated with the same result."""
    roce = [f for f in frames if f.roce]
    if not all(f.good for f in roce):
        return []
    return [384] if any(f.ib[5:8] == b"\0\0\1" for f in roce) else [384, 96]


def compare_story(report, what, first, again):
    def story(judged):
        found = [(f["frame"], f["rule"]) for f in judged[0] if f["severity"] != "note"]
        return found + [(c["service"], [(c[side]["address"], c[side]["qpn"]) for side in "ab" if c[side]],
                         c["failed"], c["end"]["kind"]) for c in judged[1]]
    gone, new = differences(story(first), story(again))
    report(what, ["- %s" % (x,) for x in gone] + ["+ %s" % (x,) for x in new])


def compare_two(report, what, parts, both):
    """If packets are missing in one capture, findings that depend on QP reuse may differ."""
    want, again = [], [finding_of(f) for f in both[0]]
    for findings, shift in parts:
        want += [finding_of(f, shift) for f in findings]
    if any(rule in LACKS for _, rule, *_ in want):
        want, errors = ([f for f in want if f[1] not in REUSE],
                        {f[:2] for f in want if f[2] == "error"})
        again = [f for f in again if f[1] not in REUSE or (f[2] == "error" and f[:2] not in errors)]
    gone, new = differences(want, again)
    open_at = {f[0] for f in gone if f[1] == OPEN}
    gave_up = {f[0] for f in new if f[1] in GAVE_UP} & open_at
    gone = [f for f in gone if f[0] not in gave_up or f[1] != OPEN]
    new = [f for f in new if f[0] not in gave_up or f[1] not in GAVE_UP]
    report(what, ["- %s" % (x,) for x in gone] + ["+ %s" % (x,) for x in new])


def peer_of(path):
    """Returns the peer in the capture's row of the manifest, or None."""
    for folder in (os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
        manifest = os.path.join(folder, "manifest.tsv")
        if os.path.exists(manifest):
            with open(manifest, encoding="utf-8") as f:
                rows = [line.split("\t") for line in f]
            return next((r[1] for r in rows if r[0] == os.path.basename(path)), None)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    add_seed_option(parser)
    parser.add_argument("--keep", help="a folder for the captures made")
    parser.add_argument("captures", nargs="+")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    report = Report()

    print("ROCEDRILL_SEED=%d" % args.seed)
    with tempfile.TemporaryDirectory() as temp:
        judge = Judge(args, args.keep or temp)
        peers = {p: peer_of(p) for p in args.captures}
        named = [(os.path.basename(p), peers[p], read(p)) for p in args.captures]
        named = [(n, peer, f) for n, peer, f in named if any(x.roce for x in f)]
        whole = judge([(peer, put((as_is, ETHERNET, pcap), f)) for n, peer, f in named])
        for kind, forms, compare in (("same", SAME, compare_same), ("other", OTHER, compare_other)):
            for form, how in forms.items():
                made = judge([(peer, put(how, f)) for n, peer, f in named])
                for (n, _, _), first, again in zip(named, whole, made):
                    compare(report, n, first, again, form)
        todo = [(n, peer, first, size, frames) for (n, peer, frames), first in zip(named, whole)
                for size in snap_lengths(frames)]
        made = judge([(peer, cut(frames, size)) for _, peer, _, size, frames in todo])
        for (n, _, first, size, _), again in zip(todo, made):
            compare_story(report, "%s, the first %d bytes" % (n, size), first, again)
        for (n, peer, frames), first in zip(named, whole):
            names, data = zip(*less(frames, rng))
            for what, again in zip(names, judge([(peer, d) for d in data])):
                compare_less(report, "%s, %s" % (n, what), errors_of(first), again)
        two(report, judge, named, whole, rng)
    print("%d compared, %d differ" % (report.cnt, report.bad))
    if report.cnt == 0:
        return 2
    return 1 if report.bad else 0


def two(report, judge, named, whole, rng):
    """Compares pairs of captures in one file."""
    todo, made = [], []
    for i, (n, peer, frames) in enumerate(named):
        j = rng.choice([k for k, x in enumerate(named) if x[1] == peer])
        m, _, others = named[j]
        hosts = {a for f in others if f.roce for a in f.key() if a[0] & 0xF0 != 0xE0}
        start = frames[0].time - others[0].time
        for what, far in (("with other hosts", hosts), ("with one host in common",
                                                        {sorted(hosts)[0]})):
            at = [(f.time, 0, k, f) for k, f in enumerate(frames)]
            at += [(f.time + start, 1, k, moved(f, far, 0x40)) for k, f in enumerate(others)]
            at.sort(key=lambda x: x[:3])
            place = {(w, k + 1): p + 1 for p, (_, w, k, _) in enumerate(at)}
            todo.append(("%s %s, %s" % (n, what, m), i, j, place))
            made.append((peer, pcap([(t, f.data, f.wire) for t, _, _, f in at], ETHERNET)))
    for (what, i, j, place), both in zip(todo, judge(made)):
        compare_two(report, what, [(whole[i][0], lambda x, p=place: p[0, x]),
                                   (whole[j][0], lambda x, p=place: p[1, x])], both)
    todo, made = [], []
    for i, (n, peer, frames) in enumerate(named):
        j = rng.choice([k for k, x in enumerate(named) if x[1] == peer])
        m, _, others = named[j]
        rest = rng.choice((150 * 10 ** 6, 10 ** 9, 60 * 10 ** 9))
        later = frames[-1].time - others[0].time + rest
        made.append((peer, pcap([(f.time, f.data, f.wire) for f in frames] +
                                [(f.time + later, f.data, f.wire) for f in others], ETHERNET)))
        todo.append(("%s and %d ms later %s" % (n, rest // 10 ** 6, m), i, j))
    for (what, i, j), both in zip(todo, judge(made)):
        compare_less(report, what, errors_of(whole[i], whole[j]), both)


if __name__ == "__main__":
    sys.exit(main())
