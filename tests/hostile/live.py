# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Hostile frames for a live port: each shape makes the device or the communication manager of live_input.c do as much
work as possible for each frame. `ordinary` is the traffic that the others are compared with."""
import random
import struct

import shapes
from packet_builder import bth, cm, mad, req, reth, roce

DEVICE = 0x200  # QPN of the device's RC QP
CNP, DREQ, REQ, SIDR_REQ = 0x81, 0x15, 0x10, 0x17
SERVICE = struct.pack(">Q", 0x106CAFE)


def ordinary(cnt):
    return (shapes.request(psn, ident=psn) for psn in range(cnt))


def each(function):
    """Returns a shape of frames that `function` makes of random numbers."""
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
    """READs of the whole region, all duplicates but the first."""
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
