# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-or-later
"""Counts the failures of a test in Python, and prints the first ones."""

PRINTED_MAX = 20


class Failures:
    """Collects the failures of a test. `where` names the object that is compared; each message begins with
    `where`."""

    def __init__(self):
        self.cnt, self.where = 0, ""

    def expect(self, what, found, wanted):
        if found != wanted:
            self.cnt += 1
            if self.cnt <= PRINTED_MAX:
                print(f"{self.where}: {what}: found {found}, expected {wanted}")
