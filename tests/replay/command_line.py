#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs rocedrill with commands that exist and commands that do not. command_line.py ROCEDRILL CAPTURE"""
import re
import subprocess
import sys

# Rows: arguments, exit status, and a regular expression for standard output and standard error together.
ROWS = [
    (["help"], 0, r"^usage: rocedrill COMMAND"),
    (["--help"], 0, r"^usage: rocedrill COMMAND"),
    (["help", "check"], 0, r"^usage: rocedrill check "),
    (["help", "chekc"], 2, r"^rocedrill: unknown command 'chekc'; did you mean 'check'\?$"),
    (["version"], 0, r"^rocedrill [0-9.]+.*\nCRC-32: \w+\nlibpcap "),
    (["--version"], 0, r"^rocedrill [0-9.]+"),
    (["relpay", "x"], 2, r"^rocedrill: unknown command 'relpay'; did you mean 'replay'\?$"),
    (["CAPTURE"], 2, r"^rocedrill: unknown command '(.*)'; did you mean: rocedrill check \1$"),
    (["frobnicate"], 2, r"^rocedrill: unknown command 'frobnicate' \(see rocedrill --help\)$"),
    (["a" * 300], 2, r"^rocedrill: unknown command 'a+' "),
    ([], 2, r"^rocedrill: no command given"),
    (["add", "--help"], 0, r"^rocedrill: command 'add' is now 'import'\nusage: rocedrill import"),
]


def main():
    program, capture = sys.argv[1:]
    wrong = 0
    for words, status, expected in ROWS:
        command = [capture if word == "CAPTURE" else word for word in words]
        done = subprocess.run([program] + command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = done.stderr + done.stdout
        if done.returncode != status or not re.search(expected, said):
            print(f"rocedrill {' '.join(command)}: exit status {done.returncode}, expected {status}: {said}")
            wrong += 1
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
