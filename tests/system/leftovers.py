# SPDX-License-Identifier: Apache-2.0
"""What a call may leave behind: nothing. A snapshot of the host before a test and the difference after it.

The test process is a child subreaper: whatever a test starts stays among its descendants even when its parents die,
so that a process which outlives its cell is found without knowing anything about it, and other programs of the
machine are never blamed.
"""

import ctypes
import os
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
FIRST_CELL_UID = 2000000000
PLACES = ["/tmp", "/var/tmp", "/dev/shm", "/run", "/run/lock"]


def become_subreaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def _stat(pid):
    """(parent, state) of a process, or None when it is gone. Every process is asked, twice a test: no Path, no buffer."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except (FileNotFoundError, ProcessLookupError):
        return None
    try:
        fields = os.read(fd, 4096).decode(errors="replace").rpartition(")")[2].split(None, 3)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)
    if fields[0] == "Z" and _threads(pid) > 1:  # its first thread ended, it did not
        return int(fields[1]), "S"
    return int(fields[1]), fields[0]


def _threads(pid):
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return 0


def descendants(root):
    """Pids below a process, parents before children; zombies are not counted."""
    children = {}
    for pid in [int(name) for name in os.listdir("/proc") if name.isdigit()]:
        stat = _stat(pid)
        if stat and stat[1] not in "ZX":
            children.setdefault(stat[0], []).append(pid)
    found, queue = [], [root]
    while queue:
        queue += children.get(queue[0], [])
        found.append(queue.pop(0))
    return found[1:]


def _network(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None


def _processes():
    """Living descendants of the test process with their command lines; orphans that died are reaped."""
    found = {}
    for pid in descendants(os.getpid()):
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[pid] = line or "(no command line)"
    return found


def _mounts():
    found = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split(" ")
        found[fields[0], fields[4]] = line
    return found


def _cgroups():
    # os.walk passes over what other programs remove meanwhile.
    return {path: path for path, _, _ in os.walk("/sys/fs/cgroup")}


def _files(place, alone, uids):
    """Entries of a shared directory that a cell could have made. Unless we are alone on the machine, other programs'
    files there are told apart by their owner."""
    found = {}
    try:
        entries = list(os.scandir(place))
    except FileNotFoundError:
        return found
    for entry in entries:
        # Of test runs; and what stays for good: the directory of root's locks on host ids, which the first call makes,
        # and that of mount(8), which its first use makes.
        if entry.name.startswith(("pytest-of-", "toolcell-test-")) or entry.path in ("/run/toolcell", "/run/mount"):
            continue
        try:
            owner = entry.stat(follow_symlinks=False).st_uid
        except FileNotFoundError:
            continue
        if alone or owner in uids or owner >= FIRST_CELL_UID:
            found[entry.path] = owner
    return found


def snapshot(uids=(), alone=bool(os.environ.get("CI"))):
    """Everything a call could leave, as {kind: {key: description}}."""
    processes = _processes()
    files = {}
    for place in PLACES:
        files.update(_files(place, alone, uids))
    return {
        "process": processes,
        "network namespace": {name: pid for pid in [os.getpid(), *processes] if (name := _network(pid))},
        "mount": _mounts(),
        "cgroup": _cgroups(),
        "file": files,
    }


def _foreign(kind, key):
    """True for a control group that others have made meanwhile: somebody lives in it, while a cell's are all dead."""
    try:
        return kind == "cgroup" and Path(key, "cgroup.procs").read_text() != ""
    except OSError:
        return kind == "cgroup" and not Path(key).exists()


def difference(before, after, ignore=()):
    """Lines that name what is in `after` and was not in `before`."""
    lines = []
    for kind, things in after.items():
        for key, what in things.items():
            if key not in before[kind] and not any(str(key).startswith(str(path)) for path in ignore) and \
                    not _foreign(kind, key):
                lines.append(f"{kind} {key}: {what}")
    return lines


def reap_orphans(keep=()):
    """Collect dead children that no test waits for; `keep` are pids that subprocess owns."""
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in keep:
            stat = _stat(int(name))
            if stat and stat == (os.getpid(), "Z"):
                try:
                    os.waitpid(int(name), os.WNOHANG)
                except ChildProcessError:
                    pass


def remaining(before, uids=(), ignore=(), timeout=1.0):
    """What is left once the timeout has passed; returns at once when nothing is."""
    deadline = time.monotonic() + timeout
    while True:
        lines = difference(before, snapshot(uids), ignore)
        if not lines or time.monotonic() > deadline:
            return lines
        time.sleep(0.02)
