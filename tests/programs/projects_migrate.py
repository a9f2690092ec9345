#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Migrates a machine of QEMU to a URI, through its monitor, and prints the status.

projects_migrate.py MONITOR-SOCKET URI"""
import socket
import sys
import time


def ask(monitor, command):
    monitor.sendall(command.encode() + b"\n")
    text = b""
    while not text.endswith(b"(qemu) "):
        text += monitor.recv(4096)
    return text.decode(errors="replace")


with socket.socket(socket.AF_UNIX) as talk:
    talk.settimeout(60)
    talk.connect(sys.argv[1])
    while not talk.recv(4096).endswith(b"(qemu) "):
        pass
    print(ask(talk, f"migrate -d {sys.argv[2]}"))
    for _ in range(100):
        status = ask(talk, "info migrate")
        if "completed" in status or "failed" in status:
            break
        time.sleep(0.3)
    print(status.replace("\r", ""))
sys.exit(0 if "completed" in status else 1)
