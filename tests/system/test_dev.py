# SPDX-License-Identifier: Apache-2.0
"""/dev, and the scratch places: /tmp, /dev/shm, the home."""

import os

import pytest

ALLOWED = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd", "stdin", "stdout", "stderr", "core"}


def test_dev_holds_only_what_is_harmless(cell):
    names = set(cell.run("ls", "-A", "/dev").succeeded().text.split())
    assert names <= ALLOWED, names - ALLOWED
    assert {"null", "zero", "full", "random", "urandom", "fd", "stdin", "stdout", "stderr", "pts", "ptmx", "shm"} <= names


def test_the_devices_work(cell):
    code = """
        import os
        assert open("/dev/zero", "rb").read(4) == bytes(4)
        assert len(open("/dev/urandom", "rb").read(16)) == 16 and len(open("/dev/random", "rb").read(16)) == 16
        open("/dev/null", "w").write("x"); assert open("/dev/null").read() == ""
        try: os.write(os.open("/dev/full", os.O_WRONLY), b"x")
        except OSError as error: print(error.errno)
    """
    assert cell.python(code).succeeded().text == "28\n"


def test_terminals_of_its_own(cell):
    code = """
        import os, pty
        ours, theirs = os.openpty()
        os.write(ours, b"x\\n"); print(os.read(theirs, 2), os.ttyname(theirs), os.listdir("/dev/pts"))
    """
    text = cell.python(code).succeeded().text
    assert text.startswith("b'x\\n' /dev/pts/0"), text


def test_no_device_can_be_made(cell):
    code = """
        import errno, os, stat, json
        def attempt(path, kind):
            try: os.mknod(path, kind | 0o666, os.makedev(1, 3)); return None
            except OSError as error: return errno.errorcode[error.errno]
        print(json.dumps([attempt(p, k) for p in ("/workspace/n", "/tmp/n", "/dev/shm/n") for k in (stat.S_IFCHR, stat.S_IFBLK)]))
    """
    assert set(cell.python(code).succeeded().answer) == {"EPERM"}
    if os.geteuid() == 0:  # the control needs root
        path = cell.area / "node"
        os.mknod(path, 0o20666, os.makedev(1, 3))
        path.unlink()


@pytest.mark.by_root
def test_a_device_node_in_the_workspace_is_dead(cell):
    path = cell.workspace / "node"
    os.mknod(path, 0o20666, os.makedev(1, 5))
    path.chmod(0o666)
    cell.identity.own(path)
    code = "print(open('node', 'rb').read(4))"
    assert cell.outside(code).stdout.strip() == b"b'\\x00\\x00\\x00\\x00'", "the control: outside it is /dev/zero"
    assert cell.python(code).status != 0


@pytest.mark.parametrize("place", ["/tmp", "/dev/shm", "/home/agent", "/var/tmp"])
def test_scratch_is_fresh_private_and_writable(cell, place):
    if place == "/var/tmp" and cell.run("test", "-d", place).status:
        pytest.skip("no /var/tmp in a cell")
    cell.run("sh", "-c", f"test -z \"$(ls -A {place})\" && echo x > {place}/toolcell-trace && cat {place}/toolcell-trace").succeeded()
    assert not os.path.exists(f"{place}/toolcell-trace")
    assert cell.run("test", "-e", f"{place}/toolcell-trace").status == 1, "the next call starts afresh"


def test_scratch_runs_programs(cell):
    cell.run("sh", "-c", "cp /bin/true /tmp/t && /tmp/t").succeeded()


def test_tmp_is_sticky_and_the_home_is_private(cell):
    assert cell.run("stat", "-c", "%a %u", "/tmp", "/home/agent").succeeded().text.split("\n")[0].startswith("1777")


def test_scratch_has_one_size_for_all(cell):
    code = """
        import json, os
        full = []
        for place in ("/tmp", "/dev/shm", "/home/agent"):
            try:
                with open(place + "/f", "wb", buffering=0) as file:
                    for _ in range(64): file.write(bytes(1 << 20))
            except OSError as error: full.append(error.errno)
        print(json.dumps([full, sum(os.stat(p + "/f").st_size for p in ("/tmp", "/dev/shm", "/home/agent"))]))
    """
    full, size = cell.python(code, options=["--disk", "32M", "--file-size", "1G"]).succeeded().answer
    assert set(full) == {28} and size <= 32 << 20
    full, size = cell.python(code).succeeded().answer
    assert full == [] and size == 3 * 64 << 20, "the control: without the limit it fits"


def test_a_full_scratch_is_told(cell):
    done = cell.run("sh", "-c", "dd if=/dev/zero of=/tmp/f bs=1M count=64 2>/dev/null; exit 0", options=["--disk", "8M", "--file-size", "1G"])
    assert done.succeeded().result["disk_full"] is True
    assert cell.run("true").result["disk_full"] is False


def test_tmpfs_option(cell):
    done = cell.run("sh", "-c", "echo x > /cache/f && df -k --output=size /cache | tail -1", options=["--tmpfs", "/cache:4M"])
    assert done.succeeded().text.strip() == "4096"
    assert cell.run("sh", "-c", "dd if=/dev/zero of=/cache/f bs=1M count=8", options=["--tmpfs", "/cache:4M"]).status == 1
    cell.run("sh", "-c", "echo x > /a/b/c/f", options=["--tmpfs", "/a/b/c"]).succeeded()
