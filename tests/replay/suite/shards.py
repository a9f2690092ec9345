#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests --shard and `rocedrill merge`: the merged reports of all shards equal those of a single run, byte
for byte: text, JSON, JUnit, KTAP, page and exit status. Shards are disjoint and balanced."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import jsonschema

parser = argparse.ArgumentParser()
parser.add_argument("rocedrill")
parser.add_argument("source", help="folder of the sources")
args = parser.parse_args()

COMMANDS = {
    "check": {"outputs": ["json", "junit"], "files": "connection"},
    "replay": {"outputs": ["json", "junit", "html"], "files": "captures"},
    "drill": {"outputs": ["json", "junit", "html", "tap"], "files": "drills"},
}
SCHEMA = {"check": "replay/check/check.schema.json", "replay": "replay/report/replay.schema.json",
          "drill": "replay/drill/drill.schema.json"}
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text)


def run(*words):
    return subprocess.run([args.rocedrill, *words], capture_output=True, text=True,
                          cwd=args.source)


def has_page():
    return "--html" in run("merge", "--help").stdout


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def objects(command, path):
    text = read(path)
    return [json.loads(line) for line in text.splitlines()] if command == "check" else [json.loads(text)]


def outputs(command, folder, name):
    """Options that write all reports of a command to files, and the files."""
    wanted = [o for o in COMMANDS[command]["outputs"] if o != "html" or has_page()]
    paths = {o: os.path.join(folder, f"{name}.{o}") for o in wanted}
    return [word for o, path in paths.items() for word in (f"--{o}", path)], paths


def compare(what, one, many):
    if one == many:
        return
    at = next((i for i, (a, b) in enumerate(zip(one, many)) if a != b), min(len(one), len(many)))
    fail(f"{what} differs from byte {at}: {many[at:at + 200]!r} instead of {one[at:at + 200]!r}")


def shards_of(command, count, options, inputs, folder, name):
    """Runs all shards. Returns the paths of their reports."""
    reports = []
    for i in range(1, count + 1):
        path = os.path.join(folder, f"{name}-{i}.json")
        run(command, "--shard", f"{i}/{count}", "--json", path, *options, *inputs)
        reports.append(path)
    return reports


def test_equal(command, count, options, inputs, folder):
    name = f"{command}{count}{len(options)}"
    wanted, single = outputs(command, folder, name + "-single")
    one = run(command, *wanted, *options, *inputs)
    reports = shards_of(command, count, options, inputs, folder, name)
    wanted, merged = outputs(command, folder, name + "-merged")
    many = run("merge", *wanted, *reversed(reports))
    what = f"{command} {' '.join(options)} {' '.join(inputs)[:60]} with {count} shards"
    compare(f"{what}: text", one.stdout, many.stdout)
    compare(f"{what}: standard error", one.stderr, many.stderr)
    if one.returncode != many.returncode:
        fail(f"{what}: exit status {many.returncode} instead of {one.returncode}: {many.stderr}")
    if not one.stdout:
        fail(f"{what}: no text")
    for output, path in single.items():
        compare(f"{what}: {output}", read(path), read(merged[output]))
    return reports


def files_of(command, path):
    found = objects(command, path)
    if command == "check":
        return [o["file"] for o in found if o["type"] == "part"]
    return [o["file"] for o in found[0][COMMANDS[command]["files"]]]


def test_schema(folder):
    """The reports of shards follow the public schemas."""
    for command, inputs in (("check", ["traces/captures/rc-write-sizes.pcap"]),
                            ("replay", ["traces/captures/rc-write-sizes.pcap"]),
                            ("drill", ["tests/conformance/cq"])):
        schema = json.loads(read(os.path.join(args.source, SCHEMA[command])))
        for path in shards_of(command, 2, [], inputs, folder, "schema"):
            for o in objects(command, path):
                if command == "check":  # use the definition of this type only, because oneOf would try all
                    schema = {"definitions": schema["definitions"], "$ref": f"#/definitions/{o['type']}"}
                jsonschema.validate(o, schema)


def test_balance(folder):
    reports = shards_of("check", 4, [], ["traces/captures"], folder, "balance")
    parts = [files_of("check", path) for path in reports]
    every = [name for part in parts for name in part]
    if len(every) != len(set(every)):
        fail("a capture belongs to two shards")
    sizes = [sum(os.path.getsize(os.path.join(args.source, name)) for name in part) for part in parts]
    biggest = max(os.path.getsize(os.path.join(args.source, name)) for name in every)
    if max(sizes) - min(sizes) > max(biggest, sum(sizes) // 20):
        fail(f"shards of {sizes} bytes are not balanced; the biggest capture has {biggest}")


def changed_part(path, folder, **members):
    """Writes a report of check with other members in its first line of type "part". Returns its path."""
    lines = read(path).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('{"type":"part"'))
    lines[at] = json.dumps({**json.loads(lines[at]), **members}, separators=(",", ":"))
    return write_lines(folder, "changed", lines)


def write_lines(folder, name, lines):
    path = os.path.join(folder, f"{name}.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    return path


def test_damage(folder, reports):
    """A damaged report is refused, and its text cannot control a terminal."""
    lines = read(reports[0]).splitlines()
    cut = write_lines(folder, "middle", [*lines[:1], lines[1][:50], *lines[2:]])
    done = run("merge", cut, *reports[1:])
    if done.returncode != 2 or "line 2 is damaged" not in done.stderr:
        fail(f"a cut line: {done.returncode} {done.stderr!r}")
    for status in (-5, 77, None, "0", 0.5):
        done = run("merge", changed_part(reports[0], folder, exit_status=status), *reports[1:])
        if done.returncode != 2 or "is incomplete" not in done.stderr:
            fail(f"exit status {status!r}: {done.returncode} {done.stderr!r}")
    part = next(o for o in objects("check", reports[0]) if o["type"] == "part")
    for damage in ("", "<!--", part["junit"] + part["junit"], part["junit"] + "</testsuites>",
                   part["junit"].replace("</testsuite>", "<testcase name='x'/></testsuite>"),
                   part["junit"].replace('time="', 'time="&x;', 1), part["junit"].replace('name="', 'name="\uffff', 1)):
        done = run("merge", changed_part(reports[0], folder, junit=damage), *reports[1:])
        if done.returncode != 2 or "is damaged" not in done.stderr:
            fail(f"JUnit report {damage[:60]!r}: {done.returncode} {done.stderr!r}")
    done = run("merge", changed_part(reports[0], folder, text="\x1b[2J\u009b\u00b5\n"), *reports[1:])
    if "\x1b" in done.stdout or "\x9b" in done.stdout or "\\x1b[2J" not in done.stdout or "\u00b5\n" not in done.stdout:
        fail(f"control characters: {done.stdout[:200]!r}")


def test_errors(folder, reports):
    """Expects that reports which are not all shards of one run are refused, with the reason."""
    plain = os.path.join(folder, "plain.json")
    run("check", "--json", plain, "traces/captures/rc-write-sizes.pcap")
    cut = os.path.join(folder, "cut.json")
    with open(cut, "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in read(reports[0]).splitlines()[:-1]))
    other = os.path.join(folder, "other.json")
    run("replay", "--shard", "2/3", "--json", other, "traces/captures")
    stopped = os.path.join(folder, "stopped.json")
    with open(stopped, "w", encoding="utf-8") as file:
        json.dump({"drills": [], "shard": {"index": 1, "count": 1, "files": 1},
                   "stopped": {"problem": "the interface is down", "not_run": []}}, file)
    many = os.path.join(folder, "many.json")
    with open(many, "w", encoding="utf-8") as file:
        file.write(read(reports[0]).splitlines()[0].replace('"index":1,"count":3', '"index":1,"count":1')
                   .replace('"files":', '"files":9999') + "\n")
    for words, reason in (
            ([stopped], "so some drills were not run: run the shard again"),
            ([*reports[1:]], "shard 1 of 3 is missing"),
            ([reports[0], *reports], "is given twice"),
            ([many], "files, but the reports have fewer results"),
            ([plain], "not the report of a run with --shard"),
            ([cut, *reports[1:]], "is missing: a shard did not finish"),
            ([reports[0], other, reports[2]], "not a report of the same command"),
            ([os.path.join(args.source, "README.md")], "no JSON"),
            ([os.path.join(folder, "none.json")], "cannot be opened"),
            (["--tap", os.path.join(folder, "x.tap"), *reports], "only for reports of drill")):
        result = run("merge", *words)
        if result.returncode != 2 or reason not in result.stderr:
            fail(f"merge: status {result.returncode}, {result.stderr!r} instead of '{reason}'")
    for words, reason in ((["check", "--shard", "0/3", "x"], "not I/N"),
                          (["check", "--shard", "4/3", "x"], "not I/N"),
                          (["replay", "--shard", "1/2x", "x"], "not I/N"),
                          (["drill", "--shard", "1", "x"], "not I/N"),
                          (["check", "--shard", "1/2", "-"], "not standard input")):
        result = run(*words)
        if result.returncode != 2 or reason not in result.stderr:
            fail(f"{' '.join(words)}: status {result.returncode}, {result.stderr!r}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad.pcap")
        with open(bad, "wb") as file:
            file.write(b"no capture")
        reports = test_equal("check", 3, [], ["traces/captures"], folder)
        test_equal("check", 2, ["-v"], ["traces/captures/rc-write-sizes.pcap", bad,
                                        "traces/captures/rc-read-sizes.pcap"], folder)
        test_equal("check", 5, [], ["traces/captures/rc-write-sizes.pcap",
                                    "traces/captures/rc-read-sizes.pcap"], folder)
        test_equal("replay", 3, [], ["traces/captures"], folder)
        test_equal("replay", 2, ["-v", "--quirks", "none"],
                   ["traces/captures/rc-write-sizes.pcap", bad,
                    "traces/captures/rc-read-sizes.pcap"], folder)
        test_equal("drill", 3, [], ["tests/conformance/rc-rsp"], folder)
        test_equal("replay", 2, ["--quirks", "none"], ["traces/captures"], folder)
        failing = os.path.join(folder, "100-fails.drill")
        with open(failing, "w", encoding="utf-8") as file:
            file.write(read(os.path.join(args.source, "tests/conformance/rc-rsp/058-psn-of-read.drill"))
                       .replace("PSN +6  ACK  MSN 5", "PSN +6  ACK  MSN 6"))
        broken = os.path.join(folder, "101-broken.drill")
        with open(broken, "w", encoding="utf-8") as file:
            file.write("no drill\n")
        test_equal("drill", 2, [], [failing, "tests/conformance/cq", broken], folder)
        test_equal("drill", 4, ["--strict", "--only", "mtu=1024"],
                   [failing, "tests/conformance/rc-rsp/058-psn-of-read.drill",
                    "tests/conformance/cq"], folder)
        test_equal("drill", 2, ["--quiet", "--lacks", "atomic"],
                   ["tests/conformance/rc-rsp", "tests/conformance/rc-req"], folder)
        test_schema(folder)
        test_balance(folder)
        test_errors(folder, reports)
        test_damage(folder, reports)
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
