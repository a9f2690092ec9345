#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the commands of the documents that need an interface or another host, in network namespaces.

    network.py BIN          BIN: folder of the built programs
    network.py --list       prints "DOCUMENT: COMMAND" of these commands, for not_run.py

The interface eth0 of the documents is a veth, and a Python program sends a capture into its other end. An SSH server of
the namespace is the other host (it must be root). 192.0.2.2 is a second namespace with the software RNIC. ERSPAN frames are
built here, because the kernel may lack ERSPAN. A command must be in its document as it is written here. Exit status 77: no
network namespace or no tcpdump.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from pcap import frames_of  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
CAPTURE = TOP / "traces/captures/multi-qp.pcap"
WAIT = 60  # longest wait, s
CHECK, FILES, AGENT, LIVE, DRILL = (f"replay/docs/{name}.md" for name in ("check", "capture", "agent", "live", "drill"))
PIPE = "tcpdump -i eth0 -w - udp port 4791 | rocedrill check -"
LIVE_CHECK = "rocedrill check --live eth0"
PROMETHEUS = "rocedrill check --live eth0 --quiet --prometheus :9095"
SSH = "ssh host 'tcpdump -i eth0 -U -w - udp port 4791 & cat >/dev/null; kill $!' | rocedrill check --every 1s -"
TO_FILE = "tcpdump -i eth0 -w out.pcap udp port 4791"
READ_FILE = "tcpdump -r out.pcap udp port 4791"
FILE_RING = "tcpdump -i eth0 -s 384 -C 1000 -W 10 -w ring.pcap udp port 4791"
ERSPAN = "ip proto 47"
LISTEN = "rocedrill agent --listen 192.0.2.2:18516"
REPLAY = "rocedrill replay --live eth1 --target 192.0.2.2 --agent 192.0.2.2:18516 CAPTURE"
DRILLS = "rocedrill drill --live eth1 --target 192.0.2.2 --agent 192.0.2.2:18516 tests/conformance"
LOAD = "rocedrill replay --live eth1 --target 192.0.2.2 --load --pps 100000 --loop 0 CAPTURE..."
COMMANDS = ((CHECK, PIPE), (CHECK, LIVE_CHECK), (CHECK, PROMETHEUS), (CHECK, SSH), (FILES, TO_FILE), (FILES, READ_FILE),
            (FILES, FILE_RING), (FILES, ERSPAN), (AGENT, LISTEN), (AGENT, REPLAY), (AGENT, DRILLS), (LIVE, REPLAY + "..."),
            (LIVE, LOAD))


def enter_namespace():
    """Starts this program again as root of a separate network namespace with private mounts."""
    for user in ([], ["-r"]):
        command = ["unshare", *user, "--net", "--mount"]
        if subprocess.run([*command, "ip", "link", "set", "lo", "up"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe("unshare", [*command, sys.executable, "-B", *sys.argv],
                       dict(os.environ, NETWORK_INSIDE="user" if user else "root"))
    print("cannot create a network namespace")
    sys.exit(77)


def sh(command):
    subprocess.run(["sh", "-euc", command], check=True)


def in_erspan(frame, number):
    """Returns a frame in ERSPAN type II, as a switch mirrors it to 192.0.2.9."""
    inner = struct.pack("!HHIHHI", 0x1000, 0x88be, number, 0x1000, 1, 0) + frame
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(inner), 0, 0, 64, 47, 0, bytes((192, 0, 2, 8)), bytes((192, 0, 2, 9)))
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return bytes(12) + b"\x08\x00" + header[:10] + struct.pack("!H", total ^ 0xffff) + header[12:] + inner


def until(what, ready):
    """Waits until ready() is true."""
    end = time.monotonic() + WAIT
    while not ready():
        if time.monotonic() > end:
            raise SystemExit(f"network.py: {what}: not within {WAIT} s")
        time.sleep(0.05)


def sockets():
    """Returns the number of packet sockets in this namespace."""
    return len(pathlib.Path("/proc/net/packet").read_text().splitlines()) - 1


class Test:
    def __init__(self, programs):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rocedrill-network-"))
        self.env = dict(os.environ, PATH=f"{self.dir}/bin:{programs}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
        self.dir.chmod(0o777)  # with -C, Debian's tcpdump writes as the user tcpdump
        (self.dir / "bin").mkdir()
        (self.dir / "tests").symlink_to(TOP / "tests")
        (self.dir / "CAPTURE").symlink_to(CAPTURE)
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        self.wire.bind(("wire", 0))
        self.frames = frames_of(CAPTURE)
        self.failed = 0

    def expect(self, command, holds, output):
        print(f"{'ok' if holds else 'FAILED'}: {command}", flush=True)
        if not holds:
            print(output)
            self.failed += 1

    def start(self, command, *prefix):
        # Standard input stays open until the end of the command, as that of a terminal.
        return subprocess.Popen([*prefix, "bash", "-c", command], cwd=self.dir, env=self.env, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def stop(self, child, number=signal.SIGINT):
        """Ends a command like Ctrl-C. Returns its output."""
        try:
            os.killpg(child.pid, number)
        except ProcessLookupError:
            pass  # the command has ended
        try:
            return child.communicate(timeout=WAIT)[0]
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            return child.communicate()[0] + f"no end {WAIT} s after the signal"

    def capture(self, command, frames=None, look=None):
        """Runs a command that captures, sends the frames, and ends the command. Returns its output and the output of look()."""
        before = sockets()
        child = self.start(command)
        until(command, lambda: sockets() > before or child.poll() is not None)
        time.sleep(1)  # waits until the command has bound its socket to the interface
        for frame in frames or self.frames:
            self.wire.send(frame)
        time.sleep(1.5)
        more = look() if look else ""
        return self.stop(child) + more

    def connections(self, output):
        """Returns whether a report has the connections of the capture."""
        found = re.search(r"(\d+) RoCE packets, .*?(\d+) connections?", output)
        report = self.run(f"rocedrill check {CAPTURE}")
        wanted = re.search(r"(\d+) RoCE packets, .*?(\d+) connections?", report)
        return found is not None and found.groups() == wanted.groups()

    def run(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.dir, env=self.env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=240, check=False).stdout


def check_interface(test):
    for command in (PIPE, LIVE_CHECK):
        out = test.capture(command)
        test.expect(command, test.connections(out), out)
    out = test.capture(PROMETHEUS, None, lambda: urllib.request.urlopen("http://127.0.0.1:9095/metrics").read().decode())
    test.expect(PROMETHEUS, "# TYPE" in out and 'service="RC"' in out, out)
    for command, file in ((TO_FILE, "out.pcap"), (FILE_RING, "ring.pcap0")):
        out = test.capture(command)
        out += test.run(f"rocedrill check {file}")
        test.expect(command, test.connections(out), out)
    out = test.run(READ_FILE)
    test.expect(READ_FILE, len(re.findall(r"\.4791: UDP", out)) == len(test.frames), out)
    test.capture(f"tcpdump -i eth0 -w mirror.pcap {ERSPAN}", [in_erspan(frame, i) for i, frame in enumerate(test.frames)])
    out = test.run("rocedrill check mirror.pcap")
    test.expect(f"tcpdump {ERSPAN}, ERSPAN", test.connections(out), out)


def check_ssh(test):
    """Runs the command for another host, and rocedump, with an SSH server of this namespace as that host."""
    server = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
    if not server or os.environ["NETWORK_INSIDE"] != "root":
        print(f"not run: {SSH}: no sshd, or not root")
        return
    folder = test.dir
    sh(f"ssh-keygen -q -t ed25519 -N '' -f {folder}/key && cp {folder}/key.pub {folder}/keys && "
       f"ssh-keygen -q -t ed25519 -N '' -f {folder}/host && mkdir -p /run/sshd")
    (folder / "sshd").write_text(f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/keys\nStrictModes no\nUsePAM no\n"
                                 f"ListenAddress 127.0.0.1\nPidFile none\nPermitRootLogin yes\n")
    (folder / "ssh").write_text(f"Host host\n HostName 127.0.0.1\n User root\n IdentityFile {folder}/key\n IdentitiesOnly yes\n"
                                " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n")
    (folder / "bin/ssh").write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {folder}/ssh "$@"\n')
    (folder / "bin/ssh").chmod(0o755)
    # If this test is killed, the kernel also kills sshd and all its processes: tcpdump would run on without packets.
    daemon = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child", server, "-D", "-e",
                               "-f", folder / "sshd"], stderr=subprocess.DEVNULL)
    try:
        until("sshd", lambda: ":0016 " in pathlib.Path("/proc/net/tcp").read_text())
        before = sockets()
        out = test.capture(SSH)
        test.expect(SSH, test.connections(out), out)
        until("end of tcpdump on the other host", lambda: sockets() == before)
        out = test.capture(f"{TOP}/plugin/rocedump --capture --extcap-interface rocedump-ssh --remote-host host "
                           f"--remote-interface eth0 --fifo {folder}/far.pcap")
        report = test.run("rocedrill check far.pcap")
        test.expect("rocedump --remote-host host", test.connections(report), out + report)
    finally:
        daemon.kill()
        daemon.wait()


def check_target(test):
    """Runs the commands for a target. Its namespace has a software RNIC with the address 192.0.2.2."""
    far = subprocess.Popen(["unshare", "--net", "sleep", "1000"])
    try:
        until("namespace", lambda: os.readlink(f"/proc/{far.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        enter = ["nsenter", "-t", str(far.pid), "-n"]
        sh(f"ip link add eth1 mtu 4500 type veth peer name eth0 netns {far.pid}; ip addr add 192.0.2.1/24 dev eth1; "
           f"ip link set eth1 up; {' '.join(enter)} sh -euc 'ip addr add 192.0.2.2/24 dev eth0; ip link set lo up; "
           "ip link set eth0 mtu 4500 up'")
        agent = test.start(f"exec rnic-run -i eth0 -- {LISTEN}", *enter)
        until(LISTEN, lambda: agent.poll() is not None or
              ":4854 " in subprocess.run([*enter, "cat", "/proc/net/tcp"], capture_output=True, text=True, check=False).stdout)
        out = test.run(REPLAY)
        test.expect(REPLAY, re.search(r"PASS", out) and "FAIL" not in out, out)
        out = test.run(DRILLS.replace("tests/conformance", "tests/conformance/rc-rsp/085-*"))
        test.expect(DRILLS, re.search(r"^pass", out, re.MULTILINE), out)
        load = test.start(LOAD.replace("...", ""))
        time.sleep(2)
        out = test.stop(load)
        test.expect(LOAD, re.search(r"\d+ packets", out), out)
        out = test.stop(agent)
        test.expect(LISTEN, "ready" in out, out)
    finally:
        far.kill()
        far.wait()


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(f"{document}: {command}" for document, command in COMMANDS))
        return 0
    if "NETWORK_INSIDE" not in os.environ:
        enter_namespace()
    if not shutil.which("tcpdump"):
        print("no tcpdump")
        return 77
    lost = [f"{document} has no command '{command}'" for document, command in COMMANDS
            if command not in re.sub(r" +", " ", (TOP / document).read_text())]
    print("\n".join(lost), end="\n" if lost else "")
    sh("ip link set lo up; ip link add eth0 mtu 9000 type veth peer name wire; ip link set eth0 up; ip link set wire mtu 9000 up")
    test = Test(os.path.abspath(sys.argv[1]))
    try:
        check_interface(test)
        check_ssh(test)
        check_target(test)
    finally:
        shutil.rmtree(test.dir)
    return 1 if lost or test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
