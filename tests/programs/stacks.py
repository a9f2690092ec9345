#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Prints the stacks of programs that hang: the state of their devices (rnic-info), and for each thread
its state, system call, kernel stack (as root) and, if gdb is installed, its user stack.

stacks.py PID...                     prints the stacks of these processes and of all their descendants
stacks.py --after S -- COMMAND...    runs the command. If it has not ended after S seconds, prints the
                                     stacks, kills all processes and exits with 124, as timeout(1) does.
                                     Otherwise exits with the status of the command."""
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
PATIENCE = 40  # time limit for all processes together, s, because the callers also have time limits


def read(path):
    """Returns the text of a file, or "" if it does not exist or is not readable."""
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
    """Returns the fields of /proc/PID/stat after the program name: state, parent, group, session, ..."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def family(*pids):
    """Returns these processes, those in their sessions, and all descendants, parents first."""
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


def leave(*_):
    """Ends this script at SIGTERM: SystemExit also ends the started programs. The kernel sends a second SIGTERM if rnic-run
    is killed, because each of its threads was a parent of this process. That one must not interrupt the end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit("ended")


def end(*pids):
    """Kills the processes. rnic-run and rocedrill get up to 5 s to clean up after the others have ended."""
    every = family(*pids)
    watchers = [pid for pid in every if read(f"/proc/{pid}/comm") in ("rnic-run", "rocedrill")]
    kill(pid for pid in every if pid not in watchers)
    limit = time.monotonic() + 5
    while time.monotonic() < limit and any(map(runs, watchers)):
        time.sleep(0.02)
    kill(watchers)


def ended(process):
    """Kills the process and its descendants. Returns its output."""
    end(process.pid)
    try:
        return process.communicate(timeout=10)[0] or ""
    except subprocess.TimeoutExpired as problem:  # a process that was not killed has the output open
        return (problem.output or b"").decode(errors="replace") + "\n(cut: its output is still open somewhere)"


def ask(command, seconds):
    """Returns the output of a program. Limits its time, and removes our RNIC from its environment."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LD_")}
    try:
        return subprocess.run(command, env=env, timeout=max(1, seconds), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"{problem}\n"


def rnic_info(pid):
    """Returns the path of rnic-info next to the libraries of our RNIC in a process, or None if it does not use them."""
    for path in sorted(set(re.findall(r" (/\S*/rnic/lib\S*)$", read(f"/proc/{pid}/maps"), re.MULTILINE))):
        while path != "/":
            path = os.path.dirname(path)
            if os.access(os.path.join(path, "bin", "rnic-info"), os.X_OK):
                return os.path.join(path, "bin", "rnic-info")
    return None


def device(pid, program):
    """Returns the output of rnic-info for all processes in the network namespace of `pid`."""
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
    """Yields the state of each thread from /proc."""
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
        delay = (read(f"{at}/schedstat").split() + ["0", "0"])[1]
        yield (f"   thread {number} {read(f'{at}/comm')}: state {fields[0]}, wchan {read(f'{at}/wchan') or '?'}, "
               f"syscall {read(f'{at}/syscall') or '?'}, CPU {int(fields[11]) / ticks:.2f} s + "
               f"{int(fields[12]) / ticks:.2f} s, waited {int(delay) / 1e9:.2f} s for a CPU, switches {switches or '?'}")
        for line in read(f"{at}/stack").splitlines():
            yield "      " + line


def show(*pids):
    """Returns the stacks of these processes and all descendants, which continue to run meanwhile."""
    limit = time.monotonic() + PATIENCE
    every = [pid for pid in family(*pids) if runs(pid)]
    ours = {pid: program for pid in every if (program := rnic_info(pid))}
    lines = [f"==== {len(every)} processes that are not done, {time.strftime('%H:%M:%S')}, load {read('/proc/loadavg')}"]
    for pid in every:
        lines += [f"== process {pid}, of {(stat(pid) + ['?', '?'])[1]}: {read(f'/proc/{pid}/cmdline')}",
                  f"   files: {files(pid)}"]
        lines += threads(pid)
    spaces = {link(f"/proc/{pid}/ns/net"): pid for pid in reversed(ours)}  # one process for each network namespace
    for pid in spaces.values():
        lines.append(device(pid, ours[pid]).rstrip("\n"))
    if not shutil.which("gdb"):
        lines.append("-- gdb is not installed")
        every = []
    for pid in sorted(every, key=lambda pid: pid not in ours):  # list processes on our RNIC first, because the time may not suffice for all processes
        left = limit - time.monotonic()
        if left <= 0:
            lines.append(f"-- no time is left for gdb at process {pid}")
            continue
        lines.append(f"-- gdb at process {pid} {read(f'/proc/{pid}/comm')}")
        lines += [line for line in ask(GDB + ["-p", str(pid)], min(left, 20)).splitlines()
                  if not GDB_NOISE.match(line)]
    return "\n".join(lines) + "\n====\n"


def watch(command, after, **how):
    """Runs the command. Returns its status and output; after a timeout, 124 and also the stacks."""
    process = subprocess.Popen(command, **how)
    try:
        try:
            out, _ = process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            text = f"not done after {after:g} s\n" + show(process.pid)
            return 124, ended(process) + text
        return process.returncode, out or ""
    finally:  # the wait may have been interrupted
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
    signal.signal(signal.SIGTERM, leave)
    status, text = watch(words, args.after)
    print(text, end="", flush=True)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())
