# SPDX-License-Identifier: Apache-2.0
"""What a cell may take of the host's memory, and what a crash in it may start on the host."""

import pytest
from attempts import UNSHARE, needs_namespaces, outside

FILL = """
import errno, os, sys
place, limit, count = sys.argv[1], int(sys.argv[2]), 0
try:
    while count < limit:
        {make}
        count += 1
except OSError as error:
    print(errno.errorcode[error.errno])
print(count)
"""
WAYS = {
    "files": "os.close(os.open(f'{place}/{count}', os.O_CREAT))",
    "directories": "os.mkdir(f'{place}/{count}')",
    "links": "os.symlink('x' * 100, f'{place}/{count}')",
    "fifos": "os.mkfifo(f'{place}/{count}')",
    "names": "os.close(os.open(f'{place}/first', os.O_CREAT)) if count == 0 else os.link(f'{place}/first', f'{place}/{count}')",
    "nameless": "os.open(place, os.O_TMPFILE | os.O_RDWR)",
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/home/agent"])
def test_empty_files_count(cell, way, place):
    """They take no block of the scratch file system but a kilobyte each of memory that is not paged out."""
    done = cell.run("python3", "-c", FILL.format(make=WAYS[way]), place, 20000, options=["--disk", "4M", "--open-files", 900])
    error, count = done.succeeded().text.split()
    assert error in ("ENOSPC", "EMFILE") and int(count) < 10000


def test_the_control_makes_as_many_as_it_likes(cell):
    """A tmpfs of the same size without the other limit, in bare namespaces."""
    needs_namespaces(cell)
    script = 'mount -t tmpfs -o size=4M none /mnt && exec python3 -c "$0" /mnt 20000'
    done = outside(cell, *UNSHARE, "sh", "-c", script, FILL.format(make=WAYS["files"]))
    assert done.stdout == b"20000\n"


def test_a_declared_tmpfs_counts_too(cell):
    done = cell.run("python3", "-c", FILL.format(make=WAYS["files"]), "/big", 20000, options=["--tmpfs", "/big:1M"])
    assert done.succeeded().text.split()[0] == "ENOSPC"


def test_attributes_count(cell):
    """Before Linux 6.6 a tmpfs has none of users."""
    code = """
        import errno, os
        open("/tmp/f", "w").close()
        try:
            for number in range(100000): os.setxattr("/tmp/f", f"user.{number}", bytes(1000))
        except OSError as error: print(errno.errorcode[error.errno])
    """
    assert cell.python(code, options=["--disk", "4M"]).succeeded().text in ("ENOSPC\n", "ENOTSUP\n")


def test_nothing_else_of_the_tree_takes_files(cell):
    code = """
        import os
        for place in ("/", "/etc", "/usr", "/run", "/dev", "/var", "/home", "/proc", "/proc/self", "/dev/pts", "/opt"):
            for make in (lambda: os.mkdir(f"{place}/x"), lambda: os.open(f"{place}/x", os.O_CREAT), lambda: os.mkfifo(f"{place}/x"),
                         lambda: os.open(place, os.O_TMPFILE | os.O_RDWR), lambda: os.symlink("x", f"{place}/x")):
                try: make(); print(place)
                except OSError: pass
    """
    assert cell.python(code).succeeded().text == ""


LOWER = """
import ctypes, resource, struct, sys
libc = ctypes.CDLL(None)
ways = (
    lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)),
    lambda: resource.prlimit(0, resource.RLIMIT_CORE, (0, 0)),
    lambda: libc.syscall(160, 4, struct.pack("QQ", 0, 0)),
    lambda: libc.syscall(302, 0, 4, struct.pack("QQ", 0, 0), 0),
    lambda: libc.syscall(302, 0, 4, struct.pack("QQ", 2**64 - 1, 2**64 - 1), 0),
)
resource.setrlimit(resource.RLIMIT_CORE, (1, 1)) if len(sys.argv) > 1 else None
for way in ways:
    try: way()
    except (OSError, ValueError): pass
    print(*resource.getrlimit(resource.RLIMIT_CORE))
"""


def test_a_crash_starts_no_core_handler_of_the_host(cell):
    """At a limit of 0 the kernel starts the program of core_pattern, as root and out of every cell; at 1 it does not."""
    assert cell.python(LOWER).succeeded().text == "1 1\n" * 5
    assert cell.outside(LOWER, "control").stdout.startswith(b"0 0\n" * 4), "the control; root may then raise it again"


def test_a_script_may_still_ask_for_no_core(cell):
    """What is so already must not fail: dash ends a script whose ulimit fails."""
    assert cell.run("dash", "-c", "ulimit -c 0; echo on").succeeded().text == "on\n"
    assert cell.run("dash", "-c", "ulimit -n 64; ulimit -n; ulimit -s 1024; echo on").succeeded().text == "64\non\n"


def test_a_script_that_crashes_is_told(cell):
    done = cell.run("sh", "-c", "kill -SEGV $$")
    assert done.result["outcome"] == "signaled" and done.result["signal"] == "SIGSEGV"
