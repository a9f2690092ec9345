#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""The plugin in Wireshark's window, under a virtual X server, as an unprivileged user.

    window.py --plugins DIR --profile DIR --shots DIR [--readme DIR] [CAPTURE]

Opens the capture with our profile and each dialog the plugin feeds, by option or by keyboard, and keeps
a picture of each in --shots. A case fails if its window does not come, is blank, or Wireshark ends or
complains. --readme: writes the pictures for README there, small.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from shark import NOBODY, Shark

SIZE = "1280x800"
# Options that open a window at the start, and its title.
OPTIONS = [("roce,conn", "RoCE Connections"), ("roce,oper", "RoCE Operations"),
           ("roce,retx", "RoCE Retransmissions"), ("roce,nak", "RoCE NAKs"),
           ("roce,mem", "RoCE Memory Regions"), ("roce,cong", "RoCE Congestion"),
           ("roce,rules", "RoCE Rules"),
           ("roce,srt", "Service Response Time"), ("expert", "Expert Information")]
# Keys that open one from the main window.
KEYS = [("io-graph", ["alt+s", "i"], "I/O Graphs"), ("preferences", ["ctrl+shift+p"], "Preferences"),
        ("conversations", ["alt+s", "c"], "Conversations"), ("endpoints", ["alt+s", "e"], "Endpoints")]
# What Wireshark says although nothing is wrong.
CHATTER = re.compile(r"nl80211 not found|propagateSizeHints|^\s*$|dbus|dconf|XDG_RUNTIME_DIR")
TIMEOUT = 40
COLOURS = 24  # a window with fewer is blank


class Screen:
    """An X server and a window manager of our own."""

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
        """Its number, or None. Windows come when they like."""
        end = time.monotonic() + wait
        while time.monotonic() < end:
            found = self.tool("xdotool", "search", "--onlyvisible", "--name", title).split()
            if found:
                return found[-1]
            time.sleep(0.3)
        return None

    def picture(self, window, path, size=None):
        if size:
            self.tool("xdotool", "windowsize", window, *size.split("x"))
        self.tool("xdotool", "windowactivate", window)
        colours = 0
        for _ in range(20):  # it is drawn when Wireshark finds the time
            time.sleep(0.5)
            place = dict(re.findall(r"^ *(Absolute upper-left [XY]|Width|Height): +(-?\d+)",
                                    self.tool("xwininfo", "-id", window), re.M))
            if len(place) < 4:
                continue
            crop = "{}x{}+{}+{}".format(place["Width"], place["Height"],
                                        max(0, int(place["Absolute upper-left X"])),
                                        max(0, int(place["Absolute upper-left Y"])))
            self.tool("import", "-window", "root", "-crop", crop, "+repage", path)
            colours = int(self.tool("identify", "-format", "%k", path) or 0)
            if colours >= COLOURS:
                break
        return colours


def complaints(log):
    with open(log, encoding="utf-8", errors="replace") as text:
        return [line.strip() for line in text if not CHATTER.search(line)]


def look(screen, viewer, name, window, path, size, wrong):
    """One window."""
    if not window:
        wrong.append(f"{name}: no window")
        return
    colours = screen.picture(window, path, size)
    if colours < COLOURS:
        wrong.append(f"{name}: the window is blank ({colours} colours)")
    if viewer.poll() is not None:
        wrong.append(f"{name}: Wireshark ended with {viewer.returncode}")


def session(screen, shark, capture, shots, wrong, option=None, title=None, keys=()):
    """Wireshark once, with the window of one option. Several at a time would open inside each other."""
    log = os.path.join(shark.work, "log")
    base = os.path.basename(capture)
    plain = base.replace(".", "[.]")
    command = screen.user + ["wireshark", "-n", "-C", "RoCE", "-r", capture]
    if option:
        command += ["-z", option]
    with open(log, "w", encoding="utf-8") as err:
        viewer = screen.start(command, stderr=err)
    main = screen.window("^" + plain + "$")
    if option:
        name = option.replace(",", "-")
        window = screen.window(title + ".*" + plain, 10)
        look(screen, viewer, name, window, os.path.join(shots, name + ".png"), "1150x420", wrong)
    elif not keys:
        look(screen, viewer, "main", main, os.path.join(shots, "main.png"), SIZE, wrong)
    for name, strokes, title in keys if main else []:
        screen.tool("xdotool", "windowactivate", main)
        time.sleep(1)
        for stroke in strokes:
            time.sleep(0.4)
            screen.tool("xdotool", "key", stroke)
        window = screen.window(title, 10)
        look(screen, viewer, name, window, os.path.join(shots, name + ".png"), None, wrong)
        if window:
            screen.tool("xdotool", "key", "Escape")
    viewer.send_signal(signal.SIGTERM)
    try:
        viewer.wait(20)
    except subprocess.TimeoutExpired:
        viewer.kill()
        viewer.wait()
    wrong += [f"{option or 'main'}: Wireshark says: {line}" for line in complaints(log)]


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--profile", required=True)
    args.add_argument("--shots", required=True)
    args.add_argument("--readme")
    args.add_argument("capture")
    args = args.parse_args()
    wrong = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # leave nothing running
    os.makedirs(args.shots, exist_ok=True)
    with Shark(args.plugins) as shark:
        profiles = os.path.join(shark.home, "wireshark", "profiles")
        shutil.copytree(args.profile, os.path.join(profiles, "RoCE"))
        subprocess.run(["chmod", "-R", "a+rwX", shark.home], check=True)
        capture = shark.file(args.capture)
        screen = Screen(shark)
        try:
            session(screen, shark, capture, args.shots, wrong)
            for key in KEYS:
                session(screen, shark, capture, args.shots, wrong, keys=[key])
            for option, title in OPTIONS:
                session(screen, shark, capture, args.shots, wrong, option, title)
        finally:
            screen.stop()
    for line in wrong:
        print(line)
    if args.readme:
        os.makedirs(args.readme, exist_ok=True)
        for name in ("main", "roce-conn"):
            subprocess.run(["convert", os.path.join(args.shots, name + ".png"), "-strip", "-colors", "64",
                            "PNG8:" + os.path.join(args.readme, name + ".png")], check=True)
    print(f"{1 + len(OPTIONS) + len(KEYS)} windows, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
