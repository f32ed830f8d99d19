# SPDX-License-Identifier: Apache-2.0
"""Somebody exchanges names on the host while a cell starts: what was checked is what is mounted, or the call fails."""

import contextlib
import os
import threading

import pytest

ROUNDS = [pytest.param(30, id="few"), pytest.param(1000, id="many", marks=pytest.mark.long)]


@contextlib.contextmanager
def flipping(path, first, second):
    """Keep exchanging a name between two things, both made beforehand under names of their own."""
    stop = threading.Event()
    kept = path.with_name(path.name + ".other")
    first(path)
    second(kept)

    def flip():
        spare = path.with_name(path.name + ".spare")
        while not stop.is_set():
            os.rename(path, spare)
            os.rename(kept, path)
            os.rename(spare, kept)

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def own_directory(cell):
    def make(path):
        path.mkdir()
        cell.identity.own(path)

    return make


def link_to(target):
    return lambda path: path.symlink_to(target)


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_mount_target_that_is_exchanged_with_a_link(cell, rounds):
    """CVE-2021-30465: the target is looked up, replaced by a link that leads out, and mounted on."""
    volume, outside = cell.directory("volume"), cell.directory("outside")
    started = 0
    with flipping(cell.workspace / "target", own_directory(cell), link_to(outside)):
        for _ in range(rounds):
            done = cell.run("sh", "-c", "echo x > /workspace/target/trace", options=["-m", f"{volume}:/workspace/target"])
            assert done.status in (0, 1, 2, 125), done
            started += done.status == 0
            assert os.listdir(outside) == []
    assert started < rounds or (volume / "trace").exists()


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_workspace_that_is_exchanged_with_a_protected_place(cell, rounds):
    """The policy's directory may never be writable: not even when it takes the workspace's name after the check."""
    protected = cell.directory("protected")
    source = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    policy = cell.write("policy.json", source.read_text(), where=protected)
    text = policy.read_text()
    place = cell.area / "place"
    cell.known.update({"place", "place.other", "place.spare"})
    refusals = 0
    with flipping(place, own_directory(cell), link_to(protected)):
        for _ in range(rounds):
            done = cell.run("sh", "-c", "echo hacked > policy.json; echo x > new", workspace=False, policy=policy, options=["-w", place],
                            cwd=cell.workspace)
            refusals += done.status == 125
            assert policy.read_text() == text and os.listdir(protected) == ["policy.json"], "the protected place was written"
    assert refusals, "the exchange was never met: this shows nothing"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_granted_subtree_that_is_exchanged_with_a_secret(cell, rounds):
    """Class B: the subtree of the rule is a directory now and a link to what no rule allows a moment later."""
    cell.write("secret/a", "top-secret")
    policy = cell.policy([{"pattern": "/usr/**", "operations": ["execute"], "effect": "allow"},
                          {"pattern": "pub/**", "operations": ["read"], "effect": "allow"}])

    def make(path):
        path.mkdir()
        cell.identity.own(path)
        (path / "a").write_text("public")

    seen = set()
    with flipping(cell.workspace / "pub", make, link_to("secret")):
        for _ in range(rounds):
            done = cell.run("cat", "pub/a", policy=policy)
            assert b"top-secret" not in done.stdout
            seen.add(done.stdout)
    assert seen


def test_many_at_once_by_several_callers(cell):
    """Leases of host ids, runtime directories and caches are shared: no call disturbs another."""
    failures = []

    def call(number):
        for _ in range(5):
            done = cell.run("sh", "-c", f"id -u; echo {number}")
            if done.status or done.text != f"1000\n{number}\n":
                failures.append(done)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
