# SPDX-License-Identifier: Apache-2.0
"""Who is asked when the rules ask (--ask), whether a command may start, and what an answer is good for."""

import fcntl
import json
import os
import pty
import termios
import time

import pytest

import harness
import leftovers

ASK_START = [{"pattern": "**", "operations": ["execute"], "effect": "ask", "reason": "each command"},
             {"pattern": "**", "operations": ["read", "write", "connect"], "effect": "allow"}]


class Asked:
    """A call whose questions the test answers over a pipe."""

    def __init__(self, cell, *argv, options=(), **more):
        read, self.write = os.pipe()
        os.set_inheritable(read, True)
        self.running = cell.start(*argv, options=["--ask", f"fd:{read}", *options], pass_fds=[read], **more)
        os.close(read)

    def until(self, number, timeout=30):
        """Wait for this question, and return its event."""
        self.running.until(f'"ask":{number},', timeout=timeout)
        for line in self.running.sofar()["stdout"].splitlines():
            event = json.loads(line)
            if event.get("ask") == number:
                return event
        raise AssertionError("not among whole lines")

    def send(self, text):
        os.write(self.write, (text if isinstance(text, str) else json.dumps(text)).encode() + b"\n")

    def answer(self, number, answer, **more):
        self.send({"ask": number, "answer": answer, **more})

    def answer_all(self):
        """Allow whatever is asked until the call ends."""
        number = 1
        while True:
            try:
                self.until(number)
            except AssertionError:
                assert b'"event":"result"' in self.running.sofar()["stdout"], "neither a question nor the end"
                return
            self.answer(number, "allow", **{"for": "call", "match": "rule"})
            number += 1

    def leave(self):
        if self.write >= 0:
            os.close(self.write)
        self.write = -1

    def wait(self):
        outcome = self.running.wait()
        self.leave()
        return outcome


@pytest.fixture
def start_policy(cell):
    return cell.policy(ASK_START, approval={"timeout": "60s"})


def test_a_start_that_is_allowed(cell, start_policy):
    asked = Asked(cell, "sh", "-c", "echo ran; true", policy=start_policy)
    event = asked.until(1)
    assert event["operation"] == "execute" and event["target"] == os.path.realpath("/bin/sh")
    assert event["rule"] == {"pattern": "**", "priority": 0, "reason": "each command"}
    assert event["deadline_ms"] == 60000
    assert asked.running.sofar()["stdout"].count(b'"stdout"') == 0, "it ran before it was allowed"
    asked.answer(1, "allow")
    outcome = asked.wait().succeeded()
    assert outcome.text == "ran\n" and len(outcome.of("ask")) == 1


@pytest.mark.parametrize("line, words, why", [
    ({"ask": 1, "answer": "deny"}, "the answer was no", "deny"),
    ({"ask": 1, "answer": "perhaps"}, "malformed", "malformed"),
    ("yes, please", "malformed", "malformed"),
    (None, "gone", "gone"),
])
def test_a_start_that_is_denied(cell, start_policy, line, words, why):
    asked = Asked(cell, "touch", "ran", policy=start_policy)
    asked.until(1)
    asked.leave() if line is None else asked.send(line)
    outcome = asked.wait()
    assert outcome.status == 126 and outcome.result["outcome"] == "refused"
    assert words in outcome.result["error"]["message"] and outcome.result["denials"] == 1
    [denied] = outcome.of("denied")
    assert (denied["by"], denied["why"], denied["syscall"]) == ("ask", why, None)
    assert not (cell.workspace / "ran").exists()


def test_a_start_that_nobody_answers(cell):
    policy = cell.policy(ASK_START, approval={"timeout": "300ms"})
    asked = Asked(cell, "touch", "ran", policy=policy)
    assert asked.until(1)["deadline_ms"] == 300
    outcome = asked.wait()
    assert outcome.status == 126 and outcome.of("denied")[0]["why"] == "deadline"


def test_the_wall_limit_is_a_deadline_too(cell, start_policy):
    asked = Asked(cell, "true", policy=start_policy, options=["--timeout", "400ms"])
    assert asked.until(1)["deadline_ms"] == 400
    assert asked.wait().status == 126


def test_a_signal_while_it_is_asked(cell, start_policy):
    asked = Asked(cell, "touch", "ran", policy=start_policy)
    asked.until(1)
    asked.running.signal(15)
    outcome = asked.wait()
    assert outcome.status == 143 and outcome.result["outcome"] == "cancelled"
    assert not (cell.workspace / "ran").exists()


def test_a_supervisor_that_is_killed_while_it_asks(cell, start_policy):
    asked = Asked(cell, "touch", "ran", policy=start_policy)
    asked.until(1)
    below = asked.running.processes()
    assert below
    asked.running.signal(9)
    asked.running.wait()
    deadline = time.monotonic() + 5 * harness.SLACK
    while set(below) & set(leftovers.descendants(os.getpid())):
        assert time.monotonic() < deadline, "left behind"
        time.sleep(0.01)


def test_a_command_rule_asks_once(cell):
    """The broker looks at every execve, the approved one too: it is not asked about again."""
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}],
                         commands=[{"argv": ["uname", "..."], "effect": "ask"}])
    asked = Asked(cell, "uname", "-s", policy=policy)
    assert asked.until(1)["rule"] == {"argv": ["uname", "..."], "reason": None}
    asked.answer(1, "allow")
    outcome = asked.wait().succeeded()
    assert outcome.text == "Linux\n" and len(outcome.of("ask")) == 1


# ---- --ask deny, and what cannot be asked ----


def test_nobody_is_asked_by_default(cell, start_policy):
    cell.refused(cell.run("true", policy=start_policy), "the rules ask", status=126)


def test_questions_need_a_reader(cell, start_policy):
    read, write = os.pipe()
    done = cell.plain("true", policy=start_policy, options=["--ask", f"fd:{read}"], pass_fds=[read])
    os.close(read), os.close(write)
    cell.refused(done, "--json or --events-fd")


def test_a_descriptor_that_is_none(cell, start_policy):
    cell.refused(cell.run("true", policy=start_policy, options=["--ask", "fd:77"]), "--ask fd:77")


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY])
def test_a_descriptor_that_cannot_be_waited_for(cell, start_policy, flags):
    file = os.open(cell.write("answers"), flags)
    done = cell.run("true", policy=start_policy, options=["--ask", f"fd:{file}"], pass_fds=[file])
    os.close(file)
    cell.refused(done, f"--ask fd:{file}")


def test_without_a_terminal(cell, start_policy):
    done = cell.run("true", policy=start_policy, options=["--ask", "tty"], start_new_session=True)
    cell.refused(done, "/dev/tty", "--ask fd:N")


# ---- --ask tty ----


class Terminal:
    """A call with a controlling terminal of its own, whose other end the test holds."""

    def __init__(self, cell, *argv, policy, raw=False, **more):
        self.master, slave = pty.openpty()
        if raw:
            mode = termios.tcgetattr(slave)
            mode[3] &= ~(termios.ICANON | termios.ECHO)
            termios.tcsetattr(slave, termios.TCSANOW, mode)
        self.before = termios.tcgetattr(self.master)
        self.running = cell.start(*argv, policy=policy, options=["--ask", "tty"], start_new_session=True, pass_fds=[slave],
                                  preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0), **more)
        self.seen, self.slave = b"", slave

    def until(self, text, timeout=20):
        os.set_blocking(self.master, False)
        deadline = time.monotonic() + timeout * harness.SLACK
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            try:
                self.seen += os.read(self.master, 4096)
            except BlockingIOError:
                time.sleep(0.01)
        return self.seen

    def type(self, text):
        self.seen = b""
        os.write(self.master, text)

    def wait(self):
        outcome = self.running.wait()
        assert termios.tcgetattr(self.master) == self.before, "the terminal is not as it was"
        os.close(self.master), os.close(self.slave)
        return outcome


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("typed, status", [(b"o\n", 0), (b"c\n", 0), (b"n\n", 126), (b"what\no\n", 0), (b"\x04", 126)])
def test_at_a_terminal(cell, start_policy, raw, typed, status):
    terminal = Terminal(cell, "echo", "ran", policy=start_policy, raw=raw)
    shown = terminal.until(b"[n]ot at all?")
    assert b"execute " in shown and b"rule ** " in shown and b"each command" in shown
    terminal.type(typed)
    outcome = terminal.wait()
    assert outcome.status == status, outcome
    assert (outcome.text == "ran\n") == (status == 0)


def test_a_question_does_not_control_the_terminal(cell):
    """A pattern or name with control characters is shown, not obeyed."""
    policy = cell.policy([{**ASK_START[0], "reason": "\u001b[2J\nallowed"}, ASK_START[1]])
    terminal = Terminal(cell, "true", policy=policy)
    shown = terminal.until(b"[n]ot at all?")
    assert b"\x1b" not in shown and b"\\x1b[2J\\nallowed" in shown
    terminal.type(b"n\n")
    terminal.wait()


def test_interrupted_at_a_terminal(cell, start_policy):
    terminal = Terminal(cell, "echo", "ran", policy=start_policy)
    terminal.until(b"[n]ot at all?")
    terminal.type(b"\x03")
    outcome = terminal.wait()
    assert outcome.status == 130 and outcome.result["outcome"] == "cancelled"


def test_a_terminal_that_hangs_up(cell, start_policy):
    terminal = Terminal(cell, "echo", "ran", policy=start_policy)
    terminal.until(b"[n]ot at all?")
    os.close(terminal.slave)
    os.close(terminal.master)
    outcome = terminal.running.wait()
    assert outcome.status in (126, 129), "denied, or ended by the hangup"
    assert outcome.text == ""
