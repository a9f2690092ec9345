#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests --jobs of check, replay and drill: the text, the reports, the errors and the exit status of several
files do not depend on the number of jobs. check works on several captures at the same time."""
import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("rocedrill")
parser.add_argument("source", help="folder of the sources")
args = parser.parse_args()

OUTPUTS = {"check": ["json", "junit"], "replay": ["json", "junit"], "drill": ["json", "junit", "tap"]}
failures = 0


def fail(text):
    global failures
    failures += 1
    print("FAIL:", text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def run(folder, command, jobs, words):
    """Returns all outputs by name."""
    paths = {o: os.path.join(folder, f"{command}-{jobs}.{o}") for o in OUTPUTS[command]}
    options = [word for o, path in paths.items() for word in (f"--{o}", path)]
    done = subprocess.run([args.rocedrill, command, "--jobs", str(jobs), *options, *words],
                          capture_output=True, cwd=args.source)
    return {"text": done.stdout, "errors": done.stderr, "status": str(done.returncode).encode(),
            **{o: read(path) for o, path in paths.items()}}


def test_equal(folder, command, words, status):
    one = run(folder, command, 1, words)
    if one["status"] != status:
        fail(f"{command} {words}: status {one['status']} instead of {status}: {one['errors']}")
    for jobs in (2, 5):
        many = run(folder, command, jobs, words)
        for name, value in one.items():
            if many[name] != value:
                at = next((i for i, (a, b) in enumerate(zip(value, many[name])) if a != b), 0)
                fail(f"{command} --jobs {jobs} {words}: {name} differs from byte {at}: "
                     f"{many[name][at:at + 100]!r} instead of {value[at:at + 100]!r}")


def test_json_changes_no_text(folder, words):
    """Without --json, replay counts the parts of a capture itself."""
    plain = subprocess.run([args.rocedrill, "replay", *words], capture_output=True, cwd=args.source)
    if plain.stdout != run(folder, "replay", 2, words)["text"]:
        fail(f"replay {words}: without --json, the text is {plain.stdout}")


def pipes(folder, names):
    paths = [os.path.join(folder, name) for name in names]
    for path in paths:
        os.mkfifo(path)
    return paths


def feed(path, capture):
    with open(path, "wb") as pipe:
        pipe.write(capture)


def test_several_captures_at_a_time(folder):
    """The second capture is finished before the first one. The report must still print it as the second."""
    first, second = pipes(folder, ["first.pcap", "second.pcap"])
    capture = read(os.path.join(args.source, "traces/captures/rc-read-sizes.pcap"))
    check = subprocess.Popen([args.rocedrill, "check", "--jobs", "2", first, second],
                             stdout=subprocess.PIPE, text=True)
    writers = []
    for path in (second, first):
        writers.append(threading.Thread(target=feed, args=(path, capture), daemon=True))
        writers[-1].start()
        writers[-1].join(30)
        if writers[-1].is_alive():
            fail(f"check does not read {os.path.basename(path)} while it waits for the other capture")
            check.kill()
            check.wait()
            return
    text = check.communicate(timeout=30)[0]
    if not 0 <= text.find(first + ":") < text.find(second + ":") or check.returncode != 0:
        fail(f"check of two pipes: status {check.returncode}, {text!r}")


def test_interrupt(folder):
    """Ctrl-C ends all captures that are being read, and check reports them."""
    ends = pipes(folder, ["third.pcap", "fourth.pcap"])
    capture = read(os.path.join(args.source, "traces/captures/rc-read-sizes.pcap"))
    check = subprocess.Popen([args.rocedrill, "check", "--jobs", "2", *ends], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    files = [open(path, "wb", buffering=0) for path in ends]
    for file in files:
        file.write(capture)
    time.sleep(0.5)
    check.send_signal(signal.SIGINT)
    text, errors = check.communicate(timeout=30)
    for path in ends:
        if path + ":" not in text:
            fail(f"check after SIGINT: no report of {path}: {text!r} {errors!r}")
    for file in files:
        file.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        bad = os.path.join(folder, "bad.pcap")
        with open(bad, "wb") as file:
            file.write(b"no capture")
        cut = os.path.join(folder, "cut.pcap")
        with open(cut, "wb") as file:
            file.write(read(os.path.join(args.source, "traces/captures/rc-write-sizes.pcap"))[:-7])
        few = [bad, "traces/captures/rc-write-sizes.pcap", cut, "traces/captures/rc-read-sizes.pcap"]
        test_equal(folder, "check", ["traces/captures"], b"0")
        test_equal(folder, "check", ["-v", "--quirks", "none", *few], b"2")
        test_equal(folder, "check", ["--shard", "1/2", "--fail-on", "note", "traces/captures"], b"1")
        test_equal(folder, "replay", ["traces/captures"], b"0")
        test_equal(folder, "replay", ["-v", "--quirks", "none", *few], b"2")
        test_json_changes_no_text(folder, ["traces/captures"])
        test_json_changes_no_text(folder, ["--quirks", "none", *few])
        failing = os.path.join(folder, "100-fails.drill")
        with open(failing, "wb") as file:
            file.write(read(os.path.join(args.source, "tests/conformance/rc-rsp/058-psn-of-read.drill"))
                       .replace(b"PSN +6  ACK  MSN 5", b"PSN +6  ACK  MSN 6"))
        broken = os.path.join(folder, "101-broken.drill")
        with open(broken, "wb") as file:
            file.write(b"no drill\n")
        test_equal(folder, "drill", ["tests/conformance"], b"0")
        test_equal(folder, "drill", ["-v", broken, "tests/conformance/cq", failing], b"2")
        test_several_captures_at_a_time(folder)
        test_interrupt(folder)
    print(f"{failures} failures")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
