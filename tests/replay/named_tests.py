#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""The tests that the table in replay/check.md names exist, and so do the members of the JSON lines.

    named_tests.py SOURCE_DIR
"""
import glob
import os
import re
import sys


def main():
    root = sys.argv[1]
    with open(os.path.join(root, "replay/check.md"), encoding="utf-8") as f:
        table = f.read().split("## What is reconstructed")[1]
    cases = "".join(open(p, encoding="utf-8").read()
                    for p in glob.glob(os.path.join(root, "tests/flow/cases_*.c")))
    json = "".join(open(p, encoding="utf-8").read()
                   for p in glob.glob(os.path.join(root, "replay/*json*.c")))
    missing, cnt = [], 0
    for row in table.splitlines():
        cells = [c.strip() for c in row.split("|")[1:-1]]
        if len(cells) != 3 or cells[0] in ("what", "---"):
            continue
        for member in re.findall(r"`(?:\w\.|cm\.)?(\w+)`", cells[1]):
            cnt += 1
            if '"%s"' % member not in json:
                missing.append("member " + member)
        for part in cells[2].split(";"):
            found = re.match(r"\s*(\w+/test_\w+\.c) (.*)", part)
            names = re.findall(r"case (\w+)", part) if not found else found.group(2).split(", ")
            text = cases
            if found:
                with open(os.path.join(root, "tests", found.group(1)), encoding="utf-8") as f:
                    text = f.read()
            for name in names:
                cnt += 1
                if ("TEST(%s)" if found else "ROW(%s)") % name not in text:
                    missing.append("%s %s" % (found.group(1) if found else "case", name))
            if not names:
                missing.append("no test: " + cells[0])
    print("%d names, missing: %s" % (cnt, ", ".join(missing) or "none"))
    return 1 if missing or cnt < 60 else 0


if __name__ == "__main__":
    sys.exit(main())
