#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares the speed of rocedrill replay with tcpreplay --topspeed, on the same files in one run.

    bench_replay.py [--build DIR] [--packets N] [--rounds N] [--quick]

tcpreplay sends each file to a veth in a network namespace of this script, and ends when the kernel has
accepted the last frame. rocedrill replays the file offline: it infers the state of the devices, plays one
end or both ends, compares and judges. Playing both ends is the work of two devices. The script prints
packets per second, of the fastest round of each program; the programs run in turns. It also prints the CPU
seconds (user and system, for tcpreplay including the veth), which other users of the machine influence
less. Target: rocedrill is faster although it judges. The script reports figures and does not fail. Exit
status 77 without tcpreplay or without the right to create a network namespace.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time


def seconds(command):
    """Returns the wall clock time and the CPU time of a command, s."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench_replay: {' '.join(command)}: status {process.returncode}")
    return took, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--packets", type=int, default=200000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few packets, one round: only checks that the script works")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.packets, args.rounds = 2000, 1
    if not shutil.which("tcpreplay"):
        print("bench_replay: tcpreplay is not installed")
        sys.exit(77)
    if not args.inside:
        # The namespace ends with its last process, and the veth with the namespace.
        if subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode:
            print("bench_replay: cannot create a network namespace")
            sys.exit(77)
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv, "--inside"])
    for command in ("link add bench0 type veth peer name bench1", "link set bench0 mtu 9000 up",
                    "link set bench1 mtu 9000 up"):
        subprocess.run(["ip", *command.split()], check=True)
    gen = os.path.join(args.build, "bin", "gen_capture")
    rocedrill = os.path.join(args.build, "bin", "rocedrill")
    print(f"{'payload':>7} {'program':<22} {'s':>7} {'packets/s':>12} {'ratio':>6} {'CPU s':>7} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        source, path = os.path.join(folder, "source.pcap"), os.path.join(folder, "bench.pcapng")
        for payload in (64, 1024, 4096):
            with open(source, "wb") as file:
                subprocess.run([gen, "-n", str(args.packets), "-c", "8", "-s", str(payload)],
                               stdout=file, check=True)
            # Replays the capture and records the packets of our devices, so that both ends of the new capture are our
            # devices.
            subprocess.run([rocedrill, "replay", "-q", "--closed-loop", "--record", path, source], check=True)
            commands = {"tcpreplay --topspeed": ["tcpreplay", "-q", "--topspeed", "-i", "bench0", path],
                        "rocedrill replay": [rocedrill, "replay", "-q", path],
                        "  --side responder": [rocedrill, "replay", "-q", "--side", "responder", path],
                        "  --side requester": [rocedrill, "replay", "-q", "--side", "requester", path],
                        "  --closed-loop": [rocedrill, "replay", "-q", "--closed-loop", path]}
            best = dict.fromkeys(commands, (float("inf"), float("inf")))
            for _ in range(args.rounds):
                for name, command in commands.items():
                    best[name] = tuple(map(min, best[name], seconds(command)))
            wall, cpu = best["tcpreplay --topspeed"]
            for name, (took, used) in best.items():
                print(f"{payload:>7} {name:<22} {took:7.3f} {args.packets / took:12.0f} {wall / took:6.2f} "
                      f"{used:7.3f} {cpu / used:6.2f}")


if __name__ == "__main__":
    main()
