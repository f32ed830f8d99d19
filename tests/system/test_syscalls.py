# SPDX-License-Identifier: Apache-2.0
"""Kernel interfaces that must be shut. Each attempt carries arguments that fail in another way where nothing filters
it, so that the control, the same table outside a cell, shows that the filter is what answered."""

import json
import os
import subprocess

import pytest

from harness import STATIC

PROBE = """
import ctypes, errno, json, sys
libc = ctypes.CDLL(None, use_errno=True)
answers = {}
for name, number, *args in json.loads(sys.argv[1]):
    args = [ctypes.c_long(arg) if isinstance(arg, int) else arg.encode() for arg in args]
    result = libc.syscall(ctypes.c_long(number), *args)
    answers[name] = None if result >= 0 else errno.errorcode.get(ctypes.get_errno(), ctypes.get_errno())
print(json.dumps(answers))
"""

NEWUSER, NEWNS, NEWNET = 0x10000000, 0x20000, 0x40000000
BAD = -1

# name, number on x86-64, arguments. Refused with EPERM or ENOSYS inside.
SHUT = [
    ["bpf", 321, 0xFFFF, 0, 0], ["perf_event_open", 298, 0, 0, BAD, BAD, 0], ["userfaultfd", 323, 0xFFFF],
    ["io_uring_setup", 425, 0, 0], ["io_uring_enter", 426, BAD, 0, 0, 0, 0, 0], ["io_uring_register", 427, BAD, 0, 0, 0],
    ["add_key", 248, 0, 0, 0, 0, 0], ["request_key", 249, 0, 0, 0, 0], ["keyctl", 250, 0xFFFF, 0, 0, 0, 0],
    ["name_to_handle_at", 303, BAD, 0, 0, 0, 0], ["open_by_handle_at", 304, BAD, 0, 0],
    ["fanotify_init", 300, 0xFFFFFFFF, 0], ["fanotify_mark", 301, BAD, 0, 0, BAD, 0],
    ["mount", 165, 0, 0, 0, 0, 0], ["umount2", 166, "/nonexistent", 0], ["pivot_root", 155, "/nonexistent", "/nonexistent"],
    ["open_tree", 428, BAD, "x", 0xFFFFFFF], ["move_mount", 429, BAD, "", BAD, "", 0xFFFFFFF], ["fsopen", 430, "nothing", 0],
    ["fsconfig", 431, BAD, 0, 0, 0, 0], ["fsmount", 432, BAD, 0, 0], ["fspick", 433, BAD, "x", 0],
    ["mount_setattr", 442, BAD, "", 0, 0, 0], ["unshare-user", 272, NEWUSER], ["unshare-mount", 272, NEWNS],
    ["unshare-net", 272, NEWNET], ["setns", 308, BAD, 0], ["clone3", 435, 0, 0],
    ["kexec_load", 246, 0, 0xFFFFFFFF, 0, 0], ["kexec_file_load", 320, BAD, BAD, 0, 0, 0], ["init_module", 175, 0, 0, 0],
    ["finit_module", 313, BAD, 0, 0], ["delete_module", 176, "nothing", 0], ["acct", 163, "/nonexistent"],
    ["swapon", 167, "/nonexistent", 0], ["swapoff", 168, "/nonexistent"], ["quotactl", 179, 0, 0, 0, 0],
    ["reboot", 169, 0, 0, 0, 0], ["iopl", 172, 4], ["ioperm", 173, 0, 0, 1], ["settimeofday", 164, 0, 0],
    ["sethostname", 170, 0, 1], ["setdomainname", 171, 0, 1], ["syslog", 103, 99, 0, 0], ["vhangup", 153],
    ["lookup_dcookie", 212, 0, 0, 0], ["uselib", 134, "/nonexistent"], ["chroot", 161, "/nonexistent"],
    ["nfsservctl", 180, 0, 0, 0], ["modify_ldt", 154, 99, 0, 0], ["personality", 135, 0x0400000],
    ["unknown", 9999],
]


@pytest.fixture(scope="module")
def outside():
    """Answers of the same calls without a cell, as root where we are."""
    table = [row for row in SHUT if row[0] not in ("vhangup", "reboot", "unshare-user", "unshare-mount", "unshare-net")]
    done = subprocess.run(["/usr/bin/python3", "-c", PROBE, json.dumps(table)], capture_output=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def inside(cell):
    return cell.python(PROBE, json.dumps(SHUT)).succeeded().answer


def test_dangerous_calls_are_refused(inside):
    wrong = {name: answer for name, answer in inside.items() if answer not in ("EPERM", "ENOSYS")}
    assert not wrong, wrong


@pytest.mark.by_root  # without it the kernel refuses most of them by itself
def test_the_filter_is_what_refuses(inside, outside):
    shown = {name for name in inside if outside.get(name) not in ("EPERM", "ENOSYS")}
    wanted = {"bpf", "io_uring_setup", "keyctl", "mount", "umount2", "fsopen", "open_tree", "mount_setattr", "setns",
              "open_by_handle_at", "fanotify_init", "add_key", "chroot"}
    assert wanted <= shown, f"inconclusive here: {wanted - shown}"


def test_clone3_is_unknown_so_that_libraries_fall_back(inside):
    assert inside["clone3"] == "ENOSYS" and inside["unknown"] == "ENOSYS"


def test_namespaces_cannot_be_made(cell):
    code = """
        import ctypes, errno, json, os
        libc = ctypes.CDLL(None, use_errno=True)
        answers = []
        for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x8000000, 0x4000000, 0x2000000, 0x80):
            # In clone() the bits of the time namespace belong to the exit signal.
            pid = libc.syscall(56, flag | 17, 0, 0, 0, 0) if flag != 0x80 else -1
            if pid == 0: os._exit(0)
            answers.append(errno.errorcode[ctypes.get_errno()] if pid < 0 else "made")
            if libc.unshare(flag) == 0: answers.append("unshared")
        print(json.dumps(answers))
    """
    assert set(cell.python(code).succeeded().answer) <= {"EPERM", "ENOSYS", "EINVAL"}
    assert cell.run("unshare", "-Ur", "true").status != 0
    control = subprocess.run(["unshare", "-Ur", "true"], **cell.identity.popen(), check=False)
    assert control.returncode == 0, "the control: this identity may make one outside"


def test_the_kernel_itself_would_refuse_a_user_namespace(cell):
    """Not by the filter alone: the limit of the cell's own user namespace is none."""
    assert cell.run("cat", "/proc/sys/user/max_user_namespaces").succeeded().text == "0\n"


@pytest.mark.parametrize("script", ["mount -t tmpfs x /tmp", "mount --bind /usr /tmp", "umount /workspace", "umount -l /proc",
                                    "mount -o remount,rw /usr", "chroot / true", "nsenter -t 1 -m true"])
def test_the_tree_cannot_be_changed(cell, script):
    assert cell.run("sh", "-c", script).status not in (0, 127)
    if "/workspace" not in script and "remount" not in script:
        shell = script.replace("nsenter -t 1 -m", "nsenter -t $$ -m")
        control = subprocess.run(["unshare", "-Urmpf", "--mount-proc", "sh", "-c", shell], **cell.identity.popen(), check=False)
        assert control.returncode == 0, "the control: in a namespace of its own this identity can"


def test_leases_and_directory_notes_are_refused(cell):
    code = """
        import errno, fcntl, json, os
        fd = os.open("f", os.O_CREAT | os.O_RDWR); os.close(fd); fd = os.open("f", os.O_RDONLY)
        def attempt(fd, command, value):
            try: fcntl.fcntl(fd, command, value); return None
            except OSError as error: return errno.errorcode[error.errno]
        print(json.dumps([attempt(fd, 1024, fcntl.F_RDLCK), attempt(os.open(".", os.O_RDONLY), 1026, 1),
                          attempt(fd, fcntl.F_GETFL, 0)]))
    """
    lease, notify, control = cell.python(code).succeeded().answer
    assert (lease, notify, control) == ("EPERM", "EPERM", None)
    assert json.loads(cell.outside(code).stdout) == [None, None, None], "the control"


INT80 = r"""
#include <stdio.h>
int main(void) {
    long result = 20; /* getpid of i386 */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
    printf("%ld\n", result);
    return 0;
}
"""

X32 = r"""
#include <errno.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%ld\n", syscall(0x40000000 | 39)); return errno; }
"""


@pytest.mark.parametrize("policy", [STATIC, None], ids=["static", "mediated"])
@pytest.mark.parametrize("source,conclusive", [(INT80, True), (X32, False)], ids=["i386", "x32"])
def test_other_call_tables_are_refused(cell, source, conclusive, policy):
    cell.write("probe.c", source)
    subprocess.run(["gcc", "-o", cell.workspace / "probe", cell.workspace / "probe.c"], check=True)
    control = subprocess.run([cell.workspace / "probe"], capture_output=True, check=False)
    if conclusive and int(control.stdout) <= 0:
        pytest.skip("the kernel of this host has no such table at all")
    done = cell.run("./probe", policy=policy)
    assert int(done.succeeded().text if conclusive else done.text) in (-1, -38), "ENOSYS or EPERM, and not killed"


def test_terminal_injection_is_refused(cell):
    code = """
        import errno, fcntl, json, os, pty
        ours, theirs = os.openpty()
        def attempt(request, value):
            try: fcntl.ioctl(theirs, request, value); return None
            except OSError as error: return errno.errorcode[error.errno]
        print(json.dumps([attempt(0x5412, b"x"), attempt(0x541C, b"\\x03")]))   # TIOCSTI, TIOCLINUX
    """
    assert cell.python(code).succeeded().answer == ["EPERM", "EPERM"]


def test_the_memory_and_descriptors_of_init_are_closed(cell):
    code = """
        import ctypes, errno, json, os
        libc = ctypes.CDLL(None, use_errno=True)
        buffer = ctypes.create_string_buffer(8)
        class Piece(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        local, remote = Piece(ctypes.addressof(buffer), 8), Piece(0x400000, 8)
        def attempt(result): return None if result >= 0 else errno.errorcode[ctypes.get_errno()]
        print(json.dumps([attempt(libc.process_vm_readv(1, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)),
                          attempt(libc.syscall(438, os.pidfd_open(1), 3, 0)), attempt(libc.syscall(312, 1, os.getpid(), 0, 0, 0)),
                          attempt(libc.ptrace(0x4206, 1, 0, 0))]))   # pidfd_getfd, kcmp, PTRACE_SEIZE
    """
    answers = cell.python(code).succeeded().answer
    assert set(answers) <= {"EPERM", "ENOSYS"}, answers
