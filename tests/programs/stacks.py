#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""What programs that do not end are waiting for: what their devices say of themselves (rnic-info), and of
each thread its state, its system call, the kernel's stack (for root) and, where gdb is, its own.

stacks.py PID...                     tells it of these processes and of all that they started
stacks.py --after S -- COMMAND...    runs the command; if it is not done after S seconds, tells it and ends
                                     all of them. Exit status 124 then, as of timeout(1), else its own."""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

GDB = ["gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", "set width 0",
       "-ex", "set print elements 32", "-ex", "set print max-depth 2",
       "-ex", "thread apply all bt -full 40"]
GDB_NOISE = re.compile(r"\[(New LWP|Thread debugging|Inferior .* detached)|Using host libthread_db|"
                       r"warning: (Could not load|Unable to open|Missing auto-load)|\d+\t|\s*$|"
                       r"No locals|No symbol table info|\s+\w+ = <optimized out>$")
PATIENCE = 40  # seconds for all together: whoever asks has a time limit of its own


def read(path):
    """"" for what is gone by now or not for us."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().replace("\0", " ").strip()
    except OSError:
        return ""


def link(path):
    try:
        return os.readlink(path)
    except OSError:
        return ""


def stat(pid):
    """State, parent, group, session, ...: what follows the name, which may have blanks."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def family(*pids):
    """These, what is in their sessions, and what any of them started, parents first."""
    found = list(pids)
    left = {int(name): stat(name) for name in os.listdir("/proc") if name.isdigit()}
    found = [pid for pid in found if left.pop(pid, None)]
    while True:
        more = sorted(pid for pid, fields in left.items() if len(fields) > 3 and (
            int(fields[1]) in found or int(fields[3]) in pids))
        if not more:
            return found
        found += more
        for pid in more:
            del left[pid]


def runs(pid):
    return stat(pid)[:1] not in ([], ["Z"])


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def end(*pids):
    """Who only watches the others, and tidies up when they are gone, gets a moment to do so."""
    every = family(*pids)
    watchers = [pid for pid in every if read(f"/proc/{pid}/comm") in ("rnic-run", "rocedrill")]
    kill(pid for pid in every if pid not in watchers)
    limit = time.monotonic() + 5
    while time.monotonic() < limit and any(map(runs, watchers)):
        time.sleep(0.02)
    kill(watchers)


def ended(process):
    """Ends it and what it started; what it has printed."""
    end(process.pid)
    try:
        return process.communicate(timeout=10)[0] or ""
    except subprocess.TimeoutExpired as problem:  # its output is open in a process that got away
        return (problem.output or b"").decode(errors="replace") + "\n(cut: its output is still open somewhere)"


def ask(command, seconds):
    """What a program prints, which shall neither wait for ever nor run on our RNIC."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    try:
        return subprocess.run(command, env=env, timeout=max(1, seconds), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{problem}\n"


def rnic_info(pid):
    """The program that belongs to the libraries of a process on our RNIC; None: it is not."""
    for path in sorted(set(re.findall(r" (/\S*/rnic/lib\S*)$", read(f"/proc/{pid}/maps"), re.MULTILINE))):
        while path != "/":
            path = os.path.dirname(path)
            if os.access(os.path.join(path, "bin", "rnic-info"), os.X_OK):
                return os.path.join(path, "bin", "rnic-info")
    return None


def device(pid, program):
    """What all processes in its network say."""
    enter = []
    if link(f"/proc/{pid}/ns/net") != link("/proc/self/ns/net"):
        enter = ["nsenter", "-t", str(pid), "-n"]
        if link(f"/proc/{pid}/ns/user") != link("/proc/self/ns/user"):
            enter += ["-U", "--preserve-credentials"]
    return "".join(f"-- {program} {what}\n" + ask(enter + [program, what], 5)
                   for what in ("link", "resource", "statistic"))


def files(pid):
    try:
        numbers = sorted(map(int, os.listdir(f"/proc/{pid}/fd")))
    except OSError:
        return "?"
    return ", ".join(f"{number} {link(f'/proc/{pid}/fd/{number}')}" for number in numbers)


def threads(pid):
    """What the kernel says of each."""
    try:
        numbers = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError:
        return
    for number in numbers:
        at = f"/proc/{pid}/task/{number}"
        fields = stat(f"{pid}/task/{number}")
        if len(fields) < 13:
            continue
        ticks = os.sysconf("SC_CLK_TCK")
        switches = " ".join(re.findall(r"ctxt_switches:\s*(\d+)", read(f"{at}/status")))
        yield (f"   thread {number} {read(f'{at}/comm')}: state {fields[0]}, wchan {read(f'{at}/wchan') or '?'}, "
               f"syscall {read(f'{at}/syscall') or '?'}, CPU {int(fields[11]) / ticks:.2f} s + "
               f"{int(fields[12]) / ticks:.2f} s, switches {switches or '?'}")
        for line in read(f"{at}/stack").splitlines():
            yield "      " + line


def show(*pids):
    """The text about these processes and all that they started. They run on while it is made."""
    limit = time.monotonic() + PATIENCE
    every = [pid for pid in family(*pids) if runs(pid)]
    ours = {pid: program for pid in every if (program := rnic_info(pid))}
    lines = [f"==== {len(every)} processes that are not done, {time.strftime('%H:%M:%S')}, load {read('/proc/loadavg')}"]
    for pid in every:
        lines += [f"== process {pid}, of {(stat(pid) + ['?', '?'])[1]}: {read(f'/proc/{pid}/cmdline')}",
                  f"   files: {files(pid)}"]
        lines += threads(pid)
    spaces = {link(f"/proc/{pid}/ns/net"): pid for pid in reversed(ours)}  # one of each network
    for pid in spaces.values():
        lines.append(device(pid, ours[pid]).rstrip("\n"))
    if not shutil.which("gdb"):
        lines.append("-- gdb is not here")
        every = []
    for pid in sorted(every, key=lambda pid: pid not in ours):  # if time ends, ours were seen
        left = limit - time.monotonic()
        if left <= 0:
            lines.append(f"-- no time is left for gdb at process {pid}")
            continue
        lines.append(f"-- gdb at process {pid} {read(f'/proc/{pid}/comm')}")
        lines += [line for line in ask(GDB + ["-p", str(pid)], min(left, 20)).splitlines()
                  if not GDB_NOISE.match(line)]
    return "\n".join(lines) + "\n====\n"


def watch(command, after, **how):
    """Runs it. Its status and what it printed, with the text if it had to be ended."""
    process = subprocess.Popen(command, **how)
    try:
        try:
            out, _ = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            text = f"not done after {after:g} s\n" + show(process.pid)
            return 124, ended(process) + text
        return process.returncode, out or ""
    finally:  # interrupted, perhaps
        if process.poll() is None:
            end(process.pid)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--after", type=float)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    words = args.words[1:] if args.words[:1] == ["--"] else args.words
    if args.after is None:
        print(show(*map(int, words)), end="")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # and what it runs with it
    status, text = watch(words, args.after)
    print(text, end="", flush=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
