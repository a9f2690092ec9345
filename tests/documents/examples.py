#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Runs the commands that the documents print, and compares their output with the output in the document.

    examples.py [--write] BIN [DOCUMENT...]   BIN: folder of the built programs; default: all documents with examples
    examples.py --list                        names the documents with examples
    examples.py --inline BIN                  checks the commands of our programs within a line of a document, as `rocedrill check -v`
    examples.py --not-run                     lists the commands that no test runs, with the reasons of not_run.txt
    examples.py --self-test                   checks that a wrong example is found

In a fenced block, a line that begins with "$ " is a command for bash, up to the line without a backslash at its end. The
lines up to the next command are its output, standard error included. "⋮" on a line by itself stands for any number of
lines, and "…" for any text within a line. In a block of the language yaml, each "- run: COMMAND" and each item of
"script:" is a step that must end with status 0; steps that install packages are not run.

In a block without a language, a line that begins with the name of one of our programs, without "$ ", is a usage: a
command without printed output. It must not end with status 2 (wrong usage) or more. If it names a capture or drill that
does not exist, the test creates this file as a copy of one of ours. network.py runs usages that need an interface or
another host, and not_run.txt has the reasons why the others are not run.

Within a line, a command of our programs must name an existing command, and options that its --help lists. If it names files
of the source tree and nothing of the reader, it must run like a usage.

All commands of a document run in one temporary folder, which contains links to the folders and files of the source tree,
and each in a separate network namespace if the user may create one. "$ echo $?" prints the status of the command before it. --write
replaces each printed output that differs.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 240  # limit for one command, s
FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
STEP = re.compile(r"^\s*- (?:run: )?(.+)$")
USAGE = re.compile(r"^(rocedrill|rnic-run|rnic-info) (?!.*(--live|--open|wireshark|build/|PROGRAM|CAPTURE))")
STAND_INS = (("traces/captures/multi-qp.pcap", re.compile(r"(?<![\w/.-])[\w-]+\.pcap(?:ng)?(?:\.zst)?(?![\w.])")),
             ("tests/conformance/rc-rsp/068-one-nak-a-gap.drill", re.compile(r"(?<![\w/.-])[\w-]+\.drill(?![\w.])")))
INSTALLS = re.compile(r"^(sudo )?apt(-get)? ")
# A command outside the examples: in a fenced block, in an indented line, or, for the programs of INLINE, within a line.
PROGRAMS = (r"(?:rocedrill|rnic-run|rnic-info|build/bin/\S+|tcpdump|tshark|wireshark|ssh|ip|sudo|setpriv|xdg-open|cd|cc|cmake|c?make|"
            r"\.?\./\w+|apt|apt-get|configure|for|parallel|sbatch|raw_ethernet_lat|RPMA_\w+|(?:tests|replay|plugin|traces)/\S+)")
COMMAND = re.compile(rf"^ *(?:\$ )?(?:(?:target|here) +)?({PROGRAMS}(?: .*|$))")
INLINE = re.compile(r"`((?:tcpdump|ssh|wireshark|tshark|xdg-open|ip) [^`]+)`")
# A command of our programs within a line. The reader replaces each word in capitals, such as CAPTURE.
OURS = re.compile(r"`((?:rocedrill|rnic-run|rnic-info)(?: [^`]*)?)`")
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")
NOT_RUN = TOP / "tests/documents/not_run.txt"


class Example:
    """A command, and the lines of a document that contain its output: lines[begin:end], each after `indent`."""

    def __init__(self, at, command, indent):
        self.at, self.command, self.indent = at, command, indent
        self.begin = self.end = 0  # 0, 0: no printed output
        self.status_max = 0  # highest allowed exit status of an example without a printed output

    def output(self, lines):
        return [line.removeprefix(self.indent) for line in lines[self.begin:self.end]]


def examples_of(lines):
    """Returns the examples of a document with shell commands, and the steps of its yaml blocks, in their order."""
    found, language, current, script, indent = [], None, None, False, ""
    for at, line in enumerate(lines):
        fence = FENCE.match(line)
        line = line.removeprefix(indent)
        if fence:
            indent = fence[1]
            language = fence[2] or "text" if language is None else None
            current, script = None, False
        elif language == "yaml":
            script = (script and line.lstrip().startswith("- ")) or line.strip() == "script:"
            step = STEP.match(line)
            if step and (script or line.lstrip().startswith("- run: ")) and not INSTALLS.match(step.group(1)):
                found.append(Example(at, step.group(1), indent))
        elif language and current and lines[at - 1].endswith("\\") and current.begin == at:
            current.command += "\n" + line
            current.begin = current.end = at + 1
        elif language and line.startswith("$ "):
            current = Example(at, line[2:], indent)
            current.begin = current.end = at + 1
            found.append(current)
        elif language and current:
            current.end = at + 1
        elif language == "text" and USAGE.match(line):
            found.append(Example(at, line, indent))
            found[-1].status_max = 1
    return found


def others_of(lines):
    """Returns the commands of a document that are not examples, with single blanks and without comments."""
    examples = set()
    for example in examples_of(lines):
        examples.update(range(example.at, max(example.at + 1, example.end)))
    found, language, joins = [], None, False
    for at, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence:
            language = fence[2] or "text" if language is None else None
            continue
        if language is None:
            found += INLINE.findall(line)
        command = COMMAND.match(line) if language in ("text", "sh") or language is None and line.startswith("    ") else None
        if joins:
            found[-1] = found[-1][:-1] + line.strip()
        elif command and at not in examples:
            found.append(command[1])
        joins = (joins or command is not None and at not in examples) and line.endswith("\\")
    return [re.sub(r" +", " ", re.sub(r"(^| )[#(].*", "", command)).strip() for command in found]


def markdown():
    """Returns the documents of the source tree, which may be a copy without git's folder."""
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            capture_output=True, text=True).stdout.split()
    return [TOP / name for name in listed] or [path for path in TOP.rglob("*.md") if "build" not in path.parts]


def list_not_run():
    """Prints the commands that neither this program nor network.py runs. Returns the number of those without a reason, and of
    reasons without a command."""
    rows = [line.split(" | ") for line in NOT_RUN.read_text().splitlines() if line and line[0] != "#"]
    network = subprocess.run([sys.executable, "-B", TOP / "tests/documents/network.py", "--list"], capture_output=True,
                             text=True, check=True).stdout.splitlines()
    used, wrong = set(), 0
    for path in markdown():
        for command in others_of(path.read_text().splitlines()):
            text = f"{path.relative_to(TOP)}: {command}"
            row = next((row for row in rows if re.search(row[0], text)), None)
            why = "network.py" if text in network else row[1] if row else "NO REASON"
            used.add(row[0] if row and text not in network else None)
            wrong += why == "NO REASON"
            print(f"{text}\n    {why}")
    for pattern, _ in rows:
        if pattern not in used:
            print(f"not_run.txt: '{pattern}' matches no command")
            wrong += 1
    return wrong


def inline_of(text):
    """Returns the commands of our programs within the lines of a document, without the fenced blocks."""
    text = re.sub(r"^\s*```.*?^\s*```", "", text, flags=re.M | re.S)
    return sorted({" ".join(found.replace("\\|", "|").split()) for found in OURS.findall(text)})


def check_inline(programs):
    """Checks the commands within lines. Returns the number of wrong ones."""
    wrong = 0
    with Shell(programs) as shell:
        helps = {}
        for path, command in ((path, command) for path in markdown() for command in inline_of(path.read_text())):
            words = re.split(r" -- | \| ", command)[0].split()
            files = [word for word in words if "/" in word]
            head = words[:2] if words[0] == "rocedrill" and words[1:] and words[1][0] != "-" else words[:1]
            name = " ".join(head)
            if name not in helps:
                text = "\n".join(shell.run(name + " --help"))
                helps[name] = set(re.findall(r"(?<![\w-])--?\w[\w-]*", text)) if shell.status == 0 else None
            options = [re.sub("[=\\[].*", "", word) for word in words[len(head):] if re.match("--?\\w", word)]
            problems = [f"no option {option}" for option in options if option not in (helps[name] or options) | {"--help"}]
            if helps[name] is None:
                problems.append(f"no command '{name}'")
            elif files and all((TOP / word).exists() for word in files) and not PLACEHOLDER.search(command):
                actual = shell.run(command)
                problems += actual[-3:] + [f"exit status {shell.status}"] if shell.status > 1 else []
            wrong += bool(problems)
            if problems:
                print(f"{path.relative_to(TOP)}: {command}: {'; '.join(problems)}")
    return wrong


def documents():
    """Returns the documents that have examples."""
    return sorted(path for path in markdown() if examples_of(path.read_text().splitlines()))


def matches(printed, actual):
    """Returns whether an output equals the printed lines, in which ⋮ and … stand for other text."""
    pattern = ""
    for line in printed:
        if line.strip() == "⋮":
            pattern += "(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in actual)) is not None


class Shell:
    """The folder in which the commands of a document run, and the exit status of the latest command."""

    def __init__(self, programs):
        self.dir = tempfile.mkdtemp(prefix="rocedrill-documents-")
        for path in TOP.iterdir():
            if path.name not in (".git", "build"):
                os.symlink(path, os.path.join(self.dir, path.name))
        self.env = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": self.dir, "LC_ALL": "C.UTF-8", "TZ": "UTC",
                    "TMPDIR": self.dir}
        self.status = 0
        alone = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        may = subprocess.run(alone + ["true"], capture_output=True).returncode == 0
        self.prefix = alone if may else []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)

    def make_files(self, command):
        """Creates the captures and drills that a command names and that do not exist."""
        for source, names in STAND_INS:
            for name in names.findall(command):
                path = os.path.join(self.dir, name)
                if not os.path.exists(path):
                    shutil.copy(TOP / source, path)

    def run(self, command):
        """Returns the lines that a command prints."""
        shell = subprocess.Popen(self.prefix + ["bash", "-c", f"(exit {self.status})\n{command}"], cwd=self.dir,
                                 env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        try:
            output = shell.communicate(timeout=SECONDS)[0].splitlines()
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            output = shell.communicate()[0].splitlines() + [f"no end after {SECONDS} s"]
        self.status = shell.returncode
        return output


def report(name, example, lines, actual):
    print(f"{name}:{example.at + 1}: {example.command}")
    print("  printed:\n" + "".join(f"    {line}\n" for line in example.output(lines))
          + "  actual:\n" + "".join(f"    {line}\n" for line in actual))


def run_document(path, programs, write):
    """Runs the examples of a document. Returns the number of examples whose output differs. With `write`, the
    document then contains the actual output."""
    lines = path.read_text().splitlines()
    name = path.relative_to(TOP) if path.is_relative_to(TOP) else path
    different = []
    with Shell(programs) as shell:
        for example in examples_of(lines):
            if example.status_max:
                shell.make_files(example.command)
            actual = shell.run(example.command)
            if example.begin == 0:
                if not 0 <= shell.status <= example.status_max:
                    report(name, example, lines, actual + [f"exit status {shell.status}"])
                    different.append((example, None))
            elif not matches(example.output(lines), actual):
                if not write:
                    report(name, example, lines, actual)
                different.append((example, actual))
    if write:
        for example, actual in reversed(different):
            if actual is not None:
                lines[example.begin:example.end] = [(example.indent + line).rstrip() for line in actual]
        path.write_text("\n".join(lines) + "\n")
        different = [example for example, actual in different if actual is None]
    return len(different)


WRONG = """- An item of a list:

  ```
  $ printf 'a\\nb\\nc\\n'
  a
  ⋮
  c
  ```

```
$ echo one two \\
    three
one … three
$ false
$ echo $?
1
```
```yaml
script:
  - apt-get install nothing
  - "true"
```
```
rocedrill 1 my.pcap             # a usage
rocedrill 7 --live eth0
```
"""


def self_test():
    """Runs documents with known wrong examples. Returns the number of wrong results."""
    wrong = 0
    seen = others_of("`ip link`\n\n    $ rocedrill 1\n    build/bin/rnic-run 2\nrnic-info 3\n".splitlines())
    if seen != ["ip link", "rocedrill 1", "build/bin/rnic-run 2"]:
        print(f"self-test: commands outside of the examples: {seen}")
        wrong += 1
    for text, expected in ((WRONG, 0), (WRONG.replace("one …", "two …"), 1), (WRONG.replace("  c\n", "  d\n"), 1),
                           (WRONG.replace("⋮", "a"), 1), (WRONG.replace("\n1\n", "\n0\n"), 1),
                           (WRONG.replace('"true"', '"false"'), 1), (WRONG.replace("rocedrill 1", "rocedrill 2"), 1)):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "document.md"
            program = pathlib.Path(folder) / "rocedrill"
            program.write_text('#!/bin/sh\ntest -e "$2" && exit $1\nexit 9\n')
            program.chmod(0o755)
            path.write_text(text)
            found = run_document(path, folder, False)
            run_document(path, folder, True)
            left = run_document(path, folder, False)
            if found != expected or left != text.count('"false"') + text.count("rocedrill 2"):
                print(f"self-test: {found} differences, expected {expected}; {left} after --write, in\n{text}")
                wrong += 1
    return wrong


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--write", action="store_true")
    args.add_argument("--list", action="store_true")
    args.add_argument("--not-run", action="store_true")
    args.add_argument("--inline", action="store_true")
    args.add_argument("--self-test", action="store_true")
    args.add_argument("programs", nargs="?", metavar="BIN")
    args.add_argument("documents", nargs="*", type=pathlib.Path)
    args = args.parse_args()
    if args.list:
        print("\n".join(str(path.relative_to(TOP)) for path in documents()))
        return 0
    if args.not_run:
        return 1 if list_not_run() else 0
    if args.self_test:
        return 1 if self_test() else 0
    if not args.programs or not os.access(os.path.join(args.programs, "rocedrill"), os.X_OK):
        raise SystemExit("examples.py: no folder with the built programs is given")
    if args.inline:
        return 1 if check_inline(os.path.abspath(args.programs)) else 0
    wrong = 0
    for path in [path.resolve() for path in args.documents] or documents():
        if not examples_of(path.read_text().splitlines()):
            raise SystemExit(f"examples.py: {path}: no example")
        wrong += run_document(path, os.path.abspath(args.programs), args.write)
    if wrong:
        print(f"{wrong} examples differ; if the new output is right: tests/documents/examples.py --write BIN [DOCUMENT]")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
