# SPDX-License-Identifier: Apache-2.0
"""The six presets from outside: which may start a call, and what holds of them."""

import json
import os

import pytest

import test_ask

MAY_RUN = {"readonly": False, "default": False, "strict": False, "permissive": True, "workspace": True, "git": True}


@pytest.mark.parametrize("preset,may", MAY_RUN.items())
def test_whether_a_call_may_start(cell, preset, may):
    """`execute` is denied or asked by three of them, and nobody answers."""
    done = cell.run("touch", "ran", policy=preset)
    assert (done.status == 0) is may and (cell.workspace / "ran").exists() is may, done
    if not may:
        assert done.status == 126 and done.result["outcome"] == "refused"
        assert done.result["error"]["message"]


@pytest.mark.parametrize("preset", [name for name, may in MAY_RUN.items() if may])
def test_secrets_stay_unread(cell, preset):
    """Whole names, at any depth; what is beside them is readable."""
    for name in (".env", "deep/down/.env", "deep/.env.local"):
        cell.write(name, "SECRET\n")
    cell.write("deep/down/env", "open\n")
    assert cell.run("cat", ".env").text == "SECRET\n", "the control"
    done = cell.run("sh", "-c", "cat deep/down/env .env deep/down/.env deep/.env.local", policy=preset)
    assert done.text == "open\n" and done.result["denials"] == 3
    assert {event["by"] for event in done.of("denied")} == {"rule"}
    assert done.result["degraded"] == []


@pytest.mark.parametrize("preset", [name for name, may in MAY_RUN.items() if may])
def test_git_hooks_cannot_be_planted(cell, preset):
    cell.write(".git/hooks/keep", "")
    script = "echo x > .git/hooks/pre-commit; echo y > plain; mv plain .git/hooks/post-commit; ls .git/hooks"
    done = cell.run("sh", "-c", script, policy=preset)
    left = sorted(os.listdir(cell.workspace / ".git/hooks"))
    assert (left == ["keep"]) is (preset != "permissive"), (done, left)


@pytest.mark.parametrize("preset", ["default", "strict"])
def test_a_preset_that_asks_works_for_who_is_answered(cell, preset):
    """Whoever answers everything with yes can work; what is denied by name stays denied."""
    cell.write(".env", "SECRET\n")
    cell.write("ok", "open\n")
    asked = test_ask.Asked(cell, "sh", "-c", "cat ok .env; echo new > made", policy=preset)
    asked.answer_all()
    done = asked.wait()
    assert done.text == "open\n" and (cell.workspace / "made").read_text() == "new\n"


def test_the_default_is_workspace(cell):
    named = cell.run("true", policy="workspace").succeeded().events[0]["policy"]
    assert cell.run("true", policy=None).succeeded().events[0]["policy"] == named


@pytest.mark.parametrize("names", ["mediation", "mediation,proc", "proc,landlock,limits,mediation", ""])
def test_names_of_what_may_be_degraded(cell, names):
    option = f"--allow-degraded={names}" if names else "--allow-degraded"
    cell.run("true", policy=None, options=["-p", "workspace", option]).succeeded()


def test_a_preset_can_be_extended(cell):
    policy = cell.policy([{"pattern": "**", "operations": ["execute"], "effect": "deny", "priority": 200, "reason": "none today"}],
                         extends="workspace")
    done = cell.run("touch", "ran", policy=policy)
    assert done.status == 126 and "none today" in done.messages


def test_a_policy_from_a_descriptor(cell):
    """Nothing of it is on disk or in argv."""
    read, write = os.pipe()
    os.write(write, b'{"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]}')
    os.close(write)
    done = cell.run("python3", "-c", "import os; print(len(os.listdir('/proc/self/fd')))", policy=None,
                    options=["--policy-fd", read], pass_fds=[read])
    os.close(read)
    assert done.succeeded().text == "4\n", "the three streams and the listing's own"


def test_a_policy_of_the_user_s_configuration(cell):
    place = cell.directory("config")
    (place / "toolcell" / "policies").mkdir(parents=True)
    path = place / "toolcell" / "policies" / "mine.json"
    path.write_text(json.dumps({"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]}))
    for entry in (place / "toolcell", place / "toolcell" / "policies", path):
        cell.identity.own(entry)
    more = {"env": {"XDG_CONFIG_HOME": str(place)}, "policy": None, "options": ["-p", "mine"]}
    cell.run("true", **more).succeeded()
    path.chmod(0o666)
    done = cell.run("touch", "ran", **more)
    assert done.status == 125 and "mine.json" in done.messages, "a policy that others can write is not one"


@pytest.mark.parametrize("name", ["../../etc/passwd", ".", "..", "", "a b", "mine\n", "UPPER", "workspace.json/"])
def test_names_that_are_none(cell, name):
    done = cell.run("touch", "ran", policy=None, options=["-p", name])
    assert done.status == 125 and not (cell.workspace / "ran").exists()
