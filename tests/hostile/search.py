# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Searches the inputs of one engine of cost.py that cost most. An input is a list of frames, or a text. The search begins
with all shapes of the engine, changes and joins the worst inputs so far, and keeps each result that costs more."""
import os
import re
import time

import captures

KEPT = 8  # number of inputs of each kind that the search keeps, to change them further


def changed_frames(rng, frames):
    """Returns the frames with a few frames changed, or with a part repeated, moved or reversed."""
    frames = captures.spoilt_frames(rng, [frame for frame in frames if not isinstance(frame, float)])
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


def joined(rng, one, other):
    """Returns the beginning of one input, joined at a random position with the rest of the other input."""
    at = rng.randrange(min(len(one), len(other)) + 1)
    return one[:at] + other[at:]


class Worst:
    """The inputs of one engine that cost most time (`found`) and most memory (`heavy`), as (ratio, name, input)."""

    def __init__(self, engine):
        self.engine, self.found, self.heavy = engine, [], []

    def costs_less(self, path, cnt):
        """Returns whether one run of an input suffices to show that it is none of the worst."""
        engine = self.engine
        return all(len(best) == KEPT and engine.ratio(path, cnt, count) <= best[-1][0]
                   for best, count in ((self.found, engine.once), (self.heavy, engine.last_memory)))

    def run(self, name, path, worth):
        """Measures one input. Keeps it if it is one of the worst."""
        engine, cnt = self.engine, self.engine.store(path, worth)
        if self.costs_less(path, cnt):
            return
        for best, count in ((self.found, engine.seconds), (self.heavy, engine.last_memory)):
            best.append((engine.ratio(path, cnt, count), name, worth))
            best.sort(key=lambda one: -one[0])
            del best[KEPT:]


def search(worst, args, rng, folder):
    """Runs all shapes, then changed inputs for a time. Returns the number of changed inputs."""
    path, engine, turns = os.path.join(folder, "turn"), worst.engine, 0
    size = engine.search_size(args.packets)
    for count in (engine.seconds, engine.memory):  # before worst.run(), because learn() overwrites the memory of the last run
        engine.learn(count, size)
    for name, worth in engine.inputs(size):
        if re.search(args.only or "", f"{engine.name}: {name}$"):
            worst.run(name, path, worth)
    begin = time.monotonic()
    while time.monotonic() - begin < args.seconds:
        _, name, worth = rng.choice(worst.found + worst.heavy)
        if not rng.randrange(4):
            worth = joined(rng, worth, rng.choice(worst.found + worst.heavy)[2])
        worth = engine.changed(rng, worth)
        if len(worth) > size // 2:  # for a shorter input, the start of the program would be most of the cost
            worst.run(name.split(" ")[0] + " changed", path, worth)
        turns += 1
    return turns
