#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks each feature of the analysis: its fields must occur in the capture that the table names.

    analysis_fields.py --plugins DIR CAPTURE...

Also fails if the plugin has an analysis field that is not in the table, if a link has no link back, if an
I/O graph shows other numbers than the packets, and if Wireshark rejects a filter of plugin/profile.
"""
import argparse
import collections
import os
import re
import shutil
import struct
import subprocess
import sys

from packet_builder import aeth, bth, connect, pcap, reth, roce, vxlan
from tshark import Tshark

PSN = (0x5A1234, 0x3C4321)


def send(number, payload=b"some", ecn=0):
    return roce(bth(0x04, 0x22, PSN[0] + number, ackreq=1) + payload, ecn=ecn)


def ack(number, msn, syndrome=0x1F):
    return roce(bth(0x11, 0x11, PSN[0] + number) + aeth(msn, syndrome), 1)


START = connect(20049, psn=PSN)
RPC = struct.pack(">IIII", 7, 1, 32, 0) + bytes(12) + struct.pack(">IIIIII", 7, 0, 2, 100003, 3, 0) + bytes(16)
EMPTY = roce(bth(0x0A, 0x22, PSN[0] + 1, ackreq=1) + reth(0, 0, 0))
AGAIN = [roce(bth(0x04, 0x22, 0x111111, ackreq=1) + b"some"), roce(bth(0x11, 0x11, 0x111111) + aeth(1), 1)]

# Captures made here: rxe has no end-to-end credits and sends no CNPs, and traces/ has no capture that lacks packets.
MADE = {
    "credits": pcap(START + [send(0), ack(0, 1, 2), send(1), ack(1, 2, 1), send(2), ack(2, 3, 3), send(3), ack(3, 4, 0)]),
    "congestion": pcap(START + [send(0, ecn=3), ack(0, 1), roce(bth(0x81, 0x11, 0, byte4=0x40) + bytes(16), 1)]),
    "hole": pcap(START + [send(0), ack(0, 1), send(2), ack(2, 3)]),
    "idle": pcap(START + [send(0), ack(0, 1), EMPTY, ack(1, 2)], seconds=[0, 0.1, 0.2, 1, 1.1, 5, 5.1]),
    "reuse": pcap([send(0), ack(0, 1)] + AGAIN, seconds=[0, 0.001, 60, 60.001]),
    "overlays": pcap([vxlan(frame, src, vni) for vni in (7, 8) for src, frame in enumerate([send(0), ack(0, 1)])]),
    "unanswered": pcap(START + [roce(bth(0x0C, 0x22, PSN[0], ackreq=1) + reth(0x1000, 0x99, 4)), send(1), ack(1, 2)]),
    "message": pcap(START + [roce(bth(0x00, 0x22, PSN[0]) + RPC[:40]),
                             roce(bth(0x02, 0x22, PSN[0] + 1, ackreq=1) + RPC[40:])]),
}

# Rows: feature of Wireshark's TCP analysis ("": TCP has none like it), our fields for this feature, capture in which they occur.
FEATURES = [
    ("stream", "roce.stream roce.src_qp", "rc-atomics"),
    ("", "roce.pairing roce.pairing_guess roce.vni", "overlays"),
    ("completeness", "roce.completeness", "cm-connect-disconnect"),
    ("relative sequence numbers", "roce.analysis.psn_rel", "rc-atomics"),
    ("nxtseq", "roce.analysis.next_psn", "rc-atomics"),
    ("", "roce.side roce.analysis.request_psn roce.analysis.response_psn roce.analysis.goodput_bytes"
     " roce.analysis.retransmitted_bytes", "rc-loss-both"),
    ("time_relative, time_delta", "roce.time_relative roce.time_delta", "rc-atomics"),
    ("analysis.acks_frame", "roce.analysis.acks_frame", "rc-no-permission-read"),
    ("", "roce.analysis.acked_in", "rc-atomics"),
    ("", "roce.analysis.request_in roce.analysis.response_in roce.analysis.last_response_in", "rc-atomics"),
    ("analysis.ack_rtt", "roce.analysis.ack_rtt", "rc-no-permission-read"),
    ("", "roce.analysis.response_time", "rc-atomics"),
    ("analysis.initial_rtt", "roce.analysis.initial_rtt", "demo-conversation"),
    ("analysis.rto, rto_frame", "roce.analysis.rto roce.analysis.rto_frame", "rc-loss-both"),
    ("", "roce.analysis.repeated_in", "rc-loss-both"),
    ("", "roce.analysis.timeout", "cm-lost-peer"),
    ("analysis.retransmission", "roce.analysis.retransmission roce.analysis.cause", "rc-loss-both"),
    ("", "roce.analysis.timeout_retransmission", "rc-retry-exhausted"),
    ("analysis.fast_retransmission", "roce.analysis.nak_retransmission roce.analysis.cause_frame", "rc-loss-both"),
    ("", "roce.analysis.rnr_retransmission roce.analysis.rnr_wait roce.analysis.rnr_waited",
     "rc-rnr-then-success"),
    ("analysis.spurious_retransmission", "roce.analysis.spurious_retransmission roce.analysis.spurious_in",
     "rc-late-responses"),
    ("", "roce.analysis.duplicate_request", "rc-loss-atomic-write"),
    ("", "roce.analysis.duplicate_response", "rc-loss-atomic-ack"),
    ("", "roce.analysis.copy", "rc-duplicate-responses"),
    ("analysis.out_of_order", "roce.analysis.out_of_order", "rc-reordering"),
    ("analysis.lost_segment", "roce.analysis.psn_gap roce.analysis.gap", "uc-loss"),
    ("analysis.ack_lost_segment", "roce.analysis.ack_unseen_psn", "hole"),
    ("analysis.duplicate_ack, _num, _frame",
     "roce.analysis.duplicate_ack roce.analysis.duplicate_ack_num roce.analysis.duplicate_ack_frame",
     "rc-rnr-exhausted"),
    ("analysis.partial_ack", "roce.analysis.acked_packets", "rc-atomics"),
    ("analysis.bytes_in_flight", "roce.analysis.psns_in_flight roce.analysis.bytes_in_flight"
     " roce.analysis.requests_in_flight roce.analysis.reads_in_flight", "rc-atomics"),
    ("", "roce.analysis.read_bytes_in_flight", "rc-loss-both"),
    ("analysis.push_bytes_sent", "roce.message.bytes roce.message.offset", "rc-loss-both"),
    ("analysis.zero_window", "roce.analysis.rnr_nak", "rc-rnr-exhausted"),
    ("analysis.zero_window", "roce.analysis.zero_credit", "credits"),
    ("analysis.window_update", "roce.analysis.credit_update roce.analysis.credits roce.aeth.credits", "credits"),
    ("analysis.window_full", "roce.analysis.credits_exhausted", "credits"),
    ("analysis.keep_alive, _ack", "roce.analysis.keep_alive", "idle"),
    ("analysis.reused_ports", "roce.analysis.qp_reused roce.epoch", "reuse"),
    ("analysis.flags", "roce.analysis.flags", "rc-loss-both"),
    ("pdu.size, time", "roce.message.size roce.message.time roce.message.number roce.message.packets"
     " roce.message.first_frame", "rc-atomics"),
    ("pdu.last_frame", "roce.message.last_frame", "rc-loss-both"),
    ("", "roce.message.completed_bytes roce.message.goodput", "rc-atomics"),
    ("segments, reassembled", "roce.message.fragments roce.message.fragment roce.message.count"
     " roce.message.reassembled_in roce.message.length roce.message.data", "message"),
    ("checksum.status", "roce.icrc.status", "rc-atomics"),
    ("", "roce.analysis.pmtu", "demo-conversation"),
    ("", "roce.analysis.msn", "rc-atomics"),
    ("", "roce.analysis.nak", "rc-bad-rkey-read"),
    ("", "roce.analysis.implied_nak", "unanswered"),
    ("", "roce.analysis.rkey roce.analysis.va", "rc-atomics"),
    ("", "roce.analysis.ce", "rc-ecn"),
    ("", "roce.analysis.cnp roce.analysis.cnp_frame roce.analysis.ce_frame roce.analysis.cnp_delay", "congestion"),
    ("", "roce.analysis.dropped", "rc-corruption"),
    ("", "roce.cm.req_in roce.cm.rep_in roce.cm.stream roce.cm.first_data", "demo-conversation"),
    ("", "roce.cm.answers roce.cm.answered_in", "cm-connect-disconnect"),
    ("", "roce.rule roce.rule.text roce.rule.source", "rc-loss-both"),
]
# Rows: a field that links to another frame; fields that link back, one of which the other frame must have.
LINKS = [
    ("roce.analysis.acked_in", "roce.analysis.acks_frame roce.analysis.request_in"),
    ("roce.analysis.acks_frame", "roce.analysis.acked_in"),
    ("roce.analysis.response_in", "roce.analysis.request_in"),
    ("roce.analysis.last_response_in", "roce.analysis.request_in"),
    ("roce.analysis.rto_frame", "roce.analysis.repeated_in"),
    ("roce.analysis.repeated_in", "roce.analysis.rto_frame"),
    ("roce.message.last_frame", "roce.message.first_frame"),
    ("roce.cm.answers", "roce.cm.answered_in"),
    ("roce.cm.answered_in", "roce.cm.answers"),
    ("roce.analysis.cnp_frame", "roce.analysis.ce_frame"),
    ("roce.analysis.ce_frame", "roce.analysis.cnp_frame"),
]
# Field types that an I/O graph can plot.
DRAWN = re.compile("FT_(UINT|INT|RELATIVE_TIME)")
PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plugin/profile/RoCE")
CONNECTION = "roce.stream eq 1 or roce.cm.stream eq 1"  # the filter that the menu Conversation Filter creates
# Wireshark's reassembly requires these fields. They never occur, because each packet is added once.
SILENT = {"roce.message." + name for name in
          ("overlap", "overlap.conflict", "multiple_tails", "too_long", "error")}
SILENT |= {"roce.analysis.limit"}  # occurs only with a small roce.memory; builtin_defects.py tests it
ANALYSIS = re.compile(r"roce\.(analysis|message)\.|roce\.(stream|epoch|src_qp|pairing\w*|vni|time_\w+|completeness)$")


def fires(shark, path, fields):
    """Counts the frames that have each field."""
    command = ["-2", "-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    count = collections.Counter()
    for line in shark.out(command).splitlines():
        count.update(field for field, value in zip(fields, line.split("\t")) if value)
    return count


def table(shark, path, fields):
    """Returns {frame: {field: values}}."""
    command = ["-2", "-r", path, "-T", "fields", "-e", "frame.number"]
    for field in fields:
        command += ["-e", field]
    rows = (line.split("\t") for line in shark.out(command).splitlines())
    return {row[0]: {field: value.split(",") for field, value in zip(fields, row[1:]) if value} for row in rows}


def one_way(shark, path):
    """Returns the links without a link back, and the number of links."""
    rows = table(shark, path, sorted({field for link, back in LINKS for field in [link] + back.split()}))
    wrong, count = [], 0
    for link, back in LINKS:
        for frame, row in rows.items():
            for other in row.get(link, []):
                count += 1
                if not rows.get(other, {}).keys() & set(back.split()):
                    wrong.append(f"{os.path.basename(path)} frame {frame}: {link} {other}: the linked frame has no link back")
    return wrong, count


def graphs(shark, path, fields):
    """Returns the fields whose I/O graph differs from the packets."""
    command = ["-2", "-q", "-r", path]
    for field in fields:
        command += ["-z", f"io,stat,0,MAX({field}){field}"]
    # tshark prints the graphs in reverse order.
    blocks = shark.out(command).split("IO Statistics")[:0:-1]
    rows = table(shark, path, fields).values()
    wrong = []
    for field, block in zip(fields, blocks):
        drawn = max(float(cell) for cell in re.findall(r"<> *\d[\d.]* *\| *([\d.]+) *\|", block))
        said = max([float(int(value, 0) if value.isdigit() or value[:2] == "0x" else float(value))
                    for row in rows for value in row.get(field, [])], default=0)
        if abs(drawn - said) > 1e-6:
            wrong.append(f"{field}: {drawn} in the I/O graph, {said} in the packets")
    if len(blocks) != len(fields):
        wrong.append(f"{len(blocks)} I/O graphs of {len(fields)}")
    return wrong


def refused(shark, path):
    """Returns the filters of the profile that Wireshark rejects."""
    with open(os.path.join(PROFILE, "colorfilters"), encoding="utf-8") as colours:
        filters = [line.split("@")[2] for line in colours if line.startswith("@")]
    with open(os.path.join(PROFILE, "preferences"), encoding="utf-8") as preferences:
        filters += re.findall(r"%Cus:([\w.]+):", preferences.read())
    status, _, err = shark.run(["-r", path, "-Y", " || ".join(f"({text})" for text in filters)])
    return [f"profile: {err.strip()}"] if status or len(filters) < 10 else []


def not_red(shark, paths):
    """Returns the captures in which no packet, or more than one, has the colour of a failed connection."""
    shutil.copytree(PROFILE, os.path.join(shark.home, "wireshark", "profiles", "RoCE"))
    args = ["--color", "-C", "RoCE", "-T", "fields", "-e", "frame.coloring_rule.name", "-r"]
    return [f"{path}: {got} packets are red" for path in paths
            if (got := shark.out(args + [shark.file(path)]).count("failed or rejected")) != 1]


def connection(shark, path):
    """Returns an error if the conversation filter does not match exactly the connection's frames."""
    rows = table(shark, path, ["roce.stream", "roce.cm.stream"])
    want = [frame for frame, row in rows.items() if any("1" in values for values in row.values())]
    got = shark.out(["-2", "-r", path, "-Y", CONNECTION, "-T", "fields", "-e", "frame.number"]).split()
    messages = sum("roce.cm.stream" in rows[frame] for frame in got)
    return [] if got == want and 0 < messages < len(got) else [f"{CONNECTION}: frames {got}, not {want}"]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    traces = {os.path.basename(path)[:-len(".pcap")]: path for path in args.captures}
    where = collections.defaultdict(list)
    wrong = []
    for _, fields, capture in FEATURES:
        where[capture] += fields.split()
    with Tshark(args.plugins) as shark:
        types = {line.split("\t")[2]: line.split("\t")[3] for line in shark.out(["-G", "fields"]).splitlines()
                 if line.startswith("F\t") and "\troce." in line}
        known = types.keys()
        shown = {field for fields in where.values() for field in fields}
        wrong += [f"{field}: not in the table" for field in sorted(known)
                  if ANALYSIS.match(field) and field not in shown | SILENT]
        wrong += [f"{field}: no such field" for field in sorted((shown | SILENT) - known)]
        for capture, fields in where.items():
            made = MADE.get(capture)
            path = shark.file(capture + ".pcap", made) if made else shark.file(traces[capture])
            count = fires(shark, path, [field for field in fields if field in known])
            wrong += [f"{field}: not in {capture}" for field in fields if field in known and not count[field]]
        merged = shark.file("merged.pcap", b"")
        subprocess.run(["mergecap", "-a", "-F", "pcap", "-w", merged] + args.captures, check=True)
        back, links = one_way(shark, merged)
        back_too, more = one_way(shark, shark.file("congestion.pcap", MADE["congestion"]))
        numbers = sorted(field for field in shown if DRAWN.match(types.get(field, "")))
        demo = shark.file(traces["demo-conversation"])
        wrong += back + back_too + graphs(shark, merged, numbers) + refused(shark, demo) + connection(shark, demo)
        wrong += not_red(shark, [traces[name] for name in ("cm-reject", "rc-bad-rkey-write", "rc-bad-rkey-read")])
    for line in wrong:
        print(line)
    print(f"{len(FEATURES)} features, {len(shown)} fields, {len(where)} captures, {links + more} links, "
          f"{len(numbers)} I/O graphs, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
