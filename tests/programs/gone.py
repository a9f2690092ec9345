#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Kills the server of an rdma_cm connection under rnic-run -w. The device of the client sends the DREQ instead. The
recording has a comment at this DREQ, and rocedrill check reports that the server was killed.

gone.py --bin FOLDER"""
import argparse
import os
import subprocess
import sys
import tempfile

# The server listens when the abstract Unix socket of its port exists (cm/106/7174).
SCRIPT = """rping -s -C 1000000 -a 127.0.0.1 >server 2>&1 & server=$!
    until grep -q 'cm/106/7174' /proc/net/unix; do sleep 0.05; done
    rping -c -C 1000000 -a 127.0.0.1 >client 2>&1 & client=$!
    sleep 1; kill -9 $server; wait $client; true"""
COMMENT = "the program of the sender was killed or crashed: the device of the receiver sent this DREQ instead"


def output(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=100, **options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    bin_dir = os.path.abspath(parser.parse_args().bin)
    with tempfile.TemporaryDirectory(prefix="rnic-gone-") as folder:
        record = os.path.join(folder, "killed.pcapng")
        said = output([os.path.join(bin_dir, "rnic-run"), "--net", "-w", record, "--", "sh", "-c", SCRIPT], cwd=folder)
        assert said.returncode == 0, said.stdout
        check = output([os.path.join(bin_dir, "rocedrill"), "check", "--fail-on", "failed", record])
        comments = output(["tshark", "-r", record, "-Y", "frame.comment", "-T", "fields", "-e", "frame.comment"])
    assert check.returncode == 1, f"status {check.returncode}: {check.stdout}"
    assert "\nfailures:\n" in check.stdout, check.stdout
    assert " was killed or crashed: the peer's software RNIC detected this and sent the DREQ in frame " in check.stdout, check.stdout
    assert comments.stdout.strip().splitlines()[-1] == COMMENT, comments.stdout
    return 0


if __name__ == "__main__":
    sys.exit(main())
