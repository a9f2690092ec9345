#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rocedump in Wireshark's window: the list of interfaces has the programs that rnic-run runs, Capture → Start
shows their packets while they are captured, and Capture → Stop ends all processes of the capture without a dialog.

    window_rocedump.py --plugins DIR --profile DIR --shots DIR ROCEDUMP RNIC_RUN

The programs are ib_send_lat of perftest, on the loopback of a separate network namespace. Wireshark and rnic-run run
as nobody, with the capabilities that a capture needs, because Wireshark ignores WIRESHARK_EXTCAP_DIR for root. So
the test needs root; otherwise, or without perftest, its exit status is 77.
"""
import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

from tshark import NOBODY, Tshark
from window import LIST_ONLY, SIZE, TIMEOUT, TRIES, Screen, complaints, wait_for
from window_colours import rows_shown, rule_colours

CAPABLE = [*NOBODY, "--inh-caps=+net_raw,+net_admin", "--ambient-caps=+net_raw,+net_admin"]
SEND_LAT = ["ib_send_lat", "-F", "-e", "-n", "1000000", "--latency_gap", "20000"]  # 50 messages/s, for hours
SHOWN = {"SEND", "acknowledgement"}  # colouring rules of its packets


def start_programs(rnic_run, started):
    """Starts a server and its client, and appends both processes to `started`."""
    command = [*CAPABLE, rnic_run, "-i", "lo", "--", *SEND_LAT]
    started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
    if not wait_for(lambda: ":4853 " in open("/proc/net/tcp", encoding="ascii").read(), TIMEOUT):  # port 18515
        sys.exit("ib_send_lat: the server does not listen")
    started.append(subprocess.Popen([*command, "127.0.0.1"], stdout=subprocess.DEVNULL))


def interfaces(user, rocedump):
    """Returns the displayed names of rocedump's interfaces, in the order of Wireshark's list."""
    out = subprocess.run([*user, rocedump, "--extcap-interfaces"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^interface \{value=.*?\}\{display=(.*?)\}", out, re.M)


def capture_processes():
    """Returns the commands of the capture: rocedump, tcpdump and dumpcap in this network namespace."""
    here, found = os.readlink("/proc/self/ns/net"), []
    for folder in glob.glob("/proc/[0-9]*"):
        try:
            if os.readlink(folder + "/ns/net") == here:
                with open(folder + "/cmdline", encoding="utf-8", errors="replace") as text:
                    found.append(text.read().replace("\0", " "))
        except OSError:  # ended meanwhile
            pass
    return [command for command in found if re.match(r"\S*(bash \S*rocedump|tcpdump|dumpcap) ", command)]


def start_capture(screen, main, listed, name):
    """Selects an interface in the list and starts a capture of it. Returns the window of the capture. Tries several
    times, because keys may get lost."""
    for _ in range(TRIES):
        screen.tool("xdotool", "windowactivate", "--sync", main)
        screen.rest()
        for key in ["End"] + list(reversed(listed)).index(name) * ["Up"]:  # rocedump's interfaces are the last ones
            screen.tool("xdotool", "key", key)
            screen.rest()
        screen.tool("xdotool", "key", "alt+c", "s")
        capturing = screen.window("^Capturing from " + re.escape(name), TIMEOUT / TRIES)
        if capturing:
            return capturing
        screen.tool("xdotool", "key", "Escape", "Escape")
    return None


def capture(screen, shark, rocedump, profile, shots, wrong):
    user = [*CAPABLE, *screen.user[len(NOBODY):], "WIRESHARK_EXTCAP_DIR=" + os.path.dirname(rocedump), "TMPDIR=" + shark.home]
    wait_for(lambda: len(interfaces(user, rocedump)) == 3, TIMEOUT)
    listed = interfaces(user, rocedump)
    rnics = [name for name in listed if re.fullmatch(r"software RNIC .*: ib_send_lat \(\d+\)", name)]
    if len(rnics) != 2:
        wrong.append(f"interfaces {listed}")
        return
    log, picture = os.path.join(shark.work, "log"), os.path.join(shots, "rocedump.png")
    with open(log, "w", encoding="utf-8") as err:
        viewer = screen.start([*user, "wireshark", "-C", "RoCE", *LIST_ONLY], stderr=err)
    main = screen.window("^The Wireshark Network Analyzer$")
    screen.tool("xdotool", "windowsize", main, *SIZE.split("x"))
    capturing = start_capture(screen, main, listed, rnics[0])
    if not capturing:
        screen.tool("import", "-window", "root", picture)
        wrong.append(f"no capture from {rnics[0]}")
        return
    rules, shown = rule_colours(profile), set()

    def packets_shown():
        screen.tool("import", "-window", capturing, picture)
        shown.update(name for name, _ in rows_shown(picture, rules))
        return SHOWN <= shown
    if not wait_for(packets_shown, TIMEOUT):
        wrong.append(f"rows while Wireshark captures: {sorted(shown)}")
    # In the filter bar, Ctrl+E moves the cursor.
    for _ in range(TRIES):
        screen.tool("xdotool", "windowactivate", "--sync", capturing)
        screen.tool("xdotool", "key", "alt+c", "t")
        if wait_for(lambda: not capture_processes(), TIMEOUT / TRIES):
            break
    wrong += [f"Capture → Stop does not end {command}" for command in capture_processes()]
    # The title remains until the user closes a dialog with an error.
    if not screen.window("^\\*" + re.escape(rnics[0]), TIMEOUT / TRIES):
        screen.tool("import", "-window", "root", picture)
        wrong.append("the capture does not end, see rocedump.png")
    viewer.send_signal(signal.SIGTERM)
    viewer.wait(TIMEOUT)
    wrong += [f"Wireshark prints: {line}" for line in complaints(log)]


def main():
    args = argparse.ArgumentParser()
    for name in "--plugins", "--profile", "--shots":
        args.add_argument(name, required=True)
    args.add_argument("rocedump")
    args.add_argument("rnic_run")
    args = args.parse_args()
    wrong, started = [], []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # end the child processes
    os.makedirs(args.shots, exist_ok=True)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with Tshark(args.plugins) as shark:
        shutil.copytree(args.profile, os.path.join(shark.home, "wireshark", "profiles", "RoCE"))
        subprocess.run(["chmod", "-R", "a+rwX", shark.home], check=True)
        os.mkdir(os.path.join(shark.work, "extcap"))
        rocedump = shutil.copy(args.rocedump, os.path.join(shark.work, "extcap"))
        screen = Screen(shark)
        try:
            start_programs(os.path.abspath(args.rnic_run), started)
            capture(screen, shark, rocedump, args.profile, args.shots, wrong)
        finally:
            for process in started:
                process.kill()
                process.wait()
            screen.stop()
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    if os.environ.get("INSIDE") != "1":
        needed = ["unshare", "-n", *CAPABLE, sys.argv[-1], "--version"]
        if os.getuid() != 0 or not shutil.which("ib_send_lat") or subprocess.run(needed, stdout=subprocess.DEVNULL, check=False).returncode:
            print("no root, network namespace, perftest, or rnic-run for nobody")
            sys.exit(77)
        os.execvpe("unshare", ["unshare", "-n", sys.executable, "-B", *sys.argv], dict(os.environ, INSIDE="1"))
    sys.exit(main())
