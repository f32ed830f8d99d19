# SPDX-License-Identifier: Apache-2.0
"""Requests that would open the host: refused by name, or harmless. And sources that change while a cell starts."""

import contextlib
import hashlib
import os
import subprocess
import threading
from pathlib import Path

import pytest
from harness import SLACK

ROUNDS = [pytest.param(100, id="few"), pytest.param(1000, id="many", marks=pytest.mark.long)]
WINDOWS = ["/", "/proc", "/proc/self", "/proc/self/fd", "/proc/1/root", "/proc/sys", "/sys", "/sys/fs/cgroup", "/dev", "/dev/pts"]


@pytest.mark.parametrize("source", WINDOWS)
def test_a_workspace_that_is_a_window_into_the_host(cell, source):
    cell.refused(cell.plain("true", workspace=False, options=["-w", source]))


@pytest.mark.parametrize("mode", ["ro", "rw"])
@pytest.mark.parametrize("source", [*WINDOWS, "/etc", "/usr/bin", "/dev/null", "/dev/tty", "/dev/mem"])
def test_a_mount_that_is_a_window_into_the_host(cell, source, mode):
    cell.refused(cell.plain("true", options=["-m", f"{source}:/x:{mode}"]))


@pytest.mark.parametrize("target", ["/", "/proc", "/proc/1", "/proc/self/fd/1", "/dev", "/dev/null", "/dev/pts", "/etc",
                                    "/etc/passwd", "/etc/ld.so.cache", "/usr", "/bin", "/lib", "/sys", "/lib64",
                                    "/workspace/..", "/workspace/../etc", "/x/../proc", "relative", ""])
def test_a_target_that_would_replace_the_cell_s_own(cell, target):
    volume = cell.directory("volume")
    cell.refused(cell.plain("true", options=["-m", f"{volume}:{target}"]))
    if ":" not in target:
        cell.refused(cell.plain("true", options=["--tmpfs", target]))


@pytest.fixture
def volume(cell):
    made = cell.directory("volume")
    cell.write("marker", "", where=made)
    return made


@pytest.fixture
def outside_place(cell):
    """Where a misled mount or file would land; its listing must stay."""
    place = cell.directory("outside")
    cell.write("inner/kept", "", where=place)
    return place


LINKS = ["link", "link/inner", "a/link", "a/link/inner", "loop", "up/outside/inner", "absolute/inner", "dangling", "magic"]


@pytest.mark.parametrize("target", LINKS)
def test_links_at_and_above_a_target(cell, volume, outside_place, target):
    """Nothing is created or mounted where a link of the workspace leads (CVE-2019-19921)."""
    os.mkdir(cell.workspace / "a")
    for name, leads in {"link": outside_place, "a/link": "../../outside", "loop": "loop", "up": "..", "absolute": outside_place,
                        "dangling": outside_place / "new", "magic": "/proc/self/root"}.items():
        os.symlink(leads, cell.workspace / name)
    before = sorted(str(path) for path in cell.area.rglob("*"))
    done = cell.plain("sh", "-c", "find /workspace -xdev", options=["-m", f"{volume}:/workspace/{target}"])
    cell.refused(done)
    assert sorted(str(path) for path in cell.area.rglob("*")) == before


@contextlib.contextmanager
def exchanging(first, second):
    """Exchange two names in one step (RENAME_EXCHANGE), for as long as the block runs."""
    program = ("import ctypes, sys\nlibc = ctypes.CDLL(None)\na, b = (name.encode() for name in sys.argv[1:])\n"
               "print('go', flush=True)\nwhile True: libc.renameat2(-100, a, -100, b, 2)")
    process = subprocess.Popen(["python3", "-c", program, str(first), str(second)], stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def starts(cell, rounds, *argv, **more):
    """Start that often, two at a time; the outcomes."""
    outcomes = []

    def some():
        for _ in range(rounds // 2):
            outcomes.append(cell.plain(*argv, **more))

    threads = [threading.Thread(target=some) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outcomes) == rounds // 2 * 2
    return outcomes


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("depth", ["target", "parent"])
def test_targets_that_are_swapped_while_cells_start(cell, volume, outside_place, rounds, depth):
    """CVE-2021-30465: directory, link, directory, as fast as the kernel exchanges them."""
    cell.write("there/inner/file")
    os.symlink(outside_place, cell.workspace / "other")
    point = "/workspace/there" if depth == "target" else "/workspace/there/inner"
    script = f"echo x > {point}/trace; test -e {point}/marker && echo mounted"
    with exchanging(cell.workspace / "there", cell.workspace / "other"):
        done = starts(cell, rounds, "sh", "-c", script, options=["-m", f"{volume}:{point}"])
    assert sorted(path.name for path in outside_place.rglob("*")) == ["inner", "kept"]
    assert {outcome.status for outcome in done} <= {0, 1, 2, 125}, {outcome.status for outcome in done}
    assert len({outcome.status for outcome in done}) > 1, "the exchange was never met: this shows nothing"


@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_source_that_is_swapped_while_cells_start(cell, outside_place, rounds):
    """What was checked is what is mounted: never the directory of toolcell's own policies."""
    guarded = cell.directory("guarded")
    policy = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    kept = cell.write("policy.json", policy.read_text(), where=guarded)
    digest = hashlib.sha256(kept.read_bytes()).digest()
    place = cell.directory("place")
    os.symlink(guarded, cell.area / "swap")
    cell.known.add("swap")
    with exchanging(place, cell.area / "swap"):
        starts(cell, rounds, "sh", "-c", "echo x > /m/policy.json; echo x > /m/new", policy=kept, options=["-m", f"{place}:/m"])
    assert os.listdir(guarded) == ["policy.json"] and hashlib.sha256(kept.read_bytes()).digest() == digest


@pytest.mark.parametrize("rounds", [pytest.param(40, id="few"), pytest.param(1000, id="many", marks=pytest.mark.long)])
def test_mount_points_of_a_rootfs_that_are_swapped(cell, rounds, outside_place):
    """CVE-2025-52881, CVE-2019-16884: /proc and /dev of the root file system given are links, or become links."""
    rootfs = cell.directory("rootfs")
    for name in ("proc", "dev", "etc", "tmp", "usr", "workspace", "elsewhere"):
        (rootfs / name).mkdir()
    os.symlink(outside_place, rootfs / "link")
    outcomes = []
    for name in ("proc", "dev", "etc", "workspace"):
        with exchanging(rootfs / name, rootfs / "link"):
            outcomes += starts(cell, rounds // 4, "/bin/true", options=["-r", rootfs])
    assert {outcome.status for outcome in outcomes} <= {125, 127}
    assert sorted(path.name for path in outside_place.rglob("*")) == ["inner", "kept"]


def test_a_workspace_that_vanishes_while_cells_start(cell):
    place = cell.directory("place")
    stop = threading.Event()

    def flicker():
        while not stop.is_set():
            with contextlib.suppress(OSError):
                place.rmdir()
                place.mkdir()
                cell.identity.own(place)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        done = [cell.plain("true", workspace=False, options=["-w", place], cwd=cell.area) for _ in range(60)]
    finally:
        stop.set()
        thread.join()
    for outcome in done:
        assert outcome.status == 0 or outcome.status == 125 and outcome.messages.startswith("toolcell: "), outcome
    place.mkdir(exist_ok=True)


@pytest.mark.parametrize("variable", ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"])
@pytest.mark.parametrize("value", ["/proc", "/dev/null", "relative", "", "/nonexistent", "/etc", "a" * 5000])
def test_hostile_places_for_toolcell_s_own_files(cell, variable, value):
    """Nothing is made there, and nothing found there is believed."""
    before = sorted(os.listdir("/etc"))
    done = cell.plain("true", env={variable: value})
    assert done.status in (0, 125) and sorted(os.listdir("/etc")) == before
    assert not Path("relative").exists()


def test_directories_that_others_may_write(cell):
    """A cache, configuration or state that another user could have filled."""
    shared = cell.directory("shared", mode=0o777)
    for name in ("policies/evil.json", "toolcell/policies/evil.json"):
        path = cell.write(name, '{"version": 1, "rules": []}', where=shared)
        for parent in path.relative_to(shared).parents:
            (shared / parent).chmod(0o777)
    for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        done = cell.plain("true", policy=None, options=["-p", "evil"], env={variable: str(shared)})
        assert done.status == 125, variable
    assert sorted(path.name for path in shared.rglob("*") if path.is_file()) == ["evil.json", "evil.json"]


POISON = ["fifo", "cut", "garbage", *(["foreign directory", "link", "foreign file"] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("poison", POISON)
def test_a_poisoned_cache(cell, poison):
    """An entry of a ruleset that allows, under the name of one that denies, by somebody who may not say so."""
    allow = cell.policy([{"pattern": "**", "operations": "all", "effect": "allow"}])
    deny = cell.policy([{"pattern": "**", "operations": "execute", "effect": "deny"}])
    cache = cell.directory("cache", mode=0o700)
    env = {"XDG_CACHE_HOME": str(cache)}
    directory = cache / "toolcell"

    def entries():
        return set(directory.glob("*")) if directory.is_dir() else set()

    assert cell.plain("true", policy=allow, env=env).status == 0
    allowed = entries()
    assert cell.plain("true", policy=deny, env=env).status == 126
    denied = entries() - allowed
    assert denied or cell.identity.uid == 0, "root's cache has a place of its own"
    for name in denied:
        _poison(poison, cell.identity, name, next(iter(allowed)).read_bytes())
    done = cell.plain("true", policy=deny, env=env)
    assert done.status == 126 and done.seconds < 5 * SLACK


def _poison(poison, identity, name, content):
    other = 4242 if identity.uid == 0 else 0
    name.unlink()
    if poison == "fifo":
        os.mkfifo(name, 0o600)
    elif poison == "cut":
        name.write_bytes(content[:100])
    elif poison == "garbage":
        name.write_bytes(os.urandom(1000))
    else:
        name.write_bytes(content)
    identity.own(name)
    if poison == "foreign file":
        os.chown(name, other, other)
        name.chmod(0o666)
    elif poison == "foreign directory":
        name.parent.chmod(0o777)
        os.chown(name.parent, other, other)
    elif poison == "link":
        kept = name.parent.with_name("kept")
        name.parent.rename(kept)
        os.chown(kept, other, other)
        os.symlink(kept, name.parent)
