#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rnic-run for a user without privileges, as in a container or a CI job. It runs two programs in a
separate network namespace, with the flow validator, and records a capture that Wireshark opens.

ordinary.py --bin FOLDER      exit status 77: users cannot create namespaces on this machine"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

# Port 18515 is 0x4853; state 0A is LISTEN.
SCRIPT = ("ib_write_bw -F -n 200 & until cat /proc/net/tcp /proc/net/tcp6 | grep -q ':4853 [0-9A-F:]* 0A'; "
          "do sleep 0.05; done; ib_write_bw -F -n 200 localhost; wait")


def refused(rnic_run, folder):
    """Checks that each error prints one line, and that no file is truncated or left behind."""
    kept = os.path.join(folder, "kept.pcapng")
    with open(kept, "w", encoding="ascii") as file:
        file.write("kept")
    here = os.listdir(folder)
    none = ["unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"",
            "sh", "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    for command, options, expected in (
            (none, [], "a separate network: cannot set up a user namespace"),
            (none, ["--tap", "lo"], "a separate network: cannot set up a user namespace"),
            ([], ["-n", "-i", "nosuch"], "nosuch"),
            ([], ["--bogus"], "unrecognized option '--bogus'"),
            ([], ["-nZ"], "invalid option -- 'Z'"),
            ([], ["--net=1"], "option '--net' doesn't allow an argument"),
            ([], ["--timeline=" + os.path.join(folder, ".", "kept.pcapng")], kept + ": cannot be both the recording and")):
        done = subprocess.run(command + [rnic_run, "--timeline", "--selfcheck", "-w", kept] +
                              options + ["true"],
                              env=dict(os.environ, TMPDIR=folder), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 2, f"status {done.returncode}: {done.stdout}"
        assert done.stdout.startswith("rnic-run: " + expected), done.stdout
        assert done.stdout.count("\n") == 1, done.stdout
        hints = "--doctor" in done.stdout, "--wire shm" in done.stdout
        assert hints == (command == none, command == none and "--tap" not in options), done.stdout
    assert os.listdir(folder) == here, f"left behind: {os.listdir(folder)}"
    with open(kept, encoding="ascii") as file:
        assert file.read() == "kept"


def processes(rocedrill, record):
    """Checks that Wireshark and rocedrill read the process of each packet."""
    shown = subprocess.run(["tshark", "-r", record, "-T", "fields", "-e", "frame.interface_description"],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines()
    text = subprocess.run([rocedrill, "decode", "-q", "--json", "-", record], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    ids = {frame["frame"]: frame["process"] for frame in map(json.loads, text.splitlines())}
    names = {match and match.group(1) for match in (re.fullmatch(r"(.*), process (\d+)", line) for line in shown)}
    assert names == {"ib_write_bw"}, f"process names {names}"
    assert len(set(shown)) == 2 and len(set(ids.values())) == 2, f"processes {set(shown)}, {set(ids.values())}"
    for number, process in ids.items():
        assert shown[number - 1].endswith(f" {process}"), f"frame {number}: {shown[number - 1]}, {process}"


def same_devices(rnic_run):
    """Checks that rnic-info lists the devices that programs have in the separate network of rnic-run."""
    listed = [re.findall(r"^ *(rnic_[\w-]+)", subprocess.run(rnic_run + ["-n", "--", program], stdout=subprocess.PIPE, text=True,
                                                            check=True).stdout, re.MULTILINE)
              for program in ("ibv_devices", os.path.join(os.path.dirname(rnic_run[-1]), "rnic-info"))]
    assert sorted(listed[0]) == sorted(listed[1]) == ["rnic_lo", "rnic_rnic0"], f"devices {listed}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    user = []
    if os.geteuid() == 0:
        user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                "--no-new-privs"]
    if subprocess.run(user + ["unshare", "-Urn", "true"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        print("no user namespaces for users here")
        return 77
    with tempfile.TemporaryDirectory(prefix="rnic-ordinary-") as folder:
        os.chmod(folder, 0o777)
        refused(os.path.join(os.path.abspath(args.bin), "rnic-run"), folder)
        same_devices(user + [os.path.join(os.path.abspath(args.bin), "rnic-run")])
        record = os.path.join(folder, "all.pcapng")
        done = subprocess.run(
            user + ["env", "HOME=" + folder, "TMPDIR=" + folder,
                    os.path.join(os.path.abspath(args.bin), "rnic-run"), "--selfcheck", "-w", record,
                    "--", "sh", "-c", SCRIPT],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        print(done.stdout)
        assert done.returncode == 0, f"status {done.returncode}"
        assert len(re.findall(r"^ 65536 +200 ", done.stdout, re.MULTILINE)) == 2, "not both ended"
        assert os.stat(record).st_uid == (65534 if user else os.getuid()), "whose recording?"
        # Counts each PSN once, because a process that waits long for a CPU causes retransmissions.
        frames = set(subprocess.run(["tshark", "-r", record, "-T", "fields", "-e", "infiniband.bth.opcode",
                                     "-e", "infiniband.bth.psn"], stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL, text=True, check=True).stdout.splitlines())
        processes(os.path.join(args.bin, "rocedrill"), record)
    frames = [frame.split("\t")[0] for frame in frames]
    # 200 messages of 16 packets of 4096 bytes: First, Middle, Last
    for opcode, cnt in ((6, 200), (7, 14 * 200), (8, 200)):
        assert frames.count(str(opcode)) == cnt, f"{frames.count(str(opcode))} packets of {opcode}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
