#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Validates the JSON report of rocedrill replay by replay/report/replay.schema.json.

    replay_schema.py PROGRAM SCHEMA CAPTURE-FOLDER

The reports cover all captures of the folder, a file that is not a capture, and closed loops. The schema
allows only the members that it names. The test also fails if no report has a member of the schema.
"""
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

# Members that no capture of the folder produces, each with the reason.
RARE = {"stopped": "a CM endpoint of a capture that ends too early",
        "exchange": "a difference of a CM message", "stream": "a difference of a datagram stream",
        "missing_responses": "a capture that lacks a response which the requester received",
        "psn": "a capture with a gap", "after_frame": "a capture with a gap",
        "source": "packets of no direction", "destination": "packets of no direction"}


def members(value, into):
    """Collects the names of all members of a JSON value."""
    if isinstance(value, dict):
        into.update(value)
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        members(child, into)


def named(schema, into):
    """Collects the names of all members that a schema allows."""
    if isinstance(schema, dict):
        into.update(schema.get("properties", {}))
    for child in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        named(child, into)


def main():
    program, schema_file, folder = sys.argv[1:4]
    with open(schema_file, encoding="utf-8") as text:
        schema = json.load(text)
    jsonschema.Draft202012Validator.check_schema(schema)
    seen, allowed = set(), set()
    captures = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if ".pcap" in name]
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text.pcap")
        with open(text, "w", encoding="utf-8") as out:
            out.write("not a capture\n")
        loop = [name for name in captures if os.path.basename(name).startswith("rc-loss-both")]
        for args in ([*captures, text], ["--quirks", "linux-rxe-6.1", *captures],
                     ["--shard", "1/1", "--quirks", "none", *captures, text], ["--closed-loop", "both", "--impair", "loss=5%", "--seed", "1", *loop],
                     ["--closed-loop", "both", "--impair", "corrupt=20%", "--seed", "1", *captures[:12]],
                     ["--shard", "1/40", os.path.dirname(captures[0])]):
            done = subprocess.run([program, "replay", "--quiet", "--json", "-", *args], capture_output=True, text=True)
            if not done.stdout:
                sys.exit(f"{args[:3]}: no report: {done.stderr}")
            report = json.loads(done.stdout)
            jsonschema.validate(report, schema)
            members(report, seen)
            summary = report["summary"]
            if summary["captures"] != len(report["captures"]):
                sys.exit(f"{args[:3]}: the summary counts {summary['captures']} captures of {len(report['captures'])}")
            if summary["directions"] != sum(len(one.get("directions", [])) for one in report["captures"]):
                sys.exit(f"{args[:3]}: the summary counts other directions than the captures have")
    named(schema, allowed)
    missing = allowed - seen - set(RARE)
    if missing:
        sys.exit(f"no report has these members of the schema: {sorted(missing)}")


if __name__ == "__main__":
    main()
