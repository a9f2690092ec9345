#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that a page marks the packets that a NAK or a timeout shows to be lost, that check --json has the part of the path in which
they were lost, and that the time budget has the idle time.

    page_losses.py ROCEDRILL"""
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../traces"))
from connection_builder import MS, NAK_SEQ, READ, RNR, Connection, retransmission  # noqa: E402

TIMEOUT = 9 * MS


def again(t, parts):
    t.add_all(0, [retransmission(t, part) for part in parts])


def naked(t, parts, first):
    """The capture has the packet that the responder lacks."""
    t.add_all(0, parts)
    t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
    again(t, parts[1:])
    return [(2, 0, "lost: a NAK asks for it")], [("a", "behind", 1)]


def gone(t, parts, first):
    """The capture lacks the packet, so the graph has a gap instead of a mark."""
    t.add_all(0, parts[:1] + parts[2:])
    t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
    again(t, parts[1:])
    return [], [("a", "before", 1)]


def both_sides(t, parts, first):
    marks, behind = naked(t, parts, first)
    t.acknowledge(0)
    _, before = gone(t, t.write(0, 4096), t.psn[0] - 4)
    return marks, before + behind


def unanswered(t, parts, first):
    t.add_all(0, parts)
    t.now += TIMEOUT
    again(t, parts)
    return [(4, 0, "no response to it")], [("a", "beyond", 1)]


def unfinished(t, parts, first):
    t.add_all(0, parts[:3])
    t.now += TIMEOUT
    again(t, parts[:3])
    t.add(0, parts[3])
    return [(3, 1, "missing: the end of the message")], [("a", "before", 1)]


def unheard(t, parts, first):
    t.add_all(0, parts)
    t.acknowledge(0)
    t.now += TIMEOUT
    again(t, parts)
    return [(5, 0, "response lost or late")], [("b", "behind", 1)]


def lost_again(t, parts, first):
    t.add_all(0, parts[:1] + parts[2:])
    t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
    again(t, parts[1:])
    t.now += TIMEOUT
    again(t, parts[1:])
    return [(5, 0, "lost again")], [("a", "before", 1), ("a", "beyond", 1)]


def unheeded(t, parts, first):
    """The requester does not react to the NAK."""
    t.add_all(0, parts)
    t.add(1, t.ack(1, first + 1, syndrome=NAK_SEQ, msn=0))
    t.now += 8 * TIMEOUT
    again(t, parts[1:])
    return [(2, 0, "lost: a NAK asks for it"), (5, 0, "NAK lost or ignored")], [("b", "behind", 1)]


def slow_receiver(t, parts, first):
    t.add_all(0, parts)
    t.add(1, t.ack(1, first, syndrome=RNR | 14, msn=0))
    t.now += 2 * MS
    again(t, parts)
    return [], []


def refused(t, parts, first):
    """Like slow_receiver. Linux rxe also sends a sequence NAK for the refused packet when the next one arrives."""
    t.add_all(0, parts)
    t.add(1, t.ack(1, first, syndrome=RNR | 14, msn=0))
    t.add(1, t.ack(1, first, syndrome=NAK_SEQ, msn=0))
    t.now += 2 * MS
    again(t, parts)
    return [], []


def read_lost(t, parts, first):
    """The capture has all responses to a READ, but the requester lacks the last two."""
    t.add_all(0, parts)
    t.acknowledge(0)
    psn, request = t.read(0, 4096)
    t.add(0, request)
    t.add_all(1, t.responses(1, psn, 4096))
    t.now += TIMEOUT
    t.add(0, t.frame(0, READ, psn + 2, t.reth(2048), 1))
    t.add_all(1, t.responses(1, psn, 4096, first=2))
    return [(9, 0, "response lost or late")], [("b", "behind", 1)]


def page_of(rocedrill, folder, t):
    path, page = os.path.join(folder, "capture.pcap"), os.path.join(folder, "page.html")
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        for time, data in t.frames:
            out.write(struct.pack("<IIII", *divmod(time, 10 ** 9), len(data), len(data)) + data)
    run = subprocess.run([rocedrill, "check", "--json", "-", "--html", page, path], stdout=subprocess.PIPE, check=False)
    line = next(o for o in map(json.loads, run.stdout.splitlines()) if o["type"] == "connection")
    with open(page, encoding="utf-8") as text:
        return line, json.loads(re.search(r'id="data">(.*?)</script>', text.read(), re.S).group(1))["captures"][0]["connections"][0]


def losses_of(conn):
    """Returns the marks of the requests of side 0: frame, offset to its PSN, text. And the frame that acknowledges the last of them."""
    frames = list(itertools.accumulate(conn["runs"]["frame"]))
    return [(frames[run], offset, text) for run, offset, text in conn["losses"][0]], [frames[run] for run in conn["delivered"][0]]


def refused_of(conn):
    """Returns the numbers of the sequence NAKs that name a packet which an RNR NAK refused, and of all other sequence NAKs."""
    naks = [conn["runs"]["styles"][s]["mark"] == "refused" for s in conn["runs"]["style"]
            if conn["runs"]["styles"][s]["class"] == "nak"]
    return naks.count(True), naks.count(False)


def main():
    failures = 0
    for case in naked, gone, both_sides, unanswered, unfinished, unheard, lost_again, unheeded, slow_receiver, refused, read_lost:
        t = Connection(mtu=1024)
        for _ in range(3):  # messages without a loss, which show the round-trip time
            t.add_all(0, t.write(0, 4096))
            t.acknowledge(0)
        parts = t.write(0, 4096)
        before, first = len(t.frames), t.psn[0] - 4
        marks, places = case(t, parts, first)
        want = [(before + frame, *rest) for frame, *rest in marks]
        t.acknowledge(0)
        idle = 5 * MS
        t.now += idle
        t.add_all(0, t.write(0, 1024))
        t.acknowledge(0)
        # Each message begins one step after the acknowledgement of the message before. The last message also waits for the pause.
        idle += (5 if case is read_lost else 4) * t.step
        with tempfile.TemporaryDirectory() as folder:
            line, conn = page_of(rocedrill=sys.argv[1], folder=folder, t=t)
        found = losses_of(conn)
        if found != (want, [len(t.frames)]):
            failures += 1
            print(f"{case.__name__}: marks {found}, wanted {want} and the end {len(t.frames)}", file=sys.stderr)
        found, entries = refused_of(conn), [text for _, text in conn["legends"][0] if "NAK for the packet that the RNR NAK refused" in text]
        if found[0] != (case is refused) or len(entries) != found[0]:
            failures += 1
            print(f"{case.__name__}: sequence NAKs {found}, legend {entries}", file=sys.stderr)
        found = [tuple(place[key] for key in ("side", "part", "packets")) for place in line["loss_places"]]
        guesses = [place["probable"] for place in line["loss_places"]]
        if found != places or any(guess != (case is unfinished) for guess in guesses):
            failures += 1
            print(f"{case.__name__}: places of losses {line['loss_places']}, wanted {places}", file=sys.stderr)
        parts_of = {part["part"]: part["ns"] for part in line["time_budget"]}
        if case not in (naked, gone, both_sides) and (parts_of.get("idle") != idle or sum(parts_of.values()) != t.frames[-1][0] - t.frames[0][0]):
            failures += 1
            print(f"{case.__name__}: time budget {parts_of}, wanted idle {idle}", file=sys.stderr)
    sys.exit(failures > 0)


main()
