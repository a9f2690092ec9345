#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks both ways to install the plugin: `cmake --install`, and roce.so in the personal plugin folder.

    install.py --plugins DIR --build DIR CAPTURE...

Installs the plugin below a temporary folder (DESTDIR). The plugin must be in the plugin folder of this Wireshark, and
the profile in its profile folder, and tshark must decode a capture with the plugin. Then the same with roce.so in
the personal plugin folder of a user, without WIRESHARK_PLUGIN_DIR.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile

from tshark import Tshark

SHOWN = ["roce.bth.opcode", "roce.stream", "roce.icrc.status"]


def shown(command, path):
    """Returns the number of packets in which this tshark prints all fields of SHOWN."""
    command = command + ["-r", path, "-T", "fields"] + [word for field in SHOWN for word in ("-e", field)]
    done = subprocess.run(command, capture_output=True, text=True)
    return sum(all(line.split("\t")) for line in done.stdout.splitlines()) if done.returncode == 0 else 0


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--build", required=True)
    args.add_argument("captures", nargs="+")
    args = args.parse_args()
    wrong = []
    plugins = subprocess.run(["pkg-config", "--variable=plugindir", "wireshark"], capture_output=True, text=True,
                             check=True).stdout.strip()
    with tempfile.TemporaryDirectory(prefix="rocedrill-install-") as dest:
        subprocess.run(["cmake", "--install", args.build, "--component", "plugin"], check=True,
                       env=dict(os.environ, DESTDIR=dest), stdout=subprocess.DEVNULL)
        for path in (plugins + "/epan/roce.so", "/usr/share/wireshark/profiles/RoCE/colorfilters",
                     "/usr/share/wireshark/profiles/RoCE/preferences"):
            if not os.path.isfile(dest + path):
                wrong.append(f"{path}: not installed")
        with Tshark(os.path.dirname(dest + plugins)) as shark:
            count = shown(shark.command([]), shark.file(args.captures[0]))
            wrong += [] if count else ["tshark shows nothing with the installed plugin"]
    with Tshark(args.plugins) as shark:
        path = shark.file(args.captures[0])
        none = [word for word in shark.command([]) if not word.startswith("WIRESHARK_PLUGIN_DIR=")]
        before = shown(none, path)
        wrong += ["a plugin is there before it is installed"] if before else []
        for built in glob.glob(os.path.join(args.plugins, "*/epan/roce.so")):
            version = os.path.basename(os.path.dirname(os.path.dirname(built)))
            own = os.path.join(shark.home, ".local/lib/wireshark/plugins", version, "epan")
            os.makedirs(own)
            shutil.copy(built, own)
        own = shown(none, path)
        wrong += [] if own == count else [f"from the own folder: {own} packets, {count} with the installed one"]
    for line in wrong:
        print(line)
    print(f"{count} packets with the installed plugin, {own} with one in the own folder, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
