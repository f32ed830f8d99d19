# SPDX-License-Identifier: Apache-2.0
"""Parsed policies are kept on disk. That only saves time: it never changes an answer and never makes a call fail."""

import hashlib
import json
import subprocess

import pytest

from harness import SLACK, as_user

ALLOW = [{"pattern": "**", "operations": "all", "effect": "allow"}]
DENY = [{"pattern": "**", "operations": "all", "effect": "deny"}]


@pytest.fixture
def place(cell):
    return cell.directory("cache", mode=0o700)


@pytest.fixture
def explain(cell, place):
    """The exit status for reading x under a policy file: 0 allow, 1 deny."""
    def run(path, cache=place):
        done = subprocess.run([cell.binary, "policy", "explain", "-p", path, "-w", cell.workspace, "read", "x"], cwd="/",
                              env=cell.environment(XDG_CACHE_HOME=str(cache)), capture_output=True, timeout=10 * SLACK, check=False,
                              **cell.identity.popen())
        assert done.returncode in (0, 1), done
        return done.returncode

    return run


def entries(place):
    return sorted((place / "toolcell").iterdir())


@as_user
def test_an_entry_is_made_and_used(cell, place, explain):
    path = cell.policy(ALLOW)
    assert explain(path) == 0
    made = entries(place)
    assert len(made) == 1 and made[0].stat().st_mode & 0o777 == 0o600
    before = made[0].stat().st_ino
    assert explain(path) == 0
    assert [entry.stat().st_ino for entry in entries(place)] == [before], "used, not made again"


@as_user
def test_another_text_is_another_entry(cell, place, explain):
    path = cell.policy(ALLOW)
    assert explain(path) == 0
    path.write_text(json.dumps({"version": 1, "rules": DENY}))
    assert explain(path) == 1
    assert len(entries(place)) == 2


@as_user
def test_an_entry_of_another_text_is_not_used(cell, place, explain):
    """Whole and one's own, but moved under the name of another policy's: the deny must not become an allow."""
    assert explain(cell.policy(ALLOW)) == 0
    allow = entries(place)
    path = cell.policy(DENY)
    assert explain(path) == 1
    deny, = set(entries(place)) - set(allow)
    wanted = deny.read_bytes()
    deny.write_bytes(allow[0].read_bytes())
    assert explain(path) == 1
    assert deny.read_bytes() == wanted, "made again"


@as_user
def test_what_is_extended_is_compared(cell, place, explain):
    base = cell.policy(ALLOW)
    path = cell.policy(extends=base.name)
    assert explain(path) == 0 and explain(path) == 0
    base.write_text(json.dumps({"version": 1, "rules": DENY}))
    assert explain(path) == 1


@as_user
@pytest.mark.parametrize("damage", [lambda data: b"", lambda data: data[:40], lambda data: data[:-1], lambda data: data + b"x",
                                    lambda data: data[:200] + bytes([data[200] ^ 1]) + data[201:], lambda data: b"\0" * len(data)])
def test_a_damaged_entry_is_none(cell, place, explain, damage):
    path = cell.policy(DENY)
    assert explain(path) == 1
    entry = entries(place)[0]
    entry.write_bytes(damage(entry.read_bytes()))
    assert explain(path) == 1
    assert explain(path) == 1


def forge(place, source):
    """The rules of one policy in the entry of another: SHA-256 of the rest, "TCRC", the key of the text, the rest."""
    target = entries(place)[0]
    body = source[64:68] + target.read_bytes()[68:132] + source[132:]
    target.write_bytes(hashlib.sha256(body).hexdigest().encode() + body)


@as_user
def test_an_entry_that_others_may_write_is_not_believed(cell, place, explain):
    allow, deny = cell.policy(ALLOW), cell.policy(DENY)
    assert explain(allow) == 0
    forged = entries(place)[0].read_bytes()
    entries(place)[0].unlink()
    assert explain(deny) == 1
    forge(place, forged)
    assert explain(deny) == 0, "the control: a forged entry of the caller's own counts, so where it lies matters"
    entries(place)[0].chmod(0o622)
    assert explain(deny) == 1
    forge(place, forged)
    entries(place)[0].chmod(0o600)
    (place / "toolcell").chmod(0o777)
    assert explain(deny) == 1


@as_user
def test_links_are_not_followed(cell, place, explain):
    path = cell.policy(ALLOW)
    elsewhere = cell.directory("elsewhere")
    (place / "toolcell").symlink_to(elsewhere)
    assert explain(path) == 0
    assert list(elsewhere.iterdir()) == []


@as_user
def test_a_cache_that_cannot_be_written_is_no_failure(cell, explain):
    path = cell.policy(ALLOW)
    closed = cell.directory("closed", mode=0o555)
    for cache in (closed, "/no/such/place", "relative", "/proc", path):
        assert explain(path, cache) == 0


@as_user
def test_many_entries_are_pruned(cell, place, explain):
    path = cell.policy(ALLOW)
    assert explain(path) == 0
    directory = place / "toolcell"
    for number in range(200):
        (directory / f"old{number}").write_text("")
    for number in range(3):
        path.write_text(json.dumps({"version": 1, "rules": ALLOW, "environment": {"set": {"N": str(number)}}}))
        assert explain(path) == 0
    assert len(entries(place)) <= 201


@as_user
def test_many_at_once(cell, place):
    path = cell.policy(ALLOW)
    line = [cell.binary, "policy", "explain", "-p", path, "-w", cell.workspace, "read", "x"]
    running = [subprocess.Popen(line, env=cell.environment(XDG_CACHE_HOME=str(place)), stdout=subprocess.DEVNULL,
                                **cell.identity.popen()) for _ in range(20)]
    assert [process.wait() for process in running] == [0] * 20
    assert len(entries(place)) == 1
