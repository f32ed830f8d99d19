# SPDX-License-Identifier: Apache-2.0
"""No descriptor of the caller, and no place of the caller, reaches the command."""

import os
import socket
import subprocess

import pytest

OPEN = """
import os, json
held = []
for fd in range(4096):
    try: os.fstat(fd); held.append(fd)
    except OSError: pass
print(json.dumps(held))
"""

# A caller that holds the host's root as 7, a file as 3 and a hundred more.
HOLDER = ["bash", "-c", 'exec 7</ 3</etc/passwd; for i in $(seq 20 120); do eval "exec $i</etc/passwd"; done; exec "$@"', "-"]


def test_only_the_three_streams_are_open(cell):
    assert cell.python(OPEN).succeeded().answer == [0, 1, 2]


def test_what_the_caller_holds_is_not_inherited(cell):
    control = subprocess.run([*HOLDER, "/usr/bin/python3", "-c", OPEN], capture_output=True, check=True)
    assert b"7, 20, 21" in control.stdout, "the control: a child of this caller has them"
    assert cell.python(OPEN, prefix=HOLDER).succeeded().answer == [0, 1, 2]
    assert cell.plain("python3", "-c", OPEN, prefix=HOLDER).succeeded().text == "[0, 1, 2]\n"


def test_every_process_of_the_cell_has_only_declared_ones(cell):
    """Seen from outside: no descriptor of init or the command is a path of the host."""
    running = cell.start("sh", "-c", "echo up; sleep 30", prefix=HOLDER).until('"up\\n"')
    links = {}
    for pid in running.processes():
        try:
            links[pid] = {fd: os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        except PermissionError:  # init is not dumpable: only root looks inside
            assert os.geteuid() != 0
    running.kill()
    assert links
    for pid, held in links.items():
        for fd, target in held.items():
            assert target.startswith(("pipe:", "socket:", "anon_inode:", "/dev/null")) or target == "/dev/null", (pid, fd, target)


def test_standard_streams_are_not_the_caller_s(cell):
    read, write = os.pipe()
    ours = {os.fstat(read).st_ino}
    code = "import os, json; print(json.dumps([os.fstat(fd).st_ino for fd in (0, 1, 2)]))"
    done = cell.plain("python3", "-c", code, options=["--stdin", "inherit"], stdin=read)
    os.close(write)
    os.close(read)
    assert not ours & set(done.succeeded().answer)


@pytest.mark.parametrize("kind", ["directory", "path", "socket"])
def test_a_way_out_on_stdin_is_refused(cell, kind):
    flags = {"directory": os.O_RDONLY | os.O_DIRECTORY, "path": os.O_PATH}
    if kind == "socket":
        ours, theirs = socket.socketpair()
        fd = theirs.detach()
    else:
        fd = os.open("/", flags[kind])
    canary = cell.workspace / "ran"
    done = cell.plain("touch", "ran", stdin=fd, options=["--stdin", "inherit"])
    os.close(fd)
    cell.refused(done, "stdin")
    assert not canary.exists()


def test_a_file_on_stdin_is_only_its_bytes(cell):
    source = cell.write("input", "text")
    fd = os.open(source, os.O_RDWR)
    code = """
import os, sys
print(sys.stdin.read())
try: os.truncate("/proc/self/fd/0", 0)
except OSError: pass
try: os.fchmod(0, 0o777)
except OSError: pass
"""
    assert cell.plain("python3", "-c", code, stdin=fd).succeeded().text == "text\n"
    os.close(fd)
    assert source.read_text() == "text" and source.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("cwd", ["/proc/self/fd/7", "/proc/self/fd/3", "/proc/1/cwd", "/proc/1/root", "/nonexistent",
                                 "/etc/passwd"])
def test_a_working_directory_that_is_none_of_the_cell_is_refused(cell, cwd):
    """The way out of CVE-2024-21626."""
    done = cell.run("touch", "/workspace/ran", options=["--cwd", cwd], prefix=HOLDER)
    assert done.status in (125, 126, 127), done
    assert done.messages.startswith("toolcell: ") and not (cell.workspace / "ran").exists()


def test_the_caller_s_place_inside_the_workspace_is_kept(cell):
    below = cell.workspace / "a" / "b"
    cell.write("a/b/f", "x")
    assert cell.run("pwd", cwd=below).succeeded().text == "/workspace/a/b\n"
    assert cell.run("pwd", cwd="/").succeeded().text == "/workspace\n"
    assert cell.run("pwd", options=["--cwd", "/tmp"]).succeeded().text == "/tmp\n"
    assert cell.run("pwd", options=["--cwd", "/workspace/a"]).succeeded().text == "/workspace/a\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_caller_with_closed_streams_hurts_nobody(cell, closed):
    prefix = ["bash", "-c", f'exec {closed}; exec "$@"', "-"]
    cell.start("sh", "-c", "echo out; echo err >&2; echo x > made", events=False, prefix=prefix).wait()
    assert not (cell.workspace / "made").exists() or (cell.workspace / "made").read_text() == "x\n"
