# SPDX-License-Identifier: Apache-2.0
"""Exit statuses and messages: the contract's table, the same with and without events."""

import os
import shutil

import pytest

import judging
from harness import SLACK


@pytest.fixture(params=[True, False], ids=["events", "plain"])
def run(cell, request):
    return lambda *argv, **more: cell.run(*argv, events=request.param, **more)


@pytest.mark.parametrize("code", [0, 1, 2, 77, 124, 125, 126, 127, 128, 137, 255])
def test_the_command_s_own(cell, run, code):
    judging.own_status(code)
    done = run("sh", "-c", f"exit {code}")
    assert done.status == code
    if done.result:
        assert (done.result["outcome"], done.result["exit_code"], done.result["signal"]) == ("exited", code, None)
        assert done.result["error"] is None


@pytest.mark.parametrize("number,name", [(1, "SIGHUP"), (6, "SIGABRT"), (9, "SIGKILL"), (11, "SIGSEGV"), (13, "SIGPIPE"), (15, "SIGTERM"),
                                         (31, "SIGSYS"), (34, None)])
def test_ended_by_a_signal(cell, run, number, name):
    done = run("bash", "-c", f"kill -{number} $$")
    assert done.status == 128 + number
    if done.result:
        assert done.result["outcome"] == "signaled" and done.result["exit_code"] is None
        assert done.result["signal"] == name if name else done.result["signal"].startswith("SIG")


def test_not_found(cell, run):
    done = run("no-such-program-anywhere")
    assert done.status == 127 and "no-such-program-anywhere" in done.messages
    assert run("/no/such/path").status == 127
    assert run("./missing").status == 127


def test_not_executable(cell, run):
    cell.write("plain", "text")
    assert run("./plain").status == 126
    assert run("/usr").status == 126
    cell.write("garbage", b"\x00\x01garbage", mode=0o755)
    assert run("./garbage").status == 126
    cell.write("script", "#!/no/such/interpreter\n", mode=0o755)
    assert run("./script").status in (126, 127)


def test_refused_by_the_rules(cell, run):
    deny = cell.policy([{"pattern": "**", "operations": ["execute"], "effect": "deny", "reason": "nothing runs"}])
    done = run("touch", "ran", policy=deny)
    assert done.status == 126 and not (cell.workspace / "ran").exists()
    if done.result:
        assert done.result["outcome"] == "refused"
    assert "nothing runs" in done.messages or "nothing runs" in str(done.events)


def test_refused_by_a_command_rule(cell, run):
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}],
                         commands=[{"argv": ["touch", "..."], "effect": "deny", "reason": "no touching"}])
    for argv in (["touch", "ran"], ["env", "touch", "ran"], ["/usr/bin/touch", "ran"]):
        done = run(*argv, policy=policy)
        assert done.status == 126, argv
    assert not (cell.workspace / "ran").exists()
    assert run("true", policy=policy).status == 0


def test_dangerous_commands_of_the_default(cell, run):
    for argv in (["rm", "-rf", "/"], ["rm", "-rf", "/workspace"], ["mkfs.ext4", "/dev/sda"], ["dd", "if=/dev/zero", "of=/dev/sda"],
                 ["shutdown", "now"]):
        if shutil.which(argv[0], path=os.environ["PATH"] + ":/usr/sbin:/sbin") is None:
            continue  # not on every machine, and what is not there is "not found"
        done = run(*argv, policy="workspace")
        assert done.status == 126, (argv, done.status, done.messages)


def test_an_ask_that_nobody_answers_denies(cell, run):
    policy = cell.policy([{"pattern": "**", "operations": ["execute"], "effect": "ask"},
                          {"pattern": "**", "operations": ["read", "write", "connect"], "effect": "allow"}])
    done = run("touch", "ran", policy=policy)
    assert done.status == 126 and not (cell.workspace / "ran").exists()


BAD_LINES = [
    ["--nonsense"], ["--timeout"], ["-p", "no-such-preset"], ["-p", "/no/such/file.json"], ["--rootfs", "no-such-name"],
    ["--net", "everything"], ["--stdin", "maybe"], ["--events-fd", "99"], ["--events-fd", "x"], ["--policy-fd", "98"], ["--ask", "loudly"],
    ["--label", "novalue"], ["--allow-degraded=nothing"], ["--request", "/no/such/request.json"], ["--user", "nobody-knows"],
    ["--tmpfs", "relative"], ["-m", "onlysource"], ["--mount", "a:b:c:d:e"], ["-w", ""], ["--cwd", ""],
]


@pytest.mark.parametrize("options", BAD_LINES, ids=" ".join)
def test_bad_options_are_named(cell, options):
    """One clear line that names the place, exit 125, and the command has not run."""
    done = cell.plain("touch", "/workspace/ran", options=options)
    assert done.status == 125, done
    lines = done.messages.strip().splitlines()
    assert 1 <= len(lines) <= 2 and lines[0].startswith("toolcell: "), lines
    assert options[0] in done.messages or (len(options) > 1 and options[1] in done.messages), lines
    assert not (cell.workspace / "ran").exists() and done.stdout == b""


def test_no_program(cell):
    done = cell.plain()
    assert done.status == 125 and done.messages.startswith("toolcell: ")
    assert cell.plain("").status in (125, 127)


def test_a_bad_option_with_events_is_one_result(cell):
    done = cell.run("true", options=["--timeout", "nonsense"])
    assert done.status == 125
    if done.events:
        assert done.result["outcome"] == "setup_failed" and "timeout" in done.result["error"]["message"]
        assert done.result["error"]["stage"]


BAD_POLICIES = {
    "": "", "not-json": "{", "not-an-object": "[]", "version": '{"version": 2}', "no-version": '{"rules": []}',
    "/rules/0/efect": '{"version":1,"rules":[{"pattern":"**","operations":"all","efect":"deny"}]}',
    "/rules/0/effect": '{"version":1,"rules":[{"pattern":"**","operations":"all","effect":"maybe"}]}',
    "/rules/0/operations": '{"version":1,"rules":[{"pattern":"**","operations":["fly"],"effect":"deny"}]}',
    "twice": '{"version":1,"version":1}', "/limits/wall": '{"version":1,"limits":{"wall":"soon"}}',
    "/rules/0/pattern": '{"version":1,"rules":[{"pattern":"a\\u0000b","operations":"all","effect":"deny"}]}',
    "/extends": '{"version":1,"extends":"no-such-preset"}', "deep": "[" * 100000, "mixed": '{"version":1,"rules":[{"pattern":"a/**",'
    '"operations":["read","connect"],"effect":"deny"}]}',
}


@pytest.mark.parametrize("place", BAD_POLICIES)
def test_bad_policies_are_named(cell, place):
    path = cell.policy()
    path.write_text(BAD_POLICIES[place])
    done = cell.plain("touch", "ran", policy=path)
    assert done.status == 125 and done.messages.count("\n") <= 2, done
    assert done.messages.startswith("toolcell: ") and path.name in done.messages, done.messages
    if place.startswith("/"):
        assert place in done.messages, done.messages
    assert not (cell.workspace / "ran").exists()


def test_messages_do_not_carry_control_characters(cell):
    """What a hostile name would do to a terminal."""
    done = cell.plain("\x1b]0;owned\x07\nx")
    assert done.status == 127 and "\x1b" not in done.messages and "\x07" not in done.messages


def test_quiet_and_verbose(cell):
    deny = cell.policy([{"pattern": "**", "operations": ["read", "write", "connect"], "effect": "allow"},
                        {"pattern": "**", "operations": ["execute"], "effect": "deny"}])
    loud = cell.plain("true", policy=deny)
    quiet = cell.plain("true", policy=deny, options=["-q"])
    assert (loud.status, quiet.status) == (126, 126)
    assert "denied" in loud.messages and "denied" not in quiet.messages.replace(loud.messages, "")
    assert cell.plain("true", options=["-v"]).succeeded().stdout == b""
    assert cell.plain("true", options=["-q"]).succeeded().messages == ""


def test_version_and_help(cell):
    import json
    import subprocess
    for line in (["--version"], ["--help"], ["help", "run"], ["run", "--help"]):
        done = subprocess.run([cell.binary, *line], capture_output=True, text=True, timeout=10 * SLACK, check=False)
        assert done.returncode == 0 and done.stdout and not done.stderr, (line, done)
    document = json.loads(subprocess.run([cell.binary, "--version", "--json"], capture_output=True, check=True, timeout=10 * SLACK).stdout)
    assert document["version"]
    assert subprocess.run([cell.binary], capture_output=True, timeout=10 * SLACK, check=False).returncode == 125
    assert subprocess.run([cell.binary, "no-such-verb"], capture_output=True, timeout=10 * SLACK, check=False).returncode == 125
