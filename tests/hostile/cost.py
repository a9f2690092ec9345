#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Searches captures that cost much more for each packet than ordinary traffic, and prints the worst of each
command with its cost relative to ordinary traffic. Also counts the cost of hostile drills, requests of the agent and reports of shards
for each byte, relative to ordinary ones (texts.py), and that of frames that a
live port receives (live.py).

cost.py --bin FOLDER [--seed N] [--only REGEX] [--engines REGEX] [--limit RATIO] [--packets N] [--seconds S] [--most N]

--engines makes a part of the table: only the commands whose names match.

The search of each command begins with all shapes (shapes.py). For the given time it then changes the worst captures
so far, and keeps each change that costs more. It measures CPU time and the largest memory. Instructions decide
(valgrind), for the N worst captures: they do not depend on the load of the machine. tshark with the plugin starts too
slowly in valgrind; its CPU time decides. The rows of a command are printed as soon as they are known.
If a command prints a line for each connection, the cost of each byte of its output counts too (class Report).
Memory is that for each byte of the capture, relative to a capture of short ordinary connections.
Exit status 1: a capture costs more than RATIO times ordinary traffic, in time or memory."""
import argparse
import contextlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time

import bounded
import captures
import live
import shapes
import texts

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from seed import add_seed_option  # noqa: E402

ENGINES = {
    "check": ["check", "-q"],
    "check --json": ["check", "-q", "--json", "{out}"],
    "check --html": ["check", "-q", "--html", "/dev/null"],
    "check exports": ["check", "-q", "--events", "/dev/null", "--perfetto", "/dev/null"],
    "check -v": ["check", "-v", "--junit", "/dev/null"],
    "other end": ["check", "--other-end", "{in}"],
    "decode": ["decode", "-q"],
    "decode --json": ["decode", "-q", "--json", "/dev/null"],
    "replay": ["replay", "-q"],
    "replay --strict": ["replay", "--strict", "--json", "/dev/null"],
    "closed loop": ["replay", "-q", "--closed-loop"],
    "impaired loop": ["replay", "-q", "--closed-loop", "--impair", "loss=1%"],
    "drill --from": ["drill", "--from"],
    "edit": ["edit", "--impair", "loss=1%", "{in}", "/dev/null"],
    "plot": ["plot", "--svg", "/dev/null"],
}
PLUGIN = "plugin"
TEXTS = {  # command of each parser, its texts, and their length in bytes
    "drill --check": (["rocedrill", "drill", "--check"], texts.DRILLS, 40000),
    "agent": (["fuzz_agent", "-runs=0"], texts.AGENT, texts.AGENT_ROOM),
}
LIVE = {  # command of each receiver, and its frames
    "live": (["live_input"], live.SHAPES),
    "live port": (["port_input", "live"], live.PORT_SHAPES),
    "shm ring": (["port_input", "shm"], live.SHM_SHAPES),
}
LATE = 60  # longest run, s
CONNECTIONS = 8000  # packets of the capture whose memory is ordinary
RSS_NOISE = 1 << 20  # difference of two equal runs, bytes
SUSPECT = 0.7  # part of the limit from which instructions are counted
EMPTY = 2  # packets of the capture whose cost is that of starting the program


class Engine:
    """One command, and the cost of ordinary traffic."""

    def __init__(self, command, name, folder):
        self.command, self.name, self.folder = command, name, folder
        self.start, self.each = {}, {}
        self.rss = self.start_rss = self.each_rss = 0

    def sure(self):
        """Returns the method whose count decides: CPU seconds for tshark, instructions for all others."""
        return self.seconds if self.name == PLUGIN else self.instructions

    def write_ordinary(self, path, cnt):
        """Returns the number of units of ordinary input."""
        return shapes.write(path, shapes.ordinary(cnt))

    def words(self, path):
        """Returns the command for a capture."""
        words = [path if word == "{in}" else word for word in self.command]
        return words if "{in}" in self.command else [*words, path]

    def quick(self, path):
        done = bounded.run(self.words(path), LATE)
        self.rss = done.rss
        return done.cpu

    def memory(self, path):
        """Returns the memory of the last run of quick(), of the capture `path`, for each byte, relative to a capture
        of short connections."""
        rss = self.rss << 10
        if not self.start_rss:
            small, short = os.path.join(self.folder, "small.pcap"), os.path.join(self.folder, "connections.pcap")
            self.write_ordinary(small, EMPTY)
            shapes.write(short, shapes.ordinary_connections(CONNECTIONS))
            self.quick(small)
            self.start_rss = self.rss << 10
            self.quick(short)
            self.each_rss = max((self.rss << 10) - self.start_rss, RSS_NOISE) / os.path.getsize(short)
        return max(rss - self.start_rss - RSS_NOISE, 0) / os.path.getsize(path) / self.each_rss

    def seconds(self, path):
        return min(self.quick(path) for _ in range(2))

    def exact(self, count):
        """Returns the method that measures ordinary traffic for `count`."""
        return self.seconds if count == self.quick else count

    def instructions(self, path):
        # cachegrind without its caches is faster than callgrind, and counts the same instructions
        done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
                               *self.words(path)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)
        found = re.search(r"I +refs: +([\d,]+)", done.stderr)
        assert found and done.returncode in (0, 1, 2), done.stderr[-2000:]
        return int(found[1].replace(",", ""))

    def ratio(self, path, cnt, count):
        """Returns the cost of each packet relative to ordinary traffic. `count` is a method above."""
        base = self.exact(count)
        if base not in self.each:
            small, ordinary = os.path.join(self.folder, "small.pcap"), os.path.join(self.folder, "ordinary.pcap")
            self.write_ordinary(small, EMPTY)
            number = self.write_ordinary(ordinary, cnt)
            self.start[base] = base(small)
            self.each[base] = max((base(ordinary) - self.start[base]) / number, 1e-9)
        return (count(path) - self.start[base]) / cnt / self.each[base]


class Report(Engine):
    """A command that writes a line for each connection and each finding. The ordinary cost is that of the
    packets plus that of each byte of output, both measured with a capture of many ordinary connections."""

    def __init__(self, command, name, folder):
        self.out, self.byte = os.path.join(folder, "out"), {}
        super().__init__([word.format(out=self.out) for word in command], name, folder)

    def ratio(self, path, cnt, count):
        base = self.exact(count)
        if base not in self.byte:
            short = os.path.join(self.folder, "short.pcap")
            number = shapes.write(short, shapes.ordinary_connections(cnt))
            super().ratio(short, number, base)  # sets start and each
            rest = base(short) - self.start[base] - number * self.each[base]
            self.byte[base] = max(rest / os.path.getsize(self.out), 1e-12)
        cost = count(path) - self.start[base]
        return cost / (cnt * self.each[base] + os.path.getsize(self.out) * self.byte[base])


class Live(Engine):
    """A command that receives the frames of a file as a live device does."""

    def __init__(self, command, name, folder, shapes_of):
        super().__init__(command, name, folder)
        self.shapes = shapes_of

    def write_ordinary(self, path, cnt):
        return shapes.write(path, self.shapes["ordinary"](cnt))


class Parser(Engine):
    """A command that reads text. Its cost is that of each byte."""

    def __init__(self, command, name, folder, shapes_of):
        super().__init__(command, name, folder)
        self.shapes = shapes_of

    def write(self, path, shape, room):
        text = self.shapes[shape](room)
        with open(path, "w", encoding="utf-8") as file:
            return file.write(text)

    def write_ordinary(self, path, cnt):
        return self.write(path, "ordinary", cnt)


def changed(rng, frames):
    """Returns the frames with a few frames changed, or with a part repeated, moved or reversed."""
    frames = captures.spoilt_frames(rng, frames)
    for _ in range(rng.randrange(3)):
        begin, end = sorted(rng.randrange(len(frames) + 1) for _ in range(2))
        part = frames[begin:end]
        kind = rng.randrange(3)
        if kind == 0:
            frames[begin:end] = part[::-1]
        elif kind == 1:
            del frames[begin:end]
            at = rng.randrange(len(frames) + 1)
            frames[at:at] = part
        else:
            at = rng.randrange(max(1, len(frames) - len(part)))
            frames[at:at + len(part)] = part
    return frames


class Worst:
    """The most expensive captures of one engine."""

    def __init__(self, engine):
        self.engine, self.found, self.memory = engine, [], (0, "none", 0)

    def add(self, ratio, name, frames):
        self.found = sorted(self.found + [(ratio, name, frames)], key=lambda one: -one[0])[:8]

    def run(self, name, path, cnt):
        """Adds a capture if it is one of the most expensive."""
        ratio = self.engine.ratio(path, cnt, self.engine.quick)
        memory = self.engine.memory(path)
        self.memory = max(self.memory, (memory, name, cnt))
        if len(self.found) < 8 or ratio > self.found[-1][0]:
            self.add(ratio, name, captures.frames_of(path))


def search(worst, args, rng, folder):
    """Runs all shapes, then changed captures for a time. Returns the number of changed captures."""
    path = os.path.join(folder, "turn.pcap")
    for name, shape in shapes.SHAPES.items():
        worst.run(name, path, shapes.write(path, shape(args.packets)))
    begin, turns = time.monotonic(), 0
    while time.monotonic() - begin < args.seconds:
        _, name, frames = rng.choice(worst.found)
        worst.run(name.split(" ")[0] + " changed", path, shapes.write(path, changed(rng, frames)))
        turns += 1
    return turns


def judge(worst, args, folder):
    """Prints the worst captures. Returns whether all are within the limit."""
    path, good = os.path.join(folder, "worst.pcap"), True
    engine = worst.engine
    for shown, (ratio, name, frames) in enumerate(worst.found[:args.most]):
        if shown and ratio < SUSPECT * args.limit:
            break
        cnt = shapes.write(path, frames)
        sure = engine.ratio(path, cnt, engine.sure())
        good = put_row(engine.name, name, cnt, f"{ratio:8.1f}x {sure:12.1f}x", sure <= args.limit) and good
    memory, name, cnt = worst.memory
    good = put_row(engine.name, name, cnt, f"{'':9} {'':13} {memory:6.1f}x", memory <= args.limit) and good
    return judge_output(engine) and good


def put_row(engine, name, cnt, text, good):
    print(f"{engine:14} {name:34} {cnt:8} {text}{'' if good else '  ABOVE THE LIMIT'}", flush=True)
    return good


def judge_shapes(engines, args, folder):
    """Counts the instructions of the shapes whose names match --only. Returns whether all are within the limit."""
    path, good = os.path.join(folder, "shape.pcap"), True
    for engine in engines:
        for name, shape in shapes.SHAPES.items():
            if re.search(args.only, f"{engine.name}: {name}$"):
                cnt = shapes.write(path, shape(args.packets))
                good = judged(engine, name, path, cnt, args.limit) and good
        good = judge_output(engine) and good
    return good


OUTPUT_LIMIT = 15  # cost of 1 KiB of a report relative to an ordinary packet; measured: 9.7 to 9.9


def judge_output(engine):
    """Prints the cost of 1 KiB of a report relative to an ordinary packet. Returns whether it is within the limit."""
    ratio = max((1024 * engine.byte[count] / engine.each[count] for count in getattr(engine, "byte", {})
                 if count == engine.sure()), default=0)  # 0: no row of this engine was counted
    if ratio:
        put_row(engine.name, "1 KiB of output", "", f"{'':9} {ratio:12.1f}x", ratio <= OUTPUT_LIMIT)
    return ratio <= OUTPUT_LIMIT


def judged(engine, name, path, cnt, limit):
    """Prints the cost of one input. Returns whether it is within the limit."""
    ratio = engine.ratio(path, cnt, engine.sure())
    judged.rows += 1
    return put_row(engine.name, name, cnt, f"{'':9} {ratio:12.1f}x", ratio <= limit)


judged.rows = 0


def judge_live(args, folder):
    """As judge_texts, for the frames of a live device."""
    path, good = os.path.join(folder, "live.pcap"), True
    for receiver, (words, shapes_of) in LIVE.items():
        if not re.search(args.engines, receiver):
            continue
        engine = Live([os.path.join(args.bin, words[0]), *words[1:]], receiver, folder, shapes_of)
        for name, shape in shapes_of.items():
            if re.search(args.only or "", f"{receiver}: {name}$"):
                good = judged(engine, name, path, shapes.write(path, shape(args.packets)), args.limit) and good
    return good


def judge_texts(args, folder):
    """Counts the instructions of the texts whose names match --only. Returns whether all are within the limit."""
    path, good = os.path.join(folder, "text.drill"), True
    for parser, (words, shapes_of, room) in TEXTS.items():
        if not re.search(args.engines, parser):
            continue
        engine = Parser([os.path.join(args.bin, words[0]), *words[1:]], parser, folder, shapes_of)
        for name in shapes_of:
            if re.search(args.only or "", f"{parser}: {name}$"):
                good = judged(engine, name, path, engine.write(path, name, room), args.limit) and good
    return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    add_seed_option(parser)
    parser.add_argument("--only", help="count the instructions of these shapes only, as 'ENGINE: SHAPE'")
    parser.add_argument("--engines", default="", help="only the commands whose names match")
    parser.add_argument("--limit", type=float, default=10)
    parser.add_argument("--packets", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=0, help="time of the search for each command")
    parser.add_argument("--most", type=int, default=4, help="captures of each command whose instructions are counted")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    with tempfile.TemporaryDirectory(prefix="rocedrill-cost-") as folder, contextlib.ExitStack() as stack:
        rocedrill = os.path.join(args.bin, "rocedrill")
        engines = [(Report if "{out}" in words else Engine)([rocedrill, *words], name, folder)
                   for name, words in ENGINES.items() if re.search(args.engines, name)]
        plugins = os.path.join(os.path.dirname(os.path.abspath(args.bin)), "lib", "wireshark", "plugins")
        if os.path.isdir(plugins) and re.search(args.engines, PLUGIN) and any(re.search(args.only or "", f"{PLUGIN}: {name}") for name in shapes.SHAPES):
            os.chmod(folder, 0o755)  # tshark does not run as root
            shark = stack.enter_context(captures.Tshark(plugins))
            engines.append(Engine(shark.command(["-2", "-V", "-r"]), PLUGIN, folder))
        print(f"{'command':14} {'input':34} {'packets':>8} {'CPU time':>9} {'instructions':>13} {'memory':>7}", flush=True)
        good = all([judge_texts(args, folder), judge_live(args, folder)])
        if args.only:
            good = judge_shapes(engines, args, folder) and good
            return int(not good) if judged.rows else f"no shape matches {args.only!r} ('ENGINE: SHAPE$', the $ is a character)"
        turns = 0
        for engine in engines:
            worst = Worst(engine)
            turns += search(worst, args, rng, folder)
            good = judge(worst, args, folder) and good
        print(f"seed {args.seed}, {len(shapes.SHAPES)} shapes and {turns} changed captures of {args.packets} packets")
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
