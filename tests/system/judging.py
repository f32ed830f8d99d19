# SPDX-License-Identifier: Apache-2.0
"""The suite on a host that lacks one system call: TOOLCELL_WITHOUT="CALL:ERROR", with the names of missing.py.

What the tests expect does not hold there, but what holds for every invocation of toolcell does, and that is judged:
none ends by a signal that nobody sent, hangs, or says something that does not tell the reason; and a test may fail
only when an invocation in it was refused for want of that very call. Where the call is not needed no test may fail.
What is left behind counts as ever.
"""

import os
import re
import signal
import subprocess

import missing

WITHOUT = os.environ.get("TOOLCELL_WITHOUT", "")
LOSS, _, ERROR = WITHOUT.partition(":")
CRASHES = {-number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL,
                                  signal.SIGSYS, signal.SIGPIPE, signal.SIGTRAP)}

excused = []  # tests that did not get what they expected, for that reason
_seen = []  # (status, stdout, stderr) of the invocations of the test that runs; status None: it hung

_started = []  # what it started
_own = []  # statuses that its commands end with themselves


def note(status, stdout, stderr):
    if WITHOUT:
        _seen.append((status, stdout or b"", stderr or b""))


def begin():
    _seen.clear()
    _started.clear()
    _own.clear()


def own_status(status):
    """The test's command ends with this itself: 125 is no refusal then, and has nothing to say."""
    _own.append(status)


def watch(binary):
    """Note what tests start without the harness as well."""

    class Popen(subprocess.Popen):
        def __init__(self, line, *args, **more):
            super().__init__(line, *args, **more)
            if any(str(binary) in str(word) for word in ([line] if isinstance(line, (str, bytes)) else line)):
                _started.append(self)

        def communicate(self, *args, **more):
            texts = super().communicate(*args, **more)
            if self in _started:
                note(self.returncode, *(text.encode() if isinstance(text, str) else text for text in texts))
            return texts

    subprocess.Popen = Popen


def _words():
    """What a refusal may say: any of these."""
    answers = missing.TABLE[LOSS]
    answers = answers.values() if isinstance(answers, dict) else [answers]
    words = [missing.ERRORS[ERROR]] if any(isinstance(answer, missing.Refused) for answer in answers) else []
    words += [text for answer in answers if isinstance(answer, missing.Refused)
              for text in (answer.words, answer.doctor) if text]
    return [word.encode() for word in words]


def _is_refusal(status, stdout, stderr):
    """By its words: the status may be that of a script around toolcell."""
    return status is not None and any(word in stdout + stderr for word in _words())


def _fault(status, stdout, stderr):
    """Why an invocation is not as it should be, or None."""
    if status is None:
        return "it hung"
    if status in CRASHES:
        return f"it ended by signal {-status}"
    if status == 125 and status not in _own and not re.search(rb"^toolcell: \S.*: \S|^toolcell: .{15}", stderr, re.M):
        return "it says nothing of use"
    return None


def verdict():
    """(faults, excused) of the test that ran."""
    faults = [f"{reason}: {seen!r}"[:2000] for seen in _seen if (reason := _fault(*seen))]
    # Where a test keeps the streams to itself the status has to do.
    return faults, any(_is_refusal(*seen) for seen in _seen) or bool(_words()) and \
        any(process.poll() == 125 for process in _started)
