# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Cases of tests/soak: faults of programs, of the machine and of the link. Each fault occurs at a random moment and at a
random side of a running pair, on the network or, except for faults of the link, in shared memory. No program may hang
longer than its timeout, or end by a signal that the test did not send. A program whose work did not complete must end
with a status that is not 0, as on hardware (Pair.may_be_fine). No process, name or scratch file may remain, each
recording must be readable, and the next pair must work.

A fault counts only if it hit: the client's QP was connected before, and both programs still ran when the fault had
begun."""
import collections
import glob
import os
import random
import re
import resource
import signal
import subprocess
import time

import bounded
import lab as labs

HANG = 60  # time limit of a server and its client that may finish their work after the fault, s
# time after which a program whose peer was killed gives up, s: the retry timeouts of its QP or, if file_transfer has no
# request outstanding, its own limit
RETRIES = {"ib_write_bw": 6, "rping": 6, "transfer": 12}
BRIEF = 0.4  # time that is shorter than the retries of all programs, s
ENDING = 4  # time limit for the end of a program, its rnic-run and its recording, s
WORK = 2  # time for which a pair works if no fault delays it, s
LONGEST = WORK / 2  # longest wait before a fault, s
LONGEST_TO_KILL = {"ib_write_bw": 0.25, "rping": 0.25, "transfer": 0.1}  # longest wait before a kill, s
EARLY = 0.1  # part of the kills that do not wait until the programs have an RDMA connection
ENDLESS = 1000  # amount of work that a server and its client cannot finish before one of them is killed
# largest number of frames that a program sends before it writes them to its recording: TX_FRAMES, and LIVE_TX_FRAMES for
# which its port had no room before
TURN = 256 + 64
CUT = "truncated dump file"  # message of `rocedrill check` about an incomplete packet
FAKETIME = "$(dpkg -L libfaketime | grep MT.so)"  # preloaded library that changes the time of day for a program
PROGRAMS = {"ib_write_bw": "ib_write_bw", "rping": "rping", "transfer": "file_transfer"}
DISK = 64 << 20  # size of the file system for recordings and scratch files, bytes
SECOND = "10.77.0.80/24"  # an address that an interface gets in addition
PAGES = 4  # greatest number of free pages of a full file system
lab = current = None  # `current`: name of the fault that is played
outcomes = collections.defaultdict(collections.Counter)  # (fault, kind of pair): statuses of (server, client)
hits = collections.defaultdict(collections.Counter)  # (fault, kind of pair): number of "faults", and of those that hit ("hits")


def side_of(rng):
    return rng.choice((labs.SERVER, labs.CLIENT))


def other(side):
    return 1 - side


# message of glibc if a thread of a program without free descriptors calls pthread_exit(); the program then ends
NO_LIBGCC = "libgcc_s.so.1 must be installed for pthread_exit to work"


def crashed(done):
    """Returns whether a signal ended the program, which rnic-run reports as 128 + N."""
    if done.status is None or NO_LIBGCC in done.out:
        return False
    return done.status < 0 or 128 < done.status <= 128 + signal.SIGRTMAX


def recording(path, may_be_cut=False):
    """Returns why a recording cannot be read, or None. It may be empty if the program had sent nothing. `may_be_cut`: the
    last packet may be incomplete, so that `rocedrill check` judges those before it and reports it."""
    if not os.path.exists(path):
        return f"{path} does not exist"
    done = bounded.run([os.path.join(lab.bin, "rocedrill"), "check", "-q", "--json", "-", path], 20 * HANG, cpu=HANG)
    if may_be_cut and done.status == 2 and CUT in done.out:
        return None
    if done.status not in (0, 1) and "no RoCE packet" not in done.out:
        return f"{path}: {done}"
    return None


def unrecorded(side, record, peers, limit):
    """Compares the recording of a program with that of its peer on the other host. Returns an error if more than `limit` of
    the frames that the peer received are not recorded, otherwise None."""
    mac = bytes.fromhex(labs.wire.MACS[side].replace(":", ""))
    seen = collections.Counter(frame for frame in labs.frames_of(peers) if frame[6:12] == mac)
    lost = (seen - collections.Counter(labs.frames_of(record))).total()
    return f"{lost} of {seen.total()} frames that the peer received are not in {record}" if lost > limit else None


def program_of(pair, side):
    """Returns the process of the program that runs on the device: the last descendant that has the name."""
    found = [pid for pid in pair.pids(side) if labs.stacks.read(f"/proc/{pid}/comm") == PROGRAMS[pair.kind]]
    return found[-1] if found else None


def victim_of(pair, side):
    """As program_of, but waits until the program has started or its side has ended."""
    patience = bounded.Patience(HANG)
    while not program_of(pair, side) and not pair.programs[side].poll() and patience.left():
        pass
    return program_of(pair, side)


def settle(seconds):
    patience = bounded.Patience(seconds)
    while patience.left():
        pass


def both_run(pair):
    return all(labs.stacks.runs(pid) if pid else False for pid in (program_of(pair, side) for side in (0, 1)))


def count_hit(pair, hit):
    """Counts a fault. Returns 1 if it hit, otherwise 0."""
    hits[current, pair.kind]["faults"] += 1
    hits[current, pair.kind]["hits"] += hit
    return int(hit)


def with_fault(pair, begin=None, end=None, may_wait=(), finishes=False, victim=None, limit=HANG,
               accept=None):
    """Runs a pair that a fault disturbs at a random moment: begin(pair), then end(pair). Without `begin`, the fault is there
    from the start. `may_wait`: sides that may still wait when the other side has ended. `finishes`: both must finish their
    work, unless the fault took longer than BRIEF on a busy machine. `victim`: the side that is killed. `limit`: time in which
    the others must end, s. accept(done) may change the results before they are judged. Returns how many faults hit, and a
    description of the error or None."""
    pair.begin()
    patience = bounded.Patience(HANG)
    early = begin and victim is not None and lab.rng.random() < EARLY
    begun = pair.connected if early else pair.transfers
    while begin and not begun() and not any([program.poll() for program in pair.programs]) and patience.left():
        pass
    hit = 0
    if begin:
        settle(lab.rng.random() ** 2 * (LONGEST if victim is None else LONGEST_TO_KILL[pair.kind]))
        ran = not early and both_run(pair)
        began = time.monotonic()
        begin(pair)
        hit = ran and (victim is not None or both_run(pair))
    if end:
        end(pair)
        finishes = finishes and time.monotonic() - began < BRIEF
    patience = bounded.Patience(limit, pair.every)
    while patience.left() and not all(program.poll() for program in pair.programs):
        if any(program.poll() for program in pair.programs) and all(
                program.poll() or side in may_wait for side, program in enumerate(pair.programs)):
            settle(0.3)
            break
    waits = [side for side, program in enumerate(pair.programs) if not program.poll()]
    ended = [one for one in waits if one in may_wait] if len(waits) == 1 else []
    late = [side for side in waits if side not in ended]
    stacks = labs.stacks.show(*(pair.programs[side].pid for side in late)) if late else ""
    for side in ended:
        labs.stacks.end(pair.programs[side].pid)
    done = pair.end(5)
    outcomes[current, pair.kind][tuple("-" if side in ended else one.status for side, one in enumerate(done))] += 1
    if victim is not None:
        hit = hit and done[victim].status in (-signal.SIGKILL, 128 + signal.SIGKILL)
    hit = count_hit(pair, hit) if begin else 1
    if accept:
        accept(done)
    if late:
        return hit, f"sides {late} not done after {limit} s, not counting the time that they waited for a CPU: " + " / ".join(str(one) for one in done) + "\n" + stacks
    if finishes:
        return hit, pair.wrong(done)
    wrong = [f"side {side}: {one}" for side, one in enumerate(done) if side not in ended and side != victim and (
        crashed(one) or (one.status == 0 and not pair.may_be_fine(side, one)))]
    return hit, " / ".join(wrong) or None


def killed(_):
    """Kills the program by SIGKILL. rnic-run completes the recording, which has all packets that its peer received."""
    kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
    records = [lab.path("killed0.pcapng"), lab.path("killed1.pcapng")]
    shm = lab.rng.random() < 0.5
    pair = labs.Pair(lab, kind, size=ENDLESS, words=[["-w", path] for path in records], shm=shm)

    def fault(pair):
        pid = victim_of(pair, side)
        if pid:
            labs.stacks.kill([pid])
    try:
        # A peer on another host notices the kill only if it has a request outstanding (threats.md); rping may
        # have none.
        hit, problem = with_fault(pair, fault, may_wait=(other(side),) if kind == "rping" else (), victim=side,
                                  limit=RETRIES[kind] + ENDING)
        problem = problem or recording(records[side])
        if not problem and not shm and os.path.exists(records[other(side)]):
            # The kill may lose the frames that the program sent in its last turn.
            problem = unrecorded(side, records[side], records[other(side)], TURN)
    finally:
        pair.tidy()
        for path in glob.glob(lab.path("killed*")):
            labs.shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return hit, problem and f"{kind}, side {side}: {problem}"


def watcher_killed(_):
    """Kills rnic-run itself by SIGKILL. Its program then ends, and the parts of the recording stay readable. The kernel
    sends SIGTERM to the program, which may end while it writes its last packet."""
    kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
    record = lab.path("watcher.pcapng")
    words = [[], []]
    words[side] = ["-w", record]
    pair = labs.Pair(lab, kind, size=ENDLESS, words=words, shm=lab.rng.random() < 0.5)

    def fault(pair):
        labs.stacks.kill([pair.programs[side].pid])
    try:
        hit, problem = with_fault(pair, fault, may_wait=(other(side),) if kind == "rping" else (), victim=side,
                                  limit=RETRIES[kind] + ENDING)
        parts = glob.glob(record + ".*/*.pcapng")
        for part in parts:
            if os.path.getsize(part):
                problem = problem or recording(part, may_be_cut=True)
    finally:
        pair.tidy()
        for path in glob.glob(record + "*"):
            labs.shutil.rmtree(path, ignore_errors=True)
    return hit, problem and f"{kind}, side {side}: {problem}"


def stopped(seconds, finishes):
    def play(_):
        kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
        pair = labs.Pair(lab, kind, seconds=WORK, shm=lab.rng.random() < 0.5)

        def signal_victim(number):
            pid = program_of(pair, side)
            if pid:
                os.kill(pid, number)

        def end(_):
            settle(seconds)
            signal_victim(signal.SIGCONT)
        try:
            hit, problem = with_fault(pair, lambda _: signal_victim(signal.SIGSTOP), end, finishes=finishes)
        finally:
            pair.tidy()
        return hit, problem and f"{kind}, side {side}: {problem}"
    return play


def limited(draw):
    """Limits the descriptors or the memory of a program from its start. The program must work, or report an error and end.
    Its peer must do the same."""
    def play(_):
        kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
        shell, words = ["", ""], draw(lab.rng)
        shell[side] = words
        pair = labs.Pair(lab, kind, shell=shell, shm=lab.rng.random() < 0.5)
        try:
            # A server waits if its client never connects, as on hardware, also if it listens with rdma_cm.
            hit, problem = with_fault(pair, may_wait=(other(side),))
        finally:
            pair.tidy()
        return hit, problem and f"{kind}, side {side}, {words}: {problem}"
    return play


def least_free_descriptor(pid):
    used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
    return next(fd for fd in range(len(used) + 1) if fd not in used)


def memory_of(pid):
    """Returns the size of the address space of a process, bytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def used_up(what, limit_of):
    """Takes the last descriptor or all free memory from a running program. Then the device of the program has to read the
    addresses of its interface again, and rnic-info connects to it. Both need descriptors and memory."""
    def play(_):
        kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
        pair = labs.Pair(lab, kind, seconds=WORK, shm=lab.rng.random() < 0.5)

        def begin(pair):
            pid = program_of(pair, side)
            try:
                resource.prlimit(pid or 0, what, (limit_of(pid),) * 2) if pid else None
            except (FileNotFoundError, ProcessLookupError):
                pass  # the program has ended

        def end(pair):
            ip(pair.ends[side], "addr", "add", SECOND, "dev", labs.LINK)
            subprocess.run(pair.spaces[side].command(os.path.join(lab.bin, "rnic-info"), "resource"),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            ip(pair.ends[side], "addr", "del", SECOND, "dev", labs.LINK)
        try:
            hit, problem = with_fault(pair, begin, end, may_wait=(other(side),) if kind == "rping" else ())
        finally:
            pair.tidy()
        return hit, problem and f"{kind}, side {side}: {problem}"
    return play


def fill_disk():
    """Fills the file system of the recordings and scratch files, except at most PAGES pages."""
    with open(os.path.join(lab.disk, "filler"), "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 20)) == 1 << 20:
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - lab.rng.randrange(PAGES) * resource.getpagesize()))


def disk_full(_):
    """Fills the disk to which rnic-run writes a recording, or the packets for --selfcheck or the rows for --timeline. The
    programs must finish, rnic-run must report what it lost, and the recording must be readable."""
    kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
    record, peers, rows = os.path.join(lab.disk, "full.pcapng"), lab.path("full1.pcapng"), lab.path("full.txt")
    words = [[], []]
    words[side] = lab.rng.choice((["-w", record], ["-w", record], ["--selfcheck"], ["--timeline=" + rows]))
    if words[side][0] != "-w":
        kind, side, words = "ib_write_bw", labs.CLIENT, [[], max(words)]
    else:
        words[other(side)] = ["-w", peers]
    pair = labs.Pair(lab, kind, words=words, seconds=WORK)
    pair.scratch = os.path.join(lab.disk, "tmp")
    os.makedirs(pair.scratch, exist_ok=True)
    told = []  # whether rnic-run reported that it lost something, or recorded everything

    def accept(done):
        """Expects the error of rnic-run, which then counts as no error of the pair."""
        good = done[side].status == 2 and re.search("could not be|cannot be|No space", done[side].out)
        if good:
            done[side].status = 0
        elif os.path.exists(rows):
            with open(rows, encoding="utf-8") as file:
                good = len(list(file)) > pair.writes
        elif os.path.exists(peers):
            good = not unrecorded(side, record, peers, 0)
        else:
            good = f"→ {pair.writes} WRITE" in done[side].out
        told.append(bool(good))
    try:
        hit, problem = with_fault(pair, lambda _: fill_disk(), finishes=True, accept=accept)
        if hit and not problem and not told[0]:
            problem = "rnic-run recorded a part, but reported no error"
        if not problem and words[side][0] == "-w":
            # If FILE could not be completed, its folder has the recordings.
            parts = glob.glob(record + ".*/*.pcapng") or [record]
            problem = next(filter(None, map(recording, parts)), None)
            if hit and not problem and not any(True for part in parts for _ in labs.frames_of(part)):
                problem = "the recording has no packet"
        left = os.listdir(pair.scratch)
        problem = problem or (left and f"left behind: {left}") or None
    finally:
        pair.tidy()
        for path in glob.glob(os.path.join(lab.disk, "*")) + glob.glob(lab.path("full*")):
            labs.shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    return hit, problem and f"{kind}, side {side}, {words[side][0]}: {problem}"


def ip(side, *words):
    lab.spaces[side].run("ip", *words)


def restore(side):
    """Restores link, MTU and addresses of one side. The kernels also forget that they had searched an absent address, so that
    they do not refuse the next TCP connection."""
    for words in (("link", "set", labs.LINK, "up"), ("link", "set", labs.LINK, "mtu", str(labs.MTU)),
                  ("addr", "flush", "dev", labs.LINK, "scope", "global"),
                  ("addr", "add", labs.wire.ADDRESSES[side][0] + "/24", "dev", labs.LINK),
                  ("addr", "add", labs.wire.ADDRESSES[side][1] + "/64", "dev", labs.LINK, "nodad")):
        ip(side, *words)
    for end in (labs.SERVER, labs.CLIENT):
        ip(end, "neigh", "flush", "dev", labs.LINK)
    lab.gids = [labs.wire.gid_indices(space, lab.bin) for space in lab.spaces]


def clock_set(_):
    """Sets the time of day that a program sees, forward or back. Both programs must finish."""
    kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
    shift = lab.rng.choice(("+2h", "-1d", "+5", "-5"))
    record, clock = lab.path("clock.pcapng"), lab.path("clock")
    words, shell = [[], []], ["", ""]
    words[side] = ["-w", record]
    shell[side] = f"export LD_PRELOAD=\"$LD_PRELOAD {FAKETIME}\" FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_NO_CACHE=1 " \
                  "FAKETIME_DONT_FAKE_MONOTONIC=1"

    def set_clock(to):
        with open(clock + ".new", "w", encoding="ascii") as file:
            file.write(to)
        os.rename(clock + ".new", clock)

    set_clock("+0")
    pair = labs.Pair(lab, kind, seconds=WORK, words=words, shell=shell, shm=lab.rng.random() < 0.5)
    try:
        hit, problem = with_fault(pair, lambda _: set_clock(shift), finishes=True)
        problem = problem or recording(record)
    finally:
        pair.tidy()
    return hit, problem and f"{kind}, side {side}, {shift}: {problem}"


def link_fault(change, back, seconds, finishes=False):
    def play(_):
        kind, side = lab.rng.choice(labs.Pair.KINDS), side_of(lab.rng)
        pair = labs.Pair(lab, kind, seconds=WORK)
        pause = seconds(lab.rng)

        def begin(_):
            for words in change(side):
                ip(side, *words)

        def end(_):
            settle(pause)
            for words in back(side):
                ip(side, *words)
        try:
            # One side of rping has no request outstanding while it waits for the other side.
            hit, problem = with_fault(pair, begin, end, may_wait=() if finishes or kind != "rping" else (0, 1),
                                      finishes=finishes)
        finally:
            pair.tidy()
            restore(side)
        return hit, problem and f"{kind}, side {side}, {pause:.2f} s: {problem}"
    return play


def address(side):
    return labs.wire.ADDRESSES[side][0] + "/24"


FAULTS = {
    "kill -9 of the program": killed,
    "kill -9 of rnic-run": watcher_killed,
    "SIGSTOP for 0.2 s": stopped(0.2, True),
    "SIGSTOP for 8 s": stopped(8, False),
    "few descriptors from the start": limited(lambda rng: f"ulimit -n {rng.randrange(3, 40)}"),
    "little memory from the start": limited(lambda rng: f"ulimit -v {rng.randrange(20, 400) << 10}"),
    "no descriptor left (EMFILE)": used_up(resource.RLIMIT_NOFILE, least_free_descriptor),
    "no memory left (ENOMEM)": used_up(resource.RLIMIT_AS, memory_of),
    "disk full (ENOSPC)": disk_full,
    "time of day set": clock_set,
    "link down and up, short": link_fault(
        lambda side: [("link", "set", labs.LINK, "down")], lambda side: [("link", "set", labs.LINK, "up")],
        lambda rng: 0.1 * rng.random(), True),
    "link down and up, long": link_fault(
        lambda side: [("link", "set", labs.LINK, "down")], lambda side: [("link", "set", labs.LINK, "up")],
        lambda rng: 8),
    "address removed and added": link_fault(
        lambda side: [("addr", "del", address(side), "dev", labs.LINK)],
        lambda side: [("addr", "add", address(side), "dev", labs.LINK)], lambda rng: 2 * rng.random()),
    "address changed": link_fault(
        lambda side: [("addr", "del", address(side), "dev", labs.LINK),
                      ("addr", "add", f"10.77.0.{70 + side}/24", "dev", labs.LINK)],
        lambda side: [("addr", "del", f"10.77.0.{70 + side}/24", "dev", labs.LINK),
                      ("addr", "add", address(side), "dev", labs.LINK)], lambda rng: 4 + 4 * rng.random()),
    "MTU lowered and raised": link_fault(
        lambda side: [("link", "set", labs.LINK, "mtu", "1280")],
        lambda side: [("link", "set", labs.LINK, "mtu", str(labs.MTU))], lambda rng: 3 * rng.random()),
}


def afterwards(name, play):
    """Returns a case that also fails if something is left afterwards or, from time to time, if another pair fails."""
    def case(turn):
        global current
        current = name
        units, problem = play(turn)
        problem = problem or lab.left()
        if not problem and turn % 5 == 0:
            pair = labs.Pair(lab, lab.rng.choice(labs.Pair.KINDS))
            try:
                pair.begin()
                problem = pair.wrong(pair.end())
                problem = problem and f"the next pair, {pair.kind}: {problem}"
            finally:
                pair.tidy()
        return units, problem
    return case


def cases(bin_dir, folder, seed):
    global lab
    lab = labs.Lab(bin_dir, os.path.join(folder, "faults"), random.Random(seed))
    lab.disk = lab.path("disk")
    os.makedirs(lab.disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", lab.disk], check=True)
    return {name: afterwards(name, play) for name, play in FAULTS.items()}


def close():
    """Removes the namespaces. Prints what each fault did to each kind of pair: the statuses of server and client as rnic-run
    reports them (128 + N: signal N; -9: rnic-run was killed; -: still waited, as on hardware), and how often. Also prints how
    many of the faults hit."""
    if lab:
        lab.close()
        subprocess.run(["umount", lab.disk], check=False)
    for (fault, kind), statuses in sorted(outcomes.items()):
        print(f"{fault:30} {kind:12} " + ", ".join(f"{server}/{client} {cnt}x" for (server, client), cnt in
                                                   statuses.most_common()), flush=True)
    for (fault, kind), counts in sorted(hits.items()):
        print(f"{fault:30} {kind:12} {counts['hits']} of {counts['faults']} hit running programs with a connected QP",
              flush=True)
