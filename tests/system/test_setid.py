# SPDX-License-Identifier: Apache-2.0
"""No set-user-ID or set-group-ID bit can be planted on the host, by any call, with the positive control outside."""

import os
import stat

import pytest

from harness import STATIC

# Every way to make a file with a mode, raw: the C library would take another one. Prints {way: errno name or null}.
WAYS = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
mode = int(sys.argv[1], 8)
AT = -100
CHMOD, FCHMOD, FCHMODAT, FCHMODAT2, OPEN, OPENAT, OPENAT2, CREAT, MKDIR, MKDIRAT, MKNOD, MKNODAT = \
    90, 91, 268, 452, 2, 257, 437, 85, 83, 258, 133, 259
CREATE = os.O_CREAT | os.O_WRONLY | os.O_EXCL
os.umask(0)
def call(name, number, *args):
    result = libc.syscall(number, *args)
    answers[name] = None if result >= 0 else errno.errorcode[ctypes.get_errno()]
def plain(name):
    fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o755)
    return fd, name.encode()
answers = {}
fd, name = plain("chmod"); call("chmod", CHMOD, name, mode)
fd, name = plain("fchmod"); call("fchmod", FCHMOD, fd, mode)
fd, name = plain("fchmodat"); call("fchmodat", FCHMODAT, AT, name, mode)
fd, name = plain("fchmodat2"); call("fchmodat2", FCHMODAT2, AT, name, mode, 0)
fd, name = plain("empty"); call("fchmodat2-empty", FCHMODAT2, fd, b"", mode, 0x1000)
fd, name = plain("proc"); call("chmod-proc", CHMOD, b"/proc/self/fd/%d" % fd, mode)
call("open", OPEN, b"open", CREATE, mode)
call("openat", OPENAT, AT, b"openat", CREATE, mode)
how = (ctypes.c_uint64 * 3)(CREATE, mode, 0)
call("openat2", OPENAT2, AT, b"openat2", how, 24)
call("tmpfile", OPENAT, AT, b".", 0o20200000 | os.O_WRONLY, mode)
call("creat", CREAT, b"creat", mode)
call("mkdir", MKDIR, b"mkdir", mode)
call("mkdirat", MKDIRAT, AT, b"mkdirat", mode)
call("mknod", MKNOD, b"mknod", 0o100000 | mode, 0)
call("mknodat", MKNODAT, AT, b"mknodat", 0o100000 | mode, 0)
call("mkfifo", MKNOD, b"mkfifo", 0o010000 | mode, 0)
print(json.dumps(answers))
"""

# Directories made with a set-id mode: the kernel drops the bits by itself, so nothing is shown outside either.
DROPPED = {"mkdir", "mkdirat"}
# The kernel knows no set-id bits there: refused before, or absent before Linux 6.6.
OPTIONAL = {"openat2", "fchmodat2", "fchmodat2-empty"}


def set_id_files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)}


@pytest.mark.parametrize("policy", [STATIC, None], ids=["static", "mediated"])
@pytest.mark.parametrize("mode", ["4755", "2755", "6755"])
def test_no_way_sets_the_bit(cell, mode, policy):
    ordinary = cell.python(WAYS, mode, policy=policy).succeeded().answer
    refused = {way for way, error in ordinary.items() if error}
    assert set_id_files(cell.workspace) == set()
    assert refused >= set(ordinary) - OPTIONAL, f"not refused: {ordinary}"
    assert {ordinary[way] for way in refused} <= {"EPERM", "ENOSYS"}, ordinary


@pytest.mark.parametrize("mode", ["4755", "2755"])
def test_the_control_sets_it_outside(cell, mode):
    place = cell.directory("outside")
    done = cell.outside(WAYS, mode, cwd=place)
    assert done.returncode == 0, done.stderr
    planted = set_id_files(place)
    assert {"chmod", "fchmod", "fchmodat", "open", "openat", "creat", "mknod"} <= planted, planted


def test_plain_modes_work_inside(cell):
    ordinary = cell.python(WAYS, "0755").succeeded().answer
    failed = {way: error for way, error in ordinary.items() if error}
    assert set(failed) <= OPTIONAL | {"chmod-proc"}, failed
    assert (cell.workspace / "chmod").stat().st_mode & 0o7777 == 0o755


def test_the_sticky_bit_is_no_set_id_bit(cell):
    cell.run("sh", "-c", "mkdir d && chmod 1777 d").succeeded()
    assert (cell.workspace / "d").stat().st_mode & 0o7777 == 0o1777


def test_shell_and_install_cannot_either(cell):
    done = cell.run("sh", "-c", "cp /bin/true t; chmod u+s t; chmod g+s t; install -m 4755 /bin/true i; cp --preserve=mode /usr/bin/su s; true")
    assert done.status == 0 and set_id_files(cell.workspace) == set()


def test_a_file_that_has_it_is_not_moved_to_more(cell):
    """A set-id file that the host made may be there; the cell neither gains by it nor makes another."""
    source = cell.write("program", open("/usr/bin/id", "rb").read(), mode=0o755)
    os.chmod(source, 0o4755)
    assert cell.run("./program", "-u").succeeded().text == "1000\n"
    cell.run("sh", "-c", "cp -p program copy; ln program link; mv program moved; true")
    assert set_id_files(cell.workspace) <= {"link", "moved"}, "no new inode has it"


def test_no_file_capability_can_be_set(cell):
    code = """
        import os, struct
        open("f", "w").close()
        value = struct.pack("<IIIII", 0x02000001, 1 << 13, 0, 0, 0)  # VFS_CAP_REVISION_2, cap_net_raw
        try: os.setxattr("f", "security.capability", value); print("set")
        except OSError as error: print(error.errno)
    """
    assert cell.python(code).succeeded().text in ("1\n", "95\n")
    if os.geteuid() == 0 and cell.identity.uid == 0:
        assert b"set" in cell.outside(code).stdout, "the control"
