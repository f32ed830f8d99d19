# SPDX-License-Identifier: Apache-2.0
"""Questions about what a running command does: what waits, what goes on, and what an answer covers."""

import textwrap
import time

import pytest

import harness
from test_ask import Asked, Terminal

RULES = [{"pattern": "**/ask-*", "operations": ["read", "write"], "effect": "ask", "priority": 50, "reason": "look twice"},
         {"pattern": "**", "operations": "all", "effect": "allow"}]


@pytest.fixture
def policy(cell):
    for number in range(40):
        cell.write(f"ask-{number}", f"content {number}\n")
    return cell.policy(RULES)


def test_only_what_is_asked_about_waits(cell, policy):
    asked = Asked(cell, "sh", "-c", "cat ask-1 & echo elsewhere; wait", policy=policy)
    assert asked.until(1)["target"] == "/workspace/ask-1"
    asked.running.until("elsewhere")
    asked.answer(1, "allow")
    assert asked.wait().succeeded().text == "elsewhere\ncontent 1\n"


def test_each_answer_is_for_its_question(cell, policy):
    asked = Asked(cell, "sh", "-c", "cat ask-1; cat ask-1; cat ask-2; cat ask-2; cat ask-3", policy=policy)
    asked.until(1)
    asked.answer(1, "allow")  # once
    asked.until(2)
    asked.answer(2, "deny", **{"for": "call"})
    assert asked.until(3)["target"] == "/workspace/ask-2"
    asked.answer(3, "allow", **{"for": "session"})  # asked once, read twice
    assert asked.until(4)["target"] == "/workspace/ask-3"
    asked.send({"ask": 4, "answer": "allow", "for": "good"})
    outcome = asked.wait()
    assert outcome.text == "content 1\ncontent 2\ncontent 2\n" and len(outcome.of("ask")) == 4
    assert [(event["target"], event["by"], event["why"]) for event in outcome.of("denied")] == \
        [("/workspace/ask-1", "ask", "deny"), ("/workspace/ask-3", "ask", "malformed")]


def test_reading_is_not_writing(cell, policy):
    asked = Asked(cell, "sh", "-c", "cat ask-1; echo more >> ask-1; cat ask-1", policy=policy)
    asked.until(1)
    asked.answer(1, "allow", **{"for": "call"})
    assert asked.until(2)["operation"] == "write"
    asked.answer(2, "deny")
    assert asked.wait().text == "content 1\ncontent 1\n"
    assert (cell.workspace / "ask-1").read_text() == "content 1\n"


def test_a_late_answer_is_none(cell):
    cell.write("ask-1", "content")
    asked = Asked(cell, "sh", "-c", "cat ask-1; sleep 1; echo end", policy=cell.policy(RULES, approval={"timeout": "300ms"}))
    asked.until(1)
    asked.running.until('"why":"deadline"')
    asked.answer(1, "allow")
    outcome = asked.wait().succeeded()
    assert outcome.text == "end\n" and len(outcome.of("denied")) == 1


def test_an_approver_that_leaves(cell, policy):
    asked = Asked(cell, "sh", "-c", "cat ask-1; cat ask-2; echo end", policy=policy)
    asked.until(1)
    asked.leave()
    outcome = asked.wait().succeeded()
    assert outcome.text == "end\n" and len(outcome.of("ask")) == 1
    assert [event["why"] for event in outcome.of("denied")] == ["gone", "gone"]


def test_forty_at_once(cell, policy):
    """32 are open, the others are denied; one answer for the rule lets all that wait go on."""
    script = """
        import threading
        got, lost = [], []
        def read(number):
            try: got.append(open(f"ask-{number}").read())
            except PermissionError: lost.append(number)
        threads = [threading.Thread(target=read, args=(number,)) for number in range(40)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(len(got), len(lost))
        """
    asked = Asked(cell, "python3", "-c", textwrap.dedent(script), policy=policy)
    asked.until(32)
    deadline = time.monotonic() + 20 * harness.SLACK
    while asked.running.sofar()["stdout"].count(b'"why":"many"') < 8 and time.monotonic() < deadline:
        time.sleep(0.02)
    asked.answer(7, "allow", **{"for": "call", "match": "rule"})
    outcome = asked.wait().succeeded()
    assert outcome.text == "32 8\n" and len(outcome.of("ask")) == 32


def test_equal_questions_wait_for_one_answer(cell, policy):
    asked = Asked(cell, "sh", "-c", "for i in 1 2 3 4 5 6; do cat ask-1 & done; wait", policy=policy)
    asked.until(1)
    time.sleep(0.5)
    asked.answer_all()
    outcome = asked.wait().succeeded()
    assert outcome.text == "content 1\n" * 6 and len(outcome.of("ask")) == 1


def test_a_caller_that_is_killed_while_it_is_asked_about(cell, policy):
    asked = Asked(cell, "sh", "-c", "cat ask-1 & sleep 0.3; kill -9 $!; wait $!; echo $?; cat ask-2", policy=policy)
    asked.until(1)
    asked.until(2)
    asked.answer(1, "allow")
    asked.answer(2, "allow")
    assert asked.wait().succeeded().text == "137\ncontent 2\n"


def test_beside_output_at_a_terminal(cell, policy):
    terminal = Terminal(cell, "sh", "-c", "echo before; cat ask-1; echo after; cat ask-1; cat ask-2; true", policy=policy)
    shown = terminal.until(b"[n]ot at all?")
    assert b"read /workspace/ask-1: rule **/ask-* (" in shown and b"look twice" in shown
    terminal.type(b"c\n")
    assert b"/workspace/ask-2" in terminal.until(b"[n]ot at all?")
    terminal.type(b"n\n")
    outcome = terminal.wait().succeeded()
    assert outcome.text == "before\ncontent 1\nafter\ncontent 1\n" and len(outcome.of("ask")) == 2


def test_the_lines_say_why(cell, policy):
    done = cell.plain("cat", "ask-1", policy=policy)
    assert done.status == 1
    assert done.messages.splitlines()[-1].endswith("look twice; asked: nobody is there to answer")
