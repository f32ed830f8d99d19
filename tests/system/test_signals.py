# SPDX-License-Identifier: Apache-2.0
"""Signals to toolcell: cancel with grace, at once on the second, stop and continue."""

import os
import signal
import time
from pathlib import Path

import pytest

from harness import SLACK

UP = '"up\\n"'


def state(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT], ids=lambda number: number.name)
def test_cancelled(cell, number):
    running = cell.start("sh", "-c", "echo up; exec sleep 30").until(UP)
    running.signal(number)
    done = running.wait()
    assert done.status == 128 + number and done.result["outcome"] == "cancelled"
    assert done.seconds < 2 * SLACK, "no reason to wait for the grace to pass"


def test_the_command_gets_term_and_may_clean_up(cell):
    script = "trap 'echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    running = cell.start("sh", "-c", script).until(UP)
    running.signal(signal.SIGINT)
    done = running.wait()
    assert b"cleaned" in done.stdout and done.status == 130 and done.result["outcome"] == "cancelled"


def test_grace_passes_then_kill(cell):
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    running = cell.start("sh", "-c", script, options=["--grace", "500ms"]).until(UP)
    begin = time.monotonic()
    running.signal(signal.SIGTERM)
    done = running.wait()
    assert done.status == 143 and 0.5 <= time.monotonic() - begin < 1 + SLACK


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_a_second_signal_kills_at_once(cell, second):
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    running = cell.start("sh", "-c", script, options=["--grace", "20s"]).until(UP)
    running.signal(signal.SIGTERM)
    time.sleep(0.2)
    running.signal(second)
    done = running.wait(5)
    assert done.result["outcome"] == "cancelled" and done.status in (128 + signal.SIGTERM, 128 + second)


def test_stop_and_continue(cell):
    running = cell.start("sh", "-c", "echo up; while :; do sleep 0.02; done").until(UP)
    running.signal(signal.SIGTSTP)
    deadline = time.monotonic() + 3 * SLACK
    while not {state(pid) for pid in running.processes()[1:]} <= {"T", "D"}:  # D: waits for a stopped vfork child
        assert time.monotonic() < deadline, "the cell is not stopped"
        time.sleep(0.01)
    running.signal(signal.SIGCONT)
    while "T" in {state(pid) for pid in running.processes()[1:]}:
        assert time.monotonic() < deadline, "the cell does not go on"
        time.sleep(0.01)
    running.signal(signal.SIGINT)
    assert running.wait().status == 130


def test_the_wall_clock_goes_on_while_stopped(cell):
    running = cell.start("sh", "-c", "echo up; sleep 30", options=["--timeout", "1s"]).until(UP)
    running.signal(signal.SIGTSTP)
    time.sleep(1.5)
    running.signal(signal.SIGCONT)
    done = running.wait(5)
    assert done.status == 124 and done.result["outcome"] == "timeout"


def test_a_stopped_supervisor_does_not_keep_a_cell_alive(cell):
    """SIGSTOP cannot be caught: init itself ends the cell some time after its deadline."""
    running = cell.start("sh", "-c", "echo up; exec sleep 300", options=["--timeout", "1s", "--grace", "100ms"]).until(UP)
    inside = running.processes()
    running.signal(signal.SIGSTOP)
    deadline = time.monotonic() + 10 * SLACK
    while any(os.path.exists(f"/proc/{pid}") and state(pid) not in "ZX" for pid in inside):
        assert time.monotonic() < deadline, "the cell outlives its deadline"
        time.sleep(0.05)
    running.signal(signal.SIGCONT)
    assert running.wait(10).status == 124


def test_signals_that_mean_nothing_are_ignored(cell):
    running = cell.start("sh", "-c", "echo up; sleep 0.5; echo done").until(UP)
    for number in (signal.SIGWINCH, signal.SIGCHLD, signal.SIGURG, signal.SIGCONT, signal.SIGPIPE):
        running.signal(number)
    assert running.wait().succeeded().stdout == b"up\ndone\n"


def test_a_caller_that_ignores_signals_is_no_trouble(cell):
    """Inherited dispositions and masks: the command starts with the defaults."""
    code = """
        import os, signal, sys
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        os.execvp(sys.argv[1], sys.argv[1:])
    """
    import textwrap
    prefix = ["/usr/bin/python3", "-c", textwrap.dedent(code)]
    masks = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
    done = cell.run("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status", prefix=prefix).succeeded()
    assert set(line.split()[1] for line in done.text.splitlines()) == {"0" * 16}, (masks, done.text)
    assert cell.run("sh", "-c", "exit 7", prefix=prefix).status == 7
