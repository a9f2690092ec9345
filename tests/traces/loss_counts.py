#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Counts losses and retransmissions of each capture independently and compares with rocedrill check --json.

    loss_counts.py --rocedrill PROGRAM CAPTURE...

Captures are pcap files of Ethernet, with RoCEv2 over IPv4. Each is counted as it is, and converted to IPv6 and
RoCEv1 (capture_variants.py).

The fields come from tshark's built-in dissector (opcode, PSN, syndrome, READ length), the ICRC from zlib over the
bytes of the frame. Nothing of our codec or analysis is used. Counted per capture, over RC packets with a good ICRC:

  nak, rnr, fatal    acknowledgements by syndrome: 0x60, 0x20..0x3f, 0x61..0x63
  copies             packets with the PSN, opcode and IP identification of an earlier packet: copied by the
                     network. Until the identification of a sender changes, a copy cannot be distinguished
                     from a retransmission; such a packet may be counted as either. IPv6 and RoCEv1 have no
                     identification: copies count as retransmissions, and the sum of both is compared.
                     A response that equals an earlier one may be counted as a copy
  repeats            requests that do not advance the PSN and are not copies: retransmitted or out-of-order
  duplicates         repeats of requests that were already answered: acknowledged, or, for READs and
                     atomics, with all their responses captured in order. RoCEv1 has no UDP ports, so
                     directions are paired later and duplicates may be fewer

Exit status 1 if a number differs, 2 if nothing was compared.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

import capture_variants

FIELDS = ["frame.number", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "infiniband.grh.sgid",
          "infiniband.grh.dgid", "ip.id", "udp.length", "infiniband.grh.paylen", "infiniband.bth.opcode",
          "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.aeth.syndrome",
          "infiniband.reth.dmalen", "infiniband.reth.va"]
ORDER = 1 << 24
READ = 0x0C
RESPONSES = (0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12)
ATOMIC_ACK = 0x12
SAVED = (0x0C, 0x13, 0x14)    # READ, CmpSwap, FetchAdd: their responses carry data
READ_RESPONSES = (0x0D, 0x0E, 0x0F, 0x10)
# Bytes from BTH to ICRC without payload, by opcode, of packets with exactly one path MTU of payload.
FULL = {0x00: 16, 0x01: 16, 0x06: 32, 0x07: 16, 0x0D: 20, 0x0E: 16}
NAMES = ["nak", "rnr", "fatal", "copies", "repeats", "duplicates"]


def behind(psn, nxt):
    """Returns nxt - psn modulo 2^24, as a signed number."""
    d = (nxt - psn) % ORDER
    return d if d < ORDER // 2 else d - ORDER


ETHERTYPES = {b"\x08\x00": "ip4", b"\x86\xdd": "ip6", b"\x89\x15": "v1"}


def icrc_good(frame):
    """Returns whether the ICRC of a RoCE packet is good; None for other frames."""
    off = 14
    while frame[off - 2:off] == b"\x81\x00":
        off += 4
    net = ETHERTYPES.get(frame[off - 2:off])
    if net == "ip4":
        if frame[off] != 0x45 or frame[off + 9] != 17 or frame[off + 22:off + 24] != b"\x12\xb7":
            return None
        end, bth = off + struct.unpack_from(">H", frame, off + 2)[0], 28
        variant = (1, 8, 10, 11, 26, 27)        # TOS, TTL, header checksum, UDP checksum
    elif net == "ip6":
        if frame[off + 6] != 17 or frame[off + 42:off + 44] != b"\x12\xb7":
            return None
        end, bth = off + 40 + struct.unpack_from(">H", frame, off + 4)[0], 48
        variant = (1, 2, 3, 7, 46, 47)          # traffic class, flow label, hop limit, UDP checksum
    elif net == "v1":
        end, bth = off + 40 + struct.unpack_from(">H", frame, off + 4)[0], 40
        variant = (1, 2, 3, 7)
    else:
        return None
    if end > len(frame):
        return None
    p = bytearray(frame[off:end])
    for at in variant + (bth + 4,):             # and BTH byte 4: FECN, BECN, reserved
        p[at] = 0xFF
    if net != "ip4":
        p[0] |= 0x0F
    return zlib.crc32(b"\xff" * 8 + bytes(p[:-4])) == struct.unpack("<I", bytes(p[-4:]))[0]


def rows(path):
    """Yields a dictionary of fields for each packet with a BTH, from tshark."""
    command = ["tshark", "-n", "-r", path, "-Y", "infiniband.bth", "-T", "fields", "-E",
               "separator=/t", "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                         text=True).stdout
    names = [name.replace("infiniband.", "") for name in FIELDS]
    for line in out.splitlines():
        yield dict(zip(names, line.split("\t")))


def packet(row):
    """Returns the members of a packet that are needed; None if it is not RC."""
    src = row["ip.src"] or row["ipv6.src"] or row["grh.sgid"]
    dst = row["ip.dst"] or row["ipv6.dst"] or row["grh.dgid"]
    if not src or not row["bth.opcode"] or int(row["bth.opcode"], 0) >= 0x20:
        return None
    size = row["udp.length"] and int(row["udp.length"], 0) - 8 or int(row["grh.paylen"], 0)
    return {"flow": (src, dst, int(row["bth.destqp"], 0)), "ip_id": row["ip.id"],
            "hosts": (src, dst),
            "opcode": int(row["bth.opcode"], 0), "psn": int(row["bth.psn"], 0),
            "syndrome": int(row["aeth.syndrome"], 0) if row["aeth.syndrome"] else None,
            "dma_len": int(row["reth.dmalen"], 0) if row["reth.dmalen"] else 0,
            "size": size}


def packets(made, folder):
    """Returns the RC packets with a good ICRC of each capture in `made`, in frame order.
    Runs tshark once over all captures in one file, because starting it takes longer than most captures."""
    path = os.path.join(folder, "all.pcap")
    with open(path, "wb") as out:
        out.write(capture_variants.pcap([], capture_variants.ETHERNET))
        for _, _, frames in made:
            out.write(capture_variants.pcap([(f[0], f[1], len(f[1])) for f in frames], capture_variants.ETHERNET)[24:])
    owner = [(i, f[1]) for i, (_, _, frames) in enumerate(made) for f in frames]
    found = [[] for _ in made]
    for row in rows(path):
        i, frame = owner[int(row["frame.number"]) - 1]
        p = packet(row)
        if p and icrc_good(frame) is True:
            found[i].append(p)
    os.unlink(path)
    return found


def mtu_of(pkts):
    sizes = [p["size"] - FULL[p["opcode"]] for p in pkts if p["opcode"] in FULL]
    return max(sizes) if sizes else 1 << 20


def independent(pkts):
    count = dict.fromkeys(NAMES, 0)
    mtu = mtu_of(pkts)
    unsure = 0            # packets that may be copies: their sender has no IP identification, or only one so far
    ids = {}              # by flow: IP identifications
    seen = set()          # keys of captured packets
    reads = {}            # by flow: READs and atomics as [first PSN, PSN after the last, PSN of the next response in order]
    nxt = {}              # by flow of requests: the PSN after the highest PSN so far
    acked = {}            # by flow of requests: the PSN after the last acknowledged one
    partner = {}          # by flow of responses: the flow of requests that it answers
    for p in pkts:
        key = (p["flow"], p["opcode"], p["psn"], p["ip_id"])
        copy = key in seen and p["ip_id"] != ""
        unsure += key in seen and p["ip_id"] == "" and p["opcode"] in RESPONSES
        seen.add(key)
        ids.setdefault(p["flow"], set()).add(p["ip_id"])
        if copy:
            count["copies"] += 1
            unsure += len(ids[p["flow"]]) == 1
            continue
        if p["opcode"] in RESPONSES:
            s = p["syndrome"]
            if s is not None:
                count["nak"] += s == 0x60
                count["rnr"] += 0x20 <= s < 0x40
                count["fatal"] += s in (0x61, 0x62, 0x63)
            back = (p["hosts"][1], p["hosts"][0])
            flows = [f for f in nxt if (f[0], f[1]) == back and 0 < behind(p["psn"], nxt[f]) < 4096]
            if p["flow"] not in partner and len(flows) == 1:
                partner[p["flow"]] = flows[0]
            flow = partner.get(p["flow"])
            if flow is None:
                continue
            if p["opcode"] in READ_RESPONSES or p["opcode"] == ATOMIC_ACK:
                for read in reads.get(flow, []):
                    read[2] = (read[2] + (read[2] == p["psn"] and read[2] != read[1])) % ORDER
            if s is None or s < 0x20:      # acknowledges this PSN and all before
                upto = (p["psn"] + 1) % ORDER
            else:                          # a NAK acknowledges all PSNs before this one
                upto = p["psn"]
            if flow not in acked or behind(acked[flow], upto) > 0:
                acked[flow] = upto
            continue
        flow, psn = p["flow"], p["psn"]
        span = max(1, -(-p["dma_len"] // mtu)) if p["opcode"] == READ else 1
        end = (psn + span) % ORDER
        if flow in nxt and behind(psn, nxt[flow]) > 0:
            count["repeats"] += 1
            if p["opcode"] in SAVED:
                for read in reads.get(flow, []):
                    if behind(psn, read[0]) <= 0 < behind(psn, read[1]):
                        count["duplicates"] += read[2] == read[1]
                        read[2] = psn
            else:
                count["duplicates"] += flow in acked and behind(psn, acked[flow]) > 0
        elif p["opcode"] in SAVED:
            reads.setdefault(flow, []).append([psn, end, psn])
        if flow not in nxt or behind(nxt[flow], end) > 0:
            nxt[flow] = end
    return count, unsure


def ours(rocedrill, paths):
    """Returns the counts of rocedrill check, by file."""
    out = subprocess.run([rocedrill, "check", "--json", "-", *paths], stdout=subprocess.PIPE,
                         check=False, text=True).stdout
    counts = {path: dict.fromkeys(NAMES, 0) for path in paths}
    for line in out.splitlines():
        o = json.loads(line)
        if o["type"] != "connection" or o["service"] != "RC":
            continue
        count = counts[o["file"]]
        for side in (o["a"], o["b"]):
            count["nak"] += side["psn_naks"]
            count["rnr"] += side["rnr_naks"]
            count["fatal"] += side["fatal_naks"]
            count["copies"] += side["copies"]
            count["repeats"] += side["out_of_order"] + sum(
                r["packets"] for r in side["retransmissions"].values())
            count["duplicates"] += side["duplicates"]
    return counts


def differences(network, expected, unsure, actual):
    """Returns (name, expected, actual) of each number that differs."""
    if network == "ip4":
        ranges = {name: (expected[name], expected[name]) for name in NAMES}
        ranges["copies"] = (expected["copies"] - unsure, expected["copies"])
        ranges["repeats"] = (expected["repeats"], expected["repeats"] + unsure)
    else:
        ranges = {name: (expected[name], expected[name]) for name in ("nak", "rnr", "fatal")}
        ranges["duplicates"] = (expected["duplicates"] - actual["copies"], expected["duplicates"])
        if network == "v1":
            ranges["duplicates"] = (0, expected["duplicates"])
        ranges["copies and repeats"] = (expected["repeats"], expected["repeats"] + unsure)
        actual = dict(actual, **{"copies and repeats": actual["copies"] + actual["repeats"]})
    return [(name, expected.get(name, low), actual[name]) for name, (low, high) in ranges.items()
            if not low <= actual[name] <= high]


def forms_of(paths, folder):
    """Yields (name, path, frames as (time, bytes)) of each capture in each network."""
    made = []
    for path in paths:
        frames = capture_variants.read(path)
        for network, change in (("ip4", None), ("ip6", capture_variants.as_ip6), ("v1", capture_variants.as_v1)):
            name = "%s %s" % (os.path.basename(path), network)
            to = path
            out = [(f.time, change(f, n) if change else f.data) for n, f in enumerate(frames)]
            if change:
                to = os.path.join(folder, name.replace(" ", "-") + ".pcap")
                with open(to, "wb") as file:
                    file.write(capture_variants.pcap([(t, d, len(d)) for t, d in out], capture_variants.ETHERNET))
            made.append((name, to, out))
    return made


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rocedrill", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    if not shutil.which("tshark"):
        print("loss_counts: tshark not found")
        return 77
    compared, wrong = dict.fromkeys(("ip4", "ip6", "v1"), 0), 0
    with tempfile.TemporaryDirectory() as folder:
        made = forms_of(args.captures, folder)
        actual = ours(args.rocedrill, [path for _, path, _ in made])
        for (name, path, _), pkts in zip(made, packets(made, folder)):
            if not pkts:
                continue
            network = name.split()[-1]
            compared[network] += 1
            for what, expected, is_ in differences(network, *independent(pkts), actual[path]):
                wrong += 1
                print(f"{name}: {what}: tshark's fields give {expected}, rocedrill check {is_}")
    print("loss_counts: captures with RC packets: " +
          ", ".join(f"{n} {network}" for network, n in compared.items()) +
          f"; {wrong} numbers differ")
    return 2 if 0 in compared.values() else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
