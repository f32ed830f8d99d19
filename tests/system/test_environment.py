# SPDX-License-Identifier: Apache-2.0
"""The environment of the command is exactly what the contract lists, then what was asked for."""

import os

import pytest

EXACT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home/agent", "USER": "agent",
         "LOGNAME": "agent", "SHELL": "/bin/sh", "LANG": "C.UTF-8", "TMPDIR": "/tmp", "PWD": "/workspace", "TOOLCELL": "1"}
NEVER = ["LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "GLIBC_TUNABLES", "PYTHONSTARTUP", "GIT_DIR",
         "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL"]


def environment(cell, **more):
    done = cell.run("env", "-0", **more).succeeded()
    return dict(item.split("=", 1) for item in done.stdout.decode(errors="surrogateescape").split("\0") if item)


def test_exactly_this(cell):
    seen = environment(cell, env={"HOST_SECRET": "x", "EDITOR": "vi", "TERM": "xterm", "LC_ALL": "C"})
    zone = seen.pop("TZ", None)
    assert seen == EXACT
    assert zone is None or zone


def test_set_and_passed(cell):
    seen = environment(cell, env={"A": "host", "B": "host"}, options=["--env", "C=set", "--pass-env", "A", "--env", "EMPTY="])
    assert seen["A"] == "host" and seen["C"] == "set" and seen["EMPTY"] == "" and "B" not in seen


def test_the_later_wins(cell):
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}],
                         environment={"pass": ["A"], "set": {"A": "policy-set", "B": "policy-set", "LANG": "de"}})
    seen = environment(cell, policy=policy, env={"A": "host", "B": "host"})
    assert (seen["A"], seen["B"], seen["LANG"]) == ("host", "policy-set", "de"), "set, then pass"
    seen = environment(cell, policy=policy, env={"A": "host", "B": "host"}, options=["--pass-env", "B", "--env", "A=option"])
    assert (seen["A"], seen["B"]) == ("option", "host")


def test_defaults_can_be_overridden(cell):
    assert environment(cell, options=["--env", "HOME=/tmp", "--env", "TZ=UTC"])["HOME"] == "/tmp"


@pytest.mark.parametrize("name", NEVER)
def test_what_poisons_programs_is_never_passed(cell, name):
    hostile = {name: "/workspace/x"} if not name.startswith("LD_") and name != "GLIBC_TUNABLES" else {name: ""}
    done = cell.run("env", "-0", options=["--pass-env", name], env=hostile)
    assert done.status == 125 or name.encode() + b"=" not in done.stdout
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}], environment={"pass": [name]})
    done = cell.run("env", "-0", policy=policy, env=hostile)
    assert done.status == 125 or name.encode() + b"=" not in done.stdout
    assert environment(cell, options=["--env", f"{name}="])[name] == "", "set on purpose it is there"


def test_values_of_every_kind(cell):
    value = "a=b c\n\t\"'\\ é"
    seen = environment(cell, options=["--env", f"V={value}"])
    assert seen["V"] == value
    raw = cell.run("env", "-0", env={"RAW": os.fsdecode(b"\xff\xfe")}, options=["--pass-env", "RAW"]).succeeded()
    assert b"RAW=\xff\xfe\0" in raw.stdout


@pytest.mark.parametrize("option", [["--env", "=x"], ["--env", "noequals"], ["--env", ""], ["--pass-env", "A=B"], ["--pass-env", ""]])
def test_malformed_options_are_refused(cell, option):
    done = cell.run("touch", "ran", options=option)
    assert done.status == 125 and not (cell.workspace / "ran").exists()


def test_a_big_environment(cell):
    options = [item for number in range(500) for item in ("--env", f"V{number}={'x' * 200}")]
    assert len(environment(cell, options=options)) >= 500


def test_a_name_that_is_not_set_is_not_passed(cell):
    assert "NOT_SET_AT_ALL" not in environment(cell, options=["--pass-env", "NOT_SET_AT_ALL"])


def test_no_home_is_no_trouble(cell):
    prefix = ["env", "-u", "HOME", "-u", "XDG_RUNTIME_DIR"]
    cell.run("true", prefix=prefix).succeeded()
    cell.run("true", prefix=["env", "-i"]).succeeded()


def test_the_program_is_found_by_the_cell_s_path(cell):
    cell.write("bin/mine", "#!/bin/sh\necho mine\n", mode=0o755)
    assert cell.run("mine", env={"PATH": f"{cell.workspace}/bin:/usr/bin:/bin"}).status == 127
    assert cell.run("mine", options=["--env", "PATH=/workspace/bin:/usr/bin:/bin"]).succeeded().text == "mine\n"
