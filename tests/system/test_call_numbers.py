# SPDX-License-Identifier: Apache-2.0
"""Every call number below 600 is tried in a cell, and answered as policy/seccomp/calls.txt says. The control is the same
probe outside: there the answers are others."""

import errno
import platform
import signal
import subprocess

import pytest

import harness

MACHINE = platform.machine()
PROBE = harness.SOURCE / "tests" / "system" / "probes" / "call_numbers.c"
NUMBERS = 600

# Allowed or not by their arguments; what the filter says to arguments of which every bit is set.
WITH_ARGUMENTS = {
    **dict.fromkeys(["open", "openat", "creat", "chmod", "fchmod", "fchmodat", "fchmodat2", "mkdir", "mkdirat", "mknod",
                     "mknodat", "renameat2", "socket", "socketpair", "clone", "unshare"], "EPERM"),
    **dict.fromkeys(["ioctl", "fcntl", "setsockopt", "personality", "setrlimit", "prlimit64", "ptrace"], "allow"),
    "prctl": "EINVAL",
}
# Refused by the kernel itself, for want of a capability or because it is not one's own.
KERNEL_REFUSES = {"setgroups", "capset", "setpriority", "landlock_restrict_self", "sched_setaffinity", "ptrace", "kcmp"}
# vfork returns twice on one stack; uretprobe and uprobe are for the kernel's own trampolines, and never reach a filter.
NOT_TRIED = {"vfork", "uretprobe", "uprobe"}
# With an effect outside of the probe: hangs up the terminal, waits for every disk, makes a queue that stays.
NOT_OUTSIDE = {"vhangup", "sync", "msgget"}


def listed():
    """name and answer by number, from the list that people read."""
    calls = {}
    for line in (harness.SOURCE / "policy" / "seccomp" / "calls.txt").read_text().splitlines():
        if line.split()[0] == MACHINE:
            _, number, name, answer, *_ = line.split()
            calls[int(number)] = (name, answer)
    return calls


CALLS = listed()
LEFT_OUT = [number for number, (name, _) in CALLS.items() if name in NOT_TRIED] + \
    ([335, 336] if MACHINE == "x86_64" else [])


def parse(text):
    answers = {}
    for line in text.splitlines():
        number, answer = line.split(" ", 1)
        answers[int(number)] = answer if answer.startswith("signal") else errno.errorcode.get(int(answer), answer)
    return answers


@pytest.fixture
def probe(cell):
    path = cell.workspace / "probe"
    subprocess.run(["gcc", "-O1", "-o", path, PROBE], check=True)
    return path


@pytest.fixture
def outside(cell, probe):
    skip = LEFT_OUT + [number for number, (name, _) in CALLS.items() if name in NOT_OUTSIDE]
    done = subprocess.run([probe, *map(str, skip)], capture_output=True, text=True, check=True, timeout=120 * harness.SLACK,
                          cwd=cell.workspace, **cell.identity.popen())
    return parse(done.stdout)


def as_listed(number, answer, native):
    """Whether an answer inside fits the list. native is the answer outside, or None."""
    name, wanted = CALLS.get(number, ("", "ENOSYS"))
    if wanted == "arguments":
        wanted = WITH_ARGUMENTS[name]
    if wanted != "allow":
        return answer == wanted
    if answer == "EPERM":
        return native == "EPERM" or name in KERNEL_REFUSES
    return answer != f"signal {int(signal.SIGSYS)}" and (answer != "ENOSYS" or native == "ENOSYS")


def test_every_number_is_answered_as_listed(cell, probe, outside):
    done = cell.run("./probe", *LEFT_OUT, timeout=120).succeeded()
    inside = parse(done.text)
    assert len(inside) == NUMBERS - len(LEFT_OUT)
    wrong = {number: (CALLS.get(number), answer, outside.get(number)) for number, answer in inside.items()
             if not as_listed(number, answer, outside.get(number))}
    assert not wrong, wrong


@harness.as_root
def test_the_filter_is_what_answers(outside):
    """Outside, most of what is refused inside fails in another way, so that the answers above are the filter's."""
    refused = {name: outside[number] for number, (name, answer) in CALLS.items()
               if answer in ("EPERM", "ENOSYS") and number in outside}
    elsewhere = {name for name, answer in refused.items() if answer not in ("EPERM", "ENOSYS")}
    wanted = {"mount", "umount2", "move_mount", "chroot", "bpf", "keyctl", "add_key", "setns", "io_uring_enter",
              "userfaultfd", "open_by_handle_at", "name_to_handle_at", "clone3", "openat2", "io_submit",
              "settimeofday", "swapoff", "mount_setattr", "process_mrelease"}
    assert wanted <= elsewhere, f"inconclusive here: { {name: refused.get(name) for name in wanted - elsewhere} }"


def test_init_has_a_filter_of_its_own(cell):
    code = """
        import json, re, time
        def filters(pid): return int(re.search(r"Seccomp_filters:\\s+(\\d+)", open(f"/proc/{pid}/status").read())[1])
        end = time.monotonic() + 5
        while filters(1) == filters("self") and time.monotonic() < end: time.sleep(0.01)
        print(json.dumps([filters(1), filters("self")]))
    """
    init, command = cell.python(code).succeeded().answer
    assert init == command + 1, "one more than what the command inherited"


def test_init_reaps_and_reports_under_its_filter(cell):
    """Orphans, what is left at the end, signals and the result all pass init."""
    done = cell.run("sh", "-c", "(sleep 0.1 &) ; (setsid sleep 100 &) ; sleep 0.3; exit 7")
    assert done.status == 7 and done.result["leftover_processes"] == 1
    running = cell.start("sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.05; done")
    running.until("up")
    running.signal(signal.SIGTERM)
    ended = running.wait()
    assert ended.result["outcome"] == "cancelled", ended.result
