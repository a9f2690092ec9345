#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares what happened on a wire, recorded before and after netem, with `rocedrill check` on each end's capture.

    both_ends_figures.py --rocedrill PROGRAM [--peer NAME] FOLDER...

A folder is one row of tests/interop/both_ends --keep. sent-left.pcap and sent-right.pcap contain the packets that each
end sent, wire.pcap those that netem delivered. left.pcap and right.pcap are the captures of a capture point at one
end. Frames are matched by their bytes. Fields come from tshark's built-in dissector; nothing of our codec or
analysis is used.

Compared for each direction of an RC or UC connection, in the captures of its sender and of its receiver:

  packets     packets with a good ICRC
  copies      packets that the network duplicated; with IPv6, which has no identification, only copies of
              requests are compared, together with repeats
  late        first transmissions captured after a later PSN (out-of-order)
  repeats     retransmissions after a later PSN. One end cannot always distinguish late packets from
              repeats: their sum is compared, and the number of wrong assignments is printed
  gaps        PSNs that were skipped
  nak, rnr, fatal    NAKs that it sent as a responder
  completed   acknowledged or answered messages, and their bytes

Also the minimum, median and maximum completion time of SEND and WRITE. Exit status 1 if a figure differs, or if
check reports an ERROR that is not a known deviation of the peer.
"""
import argparse
import collections
import json
import os
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "traces"))
from loss_counts import ORDER, behind, icrc_good  # noqa: E402
from both_ends import MAC, records_of  # noqa: E402

FIELDS = ["frame.number", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.length",
          "infiniband.bth.opcode", "infiniband.bth.destqp", "infiniband.bth.psn",
          "infiniband.bth.padcnt", "infiniband.aeth.syndrome", "infiniband.reth.dmalen"]
RESPONSES = range(0x0D, 0x13)
READ, ATOMICS = 0x0C, (0x13, 0x14)
FIRST = (0x00, 0x06)           # First of SEND and WRITE, without service bits
LAST = (0x02, 0x03, 0x08, 0x09, 0x16)
ONLY = (0x04, 0x05, 0x0A, 0x0B, 0x17)
SENDS = (*range(0x00, 0x06), 0x16, 0x17)
FULL = {0x0D: 20, 0x0E: 16}    # by opcode of packets with a full path MTU of payload: number of other bytes from BTH to ICRC
# Number of bytes from BTH to ICRC that are not payload, by opcode.
AROUND = {0x00: 16, 0x01: 16, 0x02: 16, 0x03: 20, 0x04: 16, 0x05: 20, 0x06: 32, 0x07: 16, 0x08: 16,
          0x09: 20, 0x0A: 32, 0x0B: 36, 0x16: 20, 0x17: 20}


class Packet:
    def __init__(self, time, frame, row):
        self.time, self.frame = time, frame
        self.src, self.dst = row[1] or row[3], row[2] or row[4]
        self.opcode, self.qpn = int(row[6], 0), int(row[7], 0)
        self.psn, self.size = int(row[8], 0), int(row[5], 0) - 8
        self.pad = int(row[9] or "0", 0)
        self.syndrome = int(row[10], 0) if row[10] else None
        self.length = int(row[11], 0) if row[11] else 0
        self.oper = self.opcode & 0x1F
        self.service = self.opcode >> 5
        self.response = self.service == 0 and self.oper in RESPONSES
        self.flow = (self.src, self.dst, self.qpn)
        self.sent = None  # of a delivered packet: index of the sent packet that it equals
        self.copy = False

    def payload(self):
        return self.size - AROUND.get(self.oper, self.size) - self.pad


def read(path, keep=lambda frame: True):
    """Returns the RC and UC packets with a good ICRC, in order, and the number with a bad one."""
    frames = [(record.time, record.data) for record in records_of(path)]
    command = ["tshark", "-n", "-r", path, "-Y", "infiniband.bth", "-T", "fields", "-E", "separator=/t",
               "-E", "occurrence=f"]
    for field in FIELDS:
        command += ["-e", field]
    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                         text=True).stdout
    packets, damaged = [], 0
    for line in out.splitlines():
        row = line.split("\t")
        time, frame = frames[int(row[0]) - 1]
        if not keep(frame):
            continue
        if not icrc_good(frame) or not header_good(frame):
            damaged += 1
        elif row[6] and row[5] and int(row[6], 0) < 0x40 and int(row[7], 0) > 1:
            packets.append(Packet(time, frame, row))
    return packets, damaged


def header_good(frame):
    """Returns true if the IPv4 header checksum is correct; it covers fields that the ICRC does not."""
    at = 18 if frame[12:14] == b"\x81\x00" else 14
    if frame[at] >> 4 != 4:
        return True
    total = sum(struct.unpack_from(">10H", frame, at))
    return (total & 0xFFFF) + (total >> 16) in (0xFFFF, 0)


def name(p):
    """Returns the bytes of a packet that the network cannot change without a bad ICRC."""
    return (p.flow, p.frame[22:24] if p.frame[12:14] == b"\x81\x00" else p.frame[18:20]
            if p.frame[12:14] == b"\x08\x00" else b"", p.opcode, p.psn, p.frame[-4:])


def match(sent, came):
    """Assigns to each delivered packet the index of the sent packet; further deliveries are copies."""
    free = collections.defaultdict(collections.deque)
    for i, p in enumerate(sent):
        free[name(p)].append(i)
    last = {}
    for p in came:
        if free[name(p)]:
            p.sent = last[name(p)] = free[name(p)].popleft()
        else:
            p.sent, p.copy = last.get(name(p)), True
    return {i for of in free.values() for i in of}  # indices of the sent packets that were not delivered


def after(p, mtu):
    """Returns the PSN after a request; a READ uses one PSN per response."""
    return (p.psn + (max(1, -(-p.length // mtu)) if p.service == 0 and p.oper == READ else 1)) % ORDER


def repeats_of(sent, mtu):
    """Returns the indexes of the retransmitted requests, by the PSNs of their flow."""
    top, again = {}, set()
    for i, p in enumerate(sent):
        if p.response:
            continue
        if p.flow in top and behind(p.psn, top[p.flow]) > 0:
            again.add(i)
        else:
            top[p.flow] = after(p, mtu)
    return again


def mtu_of(packets):
    sizes = [p.size - AROUND[p.oper] for p in packets
             if not p.response and p.oper in (0x00, 0x01, 0x06, 0x07)]
    sizes += [p.size - FULL[p.oper] for p in packets if p.response and p.oper in FULL]
    return max(sizes) if sizes else 1 << 30


def direction(seen, again, mtu, sized, top):
    """Returns the figures that one end can determine from the captured packets `seen` of a flow. `again`: the retransmissions.
    Before index `sized`, the path MTU and so the PSNs of a READ are unknown. `top`: first PSN, if known."""
    count = collections.Counter(packets=len(seen))
    last = None
    for p in seen:
        if p.response:
            if p.copy:
                count["copies"] += 1
                count["answers"] += 1
            elif p.syndrome is not None:
                count["nak"] += p.syndrome == 0x60
                count["rnr"] += 0x20 <= p.syndrome < 0x40
                count["fatal"] += p.syndrome in (0x61, 0x62, 0x63, 0x64)
            continue
        if p.copy:
            count["copies"] += 1
            continue
        if top is not None and behind(p.psn, top) > 0:
            count["repeats" if p.sent in again else "late"] += 1
        else:
            told = not last or last.oper != READ or p.time > sized
            count["gaps"] += (p.psn - top) % ORDER if top is not None and told else 0
        if top is None or behind(top, after(p, mtu)) > 0:
            top = after(p, mtu)
        last = p
    return count


def messages(seen, answers, mtu):
    """Returns number, bytes and times of the completed messages of a flow, by operation."""
    done = collections.Counter()
    took = collections.defaultdict(list)
    parts = {}
    for p in seen:
        if not p.response:
            parts.setdefault(p.psn, p)
    origin = next(iter(parts), 0)
    parts = dict(sorted(parts.items(), key=lambda part: -behind(part[0], origin)))
    open_ = []  # for each message that begins: (kind, first PSN, last PSN, bytes, time)
    start = None
    total = 0
    for psn, p in parts.items():
        if p.service == 0 and p.oper == READ:
            # a READ that restarts in the middle has a later PSN of the same READ
            if open_ and open_[-1][0] == "read" and 0 <= (psn - open_[-1][1]) % ORDER <= (
                    open_[-1][2] - open_[-1][1]) % ORDER:
                continue
            open_.append(("read", psn, (after(p, mtu) - 1) % ORDER, p.length, p.time))
        elif p.service == 0 and p.oper in ATOMICS:
            open_.append(("atomic", psn, psn, 8, p.time))
        else:
            if p.oper in FIRST or p.oper in ONLY:
                start, total = p, 0
            if start is None:
                continue
            total += p.payload()
            if p.oper in LAST or p.oper in ONLY:
                kind = "send" if p.oper in SENDS else "write"
                open_.append((kind, start.psn, psn, total, start.time))
                start = None
    at = 0
    answers = sorted(answers, key=lambda p: p.time)
    got = set()
    for a in answers:
        if a.oper in (0x0D, 0x0E, 0x0F, 0x10, 0x12) and (a.syndrome is None or a.syndrome < 0x20):
            got.add(a.psn)
        upto = a.psn if a.syndrome is None or a.syndrome < 0x20 else (a.psn - 1) % ORDER
        while at < len(open_):
            kind, begin, end, size, time = open_[at]
            if (upto - end) % ORDER >= ORDER // 2 or a.time < time:
                break
            if kind in ("read", "atomic"):
                span = (end - begin) % ORDER + 1
                if any((begin + i) % ORDER not in got for i in range(span)):
                    break
            done[kind] += 1
            done["bytes"] += size
            took[kind].append(a.time - time)
            at += 1
    return done, took


def judged(args, path):
    out = subprocess.run([args.rocedrill, "check", "--json", "-"] +
                         (["--quirks", args.peer] if args.peer else []) + [path],
                         stdout=subprocess.PIPE, check=False, text=True).stdout
    lines = [json.loads(line) for line in out.splitlines()]
    return ([o for o in lines if o["type"] == "finding"],
            [o for o in lines if o["type"] == "connection" and o["service"] in ("RC", "UC")],
            lines[-1])


class Report:
    def __init__(self, args):
        self.args, self.compared, self.wrong, self.unlike = args, 0, 0, 0

    def same(self, where, what, expected, actual, slack=0.0):
        self.compared += 1
        if abs(expected - actual) > slack * max(abs(expected), abs(actual)):
            self.wrong += 1
            print(f"  {where}: {what}: the wire has {expected}, check says {actual}")


def compare(report, where, conn, seen, again, damaged):
    """Compares one connection in the capture of one end, with the given number of damaged packets."""
    for me, peer in (("a", "b"), ("b", "a")):
        side, other = conn[me], conn[peer]
        if not side["address"] or not other["address"] or other["qpn"] is None:
            continue
        mine = seen.get((side["address"], other["address"], other["qpn"]), [])
        theirs = seen.get((other["address"], side["address"], side["qpn"]), [])
        mtu = min(mtu_of(mine), mtu_of(theirs))
        sized = min((p.time for p in mine + theirs if mtu_of([p]) == mtu), default=0)
        count = direction(mine, again, mtu, 0 if conn["cm"] else sized,
                          side["first_psn"] if conn["cm"] else None)
        at = f"{where} #{conn['connection']} {me}"
        repeats = sum(r["packets"] for r in side["retransmissions"].values())
        packets = side["packets"] - side["bad_icrc"] - side["malformed"]
        if not 0 <= count["packets"] - packets <= damaged: # some bytes were damaged that no ICRC covers
            report.same(at, "packets", count["packets"], packets)
        if "." in side["address"]:
            report.same(at, "copies", count["copies"], side["copies"])
            report.same(at, "late and repeats", count["late"] + count["repeats"],
                        side["out_of_order"] + repeats)
            report.unlike += abs(count["late"] - side["out_of_order"])
        else:
            report.same(at, "copies, late and repeats", count["copies"] - count["answers"] +
                        count["late"] + count["repeats"],
                        side["copies"] + side["out_of_order"] + repeats)
        report.same(at, "gaps", count["gaps"], side["missing_psns"])
        report.same(at, "nak", count["nak"], side["psn_naks"])
        report.same(at, "rnr", count["rnr"], side["rnr_naks"])
        report.same(at, "fatal", count["fatal"], side["fatal_naks"])
        if conn["service"] != "RC":
            continue
        done, took = messages(mine, [p for p in theirs if p.response], mtu)
        for kind in ("send", "write", "read", "atomic"):
            of = side["operations"].get(kind, {"completed": 0})
            report.same(at, f"{kind} completed", done[kind], of["completed"])
        report.same(at, "bytes completed", done["bytes"], sum(
            of["bytes"] for of in side["operations"].values()))
        for kind in ("send", "write"):
            times, of = took[kind], side["operations"].get(kind, {}).get("latency_ns")
            if times and of and of["count"] == len(times):
                report.same(at, f"{kind} min", min(times), of["min"])
                report.same(at, f"{kind} max", max(times), of["max"])
                times.sort()
                low, high = times[(len(times) - 1) // 2], times[len(times) // 2]
                report.same(at, f"{kind} median", min(max(of["p50"], low), high), of["p50"], 0.11)


def folder(report, path):
    sent = {side: read(os.path.join(path, f"sent-{side}.pcap"))[0] for side in MAC}
    mtu = mtu_of(sent["left"] + sent["right"])
    name, totals = os.path.basename(path.rstrip("/")), []
    again, lost, ends, damage = {}, {}, {}, {}
    for side, peer in (("left", "right"), ("right", "left")):
        ends[side], damage[side] = read(os.path.join(path, f"{side}.pcap"))
        came = [p for p in ends[side] if p.frame[6:12] == MAC[peer]]
        lost[peer] = match(sent[peer], came)
        again[peer] = repeats_of(sent[peer], mtu)
        totals.append(f"{peer} sent {len(sent[peer])}, {len(lost[peer])} lost, "
                      f"{sum(p.copy for p in came)} copied, {damage[side]} damaged, {len(again[peer])} again")
    print(f"{name}: {'; '.join(totals)}")
    for side, peer in (("left", "right"), ("right", "left")):
        findings, conns, summary = judged(report.args, os.path.join(path, f"{side}.pcap"))
        seen, repeats = collections.defaultdict(list), set()
        at = 0
        for p in ends[side]:
            if p.frame[6:12] == MAC[side]: # the packets that this side sent are complete and in order
                p.sent, at = at, at + 1
                p.sent = ("own", p.sent)
            else:
                p.sent = ("came", p.sent)
            seen[p.flow].append(p)
        repeats = {("own", i) for i in again[side]} | {("came", i) for i in again[peer]}
        for f in findings:
            if f["severity"] == "error" and not f["known"]:
                report.wrong += 1
                print(f"  {side}: ERROR: frame {f['frame']} {f['rule']}: {f['text']}")
        for conn in conns:
            if conn["uses"] > 1:
                print(f"  {side} #{conn['connection']}: {conn['uses']} uses, not compared")
                continue
            compare(report, side, conn, seen, repeats, damage[side])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rocedrill", required=True)
    parser.add_argument("--peer")
    parser.add_argument("folder", nargs="+")
    report = Report(parser.parse_args())
    for path in report.args.folder:
        folder(report, path)
    print(f"{len(report.args.folder)} folders, {report.compared} figures compared, {report.wrong} differ; "
          f"{report.unlike} late packets counted as repeats, or repeats as late packets")
    return 2 if report.compared == 0 else 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
