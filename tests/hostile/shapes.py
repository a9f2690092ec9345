#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Hostile captures: each shape makes some part of an analysis or a replay do as much work as possible for
each packet. `ordinary` and `ordinary_reads` are the traffic that the others are compared with.

shapes.py SHAPE PACKETS OUT      writes a pcap; "list" prints the shapes"""
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "plugin"))
from packet_builder import HOSTS, aeth, bth, cm, reth, roce, roce6  # noqa: E402

WRITE_FIRST, WRITE_ONLY, READ, READ_FIRST, READ_MIDDLE, READ_ONLY, ACK = 6, 10, 12, 13, 14, 16, 17
ATOMIC_ACK, FETCH_ADD, FLUSH = 18, 20, 28
UC_WRITE_FIRST, UC_WRITE_MIDDLE, UC_WRITE_ONLY, UD_SEND, XRC_SEND, XRC_ACK = 0x26, 0x27, 0x2A, 0x64, 0xA4, 0xB1
REQUESTER, RESPONDER = 0x200, 0x100  # destination QPN of requests, and destination QPN of responses
LONGEST = 0x7FFFFFFF  # bytes of the longest message
NAK_SEQUENCE = 0x60
MIX, WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1  # multiplier of an earlier hash function, and mask of its words
IP6_NET = 5  # kind of network in that hash function
SHAPES = {}


def shape(function):
    SHAPES[function.__name__] = function
    return function


def place(number):
    """Returns the two hosts of connection `number`. The first host differs between connections."""
    return struct.pack(">I", 0x0A000000 | number & 0xFFFFFF), HOSTS[1]


def request(psn, opcode=WRITE_ONLY, body=None, qpn=REQUESTER, src=0, sport=0xC000, hosts=HOSTS, ident=1):
    if body is None:
        body = reth(0x1000, 7, 4) + b"abcd"
    return roce(bth(opcode, qpn, psn & 0xFFFFFF, ackreq=1) + body, src, sport, 0, hosts, ident & 0xFFFF)


def response(psn, msn, syndrome=0x1F, opcode=ACK, body=b"", qpn=RESPONDER, src=1, sport=0xC000, hosts=HOSTS, ident=1):
    return roce(bth(opcode, qpn, psn & 0xFFFFFF) + aeth(msn & 0xFFFFFF, syndrome) + body, src, sport, 0, hosts,
                ident & 0xFFFF)


def joined(cnt=8, **where):
    """WRITEs, each acknowledged, so that an analysis knows both directions of the connection."""
    for psn in range(cnt):
        yield request(100 + psn, ident=psn + 1, **where)
        yield response(100 + psn, psn + 1, ident=psn + 1, **where)


# ---- ordinary traffic, with which all other traffic is compared


LONG_WRITE = reth(0x1000, 7, 1024) + bytes(1024)  # body of a long WRITE


@shape
def ordinary(cnt, body=None):
    for psn in range(cnt // 2):
        yield request(psn, body=body, ident=psn)
        yield response(psn, psn + 1, ident=psn)


@shape
def ordinary_reads(cnt):
    for psn in range(cnt // 2):
        yield request(psn, READ, reth(0x1000, 7, 4), ident=psn)
        yield response(psn, psn + 1, opcode=READ_ONLY, body=b"abcd", ident=psn)


@shape
def ordinary_connections(cnt):
    """Short connections: two WRITEs, each acknowledged."""
    for number in range(cnt // 4):
        for psn in range(2):
            where = {"sport": 0xC000 + number % 0x3FFF, "ident": psn + 1}
            yield request(100 + psn, qpn=0x1000 + number, **where)
            yield response(100 + psn, psn + 1, qpn=0x800000 + number, **where)


# ---- promised lengths


@shape
def promised_writes(cnt):
    """Connections of two packets: a WRITE First that promises 2 GiB, and its ACK."""
    for number in range(cnt // 2):
        where = {"hosts": HOSTS, "sport": 0xC000 + number % 0x3FFF}
        yield request(number * 4096, WRITE_FIRST, reth(0x1000, 7, LONGEST) + bytes(256), qpn=0x200 + number, **where)
        yield response(number * 4096, 0, qpn=0x10000 + number, **where)


@shape
def promised_write(cnt):
    for psn in range(cnt // 2):
        yield request(psn, WRITE_FIRST, reth(0x1000, 7, LONGEST) + bytes(256))
        yield response(psn, psn)


@shape
def promised_reads(cnt):
    for number in range(cnt // 2):
        yield request(number << 18, READ, reth(0x1000, 7, LONGEST >> 5))
        yield response(number << 18, number + 1, opcode=READ_FIRST, body=bytes(256))


@shape
def promised_reads_of_connections(cnt):
    """Each connection has one READ of 60 MB, of which the capture has the first response."""
    for number in range(cnt // 4):
        psn, where = number << 18, {"sport": 0xC000 + number % 0x3FFF}
        yield request(psn, qpn=0x1000 + number, **where)
        yield response(psn, 1, qpn=0x800000 + number, **where)
        yield request(psn + 1, READ, reth(0x1000, 7, 60000000), qpn=0x1000 + number, **where)
        yield response(psn + 1, 1, opcode=READ_FIRST, body=bytes(256), qpn=0x800000 + number, **where)


@shape
def gaps_of_uc_streams(cnt, absent=8000):
    """Streams of three packets, each with a WRITE that lacks nearly all of its packets."""
    for number in range(cnt // 3):
        where = {"qpn": 0x1000 + number, "sport": 0xC000 + number % 0x3FFF}
        yield request(0, UC_WRITE_FIRST, reth(0x1000, 7, absent * 256) + bytes(256), **where)
        yield request(absent - 2, UC_WRITE_MIDDLE, bytes(256), **where)
        yield request(absent, UC_WRITE_ONLY, **where)


@shape
def uc_streams_at_the_same_time(cnt):
    """Streams of two packets. The capture has the first packets of all streams, and then their second packets."""
    for number in range(cnt):
        stream, psn = number % (cnt // 2), number // (cnt // 2)
        yield request(psn, UC_WRITE_ONLY, qpn=0x1000 + stream, sport=0xC000 + stream % 0x3FFF)


@shape
def unanswered_reads(cnt):
    yield from joined()
    for psn in range(cnt):
        yield request(108 + psn, READ, reth(0x1000, 7, LONGEST), ident=psn)


@shape
def flushes(cnt):
    for psn in range(cnt // 2):
        yield request(psn, FLUSH, struct.pack(">I", 1) + reth(0x1000, 7, 0xFFFFFFFF))
        yield response(psn, psn + 1, opcode=READ_ONLY)


@shape
def promised_uc_writes(cnt):
    for number in range(cnt // 2):
        yield request(2 * number, UC_WRITE_FIRST, reth(0x1000, 7, LONGEST) + bytes(256))
        yield request(2 * number + 1, UC_WRITE_MIDDLE, bytes(256))
    yield request(2 * (cnt // 2), UC_WRITE_ONLY, reth(0x1000, 7, 4) + b"abcd")


# ---- retransmissions and acknowledgements


@shape
def naks_after_writes(cnt):
    """N WRITEs, then N sequence NAKs, each of which restarts the requester."""
    for psn in range(cnt // 2):
        yield request(psn, ident=psn)
    for psn in range(cnt // 2):
        yield response(psn, psn, NAK_SEQUENCE, ident=psn)
    yield response(cnt // 2 - 1, cnt // 2)


@shape
def naks_of_connections(cnt, each=200):
    for number in range(max(1, cnt // (2 * each))):
        where = {"sport": 0xC000 + number % 0x3FFF}
        base = number << 12
        for psn in range(each):
            yield request(base + psn, qpn=0x1000 + number, ident=psn, **where)
        for psn in range(each):
            yield response(base + psn, psn, NAK_SEQUENCE, qpn=0x800000 + number, ident=psn, **where)
        yield response(base + each - 1, each, qpn=0x800000 + number, ident=each, **where)


@shape
def naks_after_the_ack(cnt):
    for psn in range(cnt // 2):
        yield request(psn, ident=psn)
    yield response(cnt // 2 - 1, cnt // 2)
    for psn in range(cnt // 2):
        yield response(psn, psn, NAK_SEQUENCE, ident=psn)


@shape
def naks_far_behind(cnt):
    for psn in range(cnt // 2):
        yield request(psn, ident=psn)
        yield response(max(0, psn - 20000), max(0, psn - 20000), NAK_SEQUENCE, ident=psn)


@shape
def naks_before_the_request(cnt):
    yield request(5000)
    yield response(5000, 1, NAK_SEQUENCE)
    for number in range(cnt):
        yield response(4000, 0, NAK_SEQUENCE, ident=number)


@shape
def random_naks(cnt):
    rng = random.Random(1)
    yield from joined()
    for number in range(cnt):
        yield response(rng.randrange(60000), 9, NAK_SEQUENCE, ident=number)


@shape
def wrong_msns(cnt):
    for psn in range(cnt // 2):
        yield request(psn, ident=psn)
        yield response(psn, psn * 7 + 3, ident=psn)


@shape
def holes_filled_backwards(cnt, depth=8000):
    """Each connection jumps ahead, then fills the hole from its end."""
    number = left = 0
    while left < cnt:
        where = {"hosts": place(number)}
        yield from joined(qpn=0x1000 + number, **where)
        yield request(108 + depth, qpn=0x1000 + number, ident=200, **where)
        for step in range(depth - 1):
            yield request(107 + depth - step, qpn=0x1000 + number, ident=300 + step, **where)
        number, left = number + 1, left + depth


@shape
def random_psns(cnt, space=60000):
    rng = random.Random(1)
    yield from joined()
    for number in range(cnt):
        yield request(rng.randrange(space), ident=number)


@shape
def random_psns_everywhere(cnt):
    yield from random_psns(cnt, 1 << 24)


@shape
def random_reads(cnt):
    rng = random.Random(1)
    yield from joined()
    for number in range(cnt):
        yield request(rng.randrange(60000), READ, reth(0x1000, 7, 4), ident=number)


@shape
def random_read_responses(cnt, reads=4000):
    rng = random.Random(1)
    yield from joined()
    for number in range(reads):
        yield request(108 + 4 * number, READ, reth(0x1000 + 4096 * number, 7, 4096), ident=number)
    for _ in range(cnt):
        yield roce(bth(READ_MIDDLE, RESPONDER, 108 + rng.randrange(4 * reads)) + bytes(1024), 1)


@shape
def rests(cnt, reads=7000):
    """The window is full of READs. Then the requester jumps ahead with a WRITE First, each after a rest of 2 s."""
    yield from joined()
    for number in range(reads):
        yield request(108 + 2 * number, READ, reth(0x1000, 7, 300), ident=number)
    for number in range(cnt):
        yield 2.0
        yield request(30000 + number, WRITE_FIRST, reth(0x1000, 7, 512) + bytes(256), ident=number)


@shape
def reads_out_of_order(cnt):
    """READ requests that skip one PSN each, so that none of them is in order."""
    yield from joined()
    for number in range(cnt):
        yield request(109 + 2 * number, READ, reth(0x1000, 7, 4), ident=number)


# ---- many connections, QPs or addresses


@shape
def connections_of_one_packet(cnt):
    for number in range(cnt):
        yield request(1, hosts=place(number))


@shape
def connections_of_two_packets(cnt):
    for number in range(cnt // 2):
        where = {"sport": 0xC000 + number % 0x3FFF}
        yield request(1, qpn=0x1000 + number, **where)
        yield response(1, 1, qpn=0x800000 + number, **where)


@shape
def responder_addresses(cnt):
    for number in range(cnt // 2):
        hosts = place(number)[::-1]
        yield request(1, hosts=hosts)
        yield response(1, 1, hosts=hosts)


@shape
def equal_requesters(cnt, equal=300):
    """Requesters with equal PSNs, and responses that fit all of them."""
    for number in range(equal):
        for psn in range(4):
            yield request(0x123456 + psn, qpn=0x1000 + number, sport=50000 + number)
    for number in range(cnt - 4 * equal):
        yield response(0x123456 + number % 4, 5 + (number & 3), qpn=0x9000 + number % equal, sport=51000)


@shape
def claimed_requests(cnt):
    """One-sided requests of many QPs, requests of the other host, and a few responses that fit many."""
    for number in range(cnt // 4):
        yield request(number // 16, qpn=0x100000 + number)
    for number in range(cnt // 2):
        yield request(number & 0xFFFF, qpn=RESPONDER, src=1)
    for number in range(cnt // 64):
        yield response(number, 1)


@shape
def segments(cnt):
    """Both sides jump ahead between any two requests, so that each is a segment."""
    for number in range(cnt // 4):
        psn = number * 0x30000 + 1
        yield request(psn)
        yield response(psn, 1)
        yield request(psn, qpn=RESPONDER, src=1)
        yield response(psn, 1, qpn=REQUESTER, src=0)


@shape
def segments_of_far_memory(cnt):
    """The first WRITE makes the region of all others span 30 GiB."""
    yield request(1, body=reth(0x1000 + (30 << 30), 7, 4) + b"abcd")
    yield response(1, 1)
    yield from list(segments(cnt))[2:]


@shape
def shared_receive_queues(cnt):
    for number in range(cnt // 2):
        yield request(number, XRC_SEND, struct.pack(">I", number + 5) + b"abcd", ident=number)
        yield response(number, number + 1, opcode=XRC_ACK, ident=number)


@shape
def memory_regions(cnt):
    for number in range(cnt // 2):
        yield request(number, READ, reth(number << 32, number + 1, 4), ident=number)
        yield response(number, number + 1, opcode=READ_ONLY, body=b"abcd", ident=number)


@shape
def contradicted_writes(cnt):
    for number in range(cnt // 4):
        yield request(2 * number, WRITE_ONLY, reth(0x1000, 7, 4) + b"aaaa", ident=number)
        yield response(2 * number, 2 * number + 1, ident=number)
        yield request(2 * number + 1, READ, reth(0x1000, 7, 4), ident=number)
        yield response(2 * number + 1, 2 * number + 2, opcode=READ_ONLY, body=b"bbbb", ident=number)


@shape
def atomics_without_order(cnt, qps=1000):
    """Atomics of many QPs on one word, whose results contradict the order of their packets."""
    for number in range(qps):
        yield request(16 * number, qpn=0x1000 + number, sport=50000 + number)
        yield response(16 * number, 1, qpn=0x8000 + number, sport=50000 + number)
    for turn in range(max(1, cnt // qps // 2)):
        for number in range(qps):
            psn, sport = 16 * number + 1 + turn, 50000 + number
            yield request(psn, FETCH_ADD, struct.pack(">QIQQ", 0x1000, 7, 1, 0), 0x1000 + number, sport=sport)
            yield response(psn, 2 + turn, opcode=ATOMIC_ACK, qpn=0x8000 + number, sport=sport,
                           body=struct.pack(">Q", turn * qps + qps - 1 - number))


@shape
def rnr_naks_of_one_request(cnt):
    """One request that the responder refuses again and again."""
    yield from joined()
    for number in range(cnt // 2):
        yield request(108, ident=number)
        yield response(108, 8, 0x3F, ident=number)


@shape
def stray_responses(cnt, qps=2000):
    for number in range(qps):
        yield request(16 * number, qpn=0x1000 + number, sport=50000 + number)
        yield response(16 * number, 1, qpn=0x8000 + number, sport=50000 + number)
    for number in range(max(0, cnt - 2 * qps)):
        yield response(0x700000 + number % 0x8000, 7, qpn=0x100000 + number, sport=7)


@shape
def connection_requests(cnt):
    rng = random.Random(1)
    for number in range(cnt):
        yield cm(0x10, {0: struct.pack(">I", rng.getrandbits(32)), 8: struct.pack(">Q", 0x106CAFE),
                        32: struct.pack(">I", (0x300 + number & 0xFFFFFF) << 8)})


@shape
def datagram_streams(cnt):
    for number in range(cnt):
        yield roce(bth(UD_SEND, 0x200 + (number & 0xFFF), number & 0xFFFFFF) +
                   struct.pack(">II", 1, 0x1000 + (number >> 4)) + b"abcd")


@shape
def random_uc_psns(cnt):
    rng = random.Random(1)
    for _ in range(cnt):
        yield request(rng.getrandbits(24), UC_WRITE_ONLY)


@shape
def addresses_of_one_network(cnt):
    """IPv6 connections whose addresses differ in a few bits only: in a weak hash they collide."""
    for number in range(cnt):
        low = struct.pack(">Q", (number & 0xFF) << 56 | number >> 8)
        yield roce6(bth(WRITE_ONLY, REQUESTER, 1, ackreq=1) + reth(0x1000, 7, 4) + b"abcd", 0,
                    (bytes.fromhex("20010db800000000") + low, bytes.fromhex("20010db8000000010000000000000001")))


def mixed(word):
    """A step of the hash function without a key by which rnic/flow once found connections."""
    word = word * MIX & WORD
    return word ^ word >> 29


def unmixed(word):
    """The inverse of mixed()."""
    found = word
    for _ in range(3):
        found = word ^ found >> 29
    return found * pow(MIX, -1, 1 << 64) & WORD


@shape
def equal_hashes(cnt, colliding=True):
    """IPv6 connections whose hashes without a key are equal, or with random addresses instead."""
    rng = random.Random(1)
    source, network = bytes.fromhex("20010db8000000000000000000000001"), bytes.fromhex("20010db800000001")
    words = struct.unpack("<QQQ", source + network)
    begin = mixed(words[0] ^ (words[1] << 1 & WORD) ^ words[2]) ^ words[1]
    for _ in range(cnt):
        hashed = rng.getrandbits(16) << 48 | 0x12345678 << 16 | rng.getrandbits(16)
        word = unmixed(unmixed(unmixed(hashed) ^ IP6_NET) ^ (REQUESTER << 32 | 0xFFFFFFFF)) ^ begin
        host = struct.pack("<Q", word if colliding else rng.getrandbits(64))
        yield roce6(bth(WRITE_ONLY, REQUESTER, 1, ackreq=1) + reth(0x1000, 7, 4) + b"abcd", 0, (source, network + host))


def write(path, frames, step=1):
    """Writes a pcap whose frames are `step` microseconds apart. A number among the frames is a rest in seconds. Returns
    the number of frames."""
    cnt = rest = 0
    with open(path, "wb", buffering=1 << 20) as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        for frame in frames:
            if isinstance(frame, float):
                rest += int(frame * 1000000)
                continue
            usec = cnt * step + rest
            out.write(struct.pack("<IIII", 1700000000 + usec // 1000000, usec % 1000000, len(frame), len(frame)) + frame)
            cnt += 1
    return cnt


def main():
    if sys.argv[1:] == ["list"]:
        print("\n".join(SHAPES))
        return 0
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES:
        sys.exit(__doc__)
    print(write(sys.argv[3], SHAPES[sys.argv[1]](int(sys.argv[2]))), "packets")
    return 0


if __name__ == "__main__":
    sys.exit(main())
