# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Two network namespaces with a veth link (tests/programs/wire.py), and pairs of programs that run on the software
RNIC at both ends: ib_write_bw, rping, and a file transfer whose bytes are compared."""
import glob
import os
import re
import shutil
import subprocess
import sys

import bounded

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("programs", "support")]
import run as rows_of  # noqa: E402
import stacks  # noqa: E402
import wire  # noqa: E402
from pcap import frames_of  # noqa: E402

LINK = "wire0"
MTU = 4300
SERVER, CLIENT = 0, 1
ESTABLISHED = "01"  # state in /proc/net/tcp
PATIENCE = 120  # longest wait on a loaded machine, s
FILE_SIZE = 3000000
SLOWLY = ["--rate_limit_type", "SW", "--rate_limit", "10", "--rate_units", "M", "--burst_size", "2"]  # MiB/s
PAUSE = "25"  # time before each 256 KiB of a file, so that they are also sent at 10 MiB/s, ms
WRITES = 160  # WRITEs of 64 KiB in a second at 10 MiB/s
ROUNDS = 400  # rounds of rping in a second on a busy machine
RANDOM_SIZE = 4  # largest size of a fast pair, of whose file all bytes are random; of a slow pair, most are 0 and need no disk
TRANSFER = "transfer"
UNWRITTEN = 8192  # bytes that a killed file_transfer may not have written to its file
RESULT = r"^ 65536 +\d+"  # last line of ib_write_bw
PRELOAD = os.environ.get("PRELOAD", "")  # runtime of the sanitizer of the programs (captures.py)


class Lab:
    """The namespaces, and a scratch folder for both ends."""

    def __init__(self, bin_dir, folder, rng):
        self.bin, self.rng = bin_dir, rng
        self.folder = os.path.join(folder, "lab")
        self.scratch = os.path.join(self.folder, "tmp")
        os.makedirs(self.scratch)
        self.spaces = wire.link(MTU)
        self.gids = [wire.gid_indices(space, bin_dir, PRELOAD) for space in self.spaces]

    def close(self):
        for space in self.spaces:
            space.close()

    def path(self, name):
        return os.path.join(self.folder, name)

    def names(self):
        """Returns the names that programs on the software RNIC have claimed at either end."""
        found = []
        for space in self.spaces:
            with open(f"/proc/{space.pid}/net/unix", encoding="utf-8", errors="replace") as table:
                found += [line.split()[-1] for line in table if "@rnic" in line]
        return found

    def strangers(self, known):
        """Returns the processes of both namespaces except `known`."""
        nets = {stacks.link(f"/proc/{space.pid}/ns/net") for space in self.spaces}
        keepers = [pid for space in self.spaces for pid in (space.pid, space.keeper.pid)]
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) not in keepers + known and
                stacks.link(f"/proc/{name}/ns/net") in nets and stacks.runs(int(name))]

    def left(self, known=()):
        """Returns names, processes and scratch files that the ended programs left behind, or None. rnic-run's
        own children may end a moment later."""
        patience = bounded.Patience(20)
        while patience.left():
            names, pids = self.names(), self.strangers(list(known))
            scratch = glob.glob(os.path.join(self.scratch, "*"))
            if not (names or pids or scratch):
                return None
        return f"left behind: names {names}, processes {[stacks.read(f'/proc/{pid}/cmdline') for pid in pids]}, {scratch}"


class Pair:
    """One pair of programs. `size`: amount of work, or with `seconds` about as much as the programs do in this time. Of each
    side: words for rnic-run, limits of bounded.Program, and a shell command that is run before the program. With `shm`
    both sides run at the server's end and use shared memory."""

    KINDS = ("ib_write_bw", "rping", TRANSFER)
    number = 0

    def __init__(self, lab, kind, size=1.0, words=((), ()), limits=({}, {}), shell=("", ""), shm=False, seconds=0):
        Pair.number += 1
        self.lab, self.kind = lab, kind
        slow = seconds > 0 or size > RANDOM_SIZE
        self.ends = ends = (SERVER, SERVER) if shm else (SERVER, CLIENT)
        self.spaces = [lab.spaces[end] for end in ends]
        wire_words = ["--wire", "shm"] if shm else []
        port = 20000 + Pair.number % 20000
        host = wire.ADDRESSES[0][0]
        self.source, self.target = lab.path("source"), lab.path(f"target{Pair.number}")
        if kind == "ib_write_bw":
            self.ready = str(port)
            self.writes = int(WRITES * seconds) if seconds else max(5, int(300 * size))
            common = ["ib_write_bw", "-F", "-n", str(self.writes), "-p", str(port), *(SLOWLY if slow else [])]
            commands = [common + ["-x", lab.gids[SERVER][0]], common + ["-x", lab.gids[ends[CLIENT]][0], host]]
        elif kind == "rping":
            self.ready = f"cm/106/{port}"
            self.rounds = int(ROUNDS * seconds) if seconds else max(5, int(60 * size))
            rounds = str(self.rounds)
            commands = [["rping", "-s", "-C", rounds, "-a", host, "-p", str(port)],
                        ["rping", "-c", "-V", "-v", "-C", rounds, "-a", host, "-p", str(port)]]
        else:
            self.ready = str(port)
            length = int(10 * seconds) << 20 if seconds else max(1000, int(FILE_SIZE * size))
            with open(self.source, "wb") as file:
                file.write(lab.rng.randbytes(length if not slow else FILE_SIZE // 10))
                file.truncate(length)
            program = os.path.join(lab.bin, "programs", "file_transfer")
            commands = [[program, "receive", str(port), self.target],
                        [program, "send", host, str(port), self.source, *([PAUSE] if slow else [])]]
        self.commands = []
        for side, command in enumerate(commands):
            if shell[side]:  # the shell command limits only the program, not rnic-run
                command = ["sh", "-c", f'{shell[side]}; exec "$@"', "sh", *command]
            preload = rows_of.runtime_first(command[0].replace(lab.bin, "{BIN}"), PRELOAD, lab.bin)
            self.commands.append(self.spaces[side].command(os.path.join(lab.bin, "rnic-run"), "-i", LINK, *wire_words,
                                                           *words[side], "--", *preload, *command))
        self.limits, self.scratch = limits, lab.scratch
        self.programs = []

    def start(self, side):
        env = dict(wire.environment(PRELOAD), TMPDIR=self.scratch)
        program = bounded.Program(self.commands[side], env=env, **self.limits[side])
        self.programs.append(program)
        return program

    def begin(self, seconds=PATIENCE):
        """Starts the server, and the client when the server is ready or has ended."""
        server = self.start(SERVER)
        patience = bounded.Patience(seconds)
        while not self.lab.spaces[SERVER].ready(self.ready) and not server.poll() and patience.left():
            pass
        self.start(CLIENT)

    def connected(self):
        """Returns whether both programs have a connection: over TCP, or for rping a device at the client."""
        if self.kind == "rping":
            names = self.lab.names() if len(self.programs) == 2 else []
            return any(name.endswith(f"/proc/{pid}") for pid in self.pids(CLIENT) for name in names)
        for name in ("tcp", "tcp6"):
            with open(f"/proc/{self.lab.spaces[SERVER].pid}/net/{name}", encoding="ascii") as table:
                if any(fields[1].endswith(f":{int(self.ready):04X}") and fields[3] == ESTABLISHED
                       for fields in map(str.split, list(table)[1:])):
                    return True
        return False

    def transfers(self):
        """Returns whether the client has a QP in the state RTS or, for a file transfer, the receiver has written data."""
        if self.kind == TRANSFER:
            return os.path.exists(self.target) and os.path.getsize(self.target) > 0
        info = self.spaces[CLIENT].command(os.path.join(self.lab.bin, "rnic-info"), "resource")
        return " state RTS " in subprocess.run(info, stdout=subprocess.PIPE, text=True, check=True).stdout

    def pids(self, side):
        """Returns the processes of one side, the program itself last."""
        return stacks.family(self.programs[side].pid)

    def every(self):
        """Returns the processes of both sides."""
        return stacks.family(*(program.pid for program in self.programs))

    def end(self, seconds=PATIENCE):
        """Waits for both sides. Returns [Done]; one that was late has status None."""
        patience = bounded.Patience(seconds)
        late = ""
        while not all([program.poll() for program in self.programs]):
            if not patience.left():
                late = stacks.show(*(program.pid for program in self.programs if not program.poll()))
                break
        done = []
        for program in self.programs:
            is_late = not program.poll()
            if is_late:
                stacks.end(program.pid)
            done.append(program.kill())
            if is_late:
                done[-1].status = None
        if late:
            done[-1].stacks = late[-6000:]
        return done

    def wrong(self, done):
        """Returns why the pair did not do its work, or None."""
        if any(one.status != 0 for one in done):
            return " / ".join(str(one) for one in done)
        if self.kind == "rping" and "ping data: rdma-ping-" not in done[CLIENT].out:
            return f"no data: {done[CLIENT]}"
        if self.kind == "ib_write_bw" and not re.search(RESULT, done[CLIENT].out, re.MULTILINE):
            return f"no result: {done[CLIENT]}"
        if self.kind == "transfer" and not self.same_files():
            return "the files differ"
        return None

    def may_be_fine(self, side, done):
        """Returns whether the program of one side may end with status 0, as on hardware: its work is complete, or nothing
        that it left decides this. rping returns 0 after a DISCONNECTED event. The sender of a file ends when the receiver
        has written all buffers to its file."""
        if self.kind == "ib_write_bw":
            return bool(re.search(RESULT, done.out, re.MULTILINE))
        if self.kind == "rping":
            return "DISCONNECT EVENT" in done.out or f"ping data: rdma-ping-{self.rounds - 1}:" in done.out
        if side == SERVER:
            return self.same_files()
        written = os.path.getsize(self.target) if os.path.exists(self.target) else 0
        return written >= os.path.getsize(self.source) - UNWRITTEN

    def same_files(self):
        with open(self.source, "rb") as source, open(self.target, "rb") as target:
            return source.read() == target.read()

    def tidy(self):
        for program in self.programs:
            if not program.poll():
                stacks.end(program.pid)
                program.kill()
        if os.path.exists(self.target):
            os.unlink(self.target)
        for path in glob.glob(os.path.join(self.lab.scratch, "*")):
            shutil.rmtree(path, ignore_errors=True)
