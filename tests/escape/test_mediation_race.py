# SPDX-License-Identifier: Apache-2.0
"""What a call names changes while it is made: text, link, directory, ancestor, descriptor, working directory; and the
host moves things meanwhile. Whatever is read is allowed, whatever changes has an allowed name. Every call that is
mediated is raced in each of these ways: probes/race_calls.h has the list."""

import contextlib
import json
import os
import shutil
import socket
import threading

import pytest
from attempts import outside

DENIED = ["read", "list", "write", "execute"]
RULES = [{"pattern": "secret/**", "operations": DENIED, "effect": "deny", "priority": 100},
         *({"pattern": f"unix:/workspace/{place}/s", "operations": ["connect"], "effect": "allow"}
           for place in ("public", "a/public", "b/public")),
         {"pattern": "**", "operations": DENIED, "effect": "allow"}]
ROUNDS = [pytest.param(1000, id="few"), pytest.param(100000, id="many", marks=pytest.mark.long)]


@contextlib.contextmanager
def furnished(cell):
    """The directories, ways that lead to either, and in each a socket on which the host listens."""
    listeners = []
    for name in ("public", "secret", "a/public"):
        cell.write(f"{name}/f", name[-6:])
        (cell.workspace / name / "d").mkdir()
        listeners.append(listen(cell.workspace, f"{name}/s"))
    (cell.workspace / "b").mkdir()
    cell.write("own", "own")
    for name, target in {"link": "public", "knil": "secret", "public/l": "f", "public/m": "../secret/f",
                         "b/public": "../secret"}.items():
        (cell.workspace / name).symlink_to(target)
    for path in cell.workspace.rglob("*"):
        cell.identity.own(path)
    try:
        yield state(cell.workspace / "secret")
    finally:
        for listener in listeners:
            listener.shutdown(socket.SHUT_RDWR)


def listen(directory, name):
    """A listening socket whose own name is this, relative: whoever connects is told it. It accepts until shut down."""
    listener = socket.socket(socket.AF_UNIX)
    before = os.getcwd()
    os.chdir(directory)
    try:
        listener.bind(name)
    finally:
        os.chdir(before)
    (directory / name).chmod(0o666)
    listener.listen(100)

    def accept():
        with listener:
            while True:
                try:
                    listener.accept()[0].close()
                except OSError:
                    return

    threading.Thread(target=accept, daemon=True).start()
    return listener


def state(directory):
    """What nobody may change there: names, contents, modes, times and attributes."""
    found = {}
    for path in sorted([directory, *directory.rglob("*")]):
        what = path.stat()
        content = path.read_bytes() if path.is_file() else None
        found[path.name] = (content, what.st_mode, what.st_mtime_ns, what.st_nlink, what.st_ino, os.listxattr(path))
    return found


def counts(done):
    """{call: (how often it worked, was refused, reached what is denied)}"""
    return json.loads(done.succeeded().text.split("\n")[1])


@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_a_call_names_is_exchanged(cell, probe, rounds):
    """multikernel/sandlock#27"""
    with furnished(cell) as before:
        seen = counts(probe("race").start(rounds, policy=cell.policy(RULES)).wait(1800))
        assert len(seen) == 28 and all(reached == 0 for _, _, reached in seen.values()), seen
        assert all(worked and refused for worked, refused, _ in seen.values()), f"one outcome was never met: {seen}"
        assert state(cell.workspace / "secret") == before


@pytest.mark.parametrize("call", ["read", "create", "overwrite", "move in", "connect"])
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_path_is_exchanged_in_memory(cell, probe, rounds, call):
    """The same, all rounds with the text of the path: what a check before the call would lose to."""
    with furnished(cell) as before:
        seen = counts(probe("race").start(rounds, call, policy=cell.policy(RULES)).wait(1800))
        assert list(seen) == [call] and seen[call][2] == 0 and seen[call][0] and seen[call][1], seen
        assert state(cell.workspace / "secret") == before


def test_outside_each_call_reaches_it_in_each_way(cell, probe):
    """The control: the same program where nothing judges. It prints the ways by which a call never did."""
    with furnished(cell) as before:
        missed = json.loads(outside(cell, probe("race").program, 0, "control").stdout.split(b"\n")[1])
        assert len(missed) == 28 and not any(missed.values()), missed
        assert state(cell.workspace / "secret") != before


EXECUTE = ["path", "link", "argument", "table of arguments"]


def furnish_programs(cell, probe, allowed):
    """Two names of one program, and a file that each may be told to read."""
    for name in ("public", "secret"):
        cell.write(f"{name}/f", name)
    (cell.workspace / "public/p").symlink_to(allowed)
    shutil.copy(probe("race_execute").program, cell.workspace / "secret/p")
    for name, target in {"link": "public", "knil": "secret"}.items():
        (cell.workspace / name).symlink_to(target)
        cell.identity.own(cell.workspace / name)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_what_is_executed_is_exchanged(cell, probe, rounds):
    """The call goes on in the kernel after a look: what starts is where programs may be, whatever its arguments are."""
    furnish_programs(cell, probe, "/probes/race_execute")
    rules = [{"pattern": "/workspace/**", "operations": ["execute"], "effect": "deny", "priority": 100}, *RULES]
    policy = cell.policy(rules, commands=[{"argv": ["p", "secret/f"], "effect": "deny"}])
    seen = probe("race_execute").inside(rounds, policy=policy, timeout=1800)
    assert list(seen) == EXECUTE and all(reached == 0 for _, _, reached in seen.values()), seen
    assert all(ran and refused for ran, refused, _ in seen.values()), f"one outcome was never met: {seen}"


def test_outside_it_is_executed_and_read(cell, probe):
    furnish_programs(cell, probe, probe("race_execute").program)
    seen = probe("race_execute").outside(1000, "control")
    assert list(seen) == EXECUTE and all(reached for _, _, reached in seen.values()), seen


@pytest.mark.parametrize("rounds", ROUNDS)
def test_the_host_moves_directories_away_and_back(cell, probe, rounds):
    """Outside the workspace they have no name in the cell, so nobody may read or change what is in them then."""
    ended = threading.Event()

    def move():
        while not ended.wait(0.0005):
            for name in ("secret", "public"):
                os.rename(cell.workspace / name, cell.area / "away")
                os.rename(cell.area / "away", cell.workspace / name)

    with furnished(cell) as before:
        running = probe("race").start(rounds, policy=cell.policy(RULES))
        running.until("begins")
        host = threading.Thread(target=move)
        host.start()
        try:
            seen = counts(running.wait(1800))
        finally:
            ended.set()
            host.join()
        assert len(seen) == 28 and all(reached == 0 for _, _, reached in seen.values()), seen
        assert state(cell.workspace / "secret") == before
