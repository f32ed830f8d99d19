# SPDX-License-Identifier: Apache-2.0
"""Count the single tests of a meson run.

usage: count_tests.py TESTLOG.json COUNTS CLOSING

A TAP program counts with each of its points, any other program as one. Writes "passed failed skipped" to COUNTS and
a line for people to CLOSING.
"""
import json
import re
import sys

POINT = re.compile(r"^(not )?ok\b(.*)$")


def count_tap(text):
    """Return [passed, failed, skipped] of one TAP stream."""
    counts = [0, 0, 0]
    for line in text.splitlines():
        point = POINT.match(line)
        if not point:
            continue
        directive = point.group(2).upper()
        if "# SKIP" in directive:
            counts[2] += 1
        elif point.group(1):
            counts[1] += 1
        else:
            counts[0] += 1
    return counts


def count_program(test):
    """Return [passed, failed, skipped] of one program; one that failed as a whole has at least one failure."""
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    counts = count_tap(test.get("stdout") or "")
    if not any(counts):
        skipped = test["result"] == "SKIP"
        return [int(good), int(not good and not skipped), int(skipped)]
    if not good and test["result"] != "SKIP" and counts[1] == 0:
        counts[1] = 1
    return counts


def main():
    """Read the log, write the two files."""
    log, counts_path, closing_path = sys.argv[1:]
    programs = [0, 0, 0]
    total = [0, 0, 0]
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            counts = count_program(json.loads(line))
            total = [a + b for a, b in zip(total, counts)]
            programs[1 if counts[1] else 2 if counts[2] and not counts[0] else 0] += 1
    with open(counts_path, "w", encoding="utf-8") as out:
        print(*total, file=out)
    with open(closing_path, "w", encoding="utf-8") as out:
        print(f"{sum(programs)} programs ({programs[0]} ok, {programs[1]} failed, {programs[2]} skipped), "
              f"{total[0]} passed, {total[1]} failed, {total[2]} skipped", file=out)


main()
