# SPDX-License-Identifier: Apache-2.0
"""`toolcell doctor --selftest`: attempts to reach out of a cell by the built-in program, each with its control."""

import json
import os
import signal
import subprocess
import time

import jsonschema
import pytest

from doctoring import ENOSYS, EPERM, filtered
from harness import SLACK, SOURCE, as_root

SCHEMA = json.loads((SOURCE / "policy" / "schema" / "selftest.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
REFUSALS = {  # what refuses, told by the error
    "host-file": {"ENOENT"}, "host-write": {"ENOENT"}, "loopback": {"ECONNREFUSED"}, "abstract-socket": {"ECONNREFUSED"},
    "host-process": {"ESRCH"}, "descriptor": {"EBADF"}, "environment": {"ENOENT"},
    "user-namespace": {"EPERM", "ENOSYS"}, "set-id": {"EPERM"}, "lease": {"EPERM"}, "datagram": {"EPERM"},
    "io-uring": {"EPERM", "ENOSYS"}, "file-handle": {"EPERM", "ENOSYS"},
}


@pytest.fixture
def selftest(cell):
    """Run it; (status, attempts by name)."""
    cell.directory("temporary")

    def run(*prefix):
        done = subprocess.run([*map(str, prefix), str(cell.binary), "doctor", "--selftest", "--json"], capture_output=True,
                              cwd=cell.workspace, env=cell.environment(TMPDIR=str(cell.area / "temporary")), timeout=120 * SLACK,
                              stdin=subprocess.DEVNULL, **cell.identity.popen())
        assert done.stderr == b"", done.stderr
        document = json.loads(done.stdout)
        VALIDATOR.validate(document)
        assert document["holds"] == (done.returncode == 0)
        assert os.listdir(cell.area / "temporary") == []
        return done.returncode, {attempt["name"]: attempt for attempt in document["attempts"]}

    return run


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_everything_is_held_by_what_should_hold_it(selftest):
    status, attempts = selftest()
    assert status == 0
    assert {name: attempt["verdict"] for name, attempt in attempts.items() if attempt["verdict"] == "open"} == {}
    assert set(attempts) == set(REFUSALS)
    for name, attempt in attempts.items():
        assert attempt["inside"] in REFUSALS[name], attempt
        assert attempt["verdict"] == ("held" if attempt["outside"] is None else "unproven")
    # Doors that every host has: here the control must succeed.
    for name in set(REFUSALS) - {"io-uring", "user-namespace", "file-handle", "loopback"}:
        assert attempts[name]["outside"] is None, attempts[name]


def test_a_door_that_the_host_closes_is_unproven(selftest):
    _, attempts = selftest(*filtered("errno", "io_uring_setup", ENOSYS))
    assert attempts["io-uring"]["verdict"] == "unproven" and attempts["io-uring"]["outside"] == "ENOSYS"
    assert attempts["set-id"]["verdict"] == "held"


def test_what_gets_through_is_told(selftest):
    """Control of the self-test: in cells whose filter something outside swallowed, what only the filter holds is open."""
    status, attempts = selftest(*filtered("errno", "seccomp", 0))
    opened = {name for name, attempt in attempts.items() if attempt["verdict"] == "open"}
    assert status == 1 and {"set-id", "lease", "datagram"} <= opened
    assert opened <= {"set-id", "lease", "datagram", "io-uring", "file-handle"}, "what other mechanisms hold"


def test_text(cell):
    done = subprocess.run([str(cell.binary), "doctor", "--selftest"], capture_output=True, text=True, cwd=cell.workspace,
                          env=cell.environment(), timeout=120 * SLACK, **cell.identity.popen())
    above, below = done.stdout.split("\n\n")
    assert done.returncode == 0 and done.stderr == ""
    verdicts = [line.split(":")[0].split() for line in above.splitlines()]
    assert [name for _, name in verdicts] == list(REFUSALS)
    count = [sum(verdict == which for verdict, _ in verdicts) for which in ("held", "open", "unproven")]
    assert below == "{} held, {} open, {} unproven\n".format(*count)


def test_where_no_cell_can_be_started(cell):
    done = subprocess.run([*map(str, filtered("errno", "clone", EPERM, 0, 0x10000000)), str(cell.binary), "doctor", "--selftest"],
                          capture_output=True, text=True, cwd=cell.workspace, env=cell.environment(), timeout=60 * SLACK,
                          **cell.identity.popen())
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("toolcell: self-test: ") and done.stderr.count("\n") == 1


def test_without_a_directory_for_it(cell):
    done = subprocess.run([str(cell.binary), "doctor", "--selftest"], capture_output=True, text=True, cwd=cell.workspace,
                          env=cell.environment(TMPDIR="/proc"), timeout=60 * SLACK, **cell.identity.popen())
    assert done.returncode == 125 and "make a directory in '/proc'" in done.stderr


@as_root
def test_where_programs_cannot_be_executed(cell):
    place = cell.directory("temporary")
    mount = f"mount -t tmpfs -o noexec none {place}"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", str(cell.binary), "doctor", "--selftest"],
                          capture_output=True, text=True, cwd=cell.workspace, env=cell.environment(TMPDIR=str(place)), timeout=60 * SLACK)
    assert done.returncode == 125 and "where programs may be executed" in done.stderr, done


def test_a_signal_ends_it_when_its_files_are_gone(cell):
    place = cell.directory("temporary")
    process = subprocess.Popen([str(cell.binary), "doctor", "--selftest"], stdout=subprocess.DEVNULL, cwd=cell.workspace,
                               env=cell.environment(TMPDIR=str(place)), **cell.identity.popen())
    deadline = time.monotonic() + 10 * SLACK
    while not os.listdir(place) and process.poll() is None:
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGTERM)
    assert process.wait(30 * SLACK) in (0, -signal.SIGTERM)
    assert os.listdir(place) == []


@as_root
def test_nobody_else_can_change_what_the_control_executes(cell):
    """The control has the caller's rights: only the caller may write where its program lies."""
    place = cell.directory("temporary")
    process = subprocess.Popen([str(cell.binary), "doctor", "--selftest"], stdout=subprocess.DEVNULL, cwd=cell.workspace,
                               env=cell.environment(TMPDIR=str(place)))
    seen = set()
    while process.poll() is None:
        for path in [*place.glob("*"), *place.glob("*/work"), *(work / "attempt" for work in place.glob("*/work"))]:
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            assert found.st_uid == 0 and found.st_mode & 0o022 == 0, path
            seen.add(path.name)
    assert {"work", "attempt"} <= seen
