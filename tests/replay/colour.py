#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests the colours of check, replay, drill and decode. colour.py ROCEDRILL COLOUR.C TRACES

Without its escape sequences a coloured text equals the plain text. Each row of the table of styles in
colour.c colours a word of these reports. Output to a terminal has colours, output to a pipe has none;
NO_COLOR and --color override this.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

ESCAPE = re.compile(r"\033\[[\d;]*m")
STYLE = re.compile(r'^    \{"([^"]+)", [A-Z_]+, ([A-Z]+)\}', re.M)
COLOUR = {"RED": "31;1", "GREEN": "32", "YELLOW": "33;1", "CYAN": "36", "BOLD": "1"}
LAST = "+0~+50ms  > Acknowledge           PSN +6  ACK  MSN 5"  # last line of the drill from which the test makes all others
DRILLS = {"pass": LAST, "fail": LAST.replace("MSN 5", "MSN 6"), "unusable": "no drill",
          "known": LAST.replace("MSN 5", "MSN 6") + "\n    or  > Acknowledge PSN +6 ACK MSN 5  known D2",
          "inconclusive": LAST.replace("MSN 5", "MSN 6") + "\n    or  > Acknowledge PSN +6 ACK MSN 5  inconclusive"}


def make_drills(model, folder):
    """Writes a drill for each verdict. Returns their paths."""
    with open(model, encoding="utf-8") as text:
        model = text.read()
    paths = []
    for name, line in DRILLS.items():
        paths.append(os.path.join(folder, f"999-{name}.drill"))
        with open(paths[-1], "w", encoding="utf-8") as out:
            out.write(model.replace(LAST, line))
    return paths


def run(program, words, **more):
    done = subprocess.run([program] + words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **more)
    return done.returncode, done.stdout.decode()


def on_terminal(program, words, env, columns=0):
    """Runs a command on a pseudo-terminal with this width (0: unknown). Returns its output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24 if columns else 0, columns, 0, 0))
    child = subprocess.Popen([program] + words, stdout=theirs, stderr=subprocess.DEVNULL, env=env)
    os.close(theirs)
    text = b""
    try:
        while part := os.read(ours, 65536):
            text += part
    except OSError:  # the program closed the terminal
        pass
    os.close(ours)
    child.wait()
    return text.decode().replace("\r\n", "\n")


def check_wrap(program, words, env):
    """Compares a report on a terminal of 80 columns with the plain report. Returns what is wrong."""
    wrong, plain = [], run(program, words)[1].splitlines()
    for more in ({"TERM": "xterm"}, {"TERM": "dumb"}):
        shown = ESCAPE.sub("", on_terminal(program, words, env | more, 80)).splitlines()
        for line in plain:
            got, indent = shown.pop(0), len(line) - len(line.lstrip(" "))
            whole = re.search("[│├]|Wireshark: |to repeat: ", line)
            wrong += [f"80 columns: too long: {got}"] if len(got) > 80 and not whole else []
            while got != line and shown and shown[0].startswith(" " * (indent + 2)):
                got += " " + shown.pop(0)[indent + 2:]
            wrong += [f"80 columns: {got!r} instead of {line!r}"] if got != line else []
    return wrong if any(len(line) > 160 for line in plain) else wrong + ["no long line to wrap"]


def main():
    program, source, traces = sys.argv[1:]
    captures = lambda *names: [os.path.join(traces, "captures", name + ".pcap") for name in names]
    wrong, coloured = [], ""
    with tempfile.TemporaryDirectory() as folder:
        drills = make_drills(os.path.join(traces, "../tests/conformance/rc-rsp/058-psn-of-read.drill"), folder)
        stuck = os.path.join(folder, "stuck.pcap")
        run(program, ["edit", "-q", "--impair", "drop@dir=response"] + captures("rc-retry-exhausted") + [stuck])
        commands = [
            ["check", stuck],
            ["check", "-v", "--quirks", "none"] + captures("rc-loss-atomic-write"),
            ["replay", "--ladder", "--quirks", "auto"] + captures("rc-recv-too-short"),
            ["check", "-v", "--quirks", "none"] + captures("rc-bad-rkey-write", "rc-loss-both", "rc-peer-in-error"),
            ["check"] + captures("rc-loss-request-last", "rc-retry-exhausted"),
            ["replay", "--ladder", "--quirks", "none"] + captures("rc-loss-read-responses", "rc-atomics"),
            ["decode"] + captures("cm-reject", "rc-rnr-then-success", "rc-bad-rkey-read", "rc-ecn"),
            ["drill"] + drills,
        ]
        for words in commands:
            status, plain = run(program, words[:1] + ["--color=never"] + words[1:])
            status_too, colours = run(program, words[:1] + ["--color", "always"] + words[1:])
            if "\033" in plain or (status, plain) != (status_too, ESCAPE.sub("", colours)):
                wrong.append(f"{words}: the coloured text differs")
            coloured += colours
    rows = STYLE.findall(open(source, encoding="utf-8").read())
    wrong += [f"{word}: nothing has this style" for word, colour in rows
              if f"\033[{COLOUR[colour]}m{word}\033[0m" not in coloured]
    words = ["check"] + captures("rc-bad-rkey-write")
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    for more, options, want in (({"TERM": "xterm"}, [], True), ({"TERM": "xterm", "NO_COLOR": "1"}, [], False),
                                ({"TERM": "xterm", "NO_COLOR": ""}, [], True), ({"TERM": "dumb"}, [], False),
                                ({}, [], False), ({"TERM": "xterm", "NO_COLOR": "1"}, ["--color=always"], True),
                                ({"TERM": "xterm"}, ["--color=never"], False),
                                ({"TERM": "xterm"}, ["--json", "-"], False)):
        if ("\033" in on_terminal(program, words + options, env | more)) != want:
            wrong.append(f"terminal with {more} {options}: {'no ' if want else ''}colours")
    if "\033" in run(program, words, env=env | {"TERM": "xterm"})[1]:
        wrong.append("pipe: colours")
    if run(program, words + ["--color=blue"])[0] != 2:
        wrong.append("--color=blue: no error")
    for words in ["check"] + captures("rc-retry-exhausted"), ["replay", "--ladder"] + captures("rc-recv-too-short"):
        wrong += check_wrap(program, words, env)
    print("\n".join(wrong + [f"colours: {len(rows)} styles, {len(wrong)} wrong"]))
    return 1 if wrong or len(rows) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
