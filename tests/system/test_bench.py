# SPDX-License-Identifier: Apache-2.0
"""What tools/bench compares with: the floor is what it says, and the report tells which aims are reached."""

import json
import os
import pathlib
import subprocess

import pytest

from harness import SLACK, SOURCE, sanitized

NAMESPACES = ("user", "mnt", "pid", "net", "ipc", "uts")
LOOK = "readlink /proc/self/ns/" + " /proc/self/ns/".join(NAMESPACES)


@pytest.fixture(name="floor")
def built_floor():
    built = pathlib.Path(os.environ.get("TOOLCELL", SOURCE / "build" / "toolcell"))
    program = built.parent / "tests" / "bench" / "floor"
    if not program.is_file():
        pytest.skip("the programs behind tools/bench are not built")
    return program


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=30 * SLACK, check=False)


def test_floor_has_namespaces_of_its_own(floor, tmp_path):
    script = tmp_path / "look"
    script.write_text(f"#!/bin/sh\nexec {LOOK}\n", encoding="ascii")
    script.chmod(0o755)
    outside = [os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES]
    tree = run(floor, "tree", tmp_path, "/workspace/look")
    assert tree.returncode == 0, tree.stderr
    inside = tree.stdout.split()
    assert len(inside) == len(outside) and not set(inside) & set(outside)
    assert run(script).stdout.split() == outside, "the positive control"


def test_floor_has_a_tree_of_its_own(floor, tmp_path):
    (tmp_path / "file").write_text("", encoding="ascii")
    script = tmp_path / "look"
    script.write_text("#!/bin/sh\nid -u; pwd; ls; ls /; touch /usr/x 2>&1\n", encoding="ascii")
    script.chmod(0o755)
    lines = run(floor, "tree", tmp_path, "/workspace/look").stdout.splitlines()
    assert lines[:4] == ["1000", "/workspace", "file", "look"]
    assert {"usr", "proc", "dev", "etc", "workspace"} <= set(lines[4:-1])
    assert not {"root", "home", "tmp", "var", "boot"} & set(lines[4:-1])
    assert "Read-only" in lines[-1]


def test_floor_hands_on_how_the_program_ended(floor, tmp_path):
    assert run(floor, "namespaces", "/usr/bin/true").returncode == 0
    assert run(floor, "namespaces", "/usr/bin/false").returncode == 1
    assert run(floor, "namespaces", "/no/such/program").returncode == 1
    gone = run(floor, "tree", tmp_path / "gone", "/usr/bin/true")
    assert gone.returncode == 1 and "gone failed" in gone.stderr
    assert run(floor).returncode == 2


def test_report_compares_with_the_floor_and_the_aims(binary, floor, tmp_path):
    report = tmp_path / "report.json"
    done = run(SOURCE / "tools" / "bench", "--binary", binary, "--floor", floor, "--policy-bench", "/none", "--rounds", "2",
               "--warmup", "0", "--json", report)
    assert done.returncode == 0, done.stderr
    document = json.loads(report.read_text(encoding="utf-8"))
    rows = {row["name"]: row for row in document["programs"]}
    assert {"true", "floor: namespaces", "floor: tree", "toolcell, static rules"} <= set(rows)
    assert all(row["failed"] == 0 and row["runs"] == 2 for row in rows.values())
    aims = {row["name"]: row for row in document["aims"]}
    assert aims["toolcell, static rules / true"]["aim"] == 3.3
    memory = aims["peak memory of the supervisor"]
    assert memory["unit"] == "MiB" and memory["value"] > 0.5
    assert memory["value"] <= memory["aim"] or sanitized(binary)
    for row in aims.values():
        line = next(line for line in done.stdout.splitlines() if line.startswith(row["name"]))
        assert line.endswith("reached" if row["value"] <= row["aim"] else "missed")


@pytest.fixture(name="opens")
def built_opens(floor):
    return floor.parent / "opens"


@pytest.mark.parametrize("mode", [["open", "f", "10", "1"], ["open", "f", "10", "3"], ["continued", "f", "10"],
                                  ["performed", "f", "10"], ["run", "true"]])
def test_opens_measures(opens, tmp_path, mode):
    (tmp_path / "f").write_text("text", encoding="ascii")
    done = subprocess.run([opens] + mode, capture_output=True, text=True, cwd=tmp_path, timeout=30 * SLACK, check=False)
    assert done.returncode == 0 and int(done.stdout) > 0, done.stderr


def test_opens_tells_what_failed(opens, tmp_path):
    for mode in ["open", tmp_path / "gone", "10", "1"], ["open", tmp_path / "gone", "10", "3"], ["run", "false"]:
        done = run(opens, *mode)
        assert done.returncode == 1 and not done.stdout and "opens: " in done.stderr
    assert run(opens).returncode == 2


def test_report_tells_what_mediation_costs(binary, opens, tmp_path):
    report = tmp_path / "report.json"
    done = run(SOURCE / "tools" / "bench", "--mediation", "--binary", binary, "--opens", opens, "--files", "20", "--rounds",
               "1", "--json", report)
    if "not mediated here" in done.stderr:
        pytest.skip("rules that need a broker are refused on this host")
    assert done.returncode == 0, done.stderr
    rows = json.loads(report.read_text(encoding="utf-8"))["mediation"]
    names = [row["name"] for row in rows]
    assert names[0] == "start of `true`" and "git status, 20 files" in names and "make -j2, 1 C files" in names
    assert [name for name in names if name.startswith("floor:")] == names[-2:]
    for row in rows:
        assert row["static_ms"] > 0 and row["mediated_ms"] > 0 and row["runs"] >= 1
        line = next(line for line in done.stdout.splitlines() if line.startswith(row["name"]))
        assert row["aim"] is None or line.endswith("reached" if row["ratio"] <= row["aim"] else "missed")
