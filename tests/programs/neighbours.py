#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests that users of one network namespace do not disturb each other: a user sees neither the devices nor the
recordings of another one, and does not reach its memory. The sockets of a hostile user, whose names are those of
processes or QPN ranges, delay no other user for long, and rnic-run reports at once if all QPN ranges are claimed.
A user without a device cannot silence the CM of other users by claiming their socket names.

neighbours.py --bin FOLDER      exit status 77: only root can run processes of several users"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

import wire

USERS = (65533, 65534)
FALSE_NAMES = 200
BLOCKS = 4094
# Binds abstract Unix sockets to names, such as those of QPN ranges ("qpnblk/1") or of processes that never reply
# ("proc/1"), and keeps them until its standard input ends.
SQUATTER = """
import socket, sys
kept = []
for name in sys.argv[1:]:
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM if name.startswith("proc") else socket.SOCK_DGRAM)
    one.bind("\\0rnic/wire0/" + name)
    if name.startswith("proc"):
        one.listen(16)
    kept.append(one)
print("claimed", flush=True)
sys.stdin.read()
"""

# Tries to join the shared memory of another user: connects to each socket in its arguments and sends a greeting. Also
# listens at a socket whose name contains the id of the other user. Prints the number of bytes and files from each peer.
INTRUDER = """
import os, select, socket, struct, sys
GREETING = struct.pack("<II16s", 0x32484D53, 4000, b"wire0")  # struct shm_hello
def received(one):
    try:
        data, files, _, _ = socket.recv_fds(one, 4096, 8)
    except ConnectionError:
        return "nothing"
    return "nothing" if not data and not files else f"{len(data)} bytes, {len(files)} files"
trap = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
trap.bind("\\0rnic/wire0/shm/" + sys.argv[1] + ".4000")
trap.listen(16)
for name in sys.argv[2:]:
    kind = socket.SOCK_SEQPACKET if "/shm" in name else socket.SOCK_STREAM
    one = socket.socket(socket.AF_UNIX, kind)
    one.connect("\\0" + name[1:])
    try:
        socket.send_fds(one, [GREETING], [os.memfd_create("ring")])
    except ConnectionError:
        pass
    print(name, received(one), flush=True)
print("trap", flush=True)
while select.select([trap, sys.stdin], [], [])[0] == [trap]:
    print("trapped", received(trap.accept()[0]), flush=True)
"""


def as_user(uid, *command, raw=False):
    caps = ["--inh-caps=+net_raw,+net_admin", "--ambient-caps=+net_raw,+net_admin"] if raw else ["--inh-caps=-all"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *caps, *command]


class World:
    def __init__(self, bin_dir, folder):
        self.bin, self.folder = os.path.abspath(bin_dir), folder
        self.space, self.other = wire.link(1500)

    def start(self, *command, **how):
        return subprocess.Popen(self.space.command(*command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, **how)

    def info(self, uid):
        """Returns the text that rnic-info prints for a user, and the seconds that it needs."""
        begin = time.monotonic()
        done = subprocess.run(self.space.command(*as_user(uid, os.path.join(self.bin, "rnic-info"))), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, COLUMNS="200"))
        return done.stdout, time.monotonic() - begin

    def squat(self, *names):
        squatter = self.start(*as_user(USERS[1], sys.executable, "-c", SQUATTER, *names))
        assert squatter.stdout.readline() == "claimed\n", squatter.communicate()
        return squatter


def users_do_not_see_each_others_counters(world):
    """Both users have a device on one interface, with packets of the network. Packets for the QP of one device change
    the counters of that device only, and each user reads its own counters. QP 1 belongs to all devices."""
    def counters():
        found = []
        for uid in USERS:
            text = subprocess.run(world.space.command(*as_user(uid, os.path.join(world.bin, "rnic-info"), "--json")),
                                  check=True, stdout=subprocess.PIPE, text=True).stdout
            found.append([int(cnt) for cnt in re.findall(r'"rx_(?:send|write|read)_requests": *(\d+)', text)])
        return found

    for number in range(2):
        before = counters()
        done = subprocess.run(world.other.command(
            os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--", "rping", "-c", "-C", "3", "-a", wire.ADDRESSES[0][0],
            "-p", str(7300 + number)), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        assert done.returncode == 0, done
        after = counters()
        print(f"counters before and after packets of user {USERS[number]}: {before} {after}")
        assert len(before[0]) == len(before[1]) == 3, before
        assert after[1 - number] == before[1 - number], "the counters of the other user changed"
        assert after[number] > before[number], "the counters did not change"


def users_do_not_see_each_other(world):
    programs, records = [], []
    for number, uid in enumerate(USERS):
        home = os.path.join(world.folder, str(uid))
        os.mkdir(home)
        os.chown(home, uid, uid)
        os.chmod(home, 0o755)
        records.append(os.path.join(home, "record.pcapng"))
        programs.append(world.start(*as_user(
            uid, "env", "TMPDIR=" + home, "HOME=" + home, os.path.join(world.bin, "rnic-run"), "-i", "wire0", "-w",
            records[-1], "--", "rping", "-s", "-P", "-a", wire.ADDRESSES[0][0], "-p", str(7300 + number), raw=True)))
    for number in range(2):
        while not world.space.ready(f"cm/106/{7300 + number}"):
            assert programs[number].poll() is None, programs[number].communicate()
            time.sleep(0.05)
    seen = [world.info(uid)[0].decode() for uid in (*USERS, 0)]
    print("\n----\n".join(seen))
    users_do_not_see_each_others_counters(world)
    pids = [re.findall(r"\bpid (\d+)", text) for text in seen]
    assert len(pids[0]) == len(pids[1]) == 1 and pids[0] != pids[1] and sorted(pids[2]) == sorted(pids[0] + pids[1]), pids
    for number, uid in enumerate(USERS):
        for path in (records[1 - number], *(os.path.join(at, file) for at, _, files in os.walk(
                os.path.dirname(records[1 - number])) for file in files)):
            done = subprocess.run(as_user(uid, "cat", path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  check=False)
            assert not os.path.exists(path) or done.returncode, f"user {uid} can read {path}"
    for program in programs:
        wire.stacks.end(program.pid)
        program.communicate()


def users_do_not_reach_each_others_memory(world):
    """A server on shared memory. A client of its user reads and writes its memory. A client of another user
    does not reach it. Neither does a process of another user that connects to the sockets of the server, or that
    waits for it at a socket whose name has the server's user id."""
    def rping(uid, *words):
        return as_user(uid, os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--wire", "shm", "--", "timeout", "5",
                       "rping", "-a", wire.ADDRESSES[0][0], "-p", "7400", *words)

    def counters():
        return subprocess.run(world.space.command(*as_user(USERS[0], os.path.join(world.bin, "rnic-info"), "--json")),
                              check=True, stdout=subprocess.PIPE, text=True).stdout

    server = world.start(*as_user(USERS[0], os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--wire", "shm", "--",
                                  "rping", "-s", "-P", "-a", wire.ADDRESSES[0][0], "-p", "7400"))
    while not world.space.ready("cm/106/7400"):
        assert server.poll() is None, server.communicate()
        time.sleep(0.05)
    out = subprocess.run(world.space.command(*rping(USERS[0], "-c", "-v", "-C", "2")), check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    assert "ping data: rdma-ping-1" in out, out
    time.sleep(0.5)  # the connection has ended at the server, too
    before = re.findall(r'"rx_packets": *(\d+)', counters())
    done = subprocess.run(world.space.command(*rping(USERS[1], "-c", "-v", "-C", "2")), check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(done.returncode, done.stdout)
    assert done.returncode and "ping data" not in done.stdout, done
    assert before and before == re.findall(r'"rx_packets": *(\d+)', counters()), (before, counters())
    with open(f"/proc/{world.space.pid}/net/unix", encoding="utf-8") as table:
        names = {line.split()[-1] for line in table if re.search("@rnic/wire0/(shm|proc)", line)}
    assert any("/shm" in name for name in names) and any("/proc" in name for name in names), names
    intruder = world.start(*as_user(USERS[1], sys.executable, "-c", INTRUDER, str(USERS[0]), *names))
    for _ in names:
        line = intruder.stdout.readline()
        assert line.endswith(" nothing\n"), line
    assert intruder.stdout.readline() == "trap\n"
    done = subprocess.run(world.space.command(*rping(USERS[0], "-c", "-C", "2")), check=False)
    assert done.returncode == 0, done
    trapped = intruder.communicate("")[0]
    print(names, trapped)
    assert trapped and set(trapped.splitlines()) == {"trapped nothing"}, trapped
    wire.stacks.end(server.pid)
    server.communicate()


def false_names_delay_only_briefly(world):
    squatter = world.squat(*(f"proc/{number}.\x1b[31m\x07" for number in range(1, FALSE_NAMES + 1)))
    text, seconds = world.info(USERS[0])
    assert seconds < 1.5, f"another user's names delay rnic-info by {seconds:.1f} s"
    text, seconds = world.info(0)
    assert seconds < 4, f"{seconds:.1f} s for {FALSE_NAMES} processes that never answer"
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), text
    squatter.communicate("")


def claimed_names_are_reported_at_once(world):
    squatter = world.squat(*(f"qpnblk/{number}" for number in range(1, BLOCKS + 1)))
    begin = time.monotonic()
    done = world.start(os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--", "ibv_devinfo", "-v")
    out = done.communicate()[0]
    assert time.monotonic() - begin < 10 and done.returncode, out
    assert "have claimed all QPN ranges of wire0" in out and "@rnic/wire0/qpnblk/" in out, out
    assert f"user {USERS[1]} has {BLOCKS} of them" in out, out
    squatter.communicate("")
    done = world.start(os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--", "ibv_devinfo")
    out = done.communicate()[0]
    assert done.returncode == 0, out


def squatted_names_do_not_silence_a_device(world):
    """A user without a device has claimed two socket names: "gsi", that of the process that answers CM requests for all,
    and that of a CM port. The device of another user reports both at once. It answers CM requests nevertheless, and
    rejects a request to that port. The port itself belongs to its first user, as on hardware."""
    def rping(*words):
        return os.path.join(world.bin, "rnic-run"), "-i", "wire0", "--", "rping", "-a", wire.ADDRESSES[0][0], *words

    report = (f"rnic: wire0: ignored the socket name @rnic/wire0/{{}} of user {USERS[1]}, who has no device that can "
              "receive the packets\n")
    squatter = world.squat("gsi", "cm/106/7501")
    server = world.start(*as_user(USERS[0], *rping("-s", "-p", "7500"), raw=True))
    while not world.space.ready("cm/106/7500"):
        assert server.poll() is None, server.communicate()
        time.sleep(0.05)
    for port in ("7501", "7502"):  # no process uses port 7502
        begin = time.monotonic()
        done = subprocess.run(world.other.command(*rping("-c", "-C", "1", "-p", port)), check=False, text=True, timeout=90,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(f"port {port}, {time.monotonic() - begin:.2f} s: {done.stdout}")
        assert done.returncode and "RDMA_CM_EVENT_REJECTED" in done.stdout, done
    refused = world.start(*as_user(USERS[0], *rping("-s", "-p", "7501"), raw=True))
    out = refused.communicate(timeout=60)[0]
    assert refused.returncode and out.count(report.format("cm/106/7501")) == 1, out
    done = subprocess.run(world.other.command(*rping("-c", "-C", "1", "-p", "7500")), check=False)
    assert done.returncode == 0, done
    out = server.communicate(timeout=60)[0]
    for name in ("gsi", "cm/106/7501"):
        assert out.count(report.format(name)) == 1, out
    squatter.communicate("")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    args = parser.parse_args()
    if os.geteuid() != 0 or subprocess.run(as_user(USERS[0], "true"), check=False).returncode:
        print("only root can run processes of several users")
        return 77
    with tempfile.TemporaryDirectory(prefix="rnic-neighbours-") as folder:
        os.chmod(folder, 0o755)
        world = World(args.bin, folder)
        try:
            for test in (claimed_names_are_reported_at_once, false_names_delay_only_briefly,
                         users_do_not_see_each_other, users_do_not_reach_each_others_memory,
                         squatted_names_do_not_silence_a_device):
                test(world)
                print(test.__name__, flush=True)
        finally:
            world.space.close()
            world.other.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
