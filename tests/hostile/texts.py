# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Hostile texts for the drill parser and the agent: each shape makes the parser do as much work as possible for each
byte. A shape returns at most `room` bytes. `ordinary` is the text that the others are compared with."""
import json

DRILL_HEAD = ("purpose p\nrules RC-PSN-058\nrole responder\n"
              "mr M len 8192 access all fill 1\nqp Q rc mtu 1024\n")
AGENT_ROOM = 7000  # bytes; the program that runs the lines ignores the rest of a longer file


def until(room, head, line):
    """Returns `head` and line(0), line(1) and so on, as many as fit."""
    lines, size = [head], len(head)
    while size + len(line(len(lines))) < room:
        lines.append(line(len(lines) - 1))
        size += len(lines[-1])
    return "".join(lines)


DRILLS = {
    "ordinary": lambda room: until(room, DRILL_HEAD, lambda n: (
        f"+0 < WRITE Only PSN +{n} va M+8 payload 64 AckReq\n+0~+1ms > Acknowledge PSN +{n} ACK MSN {n + 1}\n")),
    "short_lines": lambda room: until(room, DRILL_HEAD, lambda n: "* > Q: nothing\n"),
    "nested_sums": lambda room: until(room, DRILL_HEAD, lambda n: (
        f"+0 < SEND Only PSN {'(' * 18}1{')' * 18} payload 4\n")),
    "long_sums": lambda room: DRILL_HEAD + f"+0 < SEND Only PSN ({'1+' * (room // 2 - 200)}1) payload 4\n",
    "long_data": lambda room: until(room, DRILL_HEAD, lambda n: f"+0 < SEND Only PSN +{n} data {'00' * 1000}\n"),
    "comments": lambda room: DRILL_HEAD + "+0 < SEND Only PSN +0 payload 4\n" + "#\n" * (room // 2 - 200),
    "purpose_lines": lambda room: until(room, "purpose p\n", lambda n: " p\n") + DRILL_HEAD[len("purpose p\n"):] +
                     "+0 < SEND Only PSN +0 payload 4\n",
    "many_receives": lambda room: until(room, DRILL_HEAD, lambda n: f"+0 recv Q id {n} len 4\n"),
    "many_fields": lambda room: until(room, DRILL_HEAD, lambda n: (
        f"+0 < SEND Only PSN +{n} payload 4 bth.pkey=1 bth.se=1 bth.tver=1 bth.migreq=1 ip.ttl=1\n")),
    "branches": lambda room: until(room, DRILL_HEAD + "+0 < SEND Only PSN +0 payload 4\n+0~+1ms > nothing\n",
                                   lambda n: "or +0~+1ms > Acknowledge PSN +0 ACK\n"),
}


def line(op, **members):
    return json.dumps({"op": op, **members}) + "\n"


ORDINARY_MR = line("mr", len=4096, access=["write", "read"])
AGENT = {
    "ordinary": lambda room: until(room, "\n" + ORDINARY_MR, lambda n: (
        line("store", mr=0, off=n % 64, hex="00112233445566778899aabbccddeeff") + line("load", mr=0, off=0, len=16))),
    "regions": lambda room: until(room, "\n", lambda n: ORDINARY_MR),
    "large_regions": lambda room: until(room, "\n", lambda n: line("mr", len=1 << 30, access=[])),
    "queue_pairs": lambda room: until(room, "\n", lambda n: line("qp", type="rc", max_send=8192, max_recv=8192)),
    "deep_lists": lambda room: "\n" + "[" * (room - 2),
    "no_json": lambda room: until(room, "\n", lambda n: "x\n"),
    "many_members": lambda room: "\n{" + ",".join(f'"{n}":1' for n in range(room // 8)) + "}\n",
    "escapes": lambda room: "\n" + '{"op":"' + "\\u00e4" * (room // 6 - 4) + '"}\n',
    "large_loads": lambda room: until(room, "\n" + line("mr", len=1 << 18, access=["read"]),
                                      lambda n: line("load", mr=0, off=0, len=AGENT_ROOM // 50)),
    "large_crcs": lambda room: until(room, "\n" + line("mr", len=1 << 18, access=["read"]),
                                     lambda n: line("crc", mr=0, off=0, len=1 << 16)),
    "polls": lambda room: until(room, "\n", lambda n: line("poll", max=256)),
    "unknown_words": lambda room: until(room, "\n", lambda n: line("mr", len=1, access=["a"] * 20)),
}
