#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks the published grammar of drills against the parser, in both directions.

grammar.py ROCEDRILL TOP
Reads the grammar that `rocedrill drill --grammar` prints, and recognizes each line of all drills with it: the grammar must
accept what the parser accepts. Each alternative and each optional part of the grammar must occur in a drill of
tests/conformance or in grammar.drill. Then, for each of these parts, inserts into a drill a character that no drill can
have. The error of the parser must name the file, line and column of this character, and what was expected.
The known deviations of --words are those of traces/linux-rxe.md.
"""
import collections
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

program, top = sys.argv[1], pathlib.Path(sys.argv[2])
TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|[0-9]+)([A-Za-z_]*)|([A-Za-z_][A-Za-z0-9_.-]*)|(\S))")
Token = collections.namedtuple("Token", "text column end")


def tokens(line):
    """Returns the tokens of a line. A unit is a separate token. The bytes after "data" are one token."""
    found, at = [], 0
    line = line.split("#")[0].rstrip()
    if m := re.match(r"(purpose)\s+(.*)", line):
        return [Token(m[i], *m.span(i)) for i in (1, 2)]
    while at < len(line):
        if found and found[-1].text == "data":
            m = re.compile(r"\s*(\S+)").match(line, at)
            groups = [m.span(1)]
        else:
            m = TOKEN.match(line, at)
            if not m:
                sys.exit(f"grammar: no token at {line[at:]!r}")
            groups = [m.span(i) for i in (1, 2, 3, 4) if m[i]]
        found += [Token(line[a:b], a, b) for a, b in groups]
        at = m.end()
    return found


class Grammar:
    """The grammar as a tree: ("lit", words), ("ref", name), ("seq", nodes), and ("alt" | "opt" | "rep" | "many", nodes, id)."""

    def __init__(self, text, words):
        self.words, self.rules, self.names = words, {}, {}
        name = None
        for line in text.splitlines():
            begin = re.match(r"([A-Za-z]+) *= (.*)", line)
            name, body = (begin[1], begin[2]) if begin else (name, line.strip())
            body = re.split(r" {2,}", body)[0] if begin or not line.startswith(20 * " ") else ""  # without remarks
            if name and body:
                self.rules[name] = self.rules.get(name, "") + " " + body
        for name, body in self.rules.items():
            self.lexemes = re.findall(r'"[^"]*"|[A-Za-z]+|\.\.\.|[()\[\]{}|]', body)
            self.rules[name] = self.alternatives(name)
            assert not self.lexemes, (name, self.lexemes)

    def node(self, kind, nodes, production, lexemes):
        number = len(self.names)
        self.names[number] = (production, " ".join(lexemes[:len(lexemes) - len(self.lexemes)]))
        return (kind, nodes, number)

    def alternatives(self, production):
        rows = []
        while not rows or self.lexemes and self.lexemes[0] == "|":
            if rows:
                self.lexemes.pop(0)
            start = self.lexemes[:]
            rows.append(self.node("alt", [self.sequence(production)], production, start))
        return ("any", rows)

    def sequence(self, production):
        row = []
        while self.lexemes and self.lexemes[0] not in ("|", ")", "]", "}"):
            if self.lexemes[0] != "...":
                start = self.lexemes[:]
            lexeme = self.lexemes.pop(0)
            if lexeme in ("(", "[", "{"):
                inner = self.alternatives(production)
                self.lexemes.pop(0)
                row.append(inner if lexeme == "(" else self.node("opt" if lexeme == "[" else "rep", [inner], production, start))
            elif lexeme == "...":
                row[-1] = self.node("many", [row[-1]], production, start)
            elif lexeme.startswith('"'):
                row.append(("lit", [t.text for t in tokens(lexeme[1:-1])]))
            else:
                row.append(("ref", lexeme))
        return ("seq", row)

    def match(self, node, line, at):
        """Yields (end, used) for each way in which the node matches; used has (id, column of the first token)."""
        kind = node[0]
        if kind == "lit":
            if [t.text for t in line[at:at + len(node[1])]] == node[1]:
                yield at + len(node[1]), ()
        elif kind == "ref":
            yield from self.match(self.rules[node[1]], line, at) if node[1] in self.rules else self.terminal(node[1], line, at)
        elif kind == "seq":
            yield from self.match_all(node[1], line, at)
        elif kind == "any":
            for row in node[1]:
                yield from self.match(row, line, at)
        elif kind == "alt":
            for end, used in self.match(node[1][0], line, at):
                yield end, ((node[2], at),) + used
        elif kind == "opt":
            for end, used in self.match(node[1][0], line, at):
                yield end, ((node[2], at),) + used
            yield at, ()
        else:  # rep, many
            yield from self.repeat(node, line, at, kind == "many")

    def match_all(self, nodes, line, at):
        if not nodes:
            yield at, ()
            return
        for end, used in self.match(nodes[0], line, at):
            for last, more in self.match_all(nodes[1:], line, end):
                yield last, used + more

    def repeat(self, node, line, at, once):
        for end, used in self.match(node[1][0], line, at):
            next_at = end + (once and end < len(line) and line[end].text == ",")
            for last, more in self.repeat(node, line, next_at, False) if end > at else ():
                yield last, ((node[2], at),) + used + more
        if not once:
            yield at, ()

    def terminal(self, name, line, at):
        """Yields the ends of a terminal symbol. The words of some symbols are what --words prints."""
        if at >= len(line):
            return
        text = line[at].text
        if name in self.words:
            for phrase in self.words[name]:
                if [t.text for t in line[at:at + len(phrase)]] == phrase:
                    yield at + len(phrase), ()
        elif name == "NUMBER":
            if text[0].isdigit():
                yield at + 1, ()
        elif name in ("HEX", "TEXT"):
            yield at + 1, ()
        elif name == "FIELD":
            if "." in text or at + 1 < len(line) and line[at + 1].text == "=":
                yield at + 1, ()
        elif name == "VALUE":
            if text == "*":
                return
            end = at + 1
            while end < len(line) and line[end].column == line[end - 1].end:
                end += 1
            yield end, ()
            if text in "+-(" or end == at + 1:
                for last, used in self.match(("ref", "PSN"), line, at):
                    yield last, ()
        elif text[0].isalpha() or text[0] == "_":
            yield at + 1, ()

    def recognize(self, symbol, text):
        """Returns what the first derivation of the whole line used, or None."""
        line = tokens(text)
        for end, used in self.match(("ref", symbol), line, 0):
            if end == len(line):
                return [(number, line[at].column if at < len(line) else None) for number, at in used]
        return None


def published():
    """Returns the grammar, with the words of its symbols."""
    text = subprocess.run([program, "drill", "--grammar"], capture_output=True, text=True, check=True).stdout
    words = subprocess.run([program, "drill", "--words"], capture_output=True, text=True, check=True).stdout
    grammar, options = text[text.index("file  "):].split("\n\n", 1)
    opcodes, fields = words.split("Opcodes of each service")[1].split("Fields of headers")
    rows = {}
    for line in re.sub(r"\n  +", " ", words).splitlines():
        if m := re.match(r"([^:]+): (.*)", line):
            rows.setdefault(m[1], []).extend(a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', m[2]))
    flags = set(re.findall(r"[a-z0-9-]+", options + words.split("Words:")[0].split("absent:")[1]))
    split = {"OPCODE": re.findall(r'"([^"]*)"|(\S+)', re.sub(r"(?m)^\w+:", "", opcodes.split("\n", 1)[1])),
             "MESSAGE": [(line.split(":")[0], "") for line in fields.split("CM messages")[1].splitlines()[1:] if ":" in line]}
    split = {name: [a or b for a, b in found] for name, found in split.items()}
    split |= {"STATUS": rows["completion statuses"], "STATE": rows["states of a QP"], "REASON": rows["NAK reasons"],
              "ERROR": rows["errors of verbs"], "EVENT": rows["events"] + rows["CM events"], "OPT": sorted(flags - {"fill", "data", "u64"})}
    found = Grammar(grammar, {name: [[t.text for t in tokens(phrase)] for phrase in phrases] for name, phrases in split.items()})
    found.known = rows["known deviations"]
    return found


def statements(text):
    """Yields (number of the line, symbols that it may be, line), without the lines that continue a purpose."""
    purpose = False
    for number, line in enumerate(text.splitlines(), 1):
        if not line.split("#")[0].strip():
            purpose = False
            continue
        if purpose and line[0].isspace():
            continue
        purpose = line.startswith("purpose")
        yield number, line


def main():
    grammar = published()
    places, problems = {}, words_without_a_part(grammar)
    paths = sorted(top.glob("tests/conformance/**/*.drill")) + [top / "tests/replay/drill/grammar.drill"]
    for path in paths:
        order = 0
        for number, line in statements(path.read_text()):
            for symbol in ("head", "object", "event"):
                if (used := grammar.recognize(symbol, line)) is not None:
                    break
            else:
                problems.append(f"{path.name}:{number}: the grammar does not have this line: {line.strip()}")
                continue
            if (now := ("head", "object", "event").index(symbol)) < order:
                problems.append(f"{path.name}:{number}: a {symbol} after a later part of the file")
            order = max(order, now)
            for one, column in used:
                if column is not None:
                    places.setdefault(one, (path, number, column))
    problems += [f"no drill has {part} of {production}" for one, (production, part) in grammar.names.items()
                 if one not in places and production != "file"]
    problems += broken(places)
    rows = re.findall(r"(?m)^\| ([DS]\d+) \|", (top / "traces/linux-rxe.md").read_text())
    if grammar.known != rows:
        problems.append(f"not both in --words and linux-rxe.md: {sorted(set(grammar.known) ^ set(rows))}")
    print("\n".join(problems[:40] + [f"grammar: {len(places)} parts of {len(grammar.rules)} productions, {len(paths)} drills, "
                                     f"{len(problems)} problems"]))
    played = subprocess.run([program, "drill", "--strict", "--quiet", paths[-1]])
    return bool(problems) or len(places) < 200 or played.returncode


def words_without_a_part(grammar):
    """Returns a problem for each item of packets, verb, head and kind of object of the parser that the grammar lacks."""
    sources = "".join((top / "replay/drill" / name).read_text() for name in ("parse_packet.c", "parse_event.c", "parse_value.c"))
    words = re.findall(r'\{"([^"]+)", ITEM_|\{"([^"]+)", SCRIPT_VERB_|\[SCRIPT_\w+\] = "([a-z]+)"', sources)
    parts = " ".join(part for _, part in grammar.names.values())
    return [f"the grammar does not have {word!r}" for word in {"".join(found) for found in words}
            if not all(f'"{one}"' in parts or f'"{word}"' in parts for one in word.split())]


def broken(places):
    """Breaks a drill at each place. Returns the errors of the parser that do not name the place and what was expected."""
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        wanted = {}
        for i, (path, number, column) in enumerate(sorted(set(places.values()))):
            lines = path.read_text().splitlines()
            glued = re.search(r"[0-9]*$", lines[number - 1][:column])  # the parser reads a number and its unit as one token
            lines[number - 1] = lines[number - 1][:column] + "@" + lines[number - 1][column + 1:]
            name = pathlib.Path(folder, f"{i:03}.drill")
            name.write_text("\n".join(lines) + "\n")
            starts = [f"{name}:{number}:{at + 1}: " for at in (column, glued.start())]
            wanted[name] = (starts, f"{path.name}:{number}:{column + 1}", lines[number - 1])
        done = subprocess.run([program, "drill", "--check", *wanted], capture_output=True, text=True)
        errors = (done.stdout + done.stderr).splitlines()
        for name, (starts, place, line) in wanted.items():
            if not any(start in error and "expected" in error for error in errors for start in starts):
                said = [error for error in errors if str(name) in error]
                problems.append(f"{place}: no error at this column for {line.strip()!r}: {said}")
    return problems


sys.exit(main())
