#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks that payload reaches the right upper-layer dissector: from the CM exchange, the table, or Decode As.

    upper_protocols.py --plugins DIR [--document FILE] [--keep DIR] [CAPTURE...]

For each protocol, the first messages of a connection are built here. They must be dissected in both directions if the
CM REQ has the port of the protocol, or if the user named the passive side's QP. Otherwise they must be data. A
retransmission must be passed on once, and a message of two packets reassembled, also after a loss. The last
cases are data that protocols transfer with RDMA READ and WRITE. The document's example must print what it shows.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import struct
import sys

from packet_builder import aeth, bth, connect, pcap, reth, roce
from tshark import Tshark

ACTIVE, PASSIVE = 0x11, 0x22  # QPNs of both sides
PSN = (0x5A1234, 0x3C4321)    # first PSNs of host 0 and host 1
DATA = {"data"}


def send(src, number, payload, opcode=0x04):
    """Returns the SEND of `payload` with number `number` of host `src`."""
    pad = -len(payload) % 4
    return roce(bth(opcode, (PASSIVE, ACTIVE)[src], PSN[src] + number, pad, ackreq=1) + payload + bytes(pad), src)


def ack(src, number, msn):
    """Returns the ACK of host `src` for packet `number` of the other host."""
    return roce(bth(0x11, (PASSIVE, ACTIVE)[src], PSN[1 - src] + number) + aeth(msn), src)


# ---- first messages ------------------------------------------------------------------------------------

NVME_CONNECT = bytes([0x7F, 0x40, 0x05, 0x00, 0x01]) + bytes(59)
NVME_IDENTIFY = (bytes([0x06, 0x40, 0x07, 0x00]) + bytes(20) + struct.pack("<Q", 0x7000) + b"\x00\x10\x00"
                 + struct.pack("<I", 0xABCD) + b"\x40" + struct.pack("<I", 1) + bytes(20))
NVME_DONE = struct.pack("<QHHHH", 0, 1, 0, 7, 0)

ISER_LOGIN = b"\x10" + bytes(27) + bytes([0x43, 0x87]) + bytes(46)
ISER_ANSWER = b"\x10" + bytes(27) + bytes([0x23, 0x87]) + bytes(46)

XID = 0x11223344
RPC_CALL = struct.pack(">IIIIII", XID, 0, 2, 100003, 3, 0) + bytes(16)
RPC_REPLY = struct.pack(">IIIIII", XID, 1, 0, 0, 0, 0)


def rpcrdma(body, reads=bytes(4)):
    """Returns an RDMA_MSG with a read list, without write list and reply chunk."""
    return struct.pack(">IIII", XID, 1, 32, 0) + reads + bytes(8) + body


SMB2 = (b"\xfeSMB" + struct.pack("<HHIHHIIQIIQ", 64, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + bytes(16)
        + struct.pack("<HHHHI", 36, 1, 1, 0, 0) + bytes(24) + struct.pack("<H", 0x311))
SMBD_NEGOTIATE = struct.pack("<HHHHIII", 0x100, 0x100, 0, 255, 1364, 8192, 1048576)
SMBD_ACCEPT = struct.pack("<HHHHHHIIIII", 0x100, 0x100, 0x100, 0, 255, 10, 0, 8388608, 1364, 8192, 1048576)


def smbd(body):
    """Returns an SMB Direct data transfer message with a complete SMB2 message."""
    return struct.pack("<HHHHIII", 10, 2, 0, 0, 0, 24, len(body)) + bytes(4) + body


SMBD_DATA = smbd(SMB2)


def lnet(kind, body=b""):
    """Returns a message of Linux ko2iblnd from 192.0.2.1@o2ib to 192.0.2.2@o2ib."""
    return (struct.pack("<IHBBII", 0x0BE91B91, 0x12, kind, 1, 40 + len(body), 0)
            + struct.pack("<QQQQ", 0x5 << 48 | 0xC0000201, 1, 0x5 << 48 | 0xC0000202, 1) + body)


LNET_NOOP = lnet(0xD0)

# Name in the table of QPs, port of the CM REQ, filter name; messages of the client and of the server, each
# followed by another protocol that its last message must contain.
PROTOCOLS = [
    ("NVMe over RDMA", 4420, "nvme-rdma", [NVME_CONNECT, NVME_IDENTIFY], "nvme-rdma", [NVME_DONE], "nvme-rdma"),
    ("iSER (iSCSI over RDMA)", 3260, "iser", [ISER_LOGIN], "iscsi", [ISER_ANSWER], "iscsi"),
    ("RPC over RDMA (NFS)", 20049, "rpcordma", [rpcrdma(RPC_CALL)], "rpc", [rpcrdma(RPC_REPLY)], "rpc"),
    ("SMB Direct", 445, "smb_direct", [SMBD_NEGOTIATE, SMBD_DATA], "smb2", [SMBD_ACCEPT], "smb_direct"),
    ("Lustre LNet", 987, "lnet", [LNET_NOOP], "lnet", [LNET_NOOP], "lnet"),
]


def acked_messages(client, server):
    """Returns the messages of both sides, each with its ACK, which pairs the QPs."""
    frames = []
    for src, said in enumerate((client, server)):
        for number, payload in enumerate(said):
            frames += [send(src, number, payload), ack(1 - src, number, number + 1)]
    return frames


def chunk_read():
    """Returns an RPC call. The server READs its second part, and the READ response is duplicated."""
    chunk = struct.pack(">IIIIQI", 1, len(rpcrdma(b"")) + 24, 0x55, 256, 0x9000, 0)
    answer = roce(bth(0x10, PASSIVE, PSN[1]) + aeth(1) + bytes(256), 0)
    return connect(20049, psn=PSN) + acked_messages([rpcrdma(RPC_CALL, chunk)], []) + [
        roce(bth(0x0C, ACTIVE, PSN[1]) + reth(0x9000, 0x55, 256), 1), answer, answer, send(1, 1, rpcrdma(RPC_REPLY))]


def cases():
    """Yields name, frames, tshark arguments, {frame: (required protocols, forbidden protocols)}."""
    for title, port, name, client, client_too, server, server_too in PROTOCOLS:
        plain, other = acked_messages(client, server), {name, client_too, server_too}
        to_server, to_client = 2 * len(client) - 1, len(plain) - 1
        shown = {to_server: ({name, client_too}, DATA), to_client: ({name, server_too}, DATA)}
        yield name + " is known from CM", connect(port, psn=PSN) + plain, [], {k + 3: v for k, v in shown.items()}
        yield name + " is known from the table", plain, ["-o", f'uat:roce_qps:"{PASSIVE}","{title}"'], shown
        yield name + " is known from Decode As", plain, ["-d", f"roce.qp=={PASSIVE},{name}"], shown
        nobody = {to_server: (DATA, other), to_client: (DATA, other)}
        yield name + " is data if unnamed", plain, [], nobody
        yield name + " is data if the table has other QPs", plain, ["-o", f'uat:roce_qps:"{PASSIVE + 1}","{title}"'], nobody
        yield name + " is data on another port", connect(5555, psn=PSN) + plain, [], {k + 3: v for k, v in nobody.items()}
        twice = connect(port, psn=PSN) + [send(0, number, payload) for number, payload in enumerate(client)]
        yield (name + " is passed on once if retransmitted", twice + [twice[-1]], [],
               {len(twice): ({name}, DATA), len(twice) + 1: (DATA, other)})
        # A message in two packets.
        said, half = client[-1], len(client[-1]) // 8 * 4
        start = twice[:-1]
        first, last = send(0, len(client) - 1, said[:half], 0x00), send(0, len(client), said[half:], 0x02)
        yield (name + " is reassembled from two packets", start + [first, last], [],
               {len(start) + 1: (DATA, other), len(start) + 2: ({name, client_too}, DATA)})
        # The first packet of the message is lost, and both packets are retransmitted.
        yield (name + " is reassembled after a loss", start + [last, first, last], [],
               {len(start) + 1: (DATA, other), len(start) + 3: ({name, client_too}, DATA)})
        yield (name + " is not reassembled if the preference is off", start + [first, last],
               ["-o", "roce.reassemble:FALSE"], {len(start) + 2: (set(), {"roce.message.reassembled_in"})})
    # The target WRITEs the requested data and sends the completion.
    data = bytes(range(256)) * 16
    yield ("NVMe data of WRITEs is decoded", connect(4420, psn=PSN) + acked_messages([NVME_CONNECT, NVME_IDENTIFY], []) + [
        roce(bth(0x06, ACTIVE, PSN[1]) + reth(0x7000, 0xABCD, 4096) + data[:2048], 1),
        roce(bth(0x08, ACTIVE, PSN[1] + 1) + data[2048:], 1), send(1, 2, NVME_DONE)], [],
        {n: ({"nvme-rdma"}, DATA) for n in (8, 9, 10)})
    yield ("an RPC call in a READ is reassembled", chunk_read(), [],
           {7: ({"rpcordma", "rpc"}, set()), 8: (DATA, {"rpc"}), 9: ({"rpcordma", "rpc"}, DATA)})
    yield "SMC-R is known by its length", [send(0, 0, bytes([0x01, 44]) + bytes(42))], [], {1: ({"smc"}, DATA)}
    yield ("SMC-R is known from the table", [send(0, 0, bytes([0xFE, 44]) + bytes(42))],
           ["-o", f'uat:roce_qps:"{PASSIVE}","SMC-R"'], {1: ({"smc"}, DATA)})


def protocols(shark, path, args):
    """Returns {frame: protocols}."""
    rows = shark.out(args + ["-r", path, "-T", "fields", "-e", "frame.protocols"]).splitlines()
    return {frame: row.split(":") for frame, row in enumerate(rows, 1)}


def check_case(shark, keep, number, case):
    """Returns the errors of a case."""
    name, frames, options, wanted = case
    data, file = pcap(frames), f"upper-{number}.pcap"
    path = shark.file(file, data)
    if keep:
        with open(os.path.join(keep, file), "wb") as out:
            out.write(data)
    wrong = []
    for passes in ([], ["-2"]):
        got = protocols(shark, path, passes + options)
        wrong += [f"{name}{' -2' if passes else ''}: frame {frame}: {':'.join(got[frame])}"
                  for frame, (has, has_not) in wanted.items()
                  if has - set(got[frame]) or has_not & set(got[frame])]
    return wrong


def check_document(shark, document):
    """Returns the error of the example `tshark -r nvme.pcap`. The capture is the first case."""
    with open(document, encoding="utf-8") as text:
        found = re.search(r"^```\ntshark (-r nvme\.pcap .*)\n((?:.*\n)*?)```$", text.read(), re.M)
    if not found:
        return [f"{document}: no example tshark -r nvme.pcap"]
    path = shark.file("nvme.pcap", pcap(next(cases())[1]))
    printed = shark.out([path if word == "nvme.pcap" else word for word in shlex.split(found[1])])
    return [] if printed == found[2] else [f"{document}: tshark {found[1]} prints:\n{printed}"]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--document", help="a document with an example")
    args.add_argument("--keep", help="write the captures to this folder")
    args.add_argument("captures", nargs="*")
    args = args.parse_args()
    failures = count = 0
    with Tshark(args.plugins) as shark, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for wrong in pool.map(lambda case: check_case(shark, args.keep, *case), enumerate(cases(), 1)):
            count += 1
            failures += bool(wrong)
            print("".join(line + "\n" for line in wrong), end="")
        if args.document:
            wrong = check_document(shark, args.document)
            failures += bool(wrong)
            print("".join(line + "\n" for line in wrong), end="")
    print(f"{count} cases, {len(PROTOCOLS) + 1} protocols, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
