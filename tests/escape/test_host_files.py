# SPDX-License-Identifier: Apache-2.0
"""What a cell can leave on the host's files: contents, names and plain metadata of its workspace, nothing stronger."""

import os
import stat
import struct

import pytest
from harness import as_root

XATTRS = """
import errno, os, sys
open("f", "w").close()
for name in sys.argv[1:]:
    try: os.setxattr("f", name, b"\\1\\0\\0\\2" + bytes(16)); print(name)
    except OSError: pass
"""
PRIVILEGED = ["security.capability", "security.ima", "security.evm", "security.SMACK64", "trusted.overlay.opaque", "trusted.x"]


def test_privileged_attributes(cell):
    assert cell.python(XATTRS, *PRIVILEGED).succeeded().text == ""
    assert cell.python(XATTRS, "user.plain").succeeded().text == "user.plain\n"


def test_labels_are_the_owner_s(cell):
    """Where SELinux is built in but has no policy the kernel lets an owner set labels, in a cell as outside."""
    inside = cell.python(XATTRS, "security.selinux").succeeded().text.encode()
    assert set(inside.split()) <= set(cell.outside(XATTRS, "security.selinux").stdout.split())
    code = """
        import os
        try: os.setxattr("theirs", "security.selinux", b"label"); print("set")
        except OSError: print("refused")
    """
    if os.geteuid() == 0:
        cell.write("theirs")
        os.chown(cell.workspace / "theirs", 59322, 59322)
        assert cell.python(code).succeeded().text == "refused\n"


@as_root
def test_the_control_sets_privileged_attributes(cell):
    assert {b"security.capability", b"trusted.x"} <= set(cell.outside(XATTRS, *PRIVILEGED).stdout.split())


FLAGS = """
import fcntl, os, struct, sys
GET, SET = 0x80086601, 0x40086602
open("f", "w").close()
fd = os.open("f", os.O_RDONLY)
before = struct.unpack("=Q", fcntl.ioctl(fd, GET, bytes(8)))[0]
for name, flag in (("immutable", 0x10), ("append", 0x20), ("journal", 0x4000)):
    try:
        fcntl.ioctl(fd, SET, struct.pack("=Q", before | flag)); print(name)
        fcntl.ioctl(fd, SET, struct.pack("=Q", before))
    except OSError: pass
try:
    fields = list(struct.unpack("=5I8s", fcntl.ioctl(fd, 0x801c581f, bytes(28))))
    fields[3] = 4711
    fcntl.ioctl(fd, 0x401c5820, struct.pack("=5I8s", *fields)); print("project")
except OSError: pass
"""


def test_flags_that_bind_the_owner(cell):
    """Immutable and append-only files could not be removed by the user who owns them."""
    assert cell.python(FLAGS).succeeded().text == ""
    if cell.identity.uid == 0:
        assert {b"immutable", b"append"} <= set(cell.outside(FLAGS).stdout.split()), "the control"


def test_a_file_is_given_to_nobody(cell):
    code = """
        import os
        open("f", "w").close()
        for uid, gid in ((0, -1), (-1, 0), (1, -1), (65534, -1), (-1, 65534), (2000000000, -1)):
            try: os.chown("f", uid, gid); print(uid, gid)
            except OSError: pass
    """
    assert cell.python(code).succeeded().text == ""
    made = (cell.workspace / "f").stat()
    assert (made.st_uid, made.st_gid) == (cell.identity.uid, cell.identity.gid)
    if cell.identity.uid == 0:
        assert b"1 -1" in cell.outside(code).stdout, "the control"


def access_list(uid):
    entries = [(1, 7, -1), (2, 7, uid), (4, 5, -1), (0x10, 7, -1), (0x20, 5, -1)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)


@pytest.mark.parametrize("uid", [0, 1, 999, 65534, 2000000000])
def test_an_access_list_names_no_foreign_user(cell, uid):
    """A number that is somebody else on the host would give them the file."""
    code = f"""
        import os
        open("f", "w").close()
        try: os.setxattr("f", "system.posix_acl_access", {access_list(uid)!r}); print("set")
        except OSError as error: print(error.errno)
    """
    assert cell.python(code).succeeded().text in ("22\n", "95\n")
    assert "system.posix_acl_access" not in os.listxattr(cell.workspace / "f")
    assert cell.outside(code).stdout == b"set\n", "the control"


def test_an_access_list_s_own_user_is_the_owner_on_the_host(cell):
    code = f"import os; open('f', 'w').close(); os.setxattr('f', 'system.posix_acl_access', {access_list(1000)!r})"
    cell.python(code).succeeded()
    data = os.getxattr(cell.workspace / "f", "system.posix_acl_access")
    users = [entry[2] for entry in struct.iter_unpack("<HHi", data[4:]) if entry[0] == 2]
    assert users == [cell.identity.uid]


NODES = """
import ctypes, os, stat, sys
libc = ctypes.CDLL(None, use_errno=True)
made = []
def attempt(name, call):
    try:
        call(); made.append(name)
    except OSError: pass
for place in sys.argv[1:]:
    os.chdir(place)
    attempt("character", lambda: os.mknod("c", 0o600 | stat.S_IFCHR, os.makedev(1, 3)))
    attempt("block", lambda: os.mknod("b", 0o600 | stat.S_IFBLK, os.makedev(7, 0)))
    attempt("whiteout", lambda: os.mknod("w", 0o600 | stat.S_IFCHR, 0))
    open("from", "w").close()
    if libc.syscall(316, -100, b"from", -100, b"to", 4) == 0: made.append("renamed")  # RENAME_WHITEOUT
print(*sorted(set(made)))
"""


def test_no_device_node_is_made(cell):
    """Not by mknod, and not as the whiteout that a rename leaves behind, which needs no capability."""
    assert cell.python(NODES, ".", "/tmp", "/dev/shm", "/home/agent").succeeded().text == "\n"
    assert not [path for path in cell.workspace.iterdir() if stat.S_ISCHR(path.lstat().st_mode)]
    control = cell.outside(NODES, cell.directory("control")).stdout.split()
    assert {b"whiteout", b"renamed"} <= set(control), control
    if cell.identity.uid == 0:
        assert {b"character", b"block"} <= set(control), control


def test_a_nameless_file_gets_no_more_than_a_named_one(cell):
    code = """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
        os.write(fd, b"x")
        try: os.fchmod(fd, 0o4755); print("set-id")
        except PermissionError: pass
        print(libc.syscall(265, -100, b"/proc/self/fd/%d" % fd, -100, b"linked", 0x400))  # AT_SYMLINK_FOLLOW
    """
    assert cell.python(code).succeeded().text == "0\n"
    made = (cell.workspace / "linked").stat()
    assert stat.S_IMODE(made.st_mode) == 0o644 and made.st_uid == cell.identity.uid


@pytest.mark.parametrize("call", ["F_SETLEASE", "F_NOTIFY"])
def test_a_host_program_never_waits_for_a_cell(cell, call):
    code = f"""
        import fcntl, os
        open("f", "w").close()
        what, value = (os.open("f", os.O_RDONLY), fcntl.F_WRLCK) if "{call}" == "F_SETLEASE" else (os.open(".", 0), fcntl.DN_CREATE)
        try: fcntl.fcntl(what, fcntl.{call}, value); print("set")
        except OSError as error: print(error.errno)
    """
    assert cell.python(code).succeeded().text == "1\n"
    assert cell.outside(code).stdout == b"set\n", "the control"


def test_inherited_group_and_set_group_id_of_a_directory(cell):
    """The host made the directory so; files in it get its group, and no file gets the bit."""
    shared = cell.workspace / "shared"
    shared.mkdir()
    cell.identity.own(shared)
    shared.chmod(0o2775)
    cell.run("sh", "-c", "cd shared; echo x > f; mkdir d; cp /bin/true t; chmod 2755 t; true").succeeded()
    files = [path for path in shared.rglob("*") if path.is_file() and path.lstat().st_mode & 0o6000]
    assert files == []


def test_a_link_left_behind_is_not_followed_by_the_next_call(cell):
    """CVE-2026-39861, CVE-2024-28185: what a call left is met by a program with more rights."""
    secret = cell.directory("secret")
    cell.write("policy.json", '{"secret-key": 1}', where=secret)
    cell.run("ln", "-s", secret / "policy.json", ".toolcell.json").succeeded()
    done = cell.run("true", options=["--project-policy"])
    assert "secret-key" not in done.messages + str(done.events) and done.status in (0, 125)
    cell.run("sh", "-c", f"rm .toolcell.json; ln -s {secret} out").succeeded()
    cell.refused(cell.run("true", options=["-m", f"{secret}:/workspace/out"]))
    assert [entry.name for entry in secret.iterdir()] == ["policy.json"]


def test_names_of_every_kind_come_back_unchanged(cell):
    names = ["new\nline", "esc\x1b[31m", "-rf", " ", "\\", "…", "\udcff\udcfe"]
    code = f"[open(name, 'w').close() for name in {names!r}]"
    cell.python(code).succeeded()
    assert sorted(os.listdir(cell.workspace)) == sorted(names)
