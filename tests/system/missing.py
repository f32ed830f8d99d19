# SPDX-License-Identifier: Apache-2.0
"""Hosts that lack one system call: what toolcell does about each, as data, and the program that makes such a host.

A missing call is answered in one of two ways: the call of toolcell is refused, naming stage and step, or nothing
changes, for the reason given here. A cell that is silently weaker is neither.
"""

import dataclasses
import os
import subprocess
from pathlib import Path

WITHOUT = Path(__file__).parent / "probes" / "without.c"
ERRORS = {"ENOSYS": "Function not implemented", "EPERM": "Operation not permitted"}


@dataclasses.dataclass(frozen=True)
class Refused:
    """Status 125. `doctor` is what its `run` says where that is something else: it starts a cell, but no supervisor.
    "" where it finds nothing amiss."""

    stage: str
    words: str
    doctor: str = None


@dataclasses.dataclass(frozen=True)
class Unneeded:
    reason: str


CELL_ROOT = Refused("mounts", "make the cell's root")
ENTER_ROOT = Refused("mounts", "enter the cell's root")
CAPABILITIES = Refused("identity", "drop capabilities")
FILTER = Refused("seccomp", "load the seccomp filter")
NAMESPACES = Refused("namespaces", "make the cell's namespaces")
EVENT_LOOP = Refused("supervise", "make the event loop", doctor="")
HOLD = Refused("namespaces", "hold descriptors for the launch")
LOOPBACK = Refused("network", "turn the loopback interface on")
UNUSED = Unneeded("only a broker uses it")
ROOTS_IDS = "the ids of a cell started by a user are the caller's"

# What one lost call leads to; where it differs: by the identity that starts toolcell, or by the error.
TABLE = {
    "nothing": Unneeded("control: the same filter for a call that does not exist"),
    "capset": CAPABILITIES,
    "clone3": UNUSED,
    "close_range": Refused("init", "close descriptors"),
    "dup3": HOLD,
    "epoll_create1": EVENT_LOOP,
    "epoll_ctl": EVENT_LOOP,
    "execveat": Refused("init", "execute init"),
    "faccessat2": UNUSED,
    "fchdir": ENTER_ROOT,
    "fchown": {"root": Refused("supervise", "give the pipes to the cell", doctor=""), "user": Unneeded(ROOTS_IDS)},
    "fsconfig": CELL_ROOT,
    "fsmount": CELL_ROOT,
    "fsopen": CELL_ROOT,
    "kill": Unneeded("a cell is ended by its pidfd; a TERM that cannot be sent becomes a KILL after the grace time"),
    "landlock_add_rule": CELL_ROOT,
    "landlock_create_ruleset": Refused("plan", "this kernel has no Landlock, which the rules about paths need"),
    "landlock_restrict_self": Refused("landlock", "enter the Landlock domain"),
    "memfd_create": Refused("init", "prepare the image of init"),
    "mkdirat": Refused("mounts", "make the scratch file system"),
    "mknodat": Refused("mounts", "make the mount point '"),
    "mount": Refused("namespaces", "make all mounts private"),
    "mount_setattr": Refused("mounts", "restrict the mount of '/usr'"),
    "move_mount": CELL_ROOT,
    "open_tree": Refused("mounts", "copy the mount of '/usr'"),
    "openat2": Refused("facts", "find '"),
    "pidfd_getfd": UNUSED,
    "pidfd_open": UNUSED,
    "pidfd_send_signal": Unneeded("a child that has not been reaped can be ended by its number as well"),
    "pipe2": Refused("init", "prepare the launch"),
    "pivot_root": ENTER_ROOT,
    "ppoll": Refused("namespaces", "wait for the child"),
    "prlimit64": Refused("init", "raise the limits of the launch"),
    "recvmsg": HOLD,
    "seccomp": FILTER,
    "sendmsg": Refused("namespaces", "hand the plan to the child"),
    "setdomainname": Refused("namespaces", "set the domain name"),
    "setgroups": {"root": Refused("identity", "drop supplementary groups"), "user": Unneeded(ROOTS_IDS)},
    "sethostname": Refused("namespaces", "set the host name"),
    "setresuid": {"root": Refused("identity", "become uid 1000 of the cell"), "user": Unneeded(ROOTS_IDS)},
    "setsid": Refused("exec", "give the command a session of its own", doctor="execute '/bin/true' in the cell"),
    "signalfd4": Refused("supervise", "make the event loop", doctor="the cell's first process could not receive signals"),
    "socket": LOOPBACK,
    "socketpair": Refused("init", "prepare the launch"),
    "statx": {"ENOSYS": Unneeded("the C library falls back on fstatat; mounts are then found by path"),
              "EPERM": Refused("facts", "look at '")},
    "symlinkat": Refused("mounts", "make the link '/bin' in the cell"),
    "timerfd_create": EVENT_LOOP,
    "timerfd_settime": EVENT_LOOP,
    "umount2": ENTER_ROOT,
    "unshare": NAMESPACES,
    "wait4": Refused("cell", "wait for the cell's init", doctor="hear of the cell"),
    "clone of a user namespace": NAMESPACES,
    "unshare of a network namespace": NAMESPACES,
    "unshare of a cgroup namespace": Refused("namespaces", "enter a cgroup namespace"),
    "seccomp for a filter": FILTER,
    "seccomp with a listener": Unneeded("only a broker listens"),
    "prctl of the death signal": Refused("namespaces", "set the death signal", doctor="the probe ended without an answer"),
    "prctl of dumpable": Refused("init", "the cell's first process could not hide from the cell's processes"),
    "prctl of no_new_privs": Refused("landlock", "set no_new_privs"),
    "prctl of securebits": {"root": Refused("identity", "keep capabilities across the change of ids"),
                            "user": CAPABILITIES},
    "prctl of the bounding set": CAPABILITIES,
    "prctl of the ambient set": CAPABILITIES,
}
# What only the broker and its threads need: rules that need one are refused, by name, perhaps only once the cell is up.
MEDIATION = {"clone3", "pidfd_open", "setgroups", "setresgid", "setresuid", "statx", "seccomp with a listener"}
# Needed in any case, but what needs a broker meets it elsewhere.
OTHERWISE = {"landlock_add_rule", "seccomp", "seccomp for a filter"}
# Without these there is no call to tell about: one line on stderr, and no event.
AT_ONCE = {"fcntl": "look at the standard streams", "getrandom": "random numbers"}


def expected(loss, identity, error):
    answer = TABLE[loss]
    return answer if not isinstance(answer, dict) else answer.get(identity) or answer[error]


def build(path, loss=None, error=None, program=None):
    """The launcher, or with arguments a program that stands in the place of another one and lacks that call."""
    values = {"LOSS": loss, "ERROR": error, "PROGRAM": program}
    defines = [f'-DWITHOUT_{name}="{value}"' for name, value in values.items() if value]
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", *defines, "-o", path, WITHOUT], check=True)
    os.chmod(path, 0o755)
    return path
