#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Replays and checks the conversations that tests/interop/bulk recorded, and prints tables of the verdicts.

    bulk_verdicts.py --bin FOLDER [--jobs N] [--tables-only] FOLDER

FOLDER/NAME/verdicts.json receives the result of each conversation; FOLDER/faults.tsv lists every failed side, skipped side
and ERROR finding with its capture and text. Exit status 1 if a capture fails or has an ERROR finding.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from both_ends import ADDRESS  # noqa: E402

SIDES = ("left", "right")
POINTS = ("left", "wire", "right")
OPERATIONS = {"SEND": "send", "SEND_IMM": "send", "SEND_INV": "send", "WRITE": "write", "WRITE_IMM": "write",
              "READ": "read", "FADD": "atomic", "CAS": "atomic"}
LOSSY = re.compile(r"loss|corrupt|rate") # impairments that lose packets
NUMBER = re.compile(r"0x[0-9a-f]+|\b\d+\b")


def profile(kernel):
    """Returns the nearest peer profile of --quirks for a kernel version."""
    return "linux-rxe-6.1" if kernel.startswith("6.1.") else "linux-rxe-6.12"


def told(program, *arguments):
    """Returns the exit status and the standard output of rocedrill."""
    try:
        done = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return done.returncode, done.stdout


def reason_class(text):
    """Returns a reason without its numbers, so that equal causes count together."""
    return NUMBER.sub("N", text or "-")[:160]


def replayed(args, path, peer):
    status, out = told(args.rocedrill, "replay", "--jobs", "1", "--quiet", "--json", "-", "--quirks", peer, path)
    result = {"status": status, "verdict": "CRASHED", "sides": collections.Counter(), "faults": [], "compared": 0,
              "inconclusive": 0, "reasons": collections.Counter(), "requests": 0, "doubted_requests": 0}
    if status not in (0, 1, 2):
        return result
    report = json.loads(out)["captures"][0] if out else {"verdict": "UNUSABLE"}
    result["verdict"] = report.get("verdict", "UNUSABLE")
    sides = [(conn[key], key[3:], conn["first_frame"]) for conn in report.get("directions", [])
             for key in ("as_responder", "as_requester") if key in conn]
    sides += [(one, one["as"], one["first_frame"]) for key in ("streams", "exchanges") for one in report.get(key, [])]
    for side, role, frame in sides:
        verdict, doubt = side["verdict"], side.get("inconclusive", 0)
        result["sides"][f"{role} {verdict}"] += 1
        compared = side.get("compared", side.get("counts", {}).get("compared", 0))
        if role == "requester":
            result["requests"] += compared + doubt # the compared requests exclude the inconclusive ones
            result["doubted_requests"] += doubt
        else:
            result["compared"] += compared
        if isinstance(doubt, dict):
            result["faults"].append(("INCONCLUSIVE", role, doubt["first_frame"], doubt["capture"]))
            result["inconclusive"] += doubt["responses"]
            for reason in doubt["reasons"]:
                result["reasons"][reason["capture"]] += reason["responses"]
        if verdict in ("SKIPPED", "INCONCLUSIVE"):
            result["faults"].append((verdict, role, frame, side.get("reason", "")))
    for skip in report.get("skipped", []):
        result["faults"].append(("SKIPPED", "flow", skip.get("first_frame", 0), skip["reason"]))
    failed = set()
    for diff in report.get("differences", []):
        side = (diff.get("direction"), diff.get("stream"), diff.get("exchange"), diff["as"])
        if not diff.get("known_deviation") and side not in failed: # the differences of other fields follow from the first one
            failed.add(side)
            result["faults"].append(("FAIL", diff["as"], diff["frame"],
                                     f"{diff['field']}: recorded {diff['recorded']}, replayed {diff['replayed']}: {diff['reason']}"))
    return result


def checked(args, path, peer):
    status, out = told(args.rocedrill, "check", "--quiet", "--json", "-", "--quirks", peer, path)
    result = {"status": status, "faults": [], "connections": []}
    if status not in (0, 1, 2):
        result["faults"].append(("CRASHED", "check", 0, str(status)))
        return result
    for line in out.splitlines():
        one = json.loads(line)
        if one["type"] == "finding" and one["severity"] == "error" and not one["known"]:
            result["faults"].append(("ERROR", one["rule"], one["frame"], one["text"]))
        elif one["type"] == "connection":
            result["connections"].append(one)
    return result


def completed_by_program(said):
    """Returns the work requests that random_verbs completed with success: {side: {QPN: {operation: number}}}. The work
    requests before a completion have completed too, unless it is flushed. QPNs that are used twice are left out, those of a
    round that ended early, and those whose retries ran out: rxe may give up while a captured response waits in the guest."""
    done, side = {}, None
    for line in said.splitlines():
        words = line.split()
        if line.startswith(("left$", "right$")):
            side = line.split("$")[0]
            ours, posted, last = done.setdefault(side, {}), {}, {}
            numbers = {}
        elif side and line.startswith("qp "):
            numbers[words[1]] = int(words[2][6:], 16)
            ours[numbers[words[1]]] = None if numbers[words[1]] in ours else collections.Counter()
            posted[words[1]] = {}
            last[words[1]] = -1
        elif side and len(words) > 4 and words[1] == "post" and words[2] in posted:
            posted[words[2]][int(words[3])] = OPERATIONS.get(words[4])
        elif side and len(words) > 4 and words[1] == "wc" and words[2] in posted and "Flushed" not in line:
            count = ours[numbers[words[2]]]
            end = int(words[3]) + (words[4] == "success")
            for work in range(last[words[2]] + 1, end):
                if count is not None and posted[words[2]].get(work):
                    count[posted[words[2]][work]] += 1
            last[words[2]] = max(last[words[2]], end - 1)
            if "retry counter exceeded" in line:
                ours[numbers[words[2]]] = None
        elif side and "not all completed" in line: # the program stopped polling before all requests had completed
            ours.update(dict.fromkeys(numbers.values()))
        elif side and line.startswith(f"{side}: exit status") and line.split()[-1] != "0": # a signal ended the program
            done[side] = {}
    return done


def compared_with_program(side, address, connections, done):
    """Compares the completed operations at one end. Returns the number of compared figures, and a list of the differences."""
    figures, differ = 0, []
    for conn in connections:
        for me in ("a", "b"):
            of = conn[me]
            if conn["uses"] != 1 or of["address"] != address or done.get(of["qpn"]) is None:
                continue
            for kind in sorted(set(OPERATIONS.values())):
                told = of["operations"].get(kind, {}).get("completed", 0)
                figures += 1
                if told != done[of["qpn"]][kind]:
                    differ.append(("TRUTH", side, conn["first_frame"], f"QP 0x{of['qpn']:x}: the program completed "
                                   f"{done[of['qpn']][kind]} {kind}, check counts {told}"))
    return figures, differ


def judge(args, name):
    folder = os.path.join(args.folder, name)
    with open(os.path.join(folder, "about.json"), encoding="utf-8") as file:
        about = json.load(file)
    result = {"about": about, "points": {}, "figures": 0, "truth": []}
    with open(os.path.join(folder, "said.txt"), encoding="utf-8", errors="replace") as file:
        done = completed_by_program(file.read()) if "random_verbs" in about["client"] else {}
    for point in POINTS:
        path = os.path.join(folder, point + ".pcap")
        # An end records its packets before netem's queue. If the queue refuses a packet, the packet never leaves the
        # end, and rxe detects this. No capture point of a user sees such packets, so these captures are not judged.
        if os.path.getsize(path) <= 24 or point in SIDES and about["netem"][SIDES.index(point)].startswith("rate"):
            continue
        peer = profile(about["kernel"])
        replay, check = replayed(args, path, peer), checked(args, path, peer)
        # In a conversation of kind "leave", one end leaves early and polls no completions.
        if point in done and about["kind"] not in ("leave", "ud", "uc"):
            v6 = "left=2001" in about["client"]
            address = ADDRESS[point]["6" if v6 else ""]
            figures, differ = compared_with_program(point, address, [
                conn for conn in check["connections"] if conn["service"] == "RC"], done[point])
            result["figures"] += figures
            result["truth"] += differ
        result["points"][point] = {"replay": replay, "check": {"status": check["status"], "faults": check["faults"]}}
    with open(os.path.join(folder, "verdicts.json"), "w", encoding="utf-8") as file:
        json.dump(result, file)
    return name, result


def table(title, head, lines):
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{' --- |' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(str(cell) for cell in line)} |")


def share(part, of):
    return f"{100 * part / of:.2f} %" if of else "-"


def reason_table(results):
    reasons = collections.defaultdict(collections.Counter)
    for result in results.values():
        of = "lossy" if LOSSY.search(" ".join(result["about"]["netem"])) else "clean"
        for point in result["points"].values():
            reasons["all responses"][of] += point["replay"]["compared"]
            for reason, count in point["replay"]["reasons"].items():
                reasons[reason][of] += count
    rows = sorted(reasons.items(), key=lambda item: -sum(item[1].values()))
    table("Inconclusive responses", ["the capture ...", "no loss", "share", "loss", "share"],
          [[reason, row["clean"], share(row["clean"], reasons["all responses"]["clean"]), row["lossy"],
            share(row["lossy"], reasons["all responses"]["lossy"])] for reason, row in rows])


def verdict_tables(results):
    for title, key in (("Kernel", "kernel"), ("Impairment", "impaired"), ("Program", "kind")):
        rows = collections.defaultdict(collections.Counter)
        for result in results.values():
            name = result["about"][key]
            row = rows["a different one each way" if "+" in name and key == "impaired" else name]
            row["conversations"] += 1
            for point in result["points"].values():
                row["captures"] += 1
                row[point["replay"]["verdict"]] += 1
                row["compared"] += point["replay"]["compared"]
                row["inconclusive"] += point["replay"]["inconclusive"]
                row["requests"] += point["replay"]["requests"]
                row["doubted"] += point["replay"]["doubted_requests"]
                row["errors"] += any(fault[0] == "ERROR" for fault in point["check"]["faults"])
                row["skips"] += any(fault[0] == "SKIPPED" for fault in point["replay"]["faults"])
        total = sum(rows.values(), collections.Counter())
        table(f"By {title.lower()}", [title, "conversations", "captures", "PASS", "FAIL", "SKIPPED", "other", "with a skipped side",
                                      "responses", "inconclusive", "requests", "inconclusive", "captures with an ERROR of check"],
              [[name, row["conversations"], row["captures"], row["PASS"], row["FAIL"], row["SKIPPED"],
                row["captures"] - row["PASS"] - row["FAIL"] - row["SKIPPED"], row["skips"], row["compared"],
                share(row["inconclusive"], row["compared"]), row["requests"], share(row["doubted"], row["requests"]),
                row["errors"]] for name, row in [*sorted(rows.items()), ("all", total)]])


def fault_tables(results):
    classes = collections.defaultdict(lambda: [0, set(), ""])
    for name, result in sorted(results.items()):
        for point, of in result["points"].items():
            for kind, who, frame, text in of["replay"]["faults"] + of["check"]["faults"]:
                one = classes[kind, who, reason_class(text)]
                one[0] += 1
                one[1].add(f"{name}/{point}")
                one[2] = one[2] or f"{name}/{point} frame {frame}"
    table("By reason", ["kind", "where", "captures", "times", "reason", "first seen"],
          [[kind, who, len(one[1]), one[0], reason, one[2]]
           for (kind, who, reason), one in sorted(classes.items(), key=lambda item: (item[0][0], -len(item[1][1])))])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--new", action="store_true", help="judge only what has no verdicts.json")
    parser.add_argument("--tables-only", action="store_true")
    parser.add_argument("folder")
    args = parser.parse_args()
    args.rocedrill = os.path.join(args.bin, "rocedrill")
    results, names = {}, sorted(name for name in os.listdir(args.folder)
                                if os.path.exists(os.path.join(args.folder, name, "about.json")))
    todo = []
    for name in names:
        done = os.path.join(args.folder, name, "verdicts.json")
        if os.path.exists(done) and (args.new or args.tables_only):
            with open(done, encoding="utf-8") as file:
                results[name] = json.load(file)
        elif not args.tables_only:
            todo.append(name)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results.update(pool.map(lambda name: judge(args, name), todo))
    with open(os.path.join(args.folder, "faults.tsv"), "w", encoding="utf-8") as file:
        for name, result in sorted(results.items()):
            for point, of in result["points"].items():
                for fault in of["replay"]["faults"] + of["check"]["faults"]:
                    print(*fault[:2], f"{name}/{point}.pcap", *fault[2:], sep="\t", file=file)
            for fault in result.get("truth", []):
                print(*fault[:2], name, *fault[2:], sep="\t", file=file)
    verdict_tables(results)
    reason_table(results)
    print(f"\n{sum(result.get('figures', 0) for result in results.values())} numbers of completed operations compared with "
          f"the programs' completions, {sum(len(result.get('truth', [])) for result in results.values())} differ")
    fault_tables(results)
    return any(of["replay"]["verdict"] in ("FAIL", "CRASHED") or of["check"]["faults"]
               for result in results.values() for of in result["points"].values())


if __name__ == "__main__":
    sys.exit(main())
