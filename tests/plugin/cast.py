#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Makes the animation of README.md: ib_write_bw on rnic-run, the report of its packets, and the packets in Wireshark.

    cast.py BIN PLUGINS OUT.gif     BIN: folder of the built programs

Each command runs, and the pictures show its output. Wireshark runs under a virtual X server (window.py).
"""
import os
import shutil
import signal
import subprocess
import sys

from tshark import Tshark
from window import SIZE, TOP, Screen, Session

RUN = ("rnic-run -n -w packets.pcapng --impair loss=1% --seed 1 -- \\\n"
       "    sh -c 'ib_write_bw -n 200 >log & sleep 1; ib_write_bw -n 200 localhost'")
CHECK = "rocedrill check packets.pcapng"
SHOW = "wireshark -C RoCE packets.pcapng"
ROWS, COLUMNS = 33, 106
COLOURS = "40"
BYTES_MAX = 1 << 20


def run(command, folder, programs):
    """Returns the last lines of the output, without rows of dashes."""
    env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}", LC_ALL="C.UTF-8", NO_COLOR="1")
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return [line.rstrip() for line in done.stdout.splitlines() if line.strip("- ")]


def terminal(lines, path):
    """Draws the last lines of a terminal."""
    shown = [line if len(line) <= COLUMNS else line[:COLUMNS - 1] + "…" for line in lines][-ROWS:]
    subprocess.run(["convert", "-size", SIZE, "xc:#202428", "-font", "DejaVu-Sans-Mono", "-pointsize", "19", "-fill",
                    "#e0e0e0", "-annotate", "+24+40", "\n".join(shown).replace("\\", "\\\\").replace("%", "%%"), path],
                   check=True)


def main():
    programs, plugins, out = (os.path.abspath(path) for path in sys.argv[1:])
    wrong, frames = [], []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))

    def picture(hundredths):
        frames.append((hundredths, os.path.join(shark.work, f"frame-{len(frames)}.png")))
        return frames[-1][1]

    with Tshark(plugins) as shark:
        profiles = os.path.join(shark.home, "wireshark", "profiles")
        shutil.copytree(os.path.join(TOP, "plugin/profile/RoCE"), os.path.join(profiles, "RoCE"))
        subprocess.run(["chmod", "-R", "a+rwX", shark.home], check=True)
        lines = ["$ " + line if at == 0 else line for at, line in enumerate(RUN.splitlines())]
        terminal(lines, picture(200))
        lines += run(RUN, shark.work, programs)[-4:] + ["$ " + CHECK]
        terminal(lines, picture(250))
        lines += run(CHECK, shark.work, programs)[:18] + ["$ " + SHOW]
        terminal(lines, picture(500))
        capture = os.path.join(shark.work, "packets.pcapng")
        os.chmod(capture, 0o644)
        shown = next(line for line in lines if "roce.analysis.psn_gap" in line).partition("Wireshark: ")[2]
        first = shark.out(["-r", capture, "-Y", shown, "-T", "fields", "-e", "frame.number"])
        screen = Screen(shark)
        try:
            for name, more in (("all", []), ("filter", ["-Y", shown])):
                with Session(screen, shark, capture, wrong, name, "-g", first.split()[0], "-o",
                             "gui.layout_content_3:NONE", *more) as wireshark:
                    wireshark.look(name, wireshark.main, picture(350), SIZE)
        finally:
            screen.stop()
        if wrong:
            raise SystemExit("\n".join(wrong))
        command = ["convert", "-loop", "0"]
        for hundredths, path in frames:
            command += ["-delay", str(hundredths), path]
        subprocess.run(command + ["-resize", "75%", "+dither", "-colors", COLOURS, "-layers", "OptimizePlus", out],
                       check=True)
    if os.path.getsize(out) > BYTES_MAX:
        raise SystemExit(f"{out}: {os.path.getsize(out)} bytes")
    print(f"{out}: {len(frames)} pictures, {os.path.getsize(out)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
