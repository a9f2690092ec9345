# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Hostile frames for a live port: each shape makes the device or the communication manager of live_input.c do as much
work as possible for each frame. `ordinary` is the traffic that the others are compared with."""
import random
import struct

import shapes
from packet_builder import GIDS, bth, cm, eth, mad, req, reth, roce

DEVICE = 0x200  # QPN of the device's RC QP
CNP, DREQ, REQ, SIDR_REQ = 0x81, 0x15, 0x10, 0x17
SERVICE = struct.pack(">Q", 0x106CAFE)


def ordinary(cnt):
    return (shapes.request(psn, ident=psn) for psn in range(cnt))


def each(function):
    """Returns a shape: a function that yields `cnt` frames. `function` builds each frame from random numbers."""
    def frames(cnt):
        rng = random.Random(1)
        return (function(rng) for _ in range(cnt))
    return frames


def old_psns(cnt):
    rng = random.Random(1)
    yield from ordinary(100)
    for _ in range(cnt - 100):
        yield shapes.request(rng.randrange(100))


def reads(cnt):
    """READs of the whole region; all except the first are duplicates."""
    return (shapes.request(0, shapes.READ, reth(0x1000, 7, 4096)) for _ in range(cnt))


SHAPES = {
    "ordinary": ordinary,
    "garbage": each(lambda rng: roce(rng.randbytes(rng.randrange(12, 1400)))),
    "short_garbage": each(lambda rng: roce(rng.randbytes(16))),
    "wrong_icrcs": each(lambda rng: shapes.request(0, body=reth(0x1000, 7, 1024) + bytes(1024))[:-4] + bytes(4)),
    "unknown_qpns": each(lambda rng: shapes.request(0, qpn=0x300 + rng.randrange(1 << 20))),
    "random_psns": each(lambda rng: shapes.request(rng.getrandbits(24))),
    "old_psns": old_psns,
    "wrong_rkeys": each(lambda rng: shapes.request(0, body=reth(0x1000, rng.getrandbits(32), 4) + b"abcd")),
    "reads": reads,
    "forged_naks": each(lambda rng: shapes.response(rng.randrange(16), 0, shapes.NAK_SEQUENCE, qpn=DEVICE, src=0)),
    "forged_acks": each(lambda rng: shapes.response(rng.getrandbits(24), 0, qpn=DEVICE, src=0)),
    "cnps": each(lambda rng: roce(bth(CNP, DEVICE, 0) + bytes(16))),
    "connection_requests": each(lambda rng: req(0xCAFE, rng.getrandbits(24), comm=rng.getrandbits(32))),
    "equal_requests": each(lambda rng: req(0xCAFE, comm=77)),
    "unknown_services": each(lambda rng: cm(REQ, {0: rng.randbytes(4), 8: rng.randbytes(8)})),
    "service_requests": each(lambda rng: cm(SIDR_REQ, {0: rng.randbytes(4), 8: SERVICE})),
    "disconnects": each(lambda rng: cm(DREQ, {0: rng.randbytes(8)})),
    "random_mads": each(lambda rng: mad(rng.randbytes(256))),
    "any_cm_messages": each(lambda rng: cm(REQ + rng.randrange(16), {0: rng.randbytes(232)})),
}

# ---- frames for the live port: ARP and Neighbour Discovery

ARP, IP6, ICMP6 = 0x0806, 0x86DD, 58
LOCAL = bytes.fromhex("fe800000000000000000000000000002")  # an address of the device


def arp(op, sender, target, kind=1):
    return eth(ARP) + struct.pack(">HHBBH", kind, 0x0800, 6, 4, op) + bytes([2, 0, 0, 0, 0, 1]) + sender + bytes(6) + \
        target + bytes(18)


def discovery(kind, target, options=b"", good=True, hops=255):
    """Returns a Neighbour Discovery message with a right or wrong checksum."""
    body = struct.pack(">BBHI", kind, 0, 0, 0) + target + options
    words = GIDS[0] + GIDS[1] + struct.pack(">II", len(body), ICMP6) + body
    total = sum(struct.unpack(f">{len(words) // 2}H", words))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    checksum = (0xFFFF - total) ^ (not good)
    return eth(IP6) + struct.pack(">IHBB", 6 << 28, len(body), ICMP6, hops) + GIDS[0] + GIDS[1] + body[:2] + \
        struct.pack(">H", checksum) + body[4:]


LONG = struct.pack(">BB6x", 9, 1) * 170  # options that fill a message of one MTU, none of which the receiver knows

PORT_SHAPES = {
    "ordinary": ordinary,
    "garbage": SHAPES["garbage"],
    "wrong_icrcs": SHAPES["wrong_icrcs"],
    "arp_requests": each(lambda rng: arp(1, rng.randbytes(4), bytes([192, 0, 2, 2]))),
    "arp_requests_for_others": each(lambda rng: arp(1, rng.randbytes(4), rng.randbytes(4))),
    "arp_replies": each(lambda rng: arp(2, rng.randbytes(4), rng.randbytes(4))),
    "arp_garbage": each(lambda rng: eth(ARP) + rng.randbytes(rng.randrange(60))),
    "solicitations": each(lambda rng: discovery(135, LOCAL)),
    "advertisements": each(lambda rng: discovery(136, rng.randbytes(16))),
    "long_advertisements": each(lambda rng: discovery(136, rng.randbytes(16), LONG)),
    "wrong_checksums": each(lambda rng: discovery(136, rng.randbytes(16), LONG, False)),
    "other_hop_limits": each(lambda rng: discovery(135, LOCAL, hops=64)),
    "icmp_garbage": each(lambda rng: discovery(rng.randrange(256), b"", rng.randbytes(2 * rng.randrange(20)))),
}

# ---- acts of a hostile peer in shared memory (port_input.c)

WORD, LEAVE, HELLO, READ, HEAD = b"w", b"l", b"h", b"r", b"p"


def word(value):
    return WORD + struct.pack("<Q", value)


SHM_SHAPES = {
    "ordinary": ordinary,
    "random_frames": each(lambda rng: rng.randbytes(rng.randrange(14, 4000))),
    "joins": each(lambda rng: HELLO),
    "wrong_words": each(lambda rng: word(rng.getrandbits(64) | 1)),
    "long_frames": each(lambda rng: word(rng.randrange(5000, 1 << 32))),
    "skips": each(lambda rng: word(1 << 63)),
    "silent_connections": each(lambda rng: LEAVE),
    "nothing_read": each(lambda rng: READ),
    "wrong_positions": each(lambda rng: HEAD + struct.pack("<Q", rng.getrandbits(64) | 1 << 63)),
}
