#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the plugin in Wireshark's window, under a virtual X server, as an unprivileged user.

    window.py [--plugins DIR] [--profile DIR] [--shots DIR] [--readme DIR] [CAPTURE OTHER]

Opens the capture with our profile, and each dialog that the plugin provides, by option or by keyboard, and writes
a screenshot of each to --shots. There are no fixed delays: a window is open when it has its title, and drawn when
neither Wireshark nor the X server is busy. A case fails if its window does not open, if it is blank, or if Wireshark
exits or prints an error. Then special captures are opened: empty, without RoCE, one packet, truncated to 64 bytes,
InfiniBand link, RoCEv1. Last, state must not survive: after reload, redissection, or opening OTHER and the capture
again, the window must look like that of a new Wireshark.
--readme writes the two screenshots of README.md to DIR and tests nothing. Defaults are those of the preset "default".
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from packet_builder import aeth, bth, connect, eth, native, pcap, reth, roce, rocev1
from tshark import NOBODY, Tshark

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SIZE = "1280x800"
# Options that open a window at the start, and its title. The tables of the plugin are opened from the menu, and the table
# of connections also by its option (look_odd()). Each option needs a new Wireshark, which takes seconds to start.
OPTIONS = [("expert", "Expert Information")]
# Keys that open a window from the main window. Few menu entries have mnemonics; "Up" wraps to the last entry,
# which is the submenu RoCE. TABLES: the entries of this submenu, and the titles of their windows.
TABLES = [(name, "RoCE " + name) for name in ("Connections", "Congestion", "Opcodes", "Operations", "Memory Regions",
                                              "Retransmissions", "NAKs", "Rules")]
TABLES += [("Service Response Time", "Service Response Time")]
FLOW_GRAPH = ["alt+s"] + 12 * ["Up"] + ["Return"]
KEYS = [("io-graph", ["alt+s", "i"], "I/O Graphs"), ("preferences", ["ctrl+shift+p"], "Preferences"),
        ("conversations", ["alt+s", "c"], "Conversations"), ("endpoints", ["alt+s", "e"], "Endpoints"),
        ("decode-as", ["ctrl+shift+u"], "Decode As"), ("flow-graph", FLOW_GRAPH, "Flow"),
        ("export-objects", ["alt+f", "Up", "Up", "Up", "Right"] + 4 * ["Down"] + ["Return"],
         "RoCE object list")]
KEYS += [("roce-" + name.lower().replace(" ", "-"), ["alt+s", "Up", "Right"] + at * ["Down"] + ["Return"], title)
         for at, (name, title) in enumerate(TABLES)]
# Special captures; opened in the main window with the table of connections.
WRITE = [roce(bth(0x0A, 0x22, 100, ackreq=1) + reth(0x1000, 0x99, 256) + bytes(256)),
         roce(bth(0x11, 0x11, 100) + aeth(1), 1)]
ODD = {
    "empty": pcap([]),
    "no-roce": pcap([eth(0x0806) + bytes.fromhex("0001080006040001020000000001c0000201000000000000c0000202")]),
    "one-packet": pcap(WRITE[:1]),
    "cut": pcap(connect(4420) + WRITE, snaplen=64),
    "native": pcap([native(bth(0x04, 0x11, 7) + b"data")], 197),
    "rocev1": pcap([rocev1(bth(0x04, 0x11, 7) + b"data"), rocev1(bth(0x04, 0x11, 8) + b"more")]),
}
# Keys that must not change the display: reload the file, redissect the packets.
AGAIN = {"reload": ["ctrl+r"], "redissect": ["ctrl+shift+l"]}
# Harmless messages of Wireshark and Qt.
CHATTER = re.compile(r"nl80211 not found|propagateSizeHints|^\s*$|dbus|dconf|XDG_RUNTIME_DIR|Capture MESSAGE"
                     r"|QXcbConnection: XCB error: 3 \(BadWindow\)")  # Qt queries a window that was just closed
LIST_ONLY = ["-o", "gui.layout_content_2:NONE", "-o", "gui.layout_content_3:NONE"]
# Parts of a window of SIZE that are compared: the packet list, and the severity icon in the status bar.
SAME = ["1228x660+0+90", "12x12+12+783"]
TIMEOUT = 120
TRIES = 4   # attempts to open a window by keys
REST = 0.3  # idle time after which drawing is complete, s
REPORT_SIZE = "1150x420"
README_FRAME = "32"  # first retransmission in rc-loss-both.pcap
README_ROW = "513"   # y of our protocol's details in a window of SIZE
COLOURS = 24  # a window with fewer colours is blank


def ran(pid):
    """Returns the CPU time of a process; None if it is running."""
    ticks = 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat", encoding="utf-8") as stat:
                state, *fields = stat.read().rpartition(")")[2].split()
            if state in "RD":
                return None
            ticks += int(fields[10]) + int(fields[11])
    except OSError:  # a thread ended meanwhile
        return None
    return ticks


def wait_for(condition, wait):
    """Waits until a function returns a true value, at most `wait` seconds. Returns its last value."""
    end = time.monotonic() + wait
    while not (value := condition()) and time.monotonic() < end:
        time.sleep(0.1)
    return value


class Screen:
    """A separate X server with a window manager."""

    def __init__(self, shark):
        self.running = []
        read, write = os.pipe()
        self.start(["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
                   pass_fds=[write])
        os.close(write)
        with os.fdopen(read) as number:
            self.display = ":" + number.readline().strip()
        self.env = dict(os.environ, DISPLAY=self.display)
        run = os.path.join(shark.work, "run")
        os.mkdir(run, 0o700)
        if os.getuid() == 0:
            os.chown(run, 65534, 65534)
        self.user = (NOBODY if os.getuid() == 0 else []) + [
            "env", "HOME=" + shark.home, "XDG_CONFIG_HOME=" + shark.home, "XDG_RUNTIME_DIR=" + run,
            "XDG_CACHE_HOME=" + shark.home, "WIRESHARK_PLUGIN_DIR=" + shark.dirs[True],
            "LC_ALL=C.UTF-8", "TZ=UTC", "QT_QPA_PLATFORM=xcb", "DISPLAY=" + self.display]
        self.start(self.user + ["openbox"])

    def start(self, command, **more):
        more.setdefault("stderr", subprocess.DEVNULL)
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, **more)
        self.running.append(child)
        return child

    def stop(self):
        for child in reversed(self.running):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
                try:
                    child.wait(10)
                except subprocess.TimeoutExpired:
                    child.kill()
                    child.wait()

    def tool(self, *command):
        try:
            done = subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=20)
        except subprocess.TimeoutExpired:
            return ""
        return done.stdout.strip()

    def window(self, title, wait=TIMEOUT):
        """Waits for a window. Returns its id, or None."""
        found = wait_for(lambda: self.tool("xdotool", "search", "--onlyvisible", "--name", title).split(), wait)
        return found[-1] if found else None

    def rest(self):
        """Waits until the X server and all its clients are idle, so that the screen no longer changes."""
        end, since, before = time.monotonic() + TIMEOUT, time.monotonic(), None
        while time.monotonic() < min(end, since + REST):
            time.sleep(REST / 6)
            now = [ran(child.pid) for child in self.running if child.poll() is None]
            if now != before or None in now:
                since, before = time.monotonic(), now

    def picture(self, window, path, size=None):
        """Writes a screenshot of a window. Returns its number of colours."""
        if size:
            self.tool("xdotool", "windowsize", window, *size.split("x"))
        self.tool("xdotool", "windowactivate", window)
        self.rest()
        place = dict(re.findall(r"^ *(Absolute upper-left [XY]|Width|Height): +(-?\d+)",
                                self.tool("xwininfo", "-id", window), re.M))
        if len(place) < 4:
            return 0
        crop = "{}x{}+{}+{}".format(place["Width"], place["Height"],
                                    max(0, int(place["Absolute upper-left X"])),
                                    max(0, int(place["Absolute upper-left Y"])))
        self.tool("import", "-window", "root", "-crop", crop, "+repage", path)
        return int(self.tool("identify", "-format", "%k", path) or 0)

    @staticmethod
    def same(path, other):
        """Returns true if two screenshots of the main window show the same packet list and severity."""
        return all(subprocess.run(["compare", "-metric", "AE", "-extract", part, path, other, "null:"],
                                  capture_output=True).returncode == 0 for part in SAME)


def complaints(log):
    with open(log, encoding="utf-8", errors="replace") as text:
        return [line.strip() for line in text if not CHATTER.search(line)]


class Session:
    """Wireshark with an open capture, our profile and more options. Use as a context manager."""

    def __init__(self, screen, shark, capture, wrong, name, *more):
        self.screen, self.wrong, self.name = screen, wrong, name
        # The windows of some options have the file name in their title.
        self.title = os.path.basename(capture).replace(".", "[.]")
        self.log = os.path.join(shark.work, "log-" + name)
        with open(self.log, "w", encoding="utf-8") as err:
            self.viewer = screen.start(screen.user + ["wireshark", "-n", "-C", "RoCE", "-r", capture]
                                       + list(more), stderr=err)
        self.main = screen.window("^" + self.title + "$")

    def __enter__(self):
        return self

    def press(self, keys):
        self.screen.tool("xdotool", "key", *keys)

    def ask(self, keys, title):
        """Opens a window by keys, with several attempts, because keys may get lost. Returns its id."""
        for _ in range(TRIES):
            self.screen.tool("xdotool", "windowactivate", "--sync", self.main)
            self.screen.rest()
            self.press(keys)
            window = self.screen.window(title, TIMEOUT / TRIES)
            if window:
                return window
            self.press(3 * ["Escape"])
        return None

    def look(self, name, window, path, size=None):
        """Writes a screenshot of a window and checks it."""
        if not window:
            self.wrong.append(f"{name}: no window")
            return
        colours = self.screen.picture(window, path, size)
        if colours < COLOURS:
            self.wrong.append(f"{name}: the window is blank ({colours} colours)")
        if self.viewer.poll() is not None:
            self.wrong.append(f"{name}: Wireshark ended with {self.viewer.returncode}")

    def open(self, capture):
        """Opens another capture in the same window. Returns false if that fails."""
        title = "^" + os.path.basename(capture).replace(".", "[.]") + "$"
        for _ in range(TRIES):
            dialog = self.ask(["ctrl+o"], "Open Capture File")
            if not dialog:
                return False
            self.screen.tool("xdotool", "windowactivate", "--sync", dialog)
            self.screen.rest()
            self.screen.tool("xdotool", "type", capture)
            self.screen.rest()
            self.press(["Return"])
            main = self.screen.window(title, TIMEOUT / TRIES)
            if main:
                self.main = main
                return True
            self.press(3 * ["Escape"])
        return False

    def __exit__(self, *_):
        self.viewer.send_signal(signal.SIGTERM)
        try:
            self.viewer.wait(20)
        except subprocess.TimeoutExpired:
            self.viewer.kill()
            self.viewer.wait()
        self.wrong += [f"{self.name}: Wireshark prints: {line}" for line in complaints(self.log)]


def look_all(screen, shark, capture, shots, wrong):
    """Checks every window. Each window of an option needs a new Wireshark, else they overlap."""
    with Session(screen, shark, capture, wrong, "main") as wireshark:
        wireshark.look("main", wireshark.main, os.path.join(shots, "main.png"), SIZE)
        for name, keys, title in KEYS if wireshark.main else []:
            window = wireshark.ask(keys, title)
            wireshark.look(name, window, os.path.join(shots, name + ".png"),
                           REPORT_SIZE if name.startswith("roce-") else None)
            if window:
                screen.tool("xdotool", "windowactivate", "--sync", window)
                wireshark.press(["Escape"])
    for option, title in OPTIONS:
        name = option.replace(",", "-")
        with Session(screen, shark, capture, wrong, name, "-z", option) as wireshark:
            window = screen.window(title + ".*" + wireshark.title)
            wireshark.look(name, window, os.path.join(shots, name + ".png"), REPORT_SIZE)


def look_odd(screen, shark, shots, wrong):
    for name, data in ODD.items():
        capture = shark.file(name + ".pcap", data)
        with Session(screen, shark, capture, wrong, "odd-" + name, "-z", "roce,conn") as wireshark:
            wireshark.look("odd-" + name, wireshark.main, os.path.join(shots, f"odd-{name}.png"), SIZE)
            if not screen.window("RoCE Connections.*" + wireshark.title):
                wrong.append(f"odd-{name}: no window of the report")


def differs(screen, window, path, golden):
    """Returns true if the window does not become equal to the screenshot `golden` in time."""
    def equal():
        screen.picture(window, path, SIZE)
        return screen.same(path, golden)
    return not wait_for(equal, TIMEOUT / TRIES)


def look_again(screen, shark, captures, shots, wrong):
    """Opens each capture in a new window, then both in one window, and compares."""
    shot = [os.path.join(shots, f"new-{number}.png") for number in range(2)]
    for number in (1, 0):
        with Session(screen, shark, captures[number], wrong, f"new-{number}", *LIST_ONLY) as wireshark:
            screen.tool("xdotool", "mousemove", "1599", "999")  # the row below the pointer has another colour
            wireshark.look(f"new-{number}", wireshark.main, shot[number], SIZE)
            # A second screenshot shows whether the first one was complete.
            if differs(screen, wireshark.main, shot[number] + ".2.png", shot[number]):
                wrong.append(f"new-{number}: two screenshots of the same window differ")
            if number or not wireshark.main:
                continue
            for name, keys in AGAIN.items():
                wireshark.press(keys)
                if differs(screen, wireshark.main, os.path.join(shots, name + ".png"), shot[0]):
                    wrong.append(f"{name}: other packets than before")
            for other in (1, 0):
                path = os.path.join(shots, f"opened-{other}.png")
                if not wireshark.open(captures[other]) or differs(screen, wireshark.main, path, shot[other]):
                    wrong.append(f"opened-{other}: other packets than in a new Wireshark")
    if screen.same(*shot):
        wrong.append("both captures look the same")


def shoot_readme(screen, shark, capture, folder, wrong):
    """Writes the packet list with an open analysis subtree, and the flow graph."""
    paths = [os.path.join(folder, name + ".png") for name in ("main", "flow-graph")]
    os.makedirs(folder, exist_ok=True)
    with Session(screen, shark, capture, wrong, "main", "-g", README_FRAME, "-o",
                 "gui.layout_content_3:NONE") as wireshark:
        screen.picture(wireshark.main, paths[0], SIZE)
        screen.tool("xdotool", "mousemove", "--window", wireshark.main, "300", README_ROW, "click", "1")
        wireshark.press(["shift+Right", "Down", "Left"])
        screen.tool("xdotool", "mousemove", "0", "0")
        wireshark.look("main", wireshark.main, paths[0], SIZE)
        wireshark.look("flow-graph", wireshark.ask(FLOW_GRAPH, "Flow"), paths[1])
    for path in paths:
        subprocess.run(["convert", path, "-strip", "-colors", "64", "PNG8:" + path], check=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", default=os.path.join(TOP, "build/lib/wireshark/plugins"))
    args.add_argument("--profile", default=os.path.join(TOP, "plugin/profile/RoCE"))
    args.add_argument("--shots", default=os.path.join(TOP, "build/screenshots"))
    args.add_argument("--readme")
    args.add_argument("captures", nargs="*", default=[os.path.join(TOP, "traces/captures", name)
                                                      for name in ("rc-loss-both.pcap", "demo-conversation.pcap")])
    args = args.parse_args()
    if len(args.captures) != 2:
        sys.exit("window.py: two captures, or none")
    wrong = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the child processes
    os.makedirs(args.shots, exist_ok=True)
    with Tshark(args.plugins) as shark:
        profiles = os.path.join(shark.home, "wireshark", "profiles")
        shutil.copytree(args.profile, os.path.join(profiles, "RoCE"))
        subprocess.run(["chmod", "-R", "a+rwX", shark.home], check=True)
        captures = [shark.file(capture) for capture in args.captures]
        screen = Screen(shark)
        try:
            if args.readme:
                shoot_readme(screen, shark, captures[0], args.readme, wrong)
            else:
                look_all(screen, shark, captures[0], args.shots, wrong)
                look_odd(screen, shark, args.shots, wrong)
                look_again(screen, shark, captures, args.shots, wrong)
        finally:
            screen.stop()
    for line in wrong:
        print(line)
    count = 2 if args.readme else 1 + len(OPTIONS) + len(KEYS) + 2 * len(ODD) + len(AGAIN) + 4
    print(f"{count} windows, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
