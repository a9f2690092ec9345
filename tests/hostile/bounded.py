# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs programs with limits of time and memory, and measures their CPU time and memory. Time in which this
process itself was stopped (SIGSTOP) does not count."""
import glob
import os
import resource
import select
import signal
import subprocess
import tempfile
import time

TICK = 0.02  # s
LONGEST_TICK = 0.5  # longest tick of the clock, s; a longer one means that this process was stopped or got no CPU


def starved(pids):
    """Returns how long each thread of these processes has waited for a CPU, as {path: s}."""
    found = {}
    for path in [path for pid in pids for path in glob.glob(f"/proc/{pid}/task/*/schedstat")]:
        try:
            with open(path, encoding="ascii") as file:
                found[path] = int(file.read().split()[1]) / 1e9
        except (OSError, IndexError):
            pass  # the thread ended, or this kernel does not measure
    return found


class Patience:
    """A time limit. left() sleeps one tick and returns whether time is left. On a busy machine the threads of the
    processes pids() wait for a CPU, often one after the other. So the sum of their waits extends the limit, at most to
    MOST times `seconds`."""

    MOST = 10

    def __init__(self, seconds, pids=None):
        self.seconds, self.before = seconds, time.monotonic()
        self.pids, self.spare = pids, seconds * (self.MOST - 1)
        self.starved, self.judged = starved(pids()) if pids else {}, self.before

    def left(self, sleep=time.sleep):
        """`sleep`: function that sleeps at most this time."""
        sleep(TICK)
        now = time.monotonic()
        self.seconds -= min(now - self.before, LONGEST_TICK)
        self.before = now
        if self.seconds <= 0 and self.pids:
            before, self.starved = self.starved, starved(self.pids())
            waited = sum(seconds - before.get(path, 0) for path, seconds in self.starved.items())
            more = max(0, min(waited, now - self.judged, self.spare))
            self.seconds, self.spare, self.judged = self.seconds + more, self.spare - more, now
        return self.seconds > 0


class Done:
    """An ended program: exit status (negative: the signal that ended it; None: killed after its time limit), output,
    CPU time in seconds, and largest resident memory in KiB."""

    def __init__(self, status, out, usage):
        self.status, self.out = status, out
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss
        self.stacks = ""  # of processes that had not ended

    def __str__(self):
        return f"status {self.status}, {self.cpu:.1f} s of CPU, {self.rss >> 10} MiB: {self.out[-800:]}{self.stacks}"


class Program:
    """A started program. It writes its output to a file, so that it never waits for a reader."""

    def __init__(self, command, memory=0, cpu=0, files=0, size=0, **how):
        def limit():
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            for what, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, cpu),
                                (resource.RLIMIT_NOFILE, files), (resource.RLIMIT_FSIZE, size)):
                if value:
                    resource.setrlimit(what, (value, value))
            if size:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.command = command
        self.file = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.file, stderr=subprocess.STDOUT,
                                        preexec_fn=limit, restore_signals=not size, **how)
        self.pid, self.done = self.process.pid, None

    def output(self):
        self.file.seek(0)
        return self.file.read()

    def poll(self):
        if not self.done:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.done = Done(self.process.returncode, self.output(), usage)
        return self.done

    def wait(self, seconds):
        """Waits until the program ends. Kills it after `seconds`; its status is then None. Returns the ended program."""
        if self.poll():
            return self.done
        patience, ended = Patience(seconds), os.pidfd_open(self.pid)
        while not self.poll() and patience.left(lambda tick: select.select([ended], [], [], tick)):
            pass
        os.close(ended)
        if not self.poll():
            self.kill()
            self.done.status = None
        return self.done

    def kill(self):
        if not self.poll():
            self.process.kill()
            while not self.poll():
                time.sleep(TICK)
        return self.done


def run(command, seconds, **limits):
    return Program(command, **limits).wait(seconds)
