#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""symbols.py OUR_LIBRARY: compares our libibverbs.so.1 with that of the system.

1. Both have the same SONAME.
2. Ours has each symbol of the system's library, with the same kind and version. A default version is the default in
   ours, too, except for private versions, because no program is linked against them.
3. Ours has no other symbol of a public version, except of versions later than the last version of the system."""
import re
import subprocess
import sys

FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/lib")


def readelf(option, path):
    return subprocess.run(["readelf", "-W", option, path], check=True, capture_output=True,
                          text=True).stdout


def symbols(path):
    found = {}
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and "@" in fields[7] and fields[6] not in ("UND", "ABS"):
            found[re.sub("@@(?=IBVERBS_PRIVATE_)", "@", fields[7])] = fields[3]
    return found


def public(name):
    """Returns the minor number of a public version, or -1."""
    match = re.search(r"@IBVERBS_1\.(\d+)$", name)
    return int(match[1]) if match else -1


def main():
    ours = sys.argv[1]
    system = None
    for folder in FOLDERS:
        try:
            with open(f"{folder}/libibverbs.so.1", "rb"):
                system = f"{folder}/libibverbs.so.1"
                break
        except OSError:
            pass
    if not system:
        sys.exit("the system's libibverbs.so.1 is not installed")
    for path in (system, ours):
        if "soname: [libibverbs.so.1]" not in readelf("-d", path):
            sys.exit(f"{path}: not the SONAME libibverbs.so.1")
    have, want = symbols(ours), symbols(system)
    wrong = [f"missing: {kind} {name}" for name, kind in want.items() if have.get(name) != kind]
    wrong += [f"not in the system's: {name}" for name in have
              if name not in want and 0 <= public(name) <= max(map(public, want))]
    print(f"{system}: {len(want)} symbols; ours: {len(have)}")
    if len(want) < 150:
        wrong.append("the library of the system has fewer than 150 symbols")
    print("\n".join(wrong) or "all symbols found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
