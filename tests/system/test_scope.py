# SPDX-License-Identifier: Apache-2.0
"""Limits of a caller whose own groups are nobody's to change: by leaving a group that holds toolcell alone, or by a
transient scope that a systemd of the user's makes. A real `systemd --user`, and managers that are none.

In the virtual machine, as its user: with the groups above taken out of his hands, as those of a login session are.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctoring import ask
from harness import SLACK, SOURCE, STATIC, as_user, groups_of
from test_cases import wait_gone
from test_group_limits import HOG, MIB, held
from test_limits import FORKS

sys.path.insert(0, str(SOURCE / "tests" / "unit" / "systemd"))
from manager import Manager  # noqa: E402 - the path above comes first

pytestmark = pytest.mark.unified
SYSTEMD = "/usr/lib/systemd/systemd"


def own_group():
    line = next(line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    return Path("/sys/fs/cgroup" + line[3:])


def remove(top):
    """Remove a group and all below it, deepest first."""
    for path, _, _ in os.walk(top, topdown=False):
        for _ in range(100):
            with contextlib.suppress(OSError):
                os.rmdir(path)
                break
            time.sleep(0.05)


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds * SLACK
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.05)


@pytest.fixture
def place():
    """A group of the user's in which more can be made, beside the one that this process is in. That one and the one
    above are closed: no group can be made in them, but processes may be moved between groups below them."""
    own = own_group()
    place = own.parent / "place"
    place.mkdir()
    modes = {path: path.stat().st_mode for path in (own, own.parent)}
    for path in modes:
        path.chmod(0o555)
    yield place
    for path, mode in modes.items():
        path.chmod(mode)
    remove(place)
    assert not place.exists()


def joining(group):
    """Start in a group."""
    return {"preexec_fn": lambda: (group / "cgroup.procs").write_text("0")}


def runtime(cell):
    path = cell.identity.home / "runtime" / "systemd"
    path.mkdir(exist_ok=True)
    return path


def clear(directory):
    """A manager has files there that nobody may open."""
    subprocess.run(["chmod", "-R", "u+rwx", directory], check=True)
    shutil.rmtree(directory)


@contextlib.contextmanager
def systemd(cell, place, *controllers):
    """The user's own manager, with these controllers and without units; its group."""
    (place / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))
    realm = place / "manager"
    realm.mkdir()
    units = cell.directory("units")
    cell.write("default.target", "[Unit]\nDescription=nothing\n", where=units)
    private = runtime(cell) / "private"
    log = (cell.directory("log") / "log").open("wb")
    process = subprocess.Popen([SYSTEMD, "--user", "--log-target=console"], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                               env=cell.environment(SYSTEMD_UNIT_PATH=str(units)), **joining(realm))
    try:
        until(lambda: private.exists() or process.poll() is not None, 60)
        assert process.poll() is None, Path(log.name).read_text()
        yield realm
    except AssertionError:
        print(Path(log.name).read_text())
        raise
    finally:
        process.send_signal(signal.SIGRTMIN + 24)  # exit at once
        process.wait(60 * SLACK)
        log.close()
        clear(private.parent)


def scopes(realm):
    return [path for path, _, _ in os.walk(realm) if os.path.basename(path).startswith("toolcell-") and path.endswith(".scope")]


def units(cell):
    done = subprocess.run(["systemctl", "--user", "--no-legend", "--plain", "--all", "--type=scope", "list-units"],
                          capture_output=True, text=True, env=cell.environment(), timeout=60 * SLACK, check=True)
    return [line.split()[0] for line in done.stdout.splitlines() if line.startswith("toolcell-")]


def plan(cell, *options):
    """What is planned for `true`, as cell.run("true") would run it."""
    line = cell.command(["true"], options, events=False)
    line[1:2] = ["policy", "plan"]
    return subprocess.run(line, capture_output=True, text=True, env=cell.environment(), cwd=cell.workspace,
                          timeout=60 * SLACK).stdout


# ---- the caller's own group ----

@as_user
def test_a_group_that_holds_toolcell_alone_is_left_and_restored(cell, place):
    (place / "cgroup.subtree_control").write_text("+memory +pids")
    alone = place / "alone"
    alone.mkdir()
    refused = cell.run("true", options=["--memory", "64M"])
    assert refused.status == 125 and "limit 'memory': no control group may be made here" in refused.messages, "the control"
    for policy in (STATIC, STATIC, "workspace"):
        place.chmod(0o555)
        done = cell.python(HOG, options=["--memory", "64M"], policy=policy, **joining(alone))
        place.chmod(0o755)
        assert done.result["outcome"] == "oom" and held(done, "memory") and done.result["degraded"] == []
        assert (alone / "cgroup.subtree_control").read_text() == "" and (alone / "cgroup.procs").read_text() == ""
        assert [path.name for path in alone.iterdir() if path.is_dir()] == []
    place.chmod(0o555)
    with subprocess.Popen(["sleep", "60"], **joining(alone)) as other:
        occupied = cell.run("true", options=["--memory", "64M"], **joining(alone))
        other.kill()
    place.chmod(0o755)
    assert occupied.status == 125 and "holds processes itself" in occupied.messages


# ---- a scope ----

@as_user
def test_limits_hold_in_a_scope_that_is_gone_afterwards(cell, place):
    limits = ["--memory", "64M", "--pids", "20"]
    refused = cell.run("touch", "ran", options=limits)
    assert refused.status == 125 and not (cell.workspace / "ran").exists()
    assert "no systemd scope can be had" in refused.messages and "/systemd/private'" in refused.messages
    with systemd(cell, place, "memory", "pids", "cpu") as realm:
        assert plan(cell, *limits).count("control group, version 2, in a systemd scope") == 2
        planned = json.loads(plan(cell, "--json", *limits))["plan"]
        assert cell.run("true", options=limits).succeeded().of("start")[0]["plan"] == planned, "the same, once it is entered"
        until(lambda: units(cell) == [])
        plan(cell, *limits)
        assert units(cell) == [] == scopes(realm), "a plan asks for nothing"
        done = cell.python(HOG, options=limits)
        assert done.result["outcome"] == "oom" and done.result["oom_kills"] == 1 and done.result["degraded"] == []
        assert 32 * MIB < done.result["usage"]["memory_peak_bytes"] <= 64 * MIB and held(done, "memory", "pids")
        done = cell.python(FORKS, 40, options=limits).succeeded()
        assert done.answer == 18 and done.result["pids_denied"] == 1 and done.result["usage"]["pids_peak"] == 20
        done = cell.run("true", options=["--cpus", "0.5", *limits]).succeeded()
        assert held(done, "cpu", "memory", "pids")
        assert cell.run("true", options=["--pids", "20"]).succeeded().of("start")[0]["enforcement"]["cgroup"] is None, \
            "what the kernel counts without a group is asked of nobody"
        until(lambda: units(cell) == [] == scopes(realm))
        running = cell.start("sleep", "60", options=limits).until('"start"')
        scope, = scopes(realm)
        assert os.path.dirname(scope).endswith("/manager/app.slice") and f"toolcell-{running.pid}-" in scope
        assert Path(scope, "supervisor", "cgroup.procs").read_text() == f"{running.pid}\n"
        assert (Path(scope) / "cgroup.subtree_control").read_text().split() == ["memory", "pids"], "and no other"
        running.signal(signal.SIGTERM)
        assert running.wait().result["outcome"] == "cancelled"
        until(lambda: units(cell) == [] == scopes(realm))


@as_user
def test_the_scope_of_a_killed_toolcell_ends_with_it(cell, place):
    with systemd(cell, place, "memory", "pids") as realm:
        running = cell.start("sleep", "60", options=["--memory", "64M"]).until('"start"')
        inside = running.processes()
        assert len(scopes(realm)) == 1 and inside
        running.signal(signal.SIGKILL)
        running.process.wait()
        wait_gone(inside, 1)
        until(lambda: units(cell) == [] == scopes(realm))


@as_user
def test_what_the_manager_lacks_is_refused_by_name_and_not_asked_for(cell, place):
    with systemd(cell, place, "memory", "pids") as realm:
        refused = cell.run("touch", "ran", options=["--cpus", "1", "--memory", "64M"])
        assert refused.status == 125 and not (cell.workspace / "ran").exists()
        assert "limit 'cpus'" in refused.messages and "the user's systemd was not given cpu" in refused.messages
        assert "Delegate=cpu" in refused.messages and refused.result["error"]["stage"] == "plan"
        done = cell.run("true", options=["--cpus", "1", "--memory", "64M", "--allow-degraded=limits"]).succeeded()
        assert [entry["name"] for entry in done.result["degraded"]] == ["cpus"] and held(done, "memory")
        until(lambda: units(cell) == [] == scopes(realm))


@as_user
def test_the_remedy_that_is_told_works(cell, place):
    with systemd(cell, place, "memory", "pids", "cpu") as realm:
        prefix = ["systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes"]
        done = cell.python(HOG, options=["--memory", "64M", "--cpus", "1"], prefix=prefix)
        assert done.result["outcome"] == "oom" and held(done, "memory", "cpu") and done.result["degraded"] == []
        running = cell.start("sleep", "60", options=["--memory", "64M"], prefix=prefix).until('"start"')
        group, = groups_of(running)
        assert "/app.slice/run-" in group, "what limits the unit limits the call"
        running.signal(signal.SIGTERM)
        assert running.wait().result["outcome"] == "cancelled"
        until(lambda: [path for path, _, _ in os.walk(realm) if "run-" in path or "toolcell-" in path] == [])


@as_user
def test_doctor_tries_a_scope_and_leaves_none(cell, place):
    assert ask(cell).state("cgroup-delegation") == "missing", "the control"
    with systemd(cell, place, "memory", "pids", "cpu") as realm:
        answer = ask(cell)
        assert answer.state("cgroup-delegation") == "ok" and answer.enforces["limits-group"]
        assert "in a transient scope of the user's systemd" in answer.checks["cgroup-delegation"]["detail"]
        until(lambda: units(cell) == [] == scopes(realm))


@as_user
def test_without_the_library_the_refusal_says_so(cell, place):
    broken = cell.directory("library")
    cell.write("libsystemd.so.0", where=broken)
    with systemd(cell, place, "memory", "pids") as realm:
        refused = cell.run("touch", "ran", options=["--memory", "64M"], env={"LD_LIBRARY_PATH": str(broken)})
        assert refused.status == 125 and not (cell.workspace / "ran").exists()
        assert "load the systemd library" in refused.messages and "install libsystemd0" in refused.messages
        assert units(cell) == [] == scopes(realm)


# ---- managers that are none ----

@as_user
@pytest.mark.parametrize("way,why", [("silence", "made no scope within 2000 ms"), ("mute", "made no scope within 2000 ms"),
                                     ("error", r"gives no scope: not\nfor you"), ("failed", "did not make a scope: failed"),
                                     ("done", "toolcell is not in it"), ("garbage", "")])
def test_a_bad_manager_brings_no_more_than_a_refusal(cell, place, way, why):
    assert place
    path = runtime(cell) / "private"
    try:
        with Manager(path, way):
            refused = cell.run("touch", "ran", options=["--memory", "64M"])
        assert refused.status == 125 and not (cell.workspace / "ran").exists() and refused.seconds < 2 + 3 * SLACK
        assert "limit 'memory'" in refused.messages and "no systemd scope can be had" in refused.messages
        assert why in refused.messages and len(refused.messages.splitlines()) <= 2
        path.unlink()
        with Manager(path, way):
            done = cell.run("true", options=["--memory", "64M", "--allow-degraded=limits"]).succeeded()
        assert [entry["name"] for entry in done.result["degraded"]] == ["memory"]
    finally:
        clear(path.parent)


@as_user
def test_a_call_that_the_rules_refuse_asks_for_nothing(cell, place):
    assert place
    nothing = cell.policy([{"pattern": "**", "operations": "all", "effect": "deny"}])
    path = runtime(cell) / "private"
    try:
        with Manager(path, "error") as manager:
            assert "in a systemd scope" in plan(cell, "--memory", "64M") and manager.calls == {}, "nor does a plan"
            assert cell.run("true", options=["--memory", "64M"], policy=nothing).status == 126 and manager.calls == {}
            assert cell.run("true", options=["--memory", "64M"]).status == 125 and "StartTransientUnit" in manager.calls
    finally:
        clear(path.parent)
