#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rocedump, the extcap of plugin/: its list of interfaces, its options, and captures from a process and
by ssh.

    extcap.py ROCEDUMP CAPTURE

The test runs in a separate network namespace. If the test may not create a namespace, its exit status is
77. A listening socket takes the place of the software RNIC, and a script the place of ssh.
"""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from pcap import frames_in, frames_of  # noqa: E402

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
DEADLINE = 120  # longest wait, s


def enter_namespace():
    for user in ([], ["-r"]):
        if subprocess.run(["unshare", *user, "-n", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execvpe("unshare", ["unshare", *user, "-n", sys.executable, "-B", *sys.argv],
                       dict(os.environ, EXTCAP_INSIDE="user" if user else "root"))
    print("cannot create a network namespace")
    sys.exit(77)


class Extcap:
    def __init__(self, program, folder):
        self.program, self.folder, self.wrong = program, folder, []

    def run(self, *args, status=0, env=None):
        done = subprocess.run([self.program, *args], capture_output=True, text=True, timeout=DEADLINE, env=env)
        if done.returncode != status:
            self.wrong.append(f"{args}: status {done.returncode}: {done.stderr}")
        return done.stdout if status == 0 else done.stderr

    def expect(self, what, found, wanted):
        if found != wanted:
            self.wrong.append(f"{what}: found {found}, expected {wanted}")

    def start(self, *args, env=None):
        """Starts a capture. Returns the process and the reading end of its pipe."""
        fifo = os.path.join(self.folder, "fifo")
        if os.path.exists(fifo):
            os.unlink(fifo)
        os.mkfifo(fifo)
        child = subprocess.Popen([self.program, "--capture", "--fifo", fifo, *args], stderr=subprocess.PIPE, env=env)
        return child, open(fifo, "rb")  # both ends of the pipe are open now


def check_lists(test, pid):
    text = test.run("--extcap-interfaces", "--extcap-version=4.0")
    name = pathlib.Path("/proc/self/comm").read_text().strip()
    test.expect("sentences", {line.split(" ")[0] for line in text.splitlines()}, {"extcap", "interface"})
    test.expect("software RNIC", f"interface {{value=rocedump-rnic-va-{pid}}}{{display=software RNIC rnic_va: {name} ({pid})}}"
                in text, True)
    test.expect("loopback", f"interface {{value=rocedump-rnic-lo-{pid}}}{{display=software RNIC to programs of its host: {name} ({pid})}}"
                in text, True)
    test.expect("ssh", "interface {value=rocedump-ssh}" in text, True)
    for interface in re.findall(r"value=([\w-]+)", text):
        test.expect("link type", test.run("--extcap-interface", interface, "--extcap-dlts"),
                    "dlt {number=1}{name=EN10MB}{display=Ethernet}\n")
        options = test.run("--extcap-interface", interface, "--extcap-config").splitlines()
        numbers = [re.match(r"arg \{number=(\d+)\}\{call=--[a-z-]+\}\{display=[^{}]+\}\{type=\w+\}", line)[1] for line in options]
        test.expect("numbers of options", len(set(numbers)), len(numbers))
        for line in options:  # Wireshark sets a number without a default to 0, and refuses a number that is out of range
            if "{type=unsigned}" in line:
                test.expect(f"default of {line}", "{default=" in line, True)
        test.expect("host is an option", "--remote-host" in "".join(options), interface == "rocedump-ssh")


def check_rnics(test):
    """Expects the RDMA devices that tcpdump lists as devices with an RDMA sniffer, and no other device."""
    fake = os.path.join(test.folder, "list")
    os.mkdir(fake)
    pathlib.Path(fake, "tcpdump").write_text("#!/bin/sh\necho '1.eth0 [Up, Running, Connected]'\necho '2.mlx5_0 (RDMA sniffer)'\n"
                                             "echo '3.mlx5_1 (RDMA sniffer) [none]'\necho '4.any (Pseudo-device) [Up]'\n")
    os.chmod(os.path.join(fake, "tcpdump"), 0o755)
    text = test.run("--extcap-interfaces", env=dict(os.environ, PATH=fake + ":" + os.environ["PATH"]))
    test.expect("RNICs", [line for line in text.splitlines() if "RNIC " in line and "software" not in line],
                [f"interface {{value=rocedump-rdma-{name}}}{{display=RNIC {name}}}" for name in ("mlx5_0", "mlx5_1")])


def check_errors(test):
    for args, message in ((["--capture", "--extcap-interface", "eth0"], "unknown interface 'eth0'"),
                          (["--capture", "--extcap-interface", "rocedump-ssh"], "no pipe given (--fifo)"),
                          (["--capture", "--extcap-interface", "rocedump-ssh", "--fifo", "/dev/null"], "no host given"),
                          (["--capture", "--extcap-interface", "rocedump-ssh", "--fifo", "/dev/null", "--remote-host", "-oProxyCommand=x"],
                           "not a host: '-oProxyCommand=x'"),
                          (["--capture", "--extcap-interface", "rocedump-rnic-va-99999999", "--fifo", "/dev/null"], "the program has ended"),
                          (["--capture", "--extcap-interface", "rocedump-ssh", "--fifo", "/dev/null", "--snaplen", "1;x"], "not a snapshot length"),
                          (["--nonsense", "x"], "unknown option '--nonsense'"),
                          ([], "no action given")):
        said = test.run(*args, status=1)
        test.expect(f"message of {args}", (message in said, said.count("\n")), (True, 1))


def check_process(test, pid, frames):
    child, pipe = test.start("--extcap-interface", f"rocedump-rnic-va-{pid}", "--extcap-capture-filter", "greater 1")
    data = pipe.read(24)  # tcpdump writes the header when it captures
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind(("va", 0))
    wire.send(b"\xff" * 12 + b"\x88\xb5" + bytes(46))  # a frame of another protocol
    for frame in frames:
        wire.send(frame)
    wanted = 24 + sum(16 + len(frame) for frame in frames)
    while len(data) < wanted and (more := pipe.read1(65536)):
        data += more
    child.send_signal(signal.SIGTERM)
    child.wait(DEADLINE)
    test.expect("captured packets", list(frames_in(data)) == frames, True)
    test.expect("messages of a capture without error", child.stderr.read(), b"")
    said = test.run("--capture", "--extcap-interface", "rocedump-rdma-none0", "--fifo", "/dev/null", status=1)
    test.expect("message of tcpdump", "none0: No such device" in said, True)


# A software RNIC in namespaces in which root is an ordinary user. It sends a packet to its own host every 10 ms.
OTHER_USER = """import os, socket, time
device = socket.socket(socket.AF_UNIX)
device.bind(f"\\0rnic/eth9/proc/{os.getpid()}")
device.listen()
print(os.getpid(), flush=True)
wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    wire.sendto(bytes(40), ("127.0.0.1", 4791))
    time.sleep(0.01)
"""


def check_other_user(test):
    """Captures as root from a program in a user namespace in which this root is an ordinary user."""
    rnic = subprocess.Popen(["unshare", "-Un", "--map-user=1000", "--keep-caps", "sh", "-c", 'ip link set lo up; exec "$@"', "sh",
                             sys.executable, "-c", OTHER_USER], stdout=subprocess.PIPE, text=True)
    pid = int(rnic.stdout.readline())
    child, pipe = test.start("--extcap-interface", f"rocedump-rnic-lo-{pid}")
    data = b""
    while len(data) < 24 + 16 + 14 + 20 + 8 + 40 and (more := pipe.read1(65536)):
        data += more
    child.send_signal(signal.SIGTERM)
    rnic.kill()
    child.wait(DEADLINE)
    rnic.wait(DEADLINE)
    test.expect("packets of another user", data[24 + 16 + 14 + 20 + 2:][:2], (4791).to_bytes(2, "big"))


# Messages of tcpdump on another host.
CAPTURED = ["tcpdump: data link type LINUX_SLL2", "tcpdump: listening on any, link-type LINUX_SLL2, snapshot length 262144 bytes",
            "tcpdump: WARNING: any: That device doesn't support promiscuous mode",
            '(Promiscuous mode not supported on the "any" device)', "1 packet captured", "12 packets received by filter",
            "0 packets dropped by kernel"]
FAILED = ["tcpdump: eth0: You don't have permission", "3 packets dropped by kernel"]


def check_ssh(test, capture):
    fake = os.path.join(test.folder, "bin")
    os.mkdir(fake)
    pathlib.Path(fake, "ssh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >"{fake}/args"\ncat "{capture}"\n'
                                         "cat >&2 <<'MESSAGES'\n" + "\n".join(CAPTURED + FAILED) + "\nMESSAGES\n")
    os.chmod(os.path.join(fake, "ssh"), 0o755)
    child, pipe = test.start("--extcap-interface", "rocedump-ssh", "--remote-host", "far.example", "--remote-port", "2022",
                             "--remote-user", "me", "--remote-interface", "mlx5_0; rm x", "--sudo", "--extcap-capture-filter",
                             "host 192.0.2.1", env=dict(os.environ, PATH=fake + ":" + os.environ["PATH"]))
    test.expect("packets by ssh", pipe.read() == pathlib.Path(capture).read_bytes(), True)
    child.wait(DEADLINE)
    test.expect("messages of another host", child.stderr.read().decode().splitlines(), FAILED)
    args = pathlib.Path(fake, "args").read_text().splitlines()
    test.expect("arguments of ssh", args[:-1], ["-o", "BatchMode=yes", "-p", "2022", "-l", "me", "--", "far.example"])
    words = subprocess.run(["bash", "-c", f"printf '%s\\n' {args[-1]}"], capture_output=True, text=True).stdout.splitlines()
    test.expect("shell of the remote command", words[:2] + words[3:4], ["sh", "-c", "sh"])
    test.expect("remote command", words[4:12], ["sudo", "tcpdump", "-i", "mlx5_0; rm x", "-U", "-s", "262144", "-w"])
    test.expect("remote filter", words[13].startswith("not port 2022 and ((udp port 4791 or ")
                and words[13].endswith(") and (host 192.0.2.1))"), True)


# Takes the place of ssh: runs the remote command. When this script ends, the command's standard input ends too.
FAKE_SSH = """#!/usr/bin/env python3
import subprocess, sys
subprocess.Popen(sys.argv[-1], shell=True, stdin=subprocess.PIPE).wait()
"""


def check_ssh_stop(test):
    """Expects that the remote tcpdump ends with ssh, without a packet."""
    fake = os.path.join(test.folder, "stop")
    os.mkdir(fake)
    pathlib.Path(fake, "ssh").write_text(FAKE_SSH)
    os.chmod(os.path.join(fake, "ssh"), 0o755)
    child, pipe = test.start("--extcap-interface", "rocedump-ssh", "--remote-host", "far.example", "--remote-interface", "va",
                             env=dict(os.environ, PATH=fake + ":" + os.environ["PATH"]))
    test.expect("header of the file", len(pipe.read(24)), 24)
    child.send_signal(signal.SIGTERM)
    test.expect("packets after the end of ssh", pipe.read(), b"")  # returns when tcpdump has ended
    child.wait(DEADLINE)


def check_tshark(test, inside):
    """Expects that tshark lists the interfaces. Runs as a user other than root."""
    folder = os.path.join(test.folder, "extcap")
    os.mkdir(folder)
    shutil.copy(test.program, folder)
    os.chmod(test.folder, 0o755)
    if inside != "root":
        return  # in a user namespace without other users, tshark runs as root and ignores the variable
    done = subprocess.run(NOBODY + ["env", "HOME=" + folder, "WIRESHARK_EXTCAP_DIR=" + folder, "tshark", "-D"],
                          capture_output=True, text=True, timeout=DEADLINE)
    test.expect("tshark -D", "rocedump-ssh (RoCE of another host (ssh))" in done.stdout, True)


def main():
    program, capture = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    for command in ("ip link set lo up", "ip link add va type veth peer name vb", "ip link set va up", "ip link set vb up"):
        subprocess.run(command.split(), check=True)
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as device:
        device.bind(f"\0rnic/va/proc/{os.getpid()}")
        device.listen()
        test = Extcap(program, folder)
        check_lists(test, os.getpid())
        check_rnics(test)
        check_errors(test)
        check_process(test, os.getpid(), frames_of(capture))
        if os.environ["EXTCAP_INSIDE"] == "root":
            check_other_user(test)
        check_ssh(test, capture)
        check_ssh_stop(test)
        check_tshark(test, os.environ["EXTCAP_INSIDE"])
    for line in test.wrong:
        print(line)
    return len(test.wrong) > 0


if __name__ == "__main__":
    if not os.environ.get("EXTCAP_INSIDE"):
        enter_namespace()
    sys.exit(main())
