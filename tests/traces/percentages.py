# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Compares the percentages in the lines of rocedrill check with the figures of their connection. Used by
connection_figures.py, which compares these figures with the packets."""
import math
import re

PERCENT = r"((?:< )?[\d.]+) %"
AGAIN = re.compile(rf"(\d+) of (\d+) packets \({PERCENT}\) (?:was|were) retransmitted(?:.*, {PERCENT} of the payload)?")
REPEATED = re.compile(rf"(\d+) of (\d+) responses \({PERCENT}\) repeat")
WAITED = re.compile(rf"{PERCENT} of the connection's .* was spent waiting")
SPENT = re.compile(rf"it spent {PERCENT} of its .* waiting")


def percent(part, whole):
    """Returns the text of a percentage, as the report writes it."""
    value = 100 * part / whole
    if 0 < value < 0.05:
        return "< 0.1"
    return f"{value:.1f}" if 0 < value < 10 else str(math.floor(value + 0.5))


def retransmitted(side):
    packets, size = (sum(r[key] for r in side["retransmissions"].values()) for key in ("packets", "bytes"))
    return (str(packets), str(side["packets"]), percent(packets, side["packets"]),
            percent(size, side["payload_sent"]) if size else None)


def of_line(conn, line):
    """Yields (figure, percentages of the figures, percentages of the line) for a line of a slow connection."""
    me = {"→": "a", "←": "b"}.get(line[0])
    if not me:
        return
    side, span = conn[me], conn["last_time_ns"] - conn["first_time_ns"]
    if found := AGAIN.search(line):
        yield "% retransmitted", retransmitted(side), found.groups()
    if found := REPEATED.search(line):
        of = side["repeated_responses"], side["responses"]
        yield "% repeated responses", (*map(str, of), percent(*of)), found.groups()
    if found := WAITED.search(line):
        yield "% waited", (percent(sum(w["ns"] for w in conn["waits"] if w["side"] == me), span),), found.groups()


def compare(report, capture, where, conn):
    for line in conn["slow"] or []:
        for name, expected, actual in of_line(conn, line):
            report.same(capture, where, name, "shares of packets, payload and time", expected, actual)
    if found := SPENT.search(conn["headline"] or ""):
        waited = percent(sum(w["ns"] for w in conn["waits"]), conn["last_time_ns"] - conn["first_time_ns"])
        report.same(capture, where, "% waited, headline", "sum of waits by time from first to last", waited, found.group(1))
