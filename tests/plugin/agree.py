#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Decodes every capture three times and compares field by field:

  tshark's built-in dissector   infiniband.*   the independent judge
  our Wireshark plugin          roce.*         the codec's tables as Wireshark reads them
  rocedrill decode --json       the codec itself

    agree.py --plugins DIR --rocedrill PROGRAM CAPTURE...

DIR is what WIRESHARK_PLUGIN_DIR names (it holds X.Y/epan/roce.so). Where the built-in is known to be
wrong stands in WRONG, each row with its reason; a row that no capture bears out fails the run, so that
the list stays true. Exit status 1 on any other difference, 2 when nothing could be compared.

Run as root, tshark ignores WIRESHARK_PLUGIN_DIR; this script then becomes nobody for tshark.
"""
import argparse
import ipaddress
import json
import os
import shutil
import subprocess
import sys
import tempfile

# Our field: the built-in's field. Fields of the same meaning; all that the built-in has.
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

# Fields that the built-in shows as bytes, in hex without 0x.
AS_BYTES = {"infiniband.immdt", "infiniband.ieth"}

# Where the built-in dissector is wrong: what, why, and which difference this row then explains, given
# our field, all fields of the frame, and what the built-in shows ("" for nothing).
WRONG = [
    ("flow label and packet rate of a CM REQ", "4.0 reads both, 32 bits wide, at one offset (fixed in 4.4)",
     lambda field, fields, text: field in ("cm.req.primary_flow", "cm.req.primary_rate")),
    ("ICRC after a small payload", "lost where RPC-over-RDMA claims it by heuristics and then fails",
     lambda field, fields, text: field == "icrc" and text == ""),
    ("FLUSH and ATOMIC WRITE", "unknown to 4.0: nothing after the BTH is decoded (fixed in 4.4)",
     lambda field, fields, text: fields["bth.opcode"] in (0x1c, 0x1d) and text == ""),
]


def number(text):
    """The value of a field as an integer, however the tool wrote it; None if it wrote nothing."""
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
    if ":" in text and len(text) == 11:  # bytes: aa:bb:cc:dd
        return int(text.replace(":", ""), 16)
    try:
        return int(text, 16)
    except ValueError:
        return int(ipaddress.ip_address(text))


def run(command):
    """What a command prints; its complaint and exit status 2 if it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{command[0]} failed: {done.stderr.strip()}", file=sys.stderr)
        sys.exit(2)
    return done.stdout


def tshark(capture, fields, plugin_dir, home):
    """{frame: {field: value}} as tshark prints these fields; the first value of each."""
    become = []
    if os.getuid() == 0:
        become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = become + ["env", "HOME=" + home, "XDG_CONFIG_HOME=" + home,
                        "WIRESHARK_PLUGIN_DIR=" + plugin_dir, "tshark", "-n", "-r", capture,
                        "-T", "fields", "-E", "separator=/t", "-E", "occurrence=f",
                        "-e", "frame.number"]
    for field in fields:
        command += ["-e", field]
    out = run(command)
    frames = {}
    for line in out.splitlines():
        values = line.split("\t")
        frames[int(values[0])] = dict(zip(fields, values[1:]))
    return frames


def codec(program, capture):
    """{frame: {field: value}} as the codec decodes them; a header seen twice counts the first time."""
    out = run([program, "decode", "--quiet", "--json", "-", capture])
    frames = {}
    for line in out.splitlines():
        frame = json.loads(line)
        flat = {}
        for header in frame.get("headers", []):
            for name, value in header["fields"].items():
                flat.setdefault(header["header"] + "." + name, value)
        if "bth.opcode" in flat:
            flat["icrc.status"] = frame["icrc"]
            frames[frame["frame"]] = flat
    return frames


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--rocedrill", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    work = tempfile.mkdtemp(prefix="rocedrill-agree-")
    os.chmod(work, 0o755)
    try:
        return compare(args, work)
    finally:
        shutil.rmtree(work)


def compare(args, work):
    # nobody must be able to read what tshark is given
    plugins = os.path.join(work, "plugins")
    shutil.copytree(args.plugins, plugins)
    empty = os.path.join(work, "empty")
    home = os.path.join(work, "home")
    os.mkdir(empty)
    os.mkdir(home)
    os.chmod(home, 0o777)
    ours = sorted("roce." + field for field in SAME) + ["roce.icrc.status"]
    theirs = sorted(set(SAME.values()))
    compared = {"built-in": 0, "plugin": 0}
    borne_out = set()
    failures = 0
    frames_seen = 0
    for path in args.captures:
        capture = os.path.join(work, "capture.pcap")
        shutil.copyfile(path, capture)
        os.chmod(capture, 0o644)
        decoded = codec(args.rocedrill, capture)
        builtin = tshark(capture, theirs, empty, home)
        plugin = tshark(capture, ours, plugins, home)
        name = os.path.basename(path)
        for frame, fields in decoded.items():
            frames_seen += 1
            mine = plugin.get(frame, {})
            status = {"good": "1", "bad": "0"}.get(fields["icrc.status"], "2")
            compared["plugin"] += 1
            if mine.get("roce.icrc.status", "") not in (status, ""):
                print(f"{name} frame {frame}: icrc: codec {fields['icrc.status']}, plugin "
                      f"{mine['roce.icrc.status']}")
                failures += 1
            # The stored ICRC is not among the codec's fields: take it from the plugin.
            for field, value in list(fields.items()) + [("icrc", mine.get("roce.icrc"))]:
                want = number(value) if field in SAME else None
                if want is None:
                    continue
                got = number(mine.get("roce." + field))
                compared["plugin"] += 1
                if got != want:
                    print(f"{name} frame {frame}: {field}: codec {value}, plugin {got}")
                    failures += 1
                text = builtin.get(frame, {}).get(SAME[field])
                got = number("0x" + text if text and SAME[field] in AS_BYTES else text)
                if field == "icrc" and got is not None:  # the built-in shows it big-endian
                    got = int.from_bytes(got.to_bytes(4, "big"), "little")
                compared["built-in"] += 1
                if got == want:
                    continue
                reasons = [what for what, _, fits in WRONG if fits(field, fields, text)]
                borne_out.update(reasons)
                if reasons:
                    continue
                print(f"{name} frame {frame}: {field}: codec {value}, built-in {text!r}")
                failures += 1
    print(f"{len(args.captures)} captures, {frames_seen} frames: {compared['built-in']} fields compared "
          f"with the built-in dissector, {compared['plugin']} with the plugin, {failures} differ")
    for what, reason, _ in WRONG:
        state = "seen" if what in borne_out else "NOT SEEN: take the row out"
        print(f"built-in wrong: {what}: {reason} ({state})")
        failures += what not in borne_out
    if frames_seen == 0:
        print("nothing was compared", file=sys.stderr)
        return 2
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
