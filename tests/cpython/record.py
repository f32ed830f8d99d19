# SPDX-License-Identifier: Apache-2.0
"""Run CPython's regression tests and write one outcome per test as JSON: record.py FILE REGRTEST-ARGUMENT...

Runs in the cell as outside, so it needs the standard library alone. The runner's own report (--junit-xml) leaves out
which test a failed sub-test belongs to; here a test is as good as the worst of its parts.
"""

import json
import os
import sys
import traceback

from test import libregrtest
from test.support import testresult

WORST_FIRST = ("failed", "skipped", "passed")
outcomes = {}


def note(test, outcome, why=""):
    name = test.id()
    before = outcomes.get(name)
    if not before or WORST_FIRST.index(outcome) < WORST_FIRST.index(before[0]):
        outcomes[name] = outcome, why


def last_line(error):
    return traceback.format_exception_only(*error[:2])[-1].strip()


class Result(testresult.RegressionTestResult):
    """Notes what each test came to, besides what the runner does with it."""

    def addSuccess(self, test):
        note(test, "passed")
        super().addSuccess(test)

    def addExpectedFailure(self, test, err):
        note(test, "passed")
        super().addExpectedFailure(test, err)

    def addUnexpectedSuccess(self, test):
        note(test, "failed", "unexpected success")
        super().addUnexpectedSuccess(test)

    def addSkip(self, test, reason):
        note(test, "skipped", reason)
        super().addSkip(test, reason)

    def addError(self, test, err):
        note(test, "failed", last_line(err))
        super().addError(test, err)

    def addFailure(self, test, err):
        note(test, "failed", last_line(err))
        super().addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            note(test, "failed", last_line(err))
        super().addSubTest(test, subtest, err)


def main():
    file, arguments, runner = os.path.abspath(sys.argv[1]), sys.argv[2:], os.getpid()
    testresult.RegressionTestResult = Result
    try:
        libregrtest.main(arguments)
    finally:
        if os.getpid() == runner:  # not in what a test forked
            with open(file, "w") as stream:
                json.dump(outcomes, stream)


if __name__ == "__main__":
    main()
