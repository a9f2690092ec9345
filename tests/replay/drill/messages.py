#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Checks that the tests of the parser of drills produce each of its error messages.

messages.py TEST_PROGRAM TOP
The test program appends the message of each refused drill to the file $ROCEDRILL_MESSAGES. The messages of the sources are
the texts of the calls of lexer_fail() and lexer_expected(), and the descriptions that parse_name() and others pass on.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

program, top = sys.argv[1], pathlib.Path(sys.argv[2])
# No drill causes these messages: memory runs out, or a caller uses the parser wrongly.
UNTESTED = {"no memory"}
CALL = re.compile(r"\b(lexer_fail|lexer_expected|parse_name|parse_number|parse_place)\(")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
CONVERSION = re.compile(r"%(?:\.\*)?[a-z]")


def arguments(text, start):
    """Returns the arguments of a call whose first argument begins at `start`."""
    depth, at, found, begin, quoted = 1, start, [], start, None
    while depth:
        c = text[at]
        if quoted:
            at += c == "\\"
            quoted = None if c == quoted else quoted
        elif c in "\"'":
            quoted = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 1:
            found.append(text[begin:at])
            begin = at + 1
        at += 1
    return found + [text[begin:at - 1]]


def pattern(argument):
    """Returns the regular expression of the texts that a format of C makes, or None if it is not a literal."""
    if not argument.strip().startswith('"'):
        return None
    joined = re.sub(r'%"\s*PRI\w+(\s*")?', lambda m: "%u" if m[1] else '%u"', argument)
    literal = "".join(TEXT.findall(joined)).replace('\\"', '"').replace("\\'", "'")
    return ".*".join(re.escape(part) for part in CONVERSION.split(literal))


def messages():
    """Returns (place, regular expression) of each message of the sources."""
    for path in sorted((top / "replay/drill").glob("*.c")):
        text = path.read_text()
        for call in CALL.finditer(text):
            found = arguments(text, call.end())
            if len(found) < 2 or (one := pattern(found[1])) is None:
                continue
            if "expected %s, found" in found[1]:
                continue  # the common part of all messages of lexer_expected()
            place = f"{path.name}:{text.count(chr(10), 0, call.start()) + 1}"
            yield place, one if call[1] == "lexer_fail" else rf"(expected {one}, found|\(expected: {one}\))"


def main():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "messages")
        subprocess.run([program], env=os.environ | {"ROCEDRILL_MESSAGES": str(file)}, check=True, stdout=subprocess.DEVNULL)
        seen = file.read_text()
    wanted = list(messages())
    missing = [f"{place}: no test has the message /{one}/" for place, one in wanted
               if one not in UNTESTED and one.replace("\\ ", " ") not in UNTESTED and not re.search(one, seen)]
    print("\n".join(missing + [f"messages: {len(wanted)} messages, {len(missing)} without a test"]))
    return bool(missing) or len(wanted) < 120


sys.exit(main())
