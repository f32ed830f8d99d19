# SPDX-License-Identifier: Apache-2.0
"""The fixture that every other test relies on must be able to fail."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import leftovers
from harness import SLACK

HERE = Path(__file__).resolve().parent
needs_root = pytest.mark.by_root


def test_nothing_new_is_nothing_left():
    before = leftovers.snapshot()
    subprocess.run(["true"], check=True)
    assert leftovers.remaining(before) == []


def test_an_orphan_is_seen_even_in_a_session_of_its_own():
    before = leftovers.snapshot()
    subprocess.run(["sh", "-c", "setsid sleep 60 >/dev/null 2>&1 & exit 0"], check=True)
    lines = leftovers.remaining(before, timeout=0.2)
    assert any("process" in line and "sleep 60" in line for line in lines), lines
    for pid in leftovers.descendants(os.getpid()):
        os.kill(pid, 9)
    assert leftovers.remaining(before) == []
    leftovers.reap_orphans()


def test_a_network_namespace_is_seen():
    before = leftovers.snapshot()
    with subprocess.Popen(["unshare", "-Urn", "sleep", "60"]) as child:
        lines = leftovers.remaining(before, timeout=0.3)
        child.kill()
    assert any(line.startswith("network namespace") for line in lines), lines


@needs_root
def test_a_mount_is_seen(base):
    target = base / "leak"
    target.mkdir()
    before = leftovers.snapshot()
    subprocess.run(["mount", "-t", "tmpfs", "leak", target], check=True)
    lines = leftovers.remaining(before, timeout=0)
    subprocess.run(["umount", target], check=True)
    assert any(line.startswith("mount") and str(target) in line for line in lines), lines


@needs_root
def test_a_cgroup_is_seen():
    roots = [line.split(" ")[4] for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - cgroup2 " in line]
    if not roots:
        pytest.skip("no cgroup2 mount")
    before = leftovers.snapshot()
    group = Path(roots[0]) / "toolcell-leak"
    group.mkdir()
    lines = leftovers.remaining(before, timeout=0)
    group.rmdir()
    assert any(line.startswith("cgroup") and group.name in line for line in lines), lines


def test_a_file_is_seen(base, monkeypatch):
    monkeypatch.setattr(leftovers, "PLACES", [base])
    before = leftovers.snapshot({os.getuid()})
    (base / "left").write_text("")
    lines = leftovers.remaining(before, {os.getuid()}, timeout=0)
    (base / "left").unlink()
    assert any(line.startswith("file") and "/left" in line for line in lines), lines


SKIPPING = """
import pytest

def test_skips():
    pytest.skip("no such thing here")
"""


def run_nested(base, name, source, **environment):
    """The real conftest, in a run of its own."""
    nested = base / name
    nested.mkdir(exist_ok=True)
    for file in ("conftest.py", "harness.py", "agent.py", "judging.py", "leftovers.py", "missing.py"):
        shutil.copy(HERE / file, nested / file)
    (nested / "test_nested.py").write_text(source)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", nested], cwd=nested,
                          capture_output=True, text=True, timeout=60 * SLACK, env={**os.environ, **environment}).stdout


def test_a_skip_is_a_failure_when_all_must_work(base):
    assert "1 skipped" in run_nested(base, "skipping", SKIPPING, TOOLCELL_MUST_WORK="0")
    strict = run_nested(base, "strict", SKIPPING, TOOLCELL_MUST_WORK="1")
    assert "1 failed" in strict and "no such thing here" in strict, strict


LEAKY = """
import os, pathlib, subprocess
import leftovers

leftovers.PLACES.append("shared")  # the shared places of the machine are watched by other runs too

def test_leaks_a_process():
    subprocess.run(["sh", "-c", "setsid sleep 20 >/dev/null 2>&1 & exit 0"], check=True)

def test_leaks_a_file():
    pathlib.Path("shared/of-a-cell").write_text("")
    if os.getuid() == 0:
        os.chown("shared/of-a-cell", 2000000007, 2000000007)

def test_leaks_nothing():
    pass
"""


def test_the_fixture_fails_a_test_that_leaks(base):
    (base / "leaky" / "shared").mkdir(parents=True)
    output = run_nested(base, "leaky", LEAKY)
    for pid in leftovers.descendants(os.getpid()):
        os.kill(pid, 9)
    assert "2 errors" in output and "3 passed" in output, output
    assert "sleep 20" in output and "shared/of-a-cell" in output, output
