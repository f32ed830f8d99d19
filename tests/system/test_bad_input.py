# SPDX-License-Identifier: Apache-2.0
"""Whatever is malformed gets one clear line that names the place, exit 125, and the command has not run.

With events there is exactly one, the result, and it says the same. Each case is tried both ways.
"""

import json
import os
import socket
import subprocess

import pytest

import harness

CANARY = ["touch", "/workspace/ran"]

OPTIONS = {
    # option and value: what the line must name
    ("--nonsense",): ["--nonsense", "unknown option"],
    ("--polic", "x"): ["--polic", "unknown option"],
    ("-Z",): ["-Z", "unknown option"],
    ("-qZ",): ["-qZ", "unknown option"],
    ("--quiet=yes",): ["--quiet", "takes no value"],
    ("--timeout", "soon"): ["--timeout", "soon", "duration"],
    ("--timeout", "0"): ["--timeout", "range"],
    ("--timeout", "-1s"): ["--timeout", "-1s"],
    ("--timeout", "1e3"): ["--timeout", "1e3"],
    ("--timeout", ""): ["--timeout"],
    ("--timeout", "99999999999999999999"): ["--timeout"],
    ("--cpu-time", "5 m"): ["--cpu-time"],
    ("--cpus", "some"): ["--cpus", "number of CPUs"],
    ("--cpus", "nan"): ["--cpus"],
    ("--memory", "lots"): ["--memory", "size"],
    ("--memory", "1Q"): ["--memory", "1Q"],
    ("--memory", "17179869184G"): ["--memory"],
    ("--pids", "1.5"): ["--pids", "whole number"],
    ("--pids", "0"): ["--pids"],
    ("--open-files", "-3"): ["--open-files"],
    ("--output-limit", "1M:halt"): ["--output-limit", "1M:halt"],
    ("--output-limit", ":stop"): ["--output-limit"],
    ("--disk", "x"): ["--disk"],
    ("--file-size", "x"): ["--file-size"],
    ("--grace", "x"): ["--grace"],
    ("--net", "some"): ["--net", "none, egress or host"],
    ("--net", "egress"): ["egress"],
    ("--net", ""): ["--net"],
    ("--stdin", "maybe"): ["--stdin", "none or inherit"],
    ("--session", "s"): ["--session", "not part of this version"],
    ("--ask", "fd:93"): ["--ask", "fd:93"],
    ("--ask", "fd:x"): ["--ask", "deny, tty or fd:N"],
    ("--ask", "loudly"): ["--ask", "deny, tty or fd:N"],
    ("--rootfs", "alpine"): ["--rootfs", "alpine"],
    ("--rootfs", ""): ["--rootfs"],
    ("--rootfs", "/no/such/root"): ["/no/such/root"],
    ("--rootfs", "/etc/passwd"): ["/etc/passwd"],
    ("--env", "NAME"): ["--env", "NAME=VALUE"],
    ("--env", "=x"): ["--env", "NAME=VALUE"],
    ("--pass-env", "A=B"): ["--pass-env", "name of a variable"],
    ("--pass-env", ""): ["--pass-env"],
    ("--label", "x"): ["--label", "NAME=VALUE"],
    ("--label", "=x"): ["--label"],
    ("--cwd", ""): ["--cwd", "empty"],
    ("--tmpfs", "scratch"): ["--tmpfs", "absolute"],
    ("--tmpfs", "/scratch:big"): ["--tmpfs", "big"],
    ("--tmpfs", "/scratch:0"): ["--tmpfs"],
    ("-m", "/usr"): ["--mount", "SRC:DST"],
    ("-m", "/usr:relative"): ["--mount", "SRC:DST"],
    ("-m", ":/x"): ["--mount", "SRC:DST"],
    ("-m", "/no/such/source:/x"): ["/no/such/source"],
    ("-m", "/usr:/x:txn"): ["--mount", "txn"],
    ("-w", ""): ["--workspace"],
    ("-w", ":ro"): ["--workspace"],
    ("-w", "/no/such/workspace"): ["/no/such/workspace"],
    ("-w", "/etc/passwd"): ["/etc/passwd"],
    ("-w", "/tmp:tools"): ["--workspace", "tools"],
    ("-w", ".:txn"): ["txn"],
    ("-p", ""): ["--policy"],
    ("-p", "no-such-policy"): ["no-such-policy", "presets are"],
    ("-p", "/no/such/policy.json"): ["/no/such/policy.json"],
    ("-p", "/etc"): ["/etc"],
    ("-p", "/dev/null"): ["/dev/null"],
    ("-p", "../escape"): ["../escape"],
    ("--policy-fd", "x"): ["--policy-fd", "descriptor"],
    ("--policy-fd", "-1"): ["--policy-fd"],
    ("--policy-fd", "77"): ["--policy-fd", "77"],
    ("--policy-fd", "1"): ["--policy-fd", "not open for reading"],
    ("--policy-fd", "99999999999"): ["--policy-fd"],
    ("--policy-fd", "0", "-p", "workspace"): ["--policy-fd", "--policy"],
    ("--request", ""): ["--request"],
    ("--request", "/no/such/request"): ["--request", "/no/such/request"],
    ("--request", "/"): ["--request", "directory"],
    ("--request", "-", "--stdin", "inherit"): ["request"],
    ("--allow-degraded=everything",): ["--allow-degraded", "everything", "mediation"],
    ("--allow-degraded=",): ["--allow-degraded"],
    ("--allow-degraded=mediation,",): ["--allow-degraded"],
    ("--user", "root"): ["--user", "numbers"],
    ("--user", "0"): ["--user", "root"],
    ("--user", "1000:"): ["--user"],
    ("--user", "1000:0"): ["--user"],
    ("--user", "4294967295"): ["--user"],
}


def check(cell, done, words):
    assert done.status == 125, done
    lines = done.messages.splitlines()
    assert len(lines) == 1 and lines[0].startswith("toolcell: "), done.messages
    assert lines[0].isprintable() and len(lines[0]) < 1000
    for word in words:
        assert word in lines[0], f"{word!r} is not named: {lines[0]}"
    assert not (cell.workspace / "ran").exists(), "the command ran"
    if done.events:
        assert [event["event"] for event in done.events] == ["result"]
        assert done.result["outcome"] == "setup_failed" and done.result["exit_code"] is None
        error = done.result["error"]
        assert error["message"] in lines[0] and error["stage"]


@pytest.fixture(params=[True, False], ids=["events", "plain"])
def events(request):
    return request.param


def try_both(cell, events, options, words, argv=CANARY, **more):
    more.setdefault("policy", None if set(options) & {"-p", "--policy-fd"} else harness.STATIC)
    more.setdefault("workspace", "-w" not in options)
    done = cell.run(*argv, options=options, events=events, cwd="/", **more)
    assert bool(done.events) == events
    check(cell, done, words)


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_options(cell, events, options):
    if "--net" in options and "host" in options:
        pytest.skip("not malformed")
    try_both(cell, events, options, OPTIONS[options])


@pytest.mark.parametrize("option", ["-p", "--policy", "--timeout", "-w", "--env", "--request"])
def test_a_value_that_is_missing(cell, option):
    done = cell.plain(options=[option])
    check(cell, done, [option, "needs a value"])


@pytest.mark.parametrize("number,words", [("x", ["descriptor"]), ("0", ["stream"]), ("1", ["stream"]), ("2", ["stream"]),
                                          ("99", ["not an open"]), ("-1", ["descriptor"]), ("4294967299", ["descriptor"])])
def test_descriptors_for_events(cell, number, words):
    check(cell, cell.plain(*CANARY, options=["--events-fd", number]), ["--events-fd", number, *words])


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH], ids=["read-only", "path"])
def test_a_descriptor_that_cannot_be_written(cell, flags):
    fd = os.open("/dev/null", flags)
    os.set_inheritable(fd, True)
    done = cell.plain(*CANARY, options=["--events-fd", fd], pass_fds=[fd])
    os.close(fd)
    check(cell, done, [f"--events-fd {fd}", "not open for writing"])


def test_stdout_closed_with_json(cell):
    done = cell.plain(*CANARY, options=["--json"], prefix=["sh", "-c", 'exec "$@" >&-', "-"])
    check(cell, done, ["stdout"])


@pytest.mark.parametrize("what", ["directory", "path", "write-only", "socket"])
def test_stdin_that_cannot_be_relayed(cell, what):
    ours = None
    if what == "socket":
        ours, theirs = socket.socketpair()
        fd = theirs.detach()
    elif what == "write-only":
        fd = os.open("/dev/null", os.O_WRONLY)
    else:
        fd = os.open("/", os.O_RDONLY if what == "directory" else os.O_PATH)
    done = cell.plain(*CANARY, options=["--stdin", "inherit"], stdin=fd)
    os.close(fd)
    check(cell, done, ["stdin"])


def test_a_request_over_16_mib(cell, events):
    text = b'{"version": 1, "argv": ["touch", "/workspace/ran"]}' + b" " * (16 << 20)
    done = cell.run(options=["--request", "-"], events=events, stdin=text)
    check(cell, done, ["--request", "large"])


def test_a_policy_over_16_mib(cell, events):
    path = cell.policy()
    path.write_bytes(b'{"version": 1}' + b" " * (16 << 20))
    try_both(cell, events, ["-p", path], [path.name])
    path.unlink()


def test_files_that_are_none(cell, events):
    fifo = cell.area / "fifo.json"
    os.mkfifo(fifo)
    cell.known.add(fifo.name)
    try_both(cell, events, ["-p", str(fifo)], ["fifo.json"])
    loop = cell.area / "loop.json"
    loop.symlink_to(loop)
    cell.known.add(loop.name)
    try_both(cell, events, ["-p", str(loop)], ["loop.json"])


# ---- policies by name ----

ALLOW = json.dumps({"version": 1, "rules": [{"pattern": "**", "operations": "all", "effect": "allow"}]})


@pytest.fixture
def configuration(cell):
    """The identity's own configuration directory, with a policy `mine` in it."""
    place = cell.directory("config")
    for name in ("toolcell", "toolcell/policies"):
        path = place / name
        path.mkdir(mode=0o755)
        path.chmod(0o755)
        cell.identity.own(path)
    cell.write("toolcell/policies/mine.json", ALLOW, where=place)
    return place


def by_name(cell, configuration, name="mine", **more):
    return cell.plain(*CANARY, policy=None, options=["-p", name], env={"XDG_CONFIG_HOME": str(configuration)}, **more)


def test_a_policy_by_name(cell, configuration):
    by_name(cell, configuration).succeeded()
    assert (cell.workspace / "ran").exists(), "the control: it is found and it works"


@pytest.mark.parametrize("which", ["toolcell", "toolcell/policies", "toolcell/policies/mine.json"])
@pytest.mark.parametrize("mode", [0o775, 0o757])
def test_what_others_may_write_is_not_believed(cell, configuration, which, mode):
    (configuration / which).chmod(mode)
    check(cell, by_name(cell, configuration), [which, "writable by others"])


@pytest.mark.parametrize("which", ["toolcell", "toolcell/policies", "toolcell/policies/mine.json"])
@harness.as_root
def test_what_belongs_to_others_is_not_believed(cell, configuration, which):
    os.chown(configuration / which, 12345, 12345)
    check(cell, by_name(cell, configuration), [which, "12345"])


@pytest.mark.parametrize("name", ["nothere", ".", "..", "mine.json", "./mine", "mine\n"])
def test_names_that_are_none(cell, configuration, name):
    check(cell, by_name(cell, configuration, name), [name.strip()])


def test_a_malformed_policy_by_name(cell, configuration):
    cell.write("toolcell/policies/mine.json", '{"version": 1, "rulez": []}', where=configuration)
    check(cell, by_name(cell, configuration), ["mine.json", "/rulez"])


# ---- a project's policy ----

@pytest.mark.parametrize("text,words", [("{", ["line"]), ("[]", []), ('{"version": 1, "extends": "git"}', ["/extends"]),
                                        ('{"version": 1, "environment": {"set": {"A": "1"}}}', ["/environment/set"]),
                                        ('{"version": 1, "approval": {"timeout": "1s"}}', ["/approval"])])
def test_project_policies(cell, events, text, words):
    cell.write(".toolcell.json", text)
    try_both(cell, events, ["--project-policy"], [".toolcell.json", *words])


def test_a_project_policy_that_is_no_file(cell, events):
    target = cell.write("elsewhere.json", ALLOW)
    (cell.workspace / ".toolcell.json").symlink_to(target)
    try_both(cell, events, ["--project-policy"], [".toolcell.json", "link"])
    (cell.workspace / ".toolcell.json").unlink()
    (cell.workspace / ".toolcell.json").mkdir()
    try_both(cell, events, ["--project-policy"], [".toolcell.json", "regular"])


# ---- verbs ----

VERBS = {
    (): ["verb"],
    ("runn",): ["unknown verb", "runn"],
    ("--nonsense",): ["unknown option", "--nonsense"],
    ("policy",): ["policy"],
    ("policy", "chek"): ["chek"],
    ("help", "runn"): ["runn"],
    ("--version", "--jsn"): ["--jsn"],
    ("run",): ["program"],
    ("run", ""): ["empty"],
    ("run", "--"): ["program"],
    ("policy", "check"): ["FILE"],
    ("policy", "check", "a.json", "b.json"): ["FILE"],
    ("policy", "check", "/no/such.json"): ["/no/such.json"],
    ("policy", "explain"): ["OPERATION"],
    ("policy", "explain", "read"): ["OPERATION"],
    ("policy", "explain", "fly", "x"): ["fly", "operations are"],
    ("policy", "explain", "read", ""): ["empty"],
    ("policy", "explain", "read", "a", "b"): ["one target"],
    ("policy", "explain", "connect", "nonsense"): ["nonsense"],
    ("policy", "explain", "connect", "a:99999"): ["a:99999"],
    ("policy", "explain", "connect", "[::1:80"): ["[::1:80"],
    ("policy", "show", "a.json", "b.json"): ["FILE"],
    ("policy", "plan", "--timeout", "soon"): ["--timeout"],
}


@pytest.mark.parametrize("words", VERBS, ids=lambda words: " ".join(words) or "none")
def test_verbs(cell, words):
    done = subprocess.run([cell.binary, *words], capture_output=True, text=True, cwd=cell.workspace, timeout=10 * harness.SLACK,
                          env=cell.environment(), stdin=subprocess.DEVNULL, check=False, **cell.identity.popen())
    assert done.returncode == 125 and done.stdout == "", done
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("toolcell: "), done.stderr
    for word in VERBS[words]:
        assert word in lines[0], lines[0]


# ---- the caller's own state ----

def test_a_deleted_working_directory(cell, events):
    place = cell.directory("gone")
    prefix = ["sh", "-c", f'cd {place} && rmdir {place} && exec "$@"', "-"]
    check(cell, cell.run(*CANARY, workspace=False, events=events, prefix=prefix), ["directory"])


def test_without_a_home_and_with_a_huge_environment(cell):
    environment = {"PATH": "/usr/bin:/bin", **{f"V{number}": "x" * 100000 for number in range(15)}}
    done = subprocess.run([str(part) for part in cell.command(["sh", "-c", "env | wc -c"], events=False)], cwd=cell.workspace, env=environment,
                          capture_output=True, timeout=20 * harness.SLACK, check=False, **cell.identity.popen())
    assert done.returncode == 0 and int(done.stdout) < 1000, done


def test_closed_streams_are_no_other_files(cell):
    """A file that is opened later must not land on 0, 1 or 2 and be taken for a stream."""
    prefix = ["bash", "-c", 'exec <&- >&- 2>&-; exec "$@"', "-"]
    done = cell.plain("sh", "-c", "echo out; echo err >&2; cat; touch ran", prefix=prefix, options=["--stdin", "inherit"])
    assert done.status == 0 and (cell.workspace / "ran").exists()
