# SPDX-License-Identifier: Apache-2.0
"""Known and open: what a cell can still do, with the reason. Not part of the suite, since these tests fail:
`pytest tests/escape/known_open.py`.

Locks and watches: the kernel keeps them on the inode, which every bind mount of the root file system shares, and
neither Landlock nor a filter sees the path. Some inodes are shared by the whole machine in any case.
The broker is outside of the cell's control group: the CPU time that it takes for the cell is not held by `cpus`.
Set-id files: a write clears the bits, a change through a shared mapping does not, and nothing sees which file is mapped.
"""

import subprocess

import pytest
from harness import grouped

LOCK = """
import ctypes, fcntl, os, sys
fd = {what}
try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); print("free", flush=True)
except BlockingIOError: print("taken", flush=True)
sys.stdin.read()
"""
LOCKED = {
    "a program": "os.open('/usr/bin/env', os.O_RDONLY)", "a device": "os.open('/dev/null', os.O_RDONLY)",
    "the time namespace": "os.open('/proc/self/ns/time', os.O_RDONLY)",
    "the file behind descriptors without one": "ctypes.CDLL(None).eventfd(0, 0)",
}

WATCH = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = libc.inotify_init1(0o4000)
libc.inotify_add_watch(fd, b"/usr/bin", 0x20)  # IN_OPEN
print("watching", flush=True)
sys.stdin.read()
try: print(b"tac" in os.read(fd, 1 << 20).split(bytes(1)))
except BlockingIOError: print(False)
"""

OPENS = """
import os
for _ in range(3): os.fork()
while True: os.close(os.open("/workspace", os.O_RDONLY))
"""

SET_ID = """
import mmap, os
fd = os.open("program", os.O_RDWR)
memory = mmap.mmap(fd, 0, mmap.MAP_SHARED)
memory[:4] = b"evil"
memory.flush()
"""


@pytest.mark.parametrize("what", LOCKED)
def test_a_lock(cell, what):
    """Taken in one cell, seen in another. An overlay for each cell would end it for the first of them only."""
    other, code = cell.directory("other"), LOCK.format(what=LOCKED[what])
    first = cell.start("python3", "-c", code, events=False, stdin=subprocess.PIPE).until("free")
    assert cell.plain("python3", "-c", code, workspace=False, options=["-w", other]).text == "free\n"
    first.process.stdin.close()


def test_a_watch_on_a_directory_of_the_root_file_system(cell):
    """Tells which programs the host and every other cell start."""
    first = cell.start("python3", "-c", WATCH, events=False, stdin=subprocess.PIPE).until("watching")
    subprocess.run(["/usr/bin/tac", "/dev/null"], check=True)
    first.process.stdin.close()
    assert first.wait().text == "watching\nFalse\n"


@pytest.mark.parametrize("identity", ["root"], indirect=True)
def test_a_set_id_file_of_the_host_is_rewritten_through_memory(cell):
    """A write clears the bits, a shared mapping does not. The file must have been there with them before."""
    program = cell.write("program", "#!/bin/sh\n")
    program.chmod(0o4755)  # after the change of its owner, which clears it
    cell.python(SET_ID)
    assert not (program.stat().st_mode & 0o4000 and program.read_bytes().startswith(b"evil"))


@grouped
def test_cpu_time_of_the_broker_is_not_the_cells_share(cell):
    for policy in "static", "workspace":
        usage = cell.python(OPENS, options=["--cpus", "0.2", "--timeout", "4s"], policy=policy).result["usage"]
        assert usage["cpu_user_ms"] + usage["cpu_system_ms"] < 0.3 * usage["wall_ms"], policy
