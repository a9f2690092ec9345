# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Behaviours of RNICs, fabrics and programs without loss, and the table of all behaviours."""
import collections
import struct

from loss_behaviours import (
    sprayed_writes, sprayed_messages, sprayed_both, sprayed_reads, sprayed_reads_deep, sprayed_atomics,
    port_a_packet, dscp_a_plane, selective_repeat, selective_repeat_receiver, go_back, late_and_asked_for,
    nak_again, cnp_without_mark, trimmed, trimmed_length, sprayed_and_lost, ack_lost, rnr, rnr_in_a_window,
    adaptive_retransmission, gives_up, read_partly_again, read_late_and_again, read_whole_again, page_faults,
    page_faults_without_end, shared_page_faults, unreliable)
from connection_builder import US, MS, ATOMIC_ACK, CMP_SWAP, FETCH_ADD, UD_SEND, ACK_OK, NAK_ACCESS, Connection, retransmission, plain


def marked_for_adaptive_routing(t):
    t.resv = 0x20
    plain(t)


def coalesced(t):
    for _ in range(5):
        for _ in range(30):
            t.add_all(0, t.write(0, 9000, ack=0))
        t.add_all(0, t.write(0, 0, imm=True))
        t.acknowledge(0)


def unasked_acks(t):
    for _ in range(20):
        t.add_all(0, t.write(0, 3000, ack=0))
        t.add(1, t.ack(1, t.psn[0] - 1))
        t.add(1, t.ack(1, t.psn[0] - 1))


def nccl(t):
    """NCCL channels: WRITEs without AckReq, then a WRITE with immediate data; small WRITEs in the other
    direction."""
    for _ in range(6):
        for _ in range(4):
            t.add_all(0, t.write(0, 131072 // 4, ack=0))
        t.add_all(0, t.write(0, 0, imm=True))
        t.acknowledge(0)
        t.add_all(1, t.write(1, 32))
        t.acknowledge(1)


def fences(t):
    for _ in range(10):
        t.add_all(0, t.write(0, 8192))
        psn, request = t.read(0, 0)
        t.add(0, request)
        t.add_all(1, t.responses(1, psn, 0))
        t.add(0, t.send(0, 0))
        t.acknowledge(0)


def congested(t):
    """The network marks packets CE; the receiver sends CNPs 4 us apart."""
    for i in range(40):
        t.add_all(0, t.write(0, 40000, tos=0x6B if i % 3 else 0x6A))
        if i % 3:
            t.add(1, t.cnp(1))
        t.acknowledge(0)


def paused(t):
    for i in range(20):
        frames = t.write(0, 40000)
        t.add_all(0, frames[:4])
        t.add(0, frames[4], wait=(800 * US if i % 5 == 4 else t.step))
        t.add_all(0, [retransmission(t, f) for f in frames[5:]])
        t.acknowledge(0)


def flow_control_frames(t):
    pause = bytes.fromhex("0180c2000001020000000001880801010008") + bytes(6) + b"\xff\xff" + bytes(34)
    go_on = pause[:24] + bytes(36)
    unused = pause[:16] + bytes(2) + pause[18:]  # PFC frame with a pause time for a priority that its enable vector excludes
    for i in range(20):
        t.add_all(0, t.write(0, 40000))
        t.add(1, pause)
        t.add(1, go_on)
        t.add(1, unused)
        t.acknowledge(0)


def manufacturer(t):
    for i in range(10):
        t.add(0, t.send(0, 64))
        t.add(0, t.frame(0, 0xC1 + i % 3, 5 + i, bytes(40)))
        t.acknowledge(0)


def dc(t):
    """Dynamically connected transport of a ConnectX adapter (tests/plugin/builtin_defects.py)."""
    head = bytes.fromhex("110090360071500100 61e24e0000c0dc00000000")
    back = bytes.fromhex("10807ff40071500100 61e24f0000c0db00000000")
    for i in range(10):
        t.add(0, t.frame(0, 0x4A, 278780 + i, head + t.reth(8) + bytes(8), 1))
        t.add(1, t.frame(1, 0x51, 278780 + i, back + struct.pack(">I", i)))


def dc_large(t):
    head = bytes.fromhex("110090360071500100 61e24e0000c0dc00000000")
    back = bytes.fromhex("10807ff40071500100 61e24f0000c0db00000000")
    for i in range(6):
        psn = 1000 + 10 * i
        for k in range(10):
            opcode = 0x46 if k == 0 else 0x48 if k == 9 else 0x47
            t.add(0, t.frame(0, opcode, psn + k, head + (t.reth(40960) if k == 0 else b"") + bytes(4096), k == 9))
        t.add(1, t.frame(1, 0x51, psn + 9, back + struct.pack(">I", i)))


def datagrams(t):
    """UD traffic of an MPI library: datagrams from one source QP to many peers."""
    for i in range(30):
        t.add(0, t.frame(0, UD_SEND, t.use_psns(0), struct.pack(">II", 0x1EE7A330, t.qpn[0]) + bytes(256)))
        if i % 3 == 0:
            t.add(1, t.frame(1, UD_SEND, t.use_psns(1), struct.pack(">II", 0x1EE7A330, t.qpn[1]) + bytes(64)))


def refused(t):
    """A request with a wrong key while other requests are in flight, which still arrive after the NAK."""
    plain(t)
    frames = [f for _ in range(6) for f in t.write(0, 8192)]
    first = t.psn[0] - len(frames)
    t.add_all(0, frames[:8])
    t.add(1, t.ack(1, first + 2, NAK_ACCESS, t.msn[0] - 5))
    t.add_all(0, frames[8:])


def e810(t):
    t.migreq, t.csum = 0, 0
    go_back(t)


def checksummed(t):
    t.csum = 0x1234
    plain(t)


def no_ids(t):
    class Zero(list):
        def __getitem__(self, at):
            return 0

        def __setitem__(self, at, value):
            pass
    t.ids = Zero()
    go_back(t)
    read_partly_again(t)


def atomics(t):
    for i in range(12):
        psn = t.use_psns(0)
        t.msn[0] += 1
        t.add(0, t.frame(0, FETCH_ADD if i % 2 else CMP_SWAP, psn, struct.pack(">QIQQ", 0x7F0000010000, 0x1C0DE, i, 1), 1))
        t.add(1, t.frame(1, ATOMIC_ACK, psn, struct.pack(">IQ", ACK_OK << 24 | t.msn[0], 5)))


def deep(t):
    """64 READs are outstanding at the same time."""
    for _ in range(2):
        responses = []
        for i in range(64):
            psn, request = t.read(0, 4096)
            t.add(0, request)
            responses += t.responses(1, psn, 4096)
        t.add_all(1, responses)


def many(t):
    """24 QPs of two hosts at the same time."""
    connections = [Connection(n, seed=n) for n in range(1, 25)]
    for other in connections:
        nccl(other)
    parts = [(time + 13 * other.n, data) for other in connections for time, data in other.frames]
    t.frames += sorted(parts)


def kept_alive(t):
    plain(t)
    for _ in range(3):
        t.now += 10 ** 9
        t.add_all(0, t.write(0, 0))
        t.acknowledge(0)


def two_links(t):
    """A bond: every second packet has the MAC address of the other port."""
    plain(t)
    t.frames = [(time, data[:9] + bytes([i % 2]) + data[10:]) for i, (time, data) in enumerate(t.frames)]


def nvme(t):
    """NVMe: capsules by SEND, data by WRITE and READ, responses by SEND with invalidate."""
    t.mtu = 1024
    for i in range(12):
        t.add(0, t.send(0, 64))
        t.acknowledge(0)
        if i % 2:
            t.add_all(1, t.write(1, 4096, ack=0))
        else:
            psn, request = t.read(1, 4096)
            t.add(1, request)
            t.add_all(0, t.responses(0, psn, 4096))
        psn = t.use_psns(1)
        t.msn[1] += 1
        t.add(1, t.frame(1, 0x17, psn, struct.pack(">I", 0x1C0DE) + bytes(16), 1, 1))
        t.acknowledge(1)


def shared_receive(t):
    """XRC: requests have an XRCETH, responses do not."""
    for _ in range(10):
        psn = t.use_psns(0)
        t.msn[0] += 1
        t.add(0, t.frame(0, 0xA4, psn, struct.pack(">I", 0x33) + bytes(64), 1))
        t.add(1, t.frame(1, 0xB1, psn, struct.pack(">I", ACK_OK << 24 | t.msn[0])))


def coarse_clock(t):
    go_back(t)
    congested(t)
    t.frames = [(time // MS * MS, data) for time, data in t.frames]


def migrated(t):
    plain(t)
    t.migreq = 0
    plain(t)
    t.migreq = 1
    plain(t)


def other_ports(t):
    """Ultra Ethernet, Falcon and other UDP packets at the same time as a connection."""
    for port in (4792, 4793, 4794, 6343, 7777):
        frame = bytearray(t.send(0, 64))
        t.psn[0] -= 1
        t.msn[0] -= 1
        frame[36:38] = struct.pack(">H", port)
        t.add(0, bytes(frame))
    plain(t)


# One row a behaviour. build: function that builds the complete capture; source: document that describes the behaviour;
# named: rules that `rocedrill check` must report; most: maximum number of findings; says: text that the summary must
# contain; errors: rules whose ERRORs are correct, because the behaviour is a deviation.
Row = collections.namedtuple("Row", "build source named most says errors", defaults=((), 8, "", ()))
ROWS = {
    "normal": Row(plain, "normal traffic", (), 0),
    "marked for adaptive routing": Row(marked_for_adaptive_routing, "US 12328251: a reserved bit of the BTH", ("ALL-FMT-026",), 3),
    "sprayed WRITEs": Row(sprayed_writes, "NVIDIA: out-of-order data placement", ()),
    "sprayed messages": Row(sprayed_messages, "NVIDIA: out-of-order data placement", ()),
    "sprayed both ways": Row(sprayed_both, "adaptive routing of ACKs", ()),
    "sprayed READ responses": Row(sprayed_reads, "NVIDIA: out-of-order data placement", ()),
    "sprayed READs": Row(sprayed_reads_deep, "NVIDIA: out-of-order data placement", ()),
    "UDP source port per packet": Row(port_a_packet, "MRC, Pollara: entropy in the UDP source port", ()),
    "DSCP per plane": Row(dscp_a_plane, "ROCE MULTIPATH_DSCP", ("ALL-NET-004",), 2),
    "selective repeat, sender": Row(selective_repeat, "ROCE_ACCL selective_repeat", (), says="all missing packets passed the capture point"),
    "selective repeat, receiver": Row(selective_repeat_receiver, "ROCE_ACCL selective_repeat", (), says="5 packets never reached the capture point"),
    "go-back-N": Row(go_back, "vol. 1", ("RC-OBS-305", "RC-REQ-152")),
    "delayed packet NAKed": Row(late_and_asked_for, "adaptive routing to a NIC without it", ("RC-OBS-302", "RC-OBS-305"), says="packets arrived out of order 5×"),
    "repeated NAK": Row(nak_again, "vol. 1: once", ("RC-RSP-068",), errors=("RC-RSP-068",)),
    "coalesced ACKs": Row(coalesced, "vol. 1", (), 0),
    "unsolicited ACKs": Row(unasked_acks, "vol. 1", ()),
    "NCCL": Row(nccl, "NCCL net_ib", (), 0),
    "fences": Row(fences, "zero-length READ", (), 0),
    "RNR": Row(rnr, "vol. 1", ("RC-OBS-304", "RC-OBS-309"), says="had no receive buffer 3×"),
    "adaptive retransmission": Row(adaptive_retransmission, "Lumina 6.2", ()),
    "retry exhausted": Row(gives_up, "Lumina 6.2", (), says="did not respond to the request with PSN"),
    "READ restarted": Row(read_partly_again, "vol. 1", (), says="was lost before the capture point: 4 gaps"),
    "READ reordered and restarted": Row(read_late_and_again, "adaptive routing to a NIC without it", ("RC-OBS-302",), 8, "arrived out of order 4×"),
    "READ repeated": Row(read_whole_again, "vol. 1", ()),
    "congested": Row(congested, "DCQCN; CNP of a ConnectX-4 Lx", ("ALL-OBS-311", "ALL-OBS-312"), 400),
    "CNP without a mark": Row(cnp_without_mark, "NVIDIA forum 270587", ("ALL-OBS-312",), 40),
    "paused": Row(paused, "PFC", (), 0),
    "flow control frames": Row(flow_control_frames, "IEEE 802.1Qbb", (), 0, "20 PFC or PAUSE frames stopped a sender"),
    "trimmed": Row(trimmed, "MRC, UEC: packet trimming", (), 40, says="4 with a wrong ICRC"),
    "trimmed with adjusted lengths": Row(trimmed_length, "MRC, UEC: packet trimming", (), 40, says="4 with a wrong ICRC"),
    "manufacturer's opcodes": Row(manufacturer, "vol. 1: 0xC0 on", ()),
    "DC": Row(dc, "ConnectX", (), 0, says="not judged: 20 packets of NVIDIA's dynamically connected (DC) transport"),
    "DC large": Row(dc_large, "ConnectX", (), 0),
    "datagrams": Row(datagrams, "UCX UD", (), 0),
    "fatal NAK": Row(refused, "vol. 1", ("RC-OBS-306",), says="NAK, remote access error"),
    "MigReq 0": Row(e810, "Lumina 6.2.3: E810", ("ALL-FMT-044",), 40),
    "UDP checksum": Row(checksummed, "Annex 17", ("ALL-NET-015",), 2),
    "no IP identification": Row(no_ids, "capture of a virtual RNIC", (), 40),
    "atomics": Row(atomics, "vol. 1", (), 0),
    "many READs outstanding": Row(deep, "NVIDIA: max_rd_atomic above 16", (), 0),
    "many QPs": Row(many, "NCCL", (), 0),
    "RNR in a window": Row(rnr_in_a_window, "vol. 1", ("RC-OBS-304", "RC-OBS-309"), says="had no receive buffer 3×"),
    "page faults": Row(page_faults, "disni issue 39, rpma issue 1094: on-demand paging", ("RC-RSP-095", "RC-OBS-309"), 9,
                       "its memory is paged on demand (ODP) and had page faults: on average, the RNR NAK demanded a wait of at least"),
    "endless page faults": Row(page_faults_without_end, "disni issue 39", ("RC-RSP-095",), says="delayed the request with PSN"),
    "shared receive queue, page faults": Row(shared_page_faults, "disni issue 39, Annex A14", ("RC-RSP-095",), says="had page faults"),
    "sprayed with loss": Row(sprayed_and_lost, "NVIDIA, MRC", ("RC-OBS-305",), 9, says="never reached the capture point"),
    "ACK lost": Row(ack_lost, "vol. 1", ("RC-OBS-313",)),
    "keep-alive": Row(kept_alive, "MLX, UCX: empty WRITEs", (), 0),
    "sprayed atomics": Row(sprayed_atomics, "adaptive routing of answers", ()),
    "two links": Row(two_links, "bond of two ports", (), 0),
    "NVMe": Row(nvme, "NVMe over RDMA: SEND with invalidate", (), 0),
    "shared receive queue": Row(shared_receive, "Annex A14", (), 0),
    "unreliable": Row(unreliable, "vol. 1", ("UC-PSN-065",)),
    "coarse clock": Row(coarse_clock, "switches that stamp by the millisecond", ()),
    "path migration": Row(migrated, "vol. 1", (), 2),
    "other ports": Row(other_ports, "UEC 1.0: 4793", (), 0),
}
