#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the drills that `rocedrill drill --from` writes.

Each recorded capture becomes a drill for each role, and the software RNIC passes it. If one line
that the drill expects is altered, the software RNIC fails it. A capture that `drill --record` wrote
becomes a drill too.

If the recorded responder refused a request because of the range or the permissions of a region, the
drill contains the region and the request, and does not destroy the region first.

    tests/replay/drill/drill_from.py ROCEDRILL TOP
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROCEDRILL, TOP = sys.argv[1], pathlib.Path(sys.argv[2])
ROLES = ("responder", "requester")
# Groups of drills that are played and recorded. From each recording a drill is written again, once for each of these
# roles of the device.
GROUPS = {"xrc": ROLES, "unreliable": ROLES, "cm": ("responder",), "rc-req": ("requester",)}
# Captures that `rocedrill drill --record` wrote and from which `rocedrill drill --from` can write no drill, with words of
# its error.
REFUSED = {
    "cm-244-sidr-without-service-requester": "only the service IDs of TCP ports",
    "cm-233-hostile-disconnects-requester": "not allowed in this QP state",
}

# Captures of refused requests, with the beginning of the line that sends the refused request.
REFUSED_REQUESTS = {
    "rc-no-permission-atomic": "< Fetch and Add PSN +1 va M0+0",
    "rc-no-permission-read": "< READ Request PSN +",
    "rc-no-permission-write": "< WRITE Only PSN +2 va M1+0",
    "rc-out-of-bounds-read": "< READ Request PSN +1 va M0+",
    "rc-out-of-bounds-write": "< WRITE Only PSN +1 va M0+0 len 200",
}

fails = 0


def fail(text):
    global fails
    fails += 1
    print(text)


def write_drill(capture, role, folder):
    """Writes the drill of a capture. Returns its path, or the error."""
    path = folder / f"{capture.stem}-{role}.drill"
    with path.open("wb") as out:
        run = subprocess.run([ROCEDRILL, "drill", "--from", capture, "--role", role], stdout=out,
                             stderr=subprocess.PIPE, text=True)
    if run.returncode == 0:
        return path, ""
    path.unlink()
    return None, run.stderr


def verdicts(folder):
    """Plays the drills of a folder. Returns the verdict of each file."""
    run = subprocess.run([ROCEDRILL, "drill", "--json", "-", folder], stdout=subprocess.PIPE,
                         text=True)
    return {pathlib.Path(d["file"]).name: d["verdict"] for d in json.loads(run.stdout)["drills"]}


def alter(text):
    """Alters one expected line in the middle of a drill. Returns None if the drill expects nothing."""
    lines = text.splitlines()
    rows = [i for i, line in enumerate(lines) if re.match(r"\+\S+\s+(> |comp )", line)]
    if not rows:
        return None
    at = rows[len(rows) // 2]
    line = lines[at]
    line = re.sub(r"(> .*PSN [+-])(\d+)", lambda m: f"{m[1]}{int(m[2]) + 1}", line)
    line = re.sub(r"> CM (\w+).*", lambda m: "> CM " + ("REJ" if m[1] != "REJ" else "REP"), line)
    line = re.sub(r"comp (.*) success.*", r"comp \1 flushed", line)
    line = re.sub(r"comp (.*) (?!flushed|success)\S+$", r"comp \1 success", line)
    if line == lines[at]:
        return None
    lines[at] = line
    return "\n".join(lines) + "\n"


def key_of_another_connection(folder):
    """Tests a capture with two connections to one responder: the second one is refused with the R_Key that the first one
    uses, for example because the memory belongs to another PD."""
    captures = TOP / "traces/captures"
    refused, both = folder / "refused.pcapng", folder / "both.pcapng"
    rules = ["drop@frame=1..4", "set=reth.rkey=0x5f7d", "set=reth.va=0x7f1202584000"]
    subprocess.run([ROCEDRILL, "edit", "-q", *(word for rule in rules for word in ("--impair", rule)),
                    captures / "rc-no-permission-write.pcap", refused], check=True)
    used = folder / "used.pcapng"
    subprocess.run([ROCEDRILL, "edit", "-q", "--impair", "drop@frame=3..6", captures / "rc-bad-rkey-write.pcap", used],
                   check=True)
    both.write_bytes(used.read_bytes() + refused.read_bytes())
    for first in (both, folder / "reversed.pcapng"):
        if first != both:
            first.write_bytes(refused.read_bytes() + used.read_bytes())
        path, error = write_drill(first, "responder", folder)
        if not path:
            fail(error)
        elif "destroy" in path.read_text():
            fail(f"{path.name}: destroys memory that this connection uses:\n{path.read_text()}")


def region_longer_than_a_drill_can_have(folder, recorded):
    """Tests that the first WRITE of a UC stream accesses 80 MiB, although a memory region has at most 64 MiB."""
    capture = folder / "long.pcapng"
    subprocess.run([ROCEDRILL, "edit", "-q", "--impair", "set=reth.dma_len=0x5000000",
                    recorded / "unreliable-164-uc-write-after-a-gap.pcapng", capture], check=True)
    path, error = write_drill(capture, "responder", folder)
    if path or "frame 1 accesses 83886080 bytes, but a memory region of a drill has at most 67108864" not in error:
        fail(f"{capture.name}: {error}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    whole, altered, again, recorded = (folder / n for n in ("whole", "altered", "again", "recorded"))
    for sub in (whole, altered, again):
        sub.mkdir()
    key_of_another_connection(folder)
    captures = sorted((TOP / "traces/captures").glob("*.pcap"))
    for capture in captures:
        for role in ROLES:
            path, error = write_drill(capture, role, whole)
            if not path:
                fail(error)
                continue
            text = alter(path.read_text())
            if not text:
                fail(f"{path.name}: no line to alter")
                continue
            (altered / path.name).write_text(text)
    for stem, request in REFUSED_REQUESTS.items():
        text = (whole / f"{stem}-responder.drill").read_text()
        if "destroy" in text or request not in text or "NAK remote-access" not in text:
            fail(f"{stem}: the region does not refuse the request:\n{text}")
    for drill, verdict in verdicts(whole).items():
        if verdict != "pass":
            fail(f"{drill}: {verdict}")
    for drill, verdict in verdicts(altered).items():
        if verdict != "fail":
            fail(f"{drill}: altered, but {verdict}")
    count = 0
    for group, roles in GROUPS.items():
        subprocess.run([ROCEDRILL, "drill", "--quiet", "--record", recorded,
                        TOP / "tests/conformance" / group], stdout=subprocess.PIPE, check=True)
        for capture in sorted(recorded.glob(f"{group}-*.pcapng")):
            for role in roles:
                path, error = write_drill(capture, role, again)
                why = REFUSED.get(f"{capture.stem}-{role}", "the capture contains no connection, stream or CM exchange that can be replayed")
                if not path and why not in error:
                    fail(error)
                count += path is not None
    region_longer_than_a_drill_can_have(folder, recorded)
    for drill, verdict in verdicts(again).items():
        if verdict != "pass":
            fail(f"{drill}: recorded, but {verdict}")
    print(f"{2 * len(captures)} drills from captures, {count} from recorded drills")
    if len(captures) < 120 or count < 100:
        fail("too few captures")
sys.exit(fails != 0)
