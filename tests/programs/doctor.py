#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Tests rnic-run --doctor with the rights of this process, for an ordinary user, for root without CAP_NET_ADMIN, under a
seccomp filter that forbids unshare() or raw sockets, without user namespaces, and with sysctls of Debian and Ubuntu that
forbid them. A program must exchange packets exactly where the doctor says so; with --wire shm it runs everywhere.

doctor.py --bin FOLDER      exit status 77: users cannot create namespaces on this machine"""
import argparse
import ctypes
import os
import shutil
import struct
import subprocess
import sys
import tempfile

USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
# Runs a program as root of a user namespace, without capabilities and without permission to create user namespaces.
NO_NAMESPACES = ["unshare", "-Ur", "sh", "-c", "echo 0 >/proc/sys/user/max_user_namespaces && exec \"$@\"", "sh",
                 "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
# Runs a program as above, with sysctls that forbid user namespaces. The kernel may lack them, so this creates their files.
SYSCTLS = ["unshare", "-Urm", "sh", "-c", """echo 0 >/proc/sys/user/max_user_namespaces
mount -t tmpfs none /proc/sys/kernel && echo 0 >/proc/sys/kernel/unprivileged_userns_clone &&
echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && exec "$@" """, "sh",
           "setpriv", "--bounding-set=-all", "--inh-caps=-all"]
# Repeats the client until the server listens or has failed.
PINGPONG = ["bash", "-c", """timeout 60 ibv_rc_pingpong -g 1 -n 10 &
for i in {1..40}; do
    sleep 0.5; [ "$(jobs -r)" ] || break
    ibv_rc_pingpong -g 1 -n 10 localhost && break
done
wait $!"""]
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
UNSHARE = {"x86_64": 272, "aarch64": 97}
SOCKET = {"x86_64": 41, "aarch64": 198}
PRCTL = {"x86_64": 157, "aarch64": 167}
AF_PACKET = 17


def forbid_unshare():
    """Makes unshare() fail with EPERM in this process and its children, as the profile of a container does."""
    install_filter([(0x20, 0, 0, 0),                                # load the number of the system call
                    (0x15, 0, 1, UNSHARE[os.uname().machine]),      # if it is not unshare(), skip one
                    (0x06, 0, 0, 0x00050001),                       # return EPERM
                    (0x06, 0, 0, 0x7fff0000)])                      # allow


def forbid_raw_sockets():
    """Makes unshare() and socket(AF_PACKET) fail with EPERM."""
    install_filter([(0x20, 0, 0, 0),
                    (0x15, 3, 0, UNSHARE[os.uname().machine]),      # unshare(): return EPERM
                    (0x15, 0, 3, SOCKET[os.uname().machine]),       # not socket(): allow
                    (0x20, 0, 0, 16),                               # load the first argument
                    (0x15, 0, 1, AF_PACKET),
                    (0x06, 0, 0, 0x00050001),
                    (0x06, 0, 0, 0x7fff0000)])


def forbid_seccomp():
    """Makes prctl(PR_SET_SECCOMP) fail with EPERM."""
    install_filter([(0x20, 0, 0, 0),
                    (0x15, 0, 3, PRCTL[os.uname().machine]),        # not prctl(): allow
                    (0x20, 0, 0, 16),                               # load the first argument
                    (0x15, 0, 1, PR_SET_SECCOMP),
                    (0x06, 0, 0, 0x00050001),
                    (0x06, 0, 0, 0x7fff0000)])


def install_filter(code):
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *row) for row in code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header):
        raise OSError(ctypes.get_errno(), "prctl")


def run(command, filtered=None):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          preexec_fn=filtered)


def without_libseccomp(rnic_run):
    """Runs the doctor in a folder with a rocedrill that was built without libseccomp, and in one without rocedrill."""
    with tempfile.TemporaryDirectory(prefix="rnic-doctor-") as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(os.path.join(os.path.dirname(rnic_run), "..", "lib"), os.path.join(folder, "lib"))
        copy = shutil.copy(rnic_run, os.path.join(folder, "bin"))
        rocedrill = os.path.join(folder, "bin", "rocedrill")
        for text, expected in ((None, "ok    sandbox           before they read captures"), ("libseccomp: 2.5.4", "ok    sandbox"),
                               ("libseccomp: none", "no    sandbox           rocedrill was built without libseccomp")):
            if text:
                with open(rocedrill, "w", encoding="ascii") as script:
                    script.write(f"#!/bin/sh\necho 'rocedrill 1.0'\n[ \"$1\" != version ] || echo '{text}'\n")
                os.chmod(rocedrill, 0o755)
            done = run([copy, "--doctor"])
            assert expected in done.stdout, f"rocedrill with '{text}': {done.stdout}"


def without_links(rnic_run):
    """Runs the doctor and programs in a new network namespace of root, in which even lo is down."""
    done = run(["unshare", "-n", rnic_run, "--doctor"])
    for text in ("no interface is up: use --net", "verdict: programs run with rnic-run --net"):
        assert done.returncode == 0 and text in done.stdout, f"no '{text}': {done.stdout}"
    # rnic-run must print that no interface is up, before and after the output of the program, and must end with the
    # exit status of the program.
    said = run(["unshare", "-n", rnic_run, "--", "sh", "-c", "echo output; exit 7"])
    lines = said.stdout.splitlines()
    assert said.returncode == 7 and len(lines) == 3 and lines[1] == "output", said.stdout
    assert lines[0] == lines[2] and "no interface is up" in lines[0], said.stdout
    said = run(["unshare", "-n", rnic_run, "--", "sh", "-c", "ip link set lo up; exit 7"])
    assert said.returncode == 7 and said.stdout.count("no interface is up") == 1, said.stdout
    done = run(["unshare", "-n", rnic_run, "--net", "--"] + PINGPONG)
    assert done.returncode == 0 and "no interface is up" not in done.stdout, done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    rnic_run = os.path.join(os.path.abspath(parser.parse_args().bin), "rnic-run")
    is_root = os.geteuid() == 0
    user = USER if is_root else []
    if run(user + ["unshare", "-Urn", "true"]).returncode:
        print("no user namespaces for users here")
        return 77
    limit = ["prlimit", "--memlock=65536"]
    cases = [(limit + user, None, 0, ["ok    locked memory     64 KiB", "no    raw sockets       CAP_NET_RAW is missing",
                                      "ok    separate network", "ok    sandbox           before they read captures",
                                      "verdict: programs run in a separate"]),
             (NO_NAMESPACES, None, 1, ["no    raw sockets", "fails separate network", "sysctl user.max_user_namespaces",
                                        "verdict: rnic-run cannot run programs here"]),
             (SYSCTLS, None, 1, ["sysctl kernel.unprivileged_userns_clone=1",
                                 "sysctl kernel.apparmor_restrict_unprivileged_userns=0"])]
    if os.uname().machine in UNSHARE:
        cases.append((user, forbid_unshare, 1, ["fails separate network", "a user namespace", "a seccomp filter is active",
                                      "--cap-add NET_RAW", "verdict: rnic-run cannot"]))
        cases.append((user, forbid_seccomp, 0, ["no    sandbox           seccomp filters are not available (Operation not"
                                                " permitted)", "CONFIG_SECCOMP_FILTER"]))
    if is_root:
        interfaces = ["ok    raw sockets", "verdict: programs run on the interfaces"]
        cases.append(([], None, 0, interfaces))
        # Capabilities of root in a docker container, without and with docker's seccomp filter.
        container = ["setpriv", "--bounding-set=-net_admin,-sys_admin", "--inh-caps=-net_admin,-sys_admin"]
        cases.append((container, None, 0, interfaces))
        if os.uname().machine in UNSHARE:
            cases.append((container, forbid_unshare, 0, interfaces + ["no    separate network",
                                                                      "a seccomp filter is active"]))
            cases.append(([], forbid_raw_sockets, 1, ["no    raw sockets       raw sockets are forbidden", "fails separate network",
                                                      "verdict: rnic-run cannot run programs here"]))
    for prefix, filtered, status, expected in cases:
        done = run(prefix + [rnic_run, "--doctor"], filtered)
        print(done.stdout)
        assert done.returncode == status, f"{prefix}: status {done.returncode}, expected {status}"
        for text in ["ok    library"] + expected:
            assert text in done.stdout, f"{prefix}: no '{text}'"
        said = run(prefix + [rnic_run, "--"] + PINGPONG, filtered)
        works = said.returncode == 0
        separate = said.stdout.count("runs in a separate network")
        assert separate == int("verdict: programs run in a separate" in done.stdout), f"{prefix}: {said.stdout}"
        silent = run(prefix + [rnic_run, "-n", "--", "true"], filtered)
        assert not works or silent.stdout == "" or silent.returncode, f"{prefix}: rnic-run -n: {silent.stdout}"
        shared = run(prefix + [rnic_run, "--wire", "shm", "--", "true"], filtered)
        assert shared.returncode == 0, f"{prefix}: --wire shm: {shared.stdout}"
        assert works == (status == 0), f"{prefix}: rnic-run {'works' if works else 'fails'}: {said.stdout}"
    without_libseccomp(rnic_run)
    if is_root:
        without_links(rnic_run)
    return 0


if __name__ == "__main__":
    sys.exit(main())
