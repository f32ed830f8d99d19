# SPDX-License-Identifier: Apache-2.0
"""What the rules deny while a command runs: refused, told as an event and as a line, counted; and what becomes of a
call whose broker is gone."""

import os
import random
import signal
import time

import pytest

import harness
import leftovers

RULES = [{"pattern": "**/.env", "operations": "all", "effect": "deny", "priority": 100, "reason": "secrets"},
         {"pattern": "**/deny-*", "operations": ["read"], "effect": "deny", "priority": 100},
         {"pattern": "**", "operations": "all", "effect": "allow"}]


@pytest.fixture
def policy(cell):
    return cell.policy(RULES)


@pytest.fixture
def secret(cell):
    cell.write("ok", "harmless\n")
    return cell.write(".env", "TOKEN=1\n")


def test_a_denied_file_is_told(cell, policy, secret):
    outcome = cell.run("sh", "-c", "cat ok; cat .env", policy=policy)
    assert outcome.status == 1 and outcome.text == "harmless\n" and b"Permission denied" in outcome.stderr
    assert outcome.of("start")[0]["enforcement"]["mediation"] is True
    [denied] = outcome.of("denied")
    del denied["id"], denied["t"]
    assert denied == {"event": "denied", "operation": "read", "target": "/workspace/.env", "by": "rule", "syscall": "openat",
                      "rule": {"pattern": "**/.env", "priority": 100, "reason": "secrets"}}
    assert outcome.result["denials"] == 1
    assert cell.run("cat", ".env").text == "TOKEN=1\n", "without the rule it is readable"


def test_the_default_policy_tells_people(cell, secret):
    done = cell.plain("sh", "-c", "cat ok .env; true", policy=None)
    assert done.status == 0 and done.text == "harmless\n"
    assert done.messages.splitlines()[-1] == "toolcell: denied read /workspace/.env: rule **/.env (workspace): secrets"
    assert "toolcell:" not in cell.plain("cat", ".env", policy=None, options=["-q"]).messages


def test_at_most_five_lines(cell, policy):
    for number in range(9):
        cell.write(f"deny-{number}")
    for count, more in ((5, None), (9, "toolcell: denied: 5 more")):
        names = [f"deny-{number}" for number in range(count)]
        done = cell.plain("sh", "-c", "cat deny-?; true", policy=policy) if count == 9 else \
            cell.plain("cat", *names, policy=policy)
        lines = [line for line in done.messages.splitlines() if line.startswith("toolcell:")]
        assert len(lines) == 5
        assert (lines[-1] == more) if more else lines[-1].startswith("toolcell: denied read /workspace/deny-4")


def test_equal_denials_are_told_once(cell, policy, secret):
    outcome = cell.python("""
        for _ in range(2000):
            try: open(".env")
            except PermissionError: pass
            else: raise SystemExit("opened")
        """, policy=policy).succeeded()
    assert len(outcome.of("denied")) == 1 and outcome.result["denials"] == 1


@pytest.mark.parametrize("rounds", [3000, pytest.param(100_000, marks=pytest.mark.long)])
def test_a_flood_is_counted(cell, policy, rounds):
    """Distinct names, each denied: a hundred events, the rest is a number."""
    outcome = cell.python("""
        import os, sys
        for number in range(int(sys.argv[1])):
            name = f"deny-{number}"
            with open(name, "w"): pass
            try: open(name)
            except PermissionError: pass
            else: raise SystemExit("opened")
            os.unlink(name)
        """, rounds, policy=policy, timeout=300).succeeded()
    assert len(outcome.of("denied")) == 100 and outcome.result["denials"] == rounds


def test_a_rename_is_told_with_both_names(cell, policy, secret):
    outcome = cell.python("""
        import os
        try: os.rename(".env", "visible")
        except PermissionError: pass
        else: raise SystemExit("renamed")
        """, policy=policy).succeeded()
    [denied] = outcome.of("denied")
    assert (denied["target"], denied["to"]) == ("/workspace/.env", "/workspace/visible")
    assert secret.exists()


def test_a_slow_reader_of_events_loses_nothing(cell, policy):
    """The reader does not read for a while: the broker waits, and everything is told in the end."""
    read, write = os.pipe()
    for number in range(99):
        cell.write("deny-" + f"{number:03}" + "x" * 200)
    running = cell.start("sh", "-c", "cat deny-* 2>/dev/null; echo done", policy=policy, events=False,
                         options=["--events-fd", str(write)], pass_fds=[write])
    os.close(write)
    time.sleep(0.3)
    told = b""
    while chunk := os.read(read, 65536):
        told += chunk
    os.close(read)
    assert running.wait().status == 0
    events = harness.parse_events(told)
    harness.check_events(events)
    assert sum(event["event"] == "denied" for event in events) == 99


# ---- the broker's and the supervisor's end ----

BUSY = """
import os
print("ready", flush=True)
while True:
    try: open(".env").read(); print("READ A SECRET", flush=True)
    except OSError: pass
    try: open("ok").read()
    except OSError: pass
"""


def broker_of(running):
    """Pid of the broker below this toolcell."""
    deadline = time.monotonic() + 10 * harness.SLACK
    while time.monotonic() < deadline:
        for pid in running.processes():
            try:
                with open(f"/proc/{pid}/comm") as file:
                    if file.read() == "toolcell-broker\n":
                        return pid
            except OSError:
                pass
        time.sleep(0.002)
    raise AssertionError("no broker")


@pytest.mark.parametrize("round", range(6))
def test_a_killed_broker_ends_the_call(cell, policy, secret, round):
    running = cell.start("python3", "-c", BUSY, policy=policy)
    broker = broker_of(running)
    if round > 2:
        running.until("ready")
    time.sleep(random.random() * 0.1)
    os.kill(broker, signal.SIGKILL)
    outcome = running.wait()
    assert outcome.status == 125 and outcome.result["outcome"] == "setup_failed", outcome
    assert outcome.result["error"]["stage"] == "mediation"
    assert outcome.result["error"]["message"] in ("the broker was killed by SIGKILL", "the broker ended before the command started")
    assert "SECRET" not in outcome.text
    assert not leftovers.descendants(running.pid)


@pytest.mark.parametrize("round", range(4))
def test_a_killed_supervisor_leaves_nothing(cell, policy, secret, round):
    running = cell.start("python3", "-c", BUSY, policy=policy)
    if round > 1:
        running.until("ready")
    time.sleep(random.random() * 0.1)
    below = set(running.processes())
    running.signal(signal.SIGKILL)
    running.wait()
    deadline = time.monotonic() + 5 * harness.SLACK
    while below & set(leftovers.descendants(os.getpid())):
        assert time.monotonic() < deadline, "left behind"
        time.sleep(0.01)
    assert b"SECRET" not in running.sofar()["stdout"]


def test_a_stopped_broker_holds_up_nobody_else(cell, policy, secret):
    """The limits run on, and the end does not wait for it."""
    running = cell.start("python3", "-c", BUSY, policy=policy, options=["--timeout", "2s"])
    running.until("ready")
    broker = broker_of(running)
    os.kill(broker, signal.SIGSTOP)
    outcome = running.wait(timeout=10)
    assert outcome.result["outcome"] == "timeout" and outcome.status == 124
    assert not os.path.exists(f"/proc/{broker}")


def test_the_time_of_the_broker_is_the_calls(cell, policy, secret):
    outcome = cell.run("python3", "-c", BUSY, policy=policy, options=["--cpu-time", "1s", "--timeout", "60s"], timeout=70)
    assert outcome.result["outcome"] == "cpu_limit"
    assert outcome.result["usage"]["cpu_user_ms"] + outcome.result["usage"]["cpu_system_ms"] >= 1000
