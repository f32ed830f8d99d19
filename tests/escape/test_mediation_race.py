# SPDX-License-Identifier: Apache-2.0
"""What a call names changes while it is made: text, link, directory, ancestor, descriptor, working directory; and the
host moves things meanwhile. Whatever is read is allowed, whatever changes has an allowed name."""

import json
import os
import threading

import pytest
from attempts import outside

RULES = [{"pattern": "secret/**", "operations": ["read", "write"], "effect": "deny", "priority": 100},
         {"pattern": "**", "operations": ["read", "write", "execute"], "effect": "allow"}]
WAYS = ["text", "link", "last", "directory", "ancestor", "descriptor", "cwd"]
ROUNDS = [pytest.param(1000, id="few"), pytest.param(100000, id="many", marks=pytest.mark.long)]


def furnish(cell):
    """The two directories, and ways that lead to either."""
    for name in ("public", "secret"):
        cell.write(f"{name}/f", name)
    cell.write("a/public/f", "public")
    (cell.workspace / "b").mkdir()
    for name, target in {"link": "public", "knil": "secret", "public/l": "f", "public/m": "../secret/f",
                         "b/public": "../secret"}.items():
        (cell.workspace / name).symlink_to(target)
    for path in cell.workspace.rglob("*"):
        cell.identity.own(path)


def state(directory):
    """What nobody may change there: names, contents, modes, times and attributes."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        what = path.stat()
        content = path.read_bytes() if path.is_file() else None
        found[path.name] = (content, what.st_mode, what.st_mtime_ns, what.st_nlink, what.st_ino, os.listxattr(path))
    return found


@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_a_call_names_is_exchanged(cell, probe, rounds):
    """multikernel/sandlock#27"""
    furnish(cell)
    before = state(cell.workspace / "secret")
    done = probe("race").start(rounds, policy=cell.policy(RULES)).wait(1800)
    assert json.loads(done.succeeded().text.split("\n")[1]) == dict.fromkeys(WAYS, 0)
    assert state(cell.workspace / "secret") == before


def test_outside_the_same_reads_and_changes_it(cell, probe):
    """The control, for each way."""
    furnish(cell)
    before = state(cell.workspace / "secret")
    seen = json.loads(outside(cell, probe("race").program, 1000000, "reads").stdout.split(b"\n")[1])
    assert set(seen) == set(WAYS) and all(seen.values()), seen
    assert state(cell.workspace / "secret")["f"][0] == b"secret"
    outside(cell, probe("race").program, 1000)
    after = state(cell.workspace / "secret")
    assert after["f"][0] != before["f"][0] and after["f"][1] != before["f"][1]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_host_moves_directories_away_and_back(cell, probe, rounds):
    """Outside the workspace they have no name in the cell, so nobody may read or change what is in them then."""
    furnish(cell)
    before = state(cell.workspace / "secret")
    ended = threading.Event()

    def move():
        while not ended.wait(0.0005):
            for name in ("secret", "public"):
                os.rename(cell.workspace / name, cell.area / "away")
                os.rename(cell.area / "away", cell.workspace / name)

    running = probe("race").start(rounds, policy=cell.policy(RULES))
    running.until("begins")
    host = threading.Thread(target=move)
    host.start()
    try:
        done = running.wait(1800)
    finally:
        ended.set()
        host.join()
    assert json.loads(done.succeeded().text.split("\n")[1]) == dict.fromkeys(WAYS, 0)
    assert state(cell.workspace / "secret") == before
