#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Reads the recipes for containers and for CI: .packaging/Containerfile, and the yaml blocks of replay/docs/ci.md.

    recipes.py check                 fails if a recipe is longer than 15 lines, or names a file that the source tree lacks
    recipes.py containerfile STAGE   prints the steps of a stage: "run COMMAND" or "copy FROM TO"
    recipes.py ci NUMBER             prints the steps of a yaml block of ci.md, one per line
    recipes.py folder                prints the commands of ci.md that replace a container by a folder

tests/matrix recipes runs the steps in fresh systems. The test documents.replay.docs.ci runs the steps of ci.md that
install no packages. STAGE and NUMBER begin with 1.
"""
import json
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
CONTAINERFILE = TOP / ".packaging/Containerfile"
DOCUMENT = TOP / "replay/docs/ci.md"
LINES_MAX = 15


def instructions():
    """Returns the instructions of the Containerfile, each as (name, arguments)."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(encoding="utf-8"), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def stages():
    """Returns for each stage its base image and steps."""
    found = []
    for name, rest in instructions():
        if name == "FROM":
            found.append((rest.split()[0], []))
        elif name == "RUN":
            found[-1][1].append(("run", rest))
        elif name == "COPY":
            found[-1][1].append(("copy", re.sub(r"^--from=\S+ ", "", rest)))
        elif name == "CMD":
            found[-1][1].append(("run", " ".join(json.loads(rest))))
        elif name == "WORKDIR":
            found[-1][1].append(("cd", rest))
        else:
            raise SystemExit(f"{CONTAINERFILE}: {name}: unknown instruction")
    return found


def blocks():
    """Returns the yaml blocks of ci.md, each as a list of lines."""
    return [block.splitlines() for block in
            re.findall(r"^```yaml\n(.*?)^```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)]


def folder_commands():
    return re.search(r"^```sh\n(debootstrap .*?)\n```$", DOCUMENT.read_text(encoding="utf-8"), re.M | re.S)[1]


def steps_of(block):
    """Returns the commands of a yaml block: each "- run: COMMAND", and each item of "script:"."""
    steps, script = [], False
    for line in block:
        script = line.strip() == "script:" or (script and line.lstrip().startswith("- "))
        step = re.match(r"\s*- run: (.*)", line) or (script and re.match(r"\s*- (.*)", line))
        if step:
            steps.append(step[1])
    return steps


def check():
    wrong = []
    lines = sum(1 for line in CONTAINERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    if lines > LINES_MAX:
        wrong.append(f"{CONTAINERFILE}: {lines} lines")
    images = stages()
    if len(images) != 2 or not all(image.startswith("debian:") and image.endswith("-slim") for image, _ in images):
        wrong.append(f"{CONTAINERFILE}: not two stages of Debian slim: {[image for image, _ in images]}")
    groups = re.findall(r"tests/deps (\w+)", json.dumps(images))
    if not groups or any(subprocess.run([TOP / "tests/deps", "--list", group], capture_output=True, check=False).returncode
                         for group in groups):
        wrong.append(f"{CONTAINERFILE}: groups of tests/deps: {groups}")
    presets = {preset["name"] for preset in json.loads((TOP / "CMakePresets.json").read_text())["configurePresets"]}
    named = set(re.findall(r"--preset (\w+)", json.dumps(images)))
    if not named or not named <= presets:
        wrong.append(f"{CONTAINERFILE}: presets {named}")
    if len(blocks()) != 2:
        wrong.append(f"{DOCUMENT}: {len(blocks())} yaml blocks, not 2")
    for block in blocks():
        steps = " ".join(steps_of(block))
        if len(block) > LINES_MAX:
            wrong.append(f"{DOCUMENT}: a recipe of {len(block)} lines")
        for word in ("apt-get install", "rnic-run", "rocedrill replay", "rocedrill drill"):
            if word not in steps:
                wrong.append(f"{DOCUMENT}: a recipe without {word}: {steps}")
    print("\n".join(wrong) or "recipes: a Containerfile and 2 recipes for CI")
    return 1 if wrong else 0


def main():
    action, number = sys.argv[1], int(sys.argv[2]) - 1 if len(sys.argv) > 2 else 0
    if action == "check":
        return check()
    if action == "containerfile":
        print("\n".join(" ".join(step) for step in stages()[number][1]))
    elif action == "folder":
        print(folder_commands())
    elif action == "ci":
        print("\n".join(steps_of(blocks()[number])))
    else:
        raise SystemExit(__doc__)
    return 0


if __name__ == "__main__":
    sys.exit(main())
