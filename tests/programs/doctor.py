#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rnic-run --doctor with the rights of this process, for an ordinary user, under a seccomp filter that forbids
unshare(), and without user namespaces. A program must run exactly where the doctor says so;
with --wire shm it runs everywhere.

doctor.py --bin FOLDER      exit status 77: users cannot create namespaces on this machine"""
import argparse
import ctypes
import os
import struct
import subprocess
import sys

USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
# As root of a user namespace without capabilities, in which no further user namespace is allowed.
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"", "sh",
                 "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
UNSHARE = {"x86_64": 272, "aarch64": 97}


def forbid_unshare():
    """Makes unshare() fail with EPERM in this process and its children, as the profile of a container does."""
    code = [(0x20, 0, 0, 0),                                # load the number of the system call
            (0x15, 0, 1, UNSHARE[os.uname().machine]),      # if it is not unshare(), skip one
            (0x06, 0, 0, 0x00050001),                       # return EPERM
            (0x06, 0, 0, 0x7fff0000)]                       # allow
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header):
        raise OSError(ctypes.get_errno(), "prctl")


def run(command, filtered=False):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          preexec_fn=forbid_unshare if filtered else None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    rnic_run = os.path.join(os.path.abspath(parser.parse_args().bin), "rnic-run")
    is_root = os.geteuid() == 0
    user = USER if is_root else []
    if run(user + ["unshare", "-Urn", "true"]).returncode:
        print("no user namespaces for users here")
        return 77
    cases = [(user, False, 0, ["no    raw sockets", "ok    separate network", "verdict: programs run in a separate"]),
             (NO_NAMESPACES, False, 1, ["no    raw sockets", "fails separate network", "sysctl user.max_user_namespaces",
                                        "verdict: rnic-run cannot run programs here"])]
    if os.uname().machine in UNSHARE:
        cases.append((user, True, 1, ["fails separate network", "a user namespace", "a seccomp filter is active",
                                      "--cap-add NET_RAW", "verdict: rnic-run cannot"]))
    if is_root:
        cases.append(([], False, 0, ["ok    raw sockets", "verdict: programs run on the interfaces"]))
    for prefix, filtered, status, expected in cases:
        done = run(prefix + [rnic_run, "--doctor"], filtered)
        print(done.stdout)
        assert done.returncode == status, f"{prefix}: status {done.returncode}, expected {status}"
        for text in ["ok    library"] + expected:
            assert text in done.stdout, f"{prefix}: no '{text}'"
        works = run(prefix + [rnic_run, "--", "true"], filtered).returncode == 0
        shared = run(prefix + [rnic_run, "--wire", "shm", "--", "true"], filtered)
        assert shared.returncode == 0, f"{prefix}: --wire shm: {shared.stdout}"
        assert works == (status == 0), f"{prefix}: rnic-run {'works' if works else 'fails'}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
