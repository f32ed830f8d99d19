# SPDX-License-Identifier: Apache-2.0
"""A read-only mount takes no change of any kind: contents, names, metadata, sockets, or data for a host's FIFO."""

import os
import pathlib

import pytest

# Prints the names of the attempts that worked. The working directory holds f, dir and fifo.
CHANGES = """
import fcntl, mmap, os, socket, struct, sys
where = os.getcwd()
file, directory = os.open("f", os.O_RDONLY), os.open("dir", os.O_RDONLY)
def write(path, flags): os.write(os.open(path, flags | os.O_NONBLOCK), b"x")
access_list = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in ((1, 6, -1), (4, 4, -1), (0x20, 4, -1)))
attempts = {
    "write": lambda: write("f", os.O_WRONLY), "append": lambda: write("f", os.O_WRONLY | os.O_APPEND),
    "both": lambda: write("f", os.O_RDWR), "truncate at open": lambda: os.open("f", os.O_RDONLY | os.O_TRUNC),
    "truncate": lambda: os.truncate("f", 1), "fifo": lambda: write("fifo", os.O_WRONLY), "fifo both": lambda: write("fifo", os.O_RDWR),
    "reopen": lambda: write(f"/proc/self/fd/{file}", os.O_RDWR), "map": lambda: mmap.mmap(os.open("f", os.O_RDWR), 1).flush(),
    "chmod": lambda: os.chmod("f", 0o600), "fchmod": lambda: os.fchmod(file, 0o600), "fchmod directory": lambda: os.fchmod(directory, 0o700),
    "times": lambda: os.utime("f"), "times by descriptor": lambda: os.utime(file), "times by proc": lambda: os.utime(f"/proc/self/fd/{file}"),
    "times of directory": lambda: os.utime(directory), "times of root": lambda: os.utime(where),
    "chown": lambda: os.chown("f", os.getuid(), os.getgid()), "attribute": lambda: os.setxattr("f", "user.x", b"x"),
    "attribute by descriptor": lambda: os.setxattr(file, "user.x", b"x"),
    "access list": lambda: os.setxattr("f", "system.posix_acl_access", access_list),
    "flags": lambda: fcntl.ioctl(file, 0x40086602, fcntl.ioctl(file, 0x80086601, bytes(8))),
    "mkdir": lambda: os.mkdir("new"), "create": lambda: os.open("new file", os.O_CREAT), "node": lambda: os.mkfifo("new fifo"),
    "nameless": lambda: os.open(".", os.O_TMPFILE | os.O_RDWR), "symlink": lambda: os.symlink("x", "new link"),
    "link": lambda: os.link("f", "dir/link"), "socket": lambda: socket.socket(socket.AF_UNIX).bind("new socket"),
    "rename": lambda: os.rename("fifo", "moved"), "unlink": lambda: os.unlink("f"), "rmdir": lambda: os.rename("dir", "away"),
}
for name, attempt in attempts.items():
    try: attempt(); print(name)
    except OSError: pass
"""


@pytest.fixture
def volume(cell):
    """A directory with something of each kind, and a reader at its FIFO."""
    made = cell.directory("volume")
    cell.write("f", "text", where=made)
    cell.write("dir/kept", "", where=made)
    os.mkfifo(made / "fifo")
    cell.identity.own(made / "fifo")
    reader = os.open(made / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    yield made
    os.close(reader)


def state(root):
    """Everything a change could show in. Access times may move: the test itself reads."""
    found = {}
    for path in [root, *sorted(root.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_uid, status.st_gid, status.st_nlink, status.st_size, status.st_mtime_ns,
                            status.st_ctime_ns, content, tuple(os.listxattr(path, follow_symlinks=False)))
    return found


@pytest.mark.parametrize("mode", ["ro", "tools"])
def test_a_mount(cell, volume, mode):
    before = state(volume)
    done = cell.python(CHANGES, options=["-m", f"{volume}:/volume:{mode}", "--cwd", "/volume"])
    assert done.succeeded().text == "" and state(volume) == before


def test_the_workspace(cell, volume):
    before = state(volume)
    done = cell.python(CHANGES, workspace=False, options=["-w", f"{volume}:ro"], cwd=cell.area)
    assert done.succeeded().text == "" and state(volume) == before


def test_a_workspace_whose_rules_only_read(cell, volume):
    before = state(volume)
    done = cell.python(CHANGES, workspace=False, policy="readonly-static", options=["-w", volume], cwd=cell.area)
    assert done.succeeded().text == "" and state(volume) == before


def test_a_mount_inside_a_writable_workspace(cell, volume):
    pathlib.Path(cell.workspace / "point").mkdir()
    cell.identity.own(cell.workspace / "point")
    before = state(volume)
    options = ["-m", f"{volume}:/workspace/point:ro", "--cwd", "/workspace/point"]
    done = cell.python(CHANGES, options=options)
    assert done.succeeded().text == "" and state(volume) == before


@pytest.mark.parametrize("place", ["/tmp", "/home/agent"])
def test_a_mount_inside_scratch(cell, volume, place):
    """What may be done to scratch, the kernel alone would let be done to a FIFO of a mount in it as well."""
    before = state(volume)
    done = cell.python(CHANGES, options=["-m", f"{volume}:{place}/point:ro", "--cwd", f"{place}/point"])
    assert done.succeeded().text == "" and state(volume) == before


def test_a_file_inside_a_writable_workspace(cell, volume):
    """A file that is mounted by itself is no FIFO."""
    cell.write("point", "")
    done = cell.run("sh", "-c", "cat point; echo more >> point", options=["-m", f"{volume}/f:/workspace/point:ro"])
    assert done.text == "text" and done.status != 0 and (volume / "f").read_text() == "text"


def test_the_control_changes_all(cell, volume):
    """In a writable mount of a cell, and in no cell."""
    inside = set(cell.python(CHANGES, options=["-m", f"{volume}:/volume:rw", "--cwd", "/volume"]).succeeded().text.splitlines())
    assert len(inside) >= 28, sorted(inside)
    fresh = cell.directory("fresh")
    cell.write("f", "text", where=fresh)
    cell.write("dir/kept", "", where=fresh)
    os.mkfifo(fresh / "fifo")
    cell.identity.own(fresh / "fifo")
    assert len(cell.outside(CHANGES, cwd=fresh).stdout.splitlines()) >= 28
