# SPDX-License-Identifier: Apache-2.0
"""What `toolcell doctor` says of this host is what is then true of it."""

import json
import os
import subprocess

import jsonschema
import pytest

import doctoring
import harness
from harness import SLACK, SOURCE, as_root

ROOT_ONLY = {"idmapped-here", "idmapped-tmp", "host-ids"}


@pytest.fixture
def doctor(cell):
    return lambda *prefix, **more: doctoring.ask(cell, *prefix, **more)


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(doctoring.SCHEMA)


# ---- this host ----

def test_it_says_that_calls_run_exactly_where_they_do(cell, doctor):
    answer, outcome = doctor(), cell.run("true")
    assert answer.works == (outcome.status == 0), (answer.document, outcome)
    assert answer.enforces["isolation"] == answer.works
    assert answer.document["uid"] == cell.identity.uid
    if answer.works:
        needed = {name for name, check in answer.checks.items() if check["needed"]}
        assert not needed & answer.lacking(), "a cell ran without what every cell needs"


def test_each_check_is_told_once_and_root_is_told_more(cell, doctor):
    names = [check["name"] for check in doctor().document["checks"]]
    assert len(names) == len(set(names)) > 20
    assert ROOT_ONLY <= set(names) if cell.identity.uid == 0 else not ROOT_ONLY & set(names)


def test_what_it_says_of_landlock_and_limits_is_what_a_call_says(cell, doctor):
    answer = doctor()
    if not answer.works:
        pytest.skip("no call can run here")
    enforcement = cell.run("true", policy="workspace").of("start")[0]["enforcement"]
    assert f"ABI {enforcement['landlock_abi']}," in answer.checks["landlock"]["detail"]
    assert answer.enforces["rules-mediated"] == bool(enforcement["mediation"])
    asked = cell.run("true", options=["--memory", "64M"])
    assert answer.enforces["limits-group"] == (asked.status == 0), asked.messages
    egress = cell.run("true", options=["--net", "egress"])
    assert answer.enforces["network-egress"] == (egress.status == 0), egress.messages
    host = cell.run("true", options=["--net", "host"])
    assert answer.enforces["network-host"] == (host.status == 0), host.messages


def test_the_limits_that_it_names_are_those_of_calls(cell, doctor):
    """As whoever asks: root and a user on this host, or the two callers of the virtual machine."""
    answer = doctor()
    detail = {promise["name"]: promise["detail"] for promise in answer.document["enforces"]}
    assert "number of processes" in detail["limits-process"]
    for name, value, controller in (("cpus", "1", "cpu"), ("memory", "64M", "memory"), ("pids", "50", "pids")):
        done = cell.run("true", options=[f"--{name}", value])
        group = done.of("start")[0]["enforcement"]["cgroup"] if done.status == 0 else None
        assert (f"{controller} by version " in detail["limits-group"]) == (group is not None), (detail, done)
        if group:
            assert f"{controller} by version {group['version']}" in detail["limits-group"] and controller in group["controllers"]
    if os.geteuid() == 0 and cell.identity.uid == 0 or harness.unified() and os.geteuid() != 0:
        version = 2 if harness.unified() else 1
        assert detail["limits-group"] == f"cpu by version {version}, memory by version {version}, pids by version {version}"
    else:
        assert detail["limits-group"] == "needs cgroup-delegation" and not answer.enforces["limits-group"]


def test_mediated_rules_are_enforced_exactly_where_it_says_so(cell, doctor):
    rules = [{"pattern": "**/.env", "operations": "all", "effect": "deny", "priority": 9},
             {"pattern": "**", "operations": "all", "effect": "allow"}]
    outcome = cell.run("true", policy=cell.policy(rules))
    assert doctor().enforces["rules-mediated"] == (outcome.status == 0), outcome.messages


@as_root
def test_id_mapped_mounts_are_what_a_call_by_root_gets(cell, doctor):
    if doctor().state("idmapped-here") != "ok":
        pytest.skip("the file system of the tests cannot be mounted with mapped ids")
    uid = cell.run("true").of("start")[0]["enforcement"]["uid"]
    assert uid >= 2000000000, "the id is not one of the range"


@as_root
def test_a_file_system_without_mapped_ids_is_seen(cell, doctor):
    """procfs cannot be mounted with mapped ids and belongs to root."""
    answer = doctor(cwd="/proc")
    assert answer.state("idmapped-here") == "missing" and "proc" in answer.checks["idmapped-here"]["detail"]
    assert "--user" in answer.checks["idmapped-here"]["remedy"]
    assert not answer.works and answer.checks["run"]["detail"]


def test_what_cannot_be_a_workspace_is_told_with_the_reason(doctor):
    answer = doctor(cwd="/")
    assert not answer.works and answer.lacking() <= {"run", "cgroup-delegation", "cgroup", "idmapped-here"}
    assert "current directory" in answer.checks["run"]["detail"]


def test_delegation_is_what_the_caller_may_do(cell, doctor):
    answer = doctor()
    if answer.state("cgroup-delegation") != "ok":
        assert answer.checks["cgroup-delegation"]["remedy"]
        return
    # A group of version 1 or 2 made by the same caller in the same place.
    code = """
    import os
    for line in open("/proc/self/cgroup"):
        number, names, path = line.strip().split(":", 2)
        if "pids" in names.split(","):
            place = f"/sys/fs/cgroup/{names}{path}/toolcell-test-{os.getpid()}"
            break
    else:
        place = next(p for p in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(p + "/cgroup.procs"))
        place += f"{path}/toolcell-test-{os.getpid()}"
    os.mkdir(place); os.rmdir(place)
    """
    assert cell.outside(code).returncode == 0


# ---- how it says it ----

def test_text_names_what_json_names(cell, doctor):
    answer = doctor()
    done = subprocess.run([str(cell.binary), "doctor"], capture_output=True, text=True, cwd=cell.workspace,
                          env=cell.environment(), timeout=60 * SLACK, **cell.identity.popen())
    assert done.returncode == answer.status and done.stderr == ""
    above, below = done.stdout.split("\n\nwhat toolcell run can enforce here:\n")
    said = [line.split(":")[0].split() for line in above.splitlines()]
    assert said == [[check["state"], check["name"]] for check in answer.document["checks"]]
    promised = [line.split(":")[0].split() for line in below.splitlines()]
    assert promised == [["yes" if one["holds"] else "no", one["name"]] for one in answer.document["enforces"]]
    for line, check in zip(above.splitlines(), answer.document["checks"]):
        assert ("; remedy: " in line) == bool(check["remedy"])


def test_man_page_tells_every_check_and_promise(doctor):
    page = (SOURCE / "man" / "toolcell-doctor.1.scd").read_text()
    answer = doctor()
    for name in [*answer.checks, *answer.enforces, *ROOT_ONLY]:
        assert f"*{name}*" in page, name
    for name, check in answer.checks.items():
        assert check["needed"] == (f"*{name}* \\*" in page), name


@pytest.mark.parametrize("arguments", [["--nothing"], ["now"], ["--json=1"]])
def test_malformed_questions(binary, arguments):
    done = subprocess.run([binary, "doctor", *arguments], capture_output=True, text=True, timeout=60 * SLACK)
    assert done.returncode == 125 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("toolcell: ")


@pytest.mark.parametrize("stream", ["stdout", "everything"])
def test_closed_descriptors(cell, stream):
    close = {"stdout": "exec >&-", "everything": "exec <&- >&- 2>&-"}[stream]
    done = subprocess.run(["sh", "-c", f"{close}; {cell.binary} doctor; exit $?"], capture_output=True, timeout=60 * SLACK,
                          cwd=cell.workspace, env=cell.environment(), **cell.identity.popen())
    assert done.returncode in (0, 1, 125)


def test_ignored_children_and_few_descriptors(cell):
    line = f"trap '' CHLD; ulimit -Sn 24; exec {cell.binary} doctor --json"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60 * SLACK, cwd=cell.workspace,
                          env=cell.environment(), **cell.identity.popen())
    assert done.returncode == 0 and json.loads(done.stdout)["works"], done


def test_killed_in_the_middle_it_leaves_nothing(cell):
    """The fixture of every test looks for what is left."""
    for delay in (0.005, 0.02, 0.05):
        process = subprocess.Popen([str(cell.binary), "doctor"], stdout=subprocess.DEVNULL, cwd=cell.workspace,
                                   env=cell.environment(), **cell.identity.popen())
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
