#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Decodes every capture with three decoders and compares them field by field:

  tshark's built-in dissector   infiniband.*
  our Wireshark plugin          roce.*
  rocedrill decode --json       the codec

    field_values.py --plugins DIR --rocedrill PROGRAM CAPTURE...

The plugin must show every field of every header that the codec decodes. The built-in dissector must show the same
values for the fields in SAME, except for its errors in WRONG. For headers that no capture has, this script builds
packets. A row of WRONG that explains no difference, and a field of SAME that never occurs, are failures too. Exit
status 1 on a difference, 2 if nothing was compared.
"""
import ipaddress
import json
import os
import re
import struct
import subprocess
import sys

from packet_builder import bth, native, pcap, roce, rocev1
from tshark import Tshark, arguments

# Our fields, each with the field of the built-in dissector that has the same meaning. The table has all
# fields of the built-in dissector.
SAME = {
    "bth.opcode": "infiniband.bth.opcode", "bth.se": "infiniband.bth.se",
    "bth.migreq": "infiniband.bth.m", "bth.padcnt": "infiniband.bth.padcnt",
    "bth.tver": "infiniband.bth.tver", "bth.pkey": "infiniband.bth.p_key",
    "bth.dest_qp": "infiniband.bth.destqp", "bth.ackreq": "infiniband.bth.a",
    "bth.resv7": "infiniband.bth.reserved7", "bth.psn": "infiniband.bth.psn",
    "deth.qkey": "infiniband.deth.q_key", "deth.src_qp": "infiniband.deth.srcqp",
    "reth.va": "infiniband.reth.va", "reth.rkey": "infiniband.reth.r_key",
    "reth.dma_len": "infiniband.reth.dmalen",
    "atomiceth.va": "infiniband.reth.va", "atomiceth.rkey": "infiniband.reth.r_key",
    "atomiceth.swap_add": "infiniband.atomiceth.swapdt",
    "atomiceth.compare": "infiniband.atomiceth.cmpdt",
    "aeth.syndrome": "infiniband.aeth.syndrome", "aeth.msn": "infiniband.aeth.msn",
    "atomicacketh.orig": "infiniband.atomicacketh.origremdt",
    "rdeth.eecnxt": "infiniband.rdeth.eecnxt",
    "lrh.vl": "infiniband.lrh.vl", "lrh.lver": "infiniband.lrh.lver", "lrh.sl": "infiniband.lrh.sl",
    "lrh.lnh": "infiniband.lrh.lnh", "lrh.dlid": "infiniband.lrh.dlid",
    "lrh.len": "infiniband.lrh.pktlen", "lrh.slid": "infiniband.lrh.slid",
    "grh.ipver": "infiniband.grh.ipver", "grh.tclass": "infiniband.grh.tclass",
    "grh.flow": "infiniband.grh.flowlabel", "grh.len": "infiniband.grh.paylen",
    "grh.next": "infiniband.grh.nxthdr", "grh.hop": "infiniband.grh.hoplmt",
    "grh.sgid": "infiniband.grh.sgid", "grh.dgid": "infiniband.grh.dgid",
    "immdt.imm": "infiniband.immdt", "ieth.rkey": "infiniband.ieth",
    "icrc": "infiniband.invariant.crc",
    "mad.base_version": "infiniband.mad.baseversion", "mad.mgmt_class": "infiniband.mad.mgmtclass",
    "mad.class_version": "infiniband.mad.classversion", "mad.status": "infiniband.mad.status",
    "mad.method": "infiniband.mad.method", "mad.class_specific": "infiniband.mad.classspecific",
    "mad.tid": "infiniband.mad.transactionid", "mad.attr_id": "infiniband.mad.attributeid",
    "mad.attr_mod": "infiniband.mad.attributemodifier",
    "cm.req.local_comm_id": "infiniband.cm.req", "cm.req.service_id": "infiniband.cm.req.serviceid",
    "cm.req.local_ca_guid": "infiniband.cm.req.localcaguid",
    "cm.req.local_qkey": "infiniband.cm.req.localqkey",
    "cm.req.local_qpn": "infiniband.cm.req.localqpn",
    "cm.req.responder_resources": "infiniband.cm.req.responderres",
    "cm.req.local_eecn": "infiniband.cm.req.localeecn",
    "cm.req.initiator_depth": "infiniband.cm.req.initdepth",
    "cm.req.remote_eecn": "infiniband.cm.req.remoteeecn",
    "cm.req.remote_cm_timeout": "infiniband.cm.req.remoteresptout",
    "cm.req.transport": "infiniband.cm.req.transpsvctype",
    "cm.req.flow_control": "infiniband.cm.req.e2eflowctrl",
    "cm.req.starting_psn": "infiniband.cm.req.startpsn",
    "cm.req.local_cm_timeout": "infiniband.cm.req.localresptout",
    "cm.req.retry_count": "infiniband.cm.req.retrcount", "cm.req.pkey": "infiniband.cm.req.pkey",
    "cm.req.mtu": "infiniband.cm.req.pppmtu", "cm.req.rdc_exists": "infiniband.cm.req.rdcexist",
    "cm.req.rnr_retry_count": "infiniband.cm.req.rnrretrcount",
    "cm.req.max_cm_retries": "infiniband.cm.req.maxcmretr", "cm.req.srq": "infiniband.cm.req.srq",
    "cm.req.ext_transport": "infiniband.cm.req.ext_transport",
    "cm.req.primary_local_lid": "infiniband.cm.req.prim_locallid",
    "cm.req.primary_remote_lid": "infiniband.cm.req.prim_remotelid",
    "cm.req.primary_flow": "infiniband.cm.req.prim_flowlabel",
    "cm.req.primary_rate": "infiniband.cm.req.prim_pktrate",
    "cm.req.primary_tclass": "infiniband.cm.req.prim_tfcclass",
    "cm.req.primary_hop": "infiniband.cm.req.prim_hoplim",
    "cm.req.primary_sl": "infiniband.cm.req.prim_sl",
    "cm.req.primary_subnet_local": "infiniband.cm.req.prim_subnetlocal",
    "cm.req.primary_ack_timeout": "infiniband.cm.req.prim_localacktout",
    "cm.req.alternate_local_lid": "infiniband.cm.req.alt_locallid",
    "cm.req.alternate_remote_lid": "infiniband.cm.req.alt_remotelid",
    "cm.req.alternate_ack_timeout": "infiniband.cm.req.alt_localacktout",
    "cm.rdmaip.majv": "infiniband.cm.req.ip_cm.majv", "cm.rdmaip.minv": "infiniband.cm.req.ip_cm.minv",
    "cm.rdmaip.ipv": "infiniband.cm.req.ip_cm.ipv", "cm.rdmaip.sport": "infiniband.cm.req.ip_cm.sport",
    "cm.rep.local_comm_id": "infiniband.cm.rep", "cm.rep.remote_comm_id": "infiniband.cm.rep.remotecommid",
    "cm.rep.local_qkey": "infiniband.cm.rep.localqkey", "cm.rep.local_qpn": "infiniband.cm.rep.localqpn",
    "cm.rep.local_eecn": "infiniband.cm.rep.localeecn",
    "cm.rep.starting_psn": "infiniband.cm.rep.startpsn",
    "cm.rep.responder_resources": "infiniband.cm.rep.respres",
    "cm.rep.initiator_depth": "infiniband.cm.rep.initdepth",
    "cm.rep.target_ack_delay": "infiniband.cm.rep.tgtackdelay",
    "cm.rep.failover_accepted": "infiniband.cm.rep.failoveracc",
    "cm.rep.flow_control": "infiniband.cm.rep.e2eflowctrl",
    "cm.rep.rnr_retry_count": "infiniband.cm.rep.rnrretrcount", "cm.rep.srq": "infiniband.cm.rep.srq",
    "cm.rep.local_ca_guid": "infiniband.cm.rep.localcaguid",
    "cm.rtu.local_comm_id": "infiniband.cm.rtu.localcommid",
    "cm.rtu.remote_comm_id": "infiniband.cm.rtu.remotecommid",
    "cm.rej.local_comm_id": "infiniband.cm.rej.localcommid",
    "cm.rej.remote_comm_id": "infiniband.cm.rej.remotecommid",
    "cm.rej.message": "infiniband.cm.rej.msgrej", "cm.rej.info_len": "infiniband.cm.rej.rejinfolen",
    "cm.rej.reason": "infiniband.cm.rej.reason",
    "cm.dreq.local_comm_id": "infiniband.cm.dreq.localcommid",
    "cm.dreq.remote_comm_id": "infiniband.cm.dreq.remotecommid",
    "cm.drep.local_comm_id": "infiniband.cm.drsp.localcommid",
    "cm.drep.remote_comm_id": "infiniband.cm.drsp.remotecommid",
}

# Fields that the built-in dissector shows as hexadecimal bytes without 0x.
AS_BYTES = {"infiniband.immdt", "infiniband.ieth"}

# Prefixes of fields. OTHERS: fields that Wireshark's other dissectors show. NOT_OF_CODEC: fields that `rocedrill decode` shows in
# no header.
OTHERS = ("eth.", "vlan.", "sll.", "sll2.", "ip4.", "ip6.", "udp.")
NOT_OF_CODEC = ("icrc", "cm.rdmaip.")

# Errors of the built-in dissector: name, reason, and a predicate that matches the differences it causes. Its arguments are
# our field, all fields of the frame, and the text of the built-in dissector ("" if absent).
WRONG = [
    ("flow label and packet rate of a CM REQ", "4.0 reads both, 32 bits wide, at one offset (fixed in 4.4)",
     lambda field, fields, text: field in ("cm.req.primary_flow", "cm.req.primary_rate")),
    ("ICRC after a small payload", "missing if the heuristics of RPC-over-RDMA accept the payload and its dissection then fails",
     lambda field, fields, text: field == "icrc" and text == ""),
    ("FLUSH and ATOMIC WRITE", "unknown to 4.0: nothing after the BTH is decoded (fixed in 4.4)",
     lambda field, fields, text: fields["bth.opcode"] in (0x1c, 0x1d) and text == ""),
    ("XRC", "known by name only: nothing after the BTH is decoded",
     lambda field, fields, text: fields["bth.opcode"] >> 5 == 5 and text == ""),
    ("service ID resolution", "not implemented: nothing after the MAD header is decoded",
     lambda field, fields, text: fields.get("mad.attr_id") in (0x17, 0x18) and text == ""),
    ("reliable datagrams", "decoded as DCT of Mellanox: the headers after the BTH are read 8 bytes too late",
     lambda field, fields, text: fields["bth.opcode"] >> 5 == 2 and not field.startswith("bth.")),
]

RD = struct.pack(">III", 5, 9, 0x77)  # RDETH, DETH
MADE = {
    "made-ethernet": (1, [
        rocev1(bth(0x04, 0x11, 7) + b"some payload that is data", 0xA5, 0x12345),
        roce(bth(0x44, 0x11, 7) + RD + b"some payload that is data..."),
        roce(bth(0xA4, 0x11, 7) + struct.pack(">I", 0x33) + b"some payload that is data..."),
        roce(bth(0xAB, 0x11, 8) + struct.pack(">IQIII", 0x33, 0x1000, 0x99, 4, 0x1234) + b"data"),
    ]),
    "made-native": (197, [native(bth(0x04, 0x11, 7) + b"some payload that is data...", 5, 9)]),
}
NATIVE = ["-o", "roce.take_native:TRUE"]


def number(text):
    """Returns the value of a field as an integer, from any notation; None if there is none."""
    if text is None or text == "":
        return None
    if isinstance(text, (int, bool)):
        return int(text)
    if text in ("True", "False"):
        return int(text == "True")
    if text.startswith("0x"):
        return int(text, 16)
    if text.isdigit():
        return int(text)
    try:
        return int(ipaddress.ip_address(text))
    except ValueError:
        return int(text.replace(":", ""), 16)  # hexadecimal bytes separated by colons


def table(shark, path, fields, plugin):
    """Returns {frame: {field: first value}} from tshark."""
    command = (NATIVE if plugin else []) + ["-r", path, "-T", "fields", "-E", "separator=/t",
                                            "-E", "occurrence=f", "-e", "frame.number"]
    for field in fields:
        command += ["-e", field]
    frames = {}
    for line in shark.out(command, plugin).splitlines():
        values = line.split("\t")
        frames[int(values[0])] = dict(zip(fields, values[1:]))
    return frames


def codec(program, capture):
    """Returns {frame: {field: value}} from the codec; if a header occurs twice, the first one counts."""
    done = subprocess.run([program, "decode", "--quiet", "--json", "-", capture], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{program} decode {capture}: {done.stderr.strip()}")
    frames = {}
    for line in done.stdout.splitlines():
        frame = json.loads(line)
        flat = {}
        for header in frame.get("headers", []):
            for name, value in header["fields"].items():
                flat.setdefault(header["header"] + "." + name, value)
        if "bth.opcode" in flat:
            flat["icrc.status"] = frame["icrc"]
            frames[frame["frame"]] = {field: value for field, value in flat.items()
                                      if not field.startswith(OTHERS)}
    return frames


def place(captures):
    """Returns the capture and frame of each frame of the merged captures; index 1 is the first."""
    out = subprocess.run(["capinfos", "-c", "-M"] + captures, capture_output=True, text=True, check=True).stdout
    places = [None]
    for capture, count in zip(captures, re.findall(r"Number of packets: +(\d+)", out)):
        places += [f"{os.path.basename(capture)} frame {frame + 1}" for frame in range(int(count))]
    return places


class Agreement:
    """Counts comparisons and differences."""

    def __init__(self, known):
        self.known = known  # names of our fields
        self.plugin = self.builtin = self.frames = self.failures = 0
        self.borne_out, self.met = set(), set()

    def fail(self, where, text):
        print(f"{where}: {text}")
        self.failures += 1

    def with_plugin(self, where, fields, mine):
        self.plugin += 1
        status = {"good": "1", "bad": "0"}.get(fields["icrc.status"], "2")
        if mine.get("roce.icrc.status", "") not in (status, ""):
            self.fail(where, f"icrc: codec {fields['icrc.status']}, plugin {mine['roce.icrc.status']}")
        for field, value in fields.items():
            if field == "icrc.status":
                continue
            self.plugin += 1
            if "roce." + field not in self.known:
                self.fail(where, f"{field}: the plugin has no such field")
            elif number(mine.get("roce." + field)) != number(value):
                self.fail(where, f"{field}: codec {value}, plugin {mine.get('roce.' + field)!r}")

    def with_builtin(self, where, fields, mine, theirs):
        for field, name in SAME.items():
            # Fields that `rocedrill decode` has in no header are taken from the plugin.
            of_plugin = field.startswith(NOT_OF_CODEC)
            want = number(mine.get("roce." + field) if of_plugin else fields.get(field))
            if want is None:
                continue
            text = theirs.get(name, "")
            got = number("0x" + text if text and name in AS_BYTES else text)
            if field == "icrc" and got is not None:  # the built-in dissector reads the ICRC as big-endian
                got = int.from_bytes(got.to_bytes(4, "big"), "little")
            self.builtin += 1
            self.met.add(field)
            if got == want:
                continue
            reasons = [what for what, _, fits in WRONG if fits(field, fields, text)]
            self.borne_out.update(reasons)
            if not reasons:
                self.fail(where, f"{field}: codec {want}, built-in {text!r}")

    def summary(self, captures):
        print(f"{captures} captures, {self.frames} frames: {self.builtin} fields compared with the built-in "
              f"dissector, {self.plugin} with the plugin, {self.failures} differ")
        for what, reason, _ in WRONG:
            state = "seen" if what in self.borne_out else "NOT SEEN: delete the row"
            print(f"built-in wrong: {what}: {reason} ({state})")
            self.failures += what not in self.borne_out
        for field in SAME.keys() - self.met:
            self.fail(field, "in no capture")


def main():
    args = arguments()
    with Tshark(args.plugins) as shark:
        # One run of tshark over all captures, merged.
        merged = shark.file("merged.pcap", b"")
        subprocess.run(["mergecap", "-a", "-F", "pcap", "-w", merged] + args.captures, check=True)
        places = place(args.captures)
        paths = [merged] + [shark.file(name + ".pcap", pcap(frames, linktype)) for name, (linktype, frames) in MADE.items()]
        known = {line.split("\t")[2] for line in shark.out(["-G", "fields"]).splitlines() if "\troce." in line}
        decoded = {path: codec(args.rocedrill, path) for path in paths}
        ours = known & {"roce." + field for frames in decoded.values() for fields in frames.values()
                        for field in fields} | {"roce." + field for field in SAME} | {"roce.icrc.status"}
        agreement = Agreement(known)
        for path, frames in decoded.items():
            mine = table(shark, path, sorted(ours), True)
            theirs = table(shark, path, sorted(set(SAME.values())), False)
            agreement.frames += len(frames)
            for frame, fields in frames.items():
                where = places[frame] if path == merged else f"{os.path.basename(path)} frame {frame}"
                agreement.with_plugin(where, fields, mine.get(frame, {}))
                agreement.with_builtin(where, fields, mine.get(frame, {}), theirs.get(frame, {}))
    agreement.summary(len(MADE) + len(args.captures))
    if agreement.frames == 0:
        print("nothing was compared", file=sys.stderr)
        return 2
    return 1 if agreement.failures else 0


if __name__ == "__main__":
    sys.exit(main())
