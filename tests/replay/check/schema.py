#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Validates every line of rocedrill check --json by replay/check/check.schema.json, and its JUnit report by
the rules of JUnit.

    schema.py --rocedrill PROGRAM --schema FILE --words FILE CAPTURE...

The schema allows only the members that it names, and check.md (--words) must describe each of them. The
inputs are the captures as they are, with cut frames, without ICRCs, and broken files. The test also fails
if no line uses a definition of the schema. The rules of JUnit are those that the schemas of Jenkins and
Surefire share: totals equal the numbers of cases, names and classes exist, times are numbers, and a case
has at most one outcome.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import jsonschema

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../plugin"))
from packet_builder import aeth, bth, connect, pcap, roce  # noqa: E402

OUTCOMES = {"failure", "error", "skipped"}
SUITE = {"name", "tests", "failures", "errors", "time"}


def congested():
    """Returns packets of a requester that CNPs slow down. No recorded capture causes this kind of JSON line."""
    frames, seconds, now = connect(4420), [0, 0.001, 0.002], 0.01
    for number in range(400):
        now += 0.000005 if number < 200 else 0.00005
        frames.append(roce(bth(0x04, 0x22, 500 + number, ackreq=1) + bytes(1024), ecn=3 if number == 190 else 2))
        frames.append(roce(bth(0x11, 0x11, 500 + number) + aeth(number + 1), 1))
        seconds += [now, now + 0.000001]
        if number == 200:
            frames.append(roce(bth(0x81, 0x11, 0, byte4=0x40) + bytes(16), 1))
            seconds.append(now + 0.000002)
    return pcap(frames, seconds=seconds)


def lines(program, args):
    done = subprocess.run([program, "check", "--json", "-"] + args, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()], done.returncode


def undocumented(schema, words):
    """Returns the members of the schema that check.md does not describe."""
    with open(words, encoding="utf-8") as text:
        said = text.read()
    found = set()

    def walk(node):
        if isinstance(node, dict):
            found.update(node.get("properties", {}) if isinstance(node.get("properties"), dict) else ())
            for child in node.values():
                walk(child)
        elif isinstance(node, list):
            for child in node:
                walk(child)
    walk(schema["definitions"])
    return sorted(name for name in found if name != "type" and f"`{name}`" not in said
                  and not re.search(rf"`{name.split('_')[0]}_\*`|`{name}|{name}`", said))


def junit(path):
    """Returns the faults of a JUnit file."""
    wrong, top = [], ET.parse(path).getroot()
    if top.tag != "testsuites":
        wrong.append(f"the root is {top.tag}")
    for suite in top:
        missing = SUITE - set(suite.keys())
        cases = suite.findall("testcase")
        if suite.tag != "testsuite" or missing:
            wrong.append(f"{suite.tag}: without {sorted(missing)}")
            continue
        float(suite.get("time"))
        count = collections.Counter(child.tag for case in cases for child in case)
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if int(suite.get(name, 0)) != count[tag]:
                wrong.append(f"{suite.get('name')}: {name} {suite.get(name)}, but {count[tag]}")
        if int(suite.get("tests")) != len(cases):
            wrong.append(f"{suite.get('name')}: tests {suite.get('tests')}, but {len(cases)}")
        for case in cases:
            if not case.get("name") or not case.get("classname") or float(case.get("time", "-1")) < 0:
                wrong.append(f"{suite.get('name')}: a case without name, class or time: {case.attrib}")
            if sum(child.tag in OUTCOMES for child in case) > 1:
                wrong.append(f"{case.get('name')}: more than one outcome")
            wrong += [f"{case.get('name')}: {child.tag}" for child in case
                      if child.tag not in OUTCOMES | {"system-out", "system-err", "properties"}]
    return wrong


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--rocedrill", required=True)
    args.add_argument("--schema", required=True)
    args.add_argument("--words", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    with open(args.schema, encoding="utf-8") as text:
        schema = json.load(text)
    jsonschema.Draft7Validator.check_schema(schema)
    kinds = {name: jsonschema.Draft7Validator({"definitions": schema["definitions"], "$ref": "#/definitions/" + name})
             for name in [entry["$ref"].split("/")[-1] for entry in schema["oneOf"]]}
    wrong = [f"check.md does not say what `{name}` is" for name in undocumented(schema, args.words)]
    met = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        cut = os.path.join(folder, "cut.pcap")
        with open(args.captures[0], "rb") as whole, open(cut, "wb") as part:
            part.write(whole.read()[:-5])
        none = os.path.join(folder, "none")
        with open(none, "wb"):
            pass
        slowed = os.path.join(folder, "slowed.pcap")
        with open(slowed, "wb") as out:
            out.write(congested())
        runs = [[capture] for capture in args.captures + [cut, none, slowed]] + [[none, args.captures[0]]]
        runs += [["--no-icrc", args.captures[0]], ["--quirks", "linux-rxe-6.1"] + args.captures]
        runs += [["--shard", "1/2", args.captures[0], none]]
        runs += [["--other-end", capture, capture] for capture in args.captures[:3]]
        runs += [["--baseline", args.captures[0], capture] for capture in args.captures[:2]]
        last_types = {"--other-end": "comparison", "--baseline": "baseline", "--shard": "part"}
        for run in runs:
            found, status = lines(args.rocedrill, run)
            for line in found:
                met[line["type"]] += 1
                for error in kinds[line["type"]].iter_errors(line):
                    wrong.append(f"{run[-1]}: {line['type']}: {'/'.join(map(str, error.path))}: {error.message[:200]}")
            last = last_types.get(run[0], "summary")
            if not found or found[-1]["type"] != last or (len(run) == 1 and found[-1]["exit_status"] != status):
                wrong.append(f"{run[-1]}: no {last} at the end, or another exit status than {status}")
        report = os.path.join(folder, "report.xml")
        for run in [args.captures, [cut], [none]]:
            subprocess.run([args.rocedrill, "check", "-q", "--junit", report] + run, capture_output=True)
            wrong += junit(report)
    wrong += [f"no line is a {name}" for name in kinds if not met[name]]
    for line in wrong[:40]:
        print(line)
    print(f"{sum(met.values())} lines: {dict(met)}, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
