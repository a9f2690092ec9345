# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs tshark with our plugin, or without any plugin, as an unprivileged user.

tshark ignores WIRESHARK_PLUGIN_DIR for root. Root therefore runs it as nobody, on readable copies of the files.
With a sanitizer build of the plugin, `preload` is the sanitizer's runtime. Wireshark's name tables
(manufacturers, services, enterprises) are disabled, because reading them takes a third of a short run.
"""
import argparse
import json
import os
import shutil
import subprocess
import tempfile

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def arguments():
    """Parses the arguments of scripts that compare the plugin with rocedrill."""
    args = argparse.ArgumentParser()
    args.add_argument("--plugins", required=True)
    args.add_argument("--rocedrill", required=True)
    args.add_argument("captures", nargs="+")
    return args.parse_args()


class Tshark:
    """tshark with the plugins in `plugins` (layout of WIRESHARK_PLUGIN_DIR). Use as a context manager."""

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
        """Returns a path that tshark can read, with the content `data` or a copy of the file `name`."""
        path = os.path.join(self.work, os.path.basename(name))
        if data is None:
            shutil.copyfile(name, path)
        else:
            with open(path, "wb") as out:
                out.write(data)
        os.chmod(path, 0o644)
        return path

    def command(self, args, plugin=True, program="tshark"):
        env = ["env", "HOME=" + self.home, "XDG_CONFIG_HOME=" + self.home, "TZ=UTC",
               "LC_ALL=C.UTF-8", "WIRESHARK_PLUGIN_DIR=" + self.dirs[plugin],
               "WIRESHARK_DATA_DIR=" + self.names]
        if plugin and self.preload:
            env += ["LD_PRELOAD=" + self.preload, "ASAN_OPTIONS=detect_leaks=0:abort_on_error=0",
                    "UBSAN_OPTIONS=print_stacktrace=1"]
        if program == "tshark" and "-G" not in args:
            args = ["-n"] + args
        return (NOBODY if os.getuid() == 0 else []) + env + [program] + args

    def run(self, args, plugin=True):
        """Returns (exit status, standard output, standard error)."""
        done = subprocess.run(self.command(args, plugin), capture_output=True, text=True,
                              errors="replace")
        return done.returncode, done.stdout, done.stderr

    def out(self, args, plugin=True):
        """Returns the standard output. Exits if tshark fails."""
        status, out, err = self.run(args, plugin)
        if status or "Dissector bug, protocol RoCE" in err:
            raise SystemExit(f"tshark {' '.join(args)}: exit status {status}: {err.strip()[:2000]}")
        return out


class Sharkd:
    """sharkd with the same plugins. It reads many captures without a new start, which takes 0.4 s in tshark."""

    def __init__(self, shark):
        self.errors = open(os.path.join(shark.work, "sharkd.errors"), "w+", errors="replace")
        self.process = subprocess.Popen(shark.command(["-"], program="sharkd"), text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.seek(0)
        bugs = [line for line in self.errors if "Dissector bug" in line]
        self.errors.close()
        if bugs:
            raise SystemExit("sharkd: " + "".join(bugs)[:2000])

    def call(self, method, **params):
        """Returns the result of a request of sharkd's protocol. If a loaded file ends early, sharkd sends no
        answer, although it has read the frames. So a second request, which it always answers, follows each one."""
        for number, name, more in ((1, method, params), (2, "status", {})):
            self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": name, "params": more}) + "\n")
        self.process.stdin.flush()
        reply = self.reply()
        if reply["id"] == 2:
            return None
        if "error" in reply or self.reply()["id"] != 2:
            raise SystemExit(f"sharkd: {method} {params}: {reply}")
        return reply["result"]

    def reply(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("sharkd ended")
        return json.loads(line)

    def rows(self, path, fields):
        """Loads a capture. Returns the values of the fields of each frame, after a pass over all. Several values
        of a field are joined by commas, and named values are shown by name."""
        self.call("load", file=path)
        return [row["c"] for row in self.call("frames", **{f"column{at}": field + ":0" for at, field in enumerate(fields)})]

    def frames(self, path):
        """Loads a capture. Yields the number, the Info column and the tree of each frame, after a pass over all."""
        self.call("load", file=path)
        for row in self.call("frames"):
            yield row["num"], row["c"][-1], self.call("frame", frame=row["num"], proto=True)["tree"]


def nodes(tree, depth=0):
    """Yields the depth, the text and the field's name and value of each node of a tree of sharkd."""
    for node in tree:
        name, _, value = node.get("f", "").partition(" == ")
        yield depth, node["l"], name, value.strip('"')
        yield from nodes(node.get("n", []), depth + 1)


def values(tree, fields):
    """Returns the values of each of the fields in a tree of sharkd, joined by commas."""
    found = {field: [] for field in fields}
    for _, _, name, value in nodes(tree):
        if name in found:
            found[name].append(value)
    return [",".join(found[field]) for field in fields]
