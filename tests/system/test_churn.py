# SPDX-License-Identifier: Apache-2.0
"""Many calls at a time, ending in every way there is, and toolcell itself killed among them: nothing accumulates."""

import json
import os
import random
import re
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from harness import SLACK, grouped

AT_A_TIME = 8
LIMITED = ["--memory", "64M", "--cpus", "1", "--pids", "40"]
CALLS = [  # command, options, outcome
    (["true"], [], "exited"),
    (["sh", "-c", "sleep 30 & exit 3"], [], "exited"),
    (["sh", "-c", "kill -SEGV $$"], [], "signaled"),
    (["sleep", "30"], ["--timeout", "100ms"], "timeout"),
    (["sh", "-c", "setsid sh -c 'trap \"\" TERM; sleep 30' & sleep 30"], ["--timeout", "100ms", "--grace", "100ms"], "timeout"),
    (["yes"], ["--output-limit", "100K:stop"], "output_limit"),
    (["head", "-c", "5M", "/dev/zero"], ["--file-size", "64K"], "exited"),
    (["dd", "if=/dev/zero", "of=/tmp/big", "bs=64K", "count=9"], ["--file-size", "64K"], "disk_limit"),
    (["sh", "-c", "while :; do :; done"], ["--cpu-time", "100ms", "--timeout", "20s"], "cpu_limit"),
    (["dd", "if=/dev/zero", "of=/tmp/big", "bs=1M", "count=200"], LIMITED, "oom"),
    (["sh", "-c", "for i in $(seq 60); do sleep 30 & done 2>/dev/null; true"], LIMITED, None),
    (["true"], LIMITED, "exited"),
    (["/nowhere"], LIMITED, "exited"),
    (["true"], ["--net", "egress"], "setup_failed"),
]


def one(cell, number, failures):
    """One call, chosen by its number; a fifth of them is killed at some moment of its life, another one is cancelled."""
    choice = random.Random(number)
    command, options, outcome = choice.choice(CALLS)
    policy = choice.choice(["static", "workspace"])
    process = cell.spawn(cell.command(command, options, policy))
    fate = choice.random()
    if fate < 0.3:
        time.sleep(choice.random() * 0.06)
        process.send_signal(signal.SIGKILL if fate < 0.2 else choice.choice([signal.SIGTERM, signal.SIGINT]))
    try:
        out, err = process.communicate(timeout=60 * SLACK)
    except subprocess.TimeoutExpired:
        process.kill()
        failures.append(f"{number}: {command} does not end")
        return
    last = out.rstrip(b"\n").rpartition(b"\n")[2]
    if process.returncode == -signal.SIGKILL and fate < 0.2:
        return
    try:
        result = json.loads(last)
    except ValueError:
        # A signal before toolcell has taken its signals kills it; one while the rest goes to a slow reader ends the waiting.
        if not 0.2 <= fate < 0.3:
            failures.append(f"{number}: {command} gave no result: {process.returncode} {out[-300:]} {err[-300:]}")
        return
    expected = {outcome} if fate >= 0.3 else {outcome, "cancelled"}
    if result["event"] != "result" or (outcome is not None and result["outcome"] not in expected):
        failures.append(f"{number}: {command} {fate:.2f} gave {result['outcome']} instead of {expected}: {result['error']} {err[-300:]}")


def empty_groups(uid):
    """The groups of this caller's calls that nobody lives in."""
    found = set()
    for path, _, _ in os.walk("/sys/fs/cgroup"):
        try:
            if re.fullmatch(r"toolcell-.{36}", os.path.basename(path)) and os.stat(path).st_uid == uid and \
                    Path(path, "cgroup.procs").read_text() == "":
                found.add(path)
        except OSError:
            continue
    return found


@grouped
@pytest.mark.parametrize("count", [120, pytest.param(2000, marks=pytest.mark.long)])
def test_nothing_accumulates(cell, count):
    """Every call yields a result or is gone. Processes, mounts, namespaces and files are compared by a fixture."""
    before = len(os.listdir("/proc/self/fd"))
    numbers, failures, lock = iter(range(count)), [], threading.Lock()

    def work():
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            one(cell, number, failures)

    threads = [threading.Thread(target=work) for _ in range(AT_A_TIME)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, "\n".join(failures)
    assert len(os.listdir("/proc/self/fd")) == before
    for _ in range(1 + count // 64):  # a start removes so many that others have left
        cell.run("true", options=LIMITED).succeeded()
    left = empty_groups(cell.identity.uid)
    for _ in range(10):  # who else runs calls here makes groups that are empty for a moment
        if left:
            time.sleep(0.1)
            left &= empty_groups(cell.identity.uid)
    assert not left
