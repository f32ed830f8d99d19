# SPDX-License-Identifier: Apache-2.0
"""Attempts: small C programs that try things and tell what the kernel answered, in a cell and out of it."""

import json
import subprocess
from pathlib import Path

import pytest
from harness import SLACK

SOURCES = Path(__file__).resolve().parent / "probes"
UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]


class Probes:
    """Built once a run, static, so that they start in every root file system."""

    def __init__(self, directory):
        self.directory = directory
        self.directory.mkdir(mode=0o755)

    def build(self, name):
        program = self.directory / name
        if not program.exists():
            subprocess.run(["cc", "-std=gnu11", "-O1", "-static", "-Wall", "-Wextra", "-Werror", "-pthread",
                            str(SOURCES / f"{name}.c"), "-o", str(program)], check=True)
            program.chmod(0o755)
        return program


class Attempt:
    """One probe, tried by the identity of a cell."""

    def __init__(self, cell, program):
        self.cell, self.program = cell, program

    def options(self):
        return ["-m", f"{self.program.parent}:/probes:tools"]

    def argv(self, *arguments):
        return (f"/probes/{self.program.name}", *map(str, arguments))

    def inside(self, *arguments, options=(), **more):
        """{what was tried: name of the errno, or None when it succeeded}, in a cell."""
        done = self.cell.run(*self.argv(*arguments), options=[*self.options(), *options], **more)
        return done.succeeded().answer

    def start(self, *arguments, options=(), **more):
        """The same, still running."""
        return self.cell.start(*self.argv(*arguments), options=[*self.options(), *options], **more)

    def outside(self, *arguments, prefix=()):
        """The same by the same identity where nothing stops it."""
        return json.loads(outside(self.cell, *prefix, self.program, *arguments).stdout)

    def bare(self, *arguments):
        """The same as root of fresh user, mount and pid namespaces, with no filter."""
        return self.outside(*arguments, prefix=UNSHARE)


def outside(cell, *argv, check=True, **popen):
    """Run a program as the cell's identity, in the workspace, but in no cell."""
    options = {"cwd": cell.workspace, "capture_output": True, "timeout": 60 * SLACK, "env": cell.environment(),
               **cell.identity.popen(), **popen}
    done = subprocess.run([str(part) for part in argv], check=False, **options)
    assert done.returncode == 0 or not check, f"the control fails: {argv}: {done}"
    return done


def succeeded(answers):
    return {name for name, error in answers.items() if error is None}


def all_refused(answers, *errors):
    """Nothing succeeded, and each refusal is one of these (any, when none is given)."""
    assert answers and not succeeded(answers), f"succeeded: {sorted(succeeded(answers))}"
    wrong = {name: error for name, error in answers.items() if errors and error not in errors}
    assert not wrong, f"refused in another way: {wrong}"


def needs_namespaces(cell):
    """Skip a control that needs unprivileged user namespaces where this host gives none to the identity."""
    if outside(cell, *UNSHARE, "true", check=False).returncode:
        pytest.skip("this host gives no user namespaces to ordinary programs, so there is no bare control")
