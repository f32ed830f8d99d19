# SPDX-License-Identifier: Apache-2.0
"""Nothing outlives its call: whoever dies, in whatever order, at whatever moment."""

import os
import random
import signal
import subprocess
import threading
import time

import pytest

import leftovers
from harness import SLACK

UP = '"up\\n"'


def below():
    return leftovers.descendants(os.getpid())


def wait_until_only(pids, seconds=1.0):
    deadline = time.monotonic() + seconds * SLACK
    while extra := set(below()) - set(pids):
        assert time.monotonic() < deadline, f"still alive: {extra}"
        time.sleep(0.01)


def test_the_thread_that_started_it_may_end(cell):
    """PR_SET_PDEATHSIG speaks of the thread that forked: the call must not die with that one."""
    started = []
    thread = threading.Thread(target=lambda: started.append(cell.start("sh", "-c", "sleep 0.7; echo done")))
    thread.start()
    thread.join()
    assert started[0].wait().succeeded().stdout == b"done\n"


def test_killed_after_the_thread_that_started_it_ended(cell):
    before = below()
    started = []
    thread = threading.Thread(target=lambda: started.append(cell.start("sh", "-c", "echo up; exec sleep 300")))
    thread.start()
    thread.join()
    started[0].until(UP).signal(signal.SIGKILL)
    started[0].process.wait()
    wait_until_only(before)


def test_killed_at_random_moments_while_starting(cell):
    """From before the first namespace to after the command runs: nothing is left, and nothing of the host is touched."""
    random.seed(7)
    before = below()
    canary = cell.workspace / "never"
    for number in range(100):
        process = cell.spawn(cell.command(["sh", "-c", "sleep 300; touch never"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.03 if number % 4 == 0 else 0.01))  # most of it is over in a few milliseconds
        process.kill()
        process.wait()
    wait_until_only(before)
    assert not canary.exists() and list(cell.workspace.iterdir()) == []


@pytest.mark.long
def test_killed_at_five_hundred_moments(cell):
    random.seed(8)
    before = below()
    for _ in range(500):
        process = cell.spawn(cell.command(["sleep", "300"]), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, 0.02))
        process.send_signal(random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]))
        process.wait()
    wait_until_only(before)


def test_init_killed_from_outside(cell):
    running = cell.start("sh", "-c", "echo up; exec sleep 300").until(UP)
    os.kill(running.processes()[0], signal.SIGKILL)
    done = running.wait(5)
    assert done.status in (125, 137), done.result
    assert done.result["outcome"] in ("signaled", "setup_failed", "oom") and done.result["error"] or done.status == 137


def test_the_command_killed_from_outside(cell):
    running = cell.start("sh", "-c", "echo up; exec sleep 300").until(UP)
    os.kill(running.processes()[1], signal.SIGKILL)
    done = running.wait(5)
    assert done.status == 137 and done.result["outcome"] == "signaled" and done.result["signal"] == "SIGKILL"
    assert done.result["oom_kills"] in (0, None)


def test_a_fork_storm_ends_with_the_call(cell):
    before = below()
    code = "import os, time\nfor _ in range(200):\n if os.fork() == 0:\n  os.setsid(); time.sleep(300)"
    done = cell.run("python3", "-c", code).succeeded()
    assert done.result["leftover_processes"] == 200
    wait_until_only(before, 0.3)


def test_a_process_that_forks_for_ever_ends_with_the_call(cell):
    before = below()
    code = """
        import os, resource, signal, time
        resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))  # where init gets no CPU, zombies must not fill the host
        for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
        if os.fork() == 0:
            while True:
                try:
                    if os.fork() != 0: os._exit(0)
                except BlockingIOError: pass
        time.sleep(0.2)
    """
    cell.python(code).succeeded()
    wait_until_only(before, 0.5)


def test_the_reader_goes_away(cell):
    """Without a reader the call is cancelled: 129."""
    before = below()
    running = cell.spawn(cell.command(["sh", "-c", "while :; do echo line; sleep 0.01; done"]))
    assert running.stdout.read(1)
    running.stdout.close()
    assert running.wait(10 * SLACK) == 129
    running.stderr.close()
    wait_until_only(before)


def test_the_reader_of_a_silent_command_goes_away(cell):
    running = cell.spawn(cell.command(["sleep", "300"], events=False))
    time.sleep(0.3)
    running.stdout.close()
    try:
        assert running.wait(5 * SLACK) == 129
    finally:
        running.kill()
        running.stderr.close()


def test_keep_going_without_a_reader(cell):
    running = cell.spawn(cell.command(["sh", "-c", "for i in 1 2 3 4 5; do echo $i; sleep 0.1; done; echo > finished"],
                                      options=["--keep-going"], events=False))
    running.stdout.close()
    running.wait(10 * SLACK)
    running.stderr.close()
    assert (cell.workspace / "finished").exists()


def test_in_a_pipeline_whose_reader_ends(cell):
    line = " ".join(cell.command(["yes"], events=False))
    done = subprocess.run(["bash", "-c", f"{line} | head -1; echo ${{PIPESTATUS[0]}}"], cwd=cell.workspace, capture_output=True,
                          text=True, timeout=20 * SLACK, env=cell.environment(), **cell.identity.popen())
    assert done.stdout == "y\n129\n", (done.stdout, done.stderr)


def test_a_slow_reader_holds_the_command_back_and_loses_nothing(cell):
    process = cell.spawn(cell.command(["sh", "-c", "seq 1 200000"], events=False))
    time.sleep(0.5)
    data = bytearray()
    while chunk := process.stdout.read(50000):
        data += chunk
        time.sleep(0.01)
    assert process.wait(10 * SLACK) == 0 and bytes(data) == b"".join(b"%d\n" % n for n in range(1, 200001))
    process.stdout.close()
    process.stderr.close()


def test_limits_run_on_behind_a_reader_that_never_reads(cell):
    before = below()
    process = cell.spawn(cell.command(["yes"], options=["--timeout", "500ms"], events=False))
    time.sleep(1.0 + 0.5 * SLACK)
    inside = [pid for pid in leftovers.descendants(process.pid)]
    assert inside == [], "every process of the cell is dead although nobody reads"
    process.stdout.close()
    assert process.wait(12 * SLACK) in (124, 129)
    process.stderr.close()
    wait_until_only(before)
