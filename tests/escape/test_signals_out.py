# SPDX-License-Identifier: Apache-2.0
"""Signals to the host: a bystander of the same user, session and process group as toolcell lives through all of it."""

import os
import signal
import subprocess

import pytest
from harness import SLACK

ATTACK = """
import os, signal, sys
first, last, number = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
hit = 0
def kill(call, *args):
    global hit
    try: call(*args); hit += 1
    except OSError: pass
signal.signal(number, signal.SIG_IGN) if number != signal.SIGKILL else None
for pid in range(first, last + 1):
    if pid not in (1, os.getpid(), os.getppid()):
        kill(os.kill, pid, number)
    if pid > 1 and pid != os.getpgrp():
        kill(os.killpg, pid, number)
print(hit)
"""


@pytest.fixture
def bystander(cell):
    process = subprocess.Popen(["sleep", "300"], stdin=subprocess.DEVNULL, **cell.identity.popen())
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_by_number(cell, bystander, number):
    low, high = max(2, bystander.pid - 2000), bystander.pid + 100
    assert cell.python(ATTACK, str(low), str(high), str(int(number))).succeeded().text == "0\n"
    assert bystander.poll() is None


def test_all_at_once(cell, bystander):
    code = """
        import os, signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for target in (-1, 0):
            try: os.kill(target, signal.SIGTERM)
            except OSError: pass
        print(os.getpgrp(), os.getsid(0))
    """
    assert cell.python(code).succeeded().text == "2 2\n"
    assert bystander.poll() is None and os.getpgid(bystander.pid) == os.getpgrp()


def test_by_a_file_s_owner(cell, bystander):
    """SIGIO goes to whom F_SETOWN names: nobody outside can be named."""
    code = """
        import errno, fcntl, os, sys
        read, write = os.pipe()
        for who in (int(sys.argv[1]), -int(sys.argv[2])):
            try: fcntl.fcntl(read, fcntl.F_SETOWN, who); print("set")
            except OSError as error: print(errno.errorcode[error.errno])
    """
    arguments = str(bystander.pid), str(os.getpgrp())
    assert cell.python(code, *arguments).succeeded().text == "ESRCH\nESRCH\n"
    assert cell.outside(code, *arguments).stdout == b"set\nset\n", "the control"


def test_the_control_kills(cell, bystander):
    done = cell.outside(ATTACK, str(bystander.pid), str(bystander.pid), str(int(signal.SIGKILL)))
    assert done.stdout == b"1\n" and bystander.wait(5 * SLACK) == -signal.SIGKILL
