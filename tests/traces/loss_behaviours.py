# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Behaviours with loss, delay and reordering, and the reactions of requesters and responders."""
import struct

from connection_builder import MTU, US, MS, READ, ATOMIC_ACK, FETCH_ADD, ACK_OK, NAK_SEQ, RNR, retransmission, shuffled, plain


def missing_sixth(t):
    """Returns the 20 packets of a WRITE, and a function that adds the NAK for the sixth."""
    frames = t.write(0, 80000)
    psn = t.psn[0] - len(frames) + 5
    return frames, lambda: t.add(1, t.ack(1, psn, NAK_SEQ, t.msn[0] - 1))


def sprayed_writes(t, resv=0x20):
    for _ in range(8):
        t.add_all(0, shuffled(t.rng, t.write(0, 60000, resv=resv), 6))
        t.acknowledge(0)


def sprayed_messages(t):
    """Several messages on several paths at the same time: their packets interleave."""
    for _ in range(5):
        frames = [f for _ in range(6) for f in t.write(0, 20000, imm=True)]
        t.add_all(0, shuffled(t.rng, frames, 10))
        t.acknowledge(0)


def sprayed_both(t):
    """ACKs are reordered too."""
    acks = []
    for _ in range(60):
        t.add_all(0, t.write(0, 64))
        acks.append(t.ack(1, t.psn[0] - 1))
        if len(acks) == 4:
            t.add_all(1, shuffled(t.rng, acks, 3))
            acks = []


def sprayed_reads(t):
    for _ in range(6):
        psn, request = t.read(0, 50000)
        t.add(0, request)
        t.add_all(1, shuffled(t.rng, t.responses(1, psn, 50000), 5))


def sprayed_reads_deep(t):
    """Four READs are outstanding, and their responses interleave."""
    for _ in range(4):
        responses = []
        for _ in range(4):
            psn, request = t.read(0, 20000)
            t.add(0, request)
            responses += t.responses(1, psn, 20000)
        t.add_all(1, shuffled(t.rng, responses, 4))


def sprayed_atomics(t):
    for _ in range(5):
        acks = []
        for i in range(4):
            psn = t.use_psns(0)
            t.msn[0] += 1
            t.add(0, t.frame(0, FETCH_ADD, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, 1, 0), 1))
            acks.append(t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], i)))
        t.add_all(1, [acks[1], acks[0], acks[3], acks[2]])


def port_a_packet(t):
    ports = iter(range(10 ** 9))
    t.sport = [lambda: 0xC000 | next(ports) * 7919 & 0x3FFF, lambda: 0xC000 | next(ports) * 104729 & 0x3FFF]
    sprayed_writes(t, 0)


def dscp_a_plane(t):
    for i in range(40):
        t.add_all(0, t.write(0, 20000, tos=0x60 + 4 * (i % 4) | 2))
        t.acknowledge(0)


def selective_repeat(t):
    """Capture point at the sender: one packet is lost and NAKed, and only that packet is retransmitted."""
    for _ in range(5):
        frames, nak = missing_sixth(t)
        t.add_all(0, frames[:12])
        nak()
        t.add_all(0, frames[12:14])
        t.add(0, retransmission(t, frames[5]))
        t.add_all(0, frames[14:])
        t.acknowledge(0)


def selective_repeat_receiver(t):
    """As selective_repeat(), but with the capture point at the receiver: the lost packet is captured once,
    out of order."""
    for _ in range(5):
        frames, nak = missing_sixth(t)
        t.add_all(0, frames[:5] + frames[6:12])
        nak()
        t.add_all(0, frames[12:14] + [retransmission(t, frames[5])] + frames[14:])
        t.acknowledge(0)


def go_back(t):
    for _ in range(5):
        frames, nak = missing_sixth(t)
        t.add_all(0, frames[:12])
        nak()
        t.add_all(0, frames[12:14])
        t.add_all(0, [retransmission(t, f) for f in frames[5:]])
        t.acknowledge(0)


def late_and_asked_for(t):
    """A packet is delayed; the receiver accepts no out-of-order packets and sends a NAK for it."""
    for _ in range(5):
        frames, nak = missing_sixth(t)
        t.add_all(0, frames[:5] + frames[6:9] + [frames[5]])
        nak()
        t.add_all(0, frames[9:11])
        t.add_all(0, [retransmission(t, f) for f in frames[5:]])
        t.acknowledge(0)


def nak_again(t):
    """A NAK for each packet after the gap, as some RNICs send."""
    frames, nak = missing_sixth(t)
    t.add_all(0, frames[:5])
    for f in frames[6:12]:
        t.add(0, f)
        nak()
    t.add_all(0, [retransmission(t, f) for f in frames[5:]])
    t.acknowledge(0)


def cnp_without_mark(t):
    """Lossy acceleration: a CNP for an out-of-sequence packet, without any mark."""
    for _ in range(4):
        frames, nak = missing_sixth(t)
        t.add_all(0, frames[:5] + frames[6:12])
        nak()
        t.add(1, t.cnp(1))
        t.add_all(0, [retransmission(t, f) for f in frames[5:]])
        t.acknowledge(0)


def trimmed(t, lengths=False):
    """A congested switch trims packets to their headers, with another DSCP and the original IP length."""
    for _ in range(4):
        frames, nak = missing_sixth(t)
        small = bytearray(frames[5][:110])
        small[15] = 0x2A
        if lengths:
            small[16:18] = struct.pack(">H", 96)
            small[38:40] = struct.pack(">H", 76)
        t.add_all(0, frames[:5] + [bytes(small)] + frames[6:10])
        nak()
        t.add_all(0, [retransmission(t, f) for f in frames[5:]])
        t.acknowledge(0)


def trimmed_length(t):
    """As trimmed(), but the switch adjusts the lengths of IP and UDP."""
    trimmed(t, True)


def sprayed_and_lost(t):
    """Several paths with loss; the receiver accepts any order and gets only the missing packet again."""
    for _ in range(4):
        frames = t.write(0, 160000, resv=0x20)
        first = t.psn[0] - len(frames)
        t.add_all(0, shuffled(t.rng, frames[:11] + frames[12:30], 5))
        t.add(1, t.ack(1, first + 11, NAK_SEQ, t.msn[0] - 1))
        t.add_all(0, shuffled(t.rng, frames[30:], 5))
        t.add(0, retransmission(t, frames[11]))
        t.acknowledge(0)


def ack_lost(t):
    """The ACK is lost after the capture point: all packets are retransmitted and acknowledged again."""
    for _ in range(3):
        frames = t.write(0, 20000)
        t.add_all(0, frames)
        t.acknowledge(0)
        t.now += 20 * MS
        t.add_all(0, [retransmission(t, f) for f in frames])
        t.acknowledge(0)


def rnr(t):
    for _ in range(3):
        frame = t.send(0, 256)
        t.add(0, frame)
        t.add(1, t.ack(1, t.psn[0] - 1, RNR | 12, t.msn[0] - 1))
        t.add(0, retransmission(t, frame), wait=700 * US)
        t.acknowledge(0)


def rnr_in_a_window(t):
    """No receive is posted for the third of eight SENDs; it and the later ones are retransmitted after the RNR delay."""
    for _ in range(3):
        frames = [t.send(0, 256) for _ in range(8)]
        first = t.psn[0] - 8
        t.add_all(0, frames)
        t.add(1, t.ack(1, first + 1, ACK_OK, t.msn[0] - 6))
        t.add(1, t.ack(1, first + 2, RNR | 12, t.msn[0] - 6))
        t.add(0, retransmission(t, frames[2]), wait=700 * US)
        t.add_all(0, [retransmission(t, f) for f in frames[3:]])
        t.acknowledge(0)


def adaptive_retransmission(t):
    """The retransmission timeouts measured of ConnectX (Lumina, L8), then an ACK."""
    plain(t)
    frames = t.write(0, 64)
    t.add_all(0, frames)
    for wait in (5.6, 4.1, 8.4, 16.7, 25.1, 67.1, 134.2, 134.2, 134.2):
        t.add(0, retransmission(t, frames[0]), wait=int(wait * MS))
    t.acknowledge(0)


def gives_up(t):
    plain(t)
    frames = t.write(0, 64)
    t.add_all(0, frames)
    for wait in (5.6, 4.1, 8.4, 16.7, 25.1, 67.1, 134.2, 134.2, 134.2, 134.2, 134.2, 134.2, 134.2):
        t.add(0, retransmission(t, frames[0]), wait=int(wait * MS))


def read_partly_again(t):
    """A READ response is lost: the requester READs the rest, with the address and length of the rest."""
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.add(0, request)
        responses = t.responses(1, psn, 40000)
        t.add_all(1, responses[:4] + responses[5:])
        rest = 40000 - 4 * t.mtu
        t.add(0, t.frame(0, READ, psn + 4, t.reth(rest, 0x7F0000010000 + 4 * t.mtu), 1))
        t.add_all(1, t.responses(1, psn, 40000, 4))


def read_late_and_again(t):
    """A READ response is delayed; the requester accepts no out-of-order responses and READs the rest again."""
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.add(0, request)
        responses = t.responses(1, psn, 40000)
        t.add_all(1, responses[:4] + responses[5:8] + [responses[4]] + responses[8:])
        rest = 40000 - 5 * t.mtu
        t.add(0, t.frame(0, READ, psn + 5, t.reth(rest, 0x7F0000010000 + 5 * t.mtu), 1))
        t.add_all(1, t.responses(1, psn, 40000, 5))


def read_whole_again(t):
    for _ in range(4):
        psn, request = t.read(0, 40000)
        t.add(0, request)
        t.add(0, retransmission(t, request), wait=5 * MS)
        t.add_all(1, t.responses(1, psn, 40000))


def page_faults(t):
    """On-demand paging: RNR NAKs at the start and inside of a WRITE and of a READ, and for an atomic."""
    for _ in range(2):
        frames = t.write(0, 60000)
        first = t.psn[0] - len(frames)
        t.add_all(0, frames[:9])
        t.add(1, t.ack(1, first, RNR | 12, t.msn[0] - 1))
        t.add(0, retransmission(t, frames[0]), wait=700 * US)
        t.add_all(0, [retransmission(t, f) for f in frames[1:9]])
        t.add(1, t.ack(1, first + 5, RNR | 12, t.msn[0] - 1))
        t.add(0, retransmission(t, frames[5]), wait=700 * US)
        t.add_all(0, [retransmission(t, f) for f in frames[6:9]])
        t.add_all(0, frames[9:])
        t.acknowledge(0)
        psn, request = t.read(0, 40000)
        for _ in range(3):
            t.add(0, request)
            t.add(1, t.ack(1, psn, RNR | 12, t.msn[0] - 1))
            t.now += 700 * US
            request = retransmission(t, request)
        t.add(0, request)
        responses = t.responses(1, psn, 40000)
        t.add_all(1, responses[:4])
        t.add(1, t.ack(1, psn + 4, RNR | 12, t.msn[0]))
        rest = 40000 - 4 * t.mtu
        t.add(0, t.frame(0, READ, psn + 4, t.reth(rest, 0x7F0000010000 + 4 * t.mtu), 1), wait=700 * US)
        t.add_all(1, t.responses(1, psn, 40000, 4))
        psn, request = t.read(0, 40000)
        t.add(0, request)
        t.add(1, t.ack(1, psn, RNR | 12, t.msn[0]))  # the MSN already counts this READ
        t.add(0, retransmission(t, request), wait=700 * US)
        t.add_all(1, t.responses(1, psn, 40000))
        psn = t.use_psns(0)
        t.msn[0] += 1
        request = t.frame(0, FETCH_ADD, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, 1, 0), 1)
        t.add(0, request)
        t.add(1, t.ack(1, psn, RNR | 12, t.msn[0] - 1))
        t.add(0, retransmission(t, request), wait=700 * US)
        t.add(1, t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], 5)))
        t.add_all(0, t.write(0, 64))
        t.acknowledge(0)


def page_faults_without_end(t):
    plain(t)
    frame = t.write(0, 64)[0]
    for _ in range(4):
        t.add(0, frame)
        t.add(1, t.ack(1, t.psn[0] - 1, RNR | 12, t.msn[0] - 1))
        t.now += 700 * US
        frame = retransmission(t, frame)


def shared_page_faults(t):
    """XRC: WRITEs to pages that are not present."""
    for i in range(6):
        psn = t.use_psns(0)
        t.msn[0] += 1
        frame = t.frame(0, 0xAA, psn, struct.pack(">I", 0x33) + t.reth(64) + bytes(64), 1)
        t.add(0, frame)
        if i % 2:
            t.add(1, t.frame(1, 0xB1, psn, struct.pack(">I", (RNR | 12) << 24 | t.msn[0] - 1)))
            t.add(0, retransmission(t, frame), wait=700 * US)
        t.add(1, t.frame(1, 0xB1, psn, struct.pack(">I", ACK_OK << 24 | t.msn[0])))


def unreliable(t):
    """UC on several paths, with missing packets."""
    for i in range(10):
        psn = t.use_psns(0, 8)
        frames = [t.frame(0, 0x26 if k == 0 else 0x28 if k == 7 else 0x27, psn + k, (t.reth(8 * MTU) if k == 0 else b"") + bytes(MTU))
                  for k in range(8)]
        if i % 4 == 3:
            del frames[3]
        t.add_all(0, shuffled(t.rng, frames, 3) if i % 4 == 1 else frames)
