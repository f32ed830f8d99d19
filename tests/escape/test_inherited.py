# SPDX-License-Identifier: Apache-2.0
"""What the caller of toolcell holds, descriptors and working directory, is no way out (CVE-2024-21626)."""

import os

import pytest
from attempts import outside
from harness import as_root, as_user


@pytest.fixture
def held():
    """The host's root as an open directory that any child inherits."""
    fd = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    os.set_inheritable(fd, True)
    yield fd
    os.close(fd)


def test_a_held_directory_is_not_there(cell, held):
    script = f"cd /proc/self/fd/{held} && ls -d home"
    done = cell.run("sh", "-c", f"ls /proc/self/fd; {script}", pass_fds=(held,))
    assert done.text.split() == ["0", "1", "2", "3"] and done.status != 0
    assert outside(cell, "sh", "-c", script, pass_fds=(held,)).stdout == b"home\n", "the control"


@pytest.mark.parametrize("form", ["/proc/self/fd/{}", "/dev/fd/{}", "/proc/self/fd/{}/tmp", "/proc/thread-self/fd/{}"])
def test_a_working_directory_by_descriptor(cell, held, form):
    cell.refused(cell.plain("pwd", options=["--cwd", form.format(held)], pass_fds=(held,)), "working directory")
    assert os.path.isdir(f"/proc/{os.getpid()}/fd/{held}"), "the control: it leads somewhere"


def test_a_request_cannot_name_a_descriptor_s_directory(cell, held):
    """As workspace the path is resolved once, in the caller, and what it stands for is judged: here the root."""
    outcome = cell.run("true", workspace=False, options=["-w", f"/proc/self/fd/{held}"], pass_fds=(held,))
    cell.refused(outcome)


def test_no_process_of_the_cell_holds_a_directory(cell, held):
    code = """
        import os
        for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
            try: fds = os.listdir(f"/proc/{pid}/fd")
            except PermissionError: continue
            for fd in fds:
                try: target = os.readlink(f"/proc/{pid}/fd/{fd}")
                except FileNotFoundError: continue  # the listing's own
                if not target.startswith(("pipe:", "/dev/null", f"/proc/{pid}")): print(pid, fd, target)
    """
    assert cell.python(code, pass_fds=(held,)).succeeded().text == ""


def test_an_empty_stdin_is_the_cell_s_own(cell):
    """Not the host's /dev/null: its times could be set through it, and it could not be opened again."""
    code = """
        import errno, os
        open("/dev/stdin").close()
        for change in (lambda: os.utime(0), lambda: os.fchmod(0, 0o600), lambda: os.utime("/proc/self/fd/0")):
            try: change(); print("changed")
            except OSError as error: print(errno.errorcode[error.errno])
    """
    assert cell.python(code).succeeded().text == "EROFS\n" * 3
    control = "import os; os.utime(os.open('/dev/null', os.O_RDONLY)); print('changed')"
    assert cell.outside(control).stdout == b"changed\n"


def test_chdir_out_of_a_removed_directory(cell):
    code = """
        import os
        os.makedirs("a/b"); os.chdir("a/b"); os.rmdir("../b"); os.rmdir("../../a")
        for _ in range(64):
            try: os.chdir("..")
            except OSError: break
        print(sorted(os.listdir("/")) == sorted(os.listdir("/proc/self/root")), os.path.exists("/root"))
    """
    assert cell.python(code).succeeded().text == "True False\n"


@pytest.mark.parametrize("held", ["hold", "chdir"])
def test_a_directory_that_the_host_moves_out_of_the_workspace(cell, held):
    """Whoever sits in it does not climb into the host: the kernel wants a way back to the mount's root."""
    cell.write("inside/deep/file", "x")
    place = cell.directory("elsewhere")
    cell.write("secret", "top", where=place)
    agent = cell.agent()
    handle = agent.hold("inside/deep") if held == "hold" else agent.chdir("inside/deep")
    up = (lambda path: agent.refuses("list_at", handle, path)) if held == "hold" else (lambda path: agent.refuses("list", path))
    assert up("..") is None, "the control: upwards it goes while the directory is inside"
    os.rename(cell.workspace / "inside", place / "inside")
    assert [up(path) for path in ("..", "../..", "../../..")] == ["ENOENT"] * 3
    agent.finish()


@as_root
def test_groups_of_the_caller_are_dropped(cell):
    """An ordinary user's stay, since the kernel lets nobody drop them without privilege; root's and root's own do not."""
    script = "grep ^Groups /proc/self/status"
    done = cell.run("sh", "-c", script, extra_groups=[4, 24, 999])
    assert done.succeeded().text.split() == ["Groups:"]
    assert outside(cell, "sh", "-c", script, extra_groups=[4, 24, 999]).stdout.split() == [b"Groups:", b"4", b"24", b"999"]


@as_root
@pytest.mark.parametrize("user", ["0", "0:0", "0:1000", "1000:0", "00", "-1", "4294967295", "4294967296", "0x0", "root", "1000:"])
def test_no_cell_runs_as_host_root(cell, user):
    cell.refused(cell.plain("true", options=["--user", user]), "--user")


@as_user
def test_only_root_chooses_the_user(cell):
    for user in ("0", str(cell.identity.uid), "1000"):
        cell.refused(cell.plain("true", options=["--user", user]), "--user")
