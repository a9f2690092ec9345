#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks that the plugin does not have the defects of the built-in dissector, and other single cases.

    builtin_defects.py --plugins DIR [CAPTURE...]

A case has a small capture that this script creates, the fields that our dissector must show, and the fields
that the built-in dissector shows. A case also fails if the built-in dissector no longer has its defect.
"""
import argparse
import concurrent.futures
import os
import struct
import sys

import upper_protocols
from packet_builder import HOSTS, aeth, bth, cm, connect, extended, fragments, native, pcap, rep, req, reth, roce, roce6, rocev1, tagged, vxlan
from tshark import Tshark

SEND5 = roce(bth(0x04, 0x11, 7, pad=3) + b"hello" + bytes(3))
WRITE = roce(bth(0x0A, 0x11, 7) + reth(0x1000, 0x99, 8) + b"\x01\x02\x03\x04\x00\x00\x00\x01")
MANY = [roce(bth(0x04, 0x1000 + number, 7) + b"data", hosts=(struct.pack(">I", 0x0A000000 + number), HOSTS[1]))
        for number in range(1000)]
BAD = SEND5[:-6] + bytes([SEND5[-6] ^ 1]) + SEND5[-5:]
TORN = fragments(roce(bth(0x04, 0x11, 7) + bytes(64)), 64)
WINDOW = [roce(bth(0x04, 0x22, psn, ackreq=1) + b"data") for psn in (7, 8)]
WINDOW_ON = [roce(bth(0x04, 0x22, psn, ackreq=1) + b"data") for psn in (9, 10)]
ACK = roce(bth(0x11, 0x11, 8) + aeth(2), 1)
# DC packets of a ConnectX adapter: 20 bytes after the BTH, then the headers of RC.
DC_WRITE = roce(bth(0x4A, 0x807FFF, 278780, ackreq=1) + bytes.fromhex(
    "110090360071500100 61e24e0000c0dc00000000") + reth(0x7FB235D09A00, 0x53829, 8) + bytes(8))
DC_ACK = roce(bth(0x51, 0x9035, 6978911) + bytes.fromhex("10807ff40071500100 61e24f0000c0db00000000") + aeth(0), 1)
# A SEND and its ACK, and the same in two overlay networks.
ANSWERED = [(0, roce(bth(0x04, 0x22, 7, ackreq=1) + b"data")), (1, roce(bth(0x11, 0x11, 7) + aeth(1), 1))]
OVERLAYS = [vxlan(frame, src, vni) for vni in (7, 8) for src, frame in ANSWERED]
CNP = roce(bth(0x81, 0x118, 0, byte4=0x40) + bytes(16))
NVME = bytes([0x7F, 0x40, 0x05, 0x00, 0x01]) + bytes(59)  # fabrics command: connect
RPC = struct.pack(">IIII", 0x11223344, 1, 32, 0) + bytes(12) + struct.pack(
    ">IIIIII", 0x11223344, 0, 2, 100003, 3, 0) + bytes(16)
SMC = bytes([0x01, 44]) + bytes(42)
REJ = cm(0x12, {0: struct.pack(">II", 0, 100), 10: struct.pack(">H", 8)}, 1)

COMM = {0: struct.pack(">II", 100, 200)}  # communication ids

NVME_TALK = connect(4420) + [roce(bth(0x04, 0x22, 100, ackreq=1) + NVME)]
TWO = [roce(bth(0x00, 0x22, 100) + (RPC * 16)[:1024], 0), roce(bth(0x02, 0x22, 101) + RPC, 0)]

# All CM messages made here have the same transaction id.
TWO_REQS = [req(4420), req(5555, 0x33, 300, 101), rep(), rep(0x44, 700, 201, 101),
            roce(bth(0x04, 0x22, 500, ackreq=1) + NVME)]
OTHERS_REP = [req(4420), rep(answers=777), roce(bth(0x04, 0x22, 500, ackreq=1) + NVME)]
# An RPC call names a chunk, a READ fetches the chunk, and the READ response is sent twice.
READ_TWICE = upper_protocols.chunk_read()[:-1]
SMB2_DONE = (b"\xfeSMB" + struct.pack("<HHIHHIIQIIQ", 64, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0) + bytes(16)
             + struct.pack("<HHHH", 65, 1, 0x311, 0) + bytes(57))
SMB_TALK = upper_protocols.acked_messages([upper_protocols.SMBD_NEGOTIATE, upper_protocols.smbd(upper_protocols.SMB2)], [upper_protocols.SMBD_ACCEPT, upper_protocols.smbd(SMB2_DONE)])

# Name, capture, tshark arguments, our fields in the last frame, fields of the built-in dissector in the same frame.
# None as a value: the field is absent. None as the last column: the built-in dissector has no defect here.
CASES = [
    ("B1 a bad ICRC is reported", pcap([BAD]), [],
     {"roce.icrc.status": "0", "roce.icrc.bad": "*"}, {"_ws.expert.message": "!Bad checksum"}),
    ("B1 a good ICRC is not reported", pcap([SEND5]), [], {"roce.icrc.status": "1"}, None),
    ("the ICRC over IPv6 is verified", pcap([roce6(bth(0x04, 0x11, 7) + b"hello123")]), [], {"roce.icrc.status": "1"}, None),
    ("reassembled IP fragments are reported", pcap(TORN), [],
     {"roce.fragments": "*", "_ws.expert.message": "*is an IP fragment: the receiver drops it*"}, None),
    ("an IPv6 extension header is reported", pcap([extended(roce6(bth(0x04, 0x11, 7) + b"hello123"))]), [],
     {"roce.icrc.status": "0", "roce.rule": "ALL-NET-009", "roce.defect.ip6_ext": "*"}, None),
    ("the ICRC of reassembled IP fragments is unverified", pcap(TORN), [],
     {"roce.icrc.status": "2", "roce.payload_len": "64"}, None),
    ("the ICRC in a tunnel is verified", pcap([vxlan(SEND5)]), [], {"roce.icrc.status": "1", "vxlan.vni": "7"}, None),
    ("the ICRC of IP fragments in a tunnel is unverified", pcap([vxlan(frame) for frame in TORN]), [],
     {"roce.icrc.status": "2", "roce.payload_len": "64"}, None),
    ("the same QPs in another overlay network are another connection", pcap(OVERLAYS), [],
     {"roce.stream": "2", "roce.vni": "8", "roce.analysis.ack_unseen_psn": None, "roce.analysis.copy": None}, None),
    ("a VLAN tag of the tunnel is not part of the connection", pcap([tagged(vxlan(frame, src)) if way else vxlan(frame, src)
                                                          for way, (src, frame) in enumerate(ANSWERED)]), [],
     {"roce.stream": "0", "roce.analysis.acks_frame": "1"}, None),
    ("directions paired by CM are certain", pcap(connect(9999) + [roce(bth(0x04, 0x11, 100) + b"data", 1)]), [],
     {"roce.pairing": "1", "roce.pairing_guess": None}, None),
    ("directions paired by their hosts only are uncertain", pcap([frame for _, frame in ANSWERED]),
     ["-Y", "roce.pairing_guess && roce.pairing > 4"], {"frame.number": "*"}, None),
    ("a reserved opcode is reported", pcap([roce(bth(0x18, 0x11, 7) + b"some")]), [],
     {"_ws.col.Info": "*Opcode 0x18 (reserved)*", "roce.defect.opcode": "*"}, {"_ws.expert": None}),
    ("B2 a RoCEv2 CNP is decoded", pcap([CNP]), [],
     {"roce.bth.opcode": "0x81", "_ws.col.Info": "CNP \u21920x000118"}, {"infiniband.vendor": "*"}),
    ("B3 FECN and BECN are fields", pcap([CNP]), ["-Y", "roce.bth.becn == 1 && roce.bth.fecn == 0"],
     {"frame.number": "1"}, None),
    ("B4 an XRC packet is decoded", pcap([roce(bth(0xA4, 0x11, 7) + struct.pack(">I", 0x33) + b"data")]), [],
     {"roce.xrceth.srqn": "0x000033", "roce.payload_len": "4"}, {"infiniband.vendor": "*"}),
    ("B5 reliable datagrams are decoded", pcap([roce(bth(0x44, 0x11, 7) + struct.pack(">III", 5, 9, 0x77) + b"data")]),
     [], {"roce.deth.src_qp": "0x000077", "roce.payload_len": "4"}, {"infiniband.deth.srcqp": "!0x000077"}),
    ("B6 ACKs of reliable datagrams are decoded", pcap([roce(bth(0x51, 0x11, 7) + struct.pack(">I", 9) + aeth(5))]), [],
     {"roce.rdeth.eecnxt": "0x000009", "roce.aeth.msn": "5"}, {"infiniband.aeth.msn": "!5"}),
    ("B7 truncated packets are decoded", pcap([roce(bth(0x06, 0x11, 7) + reth(0x1000, 0x99, 4096) + bytes(1024))], 1, 96),
     [], {"roce.reth.dma_len": "4096", "roce.icrc.status": "2"}, {"_ws.col.Info": "*Malformed*"}),
    ("B8 the source port of TFTP does not matter", pcap([roce(bth(0x0A, 0x11, 7) + reth(0, 1, 4) + b"\0\x01ab", 0, 69)]),
     [], {"_ws.col.Protocol": "RoCE"}, {"_ws.col.Protocol": "TFTP"}),
    ("B9 the source address of a CM REQ is kept", pcap(connect(4420)[:1]), [],
     {"_ws.col.Source": "192.0.2.1"}, {"_ws.col.Source": "LID: 65535"}),
    ("B10 pad is not payload", pcap([roce(bth(0x24, 0x11, 7, pad=3) + b"hello" + bytes(3))]), [], {"data.len": "5"}, {"data.len": "8"}),
    ("B19 a small SEND is not taken for RPC-over-RDMA", pcap([SEND5]), [], {"_ws.malformed": None, "roce.icrc": "*"},
     {"_ws.malformed": "*", "infiniband.invariant.crc": None}),
    ("B11 the source QP is known from CM", pcap(connect(9999) + [roce(bth(0x04, 0x11, 500) + b"data", 1)]),
     [], {"roce.src_qp": "0x000022", "roce.stream": "1"}, None),
    ("B13 two REQs with one transaction id have separate connections", pcap(TWO_REQS), [], {"nvme-rdma": "*"}, {"nvme-rdma": None}),
    ("B13 a REP without captured REQ is not matched with another REQ", pcap(OTHERS_REP), [],
     {"nvme-rdma": None, "data.len": "64"}, {"nvme-rdma": "*"}),
    ("B14 a reject reason has a name", pcap(connect(9999)[:1] + [REJ]), [],
     {"_ws.col.Info": "*reason 8: *", "roce.cm.answers": "1"}, None),
    ("B14 MRA is decoded", pcap([cm(0x11, COMM)]), [], {"roce.cm.mra.remote_comm_id": "0x000000c8"},
     {"infiniband.mad.data": "*"}),
    ("B14 SIDR_REQ is decoded", pcap([cm(0x17, COMM)]), [], {"roce.cm.sidr_req.request_id": "0x00000064"},
     {"infiniband.mad.data": "*"}),
    ("B14 SIDR_REP is decoded", pcap([cm(0x18, COMM)]), [], {"roce.cm.sidr_rep.request_id": "0x00000064"},
     {"infiniband.mad.data": "*"}),
    ("B14 LAP is decoded", pcap([cm(0x19, COMM)]), [], {"roce.cm.lap.remote_comm_id": "0x000000c8"},
     {"infiniband.mad.data": "*"}),
    ("B14 APR is decoded", pcap([cm(0x1A, COMM)]), [], {"roce.cm.apr.remote_comm_id": "0x000000c8"},
     {"infiniband.mad.data": "*"}),
    ("B15 an atomic has separate fields", pcap([roce(bth(0x13, 0x11, 7) + struct.pack(">QIQQ", 0x1000, 9, 1, 2))]),
     [], {"roce.atomiceth.rkey": "0x00000009", "roce.reth.rkey": None}, {"infiniband.reth.r_key": "*"}),
    ("B16 a wrong transport version is reported", pcap([roce(b"\x24\x01" + bth(0x24, 0x11, 7)[2:] + b"payload of 16 by")]), [],
     {"roce.defect.tver": "*"}, {"_ws.expert": None}),
    ("B16 a wrong UDP length is reported", pcap([WRITE[:38] + struct.pack(">H", 200) + WRITE[40:]]), [],
     {"roce.defect.udp_len": "*"}, None),
    ("B17 a duplicate READ response is not reassembled twice", pcap(READ_TWICE), [],
     {"rpcordma": None, "data.len": "256"}, {"rpcordma.reassembled.length": "256"}),
    ("B18 an SMB2 response is matched without CM", pcap(SMB_TALK[:-1]),
     ["-o", "uat:roce_qps:\"34\",\"SMB Direct\""], {"smb2.response_to": "3"},
     {"smb2.cmd": "*", "smb2.response_to": None}),
    ("B19 a WRITE without known protocol is data", pcap([WRITE]), [],
     {"rpcordma": None, "data.len": "8"}, {"_ws.col.Protocol": "!InfiniBand"}),
    ("preference guess tries heuristic dissectors", pcap([WRITE]), ["-o", "roce.guess:all"],
     {"frame.number": "1"}, None),
    ("Decode As takes precedence", pcap([SEND5]), ["-d", "udp.port==4791,data"],
     {"roce.bth.opcode": None, "data": "*"}, None),
    ("if the protocol is disabled, the built-in dissector has the port", pcap([SEND5]), ["--disable-protocol", "roce"],
     {"roce.bth.opcode": None, "infiniband.bth.opcode": "4"}, None),
    ("a changed preference of the built-in dissector does not take the port", pcap([SEND5]),
     ["-o", "infiniband.try_heuristic_first:FALSE"], {"roce.bth.opcode": "0x04"}, None),
    ("RoCEv1 is decoded", pcap([rocev1(bth(0x04, 0x11, 7) + b"data")]), [],
     {"roce.icrc.status": "1", "roce.grh.next": "0x1b", "_ws.col.Source": "::ffff:192.0.2.1"}, None),
    ("preference take_v1 leaves RoCEv1 to the built-in dissector", pcap([rocev1(bth(0x04, 0x11, 7) + b"data")]),
     ["-o", "roce.take_v1:FALSE"], {"roce.bth.opcode": None, "infiniband.bth.opcode": "4"}, None),
    ("a native link is left to the built-in dissector", pcap([native(bth(0x04, 0x11, 7) + b"data")], 197), [],
     {"roce.bth.opcode": None, "infiniband.bth.opcode": "4"}, None),
    ("preference take_native claims a native link",
     pcap([native(bth(0x04, 0x11, 7) + b"data")], 197), ["-o", "roce.take_native:TRUE"],
     {"roce.bth.opcode": "0x04", "roce.lrh.dlid": "*", "roce.icrc.status": "1",
      "_ws.col.Source": "LID: 7"}, None),
    ("a filter on expert infos finds them", pcap([BAD]),
     ["-Y", "_ws.expert.severity >= 0x800000"], {"frame.number": "1"}, None),
    ("the text of a violated rule says so", pcap([roce(bth(0x04, 0x22, 7, ackreq=1) + b"data"), BAD]), [],
     {"_ws.expert.message": "*ALL-ICRC-017: rule violated: the ICRC matches the packet"}, None),
    ("the text of an observation mentions no violation", pcap(WINDOW + [ACK, roce(bth(0x11, 0x11, 9) + aeth(3), 1)]), [],
     {"_ws.expert.message": "*the response acknowledges requests that were not captured"}, None),
    ("each header has a field", pcap([SEND5, WRITE]), [],
     {"roce.bth": "*", "roce.reth": "*", "roce.deth": None, "roce.analysis": "*"}, None),
    ("PSNs in flight are unknown before the first ACK", pcap(WINDOW), [],
     {"roce.analysis.psns_in_flight": None, "roce.analysis.requests_in_flight": "2"}, None),
    ("PSNs in flight are known after the first ACK", pcap(WINDOW + [ACK, *WINDOW_ON]), [],
     {"roce.analysis.psns_in_flight": "2", "roce.analysis.requests_in_flight": "2"}, None),
    ("NVIDIA's DC is not taken for reliable datagrams", pcap([DC_WRITE]), [],
     {"roce.dc.src_qp": "0x009036", "roce.reth.dma_len": "8", "data.len": "8", "roce.rdeth": None, "roce.rule": None,
      "_ws.col.Info": "*DC WRITE Only 0x009036→0x807fff PSN 278780 len 8"}, {"_ws.col.Info": "!DC RDMA Write Only QP=0x807fff"}),
    ("an ACK of DC is decoded", pcap([DC_ACK]), [],
     {"roce.aeth.syndrome": "0x1f", "roce.aeth.msn": "0", "roce.payload_len": None}, {"infiniband.aeth.syndrome": "!31"}),
    ("a truncated DC packet is decoded", pcap([DC_WRITE], snaplen=70), [], {"_ws.col.Info": "DC WRITE Only 0x009036\u21920x807fff PSN 278780 len 8",
                                                   "roce.icrc.status": "2", "_ws.malformed": None, "_ws.short": None}, None),
    ("the severity column is filled", pcap([BAD]),
     ["-o", 'gui.column.format:"expert","%a"'], {"_ws.col.expert": "*"}, None),
    ("a filter on frame.protocols finds roce", pcap([BAD]), [], {"frame.protocols": "*roce*"}, None),
    ("preference check_icrc disables the ICRC check", pcap([BAD]), ["-o", "roce.check_icrc:FALSE"],
     {"roce.icrc.status": "2"}, None),
    ("preference analyze disables the analysis", pcap([SEND5]), ["-o", "roce.analyze:FALSE"],
     {"roce.stream": None, "roce.bth.psn": "7"}, None),
    ("the memory limit of the analysis is reported", pcap(MANY),
     ["-o", "roce.memory:1", "-Y", "roce.analysis.limit"], {"frame.number": "*", "_ws.expert.message": "*closed early*"}, None),
    ("few connections need little memory", pcap(MANY), ["-Y", "roce.analysis.limit"], {"frame.number": None}, None),
    ("preference relative_psn shows relative PSNs", pcap(connect(9999) + [roce(bth(0x04, 0x11, 503) + b"data", 1)]),
     ["-o", "roce.relative_psn:TRUE"], {"roce.analysis.psn_rel": "*", "_ws.col.Info": "*relative*"}, None),
    ("NVMe is known from the CM exchange", pcap(NVME_TALK), [], {"_ws.col.Protocol": "*NVMe*"}, None),
    ("NVMe private data is decoded", pcap(NVME_TALK[:1]), [], {"nvme-rdma": "*"}, None),
    ("NVMe is known from the table of QPs", pcap(NVME_TALK[3:]), ["-o", "uat:roce_qps:\"34\",\"NVMe over RDMA\""],
     {"_ws.col.Protocol": "*NVMe*"}, None),
    ("NVMe is known from Decode As", pcap(NVME_TALK[3:]), ["-d", "roce.qp==34,nvme-rdma"],
     {"_ws.col.Protocol": "*NVMe*"}, None),
    ("NVMe on another port is data", pcap(connect(5555) + NVME_TALK[3:]), [],
     {"nvme-rdma": None, "data.len": "64"}, None),
    ("NFS is known from the CM exchange", pcap(connect(20049) + [roce(bth(0x04, 0x22, 100) + RPC)]), [],
     {"rpcordma": "*"}, None),
    ("NFS in a SEND of two packets is reassembled", pcap(connect(20049) + TWO), [],
     {"roce.message.length": str(1024 + len(RPC)), "rpcordma": "*"}, None),
    ("a retransmitted packet is reassembled once", pcap(connect(20049) + TWO[:1] * 2 + TWO[1:]), [],
     {"roce.message.count": "2", "rpcordma": "*"}, None),
    ("SMC-R is known by its length", pcap([roce(bth(0x04, 0x22, 100) + SMC)]), [], {"smc": "*"}, None),
]


def fits(value, want):
    if want is None:
        return value == ""
    if want.startswith("!"):
        return value != want[1:]
    if want == "*":
        return value != ""
    if want.startswith("*"):
        return want.strip("*") in value
    return value == want


def last(shark, path, args, fields, plugin):
    """Returns {field: value} of the last displayed frame."""
    command = args + ["-r", path, "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    status, out, err = shark.run(command, plugin)
    if status:
        raise SystemExit(f"tshark: {err}")
    rows = [line.split("\t") for line in out.splitlines()]
    return dict(zip(fields, rows[-1])) if rows else dict.fromkeys(fields, "")


def check_case(shark, keep, number, case):
    """Returns the errors of a case."""
    name, data, options, ours, theirs = case
    path = shark.file(f"case-{number}.pcap", data)
    if keep:
        with open(os.path.join(keep, f"case-{number}.pcap"), "wb") as out:
            out.write(data)
    wrong = []
    for side, want, plugin in [("ours", ours, True)] + ([("the built-in", theirs, False)] if theirs else []):
        got = last(shark, path, options if plugin else [], list(want), plugin)
        wrong += [f"{name}: {side}: {field}: {got[field]!r}, not {value!r}" for field, value in want.items()
                  if not fits(got[field], value)]
    return wrong


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--keep", help="write the captures to this folder")
    args.add_argument("captures", nargs="*")
    args = args.parse_args()
    failures = 0
    with Tshark(args.plugins) as shark, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for wrong in pool.map(lambda case: check_case(shark, args.keep, *case), enumerate(CASES)):
            failures += bool(wrong)
            print("".join(line + "\n" for line in wrong), end="")
    print(f"{len(CASES)} cases, {sum(bool(case[4]) for case in CASES)} of them against the built-in, "
          f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
