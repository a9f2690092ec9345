#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the test suite of rdma-core (Debian's package python3-pyverbs) on the software RNIC, in a
separate network namespace, with the flow validator (rnic-run --selfcheck). Each test must pass, or be
skipped because the device lacks its feature.

pyverbs.py --bin FOLDER [TEST...]     TEST: a pattern for unittest -k, for example rdmacm

The tests of rdma_cm read the interface of a device from /sys/class/infiniband. As root, this script
creates such a folder in a mount namespace. Tests of later releases run the program rdma, which asks the
kernel; a replacement prints our device. Exit status 77: the package is not installed."""
import argparse
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3"  # the interpreter for which the package was built
PLACES = ("/usr/share/doc/rdma-core/tests", "/usr/share/doc/python3-pyverbs/tests")
LINK, DEVICE = "rnic0", "rnic_rnic0"
LEAST = 90  # minimum number of passed tests; with rdma-core 44, 112 pass for such a device
OTHERS = r"mlx5|efa|mana|hns|cuda"  # tests for devices of one manufacturer
# Permitted reasons to skip a test: features that a software RoCE device lacks, and resources that a
# machine may lack.
MAY_LACK = "|".join((
    "^Device memory is not supported",
    "^Allocating dmabuf is not supported",
    "^Device /dev/dri/",  # a GPU
    "^Device does not report CC_DMA_BOUNCE",  # only in confidential guests
    "^CC PD is not supported",
    "^No PHC or failed to open",  # a clock in hardware
    "Failed to create DMA Handle",
    "^ibv_query_port_speed is not supported",
    "^ODP is not supported",
    "^Create QP type 8 is not supported",  # raw packets
    "^Create Raw Packet QP",
    "^There are no huge pages",
    "^Importing a device is not supported",
    "^Extended CQ is not supported",  # the reason that tests of tag matching print
))


def unpack(folder):
    """Returns the tests, except those of single manufacturers. Returns False if the package is not installed."""
    place = next((place for place in PLACES if os.path.isdir(place)), None)
    if not place or subprocess.run([PYTHON, "-c", "import pyverbs"], check=False,
                                   stderr=subprocess.DEVNULL).returncode:
        return False
    tests = os.path.join(folder, "tests")
    os.mkdir(tests)
    for path in glob.glob(os.path.join(place, "*")):
        name = os.path.basename(path)
        if name.startswith("test_") and re.search(OTHERS, name):
            continue
        to = os.path.join(tests, re.sub(r"\.gz$", "", name))
        if os.path.isdir(path):
            continue
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as source, \
                open(to, "wb") as target:
            shutil.copyfileobj(source, target)
    return True


def sysfs(folder):
    """Returns a command prefix that runs a program with our device in /sys/class. Returns an empty one
    if this is not permitted here."""
    fake = os.path.join(folder, "class")
    os.makedirs(os.path.join(fake, "infiniband", DEVICE, "device", "net", LINK))
    pkeys = os.path.join(fake, "infiniband", DEVICE, "ports", "1", "pkeys")
    os.makedirs(pkeys)
    with open(os.path.join(pkeys, "0"), "w", encoding="ascii") as pkey:
        pkey.write("0xffff\n")
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-euc",
               f"mount -t overlay -o lowerdir={fake}:/sys/class overlay /sys/class; exec \"$@\"", "sh"]
    allowed = subprocess.run(command + ["test", "-d", f"/sys/class/infiniband/{DEVICE}"],
                             check=False, stderr=subprocess.DEVNULL).returncode == 0
    return command if allowed else []


def rdma_link(folder):
    """Creates a folder with a program that prints the output of "rdma link show -j" for our device."""
    path = os.path.join(folder, "bin", "rdma")
    os.mkdir(os.path.dirname(path))
    with open(path, "w", encoding="ascii") as script:
        links = json.dumps([{"ifname": DEVICE, "port": 1, "state": "ACTIVE",
                             "physical_state": "LINK_UP", "netdev": LINK}])
        script.write(f"#!/bin/sh\necho '{links}'\n")
    os.chmod(path, 0o755)
    return os.path.dirname(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--preload", default="")
    parser.add_argument("test", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rnic-pyverbs-") as folder:
        if not unpack(folder):
            print("python3-pyverbs is not installed")
            return 77
        shown = sysfs(folder)
        command = shown + [os.path.join(os.path.abspath(args.bin), "rnic-run"), "-n", "-i", LINK,
                           "--selfcheck", "--"]
        if args.preload:
            command += ["env", "LD_PRELOAD=" + args.preload + ":" + os.path.join(
                os.path.dirname(os.path.abspath(args.bin)), "lib", "rnic", "librnic-rdmacm.so")]
        command += [PYTHON, os.path.join("tests", "run_tests.py"), "-v"]
        for test in args.test:
            command += ["-k", test]
        env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1",
                   PATH=rdma_link(folder) + ":" + os.environ["PATH"])
        if args.preload:  # ignores leaks of Python
            env["ASAN_OPTIONS"] = "detect_leaks=0:" + env.get("ASAN_OPTIONS", "")
        done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    wrong = []
    if done.returncode:
        wrong.append(f"status {done.returncode}")
    ran = re.search(r"^Ran (\d+) tests", done.stdout, re.MULTILINE)
    reasons = re.findall(r"skipped ['\"](.*)['\"]$", done.stdout, re.MULTILINE)
    passed = len(re.findall(r"\.\.\. (?:.*\n)?ok$", done.stdout, re.MULTILINE))
    if not ran or (not args.test and passed < LEAST):
        wrong.append(f"only {passed} tests ran")
    lacking = MAY_LACK if shown else MAY_LACK + "|net interface$"
    wrong += [f"skipped: {reason}" for reason in reasons if not re.search(lacking, reason)]
    for line in wrong:
        print(line)
    print(f"{passed} passed, {len(reasons)} skipped")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
