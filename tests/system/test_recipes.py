# SPDX-License-Identifier: Apache-2.0
"""rootfs/busybox.sh makes a root file system that a cell runs in."""

import subprocess

import pytest

import harness

RECIPE = (harness.SOURCE / "rootfs" / "busybox.sh").read_text(encoding="utf-8")


@pytest.fixture
def make(cell):
    """Run the recipe as the identity; the checkout may be out of its reach, so the script comes as text."""
    def run(*arguments, **environment):
        return subprocess.run(["sh", "-c", RECIPE, "busybox.sh", *map(str, arguments)], env={**cell.environment(), **environment},
                              cwd=cell.area, capture_output=True, text=True, check=False, **cell.identity.popen())
    return run


def test_a_cell_runs_in_it(cell, make):
    root = cell.directory("made") / "root"
    assert make(root).returncode == 0
    done = cell.run("sh", "-c", "id -u; echo a b | awk '{ print $2 }'; ls -d /usr/bin/vi; cat /etc/os-release; touch f && ls",
                    options=["--rootfs", root]).succeeded()
    assert done.text == "1000\nb\n/usr/bin/vi\nNAME=busybox\nID=busybox\nf\n"


def test_a_directory_that_is_not_empty_is_left_alone(cell, make):
    kept = cell.directory("made")
    cell.write("kept", where=kept)
    done = make(kept)
    assert done.returncode == 1 and "is not empty" in done.stderr
    assert [path.name for path in kept.iterdir()] == ["kept"]


def test_a_dynamic_busybox_is_refused(cell, make):
    done = make(cell.area / "none", BUSYBOX="/usr/bin/env")
    assert done.returncode == 1 and "linked dynamically" in done.stderr
    assert not (cell.area / "none").exists()


@pytest.mark.parametrize("arguments", [[], ["--nonsense"], ["a", "b"]], ids=" ".join)
def test_usage(make, arguments):
    done = make(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("usage: ")
