# SPDX-License-Identifier: Apache-2.0
"""CPython's own tests of what touches the kernel come to the same in a cell as outside, but for what differences.py names.

Each module runs once outside, as the ordinary user with the environment and the limits of a cell, and once in a cell,
of root and of that user; and once more where the rules by name of the default policy make a broker open every file. Every single test is compared: passed, failed or skipped. What differs and is not expected to
is run again, test by test and on both sides, since some of these tests measure time; a difference is what shows twice.
"""

import json
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

import differences
from harness import PYTHON, SLACK, SOURCE, STATIC

RECORD = Path(__file__).with_name("record.py")
# Files that the tests name themselves are made in the workspace, those of module tempfile in /tmp.
COMMAND = ["record.py", "outcomes.json", "--tempdir", "."]
SECONDS = 900 * SLACK
QUICK = ["test_fcntl", "test_os", "test_resource", "test_tempfile"]
SLOW = ["test_asyncio", "test_logging", "test_multiprocessing_fork", "test_pathlib", "test_shutil", "test_signal",
        "test_socket", "test_subprocess", "test_threading"]
# In a workspace whose names are judged: besides those what makes, moves and lists many files.
QUICK_MEDIATED = ["test_glob", "test_os", "test_tempfile"]
SLOW_MEDIATED = [*SLOW, "test_fcntl", "test_mailbox", "test_resource", "test_venv", "test_zipfile"]

SURROUNDINGS = """
    import json, os, resource
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")}
    print(json.dumps([dict(os.environ), limits]))
"""


@pytest.fixture(scope="session", autouse=True)
def package():
    """The interpreter's own package has a test package without the tests."""
    if subprocess.run([PYTHON, "-c", "import test.test_os"], capture_output=True).returncode:
        pytest.skip("needs Debian's package libpython3.11-testsuite")


class Host:
    """An ordinary user's place outside any cell, and what each module came to there."""

    def __init__(self, user, area):
        self.user, self.area, self.work, self.known = user, area, area / "work", {}
        for path in (area, self.work, area / "home", area / "tmp"):
            path.mkdir(mode=0o755)
            user.own(path)

    def start(self, cell, *arguments):
        """Start the tests with the environment and the limits of that cell's command."""
        environment, limits = cell.python(SURROUNDINGS).succeeded().answer
        environment.update(HOME=str(self.area / "home"), TMPDIR=str(self.area / "tmp"), PWD=str(self.work))

        def limit():
            for name, pair in limits.items():
                resource.setrlimit(getattr(resource, name), pair)

        (self.work / "record.py").write_text(RECORD.read_text())
        with open(self.area / "said", "wb") as said:
            return subprocess.Popen([PYTHON, *COMMAND, *arguments], cwd=self.work, env=environment, preexec_fn=limit,
                                    stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, **self.user.popen())

    def finish(self, process):
        process.wait(SECONDS)
        return outcomes(self.work, (self.area / "said").read_bytes())


@pytest.fixture(scope="session")
def host(base, identities):
    return Host(identities["user"], base / "host")


def inside(cell, policy, *arguments):
    cell.write("record.py", RECORD.read_text())
    done = cell.plain("python3", *COMMAND, *arguments, policy=policy, timeout=SECONDS)
    return outcomes(cell.workspace, done.stdout + done.stderr)


def both(cell, host, policy, *arguments):
    """The outcomes in the cell and outside, of runs at the same time: most of these tests wait."""
    process = host.start(cell, *arguments)
    try:
        return inside(cell, policy, *arguments), host.finish(process)
    finally:
        end(process)


def end(process):
    """Nothing goes on outside: the tests leave children there (a sleep whose shell was killed), which a cell would end."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def module_in_both(cell, host, policy, name):
    """The same for a whole module, which runs outside only once."""
    if name in host.known:
        return inside(cell, policy, name), host.known[name]
    here, host.known[name] = both(cell, host, policy, name)
    return here, host.known[name]


def mediated(cell):
    """The rules that hold without a policy, and one more by name."""
    return cell.policy([{"pattern": "**/*.secret", "operations": ["read", "write"], "effect": "deny", "priority": 100}],
                       extends="workspace")


def outcomes(directory, said):
    """What record.py left, {test: [outcome, why]}."""
    file = directory / "outcomes.json"
    assert file.exists(), f"the tests did not come to their end: {said[-4000:]}"
    found = json.loads(file.read_text())
    assert found, f"no tests: {said[-4000:]}"
    file.unlink()
    return found


def compare(here, there):
    """{test: (outcome outside, outcome in the cell, why)} of those that differ."""
    absent = ["absent", ""]
    pairs = {name: (there.get(name, absent), here.get(name, absent)) for name in {*there, *here}}
    return {name: (a[0], b[0], b[1] or a[1]) for name, (a, b) in pairs.items() if a[0] != b[0]}


def modules(quick, slow):
    return pytest.mark.parametrize("module", [*quick, *(pytest.param(name, marks=pytest.mark.long) for name in slow)])


def check_module(cell, host, policy, module, known):
    expected = {row[0]: row[1:3] for row in known if row[0].startswith(f"test.{module}.")}
    seen = compare(*module_in_both(cell, host, policy, module))

    again = [name for name in seen if seen[name][:2] != expected.get(name)]
    if again:
        matches = [word for name in again for word in ("--match", name)]
        shown = compare(*both(cell, host, policy, module, *matches))
        seen = {name: what for name, what in seen.items() if name not in again or name in shown}

    new = {name: what for name, what in seen.items() if what[:2] != expected.get(name)}
    assert not new, "differ and are not in differences.py:\n" + "\n".join(f"{name}: {what}" for name, what in new.items())
    gone = sorted(set(expected) - set(seen))
    assert not gone, f"in differences.py and the same: {gone}"


@modules(QUICK, SLOW)
def test_the_same_as_outside(cell, host, module):
    check_module(cell, host, STATIC, module, differences.DIFFERENCES)


@modules(QUICK_MEDIATED, SLOW_MEDIATED)
def test_the_same_where_names_are_judged(cell, host, module):
    policy = mediated(cell)
    cell.write("token.secret", "the token")
    assert cell.run("cat", "token.secret", policy=policy).of("denied"), "nothing is judged here"
    (cell.workspace / "token.secret").unlink()
    check_module(cell, host, policy, module, differences.DIFFERENCES + differences.MEDIATED)


def test_each_difference_is_of_a_module_that_runs_and_documented():
    page = " ".join((SOURCE / "man" / "toolcell.7.scd").read_text().split("# WHAT PROGRAMS NOTICE")[1].split())
    for name, outside, cell, why in differences.DIFFERENCES + differences.MEDIATED:
        assert name.split(".")[1] in QUICK + SLOW + SLOW_MEDIATED and outside != cell
        assert f". {why} " in page
