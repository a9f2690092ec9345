# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Cases of tests/soak: hostile and spoilt captures, drills and requests of the agent through the commands and the
plugin, under limits. RECORDINGS=FOLDER adds the captures in a folder. With programs of the preset asan, a report of a
sanitizer is a failure, too; tshark and attacked programs then need PRELOAD=FILE, the sanitizer's runtime."""
import functools
import glob
import itertools
import os
import random
import re
import shutil
import struct
import sys
import zlib

import bounded
import shapes
import texts

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, "..", "..")
sys.path[:0] = [os.path.join(HERE, "..", folder) for folder in ("plugin", "support")]
from pcap import frames_of  # noqa: E402
from tshark import Tshark  # noqa: E402

MEMORY = 2 << 30  # limit of the address space of a command, bytes
CPU = 60  # s
BROKEN = ("Cannot allocate memory", "CRASHED", "AddressSanitizer", "LeakSanitizer", "runtime error:")
PACKETS = 6000
FEW = 300  # packets of each shape in the first turn
SINGLY = ("check", "replay", "replay --closed-loop", "replay --strict")  # in the first turn, these commands read each shape alone
FRAMES = 400  # maximum number of frames of a recorded capture that are used
PREFIX = 42  # bytes before the BTH of a frame over Ethernet and IPv4

COMMANDS = {
    "check": ["check", "--json", "{out}", "--csv", "{folder}", "--events", "{events}"],
    "check --html": ["check", "-q", "--html", "{out}"],
    "decode": ["decode", "-v", "--json", "{out}"],
    "replay": ["replay", "-l", "--json", "{out}"],
    "replay --closed-loop": ["replay", "--closed-loop", "--impair", "loss=2%"],
    "check --other-end": ["check", "--other-end", "{in}"],
    "check --baseline": ["check", "--baseline", "{in}"],
    "check --perfetto": ["check", "-q", "--perfetto", "{out}", "--junit", "{events}"],
    "replay --strict": ["replay", "--strict", "--side", "requester"],
    "plot": ["plot", "--html", "{out}"],
    "drill --from": ["drill", "--from"],
    "import": ["import", "--to", "{folder}"],
    "edit": ["edit", "--impair", "loss=5%"],
}


class World:
    """The programs and a scratch folder of the cases."""

    def __init__(self, bin_dir, folder, rng):
        self.rocedrill = os.path.join(bin_dir, "rocedrill")
        self.plugins = os.path.join(os.path.dirname(bin_dir), "lib", "wireshark", "plugins")
        self.fuzz_agent = os.path.join(bin_dir, "fuzz_agent")
        self.folder, self.rng, self.turn = folder, rng, 0
        self.written = {}  # captures of the first turn: number of packets
        with open(self.rocedrill, "rb") as file:
            sanitized = b"__asan_init" in file.read()
        # A sanitizer reserves terabytes of address space.
        self.limits = {"env": {**os.environ, "ASAN_OPTIONS": f"hard_rss_limit_mb={MEMORY >> 20}"}} if sanitized else {
            "memory": MEMORY}
        self.preload = os.environ.get("PRELOAD")
        recordings = os.environ.get("RECORDINGS")
        self.sources = sorted(glob.glob(os.path.join(TOP, "traces", "captures", "*.pcap")) + (
            glob.glob(os.path.join(recordings, "**", "*.pcap"), recursive=True) if recordings else []))
        self.drills = sorted(glob.glob(os.path.join(TOP, "tests", "conformance", "*", "*.drill")))

    def path(self, name):
        return os.path.join(self.folder, name)

    def shaped_capture(self, kinds):
        """Writes a capture with these shapes. Returns its path, and its number of packets. The captures of the first turn
        are written once for all commands."""
        size = self.rng.randrange(FEW, PACKETS) if self.turn else FEW
        path = self.path("shape.pcap" if self.turn else f"shapes-{kinds[0]}-{len(kinds)}.pcap")
        if path not in self.written:
            cnt = shapes.write(path, itertools.chain.from_iterable(shapes.SHAPES[kind](size) for kind in kinds))
            if not self.turn:
                self.written[path] = cnt
            return path, cnt
        return path, self.written[path]

    def run(self, command):
        """Runs a command. Returns a description of its error, or None."""
        done = bounded.run(command, 20 * CPU, cpu=CPU, **self.limits)
        if done.status in (0, 1, 2) and not any(word in done.out for word in BROKEN):
            return None
        return str(done)


def judge(world, name, capture):
    """Runs one command on a capture. Returns a description of its error, or None."""
    out = world.path("out.d")
    shutil.rmtree(out, ignore_errors=True)
    os.mkdir(out)
    words = [word.format(out=os.path.join(out, "out"), folder=os.path.join(out, "f"), events=os.path.join(out, "e"),
                         **{"in": capture}) for word in COMMANDS[name]]
    problem = world.run([world.rocedrill, *words, capture] + ([os.path.join(out, "edited")] if name == "edit" else []))
    return problem and f"{name}: {problem}"


def shaped(world, function, together=False):
    """Tests the shapes, which are kinds of hostile captures (shapes.py). The first turn tests all shapes with few packets
    each; with `together`, in one capture. Each later turn tests one shape with a random number of packets. `function`
    tests one capture, and returns a description of its error or None. Returns the number of packets, and the error."""
    names = list(shapes.SHAPES)
    cnt, problem = 0, None
    for kinds in [[names[(world.turn - 1) % len(names)]]] if world.turn else [names] if together else [[one] for one in names]:
        capture, packets = world.shaped_capture(kinds)
        cnt += packets
        problem = function(capture)
        if problem:
            return cnt, f"shape {', '.join(kinds)}: {problem}"
    return cnt, None


def sealed(frame):
    """Returns the frame with a correct ICRC if it is RoCEv2 over IPv4; otherwise returns the frame unchanged."""
    if len(frame) < PREFIX + 16 or frame[12:14] != b"\x08\x00" or frame[36:38] != b"\x12\xb7":
        return frame
    masked = bytearray(b"\xff" * 8 + frame[14:-4])
    for at in (8 + 1, 8 + 8, 8 + 10, 8 + 11, 28 + 6, 28 + 7, 36 + 4):
        masked[at] = 0xFF
    return frame[:-4] + struct.pack("<I", zlib.crc32(masked))


def spoilt_frames(rng, frames):
    """Returns the frames after random damage: bytes changed, frames replaced, repeated or truncated."""
    frames = list(frames)
    for _ in range(rng.randrange(1, 2 + len(frames) // 4) if frames else 0):
        at = rng.randrange(len(frames))
        frame = bytearray(frames[at])
        kind = rng.randrange(6)
        if kind == 0:
            frames[at] = frames[rng.randrange(len(frames))]
        elif kind == 1:
            frames.insert(at, frames[rng.randrange(len(frames))])
        elif kind == 2:
            del frame[rng.randrange(len(frame) + 1):]
            frames[at] = bytes(frame)
        elif len(frame) > PREFIX:
            frame[rng.randrange(14, min(len(frame), PREFIX + 48))] = rng.randrange(256)
            frames[at] = sealed(bytes(frame)) if rng.randrange(2) else bytes(frame)
    return frames


def spoilt_capture(world):
    """Writes a recorded capture with damaged frames; in every fourth turn, the capture file is also damaged."""
    source = world.rng.choice(world.sources)
    capture = world.path("spoilt.pcap")
    frames = frames_of(source)
    first = world.rng.randrange(max(1, len(frames) - FRAMES))
    cnt = shapes.write(capture, spoilt_frames(world.rng, frames[first:first + FRAMES]), 50)
    if world.turn % 4 == 0:
        with open(capture, "r+b") as file:
            data = bytearray(file.read())
            for _ in range(8):
                data[world.rng.randrange(len(data))] = world.rng.randrange(256)
            file.seek(0)
            file.write(data[:world.rng.randrange(len(data)) if world.turn % 8 else len(data)])
            file.truncate()
    return cnt, source, capture


def spoilt(world, name):
    cnt, source, capture = spoilt_capture(world)
    problem = judge(world, name, capture)
    return cnt, problem and f"spoilt {os.path.basename(source)}: {problem}"


def spoilt_text(rng, text):
    """Returns the text with words and lines lost, repeated, exchanged or changed."""
    lines = text.splitlines(keepends=True)
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(lines))
        words = re.split(r"(\W)", lines[at])
        word = rng.randrange(len(words))
        kind = rng.randrange(6)
        if kind == 0:
            lines[at] = rng.choice(lines)
        elif kind == 1:
            lines.insert(at, rng.choice(lines))
        elif kind == 2:
            words[word] = rng.choice(re.split(r"(\W)", rng.choice(lines)))
        elif kind == 3:
            words[word] = rng.choice(("0", "-1", "4294967296", "18446744073709551615", "", "(", '"', "\0", "x" * 5000))
        elif kind == 4:
            words[word] *= rng.randrange(2, 200)
        else:
            del words[word]
        if kind > 1:
            lines[at] = "".join(words)
    return "".join(lines)


def spoilt_drill(world):
    source, script = world.rng.choice(world.drills), world.path("spoilt.drill")
    with open(source, encoding="utf-8") as file, open(script, "w", encoding="utf-8") as out:
        out.write(spoilt_text(world.rng, file.read()))
    problem = world.run([world.rocedrill, "drill", script])
    return 1, problem and f"spoilt {os.path.basename(source)}: {problem}"


def spoilt_reports(world):
    """Damages one of the reports of two shards, and lets `rocedrill merge` read both."""
    kind = world.rng.choice(("check", "replay", "drill"))
    source = world.rng.sample(world.drills if kind == "drill" else world.sources, 3)
    parts = [world.path(f"part-{part}.json") for part in (1, 2)]
    for number, part in enumerate(parts):
        world.run([world.rocedrill, kind, "-q", "--shard", f"{number + 1}/2", "--json", part, *source])
    with open(parts[0], encoding="utf-8") as file:
        text = spoilt_text(world.rng, file.read())
    with open(parts[0], "w", encoding="utf-8") as out:
        out.write(text)
    problem = world.run([world.rocedrill, "merge", "--json", world.path("all.json"), "--junit", world.path("all.xml"),
                         *([] if kind == "check" else ["--html", world.path("all.html")]), *parts])
    return 1, problem and f"spoilt report of {kind}, {source}: {problem}"


def spoilt_requests(world):
    name, requests = world.rng.choice(list(texts.AGENT)), world.path("requests")
    with open(requests, "w", encoding="utf-8") as out:
        out.write("\n" + spoilt_text(world.rng, texts.AGENT[name](texts.AGENT_ROOM)[1:]))
    problem = world.run([world.fuzz_agent, "-runs=0", requests])
    return 1, problem and f"spoilt {name}: {problem}"


def in_tshark(world, capture, dissects=True):
    """Reads a capture with the plugin. Returns a description of its error, or None. `dissects`: the plugin must find RoCE."""
    with Tshark(world.plugins, world.preload) as shark:
        done = bounded.run(shark.command(["-2", "-V", "-O", "roce", "-z", "roce,conn", "-z", "roce,oper", "-z", "roce,rules", "-r",
                                          shark.file(capture)]), 20 * CPU, cpu=2 * CPU,
                           memory=0 if world.preload else 2 * MEMORY)
    if dissects and "RDMA over Converged" not in done.out:
        return f"the plugin did not dissect: {done}"
    # If the capture file ends inside a frame, tshark shows all complete frames and ends with status 2.
    if done.status not in (0, 2) or any(word in done.out for word in (*BROKEN, "Dissector bug, protocol RoCE")):
        return str(done)
    return None


def spoilt_in_tshark(world):
    cnt, source, capture = spoilt_capture(world)
    problem = in_tshark(world, capture, dissects=False)
    return cnt, problem and f"spoilt {os.path.basename(source)}: {problem}"


def cases(bin_dir, folder, seed):
    """Returns {name: function of the turn, which returns the number of packets and the problem or None}."""
    world = World(bin_dir, folder, random.Random(seed))

    def case(function, *args):
        def play(turn):
            world.turn = turn
            return function(world, *args)
        return play
    found = {}
    for name in COMMANDS:
        found[f"hostile shapes, {name}"] = case(shaped, functools.partial(judge, world, name), name not in SINGLY)
        found[f"spoilt captures, {name}"] = case(spoilt, name)
    found["spoilt drills"] = case(spoilt_drill)
    found["spoilt reports, merge"] = case(spoilt_reports)
    if os.path.exists(world.fuzz_agent):
        found["spoilt requests, agent"] = case(spoilt_requests)
    if os.path.isdir(world.plugins):
        found["hostile shapes, plugin"] = case(shaped, functools.partial(in_tshark, world), True)
        found["spoilt captures, plugin"] = case(spoilt_in_tshark)
    return found
