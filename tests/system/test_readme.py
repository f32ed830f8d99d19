# SPDX-License-Identifier: Apache-2.0
"""The README's examples work when pasted, one after the other, into a shell in a checkout."""

import os
import re
import shutil
import subprocess

import pytest

import harness

README = (harness.SOURCE / "README.md").read_text(encoding="utf-8")


def blocks(language):
    """The fenced blocks of one language."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)
    assert found, f"no {language} example in README.md"
    return found


@pytest.fixture
def paste(identity, binary, area):
    """Run a program as somebody would in a checkout where quickstart has built toolcell."""
    checkout, temporary = area / "checkout", area / "tmp"
    (checkout / "build").mkdir(parents=True)
    shutil.copy(binary, checkout / "build" / "toolcell")
    temporary.mkdir()
    identity.own(temporary)
    environment = {"PATH": os.defpath + ":/usr/sbin:/sbin", "HOME": str(identity.home), "TMPDIR": str(temporary),
                   "LC_ALL": "C.UTF-8"}

    def run(command, directory=checkout, path=""):
        done = subprocess.run(command, cwd=directory, env=dict(environment, PATH=path + environment["PATH"]),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120 * harness.SLACK, check=False, **identity.popen())
        assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    run.checkout = checkout
    run.tmp = temporary
    return run


def test_shell_examples(paste):
    output = paste(["bash", "-eu", "-o", "pipefail", "-c", "\n".join(blocks("sh"))])
    lines = output.splitlines()
    assert [line for line in lines if '"event":"result"' in line and '"outcome":"exited"' in line]
    assert [line for line in lines if '"event":"stdout"' in line and '"data":"42\\n"' in line]
    for expected in ("3", "exit status 124", "agent", "/workspace", "made inside", "denied: exit status 1"):
        assert expected in lines, f"{expected!r} is not among the lines of\n{output}"


def test_python_example(paste):
    for example in blocks("python"):
        output = paste([harness.PYTHON, "-c", example], paste.tmp, path=f"{paste.checkout}/build:")
        assert output.splitlines() == ["stdout 'hello\\n' utf-8", "exited 3 True"]


def test_the_two_commands_are_there():
    for command in ("tools/quickstart", "tools/check"):
        assert f"./{command}" in README
        assert os.access(harness.SOURCE / command, os.X_OK)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (harness.SOURCE / target).exists(), target
