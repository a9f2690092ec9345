# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Prints the table of drills and kernels for tests/interop/drills. Reads KERNEL-RUN.json in a folder and
compares the verdicts of the runs of a kernel."""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HEAD = """# Drills against Linux Soft-RoCE

This table has the verdicts of the drills (conformance tests of RDMA devices) on Linux Soft-RoCE.
`tests/interop/drills --page tests/conformance/linux-rxe.md BIN-FOLDER` writes it ([tests/interop](../interop/README.md)).

- `known`: a known deviation of Linux, described in [traces/linux-rxe.md](../../traces/linux-rxe.md)
- `inconclusive`: Linux behaved in another way that the specification permits
- `unsupported`: `rocedrill agent` or Linux lacks an operation

A drill with several variants has its worst verdict.

"""


def version(text):
    return [int(part) for part in re.findall(r"\d+", text)]


def read_runs(folder):
    """Returns for each kernel the reports of its runs, in order. KERNEL-RUN.PART.json continues a run that stopped."""
    runs = collections.defaultdict(dict)
    for path in sorted(folder.glob("*-*.json"), key=lambda path: version(path.stem)):
        kernel, _, run = path.stem.rpartition("-")
        report = json.loads(path.read_text())
        first = runs[kernel].setdefault(version(run)[0], report)
        if first is not report:
            first["drills"] += report["drills"]
            for name in first["totals"]:
                first["totals"][name] += report["totals"][name]
    return {kernel: [runs[kernel][run] for run in sorted(runs[kernel])] for kernel in sorted(runs, key=version)}


def too_slow(case):
    """Returns true if this host was too slow for the drill, so that its verdict proves nothing."""
    return case["verdict"] == "inconclusive" and " too slow: " in case.get("problem", "")


def best(reports):
    """Returns the report of a kernel: for each drill, the first run that was not too slow."""
    cases = collections.defaultdict(list)
    for report in reports:
        for case in report["drills"]:
            cases[case["name"], case["variant"]].append(case)
    drills = [next((case for case in runs if not too_slow(case)), runs[0]) for runs in cases.values()]
    drills.sort(key=lambda case: case["name"] + ".drill")  # the order of the files
    names = collections.Counter(case["verdict"] for case in drills)
    return {**reports[0], "drills": drills, "totals": {name: names[name] for name in reports[0]["totals"]}}


def changes(kernel, reports):
    """Prints the verdicts that change between the runs of a kernel. Returns their number."""
    tables = [{(case["name"], case["variant"]): case for case in report["drills"]} for report in reports]
    cnt = 0
    for case in tables[0]:
        runs = [table[case] for table in tables if case in table and not too_slow(table[case])]
        seen = [f"{run['verdict']} {run.get('known', '')}".strip() for run in runs]
        if len(set(seen)) > 1:
            print(f"{kernel}: {' '.join(case).strip()} changes between the runs: {', '.join(seen)}")
            cnt += 1
    return cnt


def matrix(rocedrill, reports):
    with tempfile.TemporaryDirectory() as scratch:
        paths = []
        for report in reports:
            for case in report["drills"]:
                case.pop("capture", None)
            paths.append(pathlib.Path(scratch, f"{len(paths)}.json"))
            paths[-1].write_text(json.dumps(report))
        table = pathlib.Path(scratch, "table.md")
        subprocess.run([rocedrill, "drill", "--matrix", table, *paths], check=True)
        return table.read_text()


def totals(reports):
    names = ["pass", "known", "fail", "inconclusive", "unsupported", "unusable"]
    lines = ["| variants of drills | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    for report in reports:
        lines.append(f"| {report['device']} | " + " | ".join(str(report["totals"][name]) for name in names) + " |")
    return "\n".join(lines) + "\n\n"


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--page", type=pathlib.Path)
    options.add_argument("--rocedrill", required=True)
    options.add_argument("folder", type=pathlib.Path)
    options = options.parse_args()
    runs = read_runs(options.folder)
    if not runs:
        sys.exit(f"{options.folder}: no report of a kernel")
    reports = [best(reports) for reports in runs.values()]
    text = totals(reports) + matrix(options.rocedrill, reports)
    if options.page:
        options.page.write_text(HEAD + text)
    else:
        print(text)
    changed = 0
    for kernel, reports in runs.items():
        changed += changes(kernel, reports)
        print(f"{kernel}: {len(reports)} runs")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
