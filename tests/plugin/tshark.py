# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs tshark with our plugin, or with no plugin at all, as an unprivileged user.

As root, tshark ignores WIRESHARK_PLUGIN_DIR; then it is run as nobody, on copies that nobody can read.
With a sanitizer build of the plugin, PRELOAD names the sanitizer's runtime. Wireshark's lists of names
(manufacturers, services, enterprises) are left out: reading them is a third of a short run.
"""
import argparse
import os
import shutil
import subprocess
import tempfile

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def arguments():
    """Of a script that compares the plugin with the program: plugins, rocedrill, captures."""
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--rocedrill", required=True)
    args.add_argument("captures", nargs="+")
    return args.parse_args()


class Tshark:
    """tshark with the plugins below `plugins` (as WIRESHARK_PLUGIN_DIR has it). Use as a context."""

    def __init__(self, plugins, preload=None):
        self.work = tempfile.mkdtemp(prefix="rocedrill-shark-")
        os.chmod(self.work, 0o755)
        self.dirs = {True: os.path.join(self.work, "plugins"), False: os.path.join(self.work, "none")}
        shutil.copytree(plugins, self.dirs[True])
        os.mkdir(self.dirs[False])
        self.names = os.path.join(self.work, "names")
        os.mkdir(self.names)
        self.home = os.path.join(self.work, "home")
        os.mkdir(self.home)
        os.chmod(self.home, 0o777)
        self.preload = preload

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.work)

    def file(self, name, data=None):
        """A path that tshark can read; `data` is written to it, or `name` copied there."""
        path = os.path.join(self.work, os.path.basename(name))
        if data is None:
            shutil.copyfile(name, path)
        else:
            with open(path, "wb") as out:
                out.write(data)
        os.chmod(path, 0o644)
        return path

    def command(self, args, plugin=True):
        env = ["env", "HOME=" + self.home, "XDG_CONFIG_HOME=" + self.home, "TZ=UTC",
               "LC_ALL=C.UTF-8", "WIRESHARK_PLUGIN_DIR=" + self.dirs[plugin],
               "WIRESHARK_DATA_DIR=" + self.names]
        if plugin and self.preload:
            env += ["LD_PRELOAD=" + self.preload, "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0",
                    "UBSAN_OPTIONS=print_stacktrace=1"]
        return (NOBODY if os.getuid() == 0 else []) + env + ["tshark"] + (args if "-G" in args else ["-n"] + args)

    def run(self, args, plugin=True):
        """(exit status, what it printed, what it complained), tshark's usual chatter left out."""
        done = subprocess.run(self.command(args, plugin), capture_output=True, text=True,
                              errors="replace")
        return done.returncode, done.stdout, done.stderr

    def out(self, args, plugin=True):
        """What it prints; a failure is an error."""
        status, out, err = self.run(args, plugin)
        if status or "Dissector bug, protocol RoCE" in err:
            raise SystemExit(f"tshark {' '.join(args)}: exit status {status}: {err.strip()[:2000]}")
        return out
