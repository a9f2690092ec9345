#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Searches captures that cost much more than ordinary traffic with as many packets and connections, and prints the
worst of each command with its cost relative to that traffic. Does the same for drills and requests of the agent, whose
cost is that of each byte relative to ordinary ones (texts.py), and for frames that a live port receives, relative to
WRITEs (live.py).

cost.py --bin FOLDER [--seed N] [--only REGEX] [--shapes N REGEX]... [--engines REGEX] [--limit RATIO] [--packets N]
        [--seconds S] [--most N] [--keep FOLDER]

--engines prints only the rows of the commands whose names match. With --only, valgrind counts the instructions of the
shapes that match 'ENGINE: SHAPE$', in which $ is a character. --shapes does the same with N packets; the ordinary
traffic of each command has as many packets as its first --shapes. With --seconds and --only, too, the search begins with
these shapes.
--keep copies each input above the limit to a folder, so that it can become a shape.

The search of each command (search.py) begins with all shapes (shapes.py). For S seconds it then changes the worst
inputs so far, and keeps each change that costs more CPU time or more memory (the largest resident memory). Then
valgrind counts the instructions of the N worst inputs. Their number decides, because it does not depend on the load
of the machine. Wireshark with the plugin starts too slowly in valgrind, so its CPU time decides. For drills,
the agent and the live port, valgrind first counts the instructions of all shapes. The script prints the rows of a command
as soon as they are known.

The cost of ordinary traffic has two parts: the cost of each packet, measured with a long connection, and the cost of
each connection or connection request, measured with short connections. The memory of ordinary traffic has a third part,
for each byte by which packets are longer, measured with ordinary WRITEs of 1024 bytes.
Exit status 1: a capture costs more than RATIO times ordinary traffic, in time or memory."""
import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import bounded
import captures
import live
import search
import shapes
import texts

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("programs", "support")]
import stacks  # noqa: E402
from pcap import frames_of  # noqa: E402
from seed import add_seed_option  # noqa: E402

ENGINES = {
    "check": ["check", "-q"],
    "check --json": ["check", "-q", "--json", "/dev/null"],
    "check --html": ["check", "-q", "--html", "/dev/null"],
    "check exports": ["check", "-q", "--events", "/dev/null", "--perfetto", "{out}", "--csv", "{out}.d"],
    "annotate": ["check", "-q", "--annotate", "{out}"],
    "events": ["check", "-q", "--events", "/dev/null"],
    "csv": ["check", "-q", "--csv", "{out}.csv"],
    "perfetto": ["check", "-q", "--perfetto", "{out}"],
    "gnuplot": ["check", "-q", "--gnuplot", "{out}.gnuplot"],
    "xplot": ["check", "-q", "--xplot", "{out}.xplot"],
    "check -v": ["check", "-v", "--junit", "/dev/null"],
    "other end": ["check", "--other-end", "{in}", "{in}"],
    "decode": ["decode", "-q"],
    "decode --json": ["decode", "-q", "--json", "/dev/null"],
    "replay": ["replay", "-q"],
    "replay --strict": ["replay", "--strict", "--json", "/dev/null"],
    "closed loop": ["replay", "-q", "--closed-loop"],
    "impaired loop": ["replay", "-q", "--closed-loop", "--impair", "loss=1%"],
    "drill --from": ["drill", "--from"],
    "edit": ["edit", "--impair", "loss=1%", "{in}", "/dev/null"],
    "plot": ["plot", "--connection", "0", "--svg", "/dev/null"],
}
PLUGIN = "plugin"
TEXTS = {  # for each parser of text: command, kinds of texts, and length of a text in bytes
    "drill --check": (["rocedrill", "drill", "--check"], texts.DRILLS, 40000),
    "agent": (["fuzz_agent", "-runs=0"], texts.AGENT, texts.AGENT_ROOM),
}
LIVE = {  # for each receiver of frames: command, and kinds of frames
    "live": (["live_input"], live.SHAPES),
    "live port": (["port_input", "live"], live.PORT_SHAPES),
    "shm ring": (["port_input", "shm"], live.SHM_SHAPES),
}
LATE = 60  # longest run, s
RSS_NOISE = 1 << 20  # difference in memory between two runs with the same input, bytes
CPU_NOISE = 0.001  # difference in CPU time between two runs with the same input, s
SUSPECT = 0.4  # above this part of the limit, the instructions of an input are counted, because CPU time varies with the load
RUNS = 3  # number of runs; the one with the least CPU time counts
MAD, CM_QPN, CM_REQ = 62, b"\0\0\1", b"\0\x10"  # offset of a MAD in a frame over IPv4, and fields of a REQ

# valgrind counts `rep stosb` and `rep movsb` as one instruction for each byte. glibc then uses loops of 32 bytes.
TUNABLES = ":".join(f"glibc.cpu.x86_rep_{name}_threshold={1 << 40}" for name in ("movsb", "stosb"))
EMPTY = 4  # packets of a capture whose cost equals that of starting the program


class Engine:
    """A command whose cost is measured, and the cost of ordinary input. A unit of input is a packet, or a byte of text."""

    def __init__(self, command, name, folder, bin_dir, shapes_of=None):
        self.command, self.name, self.folder = command, name, folder
        self.shapes = shapes_of or shapes.SHAPES
        self.rocedrill, self.peak = (os.path.join(bin_dir, program) for program in ("rocedrill", "peak"))
        self.costs = {}  # for each method of measuring: cost of an empty input, of a unit and of a connection
        self.rss = 0
        self.byte = 0  # measured memory for each byte by which a unit is longer than an ordinary unit, bytes
        self.counted = {}  # number of connections of the capture that was measured last

    def inputs(self, cnt):
        """Yields the name and the input of each shape."""
        for name, shape in self.shapes.items():
            yield name, list(shape(cnt))

    def store(self, path, frames):
        """Writes an input. Returns the number of its units."""
        return shapes.write(path, frames)

    def changed(self, rng, frames):
        return search.changed_frames(rng, frames)

    def search_size(self, cnt):
        """Returns the number of units of each input of a search: enough for a measurable CPU time."""
        return cnt

    def sure(self):
        """Returns the method whose count decides."""
        return self.instructions

    def write_ordinary(self, path, cnt):
        """Writes ordinary input. Returns the number of its units."""
        return shapes.write(path, shapes.ordinary(cnt))

    def ordinary(self, cnt):
        """Writes ordinary input and runs the command on it. Returns the path of the input, and the number of its units."""
        path = os.path.join(self.folder, f"ordinary{cnt}")
        number = self.write_ordinary(path, cnt)
        done = bounded.run(self.words(path), LATE)
        assert done.status in (0, 1) or cnt == EMPTY, done
        return path, number

    def connections(self, path):
        """Returns the number of connections and connection requests in a capture. Counts them again only if the
        capture was written again."""
        status = os.stat(path)
        version = (path, status.st_mtime_ns, status.st_size)
        if version not in self.counted:
            self.counted = {version: self.count_connections(path)}
        return self.counted[version]

    def count_connections(self, path):
        done = subprocess.run([self.rocedrill, "check", "-q", "--json", "-", path], stdout=subprocess.PIPE, text=True,
                              check=False)
        summary = json.loads(next(line for line in done.stdout.splitlines() if line.startswith('{"type":"summary"')))
        return summary["connections"] + sum(frame[MAD - 20:][5:8] == CM_QPN and frame[MAD + 16:MAD + 18] == CM_REQ
                                            for frame in frames_of(path))

    def words(self, path):
        """Returns the command for an input, or for a list of inputs."""
        words = [word.format(out=os.path.join(self.folder, "out"), **{"in": path}) for word in self.command]
        return words if "{in}" in self.command else words + (path if isinstance(path, list) else [path])

    def quick(self, path):
        """Runs the command on an input. Returns its CPU time, s, and stores its largest memory in self.rss."""
        measured = os.path.join(self.folder, "peak")
        done = bounded.run([self.peak, measured, *self.words(path)], LATE)
        with open(measured, encoding="ascii") as file:
            self.rss = int(file.read()) << 10
        return done.cpu

    def once(self, path):
        """As seconds(), but with one run."""
        return self.quick(path)

    def seconds(self, path):
        return min(self.quick(path) for _ in range(RUNS))

    def memory(self, path):
        """Runs the command on an input. Returns by how much its memory exceeds the noise of the measurement, bytes."""
        self.quick(path)
        return self.rss - RSS_NOISE

    def last_memory(self, _):
        """As memory(), but for the latest run of quick()."""
        return self.rss - RSS_NOISE

    def instructions(self, path):
        # cachegrind without its caches is faster than callgrind, and counts the same instructions
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                               *self.words(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False, env={**os.environ, "GLIBC_TUNABLES": TUNABLES})
        found = re.search(r"I +refs: +([\d,]+)", done.stderr)
        assert found and done.returncode in (0, 1, 2), done.stderr[-2000:]
        return int(found[1].replace(",", ""))

    def learn(self, count, cnt):
        """Measures ordinary input with the method `count`. A cost below the noise of the measurement counts as the noise."""
        def least_of(path):
            return min(count(path) for _ in range(1 if count == self.instructions else RUNS))  # all ratios depend on it

        least = {self.memory: RSS_NOISE, self.instructions: 1e-9}.get(count, CPU_NOISE) / cnt
        start = least_of(self.ordinary(EMPTY)[0])
        ordinary, number = self.ordinary(cnt)
        each, connection = max((least_of(ordinary) - start) / number, least), 0
        if not isinstance(self, (Live, Parser)):
            short = os.path.join(self.folder, "short")
            number = shapes.write(short, shapes.ordinary_connections(cnt))
            connection = max(least_of(short) - start - number * each, least * cnt) / self.connections(short)
        if count == self.memory and not isinstance(self, (Live, Parser)):
            long = os.path.join(self.folder, "long")
            number = shapes.write(long, shapes.ordinary(cnt, shapes.LONG_WRITE))
            self.byte = max(least_of(long) - start - number * each, 0) / self.longer(long, number)
        self.costs[count] = (start, each, connection)

    def longer(self, path, cnt):
        """Returns the number of bytes by which `cnt` units are longer than ordinary ones."""
        return max(os.path.getsize(path) - cnt * os.path.getsize(os.path.join(self.folder, f"ordinary{EMPTY}")) / EMPTY, 0)

    def ratio(self, path, cnt, count):
        """Returns the cost of an input of `cnt` units relative to ordinary input. `count` is the method that measures."""
        exact = {self.last_memory: self.memory, self.once: self.seconds}.get(count, count)
        if exact not in self.costs:
            self.learn(exact, cnt)
        start, each, connection = self.costs[exact]
        cost = count(path)
        bytes_more = self.longer(path, cnt) * self.byte if exact == self.memory and self.byte else 0
        return (cost - start) / (cnt * each + (connection and connection * self.connections(path)) + bytes_more)


class Plugin(Engine):
    """Wireshark's program sharkd with the plugin. tshark starts for 0.2 s of CPU time, which on a busy machine varies more
    than the cost of a capture. For each connection to its socket, sharkd forks a process that has nothing left to start."""

    REQUESTS = (("load", {"file": None}), ("frames", {"column0": "roce.bth.opcode:0"}), ("status", {}))

    def __init__(self, command, name, folder, bin_dir, shark):
        super().__init__(command, name, folder, bin_dir)
        self.socket = os.path.join(shark.home, "sharkd")
        # sharkd does not wait for its children. Because it inherits SIG_IGN, the kernel removes those that ended.
        subprocess.run(shark.command(["-a", "unix:" + self.socket], program="sharkd"), stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True, restore_signals=False,
                       preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def processes(self):
        """Returns the processes of sharkd."""
        return {int(pid) for pid in os.listdir("/proc") if pid.isdigit() and
                self.socket in stacks.read(f"/proc/{pid}/cmdline")}

    def close(self):
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    def quick(self, path):
        before = self.processes()
        with socket.socket(socket.AF_UNIX) as to_sharkd:
            to_sharkd.settimeout(LATE)
            to_sharkd.connect(self.socket)
            with to_sharkd.makefile("rw", encoding="utf-8", errors="replace") as lines:
                for number, (method, more) in enumerate(self.REQUESTS, 1):
                    params = {**more, **({"file": path} if "file" in more else {})}
                    lines.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
                lines.flush()
                replies = [lines.readline()]
                while json.loads(replies[-1])["id"] < len(self.REQUESTS):  # an incomplete capture has no reply to "load"
                    replies.append(lines.readline())
                assert any(re.search(r'"c":\["[^"]', reply) for reply in replies), f"the plugin did not dissect: {replies}"
                pid, = self.processes() - before
                self.rss = int(re.search(r"VmHWM:\s+(\d+)", stacks.read(f"/proc/{pid}/status"))[1]) << 10
                return int(stacks.read(f"/proc/{pid}/schedstat").split()[0]) / 1e9

    def sure(self):
        return self.seconds


class Live(Engine):
    """A command that receives the frames of a file as a live device does."""

    def write_ordinary(self, path, cnt):
        return shapes.write(path, self.shapes["ordinary"](cnt))

    def search_size(self, cnt):
        return 10 * cnt


class Parser(Engine):
    """A command that reads text. Its cost is that of each byte."""

    REPEATS = 20  # a measured run reads the text this number of times, because one time needs too little CPU time

    def __init__(self, command, name, folder, bin_dir, shapes_of, room):
        super().__init__(command, name, folder, bin_dir, shapes_of)
        self.room = room  # length of a text, bytes

    def search_size(self, cnt):
        return self.room

    def quick(self, path):
        return super().quick([path] * self.REPEATS)

    def inputs(self, cnt):
        return ((name, shape(cnt)) for name, shape in self.shapes.items())

    def store(self, path, text):
        with open(path, "w", encoding="utf-8", newline="") as file:
            return file.write(text)

    def changed(self, rng, text):
        return captures.spoilt_text(rng, text)

    def write_ordinary(self, path, cnt):
        return self.store(path, self.shapes["ordinary"](cnt))


def judge(worst, args, folder):
    """Prints the worst inputs of a search. Returns whether all are within the limit."""
    path, good = os.path.join(folder, "worst"), True
    engine = worst.engine
    for shown, (ratio, name, worth) in enumerate(worst.found[:args.most]):
        if shown and ratio < SUSPECT * args.limit:
            break
        cnt = engine.store(path, worth)
        sure = engine.ratio(path, cnt, engine.sure())
        if sure > args.limit and args.keep:
            shutil.copy(path, os.path.join(args.keep, f"{engine.name} {shown} {name}".replace(" ", "_")))
        good = put_row(engine.name, name, cnt, f"{ratio:8.1f}x {sure:12.1f}x", sure <= args.limit) and good
    memory, name, worth = worst.heavy[0]
    return put_row(engine.name, name, len(worth), f"{'':9} {'':13} {memory:6.1f}x", memory <= args.limit) and good


def put_row(engine, name, cnt, text, good):
    print(f"{engine:14} {name:34} {cnt:8} {text}{'' if good else '  ABOVE THE LIMIT'}", flush=True)
    return good


def judge_shapes(engines, args, folder):
    """Counts the instructions of the shapes whose names match --only or --shapes. Returns whether all are within the
    limit."""
    path, good = os.path.join(folder, "shape"), True
    for engine in engines:
        for packets, regex in args.shapes:
            for name, shape in engine.shapes.items():
                if re.search(regex, f"{engine.name}: {name}$"):
                    worth = shape(engine.room if isinstance(engine, Parser) else int(packets))
                    good = judged(engine, name, path, engine.store(path, worth), args.limit) and good
    return good


def judged(engine, name, path, cnt, limit):
    """Prints the cost of one input. Returns whether it is within the limit."""
    ratio = engine.ratio(path, cnt, engine.sure())
    memory = engine.ratio(path, cnt, engine.memory)
    judged.rows += 1
    return put_row(engine.name, name, cnt, f"{'':9} {ratio:12.1f}x {memory:6.1f}x", max(ratio, memory) <= limit)


judged.rows = 0


def quick_engines(args, folder):
    """Returns the parsers of texts and the receivers of frames."""
    def command(words):
        return [os.path.join(args.bin, words[0]), *words[1:]]
    found = [Parser(command(words), name, folder, args.bin, shapes_of, room)
             for name, (words, shapes_of, room) in TEXTS.items()]
    found += [Live(command(words), name, folder, args.bin, shapes_of) for name, (words, shapes_of) in LIVE.items()]
    return [engine for engine in found if re.search(args.engines, engine.name)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    add_seed_option(parser)
    parser.add_argument("--only", help="these shapes only, as 'ENGINE: SHAPE'")
    parser.add_argument("--shapes", nargs=2, action="append", metavar=("N", "REGEX"), help="as --only, with N packets")
    parser.add_argument("--engines", default="", help="only the commands whose names match")
    parser.add_argument("--limit", type=float, default=10)
    parser.add_argument("--packets", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=0, help="time of the search for each command")
    parser.add_argument("--most", type=int, default=8, help="inputs of each command whose instructions are counted")
    parser.add_argument("--keep", help="folder for the inputs above the limit")
    args = parser.parse_args()
    search_all = args.seconds or not (args.only or args.shapes)
    args.shapes = args.shapes or [(args.packets, args.only or "")]
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="rocedrill-cost-") as folder, contextlib.ExitStack() as stack:
        rocedrill = os.path.join(args.bin, "rocedrill")
        engines = [Engine([rocedrill, *words], name, folder, args.bin)
                   for name, words in ENGINES.items() if re.search(args.engines, name)]
        plugins = os.path.join(os.path.dirname(os.path.abspath(args.bin)), "lib", "wireshark", "plugins")
        if os.path.isdir(plugins) and re.search(args.engines, PLUGIN) and any(
                re.search(regex, f"{PLUGIN}: {name}$") for name in shapes.SHAPES for _, regex in args.shapes):
            os.chmod(folder, 0o755)  # tshark does not run as root
            shark = stack.enter_context(captures.Tshark(plugins))
            engines.append(Plugin(shark.command(["-2", "-V", "-r"]), PLUGIN, folder, args.bin, shark))
            stack.callback(engines[-1].close)
        print(f"{'command':14} {'input':34} {'packets':>8} {'CPU time':>9} {'instructions':>13} {'memory':>7}", flush=True)
        quick = quick_engines(args, folder)
        good = judge_shapes(quick, args, folder)
        if not search_all:
            good = judge_shapes(engines, args, folder) and good
            return int(not good) if judged.rows else "no shape matches ('ENGINE: SHAPE$', the $ is a character)"
        turns = 0
        for engine in engines + (quick if args.seconds else []):
            worst = search.Worst(engine)
            turns += search.search(worst, args, rng, folder)
            good = judge(worst, args, folder) and good
        print(f"seed {args.seed}, {len(shapes.SHAPES)} shapes and {turns} changed inputs of {args.packets} packets")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
