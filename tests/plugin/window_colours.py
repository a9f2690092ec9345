#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the colours of the packet list and of the minimap in Wireshark's window, after plugin/install.

    window_colours.py --plugins DIR --install DIR --shots DIR CAPTURES

DIR of --install is the folder plugin/. Lost and retransmitted packets, fatal NAKs and CM REJs have the colours of their
rules in the profile RoCE. In the default profile, they have these colours only after plugin/install --colours.
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys

from tshark import NOBODY, Tshark
from window import LIST_ONLY, SIZE, TIMEOUT, TRIES, Screen, Session, wait_for

LOSS, NAK, FAILED = "loss, reordering or duplicate", "sequence NAK or RNR NAK", "connection failed or rejected"
# The rules and the number of rows of each capture, from the second row, because the first one is selected.
ROWS = {
    "rc-loss-both": [("SEND", 2), (LOSS, 1), (NAK, 1), ("SEND", 9), (LOSS, 1), ("SEND", 16), ("retransmission", 7)],
    "rc-bad-rkey-write": [("acknowledgement", 1), ("WRITE", 3), (FAILED, 1)],
    "cm-reject": [(FAILED, 1)],
}
LIST = "1200x648+24+112"    # place of the rows in a window of SIZE
MINIMAP = "30x660+1233+92"  # position of the minimap, which Wireshark shows if the packet list does not fit into the window


def rule_colours(profile):
    """Returns the background and foreground colour of each rule for RoCE packets."""
    with open(os.path.join(profile, "colorfilters"), encoding="utf-8") as text:
        rules = re.findall(r"^@RDMA: (.*?)@.*@\[([\d,]+)\]\[([\d,]+)\]$", text.read(), re.M)
    return {name: [bytes(int(part) >> 8 for part in colour.split(",")) for colour in colours] for name, *colours in rules}


def line_colours(path, place):
    """Returns the colours of each line of pixels, as counters."""
    data = subprocess.run(["convert", path, "-crop", place, "+repage", "-depth", "8", "rgb:-"], stdout=subprocess.PIPE, check=True).stdout
    width = 3 * int(place.partition("x")[0])
    return [collections.Counter(data[at + x:at + x + 3] for x in range(0, width, 3)) for at in range(0, len(data), width)]


def rows_shown(path, rules):
    """Returns the rules of the rows in a screenshot, each with its number of consecutive rows."""
    runs, before = [], None
    for line in line_colours(path, LIST):
        background = line.most_common(1)[0][0]
        if background != before:
            runs.append([background, 0, collections.Counter()])
        runs[-1][1] += 1
        runs[-1][2] += line
        before = background
    # Rules with the same background differ by the colour of the text.
    found = [(max(names, key=lambda name: pixels[rules[name][1]]), lines) for background, lines, pixels in runs
             if (names := [name for name in rules if rules[name][0] == background])]
    height = min((lines for _, lines in found), default=1)  # of one row
    return [(name, round(lines / height)) for name, lines in found]


def look(screen, shark, captures, rules, shots, wrong, case, profile, coloured):
    for name, rows in ROWS.items():
        path = os.path.join(shots, f"colours-{case}-{name}.png")
        with Session(screen, shark, captures[name], wrong, f"{case}-{name}", "-C", profile, *LIST_ONLY) as wireshark:
            screen.tool("xdotool", "mousemove", "1599", "999")  # the row below the pointer has another colour
            wireshark.look(name, wireshark.main, path, SIZE)
            want = rows if coloured else []

            def shown():
                screen.picture(wireshark.main, path, SIZE)
                return rows_shown(path, rules) == want
            if not wait_for(shown, TIMEOUT / TRIES):
                wrong.append(f"{case}: {name}: rows {rows_shown(path, rules)}, expected {want}")
            minimap = {line.most_common(1)[0][0] for line in line_colours(path, MINIMAP)}
            for rule in {LOSS, NAK, "retransmission"} if name == "rc-loss-both" else ():
                if (rules[rule][0] in minimap) != coloured:
                    wrong.append(f"{case}: {name}: colour of '{rule}' in the minimap: {not coloured}")


def main():
    args = argparse.ArgumentParser()
    for name in "--plugins", "--install", "--shots":
        args.add_argument(name, required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    wrong = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the child processes
    os.makedirs(args.shots, exist_ok=True)
    with Tshark(args.plugins) as shark:
        package = os.path.join(shark.work, "package")  # plugin/install finds the plugin here
        shutil.copytree(args.plugins, package)
        shutil.copytree(args.install, package, dirs_exist_ok=True)
        captures = {os.path.basename(path)[:-len(".pcap")]: shark.file(path) for path in args.captures}
        screen = Screen(shark)
        # Only the installed plugin is loaded.
        screen.user.append("WIRESHARK_PLUGIN_DIR=" + shark.dirs[False])
        rules = rule_colours(os.path.join(args.install, "profile", "RoCE"))

        def install(*options):
            done = subprocess.run([*screen.user, os.path.join(package, "install"), "--user", *options], capture_output=True, text=True)
            if done.returncode:
                wrong.append(f"plugin/install: {done.stderr}")
        try:
            install()
            look(screen, shark, captures, rules, args.shots, wrong, "profile", "RoCE", True)
            look(screen, shark, captures, rules, args.shots, wrong, "default", "Default", False)
            install("--colours")
            look(screen, shark, captures, rules, args.shots, wrong, "default-colours", "Default", True)
        finally:
            screen.stop()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
