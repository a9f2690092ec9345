#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Counts what went wrong in each capture by other means, and compares with rocedrill check --json.

    count.py --rocedrill PROGRAM CAPTURE...

The fields come from tshark's built-in dissector (opcode, PSN, syndrome, READ length), the ICRC from
zlib over the bytes of the frame; nothing of our codec or observer is in here. Per capture, over RC
packets whose ICRC is right:

  nak, rnr, fatal    acknowledgements by their syndrome: 0x60, 0x20..0x3f, 0x61..0x63
  copies             packets with PSN, opcode and IP identification of one before: copied on the wire.
                     Before a sender's identification was seen to change, a copy cannot be told from a
                     repetition: such a packet may be counted as either
  repeats            requests that do not advance the PSN and are no copies: sent again, or late
  duplicates         of these the ones that were answered before: acknowledged, or, for READs and
                     atomics, all their responses seen in order

Exit status 1 if any number differs, 2 if nothing could be compared.
"""
import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib

FIELDS = ["frame.number", "ip.src", "ip.dst", "ip.id", "udp.length", "infiniband.bth.opcode",
          "infiniband.bth.destqp", "infiniband.bth.psn", "infiniband.aeth.syndrome",
          "infiniband.reth.dmalen", "infiniband.reth.va"]
ORDER = 1 << 24
READ = 0x0C
RESPONSES = (0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12)
ATOMIC_ACK = 0x12
SAVED = (0x0C, 0x13, 0x14)    # READ, CmpSwap, FetchAdd: answered with data
READ_RESPONSES = (0x0D, 0x0E, 0x0F, 0x10)
# Bytes from BTH to ICRC without payload, of packets that carry exactly one path MTU.
FULL = {0x00: 16, 0x01: 16, 0x06: 32, 0x07: 16, 0x0D: 20, 0x0E: 16}
NAMES = ["nak", "rnr", "fatal", "copies", "repeats", "duplicates"]


def behind(psn, nxt):
    """How far psn lies before nxt, modulo 2^24; <= 0 if it does not."""
    d = (nxt - psn) % ORDER
    return d if d < ORDER // 2 else d - ORDER


def frames(path):
    """The bytes of each frame of a pcap file."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    off = 24
    while off + 16 <= len(data):
        length = struct.unpack_from(order + "I", data, off + 8)[0]
        yield data[off + 16:off + 16 + length]
        off += 16 + length


def icrc_good(frame):
    """Whether the ICRC of a RoCEv2 packet over IPv4 is right; None for other frames."""
    off = 14
    while frame[off - 2:off] == b"\x81\x00":
        off += 4
    if frame[off - 2:off] != b"\x08\x00" or frame[off] != 0x45 or frame[off + 9] != 17:
        return None
    end = off + struct.unpack_from(">H", frame, off + 2)[0]
    if end > len(frame) or frame[off + 22:off + 24] != b"\x12\xb7":
        return None
    p = bytearray(frame[off:end])
    p[1] = 0xFF                      # TOS
    p[8] = 0xFF                      # TTL
    p[10:12] = b"\xff\xff"           # header checksum
    p[26:28] = b"\xff\xff"           # UDP checksum
    p[32] = 0xFF                     # BTH: FECN, BECN, reserved
    crc = zlib.crc32(b"\xff" * 8 + bytes(p[:-4]))
    return crc == struct.unpack("<I", bytes(p[-4:]))[0]


def packets(path):
    """RC packets as dictionaries, in the order of the capture."""
    command = ["tshark", "-r", path, "-Y", "infiniband.bth", "-T", "fields", "-E", "separator=/t",
               "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                         text=True).stdout
    good = [icrc_good(frame) for frame in frames(path)]
    for line in out.splitlines():
        row = dict(zip([name.split(".")[-1] for name in FIELDS], line.split("\t")))
        if not row["src"] or not row["opcode"] or int(row["opcode"], 0) >= 0x20:
            continue
        if good[int(row["number"]) - 1] is not True:
            continue
        yield {"flow": (row["src"], row["dst"], int(row["destqp"], 0)), "ip_id": row["id"],
               "hosts": (row["src"], row["dst"]),
               "opcode": int(row["opcode"], 0), "psn": int(row["psn"], 0),
               "syndrome": int(row["syndrome"], 0) if row["syndrome"] else None,
               "dma_len": int(row["dmalen"], 0) if row["dmalen"] else 0,
               "udp_len": int(row["length"], 0)}


def mtu_of(pkts):
    sizes = [p["udp_len"] - 8 - FULL[p["opcode"]] for p in pkts if p["opcode"] in FULL]
    return max(sizes) if sizes else 1 << 20


def independent(pkts):
    count = dict.fromkeys(NAMES, 0)
    mtu = mtu_of(pkts)
    unsure = 0            # copies of a sender that used one identification so far
    ids = {}              # flow: identifications
    seen = set()          # what a copy repeats
    reads = {}            # flow: READs and atomics as [first PSN, PSN after, next response in order]
    nxt = {}              # flow of requests: the PSN after the highest
    acked = {}            # hosts of the requester: PSNs acknowledged, by destination QP unknown
    partner = {}          # flow of responses: the flow of requests it answers
    for p in pkts:
        key = (p["flow"], p["opcode"], p["psn"], p["ip_id"])
        copy = key in seen
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
            if s is None or s < 0x20:      # acknowledges up to and with this PSN
                upto = (p["psn"] + 1) % ORDER
            else:                          # a NAK: up to the one before
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


def ours(rocedrill, path):
    out = subprocess.run([rocedrill, "check", "--json", "-", path], stdout=subprocess.PIPE,
                         check=False, text=True).stdout
    count = dict.fromkeys(NAMES, 0)
    for line in out.splitlines():
        o = json.loads(line)
        if o["type"] != "connection" or o["service"] != "RC":
            continue
        for side in (o["a"], o["b"]):
            count["nak"] += side["psn_naks"]
            count["rnr"] += side["rnr_naks"]
            count["fatal"] += side["fatal_naks"]
            count["copies"] += side["copies"]
            count["repeats"] += side["out_of_order"] + sum(
                r["packets"] for r in side["retransmissions"].values())
            count["duplicates"] += side["duplicates"]
    return count


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rocedrill", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    if not shutil.which("tshark"):
        print("count: tshark is not here")
        return 77
    compared = wrong = 0
    for path in args.captures:
        pkts = list(packets(path))
        if not pkts:
            continue
        (expected, unsure), actual = independent(pkts), ours(args.rocedrill, path)
        compared += 1
        for name in NAMES:
            low = expected[name] - (unsure if name == "copies" else 0)
            high = expected[name] + (unsure if name == "repeats" else 0)
            if not low <= actual[name] <= high:
                wrong += 1
                print(f"{os.path.basename(path)}: {name}: tshark's fields give {expected[name]}, "
                      f"rocedrill check {actual[name]}")
    print(f"count: {compared} captures with RC packets over IPv4, {wrong} numbers differ")
    return 2 if compared == 0 else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
