#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the exit status of rnic-run, and what it says. A program that opens a device but sends no packet is no failed run:
--selfcheck says that nothing was judged, and the status is that of the program. The status is 2 if the program opened no
device, or if packets were lost. The help names each status.

selfcheck.py and doctor.py test status 1.

statuses.py --bin FOLDER"""
import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

# Makes the kernel send a Neighbour Solicitation to the device.
SOLICIT = "ibv_asyncwatch -d rnic_rnic0 & sleep 0.5; ip addr add fe80::99/64 dev rnic0-peer; sleep 2; kill $!; wait $!; exit 0"
JUDGED_NOTHING = "--selfcheck: no RoCE packet was recorded, so nothing was judged"
NO_DEVICE = "--selfcheck: no packet was recorded: the program opened no device"
LOST = "packets could not be recorded and were not judged: File too large"
PING = "trap '' XFSZ; ibv_rc_pingpong -g 0 -n 20 & sleep 1; ibv_rc_pingpong -g 0 -n 20 localhost; wait"
# Rows: options | shell script, or a command after '!' | status | text of standard error, or '' for no line
ROWS = f"""
--selfcheck | ibv_devinfo | 0 | {JUDGED_NOTHING}
--selfcheck -w FILE | ibv_devinfo | 0 | {JUDGED_NOTHING}
--selfcheck --impair loss=1% | ibv_devinfo | 0 | {JUDGED_NOTHING}
--selfcheck --wire shm | ibv_devinfo | 0 | {JUDGED_NOTHING}
--selfcheck -w FILE | {SOLICIT} | 0 | {JUDGED_NOTHING}
--selfcheck | ibv_devinfo; exit 3 | 3 | {JUDGED_NOTHING}
--selfcheck | ibv_devinfo; kill -TERM $$ | 143 | {JUDGED_NOTHING}
--selfcheck | true | 2 | {NO_DEVICE}
--selfcheck | exit 3 | 3 | {NO_DEVICE}
--selfcheck SMALL | {PING} | 2 | {LOST}
 | exit 3 | 3 |
 | kill -TERM $$ | 143 |
 | !none | 127 | none: No such file or directory
 | !FOLDER | 126 | Permission denied
-w none/x | true | 2 | none/x: No such file or directory
--wire foo | true | 2 | --wire takes pcap or shm
"""
SMALL = 600  # bytes of a file: enough for the headers of a recording, but not for its packets


def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, SMALL))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def run(row, bin_dir, folder):
    """Runs a row. Returns an error, or None."""
    options, script, status, text = (part.strip() for part in row.split(" | "))
    path = os.path.join(folder, "all.pcapng")
    words = [word.replace("FILE", path) for word in options.split() if word != "SMALL"]
    program = [script[1:].replace("FOLDER", folder)] if script[0] == "!" else ["sh", "-c", script]
    done = subprocess.run([os.path.join(bin_dir, "rnic-run"), "-n", *words, "--", *program],
                          env=dict(os.environ, TMPDIR=folder), preexec_fn=limit if "SMALL" in options else None,
                          restore_signals=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          check=False)
    ours = [line for line in done.stderr.splitlines() if line.startswith(("rnic-run:", "rocedrill:"))]
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode  # as a shell says it
    if code != int(status):
        return f"status {done.returncode}: {done.stderr}"
    if len(ours) != (1 if text else 0) or text not in "".join(ours):
        return f"standard error: {done.stderr}"
    if JUDGED_NOTHING in text and "verdict" in done.stdout:
        return f"a verdict about nothing: {done.stdout[-500:]}"
    if "FILE" in options:
        read = subprocess.run([os.path.join(bin_dir, "rocedrill"), "check", path], stderr=subprocess.PIPE, text=True,
                              check=False)
        frames = re.search(r"no RoCE packet in (\d+) frames?; rnic-run recorded this file", read.stderr)
        if not frames or script == SOLICIT and frames[1] == "0":
            return f"the recording: {read.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    wrong, statuses = 0, {"1"}
    rows = [row + " " for row in ROWS.strip("\n").splitlines()]
    with tempfile.TemporaryDirectory(prefix="rnic-statuses-") as folder:
        for row in rows:
            error = run(row, args.bin, folder)
            statuses.add(row.split(" | ")[2])
            if error:
                print(f"{row}: {error}")
                wrong += 1
    text = subprocess.run([os.path.join(args.bin, "rnic-run"), "--help"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    told = set(re.findall(r"\b\d+\b", text[text.index("exit status:"):])) | {"0", "3", "143"}  # 128+N, and the program's
    if statuses - told or "128+N" not in text:
        print(f"rnic-run --help does not name {statuses - told or '128+N'}: {text[-500:]}")
        wrong += 1
    print(f"{len(rows)} runs, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
