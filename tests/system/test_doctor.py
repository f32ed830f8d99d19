# SPDX-License-Identifier: Apache-2.0
"""What `toolcell doctor` says of a host is what is then true of it: of this one, and of hosts made poorer on purpose."""

import json
import os
import subprocess
import textwrap

import jsonschema
import pytest

from harness import PYTHON, SLACK, SOURCE, as_root, as_user

SCHEMA = json.loads((SOURCE / "policy" / "schema" / "doctor.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
ROOT_ONLY = {"idmapped-here", "idmapped-tmp", "host-ids"}

# Load a filter that makes one system call fail, then become the command that follows.
FILTER = """
import ctypes, errno, os, struct, sys
name, code, number, argument, mask = sys.argv[1], *map(int, sys.argv[2:6])
libc = ctypes.CDLL(None, use_errno=True)
LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
refuse = 0x80000000 if name == "kill" else 0x50000 | code
lines = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 3, number), (LOAD, 0, 0, 16 + 8 * argument),
         (JUMP_SET, 0, 1, mask), (RETURN, 0, 0, refuse), (RETURN, 0, 0, 0x7fff0000)]
if mask == 0:
    lines = [lines[0], (JUMP_EQUAL, 0, 1, number), *lines[4:]]
program = b"".join(struct.pack("HBBI", *line) for line in lines)
buffer = ctypes.create_string_buffer(program)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
what = Program(len(lines), ctypes.cast(buffer, ctypes.c_void_p))
libc.prctl(38, 1, 0, 0, 0)
flags = 8 if name == "listen" else 0
fd = libc.syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, flags, ctypes.byref(what))
if fd < 0: raise OSError(ctypes.get_errno(), "seccomp")
if fd > 0: os.set_inheritable(fd, True)
os.execvp(sys.argv[6], sys.argv[6:])
"""

CLONE_NEWUSER, CLONE_NEWNET, NEW_LISTENER = 0x10000000, 0x40000000, 8
EPERM, EACCES, ENOSYS = 1, 13, 38
NUMBERS = {  # system calls by machine
    "x86_64": {"clone": 56, "seccomp": 317, "landlock_create_ruleset": 444, "mount_setattr": 442, "close_range": 436,
               "pidfd_send_signal": 424, "unshare": 272, "nothing": 1000},
    "aarch64": {"clone": 220, "seccomp": 277, "landlock_create_ruleset": 444, "mount_setattr": 442, "close_range": 436,
                "pidfd_send_signal": 424, "unshare": 97, "nothing": 1000},
}[os.uname().machine]


class Answer:
    """What one doctor said."""

    def __init__(self, status, document):
        self.status, self.document = status, document
        self.works = document["works"]
        self.checks = {check["name"]: check for check in document["checks"]}
        self.enforces = {promise["name"]: promise["holds"] for promise in document["enforces"]}

    def state(self, name):
        return self.checks[name]["state"]

    def lacking(self):
        return {name for name, check in self.checks.items() if check["state"] == "missing"}


@pytest.fixture
def doctor(cell):
    """Ask, as the identity, in the workspace; with a prefix: in what that makes of the host."""

    def ask(*prefix, cwd=None, status=None):
        done = subprocess.run([*map(str, prefix), str(cell.binary), "doctor", "--json"], capture_output=True,
                              cwd=cwd or cell.workspace, env=cell.environment(), timeout=60 * SLACK,
                              stdin=subprocess.DEVNULL, **cell.identity.popen())
        assert done.stderr == b"", done.stderr
        document = json.loads(done.stdout)
        VALIDATOR.validate(document)
        answer = Answer(done.returncode, document)
        assert answer.status == (0 if answer.works else 1)
        assert answer.works == (answer.state("run") == "ok")
        return answer

    return ask


def filtered(kind, call, code=0, argument=0, mask=0):
    return [PYTHON, "-c", FILTER, kind, code, NUMBERS[call], argument, mask]


def test_schema_is_valid():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


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
    enforcement = cell.run("true").of("start")[0]["enforcement"]
    assert f"ABI {enforcement['landlock_abi']}," in answer.checks["landlock"]["detail"]
    assert answer.enforces["rules-mediated"] == bool(enforcement["mediation"])
    asked = cell.run("true", options=["--memory", "64M"])
    assert answer.enforces["limits-group"] == (asked.status == 0), asked.messages
    egress = cell.run("true", options=["--net", "egress"])
    assert answer.enforces["network-egress"] == (egress.status == 0), egress.messages
    host = cell.run("true", options=["--net", "host"])
    assert answer.enforces["network-host"] == (host.status == 0), host.messages


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
                          env=cell.environment(), timeout=60, **cell.identity.popen())
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
    done = subprocess.run([binary, "doctor", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 125 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and done.stderr.startswith("toolcell: ")


@pytest.mark.parametrize("stream", ["stdout", "everything"])
def test_closed_descriptors(cell, stream):
    close = {"stdout": "exec >&-", "everything": "exec <&- >&- 2>&-"}[stream]
    done = subprocess.run(["sh", "-c", f"{close}; {cell.binary} doctor; exit $?"], capture_output=True, timeout=60,
                          cwd=cell.workspace, env=cell.environment(), **cell.identity.popen())
    assert done.returncode in (0, 1, 125)


def test_ignored_children_and_few_descriptors(cell):
    line = f"trap '' CHLD; ulimit -Sn 24; exec {cell.binary} doctor --json"
    done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, cwd=cell.workspace,
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


# ---- poorer hosts ----

def poorer(*lines):
    """A prefix: these lines of shell with all capabilities in a user and mount namespace of their own, then the command
    without them. It keeps its user, since a root there is another case."""
    drop = 'exec setpriv --ambient-caps=-all --inh-caps=-all "$@"'
    return ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", "\n".join(["set -e", *lines, drop]), "sh"]


@as_user
def test_control_of_the_namespace_alone(doctor):
    assert doctor(*poorer()).works == doctor().works


@as_user
def test_root_of_a_namespace_has_no_ids_to_give(doctor):
    answer = doctor("unshare", "--user", "--map-root-user")
    assert answer.document["uid"] == 0 and not answer.works
    assert answer.state("user-namespaces") == "ok" and answer.state("id-maps") == "missing"
    assert "/etc/toolcell/uids" in answer.checks["id-maps"]["remedy"]



def test_control_without_a_poorer_host(doctor):
    """The same detour without the loss finds what the test after it misses."""
    assert doctor(*filtered("errno", "nothing")).works == doctor().works


@as_user
def test_no_user_namespaces_left(doctor):
    answer = doctor(*poorer("echo 0 >/proc/sys/user/max_user_namespaces"))
    assert not answer.works and answer.state("user-namespaces") == "missing"
    assert "user.max_user_namespaces" in answer.checks["user-namespaces"]["remedy"]
    assert answer.checks["mount-namespace"]["detail"] == "not tried: it needs user-namespaces"
    assert not answer.enforces["isolation"] and not answer.enforces["network-none"]


@as_user
def test_no_network_namespaces_left(doctor):
    answer = doctor(*poorer("echo 0 >/proc/sys/user/max_net_namespaces"))
    assert not answer.works and answer.state("user-namespaces") == "ok"
    assert answer.state("network-namespace") == "missing"
    assert "user.max_net_namespaces" in answer.checks["network-namespace"]["remedy"]


@as_root
def test_masked_proc_as_root(doctor):
    answer = doctor("unshare", "--mount", "sh", "-c", 'mount --bind /dev/null /proc/timer_list && exec "$@"', "sh")
    assert answer.lacking() == {"procfs", "run"}
    assert "--allow-degraded=proc" in answer.checks["procfs"]["remedy"]
    assert "mounted over a part of /proc" in answer.checks["procfs"]["remedy"]


@as_user
def test_masked_proc_as_user(doctor):
    answer = doctor(*poorer("mount --bind /dev/null /proc/timer_list"))
    assert answer.state("procfs") == "missing" and not answer.works
    assert answer.state("mount-api") == "ok"
    assert "mounted over a part of /proc" in answer.checks["procfs"]["remedy"]


def settings(cell, **values):
    """A line of shell that puts these settings in the place of the kernel's own in /proc/sys/kernel."""
    place = cell.directory("kernel")
    for name, value in values.items():
        cell.write(name, f"{value}\n", where=place)
    return f"mount --bind '{place}' /proc/sys/kernel"


CLONE_NEWUTS = 0x04000000
LOST = filtered("errno", "unshare", EPERM, 0, CLONE_NEWUTS)  # what a capability would be used for fails


@as_user
def test_apparmor_takes_capabilities_away(cell, doctor):
    """As Ubuntu does it: the namespace is made, the ids are mapped, and then capabilities are lost inside."""
    line = settings(cell, apparmor_restrict_unprivileged_userns=1)
    answer = doctor(*poorer(line), *LOST)
    check = answer.checks["user-namespaces"]
    assert check["state"] == "missing" and "capabilities are lost inside" in check["detail"] and not answer.works
    assert "kernel.apparmor_restrict_unprivileged_userns" in check["remedy"]
    assert f"profile toolcell {cell.binary} flags=(unconfined)" in check["remedy"]
    assert check["remedy"].endswith("apparmor_parser -r /etc/apparmor.d/toolcell")


@as_user
def test_capabilities_are_lost_without_apparmor(doctor):
    """Control: the same loss where no setting explains it is not put down to AppArmor."""
    check = doctor(*LOST).checks["user-namespaces"]
    assert check["state"] == "missing" and "capabilities are lost inside" in check["detail"]
    assert "AppArmor" not in check["remedy"]


@as_user
def test_apparmor_refuses_user_namespaces(cell, doctor):
    line = settings(cell, apparmor_restrict_unprivileged_userns=1)
    answer = doctor(*poorer(line), *filtered("errno", "clone", EACCES, 0, CLONE_NEWUSER))
    assert "/etc/apparmor.d/toolcell" in answer.checks["user-namespaces"]["remedy"]


@as_user
def test_user_namespaces_are_switched_off_for_users(cell, doctor):
    line = settings(cell, unprivileged_userns_clone=0)
    answer = doctor(*poorer(line), *filtered("errno", "clone", EPERM, 0, CLONE_NEWUSER))
    assert "kernel.unprivileged_userns_clone=1" in answer.checks["user-namespaces"]["remedy"]


@as_root
def test_programs_in_memory_are_forbidden(doctor):
    """The setting belongs to a pid namespace since Linux 6.6."""
    prefix = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"', "sh"]
    answer = doctor(*prefix)
    assert answer.lacking() - {"cgroup-delegation"} == {"memfd-exec", "run"}
    assert answer.checks["memfd-exec"]["remedy"] == "sysctl vm.memfd_noexec=1 or 0"


def test_filter_forbids_user_namespaces(doctor):
    answer = doctor(*filtered("errno", "clone", EPERM, 0, CLONE_NEWUSER))
    assert answer.state("user-namespaces") == "missing" and not answer.works
    assert "seccomp filter forbids clone(CLONE_NEWUSER)" in answer.checks["user-namespaces"]["remedy"]
    assert answer.state("landlock") == answer.state("seccomp-notify") == "ok"


def test_filter_forbids_network_namespaces(doctor):
    answer = doctor(*filtered("errno", "clone", EPERM, 0, CLONE_NEWNET))
    assert answer.lacking() - {"cgroup-delegation"} == {"network-namespace", "run"}
    assert "seccomp filter" in answer.checks["network-namespace"]["remedy"]


def test_no_landlock(doctor):
    answer = doctor(*filtered("errno", "landlock_create_ruleset", ENOSYS))
    assert answer.lacking() - {"cgroup-delegation"} == {"landlock", "run"}
    assert answer.checks["landlock"]["remedy"] and "Landlock" in answer.checks["run"]["detail"]
    assert not answer.enforces["rules-static"] and not answer.enforces["network-host"]


@pytest.mark.parametrize("code", [EPERM, ENOSYS])
def test_no_listener(doctor, code):
    answer = doctor(*filtered("errno", "seccomp", code, 1, NEW_LISTENER))
    assert answer.state("seccomp-notify") == "missing" and answer.checks["seccomp-notify"]["remedy"]
    assert answer.state("seccomp-filter") == "ok"
    assert not answer.enforces["rules-mediated"]


def test_a_listener_is_there_already(doctor):
    answer = doctor(*filtered("listen", "nothing"))
    assert answer.state("seccomp-notify") == "missing"
    assert "there already" in answer.checks["seccomp-notify"]["detail"]
    assert answer.state("seccomp-filter") == "ok"


def test_whoever_tries_is_killed(doctor):
    answer = doctor(*filtered("kill", "landlock_create_ruleset"))
    assert answer.state("landlock") == "missing"
    assert "kills whoever tries" in answer.checks["landlock"]["detail"]
    assert answer.state("seccomp-filter") == "ok" and not answer.works


@pytest.mark.parametrize("call, check", [("mount_setattr", "mount-api"), ("close_range", "close-range"),
                                         ("pidfd_send_signal", "pidfd")])
def test_an_old_kernel(doctor, call, check):
    answer = doctor(*filtered("errno", call, ENOSYS))
    assert answer.state(check) == "missing" and "newer kernel" in answer.checks[check]["remedy"]


def test_nothing_can_be_started(cell):
    """Where not even a process can be made it says so and does not guess."""
    done = subprocess.run([*map(str, filtered("errno", "clone", 11)), str(cell.binary), "doctor"], capture_output=True,
                          text=True, cwd=cell.workspace, env=cell.environment(), timeout=60, **cell.identity.popen())
    assert done.returncode == 125 and done.stdout == ""
    assert done.stderr.startswith("toolcell: start a process to try kernel: ") and done.stderr.count("\n") == 1


STOP_ONE = textwrap.dedent("""
    import os, signal, subprocess, sys
    process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE)
    stopped = False
    while not stopped and process.poll() is None:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
            for child in children.read().split():
                os.kill(int(child), signal.SIGSTOP)
                stopped = True
    sys.stdout.buffer.write(process.communicate()[0])
    sys.exit(process.returncode)
""")


def test_a_probe_that_hangs_is_ended(doctor):
    """Stopped, as one that hangs in a system call: ended after 5 s, and the others go on."""
    for _ in range(5):  # a probe may be done by the time it is stopped
        answer = doctor(PYTHON, "-c", STOP_ONE)
        ended = [check for check in answer.document["checks"] if "no answer within" in check["detail"]]
        if ended:
            break
    assert [check["detail"] for check in ended] == ["no answer within 5 s; the probe was ended"]
    assert answer.state("close-range") == "ok"
