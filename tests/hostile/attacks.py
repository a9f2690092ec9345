# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Cases of tests/soak: attacks on running connections, from the network (attacker.py at both ends of the link).
All programs must finish with the right bytes, and no process, name or scratch file may remain."""
import os
import random
import re
import sys

import bounded
import lab as labs

HERE = os.path.dirname(os.path.abspath(__file__))
ATTACKS = ("guessed_everything", "guessed_psns_and_keys", "naks", "rnr_naks", "acknowledgements", "congestion_notifications",
           "connection_requests", "connection_requests_of_many", "odd_connection_requests", "connection_messages",
           "impossible_requests", "disconnects", "garbage", "wrong_lengths", "repeated_frames")
LISTENER_PORT = 7200  # CM port to which the floods of REQs are sent
LISTENER_MEMORY = 400 << 10  # memory limit of the listener, KiB
lab = None


class Listener:
    """The program listener.c, which receives the floods of REQs."""

    def __init__(self):
        self.program = bounded.Program(lab.spaces[labs.SERVER].command(
            os.path.join(lab.bin, "rnic-run"), "-i", labs.LINK, "--",
            *labs.rows_of.runtime_first("{BIN}/programs/listener", labs.PRELOAD, lab.bin),
            os.path.join(lab.bin, "programs", "listener"), labs.wire.ADDRESSES[0][0], str(LISTENER_PORT)),
            env=dict(labs.wire.environment(labs.PRELOAD), TMPDIR=lab.scratch))

    def wrong(self):
        """Returns a description of the damage that the floods did to the listener, or None."""
        if self.program.poll():
            return f"the listener ended: {self.program.done}"
        found = [re.search(r"VmRSS:\s+(\d+)", labs.stacks.read(f"/proc/{pid}/status"))
                 for pid in labs.stacks.family(self.program.pid)]
        used = max([int(one[1]) for one in found if one], default=0)
        return f"the listener has {used >> 10} MiB" if used > LISTENER_MEMORY else None


def attacked(attack, turn):
    attackers, listener, problem = [], None, None
    try:
        if "connection_requests" in attack:
            listener = Listener()
        for side in (labs.SERVER, labs.CLIENT):
            to = 1 - side
            attackers.append(bounded.Program(lab.spaces[side].command(
                sys.executable, "-B", os.path.join(HERE, "attacker.py"), attack, str(lab.rng.getrandbits(32)),
                labs.wire.ADDRESSES[to][0], labs.wire.MACS[to], labs.wire.ADDRESSES[side][0])))
        for kind in labs.Pair.KINDS:
            pair = labs.Pair(lab, kind)
            try:
                pair.begin()
                problem = pair.wrong(pair.end())
            finally:
                pair.tidy()
            if problem:
                return sent_by(attackers), f"{kind}: {problem}"
        if listener:
            problem = listener.wrong()
    finally:
        sent = sent_by(attackers)
        if listener:
            labs.stacks.end(listener.program.pid)
            listener.program.kill()
    if problem:
        return sent, problem
    if not sent:
        return sent, "no frame was sent: " + attackers[0].done.out
    return sent, lab.left()


def sent_by(attackers):
    """Ends the attackers. Returns the number of frames that they sent."""
    total = 0
    for attacker in attackers:
        if not attacker.poll():
            attacker.process.terminate()
        found = re.search(r"sent (\d+)", attacker.wait(30).out)
        total += int(found[1]) if found else 0
    return total


def cases(bin_dir, folder, seed):
    global lab
    lab = labs.Lab(bin_dir, os.path.join(folder, "attacks"), random.Random(seed))
    return {attack.replace("_", " "): lambda turn, attack=attack: attacked(attack, turn) for attack in ATTACKS}


def close():
    if lab:
        lab.close()
