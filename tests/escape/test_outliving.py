# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives a call: when the result is there, no process of the cell is. Outside each of these ways works."""

import os
import signal
import time

import leftovers
import pytest
from attempts import outside
from harness import SLACK

WAYS = ["daemon", "stopped", "traced", "vfork", "open", "leader", "subreaper"]


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_the_call(probe, cell, way):
    attempt = probe("hide")
    done = cell.run(*attempt.argv(way), options=attempt.options())
    assert done.status == 7 and done.result["leftover_processes"] >= 1 and done.seconds < 5 * SLACK, done.result


@pytest.mark.parametrize("way", WAYS)
def test_the_control_stays(probe, cell, way):
    before = set(leftovers.descendants(os.getpid()))
    try:
        done = outside(cell, probe("hide").program, way, check=False, stdout=-3, stderr=-3, capture_output=False)
        assert done.returncode == 7
        assert set(leftovers.descendants(os.getpid())) - before, "it outlived its parent"
    finally:
        for _ in range(3):
            for pid in set(leftovers.descendants(os.getpid())) - before:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_a_killed_supervisor(probe, cell, way):
    attempt = probe("hide")
    running = cell.start("sh", "-c", f"{attempt.argv()[0]} {way}; echo ready; exec sleep 300", options=attempt.options())
    running.until("ready")
    running.signal(signal.SIGKILL)
    running.process.wait()  # the fixture of every test looks for survivors


@pytest.mark.parametrize("way", WAYS)
def test_it_ends_with_the_wall_limit(probe, cell, way):
    attempt = probe("hide")
    done = cell.run("sh", "-c", f"{attempt.argv()[0]} {way}; exec sleep 300",
                    options=[*attempt.options(), "--timeout", "300ms", "--grace", "50ms"])
    assert done.status == 124 and done.seconds < 3 * SLACK


def test_streams_that_are_stolen_do_not_hold_a_call(cell):
    """The pipes can be opened again from inside, from the other end too: what is taken there is only the cell's own."""
    code = """
        import os
        def steal():
            fd = os.open("/proc/self/fd/1", os.O_RDONLY)
            while True: os.read(fd, 65536)
        def feed():
            fd = os.open("/proc/self/fd/0", os.O_WRONLY)
            while True: os.write(fd, b"z" * 65536)
        for way in (steal, steal, feed):
            if os.fork() == 0: way()
        while True: os.write(1, b"x" * 100)
    """
    done = cell.python(code, options=["--timeout", "500ms", "--grace", "50ms"], stdin=bytes(1 << 20), events=False)
    assert done.status == 124 and done.seconds < 3 * SLACK
