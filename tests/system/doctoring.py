# SPDX-License-Identifier: Apache-2.0
"""Asking `toolcell doctor`, here and on hosts that are made poorer on purpose."""

import json
import os
import subprocess

import jsonschema

from harness import PYTHON, SLACK, SOURCE

SCHEMA = json.loads((SOURCE / "policy" / "schema" / "doctor.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# Load a filter that makes one system call fail, kill or (asked of a listener that never answers) hang, then become the command that follows.
FILTER = """
import ctypes, errno, os, struct, sys
name, code, number, argument, mask = sys.argv[1], *map(int, sys.argv[2:6])
libc = ctypes.CDLL(None, use_errno=True)
LOAD, JUMP_EQUAL, JUMP_SET, RETURN = 0x20, 0x15, 0x45, 0x06
refuse = {"kill": 0x80000000, "hang": 0x7fc00000}.get(name, 0x50000 | code)
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
flags = 8 if name in ("listen", "hang") else 0
fd = libc.syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, flags, ctypes.byref(what))
if fd < 0: raise OSError(ctypes.get_errno(), "seccomp")
if fd > 0: os.set_inheritable(fd, True)
os.execvp(sys.argv[6], sys.argv[6:])
"""

CLONE_NEWUSER, CLONE_NEWNET, NEW_LISTENER = 0x10000000, 0x40000000, 8
EPERM, EACCES, ENOSYS = 1, 13, 38
NUMBERS = {  # system calls by machine
    "x86_64": {"clone": 56, "clone3": 435, "seccomp": 317, "landlock_create_ruleset": 444, "mount_setattr": 442, "close_range": 436,
               "pidfd_send_signal": 424, "unshare": 272, "io_uring_setup": 425, "chroot": 161, "nothing": 1000},
    "aarch64": {"clone": 220, "clone3": 435, "seccomp": 277, "landlock_create_ruleset": 444, "mount_setattr": 442, "close_range": 436,
                "pidfd_send_signal": 424, "unshare": 97, "io_uring_setup": 425, "chroot": 51, "nothing": 1000},
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


def ask(cell, *prefix, cwd=None, **popen):
    """Ask as the cell's identity, in its workspace; with a prefix: in what that makes of the host."""
    done = subprocess.run([*map(str, prefix), str(cell.binary), "doctor", "--json"], capture_output=True,
                          cwd=cwd or cell.workspace, env=cell.environment(), timeout=60 * SLACK,
                          stdin=subprocess.DEVNULL, **{**cell.identity.popen(), **popen})
    assert done.stderr == b"", done.stderr
    document = json.loads(done.stdout)
    VALIDATOR.validate(document)
    answer = Answer(done.returncode, document)
    assert answer.status == (0 if answer.works else 1)
    assert answer.works == (answer.state("run") == "ok")
    return answer


def filtered(kind, call, code=0, argument=0, mask=0):
    return [PYTHON, "-c", FILTER, kind, code, NUMBERS[call], argument, mask]


def poorer(*lines):
    """A prefix: these lines of shell with all capabilities in a user and mount namespace of their own, then the command
    without them. It keeps its user, since a root there is another case."""
    drop = 'exec setpriv --ambient-caps=-all --inh-caps=-all "$@"'
    return ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "sh", "-c", "\n".join(["set -e", *lines, drop]), "sh"]


def settings(cell, **values):
    """A line of shell that puts these settings in the place of the kernel's own in /proc/sys/kernel."""
    place = cell.directory("kernel")
    for name, value in values.items():
        cell.write(name, f"{value}\n", where=place)
    return f"mount --bind '{place}' /proc/sys/kernel"


CLONE_NEWUTS = 0x04000000
LOST = filtered("errno", "unshare", EPERM, 0, CLONE_NEWUTS)  # what a capability would be used for fails
