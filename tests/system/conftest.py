# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the system tests, which drive the built binary (TOOLCELL, or build/toolcell) and nothing else.

Started by root, every test of isolation runs twice: as root and as the ordinary user `toolcell-test`, who is created
for the run when missing. Started by a user, as that user. A skip says why; TOOLCELL_MUST_WORK=1 makes it a failure.
"""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

import harness
import judging
import leftovers
import missing

USER = "toolcell-test"


def pytest_addoption(parser):
    try:
        parser.addoption("--long", action="store_true", help="run the tests marked long as well")
        parser.addoption("--identity", choices=["root", "user"], help="started by root: only the calls of this one")
    except ValueError:  # tests/escape, which shares this file, was named before
        pass


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes more than a few seconds; runs with --long only")
    config.addinivalue_line("markers", "by_root: the test itself, not only its calls, needs root")
    config.addinivalue_line("markers", "unified: needs control groups of version 2, as the virtual machine has them")
    leftovers.become_subreaper()


def pytest_collection_modifyitems(config, items):
    """Tests that cannot apply are deselected, not skipped: long ones without --long, root's when not root."""
    keep, drop = [], []
    for item in items:
        wanted = getattr(item, "callspec", None) and item.callspec.params.get("identity")
        applies = (config.getoption("--long") or not item.get_closest_marker("long")) and \
            (os.geteuid() == 0 or (wanted != "root" and not item.get_closest_marker("by_root"))) and \
            wanted in (None, config.getoption("--identity") or wanted) and \
            (harness.unified() or not item.get_closest_marker("unified"))
        (keep if applies else drop).append(item)
    items[:] = keep
    config.hook.pytest_deselected(items=drop)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if judging.WITHOUT and call.when != "teardown":
        judge(report)
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("TOOLCELL_MUST_WORK") == "1":
        report.outcome = "failed"
        report.longrepr = f"TOOLCELL_MUST_WORK=1: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"


def judge(report):
    """On a host that lacks a call (judging.py): what toolcell did counts, not what the test expected."""
    faults, excused = judging.verdict()
    if faults:
        report.outcome = "failed"
        report.longrepr = "\n".join(faults)
    elif report.failed and excused:
        report.outcome = "skipped" if report.when == "setup" else "passed"
        report.longrepr = (report.nodeid, 0, f"refused for want of {judging.WITHOUT}")
        judging.excused.append(report.nodeid)


def pytest_terminal_summary(terminalreporter):
    if judging.WITHOUT:
        terminalreporter.write_line(f"{len(judging.excused)} tests met a refusal for want of {judging.WITHOUT}")


def pytest_generate_tests(metafunc):
    marked = [mark for mark in metafunc.definition.iter_markers("parametrize") if "identity" in mark.args[0]]
    if "identity" in metafunc.fixturenames and not marked:
        metafunc.parametrize("identity", ["root", "user"] if os.geteuid() == 0 else ["user"], indirect=True)


@pytest.fixture(scope="session")
def base():
    """A fresh directory that everybody may enter: the checkout may be unreadable to the ordinary user."""
    path = Path(tempfile.mkdtemp(prefix="toolcell-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def binary(base):
    """The program under test, copied to where both identities can execute it."""
    built = Path(os.environ.get("TOOLCELL", harness.SOURCE / "build" / "toolcell"))
    if not built.is_file():
        pytest.fail(f"{built} is not there: build it first, or name it with TOOLCELL", pytrace=False)
    (base / "bin").mkdir(mode=0o755)
    path = base / "bin" / "toolcell"
    copy = base / "bin" / "toolcell-itself" if judging.WITHOUT else path
    shutil.copy(built, copy)
    copy.chmod(0o755)
    if judging.WITHOUT:
        missing.build(path, judging.LOSS, judging.ERROR, copy)
        judging.watch(path)
    return path


@pytest.fixture(scope="session")
def policies(base):
    path = base / "policies"
    path.mkdir(mode=0o755)
    for name, rules in harness.POLICIES.items():
        (path / f"{name}.json").write_text(json.dumps({"version": 1, "rules": rules}))
        (path / f"{name}.json").chmod(0o644)
    return path


@pytest.fixture(scope="session")
def ordinary(base):
    """(uid, gid) of somebody who is not root."""
    if os.geteuid() != 0:
        yield os.getuid(), os.getgid()
        return
    made = False
    try:
        entry = pwd.getpwnam(USER)
    except KeyError:
        subprocess.run(["useradd", "--system", "--no-create-home", "--user-group", USER], check=True)
        entry, made = pwd.getpwnam(USER), True
    yield entry.pw_uid, entry.pw_gid
    if made:
        subprocess.run(["userdel", "--force", USER], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def identities(base, ordinary):
    """Both identities by name, each with a home of its own."""
    known = {}
    for name, (uid, gid) in {"root": (0, 0), "user": ordinary}.items():
        home = base / f"home-{name}"
        for path in (home, home / "runtime"):
            path.mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(path, uid, gid)
        known[name] = harness.Identity(name, uid, gid, home)
    return known


@pytest.fixture
def identity(request, identities):
    return identities[request.param]


@pytest.fixture
def area(base, identity, request):
    """The workspace's parent: the test's own directory. What a call leaves there is seen."""
    path = Path(tempfile.mkdtemp(prefix="area-", dir=base))
    path.chmod(0o755)
    identity.own(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def cell(binary, identity, area, policies):
    made = harness.Cell(binary, identity, area, policies)
    yield made
    made.close()
    left = {entry.name for entry in area.iterdir()} - made.known
    assert not left, f"left beside the workspace: {sorted(left)}"


@pytest.fixture
def workspace(cell):
    return cell.workspace


@pytest.fixture(autouse=True)
def nothing_is_left(request):
    """After each test the host is as it was: no new process, mount, network namespace, cgroup or file within 1 s."""
    base = request.getfixturevalue("base")
    uid, _ = request.getfixturevalue("ordinary")
    before = leftovers.snapshot({uid})
    judging.begin()
    yield
    lines = leftovers.remaining(before, {uid}, ignore=[base], timeout=1.0 * harness.SLACK)
    leftovers.reap_orphans()
    assert not lines, "left behind:\n" + "\n".join(lines)
