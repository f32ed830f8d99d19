# SPDX-License-Identifier: Apache-2.0
"""One system call at a time taken away from toolcell and all below it: refused by name, or nothing changes."""

import json
import re
import subprocess

import pytest

import doctoring
import harness
import missing
from missing import ERRORS, TABLE, Refused

DEADLINE = 10 * harness.SLACK
COMMAND = ["sh", "-c", "cat in; echo written >out; cat out; exit 3"]


@pytest.fixture(scope="module")
def launcher(base):
    return missing.build(base / "bin" / "without")


@pytest.fixture
def workspace(cell):
    cell.write("in", "read\n")
    return cell.workspace


def refused(outcome, wanted, error):
    """Status 125, one line, and with events a lone result: both name what was not possible."""
    assert outcome.status == 125 and (outcome.stdout == b"" or wanted.stage == "cell"), outcome
    assert re.fullmatch(r"toolcell: [^\n]+\n", outcome.messages), outcome.messages
    assert wanted.words in outcome.messages, outcome.messages
    assert "could not" in wanted.words or "has no" in wanted.words or ERRORS[error] in outcome.messages
    if error == "ENOSYS":
        assert re.search(r" \(.+\)$", outcome.messages), f"no remedy: {outcome.messages}"
    if outcome.events:
        result = outcome.result
        assert result["outcome"] == "setup_failed" and result["error"]["stage"] == wanted.stage, result
        assert result["error"]["message"] in outcome.messages
    assert outcome.seconds < DEADLINE


def check_calls(cell, prefix, wanted, error):
    """A static policy, and streams that are passed through."""
    static = cell.run(*COMMAND, prefix=prefix)
    plain = cell.plain(*COMMAND, prefix=prefix)
    if isinstance(wanted, Refused):
        for outcome in (static, plain):
            refused(outcome, wanted, error)
            # Only what is missed beside or after the start of the command may show after the event `start`.
            assert wanted.stage in ("cell", "exec", "supervise") or not outcome.of("start")
        return
    assert (static.status, static.text, static.messages) == (3, "read\nwritten\n", "")
    assert (plain.status, plain.stdout, plain.stderr) == (3, b"read\nwritten\n", b"")


def check_mediated(cell, prefix, wanted, loss):
    """A preset, which needs a broker: served, or refused by name; and what is denied is never served."""
    cell.write(".env", "SECRET")
    outcome = cell.run("sh", "-c", "cat in; cat .env; true", policy="workspace", prefix=prefix)
    assert "SECRET" not in outcome.text
    if isinstance(wanted, Refused) or (loss in missing.MEDIATION and outcome.status == 125):
        assert outcome.status == 125 and outcome.messages.startswith("toolcell: ") and outcome.messages.count("\n") == 1
        assert isinstance(wanted, Refused) or re.search("mediation|broker", outcome.messages), outcome.messages
        return
    assert (outcome.status, outcome.text, outcome.result["denials"]) == (0, "read\n", 1)
    assert outcome.result["degraded"] == []


def check_denied(cell, prefix, wanted):
    """The rules refuse before anything is tried of the kernel, but what toolcell looks at the host with."""
    outcome = cell.run("true", policy=cell.policy(), prefix=prefix)
    if isinstance(wanted, Refused) and wanted.stage == "facts":
        assert outcome.status == 125
    else:
        assert outcome.status == 126 and outcome.result["outcome"] == "refused", outcome


def check_doctor(cell, prefix, wanted, error, loss):
    done = subprocess.run([*prefix, str(cell.binary), "doctor", "--json"], capture_output=True, cwd=cell.workspace,
                          env=cell.environment(), timeout=60 * harness.SLACK, stdin=subprocess.DEVNULL,
                          **cell.identity.popen())
    if done.returncode == 125:  # no process can be tried in
        assert done.stdout == b"" and ERRORS[error].encode() in done.stderr and done.stderr.count(b"\n") == 1
        return
    document = json.loads(done.stdout)
    doctoring.VALIDATOR.validate(document)
    run = next(check for check in document["checks"] if check["name"] == "run")
    if loss in missing.MEDIATION | missing.OTHERWISE and not document["works"]:
        # The default policy has rules that need a broker.
        assert run["state"] == "missing" and re.search("mediation|broker|" + "|".join(ERRORS.values()), run["detail"]), run
        return
    words = "" if not isinstance(wanted, Refused) else wanted.words if wanted.doctor is None else wanted.doctor
    works = words == ""
    assert document["works"] == works == (run["state"] == "ok") and done.returncode == (0 if works else 1), run
    assert words in run["detail"], run


@pytest.mark.parametrize("loss", TABLE)
def test_without(cell, workspace, launcher, loss):
    if loss == "prlimit64" and harness.sanitized(cell.binary):  # whose own runtime begins with it
        assert b"AddressSanitizer" in cell.plain("true", prefix=[str(launcher), loss, "ENOSYS"]).stderr
        return
    for error in ERRORS:
        prefix = [str(launcher), loss, error]
        wanted = missing.expected(loss, cell.identity.name, error)
        check_calls(cell, prefix, wanted, error)
        check_mediated(cell, prefix, wanted, loss)
        check_denied(cell, prefix, wanted)
        check_doctor(cell, prefix, wanted, error, loss)


@pytest.mark.parametrize("loss", missing.AT_ONCE)
def test_without_what_a_call_begins_with(cell, launcher, loss):
    for error, text in ERRORS.items():
        outcome = cell.plain("true", options=["--json"], prefix=[str(launcher), loss, error])
        assert (outcome.status, outcome.stdout) == (125, b"")
        assert outcome.messages == f"toolcell: {missing.AT_ONCE[loss]}: {text}\n"


def test_the_manual_names_each():
    """toolcell-doctor(1) tells which calls are needed, and which are not."""
    page = (harness.SOURCE / "man" / "toolcell-doctor.1.scd").read_text()
    section = page.split("# SYSTEM CALLS")[1].split("\n# ")[0]
    needed, other = section.split("Not needed")
    for loss, answer in {**TABLE, **missing.AT_ONCE}.items():
        if re.fullmatch(r"[a-z_0-9]+", loss) and loss != "nothing":
            unneeded = isinstance(answer, missing.Unneeded)
            assert f"*{loss}*" in (other if unneeded else needed), f"{loss} is {'not ' if unneeded else ''}needed"


def test_the_launcher_takes_the_call_away(cell, launcher):
    """Control: what the table calls unneeded does fail behind the launcher."""
    code = "import ctypes; c = ctypes.CDLL(None, use_errno=True); print(c.syscall(%d, -1, 0, 0, 0), ctypes.get_errno())"
    number = {"x86_64": 424, "aarch64": 424}[doctoring.os.uname().machine]
    line = [harness.PYTHON, "-c", code % number]
    plain = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    for error, code in (("ENOSYS", 38), ("EPERM", 1)):
        done = subprocess.run([launcher, "pidfd_send_signal", error, *line], capture_output=True, text=True, check=True,
                              **cell.identity.popen())
        assert done.stdout == f"-1 {code}\n" != plain


def test_no_call_is_left_running_where_kill_is_forbidden(cell, launcher):
    """The command ended, a process of it lives: the kernel ends it with the cell."""
    for error in ERRORS:
        done = cell.run("sh", "-c", "sleep 100 & exit 0", prefix=[str(launcher), "kill", error])
        assert done.status == 125 and "the cell's init ended by itself" in done.messages


def test_a_cell_that_would_see_the_groups_of_the_host(cell, launcher):
    """As of a kernel that does not know cgroup namespaces: not tolerated."""
    done = cell.run("cat", "/proc/self/cgroup", prefix=[str(launcher), "unshare of a cgroup namespace", "EINVAL"])
    assert done.status == 125 and done.result["error"]["stage"] == "namespaces" and not done.of("start")
    assert "toolcell: enter a cgroup namespace: Invalid argument" in done.messages
    assert all(line.endswith(":/") for line in cell.run("cat", "/proc/self/cgroup").succeeded().text.splitlines())


@pytest.mark.parametrize("loss", ["kill", "pidfd_send_signal"])
def test_the_clock_ends_a_call_without(cell, launcher, loss):
    for error in ERRORS:
        done = cell.run("sleep", "100", options=["--timeout", "200ms"], prefix=[str(launcher), loss, error])
        assert done.status == 124 and done.result["outcome"] == "timeout" and done.seconds < DEADLINE
