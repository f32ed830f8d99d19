# SPDX-License-Identifier: Apache-2.0
"""Hosts that refuse what a cell needs: the call says so with the remedy, and the command does not run."""

import subprocess
import textwrap

import harness
from harness import as_user

# A caller whose system calls for new user namespaces fail, as under a container's filter: seccomp, then exec.
FILTERED = """
    import ctypes, os, struct, sys
    EPERM, ENOSYS, NEWUSER = 0x50001, 0x50026, 0x10000000
    LOAD, EQUAL, ANY, GIVE = 0x20, 0x15, 0x45, 0x06
    NUMBER, FIRST = 0, 16
    program = [
        (LOAD, 0, 0, NUMBER), (EQUAL, 0, 1, 435), (GIVE, 0, 0, ENOSYS),           # clone3
        (EQUAL, 1, 0, 56), (EQUAL, 0, 3, 272),                                    # clone, unshare
        (LOAD, 0, 0, FIRST), (ANY, 0, 1, NEWUSER), (GIVE, 0, 0, EPERM), (GIVE, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(Program(len(program), ctypes.addressof(buffer)))) == 0
    os.execvp(sys.argv[1], sys.argv[1:])
"""
FILTER = ["/usr/bin/python3", "-c", textwrap.dedent(FILTERED)]

# A caller in a user namespace that allows no further one.
NONE_LEFT = ["unshare", "-U", "--map-current-user", "--keep-caps", "sh", "-c",
             'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "-"]


def refused_without_namespaces(cell, prefix, remedy):
    control = subprocess.run([*prefix, "unshare", "-Ur", "true"], **cell.identity.popen(), check=False)
    assert control.returncode != 0, "the control: this caller can make none"
    assert subprocess.run([*prefix, "true"], **cell.identity.popen(), check=False).returncode == 0, "the caller works"
    done = cell.run("touch", "ran", prefix=prefix)
    assert done.status == 125 and not (cell.workspace / "ran").exists()
    assert done.messages.startswith("toolcell: ")
    assert remedy in done.messages, done.messages
    assert done.result["outcome"] == "setup_failed" and done.result["error"]["hint"]
    assert done.result["error"]["stage"] == "namespaces"


def test_a_filter_refuses_user_namespaces(cell):
    """openai/codex#14919"""
    refused_without_namespaces(cell, FILTER, "user namespaces")


@as_user
def test_no_user_namespace_is_left(cell):
    """google/nsjail#238. (The root of a user namespace may not map the ids of the host's file systems either.)"""
    refused_without_namespaces(cell, NONE_LEFT, "max_user_namespaces")


def test_a_nested_user_namespace_is_a_fine_caller(cell):
    prefix = ["unshare", "-U", "--map-current-user"]
    done = cell.run("echo", "hi", prefix=prefix)
    assert done.status == 125 or done.succeeded().text == "hi\n"


def test_a_masked_proc_is_refused_or_degraded_by_name(cell):
    """Where an outer container masks part of /proc, the kernel refuses a new one."""
    own = [] if cell.identity.uid == 0 else ["-U", "--map-current-user", "--keep-caps"]
    prefix = ["unshare", *own, "-mpf", "--mount-proc", "sh", "-c", 'mount -t tmpfs masked /proc/sys || exit 99; exec "$@"', "-"]
    control = subprocess.run([*prefix, "unshare", "-Urmpf", "mount", "-t", "proc", "proc", "/proc"], **cell.identity.popen(),
                             capture_output=True, check=False)
    assert control.returncode not in (0, 99), "the control: no new /proc can be mounted here"
    done = cell.run("touch", "ran", prefix=prefix)
    assert done.status == 125 and "proc" in done.messages and not (cell.workspace / "ran").exists()
    done = cell.run("sh", "-c", "ls -A /proc; mount; echo x > /proc/x", prefix=prefix, options=["--allow-degraded=proc"])
    assert done.stdout == b"" and done.events[0]["event"] == "start", done
    assert "proc" in [entry["name"] for entry in done.result["degraded"]]


def test_few_descriptors(cell):
    """A caller with a tiny limit gets an answer, whichever."""
    for limit in (3, 5, 8, 12, 20):
        done = cell.start("echo", "hi", events=False, prefix=["sh", "-c", f'ulimit -n {limit}; exec "$@"', "-"]).wait()
        assert done.status in (0, 125, 127), (limit, done)
        assert done.status != 0 or done.stdout == b"hi\n"


def test_no_processes_left_for_the_user(cell):
    done = cell.start("echo", "hi", events=False, prefix=["sh", "-c", 'ulimit -u 1 2>/dev/null; exec "$@"', "-"]).wait()
    assert done.status in (0, 125)


def test_little_address_space(cell):
    for kib in (8000, 20000, 60000):
        done = cell.start("echo", "hi", events=False, prefix=["sh", "-c", f'ulimit -v {kib}; exec "$@"', "-"]).wait()
        assert done.status in (0, 125, 126, 127, 137, 139, -11) or harness.sanitized(cell.binary), (kib, done)


@as_user
def test_a_directory_that_may_not_be_read(cell):
    place = cell.directory("closed", mode=0o000)
    done = cell.run("true", workspace=False, options=["-w", place])
    place.chmod(0o755)  # else only root could remove it
    assert done.status in (0, 125)


def test_a_deleted_working_directory(cell):
    place = cell.directory("gone")
    prefix = ["sh", "-c", f'rmdir {place}; exec "$@"', "-"]
    done = cell.run("true", workspace=False, cwd=place, prefix=prefix)
    assert done.status == 125 and done.messages.startswith("toolcell: ")
