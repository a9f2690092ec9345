#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests how rnic-run -w makes one file from the recordings of its processes. The file has all frames, sorted by time, and
keeps the permissions that it had. rnic-run copies no frame if only one process recorded and its frames are in order: it
may write 64 KiB here, but the recording has 16 MiB. So its end takes seconds less after a long recording. If it cannot
write all frames, it reports that and keeps the recordings.

joined.py --bin FOLDER"""
import argparse
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from pcap import frames_of  # noqa: E402

SECTION, INTERFACE, PACKET, MARK = 0x0A0D0D0A, 1, 6, 0x80000001
ENOUGH = 64 << 10  # bytes that rnic-run may write without a copy
SMALL, LARGE = 100, 4000  # frames of 4 KiB


def block(kind, body):
    return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)


def packet(time, number):
    frame = struct.pack("<I", number) * 1024
    return block(PACKET, struct.pack("<IIIII", 0, time >> 32, time & 0xFFFFFFFF, len(frame), len(frame)) + frame)


def recording(numbers, cut=False):
    """Returns a recording of numbered frames, each sent at the time of its number. The process of a recording that is cut
    was killed while it wrote its last frame."""
    head = block(SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + block(INTERFACE, struct.pack("<HHI", 1, 0, 0))
    packets = [packet((1600000000 << 30) + number, number) for number in numbers]
    return head + block(MARK, bytes(8)) + b"".join(packets) + (packet(0, 0)[:99] if cut else b"")


def run(args, folder, *parts, size=resource.RLIM_INFINITY):
    """Runs rnic-run with a program that leaves `parts` as its recordings. No file may become larger than `size`. Returns the
    result, and the path of the joined file."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    out = os.path.join(folder, "out.pcapng")
    names = []
    for number, part in enumerate(parts):
        names.append(os.path.join(folder, f"{number}-0.pcapng"))
        with open(names[-1], "wb") as file:
            file.write(part)
        os.chmod(names[-1], 0o600)
    command = [os.path.join(args.bin, "rnic-run"), "--wire", "shm", "-w", out, "--",
               "sh", "-c", 'mv "$@" "$RNIC_RECORD"', "sh", *names]
    return subprocess.run(command, preexec_fn=limit, restore_signals=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=200, check=False), out


def record(args, folder, *parts, **how):
    """Runs rnic-run, which must leave only the joined file. Returns its path."""
    done, out = run(args, folder, *parts, **how)
    assert done.returncode == 0, f"status {done.returncode}: {done.stdout}"
    assert os.listdir(folder) == ["out.pcapng"], os.listdir(folder)
    return out


def expect(path, count):
    numbers = [struct.unpack_from("<I", frame)[0] for frame in frames_of(path)]
    assert numbers == list(range(count)), f"{len(numbers)} frames: {numbers[:20]} ..."
    with open(path, "rb") as file:  # no incomplete block remains at the end
        data = file.read()
    at = 0
    while at < len(data):
        at += struct.unpack_from("<I", data, at + 4)[0]
    assert at == len(data), f"{len(data)} bytes, the blocks have {at}"


def in_fresh_folder(test):
    def started(args):
        with tempfile.TemporaryDirectory(prefix="rnic-joined-") as folder:
            test(args, folder)
        print(test.__name__, "ok", flush=True)
    return started


@in_fresh_folder
def one_ordered_recording_is_not_copied(args, folder):
    path = record(args, folder, recording(range(LARGE), cut=True), size=ENOUGH)
    expect(path, LARGE)
    assert os.stat(path).st_mode & 0o777 == 0o600


@in_fresh_folder
def one_recording_in_disorder_is_sorted(args, folder):
    expect(record(args, folder, recording([1, 0, *range(2, SMALL)])), SMALL)


@in_fresh_folder
def two_recordings_become_one(args, folder):
    expect(record(args, folder, recording(range(0, SMALL, 2)), recording(range(1, SMALL, 2), cut=True)), SMALL)


@in_fresh_folder
def existing_file_keeps_its_permissions(args, folder):
    path = os.path.join(folder, "out.pcapng")
    with open(path, "wb"):
        os.chmod(path, 0o640)
    expect(record(args, folder, recording(range(SMALL))), SMALL)
    assert os.stat(path).st_mode & 0o777 == 0o640


@in_fresh_folder
def file_with_a_second_name_stays_the_same_file(args, folder):
    path = os.path.join(folder, "out.pcapng")
    with tempfile.TemporaryDirectory(prefix="rnic-joined-", dir=os.path.dirname(folder)) as other:
        second = os.path.join(other, "second")
        with open(path, "wb"):
            os.chmod(path, 0o600)
        os.link(path, second)
        record(args, folder, recording(range(SMALL)))
        expect(second, SMALL)


@in_fresh_folder
def frames_that_do_not_fit_are_reported(args, folder):
    done, _ = run(args, folder, recording(range(SMALL)), recording(range(SMALL)), size=ENOUGH)
    assert done.returncode == 2 and "out.pcapng: File too large" in done.stdout, f"{done.returncode}: {done.stdout}"
    assert len(os.listdir(folder)) == 2, os.listdir(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    one_ordered_recording_is_not_copied(args)
    one_recording_in_disorder_is_sorted(args)
    two_recordings_become_one(args)
    existing_file_keeps_its_permissions(args)
    file_with_a_second_name_stays_the_same_file(args)
    frames_that_do_not_fit_are_reported(args)


if __name__ == "__main__":
    main()
