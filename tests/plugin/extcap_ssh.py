#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that rocedump captures by ssh: a real sshd, with its own keys, runs tcpdump while two programs of
rnic-run send RoCE packets.

    extcap_ssh.py ROCEDUMP RNIC_RUN

All programs run in a separate network namespace. If the test may not create one as root, or sshd is missing, its exit
status is 77."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from extcap import DEADLINE, Extcap, enter_namespace, frames_in

PORT, PINGS = "2222", 20
SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile none
"""
# sshd requires the folder /run/sshd.
START = 'mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec "$@"'
PINGPONG = f"set -- ibv_rc_pingpong -g 1 -s 1000 -n {PINGS}; \"$@\" & sleep 1; \"$@\" localhost; wait"
BTH = 62  # offset of the BTH in a packet with IPv6; the GIDs of these programs are IPv6 addresses


def missing():
    """Returns why the test cannot run, or None."""
    if os.environ["EXTCAP_INSIDE"] != "root":
        return "sshd needs root"
    for program in "sshd", "ssh", "ssh-keygen", "tcpdump", "ibv_rc_pingpong":
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            return program + " is missing"
    return None


def start_server(folder):
    for name in "host", "user":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{name}"], check=True)
    with open(f"{folder}/sshd_config", "w", encoding="ascii") as config:
        config.write(SERVER.format(port=PORT, folder=folder))
    with open(f"{folder}/host.pub", encoding="ascii") as key, open(f"{folder}/known", "w", encoding="ascii") as known:
        known.write(f"[127.0.0.1]:{PORT} {key.read()}")
    # ssh reads known hosts from the home folder of the user, whatever $HOME is.
    with open(f"{folder}/ssh", "w", encoding="ascii") as script:
        script.write(f"#!/bin/sh\nexec {shutil.which('ssh')} -F none -o UserKnownHostsFile={folder}/known \"$@\"\n")
    os.chmod(f"{folder}/ssh", 0o755)
    sshd = shutil.which("sshd", path="/usr/sbin:" + os.environ["PATH"])
    # If this test is killed, the kernel also kills sshd and all its processes.
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "-m", "--pid", "--fork", "--kill-child", "sh", "-c", START, "sh", sshd, "-D", "-e", "-f", f"{folder}/sshd_config"],
                            stderr=subprocess.PIPE)


def start_capture(test, *args):
    """Starts a capture. Returns the process, its pipe, and the header of its file, which tcpdump writes when it captures."""
    end = time.monotonic() + DEADLINE
    while True:  # until sshd listens
        child, pipe = test.start("--extcap-interface", "rocedump-ssh", "--remote-host", "127.0.0.1", "--remote-port", PORT, *args,
                                 env=dict(os.environ, PATH=test.folder + ":" + os.environ["PATH"]))
        head = pipe.read(24)
        if head or time.monotonic() > end:
            return child, pipe, head
        said = child.stderr.read().decode()
        if "Connection refused" not in said:
            test.wrong.append(f"capture by ssh: {said}")
            return child, pipe, head
        time.sleep(0.2)


def check_end(test):
    """Expects that the tcpdump that sshd started ends, although it has no packet to write."""
    end = time.monotonic() + DEADLINE
    while subprocess.run(["pgrep", "-x", "--ns", str(os.getpid()), "--nslist", "net", "tcpdump"], stdout=subprocess.DEVNULL, check=False).returncode == 0:
        if time.monotonic() > end:
            test.wrong.append("tcpdump runs on after the capture")
            return
        time.sleep(0.1)


def check_packets(test, rnic_run):
    """Expects every SEND and ACK of the programs, no packet of ssh, and no message."""
    child, pipe, data = start_capture(test, "--identity", f"{test.folder}/user", "--remote-interface", "lo")
    if not data:
        return
    ran = subprocess.run([rnic_run, "--", "sh", "-c", PINGPONG], capture_output=True, text=True, timeout=DEADLINE, check=False)
    test.expect("status of ibv_rc_pingpong", (ran.returncode, ran.stderr), (0, ""))
    time.sleep(1)  # ssh brings the last packets
    child.send_signal(signal.SIGTERM)
    packets = list(frames_in(data + pipe.read()))
    child.wait(DEADLINE)
    check_end(test)
    opcodes = [p[BTH] for p in packets if p[12:14] + p[20:21] == b"\x86\xdd\x11" and p[56:58] == (4791).to_bytes(2, "big")]
    test.expect("SENDs", opcodes.count(4), 2 * PINGS)
    test.expect("an ACK", 17 in opcodes, True)
    test.expect("other packets than RoCE", len(packets) - len(opcodes), 0)
    test.expect("messages of the capture", child.stderr.read(), b"")


def check_wrong_key(test):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{test.folder}/other"], check=True)
    child, _ = test.start("--extcap-interface", "rocedump-ssh", "--remote-host", "127.0.0.1", "--remote-port", PORT, "--identity",
                          f"{test.folder}/other", env=dict(os.environ, PATH=test.folder + ":" + os.environ["PATH"]))
    said = child.stderr.read().decode()
    test.expect(f"message of a wrong key: {said}", ("Permission denied" in said, child.wait(DEADLINE) != 0), (True, True))


def main():
    reason = missing()
    if reason:
        print(reason)
        return 77
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with tempfile.TemporaryDirectory() as folder:
        server = start_server(folder)
        test = Extcap(os.path.abspath(sys.argv[1]), folder)
        try:
            check_packets(test, sys.argv[2])
            check_wrong_key(test)
        finally:
            server.kill()  # ends all processes of its namespace, also a tcpdump that has nothing to write
            log = server.communicate(timeout=DEADLINE)[1].decode()
    if test.wrong:
        print("\n".join(test.wrong), log, sep="\n")
    return len(test.wrong) > 0


if __name__ == "__main__":
    if not os.environ.get("EXTCAP_INSIDE"):
        enter_namespace()
    sys.exit(main())
