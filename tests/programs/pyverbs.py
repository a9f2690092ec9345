#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the test suite of rdma-core (Debian's package python3-pyverbs) on the software RNIC, in a
separate network namespace, with the flow validator (rnic-run --selfcheck). Each test must pass, be
skipped for a reason of SKIPS, or fail for a reason of ERRORS.

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
LINK, NAME = "rnic0", "rnic_rnic0"
TABLE_RELEASE = "44"  # release of rdma-core to which the numbers in SKIPS apply
OTHERS = r"mlx5|efa|mana|hns|cuda"  # tests for devices of one manufacturer
# Permitted skips: test, text that it prints, number of tests with rdma-core 44, and the reason. A skip for "machine" does
# not occur on a machine that has the resource. pyverbs.md is made from this table.
DEVICE, MACHINE, LATER = "device", "machine", "later release"
SKIPS = (
    ("test_tag_matching", r"Extended CQ is not supported", 4, DEVICE,
     "A CQ that reports matched tags (IBV_WC_EX_WITH_TM_INFO); the message of the skip is misleading. Tag matching is an offload "
     "of messages of MPI with a protocol of one manufacturer; the specification of RoCE has none."),
    ("test_mr", r"Allocating dmabuf is not supported by /dev/dri/|Device /dev/dri/", 10, MACHINE, "A GPU that exports DMA-bufs."),
    ("test_odp|test_parent_domain", r"There are no huge pages of size 2M allocated", 3, MACHINE,
     "Huge pages: `echo 16 >/proc/sys/vm/nr_hugepages`. With them these tests pass."),
    ("test_rdmacm", r"net interface$", 0, MACHINE, "The right to mount: the tests read /sys/class/infiniband."),
    ("", r"Device memory is not supported|DM dmabuf export is not supported", 0, LATER, "Exporting device memory as a DMA-buf."),
    ("test_qp", r"Failed to modify QP\. Errno: 95", 0, LATER, "A rate limit of a raw packet QP: the device sends raw packets at once."),
    ("", r"Device does not report CC_DMA_BOUNCE|CC PD is not supported", 0, LATER, "A confidential virtual machine."),
    ("", r"No PHC or failed to open", 0, LATER, "A clock in hardware."),
    ("", r"Failed to create DMA Handle", 0, LATER, "Steering tags of PCI Express."),
    ("", r"ibv_query_port_speed is not supported", 0, LATER, "An interface whose speed the kernel knows: a dummy interface has none."),
)
# Expected errors: test, text of its traceback, and the reason. The error must not depend on the device.
ERRORS = (
    ("test_multi_process_alloc_dm", r"popen_forkserver\.py(?:.*\n)*.*cannot be converted to a Python object for pickling",
     "The test starts processes with objects that Python 3.14 cannot pickle. Earlier Pythons fork, and need not pickle; with the start method `fork` the test passes."),
)
# Tests that are not run, and the reason. They end with an error, not a skip, on a device that lacks the feature.
LEFT_OUT = {
    "test_rss_traffic": "Receive work queues and a hash that chooses one of them (RSS): `ibv_create_wq()` fails with EOPNOTSUPP.",
}


def unpack(folder):
    """Returns the tests, except those of single manufacturers and LEFT_OUT. Returns False if the package is not installed."""
    place = next((place for place in PLACES if os.path.isdir(place)), None)
    if not place or subprocess.run([PYTHON, "-c", "import pyverbs"], check=False,
                                   stderr=subprocess.DEVNULL).returncode:
        return False
    tests = os.path.join(folder, "tests")
    os.mkdir(tests)
    for path in glob.glob(os.path.join(place, "*")):
        name = os.path.basename(path)
        if name.startswith("test_") and (re.search(OTHERS, name) or name.split(".")[0] in LEFT_OUT):
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
    os.makedirs(os.path.join(fake, "infiniband", NAME, "device", "net", LINK))
    pkeys = os.path.join(fake, "infiniband", NAME, "ports", "1", "pkeys")
    os.makedirs(pkeys)
    with open(os.path.join(pkeys, "0"), "w", encoding="ascii") as pkey:
        pkey.write("0xffff\n")
    command = ["unshare", "--mount", "--propagation", "private", "sh", "-euc",
               f"mount -t overlay -o lowerdir={fake}:/sys/class overlay /sys/class; exec \"$@\"", "sh"]
    allowed = subprocess.run(command + ["test", "-d", f"/sys/class/infiniband/{NAME}"],
                             check=False, stderr=subprocess.DEVNULL).returncode == 0
    return command if allowed else []


def rdma_link(folder):
    """Creates a folder with a program that prints the output of "rdma link show -j" for our device."""
    path = os.path.join(folder, "bin", "rdma")
    os.mkdir(os.path.dirname(path))
    with open(path, "w", encoding="ascii") as script:
        links = json.dumps([{"ifname": NAME, "port": 1, "state": "ACTIVE",
                             "physical_state": "LINK_UP", "netdev": LINK}])
        script.write(f"#!/bin/sh\necho '{links}'\n")
    os.chmod(path, 0o755)
    return os.path.dirname(path)


def release():
    """Returns the release of rdma-core, for example "44"."""
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "python3-pyverbs"], check=False,
                             stdout=subprocess.PIPE, text=True).stdout
    return version.split(".")[0]


def traceback_of(output, name):
    """Returns the traceback that unittest prints for a test after all results."""
    match = re.search(rf"^=+\n(?:ERROR|FAIL): {name} (?:.*\n)*?(?==|Ran |-+\nRan )", output, re.MULTILINE)
    return match[0] if match else ""


def judge(output, rdma_core):
    """Compares the output of unittest with SKIPS and ERRORS. Returns what is wrong, the number of passed and skipped tests, and
    the reasons of expected errors."""
    results = re.findall(r"^(\w+) \((?:tests\.)?([\w.]+)\)(?:\n.*?)?? \.\.\. (?:.*\n)*?(ok|ERROR|FAIL|skipped ['\"].*['\"])$",
                         output, re.MULTILINE)
    ran = re.search(r"^Ran (\d+) tests", output, re.MULTILINE)
    wrong, expected, counts = [], [], [0] * len(SKIPS)
    for name, where, result in results:
        if result == "ok":
            continue
        if result in ("ERROR", "FAIL"):
            why = next((why for test, text, why in ERRORS if test == name and re.search(text, traceback_of(output, name))), None)
            (expected if why else wrong).append(f"{result} {name}: {why}")
            continue
        for i, (tests, text, *_) in enumerate(SKIPS):
            if re.search(tests, where) and re.search(text, result[len("skipped '"):-1]):
                counts[i] += 1
                break
        else:
            wrong.append(f"{where}: {name}: {result}")
    if not ran or int(ran[1]) != len(results):
        wrong.append(f"{ran[1] if ran else 'no'} tests ran, and {len(results)} results were read")
    if rdma_core == TABLE_RELEASE:
        for (tests, text, cnt, kind, _), is_cnt in zip(SKIPS, counts):
            if is_cnt != cnt and not (kind == MACHINE and is_cnt == 0):
                wrong.append(f"{tests}: '{text}': {is_cnt} tests, not {cnt}")
    passed = sum(result == "ok" for *_, result in results)
    return wrong, passed, sum(result.startswith("skipped") for *_, result in results), expected


def table():
    """Returns the text of pyverbs.md."""
    lines = ["# Skipped tests of rdma-core", "",
             "The test `programs.pyverbs` runs the test suite of rdma-core on our software RNIC ([pyverbs.py](pyverbs.py)).",
             f"The tables list the tests that are skipped, with their number in rdma-core {TABLE_RELEASE}. All others must pass.",
             "",
             "`programs.pyverbs` fails if another number of tests is skipped. `tests/programs/pyverbs.py --write` writes this file.", ""]
    for kind, title in ((DEVICE, "Features that the device lacks"), (MACHINE, "Resources that the machine lacks"),
                        (LATER, "Tests of later releases")):
        lines += [f"## {title}", "", "| tests | skipped | what they need |", "|---|---|---|"]
        lines += ["| {} | {} | {} |".format(" ".join(f"`{test}`" for test in tests.split("|")) if tests else "any",
                                             cnt or "–", why)
                  for tests, _, cnt, of_kind, why in SKIPS if of_kind == kind]
        lines += [""]
    lines += ["## Tests that are not run", "",
              "On a device that lacks the feature these tests end with an error instead of a skip.", "",
              "| tests | what they need |", "|---|---|"]
    lines += [f"| `{test}` | {why} |" for test, why in LEFT_OUT.items()]
    lines += ["", "## Expected errors", "", "These tests fail on every device.", "", "| tests | reason |", "|---|---|"]
    lines += [f"| `{test}` | {why} |" for test, _, why in ERRORS]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin")
    parser.add_argument("--write", action="store_true", help="write pyverbs.md and stop")
    parser.add_argument("--preload", default="")
    parser.add_argument("test", nargs="*")
    args = parser.parse_args()
    page = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pyverbs.md")
    if args.write:
        with open(page, "w", encoding="utf-8") as out:
            out.write(table())
        return 0
    if not args.bin:
        parser.error("--bin is required")
    with open(page, encoding="utf-8") as text:
        if text.read() != table():
            sys.exit("pyverbs.md differs from SKIPS: run pyverbs.py --write")
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
    wrong, passed, skipped, expected = judge(done.stdout, release() if not args.test else "")
    # unittest ends with status 1 after an expected error, and rnic-run ends with status 1 after a violation
    holds = re.search(r"^verdict: holds", done.stdout, re.MULTILINE)
    if done.returncode and not (expected and holds and done.returncode == 1):
        wrong.append(f"status {done.returncode}")
    for line in expected + wrong:
        print(line)
    print(f"{passed} passed, {skipped} skipped, {len(expected)} expected errors")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
